// The dashboard's script: what only a browser can do. Every page works without it.
"use strict";

const YEAR_S = 31536000;
const root = new URL(document.currentScript.src).pathname.replace(/\/static\/[^/]*$/, "");
const remember = (name, value) => {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=${root || "/"}; max-age=${YEAR_S}; samesite=lax`;
};

// The zone, for the times of the next page.
try {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && zone !== document.documentElement.dataset.zone) remember("fencepost_zone", zone);
} catch (error) { /* UTC it is. */ }

// Light or dark: chosen by hand, kept in a cookie, so that the server sends the page right.
const isDark = () => {
  const theme = document.documentElement.dataset.theme;
  return theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
};
for (const button of document.querySelectorAll("[data-theme-toggle]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember("fencepost_theme", theme);
  });
}

// Times that go on. The store's time is what counts; the page says what it was.
const said = document.querySelector('meta[name="fencepost-now"]');
const ahead = said ? Date.now() - Date.parse(said.content) : 0;
const units = [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]];
const span = (seconds) => {
  for (const [large, word, small, smallWord] of units) {
    if (seconds >= large) {
      const count = Math.floor(seconds / large);
      const rest = Math.floor((seconds % large) / small);
      return `${count} ${word}` + (rest && count < 30 ? ` ${rest} ${smallWord}` : "");
    }
  }
  return `${seconds} s`;
};
const goOn = () => {
  const now = Date.now() - ahead;
  for (const one of document.querySelectorAll("time[data-countdown]")) {
    const then = (one.dataset.then || "").split(" ").filter(Boolean);
    while (then.length && Date.parse(one.dateTime) <= now) one.dateTime = then.shift();
    if (one.dataset.then) one.dataset.then = then.join(" ");
    const left = Math.floor((Date.parse(one.dateTime) - now) / 1000);
    const words = left > 0 ? `in ${span(left)}` : "now";
    if (one.textContent !== words) one.textContent = words;
  }
  for (const one of document.querySelectorAll("time[data-ago]")) {
    const gone = Math.floor((now - Date.parse(one.dateTime)) / 1000);
    const words = gone >= 1 ? `${span(gone)} ago` : "just now";
    if (one.textContent !== words) one.textContent = words;
  }
};
setInterval(goOn, 1000);

// One checkbox for all.
for (const all of document.querySelectorAll("input[data-all]")) {
  const each = () => document.querySelectorAll(`input[type=checkbox][name="${all.dataset.all}"]`);
  all.hidden = false;
  all.addEventListener("change", () => { for (const one of each()) one.checked = all.checked; });
}

// Texts to be copied.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

// Choices that take effect at once.
for (const one of document.querySelectorAll("select[data-submit]")) {
  one.addEventListener("change", () => one.form.requestSubmit());
}

// What is not there yet is looked at again.
for (const one of document.querySelectorAll("[data-refresh]")) {
  setTimeout(() => location.reload(), 1000 * Number(one.dataset.refresh));
}

// Menus close when somebody goes elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// The keyboard: / searches, g and a letter goes, p pauses what is live, ? helps.
const help = document.querySelector("[data-help]");
for (const button of document.querySelectorAll("[data-help-open]")) {
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
}
let going = 0;
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    const search = document.querySelector("[data-search] input");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  } else if (event.key === "?" && help && !help.open) {
    event.preventDefault();
    help.showModal();
  } else if (event.key === "g") {
    going = Date.now();
  } else if (going && Date.now() - going < 1500 && /^[a-z]$/.test(event.key)) {
    going = 0;
    const place = document.querySelector(`a[data-key="${event.key}"]`);
    if (place) { event.preventDefault(); place.click(); }
  } else if (event.key === "p") {
    const pause = document.querySelector("[data-live-button]");
    if (pause) { event.preventDefault(); pause.click(); }
  }
});

// Live: one stream a page, while it is looked at. Every element that follows it is named by the page; what is
// not there is not followed. Texts are set as text, shapes are copied from the page's own templates.
const GAP_MS = 10000, ROWS_MAX = 100, LOG_PIECES_MAX = 2000, WAIT_MAX_MS = 60000, STRIPE = 9;
const all = (selector, root = document) => root.querySelectorAll(selector);
const named = (attribute, value) => `[${attribute}="${CSS.escape(value)}"]`;
const jitter = (most) => Math.random() * most;
const zoneOfPage = document.documentElement.dataset.zone || "UTC";
const inZone = (options) => {
  try { return new Intl.DateTimeFormat("en-GB", { timeZone: zoneOfPage, ...options }); }
  catch (error) { return new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options }); }
};
const clockOf = inZone({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayOf = inZone({ day: "numeric", month: "short" });
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const seconds = (from, to) => (from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null);
const length = (count) => {
  if (count === null || count === undefined) return "–";
  if (count < 1) return `${Math.round(count * 1000)} ms`;
  return count < 10 ? `${Number(count.toFixed(1))} s` : span(Math.round(count));
};

// How things stand.
let counted = {};
const takeCounts = (counts) => {
  counted = counts;
  for (const one of all("[data-live^='counts.']")) {
    const number = counts[one.dataset.live.slice(7)];
    if (typeof number !== "number") continue;
    const words = grouped(number) + (number >= counts.counted_max ? "+" : "");
    if (one.textContent !== words) one.textContent = words;
    if (one.classList.contains("badge")) one.hidden = number === 0;
    const figure = one.closest(".figure");
    if (figure && one.dataset.live === "counts.dead") figure.classList.toggle("alarm", number > 0);
  }
};

// What becomes of runs: in rows, in lists that grow, in strips.
const shapes = document.querySelector("template[data-shapes]");
const copyOf = (attribute, value) => {
  const found = shapes && shapes.content.querySelector(named(attribute, value));
  return found ? [...found.cloneNode(true).childNodes] : [];
};
const markOf = (run) => {
  const known = shapes.content.querySelector(named("data-state", run.state));
  if (run.state !== "succeeded") return known ? known.dataset.look : "planned";
  if (run.origin === "replay" || run.origin === "backfill") return "replayed";
  const late = run.late_s > Number(shapes.dataset.onTime);
  return run.origin === "catch_up" || late ? "late" : "fine";
};
const tellTime = (element, at) => {
  if (!at) { element.textContent = "–"; return; }
  const moment = new Date(at), today = dayOf.format(Date.now() - ahead) === dayOf.format(moment);
  const clock = clockOf.format(moment);
  element.textContent = today ? clock : `${dayOf.format(moment)} ${clock}`;
  element.dateTime = at;
  element.title = `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
};
const fillField = (element, run) => {
  const field = element.dataset.field;
  if (field === "state") element.replaceChildren(...copyOf("data-state", run.state));
  else if (field === "late") element.textContent = length(run.late_s);
  else if (field === "took") element.textContent = length(seconds(run.started_at, run.finished_at));
  else if (element.tagName === "TIME") tellTime(element, run[field]);
  else element.textContent = run[field] ?? "–";
};
const fill = (row, run) => {
  for (const one of all("[data-field]", row)) fillField(one, run);
  for (const one of all("a[data-to]", row)) {
    const [room, field] = one.dataset.to === "run" ? ["runs", "run_key"] : ["schedules", "schedule_id"];
    if (run[field]) one.href = `${root}/${room}/${encodeURIComponent(run[field])}`;
  }
};
const fits = (list, run) => {
  const wanted = JSON.parse(list.dataset.filter || "{}");
  const newer = !list.dataset.oldest || Date.parse(run.fire_time) >= Date.parse(list.dataset.oldest);
  return newer && Object.entries(wanted).every(([field, values]) => [values].flat().includes(run[field]));
};
const prepend = (list, run) => {
  const pattern = list.querySelector("template[data-row]");
  if (!pattern || !fits(list, run)) return;
  const row = pattern.content.firstElementChild.cloneNode(true);
  row.dataset.run = run.run_key;
  row.classList.add("fresh");
  for (const box of all("input[name='run_keys']", row)) {
    box.value = run.run_key;
    box.setAttribute("aria-label", `Choose ${run.run_key}`);
  }
  fill(row, run);
  list.prepend(row);
  const rows = all("[data-run]", list);
  for (let index = Number(list.dataset.most) || ROWS_MAX; index < rows.length; index += 1) rows[index].remove();
};
const stripe = (strip, run) => {
  let mark = strip.querySelector(`g${named("data-stripe", run.run_key)}`);
  if (!mark) {
    const pattern = strip.querySelector("g:last-of-type");
    if (!pattern) return;
    for (const one of all("g > svg", strip)) one.setAttribute("x", Number(one.getAttribute("x")) - STRIPE);
    mark = pattern.cloneNode(true);
    mark.dataset.stripe = run.run_key;
    mark.querySelector("svg").setAttribute("x", strip.viewBox.baseVal.width - STRIPE);
    for (const one of all("g", strip)) if (Number(one.querySelector("svg").getAttribute("x")) < 0) one.remove();
    strip.append(mark);
  }
  const name = markOf(run);
  mark.setAttribute("class", `is-${name}`);
  mark.querySelector("title").textContent = `${clockOf.format(new Date(run.fire_time))} ${run.state}`;
  mark.querySelector("svg").replaceChildren(...copyOf("data-mark", name));
};
const takeRuns = ({ runs, cut }) => {
  for (const run of [...runs].reverse()) {
    const rows = all(named("data-run", run.run_key));
    for (const row of rows) fill(row, run);
    for (const list of all("[data-live-list='runs']")) {
      if (![...rows].some((row) => list.contains(row))) prepend(list, run);
    }
    if (run.schedule_id) for (const strip of all(`svg${named("data-strip", run.schedule_id)}`)) stripe(strip, run);
  }
  const about = new Set(runs.flatMap((run) => [run.schedule_id, run.run_key]));
  const touched = [...all(PARTS)].some((one) => !one.dataset.liveOf || about.has(one.dataset.liveOf));
  if (touched || cut) refreshSoon(0);
};

