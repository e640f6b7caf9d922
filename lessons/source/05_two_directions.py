# ---
# jupyter:
#   minigrad:
#     title: Two directions
#     minutes: 30
#     objectives:
#       - push a nudge forwards through a graph, and pull a gradient back, with the same local slopes
#       - fill in a Jacobian by columns or by rows, and say which takes fewer passes
#       - count what forward mode and reverse mode cost
#       - choose a check that can catch the mistake you fear, and know what it cannot see
#     concepts: [A8, A9]
#     builds_on: [04_tensors]
#     widgets: [ForwardAndReverse]
#     terms:
#       forward mode: Automatic differentiation from the inputs to the outputs, which finds how far everything
#         moves for a nudge of the inputs
#       tangent: How far a value moves for a nudge of the inputs, carried along with the value in forward mode
#       dual number: A number together with its tangent, written x + dx ε with ε times ε equal to 0
#       Jacobian: The table of all derivatives of a function, a row for each output and a column for each input
#       jvp: The Jacobian times a nudge of the inputs, found by one pass of forward mode
#       vjp: The gradient that arrives at the outputs times the Jacobian, found by one pass of reverse mode
#       expression swell: The growth of a derivative that is written out as a formula, equal parts repeated
#       dot test: Checking that forward and reverse mode give the same number for a nudge dx and weights gy
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 05 Two directions
#
# > RuntimeError: grad can be implicitly created only for scalar outputs
#
# PyTorch says this when you ask `backward()` to begin at several numbers. Why does it want exactly one? Reverse mode
# finds every derivative of *one* loss in one walk, from the end. But PyTorch, TensorFlow and JAX can also walk the
# other way, from the inputs. **What is the second direction good for, and which of the two is cheaper?**
#
# Two ways to the same derivative can also check each other. Near the end of this lesson we plant mistakes, and see
# which check catches which.
#
# **About 30 minutes.** Afterwards you can
#
# - push a nudge forwards through a graph, and pull a gradient back, with the same local slopes;
# - fill in a Jacobian by columns or by rows, and say which takes fewer passes;
# - count what forward mode and reverse mode cost;
# - choose a check that can catch the mistake you fear, and know what it cannot see.
#
# **Builds on** [04 A whole array is one node](04_tensors.ipynb).

# %% [markdown] slideshow={"slide_type": "notes"}
# One minute. Ask: "You turn one knob of a machine with a hundred dials. Or you watch one dial of a machine with a
# hundred knobs. Which of the two do you do in training?" Come back to the picture when the passes are counted.

# %% slideshow={"slide_type": "skip"}
import gc
import re

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.core.op import Elementwise, Linear
from minigrad.scalar.value import history
from minigrad.widgets import ForwardAndReverse

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same slopes, read forwards
#
# The graph of lesson 02 has a local slope on each arrow. On the way back, we multiplied along the arrows and added
# where arrows *leave* a value. We can also go forwards: nudge the leaves, multiply along the arrows, and add where
# arrows *arrive*.


# %%
def pushed(y, nudges):
    """How far y moves when each leaf moves by its nudge."""
    moves = {}
    for v in history(y):
        moves[v] = nudges.get(v, 0.0) + sum(slope * moves[parent] for parent, slope in v.parents)
    return moves[y]


x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(-4.0)
loss = (x * y + w) ** 2
print("nudge x alone: loss moves", pushed(loss, {x: 1.0}), "times as far")

# %%
loss.backward()
print("one pass back:   ", {"x": x.grad, "y": y.grad, "w": w.grad})
print("a pass for each: ", {name: pushed(loss, {v: 1.0}) for name, v in {"x": x, "y": y, "w": w}.items()})
print("x and y together:", pushed(loss, {x: 1.0, y: 1.0}))

