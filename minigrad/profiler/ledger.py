"""Live bytes, counted: what each array is for, from when the engine has told of it until it is let go.

The ledger watches a run, and enters every array that ops, derivatives, `.grad` and optimisers bring along in its books
(books.py). Whose it is, it reads off the engine's own records: what a record has saved, what a checkpoint holds, what
an optimiser remembers.

What an op makes and drops again inside itself (a convolution's columns, attention's weights) no book sees. With
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
from functools import partial
from itertools import groupby
from operator import add
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ..autograd.function_rule import Output, keeper
from ..autograd.graph import Unpacking, innermost
from ..draw.rules import sign_of
from ..engine.base.device import CPU
from ..engine.base.table import Table
from ..engine.core.calls import module_path
from ..engine.core.modes import current, in_mode
from ..engine.core.node import Node, Place, Record, Source, place
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..engine.tensor.tensor import Tensor
from ..graph.compiled import Backward, CompiledCall
from ..graph.compiler.program.memory_plan import MemoryPlan
from ..graph.compiler.program.program import Program
from ..graph.session import RunPlan, Session
from ..graph.variable import GraphVariable
from ..nn.module import Module
from ..optim.optimizer import Optimizer
from ..utils.checkpoint import Promise, Segment
from .books import NOTHING, UNKNOWN, About, Books, Gauge, Known, Live, Of
from .memory_table import Moment, Said, Saving, table


def memory(model: Any = None, optimizer: Any = None, inputs: Any = (), exact: bool = True) -> Ledger:
    """`with mg.profiler.memory(model) as ledger:` counts what is alive: ledger.peak, .table(), .timeline().

    model        whose parameters are counted from the start; without it a leaf that requires a gradient is a parameter,
                 from where it is first used
    optimizer    whose state is counted from the start; without it from its first step(), if that is not compiled
    inputs       tensors that are counted from the start; other leaves are inputs where they are first used
    exact        also measure, by tracemalloc, what ops make and drop inside themselves and what is in no book. It takes
                 about 0.15 ms for each op; the books alone take 0.03

    It counts NumPy's memory, in this thread: of eager ops, compiled functions and sessions' runs. The records of the
    graph are Python's objects, about 2 kilobytes for each op, and in a first step so is what is compiled: the books are
    within 2 % of tracemalloc where arrays are large against that.
    """
    return Ledger(model, optimizer, [inputs] if isinstance(inputs, Tensor) else inputs, exact)


GIVES = "{} gives {}, {:,} bytes"
AGAIN = f"once more, {GIVES}: a checkpoint runs its part again"
SENDS = (
    "the derivative of {0} sends its gradient on as it is",
    "the derivative of {0} sends on {1:,} new bytes of gradients",
)
WORKS = "in the program, {}: {:,} of the {:,} bytes of its workspace are in use"
WORKS_AGAIN = "the same program runs again, in the same workspace"
LETS = ", and lets go {2:,} bytes that were kept for it"


class Keeper(Known):
    """A record, or a part of a checkpoint, that keeps something for backward.

    savings    what it keeps, each under a name of its own
    parts      of checkpoints, which have promised it to a record
    """

    __slots__ = ("about", "parts", "savings")

    def __init__(self, who: Any, callback: Callable[[Any], None], about: About):
        self.key, self.about = id(who), about
        self.savings: dict[Any, Saving] = {}
        self.parts: list[ref[Segment]] = []


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
        self.exact, self.phase = exact, "start"
        self.moments: list[Moment] = []
        self.savings: list[Saving] = []
        self.books, self.gauge = Books(), Gauge()
        self.keepers: dict[int, Keeper] = {}
        self.left = self.dropped  # one object for all references
        self.leaves: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
        self.places: dict[Place | None, Place | None] = {}  # each line once
        self.packed: list[ref[Record]] = []  # records told before what they keep was packed
        self.rest: tuple[Op | None, int] = None, 0  # more results of a call that will be told
        for x in inputs:
            if not isinstance(x, Tensor):
                raise TypeError(f"inputs are tensors, and got {x!r}")
            refuse_gpu("an input is", x)
            self.books.hold(x.value, Of.INPUTS)
        self.sync()

    # -- what the engine tells --------------------------------------------------------------------------

    def saw(self, op: Op, y: Tensor | None, xs: tuple[Tensor, ...], again: bool = False) -> None:
        if y is None:
            return
        refuse_gpu(f"{op} gave", y)
        if self.rest[0] is op and self.rest[1]:  # another result of the same call
            self.rest = op, self.rest[1] - 1
            self.books.noted(y.value, self.moments[-1].about)
            return
        where = place()  # before the event begins: the frames it looks at are Python's own, and go again
        where = self.places.setdefault(where, where)
        self.begin()
        if not again:
            if self.phase == "backward":
                self.sync()
            self.phase = "forward"
        before, self.books.moved = self.live(), [*NOTHING]
        about, is_program = About(sign_of(op), module_path(), where), isinstance(op, CompiledCall)
        for x in xs:
            self.operand(x, about)
        self.books.noted(y.value, about, not is_program)
        record = keeper(y) if y.tracked else None
        if isinstance(record, Record) and id(record) not in self.keepers:
            self.read(record, about)
            if innermost() is not None:
                self.packed.append(ref(record))
        if is_program:
            variant: Any = op.compiled().chosen(xs)  # type: ignore[attr-defined]
            n = len(variant.specs)
            self.rest = op, n - variant.specs.count(None) - 1
            self.ran(variant.run.program, before, about, lambda i: Of.OTHER if i < n else Of.SAVED)
        else:
            self.write((AGAIN if again else GIVES, about.op, y.spec, y.value.nbytes), about)
        self.gauge.end()

    def operand(self, x: Tensor, about: About) -> None:
        """An operand: a leaf that wants a gradient is a parameter, and another that no op made is an input."""
        books, node = self.books, x.node
        known = books.known(x.value)
        holding = known or books.noted(x.value, About("", about.module, about.place))
        if x.tracked and not node.inputs and not holding.about.op:
            books.hold(x.value, Of.PARAMETERS)
            self.leaves[id(x)] = x
        elif known is None and (node is None or isinstance(node, Source)):
            books.hold(x.value, Of.INPUTS)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        self.begin()
        self.phase = "backward"
        books, kept, variant = self.books, self.keepers.get(id(node)), variant_of(node)
        before, books.moved = self.moments[-1].live, [*NOTHING]
        about, known = About(sign_of(node.op)) if kept is None else kept.about, len(books.log)
        for array in arrays_in((gy, *gxs)):
            books.hold(array, Of.GRADIENTS, about, variant is None)
        fresh = sum([holding.nbytes for holding in books.log[known:]])
        if kept is not None:
            if node.saved is None:
                self.keeps(kept, {})
            for part in kept.parts:
                self.reread(part(), about)
        if variant is not None:
            program = variant.pull(tuple(sorted(gy))).variant((), ()).run.program
            self.ran(program, before, about, lambda i: Of.GRADIENTS, late=True)  # what it reads is there until its end
        elif not isinstance(node.op, Output):  # which hands on what arrives
            freed = before[Of.SAVED] - books.counted[Of.SAVED]
            self.write((SENDS[fresh > 0] + LETS * (freed > 0), about.op, fresh, freed), about, late=True)
        self.gauge.end()

    def stepped(self, optimizer: Any) -> None:
        self.phase = "update"
        self.optimizers[id(optimizer)] = optimizer
        self.note(f"{optimizer.name} has moved the parameters", About(optimizer.name, "", place()))

    def session_ran(self, session: Session, plan: RunPlan, given: Sequence[Any], ys: Sequence[Any]) -> None:
        """A session's run, while the old values of its variables are there."""
        for x in plan.run.graph.inputs:
            refuse_gpu(f"{x} is", x)
        where = place()
        self.begin()
        self.phase = "update" if plan.pruned.writes else "forward"
        books, before, about = self.books, self.live(), About("Session.run", "", where)
        books.moved = [*NOTHING]
        names = *plan.sources, *[None] * plan.fetched, *plan.pruned.writes, None
        consumers = [held_as(name, session, plan) for name in names]
        held = [each for each in zip((*given, *ys), names, consumers) if each[0] is not None]
        for array, _, consumer in held:
            books.hold(array, consumer, about)
        program: Any = plan.run.program
        self.ran(program, before, about, lambda i: consumers[len(given) + i])
        for array, name, consumer in held:
            if isinstance(name, str) and owner(array) is not owner(state_of(name, session)):
                books.hold(array, Of.WORKSPACE)  # if anybody has it, the program, to hand it out again
                books.changed(books.noted(array), consumer, -1)
        self.gauge.end()

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
        if self.exact:
            self.gauge.open()
        self.note("nothing has run yet")
        self.block = in_mode(watchers=(*current.mode.watchers, self), calls=current.mode.calls or ())
        self.block.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.block.__exit__(*raised)
        try:
            self.note("the block is at its end")
        finally:
            self.gauge.close()
            self.model, self.optimizers = None, {}

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

    def live(self) -> Live:
        """Bytes alive just now, by consumer."""
        return tuple(self.books.counted)

    # -- what is saved for backward ----------------------------------------------------------------------

    def read(self, record: Record, about: About) -> None:
        """Note what a record keeps just now."""
        kept, slots, there = self.keeper_of(record, about), record.rule.reads, {}
        for i, value in enumerate(record.saved or ()):
            if isinstance(value, Promise):
                kept.parts.append(ref(value.part))
                self.reread(value.part, about)
            for array in arrays_in([value]):
                there[i, id(array)] = slots[i] if i < len(slots) else None, array
        self.keeps(kept, there)

    def reread(self, part: Segment | None, about: About) -> None:
        """Note what a part of a checkpoint keeps just now."""
        if part is not None:
            kept = self.keeper_of(part, about._replace(op="a checkpoint"))
            self.keeps(kept, {name: (None, array) for name, array in part.held().items()})

    def keeper_of(self, who: Any, about: About) -> Keeper:
        """A record, or a part, as a keeper."""
        if id(who) not in self.keepers:
            self.keepers[id(who)] = Keeper(who, self.left, about)
        return self.keepers[id(who)]

    def dropped(self, kept: Any) -> None:
        """A record, or a part, went."""
        del self.keepers[kept.key]
        self.keeps(kept, {})

    def keeps(self, kept: Keeper, there: dict[Any, tuple[int | None, Any]]) -> None:
        """It keeps these arrays just now, name → (slot, array), and no others."""
        for name in [name for name in kept.savings if name not in there]:
            saving = kept.savings.pop(name)
            saving.last = self.books.number
            self.books.changed(saving.holding, Of.SAVED, -1)
        for name, (slot, array) in there.items():
            if name not in kept.savings:
                holding = self.books.noted(array)
                self.books.changed(holding, Of.SAVED, 1)
                saving = Saving(kept.about, slot, array.dtype, array.shape, holding, self.books.number)
                kept.savings[name] = saving
                self.savings.append(saving)

    def sync(self) -> None:
        """Look at what nobody tells of: which parameters there are, their gradients, what optimisers remember."""
        named = [] if self.model is None else self.model.named_parameters()
        found = [(p, ".".join([type(self.model).__name__, *name.split(".")[:-1]])) for name, p in named]
        for p, module in (*found, *((leaf, "") for leaf in [*self.leaves.values()])):
            refuse_gpu("a parameter is", p)
            self.books.hold(p.value, Of.PARAMETERS, About(module=module))
            if p.grad is not None:
                self.books.hold(p.grad.value, Of.GRADIENTS, About(module=module))
        for optimizer in self.optimizers.values():
            for p, state in optimizer.state.items():
                for array in arrays_in(state.values()):
                    self.books.hold(array, Of.STATE, About(module=self.books.noted(p.value).about.module))

    # -- moments ----------------------------------------------------------------------------------------

    def note(self, what: str, about: About = UNKNOWN) -> None:
        """A moment that whoever runs it has something to say of."""
        self.begin()
        self.sync()
        self.write(what, about)
        self.gauge.end()

    def begin(self) -> None:
        """An event. What was told before it was packed is looked at again."""
        self.gauge.begin()
        self.since = self.books.number
        while self.packed:
            record = self.packed.pop()()
            if record is not None:
                self.read(record, self.keepers[id(record)].about)

    def write(self, said: Said, about: About = UNKNOWN, live: Live | None = None, late: bool = False) -> None:
        """One more moment.

        live    if it is not what is alive just now
        late    whether what was let go in it was let go at its end
        """
        books, gauge = self.books, self.gauge
        books.number += 1
        since = self.since if late else None
        if live is not None or not gauge.is_open:
            self.moments.append(Moment(self.phase, said, live or self.live(), about, since=since if live else None))
            return
        counted = books.counted.copy()
        untold = gauge.now - gauge.own - gauge.start - (sum(counted) - books.old)
        late = late and gauge.extra >= books.freed > 0
        if late:
            counted[Of.SAVED] += books.freed
        inside = gauge.extra - books.freed * late
        self.moments.append(Moment(self.phase, said, tuple(counted), about, inside, untold, since if late else None))
        books.freed = gauge.extra = 0

    def ran(
        self, program: Program, before: Live, about: About, consumer: Callable[[int], int], late: bool = False
    ) -> None:
        """A program's run, the first time step by step as it was planned.

        consumer    number of an output → whose bytes it is
        """
        books, plan = self.books, program.plan
        is_new = id(program) not in books.holdings
        if is_new:
            # Of an object with a dictionary, as a program, Python 3.11's tracemalloc knows nothing.
            is_ours = any(tracemalloc.get_object_traceback(run) for run in program.idle)
            books.changed(books.added(program, program.text.size, about, is_ours), Of.WORKSPACE, 1)
        before = tuple(map(add, before, books.moved))  # memory that is handed out again was there before
        end, residents = self.live(), [t for t in plan.residents if t.offset is not None]
        working = [(k, step) for k, step in enumerate(plan.steps) if not step.is_view]
        ends = [[*steps][-1] for _, steps in groupby(working, lambda each: each[1].node)]
        for k, step in ends if is_new else ends[-1:]:
            out = handed(plan, k, consumer)
            live = [min(b + out.get(i, 0), max(b, e)) for i, (b, e) in enumerate(zip(before, end))]
            live[Of.WORKSPACE] = end[Of.WORKSPACE]
            used = sum(t.nbytes for t in residents if t.first <= k <= (t.last or 0))
            sign = "a copy" if step.node is None else sign_of(step.node.op)
            where = getattr(step.node, "place", None)
            there = about if where is None else About(sign, where.module, where)
            self.write((WORKS, sign, used, plan.size) if is_new else WORKS_AGAIN, there, tuple(live), late)
        self.write("the program is done, and has handed out what it made", about, late=late)


def refuse_gpu(what: str, x: Tensor | Node) -> None:
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


def state_of(name: str, session: Session) -> Any:
    """The array that a variable, or a captured tensor, holds in a session."""
    return session.values[name] if name in session.values else session.graph.states[name].value


def held_as(name: int | str | None, session: Session, plan: RunPlan) -> int:
    """Whose the bytes are of what a run reads and writes: of a feed, of what is fetched (None), or of that state."""
    if not isinstance(name, str):
        return Of.OTHER if name is None else Of.INPUTS
    state = session.graph.states[name]
    learns = state.trainable if isinstance(state, GraphVariable) else state.requires_grad
    return Of.PARAMETERS if learns else Of.STATE if name in plan.pruned.writes else Of.INPUTS


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
