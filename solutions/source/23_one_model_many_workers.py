# ---
# jupyter:
#   minigrad:
#     title: Where to cut
#     minutes: 20
#     lesson: 23_one_model_many_workers
#     concepts: [F3, F4]
# ---

# %% [markdown]
# # 23 Where to cut
#
# You cut two layers among workers, say which message belongs where, and work out a bubble on paper. About 20 minutes,
# in three parts; two more are optional. 10 points in all. Workers are entries of a list: everything runs in this
# process.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

from minigrad.course import check, solution

# %% [markdown]
# ## 1. Two layers, cut by hand
#
# **2 points, 7 minutes.** The two layers are `np.tanh(x @ A + a) @ B + b`. The arrays have the shapes A (n, h), a
# (h,), B (h, k) and b (k,). Write `cut(A, a, B, b, p)`. It returns a list with a tuple `(A_i, a_i, B_i, b_i)` for each
# of p workers.
#
# - The *sum* of `np.tanh(x @ A_i + a_i) @ B_i + b_i` over the workers is the result of the two layers.
# - Each worker has a p-th of A, of a and of B. You may assume that p divides h.
# - Each `b_i` has k numbers.


# %% answer="cut_by_hand" points=2 minutes=7
def cut(A, a, B, b, p):
    ### BEGIN SOLUTION
    once = [b] + [0 * b] * (p - 1)
    return list(zip(np.split(A, p, axis=1), np.split(a, p), np.split(B, p, axis=0), once))
    ### END SOLUTION


# %%
check("cut_by_hand")

# %% probes="cut_by_hand"
import numpy as numeric


def arrays(n, h, k):
    random = numeric.random.default_rng(0)
    return [random.normal(size=shape) for shape in ((5, n), (n, h), h, (h, k), k)]


def workers(n, h, k, p):
    return [[numeric.asarray(each) for each in part] for part in cut(*arrays(n, h, k)[1:], p)]


@referee
def workers(sent, n, h, k):
    """How the sum over the workers compares with the whole, and how large the parts of worker 0 are."""
    x, A, a, B, b = arrays(n, h, k)
    parts = [[numeric.asarray(each) for each in part] for part in sent]
    shapes = " ".join(str(each.shape) for each in parts[0][:3])
    try:
        got = sum(numeric.tanh(x @ A_i + a_i) @ B_i + b_i for A_i, a_i, B_i, b_i in parts)
    except ValueError:
        return {"sum": "the shapes do not fit", "parts": f"{len(parts)} workers, parts {shapes}"}
    off = got - (numeric.tanh(x @ A + a) @ B + b)
    if numeric.allclose(off, 0):
        said = "equal"
    elif numeric.allclose(off, off[0]):
        times = (off[0] @ b) / (b @ b)
        said = f"off by {times:.1f} times b"
    else:
        said = "not equal"
    return {"sum": said, "parts": f"{len(parts)} workers, parts {shapes}"}


# Hint: Two workers: columns of A with their part of a, the rows of B that meet those columns, and b once in the sum.
workers(3, 8, 4, 2)
# Hint: Three workers: does the sum have b once?
workers(5, 12, 2, 3)
# Hint: Six workers with one column of A each.
workers(4, 6, 3, 6)
# Hint: A single worker has everything.
workers(2, 4, 3, 1)

# %% [markdown] hints="cut_by_hand"
# 1. Each worker needs all of x, some columns of A, and the rows of B that meet those columns. What else belongs to a
# column of A?
# 2. `np.split(A, p, axis=1)`, `np.split(a, p)`, `np.split(B, p, axis=0)`. And b: how often may it be in the sum?
# 3. Give b to one worker, and `0 * b` to the others; or `b / p` to each. Then `list(zip(…))`.

# %% [markdown] shows="cut_by_hand"
# Large models cut their layers like this: columns, rows, and one sum, with the last bias in it once.


# %% wrong="cut_by_hand"
# Shows: Each worker adds b, so the sum has it as often as there are workers.
# Hint: b must be there once: with one of the workers, or a p-th of it with each.
def cut(A, a, B, b, p):
    return list(zip(np.split(A, p, axis=1), np.split(a, p), np.split(B, p), [b] * p))


