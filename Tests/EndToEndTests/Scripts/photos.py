"""Looks through all photos in a real browser, as a person does, with one that is filed meanwhile, and writes screenshots.

usage: photos.py ADDRESS INBOX DIRECTORY SECONDS

ADDRESS is what `photoinbox web` has printed: it signs in. There must be more than 20 filed photos of 31 January 2024, one of them a set
with a RAW, taken by a Canon, the newest ones; 12 of 4 July 2021; small pictures of all of these; and one photo, rocket.jpg, with a
tilt-shift; and of 2019 two that were taken close to each other in Kiel and one in Sydney. DIRECTORY/late.jpg and later.jpg are
photos of 2 February 2024, and place.jpg is one more of 2019 in Kiel, which are put into INBOX while the page is open. SECONDS is how
long anything may take. Prints each step, and ends with status 1 at the first failure.
"""

import os
import re
import shutil
import sys
import time
from pathlib import Path

from chromium import Driver, origin, require, step, watch
from playwright.sync_api import expect

ADDRESS, INBOX, DIRECTORY = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
driver = Driver(DIRECTORY, int(sys.argv[4]))
axe, until = driver.axe, driver.until
FOCUS = "document.activeElement.getAttribute('href')"
# Whether the squares are those of the width of now.
LAID_OUT = """() => {
  const content = document.querySelector('.content');
  const width = content.clientWidth;
  const columns = Math.floor(width / Math.min(220, Math.max(96, width / 8)));
  return content.style.getPropertyValue('--cell') === `${Math.floor(width / columns)}px`;
}"""
FIRST = "() => document.querySelector('.wall li[aria-posinset=\"1\"] a[href]')?.getAttribute('href')"


def settle(page):
    until(page, LAID_OUT, "the squares of this width")
    # What was not in view may be read only now.
    until(page, "() => !document.querySelector('.wall li[aria-hidden]')", "all in view is read")


def shots(page, name):
    driver.shots(page, name, settle)


def focus(page):
    return page.evaluate(FOCUS)


def stop(page):
    """The photo that Tab leads to: there is one."""
    until(page, "() => document.querySelectorAll('.wall a[tabindex=\"0\"]').length === 1", "one photo is reached by Tab")
    return page.locator(".wall a[tabindex='0']")


def wall(page):
    page.add_init_script("""
      window.tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => Math.round(each.duration)))).observe({ entryTypes: ['longtask'] });
    """)
    page.goto(ADDRESS)
    page.get_by_role("link", name="Photos", exact=True).click()
    expect(page.get_by_role("heading", name="31 January 2024")).to_be_visible()
    until(page, "() => [...document.querySelectorAll('.wall img')].filter((each) => each.naturalWidth > 0).length > 20", "pictures")
    expect(page.get_by_role("link", name=re.compile(r"^Photo, 31 January 2024, 12:34:56"))).not_to_have_count(0)
    expect(page.get_by_role("link", name=re.compile("with RAW"))).to_have_count(1)
    step("the wall has the day, its photos, their names and pictures")
    shots(page, "photos")
    page.set_viewport_size({"width": 320, "height": 700})
    settle(page)
    # The longest of days.
    cut = page.evaluate("""() => {
      const [heading] = document.querySelectorAll('.day h2');
      const [time, count] = [heading.querySelector('time'), heading.querySelector('.faint')];
      const text = time.textContent;
      time.textContent = 'Wednesday, September 30, 2026';
      const cut = count.getBoundingClientRect().right - heading.getBoundingClientRect().right;
      time.textContent = text;
      return cut;
    }""")
    require(cut <= 0, f"the number of photos of a day is cut by {cut} pixels")
    page.set_viewport_size({"width": 1280, "height": 900})
    settle(page)
    step("the number of photos of a day is seen on a narrow screen")


def dense(page):
    """Pictures that are seen first come together, and larger to a screen with two pixels for each of the page's."""
    for factor, is_right in ((1, lambda largest: largest <= 320), (2, lambda largest: largest > 320)):
        context = page.context.browser.new_context(
            device_scale_factor=factor, viewport={"width": 1280, "height": 900}, storage_state=page.context.storage_state())
        other = context.new_page()
        watch(other, origin(ADDRESS))
        other.goto(f"{origin(ADDRESS)}#photos")
        until(other, "() => document.querySelectorAll('.wall img').length > 20 && !document.querySelector('.wall li.waiting')", "all pictures")
        largest = other.evaluate("Math.max(...[...document.querySelectorAll('.wall img')].map((each) => each.naturalWidth))")
        require(is_right(largest), f"a picture has {largest} pixels, with {factor} for each of the page's")
        asked = other.evaluate("performance.getEntriesByType('resource').map((each) => each.name).filter((each) => /t[?]of=/.test(each))")
        require(asked and all(("rendition=thumbnail" in each) == (factor == 2) for each in asked), f"asked for: {asked}")
        context.close()
    step("the first pictures come together, and larger to a dense screen")


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
    held, is_held = [], True
    page.evaluate(f"location.hash = '{first}'")
    page.route("**/tiles?*", lambda route: held.append(route) if is_held else route.continue_())
    page.reload()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("link", name="Download", exact=True)).to_be_visible()
    until(page, lambda: held, "a question")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    require(page.url.endswith(first), "it does not wait")
    is_held = False
    for route in held:
        route.continue_()
    until(page, f"() => location.hash === '{third}'", "two photos further")
    page.unroute("**/tiles?*")
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
    end = time.monotonic() + driver.patience
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


