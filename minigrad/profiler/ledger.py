"""Live bytes, counted: what each array is for, from when the engine has told of it until it is let go.

The ledger watches a run, and holds every array that ops, derivatives, `.grad` and optimisers bring along by a weak
reference. Whose it is, it reads off the engine's own records: what a record has saved, what a checkpoint holds, what an
optimiser remembers. An array that is two things is counted once, as the first of CONSUMERS that it is. An event costs
what it changes, however many arrays there are.

What an op makes and drops again inside itself (a convolution's columns, attention's weights) no reference sees. With
exact=True tracemalloc, to which NumPy reports, is asked at each event for the most there was since the last: what is
above the books is `inside` the op; what is there and in no book (Python's own objects, arrays that no op has seen, a
sum of gradients that has not arrived yet) is `untold`. So the total is what tracemalloc measures, and `untold` says how
good the books are.

A compiled program is one op to a watcher. What happens in it is read off its plan: the workspace is there from the
first call on, and what is handed out is there from the step that writes it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import add
from types import SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np

from ..autograd.function_rule import Output, keeper
from ..autograd.graph import Unpacking, innermost
from ..base.device import CPU
from ..base.table import Table
from ..compiler.program.memory_plan import MemoryPlan
from ..compiler.program.program import Program
from ..core.calls import module_path
from ..core.modes import current, in_mode
from ..core.node import Place, Record, Source, place
from ..core.op import Op
from ..core.versions import owner
from ..draw.rules import sign_of
from ..graph.compiled import Backward, CompiledCall
from ..nn.module import Module
from ..optim.optimizer import Optimizer
from ..tensor.tensor import Tensor
from ..utils.checkpoint import Promise, Segment
from .memory_table import CONSUMERS, UNKNOWN, About, Holding, Live, Moment, Of, Saving, table


def memory(model: Any = None, optimizer: Any = None, inputs: Any = (), exact: bool = True) -> Ledger:
    """`with mg.profiler.memory(model) as ledger:` counts what is alive: ledger.peak, .table(), .timeline().

    model        whose parameters are counted from the start; without it a leaf that requires a gradient is a parameter,
                 from where it is first used
    optimizer    whose state is counted from the start; without it from its first step(), if that is not compiled
    inputs       tensors that are counted from the start; other leaves are inputs where they are first used
    exact        also measure, by tracemalloc, what ops make and drop inside themselves and what is in no book. It takes
                 about 0.15 ms for each op; the books alone take 0.03

    It counts NumPy's memory, in this thread. The records of the graph are Python's objects, about 2 kilobytes for each
    op, and in a first step so is what is compiled: the books are within 2 % of tracemalloc where arrays are large
    against that.
    """
    return Ledger(model, optimizer, [inputs] if isinstance(inputs, Tensor) else inputs, exact)


PYTHONS = 1 << 13  # bytes: what rises by less are Python's objects


class Keyed(ref[Any]):
    """A weak reference that knows the id of what it was to."""

    __slots__ = ("key",)

    def __init__(self, x: Any, callback: Callable[[Any], None]):
        super().__init__(x, callback)  # type: ignore[call-arg]
        self.key = id(x)


@dataclass(eq=False, slots=True)
class Kept:
    """What a record keeps: arrays, or promises of parts of checkpoints."""

    record: Keyed
    about: About
    savings: list[Saving] = field(default_factory=list)
    parts: list[ref[Segment]] = field(default_factory=list)


class Ledger:
    """The books of a run.

    model, optimizer, inputs    whose arrays are known from the start; others are met as they take part
    exact                       whether tracemalloc is asked, too
    phase                       what the run is at: start, forward, backward, update
    moments                     each op, each derivative and each update, with what was alive then
    """

    holds = False  # no values: an edit in place need not leave the old one

    def __init__(self, model: Any = None, optimizer: Any = None, inputs: Iterable[Tensor] = (), exact: bool = False):
        for given, kind in ((model, Module), (optimizer, Optimizer)):
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"profiler.memory takes a Module and an optimizer of mg.optim, and got {given!r}")
        self.model, self.optimizers = model, {id(each): each for each in [optimizer] if each is not None}
        self.exact, self.is_open, self.phase = exact, False, "start"
        self.moments: list[Moment] = []
        self.number = 0  # of the moment that is next
        self.log: list[Holding] = []
        self.savings: list[Saving] = []
        self.counted = [0] * len(CONSUMERS)
        self.holdings: dict[int, Holding] = {}  # by id of the array, or of the program whose workspace it is
        self.kept: dict[int, Kept] = {}  # by id of the record
        self.parts: dict[int, tuple[Keyed, dict[Any, Holding]]] = {}
        self.leaves: dict[int, Keyed] = {}
        self.places: dict[Place | None, Place | None] = {}  # each line once
        self.packed: list[ref[Record]] = []  # records told before what they keep was packed
        self.rest: tuple[Op | None, int] = None, 0  # more results of a call that will be told
        self.shift, self.went = [0] * len(CONSUMERS), self.gone  # one object for all references
        self.freed = self.own = self.level = self.start = self.now = self.extra = self.old = 0
        for x in inputs:
            if not isinstance(x, Tensor):
                raise TypeError(f"inputs are tensors, and got {x!r}")
            refuse_gpu("an input is", x)
            self.hold(x.value, Of.INPUTS)
        self.sync()

    # -- what the engine tells --------------------------------------------------------------------------

    def saw(self, op: Op, y: Tensor | None, xs: tuple[Tensor, ...], again: bool = False) -> None:
        if y is None:
            return
        refuse_gpu(f"{op} gave", y)
        if self.rest[0] is op and self.rest[1]:  # another result of the same call
            self.rest = op, self.rest[1] - 1
            self.noted(y.value, self.moments[-1].about)
            return
        where = place()  # before the books begin: the frames it looks at are Python's own, and go again
        where = self.places.setdefault(where, where)
        self.begin()
        if not again:
            if self.phase == "backward":
                self.sync()
            self.phase = "forward"
        before, self.shift = self.live() if self.moments else (0,) * len(CONSUMERS), [0] * len(CONSUMERS)
        about, call = About(sign_of(op), module_path(), where), op if isinstance(op, CompiledCall) else None
        for x in xs:
            self.operand(x, about)
        self.noted(y.value, about, call is None)
        self.keep(y, about)
        if call is None:
            text = "once more, {} gives {}, {:,} bytes: a checkpoint runs its part again"
            text = text if again else "{} gives {}, {:,} bytes"
            self.write(text, (about.op, y.spec, y.value.nbytes), about)
        else:
            variant: Any = call.compiled().chosen(xs)  # type: ignore[union-attr]  # it has just run
            n = len(variant.specs)
            self.rest = op, n - variant.specs.count(None) - 1
            self.ran(variant.run.program, before, about, lambda i: Of.OTHER if i < n else Of.SAVED)
        self.end()

    def operand(self, x: Tensor, about: About) -> None:
        """An operand: a leaf that wants a gradient is a parameter, and another that no op made is an input."""
        holding = self.holdings.get(id(owner(x.value)))
        is_new, node = holding is None, x.node
        holding = holding or self.noted(x.value, About("", about.module, about.place))
        if x.tracked and not node.inputs and not holding.about.op:
            self.hold(x.value, Of.PARAMETERS)
            if id(x) not in self.leaves:
                self.leaves[id(x)] = Keyed(x, self.forgotten)
        elif is_new and (node is None or isinstance(node, Source)):
            self.hold(x.value, Of.INPUTS)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        self.begin()
        self.phase = "backward"
        before, self.shift = self.moments[-1].live if self.moments else (0,) * len(CONSUMERS), [0] * len(CONSUMERS)
        kept, variant, known = self.kept.get(id(node)), variant_of(node), len(self.log)
        about = About(sign_of(node.op)) if kept is None else kept.about
        for array in arrays_in((gy, *gxs)):
            self.hold(array, Of.GRADIENTS, about, variant is None)
        fresh = sum([holding.nbytes for holding in self.log[known:]])
        if node.saved is None:
            self.let_go(id(node))
        for part in [] if kept is None else kept.parts:
            self.reread(part())
        if variant is not None:
            program = variant.pull(tuple(sorted(gy))).variant((), ()).run.program
            self.ran(program, before, about, lambda i: Of.GRADIENTS, late=True)  # what it reads is there until its end
        elif not isinstance(node.op, Output):  # which hands on what arrives
            freed = before[Of.SAVED] - self.counted[Of.SAVED]
            sends = "sends on {1:,} new bytes of gradients" if fresh else "sends its gradient on as it is"
            lets = ", and lets go {2:,} bytes that were kept for it" if freed > 0 else ""
            self.write(f"the derivative of {{0}} {sends}{lets}", (about.op, fresh, freed), about, late=True)
        self.end()

    def stepped(self, optimizer: Any) -> None:
        self.phase = "update"
        self.optimizers[id(optimizer)] = optimizer
        self.note(f"{optimizer.name} has moved the parameters", About(optimizer.name, "", place()))

    @property
    def again(self) -> Any:
        """Who is told where a checkpoint runs its part again."""
        return SimpleNamespace(saw=partial(self.saw, again=True), pulled=self.pulled)

    # -- the block --------------------------------------------------------------------------------------

    def __enter__(self) -> Ledger:
        if self.moments:
            raise RuntimeError("a ledger is of one block, and this one has had its own: make another")
        if any(isinstance(watcher, Ledger) for watcher in current.mode.watchers):
            raise RuntimeError("a ledger is open here, and an array is counted in one: read that, or close it first")
        if self.exact and tracemalloc.is_tracing():
            raise RuntimeError(
                "tracemalloc is on, in this thread or another, and the ledger would start its peak anew at each op: "
                "stop it first, or say exact=False, which does without"
            )
        if self.exact:
            tracemalloc.start()
            self.start, _ = tracemalloc.get_traced_memory()
        self.is_open = self.exact
        self.note("nothing has run yet")
        self.block = in_mode(watchers=(*current.mode.watchers, self), calls=current.mode.calls or ())
        self.block.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.block.__exit__(*raised)
        try:
            self.note("the block is at its end")
        finally:
            if self.is_open:
                tracemalloc.stop()
            self.is_open, self.model, self.optimizers = False, None, {}

    # -- what a reader asks -----------------------------------------------------------------------------

    @property
    def peak(self) -> Moment:
        """The moment at which most was alive, the first of several."""
        return max(self.timeline(), key=lambda moment: moment.total)

    def timeline(self) -> list[Moment]:
        """Every moment so far. `mg.widgets.MemoryTimeline(ledger)` draws them."""
        if not self.moments:
            raise RuntimeError("the ledger has seen nothing yet: run a step in `with mg.profiler.memory() as ledger:`")
        return [*self.moments]

    def table(self, by: str = "consumer") -> Table:
        """Live bytes by "consumer", now and at the peak; by "module", at the peak; or what each "op" keeps, at most."""
        return table(self, by)

    def __repr__(self) -> str:
        return str(self.table()) if self.moments else "Ledger(nothing yet)"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    # -- the books --------------------------------------------------------------------------------------

    def ran(
        self, program: Program, before: Live, about: About, consumer: Callable[[int], int], late: bool = False
    ) -> None:
        """A program's run, the first time step by step as it was planned.

        consumer    number of an output → whose bytes it is
        """
        is_new = id(program) not in self.holdings
        if is_new:
            self.changed(self.added(program, program.text.size, about, self.is_traced(program)), Of.WORKSPACE, 1)
        before = tuple(map(add, before, self.shift))  # memory that is handed out again was there before
        end, plan = self.live(), program.plan
        working = [(k, step) for k, step in enumerate(plan.steps) if not step.is_view]
        ends = [[*steps][-1] for _, steps in groupby(working, lambda each: each[1].node)]
        residents = [t for t in plan.residents if t.offset is not None]
        for k, step in ends if is_new else ends[-1:]:
            out = handed(plan, k, consumer)
            live = [min(b + out.get(i, 0), max(b, e)) for i, (b, e) in enumerate(zip(before, end))]
            live[Of.WORKSPACE] = end[Of.WORKSPACE]
            used = sum(t.nbytes for t in residents if t.first <= k <= (t.last or 0))
            words = "in the program, {}: {:,} of the {:,} bytes of its workspace are in use"
            words = words if is_new else "the same program runs again, in the same workspace"
            sign = "a copy" if step.node is None else sign_of(step.node.op)
            where = getattr(step.node, "place", None)
            there = about if where is None else About(sign, where.module, where)
            self.write(words, (sign, used, plan.size), there, tuple(live))
        self.write("the program is done, and has handed out what it made", (), about, late=late)

    def noted(self, array: Any, about: About = UNKNOWN, is_new: bool = False) -> Holding:
        """An array that is there.

        is_new    whether it was surely made just now, if it was not known
        """
        array = array if array.base is None else owner(array)
        return self.holdings.get(id(array)) or self.added(array, array.nbytes, about, is_new or self.is_traced(array))

    def added(self, x: Any, nbytes: int, about: About, is_new: bool) -> Holding:
        """An array, or a program with its workspace, that was not known."""
        key, k = id(x), self.number
        found = self.holdings[key] = Holding(
            Keyed(x, self.went), nbytes, about, k, [(k, Of.OTHER)], nbytes * (not is_new)
        )
        self.log.append(found)
        self.counted[Of.OTHER] += nbytes
        self.old += found.old
        return found

    def gone(self, array: Keyed) -> None:
        """An array went."""
        holding = self.holdings.pop(array.key)
        holding.died = self.number
        consumer = holding.story[-1][1]
        self.counted[consumer] -= holding.nbytes
        self.old -= holding.old
        self.freed += holding.nbytes * (consumer == Of.SAVED)

    def hold(self, array: Any, consumer: int, about: About = UNKNOWN, is_new: bool = False) -> None:
        """The array is that consumer's, until it goes."""
        holding = self.noted(array, about, is_new)
        if consumer not in holding.held:
            self.changed(holding, consumer, 1)

    def changed(self, holding: Holding, consumer: int, by: int) -> None:
        """One more, or one less, holds it as that."""
        if holding.died is not None:
            return
        held = holding.held
        held[consumer] = held.get(consumer, 0) + by
        if not held[consumer]:
            del held[consumer]
        before, after = holding.story[-1][1], min(held, default=Of.OTHER)
        if before != after:
            self.counted[before] -= holding.nbytes
            self.counted[after] += holding.nbytes
            holding.story.append((self.number, after))
            if by > 0 and holding.born < self.number:  # it was there, as another's
                self.shift[before] -= holding.nbytes
                self.shift[after] += holding.nbytes

    def keep(self, y: Tensor, about: About) -> None:
        """What the record behind a result keeps for backward."""
        record = keeper(y) if y.tracked else None
        if isinstance(record, Record) and id(record) not in self.kept:
            self.kept[id(record)] = Kept(Keyed(record, self.dropped), about)
            self.reads(record)
            if innermost() is not None:
                self.packed.append(ref(record))

    def reads(self, record: Record) -> None:
        """Note what a record keeps just now."""
        kept = self.kept[id(record)]
        slots = record.rule.reads
        for i, value in enumerate(record.saved or ()):
            if isinstance(value, Promise):
                kept.parts.append(ref(value.part))
                self.reread(value.part)
            for array in arrays_in([value]):
                holding = self.noted(array)
                self.changed(holding, Of.SAVED, 1)
                slot = slots[i] if i < len(slots) else None
                kept.savings.append(Saving(kept.about, slot, array.dtype, array.shape, holding, self.number))
        self.savings += kept.savings

    def let_go(self, key: int) -> None:
        """The record of that id keeps its arrays no longer."""
        savings = self.kept[key].savings if key in self.kept else []
        for saving in savings:
            saving.last = self.number
            self.changed(saving.holding, Of.SAVED, -1)
        savings.clear()

    def dropped(self, record: Keyed) -> None:
        """A record went."""
        self.let_go(record.key)
        del self.kept[record.key]

    def reread(self, part: Segment | None) -> None:
        """Note what a part of a checkpoint keeps just now."""
        if part is None:
            return
        key, there = id(part), part.held()
        known = self.parts.setdefault(key, (Keyed(part, self.parted), {}))[1]
        for i in known.keys() - there.keys():
            self.changed(known.pop(i), Of.SAVED, -1)
        for i in there.keys() - known.keys():
            known[i] = self.noted(there[i])
            self.changed(known[i], Of.SAVED, 1)

    def parted(self, part: Keyed) -> None:
        """A checkpoint's part went."""
        for holding in self.parts.pop(part.key)[1].values():
            self.changed(holding, Of.SAVED, -1)

    def forgotten(self, leaf: Keyed) -> None:
        """A parameter went."""
        del self.leaves[leaf.key]

    def sync(self) -> None:
        """Look at what nobody tells of: which parameters there are, their gradients, what optimisers remember."""
        named = [] if self.model is None else self.model.named_parameters()
        found = [(p, ".".join([type(self.model).__name__, *name.split(".")[:-1]])) for name, p in named]
        for p, module in (*found, *((leaf(), "") for leaf in [*self.leaves.values()])):
            if p is not None:
                refuse_gpu("a parameter is", p)
                self.hold(p.value, Of.PARAMETERS, About(module=module))
                if p.grad is not None:
                    self.hold(p.grad.value, Of.GRADIENTS, About(module=module))
        for optimizer in self.optimizers.values():
            for p, state in optimizer.state.items():
                for array in arrays_in(state.values()):
                    self.hold(array, Of.STATE, About(module=self.noted(p.value).about.module))

    def live(self) -> Live:
        """Bytes alive just now, by consumer."""
        return tuple(self.counted)

    def note(self, what: str, about: About = UNKNOWN) -> None:
        """A moment that whoever runs it has something to say of."""
        self.begin()
        self.sync()
        self.write("{}", (what,), about)
        self.end()

    def write(
        self, text: str, words: Sequence[Any], about: About = UNKNOWN, live: Live | None = None, late: bool = False
    ) -> None:
        """One more moment.

        live    if it is not what is alive just now
        late    whether what was let go in it was let go at its end
        """
        self.number += 1
        if live is not None or not self.is_open:
            self.moments.append(Moment(self.phase, text, words, live or self.live(), about))
            return
        counted = self.counted.copy()
        untold = self.now - self.own - self.start - (sum(counted) - self.old)
        late = late and self.extra >= self.freed > 0
        if late:
            counted[Of.SAVED] += self.freed
        inside = self.extra - self.freed * late
        self.moments.append(Moment(self.phase, text, words, tuple(counted), about, inside, untold, late))
        self.freed = self.extra = 0

    def is_traced(self, x: Any) -> bool:
        """Whether tracemalloc knows of an object: it is younger than the ledger."""
        return self.is_open and tracemalloc.get_object_traceback(x) is not None

    def begin(self) -> None:
        """An event: how much more than now there was since the last, if that is more than there was then."""
        if self.is_open:
            self.now, peak = tracemalloc.get_traced_memory()
            self.extra = peak - self.now if peak > max(self.now, self.level) + PYTHONS else 0
        while self.packed:
            record = self.packed.pop()()
            if record is not None:
                self.let_go(id(record))
                self.reads(record)

    def end(self) -> None:
        """The ledger has done with an event, and what it has written of it is its own."""
        if self.is_open:
            self.level, _ = tracemalloc.get_traced_memory()
            self.own += self.level - self.now
            tracemalloc.reset_peak()


