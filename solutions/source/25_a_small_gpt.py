# ---
# jupyter:
#   minigrad:
#     title: Before it ships
#     minutes: 40
#     lesson: 25_a_small_gpt
#     concepts: [G2, G5]
# ---

# %% [markdown]
# # 25 Before it ships
#
# You draw a letter from scores, compute the loss that counting gives, count what a cache saves, choose a model for each
# of six needs, and find a GPT of your own that passes four gates. About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import numpy as np

import minigrad as mg
from minigrad.course import check, solution
from minigrad.profiler import estimate
from minigrad.zoo.transformers import GPT, Size

# %% [markdown]
# ## 1. Draw a letter
#
# **2 points, 10 minutes.** Write `drawn(scores, temperature, k, u)`. It returns the index of a letter that is drawn by
# its probability. `scores` is a NumPy array with one score for each letter. No two scores are equal. These are the
# steps:
#
# 1. Keep only the `k` largest scores (*top-k*). The other letters cannot be drawn.
# 2. Divide the scores by the `temperature`. A softmax over the kept scores gives the probabilities.
# 3. Go through the letters in the order of their indices, and add up their probabilities. Return the first index at
#    which the sum is *more* than `u`, a number from 0 to 1.
#
# Do not change the array `scores`. Scores may be as large as 900, and e⁹⁰⁰ is infinity. But a softmax stays the same if
# you subtract one number from all scores.
#
# For example, `drawn(np.array([1.0, 3.0, 2.0]), 1.0, 2, 0.8)` returns 2: the two letters that are kept have the
# probabilities 0.73 and 0.27.


# %% answer="letter_drawn" points=2 minutes=10
def drawn(scores, temperature, k, u):
    ### BEGIN SOLUTION
    kept = scores >= np.sort(scores)[-k]
    p = np.exp((scores - scores.max()) / temperature) * kept
    return int((np.cumsum(p / p.sum()) > u).argmax())
    ### END SOLUTION


# %%
check("letter_drawn")

# %% probes="letter_drawn"
import numpy as numeric


def letters(scores, temperature, k):
    given = numeric.array(scores, float)
    return [int(drawn(given.copy(), temperature, k, u)) for u in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999)]


def scores_afterwards(scores):
    """The scores after a call."""
    given = numeric.array(scores)
    drawn(given, 2.0, 2, 0.5)
    return given


# Hint: All letters may be drawn, at temperature 1: go through them by index, and take the first with which the sum of
# probabilities is more than u.
letters([1.0, 3.0, 2.0, 0.0], 1.0, 4)
# Hint: Only the two largest scores may be drawn, and their probabilities add up to 1.
letters([1.0, 3.0, 2.0, 0.0], 1.0, 2)
# Hint: A temperature of 5 brings the probabilities closer together: divide by it.
letters([1.0, 3.0, 2.0, 0.0], 5.0, 3)
# Hint: A temperature of 0.3 makes the likely likelier: divide by it.
letters([1.0, 3.0, 2.0, 0.0], 0.3, 4)
# Hint: Scores below 0: a letter that is left out has the probability 0, not the score 0.
letters([-5.0, -7.0, -6.0, -5.5, -9.0], 1.0, 3)
# Hint: k = 1: only the likeliest letter can be drawn.
letters([4.0, 1.0], 1.0, 1)
# Hint: A score far below the others has nearly no chance.
letters([-800.0, 0.0], 1.0, 2)
# Hint: Large scores: e⁹⁰⁰ is infinite. Subtract the largest score from all, before e is raised to them.
letters([900.0, 901.0, 899.5], 1.0, 3)
# Hint: All scores may be far below 0: then every e to a score is 0, unless the largest score is subtracted first.
letters([-900.0, -902.0, -901.0, -2000.0], 1.0, 4)
# Hint: A low temperature makes scores large when they are divided by it.
letters([3.0, 2.9985, 1.0], 0.001, 3)
# Hint: The scores may be far apart: it is the largest that has to be subtracted, not the mean.
letters([-1500.0, 1500.0, 1499.0, -1500.5], 1.0, 4)
# Hint: `scores` must be left as it is: `scores -= …` and `scores[…] = …` write into the array of the caller.
scores_afterwards([1.0, 3.0, 2.0, 0.0])

