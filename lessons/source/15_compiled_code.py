# ---
# jupyter:
#   minigrad:
#     title: Compiled code
#     minutes: 45
#     objectives:
#       - read the program that a compiler writes for a training step, line by line, and say where each line comes from
#       - say what an interpreter does at every run that straight-line code does not
#       - compute after how many calls compiling has paid, from three measured times
#       - name four cases in which it never pays, and predict them before measuring
#       - say what a compiled program cannot show you, and write the same by hand
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
#       bucketing: filling inputs up to one of a few lengths, so that there are as few programs as there are lengths
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 15 Compiled code
#
# The name network of lesson 08 spent its time on overhead: 700 graphs, each built for one run. By now its graph can be
# simplified, fused and scheduled, and its memory planned (lessons 13, 14). All of that is still a plan. Somebody has to
# carry it out, again and again, as fast as the machine can. **What is left to do at the thousandth run that could not
# have been done before the first?**
#
# **About 45 minutes.** Afterwards you can
#
# - read the program that a compiler writes for a training step, line by line, and say where each line comes from;
# - say what an interpreter does at every run that straight-line code does not;
# - compute after how many calls compiling has paid, from three measured times;
# - name four cases in which it never pays, and predict them before measuring;
# - say what a compiled program cannot show you, and write the same by hand.
#
# **Builds on** [12 Three ways](12_three_ways.ipynb) and [14 Memory and schedule](14_memory_and_schedule.ipynb). What it
# opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the whole, written down beforehand.

# %% slideshow={"slide_type": "skip"}
import inspect
import re
import sys
import tracemalloc
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
# The shortest way to carry a graph out is to walk it: for each node in topological order, take what its inputs gave,
# and let its operation compute. Such a walker is an **interpreter**. Here is one, whole; lesson 09's sessions could
# have worked like this, and some frameworks do.


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
# It is right, and at each node, in each run, it asks: is this one done? What are its inputs? Where are their values?
# Which function? And `forward` makes a new array for every result. The answers are the same in every run. So they can
# be found *once*, and written down.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The plan, written down
#
# A compiler takes the same walk once, and at each node, instead of computing, it *writes the line* that would compute.
# What comes out is **straight-line code**: no loop over nodes, no question, every line executed once, in order. For
# `tanh(x * w + b)` and arrays of 4 × 3: how many calls of NumPy will do the computing, and how many new arrays will the
# program make?

# %%
Predict("new arrays", "How many new arrays does the program for tanh(x * w + b) make?")

# %% tags=["nbval-ignore-output"]
compiled_bend(x, w, b)
print(compiled_bend.source)
reveal("new arrays", compiled_bend.source.count("empty("))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Three calls that compute, and one new array, into which all three write: `multiply(x0, x1, y0)` is NumPy's function
# with its third argument, the place for the result. x·w is not needed once b has been added, so the sum takes its
# place. At the end of each line the compiler notes what the line makes, f64[4, 3], and the node and the line of yours
# that it came from.
#
# There is no secret in it. These are NumPy's names, so we can take the text and run it ourselves:

# %%
scope = dict(vars(np))
exec(compiled_bend.source, scope)
(by_hand,) = scope["program"](x.numpy(), w.numpy(), b.numpy())
print("the same bits as eager:", np.array_equal(by_hand, bend(x, w, b).numpy()))

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Let somebody say aloud what happens to y0 in the three lines. Then ask: which line would have to change
# if the result of the product were needed later? That is liveness, lesson 14, now as text.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A whole training step
#
# A program that you read line by line should be small. So here is the network for the two moons of lesson 03, with its
# gradients and its update: 100 points, 16 neurons. How many new arrays will its program make, forward, backward and
# update together?

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

# %% slideshow={"slide_type": "subslide"}
losses = [step(*moons).item() for _ in range(100)]
print(f"loss {losses[0]:.6f} → {losses[-1]:.6f}; the graph has {len(step.graph_for(*moons).nodes)} nodes\n")
program = step.source[step.source.index("def program") :]
print(re.sub(r", Cell In\[\d+\], ", ", ", step.source))

