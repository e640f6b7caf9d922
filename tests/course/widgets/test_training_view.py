"""TrainingView trains as a loop by hand does, looks when the clock allows, and survives what learners write."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import TrainingView
from minigrad.course.widgets.training import (
    GAP,
    MOST_FRAMES,
    SHARE,
    Boundary,
    batch_accuracy,
    batches,
    spread,
    thin_frames,
)
from tests.support.saved_page import page_state

EARLY = 12  # looks more than five a second, at the start
SOON = 60.0  # seconds that anything here may take on a busy machine


def points(n: int = 40) -> tuple[mg.Tensor, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(n, 2))
    return mg.tensor(x), (x[:, 0] * x[:, 1] > 0).astype(int)


def network(outputs: int = 2) -> Any:
    rng = np.random.default_rng(0)
    return mg.nn.Sequential(mg.nn.Linear(2, 8, rng=rng), mg.nn.Tanh(), mg.nn.Linear(8, outputs, rng=rng))


@pytest.fixture
def view():
    """A view of a small network; closed when the test is over."""
    made: list[TrainingView] = []

    def make(loss: Any = mg.cross_entropy, data: Any = None, model: Any = None, **options: Any) -> TrainingView:
        model = network() if model is None else model
        optimizer = mg.optim.SGD(model.parameters(), lr=0.3)
        made.append(TrainingView(model, loss, points() if data is None else data, optimizer, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
        assert not each.alive


def until(true: Any) -> None:
    deadline = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.002)


class Clock:
    """Time that passes when told to, or by a second at each step: then every step is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def cross_entropy(self, output: Any, y: Any) -> Any:
        self.now += 1
        return mg.cross_entropy(output, y)


