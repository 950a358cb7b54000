import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { omission } from "../../../Sources/WebPages/Resources/names.js";
import { Pace } from "../../../Sources/WebPages/Resources/pace.js";
import { Queue } from "../../../Sources/WebPages/Resources/queue.js";
import { read } from "../../../Sources/WebPages/Resources/read.js";
import { headline, resumption, words } from "../../../Sources/WebPages/Resources/words.js";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");

// A file as Firefox has it: its length stays that of when it was chosen, and its bytes are those of now.
class Changing {
  constructor(bytes) {
    this.now = bytes;
    this.size = bytes.length;
  }

  slice(from, to) {
    return new Blob([this.now.subarray(from, Math.min(to, this.size))]);
  }

  async arrayBuffer() {
    return new Uint8Array(this.now).buffer;
  }
}

// The server's answers to POST, and what may happen on the way: `fate` is asked for each request, and gives "lost" for one that does not
// arrive, "unanswered" for one whose answer does not, or an answer.
class Server {
  // Those that are not ended; `isPlaced` says of one that it has its name, `isOld` that it got it long ago.
  uploads = new Map();
  filed = new Set();
  requests = [];
  sent = 0;
  fate = () => null;
  #ended = new Set();
  #count = 0;

  async request(address, body, { digest, whole, signal }) {
    const [id, query] = address.split("?");
    const fields = new URLSearchParams(query);
    this.requests.push(address);
    const fate = this.fate(this.requests.length, address, body);
    await null;
    const none = { offset: null, upload: null, message: "" };
    if (signal?.aborted || fate === "lost") return { ...none, status: 0 };
    if (fate && fate !== "unanswered") return { ...none, ...fate };
    const answer = { ...none, ...await this.answer(id, fields, body, digest, whole) };
    return fate === "unanswered" ? { ...none, status: 0 } : answer;
  }

