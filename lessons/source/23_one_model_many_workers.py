# ---
# jupyter:
#   minigrad:
#     title: One model, many workers
#     minutes: 30
#     objectives:
#       - cut a product of matrices by columns or by rows, and say how the parts become the whole, forward and backward
#       - cut two layers so that little has to be sent, and count it in real processes
#       - find the bubble of a pipeline by its formula and in a schedule
#       - say how many times as fast more stages can make a step
#       - choose how many workers share the data, the layers, and the stages of a large model
#       - say how many messages a graph needs when it is placed on two workers (an optional section)
#       - say what 1F1B saves and what it does not (an optional section)
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
# A paper of 2021 trains a model with 145.6 billion parameters. Training takes 16 bytes for each of them (lesson 20):
# the weight, its gradient, and what Adam stores. That is more than 2,300 GB, and one accelerator has 80. **The model
# fits nowhere: where do you cut it?** There are two places: *through* each layer, or *between* two layers. Each cut
# needs messages, and makes some workers wait for others. You make both cuts, and end with a plan for that model, which
# you can compare with what its authors did.
#
# **About 30 minutes.** Afterwards you can
#
# - cut a product of matrices by columns or by rows, and say how the parts become the whole, forward and backward;
# - cut two layers so that little has to be sent, and count it in real processes;
# - find the bubble of a pipeline by its formula and in a schedule;
# - say how many times as fast more stages can make a step;
# - choose how many workers share the data, the layers, and the stages of a large model.
#
# Folded, optional sections are about attention, a graph on two workers, 1F1B, and schedules that hang.
#
# **Builds on** [09 Define, then run](09_define_then_run.ipynb), [21 Twice, to keep less](21_twice_to_keep_less.ipynb)
# and [22 Many workers, one gradient](22_many_workers_one_gradient.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the same graph elsewhere.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask where the room would cut. "Between the layers" comes at once, because networks are drawn that way.
# Ask what the worker with the first layers does while the worker with the last layers is busy, and leave the question
# open.

# %% slideshow={"slide_type": "skip"}
import minigrad as mg
import minigrad.distributed as dist
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.distributed import cost
from minigrad.distributed.cost.plan import Workload
from minigrad.distributed.schedules import bubble, bubble_fraction, makespan, schedule
from minigrad.widgets import Pipeline

# %load_ext minigrad.course.parallel
mg.manual_seed(0)
follow_theme()

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two ways to cut a product
#
# Nearly all of those parameters are in products `x @ W`. Two workers share such a product, and each has half of W. Cut
# W *by columns* first. Each worker multiplies the whole x by its half, and gets half of the columns of the result. Put
# side by side, the two are the whole:

# %%
x, W = mg.randn(2, 4), mg.randn(4, 6, requires_grad=True)
left, right = W[:, :3], W[:, 3:]
y = mg.cat([x @ left, x @ right], dim=1)
print("that is x @ W:", bool(mg.allclose(y, x @ W)))
mg.draw(y)

# %% [markdown] slideshow={"slide_type": "subslide"}
# Now cut W *by rows*, into an upper and a lower half. A row of W meets one column of x, so a worker needs only its half
# of x. How do the two results become the whole?

# %%
Predict("by rows", "Of the two results, the whole is …", options=["the two side by side", "the sum"])

# %%
upper, lower = W[:2], W[2:]
x1, x2 = x[:, :2], x[:, 2:]
first, second = x1 @ upper, x2 @ lower
adds_up = bool(mg.allclose(first + second, x @ W))
reveal("by rows", "the sum" if adds_up else "the two side by side")

# %%
mg.draw(first + second)

