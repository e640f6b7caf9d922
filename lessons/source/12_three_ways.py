# ---
# jupyter:
#   minigrad:
#     title: Three ways to run one model
#     minutes: 45
#     objectives:
#       - write one training step in eager mode, in a session and traced, and show that all three give the same bits
#       - compare the three by what can be counted, in lines, words, calls, nodes and bytes, and by a measured ratio
#       - find the line at fault in each of them, for a shape that does not fit and for a NaN
#       - choose one of the three for a job, and say why
#     concepts: [C9, C10]
#     builds_on: [11_tracing]
#     widgets: [StaticVsDynamic, GraphView]
#     terms:
#       boilerplate: lines that a program needs for the way it is run, and that say nothing of what it computes
#       probe: something attached to a value of a graph, which keeps what that value was at every run
#       NaN trap: a way to run a graph operation by operation, which stops at the first that makes a NaN or an infinity
#         of finite numbers
#       deployment: bringing a trained model to where it is used, often without the Python that wrote it
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 12 Three ways to run one model
#
# You know three ways to run a network: eagerly, and the graph grows while Python runs (lessons 06 to 08); in a session,
# from a static graph that was built line by line (09, 10); or traced, from a static graph that a Python function left
# behind (11). Each has people who swear by it. **Which one should you take?** Opinions on this fill the internet. We
# have one engine that does all three, so we can count.
#
# **About 45 minutes.** Afterwards you can
#
# - write one training step in eager mode, in a session and traced, and show that all three give the same bits;
# - compare the three by what can be counted, in lines, words, calls, nodes and bytes, and by a measured ratio;
# - find the line at fault in each of them, for a shape that does not fit and for a NaN;
# - choose one of the three for a job, and say why.
#
# **Builds on** [11 Tracing](11_tracing.ipynb), and on the two ways before it.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Let hands be raised for "the fastest", "the shortest", "the easiest to debug", and write the votes on the
# board. They are compared with the table at the end.

# %% slideshow={"slide_type": "skip"}
import inspect
import re
import textwrap
import traceback
import tracemalloc

import numpy as np

import minigrad as mg
from minigrad.course import Predict, reveal
from minigrad.graph import probe
from minigrad.core.node import toposort
from minigrad.widgets import GraphView, Quiz, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The model, written once
#
# The two moons of lesson 03, and a network with sixteen hidden neurons. The formulas stand in one function, because an
# operation does not care whether it is given tensors or placeholders.

# %%
points, labels = mg.data.moons(200, noise=0.1, seed=0)
sides = 2.0 * labels[:, None] - 1  # 1 for the lower moon, -1 for the upper
moons = points, sides

rng = np.random.default_rng(0)
start = [rng.normal(size=(2, 16)), np.zeros(16), rng.normal(size=(16, 1)) / 4, np.zeros(1)]


def model(x, side, W, b, v, c):
    score = mg.tanh(x @ W + b) @ v + c
    return mg.log(1 + mg.exp(-side * score)).mean()


# %% [markdown] slideshow={"slide_type": "skip"}
# ### One: eager
#
# Each program takes the formulas, the data and a number of steps, and returns the losses, the trained weights, and what
# it has built. Here Python runs all of it, at every step.


# %% slideshow={"slide_type": "skip"}
def eager(model, data, steps):
    x, side = map(mg.tensor, data)
    weights = [mg.tensor(w, requires_grad=True) for w in start]
    optimizer = mg.optim.SGD(weights, lr=1.0)
    losses = []
    for _ in range(steps):
        loss = model(x, side, *weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [w.numpy() for w in weights], loss


# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Two: in a session
#
# Everything is a node: the inputs, the weights, the step, and the setting of the weights to their first values.


# %%
def in_session(model, data, steps, **options):
    graph = mg.Graph()
    with graph.as_default():
        x = mg.placeholder("float64", (None, 2), name="x")
        side = mg.placeholder("float64", (None, 1), name="side")
        weights = [mg.Variable(w) for w in start]
        loss = model(x, side, *weights)
        train = mg.optim.SGD(weights, lr=1.0).minimize(loss)
        begin = mg.graph.global_variables_initializer()
    session = mg.Session(graph, **options)
    session.run(begin)
    feed = dict(zip((x, side), data))
    losses = [session.run([loss, train], feed)[0] for _ in range(steps)]
    return losses, session.run(weights), graph


# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Three: traced
#
# The loop of the first, with the step in a function of its own, and one word above it.


# %%
def traced(model, data, steps):
    x, side = map(mg.tensor, data)
    weights = [mg.tensor(w, requires_grad=True) for w in start]
    optimizer = mg.optim.SGD(weights, lr=1.0)

    @mg.function
    def step(x, side):
        loss = model(x, side, *weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, side).item() for _ in range(steps)]
    return losses, [w.numpy() for w in weights], step


# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes for the three programs. Do not read them aloud: ask where in each the weights live, where the gradient is
# asked for, and which line is executed 100 times. Leave the three side by side on the board.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same numbers?
#
# One walks a graph that has just been recorded. The other two run a program that was compiled from a graph, after it
# was simplified, and with gradients that are nodes. We train 100 steps in each way, from the same start. How well will
# the three agree at the end?

# %%
Predict(
    "agreement",
    "After 100 steps, the losses and weights of the three agree",
    options=["to about 3 digits", "to about 12 digits", "to the last bit"],
)

# %%
ways = {"eager": eager, "session": in_session, "traced": traced}
results = {name: way(model, moons, 100) for name, way in ways.items()}
numbers = {name: np.concatenate([losses, *map(np.ravel, w)]) for name, (losses, w, _) in results.items()}
for name, found in numbers.items():
    differing = int((found != numbers["eager"]).sum())
    print(f"{name:10}  loss {found[0]:.6f} → {found[99]:.6f}   {differing} of {len(found)} numbers differ")
same = all(np.array_equal(found, numbers["eager"]) for found in numbers.values())
reveal("agreement", "to the last bit" if same else "to about 12 digits")

# %% [markdown]
# To the last bit, in all 100 losses and 65 weights, after 100 steps in which a difference in the sixteenth digit could
# have grown. And the gradients, which we only saw through their steps?

# %%
x, side = map(mg.tensor, moons)
tensors = [mg.tensor(w, requires_grad=True) for w in start]


def gradients(*weights):
    return mg.grad(model(x, side, *weights), weights)


with mg.Graph().as_default() as graph:
    variables = [mg.Variable(w) for w in start]
    slopes, begin = gradients(*variables), mg.graph.global_variables_initializer()
session = mg.Session(graph)
session.run(begin)
ours = gradients(*tensors), session.run(slopes), mg.function(gradients)(*tensors)
for parts in zip(*ours):
    a, b, c = map(np.asarray, parts)
    same = (a == b).all() and (b == c).all()
    print(f"gradient {a.shape!s:8}  length {np.linalg.norm(a):.6f}   equal bits: {same}")

# %% [markdown] slideshow={"slide_type": "fragment"}
# This is not luck. All three run the *same operations*, and by default the compiler makes only such changes as leave
# every bit alone. So **which way you take makes no difference to what comes out.** It is a question of what it takes to
# get there, and that is what we count now. (Told `jit_compile=True`, a traced function may add in another order, as
# other compilers do. Then this no longer holds:)

# %%
loose = mg.function(gradients, jit_compile=True)(*tensors)
apart = np.concatenate([np.ravel(a - b) for a, b in zip(map(np.asarray, ours[0]), map(np.asarray, loose))])
print("jit_compile=True: equal bits:", not apart.any(), "  within 0.000000000001:", abs(apart).max() < 1e-12)

# %% [markdown] slideshow={"slide_type": "notes"}
# Most people say 12 digits, from experience with other frameworks on a GPU: it is a fair guess there. Ask what must be
# true for bits to be equal: the same operations, on the same operands, each sum taken in the same order.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it takes to write
#
# We count each program's lines, and the different words of the engine that its author had to know. Lines that a program
# needs for its way of running, and that say nothing of what it computes, are **boilerplate**. Which of the three needs
# most of it?

# %%
Predict("words", "How many different words that begin with mg. does the session's program use?", tolerance=1)


# %%
def written(way):
    lines = [line for line in inspect.getsource(way).splitlines() if line.strip()]
    return len(lines), sorted(set(re.findall(r"mg\.[\w.]+", inspect.getsource(way))))


for name, way in ways.items():
    lines, words = written(way)
    print(f"{name:10} {lines:3} lines, {len(words)} words: {', '.join(words)}")
reveal("words", len(written(in_session)[1]))

# %% [markdown]
# The session's program is not so much longer; it has more to *know*: a graph, a block to be in, placeholders,
# variables, an initializer, a session. Forget the initializer and nothing runs. That is a learning curve. Tracing costs
# one word more than eager code, and a few rules that cannot be seen in the program (lesson 11).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When do the numbers come?
#
# The formulas once more, small enough to see every number: two points, two neurons. Step through. How many steps after
# the first number on the left does the first number appear on the right? And where is Python by then?


