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

WEIGHTS = tf.Variable(tf.ones((3, 2)), name="weights")


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
        return x @ WEIGHTS + 1.0


TRACE = f.get_concrete_function(tf.TensorSpec((None, 3)), tf.TensorSpec((), tf.int32))


def ops_in(graph):
    """The ops of a graph, and those of all functions that each op calls, once for each call."""
    for op in graph.get_operations():
        yield op
        for key in ("cond", "body", "then_branch", "else_branch", "f"):
            if key in op.node_def.attr:
                yield from ops_in(graph._get_function(op.get_attr(key).name).graph)


def entries_with(listing, sign):
    return [entry for entry in listing.entries if entry.sign == sign]


def scopes(listing, sign):
    return [[(scope.label, scope.of) for scope in entry.path] for entry in entries_with(listing, sign)]


def test_every_op_is_shown_once_for_each_call():
    listing = listing_of(TRACE, (), {})
    outer, total = len(TRACE.graph.get_operations()), len([*ops_in(TRACE.graph)])

    assert len(listing.entries) == total
    assert listing.notes == [f"TensorFlow: {outer} ops, and {total - outer} in the functions that they call."]
    assert all(x < i for i, entry in enumerate(listing.entries) for x in entry.inputs)


def test_the_arrows_of_a_graph_without_functions_are_its_operands():
    def split(x):
        return tf.split(x * x, 2, axis=1), tf.reduce_mean(x)

    ops = tf.function(split).get_concrete_function(tf.TensorSpec((3, 4))).graph.get_operations()
    listing = listing_of(split, (tf.ones((3, 4)),), {})
    (entry,) = entries_with(listing, "Split")

    assert sum(len(each.inputs) for each in listing.entries) == sum(len(op.inputs) for op in ops)
    assert (entry.spec, entry.nbytes, entry.facts[1]) == ("f32[3, 2] f32[3, 2]", 48, "num_split = 2")


def test_loops_branches_calls_and_name_scopes_are_groups():
    listing = listing_of(TRACE, (), {})
    loop, branch = [("while", "loop")], [("cond", "branch"), ("then_branch", "if it holds")]

    assert scopes(listing, "StatelessWhile") == [loop]
    assert scopes(listing, "Less") == [[*loop, ("cond", "before each turn")]]
    assert scopes(listing, "Mul") == [[*loop, ("body", "at each turn")]]
    assert scopes(listing, "Relu") == [[*branch, ("PartitionedCall", "call")]]
    assert scopes(listing, "MatMul") == scopes(listing, "ReadVariableOp") == [[("head", "name scope")]]
    assert {scope[0] for scope in scopes(listing, "carry")} == {loop[0]}
    labels = [scope.label for entry in listing.entries for scope in entry.path or ()]
    assert labels.index("then_branch") < labels.index("else_branch"), "as they are in the code"
    assert "input → x" in GraphView(TRACE).text


def test_variables_lengths_and_lines_are_known():
    listing = listing_of(TRACE, (), {})
    (variable,) = [entry for entry in listing.entries if entry.name == "weights"]
    (product,) = entries_with(listing, "MatMul")

    assert (variable.kind, variable.spec, variable.nbytes, variable.facts[-1]) == ("leaf", "f32[3, 2]", 24, "variable")
    assert variable.thing is WEIGHTS
    assert (product.spec, product.nbytes) == ("f32[?, 2]", None)
    assert "in f: return x @ WEIGHTS + 1.0" in product.line


def test_a_graphdef_shows_what_its_graph_shows():
    listing, whole = (listing_of(x, (), {}) for x in (TRACE.graph.as_graph_def(), TRACE))

    assert sorted(entry.sign for entry in listing.entries) == sorted(entry.sign for entry in whole.entries)
    assert scopes(listing, "Mul") == scopes(whole, "Mul")


def test_a_loop_of_tensorflow_1_says_what_its_next_turn_reads():
    with tf.Graph().as_default() as graph:
        enter = tf.raw_ops.Enter(data=tf.compat.v1.placeholder(tf.float32, (None, 3)), frame_name="loop")
        merge, _ = tf.raw_ops.Merge(inputs=[enter, enter])
        merge.op._update_input(1, tf.raw_ops.NextIteration(data=merge * 2.0))
    (entry,) = entries_with(listing_of(graph.as_graph_def(), (), {}), "Merge")

    assert len(entry.inputs) == 1
    assert entry.facts[-1] == "at the next turn: NextIteration"


def test_the_body_of_a_loop_over_a_dataset_is_shown():
    @tf.function
    def total(n):
        s = tf.constant(0, tf.int64)
        for i in tf.data.Dataset.range(n):
            s = s + i * i
        return s

    listing = listing_of(total, (tf.constant(3, tf.int64),), {})
    (scan,) = entries_with(listing, "ScanDataset")

    assert [path[:1] for path in scopes(listing, "Mul")] == [[("ScanDataset", "function")]]
    assert {"RangeDataset", "Identity"} <= {listing.entries[x].sign for x in scan.inputs}


def test_a_gradient_of_a_loop_is_shown_though_it_adds_operands_to_the_loop_afterwards():
    gradient = tf.function(lambda x: tf.gradients(tf.reduce_sum(f(x, tf.constant(3))), x))
    graph = gradient.get_concrete_function(tf.ones((2, 3))).graph
    listing = listing_of(graph, (), {})

    assert len(listing.entries) == len([*ops_in(graph)])
    assert all(x < i for i, entry in enumerate(listing.entries) for x in entry.inputs)


def test_keras_layers_are_groups_by_their_own_names():
    x, once, twice = keras.Input((4,)), keras.layers.Dense(4, name="once"), keras.layers.Dense(4, name="twice")
    model = keras.Model(x, twice(twice(once(x))), name="three")
    listing = listing_of(model, (), {})
    _, first, second = (entry.path for entry in entries_with(listing, "MatMul"))

    assert scopes(listing, "MatMul") == [[("once", "Dense")], [("twice", "Dense")], [("twice", "Dense")]]
    assert first != second, "two calls are two groups"
    assert listing.output == "a call of three"


def test_a_keras_model_is_not_changed_by_being_looked_at():
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activity_regularizer="l2"), keras.layers.Dropout(0.5)]
    )
    model(tf.ones((2, 3)))
    before, losses = [v.numpy() for v in model.variables], [float(loss) for loss in model.losses]
    listing_of(model, (tf.ones((2, 3)),), {})

    assert all((a == b.numpy()).all() for a, b in zip(before, model.variables))
    assert [float(loss) for loss in model.losses] == losses


def test_what_has_no_graph_says_how_to_get_one():
    dense = keras.Sequential([keras.layers.Dense(3)], name="small")
    for x, message in (
        (tf.ones(3), r"EagerTensor has no graph: .* GraphView\(f, x\)"),
        (tf.function(lambda x: x), r"a graph for each type of arguments: GraphView\(f, x\)"),
        (dense, r"small has no weights yet: call it once, model\(x\), or build it, model.build\(\(None, …\)\)"),
    ):
        with pytest.raises(TypeError, match=message):
            listing_of(x, (), {})
