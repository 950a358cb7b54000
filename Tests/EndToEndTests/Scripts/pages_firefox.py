"""Drives the pages in Firefox, as a person does: signs in, sees a photo, discards what is quarantined, signs out.

usage: pages_firefox.py ADDRESS DIRECTORY SECONDS

As pages.py, which judges the pages more closely in Chromium. DIRECTORY gets Firefox's profile, and a screenshot of each page.
"""

import base64
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from marionette_driver import By, Keys, Wait
from marionette_driver.marionette import Marionette

ADDRESS, DIRECTORY = sys.argv[1], Path(sys.argv[2])
PATIENCE = int(sys.argv[3])
MARKUP = "<img src=x onerror=alert(1)>.jpg"
# Any port; nothing from other hosts, and what pages say in the console on standard output.
PREFERENCES = """
user_pref("marionette.port", 0);
user_pref("devtools.console.stdout.content", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""


def step(text):
    print(text, flush=True)


class Browser:
    def __init__(self, client):
        self.client = client
        self.wait = Wait(client, timeout=PATIENCE)

    def until(self, script, what):
        self.wait.until(lambda client: client.execute_script(f"return Boolean({script})"), message=what)

    def heading(self, text):
        self.until(f"[...document.querySelectorAll('h1, h2')].some((each) => each.textContent === {text!r})", text)

    def click(self, button):
        """Clicks the button that this XPath finds."""
        self.wait.until(lambda client: client.find_elements(By.XPATH, button), message=button)
        self.client.find_element(By.XPATH, button).click()

    def shot(self, name):
        (DIRECTORY / f"firefox-{name}.png").write_bytes(base64.b64decode(self.client.screenshot()))

    def own_requests_only(self):
        names = self.client.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
        others = [name for name in names if urlsplit(name).netloc != urlsplit(ADDRESS).netloc]
        assert names and not others, others


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


def main():
    profile = DIRECTORY / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(PREFERENCES)
    with open(DIRECTORY / "firefox.log", "wb") as log:
        process = subprocess.Popen(
            ["/usr/bin/firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "HOME": str(DIRECTORY)})
    port = profile / "MarionetteActivePort"
    client = None
    try:
        Wait(None, timeout=PATIENCE).until(lambda _: process.poll() is not None or port.exists() and port.read_text())
        client = Marionette(host="127.0.0.1", port=int(port.read_text()), socket_timeout=PATIENCE)
        client.start_session()
        drive(Browser(client))
    finally:
        if client and client.session:
            client.delete_session()
        process.terminate()
        process.wait()
    # Firefox has errors of its own; those of a page name its address.
    lines = (DIRECTORY / "firefox.log").read_text(errors="replace").splitlines()
    kinds = ("console.", "JavaScript error", "JavaScript warning")
    faults = [line for line in lines if line.startswith(kinds) and urlsplit(ADDRESS).netloc in line]
    assert not faults, faults
    step("no error, no other host")


main()
