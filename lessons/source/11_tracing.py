# ---
# jupyter:
#   minigrad:
#     title: Tracing
#     minutes: 50
#     objectives:
#       - say when Python runs and when the graph alone does, and predict how often a function is traced
#       - choose between a Python number and a tensor as argument, and declare unknown lengths in a signature
#       - find the side effects of a function that will happen once, and write them so that they happen at every call
#       - read what an if or a loop becomes in a graph, and what the errors say
#     concepts: [C6, C7, C8]
#     builds_on: [10_control_flow_in_graphs]
#     widgets: [GraphView, StaticVsDynamic]
#     terms:
#       tracing: running a Python function once on symbols without values, to write down what it computes as a graph
#       signature: what decides which graph a call needs, namely the dtype and shape of its tensors, and the values of
#         its other arguments
#       retracing: tracing a function again, because a call has a signature that it has not had before
#       side effect: anything a function does apart from returning its result, such as printing or counting
#       captured: of a tensor, read by a graph without being an argument; its value is looked up at each run
#       AutoGraph: the step that rewrites Python's if, while and for, so that they work on tensors of a graph
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 11 Tracing
#
# > `5 out of the last 5 calls to <function scores at 0x…> triggered tf.function retracing. Tracing is expensive and the
# > excessive number of tracings could be due to […] (2) passing tensors with different shapes, (3) passing Python
# > objects instead of tensors.`
#
# A training run gets slower and slower, and its log is full of this warning from TensorFlow. The network is fine, and
# so are the data. One argument is to blame, and after this lesson you will spot it.
#
# In lesson 09 you built a graph by hand, with placeholders and a session, and it felt like programming through a
# keyhole. **Can we write ordinary Python, and get the graph?** Yes, with one word above the function. The word has a
# consequence, which is the subject of this lesson.
#
# **About 50 minutes.** Afterwards you can
#
# - say when Python runs and when the graph alone does, and predict how often a function is traced;
# - choose between a Python number and a tensor as argument, and declare unknown lengths in a signature;
# - find the side effects of a function that will happen once, and write them so that they happen at every call;
# - read what an `if` or a loop becomes in a graph, and what the errors say.
#
# **Builds on** [10 Control flow in graphs](10_control_flow_in_graphs.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% slideshow={"slide_type": "skip"}
import random
import textwrap
import warnings
from collections import Counter

import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, in_turns, reveal
from minigrad.graph.autograph import beside
from minigrad.core.node import toposort
from minigrad.widgets import GraphView, StaticVsDynamic

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One word
#
# The word is `@mg.function`. The function below adds an entry to a list whenever Python runs through it. We call it
# three times, with different numbers.

# %%
python_ran = []


@mg.function
def f(x):
    python_ran.append("Python was here")
    return (x * x + 1).sum()


Guess("python ran", "How many entries will python_ran have after the three calls?")

# %%
results = [f(mg.tensor(x)).item() for x in ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [0.0, 0.0, 5.0])]
display(reveal("python ran", len(python_ran)))
print(results, python_ran, "traces:", f.trace_count)

# %% [markdown]
# All three results are right, and yet Python ran only once.
#
# ### What happened at the first call
#
# The function ran on a *symbol*, which has a shape and a dtype but no numbers, like the placeholders of lesson 09. Each
# op wrote a node down. This is called **tracing**. Then the graph ran with the numbers of that call. The second and the
# third call found the graph, and ran it without Python. `f.trace_count` says how often a function has been traced.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. The whole lesson follows from this cell. Before you run it, ask how long the list will be. If somebody
# says 3, they think of a decorator that wraps each call. Draw two lanes on the board, "trace" and "run", and keep them
# there until the end.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which calls share a graph?
#
# A graph is made for inputs of one shape and one dtype. Each call has a **signature**. It consists of
#
# - the dtype and the shape of each tensor or NumPy array, and whether it requires a gradient;
# - the *value* of everything else, such as a Python number or a string;
# - how lists and dictionaries are nested.
#
# If the function has met the signature before, it has a graph for it. If not, the function is traced again. That is
# called **retracing**. So far `f` has been traced once, for three numbers in float64. How often will it have been
# traced after five more calls?

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
for x in calls.values():
    f(x)
