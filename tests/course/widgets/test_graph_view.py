"""Graphs in groups: what the view holds is what the engine recorded, and what is picked is the learner's own object."""

import gc
import re
from weakref import ref

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.course.widgets import GraphView
from minigrad.course.widgets.graph_view import groups_in, rows
from minigrad.draw.hierarchy import NodeGroup, hierarchy
from minigrad.draw.listing import Entry, Listing
from minigrad.draw.overview import Overview
from minigrad.draw.rows import cut_into_rows
from minigrad.engine.core.node import history, toposort
from tests.support.peak_memory import peak_bytes
from tests.support.table import table

X = mg.ones(5, 4)


def tower(blocks=6):
    """Equal blocks, and a layer that is another."""
    block = [nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)) for _ in range(blocks)]
    return nn.Sequential(*block, nn.Linear(4, 1)).double()


def item(view, **wanted):
    """The number of the first item that has these."""
    return next(i for i, row in enumerate(view.items) if wanted.items() <= row.items())


def around(view, i):
    """The names of the groups around an item, the innermost first."""
    names = []
    while view.items[i]["in"] >= 0:
        i = view.items[i]["in"]
        names.append(" ".join(filter(None, (view.items[i].get("sign"), view.items[i]["name"]))))
    return names


def pairs(view):
    return list(zip(view.arrows[::2], view.arrows[1::2], strict=True))


# -- what is in it ------------------------------------------------------------------------------------------


def test_it_has_every_recorded_node_and_every_use_of_one():
    y = tower()(X)
    view = GraphView(y)
    order = toposort(y.node)

    assert len([row for row in view.items if "ops" not in row]) == len(order)
    assert len(pairs(view)) == sum(len(node.inputs) for node in order)
    assert all(tail < head for tail, head in pairs(view))
    for i, entry in enumerate(view.overview.listing.entries):
        node = entry.thing.node if isinstance(entry.thing, mg.Tensor) else entry.thing
        assert (view.items[i]["spec"], view.items[i]["bytes"]) == (str(node.spec), node.spec.nbytes)


def test_what_is_saved_for_backward_is_what_the_engine_kept():
    a, b = mg.tensor([2.0, 3.0], requires_grad=True), mg.tensor([5.0, 7.0], requires_grad=True)
    view = GraphView((a * b + a).sum())

    kept = {row.get("name") for row in view.items if row.get("kept")}
    assert kept == {"a", "b"}  # a product reads both; a sum of two, and a sum of all, read nothing


def test_a_freed_graph_says_so_and_keeps_nothing():
    a = mg.tensor([2.0, 3.0], requires_grad=True)
    y = (a * a).sum()
    y.backward()
    view = GraphView(y)

    assert "has freed what it had saved" in view.notes[0]
    assert not any(row.get("kept") for row in view.items)


