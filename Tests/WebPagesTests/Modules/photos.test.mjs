import assert from "node:assert/strict";
import test from "node:test";
import { dateText, dayText, marksOf, nameOf, timeText } from "../../../Sources/WebPages/Resources/captions.js";
import { Layout, NO_DATE, ScrollSpace, civil, dayOf, localTime, newestUntil, period } from "../../../Sources/WebPages/Resources/layout.js";
import { addressOf, placeOf, queryOf, valuesOf } from "../../../Sources/WebPages/Resources/search.js";
import { BLOCK, Results, Tiles, Timeline, order, readDays } from "../../../Sources/WebPages/Resources/timeline.js";

// MARK: dates

test("days and dates are each other's, for all years, and those of the calendar", () => {
  for (let day = -800_000; day < 3_000_000; day += 97) {
    const [year, month, date] = civil(day);
    assert.equal(dayOf(year, month, date), day);
    const known = new Date(day * 86_400_000);
    assert.deepEqual([year, month, date], [known.getUTCFullYear(), known.getUTCMonth() + 1, known.getUTCDate()]);
  }
  for (const day of [-2147483648, 2147483646, 0, -1]) assert.equal(dayOf(...civil(day)), day);
  assert.deepEqual(civil(-1), [1969, 12, 31]);
});

test("a year, a month and a day are periods, and impossible ones are none", () => {
  assert.deepEqual(period("2019"), { first: dayOf(2019, 1, 1), last: dayOf(2019, 12, 31) });
  assert.deepEqual(period(" 2020-2 "), { first: dayOf(2020, 2, 1), last: dayOf(2020, 2, 29) });
  assert.deepEqual(period("2019-12"), { first: dayOf(2019, 12, 1), last: dayOf(2019, 12, 31) });
  assert.deepEqual(period("2019-07-14"), { first: dayOf(2019, 7, 14), last: dayOf(2019, 7, 14) });
  for (const text of ["", "x", "2019-13", "2019-00", "2019-02-30", "2019-02-00", "2019-1-1-1", "20190", "-5", "2019-"]) assert.equal(period(text), null, text);
});

test("times are those of the camera; what is none has no date", () => {
  assert.deepEqual(localTime("2024-01-31T12:34:56"), { day: dayOf(2024, 1, 31), second: 45296 });
  assert.deepEqual(localTime("2024-01-31T12:34:56+09:00"), { day: dayOf(2024, 1, 31), second: 45296 });
  assert.deepEqual(localTime("2024-01-31"), { day: dayOf(2024, 1, 31), second: 0 });
  assert.deepEqual(localTime("9999-02-31T99:99:99"), { day: dayOf(9999, 3, 3), second: 86_399 });
  for (const text of [null, undefined, "", "yesterday", "30000-01-01T12:00:00", "-044-03-15", "2024-13-01", "2024-01-32"]) assert.deepEqual(localTime(text), { day: NO_DATE, second: 0 });
});

test("photos have names, of any day", () => {
  const photo = (kind, day = dayOf(2026, 11, 22)) => nameOf({ day, second: 50591, kind });
  assert.match(photo(1), /^Photo, .*2026.*, 14:03:11, with RAW$/);
  assert.match(photo(3), /, with RAW, with film$/);
  assert.match(photo(4), /^Film, /);
  assert.match(photo(8), /^RAW photo, /);
  assert.equal(photo(0, NO_DATE), "Photo, no date");
  assert.equal(dayText(NO_DATE), "No date");
  for (const day of [-2147483648, 2147483646, dayOf(0, 1, 1), dayOf(-44, 3, 15)]) assert.ok(dayText(day).length > 5);
  assert.equal(dateText(dayOf(-44, 3, 15)), "-0044-03-15");
  assert.equal(dateText(dayOf(987, 3, 5)), "0987-03-05");
  assert.equal(timeText(86399), "23:59:59");
  assert.deepEqual([marksOf(0), marksOf(1), marksOf(3), marksOf(4), marksOf(8)], ["", "RAW", "RAW ◉", "▶", "RAW"]);
});

// MARK: layout

const layoutOf = (counts, { width = 1000, target = 100, heading = 40 } = {}) =>
  new Layout(Int32Array.from(counts, (_, place) => 1000 - place), Uint32Array.from(counts), { width, target, heading });

test("each photo is found where it was put, and a day of 100,000 as well", () => {
  const layout = layoutOf([1, 10, 11, 100_000, 3, 25]);
  for (let place = 0; place < layout.days.length; place++) {
    const numbers = layout.counts[place] > 100 ? [0, 1, 9, 10, 99_989, 99_990, 99_999] : Array.from({ length: layout.counts[place] }, (_, index) => index);
    for (const index of numbers) {
      const y = layout.top(place, index);
      assert.equal(layout.placeAt(y), place);
      const [from, to] = layout.between(place, y, y + 1);
      assert.ok(from <= index && index < to && to - from <= layout.columns);
      const found = layout.firstAt(y);
      assert.deepEqual(found, { place, index: index - (index % layout.columns) });
    }
  }
  assert.equal(layout.height, 6 * 40 + (1 + 1 + 2 + 10_000 + 1 + 3) * 100);
  assert.deepEqual(layout.firstAt(layout.height), { place: 5, index: 24 });
});

