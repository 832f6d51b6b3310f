#!/usr/bin/env python3
"""Chooses columns of an exported table as people choose them, or judges choices by LightGBM trained on those columns alone.

Usage: columns.py choose EXPORT_DIR [--sizes 2,4,6,8] [--seed 0] [--threads 1]     prints {"method": {"size": [column, ...]}}
       columns.py judge EXPORT_DIR --sets SETS.json [--seed 0] [--threads 1]       SETS: [[column, ...], ...]; prints [{"nll", "auc"}, ...]
       columns.py judge EXPORT_DIR --columns '[column, ...]'                       the same for one set; prints {"nll", "auc"}
Choices read training rows, those that a model makes also validation rows (early stopping; loss without a column); judging reads test rows.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

from methods import Table, Task, train_lightgbm
from train import read_split, read_table

MOST_ROWS = 10_000       # that a selector reads; the judge reads all
MOST_ELIMINATED = 24     # columns that backward elimination starts from, by gain: beyond, it would take hours
BINS = 10


def load(export: Path) -> tuple[dict, list[str], dict[str, Table]]:
    split = read_split(export / "split.json")
    vocabularies: dict[str, list[str]] = {}
    tables = {name: read_table(export / f"{name}.csv", split, vocabularies, required=True) for name in ("train", "valid", "test")}
    return split, [*split["categorical"], *split["numeric"]], tables


def some(table: Table, most: int, seed: int) -> Table:
    if len(table.rows) <= most:
        return table
    rows = np.sort(np.random.default_rng(seed).choice(len(table.rows), most, replace=False))
    return Table(table.rows.iloc[rows], table.labels[rows], table.features.iloc[rows].reset_index(drop=True))


def only(table: Table, names: list[str]) -> Table:
    return Table(table.rows, table.labels, table.features[names])


def log_loss(labels: np.ndarray, probabilities: np.ndarray) -> float:
    if probabilities.ndim == 1:
        probabilities = np.column_stack([1 - probabilities, probabilities])
    return float(-np.log(np.clip(probabilities[np.arange(len(labels)), labels], 1e-15, None)).mean())


def codes_of(column: pd.Series) -> np.ndarray:
    """Categories as they are, numbers in ranges of equally many rows, missing as a value of its own."""
    if column.dtype == "category":
        return column.cat.codes.to_numpy() + 1
    return pd.qcut(column, BINS, labels=False, duplicates="drop").fillna(-1).astype(int).to_numpy() + 1


def by_mutual_information(train: Table, seed: int) -> dict[str, float]:
    from sklearn.feature_selection import mutual_info_classif

    discrete = np.array([name in train.categorical for name in train.features])
    values = np.column_stack([train.features[name].cat.codes if name in train.categorical else train.features[name].fillna(train.features[name].median())
                              for name in train.features])
    return dict(zip(train.features, mutual_info_classif(np.nan_to_num(values), train.labels, discrete_features=discrete, random_state=seed)))


def by_chi2(train: Table) -> dict[str, float]:
    """Chi-squared of the column's values and the classes, in deviations above what independence gives."""
    from scipy.stats import chi2_contingency

    found = {}
    for name in train.features:
        counts = pd.crosstab(codes_of(train.features[name]), train.labels).to_numpy()
        statistic, _, freedom, _ = chi2_contingency(counts) if min(counts.shape) > 1 else (0, 1, 1, None)
        found[name] = (statistic - freedom) / np.sqrt(2 * freedom)
    return found


def by_l1(train: Table, seed: int) -> dict[str, float]:
    """A column counts by how strong the penalty is at which logistic regression first uses it."""
    from sklearn.linear_model import LogisticRegression

    blocks, owners = [], []
    for name in train.features:
        column = train.features[name]
        if name in train.categorical:
            kept = column.value_counts().index[:30]
            block = np.column_stack([np.zeros(len(column)), *((column == value).to_numpy(dtype=float) for value in kept)])
        else:
            block = column.fillna(column.median()).to_numpy(dtype=float)[:, None]
            block = np.nan_to_num((block - block.mean()) / (block.std() or 1))
        blocks.append(block)
        owners += [name] * block.shape[1]
    inputs, owners = np.column_stack(blocks), np.array(owners)
    model = LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=100, tol=1e-2, warm_start=True, random_state=seed)
    found = dict.fromkeys(train.features, 0.0)
    for step, strength in enumerate(np.logspace(-3.5, 1, 14)):
        model.set_params(C=strength).fit(inputs, train.labels)
        size = np.abs(model.coef_).max(axis=0)
        for name in found:
            if found[name] == 0 and (largest := float(size[owners == name].max())) > 0:
                found[name] = 100 - step + largest / (1 + largest)
    return found


