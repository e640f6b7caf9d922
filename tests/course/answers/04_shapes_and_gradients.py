{
    "wrong: own_loss: of the first row": "def mine(s):\n    return ((s[0] - s[0].mean()) ** 2).sum()",
    "wrong: distances: the squares of one side are no part of the graph": {"(axis=1)": "(axis=1).detach()"},
    "right: shapes_by_hand: lists and floats": "first, second, third, b_grad, c_grad = [5, 2], [3, 2], [2], (6.0, 6.0), ((30,), (30,), (30,))",
    "right: layer_back: a list":
        {"return gy @ W.T, x.T @ gy, gy.sum(axis=0)": "return [gy @ W.T, x.T @ gy, gy.sum(axis=0)]"},
    "right: layer_back: by einsum": {
        "gy @ W.T, x.T @ gy, gy.sum(axis=0)": "__import__('numpy').einsum('nm,km->nk', gy, W), __import__('numpy').einsum('nk,nm->km', x, gy), __import__('numpy').einsum('nm->m', gy)"
    },
    "wrong: layer_back: a mean over rows": {"x.T @ gy,": "x.T @ gy / len(x),"},
    "wrong: squared_error: a target is stretched":
        {"p.numel() != t.numel()": "p.numel() != t.numel() and 1 not in (p.numel(), t.numel())"},
    "wrong: own_loss: for rows of two or four": {
        "return ((s - s.mean(axis=1, keepdims=True)) ** 2).sum()": "return ((s[:, 1:] - s[:, :1]) ** 2).sum() * 0 + (s[:, 0] - s[:, 1]).sum()"
    },
    "right: own_loss: by the maximum": {"s.mean(axis=1, keepdims=True)": "s.mean(axis=1, keepdims=True) * 1.0"},
    "wrong: own_loss: it ignores the scores":
        {"return ((s - s.mean(axis=1, keepdims=True)) ** 2).sum()": "return (s - s).sum()"},
    "right: distances: the product first": {
        "(a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1)": "(a @ b.T) * -2 + (a * a).sum(axis=1, keepdims=True) + (b * b).sum(axis=1)"
    },
    "wrong: distances: never below 0":
        {"(a * a).sum(axis=1, keepdims=True) - 2": "(a * a).sum(axis=1, keepdims=True) * 1.001 - 2"},
}
# %% right: shapes_by_hand: lists and arrays
first, second, third = [5, 2], mg.ones(3, 2).shape, (2,)
b_grad, c_grad = np.array([6.0, 6.0]), ((30,), (30,), (30,))
# %% right: layer_back: einsum, lists
def layer_back(x, W, gy):
    gx = np.einsum("nm,km->nk", gy, W)
    gW = np.einsum("nk,nm->km", x, gy)
    return [gx.tolist(), gW.tolist(), np.ones(len(gy)) @ gy]
# %% right: layer_back: row by row
def layer_back(x, W, gy):
    gW, gb = np.zeros_like(W), np.zeros(W.shape[1])
    for row, g in zip(x, gy):
        gW += np.outer(row, g)
        gb += g
    return np.array([W @ g for g in gy]), gW, gb
# %% right: layer_back: by the engine
def layer_back(x, W, gy):
    x, W = (mg.tensor(each, requires_grad=True) for each in (x, W))
    b = mg.zeros(W.shape[1]).requires_grad_()
    (x @ W + b).backward(mg.tensor(gy))
    return x.grad.numpy(), W.grad.numpy(), b.grad.numpy()
# %% wrong: layer_back: what arrived is written over
def layer_back(x, W, gy):
    gx, gW = gy @ W.T, x.T @ gy
    gy *= 1.5
    return gx, gW, gy.sum(0) / 1.5
# %% wrong: layer_back: axes of length one are lost
def layer_back(x, W, gy):
    return (gy @ W.T).squeeze(), (x.T @ gy).squeeze(), gy.sum(0)
# %% right: squared_error: flattened, and compared by length
def squared_error(p, t):
    if p.shape[0] != t.shape[0]:
        raise ValueError
    d = p.flatten() - t.flatten()
    return d.dot(d) / d.numel() if hasattr(d, "dot") else (d * d).sum() / d.numel()
# %% right: squared_error: the targets take the shape of the predictions
def squared_error(p, t):
    return ((p - t.reshape(p.shape)) ** 2).mean()
# %% wrong: squared_error: a single pair becomes a shape of its own
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError
    return ((p.reshape(-1, 1) - t.reshape(-1, 1)) ** 2).mean(axis=0)
# %% wrong: squared_error: the error is refused a gradient
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError
    return ((p.detach().reshape(-1) - t.reshape(-1)) ** 2).mean()
# %% right: distances: einsum
def distances(a, b):
    aa, bb = mg.einsum("nd,nd->n", a, a), mg.einsum("md,md->m", b, b)
    return aa.reshape(-1, 1) + bb.reshape(1, -1) - 2 * mg.einsum("nd,md->nm", a, b)
# %% right: own_loss: logsumexp less the mean
def mine(s):
    return (s.exp().sum(axis=1).log() - s.mean(axis=1)).sum()
# %% right: own_loss: all pairs
def mine(s):
    n, k = s.shape
    return ((s.reshape(n, k, 1) - s.reshape(n, 1, k)) ** 2).mean()
# %% wrong: own_loss: neighbours, and the last is left out
def mine(s):
    return ((s[:, 1:-1] - s[:, :-2]) ** 2).sum() + ((s[:, :1] - s[:, 1:2]) ** 2).sum()
# %% wrong: distances: of a to itself
def distances(a, b):
    return (a * a).sum(axis=1, keepdims=True) - 2 * (a @ b.T) + (b * b).sum(axis=1) * (1 if a.shape != b.shape else 1.5)
# %% right: distances: one product of longer points
def distances(a, b):
    n, m = a.shape[0], b.shape[0]
    left = mg.cat([-2 * a, (a * a).sum(axis=1, keepdims=True), mg.ones(n, 1)], 1)
    right = mg.cat([b, mg.ones(m, 1), (b * b).sum(axis=1, keepdims=True)], 1)
    return left @ right.T
# %% wrong: squared_error: rounded targets
def squared_error(p, t):
    if p.numel() != t.numel():
        raise ValueError
    return ((p.reshape(-1) - t.reshape(-1)) ** 2).sum() / 4
