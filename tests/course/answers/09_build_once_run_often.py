{
    "right: what_runs: computed": 'first, second, third, fourth = len("spq"), len("spqer"), 2.0, 0',
    "wrong: learning_line: a batch of two": {'(None,), name="x"': "(2,)", '(None,), name="y"': "(2,)"},
    "wrong: learning_line: w starts anywhere": {'mg.Variable(0.0, name="w")': "mg.Variable(0.5)"},
    "wrong: own_graph: the way is x": {'"way": way': '"way": x'},
    "wrong: own_graph: a slope that is a number": {"(slope,) = mg.gradients(dear, [x])": "slope = x * 0 + 0.3"},
    "wrong: learning_line: a run while building": {
        "start = mg.graph.global_variables_initializer()": "start = mg.graph.global_variables_initializer()\n    mg.Session(graph).run(start)"
    },
    "wrong: learning_line: a step while building": {
        "start = mg.graph.global_variables_initializer()": "start = mg.graph.global_variables_initializer()\n    with mg.Session(graph) as session:\n        session.run(start)\n        session.run(step, {x: [1.0], y: [1.0]})"
    },
    "wrong: loop_that_builds: 3 is written into the graph": {"(x - centre)": "(3.0 - centre)"},
    "wrong: loop_that_builds: a graph beside, and Python's numbers":
        {"float(session.run(squared, {x: 3.0, centre: number}))": "(3.0 - number) ** 2"},
    "wrong: own_graph: cheap is a constant":
        {"cheap = x * x\n        way = cheap": "cheap = mg.tensor(2.0) * mg.tensor(3.0)\n        way = cheap * x"},
    "wrong: own_graph: cheap is x times 0":
        {"cheap = x * x\n        way = cheap": "cheap = x * 0.0\n        way = cheap + x"},
    "right: loop_that_builds: all centres at once":
        {"squared = (x - centre).square()": "d = x - centre\n        squared = d * d"},
    "wrong: own_graph: a run while building": {
        "(slope,) = mg.gradients(dear, [x])": "(slope,) = mg.gradients(dear, [x])\n    mg.Session(x.graph).run(cheap, {x: 1.0})"
    },
    "wrong: loop_that_builds: a place for the second centre":
        {"[float(": "sorted(float(", "in centres]": "in {*centres})"},
}
# %% right: learning_line: by hand
def line():
    graph = mg.Graph()
    with graph.as_default():
        x, y = (mg.placeholder("float64", (None,)) for _ in range(2))
        w, b = (mg.Variable(0.0) for _ in range(2))
        d = w * x + b - y
        loss = (d * d).mean()
        gw, gb = mg.gradients(loss, [w, b])
        step = mg.graph.group(w.assign_sub(0.1 * gw), b.assign_sub(0.1 * gb))
        start = mg.graph.group(w.initializer, b.initializer)
    return dict(graph=graph, x=x, y=y, w=w, b=b, loss=loss, start=start, step=step)
# %% right: loop_that_builds: all at once
def distances(session, x, centres):
    with session.graph.as_default():
        centre = mg.placeholder("float64", (None,))
        away = x - centre
    return [d * d for d in session.run(away, {x: 3.0, centre: [float(c) for c in centres]}).tolist()]
# %% right: own_graph: another road
def my_graph():
    with mg.Graph().as_default():
        x = mg.placeholder("float64", name="x")
        cheap = x.exp()
        y = cheap
        for _ in range(9):
            y = y.sin()
        dear = y.exp()
        slope = mg.gradients(dear, [x])[0]
    return {"x": x, "cheap": cheap, "way": y, "dear": dear, "slope": slope}
# %% wrong: learning_line: one graph for all calls
_parts = {}


def line():
    if not _parts:
        with mg.Graph().as_default() as graph:
            x, y = mg.placeholder("float64", (None,)), mg.placeholder("float64", (None,))
            w, b = mg.Variable(0.0), mg.Variable(0.0)
            loss = (w * x + b - y).square().mean()
            step = mg.optim.SGD([w, b], lr=0.01).minimize(loss)
            start = mg.graph.global_variables_initializer()
        _parts.update(graph=graph, x=x, y=y, w=w, b=b, loss=loss, start=start, step=step)
    return _parts
# %% right: loop_that_builds: a product
def distances(session, x, centres):
    with session.graph.as_default():
        c = mg.placeholder("float64", ())
        d = x - c
        y = d * d
    found = []
    for centre in centres:
        found += [session.run(y, {c: centre, x: 3})]
    return found
