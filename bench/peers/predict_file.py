#!/usr/bin/env python3
"""Predicts a large CSV from file to file: LightGBM and l0gm on the same table of numeric codes, l0gm on the one with texts too.

By itself: predict_file.py MODEL.txt INPUT.csv OUTPUT --threads N --way booster|direct times LightGBM and prints {"seconds": ...}.
  booster  Booster.predict(path): the library predicts into a file of its own, which Python reads back into memory; OUTPUT is not written
  direct   LGBM_BoosterPredictForFile: the C function behind it, writing OUTPUT itself, one probability a line; its fastest way
Importing is outside the clock; reading the model is inside, as it is in l0gm's, whose whole process is timed.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LINES = 200_000  # written at a time


def predict_lightgbm(model: Path, table: Path, output: Path, threads: int, way: str) -> float:
    import ctypes

    import lightgbm

    library = lightgbm.basic._LIB
    start = time.perf_counter()
    booster = lightgbm.Booster(model_file=str(model))
    if way == "booster":
        booster.predict(str(table), data_has_header=True, num_threads=threads)
    else:
        settings = f"num_threads={threads} verbosity=-1".encode()
        status = library.LGBM_BoosterPredictForFile(booster._handle, str(table).encode(), ctypes.c_int(1), ctypes.c_int(0), ctypes.c_int(0),
                                                    ctypes.c_int(-1), settings, str(output).encode())
        if status != 0:
            raise RuntimeError(library.LGBM_GetLastError())
    return time.perf_counter() - start


def lines_of_codes(codes: np.ndarray) -> list[str]:
    """Rows of text; nan is missing to both programs."""
    text = lambda value: "nan" if np.isnan(value) else str(int(value))
    return [",".join(map(text, row)) for row in codes.tolist()]


def write_large(path: Path, head: str, lines: list[str], rows: int) -> Path:
    """The lines over and over, shuffled by a fixed seed; kept when it is there with as many rows."""
    stamp = path.with_suffix(".rows")
    if stamp.exists() and stamp.read_text() == str(rows):
        return path
    print(f"writing {path}", file=sys.stderr)
    random, texts = np.random.default_rng(0), np.array(lines, dtype=object)
    with path.open("w", encoding="utf-8") as file:
        file.write(head + "\n")
        for first in range(0, rows, LINES):
            chosen = texts[random.integers(len(lines), size=min(LINES, rows - first))]
            file.write("\n".join(chosen) + "\n")
    stamp.write_text(str(rows))
    return path


def write_codes(export: Path, out: Path, scratch: Path) -> list[str]:
    """Adult as numeric codes, the columns named as LightGBM's features are: it finds a file's columns by its header."""
    from latency_models import read_rows

    for table in ("train", "valid", "test"):
        rows = read_rows(export, out, table)
        names = [f"f{index}" for index in range(rows.codes.shape[1])]
        lines = [f"{line},{label}" for line, label in zip(lines_of_codes(rows.codes), rows.labels)]
        (scratch / f"{table}.csv").write_text("\n".join([",".join([*names, "income"]), *lines]) + "\n")
    return names[:len(rows.categorical)]


def train_codes(program: Path, config: Path, scratch: Path, categorical: list[str]) -> Path:
    """Our model of the table of codes, by the settings of a configuration."""
    model = scratch / "codes.l0gm"
    if not model.exists():
        settings = {"data.source": "csv", "data.label": "income", **{f"data.{table}": scratch / f"{table}.csv" for table in ("train", "valid", "test")},
                    **{f"columns.{name}.type": "categorical" for name in categorical}}
        # The catalogue's own keys do not go with files.
        text = "\n".join(line for line in config.read_text().splitlines() if not line.startswith(("source", "protocol")))
        (scratch / "codes.toml").write_text(text + "\n")
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        for command in (["train", scratch / "codes.toml", "--out", scratch / "run", "--threads", "2", *words],
                        ["compact", scratch / "run", "--out", model]):
            subprocess.run([str(word) for word in (program, "--quiet", *command)], check=True, stdout=sys.stderr)
    return model


def time_ours(program: Path, model: Path, table: Path, output: Path, threads: int) -> float:
    start = time.perf_counter()
    subprocess.run([str(program), "--quiet", "predict", str(model), str(table), "--out", str(output), "--raw", "--threads", str(threads)], check=True,
                   stdout=sys.stderr)
    return time.perf_counter() - start


def time_lightgbm(model: Path, table: Path, output: Path, threads: int, way: str) -> float:
    done = subprocess.run([sys.executable, __file__, str(model), str(table), str(output), "--threads", str(threads), "--way", way], check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 22), b""))


def compare(export: Path, arguments: argparse.Namespace) -> dict:
    """All of them one after another on the same files; each is checked for a line per row."""
    from latency_models import read_rows

    scratch = (arguments.scratch or arguments.out / "file").resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    categorical = write_codes(export, arguments.out, scratch)
    rows = read_rows(export, arguments.out, "train")
    head = ",".join(f"f{index}" for index in range(rows.codes.shape[1]))
    codes = write_large(scratch / "large-codes.csv", head, lines_of_codes(rows.codes), arguments.rows)
    output, booster = scratch / "predicted.csv", arguments.out / "peers" / "lightgbm" / "model.txt"
    lines = []

    def add(program: str, table: Path, seconds: float, head_lines: int | None) -> None:
        if head_lines is not None and count_lines(output) != arguments.rows + head_lines:
            raise RuntimeError(f"{program} wrote {count_lines(output) - head_lines} rows of {arguments.rows}")
        lines.append({"program": program, "file": table.name, "bytes": table.stat().st_size, "seconds": seconds,
                      "rows_per_second": arguments.rows / seconds})
        print(f"{program}, {table.name}: {seconds:.1f} s", file=sys.stderr)
        output.unlink(missing_ok=True)

    add("LightGBM Booster.predict(path), nothing written", codes, time_lightgbm(booster, codes, output, arguments.threads, "booster"), None)
    add("LightGBM LGBM_BoosterPredictForFile", codes, time_lightgbm(booster, codes, output, arguments.threads, "direct"), 0)
    ours = arguments.codes_model or train_codes(arguments.l0gm, arguments.config, scratch, categorical)
    add("l0gm predict", codes, time_ours(arguments.l0gm, ours, codes, output, arguments.threads), 1)
    if arguments.models:
        raw = write_large(scratch / "large-texts.csv", ",".join(rows.columns), [",".join(row) for row in rows.cells], arguments.rows)
        for name, model in arguments.models.items():
            add(f"l0gm predict, {name}", raw, time_ours(arguments.l0gm, model, raw, output, arguments.threads), 1)
    return {"rows": arguments.rows, "threads": arguments.threads, "lines": lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--way", choices=["booster", "direct"], default="direct")
    arguments = parser.parse_args()
    print(json.dumps({"seconds": predict_lightgbm(arguments.model, arguments.input, arguments.output, arguments.threads, arguments.way)}))


if __name__ == "__main__":
    main()
