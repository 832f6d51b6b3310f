"""A loaded compact model and its predictions."""

import ctypes
import json
import os
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ._columns import Column, Table, Texts, texts_of_numbers
from ._library import Error, Options, check, library

TEXT_ROWS = 65536  # rows passed as text per call: each cell takes an address and a length


@dataclass
class Counts:
    """Counts of cells that training had not seen, per column of the model; predict_proba(counts=...) adds to them."""
    columns: list[str]
    unseen: np.ndarray = field(init=False)      # a category that is not in the vocabulary, or was too rare
    unreadable: np.ndarray = field(init=False)  # not a number though the column is numeric: read as missing
    missing: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._all = np.zeros((3, len(self.columns)), dtype=np.int64)
        self.unseen, self.unreadable, self.missing = self._all

    def as_dict(self) -> dict[str, dict[str, int]]:
        """The counts that are not zero: {"unseen": {column: cells}, "unreadable": ..., "missing": ...}."""
        return {name: {column: int(cells) for column, cells in zip(self.columns, getattr(self, name)) if cells}
                for name in ("unseen", "unreadable", "missing")}


class Model:
    """A compact model. Immutable: any number of threads may use it at once. Made by load()."""

    def __init__(self, path: str | os.PathLike[str], threads: int = 1, calibrated: bool | None = None) -> None:
        self._library = library()
        handle = ctypes.c_void_p()
        check(self._library.l0gm_load(os.fsencode(path), ctypes.byref(Options(threads, 0 if calibrated is None else 1 if calibrated else -1)), ctypes.byref(handle)))
        self._handle = handle
        self._made_from = (os.fspath(path), threads, calibrated)
        weakref.finalize(self, self._library.l0gm_free, handle).atexit = False  # a thread may still be predicting then
        count, classes = self._library.l0gm_column_count(handle), self._library.l0gm_class_count(handle)
        #: What the model reads, in the order of rows of numbers.
        self.columns: list[str] = [self._library.l0gm_column_name(handle, i).decode() for i in range(count)]
        #: The order of the probabilities.
        self.classes: list[str] = [self._library.l0gm_class_name(handle, i).decode() for i in range(classes)]
        #: Whether probabilities are those of the stored calibrator.
        self.calibrated = bool(self._library.l0gm_is_calibrated(handle))
        self._others: dict[bool, Model] = {}  # the same file with and without its calibrator, once it was asked for
        self._numeric = [bool(self._library.l0gm_column_is_numeric(handle, i)) for i in range(count)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and other processes load the file again, as a handle belongs to one object."""
        return Model, self._made_from

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Everything the file says about itself but the weights."""
        return json.loads(self._library.l0gm_manifest(self._handle))

    @property
    def reads_texts(self) -> bool:
        """Whether its one column is free text."""
        return self.manifest["kind"] == "text"

    @cached_property
    def _reads_cells(self) -> bool:
        """Whether rows must be given as texts: free text, or a column with cells of several values ("a|b"), which one code cannot represent."""
        return self.reads_texts or any(column["type"] == "multi" for column in self.manifest["schema"]["columns"])

    @property
    def memory_bytes(self) -> int:
        """The memory of tables and weights, in bytes."""
        return self._library.l0gm_memory_bytes(self._handle)

    def is_numeric(self, column: str) -> bool:
        return self._numeric[self._place(column)]

    def code(self, column: str, text: str) -> int:
        """The code of a text in a categorical column, for rows of numbers: 0 missing, 1 unseen, 2 ... by vocabulary."""
        return self._code(self._place(column), text.encode())

    def empty_counts(self) -> Counts:
        return Counts(self.columns)

    def predict_proba(self, rows: Any, counts: Counts | None = None, calibrated: bool | None = None) -> np.ndarray:
        """Probabilities [rows, classes] as float32.

        rows: a pandas DataFrame, a dict of column -> sequence, or a list of dicts: columns by name, in any order, further ones are
        ignored; None, NaN and pandas' NA are missing; texts are read as a table file's cells are. Or a two-dimensional numpy array of
        floats with the model's columns in the model's order: a numeric column's value (NaN: missing), any other column's code() (so a
        cell of several values can have only one).
        A model of texts also takes a list of str.
        counts: cells that training had not seen are added to it.
        calibrated: True applies the stored calibrator, False does not; None: as load() was told.
        """
        if calibrated is not None and bool(calibrated) != self.calibrated:
            return self._other(bool(calibrated))._predict_proba(rows, counts)
        return self._predict_proba(rows, counts)

    def _predict_proba(self, rows: Any, counts: Counts | None) -> np.ndarray:
        if counts is not None and counts.columns != self.columns:
            raise Error("these counts were made for a model with other columns; use empty_counts() of this model.")
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "iuf":
            return self._predict_numbers(rows, counts)
        if self.reads_texts and isinstance(rows, list | tuple) and all(isinstance(row, str) for row in rows):
            rows = {self.columns[0]: rows}
        table = Table(rows)
        self._check_names(table.names)
        columns = [table.column(name) for name in self.columns]
        numbers = self._numbers(columns)
        return self._predict_texts(columns, table.rows, counts) if numbers is None else self._predict_numbers(numbers, counts)

    def _other(self, calibrated: bool) -> "Model":
        if calibrated not in self._others:
            path, threads, _ = self._made_from
            self._others[calibrated] = Model(path, threads, calibrated)
        return self._others[calibrated]

    def predict(self, rows: Any, counts: Counts | None = None) -> np.ndarray:
        """The most probable class of each row; rows as for predict_proba."""
        return np.array(self.classes, dtype=object)[self.predict_proba(rows, counts).argmax(axis=1)]

    def __repr__(self) -> str:
        return f"<l0gm.Model of {len(self.columns)} columns and {len(self.classes)} classes, {self.memory_bytes} bytes>"

    def _place(self, column: str) -> int:
        if column not in self.columns:
            raise Error(f"the model has no column '{column}'; it reads {', '.join(self.columns)}.")
        return self.columns.index(column)

    def _code(self, place: int, text: bytes) -> int:
        code = ctypes.c_int32()
        check(self._library.l0gm_code(self._handle, place, text, len(text), ctypes.byref(code)))
        return code.value

    def _check_names(self, names: list[str]) -> None:
        """Lets the library check the caller's names and report errors; the positions of the columns are not needed."""
        layout = ctypes.c_void_p()
        texts = (ctypes.c_char_p * max(1, len(names)))(*[name.encode() for name in names])
        check(self._library.l0gm_layout_create(self._handle, texts, len(names), ctypes.byref(layout)))
        self._library.l0gm_layout_free(layout)

    def _numbers(self, columns: list[Column]) -> np.ndarray | None:
        """Rows of numbers; None if a column must be read as text: a numeric column that holds texts, or one with several values per cell."""
        if self._reads_cells:
            return None
        filled = []
        for place, column in enumerate(columns):
            if self._numeric[place]:
                if isinstance(column, Texts):
                    return None
                filled.append(column.astype(np.float64))
                continue
            texts = column if isinstance(column, Texts) else texts_of_numbers(column)
            codes = [0 if text is None else self._code(place, text) for text in texts.distinct]
            filled.append(np.array(codes, dtype=np.float64)[texts.which] if codes else np.zeros(0))
        return np.ascontiguousarray(np.column_stack(filled)) if filled else None

    def _predict_numbers(self, rows: np.ndarray, counts: Counts | None) -> np.ndarray:
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise Error(f"the array has the shape {rows.shape}; wanted (rows, {len(self.columns)}): {', '.join(self.columns)}.")
        numbers = np.ascontiguousarray(rows, dtype=np.float64)
        probabilities = np.empty((len(numbers), len(self.classes)), dtype=np.float32)
        check(self._library.l0gm_predict_numbers(self._handle, None, _pointer(numbers, ctypes.c_double), len(numbers),
                                                 _pointer(probabilities, ctypes.c_float), _counters(counts)))
        return probabilities

    def _predict_texts(self, columns: list[Column], rows: int, counts: Counts | None) -> np.ndarray:
        texts = [column if isinstance(column, Texts) else texts_of_numbers(column) for column in columns]
        stored = [_addresses(column.distinct) for column in texts]
        probabilities = np.empty((rows, len(self.classes)), dtype=np.float32)
        for first in range(0, rows, TEXT_ROWS):
            part = slice(first, min(first + TEXT_ROWS, rows))
            cells = np.column_stack([addresses[column.which[part]] for column, (_, addresses, _) in zip(texts, stored)])
            lengths = np.column_stack([sizes[column.which[part]] for column, (_, _, sizes) in zip(texts, stored)])
            check(self._library.l0gm_predict_text(self._handle, None, cells.ctypes.data, lengths.ctypes.data, len(cells),
                                                  _pointer(probabilities[part], ctypes.c_float), _counters(counts)))
        return probabilities


def load(path: str | os.PathLike[str], threads: int = 1, calibrated: bool | None = None) -> Model:
    """Loads a compact model.

    threads: the number that one call may use for a large batch. calibrated: True applies the stored calibrator
    to the probabilities, False does not; None: where validation rows said that it helps.
    """
    return Model(path, threads, calibrated)


def _pointer(array: np.ndarray, kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))


def _counters(counts: Counts | None) -> Any:
    return None if counts is None else _pointer(counts._all, ctypes.c_int64)


def _addresses(distinct: list[bytes | None]) -> tuple[Any, np.ndarray, np.ndarray]:
    """All texts in one block of memory (which the caller must keep alive), and each text's address (0: missing) and length."""
    sizes = np.array([len(text or b"") for text in distinct], dtype=np.uint64)
    block = ctypes.create_string_buffer(b"".join(text or b"" for text in distinct), int(sizes.sum()) + 1)
    starts = ctypes.addressof(block) + np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.uint64) if len(sizes) else sizes
    missing = np.array([text is None for text in distinct], dtype=bool)
    return block, np.where(missing, 0, starts).astype(np.uint64), sizes
