#!/usr/bin/env python3
"""Times epochs on Adult, two threads, beside the same network in eager PyTorch (bench/peers/eager_table.py): docs/results/tables.md, foundation.md.

Usage: bench/tables_speed.py [--l0gm build/release/l0gm] [--out runs/tables_speed]
Prints Markdown. Needs the Adult files (L0GM_DATA) and a machine with nothing else to do. What is trained and judged: examples/studies.
"""

import argparse
import json
import shutil
import statistics
import subprocess
from pathlib import Path

from program import ROOT, Runs, assignments, table

ADULT, MLP = (ROOT / "examples" / "adult" / name for name in ("adult.toml", "mlp.toml"))
DENSE, NO_STATISTICS = {"gate.unit": "none"}, {"table.statistics": "none"}
THREADS = ("--threads", "2")
ROWS, BATCH = 35165, 512  # of a split, and of examples/adult/mlp.toml


def trained(runs: Runs, config: Path, options: dict[str, object]) -> Path:
    """Never a kept run: this one measures."""
    folder = runs.out / "run"
    shutil.rmtree(folder, ignore_errors=True)
    runs.l0gm("train", str(config), "--out", str(folder), *THREADS, *assignments(options))
    return folder


def seconds_of_epochs(run: Path, first: int, last: int) -> float:
    """The median; validation included."""
    times = [json.loads(line)["seconds"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(b - a for a, b in zip(times[first:last], times[first + 1:last + 1]))


def beside_eager(runs: Runs) -> None:
    print("### Time to train, Adult `openml`, 2 threads\n")
    rows = []
    for label, options in {"recommended (net B, gate at 20 %)": {}, "net B, dense": DENSE, "net A, dense": {**DENSE, **NO_STATISTICS}}.items():
        run = trained(runs, ADULT, options)
        done = subprocess.run([str(ROOT / ".venv" / "bin" / "python"), str(ROOT / "bench" / "peers" / "eager_table.py"), str(run), *THREADS,
                               "--epochs", "4"], capture_output=True, text=True, check=True)
        eager, ours = json.loads(done.stdout)["seconds_per_epoch"], seconds_of_epochs(run, 1, 8)
        whole = json.loads((run / "summary.json").read_text())["seconds"]
        rows.append([label, f"{whole:.1f}", f"{ours:.2f}", f"{eager:.2f}", f"{eager / ours:.2f}"])
    table(["run", "seconds, all of it", "seconds per epoch, validation included", "eager PyTorch: seconds per epoch", "ratio"], rows)


def plain(runs: Runs) -> None:
    print("### Speed, `examples/adult/mlp.toml`, 2 threads\n")
    rows = []
    for label, options in {"dense": DENSE, "gate, noise per example": {}, "gate, one draw per step": {"gate.noise": "batch"}}.items():
        epoch = seconds_of_epochs(trained(runs, MLP, options), 3, 17)  # of the annealing phase
        rows.append([label, f"{ROWS / epoch:,.0f}", f"{1000 * epoch / (ROWS / BATCH):.2f}"])
    table(["run", "rows per second", "milliseconds per step"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tables_speed")
    arguments = parser.parse_args()
    runs = Runs(arguments.l0gm, arguments.out)
    beside_eager(runs)
    plain(runs)


if __name__ == "__main__":
    main()