reveal("five calls", f.trace_count)

# %% [markdown]
# Other *numbers* are no reason to trace again. Another shape is a reason, and so is another dtype: the four ones and
# the float32 made a trace each. The NumPy array has the signature of the three ones, so its graph is there already.
#
# ### Ask for the reason
#
# If you wonder why a function was traced, ask it: `explain()` gives a reason for each trace. We print a few of its
# lines.


# %%
def print_traces(f):
    """Print the lines of f.explain() about traces and what they read."""
    begins = ("trace", "  arguments", "  captured", "  changes", "  effects", "  control")
    print(*(line for line in f.explain().splitlines() if line.startswith(begins)), sep="\n")


print_traces(f)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A falling learning rate
#
# Many training runs lower their learning rate from step to step. We call `step` with the rates 0.3, 0.2 and 0.1. First
# they are Python numbers, then tensors. How many traces do the three calls with Python numbers make?


# %%
@mg.function
def step(w, rate):
    return w - rate * w


Predict("three rates", "How many traces do the three calls with Python numbers make?")

# %%
for rate in (0.3, 0.2, 0.1):
    step(mg.ones(2), rate)
traces_of_numbers = step.trace_count
reveal("three rates", traces_of_numbers)

# %%
for rate in (0.3, 0.2, 0.1):
    step(mg.ones(2), mg.tensor(rate))
print(f"Python numbers: {traces_of_numbers} traces; tensors: {step.trace_count - traces_of_numbers}")

# %% [markdown]
# Here is the culprit of our slow training run: a learning rate that is a Python number. It is written *into* the graph
# as a constant, so each new rate needs a new graph. A tensor is an input of the graph, and one graph is enough.
#
# Neither way is wrong. A number that decides the form of the graph, such as the number of layers, *should* be a Python
# number. A number that changes from call to call should be a tensor.
#
# ### The number in the graph
#
# `graph_for` returns the graph that a call with these arguments would run. Here it is for the Python number 0.3. For a
# tensor, there would be a leaf `rate` in its place.

# %%
mg.draw(step.graph_for(mg.ones(2), 0.3))

# %% [markdown] slideshow={"slide_type": "notes"}
# "A Python number never retraces" is the costliest belief about tf.function and its kind: training gets slower and
# slower, and nobody sees why. JAX is the exception: its jit turns numbers into arguments. Say so if somebody asks.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Side effects
#
# A **side effect** is anything that a function does apart from returning its result. Here are some: `busy` counts its
# calls and appends to a list. It also draws two random numbers, one from Python and one from minigrad, whose `mg.rand`
# is an op. We call it three times, so we see six random numbers. How many *different* ones are there among the six?

# %%
count, log = Counter(), []


@mg.function
def busy(x):
    count["calls"] += 1
    log.append(x)
    return random.random(), mg.rand(())


Predict("random numbers", "How many different numbers are there among the six random numbers?")

# %%
random.seed(0)
mg.manual_seed(0)
pairs = busy(mg.tensor(10.0)), busy(mg.tensor(20.0)), busy(mg.tensor(30.0))
reveal("random numbers", len({float(number) for pair in pairs for number in pair}))

# %%
for from_python, from_minigrad in pairs:
    print(f"Python's {from_python:.3f}, minigrad's {from_minigrad.item():.3f}")
print("calls counted:", count["calls"], "  entries in log:", len(log))

# %% [markdown]
# What Python does happened once, during the trace: it counted to 1, appended once and rolled its die once. The number
# that came up is in the graph for ever. An *op* happens at every run, and `mg.rand` is an op: so we see three numbers
# from minigrad and one from Python.
#
# It is the same with `time.time()`, with reading a file, and with everything else that only Python does. It is also the
# same in TensorFlow and JAX.

# %% [markdown] slideshow={"slide_type": "notes"}
# Let them sort more effects into the two lanes: print, time.time(), np.random.rand(), opening a file, the dropout of
# mg.nn. The rule: is it an op, or is it Python?

