// The map: where photos were taken, over an outline of the world that is part of the program. No other host is asked for anything.
import { Again } from "./again.js";
import { announce, h, show } from "./dom.js";
import { apart, condition, degrees, isWide, lines, question } from "./grid.js";
import { address, get, refusal } from "./server.js";
import { count, sentences } from "./text.js";

const EARTH = { west: -180, south: -90, east: 180, north: 90, zoom: 1 };
const CLOSEST = 17;
/** How many places are listed below the map. */
const LISTED = 12;
const missing = "The map needs Leaflet, which this machine lacks: install the package libjs-leaflet. The places are listed below.";

/** `open` shows a photo by its key, `search` the photos of a condition `bbox`; `ended()` is called when the session has. */
export class WorldMap {
  #open;
  #search;
  #ended;
  #frame = h("div", { class: "map", role: "group", "aria-label": "Map" });
  #list = h("ul", { class: "plain places" });
  #remark = h("p", { class: "faint" }, "…");
  #choices = this.#buttons();
  #map = null;
  #library = null;
  #style = null;
  #markers = null;
  #shown = new Map();
  #asked = null;
  #isReading = false;
  // To a view with all places.
  #isGoing = false;
  #again = new Again(async () => this.element.isConnected && this.open(), () => {});
  // Of the state that was read last.
  #mark;

