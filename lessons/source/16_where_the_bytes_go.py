# ---
# jupyter:
#   minigrad:
#     title: Where the bytes go
#     minutes: 40
#     objectives:
#       - name the five things that hold memory in a training step, and count each before anything runs
#       - read a ledger, and say which operation keeps what for backward
#       - say what Adam costs, and what it does not
#       - say what a skip connection and an attention block hold, and for how long
#       - find out why memory grows from step to step
#     concepts: [E1, E2, E4]
#     builds_on: [06_the_dynamic_graph]
#     widgets: [MemoryTimeline, Predict, Quiz]
#     terms:
#       activation: a result of a layer, on its way forward
#       channel: one of the pictures that a convolution reads, or makes
#       optimizer state: what an optimiser remembers from step to step, such as Adam's two averages of each gradient
#       ledger: a list of who holds which memory, and when
#       workspace: memory that an operation needs while it runs, and gives back at its end
#       skip connection: an edge past some layers, on which their operand is added to their result
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 16 Where the bytes go
#
# > `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.`
#
# Lesson 14 planned the memory of small graphs. Everybody who trains networks meets the message above sooner or later.
# The file with the weights takes 20 kilobytes, the machine has room for a thousand such files and more, and still
# training stops. **The weights fit. Why does training not?** Something else holds the memory. In this lesson we ask
# what, and for how long.
#
# **About 40 minutes.** Afterwards you can
#
# - name the five things that hold memory in a training step, and count each before anything runs;
# - read a ledger, and say which operation keeps what for backward;
# - say what Adam costs, and what it does not;
# - say what a skip connection and an attention block hold, and for how long;
# - find out why memory grows from step to step.
#
# **Builds on** [06 The dynamic graph](06_the_dynamic_graph.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): `+`; *attention*; the bytes of each box, and its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has read this message, and what they did: a smaller batch, as everybody does. Why did that help,
# if the weights were the problem?

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.widgets import MemoryTimeline

BLUE, VERMILION = "#0072B2", "#D55E00"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network that looks at pictures
#
# The digits of lesson 03 once more, as pictures of 8 × 8 pixels. A convolution slides a window of 3 × 3 weights over
# them. Each set of weights, a kernel, makes a new picture, and such a picture is called a **channel**. Here the first
# convolution makes 16 channels out of one, and the second 16 out of those; then only the largest number of each 2 × 2
# is kept (that is pooling), and a linear layer reads off the digit. At its peak, how many times the bytes of all the
# weights does one training step with 64 pictures need?

# %%
digits = mg.data.digits()
x = mg.tensor(digits.train_x[:64].reshape(64, 1, 8, 8), dtype=mg.float32)
label = mg.tensor(digits.train_y[:64])


def network():
    conv = [mg.nn.Conv2d(1, 16, 3, padding=1), mg.nn.ReLU(), mg.nn.Conv2d(16, 16, 3, padding=1), mg.nn.ReLU()]
    return mg.nn.Sequential(*conv, mg.nn.MaxPool2d(2), mg.nn.Flatten(), mg.nn.Linear(256, 10)).float()


Predict("times the weights", "How many times the bytes of the weights?", options=["under 4", "4 to 20", "over 20"])


# %%
def step(net, optimizer):
    optimizer.zero_grad()
    mg.cross_entropy(net(x), label).backward()
    optimizer.step()


def ledger_of_a_step(net, optimizer, exact=False):
    step(net, optimizer)  # the first step is not like the others: it makes compiled rules, and Adam's averages
    with mg.profiler.memory(net, optimizer, [x, label], exact) as ledger:
        step(net, optimizer)
    return ledger


net = network()
adam = mg.optim.Adam(net.parameters())
ledger = ledger_of_a_step(net, adam)
weights = sum(p.nbytes for p in net.parameters())
print(f"{weights:,} bytes of weights; at the peak {ledger.peak.total:,} bytes, {ledger.peak.total / weights:.0f} times")
times = ledger.peak.total / weights
reveal("times the weights", ["under 4", "4 to 20", "over 20"][(times > 4) + (times > 20)])

