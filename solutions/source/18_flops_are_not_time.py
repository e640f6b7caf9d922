# ---
# jupyter:
#   minigrad:
#     title: Find the bottleneck
#     minutes: 20
#     lesson: 18_flops_are_not_time
#     concepts: [E7, F1, G2]
# ---

# %% [markdown]
# # 18 Find the bottleneck
#
# You work out limits with a pencil, write a roofline, and make a slow loop quick. About 20 minutes, in three parts;
# two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad.course import check, solution

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 6 minutes.** A machine does at most 60 · 10⁹ FLOPs in a second, and moves at most 20 · 10⁹ bytes in a
# second. All numbers are float32.
#
# - `edge`: from how many FLOPs a byte on is arithmetic the limit?
#
# Then three operations. Give the least number of **milliseconds** that each takes on this machine:
#
# - `relu`: 60 million numbers. Each is read and written, and costs one FLOP.
# - `product`: two matrices of 1500 × 1500. It has $2n^3$ FLOPs, and moves each of the three matrices once.
# - `copy`: 250 million numbers. Each is read and written.

# %% answer="bounds" points=2 minutes=6
### BEGIN SOLUTION
edge = 60 / 20
relu = 1000 * max(60e6 / 60e9, 2 * 4 * 60e6 / 20e9)
product = 1000 * max(2 * 1500**3 / 60e9, 3 * 4 * 1500**2 / 20e9)
copy = 1000 * 2 * 4 * 250e6 / 20e9
### END SOLUTION

# %%
check("bounds")

# %% probes="bounds"
# Hint: `edge`: FLOPs in a second divided by bytes in a second.
round(float(edge), 3)
# Hint: `relu`: the time of its FLOPs, or that of its bytes, which are four for each number that is read or written: the
# larger counts. In milliseconds.
round(float(relu), 3)
# Hint: `product`: the time of its 2 · 1500³ FLOPs, or that of its bytes: the larger counts. In milliseconds.
round(float(product), 3)
# Hint: `copy`: there is nothing to compute. Each number is read and written, four bytes each time. In milliseconds.
round(float(copy), 3)

# %% [markdown] hints="bounds"
# 1. For each operation there are two times: its FLOPs by 60 · 10⁹, and its bytes by 20 · 10⁹. It takes at least as long
#    as the larger of the two.
# 2. A float32 has four bytes; what is read and written is moved twice.
# 3. relu moves 480 · 10⁶ bytes: 24 ms. The product has 6.75 · 10⁹ FLOPs: 112.5 ms. The copy moves 2 · 10⁹ bytes.

# %% [markdown] shows="bounds"
# The larger of two times is the limit, and it decides what would help.

# %% wrong="bounds" misconception="M16"
# Shows: You counted only the FLOPs, so relu takes a millisecond and the copy no time.
# Hint: How long does it take to move the bytes?
edge, relu, product, copy = 3, 1, 112.5, 0

# %% wrong="bounds"
# Shows: You counted only the bytes. The product has far more to compute than to move.
# Hint: 2 · 1500³ FLOPs, at 60 · 10⁹ in a second.
edge, relu, product, copy = 3, 24, 1.35, 100

# %% wrong="bounds"
# Shows: What is written was not counted.
# Hint: Each number is read, and a result is written.
edge, relu, product, copy = 3, 12, 112.5, 50

# %% wrong="bounds"
# Shows: You took each number for one byte. A float32 has four.
# Hint: 60 million numbers are 240 million bytes, and they are moved twice.
edge, relu, product, copy = 3, 6, 112.5, 25

# %% wrong="bounds"
# Shows: You added the two times. A machine computes and moves data at the same time.
# Hint: The larger of the two is the bound.
edge, relu, product, copy = 3, 25, 113.85, 100

# %% wrong="bounds"
# Shows: The edge is upside down.
# Hint: FLOPs for each byte: divide the FLOPs of a second by its bytes.
edge, relu, product, copy = 1 / 3, 24, 112.5, 100

# %% [markdown]
# ## 2. A roofline
#
# **2 points, 5 minutes.** Write `bound(flops, nbytes, peak, bandwidth)`. `peak` is in FLOPs a second, and `bandwidth`
# in bytes a second. Return a pair:
#
# 1. the least number of seconds that an operation with these FLOPs and bytes takes;
# 2. what limits it, `"arithmetic"` or `"memory"`. If both take equally long, say `"arithmetic"`.
#
# For example, `bound(100, 10, 10, 10)` is `(10.0, "arithmetic")`.


