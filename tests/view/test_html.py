"""HTML for notebooks: well formed, escaped, small, and true to the values."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft import nn
from weft.view.html import History, text_html

TAGS = set(
    "b br details div polyline pre rect small span summary svg table tbody td th thead tr".split()
)
HOSTILE = '<script>alert("x")</script>&amp;\'"<img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """Reads HTML strictly: each tag is known, and closed by its own end; collects the cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        assert tag in TAGS, tag
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        assert tag in TAGS, tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def places(n: int) -> list[int]:
    """The places that are shown of n."""
    return [*range(n)] if n <= 8 else [0, 1, 2, 3, n - 4, n - 3, n - 2, n - 1]


@given(
    shape=st.lists(st.integers(0, 20), min_size=0, max_size=3),
    kind=st.sampled_from("float32 float64 int64 bool complex64 bfloat16 uint8".split()),
    grad=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_tensors(shape: list[int], kind: str, grad: bool, seed: int) -> None:
    """The cells are the elements at the edges, rounded to four digits."""
    values = np.random.default_rng(seed).normal(0, 50, shape)
    dtype = getattr(weft, kind)
    x = weft.from_numpy(np.asarray(values)).to(dtype)
    if grad and dtype.is_floating_point:
        x.requires_grad_()
    page = Page(x._repr_html_())
    assert f"{kind} ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})" in page.text
    assert ("requires_grad" in page.text) == x.requires_grad
    if len(shape) not in (1, 2) or 0 in shape:
        assert not page.rows
        return
    array = x.detach().to(weft.float64 if kind == "bfloat16" else dtype).numpy()
    array = array.reshape(shape if len(shape) == 2 else [1, *shape])
    shown = array[np.ix_(places(array.shape[0]), places(array.shape[1]))]
    cells = [[c for c in row if c != "…"] for row in page.rows[1:]]
    cells = [row[len(shape) - 1 :] for row in cells if len(row) > len(shape) - 1]
    kinds = {"bool": lambda c: c == "True", "complex64": complex}
    read = np.array([[kinds.get(kind, float)(c) for c in row] for row in cells])
    np.testing.assert_allclose(read, shown.astype(read.dtype), rtol=6e-4, atol=1e-30)


def test_looking_changes_nothing() -> None:
    """No node is recorded, no gradient and no version moves; special values are shown."""
    x = weft.tensor([[float("nan"), float("inf")], [0.0, -1e-30]], requires_grad=True)
    y = x * 1
    version, node = y._version, y.grad_fn
    assert ["nan", "inf"] == Page(y._repr_html_()).rows[1][1:]
    assert (y._version, y.grad_fn) == (version, node)
    assert "grad_fn=MulBackward0" in y._repr_html_()


def test_other_tensors() -> None:
    """What has no table is shown as its text: scalars, sparse tensors, subclasses."""

    class Own(weft.Tensor):
        def __repr__(self, **kwargs: Any) -> str:
            return HOSTILE

    own = weft.ones(2).as_subclass(Own)
    for x in (weft.tensor(1.5), weft.eye(3).to_sparse(), own, weft.ones(2, 2, 2)):
        assert repr(x) in Page(x._repr_html_()).text
    assert "<script" not in own._repr_html_()


def test_large_is_small() -> None:
    """However large the object, the HTML is not."""
    assert len(weft.zeros(10_000, 10_000, dtype=weft.uint8)._repr_html_()) < 4000
    many = nn.ModuleList([nn.Linear(1, 1) for _ in range(5000)])
    assert len(many._repr_html_()) < 60_000
    assert len(History([{"epoch": i, "loss": 1 / i} for i in range(1, 500)])._repr_html_()) < 12_000


def hostile_module() -> nn.Module:
    """A module whose name, child and extra text look like HTML."""
    kind = type("A<b>", (nn.Module,), {"extra_repr": lambda self: HOSTILE})
    module = kind()
    module.add_module("<i>", nn.Linear(2, 2))
    return module


def test_modules() -> None:
    """The tree names each part with its parameters; parts that write their own text keep it."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.Tanh(), nn.Linear(8, 1)))
    text = Page(model._repr_html_()).text
    for part in (
        "Sequential()",
        "Linear(in_features=4, out_features=8, bias=True)",
        "49 parameters",
        "Tanh()",
    ):
        assert part in text
    lazy = nn.Sequential(nn.LazyLinear(3))
    assert "LazyLinear" in Page(lazy._repr_html_()).text
    module = hostile_module()
    assert HOSTILE in Page(module._repr_html_()).text
    assert "<script" not in module._repr_html_()


def test_summary() -> None:
    """The cells are those of the text."""
    summary = weft.summary(nn.Sequential(nn.Linear(4, 8), nn.Tanh()), weft.ones(2, 4))
    page = Page(summary._repr_html_())
    assert [[c.strip() for c in row] for row in page.rows] == [
        [c.strip() for c in row] for row in summary.lines()
    ]
    for total in summary.totals():
        assert total in page.text and total in str(summary)


def test_report_and_graph() -> None:
    """A report is its text, a graph its picture."""
    f = weft.compile(lambda x: (x * 2).sum())
    for _ in range(4):
        f(weft.ones(3))
    report = f.report()
    assert Page(report._repr_html_()).text == str(report).replace("\n", "", 1)
    x = weft.ones(2, requires_grad=True)
    assert weft.view.make_dot(x.sum(), params={"x": x})._repr_svg_().lstrip().startswith("<")
    assert Page(text_html(HOSTILE, HOSTILE)).text == HOSTILE * 2


def test_history() -> None:
    """The table has each epoch and each result; names are escaped; holes and text are no numbers."""
    history = History([{"epoch": i, "loss": 1 / (i + 1), HOSTILE: "x<y"} for i in range(4)])
    history.append({"epoch": 4, "loss": float("nan"), "late": True})
    page = Page(history._repr_html_())
    assert page.rows[0] == ["epoch", "loss", HOSTILE, "late"]
    assert page.rows[1] == ["0", "1", "x<y", ""]
    assert page.rows[-1] == ["4", "nan", "", "True"]
    assert "<polyline" in history._repr_html_()
    assert not Page(History()._repr_html_()).rows
    trainer = weft.train.Trainer(nn.Linear(2, 1), loss="mse", max_epochs=3, progress=False)
    fitted = trainer.fit((weft.ones(8, 2), weft.zeros(8, 1)))
    assert fitted == trainer.history and "<svg" in fitted._repr_html_()
    assert "Trainer(Linear" in Page(trainer._repr_html_()).text


@pytest.mark.parametrize("n", [0, 1, 8, 9])
def test_vectors(n: int) -> None:
    """Vectors are one row below their places."""
    page = Page(weft.arange(n)._repr_html_())
    if n:
        assert page.rows[0][0] == page.rows[1][0] == "0"
        assert page.rows[1][-1] == str(n - 1)
