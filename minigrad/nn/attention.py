"""Multi-head attention, and the transformer: attention and a feed-forward network, each with a residual connection.

Vaswani et al. 2017, “Attention Is All You Need”, §3. https://arxiv.org/abs/1706.03762

Sequences are (T, N, d_model), or (N, T, d_model) with batch_first; for masks see MultiheadAttention.forward.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from ..api.functions.creation import arange, full
from ..api.functions.movement import cat, of_shape, pad
from ..engine.base.device import Device
from ..engine.base.errors import ShapeError
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor
from . import functional, init
from .container import ModuleList
from .functional.activation import attention_weights
from .functional_layer import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm
from .tree import parameter


class MultiheadAttention(Module):
    """Parallel attention heads, each on its own projections of the inputs, followed by a joint projection.

    in_proj_weight    (3 · embed_dim, embed_dim), the rows of queries, then keys, then values, from Xavier's uniform;
                      if kdim or vdim differ, there are q_proj_weight, k_proj_weight and v_proj_weight instead
    in_proj_bias      (3 · embed_dim,), zero; None with bias=False
    bias_k, bias_v    (1, 1, embed_dim), with add_bias_kv: an additional learned key and value
    add_zero_attn     whether to add a key and a value of zeros
    out_proj          Linear(embed_dim, embed_dim)

    Vaswani et al. 2017, “Attention Is All You Need”, §3.2.2. https://arxiv.org/abs/1706.03762
    """

    in_proj_bias: Tensor | None
    bias_k: Any
    bias_v: Any

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"embed_dim must be a multiple of num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        where = {"device": device, "dtype": dtype}
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim, **where)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim, **where)
            self.k_proj_weight = parameter(embed_dim, self.kdim, **where)
            self.v_proj_weight = parameter(embed_dim, self.vdim, **where)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim, **where) if bias else None)
        self.add_zero_attn = add_zero_attn
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter(1, 1, embed_dim, **where) if add_bias_kv else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, rng=rng, **where)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw the projections of queries, keys and values again, and set every bias to zero."""
        for p in self.parameters(recurse=False):
            if p.ndim == 3:
                init.xavier_normal_(p, generator=rng)
            elif p.ndim > 1:
                init.xavier_uniform_(p, generator=rng)
            else:
                init.zeros_(p)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Any, Any]:  # fmt: skip
        """The attention output, and the weights (N, L, S) of each query, or None without need_weights.

        query                   (L, N, embed_dim), or (N, L, embed_dim) with batch_first; (L, embed_dim) of one example
        key                     (S, N, kdim), likewise
        value                   (S, N, vdim), likewise
        key_padding_mask        (N, S): booleans, True where a key is padding; or numbers, added to the scores
        attn_mask               (L, S) or (N · num_heads, L, S): booleans, True where attention is forbidden; or numbers
        average_attn_weights    whether to average the weights over the heads; else they are (N, num_heads, L, S)
        is_causal               whether query i attends to keys 0 to i only

        As in PyTorch, True forbids attention here, but allows it in scaled_dot_product_attention.
        """
        q = operand(query)
        k, v = q.lift(key), q.lift(value)
        self._refuse_shapes(q, k, v)
        alone = q.ndim == 2
        q, k, v = self._project_inputs(*map(self._to_batch_first, (q, k, v)))
        mask = self._mask(q, k, key_padding_mask, attn_mask, is_causal)
        k, v, mask = self._with_more_keys(k, v, mask)
        q, k, v = map(self._heads, (q, k, v))
        found, weights = self._attend_heads(q, k, v, mask, need_weights)
        if need_weights and average_attn_weights:
            weights = weights.mean(1)
        N, _, L, _ = found.shape  # batch, queries
        y = self.out_proj(found.swapaxes(1, 2).reshape(N, L, self.embed_dim))
        if alone:
            return y.squeeze(0), weights.squeeze(0) if need_weights else None
        return y if self.batch_first else y.swapaxes(0, 1), weights

    def _with_more_keys(self, k: Any, v: Any, mask: Any) -> tuple[Any, Any, Any]:
        """k and v with the learned key and value (add_bias_kv) and zeros (add_zero_attn) added. No mask hides these."""
        if self.bias_k is not None and self.bias_v is not None:
            one = (k.shape[0], 1, self.embed_dim)
            k, v = (cat([x, b.broadcast_to(*one)], 1) for x, b in ((k, self.bias_k), (v, self.bias_v)))
        if self.add_zero_attn:
            k, v = (pad(x, (0, 0, 0, 1)) for x in (k, v))
        if mask is not None and k.shape[1] != mask.shape[-1]:
            mask = pad(mask, (0, k.shape[1] - mask.shape[-1]))
        return k, v, mask

    def _refuse_shapes(self, q: Any, k: Any, v: Any) -> None:
        """Raises ShapeError unless queries, keys and values have two or three axes and the right features."""
        if not q.ndim == k.ndim == v.ndim or q.ndim not in (2, 3):
            raise ShapeError(
                f"{type(self).__name__} needs three axes each, or two, and got {q.spec}, {k.spec}, {v.spec}"
            )
        if (q.shape[-1], k.shape[-1], v.shape[-1]) != (self.embed_dim, self.kdim, self.vdim):
            wanted = f"{self.embed_dim}, {self.kdim} and {self.vdim}"
            raise ShapeError(f"{type(self).__name__} needs {wanted} features, and got {q.spec}, {k.spec}, {v.spec}")

    def _to_batch_first(self, x: Any) -> Any:
        """x with the batch axis first; a single example becomes a batch of one."""
        if x.ndim == 2:
            return x.unsqueeze(0)
        return x if self.batch_first else x.swapaxes(0, 1)

    def _project_inputs(self, q: Any, k: Any, v: Any) -> list[Any]:
        E, b = self.embed_dim, self.in_proj_bias
        biases = (None, None, None) if b is None else b.chunk(3)
        if self.kdim == self.vdim == E:
            if q is k is v:
                return list(functional.linear(q, self.in_proj_weight, b).chunk(3, -1))
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return [functional.linear(x, W, b) for x, W, b in zip((q, k, v), weights, biases)]

    def _heads(self, x: Any) -> Any:
        """(N, L, embed_dim) → (N, heads, L, embed_dim / heads)"""
        N, L, E = x.shape
        return x.reshape(N, L, self.num_heads, E // self.num_heads).swapaxes(1, 2)

    def _attend_heads(self, q: Any, k: Any, v: Any, mask: Any, need_weights: bool) -> tuple[Any, Any]:
        """The output of each head (N, heads, L, embed_dim / heads), and its weights (N, heads, L, S), or None."""
        dropped = self.dropout if self.training else 0.0
        if not need_weights:
            return functional.scaled_dot_product_attention(q, k, v, mask, dropped), None
        weights = functional.dropout(attention_weights(q, k, mask, 1 / sqrt(q.shape[-1])), dropped)
        return weights @ v, weights

    def _mask(self, q: Any, k: Any, key_padding_mask: Any, attn_mask: Any, is_causal: bool) -> Any:
        """The sum of all masks, to be added to the scores (N, heads, L, S); None without masks."""
        (N, L, _), H, S = q.shape, self.num_heads, k.shape[1]
        mask: Any = None
        if attn_mask is not None:
            mask = blocking_bias(q, attn_mask)
            shapes: Any = {2: (L, S), 3: (N * H, L, S)}
            mask = of_shape(mask, shapes.get(mask.ndim, (L, S)), f"attn_mask must be ({L}, {S}) or ({N * H}, {L}, {S})")
            mask = mask if mask.ndim == 2 else mask.reshape(N, H, L, S)
        elif is_causal:
            places = arange(S, device=q.spec.device)
            mask = blocking_bias(q, places > arange(L, device=q.spec.device).unsqueeze(1))
        if key_padding_mask is None:
            return mask
        padding = blocking_bias(q, key_padding_mask)
        shape = (S,) if q.spec.shape[0] == padding.ndim == 1 else (N, S)
        padding = of_shape(padding, shape, f"key_padding_mask must be ({N}, {S})").reshape(N, 1, 1, S)
        return padding if mask is None else mask + padding


def blocking_bias(q: Any, mask: Any) -> Any:
    """A mask as numbers to add to the scores: −∞ where a boolean mask is True."""
    mask = q.lift(mask)
    return q.lift(-inf).where(mask, 0.0) if mask.dtype.kind == "b" else mask.astype(q.dtype)


class Layer(Module):
    """Base of encoder and decoder layers: attentions and a network, each with norm, dropout and residual connection.

    norm_first    normalise before each part: x ← x + part(norm(x)) instead of x ← norm(x + part(x))
                  Xiong et al. 2020, “On Layer Normalization in the Transformer Architecture”, table 1
    """

    attentions: ClassVar[tuple[str, ...]]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
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
        self.norm_first = norm_first
        self.activation = activation_function(activation) if isinstance(activation, str) else activation

    _parts = property(lambda self: len(self.attentions) + 1)

    def _through(self, x: Any, *looks: tuple[Any, ...]) -> Any:
        """x after all parts. `looks` holds, for each attention, the memory (None for x), the masks and is_causal."""
        layers = (getattr(self, name) for name in self.attentions)
        parts: list[Any] = [partial(self._attend, layer, *look) for layer, look in zip(layers, looks)]
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
    """Self-attention, then a feed-forward network."""

    attentions = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = False) -> Any:
        return self._through(src, (None, src_mask, src_key_padding_mask, is_causal))


