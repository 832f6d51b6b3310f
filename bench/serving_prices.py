#!/usr/bin/env python3
"""Fits the prices of gate.cost = serving (ServingPrices in src/encoders/table/serving_costs.h) to times of this machine.

Usage: bench/serving_prices.py [--rounds 7] [--l0gm build/release/l0gm] [--out runs/serving-prices]
Trains small dense models of made tables for one epoch each (a model's time does not depend on what it learned), compacts them, times each with
`l0gm bench latency` (one thread, rows of numbers, batch 1,024), in turn and several rounds, and fits nanoseconds per part by least squares of relative errors,
none below 0. Needs peers/setup (numpy, scipy).
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from program import PEERS, ROOT, assignments, table

PRICES = ["row", "code", "number", "cut", "look_up", "add", "product", "pair"]
ROWS_OF_A_NUMBER = 1.5
BATCH = 1024


def design(categories: int, numbers: int, integers: int, **settings: object) -> dict:
    return {"categories": categories, "numbers": numbers, "integers": integers, "settings": settings}


NARROW = {"model.name": "wide-deep", "model.hidden": 31, "model.depth": 1}
PAIRS, RANGES = {"table.statistics": "pairs"}, {"table.statistics": "auto"}
DESIGNS = [design(categories, 0, 0, **NARROW) for categories in (2, 12, 48)] + \
          [design(1, numbers, 0, **NARROW) for numbers in (2, 12, 48)] + [design(1, 0, 24, **NARROW)] + \
          [design(categories, 0, 0, **{**NARROW, **PAIRS}) for categories in (4, 8, 14)] + \
          [design(2, 6, 0, **{**NARROW, **RANGES, "table.max_statistics": most}) for most in (8, 40, 100)] + \
          [design(8, 4, 4, **{**NARROW, "model.hidden": hidden}) for hidden in (15, 63, 127, 255)] + \
          [design(8, 4, 4, **{**NARROW, **PAIRS, "model.hidden": 255})] + \
          [design(8, 4, 4, **{**NARROW, "model.hidden": hidden, "model.depth": 2}) for hidden in (64, 128, 256)] + \
          [design(categories, 0, 0, **{**NARROW, "model.name": "deepfm"}) for categories in (8, 24)]


def write_table(path: Path, of: dict, rows: int = 4000) -> None:
    """Every column tells a little of the label, so that statistics are worth having."""
    draw = random.Random(0)
    names = [f"c{i}" for i in range(of["categories"])] + [f"x{i}" for i in range(of["numbers"])] + [f"n{i}" for i in range(of["integers"])]
    lines = [",".join([*names, "label"])]
    for _ in range(rows):
        codes = [draw.randrange(20) for _ in range(of["categories"])]
        reals = [draw.random() for _ in range(of["numbers"])]
        whole = [draw.randrange(60) for _ in range(of["integers"])]
        score = sum(code % 5 - 2 for code in codes) + 6 * sum(value - 0.5 for value in reals) + sum(value / 20 - 1.5 for value in whole)
        cells = [f"value{code}" for code in codes] + [f"{value:.6f}" for value in reals] + [str(value) for value in whole]
        lines.append(",".join([*cells, "yes" if score + draw.gauss(0, 3) > 0 else "no"]))
    path.write_text("\n".join(lines) + "\n")


def features(run: Path, settings: dict) -> list[float]:
    """How much of each price a dense run of one member and two classes pays: what serving_costs() counts."""
    schema = json.loads((run / "schema.json").read_text())["schema"]
    fields = schema["fields"]
    numeric = [column["type"] == "numeric" for column in schema["columns"]]
    embedded = [field for field in fields if field["kind"] != "statistic"]
    apart = [s for s, of in enumerate(schema["statistics"]) if "first_cut" in of or any(key.startswith("second") for key in of)]
    read_apart = sum(field["kind"] == "statistic" and field["statistic"] in apart for field in fields)
    hidden, depth, width = (int(settings[key]) for key in ("model.hidden", "model.depth", "model.width"))
    added = sum(ROWS_OF_A_NUMBER if is_number else 1 for is_number in numeric) + read_apart
    pairs = len(embedded) * (len(embedded) - 1) / 2 * width if settings["model.name"] == "deepfm" else 0
    return [1, numeric.count(False), numeric.count(True), len(schema.get("cuts", [])), len(apart), (hidden + 1) * added,
            hidden * (hidden * (depth - 1) + 1), pairs]


def l0gm(program: Path, *words: object) -> dict:
    done = subprocess.run([str(program), "--quiet", "--json", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"l0gm {' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def make(program: Path, out: Path, number: int, of: dict) -> tuple[Path, dict]:
    folder = out / str(number)
    settings = {"model.width": 16, "table.statistics": "none", **of["settings"]}
    if not (folder / "model.l0gm").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder / "rows.csv", of)
        (folder / "config.toml").write_text(f'[data]\nsource = "csv"\ntrain = "{folder}/rows.csv"\nlabel = "label"\n')
        l0gm(program, "train", folder / "config.toml", "--out", folder / "run", "--threads", 1,
             *assignments({**settings, "gate.unit": "none", "train.epochs": 1}))
        l0gm(program, "compact", folder / "run", "--out", folder / "model.l0gm")
    return folder / "model.l0gm", settings


def nanoseconds(program: Path, models: list[Path], rounds: int) -> list[float]:
    """The least over rounds, in each of which all models are timed in turn, of the median of a round: what else the machine does only adds."""
    found: list[list[float]] = [[] for _ in models]
    for _ in range(rounds):
        for model, times in zip(models, found):
            measured = l0gm(program, "bench", "latency", model, "--batch", BATCH, "--runs", 60, "--warmup", 10)
            times.append(next(result["median_us"] for result in measured["results"] if result["input"] == "numbers") * 1000)
    return [min(times) for times in found]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "serving-prices")
    return parser.parse_args()


def main() -> None:
    if Path(sys.prefix).resolve() != PEERS.parents[1].resolve():  # numpy and scipy are there
        os.execv(PEERS, [str(PEERS), __file__, *sys.argv[1:]])
    import numpy as np
    from scipy.optimize import nnls

    arguments = parse()
    out = arguments.out.resolve()
    made = [make(arguments.l0gm, out, number, of) for number, of in enumerate(DESIGNS)]
    counted = np.array([features(model.parent / "run", settings) for model, settings in made])
    measured = np.array(nanoseconds(arguments.l0gm, [model for model, _ in made], arguments.rounds))
    prices, _ = nnls(counted / measured[:, None], np.ones(len(measured)))
    print("### Prices, nanoseconds\n")
    table(["part", "price"], [[f"`{name}`", f"{price:.3g}"] for name, price in zip(PRICES, prices)])
    print("### What they say of the models they were fitted to\n")
    rows = [[f"{of['categories']} / {of['numbers']} / {of['integers']}", " ".join(f"{key.split('.')[1]}={value}" for key, value in of["settings"].items()),
             f"{time / 1000:.3f}", f"{said / 1000:.3f}"] for of, time, said in zip(DESIGNS, measured, counted @ prices)]
    table(["categories / numbers / whole numbers", "settings", "measured, microseconds", "by prices"], rows)
    print(f"Largest relative error {np.max(abs(counted @ prices / measured - 1)):.0%}, mean {np.mean(abs(counted @ prices / measured - 1)):.0%}.\n")


if __name__ == "__main__":
    main()