# %%
reveal("arrays of a step", program.count("empty("))

# %% [markdown] slideshow={"slide_type": "skip"}
# What stands above the `def` was made before the first call: `at(0, (100, 16), float64)` is a place in one piece of
# memory, at byte 0. Two names may have the same place, at different times: which ones begin at byte 12800? Take your
# time with it. Here is what to look for:
#
# - *One array is new*, y0: the loss, because it goes to the caller. Everything else is written into `b0`, `b1`, …,
#   places in one piece of memory that was laid out before the first call, and kept.
# - *The weights are updated in place*: `subtract(x4, …, x4)` writes over the parameter itself, after the last line
#   that reads its old value. Is that so? Find that line: it reads x4 under another name.
# - *hidden is kept*: its `tanh` is in b0, and b0 stays untouched until the backward lines have read it: as v5, which is
#   b0 turned on its side, for V's gradient, and then for 1 − tanh², which is written over it.
# - *Nodes are missing*: the 1 + exp is computed once, and read by the logarithm and by its derivative (lesson 13).
# - *The order* is not yours: the gradient of the score is there before the loss is finished, and V is updated before W
#   has a gradient. Whatever adds the fewest bytes comes next (lesson 14), so that little is kept waiting.
#
# Which of your lines became how many of the program's? The notes at the ends of the lines tell:

# %%
counted = Counter(int(number) for number in re.findall(r"line (\d+)$", program, flags=re.M))
start_line = step.python_function.__code__.co_firstlineno
for number, line in enumerate(inspect.getsource(step.python_function).splitlines(), start_line):
    print(f"{counted[number] or '':>3}  {line}")

# %% [markdown]
# Three lines of forward pass became 11; `mg.grad`, one word, became 13. You did not write the backward pass, and a
# compiler that sees the whole graph does not care who did.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for this program; it is the heart of the lesson. Hand it out on paper, if you can, and let pairs draw
# arrows from a buffer's birth to its last reader. The question that always works: "Which line would break if you moved
# it up by one?"

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: is this what runs?
#
# One text can be shown and another one run. Python can be asked to report every line that it executes (`sys.settrace`,
# which debuggers use). We write down which lines of which program are executed in one call.


# %%
def executed(call):
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


ran = executed(lambda: step(*moons))
text = step.source.splitlines()
body = list(range(text.index(next(line for line in text if line.startswith("def program"))) + 2, len(text) + 1))
print("executed:", len(ran), "lines; the body has:", len([n for n in body if text[n - 1].strip()]))
print("in order, each once:", ran == sorted(set(ran)))

# %% [markdown]
# Every line once, from the top to the bottom: straight-line code, in the strict sense. (Where arrays are large the
# compiler cuts an elementwise group into blocks small enough for the cache, and there is a loop over the blocks. It,
# too, is written with all its numbers in it.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Another target
#
# The same graph can be written in another language. On a GPU thousands of small cores do the same work on different
# elements, and each start of such a piece of work, a *launch*, has its price. Op by op, `tanh(x * w + b)` takes three
# launches, and each reads its operands from memory and writes its result back. Fused, it is one piece of work, a
# *kernel*. The simulated GPU of lesson 13 shows the text that the compiler writes for it, in CUDA C; you need no GPU to
# read it.

# %%
big = mg.ones(1024, 128), mg.ones(128), mg.ones(128)
on_gpu = mg.function(bend)
on_gpu(*(a.to(mg.device("simulated")) for a in big))
print(re.sub(r"_[0-9a-f]{8}(?=\()|@simulated", "", on_gpu.source))

# %% [markdown] slideshow={"slide_type": "fragment"}
# Read it from the middle. `i` is the element that this thread is at. It fetches its x, its w, its b (`i % 128u` is the
# column: that is broadcasting, as a number), computes product, sum and tanh in its own **registers**, the few places
# inside a processor that hold the numbers it is computing with, and stores one result. `t0` and `t1` never go to
# memory. How much less is moved, in units of one array of 1024 × 128?

