// Drop: files go to the inbox of the pages, and what the daemon has done with each comes back.
import { chosen } from "./chosen.js";
import { ask } from "./confirm.js";
import { announce, h } from "./dom.js";
import { changed, phone } from "./exif.js";
import { Pace } from "./pace.js";
import { LONGEST, qr } from "./qr.js";
import { groups, isRecorded, isUnsent, LARGE, Queue } from "./queue.js";
import { Reader } from "./read.js";
import { address, get, post, upload, watch } from "./server.js";
import { age, bytes, count, dayOf, sentences, suffix } from "./text.js";
import { headline, resumption, safety, signs, words } from "./words.js";

// Browsers open six connections to a server over HTTP/1.1, of which events and buttons need some.
const isMultiplexed = ["h2", "h3"].includes(performance.getEntriesByType("navigation")[0]?.nextHopProtocol);
const LANES = isMultiplexed ? 5 : 3;
const ROWS = 100;
const isPhone = phone(navigator);

export class Drop {
  #options;
  #queue;
  #about = null;
  #failure = null;
  #last = null;
  #samples = [];
  #drawing = null;
  // How many times something was added that is not listed yet.
  #adding = 0;
  #wasBusy = false;
  #state = "nothing";
  #said = "";
  #opening = null;
  #isWatching = false;
  #wake = null;
  #own;

