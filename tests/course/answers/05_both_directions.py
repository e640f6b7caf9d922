{
    "right: dual_numbers: by the inverse, and a result that is used twice": {
        "Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)":
            "self * Dual(1 / other.x, -other.dx / (other.x * other.x))",
        "return Dual(math.exp(self.x), math.exp(self.x) * self.dx)":
            "y = np.exp(self.x)\n        return Dual(y, y * self.dx)",
        "def slope(f, x):\n    return f(Dual(x, 1.0)).dx": "slope = lambda f, x: f(Dual(float(x), 1)).dx",
    },
    "wrong: dual_numbers: operands are written over": {
        "return Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)":
            "self.dx = (self.dx * other.x - self.x * other.dx) / other.x**2\n"
            "        self.x /= other.x\n        return self",
        "return Dual(math.exp(self.x), math.exp(self.x) * self.dx)":
            "self.x = math.exp(self.x)\n        self.dx *= self.x\n        return self",
    },
    "wrong: dual_numbers: the sign of what is divided by is lost": {"other.x -": "abs(other.x) -"},
    "wrong: jacobian_on_a_budget: the smaller side, transposed": {"if n <= m": "if n < m", ", axis=1": ""},
    "right: columns_and_rows: tensors and tuples": "column, row, both, forward_passes, reverse_passes = mg.tensor([4.0, 36.0]), (36, 24), [2.0, 12.0], 5.0, 3",
    "wrong: dual_numbers: f runs twice":
        {"return f(Dual(x, 1.0)).dx": "f(Dual(x, 0.0))\n    return f(Dual(x, 1.0)).dx"},
    "wrong: dual_numbers: absolute": {"/ other.x**2": "/ abs(other.x) ** 2 * (1 if other.x > 0 else -1)"},
    "right: dual_numbers: by the quotient": {
        "Dual(self.x / other.x, (self.dx * other.x - self.x * other.dx) / other.x**2)": "Dual(self.x / other.x, (self.dx - self.x / other.x * other.dx) / other.x)"
    },
    "right: jacobian_on_a_budget: lists": {
        "return np.stack([pull(f, x, gy).numpy() for gy in mg.eye(m)])": "return [pull(f, x, gy).tolist() for gy in mg.eye(m)]"
    },
    "right: jacobian_on_a_budget: a tensor": {
        "return np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)], axis=1)": "return mg.tensor(np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)], axis=1))"
    },
    "right: wrong_directions: a set": {"return wrong if": "return set(wrong) if"},
    "wrong: causal: it ignores its input": {"return x.tanh().cumsum(0)": "return (x * 0 + 1).cumsum(0)"},
    "right: causal: squares": {"x.tanh().cumsum(0)": "(x * x).cumsum(0)"},
}
# %% right: columns_and_rows: tuples and floats
column, row, both, forward_passes, reverse_passes = (4.0, 36.0), np.array([36, 24]), (2, 12.0), 5.0, 3
# %% right: jacobian_on_a_budget: filled in, place by place
def jacobian(f, x):
    (n,), (m,) = x.shape, f(x).shape
    J = np.zeros((m, n))
    for i in range(min(n, m)):
        if n < m:
            J[:, i] = push(f, x, mg.eye(n)[i]).numpy()
        else:
            J[i] = pull(f, x, mg.eye(m)[i]).numpy()
    return J.tolist()
# %% right: wrong_directions: a set, and along each input
def wrong_directions(f, x):
    found = set()
    y, back = mg.func.vjp(f, x)
    gy = mg.tensor(np.random.default_rng(1).normal(size=y.shape))
    gx = back(gy)[0].numpy()
    for i, dx in enumerate(mg.eye(x.shape[0])):
        moved = (f(x + 1e-5 * dx).numpy() - f(x - 1e-5 * dx).numpy()) / 2e-5
        if abs(mg.func.jvp(f, (x,), (dx,))[1].numpy() - moved).max() > 1e-4:
            found.add("forward")
        if abs((gy.numpy() * moved).sum() - gx[i]) > 1e-4:
            found.add("reverse")
    return found
# %% wrong: wrong_directions: one direction, of ones
def wrong_directions(f, x):
    y, back = mg.func.vjp(f, x)
    dx, gy = mg.ones(*x.shape), mg.ones(*y.shape)
    moved = ((f(x + 1e-5 * dx) - f(x - 1e-5 * dx)) / 2e-5).numpy()
    wrong = [] if np.allclose(mg.func.jvp(f, (x,), (dx,))[1].numpy(), moved, rtol=1e-4) else ["forward"]
    return wrong + ([] if np.isclose((back(gy)[0] * dx).sum().item(), moved.sum(), rtol=1e-4) else ["reverse"])
# %% right: causal: a running product
def causal(x):
    return x.cumprod(0) if hasattr(x, "cumprod") else x.log().cumsum(0).exp()
# %% right: causal: what lies further back counts less
def causal(x):
    n = x.shape[0]
    weights = mg.tensor(0.5 ** np.arange(n))
    return (x.tanh() / weights).cumsum(0) * weights
# %% right: causal: a triangle of ones
def causal(x):
    return mg.tensor(np.tril(np.ones((x.shape[0], x.shape[0])))) @ (x * x)
# %% wrong: causal: a window of four
def causal(x):
    band = sum(np.eye(x.shape[0], k=-i) for i in range(4))
    return mg.tensor(band) @ x.tanh()
# %% wrong: causal: a window of sixteen
def causal(x):
    band = sum(np.eye(x.shape[0], k=-i) for i in range(16))
    return mg.tensor(band) @ x.tanh()
# %% wrong: causal: not for one number
def causal(x):
    first, rest = x[:1], x[1:]
    return mg.cat([first * first, (rest.tanh().cumsum(0) + first)]) if x.shape[0] > 1 else x.sum() * x.sum()
# %% wrong: jacobian_on_a_budget: a run of both
def jacobian(f, x):
    n, m = x.shape[0], f(x).shape[0]
    columns = np.stack([push(f, x, dx).numpy() for dx in mg.eye(n)], axis=1)
    return columns if n <= m else np.stack([pull(f, x, gy).numpy() for gy in mg.eye(m)])
# %% wrong: wrong_directions: gradcheck for both
def wrong_directions(f, x):
    return [] if mg.gradcheck(f, x, raise_exception=False) else ["forward", "reverse"]
# %% wrong: causal: every second input
def causal(x):
    mask = np.tril(np.ones((x.shape[0], x.shape[0])))
    mask[:, 1::2] *= np.eye(x.shape[0])[:, 1::2]
    return mg.tensor(mask) @ (x * x)
