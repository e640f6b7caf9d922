"""JAX's graphs, against JAX's own walk of them: its equations, their operands, the instructions of XLA."""

import re
from collections import Counter
from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import GraphView
from minigrad.draw import nested

jax = pytest.importorskip("jax", reason="JAX is not installed: python -m pip install jax==0.10.2 adds these tests")
jnp, lax = jax.numpy, jax.lax
jaxprs_in_params = pytest.importorskip("jax.extend.core").jaxprs_in_params

W, x, X = jnp.arange(9.0).reshape(3, 3) / 9, jnp.ones(3), jnp.ones((2, 3))
PARAMS = {"Dense_0": {"kernel": jnp.ones((3, 4)), "bias": jnp.zeros(4)}, "Dense_1": {"kernel": jnp.ones((4, 2))}}


def mlp(params, x, train=False):
    h = jnp.tanh(x @ params["Dense_0"]["kernel"] + params["Dense_0"]["bias"])
    if train:
        h = h * 2
    return (h @ params["Dense_1"]["kernel"]).sum()


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * jnp.cos(x),))


@jax.jit
def inner(x):
    return jnp.tanh(x @ W) + 1


@jax.jit
def outer(x):
    return inner(inner(x)).sum()


def layers(x, count):
    for _ in range(count):
        x = jnp.tanh(x @ W)
    return x


def scan(x):
    return lax.scan(lambda c, row: (jnp.sin(c * row) @ W, c.sum()), x, jnp.ones((100, 3)))


def loop(x):
    return lax.while_loop(lambda c: c[0].sum() < 10, lambda c: (c[0] * W[0, 1] + 1, c[1] + 1), (x, 0))


def branch(x):
    return lax.cond(x.sum() > 0, lambda x: x @ W, lambda x: x - 1, x)


FUNCTIONS = {
    "mlp": (mlp, PARAMS, X),
    "gradient of mlp": (jax.grad(mlp), PARAMS, X),
    "scan": (scan, x),
    "gradient of scan": (jax.grad(lambda x: scan(x)[0].sum()), x),
    "while": (loop, x),
    "cond": (branch, x),
    "switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), jnp.array(1), x),
    "gradient of cond": (jax.grad(lambda x: branch(x).sum()), x),
    "jit in jit": (outer, X),
    "custom_vjp": (sine, x),
    "gradient of custom_vjp": (jax.grad(lambda x: sine(x).sum()), x),
    "custom_jvp": (jax.nn.relu, x),
    "vmap of grad": (jax.vmap(jax.grad(lambda x: jnp.tanh(x @ W).sum())), X),
    "checkpoint": (jax.value_and_grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), x),
    "scatter": (jax.grad(lambda x: (x[jnp.array([0, 1, 1])] ** 2).sum()), x),
    "reduce": (lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + a, (0,)), X),
    "random": (lambda key: jax.random.normal(key, (3,)), jax.random.key(0)),
    "print": (lambda x: (jax.debug.print("{x}", x=x), x * 2)[1], x),
    "hessian": (jax.hessian(lambda x: jnp.tanh(x @ W @ x)), x),
}  # fmt: skip


def equations(jaxpr):
    inner = [eqn for outer in jaxpr.eqns for part in jaxprs_in_params(outer.params) for eqn in equations(part)]
    return [*jaxpr.eqns, *inner]


def entries(view):
    return view.overview.listing.entries


def nodes(view):
    """The nodes that stand for equations: a carry and a row are what a loop's body is called with."""
    return [entry for entry in entries(view) if entry.kind == "op" and entry.sign not in ("carry", "row")]


def calls(view):
    """The equations that are only groups."""
    return [group.thing for group in view.groups if group.kind == "module" and hasattr(group.thing, "primitive")]


def labels(view):
    return [(group.label, group.of) for group in view.groups]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_equation_is_a_node_or_a_group(name):
    f, *args = FUNCTIONS[name]
    own = equations(jax.make_jaxpr(getattr(f, "__wrapped__", f) if f is outer else f)(*args).jaxpr)
    view = GraphView(f, *args)
    signs = [re.sub(r"\^\d", "integer_pow", entry.sign) for entry in nodes(view)]

    assert Counter(eqn.primitive.name for eqn in own) == Counter(signs + [eqn.primitive.name for eqn in calls(view)])
    assert all(i < n for n, entry in enumerate(entries(view)) for i in entry.inputs), "operands go before their users"


