# ---
# jupyter:
#   minigrad:
#     title: Many workers, one gradient
#     minutes: 55
#     objectives:
#       - start several processes, and give each of them the gradient of one whole batch
#       - count what a star, a tree and a ring send, and which worker has to send the most
#       - work out how long an all-reduce takes, and when more workers make training slower
#       - say when the first gradients leave, and what buckets are for
#       - split the optimiser's state between workers, and say what has to be sent for that
#       - read the message that processes print when they wait for one another
#     concepts: [F2, F5]
#     builds_on: [06_the_dynamic_graph, 16_where_the_bytes_go, 21_twice_to_keep_less]
#     widgets: [AllReduce, Predict, Quiz]
#     terms:
#       rank: the number of a process among those that were started together, counted from 0
#       data parallelism: each worker has the whole network and a part of the batch
#       all-reduce: a call after which each worker has the sum of what all of them had
#       bucket: gradients that travel together
#       shard: one worker's part of what would otherwise be stored in full by each worker
#       deadlock: processes wait for each other, so that none of them can continue
# ---

# %% [markdown] slideshow={"slide_type": "slide"}
# # 22 Many workers, one gradient
#
# In 2017 a team at Facebook trained an image network on ImageNet in one hour. One GPU would have needed days; they used
# 256. Each GPU took 32 pictures of every batch and computed a gradient of 100 MB. Then came the hard part: 256
# gradients had to become one sum, on all 256 GPUs, in about an eighth of a second. And then again.
#
# Who adds them up? If one machine collects them, it has to receive 25 GB for every batch. **With eight workers, does
# each have to send eight times as much?**
#
# **About 55 minutes.** Afterwards you can
#
# - start several processes, and give each of them the gradient of one whole batch;
# - count what a star, a tree and a ring send, and which worker has to send the most;
# - work out how long an all-reduce takes, and when more workers make training slower;
# - say when the first gradients leave, and what buckets are for;
# - split the optimiser's state between workers, and say what has to be sent for that;
# - read the message that processes print when they wait for one another.
#
# **Builds on** [06 The dynamic graph](06_the_dynamic_graph.ipynb), [16 Where the bytes go](16_where_the_bytes_go.ipynb)
# and [21 Twice, to keep less](21_twice_to_keep_less.ipynb). What it opens in [the picture of lesson
# 00](00_start_here.ipynb#Where-this-leads:-Alice): the same graph elsewhere.

# %% [markdown] slideshow={"slide_type": "notes"}
# Two minutes. Ask what two computers, each with half of the batch, have to tell each other: the rows, the losses, the
# gradients, or the weights? And how often? Leave the answers on the board.

# %% slideshow={"slide_type": "skip"}
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display

import minigrad as mg
from minigrad.course import Guess, Predict, Quiz, follow_theme, reveal
from minigrad.distributed import DistributedSampler, cost
from minigrad.distributed.algorithms import Recv, Send, messages, ring, traffic, tree
from minigrad.widgets import AllReduce

BLUE, VERMILION = "#0072B2", "#D55E00"
mg.manual_seed(0)
follow_theme()
# %load_ext minigrad.course.parallel

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Four processes
#
# A cell that begins with `%%parallel -n 4` does not run in this notebook. Four new Python processes run it, all at the
# same time, and they end with the cell. Each process has a number, its **rank**: 0, 1, 2 or 3. The four know nothing of
# the notebook, so such a cell begins with its own imports. `-o x` brings their x back as a list, one value for each
# rank.
#
# MPI starts the processes; it is the standard for programs that send each other messages. If MPI is missing on your
# machine, the cell shows what it printed when the lesson was made. `python3 start.py add mpi` installs it.

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

# %% [markdown]
# Rank 0 added 1 to *its* x; the other three still have 10. The processes share no memory. If one process needs
# something from another, it has to be sent: through the memory of one machine, or over a network.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One gradient
#
# Now all four have the same network, which guesses the next letter of *Alice*, and each reads its own 64 of 256
# letters. This is **data parallelism**. Then they call `dist.all_reduce(g)`. An **all-reduce** adds up what each
# process has in g, and afterwards *every* process has the sum in its g.
#
# Each loss is the *mean* over 64 letters. The gradient that all four have at the end is how many times the gradient of
# the mean over all 256?

