# ---
# jupyter:
#   minigrad:
#     title: Memory and schedule
#     minutes: 30
#     objectives:
#       - read lifetimes off a graph, and count its peak memory
#       - plan buffers by hand, in place where that is allowed, and say why a view is in the way
#       - bound what several workers can gain by work and span
#       - say why eager memory grows with the longest input, and what an allocator keeps in reserve
#     concepts: [D3, D4, D6, D7]
#     builds_on: [13_optimising_a_graph]
#     widgets: [MemoryTimeline, Schedule, Predict, Quiz]
#     terms:
#       lifetime: the steps from the one that makes a result to the last one that reads it
#       peak memory: the largest number of bytes that are alive at one step
#       buffer: a piece of memory that holds one result after another
#       in place: written over an operand that is being read for the last time
#       aliasing: two names for the same memory, such as a view and the array that it looks at
#       rematerialisation: computing a result a second time instead of keeping it
#       work: the time that all operations take together, which is what one worker needs
#       span: the time that the critical path takes; no number of workers can be faster
#       critical path: the slowest chain of operations in which each one waits for the one before
#       caching allocator: code that hands out memory, and keeps freed pieces for the next request of the same size
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 14 Memory and schedule
#
# > `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate … MiB. […] Of the allocated memory … GiB is allocated
# > by PyTorch, and … GiB is reserved by PyTorch but unallocated.`
#
# It is three in the morning, and training has run well for hours. The network has not changed, and neither has the GPU.
# Why does *this* step need more memory than the thousands before it? And what is memory that PyTorch has reserved, but
# not allocated?
#
# At the end of this lesson you can answer both. A graph says what is computed. It leaves open *where* each result lies
# in memory, *when* it is made, and *which worker* makes it. **What is the least memory a graph can run in, and the
# least time on several workers?**
#
# **About 30 minutes.** Afterwards you can
#
# - read lifetimes off a graph, and count its peak memory;
# - plan buffers by hand, in place where that is allowed, and say why a view is in the way;
# - bound what several workers can gain by work and span;
# - say why eager memory grows with the longest input, and what an allocator keeps in reserve.
#
# The folded sections are optional.
#
# **Builds on** [13 Optimising a graph](13_optimising_a_graph.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): *reshape*, *transpose*; the whole, written down beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has seen this message, and after how many hours. Then: how many sheets of paper do you need for a
# long calculation, if you may erase whatever you no longer need?

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, in_turns, reveal
from minigrad.widgets import MemoryTimeline, Schedule

BLUE, VERMILION = "#0072B2", "#D55E00"
follow_theme()


def graph_of(f, *args):
    """The graph that f computes for these arguments."""
    return mg.function(f).graph_for(*args)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long a result lives
#
# The function `small` makes six results; call them a to f. x has 1000 floats, which is 8,000 bytes, and each result is
# as large as x. As soon as nobody will read a result any more, its memory is free for others. At each step we count the
# bytes that are *alive*: the operands of the step, its result, and whatever a later step will still read. x is given
# from outside, so we do not count it. How many bytes are alive at the worst step?


# %%
def small(x):
    a = x * 2
    b = a.exp()
    c = b + 1
    d = c * a
    e = d.sqrt()
    return e - x


Predict("peak of small", "How many bytes of results are alive at the worst step?", unit="bytes")

# %%
x = mg.tensor(np.linspace(0.1, 1, 1000))
graph = graph_of(small, x)
reveal("peak of small", mg.compiler.peak_bytes(graph))

# %%
lives = mg.compiler.lifetimes(graph)
for name, (node, (made, last)) in zip("abcdef", lives.items()):
    print(f"{name}  {node.op.kind:5} made at step {made}, last read at step {last}")

# %% [markdown]
# The **lifetime** of a result runs from the step that makes it to the last step that reads it. (x and the constants are
# steps, too.) The one to watch is a: it is made first, and has to wait for the product `c * a`. While it waits, b and c
# are alive as well. Six arrays are made, but at most three are alive at once. That maximum, 24,000 bytes, is the **peak
# memory**.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Six results in fewer places
#
# Two results whose lifetimes do not overlap can use the same memory, one after the other. Such a shared piece of memory
# is a **buffer**. We can save even more. An elementwise operation reads each element once, and then writes that element
# of the result. So if it reads an operand for the last time, it may write the result over it: **in place**. How many
# buffers does `small` need then?

