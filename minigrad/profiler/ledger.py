"""The ledger counts live bytes by purpose: each array from when the engine reports it until it is freed.

The ledger watches a run, and enters every array of ops, derivatives, `.grad` and optimisers in its books (books.py).
It reads the consumer of each array from the engine's own records: what a record saved, what a checkpoint holds, what
an optimiser keeps as state.

The books cannot see temporaries inside an op, such as a convolution's columns or attention's weights. With exact=True
the ledger asks tracemalloc, to which NumPy reports its memory, at each event for the peak since the last event. The
bytes by which this peak exceeds the books are `inside` the op. Bytes that are alive but in no book are `untold`:
Python's own objects, arrays that no op has seen, a sum of gradients that is still incomplete. So the total is what
tracemalloc measures, and `untold` shows how accurate the books are.

To a watcher, a compiled program is one op. The ledger takes its steps from the program's memory plan: the workspace is
alive from the first call on, and each output from the step that writes it.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import groupby
from operator import add
from types import SimpleNamespace
from typing import Any, Self
from weakref import WeakValueDictionary, ref

import numpy as np

from ..autograd.function_rule import Output, keeper
from ..autograd.graph import Unpacking, innermost
from ..draw.rules import sign_of
from ..engine.base.device import CPU
from ..engine.base.pytree import leaves
from ..engine.base.spec import spec_of
from ..engine.base.table import Table
from ..engine.core.calls import module_path
from ..engine.core.modes import current, in_mode
from ..engine.core.node import Node, Place, Record, Source, place
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..engine.tensor.tensor import Tensor
from ..graph.compiled_graph import Backward, CompiledCall
from ..graph.compiler.program.memory_plan import MemoryPlan
from ..graph.compiler.program.program import Program
from ..graph.session import RunPlan, Session
from ..graph.variable import GraphVariable
from ..nn.module import Module
from ..optim.optimizer import Optimizer
from ..utils.checkpoint import Promise, Segment
from .books import NOTHING, UNKNOWN, About, Books, Consumer, Gauge, Live, WeakEntry
from .memory_table import Moment, Said, Saving, table


def memory(model: Any = None, optimizer: Any = None, inputs: Any = (), exact: bool = True) -> Ledger:
    """`with mg.profiler.memory(model) as ledger:` counts live memory: ledger.peak, .table(), .timeline().

    model        its parameters are counted from the start; without it, a leaf that requires a gradient counts as a
                 parameter from its first use
    optimizer    its state is counted from the start; without it, from the optimizer's first step() that is not compiled
    inputs       tensors to count from the start; other leaves count as inputs from their first use
    exact        also measure, by tracemalloc, temporaries inside ops and memory that is in no book. This takes about
                 0.15 ms for each op; the books alone take 0.03

    If the model, the optimizer or an input is PyTorch's, a PyTorch step is counted, on any device (pytorch_memory.py);
    `exact` then has no effect.

    It counts NumPy's memory in this thread: of eager ops, compiled functions and session runs. The records of the graph
    are Python objects, about 2 kilobytes for each op, and so is compiled code in a first step. Where arrays are much
    larger than that, the books are within 2 % of tracemalloc.
    """
    if of_pytorch(model, optimizer, inputs):
        ledger: Ledger = import_module(".pytorch_memory", __package__).TorchLedger(model, optimizer, leaves(inputs))
        return ledger
    return Ledger(model, optimizer, [inputs] if isinstance(inputs, Tensor) else inputs, exact)


def of_pytorch(*given: Any) -> bool:
    """Whether any of these is a PyTorch module, tensor or optimizer. Does not import PyTorch to find out."""
    torch = sys.modules.get("torch")
    kinds = () if torch is None else (torch.nn.Module, torch.Tensor, torch.optim.Optimizer)
    return any(isinstance(x, kinds) for x in leaves(given))


GIVES = "{} gives {}, {:,} bytes"
AGAIN = f"once more, {GIVES}: a checkpoint runs its part again"
SENDS = (
    "the derivative of {0} sends its gradient on as it is",
    "the derivative of {0} sends on {1:,} new bytes of gradients",
)
WORKS = "in the program, {}: {:,} of the {:,} bytes of its workspace are in use"
WORKS_IN_NONE = "in the program, {}: its plan needs no workspace"
WORKS_AGAIN = "the same program runs again, in the same workspace"
LETS = ", and lets go {2:,} bytes that were kept for it"


class Keeper(WeakEntry):
    """A record, or a segment of a checkpoint, that keeps arrays for backward.

    savings    name → an array that it keeps
    parts      checkpoint segments that will recompute values for this record
    """

    __slots__ = ("about", "parts", "savings")

    def __init__(self, who: Any, callback: Callable[[Any], None], about: About):
        self.key, self.about = id(who), about
        self.savings: dict[Any, Saving] = {}
        self.parts: list[ref[Segment]] = []


class Ledger:
    """The live memory of a run, moment by moment.

    model, optimizer, inputs    their arrays are counted from the start; others from their first use
    exact                       whether tracemalloc measures too
    phase                       the current phase of the run: start, forward, backward or update
    moments                     each op, derivative and update, with the bytes alive at that time
    """

    holds = False  # this watcher keeps no values: an edit in place may overwrite them

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
        self.left = self.remove_keeper  # one callback for all weak references
        self.leaves: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
        self.places: dict[Place | None, Place | None] = {}  # so that each line is stored once
        self.packed: list[ref[Record]] = []  # records reported before their saved values were packed
        self.rest: tuple[Op | None, int] = None, 0  # the op of a call, and how many more results it will report
        for x in inputs:
            if not isinstance(x, Tensor):
                raise TypeError(f"inputs are tensors, and got {x!r}")
            refuse_gpu("an input is", x)
            self.books.hold(x.value, Consumer.INPUTS)
        self.sync()

    # -- watcher callbacks ------------------------------------------------------------------------------

    def on_forward(self, op: Op, y: Tensor | None, xs: tuple[Tensor, ...], again: bool = False) -> None:
        if y is None:
            return
        refuse_gpu(f"{op} gave", y)
        if self.rest[0] is op and self.rest[1]:  # another result of the same call
            self.rest = op, self.rest[1] - 1
            self.books.find_or_add(y.value, self.moments[-1].about)
            return
        where = place()  # before the event begins, as reading frames makes Python objects
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
        self.books.find_or_add(y.value, about, not is_program)
        record = keeper(y) if y.tracked else None
        if isinstance(record, Record) and id(record) not in self.keepers:
            self.read(record, about)
            if innermost() is not None:
                self.packed.append(ref(record))
        if is_program:
            variant: Any = op.compiled().select_variant(xs)  # type: ignore[attr-defined]
            n = len(variant.specs)
            self.rest = op, n - variant.specs.count(None) - 1
            self.record_program(
                variant.run.program, before, about, lambda i: Consumer.OTHER if i < n else Consumer.SAVED
            )
        else:
            self.write((AGAIN if again else GIVES, about.op, y.spec, y.value.nbytes), about)
        self.gauge.end()

    def operand(self, x: Tensor, about: About) -> None:
        """Enter an operand: a leaf that requires a gradient is a parameter, any other leaf an input."""
        books, node = self.books, x.node
        known = books.find_holding(x.value)
        holding = known or books.find_or_add(x.value, About("", about.module, about.place))
        if x.tracked and not node.inputs and not holding.about.op:
            books.hold(x.value, Consumer.PARAMETERS)
            self.leaves[id(x)] = x
        elif known is None and (node is None or isinstance(node, Source)):
            books.hold(x.value, Consumer.INPUTS)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        self.begin()
        self.phase = "backward"
        books, kept, variant = self.books, self.keepers.get(id(node)), variant_of(node)
        before, books.moved = self.moments[-1].live, [*NOTHING]
        about, known = About(sign_of(node.op)) if kept is None else kept.about, len(books.log)
        for array in arrays_in((gy, *gxs)):
            books.hold(array, Consumer.GRADIENTS, about, variant is None)
        fresh = sum([holding.nbytes for holding in books.log[known:]])
        if kept is not None:
            if node.saved is None:
                self.update_savings(kept, {})
            for part in kept.parts:
                self.reread(part(), about)
        if variant is not None:
            program = variant.pull(tuple(sorted(gy))).variant((), ()).run.program
            # the program's inputs are alive until it ends
            self.record_program(program, before, about, lambda i: Consumer.GRADIENTS, late=True)
        elif not isinstance(node.op, Output):  # an Output only passes its gradient on
            freed = before[Consumer.SAVED] - books.counted[Consumer.SAVED]
            self.write((SENDS[fresh > 0] + LETS * (freed > 0), about.op, fresh, freed), about, late=True)
        self.gauge.end()

    def on_step(self, optimizer: Any) -> None:
        self.phase = "update"
        self.optimizers[id(optimizer)] = optimizer
        self.note(f"{optimizer.name} has moved the parameters", About(optimizer.name, "", place()))

    def session_ran(self, session: Session, plan: RunPlan, given: Sequence[Any], ys: Sequence[Any]) -> None:
        """Enter a session's run; called while the old values of the session's variables are still alive."""
        for x in plan.run.graph.inputs:
            refuse_gpu(f"{x} is", x)
        where = place()
        self.begin()
        self.phase = "update" if plan.pruned.writes else "forward"
        books, before, about = self.books, self.live(), About("Session.run", "", where)
        books.moved = [*NOTHING]
        names = *plan.sources, *[None] * plan.fetched, *plan.pruned.writes, None
        consumers = [consumer_of(name, session, plan) for name in names]
        held = [each for each in zip((*given, *ys), names, consumers) if each[0] is not None]
        for array, _, consumer in held:
            books.hold(array, consumer, about)
        program: Any = plan.run.program
        self.record_program(program, before, about, lambda i: consumers[len(given) + i])
        for array, name, consumer in held:
            if isinstance(name, str) and owner(array) is not owner(state_of(name, session)):
                books.hold(array, Consumer.WORKSPACE)  # if the array is alive, the program keeps it for reuse
                books.change_holders(books.find_or_add(array), consumer, -1)
        self.gauge.end()

    @property
    def again(self) -> Any:
        """The watcher of the ops that a checkpoint recomputes."""
        return SimpleNamespace(on_forward=partial(self.on_forward, again=True), on_backward=self.on_backward)

    # -- the block --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self.moments:
            raise RuntimeError("a ledger records one block, and this one is already used: make another")
        if any(isinstance(watcher, Ledger) for watcher in self.watchers()):
            raise RuntimeError("another ledger is open in this thread: read that one, or close it first")
        if self.exact:
            self.gauge.open()
        self.note("nothing has run yet")
        self.block = self.watch()
        self.block.__enter__()
        return self

    def watchers(self) -> Iterable[Any]:
        """The watchers of this thread's ops."""
        return current.mode.watchers

    def watch(self) -> Any:
        """A block whose ops are reported to this ledger."""
        return in_mode(watchers=(*current.mode.watchers, self), calls=current.mode.calls or ())

    def __exit__(self, *raised: object) -> None:
        self.block.__exit__(*raised)
        self.phase = "end"
        try:
            self.note("the block ends")
        finally:
            self.gauge.close()
            self.model, self.optimizers = None, {}

    # -- results ----------------------------------------------------------------------------------------

    @property
    def peak(self) -> Moment:
        """The moment with the most bytes alive; the first, if several are equal."""
        return max(self.timeline(), key=lambda moment: moment.total)

    def timeline(self) -> list[Moment]:
        """Every moment so far. `mg.widgets.MemoryTimeline(ledger)` draws them."""
        if not self.moments:
            raise RuntimeError("the ledger has seen nothing yet: run a step in `with mg.profiler.memory() as ledger:`")
        return [*self.moments]

    def table(self, by: str = "consumer") -> Table:
        """Live bytes by "consumer", now and at the peak; by "module", at the peak; or bytes saved by "op" or "line"."""
        return table(self, by)

    def __repr__(self) -> str:
        return str(self.table()) if self.moments else "Ledger(nothing yet)"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def live(self) -> Live:
        """Bytes alive just now, by consumer."""
        return tuple(self.books.counted)

    # -- arrays saved for backward -----------------------------------------------------------------------

    def read(self, record: Record, about: About) -> None:
        """Read which arrays a record keeps now."""
        kept, slots, there = self.keeper_of(record, about), record.rule.reads, {}
        for i, value in enumerate(record.saved or ()):
            if isinstance(value, Promise):
                kept.parts.append(ref(value.part))
                self.reread(value.part, about)
            for array in arrays_in([value]):
                there[i, id(array)] = slots[i] if i < len(slots) else None, array
        self.update_savings(kept, there)

    def reread(self, part: Segment | None, about: About) -> None:
        """Read which arrays a checkpoint segment keeps now."""
        if part is not None:
            kept = self.keeper_of(part, about._replace(op="a checkpoint"))
            self.update_savings(kept, {name: (None, array) for name, array in part.live_arrays().items()})

    def keeper_of(self, who: Any, about: About) -> Keeper:
        """The keeper of a record or a checkpoint segment."""
        if id(who) not in self.keepers:
            self.keepers[id(who)] = Keeper(who, self.left, about)
        return self.keepers[id(who)]

    def remove_keeper(self, kept: Any) -> None:
        """Called when a record, or a checkpoint segment, is freed: its savings end."""
        del self.keepers[kept.key]
        self.update_savings(kept, {})

    def update_savings(self, kept: Keeper, there: dict[Any, tuple[int | None, Any]]) -> None:
        """Set the arrays that a keeper keeps now: name → (slot, array)."""
        for name in [name for name in kept.savings if name not in there]:
            saving = kept.savings.pop(name)
            saving.last = self.books.number
            self.books.change_holders(saving.holding, Consumer.SAVED, -1)
        for name, (slot, array) in there.items():
            if name not in kept.savings:
                holding = self.books.find_or_add(array)
                self.books.change_holders(holding, Consumer.SAVED, 1)
                saving = Saving(kept.about, slot, spec_of(array), holding, self.books.number)
                kept.savings[name] = saving
                self.savings.append(saving)

    def sync(self) -> None:
        """Read what the engine does not report: parameters, their gradients, optimiser state."""
        named = [] if self.model is None else self.model.named_parameters()
        found = [(p, ".".join([type(self.model).__name__, *name.split(".")[:-1]])) for name, p in named]
        for p, module in (*found, *((leaf, "") for leaf in [*self.leaves.values()])):
            refuse_gpu("a parameter is", p)
            self.books.hold(p.value, Consumer.PARAMETERS, About(module=module))
            if p.grad is not None:
                self.books.hold(p.grad.value, Consumer.GRADIENTS, About(module=module))
        for optimizer in self.optimizers.values():
            for p, state in optimizer.state.items():
                for array in arrays_in(state.values()):
                    self.books.hold(array, Consumer.STATE, About(module=self.books.find_or_add(p.value).about.module))

    # -- moments ----------------------------------------------------------------------------------------

    def note(self, what: str, about: About = UNKNOWN) -> None:
        """Add a moment that is described by this text."""
        self.begin()
        self.sync()
        self.write(what, about)
        self.gauge.end()

    def begin(self) -> None:
        """Start an event. Records reported before their values were packed are read again."""
        self.gauge.begin()
        self.since = self.books.number
        while self.packed:
            record = self.packed.pop()()
            if record is not None:
                self.read(record, self.keepers[id(record)].about)

    def write(self, said: Said, about: About = UNKNOWN, live: Live | None = None, late: bool = False) -> None:
        """Add a moment.

        live    bytes alive by consumer; None for the present ones
        late    whether memory freed in this moment was freed at its end
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
            counted[Consumer.SAVED] += books.freed
        inside = gauge.extra - books.freed * late
        self.moments.append(Moment(self.phase, said, tuple(counted), about, inside, untold, since if late else None))
        books.freed = gauge.extra = 0

    def record_program(
        self, program: Program, before: Live, about: About, consumer: Callable[[int], int], late: bool = False
    ) -> None:
        """Add the moments of a program's run: all planned steps of its first run, but only the last step of later runs.

        consumer    index of an output → its consumer
        """
        books, plan = self.books, program.plan
        is_new = id(program) not in books.holdings
        if is_new:
            # Python 3.11's tracemalloc does not know objects with a dictionary, such as a program.
            is_ours = any(tracemalloc.get_object_traceback(run) for run in program.idle)
            size = program.text.size + program.loops.nbytes
            books.change_holders(books.add_holding(program, size, about, is_ours), Consumer.WORKSPACE, 1)
        before = tuple(map(add, before, books.moved))  # reused output memory was alive before
        end, residents = self.live(), [t for t in plan.residents if t.offset is not None]
        working = [(k, step) for k, step in enumerate(plan.steps) if not step.is_view]
        ends = [[*steps][-1] for _, steps in groupby(working, lambda each: each[1].node)]
        for k, step in ends if is_new else ends[-1:]:
            out = output_bytes(plan, k, consumer)
            live = [min(b + out.get(i, 0), max(b, e)) for i, (b, e) in enumerate(zip(before, end))]
            live[Consumer.WORKSPACE] = end[Consumer.WORKSPACE]
            used = sum(t.nbytes for t in residents if t.first <= k <= (t.last or 0))
            sign = "a copy" if step.node is None else sign_of(step.node.op)
            where = getattr(step.node, "place", None)
            there = about if where is None else About(sign, where.module, where)
            works = (WORKS_IN_NONE, WORKS)[plan.size > 0]
            self.write((works, sign, used, plan.size) if is_new else WORKS_AGAIN, there, tuple(live), late)
        self.write("the program is done, and has returned its outputs", about, late=late)


def refuse_gpu(what: str, x: Tensor | Node) -> None:
    """Raise ValueError if the array is not in CPU memory."""
    if x.spec.device is not CPU:
        raise ValueError(f'profiler.memory counts the memory of the CPU, and {what} {x.spec}: move it by .to("cpu")')


def arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays among these values, and in their tensors, lists, tuples and dictionaries."""
    for value in values:
        if isinstance(value, Tensor | np.ndarray):
            yield value.value if isinstance(value, Tensor) else value
        elif isinstance(value, dict | tuple | list):
            yield from arrays_in(value.values() if isinstance(value, dict) else value)


