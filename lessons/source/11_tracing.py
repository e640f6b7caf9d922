# ---
# jupyter:
#   minigrad:
#     title: Tracing
#     minutes: 45
#     objectives:
#       - say when Python runs and when the graph alone does, and predict how often a function is traced
#       - choose between a Python number and a tensor as argument, and say unknown lengths in a signature
#       - find the side effects of a function that will happen once, and write them so that they happen at every call
#       - read what AutoGraph makes of an if or a loop, and what its errors say
#     concepts: [C6, C7, C8]
#     builds_on: [10_control_flow_in_graphs]
#     widgets: [GraphView, StaticVsDynamic]
#     terms:
#       tracing: running a Python function once on symbols without values, to write what it computes down as a graph
#       signature: what it is about the arguments that tells one call of a traced function from another, and so decides
#         which graph the call needs
#       retracing: tracing a function once more, because a call has a signature that was not met before
#       side effect: what a function does besides computing its result, such as printing or counting
#       captured: of a tensor, read by a graph without being one of its arguments; its value is looked up at each run
#       AutoGraph: the step that rewrites Python's if, while and for, so that they work on tensors of a graph
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 11 Tracing
#
# > `5 out of the last 5 calls to <function scores at 0x…> triggered tf.function retracing. Tracing is expensive and the
# > excessive number of tracings could be due to […] (2) passing tensors with different shapes, (3) passing Python
# > objects instead of tensors.`
#
# This is TensorFlow's warning, in a training run that gets slower and slower. What is tracing, and what is wrong with
# Python objects?
#
# Lesson 10 brought the 700 graphs of the names down to one, at a price: a placeholder for the letters, a session, a
# function for each decision. In lesson 08 the network was four lines of Python. **Can one write ordinary Python, and
# get the graph?** One word in front of the function does it. It has a consequence, which is the subject of this lesson:
# from then on Python runs only at *some* of the calls.
#
# **About 45 minutes.** Afterwards you can
#
# - say when Python runs and when the graph alone does, and predict how often a function is traced;
# - choose between a Python number and a tensor as argument, and say unknown lengths in a signature;
# - find the side effects of a function that will happen once, and write them so that they happen at every call;
# - read what AutoGraph makes of an `if` or a loop, and what its errors say.
#
# **Builds on** [10 Control flow in graphs](10_control_flow_in_graphs.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% slideshow={"slide_type": "skip"}
import random
import textwrap
import warnings
from collections import Counter

import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, in_turns, reveal
from minigrad.graph.autograph import beside
from minigrad.core.node import toposort
from minigrad.widgets import GraphView, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One word
#
# The word is `@mg.function`. This function notes each time that Python goes through it. We call it three times, with
# different numbers each time. How many entries will `ran` have?

# %%
ran = []


@mg.function
def f(x):
    ran.append("Python was here")
    return (x * x + 1).sum()


Predict("Python ran", "How many entries will the list ran have after three calls?")

# %%
for x in ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 5.0]):
    print(f(mg.tensor(x)).item(), ran, "traces:", f.trace_count)
reveal("Python ran", len(ran))

# %% [markdown]
# Three right results, and Python was there for the first. At the first call the function ran on a symbol, like the
# placeholders that you know; each op wrote a node down. This is called **tracing**. Then the graph was run with the
# numbers, at this call and at all later ones. The graph is kept with the function, and `f.trace_count` says how often
# the function was traced.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. The whole lesson follows from this cell. Whoever predicted 3 has a picture of a decorator that wraps
# each call; draw two lanes on the board, "trace" and "run", and keep them there until the end.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which calls share a graph?
#
# A graph is made for inputs of one shape and one dtype. So the **signature** of a call consists of the dtype and shape
# of each tensor or NumPy array, and whether it requires a gradient; of the value of everything else; and of how lists
# and dictionaries are nested. If a call has a signature that was met before, its graph is there already. If not, the
# function is traced again: **retracing**. We go on with the same `f`. It has been traced once, for f64[3]. How often
# will it have been traced after these five calls?

# %%
calls = {
    "three ones": mg.ones(3),
    "three twos": mg.ones(3) * 2,
    "four ones": mg.ones(4),
    "three ones, float32": mg.ones(3, dtype=mg.float32),
    "a NumPy array": np.ones(3),
}
Predict("five calls", "What will f.trace_count be after these five calls?")

# %%
for name, x in calls.items():
    f(x)
    print(f"{name:20} traced {f.trace_count} times so far")
reveal("five calls", f.trace_count)

