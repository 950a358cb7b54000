"""Reaches photographs of a million in Firefox: the same ones in the same way as browser.py in Chromium. Run by browsing.py, in the
environment that has Marionette's driver; standard input is one JSON object of what there is, standard output one of what was reached."""
import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "Tests/EndToEndTests/Scripts"))

# pylint: disable=wrong-import-position
import firefox
from marionette_driver import By, Keys

from reaching import PATIENCE, reach, settle

GIVEN = json.load(sys.stdin)
KEYS = {"End": Keys.END, "Home": Keys.HOME, "Enter": Keys.ENTER}


class Page:
    """What reaching.py asks of a page of playwright."""

    def __init__(self, client):
        self.client, self.mouse, self.at = client, self, (0, 0)
        client.timeout.script = PATIENCE / 1000 + 10

    def evaluate(self, function, argument=None):
        return self.client.execute_async_script(
            f"const [argument, done] = arguments; Promise.resolve(({function})(argument)).then(done);", [argument])

    def find(self, selector):
        return self.client.find_element(By.CSS_SELECTOR, selector)

    def fill(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def press(self, selector, key):
        self.find(selector).send_keys(KEYS[key])

    def move(self, x, y):
        self.at = (int(x), int(y))

    def wheel(self, x, y):
        self.client.actions.sequence("wheel", "wheel").scroll(*self.at, int(x), int(y)).perform()


def drive(browser):
    client = browser.client
    client.set_window_rect(width=1280, height=1000)
    client.navigate(GIVEN["address"])
    name, _, value = GIVEN["cookie"].partition("=")
    client.add_cookie({"name": name, "value": value})
    client.navigate(GIVEN["address"] + "#photos")
    client.refresh()
    browser.until("document.querySelector('.wall li a[href]')", "photographs")
    page = Page(client)
    settle(page)
    result = reach(page, GIVEN)
    json.dump({"version": client.session_capabilities["browserVersion"], **result}, sys.stdout)


with tempfile.TemporaryDirectory() as directory:
    # What it prints is not for standard output.
    firefox.step = lambda text: print(f"browsing: {text}", file=sys.stderr)
    firefox.run(drive, GIVEN["address"], Path(directory), PATIENCE / 1000)
