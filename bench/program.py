"""What the bench programs share: running l0gm, keeping finished runs, printing Markdown tables."""

import json
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"


def assignments(options: dict[str, object]) -> list[str]:
    return [word for key, value in options.items() for word in ("--set", f"{key}={value}")]


@dataclass
class Cell:
    """One line of a table: a configuration with some options, trained once per seed."""
    name: str                                  # of the folder
    label: str                                 # in the table
    config: Path
    options: dict[str, object] = field(default_factory=dict)
    teacher: "Cell | None" = None              # distilled from its run of the same seed
    start: "Cell | None" = None                # started from its weights of the same seed


class Runs:
    def __init__(self, program: Path, out: Path, jobs: int = 1, device: str = "cpu", peers: Path = PEERS) -> None:
        self.program, self.out, self.jobs, self.device, self.peers = program, out, jobs, device, peers

    def l0gm(self, *words: str, timeout: float | None = None) -> dict:
        done = subprocess.run([str(self.program), "--quiet", "--json", *words], capture_output=True, text=True, check=False, timeout=timeout)
        if done.returncode != 0:
            raise RuntimeError(f"l0gm {' '.join(words)}: exit status {done.returncode}: {done.stderr}{done.stdout[-500:]}")
        return json.loads(done.stdout)

    def train(self, cell: Cell, seed: int, judge: bool = True) -> dict:
        """Trains unless there is a finished run of that name, configuration and settings; returns {"valid": …, "test": … when `judge`}."""
        folder, result = self.out / cell.name / str(seed), self.out / cell.name / f"{seed}.json"
        options = dict(cell.options)
        key = cell.config.read_text() + " ".join(assignments(options))
        for other, option, word in ((cell.teacher, "distill.from", "from"), (cell.start, "model.init_from", "started from")):
            if other:
                options[option] = str(self.out / other.name / str(seed))
                key += f" {word} {other.name}"
        if not result.exists() or json.loads(result.read_text()).get("key") != key:
            shutil.rmtree(folder, ignore_errors=True)
            threads = ["--threads", "1", "--device", self.device]
            valid = self.l0gm("train", str(cell.config), "--out", str(folder), "--seed", str(seed), *threads, *assignments(options))
            test = self.l0gm("eval", str(folder), *threads) if judge else None
            summary = json.loads((folder / "summary.json").read_text())
            result.write_text(json.dumps({"key": key, "valid": valid, "test": test, "seconds": summary["seconds"],
                                          "best_step": summary["best_step"], "steps": summary["steps"]}))
            print(f"{cell.name} seed {seed}: valid NLL {valid['nll']:.4f}, {valid['open_units']} open, {summary['seconds']:.0f} s", file=sys.stderr)
        return json.loads(result.read_text())

    def all(self, cells: list[Cell], seeds: range = range(3)) -> dict[str, list[dict]]:
        """Every cell with every seed, `jobs` at a time; teachers first."""
        teachers = list({cell.teacher.name: cell.teacher for cell in cells if cell.teacher}.values())
        results = {}
        for group in (teachers, cells):
            wanted = [(cell, seed) for cell in group for seed in seeds]
            with ThreadPoolExecutor(self.jobs) as pool:
                done = list(pool.map(lambda item: self.train(*item), wanted))
            for (cell, _), result in zip(wanted, done):
                results.setdefault(cell.name, []).append(result)
        return {cell.name: results[cell.name][:len(seeds)] for cell in cells}


def mean(results: list[dict], split: str, key: str) -> float:
    return statistics.mean(result[split][key] for result in results)


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * " | ".join(head).count("|") + "---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()
