# ---
# jupyter:
#   minigrad:
#     title: Both directions
#     minutes: 25
#     lesson: 05_two_directions
#     concepts: [A8, A9]
# ---

# %% [markdown]
# # 05 Both directions
#
# Fill in a Jacobian with a pencil, write dual numbers, and make a Jacobian on a budget of passes. About 25 minutes, in
# three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import math

import numpy as np

import minigrad as mg
from minigrad.course import check, solution
from minigrad.core.node import toposort

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 8 minutes.** There are two inputs, x = 2 and y = 3, and two outputs, p and q:
#
# ```python
# z = x * y
# p = z + x
# q = z * z
# ```
#
# Work these out with a pencil:
#
# - `column`: nudge x alone. Give the tangents of p and of q, as a list of two numbers.
# - `row`: go back from q. Give its gradients with respect to x and to y, as a list of two numbers.
# - `both`: nudge x by 1 and y by −1, in one pass. Give the tangents of p and of q.
# - `forward_passes` and `reverse_passes`: for a function of 5 inputs and 3 outputs, how many passes does each mode take
#   for all derivatives?

# %% answer="columns_and_rows" points=2 minutes=8
### BEGIN SOLUTION
column = [4, 36]
row = [36, 24]
both = [2, 12]
forward_passes = 5
reverse_passes = 3
### END SOLUTION

# %%
check("columns_and_rows")

# %% probes="columns_and_rows"
# Hint: `column`: nudge x by 1, and follow it to p and to q. Where two arrows meet, add.
column
# Hint: `row`: start from q with 1 and go back, to x and to y.
row
# Hint: `both`: z moves by y · 1 + x · (−1). Follow this to p and to q, and do not forget the arrow from x to p.
both
# Hint: `forward_passes`: one pass of forward mode nudges one input.
forward_passes
# Hint: `reverse_passes`: one pass of reverse mode starts from one output.
reverse_passes

# %% [markdown] hints="columns_and_rows"
# 1. Nudge x by 1: z moves by y = 3. Two arrows arrive at p, from z and from x itself; what they carry is added.
# 2. Two arrows go from z into q = z * z, and each has the slope 6. So q moves 12 times as far as z.
# 3. A nudge of both: z moves by 3 · 1 + 2 · (−1) = 1. One pass forwards is one input, one pass back is one output.

# %% [markdown] shows="columns_and_rows"
# A forward pass gives a column of the Jacobian and a reverse pass a row: a loss, which is one number, needs one pass
# back for any number of inputs.

# %% wrong="columns_and_rows"
# Shows: The tangent of p lacks what comes straight from x.
# Hint: p = z + x moves with z, and with x itself. Add the 1 of x.
column, row, both, forward_passes, reverse_passes = [3, 36], [36, 24], [1, 12], 5, 3

# %% wrong="columns_and_rows"
# Shows: One of the two arrows from z into z * z is missing.
# Hint: z is both factors. Each arrow has the slope 6, and they add up to 12.
column, row, both, forward_passes, reverse_passes = [4, 18], [18, 12], [2, 6], 5, 3

# %% wrong="columns_and_rows"
# Shows: Rows and columns are exchanged: `column` has the derivatives of one output by all inputs.
# Hint: A nudge of x gives a column: how far *each output* moves. Going back from q gives a row: how it moves with *each
# input*.
column, row, both, forward_passes, reverse_passes = [4, 2], [4, 36], [2, 12], 5, 3

# %% wrong="columns_and_rows"
# Shows: In `row` the two gradients of q are exchanged: z moves 3 times as far as x, and 2 times as far as y.
# Hint: From q, 12 arrives at z. On the way to x it meets the slope y, which is 3; on the way to y the slope x.
column, row, both, forward_passes, reverse_passes = [4, 36], [24, 36], [2, 12], 5, 3

# %% wrong="columns_and_rows"
# Shows: The passes are exchanged.
# Hint: Forwards, a pass begins at one input; there are 5. Backwards, it begins at one output; there are 3.
column, row, both, forward_passes, reverse_passes = [4, 36], [36, 24], [2, 12], 3, 5

