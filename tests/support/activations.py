"""Layers of one array that keep its shape."""

# Name → the arguments that make one.
ACTIVATIONS = {
    **dict.fromkeys(["ReLU", "ReLU6", "Tanh", "Sigmoid", "LogSigmoid", "SELU", "SiLU", "Mish", "Softsign"], ()),
    "LeakyReLU": (0.2,), "ELU": (0.5,), "GELU": ("tanh",), "Softplus": (2,), "Hardtanh": (-2, 1),
    **dict.fromkeys(["Hardshrink", "Softshrink"], (0.3,)),
    "CELU": (0.5,),  # PyTorch has 1 / alpha in float32: one that float32 holds
    "Tanhshrink": (), "Threshold": (0.1, -2.0), "Softmax": (1,), "LogSoftmax": (0,), "Softmin": (1,), "Identity": (),
}  # fmt: skip
