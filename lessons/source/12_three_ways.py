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
#     widgets: [GraphView, Predict, Quiz]
#     terms:
#       boilerplate: lines that a program needs for the way it is run, and that say nothing about what it computes
#       probe: something attached to a value of a graph, which keeps what that value was at every run
#       NaN trap: a way to run a graph operation by operation, which stops at the first that makes a NaN or an infinity
#         out of finite numbers
#       deployment: bringing a trained model to where it is used, often without the Python that wrote it
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 12 Three ways to run one model
#
# You have run the name network in three ways: eagerly, and a graph grows at every run (lesson 08); in a session, from a
# static graph that was built line by line (09, 10); and traced, from a static graph that a Python function left behind
# (11). Each has people who swear by it. **Which one should you take?** Opinions on this fill the internet. We have one
# engine that does all three, so we can train the same network in each, and count.
#
# **About 45 minutes.** Afterwards you can
#
# - write one training step in eager mode, in a session and traced, and show that all three give the same bits;
# - compare the three by what can be counted, in lines, words, calls, nodes and bytes, and by a measured ratio;
# - find the line at fault in each of them, for a shape that does not fit and for a NaN;
# - choose one of the three for a job, and say why.
#
# **Builds on** [11 Tracing](11_tracing.ipynb), and on the two ways before it. What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask for a show of hands for "the fastest", "the shortest", "the easiest to debug", and write the votes on
# the board. Compare them with the table at the end.

# %% slideshow={"slide_type": "skip"}
import inspect
import re
import textwrap
import traceback
import tracemalloc
from functools import partial

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, in_turns, reveal
from minigrad.widgets import GraphView

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The model, written once
#
# The name network of lesson 08, for many names at a time: the 191 names of six letters. Their letters are an array of 6
# rows, with a column for each name. `letters.unbind()` is Python's tuple of the six rows, so Python's `for` walks it in
# all three ways; and the state has a row for each name. The formulas are in one function, because an operation does not
# care whether it is given tensors or placeholders.

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
six = [(name, label) for name, label in names.train if len(name) == 6]
spelled = np.array([[LETTERS.index(letter) for letter in name] for name, _ in six]).T
data = spelled, np.array([label for _, label in six])

rng = np.random.default_rng(0)
start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]  # E, W and V


