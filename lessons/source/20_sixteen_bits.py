# ---
# jupyter:
#   minigrad:
#     title: Sixteen bits
#     minutes: 30
#     objectives:
#       - say of float32, float16 and bfloat16 how far each reaches, and how many digits it has
#       - find out which gradients of a network are lost in sixteen bits, and save them with a scale
#       - say why the weights stay in float32
#       - say what autocast computes in sixteen bits, and what it leaves in thirty-two (an optional section)
#       - count what sixteen bits save (an optional section)
#     concepts: [E9, E11]
#     builds_on: [16_where_the_bytes_go]
#     widgets: [Precision, Predict, Quiz]
#     terms:
#       exponent: the bits of a number that say between which two powers of two it lies
#       mantissa: the bits of a number that say where it lies between two powers of two
#       underflow: a result so small that it becomes 0
#       overflow: a result so large that it becomes infinite
#       subnormal: below the smallest number that has all its digits, and not yet 0
#       mixed precision: training with products in sixteen bits, and weights and sums in thirty-two
#       master weights: the weights in float32 that an optimiser moves, while products read a rounded copy
#       loss scaling: taking the gradient of the loss times a large number, and dividing by that number before the step
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 20 Sixteen bits
#
# A number in float32 has 32 bits. Give it 16, and twice as many numbers fit into memory, each takes half the time to
# move, and a GPU multiplies them many times as fast. The price, people say, is a digit or two.
#
# Here is a network that learns to read digits in float32. In float16 it does not learn at all. There is no error
# message. Its first layer gets 2,048 gradients, and every one of them is exactly 0. **Where did the gradients go?**
#
# **About 30 minutes.** Afterwards you can
#
# - say of float32, float16 and bfloat16 how far each reaches, and how many digits it has;
# - find out which gradients of a network are lost in sixteen bits, and save them with a scale;
# - say why the weights stay in float32.
#
# Folded, optional sections show how a scaler finds its scale, what autocast does, what is saved, and a trap.
#
# **Builds on** [16 Where the bytes go](16_where_the_bytes_go.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask what a number loses with half of its bits. The answer will be "half of the digits". Leave it on the
# board, and come back to it after the fourth page.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal, reveal_range
from minigrad.widgets import Precision

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
np.seterr(over="ignore", invalid="ignore")  # overflow is what this lesson is about
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two parts of a number
#
# A number is stored as $±1.\text{something} · 2^k$. One bit holds the plus or minus. The bits of $k$ are the
# **exponent**, and those of the something are the **mantissa**. More exponent gives more *range*, more mantissa gives
# more *digits*. There are two ways to spend sixteen bits:
#
# | | exponent | mantissa | largest $k$ |
# |---|---|---|---|
# | float16 | 5 bits | 10 bits | 15 |
# | bfloat16 | 8 bits | 7 bits | 127 |
#
# The largest number of float16 has all ten bits of its mantissa set, and the largest $k$. Which number is it, exactly?

# %%
Predict("largest", "The largest number of float16:", tolerance=10)

# %%
formats = {"float64": mg.float64, "float32": mg.float32, "bfloat16": mg.bfloat16, "float16": mg.float16}
reveal("largest", float(mg.finfo(mg.float16).max))

# %%
for name, dtype in formats.items():
    f = mg.finfo(dtype)
    print(f"{name:8} 1 + {f.nexp:2} + {f.nmant:2} bits: largest {float(f.max):.3g}, after 1: 1 + {float(f.eps):.3g}")

# %% [markdown]
# 65,504. Ten bits of 1 after the point are just short of 2: the number is $(2 - 2^{-10}) · 2^{15}$, and not $2^{16} =
# 65{,}536$.

