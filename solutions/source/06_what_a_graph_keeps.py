# ---
# jupyter:
#   minigrad:
#     title: What a graph keeps
#     minutes: 40
#     lesson: 06_the_dynamic_graph
#     concepts: [B1, B2, B3, B4, B5]
# ---

# %% [markdown]
# # 06 What a graph keeps
#
# You say what is in an account, count the entries of a record, repair an edit, pay for many losses with one walk, and
# design a curve that keeps little. About 40 minutes, 10 points, in five parts.
#
# Write where it says *Your code here*, or in place of the dots. Run that cell, then the `check` cell below it. `check`
# says what came out, what is wrong with it, and where to look next. Check as often as you like. After some different
# attempts `solution` shows a way.

# %%
import minigrad as mg
from minigrad.course import check, solution

# %% [markdown]
# ## 1. Accounts
#
# **2 points, 6 minutes.** Read this program. Do not run it yet.
#
# ```python
# x = mg.tensor(2.0, requires_grad=True)
# optimizer = mg.optim.SGD([x], lr=0.1)
#
# def run():
#     h = 3 * x
#     h.retain_grad()
#     (h * h).backward()
#     return h
#
# a = run()
# b = run()
# optimizer.zero_grad()
# c = run()
# ```
#
# What is in the accounts? Write a number, or `None` for an account that nobody has paid into:
#
# - `x_after_two`: what `x.grad` holds after `b = run()`, before it is cleared;
# - `x_grad`: what `x.grad` holds at the end;
# - `a_grad`, `b_grad` and `c_grad`: what `a.grad`, `b.grad` and `c.grad` hold at the end.

# %% answer="accounts" points=2 minutes=6
### BEGIN SOLUTION
x_after_two = 72
x_grad = 36
a_grad = 12
b_grad = 12
c_grad = 12
### END SOLUTION

# %%
check("accounts")

# %% probes="accounts"
# Hint: `x_after_two`: one run pays 2h · 3 into x.grad with h = 6, and two runs pay twice.
x_after_two
# Hint: `x_grad`: `zero_grad` empties x.grad before the third run.
x_grad
# Hint: `a_grad`: each run makes a new h, and pays into h.grad once. The optimizer knows only x.
a_grad
# Hint: `b_grad`: each run makes a new h, and pays into h.grad once. The optimizer knows only x.
b_grad
# Hint: `c_grad`: each run makes a new h, and pays into h.grad once.
c_grad

# %% [markdown] hints="accounts"
# 1. One run alone: h is 6, and h · h has the slope 2h towards h. From h to x it is another 3 times as much.
# 2. x is the same tensor in all three runs, and each run pays into its account. Who empties it, and when?
# 3. Each run makes a new h. a, b and c are three tensors; each was paid once, and the optimizer knows only x.

# %% [markdown] shows="accounts"
# Gradients belong to tensors and not to names: a leaf adds up what all runs bring, and each run makes an intermediate
# tensor of its own.

# %% wrong="accounts" misconception="M2"
# Shows: The second h is thought to go on where the first one stopped, as if zero_grad had to clear every node of the
# graph.
# Hint: zero_grad is about what lives on from run to run: the leaves. `3 * x` makes a new h in every run, and its
# account starts empty.
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 36, 12, 24, 12

# %% wrong="accounts" misconception="M2"
# Shows: optimizer.zero_grad() is thought to empty the accounts of all nodes, those of a and b too.
# Hint: The optimizer was made with [x] and knows x alone. zero_grad is about the leaves that are trained, and a and b
# are none.
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 36, None, None, 12

# %% wrong="accounts" misconception="M2"
# Shows: optimizer.zero_grad() is thought to set the gradients of all nodes to 0, those of a and b too.
# Hint: Which tensors does the optimizer know? It was given [x]. zero_grad is about the leaves that are trained; and it
# writes None, not 0.
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 36, 0, 0, 12

# %% wrong="accounts" misconception="M2"
# Shows: The h's are thought to be one node whose account adds up over all three runs, because nobody clears it.
# Hint: zero_grad does not clear h, and need not: it is about the leaves. Each run makes a new h, which is paid once.
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 36, 12, 24, 36

# %% wrong="accounts"
# Shows: Nothing was cleared: x.grad at the end holds all three runs.
# Hint: Between the second run and the third there is optimizer.zero_grad(), and the optimizer knows x.
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 108, 12, 12, 12

