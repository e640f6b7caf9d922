{
    "wrong: bounds: seconds": "edge, relu, product, copy = 3, 0.024, 0.1125, 0.1",
    "wrong: profile: percent": 'at_most, first, per_call, fewer_calls = 30, "index", 5, 80.5',
    "right: no_loop: cdist": "def nearest(x, c):\n    return mg.cdist(x, c).amin(1)",
    "wrong: no_loop: the index": "def nearest(x, c):\n    return ((x[:, None] - c) ** 2).sum(-1).argmin(1)",
    "right: profile: rounded to two digits": 'at_most, first, per_call, fewer_calls = 1.43, "index", 5, 80.5',
    "wrong: profile: 1.3 times as fast": 'at_most, first, per_call, fewer_calls = 1.3, "index", 5, 80.5',
    "wrong: bounds: MACs": "edge, relu, product, copy = 3, 24, 56.25, 100",
    "wrong: no_loop: along the streets": "def nearest(x, c):\n    return (x.unsqueeze(1) - c).abs().sum(-1).amin(1)",
    "wrong: roofline: milliseconds": {"return max": "return 1000 * max"},
    "right: roofline: a list": {
        'return max(computing, moving), "arithmetic" if computing >= moving else "memory"': 'return [max(computing, moving), "memory" if moving > computing else "arithmetic"]'
    },
    "wrong: no_loop: the root of the mean": {".sum(2)": ".mean(2)"},
    "wrong: no_loop: the first alone": {".amin(1)": "[:, 0]"},
    "right: no_loop: in another order": {
        "x.unsqueeze(1) - c.unsqueeze(0)": "c.unsqueeze(0) - x.unsqueeze(1)",
        "(apart * apart)": "(apart ** 2)",
    },
    "right: bounds: fractions": "from fractions import Fraction\nedge, relu, product, copy = Fraction(3), Fraction(24), Fraction(225, 2), Fraction(100)",
    "right: profile: a tensor": 'at_most, first, per_call, fewer_calls = mg.tensor(10 / 7), "index", 5, 80.5',
}
# %% right: bounds: seconds turned into milliseconds
edge = 60e9 / 20e9
relu, product, copy = 480e6 / 20e6, 2 * 1500**3 / 60e6, 2e9 / 20e6
# %% right: roofline: by intensity
def bound(flops, nbytes, peak, bandwidth):
    if flops * bandwidth >= nbytes * peak:
        return flops / peak, "arithmetic"
    return nbytes / bandwidth, "memory"
# %% wrong: roofline: FLOPs in a second
def bound(flops, nbytes, peak, bandwidth):
    reached = min(peak, bandwidth * flops / nbytes)
    return reached, "arithmetic" if reached == peak else "memory"
# %% right: launches: one by the other
def run_time(ops, peak, bandwidth, launch):
    return sum(fused_time([op], peak, bandwidth, launch) for op in ops)


def fused_time(ops, peak, bandwidth, launch):
    return launch + max(sum(f for f, _, _ in ops) / peak, (ops[0][1] + ops[-1][2]) / bandwidth)
# %% wrong: launches: no launch when fused
def run_time(ops, peak, bandwidth, launch):
    return sum(launch + max(f / peak, (r + w) / bandwidth) for f, r, w in ops)


def fused_time(ops, peak, bandwidth, launch):
    return max(sum(f for f, _, _ in ops) / peak, (ops[0][1] + ops[-1][2]) / bandwidth)
# %% right: profile: a name in capitals
at_most, first, per_call, fewer_calls = 1.42857142857, "Index", 5.0, 30 + 40 + 10 + 100 * 5e-3
# %% right: no_loop: a pair from min, and its values
def nearest(x, c):
    return ((x[:, None] - c) ** 2).sum(-1).sqrt().min(1).values
# %% right: roofline: a list for a pair
def bound(flops, nbytes, peak, bandwidth):
    a, b = flops / peak, nbytes / bandwidth
    return [a, "arithmetic"] if a >= b else [b, "memory"]
# %% right: launches: loops
def run_time(ops, peak, bandwidth, launch):
    t = 0
    for f, r, w in ops:
        t += launch
        t += f / peak if f / peak > (r + w) / bandwidth else (r + w) / bandwidth
    return t


def fused_time(ops, peak, bandwidth, launch):
    (_, r, _), *_ = ops
    *_, (_, _, w) = ops
    return run_time([(sum(o[0] for o in ops), r, w)], peak, bandwidth, launch)
# %% wrong: launches: launch overlaps
def run_time(ops, peak, bandwidth, launch):
    return sum(max(launch, f / peak, (r + w) / bandwidth) for f, r, w in ops)


def fused_time(ops, peak, bandwidth, launch):
    return max(launch, sum(f for f, _, _ in ops) / peak, (ops[0][1] + ops[-1][2]) / bandwidth)
# %% right: no_loop: by the binomial
def nearest(x, c):
    squares = (x * x).sum(1, keepdims=True) + (c * c).sum(1) - 2 * x @ c.mT
    return squares.clip(0, None).amin(1).sqrt()
# %% right: no_loop: norm
def nearest(x, c):
    return mg.linalg.norm(x[:, None, :] - c[None, :, :], dim=-1).amin(1)
# %% wrong: no_loop: NumPy's numbers
def nearest(x, c):
    a, b = x.numpy(), c.numpy()
    return mg.tensor(np.sqrt(((a[:, None] - b) ** 2).sum(2).min(1)))
# %% right: no_loop: vmap
def nearest(x, c):
    return mg.func.vmap(lambda row: ((row - c) ** 2).sum(1).amin(0).sqrt())(x)
# %% right: no_loop: sorted
def nearest(x, c):
    return ((x.unsqueeze(1) - c) ** 2).sum(-1).sqrt().sort(1)[0][:, 0]
# %% wrong: launches: the largest of the FLOPs
def run_time(ops, peak, bandwidth, launch):
    return sum(launch + max(f / peak, (r + w) / bandwidth) for f, r, w in ops)


def fused_time(ops, peak, bandwidth, launch):
    return launch + max(max(o[0] for o in ops) / peak, (ops[0][1] + ops[-1][2]) / bandwidth)
