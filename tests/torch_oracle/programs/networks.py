"""Networks as the tutorials write them: modules, their states, and one pass through each kind."""

import copy
import math
from collections import OrderedDict

from .gradients import fill


def fill_all(torch, model):
    for p in model.parameters():
        fill(torch, p)
    return model


def lenet_of_the_blitz(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()
            self.conv1 = nn.Conv2d(1, 6, 5)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = x.view(-1, self.num_flat_features(x))
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return self.fc3(x)

        def num_flat_features(self, x):
            size = x.size()[1:]
            num_features = 1
            for s in size:
                num_features *= s
            return num_features

    net = fill_all(torch, Net())
    params = list(net.parameters())
    x = torch.sin(torch.arange(32.0 * 32)).view(1, 1, 32, 32)
    out = net(x)
    net.zero_grad()
    out.backward(torch.ones(1, 10), retain_graph=True)
    first = net.conv1.bias.grad.clone()
    target = torch.arange(10.0).view(1, -1)
    criterion = nn.MSELoss()
    loss = criterion(net(x), target)
    net.zero_grad()
    loss.backward()
    learning_rate = 0.01
    for f in net.parameters():
        f.data.sub_(f.grad.data * learning_rate)
    return len(params), params[0].size(), out, first, loss, net.conv1.bias.grad, net.conv1.bias, str(net)


def sequentials_printed(torch):
    nn = torch.nn
    model = nn.Sequential(OrderedDict([
        ("conv1", nn.Conv2d(1, 20, 5)), ("relu1", nn.ReLU()),
        ("conv2", nn.Conv2d(20, 64, 5, padding=2, stride=2, bias=False)),
    ]))
    deep = nn.Sequential(
        nn.Flatten(), nn.Linear(28 * 28, 512), nn.ReLU(), nn.Dropout(0.5), nn.BatchNorm1d(512), nn.Softmax(dim=1),
        nn.LayerNorm(512),
    )
    return (
        repr(model), repr(deep), repr(nn.Linear(3, 4, bias=False)), repr(nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])),
        repr(nn.Embedding(5, 3, padding_idx=0)), repr(nn.LSTM(3, 4, num_layers=2, batch_first=True)),
        repr(nn.MaxPool2d(2)), repr(nn.ModuleDict({"a": nn.Tanh()})), repr(nn.ConvTranspose2d(3, 4, 4, 2, 1)),
        repr(nn.LeakyReLU(0.2)), repr(nn.GELU()), repr(nn.BatchNorm2d(3)), repr(nn.CrossEntropyLoss()),
        repr(nn.GRU(2, 3)), repr(nn.AdaptiveAvgPool2d((1, 1))), repr(nn.Conv1d(1, 2, 3, groups=1, dilation=2)),
        repr(nn.GroupNorm(2, 4)), repr(nn.Identity()), repr(nn.Unflatten(1, (2, 3))), repr(nn.AvgPool2d(2)),
    )


def modules_listed_are_shared(torch):
    nn = torch.nn
    return (
        repr(nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 3), nn.ReLU())),
        repr(nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])),
    )


def a_module_with_buffers(torch):
    nn = torch.nn

    class Running(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(n))
            self.register_parameter("bias", None)
            self.register_buffer("mean", torch.zeros(n))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.steps = 0

        def forward(self, x):
            if self.training:
                self.steps += 1
                self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            return (x - self.mean) * self.weight

        def extra_repr(self):
            return f"n={self.weight.shape[0]}"

    m = Running(2)
    x = torch.arange(6.0).view(3, 2)
    m(x).sum().backward()
    m.eval()
    y = m(x)
    return (
        m.mean, list(m.state_dict()), y, [n for n, _ in m.named_buffers()], repr(m), m.weight.grad, m.steps,
        isinstance(m.weight, nn.Parameter), isinstance(m.weight, torch.Tensor), m.bias is None,
    )


def a_state_goes_round(torch):
    nn = torch.nn
    a, b = (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)) for _ in range(2))
    fill_all(torch, a)
    a(torch.arange(8.0).view(4, 2))
    said = b.load_state_dict(a.state_dict())
    x = torch.ones(2, 2)
    a.eval()
    b.eval()
    for name, tensor in a.state_dict().items():
        tensor.size()
    missing, unexpected = b.load_state_dict({"0.weight": torch.ones(3, 2), "9.x": torch.ones(1)}, strict=False)
    try:
        b.load_state_dict({"0.weight": torch.ones(3, 2)})
        told = "no"
    except RuntimeError as e:
        told = "0.bias" in str(e)
    return (
        str(said), list(a.state_dict()), '0.bias' in missing, unexpected, told,
        a.state_dict()["0.weight"].requires_grad, {k: v.shape for k, v in a.state_dict().items()}, a(x),
    )


