"""Looks through all photos in a real browser, as a person does, with one that is filed meanwhile, and writes screenshots.

usage: photos.py ADDRESS INBOX DIRECTORY SECONDS

ADDRESS is what `photoinbox web` has printed: it signs in. There must be more than 20 filed photos of 31 January 2024, one of them a set
with a RAW, taken by a Canon, the newest ones; 12 of 4 July 2021; small pictures of all of these; and one photo, rocket.jpg, with a
tilt-shift; and of 2019 two that were taken close to each other in Kiel and one in Sydney. DIRECTORY/late.jpg is a photo of 2 February
2024 that is put into INBOX while the page is open. SECONDS is how long anything
may take. Prints each step, and ends with status 1 at the first failure.
"""

import os
import re
import shutil
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

ADDRESS, INBOX, DIRECTORY = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
PATIENCE = int(sys.argv[4]) * 1000
BROWSER = "/usr/bin/chromium-headless-shell"
WIDTHS = {"narrow": (320, 700), "phone": (390, 844), "wide": (1280, 900), "huge": (2560, 1300)}
FOCUS = "document.activeElement.getAttribute('href')"
# Whether the squares are those of the width of now.
LAID_OUT = """() => {
  const content = document.querySelector('.content');
  const width = content.clientWidth;
  const columns = Math.floor(width / Math.min(220, Math.max(96, width / 8)));
  return content.style.getPropertyValue('--cell') === `${Math.floor(width / columns)}px`;
}"""
FIRST = "() => document.querySelector('.wall li[aria-posinset=\"1\"] a[href]')?.getAttribute('href')"

faults = []


def step(text):
    print(text, flush=True)


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def watch(page):
    """Notes what must not happen at any time."""
    own = urlsplit(ADDRESS).netloc
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"a script ran: {dialog.message}"))
    page.on("request", lambda request: urlsplit(request.url).netloc != own and faults.append(f"asks {request.url}"))
    page.on("console", lambda line: line.type in ("error", "warning") and is_fault(line) and faults.append(f"console: {line.text}"))
    page.add_init_script("""
      addEventListener('securitypolicyviolation', (event) => console.error('policy ' + event.violatedDirective));
      window.tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => Math.round(each.duration)))).observe({ entryTypes: ['longtask'] });
    """)


def is_fault(line):
    # Chromium reports each answer of 4xx: a film may have no picture, and a mistake in a search is refused.
    return "Failed to load resource" not in line.text


def until(page, function, what):
    """Waits until a function of the page is true, and gives what it returns."""
    end = time.monotonic() + PATIENCE / 1000
    while not (value := page.evaluate(function)):
        require(time.monotonic() < end, f"{what}: not in time")
        page.wait_for_timeout(50)
    return value


def axe(page, name):
    results = Axe().run(page)
    found = [f"{each['id']}: {each['help']} {[node['target'] for node in each['nodes']]}" for each in results.response["violations"]]
    require(not found, f"{name}: {found}")
    step(f"axe: no violation on {name}")


