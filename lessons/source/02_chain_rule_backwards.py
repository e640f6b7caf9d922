# ---
# jupyter:
#   minigrad:
#     title: The chain rule, backwards
#     minutes: 45
#     objectives:
#       - compute a gradient by hand, arrow by arrow, and check it against the engine
#       - explain why gradients add where a value is used twice, and when .grad adds up by itself
#       - say what goes wrong without a topological order, with a count and with a number
#       - use finite differences to judge a derivative, and know how far to trust them
#     concepts: [A5, A6, A9]
#     builds_on: [01_what_a_graph_is]
#     widgets: [ChainRule, Predict, Quiz]
#     terms:
#       loss: The one number that says how wrong a network is; the output of its graph
#       local slope: How many times as far the result of a single operation moves as one of its operands
#       chain rule: Slopes multiply along a path, and where paths meet, what they bring is added
#       symbolic differentiation: A formula is rewritten into another formula, that of its derivative
#       automatic differentiation: The chain rule applied to the numbers of a run, operation by operation, which is
#         exact up to rounding
#       reverse mode: Automatic differentiation from the output back to the leaves, in one walk for all gradients; also
#         called backpropagation
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 02 The chain rule, backwards
#
# A network has a million numbers in it and one number that says how wrong it is: the **loss**. Which way should each of
# the million move, and how much would it matter? Trying them out takes a million runs. This lesson gets all the answers
# from one walk over the graph, backwards.
#
# **About 45 minutes.** Afterwards you can
#
# - compute a gradient by hand, arrow by arrow, and check it against the engine;
# - explain why gradients add where a value is used twice, and when `.grad` adds up by itself;
# - say what goes wrong without a topological order, with a count and with a number;
# - use finite differences to judge a derivative, and know how far to trust them.
#
# **Builds on** [01 What a computation graph is](01_what_a_graph_is.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): arrows, and the walk back.

# %% slideshow={"slide_type": "skip"}
import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.scalar.value import history
from minigrad.widgets import ChainRule

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Nudge and see
#
# Take `z = x * y + w` at x = 2, y = 3, w = 4. Push x up by 0.001 and leave the others alone. How many times as far does
# z move? Run the two cells below, write your number, and lock it.


# %% slideshow={"slide_type": "fragment"}
def f(x, y, w):
    return x * y + w


# %% slideshow={"slide_type": "fragment"}
Predict("nudge x", "How many times as far as x does z move?")

# %% slideshow={"slide_type": "fragment"}
h = 0.001
z = f(2, 3, 4)
for name, moved in {"x": f(2 + h, 3, 4), "y": f(2, 3 + h, 4), "w": f(2, 3, 4 + h)}.items():
    print(f"push {name}: z moves {(moved - z) / h:.3f} times as far")
reveal("nudge x", round((f(2 + h, 3, 4) - z) / h, 6))

# %% [markdown] slideshow={"slide_type": "fragment"}
# The derivative of z with respect to x, written ∂z/∂x, is this ratio for smaller and smaller pushes. The three of them
# together are the *gradient* of z. Nudging found them with four runs of `f`: one to start from, and one for each
# input. A million inputs would take a million and one.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask before the loop runs: which of the three slopes depends on w? None; a nudge of a sum arrives as it is. Count the
# runs aloud: four here, and how many for a million inputs?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What each operation knows
#
# No operation knows the whole graph, but each knows itself. In `temp = x * y`, temp moves y times as far as x does. In
# `s = temp + w`, s moves as far as w does: once. Such a ratio across a single operation is its **local slope**, and it
# is known as soon as the operation has run. The engine writes it down on the spot, one for each arrow.
#
# And s²? Push s by h: (s + h)² is s² + 2 × s × h + h². For a small h, h² is too small to count, so the square moves 2 ×
# s times as far as s.

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
# Now walk from the loss to the leaves. At the loss itself we start with 1: it moves exactly as far as itself. Across
# each arrow, what comes in is multiplied by the local slope, and goes out on the other side:
#
# | arrow | incoming | × local slope | = outgoing |
# |---|---|---|---|
# | loss → s | 1 | 2 × s = 4 | 4 |
# | s → w | 4 | 1 | 4 |
# | s → temp | 4 | 1 | 4 |
# | temp → y | 4 | x = 2 | 8 |
# | temp → x | ? | ? | ? |
#
# Slopes multiply along a path because each says "times as far": this is the **chain rule**. Fill in the last row.

