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
