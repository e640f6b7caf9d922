# ---
# jupyter:
#   minigrad:
#     title: A new op
#     minutes: 30
#     lesson: 03_train_a_network
#     concepts: [A1, A5, A7, A9]
# ---

# %% [markdown]
# # 03 A new op
#
# An op states its mathematics once: how to compute its result, and its slope. The engine derives everything else from
# that. Here you write ops of your own. The judge is `mg.laws`, which also tests the engine's own ops: it nudges, and
# compares. About 30 minutes, in three parts; one more is optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
from dataclasses import dataclass

import minigrad as mg
from minigrad.course import check, solution
from minigrad.core.op import Elementwise, Linear
from minigrad.ops.reduce import Reduction

# %% [markdown]
# ## What is given
#
# The next cell has one of the engine's ops under another name.
#
# - `forward(self, xp, x)` computes the result. `xp` is NumPy here, so write `xp.tanh` and not `math.tanh`.
# - `partials(self, y, x)` gets tensors, the result `y` first. It returns a *tuple* with one slope for each operand.
# - `x.apply(op)` applies an op to a tensor.


# %% name="given"
class MyTanh(Elementwise):
    """y = tanh x"""

    def forward(self, xp, x):
        return xp.tanh(x)

    def partials(self, y, x):
        return (1 - y * y,)


mg.laws.check(MyTanh(), (3,))  # silent: every law holds on three random numbers
mg.tensor([0.0, 1.0]).apply(MyTanh())

# %% [markdown]
# ## 1. A soft corner
#
# **2 points, 8 minutes.** Write `forward` and `partials` of `Softplus`. It is y = ln(1 + e^(βx)) / β, a relu with
# a rounded corner. Its slope is e^(βx) / (1 + e^(βx)).
#
# - β is `self.beta`. (`@dataclass` writes the `__init__` that stores it.)
# - In `forward`, x is an array: use `xp.exp` and `xp.log`.
# - In `partials`, x is a tensor: use `x.exp()`, `x.log()` or `x.sigmoid()`, which is 1 / (1 + e^(−x)).
#
# Example: `Softplus(1.0)` at x = 0 gives ln 2, and its slope there is 0.5.


# %% answer="softplus" points=2 minutes=8
@dataclass(frozen=True)
class Softplus(Elementwise):
    """y = ln(1 + exp(βx)) / β"""

    beta: float

    def forward(self, xp, x):
        ### BEGIN SOLUTION
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta
        ### END SOLUTION

    def partials(self, y, x):
        ### BEGIN SOLUTION
        return ((self.beta * x).sigmoid(),)
        ### END SOLUTION


# %%
check("softplus")

# %% probes="softplus"
from unittest.mock import patch

import minigrad as mg
import numpy as np
from minigrad.saving import evidence


class Asked:
    """NumPy's functions, with a list of those that were asked for."""

    def __init__(self):
        self.own, self.names = dict(vars(np)), []

    def __getattr__(self, name):
        self.names.append(name)
        return self.own[name]


def forward_asks_xp():
    """What xp is asked for, where the functions that a softplus needs are nowhere else."""
    xp = Asked()
    with patch.multiple(np, exp=None, log=None, log1p=None, logaddexp=None):
        try:
            Softplus(1.0).forward(xp, np.array([0.5]))
        except TypeError:
            return []
    return xp.names


@referee
def forward_asks_xp(names):
    return len(names) > 0


def laws(op, *shapes):
    return evidence.sent_op(op, *shapes)


@referee
def laws(sent, _, *shapes):
    evidence.obeys(sent, *shapes)


def value_and_slope(beta, number):
    x = mg.tensor(number, requires_grad=True)
    y = x.apply(Softplus(beta))
    y.backward()
    return [y.item(), x.grad.item()]


def what_partials_gives():
    return type(Softplus(1.0).partials(mg.tensor(1.0), mg.tensor(0.5))).__name__


