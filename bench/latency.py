#!/usr/bin/env python3
"""Makes the figures of docs/results/latency.md: compact models beside boosted trees and a plain network, in one interleaved run on Adult.

Usage: bench/latency.py [models|measure|memory|file ...] [NAME=MODEL.l0gm ...] [--runs 200] [--warm-ups 50] [--out runs/latency]
  models   trains and compacts ours (bench/serve_models.py) and says what the files are worth; these are measured unless others are named
  measure  microseconds per row at batch 1, 64, 1,024 and the whole test file, one thread, and two for the last
  memory   sizes of files, and what a process grows by
  file     a CSV of ten million rows, predicted from file to file, beside LightGBM (--rows N for fewer)
Prints Markdown tables; all figures go to OUT/*.json. Peers are trained and compiled once (minutes) and kept in OUT. Needs peers/setup, gcc,
g++, and for our own models libl0gm_runtime.so (build/release, or L0GM_RUNTIME_LIBRARY).
"""

import argparse
import ctypes
import gc
import json
import os
import platform
import random
import subprocess
import sys
from pathlib import Path

from program import PEERS, ROOT, table

sys.path.insert(0, str(ROOT / "bench" / "peers"))
CALLS_AT_ONE = 64  # calls between two looks at the clock at batch 1: one alone is too short for it
TOLERANCE = 1e-5   # from an engine's own plain predict
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def scores(labels: "np.ndarray", p: "np.ndarray") -> tuple[float, float]:
    """NLL and AUC."""
    import numpy as np

    p = np.clip(p, 1e-12, 1 - 1e-12)
    values, place = np.unique(p, return_inverse=True)
    counts = np.bincount(place, minlength=len(values))
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal ones share the mean of their ranks
    positive = labels == 1
    below = ranks[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return float(-np.log(np.where(positive, p, 1 - p)).mean()), float(below / positive.sum() / (~positive).sum())


def check(engine: "Engine", batch: int, reference: "np.ndarray") -> "np.ndarray":
    """Nobody is fast and wrong: the timed calls must give what the engine's own library says."""
    found = engine.probabilities(batch)
    difference = abs(found - reference[:len(found)]).max()
    if not difference <= TOLERANCE:
        raise RuntimeError(f"{engine.name} at batch {batch} is {difference:.2g} from its own library's plain predict; at most {TOLERANCE:g} is right.")
    return found


def worker_measure(arguments: argparse.Namespace) -> dict:
    """All engines with so many threads, one after another, round by round."""
    import numpy as np
    from latency_models import read_rows
    from latency_peers import engines

    rows = read_rows(arguments.out / "export", arguments.out)
    measured = engines(rows, arguments.out, arguments.threads, arguments.models, arguments.l0gm)
    result = {engine.name: {"boosted": engine.boosted, "in_python": engine.in_python, "note": engine.note, "batches": {}} for engine in measured}
    references = {}
    for engine in measured:
        engine.open()
        engine.load()
        references[engine.name] = engine.reference()
    batches = [1, 64, 1024, len(rows)] if arguments.threads == 1 else [len(rows)]
    order = random.Random(0)
    for batch in batches:
        calls = CALLS_AT_ONE if batch == 1 else 1
        for engine in measured:
            engine.prepare(batch)
            found = check(engine, batch, references[engine.name])
            if batch == len(rows):
                result[engine.name]["nll"], result[engine.name]["auc"] = scores(rows.labels, found)
        spent = {engine.name: [] for engine in measured}
        gc.collect()
        gc.disable()
        for _ in range(arguments.warm_ups + arguments.runs):
            order.shuffle(measured)  # so that nobody always finds the caches as the same neighbour left them
            for engine in measured:
                spent[engine.name].append(engine.time(batch, calls) / 1000 / (calls * batch))
        gc.enable()
        for engine in measured:
            timed = spent[engine.name][arguments.warm_ups:]
            result[engine.name]["batches"][str(batch)] = {"median": float(np.median(timed)), "p99": float(np.percentile(timed, 99)),
                                                          "least": float(np.min(timed))}
            print(f"{engine.name}, batch {batch}, {arguments.threads} thread(s): {np.median(timed):.3f} us", file=sys.stderr)
    return result


def worker_memory(arguments: argparse.Namespace) -> dict:
    """What a model adds to a process that has its library already: loading it, and predicting 1,024 rows."""
    from latency_engines import resident_bytes as resident

    def resident_bytes() -> int:
        ctypes.CDLL(None).malloc_trim(0)  # what was free already would hide what is taken now
        return resident()

    from latency_models import read_rows
    from latency_peers import engines

    rows = read_rows(arguments.out / "export", arguments.out)
    engine = next(e for e in engines(rows, arguments.out, 1, arguments.models, arguments.l0gm) if e.name == arguments.engine)
    engine.open()
    gc.collect()
    points = [resident_bytes()]
    engine.load()
    points.append(resident_bytes())
    engine.prepare(1024)  # rows, not the model's
    gc.collect()
    points.append(resident_bytes())
    engine.probabilities(1024)
    points.append(resident_bytes())
    return {"memory": points[1] - points[0] + points[3] - points[2], "file": engine.model.stat().st_size,
            "library": engine.library.stat().st_size if engine.library else 0}


def worker_names(arguments: argparse.Namespace) -> dict:
    from latency_models import read_rows
    from latency_peers import engines

    rows = read_rows(arguments.out / "export", arguments.out)
    return {"names": [engine.name for engine in engines(rows, arguments.out, 1, arguments.models, arguments.l0gm)]}


def in_process(arguments: argparse.Namespace, worker: str, threads: int, *words: str) -> dict:
    """A worker in a process of its own, whose libraries all see the same number of threads."""
    environment = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, str(threads))}
    models = [f"{name}={path}" for name, path in arguments.models.items()]
    done = subprocess.run([sys.executable, __file__, *models, "--worker", worker, "--threads", str(threads), "--out", str(arguments.out), "--l0gm",
                           str(arguments.l0gm), "--runs", str(arguments.runs), "--warm-ups", str(arguments.warm_ups), *words],
                          env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench/latency.py: {worker} {' '.join(words)} failed; its message stands above")
    return json.loads(done.stdout.splitlines()[-1])  # what libraries print stands above


def machine() -> dict:
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return {"processor": names[0] if names else platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0], "compiler": compiler}


