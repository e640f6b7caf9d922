"""vmap of random functions, inside derivatives, compilers and another vmap. The oracle is a loop over the slices.

A default run takes a share of the blocks; `--tier all` takes all of them.
"""

import random
import re
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import func

BLOCKS, BLOCK = 120, 20
LINES = re.split(
    r"\s\s+|\n",
    """\
{a}.sin()  {a}.tanh()*{b}  {a}+{b}  {a}*{b}  {a}-2*{b}  {a}/({b}*{b}+1)  {a}.exp()  {a}.relu()  ({a}*{a}+1).sqrt()
{a}.maximum({b})  {a}.where({b}>0,{b})  {a}.abs()**1.5  {a}.clamp(-1,1)  {a}.logaddexp({b})  {a}.atan2({b}+9)
{a}.sum()  {a}.mean()  {a}.max()  {a}.amin()  {a}.prod()  {a}.var(correction=0)  {a}.std(correction=0)  {a}.norm()
{a}.sum({k})  {a}.mean({k},True)  {a}.amax({k})  {a}.max({k}).values  {a}.min(dim={k},keepdim=True).values
{a}.prod({k})  {a}.var({k},correction=0)  {a}.norm(1,{k})  {a}.norm(3,{k})  {a}.logsumexp({k})  {a}.softmax({k})
{a}.log_softmax({k})  {a}.median()  {a}.median({k}).values  {a}.cumsum({k})  {a}.cumprod({k})  {a}.logcumsumexp({k})
{a}.cummax({k}).values  {a}.sort({k}).values  {a}.topk(1,{k}).values  {a}.flip({k})  {a}.roll(1,{k})
{a}.unsqueeze({k})  {a}.movedim({k},0)  {a}.mT  {a}@{b}  {a}@{b}.mT  {a}.reshape(-1)  {a}[0]  {a}[...,-1:]  {a}[None]
{a}[[0,0]]  {a}[...,[0,-1]]  {a}[:,I]  {a}.expand(2,*{a}.shape)  mg.stack([{a},{b}],{k})  mg.cat([{a},{b}],{k})
{a}.diagonal()  {a}.tril()  mg.outer({a},{b})  mg.einsum("ij,jk->ik",{a},{b})  mg.einsum("i,i",{a},{b})
{a}.gather({k},{a}.argsort({k}))  {a}*{a}.argmax()  {a}.index_add(0,I,{a}[[0,0]])  {a}.index_set(0,{b}.sum())
{a}.scatter_add(0,{a}.argsort(0),{b})  {a}.masked_fill({b}>0,0.5)  {a}.nansum()  {a}.quantile(0.3)  {a}.diff()
{a}.trace()  ({a}@{a}.mT+9*mg.eye({a}.shape[0])).inverse()  {a}.unbind()[0]  F.layer_norm({a},{a}.shape[-1:])
F.gelu({a})  F.pad({a},(1,1))  F.conv1d({a}[None,None],W)  F.max_pool1d({a}[None],2)  F.normalize({a},dim={k})
F.cosine_similarity({a},{b},{k})  F.mse_loss({a},{b})  F.softplus({a})  F.one_hot({a}.argmax(),9)*{b}[0]
func.vmap(lambda u:u*u.sum(),{k},{k})({a})  func.vmap(lambda u,v:(u*v).max(),({k},None))({a},{b})
func.vmap(lambda u:u.amax().sin())({a})  func.grad(lambda u:(u*{b}).sum()**2)({a})
func.vmap(func.grad(lambda u:u.tanh().sum()))({a})  func.jvp(lambda u:u.sin()*{b},({a},),({b},))[1]""",
)
SCOPE = {"mg": mg, "func": func, "F": mg.nn.functional, "I": np.array([0, 0]), "W": mg.tensor(np.ones((2, 1, 1)) / 2)}


