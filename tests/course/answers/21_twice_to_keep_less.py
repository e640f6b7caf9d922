{
    "wrong: segments_on_paper: a step of four forwards": "saved, best, again, step = 24, 12, 8 / 9, 4",
    "wrong: segment_lengths: the first segment alone": "def kept(lengths):\n    return lengths[0]",
    "wrong: equal_to_what: all up to rounding": 'equal = dict.fromkeys("abcdefgh", "rounding")',
    "right: below_the_root: two fewer at the end": "cut = [11, 10, 9, 8, 7, 6, 5, 4, 3, 1]",
    "wrong: below_the_root: ten equal ones, and what is left": "cut = [7] * 9 + [1]",
    "right: segments_on_paper: two decimals": "saved, best, again, step = 24.0, 12.0, 0.89, 3.89",
    "wrong: segments_on_paper: one decimal": "saved, best, again, step = 24, 12, 0.9, 3.9",
    "wrong: segment_lengths: the last counts": {
        "max(before + layers for before, layers in enumerate(lengths))": "max(*lengths, len(lengths) - 1 + lengths[-1])"
    },
    "right: segment_lengths: a tuple": {"enumerate(lengths)": "enumerate(tuple(lengths))"},
    "wrong: unequal_parts: whole parts alone": {"range(0, len(x), rows)": "range(0, len(x) - rows + 1, rows)"},
    "right: below_the_root: a tuple": "cut = (9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)",
    "right: segments_on_paper: fractions": "from fractions import Fraction\nsaved, best, again, step = 24.0, 12, Fraction(8, 9), Fraction(35, 9)",
    "right: unequal_parts: a sum": {
        "(mg.cross_entropy(net(part), label) * (len(part) / len(x))).backward()": "(mg.cross_entropy(net(part), label, reduction='sum') / len(x)).backward()"
    },
}
# %% right: segments_on_paper: sums written out
saved, best, again, step = 8.0 + 144 / 9, 144**0.5, 128 / 144, 3.889
# %% right: segment_lengths: a loop from the end
def kept(lengths):
    most, operands = 0, len(lengths) - 1
    for layers in lengths[::-1]:
        most = max(most, operands + layers)
        operands -= 1
    return most
# %% right: segment_lengths: by a list of pairs
def kept(lengths):
    return sorted(lengths[i] + i for i in range(len(lengths)))[-1]
# %% right: unequal_parts: split, and a sum for a loss
def accumulate(net, x, y, rows):
    for p in net.parameters():
        p.grad = None
    for part, label in zip(x.split(rows), y.split(rows)):
        (mg.cross_entropy(net(part), label, reduction="sum") / len(x)).backward()
# %% right: unequal_parts: divided at the end
def accumulate(net, x, y, rows):
    net.zero_grad()
    for start in range(0, len(x), rows):
        mg.cross_entropy(net(x[start : start + rows]), y[start : start + rows], reduction="sum").backward()
    with mg.no_grad():
        for p in net.parameters():
            p.grad /= len(x)
# %% wrong: unequal_parts: one backward at the end, for a number of parts
def accumulate(net, x, y, rows):
    net.zero_grad()
    losses = [mg.cross_entropy(net(a), b) for a, b in zip(x.split(rows), y.split(rows))]
    (sum(losses) / len(losses)).backward()
# %% right: equal_to_what: by kind
equal = dict.fromkeys("abg", "bits") | dict.fromkeys("cf", "rounding") | dict.fromkeys("deh", "other")
# %% right: below_the_root: computed, each as long as it may be
cut, left = [], 64
while left:
    cut.append(min(left, 11 - len(cut)))
    left -= cut[-1]
# %% right: equal_to_what: a dictionary
equal = dict(a="bits", b="bits", c="rounding", d="other", e="other", f="rounding", g="bits", h="other")
# %% right: equal_to_what: lines of a text
equal = """
a: bits
b: bits
c: rounding
d: other
e: other
f: rounding
g: bits
h: other
"""
# %% wrong: equal_to_what: seven of a dictionary
equal = dict(a="bits", b="bits", c="rounding", d="other", e="other", f="rounding", g="bits")
# %% wrong: unequal_parts: one backward for all
def accumulate(net, x, y, rows):
    net.zero_grad()
    parts = zip(x.split(rows), y.split(rows))
    sum(mg.cross_entropy(net(a), b, reduction="sum") / len(x) for a, b in parts).backward()
# %% right: unequal_parts: a gradient for backward
def accumulate(net, x, y, rows):
    net.zero_grad()
    for a, b in zip(x.split(rows), y.split(rows)):
        mg.cross_entropy(net(a), b).backward(mg.tensor(len(a) / len(x)))
# %% right: unequal_parts: sums, divided at the end
def accumulate(net, x, y, rows):
    net.zero_grad()
    for a, b in zip(x.split(rows), y.split(rows)):
        mg.cross_entropy(net(a), b, reduction="sum").backward()
    for p in net.parameters():
        p.grad /= len(x)
