"""What an argument means: the same call, written once, means the same in both, or is refused here with a word."""

from itertools import zip_longest

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import MinigradError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")
rng = np.random.default_rng(14)
ARRAYS = {
    "x": rng.normal(size=(3, 4)),
    "y": rng.normal(size=(3, 4)),
    "b": rng.normal(size=(2, 3, 4)),
    "n": np.array(2.5),
    "counts": np.array([1, 2, 3, 1]),
    "weights": np.array([0.5, 1.0, 2.0, 0.1]),
}


def given(library):
    """The names that a call may use, with tensors of a library."""
    return {"m": library, "F": library.nn.functional, **{name: library.tensor(a) for name, a in ARRAYS.items()}}


def results(y):
    return [y] if hasattr(y, "shape") else list(y)


def agree(call):
    """Both libraries give the same shapes, kinds of dtype and numbers."""
    ours, theirs = (results(eval(call, given(library))) for library in (mg, torch))
    for y, t in zip_longest(ours, theirs):
        y, t = y.detach().numpy(), t.detach().numpy()
        assert (y.shape, y.dtype.kind) == (t.shape, t.dtype.kind)
        np.testing.assert_allclose(y, t, rtol=1e-9, atol=1e-12)


MEAN_THE_SAME = """
x.var(True)  x.var(False)  x.std(False)  x.var(1,False,True)  x.std((0,1),True,False)  x.var(dim=0,unbiased=False)
x.var(dim=())  m.var_mean(x,True)  m.std_mean(x,False)  m.std_mean(x,1,False,True)  m.var_mean(x,dim=0,correction=2)
x.sum(())  x.sum([],keepdim=True)  x.mean(())  x.amax(())  x.amin([])  x.norm(2,())  x.all(())  x.any(dim=())
x.cov()  x[:1].cov()  x[0].cov()  x.corrcoef()  x[:1].corrcoef()  x[0].corrcoef()  x.cov(correction=0)
x.cov(fweights=counts)  x.cov(aweights=weights)  x.cov(fweights=counts,aweights=weights,correction=0)
m.nn.Flatten()(input=b)  m.nn.ReLU()(input=x)  m.nn.Softplus().forward(input=x)
m.cross(x[:,:3],y[:,1:],0)  m.cross(x,y)  m.cross(b,b+x)  m.linalg.cross(x[:,:3],y[:,1:])  m.nn.Softmax(0)(input=x)
"""


@pytest.mark.filterwarnings("ignore:Using torch.cross")
@pytest.mark.parametrize("call", MEAN_THE_SAME.split())
def test_a_call_means_what_it_means_in_pytorch(call):
    """`x.var(True)` took the flag for axis 1, `x.sum(())` summed nothing, `cov` of one row was (1, 1) and not a number,
    and a layer was not to be called with `input=`: none but the last said a word.
    """
    agree(call)


REFUSED = """
x.sum(True)  x.sum(dim=False)  x.softmax(True)  x.squeeze(True)  x.amax((True,))  x.unsqueeze(False)  x.cumsum(True)
x.permute(True,False)  x.reshape(True,12)  m.zeros(True)  m.stack([x],True)  x.flip(True)  n.sum(False)  n.max(False)
m.cross(x,x.T)  x.var((True,))  x.argmax(True)  x.transpose(False,True)  x.select(True,0)  x.split(True)  x.tril(True)
"""


@pytest.mark.parametrize("call", REFUSED.split())
def test_a_call_that_means_nothing_in_pytorch_is_refused_here_too(call):
    """True was axis 1, as Python counts it, where PyTorch refuses: most often it is a flag in the wrong place."""
    with pytest.raises((TypeError, RuntimeError)):
        eval(call, given(torch))
    with pytest.raises(MinigradError):
        eval(call, given(mg))


@pytest.mark.parametrize("call", ["F.softmax(b)", "F.log_softmax(x)", "F.softmin(x)", "m.nn.Softmax()(x)"])
def test_a_softmax_is_told_its_axis(call):
    """It took the last axis, and PyTorch, with a warning, the first of three axes and the second of four."""
    with pytest.raises(mg.errors.AxisError, match="dim=-1"):
        eval(call, given(mg))


def test_a_cross_product_of_two_axes_of_three_is_told_which():
    """It took the last, PyTorch the first; where there is one axis of length 3, both take that."""
    with pytest.raises(mg.errors.AxisError, match="say which"):
        mg.cross(mg.ones(3, 3), mg.ones(3, 3))