# %% wrong="accounts"
# Shows: The second run is thought to replace what the first one paid in.
# Hint: backward() adds to .grad of a leaf.
x_after_two, x_grad, a_grad, b_grad, c_grad = 36, 36, 12, 12, 12

# %% wrong="accounts"
# Shows: h.grad is right, but on the way from h to x the slope of `3 * x` was left out.
# Hint: What arrives at h is 12. Outgoing is incoming times slope, and the slope of 3 * x is 3.
x_after_two, x_grad, a_grad, b_grad, c_grad = 24, 12, 12, 12, 12

# %% wrong="accounts"
# Shows: The slope of h · h was taken to be h. But h is used twice there.
# Hint: Each of the two uses of h brings h, and what they bring is added: that is 2h.
x_after_two, x_grad, a_grad, b_grad, c_grad = 36, 18, 6, 6, 6

# %% wrong="accounts"
# Shows: zero_grad is thought to come last. It empties the account of x after the second run, and a third one follows.
# Hint: Go through the lines in their order: what does c = run() pay into x.grad?
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, None, 12, 12, 12

# %% wrong="accounts"
# Shows: h is not a leaf, and so its .grad is thought to be empty. But it was told to retain_grad().
# Hint: Backward leaves nothing on intermediate results, unless they ask for it: see the second line of run().
x_after_two, x_grad, a_grad, b_grad, c_grad = 72, 36, None, None, None

# %% [markdown]
# ## 2. A census
#
# **2 points, 9 minutes.** Write `census(y)`. It gets a tensor, and returns a dictionary: each kind of entry in the
# record of y, and how many entries of that kind there are. For `z = x * y + x`, where x and y require gradients,
# `census(z)` is
#
# ```python
# {"AddBackward": 1, "MulBackward": 1, "AccumulateGrad": 2}
# ```
#
# - Start from `y.grad_fn`, the newest entry. It is `None` if y was not recorded; then the answer is `{}`.
# - `entry.name()` is the kind of an entry. `entry.next_functions` holds pairs: an entry or `None`, and a 0.
# - Where several entries lead to the same entry, count it once. Recognise it with `==`, with `in`, or in a set, but not
#   with `is` or `id`: you may get a new object for it each time.
# - A record can be thousands of entries deep. That is too deep for a function that calls itself.


