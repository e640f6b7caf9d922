# ---
# jupyter:
#   minigrad:
#     title: Many workers, one gradient
#     minutes: 45
#     objectives:
#       - start several processes, and give all of them the gradient of one whole batch
#       - count what a star, a tree and a ring send, and who has to send the most
#       - work out how long an all-reduce takes, and when more workers are slower
#       - say when the first gradients leave, and what buckets are for
#       - cut the optimiser's state into parts, and say what has to be sent for that
#       - read the message that processes give when they wait for one another
#     concepts: [F2, F5]
#     builds_on: [06_the_dynamic_graph, 16_where_the_bytes_go, 21_twice_to_keep_less]
#     widgets: [AllReduce, Predict, Quiz]
#     terms:
#       rank: the number of a process among those that were started together, from 0 on
#       data parallelism: each worker has the whole network and a part of the batch
#       all-reduce: a call after which each worker has the sum of what all of them had
#       bucket: gradients that travel together
#       shard: one worker's part of what all of them would otherwise hold in full
#       deadlock: processes wait for each other, so that none can go on
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 22 Many workers, one gradient
#
# In lesson 21 a batch went through in parts, one after the other, and the gradients were added up. The parts do not
# need each other, so several workers can each take one, at the same time. Then the gradients have to come together, and
# each worker needs the sum. **Do eight workers send eight times as much?** In this lesson we start real processes,
# count what they send to each other, and find out what that costs and when it is not worth it.
#
# **About 45 minutes.** Afterwards you can
#
# - start several processes, and give all of them the gradient of one whole batch;
# - count what a star, a tree and a ring send, and who has to send the most;
# - work out how long an all-reduce takes, and when more workers are slower;
# - say when the first gradients leave, and what buckets are for;
# - cut the optimiser's state into parts, and say what has to be sent for that;
# - read the message that processes give when they wait for one another.
#
# **Builds on** [06 The dynamic graph](06_the_dynamic_graph.ipynb), [16 Where the bytes go](16_where_the_bytes_go.ipynb)
# and [21 Twice, to keep less](21_twice_to_keep_less.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the same graph elsewhere.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask what two computers with half of the batch each would have to tell each other: the rows, the losses,
# the gradients, or the weights? And how often? Leave the answers on the board.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Predict, Quiz, follow_theme, reveal
from minigrad.distributed import DistributedSampler, cost
from minigrad.distributed.algorithms import Recv, Send, messages, ring, traffic, tree
from minigrad.widgets import AllReduce

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
mg.manual_seed(0)
follow_theme()
# %load_ext minigrad.course.parallel

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four processes
#
# A cell that begins with `%%parallel -n 4` does not run in this notebook. It is run four times, at once, by four Python
# processes that end with the cell. Each is told its number, its **rank**: 0, 1, 2 or 3. The four know nothing of the
# notebook, which is why such a cell begins with its imports. `-o x` brings their x back, as a list with one value for
# each rank. (The processes are started by MPI, the standard for programs that send each other messages. Where MPI is
# missing, such a cell shows what it did when the lesson was made; `python3 start.py add mpi` adds it.)
#
# All run the same lines; only rank 0 does what is under the `if`. What is the sum of their four x?

# %%
Predict("memory", "The sum of the four x:")

# %%
# %%parallel -n 4 -o x
import minigrad.distributed as dist

dist.init_process_group()
x = 10
if dist.get_rank() == 0:
    x += 1
print(f"rank {dist.get_rank()} of {dist.get_world_size()} has {x}")

# %%
print(x)
reveal("memory", sum(x))

# %% [markdown]
# 41: they share no memory. (The number before a line says which rank has printed it.) Whatever one process needs to
# know from another has to be sent, through the memory of one machine or over a wire. On a cluster each process has a
# GPU of its own, and the program looks the same.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One gradient
#
# Now all have the same network, and each has its own 64 of 256 digits: that is **data parallelism**.
# `dist.all_reduce(g)` is an **all-reduce**: the processes add up what each of them has in g, and afterwards all have
# the sum there. Each loss is the *mean* over 64 rows. What all of them get is how many times the gradient of the whole
# batch?

