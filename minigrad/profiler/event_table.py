"""Events, merged by name on request, as a table in text and for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..draw.words import shorten
from ..engine.base.table import Table
from .events import ASIDE, FunctionEvent, total

SORTS = "cpu_time cpu_time_total self_cpu_time_total count flops cpu_memory_usage self_cpu_memory_usage".split()  # noqa: SIM905
NAME = 55  # most characters of a name, as in PyTorch
WORDS, EMPTY = {"Module", "Input Shapes", "Source Location"}, {"", "--", "0 B"}
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
        """Merge events of the same name; on request, only if shapes, innermost user lines or modules are equal too.

        Raises ValueError if shapes, lines or modules were not recorded.
        """
        asked = group_by_input_shape, group_by_stack_n, group_by_module
        for by, (what, (parameter, option)) in zip(asked, NEEDS.items()):
            if by and not any(getattr(event, what) for event in self):
                raise ValueError(f"{parameter} needs data that was not recorded: open the profiler with {option}=True")
        listed = (event for event in self if event.kind not in ASIDE or event.self_cpu_memory_usage)
        return EventList(averages(listed, *asked), self.wall)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = NAME) -> str:
        """The table as text, sorted by `sort_by`, largest first; without `sort_by`, in order of occurrence.

        row_limit    number of rows; -1 for all
        """
        return str(self.to_table(sort_by, row_limit, max_name_column_width))

    def to_table(self, sort_by: str | None = None, row_limit: int = 100, width: int = NAME) -> Table:
        """The table, also for a notebook, without empty columns."""
        whole = max(self.self_cpu_time_total, 1e-3)
        rows = [row(event, whole, width) for event in self.sort_rows(sort_by, row_limit)]
        titles = [title for title in TITLES if not rows or {cells[title] for cells in rows} - EMPTY]
        head = {title: "<" if title in WORDS else "" for title in titles}
        values = [tuple(cells[title] for title in titles) for cells in rows]
        return Table(head, values, "\n".join(self.footer(len(rows))))

    def sort_rows(self, sort_by: str | None, row_limit: int) -> list[FunctionEvent]:
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
        return self.to_table()._repr_html_()

    def __str__(self) -> str:
        return self.table()


def row(event: FunctionEvent, whole: float, width: int) -> dict[str, str]:
    """Title → cell of an event; `whole` is the time of all events in microseconds."""
    flops = f"{event.flops:,}" if event.flops else "--"
    return {
        "Name": shorten(event.name, width),
        "Self CPU %": f"{event.self_cpu_time_total / whole:.2%}", "Self CPU": duration(event.self_cpu_time_total),
        "CPU total %": f"{event.cpu_time_total / whole:.2%}", "CPU total": duration(event.cpu_time_total),
        "CPU time avg": duration(event.cpu_time),
        "CPU Mem": size(event.cpu_memory_usage), "Self CPU Mem": size(event.self_cpu_memory_usage),
        "# of Calls": str(event.count), "Total FLOPs": "unknown" if event.flops is None else flops,
        "Module": event.module, "Input Shapes": str(event.input_shapes or ""),
        "Source Location": " < ".join(event.stack),
    }  # fmt: skip


def duration(us: float) -> str:
    """A duration in PyTorch's format: 1.275ms."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def size(nbytes: int) -> str:
    """A number of bytes in PyTorch's format: -1.50 KB."""
    for unit, power in (("GB", 30), ("MB", 20), ("KB", 10)):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} B"


TITLES = [*row(FunctionEvent("", "op"), 1.0, NAME)]


def averages(events: Iterable[FunctionEvent], shapes: bool, stack: int, module: bool) -> list[FunctionEvent]:
    """Merge events of the same name; on request, only if modules, lines or shapes are equal too.

    Totals leave out an event that is inside another event of the same key.
    """

    def key(event: FunctionEvent) -> tuple[Any, ...]:
        operands = tuple(map(tuple, event.input_shapes)) if shapes else ()
        return event.name, event.module if module else "", event.stack[:stack], operands

    found: dict[tuple[Any, ...], FunctionEvent] = {}
    for event in events:
        if (of := key(event)) not in found:
            name, where, lines, operands = of
            found[of] = FunctionEvent(name, event.kind, where, lines, [*map(list, operands)], count=0)
        one = found[of]
        one.count += event.count
        one.self_ns += event.self_ns
        one.self_cpu_memory_usage += event.self_cpu_memory_usage
        one.flops = total((one.flops, event.flops))
        if of not in map(key, event.around):
            one.ns += event.ns
            one.cpu_memory_usage += event.cpu_memory_usage
    return [*found.values()]
