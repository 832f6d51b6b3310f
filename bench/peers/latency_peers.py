"""The peers of bench/latency.py, each through its fastest public call. All but those named `in Python` are called by latency_loop.c."""

import ctypes
import json
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import pandas as pd
from latency_engines import L0GM, Engine, InPython, Native, address, package_file
from latency_models import Rows, one_hot


def saved_predictions(out: Path, name: str) -> np.ndarray:
    return pd.read_csv(out / "peers" / name / "predictions" / "test.csv").iloc[:, -1].to_numpy()


def tree_entry(library: ctypes.CDLL, name: str, *arguments: object) -> None:
    if getattr(library, name)(*arguments) != 0:
        raise RuntimeError(f"{name} failed")


class XGBoost(Native):
    kind, note = "xgboost", "C API XGBoosterPredictFromDense"

    def open(self) -> None:
        super().open()
        self.library = package_file("xgboost", "lib/libxgboost.so")
        self.entries = ctypes.CDLL(str(self.library))

    def load(self) -> None:
        self.booster, self.proxy = c_void_p(), c_void_p()
        tree_entry(self.entries, "XGBoosterCreate", None, c_int64(0), byref(self.booster))
        tree_entry(self.entries, "XGBoosterLoadModel", self.booster, str(self.model).encode())
        tree_entry(self.entries, "XGBoosterSetParam", self.booster, b"nthread", str(self.threads).encode())
        tree_entry(self.entries, "XGProxyDMatrixCreate", byref(self.proxy))
        self.call.function, self.call.handle, self.call.further = address(self.entries.XGBoosterPredictFromDense), self.booster, self.proxy
        self.call.settings = json.dumps({"type": 0, "iteration_begin": 0, "iteration_end": 0, "missing": float("nan"), "strict_shape": False,
                                         "training": False, "cache_id": 0}).encode()

    def prepare(self, batch: int) -> None:
        numbers = self.rows.codes
        self.interfaces = [json.dumps({"data": [numbers.ctypes.data + first * numbers.strides[0], True], "shape": [batch, numbers.shape[1]],
                                       "typestr": "<f8", "version": 3}).encode() for first in self.firsts(batch)]
        self.set_prepared([address(c_char_p(text)) for text in self.interfaces])

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, "xgboost")


class LightGBM(Native):
    kind, note = "lightgbm_rows", "C API LGBM_BoosterPredictForMatSingleRowFast at batch 1, else LGBM_BoosterPredictForMat"

    def open(self) -> None:
        super().open()
        self.library = package_file("lightgbm", "lib/lib_lightgbm.so")
        self.entries = ctypes.CDLL(str(self.library))

    def load(self) -> None:
        self.booster, self.fast, rounds = c_void_p(), c_void_p(), c_int()
        tree_entry(self.entries, "LGBM_BoosterCreateFromModelfile", str(self.model).encode(), byref(rounds), byref(self.booster))
        self.call.settings = f"num_threads={self.threads} predict_disable_shape_check=true".encode()
        tree_entry(self.entries, "LGBM_BoosterPredictForMatSingleRowFastInit", self.booster, c_int(0), c_int(0), c_int(-1), c_int(1),
                   c_int32(self.rows.codes.shape[1]), self.call.settings, byref(self.fast))

    def prepare(self, batch: int) -> None:
        self.set_kind("lightgbm_row" if batch == 1 else "lightgbm_rows")
        self.call.handle = self.fast if batch == 1 else self.booster
        name = "LGBM_BoosterPredictForMatSingleRowFast" if batch == 1 else "LGBM_BoosterPredictForMat"
        self.call.function = address(getattr(self.entries, name))

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, "lightgbm")


class CompiledTrees(Native):
    note = "tl2cgen, gcc -O3; a row at a time, as its code is"

    def __init__(self, *arguments: object, of: str) -> None:
        super().__init__(*arguments)
        self.of, self.kind = of, "compiled_double" if of == "lightgbm" else "compiled_float"  # as wide as the model's thresholds

    def load(self) -> None:
        self.entries = ctypes.CDLL(str(self.model))
        self.call.function = address(self.entries.predict)

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, self.of)


class CatBoostCode(Native):
    kind, note = "catboost_cpp", "CatBoost's export to C++, g++ -O3; categories as texts"

    def open(self) -> None:
        super().open()
        self.set_numbers(self.rows.numbers)
        self.set_cells(self.rows.texts)
        self.call.classes = self.rows.texts.shape[1]

    def load(self) -> None:
        self.entries = ctypes.CDLL(str(self.model))
        self.call.function = address(self.entries.predict_rows)

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, "catboost")


