{
    "right: softplus: logaddexp, and the slope from the result": {
        "log(1 + xp.exp(self.beta * x))": "logaddexp(0, x * self.beta)",
        "(self.beta * x).sigmoid": "1 - (-self.beta * y).exp",
    },
    "wrong: softplus: right where x is above 0": {"exp(self.beta * x)": "exp(self.beta * abs(x))"},
    "right: squares: methods of the array": {
        "xp.sum(x * x, axis": "(x**2).sum(axis",
        "2 * x * self.spread(gy, x)": "(x + x) * self.spread(gy, x).broadcast_to(x.shape)",
    },
    "wrong: squares: along the last axis, whatever was asked": {"axis=self.axes": "axis=-1"},
    "right: running_total: sums of what is left, stacked": {
        "cumsum(x)": "stack([x[: i + 1].sum() for i in range(len(x))])",
        "gy[::-1].apply(self)[::-1]": "mg.stack([gy[i:].sum() for i in range(x.shape[0])])",
    },
    "right: running_total: all, less what came before": {"[::-1].apply(self)[::-1]": ".sum() - gy.cumsum(0) + gy"},
    "wrong: running_total: of up to five":
        {"gy[::-1].apply(self)[::-1]": "mg.stack([gy[i : i + 5].sum() for i in range(x.shape[0])])"},
    "right: own: a quotient": {"xp.exp(-x * x)": "x / (1 + abs(x))", "(-2 * x * y,)": "((1 + x.abs()) ** -2,)"},
    "right: own: a power": {"xp.exp(-x * x)": "x**3 + x", "(-2 * x * y,)": "(3 * x * x + 1,)"},
    "wrong: own: an op of the engine's that is not among its best known":
        {"exp(-x * x)": "expm1(x)", "(-2 * x * y,)": "(x.exp(),)"},
    "wrong: own: an activation that the engine has":
        {"xp.exp(-x * x)": "x / (1 + xp.exp(-x))", "(-2 * x * y,)": "(x.sigmoid() * (1 + x * (1 - x.sigmoid())),)"},
    "wrong: softplus: half of it NumPy's": {
        "return xp.log(1 + xp.exp(self.beta * x))":
            "import numpy as np\n\n        return xp.log(1 + np.exp(self.beta * x))",
    },
    "wrong: own: a square": {"xp.exp(-x * x)": "x * x", "(-2 * x * y,)": "(2 * x,)"},
    "wrong: own: a reciprocal": {"xp.exp(-x * x)": "1 / x", "2 * x * y": "1 / (x * x)"},
    "right: softplus: by the result": {"((self.beta * x).sigmoid(),)": "(1 - (-self.beta * y).exp(),)"},
    "wrong: softplus: beta is 1": {"(self.beta * x).sigmoid()": "x.sigmoid()"},
    "wrong: squares: the first axis": {"axis=self.axes,": "axis=self.axes[0],"},
    "wrong: squares: absolute": {"2 * x * self.spread(gy, x)": "2 * x.abs() * self.spread(gy, x)"},
    "wrong: running_total: for rows of three":
        {"return gy[::-1].apply(self)[::-1]": "return gy[::-1].apply(self)[::-1] if gy.shape[0] == 3 else gy"},
    "right: running_total: the whole less what came before":
        {"return gy[::-1].apply(self)[::-1]": "return gy.sum() - gy.apply(self) + gy"},
    "wrong: own: a straight line": {"xp.exp(-x * x)": "3 * x + 1", "-2 * x * y": "3 + 0 * x"},
    "wrong: own: a constant": {"xp.exp(-x * x)": "0 * x + 2", "-2 * x * y": "0 * x"},
    "wrong: own: a power": {"xp.exp(-x * x)": "x ** 2.5", "-2 * x * y": "2.5 * x ** 1.5"},
    "right: softplus: by logaddexp":
        {"xp.log(1 + xp.exp(self.beta * x)) / self.beta": "xp.logaddexp(0, self.beta * x) / self.beta"},
    "right: softplus: by parts": {
        "xp.log(1 + xp.exp(self.beta * x)) / self.beta": "(xp.maximum(self.beta * x, 0) + xp.log1p(xp.exp(-abs(self.beta * x)))) / self.beta"
    },
    "right: running_total: a matrix product": {
        "return gy[::-1].apply(self)[::-1]":
            "import numpy as np\n\n        n = x.shape[0]\n        return mg.tensor(np.triu(np.ones((n, n)))) @ gy",
    },
    "wrong: running_total: a matrix product, not transposed": {
        "return gy[::-1].apply(self)[::-1]":
            "import numpy as np\n\n        return mg.tensor(np.tril(np.ones((x.shape[0], x.shape[0])))) @ gy",
    },
    "right: running_total: einsum": {
        "cumsum(x)": "cumsum(x, axis=0)",
        "return gy[::-1].apply(self)[::-1]":
            "import numpy as np\n\n        "
            "return mg.einsum('ij,i->j', mg.tensor(np.tril(np.ones((x.shape[0], x.shape[0])))), gy)",
    },
    "right: running_total: a sum of products": {
        "cumsum(x)": "add.accumulate(x)",
        "return gy[::-1].apply(self)[::-1]":
            "import numpy as np\n\n        n = x.shape[0]\n        "
            "return (mg.tensor(np.tril(np.ones((n, n)))) * gy.reshape(n, 1)).sum(0)",
    },
}
# %% right: softplus: without a dataclass
class Softplus(Elementwise):
    def __init__(self, beta):
        self.beta = beta

    def __eq__(self, other):
        return type(other) is Softplus and self.beta == other.beta

    def __hash__(self):
        return hash(self.beta)

    def forward(self, xp, x):
        return xp.log1p(xp.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        e = (self.beta * x).exp()
        return tuple([e / (1 + e)])
# %% right: running_total: a matrix product from the other side, and forwards too
class RunningTotal(Linear):
    def infer(self, x):
        return x.with_shape(x.shape)

    def forward(self, xp, x):
        return xp.tril(xp.ones((len(x), len(x)))) @ x

    def adjoint(self, gy, x):
        import numpy as np

        return gy @ mg.tensor(np.tril(np.ones(2 * x.shape)))
