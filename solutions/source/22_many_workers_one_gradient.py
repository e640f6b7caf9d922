# ---
# jupyter:
#   minigrad:
#     title: Eight of us
#     minutes: 40
#     lesson: 22_many_workers_one_gradient
#     concepts: [F2, F5]
# ---

# %% [markdown]
# # 22 Eight of us
#
# You count on paper what a ring sends, say which chunk goes when, make one mean of unequal parts, mend a deadlock, and
# choose buckets that finish in time. Everything runs in this one process: the workers are generators that take turns.
# About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

from minigrad.course import check, solution

# %% [markdown]
# ## 1. On paper
#
# **2 points, 6 minutes.** Count by hand, before you run anything. 16 workers add up gradients in a ring. Each gradient
# has 400 MB. Set five numbers; all but the first are in MB:
#
# - `rounds`: the number of rounds.
# - `message`: the size of one message.
# - `each`: what one worker sends, in all rounds together.
# - `together`: what all 16 workers send, in all rounds together.
# - `middle`: what the worker in the middle would *send* if the 16 formed a star. The other 15 send it their gradients,
#   and it sends the sum to each of them.
#
# For 4 workers in a ring, with gradients of 8 MB, the first four would be 6, 2, 12 and 48.

# %% answer="ring_on_paper" points=2 minutes=6
### BEGIN SOLUTION
rounds = 2 * 15
message = 400 / 16
each = rounds * message
together = 16 * each
middle = 15 * 400
### END SOLUTION

# %%
check("ring_on_paper")

# %% probes="ring_on_paper"
# Hint: `rounds`: 15 until each has one finished chunk, and 15 more until all have all.
round(float(rounds), 2)
# Hint: `message`: the gradient is cut into as many chunks as there are workers.
round(float(message), 2)
# Hint: `each`: one message in each round.
round(float(each), 2)
# Hint: `together`: 16 workers send as much.
round(float(together), 2)
# Hint: `middle`: the sum goes to each of the 15 others, whole.
round(float(middle), 2)

# %% [markdown] hints="ring_on_paper"
# 1. The gradient is cut into as many chunks as there are workers, and a message is one chunk.
# 2. 15 rounds until each has one chunk of the sum, and 15 more until all have all. Everybody sends one message in each.
# 3. 30 · 25 MB; 16 times that; and 15 · 400 MB for the middle of the star.

# %% [markdown] shows="ring_on_paper"
# A worker in a ring sends 1.875 times its gradient; the middle of the star sends 15
# times, and all together send the same.

# %% wrong="ring_on_paper" misconception="M18"
# Shows: Each worker was thought to send its gradient once for every worker: 16 times 400 MB.
# Hint: In a ring a worker talks to one neighbour, and a message is a 16th of the gradient.
rounds, message, each, together, middle = 30, 25, 6400, 102400, 6000

# %% wrong="ring_on_paper" misconception="M18"
# Shows: Each worker was thought to send its whole gradient to 15 others.
# Hint: How many messages does one worker send, and how large is each?
rounds, message, each, together, middle = 30, 25, 6000, 96000, 6000

# %% wrong="ring_on_paper"
# Shows: This is the first half of the ring, after which each worker has one chunk of the sum.
# Hint: How do the others get that chunk?
rounds, message, each, together, middle = 15, 25, 375, 6000, 6000

# %% wrong="ring_on_paper"
# Shows: Only the rounds of the first half were counted, after which each worker has one finished chunk.
# Hint: How do the finished chunks reach the other workers?
rounds, message, each, together, middle = 15, 25, 750, 12000, 6000

# %% wrong="ring_on_paper"
# Shows: The messages were taken for whole gradients.
# Hint: Into how many chunks is the gradient cut?
rounds, message, each, together, middle = 30, 400, 12000, 192000, 6000

# %% wrong="ring_on_paper"
# Shows: A chunk was sent once around the whole ring: it has arrived one step before that.
# Hint: How many neighbours does a chunk pass until it has been at each of the 16?
rounds, message, each, together, middle = 32, 25, 800, 12800, 6000

# %% wrong="ring_on_paper"
# Shows: What one worker sends was taken for what all send together.
# Hint: In each round all 16 send a message.
rounds, message, each, together, middle = 30, 25, 750, 750, 6000

