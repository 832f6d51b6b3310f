#!/usr/bin/env python3
"""Makes the figures of docs/results/tables.md: every run by the l0gm program or by a peer's own library, finished runs are kept and skipped
as long as configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/tables.py [tune|adult|frontier|robust|models|shallow|messy|peers|speed ...] [--jobs 2] [--device cpu] [--out runs/tables]
Prints one Markdown section per part. Needs the Adult files (L0GM_DATA) and, for peers, the environment of peers/setup.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from runs import HEAD, PEERS, ROOT, Cell, Runs, figures, mean, robustness, table, units

ADULT, FAST, MESSY = (ROOT / "examples" / name for name in ("adult/adult.toml", "adult/fast.toml", "messy/messy.toml"))
DENSE = {"gate.unit": "none"}
MASKS = {"random": {"gate.logits": "static", "gate.static_by": "random"},
         "magnitude": {"gate.logits": "static", "gate.static_by": "magnitude"}}
NO_STATISTICS, COLUMNS = {"table.statistics": "none"}, {"table.statistics": "columns"}
DROPOUTS = (0.2, 0.4)  # of the interface: tried for every line alike, chosen on validation rows


def with_dropouts(cell: Cell) -> list[Cell]:
    return [Cell(f"{cell.name}-d{share}", cell.label, cell.config, {**cell.options, "model.interface_dropout": share}) for share in DROPOUTS]


def chosen(runs: Runs, cells: list[Cell]) -> dict[str, tuple[float, list[dict]]]:
    """Trains each line with every interface dropout; keeps the one with the lower mean validation loss."""
    results = runs.all([variant for cell in cells for variant in with_dropouts(cell)])
    best = {}
    for cell in cells:
        candidates = [(mean(results[variant.name], "valid", "nll"), share, results[variant.name])
                      for variant, share in zip(with_dropouts(cell), DROPOUTS)]
        best[cell.name] = min(candidates, key=lambda candidate: candidate[0])[1:]
    return best


def line(label: str, share: float, results: list[dict], *further: str) -> list[str]:
    return [label, units(results), f"{mean(results, 'test', 'parameters'):,.0f}", f"{share:g}", *further, figures(results, "test")]


def tune(runs: Runs) -> None:
    choices = {
        "examples/adult/adult.toml": {}, "interface dropout .2": {"model.interface_dropout": 0.2}, "interface dropout .3": {"model.interface_dropout": 0.3},
        "interface dropout .5": {"model.interface_dropout": 0.5}, "batch 512": {"train.batch": 512}, "12 epochs": {"train.epochs": 12},
        "24 epochs": {"train.epochs": 24}, "lr 1e-3": {"train.lr": 1e-3}, "gate lr .05": {"train.gate_lr": 0.05}, "noise batch": {"gate.noise": "batch"},
        "mlp": {"model.name": "mlp"}, "wide-deep": {"model.name": "wide-deep"}, "xdeepfm": {"model.name": "xdeepfm"},
        "plain pairs": {"fm.weighted": "false"}, "members 4": {"model.members": 4}, "hidden 64": {"model.hidden": 64}, "depth 1": {"model.depth": 1},
        "width 8": {"model.width": 8}, "statistics of columns": COLUMNS, "no statistics": NO_STATISTICS,
    }
    cells = [Cell(f"tune-{name.replace(' ', '-').replace('/', '-')}-{protocol}", name, ADULT, {"data.protocol": protocol, **options})
             for name, options in choices.items() for protocol in ("openml", "uci")]
    results = runs.all(cells)
    rows = []
    for openml, uci in zip(cells[::2], cells[1::2]):
        both = results[openml.name] + results[uci.name]
        rows.append([openml.label, f"{mean(results[openml.name], 'valid', 'nll'):.5f}", f"{mean(results[uci.name], 'valid', 'nll'):.5f}",
                     f"{mean(both, 'valid', 'nll'):.5f}", f"{mean(both, 'valid', 'auc'):.5f}", f"{max(r['valid']['projected_units'] for r in both)}"])
    print("### Choices, validation rows, mean over three splits of each protocol\n")
    table(["choice", "NLL `openml`", "NLL `uci`", "NLL both", "AUC both", "most projected units"], rows)


def adult(runs: Runs) -> None:
    print("### Adult, test rows, mean over splits 0, 1, 2\n")
    for protocol in ("openml", "uci"):
        set_protocol = {"data.protocol": protocol}
        lines = {"net B, gate at 20 %": {}, "net B, gate at 8 %": {"gate.target_active": 0.08}, "net B, dense": DENSE,
                 "net B, random mask": MASKS["random"], "net B, magnitude mask": MASKS["magnitude"],
                 "dense, width 3, statistics of columns": {**DENSE, **COLUMNS, "model.width": 3},
                 "dense, width 5, no statistics": {**DENSE, **NO_STATISTICS, "model.width": 5},
                 "net A, dense": {**DENSE, **NO_STATISTICS},
                 "net A, gate at 16 %": {**NO_STATISTICS, "gate.target_active": 0.16},
                 "net A, gate at 30 %": {**NO_STATISTICS, "gate.target_active": 0.3},
                 "dense, width 2, no statistics": {**DENSE, **NO_STATISTICS, "model.width": 2}}
        cells = [Cell(f"adult-{protocol}-{label.replace(' ', '-').replace(',', '').replace('%', 'percent')}", label, ADULT, {**set_protocol, **options})
                 for label, options in lines.items()]
        best = chosen(runs, cells)
        print(f"`{protocol}`\n")
        table(["line", "open units", "parameters", "interface dropout", HEAD], [line(cell.label, *best[cell.name]) for cell in cells])


# Dense models with about as many dimensions as the share of net B's 460 leaves.
NARROW = {0.5: ("dense, width 4, statistics of pairs (232)", {"model.width": 4}),
          0.25: ("dense, width 5, statistics of columns (119)", {**COLUMNS, "model.width": 5}),
          0.125: ("dense, width 2, statistics of columns (62)", {**COLUMNS, "model.width": 2}),
          0.06: ("dense, width 1, no statistics (19)", {**NO_STATISTICS, "model.width": 1}),
          0.03: ("dense, width 1, no statistics (19)", {**NO_STATISTICS, "model.width": 1})}


def frontier(runs: Runs) -> None:
    cells = [("100 %", Cell("frontier-dense", "dense", ADULT, DENSE))]
    for share, (label, options) in NARROW.items():
        target = {"gate.target_active": share}
        cells += [(f"{100 * share:g} %", Cell(f"frontier-gate-{share}", "gate", ADULT, target)),
                  (f"{100 * share:g} %", Cell(f"frontier-random-{share}", "random mask", ADULT, {**target, **MASKS["random"]})),
                  (f"{100 * share:g} %", Cell(f"frontier-magnitude-{share}", "magnitude mask", ADULT, {**target, **MASKS["magnitude"]})),
                  (f"{100 * share:g} %", Cell(f"frontier-narrow-{share}", label, ADULT, {**DENSE, **options}))]
    best = chosen(runs, [cell for _, cell in cells])
    print("### The frontier of net B on Adult `openml`, test rows, mean over splits 0, 1, 2\n")
    table(["asked", "line", "open units", "parameters", "interface dropout", HEAD],
          [[asked, *line(cell.label, *best[cell.name])] for asked, cell in cells])


def robust(runs: Runs) -> None:
    lines = {"net B, dense": DENSE, "net B, gate at 50 %": {"gate.target_active": 0.5}, "net B, gate at 25 %": {"gate.target_active": 0.25},
             "net B, gate at 12.5 %": {"gate.target_active": 0.125}, "net B, gate at 6 %": {"gate.target_active": 0.06},
             "net B, gate at 3 %": {"gate.target_active": 0.03}, "net A, dense": {**DENSE, **NO_STATISTICS},
             "net A, gate at 16 %": {**NO_STATISTICS, "gate.target_active": 0.16},
             "net A, gate by column at 30 %": {**NO_STATISTICS, "gate.unit": "group", "gate.target_active": 0.3},
             "dense, width 1, no statistics": {**DENSE, **NO_STATISTICS, "model.width": 1}}
    cells = [Cell(f"robust-{label.replace(' ', '-').replace(',', '').replace('%', 'percent')}", label, ADULT, options) for label, options in lines.items()]
    results = runs.all(cells)
    print("### Perturbed test rows, Adult `openml`, interface dropout .4, mean over splits 0, 1, 2 and 12 conditions\n")
    kinds = {"missing": "missing", "noise": "noise", "quantise": "quantised", "occlude": "occluded"}

    def of_kind(result: dict, kind: str) -> float:
        return statistics.mean(figures["auc"] for name, figures in result["test"]["conditions"].items() if name.startswith(kind))

    table(["line", "open units", "clean accuracy / AUC / NLL", "Rob mu: accuracy / AUC / NLL", *(f"AUC, {name}" for name in kinds.values())],
          [[cell.label, units(results[cell.name]), " / ".join(f"{mean(results[cell.name], 'test', key):.4f}" for key in ("accuracy", "auc", "nll")),
            robustness(results[cell.name]), *(f"{statistics.mean(of_kind(r, kind) for r in results[cell.name]):.4f}" for kind in kinds)] for cell in cells])


def models(runs: Runs) -> None:
    cells = []
    for name in ("linear", "fm", "mlp", "wide-deep", "deepfm", "cin", "xdeepfm"):
        options = {**NO_STATISTICS, "model.name": name, "model.interface_dropout": 0 if name == "linear" else 0.3}
        cells += [Cell(f"models-{name}-dense", f"`{name}`, dense", ADULT, {**options, **DENSE}),
                  Cell(f"models-{name}-gate", f"`{name}`, gate at 12.5 %", ADULT, {**options, "gate.target_active": 0.125})]
    options = {**NO_STATISTICS, "model.name": "xdeepfm", "model.interface_dropout": 0.3, "cin.rank": 4}
    cells += [Cell("models-xdeepfm-rank-dense", "`xdeepfm`, rank 4, dense", ADULT, {**options, **DENSE}),
              Cell("models-xdeepfm-rank-gate", "`xdeepfm`, rank 4, gate at 12.5 %", ADULT, {**options, "gate.target_active": 0.125})]
    cells.append(Cell("models-deepfm-no-exact", "`deepfm`, dense, without exact values", ADULT,
                      {**NO_STATISTICS, **DENSE, "model.interface_dropout": 0.3, "table.exact_values": "off"}))
    results = runs.all(cells)
    print("### Every model on Adult `openml`, no statistics, test rows, mean over splits 0, 1, 2\n")
    table(["model", "units", "open units", "parameters", HEAD, "seconds to train"],
          [[cell.label, str(results[cell.name][0]["test"]["units"]), units(results[cell.name]), f"{mean(results[cell.name], 'test', 'parameters'):,.0f}",
            figures(results[cell.name], "test"), f"{statistics.mean(r['seconds'] for r in results[cell.name]):.0f}"] for cell in cells])


def shallow(runs: Runs) -> None:
    print("### Narrow and shallow, one member, test rows, mean over splits 0, 1, 2\n")
    for protocol in ("openml", "uci"):
        set_protocol = {"data.protocol": protocol}
        teacher = Cell(f"shallow-teacher-{protocol}", "teacher: net B, 20 %", ADULT, set_protocol)
        distil = {"distill.weight": 0.7}
        cells = [teacher]
        for depth in (1, 2):
            of_depth = {**set_protocol, "model.depth": depth, "model.hidden": 64}
            cells += [Cell(f"shallow-a-{depth}-{protocol}", f"net A, hidden 64, depth {depth}", FAST, of_depth),
                      Cell(f"shallow-a-{depth}-distilled-{protocol}", f"net A, hidden 64, depth {depth}, distilled", FAST, {**of_depth, **distil}, teacher),
                      Cell(f"shallow-b-{depth}-{protocol}", f"net B, hidden 64, depth {depth}", ADULT, of_depth)]
        results = runs.all(cells)
        print(f"`{protocol}`\n")
        table(["line", "open units", "parameters", "columns read", HEAD],
              [[cell.label, units(results[cell.name]), f"{mean(results[cell.name], 'test', 'parameters'):,.0f}",
                f"{statistics.mean(len(r['test']['open_columns']) for r in results[cell.name]):.1f}", figures(results[cell.name], "test")] for cell in cells])


def messy(runs: Runs) -> None:
    lines = {"defaults, dense": DENSE, "without exact values": {**DENSE, "table.exact_values": "off"},
             "statistics of columns": {**DENSE, **COLUMNS}, "statistics of pairs": {**DENSE, "table.statistics": "pairs"},
             "gate at 25 %": {"gate.target_active": 0.25}, "gate at 12.5 %": {"gate.target_active": 0.125},
             "random mask at 12.5 %": {"gate.target_active": 0.125, **MASKS["random"]}, "dense, width 2": {**DENSE, "model.width": 2}}
    numeric = json.loads(subprocess.run([str(runs.program), "--quiet", "--json", "data", "info", "messy-table"], capture_output=True, text=True,
                                        check=True).stdout)
    cells = [Cell(f"messy-{label.replace(' ', '-').replace(',', '').replace('%', 'percent')}", label, MESSY, options) for label, options in lines.items()]
    results = {cell.name: [] for cell in cells}
    for seed in range(3):  # other rows for every seed
        part = runs.all([Cell(f"{cell.name}-{seed}", cell.label, cell.config, {**cell.options, "data.split.seed": seed}) for cell in cells], range(seed, seed + 1))
        for cell in cells:
            results[cell.name] += part[f"{cell.name}-{seed}"]
    print(f"### `messy-table`, three seeds of rows and weights; the best possible: {numeric.get('truth', {})}\n")
    table(["line", "open units", "parameters", HEAD], [[cell.label, units(results[cell.name]), f"{mean(results[cell.name], 'test', 'parameters'):,.0f}",
                                                        figures(results[cell.name], "test")] for cell in cells])
    rows = []
    for method, flags in PEER_METHODS:
        judged = [peer(runs, MESSY, f"messy-{seed}", seed, method, flags, {"data.split.seed": seed}) for seed in range(3)]
        rows.append([f"{method}{' with exact values' if flags else ''}", figures(judged, "test")])
    table(["peer", HEAD], rows)


PEER_METHODS = (("xgboost", []), ("lightgbm", []), ("catboost", []), ("catboost", ["--exact-values"]))


def peer(runs: Runs, config: Path, name: str, seed: int, method: str, flags: list[str], options: dict[str, object]) -> dict:
    """A peer on the rows of one split and its perturbed copies, judged by our code; kept like our own runs."""
    export, folder = runs.out / "peers" / name, runs.out / "peers" / f"{name}-{method}{''.join(flags)}"
    if not (export / "perturbed.json").exists():
        words = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
        runs.l0gm("data", "export", str(config), "--out", str(export), "--perturb", "--set", f"train.seed={seed}", *words)
    if not (folder / "summary.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([str(PEERS), str(ROOT / "peers" / "train.py"), method, str(export), "--out", str(folder), "--seed", str(seed),
                        "--threads", "2", *flags], check=True, stdout=sys.stderr)
    return {"test": runs.l0gm("eval", str(folder), "--perturb"), "seconds": json.loads((folder / "summary.json").read_text())["train_seconds"]}


def peers(runs: Runs) -> None:
    print("### Boosted trees on the same rows, judged by the same code (test rows, mean over splits 0, 1, 2)\n")
    for protocol in ("openml", "uci"):
        rows = []
        for method, flags in PEER_METHODS:
            judged = [peer(runs, ADULT, f"{protocol}-{seed}", seed, method, flags, {"data.protocol": protocol}) for seed in range(3)]
            rows.append([f"{method}{' with exact values' if flags else ''}", figures(judged, "test"), robustness(judged),
                         f"{statistics.mean(result['seconds'] for result in judged):.1f}"])
        print(f"`{protocol}`\n")
        table(["peer", HEAD, "Rob mu: accuracy / AUC / NLL", "seconds to train, 2 threads"], rows)


def speed(runs: Runs) -> None:
    print("### Time to train, Adult `openml`, 2 threads\n")
    rows = []
    for label, options in {"recommended (net B, gate at 20 %)": {}, "net B, dense": DENSE, "net A, dense": {**DENSE, **NO_STATISTICS}}.items():
        folder = runs.out / "speed"
        shutil.rmtree(folder, ignore_errors=True)  # never a kept run: this one measures
        words = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
        runs.l0gm("train", str(ADULT), "--out", str(folder), "--threads", "2", *words)
        lines = [json.loads(text) for text in (folder / "metrics.jsonl").read_text().splitlines()]
        epochs = [b["seconds"] - a["seconds"] for a, b in zip(lines[1:8], lines[2:9])]
        done = subprocess.run([str(ROOT / ".venv" / "bin" / "python"), str(ROOT / "bench" / "peers" / "eager_table.py"), str(folder), "--threads", "2",
                               "--epochs", "4"], capture_output=True, text=True, check=True)
        eager = json.loads(done.stdout)
        ours = statistics.median(epochs)
        whole = json.loads((folder / "summary.json").read_text())["seconds"]
        rows.append([label, f"{whole:.1f}", f"{ours:.2f}", f"{eager['seconds_per_epoch']:.2f}", f"{eager['seconds_per_epoch'] / ours:.2f}"])
    table(["run", "seconds, all of it", "seconds per epoch, validation included", "eager PyTorch: seconds per epoch", "ratio"], rows)


def main() -> None:
    parts = {"tune": tune, "adult": adult, "frontier": frontier, "robust": robust, "models": models, "shallow": shallow, "messy": messy, "peers": peers, "speed": speed}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "tables")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts:
        parts[name](Runs(arguments.l0gm, arguments.out, arguments.jobs, arguments.device, perturb=name == "robust"))
        print(flush=True)


if __name__ == "__main__":
    main()
