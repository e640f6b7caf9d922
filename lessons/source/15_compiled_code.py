# ---
# jupyter:
#   minigrad:
#     title: Compiled code
#     minutes: 30
#     objectives:
#       - read the program that a compiler writes for a training step, line by line, and say where each line comes from
#       - say what an interpreter does at every run that straight-line code does not
#       - compute after how many calls compiling has paid
#       - name four cases in which it never pays
#     concepts: [D5]
#     builds_on: [12_three_ways, 14_memory_and_schedule]
#     widgets: [Predict, Quiz]
#     terms:
#       interpreter: a program that walks a graph at every run, and at each node looks up what to do and where its
#         operands are
#       straight-line code: a program without loops and decisions, in which every line is executed once, in order
#       break-even point: the number of calls after which the time that they have saved makes up for the time that
#         compiling took
#       registers: the few places inside a processor that hold the numbers it is computing with
#       bucketing: filling inputs up to one of a few lengths, so that there are only as many programs as lengths
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 15 Compiled code
#
# Who writes the backward pass of your network? Nobody, and yet something runs. Today you will read it: a program that
# no human wrote, forward pass, backward pass and update in 32 lines. It consists of calls of NumPy that you know. You
# can run it by hand, and break it by moving one line.
#
# Lessons 13 and 14 made plans: graphs were simplified, fused and scheduled, and memory was laid out. Something has to
# carry the plans out. **What is left to do at the thousandth run that could not have been done before the first?** And
# when is it not worth the trouble?
#
# **About 30 minutes.** Afterwards you can
#
# - read the program that a compiler writes for a training step, line by line, and say where each line comes from;
# - say what an interpreter does at every run that straight-line code does not;
# - compute after how many calls compiling has paid;
# - name four cases in which it never pays.
#
# Optional sections, called *Further*, write the program for a GPU and in C++, time it, and look inside it.
#
# **Builds on** [12 Three ways](12_three_ways.ipynb) and [14 Memory and schedule](14_memory_and_schedule.ipynb). What it
# opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% slideshow={"slide_type": "skip"}
import inspect
import re
import sys
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, Rounds, follow_theme, in_turns, reveal

BLUE, VERMILION = "#0072B2", "#D55E00"
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The plan, walked
#
# The shortest way to carry out a graph is to walk it: for each node in topological order, take the values of its
# inputs, and let its operation compute. Such a walker is an **interpreter**. Here is a whole one. Some frameworks work
# like this.


# %%
def interpret(graph, *arrays):
    values = dict(zip(graph.inputs, arrays))
    for node in graph.nodes:
        if node not in values:
            operands = [values[x] for x in node.inputs]
            values[node] = node.op.forward(np, *operands)
    return [values[y] for y in graph.outputs]


def bend(x, w, b):
    return mg.tanh(x * w + b)


x, w, b = mg.ones(4, 3), mg.tensor([0.5, 1.0, 2.0]), mg.zeros(3)
compiled_bend = mg.function(bend)
graph = compiled_bend.graph_for(x, w, b)
print(interpret(graph, x.numpy(), w.numpy(), b.numpy())[0][0].round(4))

# %% [markdown]
# At each node, in each run, the interpreter asks: is this node done? What are its inputs? Where are their values? Which
# function computes it? And `forward` makes a new array for each result. The answers are the same in every run. So we
# can find them *once*, and write them down.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The plan, written down
#
# A compiler walks the graph once. At each node it does not compute: it *writes the line* that would compute. The result
# is **straight-line code**, which has no loop over nodes and no questions. Every line is executed once, in order. How
# many new arrays will the program for `tanh(x * w + b)` make, for arrays of 4 × 3?

# %%
Predict("new arrays", "How many new arrays does the program for tanh(x * w + b) make?")

# %%
compiled_bend(x, w, b)
reveal("new arrays", compiled_bend.source.count("empty("))

# %% tags=["nbval-ignore-output"]
print(compiled_bend.source)

# %% [markdown] slideshow={"slide_type": "fragment"}
# There are three calls that compute, and one new array, into which all three of them write. `multiply(x0, x1, y0)` is
# NumPy's own function; its third argument is the place for the result. x·w is not needed once b has been added, so the
# sum is written over it (lesson 14). At the end of each line the compiler notes what the line makes, such as f64[4, 3],
# and the node and the line of yours from which it comes.

