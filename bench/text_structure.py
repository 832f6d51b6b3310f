#!/usr/bin/env python3
"""Accuracy against measured throughput: gates on heads, neurons and layers beside every baseline, at several speed-ups. Every run by the l0gm program;
finished ones are kept and skipped as long as configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/text_structure.py [--config examples/text/imdb.toml] [--encoder gte-small] [--speedups 1.5,2,3] [--seeds 3] [--first-seed 0] [--device cuda]
                               [--set key=value …] [--methods gate,first,last@1.5,…] [--jobs 1] [--seconds S] [--only train|time|table] [--out runs/text_structure]
A GPU:       L0GM_DATA=… L0GM_WEIGHTS=… bench/text_structure.py --device cuda --epochs 3 > text_structure.md
A processor: bench/text_structure.py --config examples/text/faster.toml --encoder '' --device cpu --seeds 2
Promised by operations, measured by a clock: the same with --set gate.cost=flops

Every method is asked for the same speed-up, by times that were measured on the device before its training, or by operations,
and trains for as many steps; then all runs are timed in turn (`l0gm bench text`, --rounds times, the median counts), so that the table shows what was reached and not what was asked for. Methods on the
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


@dataclass
class StructureCell(Cell):
    layers: int = 0  # as its method's


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
            dense = {seed: pool.submit(self.train, cells[0], seed) for seed in seeds}

            def after_its_teacher(cell: Cell, seed: int) -> dict:
                if cell.teacher:
                    dense[seed].result()
                return self.train(cell, seed)
            asked = [(cell, pool.submit(after_its_teacher, cell, seed)) for seed in seeds for cell in cells[1:]]
            results[cells[0].name] = [done.result() for done in dense.values()]
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


def operations(record: dict) -> dict[str, float]:
    """Of a training text, as gate.cost = flops counts them (encoders/text/part_costs.cpp); pooling by the mean."""
    hidden, heads = record["encoder"]["hidden_size"], record["encoder"]["num_attention_heads"]
    tokens, pairs, width = record["mean_tokens"], record["mean_square_tokens"], hidden / heads
    outputs = len(record["classes"]) if len(record["classes"]) > 2 else 1
    return {"rest": 18 * hidden * tokens, "head": 8 * hidden * width * tokens + (4 * width + 5) * pairs,
            "neuron": (4 * hidden + 8) * tokens, "besides": 11 * hidden * tokens + 2 * outputs * hidden}


class Prices:
    """What the parts of an encoder cost by gate.cost of a run: microseconds, as the run measured them, or operations. `found`: what it
    said of its validation texts."""

    def __init__(self, run: Path, found: dict) -> None:
        self.run, self.found, record = run, found, json.loads((run / "schema.json").read_text())
        self.timed = "times" in record
        self.of = record["times"] if self.timed else operations(record)
        shape = record["encoder"]
        self.layers, self.heads, self.neurons = (shape[key] for key in ("num_hidden_layers", "num_attention_heads", "intermediate_size"))

    def cost(self, layers: int, heads: int, neurons: int) -> float:
        """Of an encoder with so many layers, and so many heads and neurons in all of them together."""
        return self.of["besides"] + layers * self.of["rest"] + heads * self.of["head"] + neurons * self.of["neuron"]

    def first(self, layers: int) -> float:
        return self.cost(layers, layers * self.heads, layers * self.neurons)

    def speedup(self, layers: int) -> float:
        """Of the first layers alone."""
        self.check()
        return self.first(self.layers) / self.first(layers)

    def check(self) -> None:
        """Against the program's own figure of the run: with pooling by the first token, say, the last layer has other prices."""
        if "speedup_by_cost" not in self.found:
            return
        told, left = self.found["speedup_by_cost"], self.cost(*(self.found[key] for key in ("layers", "heads", "neurons")))
        if abs(self.first(self.layers) / left / told - 1) > 0.01:
            raise SystemExit(f"text_structure.py: by prices {self.run} is {self.first(self.layers) / left:.3f} times as fast, "
                             f"l0gm says {told:.3f}: leave out methods on the first layers")


def asked_of(arguments: argparse.Namespace) -> list[tuple[str, float]]:
    """Methods with the speed-up that each is asked for: every one of --speedups, unless the method names its own."""
    asked = []
    for speedup in arguments.speedups:
        for word in arguments.methods:
            name, _, own = word.partition("@")
            if (name, float(own or speedup)) not in asked:
                asked.append((name, float(own or speedup)))
    return asked


