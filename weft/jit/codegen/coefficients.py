"""The numbers of the pointwise maths, as ``csrc/loops/numbers.inc`` states them: read from there, not copied."""

from __future__ import annotations

from ... import _C

_ALL = {name: tuple(values) for name, values in _C._numbers().items()}


def _both(name: str) -> dict[str, tuple[float, ...]]:
    """Return the numbers for floats and for doubles."""
    return {kind: _ALL[f"{name}_{kind}"] for kind in ("f32", "f64")}


def _single(name: str) -> dict[str, float]:
    """Return the one number that each of them has."""
    return {kind: values[0] for kind, values in _both(name).items()}


H = float.fromhex
MANTISSA = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}
INF, NAN = float("inf"), float("nan")
PI, HALF_PI = 3.14159265358979323846, 1.57079632679489661923
LOG2_E, LN_2, HALF_ROOT = 1.4426950408889634074, 0.69314718055994530942, 0.70710678118654752440
HALF_PI_REST = _single("half_pi_rest")

EXP, LOG, LN2, LOG10_2 = _both("exp"), _both("log"), _both("ln2"), _both("log10_2")
EXP_TO_ZERO, EXP2_TO_ZERO = _single("exp_to_zero"), _single("exp2_to_zero")
POWER, POWER_REST = _ALL["power_of_sixteenth"], _ALL["power_of_sixteenth_rest"]
EXP_SHORT = _ALL["exp_short"]
HYPOT = _both("hypot")
POW_LOG2, POW_EXP2, LOG2_TAIL = _ALL["pow_log2"], _ALL["pow_exp2"], _ALL["log2_tail"]

SIN, SIN_QUARTER, COS_QUARTER = _both("sin"), _both("sin_quarter"), _both("cos_quarter")
ATAN, ASIN = _both("atan"), _both("asin")
FAR = _single("far_angle")
PI_FUSED, PI_PLAIN = _both("pi_fused"), _both("pi_plain")

ERF_CENTRE, ERFCX = _both("erf_centre"), _both("erfcx")
LOG_ERFC = _ALL["log_erfc"]
NORMAL_TAIL = _ALL["normal_tail"]
NORMAL_MIDDLE, NORMAL_FAR = _ALL["normal_range"]
