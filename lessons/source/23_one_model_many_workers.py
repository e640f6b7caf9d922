# ---
# jupyter:
#   minigrad:
#     title: One model, many workers
#     minutes: 45
#     objectives:
#       - cut a product of matrices by columns or by rows, and say how the parts become the whole, forward and backward
#       - cut two layers, and attention, so that little has to be sent, and count it in real processes
#       - say how many messages a graph needs when it is placed on two workers
#       - find the bubble of a pipeline by its formula, in a schedule, and in a run
#       - say when more stages are no faster, and what 1F1B saves and what it does not
#       - choose how many workers share the data, the layers, and the stages of a large model
#     concepts: [F3, F4]
#     builds_on: [09_define_then_run, 21_twice_to_keep_less, 22_many_workers_one_gradient]
#     widgets: [Pipeline, Predict, Quiz]
#     terms:
#       tensor parallelism: each worker has a part of every weight, and all of them compute one layer together
#       pipeline parallelism: each worker has some of the layers, and micro-batches pass from one worker to the next
#       stage: layers of a network, one after the other, that belong to one worker
#       schedule of a pipeline: for each worker, the list of what it does, forward or backward of which micro-batch
#       bubble: the part of the time in which the workers of a pipeline wait
#       1F1B: a schedule in which a worker does forward and backward in turn, as soon as there is a backward pass to do
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 23 One model, many workers
#
# A table in a paper of 2021 lists a model of 145.6 billion parameters. Training takes 16 bytes for each (lesson 20):
# the weight, its gradient, and what Adam keeps. An accelerator has 80 GB. **It fits nowhere: where do you cut?** There
# are two places, *through* each layer or *between* two of them. Each needs messages, each makes some workers wait for
# others, and the numbers must stay those of one machine. In this lesson we cut both ways in real processes, count the
# messages, and end with a plan for that model.
#
# **About 45 minutes.** Afterwards you can
#
# - cut a product of matrices by columns or by rows, and say how the parts become the whole, forward and backward;
# - cut two layers, and attention, so that little has to be sent, and count it in real processes;
# - say how many messages a graph needs when it is placed on two workers;
# - find the bubble of a pipeline by its formula, in a schedule, and in a run;
# - say when more stages are no faster, and what 1F1B saves and what it does not;
# - choose how many workers share the data, the layers, and the stages of a large model.
#
# **Builds on** [09 Define, then run](09_define_then_run.ipynb), [21 Twice, to keep less](21_twice_to_keep_less.ipynb)
# and [22 Many workers, one gradient](22_many_workers_one_gradient.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the same graph elsewhere.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask where one would cut. "Between the layers" comes at once, for it is how networks are drawn. Ask what
# the worker with the first layers does while the one with the last layers is busy, and leave it open.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
from IPython.display import display

import minigrad as mg
import minigrad.distributed as dist
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.distributed import cost
from minigrad.distributed.cost.plan import Workload
from minigrad.distributed.schedules import Schedule, ScheduleError, Step, Task, bubble, bubble_fraction
from minigrad.distributed.schedules import makespan, most_kept, schedule
from minigrad.widgets import Pipeline

# %load_ext minigrad.course.parallel
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two ways to cut a product
#
# Nearly all of those parameters are in products `x @ W`. Two workers share it, and each has half of W. If W is cut *by
# columns*, into a left and a right half, each worker multiplies the whole x by its half, and gets half of the columns
# of the result. Side by side, the two are the whole:

# %%
x, W = mg.randn(2, 4), mg.randn(4, 6, requires_grad=True)
left, right = W[:, :3], W[:, 3:]
y = mg.cat([x @ left, x @ right], dim=1)
print("that is x @ W:", bool(mg.allclose(y, x @ W)))
mg.draw(y)

# %% [markdown]
# Now cut W *by rows*, into an upper and a lower half. A row of W meets one column of x, so a worker needs only its half
# of x. How do the two results become the whole?

# %%
Predict("by rows", "Of the two results, the whole is …", options=["the two side by side", "the sum"])

