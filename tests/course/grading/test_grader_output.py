"""What leaves the grader: no score where nothing was graded, and nothing of a student's that is more than text."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from minigrad.course.grading import command, gradebook, pages, tables
from minigrad.course.grading.gradebook import with_readers
from minigrad.course.grading.letters import as_a_name, as_markdown, cut, escape_unprintable, safe_name, sanitize
from minigrad.course.grading.submission import MOST_LISTS, Unreadable, read
from tests.course.grading.cases import NAME
from tests.course.grading.sandboxes import Told
from tests.course.grading.test_batch import NOTHING, PARTS, RIGHT, batch, grade_class, hand_in, result

TABLES = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
ESCAPES = "\x1b[2J\x1b]0;title\x07\r\x08\x9b31m\u202eexe\u2066\u2028\x00\x85\ud800"


# -- letters ------------------------------------------------------------------------------------------


def test_what_is_no_letter_is_spelled_out():
    assert escape_unprintable("a\x1b[2J\u202eb\r\nc\td\x00\ud800") == "a\\x1b[2J\\u202eb\nc\td\\x00\\ud800"
    assert escape_unprintable(escape_unprintable(ESCAPES)) == escape_unprintable(ESCAPES)
    assert escape_unprintable("Zoë 李 한 ع 👩‍👩‍👧 e\u0301") == "Zoë 李 한 ع 👩‍👩‍👧 e\u0301"


def test_a_text_is_cut_with_a_mark_and_once():
    long = cut("x" * 5000, 100)
    assert (long, cut(long, 100)) == (f"{'x' * 60} … (4940 characters more)", long)
    assert sanitize({"student": "y" * 9000, "notes": ["x" * 9000]})["student"] == "y" * 9000
    assert len(sanitize({"notes": ["x" * 9000]})["notes"][0]) <= 2000


@pytest.mark.parametrize(
    "name", ["../../etc", '"><script>', "a,b", "=1", "-1", "@x", "a\nb", "", ".", "x" * 300, "\u202ea", "a/b"]
)
def test_what_stands_for_a_student_is_safe_in_a_path_an_address_and_a_table(name):
    assert all(letter.isalnum() or letter in "._-~" for letter in safe_name(name))
    assert safe_name(name)[0] not in ".-=@+"
    assert len(safe_name(name)) < 100
    assert safe_name(name) not in (
        safe_name(f"{name}!"),
        safe_name(safe_name(name)),
    )  # nobody can be called as another is known here


@pytest.mark.parametrize("name", ["ada", "s1234567", "José", "a.b@c.de", "ada lovelace", "李"])
def test_ids_that_are_safe_stay(name):
    assert safe_name(name) == name


def test_a_name_keeps_its_letters():
    assert as_a_name("Jean-Luc O'Brien (Émile) e\u0301") == "Jean-Luc O’Brien (Émile) e\u0301"
    assert not set("<>&\"',;=\n") & set(as_a_name("=1,\"<b>&;\n'"))


def test_prose_keeps_its_lines_and_its_formulas():
    assert as_markdown("Let $x$ be\r\n    one") == "Let &#36;x&#36; be  \n&nbsp;&nbsp;&nbsp;&nbsp;one"
    known, unknown = (as_markdown(rf"$\{name}{{x}}$") for name in ("frac", "href"))
    assert ("&#92;frac" in known, "&#92;" in unknown) == (True, False)


# -- no score where nothing was graded ----------------------------------------------------------------


def unseen(student, status="unreadable", **more):
    return result(student, 0, status, state="wait", notes=["why"], **more)


def test_what_could_not_be_graded_has_no_number_in_any_table():
    results = [result("ada"), unseen("bob"), unseen("eve", "failed")]
    plain = {row["student"]: row for row in csv.DictReader(io.StringIO(tables.tables(results)["scores.csv"]))}
    assert [(row["points"], row[f"{NAME}: product"]) for row in plain.values()] == [("2", "2"), ("", ""), ("", "")]
    rows = list(csv.DictReader(io.StringIO(tables.tables(results)["moodle.csv"])))
    assert [row["Grade"] for row in rows] == ["2", "", ""]
    assert [row["Feedback comments"] for row in rows[1:]] == ["product: waits for a person, 2 at most"] * 2
    told = json.loads(tables.tables(results)["results.json"])
    assert [(r["points"], r["parts"]["product"]["points"]) for r in told] == [(2, 2), (None, None), (None, None)]
    assert [r["points"] for r in command.as_json(results)] == [2, None, None]


def test_pages_give_no_number_where_there_is_none():
    for status in ("failed", "unreadable"):
        page = pages.feedback(unseen("bob", status), "x")
        assert "0 of 2" not in page
        assert "This is not a 0." in page
    page = pages.class_report([*map(result, "abcd"), unseen("bob"), unseen("eve", "failed")], {})
    assert "Without a score yet: 2." in page
    assert "2: 4" in page  # the chart, in words
    assert "0: " not in page
    assert "product</td><td>100%" in page


def test_a_person_can_grade_what_could_not_be_read():
    (waits,) = with_readers([unseen("bob")], {})
    (read,) = with_readers([unseen("bob")], {("bob", NAME, "product"): (1.0, "on paper")})
    assert [(r["status"], tables.score(r)) for r in (waits, read)] == [("unreadable", None), ("graded", 1)]


@pytest.fixture
def book(tmp_path):
    pytest.importorskip("nbgrader", reason="the gradebook is nbgrader's")
    evil = 'x"\n01,,,bob,,,,10,0,10,10\n=1;=1'
    results = [result("ada"), unseen("bob"), unseen("eve", "failed"), result("kim", exercise="02_x")]
    gradebook.write(tmp_path, [*results, result(evil, name=evil)])
    return tmp_path


def test_nbgrader_exports_no_zero_and_no_row_of_a_students_own(book):
    subprocess.run([sys.executable, "-m", "nbgrader", "export"], cwd=book, check=True, capture_output=True)
    rows = list(csv.DictReader(io.StringIO((book / "grades.csv").read_text("utf-8"))))
    scores = {(row["student_id"], row["assignment"]): row["score"] for row in rows}
    assert {scores.pop((who, NAME)) for who in ("bob", "eve", "kim")} == {""}
    assert (scores["ada", NAME], scores["ada", "02_x"], scores["kim", "02_x"]) == ("2.0", "", "2.0")
    assert len(rows) == 10
    assert not any(tables.FORMULA.search(cell) for row in rows for cell in row.values())


def test_what_could_not_be_graded_is_marked_for_a_person(book):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{book / gradebook.FILE}") as db:
        waits = {each.student_id: each.needs_manual_grade for each in db.assignment_submissions(NAME)}
        grades = [db.find_grade("check-product", NAME, NAME, who).auto_score for who in ("ada", "bob", "eve")]
    assert {who for who, wait in waits.items() if wait} == {"bob", "eve"}
    assert grades == [2, None, None]


def test_a_new_gradebook_is_as_nbgrader_makes_one(book):
    from alembic.script import ScriptDirectory
    from nbgrader.api import Base
    from nbgrader.dbutil import ALEMBIC_DIR
    from sqlalchemy import create_engine

    engine = create_engine(f"sqlite:///{book / 'theirs.db'}")
    Base.metadata.create_all(engine)
    engine.dispose()
    with (
        closing(sqlite3.connect(book / "theirs.db")) as theirs,
        closing(sqlite3.connect(book / "gradebook.db")) as ours,
    ):
        wanted, found = ({name: sql.split() for name, sql in db.execute(TABLES)} for db in (theirs, ours))
        version = ours.execute("SELECT version_num FROM alembic_version").fetchall()
    assert {name: found.get(name) for name in wanted} == wanted
    assert found.keys() - wanted.keys() == {"alembic_version"}
    assert version == [(ScriptDirectory(ALEMBIC_DIR).get_current_head(),)]


def test_a_class_is_entered_without_loading_nbgrader(tmp_path):
    """Loading it, and once more in a program that it calls, was most of what a small class cost."""
    told = "import sys\nfrom pathlib import Path\nfrom minigrad.course.grading import gradebook\n"
    told += f"gradebook.write(Path(sys.argv[1]), [{result('ada')!r}])\n"
    told += "print({'nbgrader', 'sqlalchemy', 'nbformat'} & sys.modules.keys())"
    said = subprocess.run([sys.executable, "-c", told, str(tmp_path)], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"


@pytest.mark.parametrize(("place", "mishap"), [
    ("SCHEMA", "PRAGMA max_page_count = 1;"), ("ENTER", "SELECT * FROM nowhere; COMMIT;"),
], ids=["disk full", "ended before its end"])  # fmt: skip
def test_a_class_is_entered_whole_or_not_at_all(place, mishap, tmp_path, monkeypatch):
    gradebook.write(tmp_path, [result("ada")])
    script = getattr(gradebook, place).read_text("utf-8").replace("COMMIT;", "") + mishap
    (tmp_path / "script.sql").write_text(script, "utf-8")
    monkeypatch.setattr(gradebook, place, tmp_path / "script.sql")
    with pytest.raises(sqlite3.OperationalError, match=r"disk is full|no such table"):
        gradebook.write(tmp_path, [result("ada", 0), *(result(f"s{i}") for i in range(100))])
    with closing(sqlite3.connect(tmp_path / gradebook.FILE)) as book:
        assert book.execute("SELECT student.id, auto_score FROM student, grade").fetchall() == [("ada", 2)]


def test_names_that_a_teacher_has_written_stay_where_none_is_known(tmp_path):
    gradebook.write(tmp_path, [result("ada", name="Ada Meyer")])
    gradebook.write(tmp_path, [result("ada")])
    with closing(sqlite3.connect(tmp_path / gradebook.FILE)) as book:
        assert book.execute("SELECT first_name, last_name FROM student").fetchall() == [("Ada", "Meyer")]


def test_a_configuration_that_is_there_stays(tmp_path):
    pytest.importorskip("nbgrader", reason="the gradebook is nbgrader's")
    (tmp_path / gradebook.CONFIG).write_text("# mine\n")
    gradebook.write(tmp_path, [result("ada")])
    assert (tmp_path / gradebook.CONFIG).read_text() == "# mine\n"


def test_an_answer_that_an_editor_has_saved_line_by_line_has_not_changed(tmp_path):
    """JupyterLab keeps a text as a list of its lines: points that a person gave were to be given again."""
    mine, handed = result(), read(RIGHT)
    path = gradebook.place(tmp_path, mine)
    path.parent.mkdir(parents=True)
    nb = json.loads(gradebook.readable(handed, mine))
    path.write_text(json.dumps(nb | {"cells": [c | {"source": c["source"].splitlines(True)} for c in nb["cells"]]}))

    assert gradebook.changed_parts(tmp_path, mine, {mine["where"]: handed}) == set()
    assert gradebook.changed_parts(tmp_path, mine, {mine["where"]: None}) == {"product"}


def test_points_by_hand_wait_again_when_another_answer_is_handed_in(tmp_path, monkeypatch, capsys):
    """A person's 0 for a file that could not be read stood over the points of the next."""
    pytest.importorskip("nbgrader", reason="the gradebook is nbgrader's")
    from nbgrader.api import Gradebook

    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(NOTHING))

    def graded(data):
        hand_in(tmp_path / "in", ada=data)
        assert grade_class(tmp_path, "--json") == 0
        return json.loads(capsys.readouterr().out)[0]

    assert (first := graded(b"no notebook"))["points"] is None
    with Gradebook(f"sqlite:///{tmp_path / 'out' / gradebook.FILE}") as db:
        for part in PARTS:
            grade = db.find_grade(f"check-{part}", NAME, NAME, "ada")
            grade.manual_score, grade.needs_manual_grade = 1, False
        db.db.commit()
    assert [graded(b"no notebook")[key] for key in ("status", "points")] == ["graded", 6]
    for _ in range(2):
        again = graded(RIGHT)
        assert (again["status"], again["points"], again["of"]) == ("graded", 0, first["of"])