def test_values_that_are_no_numbers_are_shown_and_counted():
    a = mg.tensor([1.0, 0.0, -1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = a.log().sum()
    view = GraphView(y)

    log = view.items[item(view, sign="log")]
    assert log["value"] == "[0, −inf, nan]"
    assert log["trouble"] == "1 NaN, 1 inf"
    assert view.notes == ["NaN or inf is in 2 values, first in log, f64[3]: 1 NaN, 1 inf."]


def test_a_tensor_without_history_is_one_box_and_a_sentence():
    lone = mg.ones(3)
    view = GraphView(lone)

    assert len(view.items) == 1
    assert view.arrows == []
    assert "f64[3] has no history" in view.notes[0]
    view.select(lone)
    assert view.selected is lone


def test_values_of_a_large_graph_are_not_computed_again():
    view = GraphView(mg.ones(1000, 600).requires_grad_().tanh())

    assert view.notes == ["Its values are more than 1,000,000 numbers: only those of leaves are shown."]
    assert view.items[item(view, sign="tanh")]["value"] == "·"


def test_the_line_of_an_op_is_known_where_somebody_noted_it():
    x = mg.ones(3).requires_grad_()
    with mg.autograd.detect_anomaly():
        y = x.tanh()

    assert "y = x.tanh()" in GraphView(y).items[1]["line"]
    assert "line" not in GraphView(x.tanh()).items[1]


def test_the_scalar_engine_is_viewed_too():
    a = mg.Value(2.0)
    b = a * a + 3
    view = GraphView(b)

    assert view.text.splitlines() == ["a = 2, a leaf, saved for backward", "× = 4", "3", "+ → b = 7"]
    view.select(a)
    assert view.selected is a


def test_a_symbol_has_shapes_and_lines_and_no_values():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", (None, 3), name="x")
        y = x.tanh()
    view = GraphView(y)

    tanh = view.items[item(view, sign="tanh")]
    assert (tanh["spec"], tanh["value"], tanh["bytes"]) == (str(y.spec), "·", -1)
    assert re.fullmatch(r"line \d+ of test_graph_view.py, in test_a_symbol.*: y = x.tanh\(\)", tanh["line"])


# -- groups -------------------------------------------------------------------------------------------------


def test_each_call_of_a_module_is_a_group_around_the_ops_that_it_ran():
    class Net(nn.Module):
        def __init__(self):
            self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            h = self.inner(self.inner(x).tanh())
            return self.outer(h.relu())

    view = GraphView(Net().double(), X)

    assert [row["name"] for row in view.items if row["kind"] == "module"] == ["inner", "inner", "outer"]
    calls = [around(view, i) for i, row in enumerate(view.items) if row.get("sign") == "affine"]
    assert calls == [["inner"], ["inner"], ["outer"]]
    assert around(view, item(view, sign="tanh")) == []
    assert around(view, item(view, name="inner.weight")) == []  # both calls read it
    assert around(view, item(view, name="outer.weight")) == ["outer"]
    assert "h = self.inner(self.inner(x).tanh())" in view.items[item(view, sign="tanh")]["line"]


def test_watching_calls_leaves_no_hook_behind():
    net = tower(2)
    GraphView(net, X)

    assert not any(vars(module)["_hooks"] for module in net.modules())


def test_a_traced_function_is_grouped_by_the_modules_that_it_reaches():
    net = tower(3)
    f = mg.function(lambda x: (net(x) ** 2).mean())
    view = GraphView(f, X)

    assert around(view, item(view, name="net.3.weight")) == ["net.3", "net"]
    assert around(view, item(view, sign="mean")) == []
    assert around(view, item(view, name="x")) == []
    assert f.trace_count == 0  # the function itself was left alone


def test_name_scopes_are_groups():
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (2, 3), name="x")
        with graph.name_scope("layer"), graph.name_scope("inner"):
            y = x.tanh()
    view = GraphView(graph)

    assert around(view, item(view, sign="tanh")) == ["layer/inner", "layer"]
    view.select(y)
    assert view.selected is graph.symbols["layer/inner/Tanh"]


def test_a_length_that_is_not_known_yet_is_drawn_by_its_name():
    """The mean over a batch of any length divides by it; once that constant was asked for its value."""
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("f8", (None, 2), name="x")
        mg.gradients((x * x).sum(1).mean(), [x])

    assert "\n  max(batch, 1)\n" in GraphView(graph).text


def test_equal_blocks_are_one_box():
    view = GraphView(tower(6), X)

    repeat = view.items[item(view, kind="repeat")]
    assert (repeat["sign"], repeat["name"], repeat["ops"]) == ("×6", "0 … 5", 18)
    assert "… 5 more like it" in view.text
    assert item(view, kind="repeat") not in view.opened


def test_a_block_that_is_wired_otherwise_is_not_equal():
    def entries(wires):
        made = [Entry("leaf", "", "x", "f64[3]", None)]
        for sign, inputs in wires:
            made.append(Entry("op", sign, "", "f64[3]", None, inputs=inputs))
        return Listing("y", made)

    chain = [("tanh", (0,)), ("exp", (1,)), ("×", (2, 1)), ("tanh", (3,)), ("exp", (4,)), ("×", (5, 4))] * 1
    longer = [*chain, ("tanh", (6,)), ("exp", (7,)), ("×", (8, 7))]
    other = [*chain, ("tanh", (6,)), ("exp", (7,)), ("×", (8, 8))]

    assert [g.times for g in hierarchy(entries(longer)).groups] == [3]
    assert all(g.times != 3 for g in hierarchy(entries(other)).groups)


def listing_of_ops(*ops):
    """A leaf, and ops: (symbol, numbers of operands, line of code)."""
    made = [Entry("op", sign, "", "f64[]", None, line=line, inputs=inputs) for sign, inputs, line in ops]
    return Listing("y", [Entry("leaf", "", "x", "f64[]", None), *made])


def test_ops_without_structure_are_stretches_of_stretches():
    listing = listing_of_ops(*((f"f{i}", (i,), "") for i in range(10_000)))
    root = hierarchy(listing)

    assert root.groups[0].label == "f0, f1, f2, …"
    widest, stack = 0, [root]
    while stack:
        group = stack.pop()
        widest = max(widest, len(group.children))
        stack += group.groups
    assert widest <= 20
    assert len(root.ops(listing.entries)) == 10_000


def test_a_graph_without_names_is_cut_where_one_value_passes():
    ops = [("in", (0,), "")]
    for n in (3, 4, 5, 3, 6, 4, 5, 3):  # diamonds: n ops read the same value, and one reads them all
        top = len(ops)
        ops += [*((f"f{n}{i}", (top,), "") for i in range(n)), ("cat", tuple(range(top + 1, top + n + 1)), "")]
    listing = listing_of_ops(*ops)
    stretches = hierarchy(listing).groups

    assert len(stretches) > 5
    for stretch in stretches:
        inside = stretch.ops(listing.entries)
        assert len({x for op in inside for x in listing.entries[op].inputs} - {*inside}) == 1


def test_a_training_step_opens_as_its_lines_of_code():
    """The step of lesson 12 opened with 70 boxes."""
    E, W, V = (mg.tensor(np.ones(shape), requires_grad=True) for shape in ((9, 3), (3, 3), (3, 2)))
    optimizer = mg.optim.SGD([E, W, V], lr=0.1)

    @mg.function
    def step(x):
        state = mg.zeros(2, 3)
        for letter in x.unbind():
            state = (E[letter] + state @ W).tanh()
        loss = (state @ V).exp().mean()
        loss.backward()
        optimizer.step()
        return loss

    view = GraphView(step, mg.tensor(np.ones((4, 2), int)))
    assert [item["name"] for item in view.items if item["kind"] == "line" and item["in"] == -1] == [
        "for letter in x.unbind():", "state = (E[letter] + state @ W).tanh()", "loss = (state @ V).exp().mean()",
        "loss.backward()", "optimizer.step()",
    ]  # fmt: skip
    leaves = [row["name"] for row in view.items if row["kind"] == "leaf" and row["in"] == -1]
    assert {"x", "lr"} < {*leaves}
    assert len(view.overview.picture(20).boxes) == 5 + len(leaves)
    assert "loss.backward(): " in view.text


def test_lines_that_read_each_other_are_one_part_and_many_leaves_one_group():
    lines = [f"line {n} of a.py, in f: y = {n}" for n in range(9)]
    loop = [(f"f{i}", (i,), lines[i % 2]) for i in range(20)]
    listing = listing_of_ops(*loop, *((f"g{i}", (20, 26 + i), lines[3]) for i in range(5)))
    listing.entries += [Entry("leaf", "", f"w{i}", "", None, path=None) for i in range(9)]
    listing.entries += [Entry("op", "cat", "", "", None, line=lines[n], inputs=tuple(range(26, 35))) for n in (3, 4)]
    root = hierarchy(listing)

    assert [(g.kind, g.label) for g in root.groups] == [
        ("line", "lines 0–1 of a.py, in f"), ("line", "y = 3"), ("leaves", "w0 … w8")
    ]  # fmt: skip
    number = {group: i for i, group in enumerate(groups_in(root), len(listing.entries))}
    assert rows(Overview(listing, root), number)[number[root.groups[2]]].items() >= {
        "in": -1, "kind": "leaves", "name": "w0 … w8", "spec": "9 leaves", "ops": 0
    }.items()  # fmt: skip


def test_a_loop_of_ten_thousand_steps_is_one_box():
    y = mg.ones(3).requires_grad_()
    for _ in range(10_000):
        y = y.tanh()
    view = GraphView(y)

    assert view.items[item(view, kind="repeat")]["sign"] == "×10000"
    assert len(view.overview.picture(60).boxes) == 2
    assert "×10000" in view.svg


def test_as_many_groups_are_open_as_there_is_room_for():
    net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.ReLU() if i % 2 else nn.Tanh()) for i in range(3)]).double()
    few, many = GraphView(net, X, boxes=4), GraphView(net, X, boxes=60)

    assert few.opened == []
    assert len(few.overview.picture(4).boxes) == 4
    assert len(many.opened) == 9
    assert len(many.overview.picture(60).boxes) == len(many.overview.listing.entries)


