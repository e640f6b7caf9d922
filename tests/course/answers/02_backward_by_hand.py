{
    "right: by_hand: floats": "dL_ds, dL_dp, dL_dw, dL_dy, dL_dx = 2.0, 2.0, 2.0, 4.0, 1.6e1",
    "wrong: repair: values of equal numbers are taken for one": {
        "y.grad =": "seen = set()\n    y.grad =",
        "reversed(history(y)):": "reversed(history(y)):\n        if v.data in seen: continue\n        seen.add(v.data)",
    },
    "wrong: repair: a thousand steps and no more": {"reversed(history(y))": "[*reversed(history(y))][:1000]"},
    "wrong: referee: points above zero alone": {"in points": "in points if x > 0"},
    "wrong: repair: the engine's walk by way of its class": "def backward(y):\n    mg.Value.backward(y)",
    "right: trap: another formula": {"s = x * x": "t = x.exp()", "s + s.exp": "t * t.tanh"},
    "wrong: trap: the short way stands on the right": {"s = x * x": "s = x.exp()", "s + s.exp()": "s"},
    "wrong: trap: for x above 1": {"s.exp()": "s.exp() if x.data > 1 else s"},
    "right: by_hand: fractions and values": "from fractions import Fraction\ndL_ds, dL_dp, dL_dw, dL_dy, dL_dx = Fraction(4, 2), 2.0, mg.Value(2), mg.tensor(4.0), 16",
    "right: twice: tensors": "first, second, third = mg.tensor(7.0), mg.tensor([14.0])[0], 7",
    "wrong: repair: two thousand steps": {"reversed(history(y))": "list(reversed(history(y)))[:2000]"},
    "wrong: repair: only the first parent twice": {
        "parent.grad += v.grad * slope": "parent.grad += abs(v.grad * slope)"
    },
    "right: referee: a list of names": {
        "return sorted(name for name, f in functions.items() if wrong(f))": "names = [name for name, f in functions.items() if wrong(f)]\n    names.sort()\n    return names"
    },
    "wrong: referee: the last point": {"for x in points)": "for x in points[-1:])"},
    "wrong: trap: for x below 1": {"return s + s.exp()": "return s + s"},
}
# %% right: twice: by the engine
def _passes():
    x = mg.Value(3.0)
    for _ in range(2):
        (x * x + x).backward()
        yield x.grad
    x.grad = 0.0
    (x * x + x).backward()
    yield x.grad


first, second, third = _passes()
# %% right: repair: those that wait are counted
def backward(y):
    users = {}
    for v in history(y):
        for parent, _ in v.parents:
            users[parent] = users.get(parent, 0) + 1
    y.grad += 1
    free = [y]
    while free:
        v = free.pop()
        for parent, slope in v.parents:
            parent.grad += slope * v.grad
            users[parent] -= 1
            if not users[parent]:
                free.append(parent)
# %% right: repair: each asks its children
def backward(y):
    nodes = history(y)
    children = {v: [] for v in nodes}
    for v in nodes:
        for parent, slope in v.parents:
            children[parent].append((v, slope))
    for v in nodes[::-1]:
        v.grad = 1.0 if v is y else sum(child.grad * slope for child, slope in children[v])
# %% wrong: repair: a recursion that goes on from each path
def backward(y, g=1.0):
    y.grad += g
    for parent, slope in y.parents:
        backward(parent, g * slope)
# %% right: referee: loops, a set, and the error itself
def suspects(functions, points):
    bad = set()
    for x in points:
        for name in functions:
            try:
                mg.gradcheck(functions[name], mg.tensor(1.0 * x))
            except Exception:
                bad.add(name)
    return tuple(sorted(bad))
# %% right: referee: a nudge of one's own
def suspects(functions, points):
    def wrong(f, number):
        x = mg.tensor(float(number), requires_grad=True)
        f(x).backward()
        h = 1e-5
        nudged = (f(mg.tensor(number + h)).item() - f(mg.tensor(number - h)).item()) / (2 * h)
        return abs(nudged - x.grad.item()) > 1e-4

    return sorted({name for name, f in functions.items() for x in points if wrong(f, x)})
# %% wrong: referee: the two that are given
def suspects(functions, points):
    return sorted(name for name in functions if name in ("cube", "slow"))
# %% wrong: referee: the first suspect alone
def suspects(functions, points):
    for name in sorted(functions):
        if not all(mg.gradcheck(functions[name], mg.tensor(float(x)), raise_exception=False) for x in points):
            return [name]
    return []
# %% wrong: referee: a coarse nudge
def suspects(functions, points):
    def wrong(f, number):
        x = mg.tensor(float(number), requires_grad=True)
        f(x).backward()
        return abs(f(mg.tensor(number + 1.0)).item() - f(mg.tensor(number - 1.0)).item() - 2 * x.grad.item()) > 3

    return sorted({name for name, f in functions.items() for x in points if wrong(f, x)})
# %% wrong: repair: the gradient of the leaves is set, not added
def backward(y):
    grad = dict.fromkeys(history(y), 0.0)
    grad[y] = 1.0
    for v in reversed(history(y)):
        for parent, slope in v.parents:
            grad[parent] += grad[v] * slope
    for v in history(y)[:1]:
        v.grad = grad[v]
# %% right: repair: the parents of each value are read again and again
def backward(y):
    y.grad = 1.0
    for v in history(y)[::-1]:
        for i in range(len(v.parents)):
            v.parents[i][0].grad += v.grad * v.parents[i][1]
