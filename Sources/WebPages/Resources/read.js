// Reads files for their digests: piece by piece, so that one of any size needs the memory of a piece.
import { exif } from "./exif.js";
import { Sha256 } from "./sha256.js";

const MIB = 1 << 20;
const PIECE = 4 * MIB;
// What the browser's own SHA-256, which is faster, is given at once.
const WHOLE = 16 * MIB;
const HEAD = MIB >> 2;

/** The SHA-256 of a blob, and with `withExif` what its first bytes say, as `exif` has it. */
export async function read(blob, withExif) {
  const own = globalThis.crypto?.subtle;
  if (own && blob.size <= WHOLE) {
    const bytes = await blob.arrayBuffer();
    return { exif: withExif ? exif(new Uint8Array(bytes).subarray(0, HEAD)) : null, digest: new Uint8Array(await own.digest("SHA-256", bytes)) };
  }
  const hash = new Sha256();
  let found = null;
  for (let at = 0; at < blob.size; at += PIECE) {
    const bytes = new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer());
    if (withExif && at === 0) found = exif(bytes.subarray(0, HEAD));
    hash.update(bytes);
  }
  return { exif: found, digest: hash.digest() };
}

/** Reads beside the page, so that it stays responsive: one blob at a time. */
export class Reader {
  #worker = null;
  // Whether the browser has no worker that consists of modules.
  #isAlone = false;
  #waiting = new Map();
  #count = 0;

  read(blob, withExif = false) {
    if (this.#isAlone) return read(blob, withExif);
    this.#worker ??= this.#start();
    return new Promise((done, fail) => {
      const number = this.#count++;
      this.#waiting.set(number, { blob, withExif, done, fail });
      this.#worker.postMessage({ number, blob, withExif });
    });
  }

  #start() {
    const url = new URL("reader.js", import.meta.url).href;
    // The page's policy wants to know who makes scripts of addresses.
    const policy = globalThis.trustedTypes?.createPolicy("photo-inbox", { createScriptURL: (address) => address });
    const worker = new Worker(policy?.createScriptURL(url) ?? url, { type: "module" });
    worker.onmessage = ({ data: { number, found, error } }) => {
      const { done, fail } = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error) fail(new Error(error));
      else done(found);
    };
    worker.onerror = () => {
      worker.terminate();
      this.#isAlone = true;
      for (const { blob, withExif, done, fail } of this.#waiting.values()) read(blob, withExif).then(done, fail);
      this.#waiting.clear();
    };
    return worker;
  }
}
