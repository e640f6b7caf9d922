"""A view of training: loss, boundary, weights and gradients, while it runs and afterwards.

Training runs on its own thread, so that a cell returns at once and the buttons work. Where threads cannot be started,
as in a browser, training is a task of the kernel's event loop and runs between cells. The screen shows frames, taken
when the clock allows (training.py), so their number differs from run to run. `losses` and `table` have fixed steps,
the same in every run.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from contextvars import Context
from math import inf
from typing import Any

import traitlets

from ...draw.charts import LOOKS, place_in_rows
from ...draw.svg import STYLE
from ...draw.words import number, pluralize
from ...engine.base.threads import can_start
from ...engine.tensor.tensor import Tensor
from ..probe import halt
from . import training
from .widget import Plain, SteppedWidget, javascript

ROWS = 10  # rows of the table for each run
PATIENCE = 2.0  # seconds for a step to end when the view is closed
TICK = 0.02  # seconds between polls while training is a task, not a thread
Wait = tuple[Callable[[], bool], float | None]  # a condition to wait for, and a timeout in seconds


class TrainingView(SteppedWidget):
    """view = TrainingView(model, loss_fn, (x, y), optimizer), then view.run(500)

    model        any callable that maps x to an output; loss_fn(output, y) is the loss
    data         a pair (x, y), used at every step; or batches, iterated over and over
    speed        steps per second; 0 for no limit
    rate         the optimizer's learning rate, for all parameter groups; a slider sets it during training
    threshold    a single output above it means class 1: by default 0.5 after a Sigmoid, else 0
    clock        returns the time in seconds; tests pass a fake clock

    losses       the loss of each step
    table        {step, loss, accuracy} of about ten steps of each run; accuracy is on the batch, before the update
    steps        the frames, as plain data
    state        ready, running, paused, finished, failed or closed
    error        the traceback of a failed step

    The model itself is trained, not a copy: code that uses it meanwhile sees it change.
    """

    _esm = javascript("stepper", "number", "training_here", "training_view")
    sheets = "stepper", "slider", "training_view"
    looks = STYLE + training.NETWORK

    shown = ("label", "index", "frames", "points", "corners", "program", "state", "news", "planned", "speed", "rate")
    frames: traitlets.List[Plain] = traitlets.List().tag(sync=True)  # `steps` at the last change of state
    points: traitlets.List[Any] = traitlets.List().tag(sync=True)
    corners: traitlets.List[float] = traitlets.List().tag(sync=True)
    program: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)  # draws the network, and trains it in the page
    state = traitlets.Unicode("ready").tag(sync=True)
    news = traitlets.Unicode().tag(sync=True)
    planned = traitlets.Int(100, min=1).tag(sync=True)
    speed = traitlets.Float(0.0, min=0.0).tag(sync=True)
    rate = traitlets.Float(0.0, min=0.0).tag(sync=True)
    steps: traitlets.List[Plain] = traitlets.List()

    def __init__(
        self, model: Callable[[Any], Any], loss_fn: Callable[[Any, Any], Any], data: Any, optimizer: Any,
        threshold: float | None = None, speed: float = 0.0, clock: training.Clock = time.perf_counter,
    ):  # fmt: skip
        self._turn = threading.Condition()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self._steps: Iterator[Wait] = iter(())
        self._paused, self._ending, self._closed, self._credit = False, False, False, 0
        self.model: Any = model
        self.loss_fn, self.optimizer = loss_fn, optimizer
        (x, y), self._batches = training.first_of(data)
        self._x, self._output = x, None
        self.threshold = training.threshold_of(model) if threshold is None else threshold
        self.losses: list[float] = []
        self.table: list[Plain] = []
        self.error = ""
        self._ration = training.Ration(clock)
        self._boundary = training.boundary_of(model, x, y, self.threshold)
        points, corners, program = [], [], {}
        if seen := self._boundary:
            points, corners = seen.points, [*seen.low.tolist(), *seen.high.tolist()]
            is_whole = (len(points), {*training.array(y).ravel()}, self.threshold) == (len(x), {0, 1}, 0)
            is_trained_here = is_whole and isinstance(data, tuple)
            program = training.small_network(model, loss_fn if is_trained_here else None, optimizer)
        rate = getattr(optimizer, "lr", 0.0)
        super().__init__(label="Training", points=points, corners=corners, program=program, speed=speed, rate=rate)
        self.on_msg(self._on_message)
        self._look()
        self._show("ready", "Nothing is trained yet.")

    @traitlets.observe("rate")
    def _faster_or_slower(self, _: Any) -> None:
        for group in getattr(self.optimizer, "param_groups", ()):
            group["lr"] = self.rate

    # -- commands of the learner, or of a button -------------------------------------------------

    def run(self, steps: int) -> TrainingView:
        """Start training for this many steps. Raises RuntimeError during training and after close()."""
        if self._closed:
            raise RuntimeError("this view is closed: make another one")
        if self._ending:
            self.wait(PATIENCE)  # until the last step ends
        if self.alive:
            raise RuntimeError("training is already running: pause() it, or wait() for its end")
        if steps < 1:
            raise ValueError(f"run(steps) needs 1 step or more, got {steps}")
        self.planned = steps
        self._paused, self._ending, self._credit = False, False, 0
        self._show("running", "")
        self._steps = self._train(steps)
        if can_start():
            self._thread = threading.Thread(target=self._on_a_thread, daemon=True, name="TrainingView")
            self._thread.start()
        else:  # in its own context, as on a thread
            self._task = Context().run(asyncio.ensure_future, self._in_turns())
        return self

    def wait(self, seconds: float | None = None) -> TrainingView:
        """Return when training has ended, or after a timeout. Paused training has not ended."""
        if self._thread is not None:
            self._thread.join(seconds)
        elif self.alive:
            self._here(seconds)
        return self

    def _set(self, credit: int = 0, **changes: bool) -> None:
        """Set attributes, add steps that a paused run may train, and wake the training loop."""
        with self._turn:
            self.__dict__.update(changes, _credit=self._credit + credit)
            self._turn.notify_all()

    def pause(self) -> None:
        """Stop before the next step, until resume() or step()."""
        self._set(_paused=True)

    def resume(self) -> None:
        self._set(_paused=False)

    def step(self) -> None:
        """Train one step of the current run, and pause the run; if there is none, run one step."""
        if self._ending or not self.alive:
            self.run(1)
        else:
            self._set(credit=1, _paused=True)

    def close(self) -> None:
        """End training and close the view. A step that does not end in time is stopped."""
        self._set(_closed=True, _ending=True)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(PATIENCE)
            halt(thread, PATIENCE)
        self.state = "closed"
        super().close()

    def put_away(self) -> None:
        """End training: else each run of a cell would leave a thread and a network behind. run() continues."""
        self._set(_ending=True)
        super().put_away()

    @property
    def alive(self) -> bool:
        """Whether training has started and not ended."""
        if self._task is not None:
            return not self._task.done()
        return self._thread is not None and self._thread.is_alive()

    def _on_message(self, _: Any, said: Any, __: Any) -> None:
        asked = said.get("do") if isinstance(said, dict) else None
        match asked:
            case "pause":
                self.pause()
            case "resume":
                self.resume()
            case "step" if not self._closed:
                self.step()
            case "run" if not self._closed and not self.alive:
                self.run(self.planned)

    # -- the training loop, on a thread or as a task ---------------------------------------------

    def _on_a_thread(self) -> None:
        for until, seconds in self._steps:
            with self._turn:
                self._turn.wait_for(until, seconds)

    async def _in_turns(self) -> None:
        """The training loop as a task: after each step the event loop handles messages, such as buttons."""
        for until, seconds in self._steps:
            end = time.monotonic() + (inf if seconds is None else seconds)
            await asyncio.sleep(0)
            while not until() and time.monotonic() < end:
                await asyncio.sleep(TICK)

    def _here(self, seconds: float | None) -> None:
        """Run the remaining steps of a task at once, because a blocking wait() lets no task run."""
        end = time.monotonic() + (inf if seconds is None else seconds)
        for until, pace in self._steps:
            if time.monotonic() > end or (pace is None and not until()):
                break
            time.sleep(pace or 0)

    def _train(self, steps: int) -> Generator[Wait, None, None]:
        first, every = len(self.losses), max(1, steps // ROWS)
        ended = "finished", f"{pluralize(first + steps, 'step is', 'steps are')} done."
        try:
            for n in range(1, steps + 1):
                if not (yield from self._may_go_on()):
                    ended = "finished", f"No cell shows it any longer: training ended after step {first + n - 1:,}."
                    break
                loss = self._one_step()
                if n == 1 or n % every == 0 or n == steps:
                    self.table.append({"step": first + n, "loss": loss, "accuracy": self._right()})
                if self._ration.due():
                    self._look()
        except training.Divergence as error:
            ended = "failed", str(error)
        except BaseException as error:  # from the learner's loss, model or data: shown in the view, not in the kernel
            self.error = traceback.format_exc()
            where = f"Step {len(self.losses) + 1:,} raised {type(error).__name__}: {error}".rstrip(": ")
            ended = "failed", f"{where}. {training.HALTED.format(len(self.losses))}"
        if not self._closed:
            self._look()
            self._show(*ended)

    def _one_step(self) -> float:
        """Train one step; return its loss. Raises Divergence before the update if the loss is not finite."""
        x, y = next(self._batches)
        output = self.model(x if isinstance(x, Tensor) else Tensor(x))
        loss = self.loss_fn(output, y)
        value = training.number_of(loss, len(self.losses))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(value)
        self._output, self._y = output, y
        return value

    def _may_go_on(self) -> Generator[Wait, None, bool]:
        """Wait as `speed` requires and, if paused, for resume() or step(). Returns False if training must end."""
        yield lambda: self._ending or self._paused, 1 / self.speed if self.speed and not self._paused else 0.0
        with self._turn:
            was_paused, waits = self._paused, self._paused and not self._credit and not self._ending
            if waits:
                self._look()
                self._show("paused", f"Paused after step {len(self.losses):,}.")
        if waits:
            yield lambda: bool(self._ending or not self._paused or self._credit), None
        with self._turn:
            self._credit -= bool(self._paused and self._credit)
            if was_paused and not self._paused and not self._ending:
                self._show("running", "")
            return not self._ending

    def _right(self) -> float | None:
        return training.batch_accuracy(self._output, self._y, self.threshold) if self.losses else None

    # -- frames ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take a frame after the current step, unless this step has one already."""
        n = len(self.losses)
        if self.steps and self.steps[-1]["step"] == n:
            return
        began = self._ration.clock()
        frame = self._frame(n)
        if len(self.steps) >= training.MOST_FRAMES:
            self.index = 0  # valid for any number of frames
            self.steps = [*training.thin_frames(self.steps), frame]
            self.frames = self.steps
        else:
            self.steps = [*self.steps, frame]
            self.send({"frame": frame})
        self._ration.record_look(began)

    def _frame(self, n: int) -> Plain:
        loss, right = (self.losses[-1], self._right()) if n else (None, None)
        layers, of = ([], 0) if self.program else training.histograms(self.model, self.optimizer)
        share = "" if right is None else f", {number(100 * right, 3)} % of the batch right"
        say = "Before the first step."
        if loss is not None:
            say = f"After {pluralize(n, 'step', 'steps')}: loss {number(loss)}{share}."
        heat = self._boundary.levels() if self._boundary else ""
        curve = training.sample_losses(self.losses, self.steps[-1]["step"] if self.steps else 0)
        more = {"layers": layers, "of": of, "heat": heat}
        found = [*map(training.array, self.model.parameters())] if self.program else []
        weights = [p.astype(float).clip(-1e99, 1e99).round(4).ravel() for p in found]  # JSON has no infinity and no NaN
        frame = {"step": n, "phase": "", "say": say, "loss": loss, "right": right, "curve": curve, **more}
        return {**frame, "weights": [[None if x != x else x for x in p.tolist()] for p in weights]}

    def _show(self, state: str, news: str) -> None:
        """Set the state and the news, and send all frames so far."""
        with self.hold_sync():
            self.frames = self.steps
            self.index = len(self.steps) - 1
            self.news, self.state = news, state

    @property
    def text(self) -> str:
        """Step, loss and accuracy of some steps, as a table."""
        return "\n".join(filter(None, [training.columns(self.table), self.news]))

    @property
    def svg(self) -> str:
        """The network and the boundary, if they can be drawn, and the loss over the steps."""
        loss = "", training.curve(self.losses)
        drawn = [("", training.plane(seen)) for seen in [self._boundary] if seen] + [loss]
        if self.program and self._boundary and self._boundary.levels():
            numbers = [training.array(p).ravel() for p in self.model.parameters()]
            columns = training.outputs(self.model, self._boundary.grid)
            inside = training.network(self.program["layers"], numbers, columns)
            drawn = [("Weights: blue adds, dashed subtracts", inside), ("The answer", drawn[0][1]), drawn[1]]
        elif not self._boundary:
            right = [row["accuracy"] for row in self.table if row["accuracy"] is not None]
            sizes = [training.array(p).size for p in getattr(self.optimizer, "parameters", list)()]
            drawn = [("What is trained", training.summary(self._x, self._output, sizes, right)), loss]
        return place_in_rows(self.label, STYLE + LOOKS + training.NETWORK, drawn)

    def __repr__(self) -> str:
        steps = f"{pluralize(len(self.losses), 'step', 'steps')}, " * (self.state != "running")
        return f"TrainingView({steps}{self.state})"