# %% [markdown]
# bfloat16 is float32 with the last sixteen bits cut off. It keeps the range of float32, and 8 of its 24 binary digits,
# counting the leading 1. float16 has 11 digits and a far smaller range. (Frameworks train in float32, minigrad by
# default in float64. This lesson asks for float32 with `.float()`.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The 5 bits of the exponent are 32 values. Two of them mean something else: 0 and the subnormals,
# infinity and NaN. Ask which of the two formats suits pictures (float16), and which suits gradients.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: three formats in a picture
#
# You can follow the lesson without what is folded here: which powers of two each format reaches.

# %% slideshow={"slide_type": "skip"}
fig, ax = plt.subplots(figsize=(8, 2.2), layout="constrained")
for y, (name, color) in enumerate({"float16": VERMILION, "bfloat16": BLUE, "float32": GREEN}.items()):
    f = mg.finfo(formats[name])
    least, normal, end = (np.log2(float(number)) for number in (f.smallest_subnormal, f.smallest_normal, f.max))
    ax.barh(y, end - normal, left=normal, color=color)
    ax.barh(y, normal - least, left=least, color="none", edgecolor=color, hatch="///")
    ax.text(end + 3, y, f"{f.nmant + 1} digits", va="center")
ax.set(yticks=range(3), yticklabels=["float16", "bfloat16", "float32"], xlim=(-155, 165), xlabel="power of two")
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: which powers of two each format reaches. The bars of bfloat16 and float32 go from −126 to 128, that of
# float16 from −14 to 16. Each bar has a hatched tail to the left, the subnormal numbers. It ends at −24 for float16.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Beyond the ends
#
# A result above the largest number becomes infinite: an **overflow**. At the other end float16 has all its digits down
# to $2^{-14}$, about 0.00006. Below that a number is **subnormal**: it loses a digit with each factor of two. The
# smallest is $2^{-24}$, about $6 · 10^{-8}$, and what is much smaller becomes 0: an **underflow**.
#
# The next cell rounds seven numbers to each format: $10^{-30}$, $10^{-8}$, $10^{-5}$, 0.1, 2,049, 70,000 and $10^{30}$.
# How many of the seven become 0 or infinite in float16?

# %%
Predict("lost", "How many of the seven are 0 or infinite in float16?")

# %%
seven = [1e-30, 1e-8, 1e-5, 0.1, 2049.0, 70_000.0, 1e30]
rounded = {name: [mg.tensor(v, dtype=dtype).item() for v in seven] for name, dtype in formats.items()}
reveal("lost", sum(v == 0 or np.isinf(v) for v in rounded["float16"]))

# %%
for i, value in enumerate(seven):
    print(f"{value:8g}:", "  ".join(f"{name} {rounded[name][i]:<12.6g}" for name in ("float32", "bfloat16", "float16")))

# %% [markdown]
# Four in float16, and none in bfloat16. bfloat16 has fewer digits instead: 0.1 becomes 0.100098, and 70,000 becomes
# 70,144. (2,049 becomes 2,048 in both. From 2,048 on, float16 has only the even numbers, and bfloat16 only every
# sixteenth.)
#
# An error in the third digit is noise, and training is full of noise. A 0 is not noise: whatever you multiply it by,
# it stays 0. That is why losing range is worse than losing digits.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where did the gradients go?
#
# Here is the network from the beginning: eight linear layers with sigmoids in between. The slope of a sigmoid is at
# most a quarter, so the gradient shrinks with every layer on the way back. Inside a `with mg.autocast` block, products
# and their gradients are computed in sixteen bits. Sums, losses and the weights themselves stay in float32. This way of
# training is called **mixed precision**.
#
# In float16 all gradients of the first layer are 0. bfloat16 has three binary digits *fewer*. How many of them are 0
# there?

# %%
digits = mg.data.digits()
x, label = mg.tensor(digits.train_x[:64], dtype=mg.float32), mg.tensor(digits.train_y[:64])


def network():
    mg.manual_seed(0)
    sizes = [64, *[32] * 7, 10]
    layers = [part for n, m in zip(sizes, sizes[1:]) for part in (mg.nn.Linear(n, m), mg.nn.Sigmoid())]
    return mg.nn.Sequential(*layers[:-1]).float()


