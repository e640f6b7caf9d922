# ---
# jupyter:
#   minigrad:
#     title: Sixteen bits
#     minutes: 40
#     objectives:
#       - say of float32, float16 and bfloat16 how far each reaches, and how many digits it has
#       - find out which gradients of a network are lost in sixteen bits, and save them with a scale
#       - say what autocast computes in sixteen bits, and what it leaves in thirty-two
#       - say why the weights stay in float32, and count what sixteen bits save then
#     concepts: [E9, E11]
#     builds_on: [16_where_the_bytes_go]
#     widgets: [Precision, Predict, Quiz]
#     terms:
#       exponent: the bits of a number that say between which two powers of two it lies
#       mantissa: the bits of a number that say where it lies between two powers of two
#       underflow: a result so small that it becomes 0
#       overflow: a result so large that it becomes infinite
#       subnormal: below the smallest number with all its digits, and not yet 0
#       mixed precision: training with products in sixteen bits, and weights and sums in thirty-two
#       master weights: the weights in float32 that an optimiser moves, while products read a rounded copy
#       loss scaling: taking the gradient of the loss times a large number, and dividing by it before the step
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 20 Sixteen bits
#
# A number in float32 has 32 bits. With 16 there is room for twice as many, half of the bytes are moved, and GPUs have
# units that multiply them many times as fast. The price, one hears, is a digit or two. Here is a network that learns in
# float32. In float16 it does not learn at all: its first layer gets 2,048 gradients, and each of them is exactly 0.
# **Where did the gradients go?**
#
# **About 40 minutes.** Afterwards you can
#
# - say of float32, float16 and bfloat16 how far each reaches, and how many digits it has;
# - find out which gradients of a network are lost in sixteen bits, and save them with a scale;
# - say what autocast computes in sixteen bits, and what it leaves in thirty-two;
# - say why the weights stay in float32, and count what sixteen bits save then.
#
# **Builds on** [16 Where the bytes go](16_where_the_bytes_go.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask what one loses with half of the bits. "Half of the digits" will be the answer; keep it on the board,
# and come back to it after the fourth page.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.profiler import estimate
from minigrad.widgets import Precision

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
np.seterr(over="ignore", invalid="ignore")  # overflow is what this lesson is about
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two parts of a number
#
# A number is stored as $±1.\text{something} · 2^k$. The bits of $k$ are its **exponent**, those of the something its
# **mantissa**; one bit is the sign. More exponent is more *range*, more mantissa more *digits*. There are two ways to
# spend sixteen bits. float16 gives 5 to the exponent and 10 to the mantissa, bfloat16 8 and 7. What is the largest
# number of float16?

# %%
Predict("largest", "The largest number of float16:", tolerance=100)

# %%
formats = {"float64": mg.float64, "float32": mg.float32, "bfloat16": mg.bfloat16, "float16": mg.float16}
for name, dtype in formats.items():
    f = mg.finfo(dtype)
    bits = f"{f.bits // 8} bytes, 1 + {f.nexp:2} + {f.nmant:2} bits"
    ends = f"largest {float(f.max):.3g}, smallest {float(f.smallest_normal):.3g}"
    print(f"{name:8} {bits}: {ends}, 1 + {float(f.eps):.3g} is the next after 1")
reveal("largest", float(mg.finfo(mg.float16).max))

# %% [markdown]
# 65,504, which is $(2 - 2^{-10}) · 2^{15}$. (The engine's own default is float64, NumPy's; frameworks train in float32,
# and this lesson says `.float()`.) bfloat16 is float32 with the last sixteen bits cut off: the same range, and 8
# binary digits, the leading one among them, instead of 24. float16 has 11 digits, and a far smaller range.

# %%
fig, ax = plt.subplots(figsize=(8, 2.2), layout="constrained")
for y, (name, color) in enumerate({"float16": VERMILION, "bfloat16": BLUE, "float32": GREEN}.items()):
    f = mg.finfo(formats[name])
    least, normal, end = (np.log2(float(each)) for each in (f.smallest_subnormal, f.smallest_normal, f.max))
    ax.barh(y, end - normal, left=normal, color=color)
    ax.barh(y, normal - least, left=least, color="none", edgecolor=color, hatch="///")
    ax.text(end + 3, y, f"{f.nmant + 1} digits", va="center")