# %% wrong="cut_by_hand"
# Shows: Nobody adds b.
# Hint: One of the workers has b, and the others zeros.
def cut(A, a, B, b, p):
    return list(zip(np.split(A, p, axis=1), np.split(a, p), np.split(B, p), [0 * b] * p))


# %% wrong="cut_by_hand"
# Shows: A is cut by rows: a worker would need a part of x only, and has terms of a sum before tanh.
# Hint: tanh of a sum is not the sum of the tanhs. Which cut of A gives each worker finished numbers?
def cut(A, a, B, b, p):
    once = [b] + [0 * b] * (p - 1)
    return list(zip(np.split(A, p, axis=0), np.split(a, p), np.split(B, p), once))


# %% wrong="cut_by_hand"
# Shows: Every worker has the whole of a, and only some of the columns of A.
# Hint: Each number of a belongs to one column of A.
def cut(A, a, B, b, p):
    once = [b] + [0 * b] * (p - 1)
    return list(zip(np.split(A, p, axis=1), [a] * p, np.split(B, p), once))


# %% wrong="cut_by_hand"
# Shows: The columns of A and the rows of B do not belong together: every p-th column, and p rows in a block.
# Hint: The column j of A meets the row j of B. Take both in the same way.
def cut(A, a, B, b, p):
    once = [b] + [0 * b] * (p - 1)
    return list(zip([A[:, i::p] for i in range(p)], [a[i::p] for i in range(p)], np.split(B, p), once))


# %% wrong="cut_by_hand"
# Shows: b is cut, too, and each result has k columns, to which a p-th of b does not fit.
# Hint: The rows of B are shared out, not its columns. What has each worker's result to do with all of b?
def cut(A, a, B, b, p):
    return list(zip(np.split(A, p, axis=1), np.split(a, p), np.split(B, p), np.split(b, p)))


# %% wrong="cut_by_hand"
# Shows: The sum is right, and every worker has the whole model: nothing is cut.
# Hint: Of A, a and B each worker should have a p-th.
def cut(A, a, B, b, p):
    return [(A, a, B / p, b / p)] * p


# %% [markdown]
# ## 2. Which message?
#
# **2 points, 7 minutes.** What do the workers have to exchange in each line, so that they can compute what comes next?
# Say `"sum"` (their parts are added), `"beside"` (their parts are put side by side), or `"nothing"`. Write a
# dictionary, `needs = {"a": "…", "b": "…", …}`.
#
# - a: forward, `x @ W`. W is cut by columns, and then each worker needs the whole result.
# - b: forward, `x @ W`. W is cut by rows, and then comes a relu.
# - c: forward, between A and B, with a relu in between. A is cut by columns, and B by rows.
# - d: backward, the gradient of x. W is cut by columns, and all workers have the whole x.
# - e: backward, the gradient of x. W is cut by rows, and the layer before it by columns.
# - f: backward, the gradient of a worker's own part of W. All workers have the same batch.
# - g: backward, the gradient of W. All workers have the whole W, but different rows of the batch. The loss is a sum
#   over rows.
# - h: forward, in attention: from the product that makes queries, keys and values to the product after the heads. Each
#   worker has some of the heads, and no head looks at another.

# %% answer="which_message" points=2 minutes=7
### BEGIN SOLUTION
needs = {
    "a": "beside",
    "b": "sum",
    "c": "nothing",
    "d": "sum",
    "e": "nothing",
    "f": "nothing",
    "g": "sum",
    "h": "nothing",
}
### END SOLUTION

# %%
check("which_message")


# %% probes="which_message"
LINES = "abcdefgh"


def said():
    """The word for each line, by its letter: from a dictionary, or from a list of eight words."""
    pairs = needs.items() if hasattr(needs, "items") else zip(LINES, needs)
    return {str(line).strip().lower(): str(word).strip().lower() for line, word in pairs}


def messages(lines):
    return [said().get(line) for line in lines]


# Hint: `needs` should have a word for each of the eight lines, "a" to "h".
[line for line in LINES if line not in said()]
# Hint: Each word should be "sum", "beside" or "nothing".
sorted({*said().values()} - {"sum", "beside", "nothing"})
# Hint: Lines a to c, forward: does a worker have whole columns of the result, or terms of a sum? Does the next step
# need more than it has?
messages("abc")
# Hint: Lines d and e, the gradient of x: is the same x read by several workers, or does each read its own part?
messages("de")
# Hint: Lines f and g, the gradient of W: who has this part of W, and who has seen which rows?
messages("fg")
# Hint: Line h: does a head read anything of another head?
messages("h")
# Hint: There are eight lines, a to h.
len(needs)

