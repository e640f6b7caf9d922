"""What `minigrad grade` has written opens in nbgrader's formgrader, and what is typed there is in the next tables."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("nbgrader", reason="formgrader is nbgrader's")

from playwright.sync_api import expect

from minigrad.course.grading import gradebook
from tests.browser.conftest import PATIENCE_MS, ROOT, local, wait_for
from tests.browser.listening import end, free_port
from tests.course.grading import prose
from tests.course.grading.test_batch import grade_class, hand_in


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """A class that has been graded; called again, it is graded again: student → result."""
    nb = prose.made(tmp_path)
    prose.install(monkeypatch, tmp_path)
    hand_in(tmp_path / "in", prose.NAME, ada=prose.answered(nb, "It is linear."), bob=json.dumps(nb).encode())

    def again():
        assert grade_class(tmp_path) == 0
        return {r["student"]: r for r in json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))}

    return again


@contextmanager
def served(folder, home):
    """The address of a formgrader in a folder of results; `home` is where Jupyter keeps what is its own."""
    port = free_port()
    own = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    options += ["--ServerApp.password=", "--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=True"]
    log = home / "log.txt"
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "server", *options], cwd=folder, stdout=out, stderr=out,
            env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status", process, log)
            yield f"http://127.0.0.1:{port}/formgrader"
        finally:
            end(process)


@pytest.fixture
def formgrader(browser, graded, tmp_path):
    graded()
    with served(tmp_path / "out", tmp_path) as address:
        yield address


def submission(folder, student):
    """What formgrader calls a submission."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / gradebook.FILE}") as book:
        return book.find_submission_notebook(prose.NAME, prose.NAME, student).id


def test_a_reader_gives_points_and_words_in_formgrader(formgrader, graded, browser, tmp_path):
    with browser.new_context() as context:
        context.route(lambda url: not local(url), lambda route: route.abort())  # its formulas come from a network
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{formgrader}/gradebook/{prose.NAME}/{prose.NAME}")
        rows = page.locator("tbody tr", has_text="Submission")
        expect(rows).to_have_count(2)
        texts = [" ".join(text.split()) for text in rows.all_inner_texts()]
        assert all("3 / 5 3 / 3 0 / 2" in text for text in texts), texts  # all, code, prose
        assert rows.locator(".needs-manual-grade .glyphicon").count() == 1

        page.goto(f"{formgrader}/manage_submissions/{prose.NAME}")
        expect(page.locator("td.status", has_text="needs manual grading")).to_have_count(1)
        expect(page.get_by_role("row", name="ada")).to_contain_text("needs manual grading")

        address = f"{formgrader}/submissions/{submission(tmp_path / 'out', 'ada')}/?index=0"
        page.goto(address, wait_until="networkidle")  # its fields do nothing until it has asked for what is in them
        expect(page.get_by_text("It is linear.")).to_be_visible()
        for field, words in (("textarea#why-comment", "Say what is."), ("input#why", "1.5")):
            with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
                page.locator(field).fill(words)
                page.locator(field).press("Tab")
            assert saved.value.ok

    for _ in range(2):
        ada = graded()["ada"]
        assert (ada["status"], ada["points"], ada["parts"]["why"]["points"]) == ("graded", 4.5, 1.5)
        assert "A reader says: Say what is." in ada["parts"]["why"]["says"]