def a_checkpoint_resumed(torch):
    model = fill_all(torch, torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.arange(4.0).view(2, 2)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).pow(2).sum().backward()
        optimizer.step()
    checkpoint = copy.deepcopy({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other = torch.nn.Linear(2, 2)
    again = torch.optim.Adam(other.parameters(), lr=0.5)
    other.load_state_dict(checkpoint["model"])
    again.load_state_dict(checkpoint["optimizer"])
    for m, o in ((model, optimizer), (other, again)):
        o.zero_grad()
        m(x).pow(2).sum().backward()
        o.step()
    return model.weight, other.weight, again.param_groups[0]["lr"], sorted(checkpoint["optimizer"])


def a_model_copied(torch):
    model = fill_all(torch, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)))
    ema = copy.deepcopy(model)
    for p in ema.parameters():
        p.requires_grad_(False)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
        for e, p in zip(ema.parameters(), model.parameters()):
            e.mul_(0.9).add_(p, alpha=0.1)
        for e, p in zip(ema.parameters(), model.parameters()):
            e.copy_(e * 0.5 + p * 0.5)
            e.lerp_(p, 0.1)
    return list(ema.parameters()), ema[0].weight.requires_grad, list(model.parameters())


def parameters_counted(torch):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 2))
    total = sum(p.numel() for p in model.parameters())
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    names = [(name, tuple(p.shape)) for name, p in model.named_parameters()]
    return (
        total, trainable, names, sum(p.nelement() * p.element_size() for p in model.parameters()),
        len(list(model.modules())), [n for n, _ in model.named_modules()], next(model.parameters()).device.type,
        next(model.parameters()).is_leaf,
    )


def initialised_by_apply(torch):
    nn = torch.nn

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.0)
            m.bias.data.fill_(0.5)
        elif classname.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.0)
            nn.init.constant_(m.bias.data, 0)
        elif isinstance(m, nn.Linear):
            m.weight.data.fill_(0.5)
            m.bias.data.zero_()
            torch.nn.init.xavier_uniform_(m.weight)
            nn.init.constant_(m.weight, 0.25)

    model = nn.Sequential(nn.Conv2d(1, 1, 2), nn.BatchNorm2d(1), nn.Linear(2, 2)).apply(weights_init)
    return list(model.parameters())


def initialisers(torch):
    torch.manual_seed(0)
    init, w = torch.nn.init, torch.empty(200, 100)
    found = []
    for f in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_, init.uniform_):
        f(w)
        found.append(round(float(w.std()), 2) + 0.0)
    init.orthogonal_(w)
    return (
        found, (w.t() @ w), init.eye_(torch.empty(2, 3)), init.zeros_(w).sum(), init.ones_(w).sum(),
        init.calculate_gain("relu"), init.kaiming_normal_(torch.empty(3, 3), mode="fan_out", nonlinearity="relu").shape,
    )


def a_character_rnn_by_hand(torch):
    nn, F = torch.nn, torch.nn.functional

    class RNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super(RNN, self).__init__()
            self.hidden_size = hidden_size
            self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
            self.i2o = nn.Linear(input_size + hidden_size, output_size)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, input, hidden):
            combined = torch.cat((input, hidden), 1)
            hidden = F.tanh(self.i2h(combined))
            return self.softmax(self.i2o(combined)), hidden

        def initHidden(self):
            return torch.zeros(1, self.hidden_size)

    letters = "abcdefg"

    def line_to_tensor(line):
        tensor = torch.zeros(len(line), 1, len(letters))
        for li, letter in enumerate(line):
            tensor[li][0][letters.find(letter)] = 1
        return tensor

    rnn, criterion = fill_all(torch, RNN(len(letters), 4, 3)), nn.NLLLoss()
    losses = []
    for line, category in (("cab", 0), ("fade", 2), ("bag", 1)):
        hidden = rnn.initHidden()
        rnn.zero_grad()
        tensor = line_to_tensor(line)
        for i in range(tensor.size()[0]):
            output, hidden = rnn(tensor[i], hidden)
        loss = criterion(output, torch.tensor([category], dtype=torch.long))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(rnn.parameters(), 3)
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        losses.append(loss.item())
    top_n, top_i = output.topk(1)
    return losses, output, top_i[0].item(), rnn.i2h.weight