# %% [markdown] hints="letter_drawn"
# 1. Three steps: which letters are left, their probabilities, which add up to 1, and the sum that goes past u.
# 2. `np.sort(scores)[-k]` is the smallest score that is left. A probability of 0 for the others is enough.
# 3. `p = np.exp((scores - scores.max()) / temperature) * (scores >= least)`, then `np.cumsum(p / p.sum()) > u`, and its
# first True.

# %% [markdown] shows="letter_drawn"
# One trained model writes in many voices: how careful it is is decided here, after it.


# %% wrong="letter_drawn"
# Shows: The softmax was taken before the cut, so the probabilities of those that are left do not add up to 1.
# Hint: With k = 2 and u = 0.999: where is your sum at the end?
def drawn(scores, temperature, k, u):
    p = np.exp((scores - scores.max()) / temperature)
    p = p / p.sum() * (scores >= np.sort(scores)[-k])
    return int((np.cumsum(p) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The scores were multiplied by the temperature: a higher one made the likely likelier.
# Hint: At a high temperature scores come closer to each other. Divide.
def drawn(scores, temperature, k, u):
    p = np.exp((scores - scores.max()) * temperature) * (scores >= np.sort(scores)[-k])
    return int((np.cumsum(p / p.sum()) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The scores that are left out were set to 0, and e⁰ is 1: they may be drawn.
# Hint: A score of −∞ has the probability 0. Which has a score of 0?
def drawn(scores, temperature, k, u):
    left = np.where(scores >= np.sort(scores)[-k], scores, 0.0)
    p = np.exp(left / temperature)
    return int((np.cumsum(p / p.sum()) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The k smallest scores were kept in place of the k largest.
# Hint: np.sort begins with the smallest.
def drawn(scores, temperature, k, u):
    p = np.exp((scores - scores.max()) / temperature) * (scores <= np.sort(scores)[k - 1])
    return int((np.cumsum(p / p.sum()) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The likeliest letter was taken each time, whatever u was.
# Hint: u decides: a letter of probability 0.2 should come in a fifth of the cases.
def drawn(scores, temperature, k, u):
    return int(scores.argmax())


# %% wrong="letter_drawn"
# Shows: The place among the k that are left was returned, and not the index among all letters.
# Hint: If letters 1 and 2 are left, the answer is 1 or 2, not 0 or 1.
def drawn(scores, temperature, k, u):
    left = np.flatnonzero(scores >= np.sort(scores)[-k])
    p = np.exp((scores[left] - scores.max()) / temperature)
    return int((np.cumsum(p / p.sum()) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The first letter with which the sum reaches u was taken: `>= u`.
# Hint: The task says *more than* u.
def drawn(scores, temperature, k, u):
    p = np.exp((scores - scores.max()) / temperature) * (scores >= np.sort(scores)[-k])
    return int((np.cumsum(p / p.sum()) >= u).argmax())


# %% wrong="letter_drawn"
# Shows: The letters are right, but `scores` is changed in place.
# Hint: `scores -= …` and `scores[…] = …` write into the array of the caller. Make a new array.
def drawn(scores, temperature, k, u):
    scores -= scores.max()
    p = np.exp(scores / temperature) * (scores >= np.sort(scores)[-k])
    return int((np.cumsum(p / p.sum()) > u).argmax())


# %% wrong="letter_drawn"
# Shows: The letters were gone through from the likeliest one on; asked for was the order of their indices.
# Hint: Do not sort what you add up.
def drawn(scores, temperature, k, u):
    order = scores.argsort()[::-1][:k]
    p = np.exp((scores[order] - scores.max()) / temperature)
    return int(order[(np.cumsum(p / p.sum()) > u).argmax()])


# %% [markdown]
# ## 2. What counting gives
#
# **2 points, 8 minutes.** Write `counted(learn, held)`. It returns the held-out loss of counted pairs, in bits for each
# letter. `learn` and `held` are texts of the letters a, b and c.
#
# - Count how often each of the nine pairs of neighbours is in `learn`. Add 1 to each count, so that no pair is
#   impossible.
# - The probability of a letter after another letter is the count of this pair, divided by the sum of the three counts
#   with the same first letter.
# - Each letter of `held` but the first costs −log₂ of its probability after the letter before it. Return the mean.
#
# For example, `counted("ab", "ab")` returns 1: after a, the counts are 1, 2 and 1, so b has the probability 2/4.


# %% answer="counted_pairs" points=2 minutes=8
def counted(learn, held):
    ### BEGIN SOLUTION
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    steps = zip(held, held[1:])
    return float(np.mean([-np.log2(table["abc".index(before), "abc".index(after)]) for before, after in steps]))
    ### END SOLUTION


# %%
check("counted_pairs")

# %% probes="counted_pairs"
# Hint: Each letter of `held` but the first costs −log₂ of (the count of its pair + 1) / (the sum of its row). Take
# the mean.
round(float(counted("abcabcabc", "abcab")), 4)
# Hint: `learn` shows the pair aa three times, and `held` has the pair ab: it was never seen, and has a count of one.
round(float(counted("aaaa", "ab")), 4)
# Hint: After c nothing was seen: all three letters are equally likely, log₂ 3 bits each.
round(float(counted("ab", "cccc")), 4)
# Hint: A longer text: the row is the previous letter, the column the next one.
round(float(counted("aabacabbca", "acbbaccab")), 4)
# Hint: A long text of one pattern.
round(float(counted("babababa" * 20, "bababc")), 4)

# %% [markdown] hints="counted_pairs"
# 1. A table of 3 by 3 that begins with ones: a row for the letter before, a column for the one that comes.
# 2. Each *row* is divided by its own sum: how likely is each letter after this one?
# 3. The mean of `-np.log2(table[before, after])` over `zip(held, held[1:])`.

# %% [markdown] shows="counted_pairs"
# Three letters that are equally likely take log₂ 3 questions with yes or no, about 1.58; a good model takes fewer.


# %% wrong="counted_pairs"
# Shows: It is right in nats: the logarithm has the base e.
# Hint: Divide by ln 2, or take np.log2.
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    steps = zip(held, held[1:])
    return float(np.mean([-np.log(table["abc".index(a), "abc".index(b)]) for a, b in steps]))


# %% wrong="counted_pairs"
# Shows: The table was divided by the sum of all nine: how likely a pair is, not how likely a letter is after another.
# Hint: The letter before is known already. What must each row add up to?
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum()
    return float(np.mean([-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])]))


# %% wrong="counted_pairs"
# Shows: Columns were divided by their sums: that is how likely the letter before is.
# Hint: With rows for what came before, a row must add up to 1.
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(0)
    return float(np.mean([-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])]))


# %% wrong="counted_pairs"
# Shows: The held-out text was counted, too: what should be judged was learned from.
# Hint: The table may know `learn` alone.
def counted(learn, held):
    table = np.ones((3, 3))
    for text in (learn, held):
        for before, after in zip(text, text[1:]):
            table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    return float(np.mean([-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])]))


# %% wrong="counted_pairs"
# Shows: Pairs that overlap were left out: `str.count` does not see them.
# Hint: `'aaaa'.count('aa')` is 2: str.count leaves out pairs that overlap. Go through `zip(learn, learn[1:])`.
def counted(learn, held):
    table = np.array([[1.0 + learn.count(a + b) for b in "abc"] for a in "abc"])
    table /= table.sum(1, keepdims=True)
    return float(np.mean([-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])]))


# %% wrong="counted_pairs"
# Shows: The sum was divided by all letters of `held`; but the first has no letter before it, and costs nothing.
# Hint: How many pairs are there in a text of five letters?
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    return float(sum(-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])) / len(held))


