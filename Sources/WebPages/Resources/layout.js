// Where photos are: days and their squares in a scrolled space, and dates without time zones. Nothing here touches a page.

/** The day of photos without a date. */
export const NO_DATE = 2147483647;

/** `[year, month, day]` of a day since 1970-01-01, for every year: no Date, which ends in the year 275760. */
export function civil(day) {
  const shifted = day + 719468;
  const era = Math.floor(shifted / 146097);
  const ofEra = shifted - era * 146097;
  const yearOfEra = Math.floor((ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36524) - Math.floor(ofEra / 146096)) / 365);
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const date = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  return [yearOfEra + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, date];
}

/** The day since 1970-01-01 of a date. */
export function dayOf(year, month, day) {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return era * 146097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + ofYear - 719468;
}

/** `{ first, last }`: the days of `2019`, `2019-07` or `2019-07-14`; null for what is none of them. */
export function period(text) {
  const [, year, month, day] = /^\s*(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\s*$/.exec(text)?.map(Number) ?? [];
  if (!(year >= 0) || month < 1 || month > 12) return null;
  if (!month) return { first: dayOf(year, 1, 1), last: dayOf(year + 1, 1, 1) - 1 };
  const first = dayOf(year, month, 1);
  const last = (month === 12 ? dayOf(year + 1, 1, 1) : dayOf(year, month + 1, 1)) - 1;
  if (!day && day !== 0) return { first, last };
  return day >= 1 && day <= last - first + 1 ? { first: first + day - 1, last: first + day - 1 } : null;
}

/** `{ day, second }` of a time, as the timeline has it: `2024-01-31T12:34:56`; what is none has no date. */
export function localTime(text) {
  const parts = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?/.exec(text ?? "")?.slice(1).map((part) => Number(part ?? 0));
  if (!parts) return { day: NO_DATE, second: 0 };
  return { day: dayOf(parts[0], parts[1], parts[2]), second: Math.min(86_399, parts[3] * 3600 + parts[4] * 60 + parts[5]) };
}

/** Days and how many photos each has, newest first, laid out as squares in rows below headings. */
export class Layout {
  /** `days` and `counts` are typed arrays; a day has photos. */
  constructor(days, counts, { width, target, heading }) {
    this.days = days;
    this.counts = counts;
    this.heading = heading;
    this.columns = Math.max(1, Math.floor(width / target));
    this.cell = Math.max(1, Math.floor(width / this.columns));
    this.tops = new Float64Array(days.length + 1);
    let top = 0;
    for (let place = 0; place < days.length; place++) {
      this.tops[place] = top;
      top += heading + Math.ceil(counts[place] / this.columns) * this.cell;
    }
    this.tops[days.length] = top;
  }

  get height() {
    return this.tops[this.days.length];
  }

  /** The place of the day at `y`. */
  placeAt(y) {
    return Math.max(0, firstThat(0, this.days.length, (place) => this.tops[place] > y) - 1);
  }

  /** The place of a day, or of the next older one that there is; the last one if there is none. */
  placeOf(day) {
    return Math.min(newestUntil(this.days, day), this.days.length - 1);
  }

  /** The top of the row of a photo. */
  top(place, index) {
    return this.tops[place] + this.heading + Math.floor(index / this.columns) * this.cell;
  }

  left(index) {
    return (index % this.columns) * this.cell;
  }

  /** `[from, to]`: which photos of a day are between two heights. */
  between(place, from, to) {
    const base = this.tops[place] + this.heading;
    const first = Math.max(0, Math.floor((from - base) / this.cell)) * this.columns;
    const last = Math.max(0, Math.ceil((to - base) / this.cell)) * this.columns;
    return [Math.min(first, this.counts[place]), Math.min(last, this.counts[place])];
  }

  /** The first photo of which some is seen below `y`. */
  firstAt(y) {
    const place = this.placeAt(y);
    const [index] = this.between(place, y, y);
    if (index < this.counts[place]) return { place, index };
    return place + 1 < this.days.length ? { place: place + 1, index: 0 } : { place, index: this.counts[place] - 1 };
  }

  /** Where a key leads from a photo; `rows` are those of the view. The same photo where it leads nowhere. */
  moved({ place, index }, key, rows) {
    const end = this.days.length - 1;
    if (key === "Home") return { place: 0, index: 0 };
    if (key === "End") return { place: end, index: this.counts[end] - 1 };
    if (key === "ArrowLeft") {
      if (index > 0) return { place, index: index - 1 };
      return place > 0 ? { place: place - 1, index: this.counts[place - 1] - 1 } : { place, index };
    }
    if (key === "ArrowRight") {
      if (index + 1 < this.counts[place]) return { place, index: index + 1 };
      return place < end ? { place: place + 1, index: 0 } : { place, index };
    }
    const down = key === "ArrowDown" || key === "PageDown";
    const column = index % this.columns;
    let row = Math.floor(index / this.columns);
    const lastRow = (at) => Math.floor((this.counts[at] - 1) / this.columns);
    for (let steps = key.startsWith("Page") ? Math.max(1, rows) : 1; steps > 0;) {
      // As many rows of this day as there are, so that a day of 100,000 costs no more than another.
      const within = Math.min(steps, down ? lastRow(place) - row : row);
      row += down ? within : -within;
      steps -= within;
      if (steps === 0) break;
      if (place === (down ? end : 0)) break;
      place += down ? 1 : -1;
      row = down ? 0 : lastRow(place);
      steps -= 1;
    }
    return { place, index: Math.min(row * this.columns + column, this.counts[place] - 1) };
  }
}

/** In days that are newest first: the place of the newest one that is not newer than `day`; that of "no date" is the oldest. */
export function newestUntil(days, day) {
  const age = (each) => (each === NO_DATE ? -Infinity : each);
  return firstThat(0, days.length, (place) => age(days[place]) <= age(day));
}

/** The first number from `low` on that is meant, as are all after it; else `high`. */
export function firstThat(low, high, isMeant) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isMeant(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Chromium cuts an element off at 33,554,428 pixels, Firefox makes one of more than 17,895,690 pixels 0 high.
const LARGEST = 6_000_000;

/**
 * A view of a height that no browser has: what is scrolled is lower than the content. Small moves are those of the content, pixel by pixel;
 * a large one is in proportion, as of the bar that is dragged. At rest the two are brought together.
 */
export class ScrollSpace {
  /** Where the view begins in the content, and what the scrolled element was scrolled to last. */
  y = 0;
  top = 0;
  #content = 0;
  #room = 0;

  /** Another content or another view, which begins at the same place, as far as there is one. */
  resize(content, room) {
    [this.#content, this.#room] = [content, room];
    this.y = this.#within(this.y);
  }

  /** How high the scrolled element is. */
  get height() {
    return Math.min(this.#content, LARGEST);
  }

  get #isExact() {
    return this.#content <= LARGEST;
  }

  get #last() {
    return Math.max(0, this.#content - this.#room);
  }

  get #lastTop() {
    return Math.max(0, this.height - this.#room);
  }

  #within(y) {
    return Math.min(Math.max(y, 0), this.#last);
  }

  /** The element was scrolled to `top`, by the person. True if the element must be scrolled to `wanted` now. */
  scrolled(top) {
    const moved = top - this.top;
    this.top = top;
    if (this.#isExact) {
      this.y = this.#within(top);
      return false;
    }
    // More than a late frame of a fling moves, and less than a pixel of the bar.
    const small = Math.min(8 * this.#room, this.#lastTop / Math.max(this.#room, 1) / 2);
    this.y = Math.abs(moved) <= small ? this.#within(this.y + moved) : (top / this.#lastTop) * this.#last;
    const end = top <= 0 ? 0 : top >= this.#lastTop - 1 ? this.#lastTop : null;
    // The element is at its end, and the content is not, or is as good as there.
    if (end === null) return false;
    if (this.wanted !== end) return true;
    this.y = end === 0 ? 0 : this.#last;
    return false;
  }

  /** What the element has to be scrolled to for the view to be where it is. */
  get wanted() {
    if (this.#isExact) return this.y;
    return this.#last === 0 ? 0 : Math.round((this.y / this.#last) * this.#lastTop);
  }

  place(y) {
    this.y = this.#within(y);
  }

  /** What is added to a height of the content to have that in the scrolled element. */
  get shift() {
    return Math.round(this.top - this.y);
  }
}