ax.set(yticks=range(3), yticklabels=["float16", "bfloat16", "float32"], xlim=(-155, 165), xlabel="power of two")
plt.show()

# %% [markdown]
# *The plot: which powers of two each format reaches. The bars of bfloat16 and float32 go from −126 to 128, that of
# float16 from −14 to 16. A hatched tail goes on to the left of each, to −24 for float16: numbers there are
# **subnormal**, they lose a digit with each step to the left, until nothing is left.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The exponent's 5 bits are 32 values, two of which mean something else: 0 and the subnormals, infinity
# and "not a number". Ask which of the two one would use for pictures (float16), and which for gradients.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Beyond the ends
#
# What is below the smallest number becomes 0, an **underflow**; what is above the largest becomes infinite, an
# **overflow**. Seven numbers are rounded to each format below. How many of the seven become 0 or infinite in float16?

# %%
Predict("lost", "How many of the seven are 0 or infinite in float16?")

# %%
seven = [1e-30, 1e-8, 1e-5, 0.1, 2049.0, 70_000.0, 1e30]
rounded = {name: [mg.tensor(v, dtype=dtype).item() for v in seven] for name, dtype in formats.items()}
for i, value in enumerate(seven):
    print(f"{value:8g}:", "  ".join(f"{name} {rounded[name][i]:<12.6g}" for name in ("float32", "bfloat16", "float16")))
reveal("lost", sum(v == 0 or np.isinf(v) for v in rounded["float16"]))

# %% [markdown]
# Four, and none in bfloat16. What bfloat16 has fewer of is digits: 0.1 is 0.100098, and 70,000 is 70,144. (2,049 is
# 2,048 in both: from there on float16 has the even numbers alone, and bfloat16 every sixteenth.) An error in the third
# digit is noise, and training is full of noise. A 0 is not noise: whatever it is multiplied by, it stays 0. So float16
# loses *range*, and that is worse than digits.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where did the gradients go?
#
# Eight linear layers with sigmoids in between, for the digits. The slope of a sigmoid is a quarter at most, so that the
# gradient gets smaller with every layer on the way back. In a `with mg.autocast` block products are computed in sixteen
# bits, and so are their gradients; what it does with the rest comes below. In float16, as we said at the beginning, all
# gradients of the first layer are 0. bfloat16 has three binary digits *fewer*. How many are 0 there?

# %%
digits = mg.data.digits()
x, label = mg.tensor(digits.train_x[:64], dtype=mg.float32), mg.tensor(digits.train_y[:64])


def network():
    mg.manual_seed(0)
    sizes = [64, *[32] * 7, 10]
    layers = [part for n, m in zip(sizes, sizes[1:]) for part in (mg.nn.Linear(n, m), mg.nn.Sigmoid())]
    return mg.nn.Sequential(*layers[:-1]).float()


def matrices(net):
    return [part.weight for part in net if isinstance(part, mg.nn.Linear)]


Predict("first layer", "In bfloat16, 0 are …", options=["all", "about half", "as many as in float32"])


# %%
def gradients(net, dtype=None, scale=1):
    """Of each layer's weights, of the loss times a scale; products in sixteen bits if a dtype is given."""
    net.zero_grad()
    with mg.autocast(dtype=dtype, enabled=dtype is not None):
        loss = mg.cross_entropy(net(x), label)
    (loss * scale).backward()
    return [w.grad.numpy() for w in matrices(net)]


net = network()
zeros = {}
for name, dtype in (("float32", None), ("bfloat16", mg.bfloat16), ("float16", mg.float16)):
    found = gradients(net, dtype)
    zeros[name] = int((found[0] == 0).sum())
    print(f"{name:8} zeros in each layer:", " ".join(f"{(g == 0).mean():5.0%}" for g in found))
powers = (f"2^{np.log2(np.abs(g).max()):.0f}" for g in gradients(net))
print("largest in float32:          ", " ".join(f"{power:>5}" for power in powers))
same, every = zeros["bfloat16"] == zeros["float32"], zeros["bfloat16"] == found[0].size
reveal("first layer", "as many as in float32" if same else "all" if every else "about half")

