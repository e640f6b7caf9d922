"""Every module that both libraries have, made and called as PyTorch documents it: by place and by name.

Constructors and `forward` are read by inspection; arguments are small samples by their names. The state of PyTorch's
module is loaded into ours, and both see the same inputs: the results are equal, or an error says why not.
"""

import inspect

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import MinigradError
from tests.support.table import table

from .oracle import torch
from .samples import normal, part
from .test_signatures import called, difference

pytestmark = pytest.mark.usefixtures("doubles")

NEEDED = {  # what a constructor cannot do without, by its name
    "in_features": 4, "out_features": 3, "in1_features": 4, "in2_features": 4, "in_channels": 4, "out_channels": 6,
    "kernel_size": 3, "num_features": 4, "normalized_shape": 5, "num_groups": 2, "num_channels": 4, "embed_dim": 4,
    "num_heads": 2, "d_model": 4, "nhead": 2, "input_size": 4, "hidden_size": 3, "num_embeddings": 6, "size": 3,
    "embedding_dim": 5, "output_size": 3, "padding": 1, "upscale_factor": 2, "downscale_factor": 2, "threshold": 0.1,
    "value": 2.0, "num_layers": 2, "dim": 1, "unflattened_size": (2, 2), "n_classes": 10,
    "cutoffs": [2], "norm_type": 2.0,
}  # fmt: skip
OTHER = {  # what else is tried for an argument that has a default
    "activation": ["gelu"], "approximate": ["tanh"], "batch_first": [True], "beta": [0.5], "bidirectional": [True],
    "bias": [False], "blank": [1], "dilation": [2], "dim": [0, -1], "dropout": [0.0], "end_dim": [2], "eps": [0.1],
    "groups": [2], "ignore_index": [1], "margin": [0.3], "max_norm": [], "mode": ["sum", "max", "bilinear"],
    "momentum": [0.3, None], "norm_type": [1.0], "num_layers": [2], "num_parameters": [4], "output_padding": [1],
    "p": [1, 0.4], "padding": [1, "same"], "padding_idx": [1], "padding_mode": ["circular", "replicate"],
    "reduction": ["sum", "none"], "scale_factor": [2], "size": [6], "start_dim": [0], "stride": [2], "proj_size": [2],
    "nonlinearity": ["relu"], "max_val": [0.2], "min_val": [-0.5], "threshold": [1.0], "lambd": [0.2], "kdim": [],
    "divisor_override": [3], "pos_weight": [np.array(2.0)], "weight": [part(4)], "label_smoothing": [0.1], "k": [],
}  # fmt: skip
PLACES = np.array([[2, 0, 1], [1, 3, 3]])
INPUTS = [
    *[(normal(*shape),) for shape in ((2, 4), (2, 4, 5), (2, 4, 6, 5), (2, 4, 5, 4, 6), (4, 5), (2, 3, 4))],
    (PLACES,), (normal(2, 4), normal(2, 4)), (normal(2, 4), PLACES[:, 0]), (part(2, 4), part(2, 4)),
    (normal(2, 4), normal(2, 4), part(2, 4)), (normal(2, 4), normal(2, 4), np.array([1.0, -1.0])),
    (normal(2, 4), np.array([1.0, -1.0])), (normal(3, 2, 4), normal(3, 2, 4)), (normal(2, 4), PLACES[:, [0, 1, 2, 0]]),
    (normal(3, 2, 4),) * 3,
]  # fmt: skip
APART = """
TransformerEncoder TransformerDecoder CTCLoss Fold MaxUnpool1d MaxUnpool2d MaxUnpool3d AdaptiveLogSoftmaxWithLoss
FractionalMaxPool2d FractionalMaxPool3d
"""  # that are made of modules, draw at random, or take arguments that fit together: test_nn.py and test_breadth.py
CLASSES = [
    name for name in dir(mg.nn)
    if inspect.isclass(getattr(mg.nn, name)) and issubclass(getattr(mg.nn, name), mg.nn.Module)
    and inspect.isclass(getattr(torch.nn, name, None))
    and name not in ("Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
]  # fmt: skip


def arguments(function):
    given = inspect.signature(function).parameters.values()
    return [p for p in given if p.name not in ("self", "device", "dtype", "size_average", "reduce", "inplace", "_")]


def makings(name):
    """(args, kwargs) of a constructor: what is needed, then one more argument each time, by name and by place."""
    theirs = getattr(torch.nn, name)
    parameters = arguments(theirs.__init__)
    if issubclass(theirs, torch.nn.RNNBase):  # which is given a mode by those that hand on the rest
        parameters = [p for p in arguments(torch.nn.RNNBase.__init__) if p.name != "mode"]
    parameters = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    needed = [p for p in parameters if p.default is p.empty and p.name in NEEDED and p.kind is p.POSITIONAL_OR_KEYWORD]
    args = [NEEDED[p.name] for p in needed]
    small = {} if "Transformer" not in name else {"dim_feedforward": 8, "dropout": 0.0}
    if name == "Transformer":
        small |= {"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    if name.startswith("Transformer") and name[11:] in ("Encoder", "Decoder"):
        return
    yield args, small
    yield [], dict(zip([p.name for p in needed], args)) | small
    before = []
    is_in_order = "size_average" not in inspect.signature(theirs.__init__).parameters
    for p in parameters[len(needed) :]:
        flag = [not p.default] if isinstance(p.default, bool) else []
        for value in OTHER.get(p.name, flag):
            yield args, small | {p.name: value}
            if is_in_order and p.kind is p.POSITIONAL_OR_KEYWORD and not small:
                yield [*args, *before, value], {}
        before.append(p.default)


def judged(name, args, kwargs):
    """What is different about a module made like that, in words; None if nothing is, or PyTorch or minigrad refuses."""
    try:
        torch.manual_seed(0)
        theirs = called(torch, getattr(torch.nn, name), args, kwargs)
    except Exception:
        return None, 0
    try:
        ours = called(mg, getattr(mg.nn, name), args, kwargs)
        ours.load_state_dict({key: mg.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    except (MinigradError, TypeError, ValueError, NotImplementedError) as error:
        return (str(error), 1) if isinstance(error, mg.errors.StateError) else (None, 1)
    modes = ("eval", "train") if "Norm" in name else ("eval",)
    seen = 0
    words = [p.name for p in arguments(theirs.forward)]
    for mode in modes:
        getattr(ours, mode)(), getattr(theirs, mode)()
        for inputs in INPUTS:
            if inputs[0] is PLACES and "Embedding" not in name:
                continue
            for by_name in (False, True):
                xs = ((), dict(zip(words, inputs))) if by_name else (inputs, {})
                try:
                    expected = called(torch, theirs, *xs)
                except Exception:
                    continue
                seen += 1
                try:
                    result = called(mg, ours, *xs)
                except (MinigradError, TypeError, ValueError, NotImplementedError) as error:
                    if "forward() got an unexpected" in str(error) or "multiple values" in str(error):
                        return str(error), seen
                    continue
                if said := difference(result, expected, False, False):
                    return f"{mode}, inputs {[x.shape for x in inputs]}: {said}", seen
    return None, seen


@pytest.mark.filterwarnings("ignore")
@table("name", CLASSES, groups=8)
def test_a_documented_module_means_the_same_or_is_refused(name):
    """`Linear()(input=x)` was refused, and a flag by its place could have been another one."""
    wrong, seen = {}, 0
    for args, kwargs in makings(name):
        said, count = judged(name, args, kwargs)
        seen += count
        if said:
            wrong[f"{name}(*{args}, **{kwargs})"] = said

    assert not wrong
    assert seen or name in APART.split()