# %% [markdown]
# This is **forward mode**. The number that it carries along with each value is called a **tangent**. It takes a pass
# for each input; one pass back gives all three derivatives. Tangents of two nudges add, as small nudges do: 12 + 8.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Put `pushed` next to the loop of lesson 02: the order is reversed, and it adds what arrives from the
# parents, not what comes back from the users. A common mistake: a tangent is not "the derivative", it is the derivative
# *in the direction of the nudge*.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Dual numbers
#
# Forward mode goes in the order in which the program runs. So the tangent can travel *with* the value, as a pair x + dx
# ε, where ε is a nudge so small that ε · ε counts as 0. Multiply out two such pairs:
#
# > (x + dx ε)(y + dy ε) = x y + (x dy + dx y) ε
#
# Such a pair is a **dual number**. To compute with dual numbers you need a rule for + and a rule for ×:


# %%
class Dual:
    def __init__(self, x, dx=0.0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        return Dual(self.x + other.x, self.dx + other.dx)

    def __mul__(self, other):
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)


def cubed_and_more(x):
    return x * x * x + x


y = cubed_and_more(Dual(3.0, 1.0))
print("x³ + x at 3:", y.x, "  its slope:", y.dx)

# %% [markdown]
# The slope is 3x² + 1 = 28, from an ordinary function and without a graph. What does that save? We multiply a thousand
# times, first Values and then Duals, and count how many of them are in memory afterwards. There are 1,001 Values, one
# for each product and one for x. How many Duals are there?

# %%
Predict("duals alive", "How many Duals are alive after a thousand products, x included?")


# %%
def count_alive(kind):
    gc.collect()
    return sum(type(thing) is kind for thing in gc.get_objects())


def multiply_a_thousand_times(x):
    """The product, and how many numbers of this kind are alive then, x included."""
    others, y = count_alive(type(x)) - 1, x
    for _ in range(1000):
        y = y * x
    return y, count_alive(type(x)) - others


dual, duals_alive = multiply_a_thousand_times(Dual(1.0, 1.0))
reveal("duals alive", duals_alive)

# %%
value, values_alive = multiply_a_thousand_times(mg.Value(1.0))
print("Values alive:", values_alive, "  the slope, from the Dual:", dual.dx)

# %% [markdown]
# There are two: the number where it began, and the number where it is now. **Forward mode keeps nothing.** Reverse mode
# must keep the whole way, because it starts at the end of it. That is the price of reverse mode.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A table of derivatives
#
# And what does reverse mode buy? Give the function two outputs, s and s². With three inputs there are six derivatives.
# The table of them, a row for each output and a column for each input, is called the **Jacobian**. Step through the
# widget, and before each pass write down what it will fill in: above a column, below a row. (The
# widget calls a gradient on its way back a *cotangent*.)


# %%
def f(x, y, w):
    s = x * y + w
    square = s**2
    return s, square


ForwardAndReverse(f, 2.0, 3.0, -4.0)

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Stop after the first column and ask for the second. Then jump to reverse mode: "which three numbers will
# the first pass fill in, and which of them have you seen?"

# %% [markdown] slideshow={"slide_type": "subslide"}
# We rarely want the whole table. Training needs a product with it: the Jacobian J times a nudge, J dx, called **jvp**;
# or the gradient that arrives at the outputs times the Jacobian, gy J, called **vjp**. Each takes one pass and never
# makes the table.
#
# `mg.func.jvp(f, (x,), (dx,))` returns f(x) and J dx. `mg.func.vjp(f, x)` returns f(x) and a function `pull`, which
# walks back from whatever you pass to it. Each rule of lesson 04, such as gX = gZ Wᵀ, was a vjp.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a table by columns and by rows
#
# If you pass a 1 in one place and 0 elsewhere, a jvp *is* a column, and a vjp is a row.

# %% slideshow={"slide_type": "skip"}
W = mg.tensor(np.arange(6.0).reshape(3, 2) / 4 - 0.5)


def layer(x):
    return (x @ W).tanh().reshape(2)