# %% [markdown]
# The whole is the sum. An entry of `x @ W` is a sum over the rows of W, and each worker has some of its terms.
#
# This decides what has to be sent. Columns side by side may cost nothing, if the next operation needs only a part of
# them. A sum costs messages, because nobody can continue with *some* of the terms. An `all_reduce` gives all workers
# the sum (lesson 22).
#
# On the way back it is the other way round. When W is cut by columns, all workers read the same x. Where a value is
# used twice, its gradients add up (lesson 02): the gradient of x is a *sum* over the workers. When W is cut by rows,
# each worker reads its own part of x, and computes the gradient of that part.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Let somebody point at the node in each picture that would be a message. Then let them derive the way
# back: reading in many places and adding are each other's transposes.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Two layers, two cuts
#
# Now take the two layers that make up half of a transformer block, `gelu(x @ A) @ B`. Cut A by columns: each worker has
# some columns of the result, and gelu works on each number by itself. Cut B by rows: the rows of a worker need exactly
# the columns that it has. When every weight of a network is cut like this, it is **tensor parallelism**. How many calls
# of `all_reduce` do the two layers need, forward and backward?

# %% [markdown] slideshow={"slide_type": "subslide"}
# `%%parallel -n 2` runs the cell in two real processes, as in lesson 22. A line that begins with `[1]` is from worker
# 1. `-o counts` brings the variable `counts` back, with one value for each worker.

# %%
Predict("sums", "all_reduce, forward and backward:", options=["1 and 1", "1 and 0", "2 and 1", "2 and 2"])

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
reveal("sums", " and ".join(str(count.get("all_reduce", 0)) for count in counts[0]))

# %%
print("forward:", counts[0][0], " backward:", counts[0][1])
gap = (first + second).gelu() - (first.gelu() + second.gelu())  # the two results of the cut by rows, above
print(f"gelu of a sum, and the sum of gelus: up to {abs(gap).max().item():.2f} apart")

# %% [markdown]
# One and one. Forward needs the sum after B, and backward the sum before A. In between nothing is sent. The gradients
# of the *weights* are computed where the weights are, so they need no messages.
#
# Would the other order work, A by rows and B by columns? After A each worker would have *some of the terms* of every
# number, and gelu of a sum is not the sum of gelus, as the last line shows. So you would need a sum before gelu, and
# another message after B: twice as many.
#
# A block of a transformer needs four sums: these two, and two for attention, which is cut by its heads. That is a lot
# to send. So tensor parallelism reaches only as far as the fast links. In the machines of that paper they join the
# eight accelerators of a box.

# %% [markdown] slideshow={"slide_type": "notes"}
# Seven minutes with the run. Ask for the shape of the message: it is that of y, whatever the number of workers, so a
# hundred workers do not make it smaller. And ask what every worker has in full: x, y, and all between such pairs.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Who waits?
#
# The other place to cut is between two layers. Then only an activation is sent. Cut a network of many layers into
# four pieces. Each piece is a **stage**, and belongs to one worker. A batch goes up through the
# four stages, and its gradient comes back down. At each moment only *one* of the four works: three machines are idle.

# %% [markdown] slideshow={"slide_type": "subslide"}
# So cut the batch as well, into micro-batches (lesson 21). When stage 0 is done with the first, it passes it on and
# takes the second. This is **pipeline parallelism**. The part of the time in which workers wait is called the
# **bubble**.
#
# Each worker has a list that says what it does, in which order. The lists together are a **schedule of a pipeline**.
# Here is a schedule for four stages and four micro-batches: first all the forward passes, and then all the backward
# passes (it is called GPipe). A forward takes one unit of time, and a backward two. In what share of the time does a
# worker wait? Drawing the four rows on paper helps.

# %%
Predict("bubble", "The bubble of 4 stages and 4 micro-batches, in percent:", tolerance=3)

# %%
plan = schedule("gpipe", 4, 4)
tasks = plan.timeline()  # each step begins as early as possible
reveal("bubble", round(100 * bubble(tasks)))

# %%
units, worked = 4 * makespan(tasks), sum(task.end - task.start for task in tasks)
print(f"{units:g} units of time: the four work in {worked:g}, and wait in {units - worked:g}, {bubble(tasks):.1%}")
Pipeline(plan)

