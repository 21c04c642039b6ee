"""Run by test_ranks.py on several ranks: they train together as one process would on all data."""

from __future__ import annotations

import copy

import pytest

import weft
import weft.distributed as dist
from weft import nn
from weft.nn.parallel import DistributedDataParallel as DDP
from weft.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
PER_RANK = 4
weft.manual_seed(1)  # the data, alike on all ranks
X, Y = weft.randn(6, size * PER_RANK, 5), weft.randn(6, size * PER_RANK, 2)
weft.manual_seed(100 + rank)  # the models, different


def share(x: weft.Tensor) -> weft.Tensor:
    """This rank's part of a batch."""
    return x[rank * PER_RANK : (rank + 1) * PER_RANK]


def net() -> nn.Module:
    """Different on each rank."""
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


def first_ranks(model: nn.Module) -> nn.Module:
    """A copy of a model with the parameters of rank 0."""
    things = [model.state_dict()]
    dist.broadcast_object_list(things, src=0)
    model = copy.deepcopy(model)
    model.load_state_dict(things[0])
    return model


def equal_on_all(tensors: list[weft.Tensor]) -> bool:
    """Whether all ranks have these, to the bit."""
    every = [None] * size
    dist.all_gather_object(every, [x.detach() for x in tensors])
    return all(x.equal(y) for theirs in every for x, y in zip(tensors, theirs, strict=True))


def close(a: nn.Module, b: nn.Module) -> bool:
    """Whether two models have the same parameters, but for rounding."""
    pairs = zip(a.parameters(), b.parameters(), strict=True)
    return all(p.allclose(q, rtol=1e-5, atol=1e-6) for p, q in pairs)


def steps(
    model: nn.Module, optimizer: weft.optim.Optimizer, x: weft.Tensor, y: weft.Tensor
) -> None:
    """Train on batches; after each step of several ranks these are equal."""
    for xs, ys in zip(x, y, strict=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(xs), ys).backward()
        optimizer.step()
        if len(xs) == PER_RANK:
            assert equal_on_all(list(model.parameters()))


def mine(x: weft.Tensor) -> weft.Tensor:
    """This rank's part of all batches."""
    return weft.stack([share(batch) for batch in x])


def as_one_process() -> None:
    """DDP on parts of batches is one process on the whole, for any size of buckets."""
    for options in ({}, {"bucket_cap_mb": 1e-4}, {"gradient_as_bucket_view": True},
                    {"find_unused_parameters": True, "bucket_cap_mb": 1e-4}):  # fmt: skip
        inner = net()
        single = first_ranks(inner)
        model = DDP(inner, **options)
        assert equal_on_all(list(model.parameters()))
        assert list(model.state_dict()) == [f"module.{n}" for n in single.state_dict()]
        steps(model, weft.optim.Adam(model.parameters(), lr=0.05), mine(X), mine(Y))
        steps(single, weft.optim.Adam(single.parameters(), lr=0.05), X, Y)
        assert close(inner, single), options


def overlap() -> None:
    """The first buckets are on their way before backward has come to the last."""
    inner = net()
    model = DDP(inner, bucket_cap_mb=1e-5)
    started = []
    inner[0].weight.register_hook(lambda g: started.append(model._reducer._started))
    model(share(X[0])).sum().backward()
    assert len(model._reducer.buckets) == 5 and started == [4]


def accumulated() -> None:
    """Gradients summed up in no_sync are averaged by the next pass; two passes may follow two."""
    inner = net()
    single, model = first_ranks(inner), DDP(inner)
    with model.no_sync():
        model(share(X[0])).pow(2).sum().backward()
    assert not equal_on_all([inner[0].weight.grad])
    model(share(X[1])).pow(2).sum().backward()
    assert equal_on_all([p.grad for p in inner.parameters()])
    a, b = model(share(X[2])), model(share(X[3]))
    a.pow(2).sum().backward()
    b.pow(2).sum().backward()
    for x in X[:4]:
        (single(x).pow(2).sum() / size).backward()
    for p, q in zip(inner.parameters(), single.parameters(), strict=True):
        assert p.grad.allclose(q.grad, rtol=1e-5, atol=1e-5)
    with weft.no_grad():
        model(share(X[0]))  # nothing is expected of it


