# ---
# jupyter:
#   minigrad:
#     title: Smaller
#     minutes: 40
#     objectives:
#       - write a weight as a small integer and a scale, and say how far it is rounded
#       - say which range a scale must cover, and what one large weight does to all the others
#       - take nine of ten weights away, and bring back what that costs
#       - say which ways to make a network smaller make it quicker too, and which do not
#     concepts: [E8]
#     builds_on: [17_what_grows_how, 18_flops_are_not_time]
#     widgets: [Predict, Quiz]
#     terms:
#       quantisation: writing numbers as small integers, times a scale that they share
#       scale: of quantised numbers, what one step of the integer stands for
#       calibration: running a network on some data, to see which range its activations have
#       weight pruning: setting weights to zero, usually the smallest ones, and keeping them there
#       fine-tuning: training a network a little more, after it was changed
#       structured pruning: taking whole channels or neurons away, so that the arrays become smaller
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 19 Smaller
#
# The network is trained, and it is to run on a phone. It has more bytes than fit, and does more work than the battery
# likes. **Can 90 % of the weights go?** There are three ways to make a trained network smaller: fewer bits for each
# number, fewer numbers, and another design. All three are advertised with large factors. We count what is left: how
# often the network is right, how many bytes it has, and whether it is quicker.
#
# **About 40 minutes.** Afterwards you can
#
# - write a weight as a small integer and a scale, and say how far it is rounded;
# - say which range a scale must cover, and what one large weight does to all the others;
# - take nine of ten weights away, and bring back what that costs;
# - say which ways to make a network smaller make it quicker too, and which do not.
#
# **Builds on** [17 What grows how](17_what_grows_how.ipynb) and [18 FLOPs are not time](18_flops_are_not_time.ipynb).
# What it opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and
# its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask for guesses: how many bits does a weight need? How many of the weights does nobody miss? Keep the
# numbers on the board: fewer bits are needed than most people say, and more weights can go.

# %% slideshow={"slide_type": "skip"}
from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, in_turns, reveal
from minigrad.nn.utils import prune
from minigrad.profiler import estimate
from minigrad.quantization import convert, prepare, quantize_per_channel, quantize_per_tensor

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network that works
#
# A reader of digits with 17,226 parameters, trained for 400 steps. This is the network that we make smaller.

# %%
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


def right(net):
    """The share of digits that it reads, of 360 that it has never seen."""
    with mg.no_grad():
        found = net(unseen.astype(net[0].bias.dtype)).argmax(1)
    return float((found.numpy() == digits.test_y).mean())


# %% slideshow={"slide_type": "skip"}
def network(width=128):
    hidden = [mg.nn.Linear(64, width), mg.nn.ReLU(), mg.nn.Linear(width, 64), mg.nn.ReLU()]
    return mg.nn.Sequential(*hidden, mg.nn.Linear(64, 10))


