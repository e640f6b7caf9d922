{
    "wrong: any_network: windows eat the edge":
        {"K * K + channels": "K * K + channels\n            H, W = H - K + 1, W - K + 1"},
    "wrong: any_network: relu in place": {"results += B": 'results += (kind != "relu") * B'},
    "wrong: in_time: detach is a view": {"clone()": "detach()"},
    "right: under_a_limit: few channels on all pixels": {"8, 3, stride=2": "2, 3"},
    "wrong: in_time: three sines": {"range(4)": "range(3)"},
    "wrong: who_keeps: seven words": {', "result", "nothing"': ', "result"'},
    "wrong: under_a_limit: it is trained while it is built": {
        "return mg.nn.Sequential(": "net = mg.nn.Sequential(",
        "        mg.nn.Linear(32, 10),\n    )": "        mg.nn.Linear(32, 10),\n    )\n    digits = mg.data.digits()\n    adam = mg.optim.Adam(net.parameters(), 0.01)\n    for i in range(3):\n        adam.zero_grad()\n        mg.cross_entropy(net(mg.tensor(digits.train_x[:64].reshape(64, 1, 8, 8))), mg.tensor(digits.train_y[:64])).backward()\n        adam.step()\n    return net",
    },
    "right: on_paper: tensors": "weights, state, activation, batch_of_20 = mg.tensor(3584), 7168.0, 4 * 128000, 14336",
    "right: any_network: a list": {"return parameters, results": "return [parameters, results]"},
    "wrong: any_network: square pictures": {"H // sizes[0], W // sizes[0]": "H // sizes[0], H // sizes[0]"},
    "wrong: in_time: a view": {".clone()": ""},
    "right: who_keeps: a tuple": 'keeps = ("result", "nothing", "operands", "result", "operands", "nothing", "result", "nothing")',
    "right: under_a_limit: tanh": {
        "mg.nn.Flatten(),\n        mg.nn.Linear(128, 32),\n        mg.nn.ReLU(),": "mg.nn.Flatten(),\n        mg.nn.Linear(128, 32),\n        mg.nn.Tanh(),"
    },
    "wrong: any_network: the pair the wrong way round":
        {"    channels = layers[0][1]\n": "", "return parameters, results": "return results, parameters"},
}
# %% right: on_paper: floats, and sums written out
weights = 4.0 * (864 + 32)
state, activation, batch_of_20 = 7168.0, 4 * 10 * 32 * 400, 3584 + 3584 + 7168
# %% wrong: on_paper: Adam's averages of the activations too
weights, state, activation, batch_of_20 = 3584, 2 * (3584 + 512_000), 512_000, 14_336
# %% right: any_network: two sweeps
def count(layers, B, H, W):
    parameters = sum(l[2] * l[1] * l[3] ** 2 + l[2] for l in layers if l[0] == "conv")
    shape, total = [None, H, W], 0
    for l in layers:
        if l[0] == "conv":
            shape[0] = l[2]
        elif l[0] == "pool":
            shape = [shape[0], shape[1] // l[1], shape[2] // l[1]]
        total += B * shape[0] * shape[1] * shape[2]
    return parameters, total
# %% right: any_network: by structural pattern matching, a list for a pair
def count(layers, B, H, W):
    p = n = c = 0
    for layer in layers:
        match layer:
            case ("conv", C, D, K):
                p, c = p + D * (C * K * K + 1), D
            case ("pool", k):
                H, W = H // k, W // k
        n += B * c * H * W
    return (p, n)
# %% wrong: any_network: float bytes
def count(layers, B, H, W):
    p = n = c = 0
    for layer in layers:
        if layer[0] == "conv":
            p, c = p + layer[2] * (layer[1] * layer[3] ** 2 + 1), layer[2]
        if layer[0] == "pool":
            H, W = H // layer[1], W // layer[1]
        n += B * c * H * W
    return 4 * p, 4 * n
# %% right: who_keeps: by kind
keeps = {name: "result" for name in "adg"} | {name: "operands" for name in "ce"} | {name: "nothing" for name in "bfh"}
# %% wrong: who_keeps: the sum keeps its operand's shape
keeps = dict(zip("abcdefgh", "result nothing operands result operands nothing result operands".split()))
# %% right: in_time: one name for all that is wide
def features(x):
    h = x.exp()
    few = h[:, :10] + 0
    h = h * 2
    for _ in range(4):
        h = h.sin()
    return h[:, :10] + few
# %% right: in_time: what is needed is computed a second time
def features(x):
    h = x.exp() * 2
    for _ in range(4):
        h = h.sin()
    return h[:, :10] + x[:, :10].exp()
# %% right: in_time: only ten columns all the way
def features(x):
    early = x[:, :10].exp()
    h = early * 2
    for _ in range(4):
        h = h.sin()
    return h + early
# %% wrong: in_time: a tuple keeps it
def features(x):
    kept = (x.exp(),)
    h = kept[0] * 2
    for _ in range(4):
        h = h.sin()
    return h[:, :10] + kept[0][:, :10]
# %% right: under_a_limit: a class with two strides
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.a = mg.nn.Conv2d(1, 12, 3, stride=2, padding=1)
            self.b = mg.nn.Linear(192, 24)
            self.c = mg.nn.Linear(24, 10)

        def forward(self, x):
            return self.c(self.b(self.a(x).relu().flatten(1)).tanh())

    return Net()
# %% wrong: under_a_limit: the same network twice as wide, a little over
def build():
    return mg.nn.Sequential(
        mg.nn.Conv2d(1, 32, 3, stride=2, padding=1), mg.nn.ReLU(), mg.nn.Flatten(), mg.nn.Linear(512, 10)
    )
# %% right: any_network: built on meta
def count(layers, B, H, W):
    p = n = 0
    with mg.device("meta"):
        x = mg.zeros(B, layers[0][1], H, W)
        for kind, *s in layers:
            if kind == "conv":
                m = mg.nn.Conv2d(s[0], s[1], s[2], padding=s[2] // 2)
            else:
                m = mg.nn.ReLU() if kind == "relu" else mg.nn.MaxPool2d(s[0])
            p += sum(q.size for q in m.parameters())
            x = m(x)
            n += x.size
    return p, n
# %% right: who_keeps: in capitals and with spaces
keeps = {
    "a": "Result", "b": "nothing ", "c": "Operands", "d": "result", "e": "operands", "f": "Nothing", "g": "result",
    "h": "nothing",
}
# %% wrong: who_keeps: minus keeps
keeps = dict(zip("abcdefgh", "result nothing operands result operands operands result nothing".split()))
# %% right: in_time: in place
def features(x):
    h = x.exp()
    few = h[:, :10].clone()
    h *= 2
    for _ in range(4):
        h.sin_()
    return h[:, :10] + few
# %% right: in_time: halves
def features(x):
    h = x.exp() * 2
    few = h[:, :10] / 2
    for _ in range(4):
        h = h.sin()
    return h[:, :10] + few
# %% wrong: in_time: float32
def features(x):
    early = x.float().exp()
    h = early * 2
    for _ in range(4):
        h = h.sin()
    return h[:, :10] + early[:, :10]
# %% right: on_paper: of a layer
conv = mg.nn.Conv2d(3, 32, 3, padding=1).float()
weights = sum(p.nbytes for p in conv.parameters())
state = 2 * weights
activation = conv(mg.ones(10, 3, 20, 20, dtype=mg.float32)).nbytes
batch_of_20 = weights + weights + state
# %% wrong: on_paper: without padding
weights, state, activation, batch_of_20 = 3584, 7168, 4 * 10 * 32 * 18 * 18, 14_336
# %% wrong: under_a_limit: a convolution that nobody runs
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.unused = mg.nn.Conv2d(1, 16, 3)
            self.body = mg.nn.Sequential(mg.nn.Flatten(), mg.nn.Linear(64, 64), mg.nn.ReLU(), mg.nn.Linear(64, 10))

        def forward(self, x):
            return self.body(x)

    return Net()
# %% wrong: under_a_limit: parameters that nobody reads
def build():
    class Net(mg.nn.Module):
        def __init__(self):
            self.conv, self.out = mg.nn.Conv2d(1, 8, 3, stride=2, padding=1), mg.nn.Linear(128, 10)
            self.extra = mg.nn.Parameter(mg.zeros(4000))

        def forward(self, x):
            return self.out(self.conv(x).relu().flatten(1))

    return Net()
# %% wrong: under_a_limit: a convolution whose result is all but multiplied by 0
class Beside(mg.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = mg.nn.Conv2d(1, 4, 3, stride=4)
        self.first, self.second = mg.nn.Linear(64, 64), mg.nn.Linear(64, 10)

    def forward(self, x):
        return self.second(self.first(x.reshape(-1, 64)).relu()) + 1e-12 * self.conv(x).sum()


build = Beside
# %% right: under_a_limit: normalised, and with a dropout
def build():
    conv = [mg.nn.Conv2d(1, 8, 3, stride=2, padding=1), mg.nn.BatchNorm2d(8), mg.nn.ReLU(), mg.nn.Flatten()]
    return mg.nn.Sequential(*conv, mg.nn.Dropout(0.1), mg.nn.Linear(128, 30), mg.nn.ReLU(), mg.nn.Linear(30, 10))
# %% right: who_keeps: a dictionary, in the singular
keeps = dict(a="result", b="nothing", c="operand", d="result", e="operand", f="nothing", g="result", h="nothing")
# %% right: who_keeps: a text
keeps = "a result, b nothing, c operands, d result, e operands, f nothing, g result, h nothing"
# %% right: who_keeps: None keeps nothing
keeps = ("result", None, "operands", "result", "operands", None, "result", None)
# %% wrong: under_a_limit: one network for all calls
network = mg.nn.Sequential(
    mg.nn.Conv2d(1, 8, 3, stride=2, padding=1), mg.nn.ReLU(), mg.nn.Flatten(), mg.nn.Linear(128, 32), mg.nn.ReLU(),
    mg.nn.Linear(32, 10),
)  # fmt: skip


def build():
    return network
