"""Networks in 8-bit integers, with PyTorch's names: mg.quantization is a small torch.ao.quantization.

affine      quantises and dequantises tensors; rounding with gradients; integer matrix products
observer    finds the scale and zero point for the data
layers      Linear and Conv2d: observed, rounded, quantised
workflow    prepare and convert, prepare_qat, quantize_dynamic; compare, a table of models'
            accuracy, bytes and time
"""

from .affine import (
    QuantizedTensor as QuantizedTensor, fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine, int_matmul as int_matmul,
    quantize_per_channel as quantize_per_channel, quantize_per_tensor as quantize_per_tensor,
)
from .layers import (
    QConfig as QConfig, default_dynamic_qconfig as default_dynamic_qconfig, default_qat_qconfig as default_qat_qconfig,
    default_qconfig as default_qconfig, per_channel_dynamic_qconfig as per_channel_dynamic_qconfig,
)
from .observer import (
    MinMaxObserver as MinMaxObserver, MovingAverageMinMaxObserver as MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver as PerChannelMinMaxObserver, PercentileObserver as PercentileObserver,
)
from .workflow import (
    compare as compare, convert as convert, prepare as prepare, prepare_qat as prepare_qat,
    quantize_dynamic as quantize_dynamic,
)