# %%
Predict("sum", "The sum of the four gradients, as a multiple of the whole batch's gradient:")

# %%
# %%parallel -n 4 -o ratio,equal,bias
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank, p = dist.get_rank(), dist.get_world_size()
text = mg.data.text()
letters = sorted(set(text))
alice = mg.tensor([letters.index(letter) for letter in text[:257]])
mg.manual_seed(0)
net = mg.nn.Sequential(mg.nn.Embedding(65, 32), mg.nn.Tanh(), mg.nn.Linear(32, 65))


def gradient(start, stop):
    """The gradient of the mean loss over these letters, in one vector; the bias of the last layer is at its end."""
    net.zero_grad()
    mg.cross_entropy(net(alice[start:stop]), alice[start + 1 : stop + 1]).backward()
    return mg.cat([w.grad.reshape(-1) for w in net.parameters()])


g = gradient(64 * rank, 64 * rank + 64)
bias = g[-65:].clone().numpy()
dist.all_reduce(g)
whole = gradient(0, 256)
ratio, equal = ((g @ whole) / (whole @ whole)).item(), mg.allclose(g / p, whole)

# %%
display(reveal("sum", round(ratio[0], 4)))
print("the sum:", ", ".join(f"{multiple:.4f}" for multiple in ratio), "times the whole batch's")
print("the sum divided by 4: equal is", all(equal), "in all four processes")

# %% [markdown]
# It is four times too large, as with the micro-batches of lesson 21, and the cure is the same. If the loss is a mean,
# take the mean of the gradients (`op=ReduceOp.AVG`, or divide by 4). If the loss is a sum, take their sum.
#
# Now let all four begin with the same weights. They take the same step, because they have the same gradient, so their
# weights are the same again. This goes on for ever: **only gradients have to be sent, never weights.**

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. What if one worker starts from other weights? All of them continue, each from its own place, with a
# gradient that belongs to none of them, and no message says so. That is why DistributedDataParallel sends rank 0's
# weights to all when it is created. Dropout may differ between ranks, and should.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## One in the middle
#
# How does an all-reduce work inside? The first idea is a star. All workers send their gradients to rank 0; rank 0 adds
# them up and sends the sum back to each of them.
#
# The function below describes what *one* rank does. Each `yield` is one round: what this rank sends or receives, or
# `()` for nothing. p is the number of ranks, and n how many numbers the gradient has. With `add=True` the numbers that
# arrive are added to those that are there; without it they replace them. From this description `messages` works out who
# sends what to whom.


# %%
def star(rank, p, n):
    """All send to rank 0, one after the other; then rank 0 sends the sum to each."""
    whole = slice(0, n)
    to_rank_0 = [(other, 0, True) for other in range(1, p)]
    back = [(0, other, False) for other in range(1, p)]
    for sender, receiver, add in to_rank_0 + back:
        if rank == sender:
            yield (Send(receiver, whole),)
        elif rank == receiver:
            yield (Recv(sender, whole, add=add),)
        else:
            yield ()


for number, sent in enumerate(messages(star, 4, 8), 1):
    print(f"round {number}:", ", ".join(f"rank {m.source} sends {m.size} numbers to rank {m.to}" for m in sent))

# %% [markdown]
# Four workers need six rounds, and in each round two of them only wait. With eight workers, rank 0 receives seven
# gradients and sends seven sums. If you expected eight workers to send eight times as much, you had a star in mind.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Round in a ring
#
# The workers stand in a ring. Each sends only to the next one, and receives only from the one before. The gradient is
# cut into as many chunks as there are workers. In every round *each* worker sends one chunk, and each sends a different
# one, so nobody waits.
#
# Our four workers have four gradients, and each gradient is cut into four chunks. In round 1 each worker sends a chunk
# of its own gradient to the next, which adds it to its own chunk. From then on a worker passes on the chunk that it has
# just added to. After which round does some worker hold a chunk that contains all four?

# %%
Predict("complete", "A chunk first holds the sum of all four after round …")