# %% wrong="ring_on_paper"
# Shows: The middle was thought to send the sum once, as if all could hear it; it sends a message to each.
# Hint: How many others are there?
rounds, message, each, together, middle = 30, 25, 750, 12000, 400

# %% wrong="ring_on_paper"
# Shows: What the middle receives was counted, too.
# Hint: 15 gradients come in, and 15 sums go out: which of them are asked for?
rounds, message, each, together, middle = 30, 25, 750, 12000, 12000

# %% wrong="ring_on_paper"
# Shows: Rounds were counted for one half of the way, one for each of the 16.
# Hint: After how many messages has a chunk been at all 16? And then the sum has to come to all.
rounds, message, each, together, middle = 16, 25, 400, 6400, 6000

# %% wrong="ring_on_paper"
# Shows: The middle's message to itself was counted.
# Hint: To how many others does it send the sum?
rounds, message, each, together, middle = 30, 25, 750, 12000, 6400

# %% [markdown]
# ## 2. A ring by hand
#
# **2 points, 8 minutes.** p workers stand in a ring. Rank r always sends to rank r + 1, and the last rank sends to rank
# 0. Each worker has p chunks, with numbers from 0 to p − 1. In each round each worker sends one of its chunks:
#
# - In rounds 0 to p − 2, the receiver *adds* what arrives to its own chunk of the same number.
# - In rounds p − 1 to 2p − 3, the receiver *replaces* its own chunk of the same number by what arrives.
#
# Write `chunk(rank, r, p)`. It returns the number of the chunk that this rank sends in round r: an int from 0 to p − 1.
# After the last round, all chunks of all workers must hold the sum. There is more than one right answer.
#
# `around(chunk, p)` runs the ring with p workers. It returns True if all hold the sum.


# %% name="around"
def around(chunk, p):
    """Whether all chunks of all p workers are the sum, after the ring."""
    held = np.arange(1.0, p * p + 1).reshape(p, p) ** 2  # worker, chunk
    total = held.sum(0)
    for r in range(2 * (p - 1)):
        numbers = [chunk(rank, r, p) for rank in range(p)]
        came = [held[rank, c] for rank, c in enumerate(numbers)]
        for rank, c in enumerate(numbers):
            to = (rank + 1) % p
            held[to, c] = held[to, c] + came[rank] if r < p - 1 else came[rank]
    return bool(np.allclose(held, total))


# %% answer="ring_by_hand" points=2 minutes=8
def chunk(rank, r, p):
    ### BEGIN SOLUTION
    return (rank - r) % p
    ### END SOLUTION


# %%
check("ring_by_hand")

# %% probes="ring_by_hand"
import numpy as numeric


def tried(p):
    """The number of the chunk that each rank sends, for each round."""
    return [[chunk(rank, r, p) for rank in range(p)] for r in range(2 * (p - 1))]


@referee
def tried(rounds, p):
    """What comes of the ring, in words."""
    held = numeric.arange(1.0, p * p + 1).reshape(p, p) ** 2
    total = held.sum(0)
    for r, numbers in enumerate(rounds):
        if floats := [c for c in numbers if isinstance(c, float)]:
            return f"round {r}: {floats[0]} is a float, and the number of a chunk is an int"
        if not all(0 <= c < p for c in numbers):
            return f"round {r}: there is no chunk {[c for c in numbers if not 0 <= c < p][0]}"
        came = [held[rank, c] for rank, c in enumerate(numbers)]
        for rank, c in enumerate(numbers):
            to = (rank + 1) % p
            held[to, c] = held[to, c] + came[rank] if r < p - 1 else came[rank]
        if r == p - 2 and (n := int(numeric.isclose(held, total).sum())) < p:
            return f"after round {r} {n} chunks hold the sum, in place of {p}"
    n = int(numeric.isclose(held, total).sum())
    return "all have the sum" if n == p * p else f"in the end {n} of {p * p} chunks hold the sum"


