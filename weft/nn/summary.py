"""A table of a model's layers: what they return, what they hold, what they compute."""

from __future__ import annotations

import math

import weft
from weft import Tensor
from weft._environment import at_line
from weft.nn.module import Module
from weft.utils.pytree import find_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Row", "Summary", "summary"]


class Row:
    """One layer of a summary.

    Attributes:
        name: its path in the model.
        kind: the name of its class.
        depth: how many modules it is inside of.
        shape: of what it returned, or several shapes.
        parameters: how many numbers it holds that are its own, not its children's.
        trainable: how many of these get a gradient.
        bytes: of its own parameters and buffers.
        macs: multiply-adds of one call, its children's included.
    """

    def __init__(self, name: str, module: Module, depth: int) -> None:
        self.name, self.kind, self.depth = name, type(module).__name__, depth
        self.shape: Any = None
        own = [p for p in module._parameters.values() if p is not None]
        buffers = [b for b in module._buffers.values() if b is not None]
        lazy = any(weft.nn.parameter.is_lazy(t) for t in own + buffers)
        counted = [] if lazy else own + quantised(module)
        self.parameters = sum(t.numel() for t in counted)
        self.trainable = 0 if lazy else sum(p.numel() for p in own if p.requires_grad)
        self.bytes = 0 if lazy else sum(t.numel() * t.element_size() for t in own + buffers)
        self.macs = 0
        self.calls = 0
        self.leaf = not module._modules


class Summary:
    """What ``summary`` returns: rows and totals; printing it shows the table."""

    def __init__(self, rows: list[Row], totals: dict[str, int]) -> None:
        self.rows = rows
        self.total_params = totals["parameters"]
        self.trainable_params = totals["trainable"]
        self.total_bytes = totals["bytes"]
        self.output_bytes = totals["outputs"]
        self.total_macs = totals["macs"]

    def lines(self) -> list[tuple[str, ...]]:
        """Return the head and the rows of the table as texts.

        >>> weft.summary(weft.nn.Linear(2, 3), weft.ones(1, 2)).lines()[1]
        ('Linear', '(1, 3)', '9', '36', '6')
        """
        lines = [("Layer", "Output shape", "Parameters", "Bytes", "Multiply-adds")]
        for row in self.rows:
            name = "  " * row.depth + (f"{row.name.rpartition('.')[2]}: " if row.name else "")
            lines.append(
                (
                    name + row.kind,
                    "-" if row.shape is None else _shape_text(row.shape),
                    f"{row.parameters:,}" if row.parameters else "-",
                    f"{row.bytes:,}" if row.bytes else "-",
                    f"{row.macs:,}" if row.macs else "-",
                )
            )
        return lines  # type: ignore[return-value]

    def totals(self) -> list[str]:
        """Return what stands below the table.

        >>> weft.summary(weft.nn.Linear(2, 3), weft.ones(1, 2)).totals()[0]
        'Parameters: 9 (9 trainable, 0 not)'
        """
        frozen = self.total_params - self.trainable_params
        return [
            f"Parameters: {self.total_params:,} ({self.trainable_params:,} trainable, "
            f"{frozen:,} not)",
            f"Memory: {_size_text(self.total_bytes)} of parameters and buffers, "
            f"{_size_text(self.output_bytes)} of outputs",
            f"Multiply-adds: {self.total_macs:,}",
        ]

    def __str__(self) -> str:
        """Return the table as text."""
        lines = self.lines()
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        text = []
        for line in lines:
            cells = [
                c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))
            ]
            text.append("  ".join(cells).rstrip())
        return "\n".join([text[0], rule, *text[1:], rule, *self.totals()])

    def _repr_html_(self) -> str:
        from weft.view.html import summary_html

        return summary_html(self)

    __repr__ = __str__


def quantised(module: Module) -> list[Tensor]:
    """Return the weights and biases of a quantised layer, which are buffers: no gradient flows to them.

    >>> from weft.nn.summary import quantised
    >>> linear = weft.quantization.nn.dynamic.Linear(3, 2)
    >>> [t.dtype for t in quantised(linear)]
    [torch.int8, torch.float32]
    """
    if not type(module).__module__.startswith("weft.quantization.nn"):
        return []
    names = ("weight_int8", "weight_uint8", "bias")
    return [t for name, t in module._buffers.items() if t is not None and name.startswith(names)]


