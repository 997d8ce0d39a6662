// Forms: names to choose from, and what they would do, shown as one types.
"use strict";

// The names of zones, once somebody chooses one.
for (const input of document.querySelectorAll("[data-zones]")) {
  input.addEventListener("focus", () => {
    const names = document.createElement("datalist");
    names.id = "zone-names";
    for (const name of Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone") : []) {
      names.append(Object.assign(document.createElement("option"), { value: name }));
    }
    input.after(names);
    input.setAttribute("list", names.id);
  }, { once: true });
}