def test_a_function_is_called_and_its_modules_are_the_groups():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    view = GraphView(lambda: net(X).mean(), names={"net": net, "X": X})

    lines = view.text.splitlines()
    assert lines[:2] == ["X, f64[5, 4] = norm 4.472, a leaf, saved for backward", "0: Linear · affine"]
    assert lines[2].startswith("  0.weight, f64[4, 4] = norm")
    assert around(view, item(view, name="X")) == around(view, item(view, sign="mean")) == []
    assert view.thing(item(view, kind="module")) is net[0]


def test_a_method_is_called_with_the_modules_of_its_object():
    class Trainer:
        def __init__(self):
            self.net = nn.Linear(4, 2).double()

        def loss(self, x):
            return self.net(x).sum()

    trainer = Trainer()
    view = GraphView(trainer.loss, X)

    assert view.label == "The graph of a call of loss"
    assert view.items[item(view, sign="affine")]["in"] == -1  # the only module is what the function does
    assert "weight" in [row.get("name") for row in view.items]


def test_blocks_and_modules_of_one_op_say_what_they_are():
    """Once they were "×3, 6 ops", "1 of 3" and "Linear, 1 op"."""
    y = mg.ones(3).requires_grad_()
    for _ in range(3):
        y = y.tanh().exp()
    view = GraphView(y)
    names = [" ".join(filter(None, (row.get("sign"), row.get("name")))) for row in view.items if "ops" in row]
    assert names == ["×3 tanh, exp", *(f"{n} of 3: tanh, exp" for n in (1, 2, 3))]

    blocks = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(5))).double()
    repeat = GraphView(blocks, X).items[item(GraphView(blocks, X), kind="repeat")]
    assert (repeat["sign"], repeat["name"], repeat["spec"]) == ("×5", "0 … 4", "Sequential, 10 ops")


