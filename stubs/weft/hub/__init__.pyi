# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.hub import download_url_to_file as download_url_to_file
from weft.compat.modules.hub import get_dir as get_dir
from weft.compat.modules.hub import load as load
from weft.compat.modules.hub import load_state_dict_from_url as load_state_dict_from_url
from weft.compat.modules.hub import set_dir as set_dir