# %%
Predict("traffic", "Op by op the three operations read and write how many arrays of 1024 × 128, about?", tolerance=0.5)

# %%
array = 1024 * 128 * 8
table = mg.compiler.steps(compiled_bend.graph_for(*big))
print(f"op by op {table[0].bytes_moved / array:.1f} arrays, fused {table[-1].bytes_moved / array:.1f} arrays")
reveal("traffic", round(table[0].bytes_moved / array, 1))

# %% [markdown]
# Three operations, each one array in and one out: 6 arrays, and 2 when fused. On a GPU, and for large arrays on a CPU
# too, that traffic is often what takes the time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. If there is a GPU in the room, do not run anything: the text is the lesson. Ask what would change for
# an x that is transposed (only the index), and for a sum over rows (threads have to talk to each other).

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the same loop in C++
#
# Loops for an ordinary processor can be compiled, too: `mg.function(bend, jit_compile="native")` writes them in C++,
# asks a compiler on your machine to translate them, and calls them from the same Python. (Where there is none NumPy
# runs, and a warning says so; `python -m pip install "minigrad-course[native]"` brings one.) You need no compiler to
# read the text:

# %%
from minigrad.backends.native.program import NativeProgram

in_cpp = NativeProgram(mg.compiler.optimised(compiled_bend.graph_for(*big), mg.compiler.NATIVE))
print(in_cpp.c_source.split("extern")[0])
print(in_cpp.source)

# %% [markdown]
# `t0`, `t1` and `t2` are the lines of the CUDA kernel: what an operation does is said once, for both. What differs is
# who takes which element. A GPU has a thread for each; here two loops go over rows and columns, and `EACH` marks the
# one whose elements may be computed several at a time, because a processor has instructions that add 4, 8 or 16 numbers
# in one go. In the program below it one call, `part0`, stands where three calls of NumPy stood.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs
#
# All of this takes time before the first result: Python runs on symbols, the passes go over the graph, text is
# written, Python compiles the text. How does that grow with the graph? We time the first call for chains of 10, 100
# and 1000 operations. Other programs use this machine, too. So `in_turns` lets the three take turns, for several
# rounds. A ratio that differs from round to round is printed as *somewhere between*: then this run cannot tell.


# %%
def chain(n):
    def run(x):
        for i in range(n):
            x = mg.tanh(x) if i % 2 else x * 1.1
        return x

    return run


small = mg.ones(10)


def first_call(n):
    return lambda: mg.function(chain(n), autograph=False)(small)


# %% tags=["measured", "nbval-ignore-output"]
took = in_turns(rounds=3, **{str(n): first_call(n) for n in (10, 100, 1000)})
for n in took:
    print(f"{n:>5} operations: {took[n] / took['10']:.1f} times as long as 10")

# %% [markdown]
# Every graph costs something before its first node. From there on, on most machines, ten times the nodes take about ten
# times as long: each pass looks at each node once or twice, and each node becomes a line of text.
#
# So compiling is an investment. It costs C once; then each call takes c, where an eager call would take r. After n
# calls you have paid C + n·c for what would have been n·r. The two are equal at the **break-even point**:
#
# $$ n = \frac{C}{r - c} $$
#
# Take C = 10 ms, r = 0.3 ms and c = 0.1 ms. After how many calls have both ways cost the same?

# %%
Predict("break even", "After how many calls have both cost the same, for C = 10, r = 0.3 and c = 0.1?")


# %%
def break_even(C, r, c):
    """After how many calls compiling has paid; infinity if it never does."""
    return C / (r - c) if c < r else float("inf")


reveal("break even", round(break_even(10, 0.3, 0.1)))

# %% slideshow={"slide_type": "subslide"}
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
ax.set(xlabel="calls", ylabel="milliseconds, all told", xlim=(0, 140))
plt.show()

