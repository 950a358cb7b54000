// The wall: photos as squares below the headings of their days. There are elements for what is seen and a little more; each has its photo,
// and never a number.
import { h, isPlain } from "./dom.js";
import { dateText, dayText, marksOf, monthText, nameOf } from "./captions.js";
import { NO_DATE, Layout, ScrollSpace } from "./layout.js";
import { count } from "./text.js";

const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];
const RESTS_AFTER = 150;
const TRIES = 6;
const AT_ONCE = 12;
// In one answer.
const TOGETHER = 64;
// Views in a second.
const FAST = 4;
// Pixels of a square for which the picture of a tile is large enough.
const TILE = 240;
const nothing = { days: new Int32Array(0), counts: new Uint32Array(0), total: 0, count: () => 0, want() {}, known: () => null };

export class Wall {
  #source = nothing;
  #layout = null;
  #space = new ScrollSpace();
  #tools;
  #content = h("div", { class: "content" });
  #hint = h("div", { class: "hint", "aria-hidden": "true" });
  // What is at the top of the view: { photo, day, index, offset }; and the photo to which Tab leads: { photo, day, index }.
  #anchor = null;
  #current = null;
  // What gets the focus as soon as it is read: { day, index }.
  #pending = null;
  #items = new Map();
  #days = new Map();
  #pool = [];
  #owners = new WeakMap();
  #isFast = false;
  #movedAt = 0;
  #rest = null;
  #sought = null;
  #vain = new Map();
  #retrying = null;
  #seenDay = null;
  #frame = null;
  #revealing = null;
  #stop = null;
  #isFilled = false;
  // How high the view is: asking the element, while others are changed, would lay out the page each time.
  #room = 0;
  // Whose pictures are asked for next.
  #asking = new Set();
  #asks = null;

