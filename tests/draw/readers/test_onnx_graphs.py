"""ONNX models in drawings. Counts are those of the protobufs, walked here on their own."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.course.widgets import GraphView
from minigrad.draw.readers.onnx import listing_of

onnx = pytest.importorskip("onnx", reason="ONNX is not installed: python -m pip install onnx adds these models")

MODEL = """
<ir_version: 8, opset_import: ["" : 18, "local" : 1], producer_name: "a test">
agraph (float[N, 4] x, float[4] w, int64 n, bool flag) => (float[N, 4] y, float[N, K] rows)
<float[1] half = {0.5}>
{
   h = local.gate <alpha = 0.25> (x, w)
   y = If (flag) <then_branch = yes () => (a) { a = Mul (h, half) },
                  else_branch = no () => (b) { t = Relu (h)
                                               b = Add (t, w) }>
   go = Constant <value = bool {1}> ()
   last, rows = Loop (n, go, x) <body = turn (int64 i, bool c, float[N, 4] s) => (c2, s2, row) {
      c2 = Identity (c)
      s2 = Mul (s, h)
      row = ReduceSum (s2) }>
}
<domain: "local", opset_import: ["" : 18]>
gate <alpha> (a, b) => (c) { m = LeakyRelu <alpha : float = @alpha> (a)
                             c = Add (m, b) }
