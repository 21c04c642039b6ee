"""Which module and object of weft a name of PyTorch means; suggestions for a missing one."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from types import ModuleType

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["find", "member", "modules_of", "nearest"]

TORCH_VERSION = "2.13.0+weft"

ROOTS = {
    "torch": "weft",
    "torchvision": "weft.vision",
    "torchtext": "weft.text",
    "torchaudio": "weft.audio",
}

# Modules that lie elsewhere in weft. Several are read in order.
ALIASES = {
    "torch._C": ("weft",),
    "torch._dynamo": ("weft.compiler",),
    "torch._tensor": ("weft",),
    "torch.amp.autocast_mode": ("weft.amp",),
    "torch.ao.nn": ("weft.quantization.nn",),
    "torch.ao.nn.intrinsic": ("weft.quantization.nn.intrinsic",),
    "torch.ao.nn.intrinsic.qat": ("weft.quantization.nn.qat",),
    "torch.ao.nn.qat": ("weft.quantization.nn.qat",),
    "torch.ao.nn.quantized": ("weft.quantization.nn.quantized",),
    "torch.ao.nn.quantized.dynamic": ("weft.quantization.nn.dynamic",),
    "torch.ao.quantization": ("weft.quantization",),
    "torch.ao.quantization.fake_quantize": ("weft.quantization",),
    "torch.ao.quantization.observer": ("weft.quantization",),
    "torch.ao.quantization.qconfig": ("weft.quantization",),
    "torch.ao.quantization.quantize": ("weft.quantization",),
    "torch.autograd.grad_mode": ("weft.autograd.grad_mode",),
    "torch.autograd.profiler_util": ("weft.profiler.events",),
    "torch.cuda.memory": ("weft.cuda",),
    "torch.cuda.random": ("weft.cuda",),
    "torch.distributed.distributed_c10d": ("weft.distributed",),
    "torch.fx._symbolic_trace": ("weft.fx.tracer",),
    "torch.nn.intrinsic": ("weft.quantization.nn.intrinsic",),
    "torch.nn.intrinsic.qat": ("weft.quantization.nn.qat",),
    "torch.nn.qat": ("weft.quantization.nn.qat",),
    "torch.nn.quantized": ("weft.quantization.nn.quantized",),
    "torch.nn.quantized.dynamic": ("weft.quantization.nn.dynamic",),
    "torch.optim.adamw": ("weft.optim",),
    "torch.profiler.profiler": ("weft.profiler.profile", "weft.profiler"),
    "torch.torch_version": ("weft.compat.version",),
    "torch.utils._pytree": ("weft.utils._pytree",),
    "torch.utils.data._utils": ("weft.utils.data",),
    "torch.utils.data._utils.collate": ("weft.utils.data",),
    "torch.utils.dlpack": ("weft",),
    "torch.utils.hooks": ("weft.nn.module_hooks",),
    "torch.utils.model_zoo": ("weft.compat.model_zoo",),
    "torch.utils.tensorboard.writer": ("weft.utils.tensorboard",),
    "torch.version": ("weft.version",),
}

# Names that mean something else in a program for PyTorch than in weft.
OWN = {
    "torch": {"__version__": TORCH_VERSION},
    "torch.version": {"__version__": TORCH_VERSION},
    "torchvision": {"__version__": "0.28.0+weft"},
    "torchtext": {"__version__": "0.18.0+weft"},
    "torchaudio": {"__version__": TORCH_VERSION},
}

# Parts of weft that are not PyTorch's, or not under this name.
WEFT_ONLY = "audio compat data text train view vision".split()


class LackingName(AttributeError):
    """weft has no such name. The nearest are looked for when the text is asked for."""

    def __init__(self, torch_name: str) -> None:
        """Keep the name, as PyTorch spells it."""
        super().__init__(torch_name)
        self.torch_name = torch_name

    def __str__(self) -> str:
        """Return what is lacking and what is near."""
        return lacks(self.torch_name)


def weft_name(torch_name: str) -> str:
    """Return where in weft a name of PyTorch would be.

    >>> from weft.compat.names import weft_name
    >>> weft_name("torchvision.ops.nms")
    'weft.vision.ops.nms'
    """
    root, _, rest = torch_name.partition(".")
    return f"{ROOTS[root]}.{rest}" if rest else ROOTS[root]


def modules_of(torch_name: str) -> tuple[str, ...]:
    """Return the names of the modules of weft that stand for one of PyTorch; none if it is lacking.

    >>> from weft.compat.names import modules_of
    >>> modules_of("torch.nn.functional"), modules_of("torch.onnx")
    (('weft.nn.functional',), ())
    """
    if torch_name.startswith("torch.") and torch_name.split(".")[1] in WEFT_ONLY:
        return ()
    found = ALIASES.get(torch_name, (weft_name(torch_name),))
    return found if all(_exists(name) for name in found) else ()


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as e:
        if (e.name or "").startswith("weft"):
            return False
        raise  # a library that weft needs: its name tells
    except ValueError:  # a module of Python without a spec
        return True


def member(torch_module: str, name: str) -> Any:
    """Return what a program for PyTorch means by a name in one of its modules.

    >>> from weft.compat.names import member
    >>> member("torch.nn", "Linear") is weft.nn.Linear
    True
    """
    full = f"{torch_module}.{name}"
    own = OWN.get(torch_module, {})
    if name in own:
        from weft.compat.version import TorchVersion

        return TorchVersion(own[name])
    if full in ALIASES:
        return importlib.import_module(ALIASES[full][0])
    for module in modules_of(torch_module):
        try:
            return _own_getattr(importlib.import_module(module), name)
        except AttributeError:
            continue
        except ModuleNotFoundError as e:
            if not (e.name or "").startswith("weft"):
                raise
    if not name.startswith("__") and (found := modules_of(full)):
        return importlib.import_module(found[0])
    raise LackingName(full)


def _own_getattr(module: ModuleType, name: str) -> Any:
    """Return an attribute as the module has it, whatever guard was put around it."""
    names = vars(module)
    if name in names:
        return names[name]
    if hasattr(ModuleType, name):  # __dict__ and what else every module has
        return getattr(module, name)
    fallback = names.get("__getattr__")
    fallback = getattr(fallback, "guards", fallback)
    if fallback is None:
        raise AttributeError(name)
    return fallback(name)


def find(torch_name: str) -> Any:
    """Return the object that a dotted name of PyTorch means; raise LackingName for the first gap.

    >>> from weft.compat.names import find
    >>> find("torch.nn.functional.relu") is weft.nn.functional.relu
    True
    >>> find("torch.nn.Conv2D")
    Traceback (most recent call last):
    weft.compat.names.LackingName: weft lacks torch.nn.Conv2D; nearest: ...
    """
    root, *parts = torch_name.split(".")
    if not modules_of(root):
        raise LackingName(root)
    found: Any = importlib.import_module(ROOTS[root])
    at = root
    for part in parts:
        if isinstance(found, ModuleType):
            found = member(at, part)
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            raise LackingName(f"{at}.{part}")
        at = f"{at}.{part}"
    return found


def public_names(torch_module: str) -> list[str]:
    """Return the names that a module of PyTorch has in weft.

    >>> from weft.compat.names import public_names
    >>> "Linear" in public_names("torch.nn")
    True
    """
    names: set[str] = set()
    for module in modules_of(torch_module):
        loaded = importlib.import_module(module)
        names.update(dir(loaded))
        if module == "weft":
            names.update([*weft._LAZY_FROM, *weft._TYPE_NAMES])
            names.update(n for n in weft._LAZY if _exists(f"weft.{n}"))
            names.difference_update(WEFT_ONLY)
    prefix = torch_module + "."
    names.update(n[len(prefix) :].partition(".")[0] for n in ALIASES if n.startswith(prefix))
    return sorted(n for n in names if not n.startswith("_"))


def nearest(torch_name: str, count: int = 3) -> list[str]:
    """Return the names that are most like a missing one, in its module or by its last part.

    >>> from weft.compat.names import nearest
    >>> nearest("torch.nn.Conv2D")[0]
    'torch.nn.Conv2d'
    """
    where, _, name = torch_name.rpartition(".")
    if not where:
        return difflib.get_close_matches(name, set(ROOTS) - {name}, n=count)
    folded: dict[str, str] = {}
    for known in sorted(set(_members(where)) - {name}):
        folded.setdefault(known.lower(), known)
    close = difflib.get_close_matches(name.lower(), folded, n=count)
    found = [f"{where}.{folded[n]}" for n in close]
    for module in ("torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.special"):
        if len(found) < count and module != where and name in public_names(module):
            found.append(f"{module}.{name}")
    return found[:count]


def _members(where: str) -> list[str]:
    if modules_of(where):
        return public_names(where)
    try:
        return [n for n in dir(find(where)) if not n.startswith("_")]
    except LackingName:
        return []


def lacks(torch_name: str) -> str:
    """Return the message for a name that weft does not have.

    >>> from weft.compat.names import lacks
    >>> lacks("torch.relu7")
    'weft lacks torch.relu7; nearest: torch.relu, torch.rrelu, torch.relu_'
    """
    hint = ", ".join(nearest(torch_name))
    return f"weft lacks {torch_name}" + (f"; nearest: {hint}" if hint else "")
