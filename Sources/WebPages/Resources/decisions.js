// What needs a person: files that are deferred, files that are quarantined, and photos that look alike.
import { h } from "./dom.js";
import { confirm, download, perform } from "./confirm.js";
import { address } from "./server.js";
import { count, moment, since } from "./text.js";

/** The page for what was read; `alike` is null until it is. Told are `changed()`, when something was done, and `ended()`. */
export function decisions(read, alike, person, changed, ended) {
  const isOperator = person.role === "operator";
  return [
    h("h1", null, "Needs you"),
    !isOperator && h("p", { class: "faint" }, "You may look. An operator can act."),
    h("section", { "aria-labelledby": "deferred" }, h("h2", { id: "deferred" }, `Deferred (${read.deferred.length})`),
      h("p", { class: "faint" }, "They are tried again by themselves; nothing has to be done."),
      list(read.deferred, (file) => deferred(file, isOperator, changed), "Nothing is deferred.")),
    h("section", { "aria-labelledby": "quarantined" }, h("h2", { id: "quarantined" }, `Quarantined (${read.quarantined.length})`),
      h("p", { class: "faint" }, "They are kept unchanged until you decide."),
      list(read.quarantined, (file) => quarantined(file, isOperator, changed, ended), "Nothing is quarantined.")),
    h("section", { "aria-labelledby": "similar" }, h("h2", { id: "similar" }, alike ? `Similar photos (${alike.found})` : "Similar photos"),
      h("p", { class: "faint" }, "They differ in few of the 64 bits that describe coarse light and shadow. You decide whether one is too many."),
      !alike ? h("p", null, "…") : alike.described === 0
        ? h("p", { class: "empty" }, "No photo is described yet. The renditions of an inbox need “hash”.")
        : list(alike.groups, (group) => similar(group, isOperator, changed), "No photos look alike."),
      alike && alike.found > alike.groups.length
        && h("p", { class: "faint" }, `and ${count(alike.found - alike.groups.length, "more group", "more groups")}: photoinbox similar`)),
  ];
}

function list(files, row, none) {
  return files.length === 0 ? h("p", { class: "empty" }, none) : h("ul", { class: "plain rows" }, files.map(row));
}

function deferred(file, isOperator, changed) {
  const name = `${file.inbox}/${file.file}`;
  const subject = { inbox: file.inbox, file: file.file, ...(file.file_base64 ? { file_base64: file.file_base64 } : {}) };
  return h("li", { "data-key": name },
    h("div", { class: "about" }, h("div", { class: "name" }, name), h("div", null, file.what),
      h("div", { class: "faint" }, "first seen ", since(file.first_seen), " ago", file.until && [", next try ", moment(file.until)])),
    isOperator && h("div", { class: "actions" },
      h("button", {
        type: "button", "aria-label": `Try now: ${name}`,
        onclick: async () => { if (await perform({ do: "retry", ...subject }, name)) changed(); },
      }, "Try now")));
}

function quarantined(file, isOperator, changed, ended) {
  const name = `${file.inbox}/${file.file}`;
  const content = address(`quarantined/${file.operation}`);
  const act = (request, title, verb, isDangerous) => async () => {
    if (await confirm({ operation: file.operation, ...request }, title, verb, isDangerous)) changed();
  };
  return h("li", { "data-key": file.operation },
    file.picture && !broken.has(content)
      ? h("img", { class: "picture large", loading: "lazy", src: content, alt: "", "data-key": "picture", onerror: hide })
      : h("div", { class: "picture large", "aria-hidden": "true", "data-key": "picture" }, "?"),
    h("div", { class: "about" }, h("div", { class: "name" }, name), h("div", null, file.reason),
      h("div", { class: "faint" }, "quarantined ", moment(file.time), file.size && `, ${file.size}`)),
    h("div", { class: "actions" },
      isOperator && h("button", { type: "button", "aria-label": `Put back and try: ${name}`,
        onclick: act({ do: "release" }, `Put ${name} back?`, "Put back and try") }, "Put back and try…"),
      isOperator && h("button", { type: "button", "aria-label": `File as it is: ${name}`,
        onclick: act({ do: "release", as_is: true }, `File ${name} as it is?`, "File as it is") }, "File as it is…"),
      isOperator && h("button", { type: "button", class: "danger", "aria-label": `Discard: ${name}`,
        onclick: act({ do: "discard" }, `Discard ${name}?`, "Discard", true) }, "Discard…"),
      file.size && download(`quarantined/${file.operation}?download=1`, "Download", { class: "button", "aria-label": `Download: ${name}` }, ended)));
}

function similar(group, isOperator, changed) {
  return h("li", { "data-key": group.photos[0]?.path, class: "alike" },
    group.photos.map((photo, index) => h("figure", { "data-key": photo.path },
      picture(photo),
      h("figcaption", null, h("div", { class: "name" }, photo.path),
        h("div", null, [photo.pixels, photo.size].filter(Boolean).join(", ")),
        h("div", { class: "faint" }, photo.taken && `taken ${photo.taken}`),
        h("div", { class: "faint" }, index === 0 ? "filed first" : photo.bits === 0 ? "the same in all bits" : `differs in ${count(photo.bits, "bit", "bits")}`)),
      isOperator && photo.operation && h("button", {
        type: "button", "aria-label": `Take back: ${photo.path}`,
        onclick: async () => {
          if (await confirm({ do: "undo", operation: photo.operation }, `Take back ${photo.path}?`, "Take back", true)) changed();
        },
      }, "Take back…"))),
    group.omitted > 0 && h("p", { class: "faint" }, `and ${count(group.omitted, "more", "more")}`));
}

function picture(photo) {
  const content = address(`t/${photo.sha256}`);
  return broken.has(content) ? h("div", { class: "picture", "aria-hidden": "true", "data-key": "picture" }, "?")
    : h("img", { class: "picture", loading: "lazy", src: content, alt: "", "data-key": "picture", onerror: hide });
}

// What the browser cannot show as a picture: why it is quarantined, in most cases.
const broken = new Set();

function hide(event) {
  broken.add(event.target.src);
  document.dispatchEvent(new Event("redraw"));
}
