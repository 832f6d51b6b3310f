#!/usr/bin/env python3
"""Our defaults beside boosted trees and other networks over a suite of tables: Adult (both protocols), houses, messy-table, planted-table, draws of varied-table,
and your own.

Usage: bench/suite.py [--tables adult,houses,messy,planted,varied] [--folder DIR] [--draws 10] [--first-draw 100] [--seeds 3] [--quality good]
                      [--methods dense,gate,lightgbm,catboost,xgboost,hist-gradient-boosting,realmlp,tabm] [--most-rows N] [--leave-out varied-107,…] [--most-seconds N] [--peer-threads 2] [--jobs 1] [--device cpu] [--out runs/suite]
                      [--set key=value ...] [--l0gm build/release/l0gm] [--peers .venv-peers/bin/python]
Prints one Markdown table: NLL / AUC / accuracy / seconds of each method on the test rows of each table, mean over seeds; then mean rank by NLL
and mean NLL relative to the best method of each table. Nothing is set but the gate: our lines are what a stranger gets. Finished runs are kept
and skipped as long as configuration and settings are the same (remove the folder after a change of the program). Draws below 100 are for tuning,
those from 100 on for reports. RealMLP and TabM take far longer than all others on a processor: name the methods where that matters. Adult and houses are read from $L0GM_DATA; tables whose files are absent are left out with a message.
With --folder every NAME.csv of DIR (also .csv.gz, .csv.xz; with a header) is a table, beside those of --tables where these are named. The label is the column `label`, or the one
that a line `NAME COLUMN` of DIR/labels.txt names. A column `split` that says train, valid or test is the split, and seeds are of training alone; without one each seed draws a split (10 % validation, 20 % test).
"""

import argparse
import csv
import gzip
import json
import lzma
import math
import os
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from program import PEERS, ROOT, Cell, Runs, mean, table

STUDENT_T = {2: 12.7, 3: 4.30, 4: 3.18, 5: 2.78}  # 97.5 %, by the number of seeds
TREES = ("lightgbm", "catboost", "xgboost", "hist-gradient-boosting")
OURS = {"dense": ("ours, dense", {"gate.unit": "none"}), "gate": ("ours, 25 % open", {"gate.target_active": 0.25})}
PEER_METHODS = (*TREES, "realmlp", "tabm")


@dataclass
class Task:
    """A table of the suite: what a configuration says of its data, and nothing else."""
    name: str
    data: dict[str, object]
    splits: str = "train.seed"  # what makes another seed: another split of fixed ones, or other rows
    seeds: range = field(default_factory=lambda: range(3))


def folder_tasks(folder: Path, seeds: range) -> list[Task]:
    """A table for every CSV file of a folder."""
    labels = folder / "labels.txt"
    label_of = dict(line.split(maxsplit=1) for line in labels.read_text().splitlines() if line.strip()) if labels.exists() else {}
    tasks = []
    for path in sorted(path for end in ("", ".gz", ".xz") for path in folder.glob(f"*.csv{end}")):
        name = path.name.split(".csv")[0]
        label = label_of.get(name, "label").strip()
        opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            header = next(csv.reader(file), [])
        if label not in header:
            sys.exit(f"{path} has no column '{label}': name its label in {labels}, as a line '{name} COLUMN'; it has {', '.join(header[:20])}")
        data = {"source": "csv", "train": str(path.resolve()), "label": label}
        tasks.append(Task(name, {**data, "split.column": "split"}, seeds=seeds) if "split" in header else Task(name, data, "data.split.seed", seeds))
    if not tasks:
        sys.exit(f"--folder: {folder} has no *.csv, *.csv.gz or *.csv.xz")
    return tasks


def tasks_of(arguments: argparse.Namespace) -> list[Task]:
    data = Path(os.environ.get("L0GM_DATA", ROOT.parent / "shared" / "data"))
    seeds = range(arguments.seeds)
    tasks = []
    wanted = (arguments.tables or ("" if arguments.folder else "adult,houses,messy,planted,varied")).split(",")
    if arguments.folder:
        tasks += folder_tasks(arguments.folder, seeds)
    if "adult" in wanted and (data / "adult").exists():
        tasks += [Task(f"adult-{protocol}", {"source": "adult", "protocol": protocol, "dir": str(data)}, seeds=seeds) for protocol in ("openml", "uci")]
    if "houses" in wanted and (data / "houses").exists():
        files = {split: str(data / "houses" / f"{split}.csv.xz") for split in ("train", "valid", "test")}
        tasks.append(Task("houses", {"source": "csv", "label": "expensive", **files}, seeds=seeds))
    if "messy" in wanted:
        tasks.append(Task("messy-table", {"source": "messy-table"}, "data.split.seed", seeds))
    if "planted" in wanted:
        tasks.append(Task("planted-table", {"source": "planted-table"}, "data.split.seed", seeds))
    if "varied" in wanted:
        tasks += [Task(f"varied-{draw}", {"source": "varied-table", "split.seed": draw}, seeds=seeds)
                  for draw in range(arguments.first_draw, arguments.first_draw + arguments.draws)]
    missing = [name for name in ("adult", "houses") if name in wanted and not any(task.name.startswith(name) for task in tasks)]
    for name in missing:
        print(f"{name}: not in {data}, left out", file=sys.stderr)
    return tasks


