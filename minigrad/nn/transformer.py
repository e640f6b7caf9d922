"""The encoder of the transformer: attention and a small network on each element, with a way around both.

Vaswani et al. 2017, “Attention Is All You Need”, §3.1. https://arxiv.org/abs/1706.03762
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from .. import functional
from ..device import Device
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm


class TransformerEncoderLayer(Module):
    """x ← norm(x + attention(x));  x ← norm(x + linear2(activation(linear1(x)))), with dropout on each way.

    norm_first    norm before attention and network, in place of after: x ← x + attention(norm(x)), …
                  Xiong et al. 2020, “On Layer Normalization in the Transformer Architecture”, table 1
    x             (T, N, d_model), or (N, T, d_model) with batch_first; (T, d_model) of one example
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, rng=rng, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias, rng=rng, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, rng=rng, **where)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.norm_first, self.activation = norm_first, named(activation) if isinstance(activation, str) else activation

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """src with each element informed by the others; masks as in MultiheadAttention."""
        x, masks = src, (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = x + self._attend(self.norm1(x), *masks)
            return x + self._think(self.norm2(x))
        x = self.norm1(x + self._attend(x, *masks))
        return self.norm2(x + self._think(x))

    def _attend(self, x: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        y, _ = self.self_attn(x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal)
        return self.dropout1(y)

    def _think(self, x: Any) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """Copies of a layer, one after the other, each with parameters of its own; and a norm at the end, or none."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None):
        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """src through every layer; masks as in MultiheadAttention."""
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return x if self.norm is None else self.norm(x)


def named(activation: str) -> Callable[[Any], Any]:
    """The function of a name."""
    functions = {"relu": functional.relu, "gelu": functional.gelu}
    if activation not in functions:
        raise ValueError(f"activation is 'relu', 'gelu' or a function, and got {activation!r}")
    return functions[activation]
