{
    "right: pencil: floats": "linear_flops, conv_macs, strided, per_weight = 16e3, 25920.0, 6480.0, 72.0",
    "wrong: pencil: with the bias": "linear_flops, conv_macs, strided, per_weight = 16_160, 26_640, 6660, 72",
    "wrong: pencil: not a whole number": "linear_flops, conv_macs, strided, per_weight = 16_000, 25_920, 6480.9, 72",
    "right: power_of: base of a log": {"log(large / small) / log(m / n)": "log(large / small, m / n)"},
    "wrong: power_of: the two largest costs":
        {"(n, small), (m, large) = sorted(zip(ns, costs))": "(small, n), (large, m) = sorted(zip(costs, ns))"},
    "wrong: power_of: not rounded": {"round(log(large / small) / log(m / n), 2)": "log(large / small) / log(m / n)"},
    "wrong: budget: the last edge is never read": {
        "8, 3, stride=2, padding=1": "8, 3, stride=2", "16, 3, stride=2, padding=1": "16, 3, stride=2",
        "4096, 10": "3600, 10",
    },
    "wrong: and_backward: backward alone": {"3 * sum(forward) - forward": "2 * sum(forward) - forward"},
    "wrong: budget: backward runs while it is built": {
        "return mg.nn.Sequential(": "net = mg.nn.Sequential(",
        "        mg.nn.Linear(4096, 10),\n    )": "        mg.nn.Linear(4096, 10),\n    )\n    net(mg.ones(1, 3, 64, 64)).sum().backward()\n    net.zero_grad()\n    return net",
    },
    "right: power_of: by base 2": {"log(large / small) / log(m / n)": "(log(large) - log(small)) / (log(m) - log(n))"},
    "wrong: power_of: by their costs":
        {"sorted(zip(ns, costs))[-2:]": "sorted(zip(ns, costs), key=lambda pair: pair[1])[-2:]"},
    "wrong: two_parts: for d = 128": {"6 * d * share": "6 * 128 * share"},
    "right: and_backward: a tuple of widths": {"zip(widths, widths[1:])": "zip(tuple(widths), tuple(widths)[1:])"},
    "wrong: and_backward: the widest layer": {"- forward[0]": "- max(forward)"},
    "wrong: budget: parameters that nothing reads": {
        "mg.nn.Conv2d(3, 8, 3, stride=2, padding=1)": "mg.nn.Conv2d(3, 2, 3, stride=2, padding=1)",
        "mg.nn.Conv2d(8, 16, 3": "mg.nn.Conv2d(2, 2, 3", "mg.nn.Linear(4096, 10)": "mg.nn.Linear(512, 10)",
    },
}
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
# %% right: pencil: estimated
linear_flops = estimate(mg.nn.Linear(50, 20, bias=False), mg.ones(8, 50)).flops
conv_macs = estimate(mg.nn.Conv2d(4, 10, 3, padding=1, bias=False), mg.ones(2, 4, 6, 6)).macs
strided = estimate(mg.nn.Conv2d(4, 10, 3, stride=2, padding=1, bias=False), mg.ones(2, 4, 6, 6)).macs
per_weight = conv_macs / (10 * 4 * 9)
# %% wrong: pencil: per weight with the padding
linear_flops, conv_macs, strided, per_weight = 16_000, 25_920, 6480, 2 * 8 * 8
# %% right: two_parts: by bisection
def attention_share(L, d):
    return 2 * L**2 * d / (2 * L**2 * d + 12 * L * d**2)


def length_for(share, d):
    low, high = 0, 1e12
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if mid and attention_share(mid, d) < share else (low, mid)
    return high
# %% wrong: two_parts: percent
def attention_share(L, d):
    return 100 * L / (L + 6 * d)


def length_for(share, d):
    return 6 * d * share / (100 - share)
# %% right: and_backward: estimated
def training_macs(widths, rows):
    net = mg.nn.Sequential(*(mg.nn.Linear(n, m, bias=False) for n, m in zip(widths, widths[1:])))
    cost = estimate(net, mg.zeros(rows, widths[0]))
    return cost.macs + cost.backward_macs
# %% wrong: budget: pooled by the function
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Conv2d(3, 8, 3, padding=1)
            self.b = mg.nn.Conv2d(8, 16, 3, padding=1)
            self.c = mg.nn.Linear(4096, 10)

        def forward(self, x):
            x = mg.nn.functional.avg_pool2d(x, 4)
            return self.c(self.b(self.a(x).tanh()).tanh().flatten(1))

    return Net()
# %% right: budget: the head is written first
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.head = mg.nn.Linear(4096, 10)
            self.body = mg.nn.Sequential(
                mg.nn.Conv2d(3, 8, 3, stride=2, padding=1), mg.nn.ReLU(),
                mg.nn.Conv2d(8, 16, 3, stride=2, padding=1), mg.nn.ReLU(),
            )

        def forward(self, x):
            return self.head(self.body(x).flatten(1))

    return Net()
# %% wrong: budget: a second convolution that nobody runs
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.b = mg.nn.Conv2d(8, 16, 3, padding=1)
            self.c = mg.nn.Linear(8192, 10)

        def forward(self, x):
            return self.c(self.a(x).tanh().flatten(1))

    return Net()
# %% wrong: budget: 20,000 parameters that nobody reads
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Conv2d(3, 4, 3, stride=2, padding=1)
            self.b = mg.nn.Conv2d(4, 4, 3, stride=2, padding=1)
            self.c = mg.nn.Linear(1024, 10)
            self.extra = mg.nn.Linear(1000, 20)

        def forward(self, x):
            return self.c(self.b(self.a(x).relu()).relu().flatten(1))

    return Net()
# %% right: budget: normalised, with pooling behind the first convolution
def build():
    first = [mg.nn.Conv2d(3, 8, 3, stride=2, padding=1), mg.nn.BatchNorm2d(8), mg.nn.ReLU(), mg.nn.MaxPool2d(2)]
    second = [mg.nn.Conv2d(8, 8, 3, padding=1), mg.nn.ReLU(), mg.nn.Dropout(0.1), mg.nn.Flatten()]
    return mg.nn.Sequential(*first, *second, mg.nn.Linear(2048, 10))
