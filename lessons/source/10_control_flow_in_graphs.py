# ---
# jupyter:
#   minigrad:
#     title: Control flow in graphs
#     minutes: 45
#     objectives:
#       - say what Python's if and while do on a placeholder, and what takes their place
#       - write a branch and a loop as nodes, and count what is built and what is run
#       - choose between an unrolled loop and a loop node, with the number of nodes as a reason
#       - say what the gradient of a loop is the gradient of, and what it costs in memory
#     concepts: [C5]
#     builds_on: [09_define_then_run]
#     widgets: [GraphView, StaticVsDynamic]
#     terms:
#       control-flow node: a node that holds graphs of its own, and decides in the run which of them runs, or how often
#       carry: a value that a loop hands from one turn to the next; also called loop variable
#       unrolled: of a loop, written down as one copy of its body for each turn
#       shape invariant: what a loop promises about a carry's shape at every turn; None for a length that may change
#       scan: a loop along the first axis of a sequence, which carries a state and stacks what each turn gives
#       stack of a loop: the values that a loop keeps for its gradient, one row for each turn
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 10 Control flow in graphs
#
# > Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control
# > flow. […] Hint: Use `torch.cond` to express dynamic control flow.
#
# This is what PyTorch's compiler says about an `if` on a tensor. Why can a graph not follow it, and what is `cond`?
#
# A graph that is built before it runs is built without numbers. **How can it decide anything by a number?** Which of
# two formulas applies, when an iteration has come close enough, how long a sentence is: all of that is known when the
# graph runs, and by then Python has left the stage. So the decision itself must become a node.
#
# **About 45 minutes.** Afterwards you can
#
# - say what Python's `if` and `while` do on a placeholder, and what takes their place;
# - write a branch and a loop as nodes, and count what is built and what is run;
# - choose between an unrolled loop and a loop node, with the number of nodes as a reason;
# - say what the gradient of a loop is the gradient of, and what it costs in memory.
#
# **Builds on** [09 Define, then run](09_define_then_run.ipynb).

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who remembers lesson 08: there a function with an `if` left a different graph for each input. Write
# on the board: "the graph is there first, the number comes later". Everything today follows from that sentence.

# %% slideshow={"slide_type": "skip"}
import re
import textwrap
import tracemalloc

import numpy as np

import minigrad as mg
from minigrad.course import Predict, reveal
from minigrad.graph import fori_loop, probe, py_func, scan
from minigrad.core.node import toposort
from minigrad.widgets import GraphView, Quiz, StaticVsDynamic


# %% [markdown] slideshow={"slide_type": "slide"}
# ## An `if` with nothing to look at
#
# In eager mode this function was no trouble: Python looked at the number and went one way. Now `x` is a placeholder.


# %%
def bent(x):
    if x > 0:
        return x * x
    return mg.exp(-x)


# %%
Predict(
    "if on a placeholder",
    "What comes of bent(x) while the graph is built?",
    options=["only x * x is built", "both ways are built", "an error"],
)

# %%
g = mg.Graph()
with g.as_default():
    x = mg.placeholder("float64", (), name="x")
    try:
        bent(x)
        happened = "only x * x is built"
    except mg.errors.NoValueError as error:
        happened = "an error"
        print(textwrap.fill(str(error), 80))
reveal("if on a placeholder", happened)

# %% [markdown]
# Read the message aloud: each half of it says something. *Greater → bool[]*: the comparison itself went well, and `x >
# 0` is a node like any other. *Has no value*: the trouble begins when Python's `if` asks this node "are you true?" now,
# and wants one answer. There are two possible answers, and which of them is right will differ from run to run. A
# `while` asks the same question, and `range(n)` asks a similar one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A branch as a node
#
# `mg.cond(p, f, g)` takes the condition as a node, and the two ways as functions without arguments. We note in `called`
# when Python calls them. (The `probe` in each has its turn below.) How many of the two are called while the graph is
# built?

