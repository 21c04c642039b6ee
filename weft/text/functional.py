"""Functions on batches of tokens and ids: to tensors, cut, extended."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

__all__ = ["add_token", "str_to_int", "to_tensor", "truncate"]


def _is_batch(input: Any, of: type) -> bool:
    """Whether this is a list of lists; raise unless it is that or a list of ``of``."""
    if isinstance(input, (list, tuple)):
        if all(isinstance(x, of) for x in input):
            return False
        if all(isinstance(x, (list, tuple)) and all(isinstance(y, of) for y in x) for x in input):
            return True
    raise TypeError(
        f"expected a list of {of.__name__}, or a list of such lists, got {str(input)[:80]}"
    )


def to_tensor(
    input: Any, padding_value: int | None = None, dtype: weft.dtype = weft.int64
) -> Tensor:
    """Make a tensor of ids; rows of different lengths need a padding value.

    >>> weft.text.functional.to_tensor([[1, 2], [3]], padding_value=0)
    tensor([[1, 2],
            [3, 0]])
    """
    if not _is_batch(input, int):
        return weft.tensor(input, dtype=dtype)
    longest = max((len(row) for row in input), default=0)
    if padding_value is None:
        short = next((i for i, row in enumerate(input) if len(row) != longest), None)
        if short is not None:
            raise ValueError(
                f"to_tensor: row {short} has {len(input[short])} ids, the longest has {longest}; "
                "rows of different lengths need padding_value"
            )
        return weft.tensor([list(row) for row in input], dtype=dtype)
    rows = [list(row) + [padding_value] * (longest - len(row)) for row in input]
    return weft.tensor(rows, dtype=dtype)


def truncate(input: Any, max_seq_len: int) -> Any:
    """Cut a sequence, or each of a batch, to a length.

    >>> weft.text.functional.truncate([[1, 2, 3], [4]], 2)
    [[1, 2], [4]]
    """
    if input and isinstance(input[0], (list, tuple)):
        return [row[:max_seq_len] for row in input]
    return input[:max_seq_len]


def add_token(input: Any, token_id: Any, begin: bool = True) -> Any:
    """Put a token before or behind a sequence, or each of a batch.

    >>> weft.text.functional.add_token([[1, 2], [3]], 0)
    [[0, 1, 2], [0, 3]]
    """
    if input and isinstance(input[0], (list, tuple)):
        return [add_token(row, token_id, begin) for row in input]
    return [token_id, *input] if begin else [*input, token_id]


def str_to_int(input: Any) -> Any:
    """Make numbers of the texts of numbers.

    >>> weft.text.functional.str_to_int([["1", "2"], ["3"]])
    [[1, 2], [3]]
    """
    if _is_batch(input, str):
        return [[int(x) for x in row] for row in input]
    return [int(x) for x in input]