# %% [markdown]
# *The picture: a row for each stage, and in each box the number of a micro-batch. Blue stairs, forward, go down to the
# right, and dashed ones, backward, go back up. The hatched corners are the bubble.*
#
# The first micro-batch reaches the last stage after $p − 1$ steps. So each worker waits for $p − 1$ forwards and as
# many backwards, and works on $m$ of each. The bubble is $\frac{p − 1}{m + p − 1}$. With $p = m = 4$ that is 3/7.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Play the widget until stage 3 begins, and count what is hatched above it. Rule of thumb: four times as
# many micro-batches as stages leaves a bubble of a fifth. Ask why we do not take very many of them: they get small.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## More stages, faster?
#
# **Where it breaks.** You want it faster, and double the stages. The batch is cut into 8 micro-batches. With $p$ stages
# each stage has one $p$-th of the layers, so its forward takes $1 / p$ of the time. With 16 stages, how many times as
# fast is a step as with 8?

# %%
Predict("doubled", "16 stages instead of 8, with 8 micro-batches: how many times as fast?", tolerance=0.1)


# %%
def step_time(p, transfer=0):
    """How long a step takes with p stages and 8 micro-batches; a forward of all layers takes 1."""
    part = {"forward": 1 / p, "backward": 2 / p}
    return makespan(schedule("gpipe", p, 8).timeline(lambda _, step: part[step.kind], transfer=transfer))


reveal("doubled", round(step_time(8) / step_time(16), 2))

# %%
for p in (1, 2, 4, 8, 16, 32, 64):
    print(f"{p:2} stages: {step_time(1) / step_time(p):4.2f} times as fast as one; bubble {bubble_fraction(p, 8):.0%}")

# %% [markdown]
# 1.3 times, with twice the workers. The speedup is $\frac{m p}{m + p − 1}$. However many stages there are, a step is
# never more than 8 times as fast as on one worker: that is the number of micro-batches.
# More stages make a model *fit*. They make it fast only with more micro-batches, and those need a larger batch.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The belief comes from assembly lines, which never stop. A step of training stops: all gradients have to
# be there before the weights move, so the line is filled and emptied at each step.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A plan for 145.6 billion
#
# In practice both cuts are used at once, and the batch is shared out as well (lesson 22). `tensor` workers share each
# layer, `pipeline` stages follow one another, and `data` copies of the whole pipeline each take a part of the batch.
# Back to the model of the beginning. Its authors had 1,536 A100s, with fast links between 8 of them, and batches of
# 2,304. Which three numbers would you choose?

# %%
Predict("plan", "data × tensor × pipeline:", options=["192 × 8 × 1", "96 × 1 × 16", "6 × 32 × 8", "24 × 8 × 8"])

# %%
heads, hidden, layers, tokens, vocabulary = 96, 12288, 80, 2048, 51200
parameters = round(cost.transformer_parameters(layers, hidden, vocabulary, tokens))
flops = cost.transformer_flops(1, tokens, layers, hidden, vocabulary, recompute=False)  # of one sample
kept = layers * cost.activation_bytes(tokens, 1, hidden, heads)  # bytes for backward, of one sample
between = 2 * tokens * hidden  # bytes of an activation between two layers
model = Workload(parameters=parameters, width=2, flops=flops, kept=kept, layers=layers, boundary=between, heads=heads)
plans = cost.plans(model, "A100", workers=1536, batch=2304, efficiency=0.6)
fits = [plan for plan in plans if plan.nbytes <= 80e9]
best = fits[0]
reveal("plan", f"{best.data} × {best.tensor} × {best.pipeline}")

# %%
print(f"whole: {cost.zero_bytes(model.parameters) / 1e9:,.0f} GB of weights, gradients and Adam's numbers")
print(f"{len(plans)} plans, {len(fits)} fit; the quickest: {best}")

# %% [markdown]
# `cost.plans` has worked out each way to divide the workers, by formulas: how long a step takes, and how many bytes a
# worker has. (`zero=1` is the first stage of ZeRO, lesson 22.) The paper's table says 24, 8 and 8, too.
#
# Each of the others loses somewhere. *Without a pipeline*, activations fit only if forward is run a second time (lesson
# 21). *Without tensor parallelism* there are many groups, so each gets few micro-batches, and has a large bubble. *With
# 32 workers to a layer*, sending takes longer than computing.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. The order to keep: first tensor, up to the box; then as few stages as fit; all the rest data. Ask what
# changes with 40 GB, and let somebody run `cost.best_plan` with `memory=40e9`.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: where the others lose
#
# You can follow the lesson without what is folded here: the four plans in seconds, and the published run.

