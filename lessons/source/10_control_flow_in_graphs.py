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
#       control-flow node: a node that holds graphs of its own, and decides at each run which of them runs, or how often
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
# Lesson 09 wrote the name network down for twelve letters, and *Oluwatobiloba* has thirteen. **How can a graph that is
# built without numbers decide anything by a number?** How long a name is, which of two formulas applies, when an
# iteration has come close enough: all of that is known when the graph runs, and by then Python has left the stage.
# A graph that was compiled, or has left Python for a telephone, has no Python to ask; and where several machines share
# a graph, none of them sees the whole. So the decision itself must become a node.
#
# **About 45 minutes.** Afterwards you can
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
# In eager mode this function was no trouble: Python looked at the number and went one way. Now `x` is a placeholder.


# %%
def bent(x):
    if x > 0:
        return x * x
    return mg.exp(-x)


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
# Read the message aloud: each half of it says something. *Greater → bool[]*: the comparison itself went well, and
# `x > 0` is a node like any other. *Has no value*: the trouble begins when Python's `if` asks this node "are you true?"
# now, and wants one answer. There are two possible answers, and which of them is right will differ from run to run. A
# `while` asks the same question, and `range(n)` asks a similar one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A branch as a node
#
# `mg.cond(p, f, g)` takes the condition as a node, and the two ways as functions without arguments. We note in `called`
# when Python calls them. (The `probe` in each is explained below.) How many of the two are called while the graph is
# built?

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


Predict("branches called", "How many of the two functions are called while the graph is built?")

# %%
with g.as_default():
    y = mg.cond(x > 0, squared, falling)
print("called while building:", called)
reveal("branches called", len(called))

# %% [markdown]
# Both, once each: nobody knows yet which one will be wanted, so each is written down as a small graph of its own. The
# node `if` holds the two graphs. Such a node is a **control-flow node**. In the plain picture it is one box:

# %%
mg.draw(y)

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. People who answer 1 are thinking of Python's `if`. Ask: "Who could have told the builder which one?"
# The functions are called to be *written down*; what they return are nodes.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Step inside: the frames *true* and *false* are the two graphs, and both lead into the box `if`, which will pick one.
# Close a frame with its − and open it again. (Each branch here also has a `keep`: that is the probe.)

# %%
GraphView(y)

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Written down twice, run once
#
# A probe keeps the value of its node, at every run that computes it (`probe(y).values`). We run three times, with 3, −1
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
# In each run one branch was computed, and the other was left alone. And `called` did not grow: building is over, and
# Python does not come back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Is `where` not the same?
#
# `mg.where(p, a, b)`, from lesson 08, also chooses, element by element, and needs no functions: `a` and `b` are
# computed, *both*, and then one is taken. Here is √x for x > 0, and 0 elsewhere, written both ways. The square root of
# −1 is not a number, nan, but `where` does not pick it. What gradient does `where` give at x = −1?

# %%
g = mg.Graph()
with g.as_default():
    x = mg.placeholder("float64", (), name="x")
    by_where = mg.where(x > 0, mg.sqrt(x), 0 * x)
    by_cond = mg.cond(x > 0, lambda: mg.sqrt(x), lambda: 0 * x)
    gradients = [mg.gradients(y, [x])[0] for y in (by_where, by_cond)]
Predict("where's gradient", "What is the gradient of the where at x = −1?", options=["0", "0.5", "nan"])

# %%
with mg.Session(g) as session, np.errstate(invalid="ignore"):
    for number in (4.0, -1.0):
        (a, b), (ga, gb) = session.run([[by_where, by_cond], gradients], {x: number})
        # abs turns −0, a zero that has kept a sign, into 0
        print(f"x = {number:4}: where gives {abs(a):g}, gradient {ga:g}; cond gives {abs(b):g}, gradient {gb:g}")
reveal("where's gradient", f"{ga:g}")

