// Numbers and times for people, in the browser's zone.
import { h } from "./dom.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "short" });
const number = new Intl.NumberFormat();

export function count(value, one, many) {
  return `${number.format(value)} ${value === 1 ? one : many}`;
}

/** `0 B`, `3.1 MB`, `612 GB`: powers of ten, rounded down, as the command line has it. */
export function bytes(value) {
  const unit = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), 5);
  const scaled = value / 1000 ** unit;
  const rounded = unit > 0 && scaled < 10 ? Math.floor(scaled * 10) / 10 : Math.floor(scaled);
  return `${number.format(rounded)} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}

/** A day, for a moment: `Sunday 30 November 2026`. */
export function dayOf(at) {
  return h("time", { datetime: at, title: whole.format(new Date(at)) }, date.format(new Date(at)));
}

/** A moment of any year: `22 November 2026 at 13:00`. */
export function dated(at) {
  return h("time", { datetime: at, title: whole.format(new Date(at)) }, minute.format(new Date(at)));
}

/** What a name ends in, in capitals: `HEIC`. */
export function suffix(name) {
  return (/\.([^./]{1,5})$/.exec(name)?.[1] ?? "").toUpperCase();
}

/** `8 s`, `14 min`, `3 h`, `12 days`: rounded down, as the command line has it. */
export function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h`;
  return `${number.format(Math.floor(whole / 86400))} days`;
}

/** A moment: the time of day if it is today's, else with the day. */
export function moment(at) {
  const then = new Date(at);
  const isToday = then.toDateString() === new Date().toDateString();
  return h("time", { datetime: at, title: whole.format(then) }, (isToday ? clock : day).format(then));
}

/** How long ago, which goes on counting. */
export function since(at) {
  return h("time", { datetime: at, title: whole.format(new Date(at)), "data-counts": true }, ageOf(at));
}

function ageOf(at) {
  return age((Date.now() - Date.parse(at)) / 1000);
}

/** Counts all ages of the page on. */
export function countAges() {
  for (const time of document.querySelectorAll("time[data-counts]")) {
    const text = ageOf(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Clauses as sentences; one that begins with a path begins as that does. */
export function sentences(...texts) {
  return texts.filter(Boolean).map((text) => {
    const isWord = /^\p{L}[\p{L}\p{M}’'-]*[,;:.]?(\s|$)/u.test(text);
    return (isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? "" : ".");
  }).join(" ");
}
