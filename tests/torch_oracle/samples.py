"""Small arguments to call PyTorch's functions with, by the name that the argument has.

An array becomes a tensor of the library that is called; "float32" its dtype of that name.
"""

import numpy as np

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.normal(size=shape)


def part(*shape):
    """Between 0 and 1."""
    return rng.uniform(0.1, 0.9, shape)


root = normal(3, 3)
POSITIVE = root @ root.T + 3 * np.eye(3)
NUMBER, VECTOR, LONGER, MATRIX, BATCH, IMAGES = (normal(*s) for s in ((), (3,), (4,), (3, 4), (2, 3, 4), (2, 3, 4, 5)))
WHOLE, TRUE = rng.permutation(12).reshape(3, 4), rng.random((3, 4)) < 0.5
TENSORS = [MATRIX, POSITIVE, VECTOR, BATCH, NUMBER, WHOLE, TRUE, part(3, 4), normal(4, 3), IMAGES, LONGER]
TENSORS += [normal(2, 4, 3)]
PLACES = [np.array(p) for p in ([2, 0, 1], 2, [1], [[0, 1, 2, 0]], [[2], [0], [1]], [[0, 1, 1, 2]] * 3)]
CONV = {"stride": [2, (2,)], "padding": [1, "same", (1,)], "dilation": [2], "groups": [2], "output_padding": [1]}

BY_NAME = {
    "A": [POSITIVE, BATCH, normal(3, 3)], "UPLO": ["U"], "a": [VECTOR, -1.0, MATRIX], "alpha": [2, 0.5],
    "append": [MATRIX, VECTOR, WHOLE], "approximate": ["tanh"], "atol": [0.1], "attn_mask": [],
    "aweights": [np.array([1.0, 0.2, 0.1, 3])], "axis": [0, 1], "axis0": [0, -1], "axis1": [1, 0], "b": [VECTOR, 1.0],
    "base": [2.0], "beta": [0.5, 0], "bias": [VECTOR, LONGER, normal(6), normal(2)], "bins": [4],
    "boundaries": [np.array([-1.0, 0.0, 1.0])], "chunks": [2, 3], "col": [3, 4],
    "condition": [TRUE, np.array(True), TRUE[0]], "correction": [0, 2], "data": [[1.0, 2.0], [[1, 2]], True, MATRIX],
    "decimals": [1, -1], "delta": [0.3], "destination": [0, -1, (1, 0), 1], "diagonal": [1, -1],
    "dim": [0, -1, 1, (0, 1), [1], (), None, -2, True], "dim0": [0, -1, 1], "dim1": [1, 0, -2], "dim2": [2, -1, 1],
    "dimension": [0, -1, 1], "dims": [(0, 1), 0, (1, 0), 1, ([0], [0]), ([-1], [-1]), ([1, 0], [1, 0]), (1,)],
    "dividend": [3.0, MATRIX], "divisor": [2.0, part(3, 4), 2], "dtype": ["float32", "int64", "bool"],
    "elements": [VECTOR, WHOLE], "end": [5, 3.5, MATRIX, BATCH], "end_dim": [1, -1, -2], "eps": [0.1, None],
    "equation": ["ij,ij->i", "i,i", "...j->..."], "exponent": [2, MATRIX, -1.5, 3], "fill_value": [2.5, 1, True],
    "fweights": [np.array([1, 2, 1, 3])], "high": [5], "ignore_index": [1], "index": [*PLACES, 0, 1, -1],
    "indexing": ["xy", "ij"], "indices": [*PLACES, (PLACES[0],), (PLACES[0], PLACES[0]), [PLACES[0]], [1, 2]],
    "indices_or_sections": [2, [1, 2], 3, (1,), np.array([1])],
    "interpolation": ["lower", "nearest", "midpoint", "higher"], "k": [2, 1, 3], "keepdim": [True, False],
    "kernel_size": [2, 3, (2, 2), (2,)], "lambd": [0.2], "length": [1, 2], "low": [0, 2],
    "mask": [TRUE, TRUE[0], np.array(True), TRUE[:, :1]], "max": [0.5, MATRIX, None], "max_norm": [], "max_val": [0.2],
    "mean": [0.0, MATRIX, 1], "min": [-0.5, normal(3, 4) - 2, None], "min_val": [-0.5], "minlength": [5],
    "mode": ["reflect", "replicate", "circular", "constant"], "n": [3, 2, 0, -1], "nan": [1.0], "neginf": [-3.0],
    "negative_slope": [0.2], "normalized_shape": [(4,), 4, [3, 4]], "num_classes": [5], "num_groups": [2, 4],
    "num_samples": [2], "obj": [MATRIX, 3], "offset": [1, -1], "ord": [1, 2, "nuc", "fro", float("inf"), -1, 0, 3],
    "other": [*TENSORS, 2.0, 3, True], "output_size": [2, 3, (2, 3), (2,)],
    "p": [1, 2.0, 0, float("inf"), 3, "fro", "nuc", 0.5],
    "pad": [(1, 1), (1, 2, 0, 1), (-1, 2), (0, -1), (1, -1, 2, 0)], "posinf": [3.0],
    "prepend": [MATRIX, VECTOR, NUMBER], "q": [0.3, np.array([0.2, 0.7]), np.array(0.4), np.array([0.5])], "r": [3, 2],
    "reduce": ["sum", "amax", "prod", "mean"], "reduction": ["sum", "none", "mean"],
    "repeats": [2, PLACES[0], (2, 3), 3], "rounding_mode": ["floor", "trunc", None], "row": [3, 2], "rtol": [0.1],
    "running_mean": [LONGER, VECTOR], "running_var": [part(4), part(3)], "scale": [0.5], "sections": [2],
    "shape": [(4, 3), (12,), (-1,), (2, 6), 12, (3, 4), (2, 3, 4)], "shapes": [(3, 1)], "shifts": [1, -1, (1, 2)],
    "side": ["right", "left"], "size": [(3, 4), (2,), 3, (6, 2), (3, -1), (2, 3, 4), ()],
    "sizes": [(2, 2), (3, 1), [-1, 2], (1, 3)], "sorted_sequence": [np.array([-1.0, 0.0, 1.0]), np.sort(normal(3, 4))],
    "source": [MATRIX, VECTOR, NUMBER, 0, 1], "split_size": [2, 1, [1, 2], [1, 3]],
    "split_size_or_sections": [2, [1, 2], 1], "src": [MATRIX, VECTOR, NUMBER, normal(4, 3)], "start": [0, 1, -1.5],
    "start_dim": [0, 1], "std": [1.0, part(3, 4)], "step": [1, 2], "steps": [4, 1], "stride": [2, (2,)],
    "target": [MATRIX, PLACES[0], VECTOR, part(3, 4)],
    "tensors": [(MATRIX, MATRIX), (VECTOR, VECTOR), (NUMBER, VECTOR), (BATCH, BATCH), [MATRIX], (POSITIVE, MATRIX)],
    "test_elements": [VECTOR, WHOLE], "threshold": [0.1, 1], "tensor1": [MATRIX, VECTOR, NUMBER, BATCH, WHOLE],
    "tensor2": [MATRIX, LONGER, NUMBER, WHOLE, part(3, 4)], "type1": ["float32"], "type2": ["int64"],
    "unbiased": [True, False], "upper": [True, False], "value": [2.5, NUMBER, MATRIX, True, 1],
    "values": [MATRIX, VECTOR, NUMBER], "weight": [VECTOR, LONGER, MATRIX, NUMBER, part(3, 4), part(3)],
    "weights": [VECTOR],
}  # fmt: skip

