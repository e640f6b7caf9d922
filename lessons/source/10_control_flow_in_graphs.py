# ---
# jupyter:
#   minigrad:
#     title: Control flow in graphs
#     minutes: 55
#     objectives:
#       - say what Python's if and while do on a placeholder, and what takes their place
#       - write a branch and a loop as nodes, and count what is built and what is run
#       - choose between an unrolled loop and a loop node, with the number of nodes as a reason
#       - say what the gradient of a loop is the gradient of, and what it costs in memory
#     concepts: [C5]
#     builds_on: [09_define_then_run]
#     widgets: [GraphView, StaticVsDynamic]
#     terms:
#       control-flow node: a node that holds graphs of its own, and decides in each run which of them runs, or how often
#       carry: a value that a loop passes from one turn to the next; also called loop variable
#       unrolled: of a loop, written down as one copy of its body for each turn
#       shape invariant: what a loop promises about a carry's shape at every turn; None for a length that may change
#       scan: a loop along the first axis of a sequence, which carries a state and stacks a result of each turn
#       stack of a loop: the values that a loop keeps for its gradient, one row for each turn
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 10 Control flow in graphs
#
# *Oluwatobiloba* has thirteen letters. The graph of lesson 09 ends after twelve, so it cannot read this name. You could
# write down thirteen letters, or twenty, and some day somebody comes with twenty-one.
#
# In lesson 08 there was no such problem: Python's `for` went on to the last letter. But a graph that was compiled, or
# that runs on a phone, has no Python to ask. How long a name is, which of two formulas applies, when an iteration has
# come close enough: the answer is known only when the graph runs, and by then Python has left the stage.
#
# **How can a graph that is built without numbers decide anything by a number?**
#
# **About 55 minutes.** Afterwards you can
#
# - say what Python's `if` and `while` do on a placeholder, and what takes their place;
# - write a branch and a loop as nodes, and count what is built and what is run;
# - choose between an unrolled loop and a loop node, with the number of nodes as a reason;
# - say what the gradient of a loop is the gradient of, and what it costs in memory.
#
# **Builds on** [09 Define, then run](09_define_then_run.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who remembers lesson 08: there a function with an `if` left a different graph for each input. Write
# on the board: "the graph is there first, the number comes later". Everything today follows from that sentence.

# %% slideshow={"slide_type": "skip"}
import textwrap
import tracemalloc

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, reveal
from minigrad.graph import fori_loop, probe, scan
from minigrad.core.node import toposort
from minigrad.widgets import GraphView, StaticVsDynamic


# %% [markdown] slideshow={"slide_type": "slide"}
# ## An `if` with nothing to look at
#
# In eager mode this function works: Python looks at the number and goes one way. Now `x` is a placeholder.


# %%
def bent(x):
    if x > 0:
        return x * x
    return mg.exp(-x)


g = mg.Graph()
with g.as_default():
    x = mg.placeholder("float64", (), name="x")
    try:
        bent(x)
    except mg.errors.NoValueError as error:
        print(textwrap.fill(str(error), 80))

# %% [markdown]
# Read the message aloud, because each half says something. *Greater → bool[]*: the comparison itself went well, and
# `x > 0` is a node like any other. *Has no value*: the trouble begins when Python's `if` asks this node "are you
# true?" and wants one answer, now. Two answers are possible, and the right one differs from run to run. A `while`
# asks the same question, and `range(n)` asks a similar one.
#
# PyTorch's compiler meets the same `if`. By default it cuts the graph in two there, and lets Python decide between the
# parts. If you ask for one whole graph, with `fullgraph=True`, it refuses:
#
# > Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control
# > flow. […] Hint: Use `torch.cond` to express dynamic control flow.
#
# If Python cannot decide, the decision itself must become a node. That is what `cond` is.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A branch as a node
#
# `mg.cond(p, f, g)` takes the condition as a node, and the two branches as functions without arguments. Each of our
# branches notes in `python_calls` that Python has called it. (The `probe` in each is explained below.) How many of the
# two does Python call while the graph is built?

