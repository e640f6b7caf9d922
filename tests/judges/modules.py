"""PyTorch's database of modules: the same parameters by name, then forward, and the gradients of both."""

import torch
from torch.testing._internal.common_modules import module_db

import minigrad as mg

from .compare import Entry, Wrong, judged, same, same_gradients, silence
from .convert import array, converted, cut
from .deliberate import MODULES


def entries(samples=8, only=None):
    for info in module_db:
        name = info.module_cls.__name__
        if only is None or only == name:
            yield judge(info, name, samples)


def judge(info, name, samples):
    if not hasattr(mg.nn, name):
        return Entry(name, [("absent", "")])
    entry, options = Entry(name), {"device": "cpu", "dtype": torch.float64, "requires_grad": True}
    torch.manual_seed(2)
    for training in (True, False):
        with silence():
            made = info.module_inputs_func(info, training=training, **options)
        for i, given in enumerate(made[:samples] if samples else made):
            verdict, why = judged(lambda g=given, t=training: compare(info, name, g, t))
            if verdict == "wrong" and why.startswith("gradient") and name in MODULES and MODULES[name][1](given):
                verdict, why = "otherwise", MODULES[name][0]
            mode = "training" if training else "evaluation"
            entry.found.append((verdict, why and f"{why} [sample {i}, {given.desc or 'default'}, {mode}]"))
    return entry


def compare(info, name, given, training):
    made, asked = given.constructor_input, given.forward_input
    dtype = {"dtype": torch.float64} if info.is_lazy else {}
    theirs = info.module_cls(*made.args, **made.kwargs, **dtype).double()
    theirs.train(training)
    ours = getattr(mg.nn, name)(*converted(list(made.args), []), **converted(dict(made.kwargs), []))
    ours.train(training)
    xs, options = cut(list(asked.args)), cut(dict(asked.kwargs))
    leaves = []
    ys, names = converted(xs, leaves), converted(options, leaves)
    if info.is_lazy:  # a first call makes the parameters, of both
        theirs(*xs, **options)
        ours(*ys, **names)
    mine, pytorchs = ours.state_dict(), theirs.state_dict()
    if set(mine) != set(pytorchs):
        raise Wrong(f"state_dict: {sorted(set(mine) ^ set(pytorchs))} on one side")
    if mine:
        ours.double()
        ours.load_state_dict({k: array(v) for k, v in pytorchs.items()})
    parameters = dict(theirs.named_parameters())
    torch.manual_seed(1)
    first = theirs(*xs, **options)
    leaves += [(parameters[k], p) for k, p in ours.named_parameters() if k in parameters]
    y = ours(*ys, **names)
    same(first, y, "value")
    same_gradients(first, y, leaves)
    same(list(theirs.buffers()), list(ours.buffers()), "buffer")