def config_of(runs: Runs, task: Task) -> Path:
    path = runs.out / "configs" / f"{task.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[data]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in task.data.items()))
    return path


def rows_of(runs: Runs, task: Task) -> int:
    """Of a draw, without making its cells twice: what the export says."""
    return json.loads((export(runs, task, 0) / "rows.json").read_text())["all"]


def export(runs: Runs, task: Task, seed: int) -> Path:
    folder = runs.out / "data" / f"{task.name}-{seed}"
    if not (folder / "rows.json").exists():
        said = runs.l0gm("data", "export", str(config_of(runs, task)), "--out", str(folder), "--set", f"{task.splits}={seed}")
        (folder / "rows.json").write_text(json.dumps({"all": said["train"] + said["valid"] + said["test"]}))
    return folder


def ours(runs: Runs, task: Task, method: str, arguments: argparse.Namespace) -> list[dict]:
    options = {**OURS[method][1], "train.quality": arguments.quality, **dict(word.split("=", 1) for word in arguments.set)}
    results = []
    for seed in task.seeds:
        of_seed = {**options, task.splits: seed} if task.splits != "train.seed" else options
        cell = Cell(f"{task.name}-{method}-{arguments.quality}" + (f"-{seed}" if of_seed is not options else ""), method, config_of(runs, task), of_seed)
        results += [{**result, "folder": runs.out / cell.name / str(seed), "draw": 0 if of_seed is options else seed} for result in runs.all([cell], range(seed, seed + 1))[cell.name]]
    return results


def peer(runs: Runs, task: Task, method: str, arguments: argparse.Namespace) -> list[dict]:
    """Empty where it was stopped after --most-seconds."""
    results = []
    for seed in task.seeds:
        folder = runs.out / "peers" / f"{task.name}-{method}-{seed}"
        stopped = folder.with_suffix(".stopped")
        if not (folder / "summary.json").exists():
            if stopped.exists() and float(stopped.read_text()) >= arguments.most_seconds > 0:
                return []
            shutil.rmtree(folder, ignore_errors=True)
            try:
                subprocess.run([str(runs.peers), str(ROOT / "peers" / "train.py"), method, str(export(runs, task, seed)), "--out", str(folder),
                                "--seed", str(seed), "--threads", str(arguments.peer_threads)], check=True, stdout=sys.stderr, timeout=arguments.most_seconds or None)
            except subprocess.TimeoutExpired:
                stopped.write_text(str(arguments.most_seconds))
                print(f"{task.name} {method} seed {seed}: stopped after {arguments.most_seconds} s", file=sys.stderr)
                return []
        summary = json.loads((folder / "summary.json").read_text())
        results.append({"test": runs.l0gm("eval", str(folder)), "valid": runs.l0gm("eval", str(folder), "--split", "valid"), "seconds": summary["train_seconds"], "folder": folder, "draw": 0 if task.splits == "train.seed" else seed})
        print(f"{task.name} {method} seed {seed}: NLL {results[-1]['test']['nll']:.4f}, {summary['train_seconds']:.0f} s", file=sys.stderr)
    return results


def cell_of(results: list[dict], best: bool) -> str:
    nll = f"{mean(results, 'test', 'nll'):.4f}"
    return (f"{f'**{nll}**' if best else nll} / {mean(results, 'test', 'auc'):.4f} / {mean(results, 'test', 'accuracy'):.4f} / "
            f"{statistics.mean(result['seconds'] for result in results):.0f}")


def row_losses(result: dict) -> dict[str, float]:
    with open(result["folder"] / "predictions" / "test.csv", newline="") as file:
        return {row["row"]: -math.log(max(float(row[f"p_{row['label']}"]), 1e-15)) for row in csv.DictReader(file)}


def paired(first: list[dict], second: list[dict]) -> tuple[float, float]:
    """Mean difference of the NLL on the same test rows, and half of its 95 % interval: over rows (averaged over seeds that share them) and, by Student's t, over seeds."""
    differences: dict[str, list[float]] = {}
    for one, other in zip(first, second):
        ours, theirs = row_losses(one), row_losses(other)
        for row, loss in ours.items():
            differences.setdefault(f"{one['draw']} {row}", []).append(loss - theirs[row])
    means = [statistics.mean(values) for values in differences.values()]
    by_seed = [mean([one], "test", "nll") - mean([other], "test", "nll") for one, other in zip(first, second)]
    of_rows = 1.96 * statistics.stdev(means) / math.sqrt(len(means))
    of_seeds = STUDENT_T[len(by_seed)] * statistics.stdev(by_seed) / math.sqrt(len(by_seed)) if len(by_seed) > 1 else 0
    return statistics.mean(means), math.hypot(of_rows, of_seeds)


