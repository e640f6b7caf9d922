"""Forward and backward over PyTorch's graphs: values, shares and gradients are PyTorch's, and nothing is changed."""

from __future__ import annotations

import re

import pytest

from minigrad.course.widgets import ChainRule
from minigrad.engine.base.errors import NoGradientError

torch = pytest.importorskip("torch", reason="reads graphs of PyTorch")

from torch.nn import functional as F  # noqa: E402

from minigrad.draw.readers.pytorch_run import replay_of  # noqa: E402


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x**3 * factor * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 3 * x**2 * ctx.factor * y * g, None, x**3 * ctx.factor * g


def overwrite(x, w):
    z = x * w[:, 0]
    z[0] = x[1] * 2
    return z.mul_(2).add_(x)


KEPT = {  # of these graphs, autograd keeps enough to compute every value again
    "a copy with another layout": lambda x, w: (x @ w).T.reshape(15).view(5, 3),
    "pointwise": lambda x, w: x * 2 / x.exp() - x.tanh() ** 2 + torch.sigmoid(x).sqrt() * 2**x,
    "matmul": lambda x, w: F.relu(x @ w) @ w.t() + (w[:, 0] @ w[:, 1]) * (x @ w[:, 2]).sum(),
    "batched": lambda x, w: torch.matmul(x.expand(2, 3, 4), w).transpose(-1, -2),
    "reductions": lambda x, w: x.mean((-1, 0), keepdim=True) + x.sum(-1).std() + x.logsumexp(-1).prod() + x.max(),
    "shapes": lambda x, w: x.reshape(2, 6).T.unsqueeze(-1).squeeze(-1).permute(1, 0).flatten() + x.view(-1),
    "parts": lambda x, w: x[-1] * x[:, 1:].sum() + x[[0, 1]].sum() + torch.cat([x, w.t()[:, :4]], 0).sum(0),
    "several results": lambda x, w: x.unbind(0)[1] * x.split(2, -1)[1].sum() + x.max(-1).values.sum(),
    "softmax": lambda x, w: F.cross_entropy(x @ w, torch.tensor([0, 1, 2])) + x.softmax(-1)[0, 0],
    "convolution": lambda x, w: F.conv1d(x[None], w.flatten()[:18].reshape(2, 3, 3)).abs(),
    "used four times": lambda x, w: x * x + x.exp() * x + x.sin() + x,
    "attention": lambda x, w: F.scaled_dot_product_attention(x[None, None], x[None, None] * 2, x[None, None]),
    "half": lambda x, w: (x.bfloat16() * 2).float() + x.half(),
}
LOST = {  # recorded while they run
    "constants": lambda x, w: (1 - x) * 3 + (x + 2).exp(),
    "norms": lambda x, w: F.batch_norm(F.layer_norm(x, (4,)), torch.zeros(4), torch.ones(4), training=True),
    "a function of one's own": lambda x, w: Cube.apply(x, 3, x.sin()),
    "in place": overwrite,
    "dropout": lambda x, w: F.dropout(x) + torch.where(x > 0, x, 0.5),
}


def leaves():
    return torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)


def check(run, y, x, w):
    """Each leaf's gradient and the value of y are PyTorch's, bit by bit."""
    assert torch.equal(torch.tensor(run.arrays[run.picture.output.id][0]), y.detach())
    gradients = torch.autograd.grad(y, (x, w), allow_unused=True, retain_graph=True)
    for name, gradient in zip(("x", "w"), gradients, strict=True):
        found = [run.arrays[box.id][1] for box in run.picture.boxes if box.name == name and box.grad]
        assert (gradient is None) == (not found)
        assert gradient is None or torch.equal(torch.tensor(found[0]), gradient)


@pytest.mark.parametrize("f", KEPT.values(), ids=KEPT)
def test_values_and_gradients_of_a_tensor_are_those_of_pytorch(f):
    x, w = leaves()
    y = f(x, w).float().sum()

    check(replay_of(y, (), {"x": x, "w": w}), y, x, w)


@pytest.mark.parametrize("f", [*KEPT.values(), *LOST.values()], ids=[*KEPT, *LOST])
def test_values_and_gradients_of_a_function_are_those_of_pytorch(f):
    x, w = leaves()
    state = torch.get_rng_state()
    run = replay_of(lambda x, w: f(x, w).float().sum(), (x, w), {"x": x, "w": w})

    assert torch.equal(torch.get_rng_state(), state)
    check(run, f(x, w).float().sum(), x, w)


def test_the_picture_has_the_nodes_of_autograd_and_what_it_saved():
    x, w = leaves()
    run = replay_of((x @ w).tanh().sum(), (), {"x": x, "w": w})
    op = {box.op: box.id for box in run.picture.boxes}
    name = {box.id: box.name or box.op for box in run.picture.boxes}

    assert [box.name or box.op for box in run.picture.boxes] == ["x", "w", "@", "tanh", "sum"]
    assert {key: {name[id] for id in run.reads[op[key]]} for key in ("@", "tanh", "sum")} == {
        "@": {"x", "w"}, "tanh": {"tanh"}, "sum": set(),
    }  # fmt: skip
    assert [share.rule for share in run.shares] == ["g to each of 15", "1 − #4 × #4", "g @ wᵀ", "xᵀ @ g"]


