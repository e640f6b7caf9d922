{
    "right: which_message: capital letters": 'words = ["beside", "sum", "nothing", "sum", "nothing", "nothing", "sum", "nothing"]\nneeds = dict(zip("ABCDEFGH", words))',
    "wrong: which_message: a line is missing": {'"h": "nothing",': ""},
    "wrong: which_message: a sum everywhere": 'needs = dict.fromkeys("abcdefgh", "sum")',
    "right: pipeline_on_paper: numbers": "waits, faster, fewest, limit = 0.2258, 6.194, 63, 24.0",
    "right: pipeline_on_paper: two digits": "waits, faster, fewest, limit = 0.23, 6.2, 63, 24",
    "wrong: one_forward_one_backward: a forward fewer ahead than there may be":
        {"p - worker": "max(p - worker - 1, 1)"},
    "right: plan_of_your_own: sixteen stages, without ZeRO": 'plan = {"data": 2, "tensor": 8, "pipeline": 16}',
    "wrong: plan_of_your_own: half a box for a layer": 'plan = {"data": 4, "tensor": 4, "pipeline": 16}',
    "wrong: cut_by_hand: a divided, and not cut":
        {"np.split(a, p), np.split(B, p, axis=0)": "[part / p for part in np.split(a, p)], np.split(B, p)"},
    "right: cut_by_hand: a share of b each": {"once = [b] + [0 * b] * (p - 1)": "once = [b / p for _ in range(p)]"},
    "wrong: cut_by_hand: two workers": {"np.split(A, p, axis=1)": "np.split(A, 2, axis=1) if p > 1 else [A]"},
    "wrong: one_forward_one_backward: a micro-batch too many": {"min(p - worker, m)": "min(p - worker + 1, m)"},
    "right: one_forward_one_backward: lists": {'steps.append(("backward", i))': 'steps.append(["backward", i])'},
    "right: pipeline_on_paper: fractions": "from fractions import Fraction\nwaits, faster, fewest, limit = Fraction(7, 31), Fraction(192, 31), 63, 24.0",
    "right: cut_by_hand: tuples of lists": {"return list(zip(": "return tuple(zip("},
}
# %% right: cut_by_hand: every p-th column, with its row, and a part of b for each
def cut(A, a, B, b, p):
    return [(A[:, i::p], a[i::p], B[i::p], b / p) for i in range(p)]
# %% right: cut_by_hand: slices, and b with the last one
def cut(A, a, B, b, p):
    step = len(a) // p
    rows = [slice(i * step, (i + 1) * step) for i in range(p)]
    return [(A[:, r], a[r], B[r], b if r is rows[-1] else np.zeros_like(b)) for r in rows]
# %% right: which_message: by kind
needs = dict.fromkeys("bdg", "sum") | dict.fromkeys("cefh", "nothing") | {"a": "beside"}
# %% wrong: pipeline_on_paper: what works for what waits
waits, faster, fewest, limit = 24 / 31, 8 * 24 / 31, 63, 24
# %% right: one_forward_one_backward: from the schedule of the package's kind, as lists
def order(p, m, worker):
    ahead = p - worker
    forward, backward = [("forward", i) for i in range(m)], [("backward", i) for i in range(m)]
    turns = [step for pair in zip(backward, forward[ahead:]) for step in pair]
    return forward[:ahead] + turns + backward[max(m - ahead, 0) :]
# %% right: one_forward_one_backward: a while loop that asks what it keeps
def order(p, m, worker):
    done, back, steps = 0, 0, []
    while back < m:
        if done < m and done - back < p - worker:
            steps.append(("forward", done))
            done += 1
        else:
            steps.append(("backward", back))
            back += 1
    return steps
# %% right: plan_of_your_own: four stages
plan = {"data": 8, "tensor": 8, "pipeline": 4, "microbatch": 1, "zero": 1}
# %% wrong: plan_of_your_own: all of ZeRO, and no pipeline
plan = {"data": 32, "tensor": 8, "pipeline": 1, "zero": 3}
# %% right: which_message: words with capitals
needs = dict(zip("abcdefgh", ["Beside", "Sum", "Nothing", "Sum", "Nothing", "Nothing", "Sum", "Nothing"]))
# %% right: which_message: a list, from a to h
needs = ["beside", "sum", "nothing", "sum", "nothing", "nothing", "sum", "nothing"]
# %% wrong: which_message: a list with one word too many
needs = ["beside", "sum", "nothing", "sum", "nothing", "nothing", "sum", "nothing", "nothing"]