# %% [markdown] hints="which_message"
# 1. Ask of each line: what does a worker have, columns or terms? And does the next step need more than that?
# 2. A value that all workers have read gets the sum of what comes back. A part that one worker has read is its own.
# 3. Three are "sum", one is "beside", four are "nothing".

# %% [markdown] shows="which_message"
# Half of the lines need nothing: cut so that the next layer reads just what this worker has.

# %% wrong="which_message"
# Shows: The columns were put side by side before B, which wants just the columns that its worker has.
# Hint: Line c: which columns does a worker's part of B read? And h: does one head look at another?
needs = dict(zip("abcdefgh", ["beside", "sum", "beside", "sum", "nothing", "nothing", "sum", "beside"]))

# %% wrong="which_message"
# Shows: The columns were put side by side before B, which wants just the columns that its worker has.
# Hint: Line c: which columns does a worker's part of B read?
needs = dict(zip("abcdefgh", ["beside", "sum", "beside", "sum", "nothing", "nothing", "sum", "nothing"]))

# %% wrong="which_message"
# Shows: The heads were put together before the product that follows, which is cut as they are.
# Hint: Line h: which numbers does a worker's part of that product read?
needs = dict(zip("abcdefgh", ["beside", "sum", "nothing", "sum", "nothing", "nothing", "sum", "beside"]))

# %% wrong="which_message"
# Shows: A cut by columns was followed by a sum: each worker has columns that no other has.
# Hint: Line a: does a worker's part have the shape of the whole?
needs = dict(zip("abcdefgh", ["sum", "sum", "nothing", "sum", "nothing", "nothing", "sum", "nothing"]))

# %% wrong="which_message"
# Shows: You took terms for columns. After a cut by rows each worker has some terms of every sum.
# Hint: Line b: what shape does the part of one worker have?
needs = dict(zip("abcdefgh", ["beside", "beside", "nothing", "sum", "nothing", "nothing", "sum", "nothing"]))

# %% wrong="which_message"
# Shows: The gradient of x was left as it is, and each worker has only what its own columns gave.
# Hint: Line d: x was read in several places. What happens to gradients there?
needs = dict(zip("abcdefgh", ["beside", "sum", "nothing", "nothing", "nothing", "nothing", "sum", "nothing"]))

# %% wrong="which_message"
# Shows: The gradients of cut weights were added up over the workers, as if all had the same weight.
# Hint: Line f: does any other worker have a part of the gradient of this worker's columns?
needs = dict(zip("abcdefgh", ["beside", "sum", "nothing", "sum", "nothing", "sum", "sum", "nothing"]))

# %% wrong="which_message"
# Shows: With the data cut, not the model, the workers' gradients were not added.
# Hint: Line g: each has the gradient of its own rows, of the same W.
needs = dict(zip("abcdefgh", ["beside", "sum", "nothing", "sum", "nothing", "nothing", "nothing", "nothing"]))

# %% wrong="which_message"
# Shows: The gradient of a part of x was put together, and the layer before it wants only that part.
# Hint: Line e: which columns did the layer before it make on that worker?
needs = dict(zip("abcdefgh", ["beside", "sum", "nothing", "sum", "beside", "nothing", "sum", "nothing"]))

# %% [markdown]
# ## 3. On paper
#
# **2 points, 6 minutes.** A pipeline has 8 equal stages and 24 micro-batches. Messages take no time. Two digits are
# enough.
#
# - `waits`: the share of the time in which a worker waits, from 0 to 1.
# - `faster`: how many times as fast is a step as on one worker with all the layers?
# - `fewest`: with how many micro-batches, at least, do 8 stages wait for a tenth of the time or less?
# - `limit`: with 24 micro-batches, and as many stages as you like, a step is always less than how many times as fast?

# %% answer="pipeline_on_paper" points=2 minutes=6
### BEGIN SOLUTION
waits = 7 / 31
faster = 8 * 24 / 31
fewest = 63
limit = 24
### END SOLUTION

