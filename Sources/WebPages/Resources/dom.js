// Elements from values. Texts become text nodes: no name of a file is ever markup.

/** An element: `h("p", { class: "faint" }, "text", child)`. What is null or false is left out. */
export function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Whether a key or a click is without others that give it another meaning. */
export function isPlain(event) {
  return !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
}

const handlers = ["onclick", "onsubmit", "onerror", "onchange"];

/** Makes the children of `parent` those of `fresh`, and keeps elements that are the same: with focus, and pictures loaded. */
export function show(parent, ...fresh) {
  const wanted = h("div", null, ...fresh);
  morphChildren(parent, [...wanted.childNodes]);
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null;
}

function isSame(old, fresh) {
  return old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

// Elements that stay are not moved: they would lose the focus. So those that go are taken away first, and one that
// becomes another element is replaced where it is.
function morphChildren(parent, fresh) {
  const wanted = new Set(fresh.map(keyOf));
  const keyed = new Map();
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child);
    if (key === null) continue;
    if (wanted.has(key)) keyed.set(key, child);
    else child.remove();
  }
  let place = parent.firstChild;
  for (const node of fresh) {
    const key = keyOf(node);
    const old = key !== null ? keyed.get(key) : place && isSame(place, node) ? place : null;
    if (!old) {
      parent.insertBefore(node, place);
      continue;
    }
    if (old === place) place = place.nextSibling;
    else parent.insertBefore(old, place);
    if (isSame(old, node)) morph(old, node);
    else old.replaceWith(node);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of handlers) old[name] = fresh[name];
  morphChildren(old, [...fresh.childNodes]);
}

let announcing;

/** Says something once, to everybody: at the bottom of the page, and by screen readers. */
export function announce(text) {
  const place = document.getElementById("announcement");
  clearTimeout(announcing);
  place.textContent = text;
  announcing = setTimeout(() => { place.textContent = ""; }, 8000);
}