test("the newest day that is not newer than another is found; photos without a date are the oldest", () => {
  const days = Int32Array.from([30, 20, 10, -5, NO_DATE]);
  const of = (day) => newestUntil(days, day);
  assert.deepEqual([40, 30, 29, 20, 10, 0, -5, -6, -2147483648, NO_DATE].map(of), [0, 0, 1, 1, 2, 3, 3, 4, 4, 4]);
  assert.equal(newestUntil(Int32Array.from([30]), NO_DATE), 1);
  assert.equal(new Layout(days, Uint32Array.of(1, 1, 1, 1, 1), { width: 9, target: 100, heading: 40 }).placeOf(-999), 4);
  assert.equal(layoutOf([1, 1]).placeOf(-999), 1);
});

test("arrows move in two dimensions across days, and not beyond the ends", () => {
  const layout = layoutOf([13, 4, 22]);
  const moved = (place, index, key, rows = 5) => Object.values(layout.moved({ place, index }, key, rows)).join(".");
  assert.equal(moved(0, 12, "ArrowRight"), "1.0");
  assert.equal(moved(1, 0, "ArrowLeft"), "0.12");
  assert.equal(moved(0, 0, "ArrowLeft"), "0.0");
  assert.equal(moved(2, 21, "ArrowRight"), "2.21");
  assert.equal(moved(0, 5, "ArrowDown"), "0.12");
  assert.equal(moved(0, 12, "ArrowDown"), "1.2");
  assert.equal(moved(1, 3, "ArrowDown"), "2.3");
  assert.equal(moved(2, 3, "ArrowUp"), "1.3");
  assert.equal(moved(1, 3, "ArrowUp"), "0.12");
  assert.equal(moved(0, 3, "ArrowUp"), "0.3");
  assert.equal(moved(0, 1, "PageDown", 3), "2.1");
  assert.equal(moved(2, 21, "PageUp", 99), "0.1");
  assert.equal(moved(0, 1, "PageDown", 99), "2.21");
  assert.equal(moved(1, 1, "Home"), "0.0");
  assert.equal(moved(1, 1, "End"), "2.21");
  assert.equal(layoutOf([100_000]).moved({ place: 0, index: 5 }, "PageDown", 9000).index, 90_005);
});

// MARK: scrolling

const ROOM = 800;

function spaceOf(content, room = ROOM) {
  const space = new ScrollSpace();
  space.resize(content, room);
  return space;
}

test("no element is higher than browsers allow, and both ends are reached by the bar", () => {
  for (const content of [0, 500, 6_000_000, 6_000_001, 36_900_000, 4_000_000_000]) {
    const space = spaceOf(content);
    assert.ok(space.height <= 6_000_000);
    const last = Math.max(0, space.height - ROOM);
    space.scrolled(last);
    assert.equal(space.y, Math.max(0, content - ROOM));
    space.scrolled(0);
    assert.equal(space.y, 0);
    space.place(content);
    assert.equal(space.wanted, last);
  }
});

test("small moves are those of the content, and at rest the bar is where it belongs", () => {
  const space = spaceOf(36_900_000);
  space.place(18_000_000);
  space.top = space.wanted;
  const [y, shift] = [space.y, space.shift];
  for (let move = 1; move <= 100; move++) {
    space.scrolled(space.top + 60);
    assert.equal(space.y, y + 60 * move);
    // What is seen moves with the element.
    assert.equal(space.shift, shift);
  }
  assert.notEqual(space.wanted, space.top);
  const before = space.y;
  space.top = space.wanted;
  assert.equal(space.y, before);
});

test("a late frame of a fling moves by itself alone", () => {
  for (const [room, step] of [[230, 120], [222, 100], [600, 200], [700, 300], [1200, 300]]) {
    const space = spaceOf(36_900_000, room);
    space.place(12_000_000);
    space.top = space.wanted;
    for (let frame = 0; frame < 60; frame++) space.scrolled(space.top + step);
    const before = space.y;
    space.scrolled(space.top + step * 3.2);
    assert.ok(Math.abs(space.y - before - step * 3.2) < 0.01, `${room}`);
  }
});

test("whoever turns the wheel on and on reaches both ends", () => {
  for (const direction of [-1, 1]) {
    const space = spaceOf(36_900_000);
    space.place(18_450_000);
    space.top = space.wanted;
    const last = space.height - ROOM;
    let rests = 0;
    for (let move = 0; move < 300_000 && space.y > 0 && space.y < 36_900_000 - ROOM; move++) {
      const isAtEnd = space.scrolled(Math.min(Math.max(space.top + direction * 120, 0), last));
      if (!isAtEnd) continue;
      rests += 1;
      space.top = space.wanted;
    }
    assert.equal(space.y, direction < 0 ? 0 : 36_900_000 - ROOM);
    assert.ok(rests < 2000);
  }
});

