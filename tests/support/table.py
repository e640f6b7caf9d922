"""A law over a table as one test: a failure names every row that breaks the law, and shows how."""

from functools import wraps
from inspect import Parameter, signature
from linecache import getline

import pytest


def table(names, rows, ids=None, groups=1):
    """Like pytest.mark.parametrize, but all rows are one test: for laws that take milliseconds a row.

    groups    how many tests to make of the rows instead of one, so that a run may take a share of them

    Fixtures are made once for all rows, so a row must not change them.
    """
    names = [name.strip() for name in names.split(",")]
    rows = [row if hasattr(row, "marks") else pytest.param(*row if len(names) > 1 else (row,)) for row in rows]
    if ids is not None and not callable(ids):
        rows = [pytest.param(*row.values, id=title) for title, row in zip(ids, rows, strict=True)]

    def title_of(row):
        return row.id or "-".join((callable(ids) and ids(value)) or shown(value) for value in row.values)

    def decorate(law):
        @wraps(law)
        def test(share=rows, **fixtures):
            failures, skips = [], []
            for row in share:
                try:
                    law(**fixtures, **dict(zip(names, row.values, strict=True)))
                except pytest.skip.Exception as skip:
                    skips.append(skip)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"in the row {title_of(row)}")
                    failures.append(failure)
                    if "pytest-timeout" in str(failure):
                        raise
            if failures:
                broken = ", ".join(failure.__notes__[-1].removeprefix("in the row ") for failure in failures)
                raise BaseExceptionGroup(f"{len(failures)} of {len(share)} rows: {broken}", failures)
            if share and len(skips) == len(share):
                raise skips[0]

        others = [parameter for name, parameter in signature(law).parameters.items() if name not in names]
        others += [Parameter("share", Parameter.KEYWORD_ONLY)] * (groups > 1)
        test.__signature__ = signature(law).replace(parameters=others)
        shares = {f"{i + 1} of {groups}": rows[i::groups] for i in range(groups)}
        return pytest.mark.parametrize("share", shares.values(), ids=shares)(test) if groups > 1 else test

    return decorate


def mistakes(rows, error=None):
    """A table of mistakes, title → (call, exception, pattern): the call raises it, and its message matches.

    rows     a dictionary, or a list, whose titles are the patterns
    error    the exception of every row, where rows are (call, pattern)
    """
    titles, given = (rows, rows.values()) if isinstance(rows, dict) else ([row[-1] for row in rows], rows)

    @table("row", given, ids=titles)
    def test(row):
        mistake, sentence = row[0], row[-1]
        with pytest.raises(error or row[1], match=sentence):
            mistake()

    return test


def shown(value):
    """A text or a name as it is, a lambda as its line of the file, and anything else as Python prints it."""
    name = value if isinstance(value, str) else getattr(value, "__name__", repr(value)[:60])
    if name == "<lambda>":
        return getline(value.__code__.co_filename, value.__code__.co_firstlineno).strip()
    return name
