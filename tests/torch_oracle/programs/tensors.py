"""Tensors as the tutorials use them: made, shown, converted, indexed, broadcast, edited in place."""

import copy
import math
import pickle

import numpy as np


def made_of_lists_and_of_others(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    ones = torch.ones_like(x)
    ints = torch.zeros_like(x, dtype=torch.int64)
    shape = torch.empty(5, 3).shape
    return x, ones, ints, shape == (5, 3), torch.full((2, 3), 7), torch.eye(3), torch.arange(0, 10, 3)


def new_ones_like_ones_own(torch):
    x = torch.zeros(2, 3, dtype=torch.float32)
    return x.new_ones(2), x.new_zeros((2, 2)), x.new_full((3,), 5.0), x.new_tensor([1, 2]), x.new_empty(0)


def sizes(torch):
    x = torch.zeros(2, 3, 4)
    b, t, c = x.size()
    return (
        x.size(), x.size(0), x.size(-1), x.shape[1], x.numel(), x.dim(), x.nelement(), b * t * c, len(x), list(x.shape),
    )


def size_said_by_name(torch):
    x = torch.zeros(2, 3, 4)
    return (
        x.size(dim=1), torch.numel(x), x.ndim, torch.Size([2, 3]) == (2, 3), torch.is_tensor(x), torch.is_tensor([1]),
    )


def bytes_counted(torch):
    x = torch.zeros(2, 3, dtype=torch.float32)
    return (
        x.element_size(), x.nbytes, x.itemsize, x.element_size() * x.nelement(), x.is_signed(),
        x.is_same_size(torch.ones(3, 2)),
    )


def strides(torch):
    x = torch.zeros(2, 3)
    return (
        x.stride(), x.stride(0), x.t().stride(), x.is_contiguous(), x.t().is_contiguous(),
        x.t().contiguous().is_contiguous(),
    )


def numbers_taken_out(torch):
    x = torch.tensor(3.7)
    i = torch.tensor(2)
    return (
        x.item(), float(x), int(x), bool(x), [10, 20, 30][i], list(range(i)), f"{x:.2f}", f"{i:3d}|",
        torch.tensor([[1, 2]]).tolist(), math.sqrt(x), round(float(x), 1),
    )


def format_of_a_tensor(torch):
    loss = torch.tensor(0.5)
    return f"{torch.tensor([1.0, 2.0])}", str(torch.tensor(1)), "%.3f" % torch.tensor(1.25), f"loss {loss}"


def as_dictionary_keys_and_members(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0])
    seen = {x: "x", y: "y"}
    return seen[x], len({x, y, x}), 2.0 in x, 5 in x


def loops_over_rows(torch):
    return (
        [row.sum() for row in torch.arange(6).reshape(3, 2)], [i for i, _ in enumerate(torch.zeros(4))],
        sum(torch.tensor([1.0, 2.0, 3.0])),
    )


def reversed_rows(torch):
    return list(reversed(torch.arange(3)))


def arithmetic_from_both_sides(torch):
    x = torch.tensor([1.0, 2.0, 3.0])
    return 1 - x, 2 / x, 2**x, 7 // x, 7 % x, -x, abs(-x), x**2, x @ x, +x


def masks(torch):
    x = torch.arange(-3, 4)
    return (
        x[x > 0], (x > 0) & (x < 3), (x < 0) | (x == 3), ~(x > 0), (x > 0).any(), (x > -9).all(), (x > 0).sum(),
        (x > 0).nonzero(), (x > 0) ^ (x < 2),
    )


def where_with_one_argument(torch):
    x = torch.tensor([[0, 3], [4, 0], [5, 6]])
    return (
        torch.where(x > 0), torch.where(x > 0, x, -1), torch.where(x > 0, 1.0, 0.0), torch.argwhere(x),
        torch.nonzero(x, as_tuple=True),
    )


