"""Bug reports from users of other frameworks as tests. Each program is rewritten, and runs in every mode.

The docstring of a test says what the report found wrong, unless it says what is right.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import minigrad as mg
from tests.support.onnx_engines import session_of

COMPILED = {"function": {}, "compiled": {"jit_compile": True}, "native": {"jit_compile": "native"}}
MODES = ["eager", *COMPILED, "session", "vmap", "saved", "onnx"]


@dataclass(frozen=True)
class Inputs:
    """The arrays of a report, of which floats may require gradients, and a folder for files."""

    arrays: list
    folder: object
    gradients: bool = True

    @property
    def floats(self):
        return [self.gradients and a.dtype.kind == "f" for a in self.arrays]

    def leaves(self):
        return [mg.tensor(a.copy(), requires_grad=asked) for a, asked in zip(self.arrays, self.floats)]


def report(source, *arrays, value, gradients=None, modes=MODES, rtol=1e-12, raises=None, refused=None):
    """A decorator that makes a program a test of its value and gradients in each mode.

    source       where it was reported: owner/repository#number; of a lambda, ": " and what it found wrong, too
    arrays       what the program is called with; Python numbers become float64
    value        what it returns
    gradients    of the sum of the result, an array for each float input; None if no input requires a gradient
    modes        the modes in which it runs
    raises       a part of the message of the error that the program raises instead of returning a value
    refused      a part of the message of the error that it raises in every mode but eager
    """
    arrays = [np.asarray(a, dtype=None if isinstance(a, np.ndarray) else float) for a in arrays]

    def decorate(program):
        @pytest.mark.parametrize("mode", [mode for mode in MODES if mode in modes])
        def test(mode, tmp_path):
            inputs = Inputs(arrays, tmp_path, gradients is not None)
            with np.errstate(all="ignore"):
                if error := raises or (refused if mode != "eager" else None):
                    with pytest.raises(Exception, match=error):
                        run(mode, program, inputs)
                    return
                result, slopes = run(mode, program, inputs)
            np.testing.assert_allclose(result, value, rtol, rtol, err_msg=f"{source}: the value")
            if gradients is not None and slopes is not None:
                for i, (found, expected) in enumerate(zip(slopes, gradients, strict=True)):
                    np.testing.assert_allclose(found, expected, rtol, rtol, err_msg=f"{source}: gradient {i}")

        test.__doc__ = f"{source}: {program.__doc__}" if program.__doc__ else source
        return test

    return decorate


def run(mode, program, inputs):
    """The value of the program in this mode, and the gradients of its sum, or None."""
    match mode:
        case "session":
            return run_session(program, inputs)
        case "vmap":
            return run_vmap(program, inputs)
        case "saved":
            specs = tuple(mg.TensorSpec(a.shape, a.dtype) for a in inputs.arrays)
            mg.save(inputs.folder / "report", mg.function(program), specs)
            program = mg.load(inputs.folder / "report")
        case "onnx":
            return run_onnx(program, inputs), None
        case compiled if compiled in COMPILED:
            program = mg.function(program, **COMPILED[compiled])
    leaves = inputs.leaves()
    y = program(*leaves)
    return y.detach().numpy(), slopes_of(y, leaves)


def slopes_of(y, leaves):
    floats = [x for x in leaves if x.requires_grad]
    if not (floats and y.requires_grad):
        return [np.zeros(x.shape) for x in floats]
    return [g.numpy() for g in mg.autograd.grad(y.sum(), floats, materialize_grads=True)]


def run_session(program, inputs):
    with mg.Graph().as_default() as graph:
        xs = [mg.placeholder(a.dtype, a.shape) for a in inputs.arrays]
        y = program(*xs)
        asked = [x for x, is_float in zip(xs, inputs.floats) if is_float]
        slopes = [mg.zeros_like(x) if g is None else g for x, g in zip(asked, mg.gradients(y.sum(), asked))]
    with mg.Session(graph) as session:
        value, *slopes = session.run([y, *slopes], dict(zip(xs, inputs.arrays)))
    return value, slopes


def run_vmap(program, inputs):
    """The program under vmap, over two equal slices."""
    leaves = [mg.tensor(np.stack([a, a]), requires_grad=asked) for a, asked in zip(inputs.arrays, inputs.floats)]
    y = mg.func.vmap(program)(*leaves)
    value, slopes = y.detach().numpy(), slopes_of(y, leaves)
    for pair in (value, *slopes):
        np.testing.assert_array_equal(pair[0], pair[1])
    return value[0], [pair[0] for pair in slopes]


def run_onnx(program, inputs):
    pytest.importorskip("onnxruntime")
    file = inputs.folder / "report.onnx"
    with warnings.catch_warnings(action="ignore"):
        mg.onnx.export(program, tuple(map(mg.tensor, inputs.arrays)), file)
    session = session_of(file)
    names = [x.name for x in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs.arrays, strict=True)))[0]
