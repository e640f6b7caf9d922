# ---
# jupyter:
#   minigrad:
#     title: Places and times
#     minutes: 25
#     lesson: 14_memory_and_schedule
#     concepts: [D3, D4, D6, D7]
# ---

# %% [markdown]
# # 14 Places and times
#
# You count lifetimes with a pencil, write a function that counts the peak of any steps, and repair a plan that
# overwrites what is still needed. About 25 minutes, in three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
from minigrad.course import check, solution

# %% [markdown]
# ## 1. With a pencil
#
# **2 points, 6 minutes.** Count by hand, before you run anything:
#
# ```python
# def f(x):
#     a = x + 1
#     b = a.exp()
#     c = a * 3
#     d = b + c
#     return d.tanh()
# ```
#
# x has 1000 floats of 8 bytes each. It comes from outside, so do not count it. The operations run in the order of the
# lines, and make five results. Set four numbers:
#
# - `peak`: the most bytes of results that are alive at one step. At each step count its operands, its result, and what
#   a later step still reads.
# - `buffers`: the buffers that the five results need if nothing is done in place.
# - `buffers_in_place`: the buffers that they need if everything possible is done in place.
# - `bound`: how many times as fast as one worker several workers can be at most. Each operation takes the same time.
#
# For the two results of `return (x + 1).exp()` the four numbers would be 16000, 2, 1 and 1.

# %% answer="counted_by_hand" points=2 minutes=6
### BEGIN SOLUTION
peak = 24_000
buffers = 3
buffers_in_place = 2
bound = 5 / 4
### END SOLUTION

# %%
check("counted_by_hand")

# %% probes="counted_by_hand"
# Hint: `peak`: at each step, count the result, its operands, and what a later step still reads.
peak
# Hint: `buffers`: the number of arrays that are alive at the same time, if a result never takes the place of its own
# operand.
buffers
# Hint: `buffers_in_place`: an elementwise operation may write over an operand that it reads for the last time.
buffers_in_place
# Hint: `bound`: the number of operations divided by the length of the longest chain.
round(float(bound), 6)

# %% [markdown] hints="counted_by_hand"
# 1. Write down for each of the five which line reads it last. a is read in two lines.
# 2. At the third line a and b are alive, and c is being made. In place, c may be written over a, and d over b or c.
# 3. Three arrays at the peak; so three buffers, and two in place. The longest chain is a, b, d, tanh: four of five.

# %% [markdown] shows="counted_by_hand"
# Memory is a matter of lifetimes: the peak is what is alive at one moment, and a result written over an operand that
# is not read again needs no buffer.

# %% wrong="counted_by_hand"
# Shows: All five results were counted at the same time, as if none were ever freed.
# Hint: What nobody will read any more is not alive. At d, who still needs a?
peak, buffers, buffers_in_place, bound = 40_000, 5, 2, 1.25

# %% wrong="counted_by_hand"
# Shows: a was freed after exp, and the line c = a * 3 reads it, too.
# Hint: A lifetime ends with the last reader. At c, three arrays are there: a, b and c.
peak, buffers, buffers_in_place, bound = 16_000, 2, 1, 1.25

# %% wrong="counted_by_hand"
# Shows: Two arrays were counted at the worst step, and there are three: what it reads, what waits, and what it makes.
# Hint: At the line c = a * 3, where are a, b and c?
peak, buffers, buffers_in_place, bound = 16_000, 3, 2, 1.25

# %% wrong="counted_by_hand"
# Shows: This fits the belief that in place only one buffer is needed; but b and c are both needed for d.
# Hint: Two results that a step reads lie in two places.
peak, buffers, buffers_in_place, bound = 24_000, 3, 1, 1.25

# %% wrong="counted_by_hand"
# Shows: In place was not used: c may be written over a, which it reads for the last time.
# Hint: + 1, exp, * 3, + and tanh are all elementwise. Which of them reads something for the last time?
peak, buffers, buffers_in_place, bound = 24_000, 3, 3, 1.25

