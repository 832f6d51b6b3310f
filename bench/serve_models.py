"""Our models for bench/latency.py: trained, compacted, judged as files. Kept in runs/tables like the runs they build on."""

import statistics
import sys
from pathlib import Path

from program import ROOT, Cell, Runs, table

FAST, ADULT = (ROOT / "examples" / "adult" / name for name in ("fast.toml", "adult.toml"))
# What can be made of a run: name in the tables, further words of `l0gm compact`.
WORDS = {"": [], ", bfloat16": ["--weights", "bfloat16"], ", int8": ["--weights", "int8"], ", not folded": ["--fold-bytes", "0"]}


def cells(protocol: str) -> list[tuple[Cell, list[str]]]:
    """The runs, and which files are made of each."""
    settings = {"data.protocol": protocol}
    teacher = Cell(f"shallow-teacher-{protocol}", "net B at 20 %, 2 x 256", ADULT, settings)
    taught = {**settings, "distill.weight": 0.7}
    columns = {"gate.unit": "group", "gate.target_active": 0.7}
    return [(Cell(f"serve-gated-{protocol}", "gated at 30 %, taught", FAST, taught, teacher), list(WORDS)),
            (Cell(f"serve-dense-{protocol}", "dense, taught", FAST, {**taught, "gate.unit": "none"}, teacher), ["", ", not folded"]),
            (Cell(f"serve-columns-{protocol}", "columns gated at 70 %, taught", FAST, {**taught, **columns}, teacher), [""]),
            (Cell(f"serve-alone-{protocol}", "gated at 30 %, not taught", FAST, settings), [""]),
            (teacher, list(WORDS))]


def compact(runs: Runs, cell: Cell, seed: int, name: str, words: list[str], out: Path) -> dict:
    """The compact file of one run, made anew: it belongs to the program as it is."""
    path = out / f"{cell.name}-{seed}{name.replace(',', '').replace(' ', '-')}.l0gm"
    return {**runs.l0gm("compact", str(runs.out / cell.name / str(seed)), "--out", str(path), *words), "path": path}


def span(made: list[dict], key: str) -> str:
    low, high = min(m[key] for m in made), max(m[key] for m in made)
    return f"{low}" if low == high else f"{low}-{high}"


def make_models(program: Path, out: Path, jobs: int = 2) -> dict[str, Path]:
    """Trains and compacts everything; prints what the files are worth. Returns those that are measured: split 0 of `openml`."""
    runs, measured = Runs(program, ROOT / "runs" / "tables", jobs), {}
    out.mkdir(parents=True, exist_ok=True)
    print("### The files, judged on test rows through the runtime, mean over splits 0, 1, 2\n")
    rows = []
    for protocol in ("openml", "uci"):
        runs.all([cell for cell, _ in cells(protocol)])
        for cell, names in cells(protocol):
            for name in names:
                made = [compact(runs, cell, seed, name, WORDS[name], out) for seed in range(3)]
                of = lambda key: statistics.mean(m["figures"]["test"][key] for m in made)
                parity = max(m["parity_float32"] for m in made)
                moved = max((m["rounding"]["largest_difference"] for m in made if "rounding" in m), default=None)
                rows.append([protocol, cell.label + name, f"{span(made, 'open_units')} of {made[0]['units']}", span(made, "columns"),
                             f"{statistics.mean(m['bytes'] for m in made) / 1e3:,.0f}", f"{of('accuracy'):.4f}", f"{of('auc'):.4f}", f"{of('nll'):.4f}",
                             f"{of('nll_scaled'):.4f}", f"{of('ece_binary'):.4f} ({of('ece_binary_floor'):.4f})",
                             f"{parity:.1e}" if moved is None else f"moved by {moved:.1e}"])
                if protocol == "openml" and (cell.config == FAST or not name):
                    measured[cell.label + name] = made[0]["path"]
                print(f"{protocol} {cell.label}{name}: NLL {of('nll'):.4f}", file=sys.stderr)
    table(["protocol", "file", "open units", "columns read", "KB", "accuracy", "AUC", "NLL", "NLL calibrated", "ECE (floor)",
           "from the trained model, at most"], rows)
    return measured
