"""Training as the examples write it: data, loops, optimisers, schedules, evaluation."""

import numpy as np

from .gradients import fill
from .networks import fill_all


def blobs(torch, n):
    x = torch.sin(torch.arange(2.0 * n) * 1.7).view(n, 2)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def the_mnist_example(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, 1)
            self.conv2 = nn.Conv2d(4, 4, 3, 1)
            self.dropout1 = nn.Dropout(0.0)
            self.fc1 = nn.Linear(16, 8)
            self.fc2 = nn.Linear(8, 10)

        def forward(self, x):
            x = self.conv1(x)
            x = F.relu(x)
            x = self.conv2(x)
            x = F.relu(x)
            x = F.max_pool2d(x, 2)
            x = self.dropout1(x)
            x = torch.flatten(x, 1)
            x = F.relu(self.fc1(x))
            x = self.fc2(x)
            return F.log_softmax(x, dim=1)

    def train(model, device, train_loader, optimizer, epoch, said):
        model.train()
        for batch_idx, (data, target) in enumerate(train_loader):
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            if batch_idx % 2 == 0:
                said.append("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
                    epoch, batch_idx * len(data), len(train_loader.dataset), 100.0 * batch_idx / len(train_loader),
                    loss.item(),
                ))

    def test(model, device, test_loader):
        model.eval()
        test_loss = correct = 0
        with torch.no_grad():
            for data, target in test_loader:
                data, target = data.to(device), target.to(device)
                output = model(data)
                test_loss += F.nll_loss(output, target, reduction="sum").item()
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.view_as(pred)).sum().item()
        return test_loss / len(test_loader.dataset), correct

    device = torch.device("cpu")
    x, y = torch.sin(torch.arange(12.0 * 64)).view(12, 1, 8, 8), torch.arange(12) % 10
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4, shuffle=False)
    model = fill_all(torch, Net().to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    said = []
    for epoch in range(1, 3):
        train(model, device, loader, optimizer, epoch, said)
        found = test(model, device, loader)
        scheduler.step()
    return said, found, scheduler.get_last_lr(), model.fc2.bias


def the_nn_tutorial(torch):
    F, nn = torch.nn.functional, torch.nn
    from importlib import import_module

    data = import_module(torch.__name__ + ".utils.data")
    x, y = blobs(torch, 20)
    train_ds = data.TensorDataset(x, y)
    train_dl = data.DataLoader(train_ds, batch_size=8)

    def loss_batch(model, loss_func, xb, yb, opt=None):
        loss = loss_func(model(xb), yb)
        if opt is not None:
            loss.backward()
            opt.step()
            opt.zero_grad()
        return loss.item(), len(xb)

    model = fill_all(torch, nn.Linear(2, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    said = []
    for epoch in range(2):
        model.train()
        for xb, yb in train_dl:
            loss_batch(model, F.cross_entropy, xb, yb, opt)
        model.eval()
        with torch.no_grad():
            losses, nums = zip(*[loss_batch(model, F.cross_entropy, xb, yb) for xb, yb in train_dl])
        said.append(np.sum(np.multiply(losses, nums)) / np.sum(nums))
        valid_loss = sum(F.cross_entropy(model(xb), yb) for xb, yb in train_dl)
    xb, yb = train_ds[0:4]
    return (
        said, valid_loss / len(train_dl), (torch.argmax(model(x), dim=1) == y).float().mean(), xb, yb, len(train_ds),
        len(train_dl),
    )


def a_data_set_of_ones_own(torch):
    Dataset, DataLoader = torch.utils.data.Dataset, torch.utils.data.DataLoader

    class Squares(Dataset):
        def __init__(self, n, transform=None):
            self.n, self.transform = n, transform

        def __len__(self):
            return self.n

        def __getitem__(self, idx):
            sample = {"x": np.full(2, idx, dtype=np.float64), "y": idx**2, "name": str(idx)}
            return self.transform(sample) if self.transform else sample

    loader = DataLoader(Squares(5, lambda s: s | {"x": torch.from_numpy(s["x"]) / 2}), batch_size=2, num_workers=0)
    batches = [(b["x"], b["y"], b["name"]) for b in loader]
    last = DataLoader(Squares(5), batch_size=2, drop_last=True)
    pairs = DataLoader([(torch.tensor(float(i)), i) for i in range(3)], batch_size=3)
    own = DataLoader([1, 2, 3], batch_size=2, collate_fn=lambda b: sum(b))
    first, labels = next(iter(pairs))
    return batches, len(loader), len(last), first, labels, list(own), len(loader.dataset), loader.batch_size


def data_divided(torch):
    data = torch.utils.data
    x = torch.arange(10)
    ds = data.TensorDataset(x)
    g = torch.Generator().manual_seed(42)
    a, b = data.random_split(ds, [7, 3], generator=g)
    c, d = data.random_split(ds, [0.8, 0.2])
    both = data.ConcatDataset([data.Subset(ds, [0, 1]), data.Subset(ds, [8])])
    g = torch.Generator().manual_seed(0)
    loader = data.DataLoader(ds, batch_size=3, shuffle=True, generator=g, pin_memory=False, num_workers=0)
    seen = torch.cat([b for (b,) in loader])
    return (
        len(a), len(b), len(c), sorted(int(s[0]) for s in a) != [], [int(s[0]) for s in both], seen.sort().values,
        len(list(loader)), [list(data.BatchSampler(range(5), 2, last)) for last in (True, False)],
    )


def samplers(torch):
    data = torch.utils.data
    ds = data.TensorDataset(torch.arange(6))
    a = data.DataLoader(ds, batch_size=2, sampler=data.SubsetRandomSampler([1, 3, 5]))
    b = data.DataLoader(ds, batch_sampler=[[0, 1], [4, 5]])
    c = data.DataLoader(ds, sampler=data.WeightedRandomSampler(torch.tensor([0.0, 1.0, 0, 0, 0, 0]), 3))
    return sorted(int(i) for (x,) in a for i in x), [x for (x,) in b], [int(x) for (x,) in c]


def an_iterable_data_set(torch):
    class Counter(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    return list(torch.utils.data.DataLoader(Counter(), batch_size=2))


def workers_and_bars(torch):
    from tqdm import tqdm

    x, y = blobs(torch, 20)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=6)
    model = fill_all(torch, torch.nn.Linear(2, 2))
    running = 0.0
    with tqdm(loader, unit="batch", disable=True) as bar:
        for step, (data, target) in enumerate(bar):
            loss = torch.nn.functional.cross_entropy(model(data), target)
            running += loss.item() * data.size(0)
            correct = (model(data).argmax(1) == target).sum().item()
            bar.set_postfix(loss=loss.item(), accuracy=100.0 * correct / len(data))
    return running / len(loader.dataset), step


def optimizers(torch):
    found = []
    for make in (
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda ps: torch.optim.Adam(ps, lr=0.1, amsgrad=True, weight_decay=0.1), lambda ps: torch.optim.AdamW(ps),
        lambda ps: torch.optim.RMSprop(ps, lr=0.01, alpha=0.9, centered=True, momentum=0.5),
        lambda ps: torch.optim.Adagrad(ps, lr=0.1), lambda ps: torch.optim.Adadelta(ps, lr=0.5),
        lambda ps: torch.optim.Adamax(ps, lr=0.1), lambda ps: torch.optim.NAdam(ps, lr=0.1),
        lambda ps: torch.optim.RAdam(ps, lr=0.1), lambda ps: torch.optim.SGD(ps, lr=0.1, maximize=True),
        lambda ps: torch.optim.SGD(ps, 1e-2),
        lambda ps: torch.optim.Adam([{"params": ps[:1]}, {"params": ps[1:], "lr": 0.5}], lr=0.1),
    ):
        model = fill_all(torch, torch.nn.Linear(3, 2))
        optimizer = make(list(model.parameters()))
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(2, 3)).pow(2).sum().backward()
            optimizer.step()
        found.append(model.weight.detach().clone())
    return found


def optimizers_printed(torch):
    p = torch.nn.Parameter(torch.ones(1))
    o = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    group = o.param_groups[0]
    return group["lr"], group["momentum"], o.defaults["lr"], sorted(o.state_dict()), len(o.state)


def groups_with_their_own_rates(torch):
    base, head = fill_all(torch, torch.nn.Linear(2, 2)), fill_all(torch, torch.nn.Linear(2, 1))
    groups = [{"params": base.parameters()}, {"params": head.parameters(), "lr": 1e-3}]
    o = torch.optim.SGD(groups, lr=1e-2, momentum=0.9)
    for g in o.param_groups:
        g["lr"] *= 2
    o.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 0.3})
    decay = [p for n, p in base.named_parameters() if not n.endswith("bias")]
    head(base(torch.ones(1, 2))).sum().backward()
    o.step()
    return [g["lr"] for g in o.param_groups], base.weight, head.weight, len(decay)


