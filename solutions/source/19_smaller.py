# ---
# jupyter:
#   minigrad:
#     title: Smaller, by hand
#     minutes: 20
#     lesson: 19_smaller
#     concepts: [E8]
# ---

# %% [markdown]
# # 19 Smaller, by hand
#
# You write quantisation and pruning yourself, and read a table of what they bring. About 20 minutes, in three parts;
# two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution

# %% [markdown]
# ## 1. Quantise
#
# **2 points, 7 minutes.** Write `quantise(weights, bits)`. `weights` is a list of numbers. Return a pair: a list of
# integers, and the scale.
#
# - With $b$ bits the integers may go from $-(2^{b-1} - 1)$ to $2^{b-1} - 1$.
# - Choose the scale so that the weight farthest from 0 becomes the last of these integers, on its side of 0.
# - Divide each weight by the scale, and round it to the nearest integer with Python's `round`.
# - If all weights are 0, the scale is 1.0.
#
# For example, `quantise([2.0, -6.0], 3)` is `([1, -3], 2.0)`.


# %% answer="quantise" points=2 minutes=7
def quantise(weights, bits):
    ### BEGIN SOLUTION
    largest = max(abs(w) for w in weights)
    scale = largest / (2 ** (bits - 1) - 1) if largest else 1.0
    return [round(w / scale) for w in weights], scale
    ### END SOLUTION


# %%
check("quantise")


# %% probes="quantise"
def written(weights, bits):
    pair = quantise(list(weights), bits)
    if not hasattr(pair, "__len__") or len(pair) != 2 or not hasattr(pair[0], "__iter__"):
        return "no pair of a list and a scale"
    return [int(k) for k in pair[0]], round(float(pair[1]), 9)


# Hint: 8 bits: the integers reach 127, the scale is the largest size divided by 127, and each weight is rounded to the
# nearest integer.
written([1.27, -0.5, 0.004, 0.006], 8)
# Hint: The largest size may be that of a weight below 0. With 3 bits the integers reach 3.
written([-3.0, 1.4, 0.4], 3)
# Hint: With 4 bits the integers reach 7.
written([-3.0, 1.4, 0.4], 4)
# Hint: All weights may be above 0: the integers still go from −7 to 7, and 0 stays 0.
written([7, 1, 2, 3], 4)
# Hint: All weights are 0: the scale is 1.0.
written([0.0, 0.0], 8)
# Hint: A single weight with 2 bits: the integers are −1, 0 and 1.
written([-1.0], 2)
# Hint: Two weights of equal size on both sides of 0.
written([5.0, -5.0, 2.6], 2)

# %% [markdown] hints="quantise"
# 1. The largest of `abs(w)`, and the largest integer: 127 for 8 bits, 3 for 3 bits, 1 for 2 bits.
# 2. `scale = largest / (2 ** (bits - 1) - 1)`; each integer is `round(w / scale)`.
# 3. Ask `if largest` first: 0 / 127 is 0, and nothing can be divided by 0.

# %% [markdown] shows="quantise"
# Quantisation is a division and a rounding, and the art is in the choice of the scale.