# %% wrong="counted_pairs"
# Shows: The sign is missing: the logarithm of a probability is below 0, and a loss is minus that.
# Hint: A loss of 0 is the best there is. Can a loss be below it?
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    return float(np.mean([np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])]))


# %% wrong="counted_pairs"
# Shows: This is the loss on `learn`, the text that was counted.
# Hint: Which of the two texts is held out?
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    return float(np.mean([-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(learn, learn[1:])]))


# %% wrong="counted_pairs"
# Shows: It is a sum over the letters, and the loss is for each of them.
# Hint: A text of twice the length must not be twice as hard.
def counted(learn, held):
    table = np.ones((3, 3))
    for before, after in zip(learn, learn[1:]):
        table["abc".index(before), "abc".index(after)] += 1
    table /= table.sum(1, keepdims=True)
    return float(sum(-np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])))


# %% [markdown]
# ## 3. What is computed again
#
# **2 points, 8 minutes.** A text of p letters is there, and n letters are written after it, one after the other. The
# lesson's `write` runs the network on the whole text for each new letter. (Ignore the zeros that it fills in: a text of
# p letters is p rows.)
#
# But the rows of earlier letters never change. A new letter needs only its own query `q`, and the keys `k` and values
# `v` of all letters before it. A *cache* keeps the keys and values of all rows that went through the network, in each
# layer. With a cache, the first run has p rows, and each later run has 1 row. The last letter is written, and never
# read.
#
# Write `work(p, n, layers, channels)`. It returns three numbers:
#
# - the rows that go through the network without a cache, in all n runs together;
# - the rows that go through it with a cache;
# - the bytes of the cache at the end: for each row and each layer a key and a value of `channels` numbers, in float32.
#
# For example, `work(2, 2, 1, 1)` returns `(5, 3, 24)`: the two runs have 2 and 3 rows without a cache, 2 and 1 with it,
# and 3 rows leave two numbers of 4 bytes each.