def a_word_language_model(torch):
    nn, F = torch.nn, torch.nn.functional

    class RNNModel(nn.Module):
        def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.0, tie_weights=False):
            super().__init__()
            self.ntoken = ntoken
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(ntoken, ninp)
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
            self.decoder = nn.Linear(nhid, ntoken)
            if tie_weights:
                self.decoder.weight = self.encoder.weight
            self.nhid, self.nlayers = nhid, nlayers

        def forward(self, input, hidden):
            emb = self.drop(self.encoder(input))
            output, hidden = self.rnn(emb, hidden)
            decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
            return F.log_softmax(decoded, dim=1), hidden

        def init_hidden(self, bsz):
            weight = next(self.parameters())
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))

    def batchify(data, bsz):
        nbatch = data.size(0) // bsz
        data = data.narrow(0, 0, nbatch * bsz)
        return data.view(bsz, -1).t().contiguous()

    def get_batch(source, i, bptt):
        seq_len = min(bptt, len(source) - 1 - i)
        return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)

    def repackage_hidden(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)

    model = fill_all(torch, RNNModel("LSTM", 7, 5, 5, 2, tie_weights=True))
    train = batchify(torch.arange(26) % 7, 3)
    hidden, losses = model.init_hidden(3), []
    model.train()
    for batch, i in enumerate(range(0, train.size(0) - 1, 3)):
        data, targets = get_batch(train, i, 3)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = nn.NLLLoss()(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-2.0)
        losses.append(loss.item())
    return losses, math.exp(losses[-1]), hidden, model.encoder.weight


def positions_by_sine(torch):
    d_model, max_len = 6, 10
    position = torch.arange(max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    pe = torch.zeros(max_len, 1, d_model)
    pe[:, 0, 0::2] = torch.sin(position * div_term)
    pe[:, 0, 1::2] = torch.cos(position * div_term)
    return pe, torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)


def a_transformer_that_classifies(torch):
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 8, padding_idx=0)
            self.position = nn.Parameter(torch.zeros(1, 5, 8))
            layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, num_layers=2)
            self.head = nn.Linear(8, 3)

        def forward(self, tokens):
            padding = tokens == 0
            x = self.embedding(tokens) * math.sqrt(8) + self.position[:, : tokens.size(1)]
            x = self.encoder(x, src_key_padding_mask=padding)
            x = x.masked_fill(padding.unsqueeze(-1), 0.0).sum(1) / (~padding).sum(1, keepdim=True)
            return self.head(x)

    model = fill_all(torch, Classifier())
    tokens = torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
    loss = nn.functional.cross_entropy(model(tokens), torch.tensor([0, 2]), label_smoothing=0.1)
    loss.backward()
    return (
        loss, model.head.weight.grad, model.embedding.weight.grad,
        model.encoder.layers[0].self_attn.in_proj_weight.grad,
    )


def attention_with_masks(torch):
    nn, F = torch.nn, torch.nn.functional
    x = torch.sin(torch.arange(24.0)).view(2, 3, 4)
    mha = fill_all(torch, nn.MultiheadAttention(4, 2, batch_first=True))
    causal = torch.triu(torch.ones(3, 3, dtype=torch.bool), diagonal=1)
    y, weights = mha(x, x, x, attn_mask=causal)
    z, none = mha(x, x, x, key_padding_mask=torch.tensor([[False, False, True], [False] * 3]), need_weights=False)
    each, by_head = mha(x, x, x, average_attn_weights=False)
    q = x.view(2, 3, 2, 2).transpose(1, 2)
    return (
        y, weights, z, none is None, by_head.shape, F.scaled_dot_product_attention(q, q, q, is_causal=True),
        causal.double().masked_fill(causal, float("-inf")),
    )


def attention_by_hand(torch):
    F = torch.nn.functional
    B, T, C = 2, 4, 6
    x = torch.sin(torch.arange(48.0)).view(B, T, C)
    key, query, value = (fill_all(torch, torch.nn.Linear(C, 3, bias=False)) for _ in range(3))
    k, q, v = key(x), query(x), value(x)
    wei = q @ k.transpose(-2, -1) * C**-0.5
    tril = torch.tril(torch.ones(T, T))
    wei = wei.masked_fill(tril[:T, :T] == 0, float("-inf"))
    wei = F.softmax(wei, dim=-1)
    return wei @ v, wei