  /**
   * `about` is the address of what is known of the inbox. With `isGuest`, whoever has the link sends, who sees no one else's files.
   * `picture` makes the picture of a file that is filed.
   */
  constructor(options) {
    this.#options = options;
    // A large file is read for minutes, while others are read and sent.
    const [large, first, again] = [new Reader(), new Reader(), new Reader()];
    this.#own = options.isGuest ? new OwnUploads() : null;
    this.#queue = new Queue({
      lanes: LANES, pace: new Pace(), pause,
      read: (blob, withExif, signal) => (blob.size > LARGE ? large : withExif ? first : again).read(blob, withExif, signal),
      request: (path, ...rest) => upload(`up/${path}`, ...rest),
      known: async (items, signal) => (await post("up/known", { files: items.map(entry) }, signal))?.files,
      began: (upload) => this.#receive(this.#own?.add(upload)),
      largest: () => this.#about?.largest ?? Infinity,
      token: () => hexadecimal(crypto.getRandomValues(new Uint8Array(16))),
      changed: () => this.#changed(),
    });
    addEventListener("beforeunload", (event) => this.isBusy && event.preventDefault());
    document.addEventListener("visibilitychange", () => this.#stayAwake());
  }

  get isBusy() {
    return this.#queue.isBusy || this.#adding > 0;
  }

  /** Whether a reload would forget files that were not sent. */
  get hasUnsent() {
    return this.#queue.hasUnsent;
  }

  /** Asks for what the page shows, once; again where there is no inbox yet. */
  open() {
    this.#opening ??= this.#refresh();
    return this.#opening;
  }

  #watch() {
    if (this.#isWatching) return;
    this.#isWatching = true;
    watch(() => (this.#last === null ? "up/live" : `up/live?after=${this.#last}`), this.#options.about, {
      open: () => this.#refresh(),
      receipt: (receipt, number) => {
        this.#last = number;
        this.#receive(this.#own ? this.#own.receipt(receipt) : receipt);
      },
    }, () => null, (error) => this.#ended(error));
  }

  /** Sends files, of which there is a promise. */
  async add(promise) {
    // A folder may take minutes to list, and what was said before is not true of it.
    this.#adding += 1;
    this.#changed();
    try {
      const files = await promise;
      await this.open();
      // The page says why.
      if (!this.#about?.inbox) return announce("Nothing can be sent now.");
      if (files.length === 0) return announce("There is no file in what was added.");
      this.#queue.add(files);
      this.#say(`${count(files.length, "file", "files")} added`);
    } finally {
      this.#adding -= 1;
      this.#changed();
    }
  }

  // What the page shows anyway is for screen readers; another page shows it.
  #say(text) {
    this.#said = text;
    if (!document.querySelector(".zone")) announce(text);
  }

  #receive(receipt) {
    if (receipt) this.#queue.receipt(receipt);
  }

  async #refresh() {
    try {
      [this.#about, this.#failure] = [await get(this.#options.about), null];
      if (this.#about.inbox) this.#watch();
      else this.#opening = null;
    } catch (error) {
      this.#failure = error;
      if (!this.#about) this.#opening = null;
      if (!this.#about && (error.status === 0 || error.status >= 500)) setTimeout(() => this.open(), 3000);
    }
    this.#changed();
  }

  #ended(error) {
    this.#failure = error;
    this.#isWatching = false;
    this.#queue.pause({ message: error.message, status: error.status });
  }

  #changed() {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = null;
      this.#sample();
      const { isBusy } = this;
      if (isBusy !== this.#wasBusy) {
        this.#wasBusy = isBusy;
        this.#stayAwake();
        if (!isBusy) this.#refresh();
      }
      const { halt, trouble } = this.#queue;
      const { state, text } = this.#headline();
      const news = trouble && !halt ? "trouble" : state;
      if (news !== this.#state && news !== "sending") this.#say(sentences(text, news === "trouble" ? trouble : halt?.message));
      this.#state = news;
      document.dispatchEvent(new Event("redraw"));
    }, 200);
  }

  // A phone that sleeps sends nothing.
  async #stayAwake() {
    if (this.isBusy && !document.hidden) {
      this.#wake ??= await navigator.wakeLock?.request("screen").catch(() => null);
      this.#wake?.addEventListener("release", () => { this.#wake = null; }, { once: true });
    } else {
      this.#wake?.release();
      this.#wake = null;
    }
  }

  // Bytes that were sent in the last seconds.
  #sample() {
    const { all, known } = this.#queue.totals();
    const now = performance.now();
    this.#samples = this.#samples.filter(([at]) => at > now - 15_000);
    this.#samples.push([now, all.sent - known.bytes]);
  }

  #rate() {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || last[0] - first[0] < 2000) return 0;
    return Math.max(0, (last[1] - first[1]) / (last[0] - first[0]) * 1000);
  }

  // MARK: What is shown

  view() {
    const { isGuest } = this.#options;
    const title = h("h1", null, isGuest ? "Send photos" : "Drop");
    if (isGuest && [404, 410].includes(this.#failure?.status)) {
      const text = "Nothing can be sent by this link now, or it has ended. Whoever gave it to you can help.";
      const again = () => h("p", { "data-key": "retry" }, h("button", { type: "button", onclick: () => this.#resume() }, "Try again"));
      return [title, h("p", { class: "empty" }, text), this.#progress() ?? again(), this.#lists()];
    }
    if (!this.#about) {
      const { message, action } = this.#failure ?? {};
      return [title, message ? h("p", { class: "alert" }, sentences(message, action)) : h("p", { class: "faint" }, "…")];
    }
    if (this.#about.missing) return [title, h("p", { class: "empty" }, sentences("There is no inbox for the pages yet", this.#about.missing))];
    const said = h("p", { class: "unseen", role: "status", "data-key": "said" }, this.#said);
    return [title, said, this.#intro(), this.#zone(), this.#notices(), this.#progress(), this.#lists(), this.#code()];
  }

  #intro() {
    const { inbox, until, left } = this.#about;
    return h("p", { class: "faint" }, this.#options.isGuest ? `Files go to ${location.hostname}. ` : `Files go into the inbox ${inbox}. `,
      // The end is the midnight after.
      until && ["The link works until ", dayOf(new Date(Date.parse(until) - 1000).toISOString()), left !== undefined && `, and has room for ${bytes(left)}`, ". "],
      "Keep your files until this page says that they are safe to delete.");
  }

  #zone() {
    const choose = (key, label, folder, isPrimary) => [
      h("input", {
        type: "file", multiple: true, webkitdirectory: folder, class: "unseen", tabindex: "-1", "aria-hidden": "true", "data-key": `${key} input`,
        onchange: (event) => {
          this.add(chosen(event.target));
          event.target.value = "";
        },
      }),
      h("button", {
        type: "button", class: isPrimary ? "primary" : null, "data-key": key, onclick: (event) => event.target.previousElementSibling.click(),
      }, label),
    ];
    const canDrag = matchMedia("(pointer: fine)").matches;
    return h("section", { class: "zone", "aria-label": "What to send", "data-key": "zone" },
      canDrag && h("p", { class: "large" }, "Drop photos, films and folders here"),
      h("div", { class: "choices" }, choose("files", "Choose files", false, true), canDrag && choose("folder", "Choose a folder", true, false)),
      isPhone.apple && h("p", { class: "faint" },
        "In the chooser, tap Options: Location on, Format Current. Otherwise the phone sends changed copies."),
      isPhone.android && h("p", { class: "faint" },
        "Choose by Browse or a file manager: the photo picker removes where pictures were taken."));
  }

  #notices() {
    const { daemon, paused, left } = this.#about;
    const { all } = this.#queue.totals();
    const { emptied, converted, isWithoutPosition } = changed(this.#queue.items, isPhone);
    const { halt, trouble } = this.#queue;
    const notice = (key, look, ...text) => h("p", { class: `problem ${look}`, "data-key": key }, text);
    return [
      !daemon && notice("daemon", "warning", "photoinboxd is not running. What you send waits in the inbox, and is filed when it runs."),
      paused && notice("paused", "notice", "The inbox is paused. What you send waits there, and is filed when it is resumed."),
      trouble && !halt && notice("trouble", "warning", sentences(trouble, "It goes on by itself")),
      halt && halt.status !== 0 && notice("halt", "warning", sentences(halt.message,
        resumption(halt.status, this.#options.isGuest))),
      left !== undefined && all.fresh > left && notice("left", "warning",
        `There are still ${bytes(all.fresh)} to send, and the link has room for ${bytes(left)}.`),
      emptied > 0 && notice("emptied", "warning", `${count(emptied, "picture has", "pictures have")} lost where they were taken: `
        + "the browser's photo picker has removed it. Choose them by a file manager instead, or send them by an app."),
      converted > 0 && notice("converted", "warning", `${count(converted, "picture is a JPEG", "pictures are JPEGs")} that the phone made of HEIC. `
        + "For the originals: in the chooser, Options, Format Current."),
      isWithoutPosition && notice("position", "notice", "None of these pictures says where it was taken. If the phone knows it: in the chooser, "
        + "Options, Location."),
    ];
  }

  #headline() {
    const { isGuest } = this.#options;
    return headline(this.#queue.totals(), this.#queue.halt, { isGuest, isAdding: this.#adding > 0 });
  }

  #progress() {
    const totals = this.#queue.totals();
    const { all } = totals;
    if (all.files + totals.left.files + totals.ignored.files + this.#adding === 0) return null;
    const { look, text } = this.#headline();
    const { isBusy } = this.#queue;
    const rate = this.#rate();
    return h("section", { class: "progress", "data-key": "progress", "aria-labelledby": "progress" },
      h("div", { class: "top" },
        h("div", { class: `verdict ${look} ${this.isBusy && !this.#queue.halt ? "busy" : ""}` },
          h("span", { class: "dot" }), h("h2", { id: "progress" }, text)),
        h("div", { class: "actions" }, this.#actions(isBusy))),
      isBusy && [
        h("progress", { value: all.sent, max: Math.max(all.bytes, 1), "aria-label": "Sent" }),
        h("p", { class: "faint" }, `${bytes(all.sent)} of ${bytes(all.bytes)}`,
          rate > 0 && !this.#queue.halt && `, ${bytes(rate)}/s, ${age((all.bytes - all.sent) / rate)} left`)],
      h("ul", { class: "plain tally" }, tally(totals, this.#options.isGuest)),
      this.#queue.twice > 0 && h("p", { class: "faint" }, `${count(this.#queue.twice, "file was", "files were")} added twice, and listed once.`));
  }

  #actions(isBusy) {
    const queue = this.#queue;
    const failed = queue.retriable;
    const recorded = queue.items.filter(isRecorded);
    return [
      !isBusy && recorded.length > 0 && h("button", { type: "button", "data-key": "sure", onclick: () => queue.sendKnown() },
        `Send ${count(recorded.length, "file", "files")} to make sure`),
      failed.length > 0 && h("button", { type: "button", "data-key": "again", onclick: () => queue.retry() },
        `Try ${count(failed.length, "file", "files")} again`),
      isBusy && h("button", { type: "button", "data-key": "leave", onclick: () => this.#cancel() }, "Do not send the rest…"),
      (isBusy || queue.halt?.status > 0) && h("button", { type: "button", "data-key": "pause", onclick: () => (queue.halt ? this.#resume() : queue.pause()) },
        queue.halt ? "Resume" : "Pause"),
    ];
  }

  #resume() {
    this.#queue.resume();
    this.#refresh();
  }

  async #cancel() {
    const { sending, waiting } = this.#queue.totals();
    const content = [h("p", null, `${count(sending.files + waiting.files, "file is", "files are")} not sent yet. What is sent stays sent.`)];
    if (await ask("Send no more?", content, "Do not send them")) this.#queue.cancel();
  }

  #lists() {
    const own = this.#queue.items.filter((item) => item.file);
    const earlier = this.#queue.items.filter((item) => !item.file);
    return [
      own.length > 0 && this.#list("files", "Files", own),
      earlier.length > 0 && this.#list("earlier", "Sent in the last seven days", earlier),
    ];
  }

  #list(key, title, items) {
    // Those that need somebody are first, and of those that are done the last.
    const sorted = Object.entries(groups).flatMap(([group, steps]) => {
      const found = items.filter((item) => steps.includes(item.step));
      return ["sending", "waiting"].includes(group) ? found : found.reverse();
    });
    const rest = sorted.length - ROWS;
    return h("section", { "data-key": key, "aria-labelledby": key }, h("h2", { id: key }, title),
      h("ul", { class: "plain rows" }, sorted.slice(0, ROWS).map((item) => this.#row(item))),
      rest > 0 && h("p", { class: "faint" }, `and ${count(rest, "more", "more")}`));
  }

  #row(item) {
    const { look, text } = words(item, this.#options.isGuest);
    // While files are sent, connections are for them.
    const hasPicture = item.hash && !this.isBusy && ["filed", "duplicate", "known"].includes(item.step);
    return h("li", { "data-key": item.key },
      this.#options.picture?.({ sha256: hasPicture ? hexadecimal(item.hash) : null, outcome: "filed", file: item.path })
        ?? h("div", { class: "picture", "aria-hidden": "true", "data-key": "picture" }, suffix(item.path)),
      h("div", { class: "about" },
        h("div", null, h("span", { class: "name" }, item.path), " ", h("span", { class: "faint size" }, bytes(item.size))),
        h("div", { class: look }, text),
        item.step === "quarantined" && !this.#options.isGuest && h("div", null, h("a", { href: "#decisions" }, "Decide")),
        item.where && h("div", { class: "faint" }, `→ ${item.where}`),
        item.warning && h("div", { class: "warning" }, item.warning),
        item.step === "sending" && h("progress", { value: item.offset + item.sent, max: item.size, "aria-label": `${item.path}, sent` })),
      isUnsent(item) && h("div", { class: "actions" }, h("button", {
        type: "button", "aria-label": `Dismiss ${item.path}`, onclick: () => this.#queue.dismiss(item),
      }, "Dismiss")));
  }

  #code() {
    // Elsewhere, an address of this machine is another machine.
    const isLocal = ["localhost", "[::1]"].includes(location.hostname) || location.hostname.startsWith("127.");
    if (isLocal) return null;
    const [link, title, text] = this.#options.isGuest
      ? [address(""), "Pass this link on", "Whoever scans this can send photos here, too."]
      : [`${address("")}#drop`, "Send from a phone", "Scan this with the phone, and sign in there."];
    if (link.length > LONGEST) return null;
    const show = () => ask(title, [h("p", null, text), picture(link)], null);
    return h("p", { class: "code", "data-key": "code" }, h("button", { type: "button", onclick: show }, "QR code of this page…"));
  }
}

// MARK: Helpers

function tally(totals, isGuest) {
  return Object.entries(signs).filter(([group]) => totals[group].files > 0).map(([group, [look, sign, text, forGuests]]) =>
    h("li", { class: look === "good" && totals[group].safe < totals[group].files ? "notice" : look, "data-key": group },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      h("span", null, h("b", null, count(totals[group].files, "file", "files")), ` ${(isGuest && forGuests) || text}`, safety(totals[group]))));
}

function entry(item) {
  return { name: item.path, size: item.size, modified: item.modified, ...(item.hash ? { sha256: hexadecimal(item.hash) } : {}) };
}

function hexadecimal(digest) {
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function pause(seconds, signal) {
  return new Promise((done, fail) => {
    signal?.throwIfAborted();
    const wake = () => {
      clearTimeout(timer);
      removeEventListener("online", wake);
      signal?.removeEventListener("abort", wake);
      if (signal?.aborted) fail(signal.reason);
      else done();
    };
    const timer = setTimeout(wake, seconds * 1000);
    addEventListener("online", wake);
    signal?.addEventListener("abort", wake);
  });
}

// A QR code, with the margin that readers need.
function picture(text) {
  const rows = qr(text);
  const size = rows.length + 8;
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const svg = make("svg", { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": `QR code of ${text}` });
  const dark = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  svg.append(make("rect", { width: size, height: size, fill: "#fff" }), make("path", { d: dark, fill: "#000" }));
  return svg;
}

// The uploads of this browser, among those of all who have the link.
class OwnUploads {
  #place = `photo-inbox uploads ${address("")}`;
  #known = new Set();
  #others = new Map();

  constructor() {
    try {
      this.#known = new Set(JSON.parse(localStorage.getItem(this.#place) ?? "[]"));
    } catch {
      // The browser keeps nothing: after a reload, the page shows nothing of before.
    }
  }

  /** The receipt that came before it was known whose it is, or undefined. */
  add(id) {
    if (this.#known.has(id)) return undefined;
    this.#known.add(id);
    try {
      localStorage.setItem(this.#place, JSON.stringify([...this.#known].slice(-2000)));
    } catch {
      // As above.
    }
    return this.#others.get(id);
  }

  receipt(receipt) {
    if (this.#known.has(receipt.upload)) return receipt;
    this.#others.set(receipt.upload, receipt);
    return undefined;
  }
}