# %%
workers = [vector.copy() for vector in bias]  # the real gradients of the 65 biases of the last layer
total, complete = sum(bias), []
for sent in messages(ring, 4, len(total)):
    chunks = [workers[m.source][m.part].copy() for m in sent]
    for m, chunk in zip(sent, chunks):
        workers[m.to][m.part] = workers[m.to][m.part] + chunk if m.add else chunk
    complete.append(sum(np.allclose(worker[m.part], total[m.part]) for worker in workers for m in sent))
reveal("complete", 1 + complete.index(4))

# %%
print("chunks that are complete after each round:", *map(int, complete), "of 16")
AllReduce(bias)

# %% [markdown]
# Step through the film. It shows each chunk as one number, the sum of what is in it. After round 3 each worker has
# *one* complete chunk of the sum. This half is called reduce-scatter. In three more rounds the complete chunks travel
# once around the ring: all-gather. With p workers that makes $2(p-1)$ rounds, as many as with the star. But each
# message is only a $p$-th of a gradient.

# %% [markdown] slideshow={"slide_type": "notes"}
# Six minutes. If there is room, have six people stand in a ring with sheets of paper; the film is the same. If somebody
# asks which chunk should end where: it does not matter, as long as each worker gets a different one.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Do eight workers send eight times as much?
#
# For each rank, `traffic` returns its messages and the numbers in them. Between star and ring there is a third way, a
# tree: vectors are added in pairs, then pairs of pairs, and the sum comes back down the same way.
#
# In a ring of eight, how much does each worker send, as a multiple of its own gradient?

# %%
Predict("eight", "In a ring of 8, each worker sends … times its gradient", tolerance=0.05)

# %%
n = 840
sent = [elements / n for _, elements in traffic(ring, 8, n)]
reveal("eight", max(sent))

# %%
print("            rounds   the busiest sends   all together")
for algorithm in (star, tree, ring):
    for p in (2, 4, 8, 64):
        sent = [elements / n for _, elements in traffic(algorithm, p, n)]
        rounds = len(list(messages(algorithm, p, n)))
        print(f"{algorithm.__name__:5} of {p:2}   {rounds:4}   {max(sent):13.2f} n   {sum(sent):10.2f} n")

# %% [markdown]
# Each sends 1.75 times its gradient: $2(p-1)/p$. That is 1.5 with four workers, 1.97 with 64, and it never reaches 2.
# A thousand workers send hardly more *each* than eight.
#
# *All together* send $2(p-1)$ gradients, whichever of the three ways they take: the gradients of $p-1$ others have to
# come in, and the sum has to go out to $p-1$ others. The ring only changes who does the work: nobody sends more than
# anybody else, and all wires are busy at once.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. "All-reduce sends k times the data for k workers" is the belief to test: ask who sends it. For one
# worker it is wrong. All together send nearly twice that, whichever way they take.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### The ring that you wrote
#
# Come back here after exercise 22: this counts what your own ring sends.

# %% [markdown] slideshow={"slide_type": "skip"}
# In exercise 22 you write `chunk`, which says which chunk a worker sends in which round. `mine` makes an all-reduce of
# it. Until `check` has passed it, the course's `chunk` runs here.

# %% slideshow={"slide_type": "skip"}
from minigrad.course.mine import mine

own_ring = mine("22", "ring")
own_sent = [elements / 840 for _, elements in traffic(own_ring, 8, 840)]
print(f"{len(list(messages(own_ring, 8, 840)))} rounds; each worker sends {max(own_sent):.2f} times its gradient")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ### The same count in real processes
#
# You can follow the lesson without what is folded here: four processes count their own messages.

# %% [markdown] slideshow={"slide_type": "skip"}
# In a real process, `CommDebugMode` counts what is sent. For the all-reduce above, MPI chose a way by itself. With
# "ring" as the backend (the part that carries the messages) it takes exactly the rounds of our film. On paper, each of
# four processes sends 6 messages. 840 numbers of 8 bytes are 6,720 bytes, and 1.5 times that is 10,080.

# %% slideshow={"slide_type": "skip"}
# %%parallel -n 4
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group("ring")
gradient = mg.full((840,), dist.get_rank() + 1.0)
with dist.CommDebugMode() as comm:
    dist.all_reduce(gradient)