# %%
Predict("branches called", "How many of the two functions are called while the graph is built?")

# %%
called, seen = [], {}


def squared():
    called.append("squared")
    y = x * x
    seen["squared"] = probe(y)
    return y


def falling():
    called.append("falling")
    y = mg.exp(-x)
    seen["falling"] = probe(y)
    return y


with g.as_default():
    y = mg.cond(x > 0, squared, falling)

# %%
print("called while building:", called)
reveal("branches called", len(called))

# %% [markdown]
# Both, once each: nobody knows yet which one will be wanted, so each is written down as a small graph of its own. The
# node `if` holds the two graphs. Such a node is a **control-flow node**. In the plain picture it is one box:

# %%
mg.draw(y)

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. People who answer 1 think of Python's `if`. Ask: "Who could have told the builder which one?" The
# functions are called to be *written down*; what they return are nodes.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Step inside: the frames *true* and *false* are the two graphs, and both lead into the box `if`, which will take one.
# Close a frame with its − and open it again. (Each branch here also has a `keep`: that is the probe.)

# %%
GraphView(y)

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Written down twice, run once
#
# A probe keeps what its node was, at every run that computes it (`probe(y).values`). We run three times, with 3, −1
# and 2. How many values will the two probes hold together?

# %%
Predict("probed", "How many values will the two probes hold together, after three runs?")

# %%
with mg.Session(g) as session:
    for number in (3.0, -1.0, 2.0):
        result = session.run(y, {x: number})
        held = {name: len(each.values) for name, each in seen.items()}
        print(f"x = {number:4}: y = {result:.3f}   values held: {held}   Python calls: {len(called)}")
reveal("probed", sum(len(each.values) for each in seen.values()))

# %% [markdown]
# In each run one branch was computed, and the other was left alone. And `called` did not grow: building is over, Python
# runs no more.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is `where` not the same?
#
# `mg.where(p, a, b)` of lesson 08 chooses as well, element by element, and needs no functions: `a` and `b` are
# computed, *both*, and then one is taken. Here is √x for x > 0, and 0 for the rest, both ways. The square root of −1
# is not a number, nan, but `where` does not pick it. What does `where` say for the gradient at x = −1?

# %%
Predict("where's gradient", "What is the gradient of the where at x = −1?", options=["0", "0.5", "nan"])

# %%
g = mg.Graph()
with g.as_default():
    x = mg.placeholder("float64", (), name="x")
    by_where = mg.where(x > 0, mg.sqrt(x), 0 * x)
    by_cond = mg.cond(x > 0, lambda: mg.sqrt(x), lambda: 0 * x)
    gradients = [mg.gradients(y, [x])[0] for y in (by_where, by_cond)]

# %%
with mg.Session(g) as session, np.errstate(invalid="ignore"):
    for number in (4.0, -1.0):
        (a, b), (ga, gb) = session.run([[by_where, by_cond], gradients], {x: number})
        # abs turns −0, a zero that has kept a sign, into 0
        print(f"x = {number:4}: where gives {abs(a):g}, gradient {ga:g}; cond gives {abs(b):g}, gradient {gb:g}")
reveal("where's gradient", f"{ga:g}")

# %% [markdown]
# Backward, `where` sends 0 into the way not taken, and there 0 is multiplied by the slope of √x at −1. That slope is
# nan, and so is 0 × nan: the trap of lesson 08, in a graph. `cond` never enters that way, forward or back. So: `where`
# for elements of an array, if both sides are harmless; `cond` for one decision, if one side is expensive or not
# defined.

# %% [markdown] slideshow={"slide_type": "notes"}
# The value is right and the gradient is nan: a classic of real training runs. Let the room say where the nan is born.
# If somebody asks for arrays: put a harmless number in *before* the root, `sqrt(where(x > 0, x, 1))`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three inputs: three graphs, or one
#
# A `cond` may hold another. On tensors that have values, `mg.cond` is Python's `if`; so one function can be run both
# ways. Go through all three inputs at the top of the widget, to the last step of each. What is the same on the right,
# every time? And what is different on the left?


