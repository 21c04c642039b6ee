"""``save`` and ``load``: programs with their state, as data.

A file holds the functions as trees in JSON, and modules as a list in which children come before
their parents: scripted ones with their methods, parameters and attributes; layers of weft's with
how they were made. Loading makes no class of a user's and runs nothing that a file brings.
"""

from __future__ import annotations

import weft
from weft import _C
from weft.serialization.common import FileError, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["load", "save"]

FORMAT, VERSION = "weft program", 1


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write a scripted or traced function or module to a file.

    Args:
        m: what ``jit.script``, ``jit.trace`` or ``jit.freeze`` returned.
        f: a path, which is replaced in one go, or a file open for writing.
        _extra_files: not supported.

    >>> import io
    >>> @weft.jit.script
    ... def double(x):
    ...     return x * 2
    >>> file = io.BytesIO()
    >>> weft.jit.save(double, file)
    >>> weft.jit.load(io.BytesIO(file.getvalue()))(weft.ones(1))
    tensor([2.])
    """
    if _extra_files:
        raise NotImplementedError("save(_extra_files=...): not in weft")
    from .script.program import ScriptFunction
    from .serialization import Writer
    from .trace import TracedFunction

    writer, content = Writer(), {"format": FORMAT, "version": VERSION}
    if isinstance(m, ScriptFunction):
        content["function"] = [writer.program(m.program), m.name]
    elif isinstance(m, TracedFunction):
        content["traced"] = [m.__name__, writer.graph(m.graph)]
    elif isinstance(m, _C.ModuleBase) and "_methods" in m.__dict__:
        m = m if m.__dict__["_methods"] or not _old(m) else weft.jit.script(m)
        content["module"] = writer.module(m)
        content["frozen"] = bool(m.__dict__.get("_is_frozen"))
    else:
        raise TypeError(
            f"save: takes what jit.script or jit.trace returned, not a {type(m).__name__}: "
            "script it first, or use weft.save"
        )
    weft.save({**content, "programs": writer.programs, "modules": writer.modules}, f)


def _old(m: Any) -> bool:
    from .script.module import _has_script_methods

    return _has_script_methods(m)


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Read what ``jit.save`` wrote; the source of the functions and modules is not needed.

    Args:
        f: a path, or a file open for reading that can seek.
        map_location: only the CPU.
        _extra_files: not supported.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "layer.weft")
    >>> weft.jit.script(weft.nn.Linear(2, 3)).save(path)
    >>> weft.jit.load(path)(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """
    if _extra_files:
        raise NotImplementedError("load(_extra_files=...): not in weft")
    content, what = weft.load(f, map_location), f"jit.load: {name_of(f)}"
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"{what}: not a file of jit.save: weft.load reads it")
    if content.get("version") != VERSION:
        version = content.get("version")
        raise FileError(f"{what}: version {version!r:.50} of programs; this weft reads {VERSION}")
    from .serialization import Reader

    state = weft.get_rng_state()
    try:
        return Reader(content, what).read()
    except RecursionError:
        raise FileError(f"{what}: nested too deeply") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise FileError(f"{what}: damaged: {type(e).__name__}: {e!s:.200}") from e
    finally:
        weft.set_rng_state(state)  # layers draw their first values