# %% wrong="counted_by_hand"
# Shows: The number of branches was taken for the bound; but before and after the two branches there is only one chain.
# Hint: Work divided by span: five operations, of which how many stand in the longest chain?
peak, buffers, buffers_in_place, bound = 24_000, 3, 2, 2

# %% wrong="counted_by_hand"
# Shows: The graph was taken for one chain, in which nobody can help.
# Hint: exp and * 3 both read a, and do not wait for each other.
peak, buffers, buffers_in_place, bound = 24_000, 3, 2, 1

# %% [markdown]
# ## 2. Count any peak
#
# **2 points, 8 minutes.** A program is a list of steps, in the order in which they run. Each step has the name of its
# result, the bytes of its result, and a list of the names that it reads:
#
# ```python
# steps = [("a", 8, []), ("b", 8, ["a"]), ("c", 1, ["b"])]
# ```
#
# Write `peak_of_steps(steps, results)`. It returns the most bytes that are alive at one step. These are the rules:
#
# - A result is alive from the step that makes it to the last step that reads it, and in both of these steps.
# - A result that no step reads is alive only at the step that makes it.
# - A result whose name is in the list `results` is alive to the last step of all.
#
# For the steps above, `peak_of_steps(steps, ["c"])` returns 16: at the second step a and b are alive.


# %% answer="peak_of_steps" points=2 minutes=8
def peak_of_steps(steps, results):
    ### BEGIN SOLUTION
    last = {}
    for i, (name, _, reads) in enumerate(steps):
        for each in (name, *reads):
            last[each] = i
    for name in results:
        last[name] = len(steps) - 1
    return max(sum(size for j, (name, size, _) in enumerate(steps) if j <= i <= last[name]) for i in range(len(steps)))
    ### END SOLUTION


# %%
check("peak_of_steps")

# %% probes="peak_of_steps"
CHAIN = [("a", 8, []), ("b", 8, ["a"]), ("c", 1, ["b"])]
WAITS = [("a", 8, []), ("b", 4, ["a"]), ("c", 2, ["b"]), ("d", 1, ["c"]), ("e", 8, ["a", "d"])]
KEPT = [("a", 5, []), ("b", 7, ["a"]), ("c", 3, ["b"]), ("d", 9, ["c"])]
UNREAD = [("a", 1, []), ("u", 50, ["a"]), ("b", 4, ["a"]), ("c", 4, ["b", "b"])]
SQUARED = [("a", 10, []), ("b", 4, ["a", "a"])]
SHARED = [("a", 10, []), ("b", 4, ["a"]), ("c", 3, ["a", "b", "a"]), ("d", 5, ["b"])]
BETWEEN = [("a", 8, []), ("b", 8, ["a"]), ("c", 8, ["b"]), ("d", 1, ["a", "c"])]
SUMMED = [("a", 100, []), ("s", 1, ["a"]), ("b", 90, []), ("t", 1, ["b"]), ("y", 1, ["s", "t"])]

# Hint: A chain: while a step runs, its operand is still alive.
peak_of_steps(CHAIN, ["c"])
# Hint: a is read by the second and by the last step: it is alive from the first of its readers to the last.
peak_of_steps(WAITS, ["e"])
# Hint: What `results` names is alive to the very end.
peak_of_steps(KEPT, ["a", "d"])
# Hint: Each result is alive up to its last reader.
peak_of_steps(KEPT, ["d"])
# Hint: A result that nobody reads is alive at the step that makes it.
peak_of_steps(UNREAD, ["c"])
# Hint: Two large arrays, one after the other: the first is gone when the second is made.
peak_of_steps(SUMMED, ["y"])
# Hint: An operand that is read twice by one step lies in one place.
peak_of_steps(SQUARED, ["b"])
# Hint: A single step.
peak_of_steps(SQUARED[:1], ["a"])
# Hint: Nothing is asked for: each result still lives to its last reader.
peak_of_steps(KEPT, [])
# Hint: Three results are asked for: each of them is alive to the end.
peak_of_steps(KEPT, ["d", "b", "a"])
# Hint: Two results are asked for, and one operand is named twice among three.
peak_of_steps(SHARED, ["c", "d"])
# Hint: a is read by the first step after it and by the last: while c is made, a still waits for d.
peak_of_steps(BETWEEN, ["d"])

