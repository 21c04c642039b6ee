"""The API reference of the site (`docs/reference.py`): nothing public is missing, docstrings become valid pages."""

from __future__ import annotations

import importlib
import re

import pytest
import reference

import weft


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """All pages of the reference."""
    pytest.importorskip("tensorboard")  # a page of the reference needs it
    pytest.importorskip("PIL")
    pytest.importorskip("soundfile")
    return reference.pages()


def test_every_op_has_an_entry(pages: dict[str, str]) -> None:
    """Each op of the registry that is a function of weft, or a method only, is described once."""
    text = "\n".join(t for n, t in pages.items() if n.startswith("ops_"))
    described = re.findall(r"^\.\. py:function:: ([\w.]+)", text, re.MULTILINE)
    assert len(described) == len(set(described))
    functions = {n for n in weft.ops.registry() if reference.is_function(n)}
    assert functions - set(described) == set()
    assert {d for d in described if d.startswith("Tensor.")} >= {"Tensor.view", "Tensor.expand"}


@pytest.mark.parametrize("name", ["nn", "optim", "linalg", "distributions", "utils.data"])
def test_every_public_name_has_an_entry(pages: dict[str, str], name: str) -> None:
    """The page of a module describes what the module offers."""
    described = set(re.findall(r"^\.\. py:\w+:: (\w+)", pages[name], re.MULTILINE))
    wanted = {n for n, _ in reference.public(importlib.import_module(f"weft.{name}"))}
    assert len(wanted) > 10 and wanted <= described


def test_the_index_names_every_page(pages: dict[str, str]) -> None:
    """No page is lost, none is named that is not there."""
    named = set(re.findall(r"^   ([\w.]+)$", pages["index"], re.MULTILINE))
    assert named == set(pages) - {"index"}


def test_native_signatures() -> None:
    """Signatures of the registry as Python writes them."""
    shown = reference.native_signature
    assert shown("softmax(Tensor input, int dim, *, dtype? dtype=None) -> Tensor") == (
        "(input: Tensor, dim: int, *, dtype: dtype | None=None) -> Tensor"
    )
    assert shown("view(Tensor input, int... size) -> Tensor") == (
        "(input: Tensor, *size: int) -> Tensor"
    )
    assert shown("add(Tensor|Scalar input, Tensor?[] more) -> (Tensor values, Tensor indices)") == (
        "(input: Tensor | Number, more: Sequence[Tensor | None]) -> tuple"
    )


def test_python_signatures() -> None:
    """Annotations lose their quotes, defaults keep theirs, `self` goes."""

    def method(self: object, x: weft.Tensor, how: str = "mean", *rest: int) -> None:
        """Nothing."""

    assert reference.signature(method) == "(x: weft.Tensor, how: str = 'mean', *rest: int) -> None"


def test_docstrings() -> None:
    """Paragraphs, code, sections, lists, examples and literal blocks become reStructuredText."""
    doc = """Return ``x`` * y_ of `z`, see :func:`f`.

    Args:
        x: the first,
            and more of it.
        *rest: others.

    Returns:
        A *number*.

    - one
    - two

    A formula::

        a * b

    >>> f(1)
    2
    """
    assert reference.rst(doc).split("\n\n") == [
        "Return ``x`` \\* y\\_ of ``z``, see ``f``.",
        ":param x: the first,\n    and more of it.\n:param \\*rest: others.",
        ":returns: A \\*number\\*.",
        "- one\n- two",
        "A formula::",
        "    a * b",
        ".. code-block:: pycon",
        "    >>> f(1)\n    2",
    ]
