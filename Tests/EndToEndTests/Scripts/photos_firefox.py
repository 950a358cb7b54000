"""Looks through all photos in Firefox, as a person does, with one that is filed meanwhile.

usage: photos_firefox.py ADDRESS INBOX DIRECTORY SECONDS

As photos.py, which judges the pages more closely in Chromium. DIRECTORY gets Firefox's profile, and a screenshot of each page.
"""

import os
import shutil
import sys
from pathlib import Path

from firefox import run, step
from marionette_driver import By, Keys

ADDRESS, INBOX, DIRECTORY = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
FIRST = "document.querySelector('.wall li[aria-posinset=\"1\"] a[href]')?.getAttribute('href')"


def press(browser, key):
    browser.client.execute_script("return document.activeElement").send_keys(key)


def fill(browser, name, text):
    field = browser.client.find_element(By.CSS_SELECTOR, f"input[name={name}]")
    field.clear()
    field.send_keys(text + Keys.ENTER)


def value(browser, script):
    return browser.client.execute_script(f"return {script}")


def drive(browser):
    client = browser.client
    client.navigate(ADDRESS)
    browser.until("document.querySelector(\"a[href='#photos']\")", "a link to the photos")
    client.find_element(By.CSS_SELECTOR, "a[href='#photos']").click()
    browser.until("[...document.querySelectorAll('.wall img')].filter((each) => each.naturalWidth > 0).length > 20", "pictures")
    browser.shot("photos")
    step("the wall has its photos")
    browser.until("document.querySelector('.wall a[tabindex=\"0\"]')", "a photo that Tab leads to")
    client.execute_script("document.querySelector('.wall a[tabindex=\"0\"]').focus()")
    first = value(browser, "document.activeElement.getAttribute('href')")
    press(browser, Keys.END)
    browser.until(f"document.activeElement.getAttribute('href') !== {first!r}", "another photo by End")
    press(browser, Keys.HOME)
    browser.until(f"document.activeElement.getAttribute('href') === {first!r}", "the first photo by Home")
    press(browser, Keys.ENTER)
    browser.until("document.querySelector('dialog.viewer[open] .stage .large')?.naturalWidth > 0", "a preview")
    browser.until("document.querySelector('.about dl')", "what is known of it")
    browser.shot("photo")
    press(browser, Keys.ARROW_RIGHT)
    browser.until(f"location.hash !== {first!r}", "the next photo")
    second = value(browser, "location.hash")
    press(browser, Keys.ESCAPE)
    browser.until("!document.querySelector('dialog')", "no dialog")
    browser.until(f"document.activeElement.getAttribute('href') === {second!r}", "the focus at the photo that was seen last")
    browser.until("location.hash === '#photos'", "the address of the wall")
    step("all by keys: into a photo, to the next, and back")
    fill(browser, "date", "2021-07")
    browser.until("document.getElementById('announcement').textContent.includes('12 photos')", "a day by its date")
    step("a date leads to its day")
    fill(browser, "words", "zebra")
    browser.until("document.querySelector('.note').textContent.includes('Nothing matches')", "nothing")
    browser.shot("nothing")
    client.find_element(By.CSS_SELECTOR, ".note a").click()
    browser.until(f"{FIRST} === {first!r}", "all photos again")
    client.execute_script("location.hash = 'map'")
    browser.until("document.querySelectorAll('.map .place img').length > 0", "places on the map")
    browser.until("[...document.querySelectorAll('.map .place img')].every((each) => each.naturalWidth > 0)", "their pictures")
    browser.until("document.querySelector('.map .land').getBoundingClientRect().width > 100", "an outline")
    browser.shot("map")
    step("the map has places")
    client.execute_script("location.hash = 'photos'")
    browser.until(f"{FIRST} === {first!r}", "the wall again")
    hidden = INBOX / ".late.jpg"
    shutil.copyfile(DIRECTORY / "late.jpg", hidden)
    os.rename(hidden, INBOX / "late.jpg")
    browser.until(f"{FIRST} && {FIRST} !== {first!r}", "the new photo")
    browser.own_requests_only()
    step("a photo that is filed meanwhile is there")


run(drive, ADDRESS, DIRECTORY, int(sys.argv[4]))
