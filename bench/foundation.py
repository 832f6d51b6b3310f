#!/usr/bin/env python3
"""Makes the figures of docs/results/foundation.md: every run by the l0gm program, finished runs are kept and skipped
as long as configuration and settings are the same (remove the folder after a change of the program).

Usage: bench/foundation.py [control|planted|instance|choices|speed|peers ...] [--l0gm build/release/l0gm] [--out runs/foundation]
Prints one Markdown section per part. Needs the Adult files (L0GM_DATA) and, for filter and peers, the environment of peers/setup.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT / "bench" / "foundation.toml"
PLANTED, INSTANCE = ROOT / "examples" / "planted" / "planted.toml", ROOT / "examples" / "planted" / "instance.toml"


def assignments(options: dict[str, object]) -> list[str]:
    return [word for key, value in options.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


class Runs:
    def __init__(self, program: Path, out: Path) -> None:
        self.program, self.out = program, out

    def l0gm(self, *words: str) -> dict:
        done = subprocess.run([str(self.program), "--quiet", "--json", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"l0gm {' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)

    def train(self, name: str, config: Path, seed: int, **options: object) -> dict:
        """Trains unless there is a finished run of that name, configuration and settings; returns {"valid": …, "test": …}."""
        folder, result = self.out / name / str(seed), self.out / name / f"{seed}.json"
        key = config.read_text() + " ".join(assignments(options))
        if not result.exists() or json.loads(result.read_text()).get("key") != key:
            shutil.rmtree(folder, ignore_errors=True)
            valid = self.l0gm("train", str(config), "--out", str(folder), "--seed", str(seed), "--threads", "1", *assignments(options))
            test = self.l0gm("eval", str(folder), "--threads", "1")
            result.write_text(json.dumps({"key": key, "valid": valid, "test": test}))
            print(f"{name} seed {seed}: valid NLL {valid['nll']:.4f}, {valid['open_units']} open", file=sys.stderr)
        return json.loads(result.read_text())


def mean(results: list[dict], split: str, key: str) -> float:
    return statistics.mean(result[split][key] for result in results)


def figures(results: list[dict], split: str) -> str:
    ece = f"{mean(results, split, 'ece_binary'):.4f} (floor {mean(results, split, 'ece_binary_floor'):.4f})"
    return (f"{mean(results, split, 'accuracy'):.4f} | {mean(results, split, 'auc'):.4f} | {mean(results, split, 'nll'):.4f} | "
            f"{mean(results, split, 'nll_scaled'):.4f} | {ece} | {mean(results, split, 'ece_binary_scaled'):.4f}")


HEAD = "accuracy | AUC | NLL | NLL calibrated | ECE | ECE calibrated |"


def control(runs: Runs) -> None:
    prices = [1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3, 6.4e-3, 1.28e-2, 2.56e-2]
    print("## Control on Adult (`openml`, splits 0, 1, 2)\n\n### A price per unit\n")
    print("| lambda | active fraction, seeds 0, 1, 2 | open units of 224 | parameters | test " + HEAD + "\n|" + "---|" * 10)
    fractions = {seed: [] for seed in range(3)}
    for price in prices:
        results = [runs.train(f"lambda-{price:g}", ADULT, seed, gate__lambda=price, gate__unit="dimension") for seed in range(3)]
        for seed in range(3):
            fractions[seed].append(results[seed]["test"]["active_fraction"])
        shares = ", ".join(f"{result['test']['active_fraction']:.3f}" for result in results)
        units = ", ".join(str(result["test"]["open_units"]) for result in results)
        print(f"| {price:g} | {shares} | {units} | {mean(results, 'test', 'parameters'):,.0f} | {figures(results, 'test')} |")
    for seed, values in fractions.items():
        falling = all(a >= b for a, b in zip(values, values[1:]))
        between = sum(0.2 < value < 0.8 for value in values)
        print(f"\nSeed {seed}: {'non-increasing' if falling else 'NOT non-increasing'}, from {values[0]:.3f} to {values[-1]:.3f}, "
              f"{between} strictly between .2 and .8.")
    print("\n### A share, and its controls\n")
    print("| asked | run | open units | projected units | parameters | test " + HEAD + "\n|" + "---|" * 11)
    dense = [runs.train("dense", ADULT, seed, gate__unit="none") for seed in range(3)]
    print(f"| 1 | dense | 224 | - | {mean(dense, 'test', 'parameters'):,.0f} | {figures(dense, 'test')} |")
    for target in (0.5, 0.25, 0.125, 0.06):
        kinds = {"gate": {}, "random mask": {"gate__logits": "static", "gate__static_by": "random"},
                 "magnitude mask": {"gate__logits": "static", "gate__static_by": "magnitude"}}
        for kind, options in kinds.items():
            results = [runs.train(f"{kind.split()[0]}-{target}", ADULT, seed, gate__target_active=target, **options) for seed in range(3)]
            units = ", ".join(str(result["test"]["open_units"]) for result in results)
            projected = ", ".join(str(result["test"]["projected_units"]) for result in results)
            print(f"| {target} | {kind} | {units} | {projected if kind == 'gate' else '-'} | {mean(results, 'test', 'parameters'):,.0f} | "
                  f"{figures(results, 'test')} |")
        width = max(1, round(16 * target))
        results = [runs.train(f"width-{width}", ADULT, seed, gate__unit="none", model__width=width) for seed in range(3)]
        print(f"| {target} | dense, embedding width {width} | {results[0]['test']['units']} | - | {mean(results, 'test', 'parameters'):,.0f} | "
              f"{figures(results, 'test')} |")


def planted(runs: Runs) -> None:
    print("## `planted-table`, five seeds of rows and weights\n")
    print("| seed | gate at 6 of 30: precision | recall | test AUC | Bayes AUC | lambda chosen on validation | precision | recall | "
          "test AUC | dense test AUC | univariate filter's top 6: planted among them | rank of the product pair |\n|" + "---|" * 12)
    python = ROOT / ".venv-peers" / "bin" / "python"
    for seed in range(5):
        split = {"data__split__seed": seed}
        result = runs.train("planted-target", PLANTED, seed, **split)
        dense = runs.train("planted-dense", PLANTED, seed, gate__unit="none", **split)
        candidates = {price: runs.train(f"planted-lambda-{price:g}", PLANTED, seed, gate__lambda=price, **split)
                      for price in (1e-4, 3e-4, 1e-3, 2e-3, 4e-3)}
        best = min(candidates.values(), key=lambda c: c["valid"]["nll"])
        # The sparsest within .002 of the best validation loss.
        chosen = min((c["valid"]["open_units"], price) for price, c in candidates.items() if c["valid"]["nll"] <= best["valid"]["nll"] + 0.002)[1]
        by_price = candidates[chosen]
        export = runs.out / "planted-export" / str(seed)
        runs.l0gm("data", "export", str(PLANTED), "--out", str(export), "--set", f"data.split.seed={seed}")
        done = subprocess.run([str(python), str(ROOT / "peers" / "filter.py"), str(export)], capture_output=True, text=True, check=True)
        ranking = json.loads(done.stdout)["ranking"]
        truth = result["test"]["planted"]["planted"]
        pair = [ranking.index(name) + 1 for name in result["test"]["planted"]["product"]]
        print(f"| {seed} | {result['test']['planted']['precision']:.2f} | {result['test']['planted']['recall']:.2f} | {result['test']['auc']:.4f} | "
              f"{result['test']['bayes_auc']:.4f} | {chosen:g} | {by_price['test']['planted']['precision']:.2f} | "
              f"{by_price['test']['planted']['recall']:.2f} | {by_price['test']['auc']:.4f} | {dense['test']['auc']:.4f} | "
              f"{sum(name in truth for name in ranking[:6])} of 6 | {', '.join(map(str, pair))} |")


def instance(runs: Runs) -> None:
    print("## `planted-table`, variant `instance`: f00 says which three of six columns matter for a row\n")
    print("| seed | gate | mean open columns per row | columns ever read | right set open, share of test rows | other set closed | test AUC | "
          "Bayes AUC |\n|" + "---|" * 8)
    kinds = {"instance, lambda 4e-3": {}, "global, lambda 4e-3": {"gate__logits": "global"},
             "global, 5 of 30 columns": {"gate__logits": "global", "gate__target_active": 0.1667}}
    for seed in range(3):
        for kind, options in kinds.items():
            name = kind.replace(",", "").replace(" ", "-")
            result = runs.train(name, INSTANCE, seed, data__split__seed=seed, **options)["test"]
            print(f"| {seed} | {kind} | {result['active_fraction'] * 30:.2f} | {len(result['open_columns'])} | "
                  f"{result['planted']['right_set_open']:.3f} | {result['planted']['wrong_set_closed']:.3f} | {result['auc']:.4f} | "
                  f"{result['bayes_auc']:.4f} |")


def choices(runs: Runs) -> None:
    print("## Choices on Adult validation (`openml`, splits 0, 1, 2; 12.5 % open unless said)\n")
    print("| choice | valid NLL | valid AUC | valid ECE | open units | projected units | undecided share |\n|" + "---|" * 7)
    eighth = {"gate__target_active": 0.125}
    variants = {
        "defaults": eighth,
        "no annealing (`schedule.kind = none`)": {**eighth, "schedule__kind": "none"},
        "curve cosine": {**eighth, "schedule__curve": "cosine"},
        "curve exponential": {**eighth, "schedule__curve": "exponential"},
        "one draw per step (`gate.noise = batch`)": {**eighth, "gate__noise": "batch"},
        "rule median": {**eighth, "gate__test_rule": "median"},
        "rule louizos": {**eighth, "gate__test_rule": "louizos"},
        "coupling mmce .3": {**eighth, "coupling__kind": "mmce"},
        "coupling soft-ece .3": {**eighth, "coupling__kind": "soft-ece"},
        "coupling mean-gap .3": {**eighth, "coupling__kind": "mean-gap"},
        "top-k, k = 28": {"gate__k": 28},
    }
    for name, options in variants.items():
        key = f"choice-{name.split(' (')[0].replace(' ', '-').replace(',', '').replace('=', '')}"
        results = [runs.train(key, ADULT, seed, **options) for seed in range(3)]
        projected = ", ".join(str(result["valid"]["projected_units"]) for result in results)
        print(f"| {name} | {mean(results, 'valid', 'nll'):.4f} | {mean(results, 'valid', 'auc'):.4f} | {mean(results, 'valid', 'ece_binary'):.4f} | "
              f"{', '.join(str(result['valid']['open_units']) for result in results)} | {projected} | "
              f"{mean(results, 'valid', 'undecided_fraction'):.3f} |")


def speed(runs: Runs) -> None:
    print("## Speed, Adult `openml`, batch 512, 2 threads\n\n| run | rows per second | milliseconds per step |\n|---|---|---|")
    rows, steps = 35165, 69
    for name, options in {"dense": {"gate__unit": "none"}, "gate, noise per example": {"gate__target_active": 0.125},
                          "gate, one draw per step": {"gate__target_active": 0.125, "gate__noise": "batch"}}.items():
        # Never a kept run: this one measures. Epochs of the anneal phase, validation included; the median of their times.
        folder = runs.out / "speed"
        shutil.rmtree(folder, ignore_errors=True)
        runs.l0gm("train", str(ADULT), "--out", str(folder), "--threads", "2", *assignments(options))
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        times = [b["seconds"] - a["seconds"] for a, b in zip(lines[3:17], lines[4:18])]
        epoch = statistics.median(times)
        print(f"| {name} | {rows / epoch:,.0f} | {1000 * epoch / steps:.2f} |")


def peers(runs: Runs) -> None:
    print("## Boosted trees on the same rows, judged by the same code (test; mean over splits 0, 1, 2)\n")
    print("| protocol | method | " + HEAD + "\n|" + "---|" * 8)
    python = ROOT / ".venv-peers" / "bin" / "python"
    for protocol in ("openml", "uci"):
        for method, flags in (("xgboost", []), ("lightgbm", []), ("catboost", []), ("catboost", ["--exact-values"])):
            results = []
            for seed in range(3):
                export = runs.out / "peers" / protocol / str(seed)
                folder = runs.out / "peers" / f"{method}{''.join(flags)}-{protocol}-{seed}"
                if not (export / "split.json").exists():
                    runs.l0gm("data", "export", str(ADULT), "--out", str(export), "--set", f"data.protocol={protocol}", "--set", f"train.seed={seed}")
                if not (folder / "summary.json").exists():
                    subprocess.run([str(python), str(ROOT / "peers" / "train.py"), method, str(export), "--out", str(folder), "--seed", str(seed),
                                    "--threads", "2", *flags], check=True, stdout=sys.stderr)
                results.append({"test": runs.l0gm("eval", str(folder))})
            print(f"| {protocol} | {method}{', exact values' if flags else ''} | {figures(results, 'test')} |")
        ours = [runs.train(f"gate-0.125-{protocol}", ADULT, seed, data__protocol=protocol) for seed in range(3)]
        print(f"| {protocol} | `mlp`, 28 of 224 units open | {figures(ours, 'test')} |")


def main() -> None:
    parts = {"control": control, "planted": planted, "instance": instance, "choices": choices, "speed": speed, "peers": peers}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "foundation")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.parts:
        parts[name](Runs(arguments.l0gm, arguments.out))
        print(flush=True)


if __name__ == "__main__":
    main()
