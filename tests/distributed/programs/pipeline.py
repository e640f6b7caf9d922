"""On every rank: a model in stages learns what one process learns, whatever the schedule, by the messages foretold."""

import random
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

import minigrad as mg
import minigrad.distributed as dist
from minigrad import nn
from minigrad.distributed.group import DistributedError
from minigrad.distributed.schedules import Schedule, Step, most_kept, schedule
from minigrad.engine.base.errors import ShapeError
from minigrad.profiler.books import Consumer

dist.init_process_group(timeout=timedelta(seconds=20))
RANK, P = dist.get_rank(), dist.get_world_size()
FIRST, LAST = RANK == 0, RANK == P - 1
M, BATCH, WIDTH = 2 * P, 4 * P, 5
LATE = 0.3 if FIRST else 5.0  # seconds that a rank waits where the last one fails; what reaches that one may be slow


def model(n, seed=0):
    mg.manual_seed(seed)
    return nn.Sequential(*(part for _ in range(n) for part in (nn.Linear(WIDTH, WIDTH), nn.Tanh())))


def data(seed=0):
    rng = np.random.default_rng(seed)
    return mg.tensor(rng.normal(size=(BATCH, WIDTH))), mg.tensor(rng.normal(size=(BATCH, WIDTH)))


def loss_fn(y, target):
    return (y - target).square().mean()


def pipeline(plan, parts, **options):
    mine = [dist.PipelineStage(parts[c * P + RANK], c * P + RANK, plan.stages) for c in range(plan.chunks)]
    return dist.Pipeline(mine, plan, loss_fn, **options), mine


def same_gradients(part, whole, rtol):
    """Those of a stage, and of the whole model in one process."""
    wanted = dict(whole.named_parameters())
    for name, p in part.named_parameters():
        np.testing.assert_allclose(p.grad.cpu().numpy(), wanted[name].grad.numpy(), rtol=rtol, atol=1e-15)


def fed(pipe, x, target, run="step", **options):
    return getattr(pipe, run)(*([x] if FIRST else []), target=target if LAST else None, **options)


PLANS = [schedule("gpipe", P, M), schedule("1f1b", P, M), schedule("1f1b", P, M, 2), schedule("gpipe", P, M, 2)]


def check_gradients_are_those_of_the_whole_batch_in_one_process():
    """Means of microbatches are added where one process takes the mean of all: sums in another order, 2e-15."""
    x, target = data()
    for plan in PLANS:
        whole = model(plan.stages)
        loss = loss_fn(whole(x), target)
        loss.backward()
        parts, losses = dist.stages_of(model(plan.stages), plan.stages), []
        pipe, mine = pipeline(plan, parts)
        y = fed(pipe, x, target, losses=losses)
        for stage in mine:
            same_gradients(stage.submodule, whole, 1e-13)
        if LAST:
            np.testing.assert_allclose(y.numpy(), whole(x).detach().numpy(), rtol=1e-13)
            np.testing.assert_allclose(np.mean([each.item() for each in losses]), loss.item(), rtol=1e-13)
            assert len(losses) == M
        else:
            assert y is None
            assert losses == []


def check_schedules_of_one_cut_agree_to_the_bit():
    """Each stage adds up its microbatches in the same order, whoever comes first."""
    x, target = data()
    found = []
    for plan in PLANS[:2]:
        pipe, mine = pipeline(plan, dist.stages_of(model(P), P))
        fed(pipe, x, target)
        found.append([p.grad.numpy() for p in mine[0].submodule.parameters()])
    assert all((a == b).all() for a, b in zip(*found))


def check_training_is_that_of_one_process():
    whole, parts = model(P), dist.stages_of(model(P), P)
    pipe, mine = pipeline(PLANS[1], parts)
    ours, theirs = mg.optim.Adam(mine[0].submodule.parameters(), lr=0.05), mg.optim.Adam(whole.parameters(), lr=0.05)
    for seed in range(3):
        x, target = data(seed)
        for optimizer in (ours, theirs):
            optimizer.zero_grad()
        fed(pipe, x, target)
        loss_fn(whole(x), target).backward()
        ours.step()
        theirs.step()
    wanted = dict(whole.named_parameters())
    for name, p in mine[0].submodule.named_parameters():
        np.testing.assert_allclose(p.detach().numpy(), wanted[name].detach().numpy(), rtol=1e-9)


