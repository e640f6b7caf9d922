"""Transformers for text: in BERT each token attends to all tokens, in GPT only to itself and earlier ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import nn
from ...engine.base.errors import ShapeError
from .. import functional


class Size(NamedTuple):
    """The number of layers, of heads in each, and of channels of a token."""

    layers: int
    heads: int
    channels: int


BERTS = {"base": Size(12, 12, 768), "large": Size(24, 16, 1024)}
GPTS = {
    "small": Size(12, 12, 768), "medium": Size(24, 16, 1024),
    "large": Size(36, 20, 1280), "xl": Size(48, 25, 1600), "175b": Size(96, 96, 12288),
}  # fmt: skip


class BERT(nn.Module):
    """Tokens (N, T) → an encoding of each token in context (N, T, C), and of the sentence, from its first token (N, C).

    Devlin et al. 2018, “BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding”, §3.
    https://arxiv.org/abs/1810.04805
    """

    def __init__(self, size: Size, vocabulary: int = 30522, positions: int = 512, **where: Any):
        C = size.channels
        self.token, self.position = nn.Embedding(vocabulary, C, **where), nn.Embedding(positions, C, **where)
        self.segment = nn.Embedding(2, C, **where)  # whether a token is in the first or the second sentence
        self.norm, self.dropout = nn.LayerNorm(C, 1e-12, **where), nn.Dropout(0.1)
        options: dict[str, Any] = {"activation": "gelu", "layer_norm_eps": 1e-12, "batch_first": True, **where}
        layers = (nn.TransformerEncoderLayer(C, size.heads, 4 * C, **options) for _ in range(size.layers))
        self.layers = nn.ModuleList(layers)
        self.pooler = nn.Linear(C, C, **where)

    def forward(self, tokens: Any, segments: Any = None) -> tuple[Any, Any]:
        x = self.token(tokens) + self.position.weight[: length(tokens, self.position)]
        x = x + (self.segment.weight[0] if segments is None else self.segment(segments))
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x)
        return x, self.pooler(x[:, 0]).tanh()


def bert(name: str = "base", **where: Any) -> BERT:
    """The BERT with this name, with the pooler and without a head.

                parameters
    base        109,482,240
    large       335,141,888
    """
    return BERT(find_size(BERTS, name), **where)


class CausalSelfAttention(nn.Module):
    """Attention of each token to itself and to earlier tokens."""

    def __init__(self, channels: int, heads: int, dropout: float, **where: Any):
        self.heads, self.dropout = heads, dropout
        self.qkv, self.out = nn.Linear(channels, 3 * channels, **where), nn.Linear(channels, channels, **where)

    def forward(self, x: Any) -> Any:
        q, k, v = (y.unflatten(-1, (self.heads, -1)).swapaxes(1, 2) for y in self.qkv(x).chunk(3, -1))
        dropped = self.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropped, is_causal=True)
        return self.out(found.swapaxes(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    """x ← x + attention(norm(x)), then x ← x + mlp(norm(x))."""

    def __init__(self, channels: int, heads: int, dropout: float, **where: Any):
        self.norm1, self.norm2 = nn.LayerNorm(channels, **where), nn.LayerNorm(channels, **where)
        self.attention = CausalSelfAttention(channels, heads, dropout, **where)
        wide = nn.Linear(channels, 4 * channels, **where), nn.GELU(approximate="tanh")
        self.mlp = nn.Sequential(*wide, nn.Linear(4 * channels, channels, **where))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.mlp(self.norm2(x)))


class GPT(nn.Module):
    """Tokens (N, T) → scores of the next token (N, T, vocabulary). The last layer shares the weight of the embedding.

    Radford et al. 2019, “Language Models are Unsupervised Multitask Learners”, §2.3.
    """

    def __init__(self, size: Size, vocabulary: int = 50257, context: int = 1024, dropout: float = 0.1, **where: Any):
        C = size.channels
        self.token, self.position = nn.Embedding(vocabulary, C, **where), nn.Embedding(context, C, **where)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(TransformerBlock(C, size.heads, dropout, **where) for _ in range(size.layers))
        self.norm = nn.LayerNorm(C, **where)
        for table in (self.token, self.position):  # rows of norm about 1, so initial scores are near N(0, 1)
            nn.init.normal_(table.weight, std=C**-0.5)

    def forward(self, tokens: Any) -> Any:
        x = self.drop(self.token(tokens) + self.position.weight[: length(tokens, self.position)])
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.token.weight)


def gpt(name: str = "small", **where: Any) -> GPT:
    """The GPT-2 with this name; or GPT-3, "175b", with dense attention in every layer; in the paper, half are banded.

                    parameters
        small           124,439,808
        medium          354,823,168
        large           774,030,080
        xl            1,557,611,200
        175b        174,604,259,328

    Brown et al. 2020, “Language Models are Few-Shot Learners”, table 2.1. https://arxiv.org/abs/2005.14165
    """
    return GPT(find_size(GPTS, name), **({"context": 2048} if name == "175b" else {}) | where)


def find_size(sizes: dict[str, Size], name: str) -> Size:
    if name not in sizes:
        raise ValueError(f"the sizes are {', '.join(sizes)}, not {name!r}; Size(…) makes any other")
    return sizes[name]


def length(tokens: Any, position: nn.Embedding) -> int:
    """The number of tokens. Raises ShapeError if there are more than positions."""
    T: int = tokens.shape[-1]
    if position.num_embeddings < T:
        raise ShapeError(f"there are {position.num_embeddings} positions, and got {T} tokens: cut the text")
    return T
