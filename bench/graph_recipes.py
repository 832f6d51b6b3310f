#!/usr/bin/env python3
"""What the defaults of a graph are worth on graphs of every kind: draws of varied-graph, each recipe fixed, and the one that short trials choose.

Usage: bench/graph_recipes.py [--draws 12] [--first-draw 100] [--seeds 1] [--budget 0.25] [--jobs 1] [--device cpu] [--out runs/graph_recipes]
Prints one Markdown table of test NLL / accuracy % (mean over seeds), then mean rank by NLL and mean NLL relative to the best recipe of each graph.
The last columns are the defaults (nothing set but the data) dense, and with a gate, its projected units beside it. Draws below 100 are for tuning, those from 100 on for reports.
"""

import argparse
import json
import statistics
from pathlib import Path

from program import ROOT, Cell, Runs, mean, table

DENSE = {"gate.unit": "none"}
RECIPES = {
    "2 layers": {"train.trials": "false"},
    "2, residual": {"graph.residual": "linear"},
    "3, residual": {"graph.residual": "linear", "model.depth": 3, "model.dropout": 0.3},
    "5, residual": {"graph.residual": "linear", "model.depth": 5, "model.dropout": 0.2},
    "sage, 2": {"model.name": "sage", "train.trials": "false"},
    "sage, 5, residual": {"model.name": "sage", "graph.residual": "linear", "model.depth": 5, "model.dropout": 0.2},
    "mlp": {"model.name": "mlp"},
}


def config_of(runs: Runs, draw: int) -> Path:
    path = runs.out / "configs" / f"{draw}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[data]\nsource = "varied-graph"\nsplit.seed = {draw}\n')
    return path


def tried(runs: Runs, cell: Cell, seed: int) -> str:
    trials = json.loads((runs.out / cell.name / str(seed) / "trials.json").read_text())
    return " + ".join(trial["settings"] or "as it is" for trial in trials if trial["taken"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--first-draw", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=0.25)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "graph_recipes")
    parser.add_argument("--l0gm", dest="program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    arguments = parser.parse_args()
    runs = Runs(arguments.program, arguments.out, arguments.jobs, arguments.device)
    names = [*RECIPES, "defaults", f"defaults, {arguments.budget:.0%} open"]
    rows, ranks, ratios = [], {name: [] for name in names}, {name: [] for name in names}
    for draw in range(arguments.first_draw, arguments.first_draw + arguments.draws):
        config = config_of(runs, draw)
        options = [{**DENSE, **recipe} for recipe in RECIPES.values()] + [DENSE, {"gate.target_active": arguments.budget}]
        cells = [Cell(f"{draw}-{name.replace(', ', '-').replace(' ', '').replace('%', '')}", name, config, option) for name, option in zip(names, options)]
        results = runs.all(cells, range(arguments.seeds))
        losses = {cell.label: mean(results[cell.name], "test", "nll") for cell in cells}
        least = min(losses.values())
        for name in names:
            ranks[name].append(1 + sum(other < losses[name] for other in losses.values()))
            ratios[name].append(losses[name] / least)
        projected = results[cells[-1].name]
        worst = max(projected, key=lambda result: result["test"].get("projected_units", 0))["test"]
        shown = [f"{losses[cell.label]:.4f} / {100 * mean(results[cell.name], 'test', 'accuracy'):.1f}" for cell in cells]
        shown[-1] += f" ({worst.get('projected_units', 0)} of {worst['units']} projected)"
        rows.append([projected[0]["test"]["dataset"], tried(runs, cells[-2], 0), *shown])
    rows.append(["mean rank by NLL", "", *(f"{statistics.mean(ranks[name]):.2f}" for name in names)])
    rows.append(["mean NLL, 1 = the best of each graph", "", *(f"{statistics.mean(ratios[name]):.4f}" for name in names)])
    table(["test NLL / accuracy %", "trials took", *names], rows)


if __name__ == "__main__":
    main()