# %%
upper, lower = W[:2], W[2:]
x1, x2 = x[:, :2], x[:, 2:]
first, second = x1 @ upper, x2 @ lower
print("each part:", first.shape, " the whole:", (x @ W).shape)
adds_up = bool(mg.allclose(first + second, x @ W))
display(reveal("by rows", "the sum" if adds_up else "the two side by side"))
mg.draw(first + second)

# %% [markdown]
# The sum: an entry of `x @ W` is a sum over the rows of W, and each worker has some of its terms. Putting them side by
# side may cost nothing, if what comes next wants only a part. A sum costs messages: nobody can go on with *some* of the
# terms. To give all workers the sum of what they have takes an `all_reduce` (lesson 22).
#
# And on the way back? Let `gy` be the gradient that arrives at y. Then the gradient of x is `gy @ W.T` (lesson 04), and
# each worker can compute what its half of W contributes. For which of the two cuts is the gradient of x a *sum* over
# the workers?

# %%
Predict("gradient", "The gradient of x is a sum for the cut …", options=["by columns", "by rows", "both", "neither"])

# %%
gy = mg.randn(2, 6)
gx = gy @ W.T
found = {"by columns": [gy[:, :3] @ left.T, gy[:, 3:] @ right.T], "by rows": [gy @ upper.T, gy @ lower.T]}


def same(x, y):
    return x.shape == y.shape and bool(mg.allclose(x, y))


sums = [cut for cut, (one, two) in found.items() if same(one + two, gx)]
for cut, (one, two) in found.items():
    beside = same(mg.cat([one, two], dim=1), gx)
    print(f"{cut:10} each worker has {one.shape} of {gx.shape}; a sum: {cut in sums}, side by side: {beside}")
reveal("gradient", sums[0] if len(sums) == 1 else "both" if sums else "neither")

# %% [markdown]
# It is the other way round, and it has to be. By columns, all workers *read* the same x, and where a value is used
# twice the gradients add up (lesson 02). By rows, each reads its own part.
#
# | W is cut | a worker reads | y is | the gradient of x is |
# |---|---|---|---|
# | by columns | all of x | side by side | *the sum* |
# | by rows | its part of x | *the sum* | side by side |

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let somebody point at the node in each picture that would be a message. Then cover the last column of the
# table, and let them derive it: reading in many places and adding are each other's transposes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two layers, two cuts
#
# Now the two layers that make up half of a transformer, `gelu(x @ A) @ B`. Cut A by columns: each worker has some
# columns of the result, and gelu works on each number by itself. Cut B by rows: a worker's rows want just those
# columns. Cutting each weight of a network like this is **tensor parallelism**. How many calls of `all_reduce` are
# there in forward, and how many in backward?
#
# Below, `%%parallel -n 2` starts two real processes, as in lesson 22: they know nothing of this notebook, and each runs
# the cell. A line that begins with `[1]` is from worker 1, and what `-o` names comes back as a list, with one value for
# each worker.

# %%
display(Predict("forward", "all_reduce in forward, of the two layers:"))
Predict("backward", "and in backward:")

# %%
# %%parallel -n 2 -o counts
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
mg.manual_seed(0)
A, B = mg.nn.Linear(8, 32), mg.nn.Linear(32, 8)
x = mg.randn(4, 8, requires_grad=True)
whole = B(A(x).gelu())
gx = mg.func.grad(lambda x: B(A(x).gelu()).sum())(x)

parts = mg.nn.Sequential(dist.ColumnParallelLinear(A), mg.nn.GELU(), dist.RowParallelLinear(B))
with dist.CommDebugMode() as forward:
    y = parts(x)
with dist.CommDebugMode() as backward:
    y.sum().backward()
counts = [forward.get_comm_counts(), backward.get_comm_counts()]
print("my weights:", parts[0].weight.shape, parts[2].weight.shape)
print("as on one machine:", bool(mg.allclose(y, whole)), bool(mg.allclose(x.grad, gx)))

