# ---
# jupyter:
#   minigrad:
#     title: A small GPT
#     minutes: 60
#     objectives:
#       - train a language model, and judge its loss by what counting letters already gives
#       - take one model through all the tools of this course, with a gate for each that can fail
#       - read in a profile where its FLOPs and its time go
#       - export it, make it smaller, serve it, and let it write for anybody who asks
#       - choose between versions of a model by what is needed
#     concepts: [G2, G5]
#     builds_on:
#       - 15_compiled_code
#       - 19_smaller
#       - 22_many_workers_one_gradient
#       - 23_one_model_many_workers
#       - 24_out_of_python
#     widgets: [GraphView, Predict, Quiz, TrainingView]
#     terms:
#       language model: a function that says of each piece of a text how likely it is to come next
#       held-out loss: the loss on data that training never sees
#       baseline: the result of a much simpler method, with which a result is compared
#       gate: a condition that a piece of work must meet before it goes on, checked by a program
#       serving: answering requests with a model, in a process that does only that
#       temperature: what scores are divided by before a softmax; below 1 the likely becomes likelier
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 25 A small GPT
#
# Tonight your model goes online. It continues *Alice's Adventures in Wonderland*, strangers type the beginning, and it
# answers. Is it good? Is the small version that you serve still the same model? Would you notice if it had cheated in
# training?
#
# In lesson 00 a smaller one learned to write words, and you saw it as a picture of closed boxes. Since then each lesson
# has opened one of them. **Can you now do all of it?** You train this GPT, profile it, make it smaller in three ways,
# take it out of Python, and let it answer over HTTP. At each step there is a **gate**: a condition that a program
# checks before the work goes on. If a gate fails, it says what was wanted and what it got.
#
# **About 60 minutes.** Afterwards you can
#
# - train a language model, and judge its loss by what counting letters already gives;
# - take one model through all the tools of this course, with a gate for each that can fail;
# - read in a profile where its FLOPs and its time go;
# - export it, make it smaller, serve it, and let it write for anybody who asks;
# - choose between versions of a model by what is needed.
#
# **Builds on** [15 Compiled code](15_compiled_code.ipynb), [19 Smaller](19_smaller.ipynb), [22 Many workers, one
# gradient](22_many_workers_one_gradient.ipynb), [23 One model, many workers](23_one_model_many_workers.ipynb) and [24
# Out of Python](24_out_of_python.ipynb). Some steps need software that may be missing on your machine, such as ONNX
# Runtime. The cell then says so, and the lesson goes on.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Open lesson 00 next to this one. Ask which of the tools of the course the room would use before letting
# strangers talk to the model. Keep the list: the gates of this lesson are ours.

# %% slideshow={"slide_type": "skip"}
import json
import tempfile
import urllib.request
import warnings
from importlib.util import find_spec
from inspect import getsource
from pathlib import Path

import numpy as np
from IPython.display import HTML, display

import minigrad as mg
from minigrad.backends.native.toolchain import compiler
from minigrad.course import Gates, Guess, Predict, Quiz, in_turns, one_thread, reveal, reveal_range
from minigrad.course.server import start_server, stop_server
from minigrad.profiler import estimate
from minigrad.utils.checkpoint import checkpoint
from minigrad.widgets import GraphView, TrainingView
from minigrad.zoo.transformers import GPT, CausalSelfAttention, Size, TransformerBlock

gates = Gates()
# %load_ext minigrad.course.parallel

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What counting gives
#
# A **language model** says how likely each letter is to come next. Its loss is that of lesson 03: minus the logarithm
# of the probability that it gave to the letter that really came, on average. Our text has 65 different letters (a space
# and a comma count as letters, too). A model that knows nothing gives each of them 1/65, so its loss is ln 65 = 4.17.
# We set the last 5,225 letters of the text apart. The loss on them is the **held-out loss**.
#
# Before we train anything, we count. If you know only how often each letter occurs, the loss is 3.05. Now count how
# often each letter comes *after each other letter*: after q nearly always u. You cannot compute that loss in your head,
# so this is a guess.

# %%
text = mg.data.text()
LETTERS = sorted(set(text))
numbers = np.array([LETTERS.index(letter) for letter in text])
learn, held = numbers[:40_000], numbers[40_000:]
Guess("pairs", "The held-out loss of counted pairs:", tolerance=0.2)

