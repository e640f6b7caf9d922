# ---
# jupyter:
#   minigrad:
#     title: Twice, to keep less
#     minutes: 30
#     objectives:
#       - say what a checkpoint keeps, what it computes again, and when
#       - find the number of parts that keeps the least, with a pencil and with a ledger
#       - say what checkpointing costs in FLOPs, and what it does not save
#       - add up gradients over micro-batches so that they are those of the whole batch
#       - add them up over unequal micro-batches, and say which layers make them differ (optional sections)
#     concepts: [E5, E10]
#     builds_on: [17_what_grows_how]
#     widgets: [MemoryTimeline, Predict, Quiz]
#     terms:
#       checkpoint: a part of a network for which only the operand is kept; backward runs it a second time
#       segment: one of the parts that a chain of layers is cut into, each a checkpoint
#       micro-batch: a part of a batch that goes forward and backward on its own
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 21 Twice, to keep less
#
# You found the perfect recipe for your network. It says: batches of 1024. You start it, and after a second it stops:
# out of memory. With 512 it runs. Do you have to buy a larger machine, or change the recipe?
#
# In lesson 16 nearly all the memory of a training step was *saved for backward*. **Can a batch fit in half the
# memory?** It can, in two ways: forget what can be computed again, or take the batch in parts. Both give the gradients
# of the whole batch. We count what each of them saves, and what it costs.
#
# **About 30 minutes.** Afterwards you can
#
# - say what a checkpoint keeps, what it computes again, and when;
# - find the number of parts that keeps the least, with a pencil and with a ledger;
# - say what checkpointing costs in FLOPs, and what it does not save;
# - add up gradients over micro-batches so that they are those of the whole batch.
#
# Folded, optional sections are about dropout, unequal micro-batches, and layers that look at the whole batch.
#
# **Builds on** [17 What grows how](17_what_grows_how.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): *standardise*, in an optional section; the bytes of
# each box, and its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has halved a batch because of memory, and whether they changed anything else. Somebody changed
# the learning rate. Today nothing else has to change.

# %% slideshow={"slide_type": "skip"}
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal, reveal_range
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential
from minigrad.widgets import MemoryTimeline

mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sixty-four layers
#
# Our network is a chain of 64 layers, each a linear layer and a tanh, for a batch of 1024 rows of 32 numbers.
# Everything is float32, so each result has 1024 · 32 · 4 = 131,072 bytes. In this lesson we call that *an array*.
#
# The derivative of tanh reads the result of tanh. The derivative of a linear layer reads its operand, which is the tanh
# before it. So each layer leaves one array for backward. (The first layer reads x, which is there anyway.) A ledger
# counts them:


# %%
def chain(n):
    """n layers, each a linear layer and a tanh."""
    return [mg.nn.Sequential(mg.nn.Linear(32, 32), mg.nn.Tanh()).float() for _ in range(n)]


layers = chain(64)
x = mg.randn(1024, 32, dtype=mg.float32)
array = x.nbytes


# %%
def watch(step, *layers):
    """The ledger of a step, forward and backward, through these layers."""
    for layer in layers:
        layer.zero_grad()
    with mg.profiler.memory(mg.nn.Sequential(*layers), inputs=[x], exact=False) as ledger:
        step()
    return ledger


def most_saved(ledger):
    """The most arrays that were saved for backward at one time."""
    return max(moment.by_consumer["saved for backward"] for moment in ledger.timeline()) / array


plain = watch(lambda: mg.nn.Sequential(*layers)(x).sum().backward(), *layers)
print(f"{most_saved(plain):g} arrays saved; the peak is {plain.peak.total:,} bytes")

# %% [markdown]
# The 64 arrays are 94 % of the peak. All of them are there at the same time, because forward ends before backward
# begins.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A checkpoint
#
# A **checkpoint** is a part of a network for which only the operand is kept. `checkpoint(f, x)` returns what `f(x)`
# returns, and forgets what happened inside. When backward reaches the part, `f` runs a second time on that operand, and
# this time what the derivatives read is kept. After backward has gone through the part, everything is freed again. (The
# word has a second meaning: a file with the state of a training run. Here it always has the first.)
#
# Here are sixteen layers; the first eight are one checkpoint. How many arrays are saved when *forward* is done?

