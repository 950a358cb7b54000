// Names of days and photos for people: of the date on the camera, without time zones.
import { NO_DATE, civil } from "./layout.js";
import { KIND } from "./timeline.js";

const inWords = (style) => new Intl.DateTimeFormat(undefined, { ...style, timeZone: "UTC" });
const formats = { full: inWords({ dateStyle: "full" }), long: inWords({ dateStyle: "long" }) };
const month = inWords({ month: "long", year: "numeric" });
const last = { day: null, style: null, text: "" };

/** `Sunday 22 November 2026`, or with the style `long` `22 November 2026`. */
export function dayText(day, style = "full") {
  if (last.day !== day || last.style !== style) [last.day, last.style, last.text] = [day, style, written(day, formats[style])];
  return last.text;
}

/** `November 2026`. */
export function monthText(day) {
  return written(day, month);
}

function written(day, format) {
  if (day === NO_DATE) return "No date";
  // Other years are written in another way, or not at all.
  const year = civil(day)[0];
  return year >= 1 && year <= 9999 ? format.format(new Date(day * 86_400_000)) : dateText(day);
}

/** `2026-11-22`. */
export function dateText(day) {
  const [year, ...rest] = civil(day);
  return [year < 0 ? `-${String(-year).padStart(4, "0")}` : String(year).padStart(4, "0"), ...rest.map(twoDigits)].join("-");
}

/** `14:03:11`. */
export function timeText(second) {
  return [second / 3600, (second / 60) % 60, second % 60].map((part) => twoDigits(Math.floor(part))).join(":");
}

function twoDigits(number) {
  return String(number).padStart(2, "0");
}

/** `Photo, 22 November 2026, 14:03:11, with RAW`. */
export function nameOf({ day, second, kind }) {
  const what = kind & KIND.film ? "Film" : kind & KIND.raw ? "RAW photo" : "Photo";
  const when = day === NO_DATE ? "no date" : `${dayText(day, "long")}, ${timeText(second)}`;
  return [what, when, kind & KIND.withRaw && "with RAW", kind & KIND.withFilm && "with film"].filter(Boolean).join(", ");
}

/** What is written on a picture. */
export function marksOf(kind) {
  return [
    kind & KIND.film && "▶", kind & (KIND.raw | KIND.withRaw) && "RAW", kind & KIND.withFilm && "◉",
  ].filter(Boolean).join(" ");
}