def dtypes_converted(torch):
    x = torch.tensor([1.7, -2.2, 0.0])
    return (
        x.int(), x.long(), x.bool(), x.float(), x.half(), x.double(), x.to(torch.int32), x.type(torch.float32),
        x.type_as(torch.tensor([1])), x.byte().dtype == torch.uint8, x.char(),
    )


def dtypes_asked(torch):
    x = torch.zeros(1, dtype=torch.float32)
    return (
        x.dtype == torch.float32, x.dtype is torch.float32, x.is_floating_point(), torch.is_floating_point(x),
        torch.int64 == torch.long, torch.float == torch.float32, torch.int == torch.int32,
    )


def limits_of_dtypes(torch):
    return (
        torch.finfo(torch.float32).eps, torch.finfo(torch.float64).max, torch.finfo(torch.float16).min,
        torch.iinfo(torch.int32).max, torch.finfo(torch.float32).tiny, torch.finfo().bits,
    )


def promotion(torch):
    i, f = torch.tensor([1, 2]), torch.tensor([1.0, 2.0], dtype=torch.float32)
    return (
        (i + 1).dtype == torch.int64, (f + 1).dtype == torch.float32, i + 1.5, i / 2, i // 2, i > 1, i * True,
        torch.result_type(f, 1) == torch.float32,
    )


def the_numpy_bridge(torch):
    a = np.ones(3)
    x = torch.from_numpy(a)
    a += 1
    x.add_(1)
    b = x.numpy()
    b *= 2
    return x, a, torch.as_tensor(a)[0], torch.tensor(a) * 0 + 1, np.asarray(x), np.sin(a)


def numpy_of_what_requires_a_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    return x.detach().numpy(), x.detach().cpu().numpy()


def numpy_functions_of_tensors(torch):
    x = torch.tensor([1.0, 2.0])
    return np.array(x), np.mean(x.numpy()), np.array([x.numpy(), x.numpy()])


def printed(torch):
    return (
        repr(torch.tensor([1.0, 2.0, 3.0])), repr(torch.tensor([[1, 2], [3, 4]])), repr(torch.tensor([True, False])),
        repr(torch.tensor(2.5)), repr(torch.tensor([1.5, 2.25])), repr(torch.tensor([0.1234567, 12.5])),
        repr(torch.tensor([])), repr(torch.tensor(3)), repr(torch.zeros(0, 3)),
    )


def printed_in_scientific_notation(torch):
    return (
        repr(torch.tensor([1e-8, 1.0])), repr(torch.tensor([1e10, 1.0])),
        repr(torch.tensor([float("nan"), float("inf"), 1.0])),
    )


def printed_beside_one_far_larger(torch):
    far = [1001.5, 1.0], [999.5, 1.0], [1001.0, 1.0], [2e8, 1e8], [-1e-5, 0.02]
    return [repr(torch.tensor(data)) for data in far]


