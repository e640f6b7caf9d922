# ---
# jupyter:
#   minigrad:
#     title: Half the memory
#     minutes: 20
#     lesson: 21_twice_to_keep_less
#     concepts: [E5, E10]
# ---

# %% [markdown]
# # 21 Half the memory
#
# You count segments on paper, write the count down for segments of any length, and add up the gradients of unequal
# micro-batches. About 20 minutes, in three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution
from minigrad.utils.checkpoint import checkpoint

# %% [markdown]
# ## 1. On paper
#
# **2 points, 6 minutes.** A chain of 144 equal layers is cut into 9 segments of 16 layers. All but the last are
# checkpoints. Each layer leaves one array for backward. Backward has twice the FLOPs of forward.
#
# - `saved`: how many arrays are saved for backward at one time, at most? Do not count the operand of the whole chain.
# - `best`: with how many equal segments are the fewest arrays saved?
# - `again`: with the 9 segments some layers run a second time. What fraction of the FLOPs of one forward pass is that?
# - `step`: how many times the FLOPs of one forward pass does a whole step with the 9 segments have?
#
# Give `again` and `step` to two decimals, or as fractions.

# %% answer="segments_on_paper" points=2 minutes=6
### BEGIN SOLUTION
saved = 9 - 1 + 16
best = 12
again = 8 / 9
step = 1 + 2 + 8 / 9
### END SOLUTION

# %%
check("segments_on_paper")

# %% probes="segments_on_paper"
# Hint: `saved`: one array between each two segments, and the 16 of the segment in which backward is.
int(saved)
# Hint: `best`: k segments keep about k + 144 / k arrays.
int(best)
# Hint: `again`: all segments but the last run a second time.
round(float(again), 2)
# Hint: `step`: one forward, twice as much for backward, and what runs again.
round(float(step), 2)

# %% [markdown] hints="segments_on_paper"
# 1. Between 9 segments there are 8 arrays; while backward is in a segment, those of its 16 layers are there, too.
# 2. k + 144 / k is smallest where both parts of the sum are equal.
# 3. All but the last segment run again: 8 of 9. The step is forward, twice forward, and that.

# %% [markdown] shows="segments_on_paper"
# The best number of segments is the square root of the number of layers, and the price is almost one more forward pass.

# %% wrong="segments_on_paper" misconception="M14"
# Shows: You thought that checkpointing saves compute.
# Hint: What is not kept is computed a second time, on top of forward and backward.
saved, best, again, step = 24, 12, -8 / 9, 3 - 8 / 9

# %% wrong="segments_on_paper"
# Shows: The arrays between the segments are missing.
# Hint: From what does a segment begin again? 8 of those are kept.
saved, best, again, step = 16, 12, 8 / 9, 3 + 8 / 9

# %% wrong="segments_on_paper"
# Shows: The last segment was taken for a checkpoint: it would run again at once, and is none.
# Hint: How many of the 9 run a second time?
saved, best, again, step = 24, 12, 1, 4

# %% wrong="segments_on_paper"
# Shows: What runs again was given as the whole step, and forward and backward are in it, too.
# Hint: One forward, a backward of two, and the part that is computed again.
saved, best, again, step = 24, 12, 8 / 9, 8 / 9

# %% wrong="segments_on_paper"
# Shows: With a checkpoint for each layer an operand is kept for each, and nothing is won.
# Hint: Put k = 144 into k − 1 + 144 / k, and then k = 12.
saved, best, again, step = 24, 144, 8 / 9, 3 + 8 / 9

# %% wrong="segments_on_paper"
# Shows: You counted the arrays of all segments as if they were there at the same time.
# Hint: Backward is in one segment at a time, and frees it before it comes to the one before.
saved, best, again, step = 144, 12, 8 / 9, 3 + 8 / 9

# %% wrong="segments_on_paper"
# Shows: An array was counted for each of the 9 segments, and the first begins from the chain's own operand.
# Hint: How many places are there between 9 segments?
saved, best, again, step = 25, 12, 8 / 9, 3 + 8 / 9

# %% wrong="segments_on_paper"
# Shows: The step is given as a multiple of a step without checkpoints.
# Hint: Forward is the unit: a step without checkpoints is 3 of it.
saved, best, again, step = 24, 12, 8 / 9, 1 + 8 / 27