# Hint: At 0 with β = 1: the value is ln 2, the slope 1/2. The first number is what `forward` gives, the second comes
# from `partials`.
value_and_slope(1.0, 0.0)
# Hint: At −1.5 with β = 1: the value comes from `forward`, the slope from `partials`.
value_and_slope(1.0, -1.5)
# Hint: With β = 3: divide the value by β, and multiply x by β inside. The slope is the sigmoid of β x: no factor stands
# before it.
value_and_slope(3.0, 0.7)
# Hint: `mg.laws` nudges forward and compares the slope of `partials`, on arrays. Its message says which law is broken.
laws(Softplus(1.0), (3,))
laws(Softplus(2.5), (2, 3))
# Hint: `partials` should return a tuple with one tensor: mind the comma.
what_partials_gives()
# Hint: `forward` should use the functions of `xp`, not those of `np` or `math`.
forward_asks_xp()

# %% [markdown] hints="softplus"
# 1. `forward` is the formula, with `xp.log` and `xp.exp`. Try it on a number, with NumPy for xp: after `import numpy as
# np`, `Softplus(1.0).forward(np, 0.0)` is ln 2.
# 2. The slope e^z / (1 + e^z) is the sigmoid of z, and z is `self.beta * x`.
# 3. `partials` returns a tuple of one: `return ((self.beta * x).sigmoid(),)`, with the comma.

# %% [markdown] shows="softplus"
# A value and a slope are all that the engine must be told of an elementwise op: graphs, drawings and both passes
# follow from them.


# %% wrong="softplus"
# Shows: The slope is that of another function: 1 − y² belongs to tanh.
# Hint: Differentiate ln(1 + e^(βx)) / β: the outer logarithm gives 1 / (1 + e^(βx)), the inside β e^(βx), and the β's
# cancel.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return (1 - y * y,)


# %% wrong="softplus"
# Shows: The slope is right for β = 1 only: inside it, x is not multiplied by β.
# Hint: It is the sigmoid of βx, not of x.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return (x.sigmoid(),)


# %% wrong="softplus"
# Shows: The chain rule brings a factor β from the inside, and the division by β was forgotten: the slope is β times too
# large.
# Hint: y has a 1 / β in front, and so has its slope: β / β is 1.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return (self.beta * (self.beta * x).sigmoid(),)


# %% wrong="softplus"
# Shows: The value is not divided by β. The slope in the task belongs to the function with the division.
# Hint: Look at forward again: ln(1 + e^(βx)), and then / β.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x))

    def partials(self, y, x):
        return ((self.beta * x).sigmoid(),)


# %% wrong="softplus"
# Shows: `partials` returned a tensor, and not a tuple with a tensor in it.
# Hint: One slope per operand, in a tuple: for one operand, write the comma, `return (slope,)`.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return (self.beta * x).sigmoid()


# %% wrong="softplus"
# Shows: The numbers are right, and `forward` is tied to NumPy: it does not use `xp`.
# Hint: Write xp in place of np: xp is the library that holds the array.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        import numpy as np

        return np.log(1 + np.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return ((self.beta * x).sigmoid(),)


# %% wrong="softplus"
# Shows: `partials` uses NumPy's functions, which do not take tensors.
# Hint: A function of a tensor is its method: `(self.beta * x).exp()`, and not `np.exp(self.beta * x)`.
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        import numpy as np

        return (np.exp(self.beta * x) / (1 + np.exp(self.beta * x)),)


# %% [markdown]
# ## 2. Many into one
#
# **3 points, 12 minutes.** `SumOfSquares(axes)` is y = Σ x², added up over these axes. Write two methods:
#
# - `forward(self, xp, x)` gets an array and returns the sums: `xp.sum(..., axis=self.axes, keepdims=self.keepdims)`.
# - `vjp(self, gy, y, x)` gets the gradient `gy` that arrives at y. It returns a tuple with the gradient of x, which has
#   the shape of x.
#
# `gy` has fewer axes than x. `self.spread(gy, x)` puts the missing axes back, with length 1, so that you can multiply
# with x. (`jvp` is written for you.)
#
# Example: `SumOfSquares((1,))` of [[1, 2], [3, 4]] is [5, 25]. If [1, 100] arrives, the gradient of x is
# [[2, 4], [600, 800]].


# %% answer="squares" points=3 minutes=12
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    """y = Σ x²"""

    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        ### BEGIN SOLUTION
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)
        ### END SOLUTION

    def vjp(self, gy, y, x):
        ### BEGIN SOLUTION
        return (2 * x * self.spread(gy, x),)
        ### END SOLUTION