  /**
   * `tools`: `picture(key, isLarge)` gives an address, `pictures(keys, isLarge)` several pictures in their order, `link(key)` the address
   * of the page of a photo; told are `open(photo)`, `rested(place)` and `passed(day)`, and `filled()` when all that is in view is there
   * for the first time.
   */
  constructor(tools) {
    this.#tools = tools;
    this.scroller = h("section", { class: "wall", "aria-label": "Photos by day" }, this.#content);
    this.element = h("div", { class: "frame" }, this.scroller, this.#hint);
    const on = (name, act) => this.scroller.addEventListener(name, act, true);
    on("scroll", () => this.#scrolled());
    on("keydown", (event) => this.#pressed(event));
    on("focusin", ({ target }) => this.#focused(target));
    on("click", (event) => this.#clicked(event));
    on("load", ({ target }) => this.#loaded(target));
    on("error", ({ target }) => this.#failed(target));
    new ResizeObserver(() => this.#later()).observe(this.scroller);
  }

  /** Shows another source, at a place that `rested` was told of, or from the top on. */
  show(source, place = null) {
    // A rest of what was shown before is no place of this.
    clearTimeout(this.#rest);
    this.#source.stop?.();
    this.#source = source ?? nothing;
    this.#revealing?.abort();
    // A photo that is there in both has the address of another search.
    for (const { photo, link } of this.#items.values()) if (photo) link.setAttribute("href", this.#tools.link(photo.key));
    [this.#anchor, this.#current, this.#pending, this.#sought] = [place, null, null, null];
    this.#space.place(0);
    this.update();
  }

  /** There is something else in the source, or the view has another size. What is at the top of the view stays there. */
  update() {
    if (this.scroller.clientHeight === 0) return;
    this.#arrange();
    this.#keep();
    this.#settle();
    this.#paint();
    const anchor = this.#anchor;
    if (anchor && !anchor.photo && this.#source.count(anchor.day) > anchor.index) {
      anchor.photo = this.#source.photo(this.#layout.placeOf(anchor.day), anchor.index);
    }
    this.#seek();
    if (!this.#pending) return;
    const { day, index } = this.#pending;
    if (this.#source.count(day) > 0) this.#move({ place: this.#layout.placeOf(day), index: Math.min(index, this.#source.count(day) - 1) });
    else this.#pending = null;
  }

  // As often as there are frames, however much arrives.
  #later() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.update();
    });
  }

  changed() {
    if (this.#isFilled) this.#later();
    // A frame sooner.
    else this.update();
  }

  /** Goes to the newest day of a period, else to the next older one; gives its day and how many photos it has, or null. */
  jump({ last }) {
    if (this.#source.days.length === 0) return null;
    const place = this.#layout.placeOf(last);
    this.#pending = null;
    this.#reveal(this.#layout.tops[place]);
    this.#rested();
    this.#current = { photo: null, day: this.#source.days[place], index: 0 };
    this.#paint();
    return { day: this.#source.days[place], photos: this.#source.counts[place] };
  }

  /** Shows a photo, and gives it the focus if that is wanted. */
  async reveal(photo, isFocused) {
    const source = this.#source;
    this.#revealing?.abort();
    this.#revealing = new AbortController();
    const { signal } = this.#revealing;
    const at = source.known(photo) ?? (await source.locate?.(photo, undefined, signal).catch(() => null));
    if (signal.aborted || !this.#layout || source.days.length === 0) return;
    const place = at?.place ?? this.#layout.placeOf(photo.day);
    const index = Math.min(at?.index ?? 0, source.counts[place] - 1);
    if (isFocused) return this.#move({ place, index });
    this.#reveal(this.#layout.top(place, index), true);
    this.#paint();
  }

  /** Gives the focus to the photo to which Tab leads. */
  focusStop() {
    this.update();
    if (this.#stop) this.#stop.link.focus({ preventScroll: true });
    else if (this.#layout && this.#source.days.length > 0) this.#move(this.#layout.firstAt(this.#space.y));
  }

  // MARK: where things are

  #arrange() {
    const { days, counts } = this.#source;
    const width = this.#content.clientWidth;
    const room = this.#room = this.scroller.clientHeight;
    const heading = Math.round(2.75 * parseFloat(getComputedStyle(document.documentElement).fontSize));
    const target = Math.min(220, Math.max(96, width / 8));
    this.#layout = new Layout(days, counts, { width, target, heading });
    const top = this.#space.y;
    this.#space.resize(this.#layout.height, room);
    if (top < 1 && this.#isAtTop) this.#anchor = null;
    const height = `${this.#space.height}px`;
    if (this.#content.style.height !== height) this.#content.style.height = height;
    const cell = `${this.#layout.cell}px`;
    if (this.#content.style.getPropertyValue("--cell") !== cell) this.#content.style.setProperty("--cell", cell);
  }

  // Whoever is at the top sees what is filed.
  get #isAtTop() {
    return this.#anchor === null || this.#anchor.isTop;
  }

  #keep() {
    const anchor = this.#anchor;
    const source = this.#source;
    if (this.#current) this.#follow(this.#current);
    if (!anchor || source.days.length === 0) return;
    const isThere = this.#follow(anchor);
    const place = this.#layout.placeOf(anchor.day);
    // As much of it stays hidden above the view, whatever its size.
    const offset = anchor.offset < 0 ? (anchor.offset * this.#layout.cell) / anchor.cell : anchor.offset;
    this.#space.place(source.days[place] !== anchor.day ? this.#layout.tops[place]
      : this.#layout.top(place, Math.min(anchor.index, source.counts[place] - 1)) - offset);
    if (isThere === false) this.#mark();
  }

  // Where a photo is now; false if it is gone.
  #follow(at) {
    const found = at.photo && this.#source.known(at.photo);
    if (!found) return null;
    at.index = found.index;
    return found.isThere;
  }

  // What is at the top is no longer where it was, as far as it was read: reads where it is, once for each change.
  async #seek() {
    const [anchor, source] = [this.#anchor, this.#source];
    if (!anchor?.photo || this.#sought === source.days || source.known(anchor.photo) || source.count(anchor.day) === 0) return;
    this.#sought = source.days;
    const found = await source.locate(anchor.photo, anchor.index).catch(() => null);
    if (!found || anchor !== this.#anchor || source !== this.#source) return;
    anchor.index = found.index;
    this.#later();
  }

  // Remembers what is at the top of the view.
  #mark() {
    const source = this.#source;
    if (source.days.length === 0) {
      this.#anchor = null;
      return;
    }
    const { place, index } = this.#layout.firstAt(this.#space.y);
    this.#anchor = {
      photo: source.photo(place, index), day: source.days[place], index, offset: this.#layout.top(place, index) - this.#space.y,
      cell: this.#layout.cell, isTop: this.#space.y < 1,
    };
  }

  #settle() {
    const wanted = this.#space.wanted;
    if (Math.abs(wanted - this.scroller.scrollTop) >= 1) this.scroller.scrollTop = wanted;
    this.#space.top = this.scroller.scrollTop;
  }

  #scrolled() {
    const top = this.scroller.scrollTop;
    if (top === this.#space.top || !this.#layout || this.scroller.clientHeight === 0) return;
    const before = this.#space.y;
    const isAtEnd = this.#space.scrolled(top);
    this.#judge(before);
    this.#isFast ||= Math.abs(this.#space.y - before) > this.#room / 2;
    this.#mark();
    if (isAtEnd) this.#settle();
    this.#paint();
    if (this.#isFast) {
      this.#hint.textContent = monthText(this.#anchor.day);
      this.#hint.classList.add("shown");
    }
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.#rested(), RESTS_AFTER);
  }

  // What passes faster than it can be seen is not read: asking for a picture takes the browser a while, and so does forgetting it.
  #judge(before) {
    const now = performance.now();
    const views = Math.min(Math.abs(this.#space.y - before) / this.#room, 1);
    this.#isFast = views > (FAST * Math.max(now - this.#movedAt, 16)) / 1000;
    this.#movedAt = now;
  }

  #rested() {
    clearTimeout(this.#rest);
    this.#isFast = false;
    this.#hint.classList.remove("shown");
    this.#settle();
    this.#paint();
    if (this.#anchor) this.#tools.rested(this.#anchor);
  }

  // Scrolls to a height, or only as far as a row there is seen.
  #reveal(y, isRow = false) {
    const room = this.#room;
    let wanted = y;
    if (isRow) {
      const { cell } = this.#layout;
      wanted = this.#space.y;
      if (y < wanted + 8) wanted = y - this.#layout.heading;
      if (y + cell > wanted + room) wanted = y + cell + 8 - room;
    }
    this.#space.place(wanted);
    this.#settle();
    this.#mark();
  }

  // MARK: elements

  #paint() {
    const source = this.#source;
    const { days, counts } = source;
    const layout = this.#layout;
    const room = this.#room;
    const from = Math.max(0, this.#space.y - room * 0.6);
    const to = this.#space.y + room * 1.6;
    const groups = [];
    for (let place = days.length > 0 ? layout.placeAt(from) : 0; place < days.length && layout.tops[place] < to; place++) {
      const [first, end] = layout.between(place, from, to);
      groups.push({ place, first, end });
    }
    const seen = days.length > 0 ? layout.placeAt(this.#space.y) : 0;
    if (!this.#isFast) {
      const near = [...groups].sort((one, other) => Math.abs(one.place - seen) - Math.abs(other.place - seen));
      source.want(near.filter(({ first, end }) => end > first).map(({ place, first, end }) => [place, first, end]));
    }
    if (days[seen] !== this.#seenDay) {
      this.#seenDay = days[seen];
      this.#tools.passed(days[seen] ?? null);
    }
    const focus = this.scroller.contains(document.activeElement) ? document.activeElement : null;
    const held = (focus && this.#owners.get(focus)?.photo) ?? null;
    const plan = this.#plan(groups, held);
    for (const [key, item] of this.#items) {
      if (plan.used.has(key)) continue;
      this.#items.delete(key);
      this.#release(item, item.link === focus);
    }
    const wantedDays = new Set(plan.groups.map(({ day }) => day));
    for (const [day, group] of this.#days) {
      if (wantedDays.has(day)) continue;
      group.element.remove();
      this.#days.delete(day);
    }
    const shift = this.#space.shift;
    let cursor = this.#content.firstChild;
    for (const group of plan.groups) {
      const element = this.#group(group, shift, counts[group.place]);
      cursor = put(this.#content, element.element, cursor, focus);
      let inner = element.list.firstChild;
      for (const planned of group.items) {
        const item = this.#item(planned, group, shift, counts[group.place]);
        inner = put(element.list, item.element, inner, focus);
      }
    }
    if (focus && focus !== document.activeElement && focus.isConnected) focus.focus({ preventScroll: true });
    this.#makeStop();
    if (!this.#isFilled) this.#askFirst();
    // A photo that had the focus is gone: the one in its place gets it.
    if (held && !focus.isConnected && this.#current?.photo?.key === held.key && days.length > 0) {
      const place = layout.placeOf(this.#current.day);
      this.#pending = { day: days[place], index: Math.min(this.#current.index, counts[place] - 1) };
      this.#current.photo = null;
      this.#later();
    }
  }

  // Which photos have elements, in their order: those in view, and the one with the focus. A photo that is there twice while its day is
  // read again is shown once.
  #plan(groups, held) {
    const source = this.#source;
    const used = new Set();
    const planned = groups.map(({ place, first, end }) => {
      const items = [];
      for (let index = first; index < end; index++) {
        const photo = source.photo(place, index);
        const isTwice = photo && used.has(photo.key);
        const key = photo && !isTwice ? photo.key : `${source.days[place]}:${index}`;
        used.add(key);
        items.push({ key, index, photo: isTwice ? null : photo });
      }
      return { place, day: source.days[place], items };
    });
    if (!held || used.has(held.key) || this.#current?.photo?.key !== held.key || source.days.length === 0) return { groups: planned, used };
    const known = source.known(held);
    if (known && !known.isThere) return { groups: planned, used };
    const place = this.#layout.placeOf(held.day);
    if (source.days[place] !== held.day) return { groups: planned, used };
    const item = { key: held.key, index: Math.min(this.#current.index, source.counts[place] - 1), photo: held };
    used.add(held.key);
    const group = planned.find((each) => each.place === place);
    if (group) {
      // In place of the one that is not read there.
      const rest = group.items.filter((each) => each.index !== item.index || each.photo !== null);
      for (const each of group.items) if (!rest.includes(each)) used.delete(each.key);
      group.items = [...rest, item].sort((one, other) => one.index - other.index);
    } else {
      planned.push({ place, day: held.day, items: [item] });
      planned.sort((one, other) => one.place - other.place);
    }
    return { groups: planned, used };
  }

  #group({ place, day }, shift, photos) {
    let group = this.#days.get(day);
    if (!group) {
      const id = `day${day}`;
      const name = day === NO_DATE ? dayText(day) : h("time", { datetime: dateText(day) }, dayText(day));
      const heading = h("h2", { id }, name, " ", h("span", { class: "faint" }));
      const list = h("ul", { class: "plain", "aria-labelledby": id });
      group = { element: h("div", { class: "day" }, heading, list), heading, list, count: heading.lastChild, y: null, photos: null };
      this.#days.set(day, group);
    }
    const y = this.#layout.tops[place] + shift;
    if (group.y !== y) {
      group.y = y;
      group.heading.style.transform = `translateY(${y}px)`;
    }
    if (group.photos !== photos) {
      group.photos = photos;
      group.count.textContent = count(photos, "photo", "photos");
    }
    return group;
  }

  #item({ key, index, photo }, { place }, shift, photos) {
    let item = this.#items.get(key);
    if (!item) {
      item = this.#pool.pop() ?? this.#make();
      this.#items.set(key, item);
      this.#fill(item, photo);
    }
    const [x, y] = [this.#layout.left(index), this.#layout.top(place, index) + shift];
    if (item.x !== x || item.y !== y) {
      [item.x, item.y] = [x, y];
      item.element.style.transform = `translate(${x}px, ${y}px)`;
    }
    if (item.index !== index) item.element.setAttribute("aria-posinset", (item.index = index) + 1);
    if (item.photos !== photos) item.element.setAttribute("aria-setsize", item.photos = photos);
    // It has got a RAW beside it, say.
    if (photo && photo.kind !== item.photo.kind) this.#name(item, photo);
    if (photo && !item.isAsked && !this.#isFast) this.#askSoon(item);
    return item;
  }

  #make() {
    const picture = h("img", { alt: "", decoding: "async", draggable: "false" });
    const marks = h("span", { class: "marks", "aria-hidden": "true" });
    const link = h("a", { tabindex: "-1" }, picture, marks);
    const item = { element: h("li", null, link), link, picture, marks, photo: null, x: NaN, y: NaN, index: -1, photos: -1, isAsked: false };
    this.#owners.set(link, item);
    this.#owners.set(picture, item);
    return item;
  }

  #fill(item, photo) {
    item.element.className = "waiting";
    if (photo) {
      item.link.setAttribute("href", this.#tools.link(photo.key));
      item.element.removeAttribute("aria-hidden");
      this.#name(item, photo);
    } else {
      item.marks.textContent = "";
      item.element.setAttribute("aria-hidden", "true");
    }
  }

  #name(item, photo) {
    item.photo = photo;
    item.marks.textContent = marksOf(photo.kind);
    item.link.setAttribute("aria-label", nameOf(photo));
  }

  // Its request ends, and the next photo does not begin with the picture of this one.
  #release(item, hadFocus) {
    item.element.remove();
    if (this.#stop === item) this.#stop = null;
    forget(item.picture);
    item.picture.removeAttribute("src");
    item.link.removeAttribute("href");
    item.link.removeAttribute("aria-label");
    item.link.tabIndex = -1;
    [item.photo, item.isAsked] = [null, false];
    this.#asking.delete(item);
    // What had the focus does not become another photo.
    if (!hadFocus) this.#pool.push(item);
  }

  // MARK: pictures

  // Each takes the browser a while, so a view full of them is asked for in more than one frame: what is in view first, over a slow line.
  #askSoon(item) {
    this.#asking.add(item);
    if (!this.#isFilled) return;
    this.#asks ??= requestAnimationFrame(() => {
      this.#asks = null;
      if (this.#isFast) return this.#asking.clear();
      const inView = [...this.#asking].filter((each) => this.#isInView(each));
      for (const each of (inView.length > 0 ? inView : [...this.#asking]).slice(0, AT_ONCE)) this.#ask(each);
      for (const each of this.#asking) this.#askSoon(each);
    });
  }

  // What is not in view waits: it would take a part of the line.
  #askFirst() {
    const inView = [...this.#asking].filter((each) => this.#isInView(each));
    for (let at = 0; at < inView.length; at += TOGETHER) this.#askTogether(inView.slice(at, at + TOGETHER));
  }

  // What is seen first comes in one answer: on a line with a delay, one answer for each would take longer. A browser keeps those of their
  // own for longer, so it is not done again.
  async #askTogether(items) {
    const keys = items.map(({ photo }) => photo.key);
    const isWaiting = (number) => items[number].photo?.key === keys[number] && !items[number].picture.hasAttribute("src");
    for (const item of items) {
      item.isAsked = true;
      this.#asking.delete(item);
    }
    let next = 0;
    try {
      for await (const bytes of this.#tools.pictures(keys, this.#isLarge)) {
        if (bytes.length > 0 && isWaiting(next)) {
          items[next].picture.src = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
        } else if (isWaiting(next)) this.#ask(items[next]);
        next += 1;
      }
    } catch {
      // They are asked for one by one.
    }
    for (; next < items.length; next++) if (isWaiting(next)) this.#ask(items[next]);
  }

  #ask(item) {
    const failed = this.#vain.get(item.photo.key);
    item.isAsked = true;
    this.#asking.delete(item);
    if (failed && (failed.tries >= TRIES || failed.until > performance.now())) {
      item.element.className = "vain";
      this.#retryLater();
    } else {
      item.picture.fetchPriority = this.#isInView(item) ? "auto" : "low";
      item.picture.src = this.#tools.picture(item.photo.key, this.#isLarge);
    }
  }

  #loaded(picture) {
    const item = this.#owners.get(picture);
    if (!item?.photo || !picture.hasAttribute("src")) return;
    item.element.className = "";
    forget(picture);
    this.#vain.delete(item.photo.key);
    this.#checkFilled();
  }

  #checkFilled() {
    if (this.#isFilled) return;
    const isWaiting = (item) => this.#isInView(item) && item.element.className === "waiting";
    if ([...this.#items.values()].some(isWaiting)) return;
    this.#isFilled = true;
    for (const item of this.#asking) this.#askSoon(item);
    this.#tools.filled();
  }

  // Whether the picture of a tile would be shown larger than it is.
  get #isLarge() {
    return this.#layout.cell * devicePixelRatio > TILE;
  }

  #isInView({ y }) {
    const top = y - this.#space.top;
    return top > -this.#layout.cell && top < this.#room;
  }

  // It may be made yet, and the server may come back.
  #failed(picture) {
    const item = this.#owners.get(picture);
    if (!item?.photo || !picture.hasAttribute("src")) return;
    item.element.className = "vain";
    forget(picture);
    picture.removeAttribute("src");
    const tries = (this.#vain.get(item.photo.key)?.tries ?? 0) + 1;
    this.#vain.delete(item.photo.key);
    this.#vain.set(item.photo.key, { tries, until: performance.now() + 1000 * 2 ** tries });
    if (this.#vain.size > 5000) this.#vain.delete(this.#vain.keys().next().value);
    this.#retryLater();
    this.#checkFilled();
  }

  #retryLater() {
    this.#retrying ??= setTimeout(() => {
      this.#retrying = null;
      for (const item of this.#inVain()) if (this.#vain.get(item.photo.key)?.tries < TRIES) this.#ask(item);
    }, 1000);
  }

  /** What was asked for in vain may be there now. */
  tryPictures() {
    this.#vain.clear();
    for (const item of this.#inVain()) this.#ask(item);
  }

  #inVain() {
    return [...this.#items.values()].filter(({ photo, element }) => photo && element.className === "vain");
  }

  // MARK: keys

  // One photo can be reached by Tab: that which had the focus last, or the first one in view.
  #makeStop() {
    let stop = this.#current?.photo && this.#items.get(this.#current.photo.key);
    if (!stop) {
      const top = this.#space.top - 1;
      const items = [...this.#items.values()].filter(({ photo }) => photo);
      const isBefore = (one, other) => one.y < other.y || (one.y === other.y && one.x < other.x);
      const inView = items.filter(({ y }) => y >= top);
      stop = inView.reduce((best, item) => (best && !isBefore(item, best) ? best : item), null) ?? items[0] ?? null;
    }
    if (this.#stop === stop) return;
    if (this.#stop) this.#stop.link.tabIndex = -1;
    this.#stop = stop;
    if (stop) stop.link.tabIndex = 0;
  }

  #focused(link) {
    const item = this.#owners.get(link);
    if (!item?.photo) return;
    this.#current = { photo: item.photo, day: item.photo.day, index: item.index };
    this.#makeStop();
  }

  #clicked(event) {
    const item = this.#owners.get(event.target.closest("a"));
    if (!item?.photo || event.button !== 0 || !isPlain(event)) return;
    event.preventDefault();
    item.link.focus({ preventScroll: true });
    this.#tools.open(item.photo);
  }

  #pressed(event) {
    if (!keys.includes(event.key) || !isPlain(event)) return;
    if (this.#source.days.length === 0) return;
    const from = this.#pending ?? this.#current;
    if (!from) return;
    event.preventDefault();
    this.#revealing?.abort();
    const place = this.#layout.placeOf(from.day);
    const index = Math.min(from.index, this.#source.counts[place] - 1);
    this.#move(this.#layout.moved({ place, index }, event.key, Math.floor(this.#room / this.#layout.cell)));
  }

  // Gives the focus to a photo, now or when it is read, unless the person has gone elsewhere meanwhile.
  #move({ place, index }) {
    const photo = this.#source.photo(place, index);
    const isNew = this.#pending?.day !== this.#source.days[place] || this.#pending?.index !== index;
    const before = this.#space.y;
    if (isNew) this.#reveal(this.#layout.top(place, index), true);
    this.#judge(before);
    if (!photo) {
      this.#pending = { day: this.#source.days[place], index };
      if (isNew) this.#rested();
      return;
    }
    this.#pending = null;
    this.#current = { photo, day: photo.day, index };
    this.#paint();
    const { activeElement } = document;
    if (!activeElement || activeElement.contains(this.scroller) || this.scroller.contains(activeElement)) {
      this.#items.get(photo.key)?.link.focus({ preventScroll: true });
    }
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.#rested(), RESTS_AFTER);
  }
}

/** What came among others is held by the browser until it is shown, or until that is not wanted any more. */
function forget(picture) {
  if (picture.src.startsWith("blob:")) URL.revokeObjectURL(picture.src);
}

/** Puts an element where the cursor is, and gives what follows it. What has the focus would lose it if it were moved, so the others are. */
function put(parent, element, cursor, focus) {
  if (element === cursor) return cursor.nextSibling;
  if (focus && element.parentNode === parent && element.contains(focus)) {
    while (cursor && cursor !== element) {
      const next = cursor.nextSibling;
      parent.append(cursor);
      cursor = next;
    }
    return element.nextSibling;
  }
  parent.insertBefore(element, cursor);
  return cursor;
}