# %%
letters = np.bincount(learn, minlength=65) + 0.1  # 0.1 more for each, so that no probability is 0
pairs = np.full((65, 65), 0.1)
np.add.at(pairs, (learn[:-1], learn[1:]), 1)
pairs /= pairs.sum(1, keepdims=True)
by_letters = -np.log((letters / letters.sum())[held]).mean()
by_pairs = -np.log(pairs[held[:-1], held[1:]]).mean()
display(reveal("pairs", round(by_pairs, 2)))
print(f"nothing {np.log(65):.2f}   letters {by_letters:.2f}   pairs {by_pairs:.2f}")

# %% [markdown]
# This is our **baseline**: a table of 65 · 65 numbers, no training, and one lookup for each letter. A network with
# 100,000 parameters that is not clearly better is not worth its electricity. ($e^{2.35}$ is 10.5: the table is as
# unsure as somebody who chooses among ten letters.)

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Without a baseline any loss looks like progress: from 4.17 to 3.05 nothing was understood at all. Ask
# what a baseline for the room's own last project was.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All of it
#
# Here is the whole network, as its classes define it. It has a table for 65 letters and one for 64 places, with 64
# numbers in each row. Two blocks follow, and then the scores for the next letter. With `is_causal=True` a letter does
# not see the letters after it. What is the loss before any training?


# %%
def new_gpt():
    """A GPT that has not been trained, always with the same numbers."""
    mg.manual_seed(0)
    return GPT(Size(layers=2, heads=4, channels=64), len(LETTERS), 64, dropout=0.0, dtype=mg.float32)


for cls in (GPT, TransformerBlock, CausalSelfAttention):
    print(f"class {cls.__name__}:", getsource(cls.forward), sep="\n")
Predict("begins", "The loss before training:", tolerance=0.7)

# %%
rng = np.random.default_rng(1)


def batch(rows=8):
    """Rows of 64 letters from somewhere in the text, and for each letter the one that came next."""
    chosen = learn[rng.integers(0, len(learn) - 64, rows)[:, None] + np.arange(65)]
    return mg.tensor(chosen[:, :-1]), mg.tensor(chosen[:, 1:].ravel())


def scores_of(net):
    """The network as a function with one row of scores for each letter."""
    return lambda x: net(x).flatten(0, 1)


gpt, batches = new_gpt(), [batch() for _ in range(500)]
x, y = batches[0]
loss = mg.cross_entropy(scores_of(gpt)(x), y)
reveal("begins", round(loss.item(), 1))

# %% [markdown]
# The loss is a little above ln 65 = 4.17. This network does not give each letter the same score. Look at `GPT.forward`:
# the table `token` looks the letters up at the beginning, and the same table makes the scores at the end. So an
# untrained network prefers the letter that it has just read, which is rarely the next. A loss far above 4.17 would mean
# that some numbers begin too large. This is the cheapest gate there is.

# %% [markdown]
# ### The boxes of lesson 00
#
# Here is the picture of lesson 00 again:

# %%
print(f"{sum(p.size for p in gpt.parameters()):,} parameters, loss {loss.item():.2f}")
gates("knows nothing yet", abs(loss.item() - np.log(65)) < 1, "a loss within 1 of ln 65", loss.item())
GraphView(lambda: mg.cross_entropy(scores_of(gpt)(x), y))

# %% [markdown]
# You have opened all its boxes:
#
# | box | what it is | opened in |
# |---|---|---|
# | `[ ]`, looking up | a row for each letter and each place; its gradients add up where a letter comes twice | 02, 17 |
# | *affine* | a product of matrices and an addition; its shapes and its gradient | 04 |
# | *reshape*, *transpose* | the same numbers in another shape, not copied | 04, 14 |
# | *attention* | two products and a softmax; what of it grows as $L^2$ | 16, 17 |
# | *gelu* | a curve between two *affine* (03 says why there is a curve); many small operations, fused into one | 13 |
# | *standardise* | LayerNorm: the numbers of each letter rescaled to a common size | 21 |
# | `+` twice in a block | ways around, which keep earlier values alive for longer | 16 |
# | *cross entropy*, *mean* | the loss, one number | 03 |
# | arrows, walked back | the chain rule; what is saved, and for how long | 02, 06 |
# | *×2* | what repeats: checkpoints, and where to cut for several workers | 21, 23 |
# | the whole graph, written down once | placeholder, trace, passes, memory, code | 09 to 15 |
# | each number in it | 64, 32, 16 or 8 bits | 19, 20 |
# | the same graph elsewhere | several processes; a file; another engine | 22, 24 |
#
# Now let it write. It sees the last 64 letters. A shorter text is filled up with zeros at the *end*. They do no harm,
# because each place looks only at itself and at the places before it. The next letter is drawn by its probability.
# Before that, the scores are divided by the **temperature**. A low one makes the likely letters likelier; a high one
# makes all more alike.