# %%
Predict("buffers of small", "How many buffers do the six results need, in place where possible?")


# %%
program = mg.compiler.Program(graph)
reveal("buffers of small", len(program.buffers.residents))

# %% slideshow={"slide_type": "subslide"}
print(*(line.split("#")[0].rstrip() for line in program.source.splitlines() if line[:1] in "d "), sep="\n")
print(program.buffers)

# %% [markdown]
# Two buffers are enough, 16,000 bytes. One of them holds a, which has to wait. In the other one each result is written
# over the result before it. Above is the program that the compiler makes of `small`. In each line that calculates, the
# *last* operand is the place to which the line writes: `b0`, which the program keeps from call to call, or `y0`, which
# it returns. (The list below it counts only the six operations, from 0.) All of this was known *before anything ran*.
#
# A matrix product is never done in place. It reads each element many times, so it would read what it had just written.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes up to here. Let the room plan on paper first, with rows of sticky notes on a wall. If somebody says 3,
# they forgot "in place"; if somebody says 1, they forgot that a has to wait. In fused code even b0 shrinks to a block
# of a few elements: see fusion in lesson 13.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: planned by hand, and drawn
#
# Here you find a planner of eight lines, a picture of its buffers, and the bytes alive at each step.


# %% slideshow={"slide_type": "skip"}
def assign_buffers(lives, in_place):
    """Give each result the first buffer that is free, or a new one."""
    busy_until, buffer_of = {}, {}  # buffer → the last step that reads it; result → its buffer
    for node, (made, last) in lives.items():
        free = [b for b, end in busy_until.items() if end < made or (in_place and end == made)]
        buffer_of[node] = free[0] if free else len(busy_until)
        busy_until[buffer_of[node]] = last
    return buffer_of


# %% slideshow={"slide_type": "skip"}
apart, over = assign_buffers(lives, in_place=False), assign_buffers(lives, in_place=True)


def draw_lifetimes(ax, rows, title):
    """Draw a bar for each result, from the step that makes it to the last that reads it."""
    for name, (node, (made, last)) in zip("abcdef", lives.items()):
        ax.barh(rows[node], last - made + 0.9, left=made, height=0.7, color=BLUE, alpha=0.35, edgecolor=BLUE)
        ax.text(made + 0.1, rows[node], name, va="center")
    ax.set(xlabel="step", yticks=sorted(set(rows.values())), title=title)
    ax.invert_yaxis()


fig, axes = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
draw_lifetimes(axes[0], {node: i for i, node in enumerate(lives)}, "a row for each result")
draw_lifetimes(axes[1], apart, f"{len(set(apart.values()))} buffers")
draw_lifetimes(axes[2], over, f"in place: {len(set(over.values()))} buffers")
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plots: a bar for each lifetime. On the left each of the six has its own row, and the bar of a is long. In the
# middle there are three rows, in which no two bars overlap. On the right there are two: a bar may start in the last
# step of the one before it, and looks darker there.*

# %% slideshow={"slide_type": "skip"}
fig, ax = plt.subplots(figsize=(5, 2.4), layout="constrained")
alive = [n / 1000 for n in mg.compiler.alive_bytes(graph)]
ax.step(range(len(alive) + 1), [*alive, alive[-1]], where="post", color=VERMILION)
ax.set(xlabel="step", ylabel="thousand bytes alive", ylim=0)
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: without a plan, the bytes alive climb to 24,000, fall, and end at 16,000.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Several workers
#
# Now to *which worker* makes a result. Operations that do not wait for each other can run at the same time. `branches`
# has seven operations. Say that each takes one unit of time, and that you may have as many workers as you like. How
# many times as fast as one worker can they be, at most?


# %%
def branches(x):
    left = x.exp().sin().tanh()
    right = x.cos().exp().sqrt()
    return left * right


Predict("bound of branches", "How many times as fast as one worker, at most?", tolerance=0.01)