def _size_text(n: int) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit in ("bytes", "KiB", "MiB"):
        if n < 1024:
            return f"{n:,.0f} {unit}" if unit == "bytes" else f"{n:,.1f} {unit}"
        n = n / 1024  # type: ignore[assignment]
    return f"{n:,.1f} GiB"


def _shape_of(value: Any) -> Any:
    """The shape of a tensor; of a collection, those of what is in it."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        shapes = [shape for shape in map(_shape_of, value) if shape is not None]
        return shapes or None
    return None


def _shape_text(shape: Any) -> str:
    if isinstance(shape, tuple):
        return "(" + ", ".join(map(str, shape)) + ")"
    return ", ".join(map(_shape_text, shape))


def macs_of(module: Module, args: tuple[Any, ...], output: Any) -> int:
    """Count the multiply-adds of one call of a layer that multiplies by weights; else 0.

    >>> from weft.nn.summary import macs_of
    >>> layer = weft.nn.Linear(10, 5)
    >>> macs_of(layer, (weft.ones(2, 10),), layer(weft.ones(2, 10)))
    100
    """
    kinds = {base.__name__ for base in type(module).__mro__}
    outputs = list(find_tensors(output))
    if not outputs:
        return 0
    y = outputs[0]
    if "Int8Layer" in kinds:  # quantised: of any number of dimensions
        return y.numel() * math.prod(module.weight_int8.shape[1:])
    if "Linear" in kinds:
        return y.numel() * module.weight.shape[1]
    if "Bilinear" in kinds:
        return y.numel() * math.prod(module.weight.shape[1:])
    if kinds & {"Conv1d", "Conv2d", "Conv3d"}:
        return y.numel() * math.prod(module.weight.shape[1:])
    if kinds & {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"}:
        return args[0].numel() * math.prod(module.weight.shape[1:])
    if "RNNBase" in kinds or "RNNCellBase" in kinds:
        rows = next(find_tensors(args[0]))
        steps = rows.numel() // rows.shape[-1]
        weights = (*module.parameters(), *module.buffers())  # quantised ones are buffers
        return steps * sum(w.numel() for w in weights if w.dim() == 2)
    if "MultiheadAttention" in kinds:
        q, k = list(find_tensors(args))[:2]
        width = q.shape[-1]
        queries, keys = q.numel() // width, k.numel() // k.shape[-1]
        batch = 1 if q.dim() == 2 else q.shape[0 if module.batch_first else 1]
        weights = sum(p.numel() for p in module.parameters() if p.dim() == 2)
        return queries * weights // 2 + keys * weights // 2 + 2 * queries * keys * width // batch
    return 0


class left_as_it_is:
    """Inside a ``with`` block, calls change neither a model's buffers nor the random numbers to come.

    >>> from weft.nn.summary import left_as_it_is
    >>> norm = weft.nn.BatchNorm1d(1)
    >>> with left_as_it_is(norm):
    ...     y = norm(weft.tensor([[5.0], [7.0]]))
    >>> norm.running_mean
    tensor([0.])
    """

    def __init__(self, model: Module) -> None:
        self.model = model
        self.state: dict[str, Tensor] = {}
        self.generator: Any = None

    def __enter__(self) -> None:
        self.state = {
            name: t.clone()
            for name, t in self.model.named_buffers()
            if not weft.nn.parameter.is_lazy(t)
        }
        self.generator = weft.get_rng_state()

    def __exit__(self, *exception: object) -> None:
        weft.set_rng_state(self.generator)
        with weft.no_grad():
            for name, buffer in self.model.named_buffers():
                if name in self.state:
                    buffer.copy_(self.state[name])


def summary(
    model: Module, input: Any = None, *args: Any, input_size: Any = None, **kwargs: Any
) -> Summary:
    """Call a model once and list its layers: output shapes, parameters, bytes, multiply-adds.

    Without an input, a model that needs one is not called: the table then has parameters and bytes.

    Args:
        model: any module; its mode, state and gradients stay as they are.
        input: its argument: a tensor, a tuple of arguments, or a shape to be filled with zeros.
        args: further arguments.
        input_size: in place of ``input``: a shape to be filled with zeros, or a list of shapes.
        kwargs: further arguments by name.

    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
    >>> weft.summary(model, weft.ones(3, 4))
    Layer        Output shape  Parameters  Bytes  Multiply-adds
    -----------------------------------------------------------
    Sequential   (3, 2)                 -      -            144
      0: Linear  (3, 8)                40    160             96
      1: ReLU    (3, 8)                 -      -              -
      2: Linear  (3, 2)                18     72             48
    -----------------------------------------------------------
    Parameters: 58 (58 trainable, 0 not)
    Memory: 232 bytes of parameters and buffers, 216 bytes of outputs
    Multiply-adds: 144
    """
    if not isinstance(model, Module):
        raise TypeError(at_line(f"summary: takes a Module, not {type(model).__name__}"))
    if input_size is not None:
        if input is not None:
            raise ValueError(at_line("summary: takes an input or input_size=, not both"))
        input = _zeros_of(input_size)
    given = _arguments(input, args)
    rows: dict[int, Row] = {}
    for name, module in model.named_modules():
        rows[id(module)] = Row(name, module, name.count(".") + 1 if name else 0)
    handles = []
    inside: list[list[int]] = []
    counted = {"outputs": 0}

    def before(module: Module, args: Any) -> None:
        inside.append([0])

    def after(module: Module, args: Any, output: Any) -> None:
        row = rows[id(module)]
        row.shape = _shape_of(output)
        direct = macs_of(module, args, output)
        total = max(direct, inside.pop()[0])
        row.macs += total
        row.calls += 1
        if inside:
            inside[-1][0] += total
        if row.leaf:
            counted["outputs"] += sum(t.numel() * t.element_size() for t in find_tensors(output))

    try:
        for module in model.modules():
            handles.append(module.register_forward_pre_hook(before, prepend=True))
            handles.append(module.register_forward_hook(after))
        if given or kwargs or not _needs_input(model):
            with left_as_it_is(model), weft.no_grad():
                model(*given, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    for name, module in model.named_modules():  # again: lazy ones have their shapes by now
        fresh = Row(name, module, 0)
        row = rows[id(module)]
        row.kind, row.parameters, row.bytes = fresh.kind, fresh.parameters, fresh.bytes
    return Summary(list(rows.values()), {**_totals(model), **counted, "macs": rows[id(model)].macs})


def _zeros_of(size: Any) -> tuple[Tensor, ...]:
    """Zeros of the shape, or of each of the shapes, that input_size says."""
    sizes = size if isinstance(size, (list, tuple)) else ()
    whole = bool(sizes) and all(isinstance(n, int) for n in sizes)
    shapes = [sizes] if whole else list(sizes)
    for shape in shapes:
        if not isinstance(shape, (list, tuple)) or not all(isinstance(n, int) for n in shape):
            shapes = []
    if not shapes:
        raise TypeError(
            at_line(f"summary: input_size must be a shape or a list of shapes, got {size!r}")
        )
    return tuple(weft.zeros(*shape) for shape in shapes)


def _needs_input(model: Module) -> bool:
    """Whether forward has parameters without defaults."""
    import inspect

    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):  # what has no signature is called
        return False
    return any(
        p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _arguments(input: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Read what to call the model with."""
    if input is None:
        return args
    if isinstance(input, (tuple, list)):
        if input and all(isinstance(size, int) for size in input):
            return (weft.zeros(*input), *args)
        return (*input, *args)
    return (input, *args)


def _totals(model: Module) -> dict[str, int]:
    """What all parameters and buffers come to, each counted once."""
    parameters, buffers = list(model.parameters()), list(model.buffers())
    stored = {id(t): t for module in model.modules() for t in quantised(module)}
    return {
        "parameters": sum(p.numel() for p in [*parameters, *stored.values()]),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.numel() * t.element_size() for t in parameters + buffers),
    }
