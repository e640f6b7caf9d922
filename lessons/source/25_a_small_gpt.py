# ---
# jupyter:
#   minigrad:
#     title: A small GPT
#     minutes: 45
#     objectives:
#       - train a language model, and judge its loss by what counting letters already gives
#       - take one model through all the tools of this course, with a gate for each that can fail
#       - read in a profile where its FLOPs and its time are
#       - export it, make it smaller, serve it, and let it write for whoever asks
#       - choose between versions of a model by what is needed
#     concepts: [G2, G5]
#     builds_on:
#       - 15_compiled_code
#       - 19_smaller
#       - 22_many_workers_one_gradient
#       - 23_one_model_many_workers
#       - 24_out_of_python
#     widgets: [GraphView, MemoryTimeline, Predict, Quiz, TrainingView]
#     terms:
#       language model: a function that says of each piece of a text how likely it is to come next
#       held-out loss: the loss on data that training never sees
#       baseline: what a much simpler way reaches, by which a result is judged
#       gate: a condition that a piece of work must hold before it goes on, checked by a program
#       serving: answering requests with a model, in a process that only does that
#       temperature: what scores are divided by before a softmax; below 1 the likely becomes likelier
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 25 A small GPT
#
# Lesson 00 showed the graph of a network that was meant to carry on where a chapter of *Alice's Adventures in
# Wonderland* breaks off, and it wrote noise. Since then each lesson has opened a box of that picture, or a box of tools
# for it. **Can you do it all, on Alice?** We train this GPT, profile it, make it smaller in three ways, run it in two
# processes, take it out of Python, and let it answer over HTTP. At each step there is a **gate**: a condition that a
# program checks before the work goes on. A gate that fails says what was wanted and what came.
#
# **About 45 minutes.** Afterwards you can
#
# - train a language model, and judge its loss by what counting letters already gives;
# - take one model through all the tools of this course, with a gate for each that can fail;
# - read in a profile where its FLOPs and its time are;
# - export it, make it smaller, serve it, and let it write for whoever asks;
# - choose between versions of a model by what is needed.
#
# **Builds on** [15 Compiled code](15_compiled_code.ipynb), [19 Smaller](19_smaller.ipynb), [22 Many workers, one
# gradient](22_many_workers_one_gradient.ipynb), [23 One model, many workers](23_one_model_many_workers.ipynb) and [24
# Out of Python](24_out_of_python.ipynb), and so on all of them. Some steps need what may not be installed here, such as
# MPI or ONNX Runtime; the cell then says so, and the lesson goes on.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Open lesson 00 beside this one and read what its GPT wrote. Ask which of the tools of the course the room
# would use before letting strangers talk to it. Keep the list: the gates of this lesson are ours.

# %% slideshow={"slide_type": "skip"}
import atexit
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
import warnings
from contextlib import suppress
from importlib.resources import files
from importlib.util import find_spec
from inspect import getsource
from pathlib import Path

import numpy as np
from IPython.display import HTML, display

import minigrad as mg
from minigrad.backends.native.toolchain import compiler
from minigrad.course import Gates, Predict, Quiz, in_turns, reveal
from minigrad.profiler import estimate
from minigrad.utils.checkpoint import checkpoint
from minigrad.widgets import GraphView, MemoryTimeline, TrainingView
from minigrad.zoo.transformers import GPT, CausalSelfAttention, Size, TransformerBlock

# %% slideshow={"slide_type": "skip"}
# %load_ext minigrad.course.parallel
gates = Gates(
    "knows nothing yet",
    "three ways agree",
    "better than pairs",
    "FLOPs as on paper",
    "FLOPs as run",
    "checkpoints: same gradient",
    "sixteen bits: same learning",
    "two processes: same gradient",
    "ONNX: same scores",
    "int8: smaller, and as good",
    "served: same scores",
    "the server has ended",
    "no better than a reader",
)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What counting gives
#
# A **language model** says how likely each letter is to come next. Its loss is lesson 03's: minus the logarithm of the
# probability that it gave to the letter that came, on average. The text has 65 different letters (a space and a comma
# are letters, too), so a model that knows nothing has a loss of ln 65 = 4.17. We set the last 5,225 letters apart; the
# loss on them is the **held-out loss**.
#
# Before we train anything, we count. Knowing how often each letter comes gives a loss of 3.05. If we count how often
# each letter comes *after each other one*, what is the loss then?