x = mg.tensor([[0.5, -1.0, 2.0]])
columns = [mg.func.jvp(layer, (x,), (nudge.reshape(1, 3),))[1] for nudge in mg.eye(3)]
y, pull = mg.func.vjp(layer, x)
rows = [pull(gy)[0].reshape(3) for gy in mg.eye(2)]
print("3 columns, by jvp:\n", np.stack([c.numpy() for c in columns], axis=1).round(4))
print("2 rows, by vjp:\n", np.stack([r.numpy() for r in rows]).round(4))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Counting passes
#
# A pass forwards walks every arrow once. A pass back walks every arrow that leads to its output. Both do one
# multiplication for each arrow. Take a function of 3 inputs and 100 outputs that share most of the way. Which mode is
# cheaper, if you want all the derivatives?

# %%
Predict("3 inputs, 100 outputs", "Which is cheaper?", options=["forward mode", "reverse mode", "no difference"])


# %%
def network(n, m):
    """n inputs, m outputs: ten rounds through all inputs, which the outputs share, and then a step for each output."""
    xs = [mg.Value(0.1 * i) for i in range(n)]
    shared = xs[0]
    for x in 10 * xs:
        shared = shared * 0.5 + x
    return xs, [shared * j for j in range(m)]


def count_arrows(ys):
    return sum(len(v.parents) for v in {v for y in ys for v in history(y)})


def multiplications(n, m):
    xs, ys = network(n, m)
    return n * count_arrows(ys), sum(count_arrows([y]) for y in ys)


forward_work, reverse_work = multiplications(3, 100)
reveal("3 inputs, 100 outputs", "forward mode" if forward_work < reverse_work else "reverse mode")

# %%
print("inputs  outputs     forward     reverse")
for n, m in [(1, 100), (3, 100), (10, 10), (100, 1), (1000, 1)]:
    print(f"{n:6} {m:8} {multiplications(n, m)[0]:11,} {multiplications(n, m)[1]:11,}")

# %% [markdown]
# Forward mode takes a pass for each input, reverse mode a pass for each output. So forward mode wins with few inputs,
# and reverse mode with few outputs.

# %% [markdown]
# ### One loss
#
# A loss is one output of all parameters. So training walks back, and PyTorch asks for a single number. This is called
# **the cheap gradient:** an operation of two operands has two arrows, so the walk back takes at most two
# multiplications for each operation, however many inputs there are.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. The knobs and dials of the beginning: one dial, many knobs is reverse mode. Then ask for a case with few
# knobs and many dials: a picture that depends on one angle; a whole simulation that depends on one constant of nature.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the cost in a plot, and the derivative from school
#
# Four ways to a gradient in one picture; and what happens to a derivative that is written out as a formula: it swells.
# This is called **expression swell**.

# %% [markdown] slideshow={"slide_type": "skip"}
# The gradient of one loss, also by the nudging of lesson 02, which takes two runs for each input.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt

from minigrad.course import follow_theme

follow_theme()
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
inputs = [1, 3, 10, 30, 100, 300, 1000]
operations = [sum(1 for v in history(network(n, 1)[1][0]) if v.parents) for n in inputs]
nudging = [2 * n * count for n, count in zip(inputs, operations)]
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.loglog(inputs, nudging, "^", color=GREEN, markersize=12, fillstyle="none", label="nudging")
ax.loglog(inputs, [multiplications(n, 1)[0] for n in inputs], "s--", color=VERMILION, label="forward mode")
ax.loglog(inputs, [multiplications(n, 1)[1] for n in inputs], "o-", color=BLUE, label="reverse mode")
ax.loglog(inputs, operations, ".-", color="gray", label="the function itself")
ax.set(xlabel="inputs", ylabel="operations", title="The gradient of one loss")
ax.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: rising lines, both axes logarithmic. Reverse mode stays twice as high as the function itself and parallel
# to it. Forward mode and nudging lie on top of each other, rise twice as steeply, and end a thousand times higher.*
#
# Forward mode and nudging cost the same here, but
# nudging gives 11 digits at its best (lesson 02), and forward mode gives all of them.