# %% [markdown]
# bfloat16 has lost none: the 16 % belong to pixels at the edge, which are blank in all of these pictures, and there
# nothing can be learned in any format. float16 has lost all of the first layer, and half of the second. The last line
# says how large the largest gradient of each layer is: with each layer on the way back it is some six times smaller. In
# the first it is near $2^{-23}$, where float16 has two digits left, and what it is computed from was rounded to 0 on
# the way.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. A sceptic says: gradients that small do not matter. With plain SGD that is true; Adam divides each
# gradient by its usual size, and moves a weight just as far for a small one. The training below is with Adam.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Loss scaling
#
# The gradient of $s · \text{loss}$ is $s$ times the gradient. So multiply the loss by a large $s$, a power of two,
# which costs no digit; all gradients on the way are $s$ times as large; and divide by $s$ in float32, before the step.
# This is **loss scaling**. Can $s$ be too large? Which of these is the smallest at which a gradient overflows?

# %%
Predict("too large", "Overflow begins at", options=["2^8", "2^12", "2^16", "2^20", "2^24"])

# %%
overflows = []
for k in (0, 8, 12, 16, 20, 24):
    found = gradients(net, mg.float16, 2.0**k)
    finite = all(np.isfinite(p.grad.numpy()).all() for p in net.parameters())
    overflows += [] if finite else [k]
    print(f"scale 2^{k:<2}:", f"{(found[0] == 0).mean():4.0%} zeros in the first layer" if finite else "overflow")
reveal("too large", f"2^{overflows[0]}")

# %% [markdown]
# There is a window between losing the small and losing the large, and it is wide: $2^{12}$ will do, and $2^{16}$ too.
# It moves during training, because gradients grow and shrink. Nobody wants to look for it by hand.

# %% [markdown] slideshow={"slide_type": "subslide"}
# The widget takes the gradients of float32, and shows what is left of them in sixteen bits if the loss is multiplied by
# a power of two first. Step through it: with which scales are the fewest lost? (It casts finished gradients. On the way
# back each gradient in between is cast as well: so more are lost than the widget shows.)

# %%
Precision(net, mg.cross_entropy, x, label)

# %% [markdown]
# *The picture: a heap of gradients over their size, which a larger scale moves to the right. As it is, a fifth of the
# heap is 0 in float16, and half is subnormal. With 2¹⁶ nearly all of it has all its digits; with 2²⁴ its right end is
# infinite. bfloat16 holds all of it without a scale.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A scaler that looks for itself
#
# `mg.amp.GradScaler` begins with a scale that is too large rather than too small. If a gradient is not finite, it
# *skips the step*, and halves the scale. After a number of steps in a row without that, it doubles the scale: 2,000
# steps in practice, 3 here. It begins at $2^{24}$, and there are 12 steps. How many of them does it skip?

# %%
Predict("skipped", "How many of 12 steps are skipped?")