def model(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = (E[letter] + state @ W).tanh()
    return mg.cross_entropy(state @ V, label)


# %% [markdown] slideshow={"slide_type": "skip"}
# ### One: eager
#
# Each program takes the formulas, the data, a number of steps and the weights to begin with. It returns the losses, the
# trained weights, and what it has built. Here Python runs all of it, at every step.


# %% slideshow={"slide_type": "skip"}
def eager(model, data, steps, start=start):
    letters, label = map(mg.tensor, data)
    weights = [mg.tensor(w, requires_grad=True) for w in start]
    optimizer = mg.optim.SGD(weights, lr=1.0)
    losses = []
    for _ in range(steps):
        loss = model(letters, label, *weights)
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
def in_session(model, data, steps, start=start, **options):
    graph = mg.Graph()
    with graph.as_default():
        fed = [mg.placeholder("int64", each.shape) for each in data]
        weights = [mg.Variable(w) for w in start]
        loss = model(*fed, *weights)
        train = mg.optim.SGD(weights, lr=1.0).minimize(loss)
        begin = mg.graph.global_variables_initializer()
    session = mg.Session(graph, **options)
    session.run(begin)
    feed = dict(zip(fed, data))
    losses = [session.run([loss, train], feed)[0] for _ in range(steps)]
    return losses, session.run(weights), graph


# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Three: traced
#
# The loop of the first, with the step in a function of its own, and one word above it.


# %%
def traced(model, data, steps, start=start):
    letters, label = map(mg.tensor, data)
    weights = [mg.tensor(w, requires_grad=True) for w in start]
    optimizer = mg.optim.SGD(weights, lr=1.0)

    @mg.function
    def step(letters, label):
        loss = model(letters, label, *weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(letters, label).item() for _ in range(steps)]
    return losses, [w.numpy() for w in weights], step


# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes for the three programs. Do not read them aloud: ask where in each the weights live, where the gradient is
# asked for, and which line is executed 100 times. Leave the three side by side on the board.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same numbers?
#
# One walks a graph that has just been recorded. The other two run a program that was compiled from a graph; the graph
# was simplified first, and its gradients are nodes. We train 100 steps in each way, from the same start. How well will
# the three agree at the end?

# %%
Predict(
    "agreement",
    "After 100 steps, the losses and weights of the three agree",
    options=["to about 3 digits", "to about 12 digits", "to the last bit"],
)

# %%
ways = {"eager": eager, "session": in_session, "traced": traced}
results = {name: way(model, data, 100) for name, way in ways.items()}
numbers = {name: np.concatenate([losses, *map(np.ravel, w)]) for name, (losses, w, _) in results.items()}
for name, found in numbers.items():
    differing = int((found != numbers["eager"]).sum())
    print(f"{name:10}  loss {found[0]:.6f} → {found[99]:.6f}   {differing} of {len(found)} numbers differ")
same = all(np.array_equal(found, numbers["eager"]) for found in numbers.values())
reveal("agreement", "to the last bit" if same else "to about 12 digits")

# %% [markdown] slideshow={"slide_type": "fragment"}
# To the last bit, in all 100 losses and 1368 weights, after 100 steps in which a difference in the sixteenth digit
# could have grown. This is not luck. All three run the *same operations*, and by default the compiler makes only
# changes that leave every bit alone. So **which way you take makes no difference to what comes out.** What differs is
# what it takes to get there, and that is what we count now. (With `jit_compile=True` a traced function may add in
# another order, as other compilers do. Then this no longer holds, here for the gradients:)

# %%
letters, label = map(mg.tensor, data)
tensors = [mg.tensor(w, requires_grad=True) for w in start]


def gradients(*weights):
    return mg.grad(model(letters, label, *weights), weights)


exact, loose = gradients(*tensors), mg.function(gradients, jit_compile=True)(*tensors)
for name, a, b in zip("EWV", exact, loose):
    apart = abs(a.numpy() - b.numpy()).max()
    print(f"gradient of {name}: length {np.linalg.norm(a.numpy()):.6f}; within 0.000000000001: {apart < 1e-12}")
print("jit_compile=True: equal bits:", all(mg.equal(a, b) for a, b in zip(exact, loose)))

# %% [markdown] slideshow={"slide_type": "notes"}
# Most people say 12 digits, from experience with other frameworks on a GPU: it is a fair guess there. Ask what must be
# true for bits to be equal: the same operations, on the same operands, each sum taken in the same order.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it takes to write
#
# We count each program's lines, and the different words of the engine that its author had to know. Lines that a program
# needs for its way of running, and that say nothing about what it computes, are **boilerplate**. Which of the three
# needs the most of it?


# %%
def written(way):
    lines = [line for line in inspect.getsource(way).splitlines() if line.strip()]
    return len(lines), sorted(set(re.findall(r"mg\.[\w.]+", inspect.getsource(way))))


for name, way in ways.items():
    lines, words = written(way)
    print(f"{name:10} {lines:3} lines, {len(words)} words: {', '.join(words)}")

# %% [markdown]
# The session's program is not much longer; but there is more to *know*: a graph, a block to be in, placeholders,
# variables, an initializer, a session. Forget the initializer and nothing runs. That is a learning curve. Tracing costs
# one word more than eager code, and a few rules that cannot be seen in the program (lesson 11).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Calls and nodes
#
# How often does Python call `model` in 100 steps? And how many nodes are made?

# %%
Predict("calls, traced", "How often does Python call model in 100 traced steps?")


# %%
def calls_of(way, steps):
    called = []

    def counted(*args):
        called.append(1)
        return model(*args)

    way(counted, data, steps)
    return len(called)


loss, graph, step = (results[name][2] for name in ways)
made = {
    "eager": 100 * len(mg.compiler.toposort(loss.node)),
    "session": len(graph.get_operations()),
    "traced": len(step.graph_for(letters, label).nodes),
}
for name, way in ways.items():
    print(f"{name:10}  calls of model in 100 steps: {calls_of(way, 100):3};  nodes made: {made[name]:5,}")
reveal("calls, traced", calls_of(traced, 100))

# %% [markdown]
# In eager mode 38 nodes are recorded at each step, and let go again. They are the forward pass alone: backward is not
# recorded, it is walked. The other two graphs have the forward pass, the gradients and the update in them, and are made
# once. That Python calls `model` only once has another consequence: all that a run needs is the graph, and the values
# of its variables. These are data, which can be written to a file and sent to a telephone that has no Python. This is
# called **deployment**; the names for it elsewhere are in the table at the end. With eager code you would have to send
# the program, and Python to run it.
#
# Walk about in the trace: where does the loss leave, and which boxes are the three updates? (Look for a `+` of each
# weight's shape, to which a product with `lr` leads.)

# %%
GraphView(step)

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. "100, 1, 1" is the row to remember. Ask: your colleague wants the trained model in a web page; what do
# you send in each of the three cases?

# %% [markdown] slideshow={"slide_type": "skip"}
# ## Bytes
#
# A compiler that sees the whole graph plans its memory. So a step of such a graph should hold less at its peak than an
# eager step, which takes memory as it goes. We repeat the names a hundred times, 19,100 columns, and measure the peak
# in states: one state is 19,100 × 24 numbers.

# %% slideshow={"slide_type": "skip"}
Predict("peak", "At its peak, a traced step holds", options=["less than half", "about the same", "more than twice"])

# %% slideshow={"slide_type": "skip"}
many = tuple(np.tile(each, 100) for each in data)
STATE = 19_100 * 24 * 8


def states(way, data, steps=3):
    """The most memory that is taken at a time, and what is still taken when all is done, in states."""
    tracemalloc.start()
    kept = way(model, data, steps)  # a name for it, so that what was built is still there when we look
    left, most = (taken / STATE for taken in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    return most, left, kept


peaks = {}
for name, way in ways.items():
    peaks[name], left, _ = states(way, many)
    print(f"{name:10}  peak about {round(peaks[name], -1):.0f} states; more than two when all is done: {left > 2}")
ratio = peaks["traced"] / peaks["eager"]
reveal("peak", "less than half" if ratio < 0.5 else "more than twice" if ratio > 2 else "about the same")

# %% [markdown] slideshow={"slide_type": "skip"}
# About the same, all three. A plan cannot let go of what backward will read, and here that is every state. What differs
# is what is still held when the steps are done. In eager mode memory comes and goes. A compiled program keeps the
# memory it works in for the next call, and each shape has a program with memory of its own. So what it needs is the
# same at every call and known before the first; what an eager step needs follows the input. Names of all lengths are a
# topic of lesson 14.

# %% [markdown] slideshow={"slide_type": "notes"}
# A measurement against the expectation: let it stand, and ask what would have to change for a plan to win. (A deeper
# graph with long elementwise chains, in which backward reads little; or recomputing, lesson 14.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## Seconds
#
# Last, time. To leave the building out of it we time many steps and few, and take the difference. Then we time the
# building alone. A clock also counts whatever else this machine is doing. So the three take turns, for several rounds,
# and where the rounds disagree the line says *somewhere between*: then this run cannot tell. What do you expect of ten
# names, and what of 3820?


# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
def seconds(data, steps):
    return in_turns(rounds=3, **{name: partial(way, model, data, steps) for name, way in ways.items()})


ten = tuple(each[..., ::19][..., :10] for each in data)  # from all languages
for some, more in ((ten, 30), (tuple(each[..., :3820] for each in many), 3)):
    few, all_of_them = seconds(some, 1), seconds(some, 1 + more)
    each = {name: all_of_them[name] - few[name] for name in ways}
    times = (f"{name} {each['eager'] / each[name]:.1f}×" for name in ("session", "traced"))
    print(f"{len(some[1]):6} names:", "; ".join(times), "as fast as eager")
first = seconds(ten, 1)
print("the first step:", "; ".join(f"{name} {first[name] / first['eager']:.0f}×" for name in ways), "as long")

# %% [markdown] slideshow={"slide_type": "skip"}
# With ten names overhead is most of a step, and on most quiet machines the two graphs are two to five times as fast.
# With 3820 arithmetic is most of it, and little is left to gain. The first step of the two graphs takes many times as
# long as the eager one. How many calls it takes to pay that back, and when it is never paid back, is the subject of
# lesson 15.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same slip, three times
#
# Now to what costs more than seconds: mistakes. Somebody has swapped V and the state. `told` runs a program and prints
# its error, with those lines of ours that the traceback passes through; it returns the last of them.


# %%
def told(way, *args, **options):
    try:
        way(*args, **options)
    except (ValueError, ArithmeticError) as error:
        engine = re.compile(f"{re.escape(mg.__path__[0])}|<(?!ipython)")  # as a browser calls a notebook's cells
        frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if not engine.match(f.filename)]
        passed = list(dict.fromkeys(f.line for f in frames))
        print(textwrap.indent("\n".join(passed), "    "))
        print(textwrap.fill(f"{type(error).__name__}: {error}", 110), end="\n\n")
        return passed[-1]
    print("No error: in a browser NumPy is not told of an overflow, nor of a division by zero, and cannot raise.\n")
    return ""


def swapped(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = (E[letter] + state @ W).tanh()
    scores = V @ state
    return mg.cross_entropy(scores, label)


# %%
Predict(
    "which line",
    "In which of the three does the traceback lead to the line scores = V @ state?",
    options=["eager only", "eager and traced", "in all three"],
)

# %%
reached = [told(way, swapped, data, 1) for way in ways.values()]
answers = ["eager only", "eager and traced", "in all three"]
reveal("which line", answers[sum("V @ state" in line for line in reached) - 1])

# %% [markdown]
# In all three: shapes are checked when a node is *built*, and then Python stands at that line. In the session the error
# comes even before any name has been looked at. So the bug that everybody fears in graphs is no worse there than in
# eager code. The one to fear is in the *values*.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A NaN, in eager mode
#
# A colleague prefers relu, and writes the cross-entropy out: e to the power of each score, divided by the sum of these,
# is a probability; the loss is minus the logarithm of the right language's probability. (`gather` takes it out of each
# row.) And a row of E was typed without its decimal points, so it is ten thousand times too large. (The cell says
# which. Forget it: the tools will find it.)


# %%
def careless(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = mg.relu(E[letter] + state @ W)
    e = mg.exp(state @ V)
    p = e / e.sum(1, keepdim=True)
    return -mg.log(p.gather(1, label[:, None])).mean()


typed = [weight.copy() for weight in start]
typed[0][25] *= 10_000
for name, way in ways.items():
    with np.errstate(all="ignore"):
        print(f"{name:10} ", *way(careless, data, 3, typed)[0])
with np.errstate(over="raise"):
    told(eager, careless, data, 1, typed)

# %% [markdown] slideshow={"slide_type": "fragment"}
# NaN in all three, and silently: NumPy would warn, but in a long log a warning is overlooked. NumPy can also be told to
# raise, as in the last two lines of the cell. In eager mode that is all it takes, because the line that computes is the
# line that was written. In 64 bits e to the power of a score above 709 is infinite, and ∞/∞ is NaN. `print(e)` on the
# next line, or a debugger, would have shown it, too. Now the same in a session, where `told` prints the lines that the
# traceback passes through. Will one of `careless` be among them?

# %%
Predict("NaN in a session", "Does the traceback lead to a line in careless?", options=["yes", "no"])

# %% tags=["nbval-ignore-output"]
with np.errstate(over="raise"):
    last = told(in_session, careless, data, 1, typed)
    told(traced, careless, data, 1, typed)
reveal("NaN in a session", "yes" if "mg.exp" in last else "no")

# %% [markdown]
# No: it leads to the line that *ran* the graph, `session.run` or `step(letters, label)`, and these are innocent. But
# read the message to its end. A node of a graph remembers who *built* it: *built at Cell In[…], line 5, in careless*,
# as a traceback of this notebook would put it, with the name of the operation and the range of what it read: scores of
# more than two thousand. **The traceback says who ran it, the message says who built it.** Look up that cell and line.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for the NaN. Let somebody find the cell on the screen from the message alone. People who used TensorFlow 1
# will remember pages of traceback without this line; that is where the reputation comes from.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Tools for a graph
#
# **1. The trap.** A **NaN trap** runs a graph operation by operation, and stops at the first that makes a NaN or an
# infinity out of finite numbers. It needs no warning from NumPy, and is slower, so it is switched on when something is
# wrong. For traced functions it is a `with` block.

# %% tags=["nbval-ignore-output"]
told(in_session, careless, data, 1, typed, trap_nan=True)
with mg.graph.trap_nan():
    told(traced, careless, data, 1, typed)

# %% [markdown] slideshow={"slide_type": "skip"}
# Read it like this: this exp was given numbers from −2733 to 2455; of its results the largest finite one has 300
# digits, and 21 are infinite.
#
# **2. The probe.** We know the operation; which *names* are to blame? A **probe** keeps what a value was at every run
# that computes it. The same line works in all three worlds.


# %% slideshow={"slide_type": "skip"}
def probed(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = mg.relu(E[letter] + state @ W)
    scores = state @ V
    seen.append(mg.probe(scores))
    e = mg.exp(scores)
    return -mg.log((e / e.sum(1, keepdim=True)).gather(1, label[:, None])).mean()


for name, way in ways.items():
    seen = []
    with np.errstate(all="ignore"):
        way(probed, data, 3, typed)
    first = seen[0].values[0]
    print(f"{name:10}  probes {len(seen)}, with {len(seen[0].values)} values; names with a score above 709:")
    print("           ", *(six[i][0] for i in np.flatnonzero(first.max(axis=1) > 709)))

# %% [markdown] slideshow={"slide_type": "skip"}
# Every one of them has a z: the row of E is found. And count: eagerly each step made a probe of its own, with one
# value; in a graph one probe saw all three steps.

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
# have numbers, and the traceback ends at `mg.log(1 - p)`. (The cure for `careless`, besides mending the row of z, is
# `mg.cross_entropy` as in `model`: it subtracts the largest score from all of them before it raises e to them.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. A rule of thumb to leave on the board: develop in eager mode, trace when it works, and when a traced
# thing breaks, run it eagerly first. The trap and the probe are for what cannot be run that way.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** The three give the same bits as long as `model` is made of operations. Here it asks Python for a
# random number, as one might to make training more robust. In 10 steps, how many different numbers will the traced
# program have used?

# %%
Predict("draws", "How many different random numbers does the traced program use in 10 steps?")

# %%
for name, way in ways.items():
    drawn, dice = [], np.random.default_rng(0)

    def shaken(letters, label, E, *others, drawn=drawn, dice=dice):
        drawn.append(dice.normal(0, 0.1))
        return model(letters, label, E + drawn[-1], *others)

    losses = way(shaken, data, 10)[0]
    print(f"{name:10}  {len(drawn):2} drawn, last loss {losses[-1]:.4f}")
reveal("draws", len(drawn))

# %% [markdown]
# No error, and another result. In the graphs the first number became a constant: E is shifted by the same amount at
# every step. How to see it: compare with an eager run, as we did here. The way out is an operation that draws, such as
# `mg.randn`, which draws in each run (and after the same `mg.manual_seed` the same numbers, eagerly and traced).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which one, then?
#
# What we counted and what we saw, in one table. Before you run the cell: which of the three do you think wins most of
# its rows?

# %%
head = f"{'':34}" + "".join(f"{name:>12}" for name in ways)
rows = {
    "lines": [written(way)[0] for way in ways.values()],
    "words of the engine": [len(written(way)[1]) for way in ways.values()],
    "calls of model in 100 steps": [calls_of(way, 100) for way in ways.values()],
    "nodes made in 100 steps": list(made.values()),
    "peak, in states, about": [f"{round(peak, -1):.0f}" for peak in peaks.values()],
    "a NaN's line is told by the": ["traceback", "message", "message"],
    "Python walks your code each step": ["yes", "no", "no"],
}
print(head)
for what, row in rows.items():
    print(f"{what:36}" + "".join(f"{each!s:>{w}}" for each, w in zip(row, (10, 12, 12))))

# %% [markdown]
# None wins the whole table, and that is the answer to the question of the lesson: it depends on what you do *next*.
# Fill in the last column before you unfold it.
#
# | you | take |
# |---|---|
# | try out a new loss, and print much | ? |
# | train the model that works for a week | ? |
# | have names of any length, each read once | ? |
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
# PyTorch's anomaly detection looks at the backward pass, the others at each operation. `jax_debug_nans` is set by
# `jax.config.update`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - One model in three ways: the same bits in loss, gradients and weights, because they run the same operations.
# - Eager code needs the fewest words and calls Python at each step; a session asks you to know the most; tracing adds
#   one word, and rules. Graphs are data, and can be sent.
# - Memory was about the same. A static graph's is planned and kept; in eager mode it comes and goes.
# - Shape errors come at their line in all three. Where a value is wrong, the traceback says who ran the graph, and the
#   message who built the node. Trap, probe, `mg.print` and running eagerly are the tools.
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
