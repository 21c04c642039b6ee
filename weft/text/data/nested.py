"""``NestedField``: sequences of sequences, such as the letters of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .field import Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["NestedField"]


class NestedField(Field):
    """A column of sequences whose elements another field reads; batches have three dimensions.

    Args:
        nesting_field: reads the elements; it must be sequential and without lengths.
        use_vocab, init_token, eos_token, fix_length, dtype, preprocessing, postprocessing,
            tokenize, tokenizer_language, include_lengths, pad_token, pad_first, truncate_first:
            those of :class:`Field`. The first dimension of tensors is always that of the batch.

    >>> from weft.text.data import Field, NestedField
    >>> letters = NestedField(Field(tokenize=list))
    >>> rows = [letters.preprocess("ab c")]
    >>> letters.build_vocab(rows)
    >>> letters.process(rows)
    tensor([[[2, 3],
             [4, 1]]])
    """

    def __init__(
        self,
        nesting_field: Field,
        use_vocab: bool = True,
        init_token: str | None = None,
        eos_token: str | None = None,
        fix_length: int | None = None,
        dtype: weft.dtype = weft.int64,
        preprocessing: Callable[[Any], Any] | None = None,
        postprocessing: Callable[..., Any] | None = None,
        tokenize: Any = None,
        tokenizer_language: str = "en",
        include_lengths: bool = False,
        pad_token: str = "<pad>",
        pad_first: bool = False,
        truncate_first: bool = False,
    ) -> None:
        if not isinstance(nesting_field, Field) or isinstance(nesting_field, NestedField):
            raise ValueError(
                f"NestedField: nesting_field must be a Field, got {type(nesting_field).__name__}"
            )
        if nesting_field.include_lengths or not nesting_field.sequential:
            raise ValueError(
                "NestedField: nesting_field must be sequential and without include_lengths"
            )
        super().__init__(
            use_vocab=use_vocab,
            init_token=init_token,
            eos_token=eos_token,
            fix_length=fix_length,
            dtype=dtype,
            preprocessing=preprocessing,
            postprocessing=postprocessing,
            lower=nesting_field.lower,
            tokenize=tokenize,
            tokenizer_language=tokenizer_language,
            batch_first=True,
            pad_token=pad_token,
            unk_token=nesting_field.unk_token,
            pad_first=pad_first,
            truncate_first=truncate_first,
            include_lengths=include_lengths,
        )
        self.nesting_field = nesting_field

    def preprocess(self, xs: Any) -> Any:
        """Return the elements of a value, each read by the other field.

        >>> from weft.text.data import Field, NestedField
        >>> NestedField(Field(tokenize=list)).preprocess("ab c")
        [['a', 'b'], ['c']]
        """
        return [self.nesting_field.preprocess(x) for x in super().preprocess(xs)]

    def pad(self, minibatch: Iterable[Any]) -> Any:
        """Return sequences of one length, of elements of one length.

        >>> from weft.text.data import Field, NestedField
        >>> NestedField(Field(tokenize=list)).pad([[["a"], ["b", "c"]], [["d"]]])
        [[['a', '<pad>'], ['b', 'c']], [['d', '<pad>'], ['<pad>', '<pad>']]]
        """
        rows = [[list(x) for x in row] for row in minibatch]
        inner = self.nesting_field
        ends = (inner.init_token is not None) + (inner.eos_token is not None)
        longest = inner.fix_length
        if longest is None:
            longest = max((len(x) for row in rows for x in row), default=0) + ends
        outer = super().pad(rows)  # of whole elements; init, eos and pad tokens stand for such
        padded, lengths = outer if self.include_lengths else (outer, None)
        elements = [[[x] if isinstance(x, str) else x for x in row] for row in padded]
        fixed, inner.fix_length = inner.fix_length, longest
        try:
            full = [
                [
                    [self.pad_token] * longest if x == [self.pad_token] else inner.pad([x])[0]
                    for x in row
                ]
                for row in elements
            ]
        finally:
            inner.fix_length = fixed
        if lengths is None:
            return full
        inner_lengths = [
            [0 if x == [self.pad_token] else min(len(x) + ends, longest) for x in row]
            for row in elements
        ]
        return full, lengths, inner_lengths

    def build_vocab(self, *args: Any, **kwargs: Any) -> None:
        """Number the tokens of the elements; both fields share the vocabulary.

        >>> from weft.text.data import Field, NestedField
        >>> letters = NestedField(Field(tokenize=list))
        >>> letters.build_vocab([[["a", "b"]]])
        >>> letters.vocab.itos
        ['<unk>', '<pad>', 'a', 'b']
        """
        more = [*self.nesting_field._special_tokens(), *kwargs.pop("specials", ())]
        elements = [[x for row in column for x in row] for column in self._columns(args)]
        super().build_vocab(*elements, specials=more, **kwargs)
        self.nesting_field.vocab = self.vocab

    def numericalize(self, arrs: Any, device: Any = None) -> Any:
        """Return the tensor of padded sequences, with both kinds of lengths if asked.

        >>> from weft.text.data import Field, NestedField
        >>> letters = NestedField(Field(tokenize=list))
        >>> letters.build_vocab([[["a", "b"]]])
        >>> letters.numericalize([[["b", "a"]]])
        tensor([[[3, 2]]])
        """
        lengths: tuple[Any, ...] = ()
        if self.include_lengths:
            arrs, *rest = arrs
            lengths = tuple(weft.tensor(x, dtype=self.dtype, device=device) for x in rest)
        numbers = [self.nesting_field._numbers(arr) for arr in arrs]
        if self.postprocessing is not None:
            numbers = self.postprocessing(numbers, self.vocab if self.use_vocab else None)
        tensor = weft.tensor(numbers, dtype=self.dtype, device=device)
        return (tensor, *lengths) if lengths else tensor