# %% answer="cached_work" points=2 minutes=8
def work(p, n, layers, channels):
    ### BEGIN SOLUTION
    without = sum(range(p, p + n))
    cached = p + n - 1
    return without, cached, 2 * 4 * layers * channels * cached
    ### END SOLUTION


# %%
check("cached_work")

# %% probes="cached_work"
# Hint: Rows without a cache: the runs have p, p + 1, … rows. The last letter is written, but never read.
int(work(10, 5, 2, 64)[0])
# Hint: Rows with a cache: the first run has p, and each other run has 1. The last letter is written, but never read.
int(work(10, 5, 2, 64)[1])
# Hint: Bytes of the cache: each row that went through leaves a key and a value in each layer, of four bytes a number.
int(work(10, 5, 2, 64)[2])
# Hint: A text that begins with one letter.
[int(number) for number in work(1, 63, 2, 64)]
# Hint: A single new letter: one run, with and without a cache.
[int(number) for number in work(100, 1, 12, 768)]
# Hint: One layer and one channel: a key and a value of four bytes for each row.
[int(number) for number in work(7, 2, 1, 1)]

# %% [markdown] hints="cached_work"
# 1. The first run reads p letters. How many does the second one read without a cache, and the last one?
# 2. Without: p + (p + 1) + … + (p + n − 1). With: p, and then n − 1 times 1.
# 3. Each row that went through left a key and a value in each layer: rows · layers · 2 · channels · 4 bytes.

# %% [markdown] shows="cached_work"
# The work falls from a sum that grows with the square of the length to one row for each letter, and the price is memory
# that grows with the length.


# %% wrong="cached_work"
# Shows: The last letter was read, too. It is written, and nothing comes after it.
# Hint: To write one letter after p, how many runs are there, and on how many letters?
def work(p, n, layers, channels):
    return sum(range(p + 1, p + n + 1)), p + n, 8 * layers * channels * (p + n)


# %% wrong="cached_work"
# Shows: Without a cache each run was counted with p rows, as if the text did not get longer.
# Hint: What was written last is part of the text that is read next.
def work(p, n, layers, channels):
    return p * n, p + n - 1, 8 * layers * channels * (p + n - 1)


