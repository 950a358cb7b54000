"""Sends photos from the pages in a real browser, as a person and as a guest do, and writes screenshots.

usage: drop.py ADDRESS GUEST DIRECTORY SECONDS

ADDRESS is what `photoinbox web` has printed: it signs in. GUEST is the address of a link for guests. DIRECTORY/photos has four photos
that the library does not have, and scan.jpg, which is none. SECONDS is how long anything may take. Prints each step, and ends
with status 1 at the first failure.
"""

import base64
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

ADDRESS, GUEST, DIRECTORY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
PATIENCE = int(sys.argv[4]) * 1000
BROWSER = "/usr/bin/chromium-headless-shell"
WIDTHS = {"narrow": (320, 700), "phone": (390, 844), "wide": (1280, 900), "huge": (2560, 1300)}
PHOTOS = sorted(path for path in (DIRECTORY / "photos").iterdir() if path.name != "scan.jpg")
SCAN = DIRECTORY / "photos" / "scan.jpg"
# What the library has, by names that were not sent.
COPIES = [DIRECTORY / f"COPY_{number}.jpg" for number in (1, 2)]

faults = []


def step(text):
    print(text, flush=True)


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def watch(page, place):
    """Notes what must not happen at any time; `place` is where all requests go."""
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"a script ran: {dialog.message}"))
    page.on("request", lambda request: request.url.startswith((place, "blob:")) or faults.append(f"asks {request.url}"))
    page.on("console", lambda line: line.type in ("error", "warning") and is_fault(line) and faults.append(f"console: {line.text}"))
    page.add_init_script("addEventListener('securitypolicyviolation', (event) => console.error('policy ' + event.violatedDirective))")


def is_fault(line):
    # Chromium reports each answer of 4xx: a small picture may not be made yet.
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


def choose(page, paths):
    page.locator("input[type=file]").first.set_input_files(paths)


def drag(page, path):
    """Drops a file on the page; a browser without a window has no other hand."""
    content = base64.b64encode(path.read_bytes()).decode()
    page.evaluate(
        """([name, content]) => {
          const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([bytes], name));
          const send = (kind) => document.body.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
          send("dragenter");
          if (!document.body.classList.contains("dragging") || send("dragover") || send("drop")) throw new Error("the browser opens it");
        }""",
        [path.name, content])


def person(page):
    page.goto(ADDRESS)
    page.get_by_role("link", name="Drop").click()
    expect(page.get_by_role("button", name="Choose files")).to_be_visible()
    shots(page, "drop-empty")
    choose(page, PHOTOS[:2])
    expect(page.get_by_role("heading", name="All 2 files are filed: safe to delete where they came from")).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text=PHOTOS[0].name)
    expect(row).to_contain_text("filed, safe to delete where it came from")
    expect(row).to_contain_text("→ ")
    step("two files are filed, and safe to delete")
    choose(page, [SCAN])
    expect(page.get_by_role("heading", name="Done, but 1 of 3 files needs you")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="scan.jpg")).to_contain_text("quarantined: ")
    shots(page, "drop")
    step("one that is no photo needs somebody")
    page.reload()
    expect(page.get_by_role("heading", name="Sent in the last seven days")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=PHOTOS[0].name)).to_contain_text("filed, safe to delete")
    sent = []
    page.on("request", lambda request: re.search(r"/up/\?", request.url) and sent.append(request.url))
    choose(page, PHOTOS[:2])
    expect(page.get_by_role("heading", name="All 2 files are filed: safe to delete where they came from")).to_be_visible()
    require(not sent, f"sent again: {sent}")
    page.reload()
    for copy, photo in zip(COPIES, PHOTOS):
        shutil.copyfile(photo, copy)
    choose(page, COPIES)
    expect(page.get_by_text("2 files filed before, not sent")).to_be_visible()
    require(not sent, f"sent again: {sent}")
    expect(page.get_by_role("heading", name="The library has 2 files by its records: keep yours")).to_be_visible()
    require("safe to delete" not in page.locator("[data-key=progress]").inner_text(), "records alone are called safe")
    step("what is filed is not sent again, and receipts outlive the page")
    page.get_by_role("button", name="Send 2 files to make sure").click()
    expect(page.get_by_role("heading", name="All 2 files are filed: safe to delete where they came from")).to_be_visible()
    require(len(sent) == 2, f"sent {sent}")
    step("sent to make sure, it is compared, and safe")
    page.get_by_role("link", name="Now").click()
    drag(page, PHOTOS[2])
    expect(page.get_by_role("heading", name="Drop", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="All 3 files are filed")).to_be_visible()
    require(len(sent) == 3, f"sent {sent}")
    step("a file is dropped on another page")
    adding(page)


def adding(page):
    """A folder that is listed slowly, after everything was filed."""
    page.evaluate("""() => {
      DataTransferItem.prototype.webkitGetAsEntry = () => ({
        name: "DCIM", isFile: false, createReader: () => ({ readEntries: (done) => { window.listed = () => done([]); } }),
      });
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["x"], "DCIM"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }""")
    expect(page.get_by_role("heading", name="Looking through what was added")).to_be_visible()
    require(page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))"), "the page may be left")
    page.evaluate("window.listed()")
    expect(page.get_by_text("There is no file in what was added.")).to_be_visible()
    expect(page.get_by_role("heading", name="All 3 files are filed")).to_be_visible()
    step("nothing is called safe while a folder is listed")


def guest(page):
    page.goto(GUEST)
    expect(page.get_by_role("heading", name="Send photos")).to_be_visible()
    expect(page.get_by_text("The link works until")).to_be_visible()
    require(PHOTOS[0].name not in page.content(), "a guest sees the files of others")
    choose(page, [PHOTOS[3]])
    expect(page.get_by_role("heading", name="Filed: safe to delete where it came from")).to_be_visible()
    shots(page, "guest")
    page.reload()
    expect(page.get_by_role("listitem").filter(has_text=PHOTOS[3].name)).to_contain_text("filed, safe to delete")
    # What the library has is nobody's business but its people's.
    choose(page, [PHOTOS[0]])
    row = page.get_by_role("listitem").filter(has_text=PHOTOS[0].name)
    expect(row).to_contain_text("safe to delete where it came from")
    expect(row).not_to_contain_text("before")
    step("a guest sends, and sees own files alone")
    # Of the first answer, nothing comes; the guest hears of the file all the same.
    lost = []

    def lose(route):
        if re.search(r"/up/\?", route.request.url) and not lost:
            lost.append(route.fetch().status)
            return route.abort()
        route.continue_()

    page.route("**/up/**", lose)
    choose(page, [SCAN])
    row = page.locator("[data-key=files] li").filter(has_text="scan.jpg")
    expect(row).to_contain_text("set aside: ")
    expect(page.get_by_role("heading", name="Done, but 1 of 2 files is set aside: keep it")).to_be_visible()
    require(lost == [200], f"{lost}")
    step("a guest hears of a file whose answer was lost")


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        expect.set_options(timeout=PATIENCE)
        for part, place in ((person, f"http://{urlsplit(ADDRESS).netloc}/"), (guest, GUEST)):
            # Where the daemon's times are not those of the browser.
            page = browser.new_context(timezone_id="Asia/Kathmandu", locale="en-GB").new_page()
            page.set_default_timeout(PATIENCE)
            watch(page, place)
            try:
                part(page)
            except BaseException:
                page.screenshot(path=DIRECTORY / "failure.png")
                print(f"faults until then: {faults}\n{page.locator('main').inner_text()}")
                raise
        browser.close()
    require(not faults, f"{faults}")
    step("no error, no warning, no other place")


main()