def printed_with_history(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return repr(x), repr(x.detach())


def printed_long(torch):
    return repr(torch.arange(2000))


def printed_in_blocks(torch):
    return (
        repr(torch.arange(8.0).reshape(2, 2, 2)), repr(torch.arange(24).reshape(2, 12)),
        repr(torch.tensor([-1.0, 20.0])),
    )


def indexing_of_many_kinds(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    rows = torch.tensor([0, 1])
    return (
        x[0], x[:, 1], x[..., -1], x[0, 1:, ::2], x[None].shape, x[:, None, 1].shape, x[rows, rows],
        x[[0, 1], [2, 0]], x[:, [0, 2]], x[rows[:, None], torch.tensor([0, 2])], x[x > 20], x[0][x[0] > 3],
    )


def indices_of_rows(torch):
    logits = torch.tensor([[1.0, 5.0, 2.0], [0.5, 0.1, 3.0]])
    y = torch.tensor([1, 2])
    return (
        logits[torch.arange(2), y], logits[range(2), y], logits.gather(1, y.view(-1, 1)).squeeze(1), logits[:, -1],
        logits[-1], logits[0:1], logits[torch.tensor([True, False])],
    )


def elements_set(torch):
    x = torch.zeros(3, 4)
    x[0] = 1
    x[:, 1] = torch.tensor([5.0, 6.0, 7.0])
    x[1, 2:] = torch.arange(2.0)
    x[x > 5] = -1
    x[[0, 2], [3, 3]] = torch.tensor([8.0, 9.0])
    x[..., 0] += 10
    return x


def in_place_idioms(torch):
    x = torch.arange(6.0).reshape(2, 3)
    x.add_(1).mul_(2)
    x.clamp_(3, 10)
    x[0].zero_()
    x[:, 0].fill_(4)
    y = x.clone()
    y.sub_(1).div_(2).pow_(2)
    y.masked_fill_(y > 10, 0)
    y.sqrt_().neg_().abs_()
    return x, y


def more_in_place(torch):
    x = torch.tensor([0.2, 0.5, 0.9])
    a = x.clone().add_(2, alpha=3)
    b = x.clone().addcmul_(x, x, value=2)
    c = x.clone().addcdiv_(x, x + 1, value=2)
    d = x.clone().lerp_(torch.ones(3), 0.5)
    e = x.clone().reciprocal_().floor_()
    h = x.clone().clamp_(min=0.4)
    return a, b, c, d, e, h


def in_place_operators(torch):
    i = torch.arange(6)
    i += 1
    i *= 2
    i -= 1
    i //= 2
    i %= 3
    b = torch.tensor([True, False, True])
    b &= torch.tensor([True, True, False])
    b |= torch.tensor([False, True, False])
    b ^= torch.tensor([True, True, True])
    x = torch.eye(2)
    x /= 2
    x **= 2
    return i, b, x


def scatter_in_place(torch):
    index = torch.tensor([[0, 1, 2], [2, 0, 1]])
    a = torch.zeros(2, 3).scatter_(1, index, torch.arange(6.0).view(2, 3))
    b = torch.zeros(2, 3).scatter_(1, torch.tensor([[1], [2]]), 1)
    c = torch.zeros(3).scatter_add_(0, torch.tensor([0, 0, 2]), torch.ones(3))
    d = torch.zeros(3, 2).index_add_(0, torch.tensor([0, 2, 0]), torch.ones(3, 2))
    e = torch.zeros(3, 2).index_fill_(0, torch.tensor([1]), 5)
    f = torch.zeros(3).index_put_((torch.tensor([1, 1]),), torch.ones(2), accumulate=True)
    g = torch.zeros(3, 2).index_copy_(0, torch.tensor([1]), torch.ones(1, 2))
    return a, b, c, d, e, f, g


def one_hot_in_three_ways(torch):
    y = torch.tensor([0, 2, 1])
    return (
        torch.nn.functional.one_hot(y, 3), torch.eye(3)[y], torch.zeros(3, 3).scatter_(1, y.unsqueeze(1), 1.0),
        (y[:, None] == torch.arange(3)).float(),
    )


def shapes_changed(torch):
    x = torch.arange(24)
    return (
        x.view(2, 3, 4).shape, x.view(-1, 8).shape, x.reshape(4, 6).T.shape, x.view(2, 3, 4).permute(2, 0, 1).shape,
        x.view(2, 3, 4).transpose(1, 2).shape, x.view(1, 24).squeeze().shape, x.unsqueeze(1).shape,
        x.view(2, 12).flatten().shape, x.view(2, 3, 4).flatten(1).shape, x.view(2, 3, 4).mT.shape, x.view(4, 6).H.shape,
    )


def joined_and_cut(torch):
    x = torch.arange(6).reshape(2, 3)
    a, b = x.chunk(2, dim=0)
    return (
        torch.cat([x, x], dim=1), torch.cat((x, x)), torch.stack([x, x], dim=-1), a, b, x.split([1, 2], dim=1),
        x.unbind(1), torch.vstack([x, x]), torch.hstack([x, x]), torch.column_stack([x, x]),
    )


def broadcasting(torch):
    x, y = torch.arange(3.0), torch.arange(4.0)
    distances = (x[:, None] - y[None, :]) ** 2
    a, b = torch.broadcast_tensors(x.unsqueeze(1), y)
    return (
        distances, a + b, x.expand(2, 3), x.expand(2, -1), x.view(3, 1).expand_as(a),
        torch.broadcast_shapes((3, 1), (4,)), x.repeat(2, 2), torch.outer(x, y), torch.cdist(x[:, None], y[:, None]),
    )


def reductions(torch):
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    values, indices = x.max(dim=1)
    top = x.topk(2, dim=1)
    return (
        x.sum(), x.sum(0), x.mean(dim=1, keepdim=True), x.std(), x.var(0), values, indices, x.argmax(),
        x.argmax(dim=-1), x.max(), x.min(1).values, top.values, top.indices, x.sort(descending=True)[0], x.cumsum(1),
        x.prod(), x.median(), x.norm(), torch.max(x, x * 0 + 2), x.sum((0, 1)), x.mean((0,)), x.any(1), x.argsort(1),
    )


def statistics(torch):
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    nan = torch.tensor([1.0, float("nan"), 3.0])
    return (
        torch.std_mean(x, dim=1), torch.var_mean(x), x.std(unbiased=False), x.var(1, keepdim=True), torch.nansum(nan),
        torch.nanmean(nan), torch.cov(x), torch.corrcoef(x), x.quantile(0.25), x.logsumexp(1),
    )


def sets(torch):
    x = torch.tensor([3, 1, 2, 1, 3])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return (
        values, inverse, counts, x.unique(), torch.bincount(x), torch.isin(x, torch.tensor([1, 2])),
        torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), True, True), torch.histc(x.double(), bins=3, min=1, max=3),
        x.bincount(minlength=6),
    )


