# ---
# jupyter:
#   minigrad:
#     title: Control flow in graphs
#     minutes: 30
#     objectives:
#       - say what Python's if and while do on a placeholder, and what takes their place
#       - write a branch and a loop as nodes, and count what is built and what is run
#       - say what the gradient of a loop is the gradient of
#       - choose between an unrolled loop and a loop node, with the number of nodes as a reason
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
# In lesson 08 there was no such problem: Python's `for` went on to the last letter. But a graph that runs on a phone
# has no Python to ask. How long a name is, or which of two formulas applies, is known only when the graph runs, and by
# then Python has left the stage.
#
# **How can a graph that is built without numbers decide anything by a number?**
#
# **About 30 minutes.** Afterwards you can
#
# - say what Python's `if` and `while` do on a placeholder, and what takes their place;
# - write a branch and a loop as nodes, and count what is built and what is run;
# - say what the gradient of a loop is the gradient of;
# - choose between an unrolled loop and a loop node, with the number of nodes as a reason.
#
# The sections called *Further* are optional.
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
# Each half of the message says something. *Greater → bool[]*: the comparison itself went well, and `x > 0` is a node
# like any other. *Has no value*: the trouble begins when Python's `if` asks this node "are you true?" and wants one
# answer, now. Two answers are possible, and the right one differs from run to run. A `while` asks the same question.
#
# If Python cannot decide, the decision itself must become a node. That is what `cond` is.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A branch as a node
#
# `mg.cond(p, f, g)` takes the condition as a node, and the two branches as functions without arguments. Each branch
# below notes in `python_calls` that Python has called it. It also has a probe: an operation that keeps a copy of a
# value at each run that computes it. How many of the two functions does Python call while the graph is built?

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
reveal("branches called", len(python_calls))

# %%
print("called while building:", python_calls)

# %% [markdown]
# Python calls both, once each. Nobody knows yet which one a run will need, so each is written down as a small graph of
# its own, and the node `if` holds the two graphs. Such a node is a **control-flow node**.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. People who answer 1 are thinking of Python's `if`. Ask: "Who could have told the builder which one?"
# The functions are called to be *written down*; what they return are nodes.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Three runs
#
# We run this graph three times, with 3, −1 and 2. Watch how many values each probe holds, and how many calls Python has
# made:

# %%
with mg.Session(g) as session:
    for number in (3.0, -1.0, 2.0):
        result = session.run(y, {x: number})
        held = {name: len(p.values) for name, p in probes.items()}
        print(f"x = {number:4}: y = {result:.3f}   values held: {held}   Python calls: {len(python_calls)}")

# %% [markdown]
# Each run computed one branch and did not enter the other. And the number of Python calls did not grow: both branches
# were written down once, and Python never comes back.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: is `where` not the same?

# %% [markdown] slideshow={"slide_type": "skip"}
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
        (u, v), (gu, gv) = session.run([[by_where, by_cond], gradients], {x: number})
        # abs turns −0 into 0
        print(f"x = {number:4}: where gives {abs(u):g}, gradient {gu:g}; cond gives {abs(v):g}, gradient {gv:g}")

# %% [markdown]
# It is the trap of lesson 08, in a graph. On the way back, `where` sends 0 into the branch that was not taken, and
# there 0 is multiplied by the slope of √x at −1, which is NaN. So the gradient is NaN. `cond` never enters that
# branch, forward or back. Use `where` for the elements of an array, if both sides are harmless. Use `cond` for a
# single decision, if one side is expensive or not defined.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: three inputs

# %% [markdown] slideshow={"slide_type": "skip"}
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
# This is Newton's way to the square root of a. Start at y = a, and replace y by the mean of y and a/y, until y² is
# nearly a. How many turns that takes depends on a, so the loop must be a node, too.
#
# In `mg.while_loop(test, body, carries)` the test and the body are functions, and the loop goes on as long as the test
# holds. A value that goes from turn to turn is a **carry**: here the number y, and the count of turns. `carries` gives
# their first values, and the loop returns their last ones.

# %%
python_calls = []


def not_yet(y, turns):
    return abs(y * y - a) > 1e-12 * a


def newton(y, turns):
    python_calls.append("newton")
    return (y + a / y) / 2, turns + 1


g = mg.Graph()
with g.as_default():
    a = mg.placeholder("float64", (), name="a")
    root, turns = mg.while_loop(not_yet, newton, (a, 0))
with mg.Session(g) as session:
    print("turns:", [session.run(turns, {a: number}).item() for number in (4.0, 9.0, 1e6)])
print("called:", python_calls)

# %% [markdown] slideshow={"slide_type": "subslide"}
# Python called the body once, to write it down, and the same graph made 5, 6 and 14 turns.
#
# Open the loop. *carry* is what a turn begins with, and what the body returns is the carry of the next turn. The arrow
# from there back to the beginning is *not* in the picture: a graph has no cycle. The node itself goes round, when it
# runs.