# %%
text = mg.data.text()
LETTERS = sorted(set(text))
numbers = np.array([LETTERS.index(letter) for letter in text])
learn, held = numbers[:40_000], numbers[40_000:]
Predict("pairs", "The held-out loss of counted pairs:", tolerance=0.2)

# %%
letters = np.bincount(learn, minlength=65) + 0.1  # a tenth more, for what may come and has not
pairs = np.full((65, 65), 0.1)
np.add.at(pairs, (learn[:-1], learn[1:]), 1)
pairs /= pairs.sum(1, keepdims=True)
by_letters = -np.log((letters / letters.sum())[held]).mean()
by_pairs = -np.log(pairs[held[:-1], held[1:]]).mean()
print(f"nothing {np.log(65):.2f}   letters {by_letters:.2f}   pairs {by_pairs:.2f}")
reveal("pairs", round(by_pairs, 2))

# %% [markdown]
# That is the **baseline**: a table of 65 · 65 numbers, no training, and one look into it for each letter. A network of
# 100,000 parameters that does not beat it clearly is not worth its electricity. ($e^{2.35}$ is 10.5: the table is as
# unsure as somebody who chooses among ten letters.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Without a baseline any loss looks like progress: from 4.17 to 3.05 nothing was understood at all. Ask
# what a baseline for the room's own last project was.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All of it
#
# This is the whole network, as its classes have it: 65 letters and 64 places, each a row of 64 numbers; two blocks; and
# the scores of the next letter. What is the loss before any training?


# %%
def new():
    mg.manual_seed(0)
    return GPT(Size(layers=2, heads=4, channels=64), len(LETTERS), 64, dropout=0.0, dtype=mg.float32)


print(*[getsource(each.forward) for each in (GPT, TransformerBlock, CausalSelfAttention)], sep="\n")
Predict("begins", "The loss before training:", tolerance=0.7)

# %%
rng = np.random.default_rng(1)


def batch(rows=8):
    """Rows of 64 letters from somewhere in the text, and for each letter the one that came next."""
    seen = learn[rng.integers(0, len(learn) - 64, rows)[:, None] + np.arange(65)]
    return mg.tensor(seen[:, :-1]), mg.tensor(seen[:, 1:].ravel())


def scores_of(net):
    return lambda x: net(x).flatten(0, 1)  # a row for each letter


gpt, batches = new(), [batch() for _ in range(500)]
x, y = batches[0]
loss = mg.cross_entropy(scores_of(gpt)(x), y)
print(f"{sum(p.size for p in gpt.parameters()):,} parameters, loss {loss.item():.2f}")
gates("knows nothing yet", abs(loss.item() - np.log(65)) < 1, "a loss within 1 of ln 65", loss.item())
reveal("begins", round(loss.item(), 1))

# %%
GraphView(loss)