# %% [markdown]
# *The plot: a dashed line from 0 for the eager calls, and a solid one that starts at 10 ms and rises less steeply for
# the compiled calls. They cross at 50 calls.*
#
# With c = 0.29 the point moves out to 1000 calls; with c = 0.3 it is gone. It is the *difference* that pays, and it may
# be small. Here is the real thing: a training step of the name network with one name of six letters, as in lesson 08,
# on your machine.

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
start = [rng.normal(0, 0.2, shape) for shape in ((26, 24), (24, 24), (24, 7))]
network = [mg.tensor(a, requires_grad=True) for a in start]
optimizer = mg.optim.SGD(network, lr=0.1)


def spelled(name):
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


# %% slideshow={"slide_type": "subslide"}
Predict("a name", "After how many steps has compiling paid?", options=["under 10", "10 to 1000", "over 1000"])


# %% tags=["measured", "nbval-ignore-output"]
def times(f, *args):
    """How many times as fast a call is when compiled, and after how many calls that has paid, in each round."""
    traced = mg.function(f)
    ways = {"C": lambda: mg.function(f)(*args), "r": lambda: f(*args), "c": lambda: traced(*args)}
    C, r, c = in_turns(**ways).values()
    return r / c, Rounds(tuple(map(break_even, C.each, r.each, c.each)))


faster, n = times(train, spelled("antero"), mg.tensor([0]))
print(f"compiled {faster:.1f} times as fast; paid after {n:.0f} calls; an epoch has 191 names of six letters")
among = n.among(10, 1000)
unclear = "The rounds disagree about your prediction: run this cell again when the machine has less to do."
unclear if among is None else reveal("a name", ["under 10", "10 to 1000", "over 1000"][among])

# %% [markdown]
# The line above is your machine's. On most a compiled step is about three times as fast, and has paid within the first
# epoch: an hour of training becomes twenty minutes. Somebody who tries something out for ten steps loses.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Let the room work out the break-even point for C = 50, r = 0.8 and c = 0.2 first. Then: "what if the
# network were a hundred times as large?" C grows with the nodes, r and c with the arrays: larger arrays pay sooner, if
# r − c grows, which it need not. That comes next.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When it does not pay
#
# "Compiled is always faster", people say. But all that a compiler can save here is Python's work around the operations.
# That work can be counted, in calls of functions, as in lesson 08, and a busy machine does not blur a count. For how
# many of these three does the number of calls fall to less than half?
#
# 1. one product of two matrices of 500 × 500;
# 2. one addition of two arrays of ten numbers;
# 3. a chain of 20 operations on an array of ten numbers.

# %%
Predict("less than half", "For how many of the three do the calls fall to less than half?")


# %%
def calls(work):
    seen = []
    sys.setprofile(lambda frame, event, what: seen.append(event) if "call" in event else None)
    work()
    sys.setprofile(None)
    return len(seen) - 2  # work itself, and setprofile


def calls_of(f, x):
    return [calls(lambda: f(x)) for _ in range(3)][-1]  # the first ones look up more


matrix = mg.tensor(np.random.default_rng(0).normal(size=(500, 500)))
cases = {
    "one product": (lambda a: a @ a, matrix),
    "one addition": (lambda a: a + a, small),
    "a chain": (chain(20), small),
}

# %% tags=["measured", "nbval-ignore-output"]
fewer = {}
for name, (f, x) in cases.items():
    eagerly, compiled = calls_of(f, x), calls_of(mg.function(f), x)
    fewer[name] = 2 * compiled < eagerly
    faster, n = times(f, x)
    pays = {0: "never pays", 1: f"has paid after {n:.0f} calls", None: "this run cannot tell if it pays"}
    print(f"{name:12}  {eagerly:3} calls, {compiled} compiled; {faster:.2f} times as fast; {pays[faster.among(1.15)]}")

# %%
reveal("less than half", sum(fewer.values()))