# %%
Predict("sum", "The sum of the four gradients, as a multiple of the whole batch's gradient:")

# %%
# %%parallel -n 4 -o ratio,equal,bias
import numpy as np

import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank, p = dist.get_rank(), dist.get_world_size()
digits = mg.data.digits()
pictures, labels = mg.tensor(digits.train_x[:256]), mg.tensor(digits.train_y[:256])
mg.manual_seed(0)
net = mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.Tanh(), mg.nn.Linear(32, 10))


def gradient(rows):
    net.zero_grad()
    mg.cross_entropy(net(pictures[rows]), labels[rows]).backward()
    return mg.cat([w.grad.reshape(-1) for w in net.parameters()])


g = gradient(slice(64 * rank, 64 * (rank + 1)))
bias = g[-10:].clone().numpy()
dist.all_reduce(g)
whole = gradient(slice(0, 256))
ratio, equal = ((g @ whole) / (whole @ whole)).item(), np.allclose(g.numpy() / p, whole.numpy())

# %%
print("the sum:", ", ".join(f"{each:.4f}" for each in ratio), "times the whole batch's")
print("the sum divided by 4: equal is", all(equal), "in all four processes")
reveal("sum", round(ratio[0], 4))

# %% [markdown]
# Four times, as with micro-batches, and with the same way out: if the loss is a mean, take the mean of the gradients
# (`op=ReduceOp.AVG`, or a division by 4), and if it is a sum, their sum. Now let all begin with the same weights, and
# take the same steps. Then their weights stay the same for ever, and nobody needs to send weights, only gradients.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. What if one worker draws other weights at the start? All go on, each from its own place, with a gradient
# that belongs to none of them, and nothing says so. That is why DistributedDataParallel sends rank 0's weights to all
# when it is made. Dropout may differ between ranks, and should.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One in the middle
#
# How does an all-reduce work? What comes to mind first is a star: all send their gradients to rank 0; it adds them up,
# and sends the sum to each. We write down what *one* rank does, round by round: what it sends and what it receives, or
# `()` for nothing. With `add=True`, what comes is added to what is there; without, it takes its place. From this
# `messages` finds who sends what to whom; it does not even need a vector. Here p is the number of ranks, and n the
# length of the gradient.


# %%
def star(rank, p, n):
    whole = slice(0, n)
    for other in range(1, p):
        yield (Send(0, whole),) if rank == other else (Recv(other, whole, add=True),) if rank == 0 else ()
    for other in range(1, p):
        yield (Recv(0, whole),) if rank == other else (Send(other, whole),) if rank == 0 else ()


for number, sent in enumerate(messages(star, 4, 8), 1):
    print(f"round {number}:", ", ".join(f"rank {m.source} sends {m.size} numbers to rank {m.to}" for m in sent))

# %% [markdown]
# Six rounds for four workers, and in each of them two are busy and two wait. With eight workers, rank 0 receives seven
# gradients and sends seven sums. A ninth worker makes it slower. Whoever expects eight workers to send eight times as
# much has this in mind. There is a better way:

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Round in a ring
#
# Each worker talks to its neighbours only: it sends to the next, and receives from the one before. The gradient is cut
# into as many chunks as there are workers. In each round *every* worker sends one chunk, each of them a different one.
# Below are the gradients that the four processes have just found for the ten biases of the last layer; of each chunk
# you see one number, the sum of what is in it. After which round is a chunk complete for the first time?

# %%
Predict("complete", "A chunk first holds the sum of all four after round …")