def shots(page, name):
    """The page in both themes and all widths, with axe in each of them."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width, size in WIDTHS.items():
            page.set_viewport_size({"width": size[0], "height": size[1]})
            until(page, LAID_OUT, "the squares of this width")
            # What was not in view may be read only now.
            until(page, "() => !document.querySelector('.wall li[aria-hidden]')", "all in view is read")
            axe(page, f"{name}, {theme}, {width}")
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            require(wide <= size[0], f"{name} is {wide} pixels wide on {size[0]}")
            page.screenshot(path=DIRECTORY / f"{name}-{theme}-{width}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    until(page, LAID_OUT, "the squares of this width")


def focus(page):
    return page.evaluate(FOCUS)


def stop(page):
    """The photo that Tab leads to: there is one."""
    until(page, "() => document.querySelectorAll('.wall a[tabindex=\"0\"]').length === 1", "one photo is reached by Tab")
    return page.locator(".wall a[tabindex='0']")


def wall(page):
    page.goto(ADDRESS)
    page.get_by_role("link", name="Photos", exact=True).click()
    expect(page.get_by_role("heading", name="31 January 2024")).to_be_visible()
    until(page, "() => [...document.querySelectorAll('.wall img')].filter((each) => each.naturalWidth > 0).length > 20", "pictures")
    expect(page.get_by_role("link", name=re.compile(r"^Photo, 31 January 2024, 12:34:56"))).not_to_have_count(0)
    expect(page.get_by_role("link", name=re.compile("with RAW"))).to_have_count(1)
    step("the wall has the day, its photos, their names and pictures")
    shots(page, "photos")


def keys(page):
    stop(page).focus()
    first = focus(page)
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        require(focus(page), f"{key} loses the focus")
    require(focus(page) == first, "the arrows do not lead around")
    page.keyboard.press("End")
    until(page, f"() => {FOCUS} !== '{first}'", "End leads to another photo")
    require(not page.evaluate("document.activeElement.closest('.day').nextElementSibling"), "End does not lead to the last day")
    page.keyboard.press("Home")
    until(page, f"() => {FOCUS} === '{first}'", "Home leads to the first photo")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    require(page.url.endswith(first), "the address is not that of the photo")
    expect(dialog.get_by_role("link", name="Download", exact=True)).to_be_visible()
    page.keyboard.press("ArrowRight")
    until(page, f"() => location.hash !== '{first}'", "the next photo")
    second = page.evaluate("location.hash")
    page.keyboard.press("ArrowLeft")
    until(page, f"() => location.hash === '{first}'", "the photo before")
    page.keyboard.press("ArrowRight")
    until(page, f"() => location.hash === '{second}'", "the next photo again")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    until(page, f"() => {FOCUS} === '{second}'", "the focus at the photo that was seen last")
    require(page.url.endswith("#photos"), "the address is not that of the wall")
    page.go_forward()
    expect(dialog).to_be_visible()
    page.reload()
    expect(dialog.get_by_role("link", name="Download", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    until(page, f"() => {FOCUS} === '{second}'", "the focus after a reload")
    step("all by keys: across days, into a photo, to the next, and back")


def hurry(page):
    """Keys that are pressed while the first answer is waited for."""
    first, _, third = until(page, "() => { const found = [1, 2, 3].map((each) => "
                            "document.querySelector(`.wall li[aria-posinset=\"${each}\"] a[href]`)?.getAttribute('href')); "
                            "return found.every(Boolean) && found; }", "three photos")
    held = []
    page.evaluate(f"location.hash = '{first}'")
    page.route("**/tiles?*", lambda route: held.append(route))
    page.reload()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("link", name="Download", exact=True)).to_be_visible()
    end = time.monotonic() + PATIENCE / 1000
    while not held:
        require(time.monotonic() < end, "nothing is asked for")
        page.wait_for_timeout(50)
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    require(page.url.endswith(first), "it does not wait")
    page.unroute("**/tiles?*")
    for route in held:
        route.continue_()
    until(page, f"() => location.hash === '{third}'", "two photos further")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    step("a key that is pressed twice moves two photos, whenever the answer comes")


def photo(page):
    find(page, "rocket")
    page.locator(".wall a[href]").first.click()
    dialog = page.get_by_role("dialog")
    until(page, "() => document.querySelector('.stage .large')?.naturalWidth > 0", "a preview")
    expect(dialog.get_by_text("SHA-256")).to_be_visible()
    require(page.evaluate("() => { const link = document.querySelector('nav a'); link.focus(); return document.activeElement !== link; }"),
            "what is behind the photo can be reached")
    shots(page, "photo")
    dialog.get_by_role("button", name="Tilt-shift").click()
    until(page, "() => document.querySelector('.stage .over')?.naturalWidth > 0", "the tilt-shift")
    dialog.get_by_role("slider").focus()
    page.keyboard.press("End")
    require("100%" in page.evaluate("document.querySelector('.stage .over').style.clipPath"), "the two cannot be compared")
    axe(page, "a photo and its tilt-shift")
    answer = page.evaluate("async () => { const answer = await fetch(document.querySelector('.about a[download]').href); "
                           "return [answer.status, answer.headers.get('content-disposition'), (await answer.blob()).size]; }")
    require(answer[0] == 200 and "rocket.jpg" in answer[1] and answer[2] > 1000, f"the original: {answer}")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    step("a photo has its picture, a tilt-shift beside it, and its original")


def find(page, words):
    """Searches until something is found: texts are read after photos are filed."""
    field = page.get_by_label("Search words")
    end = time.monotonic() + PATIENCE / 1000
    while True:
        field.fill(words)
        field.press("Enter")
        until(page, "() => /match|Nothing/.test(document.querySelector('.note').innerText + document.querySelector('.remark').innerText)", "an answer")
        if page.locator(".wall a[href]").count() > 0:
            return
        require(time.monotonic() < end, f"{words}: nothing is found")
        page.wait_for_timeout(200)


def gone(page):
    """A photo that is no longer there, by its address: nothing is beside it."""
    page.evaluate("location.hash = 'photo=4294967290-00000000?words=rocket'")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("This photo is no longer there")
    expect(dialog.locator(".about").get_by_role("button")).to_have_text(["Back to all photos"])
    expect(dialog.locator(".steps [aria-disabled=true]")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    until(page, "() => document.activeElement.matches('.wall a[tabindex=\"0\"]')", "the focus on the wall")
    step("a photo that is gone leads back to the wall")


def search(page):
    page.get_by_role("link", name="All photos").click()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Camera").fill("canon")
    axe(page, "the fields of a search")
    page.get_by_label("Camera").press("Enter")
    expect(page.locator(".remark")).to_have_text(re.compile(r"^\d+ photos match\."))
    require("camera=canon" in page.url, "the search is not in the address")
    shots(page, "found")
    page.get_by_label("Search words").fill("zebra")
    page.get_by_label("Search words").press("Enter")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    axe(page, "a search without a result")
    page.go_back()
    expect(page.locator(".remark")).to_have_text(re.compile(r"^\d+ photos match\."))
    require(page.get_by_label("Search words").input_value() == "", "Back leaves the words of another search")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Near").fill("here")
    page.get_by_label("Near").press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    axe(page, "a mistake in a search")
    page.get_by_role("link", name="All photos").click()
    stop(page)
    step("photos are found by words and fields, and what cannot be is said")


def jump(page):
    field = page.get_by_label("Go to")
    field.fill("2021-07")
    field.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Sunday, 4 July 2021, 12 photos")
    expect(page.get_by_role("heading", name="4 July 2021")).to_be_visible()
    field.fill("July")
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("A date is like")
    field.fill("2030")
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("No photo then")
    step("a date leads to its day")


def world(page):
    """The map; what is filed is read for positions a little later."""
    page.get_by_role("link", name="Map", exact=True).click()
    end = time.monotonic() + PATIENCE / 1000
    while page.get_by_text("3 photos with a position in this view.").count() == 0:
        require(time.monotonic() < end, "no positions")
        page.evaluate("location.hash = 'photos'")
        expect(page.get_by_role("searchbox").or_(page.get_by_label("Search words"))).to_be_visible()
        page.evaluate("location.hash = 'map'")
        page.wait_for_timeout(300)
    map_ = page.get_by_role("group", name="Map")
    expect(map_.get_by_role("button")).to_have_count(2)
    until(page, "() => [...document.querySelectorAll('.map img')].filter((each) => each.naturalWidth > 0).length === 2", "pictures")
    require(page.locator(".map .land").evaluate("(land) => land.getBoundingClientRect().width") > 100, "no outline")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width, size in WIDTHS.items():
            page.set_viewport_size({"width": size[0], "height": size[1]})
            axe(page, f"the map, {theme}, {width}")
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            require(wide <= size[0], f"the map is {wide} pixels wide on {size[0]}")
            page.screenshot(path=DIRECTORY / f"map-{theme}-{width}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    # On the widest screen the world was smaller than the map, and in its middle.
    page.get_by_role("button", name="All places").click()
    expect(map_.get_by_role("button")).to_have_count(2)
    map_.get_by_role("button", name=re.compile("2 photos")).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".remark")).to_contain_text("2 photos match.")
    require("bbox=" in page.url, "the place is not in the address")
    page.go_back()
    expect(map_.get_by_role("button")).to_have_count(2)
    map_.get_by_role("button", name=re.compile("1 photo")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("link", name="Download", exact=True)).to_be_visible()
    require("photo=" in page.url, "the photo of the map is not opened")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.evaluate("location.hash = 'photos'")
    stop(page)
    step("the map has its places, which lead to their photos")


def filing(page):
    first = until(page, FIRST, "the first photo")
    field = page.get_by_label("Search words")
    field.fill("half a w")
    field.focus()
    hidden = INBOX / ".late.jpg"
    shutil.copyfile(DIRECTORY / "late.jpg", hidden)
    os.rename(hidden, INBOX / "late.jpg")
    fresh = until(page, f"() => {{ const found = ({FIRST})(); return found !== '{first}' && found; }}", "the new photo")
    page.keyboard.type("ord")
    require(field.input_value() == "half a word", "what is typed is lost")
    require(page.locator(f".wall a[href='{first}']").count() == 1, "the photo before is gone")
    until(page, f"() => document.querySelector(\".wall a[href='{fresh}'] img\").naturalWidth > 0", "its picture")
    page.locator(f".wall a[href='{first}']").click()
    require(page.url.endswith(first), "another photo is opened")
    page.keyboard.press("Escape")
    until(page, f"() => {FOCUS} === '{first}'", "the focus at it")
    step("a photo that is filed meanwhile is there, and nothing else changes")


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        # Where the daemon's times are not those of the browser.
        page = browser.new_context(timezone_id="Asia/Kathmandu", locale="en-GB", reduced_motion="reduce").new_page()
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        watch(page)
        try:
            for part in (wall, keys, hurry, photo, gone, search, jump, world, filing):
                part(page)
        except BaseException:
            page.screenshot(path=DIRECTORY / "failure.png")
            print(f"faults until then: {faults}")
            raise
        tasks = page.evaluate("tasks")
        browser.close()
    require(not faults, f"{faults}")
    step(f"no error, no warning, no other host; long tasks since the last load: {tasks} ms")


main()