# %%
python_calls, probes = [], {}


def squared():
    python_calls.append("squared")
    y = x * x
    probes["squared"] = probe(y)
    return y


def falling():
    python_calls.append("falling")
    y = mg.exp(-x)
    probes["falling"] = probe(y)
    return y


Predict("branches called", "How many of the two functions are called while the graph is built?")

# %%
with g.as_default():
    y = mg.cond(x > 0, squared, falling)
print("called while building:", python_calls)
reveal("branches called", len(python_calls))

# %% [markdown]
# Python calls both, once each. Nobody knows yet which one a run will need, so each is written down as a small graph of
# its own, and the node `if` holds the two graphs. Such a node is a **control-flow node**.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. People who answer 1 are thinking of Python's `if`. Ask: "Who could have told the builder which one?"
# The functions are called to be *written down*; what they return are nodes.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Look inside. The frames *true* and *false* are the two graphs, and both lead into the box `if`, which will pick one.
# Close a frame with its − and open it again. (Each branch here also has a `keep`: that is the probe.)

# %%
GraphView(y)

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Three runs
#
# A probe keeps the value of its node from every run that computes it (`probe(y).values`). We run the graph three times,
# with 3, −1 and 2. How many values will the two probes hold together?

# %%
Predict("probed", "How many values will the two probes hold together, after three runs?")

# %%
with mg.Session(g) as session:
    for number in (3.0, -1.0, 2.0):
        result = session.run(y, {x: number})
        held = {name: len(p.values) for name, p in probes.items()}
        print(f"x = {number:4}: y = {result:.3f}   values held: {held}   Python calls: {len(python_calls)}")
reveal("probed", sum(len(p.values) for p in probes.values()))

# %% [markdown]
# Each run computed one branch and left the other alone. And the number of Python calls did not grow: both branches were
# written down once, and Python never comes back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is `where` not the same?
#
# `mg.where(p, a, b)` from lesson 08 also chooses, and needs no functions: it computes `a` *and* `b`, and takes one for
# each element. Here is √x for x > 0, and 0 elsewhere, written both ways. The values agree. Look at the gradients at
# x = −1:

# %%
branches = mg.Graph()
with branches.as_default():
    x = mg.placeholder("float64", (), name="x")
    by_where = mg.where(x > 0, mg.sqrt(x), 0 * x)
    by_cond = mg.cond(x > 0, lambda: mg.sqrt(x), lambda: 0 * x)
    gradients = [mg.gradients(y, [x])[0] for y in (by_where, by_cond)]
with mg.Session(branches) as session, np.errstate(invalid="ignore"):
    for number in (4.0, -1.0):
        (a, b), (ga, gb) = session.run([[by_where, by_cond], gradients], {x: number})
        # abs turns −0 into 0
        print(f"x = {number:4}: where gives {abs(a):g}, gradient {ga:g}; cond gives {abs(b):g}, gradient {gb:g}")

# %% [markdown]
# It is the trap of lesson 08, in a graph. On the way back, `where` sends 0 into the branch that was not taken, and
# there 0 is multiplied by the slope of √x at −1, which is NaN. So the gradient is NaN. `cond` never enters that
# branch, forward or back. Use `where` for the elements of an array, if both sides are harmless. Use `cond` for a
# single decision, if one side is expensive or not defined.

# %% [markdown] slideshow={"slide_type": "notes"}
# The value is right and the gradient is NaN: a classic of real training runs. Let the room say where the NaN is born.
# If somebody asks about arrays: put a harmless number in *before* the root, `sqrt(where(x > 0, x, 1))`.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: three inputs, and three graphs or one
#
# A `cond` may hold another. On tensors that have values, `mg.cond` is Python's `if`, so the same function runs in both
# styles. Go through all three inputs at the top of the widget, to the last step of each. What is the same on the right,
# every time? And what differs on the left?


