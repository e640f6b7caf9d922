# ---
# jupyter:
#   minigrad:
#     title: FLOPs are not time
#     minutes: 30
#     objectives:
#       - say what an operation is bound by, its arithmetic or its memory, from two counts
#       - read a roofline, and place an operation under it before measuring
#       - say why a batch of one leaves a fast machine idle
#       - find out where the time of a network goes, with a profiler (an optional section)
#       - say what many small operations cost besides their arithmetic (an optional section)
#     concepts: [E7, F1, G2]
#     builds_on: [13_optimising_a_graph, 17_what_grows_how]
#     widgets: [Roofline, Predict, Quiz]
#     terms:
#       arithmetic intensity: FLOPs for each byte that is moved between memory and processor
#       roofline: a curve over intensity that shows the highest speed an operation can reach on a machine
#       memory-bound: with so few FLOPs for each byte that the memory decides how long it takes
#       depthwise convolution: a convolution in which each channel has a window of its own, and reads no other channel
#       pointwise convolution: a convolution with windows of one pixel, which mixes channels
#       profiler: a tool that notes, while a program runs, how long each part takes
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 18 FLOPs are not time
#
# Training takes all night, and you want it to be quicker. So you give the network less work: there is a kind of
# convolution with far fewer multiply-adds, and whole networks are built of it. You replace your layers, start again,
# and look at the clock. Does the time fall as much as the work did? **Where does the time go, if not into the
# arithmetic?** Lesson 17 counted work. This lesson also counts bytes.
#
# **About 30 minutes.** Afterwards you can
#
# - say what an operation is bound by, its arithmetic or its memory, from two counts;
# - read a roofline, and place an operation under it before measuring;
# - say why a batch of one leaves a fast machine idle.
#
# Optional sections are folded: a profiler, what many small operations cost, and a GPU of your own.
#
# **Builds on** [13 Optimising a graph](13_optimising_a_graph.ipynb) and [17 What grows how](17_what_grows_how.ipynb).
# What it opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and
# its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has replaced something by a cheaper version and was disappointed. The timings in this lesson are
# those of the machine in the room: say so, and look at the ratios, not at the seconds.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, follow_theme, in_turns, reveal, reveal_range
from minigrad.profiler import estimate
from minigrad.widgets import Roofline

BLUE, VERMILION = "#0072B2", "#D55E00"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One convolution in two steps
#
# A convolution of 3 × 3 does two things at once: it looks at the neighbours of a pixel, and it mixes all channels. You
# can do them one after the other. First comes a **depthwise convolution**: each channel has a window of its own, and
# reads no other channel. Then comes a **pointwise convolution**, with windows of 1 × 1, which mixes the channels. The
# pair is called *separable*. A MAC is one multiply-add (lesson 17). With 64 channels, how many times fewer MACs do the
# two steps need together than one full convolution?

# %%
Predict("fewer", "How many times fewer MACs?", tolerance=0.5)

# %%
x = mg.ones(8, 64, 28, 28, dtype=mg.float32)
full = mg.nn.Conv2d(64, 64, 3, padding=1).float()
depthwise = mg.nn.Conv2d(64, 64, 3, padding=1, groups=64).float()
pointwise = mg.nn.Conv2d(64, 64, 1).float()
separable = mg.nn.Sequential(depthwise, pointwise)
layers = {"full": full, "separable": separable, "depthwise": depthwise, "pointwise": pointwise}
counts = {name: estimate(layer, x) for name, layer in layers.items()}
reveal("fewer", counts["full"].macs / counts["separable"].macs)

# %%
for name, cost in counts.items():
    print(f"{name:10} {cost.parameters:7,} parameters {cost.macs:13,} MACs")

# %% [markdown]
# Nearly eight times. For each number that it makes, the full convolution takes 9 · 64 MACs. The two steps take 9 and
# 64.

# %% [markdown] slideshow={"slide_type": "subslide"}
# And the time? That depends on your machine, so it is a guess.

# %%
Guess("quicker", "How many times as fast is the separable one?", options=["under 6", "6 to 10", "over 10"])

# %% tags=["measured", "nbval-ignore-output"]
with mg.no_grad():
    times = in_turns(**{name: lambda layer=layer: layer(x) for name, layer in layers.items()})