# %% wrong="segments_on_paper"
# Shows: The layers that run again were counted, and the fraction of a forward is asked for.
# Hint: 128 of the 144 layers.
saved, best, again, step = 24, 12, 128, 3 + 8 / 9

# %% wrong="segments_on_paper"
# Shows: Backward is missing from the step, or counted once; it has twice the FLOPs of forward.
# Hint: A step without checkpoints is 3 forwards; what is added to it?
saved, best, again, step = 24, 12, 8 / 9, 1 + 8 / 9

# %% [markdown]
# ## 2. Segments of any length
#
# **2 points, 6 minutes.** Now the segments need not be equal. The list `lengths` says how many layers each of them
# has, in order. All but the last are checkpoints. Write `kept(lengths)`. It returns how many arrays are saved for
# backward at one time, at most.
#
# Backward begins with the last segment. When it is done with a segment, the arrays of that segment are freed, and so
# is its operand. Do not count the operand of the first segment: it belongs to the chain.
#
# For example, `kept([16, 16])` is 17: the operand of the second segment, and 16 arrays inside it.


# %% answer="segment_lengths" points=2 minutes=6
def kept(lengths):
    ### BEGIN SOLUTION
    return max(before + layers for before, layers in enumerate(lengths))
    ### END SOLUTION


# %%
check("segment_lengths")

# %% probes="segment_lengths"
# Hint: A single segment is no checkpoint: its 16 arrays.
kept([16])
# Hint: Backward begins with the last segment: its 8 arrays, and one operand that is kept.
kept([8, 8])
# Hint: While backward is in segment i, counted from 0, the operands of segments 1 to i are kept.
kept([4, 4, 4, 4])
# Hint: The first segment may be the longest.
kept([10, 1])
# Hint: The last segment may be the longest, and one operand is kept with it.
kept([1, 10])
# Hint: The largest of i + lengths[i] counts, not the last and not the longest segment.
kept([5, 4, 3, 2])
# Hint: The largest of i + lengths[i] is in the middle here.
kept([2, 9, 3, 3, 3])

# %% [markdown] hints="segment_lengths"
# 1. While backward is in segment i, counted from 0: which operands of segments are still kept? Those of 1 to i.
# 2. So there are i arrays, and one for each layer of segment i: i + lengths[i].
# 3. Backward comes through all of them, and what is asked for is the largest: `max(i + n for i, n in ...)`.

# %% [markdown] shows="segment_lengths"
# A segment at the front costs less than one at the end, because by then all other segments have been freed.


# %% wrong="segment_lengths"
# Shows: All the operands were counted with the longest segment, and those of later segments are gone by then.
# Hint: What is kept while backward is in the first segment of [10, 1]?
def kept(lengths):
    return len(lengths) - 1 + max(lengths)


# %% wrong="segment_lengths"
# Shows: Only the last segment was looked at: another one may be longer.
# Hint: The same count for each segment, and the largest of them.
def kept(lengths):
    return len(lengths) - 1 + lengths[-1]


# %% wrong="segment_lengths"
# Shows: The operands between the segments are missing.
# Hint: What does a segment in the middle begin again from?
def kept(lengths):
    return max(lengths)


# %% wrong="segment_lengths"
# Shows: You added up all segments, as if nothing were freed.
# Hint: Two segments are never complete at the same time.
def kept(lengths):
    return sum(lengths)


# %% wrong="segment_lengths"
# Shows: The operand of the first segment was counted: it is the chain's own, and there anyway.
# Hint: While backward is in segment 0, how many operands are kept only for a checkpoint?
def kept(lengths):
    return max(before + 1 + layers for before, layers in enumerate(lengths))


# %% wrong="segment_lengths"
# Shows: The order is reversed: the later segments were counted, and it is the earlier ones that are still kept.
# Hint: Backward goes from the last to the first. Which operands are freed first?
def kept(lengths):
    return max(behind + layers for behind, layers in enumerate(reversed(lengths)))


# %% wrong="segment_lengths"
# Shows: The operand of a segment was freed before backward came to it, and it is needed to begin again.
# Hint: It goes when backward is done with its segment.
def kept(lengths):
    return max(max(before - 1, 0) + layers for before, layers in enumerate(lengths))


