"""How bench/latency.py calls an engine: by the loop of latency_loop.c, or from Python where there is nothing else; and our own engine.
Those of the peers: latency_peers.py. What is made ready outside the clock is said in `note`."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_double, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import pandas as pd
from latency_models import ROOT, Rows

KINDS = ["l0gm_numbers", "l0gm_text", "xgboost", "lightgbm_row", "lightgbm_rows", "compiled_float", "compiled_double", "catboost_cpp", "onnx"]


class LoopEngine(ctypes.Structure):
    """struct loop_engine of latency_loop.c."""
    _fields_ = [("kind", c_int64), ("columns", c_int64), ("classes", c_int64), ("threads", c_int64), ("rows", c_int64), ("function", c_void_p),
                ("handle", c_void_p), ("further", c_void_p), ("settings", c_char_p), ("numbers", POINTER(c_double)), ("cells", POINTER(c_char_p)),
                ("lengths", POINTER(c_size_t)), ("prepared", POINTER(c_void_p)), ("output", c_void_p), ("result", c_void_p),
                ("result_double", c_int64), ("result_step", c_int64)]


def package_file(package: str, pattern: str) -> Path:
    """A library out of an installed package, without importing it."""
    place = next(Path(folder) / package for folder in sys.path if (Path(folder) / package).is_dir())
    return next(place.glob(pattern))


def address(function: object) -> int:
    return ctypes.cast(function, c_void_p).value


class Engine:
    boosted = True      # a boosted tree: what ratios are taken against
    in_python = False
    note = ""

    def __init__(self, name: str, rows: Rows, out: Path, threads: int, model: Path) -> None:
        self.name, self.rows, self.out, self.threads, self.model = name, rows, out, threads, model
        self.library: Path | None = None  # beside the model, what has to be loaded
        self.batch = 0  # of the calls timed last

    def open(self) -> None:
        """The library, before memory is looked at."""

    def load(self) -> None:
        """The model, ready to predict."""
        raise NotImplementedError

    def prepare(self, batch: int) -> None:
        """Makes ready what belongs outside the clock, for calls of this many rows."""

    def time(self, batch: int, calls: int) -> int:
        """Nanoseconds of so many calls, going on through the file."""
        raise NotImplementedError

    def firsts(self, batch: int) -> range:
        """Where the whole batches of the file begin."""
        return range(0, len(self.rows) - batch + 1, batch)

    def probabilities(self, batch: int) -> np.ndarray:
        """P(second class) of the whole batches of the file, by the same calls."""
        raise NotImplementedError

    def reference(self) -> np.ndarray:
        """What the engine's own library says by its plain predict."""
        raise NotImplementedError


