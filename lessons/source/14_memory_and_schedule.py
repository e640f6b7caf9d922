# ---
# jupyter:
#   minigrad:
#     title: Memory and schedule
#     minutes: 45
#     objectives:
#       - read lifetimes off a graph, and count its peak memory
#       - plan buffers by hand, in place where that is allowed, and say why a view is in the way
#       - find a better order, or compute something twice, to lower a peak
#       - bound what several workers can gain by work and span, and check it
#       - say what a run without a graph can do about its memory
#     concepts: [D3, D4, D6, D7]
#     builds_on: [13_optimising_a_graph]
#     widgets: [MemoryTimeline, Schedule, Predict, Quiz]
#     terms:
#       lifetime: of a result, the steps from the one that makes it to the last one that reads it
#       peak memory: the most bytes that are alive at one step
#       buffer: a piece of memory that holds one result after another
#       in place: written over an operand that is read for the last time
#       aliasing: that two names look at the same memory, as a view and its original do
#       rematerialisation: computing a result a second time, so that it need not be kept
#       work: how long all operations take together, for one worker
#       span: how long the critical path takes; no number of workers is quicker
#       critical path: the chain of operations, each of which waits for the one before, that takes longest
#       caching allocator: what hands out memory, and keeps what is given back for the next request of that size
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 14 Memory and schedule
#
# In lesson 08 whatever was worked out for one graph of the name network was forgotten with it. A graph that stays is
# worth planning. It says what is computed from what, and leaves open *where* the results lie, *when* each is made, and
# *by whom*. **How much memory does a graph need at least, and how much time, if there are several workers?** Both are
# questions about the same picture: who waits for whom.
#
# **About 45 minutes.** Afterwards you can
#
# - read lifetimes off a graph, and count its peak memory;
# - plan buffers by hand, in place where that is allowed, and say why a view is in the way;
# - find a better order, or compute something twice, to lower a peak;
# - bound what several workers can gain, and check it;
# - say what a run without a graph can do about its memory.
#
# **Builds on** [13 Optimising a graph](13_optimising_a_graph.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): *reshape*, *transpose*; the whole, written down beforehand.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Lesson 13 made fewer operations; today they stay, and we move them about in space and time. Ask: how
# many sheets of paper do you need for a long calculation, if you may rub out what you do not need any more?

# %% slideshow={"slide_type": "skip"}
import tracemalloc
from collections import Counter
from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, in_turns, reveal
from minigrad.widgets import MemoryTimeline, Schedule

BLUE, VERMILION = "#0072B2", "#D55E00"
follow_theme()


def graph_of(f, *args):
    return mg.function(f).graph_for(*args)


# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long a result lives
#
# x has 1000 floats, 8,000 bytes. `small` makes six results of the same size; call them a to f. Once nobody will read a
# result any more, its memory is free. x itself is given, and not counted. How much is alive at one step at most,
# counting the operands and the result of that step?


# %%
def small(x):
    a = x * 2
    b = a.exp()
    c = b + 1
    d = c * a
    e = d.sqrt()
    return e - x


Predict("peak of small", "How many bytes of results are alive at most?", unit="bytes")

# %%
x = mg.tensor(np.linspace(0.1, 1, 1000))
graph = graph_of(small, x)
lives = mg.compiler.lifetimes(graph)
for name, (node, (made, last)) in zip("abcdef", lives.items()):
    print(f"{name}  {node.op.kind:5} made at step {made}, last read at step {last}")
reveal("peak of small", mg.compiler.peak_bytes(graph))

# %% [markdown]
# Steps are counted over all nodes, including x and the constants. The **lifetime** of a result goes from the step that
# makes it to the last that reads it; a result of the whole graph lives to the end. a is the one to watch: it is made
# first and waits for the product, while b and c are made and are alive beside it. The **peak memory** is three arrays,
# although six are made.


# %% slideshow={"slide_type": "subslide"}
def drawn(ax, lives, rows, title):
    """A bar for each result, from the step that makes it to the last that reads it, in its row."""
    for name, (node, (made, last)) in zip("abcdefgh", lives.items()):
        ax.barh(rows[node], last - made + 0.9, left=made, height=0.7, color=BLUE, alpha=0.35, edgecolor=BLUE)
        ax.text(made + 0.1, rows[node], name, va="center")
    ax.set(xlabel="step", yticks=sorted(set(rows.values())), title=title)
    ax.invert_yaxis()