test("a bar that is dragged is in proportion, also pixel by pixel on a high screen", () => {
  for (const room of [300, 800, 2000, 4000]) {
    const space = spaceOf(36_900_000, room);
    const pixel = (space.height - room) / room;
    for (let at = 1; at < room; at++) space.scrolled(at * pixel);
    const share = ((room - 1) * pixel) / (space.height - room);
    assert.ok(Math.abs(space.y / (36_900_000 - room) - share) < 0.001, `${room}`);
  }
});

// MARK: what is searched for

test("a form's query and its values are each other's", () => {
  const form = { words: " old harbour ", keyword: "boat, fishing boat;; sea", person: "Ada", rating: "4", near: "54.32,10.12,5km", place: "" };
  const query = queryOf((name) => form[name]);
  assert.equal(query, "words=old%20harbour&keyword=boat&keyword=fishing%20boat&keyword=sea&person=Ada&rating=4&near=54.32%2C10.12%2C5km");
  const values = valuesOf(query);
  assert.equal(values.keyword, "boat, fishing boat, sea");
  assert.equal(queryOf((name) => values[name]), query);
  assert.equal(queryOf(() => " "), "");
});

test("every condition of an address has its place in the form, and a value with commas stays one", () => {
  for (const query of [
    "words=boat&title=t&name=IMG_1&inbox=phones&bbox=9%2C53%2C11%2C55", "keyword=Kiel%2C%20Germany", "keyword=a%3Bb&keyword=c&keyword=d%2Ce",
    "person=O%22Hara&person=Ada",
  ]) {
    const values = valuesOf(query);
    assert.equal(queryOf((name) => values[name]), query);
  }
  assert.equal(queryOf((name) => (name === "keyword" ? `"Kiel, Germany", boat;"" ` : "")), "keyword=Kiel%2C%20Germany&keyword=boat");
});

test("an address has the page, the photo and the search, and nothing that the server does not know", () => {
  assert.deepEqual(placeOf("#photos"), { page: "photos", key: null, query: "" });
  assert.deepEqual(placeOf("#photo=12-9f2ca0b1"), { page: "photos", key: "12-9f2ca0b1", query: "" });
  assert.deepEqual(placeOf("#photo=12-9f2ca0b1?words=a%26b"), { page: "photos", key: "12-9f2ca0b1", query: "words=a%26b" });
  assert.deepEqual(placeOf("#photos?from=2019&evil=1&words=x&title=t&camera="), { page: "photos", key: null, query: "words=x&from=2019&title=t" });
  assert.deepEqual(placeOf("#now"), { page: "now", key: null, query: "" });
  assert.deepEqual(placeOf(""), { page: "", key: null, query: "" });
  for (const hash of ["#photo=12", "#photo=12-9F2CA0B1", "#photo=../x", "#photo=12-9f2ca0b1x"]) assert.notEqual(placeOf(hash).page, "photos", hash);
  for (const place of [{ key: null, query: "" }, { key: "1-00000000", query: "words=%C3%BC%3F%23" }]) {
    const { key, query } = placeOf(addressOf(place));
    assert.deepEqual({ key, query }, place);
  }
});

// MARK: photos of days

const keyOf = (id) => `${id}-${id.toString(16).padStart(8, "0")}`;

test("days are read as the server writes them, whatever they are, and nothing that is cut off is", () => {
  const read = (days) => {
    const found = readDays(encodedDays(days));
    return [...found.days].map((day, place) => [day, found.counts[place]]);
  };
  const days = [[NO_DATE - 1, 1], [20_778, 4_294_967_295], [20_777, 127], [20_000, 128], [0, 16_384], [-1, 1], [-719_528, 3], [-(2 ** 31), 9], [NO_DATE, 5]];
  assert.deepEqual(read(days), days);
  assert.deepEqual([read([]), read([[NO_DATE, 7]])], [[], [[NO_DATE, 7]]]);
  assert.deepEqual([...new Uint8Array(encodedDays([[2 ** 31 - 2, 130], [2 ** 31 - 202, 1]]))], [2, 130, 1, 200, 1, 1]);
  const whole = new Uint8Array(encodedDays(days));
  for (const length of [1, 3, 6, 7, 8, 11]) assert.throws(() => readDays(whole.slice(0, length).buffer), /cannot be read/, `${length}`);
  assert.throws(() => readDays(Uint8Array.of(...Array(9).fill(255), 1, 1).buffer), /cannot be read/);
});

// A server with days of photos, newest first, whose clock is the test's.
class Library {
  days = new Map();
  requests = [];
  open = 0;
  most = 0;
  aborted = 0;
  time = 0;
  timers = [];
  fate = () => null;
  // Answers wait until `answer` is called.
  isHeld = false;
  held = [];
  changes = 0;

