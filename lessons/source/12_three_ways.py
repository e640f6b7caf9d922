# ---
# jupyter:
#   minigrad:
#     title: Three ways to run one model
#     minutes: 30
#     objectives:
#       - write one training step in eager mode, in a session and traced, and show that all three give the same bits
#       - compare the three by what can be counted, in calls of Python and in nodes
#       - find the line at fault in each of them, when a value is wrong
#       - choose one of the three for a job, and say why
#     concepts: [C9, C10]
#     builds_on: [11_tracing]
#     widgets: [GraphView, Predict, Quiz]
#     terms:
#       boilerplate: lines that a program needs only because of the way it is run, and that say nothing about what it
#         computes
#       probe: something attached to a value of a graph, which records that value at every run
#       NaN trap: a way to run a graph operation by operation, which stops at the first that makes a NaN or an infinity
#         out of finite numbers
#       deployment: bringing a trained model to where it is used, often without the Python program that wrote it
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 12 Three ways to run one model
#
# In 2019 TensorFlow changed its mind. Until then you had to build a graph and run it in a session; from version 2 on,
# each line computes at once, as in PyTorch. Programs all over the world were rewritten, because somebody had chosen a
# way to run them before the first line was written. You will have to choose as well. **Which way should you take?**
#
# You know three. In eager mode a graph grows at every run (lesson 08). In a session you run a static graph that you
# built line by line (09, 10). And a traced Python function leaves a static graph behind (11). Each way has people who
# swear by it, and their opinions fill the internet. We need no opinions: one engine does all three, so we can train the
# same name network in each way, and count.
#
# **About 30 minutes.** Afterwards you can
#
# - write one training step in eager mode, in a session and traced, and show that all three give the same bits;
# - compare the three by what can be counted, in calls of Python and in nodes;
# - find the line at fault in each of them, when a value is wrong;
# - choose one of the three for a job, and say why.
#
# The sections called *Further* are optional.
#
# **Builds on** [11 Tracing](11_tracing.ipynb), and on the two ways before it. What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask for a show of hands for "the fastest", "the shortest" and "the easiest to debug", and write the votes
# on the board. Compare them with the table at the end.

# %% slideshow={"slide_type": "skip"}
import re
import textwrap
import traceback

import numpy as np

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, in_turns, one_thread, reveal
from minigrad.widgets import GraphView

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The model, written once
#
# This is the name network of lesson 08, for many names at a time: the 191 names that have six letters. Their letters
# are an array of 6 rows, with a column for each name, and the state has a row for each name. The formulas are in one
# function, `model`, because an operation does not care whether it gets tensors or placeholders. `letters.unbind()` is a
# Python tuple of the six rows, so Python's `for` can go through it in all three ways. Each call of `model` leaves a
# note in `python_calls`, which we count later.

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
six = [(name, label) for name, label in names.train if len(name) == 6]
columns = np.array([[LETTERS.index(letter) for letter in name] for name, _ in six]).T
data = columns, np.array([label for _, label in six])

rng = np.random.default_rng(0)
start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]  # E, W and V


python_calls = []


def model(letters, label, E, W, V):
    python_calls.append("model")
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = (E[letter] + state @ W).tanh()
    return mg.cross_entropy(state @ V, label)


# %% [markdown] slideshow={"slide_type": "skip"}
# ### One: eager
#
# Each of the three programs takes the formulas, the data, a number of steps and the first weights. It returns the
# losses, the trained weights, and what it has built. Here Python runs through all of it at every step.


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
# Everything is a node: the inputs, the weights, the training step, and even the op that gives the weights their first
# values.


# %%
def in_session(model, data, steps, start=start, **options):
    graph = mg.Graph()
    with graph.as_default():
        fed = [mg.placeholder("int64", array.shape) for array in data]
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
# This is the eager training loop, but the step is a function of its own, with one word above it.


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


