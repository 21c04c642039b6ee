"""``weft.backends.cpu``: what the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """Return the set of instructions that weft's loops use: DEFAULT, AVX2 or AVX512.

    >>> weft.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    from weft.__main__ import instruction_set

    return {"base": "DEFAULT"}.get(instruction_set(), instruction_set().upper())