# Hint: Two workers. The number of a chunk is an int. In round 0 let each send its own chunk; from then on, each sends
# on what has just arrived.
tried(2)
# Hint: Three workers: what arrived in one round is sent on in the next, with a number between 0 and p − 1.
tried(3)
# Hint: Four workers: after p − 1 rounds each has one finished chunk, and that is the one to send then.
tried(4)
# Hint: Seven workers: the rule should hold for any p.
tried(7)

# %% [markdown] hints="ring_by_hand"
# 1. In round 0 let rank r send chunk r. What has just arrived at a rank in round 0, and has to be sent on in round 1?
# 2. Rank 3 receives chunk 2 in round 0, and sends that in round 1: one less in each round. After 0 comes p − 1.
# 3. `(rank - r) % p`. Look whether the second half needs another formula: which chunk is complete at a rank after the
# first one?

# %% [markdown] shows="ring_by_hand"
# Each hands on what came last, in both halves: one line of arithmetic is the whole ring.


# %% wrong="ring_by_hand"
# Shows: Each sends its own chunk again and again: nothing is handed on.
# Hint: What came in the round before has to go on.
def chunk(rank, r, p):
    return rank


# %% wrong="ring_by_hand"
# Shows: The numbers go the wrong way: what a rank sends is not what it has just received.
# Hint: In round 0 rank 3 gets chunk 2. Which does it send in round 1?
def chunk(rank, r, p):
    return (rank + r) % p


# %% wrong="ring_by_hand"
# Shows: The second half begins again at the rank's own chunk, which is not complete there.
# Hint: After the first half, which chunk is complete at rank 0?
def chunk(rank, r, p):
    return (rank - r) % p if r < p - 1 else (rank - (r - p + 1)) % p


# %% wrong="ring_by_hand"
# Shows: All send the same chunk in a round, and so the sums of one round are mixed with those of another.
# Hint: In each round every rank sends another chunk.
def chunk(rank, r, p):
    return r % p


# %% wrong="ring_by_hand"
# Shows: The formula is right, but it gives a float, and a float cannot be the index of a chunk.
# Hint: `/` gives a float; `//` and `%` of ints give an int. `int(…)` makes one.
def chunk(rank, r, p):
    return float((rank - r) % p)


# %% wrong="ring_by_hand"
# Shows: The numbers fall below 0: there is no such chunk.
# Hint: A remainder by p, `%`, brings them back.
def chunk(rank, r, p):
    return rank - r


# %% [markdown]
# ## 3. One mean of unequal parts
#
# **2 points, 9 minutes.** Each worker has some rows of a batch. It knows two things: `rows`, the number of its rows,
# and `g`, the gradient of the *mean* loss over its rows. A worker without rows has 0 and a g of zeros.
#
# Write `mean_gradient(g, rows)`. Every worker must return the gradient of the mean loss over *all* rows of *all*
# workers.
#
# A worker is written as a generator here. `total = yield x` is an all-reduce: the worker sends x, waits for all the
# others, and receives the sum of all x. All workers must make the same number of all-reduces. What the generator
# returns is the worker's result.
#
# `workers` runs the generators in turns. In the example below, three workers hold 1, 2 and 3, and each returns its
# share of the sum.


# %% name="workers"
def workers(program, *lists):
    """What each worker returns: the program is called for each, with its values of the lists."""
    ranks = [program(*values) for values in zip(*lists)]
    given, results = [None] * len(ranks), {}
    while len(results) < len(ranks):
        asked = {}
        for i, rank in enumerate(ranks):
            try:
                asked[i] = rank.send(given[i])
            except StopIteration as end:
                results[i] = end.value
        if asked and results:
            raise RuntimeError(f"ranks {[*asked]} wait for all, and ranks {[*results]} have ended")
        given = [sum(asked.values()) + 0 for _ in ranks]  # a sum of its own for each
    return [results[i] for i in range(len(ranks))]


def share(x):
    total = yield x
    return x / total


print(workers(share, [1, 2, 3]))


# %% answer="unequal_shares" points=2 minutes=9
def mean_gradient(g, rows):
    ### BEGIN SOLUTION
    total = yield rows
    weighted = yield g * rows
    return weighted / total
    ### END SOLUTION


# %%
check("unequal_shares")

# %% probes="unequal_shares"
import numpy as arrays


