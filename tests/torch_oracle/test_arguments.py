"""What an argument means: the same call, written once, means the same in both, or is refused here with a word."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import MinigradError
from tests.support.table import table

from .oracle import array, flat, torch

rng = np.random.default_rng(14)
ARRAYS = {
    "x": rng.normal(size=(3, 4)), "y": rng.normal(size=(3, 4)), "b": rng.normal(size=(2, 3, 4)), "n": np.array(2.5),
    "i": np.array(1), "i0": np.array(0), "i1": np.array([0]), "j": np.array([2, 0]), "k": np.array([1, 0]),
    "counts": np.array([1, 2, 3, 1]), "weights": np.array([0.5, 1.0, 2.0, 0.1]),
}  # fmt: skip


def given(library):
    """The names that a call may use, with tensors of a library."""
    return {"m": library, "F": library.nn.functional, **{name: library.tensor(a) for name, a in ARRAYS.items()}}


def agree(call):
    """Both libraries give the same shapes, kinds of dtype and numbers."""
    ours, theirs = (map(array, flat(eval(call, given(library)))) for library in (mg, torch))
    for y, t in zip(ours, theirs, strict=True):
        assert (y.shape, y.dtype.kind) == (t.shape, t.dtype.kind)
        np.testing.assert_allclose(y, t, rtol=1e-6 if y.itemsize < 8 else 1e-9, atol=1e-12)


MEAN_THE_SAME = """
x.var(True)  x.var(False)  x.std(False)  x.var(1,False,True)  x.std((0,1),True,False)  x.var(dim=0,unbiased=False)
x.var(dim=())  m.var_mean(x,True)  m.std_mean(x,False)  m.std_mean(x,1,False,True)  m.var_mean(x,dim=0,correction=2)
x.sum(())  x.sum([],keepdim=True)  x.mean(())  x.amax(())  x.amin([])  x.norm(2,())  x.all(())  x.any(dim=())  x.cov()
x[:1].cov()  x[0].cov()  x.corrcoef()  x[:1].corrcoef()  x[0].corrcoef()  x.cov(correction=0)  x.cov(fweights=counts)
x.cov(aweights=weights)  x.cov(fweights=counts,aweights=weights,correction=0)  m.nn.Flatten()(input=b)
m.nn.ReLU()(input=x)  m.nn.Softplus().forward(input=x)  m.cross(x[:,:3],y[:,1:],0)  m.cross(x,y)  m.cross(b,b+x)
m.linalg.cross(x[:,:3],y[:,1:])  m.nn.Softmax(0)(input=x)  m.addmm(n,x,y.T,beta=.5,alpha=2)
m.addmm(n+1e999,x,y.T,beta=0)  x[:,0].addmv(x,y[0],alpha=3)  x.addr(x[:,0],y[0],beta=2)  m.addbmm(n,b,b.mT,alpha=.5)
b[0].addbmm(b[:,:,:3],b,beta=0)  b.baddbmm(b[:,:,:3],b,beta=2)  m.tensordot(a=x,b=y,dims=2)  m.linalg.inv(A=x[:,:3])
m.linalg.det(A=x[:,:3])  m.linalg.solve(A=x[:,:3],B=y)  m.mv(x,vec=y[0])  m.vdot(x[0],other=y[0])
m.linalg.eigvalsh(x[:,1:],UPLO="L")  m.linalg.eigvalsh(x[:,1:],"U")  m.linalg.eigh(x[:,1:],"U")[0]  m.arange(end=5)
m.arange(3.7,dtype=m.int64)  m.linspace(-5,5,4,dtype=m.int64)  m.linspace(.9,5.9,3,dtype=m.int64)
m.logspace(0,2.5,4,dtype=m.int64)  x.sum(dtype=m.bool)  x.nanmean(dtype=m.float32)  counts.diff(prepend=x[0])
m.diff(counts,append=x[0])  n.gather(0,i0)  n.gather(-1,i1)  x[0].gather(0,i)  n.scatter(0,i1,x[0,:1])
n.scatter_add(0,i0,n)  n.scatter_(0,i0,2)  n.index_select(0,i0)  n.index_add(0,i1,n)  n.index_copy(-1,i0,n)
n.index_fill(0,i1,3.)  n.squeeze(0)  n.squeeze(-1)  n.transpose(0,-1)  n.swapdims(0,0)  n.unfold(0,1,1)  n.flip(0)
n.roll(1,())  n.cumsum(0)  x.select(1,i)  x.select(0,i1)  n.movedim((),())  x.repeat_interleave(2,0,output_size=6)
m.reshape(input=x,shape=(4,3))  x.view_as(other=y)  m.split(tensor=x,split_size_or_sections=2)
m.tensor_split(x,sections=2)  m.tensor_split(x,indices=[1])  x.tensor_split(i)  m.tensor_split(x,j[1:]+1)
m.isin(elements=x,test_elements=x[0])  m.max(x,other=y)  m.where(x>0,input=x,other=y)  m.atleast_2d([n,x])
m.atleast_1d(n,x)  m.atleast_3d((x,))  F.pad(x,(-1,2),"replicate")  F.pad(b,(1,-1,2,-1),"reflect")
m.searchsorted(x[0].sort()[0],y,side="right",out_int32=True)  m.bucketize(x,y[0].sort()[0],out_int32=True)  b[i,:,j]
b[i,...,j]  b[:,i,...,j]  b[k,...,i]  b[i,None,k]  b[:,j,...,k]  b[1,:,j]  b[i,:,j].sum()
"""


@pytest.mark.filterwarnings("ignore:Using torch.cross")
@table("call", MEAN_THE_SAME.split())
def test_a_call_means_what_it_means_in_pytorch(call):
    """`x.var(True)` took the flag for axis 1, `x.sum(())` summed nothing, `cov` of one row was (1, 1) and not a number,
    and a layer was not to be called with `input=`; `linspace` rounded integers down, `diff` cut what it was to join to
    integers, and a tensor that is one index moved what arrays beside it choose to the front. Most said no word.
    """
    agree(call)


REFUSED = """
x.sum(True)  x.sum(dim=False)  x.softmax(True)  x.squeeze(True)  x.amax((True,))  x.unsqueeze(False)  x.cumsum(True)
x.permute(True,False)  x.reshape(True,12)  m.zeros(True)  m.stack([x],True)  x.flip(True)  n.sum(False)  n.max(False)
m.cross(x,x.T)  x.var((True,))  x.argmax(True)  x.transpose(False,True)  x.select(True,0)  x.split(True)  x.tril(True)
x.sum(0,1)  x.mean(0,1)  x.max(0,1)  x.argmax(0,1)  x.std(0,1)  x.var(True,True)  x.sort(0,1)  x.median(0,1)
x.topk(1,0,1)
"""


@table("call", REFUSED.split())
def test_a_call_that_means_nothing_in_pytorch_is_refused_here_too(call):
    """True was axis 1, as Python counts it, where PyTorch refuses: most often it is a flag in the wrong place.

    And 1 was True: `x.sum(0, 1)`, which means both axes to its writer, summed over one and kept it.
    """
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
    with pytest.raises(mg.errors.AxisError, match="pass dim"):
        mg.cross(mg.ones(3, 3), mg.ones(3, 3))


def test_what_is_written_by_a_number_and_an_array_goes_where_it_is_read():
    """A tensor that is one number indexes as the number does, before the arrays: written, read and differentiated."""
    gradients = []
    for library in (mg, torch):
        x = library.tensor(ARRAYS["b"], requires_grad=True)
        i, j = library.tensor(1), library.tensor([2, 0])
        y = x * 1
        y[i, :, j] = y[i, :, j] * library.tensor([2.0, 3.0])
        (y * y).sum().backward()
        gradients.append(x.grad.numpy())
        assert y[i, :, j].shape == (3, 2)
    np.testing.assert_allclose(*gradients)


def test_an_index_of_uint8_is_not_guessed_at():
    """PyTorch takes it for a mask, with a warning; it was taken for places."""
    with pytest.raises(mg.errors.DTypeError, match="could be a mask"):
        mg.tensor([1.0, 2.0])[mg.tensor([0, 1], dtype=mg.uint8)]


MEANS = """
F.avg_pool1d(b,2)  F.avg_pool2d(b,2)  F.avg_pool3d(b[None],2)  F.adaptive_avg_pool1d(b,2)  F.adaptive_avg_pool2d(b,3)
F.local_response_norm(b,2)  F.lp_pool1d(b,2,2)  x.logcumsumexp(0)
"""


@pytest.mark.parametrize("call", MEANS.split())
def test_a_mean_of_integers_is_that_of_the_same_floats(call):
    """A quarter, as an integer, is 0: so was every mean of a window of integers."""
    whole = {name: mg.tensor(np.arange(ARRAYS[name].size).reshape(ARRAYS[name].shape)) for name in "xb"}
    names = given(mg) | whole, given(mg) | {name: array.double() for name, array in whole.items()}
    np.testing.assert_allclose(*(eval(call, g).numpy() for g in names))
