import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { Pace } from "../../../Sources/WebPages/Resources/pace.js";
import { Queue } from "../../../Sources/WebPages/Resources/queue.js";
import { read } from "../../../Sources/WebPages/Resources/read.js";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");

// The server's promises, and what may happen on the way: `fate` is asked for each request, and gives "lost" for one that does not
// arrive, "unanswered" for one whose answer does not, or an answer.
class Server {
  uploads = new Map();
  filed = new Set();
  requests = [];
  fate = () => null;
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
    if (id === "") {
      id = (++this.#count).toString(16).padStart(32, "0");
      this.uploads.set(id, {
        name: fields.get("name"), length: Number(fields.get("length")), modified: Number(fields.get("modified")), set: fields.get("set"),
        of: Number(fields.get("of") ?? 1), bytes: Buffer.alloc(0), whole: whole && hex(whole),
      });
    }
    const upload = this.uploads.get(id);
    if (!upload) return { status: 404, message: "there is no such upload" };
    if (fields.get("end")) {
      this.uploads.delete(id);
      return { status: 204 };
    }
    const at = Number(fields.get("at") ?? 0);
    if (!body) return { status: 204, offset: upload.bytes.length };
    if (at !== upload.bytes.length) return { status: 409, offset: upload.bytes.length };
    const bytes = Buffer.from(await body.arrayBuffer());
    if (sha(bytes) !== hex(digest)) return { status: 400, message: "the bytes are not those of their digest; send them again" };
    upload.bytes = Buffer.concat([upload.bytes, bytes]);
    if (upload.bytes.length === upload.length && upload.whole) assert.equal(upload.whole, sha(upload.bytes));
    return { status: fields.has("name") ? 201 : 200, offset: upload.bytes.length, upload: id };
  }

  async known(items) {
    return items.map((item) => {
      if (item.hash && this.filed.has(hex(item.hash))) return { state: "filed", safe: true };
      const found = [...this.uploads].find(([, { name, length, modified }]) =>
        name === item.path && length === item.size && modified === item.modified);
      return found ? { state: "unfinished", upload: found[0], offset: found[1].bytes.length } : { state: "unknown" };
    });
  }
}

class World {
  server = new Server();
  pauses = [];
  #changes = [];

  constructor(changes = {}) {
    let token = 0;
    const pace = new Pace();
    pace.size = 1000;
    pace.accepted = () => null;
    this.queue = new Queue({
      lanes: 3, pace, read, token: () => `set ${++token}`, largest: () => 1e9,
      request: (...request) => this.server.request(...request), known: (items) => this.server.known(items),
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
  world.server.filed.add(sha(Buffer.alloc(100, 1)));
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

test("an upload goes on where the server is, if name, size and time are the same", async () => {
  const world = new World();
  const { server } = world;
  server.uploads.set("a".repeat(32), { name: "1.jpg", length: 2500, modified: 5, bytes: Buffer.alloc(1200, 5) });
  server.uploads.set("b".repeat(32), { name: "2.jpg", length: 2500, modified: 6, bytes: Buffer.alloc(1200, 9) });
  world.add(["1.jpg", 2500, 5], ["2.jpg", 2500, 5]);
  await world.idle();
  assert.deepEqual(world.steps(), ["durable", "durable"]);
  assert.equal(server.uploads.size, 3);
  assert.equal(sha(server.uploads.get("a".repeat(32)).bytes), sha(Buffer.alloc(2500, 5)));
  assert.equal(server.uploads.get("b".repeat(32)).bytes.length, 1200);
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
  world.queue.retry(world.queue.items[1]);
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
  world.server.fate = (_, address) => (address.includes("Thumbs.db") ? { status: 422, message: "ignored" } : null);
  world.add(["Thumbs.db", 10], ["1.jpg", 10]);
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

test("what is lost while it is sent is sent anew", async () => {
  const world = new World();
  world.add(["1.jpg", 5000]);
  await world.until(() => world.queue.items[0].offset >= 2000);
  const [id] = world.server.uploads.keys();
  world.server.uploads.delete(id);
  world.queue.receipt({ upload: id, name: "1.jpg", size: 5000, step: "lost", safe: false });
  await world.idle();
  assert.deepEqual(world.steps(), ["durable"]);
  assert.deepEqual([...world.server.uploads.values()].map(({ bytes }) => bytes.length), [5000]);
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
