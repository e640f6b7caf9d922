"""What nobody can end is told, on three ranks."""

import pytest
from ranks import on_ranks

from minigrad.distributed.watch import RUNNING, TEXT, WAITING, Board, fitting

test_on_ranks = on_ranks("knots.py", 3)


@pytest.fixture
def boards(tmp_path):
    """The boards of three ranks that wait: 0 and 1 for one another, 2 in a call of all."""
    path = Board.create_file(3, str(tmp_path))
    made = [Board(path, 3, me) for me in range(3)]
    for board, needs in zip(made, ([1], [0], [0, 1, 2])):
        board.state[board.me], board.group[board.me] = WAITING, -1
        board.needs[board.me, needs] = 1
    made[2].group[2] = 0
    made[2].arrive(0, b"barrier")
    return made


def test_who_waits_for_a_knot_is_stuck_too(boards):
    assert boards[2].stuck()[0].tolist() == [0, 1, 2]


def test_a_message_that_arrives_is_no_knot(boards):
    boards[1].moving[1] = 1

    assert boards[0].stuck()[0].tolist() == []


def test_who_computes_is_not_stuck_and_who_has_ended_is(boards):
    boards[1].state[1] = RUNNING
    assert boards[0].stuck()[0].tolist() == []

    boards[1].end("sys.exit(0)")
    assert boards[0].stuck()[0].tolist() == [0, 2]


def test_whoever_has_come_to_a_call_is_not_missing_in_it(boards):
    for board in boards[:2]:
        board.arrive(0, b"barrier")

    assert boards[0].stuck()[0].tolist() == [0, 1]


def test_a_text_that_is_too_long_keeps_its_line():
    text = "all_reduce of " + "1, " * 300 + " at über.py:123, in f"

    assert len(fitting(text)) == TEXT
    assert fitting(text).startswith(b"all_reduce")
    assert fitting(text).endswith("über.py:123, in f".encode())
