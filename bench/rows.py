#!/usr/bin/env python3
"""Seconds and memory that training takes by the number of rows: our defaults beside LightGBM and CatBoost, as they come with early stopping, on made tables.

Usage: bench/rows.py [--rows 1000,30000,300000,3000000] [--tables varied-table:100,ctr-like] [--methods ours,gate,lightgbm,catboost] [--threads 2]
                     [--most-seconds 600] [--out runs/rows] [--l0gm build/release/l0gm] [--set key=value ...]
Ours are seconds of `l0gm train` from reading the table to the finished run, its evaluation on validation rows included; the peers' are of training alone (their tables are
read and coded before the clock starts). Beside them stand processor seconds of the whole process, reading included, the peers' predictions as well: on a busy machine they
tell more; and the most memory that the process had. The slope is that of log processor seconds over log rows between the two largest sizes that were finished.
A training that takes longer than --most-seconds is ended, and larger sizes of that method are left out. Finished trainings are kept.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from program import PEERS, ROOT, assignments, table

OURS = {"ours": {"gate.unit": "none"}, "gate": {"gate.target_active": 0.25}}
LABELS = {"ours": "ours, dense", "gate": "ours, 25 % open"}


def config_of(out: Path, name: str, rows: int) -> Path:
    source, _, draw = name.partition(":")
    path = out / "configs" / f"{source}-{rows}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f'source = "{source}"', f"rows = {rows}"]
    if source == "varied-table":
        lines += ['protocol = "sized"', f"split.seed = {draw or 100}"]
    path.write_text("[data]\n" + "\n".join(lines) + "\n")
    return path


def call(words: list[object], most: float) -> tuple[str, float, float] | None:
    """What it prints, its processor seconds and the most memory that it had, in MB; None: it took too long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = subprocess.Popen([str(word) for word in words], stdout=out, stderr=error)
        end = time.monotonic() + most
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                process.kill()
                os.wait4(process.pid, 0)
                return None
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        out.seek(0), error.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}: {error.read().decode()[-2000:]}")
        return out.read().decode(), ended[2].ru_utime + ended[2].ru_stime, ended[2].ru_maxrss / 1024


def result(arguments: argparse.Namespace, trained: tuple[str, float, float], seconds: float, folder: Path) -> dict:
    judged = call([arguments.l0gm, "--quiet", "--json", "eval", folder, "--threads", arguments.threads], arguments.most_seconds)
    return {"seconds": seconds, "processor": trained[1], "megabytes": trained[2], "nll": json.loads(judged[0])["nll"] if judged else math.nan}


def ours(arguments: argparse.Namespace, config: Path, method: str, folder: Path) -> dict | None:
    settings = {**OURS[method], **dict(word.split("=", 1) for word in arguments.set)}
    trained = call([arguments.l0gm, "--quiet", "--json", "train", config, "--out", folder, "--threads", arguments.threads, *assignments(settings)],
                   arguments.most_seconds)
    if trained is None:
        return None
    return result(arguments, trained, json.loads((folder / "summary.json").read_text())["seconds"], folder)


def peer(arguments: argparse.Namespace, config: Path, method: str, folder: Path) -> dict | None:
    export = folder.parent / "export"
    if not (export / "split.json").exists():
        call([arguments.l0gm, "--quiet", "--json", "data", "export", config, "--out", export], 3600)
    trained = call([PEERS, ROOT / "peers" / "train.py", method, export, "--out", folder, "--seed", 0, "--threads", arguments.threads],
                   arguments.most_seconds + 300)  # reading is not counted
    if trained is None:
        return None
    return result(arguments, trained, json.loads((folder / "summary.json").read_text())["train_seconds"], folder)


def measured(arguments: argparse.Namespace, name: str, rows: int, method: str) -> dict | None:
    folder = arguments.out / f"{name.replace(':', '-')}-{rows}" / method
    kept = folder.with_suffix(".json")
    if not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        config = config_of(arguments.out, name, rows)
        found = (ours if method in OURS else peer)(arguments, config, method, folder)
        kept.write_text(json.dumps({"found": found, "load": os.getloadavg()[0]}))
        print(f"{name} {rows:,} {method}: {found}", file=sys.stderr)
    return json.loads(kept.read_text())["found"]


def slope(seconds: list[tuple[int, float]]) -> str:
    if len(seconds) < 2:
        return "-"
    (rows, before), (more, after) = seconds[-2:]
    return f"{math.log(after / before) / math.log(more / rows):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1000,30000,300000,3000000")
    parser.add_argument("--tables", default="varied-table:100,ctr-like")
    parser.add_argument("--methods", default="ours,gate,lightgbm,catboost")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--most-seconds", type=float, default=600)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "rows")
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    sizes = [int(word) for word in arguments.rows.split(",")]
    for name in arguments.tables.split(","):
        lines = []
        for method in arguments.methods.split(","):
            cells, finished, ended = [], [], False
            for rows in sizes:
                found = None if ended else measured(arguments, name, rows, method)
                cells.append(f"{found['seconds']:.1f} / {found['processor']:.1f} / {found['megabytes']:,.0f} ({found['nll']:.4f})" if found else "left out" if ended else f"over {arguments.most_seconds:g}")
                ended = ended or found is None
                finished += [(rows, found["processor"])] if found else []
            lines.append([LABELS.get(method, method), *cells, slope(finished)])
        print(f"### {name.partition(':')[0]}, seconds / processor seconds / MB at most (test NLL), {arguments.threads} threads\n")
        table(["method", *(f"{rows:,} rows" for rows in sizes), "slope"], lines)


if __name__ == "__main__":
    main()
