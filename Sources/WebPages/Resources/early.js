// What the page that is asked for will need, asked for before the rest of this program is there: over a line with a delay, one after the
// other would take much longer.
import { placeOf } from "./search.js";
import { prepare } from "./server.js";

const parts = {
  photos: ["wall", "layout", "captions", "timeline", "again", "viewer", "confirm", "photos"],
  now: ["now", "decisions", "confirm"],
};
const { page, query } = placeOf(location.hash);
let sheet = null;

/** Loads the style of all photos. */
export function style() {
  return sheet ??= new Promise((onload, onerror) => {
    document.head.append(Object.assign(link("stylesheet", "photos.css"), { onload, onerror }));
  }).catch((error) => {
    sheet = null;
    throw error;
  });
}

function link(rel, name) {
  return Object.assign(document.createElement("link"), { rel, href: new URL(name, import.meta.url).href });
}

if (!page.startsWith("link=")) prepare("person");
if (page === "photos") {
  if (query === "") prepare("days", "no-cache");
  style().catch(() => null);
}
for (const name of parts[page === "photos" ? page : "now"]) document.head.append(link("modulepreload", `./${name}.js`));
