"""Pruning: PyTorch's masks, which survive training, saving, copying and graphs; and what zeros do not save."""

import copy

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.engine.base.errors import AxisError, EditedError, ShapeError, StateError
from minigrad.nn.utils import prune
from tests.support.table import table


@pytest.fixture
def torch():
    pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
    import torch.nn.utils.prune

    return torch


def pair(torch, layer, *sizes, seed=0):
    """The layer in both libraries, with the same weights, no two of them equally large."""
    rng = np.random.default_rng(seed)
    ours, theirs = getattr(nn, layer)(*sizes).float(), getattr(torch.nn, layer)(*sizes)
    for (_, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        values = ((rng.permutation(p.size) + 1) * rng.choice([-1, 1], p.size)).astype("f4").reshape(p.shape)
        p.value[...] = values
        q.data = torch.tensor(values)
    return ours, theirs


def same(ours, theirs, name="weight"):
    """Whether mask, parameter and product are the same."""
    for one in (name, f"{name}_orig", f"{name}_mask"):
        np.testing.assert_array_equal(getattr(ours, one).detach().numpy(), getattr(theirs, one).detach().numpy())
    assert {n for n, _ in ours.named_parameters()} == {n for n, _ in theirs.named_parameters()}
    assert {n for n, _ in ours.named_buffers()} == {n for n, _ in theirs.named_buffers()}


LAYERS = [("Linear", 7, 5), ("Conv2d", 3, 6, 3)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer[0])
@pytest.mark.parametrize("amount", [0, 3, 0.0, 0.3, 0.5, 1.0])
def test_masks_are_pytorchs_once_and_again(torch, layer, amount):
    pruned = torch.nn.utils.prune
    ways = [("l1_unstructured", {})]
    ways += [("ln_structured", {"n": n, "dim": d}) for n in (1, 2, np.inf) for d in (0, 1, -1)]
    for first, options in ways:
        for second, others in ways:
            ours, theirs = pair(torch, *layer)
            for name, more, much in ((first, options, amount), (second, others, 0.5)):
                getattr(prune, name)(ours, "weight", much, **more)
                getattr(pruned, name)(theirs, "weight", much, **more)
                same(ours, theirs)


def test_the_masks_of_ties_prune_as_many_and_none_that_is_larger(torch):
    """Which of equals go PyTorch leaves to its sort; here the first do."""
    ours, theirs = pair(torch, "Linear", 8, 8)
    values = np.random.default_rng(1).integers(-3, 4, (8, 8)).astype("f4")
    ours.weight.value[...] = values
    theirs.weight.data = torch.tensor(values)

    prune.l1_unstructured(ours, "weight", 30)
    torch.nn.utils.prune.l1_unstructured(theirs, "weight", 30)

    mask, other = ours.weight_mask.numpy(), theirs.weight_mask.numpy()
    assert mask.sum() == other.sum() == 34
    np.testing.assert_array_equal(np.sort(np.abs(values[mask == 0])), np.sort(np.abs(values[other == 0])))
    edge = np.abs(values) == np.abs(values[mask == 0]).max()
    gone = mask[edge] == 0
    assert (np.diff(gone.astype(int)) <= 0).all()


def test_several_parameters_are_pruned_as_one_as_in_pytorch(torch):
    ours, theirs = zip(pair(torch, "Linear", 7, 5), pair(torch, "Conv2d", 3, 6, 3, seed=2))
    for share in (0.3, 40):
        scores = np.arange(35.0).reshape(5, 7) % 11 + np.arange(35).reshape(5, 7) / 100
        for library, layers, array in ((prune, ours, np.array), (torch.nn.utils.prune, theirs, torch.tensor)):
            given = {(layers[0], "weight"): array(scores)} if share == 40 else None
            method = library.L1Unstructured
            library.global_unstructured([(layer, "weight") for layer in layers], method, given, amount=share)
        for one, other in zip(ours, theirs):
            same(one, other)


def test_importance_decides_where_it_is_given(torch):
    scores = np.random.default_rng(3).permutation(35).reshape(5, 7).astype("f4")
    for name, options in (("l1_unstructured", {}), ("ln_structured", {"n": 2, "dim": 1})):
        ours, theirs = pair(torch, "Linear", 7, 5)
        getattr(prune, name)(ours, "weight", 2, importance_scores=mg.tensor(scores), **options)
        getattr(torch.nn.utils.prune, name)(theirs, "weight", 2, importance_scores=torch.tensor(scores), **options)
        same(ours, theirs)


def test_a_given_mask_and_none_at_all(torch):
    mask = np.random.default_rng(4).integers(0, 2, (5, 7)).astype("f4")
    for name, args in (("identity", ()), ("custom_from_mask", (mask,))):
        ours, theirs = pair(torch, "Linear", 7, 5)
        getattr(prune, name)(ours, "weight", *args)
        getattr(torch.nn.utils.prune, name)(theirs, "weight", *(torch.tensor(a) for a in args))
        same(ours, theirs)
        prune.l1_unstructured(ours, "bias", 2)
        torch.nn.utils.prune.l1_unstructured(theirs, "bias", 2)
        same(ours, theirs, "bias")
        assert [*ours.state_dict()] != []
        assert ours.state_dict().keys() == theirs.state_dict().keys()


def test_at_random_as_many_go_as_were_asked_by_the_seed():
    def zeros(seed):
        mg.manual_seed(seed)
        layer = prune.random_unstructured(nn.Linear(10, 10), "weight", 0.3)
        prune.random_unstructured(layer, "weight", 0.5)
        channels = prune.random_structured(nn.Conv2d(4, 8, 3), "weight", 3, dim=0)
        return layer.weight_mask.numpy(), channels.weight_mask.numpy()

    mask, channels = zeros(0)

    assert mask.sum() == 35  # 70 were left, and half of them went
    assert sorted(channels.reshape(8, -1).sum(1)) == [0] * 3 + [36] * 5
    assert all(np.array_equal(a, b) for a, b in zip(zeros(0), (mask, channels)))
    assert not np.array_equal(zeros(1)[0], mask)


# -- what survives ------------------------------------------------------------------------------------


def trained(layer, optimizer, steps=3, compiled=False):
    x = mg.tensor(np.random.default_rng(5).normal(size=(6, 7)).astype("f4"))

    def step(x):
        optimizer.zero_grad()
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step = mg.function(step) if compiled else step
    return [step(x).item() for _ in range(steps)]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_training_moves_what_is_left_as_pytorch_does(torch, optimizer):
    ours, theirs = pair(torch, "Linear", 7, 5)
    options = {"lr": 0.01} | ({"momentum": 0.9, "weight_decay": 0.1} if optimizer == "SGD" else {})
    mine = getattr(mg.optim, optimizer)(ours.parameters(), **options)  # made before: it goes on with the same objects
    other = getattr(torch.optim, optimizer)(theirs.parameters(), **options)
    prune.l1_unstructured(ours, "weight", 0.6)
    torch.nn.utils.prune.l1_unstructured(theirs, "weight", 0.6)

    losses = trained(ours, mine)
    x = torch.tensor(np.random.default_rng(5).normal(size=(6, 7)).astype("f4"))
    for loss in losses:
        other.zero_grad()
        expected = (theirs(x) ** 2).mean()
        expected.backward()
        other.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)  # three steps of float32

    assert (ours.weight.numpy() == 0).sum() == 21
    np.testing.assert_allclose(ours.weight_orig.detach().numpy(), theirs.weight_orig.detach().numpy(), atol=1e-3)


