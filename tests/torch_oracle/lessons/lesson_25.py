"""25 A small GPT: parameters, bytes and the loss of who knows nothing are the same in PyTorch."""

from math import log

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(64), nn.LayerNorm(64)
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(approximate="tanh"), nn.Linear(256, 64))

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (4, 16)).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(65, 64), nn.Embedding(64, 64)
        self.blocks, self.norm = nn.ModuleList([Block(), Block()]), nn.LayerNorm(64)
        nn.init.normal_(self.token.weight, std=0.02)
        nn.init.normal_(self.position.weight, std=0.01)

    def forward(self, tokens, run=lambda block, x: block(x)):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = run(block, x)
        return self.norm(x) @ self.token.weight.T


def lines():
    torch.manual_seed(0)
    net = GPT()
    x, y = torch.randint(0, 65, (16, 64)), torch.randint(0, 65, (1024,))

    def gradient(**how):
        net.zero_grad()
        loss = nn.functional.cross_entropy(net(x, **how).flatten(0, 1), y)
        loss.backward()
        return loss.item(), torch.cat([p.grad.ravel() for p in net.parameters()])

    (begins, plain), (_, again) = gradient(), gradient(run=lambda f, x: checkpoint(f, x, use_reentrant=False))
    yield f"{sum(p.numel() for p in net.parameters()):,} parameters"
    yield f"{sum(p.nbytes for p in net.parameters()):,} bytes in float32"
    if abs(begins - log(65)) < 0.1:
        yield "gate passed: knows nothing yet"
    if torch.equal(plain, again):
        yield "gate passed: checkpoints: same gradient"