# %%
def step(net, optimizer, scaler, dtype=mg.float16, rows=slice(64)):
    pictures, labels = mg.tensor(digits.train_x[rows], dtype=mg.float32), mg.tensor(digits.train_y[rows])
    optimizer.zero_grad()
    with mg.autocast(dtype=dtype, enabled=dtype is not None):
        loss = mg.cross_entropy(net(pictures), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


net = network()
adam = mg.optim.Adam(net.parameters(), 0.01)
scaler = mg.amp.GradScaler(init_scale=2.0**24, growth_interval=3)
skipped = 0
for i in range(12):
    scale, before = scaler.get_scale(), net[0].weight.numpy().copy()
    step(net, adam, scaler)
    taken = (net[0].weight.numpy() != before).any()
    skipped += not taken
    print(f"step {i:2}: scale 2^{np.log2(scale):.0f}", "" if taken else "skipped")
reveal("skipped", skipped)

# %% [markdown]
# Six: five on the way down, and one after the scale had doubled twice. A skipped step is not an error: the scaler asks
# "may it be larger?" now and then, and pays one batch for the answer. With an interval of 2,000 that is one in two
# thousand.

# %% [markdown] slideshow={"slide_type": "subslide"}
# Now the whole training, four times: in float32; in float16; in float16 with a scaler; in bfloat16. Guess: how many of
# the four learn anything in 300 steps? (At ln 10 = 2.30 the network knows nothing: it gives each digit a probability of
# a tenth.)

# %%
Predict("learn", "How many of the four get below a loss of 2?")

# %%
ways = {
    "float32": (None, False),
    "float16": (mg.float16, False),
    "float16, scaled": (mg.float16, True),
    "bfloat16": (mg.bfloat16, False),
}
losses = {}
for way, (dtype, scales) in ways.items():
    net = network()
    adam, scaler = mg.optim.Adam(net.parameters(), 0.01), mg.amp.GradScaler(enabled=scales)
    losses[way] = []
    for i in range(300):
        rows = slice(64 * i % 1344, 64 * i % 1344 + 64)
        losses[way].append(step(net, adam, scaler, dtype, rows))
learned = [way for way, values in losses.items() if np.mean(values[-20:]) < 2]
print("below 2:", ", ".join(learned))
reveal("learn", len(learned))

# %%
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for (way, values), color, style in zip(losses.items(), (GREEN, VERMILION, VERMILION, BLUE), ("-", ":", "-", "--")):
    ax.plot(np.convolve(values, np.ones(21) / 21, "valid"), style, color=color, label=way)
ax.set(xlabel="step", ylabel="loss, mean of 21 steps")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plot: four losses over 300 steps. Three begin at 2.3 and fall below 2. That of float16 alone stays at 2.3 to the
# end.*
#
# Nothing failed: no error, no infinity, a loss that is a number. It looks like a bad network. The same float16 with one
# factor learns; bfloat16 needs no factor.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for the scale, the scaler and the training. Ask what a skipped step looks like in a curve (nothing), and
# what Adam's averages would be after a step with an infinite gradient (infinite, or not a number, for ever).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who computes in sixteen bits
#
# Not everything should. A product of matrices is the bulk of the work, and its sums are kept in float32 inside. But an
# $e^x$ overflows above $x = 11$ in float16, and a sum of many small numbers stops growing. `mg.autocast` decides for
# each operation. Here are six, on the result of a product. How many of the six come out in float16?

# %%
Predict("autocast", "How many of the six come out in float16?")

# %%
a = mg.ones(4, 4, dtype=mg.float32)
with mg.autocast(dtype=mg.float16):
    h = a @ a
    six = {
        "a @ a": h,
        "h.relu()": h.relu(),
        "h + h": h + h,
        "h + a": h + a,
        "h.softmax(-1)": h.softmax(-1),
        "h.sum()": h.sum(),
    }
for said, result in six.items():
    print(f"{said:14} {result.dtype}")
reveal("autocast", sum(result.dtype == mg.float16 for result in six.values()))

# %% [markdown]
# Three. There are three lists, and they are those of PyTorch on GPUs. Products: in sixteen bits. Exponentials, powers,
# sums, norms and losses: in float32. All others: in the format that their operands have, and in float32 if these
# differ. `a` itself is float32 before and after; it is results that are in sixteen bits. A cast is an operation like
# any other: the graph shows it, and its derivative casts back.

# %%
w = mg.ones(4, 4, dtype=mg.float32, requires_grad=True)
with mg.autocast(dtype=mg.float16):
    y = (a @ w).relu().sum()
mg.draw(y)

# %% [markdown]
# So the gradient arrives at `w` in float32. This is **mixed precision**, and it is what people nearly always mean by
# "trained in float16".

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Let them find the two casts in the picture. Then: why must relu not be on the float32 list? It loses
# nothing, and would cost two casts.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A step that is no step
#
# Why not put the weights in sixteen bits as well? A weight of 1 takes 1,000 steps of 0.0001 downwards. Where does it
# arrive, in bfloat16?

# %%
Predict("weight", "After 1,000 steps of 0.0001 from 1 downwards, in bfloat16:", tolerance=0.004)

# %%
ends = {}
for name in ("float32", "bfloat16", "float16"):
    weight = mg.tensor(1.0, dtype=formats[name])
    for _ in range(1000):
        weight = weight - 1e-4
    ends[name] = weight.item()
    print(f"{name:8} {ends[name]:.4f}")
reveal("weight", ends["bfloat16"])

# %% [markdown]
# Below 1 the numbers of bfloat16 are 1/256 apart, those of float16 1/2048. A step of less than half of that is rounded
# away, a thousand times. Here it *is* digits that are missing. And no factor helps: the step is not too small for the
# format, it is too small *beside the weight*.
#
# Hence **master weights**: the optimiser moves weights in float32, and each product reads a rounded copy. Under
# autocast the model's own parameters are the master weights. How many weights move in one step, with and without?

# %%
Predict("moved", "All in float16, how many of the weights that have a gradient move?", options=["all", "half", "few"])

# %%
moved = {}
for way in ("master weights", "all in float16"):
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 256), mg.nn.ReLU(), mg.nn.Linear(256, 10)).float()
    if way == "all in float16":
        net = net.half()
    before = [p.numpy().copy() for p in net.parameters()]
    with mg.autocast(dtype=mg.float16):
        loss = mg.cross_entropy(net(x), label)
    loss.backward()
    mg.optim.SGD(net.parameters(), lr=0.001).step()
    changed = sum((p.numpy() != old).sum() for p, old in zip(net.parameters(), before))
    moved[way] = 100 * changed / sum((p.grad.numpy() != 0).sum() for p in net.parameters())
    print(f"{way}: {moved[way]:.0f} % of the weights that have a gradient moved")