  constructor(counts) {
    let id = 1;
    for (const [day, count] of Object.entries(counts)) {
      const photos = Array.from({ length: count }, (_, index) => ({ id: id + index, second: Number(day) === NO_DATE ? 0 : Math.floor((index * 86_400) / count), kind: 0 }));
      this.days.set(Number(day), photos.sort(order));
      id += count;
    }
    this.next = id;
  }

  file(day, second) {
    const photos = this.days.get(day) ?? [];
    const photo = { id: this.next++, second, kind: 0 };
    this.days.set(day, [...photos, photo].sort(order));
    return photo;
  }

  remove(day, id) {
    this.days.set(day, this.days.get(day).filter((photo) => photo.id !== id));
    if (this.days.get(day).length === 0) this.days.delete(day);
  }

  clock() {
    return {
      now: () => this.time,
      set: (action, wait) => {
        const timer = { action, at: this.time + wait };
        this.timers.push(timer);
        return timer;
      },
      clear: (timer) => { this.timers = this.timers.filter((each) => each !== timer); },
    };
  }

  timeline() {
    return new Timeline((path, signal) => this.ask(path, signal), () => { this.changes += 1; }, this.clock());
  }

  async ask(path, signal) {
    this.requests.push(path);
    this.open += 1;
    this.most = Math.max(this.most, this.open);
    try {
      // As of now, whenever the answer comes.
      const answer = this.answer(path);
      const fate = this.fate(path);
      await new Promise((done, fail) => {
        signal?.addEventListener("abort", () => {
          this.aborted += 1;
          fail(signal.reason);
        });
        if (this.isHeld) this.held.push(done);
        else setImmediate(done);
      });
      if (fate) throw fate;
      return answer;
    } finally {
      this.open -= 1;
    }
  }

  answer(path) {
    if (path === "days") {
      const days = [...this.days.keys()].sort((one, other) => (one === NO_DATE ? 1 : other === NO_DATE ? -1 : other - one));
      return { buffer: encodedDays(days.map((day) => [day, this.days.get(day).length])), field: () => null };
    }
    const asked = new URLSearchParams(path.split("?")[1]);
    const photos = this.days.get(Number(asked.get("day"))) ?? [];
    const from = Number(asked.get("from"));
    return {
      buffer: encoded(photos.slice(from, from + Number(asked.get("count")))),
      field: (name) => (name === "X-Day-Photos" ? String(photos.length) : null),
    };
  }

  tiles() {
    return this.requests.filter((path) => path.startsWith("tiles"));
  }

  // Lets the clock go on, and everything that is to happen until then happen.
  async pass(milliseconds) {
    const end = this.time + milliseconds;
    for (;;) {
      await settled();
      const next = this.timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((each) => each !== next);
      this.time = Math.max(this.time, next.at);
      next.action();
    }
    this.time = end;
    await settled();
  }
}

// Whatever can happen without the clock has happened.
async function settled() {
  for (let turn = 0; turn < 12; turn++) await new Promise((done) => setImmediate(done));
}

function encodedDays(days) {
  const bytes = [];
  const add = (number) => {
    for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
    bytes.push(number);
  };
  let last = 2 ** 31;
  for (const [day, count] of days) {
    add(day === NO_DATE ? 0 : last - day);
    add(count);
    if (day !== NO_DATE) last = day;
  }
  return Uint8Array.from(bytes).buffer;
}

function encoded(photos, day = null) {
  const size = day === null ? 12 : 16;
  const view = new DataView(new ArrayBuffer(photos.length * size));
  photos.forEach((photo, index) => {
    let at = index * size;
    if (day !== null) {
      view.setInt32(at, photo.day ?? day, true);
      at += 4;
    }
    view.setUint32(at, photo.id, true);
    view.setUint32(at + 4, photo.id, false);
    view.setUint32(at + 8, (photo.second | (photo.kind << 24)) >>> 0, true);
  });
  return view.buffer;
}

const placed = (library, timeline, day) => ({ place: newestUntil(timeline.days, day), photos: library.days.get(day) });

test("photos are read as they are written", () => {
  const tiles = new Tiles(encoded([{ id: 4294967295, second: 86_399, kind: 255 }, { id: 7, second: 0, kind: 0 }]), -3);
  assert.deepEqual(tiles.at(0), { key: "4294967295-ffffffff", id: 4294967295, day: -3, second: 86_399, kind: 255 });
  assert.deepEqual(tiles.at(1), { key: "7-00000007", id: 7, day: -3, second: 0, kind: 0 });
  assert.equal(new Tiles(new ArrayBuffer(0), 1).length, 0);
  // What is cut off in the middle of a photo has the photos before.
  assert.equal(new Tiles(encoded([{ id: 1, second: 0, kind: 0 }]).slice(0, 11), 1).length, 0);
});