fig, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
drawn(left, lives, {node: i for i, node in enumerate(lives)}, "a row for each result")
alive = [n / 1000 for n in mg.compiler.alive_bytes(graph)]
right.step(range(len(alive) + 1), [*alive, alive[-1]], where="post", color=VERMILION)
right.set(xlabel="step", ylabel="thousand bytes alive", ylim=0, title="what is alive")
plt.show()

# %% [markdown]
# *The plots: on the left six bars, of which the first, a, is long and spans those of b, c and d. On the right the bytes
# alive climb to 24,000, fall, and end at 16,000.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Six results in fewer places
#
# Two results whose lifetimes do not overlap can lie in the same memory, in one **buffer**. And there is one more
# saving. An elementwise operation reads each element once before it writes that element; so when an operand is read
# for the last time, the result may be written over it: **in place**. How many buffers does `small` need then?

# %%
Predict("buffers of small", "How many buffers do the six results need, in place where possible?")


# %%
def planned(lives, in_place):
    """Result → the number of its buffer: the first one that is free, or a new one."""
    until, row = {}, {}  # until: buffer → the step that reads it last
    for node, (made, last) in lives.items():
        free = [b for b, end in until.items() if end < made or (in_place and end == made)]
        row[node] = free[0] if free else len(until)
        until[row[node]] = last
    return row


apart, over = planned(lives, in_place=False), planned(lives, in_place=True)
fig, axes = plt.subplots(1, 2, figsize=(9, 2.2), layout="constrained")
drawn(axes[0], lives, apart, "buffers")
drawn(axes[1], lives, over, "buffers, in place")
plt.show()

# %% [markdown]
# *The plots: the same bars in rows of buffers. On the left three rows, where no two bars overlap; on the right two,
# where a bar may begin in the last step of the one before it: there they overlap, and are darker.*

# %%
print("buffers:", len(set(apart.values())), " in place:", len(set(over.values())))
reveal("buffers of small", len(set(over.values())))

# %% [markdown] slideshow={"slide_type": "subslide"}
# The compiler plans the same way, with sizes: each result gets an offset in one block of memory. Its program shows the
# plan. Read the last operand of each line, which is where it writes: b0 is kept between calls, y0 is handed out. (In
# the list of buffers only the six operations are counted, from 0.)

# %%
program = mg.compiler.Program(graph)
print(*(line.split("#")[0].rstrip() for line in program.source.splitlines() if line[:1] in "d "), sep="\n")
print(program.buffers)

# %% [markdown]
# Two buffers: 16,000 bytes, and not one more, known *before anything ran*. All that a call asks the system for is y0,
# because it goes to the caller; b0 has been there since before the first call. A matrix product is never done in place:
# it reads each element many times, and would read what it has written.

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes up to here. Let the room plan on paper first, rows of sticky notes on a wall. Whoever says 3 forgot "in
# place"; whoever says 1 forgot that a waits. In fused code even b0 shrinks to a block: see fusion in lesson 13.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## In which order?
#
# M has 100 × 100 floats, 80,000 bytes. Two intermediate results are just as large, and each is summed to 100 numbers.
# The five operations can be done in six orders. In how many of them is only *one* of the large ones alive at a time?


# %%
def two_sums(M):
    left = (M * 2).sum(0)
    right = (M + 1).sum(0)
    return left * right


Predict("good orders", "In how many of the six orders is one large array alive at a time?")

# %%
sums = graph_of(two_sums, mg.ones(100, 100))
given, made = ([n for n in sums.nodes if bool(n.inputs) is computed] for computed in (False, True))


def is_topological(row):
    place = {node: i for i, node in enumerate(row)}
    return all(place[x] < place[node] for node in row for x in node.inputs if x in place)


peaks = {}
for row in filter(is_topological, permutations(made)):
    order = mg.compiler.Ordered(sums.inputs, sums.outputs, (*given, *row))
    peaks[row] = mg.compiler.peak_bytes(order)
    print(f"{' '.join(node.name for node in row):25} {peaks[row]:9,} bytes")