# %% wrong="cached_work"
# Shows: The cache has half of its bytes: only keys were counted, or only values, or two bytes a number.
# Hint: A new letter compares its query with the keys, and then adds up the values. Each number has four bytes.
def work(p, n, layers, channels):
    return sum(range(p, p + n)), p + n - 1, 4 * layers * channels * (p + n - 1)


# %% wrong="cached_work"
# Shows: With a cache the text itself was not counted: its p rows have to go through once.
# Hint: From where would its keys and values come?
def work(p, n, layers, channels):
    return sum(range(p, p + n)), n, 8 * layers * channels * (p + n - 1)


# %% wrong="cached_work"
# Shows: Queries were kept, too. A query is read by its own letter only, so no later run needs it.
# Hint: Two things of each row stay in the cache.
def work(p, n, layers, channels):
    return sum(range(p, p + n)), p + n - 1, 12 * layers * channels * (p + n - 1)


# %% wrong="cached_work"
# Shows: One layer's cache was counted, and each layer has keys and values of its own.
# Hint: Multiply by the layers.
def work(p, n, layers, channels):
    return sum(range(p, p + n)), p + n - 1, 8 * channels * (p + n - 1)


# %% [markdown]
# ## 4. Which one will it be?
#
# **2 points, 6 minutes.** The table has six versions of the lesson's model. `calls` are the operations that Python
# calls for one letter, which decide how long it takes. `saved` is what training saves for backward.
#
# | | bytes | held-out loss | calls | steps of training | saved |
# |---|--:|--:|--:|--:|--:|
# | `"eager"` | 433,408 | 1.91 | 47 | 500 | 4.6 MB |
# | `"compiled"` | 433,408 | 1.91 | 1 | 500 | 4.6 MB |
# | `"int8"` | 138,624 | 1.91 | 215 | 500 | 4.6 MB |
# | `"checkpointed"` | 433,408 | 1.91 | 47 | 500 | 2.2 MB |
# | `"short"` | 433,408 | 2.56 | 1 | 100 | 4.6 MB |
# | `"pairs"` | 16,900 | 2.35 | 1 | 0 | 0 MB |
#
# Which version fits each of these needs? If several fit, take the one with the fewest calls.
#
# ```text
# a  the fewest calls with a loss below 2
# b  at most 200,000 bytes, and the lowest loss that is possible with them
# c  a loss below 2, and a training that saves at most 3 MB
# d  at most 100 steps of training, and the lowest loss that is possible with them
# e  the fewest bytes with a loss below 2.5
# f  no step of training at all
# ```
# Set `chosen` to a dictionary with all six letters, such as `{"a": "eager", "b": "short", …}`.

# %% answer="which_need" points=2 minutes=6
### BEGIN SOLUTION
chosen = {"a": "compiled", "b": "int8", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "pairs"}
### END SOLUTION

# %%
check("which_need")


# %% probes="which_need"
def version_for(need):
    """The version chosen for a need, from a dictionary by letter or from a list in the order of the needs."""
    pairs = chosen.items() if hasattr(chosen, "items") else zip("abcdef", chosen)
    names = {str(letter).strip().lower(): str(name).strip().lower() for letter, name in pairs}
    return names.get(need, "missing")


# Hint: `a`: two versions have a single call and are not tables. Which of them has a loss below 2?
version_for("a")
# Hint: `b`: strike out what has more than 200,000 bytes, and compare the losses of what is left.
version_for("b")
# Hint: `c`: strike out what saves more than 3 MB, and what has a loss of 2 or more.
version_for("c")
# Hint: `d`: strike out what takes more than 100 steps, and compare the losses of what is left.
version_for("d")
# Hint: `e`: strike out what has a loss of 2.5 or more, and compare the bytes of what is left.
version_for("e")
# Hint: `f`: which version needs no step of training?
version_for("f")

