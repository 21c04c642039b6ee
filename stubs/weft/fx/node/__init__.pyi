# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.node import DROPOUTS as DROPOUTS
from weft.compat.modules.fx.node import Node as Node
from weft.compat.modules.fx.node import OPS as OPS
from weft.compat.modules.fx.node import RANDOM as RANDOM
from weft.compat.modules.fx.node import has_side_effect as has_side_effect
from weft.compat.modules.fx.node import map_aggregate as map_aggregate
from weft.compat.modules.fx.node import map_arg as map_arg
from weft.compat.modules.fx.node import map_into as map_into
from weft.compat.modules.fx.node import qualified_name as qualified_name
from weft.compat.modules.fx.node import root_name as root_name
from weft.compat.modules.fx.node import type_name as type_name
