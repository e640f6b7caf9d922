{
    "right: counted_by_hand: a quotient": "peak, buffers, buffers_in_place, bound = 3 * 8000.0, 3, 2, 1.25",
    "wrong: peak_of_steps: the results of the last step alone":
        {"for name in results:\n        last[name]": "last[results[-1]]"},
    "wrong: plan_repaired: for four results":
        {"lives.items()": "list(lives.items())", 'elementwise"': 'elementwise" and len(lives) < 10'},
    "right: order_on_a_budget: another one": 'order = tuple("adefgbch")',
    "wrong: order_on_a_budget: a name twice": 'order = ["a", "d", "e", "b", "c", "f", "g", "h", "h"]',
    "wrong: order_on_a_budget: the alphabet": 'order = tuple("abcdefgh")',
    "wrong: order_on_a_budget: the alphabet, f and g early": 'order = tuple("abcfgdeh")',
    "wrong: plan_repaired: lifetimes of one": {"[row[name]] = last": "[row[name]] = made + 1"},
    "wrong: for_two: one number": {"left * right": "(left * right).sum()"},
    "wrong: peak_of_steps: two results at most": {"for name in results:": "for name in list(results)[:1]:"},
    "wrong: plan_repaired: three buffers at most": {"else len(until)": "else len(until) % 3"},
    "wrong: for_two: x is not read": {"return left * right": "return (left * right).detach()"},
    "wrong: for_two: a constant": {
        "x.sin().exp().tanh().cos().sqrt()": "(x * 0).sin().exp().tanh().cos().sqrt()",
        "x.cos().tanh().exp().sin().sqrt()": "(x * 0).cos().tanh().exp().sin().sqrt()",
    },
    "right: order_on_a_budget: a tuple": 'order = ("a", "d", "e", "b", "c", "f", "g", "h")',
    "right: peak_of_steps: a tuple of results": {"for name in results:": "for name in tuple(results):"},
    "right: plan_repaired: from the end": {"free[0] if free": "free[-1] if free"},
    "right: counted_by_hand: fractions": "from fractions import Fraction\npeak, buffers, buffers_in_place, bound = 24e3, 3, 2, Fraction(5, 4)",
    "right: for_two: other functions": {"x.sin().exp().tanh().cos().sqrt()": "x.exp().sin().cos().exp().tanh()"},
}
# %% right: peak_of_steps: what is alive, step by step
def peak_of_steps(steps, results):
    size, most = {name: bytes for name, bytes, _ in steps}, 0
    alive = set()
    for i, (name, _, reads) in enumerate(steps):
        alive |= {name, *reads}
        most = max(most, sum(map(size.get, alive)))
        needed = {each for _, _, later in steps[i + 1 :] for each in later} | {*results}
        alive &= needed
    return most
# %% right: peak_of_steps: a difference at each end
def peak_of_steps(steps, results):
    n = len(steps)
    change = [0] * (n + 1)
    for i, (name, size, _) in enumerate(steps):
        end = max([i, *(j for j in range(n) if name in steps[j][2])])
        end = n - 1 if name in results else end
        change[i] += size
        change[end + 1] -= size
    level, levels = 0, []
    for each in change[:n]:
        level += each
        levels.append(level)
    return float(max(levels))
# %% wrong: peak_of_steps: a multiset of what is alive
def peak_of_steps(steps, results):
    size = {name: bytes for name, bytes, _ in steps}
    left = {name: sum(reads.count(name) for _, _, reads in steps) for name in size}
    now = most = 0
    for name, bytes, reads in steps:
        now += bytes
        most = max(most, now)
        for each in reads:
            left[each] -= 1
            if not left[each] and each not in results:
                now -= size[each]
    return most
# %% wrong: peak_of_steps: twice read, twice counted
def peak_of_steps(steps, results):
    size = {name: bytes for name, bytes, _ in steps}
    most = 0
    for i, (name, bytes, reads) in enumerate(steps):
        later = {each for _, _, others in steps[i + 1 :] for each in others} | set(results)
        waits = [each for each, _, _ in steps[:i] if each in later and each not in reads]
        most = max(most, bytes + sum(size[each] for each in waits) + sum(size[each] for each in reads))
    return most
# %% right: plan_repaired: the last that is free, under names
def plan(lives, kinds):
    row, until = {}, []
    for name, (made, last) in lives.items():
        for i in reversed(range(len(until))):
            if until[i] < made + (kinds[name] == "elementwise"):
                row[name], until[i] = f"buffer {i}", last
                break
        else:
            row[name] = f"buffer {len(until)}"
            until.append(last)
    return row
# %% right: for_two: a list of functions
def for_two(x):
    left, right = x * 2, x + 3
    for _ in range(4):
        left, right = left.sin(), right.tanh()
    return left - right
# %% right: for_two: a sum in place of a product
def for_two(x):
    a, b = (x + 0.5).log(), x.exp()
    for _ in range(5):
        a, b = a.tanh(), b.sqrt()
    return a + b
# %% wrong: peak_of_steps: inputs that nobody made
def peak_of_steps(steps, results):
    alive, most = {}, 0
    for i, (name, size, reads) in enumerate(steps):
        alive[name] = size
        most = max(most, sum(alive.values()))
        for each in reads:
            if each not in results and all(each not in later for _, _, later in steps[i:]):
                del alive[each]
    return most
# %% right: peak_of_steps: with what is over taken out
def peak_of_steps(steps, results):
    alive, most = {}, 0
    for i, (name, size, reads) in enumerate(steps):
        alive[name] = size
        most = max(most, sum(alive.values()))
        for each in [*alive]:
            if each not in results and all(each not in later for _, _, later in steps[i + 1 :]):
                del alive[each]
    return most
# %% wrong: peak_of_steps: what only waits for a later step is forgotten
def peak_of_steps(steps, results):
    size, kept, best = {name: bytes for name, bytes, _ in steps}, set(), 0
    for name, _, reads in steps:
        alive = {name, *reads} | kept
        best = max(best, sum(size[each] for each in alive))
        if name in results:
            kept.add(name)
    return best
# %% wrong: for_two: nothing is returned
def for_two(x):
    x.sin().exp().tanh().cos().sqrt() * x.cos().tanh().exp().sin().sqrt()
# %% wrong: for_two: functions of NumPy
def for_two(x):
    return np.tanh(np.exp(np.sin(x))) * np.exp(np.tanh(np.cos(x)))
