// What is searched for, in a form and in the address of the page. Nothing here touches a page.

/**
 * The conditions by their names for the server; `many` may be several, with commas between them, one with a comma in quotation marks; a
 * `rare` one has a field while it is asked for.
 */
export const FIELDS = [
  { name: "words", label: "Search words" },
  { name: "keyword", label: "Keywords", hint: "harbour, boat", many: true },
  { name: "person", label: "People", hint: "Ada, Grace", many: true },
  { name: "place", label: "Place", hint: "Kiel" },
  { name: "camera", label: "Camera", hint: "Canon" },
  { name: "lens", label: "Lens", hint: "24-70" },
  { name: "from", label: "From", hint: "2019-07" },
  { name: "until", label: "Until", hint: "2019-08-14" },
  { name: "rating", label: "Stars, at least" },
  { name: "near", label: "Near", hint: "54.32,10.12,5km" },
  { name: "title", label: "Title", rare: true },
  { name: "name", label: "File name", rare: true },
  { name: "inbox", label: "Inbox", rare: true },
  { name: "bbox", label: "Area", rare: true },
];

/** The query of a form's values, by `value(name)`; empty if nothing is asked for. */
export function queryOf(value) {
  const pairs = [];
  for (const { name, many } of FIELDS) {
    const text = (value(name) ?? "").trim();
    for (const each of many ? text.match(/\s*"[^"]*"\s*(?=[,;]|$)|[^,;]+/g) ?? [] : [text]) {
      const one = many ? each.trim().replace(/^"([^"]*)"$/, "$1").trim() : each;
      if (one) pairs.push([name, one]);
    }
  }
  return written(pairs);
}

/** The values of a form for a query. */
export function valuesOf(query) {
  const found = new URLSearchParams(query);
  const quoted = (value) => (/[,;]/.test(value) ? `"${value}"` : value);
  return Object.fromEntries(FIELDS.map(({ name, many }) =>
    [name, found.getAll(name).map((value) => (many ? quoted(value) : value)).join(", ")]));
}

/** `{ page, key, query }` of the fragment of an address: `#photos?words=boat`, `#photo=12-9f2ca0b1?words=boat`, `#now`. */
export function placeOf(hash) {
  const [, name, rest] = /^#?([^?]*)\??(.*)$/s.exec(hash);
  const key = /^photo=(\d{1,10}-[0-9a-f]{8})$/.exec(name)?.[1] ?? null;
  const isPhotos = name === "photos" || key !== null;
  return { page: isPhotos ? "photos" : name, key, query: isPhotos ? known(rest) : "" };
}

/** The fragment for a photo, or for the wall, of a search or of all. */
export function addressOf({ key, query }) {
  return `#${key ? `photo=${key}` : "photos"}${query ? `?${query}` : ""}`;
}

// What the server knows, in one way of writing.
function known(text) {
  const names = FIELDS.map(({ name }) => name);
  const pairs = [...new URLSearchParams(text)].filter(([name, value]) => names.includes(name) && value.trim() !== "");
  return written(pairs.sort(([one], [other]) => names.indexOf(one) - names.indexOf(other)));
}

function written(pairs) {
  return pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}