# %%
check("squares")

# %% probes="squares"
import minigrad as mg
import numpy as np
from minigrad.saving import evidence


def gradient(axes, numbers, gy):
    x = mg.tensor(numbers, requires_grad=True)
    x.apply(SumOfSquares(axes)).backward(gy)
    return x.grad.numpy()


def what_vjp_gives():
    return type(SumOfSquares((0,)).vjp(mg.tensor(1.0), mg.tensor(5.0), mg.tensor([1.0, 2.0]))).__name__


def keepdims_is_taken_for_a_dtype():
    try:
        SumOfSquares((0,)).forward(np, np.ones(2))
    except TypeError as error:
        return str(error)


@referee
def keepdims_is_taken_for_a_dtype(words):
    return words is not None and "data type" in words


def laws(op, *shapes):
    return evidence.sent_op(op, *shapes)


@referee
def laws(sent, _, *shapes):
    evidence.obeys(sent, *shapes)


# Hint: `forward`: square first, then sum over `self.axes`.
mg.tensor([[1.0, 2.0], [3.0, 4.0]]).apply(SumOfSquares((1,))).numpy()
# Hint: `vjp`: a nudge of one x moves its square by 2x.
gradient((0,), [1.0, -2.0, 3.0], 1.0)
# Hint: `vjp`: multiply by the gradient that arrives, `gy`.
gradient((0,), [1.0, -2.0, 3.0], 10.0)
# Hint: `vjp` on a matrix: each row has its own arriving number. `self.spread(gy, x)` brings it to the shape of x.
gradient((1,), [[1.0, 2.0], [3.0, 4.0]], [1.0, 100.0])
# Hint: `mg.laws` compares `forward`, `vjp` and `infer` on arrays of any shape. Its message says which law is broken.
laws(SumOfSquares((1,)), (2, 3))
# Hint: With keepdims the summed axes stay, with length 1: pass `keepdims=self.keepdims` on in `forward`.
laws(SumOfSquares((0, 2), keepdims=True), (2, 3, 2))
# Hint: `vjp` should return a tuple with one tensor.
what_vjp_gives()
# Hint: `forward`: the second argument of an array's sum is a dtype, so write `axis=` and `keepdims=`.
keepdims_is_taken_for_a_dtype()

# %% [markdown] hints="squares"
# 1. `forward` is `xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)`.
# 2. A nudge of one element x moves y by 2x nudges, and whatever y is used for by gy times that.
# 3. Bring gy to where it multiplies with x: `self.spread(gy, x)`. And the result is a tuple.

# %% [markdown] shows="squares"
# What is summed on the way forward is spread on the way back: each element gets the gradient of its sum, times its
# own slope.


# %% wrong="squares"
# Shows: The gradient that arrives is multiplied as it is, in the wrong shape: it ran along the wrong axis, or did not
# fit.
# Hint: gy has lost the reduced axes. `self.spread(gy, x)` puts them back, with length 1, where they were.
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return (2 * x * gy,)


# %% wrong="squares"
# Shows: The slope is given, and what arrived is ignored: the gradient is right only where 1 arrives.
# Hint: y is not always the end. Multiply by the gradient that arrives, `self.spread(gy, x)`.
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return (2 * x,)


# %% wrong="squares"
# Shows: The gradient is half of what it should be: the 2 of 2x is missing.
# Hint: The slope of x² is 2x. (A half in front of the sum would cancel it; there is none here.)
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return (x * self.spread(gy, x),)


# %% wrong="squares"
# Shows: The gradient is that of a plain sum: it is spread over the elements, and their squares were forgotten.
# Hint: In a sum each element counts once; here a nudge of x counts 2x times. Multiply by that.
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return (self.spread(gy, x).broadcast_to(x.shape),)


