"""Sends photos from the pages in Firefox, as a person and as a guest do.

usage: drop_firefox.py ADDRESS GUEST DIRECTORY SECONDS

As drop.py, which judges the pages more closely in Chromium. DIRECTORY gets Firefox's profile, and a screenshot of each page.
"""

import sys
from pathlib import Path

from firefox import run, step
from marionette_driver import By

ADDRESS, GUEST, DIRECTORY = sys.argv[1], sys.argv[2], Path(sys.argv[3])
PHOTOS = sorted(path for path in (DIRECTORY / "photos").iterdir() if path.name != "scan.jpg")


def choose(browser, paths):
    browser.until("document.querySelector('input[type=file]')", "an input for files")
    browser.client.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys("\n".join(map(str, paths)))


def drive(browser):
    client = browser.client
    client.navigate(ADDRESS)
    browser.until("document.querySelector(\"a[href='#drop']\")", "a link to Drop")
    client.find_element(By.CSS_SELECTOR, "a[href='#drop']").click()
    choose(browser, PHOTOS[:2])
    browser.heading("All 2 files are filed: safe to delete where they came from")
    browser.shot("drop")
    step("two files are filed, and safe to delete")
    client.refresh()
    browser.heading("Sent in the last seven days")
    choose(browser, PHOTOS[:2])
    browser.heading("All 2 files are filed: safe to delete where they came from")
    browser.own_requests_only()
    step("what is filed is not sent again")
    client.navigate(GUEST)
    browser.heading("Send photos")
    choose(browser, PHOTOS[3:4])
    browser.heading("Filed: safe to delete where it came from")
    browser.shot("guest")
    browser.own_requests_only()
    step("a guest sends")


run(drive, ADDRESS, DIRECTORY, int(sys.argv[4]))