Predict("first layer", "In bfloat16, 0 are …", options=["as many as in float32", "about half", "all"])


# %%
def gradients(net, dtype=None, scale=1):
    """The gradients of each layer's weights, with the loss times a scale; products in this dtype, if there is one."""
    net.zero_grad()
    with mg.autocast(dtype=dtype, enabled=dtype is not None):
        loss = mg.cross_entropy(net(x), label)
    (loss * scale).backward()
    return [part.weight.grad.numpy().copy() for part in net if isinstance(part, mg.nn.Linear)]


net = network()
by_format = {"float32": gradients(net), "bfloat16": gradients(net, mg.bfloat16), "float16": gradients(net, mg.float16)}
zeros = {name: [(g == 0).mean() for g in by_layer] for name, by_layer in by_format.items()}
reveal_range("first layer", zeros["bfloat16"][0] - zeros["float32"][0], 0.01, 0.8)

# %%
for name, shares in zeros.items():
    print(f"{name:8} zeros in each layer:", " ".join(f"{share:5.0%}" for share in shares))
powers = (f"2^{np.log2(abs(g).max()):.0f}" for g in by_format["float32"])
print("largest in float32:          ", " ".join(f"{power:>5}" for power in powers))

# %% [markdown]
# bfloat16 has lost none. The 16 % belong to pixels at the edge, which are blank in all of these pictures; nothing can
# be learned there in any format. float16 has lost the whole first layer and half of the second.
#
# The last line solves the case. It shows the largest gradient of each layer: with each layer on the way back it is
# about six times smaller. In the first layer it is near $2^{-23}$. There float16 has two digits left, and the numbers
# from which that gradient is computed had been rounded to 0 before.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. A sceptic says that gradients this small do not matter. With plain SGD that is true. Adam divides each
# gradient by its usual size, and moves a weight just as far for a small gradient. The training below uses Adam.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Loss scaling
#
# The gradient of $s · \text{loss}$ is $s$ times the gradient of the loss. So multiply the loss by a large $s$, and all
# gradients on the way back are $s$ times as large. Before the step, divide them by $s$ in float32. If $s$ is a power of
# two, this costs no digit. The trick is called **loss scaling**. Can $s$ be too large? Try six of them:

# %%
for k in (0, 8, 12, 16, 20, 24):
    by_layer = gradients(net, mg.float16, 2.0**k)
    finite = all(np.isfinite(p.grad.numpy()).all() for p in net.parameters())
    print(f"scale 2^{k:<2}:", f"{(by_layer[0] == 0).mean():4.0%} zeros in the first layer" if finite else "overflow")

# %% [markdown]
# Between losing the small gradients and losing the large ones there is a window, and it is wide: $2^{12}$ works, and so
# does $2^{16}$. But it moves during training, because gradients grow and shrink.

# %% [markdown] slideshow={"slide_type": "subslide"}
# The widget multiplies the loss by a power of two and shows which gradients are left in sixteen bits. Step through it:
# with which scale are the fewest lost? Point at a bar, and you see the bits of one of its gradients. (The widget rounds
# gradients that were computed in float32. A real backward pass rounds those in between as well, so more are lost.)

# %%
Precision(net, mg.cross_entropy, x, label)

# %% [markdown]
# *The picture: a heap of gradients, sorted by size. A larger scale moves the heap to the right. Without a scale, a
# fifth of the heap is 0 in float16, and half of it is subnormal. With 2¹⁶ nearly all of it has all its digits. With 2²⁴
# its right end is infinite. bfloat16 holds all of it without a scale.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Does it learn?
#
# Nobody wants to look for the scale by hand. `mg.amp.GradScaler` multiplies the loss by a scale, and divides the
# gradients by it before the step. It starts with a large scale. If a gradient is not finite, it *skips the step* and
# halves the scale. After many good steps in a row it doubles the scale.


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


