"""Finding where a gradient went wrong: ``detect_anomaly`` and ``set_detect_anomaly``.

Native: ``weft._C._set_anomaly(enabled: bool, check_nan: bool) -> (enabled, check_nan)`` sets the
mode of the process and returns the one before. While it is on and ``check_nan`` is set, a node
whose backward gives NaN raises a RuntimeError that names its forward line.
"""

from __future__ import annotations

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once, or for a ``with`` block.

    Args:
        mode: True to switch it on.
        check_nan: also raise where backward gives NaN.

    >>> with weft.autograd.set_detect_anomaly(True):
    ...     weft.ones(1, requires_grad=True).sum().backward()
    """

    __slots__ = ("_before", "check_nan", "mode")

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.mode = bool(mode)
        self.check_nan = bool(check_nan)
        self._before: Any = _C._set_anomaly(self.mode, self.check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C._set_anomaly(*self._before)


class detect_anomaly:
    """Raise where backward gives NaN, naming the forward line that is responsible.

    Args:
        check_nan: whether NaN raises.

    >>> import warnings
    >>> x = weft.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with weft.autograd.detect_anomaly():
    ...         (x * 0 / x).sum().backward()
    Traceback (most recent call last):
    RuntimeError: ...
    """

    __slots__ = ("_before", "check_nan")

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        self.check_nan = bool(check_nan)
        self._before: Any = None
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = (_C._set_anomaly(True, self.check_nan), self._before)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._before = self._before
        _C._set_anomaly(*before)