# %%
front, back = mg.nn.Sequential(*layers[:8]), mg.nn.Sequential(*layers[8:16])
Predict("after forward", "Arrays saved after forward, of 16 layers with a checkpoint over the first 8:", unit="arrays")

# %%
with mg.profiler.memory(mg.nn.Sequential(front, back), inputs=[x], exact=False) as ledger:
    y = back(checkpoint(front, x))
    after_forward = ledger.timeline()[-1].by_consumer["saved for backward"] / array
    y.sum().backward()
reveal("after forward", after_forward)

# %%
print(f"after forward {after_forward:g} arrays, at most {most_saved(ledger):g}")

# %% [markdown]
# Nine: eight in the back half, and one between the halves, which the first linear layer of the back half reads. The
# checkpoint has kept nothing but its operand x, which is there anyway. Over time you see two hills, of nine arrays and
# of eight, instead of one of sixteen:

# %%
MemoryTimeline(ledger)

# %% [markdown]
# *The picture: the part saved for backward climbs over the back half, and falls as backward passes through it. Then,
# still in backward, it climbs a second time: each of those steps says "once more".*

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Step to the valley between the hills, and ask what is alive there: the operand of the checkpoint, and
# one gradient. Then: which line of Python asks for the second run? None. The engine does, when backward reads the first
# saved array that is not there.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How many parts?
#
# Cut the 64 layers into $k$ parts of equal length. Each is called a **segment**, and all but the last are checkpoints.
# `checkpoint_sequential(layers, k, x)` does this. Between the parts $k − 1$ arrays are kept, and while backward is in
# one part it needs the $64 / k$ arrays of that part:
#
# $$\text{saved}(k) = k - 1 + \frac{64}{k}$$
#
# Which of these numbers of parts keeps the least?

# %%
Predict("parts", "The fewest arrays are saved with … parts", options=[2, 4, 8, 16, 32])

# %%
parts = [1, 2, 4, 8, 16, 32, 64]
saved, peaks = {}, {}
for k in parts:
    ledger = watch(lambda k=k: checkpoint_sequential(layers, k, x).sum().backward(), *layers)
    saved[k], peaks[k] = most_saved(ledger), ledger.peak.total
reveal("parts", min(saved, key=saved.get))

# %%
for k in parts:
    print(f"{k:2} parts: {k - 1 + 64 / k:g} arrays on paper, {saved[k]:g} measured; peak {peaks[k]:9,} bytes")

# %% [markdown]
# With one part everything is inside it, 64 arrays; with 64 parts everything is between them, 64 again. The best is 8
# parts, with 15 arrays. Eight is $\sqrt{64}$, and that is no accident: $k + n/k$ is smallest where its two terms are
# equal. So a chain of $n$ layers needs about $2\sqrt{n}$ arrays instead of $n$.
#
# The peak falls less, from 8.9 to 2.5 million bytes. Weights and gradients are in it too, and no checkpoint makes those
# smaller.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let the room derive the minimum: slope 1 − n/k² = 0. If somebody asks "why not checkpoint every layer,
# then it keeps nothing?", point at the last line of the table: an operand is kept for each.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: dropout in a checkpoint
#
# You can follow the lesson without what is folded here: a part that draws random numbers, and runs twice.

# %% [markdown] slideshow={"slide_type": "skip"}
# The part runs twice. Now put a dropout into it, which draws a random mask each time it runs. Two runs, two masks? With
# different masks the gradient would belong to another function than the value. Think of what a `checkpoint` has to do
# to be of any use. Are the gradients with and without it the same bits, near each other, or different?

# %% slideshow={"slide_type": "skip"}
part = mg.nn.Sequential(*layers[:4], mg.nn.Dropout(0.5))


def gradients(run):
    """The gradients of the part's parameters, from a fixed seed."""
    part.zero_grad()
    mg.manual_seed(1)
    run().square().sum().backward()
    return [p.grad.numpy().copy() for p in part.parameters()]


once, twice = gradients(lambda: part(x)), gradients(lambda: checkpoint(part, x))
same = all(a.tobytes() == b.tobytes() for a, b in zip(once, twice))
print("the same bits:", same)

