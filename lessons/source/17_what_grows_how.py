# ---
# jupyter:
#   minigrad:
#     title: What grows how
#     minutes: 30
#     objectives:
#       - count the operations of a linear layer, a convolution and an attention block on paper
#       - tell multiply-adds from floating-point operations, in your own numbers and in those of others
#       - read the power of a growth off two points, and off a straight line
#       - say which length doubles a cost, and which multiplies it by four
#       - say what a training step costs, compared with a forward pass
#     concepts: [E3, E6]
#     builds_on: [16_where_the_bytes_go]
#     widgets: [Predict, Quiz]
#     terms:
#       FLOP: a floating-point operation, such as an addition or a multiplication of two numbers
#       MAC: a multiply-add, which is a multiplication and the addition of its result; two FLOPs
#       slope: how steep a curve is. Of a function, how many times as far its result moves as its operand; on axes
#         where each step is a factor, the power with which a cost grows
#       stride: the number of pixels by which the window of a convolution moves on
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 17 What grows how
#
# The GPT of lesson 25 reads *Alice* 64 letters at a time, and it has forgotten the name of the cat before the sentence
# ends. You want it to look back over 128 letters. **What does twice the sentence cost?** Twice as much, four times as
# much, or nothing more? It depends on *what* you count, and on *which* length grows: the sentence, the width of a
# layer, the height of a picture.
#
# Nothing has to be run to find out: a graph of shapes is enough.
#
# **About 30 minutes.** Afterwards you can
#
# - count the operations of a linear layer, a convolution and an attention block on paper;
# - tell multiply-adds from floating-point operations, in your own numbers and in those of others;
# - read the power of a growth off two points, and off a straight line;
# - say which length doubles a cost, and which multiplies it by four;
# - say what a training step costs, compared with a forward pass.
#
# Optional sections, called *Further*, count published networks, and measure times.
#
# **Builds on** [16 Where the bytes go](16_where_the_bytes_go.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): `[ ]`; *attention*; the bytes of each box, and its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask: your network takes an hour on pictures of 100 × 100 pixels. How long does it take on 200 × 200?
# Write the answers on the board. One hour, two and four will all be there.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.profiler import estimate

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Multiply-adds and FLOPs
#
# For each of its outputs, a linear layer multiplies each of its inputs by a weight and adds up the products. One
# multiplication and one addition together are a **MAC**, a multiply-add. Each single operation on numbers, whether it
# is an addition or a multiplication, is a **FLOP**. How many FLOPs does a layer from 300 to 100 numbers, without a
# bias, need for a batch of 10?

# %%
Predict("linear", "FLOPs of a linear layer, 10 rows of 300 to 100:")

# %%
layer = mg.nn.Linear(300, 100, bias=False)
cost = estimate(layer, mg.ones(10, 300))
reveal("linear", cost.flops)

# %%
print(f"{10 * 300 * 100:,} on paper, {cost.macs:,} MACs, {cost.flops:,} FLOPs")

# %% [markdown]
# From $C$ to $D$ numbers that is $B · C · D$ MACs for a batch of $B$, and two FLOPs for each MAC. Published tables do
# not agree: some print MACs and call them FLOPs. So ask which of the two a table counts.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. A machine that is sold with 100 TFLOP/s does at most 50 · 10¹² multiply-adds a second. Ask what a bias
# adds to the count: 10 · 100 additions, one FLOP in 600, and most counts leave it out.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: ResNet-50

# %% [markdown] slideshow={"slide_type": "skip"}
# The paper that introduced ResNet-50 puts it at 3.8 · 10⁹ FLOPs, and means multiply-adds. Other tables say 4.1. Here is
# our own count. On the device `meta` a model has shapes and no memory:

# %%
with mg.device("meta"):
    resnet, picture = mg.zoo.resnet(50), mg.zeros(1, 3, 224, 224)
cost = estimate(resnet, picture)
print(f"{cost.parameters:,} parameters, {cost.macs:,} MACs, {cost.flops:,} FLOPs")

# %% [markdown]
# To mistake one for the other is a factor of two. (3.8 became 4.1 for another reason: in most of today's code, some of
# the steps that halve the picture are in a different layer than in the paper. And the FLOPs are a little more than
# twice the MACs, because normalising and relu have FLOPs and no MACs.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A convolution
#
# The second convolution of lesson 16 reads 16 channels of 8 × 8 pixels and makes 16, with windows of 3 × 3. Each number
# that it makes is a sum over a window in all the channels that it reads: $C · K · K$ MACs. It has 2,320 parameters. How
# many MACs does it need for *one* picture?