// More of a log, which stays at its end where it was there.
const takeLog = ({ run_key: key, chunks, place }) => {
  for (const box of all(named("data-live-log", key))) {
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    if (box.hasAttribute("data-empty")) { box.textContent = ""; box.removeAttribute("data-empty"); }
    for (const chunk of chunks) {
      if (box.dataset.attempt !== undefined && box.dataset.attempt !== String(chunk.attempt)) {
        box.append(`— attempt ${chunk.attempt} —\n`);
      }
      box.dataset.attempt = chunk.attempt;
      box.append(`${chunk.text}\n`);
    }
    box.dataset.after = place;
    while (box.childNodes.length > LOG_PIECES_MAX) box.firstChild.remove();
    if (atEnd) box.scrollTop = box.scrollHeight;
  }
};

// Parts of the page that are read anew: pictures, and everything after something was missed. Not what
// somebody has the focus in, and not more often than every ten seconds.
const PARTS = "[data-live-part], [data-live-chart]";
let refreshedAt = Date.now(), refreshing = 0;
const refreshSoon = (waitMs) => {
  if (refreshing || !all(`${PARTS}, [data-live-list]`).length) return;
  const due = Math.max(refreshedAt + GAP_MS, Date.now() + waitMs);
  refreshing = setTimeout(refresh, due - Date.now());
};
const askAgain = () => fetch(location.href, { headers: { accept: "text/html" }, redirect: "manual" });
const partOf = (page, old) => {
  for (const attribute of ["data-live-part", "data-live-chart", "data-live-list"]) {
    if (old.hasAttribute(attribute)) return page.querySelector(named(attribute, old.getAttribute(attribute)));
  }
  return null;
};
const refresh = async () => {
  refreshing = 0;
  refreshedAt = Date.now();
  if (!stream.source) return;
  let page;
  try {
    const answer = await askAgain();
    if (!answer.ok) return;
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch (error) { return; }
  for (const old of all(`${PARTS}, [data-live-list]`)) {
    const fresh = partOf(page, old);
    if (fresh && !old.matches(":focus-within")) old.replaceChildren(...document.adoptNode(fresh).childNodes);
  }
  for (const old of all("[data-live]")) {
    const fresh = old.dataset.live.slice(7) in counted ? null : page.querySelector(named("data-live", old.dataset.live));
    if (!fresh) continue;
    old.textContent = fresh.textContent;
    old.hidden = fresh.hidden;
  }
};

// The stream itself: paused by hand or while nobody looks, begun again with more and more patience.
const stream = { source: null, paused: false, over: false, tries: 0, timer: 0 };
const place = document.querySelector("[data-live-switch]");
const button = document.createElement("button");
const WORDS = {
  live: ["Live", "Pause the live view (p)"],
  paused: ["Paused", "Go on with the live view (p)"],
  waiting: ["Connecting…", "Pause the live view (p)"],
  over: ["Signed out", "The session has ended"],
};
const show = (state) => {
  place.dataset.state = state;
  [button.textContent, button.title] = WORDS[state];
  button.setAttribute("aria-pressed", String(state === "paused"));
};
const address = () => {
  const query = new URLSearchParams({ namespace: place.dataset.namespace });
  const log = document.querySelector("[data-live-log]");
  if (log) query.set("run", log.dataset.liveLog);
  if (log && log.dataset.after) query.set("after", log.dataset.after);
  return `${root}/api/v1/events?${query}`;
};
const stopStream = () => {
  clearTimeout(stream.timer);
  if (stream.source) stream.source.close();
  stream.source = null;
};
const sayOver = () => {
  stream.over = true;
  stopStream();
  show("over");
  const said = document.createElement("div"), words = document.createElement("p"), link = document.createElement("a");
  said.className = "said refused";
  said.setAttribute("role", "alert");
  link.href = location.pathname + location.search;
  link.textContent = "Sign in again";
  words.append("Your session has ended; this page does not change any more. ", link);
  said.append(words);
  document.getElementById("content").prepend(said);
};
const knock = async () => {
  try {
    const answer = await askAgain();
    if (answer.type === "opaqueredirect" || [401, 403].includes(answer.status)) { sayOver(); return; }
  } catch (error) { /* The server is away: it is asked again. */ }
  startStream();
};
/* Streams often end together, with their server: nobody asks anything before a while of their own. */
const comeAgain = () => {
  stopStream();
  show("waiting");
  stream.tries += 1;
  const wait = Math.min(1000 * 2 ** Math.min(stream.tries, 6), WAIT_MAX_MS);
  stream.timer = setTimeout(knock, wait / 2 + jitter(wait / 2));
};
const hear = (name, take) => {
  stream.source.addEventListener(name, (event) => take(event.data ? JSON.parse(event.data) : {}));
};
const startStream = () => {
  stopStream();
  if (stream.over || stream.paused || document.hidden) return;
  const again = stream.tries > 0;
  show("waiting");
  stream.source = new EventSource(address());
  stream.source.addEventListener("open", () => { stream.tries = 0; show("live"); if (again) refreshSoon(jitter(2000)); });
  stream.source.addEventListener("error", comeAgain);
  hear("counts", takeCounts);
  hear("runs", takeRuns);
  hear("log", takeLog);
  for (const name of ["schedules", "leases", "resync"]) hear(name, () => refreshSoon(jitter(3000)));
};
if (place && window.EventSource) {
  button.type = "button";
  button.dataset.liveButton = "";
  button.addEventListener("click", () => {
    if (stream.over) return;
    stream.paused = !stream.paused;
    if (stream.paused) { stopStream(); show("paused"); } else { stream.tries = 1; startStream(); }
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stopStream();
    else if (!stream.source) { stream.tries = 1; startStream(); }
  });
  place.append(button);
  place.hidden = false;
  for (const box of all("[data-live-log]")) box.scrollTop = box.scrollHeight;
  startStream();
}
