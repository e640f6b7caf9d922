"""Gates: what a piece of work must hold, one thing after the other, and what came where it does not."""

from __future__ import annotations

from typing import Any

from minigrad.engine.base.table import Table

HEAD = {"gate": "", "state": "<", "wanted": "<", "came": "<"}


class Gates:
    """gates = Gates("learns", "fits"); gates("fits", size < 1000, "fewer than 1,000 bytes", size)

    Shown, they are a table of all names, with what is not asked yet. A gate that is asked again has its last answer.
    """

    def __init__(self, *names: str):
        self.rows: dict[str, tuple[str, str, str]] = dict.fromkeys(names, ("not asked", "", ""))

    def __call__(self, name: str, holds: Any, wanted: str, came: Any = "") -> None:
        """Say whether it holds. Printed is what came only where it does not: so a number may differ by machine."""
        self._refuse_unknown(name)
        self.rows[name] = ("passed", wanted, "") if holds else ("failed", wanted, str(came))
        print(f"gate passed: {name}" if holds else f"GATE FAILED: {name}: wanted {wanted}, and {came} came")

    def left_out(self, name: str, why: str) -> None:
        """It cannot be asked here."""
        self._refuse_unknown(name)
        self.rows[name] = ("left out", "", why)
        print(f"gate left out: {name}: {why}")

    def _refuse_unknown(self, name: str) -> None:
        if name not in self.rows:
            raise KeyError(f"the gates are {', '.join(self.rows)}, and {name!r} was asked")

    @property
    def table(self) -> Table:
        passed = sum(state == "passed" for state, *_ in self.rows.values())
        note = f"{passed} of {len(self.rows)} gates are passed."
        return Table(HEAD, [(name, *row) for name, row in self.rows.items()], note)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