# %%
Predict("convolution", "MACs of the convolution for one picture:")

# %%
conv = mg.nn.Conv2d(16, 16, 3, padding=1)
C, D, K, H, W = 16, 16, 3, 8, 8
cost = estimate(conv, mg.ones(1, C, H, W))
reveal("convolution", cost.macs)

# %%
print(f"{D * H * W * C * K * K:,} on paper, {cost.macs:,} counted: {cost.macs / cost.parameters:.1f} a parameter")

# %% [markdown]
# A linear layer uses each of its weights once for each row of the batch. A convolution uses each of its weights at
# *every pixel* of the result, here 64 times. (The output says 63.6 because the 16 biases are parameters, too.) So
# parameters and work need not be in the same place.
#
# The window may also move on by more than one pixel: that number is its **stride**. With a stride of 2 it looks at
# every second row and every second column, and a quarter of the work is left.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: AlexNet

# %% [markdown] slideshow={"slide_type": "skip"}
# AlexNet, the network that won the ImageNet contest of 2012, has five convolutions, followed by three linear layers.
# 96 % of its parameters are in the linear layers. How much of its work is done there? Guess before you run the cell.

# %%
with mg.device("meta"):
    alexnet, picture = mg.zoo.AlexNet(), mg.zeros(1, 3, 224, 224)
cost = estimate(alexnet, picture)
share = {}
for name in ("features", "classifier"):
    macs = cost.by_module[f"AlexNet.{name}"].macs
    parameters = sum(p.size for p in getattr(alexnet, name).parameters())
    share[name] = parameters / cost.parameters, macs / cost.macs
    print(f"{name:10} {share[name][0]:6.1%} of the parameters, {share[name][1]:6.1%} of the MACs")

# %%
fig, ax = plt.subplots(figsize=(6, 1.8), layout="constrained")
for y, i in enumerate((1, 0)):
    ax.barh(y, share["features"][i], color=BLUE)
    ax.barh(y, share["classifier"][i], left=share["features"][i], color=VERMILION, hatch="//", edgecolor="white")
ax.set(yticks=[0, 1], yticklabels=["MACs", "parameters"], xlabel="share: convolutions, then linear layers (hatched)")
plt.show()

# %% [markdown]
# *The plot: two bars. Of the parameters 4 % are in the convolutions and 96 % in the linear layers. Of the MACs it is
# 92 % and 8 %.*
#
# If the file is too large, look at the linear layers. If there is too much to compute, look at the convolutions.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two points make a power
#
# If a cost grows as $n^p$, then twice the length costs $2^p$ times as much. So you can read $p$ off two points: divide
# the two costs, and take the logarithm to base 2. On axes where each step is a factor, such a cost is a straight line,
# and $p$ is its **slope**.
#
# Here is a network of convolutions, on the device `meta`, which holds shapes and no numbers. Its batch, its depth, its
# width (the number of channels) and its pictures can grow. What is the slope of the MACs over the *width*?


# %%
def costs(batch=8, depth=4, width=16, pixels=16):
    with mg.device("meta"):
        parts = [part for _ in range(depth) for part in (mg.nn.Conv2d(width, width, 3, padding=1), mg.nn.ReLU())]
        return estimate(mg.nn.Sequential(*parts), mg.zeros(batch, width, pixels, pixels))


Predict("width", "The slope of the MACs over the width:")


# %%
def slope(what, **doubled):
    """The power with which a cost grows, from its value at a length and at twice the length."""
    (name, n), *_ = doubled.items()
    return np.log2(getattr(costs(**{name: 2 * n}), what) / getattr(costs(**{name: n}), what))


counted = ("parameters", "macs", "saved_bytes")
lengths = {"batch": 8, "depth": 4, "width": 16, "pixels": 16}
slopes = {name: [slope(what, **{name: n}) for what in counted] for name, n in lengths.items()}
reveal("width", round(slopes["width"][1], 2))

# %% slideshow={"slide_type": "subslide"}
print(f"{'slope over':10} {'parameters':>10} {'MACs':>10} {'saved':>10}")
for name, powers in slopes.items():
    print(f"{name:10}", *(f"{power:10.2f}" for power in powers))

# %% [markdown]
# It is 2: twice as wide is four times the work. Read the table row by row.
#
# - A larger *batch* costs work and memory, and no parameters.
# - Larger *pictures* cost no parameters either. Work and memory are quadratic in the pixels along an edge, because a
#   picture grows in two directions.
# - *Depth* is the only length that is linear in everything. (The slope of its bytes is a little below 1, since the
#   batch itself is saved, too.)
# - *Width* is quadratic in parameters and work, because each new channel reads every channel that is there. What is
#   saved for backward grows only with the number of channels.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for the table. Let them guess row by row. Most people get the row of the width wrong:
# "twice as wide, twice as expensive".

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: grown together

