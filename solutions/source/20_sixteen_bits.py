# ---
# jupyter:
#   minigrad:
#     title: Lost and found
#     minutes: 20
#     lesson: 20_sixteen_bits
#     concepts: [E9, E11]
# ---

# %% [markdown]
# # 20 Lost and found
#
# You say what float16 loses, get a weight that stands still to move, and write a scaler by hand. About 20 minutes, in
# three parts; two more are optional. 10 points in all.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad.course import check, solution

# %% [markdown]
# ## 1. What is lost
#
# **2 points, 6 minutes.** With a pencil. What becomes of each of these eight numbers in float16?
#
# ```text
# a  1e-9       b  0.5       c  1/3       d  70000.0
# e  2049.0     f  2.0**-24  g  1e-6      h  -1e6
# ```
#
# - `becomes`: a list of eight words, from a to h. The words are `"zero"`, `"infinite"`, `"exact"` (it is stored as it
#   is), and `"rounded"` (only digits are lost).
# - `bfloat16`: how many of the eight become 0 or infinite in bfloat16.

# %% answer="lost" points=2 minutes=6
### BEGIN SOLUTION
becomes = ["zero", "exact", "rounded", "infinite", "rounded", "exact", "rounded", "infinite"]
bfloat16 = 0
### END SOLUTION

# %%
check("lost")


# %% probes="lost"
def of(names):
    """What is said of these: in a list, in a dictionary by letter, or in text."""
    said = becomes
    if hasattr(said, "items"):
        by_letter = {str(name).strip().lower(): word for name, word in said.items()}
        said = [by_letter.get(name) for name in "abcdefgh"]
    said = [word for word in said.replace(",", " ").split() if len(word) > 1] if isinstance(said, str) else said
    if len(said) != 8:
        return f"{len(said)} words, and not 8"
    return [str(said["abcdefgh".index(name)]).strip().lower() for name in names]


# Hint: Lines a, f and g are small: above 6e-5 all digits stay, down to 6e-8 some get lost, and only what is nearer to 0
# than to 6e-8 becomes 0. 2^−24 is the smallest above 0.
of("afg")
# Hint: Lines d and h are large: 65,504 is the largest, on both sides of 0.
of("dh")
# Hint: Lines b, c and e are in range: which of them has no more than 11 binary digits?
of("bce")
# Hint: `bfloat16` reaches as far as float32.
int(bfloat16)

# %% [markdown] hints="lost"
# 1. The ends are $2^{-24}$, about 6e-8, and 65,504; the sign does not matter.
# 2. Between 2048 and 4096 float16 has the even numbers alone. Powers of two are exact, as far as they are in range.
# 3. One becomes 0, two infinite, two are exact. bfloat16 reaches from 9e-41 to 3e38.

# %% [markdown] shows="lost"
# The digits that float16 loses of nearly every number do little harm; what stops a training is the numbers that it
# loses altogether.

# %% wrong="lost" misconception="M17"
# Shows: float16 was said to lose digits and nothing else. It loses range: small ones become 0, large ones infinite.
# Hint: Between which two numbers does float16 lie?
becomes = dict.fromkeys("acdegh", "rounded") | dict.fromkeys("bf", "exact")
bfloat16 = 0

# %% wrong="lost" misconception="M17"
# Shows: The small ones were lost and the large ones kept; but the range ends on both sides.
# Hint: What is the largest number of float16?
becomes = dict.fromkeys("cdegh", "rounded") | dict.fromkeys("bf", "exact") | {"a": "zero"}
bfloat16 = 0

# %% wrong="lost"
# Shows: Subnormals were taken for 0: from 6e-5 down digits get lost, and only below 6e-8 all of them.
# Hint: How large is 2^−24? And which of the two is below it?
becomes = (
    dict.fromkeys("afg", "zero") | dict.fromkeys("ce", "rounded") | dict.fromkeys("dh", "infinite") | {"b": "exact"}
)
bfloat16 = 0

# %% wrong="lost"
# Shows: 1e-6 was taken for 0. It is below 6e-5, where digits get lost, and above 6e-8, where all of them are lost.
# Hint: How far down does float16 reach with its subnormals?
becomes = ["zero", "exact", "rounded", "infinite", "rounded", "exact", "zero", "infinite"]
bfloat16 = 0