def sequences_packed(torch):
    nn = torch.nn
    rnn_utils = nn.utils.rnn
    seqs = [torch.arange(3.0), torch.arange(5.0), torch.arange(2.0)]
    padded = rnn_utils.pad_sequence(seqs, batch_first=True, padding_value=-1)
    lengths = torch.tensor([len(s) for s in seqs])
    x = padded.unsqueeze(-1)
    gru = fill_all(torch, nn.GRU(1, 2, batch_first=True, bidirectional=True))
    packed = rnn_utils.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, h = gru(packed)
    out, out_lengths = rnn_utils.pad_packed_sequence(out, batch_first=True)
    last = out[torch.arange(3), lengths - 1]
    also = rnn_utils.pack_sequence(seqs, enforce_sorted=False)
    return padded, out, h, out_lengths, last, packed.data.shape, [int(n) for n in packed.batch_sizes], also.data


def recurrent_cells(torch):
    nn = torch.nn
    x, h, c = torch.ones(2, 3), torch.zeros(2, 4), torch.zeros(2, 4)
    lstm, gru, rnn = (fill_all(torch, cell(3, 4)) for cell in (nn.LSTMCell, nn.GRUCell, nn.RNNCell))
    for _ in range(3):
        h, c = lstm(x, (h, c))
    y, (hn, cn) = fill_all(torch, nn.LSTM(3, 4, 2, batch_first=True))(torch.ones(2, 5, 3))
    return h, c, gru(x, h), rnn(x), y, hn, cn, [n for n, _ in nn.LSTM(3, 4, bidirectional=True).named_parameters()]


def a_bag_of_words(torch):
    nn, F = torch.nn, torch.nn.functional

    class BoWClassifier(nn.Module):
        def __init__(self, num_labels, vocab_size):
            super(BoWClassifier, self).__init__()
            self.linear = nn.Linear(vocab_size, num_labels)

        def forward(self, bow_vec):
            return F.log_softmax(self.linear(bow_vec), dim=1)

    vec = torch.zeros(6)
    for word in (0, 3, 3, 5):
        vec[word] += 1
    model = fill_all(torch, BoWClassifier(2, 6))
    with torch.no_grad():
        before = model(vec.view(1, -1))
    nn.NLLLoss()(model(vec.view(1, -1)), torch.tensor([1])).backward()
    return before, model.linear.weight.grad, next(model.parameters())[:, 3]


