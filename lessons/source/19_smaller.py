# ---
# jupyter:
#   minigrad:
#     title: Smaller
#     minutes: 30
#     objectives:
#       - write a weight as a small integer and a scale, and say how far it is rounded
#       - take nine of ten weights away, and bring back what that costs
#       - say which ways to make a network smaller make it quicker too, and which do not
#       - say which range a scale must cover, and what one large weight does to the others (an optional section)
#     concepts: [E8]
#     builds_on: [17_what_grows_how, 18_flops_are_not_time]
#     widgets: [Predict, Quiz]
#     terms:
#       quantisation: writing numbers as small integers, times a scale that they share
#       scale: of quantised numbers, what one step of the integer stands for
#       calibration: running a network on some data, to see which range its activations have
#       weight pruning: setting weights to zero, usually the smallest ones, and keeping them there
#       fine-tuning: training a network a little more after it was changed
#       structured pruning: taking whole channels or neurons away, so that the arrays become smaller
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 19 Smaller
#
# A courier photographs the number on a parcel, and an app on her phone reads it. There is no time to ask a server. The
# network reads well. But its file is too large for the app, and it drains the battery. **Can 90 % of the weights go?**
#
# There are three ways to make a trained network smaller: fewer bits for each number, fewer numbers, and another design.
# We measure what is left: how often the network is right, how many bytes it has, and whether it is quicker.
#
# **About 30 minutes.** Afterwards you can
#
# - write a weight as a small integer and a scale, and say how far it is rounded;
# - take nine of ten weights away, and bring back what that costs;
# - say which ways to make a network smaller make it quicker too, and which do not.
#
# Folded, optional sections are about one large weight, calibration gone wrong, times, and pruning more than 90 %.
#
# **Builds on** [17 What grows how](17_what_grows_how.ipynb) and [18 FLOPs are not time](18_flops_are_not_time.ipynb).
# What it opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and
# its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask for guesses: how many bits does a weight need? How many of the weights would nobody miss? Leave the
# numbers on the board, and come back to them.

# %% slideshow={"slide_type": "skip"}
import zlib
from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, follow_theme, in_turns, reveal, reveal_range
from minigrad.nn.utils import prune
from minigrad.profiler import estimate
from minigrad.quantization import convert, prepare, quantize_per_channel, quantize_per_tensor

mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network that works
#
# Here is the network that we make smaller: a reader of digits with 17,226 parameters, trained for 400 steps. Its layers
# take 64 numbers to 128, then to 64, then to 10.

# %% slideshow={"slide_type": "skip"}
digits = mg.data.digits()
x, y = mg.tensor(digits.train_x), mg.tensor(digits.train_y)
unseen = mg.tensor(digits.test_x)


def train(net, steps):
    adam = mg.optim.Adam(net.parameters(), 0.005)
    for i in range(steps):
        rows = slice(64 * i % 1344, 64 * i % 1344 + 64)
        adam.zero_grad()
        mg.cross_entropy(net(x[rows]), y[rows]).backward()
        adam.step()
    return net


def share_right(net):
    """The share of digits that it reads correctly, of 360 that it has never seen."""
    with mg.no_grad():
        guessed = net(unseen.astype(net[0].bias.dtype)).argmax(1)
    return float((guessed.numpy() == digits.test_y).mean())


# %%
def network(width=128):
    hidden = [mg.nn.Linear(64, width), mg.nn.ReLU(), mg.nn.Linear(width, 64), mg.nn.ReLU()]
    return mg.nn.Sequential(*hidden, mg.nn.Linear(64, 10))