def refuse_gpu(what: str, x: Tensor) -> None:
    """Raises ValueError for an array that is not in the memory of the CPU."""
    if x.spec.device is not CPU:
        raise ValueError(f'profiler.memory counts the memory of the CPU, and {what} {x.spec}: move it by .to("cpu")')


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays among some values, in the tensors, rows and dictionaries of them."""
    for value in values:
        if isinstance(value, Tensor | np.ndarray):
            yield value.value if isinstance(value, Tensor) else value
        elif isinstance(value, dict | tuple | list):
            yield from arrays_in(value.values() if isinstance(value, dict) else value)


def variant_of(record: Any) -> Any:
    """How a compiled graph was run whose record this is; None of any other."""
    rule = getattr(record, "rule", None)
    rule = rule.rule if isinstance(rule, Unpacking) else rule
    return rule.variant if isinstance(rule, Backward) else None


def handed(plan: MemoryPlan, k: int, consumer: Callable[[int], int]) -> dict[int, int]:
    """Consumer → bytes that are handed out and written by step k."""
    out: dict[int, int] = {}
    for allocation, i in {plan.allocations.get(y.root): i for i, y in enumerate(plan.outputs) if y is not None}.items():
        if allocation is not None and allocation.argument is None and allocation.first <= k:
            out[consumer(i)] = out.get(consumer(i), 0) + allocation.nbytes
    return out