reveal("moved", ["few", "half", "all"][np.digitize(moved["all in float16"], [25, 75])])

# %% [markdown]
# Nine of ten stand still, and the loss gives no sign of it. With master weights all of them move, if only in digits
# that the rounded copies do not show yet.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The first problem was range, and a factor cures it. The second is digits, and only more digits cure it.
# Ask which of the two bfloat16 has: the second alone, and worse.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Does float16 halve the memory?
#
# Half of the bytes for each number, so half of the memory. Count instead: weight, gradient, and Adam's two averages,
# for each parameter. In float32 that is 4 + 4 + 4 + 4 = 16 bytes. How many are there in mixed precision?

# %%
Predict("bytes", "Bytes for each parameter, mixed precision with Adam:", unit="bytes")

# %%
net = mg.nn.Sequential(mg.nn.Linear(64, 256), mg.nn.ReLU(), mg.nn.Linear(256, 10)).float()
in_float32 = estimate(net, mg.zeros(1, 64, dtype=mg.float32)).bytes_per_parameter
in_float16 = estimate(net.half(), mg.zeros(1, 64, dtype=mg.float16)).bytes_per_parameter
print(f"float32              {in_float32['Adam']:2.0f}")
print(f"mixed precision      {in_float32['Adam, mixed precision']:2.0f}")
print(f"all in float16       {in_float16['Adam']:2.0f}, and its weights hardly move")
reveal("bytes", in_float32["Adam, mixed precision"])

# %% [markdown]
# Sixteen again. A model in float16 with a master copy has 2 + 2 for weight and gradient, and 4 + 4 + 4 for the copy and
# the averages. Under autocast it is 4 + 4 + 8, and for a while 2 more for each rounded copy. What *is* halved is most
# of what is saved for backward. So the whole depends on the batch, as with Adam in lesson 16. Ask the ledger.


# %%
def peak(batch, dtype):
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 256), mg.nn.ReLU(), mg.nn.Linear(256, 256), mg.nn.ReLU()).float()
    adam = mg.optim.Adam(net.parameters())
    given = mg.ones(batch, 64, dtype=mg.float32)
    for _ in range(2):  # the first step is different: it creates Adam's averages
        with mg.profiler.memory(net, adam, [given], exact=False) as ledger:
            adam.zero_grad()
            with mg.autocast(dtype=dtype, enabled=dtype is not None):
                loss = net(given).mean()
            loss.backward()
            adam.step()
    return ledger.peak.total


Predict("small batch", "With a batch of 16 mixed precision has a peak …", options=["half as high", "lower", "higher"])

# %%
batches = [16, 64, 256, 1024, 4096]
parts = []
for batch in batches:
    full, mixed = peak(batch, None), peak(batch, mg.float16)
    parts.append(100 * mixed / full)
    print(f"batch {batch:4}: {full:10,} bytes in float32, {mixed:10,} mixed: {parts[-1]:3.0f} %")
reveal("small batch", "half as high" if parts[0] < 55 else "lower" if parts[0] < 100 else "higher")