def state_of(name: str, session: Session) -> Any:
    """The array of a variable, or of a captured tensor, in a session."""
    return session.values[name] if name in session.values else session.graph.states[name].value


def consumer_of(name: int | str | None, session: Session, plan: RunPlan) -> int:
    """The consumer of an array that a run reads or writes: a feed (int), a fetched result (None), or a state (str)."""
    if not isinstance(name, str):
        return Consumer.OTHER if name is None else Consumer.INPUTS
    state = session.graph.states[name]
    learns = state.trainable if isinstance(state, GraphVariable) else state.requires_grad
    return Consumer.PARAMETERS if learns else Consumer.STATE if name in plan.pruned.writes else Consumer.INPUTS


def variant_of(record: Any) -> Any:
    """The variant of the compiled graph whose call made this record; None if no compiled graph made it."""
    rule = getattr(record, "rule", None)
    rule = rule.rule if isinstance(rule, Unpacking) else rule
    return rule.variant if isinstance(rule, Backward) else None


def output_bytes(plan: MemoryPlan, k: int, consumer: Callable[[int], int]) -> dict[int, int]:
    """Consumer → bytes of outputs that steps up to k have written."""
    out: dict[int, int] = {}
    for allocation, i in {plan.allocations.get(y.root): i for i, y in enumerate(plan.outputs) if y is not None}.items():
        if allocation is not None and allocation.argument is None and allocation.first <= k:
            out[consumer(i)] = out.get(consumer(i), 0) + allocation.nbytes
    return out