net = train(network(), 400)
print(f"{sum(p.size for p in net.parameters()):,} parameters, right: {share_right(net):.0%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fewer bits
#
# **Quantisation** writes each weight as an integer $k$ of a few bits, times a **scale** $s$ that all of them share: $w
# ≈ s · k$. With $b$ bits there are $2^b$ integers. We use the $2^{b-1} - 1$ above zero and as many below it. So the
# scale is the largest $|w|$ divided by $2^{b-1} - 1$, and each weight is off by half a step at most.
#
# Our weights have 64 bits each. With how few bits is the network still right 90 % of the time? Nothing so far tells
# you, so guess.


# %%
def rounded(net, bits):
    """A copy whose weights are multiples of a scale, one for each layer."""
    copy = deepcopy(net)
    with mg.no_grad():
        for layer in copy[::2]:
            w = layer.weight.numpy()
            scale = abs(w).max() / (2 ** (bits - 1) - 1)
            layer.weight.copy_(mg.tensor(np.round(w / scale) * scale))
    return copy


Guess("bits", "The fewest bits with which it is right 90 % of the time:")

# %%
shares = {bits: share_right(rounded(net, bits)) for bits in (8, 6, 5, 4, 3, 2)}
reveal("bits", min(bits for bits, share in shares.items() if share >= 0.9))

# %% [markdown]
# Four bits are enough: with only fifteen different weights in a layer, the network reads as well as before. Each neuron
# adds up many products, and their errors, half a step either way at most, mostly cancel. Two bits leave only −s, 0 and
# s, where s is the largest weight, so nearly all weights become 0.

# %%
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.plot(list(shares), list(shares.values()), "o-", color="#0072B2")
for bits, share in shares.items():
    ax.annotate(f"{share:.0%}", (bits, share), (0, -14), textcoords="offset points", ha="center")
ax.set(xlabel="bits for each weight", ylabel="right", ylim=(-0.2, 1.1))
plt.show()

# %% [markdown]
# *The plot: how often the network is right, from 8 bits down to 2. It stays at 96 % down to 4 bits, has 89 % with 3,
# and 7 % with 2.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes up to here. Draw the number line: 255 marks, and a weight far out to the right that pulls them all
# apart. Clipping is the other remedy: then one weight is off by a lot, and all the others by little.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network in int8
#
# Weights are known in advance, and activations are not. So the network first runs on some data, while observers note
# the range of what reaches each layer: **calibration**. Then `convert` makes layers that multiply integers. Each weight
# takes one byte. Biases stay in floats, and each row of weights has a scale, which is a float, too. In float32 the
# network has 68,904 bytes, four for each number. How many percent of them are left?

# %%
Predict("int8", "Percent of the bytes that are left:", options=["under 25", "25 to 40", "over 40"])


# %%
def in_int8(net):
    prepared = prepare(deepcopy(net).float().eval())
    prepared(x[:256].astype(mg.float32))  # the observers note the ranges
    return convert(prepared)


def nbytes(net):
    return sum(tensor.nbytes for tensor in net.state_dict().values())


in_floats, in_integers = deepcopy(net).float().eval(), in_int8(net)
reveal_range("int8", 100 * nbytes(in_integers) / nbytes(in_floats), 25, 40)

# %%
print(f"float32 {nbytes(in_floats):,} bytes, right {share_right(in_floats):.0%}")
print(f"int8    {nbytes(in_integers):,} bytes, right {share_right(in_integers):.0%}")

# %% [markdown]
# A little more than a quarter of the bytes is left, 28 %. Is it quicker? Not in NumPy, which has no quick product of
# integers. On a processor that has one, the time can fall as well. The bytes are certain, and the time depends on the
# machine.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: one large weight
#
# You can follow the lesson without what is folded here: what one weight that is far too large does to all the others.

# %% [markdown] slideshow={"slide_type": "skip"}
# Everything depends on the scale, and the scale depends on the *largest* weight. Suppose one weight of the first layer
# were a hundred times as large as the largest is now. How many percent of the other 8,191 weights become 0 at eight
# bits? Write down a number. (`quantize_per_tensor` takes the scale, and the integer that stands for 0: here that is 0.
# `int_repr` shows the integers.)

# %% slideshow={"slide_type": "skip"}
w = net[0].weight.detach().clone()
with mg.no_grad():
    w[3, 5] = 100 * abs(w.numpy()).max()
largest = abs(w.numpy()).max(1, keepdims=True)  # of each row
one_scale = quantize_per_tensor(w, float(largest.max() / 127), 0, mg.int8).int_repr().numpy()
scales = mg.tensor(largest[:, 0] / 127)
row_scales = quantize_per_channel(w, scales, mg.zeros(128, dtype=mg.int64), 0, mg.int8).int_repr().numpy()
print(f"a scale for all:      {(one_scale == 0).mean():.0%} are 0, {len(np.unique(one_scale))} integers are used")
print(f"a scale for each row: {(row_scales == 0).mean():.0%} are 0")

# %% [markdown] slideshow={"slide_type": "skip"}
# The steps became a hundred times as wide, and most weights round to nothing. With a scale for each row, *per channel*,
# the damage stays in one row of 128. It costs 127 numbers more, and most frameworks do it for weights.
#
# For activations a scale per channel does not work. Each number of a product is a sum over the channels, and integers
# can be added only if they have the same scale. Large language models have a few channels with very large activations,
# and much of the work on quantising such models is about those few channels.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: calibration gone wrong, and machines for small numbers
#
# You can follow the lesson without what is folded here: pictures that were too dark for the observers, phones, and
# TPUs.

# %% [markdown] slideshow={"slide_type": "skip"}
# The calibration saw pictures that were too dark by a factor of twenty, because somebody had scaled them differently.
# Everything else is as above. How often is the int8 network right on proper pictures? Write down a guess.

# %% slideshow={"slide_type": "skip"}
prepared = prepare(deepcopy(in_floats))
prepared(x[:256].astype(mg.float32) / 20)
badly_calibrated = convert(prepared)
print(f"right: {share_right(badly_calibrated):.0%}, where it was {share_right(in_integers):.0%}")

# %% [markdown] slideshow={"slide_type": "skip"}
# There is no error and no warning: numbers above the range that the observers saw are cut off at its end. Calibrate on
# data like the data that will come. Then compare how often the two networks are right, on data that neither has seen.
# (The same happens when a camera is replaced after a year.)

# %% [markdown] slideshow={"slide_type": "skip"}
# Some machines are made for small numbers.
#
# - *Edge devices* compute where the data is made: phones, cameras, watches, and microcontrollers with a few hundred
#   kilobytes of memory. Many phones have units that multiply int8. A microcontroller often has no operating system that
#   it could ask for memory. So LiteRT, TensorFlow's runtime for such devices, places every array in one fixed block
#   before the first run. That is the memory plan of lesson 14.
# - A *TPU* is Google's chip for neural networks: a grid of multiply-adds through which the numbers of a matrix product
#   flow. The first one, in 2015, multiplied eight-bit integers and only ran trained networks. Since the second, TPUs
#   multiply bfloat16 (lesson 20) and can train. They run graphs that a compiler, XLA, has compiled, as in lesson 15.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fewer weights
#
# **Weight pruning** sets weights to zero, the smallest first, in the hope that they matter least. `prune` keeps the
# weights as they were, together with a *mask* of zeros and ones. The layer computes with the product of the two. Now
# nine of ten weights of each layer go. Guess how often the network is still right.

# %%
Guess("pruned", "Right after 90 % of the weights are gone, in percent:", tolerance=12)


# %%
def pruned(net, amount, by=prune.l1_unstructured):
    copy = deepcopy(net)
    for layer in copy[::2]:
        by(layer, "weight", amount)
    return copy


def weights_left(net):
    return sum(int((layer.weight != 0).sum()) for layer in net[::2])


thin = pruned(net, 0.9)
reveal("pruned", 100 * share_right(thin))

# %%
print(f"right: {share_right(thin):.0%}; weights that are not 0: {weights_left(thin):,}")

# %% [markdown]
# That is close to chance, which is right in one case of ten. So no, 90 % cannot go. Not yet.

# %% [markdown] slideshow={"slide_type": "subslide"}
# The weights that are left have never had to do the work alone. They may *learn* it: **fine-tuning**. The mask stays,
# and with it the zeros. The network gets half as many steps as its training had. Guess how often it is
# right after that.

# %%
Guess("tuned", "Right after 200 more steps, in percent:", tolerance=4)

# %%
train(thin, 200)
reveal("tuned", 100 * share_right(thin))

# %%
print(f"right: {share_right(thin):.0%}; weights that are not 0: {weights_left(thin):,}")

# %% [markdown]
# The network reads as well with a tenth of its weights as it did with all of them. So 90 % can go, if the rest may
# learn again.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for pruning. Two thoughts to leave with them: small does not mean unimportant until you have looked; and
# most of a trained network is there to make training easy, not to read digits.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: pruning more, or less, than 90 %
#
# You can follow the lesson without what is folded here: six amounts, pruned at random, by size, and fine-tuned.

# %% slideshow={"slide_type": "skip"}
amounts = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98]
ways = {
    "random": [share_right(pruned(net, amount, prune.random_unstructured)) for amount in amounts],
    "smallest": [share_right(pruned(net, amount)) for amount in amounts],
    "smallest, fine-tuned": [share_right(train(pruned(net, amount), 200)) for amount in amounts],
}
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
for (way, shares), color, marker in zip(ways.items(), ("#D55E00", "#0072B2", "#009E73"), "so^"):
    ax.plot([f"{amount:.0%}" for amount in amounts], shares, color=color, marker=marker, label=way)
