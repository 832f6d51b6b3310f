#!/usr/bin/env python3
"""Makes the figures of docs/results/text.md that come from trainings: every run by the l0gm program, finished ones are kept and skipped as long as
configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/text.py [tuned|frozen|scratch ...] [--seeds 3] [--encoder gte-small] [--jobs 1] [--device cuda] [--out runs/text] [--lean]
Prints one Markdown section per part. Needs IMDB (L0GM_DATA) and, but for `scratch`, the folders of weights (L0GM_WEIGHTS).
--lean removes the weights of a run when it has been judged; its figures stay.
--table prints what is there and trains nothing.
"""

import argparse
import json
import os
import shutil
import statistics
import time
from pathlib import Path

from program import ROOT, Cell, Runs, table

EXAMPLES = ROOT / "examples" / "text"
DENSE = {"gate.unit": "none"}
GATE: dict[str, object] = {}
RANDOM = {"gate.logits": "static", "gate.static_by": "random"}
MAGNITUDE = {"gate.logits": "static", "gate.static_by": "magnitude"}


class TextRuns(Runs):
    """Also judges the same predictions by temperature, since a text's own calibrator is another one; may leave no weights behind."""
    lean = False
    only_table = False
    until = float("inf")  # nothing is started later, by time.monotonic()

    def train(self, cell: Cell, seed: int, judge: bool = True) -> dict:
        folder, result = self.out / cell.name / str(seed), self.out / cell.name / f"{seed}.json"
        if self.only_table:
            return json.loads(result.read_text()) if result.exists() else {}
        start = time.monotonic()
        if start > self.until and not result.exists():
            return {}
        try:
            found = super().train(cell, seed, judge)
        except RuntimeError as error:  # the others go on
            print(f"{cell.name} seed {seed} failed: {error}", flush=True)
            return {}
        if judge and "temperature" not in found:
            self.l0gm("eval", str(folder), "--split", "valid", "--device", self.device)
            judged = self.out / cell.name / f"{seed}-predictions"  # bare predictions are calibrated by temperature
            shutil.copytree(folder / "predictions", judged / "predictions", dirs_exist_ok=True)
            found["temperature"] = self.l0gm("eval", str(judged))
            shutil.rmtree(judged)
            found["wall_seconds"] = time.monotonic() - start
            result.write_text(json.dumps(found))
            if self.lean:
                shutil.rmtree(folder, ignore_errors=True)
        return found


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.mean(values):.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def row(label: str, results: list[dict]) -> list[str]:
    results = [result for result in results if result]
    if not results:
        return [label, "0", *["-"] * 11]
    test = [result["test"] for result in results]
    units = "-".join(str(count) for count in sorted({item["open_units"] for item in test})) if "gate" in label or "mask" in label else "all"
    projected = ", ".join(str(item.get("projected_units", 0)) for item in test) if "gate" in label else "-"
    return [label, str(len(results)), units, projected, spread([100 * item["accuracy"] for item in test], 2), f"{100 * min(item['accuracy'] for item in test):.2f}",
            spread([item["nll"] for item in test], 4), spread([item["ece"] for item in test], 4), f"{statistics.mean(item['ece_floor'] for item in test):.4f}",
            *[spread([item[key] for item in items], 4) for items in ([result["temperature"] for result in results], test) for key in ("nll_scaled", "ece_scaled")]]


HEAD = ["", "seeds", "open", "projected", "accuracy %", "worst", "NLL", "ECE", "floor", "NLL temperature", "ECE temperature", "NLL power", "ECE power"]


def share(value: float) -> str:
    return f"{100 * value:.3g} %"


def weights(encoder: str) -> Path:
    folder = Path(os.environ.get("L0GM_WEIGHTS", ROOT.parent / "shared" / "weights")) / encoder
    if not (folder / "config.json").exists():
        raise SystemExit(f"text.py: no encoder in {folder}; set L0GM_WEIGHTS to the folder that holds {encoder}")
    return folder


def run_cells(runs: TextRuns, cells: list[Cell], seeds: range) -> dict[str, list[dict]]:
    """Seed by seed, so that what an interruption leaves is whole lines."""
    results: dict[str, list[dict]] = {cell.name: [] for cell in cells}
    for seed in seeds:
        for name, found in runs.all(cells, seeds=range(seed, seed + 1)).items():
            results[name] += found
    return results


def tuned(runs: TextRuns, encoder: str, seeds: range) -> None:
    path = {"encoder.path": weights(encoder)}
    cells = [Cell(f"tuned-{encoder}-dense", "dense", EXAMPLES / "imdb.toml", {**path, **DENSE})]
    for value in (0.125, 0.016, 0.5, 0.0625):
        kinds = {"gate": GATE, "random mask": RANDOM, "magnitude mask": MAGNITUDE} if value in (0.125, 0.016) else {"gate": GATE}
        cells += [Cell(f"tuned-{encoder}-{kind.split()[0]}-{value}", f"{kind} {share(value)}", EXAMPLES / "imdb.toml",
                       {**path, **options, "gate.target_active": value}) for kind, options in kinds.items()]
    results = run_cells(runs, cells, seeds)
    print(f"### {encoder}, fine-tuned\n")
    table(HEAD, [row(cell.label, results[cell.name]) for cell in cells])


def frozen(runs: TextRuns, encoder: str, seeds: range) -> None:
    path = {"encoder.path": weights(encoder)}
    cells = [Cell(f"frozen-{encoder}-dense", "dense", EXAMPLES / "frozen.toml", {**path, **DENSE})]
    for value in (0.5, 0.25, 0.125, 0.0625, 0.03125, 0.016):
        cells += [Cell(f"frozen-{encoder}-{kind.split()[0]}-{value}", f"{kind} {share(value)}", EXAMPLES / "frozen.toml",
                       {**path, **options, "gate.target_active": value})
                  for kind, options in {"gate": GATE, "magnitude mask": MAGNITUDE, "random mask": RANDOM}.items()]
    results = run_cells(runs, cells, seeds)
    print(f"### {encoder}, frozen\n")
    table(HEAD, [row(cell.label, results[cell.name]) for cell in cells])


def scratch(runs: TextRuns, encoder: str, seeds: range) -> None:
    del encoder
    cells = [Cell("scratch-dense", "dense", EXAMPLES / "scratch.toml", DENSE), Cell("scratch-gate", "gate 25 %", EXAMPLES / "scratch.toml")]
    results = run_cells(runs, cells, seeds)
    print("### From scratch\n")
    table([*HEAD, "minutes"], [[*row(cell.label, results[cell.name]), spread([r["seconds"] / 60 for r in results[cell.name] if r], 1)] for cell in cells])


def main() -> None:
    parts = {"tuned": tuned, "frozen": frozen, "scratch": scratch}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--encoder", default="gte-small")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "text")
    parser.add_argument("--lean", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no training later than that")
    arguments = parser.parse_args()
    runs = TextRuns(arguments.program, arguments.out, arguments.jobs, arguments.device)
    runs.until = time.monotonic() + arguments.seconds
    runs.lean, runs.only_table = arguments.lean, arguments.table
    for name in arguments.parts:
        parts[name](runs, arguments.encoder, range(arguments.first_seed, arguments.first_seed + arguments.seeds))


if __name__ == "__main__":
    main()
