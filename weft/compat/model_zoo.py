"""``torch.utils.model_zoo``: the older place of ``torch.hub.load_state_dict_from_url``."""

from __future__ import annotations

from weft.hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url