# %%
held = [vector.copy() for vector in bias]
total, complete = sum(bias), []
for number, sent in enumerate(messages(ring, 4, len(total)), 1):
    came = [held[m.source][m.part].copy() for m in sent]
    for m, chunk in zip(sent, came):
        held[m.to][m.part] = held[m.to][m.part] + chunk if m.add else chunk
    complete.append(sum(int(np.allclose(vector[m.part], total[m.part])) for vector in held for m in sent))
    sizes = sorted({m.size for m in sent})
    print(f"round {number}: {len(sent)} messages of {sizes} numbers; {complete[-1]:2} of 16 chunks are complete")
display(reveal("complete", 1 + complete.index(4)))
AllReduce(bias)

# %% [markdown]
# Step through the film. After round 3 each worker has *one* chunk of the sum: this half is called reduce-scatter. In
# three more rounds the complete chunks travel once around: all-gather. With p workers that makes $2(p-1)$ rounds, as
# many as with the star; but each message is only a $p$-th of a gradient.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. Have six people stand in a ring with sheets of paper, if there is room; the film is the same. If somebody
# asks which chunk should end where: that does not matter, as long as each worker gets a different one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Do eight workers send eight times as much?
#
# Let us count: for each rank, `traffic` gives its messages, and the numbers in them. Beside star and ring there is a
# third way, a tree: vectors are added in pairs, then pairs of pairs, …, and the sum comes back the same way. With *one*
# worker nothing is sent. In a ring of eight, what does each of the workers send, as a multiple of its own gradient?

# %%
Predict("eight", "In a ring of 8, each worker sends … times its gradient", tolerance=0.05)

# %%
n = 840
print("            rounds   the busiest sends   all together")
for algorithm in (star, tree, ring):
    for p in (2, 4, 8, 64):
        sent = [elements / n for _, elements in traffic(algorithm, p, n)]
        rounds = len(list(messages(algorithm, p, n)))
        print(f"{algorithm.__name__:5} of {p:2}   {rounds:4}   {max(sent):13.2f} n   {sum(sent):10.2f} n")
sent = [elements / n for _, elements in traffic(ring, 8, n)]

workers = [2, 3, 4, 6, 8, 12, 16]
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
for algorithm, color, marker in ((star, VERMILION, "s"), (tree, GREEN, "^"), (ring, BLUE, "o")):
    busiest = [max(elements for _, elements in traffic(algorithm, p, n)) / n for p in workers]
    ax.plot(workers, busiest, color=color, marker=marker, label=algorithm.__name__)
ax.set(xlabel="workers", ylabel="gradients sent\nby the busiest", xticks=workers, ylim=0)
ax.legend()
plt.show()
reveal("eight", max(sent))

# %% [markdown]
# *The plot: the star climbs in a straight line, one gradient for each worker more. The tree climbs by one for each
# doubling. The ring starts at 1 and bends: it stays below 2 for any number of workers.*
#
# With eight workers 1.75 times: $2(p-1)/p$. That is 1.5 with four workers, 1.97 with 64, and never 2. *All together*
# send $2(p-1)$ gradients, whichever of these ways they take: the gradients of $p-1$ others have to come in, and the sum
# has to go out to $p-1$ others. What the ring changes is that nobody has more to do than anybody else, and that all the
# wires work at the same time. (The tree has few rounds, of whole gradients.)

# %% [markdown] slideshow={"slide_type": "subslide"}
# That was on paper. In a real process, `CommDebugMode` counts what it sends. For the sums above, MPI chose the way by
# itself. With "ring" as the backend (what carries the messages), an all-reduce takes exactly the rounds that we have
# stepped through. On paper each process sends 6 messages, and 1.5 times the 6,720 bytes of 840 numbers (float64, the
# engine's default): 10,080.

# %%
# %%parallel -n 4
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group("ring")
gradient = mg.full((840,), dist.get_rank() + 1.0)
with dist.CommDebugMode() as comm:
    dist.all_reduce(gradient)