# %% [markdown] slideshow={"slide_type": "skip"}
# Here are the four plans, each with the quickest settings that fit in 80 GB. (The search above chose ZeRO 1, which
# splits Adam's state among the 24. The paper's run did without.)


# %% slideshow={"slide_type": "skip"}
def quickest(data, tensor, pipeline):
    """The quickest settings of a plan that fit in 80 GB."""
    shares = {"data": data, "tensor": tensor, "pipeline": pipeline}
    settings = [{"zero": zero, "recompute": again} for zero in (0, 1) for again in (False, True)]
    ways = [cost.step(model, "A100", 2304, 0.6, **shares, **setting) for setting in settings]
    return min((way for way in ways if way.nbytes <= 80e9), key=lambda way: way.seconds)


for shape in ((192, 8, 1), (96, 1, 16), (6, 32, 8), (24, 8, 8)):
    plan = quickest(*shape)
    spent = ", ".join(f"{name} {plan.seconds_of[name]:.1f}" for name in ("compute", "tensor", "bubble", "data"))
    again = ", forward twice" if plan.recompute else ""
    print(f"{' × '.join(map(str, shape)):11}: {plan.seconds:.1f} s ({spent}), {plan.nbytes / 1e9:.0f} GB{again}")
published = cost.step(model, "A100", 2304, 0.6, data=24, tensor=8, pipeline=8, recompute=True)
rate = cost.transformer_flops(2304, tokens, layers, hidden, vocabulary) / published.seconds / 1536 / 1e12
print(f"as published: {published.seconds:.1f} s, {rate:.0f} TFLOP/s for each A100; 148 were measured")

# %% [markdown] slideshow={"slide_type": "skip"}
# The last line is the published run, in which forward was run twice. The formulas are within a tenth of what was
# measured. One number was put in by hand: that a worker alone reaches 0.6 of what its data sheet says. The formulas
# know nothing of slow machines or a busy network, so take them as a sketch. They can tell 17 seconds from 30, but not
# 17 from 18.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: the way back, computed
#
# You can follow the lesson without what is folded here: both cuts of a product, and the gradient of x.

# %% [markdown] slideshow={"slide_type": "skip"}
# Let `gy` be the gradient that arrives at y. Then the gradient of x is `gy @ W.T` (lesson 04), and each worker can
# compute what its half of W contributes. For which of the two cuts is the gradient of x a *sum* over the workers?

# %% slideshow={"slide_type": "skip"}
gy = mg.randn(2, 6)
gx = gy @ W.T
parts = {"by columns": [gy[:, :3] @ left.T, gy[:, 3:] @ right.T], "by rows": [gy @ upper.T, gy @ lower.T]}


def equal(x, y):
    """Whether two tensors have the same shape and the same numbers."""
    return x.shape == y.shape and bool(mg.allclose(x, y))


sums = [cut for cut, (part1, part2) in parts.items() if equal(part1 + part2, gx)]
for cut, (part1, part2) in parts.items():
    side_by_side = equal(mg.cat([part1, part2], dim=1), gx)
    print(f"{cut:10} each worker has {part1.shape} of {gx.shape}; sum: {cut in sums}, side by side: {side_by_side}")

# %% [markdown] slideshow={"slide_type": "skip"}
# It is a sum for the cut by columns. When W is cut by columns, all workers *read* the same x, and where a
# value is used twice its gradients add up (lesson 02). When W is cut by rows, each worker reads its own part.
#
# | W is cut | a worker reads | y is | the gradient of x is |
# |---|---|---|---|
# | by columns | all of x | side by side | *the sum* |
# | by rows | its part of x | *the sum* | side by side |

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: attention by heads, and how many workers are too many
#
# You can follow the lesson without what is folded here: the messages of a whole block, counted and priced.