ax.set(xlabel="weights that are gone", ylabel="right", ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: how often the network is right over the share of weights that are gone. If half of the weights go at
# random, a third of the digits is lost. Of the smallest weights half can go for nothing, and then the line falls
# steeply. Fine-tuned, the network stays above nine of ten up to 95 %, and falls only at 98 %.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What zeros cost
#
# **Where it breaks.** Nine of ten weights are 0, and the network is as good as before. The whole network needs 24.5
# million MACs for the digits in `x`. So how many does the pruned one need?

# %%
Predict("zeros", "The MACs of the pruned network:", options=["a tenth", "about half", "as many as before"])

# %%
macs = {"whole": estimate(net, x).macs, "pruned": estimate(thin, x).macs}
reveal_range("zeros", macs["pruned"] / macs["whole"], 0.2, 0.8)

# %%
for name, version in ("whole", net), ("pruned", thin):
    packed = zlib.compress(np.concatenate([layer.weight.numpy().astype(np.float32).ravel() for layer in version[::2]]))
    print(f"{name:7} {macs[name]:11,} MACs, {nbytes(version):8,} bytes; zipped about {round(len(packed), -3):,} bytes")

# %% [markdown]
# All of the MACs are still there, and the bytes have doubled: a 0 is multiplied like any other number, and the mask
# takes as much room as the weights. Zeros help at once only in a compressed file: the last column is such a file, of
# the weights in float32. They save no time unless somebody leaves them out.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Ask who has read "ten times smaller" in an advertisement, and of what: file, memory, or time?

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: where zeros save time, and where int8 does
#
# You can follow the lesson without what is folded here: the pruned network and the network in int8, timed.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
inputs = x.astype(mg.float32)
with mg.no_grad():
    times = in_turns(pruned=lambda: thin(x), whole=lambda: net(x))
print(f"the pruned network takes {times['pruned'] / times['whole']:.2f} times as long as the whole one")
with mg.no_grad():
    times = in_turns(int8=lambda: in_integers(inputs), float32=lambda: in_floats(inputs))
print(f"in NumPy int8 takes {times['int8'] / times['float32']:.1f} times as long as float32")

# %% [markdown] slideshow={"slide_type": "skip"}
# Zeros save time in a format that stores only the other weights, each with its place. That pays if they are few. The
# Tensor Cores of newer NVIDIA GPUs can leave out two of every four weights. NumPy does neither, and it has no quick
# product of integers. On a processor that has one, the time of int8 can fall.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Whole neurons
#
# Smaller *arrays* make a network quicker on any machine. **Structured pruning** takes whole neurons away: rows of one
# weight matrix, and the columns of the next that read them. Of the 128 neurons of the first layer, the 64 with the
# largest weights stay.


# %%
def halved(net):
    """The same network with only the 64 neurons of its first layer whose weights are largest."""
    small, first, second = network(64), net[0], net[2]
    strength = np.linalg.norm(first.weight.numpy(), axis=1)
    stay = mg.tensor(np.sort(strength.argsort()[-64:]))
    cut = {"0.weight": first.weight[stay], "0.bias": first.bias[stay], "2.weight": second.weight[:, stay]}
    small.load_state_dict(net.state_dict() | cut)
    return small


half = halved(net)
right_before = share_right(half)
train(half, 200)
left = sum(p.size for p in half.parameters())
share_of_macs = estimate(half, x).macs / estimate(net, x).macs
print(f"{left:,} parameters, {share_of_macs:.2f} of the MACs; right {right_before:.0%}, tuned {share_right(half):.0%}")

# %% [markdown]
# Half of the parameters, half of the work, no mask: it is a smaller network, and any machine runs it in less time.
# Fewer weights can go in this way than one by one, but those that go are really gone.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All of them in a table
#
# Here is everything that we have made: how often it is right, its bytes, and its MACs. (The MACs of int8 layers
# multiply integers, and are not counted.) The third way, another design, was in lesson 18: a convolution in two steps.

# %%
versions = {"float64": net, "float32": in_floats, "int8": in_integers, "90 % pruned": thin, "half of the neurons": half}
versions["half, in int8"] = in_int8(half)
for name, version in versions.items():
    cost = "" if "int8" in name else f"{estimate(version, x.astype(version[0].bias.dtype)).macs:12,} MACs"
    print(f"{name:20} right {share_right(version):4.0%}  {nbytes(version):8,} bytes  {cost}")

# %% [markdown]
# The ways can be combined: the last line has 15 % of the bytes that the whole network has in float32, and reads better.
# The courier's app gets that network. Where to begin depends on what is too large: the file, the memory, or the time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Let the room choose for a phone, for a web page, for a data centre. There are three different answers.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("19_smaller")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `quantization.prepare`, `convert` | torchao; `torch.ao.quantization` before it | LiteRT's converter | AQT, Qwix |
# | `quantize_per_tensor(w, s, 0, int8)` | `torch.quantize_per_tensor` | `tf.quantization.quantize` | by hand |
# | `prune.l1_unstructured(layer, "weight", 0.9)` | the same, `torch.nn.utils.prune` | TF-MOT | JaxPruner |
# | `prepare_qat(net)` | `prepare_qat` | TF-MOT | AQT |
#
# PyTorch warns that `torch.ao.quantization` and `torch.quantize_per_tensor` will be removed. TF-MOT is the TensorFlow
# Model Optimization Toolkit. LiteRT was called TensorFlow Lite until 2024.
#
# ### The same in PyTorch
#
# `prune` sets nine of ten weights to 0, and the array stays as large as it was. One large weight makes the scale of
# int8 so coarse that all the small weights become 0.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def smaller_in_pytorch(torch):
    """
    weights that are not 0: 1000 of 10000
    bytes before and after: 40000 40000
    [0.1, -0.2, 0.3, 0.4] become [0.1, -0.2, 0.3, 0.4]
    [0.1, -0.2, 0.3, 100.0] become [0.0, 0.0, 0.0, 100.0]
    """
    from torch.nn.utils import prune

    layer = torch.nn.Linear(100, 100)
    bytes_before = layer.weight.nbytes
    prune.l1_unstructured(layer, "weight", 0.9)
    print("weights that are not 0:", int((layer.weight != 0).sum()), "of", layer.weight.numel())
    print("bytes before and after:", bytes_before, layer.weight.nbytes)

    for weights in ([0.1, -0.2, 0.3, 0.4], [0.1, -0.2, 0.3, 100.0]):
        w = torch.tensor(weights)
        scale = w.abs().max() / 127
        integers = (w / scale).round().to(torch.int8)
        print(weights, "become", [round(x, 2) for x in (integers * scale).tolist()])


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A weight is an integer times a scale. With four bits for each weight this network reads as well as with sixty-four.
# - The largest number sets the scale. So one outlier costs all that share its scale their digits (an
#   optional section).
# - int8 is a quarter of the bytes of float32, and a little more. Whether it is quicker depends on the machine.
# - Nine of ten weights can go if the rest learns again. Zeros alone make nothing quicker.
# - Taking whole neurons away makes smaller arrays, and those are quicker everywhere.
#
# **Sources.** S. Han and others, *Learning both weights and connections for efficient neural networks*,
# arXiv:1506.02626 (2015), section 3: prune, then train again. B. Jacob and others, *Quantization and training of neural
# networks for efficient integer-arithmetic-only inference*, arXiv:1712.05877 (2017), section 2: scales and integers. M.
# Nagel and others, *A white paper on neural network quantization*, arXiv:2106.08295 (2021), section 2: ranges and per
# channel. T. Dettmers and others, *LLM.int8()*, arXiv:2208.07339 (2022), section 4: outliers. J. Frankle, M. Carbin,
# *The lottery ticket hypothesis*, arXiv:1803.03635 (2018): why so much can go. N. Jouppi and others, *In-datacenter
# performance analysis of a tensor processing unit*, arXiv:1704.04760 (2017): the first TPU.
#
# **Exercise.** [19 Smaller, by hand](../exercises/19_smaller.ipynb): quantise, prune, and read a table.
#
# **Next:** [20 Sixteen bits](20_sixteen_bits.ipynb). Before that, change something here: prune the halved network by 90
# %, too, and fine-tune it. How often is it right? Write it down before you run it.
