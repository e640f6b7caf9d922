"""A room that votes by phone: what is counted, what phones and the lecturer get to see, and who is refused."""

import csv
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest
from starlette.testclient import TestClient

from minigrad.course import CourseError, Predict, Quiz, reveal
from minigrad.course.audience import link
from tests.browser.listening import listening
from tests.support.table import table

server = pytest.importorskip("minigrad.course.audience.__main__", reason="needs segno", exc_type=ImportError)

SURE = ["guess", "fairly sure", "certain"]
BOXES = {"name": "boxes", "text": "How many <b>boxes</b>?", "kind": "number"}
BOXES |= {"right": 4, "shows": [[5, "One too many"]]}
WAY = {"name": "way", "text": "Which way?", "kind": "option", "options": ["up", "down"]}


class Hall:
    """A server, asked by phones and by its lecturer."""

    def __init__(self, folder, audience, url):
        self.folder, self.audience, self.url, self.clients = folder, audience, url, []

    def do(self, **event):
        headers = {"X-Room": self.audience.token}
        return httpx.post(f"{self.url}/lecturer/do", json=event, headers=headers).json()

    def ask(self, *questions):
        return self.do(do="ask", questions=questions or [BOXES], confidences=SURE)

    def phone(self):
        """A new phone, which has seen the question."""
        client = self.client(self.audience.code)
        client.get("/state")
        return client

    def client(self, code=""):
        self.clients.append(httpx.Client(base_url=self.url, headers={"X-Room": code}))
        return self.clients[-1]

    def vote(self, phone, answer, confidence="guess", **other):
        said = {"poll": 0, "round": 1, "answer": answer, "confidence": confidence}
        return phone.post("/vote", json=said | other)

    def table(self):
        rows = csv.DictReader((self.folder / server.TABLE).read_text("utf-8").splitlines())
        return {(row["round"], row["answer"], row["confidence"]): row for row in rows}


@contextmanager
def opened(folder):
    audience = server.Audience(folder, "127.0.0.1", 8600)
    with listening(audience.configuration()) as url:
        hall = Hall(folder, audience, url)
        yield hall
        for client in hall.clients:
            client.close()


def test_the_room_votes_discusses_and_votes_again(hall):
    hall.ask()
    phones = [hall.phone() for _ in range(5)]
    first = [hall.vote(phone, answer, "certain").status_code for phone, answer in zip(phones, "44555")]
    assert hall.do(do="close")["rows"] == []  # nothing is shown before it is asked for
    late = hall.vote(hall.phone(), "4")
    hall.do(do="open")
    second = [hall.vote(phone, "4", round=2).status_code for phone in phones]
    shown = hall.do(do="show")
    assert first == second == [200] * 5
    assert "closed" in late.text
    assert (shown["answered"], shown["right"], {row["right"] for row in shown["rows"]}) == ([5, 5], "", {None})

    hall.do(do="reveal", name="boxes")
    rows = hall.table()
    votes = {key: (int(row["votes"]), row["right"], row["shows"]) for key, row in rows.items()}
    assert votes == {
        ("1", "4", "certain"): (2, "True", ""), ("1", "5", "certain"): (3, "False", "One too many"),
        ("2", "4", "guess"): (5, "True", ""),
    }  # fmt: skip


def test_many_vote_at_once_and_each_phone_is_counted_once(hall):
    """Each phone votes four times, as one does whose reply was lost. Three answers are not shown: whose are they?"""
    hall.ask()
    phones = [hall.phone() for _ in range(60)]
    for n, phone in enumerate(phones[:3]):
        hall.vote(phone, str(n))
    few = hall.do(do="show")
    assert (few["answered"], few["shown"], few["rows"], hall.table()) == ([3], True, [], {})
    hall.do(do="open")
    hall.do(do="go", poll=0)
    with ThreadPoolExecutor(16) as pool:
        sent = [pool.submit(hall.vote, p, str(n % 3), round=2) for n, p in enumerate(phones) for _ in range(4)]
        assert {each.result().status_code for each in sent} == {200}

    assert hall.do(do="show")["answered"] == [3, 60]
    assert Counter({key[1]: int(row["votes"]) for key, row in hall.table().items()}) == {"0": 20, "1": 20, "2": 20}


def test_no_vote_is_lost_when_the_server_starts_again(hall):
    hall.ask()
    phones = [hall.phone() for _ in range(4)]
    before = [hall.vote(phone, "4").json() for phone in phones]
    with (hall.folder / server.VOTES).open("a") as file:
        file.write('{"version": 1, "room": "')  # a line that a power cut has cut short
    with opened(hall.folder) as again:
        phones[0].base_url = again.url
        assert phones[0].get("/state").json() == before[0]
        again.vote(phones[0], "5")
        assert again.do(do="show")["answered"] == [4]
    lines = (hall.folder / server.VOTES).read_text("utf-8")
    assert not any(phone.cookies[server.COOKIE] in lines or "127.0.0.1" in lines for phone in phones)


