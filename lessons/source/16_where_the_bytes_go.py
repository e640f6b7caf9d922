# ---
# jupyter:
#   minigrad:
#     title: Where the bytes go
#     minutes: 50
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
#       activation: the result of a layer in the forward pass
#       channel: one of the pictures that a convolution reads or makes
#       optimizer state: what an optimiser remembers from step to step, such as Adam's two averages of each gradient
#       ledger: a list of who holds which memory, and when
#       workspace: memory that an operation needs while it runs, and frees at its end
#       skip connection: an edge that leads past some layers, so that their input is added to their result
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 16 Where the bytes go
#
# You start a training run in the evening. In the morning there is no trained network. There is this:
#
# > `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.`
#
# You look at the file with the weights. It fits into the memory of the GPU with plenty of room to spare. So **the
# weights fit, and training does not. Who holds the memory?** Lesson 14 planned the memory of small graphs. Here we
# make a whole training step write down every byte, with its owner, and learn to predict the total before anything
# runs.
#
# **About 50 minutes.** Afterwards you can
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
# Two minutes. Ask who has seen this message, and what they did about it. Nearly everybody will say: a smaller batch.
# Why did that help, if the weights were the problem? Leave the question open.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, follow_theme, reveal, reveal_range
from minigrad.widgets import MemoryTimeline

BLUE, VERMILION = "#0072B2", "#D55E00"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A network that looks at pictures
#
# Our pictures are the handwritten digits of lesson 03, with 8 × 8 pixels each. A convolution slides a window of 3 × 3
# weights over a picture. Each set of weights, a *kernel*, makes a new picture, and each such picture is called a
# **channel**. Our first convolution makes 16 channels out of one, and the second makes 16 out of those 16. *Pooling*
# then keeps only the largest number of each 2 × 2, and a linear layer reads off the digit.
#
# One training step takes 64 pictures. At the moment when it holds the most memory, its *peak*, how many times the
# bytes of all the weights does it need? You have no rule for this yet, so it is a guess.

# %%
digits = mg.data.digits()
x = mg.tensor(digits.train_x[:64].reshape(64, 1, 8, 8), dtype=mg.float32)
label = mg.tensor(digits.train_y[:64])


def network():
    conv = [mg.nn.Conv2d(1, 16, 3, padding=1), mg.nn.ReLU(), mg.nn.Conv2d(16, 16, 3, padding=1), mg.nn.ReLU()]
    return mg.nn.Sequential(*conv, mg.nn.MaxPool2d(2), mg.nn.Flatten(), mg.nn.Linear(256, 10)).float()


Guess("times the weights", "How many times the bytes of the weights?", options=["under 10", "10 to 30", "over 30"])


# %%
def step(net, optimizer):
    optimizer.zero_grad()
    mg.cross_entropy(net(x), label).backward()
    optimizer.step()


def ledger_of_a_step(net, optimizer, exact=False):
    """The ledger of the second step; the first is special: it creates Adam's averages."""
    step(net, optimizer)
    with mg.profiler.memory(net, optimizer, [x, label], exact) as ledger:
        step(net, optimizer)
    return ledger


net = network()
ledger = ledger_of_a_step(net, mg.optim.Adam(net.parameters()))
weights = sum(p.nbytes for p in net.parameters())
times = ledger.peak.total / weights
reveal_range("times the weights", times, 10, 30)

# %% [markdown]
# Forty-seven times. A file of 20 kilobytes needs nearly a million bytes to be trained. (The network is in float32, four
# bytes for a number, which is usual in training. minigrad's own default is NumPy's float64, with eight; `.float()`
# changed that.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Five things that hold memory
#
# `mg.profiler.memory` watches a block of code and writes a **ledger**: who holds each array, and from when until when.
# Read the column *at the peak*. Which two lines make up nearly all of it?

# %%
print(f"{weights:,} bytes of weights; at the peak {ledger.peak.total:,} bytes, {times:.0f} times")
ledger