# %%
def write(scores, start, n, temperature=0.8):
    """The start, and n letters more."""
    rng, written = np.random.default_rng(0), start
    for _ in range(n):
        seen = [LETTERS.index(letter) for letter in written[-64:]]
        with mg.no_grad(), one_thread:
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
# We can run this network eagerly, traced, and as native code where a C++ compiler is installed (lessons 06, 11 and 15).
# Each way takes five steps from the same start. The losses will not be the same to the last bit, because sums are added
# up in another order. But they must agree to one part in ten thousand.

# %%
ways = {"eager": scores_of, "traced": lambda net: mg.function(scores_of(net), jit_compile=True)}
with warnings.catch_warnings(action="ignore"):  # a warning that there is no compiler
    if compiler():
        ways["native"] = lambda net: mg.function(scores_of(net), jit_compile="native")
    else:
        print("Native code needs a C++ compiler: python3 start.py add native brings one, but not to a browser.")


def step(scores, adam, x, y):
    """One step of training. Returns the loss."""
    adam.zero_grad()
    with one_thread:  # the products are small, and several threads would mostly wait for each other
        loss = mg.cross_entropy(scores(x), y)
        loss.backward()
    adam.step()
    return loss.item()


losses = {}
for name, way in ways.items():
    net = new_gpt()
    scores, adam = way(net), mg.optim.Adam(net.parameters(), 0.003)
    losses[name] = np.array([step(scores, adam, *pair) for pair in batches[:5]])
apart = max(abs(five / losses["eager"] - 1).max() for five in losses.values())
gates("three ways agree", apart < 1e-4, "losses within 1e-4", apart)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Which way is the quickest here?
#
# You can follow the lesson without what is folded here: the time of a step in each way, on your machine.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
net = new_gpt()
adam = mg.optim.Adam(net.parameters(), 0.0)
runs = {name: way(net) for name, way in ways.items()}
times = in_turns(rounds=5, **{name: (lambda f=f: step(f, adam, x, y)) for name, f in runs.items()})
for name, time in times.items():
    print(f"{name:6}  {x.size / time.quartiles[1]:7,.0f} letters a second, {time / times['eager']:.2f} of eager's time")

# %% [markdown] slideshow={"slide_type": "skip"}
# Where this lesson was tried, a traced step took from two thirds of an eager step's time to all of it. Most of the time
# goes into products of matrices, and these are NumPy's in all three ways. A compiler can save only what lies between
# them.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Training
#
# Now we train: 500 steps of 8 rows, 256,000 letters in all, so each part of the text is seen about six times. This
# takes ten seconds or more. The view shows the loss as it falls, and the cell after it waits for the end. Guess first:
# where will the held-out loss be? (Single letters have 3.05, pairs 2.35.)

# %%
Guess("trained", "The held-out loss:", options=["below 2.1", "2.1 to 2.35", "2.35 to 3.05", "above 3.05"])

# %% tags=["measured", "nbval-ignore-output"]
gpt = new_gpt()
scores = ways.get("native", ways["traced"])(gpt)
adam = mg.optim.Adam(gpt.parameters(), 0.004, betas=(0.9, 0.98))  # the betas are those of section 5.3 of the paper
scores.named_parameters = gpt.named_parameters  # so that the view has the names of layers
view = TrainingView(scores, mg.cross_entropy, batches, adam)
view.run(len(batches))

# %%
rows = len(held) // 64
held_x = mg.tensor(held[: 64 * rows].reshape(rows, 64))
held_y = mg.tensor(held[1 : 64 * rows + 1])


def held_out(net, wanted=held_y):
    """The loss on letters that training never saw."""
    with mg.no_grad():
        return mg.cross_entropy(net(held_x).flatten(0, 1), wanted).item()


assert view.wait().state == "finished", view.text
by_gpt = held_out(gpt)
display(reveal_range("trained", by_gpt, 2.1, 2.35, 3.05))
gates("better than pairs", by_gpt < by_pairs - 0.25, f"a held-out loss below {by_pairs - 0.25:.2f}", by_gpt)

# %% tags=["measured", "nbval-ignore-output"]
print(f"held-out loss {by_gpt:.2f}, as unsure as a choice among {np.exp(by_gpt):.1f} letters\n")
print(write(gpt, "Alice was ", 300))

