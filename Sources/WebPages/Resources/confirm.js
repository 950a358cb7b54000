// What would be done is shown first, and done only then.
import { announce, h, isPlain } from "./dom.js";
import { act, address, refusal } from "./server.js";
import { sentences } from "./text.js";

/**
 * Shows what `request` would do, and does it if that is wanted, with the files that were shown. `verb` is the button's word.
 * True if it was done.
 */
export async function confirm(request, title, verb, isDangerous) {
  let foreseen;
  try {
    foreseen = await act(request, true);
  } catch (error) {
    await tell(title, error);
    return false;
  }
  const content = [
    h("p", null, sentences(foreseen.message)),
    ...(foreseen.items ?? []).filter((item) => item.from || item.to).map((item) =>
      h("dl", null, h("dt", null, "From"), h("dd", null, item.from), h("dt", null, "To"), h("dd", null, item.to))),
    foreseen.action && h("p", { class: "faint" }, foreseen.action),
  ];
  if (!(await ask(title, content, verb, isDangerous))) return false;
  try {
    const expected = (foreseen.items ?? []).map(({ identity }) => identity).filter(Boolean);
    const done = await act(expected.length > 0 ? { ...request, expected } : request, false);
    announce(sentences(done.message));
    return true;
  } catch (error) {
    await tell(title, error);
    return false;
  }
}

/** A link to a file. The browser does not say why a download is refused, so that is asked first. */
export function download(path, content, properties, ended) {
  const target = { href: address(path), download: true };
  return h("a", { ...properties, ...target, onclick: async (event) => {
    if (!isPlain(event)) return;
    event.preventDefault();
    const error = await refusal(path);
    if (!error) return h("a", target).click();
    if (error.status === 401) ended();
    await tell("Download", error);
  } }, content);
}

/** Does it at once, since it changes no file. */
export async function perform(request, title) {
  try {
    announce(sentences((await act(request, false)).message));
    return true;
  } catch (error) {
    await tell(title, error);
    return false;
  }
}

function tell(title, error) {
  const content = [h("p", { class: "alert", role: "alert" }, sentences(error.message)), error.action && h("p", null, error.action)];
  return ask(title, content, null);
}

/** Shows a dialog; true if its `verb` was chosen. Without one there is nothing to choose. */
export function ask(title, content, verb, isDangerous) {
  return new Promise((done) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
      h("h2", { id: "dialog-title" }, title), ...content,
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => dialog.close() }, verb ? "Cancel" : "Close"),
        verb && h("button", { type: "button", class: isDangerous ? "primary danger" : "primary", onclick: () => dialog.close("yes") }, verb)));
    dialog.onclose = () => {
      dialog.remove();
      done(dialog.returnValue === "yes");
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}
