"""A page in a browser, and all that it does unasked. Tests skip, with a word, where there is no Chromium."""

from __future__ import annotations

import shutil
import time

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
PATIENCE = 60  # seconds, for a machine that has much to do
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=2000 * PATIENCE)
        yield opened
        opened.close()


class Visit:
    """A page that is open, and all that it did unasked."""

    def __init__(self, browser, path, **options):
        """In a browser, or in one of its contexts, which share what pages keep."""
        self.page = browser.new_page(**options)
        if "viewport" not in options:
            self.page.set_viewport_size({"width": 1280, "height": 900})
        self.page.set_default_timeout(1000 * PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def until(self, happened):
        """Wait for something that must happen."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, f"it has not happened in {PATIENCE} s"
            self.page.wait_for_timeout(10)

    def owned(self):
        return self.page.evaluate("window.owned === undefined ? null : window.owned")

    @property
    def focused(self):
        return self.page.evaluate("document.activeElement.dataset.n ?? document.activeElement.tagName")
