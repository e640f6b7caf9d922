"""Modules: what they hold, what they give out and take in, and what they say when used wrongly."""

import copy
import pickle
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.engine.base.errors import DTypeError, ShapeError, StateError
from tests.support.table import mistakes

rnn = nn.utils.rnn
ROWS = np.arange(12.0).reshape(4, 3) / 7


class Forgetful(nn.Module):
    """A module whose author forgot super().__init__()."""

    def __init__(self):
        self.inner = nn.Linear(3, 2)
        self.scale = nn.Parameter(mg.tensor([2.0, 3.0]))
        self.plain = mg.tensor([1.0, 1.0], requires_grad=True)
        self.constant = mg.tensor([5.0, 5.0])
        self.register_buffer("seen", mg.tensor(0))
        self.register_buffer("hint", mg.tensor([0.5]), persistent=False)

    def forward(self, x):
        self.last = self.inner(x) * self.scale + self.plain * self.constant
        return self.last


# -- what it holds --------------------------------------------------------------------------------


def test_a_forgotten_super_init_is_forgiven():
    module = Forgetful()

    module(ROWS).sum().backward()

    assert all(p.grad is not None for p in module.parameters())
    assert module.training


def test_parameters_are_the_leaves_that_learn_and_buffers_what_was_said_to_be_one():
    module = Forgetful()
    module(ROWS)  # leaves a result behind, which is no parameter

    assert [name for name, _ in module.named_parameters()] == ["scale", "plain", "inner.weight", "inner.bias"]
    assert [name for name, _ in module.named_parameters(recurse=False)] == ["scale", "plain"]
    assert [name for name, _ in module.named_parameters("net")][-1] == "net.inner.bias"
    assert [name for name, _ in module.named_buffers()] == ["seen", "hint"]
    assert [name for name, _ in module.named_modules()] == ["", "inner"]
    assert list(module.state_dict()) == ["scale", "plain", "seen", "inner.weight", "inner.bias"]
    assert module.get_parameter("inner.bias") is module.inner.bias


def test_a_tensor_told_to_learn_after_it_was_assigned_is_a_parameter_too():
    module = Forgetful()

    module.constant.requires_grad_()

    assert "constant" in dict(module.named_parameters())


def test_a_frozen_parameter_stays_the_modules():
    module = Forgetful().requires_grad_(False)

    assert len(list(module.parameters())) == 4
    assert not any(p.requires_grad for p in module.parameters())
    assert "scale" in module.state_dict()
    assert not module(ROWS).requires_grad


def test_a_shared_parameter_is_listed_once_and_saved_under_both_names():
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    b.weight = a.weight
    net = nn.Sequential(a, b, a)

    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(list(net.modules())) == 3
    assert "1.weight" in net.state_dict()
    assert "2.bias" in net.state_dict()


def test_a_buffer_becomes_a_parameter_when_one_is_assigned():
    module = Forgetful()
    module.hint = nn.Parameter([0.5])

    assert "hint" in dict(module.named_parameters())
    assert "hint" not in dict(module.named_buffers())


def test_deleting_a_part_forgets_it():
    module = Forgetful()
    del module.scale, module.seen, module.inner

    assert list(module.state_dict()) == ["plain"]
    module.scale = mg.tensor([1.0])  # the name is free again
    assert "scale" not in module.state_dict()


# -- its state ------------------------------------------------------------------------------------


def test_a_state_is_a_copy():
    layer = nn.Linear(3, 2)
    state = layer.state_dict()
    with mg.no_grad():
        layer.weight += 1

    np.testing.assert_array_equal(state["weight"].numpy() + 1, layer.weight.numpy())
    layer.load_state_dict(state)
    np.testing.assert_array_equal(state["weight"].numpy(), layer.weight.numpy())
    with mg.no_grad():
        layer.weight += 1
    assert (state["weight"].numpy() != layer.weight.numpy()).all()


def test_a_state_is_loaded_into_the_same_tensors_in_their_own_dtype():
    layer = nn.Linear(3, 2).float()
    weight = layer.weight

    said = layer.load_state_dict({"weight": np.ones((2, 3)), "bias": mg.tensor([1, 2])})

    assert repr(said) == "<All keys matched successfully>"
    assert layer.weight is weight
    assert weight.dtype == np.float32
    assert layer.bias.numpy().tolist() == [1, 2]


