"""The GPT of lesson 00: it learns, it can be stopped, and in a browser it takes fewer steps."""

from __future__ import annotations

import re

import pytest

from minigrad.course import alice as lesson
from minigrad.course.alice import Alice


def test_noise_turns_into_likely_letters_and_the_same_steps_give_the_same_text(capsys):
    first, second = Alice(), Alice()
    noise = first.write(letters=40)
    assert first.train(steps=30, rate=0.004) == pytest.approx(second.train(steps=30, rate=0.004), rel=1e-3)

    shown = re.findall(r"step +(\d+)   loss (\d\.\d\d)   Alice was ", capsys.readouterr().out)
    assert [step for step, _ in shown] == ["0", "25", "30"] * 2
    assert float(shown[0][1]) > 4
    assert float(shown[2][1]) < 3.3
    assert first.write(letters=40) != noise


def test_it_has_as_many_numbers_as_the_lesson_says():
    untrained = Alice()
    untrained.loss().backward()

    assert sum(p.grad.size for p in untrained.net.parameters()) == 56_320
    assert untrained.percent_of_words(letters=100) < 20


def test_words_of_the_book_are_counted_without_the_start(monkeypatch):
    untrained = Alice()
    monkeypatch.setattr(untrained, "write", lambda start, letters: f"{start}rabbit xqz the of a zzzz Mouse")

    assert untrained.percent_of_words() == 60


def test_an_interrupt_ends_the_training_and_keeps_what_was_learned(monkeypatch, capsys):
    """As when ■ is pressed: the cell ends without an error, and the next cell finds the network."""
    network, steps = Alice(), iter(range(12))
    loss = network.loss
    before = network.loss().item()

    def interrupted(starts):
        if next(steps) == 10:
            raise KeyboardInterrupt
        return loss(starts)

    monkeypatch.setattr(network, "loss", interrupted)
    network.train(steps=100)
    assert capsys.readouterr().out.endswith("Stopped after 10 steps. It keeps what it has learned.\n")
    assert loss().item() < before


def test_a_browser_takes_fewer_steps_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(lesson.sys, "platform", "emscripten")

    Alice().train(steps=20)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "In a browser a step takes many times as long, so these are 2 steps. Raise `steps` for more."
    assert said[-1].startswith("step    2 ")
