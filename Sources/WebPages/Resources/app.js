// The pages: who is signed in, which page is shown, and what changes on it.
import { announce, h, show } from "./dom.js";
import { addressOf, placeOf } from "./search.js";
import { get, prepare, remove, watch } from "./server.js";
import { countAges, sentences } from "./text.js";

// What the page that is asked for consists of, beside what is loaded here: asked for at once, since one after the other would take much
// longer on a line with a delay.
const modules = {
  photos: ["timeline", "again", "layout", "wall", "captions", "photos"],
  photo: ["viewer", "confirm"],
  now: ["now", "decisions", "confirm"],
};

function askFor({ page, key, query }) {
  if (!page.startsWith("link=")) prepare("person");
  const days = page === "photos" && query === "" ? prepare("days", "no-cache") : null;
  for (const name of [...modules[page === "photos" ? page : "now"], ...(key ? modules.photo : [])]) {
    const { href } = new URL(`./${name}.js`, import.meta.url);
    document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href }));
  }
  if (days && !history.state?.place) askForFirst(days).catch(() => null);
}

// Before the rest of the page is there.
async function askForFirst(days) {
  const { firstPaths } = await import("./timeline.js");
  for (const path of firstPaths(await (await days).clone().arrayBuffer())) prepare(path);
}

askFor(placeOf(location.hash));

const main = document.getElementById("main");
const pages = [["photos", "Photos"], ["map", "Map"], ["now", "Now"], ["decisions", "Needs you"], ["drop", "Drop"]];
const senders = ["sender", "operator"];
const LONGEST_WAIT = 3000;

let person = null;
let state = null;
let failure = null;
let read = null;
let alike = null;
let drop = null;
// Of Now and Needs you.
let views = null;
let photos = null;
let map = null;
let isOutdated = false;
const outdated = "This page cannot be loaded: the program may have been replaced. Reload it, and add your files again.";

function ownPages() {
  return pages.filter(([name]) => name !== "drop" || senders.includes(person.role));
}

/** Which page is shown: to whoever may do nothing, the photos first. */
function page() {
  const { page: name } = placeOf(location.hash);
  if (ownPages().some(([known]) => known === name)) return name;
  return person.role === "viewer" ? "photos" : "now";
}

function isUnwell() {
  return failure !== null || ["warning", "stopped"].includes(state?.severity);
}

function render() {
  if (!person) return;
  show(document.getElementById("pages"), ownPages().map(([name, title]) => {
    const waiting = name === "decisions" && read ? read.quarantined.length : 0;
    return h("a", { href: `#${name}`, "aria-current": name === page() ? "page" : null, "data-key": name }, title,
      waiting > 0 && [" ", h("span", { class: "badge" }, String(waiting))],
      name === "now" && isUnwell() && [" ", h("span", { class: "badge", title: "There is a problem" }, "!")]);
  }));
  const title = pages.find(([name]) => name === page())[1];
  document.title = `${title} · photo-inbox`;
  document.body.classList.toggle("filled", page() === "photos");
  if (page() === "photos") {
    // It changes by itself.
    if (!photos) show(main, loading(title));
    else if (main.firstChild !== photos.element) main.replaceChildren(photos.element);
  } else if (page() === "map") {
    if (!map) show(main, loading(title));
    else if (main.firstChild !== map.element) main.replaceChildren(map.element);
  } else if (page() === "drop") show(main, drop ? drop.view() : loading(title));
  else if (!views) show(main, loading(title));
  else if (page() === "decisions") show(main, read ? views.decisions(read, alike, person, acted, ended) : h("p", null, "…"));
  else if (failure) show(main, views.unknown(failure));
  else if (state) show(main, views.now(state, person));
  else show(main, h("h1", null, "…"));
}

function loading(title) {
  return [h("h1", null, title), h("p", isOutdated ? { class: "alert" } : null, isOutdated ? outdated : "…")];
}

let asked = 0;
let seen = "";

/** Reads again what needs a person; asked twice at once, once more afterwards. */
async function refresh() {
  asked += 1;
  if (asked > 1) return;
  try {
    read = await get("decisions");
    render();
  } catch (error) {
    if (error.status === 401) return ended();
    if (page() === "decisions") announce(error.message);
  } finally {
    const again = asked > 1;
    asked = 0;
    if (again) setTimeout(refresh, 1000);
  }
}

/** Reads which photos look alike, for whoever looks at that. */
async function compare() {
  try {
    alike = await get("similar");
    render();
  } catch (error) {
    if (error.status === 401) return ended();
    announce(error.message);
  }
}

function acted() {
  refresh();
  compare();
}