def check_messages_and_bytes_are_those_foretold():
    x, target = data()
    for plan in PLANS:
        pipe, _ = pipeline(plan, dist.stages_of(model(plan.stages), plan.stages))
        sent, send = [], pipe.group.send
        pipe.group.send = lambda y, *to, sent=sent, send=send: sent.append(y.nbytes) or send(y, *to)
        for run, ran in (("step", plan), ("eval", plan.forward_only())):
            sent.clear()
            fed(pipe, x, target, run)
            told = mg.tensor([sum(n != 1024 for n in sent), sum(n for n in sent if n != 1024), sent.count(1024)])
            dist.all_reduce(told)
            activation = BATCH // M * WIDTH * 8
            assert told.tolist() == [ran.messages, ran.messages * activation, (ran.stages - 1) * (P > 1)]


def check_evaluation_keeps_no_gradients():
    x, target = data()
    pipe, mine = pipeline(PLANS[2], dist.stages_of(model(2 * P), 2 * P))
    losses, recorded = [], []
    for stage in mine:
        stage.submodule[0].register_forward_hook(lambda module, xs, y: recorded.append(y.requires_grad))
    y = fed(pipe, x, target, "eval", losses=losses)
    assert recorded == [False] * 2 * M
    assert all(p.grad is None for stage in mine for p in stage.submodule.parameters())
    if LAST:
        np.testing.assert_allclose(y.numpy(), model(2 * P)(x).detach().numpy(), rtol=1e-13)
        assert not y.requires_grad
        np.testing.assert_allclose(np.mean([each.item() for each in losses]), loss_fn(y, target).item(), rtol=1e-13)
    assert fed(pipe, x, None, "eval") is None or LAST  # who wants no loss needs no target


class Skip(nn.Module):
    """h and what was before it; a whole number, what has no gradient, and what nobody reads, go along."""

    def __init__(self):
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, h, x=None, n=None, *unused):
        x = h if x is None else x
        n = mg.tensor([3]) if n is None else n
        return (self.linear(h).tanh() + x) * n.item(), h, n, mg.ones(2), self.linear(h).sum()


class End(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, h, x=0, n=None, *unused):
        return self.linear(h) + x


def check_stages_pass_tuples():
    x, target = data()

    def parts():
        mg.manual_seed(1)
        return [Skip() for _ in range(P - 1)] + [End()]

    whole, mine = parts(), parts()[RANK]
    h = (x,)
    for part in whole[:-1]:
        h = part(*h)
    loss_fn(whole[-1](*h), target).backward()
    pipe = dist.Schedule1F1B(dist.PipelineStage(mine, RANK, P), M, loss_fn)
    fed(pipe, x, target)
    same_gradients(mine, whole[RANK], 1e-12)


def check_one_result_may_be_passed_twice():
    mg.manual_seed(0)
    first = nn.Linear(WIDTH, WIDTH)

    class Twice(nn.Module):
        def forward(self, x, again=None):
            h = first(x) if again is None else x * again
            return h, h

    class Sum(Twice):
        def forward(self, x, again=None):
            return sum(super().forward(x, again))

    x, target = data()
    pipe = dist.ScheduleGPipe(dist.PipelineStage(Sum() if LAST else Twice(), RANK, P), M, loss_fn)
    fed(pipe, x, target)
    if FIRST:
        h = first.weight.grad.numpy()
        first.zero_grad()
        y = first(x)
        for _ in range(P - 1):
            y = y * y
        loss_fn(2 * y, target).backward()
        np.testing.assert_allclose(h, first.weight.grad.numpy(), rtol=1e-11)


def check_a_loss_that_is_no_number_is_refused():
    pipe = dist.ScheduleGPipe(dist.PipelineStage(nn.Linear(WIDTH, WIDTH), RANK, P), M, lambda y, target: y - target)
    pipe.group.timeout = LATE
    x, target = data()
    with pytest.raises(ShapeError if LAST else DistributedError):
        fed(pipe, x, target)


def check_a_stage_that_gives_no_tensors_is_refused():
    class Words(nn.Module):
        def forward(self, x):
            return "words"

    pipe = dist.ScheduleGPipe(dist.PipelineStage(Words(), RANK, P), M, loss_fn)
    pipe.group.timeout = 0.3
    x, target = data()
    error, words = (TypeError, "returned 'words'") if FIRST else (DistributedError, "waited 0.3 s in recv")
    with pytest.raises(error, match=words):
        fed(pipe, x, target)


def shuffled(seed, m, v):
    """A schedule in some order that can be: each next step is one of those that need nothing more."""
    pick, order = random.Random(seed), schedule("gpipe", P, m, v)
    steps, left, done = [[] for _ in range(P)], {(w, s) for w in range(P) for s in order.steps[w]}, {None}
    while left:
        worker, step = pick.choice(sorted(each for each in left if order.needs(*each) in done))
        steps[worker].append(step)
        left.remove((worker, step))
        done.add((worker, step))
    return Schedule("shuffled", steps, m, v)