def models(arguments: argparse.Namespace) -> None:
    from serve_models import make_models

    made = make_models(arguments.l0gm, arguments.out / "models")
    (arguments.out / "models.json").write_text(json.dumps({name: str(path) for name, path in made.items()}, indent=1) + "\n")


def named_models(arguments: argparse.Namespace) -> dict[str, Path]:
    kept = arguments.out / "models.json"
    if arguments.models or not kept.exists():
        return arguments.models
    return {f"ours: {name}": Path(path) for name, path in json.loads(kept.read_text()).items()}


def fastest_tree(results: dict, batch: str) -> tuple[str, float]:
    medians = {name: result["batches"][batch]["median"] for name, result in results.items() if result["boosted"]}
    name = min(medians, key=medians.get)
    return name, medians[name]


def print_speed(one: dict, two: dict) -> None:
    batches = list(next(iter(one.values()))["batches"])
    whole = batches[-1]
    columns = [(f"batch {int(batch):,}", one, batch) for batch in batches] + [(f"batch {int(whole):,}, two threads", two, whole)]
    print("### Microseconds per row: median (99th percentile)\n")
    cell = lambda results, name, batch: f"{results[name]['batches'][batch]['median']:.3f} ({results[name]['batches'][batch]['p99']:.3f})"
    table(["engine", *(head for head, _, _ in columns), "NLL", "AUC"],
          [[name, *(cell(results, name, batch) for _, results, batch in columns), f"{result['nll']:.4f}", f"{result['auc']:.4f}"]
           for name, result in one.items()])
    best = [fastest_tree(results, batch) for _, results, batch in columns]
    print("### Times as fast as the fastest boosted tree, by medians\n")
    table(["engine", *(f"{head} ({name}: {least:.3f})" for (head, _, _), (name, least) in zip(columns, best))],
          [[name, *(f"{least / results[name]['batches'][batch]['median']:.2f}" for (_, results, batch), (_, least) in zip(columns, best))]
           for name in one])
    print("### Called through\n")
    table(["engine", "call"], [[name, result["note"]] for name, result in one.items()])