# %%
def small(x, side, W, v):
    hidden = mg.tanh(x @ W)
    score = hidden @ v
    return mg.log(1 + mg.exp(-side * score)).mean()


two = mg.tensor([[1.0, 0.5], [-1.0, 0.0]]), mg.tensor([[1.0], [-1.0]])
StaticVsDynamic(small, *two, mg.tensor([[0.5, -1.0], [1.0, 0.0]]), mg.tensor([[1.0], [0.5]]))

# %% [markdown]
# On the left a number comes with each line. On the right all lines go by first, and only boxes appear; then Python is
# done, and the numbers flow without it. Nearly everything in the rest of this lesson follows from that.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Calls and nodes
#
# How often does Python call `model` in 100 steps? And how many nodes are made? The dynamic graph's size we know; the
# graph of the session holds everything, the trace too.

# %%
Predict("calls, traced", "How often does Python call model in 100 traced steps?")


# %%
def calls_of(way, steps):
    called = []

    def counted(*args):
        called.append(1)
        return model(*args)

    way(counted, moons, steps)
    return len(called)


loss, graph, step = (results[name][2] for name in ways)
made = {
    "eager": 100 * len(toposort(loss.node)),
    "session": len(graph.get_operations()),
    "traced": len(step.graph_for(x, side).nodes),
}
for name, way in ways.items():
    print(f"{name:10}  calls of model in 100 steps: {calls_of(way, 100):3};  nodes made: {made[name]:5,}")
reveal("calls, traced", calls_of(traced, 100))

# %% [markdown]
# In eager mode 17 nodes are recorded at each step, and let go again. They are the forward pass alone: backward is not
# recorded, it is walked. The other two graphs have the forward pass, the gradients and the update in them, and are made
# once. Walk about in the trace: where does the loss leave, and which boxes are the four updates? (Look for a `+` of
# each weight's shape, to which a product with `lr` leads.)

# %%
GraphView(step)

# %% [markdown]
# That Python is called once has a second side. What a run needs is the graph, and the values of its variables: data,
# all of it. Data can be written to a file and sent to a telephone that has no Python. This is called **deployment**;
# the names for it elsewhere are in the table at the end. With eager code you would have to send the program, and Python
# to run it.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. "100, 1, 1" is the row to remember. Ask: your colleague wants the trained model in a web page; what do
# you send in each of the three cases?

# %% [markdown] slideshow={"slide_type": "skip"}
# ## Bytes
#
# A compiler that sees the whole graph plans its memory. So a step of it should hold less at its peak than an eager
# step, which takes memory as it goes. We take 20,000 points, and measure the peak in hidden layers: 20,000 × 16 numbers
# are one.

# %% slideshow={"slide_type": "skip"}
Predict("peak", "At its peak, a traced step holds", options=["less than half", "about the same", "more than twice"])

# %% slideshow={"slide_type": "skip"}
many = np.tile(points, (100, 1)), np.tile(sides, (100, 1))
LAYER = 20_000 * 16 * 8


