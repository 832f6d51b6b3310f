"""Splits a caller's rows into columns: floats where a column holds numbers, otherwise its distinct texts and each row's index into them.

A column has few distinct values even when it has millions of rows, so only these are converted to texts and looked up.
"""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._library import Error


@dataclass
class Texts:
    """A column by its distinct texts."""
    distinct: list[bytes | None]  # None: missing
    which: np.ndarray             # per row: place in `distinct`


Column = np.ndarray | Texts  # an array of integers or of float64 (NaN: missing), or texts


def is_missing(value: object) -> bool:
    """None, NaN, pandas' NA and NaT: values that are not equal to themselves, or whose comparison has no truth value."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false
        return type(value).__name__ == "NAType"


def text_of(value: object) -> bytes | None:
    """The value as written in a table file. An integer held as a float (as in an integer column with missing values) has no decimal point."""
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value
    if isinstance(value, float | np.floating) and math.isfinite(value) and float(value).is_integer() and abs(value) < 2**53:
        return str(int(value)).encode()
    if isinstance(value, np.floating):
        return repr(float(value)).encode()
    return str(value).encode()


def exact_floats(values: np.ndarray) -> np.ndarray:
    """As float64; a shorter float is converted by its shortest decimal form: 0.1, and not the float32 nearest to it."""
    if values.dtype.kind != "f" or values.dtype.itemsize >= 8:
        return values.astype(np.float64)
    distinct, which = np.unique(values, return_inverse=True)
    return np.array([float(str(value)) for value in distinct], dtype=np.float64)[which.reshape(-1)]


def texts_of_numbers(values: np.ndarray) -> Texts:
    distinct, which = np.unique(values, return_inverse=True)  # all NaN count as one
    return Texts([text_of(value) for value in distinct.tolist()], which.reshape(-1))


def texts_of_objects(values: Iterable[object]) -> Texts:
    places: dict[object, int] = {}
    which = np.fromiter((places.setdefault(text_of(value), len(places)) for value in values), dtype=np.int64)
    return Texts(list(places), which)


def numbers_of_objects(values: np.ndarray) -> np.ndarray | None:
    """Numbers if every value is a number or missing (lists with None in them arrive as objects); None if there is a text or a bool
    (written as True in a table file). Integers stay integers: identifiers can have more digits than a float holds."""
    if len(values) and all(isinstance(value, int | np.integer) and not isinstance(value, bool) and -2**63 <= value < 2**63 for value in values):
        return np.array(values.tolist(), dtype=np.int64)
    if not all(isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) or is_missing(value) for value in values):
        return None
    return np.fromiter((math.nan if is_missing(value) else float(value) for value in values), dtype=np.float64, count=len(values))


def pandas_column(values: Any) -> Column:
    """The column of a pandas Series."""
    kind = values.dtype
    if hasattr(values, "cat"):  # categories are distinct already; code -1 is missing
        texts: list[bytes | None] = [text_of(value) for value in values.cat.categories]
        return Texts([*texts, None], np.where(values.cat.codes < 0, len(texts), values.cat.codes).astype(np.int64))
    if getattr(kind, "kind", "O") in "iu" and not values.hasnans:
        return values.to_numpy(dtype=np.int64 if kind.kind == "i" else np.uint64)
    if getattr(kind, "kind", "O") == "f" and isinstance(kind, np.dtype):
        return exact_floats(values.to_numpy())
    if getattr(kind, "kind", "O") in "iuf":
        return values.to_numpy(dtype=np.float64, na_value=math.nan)
    if values.array.dtype == object:
        found = numbers_of_objects(values.to_numpy())
        if found is not None:
            return found
    which, distinct = values.factorize()  # fast for texts; missing is -1
    texts = [text_of(value) for value in distinct]
    return Texts([*texts, None], np.where(which < 0, len(texts), which).astype(np.int64))


def plain_column(name: str, values: object) -> Column:
    """The column of any other sequence: lists, tuples, numpy arrays."""
    if hasattr(values, "factorize") and hasattr(values, "dtype") and hasattr(values, "to_numpy"):
        return pandas_column(values)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence | np.ndarray):
        raise Error(f"column '{name}' is a {type(values).__name__}; wanted a list or an array with one value per row.")
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.ndim != 1:
        raise Error(f"column '{name}' has {array.ndim} dimensions; wanted one value per row.")
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "f":
        return exact_floats(array)
    if array.dtype == object:
        found = numbers_of_objects(array)
        if found is not None:
            return found
    return texts_of_objects(array.tolist())


class Table:
    """The caller's columns by name; a column is converted only when it is requested."""

    def __init__(self, given: object) -> None:
        if hasattr(given, "iloc") and hasattr(given, "columns"):
            self.names = [str(name) for name in given.columns]
            self._values = [given.iloc[:, place] for place in range(len(self.names))]
            self.rows = len(given)
        else:
            columns = _columns_of_rows(given) if isinstance(given, list | tuple) else given
            if not isinstance(columns, Mapping):
                raise Error(f"found a {type(given).__name__}; wanted a pandas DataFrame, a dict of columns, a list of dicts, "
                            "or a two-dimensional numpy array of floats.")
            self.names = [str(name) for name in columns]
            self._values = list(columns.values())
            self.rows = len(self._values[0]) if self._values and hasattr(self._values[0], "__len__") else 0

    def column(self, name: str) -> Column:
        found = plain_column(name, self._values[self.names.index(name)])
        length = len(found.which) if isinstance(found, Texts) else len(found)
        if length != self.rows:
            raise Error(f"column '{name}' has {length} values, column '{self.names[0]}' has {self.rows}; wanted as many in each.")
        return found


def _columns_of_rows(rows: Sequence[object]) -> dict[str, list[object]]:
    """The columns of a list of dicts; a key that a dict does not have is a missing value."""
    wrong = next((row for row in rows if not isinstance(row, Mapping)), None)
    if wrong is not None:
        raise Error(f"the list holds a {type(wrong).__name__}; wanted a dict of column and value per row.")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