# %% [markdown]
# There are words, or nearly; spaces and commas where they may be; and no sense. The table of pairs remembers one
# letter, and this network 64. How well it writes, only you can judge. How well it *predicts* text that it never saw, a
# number can say.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. While it trains: what would the curve look like with a rate of 0.03? And what if each letter saw those
# after it, too?

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Where the FLOPs are
#
# A rule of thumb says that a training step costs 6 FLOPs for each parameter and each letter. Forward takes 2, a product
# and an addition; the walk back takes twice as many. The rule looks only at products of numbers *with parameters*. How
# many FLOPs do you expect for our GPT, where 64 letters attend to each other with 64 numbers each?

# %%
cost = estimate(gpt, x)
Predict("rule", "FLOPs for each parameter and letter:", options=["below 5.8", "5.8 to 6.2", "above 6.2"])

# %%
L, C = 64, 64  # letters of a row, channels
dense = 2 * (3 + 1 + 4 + 4) * C**2 + 65 * C  # for a letter: queries, keys, values; out; mlp; in two blocks; scores
on_paper = 8 * (L * dense + 2 * (2 * L**2 * C))  # and for a row twice a product with L times L scores, in two blocks
per_parameter = cost.train_flops / (cost.parameters * x.size)
display(reveal_range("rule", per_parameter, 5.8, 6.2))
gates("FLOPs as on paper", cost.macs == on_paper, f"{on_paper:,} multiply-adds", cost.macs)
print(f"{per_parameter:.1f} FLOPs for each parameter and letter")
cost

# %% [markdown]
# It is about 7. The rule leaves out the two products of attention that have no parameters, the part that grows with the
# square of the length: they add 0.91. Softmax, GELU, LayerNorm and the additions add 0.45. On the other side the rule
# counts biases, LayerNorm's weights and the table of places, which have no product: that is 0.33 too much.
#
# *The picture: the FLOPs of a step, forward in blue, backward in brown and dashed. There are two equal blocks, and in
# each the network after the attention (`mlp`) has more than half.*

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "subslide"}
with mg.profiler.profile(with_flops=True) as prof:
    step(scores_of(gpt), mg.optim.Adam(gpt.parameters(), 0.0), x, y)
ran = sum(event.flops for event in prof.events())
gates("FLOPs as run", abs(ran / cost.train_flops - 1) < 1e-3, "those of the estimate, and 0.1 % for the loss", ran)
prof

# %% [markdown]
# *The picture: the time of a step, operation by operation.*
#
# Look for what is wide in this picture and narrow in the one before. GELU and LayerNorm (`standardise`)
# have few FLOPs and take much more of the time, because they read and write a lot of memory and do little with each
# number. That is lesson 18, on your own model.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask where they would begin to make it quicker, and let them name the number of the profile that says so.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Less to keep
#
# Most of the memory of training is what forward saves for backward. You know two ways to save less. Each block can
# become a checkpoint, which backward runs a second time (lesson 21); we have two blocks. Or autocast computes in
# bfloat16, with sixteen bits for a number (lesson 20). There it is *emulated*: NumPy rounds each result and is slower
# for it, so we look at bytes and losses, not at time. Which of the two saves more bytes here?

# %%
Guess("less", "Fewer bytes saved for backward:", options=["checkpoints", "sixteen bits", "the same, within 5 percent"])


# %%
class Twice(mg.nn.Module):
    """A block as a checkpoint: backward runs it a second time."""

    def __init__(self, block):
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x)


def measure_step(net):
    """The gradient of a step, and the most bytes that were saved for backward."""
    net.zero_grad()
    with mg.profiler.memory(net, inputs=[x], exact=False) as ledger:
        mg.cross_entropy(net(x).flatten(0, 1), y).backward()
    saved = max(moment.by_consumer["saved for backward"] for moment in ledger.timeline())
    return np.concatenate([p.grad.numpy().ravel() for p in net.parameters()]), saved


# %%
gradient, plain = measure_step(gpt)
blocks, gpt.blocks = gpt.blocks, mg.nn.ModuleList(map(Twice, gpt.blocks))
again, twice = measure_step(gpt)
gpt.blocks = blocks
with mg.autocast(dtype=mg.bfloat16):
    _, half = measure_step(gpt)