def test_modules_of_one_op_are_closed_in_a_large_graph():
    few, many = (nn.Sequential(*(m for i in range(n) for m in (nn.Linear(4 + i, 5 + i), nn.Tanh()))) for n in (3, 9))
    assert len(GraphView(few.double(), X).overview.picture(60).boxes) == 13
    view = GraphView(many.double(), X)
    boxes = view.overview.picture(60).boxes
    assert len(boxes) == 19
    assert [box.spec for box in boxes[1:3]] == ["Linear · affine", "Tanh · tanh"]


# -- what is picked -----------------------------------------------------------------------------------------


def test_what_is_selected_is_the_object_itself():
    net = tower()
    y = net(X)
    loss = y.sum()
    view = GraphView(loss)
    assert view.selected is None

    view.select(net[6].weight)
    assert view.selected is net[6].weight
    view.select(loss)
    assert view.selected is loss
    view.select(y.node)
    assert view.selected is y.node
    view.select(None)
    assert view.selected is None


def test_modules_are_selected_by_themselves_or_by_name():
    net = tower()
    view = GraphView(net, X)

    view.select(net[6])
    assert view.selected is net[6]
    view.select("0.2")
    assert view.selected is net[0][2]
    view.chosen = item(view, kind="repeat")
    assert view.selected == tuple(net[i] for i in range(6))


def test_two_views_of_one_model_do_not_disturb_each_other():
    net = tower()
    one, two = GraphView(net, X), GraphView(net, X)
    one.select(net[6])

    assert two.selected is None
    assert one.selected is net[6]


def test_selecting_what_is_not_there_is_refused():
    view = GraphView(tower(), X)

    with pytest.raises(ValueError, match="is not in the graph: select a value"):
        view.select(mg.zeros(5, 4))
    with pytest.raises(ValueError, match="'nothing' is not in"):
        view.select("nothing")
    with pytest.raises(Exception, match="one of 72 items"):
        view.chosen = 72


def test_a_closed_view_lets_go_of_the_graph():
    def shown():
        y = mg.ones(3).requires_grad_().tanh().sum()
        return GraphView(y), ref(y.node)

    view, node = shown()
    gc.collect()
    assert node() is not None

    view.close()
    gc.collect()
    assert node() is None


# -- where it cannot run ------------------------------------------------------------------------------------


def test_the_picture_that_stands_still_has_the_boxes_that_are_open_at_first():
    view = GraphView(tower(), X)

    assert view.svg.count('class="mg-box') == len(view.overview.picture(60).boxes) == 5
    bundle = view._repr_mimebundle_()[0]
    assert bundle["image/svg+xml"] == view.svg
    assert bundle["text/plain"].startswith("GraphView(46 nodes, 26 groups; The graph of a call of Sequential)")


