"""What `nbgrader export` writes in a folder of results: its own columns, and no score where nothing was graded.

nbgrader's own exporter gives 0.0 to whoever has handed in nothing, or what could not be read; and it writes names as
they are, so that one with a comma is two columns, and one with an end of line is another student.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.plugins import ExportPlugin

from minigrad.course.lessons import write

from .tables import table

SCORES = Path(__file__).with_name("export.sql")


class Scores(ExportPlugin):
    """nbgrader export --exporter=minigrad.course.grading.export.Scores: nbgrader_config.py of the results says so."""

    def export(self, gradebook: Any) -> None:
        found = gradebook.db.connection().exec_driver_sql(SCORES.read_text("utf-8"))
        head, rows = [*found.keys()], [dict(row) for row in found.mappings()]
        for heading, wanted in (("assignment", self.assignment), ("student_id", self.student)):
            rows = [row for row in rows if row[heading] in (wanted or [row[heading]])]
        write(Path(self.to or "grades.csv"), table(head, rows).encode())