# %% [markdown]
# A little above ln 65 = 4.17: it does not give each letter the same, but prefers some without a reason. A loss far
# above that would mean that something begins too large; this is the cheapest gate there is. And the picture is that of
# lesson 00 again. Here are its boxes:
#
# | box | what it is | opened in |
# |---|---|---|
# | `[ ]`, looking up | a row for each letter and each place; its gradients add up where a letter comes twice | 02, 17 |
# | *affine* | a product of matrices and an addition; its shapes and its gradient | 04 |
# | *reshape*, *transpose* | the same numbers in another shape, and not copied | 04, 14 |
# | *attention* | two products and a softmax; what of it is $L^2$ | 16, 17 |
# | *gelu* | a curve between two *affine*, of many small operations, fused into one | 03, 13 |
# | *standardise* | LayerNorm: the numbers of each letter brought to one size | 21 |
# | `+` twice in a block | ways around, which keep what came early for longer | 16 |
# | *cross entropy*, *mean* | the loss, one number | 03 |
# | arrows, walked back | the chain rule; what is saved, and how long | 02, 06 |
# | *×2* | what repeats: checkpoints, and where to cut for several workers | 21, 23 |
# | all of it, written down once | placeholder, trace, passes, memory, code | 09 to 15 |
# | each number in it | 64, 32, 16 or 8 bits | 19, 20 |
# | the same graph elsewhere | several processes; a file; another engine | 22, 24 |
#
# Now let it write. It sees the last 64 letters. A shorter text is filled up with zeros *after* it, which do no harm:
# each place looks only at itself and at those before it. A letter is drawn by its probability; before that, the scores
# are divided by the **temperature**.


# %%
def write(scores, start, n, temperature=0.8):
    """The start, and n letters more."""
    rng, written = np.random.default_rng(0), start
    for _ in range(n):
        seen = [LETTERS.index(letter) for letter in written[-64:]]
        with mg.no_grad():
            y = scores(mg.tensor([seen + [0] * (64 - len(seen))]))
        p = np.exp(y.numpy().reshape(64, 65)[len(seen) - 1].astype(float) / temperature)
        written += rng.choice(LETTERS, p=p / p.sum())
    return written


print(write(gpt, "Alice was ", 60))

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for the network and the table. Let each pair open one box of the picture and tell the others what it is.
# Nobody needs all of it; everybody has met each of them.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Three ways
#
# Eager, traced, and in native code where a C++ compiler is installed: lessons 06, 11 and 15. We take five steps each,
# from the same start. The losses will not be the same to the bit, because sums are taken in another order; but they
# must agree to one part in ten thousand.

# %%
ways = {"eager": scores_of, "traced": lambda net: mg.function(scores_of(net), jit_compile=True)}
with warnings.catch_warnings(action="ignore"):  # that there is none
    if compiler():
        ways["native"] = lambda net: mg.function(scores_of(net), jit_compile="native")
    else:
        print("Native code needs a C++ compiler: python3 start.py add native brings one, but not to a browser.")


def step(scores, adam, x, y):
    adam.zero_grad()
    loss = mg.cross_entropy(scores(x), y)
    loss.backward()
    adam.step()
    return loss.item()


found = {}
for name, way in ways.items():
    net = new()
    scores, adam = way(net), mg.optim.Adam(net.parameters(), 0.003)
    found[name] = np.array([step(scores, adam, *each) for each in batches[:5]])
apart = max(abs(losses / found["eager"] - 1).max() for losses in found.values())
gates("three ways agree", apart < 1e-4, "losses within 1e-4", apart)
Predict("traced", "A traced step's time, beside an eager one's:", options=["below half", "up to the same", "more"])

# %% tags=["measured", "nbval-ignore-output"]
net = new()
adam = mg.optim.Adam(net.parameters(), 0.0)
runs = {name: way(net) for name, way in ways.items()}
times = in_turns(rounds=5, **{name: (lambda f=f: step(f, adam, x, y)) for name, f in runs.items()})
quickest = min(times, key=lambda name: times[name].quartiles[1])
for name, each in times.items():
    print(f"{name:6}  {x.size / each.quartiles[1]:7,.0f} letters a second, {each / times['eager']:.2f} of eager's")
place = (times["traced"] / times["eager"]).among(0.5, 1.2)
unclear = "The rounds disagree: run this cell again when the machine has less to do."
unclear if place is None else reveal("traced", ["below half", "up to the same", "more"][place])

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Training
#
# Where this lesson was tried, a traced step took from two thirds of an eager one's time to all of it: most of the time
# goes into products of matrices, which are NumPy's in all three ways. What a compiler can save lies between them. We
# train in the way that was the quickest here.
#
# 500 steps of 8 rows, 256,000 letters: each part of the text is seen about six times. It takes ten seconds or more; the
# view shows the loss as it falls, and the cell after it waits for the end. Where will the held-out loss be?

