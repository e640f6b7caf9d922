"""scripts/check knows a file that has grown too long, and lets it be where its reason is written down."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from miniature import ROOT


def test_a_long_file_needs_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loader = SourceFileLoader("check", str(ROOT / "scripts" / "check"))
    spec = spec_from_loader("check", loader)
    assert spec is not None
    check = module_from_spec(spec)
    loader.exec_module(check)
    (tmp_path / "minigrad").mkdir()
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    (tmp_path / "minigrad" / "short.py").write_text("x\n" * 500, "utf-8")

    assert check.sizes_are_in_bounds(tmp_path)
    (tmp_path / "minigrad" / "long.py").write_text("x\n" * 501, "utf-8")
    assert not check.sizes_are_in_bounds(tmp_path)
    assert "minigrad/long.py has more than 500 lines: divide it" in capsys.readouterr().out
    (tmp_path / "docs" / "decisions" / "009.md").write_text("minigrad/long.py is one table.", "utf-8")
    assert check.sizes_are_in_bounds(tmp_path)
