# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.code import PythonCode as PythonCode
from weft.compat.modules.fx.code import attribute as attribute
from weft.compat.modules.fx.code import generate as generate
from weft.compat.modules.fx.code import operand as operand