# %%
# There is no secret in it: the program uses NumPy's names, so we can run the text ourselves.
scope = dict(vars(np))
exec(compiled_bend.source, scope)
(by_hand,) = scope["program"](x.numpy(), w.numpy(), b.numpy())
print("the same bits as eager:", np.array_equal(by_hand, bend(x, w, b).numpy()))

# %% [markdown]
# The compiler can write the same graph in other languages, as two optional sections show. In a program for a GPU, the
# product and the sum of an element stay in **registers**, the few places inside a processor that hold the numbers it is
# computing with.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Let somebody say aloud what happens to y0 in the three lines. Then ask: which line would have to change
# if the product were needed later? That is the lifetime of lesson 14, now as text.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: another target

# %% [markdown] slideshow={"slide_type": "skip"}
# On a GPU thousands of small cores do the same work on
# different elements, and each start of such a piece of work, a *launch*, has its price (lesson 13). Op by op,
# `tanh(x * w + b)` takes three launches, and each one reads its operands from memory and writes its result back. Fused,
# it is one piece of work, a *kernel*. The simulated GPU shows the text that the compiler writes for it, in CUDA C. You
# need no GPU to read it.

# %%
big = mg.ones(1024, 128), mg.ones(128), mg.ones(128)
on_gpu = mg.function(bend)
on_gpu(*(a.to(mg.device("simulated")) for a in big))
print(re.sub(r"_[0-9a-f]{8}(?=\()|@simulated", "", on_gpu.source))

# %% [markdown]
# Start reading in the middle. `i` is the element that this thread works on. The thread fetches its x, its w and its b.
# (`i % 128u` is the column: that is broadcasting, as arithmetic.) It computes product, sum and tanh in its
# **registers**, the few places inside a processor that hold the numbers it is computing with, and stores one result.
# `t0` and `t1` never go to memory. How much traffic does this save? We count in arrays of 1024 × 128.

# %%
array = 1024 * 128 * 8
table = mg.compiler.steps(compiled_bend.graph_for(*big))
print(f"op by op {table[0].bytes_moved / array:.1f} arrays, fused {table[-1].bytes_moved / array:.1f} arrays")

# %% [markdown]
# Each of the three operations reads one array and writes one: 6 arrays, and 2 when fused. On a GPU that traffic is
# often what takes the time. On a CPU it is so for large arrays.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the same loop in C++

# %% [markdown] slideshow={"slide_type": "skip"}
# The compiler can also write loops for an ordinary processor: `mg.function(bend, jit_compile="native")` writes them in
# C++, asks a C++ compiler on your machine to translate them, and calls them from the same Python. (If there is none,
# NumPy runs, and a warning says so; `python3 start.py add native` installs one.) You need no compiler to read the text:

# %% slideshow={"slide_type": "skip"}
from minigrad.backends.native.program import NativeProgram

in_cpp = NativeProgram(mg.compiler.optimised(compiled_bend.graph_for(*big), mg.compiler.NATIVE))
print(in_cpp.c_source.split("extern")[0])
print(in_cpp.source)

# %% [markdown] slideshow={"slide_type": "skip"}
# `t0`, `t1` and `t2` are the lines of the CUDA kernel: what an operation does is written down once, for both. The
# difference is who takes which element. A GPU has a thread for each. Here two loops go over rows and columns. `EACH`
# marks the loop whose elements may be computed several at a time, because a processor has instructions that add 4, 8 or
# 16 numbers in one go. In the program below, one call, `part0`, replaces three calls of NumPy.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A whole training step
#
# A program that you read line by line should be small. So here is the network for the two moons of lesson 03, with its
# gradients and its update: 100 points, 16 neurons. How many new arrays will its program make, in forward pass, backward
# pass and update together?

# %%
points, labels = mg.data.moons(100, noise=0.1, seed=0)
moons = mg.tensor(points), mg.tensor(2.0 * labels[:, None] - 1)
rng = np.random.default_rng(0)
start = [rng.normal(size=(2, 16)), np.zeros(16), rng.normal(size=(16, 1)) / 4]
W, B, V = weights = [mg.tensor(a, requires_grad=True) for a in start]