# %% [markdown] slideshow={"slide_type": "skip"}
# #### The way from school, counted
#
# The third way to a derivative is symbolic: rewrite the formula by the rules from school. In the code below, a formula
# is the letter x, or a symbol with two formulas, such as ("×", "x", "x").


# %% slideshow={"slide_type": "skip"}
def derivative(e):
    """The derivative of a formula by x, as a formula: (a + b)′ = a′ + b′, (a × b)′ = a′ × b + a × b′."""
    if e == "x":
        return "1"
    op, a, b = e
    da, db = derivative(a), derivative(b)
    return ("+", da, db) if op == "+" else ("+", ("×", da, b), ("×", a, db))


def written(e):
    return e if isinstance(e, str) else f"({written(e[1])} {e[0]} {written(e[2])})"


print("x × x + x has the derivative", written(derivative(("+", ("×", "x", "x"), "x"))))

# %% [markdown] slideshow={"slide_type": "skip"}
# It is right, if long-winded: 2x + 1. Call the formula y = x × x + x. The next formula is y × y + x, with y written
# out, and so on, n times in all. We count the length of the derivative: every +, ×, x and 1, but not the brackets. How
# long is it for n = 10? Say a number before you run the second cell.


# %% slideshow={"slide_type": "skip"}
def length(e):
    return 1 if isinstance(e, str) else 1 + length(e[1]) + length(e[2])


formulas = ["x"]
for _ in range(10):
    formulas.append(("+", ("×", formulas[-1], formulas[-1]), "x"))
print("n = 2:", written(derivative(formulas[2])))
print("length for n = 1 to 4:", [length(derivative(e)) for e in formulas[1:5]])

# %% slideshow={"slide_type": "skip"}
print("length for n = 10:", length(derivative(formulas[10])))

# %% [markdown] slideshow={"slide_type": "skip"}
# This is expression swell. Each round writes both y and y′ out twice, (y′ × y) + (y × y′), so the length more than
# doubles.

# %% [markdown] slideshow={"slide_type": "skip"}
# Why does the engine not suffer from swell? Because it shares: y is used twice and computed once. Let us do the same
# for the formula, and count each *different* part once:


# %% slideshow={"slide_type": "skip"}
def part_number(e, parts):
    """The number of this formula among the different parts; a new part gets a new number."""
    key = e if isinstance(e, str) else (e[0], part_number(e[1], parts), part_number(e[2], parts))
    return parts.setdefault(key, len(parts))


print(" n   written out   different parts   arrows of the engine's graph")
for n in (1, 2, 4, 8, 10):
    parts: dict = {}
    part_number(derivative(formulas[n]), parts)
    v = x = mg.Value(0.5)
    for _ in range(n):
        v = v * v + x
    print(f"{n:2} {length(derivative(formulas[n])):13,} {len(parts):17} {count_arrows([v]):30}")

# %% [markdown] slideshow={"slide_type": "skip"}
# So the rules from school are not to blame; they are the engine's rules too. The swell comes from *writing out*. With
# equal parts shared, symbolic differentiation is automatic differentiation of the whole formula at once. A compiler of
# graphs does just that: lesson 13.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who checks whom?
#
# Two directions give us a check without finite differences. Take any nudge dx of the inputs and any weights gy for the
# outputs. Push dx forwards and add up the results with the weights gy. Or pull gy back and multiply what arrives by dx.
# Both are the same number, found in two ways: gy · (J dx) = (gy J) · dx. This is the **dot test**.


# %%
def dot_test(f, x, seed=0):
    """gy · (J dx) and (gy J) · dx, for random dx and gy."""
    rng = np.random.default_rng(seed)
    y, pull = mg.func.vjp(f, x)
    dx, gy = mg.tensor(rng.normal(size=x.shape)), mg.tensor(rng.normal(size=y.shape))
    _, dy = mg.func.jvp(f, (x,), (dx,))
    return round((gy * dy).sum().item(), 6), round((pull(gy)[0] * dx).sum().item(), 6)