# %% wrong="lost"
# Shows: 2^−24 was taken for 0, and it is the smallest number that float16 has above 0.
# Hint: 0.0000000001 · 2^−14 in binary: what is that?
becomes = ["zero", "exact", "rounded", "infinite", "rounded", "zero", "rounded", "infinite"]
bfloat16 = 0

# %% wrong="lost"
# Shows: A number below 0 was taken for a small one. −1e6 is far from 0: it becomes minus infinity.
# Hint: The sign is a bit of its own; look at the size.
becomes = ["zero", "exact", "rounded", "infinite", "rounded", "exact", "rounded", "zero"]
bfloat16 = 0

# %% wrong="lost"
# Shows: A third was taken for a number that float16 has. In binary it has digits without end.
# Hint: Which numbers are a whole number over a power of two?
becomes = ["zero", "exact", "exact", "infinite", "rounded", "exact", "rounded", "infinite"]
bfloat16 = 0

# %% wrong="lost"
# Shows: 2049 was taken for a number that float16 has; at that size it has the even ones alone.
# Hint: 2049 has twelve binary digits, and float16 has eleven.
becomes = (
    dict.fromkeys("bef", "exact") | dict.fromkeys("cg", "rounded") | dict.fromkeys("dh", "infinite") | {"a": "zero"}
)
bfloat16 = 0

# %% wrong="lost"
# Shows: bfloat16 was given float16's range. It has the exponent of float32.
# Hint: How many bits of exponent has bfloat16?
becomes = (
    dict.fromkeys("bf", "exact") | dict.fromkeys("ceg", "rounded") | dict.fromkeys("dh", "infinite") | {"a": "zero"}
)
bfloat16 = 3

# %% [markdown]
# ## 2. A weight that stands still
#
# **2 points, 6 minutes.** This function moves weights in float16, and many of its steps are rounded away:
#
# ```python
# def follow(w, gradients, lr):
#     for g in gradients:
#         w = w - np.float16(lr) * g
#     return w
# ```
#
# `w` and each of the `gradients` are arrays of float16, all of one shape. Write `follow(w, gradients, lr)` with master
# weights. It returns an array of **float16**, which is as near to the result of exact steps as float16 can be. Do not
# change `w` itself.


# %% answer="follow" points=2 minutes=6
def follow(w, gradients, lr):
    ### BEGIN SOLUTION
    master = w.astype(np.float32)
    for g in gradients:
        master -= lr * g.astype(np.float32)
    return master.astype(np.float16)
    ### END SOLUTION


# %%
check("follow")

# %% probes="follow"
import numpy as numeric


def half(numbers):
    return numeric.array(numbers, numeric.float16)


def went(start, slopes, lr):
    """Where it ends, its dtype, and the start as it is then."""
    w = half(start)
    given = follow(w, list(map(half, slopes)), lr)
    return None if given is None else (numeric.asarray(given), str(numeric.asarray(given).dtype), w)


@referee
def went(sent, start, slopes, lr):
    """Whether it ends where exact steps end, rounded; its dtype; and whether the start was left as it was."""
    if sent is None:
        return None
    found, dtype, w = sent
    exact = half(start).astype(float) - lr * sum(half(g).astype(float) for g in slopes)
    return {
        "as exact steps, rounded once": numeric.array_equal(half(found), half(exact)),
        "dtype": dtype,
        "`w` is as it was": w == half(start).tolist(),
    }


# Hint: A thousand steps of 0.0001: each of them is too small for float16 near 1. Keep the sum in float32, round once at
# the end, and leave `w` as it was.
went([1.0, 2.0], [[1.0, 1.0]] * 1000, 0.0001)
# Hint: Five hundred steps of 0.009 from 100.
went([100.0], [[3.0]] * 500, 0.003)
# Hint: A single step.
went([0.5], [[0.25]], 1.0)
# Hint: The rate is too small for float16: multiply in float32.
went([0.0001], [[100.0]], 1e-9)
# Hint: 1500 gradients of 3: their sum is too coarse in float16.
went([1.0], [[3.0]] * 1500, 0.0001)
# Hint: Small gradients and a large rate: multiply in float32.
went([1.0, -1.0], [[2e-7, 3e-7]] * 300, 1000.0)