# %%
def three_ways(x):
    def inner():
        return mg.cond(x > -1, lambda: x * x, lambda: mg.exp(-x) + 1)

    return mg.cond(x > 1, lambda: mg.log(x), inner)


StaticVsDynamic(three_ways, cases=[(mg.tensor(3.0),), (mg.tensor(0.5),), (mg.tensor(-2.0),)])

# %% [markdown]
# On the left you find three different graphs, each with the operations that ran. On the right is one graph for all
# inputs, built when the first one came. A dynamic graph records a decision that was taken; a static graph contains the
# decision.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A loop as a node
#
# Take the road of lesson 08, on whole numbers: halve an even number, multiply an odd one by 3 and add 1, and stop at 1.
# In `mg.while_loop(test, body, carries)` the test and the body are functions, and the loop goes on as long as the test
# holds. A value that goes from turn to turn is a **carry**: here the number n, and the count of turns. `carries` gives
# their first values, and the loop returns their last ones.

# %%
python_calls = []


def not_one(n, count):
    return n != 1


def collatz(n, count):
    python_calls.append("collatz")
    return mg.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1


g = mg.Graph()
with g.as_default():
    start = mg.placeholder("int64", (), name="start")
    _, count = mg.while_loop(not_one, collatz, (start, 0))
Predict("body called", "From 27 it takes 111 turns. How often will Python have called collatz?")

# %%
with mg.Session(g) as session:
    for number in (1, 6, 27, 97):
        print(f"from {number:2}: {session.run(count, {start: number}):3} turns")
reveal("body called", len(python_calls))

# %% [markdown]
# Python called it once, to write it down. The same graph made 0, 8, 111 and 118 turns.

# %% [markdown]
# Open the loop. *carry* is what a turn begins with, and what the body returns is the carry of the next turn. The arrow
# from there back to the beginning is *not* in the picture: a graph has no cycle. The node itself goes round, when it
# runs.

# %%
GraphView(count)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes with the picture. Ask for the missing arrow: "Where does the result of the body go?" Then the reason why
# it may not be drawn as an edge: lesson 01, a cycle has no topological order.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The names, with the loop in the graph
#
# Now back to the names. `scores` is the network of lesson 08. In a graph its `for` is Python's, so each letter adds its
# own nodes: such a loop is **unrolled**. A **scan** is a loop node that goes along the first axis of a sequence. In
# `scan(f, state, letters)`, the function `f(state, letter)` returns the next state, and a result of this turn. The scan
# returns the last state, and all results stacked. The number of letters may stay open.

# %%
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
first_values = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]


def spelled(name):
    return [LETTERS.index(letter) for letter in name]


def scores(letters, E, W, V):
    state = mg.zeros(1, 24)
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
    return state @ V


def scanned(letters, E, W, V):
    """The scores after the last letter, and after each."""

    def turn(state, letter):
        state = (E[letter] + state @ W).tanh()
        return state, state

    last, states = scan(turn, mg.zeros(1, 24), letters)
    return last @ V, states @ V


# %%
g = mg.Graph()
with g.as_default():
    letters = mg.placeholder("int64", (None,), name="letters")
    E, W, V = weights = [mg.Variable(array, name=name) for array, name in zip(first_values, "EWV")]
    answer, answers = scanned(letters, E, W, V)
GraphView(answer)

# %% [markdown] slideshow={"slide_type": "subslide"}
# The four operations of a letter are there once, in the body of the loop. Now we compare sizes, and to be fair we also
# count the nodes inside the loop. In lesson 08 a name of 3 letters had 20 nodes, and one of 12 letters 65. How many
# nodes does the *unrolled* graph need for a text of 1000 letters?

# %%
Predict("nodes when unrolled", "How many nodes does the unrolled graph need for 1000 letters?")