# %% wrong="columns_and_rows"
# Shows: In `both` the nudge of y went up, as that of x did.
# Hint: y moves by −1, so its part is subtracted: z moves by 3 − 2.
column, row, both, forward_passes, reverse_passes = [4, 36], [36, 24], [6, 60], 5, 3

# %% wrong="columns_and_rows"
# Shows: The passes of both modes were counted as the number of all derivatives.
# Hint: One pass gives a whole column, or a whole row, of the 15.
column, row, both, forward_passes, reverse_passes = [4, 36], [36, 24], [2, 12], 15, 15

# %% [markdown]
# ## 2. Dual numbers
#
# **2 points, 9 minutes.** The Dual of the lesson can add and multiply. Write three things:
#
# - `__truediv__`: the quotient of two Duals;
# - `exp`: e to the power of a Dual. (`math.exp` does it for a plain number.)
# - `slope(f, x)`: the derivative of f at the number x, by **one** run of f on a Dual.
#
# Example: `slope(lambda x: x * x, 3.0)` is 6.


# %% answer="dual_numbers" points=2 minutes=9
class Dual:  # x + dx ε, with ε · ε = 0
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        ### BEGIN SOLUTION
        return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)
        ### END SOLUTION

    def exp(self):
        ### BEGIN SOLUTION
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)
        ### END SOLUTION


def slope(f, x):
    ### BEGIN SOLUTION
    return f(Dual(x, 1.0)).dx
    ### END SOLUTION


# %%
check("dual_numbers")


# %% probes="dual_numbers"
def pair(number):
    return [float(number.x), float(number.dx)]


def bell(x):
    return Dual(1.0) / (x * x).exp()


def bent(x):
    return x * x if x.x > 1 else x.exp()


def runs(x):
    seen = []

    def f(y):
        seen.append(y)
        return y * y + y.exp()

    return [slope(f, x), len(seen)]


# Hint: `__truediv__`: the second number is (u′ v − u v′) / v², with u = self.x and u′ = self.dx.
pair(Dual(6.0, 1.0) / Dual(2.0, 5.0))
# Hint: `exp`: the second number is e^u times u′, how far the operand moves.
pair(Dual(0.5, 3.0).exp())
# Hint: `slope`: run f on Dual(x, 1.0) and read the dx of what comes back.
slope(lambda x: x * x / (x + Dual(1.0)), 2.0)
# Hint: `slope` of 1 / e^(x²): division and `exp` together.
slope(bell, 0.7)
# Hint: f may look at the number in the Dual and choose: run f on a Dual, not on a number.
[slope(bent, 0.5), slope(bent, 2.0)]
# Hint: f may ignore x: then its slope is 0.
slope(lambda x: Dual(4.0) / Dual(2.0), 1.0)
# Hint: `__truediv__` with negative numbers: check the signs of the rule (u′ v − u v′) / v².
pair(Dual(1.0, -2.0) / Dual(-4.0, 3.0))
# Hint: `slope` of e^x · x + x / 2 · x: division and `exp` together.
slope(lambda x: x.exp() * x + x / Dual(2.0) * x, 0.5)
# Hint: x may be a whole number.
slope(lambda x: x * x, 3)
# Hint: f should run once.
runs(1.5)

# %% [markdown] hints="dual_numbers"
# 1. From school: (u / v)′ = (u′ v − u v′) / v², and (eᵘ)′ = eᵘ · u′. Here u is self.x, and u′ is self.dx.
# 2. `__truediv__` gives a new Dual: the quotient of the x, and the rule above for its dx.
# 3. To ask for the slope, nudge x by 1: f(Dual(x, 1.0)), and read the dx of what comes back.

# %% [markdown] shows="dual_numbers"
# Forward mode needs no graph: each number carries its tangent along, and the derivative is there as soon as the value
# is.


# %% wrong="dual_numbers"
# Shows: The two terms of the quotient's tangent are exchanged, and so its sign is wrong.
# Hint: When only the numerator grows, the quotient grows: self.dx * other.x comes with a plus.
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, (self.x * other.dx - self.dx * other.x) / other.x**2)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)


def slope(f, x):
    return f(Dual(x, 1.0)).dx


# %% wrong="dual_numbers"
# Shows: The tangents were divided one by the other, as the numbers are.
# Hint: A quotient has a rule of its own: (u′ v − u v′) / v².
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, self.dx / other.dx if other.dx else 0.0)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)


