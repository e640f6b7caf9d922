{
    "right: quantise: a generator": {"[round(w / scale) for w in weights]": "(round(w / scale) for w in weights)"},
    "right: eight_bits: floats": "scale, integer, farthest, nbytes = 0.05, 20.0, 0.025, 1004",
    "wrong: eight_bits: a scale in float64": "scale, integer, farthest, nbytes = 0.05, 20, 0.025, 1008",
    "wrong: prune_by_hand: rounded up":
        {"(weights, amount):": "(weights, amount):\n    from math import ceil\n", "int": "ceil"},
    "wrong: small_network: it is trained while it is built": {
        "return mg.nn.Sequential(": "net = mg.nn.Sequential(",
        "mg.nn.Linear(32, 10))": "mg.nn.Linear(32, 10))\n    digits = mg.data.digits()\n    adam = mg.optim.Adam(net.parameters(), 0.01)\n    for i in range(3):\n        adam.zero_grad()\n        mg.cross_entropy(net(mg.tensor(digits.train_x[:64])), mg.tensor(digits.train_y[:64])).backward()\n        adam.step()\n    return net",
    },
    "wrong: quantise: one place is never used": {"(2 ** (bits - 1) - 1)": "(2 ** (bits - 1) - 2 or 1)"},
    "right: quantise: with NumPy": {
        "[round(w / scale) for w in weights], scale": "__import__('numpy').rint(__import__('numpy').array(weights) / scale), scale"
    },
    "wrong: prune_by_hand: in place": {
        "return [0.0 if i in gone else w for i, w in enumerate(weights)]": "for i in gone:\n        weights[i] = 0.0\n    return weights"
    },
    "right: prune_by_hand: a tuple": {
        "return [0.0 if i in gone else w for i, w in enumerate(weights)]": "return tuple(w * (i not in gone) for i, w in enumerate(weights))"
    },
}
# %% right: quantise: by NumPy
def quantise(weights, bits):
    import numpy as np

    w = np.asarray(weights, float)
    top = 2 ** (bits - 1) - 1
    scale = np.abs(w).max() / top or 1.0
    return np.rint(w / scale).astype(int).tolist(), float(scale)
# %% right: quantise: a tuple for a list
def quantise(weights, bits):
    top = 2 ** (bits - 1) - 1
    scale = max(max(weights), -min(weights)) / top
    scale = scale if scale > 0 else 1.0
    return tuple(round(w / scale) for w in weights), scale
# %% wrong: quantise: rounded down
def quantise(weights, bits):
    from math import floor

    top = 2 ** (bits - 1) - 1
    scale = max(map(abs, weights)) / top or 1.0
    return [floor(w / scale) for w in weights], scale
# %% right: prune_by_hand: by NumPy, with a stable sort
def pruned(weights, amount):
    import numpy as np

    w = np.array(weights, float)
    w[np.argsort(abs(w), kind="stable")[: int(amount * len(w))]] = 0
    return list(w)
# %% right: table_read: a small letter
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10.0, 40.0, 10.0, 1, 1 / 4, "b"
# %% wrong: table_read: one channel halved at one end in bytes alone
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 10, 40, 20, 1.0, 0.25, "B"
# %% right: small_network: two hidden layers and tanh
def build():
    return mg.nn.Sequential(
        mg.nn.Linear(64, 28), mg.nn.Tanh(), mg.nn.Linear(28, 14), mg.nn.Tanh(), mg.nn.Linear(14, 10)
    )
# %% wrong: small_network: one neuron too many
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 34), mg.nn.ReLU(), mg.nn.Linear(34, 10))
# %% right: table_read: the letter and its name
b_bytes, c_bytes, d_bytes, c_time, d_macs, choice = 40 / 4, 40, 40 / 4, 1, 1 / 4, "B: int8"
# %% wrong: small_network: a chain of linear layers
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 16), mg.nn.Linear(16, 16), mg.nn.Linear(16, 10))
# %% wrong: small_network: one linear layer, and something behind it
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 10), mg.nn.ReLU())
# %% right: small_network: a sine
def build():
    class Sine(mg.nn.Module):
        def forward(self, x):
            return x.sin()

    return mg.nn.Sequential(mg.nn.Linear(64, 32), Sine(), mg.nn.Linear(32, 10))
# %% right: small_network: a convolution
def build():
    parts = [mg.nn.Unflatten(1, (1, 8, 8)), mg.nn.Conv2d(1, 8, 3), mg.nn.ReLU(), mg.nn.MaxPool2d(2), mg.nn.Flatten()]
    return mg.nn.Sequential(*parts, mg.nn.Linear(72, 10))
# %% right: quantise: a list as the pair
def quantise(weights, bits):
    top = 2**bits // 2 - 1
    scale = max(map(abs, weights)) / top or 1
    return [[round(w / scale) for w in weights], scale]
# %% wrong: prune_by_hand: the place of the first that is equal
def pruned(weights, amount):
    left = list(weights)
    for w in sorted(weights, key=abs)[: int(amount * len(left))]:
        left[weights.index(w)] = 0.0
    return left
# %% right: prune_by_hand: one at a time
def pruned(weights, amount):
    left, places = list(weights), list(range(len(weights)))
    for _ in range(int(amount * len(left))):
        nearest = min(places, key=lambda i: abs(left[i]))
        places.remove(nearest)
        left[nearest] = 0
    return left
# %% wrong: small_network: two linear layers, and something behind them
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.Linear(32, 10), mg.nn.ReLU())
# %% wrong: small_network: a normalisation in between, which is linear when it is done learning
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.BatchNorm1d(32), mg.nn.Linear(32, 10))
# %% wrong: small_network: eleven digits
def build():
    return mg.nn.Sequential(mg.nn.Linear(64, 30), mg.nn.ReLU(), mg.nn.Linear(30, 11))
# %% right: small_network: a linear way past the hidden layer
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a, self.b, self.past = mg.nn.Linear(64, 20), mg.nn.Linear(20, 10), mg.nn.Linear(64, 10)

        def forward(self, x):
            return self.b(self.a(x).relu()) + self.past(x)

    return Net()
# %% right: small_network: its own matrices
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Parameter(mg.randn(64, 32) / 8)
            self.b = mg.nn.Parameter(mg.randn(32, 10) / 6)

        def forward(self, x):
            return (x @ self.a).tanh() @ self.b

    return Net()
# %% right: small_network: normalised, and with a dropout
def build():
    hidden = [mg.nn.Linear(64, 31), mg.nn.BatchNorm1d(31), mg.nn.GELU(), mg.nn.Dropout(0.05)]
    return mg.nn.Sequential(*hidden, mg.nn.Linear(31, 10))