# %% [markdown]
# Forty-seven times. (The network is in float32, four bytes for a number, as is usual in training. minigrad's own
# default is NumPy's float64, with eight; `.float()` changed that.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Five things that hold memory
#
# `mg.profiler.memory` watches a block of code, and writes a **ledger**: who holds each array, and from when until when.
# Read the column *at the peak*. Which two lines are nearly all of it?

# %%
ledger

# %% [markdown]
# There are five, in every framework:
#
# 1. the *parameters*;
# 2. their *gradients* and, during backward, those of everything else on the way;
# 3. **optimizer state**: what the optimiser remembers from step to step;
# 4. each **activation**, a layer's result, that backward will read: *saved for backward*;
# 5. **workspace**: what an operation needs inside, and gives back at its end. We come to it below. (*Compiler's
#    workspace* is that of a program that was planned, as in lesson 14; here nothing is compiled.)
#
# The batch itself is a sixth, and small. The weights are 2 % of the peak. What fills the memory is what
# *flows*: activations on the way forward, gradients on the way back.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Step through it: each column is one operation, or one derivative. Where does the part that is saved for backward stop
# growing, and who lets go of it?

# %%
MemoryTimeline(ledger)

# %% [markdown]
# *The picture: a hill. Each of the two relus leaves 262,144 bytes that stay. The top is where backward reaches the
# pooling: both are still there, and beside them a gradient of the same size. From then on each derivative lets go of
# what was kept for it, and the hill goes down to where it began.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes up to here. Let the room find the line in which the weights are. Then: which of the five change if the
# batch is halved? (Activations, and their gradients; neither parameters nor state. That is why a smaller batch helps.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Counted on paper
#
# None of this needs a run. For a convolution from $C$ to $D$ channels with windows of $K × K$, on $B$ pictures that
# come out as $H × W$, in float32:
#
# | | how many numbers | here, the second convolution |
# |---|---|---|
# | parameters | $D · C · K · K + D$ | 16 · 16 · 3 · 3 + 16 = 2,320 |
# | its gradients | as many | 2,320 |
# | Adam's state | twice as many | 4,640 |
# | its activation | $B · D · H · W$ | 64 · 16 · 8 · 8 = 65,536 |
#
# $H × W$ and $B$ are in the last row alone. A larger picture, a larger batch: more activations, and not one parameter
# more. Let us ask the engine whether the table is right. What will the second number be, in bytes?

# %%
Predict("bytes of one activation", "Bytes of the activation of the second convolution, in float32:", unit="bytes")

# %%
conv = net[2]
B, C, D, K, H, W = 64, 16, 16, 3, 8, 8
counted = 4 * (D * C * K * K + D), 4 * B * D * H * W
measured = sum(p.nbytes for p in conv.parameters()), net[:3](x).nbytes
print("on paper", counted, " measured", measured)
reveal("bytes of one activation", measured[1])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Does Adam double everything?
#
# One often hears that training with Adam takes twice the memory of plain SGD. Adam keeps two averages for each
# parameter: one of its gradient, and one of the square of its gradient. So by how many percent does the peak of our
# step grow if Adam takes the place of SGD?

# %%
Predict("adam", "By how many percent?", tolerance=2)

# %%
peaks = {}
for kind in (mg.optim.SGD, mg.optim.Adam):
    net = network()
    peaks[kind] = ledger_of_a_step(net, kind(net.parameters(), lr=0.01)).peak
    print(f"{kind.__name__:5} peak {peaks[kind].total:,} bytes")
more = peaks[mg.optim.Adam].total - peaks[mg.optim.SGD].total
print(f"{more:,} bytes more: {more / weights:g} times the weights")
reveal("adam", 100 * more / peaks[mg.optim.SGD].total)

# %% [markdown]
# Two more copies *of the parameters*, and nothing else: 4.5 % here. The belief comes from elsewhere. A language model
# of billions of parameters with a small batch is nearly all parameters, gradients and state; with SGD that is two
# copies, with Adam four, and *that* is double. Adam adds one line to the ledger, and how much of the whole that is
# depends on what else is in it.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask for a network where it is true: one linear layer of 4000 by 4000, and a batch of one. Somebody may
# name mixed precision: with float32 master weights beside float16 ones, "half the memory" is as wrong as this one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who keeps what
#
# Backward needs the numbers that a derivative reads (lesson 06): the derivative of $x^2$ reads $x$, that of $e^x$ its
# own result, that of $x + y$ nothing. Here are eight operations on 1000 numbers each. How many of them keep an array of
# 4,000 bytes that no earlier operation has kept already?