sizes = [size for _, size in comm.messages]
print(f"{len(sizes)} messages to rank {comm.messages[0][0]}, {sum(sizes):,} bytes; sum {gradient[0].item():g}")

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. "All-reduce sends k times the data for k workers" is the belief of the day: ask who sends it. For one
# worker it is wrong; all together send even twice that, nearly, whichever way they take.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long it takes
#
# A message takes $\alpha + n\beta$ seconds: $\alpha$ until its first byte arrives, and $\beta$ for each of its n bytes.
# A ring has $2(p-1)$ rounds, each of an $n/p$-th:
#
# $$2(p-1)\,\alpha + \frac{2(p-1)}{p}\,n\beta$$
#
# The second part hardly depends on how many workers there are; the first grows with each of them. Between machines with
# A100s $\alpha$ is about 9.6 µs, and 25 GB go over a wire in a second. With 64 workers and a vector of 1 kB, is the
# tree or the ring faster? And for 100 MB, the gradient of a ResNet-50?

# %%
Predict("which", "1 kB and 100 MB:", options=["ring, ring", "ring, tree", "tree, ring", "tree, tree"])

# %%
alpha, beta = cost.hardware("A100").between
faster = []
for size, name in ((1e3, "1 kB"), (1e6, "1 MB"), (1e8, "100 MB")):
    ms = {each: 1e3 * cost.all_reduce(size, 64, alpha, beta, algorithm=each) for each in ("tree", "ring", "halving")}
    faster.append(min(("tree", "ring"), key=ms.get))
    print(f"{name:6} ", ", ".join(f"{each} {time:.2f} ms" for each, time in ms.items()))
bits = 8 * cost.all_reduce(1e8, 256, alpha=0.0, beta=1.0)
print(f"100 MB, 256 workers, 0.12 s: {bits / 0.12 / 1e9:.1f} Gbit/s")
reveal("which", f"{faster[0]}, {faster[-1]}")

# %% [markdown]
# Small vectors wait for rounds, large ones for bytes. So libraries (MPI, and NCCL, NVIDIA's for its GPUs) choose by
# size. ("halving" has about as few rounds as the tree and the bytes of the ring, but it talks to workers far away,
# where wires are shared; the formula does not know that.)
#
# Is such a formula any good? Goyal and others trained a ResNet-50 on 256 GPUs in one hour. They write that the 100 MB
# of gradients have to be summed up while backward runs, in about 0.12 s, and that each worker needs 15 Gbit/s for that,
# overhead included (section 4). The formula says 13.3, without overhead.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## While backward goes on
#
# The last layer's gradients are there first, when backward has just begun. They can leave while the others are being
# computed. `DistributedDataParallel(net)` (DDP for short) does this: it puts the parameters, in reverse order, into
# groups. The gradients of such a **bucket** travel together: when all of them are there, their all-reduce starts.
# Nobody waits for it until backward ends.
#
# There are eight layers, each a linear layer and a tanh, and a loss of two operations, a mean of squares: 18
# derivatives in all. A bucket is full when it has about 63,000 bytes; a layer has 33,280. How many of the 18 are done
# when the first bucket leaves?

# %%
Predict("leaves", "Derivatives that are done when the first of 4 buckets leaves:", tolerance=2)

# %%
# %%parallel -n 2 -o left,done,total
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
mg.manual_seed(0)
left = {}
for megabytes in (25, 0.06, 0.01):
    net = mg.nn.Sequential(*[mg.nn.Sequential(mg.nn.Linear(64, 64), mg.nn.Tanh()) for _ in range(8)])
    many = dist.DistributedDataParallel(net, bucket_cap_mb=megabytes)
    loss = many(mg.randn(16, 64)).square().mean()
    with mg.profiler.profile() as prof, dist.CommDebugMode() as comm:
        loss.backward()
    done, left[megabytes] = 0, []
    for event in sorted(prof.events(), key=lambda event: event.begin):
        done += event.kind == "backward"
        if (event.kind, event.name) == ("collective", "all_reduce"):
            left[megabytes].append(done)
    total = comm.comm_bytes["all_reduce"]