# %% [markdown]
# Lines that a program needs only because of the way it is run, and that say nothing about what it computes, are
# **boilerplate**. The session has the most of it, and asks you to *know* the most: a graph, a block to be in,
# placeholders, variables, an initializer. Tracing costs one word more than eager code, and a few
# rules that you cannot see in the program (lesson 11).

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes for the three programs. Do not read them aloud. Ask where the weights live in each, where the gradient is
# asked for, and which line is executed 100 times. Leave the three side by side on the board.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same numbers?
#
# The eager program walks back through a graph that it has just recorded. The other two simplify a graph, and run a
# program that was compiled from it. We train 100 steps in each way, from the same first weights. How well will the
# three agree at the end? You cannot know, so guess.

# %%
Guess("agreement", "After 100 steps the three agree to …", options=["3 digits", "12 digits", "the last bit"])

# %%
ways = {"eager": eager, "session": in_session, "traced": traced}
results, calls = {}, {}
for name, way in ways.items():
    python_calls.clear()
    results[name] = way(model, data, 100)
    calls[name] = len(python_calls)
numbers = {name: np.concatenate([losses, *map(np.ravel, w)]) for name, (losses, w, _) in results.items()}
differing = {name: int((values != numbers["eager"]).sum()) for name, values in numbers.items()}
reveal("agreement", "12 digits" if any(differing.values()) else "the last bit")

# %%
for name, values in numbers.items():
    print(f"{name:10}  loss {values[0]:.6f} → {values[99]:.6f}   {differing[name]} of {len(values)} numbers differ")

# %% [markdown] slideshow={"slide_type": "fragment"}
# To the last bit, in all 100 losses and 1368 weights. A difference in the sixteenth digit had 100 steps in which to
# grow, and there is none. This is not luck: all three run the *same operations*, and by default minigrad's compiler
# makes only changes that leave every bit alone. So here the way you take makes no difference to the result, as long as
# the model is made of operations. What differs is the effort, and that is what we count in this lesson.

# %% [markdown] slideshow={"slide_type": "notes"}
# Most people say 12 digits, from experience with other frameworks on a GPU, where that is a fair guess. Ask what must
# be true for bits to be equal: the same operations, on the same operands, and each sum taken in the same order.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: what it takes to write

# %% [markdown] slideshow={"slide_type": "skip"}
# We count the lines of each program, and the different words of the engine that its author had to know.

# %%
import inspect


def count_lines_and_words(way):
    """The number of lines of a program, and the names of the engine that stand in it."""
    lines = [line for line in inspect.getsource(way).splitlines() if line.strip()]
    return len(lines), sorted(set(re.findall(r"mg\.[\w.]+", inspect.getsource(way))))


for name, way in ways.items():
    lines, words = count_lines_and_words(way)
    print(f"{name:10} {lines:3} lines, {len(words)} words: {', '.join(words)}")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: where the bits differ

# %% [markdown] slideshow={"slide_type": "skip"}
# Equal bits are a promise of minigrad's default, and not a law. `torch.compile` and XLA make no such promise. minigrad
# does not make it either with `jit_compile=True`, which lets the compiler add in another order. Here are the gradients
# of the first step, computed in eager mode and with `jit_compile=True`.

# %% slideshow={"slide_type": "skip"}
tensors = [mg.tensor(w, requires_grad=True) for w in start]


def gradients(*weights):
    return mg.grad(model(*map(mg.tensor, data), *weights), weights)


exact, fast = gradients(*tensors), mg.function(gradients, jit_compile=True)(*tensors)
for name, a, b in zip("EWV", exact, fast):
    difference = abs(a.numpy() - b.numpy()).max()
    print(f"gradient of {name}: length {np.linalg.norm(a.numpy()):.6f}; within 0.000000000001: {difference < 1e-12}")
print("jit_compile=True: equal bits:", all(mg.equal(a, b) for a, b in zip(exact, fast)))

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Calls and nodes
#
# How often has Python called `model` in these 100 steps? And how many nodes were made?