def check_a_schedule_of_ones_own_runs():
    """Backward from the last microbatch, as in the figure of GPipe's paper; and any order that can be."""
    backwards = [Step("forward", i) for i in range(M)] + [Step("backward", i) for i in reversed(range(M))]
    x, target = data()
    for plan in (Schedule("mine", [backwards] * P, M), *(shuffled(seed, M, 2) for seed in range(6))):
        whole = model(plan.stages)
        loss_fn(whole(x), target).backward()
        pipe, mine = pipeline(plan, dist.stages_of(model(plan.stages), plan.stages))
        y = fed(pipe, x, target)
        for stage in mine:
            same_gradients(stage.submodule, whole, 1e-12)
        if LAST:
            np.testing.assert_allclose(y.numpy(), whole(x).detach().numpy(), rtol=1e-13)


def check_what_was_measured_is_in_the_order_of_the_schedule():
    x, target = data()
    for plan in PLANS:
        pipe, _ = pipeline(plan, dist.stages_of(model(plan.stages), plan.stages))
        fed(pipe, x, target)
        tasks = pipe.measured()
        end = {(t.worker, t.step): t.end for t in tasks}
        assert len(end) == 2 * M * plan.stages
        for worker, steps in enumerate(plan.steps):
            mine = [t for t in tasks if t.worker == worker]
            assert [t.step for t in mine] == steps
            assert all(a.end <= b.start for a, b in pairwise(mine))
            assert all(t.start <= t.end for t in mine)


def check_large_messages_go_both_ways():
    """More than MPI takes before it is asked for."""
    mg.manual_seed(0)
    part, x = nn.Linear(400, 400), mg.ones(100 * M, 400)
    for plan in PLANS[:2]:
        pipe = dist.Pipeline([dist.PipelineStage(part, RANK, P)], plan, lambda y, target: (y - target).square().mean())
        fed(pipe, x, x)
    assert part.weight.grad is not None


def check_bytes_kept_are_the_schedules_count_times_those_of_a_microbatch():
    """By the ledger: GPipe's grow with m, and those of 1F1B do not."""

    def kept(plan):
        parts = nn.Sequential(nn.Linear(100, 100), nn.Tanh(), nn.Tanh())
        m = plan.microbatches
        stages = [dist.PipelineStage(parts, c * P + RANK, plan.stages) for c in range(plan.chunks)]
        pipe = dist.Pipeline(stages, plan, lambda y, target: y.sum())
        with mg.profiler.memory(parts, exact=False) as ledger:
            fed(pipe, mg.ones(10 * m, 100), mg.zeros(10 * m, 100))
        return [max(each) for each in zip(*((m.live[Consumer.SAVED], sum(m.live)) for m in ledger.moments))]

    one, _ = kept(schedule("gpipe", P, 1))
    assert one == 2 * 10 * 100 * 8
    for name in ("gpipe", "1f1b"):
        for m, v in ((P, 1), (4 * P, 1), (2 * P, 2)):
            plan = schedule(name, P, m, v)
            assert kept(plan)[0] == most_kept(plan.steps[RANK]) * one, (name, m, v)
    (_, few), (_, many) = kept(schedule("1f1b", P, 2 * P)), kept(schedule("1f1b", P, 4 * P))
    if FIRST and not LAST:
        assert many - few == 2 * P * 10 * 100 * 8  # of the batch itself: what was sent is let go of


def check_who_gives_what():
    x, target = data()
    pipe, _ = pipeline(PLANS[0], dist.stages_of(model(P), P))
    with pytest.raises(DistributedError, match="inputs from the process of the first stage, target and loss_fn"):
        pipe.step(*([] if FIRST else [x]), target=target)
    if LAST:
        with pytest.raises(DistributedError, match=r"got . inputs, target None"):
            fed(pipe, x, None)
    if FIRST or LAST:
        with pytest.raises(ShapeError, match=f"into {M} equal microbatches"):
            fed(pipe, x[1:], target[1:])


def check_targets_of_another_batch_are_refused():
    """One target for each microbatch of two would be repeated, and the loss a number."""
    x, target = data()
    pipe, _ = pipeline(PLANS[0], dist.stages_of(model(P), P))
    pipe.group.timeout = LATE
    with pytest.raises(ShapeError if LAST else DistributedError, match=f"targets of {M}" if LAST else "waited"):
        fed(pipe, x, target[:M])


