"""The transformer: attention and a small network on each element, with a way around both.

Vaswani et al. 2017, “Attention Is All You Need”, §3.1. https://arxiv.org/abs/1706.03762

Sequences are (T, N, d_model), or (N, T, d_model) with batch_first; masks are those of MultiheadAttention.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np

from .. import functional
from ..base.device import Device
from ..functions.creation import full
from ..tensor.tensor import Tensor
from . import init
from .activation import Dropout
from .attention import MultiheadAttention
from .container import ModuleList
from .linear import Linear
from .module import Module
from .norm import LayerNorm


class Layer(Module):
    """What both kinds of layer have: attentions and a network, each with a norm, a dropout, and a way around it.

    norm_first    norm before each part, in place of after: x ← x + part(norm(x)), not x ← norm(x + part(x))
                  Xiong et al. 2020, “On Layer Normalization in the Transformer Architecture”, table 1
    """

    attentions: ClassVar[tuple[str, ...]]

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
        for name in self.attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, rng=rng, **where)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, rng=rng, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, rng=rng, **where)
        norms = {f"norm{i + 1}": LayerNorm(d_model, layer_norm_eps, bias=bias, **where) for i in range(self._parts)}
        for name, part in (norms | {f"dropout{i + 1}": Dropout(dropout) for i in range(self._parts)}).items():
            setattr(self, name, part)
        self.norm_first, self.activation = norm_first, named(activation) if isinstance(activation, str) else activation

    @property
    def _parts(self) -> int:
        return len(self.attentions) + 1

    def _through(self, x: Any, *looks: tuple[Any, ...]) -> Any:
        """x through every part; `looks` at what each attention looks (x itself if None), its masks, and is_causal."""
        parts: list[Any] = [
            partial(self._attend, getattr(self, name), *look) for name, look in zip(self.attentions, looks)
        ]
        for i, part in enumerate([*parts, self._feed_forward], 1):
            norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return x

    def _attend(self, attention: Any, memory: Any, mask: Any, padding: Any, is_causal: Any, x: Any) -> Any:
        seen = x if memory is None else memory
        return attention(x, seen, seen, padding, need_weights=False, attn_mask=mask, is_causal=bool(is_causal))[0]

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(Layer):
    """Each element informed by the others, and a network."""

    attentions = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False) -> Any:
        return self._through(src, (None, src_mask, src_key_padding_mask, is_causal))


class TransformerDecoderLayer(Layer):
    """Each element informed by the others, then by those of another sequence, the memory; and a network."""

    attentions = "self_attn", "multihead_attn"

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: Any = False,
        memory_is_causal: Any = False,
    ) -> Any:
        own = None, tgt_mask, tgt_key_padding_mask, tgt_is_causal
        return self._through(tgt, own, (memory, memory_mask, memory_key_padding_mask, memory_is_causal))


class TransformerEncoder(Module):
    """Copies of a layer, one after the other, each with parameters of its own; and a norm at the end, or none."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None):
        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False) -> Any:
        return self._through(src, mask, src_key_padding_mask, is_causal)

    def _through(self, x: Any, *others: Any, **named: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *others, **named)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(TransformerEncoder):
    """The same of a decoder's layers, which look at one memory."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Any, memory: Any, *masks: Any, **named: Any) -> Any:  # type: ignore[override]
        return self._through(tgt, memory, *masks, **named)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it gives; matrices from Xavier's uniform."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: np.random.Generator | None = None,
        **where: Any,
    ):
        shape: Any = d_model, nhead, dim_feedforward, dropout, activation
        options: Any = layer_norm_eps, batch_first, norm_first, bias

        def stacked(stack: Any, kind: Any, n: int) -> Any:
            layer = kind(*shape, *options, rng=rng, **where)
            return stack(layer, n, LayerNorm(d_model, layer_norm_eps, bias=bias, **where))

        encoder = stacked(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        decoder = stacked(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        self.encoder = encoder if custom_encoder is None else custom_encoder
        self.decoder = decoder if custom_decoder is None else custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p, generator=rng)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: Any = False,
        tgt_is_causal: Any = False,
        memory_is_causal: Any = False,
    ) -> Any:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz): −∞ where element i would look at a later one, and 0 elsewhere."""
        mask: Tensor = full((sz, sz), -inf, device=device, dtype=dtype).triu(1)
        return mask


def named(activation: str) -> Callable[[Any], Any]:
    """The function of a name."""
    functions = {"relu": functional.relu, "gelu": functional.gelu}
    if activation not in functions:
        raise ValueError(f"activation is 'relu', 'gelu' or a function, and got {activation!r}")
    return functions[activation]