# %%
Predict("keepers", "How many of the eight are the first to keep an array of 4,000 bytes?")


# %%
def eight(x):
    a = x + 1
    b = a.exp()
    c = b * 2
    d = c.sin()
    e = d.reshape(10, 100)
    f = e.tanh()
    g = f * e
    return g.sum()


thousand = mg.tensor(np.linspace(0, 1, 1000), dtype=mg.float32, requires_grad=True)
with mg.profiler.memory(inputs=[thousand], exact=False) as kept:
    eight(thousand).backward()
kept.table("op")

# %%
reveal("keepers", sum(row[-1] == 4000 for row in kept.table("op").rows))

# %% [markdown]
# Four. `exp` and `tanh` keep their results, `sin` its operand. The product keeps both of its operands: one of them tanh
# keeps already, and the other is new. `+ 1`, `reshape` and the sum keep nothing; `* 2` keeps the 2.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Without a gradient
#
# In evaluation nothing is saved for backward. We run our network forward only, in `no_grad`. How much of a training
# step's peak is left?

# %%
Predict("no_grad", "The peak of forward alone is …", options=["next to nothing", "under a half", "over a half"])

# %%
net = network()
with mg.profiler.memory(net, inputs=[x, label], exact=False) as forward_alone, mg.no_grad():
    net(x)
share = 100 * forward_alone.peak.total / peaks[mg.optim.SGD].total
print(f"{forward_alone.peak.total:,} bytes, {share:.0f} % of the training step: {forward_alone.peak.what}")
reveal("no_grad", ["next to nothing", "under a half", "over a half"][(share > 10) + (share > 50)])

# %% [markdown]
# More than half, although nothing is kept: this network is shallow. While an operation runs, its operand and its result
# are both there, and two arrays of 262,144 bytes are more than half of what training holds. With depth that changes: in
# a chain of layers, forward alone needs room for the batch and for two neighbours at a time, and training keeps them
# all.

# %%
depths = [2, 4, 8, 16]
bytes_at_peak = {"training": [], "forward alone": []}
for depth in depths:
    layers = [part for _ in range(depth) for part in (mg.nn.Conv2d(16, 16, 3, padding=1), mg.nn.ReLU())]
    deep = mg.nn.Sequential(*layers).float()
    for way, recorded in (("training", True), ("forward alone", False)):
        with mg.profiler.memory(deep, exact=False) as each, mg.set_grad_enabled(recorded):
            deep(mg.ones(64, 16, 8, 8, dtype=mg.float32))
        bytes_at_peak[way].append(each.peak.total / 1e6)
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
for (way, megabytes), color, marker in zip(bytes_at_peak.items(), (VERMILION, BLUE), "os"):
    ax.plot(depths, megabytes, color=color, marker=marker, label=way)
ax.set(xlabel="convolutions", ylabel="million bytes at the peak", xticks=depths, ylim=0)
ax.legend()
plt.show()

# %% [markdown]
# *The plot: bytes at the peak over the depth. Forward alone is nearly flat, from 0.80 million bytes for two
# convolutions to 0.93 for sixteen: what climbs are the weights. Training is a steep line, from 1.07 to 4.87.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## An edge past the layers
#
# A residual block adds its operand to its result: `x + layers(x)`. The edge from x to the sum is a **skip connection**.
# It has no parameters, and its sum keeps nothing. Below it leads from the first of three layers to the end, past the
# other two. Does it cost memory in evaluation? And in training?


# %%
convs = mg.nn.ModuleList([mg.nn.Conv2d(16, 16, 3, padding=1) for _ in range(3)]).float()


def three_layers(x, skips):
    x = convs[0](x).relu()
    early = x if skips else None
    for conv in convs[1:]:
        x = conv(x).relu()  # the name x lets go of the array before
    return x + early if skips else x


Predict("skip", "The skip raises the peak of forward in …", options=["neither", "evaluation", "training", "both"])