# %% [markdown] slideshow={"slide_type": "skip"}
# The heads of an attention (lesson 16) do not look at each other. So give each worker some of the *heads*. The product
# that makes the queries q, the keys k and the values v of all heads is cut by columns, the product after the heads by
# rows, and in between nothing has to be sent. A block of a transformer is attention, and then the two layers from
# above. How many calls of `all_reduce` does it need, forward and backward together?

# %% slideshow={"slide_type": "skip"}
# %%parallel -n 2 -o counts
import minigrad as mg
import minigrad.distributed as dist
from minigrad.zoo.transformers import TransformerBlock

dist.init_process_group()
mg.manual_seed(0)
block, x = TransformerBlock(16, heads=4, dropout=0.0), mg.randn(2, 8, 16, requires_grad=True)
y, whole = block(x), sum(p.size for p in block.parameters())
dist.parallel_block(block)
part = sum(p.size for p in block.parameters())
with dist.CommDebugMode() as comm:
    z = block(x)
    z.sum().backward()
counts = {**comm.get_comm_counts(), "bytes": comm.comm_bytes["all_reduce"], "bytes of x": x.nbytes}
print(block.attention.heads, "heads,", f"{part:,} of {whole:,} parameters; as before:", bool(mg.allclose(y, z)))

# %% slideshow={"slide_type": "skip"}
print(counts[0])

# %% [markdown] slideshow={"slide_type": "skip"}
# Four, each with as many bytes as x: two forward and two backward. A worker has a little more than half of the
# parameters, since both workers store the norms and the biases that are added after sums. What a worker *saves for
# backward* is halved too, except what lies between the pairs of layers.
#
# Four sums in each block are a lot to send, so they need fast links. In the machines of that paper these join the eight
# accelerators of one box; since 2024 a rack called NVL72 joins 72.

# %% [markdown] slideshow={"slide_type": "skip"}
# There are four sums in each block, for each micro-batch, and nobody can continue before they are done. Here is what
# they cost on paper, for a block of the model with 145.6 billion parameters. The machines are A100s, with fast links
# between the eight in one box:

# %% slideshow={"slide_type": "skip"}
length, width, gpu = 2048, 12288, cost.hardware("A100")
flops = cost.transformer_flops(1, length, 1, width, 1, recompute=False)
for p in (2, 4, 8, 16, 32):
    computing = flops / (p * 0.6 * gpu.flops[2])  # at 0.6 of what the hardware can do at best
    sending = 4 * cost.all_reduce(2 * length * width, p, *gpu.link(p))
    where = "one box" if p <= gpu.per_node else "several boxes"
    print(f"{p:2} workers in {where:13}: computing {1e3 * computing:5.1f} ms, sending {1e3 * sending:5.1f} ms")

# %% [markdown] slideshow={"slide_type": "skip"}
# The computing is divided among the workers, and the sending is not. Beyond one box sending takes twice as long. With
# 32 workers it takes longer than the computing. (The bandwidths are those of data sheets; nothing was timed.)

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a graph on two workers
#
# You can follow the lesson without what is folded here: how many messages a cut through a graph needs, and a session in
# two processes.

# %% [markdown] slideshow={"slide_type": "skip"}
# A cut between layers is a cut through *edges of the graph*. In a graph that is built before it runs (lesson 09), you
# can tell each node where to run: `with mg.device("worker:1")`. A run then has one graph for each worker. Where an edge
# goes from one worker to the other, there is a `send` and a `receive`. Below, h is made on worker 0, and *two* nodes on
# worker 1 read it. How often is h sent?

# %% slideshow={"slide_type": "skip"}
graph = mg.Graph()
with graph.as_default():
    x = mg.placeholder("float64", (2, 3), name="x")
    with mg.device("worker:0"):
        h = x.tanh()
    with mg.device("worker:1"):
        y = h.exp().sum() + h.square().sum()
graphs = dist.worker_graphs([y], 2)
sent = [node.op.label for node in graphs[0].nodes if type(node.op).__name__ == "Send"]
print("worker 0:", "; ".join(sent))
mg.draw(graphs[1])