# %% answer="roofline" points=2 minutes=5
def bound(flops, nbytes, peak, bandwidth):
    ### BEGIN SOLUTION
    computing, moving = flops / peak, nbytes / bandwidth
    return max(computing, moving), "arithmetic" if computing >= moving else "memory"
    ### END SOLUTION


# %%
check("roofline")

# %% probes="roofline"
# Hint: The FLOPs take 10 seconds and the bytes 1: the larger counts, and names the bound.
bound(100, 10, 10, 10)
# Hint: The FLOPs take 1 second and the bytes 10: memory is the bound.
bound(10, 100, 10, 10)
# Hint: Nothing to compute: memory is the bound.
bound(0, 50, 10, 5)
# Hint: Both take equally long: arithmetic.
bound(40, 20, 4, 2)
# Hint: Compare times, not FLOPs with bytes.
bound(1e9, 1e9, 2e9, 4e9)
# Hint: Compare times, not FLOPs with bytes: few bytes, and much to compute.
bound(30, 1, 10, 100)
# Hint: There are more bytes than FLOPs, and arithmetic is the bound all the same: compare the times.
bound(30, 40, 1, 100)

# %% [markdown] hints="roofline"
# 1. Two times: `flops / peak`, and `nbytes / bandwidth`.
# 2. Both go on at once, so the larger one is how long it takes.
# 3. `return max(computing, moving), "arithmetic" if computing >= moving else "memory"`.

# %% [markdown] shows="roofline"
# A roofline is two divisions, and all it needs is known before anything runs.


# %% wrong="roofline"
# Shows: You returned the smaller of the two times.
# Hint: The operation ends when both are done: the computing and the moving.
def bound(flops, nbytes, peak, bandwidth):
    computing, moving = flops / peak, nbytes / bandwidth
    return min(computing, moving), "arithmetic" if computing >= moving else "memory"


# %% wrong="roofline"
# Shows: You added the two times.
# Hint: A processor computes while memory delivers.
def bound(flops, nbytes, peak, bandwidth):
    computing, moving = flops / peak, nbytes / bandwidth
    return computing + moving, "arithmetic" if computing >= moving else "memory"


# %% wrong="roofline"
# Shows: You exchanged the two words.
# Hint: If computing takes longer, the limit is arithmetic.
def bound(flops, nbytes, peak, bandwidth):
    computing, moving = flops / peak, nbytes / bandwidth
    return max(computing, moving), "memory" if computing >= moving else "arithmetic"


# %% wrong="roofline"
# Shows: You compared FLOPs with bytes, and not the times that they take.
# Hint: A machine may do more FLOPs in a second than it moves bytes: divide each by its own speed.
def bound(flops, nbytes, peak, bandwidth):
    computing, moving = flops / peak, nbytes / bandwidth
    return max(computing, moving), "arithmetic" if flops >= nbytes else "memory"


# %% wrong="roofline"
# Shows: Where both take equally long it says memory.
# Hint: Read what is asked for in that case.
def bound(flops, nbytes, peak, bandwidth):
    computing, moving = flops / peak, nbytes / bandwidth
    return max(computing, moving), "arithmetic" if computing > moving else "memory"


# %% [markdown]
# ## 3. A loop of your own
#
# **2 points, 8 minutes.** This function returns, for each row of x, the distance to the nearest row of c. It runs
# several operations for each pair of rows:
#
# ```python
# def nearest(x, c):
#     rows = []
#     for i in range(len(x)):
#         distances = [((x[i] - c[j]) ** 2).sum() for j in range(len(c))]
#         rows.append(mg.stack(distances).min().sqrt())
#     return mg.stack(rows)
# ```
#
# Write `nearest(x, c)` with at most **12** operations, whatever the lengths of x and c are. It has to return the same
# numbers, to 10 digits. `operations(nearest)` counts your operations.