# %% [markdown]
# In every framework, five things hold memory:
#
# 1. the *parameters*;
# 2. the *gradients* of the parameters and, during backward, those of everything on the way back;
# 3. the **optimizer state**: what the optimiser remembers from step to step;
# 4. each **activation**, the result of a layer, that backward will read: *saved for backward*;
# 5. **workspace**: what an operation needs inside, and frees at its end. We come to it below. (*Compiler's workspace*
#    is the workspace of a planned program, as in lesson 14. Nothing is compiled here.)
#
# The batch itself is a sixth, and small. (*Other activations* are results that backward will not read, such as the
# loss.) The weights are 2 % of the peak. The memory is full of what *flows*: activations on the way forward, gradients
# on the way back.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Step through the run: each column is one operation, or the derivative of one. Where does the part that is saved for
# backward stop growing, and what frees it?

# %%
MemoryTimeline(ledger)

# %% [markdown]
# (⋆ is the symbol for a convolution.)
#
# *The picture: a hill. Each of the two relus leaves behind a large array that stays. The top of the hill is where
# backward reaches the pooling: both arrays are still there, and a gradient of the same size joins them. From then on
# each derivative frees what was kept for it, and the hill goes down to where it began.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Ten minutes up to here. Let the room find the line with the weights. Then ask: which of the five change if the batch
# is halved? (Activations and their gradients; neither parameters nor state. That is why a smaller batch helps.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Counted on paper
#
# You can know all of this before you run anything. Take a convolution from $C$ to $D$ channels with windows of
# $K × K$, on $B$ pictures that come out as $H × W$. In float32:
#
# | | how many numbers | here, the second convolution |
# |---|---|---|
# | parameters | $D · C · K · K + D$ | 16 · 16 · 3 · 3 + 16 = 2,320 |
# | gradients of the parameters | as many | 2,320 |
# | Adam's state | twice as many | 4,640 |
# | its activation | $B · D · H · W$ | 64 · 16 · 8 · 8 = 65,536 |
#
# The size of the pictures and the batch are in the last row only. Larger pictures or a larger batch make more
# activations, and not one parameter more.
#
# Now use the table. The digits become photos of 28 × 28 pixels, and a batch has 32 of them. How many *bytes* does the
# activation of the second convolution take?

# %%
Predict("bytes of one activation", "Bytes of the activation, 32 pictures of 28 × 28:", unit="bytes")

# %%
photos = mg.ones(32, 1, 28, 28, dtype=mg.float32)
B, C, D, K, H, W = 32, 16, 16, 3, 28, 28
counted = 4 * (D * C * K * K + D), 4 * B * D * H * W
measured = sum(p.nbytes for p in net[2].parameters()), net[:3](photos).nbytes
reveal("bytes of one activation", measured[1])

# %%
print("parameters and activation, on paper", counted, " measured", measured)

# %% [markdown]
# The parameters take 9,280 bytes, as before. The activation has grown from 262,144 bytes to 1.6 million, although the
# batch is only half as large: a photo has twelve times as many pixels.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What Adam costs
#
# People often say that training with Adam takes twice the memory of training with plain SGD. Adam keeps two averages
# for each parameter: one of its gradient, and one of the square of its gradient. Go back to the training step with 64
# digits. By how many percent does its peak grow if Adam takes the place of SGD?

# %%
Predict("adam", "By how many percent does the peak grow?", tolerance=1)

# %%
peaks = {}
for kind in (mg.optim.SGD, mg.optim.Adam):
    net = network()
    peaks[kind] = ledger_of_a_step(net, kind(net.parameters(), lr=0.01)).peak
more = peaks[mg.optim.Adam].total - peaks[mg.optim.SGD].total
reveal("adam", 100 * more / peaks[mg.optim.SGD].total)

# %%
for kind, peak in peaks.items():
    print(f"{kind.__name__:5} peak {peak.total:,} bytes")
print(f"{more:,} bytes more: {more / weights:g} times the weights")