function changed(new_state) {
  [state, failure] = [new_state, null];
  render();
  if (page() === "photos") photos?.update(state);
  if (page() === "map") map?.update(state);
  const deferred = state.inboxes.map((inbox) => inbox.counts.deferred);
  const mark = JSON.stringify([state.mark, deferred]);
  if (mark !== seen) {
    seen = mark;
    refresh();
  }
}

/** Loads what a page needs, once it is shown; it is gone if the program was replaced. */
async function loaded(...parts) {
  try {
    return Object.assign({}, ...(await Promise.all(parts)));
  } catch {
    isOutdated = true;
    render();
    announce(outdated);
    return null;
  }
}

/** The pages of what happens, and of what needs a person. */
async function openViews() {
  views ??= await loaded(import("./now.js"), import("./decisions.js"));
  if (views) render();
}

/** The page of all photos, or another place on it. */
async function openPhotos() {
  const parts = await loaded(import("./photos.js"));
  if (!parts) return begin();
  photos ??= new parts.Photos(person, ended, begin);
  if (page() !== "photos") return;
  render();
  photos.route();
  if (state) photos.update(state);
}

/** The page that shows where photos were taken. */
async function openMap() {
  const parts = await loaded(import("./map.js"));
  if (!parts) return;
  map ??= new parts.WorldMap({
    open: (key) => { location.hash = addressOf({ key }); },
    search: (box) => { location.hash = addressOf({ query: `bbox=${encodeURIComponent(box)}` }); },
    ended,
  });
  if (page() !== "map") return;
  render();
  await map.open();
}

/** What the page that is shown needs. */
function open() {
  if (page() === "map") openMap();
  if (page() === "photos") openPhotos();
  else photos?.leave();
  if (page() !== "map") map?.leave();
  if (page() === "drop") openDrop();
  if (page() === "now" || page() === "decisions") openViews();
}

/** The page on which photos are sent, to which `files` may be added. */
async function openDrop(files = null) {
  const parts = await loaded(import("./drop.js"), import("./now.js"));
  if (!parts) return;
  drop ??= new parts.Drop({ about: "api/drop", picture: parts.picture });
  if (files) drop.add(files);
  await drop.open();
}

function ended() {
  if (!person) return;
  if (drop?.isBusy || drop?.hasUnsent) {
    // What is not sent would be forgotten with the page.
    failure = { message: "Your session has ended", action: "Drop has files that are not sent, which a reload forgets. Sign in in another tab, then go on in Drop." };
    photos?.end(failure);
    return render();
  }
  location.reload();
}

// When what happens is asked for: on a slow line, after the photos that are seen first.
let begin;
const begun = new Promise((done) => { begin = done; });

async function start() {
  const link = /^#link=([0-9a-f]{64})$/.exec(location.hash)?.[1];
  let remark = null;
  if (link) {
    // A link that was used does not stay in the history.
    history.replaceState(null, "", location.pathname);
    try {
      person = await (await import("./sign-in.js")).useLink(main, link);
    } catch (error) {
      remark = sentences(error.message, error.action);
    }
  }
  if (!person) {
    try {
      person = await get("person");
    } catch {
      document.title = "Sign in · photo-inbox";
      person = await (await import("./sign-in.js")).signIn(main, remark);
    }
  }
  main.replaceChildren();
  const corner = document.getElementById("person");
  corner.replaceChildren(h("span", null, person.name), h("button", { type: "button", onclick: signOut }, "Sign out"));
  for (const id of ["person", "pages"]) document.getElementById(id).hidden = false;
  let shown = page();
  addEventListener("hashchange", () => {
    const isOther = page() !== shown;
    shown = page();
    render();
    open();
    if (page() === "decisions") acted();
    if (!isOther) return;
    begin();
    main.focus();
    scrollTo(0, 0);
  });
  setInterval(countAges, 1000);
  document.addEventListener("redraw", render);
  render();
  open();
  if (page() === "decisions") compare();
  if (page() === "photos") setTimeout(begin, LONGEST_WAIT);
  else begin();
  await begun;
  if (senders.includes(person.role)) {
    import("./chosen.js").then(({ receiveDrops }) => receiveDrops((files) => {
      location.hash = "drop";
      openDrop(files);
    })).catch(() => null);
  }
  refresh();
  const failed = (found) => { failure = found; render(); };
  watch(() => "live", "person", { state: changed, failure: failed }, failed, ended);
}

async function signOut() {
  await remove("session").catch(() => null);
  location.reload();
}

if (placeOf(location.hash).page === "photos") {
  // Before anything is drawn, or it would move.
  document.body.classList.add("filled");
}
document.getElementById("skip").onclick = () => main.focus();
start();