# %% [markdown] slideshow={"slide_type": "skip"}
# Once. There is a message for each value that a worker needs, not for each reader. The drawing shows worker 1's part.
# It begins with `receive`, and it sends y back, since in a run both workers ask for y.
#
# These messages are few and small: one activation for each edge that is cut, where tensor parallelism has four sums for
# each block. That is why people cut *between* layers where links are slow. But this cut has a price of another kind.

# %% [markdown] slideshow={"slide_type": "skip"}
# Now in two processes. `dist.Session` is one session for all workers: each makes the same graph, and runs its part of
# it.

# %% slideshow={"slide_type": "skip"}
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
with dist.Session(graph) as session, dist.CommDebugMode() as comm:
    value = session.run(y, {x: mg.ones(2, 3).numpy()})
messages = comm.get_comm_counts()
print(f"y = {value:.4f}; I sent {messages['send']} message")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: more on the bubble
#
# You can follow the lesson without what is folded here: 21 pipelines, slow messages, and stages that
# are not equal.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
micro = [1, 2, 4, 8, 16, 32, 64]
for stages, color, mark in ((2, "#009E73", "s"), (4, "#0072B2", "o"), (8, "#D55E00", "^")):
    counted = [100 * bubble(schedule("gpipe", stages, m).timeline()) for m in micro]
    ax.plot(micro, [100 * bubble_fraction(stages, m) for m in micro], ":", color=color)
    ax.plot(micro, counted, mark, color=color, label=f"p = {stages}")
ax.set(xscale="log", xticks=micro, xticklabels=micro, xlabel="micro-batches m", ylabel="bubble in percent")
ax.legend()
plt.show()

# %% [markdown] slideshow={"slide_type": "skip"}
# *The plot: dots are counted in schedules, dotted lines are the formula, and the dots lie on them. All fall with m.
# With 8 stages the bubble begins at 87.5 percent, and takes some 60 micro-batches to come down to 10; with 2 stages it
# begins at 50.*

# %% slideshow={"slide_type": "skip"}
for p in (1, 2, 4, 8, 16, 32, 64):
    print(f"{p:2} stages: with messages {step_time(1) / step_time(p, transfer=0.05):4.2f} times as fast as one")

# %% [markdown] slideshow={"slide_type": "skip"}
# Here each message takes a twentieth of the time of a whole forward, and 32 stages are *slower* than 16.

# %% [markdown] slideshow={"slide_type": "skip"}
# So far all stages were equal. They are not, if a network has 6 layers and 4 stages, or a last layer that is heavier
# than the others. The slowest stage sets the pace:

# %% slideshow={"slide_type": "skip"}
for layers in ((2, 2, 2, 2), (3, 2, 2, 1), (5, 1, 1, 1)):
    unit = {"forward": 1, "backward": 2}
    tasks = schedule("gpipe", 4, 8).timeline(lambda worker, step, n=layers, unit=unit: n[worker] * unit[step.kind])
    print(f"layers {layers}: {makespan(tasks):3g} units of time, bubble {bubble(tasks):.0%}")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: what is kept, with 1F1B
#
# You can follow the lesson without what is folded here: **1F1B**, a schedule with the same bubble that keeps
# fewer activations, and its run in four processes.

# %% [markdown] slideshow={"slide_type": "skip"}
# GPipe does all the forwards first, so each stage keeps the activations of all micro-batches until backward. 1F1B
# begins with backward as soon as there is one to do, and then does one forward and one backward in turn. What is better
# than with GPipe, for 4 stages and 8 micro-batches: the bubble, the activations kept, both, or neither?

# %% slideshow={"slide_type": "skip"}
from minigrad.distributed.schedules import most_kept

for name in ("gpipe", "1f1b"):
    plan = schedule(name, 4, 8)
    most = [most_kept(steps) for steps in plan.steps]
    print(f"{plan.name:5}: bubble {bubble(plan.timeline()):.1%}, activations kept at most, by stage: {most}")
Pipeline(schedule("1f1b", 4, 8))

