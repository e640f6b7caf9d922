"""Lesson 11 shows three functions that cannot become graphs, and each one is still refused."""

from __future__ import annotations

import runpy

from tests.support.root import ROOT

IMPORTS = "import textwrap\n\nimport minigrad as mg\n\n"


def test_each_function_that_cannot_be_a_graph_is_refused(capsys, tmp_path):
    """A list of known length was accepted once lists could grow, so the lesson printed two errors instead of three."""
    source = (ROOT / "lessons" / "source" / "11_tracing.py").read_text("utf-8")
    cell = next(cell for cell in source.split("\n# %%") if "def looks_inside" in cell)
    script = tmp_path / "cell.py"  # AutoGraph reads the source of a function from its file
    script.write_text(f"{IMPORTS}# %%{cell}\n", "utf-8")

    runpy.run_path(str(script))

    errors = [line.split(": ")[:2] for line in capsys.readouterr().out.splitlines() if "Error: " in line]
    conversions = [[name, "ConversionError"] for name in ("one_branch", "growing")]
    assert errors == [*conversions, ["looks_inside", "NoValueError"]]