def slope(f, x):
    return f(Dual(x, 1.0)).dx


# %% wrong="dual_numbers"
# Shows: The tangent of a quotient was divided by v once, where the rule has v².
# Hint: (u′ v − u v′) / v²: square what you divide by.
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)


def slope(f, x):
    return f(Dual(x, 1.0)).dx


# %% wrong="dual_numbers"
# Shows: exp gives its own slope, and leaves out how far its operand moves.
# Hint: The chain rule: e to the x, times self.dx.
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x))


def slope(f, x):
    return f(Dual(x, 1.0)).dx


# %% wrong="dual_numbers"
# Shows: The rules are right, and `slope` nudges nothing: every tangent is 0.
# Hint: Begin with a tangent of 1 at x: Dual(x, 1.0).
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)


def slope(f, x):
    return f(Dual(x)).dx


# %% wrong="dual_numbers"
# Shows: `slope` ran f twice, at two places: that is nudging, and not the tangent.
# Hint: One run on Dual(x, 1.0) brings the exact slope along, in the dx of the result.
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    def __truediv__(self, other):
        return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)

    def exp(self):
        return Dual(math.exp(self.x), math.exp(self.x) * self.dx)


def slope(f, x):
    return (f(Dual(x + 1e-5)).x - f(Dual(x - 1e-5)).x) / 2e-5


# %% [markdown]
# ## 3. A Jacobian on a budget
#
# **2 points, 8 minutes.** Write `jacobian(f, x)`. x has the shape (n,), and f(x) the shape (m,). Return the table of
# all derivatives, a NumPy array of shape (m, n).
#
# Use `push` and `pull` of the next cell. Each makes one pass, and counts it. Your budget is the smaller of n and m.
# (`mg.eye(n)` has the n nudges as its rows. Running f itself, to see its shape, does not count as a pass.)
#
# Example: for 2 inputs and 5 outputs, two passes are enough.

# %% name="passes"
passes = []


def push(f, x, dx):
    """J dx, by one pass of forward mode."""
    passes.append("forward")
    return mg.func.jvp(f, (x,), (dx,))[1]


def pull(f, x, gy):
    """gy J, by one pass of reverse mode."""
    passes.append("reverse")
    return mg.func.vjp(f, x)[1](gy)[0]


# %% answer="jacobian_on_a_budget" points=2 minutes=8
def jacobian(f, x):
    ### BEGIN SOLUTION
    n, m = x.shape[0], f(x).shape[0]
    if n <= m:
        return np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)], axis=1)
    return np.stack([pull(f, x, gy).numpy() for gy in mg.eye(m)])
    ### END SOLUTION


# %%
check("jacobian_on_a_budget")

# %% probes="jacobian_on_a_budget"
import minigrad
import numpy


def made(n, m):
    numbers = numpy.random.default_rng(10 * n + m)
    A = minigrad.tensor(0.3 * numbers.normal(size=(n, m)))
    x = minigrad.tensor(numbers.normal(size=n))
    return (lambda v: (v.reshape(1, n) @ A).tanh().reshape(m)), x


def table(n, m):
    return numpy.asarray(jacobian(*made(n, m))).tolist()


def spent(n, m):
    passes.clear()
    jacobian(*made(n, m))
    return len(passes)


# Hint: n = 3 inputs and m = 2 outputs: the table has the shape (2, 3). Row j holds the derivatives of output j.
table(3, 2)
# Hint: n = 2 inputs and m = 3 outputs: the table has the shape (3, 2). A pass of `push` gives a column of it.
table(2, 3)
# Hint: A square table: is it transposed?
table(2, 2)
# Hint: One input: the table has the shape (3, 1).
table(1, 3)
# Hint: One output: the table has the shape (1, 3).
table(3, 1)
# Hint: The number of passes should be the smaller of n and m: `push` once for each input, or `pull` once for each
# output.
[spent(2, 6), spent(6, 2), spent(7, 1), spent(1, 7), spent(3, 3)]

# %% [markdown] hints="jacobian_on_a_budget"
# 1. A pass of `push` with the i-th row of mg.eye(n) gives the i-th column. A pass of `pull` with the j-th row of
#    mg.eye(m) gives the j-th row.
# 2. n is x.shape[0], m is f(x).shape[0]. If n is the smaller, columns; if m is, rows.
# 3. `np.stack(columns, axis=1)` puts columns side by side, `np.stack(rows)` puts rows below one another; each of them
# as `.numpy()`.