def n_grams(torch):
    nn, F = torch.nn, torch.nn.functional
    embeddings, l1, l2 = nn.Embedding(5, 3), nn.Linear(6, 4), nn.Linear(4, 5)
    model = fill_all(torch, nn.ModuleList([embeddings, l1, l2]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(3):
        total_loss = 0
        for context, target in (([0, 1], 2), ([1, 2], 3), ([2, 3], 4)):
            context_idxs = torch.tensor(context, dtype=torch.long)
            model.zero_grad()
            embeds = embeddings(context_idxs).view((1, -1))
            log_probs = F.log_softmax(l2(F.relu(l1(embeds))), dim=1)
            loss = nn.NLLLoss()(log_probs, torch.tensor([target], dtype=torch.long))
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
        losses.append(total_loss)
    return losses, embeddings.weight[1]


def a_generator_of_images(torch):
    nn = torch.nn
    G = nn.Sequential(
        nn.ConvTranspose2d(5, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )
    D = nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True), nn.BatchNorm2d(4),
        nn.Conv2d(4, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )
    fill_all(torch, G), fill_all(torch, D)
    criterion = nn.BCELoss()
    optD = torch.optim.Adam(D.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optG = torch.optim.Adam(G.parameters(), lr=0.0002, betas=(0.5, 0.999))
    real, noise = torch.sin(torch.arange(3.0 * 64)).view(3, 1, 8, 8), torch.cos(torch.arange(15.0)).view(3, 5, 1, 1)
    D.zero_grad()
    label = torch.full((3,), 1.0, dtype=torch.float64)
    errD_real = criterion(D(real).view(-1), label)
    errD_real.backward()
    fake = G(noise)
    label.fill_(0.0)
    errD_fake = criterion(D(fake.detach()).view(-1), label)
    errD_fake.backward()
    optD.step()
    G.zero_grad()
    label.fill_(1.0)
    errG = criterion(D(fake).view(-1), label)
    errG.backward()
    optG.step()
    return errD_real, errD_fake, errG, G[0].weight.grad, D[0].weight, G(noise).shape, G[1].running_mean


def a_variational_autoencoder(torch):
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(9, 5), nn.Linear(5, 2), nn.Linear(5, 2)
            self.fc3, self.fc4 = nn.Linear(2, 5), nn.Linear(5, 9)

        def encode(self, x):
            h1 = F.relu(self.fc1(x))
            return self.fc21(h1), self.fc22(h1)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std) * 0 + 0.3
            return mu + eps * std

        def decode(self, z):
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 9))
            return self.decode(self.reparameterize(mu, logvar)), mu, logvar

    model = fill_all(torch, VAE())
    x = torch.sigmoid(torch.arange(18.0)).view(2, 1, 3, 3)
    recon, mu, logvar = model(x)
    BCE = F.binary_cross_entropy(recon, x.view(-1, 9), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    (BCE + KLD).backward()
    return BCE, KLD, model.fc1.weight.grad, recon


def losses(torch):
    F, nn = torch.nn.functional, torch.nn
    x, y = torch.sin(torch.arange(12.0)).view(4, 3), torch.tensor([0, 2, 1, 2])
    p = torch.sigmoid(x)
    return (
        F.cross_entropy(input=x, target=y), F.cross_entropy(x, y, reduction="none"),
        F.cross_entropy(x, y, weight=torch.tensor([1.0, 2.0, 0.5])), F.cross_entropy(x, y, ignore_index=2),
        F.cross_entropy(x, torch.softmax(x, 1)), nn.NLLLoss()(F.log_softmax(x, dim=1), y),
        nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0, 1.0, 1.0]))(x, p), nn.BCELoss()(p, (p > 0.5).double()),
        F.l1_loss(x, p), F.smooth_l1_loss(x, p), F.huber_loss(x, p, delta=0.5),
        F.kl_div(F.log_softmax(x, 1), F.softmax(x, 1), reduction="batchmean"), nn.MSELoss(reduction="sum")(x, p),
        F.mse_loss(input=x, target=p), F.binary_cross_entropy_with_logits(x, p, reduction="none"),
    )


def layers_by_function(torch):
    F = torch.nn.functional
    x, w = torch.sin(torch.arange(32.0)).view(1, 2, 4, 4), torch.cos(torch.arange(12.0)).view(2, 2, 1, 3)
    return (
        F.conv2d(x, w, bias=torch.ones(2), stride=1, padding=(0, 1)), F.conv2d(input=x, weight=w),
        F.avg_pool2d(x, kernel_size=2), F.adaptive_avg_pool2d(x, (1, 1)), F.adaptive_avg_pool2d(x, 1).flatten(1),
        F.pad(x, (1, 1)).shape, F.pad(x, (1, 1, 2, 0), mode="reflect"),
        F.layer_norm(x, (4,)), F.batch_norm(x, torch.zeros(2), torch.ones(2), training=False), F.group_norm(x, 1),
        F.normalize(x, dim=1), F.normalize(x.flatten(), dim=0, p=2), F.relu(x, inplace=False), F.leaky_relu(x, 0.2),
        F.leaky_relu(x, negative_slope=0.1), F.elu(x, alpha=0.5), F.gelu(x, approximate="tanh"), F.silu(x),
        F.softplus(x), F.log_softmax(x, dim=-1), F.softmin(x, dim=1), F.hardtanh(x, -0.5, 0.5),
        F.prelu(x, torch.tensor(0.1)), F.glu(x, dim=1), F.sigmoid(x), F.tanh(x), F.one_hot(torch.tensor([1, 0])),
        F.embedding(torch.tensor([1]), torch.eye(3)), F.linear(x, torch.ones(3, 4)),
        F.dropout(x, p=0.5, training=False), F.max_pool2d(x, 2, stride=1, return_indices=True), F.unfold(x, 2),
        F.relu6(x), F.mish(x), F.logsigmoid(x), F.softsign(x), F.hardswish(x), F.selu(x), F.celu(x),
        F.threshold(x, 0.1, 20), F.instance_norm(x), F.bilinear(x, x, torch.ones(1, 4, 4)),
    )


