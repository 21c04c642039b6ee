"""Random programs, compiled and eager in lock step, and everything that can be seen after each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jit.compile_programs import Program, World

import weft

CALLS = 8


def bits(x: Any) -> Any:
    """What must be the same of anything that a program gives or changes."""
    if isinstance(x, weft.Tensor):
        data = np.array(x.detach().numpy())
        if data.dtype.kind in "fc":
            # Its sign is that of either operand: IEEE 754 leaves it open.
            data[np.isnan(data)] = np.nan
        return str(x.dtype), tuple(x.shape), x.requires_grad, x.is_leaf, data.tobytes()
    if isinstance(x, dict):
        return {k: bits(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x), [bits(v) for v in x]
    return type(x), repr(x)


def results_with_gradients(x: Any) -> list[Any]:
    if isinstance(x, weft.Tensor):
        return [x] if x.requires_grad and x.grad_fn is not None else []
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return [t for v in parts for t in results_with_gradients(v)]


def go_back(program: Program, results: list[Any], turn: int, changes: list[bool]) -> None:
    """Backward passes from results: from each, from some together, or after a change in place.

    ``changes``: whether the eager result was changed, which it notes. A compiled result need not be a
    view where nobody else sees its base.
    """
    if program.walk == "retained":
        for t in results[: 1 + turn % 2]:
            (t * t).sum().backward(retain_graph=True)
        return
    if program.walk == "each":
        for t in results[:: -1 if turn % 2 else 1]:
            t.sin().sum().backward()
        return
    if program.walk == "changed" and results:
        changed = results[turn % len(results)]
        if not changes:
            # Else the gradient of its base lies otherwise: see the limits of A4 in docs/reliability.md.
            base = changed if changed._base is None else changed._base
            changes.append(base.is_contiguous())
        if changes[0]:
            changed.mul_(0.5)
    some = [t for i, t in enumerate(results) if program.walk == "changed" or (turn + i) % 3]
    if some:
        sum((t * (i + 1.5)).sin().sum() for i, t in enumerate(some)).backward()


def turn_of(
    program: Program, f: Any, world: World, turn: int, vary: Callable[[int, list[Any]], None] | None,
    changes: list[bool],
) -> Any:  # fmt: skip
    """One call, and everything that can be seen after it.

    What eager finds first of several reasons to refuse a backward pass, and which leaves it has
    reached by then, is its own: a compiled call is one node. Views of what was walked inside are
    refused when they are walked, not when they are changed.
    """
    args = program.inputs(turn)
    if vary is not None:
        vary(turn, args)
    weft.manual_seed(turn)
    seen: list[Any] = []
    try:
        result = f(*args[:3], s=args[3])
        seen.append(bits(result))
        if program.outer_backward:
            go_back(program, results_with_gradients(result), turn, changes)
    except (RuntimeError, ValueError, IndexError) as e:
        reason = str(e).partition(":")[0]  # nodes have other names
        if any(part in str(e) for part in ("second time", "inplace operation", "this view was")):
            reason = "it cannot go back"
            for t in [*world.params, *args[:2]]:
                t.grad = None
        seen.append((type(e), reason))
    seen += [bits(args[:3]), bits([a.grad for a in args[:2]])]
    return [*seen, bits(world.tensors()), weft.get_rng_state().tolist()]


def run(
    seed: int,
    vary: Callable[[int, list[Any]], None] | None = None,
    calls: int = CALLS,
    dynamic: bool | None = None,
    control: int = 0,
) -> int:
    """Run a program in lock step; return how many calls were made from what was captured.

    Args:
        seed: of the program.
        vary: changes the arguments of a call, given its number.
        calls: how many.
        dynamic: what ``weft.compile`` is given.
        control: how many ops of control flow the program has.
    """
    program = Program(seed, control)
    worlds = [World(seed, program.optimizer) for _ in range(2)]
    eager = program.function(worlds[0])
    compiled = weft.compile(program.function(worlds[1]), dynamic=dynamic)
    for turn in range(calls):
        changes: list[bool] = []
        want = turn_of(program, eager, worlds[0], turn, vary, changes)
        got = turn_of(program, compiled, worlds[1], turn, vary, changes)
        if want != got:
            parts = ["result", "inputs", "their gradients", "world", "generator"]
            bad = [n for n, a, b in zip(parts, want, got) if a != b]
            raise AssertionError(
                f"program {seed}, call {turn}: {bad} differ\n{program.source}\n{program.events}\n"
                f"want {[a for a, b in zip(want, got) if a != b]}\n"
                f"got {[b for a, b in zip(want, got) if a != b]}\n{compiled.report()}"
            )
        if turn in program.events:
            for world in worlds:
                program.events[turn](world)
    replays = sum(d.replays for d in compiled.any_size)
    return replays + sum(v["calls"] for v in compiled.report().specializations)
