// The page of all photos: the wall, what is searched for, and the photo that is looked at.
import { dayText } from "./captions.js";
import { announce, h } from "./dom.js";
import { NO_DATE, period } from "./layout.js";
import { FIELDS, addressOf, placeOf, queryOf, valuesOf } from "./search.js";
import { address, bytes, parts } from "./server.js";
import { count, sentences } from "./text.js";
import { Results, Timeline } from "./timeline.js";
import { Wall } from "./wall.js";

export class Photos {
  #ended;
  #filled;
  #timeline;
  #wall;
  #person;
  // Loaded once all is there that is seen first, or when a photo is to be looked at: then that is the one.
  #viewer = null;
  #wanted = null;
  #query = null;
  #source = null;
  #search = null;
  #state = null;
  // Of the state that was read last.
  #mark;
  #isLeaving = false;
  // Why nothing can be read any more.
  #over = null;
  // Until it is known what is on the wall.
  #ready = Promise.resolve();
  #note = h("div", { class: "note" });
  #remark = h("div", { class: "remark", hidden: true });
  #where = h("p", { class: "where", "aria-hidden": "true" });
  #said = h("p", { class: "unseen", "aria-live": "polite" });
  #form;

  /** `ended()` is called when the session has, `filled()` when there is nothing more to come into the view at first. */
  constructor(person, ended, filled) {
    [this.#person, this.#ended] = [person, ended];
    this.#filled = () => {
      filled();
      import("./viewer.js").catch(() => null);
    };
    this.#timeline = new Timeline((path, signal) => this.#ask(path, signal), () => this.#changed(this.#timeline));
    this.#wall = new Wall({
      picture: (key, isLarge) => address(isLarge ? `r/${key}/thumbnail` : `t/${key}`),
      pictures: (keys, isLarge) => parts(`t?of=${keys.join(",")}${isLarge ? "&rendition=thumbnail" : ""}`),
      link: (key) => addressOf({ key, query: this.#query }),
      open: (photo) => this.#open(photo), rested: (place) => this.#remember(place),
      passed: (day) => { this.#where.textContent = day === null ? "" : dayText(day); },
      filled: () => this.#filled(),
    });
    this.#form = this.#searchForm();
    this.element = h("div", { class: "photos", "data-key": "photos" }, h("h1", { class: "unseen" }, "Photos"),
      h("div", { class: "tools" }, this.#form, this.#jumpForm(), this.#where), this.#wall.element, this.#remark, this.#note, this.#said);
    addEventListener("online", () => this.#source?.retry());
    document.addEventListener("visibilitychange", () => !document.hidden && this.element.isConnected && this.#refresh());
  }

  /** The page is shown, or its address has changed. */
  route() {
    if (this.#over) {
      // Somebody may have signed in meanwhile.
      this.#over = null;
      this.#timeline.retry();
      this.#say();
    }
    const { key, query } = placeOf(location.hash);
    if (query !== this.#query) {
      this.#find(query);
    } else {
      this.#wall.update();
      this.#timeline.ask();
    }
    if (key) {
      this.#look({ key });
    } else if (this.#photo) {
      const photo = this.#photo;
      this.#lookAway();
      this.#ready.then(() => {
        if (this.#photo) return;
        if (photo.day === undefined) this.#wall.focusStop();
        else this.#wall.reveal(photo, true);
      });
    }
  }

  /** The session has ended, and the page stays. */
  end(failure) {
    this.#over = failure;
    this.#say();
  }

  /** Another page is shown. */
  leave() {
    this.#lookAway();
    this.#search?.abort();
    if (this.#source === null) this.#query = null;
    this.#timeline.stop();
    this.#mark = undefined;
  }

  /** What happens now: photos that were filed are on the wall at once, and pictures as soon as they are made. */
  update(state) {
    const wasWaiting = this.#state?.pictures_waiting > 0;
    // What was filed before the first event may not be among what was read.
    if (state.mark !== this.#mark) this.#refresh();
    [this.#state, this.#mark] = [state, state.mark];
    if (wasWaiting && state.pictures_waiting === 0) this.#wall.tryPictures();
    this.#say();
  }

  async #ask(path, signal) {
    try {
      return await (path === "days" ? bytes(path, signal, "no-cache", "application/vnd.photo-inbox.days") : bytes(path, signal, "no-store"));
    } catch (error) {
      if (error.status === 401) this.#ended();
      throw error;
    }
  }

  // MARK: what is on the wall

  // Of two searches, the later one counts, whichever answer comes first.
  async #find(query) {
    this.#search?.abort();
    this.#query = query;
    this.#fillForm(query);
    const place = history.state?.place ?? null;
    if (query === "") {
      this.#source = this.#timeline;
      this.#wall.show(this.#timeline, place);
      this.#say();
      this.#ready = this.#timeline.ask();
      return;
    }
    let ready;
    this.#ready = new Promise((done) => { ready = done; });
    this.#search = new AbortController();
    const { signal } = this.#search;
    this.#source = null;
    this.#wall.show(null);
    this.#said.textContent = "Searching";
    this.#say({ busy: true });
    try {
      const ask = (end) => this.#ask(`search?${query}`, end);
      const mark = this.#mark;
      const results = new Results(await ask(signal), ask, () => this.#changed(results));
      if (signal.aborted) return;
      this.#source = results;
      if (mark !== this.#mark) results.ask();
      this.#wall.show(results, place);
      this.#say();
      this.#said.textContent = this.#source.total === 0 ? "Nothing matches" : count(this.#source.total, "photo matches", "photos match");
    } catch (error) {
      if (!signal.aborted) this.#say({ error });
    } finally {
      ready();
    }
  }

  // Photos were filed, taken back, or are gone. What is looked at stays where it is.
  #refresh() {
    for (const source of new Set([this.#timeline, this.#source])) source?.ask();
  }

  #changed(source) {
    if (source !== this.#source) return;
    this.#wall.changed();
    this.#say();
  }

  // What is said instead of photos, or above them.
  #say({ busy, error } = {}) {
    const source = this.#source;
    const isSearch = this.#query !== "";
    const all = () => h("a", { href: "#photos" }, "All photos");
    const alert = ({ message, action }) => h("p", { class: "alert", role: "alert" }, sentences(message, action));
    let note = null;
    let remark = null;
    if (this.#over) remark = [alert(this.#over)];
    else if (busy) note = [h("p", null, "Searching…"), h("p", null, all())];
    else if (error) {
      note = [alert(error), h("p", null, h("button", { onclick: () => this.#find(this.#query) }, "Search again"), " ", all())];
    } else if (!source) return;
    else if (source.failure) {
      const content = [h("p", null, `${sentences(source.failure.message)} It is tried again.`),
        h("button", { onclick: () => source.retry() }, "Try now")];
      if (source.total > 0) remark = content;
      else note = content;
    } else if (!source.isRead) note = h("p", { class: "faint" }, "…");
    else if (source.total === 0) {
      note = isSearch ? [h("p", null, "Nothing matches."), h("p", null, all())]
        : [h("p", null, "There is no photo yet. Put one into an inbox: it is here as soon as it is filed.")];
    } else if (isSearch) {
      remark = [h("p", null, source.isCut
        ? `The ${count(source.total, "photo", "photos")} that were filed last; more match. Name more conditions.`
        : `${count(source.total, "photo matches", "photos match")}.`), all()];
    }
    if (source?.total > 0 && !remark && this.#state && (this.#state.pictures_waiting ?? null) === null) {
      remark = [h("p", null, "No pictures are made. In photoinbox.toml, add"), h("pre", null, "[pictures]\nenabled = \"yes\""),
        h("p", null, "and run photoinbox reload.")];
    }
    if (note && (error || source?.failure || source?.isRead)) this.#filled();
    replace(this.#note, note);
    replace(this.#remark, remark);
  }

  // MARK: the photo

  // That which is looked at.
  get #photo() {
    return this.#viewer?.photo ?? this.#wanted;
  }

  async #look(photo) {
    if (this.#viewer) return this.#viewer.show(photo);
    this.#wanted = photo;
    const loaded = await import("./viewer.js").catch(() => null);
    if (this.#wanted !== photo) return;
    this.#wanted = null;
    if (!loaded) return this.end({ message: "The photo cannot be shown: the program may have been replaced", action: "Reload the page." });
    this.#viewer = new loaded.Viewer({
      isOperator: this.#person.role === "operator", ended: this.#ended,
      beside: (from, step, signal) => this.#beside(from, step, signal),
      moved: (to) => this.#moved(to), closed: () => this.#close(), changed: () => this.#refresh(),
    });
    this.#viewer.show(photo);
  }

  #lookAway() {
    this.#wanted = null;
    if (this.#viewer?.photo) this.#viewer.close();
  }

  async #beside(photo, step, signal) {
    await this.#ready;
    return this.#source ? this.#source.neighbour(photo, step, undefined, signal) : null;
  }

  #open(photo) {
    if (this.#isLeaving) {
      addEventListener("popstate", () => this.#open(photo), { once: true });
      return;
    }
    history.pushState({ isOpened: true }, "", addressOf({ key: photo.key, query: this.#query }));
    this.#look(photo);
  }

  #moved(photo) {
    history.replaceState(history.state, "", addressOf({ key: photo.key, query: this.#query }));
    if (!history.state?.isOpened) this.#wall.reveal(photo, false);
  }

  // Where the photo was opened from the wall, the wall is one step back in the history.
  #close() {
    if (history.state?.isOpened) {
      if (this.#isLeaving) return;
      this.#isLeaving = true;
      addEventListener("popstate", () => { this.#isLeaving = false; }, { once: true });
      history.back();
    } else {
      history.replaceState(null, "", addressOf({ query: this.#query }));
      this.route();
    }
  }

  #remember(place) {
    if (this.#photo || !this.element.isConnected || placeOf(location.hash).query !== this.#query) return;
    // Browsers refuse more than some in a time.
    try {
      history.replaceState({ ...history.state, place }, "");
    } catch {
      return;
    }
  }

  // MARK: forms

  #searchForm() {
    const field = ({ name, label, hint, rare }) => h("label", { hidden: rare }, label, name === "rating"
      ? h("select", { name }, h("option", { value: "" }, "any"), [1, 2, 3, 4, 5].map((value) => h("option", { value }, "★".repeat(value))))
      : h("input", { name, placeholder: hint, autocomplete: "off" }));
    const [words, ...others] = FIELDS;
    const form = h("form", { role: "search", class: "search" },
      h("label", { class: "words" }, h("span", { class: "unseen" }, words.label),
        h("input", { type: "search", name: words.name, placeholder: words.label, autocomplete: "off" })),
      h("button", null, "Search"),
      h("details", { class: "more" }, h("summary", null, "More"),
        h("div", { class: "fields" }, others.map(field), h("button", { class: "primary" }, "Search"))));
    form.onsubmit = (event) => {
      event.preventDefault();
      form.querySelector("details").open = false;
      const query = queryOf((name) => form.elements.namedItem(name).value);
      if (query === this.#query) return query && this.#find(query);
      // By a link, so that the search has a place in the history.
      location.hash = addressOf({ query });
    };
    form.querySelector("details").addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      form.querySelector("details").open = false;
      form.querySelector("summary").focus();
    });
    return form;
  }

  #fillForm(query) {
    const values = valuesOf(query);
    for (const { name, rare } of FIELDS) {
      const field = this.#form.elements.namedItem(name);
      field.value = values[name];
      if (rare) field.parentNode.hidden = field.value === "";
    }
  }

  #jumpForm() {
    const input = h("input", { name: "date", placeholder: "2019-07", size: "10", autocomplete: "off", inputmode: "numeric" });
    const form = h("form", { class: "jump" }, h("label", null, "Go to ", input), h("button", null, "Go"));
    form.onsubmit = (event) => {
      event.preventDefault();
      const wanted = period(input.value);
      input.setAttribute("aria-invalid", String(!wanted));
      if (!wanted) return announce("A date is like 2019, 2019-07 or 2019-07-14.");
      const found = this.#wall.jump(wanted);
      if (!found) return announce("There is no photo.");
      const isThere = found.day >= wanted.first && found.day <= wanted.last && found.day !== NO_DATE;
      announce(`${isThere ? "" : "No photo then. "}${dayText(found.day)}, ${count(found.photos, "photo", "photos")}`);
    };
    return form;
  }
}

// Only what is new: what has the focus keeps it.
function replace(place, content) {
  const wanted = h("div", null, content ?? []);
  place.hidden = content === null;
  if (place.textContent === wanted.textContent) return;
  place.replaceChildren(...wanted.childNodes);
}
