#!/usr/bin/env python3
"""Does the gate decide, however long it has? Gates that anneal over 40 to 2,000 steps, on data whose informative inputs are known, beside random masks.

Usage: bench/convergence.py [--steps 40,100,400,2000] [--seeds 3] [--tasks planted-graph,planted-table] [--jobs 1] [--device cpu] [--out runs/convergence]
For each task and number of annealing steps: units that were projected when gates were fixed (worst seed), units that changed sides in the last tenth of
annealing, spread of the logits before they were fixed, share of the informative inputs that are still read and of the read inputs that are informative, overlap of the read inputs between seeds (shared / all,
mean over pairs; made data is the same for all seeds), and test NLL; the same of random masks of that size.
"""

import argparse
import itertools
import statistics
from pathlib import Path

from program import ROOT, Cell, Runs, mean, table

# A full graph has one step an epoch; planted-table has 6,000 / 300 = 20.
TASKS = {
    "planted-graph": ('[data]\nsource = "planted-graph"\nrows = 5000\n[model]\nname = "gcn"\ndepth = 2\nhidden = 64\ndropout = 0.2\ninterface_dropout = 0.2\n'
                      '[train]\nlr = 0.01\n[gate]\nattach = "input"\ntarget_active = 0.25\n', 1),
    "planted-table": ('[data]\nsource = "planted-table"\nrows = 10000\n[model]\nname = "mlp"\nwidth = 8\n[table]\nstatistics = "none"\n'
                      '[train]\nbatch = 300\npatience = 0\n[gate]\ntarget_active = 0.25\n', 20),
}
ANNEALED = 0.5  # share of the steps, by the schedule's defaults


def overlap(results: list[dict]) -> float:
    sets = [{column["name"] for column in result["test"]["open_columns"]} for result in results]
    pairs = list(itertools.combinations(sets, 2))
    return statistics.mean(len(a & b) / len(a | b) for a, b in pairs) if pairs else float("nan")


def informative(results: list[dict]) -> str:
    found = [result["test"]["planted"] for result in results]
    return " / ".join(f"{100 * statistics.mean(one[key] for one in found):.0f} %" for key in ("recall", "precision"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="40,100,400,2000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "convergence")
    parser.add_argument("--l0gm", dest="program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    arguments = parser.parse_args()
    runs = Runs(arguments.program, arguments.out, arguments.jobs, arguments.device)
    rows = []
    for task in arguments.tasks.split(","):
        text, per_epoch = TASKS[task]
        config = runs.out / "configs" / f"{task}.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(text)
        for steps in (int(word) for word in arguments.steps.split(",")):
            epochs = max(2, round(steps / ANNEALED / per_epoch))
            length = {"train.epochs": epochs, "train.evaluate_every": max(1, epochs // 40)}
            cells = [Cell(f"{task}-{steps}-{name.replace(' ', '-')}", name, config, {**length, **options})
                     for name, options in (("gate", {}), ("random mask", {"gate.logits": "static", "gate.static_by": "random"}))]
            results = runs.all(cells, range(arguments.seeds))
            for cell in cells:
                of_cell = results[cell.name]
                tests = [result["test"] for result in of_cell]
                gate = cell.label == "gate"
                rows.append([task, str(steps), cell.label,
                             f"{max(test['projected_units'] for test in tests)} of {tests[0]['units']}" if gate else "-",
                             f"{max(test['late_changes'] for test in tests)}" if gate else "-",
                             f"{statistics.mean(test['logit_spread'] for test in tests):.2f}" if gate else "-",
                             informative(of_cell), f"{overlap(of_cell):.2f}", f"{mean(of_cell, 'test', 'nll'):.4f}"])
    table(["data", "annealing steps", "", "projected, worst seed", "late changes, worst seed", "spread of logits", "informative inputs: recall / precision",
           "overlap between seeds", "test NLL"], rows)


if __name__ == "__main__":
    main()