reveal("good orders", sum(peak < 100_000 for peak in peaks.values()))

# %% [markdown]
# Finish one branch before you begin the other, and the peak is half. In eager mode the order is the one you wrote, and
# the names `left` and `right` keep alive what they stand for. A compiler may choose: `ordered` always runs next
# whatever adds the fewest bytes. From the worst order it finds the best:

# %%
worst = max(peaks, key=peaks.get)
bad = mg.compiler.Ordered(sums.inputs, sums.outputs, (*given, *worst))
print(*(f"{mg.compiler.peak_bytes(each):,} bytes" for each in (bad, mg.compiler.ordered(bad))), sep=", ordered anew ")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Twice, to keep less
#
# Backward reads what forward made, so in the graph of a gradient results wait a long time (lesson 06).
# **Rematerialisation** computes a cheap one again when it is needed, and keeps nothing meanwhile. Here are eight layers
# x ← 1.5 · tanh(x), and the gradient of their sum. Guess before you run: what does it cost, and what does it bring?


# %%
def deep(x):
    for _ in range(8):
        x = mg.tanh(x) * 1.5
    return x.sum()


passes = mg.compiler.STANDARD[:8]  # up to share, and nothing fused
before = mg.compiler.ordered(mg.compiler.optimised(graph_of(mg.func.grad(deep), x), passes))
after = mg.compiler.ordered(mg.compiler.remat(before, least=0))
for name, each in (("kept", before), ("computed again", after)):
    peak, done = mg.compiler.peak_bytes(each), mg.compiler.flops(each)
    print(f"{name:14} peak {peak:,} bytes, {done:,} operations on numbers")
kinds = [Counter(node.op.kind for node in each.nodes) for each in (after, before)]
print("operations more:", {kind: n for kind, n in (kinds[0] - kinds[1]).items() if kind != "Const"})

# %% [markdown]
# Two arrays of 8,000 bytes less, for 3,000 more operations on top of 46,000. The first tanh, its product and the second
# tanh are computed a second time: x is enough for that, and x is there anyway. Memory is paid for with arithmetic; the
# pass spends a tenth of the arithmetic at most. (It leaves graphs of less than a megabyte alone: `least=0` made it
# look.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for order and rematerialisation. Somebody will say that recomputing saves compute because it saves memory
# traffic; that is sometimes true, once it is fused. The point: memory is a price that can be paid in another currency.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Several workers
#
# Operations that do not wait for each other can run at the same time. Here are seven of them; say that each takes one
# unit of time. How many times as fast can *any* number of workers be, at most?


# %%
def branches(x):
    left = x.exp().sin().tanh()
    right = x.cos().exp().sqrt()
    return left * right


Predict("bound of branches", "How many times as fast at most?", tolerance=0.01)


# %%
def one_each(node):
    return 1 if node.inputs else 0


def work_and_span(graph):
    return sum(map(one_each, graph.nodes)), max(mg.compiler.ways_left(graph, one_each).values())


forked = graph_of(branches, x)
work, span = work_and_span(forked)
print("critical path:", " → ".join(node.op.kind for node in mg.compiler.critical_path(forked, one_each)))
print(f"work {work}, span {span:g}, bound {work / span:g}")
reveal("bound of branches", work / span)

# %% [markdown]
# One worker needs the sum of all, the **work**: 7. No number of workers beats the longest chain in which each operation
# waits for the one before. That is the **critical path**, and how long it takes is the **span**: 4. So the bound is
# work / span, 7/4. A second worker reaches it here, and a third has nothing to do.
#
# And the name network? A letter waits for the letter before. Guess the bound for one name, and for ten names in one
# graph, before you run this:

# %%
names = mg.data.names()
LETTERS = "abcdefghijklmnopqrstuvwxyz"
rng = np.random.default_rng(0)
start = [mg.tensor(rng.normal(0, 0.2, shape), requires_grad=True) for shape in ((26, 24), (24, 24), (24, 7))]


def read(name, E, W, V):
    state = mg.zeros(1, 24)
    for letter in name:
        state = (E[LETTERS.index(letter)] + state @ W).tanh()
    return state @ V