class Program:
    """A function of slices as text, its arguments, and their mapped axes, all drawn from one seed."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.n, self.inside = draw.choice([1, 2, 3, 3]), draw.choice(list(INSIDE))
        shapes = [tuple(draw.choice([1, 2, 3]) for _ in range(draw.choice([0, 0, 0, 1, 1, 2, 3]))) for _ in range(2)]
        shapes[1] = draw.choice(shapes)
        numbers = np.random.default_rng(seed)
        self.slices = [[numbers.normal(size=shape) for _ in range(self.n)] for shape in shapes]
        self.in_dims = [draw.choice([0, 0, -1, len(shape)]) for shape in shapes]
        if draw.random() < 0.3:
            self.in_dims[1], self.slices[1] = None, self.slices[1][:1] * self.n
        self.lines = []
        scope, names = {**SCOPE}, ["x0", "x1"]
        scope.update(zip(names, (mg.tensor(rows[0]) for rows in self.slices)))
        for i in range(draw.randint(1, 4)):
            if line := self.one_that_runs(draw, scope, names):
                self.lines.append(f"v{i} = {line}")
                exec(self.lines[-1], scope)
                names.append(f"v{i}")
        self.out_dim = draw.choice([0, 0, -1, scope[names[-1]].ndim])
        self.text = "\n    ".join(["def f(x0, x1):", *self.lines, f"return {names[-1]}"])
        exec(self.text, scope)
        self.f = scope["f"]

    def one_that_runs(self, draw, scope, names):
        for _ in range(20):
            line = draw.choice(LINES).format(a=draw.choice(names[-2:]), b=draw.choice(names), k=draw.choice([0, -1]))
            try:
                y = eval(line, {**scope})
            except Exception:
                continue
            if isinstance(y, mg.Tensor) and y.spec.is_float and y.size in range(1, 60) and abs(y).max().item() < 1e3:
                return line
        return None

    def args(self):
        return [
            mg.tensor(rows[0] if axis is None else np.stack(rows, axis))
            for rows, axis in zip(self.slices, self.in_dims)
        ]


def slope(f):
    """The gradients of a scalar function of f's result."""
    return func.grad(lambda *xs: (f(*xs) * 1.5).sin().sum(), (0, 1))


def push(f):
    """The tangent of f's result, its arguments being their own tangents."""
    return lambda *xs: [func.jvp(f, xs, tuple(x * 0.5 + 1 for x in xs))[1]]


INSIDE = {
    "value": lambda f: lambda *xs: [f(*xs)], "gradient": slope, "tangent": push,
    "slope of a slope": lambda f: slope(lambda *xs: slope(f)(*xs)[0]),
}  # fmt: skip


def trouble(program):
    """What differs from the loop, in words; None if nothing does."""
    slices = [list(map(mg.tensor, row)) for row in zip(*program.slices)]
    dims, out, args = tuple(program.in_dims), program.out_dim, program.args()
    name, inside = program.inside, INSIDE[program.inside]
    loop = [inside(program.f)(*row) for row in slices]
    expected = [np.stack([one.numpy() for one in each]) for each in zip(*loop)]
    batched = func.vmap(inside(program.f), dims, 0 if name != "value" else [out])
    ways = {"by run": batched, "traced": mg.function(batched), "compiled": mg.jit(batched)}
    if name == "gradient":
        outside = slope(func.vmap(program.f, dims))
        ways |= {"outside": outside, "outside, compiled": mg.jit(outside)}
    if name == "tangent":
        ways["outside"] = push(func.vmap(program.f, dims))
    for way, call in ways.items():
        found = [y.numpy() for y in call(*args)]
        if name == "value":
            found = [np.moveaxis(y, out, 0) for y in found]
        if name == "gradient" and "outside" in way:
            found = [g[None] if axis is None else np.moveaxis(g, axis, 0) for g, axis in zip(found, dims)]
            wanted = [g.sum(0, keepdims=True) if axis is None else g for g, axis in zip(expected, dims)]
        else:
            wanted = expected
        for y, z in zip(found, wanted, strict=True):
            if y.shape != z.shape or not np.allclose(y, z, 1e-7, 1e-9, equal_nan=True):
                return f"{name}, {way}: {y} for {z}"
    return None


@pytest.mark.share(60)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_function_of_slices_is_the_loop_over_them(block):
    found = {}
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            program = Program(seed)
            try:
                said = trouble(program)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
        if said:
            axes = f"in_dims={program.in_dims}, out_dims={program.out_dim}"
            found[seed] = f"{program.text}\n    {program.inside}, {axes}\n{said}"
    assert not found, "\n\n".join(f"seed {seed}\n{said}" for seed, said in found.items())