# %% [markdown]
# EfficientNet, a family of networks from 2019, grows depth, width and pixels together: 1.2, 1.1 and 1.15 times as much
# at each step. By the table that is 1.2 · 1.1² · 1.15² = 1.92 times the work.

# %% slideshow={"slide_type": "skip"}
fig, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for ax, name in zip(axes, ("width", "pixels")):
    ns = [lengths[name] * 2**i for i in range(5)]
    for what, color, marker, wide in zip(counted, (GREEN, BLUE, VERMILION), "^os", (5, 3, 1)):
        values = np.array([getattr(costs(**{name: n}), what) for n in ns], float)
        ax.loglog(ns, values / values[0], color=color, marker=marker, lw=wide, ms=5 + wide, label=what, base=2)
    ax.set(xlabel=name, ylabel="times as much", xticks=ns, xticklabels=ns)
axes[1].legend(["parameters", "MACs", "saved for backward"], loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plots: costs over the width, and over the pixels along an edge, both axes in factors of two. On the left,
# parameters and MACs lie on top of each other and become four times as many with each doubling; the bytes saved for
# backward become twice as many. On the right, MACs and bytes lie on top of each other and become four times as many;
# the parameters stay.*

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: windows and strides

# %% [markdown] slideshow={"slide_type": "skip"}
# A convolution has two more lengths: the size of its window, and its stride. How do the MACs change, compared with
# windows of 3 × 3 and a stride of 1?


# %%
def macs_and_size(kernel_size=3, stride=1, padding=None):
    """The MACs of a convolution, and how many numbers its result has."""
    padding = kernel_size // 2 if padding is None else padding
    with mg.device("meta"):
        conv, pictures = mg.nn.Conv2d(16, 16, kernel_size, stride, padding), mg.zeros(8, 16, 32, 32)
        return estimate(conv, pictures).macs, conv(pictures).size


macs, size = macs_and_size()
for name, options in (("5 x 5", {"kernel_size": 5}), ("stride 2", {"stride": 2}), ("no padding", {"padding": 0})):
    new_macs, new_size = macs_and_size(**options)
    print(f"{name:10} MACs {new_macs / macs:5.2f}, size of the result {new_size / size:5.2f}")

# %% [markdown]
# A stride of 2 leaves a quarter of the work *and* a quarter of the work of all convolutions behind it. That is why many
# networks shrink the picture early. Windows of 5 × 5 take 25/9 of the work, for a result of the same size: larger
# windows leave the activations alone, as long as `padding` fills up the edge. Without padding the result shrinks, as
# the last line shows.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Twice the sentence
#
# Back to *Alice*. A transformer multiplies each token, here a letter, by matrices, and lets it look at every other one
# (lesson 16). For $L$ tokens of $d$ numbers, a block takes
#
# - $12 · L · d^2$ MACs in the linear layers: four of $d × d$ around the attention, and two of $d × 4d$ behind it;
# - $2 · L^2 · d$ MACs in the attention: the product of each token with every token, and then the weighted sums.
#
# The GPT of lesson 25 has $d = 64$. At how many letters would attention be half of the work?


# %%
class Block(mg.nn.Module):
    def __init__(self, d):
        self.qkv, self.out = mg.nn.Linear(d, 3 * d), mg.nn.Linear(d, d)
        self.up, self.down = mg.nn.Linear(d, 4 * d), mg.nn.Linear(4 * d, d)

    def forward(self, t):
        q, k, v = self.qkv(t).chunk(3, -1)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        t = t + self.out(weights @ v)
        return t + self.down(self.up(t).relu())


def block_cost(L, d=64):
    with mg.device("meta"):
        return estimate(Block(d), mg.zeros(1, L, d))


Predict("half", "At how many tokens, with d = 64, is half of the work attention?", tolerance=20)

# %%
tokens = [64, 128, 256, 384, 512, 1024, 2048, 4096]
linear, attention = ([block_cost(L).by_op[op].macs for L in tokens] for op in ("Affine", "MatMul"))
reveal("half", tokens[int(np.argmin(np.abs(np.divide(attention, linear) - 1)))])

# %%
for L, a, b in zip(tokens, linear, attention):
    print(f"{L:5} tokens: linear {a:13,}  attention {b:13,}  {b / (a + b):4.0%}")
print(f"twice the sentence, 128 letters: {(linear[1] + attention[1]) / (linear[0] + attention[0]):.2f} times the work")

# %% [markdown]
# At $L = 6d$: there $2 L^2 d = 12 L d^2$. Far below it the work is nearly linear in the length of the text, and far
# above it nearly quadratic. "Attention is quadratic" is true of *one* term. So our GPT pays 2.29 times the work for
# twice the sentence.

# %% [markdown] slideshow={"slide_type": "subslide"}
# It is the same with bytes: only the matrix of attention weights grows with $L^2$.

# %%
saved = [block_cost(L).saved_bytes for L in tokens]
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
for values, color, marker, name in (
    (linear, BLUE, "o", "MACs, linear layers"),
    (attention, VERMILION, "s", "MACs, attention"),
    (saved, GREEN, "^", "bytes, saved for backward"),
):
    ax.loglog(tokens, values, color=color, marker=marker, label=name, base=2)
ax.axvline(6 * 64, color="gray", linestyle=":")
ax.set(xlabel="tokens", ylabel="MACs, or bytes", xticks=[64, 256, 1024, 4096], xticklabels=[64, 256, 1024, 4096])
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
left, right = np.log2(saved[1] / saved[0]), np.log2(saved[-1] / saved[-2])
print(f"slope of the bytes saved for backward: {left:.2f} at the left, {right:.2f} at the right")

# %% [markdown]
# *The plot: three curves over the number of tokens, both axes in factors. Linear layers are a line of slope 1,
# attention is a line of slope 2, and they cross at the dotted line, at 384. The bytes saved for backward begin with a
# slope near 1 and bend upwards, towards 2.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Ask for the crossing of a model with d = 12,288, GPT-3's: 73,728 tokens, and its texts had 2,048. By
# our formula the quadratic part of that model is three percent of the work. With d = 8192 the linear layers are most of
# the work up to 49,152 tokens.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Backward
#
# Forward is one product for each linear layer. Backward needs up to two: one for the gradient of the weights, and one
# for the gradient of the layer's input. The engine leaves out the second where nobody asks for it, and nobody asks for
# the gradient of the batch. Take a stack of *two* equal layers. How many times the MACs of forward does a whole
# training step take, forward and backward together?

# %%
Predict("training", "MACs of forward and backward, as a multiple of forward:")

# %%
times = {}
for depth in (1, 2, 8, 64):
    with mg.device("meta"):
        stack = mg.nn.Sequential(*(mg.nn.Linear(64, 64) for _ in range(depth)))
        cost = estimate(stack, mg.zeros(32, 64))
    times[depth] = 1 + cost.backward_macs / cost.macs
reveal("training", times[2])

# %%
for depth, multiple in times.items():
    print(f"{depth:2} layers: {multiple:.3f} times forward")

# %% [markdown]
# 2.5 times: two products forward, and three backward. The deeper the stack, the less the missing product matters, and a
# training step costs nearly three forward passes. From this comes a rule of thumb: to train a transformer of $N$
# parameters takes $6 N$ FLOPs for each token, $2N$ forward and twice as many backward.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: measured, too

# %% [markdown] slideshow={"slide_type": "skip"}
# Counts are exact, and say nothing of seconds. `sweep` runs a function at several lengths, and it measures as well as
# counts. Do the measured seconds of attention grow as the FLOPs do? Run it, and look at the slope that it fits.


# %% tags=["measured", "nbval-ignore-output"]
def block_and_input(tokens):
    return Block(32).float(), mg.ones(2, tokens, 32, dtype=mg.float32)


mg.profiler.sweep(block_and_input, tokens=[64, 128, 256, 512, 1024], progress=False)

# %% [markdown]
# Counts and measurements need not agree: a short run may be mostly calls, and a long one mostly traffic to memory.
# Lesson 18 looks into that. (Where the two differ by more than a factor of two, a line below the charts says so.) A
# count gives the growth of the *work*. As a first guess at the growth of the time, it costs nothing.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A rule of thumb
#
# **Where it breaks.** If forward takes $2N$ FLOPs for each token, then the number of parameters $N$ tells you the work.
# Somebody uses this rule to plan a budget. Here are three networks with about 150,000 parameters each, and an input of
# one row, one picture and one word. For which of them does the rule hold?

# %%
Predict("rule", "FLOPs are 2 · parameters for …", options=["all three", "the linear one", "none"])

# %%
with mg.device("meta"):
    three = {
        "linear": (mg.nn.Linear(400, 400), mg.zeros(1, 400)),
        "convolution": (mg.nn.Conv2d(128, 128, 3, padding=1, bias=False), mg.zeros(1, 128, 16, 16)),
        "embedding": (mg.nn.Embedding(5000, 32), mg.zeros(1, dtype=mg.int64)),
    }
three_costs = {name: estimate(*network_and_input) for name, network_and_input in three.items()}
holds = [name for name, cost in three_costs.items() if abs(cost.flops / (2 * cost.parameters) - 1) < 0.05]
reveal("rule", {3: "all three", 0: "none"}.get(len(holds), "the linear one"))

# %%
for name, cost in three_costs.items():
    multiple = cost.flops / (2 * cost.parameters)
    print(f"{name:11} {cost.parameters:7,} parameters, {cost.flops:11,} FLOPs: {multiple:.2f} times 2N")

# %% [markdown]
# A convolution uses each weight at each of its 256 pixels. An embedding is a table with a row for each word: it looks
# up one row, and computes nothing. The rule is about linear layers, and a transformer is mostly made of those. In a
# small transformer, though, most parameters are in the table of words, and there the rule predicts too much work.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Ask which parameters of GPT-2 small do no work: 38.6 of 124 million are the table of words. But there
# the same table is used a second time, at the end, as a linear layer.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("17_what_grows_how")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `estimate(net, x).flops` | `FlopCounterMode` | `tf.compat.v1.profiler` | `compiled.cost_analysis()` |
# | `estimate(net, x).macs` | `thop.profile(net, (x,))`, fvcore | none | none |
# | `with mg.device("meta"):` | `with torch.device("meta"):` | `tf.TensorSpec` | `jax.eval_shape(f, x)` |
# | `estimate(net, x).parameters` | `sum(p.numel() for p in net.parameters())` | `net.count_params()` | a sum |
#
# `FlopCounterMode`, in `torch.utils.flop_counter`, counts matrix products, convolutions and fused attention, and
# nothing else: two FLOPs for each MAC. thop, fvcore and keras-flops are packages of their own: thop counts MACs, fvcore
# counts MACs and calls them "flops", and keras-flops asks TensorFlow's profiler about a Keras model. `compiled` is
# `jax.jit(f).lower(x).compile()`.
#
# ### The same in PyTorch
#
# PyTorch's own counter gives two FLOPs for each MAC. It finds the 147,456 MACs of the convolution, and a training step
# that costs 2.5 times forward for two layers, and more for eight.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def flops_in_pytorch(torch):
    """
    convolution: 294,912 FLOPs
    layers: 1, a training step is 2.000 times forward
    layers: 2, a training step is 2.500 times forward
    layers: 8, a training step is 2.875 times forward
    """
    from torch.utils.flop_counter import FlopCounterMode

    def count(work):
        with FlopCounterMode(display=False) as counter:
            work()
        return counter.get_total_flops()

    conv, picture = torch.nn.Conv2d(16, 16, 3, padding=1), torch.ones(1, 16, 8, 8)
    print(f"convolution: {count(lambda: conv(picture)):,} FLOPs")
    x = torch.zeros(32, 64)
    for depth in (1, 2, 8):
        stack = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(depth)))
        times = count(lambda stack=stack: stack(x).sum().backward()) / count(lambda stack=stack: stack(x))
        print(f"layers: {depth}, a training step is {times:.3f} times forward")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - One MAC is two FLOPs. A linear layer needs $B · C · D$ MACs, a convolution $B · D · H · W · C · K · K$.
