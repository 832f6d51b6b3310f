"""The fastest public call of each library that is timed (latency.py): C functions through ctypes where the installed package has them, Python
elsewhere. Of each class a model is loaded once; call() then makes the arguments of all batches ready."""

import ctypes
import json
import math
import warnings
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from files import UserError
from methods import of_all_classes


@dataclass
class Served:
    """A trained model and the rows that it is timed on."""
    method: str
    model: Path
    features: pd.DataFrame
    kept: np.ndarray  # what the run predicted for these rows
    rounds: int | None
    threads: int

    @property
    def class_count(self) -> int:
        return self.kept.shape[1]

    def batches(self, batch: int) -> list[slice]:
        return [slice(first, first + batch) for first in range(0, len(self.features) - batch + 1, batch)]

    def numbers(self, dtype: str) -> np.ndarray:
        """Categories by their place in the vocabulary; what is missing is NaN."""
        columns = [column.cat.codes.astype("float64").where(column.notna()) if column.dtype == "category" else column
                   for _, column in self.features.items()]
        return np.ascontiguousarray(np.column_stack(columns), dtype=dtype)


@dataclass
class Call:
    name: str
    input: str
    function: Callable
    arguments: list[tuple]  # of each batch
    probabilities: Callable[[object], np.ndarray]  # from what the function returned
    native: bool = True


class Library:
    """The C functions of an installed package, which is not imported."""

    def __init__(self, package: str, file: str, last_error: str) -> None:
        self.package = package
        self.functions = ctypes.CDLL(str(Path(find_spec(package).origin).parent / "lib" / file))
        self.last_error = self.functions[last_error]
        self.last_error.restype = c_char_p

    def check(self, status: int, name: str) -> None:
        if status != 0:
            raise UserError(f"{self.package}: {name} failed: {self.last_error().decode(errors='replace').strip().splitlines()[0].rstrip('.')}.")

    def do(self, name: str, *arguments: object) -> None:
        self.check(self.functions[name](*arguments), name)


class XGBoost:
    file = "model.ubj"

    def __init__(self, served: Served) -> None:
        self.served, self.library = served, Library("xgboost", "libxgboost.so", "XGBGetLastError")
        self.booster, self.proxy = c_void_p(), c_void_p()
        self.library.do("XGBoosterCreate", None, c_uint64(0), byref(self.booster))
        self.library.do("XGBoosterLoadModel", self.booster, str(served.model).encode())
        self.library.do("XGBoosterSetParam", self.booster, b"nthread", str(served.threads).encode())
        self.library.do("XGProxyDMatrixCreate", byref(self.proxy))
        self.rows = served.numbers("float32")  # as wide as the model's thresholds

    def call(self, batch: int) -> Call:
        name = "XGBoosterPredictFromDense"
        settings = json.dumps({"type": 0, "iteration_begin": 0, "iteration_end": 0, "missing": math.nan, "strict_shape": False,
                               "training": False, "cache_id": 0}).encode()
        shape, dimensions, found = POINTER(c_uint64)(), c_uint64(), POINTER(c_float)()

        def interface(rows: np.ndarray) -> bytes:
            return json.dumps({"data": [rows.ctypes.data, True], "shape": rows.shape, "typestr": "<f4", "version": 3}).encode()

        def probabilities(status: int) -> np.ndarray:
            self.library.check(status, name)
            return np.ctypeslib.as_array(found, tuple(shape[:dimensions.value]))

        arguments = [(self.booster, interface(self.rows[rows]), settings, self.proxy, byref(shape), byref(dimensions), byref(found))
                     for rows in self.served.batches(batch)]
        return Call(f"C API {name}", "numbers", self.library.functions[name], arguments, probabilities)