# %% name="operations"
def operations(f, rows=6, others=5):
    """How many operations a run of f has."""
    rng = np.random.default_rng(0)
    x, c = mg.tensor(rng.normal(size=(rows, 3))), mg.tensor(rng.normal(size=(others, 3)))
    return sum(bool(node.inputs) for node in mg.function(f, autograph=False).graph_for(x, c).nodes)


# %% answer="no_loop" points=2 minutes=8
def nearest(x, c):
    ### BEGIN SOLUTION
    apart = x.unsqueeze(1) - c.unsqueeze(0)
    return (apart * apart).sum(2).amin(1).sqrt()
    ### END SOLUTION


# %%
check("no_loop")

# %% probes="no_loop"
import numpy as numeric

import minigrad as engine


def pair(rows, others, width):
    rng = numeric.random.default_rng(rows)
    return rng.normal(size=(rows, width)), rng.normal(size=(others, width))


def right(rows, others, width):
    return nearest(*map(engine.tensor, pair(rows, others, width))).numpy()


@referee
def right(sent, rows, others, width):
    x, c = pair(rows, others, width)
    found, wanted = numeric.array(sent), numeric.sqrt(((x[:, None] - c[None]) ** 2).sum(2).min(1))
    close = found.shape == wanted.shape and numeric.allclose(found, wanted, rtol=1e-10, atol=1e-12)
    first = round(float(found.flat[0]), 4) if found.size else None
    return {"shape": found.shape, "the first number": first, "right to 10 digits": close}


def few_operations(rows, others):
    x, c = pair(rows, others, 3)
    traced = engine.function(nearest, autograph=False)
    graph = traced.graph_for(engine.tensor(x), engine.tensor(c))
    return len([node for node in graph.nodes if node.inputs])


@referee
def few_operations(n):
    return "12 or fewer" if n <= 12 else "more than 12, and more with more rows" if n > 40 else "more than 12"


# Hint: One distance for each row of x: the least over the rows of c, with the root.
right(6, 5, 3)
# Hint: More rows in c than in x: which axis is left?
right(4, 9, 2)
# Hint: A single row in each.
right(1, 1, 7)
# Hint: More than 12 operations run. Take all pairs at once, by broadcasting.
few_operations(6, 5)
# Hint: The operations grow with the rows: is there a loop left?
few_operations(20, 5)

# %% [markdown] hints="no_loop"
# 1. All differences of pairs at once: an array of rows × others × width. Which shapes broadcast to that?
# 2. `x.unsqueeze(1)` has the shape (rows, 1, width), `c.unsqueeze(0)` (1, others, width). Then square, and add up the
# last axis.
# 3. `amin(1)` is the least of each row, `sqrt` at the end.

# %% [markdown] shows="no_loop"
# The arithmetic is the same, but a loop pays for a call at each row, and an array pays once.


# %% wrong="no_loop"
# Shows: It is the loop that was given: its operations grow with the rows.
# Hint: Broadcasting makes all pairs at once.
def nearest(x, c):
    rows = []
    for i in range(len(x)):
        distances = [((x[i] - c[j]) ** 2).sum() for j in range(len(c))]
        rows.append(mg.stack(distances).min().sqrt())
    return mg.stack(rows)


# %% wrong="no_loop"
# Shows: Half of the loop is gone: there are still as many operations for each row of x.
# Hint: The rows of x can be taken all at once, too, along an axis of their own.
def nearest(x, c):
    return mg.stack([((x[i] - c) ** 2).sum(1).min().sqrt() for i in range(len(x))])


# %% wrong="no_loop"
# Shows: The axes are exchanged: it gives the distance of each row of c to the nearest of x.
# Hint: The result has as many numbers as x has rows.
def nearest(x, c):
    apart = x.unsqueeze(1) - c.unsqueeze(0)
    return (apart * apart).sum(2).amin(0).sqrt()


# %% wrong="no_loop"
# Shows: These are the squares of the distances: the root is missing.
# Hint: A distance is the root of the sum of the squares.
def nearest(x, c):
    apart = x.unsqueeze(1) - c.unsqueeze(0)
    return (apart * apart).sum(2).amin(1)