# %%
Predict("trained", "The held-out loss after 500 steps:", options=["about 3.05", "about 2.35", "below 2.1"])

# %% tags=["measured", "nbval-ignore-output"]
gpt = new()
scores = ways[quickest](gpt)
adam = mg.optim.Adam(gpt.parameters(), 0.004, betas=(0.9, 0.98))  # the betas are those of section 5.3 of the paper
scores.named_parameters = gpt.named_parameters  # so that the view has the names of layers
view = TrainingView(scores, mg.cross_entropy, batches, adam)
view.run(len(batches))

# %%
rows = len(held) // 64
held_x = mg.tensor(held[: 64 * rows].reshape(rows, 64))
held_y = mg.tensor(held[1 : 64 * rows + 1])


def held_out(net):
    with mg.no_grad():
        return mg.cross_entropy(net(held_x).flatten(0, 1), held_y).item()


assert view.wait().state == "finished", view.text
by_gpt = held_out(gpt)
gates("better than pairs", by_gpt < by_pairs - 0.25, f"a held-out loss below {by_pairs - 0.25:.2f}", by_gpt)
reveal("trained", "below 2.1" if by_gpt < 2.1 else "about 2.35" if by_gpt < 2.7 else "about 3.05")

# %% tags=["measured", "nbval-ignore-output"]
print(f"held-out loss {by_gpt:.2f}, as unsure as a choice among {np.exp(by_gpt):.1f} letters\n")
print(write(gpt, "Alice was ", 300))

# %% [markdown]
# Words, or nearly; spaces and commas where they may be; and no sense. The table of pairs remembers one letter, and this
# network 64. How well it writes, only you can judge; how well it *predicts* unseen text, a number says.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. While it trains: what would the curve look like with a rate of 0.03, and what if each letter saw
# those behind it, too?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where the FLOPs are
#
# A rule of thumb says that a step costs 6 FLOPs for each parameter and each letter: 2 forward, for a product and an
# addition, and twice that for the walk back. How many are counted here?

# %%
cost = estimate(gpt, x)
Predict("rule", "FLOPs of forward and backward, for each parameter and letter:", tolerance=1)

# %%
L, C = 64, 64  # letters of a row, channels
dense = 2 * (3 + 1 + 4 + 4) * C**2 + 65 * C  # for a letter: queries, keys, values; out; mlp; in two blocks; scores
on_paper = 8 * (L * dense + 2 * (2 * L**2 * C))  # and for a row twice a product with L times L scores, in two blocks
gates("FLOPs as on paper", cost.macs == on_paper, f"{on_paper:,} multiply-adds", cost.macs)
per = cost.train_flops / (cost.parameters * x.size)
display(reveal("rule", round(per, 1)), cost)

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "subslide"}
with mg.profiler.profile(with_flops=True) as prof:
    step(scores_of(gpt), mg.optim.Adam(gpt.parameters(), 0.0), x, y)
ran = sum(event.flops for event in prof.events())
gates("FLOPs as run", abs(ran / cost.train_flops - 1) < 1e-3, "those of the estimate, and 0.1 % for the loss", ran)
prof

# %% [markdown]
# *The pictures: the FLOPs of a step, forward in blue, backward in brown and dashed: two equal blocks, and in each the
# network after the attention (`mlp`) has more than half; and the time of a step, operation by operation.*
#
# The rule leaves out the two products of attention that have no parameters, the part that grows with the square of the
# length. Then look for what is wide in the second picture and narrow in the first: GELU and LayerNorm (`standardise`)
# have few FLOPs and take much more of the time, because they go over memory and do little with each number. That is
# lesson 18, on your own model.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask where they would begin to make it quicker, and let them name the number of the profile that says so.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Twice, to keep less
#
# Each block becomes a checkpoint (lesson 21). What share of the bytes saved for backward is left, at most?


# %%
class Twice(mg.nn.Module):
    def __init__(self, block):
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x)


