{
    "right: gpt_within: three letters more": "layers, heads, channels, context = 2, 4, 48, 51",
    "right: gpt_within: more heads": "layers, heads, channels, context = 2, 8, 48, 48",
    "wrong: gpt_within: two heads": "layers, heads, channels, context = 2, 2, 48, 48",
    "wrong: gpt_within: a longer context": "layers, heads, channels, context = 2, 4, 48, 64",
    "wrong: letter_drawn: the scores are edited":
        {"kept = scores >= np.sort(scores)[-k]": "scores[scores < np.sort(scores)[-k]] = -np.inf", ") * kept": ")"},
    "wrong: which_need: eager, which is as good and has more calls": {"compiled": "eager"},
    "wrong: letter_drawn: e to the scores as they are":
        {"np.exp((scores - scores.max()) / temperature)": "np.exp(scores / temperature)"},
    "wrong: letter_drawn: the mean is subtracted": {"scores.max()": "scores.mean()"},
    "wrong: letter_drawn: the largest of those that are left out": {"scores.max()": "scores.min()"},
    "right: letter_drawn: sorted out first": {
        "kept = scores >= np.sort(scores)[-k]\n    p = np.exp((scores - scores.max()) / temperature) * kept": "z = np.where(np.argsort(np.argsort(-scores)) < k, scores / temperature, -np.inf)\n    p = np.exp(z - z.max())"
    },
    "wrong: counted_pairs: the last pair is left out":
        {"steps = zip(held, held[1:])": "steps = zip(held[:-1], held[1:-1] or held[1:])"},
    "wrong: cached_work: the cache has a place for the letter to come":
        {"2 * 4 * layers * channels * cached": "2 * 4 * layers * channels * (cached + 1)"},
    "right: cached_work: as a list of floats": {
        "return without, cached, 2 * 4 * layers * channels * cached": "return [float(without), float(cached), 8.0 * layers * channels * cached]"
    },
    "right: gpt_within: floats": "layers, heads, channels, context = 2, 6, 48.0, 48",
    "right: which_need: a list in order": 'chosen = ["compiled", "int8", "checkpointed", "pairs", "pairs", "pairs"]',
    "right: which_need: capitals": 'chosen = {"A": "Compiled", "B": "int8", "c": "checkpointed", "d": "pairs", "e": "pairs", "f": "pairs"}',
    "right: counted_pairs: an array": {"return float(np.mean(": "return np.float64(np.mean("},
    "right: letter_drawn: a NumPy number":
        {"return int((np.cumsum(p / p.sum()) > u).argmax())": "return (np.cumsum(p / p.sum()) > u).argmax()"},
}
# %% right: letter_drawn: a loop over the letters
def drawn(scores, temperature, k, u):
    left = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    weights = {i: np.exp((scores[i] - scores[left[0]]) / temperature) for i in left}
    total, so_far = sum(weights.values()), 0.0
    for i in sorted(left):
        so_far += weights[i] / total
        if so_far > u:
            return i
# %% right: letter_drawn: by minus infinity and searchsorted
def drawn(scores, temperature, k, u):
    y = np.where(scores < np.sort(scores)[::-1][k - 1], -np.inf, scores) / temperature
    p = np.exp(y - y.max())
    return np.searchsorted(np.cumsum(p) / p.sum(), u, side="right")
# %% wrong: letter_drawn: a sum that is equal to u is enough
def drawn(scores, temperature, k, u):
    left = np.sort(np.argsort(scores)[-k:])
    p = np.exp((scores[left] - scores.max()) / temperature)
    return left[np.searchsorted(np.cumsum(p / p.sum()), u)]
# %% wrong: letter_drawn: no temperature
def drawn(scores, temperature, k, u):
    p = np.exp(scores - scores.max()) * (scores >= np.sort(scores)[-k])
    return int((np.cumsum(p / p.sum()) > u).argmax())
# %% right: counted_pairs: by strings
def counted(learn, held):
    from math import log2

    def share(pair):
        count = {a + b: 1 for a in "abc" for b in "abc"}
        for i in range(len(learn) - 1):
            count[learn[i : i + 2]] += 1
        return count[pair] / sum(n for name, n in count.items() if name[0] == pair[0])

    return sum(-log2(share(held[i : i + 2])) for i in range(len(held) - 1)) / (len(held) - 1)
# %% wrong: counted_pairs: divided by all letters of the held-out text
def counted(learn, held):
    table = np.ones((3, 3))
    for a, b in zip(learn, learn[1:]):
        table["abc".index(a), "abc".index(b)] += 1
    table /= table.sum(1, keepdims=True)
    return -sum(np.log2(table["abc".index(a), "abc".index(b)]) for a, b in zip(held, held[1:])) / len(held)
# %% right: cached_work: by formulas
def work(p, n, layers, channels):
    rows = p + n - 1
    return n * p + n * (n - 1) // 2, rows, rows * layers * channels * 8
# %% wrong: cached_work: bytes of float64
def work(p, n, layers, channels):
    return sum(range(p, p + n)), p + n - 1, 16 * layers * channels * (p + n - 1)
# %% right: which_need: from pairs of letters
chosen = dict(zip("abcdef", "compiled int8 checkpointed pairs pairs pairs".split()))
# %% right: which_need: words with capitals
chosen = {"a": "Compiled", "b": "int8", "c": "Checkpointed", "d": "Pairs", "e": "Pairs", "f": "pairs"}
