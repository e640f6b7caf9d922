# ---
# jupyter:
#   minigrad:
#     title: Powers
#     minutes: 20
#     lesson: 17_what_grows_how
#     concepts: [E3, E6]
# ---

# %% [markdown]
# # 17 Powers
#
# You count multiply-adds with a pencil, read powers off measurements, and find where attention overtakes the rest. Two
# optional parts count what backward adds, and design a network within a budget. About 20 minutes without these two. 10
# points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution
from minigrad.profiler import estimate

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 6 minutes.**
#
# - `linear_flops`: the FLOPs of a linear layer from 50 to 20 numbers, without a bias, for 8 rows.
# - `conv_macs`: the MACs of a convolution from 4 to 10 channels, without a bias, with windows of 3 × 3. It reads 2
#   pictures, and its results have 6 × 6 pixels.
# - `strided`: the MACs of the same convolution with a stride of 2: its results have 3 × 3 pixels.
# - `per_weight`: in how many of the `conv_macs` multiplications does one weight take part?

# %% answer="pencil" points=2 minutes=6
### BEGIN SOLUTION
linear_flops = 2 * 8 * 50 * 20
conv_macs = 2 * 10 * 6 * 6 * 4 * 3 * 3
strided = 2 * 10 * 3 * 3 * 4 * 3 * 3
per_weight = 2 * 6 * 6
### END SOLUTION

# %%
check("pencil")

# %% probes="pencil"
# Hint: `linear_flops`: rows · inputs · outputs are MACs, and a MAC is two FLOPs.
linear_flops
# Hint: `conv_macs`: each number that comes out needs one MAC for each of the 3 × 3 pixels of each of the 4 channels.
conv_macs
# Hint: `strided`: fewer numbers come out, and each needs as many MACs as before.
strided
# Hint: `per_weight`: a weight meets each pixel that comes out, in each picture.
per_weight

# %% [markdown] hints="pencil"
# 1. A row needs 50 · 20 MACs, and a MAC is two FLOPs. A number that a convolution makes needs C · K · K MACs.
# 2. The convolution makes 2 · 10 · 6 · 6 numbers. With a stride there are fewer of them, and nothing else changes.
# 3. Each weight meets each pixel that comes out, in each picture: 2 · 6 · 6.

# %% [markdown] shows="pencil"
# Work is the number of results times what each of them adds up; parameters are only the second of the two.

# %% wrong="pencil" misconception="M20"
# Shows: A multiply-add was counted as one FLOP.
# Hint: It multiplies, and it adds.
linear_flops, conv_macs, strided, per_weight = 8000, 25_920, 6480, 72

# %% wrong="pencil"
# Shows: One picture was counted, or one row.
# Hint: There are 8 rows, and 2 pictures.
linear_flops, conv_macs, strided, per_weight = 2000, 12_960, 3240, 36

# %% wrong="pencil"
# Shows: The stride was taken to halve the work: it skips in both directions.
# Hint: How many pixels come out, of 36?
linear_flops, conv_macs, strided, per_weight = 16_000, 25_920, 12_960, 72

# %% wrong="pencil"
# Shows: The channels that are read are missing: each result is a sum over the windows in all of them.
# Hint: Each of the 10 kernels has a window for each of the 4.
linear_flops, conv_macs, strided, per_weight = 16_000, 6480, 1620, 72

# %% wrong="pencil"
# Shows: FLOPs were given where MACs are asked for.
# Hint: Only the first of the four is in FLOPs.
linear_flops, conv_macs, strided, per_weight = 16_000, 51_840, 12_960, 72

# %% wrong="pencil"
# Shows: Each weight was said to be used once, as in a linear layer for one row.
# Hint: conv_macs divided by the number of weights, which is 10 · 4 · 3 · 3.
linear_flops, conv_macs, strided, per_weight = 16_000, 25_920, 6480, 1

# %% [markdown]
# ## 2. The power
#
# **2 points, 7 minutes.** A cost was measured at some lengths. Write `power(ns, costs)`, which returns the power of n
# with which the cost grows. `ns` and `costs` are lists of the same length, in no special order, and all numbers are
# above 0.
#
# Use only the **two largest lengths**, because at small ones something else may be in the way. The power is the
# logarithm of the quotient of the costs, divided by the logarithm of the quotient of the lengths. Round it to two
# decimals. For example, `power([1, 2, 4], [5, 9, 36])` is 2.0.