# %%
def three_ways(x):
    def inner():
        return mg.cond(x > -1, lambda: x * x, lambda: mg.exp(-x) + 1)

    return mg.cond(x > 1, lambda: mg.log(x), inner)


StaticVsDynamic(three_ways, cases=[(mg.tensor(3.0),), (mg.tensor(0.5),), (mg.tensor(-2.0),)])

# %% [markdown]
# On the left three different graphs, each with the ops that ran and nothing else. On the right one graph for all
# inputs, built at the first. A dynamic graph records a decision that was taken; a static graph contains the decision.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A loop as a node
#
# The road of lesson 08, on whole numbers: halve an even one, multiply an odd one by 3 and add 1, and stop at 1. In
# `mg.while_loop(test, body, carries)` the test and the body are functions, and the loop goes on as long as the test
# holds. What goes from turn to turn is a **carry**: here the number and the count. `carries` is what they begin with,
# and the last of them come out.

# %%
called = []


def not_one(n, count):
    return n != 1


def collatz(n, count):
    called.append("collatz")
    return mg.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1


g = mg.Graph()
with g.as_default():
    start = mg.placeholder("int64", (), name="start")
    _, count = mg.while_loop(not_one, collatz, (start, 0))

# %%
Predict("body called", "From 27 it takes 111 turns. How often will Python have called collatz?")

# %%
with mg.Session(g) as session:
    for number in (1, 6, 27, 97):
        print(f"from {number:2}: {session.run(count, {start: number}):3} turns")
reveal("body called", len(called))

# %% [markdown]
# Once, to write it down. One graph made 0, 8, 111 and 118 turns. Open the loop: *carry* is what a turn begins with, and
# what the body gives is the carry of the next turn. That last arrow, back to the beginning, is *not* in the graph: a
# graph has no cycle. Going round happens inside the node, when it runs.

# %%
GraphView(count)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes with the picture. Ask for the missing arrow: "Where does the result of the body go?" Then the reason why
# it may not be drawn as an edge: lesson 01, a cycle has no topological order.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Unrolled, or one node
#
# If the number of turns is known while the graph is built, Python's own `for` does work: each turn adds its nodes. Such
# a loop is **unrolled**. `fori_loop(0, n, body, y)` makes one node of it, and its n may even be a placeholder. Here is
# x³ both ways.


# %%
def unrolled(n):
    x, y = mg.placeholder("float64", (), name="x"), 1.0
    for _ in range(n):
        y = y * x
    return y


def as_one_node(n):
    x = mg.placeholder("float64", (), name="x")
    return fori_loop(0, n, lambda i, y: y * x, 1.0)


with mg.Graph().as_default():
    three_nodes = unrolled(3)
mg.draw(three_nodes)

# %%
with mg.Graph().as_default():
    one_node = as_one_node(mg.placeholder("int64", (), name="n"))
mg.draw(one_node)

# %% [markdown] slideshow={"slide_type": "subslide"}
# To be fair we count what is inside the loop node, too: its test, its body, and the nodes that only keep the books.
# Unrolled, 10 turns are 12 nodes: the placeholder, the 1.0, and ten products. How many nodes does the graph of the
# other picture have for n = 1000: the loop node, what is outside it, and all that is inside?


# %%
def size(nodes):
    """How many nodes there are, those inside of control-flow nodes included."""
    return sum(1 + sum(size(part.nodes) for part in getattr(node.op, "graphs", ())) for node in nodes)


def size_of(build, n):
    g = mg.Graph()
    with g.as_default():
        build(mg.placeholder("int64", (), name="n") if build is as_one_node else n)
    return size(g.get_operations())


# %%
Predict("loop node, n = 1000", "How many nodes does it have, inside and out? Within 10 is right.", tolerance=10)

