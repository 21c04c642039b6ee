"""Transforms of text as modules, to be put one after another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor, nn
from weft.text import functional

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from weft.text.vocab import Vocab

__all__ = [
    "AddToken",
    "LabelToIndex",
    "PadTransform",
    "RegexTokenizer",
    "Sequential",
    "StrToIntTransform",
    "ToTensor",
    "Truncate",
    "VocabTransform",
]


class Sequential(nn.Sequential):
    """Transforms one after another.

    >>> from weft.text import transforms as T
    >>> T.Sequential(T.AddToken(1), T.AddToken(2, begin=False), T.ToTensor())([5, 6])
    tensor([1, 5, 6, 2])
    """


class VocabTransform(nn.Module):
    """Tokens to their indices in a vocabulary.

    >>> from weft.text import transforms, vocab
    >>> words = vocab.vocab({"a": 1, "b": 1})
    >>> transforms.VocabTransform(words)([["a", "b"], ["b"]])
    [[0, 1], [1]]
    """

    def __init__(self, vocab: Vocab) -> None:
        super().__init__()
        self.vocab = vocab

    def forward(self, input: Any) -> Any:
        if input and isinstance(input[0], (list, tuple)):
            return [self.vocab.lookup_indices(row) for row in input]
        return self.vocab.lookup_indices(input)


class ToTensor(nn.Module):
    """Ids to a tensor; see :func:`weft.text.functional.to_tensor`.

    >>> from weft.text import transforms
    >>> transforms.ToTensor(padding_value=0)([[1, 2], [3]])
    tensor([[1, 2],
            [3, 0]])
    """

    def __init__(self, padding_value: int | None = None, dtype: weft.dtype = weft.int64) -> None:
        super().__init__()
        self.padding_value, self.dtype = padding_value, dtype

    def forward(self, input: Any) -> Tensor:
        return functional.to_tensor(input, self.padding_value, self.dtype)


class LabelToIndex(nn.Module):
    """Names of labels to numbers.

    Args:
        label_names: the names, in the order of the numbers.
        label_path: a file with a name in each line, instead of the names.
        sort_names: number them in alphabetical order.

    >>> from weft.text import transforms
    >>> transforms.LabelToIndex(["neg", "pos"])(["pos", "neg"])
    [1, 0]
    """

    def __init__(
        self,
        label_names: Seq[str] | None = None,
        label_path: str | None = None,
        sort_names: bool = False,
    ) -> None:
        super().__init__()
        if (label_names is None) == (label_path is None):
            raise ValueError("LabelToIndex: give either label_names or label_path")
        if label_path is not None:
            with open(label_path, encoding="utf-8") as file:
                label_names = [line.strip() for line in file if line.strip()]
        names = list(label_names or ())
        self._names = sorted(names) if sort_names else names
        self._numbers = {name: i for i, name in enumerate(self._names)}

    def forward(self, input: Any) -> Any:
        if isinstance(input, (list, tuple)):
            return [self._number(name) for name in input]
        return self._number(input)

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise ValueError(f"LabelToIndex: {name!r} is none of {self._names}")
        return self._numbers[name]

    @property
    def label_names(self) -> list[str]:
        """The names, in the order of the numbers.

        >>> from weft.text import transforms
        >>> transforms.LabelToIndex(["b", "a"], sort_names=True).label_names
        ['a', 'b']
        """
        return list(self._names)


class Truncate(nn.Module):
    """The first ``max_seq_len`` tokens.

    >>> from weft.text import transforms
    >>> transforms.Truncate(2)([[1, 2, 3], [4]])
    [[1, 2], [4]]
    """

    def __init__(self, max_seq_len: int) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len

    def forward(self, input: Any) -> Any:
        return functional.truncate(input, self.max_seq_len)


class AddToken(nn.Module):
    """A token before or behind each sequence.

    >>> from weft.text import transforms
    >>> transforms.AddToken("<s>")([["a"], ["b"]])
    [['<s>', 'a'], ['<s>', 'b']]
    """

    def __init__(self, token: int | str, begin: bool = True) -> None:
        super().__init__()
        self.token, self.begin = token, begin

    def forward(self, input: Any) -> Any:
        return functional.add_token(input, self.token, self.begin)


class PadTransform(nn.Module):
    """The last dimension of a tensor filled up to a length.

    >>> from weft.text import transforms
    >>> transforms.PadTransform(4, 0)(weft.tensor([1, 2]))
    tensor([1, 2, 0, 0])
    """

    def __init__(self, max_length: int, pad_value: int) -> None:
        super().__init__()
        self.max_length, self.pad_value = max_length, pad_value

    def forward(self, x: Tensor) -> Tensor:
        missing = self.max_length - x.size(-1)
        return nn.functional.pad(x, (0, missing), value=self.pad_value) if missing > 0 else x


class StrToIntTransform(nn.Module):
    """Texts of numbers to numbers.

    >>> from weft.text import transforms
    >>> transforms.StrToIntTransform()(["1", "23"])
    [1, 23]
    """

    def forward(self, input: Any) -> Any:
        return functional.str_to_int(input)


class RegexTokenizer(nn.Module):
    """Replacements by regular expressions, then a split at spaces.

    Args:
        patterns_list: pairs of a pattern and what stands for it.

    >>> from weft.text import transforms
    >>> transforms.RegexTokenizer([(r",", " , ")])("a,b c")
    ['a', ',', 'b', 'c']
    """

    def __init__(self, patterns_list: Seq[tuple[str, str]]) -> None:
        super().__init__()
        self.patterns_list = [(p, r) for p, r in patterns_list]
        self._compiled = [(re.compile(p), r) for p, r in patterns_list]

    def forward(self, line: str) -> list[str]:
        for pattern, replacement in self._compiled:
            line = pattern.sub(replacement, line)
        return line.split()