# %% [markdown]
# ## 3. In parts, the last one smaller
#
# **2 points, 8 minutes.** Write `accumulate(net, x, y, rows)`. It sends x through the network in micro-batches of
# `rows` rows. The last micro-batch may have fewer.
#
# - Afterwards `.grad` of each parameter holds the gradient of `mg.cross_entropy(net(x), y)`. This loss is the *mean*
#   over all rows of x.
# - What was in `.grad` before does not count.
# - Only one micro-batch at a time is saved for backward.


# %% answer="unequal_parts" points=2 minutes=8
def accumulate(net, x, y, rows):
    ### BEGIN SOLUTION
    net.zero_grad()
    for start in range(0, len(x), rows):
        part, label = x[start : start + rows], y[start : start + rows]
        (mg.cross_entropy(net(part), label) * (len(part) / len(x))).backward()
    ### END SOLUTION


# %%
check("unequal_parts")

# %% probes="unequal_parts"
import numpy as numeric

import minigrad as engine

RANDOM = numeric.random.default_rng(0)
ROWS, LABELS = RANDOM.normal(size=(100, 6)), RANDOM.integers(0, 3, 100)


class Watched(engine.nn.Module):
    """A linear layer that writes down how many rows it sees, and how many calls wait for backward."""

    def __init__(self):
        self.linear, self.seen, self.waiting, self.most = engine.nn.Linear(6, 3), [], 0, 0

    def forward(self, x):
        self.seen.append(len(x))
        y = self.linear(x)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        y.register_hook(self.back)
        return y

    def back(self, gradient):
        self.waiting -= 1


def gradient_of(net):
    return [p.grad.numpy().copy() for p in net.parameters()]


def compared(n, rows, times=1):
    """The weights, what was accumulated, the rows of each part, and how many calls waited at a time."""
    engine.manual_seed(0)
    net, x, y = Watched(), engine.tensor(ROWS[:n]), engine.tensor(LABELS[:n])
    for _ in range(times):
        net.seen.clear()
        accumulate(net, x, y, rows)
    return [p.numpy() for p in net.parameters()], gradient_of(net), net.seen, net.most


@referee
def compared(sent, n):
    """How what was accumulated compares with the whole batch's gradient, and the rows of each part."""
    (W, b), found, seen, most = sent
    x, scores = ROWS[:n], numeric.exp(ROWS[:n] @ numeric.transpose(W) + b)
    gy = (scores / scores.sum(1, keepdims=True) - numeric.eye(3)[LABELS[:n]]) / n
    found, whole = [*map(numeric.array, found)], [gy.T @ x, gy.sum(0)]
    saved = f"{most} saved at a time"
    if all(map(numeric.allclose, found, whole)):
        return {"gradient": "equal", "rows of each part": seen, "at a time": saved}
    factor = sum((a * b).sum() for a, b in zip(found, whole)) / sum((b * b).sum() for b in whole)
    return {"gradient": f"not equal, about {factor:.2f} times", "rows of each part": seen, "at a time": saved}


# Hint: Three equal parts: weight each mean loss so that the sum is the mean over all rows, and call backward for each
# part.
compared(96, 32)
# Hint: The last part has only 4 rows: each row of x should weigh the same.
compared(100, 32)
# Hint: A single part.
compared(100, 100)
# Hint: Parts of 3, 3 and 1 rows.
compared(7, 3)
# Hint: A second call: what was in `.grad` before does not count.
compared(96, 32, times=2)

# %% [markdown] hints="unequal_parts"
# 1. `for start in range(0, len(x), rows)`, and the slices `x[start : start + rows]`; at the end a slice is shorter by
# itself. Call backward for each.
# 2. Each loss is a mean over its own rows. By what is it to be multiplied, so that each row of x weighs the same?
# 3. `len(part) / len(x)`; and `net.zero_grad()` once, before the loop.

# %% [markdown] shows="unequal_parts"
# A loop that trains with any size of micro-batch, and a gradient that does not depend on it.


# %% wrong="unequal_parts" misconception="M15"
# Shows: The means were added up without a division: with three parts the gradient is three times as large.
# Hint: A mean of all is not the sum of the means. What is each part's share?
def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x), rows):
        mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows]).backward()


# %% wrong="unequal_parts"
# Shows: Each part has the same weight, so the rows of a small last part weigh too much.
# Hint: 4 rows of 100 are to weigh 4/100.
def accumulate(net, x, y, rows):
    net.zero_grad()
    parts = -(-len(x) // rows)
    for start in range(0, len(x), rows):
        (mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows]) / parts).backward()