train = [name for name, _ in names.train]
long, six = ["sopuruchukwu"], [name for name in train if len(name) == 6]
for what, some in ("one", long), ("it and nine", long + train[::75][:9]), ("ten of six letters", six[::19][:10]):
    work, span = work_and_span(graph_of(lambda *start, some=some: [read(name, *start) for name in some], *start))
    print(f"{what:19} work {work:3}, span {span:g}, bound {work / span:.1f}")

# %% [markdown]
# One name is nearly a chain, and parallel machines help only *inside* its operations. Ten names do not wait for each
# other; but as long as they are of different lengths, all wait for the longest. (The bound of ten equal names is above
# ten, because their letters can be looked up beforehand, all at once.)

# %% [markdown] slideshow={"slide_type": "subslide"}
# Who runs what? Step through the schedule: each free worker takes the operation with the longest way still ahead of it.
# Choose 1, 2 and 4 workers, and compare estimated with measured times. When is a worker idle, and what does it wait
# for?

# %% tags=["measured", "nbval-ignore-output"]
Schedule(branches, mg.ones(300, 300))

# %% [markdown]
# And for real: two threads, two million numbers, and the same bits as one worker alone. How much of the 7/4 do we get?

# %% tags=["measured", "nbval-ignore-output"]
many = np.linspace(1, 2, 2_000_000)
wide = graph_of(branches, mg.tensor(many))
pair = mg.compiler.Workers(wide, 2)
times = in_turns(alone=lambda: mg.compiler.interpret(wide, many), together=lambda: pair(many), rounds=5)
print(f"{times['alone'] / times['together']:.2f} times as fast with two workers")
print("equal:", mg.compiler.interpret(wide, many)[0].tobytes() == pair(many)[0].tobytes())

# %% [markdown]
# Less than 1.75, and hardly more than 1 where other programs keep the processor busy. (*Somewhere between* means that
# the rounds disagree, and that this run cannot tell.) The seven operations do not take equally long, both workers share
# one memory, and every handover takes time. A bound is a promise of what will *not* happen.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes. Work and span are the two numbers to take home. Ask for the bound of a chain (1), and of a hundred
# independent operations (100, and then who adds them up?).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Without a graph (1): memory that is not given back
#
# In eager mode the future is unknown: memory is asked for when a result is made, and given back when the last name lets
# it go. Asking the system for memory is slow, and on a GPU giving it back waits for everything that is running. So
# there is a **caching allocator**: what is given back is kept, and the next request of that size gets it. Here is one.
# A chain of layers, run eagerly, asks it for each result, and gives it back after the last read.


# %% slideshow={"slide_type": "skip"}
class CachingAllocator:
    def __init__(self):
        self.spare, self.from_system = Counter(), 0  # size → how many wait; requests that the system had to answer

    def request(self, nbytes):
        if self.spare[nbytes]:
            self.spare[nbytes] -= 1
        else:
            self.from_system += 1

    def run(self, graph):
        """Requests of a run, for as many results as there are."""
        lives = mg.compiler.lifetimes(graph)
        for step in range(len(graph.nodes)):
            for node, (made, _) in lives.items():
                if made == step:
                    self.request(node.spec.nbytes)
            self.spare.update(node.spec.nbytes for node, (_, last) in lives.items() if last == step)
        return len(lives)


# %% [markdown]
# Six batches go through a network of five layers; the fourth and fifth are shorter. In the first, most memory comes
# from the system. How many requests of the *fourth* go to the system?

# %%
Predict("fourth batch", "Requests to the system in the fourth batch:", options=["none", "as many as in the first"])

# %%
layers = [mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 8)]
net = mg.nn.Sequential(*layers)
cache, asked = CachingAllocator(), []
for rows in (32, 32, 32, 20, 20, 32):
    before = cache.from_system
    requests = cache.run(graph_of(net, mg.ones(rows, 64)))
    asked.append(cache.from_system - before)
    kept = sum(nbytes * n for nbytes, n in cache.spare.items())
    print(f"{rows} rows: {requests} requests, {asked[-1]} to the system; then {kept:6,} bytes wait")
reveal("fourth batch", "as many as in the first" if asked[3] == asked[0] else "none")