speedup = times["full"] / times["separable"]
reveal_range("quicker", speedup, 6, 10)

# %% tags=["measured", "nbval-ignore-output"]
print(f"the separable convolution is {speedup:.1f} times as fast")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which of the two is slow?
#
# Look at the two steps on their own. The depthwise step does 3.6 million MACs, and the pointwise step 25.7 million,
# seven times as many. Guess which of them takes longer on your machine.

# %%
Guess("slower", "Which takes longer?", options=["pointwise", "depthwise"])

# %% tags=["measured", "nbval-ignore-output"]
ratio = times["depthwise"] / times["pointwise"]
reveal_range("slower", ratio, 1)

# %% tags=["measured", "nbval-ignore-output"]
print(f"depthwise takes {ratio:.1f} times as long as pointwise")

# %% [markdown]
# Where this lesson was tried, the depthwise step took longer, with a seventh of the work. On your machine it may be the
# other way round, but hardly seven to one, as the MACs are.

# %% [markdown]
# So FLOPs are not time. What do the two steps have in common? Both read 1.6 million bytes and write as many. Fetching a
# number from memory takes a processor far longer than multiplying it. Let us count the bytes.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes up to here. If the rounds disagree, run the cell again: a laptop in a lecture room has other things to
# do. The second comparison depends on the machine and its libraries. The counts that follow do not.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## FLOPs for each byte
#
# **Arithmetic intensity** is the number of FLOPs for each byte that is moved, where each operand is read once and each
# result is written once. It is a count, the same on every machine. What is the intensity of adding two arrays of
# float32? (Two decimals are enough.)

# %%
Predict("intensity", "FLOPs for each byte of a + b in float32:", tolerance=0.004)


# %%
class Sum(mg.nn.Module):
    def forward(self, a, b):
        return a + b


counts["a + b"] = estimate(Sum(), x, mg.ones_like(x))
reveal("intensity", counts["a + b"].intensity)

# %%
for name, cost in counts.items():
    print(f"{name:10} {cost.intensity:8.3f} FLOPs a byte, {cost.bytes_moved:9,} bytes")

# %% [markdown]
# There is one addition for twelve bytes: two numbers are read, and one is written. For each byte that it moves, the
# full convolution does 138 FLOPs, and the depthwise one only two.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two limits
#
# A machine has two limits: the most FLOPs that it does in a second, its *peak*, and the most bytes that it moves in a
# second, its *bandwidth*. Suppose the peak is 100 · 10⁹ FLOPs a second, and the bandwidth 10 · 10⁹ bytes a second. Then
# ten FLOPs for each byte keep both busy. With fewer, an operation is **memory-bound**: the processor waits for memory.
# With more, it is bound by arithmetic, and memory waits.
#
# $$\text{FLOPs in a second} ≤ \min(\text{peak},\ \text{bandwidth} · \text{intensity})$$
#
# Drawn over the intensity, this is the **roofline**: a slope, and then a flat roof.

# %%
PEAK, BANDWIDTH = 100e9, 10e9
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.loglog([0.01, PEAK / BANDWIDTH, 1000], [0.01 * BANDWIDTH / 1e9, PEAK / 1e9, PEAK / 1e9], color="gray")
for name, cost in counts.items():
    on_slope = BANDWIDTH * cost.intensity < PEAK
    height = min(PEAK, BANDWIDTH * cost.intensity) / 1e9
    ax.plot(cost.intensity, height, "o" if on_slope else "s", color=VERMILION if on_slope else BLUE)
    side = {"xytext": (-2, 7), "ha": "right"} if on_slope else {"xytext": (0, -18), "ha": "center"}
    ax.annotate(name, (cost.intensity, height), textcoords="offset points", **side)
ax.set(xlabel="FLOPs a byte", ylabel="billion FLOPs a second, at most", ylim=(0.05, 500))
plt.show()

# %% [markdown]
# *The plot: a line that rises up to ten FLOPs a byte, and is flat from there on. Low on the slope lies a + b. The
# depthwise convolution reaches a quarter of the peak at most, 24 of 100 billion. The separable one is just below the
# edge. Pointwise and full, drawn as squares, are on the flat part.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let somebody place a transposition under the roof: it has no FLOPs, so it lies at the far left.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How large must a product be?
#
# A product of two matrices of $n × n$ needs $2n^3$ FLOPs, and moves $3n^2$ numbers of four bytes. The larger it is, the
# more it does with each byte. What is the smallest $n$ that reaches the flat roof of our machine, at ten FLOPs a byte?