# %% wrong="squares"
# Shows: `forward` sums as `jvp` does, without names, but the second argument of an array's sum is a dtype.
# Hint: `jvp` has tensors, and `forward` arrays: write xp.sum(..., axis=self.axes, keepdims=self.keepdims).
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, self.axes, self.keepdims)

    def vjp(self, gy, y, x):
        return (2 * x * self.spread(gy, x),)


# %% wrong="squares"
# Shows: `forward` leaves keepdims out: the reduced axes are gone where they should stay, with length 1.
# Hint: Pass on what the op was made with: xp.sum(..., axis=self.axes, keepdims=self.keepdims).
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes)

    def vjp(self, gy, y, x):
        return (2 * x * self.spread(gy, x),)


# %% wrong="squares"
# Shows: `vjp` returned a tensor, and not a tuple with a tensor in it.
# Hint: One gradient per operand, in a tuple: for one operand, write the comma, `return (gx,)`.
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return 2 * x * self.spread(gy, x)


# %% [markdown]
# ## 3. One of your own
#
# **2 points, 8 minutes.** Write `MyOp`, an elementwise op of one operand that the engine does not have:
#
# - it obeys the laws for numbers between 0.5 and 2;
# - it is not a straight line, whose slope is the same everywhere;
# - it is not a power of x, because the engine has those.
#
# Some that are used in practice: x · e^(−x), x / (1 + |x|), e^(−x²), ln(1 + x²).


# %% answer="own" points=2 minutes=8
class MyOp(Elementwise):
    def forward(self, xp, x):
        ### BEGIN SOLUTION
        return xp.exp(-x * x)
        ### END SOLUTION

    def partials(self, y, x):
        ### BEGIN SOLUTION
        return (-2 * x * y,)
        ### END SOLUTION


# %%
check("own")

# %% probes="own"
import minigrad as mg
import numpy as np
from minigrad import ops
from minigrad.saving import evidence
from minigrad.core.op import Elementwise

x = np.linspace(0.5, 2, 7)
known = [op for op in vars(ops).values() if isinstance(op, type) and issubclass(op, Elementwise)]


def computed(op):
    """What an op of one operand gives; nothing for others."""
    try:
        with np.errstate(all="ignore"):
            return op().forward(np, x)
    except (TypeError, NotImplementedError):
        return np.nan


def values():
    return MyOp().forward(np, x)


the_engine_has_it = it_is_a_straight_line = values


@referee
def the_engine_has_it(y):
    power = x ** np.log2(abs(y[-1]))  # x ends in 2: the only power that can be y
    return any(np.allclose(one, y) for one in [power, *map(computed, known)])


@referee
def it_is_a_straight_line(y):
    return np.allclose(np.diff(y, 2), 0)


def laws(op, *shapes):
    return evidence.sent_op(op, *shapes)


@referee
def laws(sent, _, *shapes):
    evidence.obeys(sent, *shapes)


# Hint: `mg.laws` nudges `forward` and compares the slope of `partials`. Its message says which law is broken.
laws(MyOp(), (3,))
# Hint: `MyOp` should work on arrays with two axes, too: every element on its own.
laws(MyOp(), (2, 2))
# Hint: The engine has this op already, or it is a power of x: choose another formula.
the_engine_has_it()
# Hint: This op is a straight line: its slope is the same everywhere.
it_is_a_straight_line()

# %% [markdown] hints="own"
# 1. Start from `MyTanh` at the top, and change the formula in `forward`.
# 2. Differentiate your formula by hand, and write the slope in `partials`, with methods of tensors: `x.exp()`,
# `x.abs()`.
# 3. In `forward`, functions come from `xp`; in `partials`, from the tensor. Both get and give whole arrays.

# %% [markdown] shows="own"
# Your op is differentiated like a built-in one, because the engine asks the same two things of every op: a value and a
# slope.


