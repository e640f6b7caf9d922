"""The stage of a trace: what a Python function does to symbols, and to tensors with values, while it is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

from .. import modes
from ..errors import EditedError, GraphError, NoGradientError
from ..node import Node
from ..op import Op
from ..spec import Spec
from ..staging import Captured, Stage, Traced
from ..tensor import Tensor
from .signature import leaked


class Slot:
    """The .grad of a leaf, as something that a graph reads: whatever tensor it is by then."""

    tracked = False
    node = None

    def __init__(self, leaf: Tensor, spec: Spec):
        self.leaf, self.spec = leaf, spec

    @property
    def value(self) -> Any:
        return self.leaf.grad.value  # type: ignore[union-attr]


class Tracing(Stage):
    """The stage of a trace.

    known       id of a tensor → what the caller calls it
    paths       name of an input → the same as Python reaches it, such as net.0.weight for net_0_weight
    arguments   the tensors that came as arguments, and their symbols
    noted       (id, attribute) → what Python read there, and decided by: (a weak reference to whose, value)
    recorded    ids of the tensors that were edited in place where that is recorded
    pulled      whether backward() was called
    closed      whether the trace is over
    """

    way_out = (
        "Return it from the function to see its value. To branch on it take mg.cond or where, to loop over it "
        "mg.while_loop or lax.fori_loop; or write Python's if and for in the function itself, and let mg.function "
        "convert them, as it does unless autograph=False"
    )

    way_in = (
        "a traced function reads tensors that have a value, such as mg.tensor(2.0, requires_grad=True) or a Parameter, "
        "at each run; a Variable and a placeholder have theirs in a session. " + Stage.way_in.capitalize()
    )

    def __init__(self, known: Mapping[int, str]):
        super().__init__()
        self.known = known
        self.paths: dict[str, str] = {}
        self.arguments: list[tuple[Tensor, Traced]] = []
        self.noted: dict[tuple[int, str], tuple[Callable[[], Any], Any]] = {}
        self.recorded: set[int] = set()
        self.pulled = self.closed = False

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Traced:
        if self.closed:
            symbol = next(x for x in operands if isinstance(x, Traced) and x.stage is self)
            raise GraphError(f"{leaked(symbol)}. Return it from the function that was traced")
        return super().apply(op, operands)

    def given(self, name: str, x: Tensor, spec: Spec) -> Traced:
        """The symbol of a tensor that came as an argument, and is taken for one of that spec."""
        symbol = self.argument(identifier(name), spec)
        self.paths[symbol.name] = name
        self.arguments.append((x, symbol))
        return symbol

    def capture(self, x: Any) -> Traced:
        return self.reading(x, self.path(x)) if id(x) not in self.captured else self.captured[id(x)].symbol

    def origins(self) -> dict[Node, Any]:
        given = {node: x for node, (x, _) in zip(self.inputs, self.arguments)}
        return super().origins() | given

    def reading(self, x: Any, path: str) -> Traced:
        """The symbol of something from outside, which is captured now."""
        node = self.input(identifier(path), x.spec)
        self.paths.setdefault(node.name, path if identifier(path) == node.name else node.name)
        self.captured[id(x)] = Captured(x, node, Traced(node, self))
        return self.captured[id(x)].symbol

    def path(self, x: Any) -> str:
        """How the Python function reaches it; what is remembered of a parameter is named after that."""
        name = getattr(x, "name", None) or "captured"
        owners: Any = getattr(x, "owners", ())
        if len(owners) == 1 and id(owners[0]) in self.known:
            name = f"{self.known[id(owners[0])]}.{name}"
        return self.known.get(id(x), name)

    def noticed(self, what: Any, attribute: str, value: Any) -> None:
        self.noted.setdefault((id(what), attribute), (ref(what), value))

    def editing(self, x: Any) -> None:
        if modes.current.mode.recording:
            what = next((t for t, symbol in self.arguments if symbol is x), x)
            self.recorded.add(id(what))
            refuse_leaf(what)

    def grad_of(self, x: Any, before: Any) -> Any:
        if id(x) not in self.grads:
            self.noticed(x, "grad", before is not None)
            if before is None:
                return None
            slot = Slot(x, before.spec)
            self.grads[id(x)] = x, self.reading(slot, f"{self.path(x)}.grad")
        return self.grads[id(x)][1]

    def backward(self, y: Traced, gradient: Any) -> None:
        if self.closed:
            raise GraphError(f"{leaked(y)}. Return it from the function that was traced, and call backward() on that")
        super().backward(y, gradient)

    def pulling(self) -> None:
        wanting = [symbol.name for x, symbol in self.arguments if x.tracked]
        if wanting:
            raise NoGradientError(
                f"backward() inside a traced function gives a .grad to the parameters that it reaches, and not to its "
                f"arguments, of which {', '.join(wanting)} wants one: take mg.autograd.grad(loss, x) inside, or call "
                "backward() on what the function returns"
            )
        self.pulled = True


def refuse_leaf(x: Any) -> None:
    """Raises EditedError where a recorded edit is one of a leaf that requires a gradient."""
    if isinstance(x, Tensor) and x.tracked and x.is_leaf:
        raise EditedError(
            f"{x.spec} is a leaf that requires a gradient, and is edited in place: edit it inside "
            "`with no_grad():`, or make a new tensor, as x = x + 1 does"
        )


def identifier(path: str) -> str:
    """A path such as `batch[0]` or `net.0.weight` as one word."""
    word = "".join(c if c.isalnum() else "_" for c in path).strip("_")
    return word if word and not word[0].isdigit() else f"x_{word}"