def measured(net):
    """The gradient, and the ledger of its step."""
    net.zero_grad()
    with mg.profiler.memory(net, inputs=[x], exact=False) as ledger:
        mg.cross_entropy(net(x).flatten(0, 1), y).backward()
    return np.concatenate([p.grad.numpy().ravel() for p in net.parameters()]), ledger


Predict("kept", "What is saved at most, in percent of that without checkpoints:", tolerance=8)

# %%
gradient, plain = measured(gpt)
blocks, gpt.blocks = gpt.blocks, mg.nn.ModuleList(map(Twice, gpt.blocks))
again, thrifty = measured(gpt)
gpt.blocks = blocks

most = [max(at.by_consumer["saved for backward"] for at in ledger.timeline()) for ledger in (plain, thrifty)]
print(f"saved {most[0]:,} and {most[1]:,} bytes; at the peak {plain.peak.total:,} and {thrifty.peak.total:,}")
apart = abs(gradient - again).max()
gates("checkpoints: same gradient", apart == 0, "the same to the bit", apart)
display(reveal("kept", round(100 * most[1] / most[0])), MemoryTimeline(thrifty))

# %% [markdown]
# *The picture: bytes over the operations of a step. Two hills, one for each block that runs a second time.* About half
# is left, and the gradient is the same to the bit. With two blocks there is not more to save; with a hundred there
# would be.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Sixteen bits
#
# Forty steps in float32, and forty under autocast in bfloat16 (lesson 20). This is *emulated*: NumPy rounds each result
# to sixteen bits and is slower for it, so we learn what happens to the loss and to the bytes, and nothing about time.
# What share of what is saved for backward is left?

# %%
Predict("sixteen", "Saved for backward in bfloat16, in percent of that in float32:", tolerance=5)

# %%
with mg.autocast(dtype=mg.bfloat16):
    _, half = measured(gpt)
most.append(max(at.by_consumer["saved for backward"] for at in half.timeline()))
ends = {}
for enabled in (False, True):
    net = new()
    adam = mg.optim.Adam(net.parameters(), 0.003)
    for each, came in batches[:40]:
        adam.zero_grad()
        with mg.autocast(dtype=mg.bfloat16, enabled=enabled):
            loss = mg.cross_entropy(net(each).flatten(0, 1), came)
        loss.backward()
        adam.step()
    ends[enabled] = held_out(net)
apart = abs(ends[True] - ends[False])
gates("sixteen bits: same learning", apart < 0.02, "held-out losses less than 0.02 apart", apart)
print(f"held-out losses of {ends[False]:.1f} and {ends[True]:.1f}; saved {most[0]:,} and {most[2]:,} bytes")
reveal("sixteen", round(100 * most[2] / most[0]))

# %% [markdown]
# More than half: LayerNorm, the softmax and the loss compute in float32 under autocast, and so they keep float32. And
# weights, their gradients and Adam's two copies stay in float32 anyway.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for both. The two go together in practice, and both change nothing that one would see in the text.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two processes
#
# Here are two real processes, each with 8 of 16 rows, whose gradients are averaged by MPI (lesson 22). The cell is a
# program of its own: it knows nothing of this notebook, and builds the network anew. Each process sends back every
# hundredth number of its gradient. Are the two gradients equal to each other, and to that of one process with all 16
# rows?

# %%
# %%parallel -n 2 -o some
import numpy as np

import minigrad as mg
import minigrad.distributed as dist
from minigrad.zoo.transformers import GPT, Size

dist.init_process_group()
text = mg.data.text()
letters = sorted(set(text))
rows = slice(8 * dist.get_rank(), 8 * dist.get_rank() + 8)
seen = np.array([letters.index(letter) for letter in text[: 65 * 16]]).reshape(16, 65)[rows]
mg.manual_seed(0)
net = GPT(Size(layers=2, heads=4, channels=64), 65, 64, dropout=0.0, dtype=mg.float32)
gpt = dist.DistributedDataParallel(net)
mg.cross_entropy(gpt(mg.tensor(seen[:, :-1])).flatten(0, 1), mg.tensor(seen[:, 1:].ravel())).backward()
some = np.concatenate([p.grad.numpy().ravel() for p in net.parameters()])[::100]
print(f"rank {dist.get_rank()}: rows {rows.start} to {rows.stop - 1}")

