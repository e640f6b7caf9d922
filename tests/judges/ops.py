"""PyTorch's database of operators: each entry's samples in float64, in every form of the name that minigrad has."""

from itertools import islice

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import minigrad as mg

from .compare import Entry, judged, same, same_gradients, silence
from .convert import Apart, cloned, converted, cut, flat, rebound
from .deliberate import OPS

APART = {
    "jiterator": "CUDA",
    "torch.ops.aten._e": "CUDA",
    "torch.ops.aten._f": "CUDA",
    "sparse.": "sparse",
    "to_sparse": "sparse",
}
DTYPES = (torch.float64, torch.int64, torch.float32)


def entries(samples=8, only=None):
    for op in op_db:
        if only is None or only in (op.name, f"{op.name}.{op.variant_test_name}"):
            yield judge(op, samples)


def judge(op, samples):
    entry = Entry(op.name + (f" {op.variant_test_name}" if op.variant_test_name else ""))
    reason = apart(op)
    if reason:
        entry.found.append(("apart", reason))
        return entry
    forms = dict(forms_of(op))
    dtype = next(d for d in DTYPES if d in op.dtypes)
    torch.manual_seed(1)
    with silence():
        made = list(islice(op.sample_inputs("cpu", dtype, requires_grad=asks_gradient(op, dtype)), samples))
    for i, sample in enumerate(made):
        sample.input, sample.args, sample.kwargs = cut(sample.input), cut(sample.args), cut(sample.kwargs)
        for how, form in (forms or {"absent": None}).items():
            if "in place" in how and sample.broadcasts_input:
                continue
            verdict, why = judged(lambda s=sample, h=how, f=form: compare(op, s, h, f))
            if form is None and verdict != "apart":
                verdict, why = "absent", ""
            elif verdict not in ("whole", "apart") and op.name in OPS:
                verdict = "otherwise"
            entry.found.append((verdict, why and f"{why} [sample {i}, {how}]"))
    return entry


def apart(op):
    """Why an entry is no question for minigrad, if it is none."""
    if not op.dtypes & set(DTYPES):
        return "no real dtype"
    if op.has_nondeterministic_output:
        return "undetermined"
    return next((why for start, why in APART.items() if op.name.startswith(start)), None)


def asks_gradient(op, dtype):
    return op.supports_autograd and dtype is torch.float64


def compare(op, sample, how, form):
    """One sample in one form; a sample whose result depends on PyTorch's seed, or is complex, is apart."""
    runs = []
    for seed in range(4):
        torch.manual_seed(seed)
        runs.append(theirs(op, sample, how))
    leaves = []
    x, xs, options = converted([sample.input, list(sample.args), dict(sample.kwargs)], leaves)
    for several in zip(*map(flat, runs)):
        a = several[0]
        if isinstance(a, torch.Tensor) and (a.is_complex() or a.layout != torch.strided):
            raise Apart("complex" if a.is_complex() else "sparse")
        if isinstance(a, torch.Tensor) and not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for b in several):
            raise Apart("random")
    if form is None:
        return
    wrapper = rebound(op.gradcheck_wrapper, mg)
    ours = rebound(sample.output_process_fn_grad, mg)(wrapper(form, cloned(x), *xs, **options))
    same(runs[0], ours, "value")
    same_gradients(runs[0], ours, leaves)


def theirs(op, sample, how):
    f = op.inplace_variant if "in place" in how else rebound(op.op, torch)
    y = op.gradcheck_wrapper(f, cloned(sample.input), *sample.args, **sample.kwargs)
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
