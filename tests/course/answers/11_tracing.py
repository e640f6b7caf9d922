{
    "wrong: huber: a border of its own": {"(x) <= 1": "(x) <= 2"},
    "wrong: effects: the smallest": {"x.max()": "x.min()"},
    "wrong: effects: noise from −1 to 1": {"mg.rand(())": "2 * mg.rand(()) + 1"},
    "wrong: effects: largest in absolute value": {"x.max()": "abs(x).max()"},
    "wrong: own_function: a branch of Python's": {"if x > 10": "if True", "9 - 0.1 * x.sqrt()": "9"},
    "wrong: huber: not continuous": {"(x) - 0.5": "(x) - 1"},
    "wrong: one_trace: lengths up to four": {".mean()": ".sum() / 4"},
    "wrong: huber: at 1 the other half": {"abs(x) <= 1": "abs(x) <= 1.02"},
    "wrong: effects: noise of a seed": {"mg.rand(())": "mg.tensor(0.25)"},
    "wrong: one_trace: rate of a first call": {"rate * 2": "0.1 * 2"},
    "right: one_trace: in two lines": {
        "return w - rate * 2 * ((w * x - y) * x).mean()": "error = w * x - y\n    return w - (2 * rate) * (error * x).mean()"
    },
    "right: effects: the noise first": {"calls.add_(1)": "calls.copy_(calls + 1)"},
    "wrong: own_function: without a branch for the gradient":
        {"x = x * 0.9 - 0.1 * x.sqrt()": "x = (x * 0.9 - 0.1 * x.sqrt()).detach()"},
    "right: effects: an edit of all elements": {
        "calls.add_(1)": "global calls\n    calls += 1", "x * 2": "2 * x",
        "largest.copy_(mg.maximum(largest, x.max()))": "largest[...] = mg.maximum(x.max(), largest)",
    },
}
# %% right: huber: where
@mg.function
def huber(x):
    return mg.where(abs(x) <= 1, x * x / 2, abs(x) - 0.5)
# %% right: huber: two returns, the outer one first
@mg.function(input_signature=[mg.TensorSpec(())])
def huber(x):
    if x.abs() > 1:
        return x.abs() - 0.5
    return 0.5 * x**2
# %% right: effects: chosen by where
calls, largest = mg.tensor(0), mg.tensor(-math.inf)


@mg.function
def watched(x):
    calls.copy_(calls + 1)
    top = x.max()
    largest.copy_(mg.where(top > largest, top, largest))
    return x + x + mg.rand(())
# %% right: one_trace: a function that is traced inside
def _new(w, x, y, rate):
    e = w * x - y
    return w - 2 * rate * (e * x).sum() / x.shape[0]


step = mg.function(_new, input_signature=[mg.TensorSpec(s) for s in ((), (None,), (None,), ())])
# %% right: own_function: a decision behind the loop
@mg.function
def mine(x):
    y = x
    while y > 2:
        y = y.sqrt() * 1.1
    if y > 1.5:
        y = y * y
    else:
        y = y + x.log()
    return y
# %% right: one_trace: by the engine's gradient
@mg.function(input_signature=[mg.TensorSpec(()), mg.TensorSpec((None,)), mg.TensorSpec((None,)), mg.TensorSpec(())])
def step(w, x, y, rate):
    v = w.detach().requires_grad_() if hasattr(w, "detach") else w
    return w - rate * (2 * x * (w * x - y)).mean()
# %% wrong: huber: the border at 0.9
@mg.function
def huber(x):
    y = abs(x) - 0.5
    if abs(x) < 0.9:
        y = x * x / 2
    return y
# %% right: huber: two borders in one comparison
@mg.function
def huber(x):
    if -1 <= x <= 1:
        return x * x / 2
    return abs(x) - 0.5