# %%
check("pipeline_on_paper")

# %% probes="pipeline_on_paper"
# Hint: `waits`: of m + p − 1 steps each worker works in m, and waits in the others. It is a number from 0 to 1.
round(float(waits), 2)
# Hint: `faster`: eight workers that each work in 24 of 31 steps.
round(float(faster), 1)
# Hint: `fewest`: 7 / (m + 7) should be a tenth or less.
float(fewest)
# Hint: `limit`: m p / (m + p − 1) for a very large p.
float(limit)

# %% [markdown] hints="pipeline_on_paper"
# 1. The last stage begins after p − 1 steps; all of it takes m + p − 1 steps, and each works in m of them.
# 2. Eight workers that work for 24 of 31 steps do as much as 8 · 24 / 31 that never wait.
# 3. 7 / (m + 7) must be 1/10. And m p / (m + p − 1), for a very large p, is nearly …

# %% [markdown] shows="pipeline_on_paper"
# However many stages there are, no more workers are busy than there are micro-batches.

# %% wrong="pipeline_on_paper" misconception="M22"
# Shows: Eight stages were taken to be eight times as fast, and more to be faster without end.
# Hint: In how many of the 31 steps does a stage work?
waits, faster, fewest, limit = 7 / 31, 8, 63, float("inf")

# %% wrong="pipeline_on_paper" misconception="M22"
# Shows: The speedup was thought to grow with the stages without end.
# Hint: Put p = 1000 into m p / (m + p − 1), with m = 24.
waits, faster, fewest, limit = 7 / 31, 192 / 31, 63, float("inf")

# %% wrong="pipeline_on_paper"
# Shows: The waiting was divided by the working, 7 / 24, and not by all the time.
# Hint: All the time is 24 + 7 steps.
waits, faster, fewest, limit = 7 / 24, 192 / 31, 70, 24

# %% wrong="pipeline_on_paper"
# Shows: The share was given in percent.
# Hint: Give a number from 0 to 1: 1 is all of the time.
waits, faster, fewest, limit = 100 * 7 / 31, 192 / 31, 63, 24

# %% wrong="pipeline_on_paper"
# Shows: With 63 micro-batches they wait for a tenth, and a tenth is allowed.
# Hint: What is 7 / (63 + 7)?
waits, faster, fewest, limit = 7 / 31, 192 / 31, 64, 24

# %% wrong="pipeline_on_paper"
# Shows: The last stage was thought to begin after 8 steps: it begins after 7.
# Hint: How many stages are before the last one?
waits, faster, fewest, limit = 8 / 32, 8 * 24 / 32, 72, 24

# %% wrong="pipeline_on_paper"
# Shows: The number of stages was taken for the limit, and the stages are what may grow.
# Hint: Which of the two numbers is fixed in the last question?
waits, faster, fewest, limit = 7 / 31, 192 / 31, 63, 8

# %% wrong="pipeline_on_paper"
# Shows: Four micro-batches for each stage were taken, and that leaves a bubble of nearly a fifth.
# Hint: What is 7 / (32 + 7)?
waits, faster, fewest, limit = 7 / 31, 192 / 31, 32, 24

# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. 1F1B
#
# **2 points, 10 minutes.** Write `order(p, m, worker)`: what this worker does in a pipeline of p stages with m
# micro-batches. Return a list of pairs such as `("forward", 0)` or `("backward", 3)`.
#
# - Each worker does forward 0 to m − 1 and backward 0 to m − 1, each of them once. m may be smaller than p.
# - Worker w keeps the activations of at most p − w micro-batches at a time.
# - The workers wait as little as possible.
#
# `look(order, p, m)` makes a schedule of your lists. It returns its bubble and what is kept, or says what is wrong.


# %% name="look"
from minigrad.distributed.schedules import Schedule, Step, bubble, most_kept


def look(order, p, m):
    """What the lists of all workers come to, as a schedule."""
    plan = Schedule("mine", [[Step(*step) for step in order(p, m, worker)] for worker in range(p)], m)
    return f"bubble {bubble(plan.timeline()):.1%}, kept {[most_kept(steps) for steps in plan.steps]}"


