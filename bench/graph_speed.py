#!/usr/bin/env python3
"""Times epochs and inference over whole graphs beside PyTorch Geometric (bench/peers/pyg_graph.py, run by --peers) on the same files in the
same run: the speed tables of docs/results/graph.md.

Usage: bench/graph_speed.py [--device cpu] [--out runs/graph_speed]
Prints Markdown. Needs the graph files (L0GM_DATA) and a machine with nothing else to do. What is trained and judged: examples/studies.
"""

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

from program import PEERS, ROOT, Runs, assignments, table

EXAMPLES = ROOT / "examples" / "graph"
DENSE = {"gate.unit": "none"}


# The same network on both sides: three convolutions of 256 channels without a residual, layer norm but in the last, dropout, one step an epoch. Odd
# numbers of epochs: a median that is one of them, whoever takes it.
NETWORK = {**DENSE, "graph.residual": "none", "model.hidden": 256, "model.depth": 3, "model.dropout": 0.5, "model.interface_dropout": 0.5}


def own_speed(runs: Runs, config: Path, options: dict[str, object], graphs: Path) -> dict:
    return runs.l0gm("bench", "graph", str(config), "--device", runs.device, "--out", str(runs.out / "speed"), "--epochs", "20", "--warmup", "6",
                     *assignments({**NETWORK, **options, "graph.cache": graphs}))


def peer_speed(runs: Runs, models: list[str], paths: tuple[str, ...], precisions: tuple[str, ...], graphs: Path, *more: str) -> list[dict]:
    """On the file that our own run left in its cache."""
    file, = graphs.glob("*.graph")
    words = [str(file), "--model", ",".join(models), "--path", ",".join(paths), "--precision", ",".join(precisions), "--device", runs.device,
             "--features", "raw", "--epochs", "20", "--warmup", "6", "--json", *more]
    done = subprocess.run([str(runs.peers), str(ROOT / "bench" / "peers" / "pyg_graph.py"), *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"pyg_graph.py {' '.join(words)}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


MATMUL = {"float32": {"graph.messages": "float32", "train.matmul": "float32"}, "tf32": {"graph.messages": "float32", "train.matmul": "tf32"},
          "bfloat16": {"graph.messages": "bfloat16", "train.matmul": "bfloat16"}}
MODELS = ["gcn", "sage"]


def beside_peer(runs: Runs, config: Path, options: dict[str, object], paths: tuple[str, ...], precisions: tuple[str, ...]) -> None:
    """Milliseconds. The last column is ours over theirs in the same precision, epoch / inference. Our epochs take the shortcuts of `short`; inference is
    timed with and without sums of the first layer that are at hand, each beside the path of theirs that has them or not."""
    rows, graphs = [], runs.out / "graphs" / f"{config.stem}-{options.get('graph.scale', 1)}"
    own = {}
    for model in MODELS:
        for precision in precisions:
            plain = {} if runs.device == "cpu" else MATMUL[precision]
            own[model, precision] = own_speed(runs, config, {**options, "model.name": model, "graph.last_norm": "none", "graph.features": "raw", **plain}, graphs)
    peers = peer_speed(runs, MODELS, paths, precisions, graphs)
    if runs.device == "cuda":  # our steps are captured as CUDA graphs: so are theirs; and compiled ones
        peers += peer_speed(runs, MODELS, paths, precisions, graphs, "--capture")
        peers += peer_speed(runs, MODELS, paths[:1], precisions[:1], graphs, "--compile")
    for (model, precision), ours in own.items():
        again = ours["as_trained"].get("seconds_again", ours["as_trained"]["seconds"])
        rows.append([f"{model}, {precision}", "l0gm", *figures(ours["epoch_seconds"], ours["as_trained"]["seconds"], ours["peak_bytes_training"]), ""])
        rows.append(["", "l0gm, first sums at hand", "", f"{1e3 * again:.2f}", "", ""])
        for peer in (peer for peer in peers if peer["model"] == model and peer["precision"] == precision):
            if "error" in peer:
                rows.append(["", name_of(peer), peer["error"], "", "", ""])
                continue
            inference = again if peer["path"] == "short" else ours["as_trained"]["seconds"]  # the same shortcut on both sides
            ratio = f"{ours['epoch_seconds'] / peer['seconds_per_epoch']:.2f} / {inference / peer['seconds_of_inference']:.2f}"
            rows.append(["", name_of(peer), *figures(peer["seconds_per_epoch"], peer["seconds_of_inference"], peer["peak_bytes_training"]), ratio])
    table(["", "", "epoch, ms", "inference, ms", "memory, GB", "ours / theirs"], rows)


def name_of(peer: dict) -> str:
    return f"PyTorch Geometric, {peer['path']}" + (", captured" if peer.get("captured") else "") + (", compiled" if peer.get("compiled") else "")


def figures(epoch: float, inference: float, memory: int) -> list[str]:
    return [f"{1e3 * epoch:.2f}", f"{1e3 * inference:.2f}", f"{memory / 1e9:.2f}" if memory else "-"]


def speed(runs: Runs) -> None:
    products = EXAMPLES / "products_like.toml"
    if runs.device == "cuda":
        for name, config, options in (("Computers", EXAMPLES / "computers.toml", {}), ("CS", EXAMPLES / "cs.toml", {}), ("arxiv-guesses", EXAMPLES / "arxiv.toml", {}),
                                      ("products-like at scale 1", products, {"graph.scale": 1})):
            print(f"### {name}\n", flush=True)
            beside_peer(runs, config, options, ("csr-cached", "short"), tuple(MATMUL))
        return
    print("### arxiv-guesses on the CPU\n")
    beside_peer(runs, EXAMPLES / "arxiv.toml", {}, ("csr", "csr-cached", "short"), ("float32",))
    print("### products-like: seconds an epoch\n")
    rows, points = [], {}
    for scale in (0.01, 0.03, 0.1):
        for model in MODELS:
            own = own_speed(runs, products, {"model.name": model, "graph.scale": scale}, runs.out / "graphs" / f"{products.stem}-{scale}")
            points.setdefault(model, []).append((math.log(own["edges"]), math.log(own["epoch_seconds"])))
            rows.append([f"{scale:g}", model, f"{own['nodes']:,}", f"{own['edges']:,}", f"{own['epoch_seconds']:.3f}", f"{own['as_trained']['seconds']:.3f}"])
    table(["scale", "", "nodes", "edges", "seconds an epoch", "inference, s"], rows)
    for model, pairs in points.items():
        print(f"{model}: log-log slope of an epoch over edges {statistics.linear_regression(*zip(*pairs)).slope:.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "graph_speed")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peers", type=Path, default=PEERS, help="python with torch-geometric")
    arguments = parser.parse_args()
    speed(Runs(arguments.program, arguments.out, device=arguments.device, peers=arguments.peers))


if __name__ == "__main__":
    main()