@pytest.mark.parametrize("name", ["mlp", "gradient of mlp", "jit in jit", "custom_jvp", "vmap of grad", "hessian"])
def test_without_loops_and_branches_every_operand_is_an_edge(name):
    f, *args = FUNCTIONS[name]
    view = GraphView(f, *args)
    own = [entry.thing for entry in nodes(view)]

    assert [len(entry.inputs) for entry in nodes(view)] == [len(eqn.invars) for eqn in own]
    assert [entry.nbytes for entry in nodes(view)] == [
        sum(y.aval.size * y.aval.dtype.itemsize for y in eqn.outvars) for eqn in own
    ]


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_parameters_have_their_paths_as_names_and_ops_the_users_lines():
    view = GraphView(mlp, PARAMS, X)
    product = next(entry for entry in entries(view) if entry.sign == "dot_general")

    assert [entries(view)[i].name for i in product.inputs] == ["x", "params.Dense_0.kernel"]
    assert (product.spec, product.nbytes) == ("f32[2, 4]", 32)
    assert "of test_jax.py, in mlp: h = jnp.tanh(x @ params" in product.line
    assert "dimension_numbers (((1,), (0,)), ((), ()))" in product.facts
    assert entries(view)[-1].headline == "reduce_sum → result, f32[]"


def test_a_power_shows_its_exponent():
    assert "x^3" in mg.draw(lambda x: x**3, x, names={}).text


def test_a_captured_array_is_a_constant_by_its_name():
    tables = {"w": jnp.ones(3)}
    for f, name in ((lambda x: x @ W, "W"), (lambda x: x * tables["w"], "tables.w")):
        (leaf,) = [entry for entry in entries(GraphView(f, x, names={})) if entry.facts and entry.kind == "leaf"]
        assert (leaf.name, leaf.facts) == (name, ("captured: a constant of the graph",))


def test_the_forward_and_the_backward_pass_of_a_gradient_are_groups():
    named = jax.named_scope("Dense")(lambda x: jnp.tanh(x @ W))
    view = GraphView(jax.vmap(jax.grad(lambda x: named(x).sum())), X)

    assert labels(view)[:2] == [("vmap(jvp)", "forward"), ("vmap(transpose(jvp))", "backward")]
    assert labels(view)[2:] == [("Dense", "name scope")] * 2


def test_a_scan_of_100_steps_is_one_group():
    view = GraphView(scan, x)
    (step,) = [entry for entry in entries(view) if entry.sign == "scan"]

    assert labels(view) == [("scan", "loop, 100 steps")]
    assert [entries(view)[i].sign for i in step.inputs] == ["dot_general", "reduce_sum"], "what its body returns"
    assert [x.headline for x in entries(view) if x.sign in ("carry", "row")] == ["carry, f32[3]", "row, f32[3]"]


def test_branches_and_loops_open_to_their_parts():
    choice, turns = GraphView(branch, x), GraphView(loop, x)
    read = {entry.sign: [entries(y)[i].sign for i in entry.inputs] for y in (choice, turns) for entry in entries(y)}

    assert labels(choice) == [("cond", "branch"), ("false", "if not"), ("true", "if it holds")]
    assert read["cond"] == ["convert_element_type", "sub", "dot_general"], "the index, and what each branch returns"
    assert read["while"] == ["lt", "add", "add"], "what its test and its body return"
    assert labels(turns) == [("while", "loop"), ("body", "at each turn"), ("test", "before each turn")]


def test_calls_are_groups_by_the_names_of_their_functions():
    assert labels(GraphView(outer, X)) == [("inner", "jit"), ("inner", "jit")]
    assert [entry.name for entry in entries(GraphView(outer, X)) if entry.kind == "leaf"] == ["x", "W"]
    assert labels(GraphView(sine, x)) == [("sine", "custom_vjp_call")]
    assert labels(GraphView(jax.nn.relu, x)) == [("relu", "custom_jvp_call"), ("relu", "jit")]
    assert ("add", "computation") in labels(GraphView(*FUNCTIONS["scatter"]))
    assert labels(GraphView(*FUNCTIONS["reduce"])) == [("<lambda>", "computation")]


def test_arguments_that_are_no_arrays_stay_what_they_are():
    assert len(nodes(GraphView(mlp, PARAMS, X, True))) == len(nodes(GraphView(mlp, PARAMS, X))) + 1
    for view in (
        GraphView(layers, x, 3), GraphView(partial(layers, count=3), x),
        GraphView(jax.jit(layers, static_argnums=1), x, 3), GraphView(jax.jit(partial(layers, count=3)), x),
    ):  # fmt: skip
        assert [entry.sign for entry in nodes(view)] == ["dot_general", "tanh"] * 3


def test_arguments_may_be_numbers_or_numpys_arrays():
    f = jax.grad(lambda x: jnp.sum(x * x))
    for view in (GraphView(f, 3.0), GraphView(f, np.float32(3)), GraphView(partial(f, 3.0)), GraphView(lambda: f(3.0))):
        assert "mul" in [entry.sign for entry in nodes(view)]
    assert mg.draw(jax.jit(jnp.sin), 2.0).picture.outputs[0].name == "result"
    assert [entry.spec for entry in nodes(GraphView(jnp.reshape, x, (3, 1)))] == ["f32[3, 1]"]
    assert "np." not in GraphView(jax.hessian(lambda x: (x**3).sum()), x).text
    assert [entry.name for entry in entries(GraphView(partial(lambda x, w: x @ w, w=W), x, names={}))][:2] == ["x", "w"]