def test_it_trains_as_a_loop_by_hand_does(view):
    by_hand, losses = network(), []
    optimizer, (x, y) = mg.optim.SGD(by_hand.parameters(), lr=0.3), points()
    for _ in range(30):
        loss = mg.cross_entropy(by_hand(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    clock = Clock()
    watched = view(clock.cross_entropy, clock=clock).run(30).wait()

    assert watched.losses == losses
    for p, q in zip(watched.model.parameters(), by_hand.parameters()):
        assert (p.numpy() == q.numpy()).all()
    assert [(frame["step"], frame["loss"]) for frame in watched.steps[1:]] == list(enumerate(losses, 1))


@pytest.mark.share(8)
@pytest.mark.parametrize("cost", [0.0, 0.01, 0.1, 1.0])
def test_looking_is_rationed_by_the_clock(view, cost):
    """Steps of 1 ms for 20 s: five looks a second at most, and 8 % of the time at most."""
    clock, model, steps, step, looked = Clock(), network(), 20_000, 0.001, [0]

    class Watched:
        training = False
        parameters = model.parameters

        def __call__(self, x: Any) -> Any:
            if len(x) > 40:  # the grid of the boundary: this is a look
                clock.now += cost
                looked[0] += 1
            return model(x)

    def loss(output: Any, y: Any) -> Any:
        clock.now += step
        return Free()

    class Free:
        item = staticmethod(lambda: 1.0)
        backward = staticmethod(lambda: None)

    watched = view(loss, model=Watched(), clock=clock)
    before, looked[0] = clock.now, 0
    watched.run(steps).wait()
    looks = looked[0]

    assert clock.now - before <= steps * step * (1 + SHARE) + 2 * cost  # the first look and the last are not rationed
    assert looks <= min(steps * step / GAP, SHARE * steps * step / cost if cost else 1e9) + EARLY
    assert looks >= 0.8 * min(steps * step / GAP, SHARE * steps * step / (cost or 1e-9)) - 1


def test_frames_are_thinned_before_they_are_too_many(view):
    clock = Clock()
    watched = view(clock.cross_entropy, clock=clock).run(2 * MOST_FRAMES).wait()

    steps = [frame["step"] for frame in watched.steps]
    assert MOST_FRAMES / 2 < len(steps) <= MOST_FRAMES
    assert steps[0] == 0
    assert steps[-1] == 2 * MOST_FRAMES
    assert steps == sorted(set(steps))
    assert watched.frames == watched.steps
    bare = thin_frames([{"n": n, "curve": [n]} for n in range(6)])
    assert bare == [{"n": 0, "curve": [0]}, {"n": 2, "curve": [2]}, {"n": 4, "curve": [4]}, {"n": 5, "curve": [5]}]


def test_a_short_run_has_a_curve_and_frames_too(view):
    clock = Clock()
    watched = view(clock.cross_entropy, clock=clock).run(50).wait()
    known = [step for frame in watched.steps for step, _ in frame["curve"]]
    assert known == sorted(set(known))
    assert known[-1] == 50
    assert len(known) > 20
    assert all(watched.losses[step - 1] == loss for frame in watched.steps for step, loss in frame["curve"])


def test_a_loss_that_is_no_number_stops_before_the_update_and_keeps_the_state(view):
    calls = iter(range(100))
    watched = view(lambda output, y: mg.cross_entropy(output, y) * (float("nan") if next(calls) == 5 else 1.0))
    kept = view().run(5).wait()
    watched.run(20).wait()

    assert watched.state == "failed"
    assert watched.news == (
        "Step 6: the loss is nan. Training stopped before the update of this step: the weights are those after step 5. "
        "A smaller learning rate may help."
    )
    assert len(watched.losses) == 5
    for p, q in zip(watched.model.parameters(), kept.model.parameters()):
        assert (p.numpy() == q.numpy()).all()
    json.loads(page_state(watched.page()), parse_constant=refuse)
    assert watched.run(3).wait().state == "finished"  # and it goes on, if asked to


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_training_that_runs_away_can_still_be_shown(view):
    clock = Clock()

    def loss(output: Any, y: Any) -> Any:
        clock.now += 1
        return (output * output).sum() ** 2

    watched = view(loss, clock=clock)
    watched.optimizer.lr = 1e9
    watched.run(50).wait()

    assert watched.state == "failed"
    assert "the loss is inf" in watched.news
    assert len(watched.steps) > 2
    json.loads(page_state(watched.page()), parse_constant=refuse)
    assert "nan" not in watched.svg
    assert "inf" not in watched.svg


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize(("loss", "words"), [
    (lambda output, y: undefined, "Step 1 raised NameError: name 'undefined' is not defined."),  # noqa: F821
    (lambda output, y: 0.5, "Step 1 raised TypeError: loss_fn must return a tensor of one element, got 0.5."),
    (lambda output, y: output, "Step 1 raised"), (lambda output, y: mg.tensor(1.0), "Step 1 raised NoGradientError"),
    (lambda output, y: raised(SystemExit), "Step 1 raised SystemExit. Training stopped"),
    (lambda output, y: raised(KeyboardInterrupt), "Step 1 raised KeyboardInterrupt"),
])  # fmt: skip
def test_what_the_learners_loss_raises_is_shown_and_nothing_else_ends(view, loss, words):
    watched = view(loss).run(5).wait()

    assert watched.state == "failed"
    assert watched.news.startswith(words)
    assert "Traceback" in watched.error
    assert watched.news in watched.text


def raised(error: type[BaseException]) -> None:
    raise error


def test_pause_step_resume(view):
    watched = view()
    watched.pause()
    watched.run(10**6)
    watched.pause()
    until(lambda: watched.state == "paused")
    n = len(watched.losses)

    watched.step()
    until(lambda: watched.news == f"Paused after step {n + 1}.")
    assert len(watched.losses) == n + 1
    assert watched.steps[-1]["step"] == n + 1
    assert watched.frames == watched.steps
    watched.resume()
    until(lambda: len(watched.losses) > n + 10)
    assert watched.state == "running"
    assert repr(watched) == "TrainingView(running)"


def test_the_buttons_send_what_pauses_steps_and_resumes(view):
    watched = view()
    press = lambda do: watched._handle_custom_msg({"do": do}, [])  # noqa: E731
    press("step")
    until(lambda: watched.state == "finished")
    assert len(watched.losses) == 1
    watched.planned = 10**6
    press("run")
    press("run")  # pressed twice
    press("pause")
    until(lambda: watched.state == "paused")
    press("resume")
    until(lambda: watched.state == "running")
    for nonsense in (None, 3, [], {}, {"do": "dance"}, {"do": ["pause"]}):
        watched._handle_custom_msg(nonsense, [])
    assert watched.alive


def test_a_closed_view_says_so(view):
    closed = view().run(3).wait()
    closed.close()

    assert closed.state == "closed"


def test_closing_ends_the_thread_also_while_paused(view):
    running, paused = view().run(10**6), view()
    paused.run(10**6).pause()
    until(lambda: paused.state == "paused")
    for watched in (running, paused):
        watched.close()
        assert not watched.alive
        with pytest.raises(RuntimeError, match="closed"):
            watched.run(1)
    assert not [thread for thread in threading.enumerate() if thread.name == "TrainingView"]


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_view_that_no_cell_shows_ends_its_training_and_can_train_on(view, is_paused):
    away, threads = view(), threading.active_count()
    away.run(10**6)
    if is_paused:
        away.pause()
        until(lambda: away.state == "paused")
    away.put_away()

    until(lambda: threading.active_count() == threads)
    n = len(away.losses)
    assert (away.state, away.news) == ("finished", f"No cell shows it any longer: training ended after step {n}.")
    away.run(2).put_away()
    away.run(3).wait()  # at once, as a cell does that runs again
    assert away.news == f"{len(away.losses)} steps are done."


def test_closing_stops_a_loss_that_never_ends(view, monkeypatch):
    monkeypatch.setattr("minigrad.course.widgets.training_view.PATIENCE", 0.2)
    entered = threading.Event()

    def endless(output: Any, y: Any) -> Any:
        entered.set()
        while True:
            pass

    watched = view(endless).run(1)
    assert entered.wait(SOON)
    watched.close()

    until(lambda: not watched.alive)


def test_one_training_at_a_time(view):
    watched = view().run(10**6)

    with pytest.raises(RuntimeError, match="training is already running"):
        watched.run(1)


def test_a_pace_is_kept_and_can_be_left(view):
    watched = view()
    watched.speed = 0.001
    watched.run(10)
    time.sleep(0.05)
    assert len(watched.losses) == 0
    watched.pause()
    until(lambda: watched.state == "paused")
    watched.speed = 0.0
    watched.resume()
    assert watched.wait(SOON).state == "finished"


def test_the_learning_rate_can_be_changed_while_it_trains(view):
    """In step 4 and all after it the weights move as with another rate from there on."""
    rates, clock = [], Clock()
    watched = view(clock.cross_entropy, clock=clock)
    assert watched.rate == 0.3
    step = watched.optimizer.step

    def noted() -> None:
        rates.append(watched.optimizer.lr)
        step()
        if len(rates) == 3:
            watched.rate = 0.75

    watched.optimizer.step = noted
    watched.run(5).wait()
    assert rates == [0.3, 0.3, 0.3, 0.75, 0.75]


def test_what_is_said_is_the_same_in_every_run(view):
    first, second = (view().run(25).wait() for _ in range(2))

    assert repr(first) == "TrainingView(25 steps, finished)"
    assert first.text == second.text
    assert first.svg == second.svg
    assert [row["step"] for row in first.table] == [1, *range(2, 26, 2), 25]
    assert first.text.splitlines()[0].split() == ["step", "loss", "accuracy"]
    assert first.text.endswith("25 steps are done.")


def test_looking_disturbs_nothing():
    """Dropout, running means and gradients are what they would have been."""
    results = []
    for everywhere in (False, True):
        clock = Clock()
        loss = clock.cross_entropy if everywhere else mg.cross_entropy
        mg.manual_seed(0)
        rng = np.random.default_rng(0)
        layers = [mg.nn.Linear(2, 8, rng=rng), mg.nn.BatchNorm1d(8), mg.nn.Dropout(0.5), mg.nn.Linear(8, 2, rng=rng)]
        model = mg.nn.Sequential(*layers)
        optimizer = mg.optim.SGD(model.parameters(), lr=0.3)
        watched = TrainingView(model, loss, points(), optimizer, clock=clock).run(10).wait()
        results.append([watched.losses, [array.numpy().tolist() for array in model.state_dict().values()], watched])
        assert model.training
        watched.close()

    assert [len(result[2].steps) for result in results] == [2, 11]
    assert results[0][:2] == results[1][:2]


def test_the_boundary_is_what_the_network_says():
    model, (x, y) = network(), points()
    boundary = Boundary(model, x, y, 0.0)
    scores = model(boundary.grid).numpy()

    assert [level > "O" for level in boundary.levels()] == (scores[:, 1] > scores[:, 0]).tolist()
    corner = boundary.grid.numpy()[0]
    assert boundary.low[0] < corner[0] < boundary.low[0] + 0.3  # the first is at the left,
    assert boundary.high[1] - 0.3 < corner[1] < boundary.high[1]  # and at the top
    assert [point[2] for point in boundary.points] == y.tolist()


@pytest.mark.parametrize(("model", "data"), [
    (network(3), points()), (network(), (mg.tensor(np.ones((6, 2))), np.arange(6))),
    (network(1), (mg.tensor(np.ones((6, 2))), np.array([3.7, 7.1] * 3))),
    (mg.nn.Linear(3, 2), (mg.tensor(np.ones((6, 3))), np.arange(6) % 2)),
])  # fmt: skip
def test_where_there_is_no_plane_with_two_classes_there_is_no_boundary(view, model, data):
    watched = view(lambda output, y: (output * output).mean(), data, model).run(3).wait()

    assert watched.state == "finished"
    assert watched.points == []
    assert watched.steps[-1]["heat"] == ""


def test_one_output_is_compared_with_the_threshold(view):
    x, y = points()
    model = mg.nn.Sequential(mg.nn.Linear(2, 1, rng=np.random.default_rng(0)), mg.nn.Sigmoid())
    loss = lambda output, wanted: ((output - mg.tensor(wanted.reshape(-1, 1))) ** 2).mean()  # noqa: E731
    watched = view(loss, (x, y.astype(float)), model)

    assert watched.threshold == 0.5
    expected = float(((model(x).numpy().ravel() > 0.5) == (y == 1)).mean())
    assert watched.run(1).wait().table[0]["accuracy"] == expected
    assert view(threshold=0.25).threshold == 0.25


def test_the_share_of_right_ones():
    assert batch_accuracy(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1, 1]), 0) == 0.5
    assert batch_accuracy(np.array([1.0, -1.0]), np.array([1.0, -1.0]), 0) == 1.0
    assert batch_accuracy(np.array([-1.0, -2.0]), np.array([0, 0]), 0) == 1.0
    assert batch_accuracy(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.5, 2.5]), 0) is None
    assert batch_accuracy(np.array([3.7, 7.1]), np.array([3.7, 7.1]), 0) is None
    assert batch_accuracy(np.array([0.5, 7.1]), np.array([3.7, 3.7]), 0) is None
    assert batch_accuracy(np.array([0.5, 7.1]), np.array([2, 5]), 1) == 1.0
    assert batch_accuracy(np.array([0.5, 7.1]), np.array([False, True]), 1) == 1.0
    assert batch_accuracy(np.ones((2, 3, 4)), np.array([1, 1]), 0) is None