# %% slideshow={"slide_type": "skip"}
def size(nodes):
    """Count nodes, including those inside control-flow nodes."""
    return sum(1 + sum(size(part.nodes) for part in getattr(node.op, "graphs", ())) for node in nodes)


def size_of(network, make_letters):
    """Build a network in a graph of its own, and count the nodes."""
    with mg.Graph().as_default() as graph:
        network(make_letters(), *map(mg.constant, first_values))
    return size(graph.get_operations())


def placeholders(n):
    return lambda: [mg.placeholder("int64", ()) for _ in range(n)]


# %%
print("letters    eager   unrolled   a scan")
tensors = [mg.tensor(array, requires_grad=True) for array in first_values]
scan_size = size_of(scanned, lambda: mg.placeholder("int64", (None,)))
for n in (3, 12, 13, 1000):
    eager = len(toposort(scores(mg.zeros(n, dtype="int64"), *tensors).node))
    unrolled = size_of(scores, placeholders(n))
    print(f"{n:7}{eager:9}{unrolled:11}{scan_size:9}")
reveal("nodes when unrolled", unrolled)

# %% [markdown] slideshow={"slide_type": "subslide"}
# Each letter adds five nodes, and five more are there once. The scan has 19 nodes for every name, because its body is
# written down once. Lesson 08 needed 700 graphs, lesson 09 one graph for twelve letters, and this is *one graph for all
# lengths*. (If a loop is short and its length is fixed, unrolling has its own advantage: each copy can be simplified by
# itself.)

# %% [markdown]
# Does it compute the same? We compare loss and gradients with eager mode, for *Oluwatobiloba* too, and then run all 700
# names.

# %%
names = mg.data.names()
with g.as_default():
    label = mg.placeholder("int64", (1,), name="label")
    loss = mg.cross_entropy(answer, label)
    gradients = mg.gradients(loss, weights)
session = mg.Session(g)
session.run([weight.initializer for weight in weights])
for name in ("yui", "sopuruchukwu", "oluwatobiloba"):
    graph_loss, slopes = session.run([loss, gradients], {letters: spelled(name), label: [1]})
    tensors = [mg.tensor(array, requires_grad=True) for array in first_values]
    eager_loss = mg.cross_entropy(scores(mg.tensor(spelled(name)), *tensors), [1])
    eager_loss.backward()
    agree = all(np.allclose(tensor.grad.numpy(), slope) for tensor, slope in zip(tensors, slopes))
    print(f"{name:13} loss {graph_loss:.6f}, eagerly {eager_loss.item():.6f}; gradients agree: {agree}")
nodes_before = len(g.get_operations())
for name, language in names.train:
    session.run([loss, gradients], {letters: spelled(name), label: [language]})
print("nodes built by 700 runs:", len(g.get_operations()) - nodes_before)

# %% [markdown]
# The losses and gradients agree, and the thirteenth letter goes through like any other. Nineteen nodes read a name of
# any length. (For training, build a step from these gradients, as in lesson 09. The results that the
# scan stacked, `answers`, are what the network believes after each letter.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Ask first how many nodes lesson 09 would need for a name of thirteen letters. The gradient of the scan
# goes through the same body; the next page shows how.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Backward through a loop
#
# This is Newton's way to the square root of a. Start at y = a, and replace y by the mean of y and a/y, until y² is
# nearly a. The number of turns depends on a. We ask for the gradient as always. It should be that of √a, which is
# 1/(2√a): ¼ at 4.

# %%
g = mg.Graph()
with g.as_default():
    a = mg.placeholder("float64", (), name="a")
    root, turns = mg.while_loop(
        lambda y, turns: abs(y * y - a) > 1e-12 * a, lambda y, turns: ((y + a / y) / 2, turns + 1), (a, 0)
    )
    (slope,) = mg.gradients(root, [a])