# %%
def unit_time(node):
    return 1 if node.inputs else 0  # a leaf takes no time


forked = graph_of(branches, x)
path = mg.compiler.critical_path(forked, unit_time)
work, span = sum(map(unit_time, forked.nodes)), sum(map(unit_time, path))
reveal("bound of branches", work / span)

# %%
print("critical path:", " → ".join(node.op.kind for node in path))
print(f"work {work}, span {span}, bound {work / span:g}")

# %% [markdown]
# One worker needs the time of all seven operations, the **work**: 7. No number of workers can be faster than the
# longest chain in which each operation waits for the one before. This chain is the **critical path**, and its time is
# the **span**: 4. So the bound is work / span, 7/4 or 1.75. Here two workers reach it, and a third would have nothing
# to do.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Step through the schedule: a free worker always takes the operation with the longest way still ahead of it. Choose 1,
# 2 and 4 workers. When is a worker idle, and what is it waiting for?

# %% tags=["measured", "nbval-ignore-output"]
Schedule(branches, mg.ones(300, 300))

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes. Work and span are the two numbers to take home. Ask for the bound of a chain (1), and of a hundred
# independent operations (100; but then who adds up the results?). An optional section at the end measures two
# threads.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The longest name
#
# Now to the first question of our night. The network of lesson 08 reads names of 3 to 12 letters, and backward reads a
# state for each letter. So a step with long names needs more memory than a step with short ones. A program that is
# compiled for one shape has to fill shorter names up to the longest. We measure a training step with 1000 names of each
# length. Which needs less memory at its peak for the *longest* names, eager or compiled? And on average?


# %% slideshow={"slide_type": "skip"}
rng = np.random.default_rng(0)
start = [mg.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in ((26, 24), (24, 24), (24, 7))]


def read(letters, E, W, V):
    state = mg.zeros(1, 24)
    for letter in letters:
        state = (E[letter] + state @ W).tanh()
    return state @ V


def loss(letters, label, *weights):
    return mg.cross_entropy(read(letters.unbind(), *weights), label)  # a row of letters, one of each name


def batch(length):
    return mg.zeros(length, 1000, dtype=mg.int64), mg.zeros(1000, dtype=mg.int64)


def eager_peak(length):
    with mg.profiler.memory(inputs=start, exact=False) as ledger:
        mg.grad(loss(*batch(length), *start), start)
    return ledger.peak.total / 1e6


# %% tags=["nbval-ignore-output"]
eager = {length: eager_peak(length) for length in range(3, 13)}
longest = graph_of(mg.func.grad(loss, argnums=(2, 3, 4)), *batch(12), *start)
compiled = mg.compiler.Program(mg.compiler.optimised(longest)).peak_bytes / 1e6
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.bar(eager.keys(), eager.values(), color=BLUE, alpha=0.5, edgecolor=BLUE, label="eager")
ax.axhline(compiled, color=VERMILION, linestyle="--", label="compiled for 12 letters")
ax.set(xlabel="letters", ylabel="million bytes at the peak", xticks=[*eager])
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plot: ten bars, which rise by the same amount from 3 letters to 12. A dashed line shows the peak of the compiled
# program, the same for every name. It is above eight of the bars, and below the last.*

# %% tags=["nbval-ignore-output"]
train = [name for name, _ in mg.data.names().train]
average = np.mean([eager[len(name)] for name in train])
print(f"eager: {eager[3]:.1f} to {eager[12]:.1f} million bytes, {average:.1f} on average over the 700 names")
print(f"compiled for 12 letters: {compiled:.1f}, always, and known before the first run")

# %% [markdown]
# Eager memory *adapts*: a short name is cheap. But how much a long one needs is known only when it comes, and if it
# does not fit, training stops at three in the morning. Compiled memory is *predictable*: it is one number, known before
# anything runs. It is even below the highest bar, because results are written over what has been read for the last
# time. The price is arithmetic on letters that are not there: only one of the 700 names has 12 letters. There is a
# middle way: choose a few lengths, say 4, 8 and 12, with a program for each. These are called *buckets*.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask who has seen "out of memory" after three hours of training: that was the longest sentence. Compare
# with lesson 11: a program for each length would also mean a trace for each length.