# %%
Predict("product", "The smallest n that reaches the flat roof:", tolerance=1)

# %%
intensities = {}
for n in (15, 30, 60, 120, 240, 480):
    with mg.device("meta"):
        square = mg.nn.Linear(n, n, bias=False).float()
        intensities[n] = estimate(square, mg.zeros(n, n, dtype=mg.float32)).intensity
reveal("product", min(n for n, intensity in intensities.items() if intensity >= PEAK / BANDWIDTH))

# %%
for n, intensity in intensities.items():
    share = min(PEAK, BANDWIDTH * intensity) / PEAK
    print(f"n = {n:3}: {intensity:5.1f} FLOPs a byte, at most {share:4.0%} of the peak")

# %% [markdown]
# At 60: the intensity is $n / 6$. On today's large GPUs the edge lies at a few hundred FLOPs a byte in sixteen bits,
# because their arithmetic has grown faster than their memory. There a small product reaches a small part of the peak.
#
# So does a batch of one. A matrix times a *vector* has an intensity of half a FLOP a byte, however large the matrix is.
# That is why a language model that writes one text leaves most of a GPU's arithmetic idle, and can write several texts
# at once in nearly the same time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. By its data sheet an H100 SXM has some 990 TFLOP/s in bfloat16, on its Tensor Cores, and 3.35 TB/s: 295
# FLOPs a byte. Ask what follows for a chain of elementwise operations with an intensity below 1: fusion, lesson 13,
# moves fewer bytes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## This machine
#
# And yours? The widget measures both limits of your machine, and then places each operation of a function under them.
# Look for an operation that is near neither roof.


# %% tags=["measured", "nbval-ignore-output"]
def a_little_of_everything(a, w):
    product = a @ w
    shifted = product + a
    return shifted.exp().sum()


Roofline(a_little_of_everything, mg.ones(512, 512), mg.ones(512, 512))

# %% [markdown]
# There are two slopes: one for the main memory, and one for the cache, which is quicker. The thick one is the roof of
# most of these operations. An operation above the slope of the main memory has found its numbers in the cache. A slower
# operation that moves no more bytes has found them there too. An operation below the coloured strip reaches less than
# half of its roof, and is bound by something else. It may be a function such as exp, which counts as one FLOP and takes
# a processor many steps.
#
# Or it is so small that most of its time is the *call*: a third cost, which neither FLOPs nor bytes show. On a GPU a
# call is a launch (lesson 13). Fusing eight small operations into one pays for one launch instead of eight.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A tenth of the work
#
# **Where it breaks.** EfficientNet-B0 has about a tenth of the MACs of ResNet-50, and recognises what is in a picture
# just as well. A manager has read this and orders machines for ten times as many pictures a second. Suppose that on
# those machines both networks are memory-bound. Then the bytes decide. Guess how many times fewer bytes the smaller
# network moves.

# %%
Guess("efficient", "How many times fewer bytes does it move?", options=["under 3", "3 to 7", "over 7"])

# %%
with mg.device("meta"):
    picture = mg.zeros(1, 3, 224, 224, dtype=mg.float32)
    nets = {"ResNet-50": mg.zoo.resnet(50).float(), "EfficientNet-B0": mg.zoo.efficientnet("b0").float()}
    large, small = (estimate(net, picture) for net in nets.values())
reveal_range("efficient", large.bytes_moved / small.bytes_moved, 3, 7)

# %%
for name, cost in zip(nets, (large, small)):
    print(f"{name:16} {cost.macs:13,} MACs {cost.bytes_moved:11,} bytes {cost.intensity:5.1f} FLOPs a byte")
print(f"{large.macs / small.macs:.1f} times fewer MACs, {large.bytes_moved / small.bytes_moved:.1f} times fewer bytes")

# %% [markdown]
# Twice. Nine tenths of the work is gone, and half of the bytes are still there: many of its layers are depthwise
# convolutions, normalisations and multiplications, which all lie low on the slope. A table of FLOPs ranks designs for a
# machine whose memory costs nothing. Measure on the machine that will run your network.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. The first rule of making things faster: measure, and then change what is at the top. The first folded
# section does it with a profiler.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a profiler
#
# You can follow the lesson without what is folded here: a **profiler** watches a run, and notes how long each operation
# takes.

