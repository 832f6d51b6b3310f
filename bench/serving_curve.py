#!/usr/bin/env python3
"""One curve: microseconds a row against NLL on Adult `openml`, split 0, by budgets of serving time (gate.cost = serving), beside the fastest boosted trees.

Usage: bench/serving_curve.py [--budgets 1,0.5,0.25,0.125,0.06] [--statistics pairs] [--runs 200] [--warm-ups 50] [--out runs/latency]
Trains net B (examples/adult/adult.toml, one member) and its pupil (examples/adult/fast.toml with statistics, taught by the dense net B) once for each
budget; 1: dense. Compacts them, then times all files and the trees in turn, through the calls of bench/latency.py, at batch 1 and 1,024, one thread.
Boosted trees: compiled LightGBM, quantised or not, and CatBoost's evaluator, which were the fastest in bench/latency.py. Needs peers/setup and gcc.
"""

import argparse
import gc
import json
import os
import random
import sys
from pathlib import Path

from program import PEERS, ROOT, Cell, Runs, table

sys.path.insert(0, str(ROOT / "bench" / "peers"))
ADULT, FAST = (ROOT / "examples" / "adult" / name for name in ("adult.toml", "fast.toml"))
DENSE = {"gate.unit": "none"}


def cells(budgets: list[float], statistics: str) -> dict[str, list[tuple[float, Cell]]]:
    teacher = Cell("curve-net-b-1", "net B", ADULT, DENSE)
    taught = {"distill.weight": 0.7, "table.statistics": statistics}

    def gate(budget: float) -> dict:
        return {"gate.cost": "serving", "gate.target_active": budget} if budget < 1 else DENSE

    found = {"net B": [(budget, Cell(f"curve-net-b-{budget:g}", "net B", ADULT, gate(budget))) for budget in budgets],
             "pupil": [(budget, Cell(f"curve-pupil-{statistics}-{budget:g}", "pupil", FAST, {**taught, **gate(budget)}, teacher)) for budget in budgets]}
    without = Cell("curve-pupil-none-1", "pupil without statistics", FAST, {**taught, **DENSE, "table.statistics": "none"}, teacher)
    return {**found, "pupil without statistics": [(1, without)]}


def make_files(arguments: argparse.Namespace) -> list[dict]:
    runs = Runs(arguments.l0gm, ROOT / "runs" / "tables", 1)
    folder, made = arguments.out / "curve", []
    folder.mkdir(parents=True, exist_ok=True)
    for name, of_name in cells(arguments.budgets, arguments.statistics).items():
        for budget, cell in of_name:
            judged = runs.all([cell], range(1))[cell.name][0]
            path = folder / f"{cell.name}.l0gm"
            compact = runs.l0gm("compact", str(runs.out / cell.name / "0"), "--out", str(path))
            made.append({"name": f"{name}, {100 * budget:g} %" if budget < 1 else name + (", dense" if "without" not in name else ""), "path": path,
                         "valid": judged["valid"]["nll"], "test": judged["test"]["nll"], "auc": judged["test"]["auc"], "bytes": compact["bytes"],
                         "open": judged["test"]["open_units"], "units": judged["test"]["units"], "columns": compact["columns"],
                         "promised": judged["test"].get("served_microseconds")})
    return made


def engines(rows: object, arguments: argparse.Namespace, made: list[dict]) -> list:
    from latency_engines import L0GM
    from latency_peers import CatBoost, CompiledTrees

    out, common = arguments.out, (rows, arguments.out, 1)
    found = [L0GM(of["name"], *common, of["path"], text=False, program=arguments.l0gm) for of in made]
    found += [CompiledTrees("compiled LightGBM", *common, out / "compiled" / "lightgbm-plain.so", of="lightgbm"),
              CompiledTrees("compiled LightGBM, quantised", *common, out / "compiled" / "lightgbm-quantised.so", of="lightgbm"),
              CatBoost("CatBoost, Pool", *common, out / "peers" / "catboost" / "model.cbm", exact=False, pools=True),
              CatBoost("CatBoost with exact values, Pool", *common, out / "peers" / "catboost-exact" / "model.cbm", exact=True, pools=True)]
    return found


def measure(arguments: argparse.Namespace, made: list[dict]) -> dict[str, dict]:
    import numpy as np
    from latency import CALLS_AT_ONE, check, scores
    from latency_models import compile_loop, compile_trees, make_export, read_rows, train_peers

    export = make_export(arguments.l0gm, arguments.out)
    train_peers(export, arguments.out, ("lightgbm", "catboost", "catboost-exact"))
    compile_trees(arguments.out, ("lightgbm",))
    compile_loop(arguments.out)
    rows = read_rows(export, arguments.out)
    measured = engines(rows, arguments, made)
    result = {engine.name: {} for engine in measured}
    for engine in measured:
        engine.open()
        engine.load()
        reference = engine.reference()
        engine.prepare(1024)
        check(engine, 1024, reference)
        result[engine.name]["nll"], result[engine.name]["auc"] = scores(rows.labels, reference)
    order = random.Random(0)
    for batch in (1, 1024):
        calls = CALLS_AT_ONE if batch == 1 else 1
        for engine in measured:
            engine.prepare(batch)
        spent = {engine.name: [] for engine in measured}
        gc.collect()
        gc.disable()
        for _ in range(arguments.warm_ups + arguments.runs):
            order.shuffle(measured)
            for engine in measured:
                spent[engine.name].append(engine.time(batch, calls) / 1000 / (calls * batch))
        gc.enable()
        for name, times in spent.items():
            result[name][str(batch)] = float(np.median(times[arguments.warm_ups:]))
    return result


def main() -> None:
    if Path(sys.prefix).resolve() != PEERS.parents[1].resolve():  # numpy and the peers are there
        os.execv(PEERS, [str(PEERS), __file__, *sys.argv[1:]])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=lambda text: [float(word) for word in text.split(",")], default=[1, 0.5, 0.25, 0.125, 0.06])
    parser.add_argument("--statistics", default="pairs", help="of the pupil: table.statistics")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--warm-ups", type=int, default=50)
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "latency")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    for setting in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[setting] = "1"
    made = make_files(arguments)
    load = os.getloadavg()[0]
    times = measure(arguments, made)
    (arguments.out / "curve.json").write_text(json.dumps({"load": load, "files": [{**of, "path": str(of["path"])} for of in made], "times": times}, indent=1) + "\n")
    print(f"### Microseconds a row against NLL, Adult `openml`, split 0, one thread (load before: {load:.1f})\n")
    rows = [[of["name"], f"{of['open']} of {of['units']}", f"{of['columns']}", f"{of['bytes'] / 1e3:,.0f}", f"{of['valid']:.4f}", f"{of['test']:.4f}", f"{of['auc']:.4f}",
             f"{of['promised']:.2f}" if of["promised"] else "-", f"{times[of['name']]['1']:.2f}", f"{times[of['name']]['1024']:.2f}"] for of in made]
    rows += [[name, "-", "14", "-", "-", f"{of['nll']:.4f}", f"{of['auc']:.4f}", "-", f"{of['1']:.2f}", f"{of['1024']:.2f}"] for name, of in times.items()
             if name not in {made_one["name"] for made_one in made}]
    table(["model", "open", "columns read", "KB", "NLL valid", "NLL test", "AUC test", "promised", "batch 1", "batch 1,024"], rows)


if __name__ == "__main__":
    main()