# %% [markdown] slideshow={"slide_type": "skip"}
# *The picture: counted again, with 8 micro-batches; GPipe's picture above had 4. Stage 0 does four forwards, and from
# then on backward and forward in turn. GPipe with 8 micro-batches has as many idle places, at other times.*
#
# 1F1B saves *memory* and no time: the bubble is as large as before. A stage keeps as many micro-batches as there are
# stages from it to the end, 4, 3, 2, 1, however many there are in all. So *many* micro-batches no longer cost memory,
# and they are what makes the bubble small.

# %% [markdown] slideshow={"slide_type": "skip"}
# Does a real run do what the schedule says? Each of four processes has a stage, works through its list, and sends
# activations and gradients. Each stage also *sleeps*, 20 ms forward and 40 ms backward. It stands for an accelerator
# that is busy that long, and four sleepers do not need four cores. Messages and gradients are real, and so is the
# waiting.

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
# %%parallel -n 4 -o ran
import time
import minigrad as mg
import minigrad.distributed as dist


def sleep_and_count(layer, xs, y):
    time.sleep(0.02)
    kept.append(kept[-1] + 1)
    y.register_hook(lambda gy: time.sleep(0.04))
    y.register_hook(lambda gy: kept.append(kept[-1] - 1))


kept = [0]  # how many micro-batches have their activations here
dist.init_process_group()
rank = dist.get_rank()
mg.manual_seed(0)
net, x, t = mg.nn.Sequential(*(mg.nn.Linear(8, 8) for _ in range(4))), mg.randn(16, 8), mg.zeros(16, 8)
mg.mse_loss(net(x), t).backward()
whole, net[rank].weight.grad = net[rank].weight.grad, None
net[rank].register_forward_hook(sleep_and_count)
pipe = dist.Pipeline([dist.PipelineStage(net[rank : rank + 1], rank, 4)], dist.schedule("1f1b", 4, 8), mg.mse_loss)
pipe.step(*([x] if rank == 0 else []), target=t if rank == 3 else None)
ran = dist.schedules.bubble(pipe.measured())
print(f"{max(kept)} micro-batches kept at most; as on one machine: {mg.allclose(net[rank].weight.grad, whole)}")

# %% tags=["measured", "nbval-ignore-output"] slideshow={"slide_type": "skip"}
print(f"bubble: {ran[0]:.0%} measured, {bubble_fraction(4, 8):.0%} by the formula")

# %% [markdown] slideshow={"slide_type": "skip"}
# Each stage kept as many micro-batches as the schedule said, and the gradients are those of the whole batch on one
# machine. The measured bubble is a little larger than the formula's, because messages take time and sleepers wake up
# late. On a busy machine it is more than a little.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### Further: a schedule of your own
#
# You can follow the lesson without what is folded here: a schedule in which two workers wait for each other for ever.

# %% [markdown] slideshow={"slide_type": "skip"}
# It is easy to write a schedule of your own. In this one, worker 0 does forward and backward of
# micro-batch 0, and then of 1. Worker 1 does both forwards first. Does a run
# work, is it slow, or does it wait for ever?

# %% slideshow={"slide_type": "skip"}
from minigrad.distributed.schedules import Schedule, ScheduleError, Step

f0, f1, b0, b1 = (Step(kind, i) for kind in ("forward", "backward") for i in (0, 1))
try:
    tasks = Schedule("mine", [[f0, b0, f1, b1], [f0, f1, b0, b1]], 2).timeline()
    print(f"It works, with a bubble of {bubble(tasks):.0%}.")
except ScheduleError as error:
    print(error)

# %% [markdown] slideshow={"slide_type": "skip"}
# Worker 0 waits for a gradient. Worker 1 will send it only after one more forward, and for that forward it waits for
# worker 0. In real processes such a run hangs, without an error. Because a schedule is data, the mistake is found
# before anything runs.
#
# (`stages_of`, which cuts a network, refuses another trap: a weight that two stages share, as in a GPT whose table of
# letters is its first layer and its last. Each stage would train a copy of its own.)

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("23_one_model_many_workers")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# What other frameworks call the things of this lesson, and one of its claims, run in PyTorch.

