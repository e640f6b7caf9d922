"""minigrad.course.gates: what is asked is printed and shown, passed, failed or left out."""

import pytest

from minigrad.course import Gates


def test_a_gate_prints_what_came_only_where_it_does_not_hold(capsys):
    gates = Gates("small", "quick")
    gates("small", 3 < 5, "fewer than 5 bytes", 3)
    gates("quick", 7 < 5, "fewer than 5 steps", 7)

    passed, failed = capsys.readouterr().out.splitlines()
    assert passed == "gate passed: small"
    assert failed == "GATE FAILED: quick: wanted fewer than 5 steps; 7 came"


def test_what_was_not_asked_or_left_out_is_not_passed(capsys):
    gates = Gates("small", "quick", "there", "alone")
    gates("small", True, "a size")
    gates("quick", False, "5 steps", 7)
    gates.left_out("there", "it needs a server")

    said = capsys.readouterr().out
    states = {row[0]: row[1] for row in gates.table.rows}
    assert "gate left out: there: it needs a server" in said
    assert states == {"small": "passed", "quick": "failed", "there": "left out", "alone": "not asked"}
    assert repr(gates).endswith("1 of 4 gates are passed.")
    assert "1 of 4 gates are passed." in gates._repr_html_()


def test_a_gate_that_is_asked_again_has_its_last_answer():
    gates = Gates("small")
    gates("small", True, "a size")
    gates("small", False, "a size", 9)

    assert gates.table.rows == [("small", "failed", "a size", "9")]


def test_without_names_any_gate_is_accepted_in_the_order_of_the_checks():
    gates = Gates()
    gates("small", True, "a size")
    gates.left_out("there", "it needs a server")

    assert [row[:2] for row in gates.table.rows] == [("small", "passed"), ("there", "left out")]


def test_a_name_that_is_none_of_them_is_refused():
    gates = Gates("small", "quick")
    for ask in (lambda: gates("smal", True, "a size"), lambda: gates.left_out("smal", "no reason")):
        with pytest.raises(KeyError, match="there is no gate 'smal'; the gates are small, quick"):
            ask()