# -- limits -------------------------------------------------------------------------------------------


def graded(tmp_path, answer, data=RIGHT):
    (found,) = batch(tmp_path, Told(answer)).run(hand_in(tmp_path / "in", ada=data))
    return found


def test_notes_that_are_forged_are_few_and_short(tmp_path):
    cells = {cell["id"]: "E" * 10**6 for cell in json.loads(RIGHT)["cells"]}
    forged = {f"forged {i}": "E" * 100 for i in range(10**5)}
    found = graded(tmp_path, {"cells": cells | forged, "parts": NOTHING["parts"]})
    assert found["status"] == "graded"
    assert len(found["notes"]) <= 21
    assert "characters more)" in found["notes"][0]
    assert not any("forged" in note for note in found["notes"])
    assert sum(path.stat().st_size for path in (tmp_path / "out" / "results").iterdir()) < 50_000


def test_errors_in_many_cells_are_counted(tmp_path):
    extra = [{"cell_type": "code", "id": f"e{i}", "metadata": {}, "source": "1 / 0"} for i in range(500)]
    answer = {"cells": {cell["id"]: "ZeroDivisionError" for cell in extra}, "parts": NOTHING["parts"]}
    found = graded(tmp_path, answer, json.dumps({"cells": extra, "nbformat": 4}).encode())
    assert found["notes"][-1] == "480 more cells raised errors."