# %%
for megabytes, counts in left[0].items():
    print(f"full at {megabytes:5} MB: {len(counts)} buckets leave after {counts} of {done[0]} derivatives")
print(f"{total[0]:,} bytes of gradients, each time; both ranks alike: {left[0] == left[1]}")

fig, ax = plt.subplots(figsize=(6, 1.9), layout="constrained")
for y, counts in enumerate(left[0].values()):
    ax.plot([0, done[0]], [y, y], color="gray", linewidth=1)
    ax.plot(counts, [y] * len(counts), "o", color=BLUE)
ax.set(xlabel="derivatives done", xticks=range(0, done[0] + 1, 2), ylim=(-0.6, 2.6))
ax.set_yticks(range(3), [f"{len(counts)} bucket{'s' if len(counts) > 1 else ''}" for counts in left[0].values()])
plt.show()
reveal("leaves", left[0][0.06][0])

# %% [markdown]
# *The plot: three lines from the beginning of backward to its end, with a dot where a bucket leaves. With one bucket
# the only dot is at the end. With four, the first leaves after 7 of 18 derivatives, and with eight after 5; the last
# always leaves at the end.*
#
# (Two layers and the loss are 6 derivatives. A gradient is put into `.grad` when its turn comes, here one later: 7.)
#
# With one bucket nothing overlaps: the wire is idle while backward computes, and then all wait. With a bucket for each
# layer the first leaves early, but each bucket pays the rounds of a ring: $2(p-1)\,\alpha$, eight times. Hence buckets
# of a size in between, 25 MB by default in PyTorch. The bytes are the same; what changes is who waits.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The last bucket never overlaps: it holds the first layer, whose gradient comes last. Ask what would
# happen if two ranks started their buckets in different orders. (They would add up what does not belong together; so
# all start them in the same order, whatever comes first.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When more workers do not help
#
# One worker needs 0.8 s for a batch. With p workers each has a p-th of it, and then there are 100 MB to sum up; let us
# say that nothing overlaps. There are two networks: the one from above, with 25 GB a second, and the Gigabit Ethernet
# of an office, with 0.125 GB a second. With Gigabit Ethernet, which number of workers is fastest?

# %%
Predict("gigabit", "Fastest with Gigabit Ethernet:", options=[1, 2, 8, 64, 256])

# %%
workers = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
networks = {"25 GB/s": cost.hardware("A100").between, "Gigabit": cost.hardware("laptop").between}
seconds = {
    name: [0.8 / p + cost.all_reduce(1e8, p, alpha, beta) for p in workers] for name, (alpha, beta) in networks.items()
}
for name, each in seconds.items():
    print(f"{name:7}  0.8 s for each: 1024 workers compute {0.8 / (0.8 + each[-1] - 0.8 / 1024):.0%} of the time")
    some = ", ".join(f"{p}: {0.8 / s:.2f}" for p, s in zip(workers, each) if p in (2, 8, 64, 256, 1024))
    print(f"{name:7}  times as fast as one worker, with {some}")

fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.plot(workers, workers, color="gray", linestyle=":", label="p times as fast")
for (name, each), color, marker in zip(seconds.items(), (BLUE, VERMILION), "os"):
    ax.plot(workers, 0.8 / np.array(each), color=color, marker=marker, label=name)
ax.set_xscale("log", base=2)
ax.set_yscale("log", base=2)
ax.set(xlabel="workers", ylabel="times as fast", xticks=workers[::2], xticklabels=workers[::2], ylim=(0.25, 300))
ax.set_yticks([0.5, 1, 4, 16, 64, 256], ["0.5", "1", "4", "16", "64", "256"])
ax.legend()
plt.show()
reveal("gigabit", workers[int(np.argmin(seconds["Gigabit"]))])

