"""What bench/latency.py measures, made once and kept: Adult's rows, the peers' trained models, their trees as C code, a plain network."""

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
ADULT = ROOT / "examples" / "adult" / "adult.toml"
MODELS = {"xgboost": ("xgboost", "model.ubj", []), "lightgbm": ("lightgbm", "model.txt", []), "catboost": ("catboost", "model.cbm", []),
          "catboost-exact": ("catboost", "model.cbm", ["--exact-values"])}
HIDDEN = (256, 256)  # of the plain network

# The function that exported CatBoost code is called through; it reuses the vectors that the exported function wants.
CATBOOST_CALL = """
#include <cmath>
extern "C" void predict_rows(const double* numbers, const char* const* texts, size_t rows, double* out) {
  const size_t numeric = %(numeric)d, categorical = %(categorical)d;
  std::vector<float> values(numeric);
  std::vector<std::string> categories(categorical);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < numeric; ++i) values[i] = static_cast<float>(numbers[row * numeric + i]);
    for (size_t i = 0; i < categorical; ++i) categories[i] = texts[row * categorical + i];
    out[row] = 1 / (1 + std::exp(-ApplyCatboostModel(values, categories)));
  }
}
"""


def run(words: list[object], **settings: object) -> None:
    print(" ".join(str(word) for word in words), file=sys.stderr)
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr, **settings)


def make_export(program: Path, out: Path) -> Path:
    """The rows of the tables' results: openml, split 0."""
    export = out / "export"
    if not (export / "test.csv").exists():
        run([program, "--quiet", "data", "export", ADULT, "--out", export, "--set", "data.protocol=openml", "--set", "train.seed=0"])
    return export


def train_peers(export: Path, out: Path, names: tuple[str, ...] = tuple(MODELS)) -> None:
    for name, (method, file, flags) in ((name, MODELS[name]) for name in names):
        if not (out / "peers" / name / file).exists():
            run(["nice", "-n", "10", sys.executable, ROOT / "peers" / "train.py", method, export, "--out", out / "peers" / name, "--seed", "0",
                 "--threads", "2", *flags])


@dataclass
class Rows:
    """The test file in every form that an engine reads."""
    columns: list[str]        # of the file, in its order; without row number and label
    cells: np.ndarray         # texts [rows, columns], as they stand in the file
    labels: np.ndarray        # 0 or 1
    categorical: dict[str, list[str]]  # the peers' vocabularies, in their order of columns
    numeric: list[str]
    codes: np.ndarray         # float64 [rows, categorical then numeric]: a category's place in its vocabulary, NaN where missing
    texts: np.ndarray         # trimmed texts of the categorical columns, "" where missing or unseen: what CatBoost was trained on
    numbers: np.ndarray       # float64 [rows, numeric]
    exact_texts: np.ndarray   # the same with the categorical copies of whole numbers behind

    def __len__(self) -> int:
        return len(self.labels)


def read_rows(export: Path, out: Path, table: str = "test") -> Rows:
    split = json.loads((export / "split.json").read_text())
    encoding = json.loads((out / "peers" / "catboost-exact" / "encoding.json").read_text())
    file = pd.read_csv(export / f"{table}.csv", dtype=str, keep_default_na=False)
    columns = [name for name in file.columns if name not in ("row", split["label"])]
    trimmed = file[columns].apply(lambda column: column.str.strip())
    trimmed = trimmed.where(~trimmed.isin(split["missing"]))
    codes, texts, exact = [], [], []
    for name, vocabulary in encoding["categorical"].items():
        place = {text: index for index, text in enumerate(vocabulary)}
        codes.append(trimmed[name].map(place).to_numpy(dtype=np.float64))
        texts.append(trimmed[name].where(trimmed[name].isin(vocabulary), "").to_numpy(dtype=object))
    numbers = {name: pd.to_numeric(trimmed[name]).to_numpy(dtype=np.float64) for name in encoding["numeric"]}
    for name, values in encoding["exact_values"].items():
        column = numbers[encoding["numeric"][int(name[1:]) - len(encoding["categorical"])]]
        known = set(values)
        exact.append(np.array([str(int(value)) if not math.isnan(value) and value in known else "" for value in column], dtype=object))
    labels = (file[split["label"]].str.strip() == split["classes"][1]).to_numpy().astype(np.int64)
    values = np.column_stack(list(numbers.values()))
    return Rows(columns, file[columns].to_numpy(dtype=object), labels, encoding["categorical"], encoding["numeric"],
                np.ascontiguousarray(np.column_stack([*codes, values])), np.column_stack(texts), np.ascontiguousarray(values),
                np.column_stack([*texts, *exact]))