# %% [markdown] hints="peak_of_steps"
# 1. Go through the steps once, and note for each name the last step that makes or reads it. Later ones overwrite.
# 2. Set the last step of all `results` to the last step there is. Then a name is alive at step i if it is made at i or
# before, and its last step is i or after.
# 3. `max(sum(bytes of those alive at i) for i in range(len(steps)))`.

# %% [markdown] shows="peak_of_steps"
# How much memory a program needs can be counted before it runs: what each step makes, and who reads it last, is
# enough.


# %% wrong="peak_of_steps"
# Shows: Nothing is ever freed: this is the sum of all results.
# Hint: A result is alive up to its last reader. Find that step for each name first.
def peak_of_steps(steps, results):
    return sum(size for _, size, _ in steps)


# %% wrong="peak_of_steps"
# Shows: An operand is freed before the step that reads it for the last time.
# Hint: While a step runs it reads its operands: they are alive then, together with its result.
def peak_of_steps(steps, results):
    last = {}
    for i, (name, _, reads) in enumerate(steps):
        for each in (name, *reads):
            last[each] = i
    for name in results:
        last[name] = len(steps) - 1
    made = {name: i for i, (name, _, _) in enumerate(steps)}
    return max(
        sum(size for j, (name, size, _) in enumerate(steps) if j <= i and (i < last[name] or i == made[name]))
        for i in range(len(steps))
    )


# %% wrong="peak_of_steps"
# Shows: A result that is asked for was freed before the end.
# Hint: The names in `results` are handed out when all is done: their last step is the last of all.
def peak_of_steps(steps, results):
    last = {}
    for i, (name, _, reads) in enumerate(steps):
        for each in (name, *reads):
            last[each] = i
    return max(sum(size for j, (name, size, _) in enumerate(steps) if j <= i <= last[name]) for i in range(len(steps)))


# %% wrong="peak_of_steps"
# Shows: A result is freed after its first reader.
# Hint: Later readers need it, too: let the last one overwrite what you noted.
def peak_of_steps(steps, results):
    last = {}
    for i, (_, _, reads) in enumerate(steps):
        for each in reads:
            last.setdefault(each, i)
    for i, (name, _, _) in enumerate(steps):
        last.setdefault(name, i)
    for name in results:
        last[name] = len(steps) - 1
    return max(sum(size for j, (name, size, _) in enumerate(steps) if j <= i <= last[name]) for i in range(len(steps)))


# %% wrong="peak_of_steps"
# Shows: A result that nobody reads was not counted at all, but it needs a place while it is made.
# Hint: Note the step that makes a name as its last one, until a reader comes.
def peak_of_steps(steps, results):
    last = {}
    for i, (_, _, reads) in enumerate(steps):
        for each in reads:
            last[each] = i
    for name in results:
        last[name] = len(steps) - 1
    return max(
        sum(size for j, (name, size, _) in enumerate(steps) if j <= i <= last.get(name, -1)) for i in range(len(steps))
    )


# %% wrong="peak_of_steps"
# Shows: An operand that a step reads twice was counted twice, but it lies in one place.
# Hint: What is alive is a set of names: `("b", 4, ["a", "a"])` reads one a.
def peak_of_steps(steps, results):
    size = {name: bytes for name, bytes, _ in steps}
    peak = 0
    for i, (_, bytes, reads) in enumerate(steps):
        later = {each for _, _, others in steps[i + 1 :] for each in others} | set(results)
        waiting = [each for each, _, _ in steps[:i] if each in later and each not in reads]
        peak = max(peak, bytes + sum(size[each] for each in [*reads, *waiting]))
    return peak