# %% [markdown]
# *The plot: the fast network stays near the dotted line up to 16 workers, is flat at 256 and falls after that. Gigabit
# Ethernet is below 1 everywhere: two workers are slower than one.*
#
# One worker. With Gigabit Ethernet the sum alone takes 0.8 s with two workers, and 1.6 s with many. On the fast
# network, too, the rounds decide in the end: what each worker computes shrinks with p, and $2(p-1)\,\alpha$ grows. It
# helps to give each worker *more* to do between two sums: if each keeps its 0.8 s of work, in a batch that grows with
# the workers, then 1024 of them lose only 3 % on the fast network. But with 1024 times as many rows in a batch,
# training is not the same any more: it has fewer steps, and needs another learning rate.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Everybody's copy of Adam
#
# After the all-reduce all workers take the same step of the optimiser, on the same numbers, and all keep the same
# state. With Adam that is twice the size of the parameters, p times over. Instead, let each worker keep one p-th of the
# state and of the gradients, its **shard**, and if you like one of the parameters, too. `FullyShardedDataParallel` does
# this:
#
# - `NO_SHARD`: all have everything, as with DDP: an all-reduce of the gradients;
# - `SHARD_GRAD_OP`: gradients are reduce-scattered, each worker updates its p-th of the parameters, and these are
#   all-gathered;
# - `FULL_SHARD`: the parameters are in shards, too; all are gathered for forward, let go, and gathered again for
#   backward.
#
# An all-reduce is a reduce-scatter and an all-gather: twice around the ring. How many times as many bytes as with
# `NO_SHARD` are sent with `SHARD_GRAD_OP`, and with `FULL_SHARD`?

# %%
Predict("sharded", "Times as many bytes:", options=["0.25 and 0.25", "1 and 1", "1 and 1.5", "1.5 and 2"])

# %%
# %%parallel -n 4 -o held,bytes_sent,psi
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group("ring")
held, bytes_sent = {}, {}
for strategy in ("NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD"):
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 64)).float()
    psi = sum(p.nbytes for p in net.parameters())
    many = dist.FullyShardedDataParallel(net, sharding_strategy=dist.ShardingStrategy[strategy])
    adam = mg.optim.Adam(many.parameters())
    x = mg.randn(16, 64, dtype=mg.float32)
    for _ in range(2):  # the second step is the one that is looked at
        adam.zero_grad()
        with mg.profiler.memory(many, adam, inputs=[x], exact=False) as ledger, dist.CommDebugMode() as comm:
            many(x).square().mean().backward()
            adam.step()
    held[strategy] = ledger.timeline()[-1].by_consumer
    bytes_sent[strategy] = sum(size for _, size in comm.messages)

# %%
names = "parameters", "gradients", "optimizer state"
print(f"The parameters have {psi[0]:,} bytes. Rank 0 keeps, after a step, and sends in it:")
for strategy, kept in held[0].items():
    parts = ", ".join(f"{name} {kept[name]:6,}" for name in names)
    once = bytes_sent[0][strategy] / (psi[0] * 3 / 4)
    print(f"{strategy:13}  {parts}; sends {bytes_sent[0][strategy]:,}, {once:g} times around")
times = [bytes_sent[0][strategy] / bytes_sent[0]["NO_SHARD"] for strategy in ("SHARD_GRAD_OP", "FULL_SHARD")]
gigabytes = [f"{cost.zero_bytes(7.5e9, 64, stage) / 1e9:.1f}" for stage in range(4)]
print("ZeRO, 7.5 billion parameters, 64 workers, GB on each:", ", ".join(gigabytes))
reveal("sharded", f"{times[0]:g} and {times[1]:g}")