closer = abs(twice - half) < 0.05 * plain
display(reveal("less", "the same, within 5 percent" if closer else "checkpoints" if twice < half else "sixteen bits"))
print(f"saved for backward: plain {plain:,} bytes, checkpoints {twice / plain:.0%}, sixteen bits {half / plain:.0%}")
apart = abs(gradient - again).max()
gates("checkpoints: same gradient", apart == 0, "the same to the bit", apart)

# %% [markdown]
# With checkpoints about half is left, and the gradient is the same to the last bit. With two blocks there is no more to
# save; with a hundred blocks there would be. Sixteen bits leave *more* than half: LayerNorm, the softmax and the loss
# compute in float32 under autocast, so they keep float32.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes for both. The two go together in practice, and neither changes anything that a reader would notice in the
# text.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Does it learn as well with sixteen bits?
#
# You can follow the lesson without what is folded here: forty steps in float32, and forty under autocast.

# %% slideshow={"slide_type": "skip"}
ends = {}
for enabled in (False, True):
    net = new_gpt()
    adam = mg.optim.Adam(net.parameters(), 0.003)
    for letters_in, letters_next in batches[:40]:
        adam.zero_grad()
        with one_thread, mg.autocast(dtype=mg.bfloat16, enabled=enabled):
            loss = mg.cross_entropy(net(letters_in).flatten(0, 1), letters_next)
        with one_thread:
            loss.backward()
        adam.step()
    ends[enabled] = held_out(net)
apart = abs(ends[True] - ends[False])
print(f"held-out losses of {ends[False]:.1f} and {ends[True]:.1f}")
gates("sixteen bits: same learning", apart < 0.02, "held-out losses less than 0.02 apart", apart)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## Two processes
#
# You can follow the lesson without what is folded here: lesson 22's all-reduce, on this GPT.

# %% [markdown] slideshow={"slide_type": "skip"}
# Here are two real processes. Each has 8 of 16 rows, and MPI averages their gradients (lesson 22). The cell is a
# program of its own: it knows nothing of this notebook, and builds the network again. Each process sends back every
# hundredth number of its gradient. Are the two gradients equal to each other, and to that of one process with all 16
# rows?

# %% slideshow={"slide_type": "skip"}
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

# %% slideshow={"slide_type": "skip"}
single, sixteen = new_gpt(), numbers[: 65 * 16].reshape(16, 65)
mg.cross_entropy(single(mg.tensor(sixteen[:, :-1])).flatten(0, 1), mg.tensor(sixteen[:, 1:].ravel())).backward()
alone = np.concatenate([p.grad.numpy().ravel() for p in single.parameters()])[::100]
to_each_other = np.array_equal(some[0], some[1])
near = np.allclose(some[0], alone, rtol=1e-3, atol=1e-6)
gates("two processes: same gradient", to_each_other and near, "equal, and that of 16 rows", (to_each_other, near))
print("equal to that of one process:", "to the bit" if np.array_equal(some[0], alone) else "up to rounding")

# %% [markdown] slideshow={"slide_type": "skip"}
# The two gradients are equal to each other to the last bit, since both processes got the same sum. They are equal up to
# rounding to that of one process, which adds up sixteen rows in another order. If the two were not equal to the bit,
# the weights of the two processes would drift apart with each step.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## What you built
#
# Optional: your ring, your Value and your pass, at work on this GPT.

# %% [markdown] slideshow={"slide_type": "skip"}
# In exercises 01, 13 and 22 you wrote parts of an engine. Here they meet the GPT. Where `check` has not passed yours
# yet, the course's code runs, and a sentence says so. First your ring: four workers have 4 of 16 rows each, and it adds
# up their gradients of 108,352 numbers. Does each worker end with the gradient of all 16 rows?

# %% slideshow={"slide_type": "skip"}
from minigrad.course.mine import mine
from minigrad.distributed.algorithms import messages

own_ring, own_gpt, own_rows = mine("22", "ring"), new_gpt(), numbers[: 65 * 16].reshape(16, 65)


def flat_gradient(rows):
    """The gradient of the mean loss over these rows, in one vector."""
    own_gpt.zero_grad()
    mg.cross_entropy(own_gpt(mg.tensor(rows[:, :-1])).flatten(0, 1), mg.tensor(rows[:, 1:].ravel())).backward()
    return np.concatenate([p.grad.numpy().ravel() for p in own_gpt.parameters()])