with mg.Session(g) as session:
    for number in (4.0, 9.0, 1e6):
        y, n, s = session.run([root, turns, slope], {a: number})
        print(f"a = {number:9,.0f}: root {y:10.4f} after {n:2} turns, gradient {s:.4f}")

# %% [markdown]
# All three gradients are right, and no rule for square roots was used. The gradient of the loop is another loop, which
# goes through the turns from the last to the first.
#
# Now take a = 1. There the loop starts at the root, so it makes no turn. The derivative of √a at 1 is ½. What does the
# graph say?

# %%
Predict("Newton at 1", "What gradient does the graph give at a = 1?", options=["0", "0.5", "1", "nan"])

# %%
with mg.Session(g) as session:
    y, n, s = session.run([root, turns, slope], {a: 1.0})
print(f"root {y:.4f} after {n} turns, gradient {s:.4f}")
reveal("Newton at 1", f"{s:g}")

# %% [markdown]
# *It is the gradient of the turns that ran.* Where none ran, the result *is* the start, y = a, and its gradient is 1.
# The value is right, but the gradient is not that of the root.

# %% [markdown]
# There is a repair. One more turn after the loop, `(root + a / root) / 2`, leaves the value as it is and corrects the
# gradient, because that turn knows how the root depends on a:

# %%
with g.as_default():
    once_more = (root + a / root) / 2
    (corrected,) = mg.gradients(once_more, [a])
with mg.Session(g) as session:
    for number in (1.0, 4.0, 9.0):
        y, s = session.run([once_more, corrected], {a: number})
        print(f"a = {number:g}: root {y:.4f}, gradient {s:.4f}")

# %% [markdown] slideshow={"slide_type": "notes"}
# This is the deepest minute of the lesson. "The gradient of the program that ran" was true of eager code, too. Ask what
# finite differences would say at a = 1: near 0.5 for a large step, and 1 for one so small that no turn runs.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ## What it cost: a stack
#
# On the way back each turn needs the y that it began with. So the forward loop keeps all of them, a row for each turn:
# the **stack of a loop**.
#
# We measure. Here y has 10,000 numbers, and we count memory in rows of that size. `fori_loop(0, n, body, y)` is a loop
# that makes n turns and counts them. Take a run of 1000 turns that goes forward and asks for *no* gradient. How much
# memory does it hold at its peak?

# %%
Predict("forward alone", "The peak of 1000 turns without a gradient:", options=["a few rows", "about 1000 rows"])

# %%
ROW = np.ones(10_000)


def peak(session, fetches, feed):
    """The peak memory of a run, counted in rows of 10,000 numbers. A first run builds the program."""
    session.run(fetches, feed)
    tracemalloc.start()
    session.run(fetches, feed)
    rows = tracemalloc.get_traced_memory()[1] / ROW.nbytes
    tracemalloc.stop()
    return round(rows)


for n in (10, 100, 1000):
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", ROW.shape, name="x")
        y = fori_loop(0, n, lambda i, y, x=x: mg.tanh(y * x), x)
        (gx,) = mg.gradients(y.sum(), [x])
    with mg.Session(g) as session:
        forward, with_gradient = peak(session, y, {x: ROW}), peak(session, [y, gx], {x: ROW})
    print(f"{n:4} turns: forward alone {forward} rows, with its gradient {with_gradient} rows")
reveal("forward alone", "a few rows" if forward < 100 else "about 1000 rows")

# %% [markdown]
# Forward alone keeps nothing, however long it runs: the session makes no stack that nobody will read. With the gradient
# there is a row for each turn, and the stack is freed when backward has read it. A name of twelve letters is a stack of
# twelve states.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Compare with lesson 06: there each node has its own saved values, and backward frees them one by one.
# Here it is one array, freed as a whole. Neither is free of cost: memory grows with the turns as soon as you want a
# gradient.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Both branches of a `cond` stand for one result, so they must agree in structure, dtype and shape.
# And a carry must leave each turn with the dtype and shape that it came in with. The messages name the broken rule, the
# place, and the difference.