# %% [markdown] slideshow={"slide_type": "subslide"}
# Now the whole training, four times: in float32, in float16, in float16 with a scaler, and in bfloat16. A loss of ln 10
# = 2.30 means that the network knows nothing: it gives each digit a probability of a tenth.

# %%
ways = {"float32": (None, False), "float16": (mg.float16, False)}
ways |= {"float16 with a scaler": (mg.float16, True), "bfloat16": (mg.bfloat16, False)}
losses = {}
for way, (dtype, scales) in ways.items():
    net = network()
    adam, scaler = mg.optim.Adam(net.parameters(), 0.01), mg.amp.GradScaler(enabled=scales)
    losses[way] = []
    for i in range(300):
        rows = slice(64 * i % 1344, 64 * i % 1344 + 64)
        losses[way].append(step(net, adam, scaler, dtype, rows))
print("loss below 2:", ", ".join(way for way, values in losses.items() if np.mean(values[-20:]) < 2))
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
for (way, values), color, style in zip(losses.items(), (GREEN, VERMILION, VERMILION, BLUE), ("-", ":", "-", "--")):
    ax.plot(np.convolve(values, np.ones(21) / 21, "valid"), style, color=color, label=way)
ax.set(xlabel="step", ylabel="loss, mean of 21 steps")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %% [markdown]
# *The plot: four losses over 300 steps. Three begin at 2.3 and fall below 2. The loss of float16 without a scale stays
# at 2.3 to the end.*
#
# Nothing failed in the run of float16: no error, no infinity, a loss that is a number. It looks like a bad network. The
# same float16 with one factor learns, and bfloat16 needs no factor.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes for the scale, the scaler and the training. Ask what a skipped step looks like in a curve (nothing), and
# what Adam's averages would be after a step with an infinite gradient (infinity or NaN, for ever).

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Weights in sixteen bits
#
# **Where it breaks.** Why not put the weights in sixteen bits as well? Take a weight of 1 and move it 1,000 times by
# 0.0001, downwards. Where does it arrive in bfloat16?

# %%
Predict("weight", "After 1,000 steps of 0.0001 from 1 downwards, in bfloat16:", tolerance=0.004)

# %%
ends = {}
for name in ("float32", "bfloat16", "float16"):
    weight = mg.tensor(1.0, dtype=formats[name])
    for _ in range(1000):
        weight = weight - 1e-4
    ends[name] = weight.item()
reveal("weight", ends["bfloat16"])

# %%
for name, end in ends.items():
    print(f"{name:8} {end:.4f}")

# %% [markdown]
# It never leaves 1. Just below 1 the numbers of bfloat16 are 1/256 apart, those of float16 1/2048. A step of less than
# half of that is rounded away, a thousand times. Here the missing *digits* do the harm, and no factor helps: the step
# is not too small for the format, it is too small *compared with the weight*.

# %% [markdown]
# Hence **master weights**. The optimiser moves weights in float32, and each product reads a rounded copy. Under
# autocast the model's own parameters are the master weights.
#
# So what is saved? A parameter still takes 16 bytes: its weight, its gradient and Adam's two averages are all in
# float32. What is halved is most of what is kept for backward, and the bytes that a product moves.


# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The first problem was range, and a factor cures it. The second is digits, and only more digits cure it.
# Ask which of the two bfloat16 has: only the second, and worse.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: one step, with master weights and without
#
# You can follow the lesson without what is folded here: how many weights of a network one step moves.


# %% slideshow={"slide_type": "skip"}
def two_layers():
    mg.manual_seed(0)
    return mg.nn.Sequential(mg.nn.Linear(64, 256), mg.nn.ReLU(), mg.nn.Linear(256, 10)).float()


def share_moved(net):
    """Of the weights that have a gradient, the share that one step of SGD moves."""
    before = [p.numpy().copy() for p in net.parameters()]
    with mg.autocast(dtype=mg.float16):
        loss = mg.cross_entropy(net(x), label)
    loss.backward()
    mg.optim.SGD(net.parameters(), lr=0.001).step()
    moved = sum((p.numpy() != old).sum() for p, old in zip(net.parameters(), before))
    return moved / sum((p.grad.numpy() != 0).sum() for p in net.parameters())


