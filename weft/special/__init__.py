"""Special functions: weft's own under the names that SciPy and PyTorch give them, and more."""

from __future__ import annotations

import weft
from weft import _C

# Names that differ from weft's own, or are the same.
_ALSO = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac",
    "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax",
    "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "polygamma": "polygamma", "psi": "digamma",
    "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip

for _name, _own in _ALSO.items():
    if hasattr(weft, _own):
        globals()[_name] = getattr(weft, _own)
for _row in _C._ops():
    if _row["base"].startswith("special_"):
        globals()[_row["base"][8:]] = getattr(weft, _row["base"])
__all__ = [*_ALSO, *(_row["base"][8:] for _row in _C._ops() if _row["base"].startswith("special_"))]
del _name, _own, _row
