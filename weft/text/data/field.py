"""``Field``: how a column of text becomes tensors."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import weft
from weft.text.vocab import Vocab

from .dataset import Dataset
from .utils import get_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from weft import Tensor

__all__ = ["Field", "LabelField", "RawField"]

_FLOATS = (weft.float16, weft.bfloat16, weft.float32, weft.float64)
_INTEGERS = (weft.uint8, weft.int8, weft.int16, weft.int32, weft.int64)


class RawField:
    """A column that is kept as it is.

    Args:
        preprocessing: is given each value when an example is made.
        postprocessing: is given the list of values of a batch.
        is_target: whether a batch counts it among its targets.

    >>> weft.text.data.RawField(preprocessing=str.upper).preprocess("a")
    'A'
    """

    def __init__(
        self,
        preprocessing: Callable[[Any], Any] | None = None,
        postprocessing: Callable[..., Any] | None = None,
        is_target: bool = False,
    ) -> None:
        self.preprocessing = preprocessing
        self.postprocessing = postprocessing
        self.is_target = is_target

    def preprocess(self, x: Any) -> Any:
        """Return a value as an example holds it.

        >>> weft.text.data.RawField().preprocess(3)
        3
        """
        return x if self.preprocessing is None else self.preprocessing(x)

    def process(self, batch: list[Any], device: Any = None) -> Any:
        """Return the values of a batch.

        >>> weft.text.data.RawField().process([1, 2])
        [1, 2]
        """
        return batch if self.postprocessing is None else self.postprocessing(batch)


class Field(RawField):
    """A column of text: how it is cut into tokens, numbered, padded and made a tensor.

    Args:
        sequential: whether values are sequences; otherwise each is one token or number.
        use_vocab: whether tokens are numbered by a vocabulary; otherwise they are numbers.
        init_token: stands before each sequence.
        eos_token: stands behind each sequence.
        fix_length: all sequences are padded or cut to it, these two included.
        dtype: of the tensor.
        preprocessing: is given the tokens of each value, and returns others.
        postprocessing: is given the numbers of a batch and the vocabulary, and returns others.
        lower: write all letters small.
        tokenize: see :func:`get_tokenizer`.
        tokenizer_language: its language.
        include_lengths: batches are pairs of the tensor and the lengths.
        batch_first: whether the first dimension is that of the batch, or that of time.
        pad_token: fills up short sequences.
        unk_token: stands for tokens that the vocabulary lacks.
        pad_first: fill up before the sequence.
        truncate_first: cut at the beginning.
        stop_words: tokens to leave out.
        is_target: whether a batch counts it among its targets.

    >>> from weft.text.data import Field
    >>> text = Field(lower=True, batch_first=True, eos_token="<eos>")
    >>> rows = [text.preprocess(line) for line in ("The cat", "the")]
    >>> text.build_vocab(rows)
    >>> text.process(rows)
    tensor([[3, 4, 2],
            [3, 2, 1]])
    """

    vocab_cls = Vocab
    vocab: Vocab

    def __init__(
        self,
        sequential: bool = True,
        use_vocab: bool = True,
        init_token: str | None = None,
        eos_token: str | None = None,
        fix_length: int | None = None,
        dtype: weft.dtype = weft.int64,
        preprocessing: Callable[[Any], Any] | None = None,
        postprocessing: Callable[..., Any] | None = None,
        lower: bool = False,
        tokenize: Any = None,
        tokenizer_language: str = "en",
        include_lengths: bool = False,
        batch_first: bool = False,
        pad_token: str | None = "<pad>",
        unk_token: str | None = "<unk>",
        pad_first: bool = False,
        truncate_first: bool = False,
        stop_words: Iterable[str] | None = None,
        is_target: bool = False,
    ) -> None:
        super().__init__(preprocessing, postprocessing, is_target)
        self.sequential, self.use_vocab = sequential, use_vocab
        self.init_token, self.eos_token, self.unk_token = init_token, eos_token, unk_token
        self.pad_token = pad_token if sequential else None
        self.fix_length, self.dtype, self.lower = fix_length, dtype, lower
        self.tokenizer_args = (tokenize, tokenizer_language)
        self.tokenize = get_tokenizer(tokenize, tokenizer_language)
        self.include_lengths, self.batch_first = include_lengths, batch_first
        self.pad_first, self.truncate_first = pad_first, truncate_first
        try:
            self.stop_words = None if stop_words is None else set(stop_words)
        except TypeError:
            raise ValueError(f"Field: stop_words must be words, got {stop_words!r}") from None

    def preprocess(self, x: Any) -> Any:
        """Return the tokens of a value, as an example holds them.

        >>> weft.text.data.Field(lower=True, stop_words=["the"]).preprocess("The cat")
        ['cat']
        """
        if self.sequential and isinstance(x, str):
            x = self.tokenize(x.rstrip("\n"))
        if self.lower:
            x = x.lower() if isinstance(x, str) else [token.lower() for token in x]
        if self.sequential and self.use_vocab and self.stop_words is not None:
            x = [token for token in x if token not in self.stop_words]
        return x if self.preprocessing is None else self.preprocessing(x)

    def process(self, batch: Iterable[Any], device: Any = None) -> Any:
        """Return the tensor of a batch, padded and numbered.

        >>> text = weft.text.data.Field(use_vocab=False, pad_token=0)
        >>> text.process([[1, 2], [3]])
        tensor([[1, 3],
                [2, 0]])
        """
        return self.numericalize(self.pad(batch), device=device)

    def pad(self, minibatch: Iterable[Any]) -> Any:
        """Return sequences of one length, and their lengths too if ``include_lengths``.

        >>> weft.text.data.Field(init_token="<s>").pad([["a", "b"], ["c"]])
        [['<s>', 'a', 'b'], ['<s>', 'c', '<pad>']]
        """
        rows = list(minibatch)
        if not self.sequential:
            return rows
        before = [] if self.init_token is None else [self.init_token]
        behind = [] if self.eos_token is None else [self.eos_token]
        if self.fix_length is None:
            longest = max((len(row) for row in rows), default=0)
        else:
            longest = max(self.fix_length - len(before) - len(behind), 0)
        padded, lengths = [], []
        for row in rows:
            begin = max(len(row) - longest, 0) if self.truncate_first else 0
            tokens = before + list(row[begin : begin + longest]) + behind
            fill = [self.pad_token] * max(longest - len(row), 0)
            padded.append(fill + tokens if self.pad_first else tokens + fill)
            lengths.append(len(tokens))
        return (padded, lengths) if self.include_lengths else padded

    def _special_tokens(self, more: Sequence[str] = ()) -> list[str]:
        tokens = (self.unk_token, self.pad_token, self.init_token, self.eos_token, *more)
        return list(dict.fromkeys(token for token in tokens if token is not None))

    def _columns(self, sources: tuple[Any, ...]) -> list[Any]:
        """Return the values to count: those of data sets under this field, and what is given."""
        columns: list[Any] = []
        for source in sources:
            if isinstance(source, Dataset):
                columns += [getattr(source, n) for n, f in source.fields.items() if f is self]
            else:
                columns.append(source)
        return columns

    def build_vocab(self, *args: Any, **kwargs: Any) -> None:
        """Number the tokens of data sets, or of lists of tokens.

        Args:
            args: data sets, of which the columns with this field count, or iterables of values.
            kwargs: those of :class:`weft.text.vocab.Vocab`, such as ``min_freq`` and ``max_size``.

        >>> text = weft.text.data.Field()
        >>> text.build_vocab([["b", "a"], ["a"]], min_freq=2)
        >>> text.vocab.itos
        ['<unk>', '<pad>', 'a']
        """
        counter: Counter[str] = Counter()
        for column in self._columns(args):
            for value in column:
                value = value if self.sequential else [value]
                try:
                    counter.update(value)
                except TypeError:  # sequences of sequences
                    counter.update(chain.from_iterable(value))
        specials = self._special_tokens(kwargs.pop("specials", ()))
        self.vocab = self.vocab_cls(counter, specials=specials, **kwargs)
        if self.unk_token is not None:
            self.vocab.set_default_index(self.vocab.stoi[self.unk_token])

    def numericalize(self, arr: Any, device: Any = None) -> Any:
        """Return the tensor of padded sequences, with the lengths if ``include_lengths``.

        >>> text = weft.text.data.Field(batch_first=True)
        >>> text.build_vocab([["a", "b"]])
        >>> text.numericalize([["b", "x"]])
        tensor([[3, 0]])
        """
        lengths = None
        if self.include_lengths:
            if not isinstance(arr, tuple):
                raise ValueError(
                    "Field: include_lengths is set, so what is made a tensor must be a pair of "
                    f"sequences and lengths, got {type(arr).__name__}"
                )
            arr, lengths = arr
            lengths = weft.tensor(lengths, dtype=self.dtype, device=device)
        tensor = weft.tensor(self._numbers(arr), dtype=self.dtype, device=device)
        if self.sequential:
            tensor = self._laid_out(tensor).contiguous()
        return tensor if lengths is None else (tensor, lengths)

    def _laid_out(self, tensor: Tensor) -> Tensor:
        return tensor if self.batch_first or tensor.dim() < 2 else tensor.transpose(0, 1)

    def _numbers(self, arr: Any) -> Any:
        if self.use_vocab:
            if not hasattr(self, "vocab"):
                raise RuntimeError("Field: there is no vocabulary yet; call build_vocab first")
            vocab = self.vocab
            arr = [vocab(row) for row in arr] if self.sequential else vocab(arr)
        else:
            vocab = None
            if self.dtype not in _FLOATS + _INTEGERS:
                raise ValueError(
                    f"Field: use_vocab=False needs a dtype of numbers, got {self.dtype}"
                )
            if not self.sequential:
                number: type = float if self.dtype in _FLOATS else int
                arr = [number(x) if isinstance(x, str) else x for x in arr]
        return arr if self.postprocessing is None else self.postprocessing(arr, vocab)


class LabelField(Field):
    """A column of labels: one token each, none of them unknown.

    Args:
        kwargs: those of :class:`Field`, but for ``sequential``, ``unk_token`` and ``is_target``.

    >>> label = weft.text.data.LabelField()
    >>> label.build_vocab(["pos", "neg", "pos"])
    >>> label.vocab.itos, label.process(["neg", "pos"])
    (['pos', 'neg'], tensor([1, 0]))
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "sequential": False, "unk_token": None, "is_target": True})