# %% wrong="peak_of_steps"
# Shows: What waits for a later step was not counted.
# Hint: A result that this step does not read may still have a reader to come. While c is made, where is a?
def peak_of_steps(steps, results):
    size = {name: bytes for name, bytes, _ in steps}
    kept, peak = set(), 0
    for name, _, reads in steps:
        peak = max(peak, sum(size[each] for each in {name, *reads} | kept))
        if name in results:
            kept.add(name)
    return peak


# %% wrong="peak_of_steps"
# Shows: Only the operands and the result of each step were counted.
# Hint: Two kinds of results are missing: those that wait for a later step, and those that are named in `results`.
def peak_of_steps(steps, results):
    size = {name: bytes for name, bytes, _ in steps}
    return max(sum(size[each] for each in {name, *reads}) for name, _, reads in steps)


# %% wrong="peak_of_steps"
# Shows: Names were counted, but the answer is in bytes.
# Hint: Add up the second entry of each step that is alive.
def peak_of_steps(steps, results):
    last = {}
    for i, (name, _, reads) in enumerate(steps):
        for each in (name, *reads):
            last[each] = i
    for name in results:
        last[name] = len(steps) - 1
    return max(sum(j <= i <= last[name] for j, (name, _, _) in enumerate(steps)) for i in range(len(steps)))


# %% [markdown]
# ## 3. A plan to repair
#
# **2 points, 8 minutes.** Somebody wrote a planner for results that all have the same size:
#
# ```python
# def plan(lives, kinds):
#     until, row = {}, {}
#     for name, (made, last) in lives.items():
#         free = [b for b, end in until.items() if end <= made]
#         row[name] = free[0] if free else len(until)
#         until[row[name]] = last
#     return row
# ```
#
# `lives` has a lifetime for each name, (step that makes it, last step that reads it), in the order of the steps.
# `kinds` has the operation that makes it: `"elementwise"`, or `"product"` for a matrix product. The planner returns the
# number of a buffer for each name.
#
# Without a matrix product it works. With one, some numbers are wrong, and there is no error. Find the mistake, and
# write `plan(lives, kinds)` without it. It must use as few buffers as possible.
#
# For lives `{"a": (0, 1), "b": (1, 2)}` it returns `{"a": 0, "b": 0}` if b is elementwise, and `{"a": 0, "b": 1}` if b
# is a product.


# %% answer="plan_repaired" points=2 minutes=8
def plan(lives, kinds):
    ### BEGIN SOLUTION
    until, row = {}, {}
    for name, (made, last) in lives.items():
        in_place = kinds[name] == "elementwise"
        free = [b for b, end in until.items() if end < made or (in_place and end == made)]
        row[name] = free[0] if free else len(until)
        until[row[name]] = last
    return row
    ### END SOLUTION


# %%
check("plan_repaired")

# %% probes="plan_repaired"
import random

LAYER = {"xW": (0, 1), "tanh": (1, 2), "hV": (2, 3), "out": (3, 4)}
LAYER_KINDS = {"xW": "product", "tanh": "elementwise", "hV": "product", "out": "elementwise"}
CURVES = {f"c{i}": (i, i + 1) for i in range(20)}
POWERS = {"p": (0, 1), "q": (1, 2), "r": (2, 3), "s": (3, 4)}


def random_lives(seed, n=30):
    lot = random.Random(seed)
    lives = {f"t{i}": (i, min(n, i + lot.choice([1, 1, 2, 5, 9]))) for i in range(n)}
    return lives, {name: lot.choice(["elementwise", "product"]) for name in lives}


def check_plan(lives, kinds):
    """For each result the number of its buffer."""
    row, buffers = plan(dict(lives), dict(kinds)), []
    for name in lives:
        if row[name] not in buffers:
            buffers.append(row[name])
    return {name: buffers.index(row[name]) for name in lives}


@referee
def check_plan(row, lives, kinds):
    """Whether no result is written over what is still read; and how many buffers there are."""
    clashes = sorted(
        (a, b)
        for i, a in enumerate(lives)
        for b in list(lives)[i + 1 :]
        if row[a] == row[b] and (lives[a][1] > lives[b][0] or (lives[a][1] == lives[b][0] and kinds[b] == "product"))
    )
    return {"written over while still read": clashes[:2], "buffers": len({row[name] for name in lives})}