# %% [markdown] hints="follow"
# 1. Below 1 the numbers of float16 are 0.0005 apart: a step of 0.0001 is rounded away each time. Where must the
# sum be kept?
# 2. `master = w.astype(np.float32)`, once and before the loop; each gradient to float32 as well, then the product.
# 3. Round once, at the end: `return master.astype(np.float16)`.

# %% [markdown] shows="follow"
# Steps that are too small for float16 add up in float32; the rounded copy moves when enough of them have come together.


# %% wrong="follow"
# Shows: This is the function that was given: its steps are rounded away.
# Hint: Keep the sum in float32, and round at the end.
def follow(w, gradients, lr):
    for g in gradients:
        w = w - np.float16(lr) * g
    return w


# %% wrong="follow"
# Shows: The weights were rounded to float16 after each step, so that nothing adds up.
# Hint: float32 has to last from step to step, not only within one.
def follow(w, gradients, lr):
    for g in gradients:
        w = (w.astype(np.float32) - lr * g.astype(np.float32)).astype(np.float16)
    return w


# %% wrong="follow"
# Shows: The master weights themselves were given, in float32.
# Hint: What is given back is the rounded copy.
def follow(w, gradients, lr):
    master = w.astype(np.float32)
    for g in gradients:
        master -= lr * g.astype(np.float32)
    return master


# %% wrong="follow"
# Shows: The product of rate and gradient was computed in float16, where it loses digits or becomes 0.
# Hint: Take the gradient to float32 before it is multiplied.
def follow(w, gradients, lr):
    master = w.astype(np.float32)
    for g in gradients:
        master -= (np.float16(lr) * g).astype(np.float32)
    return master.astype(np.float16)


# %% wrong="follow"
# Shows: The gradients were added up in float16 first, where a large sum is rounded with each step.
# Hint: It is the sum that needs the digits.
def follow(w, gradients, lr):
    total = np.zeros_like(w)
    for g in gradients:
        total = total + g
    return (w.astype(np.float32) - lr * total.astype(np.float32)).astype(np.float16)


# %% wrong="follow"
# Shows: The steps went up the slope.
# Hint: A step goes against the gradient: minus.
def follow(w, gradients, lr):
    master = w.astype(np.float32)
    for g in gradients:
        master += lr * g.astype(np.float32)
    return master.astype(np.float16)


# %% wrong="follow"
# Shows: The numbers are right, and `w` itself was changed.
# Hint: `w.astype(np.float32)` is a new array; give back another one, and write nothing into w.
def follow(w, gradients, lr):
    master = w.astype(np.float32)
    for g in gradients:
        master -= lr * g.astype(np.float32)
    w[...] = master
    return w


# %% [markdown]
# ## 3. A scaler by hand
#
# **2 points, 8 minutes.** Write `scaler(largest, scale, interval)`. The list `largest` has a number for each step: how
# large the largest gradient of that step is without a scale.
#
# - If this number times the scale is more than 65,504, the step overflows. Then it is skipped, and the scale is
#   halved.
# - Otherwise the step is taken. After `interval` taken steps in a row the scale is doubled, and the count begins
#   again.
# - After a skipped step the count begins again, too.
#
# Return a list with a pair for each step: the scale that the step was computed with, and whether it was taken.
#
# For example, `scaler([1.0, 1.0], 131072.0, 2)` is `[(131072.0, False), (65536.0, False)]`.


# %% answer="scaler" points=2 minutes=8
def scaler(largest, scale, interval):
    ### BEGIN SOLUTION
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        calm = calm + 1 if taken else 0
        if not taken:
            scale /= 2
        elif calm == interval:
            scale, calm = scale * 2, 0
    return told
    ### END SOLUTION


# %%
check("scaler")


# %% probes="scaler"
def lived(largest, scale, interval):
    return [(float(used), int(taken)) for used, taken in scaler(largest, scale, interval)]


