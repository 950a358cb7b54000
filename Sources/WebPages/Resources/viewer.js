// One photo: its picture or film, what is known of it, and the files of its set.
import { confirm, download } from "./confirm.js";
import { h, isPlain } from "./dom.js";
import { nameOf } from "./captions.js";
import { localTime } from "./layout.js";
import { address, get, refusal } from "./server.js";
import { bytes, count, dated, sentences } from "./text.js";
import { KIND } from "./timeline.js";

const roles = { picture: "picture", raw: "RAW", film: "film", sidecar: "sidecar" };
const filters = { "tilt-shift": "Tilt-shift", googly: "Googly eyes" };

export class Viewer {
  #tools;
  #photo = null;
  #read = null;
  #controller = null;
  #stage = h("div", { class: "stage" });
  #about = h("section", { class: "about", "aria-label": "Details", tabindex: "0" });
  #name = h("h2", { id: "viewer-name", tabindex: "-1" });
  #said = h("p", { class: "unseen", role: "status" });
  // Where the person wants to go: { photo, steps }.
  #wish = null;
  #buttons;

  /** `tools`: `beside(photo, step, signal)` gives a photo or null, `isOperator`; told are `moved(photo)`, `closed()`, `changed()`, `ended()`. */
  constructor(tools) {
    this.#tools = tools;
    const button = (text, label, onclick) => h("button", { "aria-label": label, title: label, onclick }, text);
    this.#buttons = { "-1": button("‹", "Previous photo", () => this.#go(-1)), 1: button("›", "Next photo", () => this.#go(1)) };
    this.dialog = h("dialog", { class: "viewer", "aria-labelledby": "viewer-name" },
      h("div", { class: "bar" }, this.#name, h("div", { class: "steps" }, this.#buttons[-1], this.#buttons[1],
        button("✕", "Close", () => this.#tools.closed()))),
      this.#stage, this.#about, this.#said);
    // The address says whether it is open: it is closed by what changes that.
    this.dialog.addEventListener("cancel", (event) => {
      if (event.target !== this.dialog) return;
      event.preventDefault();
      this.#tools.closed();
    });
    this.dialog.addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** The photo that is shown; with its day, when that is known. */
  get photo() {
    return this.#photo;
  }

  /** Shows a photo, of which no more than the key may be known. */
  show(photo) {
    const isFirst = !this.dialog.open;
    if (!isFirst && this.#photo?.key === photo.key) return;
    this.#controller?.abort();
    this.#controller = new AbortController();
    [this.#photo, this.#read] = [photo, null];
    if (isFirst) {
      document.body.append(this.dialog);
      this.dialog.showModal();
      this.#name.focus();
    }
    this.#title();
    if (!isFirst) this.#said.textContent = this.#name.textContent;
    this.#picture();
    this.#about.replaceChildren(h("p", { class: "faint" }, "…"));
    this.#about.scrollTop = 0;
    for (const step of [1, -1]) this.#buttons[step].setAttribute("aria-disabled", String(photo.day === undefined));
    if (photo.day !== undefined) this.#lookAround();
    this.#load();
  }

  close() {
    this.#controller?.abort();
    [this.#photo, this.#read] = [null, null];
    this.#stop();
    this.#stage.replaceChildren();
    this.dialog.close();
    this.dialog.remove();
  }

  #title() {
    this.#name.textContent = this.#photo.day === undefined ? "Photo" : nameOf(this.#photo);
  }

  async #load() {
    const { signal } = this.#controller;
    const { key } = this.#photo;
    try {
      const read = await get(`photo/${key}`, signal);
      if (signal.aborted) return;
      this.#read = read;
      if (this.#photo.day === undefined) {
        const role = read.record.photo.role;
        const kind = { film: KIND.film, raw: KIND.raw }[role] ?? 0;
        this.#photo = { key, id: read.record.photo.id, kind, ...localTime(read.record.photo.captured?.local) };
        this.#title();
        this.#picture();
        this.#tools.moved(this.#photo);
        this.#lookAround();
      }
      this.#describe();
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) this.#tools.ended();
      const isGone = error.status === 404;
      const text = isGone ? "This photo is no longer there: it was taken back, or another one took its place."
        : sentences(error.message, error.action);
      const [label, onclick] = isGone ? ["Next photo", () => this.#go(1)] : ["Try again", () => this.#again()];
      // By its address alone it is not known where it was.
      const hasOther = !isGone || this.#photo.day !== undefined;
      if (isGone) this.#stage.replaceChildren(h("p", { class: "missing" }, "This photo is no longer there."));
      this.#about.replaceChildren(h("p", { class: "alert", role: "alert" }, text), h("div", { class: "buttons" },
        hasOther && h("button", { onclick }, label), h("button", { onclick: () => this.#tools.closed() }, "Back to all photos")));
      if (isGone) this.#tools.changed();
    }
  }

  #again() {
    this.#about.replaceChildren(h("p", { class: "faint" }, "…"));
    this.#name.focus();
    this.#load();
  }

  // MARK: from one to the next

  #pressed(event) {
    if (!isPlain(event) || event.target.closest("input, video, select")) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    if (!event.repeat || !this.#wish) this.#go(step);
  }

  // What is pressed while a photo is looked for counts, too; a key that is held waits.
  async #go(step) {
    const photo = this.#photo;
    if (photo?.day === undefined) return;
    if (this.#wish?.photo === photo) {
      this.#wish.steps += step;
      return;
    }
    const wish = { photo, steps: step };
    this.#wish = wish;
    let [at, remark] = [photo, ""];
    try {
      while (wish.steps !== 0) {
        const one = Math.sign(wish.steps);
        const other = await this.#tools.beside(at, one, this.#controller.signal);
        if (this.#photo !== photo) return;
        wish.steps -= one;
        at = other ?? at;
        remark = other ? "" : `This is the ${one > 0 ? "last" : "first"} photo.`;
      }
    } catch (error) {
      if (this.#photo !== photo) return;
      remark = error.message;
    } finally {
      if (this.#wish === wish) this.#wish = null;
    }
    if (at !== photo) {
      this.show(at);
      this.#tools.moved(at);
    }
    if (!remark) return;
    this.#said.textContent = "";
    this.#said.textContent = remark;
  }

  // The pictures beside this one are read ahead, when its own is there.
  async #lookAround() {
    const photo = this.#photo;
    for (const step of [1, -1]) {
      const other = await this.#tools.beside(photo, step, this.#controller.signal).catch(() => undefined);
      if (this.#photo !== photo) return;
      this.#buttons[step].setAttribute("aria-disabled", String(other === null));
      if (!other || other.kind & KIND.film) continue;
      await this.#shown;
      if (this.#photo !== photo) return;
      new Image().src = address(`p/${other.key}`);
    }
  }

  #shown = Promise.resolve();

  // MARK: the picture

  // A film that is only taken away would go on being read.
  #stop() {
    const film = this.#stage.querySelector("video");
    if (!film) return;
    film.onerror = null;
    film.removeAttribute("src");
    film.load();
  }

  #picture() {
    this.#stop();
    const photo = this.#photo;
    if (photo.kind & KIND.film) return this.#film(photo.key);
    const small = h("img", { class: "small", alt: "", src: address(`t/${photo.key}`), onerror: () => small.remove() });
    const large = h("img", { class: "large", alt: this.#name.textContent });
    this.#shown = new Promise((done) => {
      large.onload = () => {
        small.remove();
        done();
      };
      large.onerror = () => {
        large.replaceWith(h("p", { class: "missing" }, "There is no preview."));
        done();
      };
    });
    large.src = address(`p/${photo.key}`);
    this.#stage.replaceChildren(small, large);
  }

  #film(key) {
    const poster = address(`p/${this.#photo.key}`);
    const film = h("video", { controls: true, playsinline: true, preload: "metadata", poster, "aria-label": "Film" });
    film.onerror = async () => {
      const { signal } = this.#controller;
      const isUnknown = film.error?.code >= 3;
      const error = await refusal(`f/${key}`, signal);
      if (signal.aborted || !film.isConnected) return;
      if (error?.status === 401) this.#tools.ended();
      if (film === document.activeElement) this.#name.focus();
      const again = h("button", { onclick: () => this.#film(key).focus() }, "Try again");
      film.replaceWith(h("p", { class: "missing", role: "alert" }, ...(error || !isUnknown
        ? [error ? sentences(error.message, error.action) : "The film broke off.", " ", again]
        : ["This browser cannot play the film: few play HEVC. ", this.#download(key, "Download the film")])));
    };
    film.src = address(`f/${key}`);
    this.#shown = Promise.resolve();
    this.#stage.replaceChildren(film);
    return film;
  }

  #download(key, content, properties) {
    return download(`o/${key}`, content, properties, this.#tools.ended);
  }

  // Another rendition over the preview, as far as a handle is moved.
  #compare(name) {
    this.#picture();
    if (!name) return;
    const src = address(`r/${this.#photo.key}/${name}`);
    const other = h("img", { class: "large over", alt: `${filters[name]}: ${this.#name.textContent}`, src });
    const label = `How much of the preview is seen beside ${filters[name]}`;
    const part = h("input", { type: "range", min: "0", max: "100", value: "0", "aria-label": label });
    part.addEventListener("input", () => { other.style.clipPath = `inset(0 0 0 ${part.value}%)`; });
    other.onerror = () => other.replaceWith(h("p", { class: "missing" }, `${filters[name]} is not there yet.`));
    this.#stage.append(other, h("div", { class: "compare" }, part));
  }

  // MARK: what is known

  #describe() {
    const { record, why, members, renditions, dated_by: datedBy } = this.#read;
    const { photo } = record;
    const found = photo.metadata ?? {};
    const told = photo.description ?? {};
    const keywords = told.keywords?.length ? told.keywords : found.keywords ?? [];
    const explained = why?.files?.[0] ?? why;
    const name = members.find(({ key }) => key === this.#photo.key)?.name ?? photo.path.split("/").at(-1);
    const rows = [
      ["Taken", takenText(photo.captured, datedBy)],
      ["Title", told.title ?? found.title ?? found.headline], ["Caption", found.caption], ["Keywords", keywords.join(", ")],
      ["People", (found.people ?? []).join(", ")], ["Stars", stars(told.rating ?? found.rating)], ["Place", told.place ?? placeText(found)],
      ["Camera", [photo.camera, found.lens].filter(Boolean).join(", ")], ["Exposure", exposureText(found.exposure)],
      ["Picture", [photo.width && `${photo.width} × ${photo.height}`, photo.format, bytes(photo.bytes)].filter(Boolean).join(", ")],
      ["Came from", [h("bdi", null, `${photo.inbox}/${photo.source}`), ", ", dated(photo.filed_at)]], ["Downloaded from", photo.origin],
      // That it is in the library is seen here, and since when was said above.
      ["Proof", photo.proof], ["Why", explained?.verdict === "in-library" ? null : explained?.words], ["In the library", photo.path], ["SHA-256", h("code", null, photo.sha256)],
      ["Damage", record.damage && h("span", { class: "bad" }, `${record.damage.reason}. Run photoinbox verify.`)],
    ];
    const missing = (renditions ?? []).filter((each) => each.reason);
    const { history = [], history_omitted: omitted } = record;
    this.#about.replaceChildren(
      h("h3", { class: "name" }, name),
      h("div", { class: "choices" }, this.#download(this.#photo.key, "Download", { class: "button" }),
        this.#filmButton(members), this.#undoButton(photo, name)),
      this.#filterButtons(renditions ?? []),
      h("dl", null, rows.filter(([, value]) => value && value.length !== 0).map(([title, value]) =>
        [h("dt", null, title), h("dd", null, value)])),
      list(`The set: ${count(members.length, "file", "files")}`, members.length > 1 ? members : [], (member) => [
        this.#download(member.key, h("bdi", null, member.name), { "aria-label": `Download ${member.name}` }),
        h("span", { class: "faint" }, ` ${[roles[member.role], bytes(member.size)].filter(Boolean).join(", ")}`)]),
      list("Not made", missing, (each) => `${each.name}: ${each.reason}`),
      list("All that became of this content", history.length > 1 ? history : [], (each) =>
        [`${each.operation} `, dated(each.time), " ", h("bdi", null, `${each.inbox}/${each.file}`), `: ${each.outcome}`]),
      omitted ? h("p", { class: "faint" }, `and ${count(omitted, "more", "more")}`) : "");
  }

  #filmButton(members) {
    const film = members.find(({ role }) => role === "film");
    if (!film || this.#photo.kind & KIND.film) return null;
    const button = h("button", { "aria-pressed": "false", onclick: () => {
      const isOn = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(isOn));
      if (isOn) this.#film(film.key).play().catch(() => null);
      else this.#picture();
    } }, "Play the film");
    return button;
  }

  #filterButtons(renditions) {
    const made = renditions.filter(({ name, state, reason }) => filters[name] && (state ? state === "made" : !reason));
    if (made.length === 0 || this.#photo.kind & KIND.film) return "";
    const names = [null, ...made.map(({ name }) => name)];
    const group = h("div", { class: "choices", role: "group", "aria-label": "Renditions" }, names.map((name) =>
      h("button", { "aria-pressed": String(name === null), onclick: (event) => {
        for (const each of group.children) each.setAttribute("aria-pressed", String(each === event.target));
        this.#compare(name);
      } }, filters[name] ?? "Preview")));
    return group;
  }

  #undoButton(photo, name) {
    if (!this.#tools.isOperator || !photo.operation) return null;
    return h("button", { class: "danger", onclick: async () => {
      const shown = this.#photo;
      if (!(await confirm({ do: "undo", operation: photo.operation }, ["Take back ", h("bdi", null, name), "?"], "Take back", true))) return;
      this.#tools.changed();
      for (const step of [1, -1]) if (this.#photo === shown) await this.#go(step);
      if (this.#photo === shown) this.#tools.closed();
    } }, "Take back…");
  }
}

function list(title, items, content) {
  return items.length === 0 ? "" : h("div", null, h("h3", null, title), h("ul", { class: "plain" }, items.map((item) => h("li", null, content(item)))));
}

function takenText(captured, datedBy) {
  return captured ? [captured.local.replace("T", " "), h("span", { class: "faint" }, `, from ${datedBy ?? captured.provenance}`)] : "no date";
}

function stars(rating) {
  return rating > 0 ? h("span", { "aria-label": count(rating, "star", "stars"), role: "img" }, "★".repeat(Math.min(rating, 5))) : null;
}

function placeText({ place, nearby_place: nearby, position }) {
  const of = (named) => [named?.location, named?.city, named?.region, named?.country].filter(Boolean).join(", ");
  const where = position && `${position.latitude.toFixed(5)}, ${position.longitude.toFixed(5)}`;
  return [of(place) || (of(nearby) && `near ${of(nearby)}`), where].filter(Boolean).join("; ");
}

function exposureText(exposure) {
  if (!exposure) return null;
  const { seconds, f_number: aperture, iso, focal_length_mm: length } = exposure;
  const time = seconds && (seconds < 0.5 ? `1/${Math.round(1 / seconds)} s` : `${seconds} s`);
  return [time, aperture && `f/${aperture}`, iso && `ISO ${iso}`, length && `${Math.round(length)} mm`].filter(Boolean).join(", ");
}