# %% tags=["nbval-ignore-output"]
def show_error(build):
    try:
        build()
    except mg.errors.MinigradError as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 100), end="\n\n")


with mg.Graph().as_default():
    x, v = mg.placeholder("float64", (), name="x"), mg.placeholder("float64", (3,), name="v")
    show_error(lambda: mg.cond(x > 0, lambda: x, lambda: (x, x)))
    show_error(lambda: mg.cond(x > 0, lambda: v, lambda: x))
    show_error(lambda: mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,)))

# %% [markdown]
# The third message names a way out, `shape_invariants=`. A **shape invariant** is what the loop promises about a
# carry's shape at every turn; `None` stands for a length that may change. That has a price: a stack needs rows of one
# shape, so no gradient passes through such a carry.

# %% [markdown]
# The last trap is a quiet one. This loop makes five turns, and its body appends y to a Python list. What is in the
# list?

# %%
values = []


def doubled(i, y):
    values.append(y)
    return y * 2


with mg.Graph().as_default():
    fori_loop(0, 5, doubled, 1.0)
values

# %% [markdown]
# One node from inside the loop, and not five numbers: Python called the body once. To get values out of a loop, return
# them through a carry, or let a scan stack them, as with `answers`.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a carry that grows, and the stack in the session's program
#
# You can follow the lesson without this section. First, a loop that doubles the length of its carry, and the price for
# it:

# %%
g = mg.Graph()
with g.as_default():
    v = mg.placeholder("float64", (3,), name="v")
    (long,) = mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,), shape_invariants=((None,),))
    show_error(lambda: mg.gradients(long.sum(), [v]))
with mg.Session(g) as session:
    print([session.run(long, {v: np.full(3, number)}).shape for number in (50.0, 5.0, 0.5)])

# %% [markdown] slideshow={"slide_type": "skip"}
# Second, the program that a session makes from Newton's loop and its gradient. Find the line that puts a row on the
# stack, the line that reads it again, and the line that frees the stack.

# %% slideshow={"slide_type": "skip"}
with mg.Session(root.graph) as session:
    session.run([root, slope], {a: 9.0})
    program = session.last_run.source
print(*(line.partition(" # ")[0].rstrip() for line in program[program.index("def") :].splitlines()), sep="\n")

# %% [markdown] slideshow={"slide_type": "skip"}
# They are `t1.put(t0)` in the first loop; `t4 = t1[k0, ...]`, last row first, in the second; and `del t1` at the end.
# The second loop computes again, from y, what each turn needs: so less is kept, and a little is done twice. Lesson 14
# makes that bargain on purpose.
#
# Is the stack gone when backward has read it? `py_func(f, [x])` is a node that calls a Python function during the run,
# once x is computed. Two of them look at the memory that is alive, one between the loops and one at the end.
# (`control_dependencies` says that everything built in this block runs only after `between` has run.)

# %% slideshow={"slide_type": "skip"}
from minigrad.graph import py_func

with mg.Graph().as_default() as g:
    x = mg.placeholder("float64", ROW.shape, name="x")
    y = fori_loop(0, 100, lambda i, y: mg.tanh(y * x), x)
    between = py_func(lambda _: tracemalloc.get_traced_memory()[0] / ROW.nbytes, [y[0]])
    with g.control_dependencies([between]):
        (gx,) = mg.gradients(y.sum(), [x])
    at_the_end = py_func(lambda _: tracemalloc.get_traced_memory()[0] / ROW.nbytes, [gx[0]])

with mg.Session(g) as session:
    session.run([between, at_the_end], {x: ROW})
    tracemalloc.start()
    alive = session.run([between, at_the_end], {x: ROW})
    tracemalloc.stop()