RANDOM = [random_lives(seed) for seed in range(4)]


def check_random_plans():
    return [check_plan(*random) for random in RANDOM]


@referee
def check_random_plans(rows):
    plans = [check_plan(row, *random) for row, random in zip(rows, RANDOM)]
    return {f"random lifetimes {i}": plan for i, plan in enumerate(plans, 1)}


# Hint: A matrix product reads its operand many times, so it may not write over it. An elementwise operation may.
check_plan(LAYER, LAYER_KINDS)
# Hint: Four products in a row: two buffers are enough, in turns.
check_plan(POWERS, dict.fromkeys(POWERS, "product"))
# Hint: Four elementwise operations in a row: one buffer is enough.
check_plan(POWERS, dict.fromkeys(POWERS, "elementwise"))
# Hint: Twenty elementwise operations in a row: one buffer is enough.
check_plan(CURVES, dict.fromkeys(CURVES, "elementwise"))
# Hint: Four sets of random lifetimes: a buffer is free if it was last read before the new result is made; at the same
# step only if the new result is elementwise.
check_random_plans()

# %% [markdown] hints="plan_repaired"
# 1. `end <= made`: the old result is read for the last time by the very operation that makes the new one. When is that
# harmless, and when not?
# 2. An elementwise operation may write over its operand; a matrix product reads each element many times. It is the
# *new* result that counts.
# 3. Free is a buffer with `end < made`; and if `kinds[name] == "elementwise"`, one with `end == made` as well.

# %% [markdown] shows="plan_repaired"
# Writing over an operand is safe if each element is read before its place is written, and a matrix product comes back
# to each element.


# %% wrong="plan_repaired"
# Shows: Nothing has changed: a matrix product is still written over what it reads.
# Hint: The buffer of a product must be a different one from that of its operand. Ask kinds[name].
def plan(lives, kinds):
    until, row = {}, {}
    for name, (made, last) in lives.items():
        free = [b for b, end in until.items() if end <= made]
        row[name] = free[0] if free else len(until)
        until[row[name]] = last
    return row


# %% wrong="plan_repaired"
# Shows: It is safe, but wastes buffers: now nothing is done in place, not even elementwise operations.
# Hint: Only matrix products must not be written over their operands. Keep `<=` for the others.
def plan(lives, kinds):
    until, row = {}, {}
    for name, (made, last) in lives.items():
        free = [b for b, end in until.items() if end < made]
        row[name] = free[0] if free else len(until)
        until[row[name]] = last
    return row


# %% wrong="plan_repaired"
# Shows: The kind of the old result was looked at, the one that is written over; what matters is the new one, which
# reads it.
# Hint: tanh over a product is harmless, a product over a tanh is not. Which of the two is `name`?
def plan(lives, kinds):
    until, row, holds = {}, {}, {}
    for name, (made, last) in lives.items():
        free = [b for b, end in until.items() if end < made or (end == made and kinds[holds[b]] == "elementwise")]
        row[name] = free[0] if free else len(until)
        until[row[name]], holds[row[name]] = last, name
    return row


# %% wrong="plan_repaired"
# Shows: The kinds are the wrong way round: products are done in place, and elementwise operations are not.
# Hint: Which of the two reads each element once only?
def plan(lives, kinds):
    until, row = {}, {}
    for name, (made, last) in lives.items():
        in_place = kinds[name] == "product"
        free = [b for b, end in until.items() if end < made or (in_place and end == made)]
        row[name] = free[0] if free else len(until)
        until[row[name]] = last
    return row


# %% wrong="plan_repaired"
# Shows: Each result has a buffer of its own: that is right, but no plan.
# Hint: Where a lifetime is over, the next result can move in.
def plan(lives, kinds):
    return {name: i for i, name in enumerate(lives)}


