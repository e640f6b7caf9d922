"""Tensor: a value, and the node that says where it came from.

Every operation goes through `Tensor.apply`, the one door: look up the plan, compute, record, tell.
What can be done to a tensor is listed in operand.py.
"""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any

import numpy as np

from . import modes, ops
from .device import Device, device, device_of
from .errors import DTypeError, NoGradientError, ShapeError
from .grad_fn import GradFn
from .node import Node, toposort
from .op import Op
from .operand import Operand
from .plan import plan
from .pullback import compiled_pull, freeing_pull, pullback, refuse_freed, watched
from .spec import Spec, spec_of

SMALL_BYTES = 256  # a leaf this small is kept by its node, so that a graph of numbers can always be drawn


class Tensor(Operand):
    """An n-dimensional array that remembers its origin.

    value    the array
    spec     its shape, dtype and device
    node     where it came from; None as long as nobody asked
    """

    __slots__ = ("__weakref__", "node", "spec", "value")

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None):
        self.value = array_of(data, dtype, device)
        self.spec: Spec = spec_of(self.value)
        self.node: Node | None = None
        if requires_grad:
            self.requires_grad_()

    # -- the one door -------------------------------------------------------------------

    def apply(self, op: Op, *others: Any) -> Tensor:
        """The result of `op` on self and others. Raises what `op.infer` raises on operands that do not fit."""
        xs = (self, *[o if type(o) is Tensor else self.lift(o) for o in others])
        specs = tuple([x.spec for x in xs])
        planned = op.plans.get(specs) or plan(op, specs)
        values = [x.value for x in xs]
        y = made(op.forward(planned.xp, *values), planned.spec)

        mode = modes.current.get()
        if mode.recording:
            wanted = tuple([x.node is not None and x.node.needs_grad for x in xs])
            if True in wanted:
                rule = planned.rules.get(wanted) or planned.rule(wanted)
                if rule is not None:
                    y.node = Node(op, tuple([origin(x) for x in xs]), y.spec, True, rule, rule.keep(y.value, *values))
        for watcher in mode.watchers:
            watcher.saw(y, origin(y))
        return y

    def lift(self, o: Any) -> Tensor:
        if isinstance(o, Tensor):
            return o
        if isinstance(o, int | float) and not isinstance(o, np.generic):
            # −0.0 and 0.0 are one key to a cache, and two numbers to a division.
            return constant(o, self.spec) if o else constant.__wrapped__(o, self.spec)
        return Tensor(o, device=self.spec.device)

    # -- derivatives --------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether backward will pass through here."""
        return self.node is not None and self.node.needs_grad

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients of this leaf. Raises DTypeError for integers and booleans."""
        if not self.is_leaf:
            raise NoGradientError(f"only a leaf can be told to require gradients, and this is a result of {self.node}")
        if requires_grad and not self.spec.is_float:
            raise DTypeError(
                f"a gradient says how much a small nudge matters, and {self.spec} cannot be nudged: "
                "make it floating, as in tensor([1., 2.]) or x.astype(float)"
            )
        if requires_grad != self.requires_grad:  # a leaf that is in a graph already stays in it
            self.node = leaf(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by hand, not by an op that was recorded."""
        return self.node is None or not self.node.inputs

    @property
    def grad_fn(self) -> GradFn | None:
        """The derivative that backward will run first; None on a leaf."""
        return None if self.node is None or not self.node.inputs else GradFn(self.node)

    @property
    def grad(self) -> Tensor | None:
        """What backward() left here; None before, and on whatever is no leaf."""
        return None if self.node is None else self.node.grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None and (not isinstance(grad, Tensor) or grad.shape != self.shape):
            raise ShapeError(f"the gradient of {self.spec} is a tensor of that shape, and got {grad!r}")
        origin(self).grad = grad

    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Add ∂self/∂leaf to `.grad` of every leaf that requires it, and free what was kept for it.

        gradient        what arrives from outside, in self's shape; 1 for a tensor of one element

        Raises NoGradientError if self depends on nothing that requires a gradient, or has many elements
        and no `gradient` came; FreedError on a second call, unless the first said retain_graph=True.
        """
        if self.node is None or not self.node.needs_grad:
            raise NoGradientError(
                f"backward() from {self.spec}: it depends on no tensor with requires_grad=True. "
                "Make one of its leaves with requires_grad=True, and compute it outside no_grad()"
            )
        order = [node for node in toposort(self.node) if node.needs_grad]
        refuse_freed(order)
        pull = watched(compiled_pull if retain_graph else freeing_pull)
        seed = arriving(self, gradient)
        accumulate(pullback(order, {self.node: seed}, pull), seed)

    def detach(self) -> Tensor:
        """The same value, with no origin."""
        return made(self.value, self.spec)

    # -- its value ----------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The value as a NumPy array: on the CPU the same memory, not a copy."""
        array: np.ndarray = device("cpu").array(self.value)
        return array

    @property
    def data(self) -> Any:
        """The array itself; assigning one of the same shape and dtype replaces it, unrecorded."""
        return self.value

    @data.setter
    def data(self, data: Any) -> None:
        value = array_of(data, self.dtype, self.spec.device)
        if value.shape != self.shape:
            raise ShapeError(f"data of {self.spec} is replaced by the same shape, and got {value.shape}")
        self.value = value

    def item(self) -> Any:
        """The one element as a Python number."""
        if self.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, and this is {self.spec}: index or reduce it first")
        return self.value.item()

    def to(self, where: Device | str) -> Tensor:
        """The same value on another device, with no origin; self if it is there."""
        return self if device(where) is self.spec.device else Tensor(self.value, device=where)

    def __bool__(self) -> bool: return bool(self.item())
    def __float__(self) -> float: return float(self.item())
    def __int__(self) -> int: return int(self.item())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise NoGradientError("only a leaf can be copied, and this one carries its history: copy x.detach()")
        copied = memo[id(self)] = Tensor(self.value.copy(), requires_grad=self.requires_grad)
        if self.grad is not None:
            copied.grad = Tensor(self.grad.value.copy())
        return copied

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype, copy=copy)

    def __repr__(self) -> str:
        values = np.array2string(self.numpy(), separator=", ", precision=4, prefix="tensor(")
        kind = "" if self.dtype in (np.float64, np.int64, np.bool_) else f", dtype={self.dtype}"
        origin = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        return f"tensor({values}{kind}{origin})"