# %% answer="one_forward_one_backward" points=2 minutes=10
def order(p, m, worker):
    ### BEGIN SOLUTION
    ahead = min(p - worker, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m):
        steps.append(("backward", i))
        if ahead + i < m:
            steps.append(("forward", ahead + i))
    return steps
    ### END SOLUTION


# %%
check("one_forward_one_backward")

# %% probes="one_forward_one_backward"
from collections import Counter

from minigrad.distributed import schedules


def comes_to(p, m):
    return [[[*step] for step in order(p, m, worker)] for worker in range(p)]


@referee
def comes_to(sent, p, m):
    """How long a run takes, in forwards, and what each worker keeps; or what is wrong."""
    steps = [[schedules.Step(*step) for step in own] for own in sent]
    wanted = {schedules.Step(kind, i) for kind in ("forward", "backward") for i in range(m)}
    for worker, own in enumerate(steps):
        done = Counter(own)
        if wrong := [step for step in (*own, *sorted(wanted)) if done[step] != (step in wanted)]:
            return f"worker {worker} does {wrong[0]}, {done[wrong[0]]} times"
    try:
        plan = schedules.Schedule("mine", steps, m)
    except schedules.ScheduleError:
        return "waits for ever"
    kept = [schedules.most_kept(steps) for steps in plan.steps]
    allowed = all(n <= p - worker for worker, n in enumerate(kept))
    time = f"{schedules.makespan(plan.timeline()):g} units"
    return {"time": time, "micro-batches kept": "p − w at most" if allowed else f"{kept}"}


# Hint: 4 stages and 8 micro-batches: worker w begins with p − w forwards, then one backward and one forward in turn,
# then the backwards that are left.
comes_to(4, 8)
# Hint: 2 stages and 5 micro-batches: each forward and each backward once.
comes_to(2, 5)
# Hint: Fewer micro-batches than stages: there are no more than m forwards to begin with.
comes_to(4, 2)
# Hint: As many micro-batches as stages.
comes_to(3, 3)
# Hint: A single stage: forward 0, backward 0, forward 1, backward 1, and so on.
comes_to(1, 4)

# %% [markdown] hints="one_forward_one_backward"
# 1. The last worker does forward 0, backward 0, forward 1, backward 1, … The first one does p forwards before the
# gradient of the first can be there.
# 2. Worker w begins with p − w forwards, or m if there are fewer. Then one backward, one forward, in turn, until there
# is no forward left; then the backwards that are left.
# 3. `for i in range(m)`: append backward i, and forward `ahead + i` if that is less than m.

# %% [markdown] shows="one_forward_one_backward"
# A schedule is a list, and this one trains the largest models: the same waiting as GPipe's, and memory that does not
# grow with the number of micro-batches.


# %% wrong="one_forward_one_backward"
# Shows: This is GPipe: as quick, but each worker keeps all micro-batches.
# Hint: After its first p − w forwards a worker has a backward to do between two forwards.
def order(p, m, worker):
    return [("forward", i) for i in range(m)] + [("backward", i) for i in range(m)]


# %% wrong="one_forward_one_backward"
# Shows: Every worker does one forward, then its backward: only one micro-batch is in the pipeline at a time.
# Hint: While the first micro-batch is on its way, worker 0 can do p − 1 others.
def order(p, m, worker):
    return [(kind, i) for i in range(m) for kind in ("forward", "backward")]


# %% wrong="one_forward_one_backward"
# Shows: Every worker begins with p forwards, and so each keeps p micro-batches, the last worker too.
# Hint: How soon can the last worker do a backward? How many does worker w do ahead?
def order(p, m, worker):
    ahead = min(p, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m):
        steps.append(("backward", i))
        if ahead + i < m:
            steps.append(("forward", ahead + i))
    return steps


# %% wrong="one_forward_one_backward"
# Shows: One forward too many is done before the first backward, so each worker keeps one micro-batch more than it may.
# Hint: After p − w forwards comes a backward, and not another forward.
def order(p, m, worker):
    ahead = min(p - worker, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m - ahead):
        steps += [("forward", ahead + i), ("backward", i)]
    return steps + [("backward", i) for i in range(m - ahead, m)]


# %% wrong="one_forward_one_backward"
# Shows: The first worker does the fewest forwards ahead and the last the most, so they wait for one another.
# Hint: The gradient has the longest way to worker 0. Who has to do most in the meantime?
def order(p, m, worker):
    ahead = min(worker + 1, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m):
        steps.append(("backward", i))
        if ahead + i < m:
            steps.append(("forward", ahead + i))
    return steps


