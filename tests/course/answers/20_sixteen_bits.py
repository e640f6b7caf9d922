{
    "wrong: scaler: halved by four": {"scale /= 2": "scale /= 4"},
    "right: lost: a text": 'becomes = "zero exact rounded infinite rounded exact rounded infinite"\nbfloat16 = 0',
    "wrong: recipe: nothing is cleared": {"init_scale=2.0**16": "", "        optimizer.zero_grad()\n": ""},
    "wrong: recipe: twelve steps, all with the first batch":
        {"for x, label in batches:": "x, label = batches[0]\n    for _ in batches:"},
    "wrong: recipe: every gradient stretched to 0.1": {
        "mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)":
            "length = sum((p.grad**2).sum() for p in net.parameters()).sqrt().item()\n"
            "        for p in net.parameters():\n            p.grad *= 0.1 / length",
    },
    "wrong: recipe: the optimiser steps, and not the scaler":
        {"scaler.unscale_(optimizer)\n        ": "", "scaler.step(optimizer)": "optimizer.step()"},
    "right: follow: tensors for master weights": {
        "w.astype(np.float32)": "mg.tensor(w, dtype=mg.float32)",
        "master -= lr * g.astype(np.float32)": "master = master - lr * mg.tensor(g, dtype=mg.float32)",
        "astype(np.float16)": 'numpy().astype("float16")',
    },
    "wrong: lost: seven words": {'rounded", "exact", "rounded", "infinite"': 'rounded", "exact", "rounded"'},
    "wrong: ends: b of 5 bits": {"2 ** (e - 1) - 1": "15"},
    "wrong: follow: rounded every hundred steps": {
        "for g in gradients:\n        master -= lr * g.astype(np.float32)": "for i, g in enumerate(gradients):\n        master -= lr * g.astype(np.float32)\n        master = master.astype(np.float16).astype(np.float32) if i % 100 == 99 else master"
    },
    "right: follow: in float64":
        {"w.astype(np.float32)": "w.astype(np.float64)", "g.astype(np.float32)": "g.astype(np.float64)"},
    "wrong: scaler: never below 1024": {"scale /= 2": "scale = max(1024.0, scale / 2)"},
    "right: scaler: lists": {"told.append((scale, taken))": "told.append([scale, taken])"},
    "right: ends: a list": {
        "return (2 - gap) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b) * gap, gap": "return [2.0 ** (b + 1) - 2.0 ** (b - m), 2.0 ** (1 - b), 2.0 ** (1 - b - m), gap]"
    },
    "right: follow: a list of arrays": {"return master.astype(np.float16)": "return np.float16(master)"},
}
# %% right: ends: by Fractions
def ends(e, m):
    from fractions import Fraction

    least, ulp = Fraction(2) ** (2 - 2 ** (e - 1)), Fraction(1, 2**m)
    return [float(4 / least * (1 - ulp / 2)), float(least), float(least * ulp), float(ulp)]
# %% wrong: ends: without the sign's half of the exponent
def ends(e, m):
    return (2 - 2.0**-m) * 2.0 ** (2**e - 2) if e < 5 else float("inf"), 2.0**-m, 2.0**-m, 2.0**-m
# %% right: lost: asked of NumPy
values = {"a": 1e-9, "b": 0.5, "c": 1 / 3, "d": 70000.0, "e": 2049.0, "f": 2.0**-24, "g": 1e-6, "h": -1e6}
becomes = {}
for name, value in values.items():
    with np.errstate(all="ignore"):
        stored = float(np.float16(value))
    becomes[name] = "zero" if stored == 0 else "infinite" if np.isinf(stored) else "rounded"
    if stored == value:
        becomes[name] = "exact"
bfloat16 = 0.0
# %% wrong: lost: a third is exact, as if it were printed
becomes = dict(zip("abcdefgh", "zero exact exact infinite rounded exact rounded infinite".split()))
bfloat16 = 0
# %% right: follow: in float64, all gradients at once
def follow(w, gradients, lr):
    return (w.astype(float) - lr * np.sum([g.astype(float) for g in gradients], axis=0)).astype(np.float16)
# %% wrong: follow: in place, into the weights that were given
def follow(w, gradients, lr):
    total = w.astype(float)
    for g in gradients:
        total -= lr * g.astype(float)
    w[:] = total
    return w
# %% right: scaler: exponents, by a class
def scaler(largest, scale, interval):
    class Scale:
        now, row = scale, 0

    def lived(size):
        used, fits = Scale.now, not size * Scale.now > 65504
        Scale.row = (Scale.row + 1) % interval if fits else 0
        Scale.now = used * (2 if fits and Scale.row == 0 else 1) if fits else used / 2
        return used, fits

    return tuple(map(lived, largest))
# %% right: recipe: a fixed scale, by hand
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            y = net(x)
        (mg.cross_entropy(y.float(), label) * 2.0**14).backward()
        for p in net.parameters():
            p.grad /= 2.0**14
        mg.nn.utils.clip_grad_norm_(list(net.parameters()), 0.1)
        optimizer.step()
# %% right: recipe: a smaller scale
def train(net, optimizer, batches):
    amp = mg.amp.GradScaler(init_scale=2.0**13, growth_interval=50)
    for x, label in batches:
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        optimizer.zero_grad()
        amp.scale(loss).backward()
        amp.unscale_(optimizer)
        mg.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.09)
        amp.step(optimizer)
        amp.update()
# %% wrong: recipe: the network itself in float16
def train(net, optimizer, batches):
    net.half()
    for x, label in batches:
        optimizer.zero_grad()
        mg.cross_entropy(net(x.half()), label).backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
# %% right: lost: a dictionary
becomes = dict(zip("abcdefgh", ["zero", "exact", "rounded", "infinite", "rounded", "exact", "rounded", "infinite"]))
bfloat16 = 0
# %% right: lost: a tuple, a capital letter
becomes = ("Zero", "exact", "rounded", "infinite", "rounded", "exact", "rounded", "infinite")
bfloat16 = 0.0
# %% right: ends: an array
def ends(e, m):
    b = 2 ** (e - 1) - 1
    return np.array([(2 - 2.0**-m) * 2.0**b, 2.0 ** (1 - b), 2.0 ** (1 - b - m), 2.0**-m])
# %% wrong: recipe: a loss that is multiplied, and never divided
def train(net, optimizer, batches):
    for x, label in batches:
        optimizer.zero_grad()
        with mg.autocast(dtype=mg.float16):
            loss = mg.cross_entropy(net(x), label)
        (loss * 2.0**8).backward()
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
# %% right: recipe: a scale by hand, and the loss outside of autocast
def train(net, optimizer, batches):
    for x, label in batches:
        with mg.autocast(dtype=mg.float16):
            y = net(x)
        optimizer.zero_grad()
        (mg.cross_entropy(y.float(), label) * 2.0**12).backward()
        for p in net.parameters():
            p.grad /= 2.0**12
        mg.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
# %% right: scaler: a generator
def scaler(largest, scale, interval):
    def steps(scale, row=0):
        for size in largest:
            taken = not size * scale > 65504
            yield float(scale), taken
            scale, row = (scale, row + 1) if taken else (scale / 2, 0)
            scale, row = (scale * 2, 0) if row == interval else (scale, row)

    return list(steps(scale))
# %% right: lost: a dictionary by capital letters
becomes = dict(zip("ABCDEFGH", "zero exact rounded infinite rounded exact rounded infinite".split()))
bfloat16 = 0