# %%
net, seen = new(), numbers[: 65 * 16].reshape(16, 65)
mg.cross_entropy(net(mg.tensor(seen[:, :-1])).flatten(0, 1), mg.tensor(seen[:, 1:].ravel())).backward()
alone = np.concatenate([p.grad.numpy().ravel() for p in net.parameters()])[::100]
to_each_other = np.array_equal(some[0], some[1])
near = np.allclose(some[0], alone, rtol=1e-3, atol=1e-6)
gates("two processes: same gradient", to_each_other and near, "equal, and that of 16 rows", (to_each_other, near))
print("equal to that of one process:", "to the bit" if np.array_equal(some[0], alone) else "up to rounding")

# %% [markdown]
# They are equal to each other to the bit, since both got the same sum; and equal up to rounding to that of one process,
# where sixteen rows were added up in another order. If the two were not equal to the bit, their weights would drift
# apart with each step.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Out of Python, and smaller
#
# The graph goes into a file that other engines read (lesson 24), and its linear layers into int8 (lesson 19). The
# tables of letters and places stay in float32. What share of the bytes is left, and how much does the loss grow? (In
# int8 two engines agree less closely: a number between two steps may be rounded up by one of them and down by the
# other.)

# %%
keep = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
folder, tiny = Path(keep.name), mg.quantization.quantize_dynamic(gpt)


def nbytes(net):
    return sum(t.nbytes for t in net.state_dict().values())


def elsewhere(net, path):
    """The network in ONNX Runtime; where that is missing, read back by mg.onnx."""
    mg.onnx.export(net, (x,), path, input_names=["letters"], output_names=["scores"], dynamic_axes={"letters": [0]})
    if not find_spec("onnxruntime"):
        return mg.onnx.load(path)
    from onnxruntime import InferenceSession

    session = InferenceSession(path)
    return lambda x: mg.tensor(session.run(None, {"letters": x.numpy()})[0])


Predict("int8", "Bytes in int8, in percent of those in float32:", tolerance=5)

# %%
if find_spec("onnx"):
    apart = {}
    for name, net in (("alice", gpt), ("tiny", tiny)):
        there = elsewhere(net, folder / f"{name}.onnx")
        apart[name] = abs(there(x).numpy() - net(x).detach().numpy()).max()
    gates("ONNX: same scores", apart["alice"] < 1e-3 and apart["tiny"] < 0.1, "1e-3 apart, and 0.1 in int8", apart)
else:
    gates.left_out("ONNX: same scores", "it needs python3 start.py add onnx; a browser cannot have it")
share, lost = nbytes(tiny) / nbytes(gpt), held_out(tiny) - by_gpt
print(f"{nbytes(gpt):,} bytes in float32, {nbytes(tiny):,} in int8; loses less than 0.02: {lost < 0.02}")
gates("int8: smaller, and as good", share < 0.4 and lost < 0.02, "< 40 % of the bytes, < 0.02 lost", (share, lost))
reveal("int8", round(100 * share))

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. A gate with a tolerance needs a reason for its tolerance. Let the room find one for each of the two.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## At your service
#
# **Serving** means answering requests with a model, in a process that does nothing else. It gets a file with the graph,
# and none of our code; this notebook asks it over HTTP, as anybody could. It also shows a page: a text, a button, and
# some 60 lines of program in the browser that ask for scores and draw letters. Everything stays on your machine. Follow
# the link, and let it write (Tab and Enter will do); when you have seen enough, run the cell after it, which asks for
# scores, too, and ends the server. (If you ran all cells at once, it has already ended: run these two again.)

