"""Machine code from LLVM's text, for this machine."""

from __future__ import annotations

import functools
import threading
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .loop import Loop

__all__ = ["Code", "function"]

_lock = threading.Lock()
_MOST = 32  # functions of one engine: its memory goes with the last of them


class Code:
    """The machine code of a function, which is there for as long as this object.

    >>> weft.jit.codegen.machine_code.Code(None, 4096).address
    4096
    """

    __slots__ = ("__weakref__", "_engine", "address")

    def __init__(self, engine: Any, address: int) -> None:
        """Keep the engine that the code lies in."""
        self._engine, self.address = engine, address


_living: weakref.WeakValueDictionary[str, Code] = weakref.WeakValueDictionary()  # by key


class _Machine:
    """LLVM, set up for the host: what compiles, and the memory that holds code."""

    def __init__(self) -> None:
        try:
            import llvmlite
            import llvmlite.binding as llvm
        except ImportError as error:
            raise ImportError(
                "fused: compiling a loop needs llvmlite: pip install llvmlite"
            ) from error

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        self.versions = f"llvmlite {llvmlite.__version__} LLVM {llvm.llvm_version_info}"
        self.target = self._target()
        self._engine: Any = None  # the one that has room
        self._room = 0  # for functions
        _add_libm(llvm)

    def _target(self) -> Any:
        # 256 bits where the CPU would rather have them: the loops say how wide they are.
        target = self.llvm.Target.from_default_triple()
        return target.create_target_machine(
            cpu=self.cpu, features=f"{self.features},-prefer-256-bit", opt=2, jit=True
        )

    def object_of(self, text: str) -> bytes:
        """Compile a text to an object file."""
        module = self.llvm.parse_assembly(text)
        module.verify()
        return self.target.emit_object(module)

    def load(self, data: bytes, name: str) -> Code:
        """Link an object file; return a function of it."""
        if not self._room:  # LLVM frees the code of an engine as a whole, which owns its target
            empty = self.llvm.parse_assembly("")
            self._engine = self.llvm.create_mcjit_compiler(empty, self._target())
            self._room = _MOST
        engine = self._engine
        self._room -= 1
        if not self._room:
            self._engine = None
        engine.add_object_file(self.llvm.object_file.ObjectFileRef.from_data(data))
        engine.finalize_object()
        address = engine.get_function_address(name)
        if not address:
            raise RuntimeError(f"fused: {name} is not in the object file that should have it")
        return Code(engine, address)


def _add_libm(llvm: Any) -> None:
    """Let code find the functions of long doubles that it may call."""
    import ctypes

    libm = ctypes.CDLL("libm.so.6")
    for name in ("sinl", "cosl", "tanl"):
        llvm.add_symbol(name, ctypes.cast(getattr(libm, name), ctypes.c_void_p).value)


@functools.cache
def _machine() -> _Machine:
    return _Machine()


def function(loop: Loop) -> Code:
    """Return a loop's machine code: from memory, from the disk, or compiled.

    >>> from weft.jit.codegen import machine_code, fused_group, loop
    >>> written = loop.write(fused_group.parse("v0: float32; v1: float32 = neg(v0); return v1"), "base")
    >>> made = machine_code.function(written)
    >>> machine_code.function(written) is made
    True
    """
    import hashlib

    from . import cache
    from .loop import NAME

    with _lock:
        machine = _machine()
        said = "\n".join(
            (loop.text, machine.cpu, machine.features, machine.versions, cache.VERSION)
        )
        key = hashlib.sha256(said.encode()).hexdigest()
        made = _living.get(key)
        if made is None:
            name = f"weft_{key[:32]}"
            data = cache.read(key)
            if data is None:
                data = machine.object_of(loop.text.replace(f"@{NAME}(", f"@{name}("))
                cache.write(key, data)
            made = _living[key] = machine.load(data, name)
        return made