@mg.function
def step(x, side):
    hidden = mg.tanh(x @ W + B)
    score = hidden @ V
    loss = mg.log(1 + mg.exp(-side * score)).mean()
    gradients = mg.grad(loss, weights)
    with mg.no_grad():
        for weight, g in zip(weights, gradients):
            weight -= 0.5 * g
    return loss.detach()


# %%
Predict("arrays of a step", "How many new arrays does the program of the whole training step make?")

# %%
losses = [step(*moons).item() for _ in range(100)]
program = step.source[step.source.index("def program") :]
reveal("arrays of a step", program.count("empty("))

# %% slideshow={"slide_type": "subslide"}
print(f"loss {losses[0]:.6f} → {losses[-1]:.6f}; the graph has {len(step.graph_for(*moons).nodes)} nodes\n")
print(re.sub(r", Cell In\[\d+\], ", ", ", step.source))

# %% [markdown] slideshow={"slide_type": "skip"}
# *One array is new*, y0. It is the loss, which goes to the caller. Everything else is written into `b0`, `b1` and so
# on, which are places in one piece of memory that was laid out before the first call, and is kept.
#
# The lines above the `def` were executed before the first call. `at(0, (100, 16), float64)` is a place in that piece of
# memory, starting at byte 0. Two names may have the same place, at different times: which ones start at byte 12800?
# Look for four things in this program:
#
# - *The weights are updated in place.* `subtract(x4, …, x4)` writes over V itself, after the last line that reads its
#   old value. Find that line: it reads x4 under another name. If you moved the update above it, the gradient of W
#   would be wrong, without an error.
# - *hidden is kept.* Its `tanh` is in b0, and b0 stays untouched until the backward lines have read it: first as v5,
#   which is b0 transposed, for the gradient of V, and then for 1 − tanh², which is written over it.
# - *Nodes are missing.* 1 + exp is computed once, and both the logarithm and its derivative read it (lesson 13).
# - *The order* is not yours. The gradient of the score is there before the loss is finished, and V is updated before W
#   has a gradient. The compiler always takes next what adds the fewest bytes (lesson 14), so that little has to wait.

# %% slideshow={"slide_type": "subslide"}
# How many lines of the program did each of your lines become? The notes at the ends of the lines tell.
lines_from = Counter(int(number) for number in re.findall(r"line (\d+)$", program, flags=re.M))
start_line = step.python_function.__code__.co_firstlineno
for number, line in enumerate(inspect.getsource(step.python_function).splitlines(), start_line):
    print(f"{lines_from[number] or '':>3}  {line}")

# %% [markdown]
# Three lines of forward pass became 11. One word, `mg.grad`, became 13. A compiler that sees the whole graph does not
# care who wrote the backward pass.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for this program; it is the heart of the lesson. Hand it out on paper, if you can, and let pairs draw
# arrows from a buffer's first line to its last reader. The question that always works: "Which line would break if you
# moved it up by one?"

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: is this what runs?

# %% [markdown] slideshow={"slide_type": "skip"}
# We could show you one text and run another. But we can ask Python to report every line that it executes
# (`sys.settrace`, which debuggers use), and write down which lines of the program are executed in one call.


# %% slideshow={"slide_type": "skip"}
def trace_lines(call):
    """The numbers of the lines of generated code that a call executes, in order."""
    lines = []

    def local(frame, event, _):
        if event == "line":
            lines.append(frame.f_lineno)
        return local

    sys.settrace(lambda frame, *_: local if frame.f_code.co_filename.startswith("<program") else None)
    call()
    sys.settrace(None)
    return lines


executed = trace_lines(lambda: step(*moons))
text = step.source.splitlines()
body = list(range(text.index(next(line for line in text if line.startswith("def program"))) + 2, len(text) + 1))
print("executed:", len(executed), "lines; the body has:", len([n for n in body if text[n - 1].strip()]))
print("in order, each once:", executed == sorted(set(executed)))

