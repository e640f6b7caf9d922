"""The exporter of `nbgrader export` in a folder of results: nbgrader's columns, but no score where nothing was graded.

nbgrader's own exporter gives 0.0 to students without a submission or with an unreadable one. It also does not quote
names, so a comma in a name makes another column, and a line break makes another student.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.plugins import ExportPlugin

from minigrad.course.lessons import write

from .tables import table

SCORES = Path(__file__).with_name("export.sql")


class Scores(ExportPlugin):
    """nbgrader export --exporter=minigrad.course.grading.export.Scores; nbgrader_config.py in the results sets this."""

    def export(self, gradebook: Any) -> None:
        found = gradebook.db.connection().exec_driver_sql(SCORES.read_text("utf-8"))
        head, rows = [*found.keys()], [dict(row) for row in found.mappings()]
        for heading, wanted in (("assignment", self.assignment), ("student_id", self.student)):
            rows = [row for row in rows if row[heading] in (wanted or [row[heading]])]
        write(Path(self.to or "grades.csv"), table(head, rows).encode())
