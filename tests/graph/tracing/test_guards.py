"""What a trace was decided by is looked at before each run; where it has changed, the function is traced anew."""

import copy
from types import SimpleNamespace

import pytest

import minigrad as mg
from minigrad.engine.base.errors import BoundsError, GraphError, NoValueError, ShapeError


def learning(*values):
    return [mg.tensor(value, requires_grad=True) for value in values]


def test_a_parameter_that_is_frozen_after_the_first_step_stays_where_it_is():
    w, v = learning(1.0, 1.0)
    optimizer = mg.optim.SGD([w, v], lr=0.1)

    @mg.function
    def step():
        optimizer.zero_grad()
        (w * v).square().backward()
        optimizer.step()

    step()
    v.requires_grad_(False)
    v.grad = None
    before = v.item()
    step()

    assert (v.item(), step.trace_count) == (before, 2)
    assert "v required a gradient, and no longer does" in step.explain()
    step()
    assert step.trace_count == 2


def test_gradients_applied_in_a_trace_leave_the_parameter_a_leaf():
    (w,) = learning([1.0, 1.0])
    optimizer = mg.optim.SGD([w], lr=0.1)

    @mg.function
    def step():
        with mg.GradientTape() as tape:
            loss = w.square().sum()
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))

    step()

    assert w.is_leaf
    assert w.requires_grad
    assert w.tolist() == [0.8, 0.8]


def test_an_index_out_of_bounds_is_one_in_a_compiled_run_too():
    f = mg.function(lambda x, i: x[i])

    assert f(mg.arange(3), mg.tensor(1)).item() == 1
    with pytest.raises(BoundsError, match="index 7 is out of bounds"):
        f(mg.arange(3), mg.tensor(7))


def test_a_variable_of_a_session_is_refused_with_what_a_trace_takes():
    with mg.Graph().as_default():
        v = mg.Variable(1.0)
    with pytest.raises(GraphError, match="a Variable and a placeholder have theirs in a session"):
        mg.function(lambda x: x * v)(mg.ones(3))


@pytest.mark.parametrize("f", [lambda x: x if x > 0 else -x, lambda x: [x for _ in range(x)]], ids=["if", "range"])
def test_python_that_would_need_a_value_is_told_the_op_to_take(f):
    with pytest.raises(NoValueError, match=r"take mg\.cond or where"):
        mg.jit(f)(mg.tensor(1))


def test_a_backward_rule_of_a_wrong_shape_is_named():
    @mg.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, gy: (mg.ones(3),))
    (x,) = learning(2.0)

    with pytest.raises(ShapeError, match=r"bwd of square returned a gradient of shape \(3,\) for .* of shape \(\)"):
        mg.function(square)(x).backward()


OPTIMIZERS = [mg.optim.Adam, mg.optim.AdamW, mg.optim.NAdam, mg.optim.RAdam, mg.optim.Adamax, mg.optim.Adagrad]


def trained(optimizer_class, traced, between):
    """The parameters after steps between which something happens to the second of them."""
    w, v = learning([1.0, 2.0], [3.0, -1.0])
    optimizer = optimizer_class([w, v], lr=0.1)

    def step():
        optimizer.zero_grad()
        ((w * v).square().sum() + (w + v).sum()).backward()
        optimizer.step()

    run = mg.function(step) if traced else step
    for doing in between:
        run()
        doing(optimizer, w, v)
        run()
    return [w.tolist(), v.tolist()], run


def freeze(optimizer, w, v):
    v.requires_grad_(False)
    v.grad = None


def unfreeze(optimizer, w, v):
    v.requires_grad_(True)


def one_step_alone(optimizer, w, v):
    optimizer.zero_grad()
    w.square().sum().backward()
    optimizer.step()


def another_run(optimizer, w, v):
    fresh = [mg.tensor(p.numpy(), requires_grad=True) for p in (w, v)]
    optimizer.load_state_dict(type(optimizer)(fresh, lr=0.1).state_dict())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "between",
    [[freeze, unfreeze], [freeze, unfreeze, freeze, unfreeze], [one_step_alone] * 3, [another_run, one_step_alone]],
    ids=["frozen and not", "twice", "by run, in part", "a state that was loaded"],
)
def test_parameters_that_fell_out_of_step_are_counted_apart_from_then_on(optimizer, between):
    """It was an error, which said to trace anew: what was traced with one count for both was run without looking."""
    by_run, _ = trained(optimizer, False, between)
    as_graph, step = trained(optimizer, True, between)

    assert by_run == as_graph
    if between[0] is one_step_alone:
        assert step.trace_count == 2
        assert "the same number of steps with an optimiser no longer have" in step.explain()


def doubled():
    return mg.nn.Tanh(), SimpleNamespace(factor=2.0)


# what a variable holds, and how that changes
HELD = {
    "an empty list, another list": ([], lambda held: setattr(held, "x", [doubled()])),
    "an empty tuple, another tuple": ((), lambda held: setattr(held, "x", (doubled(),))),
    "an empty dictionary, another": ({}, lambda held: setattr(held, "x", {0: doubled()})),
    "None, a list": (None, lambda held: setattr(held, "x", [doubled()])),
    "a list, a pair is appended": ([doubled()], lambda held: held.x.append(doubled())),
    "an empty list, a pair is appended": ([], lambda held: held.x.append(doubled())),
    "a dictionary of pairs grows": ({0: doubled()}, lambda held: held.x.update({1: doubled()})),
    "the number of a pair": ([doubled()], lambda held: setattr(held.x[0][1], "factor", 3.0)),
}


@pytest.mark.parametrize("where", ["closure", "attribute"])
@pytest.mark.parametrize("name", HELD)
def test_a_container_holds_other_layers_after_the_trace(name, where):
    """What had led to no layer while tracing, or led to one through a second container, went unseen."""
    start, change = HELD[name]
    held = SimpleNamespace(x=copy.deepcopy(start))
    pairs = held.x

    def f(x):
        its = pairs if where == "closure" else held.x
        for layer, scale in its.values() if isinstance(its, dict) else its or ():
            x = layer(x) * scale.factor
        return x

    traced, x = mg.function(f, autograph=False), mg.tensor([1.0, 2.0])
    before = f(x).tolist()
    assert traced(x).tolist() == traced(x).tolist() == before
    change(held)
    pairs = held.x
    assert f(x).tolist() != before
    assert traced(x).tolist() == traced(x).tolist() == f(x).tolist()
    assert traced.trace_count == 2


def test_a_list_to_which_a_function_only_appends_is_no_reason_to_trace_again():
    seen = []

    @mg.function
    def f(net, x):
        seen.append((net, x))
        seen.append(net)
        return net(x)

    nets = mg.nn.Linear(2, 2), mg.nn.Linear(2, 2)
    for net in nets * 3:
        f(net, mg.ones(1, 2))
    assert f.trace_count == 2