def layers(way, data, steps=3):
    """The most memory that is taken at a time, and what is still taken when all is done, in layers."""
    tracemalloc.start()
    kept = way(model, data, steps)  # a name for it, so that what was built is still there when we look
    left, most = (taken / LAYER for taken in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    return most, left, kept


peaks = {name: layers(way, many)[0] for name, way in ways.items()}
print("peak:", ", ".join(f"{name} {round(peak)} layers" for name, peak in peaks.items()))
ratio = peaks["traced"] / peaks["eager"]
reveal("peak", "less than half" if ratio < 0.5 else "more than twice" if ratio > 2 else "about the same")

# %% [markdown] slideshow={"slide_type": "skip"}
# About the same, all three. A plan cannot let go of what backward will read, and in this small network that is nearly
# everything. What differs is something else: what is still held when the steps are done.

# %% slideshow={"slide_type": "skip"}
for name, way in ways.items():
    held = layers(way, many)[1] - sum(array.nbytes for array in many) / LAYER
    print(f"{name:10}  holds more than one layer when all is done: {held > 1}")

# %% [markdown] slideshow={"slide_type": "skip"}
# In eager mode memory comes and goes. A program keeps the memory it works in for the next call, and has its own for
# each shape of batch that it was made for. So its need is the same at every call and known before the first; an eager
# step's follows the input. What that means for sequences of all lengths is a topic of lesson 14.

# %% [markdown] slideshow={"slide_type": "notes"}
# A measurement against the expectation: let it stand, and ask what would have to change for a plan to win. (A deeper
# graph with long elementwise chains, in which backward reads little; or recomputing, lesson 14.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## Seconds
#
# Last, time. To leave the building out of it we time 110 steps and 10 steps, and take the difference. Then we time the
# building alone. A clock also counts what else this machine does. So the three take turns, for several rounds, and
# where the rounds disagree the line says *somewhere between*: then this run cannot tell. What do you expect of 200
# points, and what of 20,000?


# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
from functools import partial

from minigrad.course.stopwatch import in_turns


def seconds(data, steps):
    return in_turns(rounds=5, **{name: partial(way, model, data, steps) for name, way in ways.items()})


for data, more in ((moons, 100), (many, 10)):
    few, all_of_them = seconds(data, 10), seconds(data, 10 + more)
    each = {name: all_of_them[name] - few[name] for name in ways}
    times = (f"{name} {each['eager'] / each[name]:.1f}×" for name in ("session", "traced"))
    print(f"{len(data[0]):6} points:", "; ".join(times), "as fast as eager")
first = seconds(moons, 1)
print("the first step:", "; ".join(f"{name} {first[name] / first['eager']:.0f}×" for name in ways), "as long")

# %% [markdown] slideshow={"slide_type": "skip"}
# With 200 points overhead is most of a step, and on most quiet machines the two graphs are two to three times as fast.
# With 20,000 arithmetic is most of it, and little is left to gain. The first step of the two graphs takes many times as
# long as the eager one. How many calls it takes until that is paid back, and when it never is, fills lesson 15.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same slip, three times
#
# Now to what costs more than seconds: mistakes. Somebody has swapped `v` and the hidden layer. `told` runs a program
# and prints its error, with those lines of ours that the traceback passes through; it returns the last of them.


# %%
def told(way, *args, **options):
    try:
        way(*args, **options)
    except (ValueError, ArithmeticError) as error:
        engine = (mg.__path__[0], "<")
        frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if not f.filename.startswith(engine)]
        passed = list(dict.fromkeys(f.line for f in frames))
        print(textwrap.indent("\n".join(passed), "    "))
        print(textwrap.fill(f"{type(error).__name__}: {error}", 110), end="\n\n")
        return passed[-1]


def swapped(x, side, W, b, v, c):
    hidden = mg.tanh(x @ W + b)
    score = v @ hidden + c
    return mg.log(1 + mg.exp(-side * score)).mean()


# %%
Predict(
    "which line",
    "In which of the three does the traceback lead to the line score = v @ hidden + c?",
    options=["eager only", "eager and traced", "in all three"],
)

# %%
reached = [told(way, swapped, moons, 1) for way in ways.values()]
answers = ["eager only", "eager and traced", "in all three"]
reveal("which line", answers[sum("v @ hidden" in line for line in reached) - 1])

# %% [markdown]
# In all three: shapes are checked when a node is *built*, and then Python stands at that line. For the session it comes
# even before any point was looked at. So the bug that everybody fears in graphs is no worse there than in eager code.
# The one to fear is in the *values*.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A NaN, in eager mode
#
# A colleague prefers probabilities: p = 1/(1 + e⁻ˢ), and the loss −ln p, or −ln(1 − p) for the other side. And one
# point of the data was typed without its decimal point.


# %%
def careless(x, side, W, b, v, c):
    score = mg.relu(x @ W + b) @ v + c
    p = 1 / (1 + mg.exp(-score))
    right = (1 + side) / 2  # 1 for the lower moon, 0 for the upper
    losses = right * mg.log(p) + (1 - right) * mg.log(1 - p)
    return -losses.mean()


typed = points.copy()
typed[7] *= 1000
for name, way in ways.items():
    with np.errstate(all="ignore"):
        print(f"{name:10} ", *way(careless, (typed, sides), 3)[0])

# %% [markdown]
# The same in all three, and silent: NumPy would warn, and in a long log that is overlooked. NumPy can also be told to
# raise. In eager mode that is all it takes, because the line that computes is the line that was written:

# %%
with np.errstate(divide="raise"):
    told(eager, careless, (typed, sides), 1)