# %% wrong="no_loop"
# Shows: This is the mean distance, or another one, and not the smallest.
# Hint: Each row needs its smallest distance: amin.
def nearest(x, c):
    apart = x.unsqueeze(1) - c.unsqueeze(0)
    return (apart * apart).sum(2).sqrt().mean(1)


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. Many launches
#
# **2 points, 8 minutes.** A GPU runs operations one after the other. Each operation is a tuple (FLOPs, bytes read,
# bytes written). It takes `launch` seconds to launch. Then it takes as long as `bound` of part 2 says. Write two
# functions:
#
# - `run_time(ops, peak, bandwidth, launch)` returns the seconds that all operations take.
# - `fused_time(ops, peak, bandwidth, launch)` returns the seconds of *one* kernel that does the same. It is launched
#   once, and has the FLOPs of all operations. It reads what the first one reads, and writes what the last one writes.
#
# For example, `run_time([(10, 40, 40)], 10, 10, 2)` is 10.0: 2 seconds to launch, and 8 to move 80 bytes.


# %% answer="launches" points=2 minutes=8
def run_time(ops, peak, bandwidth, launch):
    ### BEGIN SOLUTION
    return sum(launch + max(flops / peak, (read + written) / bandwidth) for flops, read, written in ops)
    ### END SOLUTION


def fused_time(ops, peak, bandwidth, launch):
    ### BEGIN SOLUTION
    flops, moved = sum(each[0] for each in ops), ops[0][1] + ops[-1][2]
    return launch + max(flops / peak, moved / bandwidth)
    ### END SOLUTION


# %%
check("launches")

# %% probes="launches"
CHAIN = [(10, 40, 40)] * 5
MIXED = [(1000, 8, 4), (1, 4, 4), (2, 4, 1)]

# Hint: `run_time`: each operation takes its launch, and the larger of computing and moving.
round(run_time(CHAIN, 10, 10, 2), 6)
# Hint: `fused_time`: one launch, all the FLOPs, what the first reads and what the last writes.
round(fused_time(CHAIN, 10, 10, 2), 6)
# Hint: `run_time` where the first is bound by arithmetic and the others by memory: take the larger for each one.
round(run_time(MIXED, 10, 1, 0.5), 6)
# Hint: `fused_time`: the FLOPs of all operations are added.
round(fused_time(MIXED, 10, 1, 0.5), 6)
# Hint: A single operation takes as long fused as it does alone.
round(run_time(CHAIN[:1], 10, 10, 2) - fused_time(CHAIN[:1], 10, 10, 2), 6)
# Hint: `run_time` of two operations, with a long launch.
round(run_time([(3, 1, 6), (1, 6, 2)], 1, 1, 10), 6)
# Hint: `fused_time` of two operations: what passes between them never reaches memory.
round(fused_time([(3, 1, 6), (1, 6, 2)], 1, 1, 10), 6)

# %% [markdown] hints="launches"
# 1. `run_time` is a sum over the operations: for each its launch, and the larger of computing and moving.
# 2. Fused, there is one launch; what is written by one operation and read by the next never reaches memory.
# 3. `launch + max(sum of all FLOPs / peak, (ops[0][1] + ops[-1][2]) / bandwidth)`.

# %% [markdown] shows="launches"
# Fusion saves launches and bytes, but not a single FLOP: it helps a chain that is limited by one of the first two.


# %% wrong="launches"
# Shows: One launch was counted for all operations, and each has its own.
# Hint: The launch belongs inside the sum.
def run_time(ops, peak, bandwidth, launch):
    return launch + sum(max(flops / peak, (read + written) / bandwidth) for flops, read, written in ops)


def fused_time(ops, peak, bandwidth, launch):
    flops, moved = sum(each[0] for each in ops), ops[0][1] + ops[-1][2]
    return launch + max(flops / peak, moved / bandwidth)


# %% wrong="launches"
# Shows: The fused kernel was said to move everything that the operations moved.
# Hint: What is in between stays in the processor.
def run_time(ops, peak, bandwidth, launch):
    return sum(launch + max(flops / peak, (read + written) / bandwidth) for flops, read, written in ops)


def fused_time(ops, peak, bandwidth, launch):
    flops, moved = sum(each[0] for each in ops), sum(each[1] + each[2] for each in ops)
    return launch + max(flops / peak, moved / bandwidth)


# %% wrong="launches"
# Shows: The fused kernel was not given the FLOPs of all the operations.
# Hint: Fusion takes no arithmetic away: add up the FLOPs.
def run_time(ops, peak, bandwidth, launch):
    return sum(launch + max(flops / peak, (read + written) / bandwidth) for flops, read, written in ops)


