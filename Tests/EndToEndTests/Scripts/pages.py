"""Drives the pages in a real browser, as a person does, and writes screenshots.

usage: pages.py ADDRESS DIRECTORY SECONDS

ADDRESS is what `photoinbox web` has printed: it signs in. There must be three filed photos with small pictures, two of which
look alike, one quarantined file, and one that is deferred, with markup in its name. SECONDS is how long anything may take. Prints each step, and ends with status 1 at the first failure.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

ADDRESS, DIRECTORY = sys.argv[1], Path(sys.argv[2])
PATIENCE = int(sys.argv[3]) * 1000
BROWSER = "/usr/bin/chromium-headless-shell"
WIDTHS = {"narrow": (320, 700), "phone": (390, 844), "wide": (1280, 900), "huge": (2560, 1300)}
MARKUP = "<img src=x onerror=alert(1)>.jpg"

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
    page.add_init_script("addEventListener('securitypolicyviolation', (event) => console.error('policy ' + event.violatedDirective))")


def is_fault(line):
    # Chromium reports each answer of 4xx: 401 asks to sign in, and a quarantined file may be no picture.
    return "Failed to load resource" not in line.text


def axe(page, name):
    results = Axe().run(page)
    found = [f"{each['id']}: {each['help']} {[node['target'] for node in each['nodes']]}" for each in results.response["violations"]]
    require(not found, f"{name}: {found}")
    step(f"axe: no violation on {name}")


def shots(page, name):
    """The page in both themes and all widths, with axe in each theme."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        axe(page, f"{name}, {theme}")
        for width, size in WIDTHS.items():
            page.set_viewport_size({"width": size[0], "height": size[1]})
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            require(wide <= size[0], f"{name} is {wide} pixels wide on {size[0]}")
            page.screenshot(path=DIRECTORY / f"{name}-{theme}-{width}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def now(page):
    page.goto(ADDRESS)
    expect(page.get_by_role("heading", name="Last outcomes")).to_be_visible()
    require("link" not in page.url, "the link stays in the address")
    picture = page.locator("img.picture").first
    expect(picture).to_be_visible()
    page.wait_for_function("document.querySelector('img.picture')?.naturalWidth > 0")
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
    page.wait_for_function("[...document.querySelectorAll('.alike img')].filter((each) => each.naturalWidth > 0).length === 2")
    expect(page.get_by_text("filed first")).to_be_visible()
    expect(page.get_by_text("the same in all bits")).to_be_visible()
    shots(page, "needs-you")
    page.get_by_role("button", name="Try now: ").click()
    expect(page.get_by_role("status")).to_contain_text("Trying 1 file")
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


def sign_out(page):
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    shots(page, "sign-in")
    page.get_by_label("Name").fill("nobody")
    page.get_by_label("Password").fill("wrong password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("the name or the password is wrong")
    step("a wrong password is refused")


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        # Where the daemon's times are not those of the browser.
        page = browser.new_context(timezone_id="Asia/Kathmandu", locale="en-GB").new_page()
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        watch(page)
        try:
            for part in (now, decisions, sign_out):
                part(page)
        except BaseException:
            page.screenshot(path=DIRECTORY / "failure.png")
            print(f"faults until then: {faults}")
            raise
        browser.close()
    require(not faults, f"{faults}")
    step("no error, no warning, no other host")


main()