# %% [markdown]
# (Two timings of the same thing can differ by 15 in 100, so a smaller difference counts as none.) The clock follows the
# calls. On most machines the product is not faster at all: it *is* one call of a library, and it stays that. The
# addition is even slower: calling a program has a price of its own, because it looks at its arguments and finds its
# trace, and that is more work than one eager addition. The chain is much faster: it saves the overhead of twenty
# operations, and pays the price of one call. What compiling can save is what stands *between* the operations. Where
# nothing stands between them, there is nothing to save.

# %% [markdown] slideshow={"slide_type": "notes"}
# The place where most people learn something. Before measuring, let them defend their answers. "The biggest model gains
# most" is the usual wrong rule: the biggest *products* gain least.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** One product, one small operation, and ten steps of a training: three cases that never pay. The
# fourth creeps up on you. A program is made for *shapes*: the numbers in `empty((4, 3), …)` are in the text. A trace
# with an open length (lesson 11) is made once; how many *programs* are made from it for the 700 names? And for arrays
# of 1 to 40 numbers?


# %%
def energy(x):
    return (x * x).sum()


Predict("programs", "How many programs are made for the names, from one trace?")

# %%
open_length = mg.function(train, input_signature=[mg.TensorSpec((None,), mg.int64), mg.TensorSpec((1,), mg.int64)])
for name, label in names.train:
    open_length(spelled(name), mg.tensor([label], mg.int64))
any_length = mg.function(energy, input_signature=[mg.TensorSpec((None,))])
for length in range(1, 41):
    any_length(mg.ones(length))
for f in (open_length, any_length):
    print(f"traced {f.trace_count} time, {len(f.history[-1].run.variants)} programs")
reveal("programs", len(open_length.history[-1].run.variants))

# %% [markdown]
# The 700 graphs of lesson 08 are ten programs, one for each length. The one for five letters is called 202 times in an
# epoch, and pays; the one for twelve is called once. For the arrays it is forty programs for forty calls. Each costs C,
# apart from the tracing, and keeps memory of its own, and not one of the forty ever pays for itself. How to see it:
# count, as here. (The `RetracingWarning` of lesson 11 keeps silent, because there is one trace; without the open length
# it speaks up.) The usual way out is **bucketing**: fill up to one of a few lengths with something that does not count.


# %%
def filled(x):
    """x with zeros behind it, up to the next power of two: for a sum of squares they do not count."""
    return mg.tensor(np.pad(x, (0, 2 ** (len(x) - 1).bit_length() - len(x))))


bucketed = mg.function(energy)
found = [bucketed(filled(np.ones(length))).item() for length in range(1, 41)]
print(f"right: {found == list(range(1, 41))}; traced {bucketed.trace_count} times: one for each power of two up to 64")

# %% [markdown]
# Seven programs for any number of lengths up to 64. The price: up to twice the arithmetic, on numbers that mean
# nothing, and you have to know what "does not count" means for your function. For a mean, zeros do count.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it cannot show you
#
# In eager code you can stop at a line and look. A program has no such lines: `score` of your training step is a place
# in memory, b1, that is written over two lines later. Ask for it with a probe (lesson 12), and see what asking costs,
# for x of 1024 × 128.


# %%
def bend_probed(x, w, b):
    z = x * w + b
    seen.append(mg.probe(z))
    return mg.tanh(z)


seen = []
for f in (bend, bend_probed):
    last = mg.compiler.steps(mg.function(f).graph_for(*big))[-1]
    print(f"{f.__name__:12} {last.bytes_moved / array:.1f} arrays moved, {last.peak_bytes / array:.0f} at the peak")

# %% [markdown]
# What is looked at has to exist. It is written to memory, as a whole, and copied for you: the fused group now has two
# results. An *observed program is another program*: that is why a fault sometimes disappears when you look for it, and
# why a probed run does not take the time of one without probes.
#
# Errors, though, find the way back, as in lesson 12: a program that fails is run again, op by op, and the message names
# your line. A traceback through `<program …>` shows the generated line; its note says the rest.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. The phrase to leave: what is looked at has to exist. In C compilers it is the same: with -O2 the
# debugger says "optimised out".