# %% [markdown]
# Adam costs two more copies *of the parameters* and nothing else. Here that is 4.5 %. The saying comes from another
# kind of network. A language model of billions of parameters, trained with a small batch, holds almost only parameters,
# gradients and state. With SGD that is two copies, with Adam four, and *that* is double. Adam adds one line to the
# ledger. How much it matters depends on the other lines.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask for a network where the saying is true: one linear layer of 4000 by 4000, and a batch of one. If
# somebody brings up mixed precision: "it halves the memory" is wrong in the same way, and lesson 20 counts why.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who keeps what
#
# Backward needs the numbers that a derivative reads (lesson 06). The derivative of $x^2$ reads $x$, that of $e^x$ reads
# its own result, and that of $x + y$ reads nothing. Below are eight operations on 1,000 numbers each. Count those that
# are the *first* to keep an array of 4,000 bytes: an array that an earlier operation keeps already does not count
# again.


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


Predict("keepers", "How many of the eight are the first to keep an array of 4,000 bytes?")

# %%
thousand = mg.tensor(np.linspace(0, 1, 1000), dtype=mg.float32, requires_grad=True)
with mg.profiler.memory(inputs=[thousand], exact=False) as eight_ledger:
    eight(thousand).backward()
saved_by_op = eight_ledger.table("op")
reveal("keepers", sum(row[-1] == 4000 for row in saved_by_op.rows))

# %%
saved_by_op

# %% [markdown]
# Four. `exp` and `tanh` keep their results, and `sin` keeps its operand. The product keeps both operands: `tanh` keeps
# the first already, and the second is new. `+ 1`, `reshape` and the sum keep nothing, and `* 2` keeps only the 2.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Without a gradient
#
# In evaluation nothing is saved for backward. We run our network forward only, inside `no_grad`. How much of the peak
# of a training step is left? This is a guess again.

# %%
Guess("no_grad", "The peak of forward alone, in percent?", options=["under 10", "10 to 50", "over 50"])

# %%
net = network()
with mg.profiler.memory(net, inputs=[x, label], exact=False) as forward_ledger, mg.no_grad():
    net(x)
percent = 100 * forward_ledger.peak.total / peaks[mg.optim.SGD].total
reveal_range("no_grad", percent, 10, 50)

# %%
print(f"{forward_ledger.peak.total:,} bytes, {percent:.0f} % of the training step: {forward_ledger.peak.what}")

# %% [markdown]
# More than half, although nothing is kept. While an operation runs, its operand and its result must both be there, and
# two arrays of 262,144 bytes are already more than half of what training holds. This network is too shallow for
# `no_grad` to make a large difference.

# %% [markdown]
# Now let the network grow deeper. In a chain of layers, forward alone needs room for the batch and for two neighbours
# at a time. Training keeps the result of every layer.

# %%
depths = [2, 4, 8, 16]
bytes_at_peak = {"training": [], "forward alone": []}
for depth in depths:
    layers = [part for _ in range(depth) for part in (mg.nn.Conv2d(16, 16, 3, padding=1), mg.nn.ReLU())]
    deep = mg.nn.Sequential(*layers).float()
    for way, recorded in (("training", True), ("forward alone", False)):
        with mg.profiler.memory(deep, exact=False) as deep_ledger, mg.set_grad_enabled(recorded):
            deep(mg.ones(64, 16, 8, 8, dtype=mg.float32))
        bytes_at_peak[way].append(deep_ledger.peak.total / 1e6)
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
for (way, megabytes), color, marker in zip(bytes_at_peak.items(), (VERMILION, BLUE), "os"):
    ax.plot(depths, megabytes, color=color, marker=marker, label=way)
ax.set(xlabel="convolutions", ylabel="million bytes at the peak", xticks=depths, ylim=0)
ax.legend()
plt.show()

# %% [markdown]
# *The plot: bytes at the peak over the depth. Forward alone is nearly flat, from 0.80 million bytes for two
# convolutions to 0.93 million for sixteen; only the weights climb. Training is a steep line, from 1.07 to 4.87
# million.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## An edge past the layers
#
# A residual block adds its input to its result: `x + layers(x)`. The edge from x to the sum is a **skip connection**.
# It has no parameters, and its sum keeps nothing. The skip below leads from the result of the first of three layers to
# the end, past the other two. Does it raise the peak of the forward pass in evaluation, where nothing is recorded? And
# in training?