def a_closure(torch):
    model = fill_all(torch, torch.nn.Linear(2, 1))
    o = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure():
        o.zero_grad()
        loss = model(torch.ones(1, 2)).pow(2).sum()
        loss.backward()
        return loss

    return [o.step(closure).item() for _ in range(3)]


def schedules(torch):
    S = torch.optim.lr_scheduler
    found = {}
    for name, make in {
        "step": lambda o: S.StepLR(o, 2, 0.5), "multi": lambda o: S.MultiStepLR(o, [2, 4], gamma=0.1),
        "exp": lambda o: S.ExponentialLR(o, 0.9), "cosine": lambda o: S.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
        "lambda": lambda o: S.LambdaLR(o, lr_lambda=lambda e: 0.95**e),
        "linear": lambda o: S.LinearLR(o, start_factor=0.1, total_iters=4),
        "onecycle": lambda o: S.OneCycleLR(o, max_lr=1.0, total_steps=8),
        "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3),
        "warm": lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=2), S.CosineAnnealingLR(o, 4)], [2]),
        "poly": lambda o: S.PolynomialLR(o, total_iters=5, power=2.0), "constant": lambda o: S.ConstantLR(o, 0.5, 3),
    }.items():
        o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5, momentum=0.9)
        s, rates = make(o), []
        for _ in range(7):
            o.step()
            rates.append(o.param_groups[0]["lr"])
            s.step()
        found[name] = rates, s.get_last_lr()
    return found


