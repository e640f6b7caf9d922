{
    "right: counts: floats": "called, up_ran, down_ran, double_ran = 3.0, 2, 0, 5",
    "right: own_loop: a tuple, and a root": {"x > 1.0": "(x * x) > 1.44", "x * 0.7 - 0.1 / x": "(x.sqrt() * 0.99,)"},
    "right: own_loop: down by one": {"x * 0.7 - 0.1 / x": "x - 1.0 + 0 * x"},
    "wrong: own_loop: it forgets where it began": {"x > 1.0": "x > 0.5", "x * 0.7 - 0.1 / x": "mg.floor(x * 0.5)"},
    "wrong: xlogx: nothing below a thousandth of a thousandth": {"x > 0": "x > 1e-6"},
    "wrong: euclid: forty turns": {
        "mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b))": "mg.while_loop(lambda a, b: b != 0, lambda a, b: (b, a % b), (a, b), maximum_iterations=40)"
    },
    "wrong: horner: three coefficients at most": {
        "return y": "return y if coefficients.shape[0] is None else coefficients[0] * x * x + coefficients[1] * x + coefficients[2]"
    },
    "wrong: counts: booleans": "called, up_ran, down_ran, double_ran = 3, 2, False, 5",
    "right: euclid: a list of carries": {"lambda a, b: (b, a % b), (a, b))": "lambda a, b: [b, a % b], [a, b])"},
    "right: own_loop: a tuple": {"return x * 0.7 - 0.1 / x": "return (x * 0.7 - 0.1 / x,)"},
}
# %% right: euclid: the larger and the smaller
def gcd(a, b):
    def turn(a, b):
        return [b, a - (a // b) * b]

    return mg.while_loop(lambda a, b: mg.not_equal(b, 0) if hasattr(mg, "not_equal") else b != 0, turn, [a, b])[0]
# %% wrong: euclid: by taking away
def gcd(a, b):
    def turn(a, b):
        return mg.where(a > b, a - b, a), mg.where(a > b, b, b - a)

    return mg.while_loop(lambda a, b: b > 0, turn, (a, b))[0]
# %% wrong: euclid: by taking away, until both are the same
def gcd(a, b):
    return mg.while_loop(
        lambda a, b: a != b, lambda a, b: (mg.where(a > b, a - b, a), mg.where(a > b, b, b - a)), (a, b)
    )[0]
# %% right: xlogx: where, before and after
def xlogx(x):
    safe = mg.where(x > 0, x, 1.0)
    return mg.where(x > 0, safe * mg.log(safe), 0.0)
# %% right: horner: a loop that counts
def horner(coefficients, x):
    def turn(i, y):
        return i + 1, y * x + coefficients[i]

    n = mg.shape(coefficients)[0] if hasattr(mg, "shape") else coefficients.shape[0]
    return mg.while_loop(lambda i, y: i < n, turn, (0, 0 * x))[1]
# %% wrong: horner: from the left, without the last
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, None), mg.tensor(0.0), coefficients[:-1])[0]
# %% right: own_loop: interest
def go_on(x):
    return mg.logical_and(x < 100.0, x > 0) if hasattr(mg, "logical_and") else x < 100.0


def turn(x):
    return x * 1.07 + 0.5
# %% wrong: xlogx: right above zero, and its slope is 1 below
def xlogx(x):
    return mg.where(x > 0, mg.where(x > 0, x, 1.0) * mg.log(mg.where(x > 0, x, 1.0)), x - x + 0 * x) + mg.minimum(
        x, 0.0
    )
# %% wrong: horner: for two coefficients or more
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, None), coefficients[0], coefficients[1:])[0] * 1.0 + 0 * coefficients[1]
# %% right: horner: the first, and then the others
def horner(coefficients, x):
    return mg.lax.scan(lambda y, c: (y * x + c, None), 0.0 * x, coefficients)[0]
# %% wrong: euclid: the wrong way round in the end
def gcd(a, b):
    return mg.while_loop(lambda a, b: a != 0, lambda a, b: (b % a, a), (a, b))[0]
# %% right: euclid: the other way round
def gcd(a, b):
    return mg.while_loop(lambda a, b: a != 0, lambda a, b: (b % a, a), (a, b))[1]
# %% wrong: euclid: forty turns, and no more
def gcd(a, b):
    for _ in range(40):
        a, b = mg.where(b != 0, b, a), mg.where(b != 0, a % mg.maximum(b, 1), 0)
    return a
# %% right: horner: powers, and no loop
def horner(coefficients, x):
    n = coefficients.shape[0]
    return (coefficients * x ** (n - 1 - mg.arange(n))).sum()
