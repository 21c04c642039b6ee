"""The formulas of optimisers in NumPy, for one parameter: the oracle of the tests beside it.

Each takes a parameter, its gradient, a dict for its states, the number of the step and the options,
and returns the new parameter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def adam(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Adam and AdamW."""
    b1, b2 = o.get("betas", (0.9, 0.999))
    lr, wd = o["lr"], o.get("weight_decay", 0)
    if o.get("decoupled"):
        p = p * (1 - lr * wd)
    else:
        g = g + wd * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    v = s["v"]
    if o.get("amsgrad"):
        v = s["top"] = np.maximum(s.get("top", 0), v)
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + 1e-8)


def sgd(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """SGD with momentum."""
    g, mu = g + o.get("weight_decay", 0) * p, o.get("momentum", 0)
    s["b"] = g if t == 1 else mu * s["b"] + (1 - o.get("dampening", 0)) * g
    return p - o["lr"] * (g + mu * s["b"] if o.get("nesterov") else s["b"] if mu else g)


def nadam(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """NAdam; the product of its momenta is a float32 number, as in PyTorch."""
    g = g + o.get("weight_decay", 0) * p

    def mu(t: int) -> float:
        return 0.9 * (1 - 0.5 * 0.96 ** (t * 0.004))

    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    s["mu"] = float(np.float32(s.get("mu", 1) * np.float32(mu(t))))  # in the state as float32
    n = mu(t + 1) * s["m"] / (1 - s["mu"] * mu(t + 1)) + (1 - mu(t)) * g / (1 - s["mu"])
    return p - o["lr"] * n / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)


def radam(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """RAdam."""
    g = g + o.get("weight_decay", 0) * p
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    top = 2 / (1 - 0.999) - 1
    rho = top - 2 * t * 0.999**t / (1 - 0.999**t)
    m = s["m"] / (1 - 0.9**t)
    if rho <= 5:
        return p - o["lr"] * m
    r = math.sqrt((rho - 4) * (rho - 2) * top / ((top - 4) * (top - 2) * rho))
    return p - o["lr"] * m * r * math.sqrt(1 - 0.999**t) / (np.sqrt(s["v"]) + 1e-8)


def adamax(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Adamax."""
    g = g + o.get("weight_decay", 0) * p
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g) + 1e-8)
    return p - o["lr"] / (1 - 0.9**t) * s["m"] / s["u"]


def adadelta(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Adadelta."""
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    d = np.sqrt(s.get("u", 0) + 1e-6) / np.sqrt(s["v"] + 1e-6) * g
    s["u"] = 0.9 * s.get("u", 0) + 0.1 * d * d
    return p - o["lr"] * d


def adagrad(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Adagrad."""
    s["s"] = s.get("s", o.get("initial_accumulator_value", 0)) + g * g
    return p - o["lr"] / (1 + (t - 1) * o.get("lr_decay", 0)) * g / (np.sqrt(s["s"]) + 1e-10)


def rmsprop(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """RMSprop."""
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    s["a"] = 0.99 * s.get("a", 0) + 0.01 * g if o.get("centered") else 0 * g
    d = g / (np.sqrt(s["v"] - s["a"] ** 2) + 1e-8)
    s["b"] = o.get("momentum", 0) * s.get("b", 0) + d
    return p - o["lr"] * s["b"]


def rprop(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Rprop."""
    kept = np.sign(g * s.get("g", 0))
    size = s.get("size", o["lr"] + 0 * p) * np.where(kept > 0, 1.2, np.where(kept < 0, 0.5, 1))
    s["size"] = np.clip(size, 1e-6, 50)
    s["g"] = np.where(kept < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


def asgd(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """ASGD; its step is a float32 number in the state, as in PyTorch."""
    eta = s.get("eta", float(np.float32(o["lr"])))
    p = p * (1 - 1e-4 * eta) - eta * g
    s["eta"] = float(np.float32(o["lr"] / (1 + 1e-4 * o["lr"] * t) ** 0.75))
    return p


def adafactor(p: Any, g: Any, s: dict[str, Any], t: int, o: dict[str, Any]) -> Any:
    """Adafactor, with the row and column of a matrix."""
    new, tiny = t**-0.8, np.finfo(p.dtype).eps
    size = max(1e-3, np.sqrt(np.mean(p * p))) * min(o["lr"], 1 / math.sqrt(t))
    p = p * (1 - o["lr"] * o.get("weight_decay", 0))
    if p.ndim > 1:
        s["r"] = (1 - new) * s.get("r", 0) + new * np.mean(g * g, -1, keepdims=True)
        s["c"] = (1 - new) * s.get("c", 0) + new * np.mean(g * g, -2, keepdims=True)
        v = s["r"] @ s["c"] / np.maximum(np.mean(s["r"], -2, keepdims=True), tiny)
    else:
        v = s["v"] = (1 - new) * s.get("v", 0) + new * g * g
    u = g / np.sqrt(np.maximum(v, tiny * tiny))
    return p - size * u / max(1, np.sqrt(np.mean(u * u)))