# %%
print("     n    eager   unrolled   one node")
for n in (10, 100, 1000):
    x, y = mg.tensor(1.0, requires_grad=True), mg.tensor(1.0)
    for _ in range(n):
        y = y * x
    print(f"{n:6}{len(toposort(y.node)):9}{size_of(unrolled, n):11}{size_of(as_one_node, n):11}")
reveal("loop node, n = 1000", size_of(as_one_node, 1000))

# %% [markdown]
# The loop node has the same size for any n: what it is given, itself, and what hands its results out; and inside of it
# a test and a body, each with places for what comes in. For 10 turns it is the larger one. So: unroll what is short and
# fixed (each copy can be simplified by itself), and make a node of what is long, or of a length that only the run
# knows. A dynamic graph is always unrolled; that is what it cost us in lesson 08.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Backward through a loop
#
# Newton's way to the square root of a: start at y = a, and replace y by the mean of y and a/y, until y² is nearly a.
# The number of turns depends on a. The gradient is asked for as always. It should be that of √a, 1/(2√a): ¼ at 4.

# %%
g = mg.Graph()
with g.as_default():
    a = mg.placeholder("float64", (), name="a")
    root, turns = mg.while_loop(
        lambda y, turns: abs(y * y - a) > 1e-12 * a, lambda y, turns: ((y + a / y) / 2, turns + 1), (a, 0)
    )
    (slope,) = mg.gradients(root, [a])

# %%
with mg.Session(g) as session:
    for number in (4.0, 9.0, 1e6):
        y, steps, s = session.run([root, turns, slope], {a: number})
        print(f"a = {number:9,.0f}: root {y:10.4f} after {steps:2} turns, gradient {s:.4f}")

# %% [markdown]
# No rule for square roots was used. The gradient of the loop is another loop, which goes through the turns from the
# last to the first. Now a = 1: there we start at the root, and no turn is needed. The derivative of √a at 1 is ½. What
# will the graph say?

# %%
Predict("Newton at 1", "What gradient does the graph give at a = 1?", options=["0", "0.5", "1", "nan"])

# %%
with mg.Session(g) as session:
    y, steps, s = session.run([root, turns, slope], {a: 1.0})
print(f"root {y:.4f} after {steps} turns, gradient {s:.4f}")
reveal("Newton at 1", f"{s:g}")

# %% [markdown]
# *It is the gradient of the turns that ran.* Where none ran, the result *is* the start, y = a, and its gradient is 1.
# The value is right and the gradient is not that of the root. One turn after the loop, `(root + a / root) / 2`, leaves
# the value as it is and mends the gradient, because the turn knows how the root depends on a:

# %%
with g.as_default():
    once_more = (root + a / root) / 2
    (mended,) = mg.gradients(once_more, [a])
with mg.Session(g) as session:
    for number in (1.0, 4.0, 9.0):
        y, s = session.run([once_more, mended], {a: number})
        print(f"a = {number:g}: root {y:.4f}, gradient {s:.4f}")

# %% [markdown] slideshow={"slide_type": "notes"}
# This is the deepest minute of the lesson. "The gradient of the program that ran" was true of eager code, too. Ask what
# finite differences would say at a = 1: near 0.5 for a large step, and 1 for one so small that no turn runs.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ## What it cost: a stack
#
# Backward, each turn wants the y that it began with. So the forward loop keeps them, a row for each turn: the
# **stack of a loop**.

# %% [markdown] slideshow={"slide_type": "skip"}
# Here is the program that the session made of Newton's loop and its gradient. Find the line that puts a row on the
# stack, the one that takes it off again, and the one that lets the stack go.

# %% slideshow={"slide_type": "skip"}
with mg.Session(g) as session:
    session.run([root, slope], {a: 9.0})
    program = session.last_run.source
print(re.sub(r" +# .*", "", program[program.index("def") :]))

# %% [markdown] slideshow={"slide_type": "skip"}
# `t1.put(t0)` in the first loop; `t4 = t1[k0, ...]`, last row first, in the second; and `del t1` at the end. What a
# turn computed on the way from y to the next y is computed again, from y: less is kept, and a little is done twice.
# Lesson 14 makes that bargain on purpose.

