# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.immutable_collections import immutable_dict as immutable_dict
from weft.compat.modules.fx.immutable_collections import immutable_list as immutable_list
