{
    "right: accounts: floats": "x_after_two, x_grad, a_grad, b_grad, c_grad = 72.0, 36.0, 12.0, 12, 12",
    "wrong: census: a thousand entries": {"waiting:": "waiting and len(seen) < 1000:"},
    "right: shares: the engine's": "def shares(x):\n    return x.softmax(0)",
    "right: pay_in: stacked": "def pay_in(losses):\n    mg.stack(losses).sum().backward()",
    "wrong: pay_in: three at most": "def pay_in(losses):\n    sum(losses[:3]).backward()",
    "right: thrifty: exp": "def curve(x):\n    return (x / 2).exp() + 2 * x - 1",
    "wrong: thrifty: x itself is kept": "def curve(x):\n    return x * x * x + 2 * x + 1",
    "right: thrifty: exp of a quotient, less a constant": "def curve(x):\n    return mg.exp(x / 3) / 2 - 1 + x",
    "wrong: thrifty: three operations and a sign that goes away": "def curve(x):\n    return x.tanh() + x",
    "wrong: thrifty: a step, which stands still": "def curve(x):\n    return ((x * 1.0 + 1).relu() * 2 + 1) - 1",
    "wrong: census: leaves that are used twice": {
        "entry not in seen": '(entry not in seen or entry.name() == "AccumulateGrad")'
    },
    "right: shares: by the largest": {"x.exp()": "(x - x.max()).exp()", "e / e.sum()": "e * (1 / e.sum())"},
    "wrong: shares: of two or more": {"e.sum()": "(e.sum() if x.shape[0] > 1 else 1)"},
    "right: thrifty: sigmoid": {"return 3 * (x + 1).tanh() + x": "y = (x * 2 - 0.5).sigmoid()\n    return y * 4 + 1"},
    "wrong: shares: as if the total did not move": {"e.sum()": "e.sum().detach()"},
    "right: accounts: tensors": "x_after_two, x_grad, a_grad, b_grad, c_grad = mg.tensor(72.0), 36.0, 12, mg.tensor(12.0), 12",
    "wrong: shares: of the sizes": {"x.exp()": "x.abs().exp()"},
    "right: shares: without the largest": {"e = x.exp()": "e = (x - x.max().detach()).exp()"},
    "wrong: pay_in: of two losses": {"sum(losses).backward()": "sum(losses[:2]).backward()"},
    "wrong: thrifty: it ignores x": {"3 * (x + 1).tanh() + x": "(x * 0 + 1).tanh() * 3 + 1"},
    "wrong: thrifty: on top of a mean": {"3 * (x + 1).tanh() + x": "(x.exp() + x.mean()) * 2 - 3"},
    "wrong: thrifty: running sums": {"3 * (x + 1).tanh() + x": "(x.exp().cumsum(0) + 1) * 2 - 3"},
    "wrong: census: one for each name": {"counts.get(entry.name(), 0) + 1": "1"},
}
# %% right: census: a Counter, in breadth
def census(y):
    from collections import Counter, deque

    found, todo = [], deque([y.grad_fn])
    seen = set()
    while todo:
        entry = todo.popleft()
        if entry is None or entry in seen:
            continue
        seen.add(entry)
        found.append(entry.name())
        todo.extend(before for before, _ in entry.next_functions)
    return Counter(found)
# %% right: census: a dictionary of what was seen
def census(y):
    seen, todo = {}, [y.grad_fn] if y.grad_fn else []
    while todo:
        if (entry := todo.pop()) not in seen:
            seen[entry] = entry.name()
            todo += filter(None, next(zip(*entry.next_functions), ()))
    return {name: sum(1 for each in seen.values() if each == name) for name in {*seen.values()}}
# %% right: pay_in: one by one
def pay_in(losses):
    total, *others = losses
    for loss in others:
        total = total + loss
    total.backward()
# %% wrong: pay_in: not on top of what was there
def pay_in(losses):
    total = sum(losses)
    for leaf in _leaves(total.grad_fn):
        leaf.grad = None
    total.backward()


def _leaves(entry):
    if entry is None:
        return
    if entry.name() == "AccumulateGrad":
        yield entry.variable
    for before, _ in entry.next_functions:
        yield from _leaves(before)
# %% wrong: census: by id
def census(y):
    counts, seen, waiting = {}, set(), [y.grad_fn]
    while waiting:
        entry = waiting.pop()
        if entry is not None and id(entry) not in seen:
            seen.add(id(entry))
            counts[entry.name()] = counts.get(entry.name(), 0) + 1
            waiting += [before for before, _ in entry.next_functions]
    return counts
# %% right: census: a list of what was seen
def census(y):
    seen, waiting = [], [y.grad_fn]
    while waiting:
        entry = waiting.pop(0)
        if entry is None or entry in seen:
            continue
        seen.append(entry)
        waiting.extend(pair[0] for pair in entry.next_functions)
    names = [entry.name() for entry in seen]
    return {name: names.count(name) for name in names}
# %% right: pay_in: a total that starts at nothing
def pay_in(losses):
    total = 0
    for loss in losses:
        total += loss
    total.backward()
# %% wrong: thrifty: straight for backward, and bent
def curve(x):
    return x.exp().detach() + x + 1 + 1 + 1