# %% answer="power_of" points=2 minutes=7
def power(ns, costs):
    ### BEGIN SOLUTION
    from math import log

    (n, small), (m, large) = sorted(zip(ns, costs))[-2:]
    return round(log(large / small) / log(m / n), 2)
    ### END SOLUTION


# %%
check("power_of")

# %% probes="power_of"
# Hint: The two largest lengths are 2 and 4: the cost grows fourfold from 9 to 36 where the length doubles.
power([1, 2, 4], [5, 9, 36])
# Hint: The lengths may be in any order: sort them together with their costs.
power([4, 1, 2], [36, 5, 9])
# Hint: Costs that do not grow have the power 0.
power([10, 20, 40], [100, 100, 100])
# Hint: The length grows threefold here, not twofold.
power([100, 300], [7.0, 63.0])
# Hint: The two largest lengths are 5 and 8, and the costs are cubes.
power([2, 3, 5, 8], [8, 27, 125, 512])
# Hint: Costs that fall have a power below 0.
power([8, 16, 24], [100, 40, 160 / 6])
# Hint: Divide the logarithms of the two quotients, and round to two decimals.
power([3, 7], [2, 9])
# Hint: Small lengths do not count: only the two largest.
power([1, 10, 100], [1, 1, 31.6227766])

# %% [markdown] hints="power_of"
# 1. `sorted(zip(ns, costs))` brings them into the order of the lengths. The last two are what you need.
# 2. From cost = a · n^p follows: cost₂ / cost₁ = (n₂ / n₁)^p. Take logarithms on both sides.
# 3. `log(large / small) / log(m / n)`, from the module math; `round(…, 2)`.

# %% [markdown] shows="power_of"
# A power is a slope between logarithms, and two points are enough to read it off if nothing else is in the way.


# %% wrong="power_of"
# Shows: The last two of the lists were taken, and the lists are in no order.
# Hint: Sort the pairs by their length first.
def power(ns, costs):
    from math import log

    return round(log(costs[-1] / costs[-2]) / log(ns[-1] / ns[-2]), 2)


# %% wrong="power_of"
# Shows: The two largest costs were taken, and not the two largest lengths: where a cost falls, these differ.
# Hint: Sort by the length, and take the costs along.
def power(ns, costs):
    from math import log

    (small, n), (large, m) = sorted(zip(costs, ns))[-2:]
    return round(log(large / small) / log(m / n), 2)


# %% wrong="power_of"
# Shows: The lengths were taken to double each time.
# Hint: Divide by the logarithm of the quotient of the lengths, whatever it is.
def power(ns, costs):
    from math import log2

    (_, small), (_, large) = sorted(zip(ns, costs))[-2:]
    return round(log2(large / small), 2)


# %% wrong="power_of"
# Shows: The smallest length was used, at which something else may be in the way.
# Hint: Two points: those of the two largest lengths.
def power(ns, costs):
    from math import log

    pairs = sorted(zip(ns, costs))
    (n, small), (m, large) = pairs[0], pairs[-1]
    return round(log(large / small) / log(m / n), 2)


# %% wrong="power_of"
# Shows: Quotients were divided, and not their logarithms.
# Hint: 4 times the cost for 2 times the length is a power of 2, since 2² = 4; for 3 and 9 it is 2, too.
def power(ns, costs):
    (n, small), (m, large) = sorted(zip(ns, costs))[-2:]
    return round((large / small) / (m / n), 2)


# %% wrong="power_of"
# Shows: It is upside down.
# Hint: The logarithm of the costs is divided by that of the lengths.
def power(ns, costs):
    from math import log

    (n, small), (m, large) = sorted(zip(ns, costs))[-2:]
    return round(log(m / n) / log(large / small), 2) if large != small else 0.0


# %% [markdown]
# ## 3. Attention in its two parts
#
# **2 points, 7 minutes.** For $L$ tokens of $d$ numbers, a block of a transformer needs $12 L d^2$ MACs in its linear
# layers and $2 L^2 d$ in the attention. Write two functions:
#
# - `attention_share(L, d)` returns the part of the whole that is attention, a number from 0 to 1;
# - `length_for(share, d)` returns the length at which attention is that part.
#
# For example, `attention_share(384, 64)` is 0.5, and `length_for(0.5, 64)` is 384.


# %% answer="two_parts" points=2 minutes=7
def attention_share(L, d):
    ### BEGIN SOLUTION
    linear, attention = 12 * L * d**2, 2 * L**2 * d
    return attention / (linear + attention)
    ### END SOLUTION


