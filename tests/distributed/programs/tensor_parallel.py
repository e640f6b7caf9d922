"""On every rank: parts of layers compute what the whole ones do, and talk as often as the papers say."""

import numpy as np
import pytest
from ranks import calls_of

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import tensor_parallel as tp
from minigrad.distributed.collectives import groups
from minigrad.engine.base.errors import BoundsError, ShapeError
from minigrad.nn.zoo.transformers import TransformerBlock

dist.init_process_group()
RANK, P = dist.get_rank(), dist.get_world_size()
V, N, T, C, HEADS = 12, 2, 8, 8, 4
RNG = np.random.default_rng(0)
X, U = RNG.normal(size=(2, N, T, C))


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)  # sums in another order


def tokens_of(x):
    """This rank's."""
    return x[:, RANK * T // P : (RANK + 1) * T // P]


def block():
    mg.manual_seed(0)
    return TransformerBlock(C, HEADS, 0.0)


def step(f, x, u):
    x = mg.tensor(x, requires_grad=True)
    y = f(x)
    (y * mg.tensor(u)).sum().backward()
    return y.numpy(), x.grad.numpy()


def grads(module):
    return {name: p.grad for name, p in module.named_parameters()}


def same_grads(whole, parts):
    for name, g in tp.part_of_state(parts, grads(whole)).items():
        same(parts.get_parameter(name).grad.numpy(), g.numpy())


def trained(model, loss, steps=5):
    # The bias of keys has gradient 0, of which rounding leaves 1e-17: Adam's own eps would make steps of it.
    optimizer = mg.optim.Adam(model.parameters(), lr=0.05, eps=1e-4)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
    return model


def check_two_linear_layers():
    mg.manual_seed(RANK)  # the weights are those of rank 0 all the same
    first, second = mg.nn.Linear(C, 12), mg.nn.Linear(12, C)
    parts = mg.nn.Sequential(tp.ColumnParallelLinear(first), mg.nn.Tanh(), tp.RowParallelLinear(second))
    mg.manual_seed(0)
    whole = mg.nn.Sequential(mg.nn.Linear(C, 12), mg.nn.Tanh(), mg.nn.Linear(12, C))
    assert parts[0].weight.shape == (12 // P, C)
    assert parts[2].weight.shape == (C, 12 // P)
    for mine, theirs in zip(step(parts, X, U), step(whole, X, U)):
        same(mine, theirs)
    same_grads(whole, parts)


def check_without_a_bias():
    whole = mg.nn.Linear(C, 12, bias=False), mg.nn.Linear(12, C, bias=False)
    for layer in whole:
        dist.broadcast(layer.weight.detach(), 0)
    parts = mg.nn.Sequential(tp.ColumnParallelLinear(whole[0]), tp.RowParallelLinear(whole[1]))
    assert parts[0].bias is None
    same(step(parts, X, U)[0], step(mg.nn.Sequential(*whole), X, U)[0])
    assert tp.whole_state(parts).keys() == {"0.weight", "1.weight"}


def check_a_block_is_the_whole_block():
    whole, parts = block(), tp.parallel_block(block())
    for mine, theirs in zip(step(parts, X, U), step(whole, X, U)):
        same(mine, theirs)
    same_grads(whole, parts)

    def loss(model):
        return ((model(mg.tensor(X)) - mg.tensor(U)) ** 2).mean()

    state = tp.whole_state(trained(parts, loss))
    for name, x in trained(whole, loss).state_dict().items():
        same(state[name].numpy(), x.numpy())


def check_a_block_of_parts_of_a_sequence_is_the_whole_block():
    whole, parts = block(), tp.parallel_block(block(), sequence=True)
    for mine, theirs in zip(step(parts, tokens_of(X), tokens_of(U)), step(whole, X, U)):
        same(mine, tokens_of(theirs))
    same_grads(whole, parts)

    def loss(model):
        cut = (lambda x: x) if model is whole else tokens_of
        return ((model(mg.tensor(cut(X))) - mg.tensor(cut(U))) ** 2).sum() / X.size

    state = tp.whole_state(trained(parts, loss))
    for name, x in trained(whole, loss).state_dict().items():
        same(state[name].numpy(), x.numpy())


def check_a_block_talks_twice_each_way():
    """Shoeybi et al. 2019, §3: two all_reduce forward and two backward in a layer."""
    parts = tp.parallel_block(block())
    with calls_of(groups["world"]) as calls:
        y = parts(mg.tensor(X, requires_grad=True))
        assert calls == [("all_reduce", X.size)] * 2
        y.sum().backward()
        assert calls == [("all_reduce", X.size)] * 4


def check_with_sequences_it_moves_as_many_bytes():
    """Korthikanti et al. 2022, §4.2.2: all_gather and reduce_scatter, which a ring's all_reduce is made of."""
    parts = tp.parallel_block(block(), sequence=True)
    with calls_of(groups["world"]) as calls:
        y = parts(mg.tensor(tokens_of(X), requires_grad=True))
        assert calls == [("all_gather", X.size), ("reduce_scatter", X.size)] * 2, calls
        y.sum().backward()
        back = calls[4:]
    assert sorted(c for c in back if c[0] != "all_reduce") == sorted(calls[:4])
    assert [c for c in back if c[0] == "all_reduce"] == [("all_reduce", C)] * 6  # two norms, two biases


def check_traced():
    for sequence in (False, True):
        cut = tokens_of if sequence else lambda x: x
        whole, parts = block(), tp.parallel_block(block(), sequence=sequence)
        traced = mg.function(parts)
        for mine, theirs in zip(step(traced, cut(X), cut(U)), step(whole, X, U)):
            same(mine, cut(theirs))
        same_grads(whole, parts)


def check_second_derivatives():
    """f and g are each other's gradient, so a gradient's gradient is right as well."""
    whole = mg.nn.Sequential(mg.nn.Linear(C, 8), mg.nn.Tanh(), mg.nn.Linear(8, C))
    for p in whole.parameters():
        dist.broadcast(p.detach(), 0)
    parts = mg.nn.Sequential(tp.ColumnParallelLinear(whole[0]), mg.nn.Tanh(), tp.RowParallelLinear(whole[2]))

    def twice(model):
        x = mg.tensor(X, requires_grad=True)
        (gx,) = mg.autograd.grad((model(x) ** 2 * mg.tensor(U)).sum(), x, create_graph=True)
        return mg.autograd.grad((gx**2).sum(), x)[0].numpy()

    same(twice(parts), twice(whole))
    same(*(mg.func.jvp(m, (mg.tensor(X),), (mg.tensor(U),))[1].numpy() for m in (parts, whole)))


class Model(mg.nn.Module):
    """Tokens, a block, and the table again: the smallest GPT."""

    def __init__(self, parallel=False, sequence=False):
        mg.manual_seed(1)
        self.token, self.block, self.parallel, self.sequence = mg.nn.Embedding(V, C), block(), parallel, sequence
        if parallel:
            self.token = tp.VocabParallelEmbedding(self.token, sequence=sequence)
            self.block = tp.parallel_block(self.block, sequence=sequence)

    def loss(self, tokens, target):
        x = self.block(self.token(tokens))
        if self.parallel:
            return tp.vocab_parallel_cross_entropy(self.token.logits(x), target)
        logits = mg.nn.functional.linear(x, self.token.weight)
        return mg.nn.functional.cross_entropy(logits.swapaxes(1, 2), target)


TOKENS, TARGET = RNG.integers(0, V, (2, N, T))


def check_a_model_learns_the_same():
    whole = trained(Model(), lambda m: m.loss(mg.tensor(TOKENS), mg.tensor(TARGET)))
    for sequence in (False, True):
        parts = trained(Model(True, sequence), lambda m: m.loss(mg.tensor(TOKENS), mg.tensor(TARGET)))
        state = tp.whole_state(parts)
        assert state.keys() == whole.state_dict().keys()
        for name, x in whole.state_dict().items():
            same(state[name].numpy(), x.numpy())


def check_a_state_of_the_whole_and_back():
    whole, parts = Model(), Model(True)
    state = {name: mg.tensor(RNG.normal(size=x.shape)) for name, x in whole.state_dict().items()}
    parts.load_state_dict(tp.part_of_state(parts, state))
    whole.load_state_dict(state)
    again = tp.whole_state(parts)
    for name, x in state.items():
        assert (again[name].numpy() == x.numpy()).all()
    losses = [m.loss(mg.tensor(TOKENS), mg.tensor(TARGET)).item() for m in (whole, parts)]
    same(*losses)


def check_cross_entropy():
    scores = RNG.normal(size=(N, T, V)) * 300  # whose exponentials are no numbers
    mine = scores[..., RANK * V // P : (RANK + 1) * V // P]
    for reduction in ("mean", "sum", "none"):
        x, part = (mg.tensor(a, requires_grad=True) for a in (scores, mine))
        want = mg.nn.functional.cross_entropy(x.swapaxes(1, 2), TARGET, reduction=reduction)
        with calls_of(groups["world"]) as calls:
            got = tp.vocab_parallel_cross_entropy(part, TARGET, reduction)
            got.sum().backward()
        assert calls == [("all_reduce", N * T), ("all_reduce", 2 * N * T)]
        want.sum().backward()
        same(got.numpy(), want.numpy())
        same(part.grad.numpy(), x.grad.numpy()[..., RANK * V // P : (RANK + 1) * V // P])


def check_what_does_not_divide_is_refused():
    with pytest.raises(ShapeError, match=rf"ColumnParallelLinear: weight .* {P} processes do not divide 7"):
        tp.ColumnParallelLinear(mg.nn.Linear(C, 7))
    with pytest.raises(ShapeError, match="RowParallelLinear: weight"):
        tp.RowParallelLinear(mg.nn.Linear(7, C))
    with pytest.raises(ShapeError, match="VocabParallelEmbedding: weight"):
        tp.VocabParallelEmbedding(mg.nn.Embedding(13, C))
    with pytest.raises(ShapeError, match="do not divide the 1 heads"):
        tp.parallel_block(TransformerBlock(C, 1, 0.0))
    with pytest.raises(ValueError, match="no dropout"):
        tp.parallel_block(TransformerBlock(C, HEADS, 0.1))


def check_a_token_that_nobody_has_is_refused():
    table = tp.VocabParallelEmbedding(mg.nn.Embedding(V, C))
    for token in (V, -1):
        with pytest.raises(BoundsError, match="rows 0 to 11"):
            table(mg.tensor([0, token]))
        with pytest.raises(BoundsError, match="rows 0 to 11"):
            mg.function(table)(mg.tensor([0, token]))
    with pytest.raises(BoundsError, match="rows 0 to 11"):
        tp.vocab_parallel_cross_entropy(mg.zeros(2, V // P), mg.tensor([0, V]))