# %% [markdown]
# With a small batch it is *more* than in float32, because of the rounded copies and their gradients; with a large one
# it comes down towards a half. "float16 halves the memory" is true of activations, and of a network that only answers
# and does not learn.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. This is the sum that ZeRO begins with: 16 bytes for each parameter, 12 of which are float32 for the
# optimiser alone. A model of 7 billion parameters takes 112 GB before the first activation.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Gradients are often clipped: if all of them together, as one vector, are longer than 0.1, they
# are scaled down to a length of 0.1. Somebody writes `clip_grad_norm_` between `backward` and `scaler.step`, where it
# always was. How long is the gradient with which the optimiser steps?

# %%
Predict("clipped", "The length with which the optimiser steps is", options=["0.1", "far less", "far more"])


# %%
def length(net):
    return float(np.sqrt(sum((p.grad.numpy().astype(float) ** 2).sum() for p in net.parameters())))


lengths = {}
for unscales in (False, True):
    net = network()
    sgd, scaler = mg.optim.SGD(net.parameters(), lr=0.1), mg.amp.GradScaler(init_scale=2.0**16)
    with mg.autocast(dtype=mg.float16):
        loss = mg.cross_entropy(net(x), label)
    scaler.scale(loss).backward()
    if unscales:
        scaler.unscale_(sgd)
    mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    scaler.step(sgd)
    lengths[unscales] = length(net)
    print("unscaled first:" if unscales else "clipped as it is:", f"{lengths[unscales]:.3g}")
reveal("clipped", "far less" if lengths[False] < 0.05 else "0.1" if lengths[False] < 0.2 else "far more")

# %% [markdown]
# The gradients were clipped while they were still 65,536 times too long, and divided afterwards. The network learns
# next to nothing, and again no error says so. To look at gradients, to clip or to print them, call `scaler.unscale_`
# first; `step` notices, and does not divide twice.

# %% [markdown] slideshow={"slide_type": "notes"}
# Three minutes. Another place: a mask of −10⁹ in an attention is −∞ in float16, and a row that is masked altogether
# becomes "not a number". Take the most negative number of the format instead, finfo(dtype).min.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("20_sixteen_bits")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.autocast(dtype=mg.float16)` | `torch.autocast("cuda", torch.float16)` | `"mixed_float16"` | casts; `jmp` |
# | `mg.amp.GradScaler()` | `torch.amp.GradScaler("cuda")` | `LossScaleOptimizer` | `jmp.DynamicLossScale` |
# | `scaler.unscale_(optimizer)` | the same | done in `apply` | `loss_scale.unscale(grads)` |
# | `mg.finfo(mg.float16)` | `torch.finfo(torch.float16)` | `tf.float16.max` | `jnp.finfo(jnp.float16)` |
# | `net.half()` | `net.half()` | `"float16"` | `tree.map` with `astype` |
#
# The two policies are Keras's: `keras.mixed_precision.set_global_policy("mixed_float16")`, and the variables stay in
# float32. `jmp` is a library of DeepMind's. TPUs multiply in bfloat16, and there nobody needs a scale.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - float16 has 11 binary digits and ends at $2^{-24}$ and 65,504; bfloat16 has 8, and the range of float32.
# - A gradient that underflows is 0, and no error says so. A factor on the loss saves it.
# - A scaler looks for the factor: it skips a step when one overflows, halves, and doubles now and then.
# - Autocast computes products in sixteen bits, and sums, exponentials and losses in float32.
# - The weights stay in float32, because a step must not be rounded away beside its weight; so it is still 16 bytes a
#   parameter, and what is halved is activations.
#
# **Sources.** P. Micikevicius and others, *Mixed precision training*, arXiv:1710.03740 (2017), section 3.1: master
# weights, section 3.2: loss scaling, section 3.3: which sums in float32. D. Kalamkar and others, *A study of BFLOAT16
# for deep learning training*, arXiv:1905.12322 (2019), section 2. S. Rajbhandari and others, *ZeRO*, arXiv:1910.02054
# (2019), section 3.1: the sixteen bytes. IEEE 754-2019, section 3.6: the formats, but for bfloat16.
#
# **Exercise.** [20 Lost and found](../exercises/20_sixteen_bits.ipynb): the ends of a format, what is lost in it, a
# weight that stands still, a scaler by hand, and a training step of your own.
#
# **Next:** [21 Twice, to keep less](21_twice_to_keep_less.ipynb). Before that, change something here: in `network`, let
# relus take the place of the sigmoids. How many gradients of the first layer are then 0 in float16, and is a scale
# still needed? Write it down before you run it.
