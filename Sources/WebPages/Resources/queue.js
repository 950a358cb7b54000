// The files that a page sends: in which order, how many at a time, what is not sent at all, and what has become of each.
import { Refusal, send } from "./send.js";
import { shots } from "./shots.js";

const MIB = 1 << 20;
// Reading a file is faster than sending it, so it is read first: what is filed already is not sent. Of a larger one this is worth it
// if many others were filed.
const WORTH_READING = 256 * MIB;
// What is asked about together: so many bytes of a question, and of files. What waits to be sent, in shots.
const QUESTION = 32 << 10;
const ASKED_BYTES = 64 * MIB;
const AHEAD = 100;

/** What may become of a file, in the order in which people should see it. */
export const groups = {
  failed: ["failed", "lost", "returned"],
  quarantined: ["quarantined"],
  deferred: ["deferred"],
  sending: ["sending"],
  placed: ["durable", "inbox"],
  waiting: ["waiting", "reading"],
  filed: ["filed", "duplicate"],
  known: ["known"],
  left: ["left"],
};

const groupOf = new Map(Object.entries(groups).flatMap(([group, steps]) => steps.map((step) => [step, group])));

export class Queue {
  /** In the order in which they came. Each has a `key`, `path`, `size`, `step`, and what is known of it. */
  items = [];
  /** Null, or why nothing is sent: `{ message, status }`. */
  halt = null;
  /** What is wrong with the connection, while it is tried again. */
  trouble = null;

  #tools;
  // Shots that wait, that are read and asked about, and whose files wait to be sent.
  #shots = [];
  #asking = [];
  #ready = [];
  #active = new Map();
  #byUpload = new Map();
  #isPreparing = false;
  #asked = 0;
  #known = 0;
  #count = 0;

  /**
   * `tools` has those of `send` but `find` and `digest`, and: `read(blob, withExif)`; `known(entries)`, which gives an answer for each entry;
   * `lanes`, how many files are sent at a time; `largest()`, the bytes that a file may have; `token()`; and `changed()`.
   */
  constructor(tools) {
    this.#tools = tools;
  }

