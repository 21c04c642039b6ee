"""Sine, cosine, tangent and their inverses, by the steps of ``csrc/loops/math_trig.h``.

They hold for angles that are not far; those that are, a vector at a time, are computed in long double.
"""

from __future__ import annotations

from .coefficients import (
    ASIN,
    ATAN,
    COS_QUARTER,
    FAR,
    HALF_PI,
    HALF_PI_REST,
    PI,
    PI_FUSED,
    PI_PLAIN,
    SIN,
    SIN_QUARTER,
)
from .llvm_ir import rounded
from .maths import absolute, copysign, fma, polynomial, round_shift, sqrt, where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .llvm_ir import Lanes

    Step = Callable[[str], str]


def minus_n_pi(x: Lanes, n: Lanes) -> Lanes:
    """x - n pi for half-integers n."""
    if x.to.fma:
        a, b, c = PI_FUSED[x.kind]
        return fma(n, -c, fma(n, -b, fma(n, -a, x)))
    if x.kind == "f64":
        a, b, c = PI_PLAIN["f64"]
        return fma(n, -c, fma(n, -b, fma(n, -a, x)))
    a, b = PI_PLAIN["f32"]
    wide, turns = x.to.convert(x, "f64"), x.to.convert(n, "f64")
    return x.to.convert((wide - turns * a) - turns * b, "f32")


def sin_half_turn(r: Lanes) -> Lanes:
    """sin(r) for |r| <= pi/2."""
    z = r * r
    return copysign(fma(polynomial(z, SIN[r.kind]), r * z, r), r)


def negated_if_odd(y: Lanes, n: Lanes) -> Lanes:
    """y, or -y where n is odd."""
    return (y.bits ^ (n << (31 if y.kind == "f32" else 63))).as_float()


def _over_pi(kind: str, n: int) -> float:
    return rounded(kind, n / rounded(kind, PI))


def near_sin(x: Lanes) -> Lanes:
    """The sine of angles that are not far."""
    shift = round_shift(x.kind)
    shifted = fma(x, _over_pi(x.kind, 1), shift)
    return negated_if_odd(sin_half_turn(minus_n_pi(x, shifted - shift)), shifted.bits)


def near_cos(x: Lanes) -> Lanes:
    """The cosine of angles that are not far."""
    a, shift = absolute(x), round_shift(x.kind)
    shifted = fma(a, _over_pi(x.kind, 1), 0.5) + shift
    n = shifted - shift
    return negated_if_odd(sin_half_turn(minus_n_pi(a, n - 0.5)), shifted.bits)


def near_tan(x: Lanes) -> Lanes:
    """The tangent of angles that are not far."""
    kind, shift = x.kind, round_shift(x.kind)
    shifted = fma(x, _over_pi(kind, 2), shift)
    r = minus_n_pi(x, 0.5 * (shifted - shift))
    z = r * r
    s = copysign(fma(polynomial(z, SIN_QUARTER[kind]), r * z, r), r)
    c = fma(fma(polynomial(z, COS_QUARTER[kind]), z, -0.5), z, 1)
    odd = (shifted.bits & 1).differs(0)
    return where(odd, -c, s) / where(odd, s, c)


def _long(f: str, *names: str) -> str:
    return f"call x86_fp80 @{f}({', '.join(f'x86_fp80 {n}' for n in names)})"


def _declare_long(x: Lanes, f: str, count: int) -> None:
    x.to.declared.add(f"declare x86_fp80 @{f}({', '.join(['x86_fp80'] * count)})")


def careful(f: str, near: Callable[[Lanes], Lanes], x: Lanes) -> Lanes:
    """Return sin, cos or tan; far angles in long double, by libm."""
    _declare_long(x, f, 1)
    far = absolute(x) > FAR[x.kind]
    return x.to.repair(near(x), far, [x], lambda a, step: step(_long(f, a)))


def careful_gradient(
    f: str, near: Callable[[Lanes], Lanes], g: Lanes, x: Lanes, sign: bool
) -> Lanes:
    """Return g times sin or cos of x; where one of the two is far, all of it in long double."""
    _declare_long(x, f, 1)
    far = (absolute(g) > FAR[x.kind]) | (absolute(x) > FAR[x.kind])
    y = (-g if sign else g) * near(x)

    def slow(a: str, b: str, step: Step) -> str:
        first = step(f"fneg x86_fp80 {a}") if sign else a
        return step(f"fmul x86_fp80 {first}, {step(_long(f, b))}")

    return x.to.repair(y, far, [g, x], slow)


def atan_of_ratio(z: Lanes) -> Lanes:
    """atan(z) for |z| <= 1."""
    return fma(polynomial(z * z, ATAN[z.kind]), z * z * z, z)


def atan(x: Lanes) -> Lanes:
    """The inverse of tan."""
    a = absolute(x)
    steep = a > 1
    p = atan_of_ratio(where(steep, -1, a) / where(steep, a, 1))
    return copysign(where(steep, HALF_PI + (p + HALF_PI_REST[x.kind]), p), x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y)."""
    kind, ax, ay = x.kind, absolute(x), absolute(y)
    rest = HALF_PI_REST[kind]
    steep = ay > ax
    low, high = where(steep, ax, ay), where(steep, ay, ax)
    z = where(low.equals(high), where(high.equals(0), x.like(0), 1), low / high)
    p = atan_of_ratio(z)
    p = where(steep, HALF_PI - (p - rest), p)
    left = (x.bits >> (31 if kind == "f32" else 63)).differs(0)
    return copysign(where(left, PI - (p - 2 * rest), p), y)


def _asin_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    a = absolute(x)
    large = a > 0.5
    return a, large, where(large, fma(-0.5, a, 0.5), a * a)


def asin_small(s: Lanes, z: Lanes) -> Lanes:
    """asin(s) with z = s^2 <= 1/4."""
    return fma(polynomial(z, ASIN[z.kind]), s * z, s)


def asin(x: Lanes) -> Lanes:
    """The inverse of sin."""
    a, large, z = _asin_parts(x)
    p = asin_small(where(large, sqrt(z), a), z)
    return copysign(where(large, HALF_PI - (2 * p - HALF_PI_REST[x.kind]), p), x)


def acos(x: Lanes) -> Lanes:
    """The inverse of cos."""
    rest = HALF_PI_REST[x.kind]
    _, large, z = _asin_parts(x)
    p = asin_small(where(large, sqrt(z), x), z)
    tail = where(x < 0, PI - (2 * p - 2 * rest), 2 * p)
    return where(large, tail, HALF_PI - (p - rest))
