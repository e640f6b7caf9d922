"""Tensor: a value, and the node that records where it came from.

Every operation goes through `Tensor.apply`: look up the plan, compute, record, notify the watchers.
The methods of a tensor are in methods/, by family.
"""

from __future__ import annotations

from functools import lru_cache
from math import copysign
from typing import Any, Self

import numpy as np

from .. import ops
from ..base.device import CPU, Device, blocks
from ..base.device import device as device_called
from ..base.dimension import Dimension
from ..base.dtypes import result_type
from ..base.errors import DTypeError, EditedError, GraphError, NoGradientError, ShapeError
from ..base.spec import Spec, spec_of
from ..core.hooks import TRACED, Handle, Hook, Hooks
from ..core.modes import current, is_inference_mode_enabled
from ..core.node import Node, Record
from ..core.op import Op
from ..methods import Operand, integers, lengths
from ..methods.arguments import axis_of
from .conversion import array_of, refuse_data, text
from .grad import backward, keeping, leaf, origin, replacing
from .inplace import InPlace, owns, view
from .rules import plan
from .symbol import Symbol
from .unroll import unroll_operands


class Tensor(InPlace, Operand):
    """An n-dimensional array that remembers its origin.

    value      the array
    spec       its shape, dtype and device
    node       records where the tensor came from; None until the node is needed
    tracked    whether backward will pass through this tensor; None for a tensor made in inference_mode
    alias      for a view, the memory that it shares: ViewInfo in inplace.py
    views      weak references to the views of its memory
    """

    __slots__ = ("__weakref__", "_grad", "alias", "node", "spec", "tracked", "value", "views")

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None):
        self.value = array_of(data, dtype, device)
        self.spec: Spec = spec_of(self.value)
        self.node: Any = None
        self.tracked: bool | None = current.mode.tracked
        if (builder := current.mode.builder) is not None:
            builder.born[id(self)] = self
        if requires_grad:
            self.requires_grad_()

    # -- applying ops -------------------------------------------------------------------

    @unroll_operands
    def apply(self, op: Op, *others: Any) -> Tensor:
        """The result of `op` on self and others. Raises the errors of `op.infer` if the operands do not fit."""
        if (mode := current.mode).door is not None:
            return mode.door.apply(op, (self, *others))  # type: ignore[no-any-return]
        xs = (self, *[o if isinstance(o, Tensor) else self.lift(o) for o in others])
        _, *others = xs  # type: ignore[assignment]
        planned = op.plans.get(specs := tuple([x.spec for x in xs])) or plan(op, specs)
        y: Tensor = _new(Tensor)
        y.spec, run = planned.spec, planned.run
        y.value, y.node, y.tracked = run(*[x.value for x in xs]), None, mode.tracked
        if mode.recording and True in (wanted := tuple([x.tracked for x in xs])):  # noqa: SIM102  (too long for one)
            if rule := planned.rules.get(wanted) or planned.rule(wanted):
                inputs, keep = tuple([x.node or origin(x) for x in xs]), rule.keep
                y.node, y.tracked = Record(op, inputs, rule, keep(y.value, *[x.value for x in xs])), True
        if op.is_view:
            view(y, self, op)
        for watcher in mode.watchers:
            watcher.on_forward(op, y, xs)
        return y

    def lift(self, o: Any) -> Tensor:
        if isinstance(o, Tensor):
            return o
        if current.mode.builder is not None:
            return current.mode.builder.lift(o, self.spec)  # type: ignore[no-any-return]
        if isinstance(o, Symbol):
            raise GraphError(
                f"{o}, built at {getattr(o.node, 'place', None)}, has no value yet, so it cannot be combined with the "
                f"tensor {self.spec}: build inside `with graph.as_default():`, where a tensor becomes part of the graph"
            )
        if isinstance(o, int | float) and not isinstance(o, np.generic):
            return constant(o, self.spec, copysign(1.0, o))
        return Tensor(o, device=self.spec.device)

    def seed_gradient(self, gradient: Any) -> Any:
        """The gradient that the user passes in, with self's spec; by default 1 for a tensor of one element."""
        if gradient is None:
            if self.spec.size != 1:
                raise NoGradientError(
                    f"backward() starts from one number, and this is {self.spec}: reduce it, as in .sum() or .mean(), "
                    "or pass a gradient of that shape, backward(gradient=…)"
                )
            return wrap_array(self.spec.device.xp.ones(self.spec.shape, self.spec.dtype), self.spec)
        given = gradient if isinstance(gradient, Operand) else Tensor(gradient, self.dtype, device=self.spec.device)
        if given.shape != self.shape:
            raise ShapeError(f"gradient= needs the shape of {self.spec}, and got {given.shape}")
        return given.astype(self.dtype)

    def with_node(self, value: Any, node: Node) -> Tensor:
        """A tensor with this value and this node."""
        x = wrap_array(value, node.spec)
        x.node, x.tracked = node, node.needs_grad
        return x

    @staticmethod
    def wrap_array(value: Any, spec: Spec) -> Tensor:
        """A tensor around an array whose spec is known, with no origin."""
        return wrap_array(value, spec)

    # -- its value ----------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The value as a NumPy array: on the CPU the same memory, not a copy."""
        return CPU.array(self._note_read("value").value)  # type: ignore[no-any-return]

    def _note_read(self, attribute: str) -> Self:
        """Self, after notifying the builder, if a graph is being built, that Python reads this attribute."""
        if current.mode.builder is not None:
            current.mode.builder.note_read(self, attribute)
        return self

    def item(self) -> Any:
        """The single element as a Python number."""
        if self.spec.size != 1:
            raise ShapeError(f"item() needs a tensor of one element, and this is {self.spec}: index or reduce it first")
        return self.numpy().item()

    def tolist(self) -> Any:
        """The elements as Python numbers, in nested lists."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.spec.dtype.kind not in "iub":
            raise DTypeError(f"only an integer tensor can be an index, and this is {self.spec}: use int(x)")
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype, copy=copy)

    @property
    def data(self) -> Tensor:
        """The same memory with no origin, as detach() returns it. Assigning to it replaces x's value, unrecorded."""
        return self.detach()

    @data.setter
    def data(self, data: Any) -> None:
        if (builder := current.mode.builder) is not None and (isinstance(data, Symbol) or id(self) not in builder.born):
            refuse_data(self, data)
        value = array_of(data, self.dtype, self.spec.device)
        if value.shape != self.shape:
            raise ShapeError(f"x.data = … keeps the shape: expected that of {self.spec}, and got {value.shape}")
        self.value = value

    def view(self, *shape: Any) -> Tensor:
        """The same memory in another shape. Raises ShapeError if that needs a copy; reshape makes the copy.

        A result that shares no memory is first rearranged to axis order, since convolutions return another order.
        """
        if current.mode.builder is not None:
            return super().view(*shape)
        if not self.value.flags.c_contiguous and owns(self):
            self.value = self.spec.device.xp.ascontiguousarray(self.value)
        return self.apply(ops.View(self._resolve_shape(integers(shape))))

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference_mode, and so can never have a gradient."""
        return self.tracked is None

    # -- as text --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        kind = "" if self.spec.dtype in (np.float64, np.int64, np.bool_) else f", dtype={self.spec.dtype}"
        origin = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        return f"tensor({text(self._note_read('value').value, 'tensor(')}{kind}{origin})"

    def __format__(self, form: str) -> str:
        """Format one number as Python does: f"{loss:.4f}"."""
        if not self.spec.shape:
            return format(self.item(), form)
        if form:
            raise ShapeError(f"{form!r} formats a single number, and this is {self.spec}: index or reduce it first")
        return str(self)

    # -- in memory ------------------------------------------------------------------------------

    def stride(self, dim: int | None = None) -> Any:
        """The distance in elements between neighbours along each axis, or along `dim` only."""
        steps = tuple(step // self.spec.dtype.itemsize for step in self._note_read("memory").value.strides)
        return steps if dim is None else steps[axis_of(self.spec, dim)]

    def is_contiguous(self) -> bool:
        """Whether the elements are adjacent in memory, in the order of the axes."""
        return bool(self._note_read("memory").value.flags.c_contiguous)

    # -- its gradient --------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether backward will pass through here."""
        if (builder := current.mode.builder) is not None and id(self) in builder.renewed:
            return bool(builder.needs_grad(builder.lift(self)))
        return bool(self._note_read("requires_grad").tracked)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether this leaf requires a gradient. Raises DTypeError for integers and booleans."""
        if not self.is_leaf:
            raise NoGradientError(
                f"requires_grad can be set on a leaf only, and this is a result of {self.node}: "
                "x.detach() is a leaf with the same value"
            )
        if requires_grad and not self.spec.is_float:
            raise DTypeError(
                f"a gradient says how much a small nudge matters, and {self.spec} cannot be nudged: "
                "make it floating, as in tensor([1., 2.]) or x.astype(float)"
            )
        if requires_grad and self.tracked is None and not is_inference_mode_enabled():
            raise NoGradientError("a tensor made in inference_mode has no gradient: use x.clone() outside the block")
        if requires_grad != bool(self.tracked):  # if nothing changes, the leaf stays in its graph
            before, self.node, self.tracked = self.node, leaf(self, requires_grad), bool(requires_grad)
            if before is not None:
                self.node.hooks = before.hooks
                for watcher in current.mode.watchers:  # the leaf keeps its tangent
                    watcher.on_forward(ops.Alias(), self, (self.with_node(self.value, before),))
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor is not the result of a recorded op."""
        return self._note_read("is_leaf").node is None or not self.node.inputs

    @property
    def grad_fn(self) -> Any:
        """The derivative that backward will run first; None on a leaf."""
        from .grad_fn import GradFn
        return GradFn(self.node, wrap_array) if self.requires_grad and not self.is_leaf else None

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() stored here; None before, and on results without retain_grad()."""
        grad, builder = getattr(self, "_grad", None), current.mode.builder
        return grad if builder is None else builder.grad_of(self, grad)

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if (builder := current.mode.builder) is not None:
            builder.set_grad(self, grad)
        elif grad is not None and (not isinstance(grad, Tensor) or grad.spec.shape != self.spec.shape):
            raise ShapeError(f"the gradient of {self.spec} must be a tensor of that shape, and got {grad!r}")
        else:
            self._grad = grad

    # -- backward -----------------------------------------------------------------------

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
    ) -> None:
        """Add ∂self/∂leaf to `.grad` of every leaf that requires it, and free the saved arrays.

        gradient        ∂loss/∂self, in self's shape; by default 1 for a tensor of one element
        retain_graph    keep the saved arrays for another backward; by default only with create_graph
        create_graph    record the computation of the gradients, so they can be differentiated again
        inputs          only these tensors, leaves or not, receive a `.grad`

        Raises NoGradientError if self depends on nothing that requires a gradient, or has many elements
        and `gradient` is not given; FreedError on a second call, unless the first had retain_graph=True;
        EditedError if a saved array was edited in place.
        """
        backward([self], [gradient], retain_graph, create_graph, inputs)

    def retain_grad(self) -> None:
        """Let backward store a `.grad` here, although this is not a leaf."""
        self._must_be_tracked("retain_grad()")
        if not self.is_leaf:
            self._hooks().retain = keeping(self)

    @property
    def retains_grad(self) -> bool:
        """Whether retain_grad() was called on this result."""
        return not self._note_read("retains_grad").is_leaf and getattr(self.node.hooks, "retain", None) is not None

    def register_hook(self, hook: Hook) -> Handle:
        """Call `hook` with the gradient that arrives here. If it returns a gradient, that is used instead.

        Returns a handle whose remove() takes the hook away.
        """
        self._must_be_tracked("register_hook()")
        if current.mode.builder is not None:
            raise GraphError(TRACED)
        return Handle(self._hooks().arriving, replacing(self, hook))

    def register_post_accumulate_grad_hook(self, hook: Hook) -> Handle:
        """Call hook(self) as soon as backward has added to this leaf's `.grad`, before it is done with other leaves."""
        self._must_be_tracked("register_post_accumulate_grad_hook()")
        if not self.is_leaf:
            raise NoGradientError(f"only leaves accumulate gradients, and this is {self.node}: use register_hook")
        from .early import schedule_leaves
        Hooks.early = schedule_leaves
        return Handle(self._hooks().after, hook)

    def detach(self) -> Tensor:
        """The same value, in the same memory, with no origin."""
        y = wrap_array(self._note_read("memory").value, self.spec)
        if (builder := current.mode.builder) is not None:
            builder.detached[id(y)] = y, builder, self
        return y

    def detach_(self) -> Self:
        """Forget this tensor's origin: the tensor becomes a leaf."""
        if getattr(self, "alias", None) is not None:
            raise EditedError("a view cannot be detached in place, since it shares its base's history: use x.detach()")
        self.node, self.tracked = None, False
        return self

    def _must_be_tracked(self, asked: str) -> None:
        if not self.tracked:
            raise NoGradientError(f"{asked} on {self.spec}, which has no gradient: requires_grad is False")

    def _hooks(self) -> Hooks:
        if self.node.hooks is None:
            self.node.hooks = Hooks()
        return self.node.hooks  # type: ignore[no-any-return]

    # -- similar tensors --------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        kind, data, requires_grad = self._parts("copied")
        copied = memo[id(self)] = rebuilt(kind, data.copy(), requires_grad)
        if self.grad is not None:
            copied.grad = self.wrap_array(self.grad.value.copy(), self.grad.spec)
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuilt, self._parts("pickled")

    def _parts(self, wanted: str) -> tuple[type, Any, bool]:
        if not self.is_leaf:
            raise NoGradientError(f"only a leaf can be {wanted}, and this is a result of an op: use x.detach()")
        return type(self), self._note_read("value").value, self.requires_grad

    def new_full(
        self, size: Any, fill_value: Any,
        *, dtype: Any = None, device: Device | str | None = None, requires_grad: bool = False,
    ) -> Any:
        """A tensor of shape `size` filled with one value; dtype and device are self's unless given."""
        shape = lengths((size,))
        where = self.spec.device if device is None else device_called(device)
        spec = Spec(shape, self.spec.dtype if dtype is None else dtype, where)
        return Tensor(where.xp.full(shape, fill_value, spec.dtype), None, requires_grad, where)

    def new_tensor(self, data: Any, **options: Any) -> Any:
        """A copy of the data; dtype and device are self's unless given in the options."""
        given = np.asarray(data.detach().numpy() if hasattr(data, "detach") else data)
        y = self.new_full(given.shape, 0, **options)
        y.value[...] = y.spec.device.array(given)
        return y


