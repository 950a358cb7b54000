"""Drives the pages in a real browser, as a person does, and writes screenshots.

usage: pages.py ADDRESS QUARANTINE DIRECTORY SECONDS

ADDRESS is what `photoinbox web` has printed: it signs in. There must be three filed photos with small pictures, two of which
look alike, one quarantined file, scan_12.jpg, below QUARANTINE, and one that is deferred, with markup in its name. SECONDS is how long anything
may take. Prints each step, and ends with status 1 at the first failure.
"""

import sys
from pathlib import Path

from chromium import Driver, origin, require, step
from playwright.sync_api import expect

ADDRESS, QUARANTINE, DIRECTORY = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
driver = Driver(DIRECTORY, int(sys.argv[4]))
axe, shots, until = driver.axe, driver.shots, driver.until
MARKUP = "<img src=x onerror=alert(1)>.jpg"


def now(page):
    page.goto(ADDRESS)
    expect(page.get_by_role("heading", name="Last outcomes")).to_be_visible()
    require("link" not in page.url, "the link stays in the address")
    picture = page.locator("img.picture").first
    expect(picture).to_be_visible()
    # Not by playwright's wait_for_function, which makes code of text in the page: the policy forbids that.
    until(page, "() => document.querySelector('img.picture')?.naturalWidth > 0", "a small picture")
    expect(page.get_by_role("link", name="Needs you 1")).to_be_visible()
    expect(page.get_by_text(MARKUP, exact=False).first).to_be_visible()
    step("Now has a picture, and names are text")
    shots(page, "now")
    page.get_by_role("button", name="Pause card").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume card")).to_be_focused()
    expect(page.get_by_text("paused by", exact=False).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause card")).to_be_focused()
    step("pausing and resuming by the keyboard keeps the focus")
    page.get_by_role("button", name="Take back: ").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("From")).to_be_visible()
    axe(page, "the dialog")
    page.screenshot(path=DIRECTORY / "dialog-light-wide.png")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    step("a dialog shows what would be done")


def decisions(page):
    page.get_by_role("link", name="Needs you", exact=False).click()
    expect(page.get_by_role("heading", name="Quarantined (1)")).to_be_visible()
    expect(page.get_by_role("heading", name="Deferred (1)")).to_be_visible()
    expect(page.get_by_role("heading", name="Similar photos (1)")).to_be_visible()
    until(page, "() => [...document.querySelectorAll('.alike img')].filter((each) => each.naturalWidth > 0).length === 2", "two pictures")
    expect(page.get_by_text("filed first")).to_be_visible()
    expect(page.get_by_text("the same in all bits")).to_be_visible()
    shots(page, "needs-you")
    page.get_by_role("button", name="Try now: ").click()
    expect(page.get_by_role("status")).to_contain_text("Trying 1 file")
    downloading(page)
    discard = page.get_by_role("button", name="Discard: ")
    discard.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(discard).to_be_focused()
    discard.click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", name="Quarantined (0)")).to_be_visible()
    step("discarded, after it was shown")
    page.locator(".alike").get_by_role("button", name="Take back: ").last.click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(page.get_by_role("heading", name="Similar photos (0)")).to_be_visible()
    step("one of two that look alike was taken back")


def downloading(page):
    """A quarantined file that is there, and that is not, before the page knows."""
    link = page.get_by_role("link", name="Download: ")
    with page.expect_download() as download:
        link.click()
    require(download.value.suggested_filename == "scan_12.jpg", f"it has another name: {download.value.suggested_filename}")
    file = next(QUARANTINE.rglob("scan_12.jpg"))
    aside = DIRECTORY / "aside"
    page.route("**/decisions", lambda route: route.abort())
    file.rename(aside)
    link.click()
    dialog = page.get_by_role("dialog", name="Download")
    expect(dialog.get_by_role("alert")).to_have_text("This file is not in quarantine any more.")
    axe(page, "why there is no download")
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    aside.rename(file)
    page.unroute("**/decisions")
    step("a download that is refused says why")


def sign_out(page):
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    shots(page, "sign-in")
    page.get_by_label("Name").fill("nobody")
    page.get_by_label("Password").fill("wrong password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    step("a wrong password is refused")


driver.run([(origin(ADDRESS), (now, decisions, sign_out))])