# %% [markdown]
# The second batch costs the system nothing, as if it had been planned. A new size has to begin from nothing, and the
# old pieces wait beside the new ones: more is *reserved* than is *alive*. That is what `torch.cuda.memory_reserved` and
# `memory_allocated` tell apart, and why varying lengths can fill a GPU with pieces that fit nothing. (Real allocators
# round sizes up and cut large pieces.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Without a graph (2): by hand
#
# You know the future even where the engine does not. You may say *where* a result should lie, with `out=` in NumPy,
# PyTorch and CuPy: `np.add(y, 1, out=y)` (lesson 15 does so, and counts). And you may keep less for backward:
# `checkpoint` runs a part again, which is rematerialisation by hand. Here is a training step of a deep network. Turn on
# *checkpointing*, then *micro-batches*, then *planned buffers*, each alone: which of them lower the peak, and which one
# does not? (Micro-batches are parts of the batch, which go forward and backward one after the other, while `.grad` adds
# up.) Step to the moment of the peak, and read what takes up the memory.


# %%
def squared_error(output, target):
    return (output - target).square().mean()


hidden = [part for _ in range(4) for part in (mg.nn.Linear(16, 16), mg.nn.Tanh())]
stack = mg.nn.Sequential(mg.nn.Linear(8, 16), mg.nn.Tanh(), *hidden, mg.nn.Linear(16, 1))
timeline = MemoryTimeline(stack, squared_error, mg.ones(256, 8), mg.zeros(256, 1))
timeline

# %%
for way, entries in timeline.runs.items():
    if (way.micro > 1) + way.planned + way.checkpointing <= 1:  # one at a time
        print(f"{way!s:32} peak {max(entry.total for entry in entries):,} bytes")

# %% [markdown]
# Checkpoints keep less of what forward made, micro-batches make less of it at a time. Planned buffers alone do not win
# here. Eager backward lets go of each saved array as it passes (lesson 06); the planned program holds what forward
# saved until its backward is done, and beside it all the places that backward works in. A plan promises that the number
# is known and the same each time; it does not promise a lower peak.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Lengths that vary
#
# The names of lesson 08 have 3 to 12 letters, and backward reads a state for each. In eager mode a name takes what it
# needs. In a program compiled for one shape, shorter names are filled up to the longest. For the peak of the *longest
# name*, which is better? And for the average one? We measure a step with 1000 names of each length.


# %%
def loss(letters, label, E, W, V):
    state = mg.zeros(letters.shape[1], 24)
    for letter in letters.unbind():  # a row of letters, one of each name
        state = (E[letter] + state @ W).tanh()
    return mg.cross_entropy(state @ V, label)


def peak_of_a_step(letters, label):
    def step():
        mg.grad(loss(letters, label, *start), start)

    step()
    tracemalloc.start()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 1e6, 2)


def batch(length):
    return mg.zeros(length, 1000, dtype=mg.int64), mg.zeros(1000, dtype=mg.int64)


# %% tags=["nbval-ignore-output"]
eager = {length: peak_of_a_step(*batch(length)) for length in range(3, 13)}
longest = graph_of(mg.func.grad(loss, argnums=(2, 3, 4)), *batch(12), *start)
planned_peak = mg.compiler.Program(mg.compiler.optimised(longest)).peak_bytes / 1e6
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.bar(eager.keys(), eager.values(), color=BLUE, alpha=0.5, edgecolor=BLUE, label="eager")
ax.axhline(planned_peak, color=VERMILION, linestyle="--", label="compiled for 12 letters")
ax.set(xlabel="letters", ylabel="million bytes at the peak", xticks=[*eager])
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plot: ten bars, which rise by the same step from 3 letters to 12. A dashed line, the compiled program's peak for
# every name, is above seven of them, and below the last three.*

# %% tags=["nbval-ignore-output"]
average = np.mean([eager[len(name)] for name in train])
print(f"eager: {eager[3]:.1f} to {eager[12]:.1f} million bytes, {average:.1f} on average over the 700 names")
print(f"compiled for 12 letters: {planned_peak:.1f}, always, and known before the first run")