# %% [markdown] slideshow={"slide_type": "subslide"}
# ### Reserved, but not allocated
#
# And the second question of our night? In eager mode memory is requested when a result is made, and freed when the last
# name lets go of it. Asking the system for memory is slow, and giving it back on a GPU even waits for everything that
# is running. So frameworks put a **caching allocator** in between: it keeps each freed piece, and hands it out at the
# next request of the same size. But if the sizes keep changing, the pieces fit nothing, and the GPU fills up with them.
# They are *reserved* from the system, and not *allocated* to any tensor. (PyTorch tells the two apart:
# `torch.cuda.memory_reserved` and `torch.cuda.memory_allocated`.) An optional section below counts this.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A plan by names
#
# **Where it breaks.** In `viewed`, `back` is a *view* of a: it copies nothing, and reads the memory of a backwards.
# Somebody plans buffers with the lifetimes of *names*. The slice is the last operation that mentions a. So the plan
# gives the memory of a to `x + 1`, and then, in place, to c. Follow that plan for x = [1, 2, 3]. The right result is
# [−1.39, −16.09, −52.6]. What number does the plan give in the *middle*?


# %%
def viewed(x):
    a = x * 2
    back = a[::-1]
    c = (x + 1).exp()
    return back - c


Predict("middle by name", "What does the plan by names give in the middle, where −16.09 is right?", tolerance=0.01)


# %%
three = np.array([1.0, 2.0, 3.0])
a = three * 2
back = a[::-1]  # from here on the plan says that a is free
np.add(three, 1, out=a)
c = np.exp(a, out=a)
by_names = back - c
reveal("middle by name", by_names[1])

# %%
print("by names ", by_names.round(2))
print("eager    ", viewed(mg.tensor(three)).numpy().round(2))
for node, (made, last) in mg.compiler.lifetimes(graph_of(viewed, mg.tensor(three))).items():
    print(f"the compiler's lifetimes: {node.op.kind:3} made at step {made}, last read at step {last}")

# %% [markdown]
# Zero, and no error. c was written over a, so `back` is now c read backwards, and in the middle c is subtracted from
# itself. When two names stand for the same memory, that is called **aliasing**: what you write through one of them
# changes the other. So a lifetime belongs to *memory*, and lasts to the last read through any view. The compiler knows
# that: in its list the product a lives to the last step. To find such a fault, run the graph with `interpret`, which
# never reuses memory, and compare.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Eager code has the same fault: x.add_(1) while somebody still holds x.T. There the engine counts
# versions (lesson 06). A compiler has to know every view beforehand.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: keep what was freed
#
# Here you find a caching allocator of ten lines, and how much it keeps in reserve.


# %% slideshow={"slide_type": "skip"}
from collections import Counter

spare = Counter()  # size → freed pieces that the allocator keeps


def run_with_cache(graph):
    """Request memory for each result, and free it after the last read. Count the requests that the system answers."""
    from_system, lives = 0, mg.compiler.lifetimes(graph)
    for step in range(len(graph.nodes)):
        for size in [node.spec.nbytes for node, (made, _) in lives.items() if made == step]:
            if spare[size]:
                spare[size] -= 1
            else:
                from_system += 1
        spare.update(node.spec.nbytes for node, (_, last) in lives.items() if last == step)
    return from_system


# %% [markdown] slideshow={"slide_type": "skip"}
# Six batches go through a network of five layers: three batches of 32 rows, two of 20 rows, and one of 32 rows again.
# The first batch gets most of its memory from the system. How many requests of the *fourth* batch go to the system:
# none, or as many as in the first? Write it down before you run the cell.

# %% slideshow={"slide_type": "skip"}
layers = [mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 8)]
net = mg.nn.Sequential(*layers)
to_system, reserves = [], []
spare.clear()
for rows in (32, 32, 32, 20, 20, 32):
    to_system.append(run_with_cache(graph_of(net, mg.ones(rows, 64))))
    reserves.append(f"{sum(size * n for size, n in spare.items()):,} bytes")
