"""TensorFlow's graphs and Keras models in drawings, counted by graph.get_operations()."""

import warnings

import pytest

from minigrad.course.widgets import GraphView

REASON = "TensorFlow is not installed: python -m pip install tensorflow-cpu adds these graphs"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tf = pytest.importorskip("tensorflow", reason=REASON)
    keras = pytest.importorskip("keras", reason=REASON)

from minigrad.draw.readers.tensorflow import listing_of  # noqa: E402  (it imports TensorFlow)


@pytest.fixture
def weights():
    return tf.Variable(tf.ones((3, 2)), name="weights")


@pytest.fixture
def f(weights):
    @tf.function
    def inner(x):
        return tf.nn.relu(x)

    @tf.function
    def f(x, n):
        i = 0
        while i < n:
            x = x * 2.0
            i += 1
        if tf.reduce_sum(x) > 3:
            x = inner(x)
        with tf.name_scope("head"):
            return x @ weights + 1.0

    return f.get_concrete_function(tf.TensorSpec((None, 3)), tf.TensorSpec((), tf.int32))


def ops_in(graph):
    """The ops of a graph, and those of all functions that each op calls, once for each call."""
    for op in graph.get_operations():
        yield op
        for key in ("cond", "body", "then_branch", "else_branch", "f"):
            if key in op.node_def.attr:
                yield from ops_in(graph._get_function(op.get_attr(key).name).graph)


def entries_with(listing, sign):
    return [entry for entry in listing.entries if entry.sign == sign]


def labels(entry):
    return [scope.label for scope in entry.path]


def test_every_op_is_shown_once_for_each_call(f):
    listing = listing_of(f, (), {})

    assert len(listing.entries) == len([*ops_in(f.graph)])
    assert listing.notes[0].startswith(f"TensorFlow: {len(f.graph.get_operations())} ops, and ")
    assert all(x < i for i, entry in enumerate(listing.entries) for x in entry.inputs)


def test_the_arrows_of_a_graph_without_functions_are_its_operands():
    @tf.function
    def g(x):
        return tf.split(x * x, 2, axis=1), tf.reduce_mean(x)

    graph = g.get_concrete_function(tf.TensorSpec((3, 4))).graph
    listing = listing_of(g, (tf.ones((3, 4)),), {})

    assert sum(len(entry.inputs) for entry in listing.entries) == sum(len(op.inputs) for op in graph.get_operations())
    assert entries_with(listing, "Split")[0].spec == "f32[3, 2] f32[3, 2]"
    assert entries_with(listing, "Split")[0].nbytes == 48


def test_loops_branches_calls_and_name_scopes_are_groups(f):
    listing = listing_of(f, (), {})
    (loop,) = entries_with(listing, "StatelessWhile")

    assert [(scope.label, scope.of) for scope in loop.path] == [("while", "loop")]
    assert [labels(entry) for entry in entries_with(listing, "Mul")] == [["while", "body"]]
    assert [labels(entry) for entry in entries_with(listing, "Less")] == [["while", "cond"]]
    assert [labels(entry) for entry in entries_with(listing, "Relu")] == [["cond", "then_branch", "PartitionedCall"]]
    assert [labels(entry) for entry in entries_with(listing, "MatMul")] == [["head"]]
    assert {listing.entries[x].sign for carry in entries_with(listing, "carry") for x in carry.inputs} == {""}
    assert "input → x" in GraphView(f).text


def test_variables_lengths_and_lines_are_known(f, weights):
    listing = listing_of(f, (), {})
    (variable,) = [entry for entry in listing.entries if entry.name == "weights"]
    (product,) = entries_with(listing, "MatMul")

    assert (variable.kind, variable.spec, variable.nbytes, variable.facts[-1]) == ("leaf", "f32[3, 2]", 24, "variable")
    assert variable.thing is weights
    assert (product.spec, product.nbytes) == ("f32[?, 2]", None)
    assert "in f: return x @ weights + 1.0" in product.line


def test_a_graphdef_shows_what_its_graph_shows(f):
    listing = listing_of(f.graph.as_graph_def(), (), {})

    assert sorted(e.sign for e in listing.entries) == sorted(e.sign for e in listing_of(f, (), {}).entries)
    assert [labels(entry) for entry in entries_with(listing, "Mul")] == [["while", "body"]]


def test_a_loop_of_tensorflow_1_says_what_its_next_turn_reads():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, (None, 3), name="x")
        enter = tf.raw_ops.Enter(data=x, frame_name="loop")
        merge, _ = tf.raw_ops.Merge(inputs=[enter, enter])
        again = tf.raw_ops.NextIteration(data=merge * 2.0)
        merge.op._update_input(1, again)
    (entry,) = entries_with(listing_of(graph.as_graph_def(), (), {}), "Merge")

    assert len(entry.inputs) == 1
    assert entry.facts[-1] == "at the next turn: NextIteration"


def test_keras_layers_are_groups_by_their_own_names():
    x = keras.Input((4,))
    twice = keras.layers.Dense(4, name="twice")
    model = keras.Model(x, twice(twice(keras.layers.Dense(4, name="once")(x))))
    listing = listing_of(model, (), {})

    assert [[(scope.label, scope.of) for scope in entry.path] for entry in entries_with(listing, "MatMul")] == [
        [("once", "Dense")], [("twice", "Dense")], [("twice", "Dense")],
    ]  # fmt: skip
    first, second = entries_with(listing, "MatMul")[1:]
    assert first.path != second.path, "two calls are two groups"
    assert listing.output == f"a call of {model.name}"


def test_a_keras_model_is_not_changed_by_being_looked_at():
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activity_regularizer="l2"), keras.layers.Dropout(0.5)]
    )
    model(tf.ones((2, 3)))
    before, losses = [w.numpy() for w in model.weights], [float(loss) for loss in model.losses]
    listing_of(model, (tf.ones((2, 3)),), {})

    assert all((a == b.numpy()).all() for a, b in zip(before, model.weights))
    assert [float(loss) for loss in model.losses] == losses


def test_what_has_no_graph_says_how_to_get_one():
    dense = keras.Sequential([keras.layers.Dense(3)], name="small")
    for x, message in (
        (tf.ones(3), r"EagerTensor has no graph: .* GraphView\(f, x\)"),
        (tf.function(lambda x: x), r"a graph for each type of arguments: GraphView\(f, x\)"),
        (dense, "the model small has no weights yet: call it once"),
    ):
        with pytest.raises(TypeError, match=message):
            listing_of(x, (), {})