# %% [markdown] hints="which_need"
# 1. Strike out what does not fit, for each need; choose among what is left.
# 2. A loss below 2 strikes out "short" and "pairs"; 200,000 bytes leave "int8" and "pairs"; 100 steps "short" and
#    "pairs".
# 3. Three of the six are "pairs", and "short" is never the answer.

# %% [markdown] shows="which_need"
# No version is the best for everything, and one is the best for nothing: trained less, it is worse than a table, and as
# large as the whole GPT.

# %% wrong="which_need" misconception="M24"
# Shows: The quickest was taken each time: faster was to be better, whatever it gives.
# Hint: What loss is asked for in a, in b and in c?
chosen = dict.fromkeys("abcdef", "pairs")

# %% wrong="which_need" misconception="M24"
# Shows: The network with the fewest calls and steps was taken for the better one. Its loss is above the table's.
# Hint: Which loss has "short"?
chosen = {"a": "short", "b": "int8", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "pairs"}

# %% wrong="which_need"
# Shows: For few bytes the loss was forgotten: within 200,000 bytes it should be as low as can be.
# Hint: Two versions have fewer than 200,000 bytes. Which of them is better?
chosen = {"a": "compiled", "b": "pairs", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "pairs"}

# %% wrong="which_need"
# Shows: A quantised model was taken to need less for its training. It is made smaller afterwards.
# Hint: Which column says what training saves?
chosen = {"a": "compiled", "b": "int8", "c": "int8", "d": "pairs", "e": "pairs", "f": "pairs"}

# %% wrong="which_need" misconception="M24"
# Shows: Little training was taken for none.
# Hint: What can be there without a single step?
chosen = {"a": "compiled", "b": "int8", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "short"}

# %% wrong="which_need"
# Shows: A network of 100 steps was taken to be better than a table that was counted.
# Hint: Compare the two losses in the rows with 100 steps or fewer.
chosen = {"a": "compiled", "b": "int8", "c": "checkpointed", "d": "short", "e": "pairs", "f": "pairs"}

# %% wrong="which_need"
# Shows: int8 was taken to be quicker; it has more calls here, for each input is rounded first.
# Hint: Which column says how long a single answer takes?
chosen = {"a": "int8", "b": "int8", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "pairs"}

# %% [markdown]
# ## 5. A GPT of your own
#
# **2 points, 8 minutes.** Choose the sizes of a GPT: set `layers`, `heads`, `channels` and `context` (the letters that
# it sees). It must pass four gates:
#
# - at least 2 layers, 4 heads, and a context of 48 letters;
# - at least **60,000 parameters**;
# - at most **120,000,000 FLOPs** for a forward pass over 16 rows as long as the context;
# - at most **5,350,000 bytes** saved for backward in that pass.
#
# The channels must be a multiple of the heads. `asked(layers, heads, channels, context)` prints what a choice needs;
# nothing is trained. Before you try: which of the four numbers adds parameters faster than bytes? Which one adds bytes,
# and hardly any parameters?


# %% name="asked"
def asked(layers, heads, channels, context):
    net = GPT(Size(layers, heads, channels), 65, context, dropout=0.0, dtype=mg.float32)
    cost = estimate(net, mg.TensorSpec((16, context), mg.int64))
    print(f"{cost.parameters:,} parameters, {cost.flops:,} FLOPs, {cost.saved_bytes:,} bytes saved")


asked(2, 4, 64, 64)

# %% answer="gpt_within" points=2 minutes=8
### BEGIN SOLUTION
layers, heads, channels, context = 2, 4, 48, 48
### END SOLUTION

# %%
check("gpt_within")

# %% probes="gpt_within"
import minigrad as framework
from minigrad.profiler import estimate as estimated
from minigrad.zoo import transformers


def numbers():
    return layers, heads, channels, context


sizes = parameters = flops = bytes_saved = numbers


def problem_of(numbers):
    """What is wrong with the sizes themselves; "" if nothing is."""
    layers, heads, channels, context = numbers
    if any(number != int(number) for number in numbers):
        return "not all four are whole numbers"
    if layers > 64 or max(numbers) > 4096:
        return f"much too large: {layers} layers, {channels} channels, {context} letters"
    if layers < 2 or heads < 4 or context < 48:
        return f"too few layers, heads or letters: {layers}, {heads}, {context}"
    return f"{heads} heads do not divide {channels} channels" if channels % heads else ""


