"""Autograd as the tutorials and the notes on its mechanics use it."""



def fill(torch, *tensors):
    """Weights that are the same in both engines: sin 1, sin 2, …"""
    with torch.no_grad():
        for x in tensors:
            x.copy_(torch.sin(torch.arange(1.0, x.numel() + 1)).reshape(x.shape) / 2)
    return tensors[0]


def the_first_example(torch):
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    out.backward()
    return y.grad_fn is not None, z.grad_fn.name()[:3], out, x.grad


def names_in_the_graph(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2 + 1).exp().sum()
    names, f = [], y.grad_fn
    while f is not None:
        names.append(f.name().removesuffix("0").removeprefix("torch::autograd::"))
        f = f.next_functions[0][0] if f.next_functions else None
    return names


def a_jacobian_vector_product(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    y.backward(torch.tensor([0.1, 1.0, 0.0001]))
    return x.grad


def data_is_a_tensor_without_history(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.data
    y.mul_(10)
    x.data.add_(1)
    x.data -= 0.5
    x.data = x.data.clone() * 2
    return x, y.requires_grad, x.data.sum(), x.data.shape, x.is_leaf, x.data[0]


def steps_by_hand_through_data(torch):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    for _ in range(3):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        w.data.sub_(0.1 * w.grad.data)
        w.grad.data.zero_()
    return w, w.grad


def steps_by_hand_without_data(torch):
    w, b = torch.zeros(3, requires_grad=True), torch.zeros((), requires_grad=True)
    x = torch.arange(12.0).view(4, 3) / 10
    y = x.sum(1) * 2 + 1
    for _ in range(5):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= w.grad * 0.1
            b -= b.grad * 0.1
            w.grad.zero_()
            b.grad = None
    return w, b, loss.item(), w.is_leaf, w.requires_grad


def a_polynomial_fitted(torch):
    x = torch.linspace(-3, 3, 20)
    y = torch.sin(x)
    a, b = (torch.full((), v, requires_grad=True) for v in (0.1, 0.2))
    for _ in range(10):
        y_pred = a + b * x
        loss = (y_pred - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            a -= 1e-3 * a.grad
            b -= 1e-3 * b.grad
            a.grad = None
            b.grad = None
    return a.item(), b.item(), f"{loss.item():.4f}"


def gradients_accumulate(torch):
    x = torch.ones(4, 5, requires_grad=True)
    out = (x + 1).pow(2).t()
    out.backward(torch.ones_like(out), retain_graph=True)
    first = x.grad.clone()
    out.backward(torch.ones_like(out), retain_graph=True)
    second = x.grad.clone()
    x.grad.zero_()
    out.backward(torch.ones_like(out))
    return first, second, x.grad


def requires_grad_spreads(torch):
    x, y = torch.rand(5, 5), torch.rand((5, 5), requires_grad=True)
    return (
        (x + x).requires_grad, (x + y).requires_grad, y.requires_grad_().requires_grad,
        x.requires_grad_(True).requires_grad, (y > 0).requires_grad, y.argmax().requires_grad, y.detach().requires_grad,
    )


def the_flag_set(torch):
    a = torch.randn(2, 2)
    a = (a * 3) / (a - 1)
    before = a.requires_grad
    a.requires_grad_(True)
    b = (a * a).sum()
    c = torch.zeros(2)
    c.requires_grad = True
    return before, b.grad_fn is not None, c.requires_grad, b.requires_grad, a.is_leaf, a.retains_grad


def freezing_half(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    fill(torch, *model.parameters())
    for p in model[0].parameters():
        p.requires_grad = False
    model[2].requires_grad_(True)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    loss = model(torch.ones(5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    learned = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return model[0].weight.grad is None, model[2].weight, learned


def freezing_by_filter(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith("1")
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
    return (
        len(optimizer.param_groups), len(optimizer.param_groups[0]["params"]),
        [n for n, p in model.named_parameters() if not p.requires_grad],
    )


def no_grad_in_three_ways(torch):
    x = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def f(x):
        return x * 2

    @torch.inference_mode()
    def g(x):
        return x * 2

    with torch.set_grad_enabled(False):
        y = x * 2
    with torch.no_grad(), torch.enable_grad():
        z = x * 2
    return (
        f(x).requires_grad, g(x).requires_grad, y.requires_grad, z.requires_grad, torch.is_grad_enabled(),
        g(x).is_inference(),
    )


def set_grad_enabled_as_a_function(torch):
    x = torch.ones(1, requires_grad=True)
    torch.set_grad_enabled(False)
    a = (x * 2).requires_grad
    torch.set_grad_enabled(True)
    return a, (x * 2).requires_grad


def detach_and_clone(torch):
    x = torch.ones(5, requires_grad=True)
    y, z = x.detach() ** 2, x**3
    (y + z).sum().backward()
    d = x.detach()
    with torch.no_grad():
        d[0] = 9
    c = x.detach().clone().requires_grad_(True)
    (c * 2).sum().backward()
    e = x.clone()
    e[0] = 0
    return x.grad, x, c.grad, e, torch.tensor(x.tolist()), c.data


def a_new_function(torch):
    class LegendrePolynomial3(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return 0.5 * (5 * input**3 - 3 * input)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            return grad_output * 1.5 * (5 * input**2 - 1)

    x = torch.linspace(-1, 1, 7, requires_grad=True)
    y = LegendrePolynomial3.apply(x)
    y.sum().backward()
    return y, x.grad, torch.autograd.gradcheck(LegendrePolynomial3.apply, (x,)), y.grad_fn.name()


def a_function_like_a_linear_layer(torch):
    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, weight, bias=None):
            ctx.save_for_backward(input, weight, bias)
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0)
            return grad_input, grad_weight, grad_bias

    x, w, b = torch.arange(6.0).view(2, 3), torch.ones(4, 3, requires_grad=True), torch.ones(4, requires_grad=True)
    LinearFunction.apply(x, w, b).pow(2).sum().backward()
    y = LinearFunction.apply(x, w)
    return w.grad, b.grad, y


def a_function_with_setup_context(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, k = inputs
            ctx.k = k
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g):
            return (g * ctx.k, None) if g is not None else (None, None)

    x = torch.ones(3, requires_grad=True)
    Scale.apply(x, 4.0).sum().backward()
    return x.grad


def a_straight_through_estimator(torch):
    class STE(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x > 0).float().to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            return torch.nn.functional.hardtanh(g)

    x = torch.tensor([-1.0, 0.5], requires_grad=True)
    (STE.apply(x) * torch.tensor([3.0, 0.2])).sum().backward()
    y = x + (x.round() - x).detach()
    y.sum().backward()
    return x.grad


def a_gradient_reversal(torch):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, lambd):
            ctx.lambd = lambd
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.neg() * ctx.lambd, None

    x = torch.ones(3, requires_grad=True)
    Reverse.apply(x * 2, 0.5).sum().backward()
    return x.grad


def gradient_penalty(torch):
    D = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LeakyReLU(0.2), torch.nn.Linear(8, 1))
    fill(torch, *D.parameters())
    real, fake = torch.arange(12.0).view(3, 4) / 10, torch.ones(3, 4)
    alpha = torch.tensor([0.2, 0.5, 0.7]).view(3, 1).expand_as(real)
    interpolates = (alpha * real.data + (1 - alpha) * fake.data).requires_grad_(True)
    d = D(interpolates)
    gradients = torch.autograd.grad(
        outputs=d, inputs=interpolates, grad_outputs=torch.ones(d.size()), create_graph=True, retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
    (D(fake).mean() - D(real).mean() + 10 * penalty).backward()
    return penalty, [p.grad for p in D.parameters()]


def maml(torch):
    w = torch.tensor([0.5, -0.3], requires_grad=True)
    x, y = torch.arange(8.0).view(4, 2) / 4, torch.ones(4)
    meta = 0
    for shift in (0.0, 1.0):
        fast = w
        for _ in range(2):
            loss = ((x @ fast - y - shift) ** 2).mean()
            (g,) = torch.autograd.grad(loss, fast, create_graph=True)
            fast = fast - 0.1 * g
        meta = meta + ((x @ fast - y * 2) ** 2).mean()
    meta.backward()
    return w.grad, meta


def maml_through_functional_call(torch):
    model = torch.nn.Linear(2, 1)
    fill(torch, model.weight, model.bias)
    x, y = torch.arange(8.0).view(4, 2) / 4, torch.ones(4, 1)
    params = dict(model.named_parameters())
    loss = torch.nn.functional.mse_loss(torch.func.functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
    fast = {name: p - 0.1 * g for (name, p), g in zip(params.items(), grads)}
    torch.nn.functional.mse_loss(torch.func.functional_call(model, fast, x), y).backward()
    return model.weight.grad, model.bias.grad


def hessian_vector_products(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = torch.tensor([1.0, 0.0, -1.0])

    def f(x):
        return (x.exp() * x.sum()).sum()

    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (hv,) = torch.autograd.grad(g @ v, x, retain_graph=True)
    (again,) = torch.autograd.grad(g, x, grad_outputs=v)
    full = torch.autograd.functional.hessian(f, x)
    return (
        hv, again, full @ v, torch.autograd.functional.hvp(f, x, v)[1],
        torch.func.jvp(torch.func.grad(f), (x,), (v,))[1],
    )


def per_sample_gradients(torch):
    model = torch.nn.Linear(3, 2)
    fill(torch, model.weight, model.bias)
    x, y = torch.arange(12.0).view(4, 3) / 10, torch.tensor([0, 1, 1, 0])
    rows = []
    for i in range(4):
        loss = torch.nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        rows.append(torch.autograd.grad(loss, list(model.parameters())))
    stacked = [torch.stack(gs) for gs in zip(*rows)]

    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss_of(params, sample, target):
        predictions = torch.func.functional_call(model, params, (sample.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(predictions, target.unsqueeze(0))

    batched = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(params, x, y)
    return stacked, batched


def jacobians(torch):
    def predict(weight, bias, x):
        return torch.nn.functional.linear(x, weight, bias).tanh()

    weight, bias, x = torch.ones(2, 3) / 3, torch.zeros(2), torch.arange(3.0)
    return (
        torch.func.jacrev(predict, argnums=2)(weight, bias, x),
        torch.func.jacfwd(predict, argnums=(0, 1))(weight, bias, x),
        torch.autograd.functional.jacobian(lambda x: predict(weight, bias, x), x),
        torch.func.grad_and_value(lambda x: predict(weight, bias, x).sum())(x),
        torch.func.hessian(lambda x: predict(weight, bias, x).sum())(x),
    )


def batches_mapped(torch):
    xs, w = torch.arange(6.0).view(2, 3), torch.tensor([1.0, 2.0, 3.0])
    return (
        torch.vmap(torch.dot, in_dims=(0, None))(xs, w), torch.func.vmap(lambda x: x.sum() * x)(xs),
        torch.func.vmap(torch.func.grad(lambda x: (x**3).sum()))(xs),
        torch.vmap(lambda x: x * 2, in_dims=1, out_dims=1)(xs),
    )


def checkpointing(torch):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint")
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3), torch.nn.Tanh())
    fill(torch, *layers.parameters())
    x = torch.ones(2, 3, requires_grad=True)
    checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward()
    first = x.grad.clone()
    torch.utils.checkpoint.checkpoint(layers, x, use_reentrant=False).sum().backward()
    return first, x.grad


def hooks(torch):
    seen = []
    v = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    h = v.register_hook(lambda grad: grad * 2)
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    h.remove()
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: seen.append(g.clone()))
    y.sum().backward()
    return v.grad, seen


def hooks_on_modules(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    fill(torch, *model.parameters())
    activations, grads = {}, []

    def save(name):
        def hook(module, input, output):
            activations[name] = output.detach()

        return hook

    handles = [m.register_forward_hook(save(n)) for n, m in model.named_children()]
    model[0].register_full_backward_hook(lambda m, gi, go: grads.append(go[0]))
    model[1].register_forward_pre_hook(lambda m, x: (x[0] * 2,))
    model(torch.ones(1, 2)).sum().backward()
    for h in handles:
        h.remove()
    return activations, grads


def an_anomaly(torch):
    x = torch.tensor([0.0], requires_grad=True)
    try:
        with torch.autograd.detect_anomaly(check_nan=True), torch.autograd.set_detect_anomaly(True):
            (x.sqrt() * 0).backward()
    except RuntimeError as e:
        return "found", "nan" in str(e).lower()


def an_edited_value_is_told(torch):
    a = torch.tensor([2.0], requires_grad=True)
    b = a.exp()
    b.add_(1)
    try:
        b.backward()
    except RuntimeError:
        return "refused", b._version


def twice_is_told(torch):
    a = torch.tensor([2.0], requires_grad=True)
    y = (a**2).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as e:
        return "refused", "retain_graph=True" in str(e)


def implicit_scalars(torch):
    x = torch.ones(3, requires_grad=True)
    try:
        (x * 2).backward()
    except RuntimeError:
        return "refused"


def mistakes(torch):
    said = []
    F, nn = torch.nn.functional, torch.nn
    for error, mistake in (
        (IndexError, lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 5]))),
        (RuntimeError, lambda: torch.ones(2, 3) @ torch.ones(2, 3)),
        (RuntimeError, lambda: torch.ones(2) + torch.ones(3)),
        (RuntimeError, lambda: nn.Linear(3, 2)(torch.ones(1, 4))), (RuntimeError, lambda: torch.ones(2, 3).view(4)),
        (RuntimeError, lambda: torch.tensor([1, 2], requires_grad=True)),
        (RuntimeError, lambda: torch.cat([torch.ones(2, 2), torch.ones(2, 3)])),
        (RuntimeError, lambda: torch.stack([torch.ones(2), torch.ones(3)])), (RuntimeError, lambda: torch.stack([])),
        (RuntimeError, lambda: torch.ones(3).item()), (RuntimeError, lambda: bool(torch.ones(3))),
        (ValueError, lambda: float(torch.zeros(2))), (RuntimeError, lambda: torch.zeros(2).backward()),
        (RuntimeError, lambda: torch.zeros(3).gather(0, torch.tensor([3]))),
        (RuntimeError, lambda: torch.einsum("ij,jk", torch.ones(2, 3), torch.ones(2, 3))),
        (RuntimeError, lambda: F.mse_loss(torch.ones(2), torch.ones(3))),
        (RuntimeError, lambda: nn.Conv2d(3, 4, 3)(torch.ones(1, 2, 5, 5))),
        (RuntimeError, lambda: nn.Linear(2, 2).load_state_dict({})),
        (RuntimeError, lambda: torch.linalg.inv(torch.zeros(2, 2))),
        (RuntimeError, lambda: torch.linalg.cholesky(-torch.eye(2))), (RuntimeError, lambda: torch.arange(0, 5, -1)),
        (RuntimeError, lambda: torch.ones(-1)), (IndexError, lambda: nn.Embedding(3, 2)(torch.tensor([3]))),
        (IndexError, lambda: torch.zeros(2)[5]), (IndexError, lambda: torch.zeros(2)[torch.tensor([5])]),
        (IndexError, lambda: torch.zeros(2, 3).squeeze(5)), (IndexError, lambda: torch.zeros(2, 3).sum(5)),
        (IndexError, lambda: torch.ones(2, 3).unsqueeze(7)), (IndexError, lambda: torch.ones(2, 3).transpose(0, 4)),
        (ValueError, lambda: torch.tensor([[1.0], [1.0, 2.0]])), (ValueError, lambda: torch.optim.SGD([], lr=0.1)),
        (ValueError, lambda: torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=-0.1)),
        (ValueError, lambda: nn.Dropout(2.0)), (TypeError, lambda: torch.from_numpy([1.0])),
        (TypeError, lambda: len(torch.tensor(1.0))), (TypeError, lambda: [1, 2][torch.tensor(1.5)]),
        (AttributeError, lambda: torch.ones(2).no_such_thing), (NotImplementedError, lambda: nn.Module()(1)),
    ):
        try:
            mistake()
            said.append("fine")
        except error as e:
            said.append("refused" if str(e) else "without a word")
    return said


def weights_tied(torch):
    encoder, decoder = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)
    decoder.weight = encoder.weight
    fill(torch, encoder.weight)
    model = torch.nn.ModuleList([encoder, decoder])
    torch.nn.functional.cross_entropy(decoder(encoder(torch.tensor([0, 1, 4]))), torch.tensor([1, 2, 3])).backward()
    return (
        encoder.weight.grad, len(list(model.parameters())), sorted(model.state_dict()),
        decoder.weight is encoder.weight,
    )


def gradients_clipped(torch):
    model = torch.nn.Linear(3, 2)
    fill(torch, *model.parameters())
    (model(torch.ones(4, 3)) * 100).pow(2).sum().backward()
    total = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    clipped = [p.grad.clone() for p in model.parameters()]
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
    return total, clipped, [p.grad for p in model.parameters()], float(total) > 1


def total_norm_by_hand(torch):
    model = torch.nn.Linear(3, 2)
    fill(torch, *model.parameters())
    model(torch.ones(4, 3)).pow(2).sum().backward()
    total = 0
    for p in model.parameters():
        total += p.grad.data.norm(2).item() ** 2
    return (
        total**0.5, torch.norm(torch.stack([torch.norm(p.grad.detach(), 2) for p in model.parameters()]), 2),
        torch.cat([p.grad.flatten() for p in model.parameters()]).norm(),
    )


def gradient_accumulation(torch):
    model = torch.nn.Linear(2, 1)
    fill(torch, *model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.arange(16.0).view(8, 2) / 16, torch.ones(8, 1)
    for i in range(4):
        loss = torch.nn.functional.mse_loss(model(x[2 * i : 2 * i + 2]), y[2 * i : 2 * i + 2]) / 2
        loss.backward()
        if (i + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    return list(model.parameters()), model.weight.grad


def grads_of_none_and_of_zeros(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    g = torch.autograd.grad((x * 2).sum(), (x, y), allow_unused=True)
    optimizer = torch.optim.SGD([x, y], lr=1.0)
    (x * 3).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return g[1] is None, x, y, x.grad, y.grad is None


def loss_summed_over_steps(torch):
    x = torch.ones(2, requires_grad=True)
    losses = []
    total = 0.0
    for k in range(3):
        loss = (x * k).sum()
        losses.append(loss)
        total += loss.item()
    sum(losses).backward()
    return x.grad, total, torch.stack(losses).mean(), torch.tensor([l.item() for l in losses])


def forward_mode(torch):
    import importlib

    fwAD = importlib.import_module(torch.__name__ + ".autograd.forward_ad")
    primal, tangent = torch.arange(3.0), torch.ones(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(primal, tangent)
        return fwAD.unpack_dual(dual.sin() * dual).tangent


def saved_tensors_packed(torch):
    packed = []
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        y = (x * x).sum()
    y.backward()
    return x.grad, len(packed) > 0