def fit(train: Table, valid: Table, classes: int, seed: int, threads: int):
    return train_lightgbm(Task(train, valid, classes, seed, threads))


def quick_loss(train: Table, valid: Table, classes: int, seed: int, threads: int) -> float:
    """The validation loss of a small LightGBM, for elimination, which asks hundreds of times."""
    import lightgbm

    parameters = {"objective": "binary" if classes == 2 else "multiclass", "learning_rate": 0.15, "num_leaves": 31, "seed": seed,
                  "num_threads": threads, "verbosity": -1, **({"num_class": classes} if classes > 2 else {})}
    data = lightgbm.Dataset(train.features, label=train.labels)
    booster = lightgbm.train(parameters, data, 200, valid_sets=[lightgbm.Dataset(valid.features, label=valid.labels, reference=data)],
                             callbacks=[lightgbm.early_stopping(10, verbose=False)])
    return log_loss(valid.labels, booster.predict(valid.features, num_iteration=booster.best_iteration))


def by_elimination(train: Table, valid: Table, classes: int, start: list[str], least: int, seed: int, threads: int) -> list[str]:
    """All of `start`, the most important first: the reverse of the order in which columns were dropped."""
    left, dropped = list(start), []
    while len(left) > least:
        losses = {name: quick_loss(only(train, [n for n in left if n != name]), only(valid, [n for n in left if n != name]), classes, seed, threads)
                  for name in left}
        dropped.append(min(losses, key=losses.get))
        left.remove(dropped[-1])
    return left + dropped[::-1]


def choose(export: Path, sizes: list[int], seed: int, threads: int) -> dict[str, dict[str, list[str]]]:
    split, columns, tables = load(export)
    classes = len(split["classes"])
    train, valid = some(tables["train"], MOST_ROWS, seed), some(tables["valid"], MOST_ROWS, seed)
    full = fit(tables["train"], tables["valid"], classes, seed, threads)
    names = list(train.features)
    generator = np.random.default_rng(seed)
    as_is = log_loss(valid.labels, full.predict(valid.features))

    def shuffled(name: str) -> float:
        losses = []
        for _ in range(3):
            cells = valid.features[name].iloc[generator.permutation(len(valid.features))].reset_index(drop=True)
            losses.append(log_loss(valid.labels, full.predict(valid.features.reset_index(drop=True).assign(**{name: cells}))))
        return float(np.mean(losses)) - as_is

    gain = dict(zip(names, full.gain))
    by_gain = sorted(names, key=lambda name: -gain[name])
    scores = {"mutual information": by_mutual_information(train, seed), "chi2": by_chi2(train), "L1": by_l1(train, seed), "tree gain": gain,
              "permutation": {name: shuffled(name) for name in names}, "chance": dict(zip(names, generator.random(len(names))))}
    rankings = {method: sorted(names, key=lambda name: -of_method[name]) for method, of_method in scores.items()}
    rankings["elimination"] = by_elimination(train, valid, classes, by_gain[:MOST_ELIMINATED], min(sizes), seed, threads)
    return {method: {str(size): [columns[int(name[1:])] for name in ranking[:size]] for size in sizes} for method, ranking in rankings.items()}


def judge(export: Path, sets: list[list[str]], seed: int, threads: int) -> list[dict[str, float | None]]:
    from sklearn.metrics import roc_auc_score

    split, columns, tables = load(export)
    names = {column: f"f{place}" for place, column in enumerate(columns)}
    results = []
    for chosen in sets:
        kept = [names[column] for column in chosen]
        train, valid, test = (only(tables[name], kept) for name in ("train", "valid", "test"))
        found = fit(train, valid, len(split["classes"]), seed, threads).predict(test.features)
        auc = float(roc_auc_score(test.labels, found)) if found.ndim == 1 else None
        results.append({"nll": log_loss(test.labels, found), "auc": auc})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("choose", "judge"))
    parser.add_argument("export", type=Path)
    parser.add_argument("--sizes", default="2,4,6,8")
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--columns", help="in place of --sets: one set, [column, ...]; prints its object alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.verb == "choose":
        result = choose(arguments.export, [int(size) for size in arguments.sizes.split(",")], arguments.seed, arguments.threads)
    elif arguments.columns:
        result = judge(arguments.export, [json.loads(arguments.columns)], arguments.seed, arguments.threads)[0]
    else:
        result = judge(arguments.export, json.loads(arguments.sets.read_text()), arguments.seed, arguments.threads)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