W = mg.tensor(np.arange(6.0).reshape(3, 2) / 4 - 0.5)
dot_test(lambda x: (x @ W).tanh(), mg.tensor([[0.5, -1.0, 2.0]]))

# %% [markdown]
# An operation of the engine says how to compute, in `forward`, and how to go back: an elementwise operation by its
# slopes, `partials`; a linear operation, in which each result is a sum of inputs times fixed numbers, by its
# `adjoint`, which turns the gradient of the result into that of the input. The running total below is linear: 1, 2, 3
# becomes 1, 3, 6. Its way back must run from the end, and here it does not. (`infer` says which shape and dtype come
# out: those of x. `xp` is NumPy.)


# %%
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy.cumsum(0)  # from the beginning: wrong


dot_test(lambda x: x.apply(RunningTotal()), mg.tensor([1.0, 2.0, 3.0]))

# %% [markdown] slideshow={"slide_type": "subslide"}
# The two numbers differ: caught. Now an operation that is given by its slope. swish(x) = x · σ(x), with σ(x) = 1 / (1 +
# e⁻ˣ), has the slope σ + x σ (1 − σ). In the code below, the last factor is missing. What does the dot test say?


# %%
class Swish(Elementwise):
    def forward(self, xp, x):
        return x / (1 + xp.exp(-x))

    def partials(self, y, x):
        s = x.sigmoid()
        return (s + x * s,)  # times (1 − s) was forgotten


def swish(x):
    return x.apply(Swish())


# %%
Predict("dot test of the wrong swish", "Do the two numbers of the dot test agree?", options=["yes", "no"])

# %%
x = mg.tensor([0.5, -1.0, 2.0])
pushed_forwards, pulled_back = dot_test(swish, x)
reveal("dot test of the wrong swish", "yes" if pushed_forwards == pulled_back else "no")

# %%
print(pushed_forwards, pulled_back)

# %% [markdown]
# They agree to six digits, and both are wrong. The two directions read the *same* slope, so they make the same mistake.
# **Two witnesses who have read the same paper are one witness.** We need a witness who has not read it: the referee of
# lesson 02, which nudges.

# %%
try:
    mg.gradcheck(swish, x)
except mg.errors.GradcheckError as error:
    print(re.sub(r"(\.\d{4})\d+", r"\1", str(error)))  # four digits of each are enough

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Take a vote before the reveal; "no" usually wins. The sentence about witnesses is worth a pause: ask
# where else in their work two checks share a source. (A test that copies the formula from the code, for instance.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What the referee cannot see
#
# **Where it breaks.** The referee has limits too, and each of them looks like an answer. Show it the wrong swish at
# another point, 0; then a correct function, relu, at its kink; then swish in float32.

# %%
print("the wrong swish, at 0:", mg.gradcheck(swish, mg.zeros(3)))
for name, g, at in [("relu", mg.Tensor.relu, mg.tensor([1.0, 0.0])), ("swish", swish, mg.ones(1, dtype=mg.float32))]:
    try:
        mg.gradcheck(g, at)
    except (mg.errors.GradcheckError, mg.errors.DTypeError) as error:
        print(f"{name}: {type(error).__name__}: {error}")

# %% [markdown]
# - At 0 the forgotten factor does not show: x σ is 0 there, with it or without it. A mistake can be right at a point,
#   so **check at random points, several.**
# - relu has no slope at 0. Backward says 0. A central difference sees one flat side and one steep side, and says a
#   half. Neither is wrong. **Stay away from kinks.**
# - float32 has seven digits, and a nudge needs more (lesson 02), so the referee refuses. **Check in float64.**
# - The referee takes two runs for each input, and three more. So it is for small shapes.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: five checks from the weakest to the strongest, and what the referee costs

