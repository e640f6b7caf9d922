{
    "right: three_counts: a tuple": 'calls, first, innocent, equal = (50, 1, 2), "session", "session.run", bool(1)',
    "wrong: into_session: one step too many": {
        "range(steps)": "range(steps + 1)",
        "return losses,": "return losses[:steps],",
    },
    "right: stuck_meter: a comparison that counts as a number": {
        "centred * centred": "centred**2",
        "sqrt(mg.where(square > 0, square, 1.0))": "where(square == 0, 1.0, square).sqrt()",
    },
    "wrong: judged_once: sorted by length": {"in batches": "in sorted(batches, key=len)"},
    "wrong: stuck_meter: the third column by name": {
        "mg.where(square > 0, square, 1.0)": "square + mg.tensor([0.0, 0.0, 1.0, 0.0])"
    },
    "wrong: judged_once: rounded": {"traced(mg.tensor(batch)).item()": "round(traced(mg.tensor(batch)).item(), 4)"},
    "wrong: into_session: the losses of the next step": {
        "losses = [float(session.run([loss, step], {x: xs, y: ys})[0]) for _ in range(steps)]": "losses = [float([session.run(step, {x: xs, y: ys}), session.run(loss, {x: xs, y: ys})][1]) for _ in range(steps)]"
    },
    "wrong: into_session: float32": {'mg.placeholder("float64"': 'mg.placeholder("float32"'},
    "wrong: stuck_meter: spreads below a millionth": {"square > 0": "square > 1e-12"},
    "wrong: stuck_meter: of a square": {"/ mg.sqrt(": "/ ("},
    "wrong: judged_once: the first batch alone": {"for batch in batches": "for batch in batches[:1] * len(batches)"},
    "right: judged_once: with a loop": {
        "return [traced(mg.tensor(batch)).item() for batch in batches]": "found = []\n    for batch in batches:\n        found.append(traced(mg.tensor(batch)))\n    return found"
    },
    "right: into_session: a list of tensors": {
        "return losses, float(session.run(w))": "return [np.array(losses), session.run(w)]"
    },
    "right: judged_once: an array": {
        "return [traced(mg.tensor(batch)).item() for batch in batches]": "return np.array([traced(mg.tensor(batch)).item() for batch in batches])"
    },
}
# %% right: into_session: by an optimizer that keeps nothing
def fit(formula, xs, ys, steps):
    graph = mg.Graph()
    with graph.as_default():
        x, y = mg.placeholder("float64", xs.shape), mg.placeholder("float64", ys.shape)
        w = mg.Variable(0.0)
        loss = formula(x, y, w)
        step = w.assign(w - 0.1 * mg.gradients(loss, [w])[0])
        start = mg.graph.global_variables_initializer()
    session = mg.Session(graph)
    session.run(start)
    losses = tuple(session.run((loss, step), {x: xs, y: ys})[0] for _ in range(steps))
    return losses, session.run(w)
# %% right: judged_once: a session
def judge(formula, batches):
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float64", (None, 2))
        y = formula(x)
    with mg.Session(graph) as session:
        return tuple(session.run(y, {x: batch}) for batch in batches)
# %% right: own_model: distances
def weights():
    rng = np.random.default_rng(3)
    return (rng.normal(size=(2, 16)), np.zeros(16), rng.normal(size=(16, 1)) / 4)


def score(x, W, b, v):
    return mg.maximum(x @ W + b, 0.0) @ v
# %% right: stuck_meter: nothing is divided where nothing moves
def standard(x):
    centred = x - x.mean(0)
    square = (centred * centred).mean(0)
    moves = square > 0
    return mg.where(moves, centred / mg.sqrt(mg.where(moves, square, 1.0)), 0.0)
# %% right: own_model: a radius
def weights():
    rng = np.random.default_rng(1)
    return [rng.normal(size=(2, 20)), rng.normal(size=20), rng.normal(size=(20, 1)) / 5, np.zeros(1)]


def score(x, W, b, v, c):
    return mg.cos(x @ W + b) @ v + c
# %% wrong: into_session: traced, where a session was asked for
def fit(formula, xs, ys, steps):
    w = mg.tensor(0.0, requires_grad=True)

    @mg.function
    def step(x, y):
        loss = formula(x, y, w)
        (g,) = mg.grad(loss, [w])
        with mg.no_grad():
            w.sub_(0.1 * g)
        return loss

    losses = [step(mg.tensor(xs), mg.tensor(ys)).item() for _ in range(steps)]
    return losses, w.item()
# %% right: into_session: the session holds nothing, for w is fed
def fit(formula, xs, ys, steps):
    with mg.Graph().as_default() as graph:
        x, y = mg.placeholder("float64", xs.shape), mg.placeholder("float64", ys.shape)
        w = mg.placeholder("float64", ())
        loss = formula(x, y, w)
        (g,) = mg.gradients(loss, [w])
        new = w - 0.1 * g
    session, value, losses = mg.Session(graph), 0.0, []
    for _ in range(steps):
        found, value = session.run([loss, new], {x: xs, y: ys, w: value})
        losses.append(float(found))
    return losses, float(value)