  /**
   * Adds `{ file, path, size, modified }`, or with a `mistake` what cannot be sent; not what is there already, unless it failed. Gives how
   * many were added.
   */
  add(files) {
    const present = new Map(this.items.filter((item) => item.file).map((item) => [identity(item), item]));
    const fresh = [];
    let added = 0;
    for (const { file, path, size, modified, mistake } of files) {
      const item = {
        key: `file ${this.#count++}`, path, file, size, modified,
        step: "waiting", upload: null, offset: 0, sent: 0, exif: null, safe: false,
      };
      const old = present.get(identity(item));
      if (old && groupOf.get(old.step) !== "failed") continue;
      if (old) this.#forget(old);
      present.set(identity(item), item);
      this.items.push(item);
      added += 1;
      if (mistake) this.#end(item, "failed", mistake);
      else if (size === 0) this.#end(item, "failed", "it is empty");
      else if (size > this.#tools.largest()) this.#end(item, "failed", "it is larger than a file may be");
      else fresh.push(item);
    }
    this.#shots.push(...shots(fresh, (item) => item.path));
    this.#changed();
    this.#go();
    return added;
  }

  #forget(item) {
    this.items.splice(this.items.indexOf(item), 1);
    if (this.#byUpload.get(item.upload) === item) this.#byUpload.delete(item.upload);
  }

  get isBusy() {
    return this.#active.size > 0 || this.#ready.length > 0 || this.#shots.length > 0 || this.#isPreparing;
  }

  pause(reason = { message: "Paused", status: 0 }) {
    this.halt ??= reason;
    for (const abort of this.#active.values()) abort.abort(new Paused());
    this.#changed();
  }

  resume() {
    [this.halt, this.trouble] = [null, null];
    this.#changed();
    this.#go();
  }

  /** Leaves everything that is not whole yet; what was begun is ended at the server, too. */
  cancel() {
    const left = new Set([...this.#shots, ...this.#asking, ...this.#ready].flat().filter(({ step }) => groups.waiting.includes(step)));
    for (const [item, abort] of this.#active) {
      left.add(item);
      abort.abort(new Paused());
    }
    [this.#shots, this.#ready, this.halt, this.trouble] = [[], [], null, null];
    for (const item of left) {
      this.#end(item, "left", "not sent");
      if (!this.#active.has(item)) this.#endUpload(item);
    }
    this.#changed();
  }

  #endUpload(item) {
    if (item.upload) this.#tools.request(`${item.upload}?end=1`, null, {});
  }

  /** Tries again what failed here. */
  retry(item) {
    this.add([item]);
  }

  /** What has become of an upload, of this page or of one before. */
  receipt(receipt) {
    let item = this.#byUpload.get(receipt.upload);
    if (!item) {
      item = { key: `upload ${receipt.upload}`, path: receipt.name, file: null, size: receipt.size, upload: receipt.upload };
      this.items.push(item);
      this.#byUpload.set(receipt.upload, item);
    }
    // What is lost while it is sent is sent anew.
    if (this.#active.has(item) && groupOf.get(receipt.step) === "failed") return;
    settle(item, receipt);
    this.#changed();
  }

  /** How many files and bytes are in each group, of those of this page, or with `isEarlier`, of those before. */
  totals(isEarlier = false) {
    const totals = Object.fromEntries(Object.keys(groups).map((group) => [group, { files: 0, bytes: 0, safe: 0 }]));
    const all = { files: 0, bytes: 0, sent: 0, safe: 0 };
    for (const item of this.items) {
      if ((item.file === null) !== isEarlier) continue;
      const group = groupOf.get(item.step);
      totals[group].files += 1;
      totals[group].bytes += item.size;
      if (item.safe) totals[group].safe += 1;
      if (item.step === "left") continue;
      all.files += 1;
      all.bytes += item.size;
      all.sent += ["waiting", "reading", "sending"].includes(item.step) ? item.offset + item.sent : item.size;
      if (item.safe) all.safe += 1;
    }
    return { ...totals, all };
  }

  #changed() {
    this.#tools.changed();
  }

  #end(item, step, reason) {
    Object.assign(item, { step, reason, sent: 0 });
  }

  #go() {
    if (this.halt) return;
    this.#prepare();
    while (!this.halt && this.#active.size < this.#tools.lanes && this.#ready.length > 0) this.#send(this.#ready.shift());
  }

  // Reads files of some shots, and asks which are filed.
  async #prepare() {
    if (this.#isPreparing) return;
    this.#isPreparing = true;
    try {
      while (!this.halt && this.#shots.length > 0 && this.#ready.length < AHEAD) {
        const asked = this.#asking = [];
        for (let [bytes, question] = [0, 0]; bytes < ASKED_BYTES && question < QUESTION && this.#shots.length > 0 && !this.halt;) {
          const shot = this.#shots.shift();
          asked.push(shot);
          for (const item of shot) {
            bytes += await this.#read(item);
            question += 200 + item.path.length * 3;
          }
        }
        if (!(await this.#ask(asked))) this.#shots.unshift(...asked);
        this.#asking = [];
        this.#changed();
        this.#go();
      }
    } finally {
      this.#asking = [];
      this.#isPreparing = false;
    }
    if (!this.halt && this.#shots.length > 0 && this.#ready.length < AHEAD) this.#go();
  }

  async #read(item) {
    const isWorth = item.size <= WORTH_READING || this.#known * 4 > this.#asked;
    if (!isWorth || item.hash || item.step !== "waiting") return 0;
    item.step = "reading";
    this.#changed();
    try {
      const found = await this.#tools.read(item.file, true);
      if (item.step !== "reading") return 0;
      Object.assign(item, { hash: found.digest, exif: found.exif, step: "waiting" });
    } catch {
      this.#unreadable(item);
    }
    return item.size;
  }

  #unreadable(item) {
    this.#end(item, "failed", "it cannot be read; it may have changed since it was chosen");
  }

  // False if they are to be asked again.
  async #ask(asked) {
    const items = asked.flat().filter((item) => item.step === "waiting");
    for (let tries = 1; items.length > 0; tries++) {
      try {
        const answers = await this.#tools.known(items);
        items.forEach((item, index) => item.step === "waiting" && this.#apply(item, answers[index]));
        break;
      } catch (error) {
        if (this.#isFinal(error)) return false;
        // The question is refused: what is sent will be compared when it is filed.
        if (error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)) break;
        await this.#pause(Math.min(2 ** tries, 30), null, error.message);
        if (this.halt) return false;
      }
    }
    this.trouble = null;
    for (const shot of asked) {
      const members = shot.filter((item) => item.step === "waiting");
      const fresh = members.filter((item) => item.upload === null);
      const set = fresh.length > 1 ? { token: this.#tools.token(), count: fresh.length } : null;
      for (const item of fresh) item.set = set;
      this.#ready.push(...members);
    }
    return true;
  }

  #isFinal(error) {
    if (![401, 403, 404, 410].includes(error.status)) return false;
    this.pause({ message: error.message, status: error.status });
    return true;
  }

  #apply(item, answer) {
    this.#asked += 1;
    if (answer?.state === "filed") {
      this.#known += 1;
      Object.assign(item, { step: "known", safe: answer.safe === true, where: answer.where });
    } else if (answer?.state === "unfinished") {
      this.#adopt(item, answer.upload);
      item.offset = answer.offset;
    }
  }

  #adopt(item, upload) {
    const other = this.#byUpload.get(upload);
    item.upload = upload;
    // Its receipt was faster than the answer.
    const isEarlier = other && other.file === null;
    if (isEarlier) this.#forget(other);
    this.#byUpload.set(upload, item);
    if (isEarlier) settle(item, other);
  }

  async #pause(seconds, signal, message) {
    this.trouble = message || "The connection is lost";
    this.#changed();
    await this.#tools.pause(seconds, signal);
  }

  async #send(item) {
    const abort = new AbortController();
    this.#active.set(item, abort);
    item.step = "sending";
    try {
      await send(item, {
        pace: this.#tools.pace,
        request: async (...request) => {
          const answer = await this.#tools.request(...request);
          if (answer.upload) this.#adopt(item, answer.upload);
          if (answer.status >= 200 && answer.status < 300) this.trouble = null;
          return answer;
        },
        digest: async (chunk) => {
          if (item.hash && chunk.size === item.size) return item.hash;
          return (await this.#tools.read(chunk, false)).digest;
        },
        find: async () => {
          const [answer] = await this.#tools.known([item]).catch(() => []);
          if (answer) this.#apply(item, answer);
          return item.step === "known";
        },
        pause: (seconds, signal, message) => this.#pause(seconds, signal, message),
        changed: (_, sent) => {
          item.sent = sent;
          this.#changed();
        },
      }, abort.signal);
      if (item.step === "sending") this.#end(item, "durable");
    } catch (error) {
      item.sent = 0;
      if (error instanceof Paused) {
        if (item.step === "sending") {
          item.step = "waiting";
          this.#ready.unshift(item);
        }
        if (item.step === "left") this.#endUpload(item);
      } else if (error instanceof Refusal && error.isForAll) {
        item.step = "waiting";
        this.#ready.unshift(item);
        this.pause({ message: error.message, status: error.status });
      } else if (error instanceof Refusal) {
        this.#end(item, error.isLeftOut ? "left" : "failed", error.message);
      } else {
        this.#unreadable(item);
      }
    } finally {
      this.#active.delete(item);
      this.#changed();
      this.#go();
    }
  }
}

class Paused extends Error {}

function identity({ path, size, modified }) {
  return JSON.stringify([path, size, modified]);
}

function settle(item, { step, where, reason, safe, warning }) {
  Object.assign(item, { step: groupOf.has(step) ? step : "inbox", where, reason, safe: safe === true, warning, sent: 0 });
}