# %% wrong="unequal_parts"
# Shows: The rows at the end that fill no part were left out.
# Hint: Let the range go to len(x): a slice ends where there are no more rows.
def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x) - rows + 1, rows):
        (mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows]) * (rows / len(x))).backward()


# %% wrong="unequal_parts"
# Shows: The gradients were cleared before each part, and only those of the last one are left.
# Hint: Clear once, before the loop.
def accumulate(net, x, y, rows):
    for start in range(0, len(x), rows):
        net.zero_grad()
        part = x[start : start + rows]
        (mg.cross_entropy(net(part), y[start : start + rows]) * (len(part) / len(x))).backward()


# %% wrong="unequal_parts"
# Shows: What was in `.grad` before was not cleared, and is added.
# Hint: `net.zero_grad()` before the loop.
def accumulate(net, x, y, rows):
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        (mg.cross_entropy(net(part), y[start : start + rows]) * (len(part) / len(x))).backward()


# %% wrong="unequal_parts"
# Shows: The gradient is right, and the whole batch went through at once: nothing is saved.
# Hint: Call the network and backward on `rows` rows at a time.
def accumulate(net, x, y, rows):
    net.zero_grad()
    mg.cross_entropy(net(x), y).backward()


# %% wrong="unequal_parts"
# Shows: The losses were added up, and backward was called once at the end: until then all parts are saved.
# Hint: Call backward for each part, inside the loop: gradients add up by themselves.
def accumulate(net, x, y, rows):
    net.zero_grad()
    loss = 0.0
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        loss = loss + mg.cross_entropy(net(part), y[start : start + rows]) * (len(part) / len(x))
    loss.backward()


# %% wrong="unequal_parts"
# Shows: Each part was weighted by `rows`, and the last one has fewer.
# Hint: Take the length of the slice, `len(part)`.
def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x), rows):
        loss = mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows])
        (loss * (rows / len(x))).backward()


# %% wrong="unequal_parts"
# Shows: Each loss was divided by the rows of its part, and it is a mean over them already.
# Hint: Which share of all rows does the part have?
def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        (mg.cross_entropy(net(part), y[start : start + rows]) / len(part)).backward()


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. Equal to what?
#
# **2 points, 7 minutes.** Each line describes a way to compute a gradient. Compare it with the gradient of the whole
# batch, taken at once and without checkpoints, from the same seed. Write `equal`, a list of eight words, from a to h:
# `"bits"` (equal to the last bit), `"rounding"` (equal, but the last digits may differ), or `"other"`.
#
# - a: a checkpoint over two linear layers with a tanh between them
# - b: a checkpoint over a part with a dropout
# - c: 4 equal micro-batches, each mean loss divided by 4, in a network with a LayerNorm
# - d: the same with a BatchNorm in place of the LayerNorm
# - e: micro-batches of 48, 48 and 4 rows, each mean loss divided by 3
# - f: micro-batches of 48, 48 and 4 rows; the loss is a *sum* over rows, and nothing is divided
# - g: a checkpoint over a part with a BatchNorm
# - h: 4 equal micro-batches, each mean loss divided by 4, in a network with a dropout

# %% answer="equal_to_what" points=2 minutes=7
### BEGIN SOLUTION
equal = ["bits", "bits", "rounding", "other", "other", "rounding", "bits", "other"]
### END SOLUTION

# %%
check("equal_to_what")


# %% probes="equal_to_what"
def of(names):
    """What is said of these: in a list, in a dictionary by letter, or in text."""
    said = [equal.get(name) for name in "abcdefgh"] if hasattr(equal, "get") else equal
    if isinstance(said, str):
        said = [word for word in said.replace(",", " ").replace(":", " ").split() if len(word) > 1]
    if len(said) != 8:
        return f"{len(said)} words, and not 8"
    return [str(said["abcdefgh".index(name)]).strip().lower() for name in names]


# Hint: Lines a, b and g are checkpoints: the same operations run again, on the same rows in the same order, with the
# same random numbers.
of("abg")
# Hint: Lines c, d and h are equal micro-batches: does a row see other rows of its batch, or another mask? And in which
# order are rows added up?
of("cdh")
# Hint: Lines e and f have a small last part: does each row weigh the same?
of("ef")