@referee
def lived(steps):
    return [(used, bool(taken)) for used, taken in steps]


# Hint: Nothing overflows: the scale stays, and each step is taken.
lived([1.0, 1.0, 1.0], 1024.0, 100)
# Hint: An overflow skips the step and halves the scale for the next one. The pair has the scale that the step was
# computed with.
lived([1.0, 1.0, 1.0, 1.0], 262144.0, 100)
# Hint: Every two steps in a row double the scale, and the count begins again.
lived([0.001] * 7, 8.0, 2)
# Hint: A skipped step begins the count again.
lived([1.0, 1.0, 100.0, 1.0, 1.0, 1.0, 1.0], 1024.0, 3)
# Hint: Doubling leads to an overflow, and the scale comes down again.
lived([1.0] * 8, 32768.0, 2)
# Hint: 65,504 itself does not overflow.
lived([65504.0, 65505.0], 1.0, 9)
# Hint: No steps: an empty list.
lived([], 2.0, 1)

# %% [markdown] hints="scaler"
# 1. Two things go from step to step: the scale, and how many steps in a row were taken.
# 2. Write the pair down first, with the scale that was used; then change the scale for the next step.
# 3. Overflow: `scale /= 2` and the count to 0. Else one more; if that is `interval`: `scale *= 2` and the count to 0.

# %% [markdown] shows="scaler"
# The scale goes up until it is too large, and one step down: it finds the upper edge of the window, and follows it.


# %% wrong="scaler"
# Shows: The count went on after a skipped step, so the scale was doubled too early.
# Hint: Steps in a row: a skipped one ends the row.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        if not taken:
            scale /= 2
        else:
            calm += 1
            if calm == interval:
                scale, calm = scale * 2, 0
    return told


# %% wrong="scaler"
# Shows: The count did not start again after doubling: the scale was doubled once, and never again.
# Hint: After doubling, another `interval` steps have to be taken.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        calm = calm + 1 if taken else 0
        scale = scale / 2 if not taken else scale * 2 if calm == interval else scale
    return told


# %% wrong="scaler"
# Shows: A step that overflowed was tried again with half the scale, and written down as taken.
# Hint: It is skipped: its batch is gone, and the scale is that of the next step.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        while size * scale > 65_504:
            scale, calm = scale / 2, 0
        told.append((scale, True))
        calm += 1
        if calm == interval:
            scale, calm = scale * 2, 0
    return told


# %% wrong="scaler"
# Shows: The scale after the step was written down, and the one that it was computed with is asked for.
# Hint: Write the pair down before you change the scale.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        calm = calm + 1 if taken else 0
        if not taken:
            scale /= 2
        elif calm == interval:
            scale, calm = scale * 2, 0
        told.append((scale, taken))
    return told


# %% wrong="scaler"
# Shows: The scale was halved, and never doubled again.
# Hint: After `interval` steps taken in a row it may be larger.
def scaler(largest, scale, interval):
    told = []
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        scale = scale if taken else scale / 2
    return told


# %% wrong="scaler"
# Shows: 65,504 itself was taken for an overflow, and it is the largest number that there is.
# Hint: *More* than 65,504.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale < 65_504
        told.append((scale, taken))
        calm = calm + 1 if taken else 0
        if not taken:
            scale /= 2
        elif calm == interval:
            scale, calm = scale * 2, 0
    return told


# %% wrong="scaler"
# Shows: It says whether a step was skipped, and whether it was taken is asked for.
# Hint: The second of each pair, turned round.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, not taken))
        calm = calm + 1 if taken else 0
        if not taken:
            scale /= 2
        elif calm == interval:
            scale, calm = scale * 2, 0
    return told


# %% wrong="scaler"
# Shows: The scale was doubled again with each step, once a row was long enough.
# Hint: After doubling the count is 0 again.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        calm = calm + 1 if taken else 0
        scale = scale / 2 if not taken else scale * 2 if calm >= interval else scale
    return told


# %% wrong="scaler"
# Shows: The scale was doubled one step too late.
# Hint: After `interval` steps taken: count this one, and then compare.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        taken = size * scale <= 65_504
        told.append((scale, taken))
        calm = calm + 1 if taken else 0
        if not taken:
            scale /= 2
        elif calm > interval:
            scale, calm = scale * 2, 0
    return told