print("requests that go to the system:", *to_system)
print("kept in reserve afterwards:", ", ".join(reserves))

# %% [markdown] slideshow={"slide_type": "skip"}
# The second batch costs the system nothing, as if the memory had been planned. The fourth batch has a new size. None of
# the spare pieces fits, so it starts from nothing, and the old pieces still lie there, unused: more memory in reserve,
# for *smaller* batches. Real allocators round sizes up and cut large pieces, which helps.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: in which order?
#
# Here you find a function with six valid orders, and two of them need half the memory.

# %% [markdown] slideshow={"slide_type": "skip"}
# The function below has two branches. M has 100 × 100 floats, 80,000 bytes. `M * 2` and `M + 1` are just as large, and
# each of them is summed to only 100 numbers. A valid order runs each operation after the operations whose results it
# reads. The five operations have six valid orders. In how many of the six is never more than *one* of the two large
# arrays alive? Write down a number before you run the cells.


# %% slideshow={"slide_type": "skip"}
def two_sums(M):
    left = (M * 2).sum(0)
    right = (M + 1).sum(0)
    return left * right


# %% slideshow={"slide_type": "skip"}
from itertools import permutations

sums = graph_of(two_sums, mg.ones(100, 100))
leaves = [node for node in sums.nodes if not node.inputs]
operations = [node for node in sums.nodes if node.inputs]


def is_valid(order):
    """Whether each operation comes after those whose results it reads."""
    place = {node: i for i, node in enumerate(order)}
    return all(place[x] < place[node] for node in order for x in node.inputs if x in place)


peaks = {}
for order in filter(is_valid, permutations(operations)):
    in_order = mg.compiler.Ordered(sums.inputs, sums.outputs, (*leaves, *order))
    peaks[in_order] = mg.compiler.peak_bytes(in_order)
    print(f"{' '.join(node.name for node in order):25} {peaks[in_order]:9,} bytes")

# %% [markdown] slideshow={"slide_type": "skip"}
# Only two of the six are good: finish one branch before you begin the other, and the peak is half. In eager mode the
# order is the one that you wrote. A compiler may choose: at every step, minigrad's `ordered` takes the operation that
# adds the fewest bytes. Does it find a good order, even if we give it the worst one?

# %% slideshow={"slide_type": "skip"}
worst = max(peaks, key=peaks.get)
print(f"worst order {peaks[worst]:,} bytes, ordered {mg.compiler.peak_bytes(mg.compiler.ordered(worst)):,} bytes")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: twice, to keep less
#
# Here you find rematerialisation: a lower peak, paid for with arithmetic. Lesson 21 does it for a whole network.

# %% [markdown] slideshow={"slide_type": "skip"}
# In the graph of a gradient, results wait for a long time, because backward reads what forward made (lesson 06). There
# is a way out that sounds wasteful: throw a cheap result away, and compute it a second time when backward needs it.
# This is called rematerialisation. We try it on eight layers x ← 1.5 · tanh(x) and the gradient of their sum. How
# much more arithmetic do you expect, for how much less memory?


# %% slideshow={"slide_type": "skip"}
def deep(x):
    for _ in range(8):
        x = mg.tanh(x) * 1.5
    return x.sum()


without_fusion = mg.compiler.STANDARD[:8]  # the standard passes up to share
kept = mg.compiler.ordered(mg.compiler.optimised(graph_of(mg.func.grad(deep), x), without_fusion))
again = mg.compiler.ordered(mg.compiler.remat(kept, least=0))
for name, version in (("kept", kept), ("computed again", again)):
    peak, arithmetic = mg.compiler.peak_bytes(version), mg.compiler.flops(version)
    print(f"{name:14} peak {peak:,} bytes, {arithmetic:,} operations on numbers")

# %% [markdown] slideshow={"slide_type": "skip"}
# The peak is lower by two arrays of 8,000 bytes, and that costs 3,000 more operations on top of 46,000. Three results
# are computed a second time, all at the beginning of the chain, next to x: the first tanh, its product and the second
# tanh. We pay for memory with arithmetic. The pass pays at most a tenth of what the graph computes. (It leaves graphs
# of less than a megabyte alone, unless we say `least=0`.)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: memory by hand
#
# Here you find checkpoints and micro-batches in a widget: the memory of two training steps, and what lowers its peak.