# %% slideshow={"slide_type": "fragment"}
Predict("x.grad by hand", "What comes back to x along temp → x?")

# %% slideshow={"slide_type": "fragment"}
loss.backward()
reveal("x.grad by hand", x.grad)

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes, counting the page before. Do the table on the board, one row at a time, and let the room say each number.
# Anyone who says 3 for the last row has left out what comes in; anyone who says 4 has left out the slope.

# %% [markdown] slideshow={"slide_type": "skip"}
# The engine leaves what it found in the `.grad` of every value, leaves included. Nudging knows nothing of arrows, so we
# make it the *referee*: it gives the same three numbers, up to the size of the nudge. The picture has the whole walk in
# it: each box has its value and its gradient.
#
# The badge *saved* marks a value that a local slope is made from: for ×, the slope towards each operand is the other
# one; for s² it is 2 × s; + needs no value. (A Value stores the finished slope. From lesson 04 on, nodes are arrays and
# store the value.)

# %% slideshow={"slide_type": "skip"}
start = f(2, 3, -4) ** 2
nudges = [(f(2 + h, 3, -4) ** 2 - start) / h, (f(2, 3 + h, -4) ** 2 - start) / h, (f(2, 3, -4 + h) ** 2 - start) / h]
for name, v, nudge in zip("xyw", [x, y, w], nudges):
    print(f"{name}.grad = {v.grad:g}, nudging says {nudge:.2f}")
mg.draw(loss)

# %% [markdown] slideshow={"slide_type": "slide"}
# Step through it. Click the widget once, then use <kbd>→</kbd> and <kbd>←</kbd> to step; in the backward phase, say the
# next number before you press the key. Then write an expression of your own in place of `loss`, such as `(x + w) * y`,
# and run the cell again.

# %% slideshow={"slide_type": "fragment"}
ChainRule(loss)

# %% [markdown] slideshow={"slide_type": "notes"}
# Step to the end of forward, then stop before each arrow back: incoming, local, outgoing, in chorus. The keys work
# from the lectern; the text under the picture says the same for the last row.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A value used twice
#
# In `y = x + x` two arrows leave x. What will `x.grad` be?

