"""Events as a table, in text and for a notebook; the totals of a run."""

from __future__ import annotations

from collections.abc import Iterable

from ..draw.words import shorten
from ..engine.base.table import Table
from .events import ASIDE, FunctionEvent, averages

SORTS = "cpu_time cpu_time_total self_cpu_time_total count flops cpu_memory_usage self_cpu_memory_usage".split()  # noqa: SIM905
NAME = 55  # characters of a name, as with PyTorch
WORDS = {"Module", "Input Shapes", "Source Location"}
NEEDS = {  # field to group events by → the option of key_averages, and the profiler's option that records it
    "input_shapes": ("group_by_input_shape", "record_shapes"),
    "stack": ("group_by_stack_n", "with_stack"),
    "module": ("group_by_module", "with_modules"),
}


class EventList(list[FunctionEvent]):
    """Events, or merged events of the same key. It prints as a table."""

    def __init__(self, events: Iterable[FunctionEvent] = (), wall: int = 0):
        """wall    nanoseconds for which the profiler was open"""
        super().__init__(events)
        self.wall = wall

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together, each counted once."""
        return sum(event.self_ns for event in self) / 1000

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_module: bool = False
    ) -> EventList:
        """Merge the events of one name; if asked, only those of the same shapes, innermost user lines or module.

        Raises ValueError if shapes, lines or modules were not recorded.
        """
        asked = group_by_input_shape, group_by_stack_n, group_by_module
        for by, (what, (parameter, option)) in zip(asked, NEEDS.items()):
            if by and not any(getattr(event, what) for event in self):
                raise ValueError(f"{parameter} needs data that was not recorded: open the profiler with {option}=True")
        listed = (event for event in self if event.kind not in ASIDE or event.self_cpu_memory_usage)
        return EventList(averages(listed, *asked), self.wall)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = NAME) -> str:
        """The table as text, sorted by `sort_by`, largest first; in order of occurrence without it.

        row_limit    number of rows; -1 for all
        """
        return str(self.shown(sort_by, row_limit, max_name_column_width))

    def shown(self, sort_by: str | None = None, row_limit: int = 100, width: int = NAME) -> Table:
        """The table, also for a notebook, without empty columns."""
        rows = self.ordered(sort_by, row_limit)
        whole = max(self.self_cpu_time_total, 1e-3)
        columns = {
            "Name": [shorten(e.name, width) for e in rows],
            "Self CPU %": [f"{e.self_cpu_time_total / whole:.2%}" for e in rows],
            "Self CPU": [duration(e.self_cpu_time_total) for e in rows],
            "CPU total %": [f"{e.cpu_time_total / whole:.2%}" for e in rows],
            "CPU total": [duration(e.cpu_time_total) for e in rows],
            "CPU time avg": [duration(e.cpu_time) for e in rows],
            "CPU Mem": [size(e.cpu_memory_usage) for e in rows],
            "Self CPU Mem": [size(e.self_cpu_memory_usage) for e in rows],
            "# of Calls": [str(e.count) for e in rows],
            "Total FLOPs": ["unknown" if e.flops is None else f"{e.flops:,}" if e.flops else "--" for e in rows],
            "Module": [e.module for e in rows],
            "Input Shapes": [str(e.input_shapes or "") for e in rows],
            "Source Location": [" < ".join(e.stack) for e in rows],
        }
        said = {title: cells for title, cells in columns.items() if not rows or {*cells} - {"", "--", "0 B"}}
        head = {title: "<" if title in WORDS else "" for title in said}
        return Table(head, [*zip(*said.values())], "\n".join(self.footer(len(rows))))

    def ordered(self, sort_by: str | None, row_limit: int) -> list[FunctionEvent]:
        """The rows of a table. Raises ValueError for an unknown sort_by or a bad row_limit."""
        if sort_by is not None and sort_by not in SORTS:
            raise ValueError(f"a table is sorted by one of {', '.join(SORTS)}, and got sort_by={sort_by!r}")
        if not isinstance(row_limit, int) or row_limit < -1:
            raise ValueError(f"row_limit is a number of rows, or -1 for all, and got {row_limit!r}")
        rows = [*self] if sort_by is None else sorted(self, key=lambda event: -(getattr(event, sort_by) or 0))
        return rows if row_limit == -1 else rows[:row_limit]

    def footer(self, shown: int) -> list[str]:
        inside = self.self_cpu_time_total
        lines = [f"{len(self) - shown} more rows"] * (shown < len(self))
        lines.append(f"Self CPU time total: {duration(inside)}")
        if self.wall:
            lines.append(f"Python outside of what is listed: {duration(max(0.0, self.wall / 1000 - inside))}")
        return lines

    def _repr_html_(self) -> str:
        return self.shown()._repr_html_()

    def __str__(self) -> str:
        return self.table()


def duration(us: float) -> str:
    """1.275ms, as PyTorch writes it."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def size(nbytes: int) -> str:
    """-1.50 KB, as PyTorch writes it."""
    for unit, power in (("GB", 30), ("MB", 20), ("KB", 10)):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} B"
