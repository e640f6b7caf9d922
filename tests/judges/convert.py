"""PyTorch's arguments as minigrad's, and PyTorch's Python functions with minigrad in the place of PyTorch."""

import types

import numpy as np
import torch

import minigrad as mg

NO_MATTER = ("device", "layout", "pin_memory", "memory_format", "generator")  # each sample leaves them at the default


class Apart(Exception):
    """A sample that is no question for minigrad: the reason is its argument."""


def array(t):
    if t.layout != torch.strided:
        raise Apart("sparse")
    if t.is_complex():
        raise Apart("complex")
    if t.is_quantized or t.dtype is torch.bfloat16 or str(t.dtype).startswith("torch.float8"):
        raise Apart("no such dtype")
    return np.array(t.detach().numpy(force=True))


def converted(x, leaves):
    """x with minigrad's tensors; `leaves` receives the pairs (theirs, ours) that require a gradient."""
    match x:
        case torch.Tensor():
            ours = mg.tensor(array(x), requires_grad=x.requires_grad)
            if x.requires_grad:
                leaves.append((x, ours))
            return ours
        case torch.dtype():
            if x.is_complex:
                raise Apart("complex")
            return getattr(mg, str(x).removeprefix("torch."), x)
        case torch.Size():
            return tuple(x)
        case torch.device():
            return str(x)
        case torch.nn.Module():
            return module(x)
        case tuple() if hasattr(x, "_fields"):
            return type(x)(*(converted(v, leaves) for v in x))
        case list() | tuple():
            return type(x)(converted(v, leaves) for v in x)
        case slice():
            return slice(*(converted(v, leaves) for v in (x.start, x.stop, x.step)))
        case dict():
            return {k: converted(v, leaves) for k, v in x.items() if k not in NO_MATTER}
        case complex():
            raise Apart("complex")
        case types.FunctionType() | types.BuiltinFunctionType():
            return getattr(mg.nn.functional, x.__name__, None) or rebound(x, mg)
    return x


def module(m):
    """A module that a function or another module is given."""
    layer = getattr(mg.nn, type(m).__name__)
    if not hasattr(m, "self_attn"):
        return layer(*(getattr(m, name) for name in m.__constants__))
    return layer(
        m.self_attn.embed_dim, m.self_attn.num_heads, m.linear1.out_features, m.dropout.p, converted(m.activation, []),
        norm_first=m.norm_first, batch_first=m.self_attn.batch_first, bias=m.linear1.bias is not None,
    )  # fmt: skip


def cloned(x):
    """x with its tensors cloned: no leaves, which may be edited, once for each call."""
    match x:
        case torch.Tensor() | mg.Tensor():
            return x.clone()
        case list() | tuple():
            return [cloned(v) for v in x]
    return x


def cut(x):
    """x with each of PyTorch's tensors a leaf: of two, none is computed from the other."""
    match x:
        case torch.Tensor():
            return x.detach().requires_grad_(x.requires_grad)
        case list() | tuple() if not hasattr(x, "_fields"):
            return type(x)(cut(v) for v in x)
        case dict():
            return {k: cut(v) for k, v in x.items()}
    return x


def rebound(f, library):
    """A Python function of PyTorch's tests, with `library` where it says torch, and no seed of its own."""
    if not isinstance(f, types.FunctionType):
        return f
    if f.__name__ == "wrapper_set_seed":
        return unseeded
    names = f.__globals__ | {"torch": library, "wrapper_set_seed": unseeded}
    g = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, f.__closure__)
    g.__kwdefaults__ = f.__kwdefaults__
    return g


def unseeded(f, *xs, **options):
    return f(*xs, **options)


def flat(y):
    """The tensors and numbers of a result, in order."""
    if isinstance(y, (list, tuple)):
        return [leaf for part in y for leaf in flat(part)]
    if isinstance(y, dict):
        return flat(list(y.values()))
    return [y]
