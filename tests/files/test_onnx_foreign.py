"""ONNX files of other writers: a file that ONNX Runtime accepts is read, with the same results."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import SavedFileError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.support.onnx_engines import answers  # noqa: E402


def value(name, shape=None, elem_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, shape)


def model(nodes, x=None, y=None, arrays=(), opset=17):
    graph = helper.make_graph(nodes, "toy", [x or value("x", [2, 3])], [y or value("y", [2, 3])], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def check_like_onnx_runtime(made, x):
    data = made.SerializeToString()
    (found,) = answers([(data, [x])])
    np.testing.assert_allclose(mg.onnx.load(data)(x).numpy(), found["ONNX Runtime"][0], rtol=1e-5)


# -- graphs with missing parts, or in another order ----------------------------------------------------------

CHAIN = [helper.make_node(kind, [x], [y]) for kind, x, y in (("Relu", "b", "y"), ("Neg", "a", "b"), ("Sin", "x", "a"))]
INNER = {
    name: helper.make_graph([helper.make_node(kind, ["q"], [kind]), helper.make_node("Sin", ["x"], ["q"])][::step],
                            name, [], [value(kind)])
    for name, kind, step in (("then_branch", "Neg", 1), ("else_branch", "Exp", -1))
}  # fmt: skip
SCATTERED = [
    helper.make_node("If", ["c"], ["y"], **(INNER | {"then_branch": INNER["else_branch"]})),
    helper.make_node("Greater", ["s", "k"], ["c"]),
    helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
]
ZERO = numpy_helper.from_array(np.float32(0), "k")
FILES = {
    "nodes in another order": lambda: model(CHAIN),
    "an output without a shape": lambda: model(CHAIN[::-1], y=value("y")),
    "an output without a type": lambda: model(CHAIN[::-1], y=onnx.ValueInfoProto(name="y")),
    "an input without a shape": lambda: model(CHAIN[::-1], value("x")),
    "none of these": lambda: model(CHAIN, value("x"), onnx.ValueInfoProto(name="y")),
    "an if before its condition": lambda: model(SCATTERED, y=value("y"), arrays=[ZERO]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_missing_parts_is_read(name):
    check_like_onnx_runtime(FILES[name](), np.random.default_rng(0).standard_normal((2, 3)).astype("f4"))


def test_branches_in_another_order_are_read():
    """ONNX Runtime refuses such a file; the sorted file is the oracle."""
    x = np.ones((2, 3), "f4")
    made = model([helper.make_node("If", ["c"], ["y"], **INNER), *SCATTERED[1:]], y=value("y"), arrays=[ZERO])
    np.testing.assert_allclose(mg.onnx.load(made.SerializeToString())(x).numpy(), -np.sin(x), rtol=1e-6)


def test_a_shape_that_is_left_out_is_not_checked():
    f = mg.onnx.load(model(CHAIN, value("x")).SerializeToString())

    assert f.inputs == {"x": (np.dtype("f4"), None)}
    assert f(np.ones(5, "f4")).shape == (5,)


@pytest.mark.parametrize("nodes", [[("Relu", "b", "y"), ("Neg", "y", "b")], [("Relu", "y", "y")], [("Relu", "q", "y")]])
def test_a_cycle_or_a_missing_value_is_refused(nodes):
    made = model([helper.make_node(kind, [x], [y]) for kind, x, y in nodes])
    with pytest.raises(SavedFileError, match="no valid ONNX model"):
        mg.onnx.load(made.SerializeToString())


# -- sizes ----------------------------------------------------------------------------------------------

SCALES = ((0.6, 0.6), (0.5, 0.5), (0.3, 0.9), (1.5, 2.3), (0.5, 2), (2, 0.4), (3, 1), (1, 0.75), (1 / 3, 2 / 3))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("shape", [(1, 1, 4, 7), (1, 2, 5, 10), (1, 1, 23, 3)])
def test_a_picture_of_an_old_opset_is_made_of_the_same_pixels(opset, mode, shape):
    """Opset 10 shrinks a picture by taking the pixel above, not below, as in its own example."""
    x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    models = []
    for scale in SCALES:
        if (opset == 9 and min(scale) < 1) or shape[2] * scale[0] < 1:
            continue
        node = helper.make_node("Resize" if opset == 10 else "Upsample", ["x", "s"], ["y"], mode=mode)
        scales = numpy_helper.from_array(np.array([1, 1, *scale], "f4"), "s")
        models.append(model([node], value("x", shape), value("y", [None] * 4), [scales], opset))
    data = [made.SerializeToString() for made in models]

    for each, found in zip(data, answers([(each, [x]) for each in data]), strict=True):
        np.testing.assert_allclose(mg.onnx.load(each)(x).numpy(), found["ONNX Runtime"][0], rtol=1e-4, atol=1e-4)
