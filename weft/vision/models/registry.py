"""How models are found by name, and what all of their functions share."""

from __future__ import annotations

from weft import nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    M = TypeVar("M", bound=nn.Module)

__all__ = ["get_model", "get_model_builder", "list_models"]

_MODELS: dict[str, Callable[..., nn.Module]] = {}


_MORE_DOC = """

    Args:
        kwargs: arguments of ``{kind}``, but those that make it this one.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.{name}(num_classes=2)
    >>> type(net).__name__
    '{kind}'
    """


def model(build: Callable[..., M]) -> Callable[..., M]:
    """Declare a function that makes a model: it is listed, and takes torchvision's arguments.

    Those are ``weights`` (which must be None), the older ``pretrained`` (which must be False) and
    ``progress``, which is about a download and so means nothing here. A docstring of one line, of
    a model of a family, gets the arguments and an example.
    """
    name = build.__name__

    def make(
        pretrained: bool = False, progress: bool = True, *, weights: Any = None, **kwargs: Any
    ) -> M:
        if weights is not None or pretrained:
            asked = f"weights={weights!r}" if weights is not None else f"pretrained={pretrained!r}"
            raise NotImplementedError(
                f"{name}: {asked} is not supported: weft hosts no trained weights. Make the model "
                f"with weights=None and load a state dict from a .pth file: "
                f"model = {name}(); model.load_state_dict(weft.load('{name}.pth'))"
            )
        return build(**kwargs)

    make.__name__ = make.__qualname__ = name
    make.__module__, make.__doc__ = build.__module__, build.__doc__ or ""
    if ">>>" not in make.__doc__:
        make.__doc__ += _MORE_DOC.format(kind=build.__annotations__["return"], name=name)
    _MODELS[name] = make
    return make


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """Return the function that makes a model.

    Args:
        name: its name, in any case.

    >>> weft.vision.models.get_model_builder("lenet").__name__
    'lenet'
    """
    build = _MODELS.get(name.lower())
    if build is None:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), _MODELS, 3)
        hint = f"; near it are {', '.join(near)}" if near else "; list_models() names all"
        raise ValueError(f"get_model: weft.vision.models has no model {name!r}{hint}")
    return build


def get_model(name: str, **config: Any) -> nn.Module:
    """Make a model by its name.

    Args:
        name: its name, in any case.
        config: the arguments of its function.

    >>> weft.vision.models.get_model("lenet", num_classes=3).fc3.out_features
    3
    """
    return get_model_builder(name)(**config)


def list_models(
    module: Any = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """Return the names of models, sorted.

    Args:
        module: only models that are defined in this module, or below it.
        include: only names that match one of these patterns, as of file names.
        exclude: no names that match one of these patterns.

    >>> weft.vision.models.list_models(include="resnet*", exclude=["resnet1*"])
    ['resnet34', 'resnet50']
    """
    from fnmatch import fnmatchcase

    def matches(name: str, patterns: Iterable[str] | str) -> bool:
        each = [patterns] if isinstance(patterns, str) else patterns
        return any(fnmatchcase(name, p) for p in each)

    names = sorted(_MODELS)
    if module is not None:
        home = module.__name__
        names = [n for n in names if f"{_MODELS[n].__module__}.".startswith(f"{home}.")]
    if include is not None:
        names = [n for n in names if matches(n, include)]
    return [n for n in names if exclude is None or not matches(n, exclude)]