# - Parameters and work are in different places: a convolution uses each weight at every pixel.
# - Batch and depth are linear. Width is quadratic in parameters and work, the edge of a picture in work and bytes.
# - A transformer is quadratic in one term, attention, which is half of the work at $L = 6d$.
# - A training step costs about three forward passes.
#
# **Sources.** D. Narayanan and others, *Efficient large-scale language model training on GPU clusters*,
# arXiv:2104.04473 (2021), appendix: the FLOPs of a transformer, term by term. J. Kaplan and others, *Scaling laws for
# neural language models*, arXiv:2001.08361 (2020), section 2.1: $6N$, where $N$ leaves the table of words out. The
# networks: A. Krizhevsky and others, NIPS 2012 (AlexNet); K. He and others, arXiv:1512.03385 (ResNet); M. Tan, Q. Le,
# arXiv:1905.11946 (EfficientNet).
#
# **Exercise.** [17 Powers](../exercises/17_what_grows_how.ipynb): slopes, the work of a convolution, and attention in
# its two parts.
#
# **Next:** [18 FLOPs are not time](18_flops_are_not_time.ipynb). Before that, change something here: give `Block` four
# heads, each with a quarter of the numbers of q, k and v, and an $L × L$ matrix of its own. Which of the three curves
# move, and which do not? Write it down before you run it.