def entropy(result: dict) -> float:
    with open(result["folder"] / "predictions" / "test.csv", newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log(share) for share in shares)


def beside_trees(results: dict[str, dict[str, list[dict]]], methods: list[str]) -> None:
    """Ours beside the best tree of each table, and gated beside dense: who is behind by more than it may be."""
    trees, own = [method for method in methods if method in TREES], [method for method in methods if method in OURS]
    if not trees or not own:
        return
    rows = []
    for name, by_method in results.items():
        ended = [method for method in trees if by_method[method]]
        if not ended:
            continue
        best = min(ended, key=lambda method: mean(by_method[method], "valid", "nll"))
        of_label = entropy(by_method[best][0])
        row = [name, best]
        for method in own:
            difference, error = paired(by_method[method], by_method[best])
            behind = difference > 0.02 * of_label and difference > error
            row.append(f"{'**' if behind else ''}{difference:+.4f} ± {error:.4f} ({100 * difference / of_label:+.1f} %){'**' if behind else ''}")
        if "dense" in own and "gate" in own:
            ratio = mean(by_method["gate"], "test", "nll") / mean(by_method["dense"], "test", "nll") - 1
            row.append(f"{'**' if ratio > 0.01 else ''}{100 * ratio:+.1f} %{'**' if ratio > 0.01 else ''}")
        rows.append(row)
    print("\nNLL minus that of the best tree (± half of the paired 95 % interval; share of the label's entropy); the best tree is that of the lowest validation NLL. Bold: behind by more than 2 % of it and more than the interval.\n")
    table(["table", "best tree", *(OURS[method][0] for method in own), *(["25 % open against dense"] if len(own) > 1 else [])], rows)


def report(results: dict[str, dict[str, list[dict]]], methods: list[str]) -> None:
    labels = [OURS[method][0] if method in OURS else method for method in methods]
    ranks, ratios = {method: [] for method in methods}, {method: [] for method in methods}
    rows = []
    for name, by_method in results.items():
        losses = {method: mean(by_method[method], "test", "nll") for method in methods if by_method[method]}
        least = min(losses.values(), default=0)
        for method in methods if len(losses) == len(methods) else []:  # a rank among fewer would be another
            ranks[method].append(1 + sum(other < losses[method] for other in losses.values()))
            ratios[method].append(losses[method] / least)
        rows.append([name, *(cell_of(by_method[method], losses[method] == least) if by_method[method] else "-" for method in methods)])
    if not all(ranks.values()):
        table(["NLL / AUC / accuracy / seconds", *labels], rows)
        return
    rows.append(["mean rank by NLL", *(f"{statistics.mean(ranks[method]):.2f}" for method in methods)])
    rows.append(["mean NLL, 1 = the best of each table", *(f"{statistics.mean(ratios[method]):.4f}" for method in methods)])
    table(["NLL / AUC / accuracy / seconds", *labels], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="", help="default: all of them, and none with --folder")
    parser.add_argument("--folder", type=Path, help="a folder of CSV files, each a table")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first-draw", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quality", default="good", choices=("fast", "good", "best"))
    parser.add_argument("--methods", default=",".join((*OURS, *PEER_METHODS)))
    parser.add_argument("--most-rows", type=int, default=0, help="leave out draws of more rows; 0: none")
    parser.add_argument("--leave-out", default="", help="tables, with commas between them")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="for our lines: a choice to be tried")
    parser.add_argument("--most-seconds", type=float, default=0, help="a peer that takes longer is stopped; its table does not count in ranks and means; 0: never")
    parser.add_argument("--peer-threads", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "suite")
    parser.add_argument("--l0gm", dest="program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--peers", type=Path, default=PEERS)
    arguments = parser.parse_args()
    runs = Runs(arguments.program, arguments.out, arguments.jobs, arguments.device, peers=arguments.peers)
    methods = arguments.methods.split(",")
    for method in methods:
        if method not in OURS and method not in PEER_METHODS:
            parser.error(f"--methods: '{method}' is unknown; there are {', '.join((*OURS, *PEER_METHODS))}")
    tasks = [task for task in tasks_of(arguments) if task.name not in arguments.leave_out.split(",")
             and not (arguments.most_rows and task.name.startswith("varied") and rows_of(runs, task) > arguments.most_rows)]
    if any(method in PEER_METHODS for method in methods):
        for task in tasks:
            for seed in task.seeds:
                export(runs, task, seed)
    wanted = [(task, method) for task in tasks for method in methods]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        done = pool.map(lambda item: (ours if item[1] in OURS else peer)(runs, *item, arguments), wanted)
        results = {task.name: {} for task in tasks}
        for (task, method), result in zip(wanted, done):
            results[task.name][method] = result
    report(results, methods)
    beside_trees(results, methods)


if __name__ == "__main__":
    main()