# %% wrong="own" misconception="M13"
# Shows: The slope in `partials` is not the slope of what `forward` computes: nudging forward gives another.
# Hint: A gradient is not right just because it is there: any slope leaves a number. Differentiate your formula once
# more, with a pencil. Does each inner function bring its own factor?
class MyOp(Elementwise):
    def forward(self, xp, x):
        return xp.exp(-x * x)

    def partials(self, y, x):
        return (y,)


# %% wrong="own"
# Shows: The engine has this op already.
# Hint: Take another formula, or combine two, as x · e^(−x) does. Those it has are in `minigrad/engine/ops/`: powers in
# `arithmetic.py`, most others in `pointwise.py`.
class MyOp(Elementwise):
    def forward(self, xp, x):
        return xp.tanh(x)

    def partials(self, y, x):
        return (1 - y * y,)


# %% wrong="own"
# Shows: The op is a straight line: its slope does not depend on x.
# Hint: Put something curved in: a square, an exponential, a quotient.
class MyOp(Elementwise):
    def forward(self, xp, x):
        return 3 * x + 1

    def partials(self, y, x):
        return (3,)


# %% wrong="own"
# Shows: `forward` works on one number at a time, with `math`, and the engine gives it whole arrays.
# Hint: Take functions from xp: `xp.exp(x)` works on each element of an array.
class MyOp(Elementwise):
    def forward(self, xp, x):
        import math

        return math.exp(-x * x)

    def partials(self, y, x):
        return (-2 * x * y,)


# %% [markdown] folded=true
# ## More
#
# The part below is optional when you work alone: the exercise is done without it. It counts when your course grades
# it.

# %% [markdown]
# ### 4. The way back of a running total
#
# **3 points, 12 minutes.** `RunningTotal()` turns a row (x₁, x₂, x₃) into (x₁, x₁ + x₂, x₁ + x₂ + x₃). It only moves
# and adds numbers, so it is *linear*, and its way back has a name: the *adjoint*. Write three methods, for arrays with
# one axis:
#
# - `infer(self, x)` gets the spec of x: its shape, dtype and device, without the numbers. Return the spec of the
#   result. Here it is the same as that of x. (For another shape there is `x.with_shape(...)`.)
# - `forward(self, xp, x)` returns the totals: `xp.cumsum(x)`.
# - `adjoint(self, gy, x)` gets the gradients of the totals, and returns the gradient of x: a tensor, not a tuple. x₁ is
#   in all totals, and the last x in one. So what does each get? `gy[::-1]` turns a tensor round, and `gy.apply(self)`
#   is its running total.
#
# Example: for a row of three, if (5, 7, 9) arrives, the gradient of x is (21, 16, 9).


# %% answer="running_total" points=3 minutes=12
class RunningTotal(Linear):
    """yⱼ = x₁ + … + xⱼ"""

    def infer(self, x):
        ### BEGIN SOLUTION
        return x
        ### END SOLUTION

    def forward(self, xp, x):
        ### BEGIN SOLUTION
        return xp.cumsum(x)
        ### END SOLUTION

    def adjoint(self, gy, x):
        ### BEGIN SOLUTION
        return gy[::-1].apply(self)[::-1]
        ### END SOLUTION


# %%
check("running_total")

# %% probes="running_total"
import minigrad as mg
from minigrad.saving import evidence


def gradient(numbers, gy):
    x = mg.tensor(numbers, requires_grad=True)
    x.apply(RunningTotal()).backward(gy)
    return x.grad.numpy()


def laws(op, *shapes):
    return evidence.sent_op(op, *shapes)


@referee
def laws(sent, _, *shapes):
    evidence.obeys(sent, *shapes)


def what_adjoint_gives():
    return type(RunningTotal().adjoint(mg.tensor([1.0, 2.0]), mg.tensor([5.0, 5.0]))).__name__