def run_all(program, *lists):
    """What each returns, or who waits for whom."""
    ranks = [program(*values) for values in zip(*lists)]
    given, results = [None] * len(ranks), {}
    while len(results) < len(ranks):
        asked = {}
        for i, rank in enumerate(ranks):
            if i not in results:
                try:
                    with arrays.errstate(all="ignore"):
                        asked[i] = rank.send(given[i])
                except StopIteration as end:
                    results[i] = end.value
        if asked and results:
            return f"ranks {[*asked]} wait, and ranks {[*results]} have ended"
        given = [sum(asked.values()) + 0 for _ in ranks]
    return [arrays.round(arrays.asarray(results[i], float), 4).tolist() for i in range(len(ranks))]


# Hint: Two workers with equal rows: the mean of their gradients. Hand out what can be added up, and return the result.
run_all(mean_gradient, [arrays.array([1.0, 2.0]), arrays.array([3.0, -2.0])], [8, 8])
# Hint: Unequal rows: weight each gradient by its rows, and divide by the rows of all, which takes an all-reduce, too.
run_all(mean_gradient, [arrays.array([1.0, 2.0]), arrays.array([3.0, -2.0]), arrays.array([6.0, 0.0])], [40, 40, 20])
# Hint: A worker without rows has to take part in every all-reduce, and does not divide by its own rows.
run_all(mean_gradient, [arrays.array([4.0, 1.0]), arrays.array([0.0, 0.0])], [3, 0])

# %% [markdown] hints="unequal_shares"
# 1. The gradient of a mean over rows, times the number of rows, is the gradient of the sum. Sums may be added up.
# 2. By what is the sum of all gradients to be divided? No worker knows it: it takes an all-reduce of its own.
# 3. `total = yield rows`, then `weighted = yield g * rows`, and a division.

# %% [markdown] shows="unequal_shares"
# Sum, and divide by the rows of all; a worker without rows takes part in every call.


# %% wrong="unequal_shares"
# Shows: The gradients were added up, and nothing divided.
# Hint: Two equal gradients have the mean that each of them is.
def mean_gradient(g, rows):
    return (yield g)


# %% wrong="unequal_shares"
# Shows: The mean of the workers' means: a row of a worker with few rows weighs more than one of the others.
# Hint: 20 rows of 100 should weigh a fifth.
def mean_gradient(g, rows):
    count = yield 1
    return (yield g) / count


# %% wrong="unequal_shares"
# Shows: The sum was divided by the worker's own rows, so each gets another gradient.
# Hint: All must divide by the same number: the rows of all.
def mean_gradient(g, rows):
    return (yield g * rows) / max(rows, 1)


# %% wrong="unequal_shares"
# Shows: The sum was divided by the worker's own rows, and one worker has none.
# Hint: Divide by the rows of all: no worker knows how many these are, before it has asked.
def mean_gradient(g, rows):
    return (yield g * rows) / rows


# %% wrong="unequal_shares"
# Shows: A pair or a list was handed out, and these cannot be added up: numbers can, and arrays.
# Hint: One `yield` for each number or array, or one array in which all are.
def mean_gradient(g, rows):
    weighted, total = yield g * rows, rows
    return weighted / total


# %% wrong="unequal_shares"
# Shows: This is the gradient of the sum over all rows, and not of the mean.
# Hint: How many rows are there, all together? Who knows?
def mean_gradient(g, rows):
    return (yield g * rows)


# %% wrong="unequal_shares"
# Shows: Nothing was handed out: a function without a `yield` knows only its own worker's numbers.
# Hint: `total = yield rows` is the rows of all. What else has to be added up over all?
def mean_gradient(g, rows):
    return g


# %% wrong="unequal_shares"
# Shows: The result was handed out, and not returned: a `yield` is an all-reduce, and the end is `return`.
# Hint: Take what the last `yield` gave, and return it.
def mean_gradient(g, rows):
    total = yield rows
    yield g * rows / total


# %% wrong="unequal_shares"
# Shows: A worker without rows goes home, and the others wait for it in the next call.
# Hint: A collective is called by all. What can this one hand out that does no harm?
def mean_gradient(g, rows):
    total = yield rows
    if rows == 0:
        return g
    weighted = yield g * rows
    return weighted / total


