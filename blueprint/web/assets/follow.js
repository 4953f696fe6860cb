"use strict";
/* A page that is served: whoever opened the address with the key leads, every other page follows. Only what is chosen and typed
   travels; each page computes for itself. */
const served = JSON.parse(element("served").textContent), leadKey = new URLSearchParams(location.search).get("lead");
const EVERY = 100; // milliseconds between two looks at what the leading page shows
let following = leadKey === null, myself = null, sent = "";

const LED = ["mode", "sheet", "cell", "line", "step", "phase", "hidden", "all", "each", "at", "vote"];
function typedNow() {
  const found = [];
  for (const block of blocks) if (block.typed) block.given.forEach((value, i) => { if (!Object.is(value, block.cells[i])) found.push([block.number, i, isBlank(block.cells[i]) ? null : block.cells[i] === Infinity ? "off" : block.cells[i]]); });
  return found;
}
const snapshot = () => JSON.stringify({ ...Object.fromEntries(LED.map((name) => [name, state[name]])), asked: state.vote ? state.asked : null, lecture: document.body.classList.contains("lecture"), typed: typedNow() });

async function lead() {
  const now = snapshot();
  if (now !== sent) {
    try {
      const answer = await fetch("/state", { method: "POST", headers: { "X-Lead": leadKey }, body: now });
      if (answer.ok) sent = now;
      else if (answer.status === 403) { tellFollow("This address does not lead: take the one that the terminal shows."); return; }
    } catch { tellFollow("The server does not answer."); }
  }
  setTimeout(lead, EVERY);
}

/* Shows what the leading page shows. */
function follow(led) {
  const typed = new Map(led.typed.map(([number, offset, value]) => [keyOf(number, offset), value]));
  let moved = false;
  for (const block of blocks) if (block.typed) block.given.forEach((given, i) => {
    const key = keyOf(block.number, i), value = typed.has(key) ? engine.inCell(block, typed.get(key)) : given;
    if (!Object.is(block.cells[i], value)) { block.cells[i] = value; moved = true; }
  });
  for (const name of LED) state[name] = led[name] ?? null;
  element("hide-button").setAttribute("aria-pressed", String(Boolean(state.hidden)));
  if (moved) { engine.compute(); dependents = new Map(); scales.clear(); drawSettings(); }
  if (document.body.classList.contains("lecture") !== led.lecture) setLecture(led.lecture);
  setMode(led.mode);
  if (state.cell && state.mode === "explore") where.get(keyOf(...state.cell))?.td.scrollIntoView({ block: "nearest", inline: "nearest" });
}

let latest = null;
function listen() {
  const events = new EventSource(`/events${myself ? `?id=${myself}` : ""}`);
  events.addEventListener("you", (event) => { myself = event.data; });
  events.addEventListener("state", (event) => { latest = JSON.parse(event.data); if (following) follow(latest); });
  events.addEventListener("votes", (event) => {
    const { question, counts: own, followers } = JSON.parse(event.data);
    if (question) { counts.set(question, own); if (state.vote && state.asked === question) redrawVote(); }
    tellFollow(followers);
  });
  events.onerror = () => { events.close(); tellFollow("The server does not answer."); setTimeout(listen, 1000); }; // anew by its own name, which keeps its vote
}
function tellFollow(what) {
  const text = typeof what !== "number" ? what : leadKey === null ? "" : `${what} ${what === 1 ? "page follows" : "pages follow"}`;
  element("follow-tells").textContent = text;
}

const bar = make("div", { id: "follow", role: "group", "aria-label": "Following" }, make("span", { id: "follow-tells", "aria-live": "polite" }));
if (leadKey === null) {
  const button = make("button", { id: "follow-button", "aria-pressed": "true", onclick: () => {
    following = !following;
    button.setAttribute("aria-pressed", String(following));
    button.textContent = following ? "Following" : "Follow";
    if (following && latest) follow(latest);
  } }, "Following");
  bar.append(button);
  const chosen = new Map();
  tap = { chosen, vote: async (question, answer) => {
    const said = await fetch("/votes", { method: "POST", body: JSON.stringify({ id: myself, question, answer }) }).catch(() => null);
    if (said?.ok) { chosen.set(question, answer); redrawVote(); } else tellFollow("The vote was not counted.");
  } };
} else {
  const join = make("dialog", { id: "join", "aria-label": "Address to follow" }, make("h2", {}, "Follow on your phone"), ...served.addresses.map((address) => make("p", { class: "address" }, address)),
    ...(served.qr ? [make("div", { class: "qr", html: served.qr })] : []), make("form", { method: "dialog" }, make("button", {}, "Close")));
  bar.append(make("button", { id: "join-button", onclick: () => join.showModal() }, "Address"), join);
  lead();
}
document.body.append(bar);
listen();