def compiled() -> None:
    """A compiled step does not leave the other ranks out."""
    inner = net()
    single, model = first_ranks(inner), DDP(inner)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)

    @weft.compile
    def step(x: weft.Tensor, y: weft.Tensor) -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    xs, ys = [*X, *X, *X], [*Y, *Y, *Y]
    with pytest.warns(UserWarning, match="runs eagerly: a hook on gradients"):
        for x, y in zip(xs, ys, strict=True):
            step(share(x), share(y))
    steps(single, weft.optim.SGD(single.parameters(), lr=0.1), xs, ys)
    assert close(inner, single) and equal_on_all(list(inner.parameters()))


def copies() -> None:
    """A copy of a wrapped model averages gradients of its own."""
    model = copy.deepcopy(DDP(net()))
    model(share(X[0])).sum().backward()
    assert equal_on_all([p.grad for p in model.parameters()])


def shared_gradients() -> None:
    """Two parameters that backward gives the same gradient do not have it averaged twice."""

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (nn.Parameter(weft.zeros(3)) for _ in range(2))

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return (self.a + self.b) * x

    model = DDP(Sum(), bucket_cap_mb=1e-6)
    model(weft.full((3,), rank + 1.0)).sum().backward()
    mean = (size + 1) / 2
    assert model.module.a.grad.eq(mean).all() and model.module.b.grad.eq(mean).all()