def length_for(share, d):
    ### BEGIN SOLUTION
    return 6 * d * share / (1 - share)
    ### END SOLUTION


# %%
check("two_parts")

# %% probes="two_parts"
# Hint: `attention_share`: attention divided by the whole, at the length where both parts are equal.
round(float(attention_share(768, 128)), 6)
# Hint: `attention_share` for a wide model: d counts as well as L.
round(float(attention_share(2048, 12_288)), 6)
# Hint: `attention_share` for a narrow model.
round(float(attention_share(100, 10)), 6)
# Hint: `length_for`: at a share of one half both parts are equal.
round(float(length_for(0.5, 128)), 3)
# Hint: `length_for` for another share than one half: solve share = L / (L + 6d) for L.
round(float(length_for(0.25, 50)), 3)
# Hint: `length_for` of the share at some length should give this length back.
round(float(length_for(attention_share(333, 64), 64)), 3)

# %% [markdown] hints="two_parts"
# 1. share = attention / (attention + linear). L and d can be cancelled: what is left is L and 6d.
# 2. share = L / (L + 6d). Solve that for L.
# 3. share · (L + 6d) = L, so L = 6 · d · share / (1 − share).

# %% [markdown] shows="two_parts"
# What is quadratic in one term is linear in all as long as that term is small, and where it stops being small can be
# worked out beforehand.


# %% wrong="two_parts"
# Shows: Attention was divided by the linear part, and not by all of the work.
# Hint: At equal parts the share is a half, and not 1.
def attention_share(L, d):
    return 2 * L**2 * d / (12 * L * d**2)


def length_for(share, d):
    return 6 * d * share


# %% wrong="two_parts"
# Shows: The share is that of the linear layers.
# Hint: With longer texts the share of attention grows.
def attention_share(L, d):
    return 6 * d / (L + 6 * d)


def length_for(share, d):
    return 6 * d * (1 - share) / share


# %% wrong="two_parts"
# Shows: The share is right; the length is that of one share alone, a half.
# Hint: Solve share = L / (L + 6d) for L: share occurs in it twice.
def attention_share(L, d):
    return L / (L + 6 * d)


def length_for(share, d):
    return 12 * d * share


# %% wrong="two_parts"
# Shows: Attention was taken to be all that grows: the share was counted without d.
# Hint: Both terms have a d in them, the one squared.
def attention_share(L, d):
    return 2 * L**2 / (12 * L + 2 * L**2)


def length_for(share, d):
    return 6 * share / (1 - share)


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. What backward adds
#
# **2 points, 8 minutes.** A stack of linear layers without biases is given by the list of its widths: `[64, 32, 10]`
# are two layers, from 64 to 32 and from 32 to 10. It gets `rows` rows.
#
# Write `training_macs(widths, rows)`, which returns the MACs of forward and backward together. For each layer, backward
# makes two products, each with as many MACs as the product of forward. But nobody asks for the gradient of what goes
# into the **first** layer, so there backward makes one.


# %% answer="and_backward" points=2 minutes=8
def training_macs(widths, rows):
    ### BEGIN SOLUTION
    forward = [rows * n * m for n, m in zip(widths, widths[1:])]
    return 3 * sum(forward) - forward[0]
    ### END SOLUTION


# %%
check("and_backward")

# %% probes="and_backward"
# Hint: Forward has rows · n · m MACs a layer; backward has two such products for each layer, but only one for the
# first.
training_macs([64, 32, 10], 5)
# Hint: Twice the rows are twice the MACs, forward and backward.
training_macs([64, 32, 10], 10)
# Hint: A single layer is the first one: two products in all.
training_macs([7, 3], 2)
# Hint: It is the first layer whose input needs no gradient, not the last and not the largest.
training_macs([10, 100, 10, 100, 10], 1)
# Hint: It is the first layer whose input needs no gradient.
training_macs([100, 10, 100, 10, 100], 1)
# Hint: Four layers of different sizes. It is the first whose input needs no gradient, and here it is the smallest.
training_macs([1, 2, 3, 4, 5], 1)

# %% [markdown] hints="and_backward"
# 1. Forward first: `rows * n * m` for each layer, of which `zip(widths, widths[1:])` gives n and m.
# 2. Each layer is counted three times: forward, the gradient of its weights, the gradient of what came in.
# 3. The first has only two of the three: `3 * sum(forward) - forward[0]`.

