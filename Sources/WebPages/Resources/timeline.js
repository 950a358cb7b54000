// What is on the wall: days with counts, and the photos of days in blocks, which are read when they are looked at. Nothing here touches a
// page. A photo is `{ key, id, day, second, kind }`; its order in a day is that of the wall, newest first.
import { Again, Pause, clock } from "./again.js";
import { NO_DATE, firstThat, newestUntil } from "./layout.js";

/** What `kind` says. */
export const KIND = { withRaw: 1, withFilm: 2, film: 4, raw: 8 };

/** How many photos are read at once, and how many are kept. */
export const BLOCK = 250;
const KEPT = 40_000 / BLOCK;
const AT_ONCE = 4;
// About as many as a view has.
const SEEN = 25;
// How long the blocks of a day that changes are shown.
const WAIT = 500;
// How often a photo is looked for while its day changes, and the one beside it.
const SEARCHES = 40;
const TRIES = 5;

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Photos as the server sends them, 12 bytes each, or 16 with the day before them. */
export class Tiles {
  #view;
  #size;
  #day;

  constructor(buffer, day = null) {
    this.#view = new DataView(buffer);
    this.#size = day === null ? 16 : 12;
    this.#day = day;
    this.length = Math.floor(buffer.byteLength / this.#size);
  }

  day(index) {
    return this.#day ?? this.#view.getInt32(index * this.#size, true);
  }

  at(index) {
    const at = index * this.#size + this.#size - 12;
    const id = this.#view.getUint32(at, true);
    const last = this.#view.getUint32(at + 8, true);
    let mark = "";
    for (let byte = 4; byte < 8; byte++) mark += hexadecimal[this.#view.getUint8(at + byte)];
    return { key: `${id}-${mark}`, id, day: this.day(index), second: last & 0xffffff, kind: last >>> 24 };
  }

  /** How many from `from` on, and before `to`, come before a photo. */
  before(photo, from = 0, to = this.length) {
    return firstThat(from, to, (index) => order(this.at(index), photo) >= 0);
  }
}

/**
 * Days and their counts as the server sends them: numbers of seven bits a byte, the lowest first, with the eighth set in all but the
 * last. Each day is so much older than the one before, the first than day 2³¹; 0 means no date.
 */
export function readDays(buffer) {
  const bytes = new Uint8Array(buffer);
  const [days, counts] = [[], []];
  let at = 0;
  const number = () => {
    let value = 0;
    for (let weight = 1; at < bytes.length && weight < 2 ** 42; weight *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * weight;
      if (byte < 128) return value;
    }
    throw new Error("The days cannot be read.");
  };
  for (let day = 2 ** 31; at < bytes.length;) {
    const older = number();
    day -= older;
    days.push(older === 0 ? NO_DATE : day);
    counts.push(number());
  }
  return { days: Int32Array.from(days), counts: Uint32Array.from(counts) };
}

function blockPath(day, number) {
  return `tiles?day=${day}&from=${number * BLOCK}&count=${BLOCK}`;
}

/** What is asked for first when all photos are shown from the top on, of days as the server sends them: the newest, as many as are seen. */
export function firstPaths(buffer) {
  const { days, counts } = readDays(buffer);
  const paths = [];
  for (let place = 0, photos = 0; place < days.length && photos < SEEN && paths.length < AT_ONCE; photos += counts[place++]) {
    paths.push(blockPath(days[place], 0));
  }
  return paths;
}

/** Less than 0 if `one` comes before `other`, of the same day. */
export function order(one, other) {
  return other.second - one.second || other.id - one.id;
}

/**
 * `{ place, index }` beside a photo that was located `at`, or beside where it would be; `step` is 1 for the next (older) one, -1 for the
 * one before. Null at the ends.
 */
function beside({ days, counts }, photo, at, step) {
  const { place, index, isThere } = at ?? { place: newestUntil(days, photo.day), index: 0, isThere: false };
  const other = isThere || step < 0 ? index + step : index;
  if (other >= 0 && other < (counts[place] ?? 0)) return { place, index: other };
  const day = step < 0 || at ? place + step : place;
  if (day < 0 || day >= days.length) return null;
  return { place: day, index: step > 0 ? 0 : counts[day] - 1 };
}

function countOf({ days, counts }, day) {
  const place = newestUntil(days, day);
  return days[place] === day ? counts[place] : 0;
}

/** All photos. `ask(path, signal)` gives `{ buffer, field(name) }`; `changed()` is called when something is there that was not. */
export class Timeline {
  days = new Int32Array(0);
  counts = new Uint32Array(0);
  total = 0;
  /** Whether the days were read once. */
  isRead = false;

  #ask;
  #changed;
  #timers;
  // Blocks by "DAY:NUMBER", the least recently used first: { tiles, isFresh, notBefore }.
  #blocks = new Map();
  // Requests by the same: { controller, waiters }.
  #running = new Map();
  #wanted = [];
  #waiters = new Map();
  // That the days can be read says nothing of photos.
  #pause = new Pause();
  #days;
  // Where the last photo was found.
  #last = { day: NaN, index: 0 };
  #timer = null;

  constructor(ask, changed, timers = clock) {
    [this.#ask, this.#changed, this.#timers] = [ask, changed, timers];
    this.#days = new Again(async () => this.#setDays((await ask("days")).buffer), changed, timers);
  }

  /** Why something could not be read, while it is tried again. */
  get failure() {
    return this.#days.failure ?? this.#pause.failure;
  }

  count(day) {
    return countOf(this, day);
  }

  get #isOver() {
    return this.#pause.until === Infinity;
  }

  // MARK: days

  /** Reads the days, now or as soon as it may be done again. */
  ask() {
    return this.#days.ask();
  }

  #setDays(buffer) {
    const { days, counts } = readDays(buffer);
    const old = new Map();
    for (let place = 0; place < this.days.length; place++) old.set(this.days[place], this.counts[place]);
    let total = 0;
    for (let place = 0; place < days.length; place++) {
      total += counts[place];
      const before = old.get(days[place]);
      if (before !== undefined && before !== counts[place]) this.#spoil(days[place], 0);
      old.delete(days[place]);
    }
    for (const day of old.keys()) this.#spoil(day, 0);
    [this.days, this.counts, this.total, this.isRead] = [days, counts, total, true];
  }

  // A day has another number of photos than was known: the newest answer is right.
  #setCount(day, count) {
    const place = newestUntil(this.days, day);
    const isThere = this.days[place] === day;
    this.total += count - this.count(day);
    const spliced = (array, value) => {
      const list = [...array];
      list.splice(place, isThere ? 1 : 0, ...(count > 0 ? [value] : []));
      return array.constructor.from(list);
    };
    [this.days, this.counts] = [spliced(this.days, day), spliced(this.counts, count)];
  }