# %%
print("forward:", counts[0][0], " backward:", counts[0][1])
display(reveal("forward", counts[0][0].get("all_reduce", 0)))
display(reveal("backward", counts[0][1].get("all_reduce", 0)))
off = (first + second).gelu() - (first.gelu() + second.gelu())  # the two results of the cut by rows, above
print(f"gelu of a sum, and the sum of gelus: up to {abs(off).max().item():.2f} apart")

# %% [markdown]
# One and one. Each worker has half of both weights (`Linear` keeps them as (out, in), so the columns of A are the rows
# of `weight`). Forward needs the sum after B, backward the sum before A, and in between nothing is sent. There are no
# other messages: gradients of the *weights* are computed where the weights are.
#
# Would the other order do, A by rows and B by columns? After A each worker would have *some of the terms* of every
# number, and gelu of a sum is not the sum of gelus, as the last line says. So it would take a sum before gelu, and then
# another message after B, to put the columns side by side. The right order of the cuts halves the messages. Biases
# follow their columns: A's is cut with it. B's belongs to the sum, and is added *once*, after it; if each worker added
# it before the sum, two workers would add it twice.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes with the run. Ask for the shape of the message: it is that of y, whatever the number of workers, so a
# hundred workers do not make it smaller. And ask what stays whole in every worker: x, y, and all between such pairs.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Attention, by heads
#
# The heads of an attention (lesson 16) do not look at each other. So give each worker some of the *heads*: the product
# that makes the queries q, the keys k and the values v of all heads is cut by columns, the one after the heads by rows,
# and in between nothing has to be sent. A block of a transformer is attention, and then the two layers from above. How
# many calls of `all_reduce` does it need, forward and backward together?

# %%
Predict("block", "all_reduce of a block, forward and backward:")

# %%
# %%parallel -n 2 -o told
import minigrad as mg
import minigrad.distributed as dist
from minigrad.zoo.transformers import TransformerBlock

dist.init_process_group()
mg.manual_seed(0)
block, x = TransformerBlock(16, heads=4, dropout=0.0), mg.randn(2, 8, 16, requires_grad=True)
y, whole = block(x), sum(p.size for p in block.parameters())
dist.parallel_block(block)
here = sum(p.size for p in block.parameters())
with dist.CommDebugMode() as said:
    z = block(x)
    z.sum().backward()
told = {**said.get_comm_counts(), "bytes": said.comm_bytes["all_reduce"], "x": x.nbytes}
print(block.attention.heads, "heads,", f"{here:,} of {whole:,} parameters; as before:", bool(mg.allclose(y, z)))

# %%
print(told[0])
reveal("block", told[0]["all_reduce"])

# %% [markdown]
# Four, each with as many bytes as x: two forward and two backward. A worker has a little more than half of the
# parameters, since the norms, and the biases added after sums, are whole in both. What a worker *saves for backward* is
# halved too, except what lies between the pairs of layers. Four sums in each block are a lot to send, so tensor
# parallelism reaches as far as the fast links do, which usually join eight accelerators in one box.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### How many workers are too many?
#
# There are four sums in each block, for each micro-batch, and nobody can go on before they are done. On paper, for a
# block of the 145.6-billion model on A100s, eight of which are in one box with fast links between them:

# %%
tokens, hidden, gpu = 2048, 12288, cost.hardware("A100")
flops = cost.transformer_flops(1, tokens, 1, hidden, 1, recompute=False)
for p in (2, 4, 8, 16, 32):
    computing = flops / (p * 0.6 * gpu.flops[2])  # at 0.6 of what the hardware can do at best
    sending = 4 * cost.all_reduce(2 * tokens * hidden, p, *gpu.link(p))
    where = "one box" if p <= gpu.per_node else "several boxes"
    print(f"{p:2} workers in {where:13}: computing {1e3 * computing:5.1f} ms, sending {1e3 * sending:5.1f} ms")

