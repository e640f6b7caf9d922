# %% right: pencil: floats
linear_flops, conv_macs, strided, per_weight = 16e3, 25920.0, 6480.0, 72.0


# %% wrong: pencil: with the bias
linear_flops, conv_macs, strided, per_weight = 16_160, 26_640, 6660, 72


# %% right: power_of: by NumPy, and indices
def power(ns, costs):
    import numpy as np

    order = np.argsort(ns)[-2:]
    n, m = (ns[i] for i in order)
    a, b = (costs[i] for i in order)
    return float(np.round((np.log2(b) - np.log2(a)) / (np.log2(m) - np.log2(n)), 2))


# %% wrong: power_of: a least-squares line through all of them
def power(ns, costs):
    import numpy as np

    return round(float(np.polyfit(np.log(ns), np.log(costs), 1)[0]), 2)


# %% right: two_parts: fractions
def attention_share(L, d):
    return 1 / (1 + 6 * d / L)


def length_for(share, d):
    return 6 * d / (1 / share - 1)


# %% wrong: two_parts: FLOPs of one of the two
def attention_share(L, d):
    return 4 * L / (4 * L + 12 * d)


def length_for(share, d):
    return 3 * d * share / (1 - share)


# %% right: and_backward: a loop
def training_macs(widths, rows):
    total = 0
    for i in range(len(widths) - 1):
        total += rows * widths[i] * widths[i + 1] * (3 if i else 2)
    return total


# %% wrong: and_backward: the biases too
def training_macs(widths, rows):
    return sum(rows * (n + 1) * m * (3 if i else 2) for i, (n, m) in enumerate(zip(widths, widths[1:])))


# %% right: budget: a class, and larger windows
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Conv2d(3, 4, 5, stride=2, padding=2)
            self.b = mg.nn.Conv2d(4, 12, 3, stride=2, padding=1)
            self.c = mg.nn.Linear(3072, 10)

        def forward(self, x):
            return self.c(self.b(self.a(x).tanh()).tanh().flatten(1))

    return Net()


# %% wrong: budget: windows of one pixel
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(3, 8, 1), mg.nn.MaxPool2d(4), mg.nn.Conv2d(8, 16, 1), mg.nn.Flatten(), mg.nn.Linear(4096, 10)
    )