sizes = [size for _, size in comm.messages]
print(f"{len(sizes)} messages to rank {comm.messages[0][0]}, {sum(sizes):,} bytes; sum {gradient[0].item():g}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How long it takes
#
# A message takes $\alpha + n\beta$ seconds: $\alpha$ until its first byte arrives (the latency), and $\beta$ for each
# byte. Here n counts *bytes*. A ring has $2(p-1)$ rounds, each with an $n/p$-th. A tree has about $2\log_2 p$ rounds,
# each with all n:
#
# $$\text{ring: } 2(p-1)\,\alpha + \frac{2(p-1)}{p}\,n\beta \qquad \text{tree: } 2\log_2 p\;(\alpha + n\beta)$$
#
# Between machines with A100 GPUs, $\alpha$ is about 9.6 µs, and a wire carries 25 GB in a second. There are 64 workers.
# For a vector of 1 kB, is the tree or the ring faster? And for 100 MB, the gradient of a ResNet-50?

# %%
Predict("which", "1 kB and 100 MB:", options=["ring, ring", "ring, tree", "tree, ring", "tree, tree"])

# %%
alpha, beta = cost.hardware("A100").between
times = {}
for size, name in ((1e3, "1 kB"), (1e6, "1 MB"), (1e8, "100 MB")):
    times[name] = {way: 1e3 * cost.all_reduce(size, 64, alpha, beta, algorithm=way) for way in ("tree", "ring")}
reveal("which", ", ".join(min(times[name], key=times[name].get) for name in ("1 kB", "100 MB")))

# %%
for name, ms in times.items():
    print(f"{name:6} ", ", ".join(f"{way} {time:.2f} ms" for way, time in ms.items()))
bits = 8 * cost.all_reduce(1e8, 256, alpha=0.0, beta=1.0)  # that each worker sends
print(f"100 MB, 256 workers, 0.12 s: {bits / 0.12 / 1e9:.1f} Gbit/s")

# %% [markdown]
# Small vectors wait for rounds, and large ones for bytes. So libraries choose by size; MPI does, and so does NCCL,
# NVIDIA's library for its GPUs.
#
# Can you trust such a formula? The paper on the 256 GPUs says that 100 MB have to be summed up in about 0.12 s, while
# backward runs, and that each worker needs 15 Gbit/s for that, overhead included (section 4). The formula says 13.3,
# without overhead.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## While backward goes on
#
# The gradients of the last layer are ready first, when backward has just begun. They can leave while the others are
# still being computed. `DistributedDataParallel(net)` (DDP for short) does this. It puts the parameters into groups, in
# reverse order. The gradients of such a group, a **bucket**, travel together: as soon as the last of them is ready,
# their all-reduce starts. Nobody waits for it until backward ends.
#
# The network below has eight layers, each with a linear layer and a tanh: two derivatives for each. The loss is a mean
# of squares, two more. That makes 18. A bucket is full when it has about 63,000 bytes, and a layer has 33,280. How many
# of the 18 derivatives are done when the first bucket leaves?

# %%
Predict("leaves", "Derivatives that are done when the first bucket leaves:", tolerance=2)

# %%
# %%parallel -n 2 -o left
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
mg.manual_seed(0)
left = {}
for megabytes in (25, 0.06, 0.01):
    net = mg.nn.Sequential(*[mg.nn.Sequential(mg.nn.Linear(64, 64), mg.nn.Tanh()) for _ in range(8)])
    parallel_net = dist.DistributedDataParallel(net, bucket_cap_mb=megabytes)
    loss = parallel_net(mg.randn(16, 64)).square().mean()
    with mg.profiler.profile() as prof:
        loss.backward()
    done, left[megabytes] = 0, []
    for event in sorted(prof.events(), key=lambda event: event.begin):
        done += event.kind == "backward"
        if (event.kind, event.name) == ("collective", "all_reduce"):
            left[megabytes].append(done)

# %%
display(reveal("leaves", left[0][0.06][0]))
for megabytes, counts in left[0].items():
    print(f"buckets of {megabytes:5} MB leave after {counts} of 18 derivatives")

# %% [markdown]
# Two layers and the loss are 6 derivatives. (A gradient is written into `.grad` one step later, so it is 7.)
#
# With one bucket of 25 MB nothing overlaps: the wire is idle while backward computes, and then everybody waits. With
# eight small buckets the first leaves early, but each pays for the rounds of a ring: $2(p-1)\,\alpha$, eight times. So
# the best size lies in between. PyTorch's default is 25 MB. The bytes are always the same; what changes is who waits.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. The last bucket never overlaps: it holds the first layer, whose gradient comes last. Ask what would
# happen if two ranks started their buckets in different orders. (They would add up gradients that do not belong
# together. So all of them start the buckets in one fixed order, whichever is ready first.)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## How many workers?
#
# One worker needs 0.8 s for a batch. p workers each need a $p$-th of that, and then they have 100 MB to sum up. Let us
# say that nothing overlaps. There are two networks: the one from above, with 25 GB a second, and the Gigabit Ethernet
# of an office, with 0.125 GB a second. With Gigabit Ethernet, which number of workers is the fastest?

# %%
Predict("gigabit", "Fastest with Gigabit Ethernet:", options=[1, 2, 8, 64, 256])

# %%
workers = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
networks = {"25 GB/s": cost.hardware("A100").between, "Gigabit": cost.hardware("laptop").between}
seconds = {
    name: [0.8 / p + cost.all_reduce(1e8, p, alpha, beta) for p in workers] for name, (alpha, beta) in networks.items()
}
reveal("gigabit", workers[int(np.argmin(seconds["Gigabit"]))])

# %%
fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.loglog(workers, workers, base=2, color="gray", linestyle=":", label="p times as fast")
for (name, times), color, marker in zip(seconds.items(), (BLUE, VERMILION), "os"):
    speedups = 0.8 / np.array(times)
    print(f"{name:7}  2 workers: {speedups[1]:.2f} times as fast; 64: {speedups[6]:.2f}; 1024: {speedups[-1]:.2f}")
    ax.plot(workers, speedups, color=color, marker=marker, label=name)
all_reduce = seconds["25 GB/s"][-1] - 0.8 / 1024
print(f"25 GB/s, 1024 workers with 0.8 s of work each: they compute for {0.8 / (0.8 + all_reduce):.0%} of the time")
ax.set(xlabel="workers", ylabel="times as fast", xticks=workers[::2], xticklabels=workers[::2], ylim=(0.25, 300))
ax.set_yticks([0.5, 1, 4, 16, 64, 256], ["0.5", "1", "4", "16", "64", "256"])
ax.legend()
plt.show()

# %% [markdown]
# *The plot: the fast network stays near the dotted line up to 16 workers, is flat at 256 and falls after that. Gigabit
# Ethernet is below 1 everywhere.*
#
# One worker. With Gigabit Ethernet the sum alone takes 0.8 s with two workers, as long as all the work, and 1.6 s with
# many. You bought a second computer, and training got slower.
#
# On the fast network, too, the rounds decide in the end: the work of each worker shrinks with p, while $2(p-1)\,\alpha$
# grows. It helps to give each worker *more* to do between two sums. If each keeps its 0.8 s of work, in a batch that
# grows with the workers, then 1024 of them lose only 3 % of their time. But with 1024 times as many rows in a batch,
# training is not the same any more: it takes fewer steps, and needs another learning rate.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Everybody's copy of Adam
#
# After the all-reduce all workers take the same step of the optimiser with the same numbers, so all of them store the
# same state. With Adam that is twice the size of the parameters, and it is stored p times. Why not store it once?
# Each worker keeps one $p$-th of the state and of the gradients, its **shard**, and perhaps one $p$-th of the
# parameters too. `FullyShardedDataParallel` has three strategies for this:
#
# | strategy | what each worker keeps | what is sent in a step |
# |---|---|---|
# | `NO_SHARD` | everything, as with DDP | gradients: all-reduce |
# | `SHARD_GRAD_OP` | all parameters; shards of the rest | gradients: reduce-scatter; parameters: all-gather |
# | `FULL_SHARD` | shards of everything | parameters: all-gather, twice; gradients: reduce-scatter |
#
# Remember the film: an all-reduce is a reduce-scatter, its first half, and an all-gather, its second. Compared with
# `NO_SHARD`, how many times as many bytes are sent with `SHARD_GRAD_OP`, and with `FULL_SHARD`?

# %%
Predict("sharded", "Times as many bytes:", options=["0.25 and 0.25", "1 and 1", "1 and 1.5", "1.5 and 2"])

# %%
# %%parallel -n 4 -o stored,bytes_sent,parameter_bytes
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group("ring")
stored, bytes_sent = {}, {}
for strategy in ("NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD"):
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(64, 64), mg.nn.Tanh(), mg.nn.Linear(64, 64)).float()
    parameter_bytes = sum(p.nbytes for p in net.parameters())
    sharded = dist.FullyShardedDataParallel(net, sharding_strategy=dist.ShardingStrategy[strategy])
    adam = mg.optim.Adam(sharded.parameters())
    x = mg.randn(16, 64, dtype=mg.float32)
    for _ in range(2):  # we look at the second step
        adam.zero_grad()
        with mg.profiler.memory(sharded, adam, inputs=[x], exact=False) as ledger, dist.CommDebugMode() as comm:
            sharded(x).square().mean().backward()
            adam.step()
    stored[strategy] = ledger.timeline()[-1].by_consumer
    bytes_sent[strategy] = sum(size for _, size in comm.messages)