def measure(arguments: argparse.Namespace) -> None:
    from latency_models import make_all

    make_all(arguments.l0gm, arguments.out)
    arguments.models = named_models(arguments)
    one = in_process(arguments, "measure", 1)
    two = in_process(arguments, "measure", 2)
    result = {"machine": machine(), "runs": arguments.runs, "warm_ups": arguments.warm_ups, "calls_at_batch_1": CALLS_AT_ONE,
              "models": {name: str(path) for name, path in arguments.models.items()}, "one_thread": one, "two_threads": two}
    (arguments.out / "latency.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{result['machine']['processor']}, {result['machine']['cores']} cores. {arguments.runs} timed runs after {arguments.warm_ups} warm-ups of "
          f"every engine and batch, engines in turn, in another order each round; at batch 1 a run is {CALLS_AT_ONE} calls on rows that follow each other.\n")
    print_speed(one, two)



def memory(arguments: argparse.Namespace) -> None:
    from latency_models import make_all

    make_all(arguments.l0gm, arguments.out)
    arguments.models = named_models(arguments)
    found = {name: in_process(arguments, "memory", 1, "--engine", name) for name in in_process(arguments, "names", 1)["names"]}
    (arguments.out / "memory.json").write_text(json.dumps({"machine": machine(), **found}, indent=1) + "\n")
    print("### Size and memory\n")
    table(["engine", "model file, KB", "resident memory it adds, MB", "library file, MB"],
          [[name, f"{of['file'] / 1e3:,.0f}", f"{of['memory'] / 1e6:.2f}", f"{of['library'] / 1e6:.1f}" if of["library"] else "-"]
           for name, of in found.items()])


def file(arguments: argparse.Namespace) -> None:
    from latency_models import make_all
    from predict_file import compare

    export = make_all(arguments.l0gm, arguments.out)
    arguments.models = dict(list(named_models(arguments).items())[:1])  # the one that is served, on the file with texts
    found = compare(export, arguments)
    (arguments.out / "file.json").write_text(json.dumps({"machine": machine(), **found}, indent=1) + "\n")
    print(f"### {found['rows']:,} rows from file to file, {found['threads']} threads\n")
    table(["program", "file", "MB in", "seconds", "rows per second", "times LightGBM's Booster.predict(path)"],
          [[line["program"], line["file"], f"{line['bytes'] / 1e6:,.0f}", f"{line['seconds']:.1f}", f"{line['rows_per_second']:,.0f}",
            f"{line['rows_per_second'] / found['lines'][0]['rows_per_second']:.2f}"] for line in found["lines"]])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="models|measure|memory|file|NAME=MODEL.l0gm")
    parser.add_argument("--l0gm", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "latency")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--warm-ups", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the large file")
    parser.add_argument("--scratch", type=Path, help="folder for the large file; default OUT/file")
    parser.add_argument("--codes-model", type=Path, help="file: our compact model of the table of codes; trained when none is given")
    parser.add_argument("--config", type=Path, default=ROOT / "examples" / "adult" / "fast.toml", help="file: the settings that it is trained with")
    parser.add_argument("--threads", type=int, default=2, help="file: of everybody")
    parser.add_argument("--worker", choices=["measure", "memory", "names"], help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    arguments.models = {name: Path(path).resolve() for name, path in (word.split("=", 1) for word in arguments.words if "=" in word)}
    arguments.parts = [word for word in arguments.words if "=" not in word] or ["models", "measure", "memory", "file"]
    wrong = [part for part in arguments.parts if part not in ("models", "measure", "memory", "file")] + [path for path in arguments.models.values() if not path.is_file()]
    if wrong:
        parser.error(f"{wrong[0]} is neither `models`, `measure`, `memory`, `file` nor NAME=MODEL.l0gm with a file that exists")
    return arguments


def main() -> None:
    if Path(sys.prefix).resolve() != PEERS.parents[1].resolve():  # numpy and the peers are there
        os.execv(PEERS, [str(PEERS), __file__, *sys.argv[1:]])
    arguments = parse()
    if arguments.worker:
        workers = {"measure": worker_measure, "memory": worker_memory, "names": worker_names}
        print(json.dumps(workers[arguments.worker](arguments)), flush=True)
        return
    for part in arguments.parts:
        {"models": models, "measure": measure, "memory": memory, "file": file}[part](arguments)
        print(flush=True)


if __name__ == "__main__":
    main()