# %% answer="census" points=2 minutes=9
def census(y):
    ### BEGIN SOLUTION
    counts, seen, waiting = {}, set(), [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry not in seen:
            seen.add(entry)
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts
    ### END SOLUTION


# %%
check("census")

# %% probes="census"
import minigrad


def leaf(number):
    return minigrad.tensor(number, requires_grad=True)


class TooManyEntries(Exception):
    pass


class Entry:
    """An entry of the record. It is equal to another Entry for the same entry."""

    def __init__(self, entry, record):
        self.entry, self.record = entry, record

    @property
    def next_functions(self):
        return tuple((self.record.hold(entry), zero) for entry, zero in self.entry.next_functions)

    def __getattr__(self, name):
        return getattr(self.entry, name)

    def __eq__(self, other):
        return self.entry.__eq__(getattr(other, "entry", other))

    def __hash__(self):
        return hash(self.entry)


class Recorded:
    """A tensor whose entries are all kept, so that no two of them share an id.

    same    whether an entry is the same object each time
    """

    def __init__(self, y, same):
        self.y, self.same, self.kept, self.first = y, same, [], {}
        seen, waiting = set(), [y.grad_fn]
        while waiting:
            entry = waiting.pop()
            if entry is not None and entry not in seen:
                seen.add(entry)
                waiting += [before for before, _ in entry.next_functions]
        self.there_are = len(seen)

    @property
    def grad_fn(self):
        return self.hold(self.y.grad_fn)

    def __getattr__(self, name):
        return getattr(self.y, name)

    def hold(self, entry):
        if entry is None:
            return None
        if self.same and entry in self.first:
            return self.first[entry]
        if len(self.kept) > 1000 + 30 * self.there_are:
            raise TooManyEntries(f"{len(self.kept)} entries were taken from a record of {self.there_are}")
        self.kept.append(Entry(entry, self))
        return self.first.setdefault(entry, self.kept[-1]) if self.same else self.kept[-1]


def census_of(y, same=False):
    return dict(sorted(census(Recorded(y, same)).items()))


def both(x, y):
    return x * y + x


def folded(x, times):
    for _ in range(times):
        x = x + x
    return x


def chain(x, times):
    for _ in range(times):
        x = x * 1.01
    return x


# Hint: x · y + x: x is used twice, and its entry counts once. Each leaf has an AccumulateGrad.
census_of(both(leaf(2.0), leaf(3.0)))
# Hint: An entry that several others lead to is one entry: remember the entries that were seen.
census_of(both(leaf(2.0), leaf(3.0)), same=True)
# Hint: y wants no gradient here: there is None in its place among `next_functions`. Skip it.
census_of(both(leaf(2.0), minigrad.tensor(3.0)))
# Hint: Each doubling uses one entry twice, and it counts once. Remember the entries, not their names.
census_of(folded(leaf(1.0), 3))
# Hint: Forty doublings have 2 to the power 40 paths. Skip an entry that was seen.
census_of(folded(leaf(1.0), 40))
# Hint: 2000 entries in a row are deeper than a function that calls itself can go. Use a loop.
census_of(chain(leaf(1.0), 2000))
# Hint: Two tanh are two entries with one name: count both.
census_of((leaf([1.0, 2.0]).tanh() * leaf([3.0, 4.0]).tanh()).sum())
# Hint: A tensor that was not recorded gives {}: its `grad_fn` is None.
census_of(minigrad.tensor(2.0) * 3)
# Hint: A leaf itself has no `grad_fn`: it gives {}.
census_of(leaf(2.0))

# %% [markdown] hints="census"
# 1. You need a list of entries that are still waiting, and a set of those that were seen.
# 2. Take one from the list. If it is None or was seen, go on; else count its name, and put the entries in
#    `next_functions` on the list.
# 3. `while waiting: entry = waiting.pop()`, and inside `waiting += [before for before, _ in entry.next_functions]`. A
# loop, not a function that calls itself: a record can be thousands of entries deep.

# %% [markdown] shows="census"
# The record behind a result is a graph that you can walk, and a tensor that is used twice has a single entry in it.


# %% wrong="census"
# Shows: Every path is walked on its own: an entry that two others lead to is counted twice, and 40 doublings never end.
# Hint: Remember the entries that were seen, in a set, and go on from each only once.
def census(y):
    counts, waiting = {}, [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None:
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts


# %% wrong="census"
# Shows: The entries that were seen are remembered, but not recognised. You compare with `is` or `id`, and an entry is a
# new object each time.
# Hint: Use `in`, or a set of the entries: an entry is equal to itself, `==`, wherever you meet it.
def census(y):
    counts, seen, waiting = {}, [], [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and not any(entry is other for other in seen):
            seen.append(entry)
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts


# %% wrong="census"
# Shows: A pair was taken for an entry. `next_functions` holds pairs of an entry and a 0.
# Hint: Take the pairs apart: `for before, _ in entry.next_functions`, and let `before` wait.
def census(y):
    counts, seen, waiting = {}, set(), [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry not in seen:
            seen.add(entry)
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += entry.next_functions
    return counts


# %% wrong="census"
# Shows: Each kind is counted once, however many entries of it there are: the names were remembered, not the entries.
# Hint: Two MulBackward are two entries. Put the entry itself into the set of what was seen.
def census(y):
    counts, waiting = {}, [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry.name() not in counts:
            counts[entry.name()] = 1
            waiting += [before for before, _ in entry.next_functions]
    return counts


# %% wrong="census"
# Shows: The function calls itself, and a long chain of operations is deeper than Python allows.
# Hint: Keep a list of the entries that are still waiting, and go on with a loop while there are any.
def census(y):
    seen = set()

    def visit(entry):
        if entry is not None and entry not in seen:
            seen.add(entry)
            for before, _ in entry.next_functions:
                visit(before)

    visit(y.grad_fn)
    names = [entry.name() for entry in seen]
    return {name: names.count(name) for name in names}


# %% wrong="census"
# Shows: Only the first operand of each operation was followed.
# Hint: next_functions has one pair for each operand; follow all of them.
def census(y):
    counts, entry = {}, y.grad_fn
    while entry is not None:
        counts[entry.name()] = counts.get(entry.name(), 0) + 1
        entry = entry.next_functions[0][0] if entry.next_functions else None
    return counts


# %% wrong="census"
# Shows: The leaves are missing. At each leaf the way ends with an entry called AccumulateGrad, and it counts.
# Hint: Count every entry that is not None, also those that lead nowhere.
def census(y):
    counts, seen, waiting = {}, set(), [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry not in seen and entry.next_functions:
            seen.add(entry)
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts


# %% wrong="census"
# Shows: None was taken for an entry. It stands for an operand whose gradient nobody wants, and for the grad_fn of a
# leaf.
# Hint: Before you ask an entry for its name, look whether it is None.
def census(y):
    counts, seen, waiting = {}, set(), [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry not in seen:
            seen.add(entry)
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts


# %% [markdown]
# ## 3. An edit to repair
#
# **2 points, 7 minutes.** `shares(x)` gets a tensor with one axis, and returns eˣ divided by the sum of all eˣ:
# positive numbers that add up to 1. Somebody wanted to save an array, and wrote the division in place. Now backward
# raises an error:
#
# ```python
# def shares(x):
#     e = x.exp()
#     e /= e.sum()
#     return e
# ```
#
# Somebody else said "then I edit it where the engine does not look", and wrote `e.numpy()[...] /= e.sum().item()`. The
# error went away, but the gradient was wrong.
#
# Write `shares(x)` so that its values are right, its gradient is right, and x is unchanged. For example,
# `shares(mg.tensor([0.0, 0.0]))` is `[0.5, 0.5]`.


# %% answer="shares" points=2 minutes=7
def shares(x):
    ### BEGIN SOLUTION
    e = x.exp()
    return e / e.sum()
    ### END SOLUTION


# %%
check("shares")

# %% probes="shares"
import minigrad
from minigrad.saving import evidence


def nudging_agrees(*numbers):
    return evidence.sent_slopes(shares, numbers)


@referee
def nudging_agrees(rows):
    return evidence.slopes_agree(rows)


def slopes(numbers, weights):
    x = minigrad.tensor(numbers, requires_grad=True)
    (shares(x) * minigrad.tensor(weights)).sum().backward()
    return [round(g, 6) for g in x.grad.tolist()]


def untouched(numbers):
    x = minigrad.tensor(numbers)
    shares(x)
    return x.tolist()


# Hint: The values: e to the power of each number, divided by their sum.
[round(y, 6) for y in shares(minigrad.tensor([0.0, 1.0, -1.0])).tolist()]
# Hint: A single number has the share 1.
[round(y, 6) for y in shares(minigrad.tensor([-3.0])).tolist()]
# Hint: The shares should add up to 1.
round(shares(minigrad.tensor([0.3, 2.0])).sum().item(), 6)
# Hint: x belongs to the caller: leave it as it is.
untouched([0.5, -0.5])
# Hint: The gradient: e is used in two places, above and below the line, and the gradient passes through both.
slopes([0.0, 0.0], [1.0, 0.0])
# Hint: The gradient: what `exp` saved must not be changed, and nothing may be cut off from the record.
slopes([0.0, 1.0, -1.0], [1.0, 2.0, 5.0])
# Hint: The slopes of backward differ from those of a nudge.
nudging_agrees(0.2, -0.4, 0.1)

# %% [markdown] hints="shares"
# 1. exp saves its result, because its slope is that result. What is in that memory when backward comes?
# 2. The division must leave `e` as it is: its result needs memory of its own.
# 3. `e / e.sum()` makes a new tensor. Neither detach nor no_grad helps: the gradient has to pass through both places at
# which e is used.

# %% [markdown] shows="shares"
# A saved result must still be there when backward comes: the engine counts the edits that it sees and refuses, rather
# than give a wrong gradient.


# %% wrong="shares" misconception="M12"
# Shows: exp had saved e, and e was edited in place. Editing a saved value is not harmless: backward would read the
# wrong number, and so it refuses.
# Hint: Let the division make a new tensor instead of writing into e.
def shares(x):
    e = x.exp()
    e /= e.sum()
    return e


# %% wrong="shares" misconception="M12"
# Shows: The values are right, and the gradient is that of a fixed total: the division was hidden from the record. By an
# edit through NumPy, say, which no counter sees: the error is gone, and exp reads what is in its memory now. (A total
# that is detached gives the same.)
# Hint: The error was right. Editing a saved value does harm, seen or unseen. Write the division as an operation that
# makes a new tensor, and let the gradient pass through the total too: when x₁ grows, the other shares shrink.
def shares(x):
    e = x.exp()
    e.numpy()[...] /= e.sum().item()
    return e


# %% wrong="shares"
# Shows: The values are right, but there is no way back to x: the exponentials were cut off from where they came from.
# Hint: No detach and no no_grad: every operation from x on must be recorded.
def shares(x):
    e = x.exp().detach()
    e /= e.sum()
    return e


# %% wrong="shares"
# Shows: x itself was edited, and it belongs to the caller.
# Hint: Methods with an underscore write into their operand. Use `x.exp()`, and a division without `=`.
def shares(x):
    with mg.no_grad():
        x.exp_()
    return x / x.sum()


# %% wrong="shares"
# Shows: The exponentials were not divided by their sum.
# Hint: The shares add up to 1.
def shares(x):
    return x.exp()


# %% [markdown]
# ## 4. Once for all
#
# **2 points, 9 minutes.** A network has a long trunk, and several losses share it. Write `pay_in(losses)`. It gets a
# list of one or more losses, each of them a tensor of one number. It adds the gradients of all losses to the `.grad` of
# every leaf, and returns nothing. This version is right, but it costs too much:
#
# ```python
# def pay_in(losses):
#     for loss in losses:
#         loss.backward(retain_graph=True)
# ```
#
# Keep to this budget:
#
# - Each operation of the trunk has its derivative run once, however many losses there are.
# - Afterwards nothing is kept for another backward.


# %% answer="pay_in" points=2 minutes=9
def pay_in(losses):
    ### BEGIN SOLUTION
    sum(losses).backward()
    ### END SOLUTION


# %%
check("pay_in")

# %% probes="pay_in"
import minigrad
from minigrad.core.modes import watching


class NothingPaidIn(Exception):
    pass


class Steps:
    count = 0

    def on_forward(self, op, y, xs):
        pass

    def on_backward(self, node, gy, gxs):
        self.count += 1


def losses_of(x, how_many):
    trunk = x
    for _ in range(30):
        trunk = trunk.tanh()
    return [trunk * (i + 1.0) * trunk for i in range(how_many)]


def gradient(how_many, before=None):
    x = minigrad.tensor(0.5, requires_grad=True)
    x.grad = before
    pay_in(losses_of(x, how_many))
    if x.grad is None:
        raise NothingPaidIn("x.grad is None: nothing was paid into it")
    return round(x.grad.item(), 9)


def within_budget(how_many):
    losses = losses_of(minigrad.tensor(0.5, requires_grad=True), how_many)
    with watching(Steps()) as steps:
        pay_in(losses)
    return steps.count


@referee
def within_budget(steps, how_many):
    return steps <= 30 + 4 * how_many


def losses_left(how_many):
    losses = losses_of(minigrad.tensor(0.5, requires_grad=True), how_many)
    pay_in([*losses])
    return [round(loss.item(), 9) for loss in losses]


def nothing_is_kept(how_many):
    """What another backward raises."""
    losses = losses_of(minigrad.tensor(0.5, requires_grad=True), how_many)
    pay_in(losses)
    try:
        losses[-1].backward()
    except minigrad.base.errors.FreedError as error:
        return type(error).__name__


@referee
def nothing_is_kept(error):
    return error == "FreedError"


# Hint: One loss: its gradient should be added to x.grad.
gradient(1)
# Hint: Three losses: x.grad should be the sum of their gradients, not their mean and not the last one.
gradient(3)
# Hint: Seven losses: x.grad should be the sum of their gradients.
gradient(7)
# Hint: x.grad may hold something already: add to it.
gradient(2, minigrad.tensor(10.0))
# Hint: Each operation of the trunk ran its derivative more than once. One backward pass for all losses is enough: on
# their sum.
within_budget(8)
# Hint: With one loss: what was saved is still kept afterwards. Leave out `retain_graph`.
nothing_is_kept(1)
# Hint: With three losses: what was saved is still kept afterwards. Leave out `retain_graph` in the last pass.
nothing_is_kept(3)
# Hint: The losses belong to the caller: `+=` on a tensor writes into it. Use `total = total + loss`.
losses_left(3)

# %% [markdown] hints="pay_in"
# 1. The gradient of a sum is the sum of the gradients. What, then, could you call backward() on?
# 2. Make one number out of all losses. Backward from there meets each operation of the trunk once, when all that
# arrives there has been added.
# 3. `sum(losses)` is a tensor, with a record that leads to all of them. Without retain_graph, what was saved is freed.

# %% [markdown] shows="pay_in"
# The gradient of a sum is the sum of the gradients, and so many losses need one walk through what they share.


# %% wrong="pay_in" misconception="M3"
# Shows: The gradients are right, and the trunk was walked once for each loss. A second backward is not free: it runs
# every derivative again. And with retain_graph=True in the last pass too, all that was saved is still there.
# Hint: Add the losses first; then one pass serves them all.
def pay_in(losses):
    for loss in losses:
        loss.backward(retain_graph=True)


# %% wrong="pay_in" misconception="M3"
# Shows: The gradients are right and nothing is kept, and still the trunk was walked once for each loss: a second
# backward costs a whole pass.
# Hint: Let the losses meet before you go back: one pass from their sum.
def pay_in(losses):
    for loss in losses[:-1]:
        loss.backward(retain_graph=True)
    losses[-1].backward()


# %% wrong="pay_in" misconception="M3"
# Shows: The second pass met a trunk whose saved values the first one had freed: a second backward over the same
# operations is not to be had for nothing.
# Hint: You could keep them, and pay with memory and with a second walk. Or go back once, for all losses together.
def pay_in(losses):
    for loss in losses:
        loss.backward()


# %% wrong="pay_in"
# Shows: One pass, and the right gradients; but retain_graph=True has kept what was saved, for a pass that never comes.
# Hint: If you go back only once, you have no use for retain_graph.
def pay_in(losses):
    sum(losses).backward(retain_graph=True)


# %% wrong="pay_in"
# Shows: The gradients are right, and the first loss has become the sum of all: it belongs to the caller.
# Hint: `+=` on a tensor writes into it. Use `total = total + loss`, or `sum(losses)`.
def pay_in(losses):
    total = losses[0]
    for loss in losses[1:]:
        total += loss
    total.backward()


# %% wrong="pay_in"
# Shows: Nothing was paid in: x.grad is None after the call.
# Hint: backward() pays into `.grad`. Call it once, on the sum of the losses.
def pay_in(losses):
    return sum(losses)


# %% wrong="pay_in"
# Shows: The gradient is that of the mean of the losses.
# Hint: What each loss gives is to be added, not divided by the number of losses.
def pay_in(losses):
    (sum(losses) / len(losses)).backward()


# %% wrong="pay_in"
# Shows: Only the last loss was asked.
# Hint: Every loss sends its gradient down the trunk.
def pay_in(losses):
    losses[-1].backward()


# %% [markdown]
# ## 5. A thrifty curve of your own
#
# **2 points, 9 minutes.** Design a function `curve(x)`. It gets a tensor x, and returns a tensor of the same shape.
# Each number of the result depends only on the number at the same place in x. There are four conditions:
#
# - At least four operations are recorded.
# - The curve rises everywhere between −2 and 2: its slope is positive.
# - It is not a straight line.
# - It keeps *at most one* array of x's size for backward. (Single numbers, such as the 2 in `2 * x`, do not count. x
#   itself counts, if an operation keeps it.)
#
# For example, `x.exp().tanh() * 2 + 1` is refused: exp and tanh keep an array each.


# %% answer="thrifty" points=2 minutes=9
def curve(x):
    ### BEGIN SOLUTION
    return 3 * (x + 1).tanh() + x
    ### END SOLUTION


# %%
check("thrifty")

# %% probes="thrifty"
import minigrad
import numpy as np
from minigrad.saving import evidence


def grid():
    return minigrad.linspace(-2, 2, 101).detach().requires_grad_()


def result():
    x = grid()
    return x, curve(x)


def operations():
    seen, waiting = set(), [result()[1].grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and entry not in seen and entry.name() != "AccumulateGrad":
            seen.add(entry)
            waiting += [before for before, _ in entry.next_functions]
    return len(seen)


def slopes():
    x, y = result()
    y.sum().backward()
    return x.grad.numpy()


rises = bends = slopes


@referee
def rises(gradient):
    return (np.array(gradient) > 0).all()


@referee
def bends(gradient):
    return np.ptp(gradient) > 1e-3


def arrays_kept():
    kept = []
    with minigrad.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        everything = result()
    places = {t.numpy().__array_interface__["data"][0] for t in kept if t.numel() >= 101}
    return len(places) if everything else 0


def alone():
    x = minigrad.tensor([-1.5, -0.3, 0.7])
    return list(zip(curve(x).tolist(), [curve(one).item() for one in x.reshape(3, 1)]))


@referee
def alone(pairs):
    return all(abs(together - single) <= 1e-9 * max(1, abs(single)) for together, single in pairs)


def nudging_agrees():
    return evidence.sent_slopes(lambda x: curve(x).sum(), [-1.5, -0.3, 0.7])


@referee
def nudging_agrees(rows):
    return evidence.slopes_agree(rows)


# Hint: The curve should give one number for each element of x.
result()[1].shape == (101,)
# Hint: Each number of the result should depend on its own number of x alone: no sum, mean or running sum over x.
alone()
# Hint: At least four operations should be recorded.
operations() >= 4
# Hint: Backward and a nudge give different slopes: is a part of the curve cut off, by `detach` or `no_grad`?
nudging_agrees()
# Hint: The slope should be positive everywhere between −2 and 2.
rises()
# Hint: The slope is the same everywhere: this is a straight line.
bends()
# Hint: More than one array of x's size is kept for backward. exp and tanh keep one each, their result; a square keeps
# its operand; + and a number times x keep none.
arrays_kept() <= 1

# %% [markdown] hints="thrifty"
# 1. Go through the table of the lesson: which operations keep nothing? With those you can make as many entries as you
# like, and only straight lines.
# 2. For the bend you need one operation that keeps something, and it should keep one array. It must not fall anywhere.
# 3. exp keeps its result, and so does tanh. `3 * (x + 1).tanh() + x` has four operations; make another.

# %% [markdown] shows="thrifty"
# Memory depends on what the derivatives read, not on how many operations ran: sums, and products with a constant, keep
# no array.


# %% wrong="thrifty"
# Shows: The curve bends and rises, but it keeps more than one array.
# Hint: Count with the table: each exp, tanh or sigmoid keeps its result, and each product of two arrays both of them.
def curve(x):
    return ((x + 1).tanh() + x).exp()


# %% wrong="thrifty"
# Shows: Nothing is kept, but it is a straight line: the slope is the same everywhere.
# Hint: An operation whose slope changes with x has to keep something to know it by. Put in one such operation.
def curve(x):
    return (2 * x + 1) * 3 + x


# %% wrong="thrifty"
# Shows: The curve falls somewhere, or stands still.
# Hint: x² falls left of 0, cos falls and rises. exp, tanh and sigmoid rise everywhere.
def curve(x):
    return 3 * (x + 1) ** 2 + x


# %% wrong="thrifty"
# Shows: Fewer than four operations are recorded.
# Hint: Sums with numbers and products with numbers are operations, and keep no array.
def curve(x):
    return 2 * x.exp()


# %% wrong="thrifty"
# Shows: The curve is cut off from x: nothing is recorded, and there is no slope.
# Hint: Leave no_grad and detach out: the curve must be recorded, and keep little all the same.
def curve(x):
    with mg.no_grad():
        return 3 * (x + 1).tanh() + x


# %% wrong="thrifty"
# Shows: Part of the curve was cut off with detach. Backward gives a slope that nudging contradicts.
# Hint: A detached value is a constant to backward, and moves all the same. Save memory by choosing operations.
def curve(x):
    return 3 * (x + 1).tanh() + x + x.exp().detach() - 1


# %% wrong="thrifty"
# Shows: The curve gives one number. It must give one for each element of x.
# Hint: Leave the sum out.
def curve(x):
    return (3 * (x + 1).tanh() + x).sum()


# %% [markdown]
# ## What you have now
#
# You can read off any code what is recorded and what is kept. When memory grows, or a gradient is off by a factor, ask
# first: which saved values are alive, whose account is it, and how many walks were there?
#
# **Next**: [07 Tapes and transforms](../lessons/07_tapes_and_transforms.ipynb).