# %% [markdown]
# ## 4. A deadlock
#
# **2 points, 9 minutes.** Now a worker sends to one other worker. A generator has two calls:
#
# - `yield "send", to, x` ends when rank `to` has received x;
# - `came = yield "recv", source` ends when a message from rank `source` has come.
#
# MPI does the same with large messages. In `stuck`, each rank should receive the x of the rank before it in the ring.
# Run the cell with `stuck`, and read which rank waits for which.
#
# Write `shift(rank, p, x)`, which does what `stuck` was meant to do, for every p from 2 on:
#
# - every rank sends its x once, to the next rank;
# - every rank receives once, from the rank before it, and returns what it received.
#
# With three ranks, `meet(shift, 3)` must return `[20, 0, 10]`.


# %% name="meet"
def meet(program, p):
    """What each of p ranks returns, or who waits for whom. Rank r begins with x = 10 r."""
    ranks, wants, results = [program(rank, p, 10 * rank) for rank in range(p)], {}, {}

    def go_on(rank, value):
        wants.pop(rank, None)
        try:
            wants[rank] = ranks[rank].send(value)
        except StopIteration as end:
            results[rank] = end.value

    for rank in range(p):
        go_on(rank, None)
    while wants:
        pairs = [(s, w) for s, w in wants.items() if w[0] == "send" and wants.get(w[1]) == ("recv", s)]
        if not pairs:
            return "none can go on: " + ", ".join(f"rank {r} in {w[0]}, for {w[1]}" for r, w in sorted(wants.items()))
        sender, (_, to, x) = pairs[0]
        go_on(sender, None)
        go_on(to, x)
    return [results[rank] for rank in range(p)]


# %%
def stuck(rank, p, x):
    yield "send", (rank + 1) % p, x
    came = yield "recv", (rank - 1) % p
    return came


print(meet(stuck, 4))


# %% answer="deadlock_mended" points=2 minutes=9
def shift(rank, p, x):
    ### BEGIN SOLUTION
    before, after = (rank - 1) % p, (rank + 1) % p
    if rank == 0:
        came = yield "recv", before
        yield "send", after, x
    else:
        yield "send", after, x
        came = yield "recv", before
    return came
    ### END SOLUTION


# %%
check("deadlock_mended")

# %% probes="deadlock_mended"


def met(program, p):
    """What each returns, or who waits for whom, or that there were not p messages."""
    ranks, wants, results, sent = [program(rank, p, 10 * rank) for rank in range(p)], {}, {}, []

    def go_on(rank, value):
        wants.pop(rank, None)
        try:
            wants[rank] = ranks[rank].send(value)
        except StopIteration as end:
            results[rank] = end.value

    for rank in range(p):
        go_on(rank, None)
    while wants:
        pairs = [(s, w) for s, w in wants.items() if w[0] == "send" and tuple(wants.get(w[1], ())) == ("recv", s)]
        if not pairs:
            return "none can go on: " + ", ".join(f"rank {r} in {w[0]}, for {w[1]}" for r, w in sorted(wants.items()))
        sender, (_, to, x) = pairs[0]
        sent.append((sender, to))
        go_on(sender, None)
        go_on(to, x)
    if sorted(sent) != sorted((rank, (rank + 1) % p) for rank in range(p)):
        return f"messages went {sorted(sent)}"
    return [results[rank] for rank in range(p)]


# Hint: Two ranks: one of them should receive first. Each sends its own x to the next rank and returns what came from
# the one before.
met(shift, 2)
# Hint: Three ranks: it is enough that one rank receives first, and that this rank exists for every p.
met(shift, 3)
# Hint: Four ranks.
met(shift, 4)
# Hint: Seven ranks.
met(shift, 7)

# %% [markdown] hints="deadlock_mended"
# 1. All send, and nobody receives. It is enough that one rank does it the other way round.
# 2. Which rank is there for every p from two on? Let that one receive first: `if rank == 0:`.
# 3. In its branch `came = yield "recv", before` comes first, then `yield "send", after, x`; in the others' it is as it
# was.

# %% [markdown] shows="deadlock_mended"
# One rank that receives first opens the circle; if every second one does, half of the messages move at once.


