#!/usr/bin/env python3
"""Times a library that train.py trained by its fastest public call (calls.py), on rows of the exported test table.

RUN is what train.py wrote, EXPORT_DIR what it was trained on. Prints one JSON object with the keys of `l0gm --json bench latency`: median_us and
p99_us are microseconds per example. Arguments are made ready outside the clock. C functions are called through ctypes, which is part of the times:
call_overhead_us is what such a call takes (a call, not an example) of a function that does nothing; null where the library is called from Python.
Nothing is timed that does not predict what RUN/predictions/test.csv has.
"""

import argparse
import ctypes
import gc
import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pandas as pd

from calls import ENGINES, Call, Served
from files import UserError
from methods import METHODS
from train import read_split, read_table, with_exact_values

FEWEST_ROWS = 2048  # these three as `l0gm bench latency` has them
MOST_BATCH = 1 << 20
SHORTEST_RUN_US = 20.0  # shorter calls are timed several together
TOLERANCE = 1e-6  # from the predictions in RUN


def run_file(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} does not exist; RUN must be a folder that peers/train.py wrote.")
    return path


def read_object(path: Path) -> dict:
    try:
        return dict(json.loads(run_file(path).read_text(encoding="utf-8")))
    except (ValueError, TypeError) as problem:
        raise UserError(f"{path} is not a JSON object: {problem}.") from problem


def kept_predictions(path: Path, rows: pd.Series, classes: list[str]) -> np.ndarray:
    names = [f"p_{name}" for name in classes]
    try:
        cells = pd.read_csv(run_file(path), dtype={"row": str, "label": str}, keep_default_na=False)
        if list(cells.columns) == ["row", "label", *names] and list(cells["row"]) == list(rows):
            return cells[names].to_numpy(dtype=np.float64)
    except ValueError as problem:
        raise UserError(f"{path} is not a table of predictions: {str(problem).strip()}.") from problem
    raise UserError(f"{path} has other rows or classes than EXPORT_DIR; name the folder that the run was trained on.")


def read_served(run: Path, export: Path, rows: int, threads: int) -> Served:
    split, summary, encoding = read_split(export / "split.json"), read_object(run / "summary.json"), read_object(run / "encoding.json")
    method = summary.get("method")
    if method not in ENGINES:
        raise UserError(f"{run} is a run of {method}, which is not timed here; timed are {', '.join(ENGINES)}.")
    if list(encoding.get("categorical", [])) != split["categorical"] or encoding.get("numeric") != split["numeric"]:
        raise UserError(f"{run / 'encoding.json'} has other columns than EXPORT_DIR; name the folder that the run was trained on.")
    table = read_table(export / "test.csv", split, encoding["categorical"], required=False)
    table = with_exact_values(table, {name: np.array(values, dtype=np.float64) for name, values in encoding.get("exact_values", {}).items()})
    kept = kept_predictions(run / "predictions" / "test.csv", table.rows, split["classes"])
    places = np.arange(rows) % len(kept)  # a short file is read again
    features = table.features.iloc[places].reset_index(drop=True)
    return Served(method, run_file(run / ENGINES[method].file), features, kept[places], summary.get("rounds"), threads)


def check(call: Call, served: Served, batch: int) -> None:
    for rows, arguments in zip(served.batches(batch), call.arguments, strict=True):
        found = np.asarray(call.probabilities(call.function(*arguments)), dtype=np.float64).reshape(batch, -1)
        if found.shape[1] == 1:
            found = np.column_stack([1.0 - found, found])
        difference = np.abs(found - served.kept[rows]).max() if found.shape[1] == served.class_count else math.inf
        if not difference <= TOLERANCE:
            raise UserError(f"{call.name} at batch {batch} is {difference:.2g} from the run's predictions/test.csv; at most {TOLERANCE:g} is right. "
                            "Are model, predictions and export of one training, and the library of its version?")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def time_calls(function: Callable, arguments: list[tuple], runs: int, warm_ups: int) -> tuple[float, float, int]:
    """Microseconds of a call, the median and the 99th percentile, and how many calls a run has; as time_calls() in src/serving/latency.cpp."""
    turns = cycle(arguments)

    def spent(calls: int) -> float:
        now = list(islice(turns, calls))
        start = time.perf_counter_ns()
        for these in now:
            function(*these)
        return (time.perf_counter_ns() - start) / 1000

    for _ in range(warm_ups):
        spent(1)
    calls = 1
    while min(spent(calls) for _ in range(3)) < SHORTEST_RUN_US:
        calls *= 2
    together = [spent(calls) / calls for _ in range(runs)]
    single = [spent(1) for _ in range(runs)] if calls > 1 else together
    return percentile(together, 0.5), percentile(single, 0.99), calls


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    served = read_served(arguments.run, arguments.export, max(FEWEST_ROWS, *arguments.batch), arguments.threads)
    engine, results = ENGINES[served.method](served), []
    for batch in arguments.batch:
        call = engine.call(batch)
        check(call, served, batch)
        gc.collect()
        gc.disable()
        median, p99, calls = time_calls(call.function, call.arguments, arguments.runs, arguments.warm_ups)
        empty = ctypes.CDLL(None)["abs"]  # takes its first argument, leaves the others, and does next to nothing
        overhead = time_calls(empty, call.arguments, arguments.runs, arguments.warm_ups)[0] if call.native else None
        gc.enable()
        results.append({"input": call.input, "batch": batch, "median_us": median / batch, "p99_us": p99 / batch, "calls_per_run": calls,
                        "call": call.name, "call_overhead_us": overhead})
        print(f"{served.method}, batch {batch}: {median / batch:.3f} us per example", file=sys.stderr)
    return {"model": str(served.model), "method": served.method, "versions": {name: version(name) for name in METHODS[served.method].packages},
            "columns": served.features.shape[1], "classes": served.class_count, "threads": served.threads,
            "rows_from": str(arguments.export / "test.csv"), "runs": arguments.runs, "warmup": arguments.warm_ups, "results": results}


def number(text: str, least: int = 1, most: int = MOST_BATCH) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}'; wanted a whole number from {least} to {most}")
    return int(text)


def numbers(text: str) -> list[int]:
    return [number(word) for word in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN", help="the run folder that train.py wrote")
    parser.add_argument("export", type=Path, metavar="EXPORT_DIR", help="the exported table that it was trained on")
    parser.add_argument("--batch", type=numbers, default=[1, 1024], metavar="ROWS,...", help="examples per call, default: 1,1024")
    parser.add_argument("--threads", type=partial(number, most=1024), default=1, help="default: 1")
    parser.add_argument("--runs", type=number, default=200, help="timed ones, default: 200")
    parser.add_argument("--warm-ups", type=partial(number, least=0), default=50, help="runs before them, default: 50")
    arguments = parser.parse_args()
    try:
        print(json.dumps(measure(arguments)))
    except UserError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