# %% wrong="one_forward_one_backward"
# Shows: The backwards at the end are missing: it stops with the last forward.
# Hint: When there is no forward left, p − w backwards still are.
def order(p, m, worker):
    ahead = min(p - worker, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m - ahead):
        steps += [("backward", i), ("forward", ahead + i)]
    return steps


# %% wrong="one_forward_one_backward"
# Shows: The backwards at the end are missing: it stops with the last forward, and the one backward after it.
# Hint: When there is no forward left, p − w − 1 backwards still are.
def order(p, m, worker):
    ahead = min(p - worker - 1, m)
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m - ahead):
        steps += [("forward", ahead + i), ("backward", i)]
    return steps


# %% wrong="one_forward_one_backward"
# Shows: With fewer micro-batches than stages there are forwards of micro-batches that do not exist.
# Hint: Ahead are p − w forwards, or m if that is less.
def order(p, m, worker):
    ahead = p - worker
    steps = [("forward", i) for i in range(ahead)]
    for i in range(m):
        steps.append(("backward", i))
        if ahead + i < m:
            steps.append(("forward", ahead + i))
    return steps


# %% [markdown]
# ### 5. A plan of your own
#
# **2 points, 8 minutes.** You have a model of 39.1 billion parameters, 256 A100s of the older kind with 40 GB, and
# batches of 512. Write `plan`, a dictionary that says how the A100s share the work:
#
# - `"data"`, `"tensor"` and `"pipeline"`: their product is 256. `"tensor"` is at most 8, the number of workers in a
#   box.
# - `"microbatch": 2`, if you like, sends two samples through together, and not one.
# - `"recompute": True`, if you like, runs forward twice, and keeps little for backward.
# - `"zero": 1`, if you like, divides Adam's numbers among the `data` groups.
#
# A step may take at most **7.8 seconds**, and a worker may hold at most **20 GB**. `account(plan)` returns what a plan
# costs, by the formulas of the lesson:


# %% name="account"
from minigrad.distributed import cost
from minigrad.distributed.cost.plan import Workload


def account(plan):
    """What a step costs by that plan, at half of the hardware's peak."""
    heads, hidden, layers, tokens, vocabulary = 64, 8192, 48, 2048, 51200
    model = Workload(
        parameters=round(cost.transformer_parameters(layers, hidden, vocabulary, tokens)),
        width=2,
        flops=cost.transformer_flops(1, tokens, layers, hidden, vocabulary, recompute=False),
        kept=layers * cost.activation_bytes(tokens, 1, hidden, heads),
        layers=layers,
        boundary=2 * tokens * hidden,
        heads=heads,
    )
    return cost.step(model, "A100", 512, 0.5, **plan)


# %%
print(account({"data": 32, "tensor": 8, "pipeline": 1}))

# %% answer="plan_of_your_own" points=2 minutes=8
### BEGIN SOLUTION
plan = {"data": 4, "tensor": 8, "pipeline": 8, "zero": 1}
### END SOLUTION

# %%
check("plan_of_your_own")

# %% probes="plan_of_your_own"
from minigrad.distributed import cost as costs
from minigrad.distributed.cost.plan import Workload as Numbers


def judged():
    return dict(plan)


@referee
def judged(plan):
    """Whether it is a plan of 256 workers, and how it stands to the two limits."""
    shares = [plan[name] for name in ("data", "tensor", "pipeline")]
    if shares[0] * shares[1] * shares[2] != 256:
        return f"{shares[0] * shares[1] * shares[2]} workers, and there are 256"
    if plan["tensor"] > 8:
        return f"tensor {plan['tensor']}: more than a box"
    model = Numbers(
        parameters=round(costs.transformer_parameters(48, 8192, 51200, 2048)),
        width=2,
        flops=costs.transformer_flops(1, 2048, 48, 8192, 51200, recompute=False),
        kept=48 * costs.activation_bytes(2048, 1, 8192, 64),
        layers=48,
        boundary=2 * 2048 * 8192,
        heads=64,
    )
    try:
        found = costs.step(model, "A100", 512, 0.5, **plan)
    except ValueError as error:
        return f"no plan: {error}"
    seconds = "quick enough" if found.seconds <= 7.8 else f"too slow: {found.seconds:.1f} s"
    memory = "fits" if found.nbytes <= 20e9 else f"does not fit: {found.nbytes / 1e9:.0f} GB"
    return {"a step": seconds, "a worker's memory": memory}