workers = np.stack([flat_gradient(own_rows[first : first + 4]) for first in range(0, 16, 4)])
for sent in messages(own_ring, 4, workers.shape[1]):
    chunks = [workers[m.source, m.part].copy() for m in sent]
    for m, chunk in zip(sent, chunks):
        workers[m.to, m.part] = workers[m.to, m.part] + chunk if m.add else chunk
ring_agrees = np.allclose(workers / 4, flat_gradient(own_rows), rtol=1e-3, atol=1e-6)
gates("your ring: same gradient", ring_agrees, "in each worker the gradient of 16 rows", ring_agrees)

# %% [markdown] slideshow={"slide_type": "skip"}
# Then your Value. The last step of the forward pass turns 65 scores into a loss, and backward starts there. The same
# formula with 65 Values must give the same 65 gradients. And your pass takes operations out of the graph of your
# example.

# %% slideshow={"slide_type": "skip"}
Value = mine("01", "Value")
gpt_scores = own_gpt(mg.tensor(own_rows[:1, :-1]))[0, 0].detach().requires_grad_()
mg.cross_entropy(gpt_scores.reshape(1, 65), mg.tensor(own_rows[0, 1:2])).backward()
own_scores = [Value(score) for score in gpt_scores.tolist()]
own_loss = sum(score.exp() for score in own_scores).log() - own_scores[own_rows[0, 1]]
own_loss.backward()
value_agrees = np.allclose([score.grad for score in own_scores], gpt_scores.grad.numpy(), atol=1e-5)
gates("your Value: same gradient", value_agrees, "the gradients of 65 scores", value_agrees)

my_pass, example = mine("13", "my_pass"), mine("13", "example")
own_graph = mg.function(example).graph_for(mg.ones(65))
print(f"your pass: {len(own_graph.nodes)} nodes before, {len(my_pass(own_graph).nodes)} after")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Out of Python, and smaller
#
# The graph goes into a file that other engines read (lesson 24), and its linear layers into int8, one byte for a number
# (lesson 19). The two tables, for 65 letters and for 64 places, stay in float32; each row has 64 numbers. All in all
# there are 108,352 parameters. What share of the bytes is left?
#
# (In int8 two engines agree less closely than in float32: one of them may round a number up, and the other down.)

# %%
Predict("int8", "Bytes in int8, in percent of those in float32:", tolerance=5)


# %%
def nbytes(net):
    """The bytes of all that a network stores."""
    return sum(t.nbytes for t in net.state_dict().values())


def run_elsewhere(net, path):
    """The network in ONNX Runtime; where that is missing, read back by mg.onnx."""
    mg.onnx.export(net, (x,), path, input_names=["letters"], output_names=["scores"], dynamic_axes={"letters": [0]})
    if not find_spec("onnxruntime"):
        return mg.onnx.load(path)
    from onnxruntime import InferenceSession

    session = InferenceSession(path)
    return lambda x: mg.tensor(session.run(None, {"letters": x.numpy()})[0])


tiny = mg.quantization.quantize_dynamic(gpt)
share = nbytes(tiny) / nbytes(gpt)
reveal("int8", round(100 * share))

# %%
temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
folder = Path(temporary.name)
lost = held_out(tiny) - by_gpt
print(f"{nbytes(gpt):,} bytes in float32, {nbytes(tiny):,} in int8; loses less than 0.02: {lost < 0.02}")
gates("int8: smaller, and as good", share < 0.4 and lost < 0.02, "< 40 % of the bytes, < 0.02 lost", (share, lost))
if find_spec("onnx"):
    apart = {}
    for name, net in (("alice", gpt), ("tiny", tiny)):
        there = run_elsewhere(net, folder / f"{name}.onnx")
        apart[name] = abs(there(x).numpy() - net(x).detach().numpy()).max()
    gates("ONNX: same scores", apart["alice"] < 1e-3 and apart["tiny"] < 0.1, "1e-3 apart, and 0.1 in int8", apart)
else:
    gates.left_out("ONNX: same scores", "it needs python3 start.py add onnx; a browser cannot have it")

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. A gate with a tolerance needs a reason for its tolerance. Let the room find one for each of the two.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## At your service
#
# **Serving** means answering requests with a model, in a process that does nothing else. `minigrad serve alice.mg`
# starts such a process. It gets the file with the graph, and none of our code. This notebook asks it over HTTP, as
# anybody could. It also shows a page: a text, a button, and some 60 lines of JavaScript that ask for scores and draw
# letters. Everything stays on your machine.
#
# Follow the link, and let it write. When you have seen enough, run the cell after it: it asks for scores, too, and ends
# the server. (If you ran all cells at once, the server has already ended: run these two cells again.)

