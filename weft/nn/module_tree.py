"""The tree of modules: walking it, finding things in it, converting all of it."""

from __future__ import annotations

import weft
from weft.nn.parameter import Parameter, is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from weft import Tensor
    from weft.nn.module import Module

    T = TypeVar("T", bound="TreeMethods")

type_of = type  # ``type`` is also the name of a method


class TreeMethods:
    """What ``Module`` has for its children and for all that is below it."""

    training: bool
    _parameters: Any
    _buffers: Any
    _modules: Any

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over this module and all below it, with their paths.

        >>> [name for name, _ in weft.nn.Sequential(weft.nn.ReLU()).named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)  # type: ignore[arg-type]
        yield prefix, self  # type: ignore[misc]
        for name, module in self._modules.items():
            if module is not None:
                at = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, at, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over this module and all below it, each once.

        >>> len(list(weft.nn.Sequential(weft.nn.ReLU(), weft.nn.Tanh()).modules()))
        3
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the direct children, with their names.

        >>> list(weft.nn.Sequential(weft.nn.ReLU()).named_children())
        [('0', ReLU())]
        """
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Iterate over the direct children.

        >>> list(weft.nn.Sequential(weft.nn.ReLU()).children())
        [ReLU()]
        """
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over what ``get_members_fn`` finds in each module, with paths."""
        memo = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for at, module in modules:
            for name, member in get_members_fn(module):
                if member is None or (remove_duplicate and id(member) in memo):
                    continue
                memo.add(id(member))
                yield at + ("." if at else "") + name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over the parameters, with their paths.

        >>> [(name, tuple(p.shape)) for name, p in weft.nn.Linear(2, 3).named_parameters()]
        [('weight', (3, 2)), ('bias', (3,))]
        """
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters, each once: what an optimiser is given.

        >>> sum(p.numel() for p in weft.nn.Linear(2, 3).parameters())
        9
        """
        found: dict[int, Any] = {}
        seen: set[int] = set()

        def visit(module: Any) -> None:
            seen.add(id(module))
            for p in module._parameters.values():
                if p is not None:
                    found[id(p)] = p
            for child in module._modules.values():
                if child is not None and id(child) not in seen:
                    visit(child)

        if not recurse:
            found = {id(p): p for p in self._parameters.values() if p is not None}
        elif type_of(self).named_parameters is TreeMethods.named_parameters:
            visit(self)
        else:
            found = {id(p): p for _, p in self.named_parameters()}
        return iter(found.values())

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the buffers, with their paths."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """Return the module at a path such as ``"encoder.0.norm"``.

        >>> weft.nn.Sequential(weft.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, TreeMethods):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path; ``strict`` allows only to replace one.

        >>> net = weft.nn.Sequential(weft.nn.ReLU())
        >>> net.set_submodule("0", weft.nn.Tanh())
        >>> net[0]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, TreeMethods):
            raise ValueError(f"`module` is not an nn.Module, found {type_of(module)}")
        path, _, name = target.rpartition(".")
        parent: Any = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), TreeMethods):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path such as ``"encoder.0.weight"``.

        >>> tuple(weft.nn.Sequential(weft.nn.Linear(2, 3)).get_parameter("0.bias").shape)
        (3,)
        """
        path, _, name = target.rpartition(".")
        module: Any = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a path such as ``"encoder.0.running_mean"``."""
        path, _, name = target.rpartition(".")
        module: Any = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # ---- all of it at once ----------------------------------------------------------------------

    def train(self: T, mode: bool = True) -> T:
        """Set the mode of this module and all below it: training, or (False) evaluation.

        >>> weft.nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.__dict__["training"] = mode
        for module in self._modules.values():
            if module is not None:
                module.train(mode)
        return self

    def eval(self: T) -> T:
        """Set the mode to evaluation.

        >>> weft.nn.Dropout().eval()(weft.ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Say whether the parameters get gradients.

        >>> weft.nn.Linear(1, 1).requires_grad_(False).weight.requires_grad
        False
        """
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or fill them with zeros.

        >>> m = weft.nn.Linear(1, 1)
        >>> m(weft.ones(1, 1)).sum().backward()
        >>> m.zero_grad()
        >>> m.weight.grad is None
        True
        """
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                if p.grad.grad_fn is not None:
                    p.grad = p.grad.detach()
                p.grad.requires_grad_(False).zero_()

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Call ``fn`` on every module, children first.

        >>> def ones(m):
        ...     if isinstance(m, weft.nn.Linear):
        ...         weft.nn.init.ones_(m.weight)
        >>> weft.nn.Sequential(weft.nn.Linear(2, 1)).apply(ones)[0].weight.tolist()
        [[1.0, 1.0]]
        """
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def _apply(self: T, fn: Callable[[Any], Any], recurse: bool = True) -> T:
        """Replace the memory of every parameter, gradient and buffer by what ``fn`` makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with weft.no_grad():
            for p in self._parameters.values():
                if p is None:
                    continue
                grad = p.grad
                p.data = fn(p.data)
                if grad is not None:
                    p.grad = None
                    p.grad = fn(grad.data).requires_grad_(grad.requires_grad)
            for name, buffer in list(self._buffers.items()):
                if buffer is None:
                    continue
                if is_lazy(buffer):
                    buffer.data = fn(buffer.data)
                else:
                    self._buffers[name] = self.__dict__[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Convert floating-point parameters and buffers: ``to(dtype)``, ``to(device)``, ``to(tensor)``.

        Args:
            args: a dtype, a device, a device and a dtype, or a tensor whose dtype is taken.
            kwargs: ``device``, ``dtype``, ``non_blocking``, ``memory_format`` by name.

        >>> weft.nn.Linear(1, 1).to(weft.float64).weight.dtype
        torch.float64
        """
        dtype, memory_format = _read_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def convert(t: Any) -> Any:
            if dtype is not None and (t.is_floating_point() or t.is_complex()):
                t = t.to(dtype)
            if memory_format is not None and t.dim() in (4, 5):
                t = t.to(memory_format=memory_format)
            return t

        return self._apply(convert)

    def _cast(self: T, dtype: Any) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self: T) -> T:
        """Convert floating-point parameters and buffers to float32."""
        return self._cast(weft.float32)

    def double(self: T) -> T:
        """Convert floating-point parameters and buffers to float64.

        >>> weft.nn.Linear(1, 1).double().weight.dtype
        torch.float64
        """
        return self._cast(weft.float64)

    def half(self: T) -> T:
        """Convert floating-point parameters and buffers to float16."""
        return self._cast(weft.float16)

    def bfloat16(self: T) -> T:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._cast(weft.bfloat16)

    def type(self: T, dst_type: Any) -> T:
        """Convert all parameters and buffers to a type.

        >>> weft.nn.Linear(1, 1).type(weft.float64).weight.dtype
        torch.float64
        """
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self: T) -> T:
        """Return the module itself: it is on the CPU already."""
        return self._apply(lambda t: t.cpu())

    def _no_device(self, name: str) -> Any:
        agnostic = weft._environment.AGNOSTIC
        raise RuntimeError(f"Module.{name}: weft has only the device 'cpu'. {agnostic}")

    def cuda(self: T, device: Any = None) -> T:
        """Raise: weft has no such device."""
        return self._no_device("cuda")

    def xpu(self: T, device: Any = None) -> T:
        """Raise: weft has no such device."""
        return self._no_device("xpu")

    def ipu(self: T, device: Any = None) -> T:
        """Raise: weft has no such device."""
        return self._no_device("ipu")

    def mtia(self: T, device: Any = None) -> T:
        """Raise: weft has no such device."""
        return self._no_device("mtia")

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Give parameters and buffers new memory without initialising it."""
        weft._environment.require_cpu("cpu" if device is None else device)
        return self._apply(weft.empty_like, recurse=recurse)

    def share_memory(self: T) -> T:
        """Raise: weft has no memory that several processes share."""
        return self._apply(lambda t: t.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls of this module be compiled, as by ``weft.compile``, whose arguments it takes.

        >>> model = weft.nn.Linear(2, 1)
        >>> model.compile()
        >>> model(weft.ones(3, 2)).shape
        torch.Size([3, 1])
        """
        self.forward: Any = weft.compile(self.forward, *args, **kwargs)


def _read_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Read the arguments of ``Module.to``: the dtype and the memory format."""
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    known = {"device", "dtype", "tensor", "non_blocking", "memory_format"}
    unknown = [name for name in kwargs if name not in known]
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{unknown[0]}'")
    dtype, device = kwargs.get("dtype"), kwargs.get("device")
    memory_format = kwargs.get("memory_format")
    for value in (*args, kwargs.get("tensor")):
        if isinstance(value, weft.dtype):
            dtype = value
        elif isinstance(value, weft.Tensor):
            dtype = value.dtype
        elif isinstance(value, weft.memory_format):
            memory_format = value
        elif isinstance(value, (str, weft.device)) or type(value) is int:
            device = value
        elif value is not None and not isinstance(value, bool):
            raise TypeError(f"to() received an invalid argument: {value!r}")
    if device is not None:
        weft._environment.require_cpu(device)
    return dtype, memory_format