def test_a_jaxpr_and_a_stage_of_jit_are_shown_as_the_function_is():
    own = [entry.headline for entry in entries(GraphView(mlp, PARAMS, X))]
    jaxpr, traced = jax.make_jaxpr(mlp)(PARAMS, X), jax.jit(mlp).trace(PARAMS, X)

    assert [[entry.headline for entry in entries(GraphView(y))] for y in (jaxpr, jaxpr.jaxpr, traced)] == [own] * 3
    assert mg.draw(mlp, PARAMS, X).picture.outputs[0].name == "result"


def test_results_that_are_arguments_or_numbers_and_arguments_that_are_not_read_are_listed():
    found = entries(GraphView(lambda a, b, c: (a, 1.0, b * 2), x, x, x))

    assert [entry.headline for entry in found] == [
        "b, f32[3]", "2", "mul → result.2, f32[3]", "a, result.0, f32[3]", "c, f32[3]", "1",
    ]  # fmt: skip


def test_what_has_no_graph_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(nested, "MOST", 500)
    doubled = jax.jit(lambda x: x + 1)
    for _ in range(9):
        doubled = jax.jit(lambda x, f=doubled: f(f(x)))
    stable = doubled.lower(1.0).as_text()
    for error, words, given in (
        (TypeError, "a JAX array has no graph: draw the function that computes it", [x]),
        (TypeError, "outer has no graph until it is called: draw(f, x)", [outer]),
        (ValueError, 'expected what jax.jit(f).lower(x).as_text(dialect="hlo") returns', [stable]),
        (ValueError, "no ENTRY computation", ["HloModule empty"]),
        (ValueError, "more than 500 nodes", [doubled, x]),
    ):
        with pytest.raises(error, match=re.escape(words)):
            GraphView(*given)


def test_looking_compiles_nothing():
    f = jax.jit(lambda x: x * 2)
    GraphView(f, x)

    assert f._cache_size() == 0


# -- HLO --------------------------------------------------------------------------------------------------------------


CALLED = re.compile(r"(?:calls|to_apply|condition|body|branch_computations)=(\{[^}]*\}|[%\w.\-]+)")


def count(blocks, name, is_given=False):
    """The nodes of a computation and of all that it calls: a fusion and a call are none, nor are their parameters."""
    found = 0
    for line in blocks[name].splitlines():
        is_call = " fusion(" in line or " call(" in line
        found += not (is_call or (is_given and " parameter(" in line))
        for called in re.findall(r"[\w.\-]+", " ".join(CALLED.findall(line))):
            found += count(blocks, called, is_call or " while(" in line or " conditional(" in line)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_instruction_of_hlo_is_a_node_or_a_group(name):
    f, *args = FUNCTIONS[name]
    lowered = jax.jit(f).lower(*args)
    for text in (lowered.as_text(dialect="hlo"), lowered.compile().as_text()):
        blocks = dict(re.findall(r"^(?:ENTRY )?%?(\S+) (?:\([^\n]*)?\{\n(.*?)^\}", text, re.M | re.S))
        (main,) = re.findall(r"^ENTRY %?(\S+)", text, re.M)

        assert len([entry for entry in entries(GraphView(text)) if entry.sign != "carry"]) == count(blocks, main)


def test_a_compiled_function_shows_what_was_fused_from_which_line():
    compiled = jax.jit(mlp).lower(PARAMS, X).compile()
    view = GraphView(compiled)
    tanh = next(entry for entry in entries(view) if entry.sign == "tanh")

    assert "fusion" in [of for _, of in labels(view)]
    assert [scope.of for scope in tanh.path] == ["fusion"]
    assert (tanh.spec, tanh.nbytes) == ("f32[2, 4]", 32)
    assert "of test_jax.py, in mlp: h = jnp.tanh(x @ params" in tanh.line
    assert {"x", "params.Dense_0.bias"} <= {entry.name for entry in entries(view) if entry.kind == "leaf"}
    assert view.text == GraphView(compiled.as_text()).text


def test_a_loop_and_a_branch_of_hlo_open_to_their_parts():
    turns, choice = (GraphView(jax.jit(f).lower(x)) for f in (loop, branch))

    assert [of for _, of in labels(turns) if of != "computation"] == ["loop", "before each turn", "at each turn"]
    read = {entry.sign: [entries(y)[i].sign for i in entry.inputs] for y in (turns, choice) for entry in entries(y)}
    assert read["while"] == ["compare", "tuple"]
    assert read["conditional"] == ["convert", "subtract", "dot"]
