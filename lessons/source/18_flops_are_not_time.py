# ---
# jupyter:
#   minigrad:
#     title: FLOPs are not time
#     minutes: 40
#     objectives:
#       - say what an operation is bound by, its arithmetic or its memory, from two counts
#       - read a roofline, and place an operation under it before measuring
#       - find with a profiler where the time of a network goes
#       - say what many small operations cost beside their arithmetic
#     concepts: [E7, F1, G2]
#     builds_on: [13_optimising_a_graph, 17_what_grows_how]
#     widgets: [Roofline, Predict, Quiz]
#     terms:
#       arithmetic intensity: FLOPs for each byte that is moved between memory and processor
#       roofline: of a machine, the speed that an operation can reach at most, over its intensity
#       memory-bound: with so few FLOPs for each byte that the memory decides how long it takes
#       depthwise convolution: a convolution in which each channel has a window of its own, and reads no other channel
#       pointwise convolution: a convolution with windows of one pixel, which mixes channels
#       profiler: a tool that notes, as a program runs, which part took how long
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 18 FLOPs are not time
#
# Lesson 17 counted work. To make a network quicker, one gives it less work: there is a convolution with far fewer
# multiply-adds, and there are networks built of it. Are they quicker by as much? **Where does the time go, if not into
# the arithmetic?** This lesson counts a second thing, bytes, and sets the two counts side by side.
#
# **About 40 minutes.** Afterwards you can
#
# - say what an operation is bound by, its arithmetic or its memory, from two counts;
# - read a roofline, and place an operation under it before measuring;
# - find with a profiler where the time of a network goes;
# - say what many small operations cost beside their arithmetic.
#
# **Builds on** [13 Optimising a graph](13_optimising_a_graph.ipynb) and [17 What grows how](17_what_grows_how.ipynb).
# What it opens in [the picture of lesson 00](00_start_here.ipynb#Where-this-leads:-Alice): the bytes of each box, and
# its time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask who has replaced something by a cheaper one and was disappointed. Timings in this lesson are of the
# machine in the room: say so, and let the ratio speak, not the seconds.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, in_turns, reveal
from minigrad.profiler import estimate
from minigrad.widgets import Roofline

BLUE, VERMILION = "#0072B2", "#D55E00"
mg.manual_seed(0)
follow_theme()
UNCLEAR = "The rounds disagree: run this cell again when the machine has less to do."

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One convolution in two steps
#
# A convolution of 3 × 3 looks at the neighbours of a pixel, and mixes all channels, in one go. One can do the two one
# after the other, which needs fewer weights: a **depthwise convolution**, in which each channel has a window of its
# own, and a **pointwise convolution** with windows of 1 × 1, which mixes. With 64 channels, how many times fewer MACs
# do the two need together?

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
for name, cost in counts.items():
    print(f"{name:10} {cost.parameters:7,} parameters {cost.macs:13,} MACs")
reveal("fewer", counts["full"].macs / counts["separable"].macs)

# %% [markdown]
# The full one takes 9 · 64 MACs for each number that it makes; the two steps take 9 and 64. And the time? It may fall
# as the MACs do, by less, or by more.

# %%
Predict("quicker", "How many times as fast is the separable one?", options=["less than 6", "6 to 10", "more than 10"])

# %% tags=["measured", "nbval-ignore-output"]
with mg.no_grad():
    times = in_turns(**{name: lambda layer=layer: layer(x) for name, layer in layers.items()})
quicker = times["full"] / times["separable"]
print(f"the separable convolution is {quicker:.1f} times as fast")
among = quicker.among(6, 10)
UNCLEAR if among is None else reveal("quicker", ["less than 6", "6 to 10", "more than 10"][among])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Which of the two is slow?
#
# The depthwise step does 3.6 million MACs, the pointwise one 25.7 million, seven times as many. Which of them takes
# longer?

# %%
Predict("slower", "Which takes longer?", options=["depthwise", "pointwise"])

# %% tags=["measured", "nbval-ignore-output"]
longer = times["depthwise"] / times["pointwise"]
print(f"depthwise takes {longer:.1f} times as long as pointwise")
side = longer.among(1)
UNCLEAR if side is None else reveal("slower", ["pointwise", "depthwise"][side])

# %% [markdown]
# Where this lesson was tried it was the depthwise step, with a seventh of the work. On your machine the two may be
# closer, but the times are surely not one to seven, as the MACs are. So FLOPs are not time. But both steps read 1.6
# million bytes and write as many, and to fetch a number from memory takes a processor far longer than to multiply it.
# Let us count what is moved.