test("what is looked at is read, four requests at once, and what was scrolled past is aborted", async () => {
  const library = new Library({ 5: 100_000, 4: 10 });
  const timeline = library.timeline();
  await timeline.ask();
  assert.equal(timeline.total, 100_010);
  library.isHeld = true;
  timeline.want([[0, 0, 3000]]);
  await settled();
  assert.equal(library.tiles().length, 4);
  timeline.want([[0, 50_000, 50_300]]);
  await settled();
  assert.equal(library.aborted, 4);
  library.isHeld = false;
  for (const done of library.held) done();
  timeline.want([[0, 50_000, 50_300], [1, 0, 10]]);
  await settled();
  assert.equal(library.most, 4);
  assert.equal(library.tiles().length, 4 + 3);
  assert.equal(timeline.photo(0, 50_123).id, library.days.get(5)[50_123].id);
  assert.equal(timeline.photo(1, 9).id, library.days.get(4)[9].id);
  assert.equal(timeline.photo(0, 0), null);
  assert.equal(timeline.failure, null);
  timeline.want([[0, 50_000, 50_300]]);
  await settled();
  assert.equal(library.tiles().length, 7);
});

test("of photos that were looked at, 40,000 are kept at most", async () => {
  const library = new Library({ 5: 100_000 });
  const timeline = library.timeline();
  await timeline.ask();
  for (let from = 0; from < 100_000; from += 1000) {
    timeline.want([[0, from, from + 1000]]);
    await settled();
  }
  let kept = 0;
  for (let index = 0; index < 100_000; index += BLOCK) if (timeline.photo(0, index)) kept += BLOCK;
  assert.ok(kept <= 40_000 && kept > 30_000, `${kept}`);
  assert.ok(timeline.photo(0, 99_999));
});

test("a day with another number of photos than was known is read again, and others are not", async () => {
  const library = new Library({ 5: 600, 4: 10, 3: 10 });
  const timeline = library.timeline();
  await timeline.ask();
  timeline.want([[0, 0, 300], [1, 0, 10]]);
  await settled();
  const seen = timeline.photo(0, 20);
  const fresh = library.file(5, 86_399);
  library.file(3, 1);
  const before = library.tiles().length;
  // It is noticed by the next photos of the day.
  timeline.want([[0, 0, 600], [1, 0, 10]]);
  await settled();
  assert.equal(timeline.count(5), 601);
  // What was read is shown until it is read again.
  assert.deepEqual(timeline.photo(0, 20), seen);
  await library.pass(3000);
  assert.equal(timeline.photo(0, 0).id, fresh.id);
  assert.deepEqual(timeline.photo(0, 21), seen);
  assert.equal(timeline.count(3), 11);
  assert.ok(library.tiles().slice(before).every((path) => path.includes("day=5&")));
  assert.deepEqual(timeline.known(seen), { place: 0, index: 21, isThere: true });
  assert.equal(library.tiles().length, before + 3);
});

test("days that come, go and grow leave the others as they are", async () => {
  const library = new Library({ 5: 10, 4: 10, [NO_DATE]: 5 });
  const timeline = library.timeline();
  await timeline.ask();
  timeline.want([[0, 0, 10], [1, 0, 10], [2, 0, 5]]);
  await settled();
  const [last, undated] = [timeline.photo(1, 9), timeline.photo(2, 4)];
  for (const { id } of library.days.get(5)) library.remove(5, id);
  library.file(9, 77);
  library.file(4, 0);
  const before = library.tiles().length;
  await library.pass(2000);
  await timeline.ask();
  await settled();
  assert.deepEqual([...timeline.days], [9, 4, NO_DATE]);
  assert.deepEqual(timeline.photo(2, 4), undated);
  timeline.want([[0, 0, 1], [1, 0, 11], [2, 0, 5]]);
  await settled();
  assert.equal(library.tiles().length, before + 2);
  // The newest of two at the same second is the first.
  assert.deepEqual(timeline.known(last), { place: 1, index: 10, isThere: true });
});

test("an empty day ends, whoever says so first", async () => {
  const library = new Library({ 5: 3, 4: 1 });
  const timeline = library.timeline();
  await timeline.ask();
  library.days.delete(5);
  timeline.want([[0, 0, 3]]);
  await settled();
  assert.deepEqual([...timeline.days], [4]);
  assert.equal(timeline.total, 1);
});

test("while photos are filed all the time, days and photos are not read all the time", async () => {
  const library = new Library({ 5: 1000 });
  const timeline = library.timeline();
  await timeline.ask();
  for (let round = 0; round < 1000; round++) {
    library.file(5, round);
    timeline.ask();
    timeline.want([[0, 0, 800]]);
    await library.pass(10);
  }
  assert.ok(library.requests.length - library.tiles().length <= 14, `${library.requests.length - library.tiles().length} times days`);
  assert.ok(library.tiles().length <= 4 * 24, `${library.tiles().length} times photos`);
  await library.pass(5000);
  for (let index = 0; index < 800; index++) assert.equal(timeline.photo(0, index).id, library.days.get(5)[index].id);
});

