"""A session's run in a file: what is loaded gives what the session gives, and goes on from its variables."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError, ShapeError, StateError
from tests.support.other_processes import output_of

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(8, 3)), RNG.normal(size=(8, 1))


def regression():
    """A session in the middle of its training, and its tensors by name."""
    with mg.Graph().as_default() as graph:
        x, t = mg.placeholder("float64", (None, 3), name="x"), mg.placeholder("float64", (None, 1), name="t")
        w, steps = mg.Variable(np.ones((3, 1)), name="w"), mg.Variable(0.0, trainable=False, name="steps")
        y = x @ w
        loss = ((y - t) ** 2).mean()
        optimizer = mg.optim.SGD(mg.graph.trainable_variables(), lr=0.1, momentum=0.9)
        train, count = optimizer.minimize(loss), steps.assign_add(1)
        start = mg.global_variables_initializer()
    session = mg.Session(graph)
    session.run(start)
    for _ in range(3):
        session.run([train, count], {x: X, t: T})
    return session, {"x": x, "t": t, "w": w, "y": y, "loss": loss, "train": train, "count": count, "start": start}


def test_a_callable_is_a_run():
    session, at = regression()
    predict = session.make_callable({"y": at["y"], "w": at["w"]}, [at["x"]])

    found, wanted = predict(X), session.run({"y": at["y"], "w": at["w"]}, {at["x"]: X})

    assert [*found] == ["y", "w"]
    assert all(np.array_equal(found[name], wanted[name]) for name in found)
    with pytest.raises(TypeError, match=r"this run is fed \(.*x.*\), and was called with 2 values"):
        predict(X, T)
    with pytest.raises(GraphError):
        session.make_callable(at["y"], ["nobody"])


def test_a_saved_run_answers_as_the_session_and_learns(tmp_path):
    session, at = regression()
    mg.save(tmp_path / "run.mg", session.make_callable(at["loss"], [at["x"], at["t"]]))

    f = mg.load(tmp_path / "run.mg")

    assert [name for name, _ in f.named_parameters()] == ["w"]
    loss = f(mg.tensor(X[:5]), mg.tensor(T[:5]))
    assert loss.item() == session.run(at["loss"], {at["x"]: X[:5], at["t"]: T[:5]})
    loss.backward()
    residual = X[:5] @ session.run(at["w"]) - T[:5]
    np.testing.assert_allclose(f.variables["w"].grad.numpy(), X[:5].T @ residual * 2 / 5)
    with pytest.raises(ShapeError, match="was saved for"):
        f(mg.tensor(X))


def test_training_goes_on_from_it_to_the_bit_in_a_fresh_process(tmp_path):
    session, at = regression()
    mg.save(tmp_path / "train.mg", session.make_callable([at["loss"], at["train"], at["count"]], [at["x"], at["t"]]))
    np.savez(tmp_path / "data.npz", X=X, T=T)
    code = (
        "import minigrad as mg, numpy as np\n"
        "f, data = mg.load('train.mg'), np.load('data.npz')\n"
        "for _ in range(4): loss, nothing, steps = f(mg.tensor(data['X']), mg.tensor(data['T']))\n"
        "print(loss.item().hex(), nothing, steps.item(), f.variables['w'].numpy().tobytes().hex(),\n"
        "      *(name for name, _ in f.named_parameters()))"
    )
    said = output_of(code, cwd=tmp_path)

    for _ in range(4):
        loss, _, steps = session.run([at["loss"], at["train"], at["count"]], {at["x"]: X, at["t"]: T})
    assert said.split() == [float(loss).hex(), "None", str(steps), session.run(at["w"]).tobytes().hex(), "w"]


def test_what_is_fed_and_not_read_is_an_argument_all_the_same(tmp_path):
    session, at = regression()
    mg.save(tmp_path / "run.mg", session.make_callable((at["y"], [at["w"]]), [at["t"], at["x"]]))

    f = mg.load(tmp_path / "run.mg")

    assert [*f.signature.inputs] == ["t", "x"]
    y, [w] = f(mg.tensor(T), mg.tensor(X))
    assert np.array_equal(y.numpy(), session.run(at["y"], {at["x"]: X}))
    assert np.array_equal(w.numpy(), session.run(at["w"]))


def test_an_initializer_starts_over(tmp_path):
    session, at = regression()
    mg.save(tmp_path / "start.mg", session.make_callable(at["start"]))
    f = mg.load(tmp_path / "start.mg")
    assert f() is None
    assert f.variables["w"].numpy().tolist() == [[1.0]] * 3


def test_a_session_alone_is_no_function_and_a_variable_without_a_value_cannot_be_saved(tmp_path):
    session, at = regression()
    with pytest.raises(StateError, match=r"session\.make_callable"):
        mg.save(tmp_path / "run.mg", session)
    empty = mg.Session(session.graph)
    with pytest.raises(GraphError, match=r"w, .* has no value in this session yet"):
        mg.save(tmp_path / "run.mg", empty.make_callable(at["y"], [at["x"]]))
    assert not (tmp_path / "run.mg").exists()
