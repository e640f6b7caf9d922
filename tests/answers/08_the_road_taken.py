# %% right: left_behind: floats
operations_at_2, gradient_at_2, operations_at_4, gradient_at_4 = 3, 6.0, 7, 8.0


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


# %% wrong: short_road: by a table
def power(x, n):
    if n < 3:
        return x if n == 1 else x * x
    half = power(x, n // 2)
    return half * half * x if n in (3, 7, 13, 25) else half * half


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