# %% wrong="scaler"
# Shows: A batch that overflowed was sent again, so that there are more pairs than steps.
# Hint: A pair for each of `largest`, and no loop within the loop.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for size in largest:
        while size * scale > 65_504:
            told.append((scale, False))
            scale, calm = scale / 2, 0
        told.append((scale, True))
        calm += 1
        if calm == interval:
            scale, calm = scale * 2, 0
    return told


# %% wrong="scaler" misconception="M17"
# Shows: No step ever overflowed, as if float16 had no end.
# Hint: A gradient times the scale that is more than 65,504 is infinite.
def scaler(largest, scale, interval):
    told, calm = [], 0
    for _ in largest:
        told.append((scale, True))
        calm += 1
        if calm == interval:
            scale, calm = scale * 2, 0
    return told


# %% [markdown] folded=true
# ## More
#
# The parts below are optional when you work alone: the exercise is done without them. They count when your course
# grades them.

# %% [markdown]
# ### 4. The ends of a format
#
# **2 points, 8 minutes.** A format has e bits of exponent and m bits of mantissa. Let $b = 2^{e-1} - 1$.
#
# - Its normal numbers, which have all their digits, are $1.f · 2^k$. Here $f$ has m binary digits, and $k$ goes from
#   $1 - b$ to $b$.
# - Below them come its subnormal numbers, $0.f · 2^{1-b}$.
#
# Write `ends(e, m)`. Return a tuple of four numbers: the largest number, the smallest normal number, the smallest
# subnormal number above 0, and the distance from 1 to the next number.


# %% answer="ends" points=2 minutes=8
def ends(e, m):
    ### BEGIN SOLUTION
    b = 2 ** (e - 1) - 1
    gap = 2.0**-m
    return (2 - gap) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b) * gap, gap
    ### END SOLUTION


# %%
check("ends")


# %% probes="ends"
NAMES = ("largest", "smallest with all digits", "smallest above 0", "distance from 1 to the next")


def each(e, m):
    numbers = [f"{float(number):.6g}" for number in ends(e, m)]
    return dict(zip(NAMES, numbers)) if len(numbers) == len(NAMES) else numbers


# Hint: The four numbers of float16, in this order: the largest, the smallest with all its digits, the smallest above 0,
# and the distance from 1 to the next. b is 15.
each(5, 10)
# Hint: bfloat16 has another e and m: use them, and no constants of float16.
each(8, 7)
# Hint: The ends of float32: 8 bits of exponent, and 23 of mantissa.
each(8, 23)
# Hint: A format of 8 bits: b is 7.
each(4, 3)

# %% [markdown] hints="ends"
# 1. For float16, e = 5 and m = 10: b is 15, so k goes from −14 to 15.
# 2. The largest f is all ones: $1.11…1 = 2 - 2^{-m}$. The smallest above 0 has a single one in f, at its end.
# 3. Largest $(2 - 2^{-m}) · 2^b$, smallest $2^{1-b}$, subnormal $2^{1-b} · 2^{-m}$, distance $2^{-m}$.

# %% [markdown] shows="ends"
# The exponent decides the range, and the mantissa the digits: with eight bits of exponent, 7 bits of mantissa reach as
# far as 23.


# %% wrong="ends"
# Shows: The largest was taken for a power of two, and its mantissa is all ones.
# Hint: 1.11…1 in binary is 2 − 2^−m.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b - m), 2.0**-m


# %% wrong="ends"
# Shows: The smallest above 0 was taken for the smallest with all its digits: subnormals are below it.
# Hint: 0.00…01 · 2^(1 − b): where is its only 1?
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0**-m) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b), 2.0**-m


# %% wrong="ends"
# Shows: The exponent begins at −b, one too low.
# Hint: That value of the exponent's bits means 0 and the subnormals: k begins at 1 − b.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0**-m) * 2.0**b, 2.0**-b, 2.0 ** (-b - m), 2.0**-m


