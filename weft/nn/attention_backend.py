"""Which way attention is computed: by the native op, or with its scores in memory."""

from __future__ import annotations

import contextlib
import enum

from weft.nn.functional.attention import AttentionBackends, plain_attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """A way to compute ``scaled_dot_product_attention``.

    ``FLASH_ATTENTION`` and ``EFFICIENT_ATTENTION`` name weft's native op, ``MATH`` its reference.
    There is no ``CUDNN_ATTENTION`` and nothing ``OVERRIDEABLE`` on a CPU.

    >>> weft.nn.attention.SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_NATIVE = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)


def _refuse_all(*_: Any) -> Any:
    raise RuntimeError(
        "scaled_dot_product_attention: No viable backend was found. sdpa_kernel() allows none of "
        "MATH, FLASH_ATTENTION and EFFICIENT_ATTENTION"
    )


def _refuse_plain(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, *_: Any) -> Any:
    shapes = ", ".join(str(list(x.shape)) for x in (query, key, value))
    raise RuntimeError(
        "scaled_dot_product_attention: No available kernel. sdpa_kernel() allows only the native "
        "op, which takes real floating dtypes, no dropout, no broadcasting and no mask with a "
        f"gradient; got {shapes} of {query.dtype}, dropout_p={dropout_p} and "
        f"{'no mask' if mask is None else 'a mask'}"
    )


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, Any]]:
    """Allow only some backends for attention, inside a ``with`` or in a decorated function.

    What none of them can do raises RuntimeError. As in PyTorch, this holds for all threads.

    Args:
        backends: one, or a list of those that are allowed.
        set_priority: whether the list has the best backend first; otherwise the native op comes before
            its reference implementation.

    >>> from weft.nn.attention import SDPBackend, sdpa_kernel
    >>> q = weft.ones(1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    ...     weft.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    Traceback (most recent call last):
    RuntimeError: scaled_dot_product_attention: No available kernel. ...
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(
            "sdpa_kernel: backends must be an SDPBackend or a list of SDPBackend, got "
            f"{backends if isinstance(backends, list) else type(backends).__name__}"
        )
    known = [b for b in given if b in (SDPBackend.MATH, *_NATIVE)]
    plain, native = SDPBackend.MATH in known, any(b in _NATIVE for b in known)
    if set_priority and known[:1] == [SDPBackend.MATH]:
        native = False
    before = AttentionBackends.native, AttentionBackends.otherwise
    AttentionBackends.native = native
    AttentionBackends.otherwise = (
        plain_attention if plain else _refuse_plain if native else _refuse_all
    )
    try:
        yield {}
    finally:
        AttentionBackends.native, AttentionBackends.otherwise = before