# %% [markdown] slideshow={"slide_type": "skip"}
# The checks, from the weakest to the strongest:
#
# | it says "fine" if | what it compares | what it cannot see |
# |---|---|---|
# | `x.grad is not None` | nothing | any wrong number at all |
# | shapes agree | sizes | lesson 04: a wrong product of square matrices |
# | the dot test agrees | the two directions | a mistake that both have read |
# | gradcheck agrees, at one point | the slope and a nudge | a mistake that is right at that point |
# | gradcheck agrees, at random points | the slope and nudges | a loss that is not the one you meant (lesson 04) |

# %% slideshow={"slide_type": "skip"}
runs = []


def sum_of_squares(v):
    runs.append(v)
    return (v * v).sum()


for n in (10, 100, 1000):
    runs.clear()
    mg.gradcheck(sum_of_squares, mg.tensor(np.linspace(1, 2, n)))
    print(f"{n:4} inputs: the referee ran the function {len(runs):4} times")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you know now?

# %% slideshow={"slide_type": "skip"}
Quiz("05_two_directions")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# The words of this lesson in PyTorch, TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | `mg.func.jvp(f, (x,), (dx,))` | `torch.func.jvp`, the same | `acc.jvp(y)` of an accumulator | `jax.jvp`, the same |
# | `mg.func.vjp(f, x)` | `torch.func.vjp` | `tape.gradient(y, x, output_gradients=gy)` | `jax.vjp` |
# | `mg.func.jacfwd`, `jacrev` | `torch.func.jacfwd`, `jacrev` | `tape.jacobian` | `jax.jacfwd`, `jacrev` |
# | `mg.gradcheck` | `torch.autograd.gradcheck` | `tf.test.compute_gradient` | `jax.test_util.check_grads` |
#
# TensorFlow's accumulator is a block, like its tape: `with tf.autodiff.ForwardAccumulator(x, dx) as acc:`, and then
# `acc.jvp(y)`. `tf.test.compute_gradient` returns both tables and leaves the comparison to you. JAX's check needs an
# import of its own: `import jax.test_util`.
#
# ### The same in PyTorch
#
# Forward mode takes a pass for each input of the loss. Reverse mode finds all three derivatives in one pass.

# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def both_directions(torch):
    """
    a pass forwards, for x: 12.0
    a pass forwards, for y: 8.0
    a pass forwards, for w: 4.0
    one pass back: [12.0, 8.0, 4.0]
    """

    def loss(x, y, w):
        return (x * y + w) ** 2

    at = torch.tensor(2.0), torch.tensor(3.0), torch.tensor(-4.0)
    for name, nudge in zip("xyw", torch.eye(3)):
        _, move = torch.func.jvp(loss, at, tuple(nudge))
        print(f"a pass forwards, for {name}:", move.item())
    _, pull = torch.func.vjp(loss, *at)
    print("one pass back:", [slope.item() for slope in pull(torch.tensor(1.0))])


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - One graph, one set of slopes, two directions: a nudge pushed forwards, or a gradient pulled back.
# - Forward mode gives a column for each pass and keeps nothing; reverse mode gives a row and keeps the way.
# - A loss is one row: one pass back, at two multiplications for each operation, whatever the number of inputs.
# - A check is worth what it does *not* share with what it checks. The referee nudges, at random points, in float64.
#
# **Sources.** R. E. Wengert, *A simple automatic derivative evaluation program*, Communications of the ACM 7 (1964),
# 463-464: forward mode. W. Baur, V. Strassen, *The complexity of partial derivatives*, Theoretical Computer Science 22
# (1983), 317-330: the cheap gradient. A. Griewank, A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008,
# chapter 3: both modes and their costs. S. Laue, *On the equivalence of automatic and symbolic differentiation*,
# [arXiv:1904.02990](https://arxiv.org/abs/1904.02990): swell, and where it comes from.
#
# **Exercise.** [05 Both directions](../exercises/05_both_directions.ipynb): a Jacobian with a pencil, dual numbers of
# your own, and a Jacobian on a budget.
#
# **Next:** [06 The dynamic graph](06_the_dynamic_graph.ipynb) looks at when a graph is made, what it keeps, and when it
# goes.
