"""PyTorch's database of operators: each entry's samples in float64, in every form of the name that minigrad has."""

from itertools import islice

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import minigrad as mg

from .compare import Entry, judged, same, same_gradients, silence
from .convert import Apart, array, cloned, converted, cut, flat, rebound
from .deliberate import OPS

APART = {
    **dict.fromkeys(["jiterator", "torch.ops.aten._e", "torch.ops.aten._f"], "CUDA"),
    **dict.fromkeys(["sparse.", "to_sparse"], "sparse"),
}
DTYPES = (torch.float64, torch.int64, torch.float32)
SEED = torch.default_generator


def entries(samples=8, only=None):
    for op in op_db:
        if only is None or only in (op.name, f"{op.name}.{op.variant_test_name}"):
            yield judge(op, samples)


def judge(op, samples):
    entry = Entry(f"{op.name} {op.variant_test_name}".strip())
    if reason := apart(op):
        entry.found.append(("apart", reason))
        return entry
    forms = dict(forms_of(op))
    dtype = next(d for d in DTYPES if d in op.dtypes)
    gradient = op.supports_autograd and dtype is torch.float64
    SEED.manual_seed(1)
    with silence():
        made = list(islice(op.sample_inputs_func(op, "cpu", dtype, gradient), samples))
    for i, sample in enumerate(made):
        sample.input, sample.args, sample.kwargs = cut(sample.input), cut(sample.args), cut(sample.kwargs)
        known = {}
        for how, form in (forms or {"absent": None}).items():
            if how == "in place" and sample.broadcasts_input:
                continue
            verdict, why = judged(lambda s=sample, k=known, h=how, f=form: compare(op, s, k, h, f))
            if form is None and verdict != "apart":
                verdict, why = "absent", ""
            elif verdict == "wrong" and why.startswith("gradient") and entry.name in OPS and OPS[entry.name][1](sample):
                verdict, why = "otherwise", OPS[entry.name][0]
            entry.found.append((verdict, why and f"{why} [sample {i}, {how}]"))
    return entry


def apart(op):
    """Why an entry is no question for minigrad, if it is none."""
    if not op.dtypes & set(DTYPES):
        return "no real dtype"
    if op.has_nondeterministic_output:
        return "undetermined"
    return next((why for start, why in APART.items() if op.name.startswith(start)), None)


def compare(op, sample, known, how, form):
    """One sample in one form; `known` keeps PyTorch's result for the next."""
    leaves = []
    x, xs, options = converted([sample.input, list(sample.args), dict(sample.kwargs)], leaves)
    edits = how == "in place"
    if edits not in known:
        known[edits] = settled(lambda: theirs(op, sample, edits))
    if form is None:
        return
    wrapper = rebound(op.gradcheck_wrapper, mg)
    ours = rebound(sample.output_process_fn_grad, mg)(wrapper(form, cloned(x), *xs, **options))
    same(known[edits], ours, "value")
    same_gradients(known[edits], ours, leaves)


def settled(run):
    """A result of PyTorch's, if it is real and dense and no seed changes it."""
    SEED.manual_seed(0)
    before, y = SEED.get_state(), run()
    tensors = [t for t in flat(y) if isinstance(t, torch.Tensor)]
    for t in tensors:
        array(t)
    if not torch.equal(SEED.get_state(), before):
        for seed in range(1, 5):
            SEED.manual_seed(seed)
            if not all(torch.equal(a, b) for a, b in zip(tensors, flat(run()))):
                raise Apart("random")
    return y


def theirs(op, sample, edits):
    f = op.inplace_variant if edits else rebound(op.op, torch)
    y = rebound(op.gradcheck_wrapper, torch)(f, cloned(sample.input), *sample.args, **sample.kwargs)
    return sample.output_process_fn_grad(y)


def forms_of(op):
    """The callables that minigrad has of an entry, by what they are called."""
    if is_written_out(op) and found(op.name):
        yield op.name, rebound(op.op, mg)
    elif found(op.name):
        yield op.name, found(op.name)
    if op.variant_test_name in ("unbiased", "") and not is_written_out(op):
        for alias in op.aliases:
            if found(alias.name):
                yield alias.name, found(alias.name)
    last = op.name.split(".")[-1]
    if op.method_variant is not None and callable(getattr(mg.Tensor, last, None)):
        yield "method", getattr(mg.Tensor, last)
    if op.inplace_variant is not None and callable(getattr(mg.Tensor, last + "_", None)):
        yield "in place", getattr(mg.Tensor, last + "_")


def is_written_out(op):
    """A lambda of PyTorch's tests, whose body says how the name is called."""
    return getattr(op.op, "__module__", "").startswith("torch.testing")


def found(name):
    """minigrad's callable of PyTorch's name: a function, or a method; a property becomes one."""
    here = mg
    for part in name.split("."):
        here = getattr(here, part, None)
    if callable(here) and not isinstance(here, (np.dtype, type)):
        return here
    here = getattr(mg.Tensor, name, None)
    return (lambda x: getattr(x, name)) if isinstance(here, property) else here if callable(here) else None