"""


@pytest.fixture
def model():
    return onnx.parser.parse_model(MODEL)


def graphs_in(node):
    return [g for a in node.attribute for g in ([a.g] if a.HasField("g") else a.graphs)]


def count_nodes(graph):
    return sum(1 + sum(map(count_nodes, graphs_in(node))) for node in graph.node)


def entry_named(listing, name):
    return next(entry for entry in listing.entries if entry.name == name)


def labels(entry):
    return [scope.label for scope in entry.path]


def test_arrows_go_into_subgraphs_and_out_of_them(model):
    entries = listing_of(model, (), {}).entries
    reads = {entry.name: [entries[x].name or entries[x].value for x in entry.inputs] for entry in entries}

    assert (reads["y"], reads["last and rows"]) == (["flag", "a", "b"], ["c2", "s2", "row"])
    assert [reads[name] for name in ("i", "c", "s", "h", "s2")] == [["n"], ["true"], ["x"], ["c"], ["s", "h"]]
    assert [entry.name for entry in entries if "an output" in entry.facts] == ["y", "last and rows"]


def test_branches_loops_and_functions_are_groups(model):
    listing = listing_of(model, (), {})

    assert labels(entry_named(listing, "t")) == ["If", "else_branch"]
    assert labels(entry_named(listing, "row")) == ["Loop", "body"]
    assert labels(entry_named(listing, "m")) == ["gate"]
    shown = [f"{entry.sign} {entry.name}" for entry in listing.entries if entry.sign in ("carry", "input")]
    assert shown == ["input a", "input b", "carry i", "carry c", "carry s"]
    assert entry_named(listing, "m").facts == ("alpha = @alpha",)
    assert entry_named(listing, "h").facts == ("domain local", "alpha = 0.25")
    assert listing.output == "y and rows"
    assert listing.notes == ["ONNX, IR version 8, opset 18 of ai.onnx and 1 of local, made by a test."]


def test_shapes_are_inferred_and_unknown_lengths_keep_their_names(model):
    listing = listing_of(model, (), {})

    assert [entry_named(listing, name).spec for name in ("x", "h", "t")] == ["f32[N, 4]"] * 3
    assert (entry_named(listing, "half").nbytes, entry_named(listing, "half").value) == (4, "0.5")
    assert entry_named(listing, "x").nbytes is None
    assert not any(value.name == "h" for value in model.graph.value_info), "the model is not changed"


def test_every_node_of_onnxs_own_models_is_shown():
    data = Path(onnx.__file__).parent / "backend/test/data"
    files = sorted(data.glob("*/*.onnx")) + sorted(data.glob("*/*/model.onnx"))
    for file in files:
        entries, graph = listing_of(file, (), {}).entries, onnx.load(file).graph
        assert sum(isinstance(entry.thing, onnx.NodeProto) for entry in entries) == count_nodes(graph), file
        assert all(x < i for i, entry in enumerate(entries) for x in entry.inputs), file
        if not any(map(graphs_in, graph.node)):
            edges = sum(name != "" for node in graph.node for name in node.input)
            assert sum(len(entry.inputs) for entry in entries) == edges, file
    assert len(files) > 100


def test_an_export_of_minigrad_has_its_modules_parameters_and_lengths(tmp_path):
    net = mg.nn.Sequential(mg.nn.Linear(3, 2), mg.nn.Tanh())
    path = tmp_path / "net.onnx"
    mg.onnx.export(net, (mg.zeros((5, 3)),), path, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    listing = listing_of(path, (), {})

    assert (entry_named(listing, "x").spec, entry_named(listing, "0.weight").spec) == ("f64[batch, 3]", "f64[2, 3]")
    assert {label for entry in listing.entries if entry.path for label in labels(entry)} >= {"0", "1"}
    assert "0.weight" in GraphView(path).text
    assert mg.draw(str(path)).svg.startswith("<svg")


def test_external_data_is_never_read(model, tmp_path):
    big = onnx.numpy_helper.from_array(np.ones((64, 64), "f4"), "big")
    model.graph.initializer.append(big)
    onnx.save(model, tmp_path / "big.onnx", save_as_external_data=True, location="weights", size_threshold=100)
    (tmp_path / "weights").unlink()
    found = entry_named(listing_of(tmp_path / "big.onnx", (), {}), "big")

    assert (found.spec, found.nbytes) == ("f32[64, 64]", 64 * 64 * 4)
    assert found.facts == ("initialiser", "stored in weights, not loaded")


def test_a_node_of_two_outputs_is_an_output_once():
    model = onnx.parser.parse_graph(
        "agraph (float[4] x) => (float[2] a, float[2] b) { a, b = Split <num_outputs = 2> (x) }"
    )
    (_, split) = listing_of(model, (), {}).entries

    assert split.facts.count("an output") == 1


def test_torchs_modules_and_lines_are_read_from_what_it_leaves_with_a_node(model):
    node = model.graph.node[0]
    node.metadata_props.add(key="namespace", value=": my.Net/blocks.0: my.Block/add: aten.add")
    trace = (
        'File "my.py", line 7, in forward\n    return self.gate(x)\n  File "/site-packages/torch/x.py", line 1, in f'
    )
    node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    found = entry_named(listing_of(model, (), {}), "h")

    assert [(scope.label, scope.of) for scope in found.path] == [("blocks.0", "Block"), ("gate", "function")]
    assert found.line == "line 7 of my.py, in forward: return self.gate(x)"


def test_damaged_files_and_wrong_objects_are_refused_by_name(model, tmp_path):
    whole = model.SerializeToString()
    for content in (b"", whole[:-40], b"no model at all"):
        (tmp_path / "bad.onnx").write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.onnx .*a part of it is missing"):
            listing_of(tmp_path / "bad.onnx", (), {})
    with pytest.raises(TypeError, match=r"expected an ONNX ModelProto .* got NodeProto"):
        listing_of(model.graph.node[0], (), {})
    with pytest.raises(TypeError, match="takes no example arguments"):
        listing_of(model, (1,), {})
    model.graph.node[0].input[0] = "nowhere"
    with pytest.raises(ValueError, match="gate → h reads 'nowhere'"):
        listing_of(model, (), {})
    model.graph.node[0].input[0] = "x"
    model.functions[0].node[0].op_type, model.functions[0].node[0].domain = "gate", "local"
    with pytest.raises(ValueError, match=r"local\.gate calls itself"):
        listing_of(model, (), {})