# %% wrong="ends"
# Shows: The exponent goes to b + 1, one too high.
# Hint: That value of the exponent's bits means infinity: k ends at b.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0**-m) * 2.0 ** (b + 1), 2.0 ** (1 - b), 2.0 ** (1 - b - m), 2.0**-m


# %% wrong="ends"
# Shows: The leading digit was counted among the m that are stored.
# Hint: f alone has m digits, and the 1 before it is not stored.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0 ** (1 - m)) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (2 - b - m), 2.0 ** (1 - m)


# %% wrong="ends"
# Shows: The largest was taken for the next power of two, which is infinite already.
# Hint: 1.11…1 in binary is 2 − 2^−m, a little less than 2.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return 2.0 ** (b + 1), 2.0 ** (1 - b), 2.0 ** (1 - b - m), 2.0**-m


# %% wrong="ends"
# Shows: The next number after 1 was given, and the distance to it is asked for.
# Hint: What is to be added to 1?
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0**-m) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b - m), 1 + 2.0**-m


# %% wrong="ends"
# Shows: The two small ones are the other way round.
# Hint: First the smallest with all its digits, then the smallest of all.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0**-m) * 2.0**b, 2.0 ** (1 - b - m), 2.0 ** (1 - b), 2.0**-m


# %% wrong="ends"
# Shows: It is float16 whatever e and m are.
# Hint: bfloat16 is ends(8, 7).
def ends(e, m):
    f = np.finfo(np.float16)
    return f.max, f.smallest_normal, f.smallest_subnormal, f.eps


# %% wrong="ends"
# Shows: f was given one digit more than it has, or the distance is half of what it is.
# Hint: The last of the m digits stands for 2^−m.
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return (2 - 2.0 ** -(m + 1)) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b - m - 1), 2.0 ** -(m + 1)


# %% [markdown]
# ### 5. A recipe of your own
#
# **2 points, 10 minutes.** Write `train(net, optimizer, batches)`. It trains in mixed precision, with one step for
# each pair `(x, label)` of the `batches`. The loss is `mg.cross_entropy(net(x), label)`. The network is the lesson's,
# in float32, with eight layers. Choose a scale yourself. These things are checked:
#
# - The last layer's result is float16. At the end the weights are still float32.
# - In each step of the optimiser at most a quarter of the first layer's gradients are 0.
# - The gradients with which it steps are clipped: all of them together are at most 0.1 long.
# - Each step uses the gradient of its own batch. It is near the gradient that float32 would give, clipped to 0.1.
# - Of 12 batches **at most 1** is skipped.
#
# `account(train)` prints what your steps were like.


# %% name="account"
def account(train):
    """Of the steps that train has taken, in 12 batches: zeros in the first layer, and the gradient's length."""
    digits, kept = mg.data.digits(), []
    mg.manual_seed(0)
    sizes = [64, *[32] * 7, 10]
    layers = [part for n, m in zip(sizes, sizes[1:]) for part in (mg.nn.Linear(n, m), mg.nn.Sigmoid())]
    net = mg.nn.Sequential(*layers[:-1]).float()

    class Watched(mg.optim.SGD):
        def step(self, *args, **options):
            gradients = [p.grad.numpy().astype(float) for p in net.parameters()]
            kept.append(((gradients[0] == 0).mean(), np.sqrt(sum((g**2).sum() for g in gradients))))
            return super().step(*args, **options)

    batches = [(digits.train_x[i * 64 :][:64], digits.train_y[i * 64 :][:64]) for i in range(12)]
    train(net, Watched(net.parameters(), lr=0.1), [(mg.tensor(x).float(), mg.tensor(y)) for x, y in batches])
    print(f"{len(kept)} steps, parameters {net[0].weight.dtype}")
    return [(round(float(zeros), 2), float(f"{length:.3g}")) for zeros, length in kept]


# %% answer="recipe" points=2 minutes=10
def train(net, optimizer, batches):
    ### BEGIN SOLUTION
    scaler = mg.amp.GradScaler(init_scale=2.0**16)
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
    ### END SOLUTION


# %%
check("recipe")

# %% probes="recipe"
import warnings
from functools import cache

import numpy as numeric

import minigrad as engine


