"""Which results lie in the memory of which inputs: the same as PyTorch's, where an op has nothing to do.

The rows of samples.py are asked the same in test_parity_ops.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from helpers import flat, is_tensor

import weft

# Calls that leave their input as it is, or nearly so. x is (2, 3), i whole numbers, v (3,), s (1,), o (1, 3),
# z without dimensions, q (3, 3), b truth values, h half, c complex, p (2, 4, 4, 4), l (2, 4, 4), d (1, 4, 3, 4, 4).
CALLS = """
x.contiguous() x.clone() x.reshape(2,3) x.view(2,3) x.view_as(x) x.reshape_as(x) x.expand(2,3) x.expand_as(x)
x.flatten() x.ravel() x.flatten(0,0) v.flatten() z.flatten() v.ravel() x.unflatten(0,(2,)) x.squeeze() x.squeeze(0)
o.squeeze(0) x.unsqueeze(0) x.t().t() x.T.T v.t() x.mT.mT x.transpose(0,0) x.transpose(0,1) x.permute(0,1)
x.swapaxes(0,0) x.swapdims(1,1) x.movedim(0,0) lib.movedim(x,0,1) lib.moveaxis(x,1,1) x.narrow(0,0,2) x.select(0,0)
x[:] x[...] x[None] x[0:2] x[[0,1]] x[b] x[:,None] x.to(lib.float32) x.to('cpu') x.to(x) x.to(lib.float32,copy=True)
x.float() x.type(lib.float32) x.type_as(x) x.cpu() x.double() h.half() i.long() b.bool() c.to(lib.complex64)
x.detach() x.data lib.asarray(x) lib.as_tensor(x) lib.clone(x) lib.tensor(x) x.positive() +x x.conj() x.resolve_conj()
x.resolve_neg() x.conj_physical() lib.real(x) x.real c.real c.imag c.resolve_conj() lib.view_as_real(c)
lib.view_as_complex(lib.view_as_real(c)) x.repeat(1,1) x.repeat(1,1,1) x.tile(()) x.tile((1,)) x.tile((1,1))
lib.tile(x,(1,1)) x.flip(()) x.flip(0) o.flip(0) x.fliplr() x.flipud() x.roll(0) x.roll(0,0) x.roll(3,1) x.rot90(0)
x.rot90(4) lib.rot90(x,0,(0,1)) lib.cat([x]) lib.cat([x],1) lib.concat([x]) lib.concatenate([x]) lib.stack([x])
lib.hstack([x]) lib.vstack([x]) lib.dstack([x]) lib.row_stack([x]) lib.column_stack([x]) lib.column_stack([v])
lib.vstack([v]) lib.dstack([v]) lib.block_diag(x) lib.block_diag(q) lib.cat([x,x[:0]]) lib.atleast_1d(x)
lib.atleast_2d(x) lib.atleast_3d(x) lib.atleast_1d(z) lib.atleast_2d(v) lib.atleast_3d(v) lib.atleast_1d([x,v])
lib.broadcast_to(x,(2,3)) lib.broadcast_tensors(x) lib.broadcast_tensors(x,x) lib.broadcast_tensors(x,v)
lib.meshgrid(v) lib.meshgrid(v,v) lib.cartesian_prod(v) lib.cartesian_prod(v,v) lib.combinations(v,1) lib.split(x,2)
lib.chunk(x,1) lib.tensor_split(x,1) lib.unbind(x) lib.hsplit(x,1) lib.vsplit(x,1) lib.split(x,[2]) x.unfold(0,2,1)
x.as_strided((2,3),(3,1)) x.diagonal() q.diagonal() q.diag() v.diag() lib.diag_embed(v) v.diagflat() x.tril(5)
x.triu(-5) x.clamp(None,9) x.clamp(-9,9) x.clamp_min(-9) i.clamp(-9) x.clip(-9,9) i.round() i.floor() i.ceil()
i.trunc() i.fix() x.round() x.round(decimals=0) i.nan_to_num() x.nan_to_num() b.logical_not().logical_not() x.abs()
i.abs() x.pow(1) x**1 x.float_power(1) x*1 x+0 x-0 x/1 x.add(0) x.mul(1) i//1 x.neg().neg() lib.where(b,x,x)
lib.lerp(x,x,0.0) x.masked_fill(b&~b,0.) x.masked_scatter(b&~b,x) x.index_fill(0,i[0,:0],0.)
x.index_add(0,i[0,:0],x[:0]) x.scatter(0,i[:0],0.) x.gather(0,i*0) x.index_select(0,lib.arange(2))
x.take_along_dim(i*0,0) x.take(i*0) x.masked_select(b|~b) x.sum(()) x.sum([]) o.sum(0) o.sum(0,keepdim=True) o.mean(0)
o.prod(0) o.amax(0) o.amin(0,keepdim=True) o.max(0) o.min(0) o.median(0) o.mode(0) o.logsumexp(0) o.cumsum(0)
o.cumprod(0) o.cummax(0) o.logcumsumexp(0) o.sort(0) o.topk(1,0) o.kthvalue(1,0) o.any(0) b.all(()) x.amax(())
o.nansum(0) o.norm(2,0) z.sum() z.mean() z.max() z.prod() z.cumsum(0) z.sort() z.median() s.squeeze()
lib.einsum('ij->ij',x) lib.einsum('ij->ji',x) lib.einsum('i->i',v) lib.einsum('ij,->ij',x,lib.ones(()))
lib.einsum('...->...',x) lib.einsum('ii->i',q) lib.matrix_power(q,1) lib.linalg.matrix_power(q,1)
lib.matrix_power(q,0) lib.linalg.multi_dot([q,q]) lib.chain_matmul(q) lib.kron(x,lib.ones(1,1))
lib.tensordot(x,lib.ones(()),0) lib.diff(x,0) x.diff(n=0) lib.trapezoid(o,dim=0) lib.rot90(x) lib.renorm(x,2,0,99.)
lib.movedim(x,(0,1),(0,1)) x.repeat_interleave(1) x.repeat_interleave(1,0) lib.special.round(i) lib.special.expit(x)
lib.fix(x) lib.nn.functional.pad(x,(0,0)) F.pad(p,(0,0,0,0)) F.pad(p,(0,0,0,0),'reflect')
F.pad(p,(0,0,0,0),'replicate') F.pad(p,(0,0,0,0),'circular') F.pad(x,()) F.pad(p,(0,0),'constant',1.)
F.adaptive_avg_pool1d(l,4) F.adaptive_avg_pool1d(l,None) F.adaptive_avg_pool2d(p,4) F.adaptive_avg_pool2d(p,(4,None))
F.adaptive_avg_pool3d(d,(3,4,4)) F.adaptive_avg_pool2d(p[0],4) F.adaptive_max_pool1d(l,4) F.adaptive_max_pool2d(p,4)
F.adaptive_max_pool3d(d,(3,4,4)) F.adaptive_avg_pool2d(p,1) F.avg_pool1d(l,1) F.avg_pool2d(p,1) F.avg_pool3d(d,1)
F.max_pool1d(l,1) F.max_pool2d(p,1) F.max_pool3d(d,1) F.lp_pool1d(l,2.,1) F.lp_pool2d(p,2.,1) F.interpolate(l,4)
F.interpolate(p,4) F.interpolate(p,scale_factor=1) F.interpolate(p,4,mode='bilinear')
F.interpolate(p,4,mode='bicubic') F.interpolate(p,4,mode='area') F.interpolate(p,4,mode='nearest-exact')
F.interpolate(l,4,mode='linear') F.interpolate(d,(3,4,4),mode='trilinear')
F.interpolate(p,4,mode='bilinear',align_corners=True) F.interpolate(l,4,mode='area') F.upsample(p,4)
F.pixel_shuffle(p,1) F.pixel_unshuffle(p,1) F.pixel_shuffle(p,2) F.pixel_unshuffle(p,2)
F.pixel_shuffle(p[:,:,:1,:1],2) F.channel_shuffle(p,1) F.channel_shuffle(p,4) F.channel_shuffle(p,2)
lib.channel_shuffle(p,4) lib.pixel_shuffle(p,1) F.dropout(x,0.) F.dropout(x,0.5,False) F.dropout1d(l,0.)
F.dropout2d(p,0.) F.dropout2d(p,.5,False) F.dropout3d(d,.5,False) F.alpha_dropout(x,0.) F.alpha_dropout(x,.5,False)
F.feature_alpha_dropout(p,.5,False) F.feature_alpha_dropout(p,0.,True) lib.dropout(x,.5,False) lib.dropout(x,0.,True)
F.unfold(p,1) F.fold(F.unfold(p,1),4,1) F.fold(p.reshape(2,4,16),4,1) F.rrelu(x.abs()) F.relu(x.abs())
F.leaky_relu(x,1.) F.threshold(x,-9.,0.) F.normalize(o,1.,1) F.embedding(i,q) F.glu(p) F.softmax(o,0)
F.local_response_norm(p,1) F.instance_norm(p) F.layer_norm(x,(3,)) F.hardtanh(x,-9.,9.) F.celu(x.abs())
F.grid_sample(p,lib.zeros(2,4,4,2)) F.affine_grid(lib.zeros(1,2,3),(1,1,2,2)) F.linear(x,lib.eye(3))
F.max_unpool2d(p,lib.arange(16).reshape(1,1,4,4).expand(2,4,4,4),1) nn.Identity()(x) nn.Flatten()(x)
nn.Unflatten(1,(3,))(x) nn.Dropout(.5).eval()(x) nn.Dropout(0.)(x) nn.ZeroPad2d(0)(p) nn.ConstantPad1d(0,1.)(l)
nn.ReflectionPad2d(0)(p) nn.ReplicationPad1d(0)(l) nn.Upsample(scale_factor=1)(p) nn.AdaptiveAvgPool2d(4)(p)
nn.AdaptiveAvgPool1d(4)(l) nn.PixelShuffle(1)(p) nn.PixelUnshuffle(1)(p) nn.ChannelShuffle(4)(p) nn.Sequential()(x)
nn.AvgPool2d(1)(p) nn.MaxPool2d(1)(p) nn.AlphaDropout(.5).eval()(x) nn.Dropout2d(.5).eval()(p) nn.Softmax2d()(p)
nn.UpsamplingNearest2d(4)(p) nn.UpsamplingBilinear2d(4)(p) nn.utils.parameters_to_vector([x])
nn.utils.rnn.pad_sequence([v]) nn.utils.rnn.pad_sequence([v],True) x.to_dense() x.view(lib.float32) x.view(lib.int32)
x.squeeze(()) x.unsqueeze(0).squeeze(0) x.sub(0) x.div(1) x.fmod(1e9) x.remainder(1e9) x.maximum(x) x.fmax(x)
x.copysign(x) x.expand(1,2,3) x.expand_copy((2,3)) x.view_copy((2,3)) x.squeeze_copy() lib.permute_copy(x,(0,1))
lib.narrow_copy(x,0,0,2) x.index_put((i[0,:1]*0,),x[:1]) x.select_scatter(x[0],0,0) x.slice_scatter(x)
q.diagonal_scatter(v) x.as_strided_scatter(x,(2,3),(3,1)) x.new_tensor(x) lib.empty_like(x) lib.fft.fftshift(x,())
lib.fft.ifftshift(o,0) lib.fft.fftshift(x) lib.msort(o) lib.argsort(o) lib.unique(v) lib.unique_consecutive(v)
lib.bucketize(x,v) lib.clamp(x,min=-9) lib.cov(o) lib.corrcoef(v) lib.linalg.diagonal(q) lib.vander(v,1)
lib.adjoint(x) x.adjoint() x.H x.mH lib.addmm(x,x[:,:0],q[:0]) lib.addmm(x,x,q,alpha=0)
lib.baddbmm(l,l[:,:,:0],l[:,:0]) lib.addr(x,lib.zeros(2),v) lib.addcmul(x,x,x,value=0) lib.addcdiv(x,x,x,value=0)
lib.mm(x,lib.eye(3)) lib.special.logsumexp(o,0) lib.quantile(s,0.) lib.nanmedian(z) lib.histc(x,1)
lib.count_nonzero(x) lib.aminmax(z) lib.std(o,0) lib.var_mean(x,0) lib.logical_and(b,b) lib.bitwise_or(i,i)
lib.bitwise_not(i) lib.square(x) lib.sgn(x) lib.sign(b) lib.angle(x)
""".split()

# Where weft is right to differ, and why.
DIFFERS: dict[str, str] = {
    "x.conj_physical()": "a copy, as its name says; PyTorch copies complex numbers only",
}


def given(lib: Any) -> dict[str, Any]:
    lib.manual_seed(0)
    return {
        "x": lib.rand(2, 3),
        "i": lib.zeros(2, 3, dtype=lib.int64),
        "v": lib.rand(3),
        "s": lib.rand(1),
        "o": lib.rand(1, 3),
        "z": lib.rand(()),
        "q": lib.rand(3, 3),
        "b": lib.rand(2, 3) > 0.5,
        "h": lib.rand(2, 3).half(),
        "c": lib.complex(lib.rand(2, 3), lib.rand(2, 3)),
        "p": lib.rand(2, 4, 4, 4),
        "l": lib.rand(2, 4, 4),
        "d": lib.rand(1, 4, 3, 4, 4),
    }


def shared(lib: Any, call: str) -> Any:
    """For each result, the names of the inputs in whose memory it lies; or the exception."""
    names = given(lib)
    own = {t.untyped_storage().data_ptr(): name for name, t in names.items()}
    try:
        made = eval(call, {"lib": lib, "nn": lib.nn, "F": lib.nn.functional, **names})
    except Exception as e:
        return type(e).__name__
    results = [t for t in flat(made) if is_tensor(t) and t.numel()]
    return [own.get(t.untyped_storage().data_ptr(), "") for t in results]


@pytest.mark.parametrize("call", CALLS)
def test_results_share_the_memory_of_what_they_do_in_pytorch(call: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = shared(torch, call), shared(weft, call)
    if isinstance(want, str) or call in DIFFERS:
        return
    assert got == want