# %% [markdown] shows="and_backward"
# Training is three times forward but for the gradient that nobody asks for, and an engine that knows the whole graph
# leaves that one out.


# %% wrong="and_backward"
# Shows: It is three times forward; but the gradient of the batch is not computed.
# Hint: What does the first layer need not send on?
def training_macs(widths, rows):
    return 3 * sum(rows * n * m for n, m in zip(widths, widths[1:]))


# %% wrong="and_backward"
# Shows: Backward was taken to be as much as forward.
# Hint: Two gradients for each layer: that of the weights, and that of what came in.
def training_macs(widths, rows):
    return 2 * sum(rows * n * m for n, m in zip(widths, widths[1:]))


# %% wrong="and_backward"
# Shows: The last layer was given two products, and it is the first that has no gradient to send on.
# Hint: Gradients come from the loss: where do they end?
def training_macs(widths, rows):
    forward = [rows * n * m for n, m in zip(widths, widths[1:])]
    return 3 * sum(forward) - forward[-1]


# %% wrong="and_backward"
# Shows: The rows are missing in what backward does.
# Hint: Each of the three products has rows · n · m MACs.
def training_macs(widths, rows):
    layers = [n * m for n, m in zip(widths, widths[1:])]
    return rows * sum(layers) + 2 * sum(layers) - layers[0]


# %% wrong="and_backward"
# Shows: FLOPs were counted.
# Hint: The question asks for MACs.
def training_macs(widths, rows):
    forward = [rows * n * m for n, m in zip(widths, widths[1:])]
    return 2 * (3 * sum(forward) - forward[0])


# %% [markdown]
# ### 5. Within a budget
#
# **2 points, 10 minutes.** Write `build()`, which returns a network from a picture of shape (1, 3, 64, 64) to (1, 10).
# It is right if
#
# - backward reaches at least 20,000 of its parameters;
# - it needs at most **1,000,000** MACs for one picture;
# - at least two of the layers that run are convolutions with windows of 3 × 3 or larger;
# - the first layer is one of them, and reads the picture at its full size;
# - every pixel of the picture can change the result.
#
# `account(build)` says where you are.


# %% name="account"
def account(build):
    """Parameters and MACs, module by module."""
    return estimate(build(), mg.ones(1, 3, 64, 64))


# %% answer="budget" points=2 minutes=10
def build():
    ### BEGIN SOLUTION
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 3, stride=2, padding=1),
        mg.nn.ReLU(),
        mg.nn.Conv2d(8, 16, 3, stride=2, padding=1),
        mg.nn.ReLU(),
        mg.nn.Flatten(),
        mg.nn.Linear(4096, 10),
    )
    ### END SOLUTION


# %%
check("budget")

# %% probes="budget"
import numpy as numeric

import minigrad as engine
from minigrad.core.modes import watching
from minigrad.profiler import estimate as costs_of


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


def what_it_costs():
    found = costs_of(build(), engine.ones(1, 3, 64, 64))
    return found.macs, found.parameters, reached()


@referee
def what_it_costs(sent):
    macs, *parameters = sent
    over = max(0, macs - 1_000_000)
    return {
        "parameters": "enough" if min(parameters) >= 20_000 else "too few",
        "MACs": "within" if not over else f"over by {over:,}",
    }


def reached():
    """How many parameters backward reaches."""
    engine.manual_seed(0)
    net = build()
    net(engine.randn(8, 3, 64, 64)).square().sum().backward()
    return sum(p.size for p in net.parameters() if p.grad is not None and abs(p.grad.numpy()).max() > 0)


def how_it_is_built():
    """For each layer that runs, which it is, the size of its kernel if it is a convolution, and what it reads."""
    net, ran = build(), []
    for part in net.modules():
        if next(part.children(), None) is None:
            part.register_forward_pre_hook(lambda part, xs: ran.append((part, xs[0].shape)))
    net(engine.ones(1, 3, 64, 64))
    kernels = [part.kernel_size if isinstance(part, engine.nn.Conv2d) else [0] for part, _ in ran]
    return [[id(part), min(kernel), shape] for kernel, (part, shape) in zip(kernels, ran)]


@referee
def how_it_is_built(ran):
    """Whether two convolutions run, the first layer that runs is one, and it reads all of the picture's pixels."""
    convs = {part for part, kernel, _ in ran if kernel >= 3}
    first, _, shape = ran[0]
    return {
        "two convolutions run": len(convs) >= 2,
        "the first layer is one": first in convs,
        "it reads all 64 × 64 pixels": min(shape[-2:]) >= 64,
    }