def dropout_by_mode(torch):
    torch.manual_seed(0)
    m, x = torch.nn.Dropout(p=0.5), torch.ones(1000)
    y = m(x)
    m.eval()
    return (
        m(x).sum(), set(y.tolist()) == {0.0, 2.0}, 300 < float((y == 0).sum()) < 700, torch.nn.Dropout(1.0)(x).sum(),
        torch.nn.functional.dropout(x, 0.0).sum(),
    )


def batch_norm_by_mode(torch):
    bn = torch.nn.BatchNorm1d(3, momentum=0.2)
    x = torch.sin(torch.arange(12.0)).view(4, 3)
    y = bn(x)
    bn.eval()
    return (
        y, bn(x), bn.running_mean, bn.running_var, bn.num_batches_tracked, bn.training,
        torch.nn.BatchNorm2d(2, affine=False).weight is None,
    )


def batch_norm_that_forgets(torch):
    bn = torch.nn.BatchNorm1d(3)
    bn(torch.sin(torch.arange(12.0)).view(4, 3))
    bn.reset_running_stats()
    return bn.running_mean, bn.running_var, bn.num_batches_tracked


def containers(torch):
    nn = torch.nn

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
            self.choices = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(1) * i) for i in range(2)])
            self.layers = [nn.Linear(2, 2)]

        def forward(self, x, act):
            for i, block in enumerate(self.blocks):
                x = self.choices[act](block(x)) + self.scales[i % 2]
            return x

    m = fill_all(torch, Blocks())
    m.blocks.append(nn.Identity())
    seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    seq.add_module("last", nn.Linear(2, 1))
    return (
        [n for n, _ in m.named_parameters()], m(torch.ones(1, 2), "tanh"), len(m.blocks),
        [type(c).__name__ for c in m.children()], list(m.choices.keys()), seq[0].in_features, seq[-1].out_features,
        len(seq[:2]), [n for n, _ in seq.named_children()], m.get_submodule("blocks.1").weight.shape,
        "relu" in m.choices, seq.last.bias.shape,
    )


def a_linear_layer_by_hand(torch):
    nn = torch.nn

    class MyLinear(nn.Module):
        def __init__(self, in_units, units):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(in_units, units))
            self.bias = nn.Parameter(torch.randn(units))

        def forward(self, X):
            linear = torch.matmul(X, self.weight.data) + self.bias.data
            return torch.nn.functional.relu(linear)

    m = fill_all(torch, MyLinear(5, 3))
    return m(torch.ones(2, 5)), m(torch.ones(2, 5)).requires_grad, m.weight.data.shape, repr(m)


def modules_moved(torch):
    m = torch.nn.Linear(2, 2)
    n = m.to(torch.device("cpu"))
    h = torch.nn.Linear(2, 2).to(torch.float32)
    return (
        n is m, h.weight.dtype == torch.float32, m.double().weight.dtype == torch.float64,
        next(h.parameters()).dtype == torch.float32,
        torch.nn.Linear(2, 3, dtype=torch.float32).bias.dtype == torch.float32,
        torch.nn.Linear(2, 3, device="cpu").bias.shape, m.cpu() is m,
    )


def a_residual_block(torch):
    nn, F = torch.nn, torch.nn.functional

    class BasicBlock(nn.Module):
        expansion = 1

        def __init__(self, in_planes, planes, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding="same", bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Sequential()
            if stride != 1 or in_planes != self.expansion * planes:
                conv = nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride, bias=False)
                self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(planes))

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)), inplace=True)
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return F.relu(out)

    m = nn.Sequential(BasicBlock(1, 2, 2), BasicBlock(2, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten())
    fill_all(torch, m)
    y = m(torch.sin(torch.arange(64.0)).view(1, 1, 8, 8))
    y.sum().backward()
    return y, m[0].conv1.weight.grad, m[0].bn1.running_var




def margins_of_convolutions(torch):
    nn = torch.nn
    x = torch.sin(torch.arange(32.0)).view(1, 2, 4, 4)
    modes = ("zeros", "reflect", "replicate", "circular")
    made = [fill_all(torch, nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)) for mode in modes]
    return (
        [m(x) for m in made], [repr(m) for m in made],
        fill_all(torch, nn.Conv1d(2, 1, 3, padding="same", padding_mode="reflect"))(x[:, :, 0]),
    )
