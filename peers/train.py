#!/usr/bin/env python3
"""Trains a library that we compare with (methods.py) on an exported table and hands its predictions back as a run folder.

EXPORT_DIR holds train.csv, valid.csv and test.csv (first column `row`) and split.json, which names the label column, its classes, the
categorical and the numeric columns. Any further *.csv there is predicted as well, and so are the perturbed copies of the test table that
perturbed.json names (`l0gm data export --perturb`).
RUN gets predictions/<table>.csv (`row,label,p_<class>...`) for every table but train, predictions/test-<condition>.csv for the perturbed
copies with perturbed.json beside, the model in the library's own format, encoding.json (how its input is made from a table's cells) and
summary.json; `l0gm eval RUN` judges it, `l0gm eval RUN --perturb` with the copies.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from files import UserError, write_atomically
from methods import METHODS, PATIENCE, Table, Task, Trained

# An integer column with more distinct values than this share of the rows is an identifier or a weight: as categories it is only noise.
MOST_DISTINCT_SHARE = 0.1


def read_split(path: Path) -> dict[str, object]:
    if not path.is_file():
        raise UserError(f"{path} does not exist; EXPORT_DIR must be a folder with split.json, train.csv, valid.csv and test.csv.")
    try:
        split = json.loads(path.read_text(encoding="utf-8"))
        missing_keys = [key for key in ("label", "classes", "categorical", "numeric") if key not in split]
    except (ValueError, TypeError) as problem:
        raise UserError(f"{path} is not a JSON object: {problem}.") from problem
    if missing_keys:
        raise UserError(f"{path} lacks {', '.join(missing_keys)}; wanted: label, classes, categorical, numeric.")
    for key in ("classes", "categorical", "numeric"):
        if not isinstance(split[key], list) or not all(isinstance(name, str) for name in split[key]):
            raise UserError(f"{path}: '{key}' is {json.dumps(split[key])}; wanted a list of texts.")
    if len(split["classes"]) < 2:
        raise UserError(f"{path} names the classes {split['classes']}; wanted at least two.")
    return split


def read_perturbed(export: Path) -> dict[str, Path]:
    """The perturbed copies of the test table by condition; their bytes must be those that the export wrote."""
    record = export / "perturbed.json"
    if not record.is_file():
        return {}
    try:
        conditions = json.loads(record.read_text(encoding="utf-8"))["conditions"]
        copies = {name: (export / condition["file"], condition["sha256"]) for name, condition in conditions.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise UserError(f"{record} is damaged ({problem!r}); wanted conditions, each with file and sha256. Export again.") from problem
    for path, sha256 in copies.values():
        if not path.is_file():
            raise UserError(f"{path} does not exist though {record} names it. Export again.")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise UserError(f"{path} has the SHA-256 {found}, but {record} says {sha256}. Export again.")
    return {name: path for name, (path, _) in copies.items()}


def numbers(cells: pd.Series, path: Path, name: str) -> pd.Series:
    values = pd.to_numeric(cells, errors="coerce").astype("float64")
    wrong = cells.notna() & ~np.isfinite(values)
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0])
        raise UserError(f"{path}:{line + 2}: column '{name}' is numeric but holds '{cells.iloc[line]}'. "
                        "List the column as categorical in split.json or mend the value.")
    return values


def label_codes(cells: pd.Series, path: Path, classes: list[str], required: bool) -> np.ndarray:
    codes = cells.map({name: index for index, name in enumerate(classes)}).fillna(-1).to_numpy(dtype=np.int64)
    wrong = (codes < 0) & (required | (cells != "").to_numpy())
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0])
        raise UserError(f"{path}:{line + 2}: the label is '{cells.iloc[line]}'; split.json has the classes {', '.join(classes)}.")
    return codes


def read_table(path: Path, split: dict, vocabularies: dict[str, list[str]], required: bool) -> Table:
    """Reads a table; a categorical column without a vocabulary yet (the training table's) gets one, unseen values become missing."""
    if not path.is_file():
        raise UserError(f"{path} does not exist; EXPORT_DIR must have split.json, train.csv, valid.csv and test.csv.")
    try:
        cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as problem:  # also what pandas raises for an empty file and for rows of the wrong length
        raise UserError(f"{path} is not a table of comma-separated values: {str(problem).strip()}.") from problem
    absent = [name for name in ["row", split["label"], *split["categorical"], *split["numeric"]] if name not in cells.columns]
    if absent:
        raise UserError(f"{path} lacks the columns {', '.join(absent)} that split.json names; it has: {', '.join(cells.columns)}.")
    if cells.empty:
        raise UserError(f"{path} has no rows.")
    marks = split.get("missing", ["", "?"])
    features: dict[str, pd.Series] = {}
    for name in [*split["categorical"], *split["numeric"]]:
        column = cells[name].str.strip()
        column = column.where(~column.isin(marks), None)
        if name in split["numeric"]:
            features[name] = numbers(column, path, name)
            continue
        vocabulary = vocabularies.setdefault(name, sorted(column.dropna().unique()))
        features[name] = pd.Series(pd.Categorical(column.where(column.isin(vocabulary), None), categories=vocabulary))
    renamed = {f"f{index}": column for index, column in enumerate(features.values())}
    labels = label_codes(cells[split["label"]].str.strip(), path, split["classes"], required)
    return Table(cells["row"], labels, pd.DataFrame(renamed))


def whole_number_columns(train: Table) -> list[str]:
    def holds(column: pd.Series) -> bool:
        values = column.dropna()
        return bool(len(values)) and bool((values == values.round()).all()) and values.nunique() <= MOST_DISTINCT_SHARE * len(values)

    return [name for name in train.features if name not in train.categorical and holds(train.features[name])]


def with_exact_values(table: Table, vocabularies: dict[str, np.ndarray]) -> Table:
    copies = {}
    for name, values in vocabularies.items():
        column = table.features[name].where(table.features[name].isin(values))
        codes = pd.Categorical(column, categories=values)
        copies[f"{name}_exact"] = pd.Series(codes.rename_categories([str(int(value)) for value in values]))
    return Table(table.rows, table.labels, table.features.assign(**copies))


def write_predictions(path: Path, table: Table, classes: list[str], probabilities: np.ndarray) -> None:
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim == 1:
        probabilities = np.column_stack([1.0 - probabilities, probabilities])
    labels = [classes[code] if code >= 0 else "" for code in table.labels]
    columns = {f"p_{name}": probabilities[:, index] for index, name in enumerate(classes)}
    write_atomically(path, pd.DataFrame({"row": table.rows, "label": labels, **columns}).to_csv(index=False))


def write_model(out: Path, trained: Trained, split: dict, vocabularies: dict[str, list[str]], exact: dict[str, np.ndarray]) -> None:
    """The model, and in what order and with which codes (a category's place in its vocabulary) it reads a table's columns."""
    trained.save(out)
    encoding = {"categorical": {name: vocabularies[name] for name in split["categorical"]}, "numeric": split["numeric"],
                "exact_values": {name: [int(value) for value in values] for name, values in exact.items()}}
    write_atomically(out / "encoding.json", json.dumps(encoding, indent=1) + "\n")


def read_settings(words: list[str]) -> dict[str, object]:
    settings: dict[str, object] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise UserError(f"--set is '{word}'; wanted key=value, such as learning_rate=0.1.")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value  # text
    return settings


def run(arguments: argparse.Namespace) -> None:
    if (arguments.out / "config.toml").exists():
        raise UserError(f"{arguments.out} is the run of a model of ours; give --out a folder of its own.")
    export: Path = arguments.export
    split = read_split(export / "split.json")
    classes: list[str] = split["classes"]
    vocabularies: dict[str, list[str]] = {}
    perturbed = read_perturbed(export)
    train = read_table(export / "train.csv", split, vocabularies, required=True)
    names = sorted({"valid", "test"} | {path.stem for path in export.glob("*.csv")} - {"train"})
    tables = {name: read_table(export / f"{name}.csv", split, vocabularies, required=name == "valid") for name in names}
    if len(np.unique(train.labels)) < 2:
        raise UserError(f"{export / 'train.csv'} holds one class only; training wants at least two.")
    exact: dict[str, np.ndarray] = {}
    if arguments.exact_values:
        exact = {name: np.sort(train.features[name].dropna().unique()) for name in whole_number_columns(train)}
        train = with_exact_values(train, exact)
        tables = {name: with_exact_values(table, exact) for name, table in tables.items()}
    (arguments.out / "perturbed.json").unlink(missing_ok=True)  # of an earlier run: its predictions are not this model's

    settings = read_settings(arguments.set)
    start = time.perf_counter()
    trained = METHODS[arguments.method].train(Task(train, tables["valid"], len(classes), arguments.seed, arguments.threads, settings))
    seconds = time.perf_counter() - start
    for name, table in tables.items():
        write_predictions(arguments.out / "predictions" / f"{name}.csv", table, classes, trained.predict(table.features))
    for condition, path in perturbed.items():
        table = with_exact_values(read_table(path, split, vocabularies, required=False), exact)
        write_predictions(arguments.out / "predictions" / f"test-{condition}.csv", table, classes, trained.predict(table.features))
    if perturbed:
        write_atomically(arguments.out / "perturbed.json", (export / "perturbed.json").read_text(encoding="utf-8"))
    write_model(arguments.out, trained, split, vocabularies, exact)
    all_names = [*split["categorical"], *split["numeric"]]
    versions = {name: version(name) for name in (*METHODS[arguments.method].packages, "numpy", "pandas")}
    summary = {"method": arguments.method, "versions": {**versions, "python": sys.version.split()[0]}, "train_seconds": seconds,
               "train_rows": len(train.rows), "rounds": trained.rounds, "patience": PATIENCE, "parameters": trained.parameters,
               "exact_values": [all_names[int(name[1:])] for name in exact], "seed": arguments.seed, "threads": arguments.threads}
    write_atomically(arguments.out / "summary.json", json.dumps(summary, indent=2) + "\n")
    print(f"{arguments.method}: {trained.rounds or 'all'} rounds in {seconds:.1f} s; predictions in {arguments.out}", file=sys.stderr)
    print(json.dumps(summary))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("export", type=Path, metavar="EXPORT_DIR", help="the exported table and its split")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="RUN", help="the run folder to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores this process may use")
    parser.add_argument("--exact-values", action="store_true", help="add categorical copies of the whole-number columns")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the library, by its own name; may be repeated")
    arguments = parser.parse_args()
    try:
        run(arguments)
    except UserError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