def compile_trees(out: Path, names: tuple[str, ...] = ("xgboost", "lightgbm")) -> None:
    """tl2cgen's C code of the two models it can read, with gcc -O3; `quantise`: thresholds as whole numbers, tl2cgen's own option."""
    import tl2cgen
    import treelite

    readers = {"xgboost": lambda path: treelite.frontend.load_xgboost_model(path, format_choice="ubjson"),
               "lightgbm": treelite.frontend.load_lightgbm_model}
    for name, read in ((name, readers[name]) for name in names):
        for kind, quantise in (("plain", 0), ("quantised", 1)):
            folder, library = out / "compiled" / f"{name}-{kind}", out / "compiled" / f"{name}-{kind}.so"
            if library.exists():
                continue
            tl2cgen.generate_c_code(read(out / "peers" / name / MODELS[name][1]), folder, params={"quantize": quantise, "parallel_comp": 4})
            run(["nice", "-n", "10", "gcc", "-O3", "-shared", "-fPIC", *sorted(folder.glob("*.c")), "-o", library, "-lm"])


def compile_catboost(out: Path, export: Path) -> None:
    """CatBoost's own export to C++. It takes minutes to compile; the model with exact values is four times as long and is left out."""
    library = out / "compiled" / "catboost.so"
    if library.exists():
        return
    import catboost

    train = read_rows(export, out, "train")
    pool = catboost.Pool(np.column_stack([train.texts, train.numbers.astype(object)]), train.labels, cat_features=list(range(train.texts.shape[1])),
                         feature_names=[f"f{index}" for index in range(train.codes.shape[1])])
    model, source = catboost.CatBoost().load_model(str(out / "peers" / "catboost" / "model.cbm")), library.with_suffix(".cpp")
    library.parent.mkdir(exist_ok=True)
    model.save_model(str(source), format="cpp", pool=pool)
    source.write_text(source.read_text() + CATBOOST_CALL % {"numeric": len(train.numeric), "categorical": len(train.categorical)})
    run(["nice", "-n", "10", "g++", "-O3", "-std=c++17", "-shared", "-fPIC", source, "-o", library])


def one_hot(rows: Rows, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    parts = [(rows.codes[:, [place]] == np.arange(len(vocabulary))).astype(np.float32) for place, vocabulary in enumerate(rows.categorical.values())]
    return np.ascontiguousarray(np.column_stack([*parts, ((rows.numbers - mean) / deviation).astype(np.float32)]), dtype=np.float32)


def train_network(out: Path, export: Path) -> None:
    """One-hot categories and standardised numbers -> 256 -> 256 -> 1, by scikit-learn; written as ONNX by hand."""
    if (out / "mlp.onnx").exists():
        return
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from sklearn.neural_network import MLPClassifier

    train, test = read_rows(export, out, "train"), read_rows(export, out)
    mean, deviation = train.numbers.mean(axis=0), train.numbers.std(axis=0)
    inputs = one_hot(train, mean, deviation)
    network = MLPClassifier(HIDDEN, batch_size=512, max_iter=6, random_state=0)  # six epochs: more would only overfit
    network.fit(inputs, train.labels)
    nodes, constants, value = [], [], "input"
    for layer, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_)):
        constants += [numpy_helper.from_array(weights.astype(np.float32), f"w{layer}"), numpy_helper.from_array(bias.astype(np.float32), f"b{layer}")]
        nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], [f"z{layer}"]))
        last = layer + 1 == len(network.coefs_)
        value = "output" if last else f"h{layer}"
        nodes.append(helper.make_node("Sigmoid" if last else "Relu", [f"z{layer}"], [value]))
    shapes = (helper.make_tensor_value_info("input", TensorProto.FLOAT, ["rows", inputs.shape[1]]),
              helper.make_tensor_value_info("output", TensorProto.FLOAT, ["rows", 1]))
    graph = helper.make_graph(nodes, "mlp", [shapes[0]], [shapes[1]], constants)
    np.savez(out / "mlp.npz", mean=mean, deviation=deviation, probabilities=network.predict_proba(one_hot(test, mean, deviation))[:, 1])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), out / "mlp.onnx")


def compile_loop(out: Path) -> Path:
    source, library = ROOT / "bench" / "peers" / "latency_loop.c", out / "latency_loop.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        run(["gcc", "-O2", "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", source, "-o", library, "-lpthread"])
    return library


def make_all(program: Path, out: Path) -> Path:
    os.makedirs(out, exist_ok=True)
    export = make_export(program, out)
    train_peers(export, out)
    compile_trees(out)
    compile_catboost(out, export)
    train_network(out, export)
    compile_loop(out)
    return export