def test_a_local_slope_is_the_derivative_at_each_element():
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    run = replay_of((x * x * 3).sum(), (), {"x": x})

    assert [share.slope for share in run.shares] == ["", "[3, 3]", "[0, 2]", "[0, 2]"]
    assert [share.after for share in run.shares] == ["[1, 1]", "[3, 3]", "[0, 6]", "[0, 12]"]


def test_the_widget_tells_the_run_in_the_names_of_the_code():
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(-3.0, requires_grad=True)
    h = x * w
    loss = h * h
    text = ChainRule(loss).text

    assert "h = x × w = 2 × (−3) = −6. Backward will need x and w here, so they are saved." in text
    assert "Done: x.grad = 36 and w.grad = −24." in text


def test_a_function_is_told_in_the_names_of_its_variables():
    def f(x):
        double = 2 * x
        y = double.clone()
        y += 3  # in place
        return 1 - y

    text = ChainRule(f, torch.tensor(2.0, requires_grad=True), names={}).text

    assert "double = x × 2 = 2 × 2 = 4." in text
    assert "#4 = clone(double) = clone(4) = 4." in text
    assert "y = #4 + 3 = 4 + 3 = 7." in text
    assert "result = 1 − y = 1 − 7 = −6." in text


def test_an_operand_that_was_not_kept_is_a_question_mark():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = ((x - torch.tensor([0.5, 0.5])) ** 2).sum()

    assert "#3 = x − ?, which is [0.5, 1.5]" in ChainRule(loss).text


def test_looking_changes_nothing():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
    x, w = leaves()
    fired = []
    w.register_hook(fired.append)
    h = x @ w
    h.register_hook(fired.append)
    h.retain_grad()
    loss = h.tanh().sum()
    loss.grad_fn.register_hook(lambda *gs: fired.append(gs))
    tensors = [x, w, h, *model.parameters(), *model.buffers()]
    before = [(t._version, t.grad, t.detach().clone()) for t in tensors]
    state, mode = torch.get_rng_state(), model.training
    replay_of(loss, (), {})
    replay_of(model, (x,), {}, is_sum=True)
    replay_of(lambda x: model(x) * 2, (x,), {}, is_sum=True)

    for t, (version, grad, old) in zip(tensors, before, strict=True):
        assert (t._version, t.grad, torch.equal(t, old)) == (version, grad, True)
    assert torch.equal(torch.get_rng_state(), state)
    assert (fired, model.training) == ([], mode)
    loss.backward()
    assert torch.allclose(h.grad, 1 - h.detach().tanh() ** 2)


def clip(gradient):
    return gradient.clamp(max=1)


def log(*gradients):
    pass


def hooked(x):
    h = x * 2
    h.register_hook(clip)
    return h


class Hooked(torch.nn.Linear):
    def __init__(self):
        super().__init__(1, 1)
        self.register_full_backward_hook(log)


def node_with_hook(x):
    y = (x * 3).sum()
    y.grad_fn.register_hook(log)
    return y


HOOKS = {  # what ChainRule is called with → the hook that it names
    "on a result in a function": (lambda x: (hooked, x), "clip"),
    "on a tensor that an op saved": (lambda x: (hooked(x).square().sum(),), "clip"),
    "on a module": (lambda x: (Hooked(), x), "hook"),
    "on a node": (lambda x: (node_with_hook(x),), "log"),
}


@pytest.mark.parametrize(("call", "name"), HOOKS.values(), ids=HOOKS)
def test_hooks_that_could_change_gradients_are_named(call, name):
    x = torch.ones(1, requires_grad=True)
    other = hooked(x)

    assert f"Hooks do not run here ({name}): if they change a gradient" in ChainRule(*call(x)).text
    assert "Hooks" not in ChainRule((x * 2).sum(), names={"x": x, "other": other}).text


def freed(x):
    y = x.exp().sum()
    y.backward()
    return y


def changed(x):
    y = x.sum()
    with torch.no_grad():
        x += 1
    return y


REFUSED = [
    ("no graph", lambda x: x.detach().sum(), NoGradientError, "has no grad_fn, since it was detached, made under"),
    ("freed", freed, NoGradientError, "what ExpBackward0 saved is gone, so run the forward pass again"),
    ("changed", changed, ValueError, "now computes 5, but its tensor has the value 3: .* was changed in place"),
    ("not kept", lambda x: (x + 1).sum(), ValueError, r"AddBackward0 cannot run again.*ChainRule\(f, x"),
    ("no number", lambda x: x * 2, NoGradientError, r"at a single number, not at f32\[2\]: take y.sum\(\)"),
    ("too large", lambda x: sum([x] * 70).sum(), ValueError, "a graph of 72 nodes is too large .* of up to 60"),
    ("complex", lambda x: (x * 1j).abs().sum(), TypeError, "dense tensors of real numbers"),
    ("meta", lambda x: x.to("meta").sum(), TypeError, r"not f32\[\] on meta"),
]


@pytest.mark.parametrize(("make", "error", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_stepped_says_why(make, error, message):
    y = make(torch.tensor([1.0, 2.0], requires_grad=True))

    with pytest.raises(error) as raised:
        ChainRule(y)
    assert re.search(message, str(raised.value))


def test_what_is_no_function_of_one_result_is_refused():
    with pytest.raises(TypeError, match="expected a tensor, or a function and its arguments; got 3"):
        ChainRule(3, torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="a function that returns one tensor; it returned a tuple"):
        ChainRule(lambda x: (x, x), torch.ones(2, requires_grad=True))