# %% wrong="deadlock_mended"
# Shows: All send first, as before.
# Hint: Let one of them begin with the other call.
def shift(rank, p, x):
    yield "send", (rank + 1) % p, x
    return (yield "recv", (rank - 1) % p)


# %% wrong="deadlock_mended"
# Shows: All receive first: now they wait for each other in recv.
# Hint: It is enough that one begins with recv. What do the others do?
def shift(rank, p, x):
    came = yield "recv", (rank - 1) % p
    yield "send", (rank + 1) % p, x
    return came


# %% wrong="deadlock_mended"
# Shows: With four ranks it goes, and with two or three there is no rank 3 that receives first.
# Hint: Which rank exists whatever p is?
def shift(rank, p, x):
    if rank == 3:
        came = yield "recv", (rank - 1) % p
        yield "send", (rank + 1) % p, x
    else:
        yield "send", (rank + 1) % p, x
        came = yield "recv", (rank - 1) % p
    return came


# %% wrong="deadlock_mended"
# Shows: The last rank sends to a rank that does not exist: the next one after it is rank 0.
# Hint: `(rank + 1) % p`.
def shift(rank, p, x):
    if rank == 0:
        came = yield "recv", p - 1
        yield "send", 1, x
    else:
        yield "send", rank + 1, x
        came = yield "recv", rank - 1
    return came


# %% wrong="deadlock_mended"
# Shows: There is no `yield` in the function, so nothing was sent.
# Hint: Every rank says `yield "send", …` once, and `yield "recv", …` once, in one order or the other.
def shift(rank, p, x):
    return 10 * ((rank - 1) % p)


# %% wrong="deadlock_mended"
# Shows: No message was sent: the function never comes to a `yield`.
# Hint: Every rank must come to both, `yield "send", …` and `yield "recv", …`, in one order or the other.
def shift(rank, p, x):
    if False:
        yield
    return x


# %% wrong="deadlock_mended"
# Shows: The messages are right, and nothing is given back.
# Hint: Is a `return` missing?
def shift(rank, p, x):
    if rank == 0:
        yield "recv", (rank - 1) % p
        yield "send", (rank + 1) % p, x
    else:
        yield "send", (rank + 1) % p, x
        yield "recv", (rank - 1) % p


# %% wrong="deadlock_mended"
# Shows: It does not hang, and each returns its own x: what has come was not kept.
# Hint: What is the value of `yield "recv", before`?
def shift(rank, p, x):
    if rank == 0:
        yield "recv", (rank - 1) % p
        yield "send", (rank + 1) % p, x
    else:
        yield "send", (rank + 1) % p, x
        yield "recv", (rank - 1) % p
    return x


# %% wrong="deadlock_mended"
# Shows: The rank that receives first sends on what has come, in place of its own x.
# Hint: Rank 1 should get rank 0's x.
def shift(rank, p, x):
    if rank == 0:
        came = yield "recv", (rank - 1) % p
        yield "send", (rank + 1) % p, came
    else:
        yield "send", (rank + 1) % p, x
        came = yield "recv", (rank - 1) % p
    return came


# %% wrong="deadlock_mended"
# Shows: No deadlock, and the wrong way round: each gets the x of the rank after it.
# Hint: Send to rank + 1.
def shift(rank, p, x):
    if rank == 0:
        came = yield "recv", (rank + 1) % p
        yield "send", (rank - 1) % p, x
    else:
        yield "send", (rank - 1) % p, x
        came = yield "recv", (rank + 1) % p
    return came


# %% [markdown]
# ## 5. Buckets of your own
#
# **2 points, 8 minutes.** Backward goes through 16 layers, and each layer takes 1 ms. You divide the 16 layers into
# buckets, in the order in which their gradients come. A bucket leaves when two things are true: its last gradient is
# there, and the bucket before it has arrived. Then it takes 2 ms, and 0.75 ms more for each of its layers.
#
# Set `buckets` to a list with the number of layers in each bucket. The numbers are whole, and add up to 16. All must be
# done within **23 ms**.
#
# `finished(buckets)` returns the ms until all is done. `finished([16])` is 30, and `finished([1] * 16)` is 45. Equal
# buckets are never quick enough.