def cost_of(numbers):
    layers, heads, channels, context = map(int, numbers)
    size = transformers.Size(layers, heads, channels)
    net = transformers.GPT(size, 65, context, dropout=0.0, dtype=framework.float32, device="meta")
    return estimated(net, framework.TensorSpec((16, context), framework.int64))


@referee
def sizes(numbers):
    return problem_of(numbers) or "as asked"


@referee
def parameters(numbers):
    if problem_of(numbers):
        return "not counted: the sizes come first"
    number = cost_of(numbers).parameters
    return "enough" if number >= 60_000 else f"too few: {number:,}"


@referee
def flops(numbers):
    if problem_of(numbers):
        return "not counted: the sizes come first"
    number = cost_of(numbers).flops
    return "within the limit" if number <= 120_000_000 else f"too many: {number:,}"


@referee
def bytes_saved(numbers):
    if problem_of(numbers):
        return "not counted: the sizes come first"
    number = cost_of(numbers).saved_bytes
    return "within the limit" if number <= 5_350_000 else f"too many: {number:,}"


# Hint: At least 2 layers, 4 heads and a context of 48 letters, all of them whole numbers. And the channels must be a
# multiple of the heads.
sizes()
# Hint: The parameters grow with the layers, and with the square of the channels. The context adds hardly any.
parameters()
# Hint: The FLOPs grow with the layers, the context and the square of the channels. With 2 layers and 48 letters, only
# the channels are left to change.
flops()
# Hint: The bytes saved grow with the layers, the channels, the heads and the context. Take what the gates ask for, and
# no more.
bytes_saved()

# %% [markdown] hints="gpt_within"
# 1. The lesson's GPT has too much of everything; of its parameters it may lose 48,000. What can you make smaller that
# takes away hardly any parameters?
# 2. Each letter of context costs bytes, FLOPs, and one row of parameters. Take the shortest context that is allowed.
# 3. Parameters grow with the square of the channels, bytes saved with the channels. Take two layers, 48 channels, and a
# context of 48.

# %% [markdown] shows="gpt_within"
# Parameters of a layer grow with the square of its width and what it saves only with the width, so few wide layers are
# cheaper to train than many narrow ones.

# %% wrong="gpt_within"
# Shows: This is the lesson's GPT: more than twice the FLOPs that are allowed.
# Hint: It sees 64 letters. How many must it see at least?
layers, heads, channels, context = 2, 4, 64, 64

# %% wrong="gpt_within"
# Shows: Three narrow layers have as many parameters, and keep more for backward.
# Hint: Which grows with the square of the channels: parameters, or bytes saved?
layers, heads, channels, context = 3, 4, 40, 48

# %% wrong="gpt_within"
# Shows: Within the limits, but with one layer only.
# Hint: Take two layers, each with fewer channels.
layers, heads, channels, context = 1, 4, 72, 48

# %% wrong="gpt_within"
# Shows: It was made narrow until it fits, and has too few parameters now.
# Hint: Make it a little wider: the gate is at 60,000.
layers, heads, channels, context = 2, 4, 40, 48

# %% wrong="gpt_within"
# Shows: The context is shorter than the gate allows.
# Hint: 48 letters at least.
layers, heads, channels, context = 2, 4, 56, 32

# %% wrong="gpt_within"
# Shows: The heads cannot share the channels equally.
# Hint: channels must be a multiple of heads.
layers, heads, channels, context = 2, 5, 48, 48

# %% [markdown]
# ## What you have now
#
# A way to draw letters, a baseline in bits, the price of a cache, a table to choose by, and a GPT within its limits.
#
# Train the one of part 5 as the lesson does. Which of your gates would you have it pass before a stranger may use it?
#
# **Next**: back to [25 A small GPT](../lessons/25_a_small_gpt.ipynb), and change something there.
