{
    "right: left_behind: floats": "operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 6.0, 7, 8.0",
    "wrong: short_road: as numbers, with a slope that is right": "def power(x, n):\n    return x * 0 + x.item() ** n",
    "wrong: own_road: two inputs": {"1.5, 3.5": "1.5"},
    "wrong: left_behind: two of each": "operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 6, 7, 9",
    "wrong: short_road: by a table":
        {"if n == 1": "if n < 3", "return x": "return x if n == 1 else x * x", "if n % 2": "if n in (3, 7, 13, 25)"},
    "wrong: short_road: up to 100":
        {"if n == 1:": "if n > 100:\n        return x ** 100 if 0 else power(x, 100)\n    if n == 1:"},
    "right: short_road: from the top": {
        "half = power(x, n // 2)\n    return half * half * x if n % 2 else half * half": "square = power(x * x, n // 2)\n    return square * x if n % 2 else square"
    },
    "wrong: nan_hunt: below a thousandth": {"possible = p > 0": "possible = p > 0.01"},
    "wrong: own_road: two inputs alike": {"inputs = [-0.5, 1.5, 3.5]": "inputs = [-0.5, 1.5, 1.6]"},
    "right: own_road: a tuple": {"inputs = [-0.5, 1.5, 3.5]": "inputs = (-0.5, 1.5, 3.5)"},
}
# %% right: short_road: bits from the left
def power(x, n):
    y = x
    for bit in bin(n)[3:]:
        y = y * y
        if bit == "1":
            y = y * x
    return y
# %% right: short_road: bits from the right
def power(x, n):
    y = None
    while n:
        if n % 2:
            y = x if y is None else y * x
        n //= 2
        if n:
            x = x * x
    return y
# %% right: nan_hunt: those that can happen alone
def surprise(p):
    q = p[p.numpy() > 0]
    return -(q * q.log()).sum()
# %% right: nan_hunt: one where
def surprise(p):
    safe = mg.where(p > 0, p, 1.0)
    return (-safe * safe.log()).sum()
# %% wrong: nan_hunt: not where nothing can happen
def surprise(p):
    safe = mg.where(p > 0, p, 1.0)
    return (-safe * safe.log()).sum() + (p.sum() - 1) * 0.5
# %% right: own_road: brackets of a tax
def f(x):
    y = x * 0.9
    if x.item() > 1:
        y = y - (x - 1) * 0.1
    if x.item() > 2:
        y = y - (x - 2).tanh()
    return y


inputs = (0.5, 1.5, 2.5)
# %% right: own_road: newton
def f(x):
    y = x
    while abs(y.item() ** 2 - 2) > 0.3 and y.item() > 0:
        y = (y + 2 / y) / 2
    return y if x.item() > 3 else y.exp() * 0.1 + y


inputs = [-1.5, 3.5, 0.6]
# %% right: nan_hunt: an element at a time
def surprise(p):
    return mg.stack([-q * q.log() if q.item() > 0 else 0 * q for q in p]).sum()
# %% right: short_road: a square of a half, by numbers of squarings
def power(x, n):
    powers, total = {1: x}, None
    k = 1
    while 2 * k <= n:
        powers[2 * k] = powers[k] * powers[k]
        k *= 2
    for k in sorted(powers):
        if n & k:
            total = powers[k] if total is None else total * powers[k]
    return total
# %% wrong: nan_hunt: twice the value
def surprise(p):
    safe = mg.where(p > 0, p, 1.0)
    return (-safe * safe.log()).sum() / 0.6931471805599453
# %% wrong: own_road: the same three
def f(x):
    return x * x


inputs = [1.0, 2.0, 3.0]
# %% right: nan_hunt: a sum of those that can happen
def surprise(p):
    return sum(-q * q.log() for q in p if q.item() > 0)
# %% right: nan_hunt: a running sum
def surprise(p):
    total = mg.tensor(0.0)
    for q in p:
        if q.item() > 0:
            total = total - q * q.log()
    return total