# %% [markdown]
# Twice, twice, and three times around. Sharding state and gradients adds *nothing* to the bytes sent: the two halves of
# the all-reduce have only moved apart. Sharding the parameters costs half as much again, and then no worker holds more
# than a quarter of anything between two steps. This is called ZeRO (its first stage cuts the state, the second the
# gradients, the third the parameters). The paper's example has 7.5 billion parameters on 64 GPUs, and 16 bytes for
# each: float16 weights and gradients, and 12 bytes for a float32 copy and Adam's two numbers (lesson 20). It gives 120,
# 31.4, 16.6 and 1.9 GB (figure 1), as does the last line above.
#
# This leaves out what is saved for backward: that shrinks with the rows that each worker has, or with checkpoints
# (lesson 21).

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask what the other 63 GB of an 80 GB card are for with stage 2: activations. And who wants stage 3 on
# slow wires: nobody.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## When rows cannot be dealt evenly
#
# All workers must make the same number of calls, so all need the same number of batches. `DistributedSampler` deals out
# the rows. There are 10 rows, and 4 workers. How many rows go through the network in all? Say a number, and run it.

# %%
dealt = [list(DistributedSampler(range(10), num_replicas=4, rank=rank, shuffle=False)) for rank in range(4)]
for rank, rows in enumerate(dealt):
    print(f"rank {rank} gets rows {rows}")
print(sum(map(len, dealt)), "rows go through")

# %% [markdown]
# Twelve: rows 0 and 1 come a second time, so that all have three. For training that does little harm; an accuracy that
# is averaged this way counts two rows twice. (`drop_last=True` leaves two out.) If you deal by hand, and ranks have
# different numbers of rows, the mean of their means is not the mean of all: weigh each by its share, as in lesson 21.
#
# And batch normalisation takes its mean over the rows of *one* worker, as with micro-batches; `SyncBatchNorm` takes it
# over all of them, at the price of an all-gather in each such layer forward, and a reduce-scatter backward.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All call, or none
#
# A mistake that everybody makes once: rank 0 should print the mean loss, so the sum of the losses is asked for only
# where the rank is 0. The next all-reduce, of the gradients, is called by all. What happens to rank 0's call?

# %%
Predict("only", "Rank 0 …", options=["gets the sum of the losses", "gets a part of the gradients", "gets an error"])

# %%
# %%parallel -n 4 -o outcome
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank = dist.get_rank()
loss, gradient = mg.ones(1), mg.ones(3)
outcome = "gets the sum of the losses"
try:
    if rank == 0:
        dist.all_reduce(loss)
    dist.all_reduce(gradient)
except mg.distributed.group.DistributedError as error:
    outcome = "gets an error"
    if rank == 0:
        print(error)

# %%
reveal("only", outcome[0])

# %% [markdown]
# It gets an error, and so do all the others. An all-reduce and its kin (*collectives*, for short) must be called by
# *all*, in the same order. minigrad's ranks tell each other what they are about to move before anything moves, and
# refuse if that differs. Under PyTorch, with NCCL or with gloo (its library for CPUs), a sum of one number and of three
# may hang or add up what does not belong together, unless `TORCH_DISTRIBUTED_DEBUG=DETAIL` is set, which does the same
# check.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** We make a ring by hand: each rank sends to the next, and then receives from the one before. We
# try it with 8 numbers, and with 300,000. What happens?

# %%
Predict("send first", "Each sends first:", options=["both arrive", "8 arrive, 300,000 do not", "neither arrives"])

# %%
# %%parallel -n 4 -o arrived
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank, p = dist.get_rank(), dist.get_world_size()
arrived = 0
try:
    for n in (8, 300_000):
        came = mg.zeros(n)
        dist.send(mg.ones(n), (rank + 1) % p)
        dist.recv(came, (rank - 1) % p)
        arrived += 1
except dist.group.DistributedError as error:
    if rank == 0:
        print(error)

# %%
print("arrived:", arrived)
reveal("send first", ["neither arrives", "8 arrive, 300,000 do not", "both arrive"][max(arrived)])