# %% [markdown]
# Backward, `where` sends 0 into the way not taken, and there 0 is multiplied by the slope of √x at −1. That slope is
# nan, and so is 0 × nan: the trap of lesson 08, in a graph. `cond` never enters that way, forward or back. So: use
# `where` for the elements of an array, if both sides are harmless; use `cond` for a single decision, if one side is
# expensive or not defined.

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
# On the left are three different graphs, each with the ops that ran and nothing else. On the right is one graph for all
# inputs, built when the first one came. A dynamic graph records a decision that was taken; a static graph contains the
# decision.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A loop as a node
#
# The road of lesson 08, on whole numbers: halve an even one, multiply an odd one by 3 and add 1, and stop at 1. In
# `mg.while_loop(test, body, carries)` the test and the body are functions, and the loop goes on as long as the test
# holds. What goes from turn to turn is a **carry**: here the number and the count. `carries` gives their first values,
# and their last values come out.

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
# ## The names, with the loop in the graph
#
# Now the network of lesson 08. `scores` is as it was there. In a graph its `for` is Python's, and each letter adds its
# nodes: such a loop is **unrolled**. `scan(f, state, letters)` is a loop node that goes along the first axis of
# `letters`: `f(state, letter)` returns the next state, and what to keep of this turn. A **scan** gives the last state,
# and all that was kept, stacked. The length of `letters` may stay open. (`mg.lax.scan` is the same function.)

# %%
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]


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
    E, W, V = weights = [mg.Variable(array, name=name) for array, name in zip(start, "EWV")]
    answer, answers = scanned(letters, E, W, V)
GraphView(answer)

# %% [markdown] slideshow={"slide_type": "subslide"}
# There are the four operations of a letter, once, in the body of the loop. We count nodes, and to be fair also those
# inside the loop node: its body and its bookkeeping. Eagerly a name of 3 letters has 20 nodes, as you know, and one of
# 12 has 65. How large is the graph of `scanned`?

# %%
Predict(
    "nodes of the scan",
    "How many nodes has the graph of scanned for a name of 1000 letters, inside and out?",
    options=["about 20", "about 1000", "about 5000"],
)


# %%
def size(nodes):
    """How many nodes there are, those inside of control-flow nodes included."""
    return sum(1 + sum(size(part.nodes) for part in getattr(node.op, "graphs", ())) for node in nodes)


def size_of(build, letters):
    with mg.Graph().as_default() as graph:
        build(letters(), *map(mg.constant, start))
    return size(graph.get_operations())


def one_by_one(n):
    return lambda: [mg.placeholder("int64", ()) for _ in range(n)]


print("letters    eager   unrolled   one node")
tensors = [mg.tensor(array, requires_grad=True) for array in start]
for n in (3, 12, 13, 1000):
    eager = len(toposort(scores(mg.zeros(n, dtype="int64"), *tensors).node))
    found = size_of(scanned, lambda: mg.placeholder("int64", (None,)))
    print(f"{n:7}{eager:9}{size_of(scores, one_by_one(n)):11}{found:11}")
reveal("nodes of the scan", "about 20" if found < 30 else "about 1000" if found < 2000 else "about 5000")

# %% [markdown] slideshow={"slide_type": "subslide"}
# The loop node has the same size for every name, because its body is written down once. Lesson 08 needed 700 graphs,
# lesson 09 one of twelve letters; this is *one for all lengths*. (Where a loop is short and its length is fixed,
# unrolling has an advantage of its own: each copy can be simplified by itself.) Does it compute the same? We ask for
# loss and gradients, for *Oluwatobiloba* as well, and then run all 700 names.

# %%
names = mg.data.names()
with g.as_default():
    label = mg.placeholder("int64", (1,), name="label")
    loss = mg.cross_entropy(answer, label)
    gradients = mg.gradients(loss, weights)
session = mg.Session(g)
session.run([weight.initializer for weight in weights])
for name in ("yui", "sopuruchukwu", "oluwatobiloba"):
    found, slopes = session.run([loss, gradients], {letters: spelled(name), label: [1]})
    tensors = [mg.tensor(array, requires_grad=True) for array in start]
    eager = mg.cross_entropy(scores(mg.tensor(spelled(name)), *tensors), [1])
    eager.backward()
    apart = max(abs(tensor.grad.numpy() - slope).max() for tensor, slope in zip(tensors, slopes))
    print(f"{name:13} loss {found:.6f}, eagerly {eager.item():.6f}; gradients agree: {apart < 1e-12}")
before = len(g.get_operations())
for name, which in names.train:
    session.run([loss, gradients], {letters: spelled(name), label: [which]})
print("nodes built by 700 runs:", len(g.get_operations()) - before)
print("answers after each letter of katarzyna:", session.run(answers, {letters: spelled("katarzyna")}).shape)