def short(net, x):
    """Labels as often as the network expects each: the gradient of their loss is shorter than 0.1."""
    with engine.no_grad():
        often = net(x).softmax(1).numpy().mean(0).cumsum()
    return engine.tensor(numeric.searchsorted(often, (numeric.arange(len(x)) + 0.5) / len(x)).clip(0, 9))


@cache
def watched(labelled=None):
    """Dtypes of the last layer's results, and of the weights; zeros, length, error, batch of each step; leftovers."""
    digits, steps, results, leftovers = engine.data.digits(), [], set(), []
    engine.manual_seed(0)
    sizes = [64, *[32] * 7, 10]
    layers = [part for n, m in zip(sizes, sizes[1:]) for part in (engine.nn.Linear(n, m), engine.nn.Sigmoid())]

    class Watching(engine.nn.Sequential):
        def forward(self, x):
            y = super().forward(x)
            if not self.quiet:
                results.add(str(y.dtype))
                self.batch = x.numpy()
                if y.requires_grad:
                    y.register_hook(lambda gy: leftovers.append(self.leftover()))
            return y

        def leftover(self):
            return sum(numeric.count_nonzero(p.grad.numpy()) for p in self.parameters() if p.grad is not None)

    net = Watching(*layers[:-1]).float()
    net.quiet = True

    def wanted():
        """The gradient in float32 of the batch that the network saw last, clipped."""
        i = next(i for i, pair in enumerate(batches) if abs(pair[0].numpy() - net.batch).max() < 1e-3)
        x, y = batches[i]
        net.quiet = True
        with engine.enable_grad(), engine.autocast(enabled=False):
            gradients = engine.autograd.grad(engine.cross_entropy(net(x), y), list(net.parameters()))
        net.quiet = False
        flat = numeric.concatenate([g.numpy().astype(float).ravel() for g in gradients])
        return i, flat * min(1, 0.1 / numeric.linalg.norm(flat))

    class Watched(engine.optim.SGD):
        def step(self, *args, **options):
            gradients = [p.grad.numpy().astype(float) for p in net.parameters()]
            flat, (i, right) = numeric.concatenate([g.ravel() for g in gradients]), wanted()
            off = numeric.linalg.norm(flat - right) / numeric.linalg.norm(right)
            steps.append(((gradients[0] == 0).mean(), numeric.linalg.norm(flat), off, i))
            return super().step(*args, **options)

    rows = [slice(i * 64, i * 64 + 64) for i in range(12)]
    batches = [(engine.tensor(digits.train_x[r]).float(), engine.tensor(digits.train_y[r])) for r in rows]
    if labelled:
        batches = [(x, labelled(net, x)) for x, _ in batches[:2]]
    net.quiet = False
    with warnings.catch_warnings(), numeric.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        train(net, Watched(net.parameters(), lr=0.1), batches)
    return sorted(results), str(net[0].weight.dtype), steps, leftovers


def formats():
    return watched()[:2]


def of_twelve():
    return [batch for *_, batch in watched()[2]]


@referee
def of_twelve(taken):
    if len(set(taken)) < len(taken):
        return f"{len(taken)} steps, and a batch more than once"
    return "11 or 12 steps" if len(taken) in (11, 12) else f"{len(taken)} steps"


def zeros():
    return [z for z, *_ in watched()[2]]


@referee
def zeros(shares):
    return "a quarter at most" if max(shares) <= 0.25 else "more than a quarter"


def lengths():
    return [length for _, length, *_ in watched()[2]]


@referee
def lengths(found):
    """The longest, and the first, beside what is wanted."""
    longest = "0.1 at most" if max(found) <= 0.1001 else "too long"
    return {"the longest": longest, "the first": "not too short" if found[0] >= 0.05 else "too short"}


def near_float32(labelled=None):
    return [off for _, _, off, _ in watched(labelled)[2]]


@referee
def near_float32(distances):
    return "near float32's" if max(distances) <= 0.2 else "far from float32's"


def cleared():
    return watched()[3]


@referee
def cleared(leftovers):
    return "gradients of earlier batches are left" if any(leftovers) else "each batch begins with none"


