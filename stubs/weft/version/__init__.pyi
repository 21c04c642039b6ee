# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.version import __version__ as __version__
from weft.compat.modules.version import cuda as cuda
from weft.compat.modules.version import debug as debug
from weft.compat.modules.version import git_version as git_version
from weft.compat.modules.version import hip as hip
from weft.compat.modules.version import xpu as xpu