# %%
letters, label = map(mg.tensor, data)
loss, graph, step = (results[name][2] for name in ways)
nodes = (
    100 * len(mg.compiler.toposort(loss.node)),
    len(graph.get_operations()),
    len(step.graph_for(letters, label).nodes),
)
for name, made in zip(ways, nodes):
    print(f"{name:10}  calls of model in 100 steps: {calls[name]:3};  nodes made: {made:5,}")

# %% [markdown]
# 100 calls in eager mode, and one in each of the other two. In eager mode 38 nodes are recorded at each step, and
# dropped again. These 38 are the forward pass alone: eager backward walks over them and records nothing. The other two
# graphs hold the forward pass, the gradients and the update, and they are made once.
#
# That has a consequence outside this notebook. All that a run needs is the graph, and the values of its variables. Both
# are data: you can write them to a file and send them to a phone that has no Python. This is called **deployment**.
# With eager code you would have to send the program, and a Python to run it.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Inside the trace
#
# Look around in the trace. Where does the loss leave the graph? Which boxes are the updates of the three weights? (Look
# for a `+` that has the shape of a weight, and that reads a product with `lr`.)

# %%
GraphView(step)

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. "100, 1, 1" is the row to remember. Ask: a colleague wants the trained model in a web page. What do you
# send in each of the three cases?

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: bytes

# %% [markdown] slideshow={"slide_type": "skip"}
# A compiler that sees the whole graph can plan its memory. An eager step takes memory as it goes. How do their peaks
# compare? We repeat the names a hundred times, which makes 19,100 columns, and measure in *states*: one state is
# 19,100 × 24 numbers.

# %% slideshow={"slide_type": "skip"}
import tracemalloc

many = tuple(np.tile(array, 100) for array in data)
STATE = 19_100 * 24 * 8


def measure_states(way, data, steps=3):
    """The most memory that a run takes, and the memory that it still holds at the end, in states."""
    tracemalloc.start()
    result = way(model, data, steps)  # named, so that what was built is still there when we look
    end, peak = (taken / STATE for taken in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    return peak, end, result


peaks = {}
for name, way in ways.items():
    peaks[name], end, _ = measure_states(way, many)
    print(f"{name:10}  peak about {round(peaks[name], -1):.0f} states; more than two at the end: {end > 2}")

# %% [markdown] slideshow={"slide_type": "skip"}
# About the same, all three. No plan can drop what backward will read, and in this network that is every state. What
# differs is the memory that is still held at the end. In eager mode memory comes and goes. A compiled program keeps the
# memory in which it works for the next call, and there is a program for each shape. So its memory is the same at every
# call, and known before the first; the memory of an eager step follows the input. Lesson 14 looks at names of all
# lengths.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: seconds

# %% [markdown] slideshow={"slide_type": "skip"}
# Last, time. We want to leave out the building of the graphs, so we time many steps and few, and take the difference.
# Then we time the first step alone. A clock also counts whatever else this machine is doing. So the three take turns
# for several rounds, and where the rounds disagree, the line says *somewhere between*: then this run cannot tell. What
# do you expect of ten names, and of 3820?


# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
from functools import partial


def seconds(data, steps):
    """The seconds that each of the three ways takes."""
    with one_thread:  # small products: several threads would mostly wait for each other
        return in_turns(rounds=3, **{name: partial(way, model, data, steps) for name, way in ways.items()})


ten = tuple(array[..., ::19][..., :10] for array in data)  # from all languages
first = seconds(ten, 1)
for some, more in ((ten, 30), (tuple(array[..., :3820] for array in many), 3)):
    few = first if some is ten else seconds(some, 1)
    all_steps = seconds(some, 1 + more)
    later = {name: all_steps[name] - few[name] for name in ways}
    speeds = (f"{name} {later['eager'] / later[name]:.1f}×" for name in ("session", "traced"))
    print(f"{len(some[1]):6} names:", "; ".join(speeds), "as fast as eager")
print("the first step:", "; ".join(f"{name} {first[name] / first['eager']:.0f}×" for name in ways), "as long")

# %% [markdown] slideshow={"slide_type": "skip"}
# With ten names overhead is most of a step, and on most quiet machines the two graphs are two to five times as fast.
# With 3820 names arithmetic is most of it, and there is little left to gain. The first step of the two graphs takes
# many times as long as the eager one. Lesson 15 asks how many calls it takes to pay that back, and when it is never
# paid back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A NaN, in three ways
#
# **Where it breaks.** A *shape* that does not fit is no harder to find in a graph than in eager code: it is checked
# when the node is built, and at that moment Python stands at your line. The mistakes to fear are in the *values*.
#
# A colleague prefers relu, and writes the cross-entropy out: a probability is e to the power of a score, divided by the
# sum of these over all languages, and the loss is minus the logarithm of the right language's probability. (`gather`
# takes it out of each row.) Also, one row of E was typed without its decimal points, so it is ten thousand times too
# large.


# %% slideshow={"slide_type": "skip"}
def find_error(way, *args, **options):
    """Run a program that fails, and return our lines of its traceback, and its message."""
    try:
        way(*args, **options)
    except (ValueError, ArithmeticError) as error:
        engine = re.compile(f"{re.escape(mg.__path__[0])}|<(?!ipython)")  # as a browser calls a notebook's cells
        frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if not engine.match(f.filename)]
        lines = textwrap.indent("\n".join(dict.fromkeys(f.line for f in frames)), "    ")
        return lines, textwrap.fill(f"{type(error).__name__}: {error}", 110) + "\n"
    return "", "No error: in a browser NumPy is not told of an overflow, nor of a division by zero, and cannot raise.\n"


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
    print(*find_error(eager, careless, data, 1, typed), sep="\n")