# %% slideshow={"slide_type": "fragment"}
Predict("x + x", "What will x.grad be after y = x + x?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(3.0)
y = x + x
y.backward()
reveal("x + x", x.grad)

# %% [markdown] slideshow={"slide_type": "fragment"}
# The engine has never heard of "2x". Two arrows leave x, each brings back 1, and the two are added, because when x
# moves it pushes y along both arrows at once. **Whenever a value is used twice, its gradients add.**

# %% [markdown] slideshow={"slide_type": "subslide"}
# The cell below first prints the whole of backpropagation, as the engine has it. (What `.grad` held before is put aside
# at the start and added at the end.) Look in the middle for the line in which gradients meet. Suppose that this line,
# `parent.grad += v.grad * slope`, had `=` instead of `+=`. The later arrow would wipe out what the earlier one had
# brought. On which of two graphs would that show: that of `x * w + 1`, or that of `x * x + x`?

# %% slideshow={"slide_type": "fragment"}
import inspect


def gradients(y, order, overwrite=False):
    """∂y/∂v for every v of `order`, which starts at y: each passes on what it has when its turn comes."""
    gradient = dict.fromkeys(order, 0.0)
    gradient[y] = 1.0
    for v in order:
        for parent, slope in v.parents:
            gradient[parent] = gradient[v] * slope + (0.0 if overwrite else gradient[parent])
    return gradient


print(inspect.getsource(mg.Value.backward))
x, w = mg.Value(3.0), mg.Value(4.0)
for name, y in {"x * w + 1": x * w + 1, "x * x + x": x * x + x}.items():
    order = history(y)[::-1]
    print(f"{name}: += gives {gradients(y, order)[x]:g}, = gives {gradients(y, order, overwrite=True)[x]:g}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# On a graph where everything is used once, the two agree, so a test on such a graph cannot find the mistake. At x = 3,
# x² + x has the derivative 2x + 1 = 7; overwriting kept one arrow of three. A `.grad` that holds a number need not hold
# the right one: keep this in mind until the referee comes back.

# %% [markdown] slideshow={"slide_type": "notes"}
# This is the mistake that a test finds last. Ask for a graph on which = and += agree, and for one on which they do
# not, before you run the cell.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `.grad` adds up, too
#
# `backward()` adds to `.grad`; it does not replace it. The derivative of x³ at 3 is 27: `x**3` is one operation, so one
# arrow brings back all of it, 3 · 3². We run the forward and the backward pass, then both again, and clear nothing in
# between. What is in `x.grad`?

# %% slideshow={"slide_type": "fragment"}
Predict("twice, not cleared", "What is in x.grad after two passes and no clearing?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(3.0)
(x**3).backward()
first = x.grad
(x**3).backward()
second, x.grad = x.grad, 0.0
(x**3).backward()
print("after one pass:", first, "  cleared after the second, and run once more:", x.grad)
reveal("twice, not cleared", second)

# %% [markdown] slideshow={"slide_type": "fragment"}
# Adding up is useful when a loss comes in parts, one `backward()` each, and a trap when you forget about it. Only x
# needed clearing: each pass made its other values anew, and a new value starts with nothing. Lesson 03 shows what a
# forgotten clearing does to training.

# %% [markdown] slideshow={"slide_type": "slide"}
# ### A dot is not a zero
#
# Before `backward()` the engine has 0.0 in `.grad`, and the picture shows a dot. Does x have no influence on y here?
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
# Both times x.grad is 0.0, but it means two different things. Before, no gradient was asked for: the drawing says "·".
# After, the answer is 0: relu is flat at −2, and a small nudge of x is lost there. Read a 0 as "no influence" only
# after a backward pass.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ask for a show of hands: does x influence y? Then ask what changed between the two pictures, since the number is the
# same.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Why an order
#
# The shortest program for the chain rule has no order in it: from y, go to each parent, and from there to its parents.
# Let us count its visits on `y = y + y`, done n times. Each doubling is one node, and both its arrows come from the
# node before it. (`visits_down_every_path` calls itself, once for each arrow.)


# %% slideshow={"slide_type": "fragment"}
def visits_down_every_path(v):
    return 1 + sum(visits_down_every_path(parent) for parent, _ in v.parents)


def doubled(n):
    y = x = mg.Value(1.0)
    for _ in range(n):
        y = y + y
    return x, y


# %% slideshow={"slide_type": "fragment"}
Predict("visits for n = 16", "How many visits are there for n = 16?")

# %% slideshow={"slide_type": "fragment"}
x, y = doubled(16)
visits = visits_down_every_path(y)
reveal("visits for n = 16", visits)

# %% slideshow={"slide_type": "skip"}
print(" n   every path   the engine")
for n in (1, 2, 3, 4, 8, 15, 16):
    x, y = doubled(n)
    print(f"{n:2} {visits_down_every_path(y):12,} {len(history(y)):12,}")
y.backward()
print(f"each path from y to x brings back 1: x.grad = {x.grad:,.0f}")
x, y = doubled(60)
y.backward()
print(f"60 doublings: x.grad = {x.grad:.0f} = 2^60: {x.grad == 2**60}, in {len(history(y))} visits")
print(f"down every path, at a million visits a second: {visits * 2**44 / 1e6 / (3600 * 24 * 365):,.0f} years")

# %% [markdown] slideshow={"slide_type": "fragment"}
# Every path is walked on its own, and each doubling doubles the paths. The engine puts the values in order first, lets
# each collect from all its users, and only then passes its sum on: one visit each. At n = 60 that is the difference
# between an instant and tens of thousands of years: the visits double 44 more times.

# %% [markdown] slideshow={"slide_type": "notes"}
# Most guess 16, 32 or 256. Let them draw two doublings and count paths with a finger. A cell left out of the pages has
# a table up to n = 16, and what n = 60 would cost.

# %% [markdown] slideshow={"slide_type": "slide"}
# Could we keep the short program, and visit each value once, when we first meet it? It would be fast. Predict the
# gradient it gives for y = 2x + 3 · 2x, whose derivative is 8.


# %% slideshow={"slide_type": "fragment"}
def as_first_met(y):
    met = [y]
    for v in met:  # the list grows while the loop goes along it
        met += [parent for parent, _ in v.parents if parent not in met]
    return met


# %% slideshow={"slide_type": "fragment"}
Predict("each once, in the wrong order", "What does it find for the gradient of x?")

# %% slideshow={"slide_type": "fragment"}
x = mg.Value(1.0)
s = 2 * x
y = s + 3 * s
print("in topological order:", gradients(y, history(y)[::-1])[x])
reveal("each once, in the wrong order", gradients(y, as_first_met(y))[x])

# %% [markdown] slideshow={"slide_type": "fragment"}
# s was met early, along its short arrow to y, and passed on its 1 before the 3 from the long way round had arrived.
# Walking every path is slow; visiting in the wrong order is *wrong*. A topological order, read backwards, puts every
# user before what it uses, so a gradient is complete when it is passed on.
#
# One more thing about the short program: it calls itself, and Python allows that only to a depth of about a thousand. A
# long chain of operations is deeper than that. The engine's walk is a loop.

# %% [markdown] slideshow={"slide_type": "notes"}
# The point of the lesson: not slow but wrong. Hold up two hands as the two arrows that leave s: it may pass its
# gradient on only when both have come down.

# %% slideshow={"slide_type": "skip"}
y = x = mg.Value(0.0)
for _ in range(100_000):
    y = y + 1
y.backward()
print("a chain of 100,000 additions: x.grad =", x.grad)
try:
    visits_down_every_path(y)
except RecursionError:
    print("the short program: RecursionError")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## The referee
#
# Here is a new operation with a mistake planted in it: the slope of x² is 2x. (A value with a past is made from its
# number, its pairs of parent and slope, and its sign.) It runs, it draws, and it leaves a number in `.grad`. Nudging
# knows nothing of slopes, so it cannot make the same mistake.


# %% slideshow={"slide_type": "fragment"}
def square(x):
    return mg.Value(x.data**2, ((x, x.data),), "square")


def nudged(op, x, h=1e-5):
    """The derivative of op at x from a step to either side: a central difference."""
    return (op(mg.Value(x + h)).data - op(mg.Value(x - h)).data) / (2 * h)


for op in (mg.Value.tanh, mg.Value.exp, square):
    x = mg.Value(1.5)
    op(x).backward()
    found = nudged(op, 1.5)
    verdict = "agree" if abs(x.grad - found) < 1e-6 else "DISAGREE"
    print(f"{op.__name__:7} backward says {x.grad:.4f}, nudging says {found:.4f}: {verdict}")

# %% [markdown] slideshow={"slide_type": "notes"}
# A number in .grad proves nothing: it is there for square, too. The sweep over step sizes, left out of the pages, is
# worth five minutes if somebody asks how small a nudge should be.

# %% [markdown] slideshow={"slide_type": "skip"}
# How far can we trust the referee? The smaller the step, the better, one would think. For x³ at 3 the true slope is 27.
# Which step h gives the most correct digits: 0.1, 0.00001 or 0.000000000000001?

# %% slideshow={"slide_type": "skip"}
Predict("best step", "Which step gives the most correct digits?", options=["1e-1", "1e-5", "1e-15"])

# %% slideshow={"slide_type": "skip"}
from math import log10


def cube(x):
    return x * x * x


digits = {}
for k in range(1, 16):
    error = abs(nudged(cube, 3.0, h=float(f"1e-{k}")) - 27) / 27
    digits[f"1e-{k}"] = int(-log10(error))
    print(f"h = 1e-{k:<2}  {digits[f'1e-{k}']:2} correct digits  {'#' * digits[f'1e-{k}']}")
x = mg.Value(3.0)
cube(x).backward()
print("backward:", x.grad)
reveal("best step", max(["1e-1", "1e-5", "1e-15"], key=digits.get))

# %% [markdown] slideshow={"slide_type": "skip"}
# The number of correct digits rises and then falls, so the error has the shape of a U. Stepping to both sides cancels
# the curve's bend, the second derivative; what a large step leaves comes from the third, and falls with h². With a tiny
# step we subtract two nearly equal numbers, of 16 digits each, and are left with their rounding; that error grows as h
# shrinks. Nudging at its best gets 11 digits; backward gets them all. So finite differences are a good referee but a
# poor player: they need a run or two for each input, where backward takes one walk.

# %% [markdown] slideshow={"slide_type": "fragment"}
# There is a third way to a derivative, the one from school: rewrite the formula into another formula, **symbolic
# differentiation**. Written out without sharing, the formula of our 16 doublings names x once for each path, 65,536
# times. What the engine does is neither: **automatic differentiation** applies the chain rule to the numbers of one
# run, exact to rounding, and shares what the run shared. In this direction, from the output back, it is called
# **reverse mode**, or backpropagation.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same with arrays
#
# From here on we also use `mg.tensor`: whole arrays as nodes, and PyTorch's spelling. A tensor collects gradients if
# you ask it to; `.item()` takes the number out of a tensor that has only one. The loss is the sum of x times y, number
# by number. With x = [1, 2, 3] and y = [4, 5, 6], what is the first element of `x.grad`?

# %% slideshow={"slide_type": "fragment"}
Predict("x.grad[0]", "What is the first element of x.grad?")

# %% slideshow={"slide_type": "fragment"}
x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = mg.tensor([4.0, 5.0, 6.0], requires_grad=True)
loss = (x * y).sum()
loss.backward()
print(loss.item())
print("x.grad =", x.grad)
print("y.grad =", y.grad)
reveal("x.grad[0]", x.grad[0].item())

# %% [markdown] slideshow={"slide_type": "skip"}
# Three products in one node, as the drawing shows: `sum` hands 1 to each element, and × multiplies it by the other
# operand, as before. The boxes after the leaves keep their dot, because arrays are large: here only leaves keep a
# `.grad`. The referee comes with the engine as `gradcheck`: it nudges every element of every input, and raises an error
# that names the worst one if it disagrees.

# %% slideshow={"slide_type": "skip"}
print("the referee agrees:", mg.gradcheck(lambda x, y: (x * y).sum(), (x, y)))
mg.draw(loss)

# %% [markdown] slideshow={"slide_type": "subslide"}
# **Where it breaks.** Ask the same graph a second time, and read the message aloud. × needs x and y for its slopes, so
# the forward pass keeps both arrays. `backward()` lets go of them as it passes, because in a deep network they add up.
# Scalars keep their slopes, which cost little, so a `mg.Value` does not mind a second walk: v · v has the derivative 6
# at 3, and `.grad` adds up.

# %% slideshow={"slide_type": "fragment"}
import textwrap

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
# Answer from memory, and lock each answer. When all are locked you are told what is right, and what a wrong answer
# shows.

# %% slideshow={"slide_type": "skip"}
Quiz("02_chain_rule_backwards")

# %% [markdown] slideshow={"slide_type": "skip"}
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
# function, here `f`, and not a graph that a run left behind. PyTorch's referee wants float64, `x.double()`; JAX's has
# to be imported separately, `import jax.test_util`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Each operation knows its local slopes. Backward, incoming × local = outgoing, arrow by arrow.
# - Where a value is used more than once, its gradients add; and `.grad` adds up over backward passes until cleared.
# - A gradient may be passed on when it is complete: in reversed topological order, one visit each. Any other order is
#   wrong, or walks 2ⁿ paths.
# - Finite differences judge a derivative to about 11 digits, and cost a run or two for each input.
#
# **Sources.** D. E. Rumelhart, G. E. Hinton, R. J. Williams, *Learning representations by back-propagating errors*,
# Nature 323 (1986), 533-536: equation 7 is the sum over all users of a value. S. Linnainmaa, *Taylor expansion of the
# accumulated rounding error*, BIT 16 (1976), 146-160: reverse mode, before networks. A. G. Baydin and others,
# *Automatic differentiation in machine learning: a survey*, JMLR 18 (2018), section 2: the ways to a derivative, side
# by side.
#
# **Exercise.** [02 Backward by hand](../exercises/02_backward_by_hand.ipynb): gradients with a pencil, a walk to
# repair, and a trap of your own for three walks that are wrong. If you have not done them yet, do parts 4 and 5 of [01
# The pieces of a scalar engine](../exercises/01_scalar_engine.ipynb).
#
# **Next:** [03 Train a network](03_train_a_network.ipynb) puts gradients to work.