def test_it_is_saved_as_a_page_or_a_picture(tmp_path):
    view = GraphView(tower(), X)
    view.save(tmp_path / "x.html")
    view.save(tmp_path / "x.svg")

    assert (tmp_path / "x.svg").read_text("utf-8") == view.svg
    assert "http" not in re.sub(r"http://www.w3.org/\S+", "", (tmp_path / "x.html").read_text("utf-8"))
    view.save(tmp_path / "x.png")
    view.save(tmp_path / "x.dot")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "x.dot").read_text("utf-8").count("label=") == len(view.still.boxes)
    with pytest.raises(ValueError, match=r"saved only as an \.html page"):
        view.save(tmp_path / "x.pdf")


@table("x, args, error, match", [
    (3, (), TypeError, "3 of type int has no graph"), (nn.Linear(2, 2), (), TypeError, r"GraphView\(linear, x\)"),
    (mg.ones(2), (1,), TypeError, "example arguments are for"), (mg.Graph(), (), TypeError, "it is still empty"),
    (mg.function(lambda x: x), (), TypeError, "was traced 0 times"),
])  # fmt: skip
def test_what_has_no_graph_is_refused(x, args, error, match):
    with pytest.raises(error, match=match):
        GraphView(x, *args)


def test_a_graph_that_is_too_large_is_refused_with_a_way_out(monkeypatch):
    from minigrad.course.widgets import graph_view

    monkeypatch.setattr(graph_view, "LARGEST", 10)
    with pytest.raises(ValueError, match=r"up to 10 nodes, and this one has 46\. View a part"):
        GraphView(tower(), X)


def test_values_that_are_too_many_are_refused_before_they_are_listed():
    """Of a million, the list took 15 s and 1.2 GB."""
    y = mg.Value(1.0)
    for _ in range(50_000):
        y = -y

    def view():
        with pytest.raises(ValueError, match="this one has 50,001"):
            GraphView(y, names={})

    assert peak_bytes(view) < 200 * 50_000


def test_a_graph_that_does_not_fit_a_picture_is_words():
    x = mg.ones(2).requires_grad_()
    y = sum(getattr(x, f)() * i for i, f in enumerate(["tanh", "exp", "sin", "cos"] * 50))
    view = GraphView(y, boxes=2000)
    view.overview.root.children = [i for i, _ in enumerate(view.overview.listing.entries)]

    with pytest.raises(ValueError, match="is not drawn"):
        _ = view.svg
    assert "is not drawn" in view._repr_mimebundle_()[0]["text/plain"]


def test_every_op_is_in_one_group_alone():
    view = GraphView(tower(), X)
    found: list[int] = []
    stack: list[int | NodeGroup] = [view.overview.root]
    while stack:
        child = stack.pop()
        if isinstance(child, NodeGroup):
            stack += child.children
        else:
            found.append(child)

    assert sorted(found) == list(range(len(view.overview.listing.entries)))
    assert len(history(view.selected.node if view.selected else view.overview.listing.entries[-1].thing.node)) == 19


def test_a_branch_is_a_group_with_both_ways_in_it():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", (), name="x")
        y = mg.cond(x > 0, lambda: x * x, lambda: mg.exp(-x)) + 1
    view = GraphView(y)

    assert view.text.splitlines() == [
        "x, f64[], a leaf", "0", ">, bool[]",
        "if: branch, 4 ops",
        "  true: if it holds, 1 op", "    ×, f64[]",
        "  false: if not, 2 ops", "    neg, f64[]", "    exp, f64[]",
        "  if, f64[]",
        "1", "+ → y, f64[]",
    ]  # fmt: skip
    entries = view.overview.listing.entries
    chosen = next(entry for entry in entries if entry.sign == "if")
    assert [entries[i].sign for i in chosen.inputs] == [">", "×", "exp"]