# %% [markdown] slideshow={"slide_type": "notes"}
# Eight minutes up to here. If the rounds disagree, run it again: a laptop in a lecture room has other things to do. The
# second comparison depends on the machine and its libraries; the counts that follow do not.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## FLOPs for each byte
#
# **Arithmetic intensity** is the number of FLOPs for each byte that is moved: operands read, results written, each
# once. It is a count, the same on every machine. What is the intensity of adding two arrays of float32? (Two decimals
# will do.)

# %%
Predict("intensity", "FLOPs for each byte of a + b in float32:", tolerance=0.004)


# %%
class Sum(mg.nn.Module):
    def forward(self, a, b):
        return a + b


counts = {"a + b": estimate(Sum(), x, mg.ones_like(x))} | counts
for name, cost in counts.items():
    print(f"{name:10} {cost.intensity:8.3f} FLOPs a byte, {cost.bytes_moved:9,} bytes")
reveal("intensity", counts["a + b"].intensity)

# %% [markdown]
# One addition for twelve bytes: two numbers are read, and one is written. For each byte that it moves, the full
# convolution does 138 FLOPs, the depthwise one two. A machine has two speeds: the most FLOPs that it does in a second,
# its *peak*, and the most bytes that it moves in a second, its *bandwidth*. Suppose they are 100 · 10⁹ and 10 · 10⁹.
# Then ten FLOPs for each byte keep both busy. An operation with fewer is **memory-bound**: the processor waits for
# memory. With more, it is bound by arithmetic, and memory waits.
#
# $$\text{FLOPs in a second} ≤ \min(\text{peak},\ \text{bandwidth} · \text{intensity})$$
#
# This is the **roofline**: a slope, and then a flat roof.

# %% slideshow={"slide_type": "subslide"}
PEAK, BANDWIDTH = 100e9, 10e9
at = np.logspace(-2, 3, 100)
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
ax.loglog(at, np.minimum(PEAK, BANDWIDTH * at) / 1e9, color="gray")
for name, intensity in ((name, cost.intensity) for name, cost in counts.items()):
    bound = BANDWIDTH * intensity < PEAK
    height = min(PEAK, BANDWIDTH * intensity) / 1e9
    ax.plot(intensity, height, "o" if bound else "s", color=VERMILION if bound else BLUE)
    side = {"xytext": (-2, 7), "ha": "right"} if bound else {"xytext": (0, -18), "ha": "center"}
    ax.annotate(name, (intensity, height), textcoords="offset points", **side)
ax.set(xlabel="FLOPs a byte", ylabel="billion FLOPs a second, at most", ylim=(0.05, 500))
plt.show()

# %% [markdown]
# *The plot: a line that rises up to ten FLOPs a byte, and is flat from there on. Low on the slope lies a + b. The
# depthwise convolution reaches a quarter of the peak at most, 24 of 100 billion; the separable one is just below the
# edge. Pointwise and full, drawn as squares, are on the flat part.*

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How large must a product be?
#
# A product of two matrices of $n × n$ needs $2n^3$ FLOPs, and moves $3n^2$ numbers of four bytes. The larger it is, the
# more it does with each byte. What is the smallest $n$ with which it reaches the flat roof of our machine, at ten FLOPs
# a byte?

# %%
Predict("product", "The smallest n that reaches the flat roof:", tolerance=1)

# %%
sides, intensities = [15, 30, 60, 120, 240, 480], []
for n in sides:
    with mg.device("meta"):
        square = mg.nn.Linear(n, n, bias=False).float()
        cost = estimate(square, mg.zeros(n, n, dtype=mg.float32))
    intensities.append(cost.intensity)
    share = min(PEAK, BANDWIDTH * cost.intensity) / PEAK
    print(f"n = {n:3}: {cost.intensity:5.1f} FLOPs a byte, at most {share:4.0%} of the peak")
reveal("product", min(n for n, intensity in zip(sides, intensities) if intensity >= PEAK / BANDWIDTH))

# %% [markdown]
# At 60: the intensity is $n / 6$. On today's large GPUs the edge lies at a few hundred FLOPs a byte in sixteen bits,
# since their arithmetic has grown faster than their memory: there a small product reaches a small part of the peak. So
# does a batch of one: a matrix times a *vector* has an intensity of half a FLOP a byte, however large the matrix is.
# That is why a language model that writes one text leaves most of a GPU's arithmetic idle, and writes several at once
# in nearly the same time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. By its data sheet an H100 SXM has some 990 TFLOP/s in bfloat16 and 3.35 TB/s, so 295 FLOPs a byte. Ask
# what follows for a chain of elementwise operations, intensity below 1: fusion, lesson 13, moves fewer bytes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## This machine
#
# And yours? The widget measures both roofs, and then each operation of a function under them. Which operations are near
# a roof, and which are near neither?