class Onnx(Native):
    kind, boosted, note = "onnx", False, "C API Run; one-hot and standardised floats and the OrtValues are made outside"
    # Places in OrtApi's table of functions, which only grows at its end.
    CREATE_ENV, CREATE_SESSION, RUN, CREATE_OPTIONS, SET_THREADS, TENSOR_WITH_DATA, CPU_MEMORY = 3, 7, 9, 10, 24, 49, 69

    def open(self) -> None:
        super().open()
        self.library = package_file("onnxruntime", "capi/libonnxruntime.so.*")
        entries = ctypes.CDLL(str(self.library))
        entries.OrtGetApiBase.restype = POINTER(c_void_p)
        get_api = ctypes.CFUNCTYPE(POINTER(c_void_p), ctypes.c_uint32)(entries.OrtGetApiBase()[0])
        self.table = get_api(17)
        fitted = np.load(self.out / "mlp.npz")
        self.inputs = one_hot(self.rows, fitted["mean"], fitted["deviation"])

    def ort(self, place: int, *arguments: object) -> None:
        if ctypes.CFUNCTYPE(c_void_p, *[type(argument) if not hasattr(argument, "_obj") else c_void_p for argument in arguments])(
                self.table[place])(*arguments):
            raise RuntimeError(f"{self.name}: OrtApi function {place} failed")

    def load(self) -> None:
        self.environment, self.options, self.session, self.memory = c_void_p(), c_void_p(), c_void_p(), c_void_p()
        self.ort(self.CREATE_ENV, c_int(3), c_char_p(b"latency"), byref(self.environment))
        self.ort(self.CREATE_OPTIONS, byref(self.options))
        self.ort(self.SET_THREADS, self.options, c_int(self.threads))
        self.ort(self.CREATE_SESSION, self.environment, c_char_p(str(self.model).encode()), self.options, byref(self.session))
        self.ort(self.CPU_MEMORY, c_int(1), c_int(0), byref(self.memory))
        self.call.function, self.call.handle = self.table[self.RUN], self.session

    def tensor(self, where: int, rows: int, columns: int) -> int:
        value, shape = c_void_p(), (c_int64 * 2)(rows, columns)
        self.ort(self.TENSOR_WITH_DATA, self.memory, c_void_p(where), c_size_t(4 * rows * columns), c_void_p(ctypes.addressof(shape)), c_size_t(2),
                 c_int(1), byref(value))
        return value.value

    def prepare(self, batch: int) -> None:
        step, width = self.inputs.strides[0], self.inputs.shape[1]
        self.set_prepared([self.tensor(self.inputs.ctypes.data + first * step, batch, width) for first in self.firsts(batch)])
        self.call.further = self.tensor(self.output.ctypes.data, batch, 1)

    def reference(self) -> np.ndarray:
        return np.load(self.out / "mlp.npz")["probabilities"]


class XGBoostInPython(InPython):
    note = "Booster.inplace_predict"

    def open(self) -> None:
        import xgboost

        self.package, self.library = xgboost, package_file("xgboost", "lib/libxgboost.so")

    def load(self) -> None:
        self.booster = self.package.Booster({"nthread": self.threads}, model_file=self.model)
        numbers, predict = self.rows.codes, self.booster.inplace_predict
        self.predictions = lambda first, batch: predict(numbers[first:first + batch], validate_features=False)

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, "xgboost")


class CatBoost(InPython):
    """Its evaluator: the wheel exports no C functions, so the call is Python's."""

    def __init__(self, *arguments: object, exact: bool, pools: bool) -> None:
        super().__init__(*arguments)
        self.exact, self.pools = exact, pools
        self.note = "CatBoost.predict of a Pool made outside: evaluation alone" if pools else "CatBoost.predict of an array of objects"

    def open(self) -> None:
        import catboost

        self.package, self.library = catboost, package_file("catboost", "_catboost.so")
        width = self.rows.texts.shape[1]
        texts, numbers = self.rows.exact_texts if self.exact else self.rows.texts, self.rows.numbers.astype(object)
        self.objects = np.column_stack([texts[:, :width], numbers, texts[:, width:]])
        self.categorical = [*range(width), *range(width + numbers.shape[1], self.objects.shape[1])]

    def load(self) -> None:
        self.booster = self.package.CatBoost().load_model(str(self.model))

    def input(self, objects: np.ndarray) -> object:
        if not self.pools:
            return objects
        return self.package.Pool(objects, cat_features=self.categorical, feature_names=self.booster.feature_names_)

    def prepare(self, batch: int) -> None:
        self.inputs = {first: self.input(self.objects[first:first + batch]) for first in self.firsts(batch)}

    def predictions(self, first: int, batch: int) -> np.ndarray:
        return self.booster.predict(self.inputs[first], prediction_type="Probability", thread_count=self.threads)[:, 1]

    def reference(self) -> np.ndarray:
        return saved_predictions(self.out, "catboost-exact" if self.exact else "catboost")


def engines(rows: Rows, out: Path, threads: int, ours: dict[str, Path], program: Path) -> list[Engine]:
    peers, compiled, common = out / "peers", out / "compiled", (rows, out, threads)
    found: list[Engine] = []
    for name, path in ours.items():
        found += [L0GM(f"L0GM {name}, numbers", *common, path, text=False, program=program),
                  L0GM(f"L0GM {name}, text", *common, path, text=True, program=program)]
    for of, label in (("xgboost", "XGBoost"), ("lightgbm", "LightGBM")):
        found += [CompiledTrees(f"compiled {label}", *common, compiled / f"{of}-plain.so", of=of),
                  CompiledTrees(f"compiled {label}, quantised", *common, compiled / f"{of}-quantised.so", of=of)]
    catboost, exact = peers / "catboost" / "model.cbm", peers / "catboost-exact" / "model.cbm"
    found += [XGBoost("XGBoost", *common, peers / "xgboost" / "model.ubj"),
              XGBoostInPython("XGBoost in Python", *common, peers / "xgboost" / "model.ubj"),
              LightGBM("LightGBM", *common, peers / "lightgbm" / "model.txt"),
              CatBoost("CatBoost in Python, Pool", *common, catboost, exact=False, pools=True),
              CatBoost("CatBoost in Python, raw rows", *common, catboost, exact=False, pools=False),
              CatBoost("CatBoost with exact values in Python, Pool", *common, exact, exact=True, pools=True),
              CatBoostCode("CatBoost as C++", *common, compiled / "catboost.so"),
              Onnx("ONNX Runtime, MLP 2x256", *common, out / "mlp.onnx")]
    return found
