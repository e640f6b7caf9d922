"""Networks in small integers, with PyTorch's names: mg.quantization is torch.ao.quantization, smaller.

affine      numbers as integers, and back; rounding with gradients; products of integers
observer    which scale and zero point fit
layers      Linear and Conv2d on their way to integers
workflow    prepare and convert, prepare_qat, quantize_dynamic
compare     accuracy, bytes and time in one table
"""

from .affine import (
    QuantizedTensor as QuantizedTensor, fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine, int_matmul as int_matmul,
    quantize_per_channel as quantize_per_channel, quantize_per_tensor as quantize_per_tensor,
)
from .compare import compare as compare
from .layers import (
    QConfig as QConfig, default_dynamic_qconfig as default_dynamic_qconfig, default_qat_qconfig as default_qat_qconfig,
    default_qconfig as default_qconfig, per_channel_dynamic_qconfig as per_channel_dynamic_qconfig,
)
from .observer import (
    MinMaxObserver as MinMaxObserver, MovingAverageMinMaxObserver as MovingAverageMinMaxObserver,
    PerChannelMinMaxObserver as PerChannelMinMaxObserver, PercentileObserver as PercentileObserver,
)
from .workflow import (
    convert as convert, prepare as prepare, prepare_qat as prepare_qat, quantize_dynamic as quantize_dynamic,
)