# %% tags=["measured", "nbval-ignore-output"]
mg.save(folder / "alice.mg", gpt, (mg.TensorSpec((None, 64), mg.int64),))
server, address = start_server(folder / "alice.mg", LETTERS)
absent = "A server needs <code>python3 start.py add serve</code>, and a browser cannot start one."
HTML(f'<a href="{address}" target="_blank">Write with Alice</a>' if server else absent)

# %%
if server:
    request = json.dumps({"instances": x[:2].tolist()}).encode()
    with urllib.request.urlopen(f"{address}/v1/models/alice:predict", request) as answer:
        served = np.array(json.load(answer)["predictions"])
    with mg.no_grad():
        apart = abs(served - gpt(x[:2]).numpy()).max()
    gates("served: same scores", apart < 1e-3, "less than 1e-3 apart", apart)
    gates("the server has ended", stop_server(server), "an end within 20 s", "none")
    server = None
else:
    gates.left_out("served: same scores", "no server: the cell above says what it needs")

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes. Let it continue their own sentences. Then ask what a stranger could do to this server, and what it
# refuses: the wrong length, a letter above 64, a body of a gigabyte. docs/serving.md has the list.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Faster is better?
#
# Four models compete: our GPT; the same in int8; a GPT that was trained for 100 steps only, a fifth of the time; and
# the table of pairs from the beginning. The table answers first: it only looks up one row for each letter. Which of the
# four answers *last*?

# %%
short = new_gpt()
scores, adam = scores_of(short), mg.optim.Adam(short.parameters(), 0.004, betas=(0.9, 0.98))
for pair in batches[:100]:
    step(scores, adam, *pair)
models = {"GPT": gpt, "GPT in int8": tiny, "GPT, 100 steps": short}
Predict("quick", "Which answers last?", options=["GPT", "GPT in int8", "GPT, 100 steps", "the table of pairs"])

# %% tags=["measured", "nbval-ignore-output"]
line = x[:1]
answering = {name: (lambda net=net: net(line)) for name, net in models.items()}
with one_thread:
    times = in_turns(rounds=5, **answering, **{"the table of pairs": lambda: pairs[line.numpy()]})
display(reveal("quick", max(times, key=lambda name: times[name].quartiles[1])))
for name, time in times.items():
    print(f"{name:18} answers in {time / times['GPT']:.2f} of the GPT's time")

# %% [markdown]
# The GPT in int8: NumPy has no quick product of int8, and each layer has to round its inputs first.

# %%
table = {name: (nbytes(net), held_out(net)) for name, net in models.items()}
table["the table of pairs"] = (65 * 65 * 4, by_pairs)
grades = {"below 2.1": 2.1, "2.1 to 2.4": 2.4, "above 2.4": np.inf}
print(f"{'':18}    bytes   held-out loss   steps of training")
for name, (size, loss) in table.items():
    steps = {"GPT, 100 steps": 100, "the table of pairs": 0}.get(name, 500)
    print(f"{name:18} {size:8,}   {next(grade for grade, most in grades.items() if loss < most):13} {steps:8}")

# %% [markdown]
# The GPT after 100 steps was trained in a fifth of the time, and it is worse than a table of counted pairs. How quick a
# model is, is one number among others. Which of them counts depends on what you *need*.
#
# You may use 200,000 bytes? Then take int8, though in NumPy it is not quicker. You have a microsecond for each letter?
# Take the table. Is the reader's patience the only limit? Take the GPT. If you ask "which is the fastest?", you have
# not yet said what it is for.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. Have each pair write down a need for which its neighbour's choice is wrong.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** Somebody forgets the shift. The targets should be the *next* letters, and they are `x` itself:
# the network sees what it has to guess, in training and in the held-out loss. Nothing raises an error. Two of our gates
# look at losses:
#
# - "knows nothing yet" wants a first loss between 3.17 and 5.17;
# - "better than pairs" wants a held-out loss below 2.10.
#
# Remember which letter an untrained network prefers. You cannot know how strongly, so this is a guess. Which of the two
# gates notices?

# %%
Guess("leak", "Notices the missing shift:", options=["knows nothing yet", "better than pairs", "both", "neither"])