# %% [markdown] slideshow={"slide_type": "subslide"}
# The losses are NaN, *not a number*, in all three, and no error says so. In the last two lines of the cell we asked
# NumPy to raise an error instead. In eager mode that is enough: the line that computes is the line that you wrote,
# `mg.exp`. (In 64 bits e to the power of a score above 709 is infinite, and ∞/∞ is NaN.)
#
# Now the same in a session. There the graph was built long before it runs. Where will the line with `mg.exp` be named?

# %%
Predict("NaN in a session", "Where is it named?", options=["in the traceback", "in the message", "in neither"])

# %%
with np.errstate(over="raise"):
    errors = [find_error(way, careless, data, 1, typed) for way in (in_session, traced)]
reveal("NaN in a session", "in the traceback" if "mg.exp" in errors[0][0] else "in the message")

# %% tags=["nbval-ignore-output"]
for lines, message in errors:
    print(lines, message, sep="\n")

# %% [markdown]
# The traceback leads to the line that *ran* the graph, `session.run` or `step(letters, label)`, and that line is
# innocent. But read the message to its end. A node remembers where it was *built*: *built at Cell In[…], line 5, in
# careless*. The message also names the operation and the range of what it read: scores of more than two thousand. **The
# traceback says who ran it, the message says who built it.** Look up that cell and that line.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Tools for a graph
#
# - A **NaN trap** runs a graph operation by operation, and stops at the first one that makes a NaN or an infinity. It
#   is slow, so you switch it on when something is wrong.
# - A **probe** records a value at every run that computes it. It shows *which* names are to blame.
# - `mg.print` prints at every run; Python's `print` prints only during the trace.
# - Inside `run_functions_eagerly` every traced function runs as plain Python. Tracebacks lead to the right line again,
#   and breakpoints work.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for the NaN. Let somebody find the cell on the screen from the message alone. People who used TensorFlow 1
# will remember pages of traceback. The line was there, at the very end.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the tools at work

# %% [markdown] slideshow={"slide_type": "skip"}
# The trap first. For traced functions it is a `with` block.