# %% [markdown] slideshow={"slide_type": "skip"}
# They are the same to the last bit. Before the second run, the checkpoint puts the random generator back to where it
# was before the first run. So the second run does the same operations on the same numbers in the same order. PyTorch
# does this too (`preserve_rng_state=True`).

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the number of parts in a plot, and parts of parts
#
# You can follow the lesson without what is folded here: the formula drawn, how $\sqrt{n}$ grows, and a way that
# grows even more slowly.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.semilogx(parts, [k - 1 for k in parts], ":^", base=2, color="#009E73", label="between the parts: k − 1")
ax.plot(parts, [64 / k for k in parts], "--s", color="#D55E00", label="inside one part: 64 / k")
ax.plot(parts, list(saved.values()), "-o", color="#0072B2", label="measured")
ax.set(xlabel="number of parts k", ylabel="arrays saved", xticks=parts, xticklabels=parts, ylim=0)
ax.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: a valley, whose lowest point is where the two lines cross, at 8 parts.*

# %% [markdown] slideshow={"slide_type": "skip"}
# A network of four times the depth keeps four times as much for backward. With $\sqrt{n}$ parts, how many times as many
# arrays do 256 layers need as 64? Write down a number, and run the cell.
#
# Parts may have parts, too. Halve the chain, make the first half a checkpoint, and do the same inside each half: that
# is `halve`.