# %% [markdown]
# Eager memory *adapts*: a short name is cheap, and a long one that does not fit is an error in the middle of the night.
# Compiled memory is *predictable*: one number, known before anything runs, and here it is smaller than the highest bar,
# because what is read for the last time is written over. The price is arithmetic on filling: only one of the 700 names
# has 12 letters. In between, one can choose a few lengths, say 4, 8 and 12, with a program for each: *buckets*.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask who has seen "out of memory" after three hours of training: that was the longest sentence. Compare
# with lesson 11: a program per length would also mean a trace per length.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** `back` below is a view of a, the same memory backwards. Somebody plans with lifetimes by *name*:
# a is last read by the slice, so the next result may have its buffer. What does the program give, the right numbers or
# others?


# %%
def viewed(x):
    a = x * 2
    back = a[::-1]
    c = (x + 1).exp()
    return back - c


def by_name(graph):
    """When each array is made and read, as if each name had memory of its own."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    last = {x: place[node] for node in graph.nodes for x in node.inputs}
    return {n: (i, last.get(n, len(place))) for n, i in place.items() if n.inputs and not n.op.is_view}


Predict("planned by name", "What does it give?", options=["the right numbers", "other numbers", "an error"])


# %%
def run_in(graph, row, array):
    """The result, each array lying in the buffer that the plan says."""
    values, memory = {graph.inputs[0]: array}, {}
    for node in graph.nodes:
        if node not in values:
            y = mg.compiler.value(node, *[values[x] for x in node.inputs])
            if node in row:
                buffer = memory.setdefault(row[node], np.empty_like(y))
                buffer[...] = y
                y = buffer
            values[node] = y
    return values[graph.outputs[0]]


three = np.array([1.0, 2.0, 3.0])
alias = graph_of(viewed, mg.tensor(three))
for plan in (mg.compiler.lifetimes, by_name):
    print(f"{plan.__name__:9}", np.round(run_in(alias, planned(plan(alias), in_place=True), three), 2))
print("eager    ", np.round(viewed(mg.tensor(three)).numpy(), 2))

# %%
others = not np.allclose(run_in(alias, planned(by_name(alias), True), three), viewed(mg.tensor(three)).numpy())
reveal("planned by name", "other numbers" if others else "the right numbers")

# %% [markdown]
# Other numbers, and no error: c was written over a, and `back` is now c backwards. When two names look at the same
# memory, that is called **aliasing**: whoever writes through one of them changes the other. A lifetime belongs to
# *memory*, and lasts to the last read through any view. To see such a fault, run the graph with `interpret`, which
# never reuses anything, and compare.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. The same fault in eager code: x.add_(1) while somebody holds x.T. There the engine counts versions
# (lesson 06); a compiler has nobody to ask, so it must know every view.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("14_memory_and_schedule")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
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
# `jax.devices()[0]`. The entries beside `tracemalloc` count on GPUs only.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A lifetime goes from the step that makes a result to the last one that reads it, through any view. The most that is
#   alive at one step is the peak.
# - Lifetimes that do not overlap share a buffer; an elementwise result may take the place of an operand.
# - The order decides the peak; and what is cheap may be computed twice.
# - Work / span bounds what several workers can gain; what is measured is less.
# - In eager mode: caching, checkpoints, `out=`. Dynamic memory adapts, planned memory is known beforehand.
#
# **Sources.** M. Poletto, V. Sarkar, *Linear scan register allocation*, ACM TOPLAS 21 (1999): lifetimes as intervals,
# and places given out in one sweep, section 4. T. Chen and others, *Training deep nets with sublinear memory cost*,
# arXiv:1604.06174 (2016), section 3: in place, sharing and recomputing on a graph. R. L. Graham, *Bounds on
# multiprocessing timing anomalies*, SIAM J. Appl. Math. 17 (1969): list schedules. R. P. Brent, *The parallel
# evaluation of general arithmetic expressions*, Journal of the ACM 21 (1974), lemma 2: work and span.
#
# **Exercise.** [14 Places and times](../exercises/14_places_and_times.ipynb): count a peak, repair a plan, keep a
# budget, and design a graph for two.
#
# **Next:** [15 Compiled code](15_compiled_code.ipynb): the program that all of this becomes, and when it pays.
