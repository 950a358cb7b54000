// How large the next chunk is: as large as whatever lies between lets through, and as a request takes a few seconds.

const MIB = 1 << 20;
const LEAST = MIB >> 1;
// Of this size, what is waited for after each chunk is little; it is what a browser hashes at once, too.
const MOST = 32 * MIB;
// A request should take about so many seconds: what is lost with a connection is little, and what a request costs, too.
const WANTED = 4;

/** What chunks of one page learn together. */
export class Pace {
  #limit = MOST;
  /** Bytes of the next chunk. */
  size = 8 * MIB;

  /** A chunk of so many bytes was accepted in so many seconds. */
  accepted(bytes, seconds) {
    if (bytes < this.size) return;
    const fitting = bytes / Math.max(seconds, 0.001) * WANTED;
    // At most twice, so that one fast chunk does not make the next too large for a slow line.
    this.size = Math.max(LEAST, Math.min(this.#limit, this.size * 2, Math.max(fitting, this.size / 2)));
    this.size = Math.floor(this.size / LEAST) * LEAST;
  }

  /** Something between refused a chunk of so many bytes as too large. False if there is no smaller one to try. */
  refused(bytes) {
    if (bytes <= LEAST) return false;
    this.#limit = Math.max(LEAST, Math.floor(bytes / 2 / LEAST) * LEAST);
    this.size = Math.min(this.size, this.#limit);
    return true;
  }

  /** A connection broke off: less of a smaller chunk is lost. */
  broken() {
    this.size = Math.max(LEAST, Math.floor(this.size / 2 / LEAST) * LEAST);
  }
}