# %% wrong="quantise"
# Shows: The scale is that of the largest weight above 0, so −3 does not fit.
# Hint: −3 has to fit, too: use `abs`.
def quantise(weights, bits):
    largest = max(weights)
    scale = largest / (2 ** (bits - 1) - 1) if largest else 1.0
    return [round(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: Your numbers are cut off, and not rounded.
# Hint: int(2.9) is 2; round(2.9) is 3.
def quantise(weights, bits):
    largest = max(abs(w) for w in weights)
    scale = largest / (2 ** (bits - 1) - 1) if largest else 1.0
    return [int(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: The largest integer is twice as large as it should be, or more: one bit is for the sign.
# Hint: With 8 bits it is 127.
def quantise(weights, bits):
    largest = max(abs(w) for w in weights)
    scale = largest / (2**bits - 1) if largest else 1.0
    return [round(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: The largest integer is 128, or another power of two, which does not fit on the side above 0.
# Hint: Between −127 and 127 there are as many on both sides.
def quantise(weights, bits):
    largest = max(abs(w) for w in weights)
    scale = largest / 2 ** (bits - 1) if largest else 1.0
    return [round(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: The rounded weights were given, and not the integers.
# Hint: The integers are what is kept; times the scale they are weights again.
def quantise(weights, bits):
    largest = max(abs(w) for w in weights)
    scale = largest / (2 ** (bits - 1) - 1) if largest else 1.0
    return [round(w / scale) * scale for w in weights], scale


# %% wrong="quantise"
# Shows: If all weights are 0 it divides by 0.
# Hint: Ask for that case first.
def quantise(weights, bits):
    scale = max(abs(w) for w in weights) / (2 ** (bits - 1) - 1)
    return [round(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: The scale comes from the range between the least and the largest weight, and the largest does not fit.
# Hint: 0 stays 0, so the scale is to reach the weight that is farthest from 0.
def quantise(weights, bits):
    scale = (max(weights) - min(weights)) / (2**bits - 2) or 1.0
    return [round(w / scale) for w in weights], scale


# %% wrong="quantise"
# Shows: The pair is the wrong way round, or is no pair.
# Hint: `return integers, scale`, the list first.
def quantise(weights, bits):
    largest = max(abs(w) for w in weights)
    scale = largest / (2 ** (bits - 1) - 1) if largest else 1.0
    return scale, [round(w / scale) for w in weights]


# %% [markdown]
# ## 2. Prune
#
# **2 points, 6 minutes.** Write `pruned(weights, amount)`. Return a new list, in which the `int(amount *
# len(weights))` weights nearest to 0 are replaced by 0. All others stay where they are. If several weights are equally
# near, replace the ones that come first. Do not change the given list.
#
# For example, `pruned([3.0, -1.0, 2.0, -4.0], 0.5)` is `[3.0, 0.0, 0.0, -4.0]`.


# %% answer="prune_by_hand" points=2 minutes=6
def pruned(weights, amount):
    ### BEGIN SOLUTION
    order = sorted(range(len(weights)), key=lambda i: abs(weights[i]))
    gone = set(order[: int(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]
    ### END SOLUTION


# %%
check("prune_by_hand")


# %% probes="prune_by_hand"
def left(weights, amount):
    given = list(weights)
    return [float(w) for w in pruned(given, amount)], given


@referee
def left(sent, weights, amount):
    found, given = sent
    return {"pruned": found, "the given list is as it was": given == weights}


# Hint: The half that is nearest to 0 becomes 0, in its place; the sign does not count.
left([3.0, -1.0, 2.0, -4.0], 0.5)
# Hint: Equally near: those that come first go, and no more than were asked for.
left([0.1, -0.1, 0.1, 0.1], 0.5)
# Hint: int(0.34 · 3) is 1: one weight goes.
left([-5.0, 0.5, 4.0], 0.34)
# Hint: int(0.3 · 3) is 0: none goes.
left([-5.0, 0.5, 4.0], 0.3)
# Hint: Nothing goes, and the list is a new one.
left([1.0, 2.0, 3.0], 0)
# Hint: All go.
left([1.0, -2.0], 1)
# Hint: Weights that are 0 already are the nearest.
left([0.0, 5.0, 1.0, 0.0], 0.5)
# Hint: Two that are equally near, in the middle of the list.
left([2.0, 0.5, 0.5, 3.0], 0.5)

# %% [markdown] hints="prune_by_hand"
# 1. Sort the *places*, not the weights, by how near to 0 they are.
# 2. `sorted(range(len(weights)), key=lambda i: abs(weights[i]))`: those that are equal stay in their order.
# 3. The first `int(amount * len(weights))` of these places get 0; all others keep their weight.

# %% [markdown] shows="prune_by_hand"
# Pruning sorts weights by a measure of importance, and methods differ in that measure.


# %% wrong="prune_by_hand"
# Shows: It goes by the weights with their signs, so that large ones below 0 go first.
# Hint: How near a weight is to 0 is its `abs`.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: weights[i])
    gone = set(order[: int(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]


# %% wrong="prune_by_hand"
# Shows: All weights that are equally near became 0, more than were asked for.
# Hint: Count places, and do not compare with a threshold.
def pruned(weights, amount):
    n = int(amount * len(weights))
    threshold = sorted(map(abs, weights))[n - 1] if n else -1
    return [0.0 if abs(w) <= threshold else w for w in weights]


# %% wrong="prune_by_hand"
# Shows: The list that was given was changed.
# Hint: Make a new list.
def pruned(weights, amount):
    for i in sorted(range(len(weights)), key=lambda i: abs(weights[i]))[: int(amount * len(weights))]:
        weights[i] = 0.0
    return weights


# %% wrong="prune_by_hand"
# Shows: The weights that are left were given without the zeros, so nobody knows where they belong.
# Hint: The result is as long as the list.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: abs(weights[i]))
    gone = set(order[: int(amount * len(weights))])
    return [w for i, w in enumerate(weights) if i not in gone]


# %% wrong="prune_by_hand"
# Shows: The largest went, and the smallest stayed.
# Hint: Those nearest to 0 matter least.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: -abs(weights[i]))
    gone = set(order[: int(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]


# %% wrong="prune_by_hand"
# Shows: Weights that are equally near all stay, so fewer become 0 than were asked for.
# Hint: The first so many of the sorted places go, whatever else is equally near.
def pruned(weights, amount):
    order = sorted(map(abs, weights))
    n = int(amount * len(weights))
    return [0.0 if n == len(order) or abs(w) < order[n] else w for w in weights]


# %% wrong="prune_by_hand"
# Shows: The number of weights that go was rounded, and int cuts off.
# Hint: 0.3 of three weights is 0.9 of a weight: none goes.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: abs(weights[i]))
    gone = set(order[: round(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]


# %% wrong="prune_by_hand"
# Shows: As many weights stayed as should become 0.
# Hint: amount is the share of those that become 0.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: abs(weights[i]))
    gone = set(order[: len(weights) - int(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]


# %% wrong="prune_by_hand"
# Shows: The weights are sorted now, so none is where it was.
# Hint: Sort the places, and leave the weights where they are.
def pruned(weights, amount):
    n = int(amount * len(weights))
    return [0.0] * n + sorted(weights, key=abs)[n:]


# %% wrong="prune_by_hand"
# Shows: Of those that are equally near the last ones went.
# Hint: Python's sort leaves equal ones in their order, if the key is the size alone.
def pruned(weights, amount):
    order = sorted(range(len(weights)), key=lambda i: (abs(weights[i]), -i))
    gone = set(order[: int(amount * len(weights))])
    return [0.0 if i in gone else w for i, w in enumerate(weights)]


# %% [markdown]
# ## 3. Read the table
#
# **2 points, 7 minutes.** Four versions of a network were measured on a processor that multiplies 8-bit integers
# quickly and does not skip zeros. Times are multiples of A's. Some entries are missing:
#
# | | right | million bytes | MACs, 10⁹ | time |
# |---|---|---|---|---|
# | A: float32 | 92.1 % | 40 | 1.0 | 1.00 |
# | B: int8 | 91.9 % | ? | 1.0 | 0.45 |
# | C: 80 % zeros, float32, not compressed | 91.8 % | ? | ? | ? |
# | D: half of the channels of every layer, float32 | 89.5 % | ? | ? | 0.30 |
#
# - `b_bytes`, `c_bytes`, `d_bytes`: the million bytes of B, C and D, to the nearest whole number. Ignore biases and
#   scales.
# - `c_time`: the time of C, to one decimal.
# - `d_macs`: the MACs of D, in 10⁹. Every convolution of D reads half as many channels, and makes half as many.
# - `choice`: the letter of the version that fits into 12 million bytes and is right in at least 91 of 100 cases.

# %% answer="table_read" points=2 minutes=7
### BEGIN SOLUTION
b_bytes = 10
c_bytes = 40
d_bytes = 10
c_time = 1.0
d_macs = 0.25
choice = "B"
### END SOLUTION

# %%
check("table_read")

# %% probes="table_read"
# Hint: `b_bytes`, `c_bytes`, `d_bytes`: an int8 has a quarter of the bytes of a float32; a zero in an array has as many
# as any number; a weight has a channel at each end.
round(float(b_bytes)), round(float(c_bytes)), round(float(d_bytes))
# Hint: `c_time`: this processor does nothing special for zeros.
round(float(c_time), 1)
# Hint: `d_macs`: half the channels are read, and half are made.
round(float(d_macs), 3)
# Hint: `choice`: 12 million bytes and 91 of 100: strike out what does not fit.
str(choice).strip(" '\"()").upper()[:1]

# %% [markdown] hints="table_read"
# 1. A float32 has four bytes, an int8 one. A zero in an array has as many bytes as any number.
# 2. A weight between two layers has a channel at each end: half of both leaves a quarter of the weights, and of the
#    MACs.
# 3. B and D have 10 million bytes, and one of the two is right often enough.

# %% [markdown] shows="table_read"
# Bytes, MACs and time are three columns, and a version that wins in one of them may lose in another.

# %% wrong="table_read" misconception="M21"
# Shows: You thought that zeros take no time and no bytes.
# Hint: This processor multiplies zeros, too, and the array is as large as before.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 8, 10, 0.2, 0.25, "B"

# %% wrong="table_read" misconception="M21"
# Shows: You thought that zeros take no bytes.
# Hint: The array of C is as large as that of A: nothing is compressed.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 8, 10, 1.0, 0.25, "B"

# %% wrong="table_read" misconception="M21"
# Shows: You thought that zeros take no time.
# Hint: This processor multiplies zeros like any other number.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 40, 10, 0.2, 0.25, "B"

# %% wrong="table_read"
# Shows: Bytes were given, and millions of bytes are asked for.
# Hint: Write 40 for the 40 million of A.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10e6, 40e6, 10e6, 1.0, 0.25, "B"

# %% wrong="table_read"
# Shows: You took half of the channels for half of the weights.
# Hint: A weight reads a channel, and makes one: both were halved.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 40, 20, 1.0, 0.5, "B"

# %% wrong="table_read"
# Shows: You took int8 for half of a float32.
# Hint: 32 bits against 8.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 20, 40, 10, 1.0, 0.25, "D"

# %% wrong="table_read"
# Shows: The quickest was chosen, and it is not right often enough.
# Hint: 91 of 100, and at most 12 million bytes.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 40, 10, 1.0, 0.25, "D"

# %% wrong="table_read"
# Shows: You read the MACs off the time.
# Hint: Time is not FLOPs, lesson 18. Count the channels at both ends.
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 40, 10, 1.0, 0.3, "B"

# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. With a pencil
#
# **2 points, 6 minutes.** The 1000 weights of a layer lie between −6.35 and 5.0. They are written with 8 bits, as
# integers from −127 to 127 times one scale. The scale is stored as a float32.
#
# - `scale`: the scale.
# - `integer`: the integer for the weight 1.0.
# - `farthest`: by how much a weight is off at most.
# - `nbytes`: the bytes of the integers and the scale together.

# %% answer="eight_bits" points=2 minutes=6
### BEGIN SOLUTION
scale = 6.35 / 127
integer = round(1.0 / scale)
farthest = scale / 2
nbytes = 1000 + 4
### END SOLUTION

# %%
check("eight_bits")

# %% probes="eight_bits"
# Hint: `scale`: the weight farthest from 0 becomes the integer 127 or −127.
round(float(scale), 6)
# Hint: `integer`: how many scales are 1.0?
int(integer)
# Hint: `farthest`: rounding goes to the nearer of two steps.
round(float(farthest), 6)
# Hint: `nbytes`: one byte for each weight, and four for the scale.
int(nbytes)

# %% [markdown] hints="eight_bits"
# 1. The scale has to reach the weight that is farthest from 0, on whichever side that is.
# 2. 6.35 / 127 = 0.05. How many such steps are 1.0?
# 3. It is rounded to the nearer of two steps; a byte for each weight, and four for the scale.

# %% [markdown] shows="eight_bits"
# One number, the largest, decides how finely all of the others are written.

# %% wrong="eight_bits"
# Shows: The scale reaches the largest weight above 0, and those below −5 do not fit.
# Hint: Take the largest of all without their signs.
scale, integer, farthest, nbytes = 5 / 127, 25, 5 / 254, 1004

# %% wrong="eight_bits"
# Shows: A whole step was given as the error, and one rounds to the nearer side.
# Hint: What is the farthest that a number can be from its neighbour on the grid?
scale, integer, farthest, nbytes = 0.05, 20, 0.05, 1004

# %% wrong="eight_bits"
# Shows: The scale is not among the bytes.
# Hint: Without it nobody knows what the integers mean.
scale, integer, farthest, nbytes = 0.05, 20, 0.025, 1000

# %% wrong="eight_bits"
# Shows: The range from the least to the largest was divided by 255: then 0 is no multiple of the scale.
# Hint: The integers go from −127 to 127, and 0 is written as 0.
scale, integer, farthest, nbytes = 11.35 / 255, 22, 11.35 / 510, 1004

# %% wrong="eight_bits"
# Shows: Bits were taken for bytes.
# Hint: Eight bits are one byte.
scale, integer, farthest, nbytes = 0.05, 20, 0.025, 8004

# %% wrong="eight_bits"
# Shows: The weights were counted as float32, four bytes each, and they are written as integers of 8 bits.
# Hint: Only the scale is a float32.
scale, integer, farthest, nbytes = 0.05, 20, 0.025, 4000

# %% wrong="eight_bits"
# Shows: The largest weight was divided by 128, and the largest integer is 127.
# Hint: The weight of −6.35 is written as −127.
scale, integer, farthest, nbytes = 6.35 / 128, 20, 6.35 / 256, 1004

# %% wrong="eight_bits"
# Shows: The scale is upside down: it says how many integers there are to 1, and is to say what one integer stands for.
# Hint: An integer times the scale is a weight: −127 times what is −6.35?
scale, integer, farthest, nbytes = 20, 20, 0.025, 1004

# %% [markdown]
# ### 5. Small from the beginning
#
# **2 points, 11 minutes.** Write `build()`. It returns a new network that takes digits of 64 numbers each, (B, 64), to
# (B, 10).
#
# - It has at most **2,500** parameters.
# - It has at least one hidden layer, and something that is not linear after it.
# - No weights are set to zero.
# - After the 400 steps of `account` it reads at least 88 of 100 digits that it has never seen.
#
# `account(build)` returns the number of parameters and how many of the 100 digits are right.


# %% name="account"
def account(build):
    """Parameters, and how many of 100 unseen digits it reads after 400 steps."""
    mg.manual_seed(0)
    digits = mg.data.digits()
    x, y, net = mg.tensor(digits.train_x), mg.tensor(digits.train_y), build()
    adam = mg.optim.Adam(net.parameters(), 0.01)
    for i in range(400):
        rows = slice(64 * i % 1344, 64 * i % 1344 + 64)
        adam.zero_grad()
        mg.cross_entropy(net(x[rows]), y[rows]).backward()
        adam.step()
    with mg.no_grad():
        found = net(mg.tensor(digits.test_x[:100])).argmax(1).numpy()
    return sum(p.size for p in net.parameters()), int((found == digits.test_y[:100]).sum())


# %% answer="small_network" points=2 minutes=11
def build():
    ### BEGIN SOLUTION
    return mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.ReLU(), mg.nn.Linear(32, 10))
    ### END SOLUTION


# %%
check("small_network")

# %% probes="small_network"
import numpy as numeric

import minigrad as engine
from minigrad.core.modes import watching


class Pulls:
    """Counts the derivatives that run."""

    count = 0

    def on_forward(self, op, y, xs):
        pass

    def on_backward(self, node, gy, gxs):
        self.count += 1


def training_while_building():
    with watching(Pulls()) as pulls:
        build()
    return pulls.count


def size():
    net = build()
    n = sum(p.size for p in net.parameters())
    zeros = sum(int((p.numpy() == 0).sum()) for p in net.parameters() if p.ndim > 1)
    return n, zeros, len([p for p in net.parameters() if p.ndim > 1])


@referee
def size(sent):
    n, zeros, weights = sent
    few = "few enough" if n <= 2500 else f"{n - 2500:,} too many"
    return {
        "parameters": few,
        "hidden layer": "there is one" if weights >= 2 else "there is none",
        "weights that are 0": "none" if zeros < 50 else "many",
    }


def bends():
    """How far what a layer behind the first one reads is from what a linear layer can give; and the result's shape.

    If weights are in fewer than two modules, it is the result that has to bend.
    """
    engine.manual_seed(0)
    net, digits = build().eval(), engine.tensor(engine.data.digits().test_x[:50])
    read = []
    for part in net.modules():
        if [p for p in part.parameters(recurse=False) if p.ndim > 1]:
            part.register_forward_pre_hook(lambda part, xs: read.append(xs[0].numpy()))
    with engine.no_grad():
        results = [net(digits * k).numpy() for k in (0.0, 1.0, 2.0)]
    n = len(read) // 3
    seen = [read[i::n] for i in range(n)] if n > 1 else [results]
    return max(abs(at_2 - 2 * at_1 + at_0).max() for at_0, at_1, at_2 in seen), results[0].shape


@referee
def bends(sent):
    curved, shape = sent
    return {"between the layers": "it bends" if curved > 1e-6 else "linear, whatever its depth", "shape": shape}


def reads():
    """What it takes the first pictures for; nothing of a network that is too large to be trained."""
    engine.manual_seed(0)
    if sum(p.size for p in build().parameters()) > 5000:
        return []
    engine.manual_seed(0)
    digits = engine.data.digits()
    x, y, net = engine.tensor(digits.train_x), engine.tensor(digits.train_y), build()
    adam = engine.optim.Adam(net.parameters(), 0.01)
    for i in range(400):
        rows = slice(64 * i % 1344, 64 * i % 1344 + 64)
        adam.zero_grad()
        engine.cross_entropy(net(x[rows]), y[rows]).backward()
        adam.step()
    with engine.no_grad():
        return net(engine.tensor(digits.test_x[:100])).argmax(1).numpy()


@referee
def reads(found):
    if not found:
        return "not trained: too large"
    return sum(a == b for a, b in zip(found, engine.data.digits().test_y)) >= 88


# Hint: At most 2,500 parameters, a hidden layer, and no weights that are set to 0.
size()
# Hint: Something that is not linear should stand between the layers, and the result should be (B, 10).
bends()
# Hint: After 400 steps the network reads fewer than 88 of 100 digits.
reads()
# Hint: `build` should only return a new network. Here backward runs while it builds.
training_while_building()

# %% [markdown] hints="small_network"
# 1. One hidden layer of n neurons has 64 · n + n weights before it, and 10 · n + 10 behind it.
# 2. 75 · n + 10 is at most 2,500 up to n = 33.
# 3. `Linear(64, 32)`, `ReLU()`, `Linear(32, 10)`.

# %% [markdown] shows="small_network"
# A seventh of the lesson's network reads the digits as well: try a small network before you prune a large one.


# %% wrong="small_network"
# Shows: It is the network of the lesson, seven times too large.
# Hint: The widths of the layers decide: 64 · 128 weights are in the first alone.
def build():
    hidden = [mg.nn.Linear(64, 128), mg.nn.ReLU(), mg.nn.Linear(128, 64), mg.nn.ReLU()]
    return mg.nn.Sequential(*hidden, mg.nn.Linear(64, 10))


# %% wrong="small_network"
# Shows: It is small enough, and has no hidden layer.
# Hint: Put a layer of some 30 neurons, and a ReLU, in between.
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 10))


# %% wrong="small_network"
# Shows: Linear layers in a row are one linear layer: nothing bends between them.
# Hint: A ReLU in between.
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.Linear(32, 10))


# %% wrong="small_network"
# Shows: It is a network, and a function that builds one is asked for.
# Hint: `def build():`, and in it `return mg.nn.Sequential(…)`.
build = mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.ReLU(), mg.nn.Linear(32, 10))


# %% wrong="small_network"
# Shows: The hidden layer is so narrow that too little comes through.
# Hint: There is room for more than three neurons.
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 3), mg.nn.ReLU(), mg.nn.Linear(3, 10))


# %% wrong="small_network"
# Shows: A larger network was pruned: its zeros are parameters all the same.
# Hint: 2,500 numbers in all arrays, zeros among them.
def build():
    net = mg.nn.Sequential(mg.nn.Linear(64, 128), mg.nn.ReLU(), mg.nn.Linear(128, 10))
    with mg.no_grad():
        for layer in (net[0], net[2]):
            layer.weight.copy_(layer.weight * (mg.rand(*layer.weight.shape) > 0.8))
    return net


# %% [markdown]
# ## What you have now
#
# A scale and a rounding, a sort by size, and a table in which bytes, MACs and time disagree.
#
# Which of the 64 numbers of a digit does a small network need at all? Set some of them to 0, and look how often it is
# still right.
#
# **Next**: [20 Sixteen bits](../lessons/20_sixteen_bits.ipynb).