test("failures are tried again with growing waits, and are over with the first answer", async () => {
  const library = new Library({ 5: 5000 });
  const timeline = library.timeline();
  await timeline.ask();
  const failure = Object.assign(new Error("busy"), { status: 503 });
  library.fate = () => failure;
  timeline.want([[0, 0, 5000]]);
  await library.pass(60_000);
  assert.equal(timeline.failure, failure);
  assert.ok(library.tiles().length < 40, `${library.tiles().length}`);
  const before = library.tiles().length;
  library.fate = () => null;
  timeline.retry();
  await library.pass(10);
  assert.equal(timeline.failure, null);
  assert.equal(library.tiles().length, before + 20);
  assert.ok(timeline.photo(0, 4999));
});

test("days that fail are read again by themselves", async () => {
  const library = new Library({ 5: 5 });
  const timeline = library.timeline();
  library.fate = () => new Error("down");
  await timeline.ask();
  assert.ok(!timeline.isRead && timeline.failure);
  await library.pass(600_000);
  assert.ok(library.requests.length < 30 && library.requests.length > 10, `${library.requests.length}`);
  library.fate = () => null;
  await library.pass(40_000);
  assert.ok(timeline.isRead && !timeline.failure);
  const before = library.requests.length;
  await library.pass(600_000);
  assert.equal(library.requests.length, before);
});

test("a photo is found in a day of 100,000 by few requests, and where it would be if it is gone", async () => {
  const library = new Library({ 6: 3, 5: 100_000, 4: 3 });
  const timeline = library.timeline();
  await timeline.ask();
  const { photos } = placed(library, timeline, 5);
  for (const index of [0, 1, 249, 250, 54_321, 99_999]) {
    const photo = { ...photos[index], day: 5, key: keyOf(photos[index].id) };
    assert.deepEqual(await timeline.locate(photo), { place: 1, index, isThere: true });
  }
  assert.ok(library.tiles().length <= 45, `${library.tiles().length}`);
  const gone = { ...photos[54_321], day: 5, key: keyOf(photos[54_321].id) };
  library.remove(5, gone.id);
  await library.pass(2000);
  await timeline.ask();
  assert.deepEqual(await timeline.locate(gone, 54_321), { place: 1, index: 54_321, isThere: false });
  assert.equal((await timeline.neighbour(gone, 1, 54_321)).id, photos[54_322].id);
  assert.equal((await timeline.neighbour(gone, -1, 54_321)).id, photos[54_320].id);
  assert.equal(await timeline.locate({ ...gone, day: 99 }), null);
});

test("what was read says where a photo is or would be, also between blocks and at the ends of its day", async () => {
  const library = new Library({ 5: 2 * BLOCK + 10 });
  const timeline = library.timeline();
  await timeline.ask();
  const photos = library.days.get(5).map((photo) => ({ ...photo, day: 5, key: keyOf(photo.id) }));
  const last = photos.length - 1;
  const read = async (from, to) => {
    timeline.want([[0, from, to]]);
    await settled();
  };
  await read(BLOCK, 2 * BLOCK);
  assert.deepEqual(timeline.known(photos[BLOCK]), { place: 0, index: BLOCK, isThere: true });
  assert.deepEqual(timeline.known(photos[2 * BLOCK - 1]), { place: 0, index: 2 * BLOCK - 1, isThere: true });
  for (const index of [0, BLOCK - 1, 2 * BLOCK, last]) assert.equal(timeline.known(photos[index]), null);
  for (const index of [0, BLOCK, 2 * BLOCK - 1, last]) library.remove(5, photos[index].id);
  await library.pass(2000);
  await timeline.ask();
  await read(0, last);
  const found = [0, BLOCK, 2 * BLOCK - 1, last].map((index) => timeline.known(photos[index]));
  assert.deepEqual(found.map(({ index }) => index), [0, BLOCK - 1, 2 * BLOCK - 3, last - 3]);
  assert.ok(found.every(({ isThere }) => !isThere));
});

test("from one photo to the next leads across days to both ends, also beside a day that is gone", async () => {
  const library = new Library({ 6: 2, 5: BLOCK, 4: 1, [NO_DATE]: 3 });
  const timeline = library.timeline();
  await timeline.ask();
  const all = [6, 5, 4, NO_DATE].flatMap((day) => library.days.get(day).map((photo) => ({ ...photo, day })));
  let photo = { ...all[0], key: keyOf(all[0].id) };
  assert.equal(await timeline.neighbour(photo, -1), null);
  for (const next of all.slice(1)) assert.equal((photo = await timeline.neighbour(photo, 1)).id, next.id);
  assert.equal(await timeline.neighbour(photo, 1), null);
  for (const next of all.slice(0, -1).reverse()) assert.equal((photo = await timeline.neighbour(photo, -1)).id, next.id);
  const alone = { ...library.days.get(4)[0], day: 4, key: keyOf(library.days.get(4)[0].id) };
  library.remove(4, alone.id);
  await library.pass(2000);
  await timeline.ask();
  assert.equal((await timeline.neighbour(alone, 1)).day, NO_DATE);
  assert.equal((await timeline.neighbour(alone, -1)).day, 5);
  assert.equal((await timeline.neighbour({ ...alone, day: 99 }, 1)).day, 6);
  assert.equal(await timeline.neighbour({ ...alone, day: 99 }, -1), null);
});