# %% slideshow={"slide_type": "skip"}
def halve(layers):
    """The chain as a function: its first half a checkpoint, and so on inside each half."""
    if len(layers) == 1:
        return layers[0]
    first, second = halve(layers[: len(layers) // 2]), halve(layers[len(layers) // 2 :])
    return lambda h: second(checkpoint(first, h))


for n, k in ((16, 4), (64, 8), (256, 16)):
    deep = chain(n)
    by_parts = most_saved(watch(lambda deep=deep, k=k: checkpoint_sequential(deep, k, x).sum().backward(), *deep))
    by_halves = most_saved(watch(lambda deep=deep: halve(deep)(x).sum().backward(), *deep))
    print(f"{n:3} layers: {by_parts:g} arrays in {k:2} parts, {by_halves:g} halved and halved, instead of {n}")

# %% [markdown] slideshow={"slide_type": "skip"}
# About twice as many. On axes where each step is a factor this is a line of slope ½ (lesson 17). Halved and halved, it
# is one more for each doubling: $\log_2 n + 1$ arrays. But then half of the layers run again on each of the six levels
# of our chain, which is three forward passes in all. So $\sqrt{n}$ parts are usually the better bargain.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What it costs
#
# People say that checkpointing "saves compute". Let us count all the FLOPs of a step, forward and backward. A step
# without checkpoints costs about three forward passes (lesson 17). Does a step with 8 parts have fewer FLOPs, just as
# many, a third more, or twice as many?

# %%
Predict("flops", "The FLOPs of a step with 8 parts are …", options=["fewer", "equal", "a third more", "twice"])


# %%
def count_flops(run):
    """The FLOPs of everything that a call does."""
    with mg.profiler.profile(with_flops=True) as prof:
        run()
    return sum(event.flops or 0 for event in prof.events())


forward = count_flops(lambda: checkpoint_sequential(layers, 1, x))
steps = {k: count_flops(lambda k=k: checkpoint_sequential(layers, k, x).sum().backward()) for k in (1, 2, 8, 64)}
step = steps[1]
reveal_range("flops", steps[8] / step, 0.99, 1.01, 1.6)

# %%
for k, flops in steps.items():
    print(f"{k:2} parts: {flops / step:.2f} times the FLOPs of 1 part, {(flops - step) / forward:.2f} forwards more")

# %% [markdown]
# A step costs about three forward passes, and now nearly four: almost a third more. With 8 parts, 7 of them run again,
# which adds 7/8 of a forward pass, as counted.
#
# So checkpoints save *memory*, and you pay for it in compute. If your batch fits, leave them out. There is a way in
# between, *selective* checkpointing: it keeps the results of matrix products, because they cost the most to compute,
# and runs only the rest again.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The belief comes from papers whose tables have "with checkpointing: larger batch, more samples per
# second". Ask what else has changed in such a row. Then: which layers would you choose, if not all? Those that are
# large to keep and cheap to compute: tanh, dropout, norm, and the softmax of attention; not products. That is what
# selective checkpointing does.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The other way: in parts
#
# Gradients add up in `.grad` until somebody clears them (lesson 06). So you may cut the batch. Each **micro-batch**
# goes forward and backward on its own, and the optimiser takes one step at the end: gradient accumulation. Nothing is
# computed twice, and only the arrays of one micro-batch are saved for backward at a time.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Below, a small network guesses the next letter of *Alice*. A batch of 256 letters goes through in 4 parts of 64.
# `cross_entropy` returns the mean loss over the letters that it gets. What adds up in `.grad` is how many times the
# gradient of the whole batch?

# %%
text = mg.data.text()
letters = sorted(set(text))
alice = mg.tensor([letters.index(letter) for letter in text[:257]])
net = mg.nn.Sequential(mg.nn.Embedding(65, 32), mg.nn.Tanh(), mg.nn.Linear(32, 65))
Predict("undivided", "Added up over 4 micro-batches, as a multiple of the whole batch's gradient:")


# %%
def accumulate(net, sizes, factor):
    """The gradients that add up over micro-batches of these sizes, each loss times factor(size)."""
    net.zero_grad()
    start = 0
    for size in sizes:
        stop = start + size
        loss = mg.cross_entropy(net(alice[start:stop]), alice[start + 1 : stop + 1])
        (loss * factor(size)).backward()
        start = stop
    return np.concatenate([p.grad.numpy().ravel() for p in net.parameters()])


whole = accumulate(net, [256], lambda size: 1)
undivided = accumulate(net, [64] * 4, lambda size: 1)
divided = accumulate(net, [64] * 4, lambda size: 1 / 4)
ratio = undivided @ whole / (whole @ whole)
reveal("undivided", round(ratio, 4))

# %%
print(f"undivided: {ratio:.4f} times the whole batch's; divided by 4: equal is {np.allclose(divided, whole)}")

# %% [markdown]
# Four times. A mean over 256 is a quarter of the sum of four means over 64. If you forget `loss / 4`, your learning
# rate is four times as large, and no message says so. (If the loss is a *sum*, there is nothing to divide. If
# the micro-batches are unequal, each mean loss is multiplied by its share of the rows.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The gradients are equal up to rounding: the rows are added in another order, and floats are not
# associative, so the last digits may differ. A checkpoint changes no bit, an accumulation does.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Can a batch fit in half the memory?
#
# Here are both ways, and the two together, on the chain of 64 layers. All 1024 rows go through each time, and the
# gradients are those of all of them.


# %%
def step_in_parts(micro, segments):
    """Forward and backward of all rows, in so many micro-batches, each through so many segments."""
    for part in x.split(len(x) // micro):
        checkpoint_sequential(layers, segments, part).sum().backward()


ways = {"the whole batch": (1, 1), "2 micro-batches": (2, 1), "8 segments": (1, 8), "both": (2, 8)}
for name, way in ways.items():
    peak = watch(lambda way=way: step_in_parts(*way), *layers).peak.total
    flops = count_flops(lambda way=way: step_in_parts(*way))
    print(f"{name:16} {peak / plain.peak.total:4.0%} of the bytes, {flops / step:.2f} of the FLOPs")

# %% [markdown]
# Two micro-batches alone do not get down to half, because the weights stay. Segments alone get far below half, for
# almost a third more work. Both together need the least.
#
# So your 1024 rows fit. Try micro-batches first, if the parts are large enough to keep the machine busy, and no layer
# looks at several rows at once. (Layer normalisation takes the mean of one row. Batch normalisation takes it over the
# rows that go through together, and with fewer of them it computes something else.) Use checkpoints if even a single
# row is too large, such as a long text.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A part that changes its mind
#
# **Where it breaks.** A part that is run twice must do the same thing both times. But it may read a list, a clock or a
# file, which has changed in the meantime. Here it reads a list. Then the gradient is wrong, and no message says so:

# %%
factor = [2.0]
w = mg.tensor([1.0], requires_grad=True)
y = checkpoint(lambda w: (w * factor[0]).exp(), w)
factor[0] = 3.0
y.backward()
print(f"y = {y.item():.2f}; its slope is {2 * y.item():.2f}, and backward says {w.grad.item():.2f}")

# %% [markdown]
# The value is that of $e^{2w}$, and the slope that of $e^{3w}$. Let nothing but its arguments decide what a part
# computes. (Dropout is safe: the second run draws the same random numbers.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Ask what else changes between forward and backward: a counter, a random number drawn outside of the
# framework, a file that somebody writes.


# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a part that does something else the second time
#
# You can follow the lesson without what is folded here: an error that frameworks raise.

# %% [markdown] slideshow={"slide_type": "skip"}
# This part counts its calls, and leaves its layer out every second time, to regularise. Does backward raise an error,
# or give a gradient?

# %% slideshow={"slide_type": "skip"}
calls = []


def skip_every_second(h):
    """The first layer, but only in every second call."""
    calls.append(1)
    return layers[0](h) if len(calls) % 2 else h * 2


y = checkpoint(skip_every_second, x)
try:
    y.sum().backward()
    print("It gives a gradient.")
except mg.errors.NoGradientError as error:
    print("It", str(error).partition("> ")[2])

# %% [markdown] slideshow={"slide_type": "skip"}
# It raises an error: the second run kept other arrays than the first. Frameworks compare how many there are, and their
# shapes.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: when the last micro-batch is smaller
#
# You can follow the lesson without what is folded here: 100 letters in four parts, of which the last has 4.

# %% [markdown] slideshow={"slide_type": "skip"}
# Now there are 100 letters, in micro-batches of 32: three of them have 32 letters, and the last has 4. We divide each
# loss by 4, the number of micro-batches. Do they add up to the gradient of the mean over the 100?

# %% slideshow={"slide_type": "skip"}
sizes = [32, 32, 32, 4]
whole = accumulate(net, [100], lambda size: 1)
by_count = accumulate(net, sizes, lambda size: 1 / 4)
by_size = accumulate(net, sizes, lambda size: size / 100)
error = np.linalg.norm(by_count - whole) / np.linalg.norm(whole)
print(f"divided by the number of parts: off by {error:.0%}, in length")
print(f"each by its share of the rows: equal is {np.allclose(by_size, whole)}")

# %% [markdown] slideshow={"slide_type": "skip"}
# No. Each of the last four letters weighs 1/16, and each of the others 1/128, an eighth of that. The right factor is
# the share of the batch, `size / 100`. In a language model it is the share of the *tokens* that count, and hardly two
# micro-batches have equally many, because shorter sentences are padded to one length. Widely used training loops
# divided by the number of micro-batches until 2024, when somebody compared the losses.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: where a row looks at its neighbours
#
# You can follow the lesson without what is folded here: micro-batches with LayerNorm and with BatchNorm.

# %% [markdown] slideshow={"slide_type": "skip"}
# All of this is right because the loss is a sum or a mean over rows, and each row goes through the network by itself.
# Layer normalisation subtracts the mean of the numbers in *one row*, and batch normalisation the mean of each number
# over *the batch*. For which of these two networks do 4 micro-batches of 64, divided by 4, give the gradient of the
# 256?

# %% slideshow={"slide_type": "skip"}
norms = {"LayerNorm": mg.nn.LayerNorm(32), "BatchNorm": mg.nn.BatchNorm1d(32)}
for name, norm in norms.items():
    normed = mg.nn.Sequential(mg.nn.Embedding(65, 32), norm, mg.nn.Tanh(), mg.nn.Linear(32, 65))
    whole = accumulate(normed, [256], lambda size: 1)
    divided = accumulate(normed, [64] * 4, lambda size: 1 / 4)
    print(f"{name}: off by {np.linalg.norm(divided - whole) / np.linalg.norm(whole):.0%}")
print(int(norms["BatchNorm"].num_batches_tracked), "batches seen: 1 whole, and 4 in parts")

# %% [markdown] slideshow={"slide_type": "skip"}
# With layer normalisation the gradients are equal. With batch normalisation they are not, and no factor mends that:
# mean and variance are those of 64 rows, which makes it another function. Its running statistics also move four times
# in one step. So with small micro-batches people use another normalisation, or freeze this one with `.eval()`.
#
# A checkpoint changes nothing here: it sees the whole batch, twice. (minigrad's second run leaves the running
# statistics alone; PyTorch's moves them again.)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: what micro-batches save
#
# You can follow the lesson without what is folded here: the peak with 1, 2, 4 and 8 micro-batches.

# %% [markdown] slideshow={"slide_type": "skip"}
# What do micro-batches save, and what do they cost? Take the chain of 64 layers again. In 4 parts, is its peak a
# quarter of the whole batch's peak? Less, or more?

# %% slideshow={"slide_type": "skip"}
most = {}
for k in (1, 2, 4, 8):
    most[k] = watch(lambda k=k: step_in_parts(k, 1), *layers).peak.total
    work = count_flops(lambda k=k: step_in_parts(k, 1)) / step
    print(f"{k} micro-batches: {most[k]:9,} bytes, {most[k] / most[1]:.0%} of the whole; {work:.2f} times the FLOPs")

# %% [markdown] slideshow={"slide_type": "skip"}
# It is more than a quarter. What is saved for backward is divided by 4, and the weights and their gradients are not.
# The FLOPs stay the same. These counts do not show the price: there are more operations, and smaller ones, which may
# leave most of a GPU idle (lesson 18).

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("21_twice_to_keep_less")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `checkpoint(f, x)` | `checkpoint(f, x, use_reentrant=False)` | `tf.recompute_grad(f)(x)` | `jax.checkpoint(f)(x)` |
# | `checkpoint_sequential(layers, k, x)` | the same | by hand | `jax.checkpoint` in a `scan` |
# | `keep_products` | `create_selective_checkpoint_contexts` | none | `checkpoint_policies` |
# | `(loss / k).backward()` | the same | add gradients by hand | `optax.MultiSteps(opt, k)` |
# | `BatchNorm1d` | the same | `BatchNormalization` | `flax.linen.BatchNorm` |
#
# minigrad's and PyTorch's first two are in `utils.checkpoint`, and JAX's policies in `jax.checkpoint_policies`. Across
# several GPUs, `SyncBatchNorm` takes mean and variance over all of their rows; across micro-batches nothing does.
#
# ### The same in PyTorch
#
# Sixteen layers keep sixteen arrays. With a checkpoint over the first eight, nine are kept after forward, and the
# gradient has the same bits.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def checkpoint_in_pytorch(torch):
    """
    arrays saved: 16
    arrays saved: 9
    the same bits: True
    """
    from torch.utils.checkpoint import checkpoint

    layers = [torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh()) for _ in range(16)]
    front, back = torch.nn.Sequential(*layers[:8]), torch.nn.Sequential(*layers[8:])
    x, saved, gradients = torch.randn(1024, 32), [], []
    for run in (front, lambda x: checkpoint(front, x, use_reentrant=False)):
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
            y = back(run(x))
        places = {t.data_ptr() for t in saved if t.shape == x.shape} - {x.data_ptr()}
        print("arrays saved:", len(places))
        gradients += torch.autograd.grad(y.sum(), layers[0][0].weight)
    print("the same bits:", torch.equal(*gradients))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A checkpoint keeps its operand, and runs again in backward. The gradients are the same, if the part does the same
#   thing both times.
# - $k$ parts keep $k − 1 + n/k$ arrays; with $\sqrt{n}$ parts that is about $2\sqrt{n}$ instead of $n$.
# - It costs up to one forward pass more, a third of a step. You save memory, and pay in compute.
# - Micro-batches save memory, and cost no FLOPs. A loss that is a mean is weighted by its share of the rows.
# - Where rows look at each other, as in batch normalisation, micro-batches compute another function.
#
# **Sources.** T. Chen and others, *Training deep nets with sublinear memory cost*, arXiv:1604.06174 (2016), section 4:
# the square root, and parts in parts. S. Ioffe, C. Szegedy, *Batch normalization*, arXiv:1502.03167 (2015), algorithm
# 1: the statistics of a batch. Y. Huang and others, *GPipe*, arXiv:1811.06965 (2018), section 2: micro-batches with
# recomputing. V. Korthikanti and others, *Reducing activation recomputation in large transformer models*,
# arXiv:2205.05198 (2022), section 5: what to compute again, and what not.
#
# **Exercise.** [21 Half the memory](../exercises/21_twice_to_keep_less.ipynb): place segments on paper, and add up
# micro-batches.
#
# **Next:** [22 Many workers, one gradient](22_many_workers_one_gradient.ipynb). Before that, change something here: cut
# the 64 layers into 7 parts and into 9. What does the formula say, and what does the ledger?