def test_the_right_answer_reaches_no_phone_and_a_question_is_only_what_is_on_the_screen(hall):
    hall.ask({**BOXES, "right": 4711, "shows": [[4712, "secret"]]}, WAY)
    phone = hall.phone()
    hall.do(do="reveal", name="boxes")
    heard = phone.get("/state").text

    assert "4711" not in heard + phone.get("/").text
    assert "secret" not in heard
    assert "Which way" not in heard
    hall.do(do="go", poll=1)
    assert phone.get("/state").json()["question"]["text"] == "Which way?"


@table("answer, confidence", [
    ("x" * 61, "guess"), ("9" * 61, "guess"), (4, "guess"), (["4"], "guess"), (None, "guess"), ("1e999", "guess"),
    ("4", "sure"), ("4", None), ("<script>alert(1)</script>", "guess"), ({"$gt": 0}, "guess"),
])  # fmt: skip
def test_what_is_no_answer_is_refused(tmp_path_factory, answer, confidence):
    with opened(tmp_path_factory.mktemp("hall")) as hall:
        hall.ask()
        reply = hall.vote(hall.phone(), answer, confidence)

        assert (reply.status_code, hall.do()["answered"]) == (400, [0])


def test_who_may_not_ask_is_refused(hall):
    hall.ask()
    phone, stranger = hall.phone(), hall.client()
    for body in (b"{", b"[" * 4000, b'{"poll": 0}', b"[]", b"\xff"):
        assert phone.post("/vote", content=body).status_code == 400
    assert phone.post("/vote", content=b" " * 70_000).status_code == 413
    assert stranger.get("/state").status_code == 401
    assert stranger.post("/lecturer/do", json={"do": "show"}, headers={"X-Room": hall.audience.code}).status_code == 401
    assert hall.client(hall.audience.code).post("/vote", json={"poll": 0}).status_code == 403  # it has no cookie
    assert stranger.get("/", headers={"Host": "evil.example"}).status_code == 400
    from_afar = {address: TestClient(hall.audience.configuration().app, "http://127.0.0.1", client=(address, 1))
                 for address in ("8.8.8.8", "192.168.7.9")}  # fmt: skip
    assert [client.get("/").status_code for client in from_afar.values()] == [403, 200]
    assert from_afar["192.168.7.9"].get("/lecturer").status_code == 403
    policy = phone.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_an_address_that_asks_without_end_has_to_wait(hall, monkeypatch):
    monkeypatch.setattr(server, "BURST", 5)
    monkeypatch.setattr(server, "RATE", 0)
    phone = hall.phone()

    assert [phone.get("/state").status_code for _ in range(6)] == [200] * 4 + [429] * 2


def test_a_kernel_shows_its_question_and_reveals_its_answer_and_goes_on_without_the_server(hall, monkeypatch, capsys):
    monkeypatch.setenv(link.SERVER, hall.url.removeprefix("http://"))
    monkeypatch.setenv(link.TOKEN, hall.audience.token)
    Predict("steps", "How many steps?")
    phone = hall.phone()
    asked = phone.get("/state").json()
    reveal("steps", 7)
    Quiz("00_start_here")

    assert (asked["question"]["text"], asked["open"]) == ("How many steps?", True)
    assert hall.audience.room.polls[0].right == 7
    assert phone.get("/state").json()["poll"] == 1
    assert all(poll.right is not None and not poll.is_revealed for poll in hall.audience.room.polls[1:])
    monkeypatch.setenv(link.SERVER, "127.0.0.1:1")
    Predict("alone", "How many?")
    assert "The audience server may have missed an event" in capsys.readouterr().err


def test_the_server_ends_with_jupyterlab_and_needs_an_extra(tmp_path, monkeypatch):
    program = "import sys; from pathlib import Path; from minigrad.course.audience import link; "
    program += "print(link.start_room(Path(sys.argv[1])))"
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    address = json.loads((tmp_path / ".jupyter/audience/labconfig/page_config.json").read_text())["minigradAudience"]

    assert ended.stdout.startswith("Room ")
    assert link.TOKEN in ended.stdout
    deadline = time.monotonic() + 60
    with suppress(httpx.HTTPError):
        while httpx.get(address.partition("#")[0]):
            assert time.monotonic() < deadline, "it still answers"
    monkeypatch.setattr(link, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match=r"start\.py add audience"):
        link.start_room(tmp_path)