# %%
GraphView(root)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes with the picture. Ask for the missing arrow: "Where does the result of the body go?" Then the reason why
# it may not be drawn as an edge: lesson 01, a cycle has no topological order.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Backward through a loop
#
# We ask for the gradient as always. It should be that of √a, which is 1/(2√a): ¼ at 4.

# %%
with g.as_default():
    (slope,) = mg.gradients(root, [a])
with mg.Session(g) as session:
    for number in (4.0, 9.0, 1e6):
        y, n, s = session.run([root, turns, slope], {a: number})
        print(f"a = {number:9,.0f}: root {y:10.4f} after {n:2} turns, gradient {s:.4f}")

# %% [markdown]
# All three gradients are right, and no rule for square roots was used. The gradient of the loop is another loop, which
# goes through the turns from the last to the first. For that each turn needs the y that it began with. So a run that
# asks for the gradient keeps one y for each turn, the **stack of a loop**. A run that goes forward only keeps none.
#
# Now take a = 1. There the loop starts at the root, so it makes no turn. The derivative of √a at 1 is ½. What does the
# graph say?

# %%
Predict("Newton at 1", "What gradient does the graph give at a = 1?", options=["0", "0.5", "1", "nan"])

# %%
with mg.Session(g) as session:
    y, n, s = session.run([root, turns, slope], {a: 1.0})
reveal("Newton at 1", f"{s:g}")

# %%
print(f"root {y:.4f} after {n} turns, gradient {s:.4f}")

# %% [markdown]
# *It is the gradient of the turns that ran.* Where none ran, the result *is* the start, y = a, and its gradient is 1.
# The value is right, but the gradient is not that of the root.

# %% [markdown] slideshow={"slide_type": "notes"}
# This is the deepest minute of the lesson. "The gradient of the program that ran" was true of eager code, too. Ask what
# finite differences would say at a = 1: near 0.5 for a large step, and 1 for one so small that no turn runs.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: one more turn

# %% [markdown] slideshow={"slide_type": "skip"}
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

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: lesson 08's road

# %% [markdown] slideshow={"slide_type": "skip"}
# A decision may stand inside a loop. The road of lesson 08, on whole numbers: halve an even number, multiply an odd one
# by 3 and add 1, and stop at 1. Here `collatz` holds a `cond`. From 27 it takes 111 turns, and Python has called
# `collatz` once.

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

# %%
with mg.Session(g) as session:
    for number in (1, 6, 27, 97):
        print(f"from {number:2}: {session.run(count, {start: number}):3} turns")
print("calls of collatz:", len(python_calls))
GraphView(count)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the stack

# %% [markdown] slideshow={"slide_type": "skip"}
# We measure the stack. Here y has 10,000 numbers, and we count memory in rows of that size. `fori_loop(0, n, body, y)`
# is a loop that makes n turns and counts them. How much memory does a run of 1000 turns hold at its peak, if it goes
# forward and asks for *no* gradient?

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

# %% [markdown]
# Forward alone keeps nothing, however long it runs: the session makes no stack that nobody will read. With the gradient
# there is a row for each turn, and the stack is freed when backward has read it. A name of twelve letters is a stack of
# twelve states.

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


# %% [markdown] slideshow={"slide_type": "subslide"}
# How large are the two graphs? In lesson 08 a name of 3 letters had 20 nodes, and one of 12 letters 65. The graph of
# `scores` has just as many. How many nodes does it have for a text of 1000 letters?

# %%
Predict("nodes when unrolled", "How many nodes does the unrolled graph need for 1000 letters?")


# %%
def count_nodes(network, make_letters):
    """The nodes of a network's graph, including those inside its loops."""
    with mg.Graph().as_default() as graph:
        network(make_letters(), *map(mg.constant, first_values))
    nodes = graph.get_operations()
    return len(nodes) + sum(len(part.nodes) for node in nodes for part in getattr(node.op, "graphs", ()))


def placeholders(n):
    return lambda: [mg.placeholder("int64", ()) for _ in range(n)]


unrolled = {n: count_nodes(scores, placeholders(n)) for n in (3, 12, 13, 1000)}
reveal("nodes when unrolled", unrolled[1000])

# %%
print("unrolled:", ", ".join(f"{n} letters {nodes:,} nodes" for n, nodes in unrolled.items()))
print("a scan of any length:", count_nodes(scanned, lambda: mg.placeholder("int64", (None,))), "nodes")

# %% [markdown]
# Each letter adds five nodes, and five more are there once. The scan has 19 nodes for every name, because its body is
# written down once. Lesson 08 needed 700 graphs, lesson 09 one graph for twelve letters, and this is *one graph for all
# lengths*. (A short loop of fixed length may be better unrolled: each copy can be simplified by itself.)

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### The thirteenth letter
#
# Does it compute the same as eager mode, for *Oluwatobiloba*, too?

# %%
g = mg.Graph()
with g.as_default():
    letters = mg.placeholder("int64", (None,), name="letters")
    E, W, V = weights = [mg.Variable(array, name=name) for array, name in zip(first_values, "EWV")]
    answer, answers = scanned(letters, E, W, V)