FILE = "saved.pt"
OF_FUNCTION = {  # where a name means something else, or what is wanted has a form of its own
    "affine_grid": {"theta": [normal(2, 2, 3)], "size": [(2, 1, 4, 5)], "align_corners": [True]},
    "arange": {"start": [0, 1], "end": [5, 3.5], "step": [2, 0.5]},
    "batch_norm": {"input": [MATRIX, normal(2, 4, 5)], "training": [True], "weight": [LONGER], "bias": [LONGER],
                   "running_mean": [LONGER], "running_var": [part(4)]},
    "bilinear": {"input1": [normal(2, 3)], "input2": [normal(2, 4)], "weight": [normal(5, 3, 4)], "bias": [normal(5)]},
    "binary_cross_entropy": {"input": [part(3, 4)], "target": [part(3, 4)], "weight": [part(3, 4)]},
    "bincount": {"input": [PLACES[0]]},
    "channel_shuffle": {"input": [normal(2, 4, 3, 3)], "groups": [2]},
    "cholesky": {"A": [POSITIVE], "input": [POSITIVE]},
    "load": {"f": [FILE]}, "save": {"obj": [MATRIX], "f": [FILE]},
    "lu_solve": {"LU": [POSITIVE], "pivots": [np.array([2, 2, 3], np.int32)], "B": [normal(3, 2)]},
    "matrix_exp": {"A": [part(3, 3)], "input": [part(3, 3)]},
    "cross_entropy": {"input": [MATRIX, LONGER], "target": [*PLACES[:2], part(3, 4)], "weight": [part(4)]},
    "ctc_loss": {"log_probs": [np.log(part(6, 2, 4))], "targets": [np.array([[1, 2], [3, 1]])], "blank": [0],
                 "input_lengths": [np.array([6, 5])], "target_lengths": [np.array([2, 1])]},
    "eigh": {"A": [POSITIVE], "UPLO": []},  # whose vectors are there up to their signs
    "eigvalsh": {"A": [POSITIVE]},
    "einsum": {"operands": [MATRIX, [MATRIX, MATRIX], [VECTOR, VECTOR]]},
    "embedding": {"input": PLACES, "weight": [normal(4, 5)], "padding_idx": [1]},
    "embedding_bag": {"input": [WHOLE % 4], "weight": [normal(4, 5)], "offsets": [], "mode": ["sum", "max"],
                      "per_sample_weights": [], "padding_idx": [1]},
    "fold": {"input": [normal(2, 8, 6)], "output_size": [(3, 4)], "kernel_size": [2]},
    "from_numpy": {"ndarray": []},
    "full": {"size": [(2, 3), (2,), ()]},
    "gaussian_nll_loss": {"input": [MATRIX], "target": [normal(3, 4)], "var": [part(3, 4), part(3, 1)]},
    "grid_sample": {"input": [IMAGES], "grid": [normal(2, 3, 3, 2)], "align_corners": [True], "mode": ["nearest"],
                    "padding_mode": ["border", "reflection"]},
    "group_norm": {"input": [normal(2, 4, 5)], "weight": [LONGER], "bias": [LONGER]},
    "histc": {"min": [-1.0], "max": [1.0]},
    "index_add": {"input": [MATRIX, VECTOR], "index": [PLACES[0], PLACES[2]], "source": [MATRIX, VECTOR, MATRIX[:1]]},
    "index_copy": {"input": [MATRIX, VECTOR], "index": [PLACES[0], PLACES[2]], "source": [MATRIX, VECTOR, MATRIX[:1]]},
    "index_reduce": {"input": [MATRIX], "index": [PLACES[0]], "source": [MATRIX]},
    "instance_norm": {"input": [normal(2, 4, 5)]},
    "kl_div": {"input": [np.log(part(3, 4))], "target": [part(3, 4)]},
    "kthvalue": {"k": [2]},
    "layer_norm": {"weight": [LONGER], "bias": [LONGER]},
    "linear": {"input": [MATRIX, LONGER], "weight": [normal(2, 4), LONGER], "bias": [normal(2), NUMBER]},
    "linspace": {"start": [-5, 0.0, NUMBER], "end": [5, 1.0, NUMBER]},
    "logspace": {"start": [-1, 0.0], "end": [2, 1.5]},
    "max_unpool1d": {"input": [normal(2, 2)], "indices": [np.array([[0, 3], [1, 2]])], "kernel_size": [2]},
    "max_unpool2d": {"input": [normal(1, 2, 2)], "indices": [np.array([[[0, 2], [8, 10]]])], "kernel_size": [2]},
    "max_unpool3d": {"input": [normal(1, 1, 1, 2)], "indices": [np.array([[[[0, 3]]]])], "kernel_size": [2]},
    "multinomial": {"input": [part(3, 4)]},
    "nll_loss": {"input": [MATRIX], "target": [PLACES[0]], "weight": [part(4)]},
    "one_hot": {"input": PLACES},
    "pad": {"value": [1.0]},
    "pinv": {"A": [POSITIVE], "input": [POSITIVE]},  # of what is symmetric, where hermitian=True says so
    "pixel_shuffle": {"input": [normal(1, 4, 2, 3)], "upscale_factor": [2]},
    "pixel_unshuffle": {"input": [normal(1, 1, 4, 6)], "downscale_factor": [2]},
    "scaled_dot_product_attention": {"query": [BATCH], "key": [normal(2, 5, 4)], "value": [normal(2, 5, 6)],
                                     "attn_mask": [normal(3, 5)], "dropout_p": [0.0], "enable_gqa": []},
    "scatter": {"input": [MATRIX, NUMBER], "index": PLACES[2:], "src": [MATRIX, BATCH[0], NUMBER]},
    "scatter_add": {"input": [MATRIX, VECTOR], "index": PLACES, "src": [MATRIX, VECTOR]},
    "scatter_reduce": {"input": [MATRIX, VECTOR], "index": PLACES, "src": [MATRIX, VECTOR]},
    "tensordot": {"a": [MATRIX, BATCH], "b": [MATRIX, BATCH, normal(4, 3)]},
    "threshold": {"value": [3.0]},
    "topk": {"sorted": [True]},
    "unfold": {"input": [IMAGES, IMAGES[0], MATRIX]},
}  # fmt: skip
GRID = {"input": [MATRIX], "axis": [0, -2], "quant_min": [-8], "quant_max": [7]}
OF_FUNCTION["fake_quantize_per_tensor_affine"] = {**GRID, "scale": [0.25], "zero_point": [0, 3]}
STEPS = np.linspace(0.1, 0.3, len(MATRIX)).astype(np.float32), np.arange(len(MATRIX), dtype=np.int32)
OF_FUNCTION["fake_quantize_per_channel_affine"] = {**GRID, "scale": [STEPS[0]], "zero_point": [STEPS[1]]}
for n, (input, weight, back) in enumerate((((4, 9), (6, 4, 3), (4, 6, 3)), ((4, 7, 6), (6, 4, 3, 2), (4, 6, 3, 2)),
                                           ((4, 4, 5, 4), (6, 4, 2, 3, 2), (4, 6, 2, 2, 2))), 1):  # fmt: skip
    x = [normal(2, *input), normal(*input)]
    OF_FUNCTION[f"conv{n}d"] = {"input": x, "weight": [normal(*weight)], **CONV}
    OF_FUNCTION[f"conv_transpose{n}d"] = {"input": x, "weight": [normal(*back)], **CONV}
    for pool in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool"):
        OF_FUNCTION[f"{pool}{n}d"] = {"input": x}
