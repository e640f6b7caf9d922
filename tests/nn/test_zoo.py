"""mg.zoo: networks have the parameters and multiply-adds that are published, run, and compute what PyTorch does."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad import zoo
from minigrad.nn.zoo.mobilenet import SCALES, Scale
from minigrad.nn.zoo.transformers import GPTS, Size
from minigrad.profiler import estimate

F32 = {"dtype": np.float32}


def counted(make, *size, **options):
    """The estimate of a network without memory, on pictures of that size, or tokens."""
    with mg.device("meta"):
        net = make(**F32, **options)
    n = size[0] if size else 224
    tokens = isinstance(net, zoo.GPT | zoo.BERT)
    return estimate(net, mg.TensorSpec((1, n), np.int64) if tokens else (1, 3, n, n))


def parameters_of(make, *options):
    """How many parameters a network has, made without memory."""
    with mg.device("meta"):
        return sum(p.size for p in make(*options).parameters())


# Parameters; and multiply-adds of convolutions and dense layers, in G, as in the papers and in PyTorch's tables of
# pretrained weights (docs.pytorch.org/vision/stable/models.html, columns Params and GFLOPS, which are GMACs).
PUBLISHED = {
    "AlexNet": (zoo.AlexNet, {}, 61_100_840, 0.71), "VGG11": (zoo.VGG, {"depth": 11}, 132_863_336, 7.61),
    "VGG16": (zoo.VGG, {"depth": 16}, 138_357_544, 15.47), "VGG19": (zoo.VGG, {"depth": 19}, 143_667_240, 19.63),
    "ResNet-18": (zoo.resnet, {"depth": 18}, 11_689_512, 1.81),
    "ResNet-34": (zoo.resnet, {"depth": 34}, 21_797_672, 3.66),
    "ResNet-50": (zoo.resnet, {"depth": 50}, 25_557_032, 4.09),
    "ResNet-101": (zoo.resnet, {"depth": 101}, 44_549_160, 7.80),
    "ResNet-152": (zoo.resnet, {"depth": 152}, 60_192_808, 11.51),
    "MobileNetV2": (zoo.MobileNetV2, {}, 3_504_872, 0.30), "EfficientNet-B0": (zoo.efficientnet, {}, 5_288_548, 0.39),
}  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize(("make", "options", "parameters", "gmacs"), PUBLISHED.values(), ids=PUBLISHED)
def test_parameters_and_multiply_adds_are_those_published(make, options, parameters, gmacs):
    e = counted(make, **options)

    assert (e.parameters, round(e.macs / 1e9, 2)) == (parameters, gmacs)


def test_resnet_50_has_4089_million_multiply_adds():
    assert round(counted(zoo.resnet, depth=50).macs / 1e6) == 4089


# Howard et al. 2017, tables 6 and 7: multiply-adds and parameters in millions.
@pytest.mark.share(6)
@pytest.mark.parametrize(("width", "size", "macs", "parameters"), [
    (1.0, 224, 569, 4.2), (0.75, 224, 325, 2.6), (0.5, 224, 149, 1.3), (0.25, 224, 41, 0.5),
    (1.0, 192, 418, 4.2), (1.0, 160, 290, 4.2), (1.0, 128, 186, 4.2),
])  # fmt: skip
def test_width_and_resolution_multipliers_of_mobilenet(width, size, macs, parameters):
    e = counted(zoo.MobileNetV1, size, width=width)

    assert abs(e.macs / 1e6 - macs) < 1  # the tables round now up, now down: at 160 × 160 it is 290.7
    assert round(e.parameters / 1e6, 1) == parameters


# PyTorch's tables of pretrained weights.
@pytest.mark.share(6)
@pytest.mark.parametrize(("name", "parameters", "gmacs"), [("b1", 7_794_184, 0.69), ("b4", 19_341_616, 4.39)])
def test_compound_scaling_of_efficientnet(name, parameters, gmacs):
    e = counted(zoo.efficientnet, SCALES[name].resolution, name=name)

    assert (e.parameters, round(e.macs / 1e9, 2)) == (parameters, gmacs)


def test_efficientnets_are_as_large_as_published():
    sizes = [parameters_of(zoo.efficientnet, name) for name in ("b2", "b3", "b5", "b6", "b7")]

    assert sizes == [9_109_994, 12_233_232, 30_389_784, 43_040_704, 66_347_960]


def test_bert_base_is_as_large_as_published():
    assert counted(zoo.bert, 128).parameters == 109_482_240


@pytest.mark.parametrize(("name", "parameters"), [
    ("small", 124_439_808), ("medium", 354_823_168), ("large", 774_030_080), ("xl", 1_557_611_200),
])  # fmt: skip
def test_gpt_2_is_as_large_as_published(name, parameters):
    assert parameters_of(zoo.gpt, name) == parameters


def test_gpt_3_has_175_billion_parameters_by_the_formula():
    """12 l h² + 13 l h + (V + s) h + 2 h: Narayanan et al. 2021, §5.1 (arXiv:2104.04473), with the norm at the end."""
    layers, _, h = GPTS["175b"]
    parameters = parameters_of(zoo.gpt, "175b")

    assert parameters == 12 * layers * h**2 + 13 * layers * h + (50257 + 2048) * h + 2 * h
    assert round(parameters / 1e9) == 175


TINY = {
    "AlexNet": (lambda: zoo.AlexNet(5, 2, **F32), 63), "VGG": (lambda: zoo.VGG(11, 5, 2, **F32), 32),
    "ResNet-18": (lambda: zoo.resnet(18, 5, 4, **F32), 32), "ResNet-50": (lambda: zoo.resnet(50, 5, 4, **F32), 32),
    "MobileNetV1": (lambda: zoo.MobileNetV1(0.125, 5, **F32), 32),
    "MobileNetV2": (lambda: zoo.MobileNetV2(0.125, 5, **F32), 32),
    "EfficientNet": (lambda: zoo.EfficientNet(Scale(0.25, 0.3, 32, 0.2), 5, **F32), 32),
}  # fmt: skip


@pytest.mark.parametrize(("make", "size"), TINY.values(), ids=TINY)
def test_networks_of_pictures_run_forward_and_backward(make, size):
    net = make()

    y = net(mg.randn(2, 3, size, size, **F32))
    mg.cross_entropy(y, mg.tensor([0, 4])).backward()

    assert y.shape == (2, 5)
    assert all(p.grad is not None and np.isfinite(p.grad.numpy()).all() for p in net.parameters())


def test_transformers_run_forward_and_backward():
    tokens = mg.randint(0, 11, (2, 6))
    gpt, bert = zoo.GPT(Size(2, 2, 8), 11, 6), zoo.BERT(Size(2, 2, 8), 11, 6)

    scores, (each, whole) = gpt(tokens), bert(tokens, mg.zeros(2, 6, dtype=np.int64))
    (scores.sum() + each.sum() + whole.sum()).backward()

    assert (scores.shape, each.shape, whole.shape) == ((2, 6, 11), (2, 6, 8), (2, 8))
    assert all(p.grad is not None for p in (*gpt.parameters(), *bert.parameters()))


def test_a_transformer_refuses_more_tokens_than_it_has_positions():
    with pytest.raises(mg.errors.ShapeError, match="6 positions, and got 7 tokens"):
        zoo.GPT(Size(1, 1, 4), 11, 6)(mg.zeros(1, 7, dtype=np.int64))


@pytest.mark.parametrize("make", [
    lambda: zoo.resnet(20), lambda: zoo.VGG(12), lambda: zoo.efficientnet("b8"), lambda: zoo.gpt("tiny"),
])  # fmt: skip
def test_a_size_that_is_not_there_is_refused_by_name(make):
    with pytest.raises(ValueError, match=r"20|12|b8|tiny"):
        make()


# -- the same numbers as PyTorch ------------------------------------------------------------------------


def same_as_torch(net, twin, x, gradients=1e-9):
    """Outputs and gradients of the two agree, once the twin has the net's parameters and buffers, in their order."""
    torch = pytest.importorskip("torch")
    mine = [x.numpy() for x in net.state_dict().values()]
    theirs = twin.state_dict()
    twin.load_state_dict({name: torch.tensor(array) for name, array in zip(theirs, mine, strict=True)})

    y = net(mg.tensor(x))
    y_twin = twin(torch.tensor(x))
    (y * y).sum().backward()
    (y_twin * y_twin).sum().backward()

    np.testing.assert_allclose(y.numpy(), y_twin.detach().numpy(), rtol=1e-9, atol=1e-11)
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-6, atol=gradients)


