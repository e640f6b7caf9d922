"""Gates: named requirements of a piece of work. A failed gate shows the expected and the actual result."""

from __future__ import annotations

from typing import Any

from minigrad.engine.base.table import Table

HEAD = {"gate": "", "state": "<", "wanted": "<", "came": "<"}


class Gates:
    """gates = Gates("learns", "fits"); gates("fits", size < 1000, "fewer than 1,000 bytes", size)

    The gates are displayed as a table. A gate that is checked again keeps its last result. Without names, any name is
    accepted, and the table has only the gates that were checked.
    """

    def __init__(self, *names: str):
        self.rows: dict[str, tuple[str, str, str]] = dict.fromkeys(names, ("not asked", "", ""))
        self.open = not names

    def __call__(self, name: str, holds: Any, wanted: str, came: Any = "") -> None:
        """Record and print whether the gate holds. A pass does not print `came`, so outputs agree across machines."""
        self._refuse_unknown(name)
        self.rows[name] = ("passed", wanted, "") if holds else ("failed", wanted, str(came))
        print(f"gate passed: {name}" if holds else f"GATE FAILED: {name}: wanted {wanted}; {came} came")

    def left_out(self, name: str, why: str) -> None:
        """Record that the gate cannot be checked here."""
        self._refuse_unknown(name)
        self.rows[name] = ("left out", "", why)
        print(f"gate left out: {name}: {why}")

    def _refuse_unknown(self, name: str) -> None:
        if name not in self.rows and not self.open:
            raise KeyError(f"there is no gate {name!r}; the gates are {', '.join(self.rows)}")

    @property
    def table(self) -> Table:
        passed = sum(state == "passed" for state, *_ in self.rows.values())
        note = f"{passed} of {len(self.rows)} gates are passed."
        return Table(HEAD, [(name, *row) for name, row in self.rows.items()], note)

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
