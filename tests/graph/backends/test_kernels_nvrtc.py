"""Kernels, compiled for real GPUs by NVIDIA's own compiler, which needs none: what it accepts, CuPy will."""

import re

import pytest
from test_kernels import CASES, examples_in, group

from benchmarks.gpu import TIMED
from minigrad import ops
from minigrad.engine.base.spec import Spec
from minigrad.graph.backends.cuda.kernel import kernel
from minigrad.graph.backends.cuda.machine import OPTIONS
from tests.support.workload_kernels import kernels_of, small

ARCHITECTURES = {"Hopper, as the H100 and H200": "sm_90", "Blackwell, as the B200": "sm_100"}
GET = "NVRTC is not installed: python -m pip install 'minigrad-course[kernels]', 60 MB; it needs no GPU"


@pytest.fixture(scope="module")
def nvrtc():
    return pytest.importorskip("cuda.bindings.nvrtc", reason=GET)


def compiled(nvrtc, text, architecture):
    """The machine code of a text; fails with what the compiler says, a warning included."""
    error, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    assert not int(error)
    options = [o.encode() for o in (*OPTIONS, f"--gpu-architecture={architecture}")]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = b" " * nvrtc.nvrtcGetProgramLogSize(program)[1]
    nvrtc.nvrtcGetProgramLog(program, log)
    said = log.decode().strip(" \0\n")
    assert not int(error), f"{said}\n{text}"
    assert not said, f"{said}\n{text}"
    code = b" " * nvrtc.nvrtcGetCUBINSize(program)[1]
    nvrtc.nvrtcGetCUBIN(program, code)
    nvrtc.nvrtcDestroyProgram(program)
    return code


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_every_elementwise_op_compiles(nvrtc, dtype, architecture):
    """All in one text, each in a room of its own: what the compiler takes longest for is to start."""
    kernels = [kernel(fused, [Spec(x.shape, x.dtype) for x in xs]) for fused, xs in examples_in(dtype)]
    text = "\n".join(f"namespace room{i} {{\n{k.text}\n}}" for i, k in enumerate({k.text: k for k in kernels}.values()))

    code = compiled(nvrtc, text, architecture)

    assert len(kernels) == len(CASES)
    assert all(k.name.encode() in code for k in kernels)


def chain(x, b):
    y = (x * 1.5 + b).tanh()
    return y, y.apply(ops.Sum((0, 1))), y.apply(ops.Max((0, 1))), (y > 0).where(y, float("-inf"))


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1"])
@pytest.mark.parametrize("rows", [3, 1000, 1 << 24], ids=["one block", "many blocks", "wide indices"])
def test_a_group_with_reductions_and_broadcasting_compiles(nvrtc, dtype, rows, architecture):
    specs = Spec((rows, 200), dtype), Spec((200,), dtype)

    assert compiled(nvrtc, kernel(group(chain, *specs), specs, [(1, rows), (-1,)]).text, architecture)


def test_an_operand_read_by_each_index_and_the_result_over_it_compile(nvrtc):
    specs = [Spec((1000,), "f4")] * 2

    made = kernel(group(lambda w, g: w - 0.1 * g, *specs), specs, over=frozenset({(0, 0)}))

    assert compiled(nvrtc, made.text, "sm_90")


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?"])
def test_the_functions_of_integers_compile(nvrtc, dtype):
    spec = Spec((100,), dtype)
    whole = [ops.FloorDivide(), ops.Remainder(), ops.Fmod(), ops.And(), ops.Xor(), ops.Maximum(), ops.Div(), ops.Add()]
    if dtype != "?":
        whole += [ops.Sub(), *[ops.Power()] * spec.dtype.name.startswith("u")]

    made = kernel(group(lambda x, y: tuple(x.apply(op, y) for op in whole), spec, spec), [spec, spec])

    assert compiled(nvrtc, made.text, "sm_90")


@pytest.mark.parametrize("name", TIMED)
def test_the_kernels_of_a_workload_compile(nvrtc, name, monkeypatch):
    for each in kernels_of(small(name), monkeypatch):
        assert compiled(nvrtc, each.text, "sm_90")


def test_what_is_wrong_is_refused(nvrtc):
    """So that the tests above can fail."""
    spec = Spec((3,), "f4")
    text = kernel(group(lambda x: x.exp(), spec), [spec]).text

    with pytest.raises(AssertionError, match="exq"):
        compiled(nvrtc, text.replace("expf", "exq"), "sm_90")


def test_multiplying_and_adding_stay_two_roundings(nvrtc):
    """As they are in NumPy, and in a program that is not fused: a fused multiply-add would give other last digits."""
    spec = Spec((1000,), "f4")
    text = kernel(group(lambda x, y: x * y + x, spec, spec), [spec, spec]).text
    error, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    options = [o.encode() for o in (*OPTIONS, "--gpu-architecture=compute_90")]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    assert not int(error)
    listing = b" " * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, listing)

    assert re.search(rb"mul\.rn\.f32", listing)
    assert not re.search(rb"fma\.", listing)
