// The search at the top: what fits is listed as one types, and the arrows choose. Without it the form leads to
// the page of results, which is what is read here.
"use strict";

const WAIT_MS = 180;
const finder = { form: document.querySelector("[data-search]"), timer: 0, asked: null, active: -1 };
const options = () => [...finder.list.querySelectorAll("[role=option]")];

const closeFound = () => {
  finder.list.hidden = true;
  finder.active = -1;
  finder.input.setAttribute("aria-expanded", "false");
  finder.input.removeAttribute("aria-activedescendant");
};

const choose = (number) => {
  const all = options();
  if (!all.length) return;
  finder.active = (number + all.length) % all.length;
  all.forEach((one, index) => one.setAttribute("aria-selected", String(index === finder.active)));
  finder.input.setAttribute("aria-activedescendant", all[finder.active].id);
  all[finder.active].scrollIntoView({ block: "nearest" });
};

const groupOf = (section, number) => {
  const group = document.createElement("div"), heading = document.createElement("p");
  heading.textContent = section.dataset.kind;
  heading.id = `found-${number}`;
  group.setAttribute("role", "group");
  group.setAttribute("aria-labelledby", heading.id);
  group.append(heading);
  section.querySelectorAll("li").forEach((line, index) => {
    const link = line.querySelector("a").cloneNode(true), more = line.querySelector("small");
    link.id = `found-${number}-${index}`;
    link.tabIndex = -1;
    link.setAttribute("role", "option");
    link.setAttribute("aria-selected", "false");
    if (more) link.append(" ", more.cloneNode(true));
    group.append(link);
  });
  return group;
};

const showFound = (page) => {
  const sections = [...page.querySelectorAll("[data-found] [data-kind]")];
  finder.list.replaceChildren(...sections.map(groupOf));
  finder.active = -1;
  finder.input.removeAttribute("aria-activedescendant");
  finder.list.hidden = sections.length === 0;
  finder.input.setAttribute("aria-expanded", String(sections.length > 0));
};

const look = async () => {
  if (finder.asked) finder.asked.abort();
  const text = finder.input.value.trim();
  if (!text) { closeFound(); return; }
  finder.asked = new AbortController();
  const query = new URLSearchParams({ text, glance: "true" });
  try {
    const asked = { signal: finder.asked.signal, headers: { accept: "text/html" }, redirect: "manual" };
    const answer = await fetch(`${finder.form.getAttribute("action")}?${query}`, asked);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (finder.input.value.trim() === text && document.activeElement === finder.input) showFound(page);
  } catch (error) { /* Another letter was typed, or the server is away: Enter still searches. */ }
};

const onKey = (event) => {
  if (event.key === "Escape" && !finder.list.hidden) { event.preventDefault(); closeFound(); }
  if (finder.list.hidden) return;
  if (event.key === "ArrowDown") { event.preventDefault(); choose(finder.active + 1); }
  if (event.key === "ArrowUp") { event.preventDefault(); choose(finder.active < 0 ? -1 : finder.active - 1); }
  if (event.key === "Enter" && finder.active >= 0) { event.preventDefault(); options()[finder.active].click(); }
};

if (finder.form) {
  finder.input = finder.form.querySelector("input");
  finder.list = document.createElement("div");
  finder.list.id = "found";
  finder.list.className = "found";
  finder.list.hidden = true;
  finder.list.setAttribute("role", "listbox");
  finder.list.setAttribute("aria-label", "What fits");
  finder.form.append(finder.list);
  const combobox = { role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list" };
  for (const [name, value] of Object.entries(combobox)) finder.input.setAttribute(name, value);
  finder.input.addEventListener("input", () => {
    clearTimeout(finder.timer);
    finder.timer = setTimeout(look, WAIT_MS);
  });
  finder.input.addEventListener("keydown", onKey);
  finder.input.addEventListener("blur", () => setTimeout(closeFound, WAIT_MS));
}