# %% [markdown] slideshow={"slide_type": "fragment"}
# A score beyond 37 makes p exactly 1 in 64 bits; then 1 − p is 0, its logarithm −∞, and 0 × −∞ is NaN. `print(p)`
# a line above would have shown it, too, or a debugger. Now the same in a session, where `told` prints the lines that
# the traceback passes through. Will one of `careless` be among them?

# %%
Predict("NaN in a session", "Does the traceback lead to a line in careless?", options=["yes", "no"])

# %% tags=["nbval-ignore-output"]
with np.errstate(divide="raise"):
    last = told(in_session, careless, (typed, sides), 1)
    told(traced, careless, (typed, sides), 1)
reveal("NaN in a session", "yes" if "mg.log" in last else "no")

# %% [markdown]
# No: it leads to the line that *ran* the graph, `session.run` or `step(x, side)`, and these are innocent. But read the
# message to its end. A node of a graph remembers who *built* it: *built at Cell In[…], line 5, in careless*, as a
# traceback of this notebook would put it, with the name of the operation and the range of what it read: 0 was among
# it. **The traceback says who ran it, the message says who built it.** Look up that cell and line.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for the NaN. Let somebody find the cell on the screen from the message alone. People who used TensorFlow 1
# will remember pages of traceback without this line; that is where the reputation comes from.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Tools for a graph
#
# **1. The trap.** A **NaN trap** runs a graph operation by operation, and stops at the first that makes a NaN or an
# infinity of finite numbers. It needs no warning from NumPy, and is slower, so it is switched on when something is
# wrong. For traced functions it is a block.

# %% tags=["nbval-ignore-output"]
told(in_session, careless, (typed, sides), 1, trap_nan=True)
with mg.graph.trap_nan():
    told(traced, careless, (typed, sides), 1)

# %% [markdown]
# Read it like this: this logarithm was given numbers from 0 to 0.52, and made numbers from −1.7 to −0.6 of them, and
# one that is infinite.

# %% [markdown] slideshow={"slide_type": "skip"}
# **2. The probe.** We know the operation; which *point* is it? A **probe** keeps what a value was at every run that
# computes it. The same line works in all three worlds; at which points was p exactly 1?


# %% slideshow={"slide_type": "skip"}
def probed(x, side, W, b, v, c):
    score = mg.relu(x @ W + b) @ v + c
    p = 1 / (1 + mg.exp(-score))
    seen.append(probe(p))
    right = (1 + side) / 2
    return -(right * mg.log(p) + (1 - right) * mg.log(1 - p)).mean()


for name, way in ways.items():
    seen = []
    with np.errstate(all="ignore"):
        way(probed, (typed, sides), 3)
    first = seen[0].values[0]
    where = np.flatnonzero(first == 1).tolist()
    print(f"{name:10}  probes {len(seen)}, with {len(seen[0].values)} values; p == 1 at {where}")

# %% [markdown] slideshow={"slide_type": "skip"}
# Point 7. And count: eagerly each step made a probe of its own, with one value; in a graph one probe saw all three
# steps.

# %% [markdown] slideshow={"slide_type": "subslide"}
# **3. Print, as an operation.** `mg.print` prints when it is run, Python's `print` when it is traced.
# **4. Back to eager.** `run_functions_eagerly` runs every traced function as plain Python: the traceback of the first
# world is back, and so are breakpoints.


# %% tags=["nbval-ignore-output"]
@mg.function
def fraction(score):
    print("Python has:", score)
    p = 1 / (1 + mg.exp(-score))
    mg.print("the graph has:", p)
    return mg.log(1 - p)


with np.errstate(divide="raise"):
    fraction(mg.tensor(3.0))
    told(lambda: fraction(mg.tensor(40.0)))
    with mg.graph.run_functions_eagerly():
        told(lambda: fraction(mg.tensor(40.0)))

# %% [markdown]
# In the first block Python's own line came once, without a number, and the graph's came with one. In the last, both
# have numbers, and the traceback ends at `mg.log(1 - p)`. (The cure, besides mending point 7: ln(1 + e⁻ˢ) as in
# `model`, which never makes a p.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. A rule of thumb to leave on the board: develop in eager mode, trace when it works, and when a traced
# thing breaks, run it eagerly first. The trap and the probe are for what cannot be run so.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** The three give the same bits as long as `model` is made of operations. Here it asks Python for a
# random number, as one might to make training more robust. In 10 steps, how many different numbers will the traced
# program have used?

# %%
Predict("draws", "How many different random numbers does the traced program use in 10 steps?")