def put(name):
    """Puts one of the photos of DIRECTORY into the inbox."""
    hidden = INBOX / f".{name}"
    shutil.copyfile(DIRECTORY / name, hidden)
    os.rename(hidden, INBOX / name)


def following(page):
    """A search, while a photo that matches is filed and taken back."""
    page.evaluate("location.hash = 'photos?from=2024-01'")
    remark = page.locator(".remark")
    expect(remark).to_have_text(re.compile(r"^\d+ photos match\."))
    before = int(remark.inner_text().split()[0])
    first = until(page, FIRST, "the first photo")
    put("later.jpg")
    expect(remark).to_contain_text(f"{before + 1} photos match.")
    fresh = until(page, f"() => {{ const found = ({FIRST})(); return found !== '{first}' && found; }}", "the new photo")
    page.locator(f".wall a[href='{fresh}']").click()
    dialog = page.locator("dialog.viewer")
    dialog.get_by_role("button", name="Take back…").click()
    page.get_by_role("dialog", name="Take back later.jpg?").get_by_role("button", name="Take back", exact=True).click()
    until(page, f"() => location.hash === '{first}'", "the photo beside it")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(remark).to_contain_text(f"{before} photos match.")
    expect(page.locator(f".wall a[href='{fresh}']")).to_have_count(0)
    page.get_by_role("link", name="All photos").click()
    # The wall of the search stands until then.
    expect(remark).to_be_empty()
    stop(page)
    step("a search has what is filed meanwhile, and not what is taken back")


def jump(page):
    field = page.get_by_label("Go to")
    field.fill("2021-07")
    field.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Sunday, 4 July 2021, 12 photos")
    expect(page.get_by_role("heading", name="4 July 2021")).to_be_visible()
    field.fill("July")
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("A date is like")
    # Later than all photos, and earlier.
    for year in ("2030", "1850"):
        field.fill(year)
        field.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("No photo then")
        field.fill("2021-07")
        field.press("Enter")
        expect(page.get_by_role("status")).to_have_text("Sunday, 4 July 2021, 12 photos")
    step("a date leads to its day")


def all_places(page, map_):
    """The button does what it says also while the map still follows a change of its size, which reads the view of then."""
    for _ in range(6):
        page.get_by_role("button", name="Closer").click()
    expect(map_.get_by_role("button")).not_to_have_count(2)
    held, earth = [], re.compile(r"/places\?bbox=-180,-90,180,90&")
    page.route(earth, lambda route: held.append(route))  # pylint: disable=unnecessary-lambda
    page.set_viewport_size({"width": 1200, "height": 900})
    page.get_by_role("button", name="All places").click()
    while not held:
        page.wait_for_timeout(10)
    # Leaflet reports a new size 200 ms after the frame that follows it.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 250))))")
    for route in held:
        route.continue_()
    page.unroute(earth)
    expect(map_.get_by_role("button")).to_have_count(2)
    page.set_viewport_size({"width": 1280, "height": 900})


def world(page):
    """The map; what is filed is read for positions a little later."""
    page.get_by_role("link", name="Map", exact=True).click()
    end = time.monotonic() + driver.patience
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
    driver.shots(page, "map", lambda _: None)
    # On the widest screen the world was smaller than the map, and in its middle.
    all_places(page, map_)
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
    page.evaluate("location.hash = 'map'")
    expect(page.get_by_text("3 photos with a position in this view.")).to_be_visible()
    put("place.jpg")
    expect(page.get_by_text("4 photos with a position in this view.")).to_be_visible()
    expect(map_.get_by_role("button", name=re.compile("3 photos"))).to_have_count(1)
    page.evaluate("location.hash = 'photos'")
    stop(page)
    step("the map has its places, which lead to their photos, and what is filed meanwhile")


def filing(page):
    first = until(page, FIRST, "the first photo")
    field = page.get_by_label("Search words")
    field.fill("half a w")
    field.focus()
    put("late.jpg")
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


def tasks(page):
    step(f"long tasks since the last load: {page.evaluate('tasks')} ms")


driver.run([(origin(ADDRESS), (wall, dense, keys, hurry, photo, gone, search, following, jump, world, filing, tasks))], reduced_motion="reduce")
