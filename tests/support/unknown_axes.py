"""A call of every function of mg.functional and every layer of mg.nn, for test_unknown_axes.py.

A row is `call | arguments`, or `layer | call of the layer m | arguments`. An argument is `name axes`: a letter is a
length, which is made unknown in turn, and a digit is a fixed length. A colon starts the contents of the argument, which
are normal numbers by default:

    :b    booleans              :p    numbers between 0 and 1     :s    −1 and 1
    :+    positive numbers      :5    integers from 0 to 4
"""

from itertools import product

from tests.support.activations import ACTIVATIONS

SIZES = {"N": 3, "C": 4, "L": 6, "S": 5, "D": 4, "H": 6, "W": 8, "O": 3, "M": 2}

POINTWISE = "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 rrelu selu "
POINTWISE += "sigmoid silu softplus softshrink softsign tanh tanhshrink"
FULL = {1: "L", 2: "H W", 3: "D H W"}


def of_axes(text):
    """The row for one, two and three axes: # is their number, and … are their lengths."""
    return [text.replace("#", str(n)).replace("…", places) for n, places in FULL.items()]


def each(texts):
    """The rows of texts, those with a # for each number of axes. In a text, rows that share the rest stand together:
    `call; call | arguments`, or `layer; layer | call; call | arguments`.
    """
    rows = []
    for text in texts:
        *shared, arguments = text.split(" | ")
        for calls in product(*(part.split("; ") for part in shared)):
            row = " | ".join([*calls, arguments])
            rows += of_axes(row) if "#" in row else [row]
    return rows


