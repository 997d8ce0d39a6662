// Forms: names to choose from, and what they would do, shown as one types.
"use strict";

// The names of zones, once the reader chooses one.
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

// What a form would do, shown as one types: the page that it is posted to shows it, and what is wrong with its
// fields. Until that is there, what was shown before cannot be carried out.
const TYPING_MS = 500;
const markError = (form, page, name) => {
  const at = `[data-error-of="${CSS.escape(name)}"]`;
  const place = form.querySelector(at), fresh = page.querySelector(at), input = form.elements[name];
  if (!place || !fresh || !input) return;
  if (place.textContent !== fresh.textContent) place.textContent = fresh.textContent;
  if (fresh.textContent) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
};
const showPreview = (place, page) => {
  const fresh = page.querySelector("[data-preview-part]");
  if (!fresh) return;
  const typed = place.querySelector("input[name=reason]"), next = fresh.querySelector("input[name=reason]");
  const focused = typed !== null && document.activeElement === typed;
  if (typed && next) next.value = typed.value;
  place.replaceChildren(...document.adoptNode(fresh).childNodes);
  if (focused && next) next.focus();
};
for (const form of document.querySelectorAll("form[data-preview]")) {
  const place = document.querySelector("[data-preview-part]"), touched = new Set();
  let timer = 0, asked = null;
  const ask = async () => {
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    try {
      const sent = { method: "POST", body, signal: asked.signal, redirect: "manual", headers: { accept: "text/html" } };
      const answer = await fetch(form.getAttribute("action"), sent);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const name of touched) markError(form, page, name);
      showPreview(place, page);
    } catch (error) { /* Another letter was typed, or the server is away: the button still previews. */ }
  };
  form.addEventListener("input", (event) => {
    touched.add(event.target.name);
    for (const button of place.querySelectorAll("button")) button.disabled = true;
    clearTimeout(timer);
    if (asked) asked.abort();
    timer = setTimeout(ask, TYPING_MS);
  });
}
