#!/usr/bin/env python3
"""Which columns: the gate's choice beside those of the selectors people use, each set judged by LightGBM and by our dense model on those columns alone.

Usage: bench/columns.py [--tables adult,houses,messy,planted,varied] [--folder DIR] [--draws 10] [--first-draw 100] [--most-rows 20000] [--only NAME,...] [--sizes 2,4,6,8]
                        [--seeds 3] [--quality good] [--judge-quality fast] [--judges lightgbm,dense] [--set key=value ...] [--label gate]
                        [--jobs 1] [--out runs/columns] [--l0gm build/release/l0gm] [--peers .venv-peers/bin/python]
Prints for each judge a Markdown table of test NLL by table, size and selector (mean over seeds), in how many cells each selector is best or within
.2 % of the best, the mean NLL relative to the best of each cell, and how much the sets of different seeds agree (shared columns / size, mean
over pairs of seeds). Sizes that leave no column out are skipped. Finished parts are kept in --out. `--label` names another line for the gate when
--set tries something; the lines of earlier labels stay in the table.
"""

import argparse
import hashlib
import itertools
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import PEERS, ROOT, Cell, Runs, table
from suite import Task, config_of, export, rows_of, tasks_of

CLOSE = 1.002  # times the best NLL of a cell: as good


class Choices:
    """Sets of columns by table, seed, size and selector; and what a judge says of each set. Kept as files."""

    def __init__(self, runs: Runs, arguments: argparse.Namespace) -> None:
        self.runs, self.arguments, self.sizes = runs, arguments, [int(size) for size in arguments.sizes.split(",")]

    def kept(self, name: str, make) -> object:
        path = self.runs.out / "found" / f"{name}.json"
        if not path.exists():
            found = make()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found))
        return json.loads(path.read_text())

    def peer(self, *words: str) -> object:
        done = subprocess.run([str(self.runs.peers), str(ROOT / "peers" / "columns.py"), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"columns.py {' '.join(words)}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def columns_of(self, task: Task) -> list[str]:
        split = json.loads((export(self.runs, task, 0) / "split.json").read_text())
        return [*split["categorical"], *split["numeric"]]

    def sizes_of(self, task: Task) -> list[int]:
        return [size for size in self.sizes if size < len(self.columns_of(task))]

    def of_selectors(self, task: Task, seed: int) -> dict[str, dict[str, list[str]]]:
        sizes = self.sizes_of(task)
        name = f"{task.name}-{seed}-{'-'.join(map(str, sizes))}"
        return self.kept(f"choose-{name}", lambda: self.peer("choose", str(export(self.runs, task, seed)), "--seed", str(seed), "--sizes",
                                                            ",".join(map(str, sizes))))

    def of_gate(self, task: Task, seed: int, size: int, label: str) -> list[str]:
        def make() -> list[str]:
            options = {"gate.unit": "group", "gate.k": size, "train.quality": self.arguments.quality,
                       **dict(word.split("=", 1) for word in self.arguments.set)}
            if task.splits != "train.seed":
                options[task.splits] = seed
            cell = Cell(f"{task.name}-{label.replace(' ', '-')}-{size}-{self.arguments.quality}" +
                        (f"-{seed}" if task.splits != "train.seed" else ""), label, config_of(self.runs, task), options)
            return [column["name"] for column in self.runs.train(cell, seed)["test"]["open_columns"]]

        return self.kept(f"{label.replace(' ', '-')}-{self.arguments.quality}-{task.name}-{seed}-{size}", make)

    def judged(self, judge: str, task: Task, seed: int, chosen: list[str]) -> float:
        chosen = sorted(chosen)
        name = hashlib.sha256("\0".join(chosen).encode()).hexdigest()[:12]

        def by_lightgbm() -> dict:
            sets = self.runs.out / "found" / f"sets-{task.name}-{seed}-{name}.json"
            sets.write_text(json.dumps([chosen]))
            return self.peer("judge", str(export(self.runs, task, seed)), "--sets", str(sets), "--seed", str(seed))[0]

        def by_dense() -> dict:
            ignored = ", ".join(f'{json.dumps(column)} = "ignore"' for column in self.columns_of(task) if column not in chosen)
            options = {"gate.unit": "none", "train.quality": self.arguments.judge_quality, "data.types": f"{{ {ignored} }}"}
            if task.splits != "train.seed":
                options[task.splits] = seed
            cell = Cell(f"{task.name}-judge-{self.arguments.judge_quality}-{name}" + (f"-{seed}" if task.splits != "train.seed" else ""), "judge",
                        config_of(self.runs, task), options)
            return {"nll": self.runs.train(cell, seed)["test"]["nll"]}

        kind = "lightgbm" if judge == "lightgbm" else f"dense-{self.arguments.judge_quality}"
        return self.kept(f"judge-{kind}-{task.name}-{seed}-{name}", by_lightgbm if judge == "lightgbm" else by_dense)["nll"]

    def labels(self) -> list[str]:
        """Of the gate's lines: this one, and others that were named and are complete are read from their files."""
        return [self.arguments.label, *self.arguments.beside]


def report(judge: str, cells: dict[tuple[str, int], dict[str, float]], selectors: list[str]) -> None:
    rows, best, close, ratio = [], dict.fromkeys(selectors, 0), dict.fromkeys(selectors, 0), {name: [] for name in selectors}
    for (name, size), losses in cells.items():
        least = min(losses.values())
        for selector in selectors:
            best[selector] += losses[selector] == least
            close[selector] += losses[selector] <= least * CLOSE
            ratio[selector].append(losses[selector] / least)
        rows.append([f"{name}, {size}", *(f"**{loss:.4f}**" if loss == least else f"{loss:.4f}" for loss in (losses[s] for s in selectors))])
    count = len(cells)
    rows.append(["best or within .2 %", *(f"{close[s]} of {count}" for s in selectors)])
    rows.append(["mean NLL, 1 = the best of each cell", *(f"{statistics.mean(ratio[s]):.4f}" for s in selectors)])
    table([f"test NLL, judged by {judge}", *selectors], rows)


def agreement(sets: list[list[str]]) -> float:
    pairs = list(itertools.combinations(sets, 2))
    return statistics.mean(len(set(a) & set(b)) / len(a) for a, b in pairs) if pairs else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="adult,houses,messy,planted,varied")
    parser.add_argument("--folder", type=Path, help="a folder of CSV files, each a table (see suite.py)")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first-draw", type=int, default=100)
    parser.add_argument("--most-rows", type=int, default=20_000, help="draws of more rows are left out")
    parser.add_argument("--only", default="", help="of these tables, those that are named here: varied-101,houses")
    parser.add_argument("--sizes", default="2,4,6,8")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quality", default="good", choices=("fast", "good", "best"))
    parser.add_argument("--judge-quality", default="fast", choices=("fast", "good", "best"))
    parser.add_argument("--judges", default="lightgbm,dense")
    parser.add_argument("--selectors", default="mutual information,chi2,L1,tree gain,permutation,elimination,chance")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="for the gate's runs")
    parser.add_argument("--label", default="gate")
    parser.add_argument("--beside", action="append", default=[], help="further labels, whose sets an earlier call found")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "columns")
    parser.add_argument("--l0gm", dest="program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--peers", type=Path, default=PEERS)
    arguments = parser.parse_args()
    runs = Runs(arguments.program, arguments.out, arguments.jobs, peers=arguments.peers)
    choices = Choices(runs, arguments)
    tasks = [task for task in tasks_of(arguments) if task.name != "adult-uci" and (not arguments.only or task.name in arguments.only.split(","))]
    tasks = [task for task in tasks if not (task.name.startswith("varied") and rows_of(runs, task) > arguments.most_rows)]
    wanted = [(task, seed) for task in tasks for seed in task.seeds]
    judges = [judge for judge in arguments.judges.split(",") if judge]
    named = [name for name in arguments.selectors.split(",") if name]

    def found(item: tuple[Task, int]) -> dict[int, dict[str, list[str]]]:
        task, seed = item
        by_selector = choices.of_selectors(task, seed) if named else {}
        sets = {size: {label: choices.of_gate(task, seed, size, label) for label in choices.labels()} for size in choices.sizes_of(task)}
        for size, of_size in sets.items():
            of_size.update({name: by_selector[name][str(size)] for name in named})
            for judge in judges:
                for chosen in of_size.values():
                    choices.judged(judge, task, seed, chosen)
            print(f"{task.name} seed {seed}, {size} columns: {', '.join(of_size[arguments.label])}", file=sys.stderr)
        return sets

    with ThreadPoolExecutor(arguments.jobs) as pool:
        sets = dict(zip([(task.name, seed) for task, seed in wanted], pool.map(found, wanted)))
    selectors = [*choices.labels(), *named]
    for judge in judges:
        cells = {}
        for task in tasks:
            for size in choices.sizes_of(task):
                cells[task.name, size] = {selector: statistics.mean(choices.judged(judge, task, seed, sets[task.name, seed][size][selector])
                                                                    for seed in task.seeds) for selector in selectors}
        report({"lightgbm": "LightGBM"}.get(judge, f"our dense model ({arguments.judge_quality})"), cells, selectors)
    if arguments.seeds > 1:
        rows = [[f"{task.name}, {size}", *(f"{agreement([sets[task.name, seed][size][s] for seed in task.seeds]):.2f}" for s in selectors)]
                for task in tasks for size in choices.sizes_of(task)]
        means = [statistics.mean(float(row[1 + place]) for row in rows) for place in range(len(selectors))]
        rows.append(["mean", *(f"{value:.2f}" for value in means)])
        table(["columns shared by two seeds", *selectors], rows)


if __name__ == "__main__":
    main()