def functions_with_keywords(torch):
    x = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
    return (
        torch.sum(input=x, dim=1), torch.softmax(x, dim=1), torch.clamp(x, min=-1, max=2),
        torch.squeeze(input=x[None], dim=0), torch.cat(tensors=[x, x], dim=0), torch.mean(x, 1, keepdim=True),
        torch.add(x, x, alpha=2), torch.mul(input=x, other=2), torch.transpose(x, dim0=0, dim1=1),
        torch.argmax(x, dim=1), torch.exp(input=x), torch.max(input=x, dim=0)[0],
    )


def methods_with_keywords(torch):
    x = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
    return (
        x.add(other=1), x.mul(other=x), x.pow(exponent=2), x.eq(other=1), x.div(other=2), x.matmul(other=x),
        x.clamp(min=0), x.type_as(other=x), x.masked_fill(mask=x > 0, value=0),
        x.gather(dim=1, index=torch.tensor([[0], [1]])), x.permute(dims=(1, 0)), x.isclose(other=x),
        x.maximum(other=x), x.index_select(dim=0, index=torch.tensor([1])), x.split(split_size=1, dim=1),
        x.flip(dims=(0,)), x.roll(shifts=1, dims=0),
    )


def einsums(torch):
    x, y = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    q, k = torch.arange(24.0).view(2, 3, 4), torch.arange(32.0).view(2, 4, 4)
    return (
        torch.einsum("ij,jk->ik", x, y), torch.einsum("ij->ji", x), torch.einsum("ij->", x),
        torch.einsum("ij,ij->i", x, x), torch.einsum("ii->i", y[:, :3]), torch.einsum("bqd,bkd->bqk", q, k),
        torch.einsum("i,j->ij", x[0], y[0]), torch.einsum("...d,d->...", q, y[0]),
    )


