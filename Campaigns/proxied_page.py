"""Opens a page of uploads in Chromium, gives it a file, and prints what the page says of it. Run by proxied.py, in the environment that
has playwright, until it is killed.

usage: proxied_page.py ADDRESS FILE PROFILE
"""
import json
import os
import sys

from playwright.sync_api import sync_playwright

ADDRESS, FILE, PROFILE = sys.argv[1:]
# How the page begins what it says when nothing goes on by itself.
OVER = ("Stopped", "Paused", "Done, but", "Nothing can be sent")
SAID = """() => ({
  headline: document.querySelector("[data-key=progress] h2")?.innerText ?? document.querySelector("main")?.innerText ?? "",
  trouble: document.querySelector("[data-key=trouble]")?.innerText ?? "",
  film: document.querySelector("[data-key=files] li")?.innerText ?? "",
  progress: document.querySelector("[data-key=progress] p.faint")?.innerText ?? "",
})"""

with sync_playwright() as playwright:
    context = playwright.chromium.launch_persistent_context(
        PROFILE, executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
    processes = context.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    group = os.getpgid(next(each["id"] for each in processes if each["type"] == "browser"))
    page, last = context.pages[0], None
    page.goto(ADDRESS)
    page.locator("input[type=file]").first.set_input_files(FILE)
    while True:
        said = page.evaluate(SAID)
        if said != last:
            last = said
            print(json.dumps({"group": group, "isOver": said["headline"].startswith(OVER), **said}), flush=True)
        page.wait_for_timeout(100)