# %% [markdown]
# MPI puts a small message aside, and the sender goes on; a large one waits until the other side receives. All four
# send, and none receives: a **deadlock**. So a program may pass all its tests, and hang with the first large network.
# Most systems say nothing and wait: PyTorch ten minutes with NCCL, and half an hour with gloo. Here the ranks write on
# a board whom they wait for, and where; if none of those who wait can ever go on, each raises an error that shows where
# all of them are. The way out: `isend`, which does not wait, then `recv`, then `wait`; or let one of them receive
# first.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Read the message aloud as a circle: 0 waits for 1, 1 for 2, 2 for 3, 3 for 0. To wait for a rank that is
# still computing is no deadlock: that one may still come. Ask what happens if only rank 3 receives first: all is well,
# one after the other.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("22_many_workers_one_gradient")

# %% [markdown] slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `%%parallel`, `minigrad run -n 4` | `torchrun --nproc-per-node 4` | `TF_CONFIG` | `jax.distributed.initialize()` |
# | `dist.all_reduce(g)` | the same | `replica_context.all_reduce` | `jax.lax.psum(g, "i")` |
# | `DistributedDataParallel` | the same | `MirroredStrategy` | `jax.jit` of a sharded batch |
# | `FullyShardedDataParallel` | the same; `fully_shard` | none | sharded parameters |
# | `CommDebugMode` | the same | none | the compiled program's text |
#
# PyTorch's backends are *gloo* for CPUs and *NCCL* for NVIDIA's GPUs, a library of collectives that JAX and TensorFlow
# call as well. `fully_shard` is the newer form of `FullyShardedDataParallel`; with `SHARD_GRAD_OP`, PyTorch keeps the
# parameters in shards between two steps as well, and gathers them for forward. In TensorFlow all of it is
# `tf.distribute`. JAX had `jax.pmap` for this; today one shards arrays under `jax.jit`, or writes what each device does
# with `jax.shard_map`. Horovod (2017) brought the ring to TensorFlow and then to PyTorch; most of what it did is in the
# frameworks now, and it is hardly developed any more.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Processes share nothing. Each has a part of the batch; after an all-reduce all have the gradient of the whole batch,
#   as a mean if the loss is one.
# - In a ring each worker sends $2(p-1)/p$ of a gradient: less than two, for any number of workers. All together send
#   $2(p-1)$, as in a star.
# - An all-reduce takes rounds × latency + bytes / bandwidth. Trees are for small vectors, rings for large ones.
# - Buckets leave while backward runs. More workers are faster only while computing outweighs the sum.
# - Sharding state and gradients sends no byte more; sharding parameters sends half as much again.
# - A collective is called by all, in the same order.
#
# **Sources.** P. Patarasuk, X. Yuan, *Bandwidth optimal all-reduce algorithms for clusters of workstations*, J.
# Parallel Distrib. Comput. 69 (2009), section 3: the ring. R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of
# collective communication operations in MPICH*, IJHPCA 19 (2005), sections 3 and 4: costs, tree, halving. P. Goyal and
# others, *Accurate, large minibatch SGD*, arXiv:1706.02677 (2017), sections 3 and 4. S. Li and others, *PyTorch
# Distributed*, arXiv:2006.15704 (2020), section 3.2: buckets. S. Rajbhandari and others, *ZeRO*, arXiv:1910.02054
# (2020), figure 1 and section 7: bytes and what moves.
#
# **Exercise.** [22 Eight of us](../exercises/22_many_workers_one_gradient.ipynb): bytes on paper, a ring by hand, a
# mean of unequal parts, a deadlock mended, and buckets of your own.
#
# **Next:** [23 One model, many workers](23_one_model_many_workers.ipynb). Before that, change something here: turn the
# star of eight into two stars of four, whose middles form a third star. How many rounds, and what does the busiest
# send?