# -- the two ends of backward -------------------------------------------------------------------


def arriving(y: Tensor, gradient: Any) -> Any:
    """The gradient that arrives at y from outside, as an array of y's spec."""
    if gradient is None:
        if y.size != 1:
            raise NoGradientError(
                f"backward() starts from one number, and this is {y.spec}: reduce it, as in .sum() or .mean(), or say "
                "how much each element counts with backward(gradient=…)"
            )
        return y.spec.device.xp.ones(y.shape, y.dtype)
    array = array_of(gradient, y.dtype, y.spec.device)
    if array.shape != y.shape:
        raise ShapeError(f"gradient= needs the shape of {y.spec}, and got {array.shape}")
    return array


def accumulate(grads: dict[Node, Any], seed: Any) -> None:
    """Add each leaf's gradient to its `.grad`, as an array that nobody else holds."""
    taken = {id(seed)}
    for node, g in grads.items():
        if node.grad is not None:
            node.grad = made(node.grad.value + g, node.spec)
            continue
        # A rule may pass on the very array it got, or a view of it.
        own = not isinstance(g, np.generic) and g.flags.owndata and id(g) not in taken
        taken.add(id(g))
        node.grad = made(g if own else g.copy(), node.spec)


# -- making tensors ---------------------------------------------------------------------------


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None) -> Tensor:
    """A new leaf from a number, nested lists or an array, which is copied.

    Python floats become float64, and integers int64, unless `dtype` says otherwise.
    """
    value = array_of(data, dtype, device)
    return Tensor(value.copy() if value is getattr(data, "value", data) else value, None, requires_grad, device)


def made(value: Any, spec: Spec) -> Tensor:
    """A tensor around a value whose spec is known, with no origin yet."""
    y: Tensor = Tensor.__new__(Tensor)
    y.value = np.asarray(value) if isinstance(value, np.generic) else value  # NumPy may give a number for an array
    y.spec = spec
    y.node = None
    return y


@lru_cache(maxsize=1024, typed=True)
def constant(number: float, beside: Spec) -> Tensor:
    """A Python number as the tensor it is beside a tensor of that spec."""
    dtype = np.result_type(beside.dtype, number)
    y = Tensor(number, dtype, device=beside.device)
    y.node = Node(ops.const(number), (), y.spec)
    return y


def array_of(data: Any, dtype: Any, where: Device | str | None) -> Any:
    """`data` as an array of numbers on a device. Raises DTypeError on what is no number."""
    data = data.value if isinstance(data, Tensor) else data
    if isinstance(data, list | tuple):
        data = unwrapped(data)
    place = device_of(data) if where is None else device(where)
    try:
        array = place.array(data, dtype)
    except ValueError as reason:
        if "inhomogeneous" in str(reason):
            raise ShapeError(f"a tensor needs rows of equal length: {reason}") from None
        raise DTypeError(f"a tensor holds numbers: {reason}") from None
    if array.dtype.kind not in "fiub":
        raise DTypeError(f"a tensor holds real numbers, integers or booleans, and this is {array.dtype}: {data!r}")
    return array


def unwrapped(data: Any) -> Any:
    """Nested lists with the tensors in them replaced by their arrays."""
    if isinstance(data, list | tuple):
        return [unwrapped(d) for d in data]
    return data.value if isinstance(data, Tensor) else data


def leaf(x: Tensor, needs_grad: bool) -> Node:
    """The node of a tensor that no op made."""
    node = Node(ops.Leaf(), (), x.spec, needs_grad, None, (x.value,) if x.value.nbytes <= SMALL_BYTES else ())
    node.tensor = weakref.ref(x)
    return node


def origin(x: Tensor) -> Node:
    """x's node, made now if nobody asked before."""
    if x.node is None:
        x.node = leaf(x, False)
    return x.node
