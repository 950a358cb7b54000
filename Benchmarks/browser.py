"""Looks through a million photographs in Chromium, and measures what a person would notice. Run by browsing.py, in the environment that
has playwright; standard input is one JSON object of what there is, standard output one of what was measured.

Scrolled are the wheel, a fling of a finger, the keys, typed dates and the scroll bar; the floor is an empty page, scrolled the same way,
that does a little work in each frame, always the same. Photographs are reached as by a person: by a key, by a typed date, or by the scroll bar and then the wheel.
"""
import json
import math
import statistics
import sys
import time
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright

from reaching import LARGEST, PATIENCE, VIEW, go_to, note, reach, require, settle

GIVEN = json.load(sys.stdin)
ADDRESS = GIVEN["address"]
LINE = {"offline": False, "latency": 100, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
SCREENS = 3  # for each run
BUSY = 120  # milliseconds of a task that has to be noticed

WATCH = """
  window.measured = { tasks: [], shift: 0, gaps: [] };
  new PerformanceObserver((list) => measured.tasks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => { for (const each of list.getEntries()) if (!each.hadRecentInput) measured.shift += each.value; })
    .observe({ type: "layout-shift", buffered: true });
  {
    let last = null;
    const frame = (now) => {
      if (last !== null) measured.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
"""
# When all is painted that is in view: `[milliseconds since navigation, pictures]`.
PAINTED = """
  const inView = (element, room) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > room.top && top < room.bottom;
  };
  const painted = (content) => new Promise((done) => {
    const look = async () => {
      const pictures = content();
      if (!pictures || !pictures.every((each) => each.complete && each.naturalWidth > 0)) return requestAnimationFrame(look);
      await Promise.all(pictures.map((each) => each.decode()));
      requestAnimationFrame(() => requestAnimationFrame(() => done([performance.now(), pictures.length])));
    };
    requestAnimationFrame(look);
  });
"""
# The pictures in view, once the view is full of photos that are read.
WALL = """() => {
  const wall = document.querySelector(".wall");
  const room = wall?.getBoundingClientRect();
  const seen = wall ? [...wall.querySelectorAll("li")].filter((each) => inView(each, room)) : [];
  if (seen.length === 0 || Math.max(...seen.map((each) => each.getBoundingClientRect().bottom)) < room.bottom - 1) return null;
  return seen.every((each) => each.className === "") ? seen.map((each) => each.querySelector("img")) : null;
}"""
NOW = """() => {
  if (!document.querySelector("main .verdict h1") || !document.querySelector("main [data-key=inboxes] li")) return null;
  const room = { top: 0, bottom: innerHeight };
  return [...document.querySelectorAll("main img")].filter((each) => inView(each, room));
}"""
FLOOR = "<style>body { margin: 0 }</style><div class=wall style='height: 100vh; overflow: hidden scroll'>" \
        "<div style='height: 6000000px'></div></div>"
# Work that takes about 5 ms, the same in each frame, and how long it took.
WORK = """(content) => {
  document.documentElement.innerHTML = content;
  const work = (times) => { let sum = 0; for (let each = 0; each < times; each++) sum += Math.sqrt(each); return sum; };
  const taken = (times) => { const begun = performance.now(); work(times); return performance.now() - begun; };
  taken(1e6);
  const times = Math.round(1e6 * 5 / Math.min(...Array.from({ length: 20 }, () => taken(1e6))));
  measured.work = [];
  const frame = () => { measured.work.push(taken(times)); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""

faults = {"console": [], "hosts": []}


def watched(context):
    """A page of which everything is noted that must not happen."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    own = urlsplit(ADDRESS).netloc
    page.on("pageerror", lambda error: faults["console"].append(f"{error}"))
    page.on("request", lambda request: urlsplit(request.url.removeprefix("blob:")).netloc != own and faults["hosts"].append(request.url))
    page.on("console", lambda line: line.type in ("error", "warning") and faults["console"].append(line.text))
    page.add_init_script(WATCH)
    return page, context.new_cdp_session(page)


def signed_in(browser):
    context = browser.new_context(viewport=VIEW, locale="en-GB")
    name, _, value = GIVEN["cookie"].partition("=")
    context.add_cookies([{"name": name, "value": value, "url": ADDRESS}])
    return context


# MARK: the first screen


def first_screen(browser, place, content):
    """With nothing kept from before, on a slow line."""
    context = signed_in(browser)
    page, cdp = watched(context)
    asked, received = {}, {"pages": 0, "pictures": 0}
    is_picture = lambda address: address.removeprefix(ADDRESS).startswith(("t/", "t?", "blob:"))
    kind = lambda event: "pictures" if is_picture(asked.get(event["requestId"], "")) else "pages"

    def ended(event):
        received[kind(event)] += event["encodedDataLength"]

    cdp.on("Network.requestWillBeSent", lambda event: asked.update({event["requestId"]: event["request"]["url"]}))
    cdp.on("Network.loadingFinished", ended)
    cdp.send("Network.enable")
    cdp.send("Network.emulateNetworkConditions", LINE)
    page.add_init_script(f"{{ {PAINTED} window.first = painted({content}); }}")
    page.goto(ADDRESS + place, wait_until="commit")
    taken, pictures = page.evaluate("first")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
    require(paint is not None, "Chromium does not say when it has painted first")
    requests = sum(not is_picture(each) for each in asked.values())
    page.wait_for_timeout(300)
    shift = page.evaluate("measured.shift")
    context.close()
    return {"painted": taken, "first": paint, "pictures": pictures, "requests": requests, "page_bytes": received["pages"],
            "picture_bytes": received["pictures"], "shift": shift}


# MARK: scrolling


def fling(page, cdp, way):
    """A finger that swipes several times, and what goes on by itself after it: down the page if `way` is 1."""
    x, middle = VIEW["width"] / 2, VIEW["height"] / 2
    for _ in range(5):
        y = middle + 350 * way
        cdp.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for _ in range(10):
            y -= 70 * way
            cdp.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
        cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(300)
    page.wait_for_timeout(1500)


def top(page):
    return page.evaluate("document.querySelector('.wall').scrollTop")


def drag(page):
    """The scroll bar from the top to the end and back to the middle."""
    page.evaluate("document.querySelector('.wall').scrollTop = 0")
    page.wait_for_timeout(300)
    box = page.locator(".wall").bounding_box()
    x, end = box["x"] + box["width"] - 7, box["y"] + box["height"]
    # There may be a button before the bar.
    for start in (4, 10, 18, 26):
        page.mouse.move(x, box["y"] + start)
        page.mouse.down()
        for step in range(60):
            page.mouse.move(x, box["y"] + start + (end - box["y"]) * (step + 1) / 60)
        if top(page) > LARGEST / 2:
            break
        page.mouse.up()
    require(top(page) > LARGEST / 2, "the scroll bar cannot be dragged")
    for step in range(60):
        page.mouse.move(x, end - (end - box["y"]) / 2 * (step + 1) / 60)
    page.mouse.up()
    # Where it is let go there may be no photo under the pointer.
    page.mouse.move(VIEW["width"] / 2, VIEW["height"] / 2)


def wheel(page, distance, times):
    page.mouse.move(VIEW["width"] / 2, VIEW["height"] / 2)
    for _ in range(times):
        page.mouse.wheel(0, distance)


def keys(page):
    page.locator(".wall a[tabindex='0']").focus()
    for key in ["End", "Home", *["PageDown"] * 30, "End", *["PageUp"] * 30, "Home"]:
        page.keyboard.press(key)
        page.wait_for_timeout(30)


def dates(page):
    for typed in GIVEN["typed"]:
        go_to(page, typed["text"])
        page.wait_for_timeout(100)


def gestures(page, cdp, is_floor):
    """What is done, by its name."""
    done = {
        "wheel": lambda: (wheel(page, 240, 150), wheel(page, 2400, 40), wheel(page, -240, 50)),
        "fling": lambda: (fling(page, cdp, 1), fling(page, cdp, 1), fling(page, cdp, -1)),
        "scroll bar": lambda: drag(page),
    }
    return done if is_floor else done | {"keys": lambda: keys(page), "typed dates": lambda: dates(page)}


def scrolled(page, cdp, found, is_floor=False):
    """The tasks and the gaps between frames of each gesture, and of what it leads to."""
    for name, gesture in gestures(page, cdp, is_floor).items():
        page.evaluate("measured.tasks.length = measured.gaps.length = 0")
        before = top(page)
        gesture()
        if is_floor:
            page.wait_for_timeout(500)
        else:
            settle(page)
        require(name in ("keys", "typed dates") or top(page) != before, f"{name}: nothing is scrolled")
        tasks, gaps = page.evaluate("[measured.tasks, measured.gaps]")
        require(len(gaps) > 10, f"{name}: there are no frames")
        one = found.setdefault(name, {"tasks": [], "gaps": []})
        one["tasks"] += tasks
        one["gaps"] += gaps


def summary(found):
    """Of all gestures, and the longest of each."""
    gaps = sorted(gap for each in found.values() for gap in each["gaps"])
    # Chromium tells of tasks of more than 50 ms.
    longest = {name: max(each["tasks"], default=0) for name, each in found.items()}
    return {"longest": max(longest.values()), "by": longest, "tasks": sum(len(each["tasks"]) for each in found.values()),
            "frames": len(gaps), "median": statistics.median(gaps), "p99": gaps[math.ceil(0.99 * len(gaps)) - 1], "max": gaps[-1]}


def in_processor_time(browser, page, cdp):
    """The longest task of each gesture by the time in which it ran, whatever else the machine did; in milliseconds."""
    longest = {}
    for name, gesture in gestures(page, cdp, False).items():
        browser.start_tracing(page=page, categories=["toplevel"])
        gesture()
        settle(page)
        events = json.loads(browser.stop_tracing())["traceEvents"]
        threads = {(each["pid"], each["tid"]) for each in events
                   if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"}
        times = [each["tdur"] / 1000 for each in events if "tdur" in each and (each["pid"], each["tid"]) in threads
                 and each["name"] == "ThreadControllerImpl::RunTask"]
        require(len(times) > 100, f"{name}: Chromium does not tell in what time tasks ran")
        longest[name] = max(times)
    return longest


def check_observer(page):
    """A long task is told, or the others mean nothing."""
    page.evaluate("measured.tasks.length = 0")
    page.evaluate(f"setTimeout(() => {{ for (const end = performance.now() + {BUSY}; performance.now() < end;); }}, 0)")
    page.wait_for_timeout(500)
    tasks = page.evaluate("measured.tasks")
    require(max(tasks, default=0) >= BUSY - 5, f"Chromium does not tell of long tasks: {tasks}")


def heap(cdp):
    """Bytes of scripts' objects that are in use."""
    cdp.send("HeapProfiler.enable")
    cdp.send("HeapProfiler.collectGarbage")
    cdp.send("HeapProfiler.disable")
    cdp.send("Performance.enable")
    return next(each["value"] for each in cdp.send("Performance.getMetrics")["metrics"] if each["name"] == "JSHeapUsedSize")


def main():
    runs, begun = GIVEN["runs"], time.monotonic()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=GIVEN["browser"], args=["--no-sandbox"], ignore_default_args=["--hide-scrollbars"])
        result = {"version": browser.version, "screens": {}}
        for name, place, content in (("the photos", "#photos", WALL), ("Now", "#now", NOW)):
            note(f"first screens of {name}, on a slow line")
            result["screens"][name] = [first_screen(browser, place, content) for _ in range(SCREENS * runs)]
        context = signed_in(browser)
        page, cdp = watched(context)
        page.goto(ADDRESS + "#photos")
        page.wait_for_selector(".wall li a[href]")
        settle(page)
        check_observer(page)
        heaps = {"at the start": heap(cdp)}
        shift = page.evaluate("measured.shift")
        floor, found = {}, {}
        bare = browser.new_context(viewport=VIEW).new_page()
        bare.add_init_script(WATCH)
        bare.goto("about:blank")
        bare.evaluate(WORK, FLOOR)
        bare_cdp = bare.context.new_cdp_session(bare)
        for run in range(runs):
            note(f"scrolling, run {run + 1} of {runs}")
            bare.bring_to_front()
            scrolled(bare, bare_cdp, floor, is_floor=True)
            page.bring_to_front()
            scrolled(page, cdp, found)
        heaps["after scrolling"] = heap(cdp)
        note("scrolling, traced")
        work = bare.evaluate("measured.work")
        bare.close()
        result["processor"] = in_processor_time(browser, page, cdp)
        result["reach"] = reach(page, GIVEN)
        heaps["at the end"] = heap(cdp)
        result |= {"heaps": heaps, "scrolled": summary(found), "floor": summary(floor) | {"work": work},
                   "shift": {"until all is there": shift, "with all scrolling": page.evaluate("measured.shift")}}
        browser.close()
    result |= {"faults": faults, "seconds": time.monotonic() - begun}
    json.dump(result, sys.stdout)


try:
    main()
except (Error, RuntimeError) as error:
    sys.exit(f"browsing: {error}")
