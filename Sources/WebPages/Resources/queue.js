// The files that a page sends: in which order, how many at a time, what is not sent at all, and what has become of each.
import { omission } from "./names.js";
import { Refusal, send } from "./send.js";
import { shots } from "./shots.js";

const MIB = 1 << 20;
/**
 * A file is read before it is sent: what is filed already is not sent, and the server compares the whole. Larger ones come last, since
 * others can be sent while they are read.
 */
export const LARGE = 256 * MIB;
// What is asked about together: so many bytes of a question, and of files. What waits to be sent, in shots.
const QUESTION = 32 << 10;
const ASKED_BYTES = 64 * MIB;
const AHEAD = 100;
// After so many files in a row for which there is no room, smaller ones are not tried either.
const FULL = 5;

/** What may become of a file, in the order in which people should see it. */
export const groups = {
  failed: ["failed", "lost", "returned"],
  quarantined: ["quarantined"],
  deferred: ["deferred"],
  sending: ["sending"],
  placed: ["durable", "inbox"],
  waiting: ["waiting", "reading"],
  stays: ["stays"],
  discarded: ["discarded"],
  filed: ["filed", "duplicate"],
  known: ["known"],
  left: ["left"],
  ignored: ["ignored"],
};

const groupOf = new Map(Object.entries(groups).flatMap(([group, steps]) => steps.map((step) => [step, group])));

export class Queue {
  /** In the order in which they came. Each has a `key`, `path`, `size`, `step`, and what is known of it. */
  items = [];
  /** Null, or why nothing is sent: `{ message, status }`. */
  halt = null;
  /** What is wrong with the connection, while it is tried again. */
  trouble = null;
  /** How many files came twice, and are listed once. */
  twice = 0;

  #tools;
  // Shots that wait, that are read and asked about, and whose files wait to be sent.
  #shots = [];
  #asking = [];
  #ready = [];
  #active = new Map();
  // What there is no room for, the bytes that are too many, and how many were refused in a row.
  #aside = [];
  #room = Infinity;
  #refused = 0;
  #full = null;
  #byUpload = new Map();
  // What was read, by path, size, time and digest.
  #seen = new Map();
  #isPreparing = false;
  // Ends what is being read or asked.
  #preparing = new AbortController();
  #count = 0;

  /**
   * `tools` has those of `send` but `find` and `digest`, and: `read(blob, withExif, signal)`; `known(entries, signal)`, which gives an
   * answer for each entry; `began(upload)`, called when the upload of a file is known; `lanes`, how many files are sent at a time;
   * `largest()`, the bytes that a file may have; `token()`; and `changed()`.
   */
  constructor(tools) {
    this.#tools = tools;
  }