FUNCTIONS = each([
    *(f"F.{name}(x) | x N C" for name in POINTWISE.split()),
    *(f"F.{name}(x, {axis}) | x N C" for name in ("softmax", "log_softmax", "softmin") for axis in (0, 1)),
    "F.adaptive_avg_pool#d(x, 2); F.adaptive_avg_pool#d(x, 1); F.adaptive_max_pool#d(x, 2) | x N C …",
    "F.adaptive_max_pool#d(x, 1); F.avg_pool#d(x, 2); F.avg_pool#d(x, 3, 2, 1, count_include_pad=False) | x N C …",
    "F.avg_pool#d(x, 2, ceil_mode=True); F.dropout#d(x); F.lp_pool#d(x, 2, 2); F.max_pool#d(x, 2) | x N C …",
    "F.max_pool#d(x, 3, 1, 1); F.max_pool#d(x, 2, ceil_mode=True) | x N C …",
    "F.max_pool#d(x, 2, return_indices=True)[1] | x N C …",
    "F.max_unpool#d(*F.max_pool#d(x, 2, return_indices=True), 2) | x N C …",
    "F.affine_grid(t, (t.shape[0], 1, 4, 5)) | t N 2 3", "F.affine_grid(t, x.shape) | t N 2 3, x N C H W",
    "F.alpha_dropout(x, 0.5, True); F.dropout(x); F.gumbel_softmax(x, hard=True); F.normalize(x) | x N C",
    "F.normalize(x, 1.0, 0); F.pdist(x); F.threshold(x, 0.1, 3.0) | x N C",
    "F.batch_norm(x, None, None, training=True); F.channel_shuffle(x, 2) | x N C L",
    "F.feature_alpha_dropout(x, 0.5, True); F.glu(x, 1); F.glu(x, -1); F.instance_norm(x) | x N C L",
    "F.interpolate(x, scale_factor=2); F.interpolate(x, 3, mode='area'); F.local_response_norm(x, 3) | x N C L",
    "F.pad(x, (1, 2)); F.pad(x, (-1, 0, 1, 1)) | x N C L", "F.batch_norm(x, m, v) | x N C L, m C, v:+ C",
    "F.bilinear(x, y, w, b) | x N C, y N D, w O C D, b O", "F.binary_cross_entropy(x, t) | x:p N C, t:p N C",
    "F.binary_cross_entropy_with_logits(x, t, pos_weight=w) | x N C, t:p N C, w:+ C",
    "F.conv#d(x, w, b, padding=1) | x N C …, w O C 3 3 3, b O", "F.conv#d(x, w, stride=2) | x N C …, w O C 2 2 2",
    "F.conv#d(x, w, padding='same', dilation=2) | x N C …, w O C 3 3 3",
    "F.conv#d(x, w, groups=2) | x N 4 …, w 6 2 2 2 2", "F.conv_transpose#d(x, w, b) | x N C …, w C O 3 3 3, b O",
    "F.conv_transpose#d(x, w, stride=2, padding=1, output_padding=1) | x N C …, w C O 3 3 3",
    "F.cosine_embedding_loss(x, y, t) | x N C, y N C, t:s N",
    "F.cosine_similarity(x, y); F.cosine_similarity(x, y, 0); F.pairwise_distance(x, y) | x N C, y N C",
    "F.cross_entropy(x, t) | x N 5, t:5 N",
    "F.cross_entropy(x, t); F.cross_entropy(x, t, ignore_index=1, reduction='none') | x N C L, t:4 N L",
    "F.cross_entropy(x, t, w, label_smoothing=0.1); F.nll_loss(x, t, w, ignore_index=1) | x N C L, t:4 N L, w:+ C",
    "F.cross_entropy(x, t); F.kl_div(x, t, reduction='batchmean'); F.kl_div(x, t) | x N C, t:p N C",
    "F.multilabel_soft_margin_loss(x, t) | x N C, t:p N C",
    "F.ctc_loss(x.log_softmax(2), t, a, b) | x L N 5, t:5 N 2, a:6 N, b:3 N",
    "F.ctc_loss(x.log_softmax(2), t, a, b, reduction='none') | x L N C, t:3 N 2, a:6 N, b:3 N",
    "F.ctc_loss(x.log_softmax(2), t, a, b, reduction='sum') | x 7 N 5, t:5 N M, a:6 N, b:2 N",
    "F.embedding(i, w); F.embedding(i, w, padding_idx=1, scale_grad_by_freq=True) | i:4 N L, w C D",
    "F.embedding_bag(i, w, padding_idx=1) | i:4 N L, w C D",
    *(f"F.embedding_bag(i, w, mode={mode!r}) | i:4 N L, w C D" for mode in ("mean", "sum", "max")),
    "F.embedding_bag(i, w, mode='sum', per_sample_weights=v) | i:4 N L, w C D, v N L",
    *(f"F.embedding_bag(i, w, b.cumsum(0) - b, mode={m!r}) | i:4 L, w C D, b:3 N" for m in ("mean", "sum", "max")),
    "F.fold(x, (4, 5), (2, 2)) | x N C 12", "F.gaussian_nll_loss(x, t, v) | x N C, t N C, v:+ N C",
    "F.gaussian_nll_loss(x, t, v) | x N C, t N C, v:+ N", "F.gaussian_nll_loss(x, t, v) | x N C, t N C, v:+ N 1",
    "F.fractional_max_pool2d(x, 2, 3, _random_samples=u) | x N C H W, u:p N C 2",
    "F.fractional_max_pool3d(x, 2, (2, 3, 3), _random_samples=u) | x N C D H W, u:p N C 3",
    "F.grid_sample(x, g); F.grid_sample(x, g, 'nearest', 'border', True) | x N C H W, g N L S 2",
    "F.grid_sample(x, g, 'bilinear', 'reflection') | x N C H W, g N L S 2",
    "F.group_norm(x, 2, w, b) | x N C L, w C, b C",
    "F.hinge_embedding_loss(x, t); F.soft_margin_loss(x, t) | x N C, t:s N C",
    "F.huber_loss(x, t); F.l1_loss(x, t); F.mse_loss(x, t); F.smooth_l1_loss(x, t, beta=0.5) | x N C, t N C",
    "F.interpolate(x, (3, 4), mode='bilinear'); F.pixel_shuffle(x, 2); F.pixel_unshuffle(x, 2) | x N C H W",
    "F.unfold(x, (2, 3), padding=1); F.upsample_bilinear(x, scale_factor=2) | x N C H W",
    "F.upsample_nearest(x, (3, 4)) | x N C H W", "F.layer_norm(x, (4,), w, b) | x N L 4, w 4, b 4",
    "F.layer_norm(x, x.shape[1:]) | x N L C", "F.linear(x, w, b) | x N L C, w O C, b O",
    "F.margin_ranking_loss(x, y, t) | x N C, y N C, t:s N C", "F.mse_loss(x, t, reduction='none') | x N, t N",
    "F.multi_margin_loss(x, t); F.nll_loss(x, t) | x N C, t:4 N", "F.multilabel_margin_loss(x, t) | x N C, t:4 N C",
    "F.one_hot(i, 4) | i:4 N L", "F.one_hot(c) | c:4 N L",
    *(f"F.pad(x, (1, 2), {mode!r}) | x N C L" for mode in ("reflect", "replicate", "circular")),
    "F.poisson_nll_loss(x, t) | x N C, t:+ N C", "F.poisson_nll_loss(x, t, False, True) | x:+ N C, t:+ N C",
    "F.prelu(x, w) | x N C L, w C", "F.prelu(x, w) | x N C L, w 1", "F.rms_norm(x, (4,), w) | x N L 4, w 4",
    "F.scaled_dot_product_attention(q, k, v) | q N 2 L C, k N 2 S C, v N 2 S D",
    "F.scaled_dot_product_attention(q, k, v, a) | q N 2 L 4, k N 2 S 4, v N 2 S D, a:b L S",
    "F.scaled_dot_product_attention(q, k, v, a) | q N 2 L 4, k N 2 S 4, v N 2 S D, a N 1 L S",
    "F.scaled_dot_product_attention(q, k, v, a[:, None, None]) | q N 2 L 4, k N 2 S 4, v N 2 S D, a:b N S",
    "F.scaled_dot_product_attention(q, k, v, enable_gqa=True) | q N 4 L 4, k N 2 S 4, v N 2 S D",
    "F.scaled_dot_product_attention(q, k, v, is_causal=True) | q N L 4, k N S 4, v N S D",
    "F.triplet_margin_loss(x, y, z, swap=True); F.triplet_margin_with_distance_loss(x, y, z) | x N C, y N C, z N C",
    "F.where(b, x, y) | b:b N C, x N C, y N C", "F.where(c)[0] | c:b N C",
])  # fmt: skip
LATER = {"Module", "Parameter", "ParameterDict", "ParameterList"}