# -- making tensors ---------------------------------------------------------------------------


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, device: Device | str | None = None) -> Tensor:
    """Make a leaf from a number, nested lists or an array; the data are copied.

    Python floats become float64, and integers int64, unless `dtype` says otherwise.
    """
    if isinstance(data, Dimension):
        return length_tensor(data, dtype)  # type: ignore[no-any-return]
    if device is None and not isinstance(data, Operand):
        device = blocks.devices[-1]
    value = array_of(data, dtype, device)
    return Tensor(value.copy() if value is getattr(data, "value", data) else value, None, requires_grad, device)


def length_tensor(n: Dimension, dtype: Any) -> Any:
    """An unknown length as a tensor of the graph being built."""
    builder = current.mode.builder
    if builder is None:
        n.refuse("a tensor with its value")
    y = builder.lift(n)
    return y if dtype is None else y.astype(dtype)


def wrap_array(value: Any, spec: Spec) -> Tensor:
    """Wrap an array whose spec is known in a tensor, with no origin yet."""
    y: Tensor = _new(Tensor)
    y.value = np.asarray(value) if isinstance(value, np.generic) else value  # NumPy may return a scalar
    y.spec, y.node, y.tracked = spec, None, False
    return y


@lru_cache(maxsize=1024, typed=True)
def constant(number: float, beside: Spec, sign: float) -> Tensor:
    """A Python number as a tensor, with the dtype that it gets next to a tensor of spec `beside`.

    sign    distinguishes 0.0 from −0.0 in the cache, where the two would otherwise be equal
    """
    dtype = result_type(beside.dtype, number if isinstance(number, bool) else +number)  # + makes an int of a Count
    y = Tensor(number, dtype, device=beside.device)
    y.node, y.tracked = Node(ops.const(number), (), y.spec), False  # the cached tensor is used in all modes
    return y


def rebuilt(kind: type, data: Any, requires_grad: bool) -> Any:
    """A leaf of class `kind`; copying and unpickling call this function."""
    return kind(data).requires_grad_(requires_grad)


_new: Any = Tensor.__new__