# %%
mg.draw(three_layers(mg.ones(64, 16, 8, 8, dtype=mg.float32), skips=True))

# %%
rises = []
for recorded in (False, True):
    found = []
    for skips in (False, True):
        with mg.profiler.memory(convs, exact=False) as each, mg.set_grad_enabled(recorded):
            three_layers(mg.ones(64, 16, 8, 8, dtype=mg.float32), skips)
        found.append(each)
    rises.append(found[1].peak.total - found[0].peak.total)
    saved = [each.peak.by_consumer["saved for backward"] for each in found]
    print("training  " if recorded else "evaluation", f"peak {rises[-1]:+,} bytes, saved for backward {saved}")
reveal("skip", ["neither", "evaluation", "training", "both"][(rises[0] > 0) + 2 * (rises[1] > 0)])

# %% [markdown]
# In evaluation alone, by one array of 262,144 bytes: the result of the first layer could have been let go after the
# second convolution, and now it waits for the sum. In training it is kept anyway, because the derivative of the second
# convolution reads it; what is *saved for backward* is the same with and without the skip. The more layers a skip leads
# past, the longer its array waits. In a U-Net the longest one leads from the first layers to the last, and holds its
# array for nearly the whole run.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. The surprise is that nothing of the skip is saved for backward: adding has slopes of 1. What it costs is
# a longer lifetime, as in lesson 14. In backward it is the gradient that waits: it goes past the layers at once, and
# has to stay until their gradient has come back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## An attention block
#
# A transformer reads a text as $L$ pieces, its *tokens*, each a row of numbers. Each token looks at every other one,
# and so there is a matrix of $L × L$ weights. (A layer may do this several times side by side, in several *heads*.)
# Here is one head written out, for 8 texts of 128 tokens of 32 numbers. Which of its arrays is the largest?


# %%
def attention(t, Wq, Wk, Wv):
    q, k, v = t @ Wq, t @ Wk, t @ Wv
    return (q @ k.mT / 32**0.5).softmax(-1) @ v


Predict("largest", "Which array is the largest?", options=["the tokens t", "q, k, v together", "the softmax"])

# %%
matrices = [mg.randn(32, 32, dtype=mg.float32, requires_grad=True) for _ in range(3)]
tokens = mg.ones(8, 128, 32, dtype=mg.float32)
with mg.profiler.memory(inputs=[tokens], exact=False) as looking:
    attention(tokens, *matrices).sum().backward()
looking.table("op")

# %%
largest = max(looking.table("op").rows, key=lambda row: row[-1])
reveal("largest", "the softmax" if largest[0] == "softmax" else "q, k, v together")

# %% [markdown]
# The softmax, with 8 · 128 · 128 numbers: more than q, k and v together. Those grow with $L$, the softmax with $L^2$;
# lesson 17 comes back to that. (`scaled_dot_product_attention` computes the weights again in backward, and does not
# keep them. FlashAttention never has them whole at all.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The fifth: inside an operation
#
# So far the ledger has counted arrays that go from operation to operation. What an operation makes and drops again
# inside itself is neither operand nor result. With `exact=True` the ledger consults Python's own count of memory, too:

# %%
net = network()
exact = ledger_of_a_step(net, mg.optim.Adam(net.parameters()), exact=True)
print(f"{exact.peak.inside / exact.peak.total:.0%} of the peak is made and dropped inside the op: {exact.peak.what}")

# %% tags=["measured", "nbval-ignore-output"]
exact

# %% [markdown]
# The peak has doubled, and has moved: it is in the derivative of the second convolution now, and more than half is
# *made and dropped inside the op*. To become one matrix product, a convolution lays the windows side by side: each
# pixel is written up to nine times. Libraries for GPUs do this or something cleverer, and the size of their workspace
# depends on the algorithm that they choose. That is one reason why a sum on paper is a lower bound, and why the message
# at the top may come in the middle of an operation.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. cuDNN has several algorithms for a convolution, and each wants another workspace; PyTorch tries them out
# if `torch.backends.cudnn.benchmark` is set. Ask why a training that survived its first forward pass may fail in its
# second step: Adam's state is created at the end of the first.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** A loop adds up the loss over five batches, to print its mean. It runs, and the number is right.
# By roughly how many bytes does the memory grow with each batch: by none, by those of a loss, or by those of a whole
# forward pass?

