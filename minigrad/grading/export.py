"""What `nbgrader export` writes in a folder of results: its own columns, and no score where nothing was graded.

nbgrader's own exporter gives 0.0 to whoever has handed in nothing, or what could not be read; and it writes names as
they are, so that one with a comma is two columns, and one with an end of line is another student.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.plugins import ExportPlugin

from .tables import table

HEAD = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"]
HEAD += ["raw_score", "late_submission_penalty", "score", "max_score"]


class Scores(ExportPlugin):  # type: ignore[misc]
    """nbgrader export --exporter=minigrad.grading.export.Scores; nbgrader_config.py of the results asks for it."""

    def export(self, gradebook: Any) -> None:
        rows = [
            [assignment.name, assignment.duedate, *of_student(gradebook, assignment, student), assignment.max_score]
            for assignment in gradebook.assignments
            if assignment.name in (self.assignment or [assignment.name])
            for student in gradebook.students
            if student.id in (self.student or [student.id])
        ]
        Path(self.to or "grades.csv").write_text(table(HEAD, (dict(zip(HEAD, row)) for row in rows)), "utf-8")


def of_student(gradebook: Any, assignment: Any, student: Any) -> list[Any]:
    """From the time stamp to the score."""
    who = [student.id, student.last_name, student.first_name, student.email]
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return ["", *who, "", "", ""]
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    if any(grade.auto_score is None and (grade.manual_score is None or grade.needs_manual_grade) for grade in grades):
        return [submission.timestamp, *who, "", "", ""]
    score, penalty = sum(map(points, grades)), submission.late_submission_penalty or 0.0
    return [submission.timestamp, *who, score, penalty, max(0.0, score - penalty)]


def points(grade: Any) -> float:
    """A person's, unless the answer has changed since; else ours."""
    is_old = grade.needs_manual_grade and grade.manual_score is not None
    score: float = grade.auto_score if is_old else grade.score
    return score