# %% [markdown]
# Other *numbers* are no reason to trace again; another shape is, and so is another dtype. You need not guess:
# `explain()` gives a reason for each trace. It says much more, which is for a later lesson; here we look at a few of
# its lines.


# %%
def story(f):
    begins = ("trace", "  arguments", "  captured", "  changes", "  effects", "  control")
    print(*(line for line in f.explain().splitlines() if line.startswith(begins)), sep="\n")


story(f)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A number is not a tensor
#
# Think of a learning rate that falls from step to step. We call `step` with the rates 0.3, 0.2 and 0.1: first as Python
# numbers, then as tensors. How many traces do the first three calls make?


# %%
@mg.function
def step(w, rate):
    return w - rate * w


Predict("three rates", "How many traces do the three calls with Python numbers make?")

# %%
for rate in (0.3, 0.2, 0.1):
    step(mg.ones(2), rate)
numbers = step.trace_count
for rate in (0.3, 0.2, 0.1):
    step(mg.ones(2), mg.tensor(rate))
print(f"Python numbers: {numbers} traces; tensors: {step.trace_count - numbers}")
reveal("three rates", numbers)

# %% [markdown]
# A Python number is written *into* the graph, as a constant; so another number needs another graph. A tensor is an
# input. Neither is wrong. A number that decides the form of the graph, such as the number of layers, *should* be a
# Python number. One that changes from call to call should be a tensor. `graph_for` gives the graph that a call with
# these arguments runs: here it is for 0.3. (For a tensor, the leaf `rate` stands where 0.3 does.)

# %%
mg.draw(step.graph_for(mg.ones(2), 0.3))

# %% [markdown] slideshow={"slide_type": "notes"}
# "A Python number never retraces" is the costliest belief about tf.function and its kind: training gets slower and
# slower, and nobody sees why. JAX is the exception in the room: its jit turns numbers into arguments. Say so if asked.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What happens once
#
# A **side effect** is what a function does besides giving a result. Here are five: a count, a list, a random number
# from Python, one from minigrad, and a print that goes into the graph. We call it three times, with 10, 20 and 30.
# What will `tally["calls"]` be?

# %%
tally, log = Counter(), []


@mg.function
def busy(x):
    tally["calls"] += 1
    log.append(x)
    mg.print("   in the graph: x is", x)
    return random.random(), mg.rand(())


Predict("tally", "What will tally['calls'] be after three calls?")

# %%
random.seed(0)
mg.manual_seed(0)
for number in (10.0, 20.0, 30.0):
    python, minigrad = busy(mg.tensor(number))
    print(f"tally {tally['calls']}, log of {len(log)}, random: Python's {python:.3f}, minigrad's {minigrad.item():.3f}")
reveal("tally", tally["calls"])

# %% [markdown]
# What Python does was done while tracing: it counted to 1, appended once, and rolled its die once; the number that came
# up is in the graph for ever. An *op* happens at every run: `mg.print` is one, and so is `mg.rand`. It is the same with
# `time.time()`, with reading a file, with everything that Python does by itself; and the same in TensorFlow and JAX.
# `torch.compile` repeats at each call what it can see of this (see the table at the end of the lesson).

# %% [markdown] slideshow={"slide_type": "notes"}
# Let them sort more effects into the two lanes: print, time.time(), np.random.rand(), opening a file, dropout of
# mg.nn. The rule: is it an op, or is it Python?

# %% [markdown] slideshow={"slide_type": "subslide"}
# See it line by line. The widget calls `told` eagerly, on the left, and traces it, on the right. Go through the first
# input, then through the second, and compare what each side *prints*: where does the line "Python says" appear, and
# where is it missing?


# %%
def told(x):
    print("Python says: called")
    y = x * 2
    mg.print("the graph says:", y)
    return y + 1


StaticVsDynamic(told, cases=[(mg.tensor(1.0),), (mg.tensor(5.0),)])

# %% [markdown] slideshow={"slide_type": "subslide"}
# In eager mode the line appears for both inputs. On the right it appears for the first, while the function is traced.
# For the second there is a graph already, and all that is left is what `mg.print` prints. And the list `log` from
# above? Its one entry is what `x` was while `busy` was traced: a symbol. It is of no use now, and says so.

# %%
try:
    log[0] + 1
except mg.errors.GraphError as error:
    print(textwrap.fill(str(error), 100))

# %% [markdown]
# Whatever should happen at each call has to be made of ops. The count becomes a tensor that is edited in place, because
# that is an op, too; whatever should be kept is returned.