MASKED = "q N L 8, k N S 8, v N S 8"
TARGET = "t N L 8, s N S 8"
ATTENTION = "nn.MultiheadAttention(8, 2, batch_first=True)"
MORE_KEYS = "nn.MultiheadAttention(8, 2, 0.0, True, True, True)"
ENCODER = "nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)"
DECODER = "nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True)"
MODEL = "nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)"
STACKED = f"nn.TransformerEncoder({ENCODER}, 2)"
LAYERS = each([
    *(f"nn.{name}{options if len(options) != 1 else f'({options[0]!r})'} | m(x) | x N C"
      for name, options in ACTIVATIONS.items()),
    "nn.AdaptiveAvgPool#d(2); nn.AdaptiveMaxPool#d(2); nn.AvgPool#d(2); nn.CircularPad#d(1) | m(x) | x N C …",
    "nn.ConstantPad#d(1, 2.0); nn.Dropout#d(); nn.LPPool#d(2, 2); nn.MaxPool#d(2) | m(x) | x N C …",
    "nn.ReflectionPad#d(1); nn.ReplicationPad#d(1); nn.ZeroPad#d(1) | m(x) | x N C …",
    "nn.AlphaDropout(0.5); nn.Dropout(); nn.GLU(); nn.Hardsigmoid(); nn.Hardswish(); nn.RReLU() | m(x) | x N C",
    "nn.Unflatten(1, (2, -1)) | m(x) | x N C", "nn.BCELoss() | m(x, t) | x:p N C, t:p N C",
    "nn.BCEWithLogitsLoss(); nn.KLDivLoss(reduction='batchmean') | m(x, t) | x N C, t:p N C",
    "nn.MultiLabelSoftMarginLoss() | m(x, t) | x N C, t:p N C",
    "nn.BatchNorm1d(4); nn.GRUCell(4, 5); nn.RNNCell(4, 5) | m(x) | x N 4",
    "nn.Sequential(nn.Linear(4, 3), nn.ReLU()); nn.Unflatten(1, (2, 2)) | m(x) | x N 4",
    "nn.BatchNorm1d(4); nn.GroupNorm(2, 4); nn.PReLU(4) | m(x) | x N 4 L", "nn.BatchNorm2d(4) | m(x) | x N 4 H W",
    "nn.BatchNorm3d(4).eval(); nn.BatchNorm3d(4) | m(x) | x N 4 D H W",
    "nn.Bilinear(4, 5, 3) | m(x, y) | x N L 4, y N L 5",
    "nn.CTCLoss() | m(x.log_softmax(2), t, a, b) | x L N 5, t:5 N 2, a:6 N, b:3 N",
    "nn.ChannelShuffle(2); nn.FeatureAlphaDropout(0.5); nn.Flatten(); nn.LocalResponseNorm(3) | m(x) | x N C L",
    "nn.Upsample(scale_factor=2) | m(x) | x N C L",
    "nn.Conv#d(4, 3, 2); nn.ConvTranspose#d(4, 3, 2, 2); nn.InstanceNorm#d(4, affine=True) | m(x) | x N 4 …",
    "nn.CosineEmbeddingLoss() | m(x, y, t) | x N C, y N C, t:s N",
    "nn.CosineSimilarity(); nn.PairwiseDistance() | m(x, y) | x N C, y N C",
    "nn.CrossEntropyLoss(); nn.MultiMarginLoss(); nn.NLLLoss() | m(x, t) | x N C, t:4 N",
    "nn.Embedding(5, 3) | m(i) | i:5 N L",
    *(f"nn.EmbeddingBag(5, 3, mode={mode!r}) | m(i) | i:5 N L" for mode in ("mean", "sum", "max")),
    "nn.Fold((4, 5), 2) | m(x) | x N C 12", "nn.GRU(4, 5); nn.LSTM(4, 5); nn.RNN(4, 5) | m(x)[0] | x L N 4",
    "nn.GRU(4, 5, 2, bidirectional=True, batch_first=True) | m(x, h)[0] | x N L 4, h 4 N 5",
    "nn.GaussianNLLLoss() | m(x, t, v) | x N C, t N C, v:+ N C",
    "nn.HingeEmbeddingLoss(); nn.SoftMarginLoss() | m(x, t) | x N C, t:s N C",
    "nn.HuberLoss(); nn.L1Loss(); nn.MSELoss(); nn.SmoothL1Loss() | m(x, t) | x N C, t N C",
    "nn.FractionalMaxPool2d(2, 3); nn.PixelShuffle(2); nn.PixelUnshuffle(2); nn.Softmax2d() | m(x) | x N C H W",
    "nn.Unfold(2); nn.UpsamplingBilinear2d(scale_factor=2) | m(x) | x N C H W",
    "nn.UpsamplingNearest2d(scale_factor=2) | m(x) | x N C H W",
    "nn.FractionalMaxPool3d(2, output_ratio=0.5) | m(x) | x N C D H W",
    "nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True) | m(x, (h, h))[1][1] | x N L 4, h 4 N 5",
    "nn.LSTM(4, 5, 2, bidirectional=True, proj_size=3) | m(x, (h[..., :3], h))[0] | x L N 4, h 4 N 5",
    "nn.LSTMCell(4, 5) | m(x)[1] | x N 4", "nn.LayerNorm(4); nn.RMSNorm(4) | m(x) | x N L 4",
    "nn.MarginRankingLoss() | m(x, y, t) | x N C, y N C, t:s N C",
    "nn.MaxUnpool#d(2) | m(*F.max_pool#d(x, 2, return_indices=True)) | x N C …",
    "nn.ModuleDict({'a': nn.Linear(4, 3)}) | m['a'](x) | x N 4", "nn.ModuleList([nn.Linear(4, 3)]) | m[0](x) | x N 4",
    "nn.MultiLabelMarginLoss() | m(x, t) | x N C, t:4 N C",
    f"{ATTENTION} | m(q, k, v)[0]; m(q, k, v)[1]; m(q, k, v, is_causal=True)[0] | {MASKED}",
    f"{ATTENTION} | m(q, k, v, key_padding_mask=p & (p.cumsum(1) > 1))[0] | {MASKED}, p:b N S",
    f"{ATTENTION} | m(q, k, v, key_padding_mask=p)[1] | {MASKED}, p N S",
    f"{ATTENTION} | m(q, k, v, attn_mask=a, need_weights=False)[0] | {MASKED}, a L S",
    f"{ATTENTION} | m(q, k, v, attn_mask=mg.cat([a, a]))[0] | {MASKED}, a N L S",
    f"{ATTENTION} | m(q, k, v, p, is_causal=True, need_weights=False)[0] | {MASKED}, p N S",
    f"{ATTENTION} | m(q, k, v, p, True, a, False)[1] | {MASKED}, p N S, a L S",
    "nn.MultiheadAttention(8, 2) | m(q, k, v, p, attn_mask=a)[0] | q L N 8, k S N 8, v S N 8, p N S, a L S",
    "nn.MultiheadAttention(8, 2) | m(q, k, v, p, attn_mask=a)[0] | q L 8, k S 8, v S 8, p S, a L S",
    f"{MORE_KEYS} | m(q, k, v, p, attn_mask=a)[0] | q L N 8, k S N 8, v S N 8, p N S, a L S",
    "nn.MultiheadAttention(8, 2, kdim=5, vdim=7) | m(q, k, v, p)[0] | q L N 8, k S N 5, v S N 7, p N S",
    "nn.PoissonNLLLoss() | m(x, t) | x N C, t:+ N C", "nn.RNN(4, 5, 2, 'relu', batch_first=True) | m(x)[1] | x N L 4",
    f"{ENCODER} | m(x, a, p) | x N L 8, a L L, p N L", f"{ENCODER} | m(x, is_causal=True) | x N L 8",
    f"{STACKED} | m(x, src_key_padding_mask=p) | x N L 8, p N L",
    f"{STACKED} | m(x, mg.cat([a, a]), p) | x N L 8, a N L L, p N L",
    f"{STACKED} | m(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True) | x N L 8",
    f"{DECODER} | m(t, s, a, b, p, o) | {TARGET}, a L L, b L S, p N L, o N S",
    f"nn.TransformerDecoder({DECODER}, 2) | m(t, s, tgt_is_causal=True) | {TARGET}",
    f"nn.TransformerDecoder({DECODER}, 2) | m(t, s, memory_key_padding_mask=o) | {TARGET}, o N S",
    f"{MODEL} | m(s, t) | {TARGET}",
    f"{MODEL} | m(s, t, c, a, b, o, p, o) | {TARGET}, a L L, b L S, c S S, p N L, o N S",
    "nn.TripletMarginLoss(); nn.TripletMarginWithDistanceLoss() | m(x, y, z) | x N C, y N C, z N C",
])  # fmt: skip