# %% [markdown] slideshow={"slide_type": "skip"}
# Which of ten authors wrote this passage? A small network looks up each of its 64 words in a table of 20,000 rows
# (*Index*), averages the rows (*Mean*), and decides with a linear layer (*Affine*). Here are the FLOPs and the bytes of
# each. Looking up has no FLOPs at all. How does its *time* compare with that of the linear layer? Write down a guess.


# %% slideshow={"slide_type": "skip"}
class Reader(mg.nn.Module):
    def __init__(self):
        self.table, self.out = mg.nn.Embedding(20_000, 256), mg.nn.Linear(256, 10)

    def forward(self, words):
        return self.out(self.table(words).mean(1))


reader = Reader().float()
words = mg.tensor(np.random.default_rng(0).integers(0, 20_000, (256, 64)))  # 256 passages
for name, cost in estimate(reader, words).by_op.items():
    if cost.bytes_moved:
        print(f"{name:7} {cost.flops:9,} FLOPs {cost.bytes_moved:11,} bytes")

# %% [markdown] slideshow={"slide_type": "skip"}
# Now the profiler. It uses PyTorch's names.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
with mg.no_grad():
    reader(words)  # a first run, so that nothing has to be prepared in the one that counts
    with mg.profiler.profile(with_flops=True) as prof:
        for _ in range(5):
            reader(words)
prof.key_averages()

# %% [markdown] slideshow={"slide_type": "skip"}
# Where this lesson was tried, looking up took some twenty times as long as the layer with the 1.3 million FLOPs. It
# moves data: 16,384 rows of a kilobyte each, from all over a table of 20 million bytes. The mean reads those rows
# again, and comes second. The bytes would have told you so. (If affine is slow, other programs are using the cores: run
# the cell again.)
#
# To see every call on a line of time, write the same run to a file with `prof.export_chrome_trace(path)`, and open it
# in a trace viewer such as Perfetto.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a thousand small operations
#
# You can follow the lesson without what is folded here: how much time the calls take, and the launches of a GPU,
# counted.

# %% [markdown] slideshow={"slide_type": "skip"}
# 1,000 additions of 10 numbers and one addition of 10,000 numbers have the same FLOPs and move the same bytes. How many
# times as long do the thousand take? Write down a guess.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
ten, many = mg.ones(10), mg.ones(10_000)


def thousand_small():
    for _ in range(1000):
        ten + ten


with mg.no_grad():
    times = in_turns(small=thousand_small, large=lambda: many + many)
print(f"{times['small'] / times['large']:.0f} times as long")

# %% [markdown] slideshow={"slide_type": "skip"}
# All of the difference is calling: the additions themselves are the same.
#
# On a GPU the call is a launch: the processor hands the GPU a small program to run, a *kernel*. Suppose a launch takes
# 5 microseconds. In that time a GPU with a peak of 20 · 10¹² FLOPs a second could do a hundred million FLOPs. So for
# small operations you count launches. This is gelu, written out, on the simulated GPU:


# %% slideshow={"slide_type": "skip"}
def gelu(x):
    return 0.5 * x * (1 + (0.7978845608 * (x + 0.044715 * x * x * x)).tanh())


gpu = mg.device("simulated")
on_gpu = mg.ones(1000).to(gpu)
with gpu.counts() as eager:
    gelu(on_gpu)
fused = mg.function(gelu, jit_compile=True)
fused(on_gpu)
with gpu.counts() as compiled:
    fused(on_gpu)
computing = compiled.launches - 1  # the last launch hands the result over
print("launches: eager", eager.launches, " compiled", computing)

# %% [markdown] slideshow={"slide_type": "skip"}
# At 5 microseconds each, the eager gelu takes 45 microseconds or more for a thousand numbers, however fast the GPU is.
# Three things help: fusion; a larger batch; or a recording of many launches that is launched as a whole, which on
# NVIDIA's GPUs is called a *CUDA graph*. Fusion and recording need to know more than one operation at a time. That is
# what a graph is good for.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: on a GPU of your own
#
# You can follow the lesson without what is folded here: `gelu` again, timed on your GPU.

