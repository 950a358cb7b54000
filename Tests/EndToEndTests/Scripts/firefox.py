"""Firefox without a window, driven by Marionette, for the scripts beside this one."""

import base64
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from marionette_driver import By, Wait
from marionette_driver.marionette import Marionette

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
    def __init__(self, client, address, directory, patience):
        self.client = client
        self.address = address
        self.directory = directory
        self.patience = patience

    def wait(self, condition, what):
        # A Wait has one deadline, from its making on.
        Wait(self.client, timeout=self.patience).until(condition, message=what)

    def until(self, script, what):
        self.wait(lambda client: client.execute_script(f"return Boolean({script})"), what)

    def heading(self, text):
        self.until(f"[...document.querySelectorAll('h1, h2')].some((each) => each.textContent === {text!r})", text)

    def click(self, button):
        """Clicks the button that this XPath finds."""
        self.wait(lambda client: client.find_elements(By.XPATH, button), button)
        self.client.find_element(By.XPATH, button).click()

    def shot(self, name):
        (self.directory / f"firefox-{name}.png").write_bytes(base64.b64decode(self.client.screenshot()))

    def own_requests_only(self):
        names = self.client.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
        others = [name for name in names if urlsplit(name).netloc != urlsplit(self.address).netloc]
        assert names and not others, others


def run(drive, address, directory, patience):
    """Gives `drive` a browser, whose profile is in `directory`, and requires that no page of `address` has an error."""
    profile = directory / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(PREFERENCES)
    with open(directory / "firefox.log", "wb") as log:
        process = subprocess.Popen(
            ["/usr/bin/firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "HOME": str(directory)})
    port = profile / "MarionetteActivePort"
    client = None
    try:
        Wait(None, timeout=patience).until(lambda _: process.poll() is not None or port.exists() and port.read_text())
        client = Marionette(host="127.0.0.1", port=int(port.read_text()), socket_timeout=patience)
        client.start_session()
        drive(Browser(client, address, directory, patience))
    finally:
        if client and client.session:
            client.delete_session()
        process.terminate()
        process.wait()
    # Firefox has errors of its own; those of a page name its address.
    lines = (directory / "firefox.log").read_text(errors="replace").splitlines()
    kinds = ("console.", "JavaScript error", "JavaScript warning")
    faults = [line for line in lines if line.startswith(kinds) and urlsplit(address).netloc in line]
    assert not faults, faults
    step("no error, no other host")