  async answer(id, fields, body, digest, whole) {
    const isNew = id === "";
    if (isNew) {
      id = (++this.#count).toString(16).padStart(32, "0");
      this.begin(id, fields.get("name"), Number(fields.get("length")), {
        modified: Number(fields.get("modified")), set: fields.get("set"), of: Number(fields.get("of") ?? 1), whole: whole && hex(whole),
      });
    }
    if (this.#ended.has(id)) return fields.get("end") ? { status: 204 } : { status: 410, message: "the upload has ended" };
    const upload = this.uploads.get(id);
    if (!upload) return { status: 404, message: "there is no such upload" };
    const isWhole = () => upload.bytes.length === upload.length;
    if (isWhole() && (fields.get("end") ? upload.isPlaced : body)) return { status: 409, message: "the upload is complete" };
    if (fields.get("end")) {
      this.uploads.delete(id);
      this.#ended.add(id);
      return { status: 204 };
    }
    if (!body) {
      this.place(upload);
      return { status: 204, offset: upload.bytes.length };
    }
    const at = Number(fields.get("at") ?? 0);
    if (at !== upload.bytes.length) return { status: 409, offset: upload.bytes.length, message: "the upload continues elsewhere" };
    const bytes = Buffer.from(await body.arrayBuffer());
    this.sent += bytes.length;
    if (sha(bytes) !== hex(digest)) {
      if (isNew) this.uploads.delete(id);
      return { status: 400, message: "the bytes are not those of their digest; send them again" };
    }
    upload.bytes = Buffer.concat([upload.bytes, bytes]);
    if (isWhole()) assert.equal(upload.whole ??= sha(upload.bytes), sha(upload.bytes));
    this.place(upload);
    return { status: isWhole() ? upload.isPlaced ? 200 : 202 : isNew ? 201 : 200, offset: upload.bytes.length, upload: isNew ? id : null };
  }

  begin(id, name, length, { modified = 5, set = null, of = 1, bytes = Buffer.alloc(0), whole = null } = {}) {
    this.uploads.set(id, { name, length, modified, set, of, bytes, whole, isPlaced: false, isOld: false });
  }

  // All of a set get their names together.
  place(upload) {
    const all = upload.set ? [...this.uploads.values()].filter(({ set }) => set === upload.set) : [upload];
    const whole = all.filter(({ bytes, length }) => bytes.length === length);
    if (whole.length >= upload.of) for (const each of whole) each.isPlaced = true;
  }

  async known(items) {
    return items.map((item) => {
      const hash = item.hash && hex(item.hash);
      const [found] = [...this.uploads].filter(([, { name, length, modified, bytes, whole, isPlaced, isOld }]) =>
        name === item.path && length === item.size && (bytes.length < length || (hash && !(isPlaced && isOld)))
          && (hash ? whole === hash : modified === item.modified))
        .sort(([, one], [, other]) => other.bytes.length - one.bytes.length);
      if (found) return { state: "unfinished", upload: found[0], offset: found[1].bytes.length };
      return { state: hash && this.filed.has(hash) ? "filed" : "unknown" };
    });
  }
}

class World {
  server = new Server();
  pauses = [];
  began = [];
  #changes = [];

  constructor(changes = {}) {
    let token = 0;
    const pace = new Pace();
    pace.size = 1000;
    pace.accepted = () => null;
    this.queue = new Queue({
      lanes: 3, pace, read, token: () => `set ${++token}`, largest: () => 1e9, began: (upload) => this.began.push(upload),
      request: (...request) => this.server.request(...request), known: (items, signal) => this.server.known(items, signal),
      pause: async (seconds, signal) => {
        this.pauses.push(seconds);
        await null;
        signal?.throwIfAborted();
      },
      changed: () => this.#changes.splice(0).forEach((wake) => wake()),
      ...changes,
    });
  }

  add(...files) {
    const all = files.map(([path, size, fill = path.length, modified = 5]) => {
      const bytes = Buffer.alloc(size, fill);
      return { path, file: new Blob([bytes]), size, modified };
    });
    this.queue.add(all);
    return all;
  }

  async until(condition) {
    while (!condition()) await new Promise((done) => this.#changes.push(done));
  }

  // Until nothing waits.
  async idle() {
    await this.until(() => !this.queue.isBusy);
  }

  steps() {
    return this.queue.items.map((item) => item.step);
  }
}

test("files arrive whole, in chunks, each once", async () => {
  const world = new World();
  world.add(["a/1.jpg", 2500], ["2.jpg", 10], ["3.mov", 1000], ["4.jpg", 3000, 9]);
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable", "durable", "durable"]);
  const { server } = world;
  assert.deepEqual([...server.uploads.values()].map(({ name, bytes }) => [name, bytes.length]).sort(),
    [["2.jpg", 10], ["3.mov", 1000], ["4.jpg", 3000], ["a/1.jpg", 2500]]);
  assert.equal(world.queue.totals().all.sent, 6510);
});

test("what is filed is not sent, and safe only if the server says so", async () => {
  const world = new World();
  const { server } = world;
  const known = server.known.bind(server);
  server.known = async (items) => (await known(items)).map((answer) => (answer.state === "filed" ? { ...answer, safe: true } : answer));
  server.filed.add(sha(Buffer.alloc(100, 1)));
  world.add(["1.jpg", 100, 1], ["2.jpg", 100, 2]);
  await world.idle();
  assert.deepEqual(world.steps(), ["known", "durable"]);
  assert.deepEqual(world.queue.items.map((item) => item.safe), [true, false]);
  assert.equal(world.server.uploads.size, 1);
});

test("members of a shot are one set, of those that are sent", async () => {
  const world = new World();
  world.server.filed.add(sha(Buffer.alloc(100, 1)));
  world.add(["1.heic", 100, 2], ["1.mov", 200, 3], ["2.nef", 100, 1], ["2.jpg", 100, 4], ["3.nef", 10, 5], ["3.jpg", 10, 6], ["3.xmp", 10, 7]);
  await world.idle();
  const sets = Object.fromEntries([...world.server.uploads.values()].map(({ name, set, of }) => [name, [set, of]]));
  assert.deepEqual(sets, {
    "1.heic": ["set 1", 2], "1.mov": ["set 1", 2], "2.jpg": [null, 1], "3.nef": ["set 2", 3], "3.jpg": ["set 2", 3], "3.xmp": ["set 2", 3],
  });
});

test("an upload goes on where the server is, if name, size and content are the same", async () => {
  const world = new World();
  const { server } = world;
  server.begin("a".repeat(32), "1.jpg", 2500, { bytes: Buffer.alloc(1200, 5), whole: sha(Buffer.alloc(2500, 5)) });
  server.begin("b".repeat(32), "2.jpg", 2500, { bytes: Buffer.alloc(1200, 9), whole: sha(Buffer.alloc(2500, 9)) });
  world.add(["1.jpg", 2500, 5], ["2.jpg", 2500, 5]);
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable"]);
  assert.equal(server.uploads.size, 3);
  assert.equal(sha(server.uploads.get("a".repeat(32)).bytes), sha(Buffer.alloc(2500, 5)));
  assert.equal(server.uploads.get("b".repeat(32)).bytes.length, 1200);
  // Whoever shows a guest's own uploads hears of it.
  assert.ok(world.began.includes("a".repeat(32)));
});

test("whatever is lost on the way, files arrive whole, and no upload is begun twice", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const world = new World();
    let state = seed;
    world.server.fate = () => {
      state = state * 1_103_515_245 + 12_345 & 0x7FFF_FFFF;
      return [null, null, "lost", "unanswered", { status: 502 }, null][(state >> 16) % 6];
    };
    const files = world.add(["1.heic", 2500], ["1.mov", 4200, 2], ["x.jpg", 999, 3]);
    await world.idle();
    assert.deepEqual(world.steps(), ["durable", "durable", "durable"], `seed ${seed}`);
    const { uploads } = world.server;
    assert.equal(uploads.size, 3, `seed ${seed}`);
    for (const { path, file } of files) {
      const found = [...uploads.values()].find(({ name }) => name === path);
      assert.equal(sha(found.bytes), sha(Buffer.from(await file.arrayBuffer())), `seed ${seed}`);
    }
  }
});

test("a proxy's limit is found, and a file that does not fit the least chunk is refused", async () => {
  const limit = 3 << 19;
  const world = new World({ pace: new Pace() });
  world.server.fate = (_, __, body) => (body && body.size > limit ? { status: 413 } : null);
  world.add(["1.jpg", 5 << 20]);
  await world.idle();
  assert.deepEqual(world.steps(), ["durable"]);
  world.server.fate = (_, __, body) => (body ? { status: 413 } : null);
  world.add(["2.jpg", 5 << 20]);
  await world.idle();
  assert.equal(world.steps()[1], "failed");
});

test("bytes that are altered on the way are sent again, and given up in the end", async () => {
  const world = new World();
  world.server.fate = (number) => (number === 2 ? { status: 400, message: "altered" } : null);
  world.add(["1.jpg", 2500]);
  await world.idle();
  assert.deepEqual(world.steps(), ["durable"]);
  world.server.fate = () => ({ status: 400, message: "altered" });
  world.add(["2.jpg", 2500]);
  await world.idle();
  assert.deepEqual(world.queue.items[1].reason, "altered");
  world.server.fate = () => null;
  world.queue.retry();
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable"]);
});

test("a file that changes while it is sent, or of which nothing counts, is given up", async () => {
  for (const answer of [{ status: 410, message: "no" }, { status: 200, offset: 1000, message: "no" }]) {
    const world = new World();
    // Of the second chunk, each time.
    world.server.fate = (_, address) => (address.endsWith("?at=1000") ? answer : null);
    world.add(["1.jpg", 2500]);
    await world.idle();
    assert.equal(world.steps()[0], "failed", JSON.stringify(answer));
    assert.ok(world.server.requests.length < 20);
  }
});

test("a refused name is left out, and others go on", async () => {
  const world = new World();
  world.server.fate = (_, address) => (address.includes("x.part") ? { status: 422, message: "ignored" } : null);
  world.add(["x.part", 10], ["1.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.steps(), ["left", "durable"]);
});

test("what is refused to all stops all, and goes on when it is resumed", async () => {
  for (const status of [401, 403, 507]) {
    const world = new World();
    world.server.fate = (number) => (number > 3 ? { status, message: "no" } : null);
    world.add(...Array.from({ length: 9 }, (_, index) => [`${index}.jpg`, 1500, index]));
    await world.until(() => world.queue.halt && world.server.requests.length > 3);
    assert.deepEqual(world.queue.halt, { message: "no", status });
    world.server.fate = () => null;
    world.queue.resume();
    await world.idle();
    assert.deepEqual(new Set(world.steps()), new Set(["durable"]));
    assert.equal(world.server.uploads.size, 9);
  }
});

test("a link that ended is asked nothing more", async () => {
  const world = new World({ known: async () => { throw Object.assign(new Error("this link has ended"), { status: 410 }); } });
  world.add(["1.jpg", 10]);
  await world.until(() => world.queue.halt);
  assert.deepEqual(world.queue.halt, { message: "this link has ended", status: 410 });
  assert.deepEqual([world.steps(), world.server.requests.length], [["waiting"], 0]);
});

test("paused, nothing is sent; resumed, nothing is sent twice", async () => {
  const world = new World();
  world.add(["1.jpg", 8000], ["2.jpg", 8000, 2]);
  await world.until(() => world.server.requests.length >= 5);
  world.queue.pause();
  await world.until(() => world.queue.totals().sending.files === 0);
  const sent = world.server.requests.length;
  for (let turn = 0; turn < 20; turn++) await null;
  assert.equal(world.server.requests.length, sent);
  world.queue.resume();
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable"]);
  assert.deepEqual([...world.server.uploads.values()].map(({ bytes }) => bytes.length), [8000, 8000]);
});

test("left is what is not whole, here and at the server", async () => {
  const world = new World();
  world.add(["1.jpg", 10], ["2.jpg", 80_000, 2], ["3.jpg", 80_000, 3], ["4.jpg", 80_000, 4], ["5.jpg", 80_000, 5]);
  await world.until(() => world.steps()[0] === "durable" && world.queue.items[1].offset > 0);
  world.queue.cancel();
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "left", "left", "left", "left"]);
  assert.deepEqual([...world.server.uploads.values()].map(({ name }) => name), ["1.jpg"]);
});

test("left is also what is being read, or asked about", async () => {
  for (const moment of ["read", "known"]) {
    let [go, reached] = [];
    const [gate, arrival] = [new Promise((done) => { go = done; }), new Promise((done) => { reached = done; })];
    const held = (tool) => async (...given) => {
      reached();
      await gate;
      return tool(...given);
    };
    const server = new Server();
    const world = new World({ [moment]: held(moment === "read" ? read : (items) => server.known(items)) });
    world.add(["1.jpg", 10], ["2.jpg", 10, 2]);
    await arrival;
    world.queue.cancel();
    go();
    await world.idle();
    assert.deepEqual([world.steps(), world.server.requests.length], [["left", "left"], 0], moment);
  }
});

test("what is lost while it is sent, or paused, is sent anew", async () => {
  for (const isPaused of [false, true]) {
    const world = new World();
    world.add(["1.jpg", 5000]);
    await world.until(() => world.queue.items[0].offset >= 2000);
    if (isPaused) world.queue.pause();
    if (isPaused) await world.until(() => world.queue.totals().sending.files === 0);
    const [id] = world.server.uploads.keys();
    world.server.uploads.delete(id);
    world.queue.receipt({ upload: id, name: "1.jpg", size: 5000, step: "lost", safe: false });
    world.queue.resume();
    await world.idle();
    assert.deepEqual(world.steps(), ["durable"]);
    assert.deepEqual([...world.server.uploads.values()].map(({ bytes }) => bytes.length), [5000]);
  }
});

test("receipts say what has become of a file, of whichever page, and which is faster matters not", async () => {
  const world = new World();
  const id = "1".padStart(32, "0");
  world.queue.receipt({ upload: id, name: "1.jpg", size: 10, step: "inbox", safe: false });
  world.queue.receipt({ upload: "e".repeat(32), name: "old.jpg", size: 5, step: "filed", where: "2026/old.jpg", safe: true });
  world.add(["1.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.queue.items.map(({ path, step, safe }) => [path, step, safe]), [["old.jpg", "filed", true], ["1.jpg", "inbox", false]]);
  world.queue.receipt({ upload: id, name: "1.jpg", size: 10, step: "filed", where: "2026/1.jpg", safe: false });
  assert.equal(world.queue.totals().all.safe, 0);
  world.queue.receipt({ upload: id, name: "1.jpg", size: 10, step: "filed", where: "2026/1.jpg", safe: true });
  assert.deepEqual([world.queue.totals().all.safe, world.queue.totals(true).all.safe], [1, 1]);
  world.queue.receipt({ upload: id, name: "1.jpg", size: 10, step: "a step of later", safe: "yes" });
  assert.deepEqual([world.queue.items[1].step, world.queue.items[1].safe], ["inbox", false]);
});

test("the same file twice is one, unless it failed; empty and too large ones are not sent", async () => {
  const world = new World({ largest: () => 100 });
  world.add(["1.jpg", 10], ["1.jpg", 10], ["0.jpg", 0], ["big.jpg", 101]);
  world.add(["1.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.queue.items.map(({ path, step }) => [path, step]), [["1.jpg", "durable"], ["0.jpg", "failed"], ["big.jpg", "failed"]]);
  assert.equal(world.server.uploads.size, 1);
});

test("a file that cannot be read any more fails alone", async () => {
  const world = new World({ read: async (blob, withExif) => { if (blob.size === 7) throw new Error("gone"); return read(blob, withExif); } });
  world.add(["1.jpg", 7], ["2.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.steps(), ["failed", "durable"]);
});

test("a file that is still being written, or is rewritten while it is sent, gets no name, and is sent when it is chosen again", async () => {
  const grow = (bytes) => Buffer.concat([bytes, Buffer.alloc(500, 2)]);
  for (const [change, moment] of [[grow, 0], [grow, 1], [(bytes) => Buffer.alloc(bytes.length, 3), 1], [(bytes) => bytes.subarray(9), 1]]) {
    for (const size of [700, 2500]) {
      const file = new Changing(Buffer.alloc(size, 1));
      const known = (items) => {
        // It was read, and was whole then.
        if (moment === 1) file.now = change(file.now);
        return world.server.known(items);
      };
      const world = new World({ known });
      if (moment === 0) file.now = change(file.now);
      world.queue.add([{ path: "1.mov", file, size, modified: 5 }, { path: "2.jpg", file: new Blob(["2"]), size: 1, modified: 5 }]);
      await world.idle();
      assert.deepEqual(world.steps(), ["failed", "durable"]);
      assert.match(world.queue.items[0].reason, /still being written/);
      await world.until(() => world.server.uploads.size === 1);
      const again = new Blob([file.now]);
      world.queue.add([{ path: "1.mov", file: again, size: again.size, modified: 6 }]);
      await world.idle();
      assert.deepEqual(world.steps(), ["left", "durable", "durable"]);
    }
  }
});

test("every file is sent with the digest of the whole, however large", async () => {
  const world = new World();
  world.add(["1.mov", 80_000], ["2.jpg", 10]);
  await world.idle();
  assert.deepEqual([...world.server.uploads.values()].map(({ whole, bytes }) => whole === sha(bytes)), [true, true]);
});

test("large files come last, whatever the order in which they were chosen", async () => {
  const order = [];
  const world = new World({
    read: async (blob, withExif) => { order.push(blob); return read(blob, withExif); },
    known: async (items) => { order.push("asked"); return world.server.known(items); },
  });
  const film = Object.assign(new Changing(Buffer.alloc(10)), { size: 300 << 20 });
  const photo = new Blob(["x"]);
  world.queue.add([film, photo].map((file, index) => ({ path: `${index}.jpg`, file, size: file.size, modified: 5 })));
  await world.idle();
  assert.deepEqual([order[0] === photo, order[1], order.includes(film), world.steps()], [true, "asked", true, ["failed", "durable"]]);
});

test("two files of one path, size and time are two if their bytes differ, and one if they do not", async () => {
  const world = new World();
  world.add(["DCIM/1.cr3", 2500, 1]);
  world.add(["DCIM/1.cr3", 2500, 2], ["DCIM/1.cr3", 2500, 1]);
  await world.idle();
  world.add(["DCIM/1.cr3", 2500, 2]);
  await world.idle();
  assert.deepEqual([world.steps(), world.queue.twice, world.server.uploads.size], [["durable", "durable"], 2, 2]);
  assert.equal(world.queue.totals().all.files, 2);
});

test("what was left is sent when it is added again", async () => {
  for (const isRead of [false, true]) {
    const world = new World(isRead ? {} : { lanes: 0 });
    if (isRead) world.server.fate = () => ({ status: 401, message: "sign in" });
    else world.queue.pause();
    const files = world.add(["1.jpg", 500], ["2.jpg", 600]);
    if (isRead) await world.until(() => world.queue.halt && world.queue.totals().sending.files === 0);
    world.queue.cancel();
    assert.deepEqual(world.steps(), ["left", "left"]);
    const next = isRead ? world : new World();
    if (!isRead) next.queue.items.push(...world.queue.items);
    next.server.fate = () => null;
    next.queue.add(files);
    await next.idle();
    assert.deepEqual([next.steps(), next.server.uploads.size], [["durable", "durable"], 2]);
  }
});

test("a file for which there is no room lets smaller ones pass, and is tried again by whoever resumes", async () => {
  const world = new World({ lanes: 1 });
  let room = 5000;
  world.server.fate = (_, address) =>
    (Number(new URLSearchParams(address.split("?")[1]).get("length")) > room ? { status: 507, message: "what may be sent was sent" } : null);
  const small = Array.from({ length: 250 }, (_, index) => [`${index}.jpg`, 20, index]);
  world.add(["film.mp4", 9000], ["longer.mp4", 9500], ...small);
  for (let turn = 0; turn < 3; turn++) {
    await world.until(() => world.queue.halt);
    assert.deepEqual(world.queue.halt, { message: "what may be sent was sent", status: 507 });
    assert.equal(world.steps().filter((step) => step === "durable").length, 250);
    // The second is larger than what was refused: nobody is asked again.
    assert.ok(!world.server.requests.some((address) => address.includes("longer")));
    world.queue.resume();
  }
  await world.until(() => world.queue.halt);
  room = Infinity;
  world.queue.resume();
  await world.idle();
  assert.deepEqual(new Set(world.steps()), new Set(["durable"]));
});

test("on a full disk, few files are tried; those without room can be left", async () => {
  const world = new World();
  world.server.fate = () => ({ status: 507, message: "the disk is full" });
  world.add(...Array.from({ length: 90 }, (_, index) => [`${index}.jpg`, 900 - index, index]));
  await world.until(() => world.queue.halt && world.queue.totals().sending.files === 0);
  assert.ok(world.server.requests.length < 10);
  world.queue.cancel();
  await world.idle();
  assert.deepEqual(new Set(world.steps()), new Set(["left"]));
  // Somebody has made room.
  world.server.fate = () => null;
  world.add(["new.jpg", 2000]);
  await world.idle();
  assert.equal(world.steps().at(-1), "durable");
});

// A request that the browser ends: the server keeps the upload, with no byte or, with `isWhole`, with all, and nobody has its number.
function cutting(world, isWhole = false) {
  const whole = world.server.request.bind(world.server);
  world.server.request = async (address, body, options) => {
    if (!address.startsWith("?") || !world.isCutting) return whole(address, body, options);
    const { upload } = await whole(address, body, { ...options, signal: null });
    if (!isWhole) Object.assign(world.server.uploads.get(upload), { bytes: Buffer.alloc(0), isPlaced: false });
    world.cut += 1;
    await new Promise((done) => (options.signal.aborted ? done() : options.signal.addEventListener("abort", done)));
    return { status: 0, offset: null, upload: null, message: "" };
  };
  [world.isCutting, world.cut] = [true, 0];
}

async function until(condition) {
  for (let turn = 0; !condition(); turn++) {
    assert.ok(turn < 100_000, "it never happens");
    await new Promise((done) => setImmediate(done));
  }
}

test("paused while an upload is begun, it is found again, and none is begun twice", async () => {
  for (const isWhole of [false, true]) {
    const world = new World();
    cutting(world, isWhole);
    world.add(...Array.from({ length: 12 }, (_, index) => [`${index}.jpg`, 900, index]));
    for (let turn = 1; turn <= 3; turn++) {
      await until(() => world.cut === turn * 3);
      world.queue.pause();
      await world.until(() => world.queue.totals().sending.files === 0);
      world.isCutting = turn < 3;
      world.queue.resume();
    }
    await world.idle();
    assert.deepEqual(new Set(world.steps()), new Set(["durable"]));
    assert.deepEqual([...world.server.uploads.values()].map(({ bytes }) => bytes.length), Array(12).fill(900));
    // Three began to be sent and were cut; of those that were whole, no byte was sent again.
    assert.equal(world.server.sent, (isWhole ? 12 : world.cut + 12) * 900);
    for (const upload of world.server.uploads.keys()) world.queue.receipt({ upload, name: "", size: 900, step: "filed", safe: true });
    assert.deepEqual([new Set(world.steps()), world.queue.items.length], [new Set(["filed"]), 12]);
  }
});

test("left while an upload is begun, it is ended at the server", async () => {
  const world = new World();
  cutting(world);
  world.add(["1.jpg", 900]);
  await until(() => world.cut === 1);
  assert.equal(world.server.uploads.size, 1);
  world.queue.cancel();
  await until(() => world.server.uploads.size === 0);
  assert.deepEqual(world.steps(), ["left"]);
});

test("names that are no photos' are not sent, and do not count; others are left", async () => {
  const world = new World();
  world.add([".nomedia", 0], ["a/.DS_Store", 10], ["a/Icon\r", 0], ["@eaDir/1.jpg", 10], ["1.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.steps(), ["ignored", "ignored", "ignored", "ignored", "durable"]);
  assert.deepEqual([world.queue.totals().all.files, world.server.requests.length], [1, 1]);
  world.add(["a\tb.jpg", 10], [".hidden/1.jpg", 10], [".1.jpg", 10]);
  await world.idle();
  assert.deepEqual(world.steps().slice(5), ["left", "left", "left"]);
  world.add([".nomedia", 0], [".1.jpg", 10]);
  assert.equal(world.steps().length, 8);
  assert.match(words(world.queue.items.find(({ path }) => path === "a\tb.jpg")).text, /left out: .*control character/);
  assert.equal(world.server.requests.length, 1);
  assert.equal(omission("a.b/c d/e.jpg"), null);
});

test("members of a shot are tried again as a set", async () => {
  const world = new World();
  world.server.fate = () => ({ status: 418, message: "no" });
  world.add(["1.cr3", 500], ["1.jpg", 400]);
  await world.idle();
  assert.deepEqual(world.steps(), ["failed", "failed"]);
  world.server.fate = () => null;
  world.queue.retry();
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable"]);
  const sets = [...world.server.uploads.values()].map(({ set, of }) => [set, of]);
  assert.deepEqual(sets, [["set 2", 2], ["set 2", 2]]);
});

test("what is said of an upload counts no more when the file was begun anew", async () => {
  const world = new World();
  let lost = null;
  world.server.fate = (_, address) => {
    const [id] = address.split("?");
    if (!id || lost) return null;
    lost = id;
    world.server.uploads.delete(id);
    return { status: 410, message: "the upload has ended" };
  };
  world.add(["1.mov", 2500]);
  await world.idle();
  const [upload] = world.server.uploads.keys();
  assert.notEqual(upload, lost);
  world.queue.receipt({ upload, name: "1.mov", size: 2500, step: "filed", safe: true });
  world.queue.receipt({ upload: lost, name: "1.mov", size: 2500, step: "lost", safe: false });
  assert.deepEqual(world.queue.items.map(({ step, safe }) => [step, safe]), [["filed", true]]);
});

test("what the library has by its records is not sent, is never called safe, and can be sent to make sure", async () => {
  const world = new World();
  const { server } = world;
  const known = server.known.bind(server);
  server.known = async (items) => (await known(items)).map(({ state, ...rest }) => (state === "filed" ? { state } : { state, ...rest }));
  server.filed.add(sha(Buffer.alloc(100, 1)));
  world.add(["1.jpg", 100, 1], ["2.jpg", 100, 2]);
  await world.idle();
  assert.deepEqual([world.steps(), server.requests.length], [["known", "durable"], 1]);
  const [second] = server.uploads.keys();
  world.queue.receipt({ upload: second, name: "2.jpg", size: 100, step: "filed", safe: true });
  const { state, look, text } = headline(world.queue.totals());
  assert.deepEqual([state, look], ["recorded", "notice"]);
  for (const said of [text, words(world.queue.items[0]).text]) {
    assert.match(said, /library has .* by its records/);
    assert.doesNotMatch(said, /safe/);
  }
  world.queue.sendKnown();
  await world.idle();
  assert.deepEqual([world.steps(), server.uploads.size], [["durable", "filed"], 2]);
  const upload = [...server.uploads.keys()].at(-1);
  world.queue.receipt({ upload, name: "1.jpg", size: 100, step: "duplicate", safe: true });
  assert.equal(headline(world.queue.totals()).text, "All 2 files are filed: safe to delete where they came from");
});

test("where others ask all the time, files are sent unasked", async () => {
  let asked = 0;
  const world = new World({ known: async () => { asked += 1; throw Object.assign(new Error("ask again"), { status: 429 }); } });
  world.add(["1.jpg", 10]);
  await world.idle();
  assert.deepEqual([world.steps(), asked], [["durable"], 4]);
});

const settled = (world, step = "filed") => {
  for (const [upload, { name, length, isPlaced }] of world.server.uploads) {
    if (isPlaced) world.queue.receipt({ upload, name, size: length, step, safe: step === "filed" });
  }
};

test("a file that could not be read stays, whatever of the same name is added, until it is dismissed", async () => {
  const world = new World({ read: async (...given) => { if (given[0].size === 777) throw new Error("a bad sector"); return read(...given); } });
  world.add(["DCIM/1.jpg", 777, 1, 100], ["DCIM/2.jpg", 500, 2, 101]);
  await world.idle();
  world.add(["DCIM/1.jpg", 900, 3, 200]);
  await world.idle();
  settled(world);
  assert.deepEqual(world.steps(), ["left", "filed", "filed"]);
  assert.equal(headline(world.queue.totals()).text, "2 files filed and safe to delete, 1 not sent");
  assert.ok(world.queue.hasUnsent);
  for (const item of [...world.queue.items]) world.queue.dismiss(item);
  assert.deepEqual([world.steps(), world.queue.hasUnsent], [["filed", "filed"], false]);
});

test("what could not be listed is dismissed, and not tried again; neither is what is too large", async () => {
  const world = new World({ largest: () => 100 });
  world.queue.add([{ path: "DCIM", file: new Blob([]), size: 0, modified: 0, mistake: "it cannot be read" }]);
  world.add(["big.mov", 101]);
  await world.idle();
  world.queue.retry();
  await world.idle();
  assert.deepEqual([world.steps(), world.queue.retriable, world.server.requests.length], [["failed", "failed"], [], 0]);
});

test("a file that a receipt has settled while all was paused is not sent anew", async () => {
  const world = new World();
  const request = world.server.request.bind(world.server);
  let isHeld = true;
  world.server.request = async (address, body, options) => {
    const answer = await request(address, body, { ...options, signal: null });
    if (!isHeld || !address.endsWith("?at=2000")) return answer;
    await new Promise((done) => options.signal.addEventListener("abort", done));
    return { status: 0, offset: null, upload: null, message: "" };
  };
  world.add(["film.mov", 2500]);
  await until(() => world.server.sent === 2500);
  world.queue.pause();
  await world.until(() => world.queue.totals().sending.files === 0);
  settled(world);
  isHeld = false;
  const { length } = world.server.requests;
  world.queue.resume();
  await world.idle();
  assert.deepEqual([world.steps(), world.server.requests.length], [["filed"], length]);
});

test("a file that is tried again while others of its batch are asked about is sent once", async () => {
  let [reads, asks, go] = [0, 0];
  const gate = new Promise((done) => { go = done; });
  const world = new World({
    read: async (...given) => { if (given[0].size === 2500 && reads++ === 0) throw new Error("the card was locked"); return read(...given); },
    known: async (items) => { if (asks++ === 0) await gate; return world.server.known(items); },
  });
  world.add(["1.jpg", 3000], ["2.jpg", 3000, 4], ["film.mov", 2500, 2]);
  await until(() => asks === 1);
  world.queue.retry();
  go();
  await world.idle();
  assert.deepEqual([world.steps(), world.server.uploads.size], [["durable", "durable", "durable"], 3]);
});

test("a lost answer sends no byte twice, and splits no set, though the question about it fails, too", async () => {
  let asks = 0;
  const world = new World({ known: async (items) => { if (++asks === 2) throw new Error("the server does not answer"); return world.server.known(items); } });
  world.server.fate = (number) => (number === 1 ? "unanswered" : null);
  world.add(["1.heic", 500], ["1.mov", 600, 2]);
  await world.idle();
  assert.deepEqual([world.steps(), world.server.sent, asks], [["durable", "durable"], 1100, 3]);
  assert.deepEqual([...world.server.uploads.values()].map(({ of, isPlaced }) => [of, isPlaced]), [[2, true], [2, true]]);
});

test("a member of a set that is tried again alone stays of it", async () => {
  const world = new World();
  world.server.fate = (_, address) => (address.includes("1.mov") ? { status: 418, message: "no" } : null);
  world.add(["1.heic", 500], ["1.mov", 600, 2]);
  await world.idle();
  assert.deepEqual([world.steps(), [...world.server.uploads.values()].map(({ isPlaced }) => isPlaced)], [["durable", "failed"], [false]]);
  world.server.fate = () => null;
  world.queue.retry();
  await world.idle();
  assert.deepEqual([...world.server.uploads.values()].map(({ set, isPlaced }) => [set, isPlaced]), [["set 1", true], ["set 1", true]]);
});

test("what came just now is not sent by the next page either, unless it is gone again", async () => {
  const [before, world] = [new World(), new World()];
  const files = before.add(["1.jpg", 500], ["2.jpg", 600]);
  await before.idle();
  world.server = before.server;
  world.server.filed.add(sha(Buffer.alloc(500, 5)));
  // Three are sent at a time, so which was begun first is open.
  const [first, second] = ["1.jpg", "2.jpg"].map((wanted) => [...world.server.uploads].find(([, { name }]) => name === wanted)[0]);
  world.queue.receipt({ upload: first, name: "1.jpg", size: 500, step: "filed", safe: true });
  world.queue.receipt({ upload: second, name: "2.jpg", size: 600, step: "returned", safe: false });
  world.queue.add(files);
  await world.idle();
  assert.deepEqual(world.queue.items.map(({ path, step, file }) => [path, step, file !== null]),
    [["2.jpg", "returned", false], ["1.jpg", "filed", true], ["2.jpg", "durable", true]]);
  assert.equal(world.server.sent, 500 + 600 * 2);
  // Of another time, but of the same content: it is the same file.
  world.add(["1.jpg", 500, 5, 9]);
  await world.idle();
  assert.deepEqual([world.queue.twice, world.queue.items.length], [1, 3]);
});

test("Pause and Leave end what is being read, or asked", async () => {
  for (const tool of ["read", "known"]) {
    for (const act of ["pause", "cancel"]) {
      let count = 0;
      const hang = (signal) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
      const world = new World({
        read: (blob, withExif, signal) => (tool === "read" && count++ === 1 ? hang(signal) : read(blob, withExif, signal)),
        known: (items, signal) => (tool === "known" && count++ === 0 ? hang(signal) : world.server.known(items)),
      });
      world.add(["1.heic", 100], ["1.mov", 200], ["2.jpg", 300]);
      await until(() => count === (tool === "read" ? 2 : 1));
      world.queue[act]();
      if (act === "pause") {
        await until(() => world.queue.totals().waiting.files === 3 && !world.steps().includes("reading"));
        world.queue.resume();
      }
      await world.idle();
      assert.deepEqual(new Set(world.steps()), new Set([act === "pause" ? "durable" : "left"]), `${act} ${tool}`);
      assert.deepEqual([...world.server.uploads.values()].map(({ of }) => of).sort().reverse(), act === "pause" ? [2, 2, 1] : []);
    }
  }
});

test("what answers instead of the server is not believed, and can be left", async () => {
  for (const answer of [undefined, null, []]) {
    let pauses = 0;
    const world = new World({ known: async () => answer, pause: () => new Promise((done) => { pauses += 1; setImmediate(done); }) });
    world.add(["1.jpg", 10]);
    await until(() => pauses > 2);
    assert.match(world.queue.trouble, /instead of the server/);
    world.queue.cancel();
    await world.idle();
    assert.deepEqual([world.steps(), world.queue.trouble, world.server.requests.length], [["left"], null, 0]);
  }
});

test("what is begun has its room already", async () => {
  const world = new World();
  world.add(["film.mov", 5000], ["1.jpg", 300]);
  assert.equal(world.queue.totals().all.fresh, 5300);
  await world.until(() => world.queue.items[0].offset > 0 && world.queue.totals().sending.files > 0);
  assert.ok(world.queue.totals().all.fresh <= 300);
  await world.idle();
  assert.equal(world.queue.totals().all.fresh, 0);
});

test("the verdict says what stops, what is looked through, and of guests only what they can do", () => {
  const totals = new World().queue.totals();
  const with_ = (changes, ...rest) => headline({ ...totals, all: { files: 2, bytes: 2, safe: 1 }, ...changes }, ...rest);
  const one = { files: 1, bytes: 1, safe: 0 };
  assert.deepEqual([with_({ waiting: one }, { status: 507 }).state, with_({ waiting: one }, { status: 0 }).state], ["stopped", "sending"]);
  assert.deepEqual(headline({ ...totals, all: { files: 1, safe: 1 } }, null, { isAdding: true }).look, "notice");
  assert.match(with_({ quarantined: one }).text, /1 of 2 files needs you/);
  assert.equal(with_({ quarantined: one }, null, { isGuest: true }).text, "Done, but 1 of 2 files is set aside: keep it");
  assert.match(words({ step: "quarantined", reason: "no photo" }, true).text, /^set aside: no photo; whoever gave you the link decides/);
});

test("what is no photo is dealt with: it stays in the inbox, and is not waited for", async () => {
  const world = new World();
  world.add(["1.jpg", 100, 1], ["notes.txt", 10, 2]);
  await world.idle();
  const [photo, text] = world.server.uploads.keys();
  world.queue.receipt({ upload: photo, name: "1.jpg", size: 100, step: "filed", safe: true });
  world.queue.receipt({ upload: text, name: "notes.txt", size: 10, step: "stays", reason: "not a photo: it is text", safe: false });
  const totals = world.queue.totals();
  assert.deepEqual([totals.placed.files, totals.stays.files], [0, 1]);
  assert.equal(headline(totals).text, "Done, but 1 of 2 files is no photo, and not filed: keep it");
  assert.equal(words(world.queue.items[1]).text, "not a photo: it is text; stays in the inbox");
  world.queue.receipt({ upload: text, name: "notes.txt", size: 10, step: "discarded", reason: "JPEG is cut short", safe: false });
  assert.equal(headline(world.queue.totals()).text, "Done, but 1 of 2 files is not filed: keep it");
  assert.equal(words(world.queue.items[1]).text, "discarded by a person, not filed: JPEG is cut short");
  world.queue.receipt({ upload: photo, name: "1.jpg", size: 100, step: "filed", safe: false });
  assert.match(headline(world.queue.totals()).text, /1 file not read again yet/);
});

test("a guest whose link was removed is told to ask for another", () => {
  for (const status of [404, 410]) assert.match(resumption(status, true), /ask for a new link$/);
  for (const status of [403, 404, 507]) assert.match(resumption(status), /resume/);
  assert.match(resumption(401, true), /^Sign in/);
});

test("whatever people and networks do, nothing is called safe that is not filed, and nothing waits for ever", async () => {
  for (let seed = 1; seed <= 150; seed++) {
    let [state, isQuiet] = [seed, false];
    const draw = (count) => {
      state = state * 1_103_515_245 + 12_345 & 0x7FFF_FFFF;
      return (state >> 8) % count;
    };
    const world = new World({
      read: async (...given) => { if (!isQuiet && draw(8) === 0) throw new Error("unreadable"); return read(...given); },
      known: async (items) => {
        if (!isQuiet && draw(6) === 0) throw Object.assign(new Error("no answer"), { status: [0, 429, 503][draw(3)] });
        return world.server.known(items);
      },
    });
    const { queue, server } = world;
    server.fate = () => (isQuiet ? null : ["lost", "unanswered", { status: 502 }, { status: 507, message: "full" }][draw(10)]);
    const wanted = new Map();
    const add = () => {
      const files = Array.from({ length: 1 + draw(4) }, () => {
        const [fill, size] = [draw(12), 100 + draw(4) * 900];
        return [`f${fill}.${["jpg", "mov", "cr3"][draw(3)]}`, size, fill];
      });
      for (const [path, size, fill] of files) wanted.set(`${path} ${size}`, sha(Buffer.alloc(size, fill)));
      world.add(...files);
    };
    const file = (isAll) => {
      for (const [upload, { name, length, whole, isPlaced }] of server.uploads) {
        if (!isPlaced || !(isAll || draw(2))) continue;
        server.filed.add(whole);
        queue.receipt({ upload, name, size: length, step: "filed", safe: true });
      }
    };
    const check = () => {
      if (headline(queue.totals(), queue.halt).look !== "good") return;
      for (const [name, whole] of wanted) assert.ok(server.filed.has(whole), `seed ${seed}: green without ${name}`);
    };
    const acts = [
      () => queue.pause(), () => queue.resume(), () => draw(3) === 0 && queue.cancel(), add, () => file(false), () => null,
      () => queue.retry(), () => queue.halt && queue.resume(), () => !queue.isBusy && queue.sendKnown(),
    ];
    add();
    for (let turn = 0; turn < 25; turn++) {
      for (let wait = draw(30); wait > 0; wait--) await null;
      if (draw(4) === 0) await new Promise(setImmediate);
      acts[draw(acts.length)]();
      check();
    }
    isQuiet = true;
    await until(() => {
      if (queue.halt || !queue.isBusy) queue.resume();
      return !queue.isBusy;
    });
    // What waits for others of its set is placed in the end.
    for (const upload of server.uploads.values()) upload.isPlaced ||= upload.bytes.length === upload.length;
    file(true);
    check();
    assert.deepEqual(queue.items.filter(({ step }) => ["durable", "waiting", "sending", "reading"].includes(step)), [], `seed ${seed}`);
  }
});