# %%
times = [bytes_sent[0][strategy] / bytes_sent[0]["NO_SHARD"] for strategy in ("SHARD_GRAD_OP", "FULL_SHARD")]
reveal("sharded", f"{times[0]:g} and {times[1]:g}")

# %%
print(f"The parameters have {parameter_bytes[0]:,} bytes. After a step rank 0 stores, and in the step it sends:")
for strategy, bytes_of in stored[0].items():
    parts = ", ".join(f"{name} {bytes_of[name]:6,}" for name in ("parameters", "gradients", "optimizer state"))
    rounds = bytes_sent[0][strategy] / (parameter_bytes[0] * 3 / 4)
    print(f"{strategy:13}  {parts}; sends {bytes_sent[0][strategy]:,}, {rounds:g} times around the ring")
gigabytes = [f"{cost.zero_bytes(7.5e9, 64, stage) / 1e9:.1f}" for stage in range(4)]
print("ZeRO, 7.5 billion parameters, 64 workers, GB on each:", ", ".join(gigabytes))

# %% [markdown]
# The data goes around the ring twice, twice, and three times. So splitting the state and the gradients is *free*: it
# adds no byte, because the two halves of the all-reduce have only moved apart. Splitting the parameters costs half as
# much again; after a step, no worker then stores more than a quarter of anything.
#
# This is called ZeRO. Its first stage splits the state, the second also the gradients, the third also the parameters.
# The example in its paper has 7.5 billion parameters of 16 bytes (lesson 20) on 64 GPUs. Without ZeRO each GPU would
# need 120 GB; with the three stages it needs 31.4, 16.6 and 1.9 GB (figure 1). The last line above agrees.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Ask what the other 63 GB of an 80 GB card are for with stage 2: activations. And who wants stage 3 on
# slow wires? Nobody.

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## When rows cannot be dealt evenly
#
# You can follow the lesson without what is folded here: ten rows for four workers, and batch normalisation.

