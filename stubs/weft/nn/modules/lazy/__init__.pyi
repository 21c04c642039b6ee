# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.lazy import LazyModuleMixin as LazyModuleMixin
from weft.nn.lazy import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.lazy import _infer_parameters as _infer_parameters
from weft.nn.lazy import _lazy_load as _lazy_load
from weft.nn.lazy import is_lazy as is_lazy
