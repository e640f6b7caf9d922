"""Programs that are refused, each with the sentences of its error: one test for all of a file."""

import re

import pytest

from minigrad.engine.base.errors import ConversionError
from tests.support.autograph_programs import line
from tests.support.table import table


class Refusals:
    """A decorator `@refused("a sentence", …)`, and the test of all that it decorates.

    A sentence names a line by its text: "{if x}: …" is how the error begins, and anywhere else {if x} is in a sentence.
    """

    def __init__(self, run, *of):
        self.run, self.of, self.rows = run, of, []

    def __call__(self, *sentences, of=None, error=ConversionError):
        def add(f):
            self.rows.append(pytest.param(f, sentences, of or self.of, error))
            return f

        return add

    def test(self):
        @table("f, sentences, of, error", self.rows)
        def test(f, sentences, of, error):
            with pytest.raises(error) as raised:
                self.run(f, *of)
            for sentence in sentences:
                said = re.sub(r"\{(.*?)\}", lambda at: line(f, at[1]), sentence)
                assert said in str(raised.value)
                assert not sentence.startswith("{") or str(raised.value).startswith(said)

        return test