# %% name="finished"
def finished(buckets):
    """The ms from the beginning of backward until the last bucket has been added up."""
    backward = wire = 0.0
    for layers in buckets:
        backward += layers
        wire = max(wire, backward) + 2 + 0.75 * layers
    return wire


# %% answer="own_buckets" points=2 minutes=8
### BEGIN SOLUTION
buckets = [2, 4, 5, 5]
### END SOLUTION

# %%
check("own_buckets")

# %% probes="own_buckets"


def listed():
    return list(buckets)


sizes = in_time = listed


@referee
def sizes(buckets):
    return {"layers": sum(buckets), "whole numbers from 1 on": all(layers in range(1, 17) for layers in buckets)}


def until(buckets):
    """The ms that it takes."""
    backward = wire = 0.0
    for layers in buckets:
        backward += layers
        wire = max(wire, backward) + 2 + 0.75 * layers
    return wire


def cause(buckets):
    """Why it is late, in words."""
    steps = [b - a for a, b in zip(buckets, buckets[1:])]
    if not steps:
        return "one bucket"
    if len(buckets) > 5:
        return "many buckets"
    if buckets[-1] > 6:
        return "a large bucket at the end"
    if not any(steps):
        return "equal buckets"
    return "growing" if min(steps) >= 0 else "shrinking" if max(steps) <= 0 else "now larger, now smaller"


@referee
def in_time(buckets):
    return "in time" if until(buckets) <= 23 else f"too late: {cause(buckets)}"


# Hint: The buckets should be whole numbers that add up to 16.
sizes()
# Hint: It is too late. A small first bucket lets the wire begin early, a few that grow keep it busy, and the last must
# not be too large.
in_time()

# %% [markdown] hints="own_buckets"
# 1. Each bucket costs 2 ms, so take only a few; and until the first has left nothing moves, so let that one be small.
# 2. While a bucket is on its way, backward fills the next one: a bucket of k layers takes 2 + 0.75 k ms, and in that
# time backward does as many layers.
# 3. Four buckets, which grow: begin with 1 or 2, then 3 or 4.

# %% [markdown] shows="own_buckets"
# A small first bucket starts the wire, and larger ones keep it busy: PyTorch's first has 1 MB, and the others 25.

# %% wrong="own_buckets"
# Shows: One bucket: the wire is idle until backward ends.
# Hint: What could leave after 2 ms?
buckets = [16]

# %% wrong="own_buckets"
# Shows: Many buckets, and each pays for rounds: 2 ms.
# Hint: How many ms are there of rounds alone, and how many for the 16 layers?
buckets = [1] * 16

# %% wrong="own_buckets"
# Shows: They grow; but nothing moves before the first is there, and after that each pays 2 ms: together too much.
# Hint: One bucket fewer, or a smaller first one.
buckets = [2, 3, 3, 4, 4]

# %% wrong="own_buckets"
# Shows: Equal buckets, and the first of them is there late.
# Hint: Let the first be smaller, and a later one larger.
buckets = [4, 4, 4, 4]

# %% wrong="own_buckets"
# Shows: The large bucket comes first, and all wait for it.
# Hint: Until the first bucket is full nothing is sent. Begin with a small one.
buckets = [6, 5, 4, 1]

# %% wrong="own_buckets"
# Shows: In time, but some layers are in no bucket.
# Hint: What is the sum of your list?
buckets = [2, 4, 4, 4]

# %% wrong="own_buckets"
# Shows: A layer was cut in two: a gradient is there whole, or not at all.
# Hint: Whole numbers. Is there a list of them that begins small, and grows?
buckets = [1.5, 4, 5, 5.5]

# %% wrong="own_buckets"
# Shows: The last bucket is so large that it alone is too late.
# Hint: It leaves when backward ends, after 16 ms: how many layers can it have?
buckets = [2, 4, 10]

# %% [markdown]
# ## What you have now
#
# A ring in one line, a mean of unequal parts, a program that does not hang, and buckets in time.
#
# What would the best buckets be for 64 workers, where the rounds take four times as long? And what if the wire is four
# times as fast?
#
# **Next**: [23 One model, many workers](../lessons/23_one_model_many_workers.ipynb).