session = mg.Session(g)
session.run([weight.initializer for weight in weights])
for name in ("yui", "sopuruchukwu", "oluwatobiloba"):
    in_graph = session.run(answer, {letters: spelled(name)})
    eager = scores(mg.tensor(spelled(name)), *map(mg.tensor, first_values))
    print(f"{name:13} the same scores as eagerly: {np.allclose(in_graph, eager.numpy())}")

# %% [markdown]
# The thirteenth letter goes through like any other. Nineteen nodes read a name of any length.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Ask first how many nodes lesson 09 would need for a name of thirteen letters. The gradient of the scan
# goes through the same body; the next page shows how.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the names, trained

# %% [markdown] slideshow={"slide_type": "skip"}
# We compare loss and gradients with eager mode, and run the graph for all 700 names. In the picture below the output,
# the four operations of a letter are there once, in the body of the scan. (For training, build a step from these
# gradients, as in lesson 09. The results that the scan stacked, `answers`, are what the network believes after each
# letter.)

# %%
names = mg.data.names()
with g.as_default():
    label = mg.placeholder("int64", (1,), name="label")
    loss = mg.cross_entropy(answer, label)
    gradients = mg.gradients(loss, weights)
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
GraphView(answer)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What must agree
#
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
    show_error(lambda: mg.cond(x > 0, lambda: v, lambda: x))
    show_error(lambda: mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,)))

# %% [markdown]
# The second message names a way out. A **shape invariant** is what the loop promises about a carry's shape at every
# turn; `None` stands for a length that may change.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: three more traps

# %% [markdown] slideshow={"slide_type": "skip"}
# The branches may differ in structure, too: below one returns a tensor, and the other a pair. The second trap is quiet.
# This loop makes five turns, and its body appends y to a Python list. What is in the list?

# %% tags=["nbval-ignore-output"]
with mg.Graph().as_default():
    x = mg.placeholder("float64", (), name="x")
    show_error(lambda: mg.cond(x > 0, lambda: x, lambda: (x, x)))

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
#
# The third trap is the price of a growing carry. With `shape_invariants=` a loop may double the length of its carry.
# But a stack needs rows of one shape, so no gradient passes through such a carry:

# %%
g = mg.Graph()
with g.as_default():
    v = mg.placeholder("float64", (3,), name="v")
    (long,) = mg.while_loop(lambda v: v.sum() < 100, lambda v: (mg.cat([v, v]),), (v,), shape_invariants=((None,),))
    show_error(lambda: mg.gradients(long.sum(), [v]))
with mg.Session(g) as session:
    print([session.run(long, {v: np.full(3, number)}).shape for number in (50.0, 5.0, 0.5)])

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a session's program

# %% [markdown] slideshow={"slide_type": "skip"}
# This is the program that a session makes from Newton's loop and its gradient. Find the line that puts a row on the
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

# %% [markdown] slideshow={"slide_type": "skip"}
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
# PyTorch's compiler meets the same `if` as we did. By default it cuts the graph in two there, and lets Python decide
# between the parts. If you ask for one whole graph, with `fullgraph=True`, it refuses:
#
# > Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control
# > flow. […] Hint: Use `torch.cond` to express dynamic control flow.
#
# PyTorch is eager, so Python's own control flow will do; `torch.cond` and `torch.while_loop`, still prototypes, are for
# graphs that are captured to be compiled. JAX passes the operands to the branches as arguments. It cannot take the
# gradient of a `while_loop` backwards, because it does not know beforehand how large the stack would be. `mg.lax` has
# these functions in JAX's form: operands for `cond`, and one carry, of any structure, for `while_loop`. In `tf.scan`, f
# returns the state alone, and all states come back.

# %% [markdown] slideshow={"slide_type": "skip"}
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
# - `while_loop` and `scan` write their body down once, for any number of turns. Unrolled, a loop grows with its turns.
# - The gradient of a loop is a loop, over the turns that ran. It needs a stack, a row for each turn.
# - One graph of 19 nodes reads names of every length. The price is a function for each decision.
# - Branches must agree in structure, dtype and shape; a carry must keep its own.
#
# **Sources.** Y. Yu and others, *Dynamic control flow in large-scale machine learning*, EuroSys 2018: conditionals and
# loops as nodes, and stacks for their gradients (section 5). R. Frostig, M. Johnson, C. Leary, *Compiling machine
# learning programs via high-level tracing*, SysML 2018: the loops of JAX. A. Griewank, A. Walther, *Evaluating
# Derivatives*, SIAM 2008, chapter 15: derivatives of iterations that converge.
#
# **Exercise.** [10 Branches and loops as nodes](../exercises/10_control_flow_in_graphs.ipynb): count, build, and
# make a loop of your own.
#
# **Next:** [11 Tracing](11_tracing.ipynb) lets you write Python's `if` and `for` again, and makes the nodes for you.