def test_a_first_loss_that_is_no_number_is_not_the_learning_rates_fault(view):
    empty = view(lambda y, _: y.mean(), (mg.zeros(0, 2), mg.zeros(0))).run(1).wait()

    assert (empty.news[-13:], repr(empty)) == ("after step 0.", "TrainingView(0 steps, failed)")


def test_a_spread_is_numpys_histogram():
    values = np.random.default_rng(0).normal(size=1000)
    bars, _ = np.histogram(values, 15)

    told = spread(mg.tensor(values))

    assert (told["low"], told["high"]) == (values.min(), values.max())
    assert np.array(list(told["bars"]), int).tolist() == np.ceil(9 * bars / bars.max()).astype(int).tolist()
    assert spread(None) is None
    assert spread(np.array([1.0, np.nan])) is None
    assert spread(np.array([-1.7e308, 1.7e308])) is None
    assert spread(np.array([])) is None
    assert spread(np.array([1.0, 1.0 + 2e-16]))["bars"] == "9" + "0" * 13 + "9"  # once raised
    assert spread(np.zeros(3)) == {"bars": "000000090000000", "low": 0.0, "high": 0.0}


def test_batches_are_gone_through_again_and_a_stream_that_ends_says_so(view):
    x, y = points()
    pairs = [(x[:20], y[:20]), (x[20:], y[20:])]
    loader = batches(pairs)

    assert [next(loader) is pairs[n % 2] for n in range(5)] == [True] * 5
    watched = view(data=iter(pairs)).run(5).wait()
    assert len(watched.losses) == 2
    assert "the data has no batch left" in watched.news
    with pytest.raises(ValueError, match="no batch left"):
        view(data=[])


