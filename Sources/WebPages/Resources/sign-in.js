// Signing in, by a name and a password, or by a link that is used once.
import { h, show } from "./dom.js";
import { post } from "./server.js";
import { sentences } from "./text.js";

/** Asks for name and password, until somebody is signed in. */
export function signIn(main, remark) {
  return form(main, "Sign in", remark, [
    field("Name", { name: "name", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true }),
    field("Password", { name: "password", type: "password", autocomplete: "current-password", required: true }),
  ], "Sign in", (values) => post("session", { name: values.get("name").trim(), password: values.get("password").normalize("NFC") }));
}

/** What a link is for: the person that it signed in, or the form in which its password is set. */
export async function useLink(main, link) {
  const meaning = await post("link", { link });
  if (!meaning.password_for) return meaning;
  const name = meaning.password_for;
  return form(main, `Welcome, ${name}`, "Choose a password. This link works once.", [
    field("Name", { name: "name", autocomplete: "username", value: name, readonly: true }),
    field("New password", { name: "password", type: "password", autocomplete: "new-password", minlength: 10, maxlength: 256, required: true },
      "At least 10 characters."),
  ], "Set the password", (values) => post("link", { link, password: values.get("password").normalize("NFC") }));
}

function field(label, attributes, hint) {
  return h("label", null, label, h("input", attributes), hint && h("span", { class: "faint" }, hint));
}

function form(main, title, remark, fields, verb, send) {
  return new Promise((done) => {
    const alert = h("p", { class: "alert", role: "alert", hidden: true });
    const button = h("button", { class: "primary" }, verb);
    const element = h("form", { class: "sign-in", method: "post", onsubmit: submit },
      h("h1", null, title), remark && h("p", null, remark), fields, alert, button);
    async function submit(event) {
      event.preventDefault();
      button.disabled = true;
      alert.hidden = true;
      try {
        done(await send(new FormData(element)));
      } catch (error) {
        alert.textContent = sentences(error.message, error.action);
        alert.hidden = false;
        button.disabled = false;
      }
    }
    main.replaceChildren(element);
    element.querySelector("input:not([readonly])").focus();
  });
}
