// What is read anew when photos are filed: what is asked meanwhile, or too soon, is one question. Nothing here touches a page.

const SHORTEST_WAIT = 1000;
const LONGEST_WAIT = 30_000;

export const clock = { now: () => performance.now(), set: (f, ms) => setTimeout(f, ms), clear: (id) => clearTimeout(id) };

/** How long nothing is asked for after a failure: longer each time, and for ever if the session has ended. */
export class Pause {
  until = 0;
  #failures = 0;

  constructor(failure = null) {
    this.failure = failure;
  }

  begin(failure, now) {
    this.failure = failure;
    this.until = failure.status === 401 ? Infinity : now + Math.min(SHORTEST_WAIT * 2 ** this.#failures, LONGEST_WAIT);
    this.#failures += 1;
    return this.until;
  }

  end() {
    [this.until, this.#failures, this.failure] = [0, 0, null];
  }
}

export class Again {
  #read;
  #changed;
  #timers;
  #pause = new Pause();
  #next = 0;
  #running = null;
  #isAsked = false;
  #timer = null;
  #controller = new AbortController();

  /** `changed()` is called after each `read(signal)`, also after one that failed: that is tried again. */
  constructor(read, changed, timers = clock) {
    [this.#read, this.#changed, this.#timers] = [read, changed, timers];
  }

  get failure() {
    return this.#pause.failure;
  }

  /** Reads now, or as soon as it may be done again. */
  ask() {
    if (this.#controller.signal.aborted) return Promise.resolve();
    if (this.#running) {
      this.#isAsked = true;
      return this.#running;
    }
    const wait = this.#next - this.#timers.now();
    if (wait > 0) {
      if (wait < Infinity) this.#timer ??= this.#timers.set(() => {
        this.#timer = null;
        this.ask();
      }, wait);
      return Promise.resolve();
    }
    this.#running = this.#run().finally(() => {
      this.#running = null;
      if (this.#isAsked) {
        this.#isAsked = false;
        this.ask();
      }
    });
    return this.#running;
  }

  async #run() {
    const begun = this.#timers.now();
    try {
      await this.#read(this.#controller.signal);
      this.#pause.end();
      // While photos are filed all the time, this takes a part of a slow line and not all of it.
      const took = this.#timers.now() - begun;
      this.#next = this.#timers.now() + Math.min(Math.max(SHORTEST_WAIT, 4 * took), LONGEST_WAIT);
    } catch (error) {
      this.#next = this.#pause.begin(error, this.#timers.now());
      this.#isAsked = true;
    }
    this.#changed();
  }

  /** Tries again at once what failed. */
  retry() {
    this.#pause = new Pause(this.failure);
    this.#next = 0;
    this.#timers.clear(this.#timer);
    this.#timer = null;
    this.ask();
  }

  stop() {
    this.#controller.abort();
  }
}