def nested(depth):
    return json.loads("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    "said", [nested(500), [[1] * 20_000], {"k": "v" * 10**6}, "x" * 10**6, [{}] * 20_000, ["\x1b[2J\u202e"]],
    ids=["deep", "wide", "an object", "long", "many objects", "escapes"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["gave", "raised", "odd"])
def test_an_answer_that_no_probe_gives_is_a_wrong_one(tmp_path, kind, said):
    found = graded(tmp_path, {"cells": {}, "parts": {part: [[kind, said, "w" * 10**5]] for part in PARTS}})
    assert (found["status"], found["points"]) == ("graded", 0)
    texts = json.dumps(found["parts"], ensure_ascii=False)
    assert len(texts) < 20_000
    assert texts.isprintable()


@pytest.mark.parametrize(("data", "why"), [
    (b'{"cells":[' + b"{}," * 6_900_000 + b"{}]}", "6900003 lists and objects; at most 250000 are allowed"),
    (b'{"cells":[' + b"[]," * 6_900_000 + b"[]]}", "6900003 lists and objects"),
    (('{"cells":[' + "{}," * 300_000 + "{}]}").encode("utf-16"), "300003 lists and objects"),
    (b"\xef\xbb\xbf" + b'{"a":' * 200_000, "JSON that is nested too deep"),
    (b"[" * 249_000, "JSON that is nested too deep"),
    (b'"' + rb"\"" * 9_000_000, "not a notebook: Unterminated string"),
], ids=["objects", "lists", "utf-16", "deep", "deep lists", "a text without end"])  # fmt: skip
def test_json_that_would_fill_the_memory_is_refused_by_name(data, why):
    with pytest.raises(Unreadable, match="the file") as error:
        read(data)
    assert why in str(error.value)


def test_brackets_in_texts_are_no_lists():
    """A figure's HTML has thousands, and is one text."""
    nb = json.loads(RIGHT)
    nb["cells"][1]["outputs"] = [{"data": {"text/html": '[{"\\' * MOST_LISTS}}]
    assert read(json.dumps(nb).encode()).cells


# -- a terminal ---------------------------------------------------------------------------------------


def test_a_terminal_is_told_letters_and_one_line_for_each(tmp_path, capsys, monkeypatch):
    """What a student had called a cell moved the cursor, and wrote over the line of another."""
    monkeypatch.setattr(command, "find_sandbox", lambda unsafe, limits: Told({"cells": {"x": ESCAPES}, "parts": {}}))
    names = ["eve\x1b[2K\rada graded", "a\n2 submissions: 2 graded", "\u202eada", "\x9b2J"]
    nb = json.dumps({"cells": [{"cell_type": "code", "id": ESCAPES, "source": "1"}], "nbformat": 4})
    hand_in(tmp_path / "in", **{name: nb.encode() for name in names}, bob=ESCAPES.encode("utf-8", "surrogatepass"))
    assert grade_class(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7
    assert all(line.isprintable() for line in lines)
    for file in ("scores.csv", "canvas.csv", "moodle.csv", "results.json", "class.html"):
        text = (tmp_path / "out" / file).read_text("utf-8")
        assert all(line.isprintable() for line in text.split("\n")), file