# %% [markdown] slideshow={"slide_type": "skip"}
# Every line once, from top to bottom: straight-line code, in the strict sense. (Where arrays are large, the compiler
# cuts a group of elementwise operations into blocks that fit into the cache, and there is a loop over the blocks. It,
# too, is written with all its numbers in it.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs
#
# All of this takes time before the first result. Python runs on symbols, the passes go over the graph, the text is
# written, and Python compiles the text. The more nodes, the longer it takes.
#
# So compiling is an investment. It costs C once. After that each call takes c, where an eager call would take r. After
# n calls you have paid C + n·c, in place of n·r. The two are equal at the **break-even point**:
#
# $$ n = \frac{C}{r - c} $$
#
# With C = 10 ms, r = 0.3 ms and c = 0.1 ms each call saves 0.2 ms, so it takes 50 calls. What if c is 0.29 ms? Work it
# out, then change c in the cell below.


# %% slideshow={"slide_type": "subslide"}
def break_even(C, r, c):
    """After how many calls compiling has paid; infinity if it never does."""
    return C / (r - c) if c < r else float("inf")


C, r, c = 10, 0.3, 0.1  # milliseconds: change them
n = np.arange(0, 121)
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(n, n * r, "--", color=VERMILION)
ax.plot(n, C + n * c, color=BLUE)
ax.text(n[-1], n[-1] * r, " eager", color=VERMILION, va="center")
ax.text(n[-1], C + n[-1] * c, " compiled", color=BLUE, va="center")
if break_even(C, r, c) < n[-1]:
    at = break_even(C, r, c)
    ax.plot(at, at * r, "o", color="gray")
    ax.annotate(f"{at:.0f} calls", (at, at * r), (at, at * r + 5), ha="center", arrowprops={"arrowstyle": "-"})
ax.set(xlabel="calls", ylabel="milliseconds, all together", xlim=(0, 140))
plt.show()

# %% [markdown]
# *The plot: a dashed line from 0 for the eager calls, and a solid one that starts at 10 ms and rises less steeply for
# the compiled calls. They cross at 50 calls.*
#
# With c = 0.29 the point moves out to 1000 calls, and with c = 0.3 it is gone. What pays is the *difference*, and it
# may be small.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. First let the room work out the break-even point for C = 50, r = 0.8 and c = 0.2. Then: "what if the
# network were a hundred times as large?" C grows with the nodes, r and c with the arrays. Larger arrays pay sooner if
# r − c grows, which it need not. That comes next.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the clock of your machine

# %% [markdown] slideshow={"slide_type": "skip"}
# Now to the real thing: a training step of the name network, with one name of six letters. In lesson 08 most of its
# time was overhead. We measure in several rounds. Where they disagree, the line says *somewhere between*: then this run
# cannot tell. After how many steps has compiling paid?

# %% slideshow={"slide_type": "skip"}
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]
network = [mg.tensor(a, requires_grad=True) for a in start]
optimizer = mg.optim.SGD(network, lr=0.1)


def spell(name):
    """The letters of a name as numbers, a = 0."""
    return mg.tensor([LETTERS.index(letter) for letter in name], mg.int64)