# %% [markdown] slideshow={"slide_type": "skip"}
# You know the future, even if the engine does not. You may say *where* a result should lie: `np.add(y, 1, out=y)`
# writes it over y. CuPy and PyTorch have the same `out=`. And you may keep less for backward: `checkpoint` runs a part
# of the network again, which is rematerialisation by hand. (A file with the state of a training run is called a
# checkpoint, too. That is something else.)
#
# The widget shows two training steps of a deep network. Turn on *checkpointing* alone, then *micro-batches* alone, then
# *planned buffers* alone. Which of them lower the peak? Step to the peak, and read what takes up the memory.
# (Micro-batches are parts of the batch. They go forward and backward one after the other, while `.grad` adds up their
# gradients.)


# %% slideshow={"slide_type": "skip"}
def squared_error(output, target):
    return (output - target).square().mean()


hidden = [layer for _ in range(4) for layer in (mg.nn.Linear(16, 16), mg.nn.Tanh())]
stack = mg.nn.Sequential(mg.nn.Linear(8, 16), mg.nn.Tanh(), *hidden, mg.nn.Linear(16, 1))
timeline = MemoryTimeline(stack, squared_error, mg.ones(256, 8), mg.zeros(256, 1))
timeline

# %% slideshow={"slide_type": "skip"}
for way, entries in timeline.runs.items():
    switches = [way.micro > 1, way.planned, way.checkpointing]
    if sum(switches) <= 1:  # at most one of them is on
        print(f"{way!s:32} peak {max(entry.total for entry in entries):,} bytes")

# %% [markdown] slideshow={"slide_type": "skip"}
# With checkpoints we keep less of what forward made. With micro-batches forward makes less at a time. Planned buffers
# alone do not win here. Eager backward frees each saved array as soon as it has used it (lesson 06). The planned
# program holds all that forward saved until its backward is done, and it also needs the places in which backward works.
# A plan promises that the number is known, and the same each time. It does not promise a lower peak.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Further: more on workers
#
# Here you find how much of the 1.75 two threads get on your machine, and what workers gain for the name network.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### Two real threads

# %% [markdown] slideshow={"slide_type": "skip"}
# Two threads compute `branches` for two million numbers, and give the same bits as one thread alone.

# %% slideshow={"slide_type": "skip"} tags=["measured", "nbval-ignore-output"]
many = np.linspace(1, 2, 2_000_000)
wide = graph_of(branches, mg.tensor(many))
pair = mg.compiler.Workers(wide, 2)
times = in_turns(alone=lambda: mg.compiler.interpret(wide, many), together=lambda: pair(many), rounds=5)
print(f"{times['alone'] / times['together']:.2f} times as fast with two workers")
print("equal:", mg.compiler.interpret(wide, many)[0].tobytes() == pair(many)[0].tobytes())

# %% [markdown] slideshow={"slide_type": "skip"}
# Less than 1.75, and hardly more than 1 if other programs keep the processor busy. (*Somewhere between* means that the
# rounds disagree, so this run cannot tell.) The seven operations do not take equally long, both workers share one
# memory, and each handover takes time. A bound only promises what will *not* happen.

# %% [markdown] slideshow={"slide_type": "skip"}
# ### One name, and ten
#
# The name network reads a name letter by letter, and each letter waits for the letter before. What is the bound for one
# name of twelve letters? And for ten names in one graph?


# %% slideshow={"slide_type": "skip"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def work_and_span(graph):
    """The time of all operations together, and the time of the longest chain."""
    return sum(map(unit_time, graph.nodes)), max(mg.compiler.ways_left(graph, unit_time).values())


def spell(name):
    """The letters of a name as numbers, a = 0."""
    return [LETTERS.index(letter) for letter in name]


# %% slideshow={"slide_type": "skip"}
def print_bound(what, some):
    """Print the bound of one graph that reads some names."""

    def read_all(*weights):
        return [read(spell(name), *weights) for name in some]

    work, span = work_and_span(graph_of(read_all, *start))
    print(f"{what:19} work {work:3}, span {span:g}, bound {work / span:.1f}")