# %%
Predict("leak", "What grows with each batch?", options=["nothing", "4 bytes", "all that forward saved"])

# %%
net, total, alive = network(), 0.0, []
with mg.profiler.memory(net, inputs=[x, label], exact=False) as leak:
    for batch in range(5):
        total = total + mg.cross_entropy(net(x), label)
        alive.append(leak.timeline()[-1].by_consumer["saved for backward"])
        print(f"after batch {batch}: {alive[-1]:9,} bytes saved for backward")
grown = alive[-1] - alive[-2]
reveal("leak", "all that forward saved" if grown > 500_000 else "4 bytes" if grown else "nothing")

# %% [markdown]
# `total` is a tensor, and remembers where it came from: all five graphs hang from it, with everything they saved.
# Nothing calls backward, so nothing is let go. `total += loss.item()` adds a number, and the loop belongs inside
# `no_grad`. The ledger shows such a leak: *saved for backward* grows from step to step, while a healthy run ends each
# step where it began.

# %%
total, alive = 0.0, []
with mg.profiler.memory(net, inputs=[x, label], exact=False) as sound, mg.no_grad():
    for _ in range(5):
        total += mg.cross_entropy(net(x), label).item()
        alive.append(sound.timeline()[-1].by_consumer["saved for backward"])
print(alive)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. The most common leak there is. Others: a list of losses, predictions kept for a plot without detach, a
# retain_graph=True that somebody left in.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("16_where_the_bytes_go")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `profiler.memory()` | `_record_memory_history()` | TensorBoard's profiler | `save_device_memory_profile` |
# | `ledger.peak` | `max_memory_allocated()` | `get_memory_info("GPU:0")` | `device.memory_stats()` |
# | `ledger.table("op")` | `saved_tensors_hooks` | none | `print_saved_residuals(f, x)` |
# | `mg.no_grad()` | `torch.no_grad()` | no tape | nothing is recorded without `grad` |
# | `p.nbytes` | `p.nbytes` | `p.numpy().nbytes` | `p.nbytes` |
#
# PyTorch's first is in `torch.cuda.memory`, its second in `torch.cuda`, its third in `torch.autograd.graph`;
# TensorFlow's is in `tf.config.experimental`; JAX's are in `jax.profiler` and `jax.ad_checkpoint`, and `device` is one
# of `jax.devices()`. PyTorch's and TensorFlow's first two do not count memory of the CPU; minigrad's do.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Five things hold memory: parameters, gradients, optimizer state, what is saved for backward, workspace.
# - Parameters know nothing of the batch; activations are $B · D · H · W$, and in a network like this most of the whole.
# - Adam adds two copies of the parameters: much for a large language model, little for a network on pictures.
# - An operation keeps what its derivative reads. Adding keeps nothing; a skip only makes an array live longer, and in
#   training it lives as long anyway.
# - Memory that grows from step to step hangs from a tensor that remembers where it came from.
#
# **Sources.** D. P. Kingma, J. Ba, *Adam: a method for stochastic optimization*, arXiv:1412.6980 (2014), algorithm 1:
# the two averages. K. He and others, *Deep residual learning for image recognition*, arXiv:1512.03385 (2015), section
# 3.2: the skip. V. Korthikanti and others, *Reducing activation recomputation in large transformer models*,
# arXiv:2205.05198 (2022), section 4: the activations of a transformer, counted. T. Dao and others, *FlashAttention*,
# arXiv:2205.14135 (2022), section 3.1: the matrix that is never kept.
#
# **Exercise.** [16 A ledger of your own](../exercises/16_where_the_bytes_go.ipynb): count a network on paper, say who
# keeps what, let go of an array in time, and train under a limit.
#
# **Next:** [17 What grows how](17_what_grows_how.ipynb). Before that, change something here: give the first convolution
# a `stride=2`, so that it makes pictures of 4 × 4. By how much does the peak fall, and how many fewer parameters are
# there? Write both down before you run it. (The linear layer reads 64 numbers then, not 256.)