print(f"alive between the loops: {alive[0]:.0f} rows; at the end: {alive[1]:.0f}")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("10_control_flow_in_graphs")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# Here t is a loop's test, b its body, and c what it carries.
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.cond(p, f, g)` | `torch.cond(p, f, g, (x,))` | `tf.cond(p, f, g)` | `lax.cond(p, f, g, x)` |
# | `mg.while_loop(t, b, c)` | Python's `while` | `tf.while_loop(t, b, c)` | `lax.while_loop(t, b, c)` |
# | `shape_invariants=((None,),)` | no need | `shape_invariants=[tf.TensorShape([None])]` | not possible |
# | `fori_loop(0, n, b, c)` | Python's `for` | `tf.while_loop` | `lax.fori_loop(0, n, b, c)` |
# | `scan(f, h, xs)` | Python's `for` | `tf.scan(f, xs, h)` | `lax.scan(f, h, xs)` |
# | `mg.where(p, a, b)` | `torch.where(p, a, b)` | `tf.where(p, a, b)` | `jnp.where(p, a, b)` |
#
# PyTorch is eager, so Python's own control flow will do; `torch.cond` and `torch.while_loop`, still prototypes, are for
# graphs that are captured to be compiled. JAX passes the operands to the branches as arguments. It cannot take the
# gradient of a `while_loop` backwards, because it does not know beforehand how large the stack would be. `mg.lax` has
# these functions in JAX's form: operands for `cond`, and one carry, of any structure, for `while_loop`. In `tf.scan`, f
# returns the state alone, and all states come back.
#
# ### The same in PyTorch
#
# A placeholder of `torch.fx` cannot answer an `if` either. `where` can be written down, but it computes both sides, so
# its gradient at −1 is NaN. Python's `if`, outside of any graph, enters one branch only.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def branches_in_pytorch(torch):
    """
    if: refused, because a placeholder has no value
        eagerly, the gradient at -1 is 0
    where: a graph of 6 nodes
        eagerly, the gradient at -1 is nan
    """
    functions = {"if": lambda x: x.sqrt() if x > 0 else 0 * x, "where": lambda x: torch.where(x > 0, x.sqrt(), 0 * x)}
    for name, f in functions.items():
        try:
            print(f"{name}: a graph of {len(torch.fx.symbolic_trace(f).graph.nodes)} nodes")
        except torch.fx.proxy.TraceError:
            print(f"{name}: refused, because a placeholder has no value")
        x = torch.tensor(-1.0, requires_grad=True)
        f(x).backward()
        print(f"    eagerly, the gradient at -1 is {x.grad.item():g}")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A placeholder cannot answer an `if`, so the decision must be a node. `cond` writes both branches down, and runs one.
# - `where` computes both, and sends 0 × NaN back. `while_loop` and `scan` write their body down once, for any number of
#   turns; unrolled, a loop grows with its turns.
# - One graph of 19 nodes reads names of every length. The price is a function for each decision.
# - The gradient of a loop is a loop, over the turns that ran. It keeps a row for each turn, and only if a run asks for
#   the gradient.
# - Branches must agree in structure, dtype and shape; a carry must keep its own.
#
# **Sources.** Y. Yu and others, *Dynamic control flow in large-scale machine learning*, EuroSys 2018: conditionals and
# loops as nodes, and stacks for their gradients (section 5). R. Frostig, M. Johnson, C. Leary, *Compiling machine
# learning programs via high-level tracing*, SysML 2018: the loops of JAX. A. Griewank, A. Walther, *Evaluating
# Derivatives*, SIAM 2008, chapter 15: derivatives of iterations that converge.
#
# **Exercise.** [10 Branches and loops as nodes](../exercises/10_control_flow_in_graphs.ipynb): count, build, repair,
# and a loop of your own.
#
# **Next:** [11 Tracing](11_tracing.ipynb) lets you write Python's `if` and `for` again, and makes the nodes for you.