# %% tags=["nbval-ignore-output"]
print(*find_error(in_session, careless, data, 1, typed, trap_nan=True), sep="\n")
with mg.graph.trap_nan():
    print(*find_error(traced, careless, data, 1, typed), sep="\n")

# %% [markdown] slideshow={"slide_type": "skip"}
# Read it like this: exp got numbers from −2733 to 2455. Of its results, 21 are infinite, and the largest finite one has
# 300 digits.
#
# Now we know the operation. Which *names* are to blame? A probe tells. The same line works in all three ways.


# %% slideshow={"slide_type": "skip"}
def probed(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = mg.relu(E[letter] + state @ W)
    scores = state @ V
    probes.append(mg.probe(scores))
    e = mg.exp(scores)
    return -mg.log((e / e.sum(1, keepdim=True)).gather(1, label[:, None])).mean()


for name, way in ways.items():
    probes = []
    with np.errstate(all="ignore"):
        way(probed, data, 3, typed)
    scores = probes[0].values[0]
    print(f"{name:10}  probes {len(probes)}, with {len(probes[0].values)} values; names with a score above 709:")
    print("           ", *(six[i][0] for i in np.flatnonzero(scores.max(axis=1) > 709)))

# %% [markdown] slideshow={"slide_type": "skip"}
# What do these ten names have in common? A z. We have found the row of E. And look at the counts: in eager mode each of
# the three steps made a probe of its own, with one value. In a graph a single probe saw all three steps.
#
# Last, `mg.print`, and going back to eager:


# %% tags=["nbval-ignore-output"]
@mg.function
def fraction(score):
    print("Python has:", score)
    p = 1 / (1 + mg.exp(-score))
    mg.print("the graph has:", p)
    return mg.log(1 - p)


with np.errstate(divide="raise"):
    fraction(mg.tensor(3.0))
    print(*find_error(lambda: fraction(mg.tensor(40.0))), sep="\n")
    with mg.graph.run_functions_eagerly():
        print(*find_error(lambda: fraction(mg.tensor(40.0))), sep="\n")

# %% [markdown]
# First the traced function: Python's line came once, without a number, and the graph's line came with one. At the end,
# run eagerly, both lines have numbers, and the traceback ends at `mg.log(1 - p)`. (How do we cure `careless`? We mend
# the row of z, and we use `mg.cross_entropy`, as `model` does. It subtracts the largest score from all of them before
# it raises e to them.)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the same slip, three times

# %% [markdown] slideshow={"slide_type": "skip"}
# Somebody has swapped V and the state. In all three programs the traceback leads to the line `scores = V @ state`. In
# the session the error comes even before the first name is fed.


# %%
def swapped(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():
        state = (E[letter] + state @ W).tanh()
    scores = V @ state
    return mg.cross_entropy(scores, label)


for way in ways.values():
    print(*find_error(way, swapped, data, 1), sep="\n")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a frozen random number

# %% [markdown] slideshow={"slide_type": "skip"}
# The three give the same bits as long as `model` is made of operations. `noisy` is not: to make training more robust,
# it asks Python for a random number at each call, and shifts E by it. In 10 steps, how many different random numbers
# does the traced program use?

# %%
for name, way in ways.items():
    shifts, dice = [], np.random.default_rng(0)

    def noisy(letters, label, E, *others, shifts=shifts, dice=dice):
        shifts.append(dice.normal(0, 0.1))
        return model(letters, label, E + shifts[-1], *others)

    losses = way(noisy, data, 10)[0]
    print(f"{name:10}  {len(shifts):2} random numbers, last loss {losses[-1]:.4f}")

# %% [markdown]
# No error, and another result. In the graphs the first number has become a constant, so E is shifted by the same amount
# at every step. To find such a fault, compare with an eager run, as we did here. The way out is an operation that
# draws, such as `mg.randn`. It draws at every run, and after the same `mg.manual_seed` it draws the same numbers
# eagerly and traced.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which one, then?
#
# Which of the three wins?
#
# | in 100 steps | eager | session | traced |
# |---|---|---|---|
# | words of the engine to know | 2 | 6 | 3 |
# | calls of `model` | 100 | 1 | 1 |
# | nodes made | 3,800 | 179 | 168 |
# | what names the line of a NaN | the traceback | the message | the message |
# | runs without Python | no | yes | yes |

# %% [markdown]
# (An optional section above counts the words of the first row.) None of them wins the whole table. So the answer to
# the question of this lesson is: it depends on what you do *next*. Fill in the last column before you unfold our
# answer.
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
# people today write eager code and trace what works: TensorFlow 2, JAX and PyTorch have all ended up there.
# </details>

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. A rule of thumb to leave on the board: develop in eager mode, trace when it works, and when a traced
# function breaks, run it eagerly first. The trap and the probe are for what you cannot run that way.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("12_three_ways")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
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
# A word about a word. You will read that TensorFlow 1 built its graph *dynamically*, because a Python program put it
# together while it ran. That is a misunderstanding. The graph was complete before the first number flowed, and every
# run used that graph: it was static, like that of our second program. *Dynamic* means that the run that computes also
# builds the graph, so that the next run may build another one. That is our first program.
#
# TensorFlow 1 named the line of a failing node, too, below pages of traceback through its own code. Much of the bad
# reputation of graphs comes from there: the line was not missing, but nobody scrolled down to it.
#
# PyTorch's anomaly detection looks at the backward pass, the others at each operation. `jax_debug_nans` is set by
# `jax.config.update`.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in PyTorch
#
# Loss and gradient have the same bits in three ways: eagerly, from a graph of `torch.fx`, and from `torch.compile` with
# a backend that runs the same operations. (The default backend writes programs of its own, and promises no bits.)


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def three_ways_in_pytorch(torch):
    """
    the graph gives the same bits:     True
    torch.compile gives the same bits: True
    """

    def loss_of(x, w):
        return (x @ w).tanh().square().mean()

    torch.manual_seed(0)
    x, start = torch.randn(3, 4), torch.randn(4, 3)
    graph, compiled = torch.fx.symbolic_trace(loss_of), torch.compile(loss_of, backend="eager")
    results = []
    for f in (loss_of, graph, compiled):
        w = start.clone().requires_grad_()
        loss = f(x, w)
        loss.backward()
        results.append(torch.cat([loss.detach().reshape(1), w.grad.flatten()]))
    print("the graph gives the same bits:    ", torch.equal(results[0], results[1]))
    print("torch.compile gives the same bits:", torch.equal(results[0], results[2]))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - One model in three ways gives the same bits, because all three run the same operations.
# - Eager code needs the fewest words, and calls Python at each step. A session asks you to know the most. Tracing adds
#   one word, and rules. Graphs are data, so you can send them.
# - Where a value is wrong, the traceback says who ran the graph, and the message who built the node. Trap, probe,
#   `mg.print` and running eagerly are the tools.
#
# **Sources.** M. Abadi and others, *TensorFlow: a system for large-scale machine learning*, OSDI 2016: graphs first,
# and why. A. Paszke and others, *PyTorch: an imperative style, high-performance deep learning library*, NeurIPS 2019:
# the case for running. A. Agrawal and others, *TensorFlow Eager: a multi-stage, Python-embedded DSL for machine
# learning*, MLSys 2019: both in one, by tracing. R. Frostig, M. Johnson, C. Leary, *Compiling machine learning programs
# via high-level tracing*, SysML 2018: the same for JAX.
#
# **Exercise.** [12 One model, three ways](../exercises/12_three_ways.ipynb): count, translate, and hunt a NaN.
#
# **Next:** [13 Optimising a graph](13_optimising_a_graph.ipynb): what a compiler can do to a graph that it sees whole.
