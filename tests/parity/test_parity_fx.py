"""weft.fx beside torch.fx: the same nodes, names, targets and arguments for the same modules."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

import pytest
import torch
import torch.fx
import weft.fx

import weft

SOURCES = {
    "mlp": """
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 2)
            self.drop = nn.Dropout(0.5)
        def forward(self, x):
            return F.log_softmax(self.fc2(self.drop(F.relu(self.fc1(x)))), dim=1)
    """,
    "residual": """
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 3, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(3)
            self.relu = nn.ReLU(inplace=True)
            self.down = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out += self.down(x)
            out = torch.flatten(F.adaptive_avg_pool2d(self.relu(out), (1, 1)), 1)
            return F.max_pool2d(x, 2), F.avg_pool2d(x, 2), out
    """,
    "names": """
        def __init__(self):
            super().__init__()
            self.Conv2dRelu, self.mixed_5B, self.layer_1 = nn.ReLU(), nn.ReLU(), nn.ReLU()
            self.items = nn.ModuleList([nn.ReLU(), nn.ReLU()])
        def forward(self, x, input, self_=None, add_1=2):
            x = self.layer_1(self.layer_1(self.mixed_5B(self.Conv2dRelu(x))))
            for item in self.items:
                x = item(x)
            return (x + 1 + input + add_1).sum().abs(), abs(x), max(1, 2), x.max(1).values
    """,
    "parameters": """
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))
            self.register_buffer("table", torch.arange(4.0))
            self.constant = torch.ones(4)
            self.inner = nn.Module()
            self.inner.bias = nn.Parameter(torch.ones(4))
        def forward(self, x):
            y = self.weight * x + self.inner.bias - self.table * x
            y = self.constant + x + torch.ones(1) * x
            return F.linear(y, self.weight[None], None) + self.weight.expand(x.size(0), -1) * self.table
    """,
    "indices": """
        def forward(self, x, d):
            a, b = x.chunk(2, dim=-1)
            c = d["k"][0]
            return {"a": a[:, None, 1:], "b": [b[..., 0], x[c], (c, x[x > 0])], "s": x[: x.shape[0]]}
    """,
    "operators": """
        def forward(self, x, y):
            a = [2 - x, x - 2, 2 * x, 1 / x, 2 ** x, x ** 2, 5 % x, x // 2, 7 // x, x @ y, -x, ~x]
            b = [x & 1, 1 | x, x ^ y, x << 1, x >> 1, x < 1, 1 < x, x == y, x != 0, +x, abs(x)]
            return a + b
    """,
    "functions": """
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4, 4))
        def forward(self, x, t):
            y = F.conv2d(x, self.w, None, stride=2)
            y = F.pad(F.interpolate(y, scale_factor=2.0, mode="nearest"), (1, 1))
            y = F.layer_norm(F.softmax(y, dim=1), (4,), self.w, eps=1e-6)
            y = F.scaled_dot_product_attention(y, y, y, is_causal=True)
            y = F.gelu(F.silu(F.leaky_relu(F.elu(F.hardtanh(F.hardswish(y))), 0.1)))
            y = F.normalize(F.dropout(F.tanh(F.sigmoid(y)), 0.2, self.training))
            y = F.batch_norm(y, None, None, training=True) + F.embedding(t, self.w)
            y = F.group_norm(y, 2) + F.one_hot(t, 4) + F.glu(y) + F.softplus(y)
            z = F.cross_entropy(y, t) + F.mse_loss(y, t) + F.binary_cross_entropy_with_logits(y, t)
            z = z + F.smooth_l1_loss(y, t) + F.nll_loss(y, t) + F.kl_div(y, t)
            return z + F.instance_norm(y) + F.relu6(y) + F.unfold(y, 2) + F.cosine_similarity(y, t)
    """,
    "tensors": """
        def forward(self, x):
            y = torch.cat([x, x.t()], dim=1) + torch.stack((x, x)).mean(0, keepdim=True)
            y = torch.where(y > 0, y, 0.0) + torch.einsum("ij->i", x) + torch.arange(x.size(0))
            y = y.to(torch.float32).type_as(x).masked_fill(y == 0, float("-inf"))
            y = torch.zeros(x.shape[0], dtype=torch.float32, device=x.device) + torch.bmm(y, y)
            y = torch.matmul(y, y).view(x.shape[0], -1).permute(0, 1).contiguous().reshape(-1)
            y = torch.clamp(y, min=0.0).split(2, dim=0)[0] + torch.split(y, 2)[0] + torch.exp(y)
            return torch.max(y), y.add_(1), torch.topk(y, 2), torch.full((x.size(0),), 1.0)
    """,
    "attention": """
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
            self.norm = nn.LayerNorm(8)
            self.mlp = nn.ModuleDict({"up": nn.Linear(8, 16), "down": nn.Linear(16, 8)})
        def heads(self, x):
            return x.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)
        def forward(self, x, mask=None, **kwargs):
            h = self.norm(x)
            q, k, v = self.heads(self.q(h)), self.heads(self.k(h)), self.heads(self.v(h))
            s = q @ k.transpose(-2, -1) / math.sqrt(x.size(-1))
            y = (s.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
            return {"out": x + self.mlp["down"](F.gelu(self.mlp["up"](y))), "scores": s}
    """,
    "stars": """
        def forward(self, x: int, *args, k=3, flag: bool = True, **kw):
            return x * k + args[0] + kw["b"], flag
    """,
    "attributes": """
        def forward(self, x):
            return x.shape[0] // 2, x.grad.data, x.T.mT, x.foo(1).bar.baz(2), x.dtype, x.ndim + 1
    """,
    "nested": """
        def __init__(self):
            super().__init__()
            class Inner(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.seq = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.ReLU()))
                    self.p = nn.Parameter(torch.ones(4))
                def forward(self, x, scale):
                    return self.seq(x) * scale + self.p
            self.first, self.second = Inner(), Inner()
        def forward(self, x):
            return self.second(self.first(x, scale=2), 3), self.first(x, 4)
    """,
    "recurrent": """
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 4)
            self.lstm = nn.LSTM(4, 8, batch_first=True)
            self.attention = nn.MultiheadAttention(8, 2)
        def forward(self, tokens, state=None):
            y, (h, c) = self.lstm(self.embedding(tokens), state)
            return self.attention(y, y, y, need_weights=False)[0], h, c
    """,
}


def made(library: Any, source: str) -> Any:
    """Return the graph of a module that is defined with one of the libraries."""
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "math": math}
    text = f"class Module(nn.Module):\n{textwrap.indent(textwrap.dedent(source), '    ')}"
    exec(compile(text, "<module>", "exec", dont_inherit=True), names)
    return library.fx.symbolic_trace(names["Module"]())


def target_of(node: Any) -> str:
    if isinstance(node.target, str):
        return node.target
    return node.target.__name__


def text_of(value: Any) -> str:
    return re.sub(r"\bweft\.", "torch.", repr(value))


def rows(traced: Any) -> list[tuple[str, ...]]:
    return [
        (n.op, n.name, target_of(n), text_of(n.args), text_of(dict(n.kwargs)), str(n.type))
        for n in traced.graph.nodes
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_nodes(name: str) -> None:
    ours, theirs = made(weft, SOURCES[name]), made(torch, SOURCES[name])
    assert rows(ours) == rows(theirs)
    users = [[[u.name for u in n.users] for n in t.graph.nodes] for t in (ours, theirs)]
    assert users[0] == users[1]
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    assert list(dict(ours.named_modules())) == list(dict(theirs.named_modules()))


@pytest.mark.parametrize("name", SOURCES)
def test_code(name: str) -> None:
    ours, theirs = (made(library, SOURCES[name]).code for library in (weft, torch))
    # Where the library has a function is its own affair; all else is the text of the code.
    where = r"\b(torch|weft)\.(_C\._nn\.|functional\.|nn\.functional\.|fx\._symbolic_trace\.)?"
    assert re.sub(where, "", ours) == re.sub(where, "", theirs)


@pytest.mark.parametrize("name", SOURCES)
def test_dead_code_and_copies(name: str) -> None:
    found = []
    for library in (weft, torch):
        traced = made(library, SOURCES[name])
        copied = type(traced.graph)()
        copied.output(copied.graph_copy(traced.graph, {}))
        removed = copied.eliminate_dead_code() if name not in NEEDS_OWNER else None
        found.append(([n.name for n in copied.nodes], removed))
    assert found[0] == found[1]


NEEDS_OWNER = {
    n for n, s in SOURCES.items() if "nn.Linear" in s or "nn.ReLU" in s or "nn.LSTM" in s
}


@pytest.mark.parametrize("seed", range(60))
def test_names(seed: int) -> None:
    import random

    from torch.fx.graph import _Namespace
    from weft.fx.namespace import Namespace, snake_case

    rng = random.Random(seed)
    ours, theirs = Namespace(), _Namespace()
    pool = "add add_1 add_2 sum x x_0 1a a.b.0 device if _ a__b layer_1 layer max".split()
    for _ in range(60):
        candidate = rng.choice(pool)
        assert ours.create_name(candidate, None) == theirs.create_name(candidate, None)
    word = "".join(rng.choice("abXY_19") for _ in range(8))
    assert snake_case(word) == torch.fx.graph._snake_case(word)
