"""``Example``: one row of a data set, its values as attributes."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Example"]


class Example:
    """One row of a data set; each value has gone through its field.

    >>> from weft.text.data import Example, Field
    >>> text = Field()
    >>> Example.fromlist(["a b"], [("text", text)]).text
    ['a', 'b']
    """

    @classmethod
    def fromlist(cls, data: Sequence[Any], fields: Sequence[tuple[Any, Any]]) -> Example:
        """Make one of values and pairs of a name and a field, in the same order.

        A pair of names with a pair of fields reads a value twice; a field None leaves it out.

        >>> from weft.text.data import Example, RawField
        >>> Example.fromlist([3], [("n", RawField())]).n
        3
        """
        example = cls()
        for (name, field), value in zip(fields, data):
            if field is not None:
                value = value.rstrip("\n") if isinstance(value, str) else value
                example._set(name, field, value)
        return example

    def _set(self, name: Any, field: Any, value: Any) -> None:
        if isinstance(name, tuple):
            for n, f in zip(name, field):
                setattr(self, n, f.preprocess(value))
        else:
            setattr(self, name, field.preprocess(value))

    @classmethod
    def fromdict(cls, data: dict[str, Any], fields: dict[str, Any]) -> Example:
        """Make one of a dictionary; ``fields`` gives a name and a field for each key.

        A key with dots leads into dictionaries, and through lists of them.

        >>> from weft.text.data import Example, Field
        >>> row = {"reviews": [{"text": "good"}, {"text": "bad"}]}
        >>> Example.fromdict(row, {"reviews.text": ("words", Field())}).words
        ['good', 'bad']
        """
        example = cls()
        for key, pairs in fields.items():
            value = _look_up(data, key, key)
            for name, field in pairs if isinstance(pairs, list) else [pairs]:
                if field is not None:
                    example._set(name, field, value)
        return example

    @classmethod
    def fromJSON(cls, data: str, fields: dict[str, Any]) -> Example:
        """Make one of a line of JSON; see :meth:`fromdict`.

        >>> from weft.text.data import Example, Field
        >>> Example.fromJSON('{"t": "a b"}', {"t": ("text", Field())}).text
        ['a', 'b']
        """
        return cls.fromdict(json.loads(data), fields)

    @classmethod
    def fromCSV(
        cls, data: Any, fields: Any, field_to_index: dict[str, int] | None = None
    ) -> Example:
        """Make one of a row of a CSV file, given as a line or as a list of cells.

        Args:
            data: the row.
            fields: pairs of a name and a field; with ``field_to_index`` a dictionary of them.
            field_to_index: the places of the columns by their names.

        >>> from weft.text.data import Example, Field
        >>> Example.fromCSV('"a, b",x', [("text", Field()), ("rest", None)]).text
        ['a,', 'b']
        """
        cells = next(csv.reader([data])) if isinstance(data, str) else data
        if field_to_index is None:
            return cls.fromlist(cells, fields)
        missing = [name for name in fields if name not in field_to_index]
        if missing:
            raise ValueError(f"fromCSV: no columns {missing}; there are {list(field_to_index)}")
        return cls.fromdict({name: cells[field_to_index[name]] for name in fields}, fields)


def _look_up(data: Any, key: str, whole: str) -> Any:
    if isinstance(data, dict) and key in data:
        return data[key]
    if isinstance(data, list):
        return [_look_up(element, key, whole) for element in data]
    first, _, rest = key.partition(".")
    if not isinstance(data, dict) or first not in data or not rest:
        raise ValueError(f"Specified key {whole} was not found in the input data")
    return _look_up(data[first], rest, whole)