  constructor({ open, search, ended }) {
    [this.#open, this.#search, this.#ended] = [open, search, ended];
    this.element = h("section", { class: "world", "data-key": "map" }, h("h1", null, "Map"), this.#remark, this.#frame, this.#choices, this.#list);
  }

  #buttons() {
    const button = (text, act) => h("button", { type: "button", onclick: () => this.#map && act(this.#map) }, text);
    return h("div", { class: "choices", hidden: true },
      button("Closer", (map) => map.zoomIn()), button("Farther", (map) => map.zoomOut()),
      button("All places", () => this.#showAll()),
      button("Show the photos of this view", (map) => {
        const { west, south, east, north } = this.#view(map);
        this.#search(condition([west, south, east, north]));
      }));
  }

  /** Called when the page is shown; its element must be in the document. */
  async open() {
    if (this.#map) {
      this.#map.invalidateSize();
      return this.#read();
    }
    if (this.#isReading) return undefined;
    this.#isReading = true;
    try {
      const cells = await this.#places(EARTH);
      if (cells?.length > 0) await this.#start(cells);
    } catch (error) {
      if (!this.#map) this.#style = null;
      this.#failed(error);
    } finally {
      this.#isReading = false;
    }
    return undefined;
  }

  /** What happens now: what was filed or taken back, or is known of photos, changes the map. */
  update({ mark }) {
    if (mark !== this.#mark) this.#again.ask();
    this.#mark = mark;
  }

  /** Another page is shown. */
  leave() {
    if (this.#map) this.#asked?.abort();
  }

  #failed(error) {
    if (error.status === 401) this.#ended();
    this.#remark.textContent = sentences(error.message, error.action);
    announce(error.message);
  }

  async #start(cells) {
    try {
      this.#library ??= await import(address("leaflet/leaflet.js"));
    } catch {
      const error = await refusal("leaflet/leaflet.js");
      if (error?.status !== 404) throw error ?? new Error("the map was not loaded: reload the page");
      this.#remark.textContent = missing;
      this.#frame.hidden = true;
      return;
    }
    this.#style ??= style(address("leaflet/leaflet.css"));
    const [world] = await Promise.all([get(new URL("world.json", import.meta.url).href), this.#style]);
    // What is not in the document has no size, and so no view. It is opened again.
    if (!this.#frame.isConnected) return;
    const L = this.#library;
    this.#frame.hidden = this.#choices.hidden = false;
    // Controls that Leaflet makes of texts would need markup.
    this.#map = L.map(this.#frame, {
      zoomControl: false, attributionControl: false, minZoom: 1, maxZoom: CLOSEST, maxBounds: [[-85.06, -180], [85.06, 180]],
      maxBoundsViscosity: 1, zoomSnap: 0.5, fadeAnimation: false, zoomAnimation: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    });
    this.#markers = L.layerGroup().addTo(this.#map);
    L.polygon(lines(world.land, world.scale), { className: "land", interactive: false, smoothFactor: 0.5 }).addTo(this.#map);
    L.polyline(lines(world.borders, world.scale), { className: "border", interactive: false, smoothFactor: 0.5 }).addTo(this.#map);
    this.#fit(cells);
    this.#map.on("moveend", () => this.#read());
    await this.#read();
  }

  #fit(cells) {
    const box = cells.map((cell) => cell.box).reduce((one, other) =>
      [Math.min(one[0], other[0]), Math.min(one[1], other[1]), Math.max(one[2], other[2]), Math.max(one[3], other[3])]);
    this.#approach(box, 8);
  }

  #approach([west, south, east, north], closest = CLOSEST) {
    this.#map.fitBounds([[south, west], [north, east]], { padding: [48, 48], maxZoom: closest });
  }

  /** Goes to a view with all places. Nothing else is read until then: that would end this, and the view that follows is read. */
  async #showAll() {
    if (this.#isGoing) return;
    this.#isGoing = true;
    const cells = await this.#places(EARTH);
    this.#isGoing = false;
    if (cells?.length > 0) this.#fit(cells);
    else if (this.element.isConnected) await this.#read();
  }

  #view(map) {
    const bounds = map.getBounds();
    return { west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth(), zoom: map.getZoom() };
  }

  async #read() {
    if (this.#isGoing) return;
    const view = this.#view(this.#map);
    const cells = await this.#places(view);
    if (cells) this.#draw(apart(cells, view.zoom));
  }

  /** The cells of a view, which are listed; null if the view is another one meanwhile, or nothing is answered. */
  async #places(view) {
    this.#asked?.abort();
    const asked = new AbortController();
    this.#asked = asked;
    try {
      const { cells, photos } = await get(question(view), asked.signal);
      if (asked.signal.aborted) return null;
      this.#remark.textContent = cells.length > 0 ? `${count(photos, "photo", "photos")} with a position in this view.`
        : view === EARTH ? "No photo has a position." : "No photo has a position in this view.";
      const hadFocus = this.#list.contains(document.activeElement);
      show(this.#list, cells.slice(0, LISTED).map((cell) => h("li", { "data-key": cell.key }, h("button", {
        type: "button", class: "link", onclick: () => this.#choose(cell, true),
      }, h("bdi", null, placeOf(cell)), `: ${count(cell.photos, "photo", "photos")}`))));
      if (hadFocus && !this.#list.contains(document.activeElement)) this.#frame.focus({ preventScroll: true });
      return cells;
    } catch (error) {
      if (!asked.signal.aborted) this.#failed(error);
      return null;
    }
  }

  // What stays is left as it is: a click, or the focus, may be on it.
  #draw(cells) {
    const focused = document.activeElement?.closest?.(".place")?.dataset.photo;
    const wanted = new Map(cells.map((cell) => [cell.key, cell]));
    for (const [key, shown] of this.#shown) {
      const cell = wanted.get(key);
      if (cell?.photos === shown.cell.photos) {
        shown.cell = cell;
        shown.marker.setLatLng([cell.latitude, cell.longitude]);
      } else {
        // It has the focus if the place that had it is not there any more.
        if (key === focused) this.#frame.focus({ preventScroll: true });
        this.#markers.removeLayer(shown.marker);
        this.#shown.delete(key);
      }
    }
    for (const cell of cells) if (!this.#shown.has(cell.key)) this.#add(cell, cell.key === focused);
  }

  #add(cell, hasFocus) {
    const L = this.#library;
    const picture = h("img", { src: address(`t/${cell.key}`), alt: "", draggable: "false", onerror: (event) => { event.target.hidden = true; } });
    const button = h("button", { type: "button", class: "place", "aria-label": named(cell), "data-photo": cell.key }, picture,
      cell.photos > 1 && h("span", { class: "badge" }, short(cell.photos)));
    const icon = L.divIcon({ html: button, className: "", iconSize: [56, 56] });
    const shown = { cell, marker: L.marker([cell.latitude, cell.longitude], { icon, keyboard: false }) };
    this.#shown.set(cell.key, shown);
    shown.marker.on("click", () => this.#choose(shown.cell)).addTo(this.#markers);
    if (hasFocus) button.focus({ preventScroll: true });
  }

  #choose(cell, fromList = false) {
    if (cell.photos === 1) this.#open(cell.key);
    else if (this.#map && !fromList && isWide(cell.box) && this.#map.getZoom() < CLOSEST - 1) this.#approach(cell.box);
    else this.#search(condition(cell.box));
  }
}

function named(cell) {
  return `${placeOf(cell)}: ${count(cell.photos, "photo", "photos")}`;
}

function placeOf(cell) {
  return cell.place ?? degrees(cell.latitude, cell.longitude);
}

function short(number) {
  return number < 1000 ? String(number) : number < 1_000_000 ? `${Math.floor(number / 1000)}k` : `${Math.floor(number / 1_000_000)}M`;
}

/** Adds a style sheet once, and waits for it. */
function style(href) {
  return new Promise((done, failed) => {
    const link = h("link", { rel: "stylesheet", href });
    link.onload = done;
    link.onerror = () => {
      link.remove();
      failed(new Error("the map's style was not loaded: try again"));
    };
    document.head.prepend(link);
  });
}
