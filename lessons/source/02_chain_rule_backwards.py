# ---
# jupyter:
#   minigrad:
#     title: The chain rule, backwards
#     minutes: 45
#     objectives:
#       - compute a gradient by hand, arrow by arrow, and check it against the engine
#       - say what happens to a gradient where a value is used twice, and when backward() runs twice
#       - say what goes wrong without a topological order, with a count and with a number
#       - use finite differences to judge a derivative, and know how far to trust them
#     concepts: [A5, A6, A9]
#     builds_on: [01_what_a_graph_is]
#     widgets: [ChainRule, Predict, Quiz]
#     terms:
#       loss: The one number that says how wrong a network is; the output of its graph
#       local slope: How many times as far the result of a single operation moves as one of its operands
#       chain rule: Slopes multiply along a path, and are added where paths meet
#       symbolic differentiation: Rewriting a formula into another formula, that of its derivative
#       automatic differentiation: Applying the chain rule to the numbers of a run, operation by operation; it is exact
#         up to rounding
#       reverse mode: Automatic differentiation from the output back to the leaves, which finds all gradients in one
#         walk; also called backpropagation
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 02 The chain rule, backwards
#
# The small GPT of lesson 00 contains 56,320 numbers. One more number says how wrong its guesses are: the **loss**.
# Which way should each of the 56,320 move, and how much does each of them matter? You could try them one at a time, but
# that takes 56,320 runs, and then training has made a single step.
#
# This lesson finds all the answers in one walk over the graph, backwards. The walk is a dozen lines of code. It can
# also go wrong without any error message, so we build a referee that catches it.
#
# **About 45 minutes.** Afterwards you can
#
# - compute a gradient by hand, arrow by arrow, and check it against the engine;
# - say what happens to a gradient where a value is used twice, and when `backward()` runs twice;
# - say what goes wrong without a topological order, with a count and with a number;
# - use finite differences to judge a derivative, and know how far to trust them.
#
# **Builds on** [01 What a computation graph is](01_what_a_graph_is.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): arrows, and the walk back.

# %% slideshow={"slide_type": "skip"}
import inspect
import textwrap
from math import log10

from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.scalar.value import history
from minigrad.widgets import ChainRule

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Nudge and see
#
# Take `z = x * y + w` at x = 2, y = 3, w = −4. Push x up by 0.001 and leave the others alone. How many times as far
# does z move? The plainest way to find out is to run the formula again.


# %% slideshow={"slide_type": "fragment"}
def f(x, y, w):
    return x * y + w


h = 0.001
z = f(2, 3, -4)
after_a_nudge = {"x": f(2 + h, 3, -4), "y": f(2, 3 + h, -4), "w": f(2, 3, -4 + h)}
for name, moved_z in after_a_nudge.items():
    print(f"nudge {name}: z moves {(moved_z - z) / h:.3f} times as far")

# %% [markdown] slideshow={"slide_type": "fragment"}
# The derivative of z with respect to x, written ∂z/∂x, is this ratio for smaller and smaller nudges. Lesson 00 called
# it the gradient of z with respect to x; all three together are also called *the gradient* of z. Nudging took four runs
# of `f`: one to start from, and one for each input. A million inputs would take a million and one.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask before the loop runs: which of the three ratios depends on w? None of them, because a nudge passes through a sum
# unchanged. Count the runs aloud: four here. How many for a million inputs?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What each operation knows
#
# No operation knows the whole graph, but each operation knows itself. In `temp = x * y`, temp moves y times as far as
# x. In `s = temp + w`, s moves exactly as far as w. Such a ratio across a single operation is called its **local
# slope**. The engine writes it down as soon as the operation has run, one slope for each arrow.
#
# What about s²? Push s by h: (s + h)² is s² + 2 × s × h + h². For a small h, the last term is too small to count, so
# the square moves 2 × s times as far as s.