def test_a_compiled_step_sees_masks_that_came_before_it_and_after_it():
    """A step that was traced before its layer was pruned would have gone on with the whole weight."""
    x = mg.tensor(np.ones((1, 7), "f4"))
    layer = nn.Linear(7, 5).float()
    f = mg.function(layer)

    assert f(x).tolist() == layer(x).tolist()
    for amount in (0.5, 0.5, 1.0):
        before = f(x).tolist()
        prune.l1_unstructured(layer, "weight", amount)
        assert f(x).tolist() == layer(x).tolist() != before
    assert f(x).numpy().ravel().tolist() == layer.bias.tolist()
    prune.remove(layer, "weight")
    layer.weight.value[...] = 1
    assert f(x).tolist() == layer(x).tolist() == (layer.bias.numpy() + 7).reshape(1, -1).tolist()


def test_a_compiled_training_step_is_the_eager_one():
    def run(compiled):
        mg.manual_seed(0)
        layer = prune.l1_unstructured(nn.Linear(7, 5).float(), "weight", 0.5)
        losses = trained(layer, mg.optim.SGD(layer.parameters(), lr=0.1), compiled=compiled)
        return losses, layer.weight.tolist()

    assert run(True) == run(False)


def test_copies_and_states_have_the_mask():
    layer = prune.l1_unstructured(nn.Linear(7, 5), "weight", 0.5)
    twin = copy.deepcopy(layer)
    other = prune.identity(nn.Linear(7, 5), "weight")
    other.load_state_dict(layer.state_dict())

    prune.l1_unstructured(layer, "weight", 1.0)  # theirs are their own

    for one in (twin, other):
        assert np.count_nonzero(one.weight.numpy()) == 17
        assert prune.is_pruned(one)
    assert not np.any(layer.weight.numpy())


