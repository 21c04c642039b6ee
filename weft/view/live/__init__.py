"""The live view: a page on this machine that shows a program while it trains.

>>> net = weft.nn.Linear(2, 1)
>>> with weft.view.watch(net, open_browser=False) as page:
...     page.url.startswith("http://127.0.0.1:")
True
"""

from __future__ import annotations

from .conditions import Condition, ConditionError
from .watching import Stop, Watch, watch

__all__ = ["Condition", "ConditionError", "Stop", "Watch", "watch"]