  // The blocks of a day are shown until they are read again, and are read no faster than photos are filed.
  #spoil(day, notBefore) {
    for (const [id, block] of this.#blocks) {
      if (block.day === day && block.isFresh) [block.isFresh, block.notBefore] = [false, notBefore];
    }
  }

  // MARK: photos

  /** A photo of a day by its number, or null while it is not read. */
  photo(place, index) {
    const block = this.#blocks.get(`${this.days[place]}:${Math.floor(index / BLOCK)}`);
    const at = index % BLOCK;
    return block && at < block.tiles.length ? block.tiles.at(at) : null;
  }

  /** What is looked at: `[place, from, to]`, nearest first. What was wanted before and is not read is no longer asked for. */
  want(ranges) {
    const wanted = new Set();
    for (const [place, from, to] of ranges) {
      for (let number = Math.floor(from / BLOCK); number * BLOCK < to; number++) wanted.add(`${this.days[place]}:${number}`);
    }
    for (const id of wanted) {
      const block = this.#blocks.get(id);
      if (!block) continue;
      this.#blocks.delete(id);
      this.#blocks.set(id, block);
    }
    this.#wanted = [...wanted];
    for (const [id, { controller }] of this.#running) if (!wanted.has(id) && !this.#waiters.has(id)) controller.abort();
    this.#pump();
  }

  #pump() {
    const now = this.#timers.now();
    let later = Infinity;
    for (const id of new Set([...this.#waiters.keys(), ...this.#wanted])) {
      const block = this.#blocks.get(id);
      if (block?.isFresh || this.#running.has(id)) continue;
      const at = Math.max(this.#pause.until, this.#waiters.has(id) ? 0 : block?.notBefore ?? 0);
      if (at > now) later = Math.min(later, at);
      else if (this.#running.size < AT_ONCE) this.#read(id);
    }
    this.#timers.clear(this.#timer);
    this.#timer = later === Infinity ? null : this.#timers.set(() => this.#pump(), later - now);
  }

  async #read(id) {
    const [day, number] = id.split(":").map(Number);
    const controller = new AbortController();
    this.#running.set(id, { controller });
    try {
      const answer = await this.#ask(blockPath(day, number), controller.signal);
      if (controller.signal.aborted) return;
      this.#received(id, day, answer);
      this.#pause.end();
    } catch (error) {
      if (controller.signal.aborted) return;
      this.#pause.begin(error, this.#timers.now());
      for (const each of this.#isOver ? [...this.#waiters.keys()] : [id]) {
        for (const waiter of this.#waiters.get(each) ?? []) waiter.fail(error);
        this.#waiters.delete(each);
      }
    } finally {
      this.#running.delete(id);
      this.#pump();
    }
    this.#changed();
  }

  #received(id, day, { buffer, field }) {
    const tiles = new Tiles(buffer, day);
    const count = parseInt(field("X-Day-Photos"), 10);
    if (count >= 0 && count !== this.count(day)) {
      // The others of the day are of another moment. So may be other days.
      this.#spoil(day, this.#timers.now() + WAIT);
      this.#setCount(day, count);
      this.ask();
    }
    this.#blocks.delete(id);
    this.#blocks.set(id, { day, tiles, isFresh: true, notBefore: 0 });
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= KEPT) break;
      this.#blocks.delete(oldest);
    }
    for (const waiter of this.#waiters.get(id) ?? []) waiter.done(tiles);
    this.#waiters.delete(id);
  }

  /** Tries again at once what failed. */
  retry() {
    this.#pause = new Pause(this.#pause.failure);
    this.#days.retry();
    this.#pump();
  }

  /** Whatever was asked for is no longer. */
  stop() {
    this.want([]);
  }

  /** The block of a photo, from what is kept or read. */
  async #block(day, number, signal) {
    const id = `${day}:${number}`;
    signal?.throwIfAborted();
    const tiles = this.#fresh(day, number);
    if (tiles) return tiles;
    if (this.#isOver) throw this.failure;
    return new Promise((done, fail) => {
      const waiter = { done, fail };
      this.#waiters.set(id, [...(this.#waiters.get(id) ?? []), waiter]);
      signal?.addEventListener("abort", () => {
        fail(signal.reason);
        const others = this.#waiters.get(id)?.filter((each) => each !== waiter) ?? [];
        if (others.length > 0) return this.#waiters.set(id, others);
        this.#waiters.delete(id);
        if (!this.#wanted.includes(id)) this.#running.get(id)?.controller.abort();
      }, { once: true });
      this.#pump();
    });
  }

  /** Where a photo is, or where it would be, if what was read of its day says so; else null. */
  known(photo) {
    const count = this.count(photo.day);
    for (let number = 0; number * BLOCK < count; number++) {
      const tiles = this.#fresh(photo.day, number);
      if (!tiles || tiles.length === 0) continue;
      const before = tiles.before(photo);
      const index = number * BLOCK + before;
      const isThere = before < tiles.length && tiles.at(before).key === photo.key;
      // Before the first or behind the last one, it may be in the block beside.
      const isSure = isThere || (before > 0 ? before < tiles.length || index >= count : number === 0 || this.#fresh(photo.day, number - 1));
      if (isSure) return { place: newestUntil(this.days, photo.day), index, isThere };
      if (before === 0) return null;
    }
    return null;
  }

  #fresh(day, number) {
    const block = this.#blocks.get(`${day}:${number}`);
    return block?.isFresh ? block.tiles : null;
  }

  /** Where a photo is, or would be; reads what it must. `near` is a number near its own. Null if its day has none. */
  async locate(photo, near = this.#last.day === photo.day ? this.#last.index : 0, signal = undefined) {
    let [count, low, high, number] = [Infinity, 0, 0, 0];
    for (let searches = 0; searches < SEARCHES; searches++) {
      const now = this.count(photo.day);
      if (now === 0) return null;
      const last = Math.ceil(now / BLOCK) - 1;
      if (now < count) [low, high, number] = [0, last, Math.min(Math.floor(near / BLOCK), last)];
      const tiles = await this.#block(photo.day, number, signal);
      count = this.count(photo.day);
      if (count < now) {
        count = Infinity;
        continue;
      }
      // What was filed meanwhile only moves it back.
      high = Math.min(high + Math.ceil((count - now) / BLOCK), Math.ceil(count / BLOCK) - 1);
      const index = tiles.before(photo);
      const isThere = index < tiles.length && tiles.at(index).key === photo.key;
      if (index === 0 && !isThere && number > low) high = number - 1;
      else if (index === tiles.length && number < high) low = number + 1;
      else {
        this.#last = { day: photo.day, index: Math.min(number * BLOCK + index, count) };
        return { place: newestUntil(this.days, photo.day), index: this.#last.index, isThere };
      }
      number = (low + high) >> 1;
    }
    throw new Error("The photos of this day change all the time. Try again.");
  }

  /** The photo beside one, or beside where it was; null at the ends. */
  async neighbour(photo, step, near = undefined, signal = undefined) {
    for (let tries = 1; ; tries++) {
      const at = this.known(photo) ?? (await this.locate(photo, near, signal));
      const target = beside(this, photo, at, step);
      if (!target) return null;
      const [day, count, index] = [this.days[target.place], this.counts[target.place], target.index % BLOCK];
      const tiles = await this.#block(day, Math.floor(target.index / BLOCK), signal);
      // If photos are filed all the time, one that was filed just now may be missed.
      if (this.count(day) !== count && (tries < TRIES || index >= tiles.length) && tries < SEARCHES) continue;
      return index < tiles.length ? tiles.at(index) : null;
    }
  }
}

/** What a search has found: the same, of what is there as a whole. */
export class Results extends Again {
  isRead = true;
  #tiles;
  // The number of the first photo of each day.
  #starts;

  /** `answer` was that of `ask(signal)`. */
  constructor(answer, ask, changed, timers) {
    super(async (signal) => this.#set(await ask(signal)), changed, timers);
    this.#set(answer);
  }

  #set({ buffer, field }) {
    this.#tiles = new Tiles(buffer);
    /** Whether more match. */
    this.isCut = field("X-Photos-Left-Out") !== null;
    this.total = this.#tiles.length;
    const starts = [];
    for (let index = 0; index < this.total; index++) {
      if (index === 0 || this.#tiles.day(index) !== this.#tiles.day(index - 1)) starts.push(index);
    }
    this.#starts = Uint32Array.from(starts);
    this.days = Int32Array.from(starts, (start) => this.#tiles.day(start));
    this.counts = Uint32Array.from(starts, (start, place) => (starts[place + 1] ?? this.total) - start);
  }

  count(day) {
    return countOf(this, day);
  }

  photo(place, index) {
    return this.#tiles.at(this.#starts[place] + index);
  }

  known(photo) {
    const place = newestUntil(this.days, photo.day);
    if (this.days[place] !== photo.day) return null;
    const start = this.#starts[place];
    const found = this.#tiles.before(photo, start, start + this.counts[place]);
    const index = found - start;
    return { place, index, isThere: index < this.counts[place] && this.#tiles.at(found).key === photo.key };
  }

  async locate(photo) {
    return this.known(photo);
  }

  async neighbour(photo, step) {
    const target = beside(this, photo, this.known(photo), step);
    return target && this.photo(target.place, target.index);
  }

  want() {}
}
