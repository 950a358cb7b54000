// SHA-256 of bytes that come in pieces. The browser's own takes whole contents alone, and none at all over plain http.

const K = new Int32Array(64);
const START = new Uint32Array(8);
// Fractions of the roots of the first primes: FIPS 180-4.
for (let candidate = 2, found = 0; found < 64; candidate++) {
  let isPrime = true;
  for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) isPrime = false;
  if (!isPrime) continue;
  if (found < 8) START[found] = (Math.sqrt(candidate) % 1) * 2 ** 32;
  K[found++] = (Math.cbrt(candidate) % 1) * 2 ** 32;
}

export class Sha256 {
  #state = Int32Array.from(START);
  #words = new Int32Array(64);
  // What does not fill a block yet.
  #block = new Uint8Array(64);
  #filled = 0;
  #length = 0;

  update(bytes) {
    this.#length += bytes.length;
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(64 - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#filled);
      this.#filled += at;
      if (this.#filled < 64) return this;
      this.#compress(this.#block, 0);
      this.#filled = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.#compress(bytes, at);
    this.#block.set(bytes.subarray(at));
    this.#filled = bytes.length - at;
    return this;
  }

  /** The 32 bytes; nothing can be added afterwards. */
  digest() {
    const bits = this.#length * 8;
    const end = new Uint8Array((this.#filled < 56 ? 64 : 128) - this.#filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits % 2 ** 32);
    this.update(end);
    const digest = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, index) => digest.setInt32(index * 4, word));
    return new Uint8Array(digest.buffer);
  }

  #compress(bytes, at) {
    const w = this.#words;
    for (let t = 0; t < 16; t++, at += 4) {
      w[t] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    }
    for (let t = 16; t < 64; t++) {
      const x = w[t - 15];
      const y = w[t - 2];
      w[t] = w[t - 16] + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3)
        + w[t - 7] + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10) | 0;
    }
    const state = this.#state;
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let t = 0; t < 64; t++) {
      const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g) + K[t] + w[t] | 0;
      const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
      h = g;
      g = f;
      f = e;
      e = d + one | 0;
      d = c;
      c = b;
      b = a;
      a = one + two | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}