def what_it_reads():
    engine.manual_seed(0)
    net, rng = build(), numeric.random.default_rng(0)
    pictures = engine.tensor(rng.normal(size=(8, 3, 64, 64)), requires_grad=True)
    y = net(pictures)
    (y * engine.tensor(rng.normal(size=y.shape))).sum().backward()
    return y.shape, numeric.count_nonzero(abs(pictures.grad.numpy()).sum((0, 1))) / 64**2


@referee
def what_it_reads(sent):
    shape, seen = sent
    return {"shape": shape, "every pixel counts": seen > 0.98}


# Hint: At least 20,000 parameters that backward reaches, and at most 1,000,000 MACs. Parameters are cheap in a linear
# layer, where no pixels multiply them.
what_it_costs()
# Hint: Two convolutions of 3 × 3 or larger, the first of them before any other layer.
how_it_is_built()
# Hint: The result should have the shape (8, 10) for 8 pictures, and every pixel should be able to change it: does a
# stride skip some?
what_it_reads()
# Hint: `build` should only return a new network. Here backward runs while it builds.
training_while_building()

# %% [markdown] hints="budget"
# 1. The first convolution works on 64 × 64 pixels: with 8 channels and no stride that is 884,736 MACs already.
# 2. A stride of 2 leaves a quarter. Parameters cost least where there are no pixels: in a linear layer, one MAC each.
# 3. Two convolutions of 8 and 16 channels with strides of 2, then `Flatten`, and a linear layer from the 4,096 to 10.

# %% [markdown] shows="budget"
# The same budget buys many parameters behind the pixels, or few before them: where a layer stands decides what it
# costs.


# %% wrong="budget"
# Shows: The first convolution has no stride, and that alone is nearly the budget.
# Hint: 64 · 64 · 8 · 27 MACs: which of these numbers can be smaller?
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 3, padding=1), mg.nn.ReLU(), mg.nn.Conv2d(8, 16, 3, stride=4, padding=1), mg.nn.ReLU(),
        mg.nn.Flatten(), mg.nn.Linear(4096, 10),
    )  # fmt: skip


# %% wrong="budget"
# Shows: It is within the budget, and the result depends on too few parameters.
# Hint: A linear layer of 20,000 weights costs 20,000 MACs: that is 2 % of the budget.
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 4, 3, stride=2, padding=1), mg.nn.ReLU(), mg.nn.Conv2d(4, 8, 3, stride=4, padding=1),
        mg.nn.ReLU(), mg.nn.Flatten(), mg.nn.Linear(512, 10),
    )  # fmt: skip


# %% wrong="budget"
# Shows: The picture is pooled before the first convolution sees it.
# Hint: Let the first convolution have a stride.
def build():
    return mg.nn.Sequential(
        mg.nn.AvgPool2d(4), mg.nn.Conv2d(3, 8, 3, padding=1), mg.nn.ReLU(), mg.nn.Conv2d(8, 16, 3, padding=1),
        mg.nn.ReLU(), mg.nn.Flatten(), mg.nn.Linear(4096, 10),
    )  # fmt: skip


# %% wrong="budget"
# Shows: There are pixels that no window ever covers: a gap between windows, or an edge that no window reaches.
# Hint: A stride larger than the window leaves gaps, and too little padding leaves over the last rows and columns.
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 3, stride=4), mg.nn.ReLU(), mg.nn.Conv2d(8, 16, 3, padding=1), mg.nn.ReLU(),
        mg.nn.Flatten(), mg.nn.Linear(4096, 10),
    )  # fmt: skip


# %% wrong="budget"
# Shows: There is one convolution with windows of 3 × 3 or larger, and two are asked for.
# Hint: Put a second one behind the first, where there are few pixels.
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 3, stride=2, padding=1), mg.nn.ReLU(), mg.nn.Flatten(), mg.nn.Linear(8192, 10)
    )


# %% [markdown]
# ## What you have now
#
# Counts for the three layers that most networks are made of, powers read off two points, and the work of
# attention.
#
# With d = 128 in place of 64, at how many tokens is attention nine tenths of the work? Say it before you ask your
# `length_for`.
#
# **Next**: [18 FLOPs are not time](../lessons/18_flops_are_not_time.ipynb).