@pytest.mark.parametrize("data", [None, 3.0, [mg.ones(4, 2), mg.ones(4)], ["xy"]])
def test_data_that_are_no_batches_are_refused(view, data):
    with pytest.raises(TypeError, match=r"data must be a pair \(x, y\) or an iterable of such pairs; got"):
        TrainingView(network(), mg.cross_entropy, data, None)


def test_a_run_has_a_step(view):
    with pytest.raises(ValueError, match="1 step or more, got 0"):
        view().run(0)


def test_a_small_network_is_drawn_with_its_weights(view):
    watched = view().run(3).wait()
    numbers = [p.numpy().ravel() for p in watched.model.parameters()]
    lines = re.findall(r'data-sign="(.+?)" stroke-width="(.+?)"', watched.svg)
    weights = np.sort([*numbers[0], *numbers[2]])

    assert all(np.allclose(*pair, atol=1e-4) for pair in zip(watched.steps[-1]["weights"], numbers))
    wide = sorted(float(sign) * float(width) for sign, width in lines)
    assert np.allclose(wide, np.sign(weights) * (0.5 + 1.4 * np.abs(weights)), atol=0.01)
    assert watched.svg.count("<image") == 2 + 8 + 2 + 1  # the field of each unit, and of the whole


def test_weights_that_are_not_finite_leave_the_page_readable(view):
    """float64 overflowed when it was rounded, and the page stayed empty; NaN was shown as 0."""
    model = network()
    model[0].weight = mg.nn.Parameter(np.full((8, 2), 1e306))
    model[2].bias = mg.nn.Parameter(np.array([np.nan, -np.inf]))
    watched = view(model=model)

    json.loads(page_state(watched.page()), parse_constant=refuse)
    assert "loss" not in watched.program
    assert watched.steps[0]["weights"][3] == [None, -1e99]
    assert watched.steps[0]["weights"][0][0] == 1e99


