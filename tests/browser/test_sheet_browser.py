"""scripts/sheet: the contact sheet of the widgets."""

import os
import subprocess
import sys

import pytest
from PIL import Image

from tests.support.root import ROOT

VIEWS = ("opens", "last_step", "420_px", "projector", "dark", "print", "static")


@pytest.mark.tool
def test_the_sheet_shows_a_widget_in_seven_ways_and_measures_it(browser, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    for script in ("check", "house", "phrasebook", "pictures", "sheet"):  # some wrote files
        command = [sys.executable, str(ROOT / "scripts" / script), "--help"]
        assert f"scripts/{script}" in subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    assert not any(tmp_path.iterdir())
    command = [sys.executable, str(ROOT / "scripts" / "sheet"), str(tmp_path), "05_"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    index = (tmp_path / "index.html").read_text("utf-8")
    row = (tmp_path / "table.md").read_text("utf-8").splitlines()[2]
    name, height, text, overflow, below = row.strip("| ").split(" | ")
    assert (name, overflow, below) == ("05 ForwardAndReverse", "0 px", "0")
    widths = {}
    for view in VIEWS:
        assert f'src="05_ForwardAndReverse_{view}.png"' in index
        with Image.open(tmp_path / f"05_ForwardAndReverse_{view}.png") as shot:
            widths[view], tall = shot.size
            if view == "last_step":
                assert abs(tall - int(height.removesuffix(" px"))) <= 1
    assert widths["opens"] == widths["dark"] == 1050
    assert widths["420_px"] < 420 < widths["print"] < widths["projector"]
    assert 9 <= float(text.removesuffix(" px")) <= 16