# %%
convs = mg.nn.ModuleList([mg.nn.Conv2d(16, 16, 3, padding=1) for _ in range(3)]).float()


def three_layers(x, skips):
    x = convs[0](x).relu()
    early = x if skips else None
    for conv in convs[1:]:
        x = conv(x).relu()  # x is now the new array; the old one is freed if nothing else needs it
    return x + early if skips else x


Predict("skip", "The skip raises the peak of forward in …", options=["neither", "evaluation", "training", "both"])

# %%
rises, lines = [], []
for recorded in (False, True):
    peak_bytes, saved_bytes = [], []
    for skips in (False, True):
        with mg.profiler.memory(convs, exact=False) as skip_ledger, mg.set_grad_enabled(recorded):
            three_layers(mg.ones(64, 16, 8, 8, dtype=mg.float32), skips)
        peak_bytes.append(skip_ledger.peak.total)
        saved_bytes.append(skip_ledger.peak.by_consumer["saved for backward"])
    rises.append(peak_bytes[1] - peak_bytes[0])
    lines.append(f"peak {rises[-1]:+,} bytes with the skip, saved for backward {saved_bytes} without and with it")
places = {(False, False): "neither", (True, False): "evaluation", (False, True): "training", (True, True): "both"}
reveal("skip", places[rises[0] > 0, rises[1] > 0])

# %%
print("evaluation:", lines[0])
print("training:  ", lines[1])
mg.draw(three_layers(mg.ones(64, 16, 8, 8, dtype=mg.float32), skips=True))

# %% [markdown]
# Only in evaluation, by one array of 262,144 bytes. Without the skip, the result of the first layer is freed after the
# second convolution; with it, the array has to wait for the sum. In training the array is kept anyway, because the
# derivative of the second convolution reads it. That is why *saved for backward* is the same with and without the skip.
#
# The more layers a skip passes, the longer its array waits. In a U-Net the longest skip leads from the first layers to
# the last and holds its array for nearly the whole run.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. The surprise: nothing of the skip is saved for backward, because adding has slopes of 1. A skip costs a
# longer lifetime, as in lesson 14. In backward it is the gradient that waits: it passes the layers at once, and must
# stay until the gradient of the layers has come back.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## An attention block
#
# The GPT of lesson 25 reads *Alice* letter by letter. Each letter is a *token*, a row of numbers. In attention each
# token looks at every other token: it asks with a query `q`, every token answers with a key `k`, and a softmax of their
# products says how much of each token's value `v` is added up. So a text of $L$ tokens has a matrix of $L × L$ weights.
# (A layer may do this several times in parallel, in several *heads*.) Here is one head, for 8 passages of 128 tokens
# with 32 numbers each. Which of the three below takes the most bytes?


# %%
def attention(t, Wq, Wk, Wv):
    q, k, v = t @ Wq, t @ Wk, t @ Wv
    return (q @ k.mT / 32**0.5).softmax(-1) @ v


Predict("largest", "Which takes the most bytes?", options=["the tokens t", "q, k, v together", "the result of softmax"])

# %%
matrices = [mg.randn(32, 32, dtype=mg.float32, requires_grad=True) for _ in range(3)]
tokens = mg.ones(8, 128, 32, dtype=mg.float32)  # for memory it does not matter which letters they stand for
with mg.profiler.memory(inputs=[tokens], exact=False) as attention_ledger:
    attention(tokens, *matrices).sum().backward()
saved_by_op = attention_ledger.table("op")
largest = max(saved_by_op.rows, key=lambda row: row[-1])
reveal("largest", "the result of softmax" if largest[0] == "softmax" else "q, k, v together")

# %%
saved_by_op

