"""What a call of a PyTorch module or function does, compared with what PyTorch does without being looked at."""

import copy
import random
from functools import partial
from types import SimpleNamespace

import pytest

from minigrad.course.widgets import GraphView
from tests.support.table import table

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tests.support.torch_models import MODELS, Experts, Residual, Tied  # noqa: E402


def listing(f, *args):
    return GraphView(f, *args, names={}).overview.listing


def signs(f, *args):
    return [entry.sign for entry in listing(f, *args).entries if entry.kind == "op"]


class Count(torch.overrides.TorchFunctionMode):
    """The values that PyTorch's functions return, by the name of the function."""

    def __init__(self):
        super().__init__()
        self.values = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        y = func(*args, **(kwargs or {}))
        for each in y if isinstance(y, tuple) else [y]:
            if isinstance(each, torch.Tensor):
                self.values.append((getattr(func, "__name__", ""), each.detach().clone()))
        return y


@table("name", MODELS)
def test_operations_and_values_are_those_of_a_call_without_a_view(name):
    torch.manual_seed(0)
    f, x = MODELS[name]()
    entries = listing(f, x).entries
    with Count() as count:
        f(x)
    values = {(func.strip("_"), y.sum().item()) for func, y in count.values}
    names = {"+": "add", "−": "sub", "×": "mul", "=": "eq", "[ ]": "getitem"}
    shown = [e for e in entries if e.kind == "op" and isinstance(e.thing, torch.Tensor) and e.value]

    assert shown
    for entry in shown:
        if "changed in place afterwards" not in entry.facts and entry.sign != "[ ] =":
            assert (names.get(entry.sign, entry.sign).strip("_"), entry.thing.sum().item()) in values, entry.headline


def test_operations_are_those_that_torch_fx_traces():
    class Net(nn.Module):
        def forward(self, x):
            a, b = F.relu(x + 1).chunk(2, dim=-1)
            return torch.cat([a.exp(), b.T.flatten().view(2, 2)], 1)

    traced = [node.name.rstrip("_0123456789") for node in torch.fx.symbolic_trace(Net()).graph.nodes]
    found = signs(Net(), torch.ones(2, 4))

    assert found == ["+", "relu", "chunk", "exp", "T", "flatten", "view", "cat"]
    assert [name for name in traced if name not in ("x", "output", "getitem")] == [
        "add", "relu", "chunk", "exp", "getattr", "flatten", "view", "cat",
    ]  # fmt: skip


def state(modules, rng=True):
    """Everything about modules that a look could change."""
    tensors = [x for m in modules for x in [*m.parameters(), *m.buffers()]]
    parts = [part for m in modules for part in m.modules()]
    attributes = [{k: copy.copy(v) for k, v in vars(part).items()} for part in parts]
    values = [(id(x), x._version, x.tolist(), id(x.grad), None if x.grad is None else x.grad.tolist()) for x in tensors]
    hooks = torch.nn.modules.module._global_forward_hooks, torch.nn.modules.module._global_forward_pre_hooks
    return values, repr(attributes), [*map(dict, hooks)], torch.random.get_rng_state().tolist(), random.getstate()


class Careless(Residual):
    """Changes itself when it is called."""

    def forward(self, x):
        self.last, self.calls, self.training = x, getattr(self, "calls", 0) + 1, False
        self.bn1.running_mean.add_(random.random())
        return super().forward(x).mean()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["module", "function"])
def test_looking_changes_nothing(kind, compiled):
    model, x = Careless(), torch.randn(2, 3, 4, 4)
    model(x).backward()
    model.conv2.weight.grad = None

    def step(x):
        loss = model(x) + torch.rand(())
        loss.backward()
        with torch.no_grad():
            model.conv1.weight.data -= 1
        model.conv2.bias.grad = None
        return loss

    f = model if kind == "module" else step
    f = torch.compile(f, backend="eager") if compiled else f
    before = state([model])
    GraphView(f, x)

    assert state([model]) == before


def test_a_module_is_found_however_the_function_reaches_it():
    net, x = nn.Sequential(nn.BatchNorm1d(2)), torch.randn(4, 2)
    agent = SimpleNamespace(nets=[net])

    def helper(x):
        return net(x)

    before = state([net])
    calls = partial(net), lambda x: agent.nets[0](x) * 2, lambda x, k=net: k(x), lambda x: helper(x) * 2
    found = [*(listing(f, x) for f in calls), listing(lambda x, k: k(x), x, net)]

    assert state([net]) == before
    assert [each.entries[1].name for each in found] == ["0.running_mean"] * 5