@pytest.mark.parametrize(("change", "sentence"), [
    ({"weight": np.ones((3, 2))}, r"weight is \(2, 3\) here and \(3, 2\) there"), ({"bias": None}, "missing: bias"),
    ({"biass": np.ones(2)}, "unexpected: biass"),
])  # fmt: skip
def test_a_state_that_does_not_fit_is_not_loaded_at_all(change, sentence):
    layer = nn.Linear(3, 2)
    before = layer.state_dict()
    state = {"weight": np.ones((2, 3)), "bias": np.ones(2)} | change
    state = {name: value for name, value in state.items() if value is not None}

    with pytest.raises(StateError, match=sentence):
        layer.load_state_dict(state)

    for name, value in layer.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name].numpy())


def test_loading_loosely_says_what_did_not_match():
    layer = nn.Linear(3, 2)

    missing, unexpected = layer.load_state_dict({"weight": np.ones((2, 3)), "old": np.ones(2)}, strict=False)

    assert (missing, unexpected) == (["bias"], ["old"])
    assert (layer.weight.numpy() == 1).all()


# -- all at once ----------------------------------------------------------------------------------


def test_another_dtype_leaves_parameters_the_same_objects():
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    net.append(nn.Linear(3, 3))
    net[2].weight = net[0].weight
    before = list(net.parameters())
    net(mg.tensor(ROWS)).sum().backward()

    net.float()

    assert [id(p) for p in net.parameters()] == [id(p) for p in before]
    assert {p.dtype for p in net.parameters()} == {p.grad.dtype for p in net.parameters()} == {np.dtype("f4")}
    assert net[1].num_batches_tracked.dtype == np.int64
    y = net(mg.tensor(ROWS.astype("f4")))
    y.sum().backward()
    assert y.dtype == np.float32
    assert net.to(np.float64)(mg.tensor(ROWS)).dtype == np.float64


def test_training_and_evaluation_reach_every_part():
    net = nn.Sequential(nn.Sequential(nn.Dropout(0.9)), nn.BatchNorm1d(3))
    x = mg.tensor(ROWS)

    assert not net.eval()[0].training
    np.testing.assert_array_equal(net[0](x).numpy(), ROWS)
    assert net.train()[0][0].training
    assert (net[0](x).numpy() != ROWS).any()


@pytest.mark.parametrize("make", [lambda f: f, mg.function], ids=["eager", "graph"])
def test_running_statistics_are_the_means_of_what_numpy_says_of_each_batch(make):
    batches, norm = np.random.default_rng(3).normal(2.0, 3.0, size=(4, 5, 3)), nn.BatchNorm1d(3, momentum=None)
    train = make(norm)

    for x in batches:
        train(mg.tensor(x))

    np.testing.assert_allclose(norm.running_mean.numpy(), batches.mean((0, 1)))
    np.testing.assert_allclose(norm.running_var.numpy(), batches.var(1, ddof=1).mean(0))


def test_apply_meets_the_parts_before_the_whole():
    met = []

    nn.Sequential(nn.Linear(1, 1), nn.ReLU()).apply(lambda m: met.append(type(m).__name__))

    assert met == ["Linear", "ReLU", "Sequential"]


def test_gradients_are_forgotten_or_zeroed():
    layer = nn.Linear(3, 2)
    layer(ROWS).sum().backward()

    layer.zero_grad(set_to_none=False)
    assert not layer.weight.grad.numpy().any()
    layer.zero_grad()
    assert layer.weight.grad is None


def test_a_seed_decides_what_a_layer_starts_from_and_so_does_a_generator():
    def drawn(**options):
        return nn.LSTM(3, 2, **options).weight_hh_l0.numpy()

    mg.manual_seed(1)
    first = drawn()
    mg.manual_seed(1)
    np.testing.assert_array_equal(first, drawn())
    assert (first != drawn()).all()
    np.testing.assert_array_equal(drawn(rng=np.random.default_rng(0)), drawn(rng=np.random.default_rng(0)))


def test_copies_of_a_layer_have_parameters_of_their_own():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)

    assert len([*encoder.named_parameters()]) == 2 * 12
    assert len({id(p) for p in encoder.parameters()}) == 2 * 12
    again = copy.deepcopy(encoder)
    assert {id(p) for p in again.parameters()}.isdisjoint(id(p) for p in encoder.parameters())
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in again.parameters())


# -- hooks ----------------------------------------------------------------------------------------


