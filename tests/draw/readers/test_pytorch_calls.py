"""What a call of a PyTorch module or function does, compared with what PyTorch does without being looked at."""

import copy
import random
from collections import UserDict
from dataclasses import make_dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import GraphView
from tests.support.listings import entries_of, signs
from tests.support.table import table

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tests.support.torch_models import MODELS, Experts, Residual, Tied  # noqa: E402


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
    entries = entries_of(f, x)
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


def state(modules, *others):
    """Everything that drawing could change about modules, random generators and other things."""
    tensors = [x for m in modules for x in [*m.parameters(), *m.buffers()]]
    parts = [part for m in modules for part in m.modules()]
    attributes = [{k: copy.copy(v) for k, v in vars(part).items()} for part in parts]
    values = [(id(x), x._version, x.tolist(), id(x.grad), None if x.grad is None else x.grad.tolist()) for x in tensors]
    hooks = torch.nn.modules.module._global_forward_hooks, torch.nn.modules.module._global_forward_pre_hooks
    rest = [*map(repr, others), str(np.random.get_state())]  # noqa: NPY002
    return values, repr(attributes), [*map(dict, hooks)], torch.random.get_rng_state().tolist(), random.getstate(), rest


class Careless(Residual):
    """Changes itself and its input when it is called."""

    def __init__(self):
        super().__init__()
        self.count, self.log = torch.zeros(1), [{}]

    def forward(self, x):
        self.last, self.calls, self.training = x, getattr(self, "calls", 0) + 1, False
        self.bn1.running_mean.add_(random.random())
        self.count += 1
        self.log[0][len(self.log)] = self.log.append(1)
        return super().forward(x.mul_(2)).mean()


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["module", "function"])
def test_looking_changes_nothing(kind, compiled):
    model, x, dice = Careless(), torch.randn(2, 3, 4, 4), torch.Generator()
    optimizer = torch.optim.Adam(model.parameters())
    earlier = model(x)
    earlier.backward(retain_graph=True)
    model.conv2.weight.grad = None

    def step(x):
        loss = model(x) + torch.rand((), generator=dice) * np.random.rand()  # noqa: NPY002
        loss.backward()
        with torch.no_grad():
            model.conv1.weight.data -= 1
        optimizer.step()
        model.conv2.bias.grad = None
        return loss

    f = model if kind == "module" else step
    f = torch.compile(f, backend="eager") if compiled else f
    before = state([model], x, optimizer.state_dict(), dice.get_state().tolist())
    GraphView(f, x)

    assert state([model], x, optimizer.state_dict(), dice.get_state().tolist()) == before
    earlier.backward()  # PyTorch raises if a tensor that it saved has another version


def test_memory_that_tensors_share_is_changed_for_all_and_then_restored():
    base, weight = torch.ones(4), torch.ones(2)
    part = base[:2]
    with torch.inference_mode():
        frozen = torch.ones(2)

    def f(x):
        base.add_(1)
        weight.requires_grad_().sum().backward()
        with torch.inference_mode():
            frozen.add_(x)
        return part * weight + frozen

    assert entries_of(f, torch.ones(2))[-1].value == "[4, 4]"
    assert (base.sum(), frozen.sum(), weight.requires_grad, weight.grad) == (4, 2, False, None)


def test_a_module_is_found_however_the_function_reaches_it():
    net, x = nn.Sequential(nn.BatchNorm1d(2)), torch.randn(4, 2)
    agent = SimpleNamespace(nets=[net])

    def helper(x):
        return net(x)

    before = state([net])
    calls = partial(net), lambda x: agent.nets[0](x) * 2, lambda x, k=net: k(x), lambda x: helper(x) * 2
    found = [*(entries_of(f, x) for f in calls), entries_of(lambda x, k: k(x), x, net)]

    assert state([net]) == before
    assert [each[1].name for each in found] == ["0.running_mean"] * 5


def test_arguments_and_results_come_in_dataclasses_and_mappings_and_by_keyword():
    class Scale(nn.Module):
        def forward(self, batch, *, mask=None):
            return SimpleOutput(UserDict(loss=batch["ids"] * mask))

    SimpleOutput = make_dataclass("SimpleOutput", ["logits"])
    batch = UserDict(ids=torch.ones(2))
    views = [
        GraphView(partial(Scale(), mask=torch.ones(2)), batch),
        GraphView(partial(Scale(), batch, mask=batch["ids"])),
    ]

    assert [view.label for view in views] == ["The graph of a call of Scale"] * 2
    assert [x.name for x in views[0].overview.listing.entries] == ["input", "mask", ""]


def test_a_function_needs_no_tensor_among_its_arguments():
    net = nn.Linear(3, 1)

    assert signs(lambda n: torch.ones(n).sum(), 3) == ["ones", "sum"]
    assert signs(lambda: net(torch.ones(3))) == ["ones", "linear"]
    assert mg.draw(lambda n: torch.ones(n).sum(), 3).picture.outputs[0].value == "3"


def test_an_operand_that_is_read_twice_has_two_arrows():
    drawing = mg.draw(lambda x: x * x, torch.ones(2))

    assert len(drawing.picture.arrows) == 2
    assert "#2 = input × input = [1, 1]" in drawing.text


