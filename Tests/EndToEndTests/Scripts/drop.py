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

from chromium import Driver, origin, require, step
from playwright.sync_api import expect

ADDRESS, GUEST, DIRECTORY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
driver = Driver(DIRECTORY, int(sys.argv[4]))
shots = driver.shots
PHOTOS = sorted(path for path in (DIRECTORY / "photos").iterdir() if path.name != "scan.jpg")
SCAN = DIRECTORY / "photos" / "scan.jpg"
# What the library has, by names that were not sent.
COPIES = [DIRECTORY / f"COPY_{number}.jpg" for number in (1, 2)]


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


driver.run([((place, "blob:"), [part]) for place, part in ((origin(ADDRESS), person), (GUEST, guest))])