# %%
for name, way in ways.items():
    drawn, dice = [], np.random.default_rng(0)

    def shaken(x, side, *weights, drawn=drawn, dice=dice):
        drawn.append(dice.normal(0, 0.1))
        return model(x + drawn[-1], side, *weights)

    losses = way(shaken, moons, 10)[0]
    print(f"{name:10}  {len(drawn):2} drawn, last loss {losses[-1]:.4f}")
reveal("draws", len(drawn))

# %% [markdown]
# No error, and another result. In the graphs the first number became a constant: all points are shifted by the same
# bit at every step. How to see it: compare with an eager run, as we did here. The way out is an operation that draws,
# such as `mg.randn`, which draws in each run (and then the same numbers eagerly and traced, if `mg.manual_seed`
# says so).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which one, then?
#
# What we counted and what we saw, in one table. Before you run the cell: which of the three do you think has most of
# its rows to itself?

# %%
head = f"{'':34}" + "".join(f"{name:>12}" for name in ways)
rows = {
    "lines": [written(way)[0] for way in ways.values()],
    "words of the engine": [len(written(way)[1]) for way in ways.values()],
    "calls of model in 100 steps": [calls_of(way, 100) for way in ways.values()],
    "nodes made in 100 steps": list(made.values()),
    "peak, in layers": [round(peak) for peak in peaks.values()],
    "a NaN's line is told by the": ["traceback", "message", "message"],
    "Python walks your code each step": ["yes", "no", "no"],
}
print(head)
for what, row in rows.items():
    print(f"{what:36}" + "".join(f"{each!s:>{w}}" for each, w in zip(row, (10, 12, 12))))

# %% [markdown]
# None has the table to itself, and that is the answer to the question of the lesson: it depends on what you do *next*.
# Fill in the last column before you unfold it.
#
# | you | take |
# |---|---|
# | try out a new loss, and print much | ? |
# | train the model that works for a week | ? |
# | have sentences of any length, each walked once | ? |
# | send the trained model to a device without Python | ? |
# | feed and fetch any node of a finished graph by hand | ? |
#
# <details><summary>What we would take</summary>
#
# Eager; traced; eager, or traced with an open length if there are many; traced or a session's graph; a session. Most
# people today write eager code and trace what works: TensorFlow 2, JAX and PyTorch all ended up there.
# </details>

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("12_three_ways")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | eager | the default | the default since 2.0 | the default |
# | `mg.Session(graph).run(...)` | – | `tf.compat.v1.Session().run(...)` | – |
# | `@mg.function` | `@torch.compile` | `@tf.function` | `@jax.jit` |
# | `trap_nan` | `torch.autograd.detect_anomaly` | `tf.debugging.enable_check_numerics` | `jax_debug_nans` |
# | `mg.print` | `print` | `tf.print` | `jax.debug.print` |
# | `run_functions_eagerly` | `torch.compiler.set_stance` | `tf.config.run_functions_eagerly` | `jax.disable_jit` |
# | a graph to send | `torch.export.export` | SavedModel | `jax.export.export` |
#
# PyTorch's anomaly detection looks at the backward pass, the others at each operation. `jax_debug_nans` is a name for
# `jax.config.update`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - One model in three ways: the same bits in loss, gradients and weights, because they run the same operations.
# - Eager code needs the fewest words and calls Python at each step; a session needs the most to know; tracing adds one
#   word, and rules. Graphs are data, and can be sent.
# - Memory was about the same. A static graph's is planned and kept; in eager mode it comes and goes.
# - Shape errors come at their line in all three. With values, the traceback says who ran a graph, and the message who
#   built it. Trap, probe, `mg.print` and running eagerly are the tools.
#
# **Sources.** M. Abadi and others, *TensorFlow: a system for large-scale machine learning*, OSDI 2016: graphs first,
# and why. A. Paszke and others, *PyTorch: an imperative style, high-performance deep learning library*, NeurIPS 2019:
# the case for running. A. Agrawal and others, *TensorFlow Eager: a multi-stage, Python-embedded DSL for machine
# learning*, MLSys 2019: both in one, by tracing. R. Frostig, M. Johnson, C. Leary, *Compiling machine learning programs
# via high-level tracing*, SysML 2018: the same for JAX.
#
# **Exercise.** [12 One model, three ways](../exercises/12_three_ways.ipynb): count, translate, hunt a NaN, keep a
# budget, and bring a model of your own that all three agree on.
#
# **Next:** [13 Optimising a graph](13_optimising_a_graph.ipynb): what a compiler can do to a graph that it sees whole.