class Native(Engine):
    kind = ""

    def open(self) -> None:
        self.loop = ctypes.CDLL(str(self.out / "latency_loop.so"))
        self.loop.loop_time.restype = c_int64
        self.call, self.first, self.kept = LoopEngine(), c_size_t(0), []
        self.call.threads, self.call.rows = self.threads, len(self.rows)
        self.set_kind(self.kind)
        self.set_numbers(self.rows.codes)
        self.output = np.zeros((len(self.rows), 2))
        self.call.output = self.output.ctypes.data

    def set_kind(self, kind: str) -> None:
        self.call.kind = KINDS.index(kind)

    def set_numbers(self, numbers: np.ndarray) -> None:
        self.kept.append(numbers)
        self.call.columns, self.call.numbers = numbers.shape[1], numbers.ctypes.data_as(POINTER(c_double))

    def set_cells(self, cells: np.ndarray) -> None:
        texts = [text.encode() for text in cells.reshape(-1)]
        lengths = np.array([len(text) for text in texts], dtype=np.uintp)
        self.kept += [texts, lengths]
        self.call.cells = (c_char_p * len(texts))(*texts)
        self.call.lengths = lengths.ctypes.data_as(POINTER(c_size_t))

    def set_prepared(self, addresses: list[int]) -> None:
        self.call.prepared = (c_void_p * len(addresses))(*addresses)

    def time(self, batch: int, calls: int) -> int:
        if batch != self.batch:  # from the beginning again
            self.batch, self.first = batch, c_size_t(0)
        spent = self.loop.loop_time(byref(self.call), c_size_t(batch), c_size_t(calls), byref(self.first))
        if spent < 0:
            raise RuntimeError(f"{self.name}: the library failed")
        return spent

    def probabilities(self, batch: int) -> np.ndarray:
        found = np.full(len(self.rows), np.nan)
        if self.loop.loop_probabilities(byref(self.call), c_size_t(batch), found.ctypes.data_as(c_void_p)) != 0:
            raise RuntimeError(f"{self.name}: the library failed")
        return found[:len(found) // batch * batch]


class InPython(Engine):
    """predictions(first, batch) -> P(second class) of these rows."""
    in_python = True
    predictions: Callable[[int, int], np.ndarray]

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.first = 0

    def time(self, batch: int, calls: int) -> int:
        if batch != self.batch:
            self.batch, self.first = batch, 0
        call, last = self.predictions, len(self.rows) // batch * batch
        firsts = [(self.first + index * batch) % last for index in range(calls)]
        self.first = (firsts[-1] + batch) % last
        start = time.perf_counter_ns()
        for first in firsts:
            call(first, batch)
        return time.perf_counter_ns() - start

    def probabilities(self, batch: int) -> np.ndarray:
        return np.concatenate([self.predictions(first, batch) for first in self.firsts(batch)])


class L0GM(Native):
    """A compact model of ours: rows of numbers and codes, or of text as it stands in the file."""
    boosted = False

    def __init__(self, *arguments: object, text: bool, program: Path) -> None:
        super().__init__(*arguments)
        self.kind, self.program = "l0gm_text" if text else "l0gm_numbers", program
        self.note = f"C API l0gm_predict_{'text: cells as they stand in the file' if text else 'numbers'}"

    def open(self) -> None:
        super().open()
        if str(ROOT / "python") not in sys.path:
            sys.path.insert(0, str(ROOT / "python"))
        import l0gm
        from l0gm import _library

        self.package, self.entries, self.library = l0gm, _library.library(), l0gm.library_path().resolve()

    def load(self) -> None:
        self.served = self.package.load(self.model, threads=self.threads)
        names = (c_char_p * len(self.rows.columns))(*[name.encode() for name in self.rows.columns])
        layout = c_void_p()
        if self.entries.l0gm_layout_create(self.served._handle, names, len(names), byref(layout)) != 0:
            raise RuntimeError(self.entries.l0gm_last_error().decode())
        self.call.function = address(getattr(self.entries, "l0gm_predict_text" if self.kind == "l0gm_text" else "l0gm_predict_numbers"))
        self.call.handle, self.call.further, self.call.classes = self.served._handle, layout, len(self.served.classes)

    def prepare(self, batch: int) -> None:
        if self.kind == "l0gm_text" and not self.call.cells:
            self.set_cells(self.rows.cells)
            self.call.columns = len(self.rows.columns)
        elif self.kind == "l0gm_numbers" and self.kept[-1] is self.rows.codes:
            self.set_numbers(np.ascontiguousarray(np.column_stack([self.numbers_of(place, name) for place, name in enumerate(self.rows.columns)])))

    def numbers_of(self, place: int, name: str) -> np.ndarray:
        """Values of a numeric column, codes of another; what the model does not read is there all the same."""
        if name in self.rows.numeric:
            return self.rows.numbers[:, self.rows.numeric.index(name)]
        if name not in self.served.columns:
            return np.zeros(len(self.rows))
        codes = {text: self.served.code(name, text) for text in set(self.rows.cells[:, place])}
        return np.array([codes[text] for text in self.rows.cells[:, place]], dtype=np.float64)

    def reference(self) -> np.ndarray:
        """`l0gm predict`, which reads the file by itself."""
        table, predicted = self.out / "export" / "test.csv", self.out / "ours.csv"
        subprocess.run([str(self.program), "--quiet", "predict", str(self.model), str(table), "--out", str(predicted), "--raw"], check=True, stdout=sys.stderr)
        return pd.read_csv(predicted)[f"p_{self.served.classes[1]}"].to_numpy()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