net = train(network(), 400)
print(f"{sum(p.size for p in net.parameters()):,} parameters, right: {right(net):.0%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fewer bits
#
# **Quantisation** writes each weight as an integer $k$ of a few bits, times a **scale** $s$ that all of them share: $w
# ≈ s · k$. With $b$ bits there are $2^b$ integers, of which we use the $2^{b-1} - 1$ below zero and as many above it.
# So the scale is the largest weight, without its sign, divided by $2^{b-1} - 1$, and each weight is off by half a step
# at most. How few bits are enough to be right 90 % of the time?


# %%
def rounded(net, bits):
    """A copy whose weights are multiples of a scale, one for each layer."""
    other = deepcopy(net)
    with mg.no_grad():
        for layer in other[::2]:
            w = layer.weight.numpy()
            scale = abs(w).max() / (2 ** (bits - 1) - 1)
            layer.weight.copy_(mg.tensor(np.round(w / scale) * scale))
    return other


Predict("bits", "The fewest bits with which it is right 90 % of the time:")

# %%
shares = {bits: right(rounded(net, bits)) for bits in (8, 6, 5, 4, 3, 2)}
for bits, share in shares.items():
    print(f"{bits} bits: {2**bits - 1:3} different weights, right: {share:.0%}")
reveal("bits", min(bits for bits, share in shares.items() if share >= 0.9))

# %% [markdown]
# With four bits there are fifteen different weights in a layer, and the network reads as well as before. Each neuron
# adds up many products, and their errors, up to half a step either way, mostly cancel. Two bits leave −s, 0 and s,
# where s is the largest weight: nearly all others become 0. That is too few, unless the network is trained with them.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One large weight
#
# Everything depends on the scale, and the scale on the *largest* weight. Suppose one weight of the first layer were a
# hundred times as large as the largest is now. What becomes of all the others at eight bits? (`quantize_per_tensor`
# takes the scale, and the integer that stands for 0, which is 0 here; `int_repr` shows the integers.)

# %%
Predict("outlier", "Of 8,191 others, how many percent become 0?", tolerance=15)

# %%
w = net[0].weight.detach().clone()
with mg.no_grad():
    w[3, 5] = 100 * abs(w.numpy()).max()
biggest = abs(w.numpy()).max(1, keepdims=True)  # of each row
one = quantize_per_tensor(w, float(biggest.max() / 127), 0, mg.int8).int_repr().numpy()
each = quantize_per_channel(w, mg.tensor(biggest[:, 0] / 127), mg.zeros(128, dtype=mg.int64), 0, mg.int8)
print(f"a scale for all:      {(one == 0).mean():.0%} are 0, {len(np.unique(one))} different integers are used")
print(f"a scale for each row: {(each.int_repr().numpy() == 0).mean():.0%} are 0")
reveal("outlier", 100 * (one == 0).mean())

# %% [markdown]
# The steps became a hundred times as wide, and most weights round to nothing. A scale for each row, *per channel*,
# keeps the damage in one row of 128: it costs 127 numbers more, and is what most frameworks do for weights. With
# activations it cannot be done: a product adds up over their channels, so all of these have to share a scale. And large
# language models have outliers in a few channels of their activations. Much of the work on quantising them is about
# those.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes up to here. Draw the number line: 255 marks, and a weight far out to the right that pulls them all
# apart. Clipping it is the other remedy: then one weight is off by a lot, and all the others by little.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network in int8
#
# Weights are known; activations are not. So the network runs on some data first, while observers note the range of what
# reaches each layer: **calibration**. Then `convert` gives layers that multiply integers. In float32 the network has
# 68,904 bytes, four for each number. What fraction of them is left?

# %%
Predict("int8", "Bytes in int8, as a fraction of those in float32:", tolerance=0.02)


# %%
def in_int8(net):
    prepared = prepare(deepcopy(net).float().eval())
    prepared(x[:256].astype(mg.float32))  # the observers look on
    return convert(prepared)


def nbytes(net):
    return sum(tensor.nbytes for tensor in net.state_dict().values())


floats, integers = deepcopy(net).float().eval(), in_int8(net)

print(f"float32 {nbytes(floats):,} bytes, right {right(floats):.0%}")
print(f"int8    {nbytes(integers):,} bytes, right {right(integers):.0%}")
reveal("int8", nbytes(integers) / nbytes(floats))

# %% tags=["measured", "nbval-ignore-output"]
given = x.astype(mg.float32)
with mg.no_grad():
    times = in_turns(int8=lambda: integers(given), float32=lambda: floats(given))
print(f"in NumPy int8 takes {times['int8'] / times['float32']:.1f} times as long as float32")

# %% [markdown]
# A little more than a quarter: biases and scales stay in floats. Is it quicker? Not in NumPy, which has no quick
# product of integers. On a processor that has one, the time can fall as well: lesson 24 exports such a network, and
# measures. The bytes are certain, the time depends on the machine.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Fewer weights
#
# **Weight pruning** sets weights to zero, the smallest first: they matter least, one hopes. `prune` keeps the weights
# as they were, and beside them a *mask* of zeros and ones; the layer computes with the product of the two. Nine of ten
# weights of each layer go. How often is the network still right?

# %%
Predict("pruned", "Right after 90 % of the weights are gone, in percent:", tolerance=12)


# %%
def pruned(net, amount, by=prune.l1_unstructured):
    other = deepcopy(net)
    for layer in other[::2]:
        by(layer, "weight", amount)
    return other


thin = pruned(net, 0.9)
print(
    f"right: {right(thin):.0%}; weights that are not 0: {sum(int((layer.weight != 0).sum()) for layer in thin[::2]):,}"
)
reveal("pruned", 100 * right(thin))

# %% [markdown]
# It is close to guessing, which is right in one case of ten. So no, 90 % cannot go. But the weights that are left may
# *learn* again: **fine-tuning**. The mask stays, and with it the zeros. The network gets half as many steps as its
# training had. How often is it right now?

# %%
Predict("tuned", "Right after 200 more steps, in percent:", tolerance=4)

# %%
train(thin, 200)
print(
    f"right: {right(thin):.0%}; weights that are not 0: {sum(int((layer.weight != 0).sum()) for layer in thin[::2]):,}"
)
reveal("tuned", 100 * right(thin))

# %% slideshow={"slide_type": "subslide"}
amounts = [0.5, 0.7, 0.8, 0.9, 0.95, 0.98]
ways = {
    "random": [right(pruned(net, amount, prune.random_unstructured)) for amount in amounts],
    "smallest": [right(pruned(net, amount)) for amount in amounts],
    "smallest, fine-tuned": [right(train(pruned(net, amount), 200)) for amount in amounts],
}
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
for (way, shares), color, marker in zip(ways.items(), (VERMILION, BLUE, GREEN), "so^"):
    ax.plot([f"{amount:.0%}" for amount in amounts], shares, color=color, marker=marker, label=way)
ax.set(xlabel="weights that are gone", ylabel="right", ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plot: the share that is right over the share of weights that are gone. Chosen at random, half of the weights cost
# a third of the digits. Of the smallest, half can go for nothing, and then the line falls steeply. Fine-tuned, the
# network stays above nine of ten up to 95 %, and falls only at 98 %.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for pruning. Two thoughts to leave: small is not the same as unimportant until one has looked; and most
# of a trained network is there to make training easy, not to read digits.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Are zeros fast?
#
# Nine of ten weights are 0. How many MACs does the pruned network need, as a fraction of the whole one's? And how long
# does it take, compared with it?

# %%
Predict("zeros", "The time of the pruned network is …", options=["a tenth", "about half", "the same or more"])

# %% tags=["measured", "nbval-ignore-output"]
with mg.no_grad():
    times = in_turns(pruned=lambda: thin(x), whole=lambda: net(x))
ratio = times["pruned"] / times["whole"]
print(f"the pruned network takes {ratio:.2f} times as long")
place = ratio.among(0.3, 0.75)
unclear = "The rounds disagree: run this cell again when the machine has less to do."
unclear if place is None else reveal("zeros", ["a tenth", "about half", "the same or more"][place])

# %%
for name, each in (("whole", net), ("pruned", thin)):
    cost = estimate(each, x)
    print(f"{name:7} {cost.macs:11,} MACs, {nbytes(each):8,} bytes")

# %% [markdown]
# All of the MACs are still there, and there are twice the bytes: a 0 is multiplied like any number, and the mask takes
# as much room as the weights. Zeros are fast where somebody leaves them out: in a format that stores only the others,
# each with its place, which pays where there are few of them; or on a GPU that can leave out two of every four weights.
# Zeros help at once in a file that is compressed:

# %%
import zlib

for name, each in (("whole", net), ("pruned", thin)):
    weights = [layer.weight.numpy().astype(np.float32).ravel() for layer in each[::2]]
    packed = zlib.compress(np.concatenate(weights).tobytes())
    print(f"{name:7} about {round(len(packed), -3):,} bytes, compressed")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Whole neurons
#
# What makes a network quicker on any machine is smaller *arrays*. **Structured pruning** takes whole neurons away: rows
# of one weight, and the columns of the next that read them. Of the 128 neurons of the first layer the 64 with the
# largest weights stay. How many of the 17,226 parameters are left?

# %%
Predict("structured", "Parameters that are left:", tolerance=400)


# %%
def halved(net):
    """The same network with the 64 neurons of its first layer whose weights are largest."""
    other = network(64)
    strength = np.linalg.norm(net[0].weight.numpy(), axis=1)
    stay = mg.tensor(np.sort(strength.argsort()[-64:]))
    with mg.no_grad():
        other[0].weight.copy_(net[0].weight[stay])
        other[0].bias.copy_(net[0].bias[stay])
        other[2].weight.copy_(net[2].weight[:, stay])
        other[2].bias.copy_(net[2].bias)
        other[4].load_state_dict(net[4].state_dict())
    return other


half = halved(net)
before = right(half)
train(half, 200)
left = sum(p.size for p in half.parameters())
macs = estimate(half, x).macs / estimate(net, x).macs
print(f"{left:,} parameters, {macs:.2f} of the MACs; right {before:.0%}, fine-tuned {right(half):.0%}")
reveal("structured", left)

# %% [markdown]
# Half of the parameters, half of the work, no mask: on any machine it is a smaller network. Fewer weights can go this
# way than one by one, but those that go are really gone.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All of them in a table
#
# How often it is right, bytes and MACs, for everything we have made. The third way, another design, is lesson 18's: a
# convolution in two steps has an eighth of the work from the beginning, and MobileNet and EfficientNet are built of it.

# %%
table = {"float64": net, "float32": floats, "int8": integers, "90 % pruned": thin, "half of the neurons": half}
table["half, in int8"] = in_int8(half)
for name, each in table.items():
    cost = "" if "int8" in name else f"{estimate(each, x.astype(each[0].bias.dtype)).macs:12,} MACs"
    print(f"{name:20} right {right(each):4.0%}  {nbytes(each):8,} bytes  {cost}")

# %% [markdown]
# The ways can be combined: the last line has 15 % of the bytes that the whole network has in float32. Which of them to
# begin with depends on what is too large: the file, the memory, or the time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Let the room choose for a phone, for a web page, for a data centre. There are three different answers.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** The calibration saw pictures that were too dark by a factor of twenty: somebody had scaled them
# differently. Everything else is as above. How often is the int8 network right on proper pictures?

# %%
Predict("dark", "Right, in percent, after calibration on dark pictures:", tolerance=20)

# %%
badly = prepare(deepcopy(floats))
badly(x[:256].astype(mg.float32) / 20)
badly = convert(badly)
print(f"right: {right(badly):.0%}, where it was {right(integers):.0%}")
reveal("dark", 100 * right(badly))

# %% [markdown]
# No error, no warning: numbers above the range that the observers saw are cut off at its end. Calibrate on data like
# the data that will come, and compare how often both networks are right on data that neither has seen.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. The same happens when a camera is replaced after a year. A number in a report says nothing if nobody
# looks again.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("19_smaller")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `quantization.prepare`, `convert` | torchao; `torch.ao.quantization` before it | LiteRT's converter | AQT, Qwix |
# | `quantize_per_tensor(w, s, 0, int8)` | `torch.quantize_per_tensor` | `tf.quantization.quantize` | by hand |
# | `prune.l1_unstructured(layer, "weight", 0.9)` | the same, `torch.nn.utils.prune` | TF-MOT | JaxPruner |
# | `prepare_qat(net)` | `prepare_qat` | TF-MOT | AQT |
#
# PyTorch warns that `torch.ao.quantization` and `torch.quantize_per_tensor` will be removed. TF-MOT is the
# TensorFlow Model Optimization Toolkit; LiteRT was called TensorFlow Lite.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A weight is an integer times a scale; with four bits this network reads as well as with sixty-four.
# - The scale is set by the largest number: one outlier costs all others their digits. A scale for each row helps.
# - int8 is a quarter of the bytes of float32; whether it is quicker depends on the machine.
# - Nine of ten weights can go, if what is left learns again. Zeros alone make nothing quicker.
# - Whole neurons that go make smaller arrays, and those are quicker everywhere.
#
# **Sources.** S. Han and others, *Learning both weights and connections for efficient neural networks*,
# arXiv:1506.02626 (2015), section 3: prune, then train again. B. Jacob and others, *Quantization and training of neural
# networks for efficient integer-arithmetic-only inference*, arXiv:1712.05877 (2017), section 2: scales and integers. M.
# Nagel and others, *A white paper on neural network quantization*, arXiv:2106.08295 (2021), section 2: ranges and per
# channel. T. Dettmers and others, *LLM.int8()*, arXiv:2208.07339 (2022), section 4: outliers. J. Frankle, M. Carbin,
# *The lottery ticket hypothesis*, arXiv:1803.03635 (2018): why so much can go.
#
# **Exercise.** [19 Smaller, by hand](../exercises/19_smaller.ipynb): quantise, choose a scale, prune, read a table, and
# build a network within a budget.
#
# **Next:** [20 Sixteen bits](20_sixteen_bits.ipynb). Before that, change something here: prune the halved network by 90
# %, too, and fine-tune it. How often is it right? Write it down before you run it.
