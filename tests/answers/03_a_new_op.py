# %% right: softplus: logaddexp, and the slope from the result
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.logaddexp(0, x * self.beta) / self.beta

    def partials(self, y, x):
        return (1 - (-self.beta * y).exp(),)


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


# %% wrong: softplus: right where x is above 0
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        return xp.log(1 + xp.exp(self.beta * abs(x))) / self.beta

    def partials(self, y, x):
        return ((self.beta * x).sigmoid(),)


# %% right: squares: methods of the array
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return (x**2).sum(axis=self.axes, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return ((x + x) * self.spread(gy, x).broadcast_to(x.shape),)


# %% wrong: squares: along the last axis, whatever was asked
@dataclass(frozen=True)
class SumOfSquares(Reduction):
    def jvp(self, dxs, y, x):
        return (2 * x * dxs[0]).sum(self.axes, self.keepdims)

    def forward(self, xp, x):
        return xp.sum(x * x, axis=-1, keepdims=self.keepdims)

    def vjp(self, gy, y, x):
        return (2 * x * self.spread(gy, x),)


# %% right: running_total: a matrix product
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        import numpy as np

        n = x.shape[0]
        return mg.tensor(np.triu(np.ones((n, n)))) @ gy


# %% right: running_total: a matrix product from the other side, and forwards too
class RunningTotal(Linear):
    def infer(self, x):
        return x.with_shape(x.shape)

    def forward(self, xp, x):
        return xp.tril(xp.ones((len(x), len(x)))) @ x

    def adjoint(self, gy, x):
        import numpy as np

        return gy @ mg.tensor(np.tril(np.ones(2 * x.shape)))


# %% right: running_total: a sum of products
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.add.accumulate(x)

    def adjoint(self, gy, x):
        import numpy as np

        n = x.shape[0]
        return (mg.tensor(np.tril(np.ones((n, n)))) * gy.reshape(n, 1)).sum(0)


# %% right: running_total: einsum
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x, axis=0)

    def adjoint(self, gy, x):
        import numpy as np

        return mg.einsum("ij,i->j", mg.tensor(np.tril(np.ones((x.shape[0], x.shape[0])))), gy)


# %% right: running_total: sums of what is left, stacked
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.stack([x[: i + 1].sum() for i in range(len(x))])

    def adjoint(self, gy, x):
        return mg.stack([gy[i:].sum() for i in range(x.shape[0])])


# %% right: running_total: all, less what came before
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return gy.sum() - gy.cumsum(0) + gy


# %% wrong: running_total: a matrix product, not transposed
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        import numpy as np

        return mg.tensor(np.tril(np.ones((x.shape[0], x.shape[0])))) @ gy


# %% wrong: running_total: of up to five
class RunningTotal(Linear):
    def infer(self, x):
        return x

    def forward(self, xp, x):
        return xp.cumsum(x)

    def adjoint(self, gy, x):
        return mg.stack([gy[i : i + 5].sum() for i in range(x.shape[0])])


# %% right: own: a quotient
class MyOp(Elementwise):
    def forward(self, xp, x):
        return x / (1 + abs(x))

    def partials(self, y, x):
        return ((1 + x.abs()) ** -2,)


# %% right: own: a power
class MyOp(Elementwise):
    def forward(self, xp, x):
        return x**3 + x

    def partials(self, y, x):
        return (3 * x * x + 1,)


# %% wrong: own: an op of the engine's that is not among its best known
class MyOp(Elementwise):
    def forward(self, xp, x):
        return xp.expm1(x)

    def partials(self, y, x):
        return (x.exp(),)


# %% wrong: own: an activation that the engine has
class MyOp(Elementwise):
    def forward(self, xp, x):
        return x / (1 + xp.exp(-x))

    def partials(self, y, x):
        return (x.sigmoid() * (1 + x * (1 - x.sigmoid())),)


# %% wrong: softplus: half of it NumPy's
@dataclass(frozen=True)
class Softplus(Elementwise):
    beta: float

    def forward(self, xp, x):
        import numpy as np

        return xp.log(1 + np.exp(self.beta * x)) / self.beta

    def partials(self, y, x):
        return ((self.beta * x).sigmoid(),)


# %% wrong: own: a square
class MyOp(Elementwise):
    def forward(self, xp, x):
        return x * x

    def partials(self, y, x):
        return (2 * x,)


# %% wrong: own: a reciprocal
class MyOp(Elementwise):
    def forward(self, xp, x):
        return 1 / x

    def partials(self, y, x):
        return (-1 / (x * x),)