def products_of_vectors(torch):
    a, b = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]]), torch.tensor([[2.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    crossed = torch.cross(a, b, dim=1), torch.linalg.cross(a, b)
    return crossed, torch.vdot(a[0], b[0]), torch.dist(a, b), torch.cdist(a, b, p=1)


def matrices(torch):
    a = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    b = torch.tensor([1.0, 2.0])
    return (
        torch.linalg.solve(a, b), torch.linalg.inv(a), torch.linalg.det(a), torch.linalg.cholesky(a), a.mv(b), a.mm(a),
        torch.bmm(a[None], a[None]), torch.linalg.norm(a), torch.linalg.eigh(a).eigenvalues, torch.linalg.eigvalsh(a),
        torch.linalg.matrix_rank(a), torch.linalg.cond(a), a.inverse(), a.trace(), a.diag(), torch.linalg.svdvals(a),
        torch.baddbmm(a[None], a[None], a[None]), torch.addmv(b, a, b), torch.linalg.vector_norm(b, ord=1),
    )


def triangles(torch):
    n = 4
    mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
    causal = torch.tril(torch.ones(n, n)).bool()
    return (
        mask.exp(), causal, torch.ones(n, n).tril(-1), torch.triu_indices(3, 3),
        torch.tril(torch.ones(n, n, dtype=torch.bool)), torch.diag(torch.arange(3)),
        torch.block_diag(torch.ones(1, 2), torch.ones(2, 1)),
    )


def grids(torch):
    xs, ys = torch.linspace(-1, 1, 3), torch.linspace(0, 1, 2)
    gx, gy = torch.meshgrid(xs, ys, indexing="ij")
    return (
        gx, gy, torch.cartesian_prod(torch.arange(2), torch.arange(2)), torch.combinations(torch.arange(3)),
        torch.logspace(0, 2, 3), torch.linspace(0, 1, steps=5),
    )


def devices(torch):
    device = torch.device("cuda" if torch.cuda.is_available() and torch.cuda.device_count() > 99 else "cpu")
    x = torch.ones(2, device=device)
    y = x.to(device)
    return (
        y is x, x.device.type, str(x.device), x.to("cpu", torch.float32).dtype == torch.float32, x.device == device,
        x.is_cuda, x.cpu() is x, x.to(device=device, dtype=torch.int64, non_blocking=True),
        torch.zeros(2, device=x.device),
    )


def copied(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    z = copy.copy(x)
    w = pickle.loads(pickle.dumps(x))
    with torch.no_grad():
        y.add_(1)
    return x, y, y.grad, y.requires_grad, w, w.requires_grad, z.requires_grad


def a_result_is_not_deep_copied(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        copy.deepcopy(x * 2)
    except RuntimeError:
        return "refused"
    return "copied"


def random_numbers_repeat(torch):
    torch.manual_seed(3)
    a, b, c, d = torch.rand(2, 3), torch.randn(4), torch.randint(0, 10, (5,)), torch.randperm(6)
    torch.manual_seed(3)
    again = torch.rand(2, 3), torch.randn(4), torch.randint(0, 10, (5,)), torch.randperm(6)
    g = torch.Generator().manual_seed(5)
    h = torch.Generator()
    h.manual_seed(5)
    same = [bool((x == y).all()) for x, y in zip((a, b, c, d), again)]
    return (
        same, a.shape, bool((torch.rand(3, generator=g) == torch.rand(3, generator=h)).all()), d.sum(),
        torch.rand_like(a).shape, torch.normal(0.0, 1.0, (2, 2)).shape, torch.randint(3, (2,)).shape,
        torch.bernoulli(torch.ones(3)), torch.multinomial(torch.tensor([0.0, 1.0]), 1),
        torch.normal(torch.zeros(3), torch.zeros(3)),
    )


def the_state_of_the_seed(torch):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    return bool((a == torch.rand(3)).all()), torch.initial_seed()


def comparisons(torch):
    x = torch.tensor([1.0, 2.0])
    return (
        torch.equal(x, x.clone()), torch.allclose(x, x + 1e-9), torch.eq(x, 1), x.ne(1), x.isclose(x + 1e-9),
        x.isnan().any(), (x == x).all().item(), torch.isfinite(x), x.sign(), x.equal(x), x.lt(2),
    )


def windows(torch):
    x = torch.arange(7)
    return x.unfold(0, 3, 2), torch.arange(12).view(3, 4).unfold(1, 2, 1)