class LightGBM:
    file = "model.txt"

    def __init__(self, served: Served) -> None:
        self.served, self.library = served, Library("lightgbm", "lib_lightgbm.so", "LGBM_GetLastError")
        self.booster, self.fast, self.outputs = c_void_p(), c_void_p(), c_int()
        self.library.do("LGBM_BoosterCreateFromModelfile", str(served.model).encode(), byref(c_int()), byref(self.booster))
        self.library.do("LGBM_BoosterGetNumClasses", self.booster, byref(self.outputs))
        self.rows = served.numbers("float64")
        self.float64, width, settings = c_int(1), c_int32(self.rows.shape[1]), f"num_threads={served.threads} verbosity=-1".encode()
        self.what = (c_int(0), c_int(0), c_int(-1))  # probabilities, from the first round, of all rounds
        self.shape = (width, c_int(1), *self.what, settings)  # row after row
        self.library.do("LGBM_BoosterPredictForMatSingleRowFastInit", self.booster, *self.what, self.float64, width, settings, byref(self.fast))

    def call(self, batch: int) -> Call:
        name = "LGBM_BoosterPredictForMatSingleRowFast" if batch == 1 else "LGBM_BoosterPredictForMat"
        found = np.zeros((batch, self.outputs.value))
        before, after = ((self.fast,), ()) if batch == 1 else ((self.booster,), (self.float64, c_int32(batch), *self.shape))

        def probabilities(status: int) -> np.ndarray:
            self.library.check(status, name)
            return found

        arguments = [(*before, c_void_p(self.rows[rows].ctypes.data), *after, byref(c_int64()), c_void_p(found.ctypes.data))
                     for rows in self.served.batches(batch)]
        return Call(f"C API {name}", "numbers", self.library.functions[name], arguments, probabilities)


class CatBoost:
    """The wheel exports no C functions: the call is Python's, of a Pool in which categories are hashed already."""
    file = "model.cbm"

    def __init__(self, served: Served) -> None:
        import catboost

        self.served, self.pool = served, catboost.Pool
        try:
            self.model = catboost.CatBoost().load_model(str(served.model))
        except catboost.CatBoostError as problem:
            raise UserError(f"catboost cannot read {served.model}: {problem}.") from problem
        self.categorical = [name for name, column in served.features.items() if column.dtype == "category"]
        texts = {name: served.features[name].astype(object).where(served.features[name].notna(), "") for name in self.categorical}
        self.rows = served.features.assign(**texts)

    def call(self, batch: int) -> Call:
        predict = partial(self.model.predict, prediction_type="Probability", thread_count=self.served.threads)
        arguments = [(self.pool(self.rows[rows], cat_features=self.categorical),) for rows in self.served.batches(batch)]
        return Call("CatBoost.predict of a Pool", "Pool", predict, arguments, np.asarray, native=False)


class HistGradientBoosting:
    """Rows as arrays: faster than data frames. Categories stay texts, which predict_proba encodes itself, inside the clock."""
    file = "model.joblib"

    def __init__(self, served: Served) -> None:
        import joblib
        from threadpoolctl import threadpool_limits

        self.served = served
        try:
            self.model = joblib.load(served.model)
            del self.model._predictors[served.rounds:]  # the run predicts by the best round; no public setting says so
        except Exception as problem:  # unpickling raises anything
            raise UserError(f"joblib cannot read {served.model}: {problem!r}.") from problem
        threadpool_limits(served.threads)
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        texts = any(column.dtype == "category" for _, column in served.features.items())
        self.rows = served.features.astype(object).to_numpy() if texts else served.numbers("float64")

    def call(self, batch: int) -> Call:
        return Call("HistGradientBoostingClassifier.predict_proba of an array", "array", self.model.predict_proba,
                    [(self.rows[rows],) for rows in self.served.batches(batch)],
                    lambda found: of_all_classes(found, self.model.classes_, self.served.class_count), native=False)


ENGINES = {"xgboost": XGBoost, "lightgbm": LightGBM, "catboost": CatBoost, "hist-gradient-boosting": HistGradientBoosting}
