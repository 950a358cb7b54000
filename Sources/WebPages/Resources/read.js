// Reads files for their digests, as they come from the disk, so that one of any size needs little memory.
import { exif } from "./exif.js";
import { Sha256 } from "./sha256.js";

const MIB = 1 << 20;
// What the browser's own SHA-256, which is faster, is given at once.
const WHOLE = 32 * MIB;
const HEAD = MIB >> 2;

/**
 * The SHA-256 of a blob, and with `withExif` what its first bytes say, as `exif` has it. Fails if a file has another length than when it
 * was chosen. Chromium would fail; Firefox gives what is there, and of a slice what the old length allows. Ends early with `signal`.
 */
export async function read(blob, withExif, signal) {
  const own = globalThis.crypto?.subtle;
  let [digest, length] = [null, 0];
  if (own && blob.size <= WHOLE) {
    const bytes = await blob.arrayBuffer();
    length = bytes.byteLength;
    digest = new Uint8Array(await own.digest("SHA-256", bytes));
  } else {
    const hash = new Sha256();
    const pieces = blob.stream().getReader();
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      length += piece.value.length;
      if (length > blob.size || signal?.aborted) {
        await pieces.cancel();
        break;
      }
      hash.update(piece.value);
    }
    digest = hash.digest();
  }
  signal?.throwIfAborted();
  if (length !== blob.size) throw new Error("it has another length than when it was chosen");
  return { exif: withExif ? exif(new Uint8Array(await blob.slice(0, HEAD).arrayBuffer())) : null, digest };
}

// The page's policy wants to know who makes scripts of addresses, once.
let policy = null;

/** Reads beside the page, so that it stays responsive: one blob at a time. */
export class Reader {
  #worker = null;
  // Whether the browser has no worker that consists of modules.
  #isAlone = false;
  #waiting = new Map();
  #count = 0;

  read(blob, withExif, signal) {
    if (this.#isAlone) return read(blob, withExif, signal);
    this.#worker ??= this.#start();
    return new Promise((done, fail) => {
      const number = this.#count++;
      this.#waiting.set(number, { blob, withExif, signal, done, fail });
      this.#worker.postMessage({ number, blob, withExif });
      signal.addEventListener("abort", () => this.#end(number, signal.reason), { once: true });
    });
  }

  // A worker that reads a file hears nothing: another one goes on with what else there is.
  #end(number, reason) {
    const task = this.#waiting.get(number);
    if (!task || this.#isAlone) return;
    task.fail(reason);
    this.#waiting.delete(number);
    this.#worker.terminate();
    this.#worker = this.#waiting.size > 0 ? this.#start() : null;
    for (const [number, { blob, withExif }] of this.#waiting) this.#worker.postMessage({ number, blob, withExif });
  }

  #start() {
    const url = new URL("reader.js", import.meta.url).href;
    policy ??= globalThis.trustedTypes?.createPolicy("photo-inbox", { createScriptURL: (address) => address });
    const worker = new Worker(policy?.createScriptURL(url) ?? url, { type: "module" });
    worker.onmessage = ({ data: { number, found, error } }) => {
      const task = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error) task?.fail(new Error(error));
      else task?.done(found);
    };
    worker.onerror = () => {
      worker.terminate();
      this.#isAlone = true;
      for (const { blob, withExif, signal, done, fail } of this.#waiting.values()) read(blob, withExif, signal).then(done, fail);
      this.#waiting.clear();
    };
    return worker;
  }
}
