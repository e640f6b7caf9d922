"""Small models of PyTorch of the kinds that people draw, each with example arguments."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)
        self.conv2, self.relu = nn.Conv2d(3, 3, 3, padding=1), nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.conv2(self.relu(self.bn1(self.conv1(x)))) + x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(50, 8), nn.LSTM(8, 8), nn.Linear(8, 50)
        self.out.weight = self.emb.weight

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mean, self.spread, self.dec = nn.Linear(9, 4), nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(2, 9)

    def forward(self, x):
        h = self.enc(x).relu()
        mean, spread = self.mean(h), self.spread(h)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        return F.mse_loss(self.dec(z), x), -0.5 * (1 + spread - mean**2 - spread.exp()).sum()


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        chosen, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            if (chosen == i).any():
                out[chosen == i] = expert(x[chosen == i])
        return out


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.last = (
            nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 4)),
            nn.Linear(4, 1),
        )

    def forward(self, x):
        return self.last(checkpoint(self.block, x, use_reentrant=False)).mean()


def gan():
    make, judge = (
        nn.Sequential(nn.Linear(2, 4), nn.Tanh()),
        nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(), nn.Linear(4, 1)),
    )

    def step(x):
        fake = make(torch.randn(len(x), 2))
        return (judge(fake.detach()) - judge(x)).mean(), -judge(fake).mean()

    return step


MODELS = {
    "MLP": lambda: (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(3, 4)),
    "ResNet": lambda: (nn.Sequential(Residual(), Residual(), nn.Flatten()), torch.randn(2, 3, 4, 4)),
    "Transformer": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 3),
        torch.randn(2, 5, 8),
    ),
    "weight tying": lambda: (Tied(), torch.randint(0, 50, (5, 2))),
    "two losses": lambda: (VAE(), torch.randn(6, 9)),
    "GAN": lambda: (gan(), torch.randn(3, 4)),
    "experts": lambda: (Experts(), torch.randn(5, 4)),
    "checkpoint": lambda: (Checkpointed(), torch.randn(3, 4)),
}