test("the photo that is asked for is not aborted by scrolling, and its failure is told", async () => {
  const library = new Library({ 5: 5000 });
  const timeline = library.timeline();
  await timeline.ask();
  library.isHeld = true;
  const photos = library.days.get(5);
  const found = timeline.locate({ ...photos[3], day: 5, key: keyOf(photos[3].id) });
  timeline.want([[0, 4000, 4100]]);
  timeline.stop();
  await settled();
  library.isHeld = false;
  for (const done of library.held) done();
  assert.deepEqual(await found, { place: 0, index: 3, isThere: true });
  library.fate = () => new Error("gone");
  await assert.rejects(timeline.locate({ ...photos[4000], day: 5, key: keyOf(photos[4000].id) }, 4000), /gone/);
});

test("a photo and the one beside it are found while others are filed during each answer", async () => {
  for (const [index, second] of [[3000, 86_399], [2 * BLOCK - 1, 86_399], [2 * BLOCK, 86_399], [3000, 0], [2 * BLOCK - 1, 0], [2 * BLOCK, 0]]) {
    for (const step of [1, -1]) {
      const library = new Library({ 5: 5000 });
      const timeline = library.timeline();
      await timeline.ask();
      const photos = [...library.days.get(5)];
      const photo = { ...photos[index], day: 5, key: keyOf(photos[index].id) };
      library.fate = (path) => {
        if (path.startsWith("tiles")) library.file(5, second);
        return null;
      };
      let found = null;
      timeline.neighbour(photo, step).then((other) => { found = other; });
      await library.pass(1000);
      assert.equal(found?.id, photos[index + step].id, `${index} ${step}`);
      assert.ok(library.tiles().length <= 25, `${library.tiles().length} requests`);
    }
  }
});

test("a photo of a day that never rests is given up, and one that nobody wants is not asked for", async () => {
  const library = new Library({ 5: 5000 });
  const timeline = library.timeline();
  await timeline.ask();
  const photos = [...library.days.get(5)];
  const photo = { ...photos[3000], day: 5, key: keyOf(photos[3000].id) };
  library.fate = (path) => {
    if (path.startsWith("tiles")) library.remove(5, library.days.get(5)[0].id);
    return null;
  };
  const found = assert.rejects(timeline.neighbour(photo, 1), /all the time/);
  await library.pass(1000);
  await found;
  assert.ok(library.tiles().length <= 40, `${library.tiles().length} requests`);
  const before = library.tiles().length;
  library.isHeld = true;
  const controller = new AbortController();
  const aborted = [timeline.neighbour(photo, 1, 0, controller.signal), timeline.locate(photo, 0, controller.signal)];
  await settled();
  controller.abort();
  for (const each of await Promise.allSettled(aborted)) assert.equal(each.reason?.name, "AbortError");
  assert.equal(library.aborted, 1);
  library.isHeld = false;
  await library.pass(10_000);
  assert.equal(library.tiles().length, before + 1);
  await assert.rejects(timeline.locate(photo, 0, controller.signal), { name: "AbortError" });
});

test("photos that fail are asked for no more often because the days are answered", async () => {
  const library = new Library({ 5: 1000 });
  const timeline = library.timeline();
  await timeline.ask();
  library.fate = (path) => (path.startsWith("tiles") ? new Error("broken") : null);
  for (let second = 0; second < 60; second++) {
    library.file(5, second);
    timeline.ask();
    timeline.want([[0, 0, 100]]);
    await library.pass(1000);
  }
  assert.ok(library.tiles().length <= 7, `${library.tiles().length}`);
  assert.match(timeline.failure.message, /broken/);
});

test("when the session has ended nothing is asked for until it is tried again", async () => {
  const library = new Library({ 5: 1000 });
  const timeline = library.timeline();
  await timeline.ask();
  library.fate = () => Object.assign(new Error("sign in"), { status: 401 });
  const photos = library.days.get(5);
  const photo = { ...photos[900], day: 5, key: keyOf(photos[900].id) };
  await assert.rejects(timeline.locate(photo), /sign in/);
  await assert.rejects(timeline.locate(photo), /sign in/);
  await library.pass(2000);
  await timeline.ask();
  timeline.want([[0, 0, 1000]]);
  await library.pass(600_000);
  assert.ok(library.requests.length <= 3, `${library.requests}`);
  library.fate = () => null;
  timeline.retry();
  await library.pass(10);
  assert.equal(timeline.failure, null);
  assert.deepEqual(await timeline.locate(photo), { place: 0, index: 900, isThere: true });
});