# %% [markdown] shows="jacobian_on_a_budget"
# The shape of the Jacobian decides the direction: few inputs ask for forward mode, few outputs for reverse mode, and
# the table is the same.


# %% wrong="jacobian_on_a_budget"
# Shows: The table is right, but it was always made by columns: with few outputs that is too many passes.
# Hint: Compare n with m, and make it by rows, with `pull`, where m is smaller.
def jacobian(f, x):
    return np.stack([push(f, x, dx).numpy() for dx in mg.eye(x.shape[0])], axis=1)


# %% wrong="jacobian_on_a_budget"
# Shows: The table is right, but it was always made by rows: with few inputs that is too many passes.
# Hint: Compare n with m, and make it by columns, with `push`, where n is smaller.
def jacobian(f, x):
    return np.stack([pull(f, x, gy).numpy() for gy in mg.eye(f(x).shape[0])])


# %% wrong="jacobian_on_a_budget"
# Shows: The table is right, but the more expensive mode was chosen each time.
# Hint: Forward mode takes n passes: choose it where n is the smaller.
def jacobian(f, x):
    n, m = x.shape[0], f(x).shape[0]
    if n > m:
        return np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)], axis=1)
    return np.stack([pull(f, x, gy).numpy() for gy in mg.eye(m)])


# %% wrong="jacobian_on_a_budget"
# Shows: The columns were stacked as rows, so the table is transposed.
# Hint: What `push` gives is a column. np.stack(columns, axis=1) puts them side by side.
def jacobian(f, x):
    n, m = x.shape[0], f(x).shape[0]
    if n <= m:
        return np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)])
    return np.stack([pull(f, x, gy).numpy() for gy in mg.eye(m)])


# %% wrong="jacobian_on_a_budget"
# Shows: The engine made the table without `push` and `pull`: no pass was counted.
# Hint: Make each column with `push`, or each row with `pull`.
def jacobian(f, x):
    return mg.func.jacfwd(f)(x).numpy()


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. Which direction is wrong?
#
# **2 points, 9 minutes.** An operation can have a rule for the way forward and another for the way back, and each can
# be wrong. Write `wrong_directions(f, x)`. x has the shape (n,), and f(x) has any shape. Return a list:
#
# - it contains `"forward"` if `mg.func.jvp` of f at x is wrong;
# - it contains `"reverse"` if `mg.func.vjp` of f at x is wrong;
# - it is empty if both are right.
#
# The referee is a nudge, which reads neither rule. For a random dx and h = 0.00001, f moves by `(f(x + h * dx) - f(x -
# h * dx)) / (2 * h)`. (Ask `jvp` and `vjp` themselves: `mg.func.jacfwd` makes its columns from the way back.)
#
# Two operations to try it on are given. In `Turned` only the way back is wrong. `Bent` has one slope, which both
# directions read, and it is wrong.

# %% name="operations"
from minigrad.core.op import Elementwise, Linear