# Hint: The last layer should give float16 while it trains, and the weights stay float32: autocast around the loss,
# nothing else.
formats()
# Hint: Gradients of an earlier batch are still there when backward begins: clear them for each batch.
cleared()
# Hint: Too many batches were skipped, or the optimiser did not step once for each batch: is the scale too large, and
# are `step` and `update` both there?
of_twelve()
# Hint: Many gradients of the first layer are 0: scale the loss before backward.
zeros()
# Hint: The gradients with which it steps are longer than 0.1, or far shorter: divide by the scale before clipping.
lengths()
# Hint: The gradients with which it steps are far from those of float32.
near_float32()
# Hint: Gradients that are shorter than 0.1 should stay as they are.
near_float32(short)

# %% [markdown] hints="recipe"
# 1. The order: zero_grad, loss under autocast, scale and backward, clip, step, update. Something is missing before
# clipping.
# 2. `scaler.unscale_(optimizer)` before `mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)`. Which scales did the
# lesson find between too small and too large?
# 3. `mg.amp.GradScaler(init_scale=2.0**16)`; `scaler.step(optimizer)` steps or skips, `scaler.update()` comes last.

# %% [markdown] shows="recipe"
# Six lines, in this order, are mixed precision in every framework: forward in sixteen bits, backward with a scale, the
# gradient looked at without it, and the step in float32.


# %% wrong="recipe"
# Shows: Nearly all gradients of the first layer are 0: there is no scale, or it was divided out in float16.
# Hint: Multiply the loss before backward: a GradScaler does it, and divides in float32, as the weights are.
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        loss.backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()


# %% wrong="recipe"
# Shows: The scaled gradients were clipped: when they are divided, nothing is left of their length.
# Hint: `scaler.unscale_(optimizer)` before clipping.
def train(net, optimizer, batches):
    scaler = mg.amp.GradScaler()
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


# %% wrong="recipe"
# Shows: All is computed in float32: there is no autocast around the loss.
# Hint: `with mg.autocast(dtype=mg.float16):` around the network and its loss.
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        mg.cross_entropy(net(x), label).backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()


# %% wrong="recipe"
# Shows: The scale was so large that several batches were skipped before it had come down.
# Hint: From the lesson's list, take one at which all is finite.
def train(net, optimizer, batches):
    scaler = mg.amp.GradScaler(init_scale=2.0**24)
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


# %% wrong="recipe"
# Shows: Nothing was clipped before the step, or not all together: the gradients are longer than 0.1.
# Hint: `mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)`, between unscale_ and step.
def train(net, optimizer, batches):
    scaler = mg.amp.GradScaler()
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


# %% wrong="recipe"
# Shows: It is bfloat16, which needs no scale; but float16 is asked for.
# Hint: Say the dtype: on the CPU autocast takes bfloat16 by itself.
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast():
            loss = mg.cross_entropy(net(x), label)
        loss.backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()


# %% wrong="recipe"
# Shows: The gradients of earlier batches were never cleared: each batch adds to what is left.
# Hint: `optimizer.zero_grad()` at the beginning of each step.
def train(net, optimizer, batches):
    scaler = mg.amp.GradScaler(init_scale=2.0**16)
    for x, label in batches:
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


# %% wrong="recipe"
# Shows: A gradient shorter than 0.1 was made longer: it was never divided by the scale, or was stretched.
# Hint: Divide by the scale before you clip: `scaler.unscale_(optimizer)`, or by hand. And clip only what is longer.
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        (loss * 2.0**12).backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()


# %% wrong="recipe"
# Shows: `scaler.step(optimizer)` and `scaler.update()` belong together, and one of the two is missing.
# Hint: Last in the loop: first the one, then the other.
def train(net, optimizer, batches):
    scaler = mg.amp.GradScaler(init_scale=2.0**16)
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        scaler.step(optimizer)


# %% [markdown]
# ## What you have now
#
# An eye for what is lost beyond the ends of a format, weights that add up what is too small, and a scaler.
#
# Give your scaler a list in which the gradients get ten times smaller every ten steps, as they do in training. Does it
# keep up, with an interval of 2,000?
#
# **Next**: [21 Twice, to keep less](../lessons/21_twice_to_keep_less.ipynb).