# %% [markdown] slideshow={"slide_type": "skip"}
# | minigrad | PyTorch | JAX |
# |---|---|---|
# | `ColumnParallelLinear`, `RowParallelLinear` | `ColwiseParallel`, `RowwiseParallel` | `NamedSharding(mesh, …)` |
# | `CommDebugMode` | the same | the collectives in `lowered.compile().as_text()` |
# | `PipelineStage`, `Schedule1F1B`, `ScheduleGPipe` | the same | by hand: `shard_map` and `ppermute` |
# | `with mg.device("worker:1")` | none | none |
#
# - *PyTorch*: the first two are in `torch.distributed.tensor`, whose `DTensor` knows how it is cut: `Shard`,
#   `Replicate`, or `Partial`, which is "some of the terms". Pipelines are in `torch.distributed.pipelining`.
# - *JAX*: with `jax.sharding` you say how arrays are cut, and the compiler adds the messages. In `jax.shard_map` you
#   write them yourself, as `psum`.
# - *Megatron-LM* by NVIDIA, from which the two layers have their names, lives on as the library Megatron Core.
# - *GPipe* is a paper and was a part of Lingvo, on TensorFlow. *PipeDream*, from which 1F1B comes, was a research
#   project: it has no bubble, because it uses weights that are some steps old.
# - *TensorFlow*: placement comes from `tf.device("/job:worker/task:1")` in TensorFlow 1, and went with its sessions.
#   Today there is `tf.experimental.dtensor`; `tf.distribute` (lesson 22) shares only the batch.
#
# ### The same in PyTorch
#
# A is cut by columns and B by rows, and each half is what one worker computes. Forward needs one sum, backward needs
# one sum, and gelu in between needs none. `ColwiseParallel` and `RowwiseParallel` make the same two cuts.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def two_cuts_in_pytorch(torch):
    """
    forward, the sum is the whole:     True
    backward, the sum is the whole:    True
    gelu of a sum is the sum of gelus: False
    """
    gelu = torch.nn.functional.gelu
    torch.manual_seed(0)
    A, B = torch.randn(8, 32, dtype=torch.float64), torch.randn(32, 8, dtype=torch.float64)
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    whole = gelu(x @ A) @ B
    first, second = (gelu(x @ A[:, half]) @ B[half] for half in (slice(0, 16), slice(16, 32)))
    print("forward, the sum is the whole:    ", torch.allclose(first + second, whole))
    gx, gx1, gx2 = (torch.autograd.grad(y.sum(), x)[0] for y in (whole, first, second))
    print("backward, the sum is the whole:   ", torch.allclose(gx1 + gx2, gx))
    print("gelu of a sum is the sum of gelus:", torch.allclose(gelu(first + second), gelu(first) + gelu(second)))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - A product cut by columns needs a sum backward; a product cut by rows needs a sum forward.
# - Columns, then rows: two layers with one `all_reduce` forward and one backward.
# - The bubble is $(p − 1) / (m + p − 1)$. With $m$ micro-batches no number of stages
#   makes a step more than $m$ times as fast.
# - Tensor inside a box, few stages, the rest data: that is the published plan, and what the formulas find.
#
# **Sources.** M. Shoeybi and others, *Megatron-LM*, arXiv:1909.08053 (2019), section 3: columns, then rows. Y. Huang
# and others, *GPipe*, arXiv:1811.06965 (2018), section 2.3: the bubble. D. Narayanan and others, *PipeDream*, SOSP
# 2019, section 3: 1F1B. D. Narayanan and others, *Efficient large-scale language model training on GPU clusters using
# Megatron-LM*, arXiv:2104.04473 (2021), section 2.2, and table 1: schedules, and the plan. M. Abadi and others,
# *TensorFlow*, arXiv:1603.04467 (2016), section 3.2.2: one message for each edge cut.
#
# **Exercise.** [23 Where to cut](../exercises/23_one_model_many_workers.ipynb): cut two layers by hand, say which
# message belongs where, and work out a bubble.
#
# **Next:** [24 Out of Python](24_out_of_python.ipynb). Before that, change something here: take 16 micro-batches
# instead of 4 in `schedule("gpipe", 4, 4)`. What is the bubble by the formula? Work it out before you run the cell.