# %%
leaky = new_gpt()
scores, adam = scores_of(leaky), mg.optim.Adam(leaky.parameters(), 0.003)
leaky_losses = [step(scores, adam, letters_in, letters_in.flatten()) for letters_in, _ in batches[:60]]
leaky_held_out = held_out(leaky, held_x.flatten())
first_notices, second_notices = abs(leaky_losses[0] - np.log(65)) >= 1, leaky_held_out >= by_pairs - 0.25
noticed = {(True, True): "both", (True, False): "knows nothing yet", (False, True): "better than pairs"}
display(reveal("leak", noticed.get((bool(first_notices), bool(second_notices)), "neither")))
print(f"loss at first {leaky_losses[0]:.1f}, after 60 steps {leaky_losses[-1]:.1f}, held out {leaky_held_out:.1f}")
print(write(leaky, "Alice", 20, temperature=0.1))
gates("no better than a reader", leaky_held_out > 0.4, "more than 0.4 (a good reader's loss)", f"{leaky_held_out:.1f}")

# %% [markdown]
# The cheapest gate of the lesson notices, before the first step. An untrained network prefers the letter that it has
# just read, and here that letter is the target, so its first loss is too *low*. But this is luck: a network with two
# separate tables would begin near 4.17, and both gates would let it pass. "Better than pairs" is delighted: the best
# curve of the day, from a model that repeats its last letter for ever. A missing mask would look the same.
#
# A loss that is too good is a finding, not a success. So there is a gate on the *other* side, and here it fails, as it
# should. People who guessed the next letter of a book reached 0.6 to 1.3 bits. Times ln 2, that is a loss of 0.4 to
# 0.9.

# %% [markdown]
# ### All gates
#
# Here are all the gates of this lesson. Only the last one should fail:

# %%
gates

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("25_a_small_gpt")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `mg.function(step, jit_compile=True)` | `torch.compile` | `@tf.function(jit_compile=True)` | `@jax.jit` |
# | `mg.profiler.profile()` | `torch.profiler.profile()` | `tf.profiler.experimental` | `jax.profiler.trace` |
# | `checkpoint(block, x)` | `torch.utils.checkpoint.checkpoint` | `tf.recompute_grad` | `jax.checkpoint` |
# | `mg.quantization.quantize_dynamic` | torchao | LiteRT's converter | `aqt`, `qwix` |
# | `mg.onnx.export` | `torch.onnx.export` | `tf2onnx` | `jax2onnx` |
# | `minigrad serve` | Triton, vLLM | TensorFlow Serving | `jax2tf`, and TensorFlow Serving |
#
# On a phone there are ExecuTorch, which replaced PyTorch Mobile; LiteRT, which was called TF Lite; and ONNX Runtime.
# [Four frameworks, side by side](COMPARISON.md) goes through all of this, question by question.
#
# ### The same in PyTorch
#
# PyTorch's own blocks make the same GPT: it has as many parameters, begins near ln 65 = 4.17, and no letter sees what
# comes after it.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def gpt_in_pytorch(torch):
    """
    108,352 parameters
    loss before training: 4.2
    the earlier scores stay: True
    """
    nn = torch.nn
    torch.manual_seed(0)
    token, place, norm = nn.Embedding(65, 64), nn.Embedding(64, 64), nn.LayerNorm(64)
    blocks = [nn.TransformerEncoderLayer(64, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(2)]
    print(f"{sum(p.numel() for part in (token, place, norm, *blocks) for p in part.parameters()):,} parameters")
    nn.init.normal_(token.weight, std=0.02)
    mask = nn.Transformer.generate_square_subsequent_mask(64)

    def scores_after(letters):
        h = blocks[0](token(letters) + place.weight, mask)
        return (norm(blocks[1](h, mask)) @ token.weight.T)[:-1]

    x, y = torch.arange(64), torch.tensor([*range(63), 0])  # y has another last letter
    print(f"loss before training: {nn.functional.cross_entropy(scores_after(x), x[1:]).item():.1f}")
    print("the earlier scores stay:", torch.allclose(scores_after(x), scores_after(y), atol=1e-5))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A loss means something only next to a baseline that is counted: ln 65, letters, pairs.
# - Each change to a trained model is a claim, *the same but smaller, quicker, elsewhere*, and each claim needs a gate.
# - A step has about 6 FLOPs for each parameter and letter. The time goes elsewhere, too; a profile says where.
# - Checkpoints leave gradients equal to the bit. Where sums are added up in another order, they are equal up to
#   rounding.
# - A loss that is too good is a finding.
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
# **Next:** change something here. Let the batches have 32 rows, and take a quarter of the steps. The network reads the
# same number of letters: will the held-out loss be the same? Write down your guess before you run it.
