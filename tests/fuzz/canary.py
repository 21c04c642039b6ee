"""Planted faults: what the runner must find, and what it must let pass."""

from __future__ import annotations

import ctypes
import random
import signal
from typing import Any

KINDS = ("right", "mismatch", "crash", "hang", "slow", "error", "memory")


def generate(rng: random.Random) -> Any:
    """A fault, hidden among numbers that have nothing to do with it."""
    return {"fault": rng.choice(KINDS), "steps": [rng.randrange(1000) for _ in range(8)] + [7]}


def check(case: Any) -> None:
    """Do what the case says; all but the first need the number 7 among the steps."""
    if 7 not in case["steps"]:
        return
    if case["fault"] == "mismatch":
        raise AssertionError("a planted mismatch")
    if case["fault"] == "crash":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # a sanitizer's handler would exit instead
        ctypes.string_at(0)
    if case["fault"] == "hang":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    while case["fault"] in ("hang", "slow"):
        pass
    if case["fault"] == "error":
        raise KeyError("planted")
    if case["fault"] == "memory":
        bytearray(1 << 36)
