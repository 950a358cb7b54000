"""A million photographs in Chromium, one day of them with 100,000, against the programs that are built: how long the first screen takes
on a slow line, the longest task and the memory of scripts while all is scrolled, and whether each photograph is reached that the catalogue
has; the last in Firefox, too."""
import contextlib
import json
import os
import pathlib
import random
import sqlite3
import subprocess

import million
import wall
from figures import at_least, spread, target

TOOLS = pathlib.Path(__file__).resolve().parent.parent / ".build/tools/web/bin/python"
BROWSER = "/usr/bin/chromium-headless-shell"
FIREFOX = "/usr/bin/firefox-esr"
SPACED, RANDOM = 25, 15


def measure(session, release, photos, scratch):
    if missing := [str(path) for path in (TOOLS, pathlib.Path(BROWSER)) if not path.exists()]:
        session.leave_out(f"browsing: no {', '.join(missing)} (scripts/deps web-test)")
        return None
    all_ = wall.made(session, release, photos, scratch)
    with all_.shown(("127.0.0.1", 0)) as pages:
        cookie = pages.sign_in("bob")
        days = wall.days_of(wall.Viewer(pages, cookie).get("/days")[1])
        check(days, all_.catalogue)
        host, port = pages.address
        given = {"address": f"http://{host}:{port}/", "cookie": cookie, "runs": session.runs, "browser": BROWSER, "days": days,
                 **wanted(days, all_)}
        result = driven("browser.py", given)
        if os.access(FIREFOX, os.X_OK):
            session.note("browsing: Firefox")
            result["firefox"] = driven("browser_firefox.py", given)
        else:
            session.leave_out(f"browsing: no {FIREFOX} (scripts/deps web-test)")
            result["firefox"] = None
    for reach in (result["reach"], result["firefox"]):
        for text in reach["missed"] if reach else []:
            session.note(f"browsing: not reached: {text}")
    for text in sorted(set(result["faults"]["console"] + result["faults"]["hosts"])):
        session.note(f"browsing: {text}")
    screens = {name: {key: spread([one[key] for one in each]) for key in each[0]} for name, each in result.pop("screens").items()}
    result["floor"]["work"] = spread(result["floor"]["work"])
    photos_, heaps, reach, faults = screens["the photos"], result["heaps"], result["reach"], result["faults"]
    firefox = result["firefox"]
    shift = max(*result["shift"].values(), *(each["shift"]["max"] for each in screens.values()))
    return {
        **result, "rows": million.ROWS + 1, "days": len(days), "runs": session.runs, "screens": screens,
        "targets": [
            at_least("% of photographs reached", 100 * reach["reached"] / reach["asked"], 100),
            *([at_least("% of photographs reached in Firefox", 100 * firefox["reached"] / firefox["asked"], 100)] if firefox else []),
            target("ms, the longest task while scrolling (none above 50 is 0)", result["scrolled"]["longest"], 50),
            target("ms, the 99th percentile from frame to frame", result["scrolled"]["p99"], 20),
            target("MB held by scripts", max(heaps.values()) / 1e6, 20),
            target("ms until the first screen is painted, 10 Mbit/s and 100 ms", photos_["painted"]["median"], 1000),
            target("ms until the page Now is painted, 10 Mbit/s and 100 ms", screens["Now"]["painted"]["median"], 1000),
            target("ms until something is painted", photos_["first"]["median"], 500),
            target("KB until then but for pictures", photos_["page_bytes"]["median"] / 1e3, 60),
            target("of layout shifted", shift, 0.1),
            target("errors and warnings in the console", len(faults["console"]), 0),
            target("requests to other hosts", len(faults["hosts"]), 0)],
    }


def driven(script, given):
    """What a browser found."""
    done = subprocess.run(
        [TOOLS, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), script)], input=json.dumps(given),
        stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def check(days, catalogue):
    """The days that the pages have are those of the catalogue, row by row."""
    with contextlib.closing(sqlite3.connect(f"file:{catalogue}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT day, count(*) FROM tile GROUP BY day ORDER BY day DESC").fetchall()
        photos = database.execute("SELECT count(*) FROM photo").fetchone()[0]
    if days != rows or sum(count for _, count in days) != photos or photos != million.ROWS + 1:
        raise RuntimeError("the days of the pages are not those of the catalogue")


def wanted(days, all_):
    """Which photographs are to be reached, and how, and which dates are typed while scrolling."""
    chance, counts = random.Random(3), [count for _, count in days]
    large = counts.index(max(counts))

    def photo(name, place, index, by="scrolling"):
        return {"name": name, "place": place, "index": index, "by": by, "key": all_.tiles(days[place][0], index, 1)[0]}

    def at(number):
        """The place and the number in its day of a photograph by its number in all."""
        for place, count in enumerate(counts):
            if number < count:
                return place, number
            number -= count
        raise IndexError(number)

    last = len(days) - 1
    some = chance.sample(range(len(days)), RANDOM)
    all_photos = sum(counts)
    found = [
        photo("the last", last, counts[last] - 1, "End"), photo("the newest", 0, 0, "Home"), photo("the middle", *at(all_photos // 2)),
        photo("the first of the large day", large, 0, "date"), photo("the last of the large day", large, counts[large] - 1),
        photo("the middle of the large day", large, counts[large] // 2),
        *(photo("a day by its date", place, 0, "date") for place in some),
        *(photo("one of many", *at(all_photos * number // SPACED)) for number in range(SPACED)),
        *(photo("any", *at(chance.randrange(all_photos))) for _ in range(RANDOM))]
    dates = [{"text": f"{chance.randint(1970, 1999)}-{chance.randint(1, 12):02}"} for _ in range(10)]
    return {"photos": found, "typed": [*dates, {"text": "2014"}, {"text": "1970"}]}