# %% [markdown] slideshow={"slide_type": "skip"}
# All workers must make the same number of calls, so all of them need the same number of batches. `DistributedSampler`
# deals out the rows. There are 10 rows and 4 workers. How many rows go through the network in all? Write down a number
# before you run the cell.

# %% slideshow={"slide_type": "skip"}
dealt = [list(DistributedSampler(range(10), num_replicas=4, rank=rank, shuffle=False)) for rank in range(4)]
for rank, rows in enumerate(dealt):
    print(f"rank {rank} gets rows {rows}")
print(sum(map(len, dealt)), "rows go through")

# %% [markdown] slideshow={"slide_type": "skip"}
# Twelve: rows 0 and 1 come twice, so that each worker has three. This does little harm in training. But an accuracy
# that is averaged this way counts two rows twice. (`drop_last=True` leaves two rows out instead.) If you deal the rows
# yourself and ranks have different numbers of them, the mean of their means is not the mean of all: weight each mean by
# its share of the rows, as in lesson 21.
#
# Batch normalisation takes its mean over the rows of *one* worker, as with micro-batches. `SyncBatchNorm` takes it over
# the rows of all. The price is an all-gather in each such layer forward, and a reduce-scatter backward.

# %% [markdown] slideshow={"slide_type": "slide"}
# ## All call, or none
#
# Everybody makes this mistake once. Rank 0 should print the mean loss, so you write the all-reduce of the losses under
# `if rank == 0`. The next all-reduce, of the gradients, is called by all four. Does the lonely call of rank 0 get the
# sum of the losses, a part of the gradients, or an error?