def test_removed_a_mask_leaves_its_zeros_in_the_same_parameter():
    layer = nn.Linear(7, 5)
    weight, names = layer.weight, {*layer.state_dict()}
    prune.l1_unstructured(layer, "weight", 0.5)
    pruned = layer.weight.tolist()

    assert prune.remove(layer, "weight") is layer

    assert layer.weight is weight
    assert weight.tolist() == pruned
    assert {*layer.state_dict()} == names
    assert not prune.is_pruned(layer)
    assert [id(p) for _, p in layer.named_parameters() if p.ndim == 2] == [id(weight)]


def test_other_layers_are_pruned_by_the_names_of_their_parameters():
    x = mg.tensor(np.random.default_rng(6).normal(size=(3, 2, 4)))
    lstm, attention = nn.LSTM(4, 4), nn.MultiheadAttention(4, 2)

    prune.l1_unstructured(lstm, "weight_hh_l0", 1.0)
    prune.ln_structured(attention, "in_proj_weight", 0.5, n=2, dim=0)
    y, _ = lstm(x)
    attention(x, x, x)[0].sum().backward()

    lstm.weight_hh_l0_orig.value[...] = 7  # which nobody sees
    assert lstm(x)[0].tolist() == y.tolist()
    assert (np.abs(attention.in_proj_weight_orig.grad.numpy()).sum(1) == 0).sum() >= 6


def test_what_a_module_does_not_have_is_still_said():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        _ = nn.Linear(2, 2).wieght


# -- what it saves --------------------------------------------------------------------------------------


def test_the_table_counts_zeros_and_says_what_they_do_not_save():
    model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 2, bias=False))
    prune.l1_unstructured(model[0], "weight", 0.8)
    table = prune.sparsity(model)

    assert [row[0] for row in table.rows] == ["0.bias", "0.weight", "2.weight", "total"]
    assert [row[2:4] for row in table.rows] == [(10, 0), (100, 80), (20, 0), (130, 80)]
    assert "61.5%" in str(table)
    assert "neither time nor bytes" in str(table)
    html = table._repr_html_()
    assert html.count('<th scope="row"') == 4
    assert all(cell in html for row in table.cells for cell in row)


def test_zeros_take_the_bytes_and_the_operations_of_other_numbers():
    def bytes_of(layer):
        return sum(x.spec.nbytes for x in layer.state_dict().values())

    def flops(layer):
        x = mg.tensor(np.ones((1, 100), "f4"))
        y = layer(x)
        return y.node.op.flops(y.spec, x.spec, layer.weight.spec, layer.bias.spec)

    whole = nn.Linear(100, 100).float()
    layer = prune.l1_unstructured(copy.deepcopy(whole), "weight", 0.99)

    assert bytes_of(layer) == bytes_of(whole) + 40_000  # the mask
    assert flops(layer) == flops(whole) == 2 * 100 * 100 + 100
    assert bytes_of(prune.remove(layer, "weight")) == bytes_of(whole)