class TransformerDecoderLayer(Layer):
    """Self-attention, then attention to another sequence (the memory), then a feed-forward network."""

    attentions = "self_attn", "multihead_attn"

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: Any = False, memory_is_causal: Any = False,
    ) -> Any:  # fmt: skip
        own = None, tgt_mask, tgt_key_padding_mask, tgt_is_causal
        return self._through(tgt, own, (memory, memory_mask, memory_key_padding_mask, memory_is_causal))


class TransformerEncoder(Module):
    """A stack of copies of a layer, each with its own parameters, and an optional norm at the end."""

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
    """A stack of decoder layers, which all attend to the same memory."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Any, memory: Any, *masks: Any, **named: Any) -> Any:  # type: ignore[override]
        return self._through(tgt, memory, *masks, **named)


class Transformer(Module):
    """An encoder, and a decoder that attends to its output; matrices are drawn from Xavier's uniform."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Any], Any] = "relu",
        custom_encoder: Module | None = None, custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        *, rng: np.random.Generator | None = None, **where: Any,
    ):  # fmt: skip
        shape: Any = d_model, nhead, dim_feedforward, dropout, activation
        options: Any = layer_norm_eps, batch_first, norm_first, bias

        def build_stack(stack: Any, kind: Any, n: int) -> Any:
            layer = kind(*shape, *options, rng=rng, **where)
            return stack(layer, n, LayerNorm(d_model, layer_norm_eps, bias=bias, **where))

        encoder = build_stack(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        decoder = build_stack(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        self.encoder = encoder if custom_encoder is None else custom_encoder
        self.decoder = decoder if custom_decoder is None else custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p, generator=rng)

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: Any = False, tgt_is_causal: Any = False, memory_is_causal: Any = False,
    ) -> Any:  # fmt: skip
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz): −∞ where query i would attend to a key after i, and 0 elsewhere."""
        mask: Tensor = full((sz, sz), -inf, device=device, dtype=dtype).triu(1)
        return mask


def activation_function(activation: str) -> Callable[[Any], Any]:
    """The activation function with this name."""
    functions = {"relu": functional.relu, "gelu": functional.gelu}
    if activation not in functions:
        raise ValueError(f"activation must be 'relu', 'gelu' or a function, got {activation!r}")
    return functions[activation]