def a_schedule_on_a_plateau(torch):
    o = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, "min", patience=1, factor=0.1)
    rates = []
    for loss in (1.0, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8):
        s.step(torch.tensor(loss))
        rates.append(o.param_groups[0]["lr"])
    return rates, s.state_dict()["best"], s.get_last_lr()


def early_stopping_with_the_best_state(torch):
    import copy

    model = fill_all(torch, torch.nn.Linear(1, 1))
    o = torch.optim.SGD(model.parameters(), lr=0.9)
    best, best_state, wait = float("inf"), None, 0
    for epoch in range(10):
        o.zero_grad()
        loss = (model(torch.ones(2, 1)) - 1).abs().mean()
        loss.backward()
        if loss < best:
            best, wait = loss.item(), 0
            best_state = copy.deepcopy(model.state_dict())
        else:
            wait += 1
            if wait >= 3:
                break
        o.step()
    model.load_state_dict(best_state)
    return epoch, best, model.weight


def policy_gradient(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    policy = fill_all(torch, nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    saved_log_probs, rewards = [], []
    state = np.array([0.1, 0.2, -0.1, 0.4])
    for t in range(5):
        probs = F.softmax(policy(torch.from_numpy(state).unsqueeze(0)), dim=1)
        action = torch.tensor([t % 2])
        saved_log_probs.append(torch.log(probs.gather(1, action.unsqueeze(1))).squeeze(1))
        rewards.append(1.0 - 0.1 * t)
        state = state + 0.05 * action.item()
    R, returns = 0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + np.finfo(np.float32).eps.item())
    policy_loss = [-log_prob * R for log_prob, R in zip(saved_log_probs, returns)]
    loss = torch.cat(policy_loss).sum()
    loss.backward()
    return loss, returns, policy[0].weight.grad


def actor_and_critic(torch):
    F = torch.nn.functional
    logits = torch.tensor([[0.1, 0.5], [0.3, -0.2]], requires_grad=True)
    values = torch.tensor([0.3, 0.7], requires_grad=True)
    R = torch.tensor([1.0, 0.5])
    log_probs = F.log_softmax(logits, dim=-1)[range(2), [1, 0]]
    advantage = R - values.detach()
    ratio = (log_probs - log_probs.detach()).exp()
    clipped = torch.min(ratio * advantage, torch.clamp(ratio, 0.8, 1.2) * advantage)
    entropy = -(F.softmax(logits, -1) * F.log_softmax(logits, -1)).sum(-1).mean()
    loss = -clipped.mean() + 0.5 * F.smooth_l1_loss(values, R) - 0.01 * entropy
    loss.backward()
    return loss, logits.grad, values.grad


def deep_q_learning(torch):
    nn = torch.nn
    policy, target = (fill_all(torch, nn.Linear(3, 2)) for _ in range(2))
    target.load_state_dict(policy.state_dict())
    o = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    state = torch.sin(torch.arange(12.0)).view(4, 3)
    action, reward = torch.tensor([[0], [1], [1], [0]]), torch.tensor([1.0, 0.0, 1.0, 1.0])
    non_final = torch.tensor([True, True, False, True])
    for _ in range(3):
        state_action_values = policy(state).gather(1, action)
        next_values = torch.zeros(4)
        with torch.no_grad():
            next_values[non_final] = target(state[non_final]).max(1).values
        expected = next_values * 0.99 + reward
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        o.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
        o.step()
        new = target.state_dict()
        for key in policy.state_dict():
            new[key] = policy.state_dict()[key] * 0.05 + new[key] * 0.95
        target.load_state_dict(new)
    return loss, policy.weight, target.weight


def confusion_and_accuracy(torch):
    logits, y = torch.sin(torch.arange(18.0)).view(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    _, predicted = torch.max(logits.data, 1)
    confusion = torch.zeros(3, 3, dtype=torch.int64)
    for t, p in zip(y.view(-1), predicted.view(-1)):
        confusion[t.long(), p.long()] += 1
    _, pred = logits.topk(2, 1, True, True)
    correct = pred.t().eq(y.view(1, -1).expand_as(pred.t()))
    per_class = confusion.diag() / confusion.sum(1)
    return (
        confusion, (predicted == y).sum().item(), correct[:1].reshape(-1).float().sum(0), per_class,
        (predicted == y).double().mean(), confusion.sum().item(), 100 * correct.sum().item() // 6,
    )


def text_generated(torch):
    torch.manual_seed(0)
    table = torch.sin(torch.arange(25.0)).view(5, 5)
    idx = torch.zeros((1, 1), dtype=torch.long)
    for _ in range(4):
        logits = table[idx][:, -1, :] / 0.5
        v, _ = torch.topk(logits, min(3, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("Inf")
        probs = torch.nn.functional.softmax(logits, dim=-1)
        idx_next = torch.argmax(probs, dim=-1, keepdim=True)
        assert torch.multinomial(probs, num_samples=1).shape == idx_next.shape
        idx = torch.cat((idx, idx_next), dim=1)
    return idx, idx[0].tolist(), "".join("abcde"[i] for i in idx[0].tolist())


def bigrams_as_in_makemore(torch):
    words = ["emma", "ava", "mia"]
    chars = sorted(set("".join(words)))
    stoi = {s: i + 1 for i, s in enumerate(chars)} | {".": 0}
    N = torch.zeros((len(stoi), len(stoi)), dtype=torch.int32)
    for w in words:
        chs = ["."] + list(w) + ["."]
        for a, b in zip(chs, chs[1:]):
            N[stoi[a], stoi[b]] += 1
    P = (N + 1).float()
    P /= P.sum(1, keepdim=True)
    xs, ys = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
    W = fill(torch, torch.zeros(len(stoi), len(stoi), requires_grad=True))
    for _ in range(3):
        xenc = torch.nn.functional.one_hot(xs, num_classes=len(stoi)).float()
        logits = xenc.double() @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[torch.arange(3), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -5 * W.grad
    return N, P.double(), loss, W


def mlp_as_in_makemore(torch):
    C, W1, b1 = torch.zeros(5, 2), torch.zeros(6, 4), torch.zeros(4)
    parameters = [C, W1, b1]
    for p in parameters:
        fill(torch, p)
        p.requires_grad = True
    X, Y = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([3, 1])
    emb = C[X]
    hpreact = emb.view(-1, 6) @ W1 + b1
    bnmeani, bnstdi = hpreact.mean(0, keepdim=True), hpreact.std(0, keepdim=True)
    h = torch.tanh((hpreact - bnmeani) / (bnstdi + 1e-5))
    loss = torch.nn.functional.cross_entropy(h, Y)
    for p in parameters:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p -= 0.1 * p.grad
    return loss.item(), C, sum(p.nelement() for p in parameters), (0.1 * W1.std() / W1.data.std()).log10().item()


def a_style_transfer(torch):
    def gram_matrix(input):
        a, b, c, d = input.size()
        features = input.view(a * b, c * d)
        G = torch.mm(features, features.t())
        return G.div(a * b * c * d)

    image = torch.sin(torch.arange(18.0)).view(1, 2, 3, 3).requires_grad_()
    target = gram_matrix(torch.ones(1, 2, 3, 3)).detach()
    o = torch.optim.Adam([image], lr=0.1)
    for _ in range(3):
        with torch.no_grad():
            image.clamp_(0, 1)
        o.zero_grad()
        loss = torch.nn.functional.mse_loss(gram_matrix(image), target)
        loss.backward()
        o.step()
    return image, loss


def adversarial_examples(torch):
    model = fill_all(torch, torch.nn.Linear(4, 2))
    x, y = torch.ones(1, 4) / 3, torch.tensor([1])
    x.requires_grad = True
    loss = torch.nn.functional.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    perturbed = torch.clamp(x + 0.1 * x.grad.data.sign(), 0, 1)
    init_pred = model(x).max(1, keepdim=True)[1]
    return perturbed, init_pred.item(), model(perturbed)


def a_diffusion_step(torch):
    betas = torch.linspace(1e-4, 0.02, 10)
    alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
    prev = torch.nn.functional.pad(alphas_cumprod[:-1], (1, 0), value=1.0)

    def extract(a, t, x_shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))

    x, t = torch.sin(torch.arange(8.0)).view(2, 1, 2, 2), torch.tensor([3, 7])
    noise = torch.cos(torch.arange(8.0)).view(2, 1, 2, 2)
    q = extract(alphas_cumprod.sqrt(), t, x.shape) * x + extract((1 - alphas_cumprod).sqrt(), t, x.shape) * noise
    return q, prev, betas * (1.0 - prev) / (1.0 - alphas_cumprod)


def contrastive_learning(torch):
    F = torch.nn.functional
    z = torch.sin(torch.arange(24.0)).view(6, 4).requires_grad_()
    zn = F.normalize(z, dim=1)
    sim = zn @ zn.T / 0.5
    sim = sim.masked_fill(torch.eye(6, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(3) + 3, torch.arange(3)])
    loss = F.cross_entropy(sim, targets)
    loss.backward()
    return loss, z.grad, F.cosine_similarity(z[0], z[1], dim=0)


def graph_convolution(torch):
    edges = torch.tensor([[0, 1, 2, 2], [1, 0, 0, 1]])
    x = torch.sin(torch.arange(9.0)).view(3, 3).requires_grad_()
    out = torch.zeros(3, 3).index_add(0, edges[1], x[edges[0]])
    degree = torch.zeros(3).scatter_add(0, edges[1], torch.ones(4)).clamp(min=1)
    y = (out / degree.unsqueeze(-1)).relu()
    y.sum().backward()
    return y, x.grad, torch.bincount(edges[1], minlength=3)


def averaged_weights(torch):
    model = fill_all(torch, torch.nn.Linear(2, 1))
    import copy

    average, n = copy.deepcopy(model), 0
    for k in range(3):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(k)
            for a, p in zip(average.parameters(), model.parameters()):
                a.add_((p - a) / (n + 1))
        n += 1
    vector = torch.nn.utils.parameters_to_vector(average.parameters())
    torch.nn.utils.vector_to_parameters(vector * 2, model.parameters())
    return vector, model.weight


def the_whole_seeded(torch):
    def seed_everything(seed):
        import random

        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        torch.cuda.manual_seed_all(seed)

    seed_everything(1)
    a = torch.nn.Linear(3, 3).weight.detach().clone()
    seed_everything(1)
    return bool((a == torch.nn.Linear(3, 3).weight).all()), torch.cuda.is_available() in (True, False)