# Hint: data × tensor × pipeline should be 256, with tensor at most 8. More stages leave fewer weights to each worker,
# and `zero` divides what Adam keeps; both cost time.
judged()

# %% [markdown] hints="plan_of_your_own"
# 1. 16 bytes for each parameter are 626 GB. By how many workers must tensor × pipeline divide that, to leave room for
# activations? And 12 of the 16 are Adam's, which zero divides once more.
# 2. Running forward twice takes a third more time, and there is none to spare. Small micro-batches make a small bubble.
# 3. tensor 8 and microbatch 1; then try 4, 8 and 16 stages, with zero and without, and let data be what is left of 256.

# %% [markdown] shows="plan_of_your_own"
# Weights are cut by tensor and pipeline, what Adam keeps is cut by data as well, and activations stay small with small
# micro-batches.

# %% wrong="plan_of_your_own" misconception="M22"
# Shows: One worker has whole layers, and many stages follow one another: the bubble is large.
# Hint: Look at the bubble in `account(plan)`. Which of the three numbers makes it small?
plan = {"data": 16, "tensor": 1, "pipeline": 16, "microbatch": 1, "recompute": True}

# %% wrong="plan_of_your_own"
# Shows: Only the data is shared: each worker would need the whole model.
# Hint: Divide the weights first, by tensor and pipeline.
plan = {"data": 256, "tensor": 1, "pipeline": 1, "microbatch": 1, "recompute": True}

# %% wrong="plan_of_your_own"
# Shows: It fits, but forward is run twice, which takes a third more time.
# Hint: Keep activations, and make room for them with more stages.
plan = {"data": 4, "tensor": 8, "pipeline": 8, "microbatch": 1, "recompute": True}

# %% wrong="plan_of_your_own"
# Shows: The micro-batches are large: there are few of them, and the bubble is large.
# Hint: How many micro-batches go through a pipeline: 512 / (data × microbatch)?
plan = {"data": 4, "tensor": 8, "pipeline": 8, "microbatch": 16, "recompute": False}

# %% wrong="plan_of_your_own"
# Shows: A layer is shared by more workers than there are in a box, over slow links.
# Hint: tensor is 8 at most.
plan = {"data": 4, "tensor": 32, "pipeline": 2, "microbatch": 1, "recompute": False}

# %% wrong="plan_of_your_own"
# Shows: Only boxes of 8 share the model, without a pipeline: the weights do not fit.
# Hint: 626 GB divided by 8 are 78. How many stages bring that below 20, with room to spare?
plan = {"data": 32, "tensor": 8, "pipeline": 1, "microbatch": 1, "recompute": True}

# %% wrong="plan_of_your_own"
# Shows: It is quick, and a little too large: each of the four groups has all of what Adam keeps.
# Hint: Divide that among the groups, or the weights among more stages.
plan = {"data": 4, "tensor": 8, "pipeline": 8}

# %% wrong="plan_of_your_own"
# Shows: With few stages each has many layers, and the weights and activations of all of them.
# Hint: More stages make each smaller; or what Adam keeps is divided among the 8 groups.
plan = {"data": 8, "tensor": 8, "pipeline": 4}

# %% wrong="plan_of_your_own"
# Shows: What Adam keeps is divided, and the weights and activations of half of the layers are still too much.
# Hint: 4 stages, or 8?
plan = {"data": 16, "tensor": 8, "pipeline": 2, "zero": 1}

# %% wrong="plan_of_your_own"
# Shows: That is not a plan of 256 workers.
# Hint: data × tensor × pipeline.
plan = {"data": 8, "tensor": 8, "pipeline": 8, "microbatch": 1, "recompute": False}

# %% [markdown]
# ## What you have now
#
# A network of two layers that any number of workers share, and an eye for the messages that a cut needs.
#
# Which lines of part 2 change if there are four workers instead of two? And which messages get smaller?
#
# **Next**: [24 Out of Python](../lessons/24_out_of_python.ipynb).