def test_hooks_see_and_replace_what_goes_in_and_what_comes_out():
    layer, told = nn.Identity(), []
    layer.register_forward_pre_hook(lambda m, xs: (xs[0] * 2,))
    layer.register_forward_pre_hook(lambda m, xs: told.append(xs[0].item()))
    after = layer.register_forward_hook(lambda m, xs, y: y + 1)
    first = layer.register_forward_pre_hook(lambda m, xs: xs[0] + 10, prepend=True)
    layer.register_forward_hook(lambda m, xs, options, y: told.append((options, y.item())), with_kwargs=True)

    assert layer(mg.tensor(1.0)).item() == 23
    assert told == [22, ({}, 23)]
    first.remove()
    with after:
        assert layer(mg.tensor(1.0)).item() == 3
    assert layer(mg.tensor(1.0)).item() == 2


def test_backward_hooks_see_this_calls_gradients_alone():
    layer, seen = nn.Bilinear(3, 3, 2), []
    layer.register_full_backward_hook(lambda m, gxs, gys: seen.append((gxs, gys)))
    x, y = (mg.tensor(ROWS, requires_grad=True) for _ in "xy")

    (layer(x, y).sum() + (x * x).sum()).backward()

    ((gxs, gys),) = seen
    np.testing.assert_allclose(gxs[0].numpy() + 2 * ROWS, x.grad.numpy())
    np.testing.assert_allclose(gxs[1].numpy(), y.grad.numpy())
    np.testing.assert_array_equal(gys[0].numpy(), np.ones((4, 2)))


# -- containers -----------------------------------------------------------------------------------


def test_a_sequence_of_modules_is_indexed_cut_and_extended():
    net = nn.Sequential({"first": nn.Linear(3, 2), "then": nn.ReLU()})
    net.extend([nn.Linear(2, 1)])

    assert [name for name, _ in net.named_children()] == ["first", "then", "2"]
    assert net[-1] is net[2]
    assert len(net[:2]) == 2
    assert net[:2](ROWS).shape == (4, 2)
    assert [type(m).__name__ for m in net] == ["Linear", "ReLU", "Linear"]


def test_a_list_of_modules_keeps_its_order_through_every_change():
    a, b, c = nn.Linear(1, 1), nn.ReLU(), nn.Tanh()
    row = nn.ModuleList([a])
    row.append(c)
    row.insert(1, b)

    assert list(row) == [a, b, c]
    assert [name for name, _ in row.named_children()] == ["0", "1", "2"]
    del row[0]
    assert list(row) == [b, c]
    row[0] = a
    assert set(row) == {a, c}
    assert row[0] is a
    assert list(row[1:]) == [c]
    assert [name for name, _ in row.named_parameters()] == ["0.weight", "0.bias"]


def test_modules_by_name_and_parameters_in_a_row_are_found():
    table = nn.ModuleDict({"up": nn.Linear(1, 2), "down": nn.Linear(2, 1)})
    table["act"] = nn.ReLU()

    assert list(table) == ["up", "down", "act"]
    assert "up" in table
    assert table.pop("up").out_features == 2
    assert [name for name, _ in table.named_parameters()] == ["down.weight", "down.bias"]
    row = nn.ParameterList([mg.tensor([1.0]), np.ones(2)])
    assert [name for name, _ in row.named_parameters()] == ["0", "1"]
    assert all(p.requires_grad for p in row)


# -- layers ---------------------------------------------------------------------------------------


def test_the_row_for_padding_starts_at_zero_and_stays_there():
    table = nn.Embedding(4, 3, padding_idx=-2)
    table(mg.tensor([[0, 2], [2, 3]])).sum().backward()

    assert not table.weight.numpy()[2].any()
    assert table.weight.grad.numpy()[:, 0].tolist() == [1, 0, 0, 1]
    frozen = nn.Embedding.from_pretrained(ROWS)
    np.testing.assert_array_equal(frozen([1, 1]).numpy(), ROWS[[1, 1]])
    assert not frozen.weight.requires_grad


def test_what_stands_in_the_padding_matters_to_nobody():
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        layer, x = kind(3, 4, bidirectional=True), np.random.default_rng(0).normal(size=(5, 2, 3))
        other = x.copy()
        other[2:, 1] = 99.0

        results = [rnn.pad_packed_sequence(layer(rnn.pack_padded_sequence(part, [5, 2]))[0])[0] for part in (x, other)]

        np.testing.assert_array_equal(*(r.numpy() for r in results))
        np.testing.assert_allclose(results[0].numpy()[:2, 1], layer(x[:2, 1:])[0].numpy()[:, 0])


def test_a_causal_layer_hears_nothing_of_what_comes_later():
    layer, x = nn.TransformerEncoderLayer(4, 2, 8, 0.0), np.random.default_rng(0).normal(size=(5, 2, 4))
    changed = x.copy()
    changed[3:] = 7.0

    before, after = (layer(mg.tensor(part), is_causal=True).numpy() for part in (x, changed))

    np.testing.assert_array_equal(before[:3], after[:3])
    assert (before[3:] != after[3:]).all()
    np.testing.assert_allclose(before, layer(mg.tensor(x), ~np.tri(5, dtype=bool)).numpy())