class Branches(nn.Module):
    """Uses one of its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.both, self.a, self.b, self.never = (nn.Linear(5, 5) for _ in range(4))

    def forward(self, x: weft.Tensor, which: str) -> dict[str, weft.Tensor]:
        return {"out": getattr(self, which)(self.both(x))}


def unused() -> None:
    """What only some ranks use is averaged with zeros, what none uses is left alone."""
    inner = Branches()
    model = DDP(inner, find_unused_parameters=True)
    which = "a" if rank == 0 else "b"
    for _ in range(2):
        model.zero_grad()
        model(share(X[0]), which)["out"].sum().backward()
        assert equal_on_all([p.grad for n, p in inner.named_parameters() if "never" not in n])
        assert inner.never.weight.grad is None
        assert inner.a.bias.grad.allclose(weft.full((5,), PER_RANK / size))
        assert inner.b.bias.grad.allclose(weft.full((5,), PER_RANK * (size - 1) / size))
    model = DDP(Branches())
    model(share(X[0]), "a")["out"].sum().backward()
    with pytest.raises(
        RuntimeError, match=r"4 parameters got no gradient.*\(b\.weight.*find_unused"
    ):
        model(share(X[0]), "a")
    with pytest.raises(RuntimeError, match=r"rank 0 has 0\.weight of shape \(2, 3\).*rank 1 has"):
        DDP(nn.Sequential(nn.Linear(3 if rank == 0 else 4, 2)))
    with pytest.raises(NotImplementedError, match="static_graph is not supported, got True"):
        DDP(net(), static_graph=True)
    with pytest.raises(RuntimeError, match="no parameter that requires a gradient"):
        DDP(nn.ReLU())
    table = DDP(nn.Embedding(4, 2, sparse=True))
    with pytest.raises(NotImplementedError, match=r"the gradient of weight is .*sparse_coo"):
        table(weft.tensor([1])).sum().backward()


def buffers() -> None:
    """All ranks go on with the running statistics of rank 0."""
    inner = nn.BatchNorm1d(5)
    model = DDP(inner)
    model(share(X[0]) + rank).sum().backward()
    own = inner.running_mean.clone()
    assert not equal_on_all([own])
    model(share(X[1]))
    weft.testing.assert_close(inner.num_batches_tracked.item(), 2)
    moved = (inner.running_mean - 0.1 * share(X[1]).mean(0)) / 0.9
    every = [None] * size
    dist.all_gather_object(every, own)
    assert moved.allclose(every[0], atol=1e-5)
    again = DDP(nn.BatchNorm1d(5), broadcast_buffers=False)
    for _ in range(2):
        again(share(X[0]) + rank).sum().backward()
    assert not equal_on_all([again.module.running_mean])


def small_floats() -> None:
    """Gradients of 16 bits are averaged with one rounding."""
    inner = nn.Linear(4, 1).to(weft.bfloat16)
    model = DDP(inner)
    model(weft.full((1, 4), 1.0 + rank / 128).to(weft.bfloat16)).sum().backward()
    mean = 1.0 + (size - 1) / 2 / 128
    assert inner.weight.grad.equal(weft.full((1, 4), mean).to(weft.bfloat16))


def optimizers() -> None:
    """DistributedOptimizer: any optimiser, synchronised by itself or by hand, with a schedule."""
    for make in (
        lambda p: weft.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: weft.optim.AdamW(p, lr=0.05),
    ):
        model = net()
        single = first_ranks(model)
        optimizer = dist.DistributedOptimizer(make(model.parameters()))
        schedule = weft.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        assert equal_on_all(list(model.parameters()))
        steps(model, optimizer, mine(X), mine(Y))
        steps(single, make(single.parameters()), X, Y)
        assert close(model, single)
        schedule.step()
        assert optimizer.param_groups[0]["lr"] in (0.05, 0.025)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(share(X[0])), share(Y[0])).backward()
        with pytest.raises(RuntimeError, match="are being averaged"):
            optimizer.zero_grad()
        with pytest.raises(RuntimeError, match="got a gradient again"):
            nn.functional.mse_loss(model(share(X[0])), share(Y[0])).backward()
        optimizer.synchronize()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(share(X[0])), share(Y[0])).backward()
        optimizer.synchronize()
        grads = [p.grad.clone() for p in model.parameters()]
        assert equal_on_all(grads)
        optimizer.step()
        assert all(g.equal(p.grad) for g, p in zip(grads, model.parameters(), strict=True))
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.zero_grad()
        steps(model, optimizer, mine(X), mine(Y))


def closures() -> None:
    """LBFGS evaluates the model several times a step: each time gradients are averaged."""
    model = net()
    single = first_ranks(model)
    runs = [
        (model, dist.DistributedOptimizer(weft.optim.LBFGS(model.parameters(), max_iter=5)),
         share(X[0]), share(Y[0])),
        (single, weft.optim.LBFGS(single.parameters(), max_iter=5), X[0], Y[0]),
    ]  # fmt: skip
    for m, optimizer, x, y in runs:

        def closure() -> weft.Tensor:
            optimizer.zero_grad()  # noqa: B023
            loss = nn.functional.mse_loss(m(x), y)  # noqa: B023
            loss.backward()
            return loss

        optimizer.step(closure)
    assert all(p.allclose(q, atol=1e-3) for p, q in zip(model.parameters(), single.parameters()))
    assert equal_on_all(list(model.parameters()))


def branches_optimized() -> None:
    """Parameters without a gradient on this rank, or on any."""
    model = Branches()
    never = model.never.weight.detach().clone()
    inner = weft.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
    optimizer = dist.DistributedOptimizer(inner)
    never = model.never.weight.detach().clone()
    model(share(X[0]), "a" if rank == 0 else "b")["out"].sum().backward()
    optimizer.step()
    assert model.never.weight.grad is None and model.never.weight.equal(never)
    assert equal_on_all(list(model.parameters()))


def samples() -> None:
    """DistributedSampler knows the ranks: together they see every sample, each once."""
    data = TensorDataset(weft.arange(4 * size))
    sampler = DistributedSampler(data)
    seen = [int(i) for (batch,) in DataLoader(data, batch_size=2, sampler=sampler) for i in batch]
    every = [None] * size
    dist.all_gather_object(every, seen)
    assert len(seen) == 4 and sorted(i for part in every for i in part) == list(range(4 * size))


for check in (as_one_process, overlap, accumulated, compiled, copies, shared_gradients, unused,
              buffers, small_floats, optimizers, closures, branches_optimized, samples):  # fmt: skip
    check()
dist.destroy_process_group()
print(f"rank {rank} is done")
