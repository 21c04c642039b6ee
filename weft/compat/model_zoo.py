"""``torch.utils.model_zoo``: an older name of ``weft.hub``."""

from __future__ import annotations

import weft

__all__ = ["load_state_dict_from_url", "load_url"]

load_state_dict_from_url = load_url = weft.hub.load_state_dict_from_url
