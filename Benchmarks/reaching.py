"""How photographs of the wall are reached, as by a person: by a key, by a typed date, or by the scroll bar and then the wheel. For
browser.py, and for browser_firefox.py, whose page answers to the same names as playwright's."""
import datetime
import math
import sys

VIEW = {"width": 1280, "height": 900}
PATIENCE = 60_000
LARGEST = 6_000_000  # pixels of the scrolled element, of a higher content
TRIES = 40
DATE = "input[name=date]"

SETTLED = """async (patience) => {
  const wall = document.querySelector(".wall");
  for (const end = performance.now() + patience; performance.now() < end;) {
    const top = wall.scrollTop;
    await new Promise((done) => setTimeout(done, 220));
    if (wall.scrollTop === top && !document.querySelector(".hint.shown") && !wall.querySelector("li[aria-hidden], li.waiting")) return true;
  }
  return false;
}"""
# The photo of a day by its number, if it is in view.
SHOWN = """([day, number]) => {
  const room = document.querySelector(".wall").getBoundingClientRect();
  const item = document.querySelector(`ul[aria-labelledby="day${day}"] li[aria-posinset="${number}"]`);
  const { top, bottom } = item?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
  if (!item || bottom <= room.top || top >= room.bottom) return null;
  const picture = item.querySelector("img");
  return {
    link: item.querySelector("a").getAttribute("href"), size: Number(item.getAttribute("aria-setsize")),
    picture: picture.naturalWidth > 0 && item.className === "" ? new URL(picture.src).pathname : null,
  };
}"""
TOPMOST = """() => {
  const room = document.querySelector(".wall").getBoundingClientRect();
  for (const item of document.querySelectorAll(".wall li")) {
    if (item.getBoundingClientRect().bottom > room.top) {
      return [Number(item.parentNode.getAttribute("aria-labelledby").slice(3)), Number(item.getAttribute("aria-posinset")) - 1];
    }
  }
  return null;
}"""


def note(text):
    print(f"browsing: {text}", file=sys.stderr, flush=True)


def require(condition, text):
    if not condition:
        raise RuntimeError(text)


def go_to(page, date):
    page.fill(DATE, date)
    page.press(DATE, "Enter")


def settle(page):
    require(page.evaluate(SETTLED, PATIENCE), "what is in view is not read in time")


class Places:
    """Where photographs should be, as squares below the headings of days."""

    def __init__(self, page, days):
        self.days = days
        width, self.room, height, cell, font = page.evaluate("""() => {
          const wall = document.querySelector(".wall");
          const content = document.querySelector(".content");
          return [content.clientWidth, wall.clientHeight, content.clientHeight, content.style.getPropertyValue("--cell"),
                  parseFloat(getComputedStyle(document.documentElement).fontSize)];
        }""")
        self.columns = int(width // min(220, max(96, width / 8)))
        self.cell = width // self.columns
        require(cell == f"{self.cell}px" and height == LARGEST, f"squares of {cell} in {height} pixels: this is laid out otherwise")
        self.heading = round(2.75 * font)
        self.tops, self.end = [], 0
        for _, count in days:
            self.tops.append(self.end)
            self.end += self.heading + math.ceil(count / self.columns) * self.cell
        self.number = {day: place for place, (day, _) in enumerate(days)}

    def y(self, place, index):
        return self.tops[place] + self.heading + index // self.columns * self.cell

    def scroll_to(self, page, place, index):
        """Drags the bar as near as it leads, and turns the wheel for the rest."""
        aim = min(max(self.y(place, index) - self.room / 2, 0), self.end - self.room)
        page.evaluate("(top) => { document.querySelector('.wall').scrollTop = top; }",
                      aim / (self.end - self.room) * (LARGEST - self.room))
        page.mouse.move(VIEW["width"] / 2, VIEW["height"] / 2)
        for _ in range(TRIES):
            settle(page)
            if shown := page.evaluate(SHOWN, [self.days[place][0], index + 1]):
                return shown
            day, number = page.evaluate(TOPMOST)
            away = self.y(place, index) - self.y(self.number[day], number) - self.room / 2
            page.mouse.wheel(0, max(-3 * self.room, min(away, 3 * self.room)))
        return None


def is_right(shown, wanted, days):
    """Whether what is shown is what the catalogue has there, with its picture."""
    key = wanted["key"]
    return shown is not None and shown["link"] == f"#photo={key}" and (shown["picture"] or "").endswith(f"/t/{key}") \
        and shown["size"] == days[wanted["place"]][1]


def reach(page, given):
    """How many photographs are reached, and those that are not."""
    days, missed = given["days"], []
    places = Places(page, days)
    for number, wanted in enumerate(given["photos"]):
        if number % 10 == 0:
            note(f"reaching photographs, {number} of {len(given['photos'])}")
        day, index = days[wanted["place"]][0], wanted["index"]
        if wanted["by"] == "scrolling":
            shown = places.scroll_to(page, wanted["place"], index)
        else:
            if wanted["by"] == "date":
                go_to(page, (datetime.date(1970, 1, 1) + datetime.timedelta(day)).isoformat())
            else:
                page.press(".wall a[tabindex='0']", wanted["by"])
            settle(page)
            shown = page.evaluate(SHOWN, [day, index + 1])
        if not is_right(shown, wanted, days):
            missed.append(f"{wanted['name']}: photo {index + 1} of day {day} should be {wanted['key']}, shown is {shown}")
    return {"asked": len(given["photos"]), "reached": len(given["photos"]) - len(missed), "missed": missed}