def test_a_call_runs_once():
    calls = []
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    for part in model.modules():
        part.register_forward_hook(lambda *_: calls.append(1))
    GraphView(model, torch.ones(1, 2))

    assert len(calls) == 3


def test_modules_are_groups_by_call_and_equal_ones_are_folded():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 3)
    groups = GraphView(model, torch.ones(1, 4, 8)).groups

    assert {x.label for x in groups if x.kind == "module"} == {name for name, _ in model.named_modules() if name} - {
        "layers", *(f"layers.{i}.self_attn.out_proj" for i in range(3)),  # these are not called
    }  # fmt: skip
    assert [x.times for x in groups if x.kind == "repeat"] == [3]


def test_parameters_lines_options_and_what_backward_keeps_are_shown():
    def f(x):
        return F.dropout(layer(x), 0.5)

    layer = nn.Linear(3, 2)
    found = {entry.name or entry.sign: entry for entry in listing(f, torch.ones(4, 3)).entries}

    assert [*found] == ["input", "weight", "bias", "linear", "dropout"]
    assert found["linear"].line.endswith("test_pytorch_calls.py, in f: return F.dropout(layer(x), 0.5)")
    assert found["dropout"].facts == ("with 0.5, True, False", "MulBackward0 saves other f32[4, 2], 32 bytes")
    assert (found["weight"].spec, found["weight"].nbytes) == ("f32[2, 3]", 24)
    assert [name for name, entry in found.items() if entry.kept] == ["input"]


def test_a_write_into_a_view_is_read_by_all_who_share_the_memory():
    def f(x):
        h = x * 2
        row = h[0]
        row.zero_()
        h[:, 1] = 7
        return h.sum()

    entries = listing(f, torch.ones(2, 2)).entries

    chain = enumerate(["×", "[ ]", "zero_", "[ ] =", "sum"])
    assert [(e.sign, e.inputs) for e in entries][1:] == [(sign, (i,)) for i, sign in chain]
    assert entries[1].facts == ("with 2", "changed in place afterwards")
    assert entries[5].value == "16"


def test_an_input_that_an_op_changes_in_place_has_no_longer_the_value_it_came_with():
    x = torch.ones(2, requires_grad=True)
    given, result = listing(lambda h: h.pow_(2), x * 3).entries

    assert (given.value, given.facts) == ("", ("changed in place afterwards",))
    assert (result.value, "PowBackward0 saves self f32[2], 8 bytes" in result.facts) == ("[9, 9]", True)


def test_only_experts_that_python_chose_are_in_the_graph():
    model = Experts()
    nn.init.zeros_(model.gate.weight)
    model.gate.bias.data = torch.tensor([0.0, 1.0, 0.0])

    assert {x.label for x in GraphView(model, torch.ones(2, 4)).groups if "expert" in x.label} == {"experts.1"}


def test_tied_weights_are_one_leaf_with_two_users():
    entries = listing(Tied(), torch.zeros(3, 1, dtype=torch.int64)).entries
    (shared,) = [i for i, entry in enumerate(entries) if entry.name == "emb.weight"]

    assert [entry.sign for entry in entries if shared in entry.inputs] == ["embedding", "linear"]


def test_nan_is_found_and_the_filling_of_masks_is_not():
    x = torch.tensor([1.0, float("-inf")])

    assert [entry.trouble for entry in listing(lambda x: x - x.max() - x, x).entries] == ["", "", "", "1 NaN"]


def test_no_gradient_is_needed():
    with torch.no_grad():
        assert signs(nn.Linear(2, 2), torch.ones(1, 2)) == ["linear"]


def test_a_result_that_pytorch_does_not_announce_is_marked():
    view = GraphView(torch.vmap(torch.sin), torch.ones(3), names={})

    assert "does not report" in view.notes[0]


@table(
    "f, error",
    [
        (lambda: (nn.Linear(2, 2),), "has no graph until it is called"),
        (lambda: (nn.LazyLinear(2), torch.ones(1, 2)), "a lazy module gets its parameters"),
        (lambda: (lambda x: 3, torch.ones(1)), "<lambda> returned 3, which contains no tensor"),
        (lambda: (torch.jit.script(nn.ReLU()), torch.ones(1)), "hides its operations"),
        (lambda: (torch.ones(1, requires_grad=True), 3), "expected tensors of PyTorch.*got 3 of type int"),
    ],
    ids=lambda f, error: error,
)
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_what_has_no_graph_says_so(f, error):
    with pytest.raises((TypeError, ValueError), match=error):
        GraphView(*f())