print(f"master weights: {share_moved(two_layers()):.0%} of the weights that have a gradient moved")
print(f"all in float16: {share_moved(two_layers().half()):.0%} of the weights that have a gradient moved")

# %% [markdown] slideshow={"slide_type": "skip"}
# Nine of ten stand still, and again no error says so. With master weights all of them move, if only in digits that the
# rounded copies do not show yet.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the bytes of a parameter
#
# You can follow the lesson without what is folded here: what a parameter takes in mixed precision, and the peak of a
# step. Run the section above first.

# %% [markdown] slideshow={"slide_type": "skip"}
# Half the bytes for each number should mean half the memory. Let us count. For each parameter, training with Adam holds
# a weight, a gradient and two averages. In float32 that is 4 + 4 + 4 + 4 = 16 bytes. How many bytes is it in mixed
# precision, under autocast?

# %% slideshow={"slide_type": "skip"}
from minigrad.profiler import estimate

in_float32 = estimate(two_layers(), mg.zeros(1, 64, dtype=mg.float32)).bytes_per_parameter
in_float16 = estimate(two_layers().half(), mg.zeros(1, 64, dtype=mg.float16)).bytes_per_parameter
print(f"float32              {in_float32['Adam']:2.0f}")
print(f"mixed precision      {in_float32['Adam, mixed precision']:2.0f}")
print(f"all in float16       {in_float16['Adam']:2.0f}, and its weights hardly move")

# %% [markdown] slideshow={"slide_type": "skip"}
# It is sixteen again. Under autocast weight, gradient and averages are all in float32, 4 + 4 + 8, and for a while each
# rounded copy takes 2 more. (Some libraries keep the model in float16 and a master copy next to it: 2 + 2 for weight
# and gradient, 4 + 4 + 4 for the copy and the averages. That is sixteen, too.)
#
# So where are bytes saved? In most of what is kept for backward. How much that is depends on the batch, as with Adam in
# lesson 16. Ask the ledger, for batches from 16 to 4,096. With the batch of 16, how high is the peak in mixed
# precision, as a percentage of the peak in float32? Write down a guess.


# %% slideshow={"slide_type": "skip"}
def peak(batch, dtype):
    """The bytes at the peak of a training step; the first step is left out, since it creates Adam's averages."""
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 256), mg.nn.ReLU(), mg.nn.Linear(256, 256), mg.nn.ReLU()).float()
    adam = mg.optim.Adam(net.parameters())
    rows = mg.ones(batch, 64, dtype=mg.float32)
    for _ in range(2):
        with mg.profiler.memory(net, adam, [rows], exact=False) as ledger:
            adam.zero_grad()
            with mg.autocast(dtype=dtype, enabled=dtype is not None):
                loss = net(rows).mean()
            loss.backward()
            adam.step()
    return ledger.peak.total


for batch in (16, 64, 256, 1024, 4096):
    full, mixed = peak(batch, None), peak(batch, mg.float16)
    print(f"batch {batch:4}: {full:10,} bytes in float32, {mixed:10,} mixed: {100 * mixed / full:3.0f} %")

# %% [markdown] slideshow={"slide_type": "skip"}
# With a small batch it is *more* than in float32, because of the rounded copies and their gradients. With a large batch
# it comes down towards a half. "float16 halves the memory" is true of activations, and of a network that is used
# but not trained.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a scaler that looks for itself
#
# You can follow the lesson without what is folded here: twelve steps of a scaler, and the scale of each.

# %% [markdown] slideshow={"slide_type": "skip"}
# The scaler doubles its scale after several good steps in a row: after 2,000 in practice, after 3 here. It starts at
# $2^{24}$. How many of the first 12 steps does it skip? Write down a guess.