  /**
   * Adds `{ file, path, size, modified }`, or with a `mistake` what cannot be sent. Whether it is there already is known when it is read:
   * files of two cards may have one path, size and time.
   */
  add(files) {
    const unread = new Map();
    for (const item of this.items) {
      if (isOver(item) && !item.hash) unread.set(item.isStale ? item.path : identity(item), item);
    }
    const fresh = [];
    for (const { file, path, size, modified, mistake } of files) {
      const item = {
        key: `file ${this.#count++}`, path, file, size, modified,
        step: "waiting", upload: null, offset: 0, sent: 0, exif: null, safe: false,
      };
      for (const key of [identity(item), path]) {
        const old = unread.get(key);
        // Whether it is the same file, nobody can know: another card may have the same names.
        if (old?.isStale) this.#end(old, "left", "it could not be read, and another file of this name was added since");
        else if (old) this.#forget(old);
        unread.delete(key);
      }
      this.items.push(item);
      const omitted = omission(path);
      if (omitted) this.#end(item, omitted.step, omitted.reason);
      else if (mistake) this.#end(item, "failed", mistake);
      else if (size === 0) this.#end(item, "failed", "it is empty");
      else if (size > this.#tools.largest()) this.#end(item, "failed", "it is larger than a file may be");
      else fresh.push(item);
    }
    this.#enqueue(fresh);
  }

  #enqueue(items) {
    const all = [...this.#shots, ...shots(items, (item) => item.path)];
    this.#shots = [...all.filter((shot) => !isLarge(shot)), ...all.filter(isLarge)];
    this.#changed();
    this.#go();
  }

  #forget(item) {
    const place = this.items.indexOf(item);
    if (place >= 0) this.items.splice(place, 1);
    if (this.#byUpload.get(item.upload) === item) this.#byUpload.delete(item.upload);
  }

  get isBusy() {
    return this.#active.size > 0 || this.#ready.length > 0 || this.#shots.length > 0 || this.#aside.length > 0
      || this.#isPreparing;
  }

  pause(reason = { message: "Paused", status: 0 }) {
    this.halt ??= reason;
    for (const abort of [...this.#active.values(), this.#preparing]) abort.abort();
    this.#changed();
  }

  resume() {
    this.#forgive();
    this.#ready.push(...this.#aside.splice(0));
    this.#changed();
    this.#go();
  }

  #forgive() {
    [this.halt, this.trouble, this.#room, this.#refused] = [null, null, Infinity, 0];
  }

  /** Leaves everything that is not whole yet; what was begun is ended at the server, too. */
  cancel() {
    const all = [...this.#shots, ...this.#asking, ...this.#ready, ...this.#aside].flat();
    const left = new Set(all.filter(({ step }) => groups.waiting.includes(step)));
    for (const [item, abort] of this.#active) {
      left.add(item);
      abort.abort();
    }
    this.#preparing.abort();
    [this.#shots, this.#ready, this.#aside] = [[], [], []];
    this.#forgive();
    for (const item of left) {
      this.#end(item, "left", "not sent");
      if (!this.#active.has(item)) this.#endUpload(item);
    }
    this.#changed();
  }

  async #endUpload(item) {
    let { upload } = item;
    if (!upload && item.isUnanswered) {
      const [answer] = await this.#known([item]).catch(() => []);
      if (answer?.state === "unfinished") upload = answer.upload;
    }
    if (upload) this.#tools.request(`${upload}?end=1`, null, {});
  }

  /** What failed here, and may be tried again. */
  get retriable() {
    return this.items.filter(({ step, size }) => step === "failed" && size > 0 && size <= this.#tools.largest());
  }

  retry() {
    this.#begin(this.retriable, { hash: null });
  }

  /** Whether any file of this page was not sent, and does not wait to be. */
  get hasUnsent() {
    return this.items.some(isUnsent);
  }

  /** Takes one that is not sent off the list. */
  dismiss(item) {
    if (isUnsent(item)) this.#forget(item);
    this.#changed();
  }

  /** Sends what the library has by its records alone, so that it is read there and compared. */
  sendKnown() {
    this.#begin(this.items.filter(isRecorded), { isWanted: true });
  }

  #begin(items, changes) {
    const nothing = { step: "waiting", reason: null, where: null, warning: null, upload: null, offset: 0, sent: 0 };
    for (const item of items) Object.assign(item, nothing, changes);
    this.#enqueue(items);
  }

  /** What has become of an upload, of this page or of one before. */
  receipt(receipt) {
    let item = this.#byUpload.get(receipt.upload);
    if (!item) {
      item = { key: `upload ${receipt.upload}`, path: receipt.name, file: null, size: receipt.size, upload: receipt.upload };
      this.items.push(item);
      this.#byUpload.set(receipt.upload, item);
    }
    // Of one that was begun before, and begun anew.
    if (item.upload !== receipt.upload) return;
    // What is lost before all of it is sent is sent anew.
    if ((this.#active.has(item) || item.step === "waiting") && groupOf.get(receipt.step) === "failed") return;
    settle(item, receipt);
    this.#changed();
  }

  /** How many files and bytes are in each group, of those of this page, or with `isEarlier`, of those before. */
  totals(isEarlier = false) {
    const totals = Object.fromEntries(Object.keys(groups).map((group) => [group, { files: 0, bytes: 0, safe: 0 }]));
    // `fresh`: bytes of files that the server has not heard of.
    const all = { files: 0, bytes: 0, sent: 0, safe: 0, fresh: 0 };
    for (const item of this.items) {
      if ((item.file === null) !== isEarlier) continue;
      const group = groupOf.get(item.step);
      totals[group].files += 1;
      totals[group].bytes += item.size;
      if (item.safe) totals[group].safe += 1;
      if (groups.left.includes(item.step) || groups.ignored.includes(item.step)) continue;
      all.files += 1;
      all.bytes += item.size;
      const isOpen = ["waiting", "reading", "sending"].includes(item.step);
      all.sent += isOpen ? item.offset + item.sent : item.size;
      if (isOpen && !item.upload && !item.isUnanswered) all.fresh += item.size;
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
    while (!this.halt && this.#active.size < this.#tools.lanes && this.#ready.length > 0) {
      const item = this.#ready.shift();
      // A receipt has said what became of it, or it is sent already.
      if (item.step !== "waiting") continue;
      if (item.size - item.offset < this.#room) this.#send(item);
      else this.#aside.push(item);
    }
    const isAnyOther = this.#active.size > 0 || this.#ready.length > 0 || this.#shots.length > 0 || this.#isPreparing;
    if (this.#aside.length > 0 && !isAnyOther) this.pause(this.#full);
  }

  // Reads files of some shots, and asks which are filed.
  async #prepare() {
    if (this.#isPreparing || this.#shots.length === 0) return;
    this.#isPreparing = true;
    try {
      while (!this.halt && this.#shots.length > 0 && this.#ready.length < AHEAD) {
        const asked = this.#asking = [];
        const { signal } = this.#preparing = new AbortController();
        for (let [bytes, question] = [0, 0]; bytes < ASKED_BYTES && question < QUESTION && this.#shots.length > 0 && !signal.aborted;) {
          if (asked.length > 0 && isLarge(this.#shots[0])) break;
          asked.push(this.#shots.shift());
          const shot = await this.#readShot(asked.at(-1), signal);
          asked[asked.length - 1] = shot;
          for (const { size, path } of shot) [bytes, question] = [bytes + size, question + 200 + path.length * 3];
        }
        if (signal.aborted || !(await this.#ask(asked, signal))) this.#shots.unshift(...asked);
        this.#asking = [];
        this.#changed();
        this.#go();
      }
    } finally {
      this.#asking = [];
      this.#isPreparing = false;
      this.#changed();
    }
    if (!this.halt && (this.#shots.length === 0 || this.#ready.length < AHEAD)) this.#go();
  }

  // Gives what is to be sent of a shot; what is interrupted is read again later.
  async #readShot(shot, signal) {
    const found = [];
    for (const item of shot) if (signal.aborted || await this.#read(item, signal)) found.push(item);
    return found;
  }

  async #read(item, signal) {
    if (item.step !== "waiting") return false;
    if (item.hash) return true;
    item.step = "reading";
    this.#changed();
    try {
      const found = await this.#tools.read(item.file, true, signal);
      if (item.step !== "reading") return false;
      Object.assign(item, { hash: found.digest, exif: found.exif, step: "waiting" });
      this.#compare(item);
    } catch {
      if (item.step !== "reading") return false;
      if (signal.aborted) item.step = "waiting";
      else this.#unreadable(item);
    }
    return item.step === "waiting";
  }

  // Lists what is there already once.
  #compare(item) {
    const key = `${identity(item)} ${item.hash}`;
    const other = this.#seen.get(key);
    if (other && other !== item && !isOver(other)) return this.#isTwice(item);
    if (other && other !== item) this.#forget(other);
    this.#seen.set(key, item);
  }

  #isTwice(item) {
    this.#forget(item);
    item.step = "twice";
    this.twice += 1;
  }

  async #known(items, signal) {
    const answers = await this.#tools.known(items, signal);
    // As a hotel's sign-in page does.
    if (answers?.length !== items.length) throw new Error("Something else answers instead of the server");
    return answers;
  }

  #unreadable(item) {
    this.#end(item, "failed", "it cannot be read, has changed since it was chosen, or is still being written: choose it again");
    Object.assign(item, { hash: null, isStale: true });
  }

  // False if they are to be asked again.
  async #ask(asked, signal) {
    for (let tries = 1; ; tries++) {
      const items = asked.flat().filter(({ step }) => step === "waiting");
      if (items.length === 0) break;
      try {
        const answers = await this.#known(items, signal);
        items.forEach((item, index) => item.step === "waiting" && this.#apply(item, answers[index]));
        break;
      } catch (error) {
        if (signal.aborted || this.#isFinal(error)) return false;
        // The question is refused, or others ask all the time: what is sent will be compared when it is filed.
        if (error.status >= 400 && error.status < 500 && (tries > 3 || ![408, 429].includes(error.status))) break;
        await this.#pause(Math.min(2 ** tries, 30), signal, error.message).catch(() => null);
        if (signal.aborted) return false;
      }
    }
    this.trouble = null;
    for (const shot of asked) {
      const members = shot.filter((item) => item.step === "waiting");
      const fresh = members.filter((item) => item.upload === null);
      // Those of which others have come stay of their set.
      const old = fresh.find(({ set }) => set?.count > fresh.length)?.set;
      const set = old ?? (fresh.length > 1 ? { token: this.#tools.token(), count: fresh.length } : null);
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
    if (answer?.state === "filed" && !item.isWanted) {
      Object.assign(item, { step: "known", safe: answer.safe === true, where: answer.where });
    } else if (answer?.state === "unfinished") {
      const other = this.#byUpload.get(answer.upload);
      // It had come, and is gone again.
      if (other && other !== item && groupOf.get(other.step) === "failed") return;
      if (other?.file && other !== item && !isOver(other)) return this.#isTwice(item);
      item.offset = answer.offset;
      this.#adopt(item, answer.upload);
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
    this.#tools.began(upload);
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
          if (answer.status >= 200 && answer.status < 300) [this.trouble, this.#refused] = [null, 0];
          return answer;
        },
        digest: async (chunk, isLast) => {
          // Of what has changed meanwhile, what was sent is a part or a mixture: it gets no name.
          const digest = async (blob) => (await this.#tools.read(blob, false, abort.signal)).digest;
          if (isLast && `${await digest(item.file)}` !== `${item.hash}`) throw new Error("it has changed");
          return chunk.size === item.size ? item.hash : digest(chunk);
        },
        find: async () => {
          const [answer] = await this.#known([item], abort.signal);
          if (item.step === "sending") this.#apply(item, answer);
          return item.step !== "sending";
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
      if (abort.signal.aborted) {
        if (item.step === "sending") {
          item.step = "waiting";
          this.#ready.unshift(item);
        }
        if (item.step === "left") this.#endUpload(item);
      } else if (error instanceof Refusal && error.status === 507) {
        // Smaller ones may have room.
        item.step = "waiting";
        this.#aside.push(item);
        this.#full = { message: error.message, status: error.status };
        this.#room = Math.min(this.#room, item.size - item.offset);
        if (++this.#refused >= FULL) this.pause(this.#full);
      } else if (error instanceof Refusal && error.isForAll) {
        item.step = "waiting";
        this.#ready.unshift(item);
        this.pause({ message: error.message, status: error.status });
      } else if (error instanceof Refusal) {
        this.#end(item, error.isLeftOut ? "left" : "failed", error.message);
      } else {
        if (item.step === "sending") this.#unreadable(item);
        this.#endUpload(item);
      }
    } finally {
      this.#active.delete(item);
      this.#changed();
      this.#go();
    }
  }
}

// What is added again begins anew.
function isOver({ step }) {
  return ["failed", "left", "ignored"].includes(groupOf.get(step));
}

/** Whether it is not sent, and waits for nothing. */
export function isUnsent({ file, step }) {
  return Boolean(file) && ["failed", "left"].includes(step);
}

/** Whether the library has it by its records, and has not read it again. */
export function isRecorded({ step, safe }) {
  return step === "known" && !safe;
}

function isLarge(shot) {
  return shot.some(({ size }) => size > LARGE);
}

function identity({ path, size, modified }) {
  return JSON.stringify([path, size, modified]);
}

function settle(item, { step, where, reason, safe, warning }) {
  Object.assign(item, { step: groupOf.has(step) ? step : "inbox", where, reason, safe: safe === true, warning, sent: 0 });
}
