"""Schedules: the learning rate as a function of time.

A schedule is a function, `lr_at(t, base)`: the rate at step t of a group with base rate `base`. So its only state is
t, its rate can be computed for any step, and two schedules are joined by calling one, then the other. The exception
is `ReduceLROnPlateau`, which depends on the loss.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from inspect import Signature, signature
from math import cos, floor, isclose, pi, prod
from typing import Any

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.errors import GraphError
from ..engine.core.modes import current
from ..engine.core.stateful import Stateful
from .optimizer import Optimizer
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .plateau import count, each_group, refuse_other, refuse_stranger, settings


class LRScheduler(Stateful):
    """Sets the learning rate of each group of an optimiser, step by step.

    optimizer     the optimiser; each of its groups stores the group's first rate as "initial_lr"
    last_epoch    the step of the last call; −1 is the start

    Call `step` after the optimiser's step, once an epoch or once a batch, depending on the unit of the schedule.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        refuse_stranger(self, optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch != -1 and "initial_lr" not in group:
                advice = "load the optimiser's state_dict first"
                raise ValueError(f"to resume at last_epoch={last_epoch}, group {i} must have an initial_lr: {advice}")
            group.setdefault("initial_lr", group["lr"])
        self.optimizer = optimizer
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        """The learning rate at step t of group number `group`, whose base rate is `base`."""
        raise NotImplementedError(f"{type(self).__name__} must define lr_at(t, base)")

    def step(self, epoch: float | None = None) -> None:
        """Go to the next step, or to step `epoch`, which may be a fraction."""
        if epoch is not None and not epoch >= 0:
            raise ValueError(f"epoch must be 0 or more, got {epoch}")
        if current.mode.is_traced:
            raise GraphError(
                f"{type(self).__name__}.step() counts in Python, which runs once, while the graph is built: call it "
                "outside the traced function. The graph reads the rate again in each run"
            )
        t = self.last_epoch + 1 if epoch is None else epoch
        self.admit_groups()
        self.apply(t)
        self.last_epoch = floor(t)

    def admit_groups(self) -> None:
        """Schedule groups that were added later. Each continues from its present rate, along the same curve."""
        groups, known = self.optimizer.param_groups, len(self.base_lrs)
        if len(groups) < known:
            raise ValueError(
                f"{type(self).__name__} schedules {known} groups, but the optimiser now has {len(groups)}: make the "
                "schedule again"
            )
        for i, group in enumerate(groups[known:], known):
            if "initial_lr" not in group:
                group["initial_lr"] = self.base_for(group["lr"], i)
            self.base_lrs.append(group["initial_lr"])

    def base_for(self, lr: float, group: int) -> float:
        """The base rate for which the group has rate lr at the current step. Raises ValueError if there is none.

        The rate is linear in the base, a · base + b; two bases determine a and b.
        """
        t = self.last_epoch
        offset = self.lr_at(t, 0.0, group)
        slope = self.lr_at(t, 1.0, group) - offset
        base = (lr - offset) / slope if slope else 0.0
        if not isclose(self.lr_at(t, base, group), lr, rel_tol=1e-6):
            raise ValueError(
                f"group {group} joined the optimiser at step {t} with rate {lr}, but no base rate gives that rate in "
                f"{type(self).__name__}: set the group's initial_lr, or add the group before you make the schedule"
            )
        return base

    def apply(self, t: float) -> None:
        """Set the optimiser's rates for step t."""
        for i, (group, base) in enumerate(zip(self.optimizer.param_groups, self.base_lrs, strict=True)):
            group["lr"] = self.lr_at(t, base, i)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates of the last step, one for each group."""
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """The values that change during a run, and the schedule's kind and options, which load_state_dict compares."""
        changed = {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs), "_last_lr": self.get_last_lr()}
        return settings(self) | changed

    @refuse_by_name
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the step of a saved state. The rate is in the optimiser's own state.

        Raises ValueError, and loads nothing, if the state is of another kind of schedule or of other options.
        """
        refuse_other(self, state_dict, "last_epoch", "base_lrs", "_last_lr")
        n = len(self.optimizer.param_groups)
        if not 0 < len(state_dict["base_lrs"]) <= n:
            raise ValueError(f"this optimiser has {n} groups, but the state has base_lrs={state_dict['base_lrs']}")
        self.last_epoch = state_dict["last_epoch"]
        self.base_lrs, self._last_lr = list(state_dict["base_lrs"]), list(state_dict["_last_lr"])


class LambdaLR(LRScheduler):
    """base · f(t)

    lr_lambda    f, or a list with an f for each group
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        self.lr_lambda = lr_lambda
        each_group(optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    lr_lambdas = property(lambda self: each_group(self.optimizer, "lr_lambda", self.lr_lambda), doc="f for each group.")

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return base * float(self.lr_lambdas[group](t))


class MultiplicativeLR(LambdaLR):
    """base · f(1) · f(2) ⋯ f(t)"""

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        f = self.lr_lambdas[group]
        return float(base * prod(f(k) for k in range(1, int(t) + 1)))


def closed_form(*counts: str) -> Callable[[Callable[..., float]], type[Any]]:
    """Make a schedule class from a function f(t, base, …). Its further parameters become those of the constructor.

    counts    the names of parameters that must be positive whole numbers
    """

    def build_schedule(f: Callable[..., float]) -> type[Any]:
        _, _, *told = signature(f).parameters.values()
        itself, first, last = signature(LRScheduler.__init__).parameters.values()
        wanted = Signature([itself, first, *told, last])

        def __init__(*given: Any, **named: Any) -> None:
            bound = wanted.bind(*given, **named)
            bound.apply_defaults()
            self, optimizer, *options, last_epoch = bound.arguments.values()
            for option, value in zip(told, options):
                value = count(self, option.name, value) if option.name in counts else value
                setattr(self, option.name, list(value) if isinstance(value, Iterator) else value)
            LRScheduler.__init__(self, optimizer, last_epoch)

        def lr_at(self: Any, t: float, base: float, group: int = 0) -> float:
            return f(t, base, *(getattr(self, option.name) for option in told))

        __init__.__signature__ = wanted  # type: ignore[attr-defined]
        inside = {"__init__": __init__, "lr_at": lr_at, "__doc__": f.__doc__, "__module__": f.__module__}
        return type(f.__name__, (LRScheduler,), inside)

    return build_schedule


@closed_form("step_size")
def StepLR(t: float, base: float, step_size: int, gamma: float = 0.1) -> float:
    """base · γ^⌊t / step_size⌋"""
    return float(base * gamma ** (t // step_size))


@closed_form()
def MultiStepLR(t: float, base: float, milestones: Sequence[int], gamma: float = 0.1) -> float:
    """base · γⁿ after n milestones"""
    return float(base * gamma ** bisect_right(sorted(milestones), t))


@closed_form()
def ExponentialLR(t: float, base: float, gamma: float) -> float:
    """base · γᵗ"""
    return float(base * gamma**t)


@closed_form()
def ConstantLR(t: float, base: float, factor: float = 1 / 3, total_iters: int = 5) -> float:
    """base · factor for total_iters steps, then base"""
    if not 0 <= factor <= 1:
        raise ValueError(f"ConstantLR needs a factor from 0 to 1, got {factor}")
    return base * factor if t < total_iters else base


@closed_form("total_iters")
def LinearLR(
    t: float, base: float, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5
) -> float:
    """base times a line from start_factor to end_factor, over total_iters steps: a warm-up"""
    if not (0 < start_factor <= 1 and 0 <= end_factor <= 1):
        got = f"{start_factor} and {end_factor}"
        raise ValueError(f"LinearLR needs 0 < start_factor ≤ 1 and 0 ≤ end_factor ≤ 1, and got {got}")
    return base * (start_factor + (end_factor - start_factor) * min(t / total_iters, 1))


@closed_form("total_iters")
def PolynomialLR(t: float, base: float, total_iters: int = 5, power: float = 1.0) -> float:
    """base · (1 − t / total_iters)^power up to total_iters, then 0"""
    return float(base * (1 - min(t / total_iters, 1)) ** power)


@closed_form("T_max")
def CosineAnnealingLR(t: float, base: float, T_max: int, eta_min: float = 0.0) -> float:
    """η_min + ½ (base − η_min) (1 + cos(π t / T_max))

    Loshchilov & Hutter 2017, “SGDR: Stochastic Gradient Descent with Warm Restarts”, eq. 5, without the restarts:
    after T_max the rate rises along the cosine again. https://arxiv.org/abs/1608.03983
    """
    return cosine(base, eta_min, t / T_max)


@closed_form("T_0", "T_mult")
def CosineAnnealingWarmRestarts(t: float, base: float, T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> float:
    """CosineAnnealingLR, restarted after T_0 steps, after T_0 · T_mult more, after T_0 · T_mult² more, …

    Loshchilov & Hutter 2017, eq. 5. `step(epoch + i / n)` follows it between epochs.
    """
    if T_mult == 1:
        return cosine(base, eta_min, t % T_0 / T_0)
    period = T_0
    while t >= period:
        t, period = t - period, period * T_mult
    return cosine(base, eta_min, t / period)


def cosine(start: float, end: float, done: float) -> float:
    """From start to end along half a cosine wave, as `done` goes from 0 to 1."""
    return end + (start - end) * (1 + cos(pi * done)) / 2


CURVES: dict[str, Callable[[float, float, float], float]] = {
    "cos": cosine,
    "linear": lambda start, end, done: start + (end - start) * done,
}


class Cycle(LRScheduler):
    """A schedule that sets the initial rate itself, and may also change the momentum (β₁ of Adam variants)."""

    def __init__(self, optimizer: Optimizer, first: Sequence[float], momenta: Any, last_epoch: int):
        """Takes the initial rates, and (base_momentum, max_momentum), or None to leave the momentum unchanged."""
        if momenta is not None and not optimizer.defaults.keys() & {"momentum", "betas"}:
            raise ValueError(f"{optimizer.name} has no momentum to cycle: pass cycle_momentum=False")
        if momenta is not None:
            optimizer.scheduled |= optimizer.defaults.keys() & {"momentum", "betas"}
        names = "base_momentum", "max_momentum"
        self.momenta = list(zip(*(each_group(optimizer, n, m) for n, m in zip(names, momenta or ()))))
        for group, lr in zip(optimizer.param_groups, first if last_epoch == -1 else ()):
            group["initial_lr"] = lr
        super().__init__(optimizer, last_epoch)

    def admit_groups(self) -> None:
        if len(self.base_lrs) != (n := len(self.optimizer.param_groups)):
            raise ValueError(
                f"{type(self).__name__} has bounds for {len(self.base_lrs)} groups, but the optimiser now has {n}: add "
                "groups before you make the schedule, or make it again, with last_epoch"
            )

    def momentum_at(self, t: float, low: float, high: float) -> float:
        """The momentum at step t, between its bounds."""
        raise NotImplementedError(f"{type(self).__name__} must define momentum_at(t, low, high)")

    def apply(self, t: float) -> None:
        super().apply(t)
        for group, bounds in zip(self.optimizer.param_groups, self.momenta):
            momentum = self.momentum_at(t, *bounds)
            group |= {"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum}


class OneCycleLR(Cycle):
    """From the initial rate max_lr / div_factor up to max_lr, then down to the initial rate / final_div_factor.

    pct_start         the fraction of the steps in which the rate rises
    three_phase       fall to the initial rate in as many steps as the rise took, then to the final rate
    cycle_momentum    change the momentum (β₁ of Adam and its kin) inversely, from max_momentum down to base_momentum

    Smith & Topin 2019, “Super-Convergence”, §4; Smith 2018, “A disciplined approach to neural network
    hyper-parameters: Part 1”, §4.3. https://arxiv.org/abs/1803.09820
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ):  # fmt: skip
        if total_steps is None:
            total_steps = count(self, "epochs", epochs) * count(self, "steps_per_epoch", steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start must be from 0 to 1, got {pct_start}")
        if anneal_strategy not in CURVES:
            raise ValueError(f"anneal_strategy must be one of {sorted(CURVES)}, got {anneal_strategy!r}")
        self.total_steps, self.anneal_strategy = count(self, "total_steps", total_steps), anneal_strategy
        self.curve = CURVES[anneal_strategy]
        top = pct_start * total_steps - 1
        self.ends = [top, 2 * top, total_steps - 1] if three_phase else [top, total_steps - 1]
        self.levels = [1, div_factor, 1, 1 / final_div_factor] if three_phase else [1, div_factor, 1 / final_div_factor]
        first = [highest / div_factor for highest in each_group(optimizer, "max_lr", max_lr)]
        super().__init__(optimizer, first, (base_momentum, max_momentum) if cycle_momentum else None, last_epoch)

    def between(self, levels: list[float], t: float) -> float:
        """The value at step t on the curve through the levels."""
        i = min(bisect_left(self.ends, t), len(self.ends) - 1)
        begin, end = self.ends[i - 1] if i else 0, self.ends[i]
        done = min((t - begin) / (end - begin), 1) if end > begin else 1
        return self.curve(levels[i], levels[i + 1], done)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        if t > self.total_steps:
            raise ValueError(f"this cycle has only {self.total_steps} steps, and got step {t}")
        return self.between([base * level for level in self.levels], t)

    def momentum_at(self, t: float, low: float, high: float) -> float:
        return self.between([high, low, high, high], t)


class CyclicLR(Cycle):
    """base + (max_lr − base) · h · s, where h rises from 0 to 1 in step_size_up steps, and falls in step_size_down

    mode              s is 1 ("triangular"), halved in each cycle ("triangular2"), or γᵗ ("exp_range")
    scale_fn          computes s from the number of the cycle, from 1; with scale_mode="iterations", from t
    cycle_momentum    change the momentum (β₁ of Adam and its kin) inversely, from max_momentum down to base_momentum

    Smith 2017, “Cyclical Learning Rates for Training Neural Networks”, §3. https://arxiv.org/abs/1506.01186
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
        cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1,
    ):  # fmt: skip
        scales: dict[str, tuple[str, Callable[[float], float]]] = {
            "triangular": ("cycle", lambda x: 1.0),
            "triangular2": ("cycle", lambda x: 0.5 ** (x - 1)),
            "exp_range": ("iterations", lambda x: gamma**x),
        }
        if scale_fn is None and mode not in scales:
            raise ValueError(f"mode must be one of {sorted(scales)} unless there is a scale_fn, got {mode!r}")
        self.up = count(self, "step_size_up", step_size_up)
        self.down = self.up if step_size_down is None else count(self, "step_size_down", step_size_down)
        self.scale_mode, self.scale = scales[mode] if scale_fn is None else (scale_mode, scale_fn)
        self.mode, self.gamma = mode, gamma
        self.max_lrs, first = each_group(optimizer, "max_lr", max_lr), each_group(optimizer, "base_lr", base_lr)
        super().__init__(optimizer, first, (base_momentum, max_momentum) if cycle_momentum else None, last_epoch)

    def height(self, t: float) -> float:
        """h · s at step t."""
        cycle, place = divmod(t, self.up + self.down)
        h = place / self.up if place <= self.up else (self.up + self.down - place) / self.down
        return h * self.scale(cycle + 1 if self.scale_mode == "cycle" else t)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base + (self.max_lrs[group] - base) * self.height(t))

    def momentum_at(self, t: float, low: float, high: float) -> float:
        return high - (high - low) * self.height(t)


# -- combined schedules: one after the other, or one on top of the other ---------------------------


class SequentialLR(LRScheduler):
    """The first schedule until the first milestone, then the second from its own step 0, and so on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ):
        refuse_unjoinable(self, schedulers, optimizer)
        self.schedulers, self.milestones, n = list(schedulers), list(milestones), len(schedulers)
        if len(milestones) != n - 1 or self.milestones != sorted(milestones):
            raise ValueError(
                f"SequentialLR needs a milestone between each two schedules, in order: {n - 1} for these {n}, got "
                f"{self.milestones}"
            )
        super().__init__(optimizer, last_epoch)

    def part(self, t: float) -> tuple[LRScheduler, float]:
        """The schedule that is active at step t, and t counted from the start of that schedule."""
        i = bisect_right(self.milestones, t)
        return self.schedulers[i], t - self.milestones[i - 1] if i else t

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        schedule, own = self.part(t)
        return schedule.lr_at(own, base, group)

    def apply(self, t: float) -> None:
        schedule, own = self.part(t)
        schedule.step(own)
        self._last_lr = schedule.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "schedulers": [schedule.state_dict() for schedule in self.schedulers]}

    @refuse_by_name
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        states = state_dict.get("schedulers", ())
        if len(states) != len(self.schedulers):
            raise ValueError(f"SequentialLR joins {len(self.schedulers)} schedules, but the state has {len(states)}")
        for schedule, state in zip(self.schedulers, states):
            refuse_other(schedule, state, "last_epoch", "base_lrs", "_last_lr")
        super().load_state_dict(state_dict)
        for schedule, state in zip(self.schedulers, states):
            schedule.load_state_dict(state)


class ChainedScheduler(LRScheduler):
    """Each schedule uses the rate of the schedule before it as its base rate, so factors multiply."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        refuse_unjoinable(self, schedulers, optimizer)
        self.schedulers = list(schedulers)
        super().__init__(self.schedulers[0].optimizer)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        for schedule in self.schedulers:
            base = schedule.lr_at(t, base, group)
        return base


def refuse_unjoinable(joined: object, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
    """Raises ValueError unless there are schedules that depend on time alone, all of the same optimiser."""
    name = type(joined).__name__
    if not schedulers:
        raise ValueError(f"{name} joins schedules, and got none")
    for i, schedule in enumerate(schedulers):
        if not isinstance(schedule, LRScheduler):
            raise ValueError(f"{name} joins schedules that depend on time alone, and number {i} is {schedule!r}")
        if schedule.optimizer is not (schedulers[0].optimizer if optimizer is None else optimizer):
            raise ValueError(f"{name} joins schedules of one optimiser, and number {i} has another")