WRITES = {
    "mul_": lambda layer: layer.weight.mul_(2), "an initialiser": lambda layer: nn.init.zeros_(layer.weight),
    "data.zero_": lambda layer: layer.weight.data.zero_(),
    "data": lambda layer: setattr(layer.weight, "data", mg.zeros(3, 4)),
    "an index": lambda layer: layer.weight.__setitem__(0, 1.0),
    "a parameter": lambda layer: setattr(layer, "weight", nn.Parameter(mg.ones(3, 4))),
}  # fmt: skip


@table("write", WRITES.values(), ids=WRITES)
def test_what_is_written_to_a_pruned_weight_is_not_lost_without_a_word(write):
    """The product was written to, and let go; or a parameter came in its place, and the mask did nothing."""
    layer = prune_l1(6)
    x = mg.ones(2, 4)
    before = layer(x).tolist()

    with mg.no_grad(), pytest.raises((EditedError, TypeError), match="weight_orig"):
        write(layer)

    assert layer(x).tolist() == before
    layer.weight_orig.data = mg.ones(3, 4)
    assert layer.weight.tolist() == layer.weight_mask.tolist()
    prune.remove(layer, "weight")
    with mg.no_grad():
        write(layer)
    assert not prune.is_pruned(layer)


def test_a_function_of_a_masks_weight_is_one_of_what_the_layer_holds():
    """A weight given under the name of the product was not used, and nothing was said."""
    layer, x = prune_l1(6), mg.ones(2, 4)

    y = mg.func.functional_call(layer, {"weight_orig": mg.ones(3, 4)}, x)
    with pytest.raises(StateError, match="weight_orig"):
        mg.func.functional_call(layer, {"weight": mg.ones(3, 4)}, x)

    assert y.tolist() == (x @ layer.weight_mask.T + layer.bias).tolist()


# -- what is refused ------------------------------------------------------------------------------------


def linear():
    return nn.Linear(4, 3)


def prune_l1(amount, name="weight", **options):
    return prune.l1_unstructured(linear(), name, amount, **options)


def twice(name="weight"):
    prune.l1_unstructured(prune_l1(8), name, 5)


REFUSED = {
    "got 1.5": (ValueError, lambda: prune_l1(1.5)),
    "got -1": (ValueError, lambda: prune.random_unstructured(linear(), "weight", -1)),
    "got nan": (ValueError, lambda: prune_l1(np.nan)),
    "got 'half'": (TypeError, lambda: prune_l1("half")),
    "got True": (TypeError, lambda: prune_l1(True)),
    "cannot prune 13, because only 12 are left": (ValueError, lambda: prune_l1(13)),
    "cannot prune 5, because only 4 are left": (ValueError, twice),
    "no parameter 'wieght' to prune; it has weight, bias": (StateError, lambda: prune_l1(0.5, "wieght")),
    "'weight_orig' to prune; it has bias, weight$": (StateError, lambda: twice("weight_orig")),  # whose mask had a mask
    "two or more axes": (ShapeError, lambda: prune.ln_structured(linear(), "bias", 1, n=2, dim=0)),
    r"dim=2 of \(3, 4\)": (AxisError, lambda: prune.ln_structured(linear(), "weight", 1, n=2, dim=2)),  # was: range
    r"importance_scores of weight .* got \(2,\)": (ShapeError, lambda: prune_l1(1, importance_scores=np.ones(2))),
    r"a mask for \(3, 4\)": (ShapeError, lambda: prune.custom_from_mask(linear(), "weight", np.ones(4))),
    "'weight' of Linear is not pruned; nothing is": (StateError, lambda: prune.remove(linear(), "weight")),
    "unstructured method": (ValueError, lambda: prune.global_unstructured([], prune.L1Unstructured, amount=1)),
}


@table("said", REFUSED)
def test_nonsense_is_refused_by_name(said):
    error, call = REFUSED[said]
    with pytest.raises(error, match=said):
        call()


def test_what_is_refused_changes_nothing():
    layer = linear()
    for amount in (13, 2.0):
        with pytest.raises(ValueError, match=r"prune|fraction"):
            prune.l1_unstructured(layer, "weight", amount)
    with pytest.raises(ValueError, match="left"):
        prune.global_unstructured([(layer, "weight"), (layer, "bias")], prune.L1Unstructured, amount=16)

    assert {*layer.state_dict()} == {"weight", "bias"}
    assert not prune.is_pruned(layer)