# %% tags=["measured", "nbval-ignore-output"]
mg.save(folder / "alice.mg", gpt, (mg.TensorSpec((None, 64), mg.int64),))
page = files("minigrad.serving").joinpath("write.html").read_text("utf-8")
(folder / "page.html").write_text(page.replace("__LETTERS__", json.dumps(LETTERS)), "utf-8")
address = ""
if find_spec("uvicorn") and find_spec("httptools") and find_spec("starlette"):
    command = [sys.executable, "-m", "minigrad", "serve", folder / "alice.mg", "--page", folder / "page.html"]
    server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    atexit.register(server.kill)  # whatever becomes of this notebook
    address = re.search(r"http://[\d.]+:\d+", server.stdout.readline())[0]
absent = "A server needs <code>python3 start.py add serve</code>, and a browser cannot start one."
HTML(f'<a href="{address}" target="_blank">Write on with Alice</a>' if address else absent)

# %%
if address:
    body = json.dumps({"instances": x[:2].tolist()}).encode()
    with urllib.request.urlopen(f"{address}/v1/models/alice:predict", body) as answer:
        served = np.array(json.load(answer)["predictions"])
    with mg.no_grad():
        apart = abs(served - gpt(x[:2]).numpy()).max()
    gates("served: same scores", apart < 1e-3, "less than 1e-3 apart", apart)
    server.terminate()
    with suppress(subprocess.TimeoutExpired):
        server.wait(20)
    gates("the server has ended", server.poll() is not None, "an end within 20 s", "none")
    address = ""
else:
    gates.left_out("served: same scores", "no server: the cell above says what it needs")
    gates.left_out("the server has ended", "there was none")

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Let it carry on from their own sentences. Then ask what a stranger could do to this server, and what
# it refuses: the wrong length, a letter above 64, a body of a gigabyte. docs/serving.md has the list.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Faster is better?
#
# Four models stand side by side: our GPT; the same in int8; one that was trained for 100 steps only, a fifth of the
# time; and the table of pairs from the beginning. Which of them is the quickest to answer?

# %%
short = new()
scores, adam = scores_of(short), mg.optim.Adam(short.parameters(), 0.004, betas=(0.9, 0.98))
for each in batches[:100]:
    step(scores, adam, *each)
models = {"GPT": gpt, "GPT in int8": tiny, "GPT, 100 steps": short}
Predict("quick", "Which answers first?", options=["GPT", "GPT in int8", "GPT, 100 steps", "the table of pairs"])

# %% tags=["measured", "nbval-ignore-output"]
line = x[:1]
answering = {name: (lambda net=net: net(line)) for name, net in models.items()}
times = in_turns(rounds=5, **answering, **{"the table of pairs": lambda: pairs[line.numpy()]})
for name, each in times.items():
    print(f"{name:18} answers in {each / times['GPT']:.2f} of the GPT's time")
reveal("quick", min(times, key=lambda name: times[name].quartiles[1]))

# %%
table = {name: (nbytes(net), held_out(net)) for name, net in models.items()}
table["the table of pairs"] = (65 * 65 * 4, by_pairs)
grades = {"below 2.1": 2.1, "2.1 to 2.4": 2.4, "above 2.4": np.inf}
print(f"{'':18}    bytes   held-out loss   steps of training")
for name, (size, loss) in table.items():
    steps = {"GPT, 100 steps": 100, "the table of pairs": 0}.get(name, 500)
    print(f"{name:18} {size:8,}   {next(text for text, most in grades.items() if loss < most):13} {steps:8}")
Predict(
    "need",
    "200,000 bytes at most, and as good as possible:",
    options=["GPT", "GPT in int8", "GPT, 100 steps", "the table of pairs"],
)

# %%
fitting = [name for name, (size, _) in table.items() if size <= 200_000]
reveal("need", min(fitting, key=lambda name: table[name][1]))

