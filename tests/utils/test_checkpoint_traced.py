"""checkpoint while a graph is built: the graph's backward computes the part again, and keeps what it was given."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.graph.compiler.passes.liveness import peak_bytes
from minigrad.graph.compiler.passes.pipeline import optimised
from minigrad.graph.pruning import prune_graph
from minigrad.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, keep_products
from tests.support.all_close import assert_all_close
from tests.support.table import table

ROWS, WIDTH, DEPTH = 40, 8, 16
SIZE = ROWS * WIDTH * 8  # bytes of an activation


def weights(n=DEPTH):
    rng = np.random.default_rng(0)
    return [mg.tensor(rng.normal(size=(WIDTH, WIDTH)) / 3, requires_grad=True) for _ in range(n)]


def batch():
    return mg.tensor(np.random.default_rng(1).normal(size=(ROWS, WIDTH)))


def block(x, w):
    return (x @ w).tanh() * 2 + x


def chain(x, ws, **options):
    for w in ws:
        x = block(x, w, **options)
    return x


def in_parts(x, ws, parts):
    """The blocks in so many checkpoints; none of 0."""
    if not parts:
        return chain(x, ws)
    size = len(ws) // parts
    for i in range(0, len(ws), size):
        x = checkpoint(chain, x, ws[i : i + size])
    return x


def kept(f, *args):
    """Bytes that a traced function holds from forward to backward, beside its arguments; and the result."""
    y = f(*args)
    split = [*f.latest.run.variants.values()][-1].split
    return sum(split.kept[i].spec.nbytes for i in split.inner), y


def pulled(y, leaves):
    y.backward()
    return take_gradients(leaves)


def take_gradients(leaves):
    """Their gradients, which they have no more."""
    found = [x.grad.numpy().copy() for x in leaves]
    for x in leaves:
        x.grad = None
    return found


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_between_forward_and_backward_only_inputs_of_parts_are_kept(parts, jit_compile):
    """A checkpoint in a traced function was its function, and everything was kept."""
    ws, x = weights(), batch()
    plain = mg.function(lambda x: in_parts(x, ws, 0).sum(), jit_compile=jit_compile)
    bytes_plain, y = kept(plain, x)
    expected = pulled(y, ws)
    bytes_kept, y = kept(mg.function(lambda x: in_parts(x, ws, parts).sum(), jit_compile=jit_compile), x)

    assert bytes_plain >= (2 * DEPTH - 1) * SIZE  # of each block the tanh, and the block's result
    assert bytes_kept == (parts - 1) * SIZE  # the first part's input is the function's own
    assert same(pulled(y, ws), expected)


def test_gradients_are_to_the_bit_those_of_eager_code_without():
    ws, x = weights(), batch()
    expected = pulled(chain(x, ws).sum(), ws)

    assert same(pulled(in_parts(x, ws, 4).sum(), ws), expected)
    assert same(pulled(mg.function(lambda x: in_parts(x, ws, 4).sum())(x), ws), expected)


def step_of(parts, ws, **options):
    @mg.function(**options)
    def step(x):
        y = in_parts(x, ws, parts).sum()
        y.backward()
        return y

    return step


def test_peak_bytes_of_a_compiled_step_follow_the_square_root():
    """One graph, forward and backward: sharing equal nodes would make one of what is computed twice."""
    peaks, expected = {}, None
    ws, x = weights(), batch()
    for parts in (0, 1, 2, 4, 8, 16):
        step = step_of(parts, ws)
        step(x)
        peaks[parts] = peak_bytes(optimised(step.graph)) / SIZE
        found = take_gradients(ws)
        expected = found if expected is None else expected
        assert same(found, expected)

    assert peaks[0] > 32
    assert peaks[4] < 13  # 4 inputs, and 2 for each of a part's 4 blocks
    assert peaks[2] > peaks[4] < peaks[16]


def test_the_workspace_of_the_program_is_smaller_too():
    ws, x = weights(), batch()
    sizes = []
    for parts in (0, 4):
        step = step_of(parts, ws)
        step(x)
        sizes.append(step.latest.run.latest.program.plan.size)
        take_gradients(ws)

    assert sizes[1] < sizes[0] / 2.5


def test_what_is_used_inside_and_outside_adds_its_gradients_in_the_same_order():
    """Sums of gradients are rounded: w and x are each used in both parts, and after them."""
    (w,), x = weights(1), mg.tensor(np.random.default_rng(2).normal(size=(ROWS, WIDTH)), requires_grad=True)

    def net(x, call):
        y = call(lambda x: (x @ w).tanh() @ w + x * x, x)
        z = call(lambda y: (y @ w).sin() * x + y, y)
        return (z @ w + x + y).sum()

    expected = pulled(net(x, lambda f, x: f(x)), [w, x])
    assert same(pulled(mg.function(lambda x: net(x, checkpoint))(x), [w, x]), expected)


def test_parts_inside_parts_keep_what_the_outer_is_given():
    ws, x = weights(), batch()

    def outer(x, ws):
        return in_parts(x, ws, 4)

    def net(x):
        for i in (0, 8):
            x = checkpoint(outer, x, ws[i : i + 8])
        return x.sum()

    expected = pulled(mg.function(lambda x: chain(x, ws).sum())(x), ws)
    bytes_kept, y = kept(mg.function(net), x)

    assert bytes_kept == SIZE
    assert same(pulled(y, ws), expected)

    @mg.function
    def step(x):
        net(x).backward()

    step(x)
    assert same([w.grad.numpy() for w in ws], expected)
    assert peak_bytes(optimised(step.graph)) < 12 * SIZE


@pytest.mark.parametrize("with_step", [False, True])
def test_random_numbers_are_those_of_the_first_time(with_step):
    x = mg.tensor(np.ones((ROWS, WIDTH)), requires_grad=True)

    def drop(x):
        return mg.nn.functional.dropout(x * 1, 0.5)

    if with_step:
        f = mg.function(lambda x: mg.autograd.grad((y := checkpoint(drop, x)).sum(), x)[0] * 1 - y)
        assert not f(x).numpy().any()
    else:
        y = mg.function(lambda x: checkpoint(drop, x))(x)
        y.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
        assert 0 < (y.numpy() == 0).mean() < 1


def test_what_prints_prints_once(capsys):
    x = mg.tensor([1.0, 2.0], requires_grad=True)

    def said(x):
        y = x.sin()
        mg.print(y.sum())
        return y.exp()

    y = mg.function(lambda x: checkpoint(said, x).sum())(x)
    y.backward()
    assert len(capsys.readouterr().out.splitlines()) == 1
    np.testing.assert_array_equal(x.grad.numpy(), mg.grad(x.sin().exp().sum(), x)[0].numpy())


def test_running_statistics_move_once_in_every_form():
    """PyTorch moves them a second time when backward comes by: docs/differences.md."""
    data = np.random.default_rng(3).normal(size=(6, 3))
    said = []
    for form in ("plain", "eager", "traced"):
        norm = mg.nn.BatchNorm1d(3)
        x = mg.tensor(data, requires_grad=True)
        part = norm if form == "plain" else lambda x, norm=norm: checkpoint(norm, x)
        f = mg.function(part) if form == "traced" else part
        (f(x) ** 3).sum().backward()
        said.append([t.numpy().copy() for t in (norm.running_mean, norm.running_var, norm.num_batches_tracked, x.grad)])

    np.testing.assert_array_equal(said[0][2], 1)
    for other in said[1:]:
        assert_all_close(other, said[0], rtol=1e-12)


CONTROL = {
    "a branch": lambda x: mg.cond(x.sum() > 0, lambda: x.sin() * x, x.exp),
    "a loop": lambda x: mg.lax.fori_loop(0, 3, lambda i, y: (y * x).sin(), x),
    "a function of one's own": lambda x: cube(x.sin()) * x,
    "a gradient inside": lambda x: mg.func.grad(lambda x: (x**3).sum())(x) * x,
    "an edit of its own": lambda x: (x * 1).mul_(x.sin()).exp_(),
    "no argument used": lambda x: mg.tensor([2.0, 3.0, 4.0]).exp(), "its argument": lambda x: x,
    "two results": lambda x: sum(checkpoint(lambda x: (x.sin(), x * x), x)),
}  # fmt: skip


@mg.custom_vjp
def cube(x):
    return x**3


cube.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x * x * g,))


@table("case", CONTROL)
def test_parts_of_every_kind_give_their_gradients(case):
    f, x = CONTROL[case], mg.tensor([0.3, -0.7, 1.1], requires_grad=True)

    def loss(x):
        return (f(x * 2) ** 2 + x).sum()

    def again(x):
        return (checkpoint(f, x * 2) ** 2 + x).sum()

    expected = mg.grad(loss(x), x)[0].numpy()
    np.testing.assert_allclose(mg.grad(mg.function(again)(x), x)[0].numpy(), expected, rtol=1e-14)
    inside = mg.function(lambda x: mg.autograd.grad(again(x), x)[0])
    np.testing.assert_allclose(inside(x).numpy(), expected, rtol=1e-14)


def test_a_gradient_inside_a_part_reads_what_is_there():
    f = mg.function(lambda x: checkpoint(lambda x: mg.func.grad(lambda x: (x.exp() ** 2).sum())(x) * x, x))
    f(mg.tensor([1.0, 2.0]))
    assert not any(isinstance(node.op, mg.ops.Barrier) for node in f.graph.nodes)


def test_second_derivatives_and_forward_mode_pass_through():
    x, dx = mg.tensor([0.3, -0.7]), mg.tensor([1.0, 2.0])

    def f(x):
        return checkpoint(lambda x: x.sin().exp() * x, x).sum()

    def plain(x):
        return (x.sin().exp() * x).sum()

    forms = {
        "hessian": lambda f: mg.func.hessian(f)(x),
        "jvp of grad": lambda f: mg.func.jvp(mg.func.grad(f), (x,), (dx,))[1],
        "grad of grad": lambda f: mg.func.grad(lambda x: (mg.func.grad(f)(x) ** 2).sum())(x),
        "vmap of grad": lambda f: mg.func.vmap(mg.func.grad(f))(mg.stack([x, dx])),
        "grad of vmap": lambda f: mg.func.grad(lambda z: mg.func.vmap(f)(z).sum())(mg.stack([x, dx])),
    }
    for name, form in forms.items():
        expected = form(plain).numpy()
        np.testing.assert_allclose(form(f).numpy(), expected, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(mg.function(lambda f=f, form=form: form(f))().numpy(), expected, rtol=1e-12)
    y = mg.tensor([0.3, -0.7], requires_grad=True)
    (gx,) = mg.grad(mg.function(f)(y), y, create_graph=True)
    expected = mg.func.grad(lambda x: (mg.func.grad(plain)(x) ** 2).sum())(x)
    np.testing.assert_allclose(mg.grad((gx**2).sum(), y)[0].numpy(), expected.numpy(), rtol=1e-12)


def test_a_graph_of_a_session_computes_the_part_again():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder(mg.float64, (ROWS, WIDTH), name="x")
        w = mg.Variable(weights(1)[0].numpy(), name="w")
        y = x
        for _ in range(4):
            y = checkpoint(lambda y: chain(y, [w] * 4), y)
        (gw,) = mg.gradients(y.sum(), [w])
        z = x
        for _ in range(4):
            z = chain(z, [w] * 4)
        (plain,) = mg.gradients(z.sum(), [w])
    with mg.Session(graph) as session:
        session.run(mg.global_variables_initializer())
        found, expected = (session.run(g, {x: batch().numpy()}) for g in (gw, plain))

    np.testing.assert_array_equal(found, expected)
    kept, everything = (peak_bytes(optimised(prune_graph(graph, [g.node], [x.node]).graph)) for g in (gw, plain))
    assert kept < everything / 2


# -- selective -------------------------------------------------------------------------------------


def contexts(policy=keep_products):
    return lambda: create_selective_checkpoint_contexts(policy)


def test_products_are_kept_and_the_rest_is_computed_again():
    ws, x = weights(4), batch()
    expected = pulled(mg.function(lambda x: chain(x, ws).sum())(x), ws)
    for policy in (keep_products, [mg.ops.MatMul]):
        f = mg.function(lambda x, policy=policy: checkpoint(chain, x, ws, context_fn=contexts(policy)).sum())
        bytes_kept, y = kept(f, x)
        assert bytes_kept == 4 * SIZE  # x @ w of each block; without, tanh and the sum behind it
        assert same(pulled(y, ws), expected)


def test_a_context_of_ones_own_is_refused_while_a_graph_is_built():
    f = mg.function(lambda x: checkpoint(mg.sin, x, context_fn=lambda: (mg.no_grad(), mg.no_grad())))
    with pytest.raises(ValueError, match="runs nothing a second time"):
        f(mg.tensor([1.0]))


def test_what_must_be_recomputed_is():
    x = mg.tensor(np.ones((ROWS, WIDTH)), requires_grad=True)
    told = []

    def policy(ctx, op, *specs):
        told.append((ctx.is_recompute, op.kind, len(specs)))
        return CheckpointPolicy.MUST_RECOMPUTE

    def net(x):
        return checkpoint(lambda x: (x.exp() + x).sin(), x, context_fn=contexts(policy)).sum()

    bytes_kept, _ = kept(mg.function(net), x)
    assert bytes_kept == 0
    assert told == [(False, "Exp", 1), (False, "Add", 2), (False, "Sin", 1)]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("policy", [None, keep_products])
def test_the_part_is_computed_again_in_the_precision_of_the_first_time(traced, policy):
    """Backward comes by when the block of autocast has ended."""
    rng = np.random.default_rng(0)
    w = mg.tensor(rng.normal(size=(8, 8)).astype(np.float32), requires_grad=True)
    x = mg.tensor(rng.normal(size=(16, 8)).astype(np.float32), requires_grad=True)
    options = {} if policy is None else {"context_fn": contexts(policy)}

    def loss(x, call):
        with mg.autocast("cpu", dtype=mg.bfloat16):
            return call(lambda x: ((x @ w).exp().softmax(-1) @ w).tanh(), x).float().sum()

    expected = pulled(loss(x, lambda f, x: f(x)), [w, x])

    def again(x):
        return loss(x, lambda f, x: checkpoint(f, x, **options))

    assert same(pulled(mg.function(again)(x) if traced else again(x), [w, x]), expected)