class Turned(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.roll(x, 1)

    def adjoint(self, gy, x):
        return gy.roll(1)


# %%
class Bent(Elementwise):
    def forward(self, xp, x):
        return x * xp.exp(x)

    def partials(self, y, x):
        return (x.exp(),)


def turned(x):
    return x.apply(Turned())


def bent_twice(x):
    return x.apply(Bent()).apply(Bent())


# %% answer="wrong_directions" points=2 minutes=9
def wrong_directions(f, x):
    ### BEGIN SOLUTION
    rng = np.random.default_rng(0)
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    nudged = ((f(x + 1e-5 * dx) - f(x - 1e-5 * dx)) / 2e-5).numpy()
    forwards = mg.func.jvp(f, (x,), (dx,))[1].numpy()
    backwards = (back(gy)[0] * dx).sum().item()
    wrong = [] if np.allclose(forwards, nudged, rtol=1e-4, atol=1e-6) else ["forward"]
    return wrong if np.isclose(backwards, (gy.numpy() * nudged).sum(), rtol=1e-4, atol=1e-6) else [*wrong, "reverse"]
    ### END SOLUTION


# %%
check("wrong_directions")

# %% probes="wrong_directions"
import minigrad
import numpy
from minigrad.core.op import Elementwise, Linear, Op


class OwnTurned(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.roll(x, 1)

    def adjoint(self, gy, x):
        return gy.roll(1)


class OwnBent(Elementwise):
    def forward(self, xp, x):
        return x * xp.exp(x)

    def partials(self, y, x):
        return (x.exp(),)


class Cubed(Op):
    """Right backwards, wrong forwards."""

    def infer(self, x):
        return x

    def forward(self, xp, x):
        return x * x * x

    def vjp(self, gy, y, x):
        return (3 * x * x * gy,)

    def jvp(self, dxs, y, x):
        return 3 * x * dxs[0]


def report(f, n):
    x = minigrad.tensor(numpy.random.default_rng(n).normal(size=n) + 0.2)
    return sorted(wrong_directions(f, x))


# Hint: Both directions of this function are right: the list is empty. A nudge is good to some digits only.
report(lambda x: x.tanh() * x, 3)
# Hint: Only the way back is wrong here: compare `vjp` with the nudge, too.
report(lambda x: x.apply(OwnTurned()), 4)
# Hint: Both directions are wrong here, in the same way: compare each of them with the nudge, not with the other.
report(lambda x: x.apply(OwnBent()), 3)
# Hint: Only the forward rule is wrong here: compare `jvp` with the nudge.
report(lambda x: x.apply(Cubed()), 3)
# Hint: Both directions are wrong here, each in its own way.
report(lambda x: x.apply(OwnTurned()).apply(Cubed()), 4)
# Hint: f may give a single number: gy has the shape of f(x).
report(lambda x: (x * x).sum(), 5)
# Hint: f may give a matrix: gy has the shape of f(x).
report(lambda x: x.reshape(2, 3).T @ x.reshape(2, 3), 6)

# %% [markdown] hints="wrong_directions"
# 1. Forwards: compare mg.func.jvp(f, (x,), (dx,))[1] with how far f moved when x was nudged along dx.
# 2. Backwards: take a random gy of the shape of f(x). (gy J) · dx must be the same number as gy · (how far f moved).
# 3. `y, back = mg.func.vjp(f, x)`; `(back(gy)[0] * dx).sum()` against `(gy * moved).sum()`; np.allclose with
# rtol=1e-4 for both comparisons, since a nudge is good to some digits only.

# %% [markdown] shows="wrong_directions"
# Both directions read one Jacobian, so one nudge can judge them both, without knowing either rule.


# %% wrong="wrong_directions" misconception="M13"
# Shows: The question asked was whether there are derivatives, not whether they are right. A gradient is not right just
# because it is not None.
# Hint: Compare each direction with the nudge, which knows neither rule.
def wrong_directions(f, x):
    y, back = mg.func.vjp(f, x)
    moved = mg.func.jvp(f, (x,), (mg.ones(*x.shape),))[1]
    gx = back(mg.ones(*y.shape))[0]
    return [name for name, d in (("forward", moved), ("reverse", gx)) if d is None or not np.isfinite(d.numpy()).all()]


# %% wrong="wrong_directions"
# Shows: The directions were compared with each other, by the dot test. Where both are wrong in the same way they agree,
# and where they differ it does not say which of them is wrong.
# Hint: Ask a third witness: compare each direction with the nudge.
def wrong_directions(f, x):
    rng = np.random.default_rng(0)
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    one = (gy * mg.func.jvp(f, (x,), (dx,))[1]).sum().item()
    return [] if np.isclose(one, (back(gy)[0] * dx).sum().item()) else ["reverse"]


# %% wrong="wrong_directions"
# Shows: Where the directions differ from each other, both were called wrong, and where they agree, none. The dot test
# cannot say which of two is wrong, nor see a mistake that both share.
# Hint: Compare each of the two with the nudge, on its own.
def wrong_directions(f, x):
    rng = np.random.default_rng(0)
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    one = (gy * mg.func.jvp(f, (x,), (dx,))[1]).sum().item()
    return [] if np.isclose(one, (back(gy)[0] * dx).sum().item()) else ["forward", "reverse"]


# %% wrong="wrong_directions"
# Shows: Only the way back was judged: gradcheck compares reverse mode with nudges, and never runs forward mode.
# Hint: Compare mg.func.jvp with the nudge as well.
def wrong_directions(f, x):
    return [] if mg.gradcheck(f, x, raise_exception=False) else ["reverse"]


# %% wrong="wrong_directions"
# Shows: Only forward mode was judged.
# Hint: Weigh the nudge with a random gy, and compare it with (gy J) · dx.
def wrong_directions(f, x):
    dx = mg.tensor(np.random.default_rng(0).normal(size=x.shape))
    nudged = ((f(x + 1e-5 * dx) - f(x - 1e-5 * dx)) / 2e-5).numpy()
    return [] if np.allclose(mg.func.jvp(f, (x,), (dx,))[1].numpy(), nudged, rtol=1e-4, atol=1e-6) else ["forward"]


# %% wrong="wrong_directions"
# Shows: The two names are exchanged: jvp is the forward direction.
# Hint: jvp pushes a nudge forwards, vjp pulls a gradient back.
def wrong_directions(f, x):
    rng = np.random.default_rng(0)
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    nudged = ((f(x + 1e-5 * dx) - f(x - 1e-5 * dx)) / 2e-5).numpy()
    forwards = mg.func.jvp(f, (x,), (dx,))[1].numpy()
    backwards = (back(gy)[0] * dx).sum().item()
    wrong = [] if np.allclose(forwards, nudged, rtol=1e-4, atol=1e-6) else ["reverse"]
    return wrong if np.isclose(backwards, (gy.numpy() * nudged).sum(), rtol=1e-4, atol=1e-6) else [*wrong, "forward"]


# %% wrong="wrong_directions"
# Shows: The comparison is exact, and a nudge is good to some digits only: right operations are called wrong.
# Hint: Compare with a tolerance, as np.allclose(…, rtol=1e-4) does.
def wrong_directions(f, x):
    rng = np.random.default_rng(0)
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    nudged = ((f(x + 1e-5 * dx) - f(x - 1e-5 * dx)) / 2e-5).numpy()
    forwards = mg.func.jvp(f, (x,), (dx,))[1].numpy()
    backwards = (back(gy)[0] * dx).sum().item()
    wrong = [] if (forwards == nudged).all() else ["forward"]
    return wrong if backwards == (gy.numpy() * nudged).sum() else [*wrong, "reverse"]


# %% [markdown]
# ### 5. A function by the pattern of its derivatives
#
# **2 points, 6 minutes.** A model that predicts the next word may look at the words so far, and not ahead. Write such a
# function, `causal(x)`. It turns a tensor of shape (n,) into one of shape (n,), for any n:
#
# - output i depends on **each** of the inputs 0 to i, and on no later one;
# - its derivatives depend on x: they differ from place to place;
# - its graph has at most 12 nodes, x included, for any n.
#
# What does its Jacobian look like? Print `mg.func.jacfwd(causal)(x)` for a random x.


# %% answer="causal" points=2 minutes=6
def causal(x):
    ### BEGIN SOLUTION
    return x.tanh().cumsum(0)
    ### END SOLUTION


# %%
check("causal")

# %% probes="causal"
import minigrad
import numpy
from minigrad.saving import evidence


def point(n, seed):
    return minigrad.tensor(numpy.random.default_rng(seed).uniform(0.2, 0.9, n))


def jacobian_at(n, seed):
    """By nudging, which no rule of the function's own can fool."""
    x, h = point(n, seed).numpy(), 1e-5
    columns = []
    for i in range(n):
        up, down = (causal(minigrad.tensor(x + step * numpy.eye(n)[i])).numpy() for step in (h, -h))
        columns.append((up - down) / (2 * h))
    return numpy.stack(columns, axis=1)


def looks(n):
    return jacobian_at(n, 1)


looks_at_itself = looks_back = looks_ahead = looks


@referee
def looks_at_itself(jacobian, n):
    return (abs(numpy.array(jacobian)[range(n), range(n)]) > 1e-7).all()


@referee
def looks_back(jacobian, n):
    return (abs(numpy.array(jacobian))[numpy.tril_indices(n, -1)] > 1e-9).all()


@referee
def looks_ahead(jacobian, n):
    return (abs(numpy.array(jacobian))[numpy.triu_indices(n, 1)] > 1e-7).any()


def same_everywhere(n):
    return jacobian_at(n, 1), jacobian_at(n, 2)


@referee
def same_everywhere(two):
    return numpy.allclose(*two, rtol=1e-3)


def nodes(n):
    return evidence.sent_nodes(causal(minigrad.tensor(point(n, 3).numpy(), requires_grad=True)))


@referee
def nodes(listed):
    return ["within", "over"][len(listed) > 12]


# Hint: The result should have the shape of x.
list(causal(point(5, 0)).shape)
# Hint: Output i should depend on input i.
looks_at_itself(4)
# Hint: Output i should depend on every input before i.
looks_back(4)
# Hint: Output i should not depend on an input after i.
looks_ahead(4)
# Hint: The derivatives are the same for every x: the function is linear. Add something bent.
same_everywhere(4)
# Hint: Output i should depend on every input before i, for any n: here n is 2.
looks_back(2)
# Hint: Output i should depend on every input before i, for any n: here n is 20.
looks_back(20)
# Hint: Output i should not depend on an input after i, for any n: here n is 7.
looks_ahead(7)
# Hint: x may have a single number.
list(causal(point(1, 0)).shape)
# Hint: The graph has more than 12 nodes.
nodes(3)
# Hint: The graph may not grow with n: no loop.
nodes(30)

# %% [markdown] hints="causal"
# 1. A running total has the pattern: output i is the sum of the inputs 0 to i. `x.cumsum(0)` is one.
# 2. But its derivatives are 1 everywhere. Put something bent before it or after it.
# 3. tanh of each number, and then the running total; or the running total of the squares.

# %% [markdown] shows="causal"
# A Jacobian shows which output depends on which input: where nothing looks ahead, it is zero above the diagonal.


# %% wrong="causal"
# Shows: The pattern is right, but the derivatives are the same everywhere: the function is linear.
# Hint: Put something bent into it, such as tanh, before the running total or after it.
def causal(x):
    return x.cumsum(0)


# %% wrong="causal"
# Shows: Each output depends on its own input alone: the Jacobian is a diagonal.
# Hint: Output i should depend on each of the inputs 0 to i. A running total has that.
def causal(x):
    return x * x


# %% wrong="causal"
# Shows: Output i depends on the inputs *before* i, and not on its own.
# Hint: The word at place i has been read already: leave it in the running total.
def causal(x):
    return x.tanh().cumsum(0) - x.tanh()


# %% wrong="causal"
# Shows: Every output depends on every input: it looks ahead.
# Hint: A sum over all of x has the last input in it. Take a running total instead.
def causal(x):
    return x * x.sum()


# %% wrong="causal"
# Shows: It runs the wrong way: output i depends on the inputs from i to the end.
# Hint: Begin to add at input 0: x.cumsum(0), without reversing x.
def causal(x):
    return x.tanh().flip(0).cumsum(0).flip(0)


# %% wrong="causal"
# Shows: The properties hold, but the graph grows with n: a loop makes nodes for each number.
# Hint: cumsum is one node, whatever n is.
def causal(x):
    total, outputs = 0, []
    for i in range(x.shape[0]):
        total = total + x[i] ** 2
        outputs.append(total)
    return mg.stack(outputs)


# %% wrong="causal"
# Shows: Each output looks at its own input and the one before, and no further back.
# Hint: Output i is to depend on *all* inputs up to i. A running total reaches back to the first.
def causal(x):
    return x * x + x.tanh() * mg.cat([mg.zeros(1), x[:-1]])


# %% wrong="causal"
# Shows: Each output looks back through a window: long enough for a few inputs, but too short for more.
# Hint: Output i is to depend on *all* inputs up to i, for any n. Take nothing off the running total.
def causal(x):
    total = x.tanh().cumsum(0)
    return total - mg.cat([mg.zeros(4), total])[: x.shape[0]]


# %% [markdown]
# ## Done
#
# The two directions walk one graph with one set of slopes; what they cost depends on how much goes in and how much
# comes out; and a derivative is believed when a witness who has not read the same rule agrees.
#
# **Next**: [06 The dynamic graph](../lessons/06_the_dynamic_graph.ipynb).