# %% [markdown]
# The quickest has a loss of 2.35. The GPT after 100 steps does not reach even that: it was trained in a fifth of the
# time, and is worse than a table. How quick a model is, is one number among others, and which of them counts depends on
# what somebody *needs*.
#
# For 200,000 bytes int8 is the right one, though in NumPy it is not quicker. With a microsecond for each letter it
# would be the table; with no limit but the reader's patience, the GPT. Whoever asks "which is the fastest?" has not yet
# said what it is for.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Have each pair write down a need for which its neighbour's choice is wrong.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Somebody forgets the shift: the letter to be guessed is the one that is already there, `x` itself
# in place of what comes next. What is the training loss after 60 steps?

# %%
Predict("leak", "The loss after 60 steps, without the shift:", options=["above 2", "1 to 2", "below 0.1"])

# %%
leaky = new()
scores, adam = scores_of(leaky), mg.optim.Adam(leaky.parameters(), 0.003)
for each, _ in batches[:60]:
    loss = step(scores, adam, each, each.flatten())
gates("no better than a reader", loss > 0.4, "a loss above 0.4, a good reader's", f"{loss:.1f}")
print(write(leaky, "Alice", 20, temperature=0.1))
reveal("leak", "below 0.1" if loss < 0.1 else "1 to 2" if 1 < loss < 2 else "above 2")

# %% [markdown]
# No error, the best curve of the day, and it repeats its last letter for ever. A missing mask would look the same. A
# loss that is too good is a finding, not a success. So there is a gate on the *other* side, and here it fails, as it
# should: people who guessed the next letter of a book were at 0.6 to 1.3 bits; times ln 2 that is 0.4 to 0.9, as our
# losses are counted.
#
# Here are all the gates of this lesson; only that last one should fail:

# %%
gates

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("25_a_small_gpt")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.function(step, jit_compile=True)` | `torch.compile` | `@tf.function(jit_compile=True)` | `@jax.jit` |
# | `mg.profiler.profile()` | `torch.profiler.profile()` | `tf.profiler.experimental` | `jax.profiler.trace` |
# | `checkpoint(block, x)` | `torch.utils.checkpoint.checkpoint` | `tf.recompute_grad` | `jax.checkpoint` |
# | `mg.quantization.quantize_dynamic` | torchao | LiteRT's converter | `aqt`, `qwix` |
# | `mg.onnx.export` | `torch.onnx.export` | `tf2onnx` | `jax.export`, and StableHLO |
# | `minigrad serve` | Triton, vLLM | TensorFlow Serving | `jax2tf`, and TensorFlow Serving |
#
# On a phone: ExecuTorch, which took PyTorch Mobile's place; LiteRT, which was called TF Lite; ONNX Runtime. [Four
# frameworks, side by side](COMPARISON.md) goes through all of this question by question.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A loss means something beside a baseline that is counted: ln 65, letters, pairs.
# - Each change to a trained model is a claim, *the same but smaller, quicker, elsewhere*, and each claim needs a gate.
# - A step has about 6 FLOPs for each parameter and letter. Time goes elsewhere, too; a profile says where.
# - Gradients are equal to the bit under checkpoints and between processes; up to rounding where sums are taken in
#   another order.
# - Faster is better only between equals. First comes what is needed.
#
# **Sources.** A. Vaswani and others, *Attention is all you need*, arXiv:1706.03762 (2017), sections 3 and 5.3. A.
# Radford and others, *Language models are unsupervised multitask learners* (2019), section 2.3: the network. J. Kaplan
# and others, *Scaling laws for neural language models*, arXiv:2001.08361 (2020), section 2.1: six FLOPs. C. E. Shannon,
# *Prediction and entropy of printed English*, Bell System Technical Journal 30 (1951), section 2: counted letters and
# pairs; section 6: what readers know. D. Sculley and others, *Hidden technical debt in machine learning systems*,
# NeurIPS (2015), section 2: why gates.
#
# **Exercise.** [25 Before it ships](../exercises/25_a_small_gpt.ipynb): a letter drawn by hand, a loss that is counted,
# the work that a cache saves, a version for each need, and a GPT of your own through four gates.
#
# **Next:** change something here. Let the batches have 32 rows, and take a quarter of the steps. The same number of
# letters is read: will the held-out loss be the same? Write down your guess before you run it.