# %% wrong="plan_repaired"
# Shows: A product never moves into an old buffer, not even into one that has been free for a long time.
# Hint: Only the buffer that it reads is forbidden: one with end < made is free for everybody.
def plan(lives, kinds):
    until, row = {}, {}
    for name, (made, last) in lives.items():
        free = [b for b, end in until.items() if kinds[name] == "elementwise" and end <= made]
        row[name] = free[0] if free else len(until)
        until[row[name]] = last
    return row


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. An order for 63 bytes
#
# **2 points, 7 minutes.** Here are eight steps, written as in part 2. The result of the program is h:
#
# ```python
# steps = [
#     ("a", 1, []), ("d", 60, ["a"]), ("b", 50, ["a"]), ("e", 2, ["d"]),
#     ("c", 3, ["b"]), ("f", 40, ["a", "e"]), ("g", 1, ["f"]), ("h", 1, ["c", "g"]),
# ]
# ```
#
# In this order 113 bytes are alive at the peak. Set `order` to a list of the eight names in a better order:
#
# - each name comes after all the names that it reads;
# - the peak is at most **63 bytes**.
#
# The order above would be written `["a", "d", "b", "e", "c", "f", "g", "h"]`.

# %% answer="order_on_a_budget" points=2 minutes=7
### BEGIN SOLUTION
order = ["a", "d", "e", "b", "c", "f", "g", "h"]
### END SOLUTION

# %%
check("order_on_a_budget")

# %% probes="order_on_a_budget"
NEEDED = {
    "a": (1, []),
    "d": (60, ["a"]),
    "b": (50, ["a"]),
    "e": (2, ["d"]),
    "c": (3, ["b"]),
    "f": (40, ["a", "e"]),
    "g": (1, ["f"]),
    "h": (1, ["c", "g"]),
}


def names():
    if iter(order) is order:
        return "an iterator, which can be read only once: write list(…) around it"
    return list(order)


is_an_order = bytes_at_most = names


@referee
def is_an_order(order):
    if isinstance(order, str):
        return order
    if sorted(order) != sorted(NEEDED):
        return "not the eight names, each once"
    late = [f"{x} after {n}" for i, n in enumerate(order) for x in NEEDED[n][1] if x in order[i:]]
    return f"an operand comes too late: {late[0]}" if late else "each after what it reads"


@referee
def bytes_at_most(order):
    if isinstance(order, str):
        return order
    last = {x: i for i, n in enumerate(order) for x in (n, *NEEDED[n][1])}
    most = max(sum(NEEDED[n][0] for n in order[: i + 1] if last[n] >= i) for i in range(len(order)))
    return "within the budget" if most <= 63 else f"{most} bytes"


# Hint: `order` should have the eight names, each after all that it reads.
is_an_order()
# Hint: This order is right, but too much is alive at its peak. Two of b, d and f must never be alive together, and
# little should wait while d is there.
bytes_at_most()

# %% [markdown] hints="order_on_a_budget"
# 1. Three of the eight are large, b, d and f, and each is read once. What must come right after each?
# 2. Two large ones must never be alive together. And while the largest is alive, as little else as possible should
# wait.
# 3. Begin with a, d, e: 63 bytes at e. Then b, c and f, g, and h at the end.

# %% [markdown] shows="order_on_a_budget"
# The same eight steps need 113 bytes in one order and 63 in another, because a large result keeps its place until its
# last reader has run.

# %% wrong="order_on_a_budget"
# Shows: The order is the one that was given: d and b are alive together, 113 bytes.
# Hint: Only e reads d. Do e right after d.
order = ["a", "d", "b", "e", "c", "f", "g", "h"]

# %% wrong="order_on_a_budget"
# Shows: There is only one large result at a time, and still 66 bytes: while d and e are there, c is waiting already.
# Hint: Something small waits for each branch that is done. Do the largest branch when the least waits.
order = ["a", "b", "c", "d", "e", "f", "g", "h"]

# %% wrong="order_on_a_budget"
# Shows: d and f are well placed, but b is made early, and waits for its reader.
# Hint: Do c right after b.
order = ["a", "d", "e", "b", "f", "g", "c", "h"]