# %% [markdown] slideshow={"slide_type": "slide"}
# ## By hand
#
# Could you have that without a compiler? For a few lines, yes. NumPy's third argument is there for everybody. We count
# the most memory that is taken at a time, in arrays of 1024 × 128.

# %%
X, w1, b1 = (np.ones(shape) for shape in ((1024, 128), 128, 128))
result = np.empty_like(X)


def plainly():
    p = X * w1
    s = p + b1
    return np.tanh(s)


def into_one_place():
    np.multiply(X, w1, result)
    np.add(result, b1, result)
    return np.tanh(result, result)


for way in (plainly, into_one_place):
    tracemalloc.start()
    way()
    print(f"{way.__name__:15} {tracemalloc.get_traced_memory()[1] / X.nbytes:.0f} arrays at the peak")
    tracemalloc.stop()

# %% [markdown]
# These are the three calls that the compiler wrote. The one difference is that its program makes a new array for what
# it hands out: otherwise the next call would overwrite a result that the caller has kept. And there is no gradient any
# more, because NumPy records nothing: to write a backward pass by hand, *you* have to know which arrays it reads, and
# make sure that nothing has been written over them. The compiler knows who reads what. (Lesson 14 showed what else
# eager code can do: memory that is used again, checkpoints.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("15_compiled_code")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `@mg.function` | `@torch.compile(backend="eager")` | `@tf.function` | – |
# | `@mg.function(jit_compile=True)` | `@torch.compile` | `@tf.function(jit_compile=True)` | `@jax.jit` |
# | `f.source` | `TORCH_LOGS=output_code` | `f.experimental_get_compiler_ir(x)()` | `f.lower(x).compile().as_text()` |
# | NumPy, CUDA C | C++ with OpenMP, Triton | XLA: machine code, PTX | XLA: machine code, PTX |
# | `f.trace_count` | `torch._dynamo.utils.counters` | `f.experimental_get_tracing_count()` | `jax_log_compiles` |
# | open lengths | `dynamic=True` | `tf.TensorSpec((None, 3))` | fill up, or `jax.export` |
#
# XLA makes a program for each shape, as minigrad does. PyTorch's compiler writes programs with the length as a
# variable, once it has seen a second one. In the column of JAX, f is a `jax.jit(f)`; `jax_log_compiles` is set by
# `jax.config.update`.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - An interpreter asks the same questions at every run; a compiler asks them once and writes the answers down, as
#   straight-line code. For a training step that is a few dozen calls of NumPy, with all memory laid out.
# - The same graph can be written as a kernel for a GPU: one launch, and what lies between stays in registers.
# - The cost of compiling grows with the nodes, what it saves grows with the calls: n = C / (r − c).
# - It does not pay for one big product, for one small operation, for few calls, or where every call brings a new shape.
# - What is looked at has to exist: an observed program is another one.
#
# **Sources.** C. Leary, T. Wang, *XLA: TensorFlow, compiled*, TensorFlow Dev Summit 2017. J. Ansel and others,
# *PyTorch 2: faster machine learning through dynamic Python bytecode transformation and graph compilation*, ASPLOS
# 2024: TorchInductor, which writes Triton and C++ (section 4). A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman,
# *Compilers*, 2nd edition 2006, chapter 8: from a graph to straight-line code. S. Williams, A. Waterman, D. Patterson,
# *Roofline*, CACM 52 (2009): why traffic to memory decides.
#
# **Exercise.** [15 A compiler of your own](../exercises/15_compiled_code.ipynb): predict what pays, write straight-line
# code, mend a memory plan, keep a budget of programs, and give a compiler something to do.
#
# **Next:** [16 Where the bytes go](16_where_the_bytes_go.ipynb). Before that, change something here: take three names
# of six letters at a time, or thirty. Does the break-even point move up or down? Write it down before you run it.