# %% [markdown] hints="equal_to_what"
# 1. A checkpoint runs the same operations on the same rows in the same order, and draws the same random numbers. A
# micro-batch adds rows up in another order.
# 2. In which lines does a row see the other rows of its batch, or another mask, or another weight?
# 3. Three are "bits", those with a checkpoint; two are "rounding".

# %% [markdown] shows="equal_to_what"
# A checkpoint is the same computation done twice; micro-batches are the same sum in another order, as long as rows are
# independent and weigh the same.

# %% wrong="equal_to_what"
# Shows: A dropout in a checkpoint was thought to draw another mask the second time.
# Hint: What does the checkpoint do with the random generator before the second run?
equal = dict(zip("abcdefgh", ["bits", "other", "rounding", "other", "other", "rounding", "bits", "other"]))

# %% wrong="equal_to_what"
# Shows: BatchNorm was thought to see one row at a time.
# Hint: Over which rows is its mean taken, with micro-batches of a quarter?
equal = dict(zip("abcdefgh", ["bits", "bits", "rounding", "rounding", "other", "rounding", "bits", "other"]))

# %% wrong="equal_to_what"
# Shows: Unequal parts were given equal weights, and taken for the mean of all.
# Hint: How much does one of the last 4 rows weigh, and one of the first 48?
equal = dict(zip("abcdefgh", ["bits", "bits", "rounding", "other", "rounding", "rounding", "bits", "other"]))

# %% wrong="equal_to_what"
# Shows: Micro-batches were thought to be equal to the last bit; they add up in another order.
# Hint: Is (a + b) + (c + d) the same float as ((a + b) + c) + d?
equal = dict(zip("abcdefgh", ["bits", "bits", "bits", "other", "other", "bits", "bits", "other"]))

# %% wrong="equal_to_what"
# Shows: A sum over rows was thought to need a division as well.
# Hint: The sum over 100 rows is the sum of the sums over 48, 48 and 4.
equal = dict(zip("abcdefgh", ["bits", "bits", "rounding", "other", "other", "other", "bits", "other"]))

# %% wrong="equal_to_what"
# Shows: A checkpoint over a BatchNorm was taken for a micro-batch; it sees all the rows, twice.
# Hint: How many rows are in the second run?
equal = dict(zip("abcdefgh", ["bits", "bits", "rounding", "other", "other", "rounding", "other", "other"]))

# %% wrong="equal_to_what"
# Shows: Other masks were taken for rounding. They are other numbers altogether, equal on average only.
# Hint: With one seed, whose mask is the second micro-batch's: the first rows' of the whole batch?
equal = dict(zip("abcdefgh", ["bits", "bits", "rounding", "other", "other", "rounding", "bits", "rounding"]))

# %% wrong="equal_to_what"
# Shows: A checkpoint was thought to change the last digits. It repeats the same operations on the same numbers.
# Hint: In which order are the rows added up, the first time and the second?
equal = ["rounding", "rounding", "rounding", "other", "other", "rounding", "rounding", "other"]

# %% wrong="equal_to_what"
# Shows: One of the checkpoints was thought to change the last digits. It repeats the same operations.
# Hint: What would be done in another order?
equal = ["rounding", "bits", "rounding", "other", "other", "rounding", "bits", "other"]

# %% wrong="equal_to_what"
# Shows: Equal micro-batches were thought to be equal to the last bit; they add up in another order.
# Hint: In c and in f alike, four sums are added up, in place of one.
equal = ["bits", "bits", "bits", "other", "other", "rounding", "bits", "other"]

# %% [markdown]
# ### 5. Below the square root
#
# **2 points, 10 minutes.** In 8 equal segments a chain of 64 layers saves 15 arrays. Cut it better. Write `cut`, a
# list of lengths that add up to 64, with which at most **11** arrays are saved. As in part 2, all but the last segment
# are checkpoints. There is more than one such list.
#
# `measured(cut)` runs the chain, and returns what the ledger counts. Your `kept` of part 2 helps: which segments may
# be longer than others?