# %% [markdown]
# The same losses, the same gradients, and a thirteenth letter is no longer one too many. A step of training would be
# built from these gradients as in lesson 09.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Ask first how many nodes lesson 09 would need for a name of thirteen letters. "About 1000" comes from
# those who count turns. The gradient of the scan goes through the same body; the next page shows how.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Backward through a loop
#
# This is Newton's way to the square root of a: start at y = a, and replace y by the mean of y and a/y, until y² is
# nearly a. The number of turns depends on a. We ask for the gradient as always. It should be that of √a, 1/(2√a): ¼ at
# 4.

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
# The value is right, and the gradient is not that of the root. One more turn, after the loop, `(root + a / root) / 2`,
# leaves the value as it is and mends the gradient, because the turn knows how the root depends on a:

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
# On the way back each turn needs the y that it began with. So the forward loop keeps them all, a row for each turn: the
# **stack of a loop**. We measure. Here y has 10,000 numbers, and we count memory in rows of that size. The loop is a
# `fori_loop(0, n, body, y)`, which makes n turns and counts them. A forward run of 1000 turns, without a gradient: how
# much does it hold at its peak?

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
# is a row for each turn, and the stack is let go when backward has read it. A name of twelve letters is a stack of
# twelve states.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Compare with lesson 06: there each saved value is a node's own and is let go as backward passes it.
# Here it is one array, let go as a whole. Neither is free: memory grows with the turns as soon as a gradient is wanted.

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
# The third message names a way out. A **shape invariant** says what is true of a carry's shape at every turn; `None` is
# a length that may change. That has a price: a stack needs rows of one shape, so no gradient passes through such a
# carry.

# %%
g = mg.Graph()
with g.as_default():
    v = mg.placeholder("float64", (3,), name="v")
    (long,) = mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,), shape_invariants=((None,),))
    told(lambda: mg.gradients(long.sum(), [v]))
with mg.Session(g) as session:
    print([session.run(long, {v: np.full(3, number)}).shape for number in (50.0, 5.0, 0.5)])

# %% [markdown]
# The last trap is a quiet one. A Python list does not grow with the turns of the graph: the body is called once, so
# this list gets one entry, a node from inside the loop, and not five numbers. Whatever has to come out of a loop goes
# through a carry, or is stacked by a scan, as `answers` was.

# %%
kept = []


def doubled(i, y):
    kept.append(y)
    return y * 2


with mg.Graph().as_default():
    fori_loop(0, 5, doubled, 1.0)
kept

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the stack, in the session's program and in bytes
#
# The road goes on below. Here is the program that a session makes from Newton's loop and its gradient. Find the line
# that puts a row on the stack, the one that takes it off again, and the one that lets the stack go.

# %% slideshow={"slide_type": "skip"}
with mg.Session(root.graph) as session:
    session.run([root, slope], {a: 9.0})
    program = session.last_run.source
print(*(line.partition(" # ")[0].rstrip() for line in program[program.index("def") :].splitlines()), sep="\n")

# %% [markdown] slideshow={"slide_type": "skip"}
# `t1.put(t0)` in the first loop; `t4 = t1[k0, ...]`, last row first, in the second; and `del t1` at the end. What a
# turn computed on the way from y to the next y is computed again, from y: less is kept, and a little is done twice.
# Lesson 14 makes that bargain on purpose.
#
# Is the stack gone when backward has read it? `py_func(f, [x])` is a node that calls a Python function in the run, once
# x is there. Two of them look at the memory that is alive, one between the loops and one at the end.
# (`control_dependencies` says: what is built in this block runs only after `between` has.)

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
# that are captured to be compiled. JAX hands the operands to the branches as arguments, and cannot take the gradient of
# a `while_loop` backwards, because it does not know beforehand how large the stack would be. `mg.lax` has these
# functions in JAX's form: operands for `cond`, and one carry, of any structure, for `while_loop`. In `tf.scan`, f
# returns the state alone, and all states come back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A placeholder cannot answer an `if`: the decision must be a node. `cond` writes both ways down, and runs one.
# - `where` computes both, and sends 0 × nan back. `while_loop` and `scan` write their body down once, for any number
#   of turns; unrolled, a loop grows with its turns.
# - One graph of 19 nodes serves for names of every length. The price is a function for each decision.
# - The gradient of a loop is a loop, over the turns that ran. It keeps a row for each turn, and only if it is asked
#   for.
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
