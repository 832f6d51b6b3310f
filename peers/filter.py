#!/usr/bin/env python3
"""Ranks the columns of an exported table by their mutual information with the label, one column at a time.

Usage: filter.py EXPORT_DIR [--seed N]. Prints one JSON object: {"ranking": [column, ...], "information": {column: nats}}.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_selection import mutual_info_classif


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    split = json.loads((arguments.export / "split.json").read_text(encoding="utf-8"))
    cells = pd.read_csv(arguments.export / "train.csv", dtype=str, keep_default_na=False)
    columns = [*split["categorical"], *split["numeric"]]
    codes = [pd.factorize(cells[name])[0] for name in split["categorical"]]
    values = [pd.to_numeric(cells[name], errors="coerce").fillna(0.0).to_numpy() for name in split["numeric"]]
    discrete = np.array([True] * len(codes) + [False] * len(values))
    information = mutual_info_classif(np.column_stack(codes + values), cells[split["label"]], discrete_features=discrete,
                                      random_state=arguments.seed)
    order = np.argsort(-information, kind="stable")
    print(json.dumps({"ranking": [columns[i] for i in order],
                      "information": {columns[i]: float(information[i]) for i in order}}))


if __name__ == "__main__":
    main()