# %% [markdown]
# The result of the softmax, with 8 · 128 · 128 numbers: more than q, k and v together. Those three grow with $L$, and
# the softmax grows with $L^2$; lesson 17 comes back to that. (`scaled_dot_product_attention` does not keep the weights
# here: it computes them again in backward. FlashAttention never holds the whole matrix at all.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The fifth: inside an operation
#
# So far the ledger has counted the arrays that pass from one operation to the next. But an operation may need an array
# of its own while it runs, which nobody else ever sees. With `exact=True` the ledger also asks Python's own count of
# memory, which sees all of them:

# %%
net = network()
exact_ledger = ledger_of_a_step(net, mg.optim.Adam(net.parameters()), exact=True)
peak = exact_ledger.peak
print(f"{peak.inside / peak.total:.0%} of the peak is made and dropped inside the op: {peak.what}")

# %% tags=["measured", "nbval-ignore-output"]
exact_ledger

# %% [markdown]
# The peak has doubled, and it has moved. It is now in the derivative of the second convolution, and more than half of
# it is *made and dropped inside the op*. A convolution lays its windows side by side to become one matrix product, and
# so it writes each pixel up to nine times. Libraries for GPUs do this or something cleverer, and the size of their
# workspace depends on the algorithm that they choose. So a sum on paper is a lower bound, and the message from the
# beginning may come in the middle of an operation.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. cuDNN has several algorithms for a convolution, each with its own workspace; PyTorch tries them out if
# `torch.backends.cudnn.benchmark` is set. Ask why training can survive its first forward pass and fail in its second
# step: Adam's state is created at the end of the first.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** You want the mean loss over many batches, and you train nothing. The loop adds up the losses. It
# runs, the number is right, and some hundred batches later the message from the beginning is back. Here are the first
# five batches:

# %%
net, total = network(), 0.0
with mg.profiler.memory(net, inputs=[x, label], exact=False) as leak_ledger:
    for batch in range(5):
        loss = mg.cross_entropy(net(x), label)
        total = total + loss
        saved = leak_ledger.timeline()[-1].by_consumer["saved for backward"]
        print(f"after batch {batch}: {saved:9,} bytes saved for backward")

# %% [markdown]
# `total` is a tensor, and it remembers where it came from. All five graphs hang from it, with everything that they
# saved, and since nothing calls backward, nothing is freed. (One batch saves 592,384 bytes. The ledger at the beginning
# says 524,288, because at the peak backward had freed a part already.) Four repairs are proposed:
#
# | repair | what changes in the loop |
# |---|---|
# | `item` | `total = total + loss.item()` |
# | `detach` | `total = total + loss.detach()` |
# | `del` | the same sum as above, and then `del loss` |
# | `no_grad` | the same sum as above, and the whole loop inside `with mg.no_grad():` |
#
# How many of the four stop the growth?

# %%
Predict("repairs", "How many of the four repairs stop the growth?")


# %%
def bytes_still_saved(repair, batches):
    """What is saved for backward when a loop over so many batches has ended."""
    total = 0.0
    with mg.profiler.memory(net, inputs=[x, label], exact=False) as ledger, mg.set_grad_enabled(repair != "no_grad"):
        for _ in range(batches):
            loss = mg.cross_entropy(net(x), label)
            if repair == "item":
                total = total + loss.item()
            else:
                total = total + (loss.detach() if repair == "detach" else loss)
            if repair == "del":
                del loss
    return ledger.timeline()[-1].by_consumer["saved for backward"]


saved_after = {
    repair: (bytes_still_saved(repair, 1), bytes_still_saved(repair, 5))
    for repair in ("item", "detach", "del", "no_grad")
}
reveal("repairs", sum(after_one == after_five for after_one, after_five in saved_after.values()))

# %%
for repair, (after_one, after_five) in saved_after.items():
    print(f"{repair:8} {after_one:9,} bytes after one batch, {after_five:9,} after five")

