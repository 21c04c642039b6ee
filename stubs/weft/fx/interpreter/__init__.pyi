# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.interpreter import Interpreter as Interpreter
from weft.compat.modules.fx.interpreter import Transformer as Transformer