# %% wrong="order_on_a_budget"
# Shows: f reads e, and comes before it.
# Hint: Each name comes after all that stand in its list.
order = ["a", "d", "f", "e", "g", "b", "c", "h"]

# %% wrong="order_on_a_budget"
# Shows: Some of the eight are missing.
# Hint: All eight have to be computed: h needs c and g, and these need the others.
order = ["a", "d", "e", "f", "g", "h"]

# %% [markdown]
# ### 5. A graph for two
#
# **2 points, 11 minutes.** Write `for_two(x)`, a graph that keeps two workers busy and needs little memory. x is a
# tensor of 1000 floats between 0.5 and 1.5. The function returns a tensor of the same shape. It must meet four demands:
#
# - It has 10 operations or more.
# - Work / span is 1.7 or more, with one unit of time for each operation.
# - One worker can run it with a peak of 24,000 bytes (three arrays), in the order that `ordered` finds.
# - Every element of the result depends on its element of x, and is a finite number.
#
# Before the count, `simplify` and `share` go over the graph. So two operations that compute the same count once.
#
# `account(for_two)` returns the work, work / span, and the peak of your function. For `return x.sin() * x.cos()` it
# returns `(3, 1.5, 24000)`.

# %% name="account"
import numpy as np

import minigrad as mg
from minigrad.compiler import ordered, peak_bytes, share, simplify, ways_left


def account(f):
    """Work, work / span, and the peak of one worker."""
    x = mg.tensor(np.linspace(0.5, 1.5, 1000))
    graph = share(simplify(mg.function(f, autograph=False).graph_for(x)))
    ones = {node: 1 if node.inputs else 0 for node in graph.nodes}
    work, span = sum(ones.values()), max(ways_left(graph, ones.__getitem__).values())
    return work, round(work / span, 2), peak_bytes(ordered(graph))


# %% answer="for_two" points=2 minutes=11
def for_two(x):
    ### BEGIN SOLUTION
    left = x.sin().exp().tanh().cos().sqrt()
    right = x.cos().tanh().exp().sin().sqrt()
    return left * right
    ### END SOLUTION


# %%
check("for_two")

# %% probes="for_two"
import numpy as numeric

import minigrad as engine
from minigrad.compiler import ordered as in_order
from minigrad.compiler import peak_bytes as most_bytes
from minigrad.compiler import share as sharing
from minigrad.compiler import simplify as simplifying
from minigrad.compiler import ways_left as ways
from minigrad.saving import evidence

XS = numeric.linspace(0.5, 1.5, 1000)


def made():
    return engine.function(for_two, autograph=False).graph_for(engine.tensor(XS))


def own_graph():
    if made().outputs == (None,):
        return None
    return sharing(simplifying(made())), "", "It is counted after `simplify` and `share`."


def graph_for_two():
    return evidence.sent_graph(made())


work_and_bound = within_three_arrays = graph_for_two


@referee
def work_and_bound(sent):
    graph = sharing(simplifying(evidence.graph_of(sent)))
    time = {node: 1 if node.inputs else 0 for node in graph.nodes}
    work = sum(time.values())
    span = max(ways(graph, time.__getitem__).values())
    return {
        "10 operations or more": work >= 10,
        "workers": "one chain" if span == work else "two can work",
        "work / span is 1.7 or more": work >= 1.7 * span,
    }


@referee
def within_three_arrays(sent):
    return most_bytes(in_order(sharing(simplifying(evidence.graph_of(sent))))) <= 24_000


def depends_on_x():
    x = engine.tensor(XS, requires_grad=True)
    with numeric.errstate(all="ignore"):
        y = for_two(x)
        y.sum().backward()
    return y.shape, y.numpy(), None if x.grad is None else x.grad.numpy()


@referee
def depends_on_x(sent):
    shape, y, slope = sent
    moves = slope is not None and (abs(numeric.array(slope)) > 0).sum() > 990
    return {"the shape of x": shape == [1000], "finite": numeric.isfinite(y).all(), "depends on x": moves}