# %%
# %%parallel -n 4
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank = dist.get_rank()
loss, gradient = mg.ones(1), mg.ones(3)
try:
    if rank == 0:
        dist.all_reduce(loss)
    dist.all_reduce(gradient)
except mg.distributed.group.DistributedError as error:
    if rank == 0:
        print(error)

# %% [markdown]
# Rank 0 gets an error, and so do all the others. An all-reduce and its relatives (*collectives*, for short) must be
# called by *all* ranks, in the same order. In minigrad the ranks first tell each other what they are about to move, and
# refuse if that differs. PyTorch, with NCCL or with gloo (its library for CPUs), does not check by default. One rank
# sums one number and the others three: the program may hang, fail, or add up numbers that do not belong together. With
# `TORCH_DISTRIBUTED_DEBUG=DETAIL` PyTorch makes the same check.

# %% [markdown] slideshow={"slide_type": "slide"}
# **Where it breaks.** We build a ring by hand: each rank sends to the next one, and then receives from the one before.
# We try 8 numbers, and then 300,000. What happens? This is a guess.

# %%
Guess("send first", "Each sends first:", options=["both arrive", "8 arrive, 300,000 do not", "neither arrives"])

# %%
# %%parallel -n 4 -o arrived,report
import minigrad as mg
import minigrad.distributed as dist

dist.init_process_group()
rank, p = dist.get_rank(), dist.get_world_size()
arrived, report = 0, ""
try:
    for n in (8, 300_000):
        received = mg.zeros(n)
        dist.send(mg.ones(n), (rank + 1) % p)
        dist.recv(received, (rank - 1) % p)
        arrived += 1
except dist.group.DistributedError as error:
    report = str(error)

# %%
display(reveal("send first", ["neither arrives", "8 arrive, 300,000 do not", "both arrive"][max(arrived)]))
print("messages that arrived in each rank:", *arrived)
print(report[0])

# %% [markdown]
# `send` returns when you may change the tensor again: either MPI has copied the message aside, or the other side has
# received it. MPI copies only messages of some kilobytes. With 300,000 numbers all four send, and none of them gets as
# far as receiving: a **deadlock**. So a program may pass all its tests, and hang with the first large network.
#
# Most systems say nothing and wait: PyTorch for ten minutes with NCCL, and for half an hour with gloo. Here each rank
# writes on a shared board whom it waits for, and where. If none of those who wait can ever continue, each raises an
# error that shows where all of them are. The cure: `isend`, which does not wait, then `recv`, then `wait`. Or let one
# of the ranks receive first.

# %% [markdown] slideshow={"slide_type": "notes"}
# Five minutes. Read the message aloud as a circle: 0 waits for 1, 1 for 2, 2 for 3, 3 for 0. To wait for a rank that is
# still computing is no deadlock: its message may still come. Ask what happens if only rank 3 receives first: all is
# well, one after the other.

# %% [markdown] slideshow={"slide_type": "skip"}
# ## What do you remember?

# %% slideshow={"slide_type": "skip"}
Quiz("22_many_workers_one_gradient")

