"""The sources hold together: lint, layout, types, and what is made from something else is up to date."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.root import ROOT

CHECKS = {
    "lint": ["-m", "ruff", "check"], "layout": ["-m", "ruff", "format", "--check"], "types": ["-m", "mypy"],
    "the phrasebook follows from the ops and the methods": ["scripts/phrasebook", "--check"],
    "notebooks follow from their sources": ["scripts/build", "--check"],
}  # fmt: skip


@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", CHECKS.values(), ids=CHECKS)
def test_source(command):
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