# %% [markdown] slideshow={"slide_type": "fragment"}
# We measure: y has 10,000 numbers, and we count memory in rows of that size. A forward run of 1000 turns, without a
# gradient: how much does it hold at its peak?

# %%
Predict("forward alone", "The peak of 1000 turns without a gradient:", options=["a few rows", "about 1000 rows"])

# %%
ROW = np.ones(10_000)


def peak(session, fetches, feed):
    """The peak of a run, in rows, counted after a first run has made the program."""
    session.run(fetches, feed)
    tracemalloc.start()
    session.run(fetches, feed)
    found = tracemalloc.get_traced_memory()[1] / ROW.nbytes
    tracemalloc.stop()
    return round(found)


# %%
peaks = {}
for n in (10, 100, 1000):
    g = mg.Graph()
    with g.as_default():
        x = mg.placeholder("float64", ROW.shape, name="x")
        y = fori_loop(0, n, lambda i, y, x=x: mg.tanh(y * x), x)
        (gx,) = mg.gradients(y.sum(), [x])
    with mg.Session(g) as session:
        peaks[n] = peak(session, y, {x: ROW}), peak(session, [y, gx], {x: ROW})
    print(f"{n:4} turns: forward alone {peaks[n][0]} rows, with its gradient {peaks[n][1]} rows")
reveal("forward alone", "a few rows" if peaks[1000][0] < 100 else "about 1000 rows")

# %% [markdown]
# Forward alone keeps nothing, however long it runs: a stack that will not be read is not made. With the gradient there
# is a row for each turn. And when backward has read it? `py_func(f, [x])` is a node that calls a Python function in the
# run, once x is there. Two of them look at the memory that is alive, one between the loops and one at the end.
# (`control_dependencies` says: what is built in this block runs only after `between` has.)

# %%
g = mg.Graph()
with g.as_default():
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

# %% [markdown]
# A hundred rows wait between the loops; when the way back is done, none of them is left.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Compare with lesson 06: there each saved value is a node's own and is let go as backward passes it.
# Here it is one array, let go as a whole. Neither is free: memory grows with the turns as soon as a gradient is wanted.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `scan`: a state along a sequence
#
# A recurrent network carries a state h along a sequence: h ← tanh(W x + U h), for each x. `scan(f, h, xs)` is that
# loop: `f(h, x)` returns the next state, and what to keep of this turn; a **scan** gives the last state, and all that
# was kept, stacked. The length of `xs` may be unknown, so one graph serves sequences of every length.

# %%
rng = np.random.default_rng(0)
W, U = rng.normal(size=(4, 3)) / 2, rng.normal(size=(4, 4)) / 2

g = mg.Graph()
with g.as_default():
    xs = mg.placeholder("float64", (None, 3), name="xs")
    w, u = mg.constant(W, name="W"), mg.constant(U, name="U")

    def cell(h, x):
        h = mg.tanh(w @ x + u @ h)
        return h, h

    last, states = scan(cell, mg.zeros(4), xs)
    loss = (last * last).sum()
    (gw,) = mg.gradients(loss, [w])

# %% [markdown]
# In eager mode Python's `for` does the same, with a new graph for each sequence. How do the two compare? We print the
# sizes of both graphs, and the last line compares their gradients:

# %%
with mg.Session(g) as session:
    for length in (3, 7, 20):
        sequence = np.random.default_rng(length).normal(size=(length, 3))
        found, slope = session.run([loss, gw], {xs: sequence})
        w_eager, h = mg.tensor(W, requires_grad=True), mg.zeros(4)
        for x in mg.tensor(sequence):
            h = mg.tanh(w_eager @ x + mg.tensor(U) @ h)
        eager = (h * h).sum()
        nodes = len(toposort(eager.node))
        eager.backward()
        print(f"length {length:2}: loss {found:.6f}; nodes: eager {nodes:3}, in the graph {size(g.get_operations())}")
        assert abs(w_eager.grad.numpy() - slope).max() < 1e-12