# %% [markdown]
# Three. `del loss` removes a name, and the graph hangs from `total` as before. `item` and `detach` cut the sum off from
# the graph, so only the graph of the latest batch is alive. Inside `no_grad` there is no graph at all, and that is the
# best repair: an evaluation needs none.
#
# You can see such a leak in a ledger: *saved for backward* grows from step to step, while a healthy run ends each step
# where it began.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. This is the most common leak there is. Others: a list of losses, predictions kept for a plot without
# detach, a retain_graph=True that somebody left in.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("16_where_the_bytes_go")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
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
# TensorFlow's second is in `tf.config.experimental`; JAX's are in `jax.profiler` and `jax.ad_checkpoint`, and `device`
# is one of `jax.devices()`. PyTorch's first two and TensorFlow's second count the memory of GPUs, and not that of the
# CPU; minigrad's count the CPU's.
#
# ### The same in PyTorch
#
# These are the eight operations from *Who keeps what*. PyTorch calls `note` with each array that an operation saves,
# and finds the same four.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def saved_in_pytorch(torch):
    """
    arrays of 4,000 bytes that are saved: 4
    inside no_grad: 0   the result has a past: False
    """
    saved = {}

    def note(t):
        saved[t.data_ptr()] = t.nbytes
        return t

    x = torch.linspace(0, 1, 1000, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        e = ((x + 1).exp() * 2).sin().reshape(10, 100)
        y = (e.tanh() * e).sum()
    print("arrays of 4,000 bytes that are saved:", sum(size == 4000 for size in saved.values()))
    saved.clear()
    with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        y = (x.exp() * x).sum()
    print("inside no_grad:", len(saved), "  the result has a past:", y.grad_fn is not None)


# %% [markdown] slideshow={"slide_type": "skip"}
# `mg.profiler.memory` keeps the ledger of a PyTorch run too, and `MemoryTimeline` draws it. Which operations below keep
# an array that was not kept before?


# %% slideshow={"slide_type": "skip"}
@in_pytorch
def ledger_of_pytorch(torch):
    """
    op     in      keeps       which is                     times   bytes
    -----  ------  ----------  ---------------------------  -----  ------
    addmm  Linear  operand 1   f32[50, 100], of the inputs      1       0
    exp            its result  f32[50, 100]                     1  20,000
    mul            operand 1   f32[50, 100]                     1  20,000
    mul            operand 0   f32[50, 100]                     1       0
    An array counts once, at the first op that keeps it, and as 0 bytes if it is alive anyway.
    """
    layer, x = torch.nn.Linear(100, 100), torch.ones(50, 100)
    with mg.profiler.memory(layer, None, x) as ledger:
        h = layer(x)
        y = (h.exp() * h).sum()
    print(ledger.table("op"))
    del y  # until here its graph was alive


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Five things hold memory: parameters, gradients, optimizer state, what is saved for backward, workspace.
# - Parameters do not depend on the batch. Activations are $B · D · H · W$, and in a network like this they are most of
#   the total.
# - Adam adds two copies of the parameters: much for a large language model, little for a network on pictures.
# - An operation keeps what its derivative reads. Adding keeps nothing. A skip only makes an array live longer, and in
#   training that array lives as long anyway.
# - If memory grows from step to step, look for a tensor that remembers where it came from.
#
# **Sources.** D. P. Kingma, J. Ba, *Adam: a method for stochastic optimization*, arXiv:1412.6980 (2014), algorithm 1:
# the two averages. K. He and others, *Deep residual learning for image recognition*, arXiv:1512.03385 (2015), section
# 3.2: the skip. V. Korthikanti and others, *Reducing activation recomputation in large transformer models*,
# arXiv:2205.05198 (2022), section 4: the activations of a transformer, counted. T. Dao and others, *FlashAttention*,
# arXiv:2205.14135 (2022), section 3.1: the matrix that is never kept.
#
# **Exercise.** [16 A ledger of your own](../exercises/16_where_the_bytes_go.ipynb): count a network on paper, say who
# keeps what, free an array in time, and train under a limit.
#
# **Next:** [17 What grows how](17_what_grows_how.ipynb). Before that, change something here: give the first convolution
# a `stride=2`, so that it makes pictures of 4 × 4. By how much does the peak fall, and how many fewer parameters are
# there? Write both down before you run it. (The linear layer reads 64 numbers then, not 256.)