# %% [markdown] folded=true slideshow={"slide_type": "skip"}
# ## The same elsewhere
#
# | minigrad | PyTorch | TensorFlow | JAX |
# |---|---|---|---|
# | `%%parallel`, `minigrad run -n 4` | `torchrun --nproc-per-node 4` | `TF_CONFIG` | `jax.distributed.initialize()` |
# | `dist.all_reduce(g)` | the same | `replica_context.all_reduce` | `jax.lax.psum(g, "i")` |
# | `DistributedDataParallel` | the same | `MirroredStrategy` | `jax.jit` of a sharded batch |
# | `FullyShardedDataParallel` | the same; `fully_shard` | `tf.experimental.dtensor` | sharded parameters |
# | `CommDebugMode` | the same | none | the compiled program's text |
#
# PyTorch's backends are *gloo* for CPUs and *NCCL* for NVIDIA's GPUs, a library of collectives that JAX and TensorFlow
# call as well. `fully_shard` is the newer form of `FullyShardedDataParallel`.
#
# TensorFlow's `tf.distribute` is this lesson behind one object, a *strategy*: you build the model under
# `strategy.scope()`, and the strategy copies the variables and all-reduces the gradients. `MirroredStrategy` does it
# for the GPUs of one machine, `MultiWorkerMirroredStrategy` for several machines, and `TPUStrategy` for Google's TPUs.
# `ParameterServerStrategy` is our star: servers keep the weights, and workers send them gradients.
#
# In JAX you shard arrays under `jax.jit`, or write what each device does with `jax.shard_map`.
#
# ### The same in PyTorch
#
# Four workers of *gloo*, here threads of one process, add up their gradients. Each loss is a mean over 64 rows, so each
# worker gets four times the gradient of the whole batch.


# %% slideshow={"slide_type": "skip"}
from minigrad.course import in_pytorch


@in_pytorch
def all_reduce_in_pytorch(torch):
    """times the whole batch's gradient: 4.000 4.000 4.000 4.000"""
    from concurrent.futures import ThreadPoolExecutor

    torch.manual_seed(0)
    net, store = torch.nn.Linear(64, 10), torch.distributed.HashStore()
    x, y = torch.randn(256, 64), torch.randint(0, 10, (256,))

    def gradient(rows):
        loss = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
        return torch.autograd.grad(loss, net.weight)[0].flatten()

    def work(rank):
        g = gradient(slice(64 * rank, 64 * (rank + 1)))
        torch.distributed.ProcessGroupGloo(store, rank, 4).allreduce([g]).wait()
        return g

    whole = gradient(slice(0, 256))
    with ThreadPoolExecutor(4) as workers:
        sums = list(workers.map(work, range(4)))
    print("times the whole batch's gradient:", *(f"{g @ whole / (whole @ whole):.3f}" for g in sums))


# %% [markdown] slideshow={"slide_type": "slide"}
# ## What we saw
#
# - Processes share nothing. Each has a part of the batch; after an all-reduce each has the gradient of the whole batch
#   (as a mean, if the loss is a mean).
# - In a ring each worker sends $2(p-1)/p$ of a gradient: less than two, for any number of workers. All together send
#   $2(p-1)$, as in a star.
# - An all-reduce takes rounds × latency + bytes / bandwidth. Trees are for small vectors, rings for large ones.
# - Buckets leave while backward runs. More workers are faster only while computing takes longer than the sum.
# - Splitting state and gradients sends no more bytes; splitting parameters sends half as many again.
# - A collective is called by all ranks, in the same order.
#
# **Sources.** P. Patarasuk, X. Yuan, *Bandwidth optimal all-reduce algorithms for clusters of workstations*, J.
# Parallel Distrib. Comput. 69 (2009), section 3: the ring. R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of
# collective communication operations in MPICH*, IJHPCA 19 (2005), sections 3 and 4: costs and the tree. P. Goyal and
# others, *Accurate, large minibatch SGD*, arXiv:1706.02677 (2017), sections 3 and 4. S. Li and others, *PyTorch
# Distributed*, arXiv:2006.15704 (2020), section 3.2: buckets. S. Rajbhandari and others, *ZeRO*, arXiv:1910.02054
# (2020), figure 1 and section 7: bytes and what moves.
#
# **Exercise.** [22 Eight of us](../exercises/22_many_workers_one_gradient.ipynb): bytes on paper, a ring by hand, a
# mean of unequal parts, a deadlock to mend, and buckets of your own.
#
# **Next:** [23 One model, many workers](23_one_model_many_workers.ipynb). Before that, change something here: turn the
# star of eight into two stars of four, whose middles form a third star. How many rounds does it take, and what does the
# busiest worker send?