class Reader(nn.Module):
    """One of nearly every kind of layer: a batch of words of three letters to five classes."""

    def __init__(self):
        self.letters = nn.Embedding(9, 8, padding_idx=0)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.2, batch_first=True)
        self.conv = nn.Sequential(nn.Conv1d(8, 6, 2), nn.BatchNorm1d(6), nn.GELU(), nn.Dropout(0.1))
        self.memory = nn.LSTM(6, 4, bidirectional=True, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, words):
        x = self.encoder(self.letters(words), src_key_padding_mask=words == 0)
        _, (h, _) = self.memory(self.conv(x.swapaxes(1, 2)).swapaxes(1, 2))
        return self.head(nn.Flatten()(h.swapaxes(0, 1)))


def test_a_network_on_another_device_computes_what_it_computes_on_the_cpu():
    words, classes = np.random.default_rng(0).integers(1, 9, (6, 3)), np.array([0, 1, 2, 3, 4, 0])
    words[2, 2] = 0
    results = []
    for device in ("cpu", "simulated"):
        mg.manual_seed(3)
        net = Reader().to(device)
        loss = nn.CrossEntropyLoss(np.arange(1.0, 6))
        loss.to(device)(net(mg.tensor(words, device=device)), mg.tensor(classes, device=device)).backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        assert all(p.grad.spec.device is mg.device(device) for p in net.parameters())
        results.append([norm.numpy(), *(p.grad.numpy() for p in net.parameters())])
        results[-1] += [x.numpy() for x in net.state_dict().values()]

    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_gates_far_out_give_no_gradient_that_is_no_number():
    layer = nn.LSTM(3, 4)
    x = mg.tensor(np.random.default_rng(0).normal(size=(5, 2, 3)) * 100, requires_grad=True)

    layer(x)[0].sum().backward()

    assert np.isfinite(x.grad.numpy()).all()


def test_no_recurrent_layer_runs_on_behind_the_end_of_a_sequence():
    """It would grow there a hundredfold at each step, and infinity times a gradient of 0 is no number."""
    layer = nn.RNN(1, 1, nonlinearity="relu", bias=False)
    for p in layer.parameters():
        p.data = np.full((1, 1), 100.0)

    y, end = layer(rnn.pack_sequence([mg.zeros(300, 1), mg.ones(1, 1)]))
    y.data.sum().backward()

    assert end.numpy().ravel().tolist() == [0, 100]
    assert layer.weight_ih_l0.grad.item() == 1
    assert layer.weight_hh_l0.grad.item() == 0


def exploded():
    p = mg.tensor([1.0], requires_grad=True)
    p.grad = mg.tensor([np.inf])
    return p


def replaced_gradient():
    layer = nn.Bilinear(3, 3, 1)
    layer.register_full_backward_hook(lambda m, gxs, gys: gxs)
    layer(*(mg.tensor(ROWS, requires_grad=True) for _ in "xy")).sum().backward()