// MARK: results

const answerOf = (photos, isCut = false) => ({ buffer: encoded(photos, 0), field: () => (isCut ? "yes" : null) });
const resultsOf = (photos) => new Results(answerOf(photos), () => assert.fail("a request"), () => {});

test("what a search has found is in days, and no request is made for it", async () => {
  const photos = [{ day: 9, id: 5, second: 9, kind: 1 }, { day: 9, id: 4, second: 9, kind: 0 }, { day: -3, id: 9, second: 1, kind: 4 }, { day: NO_DATE, id: 2, second: 0, kind: 0 }];
  const results = resultsOf(photos);
  assert.deepEqual([[...results.days], [...results.counts], results.total], [[9, -3, NO_DATE], [2, 1, 1], 4]);
  const found = [[0, 0], [0, 1], [1, 0], [2, 0]].map(([place, index]) => results.photo(place, index));
  assert.deepEqual(found.map(({ id, day, kind }) => ({ id, day, kind })), photos.map(({ id, day, kind }) => ({ id, day, kind })));
  for (let at = 0; at < 4; at++) {
    assert.equal((await results.neighbour(found[at], 1))?.id, photos[at + 1]?.id);
    assert.equal((await results.neighbour(found[at], -1))?.id, photos[at - 1]?.id);
  }
  assert.deepEqual(results.known(found[2]), { place: 1, index: 0, isThere: true });
  assert.equal(results.known({ ...found[2], day: 4 }), null);
  // One that is not among them, as the member of a set.
  assert.equal((await results.neighbour({ day: 9, id: 99, second: 9, key: "99-00000063" }, 1)).id, 5);
  assert.equal((await results.neighbour({ day: 0, id: 99, second: 9, key: "99-00000063" }, 1)).id, 9);
  assert.equal((await results.neighbour({ day: 0, id: 99, second: 9, key: "99-00000063" }, -1)).id, 4);
});

test("what is searched for again has what was filed, and is without what was taken back", async () => {
  const photos = [{ day: 9, id: 5, second: 9, kind: 0 }, { day: 9, id: 4, second: 9, kind: 0 }, { day: 8, id: 2, second: 0, kind: 0 }];
  const library = new Library({});
  let found = [];
  const results = new Results(answerOf(photos), async () => answerOf(found, true), () => { library.changes += 1; }, library.clock());
  const gone = results.photo(0, 0);
  assert.equal(results.isCut, false);
  const again = async (photos) => {
    found = photos;
    results.ask();
    await library.pass(60_000);
  };
  await again(photos.slice(1));
  assert.equal(results.isCut, true);
  assert.ok(library.changes > 0);
  assert.deepEqual([results.total, [...results.counts]], [2, [1, 1]]);
  assert.deepEqual(results.known(gone), { place: 0, index: 0, isThere: false });
  assert.equal((await results.neighbour(gone, 1)).id, 4);
  await again([photos[2]]);
  assert.equal((await results.neighbour(gone, 1)).id, 2);
  assert.equal(await results.neighbour(gone, -1), null);
  await again(photos);
  assert.deepEqual(results.known(gone), { place: 0, index: 0, isThere: true });
});

test("while photos are filed all the time, searches take a part of the time, and end soon after", async () => {
  for (const [took, most] of [[0, 75], [2000, 10], [10_000, 4]]) {
    const library = new Library({});
    const clock = library.clock();
    let searches = 0;
    const results = new Results(answerOf([]), () => new Promise((done) => {
      searches += 1;
      clock.set(() => done(answerOf([{ day: 9, id: searches, second: 9, kind: 0 }])), took);
    }), () => {}, clock);
    for (let filed = 0; filed < 600; filed++) {
      results.ask();
      await library.pass(100);
    }
    assert.ok(searches > 1 && searches <= most, `${searches} searches of ${took} ms`);
    await library.pass(60_000);
    const before = searches;
    assert.equal(results.photo(0, 0).id, searches);
    await library.pass(600_000);
    assert.equal(searches, before);
  }
});

test("a search that fails is tried again, one that is left is not", async () => {
  const library = new Library({});
  let [searches, aborted] = [0, false];
  const results = new Results(answerOf([]), async (signal) => {
    signal.addEventListener("abort", () => { aborted = true; });
    searches += 1;
    throw new Error("down");
  }, () => {}, library.clock());
  results.ask();
  await library.pass(60_000);
  assert.match(results.failure.message, /down/);
  assert.ok(searches > 3 && searches < 10, `${searches}`);
  const before = searches;
  results.stop();
  results.ask();
  results.retry();
  await library.pass(600_000);
  assert.ok(aborted && searches === before);
});

test("nothing found is no day", async () => {
  const results = resultsOf([]);
  assert.deepEqual([results.days.length, results.total], [0, 0]);
  assert.equal(await results.neighbour({ day: 9, id: 1, second: 0, key: "1-00000001" }, 1), null);
});
