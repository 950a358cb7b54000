"""Drives the pages in Firefox, as a person does: signs in, sees a photo, discards what is quarantined, signs out.

usage: pages_firefox.py ADDRESS QUARANTINE DIRECTORY SECONDS

As pages.py, which judges the pages more closely in Chromium. DIRECTORY gets Firefox's profile, and a screenshot of each page.
"""

import sys
from pathlib import Path

from firefox import run, step
from marionette_driver import By, Keys

ADDRESS, DIRECTORY = sys.argv[1], Path(sys.argv[3])
MARKUP = "<img src=x onerror=alert(1)>.jpg"


def drive(browser):
    client = browser.client
    client.navigate(ADDRESS)
    browser.heading("Last outcomes")
    assert "link" not in client.get_url(), "the link stays in the address"
    browser.until("document.querySelector('img.picture')?.naturalWidth > 0", "a picture")
    browser.until(f"document.body.textContent.includes({MARKUP!r})", "a name with markup as text")
    browser.shot("now")
    step("Now has a picture, and names are text")
    browser.own_requests_only()
    client.find_element(By.CSS_SELECTOR, "a[href='#decisions']").click()
    browser.heading("Quarantined (1)")
    browser.heading("Deferred (1)")
    browser.heading("Similar photos (1)")
    browser.shot("needs-you")
    discard = "//button[starts-with(@aria-label, 'Discard: ')]"
    browser.click(discard)
    browser.until("document.querySelector('dialog[open]')", "a dialog")
    client.find_element(By.CSS_SELECTOR, "dialog").send_keys(Keys.ESCAPE)
    browser.until("!document.querySelector('dialog')", "no dialog")
    browser.until("document.activeElement.ariaLabel?.startsWith('Discard: ')", "the focus again at the button")
    browser.click(discard)
    browser.click("//dialog//button[text()='Discard']")
    browser.heading("Quarantined (0)")
    step("discarded, after it was shown")
    browser.own_requests_only()
    browser.click("//button[text()='Sign out']")
    browser.heading("Sign in")
    browser.shot("sign-in")
    step("signed out")


run(drive, ADDRESS, DIRECTORY, int(sys.argv[4]))
