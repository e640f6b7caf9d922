"""What a function refuses by its values, it refuses in every graph: traced, run, compiled, batched, saved, exported."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad.nn.quantization import quantize_per_tensor
from tests.support.onnx_engines import session_of
from tests.support.table import table


def f8(*shape):
    return mg.tensor(np.random.default_rng(0).standard_normal(shape))


def ints(*x):
    return mg.tensor(np.array(x))


W, SCORES, PLANE = f8(5, 2), f8(2, 3), f8(1, 1, 2, 2)
LETTERS = f8(4, 1, 3).log_softmax(-1)
# name → (function, arguments that are right, arguments that are not)
CASES = {
    "embedding": (lambda i: F.embedding(i, W), (ints(0, 1),), (ints(0, -1),)),
    "embedding, far": (lambda i: F.embedding(i, W), (ints(0, 1),), (ints(0, 5),)),
    "embedding_bag": (lambda i: F.embedding_bag(i, W), (ints([0, 1]),), (ints([0, -1]),)),
    "one_hot": (lambda i: F.one_hot(i, 3), (ints(0, 1),), (ints(0, -1),)),
    "cross_entropy": (F.cross_entropy, (SCORES, ints(0, 2)), (SCORES, ints(0, -1))),
    "cross_entropy, far": (F.cross_entropy, (SCORES, ints(0, -100)), (SCORES, ints(0, 3))),
    "smoothed": (lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), (SCORES, ints(0, 2)), (SCORES, ints(0, -1))),
    "nll_loss": (F.nll_loss, (SCORES, ints(0, 2)), (SCORES, ints(0, -3))),
    "multi_margin_loss": (F.multi_margin_loss, (SCORES, ints(0, 2)), (SCORES, ints(0, -1))),
    "multilabel_margin_loss": (F.multilabel_margin_loss, (SCORES[0], ints(0, 2, -1)), (SCORES[0], ints(0, 2, -2))),
    "max_unpool2d": (lambda x, i: F.max_unpool2d(x, i, 2), (PLANE, ints([[[0, 2], [8, 10]]])),
                     (PLANE, ints([[[0, 2], [8, -1]]]))),
    "gather": (lambda x, i: x.gather(1, i), (SCORES, ints([0], [2])), (SCORES, ints([0], [-1]))),
    "scatter": (lambda x, i: x.scatter(1, i, 9.0), (SCORES, ints([0], [2])), (SCORES, ints([0], [-1]))),
    "scatter_add": (lambda x, i: x.scatter_add(1, i, x[:, :1]), (SCORES, ints([0], [2])), (SCORES, ints([0], [-1]))),
    "binary_cross_entropy": (F.binary_cross_entropy, (f8(2).sigmoid(), f8(2).sigmoid()), (f8(2) + 2, f8(2).sigmoid())),
    "no number": (F.binary_cross_entropy, (f8(2).sigmoid(), f8(2).sigmoid()), (f8(2) * np.nan, f8(2).sigmoid())),
    "gaussian_nll_loss": (F.gaussian_nll_loss, (f8(2), f8(2), f8(2) ** 2), (f8(2), f8(2), -(f8(2) ** 2))),
    "ctc_loss": (lambda t: F.ctc_loss(LETTERS, t, [4], [2]), (ints([1, 2]),), (ints([1, -1]),)),
    "quantize": (lambda x: quantize_per_tensor(x, 0.5, 0, np.int8).int_repr(), (f8(2),), (f8(2) * np.nan,)),
}  # fmt: skip
OF_NUMBERS = {"binary_cross_entropy", "no number", "gaussian_nll_loss"}
NOT_EXPORTED = {"quantize"}  # of which every element is a number: docs/differences.md


def session(f, args):
    with mg.Graph().as_default() as graph:
        places = [mg.placeholder(x.dtype, x.shape) for x in args]
        y = f(*places)
    run = mg.Session(graph)
    return lambda *xs: run.run(y, dict(zip(places, (x.numpy() for x in xs))))


def loaded(f, args, tmp_path):
    mg.save(tmp_path / "f.mg", mg.function(f), args)
    return mg.load(tmp_path / "f.mg")


WORLDS = {
    "eager": lambda f, args, _: f, "traced": lambda f, args, _: mg.function(f),
    "compiled": lambda f, args, _: mg.function(f, jit_compile=True),
    "native": lambda f, args, _: mg.function(f, jit_compile="native"), "session": lambda f, args, _: session(f, args),
    "loaded": loaded, "vmap": lambda f, args, _: lambda *xs: mg.vmap(f)(*(mg.stack([x, x]) for x in xs)),
    "gradient": lambda f, args, _: mg.function(
        lambda *xs: mg.func.grad(lambda s, *rest: (f(*rest) * s).sum())(mg.ones(()), *xs)
    ),
}  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
@table("f, right, wrong", CASES.values(), ids=CASES)
def test_what_is_refused_by_its_values_is_refused_in_each_world(f, right, wrong, world, tmp_path):
    run = WORLDS[world](f, right, tmp_path)

    run(*right)
    with pytest.raises((IndexError, ValueError), match=r"-1|-2|-3|[35]|nan|no number|to") as error:
        run(*wrong)

    assert not isinstance(error.value, mg.errors.NoValueError)


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_EXPORTED])
def test_an_exported_graph_refuses_an_index_and_gives_nan_for_a_number(name, tmp_path):
    pytest.importorskip("onnxruntime")
    f, right, wrong = CASES[name]
    mg.onnx.export(f, right, tmp_path / "f.onnx")
    net = session_of(tmp_path / "f.onnx")

    def run(args):
        return net.run(None, {x.name: a.numpy() for x, a in zip(net.get_inputs(), args, strict=True)})[0]

    np.testing.assert_allclose(run(right), f(*right).numpy(), rtol=1e-6)
    if name in OF_NUMBERS:
        assert np.isnan(run(wrong)).any()
        assert mg.onnx.load(tmp_path / "f.onnx")(*wrong).isnan().any()
    else:
        with pytest.raises(Exception, match=r"(?i)bounds|invalid ind|out of range"):
            run(wrong)
        with pytest.raises(IndexError):
            mg.onnx.load(tmp_path / "f.onnx")(*wrong)


def test_a_device_tells_of_it_when_a_value_is_next_read():
    there = W.to("simulated")
    run = mg.function(lambda i: F.embedding(i, there))

    assert run(ints(0, 1).to("simulated")).shape == (2, 2)
    y = run(ints(0, -1).to("simulated"))
    with pytest.raises(IndexError, match="indices of embedding are 0 to 4"):
        y.numpy()


def test_a_check_is_not_folded_away_and_not_left_out_with_the_value_it_passes_on():
    f = mg.function(lambda: F.embedding(mg.tensor([0, -1]), W), jit_compile=True)
    slope = mg.function(lambda i, w: mg.func.grad(lambda w: F.embedding(i, w).sum())(w))  # for which no row is read

    with pytest.raises(IndexError, match="0 to 4, and got -1"):
        f()
    with pytest.raises(IndexError, match="0 to 4, and got -1"):
        slope(ints(0, -1), W)


def test_a_captured_target_that_is_edited_is_asked_again():
    target = ints(0, 2)
    f = mg.function(lambda x: F.cross_entropy(x, target))
    f(SCORES)

    target[0] = -1

    with pytest.raises(IndexError, match="classes"):
        f(SCORES)
