"""The browser in which pages are photographed and tested."""

from __future__ import annotations

import shutil

BROWSERS = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome", "msedge"),
)


def find_browser() -> str | None:
    """The path of the first of BROWSERS that is on the PATH; None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