# %% slideshow={"slide_type": "skip"}
net = network()
adam = mg.optim.Adam(net.parameters(), 0.01)
scaler = mg.amp.GradScaler(init_scale=2.0**24, growth_interval=3)
for i in range(12):
    scale, before = scaler.get_scale(), net[0].weight.numpy().copy()
    step(net, adam, scaler)
    taken = (net[0].weight.numpy() != before).any()
    print(f"step {i:2}: scale 2^{np.log2(scale):.0f}", "" if taken else "skipped")

# %% [markdown] slideshow={"slide_type": "skip"}
# It skips six: five on the way down, and one after the scale had doubled twice. A skipped step is not an error. Now and
# then the scaler tries whether the scale may be larger, and pays one batch for the answer. With an interval of 2,000
# that is one batch in two thousand.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: who computes in sixteen bits
#
# You can follow the lesson without what is folded here: the lists by which autocast decides, and Tensor Cores.

# %% [markdown] slideshow={"slide_type": "skip"}
# Not every operation should be computed in sixteen bits. An $e^x$ overflows in float16 above $x = 11$, and a sum of
# many small numbers stops growing. So `mg.autocast` decides for each operation, by three lists. PyTorch has the same
# lists for GPUs:
#
# | operations | are computed in |
# |---|---|
# | products: `@`, linear layers, convolutions | sixteen bits, even if their operands are in float32 |
# | exponentials, powers, sums, norms, losses | float32 |
# | all others | the format of their operands, or float32 if the formats differ |
#
# Below, `a` is in float32, and `h` is the product `a @ a`. How many of the six results come out in float16: `a @ a`,
# `h.relu()`, `h + h`, `h + a`, `h.softmax(-1)`, `h.sum()`? Write down a number.

# %% slideshow={"slide_type": "skip"}
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
for expression, result in six.items():
    print(f"{expression:14} {result.dtype}")

# %% [markdown] slideshow={"slide_type": "skip"}
# It is three. `h + a` has operands of both formats, so it comes out in float32; a softmax is made of exponentials. `a`
# itself stays in float32: autocast changes results, and not the tensors that you have.
#
# Why do products come first? An NVIDIA GPU has special units for them, its *Tensor Cores*. A Tensor Core multiplies
# small matrices of float16 or bfloat16 and adds up the products in float32. By the data sheet of an H100 SXM, its
# Tensor Cores do about 990 · 10¹² FLOPs a second in bfloat16; its other units do 67 · 10¹² in float32. Nearly all the
# work of a network is products, and autocast lets those units do it.
#
# A cast is an operation like any other. The graph below shows two, and their derivatives cast back, so the gradient
# arrives at `w` in float32. Mixed precision is nearly always what people mean by "trained in float16".

# %% slideshow={"slide_type": "skip"}
w = mg.ones(4, 4, dtype=mg.float32, requires_grad=True)
with mg.autocast(dtype=mg.float16):
    y = (a @ w).relu().sum()
mg.draw(y)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a scaler and clipped gradients
#
# You can follow the lesson without what is folded here: a trap, in which the gradients become 65,536 times too small.

# %% [markdown] slideshow={"slide_type": "skip"}
# Gradients are often clipped: if all of them together, as one vector, are longer than 0.1, they are scaled down to a
# length of 0.1. Somebody adds a scaler with a scale of 65,536 to a training loop that worked. The
# call of `clip_grad_norm_` stays where it always was, after `backward` and before the step, which is now `scaler.step`.
# How long is the gradient with which the optimiser steps?


# %% slideshow={"slide_type": "skip"}
def length(net):
    """The length of all gradients together, as one vector."""
    return float(np.sqrt(sum((p.grad.numpy().astype(float) ** 2).sum() for p in net.parameters())))


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
    print("unscaled first:" if unscales else "clipped as it is:", f"{length(net):.3g}")