# %% [markdown]
# The computing is divided among the workers; the sending is not, and beyond one box it takes twice as long. With 32
# workers it takes longer than the computing. (The bandwidths are those of data sheets; nothing was timed.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Between the layers
#
# The other place to cut is an *edge of the graph*. In a graph that is built before it runs (lesson 09), each node can
# be told where to run: `with mg.device("worker:1")`. Then a run has one graph for each worker, and where an edge goes
# from one to the other there is a `send` and a `receive`. Below, h is made on worker 0, and *two* nodes on worker 1
# read it. How often is h sent?

# %%
Predict("edges", "Messages from worker 0 to worker 1:")

# %%
graph = mg.Graph()
with graph.as_default():
    x = mg.placeholder("float64", (2, 3), name="x")
    with mg.device("worker:0"):
        h = x.tanh()
    with mg.device("worker:1"):
        y = h.exp().sum() + h.square().sum()
parts = dist.worker_graphs([y], 2)
sent = [node.op.label for node in parts[0].nodes if type(node.op).__name__ == "Send"]
print("worker 0:", "; ".join(sent))
display(reveal("edges", len(sent)))
mg.draw(parts[1])

# %% [markdown]
# Once: there is a message for each value that a worker needs, and not for each reader. The drawing shows worker 1's
# part. It begins with `receive`, and sends y back, since in a run both workers ask for y.
#
# The messages are few, and small: one activation for each edge that is cut, where tensor parallelism has four sums for
# each block. That is why people cut *between* layers where links are slow. The price is of another kind.

# %% [markdown] slideshow={"slide_type": "notes"}
# Four minutes. TensorFlow 1 did this for any graph, and it is where the idea of device scopes comes from. Ask which of
# the two workers works while the other does. Neither: worker 1 needs h. That is the next page.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### The same graph in two processes
#
# `dist.Session` is one session for all workers. Each makes the same graph, and runs its part of it.

# %%
# %%parallel -n 2 -o messages
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
graph = mg.Graph()
with graph.as_default():
    x = mg.placeholder("float64", (2, 3), name="x")
    with mg.device("worker:0"):
        h = x.tanh()
    with mg.device("worker:1"):
        y = h.exp().sum() + h.square().sum()
with dist.Session(graph) as session, dist.CommDebugMode() as said:
    value = session.run(y, {x: mg.ones(2, 3).numpy()})
messages = said.get_comm_counts()
print(f"y = {value:.4f}; I sent {messages['send']} message")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who waits?
#
# Cut a network of many layers into four pieces, each a **stage** that belongs to one worker. A batch goes up through
# the four, its gradient comes back down, and at each moment only *one* of them works: three of four machines are idle.
# So cut the batch as well, into micro-batches (lesson 21): when stage 0 has done the first, it hands it on and takes
# the second. That is **pipeline parallelism**. The part of the time in which workers wait is called the **bubble**.
#
# Who does what, in which order, is a list for each worker: a **schedule of a pipeline**, which is data. Here is one for
# four stages and four micro-batches: first all the forward passes, and then all the backward passes (it is called
# GPipe). A forward takes one unit of time, a backward two; a *slot* is one unit of one worker. In what share of the
# slots does a worker wait?

# %%
Predict("bubble", "The bubble of 4 stages and 4 micro-batches, in percent:", tolerance=3)

# %%
plan = schedule("gpipe", 4, 4)
print("worker 0:", " ".join(f"{step.kind[0]}{step.microbatch}" for step in plan.steps[0]))
tasks = plan.timeline()  # each step as early as its worker and what it needs let it
slots = 4 * makespan(tasks)
worked = sum(task.end - task.start for task in tasks)
print(f"{slots:g} slots: in {worked:g} a worker works, in {slots - worked:g} it waits, {bubble(tasks):.1%}")
display(reveal("bubble", round(100 * bubble(tasks))))
Pipeline(plan)

# %% [markdown]
# *The picture: a row for each stage, counted, not timed, and in each box the number of a micro-batch; Play shows how it
# fills. Blue stairs, forward, go down to the right, and dashed ones, backward, go back up. The free corners are the
# bubble: stage 3 waits at the beginning and at the end, stage 0 in the middle.*
#
# The first micro-batch reaches the last stage after $p − 1$ steps. So each worker waits for $p − 1$ forwards and as
# many backwards, and works on $m$ of each. The bubble is $\frac{p − 1}{m + p − 1}$: with $p = m = 4$ it is 3/7.