MISTAKES = {
    "a projection of a GRU": (lambda: nn.GRU(4, 5, proj_size=2), ValueError, "proj_size needs an LSTM"),
    "a projection that is no smaller": (lambda: nn.LSTM(4, 5, proj_size=5), ValueError, "below hidden_size 5"),
    "a state as wide as the cell": (
        lambda: nn.LSTM(4, 5, proj_size=2)(mg.ones(3, 1, 4), (mg.ones(1, 1, 5), mg.ones(1, 1, 5))), ShapeError,
        "h of 2 features",
    ),
    "a plain tensor for a parameter": (
        lambda: setattr(nn.Linear(3, 2), "weight", mg.ones(2, 3)), TypeError, "requires no gradient",
    ),
    "a result for a parameter": (
        lambda: setattr(layer := nn.Linear(3, 2), "weight", layer.weight * 2), TypeError, "result of an op",
    ),
    "a number for a buffer": (lambda: setattr(nn.BatchNorm1d(3), "running_mean", 0.5), TypeError, "buffer"),
    "an array for a buffer": (lambda: nn.Identity().register_buffer("b", np.ones(2)), TypeError, r"mg\.tensor"),
    "a dotted name": (lambda: nn.Identity().register_buffer("a.b", None), KeyError, "without a dot"),
    "a name that is taken": (lambda: nn.Identity().register_buffer("forward", None), KeyError, "already"),
    "no forward pass": (lambda: nn.Module()(1), NotImplementedError, "method forward"),
    "an integer dtype": (lambda: nn.Linear(3, 2).to(int), TypeError, "floating dtype"),
    "integers that learn": (lambda: nn.Parameter([1, 2]), DTypeError, "nudged"),
    "a function among modules": (lambda: nn.ModuleList([mg.softmax]), TypeError, "needs modules"),
    "an image of another depth": (lambda: nn.Conv2d(3, 2, 3)(np.ones((1, 4, 5, 5))), ShapeError, r"\(N, 3, H, W\)"),
    "groups that do not divide": (lambda: nn.Conv2d(3, 2, 3, groups=2), ValueError, "do not divide into 2 groups"),
    "rows for images": (lambda: nn.BatchNorm2d(3)(ROWS), ShapeError, "4 axes"),
    "a sequence of another width": (lambda: nn.GRU(4, 2)(ROWS), ShapeError, r"\(T, 4\)"),
    "a state of another size": (
        lambda: nn.GRU(3, 2)(np.ones((5, 4, 3)), np.ones((1, 4, 3))), ShapeError, r"\(1, 4, 2\)",
    ),
    "one state for two": (lambda: nn.LSTM(3, 2)(ROWS, [np.ones((1, 2))]), ShapeError, "2 initial states"),
    "an empty sequence": (lambda: nn.RNN(3, 2)(np.ones((0, 1, 3))), ShapeError, "at least one"),
    "an unknown nonlinearity": (lambda: nn.RNN(3, 2, nonlinearity="sin"), ValueError, "'tanh' or 'relu'"),
    "lengths in no order": (
        lambda: rnn.pack_padded_sequence(np.ones((4, 2, 3)), [2, 4]), ValueError, "enforce_sorted=False",
    ),
    "a length too long": (lambda: rnn.pack_padded_sequence(ROWS, [5, 1, 1]), ValueError, "1 to 4"),
    "heads that do not divide": (lambda: nn.MultiheadAttention(5, 2), ValueError, "num_heads, got 5 and 2"),
    "a query of another width": (lambda: nn.MultiheadAttention(4, 2)(ROWS, ROWS, ROWS), ShapeError, "needs 4, 4 and 4"),
    "an unknown activation": (lambda: nn.TransformerEncoderLayer(4, 2, activation="sin"), ValueError, "or a function"),
    "an unknown gain": (lambda: nn.init.calculate_gain("sine"), ValueError, "leaky_relu"),
    "a vector with fans": (lambda: nn.init.xavier_normal_(mg.tensor(np.ones(3))), ShapeError, r"\(out, in, …\)"),
    "a span that is none": (lambda: nn.init.trunc_normal_(mg.tensor(ROWS), a=1, b=0), ValueError, "a < b"),
    "a span out of reach": (lambda: nn.init.trunc_normal_(mg.tensor(ROWS), a=99, b=100), ValueError, "for ever"),
    "a vector too long": (
        lambda: nn.utils.vector_to_parameters(np.ones(9), nn.Linear(3, 2).parameters()), ShapeError, "8 elements",
    ),
    "a norm without end": (
        lambda: nn.utils.clip_grad_norm_([exploded()], 1.0, error_if_nonfinite=True), RuntimeError,
        "cannot make it finite",
    ),
    "two inputs and one replaced gradient": (replaced_gradient, TypeError, "hook the tensors themselves"),
}  # fmt: skip
test_a_clear_sentence_answers = mistakes(MISTAKES)


def test_the_functions_are_imported_as_pytorch_s_are():
    code = "import minigrad.nn.functional as F; print(F.relu.__module__)"
    asked = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (asked.stderr, asked.stdout.strip()) == ("", mg.functional.relu.__module__)


def public(home):
    """The functions that a module offers by name."""
    return [f for name, f in vars(home).items() if isinstance(f, FunctionType) and not name.startswith("_")]


def test_functions_and_what_holds_them_are_pickled():
    """mg.relu had the __module__ of its method, so neither it nor layers with it could be pickled."""
    for home in (mg, nn.functional, mg.special):
        assert all(pickle.loads(pickle.dumps(f)) is f for f in public(home))
    generator = mg.Generator(3)
    generator.next_key()
    layer, same = pickle.loads(pickle.dumps((mg.nn.TransformerEncoderLayer(4, 2), generator)))

    assert layer.activation is nn.functional.relu
    assert (same.get_state(), same.next_key().tolist()) == (generator.get_state(), generator.next_key().tolist())