def cells_of(arguments: argparse.Namespace, common: dict[str, object], prices: Prices | None) -> list[StructureCell]:
    dense = StructureCell("dense", "dense", arguments.config, {**common, "gate.unit": "none"})
    cells = [dense]
    for name, speedup in asked_of(arguments):
        method = METHODS[name]
        settings = {**common, **method.options, "gate.target_speedup": speedup, **(TEACHING if method.taught else {})}
        if method.layers:
            if prices and method.layers >= prices.layers:
                print(f"{name}: left out, the encoder has {prices.layers} layers", file=sys.stderr)
                continue
            settings["encoder.layers" if arguments.encoder else "encoder.depth"] = method.layers
            settings["gate.target_speedup"] = round(speedup / prices.speedup(method.layers), 4) if prices else 0
        if prices and prices.timed:
            settings["encoder.times_from"] = prices.run
        cells.append(StructureCell(f"{name}-{speedup:g}", method.label, arguments.config, settings, dense if method.taught else None,
                                   dense if method.started else None, method.layers))
    return cells


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.mean(values):.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def row(runs: StructureRuns, cell: StructureCell, asked: str, results: list[dict], speeds: dict[Path, float], seeds: range,
        prices: Prices | None) -> list[str]:
    done = [(seed, result) for seed, result in zip(seeds, results) if "test" in result]
    if not done:
        refused = next((result["refused"] for result in results if "refused" in result), "not trained")
        return [asked, cell.label, "0", *["-"] * 8, refused.split("cannot be met: ")[-1][:120]]
    tests = [result["test"] for _, result in done]
    mine = [speeds.get(runs.out / cell.name / str(seed)) for seed, _ in done]
    dense = [speeds.get(runs.out / "dense" / str(seed)) for seed, _ in done]
    ratios = [a / b for a, b in zip(mine, dense) if a and b]
    promised = [test.get("speedup_by_cost", 1.0) for test in tests]
    promise = spread(promised, 2)
    if cell.layers and prices:  # the run's own figure is of these layers alone
        promise = f"{spread([prices.speedup(cell.layers) * value for value in promised], 2)} ({promise} of {cell.layers} layers)"
    parts = [" / ".join(str(test[key]) for key in ("layers", "heads", "neurons")) for test in tests if "layers" in test]
    return [asked, cell.label, str(len(done)), spread([100 * result["valid"]["accuracy"] for _, result in done], 2),
            spread([100 * test["accuracy"] for test in tests], 2), spread([test["nll_scaled"] for test in tests], 4),
            promise, spread(ratios, 2) if ratios else "-", f"{statistics.mean(mine):.0f}" if all(mine) else "-",
            spread([test["parameters"] / 1e6 for test in tests], 2), ", ".join(str(test.get("projected_units", 0)) for test in tests), "; ".join(parts)]


def head(results: dict[str, list[dict]]) -> list[str]:
    tests = [result["test"] for of_cell in results.values() for result in of_cell if "test" in result]
    by = ", ".join(sorted({test["gate_cost"] for test in tests if "gate_cost" in test}))
    return ["asked", "method", "seeds", "valid accuracy %", "test accuracy %", "NLL calibrated", f"promised by {by or 'gate.cost'}", "measured", "texts/s",
            "M parameters", "projected", "layers / heads / neurons"]


def encoder_options(name: str) -> dict[str, object]:
    if not name:
        return {}
    folder = Path(os.environ.get("L0GM_WEIGHTS", ROOT.parent / "shared" / "weights")) / name
    if not (folder / "config.json").exists():
        raise SystemExit(f"text_structure.py: no encoder in {folder}; set L0GM_WEIGHTS to the folder that holds {name}")
    return {"encoder.path": folder}


def kept_prices(folder: Path) -> Prices | None:
    run, result = folder / "0", folder / "0.json"
    if not (run / "schema.json").exists():
        return None
    return Prices(run, json.loads(result.read_text())["valid"] if result.exists() else {})


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=ROOT / "examples" / "text" / "imdb.toml")
    parser.add_argument("--encoder", default="gte-small", help="a folder of weights; empty: what the configuration says")
    parser.add_argument("--speedups", type=lambda text: [float(item) for item in text.split(",")], default=[1.5, 2.0, 3.0])
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
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
    prices, seeds = kept_prices(runs.out / "prices"), range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    cells = cells_of(arguments, common, prices)
    results = runs.all_by_seed(cells, seeds)
    folders = [runs.out / cell.name / str(seed) for cell in cells for seed, result in zip(seeds, results[cell.name]) if "test" in result]
    if arguments.only == "train":
        return
    speeds = runs.kept_throughput() if arguments.only == "table" else runs.throughput(folders, arguments.rounds)
    rows = []
    for cell in cells:
        asked = "1" if cell.name == "dense" else cell.name.rsplit("-", 1)[1]
        rows.append(row(runs, cell, asked, results[cell.name], speeds, seeds, prices))
    table(head(results), rows)


if __name__ == "__main__":
    main()