def check_inputs_of_different_batches_are_refused():
    pipe = dist.ScheduleGPipe(dist.PipelineStage(nn.Bilinear(2, 2, 2), RANK, P), M, loss_fn)
    if FIRST:
        with pytest.raises(ShapeError, match=f"into {M} equal microbatches, and got .*, "):
            pipe.step(mg.ones(M, 2), mg.ones(2 * M, 2), target=mg.ones(M, 2))
        with pytest.raises(ShapeError, match="equal microbatches"):
            pipe.step(mg.ones(M, 2), mg.tensor(1.0), target=mg.ones(M, 2))


def check_the_stages_of_a_group_are_in_its_order():
    """The first stage on the last rank; float16 and bfloat16 pass as they are."""
    backwards = dist.new_group([*reversed(range(P))])
    place = dist.get_rank(backwards)
    for dtype in (mg.float16, mg.bfloat16):
        part = nn.Linear(WIDTH, WIDTH).to(dtype=dtype)
        pipe = dist.Schedule1F1B(dist.PipelineStage(part, place, P, group=backwards), M, lambda y, t: y.sum())
        y = pipe.step(*([mg.ones(M, WIDTH, dtype=dtype)] if LAST else []), target=mg.zeros(M) if FIRST else None)
        assert (y is not None) == FIRST
        assert part.weight.grad.dtype == dtype
        assert y is None or y.dtype == dtype


def check_stages_lie_on_devices_of_their_own():
    """What comes to a stage is on its device, be that another's GPU or none."""
    x, target = data()
    device = ["simulated", "cpu"][RANK % 2]
    parts = dist.stages_of(model(P), P)
    pipe = dist.Schedule1F1B(dist.PipelineStage(parts[RANK].to(device), RANK, P, device), M, loss_fn)
    fed(pipe, x.to(device), target.to(device))
    whole = model(P)
    loss_fn(whole(x), target).backward()
    same_gradients(parts[RANK], whole, 1e-12)


def check_a_frozen_stage_gets_no_gradients_and_learns_nothing():
    x, target = data()
    parts = dist.stages_of(model(P), P)
    parts[0].requires_grad_(False)
    pipe = dist.Schedule1F1B(dist.PipelineStage(parts[RANK], RANK, P), M, loss_fn)
    sent, send = [], pipe.group.send
    pipe.group.send = lambda y, *to: sent.append(to) or send(y, *to)
    if P > 1:
        fed(pipe, x, target)
        assert all((p.grad is None) == FIRST for p in parts[RANK].parameters())
        assert RANK != 1 or all(to != 0 for to, _ in sent)


def check_other_stages_are_refused():
    stage = dist.PipelineStage(nn.Tanh(), RANK + 1, P + 1)
    with pytest.raises(DistributedError, match=rf"process {RANK} of {P} has stages \[\({RANK}, {P}\)\]"):
        dist.ScheduleGPipe(stage, M)


def check_two_schedules_are_told_apart():
    if P > 1:
        plan = [PLANS[0], replace(PLANS[1], name=PLANS[0].name)][RANK % 2]
        with pytest.raises(DistributedError, match="these differ"):
            dist.Pipeline([dist.PipelineStage(nn.Tanh(), RANK, P)], plan)


def check_more_outputs_than_can_be_told_are_refused():
    class Many(nn.Module):
        def forward(self, *xs):
            return xs * 60

    pipe = dist.ScheduleGPipe(dist.PipelineStage(Many(), RANK, P), M)
    pipe.group.timeout = 0.3
    if P > 1:
        with pytest.raises(ShapeError if FIRST else DistributedError):
            pipe.eval(*[mg.ones(M, 1)] * FIRST)


def check_outputs_of_another_shape_are_refused():
    class Changing(nn.Module):
        def forward(self, x):
            return x if x[0, 0].item() == 0 else x[:, :1]

    x = mg.tensor(np.arange(M).repeat(BATCH // M)[:, None] * np.ones(WIDTH))
    pipe = dist.Pipeline([dist.PipelineStage(Changing(), RANK, P)], PLANS[0], lambda y, _: y.sum())
    pipe.group.timeout = 0.3
    if P == 1:
        return  # nobody is told of a shape
    if FIRST:
        with pytest.raises(ShapeError, match=r"stage 0 gives .* for microbatch 1, and gave .* before"):
            pipe.step(x)
    else:
        with pytest.raises(DistributedError, match=r"rank . waited 0.3 s in recv from rank .* at .*pipeline.py"):
            fed(pipe, x, x)
