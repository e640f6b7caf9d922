"""Layers of one array that keep its shape."""

# Name → the arguments that make one.
ACTIVATIONS = {
    **dict.fromkeys(["ReLU", "ReLU6", "Tanh", "Sigmoid", "LogSigmoid", "SELU", "SiLU", "Mish", "Softsign"], ()),
    "LeakyReLU": (0.2,),
    "ELU": (0.5,),
    "GELU": ("tanh",),
    "Softplus": (2,),
    "Hardtanh": (-2, 1),
    "Softmax": (1,),
    "LogSoftmax": (0,),
    "Identity": (),
}
