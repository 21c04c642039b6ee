"""Lists and dicts that cannot be changed: the containers in the arguments of a node."""

from __future__ import annotations

from weft.utils._pytree import _dict_flatten, _dict_unflatten, register_pytree_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    kind = type(self).__name__
    raise TypeError(
        f"{kind!r} object does not support mutation. If you are attempting to modify the kwargs or "
        f"args of a torch.fx.Node object, assign a new one: node.args = ..., node.kwargs = ..."
    )


class immutable_list(list):
    """A list that raises when it is changed.

    >>> from weft.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2]).append(3)
    Traceback (most recent call last):
    TypeError: 'immutable_list' object does not support mutation. ...
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the items: an empty list could not be filled."""
        return type(self), (list(self),)


class immutable_dict(dict):
    """A dict that raises when it is changed.

    >>> from weft.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)["b"] = 2
    Traceback (most recent call last):
    TypeError: 'immutable_dict' object does not support mutation. ...
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the items: an empty dict could not be filled."""
        return type(self), (dict(self),)


register_pytree_node(
    immutable_list,
    lambda items: (list(items), None),
    lambda items, _: immutable_list(items),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)
register_pytree_node(
    immutable_dict,
    _dict_flatten,
    lambda items, context: immutable_dict(_dict_unflatten(items, context)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)