six = [name for name in train if len(name) == 6]
print_bound("one", ["sopuruchukwu"])
print_bound("it and nine others", ["sopuruchukwu", *train[::75][:9]])  # every 75th name: any nine will do
print_bound("ten of six letters", six[::19][:10])

# %% [markdown] slideshow={"slide_type": "skip"}
# One name is almost a chain, so several workers are of little use to it. Ten names do not wait for each other. But if
# their lengths differ, everybody waits for the longest name. (The bound for ten names of equal length is above ten.
# Looking up a letter in E waits for nothing, so all letters of a name can be looked up at the same time.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("14_memory_and_schedule")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `Program(graph).peak_bytes` | no such number beforehand | none | `compiled.memory_analysis()` |
# | allocator of the system | caching allocator on GPUs | BFC allocator on GPUs | the same, of XLA |
# | `tracemalloc` around a run | `torch.cuda.memory_stats()` | `get_memory_info("GPU:0")` | `device.memory_stats()` |
# | `remat`; `checkpoint(f, x)` | `torch.utils.checkpoint` | `tf.recompute_grad` | `jax.checkpoint(f)` |
# | `np.add(y, 1, out=y)` | `torch.add(y, 1, out=y)`, `y.add_(1)` | none | `donate_argnums` of `jit` |
# | `Workers(graph, 2)` | `torch.cuda.Stream`, on GPUs | `inter_op_parallelism_threads` | XLA decides |
#
# `compiled` is `jax.jit(f).lower(x).compile()`; `get_memory_info` is in `tf.config.experimental`; `device` is
# `jax.devices()[0]`. In the row of `tracemalloc` the other three count on GPUs only.
#
# ### The same in PyTorch
#
# A lifetime lasts until the last reader is gone, through any view: one number that looks into an array of 8,000,000
# bytes keeps all of them. And an edit in place needs no new array.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def lifetimes_in_pytorch(torch):
    """
    a view keeps 8,000,000 bytes
    a copy keeps 8 bytes
    y + 1 is in the memory of y:     False
    y.add_(1) is in the memory of y: True
    """

    def first_number(copy):
        large = torch.ones(1000, 1000, dtype=torch.float64)
        return large[0, 0].clone() if copy else large[0, 0]

    for copy in (False, True):
        kept = first_number(copy).untyped_storage().nbytes()
        print("a copy keeps" if copy else "a view keeps", f"{kept:,} bytes")
    y = torch.ones(1000)
    place = y.data_ptr()
    print("y + 1 is in the memory of y:    ", (y + 1).data_ptr() == place)
    print("y.add_(1) is in the memory of y:", y.add_(1).data_ptr() == place)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A lifetime runs from the step that makes a result to the last step that reads it, through any view. The most bytes
#   alive at one step are the peak.
# - Results whose lifetimes do not overlap can share a buffer. An elementwise result may be written over an operand.
# - Work / span bounds what several workers can gain.
# - Eager memory follows the input, and a caching allocator keeps what was freed. Planned memory is known beforehand.
# - A view is a second name for the same memory: a lifetime lasts to the last read through any name.
# - What is cheap may be thrown away and computed again: **rematerialisation**, in an optional section and in lesson 21.
#
# **Sources.** M. Poletto, V. Sarkar, *Linear scan register allocation*, ACM TOPLAS 21 (1999): lifetimes as intervals,
# and places given out in one sweep, section 4. T. Chen and others, *Training deep nets with sublinear memory cost*,
# arXiv:1604.06174 (2016), section 3: in place, sharing and recomputing on a graph. R. L. Graham, *Bounds on
# multiprocessing timing anomalies*, SIAM J. Appl. Math. 17 (1969): list schedules. R. P. Brent, *The parallel
# evaluation of general arithmetic expressions*, Journal of the ACM 21 (1974), lemma 2: work and span.
#
# **Exercise.** [14 Places and times](../exercises/14_places_and_times.ipynb): count a peak, and repair a plan.
#
# **Next:** [15 Compiled code](15_compiled_code.ipynb): the program that all of this becomes, and when it pays.