def test_ops_without_use_and_values_that_python_reads_are_noted():
    def f(x):
        x.sum().exp()
        return x * 2 if (x > 0).any() else x + x.max().item()

    reads, left_out = GraphView(f, -torch.ones(2), names={}).notes

    assert "in f: return x * 2 if (x > 0).any() else x + x.max().item()" in reads
    assert left_out == "Not shown, as no result needs them: 5 ops (sum, exp, >, any and max)."


def test_what_is_compiled_inside_a_call_is_shown_as_it_was_written():
    inner = torch.compile(lambda x: x.sin() + 1, backend="eager")

    assert signs(lambda x: inner(x).cos(), torch.ones(2)) == ["sin", "+", "cos"]
    assert signs(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), torch.ones(2)) == ["sum", ">", "cond"]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_has_unknown_lengths():
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])

    assert [(e.spec, e.nbytes) for e in entries_of(lambda x: x * 2, x)] == [("f32[2, ?]", None)] * 2


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
    found = {entry.name or entry.sign: entry for entry in entries_of(f, torch.ones(4, 3))}

    assert [*found] == ["input", "weight", "bias", "linear", "dropout"]
    assert found["linear"].line.endswith("test_pytorch_calls.py, in f: return F.dropout(layer(x), 0.5)")
    assert found["dropout"].facts == (
        "with p=0.5, training=True, inplace=False",
        "MulBackward0 saves other f32[4, 2], 32 bytes",
    )
    assert (found["weight"].spec, found["weight"].nbytes) == ("f32[2, 3]", 24)
    assert [name for name, entry in found.items() if entry.kept] == ["input"]


def test_a_write_into_a_view_is_read_by_all_who_share_the_memory():
    def f(x):
        h = x * 2
        row = h[0]
        row.zero_()
        h[:, 1] = 7
        return h.sum()

    entries = entries_of(f, torch.ones(2, 2))

    chain = enumerate(["×", "[ ]", "zero_", "[ ] =", "sum"])
    assert [(e.sign, e.inputs) for e in entries][1:] == [(sign, (i,)) for i, sign in chain]
    assert entries[1].facts == ("with 2", "changed in place afterwards")
    assert entries[5].value == "16"


def test_an_input_that_an_op_changes_in_place_has_no_longer_the_value_it_came_with():
    x = torch.ones(2, requires_grad=True)
    given, result = entries_of(lambda h: h.pow_(2), x * 3)

    assert (given.value, given.facts) == ("", ("changed in place afterwards",))
    assert (result.value, "PowBackward0 saves self f32[2], 8 bytes" in result.facts) == ("[9, 9]", True)


def test_only_experts_that_python_chose_are_in_the_graph():
    model = Experts()
    nn.init.zeros_(model.gate.weight)
    model.gate.bias.data = torch.tensor([0.0, 1.0, 0.0])

    assert {x.label for x in GraphView(model, torch.ones(2, 4)).groups if "expert" in x.label} == {"experts.1"}


def test_tied_weights_are_one_leaf_with_two_users():
    entries = entries_of(Tied(), torch.zeros(3, 1, dtype=torch.int64))
    (shared,) = [i for i, entry in enumerate(entries) if entry.name == "emb.weight"]

    assert [entry.sign for entry in entries if shared in entry.inputs] == ["embedding", "linear"]


def test_nan_is_found_and_the_filling_of_masks_is_not():
    x = torch.tensor([1.0, float("-inf")])

    assert [entry.trouble for entry in entries_of(lambda x: x - x.max() - x, x)] == ["", "", "", "1 NaN"]


def test_no_gradient_is_needed():
    with torch.no_grad():
        assert signs(nn.Linear(2, 2), torch.ones(1, 2)) == ["linear"]


@pytest.mark.parametrize("f", [torch.vmap(torch.sin), torch.func.jacrev(lambda x: (x * x).sum())])
def test_a_value_that_pytorch_does_not_announce_is_marked(f):
    """An operand that jacrev made had no arrow and no note."""
    x, held = torch.ones(3), [torch.ones(3)]

    assert "does not report" in GraphView(f, x, names={}).notes[0]
    assert not GraphView(lambda x: x * held[0], x, names={}).notes


@table(
    "f, words",
    [
        (lambda x: x.max(1)[0], "dim=1"), (lambda x: x.view(4, 1), "4, 1"), (lambda x: x.pow(2), "exponent=2"),
        (lambda x: F.softmax(x, 0), "dim=0, _stacklevel=3"), (lambda x: torch.cat([x, x], 1), "dim=1"),
        (lambda x: F.max_pool1d(x, 2), "kernel_size=2, padding=0, dilation=1, ceil_mode=False, retu…"),
        (lambda x: 1 - x, "1"), (lambda x: torch.ops.aten.sum.dim_IntList(x, [0], True), "dim=[0], keepdim=True"),
    ],
)  # fmt: skip
def test_options_have_pytorchs_names(f, words):
    entry = entries_of(f, torch.ones(2, 2))[1]

    assert entry.facts[0] == f"with {words}"
    assert "." not in entry.sign


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