# %% tags=["measured", "nbval-ignore-output"]
def a_little_of_all(a, w):
    product = a @ w
    shifted = product + a
    return shifted.exp().sum()


Roofline(a_little_of_all, mg.ones(512, 512), mg.ones(512, 512))

# %% [markdown]
# There are two slopes: the solid one is the main memory's, the dashed one the cache's, which is quicker. What lies
# above the solid one has found its numbers in the cache. What is near neither roof is bound by something else. It may
# be a function such as exp, which counts as one FLOP and takes a processor many steps; or it may be so small that most
# of its time is the call.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A profiler
#
# Here is a reader of texts: each of 64 words is looked up in a table of 20,000 rows (*Index*), the rows are averaged
# (*Mean*), and a linear layer decides (*Affine*). The FLOPs and the bytes of each are counted below, and looking up has
# no FLOPs. How does its *time* compare with that of the linear layer?


# %%
class Reader(mg.nn.Module):
    def __init__(self):
        self.table, self.out = mg.nn.Embedding(20_000, 256), mg.nn.Linear(256, 10)

    def forward(self, words):
        return self.out(self.table(words).mean(1))


reader = Reader().float()
words = mg.tensor(np.random.default_rng(0).integers(0, 20_000, (256, 64)))
for name, cost in estimate(reader, words).by_op.items():
    if cost.bytes_moved:
        print(f"{name:7} {cost.flops:9,} FLOPs {cost.bytes_moved:11,} bytes")
Predict("looking up", "Index takes …", options=["less than Affine", "1 to 5 times as long", "over 5 times as long"])

# %% [markdown]
# A **profiler** watches a run, and notes for each operation how long it took. Ours uses PyTorch's names.

# %% tags=["measured", "nbval-ignore-output"]
with mg.no_grad():
    reader(words)  # the first run prepares
    with mg.profiler.profile(with_flops=True) as prof:
        for _ in range(5):
            reader(words)
prof.key_averages()

# %% tags=["measured", "nbval-ignore-output"]
took = {event.key: event.self_cpu_time_total for event in prof.key_averages()}
ratio = took["index"] / took["affine"]
print(f"index takes {ratio:.0f} times as long as affine")
reveal("looking up", ["less than Affine", "1 to 5 times as long", "over 5 times as long"][(ratio > 1) + (ratio > 5)])

# %% [markdown]
# Where this lesson was tried, looking up took some twenty times as long as the layer with the 1.3 million FLOPs. It
# moves data: 16,384 rows of a kilobyte each, from all over a table of 20 million bytes. The mean reads those rows
# again, and comes second. The bytes would have told you so. `export_chrome_trace` writes the same run for a trace
# viewer, with every call on a line of time.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The first rule of making things faster is here: measure, then change what is at the top. Let them guess
# before the profile. If affine is slow here, other programs are using the cores: run it again.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A thousand small ones
#
# There is a third thing that takes time: the call itself. 1,000 additions of 10 numbers and one addition of 10,000 have
# the same FLOPs and move the same bytes. How many times as long do the thousand take?

# %%
Predict("thousand", "How many times as long?", options=["under 2", "2 to 20", "over 20"])

# %% tags=["measured", "nbval-ignore-output"]
ten, many = mg.ones(10), mg.ones(10_000)


def thousand():
    for _ in range(1000):
        ten + ten


with mg.no_grad():
    calls = in_turns(thousand=thousand, one=lambda: many + many)
ratio = calls["thousand"] / calls["one"]
print(f"{ratio:.0f} times as long")
place = ratio.among(2, 20)
UNCLEAR if place is None else reveal("thousand", ["under 2", "2 to 20", "over 20"][place])

# %% [markdown] slideshow={"slide_type": "subslide"}
# All of the difference is calling: the additions themselves are the same. On a GPU the call is a launch (lesson 13):
# the processor hands a kernel over. Suppose that takes 5 microseconds; a GPU with a peak of 20 · 10¹² FLOPs in a second
# could do a hundred million of them meanwhile. So one counts launches. This is gelu, written out, on the simulated GPU:


# %%
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
print("launches: eager", eager.launches, " compiled", compiled.launches - 1)  # less one that hands the result over

# %% [markdown]
# At 5 microseconds each, the eager one takes 45 microseconds or more for a thousand numbers, however fast the GPU is.
# What helps is fusion, a larger batch, or a recording of many launches that is launched as a whole, on NVIDIA's GPUs a
# *CUDA graph*. The first and the last need to know more than one operation at a time; that is what a graph is good for.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. In a trace of a real GPU one may see gaps between kernels: the GPU waits for Python. A faster GPU does
# not close them.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** EfficientNet-B0 has a tenth of the MACs of ResNet-50, and recognises what is in a picture just as
# well. Suppose that on some machine both are memory-bound. Then their bytes decide. How many times as fast is the
# smaller one: ten times, five times, or twice?

# %%
Predict("efficient", "How many times fewer bytes does it move?", tolerance=0.3)

# %%
with mg.device("meta"):
    picture = mg.zeros(1, 3, 224, 224, dtype=mg.float32)
    nets = {"ResNet-50": mg.zoo.resnet(50).float(), "EfficientNet-B0": mg.zoo.efficientnet("b0").float()}
    found = {name: estimate(net, picture) for name, net in nets.items()}
for name, cost in found.items():
    print(f"{name:16} {cost.macs:13,} MACs {cost.bytes_moved:11,} bytes {cost.intensity:5.1f} FLOPs a byte")
first, second = found.values()
print(
    f"{first.macs / second.macs:.1f} times fewer MACs, {first.bytes_moved / second.bytes_moved:.1f} times fewer bytes"
)
reveal("efficient", first.bytes_moved / second.bytes_moved)

# %% [markdown]
# Twice. Nine tenths of the work is gone, and half of the bytes are still there: many of its layers are depthwise
# convolutions, normalisations and multiplications, all low on the slope. A table of FLOPs says how good a design is on
# a machine whose memory costs nothing. Measure where it will run.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: on a GPU of your own
#
# Where there is a GPU, and CuPy, the next cell takes the time of `gelu`, eager and fused, for a thousand numbers and
# for ten million. What do you expect of the ratio, from the counts of launches and the edge of the roofline? For a
# thousand, launches decide; for ten million, bytes do, and each operation of the eager one reads and writes them all.
# Where there is none, the cell says what is missing.

# %% tags=["measured", "nbval-ignore-output"]
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

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.profiler.profile()` | `torch.profiler.profile()` | `tf.profiler.experimental` | `jax.profiler.trace(path)` |
# | `prof.key_averages()` | the same | TensorBoard, *op profile* | TensorBoard, or XProf |
# | `prof.export_chrome_trace(path)` | the same | a trace viewer in TensorBoard | Perfetto |
# | `record_function("data")` | the same | `tf.profiler.experimental.Trace` | `TraceAnnotation` |
# | `mg.profiler.roofline(f, x)` | none; Nsight Compute draws one | roofline of XProf | roofline of XProf |
# | `Conv2d(64, 64, 3, groups=64)` | the same | `DepthwiseConv2D(3)` | `feature_group_count=64` |

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Time is bound by arithmetic, by memory, or by calls; FLOPs say something about the first alone.
# - Intensity is FLOPs a byte. Below the edge of the roofline memory decides.
# - A product of matrices gets better with its size; adding, looking up and normalising do not.
# - A profiler says where the time is; it need not be where the FLOPs are.
# - Small operations pay for being called: fuse them, or give them more to do.
#
# **Sources.** S. Williams, A. Waterman, D. Patterson, *Roofline*, Communications of the ACM 52 (2009): the model. A.
# Howard and others, *MobileNets*, arXiv:1704.04861 (2017), section 3.1: depthwise and pointwise, with the count. N. Ma
# and others, *ShuffleNet V2*, arXiv:1807.11164 (2018), section 2: FLOPs are not speed, with four rules. M. Tan, Q. Le,
# *EfficientNet*, arXiv:1905.11946 (2019), table 2. A. Ivanov and others, *Data movement is all you need*,
# arXiv:2007.00072 (2021): a transformer by FLOPs and by time.
#
# **Exercise.** [18 Find the bottleneck](../exercises/18_flops_are_not_time.ipynb): bounds with a pencil, a roofline of
# your own, launches, and a loop that you make quick.
#
# **Next:** [19 Smaller](19_smaller.ipynb). Before that, change something here: in `Reader`, let the table have 200
# rows, and draw the words from 200. Does looking up take as long as before? Say why before you run it.
