#!/usr/bin/env python3
"""Accuracy against measured throughput: gates on heads, neurons and layers beside every baseline, at several speed-ups. Every run by the l0gm program;
finished ones are kept and skipped as long as configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/text_structure.py [--config examples/text/imdb.toml] [--encoder gte-small] [--speedups 1.5,2,3] [--seeds 3] [--device cuda]
                               [--set key=value …] [--methods gate,first,last@1.5,…] [--jobs 1] [--seconds S] [--only train|time|table] [--out runs/text_structure]
A GPU:       L0GM_DATA=… L0GM_WEIGHTS=… bench/text_structure.py --device cuda --epochs 3 > text_structure.md
A processor: bench/text_structure.py --config examples/text/faster.toml --encoder '' --device cpu --seeds 2

Every method is asked for the same speed-up, by times that were measured on the device before its training, and trains for as many steps; then all runs
are timed in turn (`l0gm bench text`, --rounds times, the median counts), so that the table shows what was reached and not what was asked for. Methods on the
first layers of an encoder (first-8-parts, …) are asked for what is left of the speed-up once the others are gone. METHOD@SPEEDUP is asked for that one alone. A method that cannot be so fast is listed with
the message that says so. Prints Markdown. `--only train` leaves out the timing, `--only time` times what was trained, `--only table` prints what is there.
`--seconds`: no training starts later, and those that are not finished by then are ended.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from program import ROOT, Cell, Runs, table

ALL = {"gate.attach": "heads+ffn+layers"}
STATIC = {"gate.logits": "static"}
FROM_START = {**STATIC, "gate.attach": "layers", "schedule.warmup": 0}
FIRST = {**FROM_START, "gate.static_by": "first"}
PARTS = {"gate.attach": "heads+ffn"}
ROUNDS = {"gate.static_rounds": 8}
# Gates are fixed early, and what is left trains on from a full learning rate.
EARLY = {"schedule.warmup": 0.02, "schedule.anneal_until": 0.35, "schedule.ramp_until": 0.7, "train.lr_restart": "true"}


@dataclass
class Method:
    label: str
    options: dict[str, object]
    taught: bool = False   # by the dense run of the same seed
    started: bool = False  # from the weights of that run
    layers: int = 0        # only the encoder's first ones; 0: all


METHODS = {
    "gate": Method("gates on heads, neurons, layers", ALL),
    "gate-teacher": Method("the same, taught by the dense model", ALL, True),
    "gate-dense": Method("the same, taught by the dense model and started from it", ALL, True, True),
    "gate-layers": Method("gates on layers", {"gate.attach": "layers"}),
    "gate-layers-measured": Method("layers closed one by one by validation loss", {"gate.attach": "layers", "gate.worth": "measured"}),
    "gate-early": Method("the same, gates fixed early", {**ALL, **EARLY}, True, True),
    "gate-parts": Method("gates on heads and neurons", PARTS),
    **{f"first-{k}-parts": Method(f"first {k} layers, gates on heads and neurons, taught and started likewise", {**PARTS, **EARLY}, True, True, k)
       for k in (3, 4, 5, 6, 7, 8, 9, 10)},
    "first": Method("first layers kept", FIRST),
    "first-teacher": Method("first layers kept, taught by the dense model", FIRST, True),
    "first-dense": Method("first layers kept, taught by the dense model and started from it", FIRST, True, True),
    # Baselines are taught and started as the gates are. Gates fixed early also restart the learning rate, which these do not.
    "last": Method("last layers kept, taught and started likewise", {**FROM_START, "gate.static_by": "last"}, True, True),
    "alternate": Method("alternate layers kept, taught and started likewise", {**FROM_START, "gate.static_by": "alternate"}, True, True),
    **{name: Method(f"{label}, taught and started likewise", {**STATIC, "gate.attach": attach, "gate.static_by": by, **rounds}, True, True)
       for name, label, attach, by, rounds in (
           ("heads-gradient", "heads by gradient, one-shot", "heads", "gradient", {}),
           ("heads-gradient-rounds", "heads by gradient, 8 rounds", "heads", "gradient", ROUNDS),
           ("ffn-magnitude", "neurons by magnitude", "ffn", "magnitude", {}),
           ("parts-gradient", "heads and neurons by gradient, one-shot", "heads+ffn", "gradient", {}),
           ("parts-gradient-rounds", "heads and neurons by gradient, 8 rounds", "heads+ffn", "gradient", ROUNDS),
           ("parts-random", "heads and neurons at random", "heads+ffn", "random", {}))},
}
TEACHING = {"distill.weight": 0.5, "distill.temperature": 2, "distill.hidden_weight": 1}


class StructureRuns(Runs):
    kept_only = False  # nothing is trained
    until = float("inf")

    def l0gm(self, *words: str) -> dict:
        left = self.until - time.monotonic()
        return super().l0gm(*words) if words[0] != "train" or left == float("inf") else super().l0gm(*words, timeout=left)

    def train(self, cell: Cell, seed: int, judge: bool = True) -> dict:
        """A run that the program refuses (a speed-up that cannot be) is kept as its message."""
        result = self.out / cell.name / f"{seed}.json"
        if self.kept_only or time.monotonic() > self.until:
            return json.loads(result.read_text()) if result.exists() else {}
        try:
            return super().train(cell, seed, judge)
        except subprocess.TimeoutExpired:
            print(f"{cell.name} seed {seed}: not finished in time", file=sys.stderr)
            return {}
        except RuntimeError as error:
            message = str(error).strip().splitlines()[-1]
            print(f"{cell.name} seed {seed}: {message}", file=sys.stderr)
            shutil.rmtree(self.out / cell.name / str(seed), ignore_errors=True)
            return {"refused": message}

    def all_by_seed(self, cells: list[Cell], seeds: range) -> dict[str, list[dict]]:
        """Seed by seed, so that what an interruption leaves is whole lines; --jobs at a time, the dense run of a seed before its pupils."""
        results: dict[str, list[dict]] = {cell.name: [] for cell in cells}
        with ThreadPoolExecutor(self.jobs) as pool:
            dense = [pool.submit(self.train, cells[0], seed) for seed in seeds]

            def after_its_teacher(cell: Cell, seed: int) -> dict:
                if cell.teacher:
                    dense[seed].result()
                return self.train(cell, seed)
            asked = [(cell, pool.submit(after_its_teacher, cell, seed)) for seed in seeds for cell in cells[1:]]
            results[cells[0].name] = [done.result() for done in dense]
            for cell, done in asked:
                results[cell.name].append(done.result())
        return results

    def throughput(self, folders: list[Path], rounds: int) -> dict[Path, float]:
        """Texts a second (on a processor: of its own seconds) of each run, asked in turn; the median over rounds."""
        found: dict[Path, list[float]] = {}
        for _ in range(rounds):
            for folder in folders:
                result = self.l0gm("bench", "text", str(folder), "--device", self.device, "--threads", "1")
                seconds = result["processor_seconds" if self.device == "cpu" else "inference_seconds"]  # others may use the processor
                found.setdefault(folder, []).append(result["texts"] / seconds)
        medians = {folder: statistics.median(values) for folder, values in found.items()}
        kept = {**self.kept_throughput(), **medians}
        (self.out / "throughput.json").write_text(json.dumps({str(folder): value for folder, value in kept.items()}))
        return kept

    def kept_throughput(self) -> dict[Path, float]:
        kept = self.out / "throughput.json"
        return {Path(key): value for key, value in json.loads(kept.read_text()).items()} if kept.exists() else {}


class Prices:
    """Microseconds of the parts of an encoder, as a run has measured them."""

    def __init__(self, run: Path) -> None:
        self.run, record = run, json.loads((run / "schema.json").read_text())
        shape, times = record["encoder"], record["times"]
        layer = times["rest"] + shape["num_attention_heads"] * times["head"] + shape["intermediate_size"] * times["neuron"]
        self.of_layers = [times["besides"] + k * layer for k in range(shape["num_hidden_layers"] + 1)]

    def speedup(self, layers: int) -> float:
        """Of the first layers alone."""
        return self.of_layers[-1] / self.of_layers[layers]


def asked_of(arguments: argparse.Namespace) -> list[tuple[str, float]]:
    """Methods with the speed-up that each is asked for: every one of --speedups, unless the method names its own."""
    asked = []
    for speedup in arguments.speedups:
        for word in arguments.methods:
            name, _, own = word.partition("@")
            if (name, float(own or speedup)) not in asked:
                asked.append((name, float(own or speedup)))
    return asked


def cells_of(arguments: argparse.Namespace, common: dict[str, object], prices: Prices | None) -> list[Cell]:
    dense = Cell("dense", "dense", arguments.config, {**common, "gate.unit": "none"})
    cells = [dense]
    for name, speedup in asked_of(arguments):
        method = METHODS[name]
        settings = {**common, **method.options, "gate.target_speedup": speedup, **(TEACHING if method.taught else {})}
        if method.layers:
            settings["encoder.layers"] = method.layers
            settings["gate.target_speedup"] = round(speedup / prices.speedup(method.layers), 4) if prices else 0
        if prices:
            settings["encoder.times_from"] = prices.run
        cells.append(Cell(f"{name}-{speedup:g}", method.label, arguments.config, settings, dense if method.taught else None,
                          dense if method.started else None))
    return cells


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.mean(values):.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def row(runs: StructureRuns, cell: Cell, asked: str, results: list[dict], speeds: dict[Path, float], seeds: range) -> list[str]:
    done = [(seed, result) for seed, result in zip(seeds, results) if "test" in result]
    if not done:
        refused = next((result["refused"] for result in results if "refused" in result), "not trained")
        return [asked, cell.label, "0", *["-"] * 8, refused.split("cannot be met: ")[-1][:120]]
    tests = [result["test"] for _, result in done]
    mine = [speeds.get(runs.out / cell.name / str(seed)) for seed, _ in done]
    dense = [speeds.get(runs.out / "dense" / str(seed)) for seed, _ in done]
    ratios = [a / b for a, b in zip(mine, dense) if a and b]
    promised = [test.get("speedup_by_cost", 1.0) for test in tests]
    parts = [" / ".join(str(test[key]) for key in ("layers", "heads", "neurons")) for test in tests if "layers" in test]
    return [asked, cell.label, str(len(done)), spread([100 * result["valid"]["accuracy"] for _, result in done], 2),
            spread([100 * test["accuracy"] for test in tests], 2), spread([test["nll_scaled"] for test in tests], 4),
            spread(promised, 2), spread(ratios, 2) if ratios else "-", f"{statistics.mean(mine):.0f}" if all(mine) else "-",
            spread([test["parameters"] / 1e6 for test in tests], 2), ", ".join(str(test.get("projected_units", 0)) for test in tests), "; ".join(parts)]


HEAD = ["asked", "method", "seeds", "valid accuracy %", "test accuracy %", "NLL calibrated", "promised", "measured", "texts/s", "M parameters", "projected",
        "layers / heads / neurons"]


def encoder_options(name: str) -> dict[str, object]:
    if not name:
        return {}
    folder = Path(os.environ.get("L0GM_WEIGHTS", ROOT.parent / "shared" / "weights")) / name
    if not (folder / "config.json").exists():
        raise SystemExit(f"text_structure.py: no encoder in {folder}; set L0GM_WEIGHTS to the folder that holds {name}")
    return {"encoder.path": folder}


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=ROOT / "examples" / "text" / "imdb.toml")
    parser.add_argument("--encoder", default="gte-small", help="a folder of weights; empty: what the configuration says")
    parser.add_argument("--speedups", type=lambda text: [float(item) for item in text.split(",")], default=[1.5, 2.0, 3.0])
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="of every run, the dense one as well")
    parser.add_argument("--set", action="append", default=[], help="key=value for every run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no training lasts longer than so long from now")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "text_structure")
    parser.add_argument("--only", choices=("train", "time", "table"))
    arguments = parser.parse_args()
    if unknown := {word.split("@")[0] for word in arguments.methods} - set(METHODS):
        parser.error(f"--methods: {', '.join(sorted(unknown))} is none of {', '.join(METHODS)}")
    return arguments


def main() -> None:
    arguments = read_arguments()
    runs = StructureRuns(arguments.program, arguments.out, arguments.jobs, arguments.device)
    runs.kept_only = arguments.only in ("time", "table")
    common: dict[str, object] = encoder_options(arguments.encoder)
    common.update(item.split("=", 1) for item in arguments.set)
    if arguments.epochs:
        common["train.epochs"] = arguments.epochs
    runs.until = time.monotonic() + arguments.seconds
    if not runs.kept_only:
        measuring = Cell("prices", "", arguments.config, {**common, **ALL, "gate.target_speedup": 2, "train.epochs": 1})
        runs.train(measuring, 0, judge=False)  # alone on the device: the times of all others
    measured = runs.out / "prices" / "0"
    cells, seeds = cells_of(arguments, common, Prices(measured) if (measured / "schema.json").exists() else None), range(arguments.seeds)
    results = runs.all_by_seed(cells, seeds)
    folders = [runs.out / cell.name / str(seed) for seed in seeds for cell in cells if "test" in results[cell.name][seed]]
    if arguments.only == "train":
        return
    speeds = runs.kept_throughput() if arguments.only == "table" else runs.throughput(folders, arguments.rounds)
    rows = []
    for cell in cells:
        asked = "1" if cell.name == "dense" else cell.name.rsplit("-", 1)[1]
        rows.append(row(runs, cell, asked, results[cell.name], speeds, seeds))
    table(HEAD, rows)


if __name__ == "__main__":
    main()