# %% [markdown]
# The gradients agree within 0.000000000001, or the `assert` would have stopped us. The graph with the scan counts
# forward and backward, and does not grow. What the turns kept is stacked: with 20 rows in, `states` has 20 rows.

# %%
with mg.Session(g) as session:
    print(session.run(states, {xs: sequence}).shape)

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Both branches stand for one result, so they must give the same structure, dtype and shape. And a
# carry must come out of each turn with the dtype and shape it went in with. The messages say which rule was broken,
# where, and how the two differ.


# %% tags=["nbval-ignore-output"]
def told(build):
    try:
        build()
    except mg.errors.MinigradError as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 100), end="\n\n")


with mg.Graph().as_default():
    x, v = mg.placeholder("float64", (), name="x"), mg.placeholder("float64", (3,), name="v")
    told(lambda: mg.cond(x > 0, lambda: x, lambda: (x, x)))
    told(lambda: mg.cond(x > 0, lambda: v, lambda: x))
    told(lambda: mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,)))

# %% [markdown]
# The third message names a way out. A **shape invariant** says what is true of a carry's shape at every turn; `None`
# is a length that may change. It has a price: a stack needs rows of one shape, so no gradient passes such a carry.

# %%
g = mg.Graph()
with g.as_default():
    v = mg.placeholder("float64", (3,), name="v")
    (long,) = mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,), shape_invariants=((None,),))
    told(lambda: mg.gradients(long.sum(), [v]))
with mg.Session(g) as session:
    print([session.run(long, {v: np.full(3, number)}).shape for number in (50.0, 5.0, 0.5)])

# %% [markdown]
# The last trap is a quiet one. A Python list does not grow with the turns of the graph: the body was called once, so
# this one has one entry, a node from the inside of the loop, and not five numbers. What is to come out of a loop goes
# through a carry, or is stacked by a scan.

# %%
kept = []


def doubled(i, y):
    kept.append(y)
    return y * 2


with mg.Graph().as_default():
    fori_loop(0, 5, doubled, 1.0)
kept

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("10_control_flow_in_graphs")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# Here t is a loop's test, b its body, c what it carries.
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
# PyTorch is eager, so Python's own words will do; `torch.cond` and `torch.while_loop`, still prototypes, are for graphs
# that are captured to be compiled. JAX hands the operands to the branches as arguments, and takes no gradient,
# backwards, of a `while_loop`: it does not know beforehand how large the stack would be. minigrad's is written in
# `mg.lax` in JAX's order, too. In `tf.scan`, f gives the state alone, and all states come back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A placeholder cannot answer an `if`: the decision must be a node. `cond` writes both ways down, and runs one.
# - `where` computes both, and sends 0 × nan back. `while_loop` and `scan` write their body down once, for any number
#   of turns; unrolled, a loop grows with its turns.
# - The gradient of a loop is a loop, over the turns that ran. It keeps a row for each turn, and only if it is asked
#   for.
# - Branches agree in structure, dtype and shape; a carry keeps them.
#
# **Sources.** Y. Yu and others, *Dynamic control flow in large-scale machine learning*, EuroSys 2018: conditionals and
# loops as nodes, and stacks for their gradients (section 5). R. Frostig, M. Johnson, C. Leary, *Compiling machine
# learning programs via high-level tracing*, SysML 2018: the loops of JAX. A. Griewank, A. Walther, *Evaluating
# Derivatives*, SIAM 2008, chapter 15: derivatives of iterations that converge.
#
# **Exercise.** [10 Branches and loops as nodes](../exercises/10_control_flow_in_graphs.ipynb): count, build, repair,
# and a loop of your own.
#
# **Next:** [11 Tracing](11_tracing.ipynb) lets you write Python's `if` and `while` again, and makes the nodes for you.