# %% name="measured"
def measured(cut):
    """The most arrays saved for backward at one time, with a chain cut into segments of these lengths."""
    layers = [mg.nn.Sequential(mg.nn.Linear(8, 8), mg.nn.Tanh()) for _ in range(sum(cut))]
    x = mg.randn(256, 8)
    with mg.profiler.memory(mg.nn.Sequential(*layers), inputs=[x], exact=False) as ledger:
        h, start = x, 0
        for length in cut[:-1]:
            h = checkpoint(mg.nn.Sequential(*layers[start : start + length]), h)
            start += length
        mg.nn.Sequential(*layers[start:])(h).sum().backward()
    return max(moment.by_consumer["saved for backward"] for moment in ledger.timeline()) / x.nbytes


# %% answer="below_the_root" points=2 minutes=10
### BEGIN SOLUTION
cut = [10, 10, 9, 8, 7, 6, 5, 4, 3, 2]
### END SOLUTION

# %%
check("below_the_root")

# %% probes="below_the_root"
import minigrad as framework
from minigrad.utils.checkpoint import checkpoint as twice


def layers():
    return list(cut)


@referee
def layers(cut):
    return {"layers": sum(cut), "segments": "each has a layer" if min(cut) >= 1 else "one is empty"}


def most_saved():
    """The most arrays saved at one time, as the ledger counts."""
    layers = [framework.nn.Sequential(framework.nn.Linear(8, 8), framework.nn.Tanh()) for _ in range(sum(cut))]
    x = framework.randn(256, 8)
    with framework.profiler.memory(framework.nn.Sequential(*layers), inputs=[x], exact=False) as ledger:
        h, start = x, 0
        for length in cut[:-1]:
            h = twice(framework.nn.Sequential(*layers[start : start + length]), h)
            start += length
        framework.nn.Sequential(*layers[start:])(h).sum().backward()
    return max(moment.by_consumer["saved for backward"] for moment in ledger.timeline()) / x.nbytes


within = most_saved


@referee
def within(most):
    return "within the limit" if most <= 11 else f"over the limit: {most:g} arrays"


# Hint: The lengths should add up to 64, and each should be 1 or more.
layers()
# Hint: More than 11 arrays are saved. Segment i costs i plus its length: which segments may be longer?
within()

# %% [markdown] hints="below_the_root"
# 1. Segment i costs i + its length. With equal lengths only the last one is at the limit; the others have room.
# 2. Let i + length be 11 for each: 11, 10, 9, … How many layers is that in all?
# 3. 11 + 10 + … + 1 is 66. Leave out two layers, wherever you like.

# %% [markdown] shows="below_the_root"
# Segments that get shorter towards the end need about √(2n) arrays in place of 2√n: 11 for 64 layers, and still at most
# one forward more.

# %% wrong="below_the_root"
# Shows: These are equal segments, and the formula's best: 15 arrays.
# Hint: While backward is in the first of them only 8 are saved. It could be longer.
cut = [8] * 8

# %% wrong="below_the_root"
# Shows: The segments get longer towards the end, where most operands are kept at the same time.
# Hint: Reverse the list.
cut = [2, 3, 4, 5, 6, 7, 8, 9, 10, 10]

# %% wrong="below_the_root"
# Shows: Within the limit, but the layers are not 64.
# Hint: What is the sum of your list?
cut = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]

# %% wrong="below_the_root"
# Shows: With a checkpoint for each layer the operands themselves are 63 arrays.
# Hint: Take fewer segments, with the longer ones at the front.
cut = [1] * 64

# %% wrong="below_the_root"
# Shows: One segment is one too long for its place.
# Hint: i + cut[i] may be 11 at most, with i counted from 0.
cut = [12, 10, 9, 8, 7, 6, 5, 4, 3]

# %% wrong="below_the_root"
# Shows: One of the segments is empty.
# Hint: Leave it out: a segment has at least one layer.
cut = [11, 10, 9, 8, 7, 6, 5, 4, 3, 1, 0]

# %% wrong="below_the_root"
# Shows: Each segment is half of what is left: the first one alone is 32 arrays.
# Hint: How long may the first segment be, if 11 is the limit?
cut = [32, 16, 8, 4, 2, 1, 1]

# %% [markdown]
# ## What you have now
#
# A count for segments of any length, and a loop for micro-batches of any size.
#
# Use your `kept` to cut a chain of 64 layers into segments that are not equal. Can you save fewer arrays than with 8
# segments of 8?
#
# **Next**: [22 Many workers, one gradient](../lessons/22_many_workers_one_gradient.ipynb).
