// What needs a person: files that are deferred, and files that are quarantined.
import { h } from "./dom.js";
import { confirm, perform } from "./confirm.js";
import { address } from "./server.js";
import { moment, since } from "./text.js";

/** The page for what was read. `changed` is called when something was done. */
export function decisions(read, person, changed) {
  const isOperator = person.role === "operator";
  return [
    h("h1", null, "Needs you"),
    !isOperator && h("p", { class: "faint" }, "You may look. An operator can act."),
    h("section", { "aria-labelledby": "deferred" }, h("h2", { id: "deferred" }, `Deferred (${read.deferred.length})`),
      h("p", { class: "faint" }, "They are tried again by themselves; nothing has to be done."),
      list(read.deferred, (file) => deferred(file, isOperator, changed), "Nothing is deferred.")),
    h("section", { "aria-labelledby": "quarantined" }, h("h2", { id: "quarantined" }, `Quarantined (${read.quarantined.length})`),
      h("p", { class: "faint" }, "They are kept unchanged until you decide."),
      list(read.quarantined, (file) => quarantined(file, isOperator, changed), "Nothing is quarantined.")),
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

function quarantined(file, isOperator, changed) {
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
      file.size && h("a", { class: "button", href: `${content}?download=1`, download: true, "aria-label": `Download: ${name}` }, "Download")));
}

// What the browser cannot show as a picture: why it is quarantined, in most cases.
const broken = new Set();

function hide(event) {
  broken.add(event.target.src);
  document.dispatchEvent(new Event("redraw"));
}