def train(letters, label):
    E, W, V = network
    state = mg.zeros(1, 24)
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
    loss = mg.cross_entropy(state @ V, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


# %% tags=["measured", "nbval-ignore-output"]
def measure_gain(f, *args):
    """How many times as fast a call is when compiled, and after how many calls that has paid, in each round."""
    traced = mg.function(f)
    ways = {"C": lambda: mg.function(f)(*args), "r": lambda: f(*args), "c": lambda: traced(*args)}
    C, r, c = in_turns(**ways).values()
    return r / c, Rounds(tuple(map(break_even, C.each, r.each, c.each)))


faster, n = measure_gain(train, spell("antero"), mg.tensor([0]))
print(f"compiled {faster:.1f} times as fast; paid after {n:.0f} calls; an epoch has 191 names of six letters")

# %% [markdown]
# The line above is your machine's. On most machines a compiled step is about three times as fast, and has paid within
# the first epoch: an hour of training becomes twenty minutes. But if you only try something out for ten steps, you
# lose.

# %% [markdown] slideshow={"slide_type": "skip"}
# Compiling itself takes longer, the more nodes there are. We time the first call for chains of 10, 100 and 1000
# operations.


# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
def first_call(n):
    """The first call of a function of n operations, one after another."""

    def run(x):
        for i in range(n):
            x = mg.tanh(x) if i % 2 else x * 1.1
        return x

    return lambda: mg.function(run, autograph=False)(mg.ones(10))


times = in_turns(rounds=3, **{str(n): first_call(n) for n in (10, 100, 1000)})
for n in times:
    print(f"{n:>5} operations: {times[n] / times['10']:.1f} times as long as 10")

# %% [markdown] slideshow={"slide_type": "skip"}
# Every graph costs something before its first node. From there on, on most quiet machines, ten times the nodes take
# about ten times as long.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When it does not pay
#
# "Compiled code is always faster", people say. But a compiler can save only Python's work around the operations, the
# *overhead*. We can count it in calls of functions, and a busy machine does not blur a count. For how many of
# these three does the number of calls fall to less than half?
#
# 1. one product of two matrices of 500 × 500;
# 2. one addition of two arrays of ten numbers;
# 3. a chain of 20 operations on an array of ten numbers.

# %%
Predict("less than half", "For how many of the three do the calls fall to less than half?")


# %%
def count_calls(f, x):
    """How many functions Python calls in f(x), when everything has been called before."""
    f(x), f(x)  # the first calls look up more
    events = []
    sys.setprofile(lambda frame, event, _: events.append(event) if "call" in event else None)
    f(x)
    sys.setprofile(None)
    return len(events) - 1  # setprofile itself


def chain(x):
    for i in range(20):
        x = mg.tanh(x) if i % 2 else x * 1.1
    return x


matrix, small = mg.tensor(np.random.default_rng(0).normal(size=(500, 500))), mg.ones(10)
cases = {"one product": (lambda a: a @ a, matrix), "one addition": (lambda a: a + a, small), "a chain": (chain, small)}

# %%
counts = {name: (count_calls(f, x), count_calls(mg.function(f), x)) for name, (f, x) in cases.items()}
reveal("less than half", sum(2 * compiled_calls < eager_calls for eager_calls, compiled_calls in counts.values()))

# %% tags=["nbval-ignore-output"]
for name, (eager_calls, compiled_calls) in counts.items():
    print(f"{name:12}  {eager_calls:3} calls, {compiled_calls} compiled")

# %% [markdown]
# Only for one of them, the chain: it saves the overhead of twenty operations, and pays for one call of a program. With
# the product and the addition Python has more work than before, because that call has a price of its own: it looks at
# its arguments and finds its trace. Compiling saves what is *between* the operations. Where nothing is between them,
# nothing can be saved.

# %% [markdown] slideshow={"slide_type": "notes"}
# This is where most people learn something. Before measuring, let them defend their answers. The usual wrong rule is
# "the biggest model gains most": the biggest *products* gain least.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the three by the clock

# %% [markdown] slideshow={"slide_type": "skip"}
# On most machines the clock agrees: the addition gets slower, and the product no faster, since nearly all of its time
# is one call of a library, before and after. (`measure_gain` is in *Further: the clock of your machine*: run that
# section first.)

# %% tags=["measured", "nbval-ignore-output"]
for name, (f, x) in cases.items():
    faster, n = measure_gain(f, x)
    pays = {0: "never pays", 1: f"has paid after {n:.0f} calls", None: "this run cannot tell if it pays"}
    print(f"{name:12}  {faster:.2f} times as fast; {pays[faster.among(1.15)]}")  # a gain below 15 % counts as none

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The fourth case
#
# **Where it breaks.** One product, one small operation, ten steps of a training: these are three cases in which
# compiling never pays. The fourth creeps up on you. A program is made for *shapes*: the numbers in `empty((4, 3), …)`
# are in its text. With an open length (lesson 11) a function is traced only once. We give it an array for each of the
# 700 names, as long as the name: 3 to 12 letters. How many *programs* are made from that one trace?


# %%
def energy(x):
    return (x * x).sum()


Predict("programs", "How many programs are made for the 700 names, from one trace?")


# %%
def count_programs(lengths):
    """Call energy, traced with an open length, for arrays of these lengths. Returns the traces and the programs."""
    f = mg.function(energy, input_signature=[mg.TensorSpec((None,))])
    for length in lengths:
        f(mg.ones(length))
    return f.trace_count, len(f.history[-1].run.variants)


lengths_of_names = [len(name) for name, _ in mg.data.names().train]
traces, programs = count_programs(lengths_of_names)
reveal("programs", programs)

# %%
print(f"{len(lengths_of_names)} names: traced {traces} time, {programs} programs")
print("arrays of 1 to 40 numbers: traced {} time, {} programs".format(*count_programs(range(1, 41))))

# %% [markdown]
# Ten programs for the names, one for each length. The one for five letters is called 202 times, the one for twelve only
# once. For arrays of 1 to 40 numbers there are forty programs for forty calls: each costs C, apart from the tracing,
# and keeps memory of its own, and not one of the forty ever pays.
#
# The usual way out is **bucketing**: fill the input up to one of a few lengths, with something that does not count.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Ask who has a function that sees a new shape at nearly every call. Which lengths would they fill it up
# to, and with what?

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: bucketing

# %% [markdown] slideshow={"slide_type": "skip"}
# For a sum of squares, zeros do not count. So we fill up to the next power of two.


# %%
def fill_up(x):
    """x with zeros behind it, up to the next power of two: they do not count in a sum of squares."""
    return mg.tensor(np.pad(x, (0, 2 ** (len(x) - 1).bit_length() - len(x))))


in_buckets = mg.function(energy)
energies = [in_buckets(fill_up(np.ones(length))).item() for length in range(1, 41)]
right = energies == list(range(1, 41))
print(f"right: {right}; traced {in_buckets.trace_count} times: one for each power of two up to 64")

# %% [markdown]
# Seven programs for any number of lengths up to 64. The price is up to twice the arithmetic, on numbers that mean
# nothing. And you have to know what "does not count" means for your function: for a mean, zeros do count.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: looking inside

# %% [markdown] slideshow={"slide_type": "skip"}
# In eager code you can stop at a line and look. A program has no such lines. The `score` of your training step is a
# place in memory, b1, and two lines later something else is written over it. You can ask for a value with a probe
# (lesson 12). What does asking cost, for x of 1024 × 128?


# %%
def bend_probed(x, w, b):
    z = x * w + b
    probes.append(mg.probe(z))
    return mg.tanh(z)


probes = []
big = mg.ones(1024, 128), mg.ones(128), mg.ones(128)
array = 1024 * 128 * 8
for f in (bend, bend_probed):
    last = mg.compiler.steps(mg.function(f).graph_for(*big))[-1]
    print(f"{f.__name__:12} {last.bytes_moved / array:.1f} arrays moved, {last.peak_bytes / array:.0f} at the peak")

# %% [markdown]
# What you look at has to exist. The value is now written to memory, as a whole, and copied for you: the fused group has
# two results. So an *observed program is another program*. That is why a fault sometimes disappears when you look for
# it, and why a probed run does not take the same time.
#
# Errors, though, find the way back, as in lesson 12. A program that fails is run again, op by op, and the message names
# your line.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: by hand

# %% [markdown] slideshow={"slide_type": "skip"}
# Could you have this without a compiler? For a few lines, yes: everybody can use NumPy's third argument. We measure the
# peak of the memory that is taken, in arrays of 1024 × 128.

# %%
import tracemalloc

X, w1, b1 = (np.ones(shape) for shape in ((1024, 128), 128, 128))
result = np.empty_like(X)


def with_new_arrays():
    p = X * w1
    s = p + b1
    return np.tanh(s)


def in_one_place():
    np.multiply(X, w1, result)
    np.add(result, b1, result)
    return np.tanh(result, result)


for way in (with_new_arrays, in_one_place):
    tracemalloc.start()
    way()
    print(f"{way.__name__:15} {tracemalloc.get_traced_memory()[1] / X.nbytes:.0f} arrays at the peak")
    tracemalloc.stop()

# %% [markdown]
# These are the three calls that the compiler wrote. There is one difference: its program makes a new array for what it
# hands out, because otherwise the next call would overwrite a result that you still have. And by hand there is no
# gradient any more, since NumPy records nothing. If you write a backward pass by hand, *you* must know which arrays it
# reads, and make sure that nothing has been written over them. The compiler knows who reads what.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("15_compiled_code")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `@mg.function` | `@torch.compile(backend="eager")` | `@tf.function` | – |
# | `@mg.function(jit_compile=True)` | `@torch.compile` | `@tf.function(jit_compile=True)` | `@jax.jit` |
# | `f.source` | `TORCH_LOGS=output_code` | `f.experimental_get_compiler_ir(x)()` | `f.lower(x).compile().as_text()` |
# | NumPy, CUDA C | C++ with OpenMP, Triton | XLA: machine code, PTX | XLA: machine code, PTX |
# | `f.trace_count` | `torch._dynamo.utils.counters` | `f.experimental_get_tracing_count()` | `jax_log_compiles` |
# | open lengths | `dynamic=True` | `tf.TensorSpec((None, 3))` | fill up, or `jax.export` |
#
# And what does XLA, the compiler of JAX and TensorFlow, write? Its output looks much like ours. It takes a graph in a
# language called *HLO*, with a line for each operation and its shape; after its passes a single line, `fusion(…)`,
# calls a whole group such as our kernel. From this XLA makes machine code for a CPU, PTX for a GPU, or a program for a
# *TPU*: Google's processor for matrix products. A TPU has a grid of many thousand cells that multiply and add, and the
# numbers move from cell to cell. So a number that has been fetched from memory once is used many times. Fusion has the
# same aim: fewer trips to memory.
#
# XLA makes a program for each shape, as minigrad does. PyTorch's compiler writes programs with the length as a
# variable, once it has seen a second one. In the column of JAX, f is a `jax.jit(f)`; `jax_log_compiles` is set by
# `jax.config.update`.
#
# ### The same in PyTorch
#
# Five calls bring five lengths: with `dynamic=False` PyTorch compiles five times, with `dynamic=True` once.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def compilations_in_pytorch(torch):
    """
    dynamic=False: 5 graphs compiled
    dynamic=True: 1 graphs compiled
    """
    for dynamic in (False, True):
        torch.compiler.reset()
        graphs = []

        def compiler(graph, inputs, graphs=graphs):
            graphs.append(graph)
            return graph.forward

        @torch.compile(backend=compiler, dynamic=dynamic)
        def f(x):
            return (x.exp() + 1).sum()

        for n in (4, 5, 6, 7, 8):
            f(torch.ones(n))
        print(f"dynamic={dynamic}: {len(graphs)} graphs compiled")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - An interpreter asks the same questions at every run. A compiler asks them once and writes the answers down, as
#   straight-line code. For a training step that is a few dozen calls of NumPy, with all memory laid out.
# - The cost of compiling grows with the nodes, and what it saves grows with the calls: n = C / (r − c).
# - It does not pay for one big product, for one small operation, for few calls, or where every call brings a new shape.
#
# **Sources.** C. Leary, T. Wang, *XLA: TensorFlow, compiled*, TensorFlow Dev Summit 2017. J. Ansel and others, *PyTorch
# 2: faster machine learning through dynamic Python bytecode transformation and graph compilation*, ASPLOS 2024:
# TorchInductor, which writes Triton and C++ (section 4). A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman, *Compilers*, 2nd
# edition 2006, chapter 8: from a graph to straight-line code. S. Williams, A. Waterman, D. Patterson, *Roofline*, CACM
# 52 (2009): why traffic to memory decides. N. Jouppi and others, *In-datacenter performance analysis of a tensor
# processing unit*, ISCA 2017: the grid of a TPU.
#
# **Exercise.** [15 A compiler of your own](../exercises/15_compiled_code.ipynb): compute what pays, write straight-line
# code, and mend a memory plan.
#
# **Next:** [16 Where the bytes go](16_where_the_bytes_go.ipynb). Before that, change something here: give `chain` 4
# operations instead of 20. Do its calls still fall to less than half? Write it down before you run it.