# %% [markdown] slideshow={"slide_type": "skip"}
# The gradients were clipped while they were still 65,536 times too long, and divided by 65,536 afterwards. The network
# learns next to nothing, and no error says so. Call `scaler.unscale_` before you look at gradients, whether you clip
# them or print them. `scaler.step` notices that, and does not divide twice.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("20_sixteen_bits")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.autocast(dtype=mg.float16)` | `torch.autocast("cuda", torch.float16)` | `"mixed_float16"` | casts; `jmp` |
# | `mg.amp.GradScaler()` | `torch.amp.GradScaler("cuda")` | `LossScaleOptimizer` | `jmp.DynamicLossScale` |
# | `scaler.unscale_(optimizer)` | the same | done in `apply` | `loss_scale.unscale(grads)` |
# | `mg.finfo(mg.float16)` | `torch.finfo(torch.float16)` | `tf.float16.max` | `jnp.finfo(jnp.float16)` |
# | `net.half()` | `net.half()` | `"float16"` | `tree.map` with `astype` |
#
# `"mixed_float16"` and `"float16"` are policies of Keras: after
# `keras.mixed_precision.set_global_policy("mixed_float16")` layers compute in float16, and the variables stay in
# float32. `jmp` is a library by DeepMind. TPUs, Google's own chips, multiply in bfloat16, and need no scale.
#
# ### The same in PyTorch
#
# A gradient that underflows is 0 in float16, and a factor on the loss saves it. A weight of 1 does not move when the
# step is too small for its digits.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def sixteen_bits_in_pytorch(torch):
    """
    scale     1: gradient 0.0e+00
    scale 4,096: gradient 1.0e-08
    float32   largest 3.4e+38  1,000 steps of 0.0001 from 1 end at 0.9000
    bfloat16  largest 3.4e+38  1,000 steps of 0.0001 from 1 end at 1.0000
    float16   largest 6.6e+04  1,000 steps of 0.0001 from 1 end at 1.0000
    """
    for scale in (1, 2**12):
        w = torch.tensor(1.0, dtype=torch.float16, requires_grad=True)
        loss = w * 1e-4 * 1e-4
        (loss * scale).backward()
        print(f"scale {scale:5,}: gradient {w.grad.item() / scale:.1e}")
    for name in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, name)
        w = torch.tensor(1.0, dtype=dtype)
        for _ in range(1000):
            w = w - 1e-4
        print(f"{name:8}  largest {torch.finfo(dtype).max:.1e}  1,000 steps of 0.0001 from 1 end at {w.item():.4f}")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - float16 has 11 binary digits and reaches from $2^{-24}$ to 65,504. bfloat16 has 8, and the range of float32.
# - A gradient that underflows is 0, and no error says so. A factor on the loss saves it.
# - A scaler looks for the factor: it skips a step and halves the scale when a gradient overflows.
# - Autocast computes products in sixteen bits, and sums and losses in float32.
# - The weights stay in float32, or their small steps would be rounded away. So a parameter still takes 16 bytes, and
#   what is halved is activations.
#
# **Sources.** P. Micikevicius and others, *Mixed precision training*, arXiv:1710.03740 (2017), section 3.1: master
# weights, section 3.2: loss scaling, section 3.3: which sums in float32. D. Kalamkar and others, *A study of BFLOAT16
# for deep learning training*, arXiv:1905.12322 (2019), section 2. S. Rajbhandari and others, *ZeRO*, arXiv:1910.02054
# (2019), section 3.1: the sixteen bytes. NVIDIA, *H100 Tensor Core GPU*, data sheet. IEEE 754-2019, section 3.6: the
# formats, except bfloat16.
#
# **Exercise.** [20 Lost and found](../exercises/20_sixteen_bits.ipynb): what is lost in a format, a weight that stands
# still, and a scaler by hand.
#
# **Next:** [21 Twice, to keep less](21_twice_to_keep_less.ipynb). Before that, change something here: in `network`,
# replace the sigmoids by relus. How many gradients of the first layer are then 0 in float16, and is a scale still
# needed? Write it down before you run it.
