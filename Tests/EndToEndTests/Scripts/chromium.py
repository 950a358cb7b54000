"""Chromium without a window, driven by playwright and judged by axe, for the scripts beside this one."""

import time
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

WIDTHS = {"narrow": (320, 700), "phone": (390, 844), "wide": (1280, 900), "huge": (2560, 1300)}

faults = []


def step(text):
    print(text, flush=True)


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def origin(address):
    """What the addresses of everything beside an address begin with."""
    return f"http://{urlsplit(address).netloc}/"


def watch(page, places):
    """Notes what must not happen at any time; `places` is how the addresses of all requests begin."""
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"a script ran: {dialog.message}"))
    page.on("request", lambda request: request.url.removeprefix("blob:").startswith(places) or faults.append(f"asks {request.url}"))
    page.on("console", lambda line: line.type in ("error", "warning") and is_fault(line) and faults.append(f"console: {line.text}"))
    page.add_init_script("addEventListener('securitypolicyviolation', (event) => console.error('policy ' + event.violatedDirective))")


def is_fault(line):
    # Chromium reports each answer of 4xx: 401 asks to sign in, a small picture may not be made yet, a mistake in a search is refused.
    return "Failed to load resource" not in line.text


class Driver:
    """What is done with a page; DIRECTORY gets the screenshots, and `patience` is how many seconds anything may take."""

    def __init__(self, directory, patience):
        self.directory = directory
        self.patience = patience

    def until(self, page, function, what):
        """Waits until a function, of the page or of Python, is true, and gives what it returns."""
        end = time.monotonic() + self.patience
        while not (value := function() if callable(function) else page.evaluate(function)):
            require(time.monotonic() < end, f"{what}: not in time")
            page.wait_for_timeout(50)
        return value

    def axe(self, page, name):
        results = Axe().run(page)
        found = [f"{each['id']}: {each['help']} {[node['target'] for node in each['nodes']]}" for each in results.response["violations"]]
        require(not found, f"{name}: {found}")
        step(f"axe: no violation on {name}")

    def shots(self, page, name, settle=None):
        """The page in both themes and all widths, with axe in each theme; where `settle` waits for its layout, in each width, too."""
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            if not settle:
                self.axe(page, f"{name}, {theme}")
            for width, size in WIDTHS.items():
                page.set_viewport_size({"width": size[0], "height": size[1]})
                if settle:
                    settle(page)
                    self.axe(page, f"{name}, {theme}, {width}")
                wide = page.evaluate("document.scrollingElement.scrollWidth")
                require(wide <= size[0], f"{name} is {wide} pixels wide on {size[0]}")
                page.screenshot(path=self.directory / f"{name}-{theme}-{width}.png")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})
        if settle:
            settle(page)

    def run(self, visits, **context):
        """Lets the functions of each of the visits, `(places, functions)`, drive a page of its own, and requires that it has no fault."""
        milliseconds = self.patience * 1000
        expect.set_options(timeout=milliseconds)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
            for places, parts in visits:
                # Where the daemon's times are not those of the browser.
                page = browser.new_context(timezone_id="Asia/Kathmandu", locale="en-GB", **context).new_page()
                page.set_default_timeout(milliseconds)
                watch(page, places)
                try:
                    for part in parts:
                        part(page)
                except BaseException:
                    page.screenshot(path=self.directory / "failure.png")
                    print(f"faults until then: {faults}\n{page.locator('main').inner_text()}")
                    raise
            browser.close()
        require(not faults, f"{faults}")
        step("no error, no warning, no other place")