# %% slideshow={"slide_type": "fragment"}
x, y, w = mg.Value(2.0), mg.Value(3.0), mg.Value(-4.0)
temp = x * y
s = temp + w
loss = s**2
for name, v in {"temp": temp, "s": s, "loss": loss}.items():
    print(f"{name:4} = {v.data:g}, made by {v.op:2} with local slopes {[slope for _, slope in v.parents]}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Incoming × local = outgoing
#
# Now walk from the loss back to the leaves. Start with a 1 at the loss, because it moves exactly as far as itself. At
# each arrow, multiply what comes in by the local slope. The product goes out at the other end:
#
# | arrow | incoming | × local slope | = outgoing |
# |---|---|---|---|
# | loss → s | 1 | 2 × s = 4 | 4 |
# | s → w | 4 | 1 | 4 |
# | s → temp | 4 | 1 | 4 |
# | temp → y | 4 | x = 2 | 8 |
# | temp → x | ? | ? | ? |
#
# Each slope says "so many times as far", so along a path the slopes multiply. This is the **chain rule**. Fill in the
# last row.

# %% slideshow={"slide_type": "fragment"}
Predict("x.grad by hand", "What goes out to x along temp → x?")

# %% slideshow={"slide_type": "fragment"}
if not x.grad:  # once, even if this cell is run twice
    loss.backward()
reveal("x.grad by hand", x.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# A 4 comes in, and the local slope of temp towards x is y = 3. The product is 12, and the engine agrees. It stores what
# arrives at each value in that value's `.grad`.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes, including the page before. Do the table on the board, one row at a time, and let the room say each
# number. Anyone who says 3 for the last row has left out what comes in; anyone who says 4 has left out the slope.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### But is it right?
#
# Nudging knows nothing of arrows, so we make it our *referee*. It finds the same three numbers, up to the size of the
# nudge. The drawing shows the whole walk.
#
# The badge *saved* marks the values from which local slopes are made. For ×, the slope towards each operand is the
# other operand. For s², it is 2 × s. A sum needs no value. (A `mg.Value` stores the finished slope. From lesson 04 on,
# the nodes are arrays, and they store the values instead.)

# %% slideshow={"slide_type": "skip"}
loss_before = f(2, 3, -4) ** 2
losses_after = [f(2 + h, 3, -4) ** 2, f(2, 3 + h, -4) ** 2, f(2, 3, -4 + h) ** 2]
for name, v, loss_after in zip("xyw", [x, y, w], losses_after):
    print(f"{name}.grad = {v.grad:g}, nudging says {(loss_after - loss_before) / h:.2f}")
mg.draw(loss)

# %% [markdown] slideshow={"slide_type": "slide"}
# Click the widget once, then step through the walk with <kbd>→</kbd> and <kbd>←</kbd>. In the backward phase, say the
# next number before you press the key. Then put an expression of your own in place of `loss`, such as `(x + w) * y`,
# and run the cell again.

# %% slideshow={"slide_type": "fragment"}
ChainRule(loss)

# %% [markdown] slideshow={"slide_type": "notes"}
# Step to the end of the forward phase, then stop before each arrow back: incoming, local, outgoing, in chorus. The keys
# work from the lectern; the text under the picture says the same for the last row.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A value used twice
#
# In `y = x + x` two arrows leave x. What will `x.grad` be?

# %% slideshow={"slide_type": "fragment"}
Predict("x + x", "What will x.grad be after y = x + x and y.backward()?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(3.0)
y = x + x
y.backward()
reveal("x + x", x.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The engine has never heard of "2x". Two arrows leave x, each brings back a 1, and the engine adds them, because a
# nudge of x pushes y along both arrows at once. **Whenever a value is used twice, its gradients add.**

# %% [markdown] slideshow={"slide_type": "subslide"}
# Here is the whole of backpropagation, as the engine does it. `history(self)` lists a value and everything it came
# from, parents before children. Such a list is called a *topological order*.

# %% slideshow={"slide_type": "fragment"}
print(inspect.getsource(mg.Value.backward))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Look for the line in the middle, `parent.grad += v.grad * slope`: there the gradients meet. (We come back to the lines
# about `before` and `earlier`.)
#
# Suppose that line had `=` instead of `+=`. Then the later arrow would wipe out what the earlier one had brought.
# Below, `gradients` is the same walk with a switch for this mistake, and two graphs to try it on: `x * w + 1` and
# `x * x + x`. On which of the two will you notice?


# %% slideshow={"slide_type": "fragment"}
def gradients(y, order, overwrite=False):
    """Walk back from y in the given order, and return ∂y/∂v for every v."""
    gradient = dict.fromkeys(order, 0.0)
    gradient[y] = 1.0
    for v in order:
        for parent, slope in v.parents:
            gradient[parent] = gradient[v] * slope + (0.0 if overwrite else gradient[parent])
    return gradient


x, w = mg.Value(3.0), mg.Value(4.0)
for name, y in {"x * w + 1": x * w + 1, "x * x + x": x * x + x}.items():
    order = history(y)[::-1]  # turned round: y comes first
    print(f"{name}: += gives {gradients(y, order)[x]:g}, = gives {gradients(y, order, overwrite=True)[x]:g}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# On a graph where every value is used once, the two agree, so a test on such a graph cannot find the mistake. The
# derivative of x² + x at 3 is 2x + 1 = 7. Three arrows come back to x. With `=`, only the last of them counted, and
# nothing looked broken: `.grad` held a number, and the number was wrong.

# %% [markdown] slideshow={"slide_type": "notes"}
# This is a mistake that tests find late. Before you run the cell, ask for a graph on which = and += agree, and for one
# on which they do not.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Backward, twice
#
# Look at the code of `backward` again, this time at `before` and `earlier`. The derivative of x³ at 3 is 27. (`x**3` is
# one operation, so one arrow brings back all of it.) We run forward and backward, then forward and backward again with
# the same x. What is in `x.grad` after the second pass?

# %% slideshow={"slide_type": "fragment"}
Predict("twice, not cleared", "What is in x.grad after the second pass?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(3.0)
for _ in range(2):
    (x**3).backward()
display(reveal("twice, not cleared", x.grad))
x.grad = 0.0
(x**3).backward()
print("set to 0, and one more pass:", x.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# `backward()` adds to `.grad`; it does not replace it. That is useful when a loss comes in parts, with one `backward()`
# for each part. It is a trap when you forget it. Only x had to be cleared: each pass made new values for the rest of
# the graph, and a new value starts at 0. Lesson 03 shows what a forgotten clearing does to training.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### A dot is not a zero
#
# Before `backward()` every `.grad` is 0.0, and the drawing shows a dot. Does the 0.0 mean that x has no influence on y?
# (relu(x) is x above 0, and 0 below.)

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(-2.0)
y = x.relu() * 3
print("before:", x.grad)
print(mg.draw(y).text)
y.backward()
print("\nafter:", x.grad)
print(mg.draw(y).text)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Both times `x.grad` is 0.0, but it means two different things. Before the pass nobody had asked: the drawing says "·".
# After the pass 0 is the answer: relu is flat at −2, so a small nudge of x is lost there. Only after a backward pass
# does a 0 mean "no influence".

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask for a show of hands: does x influence y? Then ask what changed between the two drawings, since the number is the
# same.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Why an order
#
# The shortest program for the chain rule has no order in it: from y, go to each parent, and from there to its parents.
# Let us count its visits on `y = y + y`, done n times. Each doubling is one node, and both its arrows come from the
# node before it. For n = 1 there are 3 visits: one to y, and one to x along each arrow. For n = 2 there are 7.


# %% slideshow={"slide_type": "fragment"}
def visits_down_every_path(v):
    """Count v and, along each arrow, everything behind it."""
    return 1 + sum(visits_down_every_path(parent) for parent, _ in v.parents)


def doubled(n):
    """A leaf x, and y = y + y done n times, starting from x."""
    y = x = mg.Value(1.0)
    for _ in range(n):
        y = y + y
    return x, y


Predict("visits for n = 16", "How many visits are there for n = 16? Within 1,000 is right.", tolerance=1000)

# %% slideshow={"slide_type": "fragment"}
x, y = doubled(16)
visits = visits_down_every_path(y)
reveal("visits for n = 16", visits)

# %% slideshow={"slide_type": "fragment"}
print(" n   every path   the engine")
for n in (1, 2, 3, 4, 8, 15, 16):
    x, y = doubled(n)
    print(f"{n:2} {visits_down_every_path(y):12,} {len(history(y)):12,}")
y.backward()
print(f"each path from y to x brings back 1: x.grad = {x.grad:,.0f}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# The short program walks every path on its own, and each doubling doubles the number of paths. The engine puts the
# values in order first. Each value collects from all its users and only then passes its sum on, so the engine visits it
# once. How much does that save at n = 60?

# %% slideshow={"slide_type": "skip"}
x, y = doubled(60)
y.backward()
print(f"the engine: x.grad = {x.grad:.0f}, which is 2 to the power 60: {x.grad == 2**60}, in {len(history(y))} visits")
print(f"every path, at a million visits a second: {visits * 2**44 / 1e6 / (3600 * 24 * 365):,.0f} years")

# %% [markdown] slideshow={"slide_type": "notes"}
# Most guess 32 or 256. Let them draw two doublings and count paths with a finger. A cell left out of the pages says
# what n = 60 would cost: tens of thousands of years.

# %% [markdown] slideshow={"slide_type": "slide"}
# Can we keep the short program, and visit each value only once, when we first meet it? That would be fast. Take s = 2x
# and y = s + 3s, which is 8x. The function below visits first y, then its parents, then theirs, and each value only
# once.


# %% slideshow={"slide_type": "fragment"}
def as_first_met(y):
    """All values behind y: first y, then its parents, then theirs."""
    met = [y]
    for v in met:  # the list grows while the loop runs along it
        met += [parent for parent, _ in v.parents if parent not in met]
    return met


Predict("each value once", "Which gradient of x does this order give?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(1.0)
s = 2 * x
y = s + 3 * s
display(reveal("each value once", gradients(y, as_first_met(y))[x]))
print("in topological order:", gradients(y, history(y)[::-1])[x])

# %% [markdown] slideshow={"slide_type": "fragment"}
# The walk met s early, along its direct arrow to y. So s passed on its 1 before the 3 had arrived by the longer
# route. Walking every path is slow; visiting in the wrong order is *wrong*. A topological order, read backwards, has
# every user before the values it uses, so a gradient is complete when it is passed on.

# %% [markdown] slideshow={"slide_type": "notes"}
# The point of the lesson: not slow but wrong. Hold up two hands as the two arrows that leave s: s may pass its gradient
# on only when both have come down.

# %% [markdown] slideshow={"slide_type": "skip"} folded=true
# ### Further: a chain of 100,000 operations
#
# The short program has another weakness: it calls itself, and Python allows that only to a depth of about a thousand. A
# long chain of operations goes deeper. The engine's walk is a loop, and a loop has no depth.

# %% slideshow={"slide_type": "skip"}
y = x = mg.Value(0.0)
for _ in range(100_000):
    y = y + 1
y.backward()
print("the engine, on a chain of 100,000 additions: x.grad =", x.grad)
try:
    visits_down_every_path(y)
except RecursionError:
    print("the short program: RecursionError")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## The referee
#
# Here is a new operation, `square`, with a mistake planted in it: it says that the slope of x² is x, where 2x is right.
# (`mg.Value(number, pairs, symbol)` makes a value with a history: each pair is a parent and the slope towards it.) It
# runs, it draws, and it leaves a number in `.grad`. Nudging knows nothing of slopes, so it cannot repeat the mistake.


# %% slideshow={"slide_type": "fragment"}
def square(x):
    return mg.Value(x.data**2, ((x, x.data),), "square")  # one pair: the parent x, and the slope towards it


def nudged_slope(op, x, h=1e-5):
    """The slope of op at x from a step to either side: a central difference."""
    return (op(mg.Value(x + h)).data - op(mg.Value(x - h)).data) / (2 * h)


for op in (mg.Value.tanh, mg.Value.exp, square):
    x = mg.Value(1.5)
    op(x).backward()
    slope = nudged_slope(op, 1.5)
    verdict = "agree" if abs(x.grad - slope) < 1e-6 else "DISAGREE"
    print(f"{op.__name__:7} backward says {x.grad:.4f}, nudging says {slope:.4f}: {verdict}")

# %% [markdown] slideshow={"slide_type": "notes"}
# A number in .grad proves nothing: square leaves one too. The comparison of step sizes, left out of the pages, is worth
# five minutes if somebody asks how small a nudge should be.

# %% [markdown] slideshow={"slide_type": "skip"}
# How far can we trust the referee? It divides by a step h, and a computer keeps about 16 digits of each number. For x³
# at 3 the true slope is 27. Which step gives the most correct digits: 0.1, 0.00001 or 0.000000000000001?

# %% slideshow={"slide_type": "skip"}
Predict("best step", "Which step gives the most correct digits?", options=["1e-1", "1e-5", "1e-15"])


# %% slideshow={"slide_type": "skip"}
def cube(x):
    return x * x * x


digits = {}
for k in range(1, 16, 2):
    error = abs(nudged_slope(cube, 3.0, h=float(f"1e-{k}")) - 27) / 27
    digits[f"1e-{k}"] = int(-log10(error))
display(reveal("best step", max(["1e-1", "1e-5", "1e-15"], key=digits.get)))
print("correct digits for each step h:", digits)
x = mg.Value(3.0)
cube(x).backward()
print("backward:", x.grad)

# %% [markdown] slideshow={"slide_type": "skip"}
# The number of correct digits rises, then falls. With a large step, the curve bends too much between the two points
# that we compare; this error shrinks with h². With a tiny step we subtract two nearly equal numbers of 16 digits, and
# what is left is mostly their rounding; this error grows as h shrinks. At its best, nudging gets 11 digits; backward
# gets them all. Finite differences are a good referee but a poor player: they need a run or two for each input.

# %% [markdown] slideshow={"slide_type": "fragment"}
# ### The way from school
#
# School teaches a third way to a derivative: rewrite the formula into another formula, which is called **symbolic
# differentiation**. Written out without sharing, the formula of our 16 doublings names x once for each path, 65,536
# times. The engine neither nudges nor rewrites formulas. **Automatic differentiation** applies the chain rule to the
# numbers of one run; it is exact up to rounding, and it shares what the run shared. In this direction, from the output
# back, it is called **reverse mode**, or backpropagation.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with arrays
#
# From here on we also use `mg.tensor`: its nodes are whole arrays, and its spelling is PyTorch's. A tensor collects a
# gradient only if you ask with `requires_grad=True`. The loss below multiplies x and y number by number and adds up the
# products. Say what `x.grad` will be before you run the cell.

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)
loss = (x * y).sum()
loss.backward()
print(loss.item())  # .item() takes the number out of a tensor that has only one
print("x.grad =", x.grad)
print("y.grad =", y.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# `sum` passes a 1 to each product, and × multiplies it by the other operand.

# %% [markdown] slideshow={"slide_type": "skip"}
# In the drawing, one node stands for three products. The boxes after the leaves keep their dot: arrays are large, so
# only leaves keep their `.grad` here. The referee comes with the engine under the name `gradcheck`. It nudges every
# element of every input, and if it disagrees, it raises an error that names the worst element.

# %% slideshow={"slide_type": "skip"}
print("the referee agrees:", mg.gradcheck(lambda x, y: (x * y).sum(), (x, y)))
mg.draw(loss)

# %% [markdown] slideshow={"slide_type": "subslide"}
# **Where it breaks.** The next cell walks back over the same graph a second time. Read its message aloud. × needs x and
# y for its slopes, so the forward pass keeps both arrays. `backward()` frees them as it goes, because in a deep network
# they take up most of the memory. (You still hold x and y; the graph has let go of them.) A `mg.Value` keeps only its
# slopes, which are small, so it allows a second walk: v × v has the derivative 6 at 3, and `.grad` adds up.

# %% slideshow={"slide_type": "fragment"}
try:
    loss.backward()
except mg.errors.FreedError as error:
    print(textwrap.fill(str(error), 80))
v = mg.Value(3.0)
y = v * v
y.backward()
y.backward()
print("\na Value, walked back twice:", v.grad)

# %% [markdown] slideshow={"slide_type": "notes"}
# Read the error aloud together. Lesson 06 is about what a run keeps, and for how long.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?
#
# Answer from memory, and lock each answer. When all are locked you see which are right, and what a wrong answer shows.

# %% slideshow={"slide_type": "skip"}
Quiz("02_chain_rule_backwards")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|
# | `mg.tensor(a, requires_grad=True)` | `torch.tensor(a, requires_grad=True)` | `tf.Variable(a)` | `jnp.array(a)` |
# | `loss.backward()`, then `x.grad` | the same | `tape.gradient(loss, x)` | `jax.grad(f)(x)` |
# | `.grad` adds up until cleared | the same | new gradients each time | new gradients each time |
# | `retain_graph=True` to go back twice | the same | `persistent=True` on the tape | call `jax.vjp`'s function again |
# | `mg.gradcheck` | `torch.autograd.gradcheck` | `tf.test.compute_gradient` | `jax.test_util.check_grads` |
#
# TensorFlow's tape is a block, `with tf.GradientTape() as tape:`, in which the loss is computed. JAX differentiates a
# function, here `f`, and not a graph that a run left behind. PyTorch's referee needs float64 inputs, `x.double()`.
# JAX's needs an import of its own, `import jax.test_util`.
#
# ### The same in PyTorch
#
# Gradients that meet in a value add, and a second pass adds to `.grad`. PyTorch visits each value once, too: no machine
# would get to the end of 2⁶⁰ paths.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def gradients_that_add(torch):
    """
    x * x + x: 7.0
    one pass:   27.0
    two passes: 54.0
    60 doublings give 2 to the power 60: True
    """
    x = torch.tensor(3.0, requires_grad=True)
    (x * x + x).backward()
    print("x * x + x:", x.grad.item())
    x.grad = None
    for name in ("one pass:  ", "two passes:"):
        (x**3).backward()
        print(name, x.grad.item())
    y = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(60):
        y = y + y
    y.backward()
    print("60 doublings give 2 to the power 60:", x.grad.item() == 2**60)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Each operation knows its local slopes. Backward, incoming × local = outgoing, arrow by arrow.
# - Where a value is used more than once, its gradients add. `.grad` also adds up over backward passes until cleared.
# - A gradient may be passed on only when it is complete: in reversed topological order, with one visit each. Any other
#   way is wrong, or walks 2ⁿ paths.
# - Finite differences judge a derivative to about 11 digits, and cost a run or two for each input.
#
# **Sources.** D. E. Rumelhart, G. E. Hinton, R. J. Williams, *Learning representations by back-propagating errors*,
# Nature 323 (1986), 533-536: equation 7 is the sum over all users of a value. S. Linnainmaa, *Taylor expansion of the
# accumulated rounding error*, BIT 16 (1976), 146-160: reverse mode, before networks. A. G. Baydin and others,
# *Automatic differentiation in machine learning: a survey*, JMLR 18 (2018), section 2: the ways to a derivative,
# compared.
#
# **Exercise.** [02 Backward by hand](../exercises/02_backward_by_hand.ipynb): gradients with a pencil, a walk to
# repair, and a trap of your own for three walks that are wrong. If you have not yet done parts 4 and 5 of [01 The
# pieces of a scalar engine](../exercises/01_scalar_engine.ipynb), do them now.
#
# **Next:** [03 Train a network](03_train_a_network.ipynb) puts gradients to work.