def test_headings_of_a_deep_network_do_not_overlap_and_a_deeper_one_has_a_table(view):
    def deep(layers: int) -> Any:
        bends = [each for _ in range(layers - 1) for each in (mg.nn.Linear(2, 2), mg.nn.Sigmoid())]
        return mg.nn.Sequential(*bends, mg.nn.Linear(2, 2))

    words = re.findall(r'mg-sign mg-dim" x="\S+" y="12\S*">(.+?)<', view(model=deep(6)).program["picture"])
    assert words == ["2 in", *["2"] * 5, "2 out"]
    assert view(model=deep(7)).program == {}
    assert len(view(model=deep(7)).steps[0]["layers"]) == 12


def test_a_frame_has_weights_and_gradients_of_each_layer(view):
    watched = view(model=mg.nn.Sequential(network()))
    assert [layer["gradients"] for layer in watched.steps[0]["layers"]] == [None] * 4

    watched.run(1).wait()

    frame = watched.steps[-1]
    for layer, (name, p) in zip(frame["layers"], watched.model.named_parameters()):
        assert layer["name"] == name
        assert layer["weights"]["low"] == p.numpy().min()
        assert layer["gradients"]["high"] == p.grad.numpy().max()
    assert frame["say"].startswith("After 1 step: loss ")


def test_a_page_trains_with_minigrads_own_loss_but_not_with_another_of_that_name(view):
    def cross_entropy(output: Any, y: Any) -> Any:
        return mg.cross_entropy(2 * output, y)

    assert view().program["loss"] == "cross_entropy"
    assert view(cross_entropy).program.keys() == {"layers", "picture"}