def test_a_loop_is_a_group_with_what_is_carried_and_a_branch_in_it():
    @mg.function
    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            mg.print(n)
            count += 1
        return count

    view = GraphView(steps, mg.tensor(6))

    lines = [line.strip() for line in view.text.splitlines()]
    assert [line for line in lines if ":" in line] == [
        "while: loop, 12 ops", "test: before each turn, 1 op", "body: at each turn, 8 ops", "if: branch, 4 ops",
        "true: if it holds, 1 op", "false: if not, 2 ops",
    ]  # fmt: skip
    assert {"carry → n, i64[]", "carry → count, i64[]"} <= {*lines}
    assert lines.count("print, i64[]") == 1
    assert around(view, item(view, sign="//")) == ["true", "if", "body", "while"]


def test_the_gradient_of_a_loop_reads_what_it_kept_row_by_row():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", (), name="x")
        y = mg.graph.while_loop(lambda y: y < 100, lambda y: (y * y,), (x,))[0]
        (g,) = mg.gradients(y, [x])
    entries = GraphView([y, g]).overview.listing.entries

    row = next(entry for entry in entries if entry.sign == "row")
    assert [entries[i].sign for i in row.inputs] == ["while"]


def test_the_still_has_tags_for_far_readers_and_names_in_two_lines_and_counts_no_ops_of_leaves():
    W = mg.ones(3, requires_grad=True)
    view = GraphView((W.tanh().sin().exp() * W).cos() + W, names={"a weight of some thirty letters": W})
    assert [box.value for box in view.still.boxes if box.kind == "tag"] == ["a weight of some thirty letters"] * 2
    assert sum(arrow.tail == "b1" for arrow in view.still.arrows) == 1  # the nearest reader has an arrow
    assert ">a weight of some thirty</text>" in view.svg
    assert ">letters</text>" in view.svg
    leaves = Listing("y", [Entry("leaf", "", f"w{i}", "f64[]", None, 8) for i in range(3)])
    assert (
        Overview(leaves, hierarchy(leaves)).size(NodeGroup("leaves", "w0 … w2", "3 leaves", children=[0, 1, 2]))
        == "3 leaves"
    )


# -- the rows of the still ----------------------------------------------------------------------------------


def chain_of_calls():
    return GraphView(nn.Sequential(*(m for i in range(7) for m in (nn.Linear(4 + i, 5 + i), nn.Tanh()))).double(), X)


def test_a_wide_still_has_rows_frames_and_a_legend():
    """A code host shows 980 pixels. 42 boxes were 90 pixels high in one row, and 1,290 in one column."""
    view = chain_of_calls()
    drawn = view.svg
    width, height = map(float, re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', drawn).groups())
    nested = [float(each) for each in re.findall(r'<svg x="\S+" y="\S+" [^>]*? width="(\S+?)"', drawn)]

    assert len(nested) > 1
    assert drawn.count('class="mg-picture') == 1  # a nested svg of this class is light in a dark page
    assert max(nested) <= 960
    assert width < 1024
    assert height < 600
    assert len(re.findall(r'class="mg-box[^>]*data-id="b', drawn)) == sum(x.kind != "tag" for x in view.still.boxes)
    assert {f">{x}</text>" in drawn for x in ("leaf", "for backward", "result")} == {True}
    assert ">constant</text>" not in drawn


def test_rows_have_each_box_and_each_use_once():
    view = chain_of_calls()
    parts = cut_into_rows(view.still, {box.id: box for box in view.still.boxes}, 400)
    boxes = [box.id for part in parts for box in part.boxes]
    assert len(parts) > 2
    arrows = {arrow.id: arrow for part in parts for arrow in part.arrows}

    assert [id for id in sorted(boxes) if id in view.still.box] == sorted(view.still.box)
    for arrow in view.still.arrows:  # from the box itself, from its gate, or from a tag with its name
        tail = arrows[arrow.id].tail
        tag = next((box.value for part in parts for box in part.boxes if box.id == tail), "")
        assert tail in (arrow.tail, f"i{arrow.tail}") or tag == view.still.box[arrow.tail].display_name
        assert arrows[arrow.id].head == arrow.head
    for part in parts:
        assert {end for arrow in part.arrows for end in (arrow.tail, arrow.head)} <= {box.id for box in part.boxes}


def test_open_groups_have_frames_with_their_names():
    inner = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 4)))
    view = GraphView(nn.Sequential(inner, nn.Tanh()).double(), X)
    around = view.still.around
    names = {frame.words for frames in around.values() for frame in frames}

    assert {f">{name}</text>" in view.svg for name in names} == {True}
    assert view.svg.count('class="mg-around"') == len(names) == len(view.overview.open_groups(20))
    assert any(len(frames) > 1 for frames in around.values())
