{
    "right: heard: floats": "by_w, by_c, by_w_again, w_grad = 11.0, None, 11.0, None",
    "wrong: ladder: four rungs": {"(n + 1)": "(min(n, 4) + 1)", "return rungs": "return rungs + [0.0] * (n - 4)"},
    "right: two_tapes: transforms": "def slope_and_bend(f, x):\n    return grad(f)(x), grad(grad(f))(x)",
    "wrong: two_tapes: the square of the slope": "def slope_and_bend(f, x):\n    return grad(f)(x), grad(f)(x) ** 2",
    "right: landscape: sin": "def land(p):\n    return (p[0] - 1).sin() ** 2 - (p[1] - 2).sin() ** 2 + 5",
    "right: landscape: a product and a fourth power": {"u**2 - v**2 + u**3": "u * v + v**4"},
    "wrong: landscape: a saddle somewhere else": {"p[0] - 1, p[1] - 2": "p[0] - 2, p[1] - 1"},
    "wrong: landscape: a summit": {"u**2 - v**2": "-(u**2) - v**2"},
    "wrong: landscape: a valley without end": {"u**2 - v**2 + u**3": "u**2 + v**4"},
    "right: heard: tensors": "by_w, by_c, by_w_again, w_grad = mg.tensor(11.0), None, 11.0, None",
    "wrong: ladder: two rungs for each": {"f = grad(f)": "f = grad(f) if len(rungs) < 4 else f"},
    "right: two_tapes: a list": {"return slope, bend": "return [slope, bend]"},
    "right: along: a float": {"return (v * Hv).sum()": "return float((Hv * v).sum())"},
    "wrong: along: for equal numbers": {"(v * Hv).sum()": "(v * v).sum() * Hv[0] / v[0]"},
    "wrong: landscape: a plane": {"u**2 - v**2 + u**3": "0 * u + 0 * v"},
    "right: landscape: a product": {"u**2 - v**2 + u**3": "u * v + u**3"},
}
# %% right: ladder: it calls itself
def ladder(f, x, n):
    return [f(mg.tensor(x)).item(), *(ladder(grad(f), x, n - 1) if n else [])]
# %% right: ladder: a graph of the slopes
def ladder(f, x, n):
    x = mg.tensor(x, requires_grad=True)
    y = f(x)
    found = (y.item(),)
    for _ in range(n):
        (y,) = mg.grad(y, [x], create_graph=True)
        found += (y.item(),)
    return found
# %% right: two_tapes: a pair of tapes that last
def slope_and_bend(f, x):
    with mg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with mg.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    return [slope, outer.gradient(slope, x)]
# %% right: along: the slope of a slope
def curvature(f, x, v):
    return jvp(lambda x: jvp(f, (x,), (v,))[1], (x,), (v,))[1]
# %% right: along: pulled back
def curvature(f, x, v):
    gradient, back = vjp(grad(f), x)
    return (back(v)[0] * v).sum().item()
# %% wrong: along: as if v had the length 1
def curvature(f, x, v):
    return (v * jvp(grad(f), (x,), (v,))[1]).sum() / (v * v).sum()
# %% right: landscape: a dot product with itself
def land(p):
    d = p - mg.tensor([1.0, 2.0])
    return (d * d * mg.tensor([1.0, -3.0])).sum() + (d**4).sum()
# %% wrong: along: for a v of one direction
def curvature(f, x, v):
    return (v * vjp(grad(f), x)[1](mg.ones(*v.shape))[0]).sum()
# %% wrong: two_tapes: leaves only
def slope_and_bend(f, x):
    with mg.GradientTape() as outer:
        with mg.GradientTape() as inner:
            y = f(x)
        slope = inner.gradient(y, x)
    return slope, None if slope is None else outer.gradient(slope, x)