# %%
seen = mg.tensor(0)


@mg.function
def counted(x):
    seen.add_(1)
    return x * 2


kept = [counted(mg.tensor(number)).item() for number in (10.0, 20.0, 30.0)]
print(f"seen: {seen.item()}, traces: {counted.trace_count}, kept: {kept}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What is read from outside
#
# `affine` reads two names that are not arguments: `w`, a tensor, and `b`, a Python number. After the first call both
# change: 10 is written into the tensor, and `b` becomes 100. What does the second call give?

# %%
w, b = mg.tensor(2.0), 1.0


@mg.function
def affine(x):
    return w * x + b


print("first call:", affine(mg.tensor(3.0)).item())
Predict("outside", "First w = 2, b = 1 gave 7. What is affine(3) when w holds 10, and b is 100?")

# %%
w.fill_(10.0)
b = 100.0
second = affine(mg.tensor(3.0)).item()
story(affine)
reveal("outside", second)

# %% [markdown]
# 10 × 3 + 1. The tensor is **captured**: the graph has an input that looks into it at every run, and sees what was
# written there. This is how the parameters of a layer are read, and trained. The number 1 was copied into the graph.
# One question is left. We give the *name* `w` to another tensor, which holds 1000. What does a third call give?

# %%
w = mg.tensor(1000.0)
affine(mg.tensor(3.0)).item()

# %% [markdown]
# 1000 × 3 + 100. The graph still holds the old tensor. But before each run the function checks whether its names still
# stand for the same tensors, and traces again if not. Python runs once more, and this time it reads 100 for `b`.

# %% [markdown] slideshow={"slide_type": "notes"}
# The last cell surprises the experienced most: TensorFlow and JAX keep the old one without a word. Numbers are copied
# silently; tensors, modules, and what modules hold are checked. Still, write into a tensor (`fill_`, `copy_`, a step
# of an optimiser), or pass it as an argument: a trace for each new tensor is slow.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `if` again: AutoGraph
#
# In lesson 10 such a function was an error, because Python's `if` asked a symbol for its truth. When it is traced, it
# works. What became of the `if`? **AutoGraph** read the source of the function and wrote another function, which is the
# one that was traced. Below, the source is on the left and the generated function on the right; the numbers on the
# right are those of the lines on the left.


# %%
def bent(x):
    if x > 0:
        y = x * x
    else:
        y = mg.exp(-x)
    return y + 1


print(beside(bent))

# %% [markdown]
# Each branch has become a function, as you would have written it for `mg.cond`; `nonlocal y` says that the y in it is
# the y of `bent`. `ag.if_` looks at the condition. If that is a symbol, `ag.if_` builds a `cond`; if it is a Python
# truth value, `ag.if_` does what Python's own `if` does. One trace serves both ways:

# %%
traced = mg.function(bent)
print([round(traced(mg.tensor(number)).item(), 3) for number in (3.0, -1.0)], "traces:", traced.trace_count)
GraphView(traced, mg.tensor(3.0))

# %% [markdown]
# The rest of the generated lines is housekeeping: `ag.Undefined` stands for a name without a value yet, and through the
# `lambda` and `set_2` both branches start with the same y. (A `return` in a branch, as lesson 10 had it, is rewritten
# as well.) A `while` on a tensor becomes a `while_loop`: the names that a turn assigns are the carries. Here is the
# road of lesson 10, in plain Python:


# %%
@mg.function
def collatz(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


print([collatz(mg.tensor(number)).item() for number in (6, 27, 97)], "traces:", collatz.trace_count)

# %% [markdown] slideshow={"slide_type": "notes"}
# The rule for every construct: what Python can decide while tracing, Python decides, and it leaves no trace of itself.
# Only what depends on a tensor becomes a node. Ask: `if training:` with a Python bool? It vanishes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The names, in plain Python
#
# Now the network of lesson 08: `scores` is what it was there, four lines, with its `for`. We trace it, and read all 700
# names, each as a tensor of its letters. How many traces will there be?

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
weights = [mg.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in ((26, 24), (24, 24), (24, 7))]


def spelled(name):
    return [LETTERS.index(letter) for letter in name]


def scores(letters, E, W, V):
    state = mg.zeros(1, 24)
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
    return state @ V


Predict("traces for 700 names", "How many traces do 700 names make, as tensors of letters?")

# %%
traced = mg.function(scores)
for name, _ in names.train:
    traced(mg.tensor(spelled(name)), *weights)
reveal("traces for 700 names", traced.trace_count)

# %%
GraphView(traced, mg.tensor(spelled("yui")), *weights)

# %% [markdown] slideshow={"slide_type": "subslide"}
# One trace for each length: ten, for the ten shapes of lesson 08. And the graph that we wrote by hand in lesson 10 now
# comes from the `for`: where it goes over a tensor, AutoGraph makes a loop node. What if it goes over a Python list?
# Here are the first thirty names once more, each as a *list* of Python numbers.


# %%
def kinds(graph):
    return [node.op.kind for node in graph.nodes if node.inputs]


by_list = mg.function(scores)
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    for name, _ in names.train[:30]:
        by_list(spelled(name), *weights)
print("thirty names as lists:", by_list.trace_count, "traces")
print("ops for yui, as a list:", ", ".join(kinds(by_list.graph_for(spelled("yui"), *weights))))
print("ops for yui, as a tensor:", ", ".join(kinds(traced.graph_for(mg.tensor(spelled("yui")), *weights))), "\n")
print(textwrap.fill(str(heard[0].message), 100))

# %% [markdown]
# A trace for each name, and no loop in any of them: Python ran it while tracing, letter by letter, and each letter is
# written into the graph. All 700 names would be 700 graphs, as in lesson 08, and each of them costs more, because
# tracing is work. The warning comes at the fifth trace in a row; it is the one from the top of this page, in our words.
#
# At the other end is *one* graph. Say what is known about the argument, and `None` for a length that is not known: then
# there is one trace, whatever comes. (A single number has the shape `()`, and where the signature asks for a tensor, a
# Python number is turned into one. That helps with the falling rate.)


# %%
@mg.function(input_signature=[mg.TensorSpec((None,), "int64")])
def read(letters):
    return scores(letters, *weights)


@mg.function(input_signature=[mg.TensorSpec((None,)), mg.TensorSpec(())])  # float64, where no dtype is said
def any_step(w, rate):
    return w - rate * w


for name in ("oluwatobiloba", *(name for name, _ in names.train)):
    read(mg.tensor(spelled(name), mg.int64))
for rows, rate in ((2, 0.3), (2, 0.2), (5, mg.tensor(0.1))):
    any_step(mg.ones(rows), rate)
print("traces of read:", read.trace_count, "  traces of any_step:", any_step.trace_count)
try:
    read(mg.tensor([spelled("yui")], mg.int64))
except mg.errors.ShapeError as error:
    print(textwrap.fill(str(error), 100))

# %% [markdown]
# 701 names, with thirteen letters or three, and one trace. A signature is a promise that works both ways: there is one
# graph, and whoever brings something else is told so.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Gradients pass through
#
# We ask for the loss of *katarzyna*, who is Polish, and its gradients, eagerly and traced. Eagerly each letter leaves
# its ops behind for backward. What does the traced call leave?

# %%
letters, label = mg.tensor(spelled("katarzyna")), [names.languages.index("Polish")]
for name, way in {"eager": scores, "traced": traced}.items():
    y = way(letters, *weights)
    left = sum(1 for node in toposort(y.node) if node.inputs)
    loss = mg.cross_entropy(y, label)
    lengths = [round(float(np.linalg.norm(g)), 6) for g in mg.grad(loss, weights)]
    print(f"{name}: loss {loss.item():.6f}, lengths of the gradients {lengths}, ops left for backward: {left}")

# %% [markdown]
# From outside, a traced call is *one* op, whose backward is a graph of its own. The two ops here are the call, and the
# part of its results that we took. So traced and untraced code can be mixed, and a whole training step may be one
# traced function: lesson 12 writes one such step in three ways.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ## What it cost, and what it saves
#
# Tracing is work: Python runs on symbols, AutoGraph generates code, the graph is compiled. We measure the first call, a
# later call and an eager one, all for the scores of *katarzyna*. They take turns, for several rounds; where the rounds
# disagree the line says *somewhere between*, and this run cannot tell.


# %% tags=["measured", "nbval-ignore-output"]
first, later, eager = in_turns(
    first=lambda: mg.function(scores)(letters, *weights),
    later=lambda: traced(letters, *weights),
    eager=lambda: scores(letters, *weights),
).values()
print(f"eager 1; traced {later / eager:.2f}; the first call {first / eager:.0f}")
print(f"calls until the trace has paid for itself: {(first - later) / (eager - later):.0f}")

# %% [markdown]
# On most machines the first call takes tens of times as long as an eager one, and each later call less than half as
# long. So a function that is called once, or traced again at each call, loses; one that is called thousands of times
# wins. On large arrays the gain is smaller, because there the ops themselves take the time: lesson 15 measures when.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** A graph decides while it runs, so after a decision every name must be something on which both
# ways agree. Where AutoGraph cannot arrange that, it refuses, and tells you the line, the name and the way out.


# %% tags=["nbval-ignore-output"]
@mg.function
def one_branch(x):
    if x > 0:
        y = x * 2
    return y


@mg.function
def growing(xs):
    out = []
    for x in xs:
        out.append(x * 2)
    return out


@mg.function
def looks_inside(x):
    return x * x.item()


for refused, x in ((one_branch, mg.tensor(1.0)), (growing, mg.ones(3)), (looks_inside, mg.tensor(1.0))):
    try:
        refused(x)
    except mg.errors.MinigradError as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", 100), end="\n\n")

# %% [markdown]
# Three ways out: give `y` a value in both branches; let a tensor or `mg.lax.scan` collect what a loop gives; return
# what you want to look at. To see what is going on inside, run the function eagerly: `f.python_function(x)` calls your
# own function, where every `print` and debugger works as in lesson 08; `mg.graph.run_functions_eagerly(True)` does it
# for all.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("11_tracing")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | | minigrad | PyTorch | TensorFlow 2 | JAX |
# |---|---|---|---|---|
# | the word | `@mg.function` | `@torch.compile` | `@tf.function` | `@jax.jit` |
# | another shape | traced again | compiled again, then for any length | traced again | traced again |
# | another Python number | traced again | compiled again, then an input | traced again | an input |
# | unknown length | `mg.TensorSpec((None, 3))` | `dynamic=True` | `tf.TensorSpec((None, 3))` | in `jax.export` |
# | print at each run | `mg.print` | `print`, between two graphs | `tf.print` | `jax.debug.print` |
# | `if` on a tensor | AutoGraph: a `cond` | the graph is cut in two | AutoGraph: a `cond` | an error: `lax.cond` |
# | a tensor from outside | read at each run | read at each run | a `tf.Variable`: at each run | a constant |
# | a number from outside, changed | the old one | the new one | the old one | the old one |
# | a name from outside, given another tensor | the old one | the new one | the old one | the old one |
# | `log.append(x)`, a counter | while tracing | at each call | while tracing | while tracing |
# | Python's `random.random()` | while tracing | at each call | while tracing | while tracing |
# | a graph that leaves Python | `f.graph_for(x)` | `torch.export.export` | SavedModel | `jax.export.export` |
# | how often | `f.trace_count` | `counters` of Dynamo | `f.experimental_get_tracing_count()` | `jax_log_compiles` |
#
# PyTorch reads Python's bytecode rather than its source, and falls back to Python where it does not know how to go on.
# In JAX a number is an argument unless it is named in `static_argnums`; then another value is another trace;
# `jax_log_compiles` is set by `jax.config.update`, and logs a few lines at each compilation. `counters` are in
# `torch._dynamo.utils`. Older PyTorch code has *TorchScript* instead: `torch.jit.trace` recorded one run, and
# `torch.jit.script` translated the source, as AutoGraph does. Both are deprecated: `torch.compile` has taken their
# place where speed is wanted, and `torch.export` where the graph has to leave Python. In MXNet the word was
# `net.hybridize()`: a network written in eager style was traced at its next call.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A traced function runs in Python once for each signature: dtype and shape of tensors, values of everything else.
# - A Python number is a constant of the graph, a tensor an input. `None` in a signature leaves a length open. The 700
#   names: a trace for each as lists, ten as tensors, one with an open length.
# - What is not an op happens while tracing: prints, counters, lists, Python's random numbers. Tensors from outside are
#   read at each run; numbers from outside are copied once.
# - AutoGraph makes nodes of an `if`, `while` or `for` that depends on a tensor; everything else is Python's, and
#   vanishes.
#
# **Sources.** A. Agrawal and others, *TensorFlow Eager: a multi-stage, Python-embedded DSL for machine learning*,
# MLSys 2019: tracing by signature, captured state. D. Moldovan and others, *AutoGraph: imperative-style coding with
# graph-based performance*, MLSys 2019. R. Frostig, M. Johnson, C. Leary, *Compiling machine learning programs via
# high-level tracing*, SysML 2018.
#
# **Exercise.** [11 When does Python run?](../exercises/11_tracing.ipynb): count traces, make effects happen, keep to
# one trace, and a loop of your own.
#
# **Next:** [12 Three ways](12_three_ways.ipynb) writes one model in eager mode, for a session and as a traced function,
# and counts.