# Hint: `forward`: the running total of the row.
mg.tensor([1.0, 2.0, 3.0]).apply(RunningTotal()).numpy()
# Hint: `infer`: the result has as many elements as x.
mg.tensor([1.0, 2.0, 3.0]).apply(RunningTotal()).shape
# Hint: `adjoint`: a gradient arrives at the first total alone, and only x₁ went into it.
gradient([5.0, 5.0, 5.0], [1.0, 0.0, 0.0])
# Hint: `adjoint`: a gradient arrives at the last total alone, and every x went into it.
gradient([5.0, 5.0, 5.0], [0.0, 0.0, 1.0])
# Hint: `adjoint`: xᵢ went into the totals from its own place to the end. Add what arrives at these.
gradient([1.0, 2.0, 3.0], [1.0, 10.0, 100.0])
gradient([3.0, 1.0, 4.0, 1.0, 5.0, 9.0], [1.0, -1.0, 2.0, 0.5, -2.0, 3.0])
# Hint: `mg.laws` compares `infer`, `forward` and `adjoint`. Its message says which law is broken.
laws(RunningTotal(), (4,))
# Hint: `adjoint` should return one tensor, not a tuple.
what_adjoint_gives()

# %% [markdown] hints="running_total"
# 1. The result has as many elements as x, of the same dtype: `infer` returns x as it is.
# 2. x₁ goes into every total, so it gets the sum of the whole of gy. The last x goes into the last total only. What
# each gets is the sum of gy from its own place to the end.
# 3. A sum from here to the end is a running total from the other side: turn round, apply, turn round again.

# %% [markdown] shows="running_total"
# The way back of a linear op follows the same arrows, turned round: each input collects from every output that it went
# into, and nothing has to be kept.


# %% wrong="running_total"
# Shows: The gradient goes through the same map once more. But backward the arrows are reversed: a total gives to the
# x's before it, not to those after it.
# Hint: x₁ goes into all totals: what must it get for gy = (1, 10, 100)? Your rule gives it 1.
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy.apply(self)


# %% wrong="running_total"
# Shows: The gradient is passed on as it is, as if each x went only into the total at its own place.
# Hint: Draw the arrows for three elements: x₁ has three, x₂ two, x₃ one. What they bring is added.
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy


# %% wrong="running_total"
# Shows: The sums are right, and stand in the opposite order: the last x got what belongs to the first.
# Hint: You turned gy round to sum from its end. Turn the result back.
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy[::-1].apply(self)


# %% wrong="running_total"
# Shows: Every x got the sum of the whole of gy, as if each went into all totals.
# Hint: The last x is in the last total only. From which place on does xᵢ take part?
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy.sum().broadcast_to(x.shape)


# %% wrong="running_total"
# Shows: `infer` says that the result is one number, as for a sum. A running total has as many numbers as x.
# Hint: infer returns the spec of the result: the same as that of x, so return x.
class RunningTotal(Linear):
    def infer(self, x):
        return x.with_shape(())

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy[::-1].apply(self)[::-1]


# %% wrong="running_total"
# Shows: `infer` returned a shape. A spec is more: shape, dtype and device.
# Hint: x is a spec already, and that of the result is the same: return x, not x.shape.
class RunningTotal(Linear):
    def infer(self, x):
        return x.shape

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy[::-1].apply(self)[::-1]


# %% wrong="running_total"
# Shows: `adjoint` returned a tuple. `vjp` and `partials` do; a linear op has one operand, and its adjoint one tensor.
# Hint: Return the tensor itself, without the comma or the brackets around it.
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return (gy[::-1].apply(self)[::-1],)


# %% [markdown]
# ### To go on
#
# Put `Softplus` in place of relu in [03 Train a network](../lessons/03_train_a_network.ipynb). Copy your class into a
# new cell there, with the imports of this page, and use this module in place of `mg.nn.ReLU()`. Does the loss mind?
#
# ```python
# class Bend(mg.nn.Module):
#     def forward(self, x):
#         return x.apply(Softplus(1.0))
# ```

# %% [markdown]
# ## What you have now
#
# You have ops that the engine uses as if it had always had them: in networks, in drawings, and compiled.
# `minigrad/engine/ops/` has the engine's own, most of them as short as yours.
#
# **Next**: [04 A whole array is one node](../lessons/04_tensors.ipynb).
