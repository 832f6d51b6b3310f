#!/usr/bin/env python3
"""Makes the figures of docs/results/tables.md: every run by the l0gm program or by a peer's own library, finished runs are kept and skipped
as long as configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/tables.py [tune|adult|frontier|models|shallow|messy|peers|speed ...] [--jobs 2] [--device cpu] [--out runs/tables]
Prints one Markdown section per part. Needs the Adult files (L0GM_DATA) and, for peers, the environment of peers/setup.
"""

import argparse
import sys
from pathlib import Path

from runs import HEAD, ROOT, Cell, Runs, figures, mean, robustness, table, units

ADULT = ROOT / "examples" / "adult" / "adult.toml"
DENSE = {"gate.unit": "none"}
MASKS = {"random": {"gate.logits": "static", "gate.static_by": "random"},
         "magnitude": {"gate.logits": "static", "gate.static_by": "magnitude"}}


def tune(runs: Runs) -> None:
    """Choices, on validation rows of all six splits."""
    choices = {
        "recommended": {},
        "interface dropout .05": {"model.interface_dropout": 0.05},
        "interface dropout .2": {"model.interface_dropout": 0.2},
        "interface dropout .3": {"model.interface_dropout": 0.3},
        "dropout .1": {"model.dropout": 0.1},
        "dropout .3": {"model.dropout": 0.3},
        "40 epochs": {"train.epochs": 40},
        "20 epochs": {"train.epochs": 20},
        "lr 1e-3": {"train.lr": 1e-3},
        "lr 3e-3": {"train.lr": 3e-3},
        "weight decay .05": {"train.weight_decay": 0.05},
        "weight decay 0": {"train.weight_decay": 0},
        "gate lr .1": {"train.gate_lr": 0.1},
        "gate lr .02": {"train.gate_lr": 0.02},
        "noise batch": {"gate.noise": "batch"},
        "mlp": {"model.name": "mlp"},
        "wide-deep": {"model.name": "wide-deep"},
        "plain pairs": {"fm.weighted": "false"},
        "xdeepfm": {"model.name": "xdeepfm"},
        "members 4": {"model.members": 4},
        "hidden 64": {"model.hidden": 64},
        "hidden 128": {"model.hidden": 128},
        "depth 1": {"model.depth": 1},
        "depth 3": {"model.depth": 3},
        "width 8": {"model.width": 8},
        "smoothing 30": {"table.smoothing": 30},
        "smoothing 3": {"table.smoothing": 3},
        "statistics of columns": {"table.statistics": "columns"},
        "no statistics": {"table.statistics": "none"},
        "anneal until .5": {"schedule.anneal_until": 0.5},
        "anneal until .7": {"schedule.anneal_until": 0.7},
        "ema .999": {"train.ema": 0.999},
        "batch 256": {"train.batch": 256},
        "batch 1024": {"train.batch": 1024},
        "label smoothing .02": {"train.label_smoothing": 0.02},
        "dense, interface dropout .3": {**DENSE, "model.interface_dropout": 0.3, "train.epochs": 25},
    }
    cells = [Cell(f"tune-{name.replace(' ', '-').replace(',', '')}-{protocol}", name, ADULT, {"data.protocol": protocol, **options})
             for name, options in choices.items() for protocol in ("openml", "uci")]
    results = runs.all(cells)
    rows = []
    for openml, uci in zip(cells[::2], cells[1::2]):
        both = results[openml.name] + results[uci.name]
        rows.append([openml.label, f"{mean(results[openml.name], 'valid', 'nll'):.5f}", f"{mean(results[uci.name], 'valid', 'nll'):.5f}",
                     f"{mean(both, 'valid', 'nll'):.5f}", f"{mean(both, 'valid', 'auc'):.5f}", f"{max(r['valid']['projected_units'] for r in both)}"])
    print("## Choices, validation rows, mean over three splits of each protocol\n")
    table(["choice", "NLL `openml`", "NLL `uci`", "NLL both", "AUC both", "most projected units"], rows)


def main() -> None:
    parts = {"tune": tune}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tables")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts:
        parts[name](Runs(arguments.l0gm, arguments.out, arguments.jobs, arguments.device, perturb=name == "frontier"))
        print(flush=True)


if __name__ == "__main__":
    main()
