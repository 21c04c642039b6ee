# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.passes.shape_prop import ShapeProp as ShapeProp
from weft.compat.modules.fx.passes.shape_prop import TensorMetadata as TensorMetadata