# %% [markdown] slideshow={"slide_type": "subslide"}
# The widget calls `talkative` eagerly on the left, and traces it on the right. Go through the first input, then choose
# the second and compare what each side *prints*. When does the line "Python says" appear on the right, and when is it
# missing?


# %%
def talkative(x):
    print("Python says: called")
    y = x * 2
    mg.print("the graph says:", y)
    return y + 1


StaticVsDynamic(talkative, cases=[(mg.tensor(1.0),), (mg.tensor(5.0),)])

# %% [markdown] slideshow={"slide_type": "subslide"}
# Eagerly the line appears for both inputs. On the right it appears for the first one, while the function is traced. For
# the second there is a graph already, and only `mg.print` is left to print.
#
# And the list `log` of `busy`? Its one entry is what `x` was during the trace: a symbol. It is of no use now, and says
# so.

# %%
try:
    log[0] + 1
except mg.errors.GraphError as error:
    print(textwrap.fill(str(error), 100))

# %% [markdown]
# Anything that must happen at every call must be an op. So we count in a tensor, because `add_` is an op, and what we
# want to keep is returned.

# %%
call_count = mg.tensor(0)


@mg.function
def double(x):
    call_count.add_(1)
    return x * 2


log = [double(mg.tensor(number)).item() for number in (10.0, 20.0, 30.0)]
print(f"calls: {call_count.item()}, traces: {double.trace_count}, log: {log}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What is read from outside
#
# `affine` reads two names that are not arguments: `w` is a tensor, and `b` is a Python number. After the first call we
# change both: we write 10 into the tensor, and set `b` to 100. What does the second call give?

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
reveal("outside", affine(mg.tensor(3.0)).item())

# %%
print_traces(affine)

# %% [markdown]
# 10 × 3 + 1 = 31. The tensor is **captured**: the graph has an input that looks into the tensor at every run, and sees
# what has been written there. Layers read their parameters in this way, so training works. The number 1, however, was
# copied into the graph during the trace.
#
# ### A new tensor under the old name
#
# We give the *name* `w` to another tensor, which holds 1000. What does a third call give?

# %%
w = mg.tensor(1000.0)
affine(mg.tensor(3.0)).item()

# %% [markdown]
# That is 1000 × 3 + 100. The old graph still reads the old tensor. But before each run the function checks whether its
# names still stand for the same tensors. The name `w` does not, so the function is traced again: Python runs once more,
# and this time it reads 100 for `b`.

# %% [markdown] slideshow={"slide_type": "notes"}
# The last cell surprises the most experienced people: TensorFlow and JAX keep the old tensor without a word. Numbers
# are copied silently; tensors, modules, and what modules hold are checked. Still, write into a tensor (`fill_`,
# `copy_`, a step of an optimiser), or pass it as an argument: a trace for each new tensor is slow.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## `if` again: AutoGraph
#
# A symbol has no value. So what should Python do with `if x > 0`, while the function is traced? It cannot know which
# way to go. (In lesson 10 it was an error, and we wrote `mg.cond(condition, f, g)` instead: a node that runs one of two
# functions when the graph runs.) Yet if you trace `bent`, it works. **AutoGraph** reads the source of your function and
# writes another function, and that one is traced. Below, your source is on the left and the generated function on the
# right, with the numbers of your lines.


# %%
def bent(x):
    if x > 0:
        y = x * x
    else:
        y = mg.exp(-x)
    return y + 1


print(beside(bent))
traced = mg.function(bent)
results = [round(traced(mg.tensor(number)).item(), 3) for number in (3.0, -1.0)]
print(f"\n{results} traces: {traced.trace_count}")

# %% [markdown]
# Each branch has become a function, as you would have written it for `mg.cond`; `nonlocal y` says that the y in it is
# the y of `bent`. Then `ag.if_` looks at the condition. If it is a symbol, `ag.if_` builds a `cond`. If it is a Python
# bool, `ag.if_` does what Python's own `if` does. So one trace serves both 3 and −1. (The other generated lines are
# housekeeping.) In the same way a `while` or a `for` over a tensor becomes a loop node.
#
# So a first call has three steps: AutoGraph writes code, Python runs that code on symbols, and the graph is compiled.

# %% [markdown] slideshow={"slide_type": "notes"}
# The rule for every construct: what Python can decide during the trace, Python decides, and the graph never knows. Only
# what depends on a tensor becomes a node. Ask: what happens to `if training:` with a Python bool? It vanishes.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a famous walk

# %% [markdown] slideshow={"slide_type": "skip"}
# Here is a `while` on a tensor, with an `if` inside. Halve an even number, triple an odd number and add 1, until you
# reach 1. Nobody can tell beforehand how many steps that takes.


# %% slideshow={"slide_type": "skip"}
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

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The names, in plain Python
#
# Now a real network: the one of lesson 08, which reads a name letter by letter and says which language it comes from.
# In eager mode it built a graph for each of its 700 names. Its function `scores` has not changed. The names have 3 to
# 12 letters. We trace `scores` and read all 700 names, each as a tensor of its letters. How many traces will there be?

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
weights = [mg.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in ((26, 24), (24, 24), (24, 7))]


def spell(name):
    """The letters of a name as numbers, a = 0."""
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
    traced(mg.tensor(spell(name)), *weights)
reveal("traces for 700 names", traced.trace_count)

# %% [markdown]
# There are ten: one for each length from 3 to 12.
#
# ### The loop in the graph
#
# Since the `for` goes over a tensor, AutoGraph makes a loop node of it. Look inside: where is the state carried from
# letter to letter?

# %%
GraphView(traced, mg.tensor(spell("yui")), *weights)

# %% [markdown] slideshow={"slide_type": "subslide"}
# The box *carry → state* holds the state from one letter to the next.
#
# And what if the `for` goes over a Python list? Here are the first thirty names again, each as a *list* of Python
# numbers.


# %%
def kinds(graph):
    """The kinds of the graph's ops, in order."""
    return ", ".join(node.op.kind for node in graph.nodes if node.inputs)


traced_lists = mg.function(scores)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name, _ in names.train[:30]:
        traced_lists(spell(name), *weights)
print("thirty names as lists:", traced_lists.trace_count, "traces")
print("ops for yui, as a list:", kinds(traced_lists.graph_for(spell("yui"), *weights)))
print("ops for yui, as a tensor:", kinds(traced.graph_for(mg.tensor(spell("yui")), *weights)), "\n")
print(textwrap.fill(str(caught[0].message), 100))

# %% [markdown]
# There is a trace for each name, and no loop in any of them. Python ran the loop during the trace, letter by letter,
# and wrote each letter into the graph. All 700 names would make 700 graphs, and each costs more than an eager run,
# because tracing is work. The warning came at the fifth trace in a row: the one from the top of this page, in our
# words.
#
# We can also go the other way, down to a *single* graph. In `input_signature` you declare the shape and dtype of each
# argument, with `None` for a length that is not known. Then the function is traced once, for every length. (A single
# number has the shape `()`. Where the signature asks for a tensor, a Python number is turned into one, which mends the
# falling learning rate, too.)


# %%
@mg.function(input_signature=[mg.TensorSpec((None,), "int64")])
def read(letters):
    return scores(letters, *weights)


@mg.function(input_signature=[mg.TensorSpec((None,)), mg.TensorSpec(())])  # float64, unless you say another dtype
def any_step(w, rate):
    return w - rate * w


for name in [*(name for name, _ in names.train), "oluwatobiloba"]:
    read(mg.tensor(spell(name), mg.int64))
for rows, rate in ((2, 0.3), (2, 0.2), (5, mg.tensor(0.1))):
    any_step(mg.ones(rows), rate)
print("traces of read:", read.trace_count, "  traces of any_step:", any_step.trace_count)
try:
    read(mg.tensor([spell("yui")], mg.int64))
except mg.errors.ShapeError as error:
    print(textwrap.fill(str(error), 100))

# %% [markdown]
# One trace for 701 names, from three letters to the thirteen of *oluwatobiloba*. A signature is a promise in both
# directions: you get one graph, and anything else that you bring is refused.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Gradients pass through
#
# Can we still train? We compute the loss of *katarzyna*, who is Polish, and its gradients, once eagerly and once
# traced. The eager run leaves all its ops behind for backward. What does the traced call leave?

# %%
letters, label = mg.tensor(spell("katarzyna")), [names.languages.index("Polish")]
for name, way in {"eager": scores, "traced": traced}.items():
    y = way(letters, *weights)
    ops_left = sum(1 for node in toposort(y.node) if node.inputs)
    loss = mg.cross_entropy(y, label)
    lengths = [round(float(np.linalg.norm(g)), 6) for g in mg.grad(loss, weights)]
    print(f"{name}: loss {loss.item():.6f}, lengths of the gradients {lengths}, ops left for backward: {ops_left}")

# %% [markdown]
# Loss and gradients are the same. From outside, a traced call is *one* op, whose backward is a graph of its own.
# (The second op takes the result out of the call.) So you can mix traced and untraced code, and you can trace a whole
# training step: lesson 12 does.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## What it cost, and what it saves

# %% [markdown] slideshow={"slide_type": "skip"}
# Tracing is work: AutoGraph writes code, Python runs it on symbols, and the graph is compiled. We measure the first
# call, a later call and an eager call, all for the scores of *katarzyna*. They take turns for several rounds. Where the
# rounds disagree, the line says *somewhere between*: then this run cannot tell.


# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
first, later, eager = in_turns(
    first=lambda: mg.function(scores)(letters, *weights),
    later=lambda: traced(letters, *weights),
    eager=lambda: scores(letters, *weights),
).values()
print(f"eager 1; traced {later / eager:.2f}; the first call {first / eager:.0f}")
print(f"calls until the trace has paid for itself: {(first - later) / (eager - later):.0f}")

# %% [markdown] slideshow={"slide_type": "skip"}
# On most machines the first call takes tens of times as long as an eager call, and each later call less than half as
# long. So you lose if you call a function once, or if it is traced again at each call. You win if you call it thousands
# of times. On large arrays you win less, because there the ops themselves take the time: lesson 15 measures when.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When it cannot be a graph
#
# **Where it breaks.** A graph decides while it runs. So after a decision each name must stand for something on which
# both branches agree. Where AutoGraph cannot arrange that, it refuses, and tells you the line, the name and the way
# out.


# %% tags=["nbval-ignore-output"]
@mg.function
def one_branch(x):
    if x > 0:
        y = x * 2
    return y


@mg.function(input_signature=[mg.TensorSpec((None,))])
def growing(xs):
    out = []
    for x in xs:
        out.append(x * 2)
    return out


@mg.function
def looks_inside(x):
    return x * x.item()


for function, x in ((one_branch, mg.tensor(1.0)), (growing, mg.ones(3)), (looks_inside, mg.tensor(1.0))):
    try:
        function(x)
    except mg.errors.MinigradError as error:
        print(textwrap.fill(f"{function.__name__}: {type(error).__name__}: {error}", 100), end="\n\n")

# %% [markdown]
# The three ways out: give `y` a value in both branches; let a tensor or `mg.lax.scan` collect the results of a loop;
# return what you want to look at. To see what happens inside, run the function eagerly. `f.python_function(x)` calls
# your own function, where `print` and debuggers work. `mg.graph.run_functions_eagerly(True)` does that for all
# functions.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("11_tracing")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
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
# | a name from outside, given another tensor | the new one | the new one | the old one | the old one |
# | `log.append(x)`, a counter | while tracing | at each call | while tracing | while tracing |
# | Python's `random.random()` | while tracing | at each call | while tracing | while tracing |
# | how often | `f.trace_count` | `counters` of Dynamo | `f.experimental_get_tracing_count()` | `jax_log_compiles` |
#
# PyTorch reads Python's bytecode instead of its source, and falls back to Python where it does not know how to go on.
# In JAX a number is an argument unless it is named in `static_argnums`; then another value means another trace.
# `jax_log_compiles` is set by `jax.config.update`, and logs a few lines at each compilation. `counters` are in
# `torch._dynamo.utils`. Older PyTorch code has *TorchScript* instead: `torch.jit.trace` recorded one run, and
# `torch.jit.script` translated the source, as AutoGraph does. Both are deprecated. `torch.compile` has taken their
# place where you want speed, and `torch.export` where the graph has to leave Python. In MXNet the word was
# `net.hybridize()`: a network written in eager style was traced at its next call.
# The cells that are folded below show the row of *another shape* in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in PyTorch
#
# Our compiler counts how often `torch.compile` hands it a graph, and runs each graph as it is. Other numbers need no
# new graph. A second length does, and after that PyTorch leaves the length open.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch, in_tensorflow


@in_pytorch
def traces_in_pytorch(torch):
    """
    three ones: 6, graphs so far: 1
    three twos: 15, graphs so far: 1
    four ones: 8, graphs so far: 2
    five ones: 10, graphs so far: 2
    """
    torch.compiler.reset()
    graphs = []

    def compiler(graph, inputs):
        graphs.append(graph)
        return graph.forward

    @torch.compile(backend=compiler)
    def f(x):
        return (x * x + 1).sum()

    calls = {"three ones": torch.ones(3), "three twos": 2 * torch.ones(3)}
    for name, x in (calls | {"four ones": torch.ones(4), "five ones": torch.ones(5)}).items():
        print(f"{name}: {f(x).item():g}, graphs so far: {len(graphs)}")


# %% [markdown] slideshow={"slide_type": "skip"}
# ### The same in TensorFlow
#
# AutoGraph comes from TensorFlow, so `bent` needs no change there. `GraphView` draws the graph that a call with 3 runs,
# and at 3 no exponential is computed. Will the picture have an exponential?
#
# Answer, then run the cell below. Its lines are folded, because the answer is among them: click its three dots to read
# them.


# %% jupyter={"source_hidden": true} slideshow={"slide_type": "skip"}
@in_tensorflow
def bent_in_tensorflow(tf):
    """
    [10.0, 3.718] traces: 1
      then_branch: if it holds, 3 ops
      else_branch: if not, 4 ops
        Exp, f32[], op cond/Exp
    """

    @tf.function
    def bent(x):
        if x > 0:
            y = x * x
        else:
            y = tf.exp(-x)
        return y + 1

    results = [round(float(bent(tf.constant(number))), 3) for number in (3.0, -1.0)]
    print(results, "traces:", bent.experimental_get_tracing_count())
    view = GraphView(bent, tf.constant(3.0))
    print(*(line for line in view.text.splitlines() if "_branch" in line or "Exp" in line), sep="\n")
    return view


# %% [markdown] slideshow={"slide_type": "skip"}
# Yes. `cond` is a group with both branches in it, and one trace serves both numbers. PyTorch cuts the graph at this
# `if` instead: `GraphView(torch.compile(bent), x)` shows two graphs, and names the line between them. In JAX the
# `if` is an error, as the table says.
#
# To draw a function of your own, see [Your own graphs](../docs/your_own_graphs.md).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A traced function runs in Python once for each signature: dtype and shape of tensors, values of everything else.
# - A Python number is a constant of the graph, and a tensor is an input. `None` in a signature leaves a length open.
#   The 700 names need a trace each as lists, ten traces as tensors, and one with an open length.
# - What is not an op happens during the trace: prints, counters, lists, Python's random numbers. Tensors from outside
#   are read at each run; numbers from outside are copied once.
# - AutoGraph makes nodes of an `if`, `while` or `for` that depends on a tensor. Everything else is Python's, and
#   vanishes.
#
# **Sources.** A. Agrawal and others, *TensorFlow Eager: a multi-stage, Python-embedded DSL for machine learning*, MLSys
# 2019: tracing by signature, captured state. D. Moldovan and others, *AutoGraph: imperative-style coding with
# graph-based performance*, MLSys 2019. R. Frostig, M. Johnson, C. Leary, *Compiling machine learning programs via
# high-level tracing*, SysML 2018.
#
# **Exercise.** [11 When does Python run?](../exercises/11_tracing.ipynb): count traces, make effects happen, keep to
# one trace, and a loop of your own.
#
# **Next:** [12 Three ways](12_three_ways.ipynb) writes one model in eager mode, for a session and as a traced function,
# and counts.