# %% [markdown] slideshow={"slide_type": "skip"}
# If you have a GPU and CuPy, the next cell times `gelu`, eager and fused, for a thousand numbers and for ten million.
# What do you expect of the ratio, from the counts of launches and from the roofline? For a thousand numbers the
# launches decide. For ten million the bytes decide, and each operation of the eager gelu reads and writes them all. If
# you have no GPU, the cell says what is missing.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
works, name = mg.gpu_status()
print(name)
for n in (1_000, 10_000_000) if works else ():
    x = mg.ones(n, device="gpu")
    fused(x)
    with mg.no_grad():
        times = in_turns(eager=lambda x=x: gelu(x).sum().item(), fused=lambda x=x: fused(x).sum().item())
    print(f"{n:12,} numbers: eager takes {times['eager'] / times['fused']:.1f} times as long as fused")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("18_flops_are_not_time")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.profiler.profile()` | `torch.profiler.profile()` | `tf.profiler.experimental` | `jax.profiler.trace(path)` |
# | `prof.key_averages()` | the same | TensorBoard, *op profile* | TensorBoard, or XProf |
# | `prof.export_chrome_trace(path)` | the same | a trace viewer in TensorBoard | Perfetto |
# | `record_function("data")` | the same | `tf.profiler.experimental.Trace` | `TraceAnnotation` |
# | `mg.profiler.roofline(f, x)` | none; Nsight Compute draws one | roofline of XProf | roofline of XProf |
# | `Conv2d(64, 64, 3, groups=64)` | the same | `DepthwiseConv2D(3)` | `feature_group_count=64` |
#
# ### The same in PyTorch
#
# For each byte that it moves, the full convolution does many FLOPs, the depthwise convolution few, and an addition
# almost none. We count bytes as above: operands are read once, and results are written once.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def intensity_in_pytorch(torch):
    """
    full       137.67 FLOPs a byte
    depthwise    2.25 FLOPs a byte
    pointwise   15.92 FLOPs a byte
    a + b        0.08 FLOPs a byte
    """
    from torch.utils.flop_counter import FlopCounterMode

    x = torch.ones(8, 64, 28, 28)
    layers = {
        "full": torch.nn.Conv2d(64, 64, 3, padding=1),
        "depthwise": torch.nn.Conv2d(64, 64, 3, padding=1, groups=64),
        "pointwise": torch.nn.Conv2d(64, 64, 1),
    }
    for name, layer in layers.items():
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            y = layer(x)
        moved = x.nbytes + y.nbytes + sum(p.nbytes for p in layer.parameters())
        print(f"{name:9} {counter.get_total_flops() / moved:7.2f} FLOPs a byte")
    print(f"a + b     {x.numel() / (3 * x.nbytes):7.2f} FLOPs a byte")


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Time is bound by arithmetic, by memory, or by calls. FLOPs tell you only about the first.
# - Intensity is FLOPs a byte. Below the edge of the roofline, memory decides.
# - A product of matrices gets better with its size. Adding, looking up and normalising do not.
# - A batch of one reads the whole matrix for one row: it is memory-bound, and more rows cost next to nothing.
# - Small operations pay for being called: fuse them, or give them more to do.
#
# **Sources.** S. Williams, A. Waterman, D. Patterson, *Roofline*, Communications of the ACM 52 (2009): the model. A.
# Howard and others, *MobileNets*, arXiv:1704.04861 (2017), section 3.1: depthwise and pointwise, with the count. N. Ma
# and others, *ShuffleNet V2*, arXiv:1807.11164 (2018), section 2: FLOPs are not speed, with four rules. M. Tan, Q. Le,
# *EfficientNet*, arXiv:1905.11946 (2019), table 2. A. Ivanov and others, *Data movement is all you need*,
# arXiv:2007.00072 (2021): a transformer by FLOPs and by time.
#
# **Exercise.** [18 Find the bottleneck](../exercises/18_flops_are_not_time.ipynb): bounds with a pencil, a roofline of
# your own, and a loop that you make quick.
#
# **Next:** [19 Smaller](19_smaller.ipynb). Before that, change something here: give the convolutions 256 channels
# instead of 64, and `x` as well. Whose intensity grows, and whose stays? Write it down before you run it.
