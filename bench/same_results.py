#!/usr/bin/env python3
"""Do two builds of l0gm compute the same? Runs the same commands with both and compares what they wrote.

Usage: bench/same_results.py OLD_L0GM NEW_L0GM --work DIR [--data DIR]
Tensors (checkpoints, compact files) and prediction files must be equal byte for byte; of JSON and TOML the keys that differ are listed.
Few epochs, seed 0, two threads. The examples are those of this checkout. Exit status 1 when tensors or predictions differ.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RUNS = {  # name: (example, settings); {out} is the folder of the other runs
    "teacher": ("adult/adult.toml", ["train.epochs=2"]),
    "fast": ("adult/fast.toml", ["train.epochs=4", "distill.from={out}/teacher"]),
    "planted": ("planted/planted.toml", ["train.epochs=4"]),
    "instance": ("planted/planted.toml", ["train.epochs=4", "data.protocol=instance", "gate.logits=instance"]),
    "graph": ("graph/planted.toml", ["train.epochs=60"]),
    "links": ("graph/links.toml", ["train.epochs=6"]),
}
VOLATILE = ("seconds", "commit", "made_with", "rows_per_second")


def run_all(program: str, out: Path) -> None:
    def l0gm(*words: str, result: str = "") -> None:
        done = subprocess.run([program, "--quiet", "--json", *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join([program, *words])}\n{done.stderr}")
        if result:
            (out / result).write_text(done.stdout)

    out.mkdir(parents=True)
    for name, (example, settings) in RUNS.items():
        assignments = [word for setting in settings for word in ("--set", setting.format(out=out))]
        l0gm("train", str(EXAMPLES / example), "--out", str(out / name), "--seed", "0", "--threads", "2", *assignments)
        l0gm("eval", str(out / name), "--threads", "2", result=f"{name}.eval.json")
        if name != "links":
            l0gm("compact", str(out / name), "--out", str(out / f"{name}.l0gm"), result=f"{name}.compact.json")
    for name in ("fast", "planted", "graph"):
        l0gm("eval", str(out / name), "--perturb", "--threads", "2", result=f"{name}.perturb.json")
    l0gm("compact", str(out / "graph"), "--out", str(out / "lookup.l0gm"), "--nodes", "all", result="lookup.compact.json")
    l0gm("compact", str(out / "planted"), "--out", str(out / "int8.l0gm"), "--weights", "int8", result="int8.compact.json")
    l0gm("data", "make", "planted-table", "--rows", "500", "--seed", "3", "--out", str(out / "new.csv"))
    l0gm("predict", str(out / "planted.l0gm"), str(out / "new.csv"), "--out", str(out / "from_file.csv"), "--raw")
    l0gm("predict", str(out / "planted"), str(out / "new.csv"), "--out", str(out / "from_run.csv"), "--calibrated")
    l0gm("predict", str(out / "graph.l0gm"), str(EXAMPLES / "graph/planted.toml"), "--out", str(out / "nodes.csv"), "--raw")


def tensors_of(path: Path) -> tuple[dict, dict, bytes]:
    """Header without metadata, metadata, bytes of the tensors."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    return header, header.pop("__metadata__", {}), data[8 + size :]


def differing(old, new, place: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        found = [f"{place}/{key} is gone" for key in old.keys() - new.keys()]
        found += [f"{place}/{key} is new" for key in new.keys() - old.keys()]
        return sorted(found + [line for key in old.keys() & new.keys() for line in differing(old[key], new[key], f"{place}/{key}")])
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for i, pair in enumerate(zip(old, new)) for line in differing(*pair, f"{place}[{i}]")]
    volatile = any(word in place for word in VOLATILE)
    return [] if old == new or volatile else [f"{place}: {str(old)[:70]} -> {str(new)[:70]}"]


def compare(old_folder: Path, new_folder: Path) -> bool:
    same = True
    notes: dict[str, list[str]] = {}
    for old in sorted(path for path in old_folder.rglob("*") if path.is_file()):
        name = old.relative_to(old_folder)
        new = new_folder / name
        if not new.exists():
            notes[str(name)] = ["is gone"]
        elif old.suffix in (".safetensors", ".l0gm"):
            before, after = tensors_of(old), tensors_of(new)
            equal = before[0] == after[0] and before[2] == after[2]
            print(f"{'same' if equal else 'OTHER'} tensors      {name}")
            same = same and equal
            manifests = [json.loads(metadata.get("l0gm", "{}")) for _, metadata, _ in (before, after)]
            notes[str(name)] = differing(*manifests)
        elif old.suffix == ".csv":
            equal = old.read_bytes() == new.read_bytes()
            print(f"{'same' if equal else 'OTHER'} predictions  {name}")
            same = same and equal
        elif old.suffix == ".json":
            texts = [path.read_text().replace(str(folder), "DIR") for path, folder in ((old, old_folder), (new, new_folder))]
            notes[str(name)] = differing(*map(json.loads, texts))
        elif old.suffix == ".toml":
            lines = [set(path.read_text().replace(str(folder), "DIR").splitlines()) for path, folder in ((old, old_folder), (new, new_folder))]
            notes[str(name)] = [f"- {line}" for line in sorted(lines[0] - lines[1])] + [f"+ {line}" for line in sorted(lines[1] - lines[0])]
    for name, lines in notes.items():
        if lines:
            print(f"{name}: {'; '.join(lines)}")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="program of the earlier build")
    parser.add_argument("new", help="program of the later build")
    parser.add_argument("--work", type=Path, required=True, help="folder to run in; must not exist")
    parser.add_argument("--data", help="folder of the datasets; default: $L0GM_DATA")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["L0GM_DATA"] = arguments.data
    for which, program in (("old", arguments.old), ("new", arguments.new)):
        run_all(str(Path(program).resolve()), arguments.work / which)
    same = compare(arguments.work / "old", arguments.work / "new")
    print("tensors and predictions are the same" if same else "TENSORS OR PREDICTIONS DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