def fused_time(ops, peak, bandwidth, launch):
    return launch + max(ops[0][0] / peak, (ops[0][1] + ops[-1][2]) / bandwidth)


# %% wrong="launches"
# Shows: The larger was taken over the whole program, and not for each operation.
# Hint: Each operation waits for the one before: its own bound is what counts.
def run_time(ops, peak, bandwidth, launch):
    flops, moved = sum(each[0] for each in ops), sum(each[1] + each[2] for each in ops)
    return launch * len(ops) + max(flops / peak, moved / bandwidth)


def fused_time(ops, peak, bandwidth, launch):
    flops, moved = sum(each[0] for each in ops), ops[0][1] + ops[-1][2]
    return launch + max(flops / peak, moved / bandwidth)


# %% [markdown]
# ### 5. Read a profile
#
# **2 points, 7 minutes.** A step of training takes 100 ms. A profiler says of it:
#
# ```
# name          self CPU    # of calls
# convolution    30 ms          20
# index          40 ms           1
# add            20 ms        4000
# matmul         10 ms           2
# ```
#
# - `at_most`: suppose the *convolutions* took no time at all. How many times as fast would the step be? Give two
#   decimals, or a fraction.
# - `first`: the name of the operation that you look at first.
# - `per_call`: the microseconds of one addition.
# - `fewer_calls`: the additions are fused, 40 into one, and a call takes as long as before. Give the milliseconds of
#   the whole step.

# %% answer="profile" points=2 minutes=7
### BEGIN SOLUTION
at_most = 100 / 70
first = "index"
per_call = 20_000 / 4000
fewer_calls = 80 + 20 / 40
### END SOLUTION

# %%
check("profile")

# %% probes="profile"
# Hint: `at_most`: the step takes 100 ms now. How long does it take without the convolutions?
round(float(at_most), 2)
# Hint: `first`: what takes most of the time, whatever its name promises?
str(first).strip().lower()
# Hint: `per_call`: 20 ms are 20,000 microseconds, for 4000 calls.
round(float(per_call), 3)
# Hint: `fewer_calls`: the whole step: the other 80 ms, and a fortieth of the additions.
round(float(fewer_calls), 3)

# %% [markdown] hints="profile"
# 1. What is left if 30 of 100 ms are gone? And the other 70 do not change.
# 2. Look first at what takes most of the time, whatever its name promises. 20 ms are 20,000 microseconds.
# 3. 4,000 calls become 100, of 5 microseconds each: half a millisecond instead of 20.

# %% [markdown] shows="profile"
# No repair can save more than the share of what it repairs, so begin at the top of the profile.

# %% wrong="profile"
# Shows: The step was said to become as fast as if nothing else were in it.
# Hint: 70 ms are left, whatever happens to the convolutions.
at_most, first, per_call, fewer_calls = 100 / 30, "index", 5, 80.5

# %% wrong="profile" misconception="M16"
# Shows: You looked at the convolution first, because it has the most arithmetic.
# Hint: Which line has the most milliseconds?
at_most, first, per_call, fewer_calls = 100 / 70, "convolution", 5, 80.5

# %% wrong="profile"
# Shows: The additions were looked at first, since there are so many; all of them take half as long as the one index.
# Hint: Milliseconds count, not calls.
at_most, first, per_call, fewer_calls = 100 / 70, "add", 5, 80.5

# %% wrong="profile"
# Shows: The additions were left out of the step altogether.
# Hint: 100 calls are left, of 5 microseconds each.
at_most, first, per_call, fewer_calls = 100 / 70, "index", 5, 80

# %% wrong="profile"
# Shows: Only the time of the additions was given, and the whole step is asked for.
# Hint: The other three lines take 80 ms.
at_most, first, per_call, fewer_calls = 100 / 70, "index", 5, 0.5

# %% [markdown]
# ## What you have now
#
# Two divisions say what limits an operation. A loop over rows has become a handful of operations.
#
# Your `nearest` makes an array of rows × others × width. How many bytes is that for 10,000 rows of each, and 100
# columns? Which other way of writing it would not need that array?
#
# **Next**: [19 Smaller](../lessons/19_smaller.ipynb).