def torch_resnet(torch, width):
    t = torch.nn

    def normed(c, out, k, stride=1):
        return t.Sequential(t.Conv2d(c, out, k, stride, k // 2, bias=False), t.BatchNorm2d(out))

    class Block(t.Module):
        def __init__(self, c, out, stride):
            super().__init__()
            self.f = t.Sequential(normed(c, out, 3, stride), t.ReLU(), normed(out, out, 3))
            self.shortcut = normed(c, out, 1, stride) if stride > 1 or c != out else t.Identity()

        def forward(self, x):
            return torch.relu(self.f(x) + self.shortcut(x))

    wide = [width, width, width, 2 * width, 2 * width, 4 * width, 4 * width, 8 * width, 8 * width]
    blocks = [Block(c, out, out // c) for c, out in itertools.pairwise(wide)]
    stem = normed(3, width, 7, 2), t.ReLU(), t.MaxPool2d(3, 2, 1)
    return t.Sequential(*stem, *blocks, t.AdaptiveAvgPool2d(1), t.Flatten(), t.Linear(8 * width, 5)).double()


def test_resnet_18_computes_what_pytorch_does():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, 3, 64, 64))

    same_as_torch(zoo.resnet(18, 5, 4), torch_resnet(torch, 4), x, gradients=1e-6)


def test_mobilenet_computes_what_pytorch_does():
    t = pytest.importorskip("torch").nn

    def conv(c, out, k=1, stride=1, groups=1):
        return t.Conv2d(c, out, k, stride, k // 2, groups=groups, bias=False), t.BatchNorm2d(out), t.ReLU()

    wide = [n // 8 for n in (32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024)]
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    blocks = [layer for c, out, s in zip(wide, wide[1:], strides) for layer in (*conv(c, c, 3, s, c), *conv(c, out))]
    twin = t.Sequential(*conv(3, wide[0], 3, 2), *blocks, t.AdaptiveAvgPool2d(1), t.Flatten(), t.Linear(wide[-1], 5))
    x = np.random.default_rng(0).normal(size=(3, 3, 64, 64))

    same_as_torch(zoo.MobileNetV1(0.125, 5), twin.double(), x, gradients=1e-6)


def test_gpt_computes_what_pytorch_does():
    torch = pytest.importorskip("torch")
    t, f = torch.nn, torch.nn.functional

    class Block(t.Module):
        def __init__(self, c, heads):
            super().__init__()
            self.heads, self.norm1, self.norm2 = heads, t.LayerNorm(c), t.LayerNorm(c)
            self.qkv, self.out = t.Linear(c, 3 * c), t.Linear(c, c)
            self.mlp = t.Sequential(t.Linear(c, 4 * c), t.GELU("tanh"), t.Linear(4 * c, c))

        def forward(self, x):
            n, length, c = x.shape
            q, k, v = (y.view(n, length, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, -1))
            found = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.out(found)
            return x + self.mlp(self.norm2(x))

    class Twin(t.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = t.Embedding(11, 8), t.Embedding(6, 8)
            self.blocks = t.ModuleList([Block(8, 2), Block(8, 2)])
            self.norm = t.LayerNorm(8)

        def forward(self, tokens):
            x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return f.linear(self.norm(x), self.token.weight)

    same_as_torch(zoo.GPT(Size(2, 2, 8), 11, 6).eval(), Twin().double(), np.array([[1, 2, 3, 1, 9], [0, 10, 4, 4, 7]]))


def test_a_new_gpt_knows_nothing_and_says_so():
    """Its last layer is the table of tokens: with rows of length 8 its loss began at 38, where ln 65 is 4.17."""
    mg.manual_seed(0)
    net = zoo.GPT(Size(2, 4, 64), 65, 64, dropout=0.0, **F32)
    x, y = mg.tensor(np.random.default_rng(0).integers(0, 65, (2, 8, 64)))

    assert abs(mg.cross_entropy(net(x).flatten(0, 1), y.flatten()).item() - np.log(65)) < 1