# %%
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
micro = [1, 2, 4, 8, 16, 32, 64]
for p, color, mark in ((2, GREEN, "s"), (4, BLUE, "o"), (8, VERMILION, "^")):
    ax.plot(micro, [100 * bubble_fraction(p, m) for m in micro], ":", color=color)
    ax.plot(
        micro, [100 * bubble(schedule("gpipe", p, m).timeline()) for m in micro], mark, color=color, label=f"p = {p}"
    )
ax.set(xscale="log", xticks=micro, xticklabels=micro, xlabel="micro-batches m", ylabel="bubble in percent")
ax.legend()
plt.show()

# %% [markdown]
# *The plot: dots are counted in schedules, dotted lines are the formula, and the dots lie on them. All fall with m.
# With 8 stages it begins at 87.5 percent, and takes some 60 micro-batches to come down to 10; with 2 it begins at 50.*

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Play the widget until stage 3 begins, and count what is free above it. Rule of thumb: four times as many
# micro-batches as stages leaves a bubble of a fifth. Ask what is in the way of very many: they get small.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## More stages, faster?
#
# The batch is cut into 8 micro-batches. With $p$ stages each stage has one $p$-th of the layers, so its forward takes
# $1 / p$ of the time. With 16 stages, how many times as fast is a step as with 8?

# %%
Predict("doubled", "16 stages in place of 8, with 8 micro-batches: how many times as fast?", tolerance=0.1)

# %%
alone = makespan(schedule("gpipe", 1, 8).timeline())
times = {}
for p in (1, 2, 4, 8, 16, 32, 64):
    plan = schedule("gpipe", p, 8)
    part = {"forward": 1 / p, "backward": 2 / p}
    times[p] = [makespan(plan.timeline(lambda _, step, part=part: part[step.kind], transfer=t)) for t in (0, 0.05)]
    free, sent = (alone / t for t in times[p])
    print(
        f"{p:2} stages: {free:4.2f} times as fast as one; with messages {sent:4.2f}; bubble {bubble_fraction(p, 8):.0%}"
    )
reveal("doubled", round(times[8][0] / times[16][0], 2))

# %% [markdown]
# 1.3 times, with twice the workers. However many stages there are, a step is never more than 8 times as fast as on one
# worker: that is the number of micro-batches, since the speedup is $\frac{m p}{m + p − 1}$. And this is with messages
# that take no time. In the second column each message takes a twentieth of the time of a whole forward, and then 32
# stages are *slower* than 16. More stages make a model *fit*. They make it fast only with more micro-batches, and those
# have to come from a larger batch.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The belief comes from assembly lines, which never stop. A step of training stops: all gradients have to
# be there before the weights move, so the line is filled and emptied at each step.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### When stages are not equal
#
# So far all stages were equal. They are not if a network has 6 layers and 4 stages, or a last layer that is heavier
# than the others. The slowest sets the pace:

# %%
for layers in ((2, 2, 2, 2), (3, 2, 2, 1), (5, 1, 1, 1)):
    one = {"forward": 1, "backward": 2}
    tasks = schedule("gpipe", 4, 8).timeline(lambda worker, step, n=layers, one=one: n[worker] * one[step.kind])
    print(f"layers {layers}: {makespan(tasks):3g} units of time, bubble {bubble(tasks):.0%}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What is kept
#
# GPipe does all the forwards first, so each stage keeps the activations of all micro-batches. **1F1B** begins with
# backward as soon as there is one to do, and then does one forward and one backward in turn. Compared with GPipe, for 4
# stages and 8 micro-batches, is its bubble smaller? And how many micro-batches' activations does stage 0 keep at once?

# %%
display(Predict("1f1b", "The bubble of 1F1B is …", options=["smaller", "as large", "larger"]))
Predict("kept", "Micro-batches of which stage 0 keeps activations, with 1F1B:")

# %%
found = {}
for name in ("gpipe", "1f1b"):
    plan = schedule(name, 4, 8)
    kept = [most_kept(steps) for steps in plan.steps]
    found[name] = bubble(plan.timeline()), kept
    print(f"{plan.name:5}: bubble {found[name][0]:.1%}, activations kept at most, by stage: {kept}")
(gpipe, _), (one, kept) = found["gpipe"], found["1f1b"]
display(reveal("1f1b", "as large" if abs(one - gpipe) < 1e-9 else "smaller" if one < gpipe else "larger"))
display(reveal("kept", kept[0]))
Pipeline(schedule("1f1b", 4, 8))

# %% [markdown]
# *The picture: counted again. Stage 0 does four forwards, and from then on backward and forward in turn. There are as
# many free slots as with GPipe, in other places.*
#
# It is just as large: 1F1B saves *memory* and no time. A stage keeps as many micro-batches as there are stages from it
# to the end, 4, 3, 2, 1, however many there are in all. So now *many* micro-batches cost no memory, and those are what
# makes the bubble small.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The same in four processes
#
# Now we run it. Each of four processes has a stage, and works through its list; activations and gradients are sent.
# Each stage also *sleeps*, 20 ms forward and 40 ms backward, in place of an accelerator that would be busy that long;
# four sleepers do not mind if there are only two cores. Messages and gradients are real, and so is the waiting.

# %% tags=["measured", "nbval-ignore-output"]
# %%parallel -n 4 -o ran
import time
import minigrad as mg
import minigrad.distributed as dist


def slow(layer, xs, y):
    time.sleep(0.02)
    kept.append(kept[-1] + 1)
    y.register_hook(lambda gy: time.sleep(0.04))
    y.register_hook(lambda gy: kept.append(kept[-1] - 1))


kept = [0]  # micro-batches whose activations are here
dist.init_process_group()
rank = dist.get_rank()
mg.manual_seed(0)
net, x, t = mg.nn.Sequential(*(mg.nn.Linear(8, 8) for _ in range(4))), mg.randn(16, 8), mg.zeros(16, 8)
mg.mse_loss(net(x), t).backward()
whole, net[rank].weight.grad = net[rank].weight.grad, None
net[rank].register_forward_hook(slow)
pipe = dist.Pipeline([dist.PipelineStage(net[rank : rank + 1], rank, 4)], dist.schedule("1f1b", 4, 8), mg.mse_loss)
pipe.step(*([x] if rank == 0 else []), target=t if rank == 3 else None)
ran = [(task.worker, *task.step, task.start, task.end) for task in pipe.measured() if rank == 0]
print(f"{max(kept)} micro-batches kept at most; as on one machine: {mg.allclose(net[rank].weight.grad, whole)}")

# %% tags=["measured", "nbval-ignore-output"]
tasks = [Task(worker, Step(kind, i, chunk), start, end) for worker, kind, i, chunk, start, end in ran[0]]
print(f"bubble: {bubble(tasks):.0%} measured, {bubble_fraction(4, 8):.0%} by the formula")
Pipeline(tasks)

# %% [markdown]
# *The picture: measured, in milliseconds by the clock of the four processes. It is the picture of the schedule, with
# edges that are not quite straight: a message takes time, and a sleeper wakes up late. So the measured bubble is a
# little larger than the formula's 27 percent; on a machine that has much else to do, more than a little.*
#
# What is kept is what the schedule said, counted as the run went on, and the gradients are those of the whole batch on
# one machine.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes for what is kept and the run. Compare the two widgets side by side. Ask what a table of timings would
# have looked like if the four had computed on two cores: two of them would have waited for a core, and not for a
# message.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A plan for 145.6 billion
#
# In practice all three are used at once: `tensor` workers share each layer, `pipeline` stages follow one another, and
# `data` such groups each take a part of the batch. The model is the one from the beginning; for it Narayanan and others
# had 1,536 A100s and batches of 2,304. `cost.plans` works out each way to divide the workers, by the formulas: how long
# a step takes, and how many bytes a worker has. Links are fast between 8 workers. Which three numbers do you think are
# best?

# %%
Predict("plan", "data × tensor × pipeline:", options=["192 × 8 × 1", "96 × 1 × 16", "6 × 32 × 8", "24 × 8 × 8"])

# %%
heads, hidden, layers, tokens, vocabulary = 96, 12288, 80, 2048, 51200
model = Workload(
    parameters=round(cost.transformer_parameters(layers, hidden, vocabulary, tokens)),
    width=2,  # bytes of a number
    flops=cost.transformer_flops(1, tokens, layers, hidden, vocabulary, recompute=False),  # forward and backward
    kept=layers * cost.activation_bytes(tokens, 1, hidden, heads),  # for backward, of one sample
    layers=layers,
    boundary=2 * tokens * hidden,  # bytes of an activation between two layers
    heads=heads,
)
print(f"whole: {cost.zero_bytes(model.parameters) / 1e9:,.0f} GB of weights, gradients and Adam's numbers")
found = cost.plans(model, "A100", workers=1536, batch=2304, efficiency=0.6)
fits = [plan for plan in found if plan.nbytes <= 80e9]
best = fits[0]
print(f"{len(found)} plans, {len(fits)} fit; the quickest: {best}")
reveal("plan", f"{best.data} × {best.tensor} × {best.pipeline}")

# %% [markdown]
# The paper's table says 24, 8 and 8. (The search also chose ZeRO 1, which divides what Adam keeps among the 24;
# the paper's run did without.) Why those? Here are four ways, each with the quickest settings that fit in 80 GB:


# %%
def quickest(data, tensor, pipeline):
    shares = {"data": data, "tensor": tensor, "pipeline": pipeline}
    settings = [{"zero": zero, "recompute": again} for zero in (0, 1) for again in (False, True)]
    ways = [cost.step(model, "A100", 2304, 0.6, **shares, **setting) for setting in settings]
    return min((way for way in ways if way.nbytes <= 80e9), key=lambda way: way.seconds)


for shape in ((192, 8, 1), (96, 1, 16), (6, 32, 8), (24, 8, 8)):
    plan = quickest(*shape)
    lost = ", ".join(f"{name} {plan.seconds_of[name]:.1f}" for name in ("compute", "tensor", "bubble", "data"))
    again = ", forward twice" if plan.recompute else ""
    print(f"{' × '.join(map(str, shape)):11}: {plan.seconds:.1f} s ({lost}), {plan.nbytes / 1e9:.0f} GB{again}")
published = cost.step(model, "A100", 2304, 0.6, data=24, tensor=8, pipeline=8, recompute=True)
rate = cost.transformer_flops(2304, tokens, layers, hidden, vocabulary) / published.seconds / 1536 / 1e12
print(f"as published: {published.seconds:.1f} s, {rate:.0f} TFLOP/s for each A100; 148 were measured")

# %% [markdown]
# Each of the others loses somewhere. Without a pipeline, activations fit only if forward is run a second time (lesson
# 21), and many gradients have to be added up. Without tensor parallelism there are many groups, so few micro-batches
# for each, and a large bubble. With 32 workers to a layer, sending takes longer than computing.
#
# The last line is the published run, in which forward was run twice: the formulas are within a tenth of what was
# measured. The one number put in by hand was that a worker alone reaches 0.6 of what its data sheet says. The formulas
# know nothing of slow machines or a busy network, so take them as a sketch: they can tell 17 seconds from 30, but not
# 17 from 18.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. The order to keep: first tensor, up to the box; then as few stages as fit; all the rest data. Ask what
# changes with 40 GB, and let somebody run `cost.best_plan` with `memory=40e9`.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** It is easy to write a schedule of one's own. In this one, worker 0 does forward and backward of
# micro-batch 0, then of 1; worker 1 does both forwards first. What happens?

# %%
Predict("own", "A run of this schedule …", options=["works", "is slow", "would wait for ever"])

# %%
f0, f1, b0, b1 = (Step(kind, i) for kind in ("forward", "backward") for i in (0, 1))
try:
    outcome = (
        "works" if bubble(Schedule("mine", [[f0, b0, f1, b1], [f0, f1, b0, b1]], 2).timeline()) < 0.5 else "is slow"
    )
except ScheduleError as error:
    print(error)
    outcome = "would wait for ever"
reveal("own", outcome)

# %% [markdown]
# Worker 0 waits for a gradient, which worker 1 will send only after one more forward, and for that forward it waits for
# worker 0. In processes such a run hangs, without an error. Because a schedule is data, the mistake is found before
# anything runs. (`stages_of`, which cuts a network, refuses another trap: a weight that two stages share, as in a GPT
# whose table of tokens is its first layer and its last. Each stage would learn a copy of its own.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("23_one_model_many_workers")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | JAX |
# |---|---|---|
# | `ColumnParallelLinear`, `RowParallelLinear` | `ColwiseParallel`, `RowwiseParallel` | `NamedSharding(mesh, …)` |
# | `CommDebugMode` | the same | the collectives in `lowered.compile().as_text()` |
# | `PipelineStage`, `Schedule1F1B`, `ScheduleGPipe` | the same | by hand: `shard_map` and `ppermute` |
# | `with mg.device("worker:1")` | none | none |
#
# - *PyTorch*: the first two are in `torch.distributed.tensor`, whose `DTensor` knows how it is cut: `Shard`,
#   `Replicate`, or `Partial`, which is "some of the terms". Pipelines are in `torch.distributed.pipelining`.
# - *JAX*: with `jax.sharding` one says how arrays lie, and the compiler puts the messages in; in `jax.shard_map` one
#   writes them, as `psum`.
# - *Megatron-LM*, NVIDIA's, from which the two layers have their names, lives on as the library Megatron Core.
# - *GPipe* is a paper and was a part of Lingvo, on TensorFlow; PyTorch's first version of it, `Pipe`, is gone.
#   *PipeDream*, from which 1F1B comes, was a research project: with weights that are some steps old it has no bubble.
# - *TensorFlow*: placement comes from `tf.device("/job:worker/task:1")` in TensorFlow 1, and is history along with its
#   sessions. Mesh TensorFlow is history too; `tf.experimental.dtensor` is what there is today.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A product cut by columns needs a sum backward, one cut by rows a sum forward.
# - Columns, then rows: two layers, or attention by heads, with one `all_reduce` forward and one backward.
# - A graph cut by placement sends one message for each value and each worker that reads it.
# - The bubble is $(p − 1) / (m + p − 1)$, in schedules as in processes. With $m$ micro-batches no number of stages
#   makes a step more than $m$ times as fast.
# - 1F1B has the same bubble, and a worker keeps the activations of at most as many micro-batches as there are stages.
# - Tensor inside a box, few stages, the rest data: that is the published plan, and what the formulas find.
#
# **Sources.** M. Shoeybi and others, *Megatron-LM*, arXiv:1909.08053 (2019), section 3: columns, then rows. Y. Huang
# and others, *GPipe*, arXiv:1811.06965 (2018), section 2.3: the bubble. D. Narayanan and others, *PipeDream*, SOSP
# 2019, section 3: 1F1B. D. Narayanan and others, *Efficient large-scale language model training on GPU clusters using
# Megatron-LM*, arXiv:2104.04473 (2021), section 2.2, and table 1: schedules, and the plan. M. Abadi and others,
# *TensorFlow*, arXiv:1603.04467 (2016), section 3.2.2: one message for each edge cut.
#
# **Exercise.** [23 Where to cut](../exercises/23_one_model_many_workers.ipynb): cut two layers by hand, say which
# message belongs where, write 1F1B down, and plan for a model under a limit.
#
# **Next:** [24 Out of Python](24_out_of_python.ipynb). Before that, change something here:
# `schedule("1f1b", 4, 8, chunks=2)` gives each worker two short stages in place of a long one. What does it do to the
# bubble, and to `.messages`?