# Hint: Count after `simplify` and `share`: 10 operations or more, in two branches of about the same length. Equal
# branches become one.
# Own graph: own_graph()
work_and_bound()
# Hint: One worker needs more than three arrays: each finished branch waits as one array.
# Own graph: own_graph()
within_three_arrays()
# Hint: The result should have the shape of x, be finite everywhere, and depend on every x.
depends_on_x()

# %% [markdown] hints="for_two"
# 1. Two branches that do not wait for each other, about equally long, and one operation that brings them together.
# 2. With five operations in each, work is 11 and span 6. Every branch that is done waits as one array: with two
# branches that is one, and the other needs two more.
# 3. `left = x.sin().exp()…`, `right = x.cos().tanh()…`, five each and all different, `return left * right`.

# %% [markdown] shows="for_two"
# Branches that do not wait for each other can run side by side, and what is finished first has to be kept until the
# other is.


# %% wrong="for_two"
# Shows: It is one chain: each operation waits for the one before, and the second worker has nothing to do.
# Hint: Begin twice from x, and bring the two together at the end.
def for_two(x):
    return x.sin().exp().tanh().cos().sqrt().exp().tanh().cos().sin().exp()


# %% wrong="for_two"
# Shows: The function ends without giving back anything.
# Hint: Is a `return` missing?
def for_two(x):
    left = x.sin().exp().tanh().cos().sqrt()
    right = x.cos().tanh().exp().sin().sqrt()
    left * right


# %% wrong="for_two"
# Shows: A function of NumPy was called inside a graph.
# Hint: Inside a graph use `x.sin()`, not `np.sin(x)`: the engine records only its own operations.
def for_two(x):
    left = np.tanh(np.exp(np.sin(x)))
    right = np.exp(np.tanh(np.cos(x)))
    return left * right


# %% wrong="for_two"
# Shows: Both branches do the same, so share makes one of them, and what is left is a chain.
# Hint: Let the branches differ from their first operation on.
def for_two(x):
    left = x.sin().exp().tanh().cos().sqrt()
    right = x.sin().exp().tanh().cos().sqrt()
    return left * right


# %% wrong="for_two"
# Shows: There are two branches, but too few operations in all.
# Hint: Ten or more: make both branches longer.
def for_two(x):
    return x.sin().exp().tanh() * x.cos().tanh().exp()


# %% wrong="for_two"
# Shows: There is work for two, but too much waits: with more branches, each one that is done is one more array.
# Hint: Two branches are enough for two workers. What is brought together early does not wait.
def for_two(x):
    a, b, c, d = x.sin().exp(), x.cos().exp(), x.tanh().exp(), x.sqrt().exp()
    return (a * b) * (c * d)


# %% wrong="for_two"
# Shows: Two can work, but not for long: too many of the operations stand in one chain.
# Hint: Work / span is 1.7 or more only if two branches are about equally long, with little before and after them.
def for_two(x):
    left = x.sin().exp().tanh().cos().sqrt().exp().tanh().cos()
    right = x.cos().tanh()
    return left * right


# %% wrong="for_two"
# Shows: The result does not depend on x everywhere: something was rounded, cut off, or multiplied by 0.
# Hint: Take functions that have a slope at every x between 0.5 and 1.5.
def for_two(x):
    left = mg.floor(x).exp().tanh().cos().exp()
    right = mg.ceil(x).tanh().exp().sin().sqrt()
    return left * right


# %% wrong="for_two"
# Shows: Some results are infinity or NaN: exp was too large, or a root or a logarithm got a number below 0.
# Hint: Print for_two(mg.tensor([0.5, 1.0, 1.5])), and shorten a branch until all three are finite numbers.
def for_two(x):
    left = x.sin().exp().tanh().cos().sqrt()
    right = (-x).exp().log().sqrt().cos().exp()
    return left * right


# %% [markdown]
# ## What you have now
#
# A lifetime ends with the last reader, and only elementwise operations may work in place.
#
# **Next**: [15 Compiled code](../lessons/15_compiled_code.ipynb).
