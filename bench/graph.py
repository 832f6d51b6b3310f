#!/usr/bin/env python3
"""Makes the figures of docs/results/graph.md: every run by the l0gm program, finished runs are kept and skipped as long as configuration and
settings are the same (remove the folder after a change of the program).

Usage: bench/graph.py [tune|nodes|attributes|planted|links|arxiv|speed|products ...] [--jobs 2] [--device cpu] [--out runs/graph]
Prints one Markdown section per part; three seeds, mean ± standard deviation. Needs the graph files (L0GM_DATA). `speed` wants a machine with
nothing else to do; it times PyTorch Geometric (bench/peers/pyg_graph.py, run by --peers) on the same graphs in the same run.
"""

import argparse
import itertools
import json
import math
import random
import statistics
import subprocess
from pathlib import Path

from runs import PEERS, ROOT, Cell, Runs, assignments, mean, table

EXAMPLES = ROOT / "examples" / "graph"
CONFIGS = {"computers": EXAMPLES / "computers.toml", "cs": EXAMPLES / "cs.toml"}
DENSE = {"gate.unit": "none"}
RANDOM = {"gate.logits": "static", "gate.static_by": "random"}
MAGNITUDE = {"gate.logits": "static", "gate.static_by": "magnitude"}
SHARES = (0.5, 0.25, 0.125, 0.0625)
HIDDEN = 512


def spread(results: list[dict], split: str, key: str, digits: int = 4, factor: float = 1) -> str:
    values = [factor * result[split][key] for result in results]
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else f"{values[0]:.{digits}f}"


def projected(results: list[dict]) -> str:
    """Units that were closed or opened when gates were fixed, of the worst seed; with a mark where that is more than the limit."""
    if any("logit_spread" not in result["test"] for result in results):
        return "-"  # dense, or a mask: no gate was learned
    worst = max(result["test"]["projected_units"] for result in results)
    return f"{worst}" + ("" if all(result["test"]["converged"] for result in results) else " **not converged**")


def row(label: str, results: list[dict]) -> list[str]:
    open_units = sorted({result["test"]["open_units"] for result in results})
    return [label, "-".join(str(count) for count in {open_units[0]: 0, open_units[-1]: 0}), projected(results), f"{mean(results, 'test', 'parameters'):,.0f}",
            spread(results, "test", "accuracy", 2, 100), spread(results, "test", "nll", 3), spread(results, "test", "ece", 4),
            f"{mean(results, 'test', 'ece_floor'):.4f}", spread(results, "test", "ece_scaled", 4), f"{mean(results, 'valid', 'nll'):.3f}"]


HEAD = ["", "open", "projected", "parameters", "accuracy %", "NLL", "ECE", "floor", "ECE calibrated", "valid NLL"]


def tune(runs: Runs) -> None:
    """One change of the example at a time, and a few together, judged by validation nodes alone: test nodes are not looked at."""
    anywhere = {
        "example": {}, "wd .1": {"train.weight_decay": 0.1}, "wd .5": {"train.weight_decay": 0.5}, "wd 2": {"train.weight_decay": 2},
        "lr .003": {"train.lr": 0.003}, "lr .0005": {"train.lr": 0.0005}, "head lr .001": {"train.head_lr": 0.001}, "head lr .003": {"train.head_lr": 0.003},
        "head lr .01": {"train.head_lr": 0.01}, "head lr .03": {"train.head_lr": 0.03}, "dropout .7": {"model.dropout": 0.7}, "interface 0": {"model.interface_dropout": 0},
        "interface .2": {"model.interface_dropout": 0.2}, "interface .7": {"model.interface_dropout": 0.7},
        "smoothing 0": {"train.label_smoothing": 0}, "smoothing .05": {"train.label_smoothing": 0.05}, "smoothing .1": {"train.label_smoothing": 0.1},
        "last batch": {"graph.last_norm": "batch"}, "last none": {"graph.last_norm": "none"}, "drop edge .3": {"graph.drop_edge": 0.3}, "ema .9": {"train.ema": 0.9},
    }
    gated = {
        "anneal .1": {"schedule.anneal_until": 0.1}, "anneal .35": {"schedule.anneal_until": 0.35}, "anneal .5": {"schedule.anneal_until": 0.5},
        "gate lr .02": {"train.gate_lr": 0.02}, "gate lr .15": {"train.gate_lr": 0.15},
        "one draw a step": {"gate.noise": "batch"},
    }
    of_set = {"computers": {"epochs 200": {"train.epochs": 200}, "depth 2": {"model.depth": 2}, "residual": {"graph.residual": "linear"}},
              "cs": {"epochs 100": {"train.epochs": 100}, "depth 1": {"model.depth": 1}, "dropout .5": {"model.dropout": 0.5, "model.interface_dropout": 0.5}}}
    # What depends on each other, all combinations.
    grids = {"computers": {"train.head_lr": (0.01, 0.03), "model.dropout": (0.6, 0.8), "model.interface_dropout": (0.1, 0.3)},
             "cs": {"train.lr": (0.0003, 0.0005), "train.head_lr": (0.003, 0.01), "model.dropout": (0.3, 0.5)}}
    cells = {name: [] for name in CONFIGS}
    for name, config in CONFIGS.items():
        together = [dict(zip(grids[name], values)) for values in itertools.product(*grids[name].values())]
        combined = {" ".join(f"{key.split('.')[1]} {value}" for key, value in options.items()): options for options in together}
        for kind, gate in (("dense", DENSE), ("narrow", {**DENSE, "graph.last_width": round(HIDDEN * SHARES[-1])}), ("gate", {"gate.target_active": SHARES[-1]})):
            choices = {**anywhere, **of_set[name], **(gated if kind == "gate" else {}), **combined}
            cells[name] += [Cell(f"tune-{name}-{kind}-{choice.replace(' ', '-')}", f"{kind}, {choice}", config, {**gate, **options})
                            for choice, options in choices.items()]
    results = runs.all([cell for of_name in cells.values() for cell in of_name], seeds=range(2), judge=False)
    for name, of_name in cells.items():
        print(f"### {name}: validation nodes\n")
        rows = [[cell.label, spread(results[cell.name], "valid", "accuracy", 2, 100), spread(results[cell.name], "valid", "nll", 4),
                 spread(results[cell.name], "valid", "ece", 4)] for cell in of_name]
        table(["", "accuracy %", "NLL", "ECE"], sorted(rows, key=lambda item: item[2]))


def nodes(runs: Runs) -> None:
    for name, config in CONFIGS.items():
        cells = [Cell(f"{name}-{model}", f"{model}, dense", config, {**DENSE, "model.name": model}) for model in ("gcn", "sage", "gat", "mlp")]
        cells.append(Cell(f"{name}-layer-norm", "gcn, dense, layer norm at the interface", config, {**DENSE, "graph.last_norm": "layer"}))
        for share in SHARES:
            text, width = f"{100 * share:g} %", round(HIDDEN * share)
            cells += [Cell(f"{name}-gate-{share}", f"gate {text}", config, {"gate.target_active": share}),
                      Cell(f"{name}-narrow-{share}", f"narrower dense layer {text}", config, {**DENSE, "graph.last_width": width}),
                      Cell(f"{name}-random-{share}", f"random mask {text}", config, {**RANDOM, "gate.target_active": share}),
                      Cell(f"{name}-magnitude-{share}", f"magnitude mask {text}", config, {**MAGNITUDE, "gate.target_active": share})]
        cells.append(Cell(f"{name}-gate-layer-norm", "gate 12.5 %, layer norm at the interface", config, {"graph.last_norm": "layer"}))
        cells.append(Cell(f"{name}-group", "gate 12.5 %, blocks of 16 channels", config, {"gate.unit": "group", "graph.blocks": 32}))
        cells.append(Cell(f"{name}-fine", "gate 12.5 %, per layer and channel", config,
                          {"gate.unit": "fine", "schedule.anneal_until": 0.5}))
        results = runs.all(cells)
        print(f"### {name}\n")
        table(HEAD, [row(cell.label, results[cell.name]) for cell in cells])


def attributes(runs: Runs) -> None:
    # The gate chooses among hundreds to thousands of attributes, with one draw a step: it wants more steps than at the interface.
    slow = {"computers": {"train.epochs": 800, "schedule.anneal_until": 0.3}, "cs": {"train.epochs": 600, "schedule.anneal_until": 0.5}}
    for name, config in CONFIGS.items():
        cells = [Cell(f"{name}-gcn", "all attributes", config, {**DENSE, "model.name": "gcn"})]
        for share in (0.25, 0.125, 0.0625, 0.03125):
            text = f"{100 * share:.3g} %"
            cells += [Cell(f"{name}-input-{share}", f"gate on the input, {text}", config, {"gate.attach": "input", "gate.target_active": share, **slow[name]}),
                      Cell(f"{name}-information-{share}", f"mutual information, {text}", config, {**DENSE, "graph.keep_attributes": share}),
                      Cell(f"{name}-chance-{share}", f"chance, {text}", config, {**DENSE, "graph.keep_attributes": share, "graph.keep_by": "random"})]
        results = runs.all(cells)
        print(f"### {name}: raw attributes\n")
        table(["", *HEAD[2:]], [[item for i, item in enumerate(row(cell.label, results[cell.name])) if i != 1] for cell in cells])


def planted(runs: Runs) -> None:
    config = EXAMPLES / "planted.toml"
    cells = [Cell("planted-dense", "all 32", config, DENSE), Cell("planted-gate", "gate on the input", config),
             Cell("planted-random", "random mask", config, RANDOM),
             Cell("planted-magnitude", "magnitude mask", config, MAGNITUDE),
             Cell("planted-information", "mutual information", config, {**DENSE, "graph.keep_attributes": 0.25}),
             Cell("planted-chance", "chance", config, {**DENSE, "graph.keep_attributes": 0.25, "graph.keep_by": "random"})]
    results = {}
    for seed in range(3):  # another graph for every seed
        for cell in cells:
            own = Cell(f"{cell.name}-{seed}", cell.label, cell.config, {**cell.options, "data.split.seed": seed})
            results.setdefault(cell.name, []).append(own)
    trained = runs.all([own for cell in cells for own in results[cell.name]], seeds=range(1))
    rows = []
    for cell in cells:
        every = [trained[own.name][0] for own in results[cell.name]]
        found = [result["test"].get("planted") for result in every]
        told = [f"{statistics.mean(item[key] for item in found):.2f}" if all(found) else "-" for key in ("precision", "recall")]
        rows.append([cell.label, *told, spread(every, "test", "accuracy", 2, 100), spread(every, "test", "nll", 3)])
    print("### planted-graph\n")
    table(["8 of 32 attributes", "precision", "recall", "accuracy %", "NLL"], rows)


def random_graph(folder: Path, nodes: int = 5000, edges: int = 50000, attributes: int = 32) -> dict[str, object]:
    """Edges and attributes by chance: nothing in it tells which links were held out, unless they leak."""
    draw = random.Random(0)
    pairs = set()
    while len(pairs) < edges:
        pairs.add(tuple(sorted(draw.sample(range(nodes), 2))))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "edges.csv").write_text("from,to\n" + "".join(f"n{a},n{b}\n" for a, b in sorted(pairs)))
    (folder / "labels.csv").write_text("node,label\n" + "".join(f"n{i},{i % 2}\n" for i in range(nodes)))  # whose training part attributes are scaled by
    names = ",".join(f"a{i}" for i in range(attributes))
    rows = (",".join([f"n{i}", *(f"{draw.gauss(0, 1):.4f}" for _ in range(attributes))]) for i in range(nodes))
    (folder / "features.csv").write_text("\n".join([f"node,{names}", *rows]) + "\n")
    return {"data.source": "graph", "data.edges": folder / "edges.csv", "data.features": folder / "features.csv", "data.labels": folder / "labels.csv",
            "graph.features": "standard"}


def links(runs: Runs) -> None:
    config, chance = EXAMPLES / "links.toml", random_graph(runs.out / "random")
    cells = [Cell("links-dense", "dense", config, DENSE), Cell("links-gate", "gate 25 %", config, {}),
             Cell("links-random", "random mask 25 %", config, RANDOM), Cell("links-dot", "dense, dot product", config, {**DENSE, "link.scorer": "dot"}),
             Cell("links-mlp", "dense, no messages", config, {**DENSE, "model.name": "mlp"}),
             Cell("links-chance", "random graph, dense", config, {**DENSE, **chance}),
             Cell("links-chance-gate", "random graph, gate 25 %", config, chance)]
    results = runs.all(cells)
    print("### Links of Amazon Computers\n")
    table(["", "open", "AUC", "MRR", "hits@1", "hits@10", "NLL", "ECE"],
          [[cell.label, str(results[cell.name][0]["test"]["open_units"]), *[spread(results[cell.name], "test", key) for key in
            ("auc", "mrr", "hits_1", "hits_10", "nll", "ece")]] for cell in cells])


def arxiv(runs: Runs) -> None:
    config = EXAMPLES / "arxiv.toml"
    sampled = {"graph.sampler": "neighbour", "graph.fanout": "[15,10,5]", "train.batch": 1024, "train.epochs": 12, "train.evaluate_every": 1,
               "train.checkpoint_every": 4, "train.lr": 0.002, "train.ema": 0.995}
    cells = []
    for model in ("gcn", "sage"):
        cells += [Cell(f"arxiv-{model}", f"{model}, full graph", config, {**DENSE, "model.name": model}),
                  Cell(f"arxiv-{model}-sampled", f"{model}, sampled 15, 10, 5", config, {**DENSE, "model.name": model, **sampled}),
                  Cell(f"arxiv-{model}-gate", f"{model}, full graph, gate 25 %", config, {"model.name": model}),
                  Cell(f"arxiv-{model}-narrow", f"{model}, full graph, narrower last layer 25 %", config, {**DENSE, "model.name": model, "graph.last_width": 64})]
    cells.append(Cell("arxiv-mlp", "mlp, full batch", config, {**DENSE, "model.name": "mlp"}))
    results = runs.all(cells)
    print("### arxiv-guesses\n")
    table(HEAD, [row(cell.label, results[cell.name]) for cell in cells])


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
        for name, config, options in (("Computers", CONFIGS["computers"], {}), ("CS", CONFIGS["cs"], {}), ("arxiv-guesses", EXAMPLES / "arxiv.toml", {}),
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


def products(runs: Runs) -> None:
    """One seed: a run takes a minute on a GPU and hours without one."""
    config, graphs = EXAMPLES / "products_like.toml", runs.out / "graphs" / "products_like-1"
    size = {"graph.scale": 1, "model.name": "gcn", "graph.cache": graphs, "train.evaluate_every": 20}
    cells = [Cell("products-dense", "gcn, dense", config, {**size, **DENSE}), Cell("products-gate", "gate 12.5 %", config, size),
             Cell("products-narrow", "narrower dense layer 12.5 %", config, {**size, **DENSE, "graph.last_width": 32})]
    results = runs.all(cells, seeds=range(1))
    print("### products-like at scale 1: test nodes\n")
    table(HEAD, [row(cell.label, results[cell.name]) for cell in cells])
    measured = runs.l0gm("bench", "graph", str(runs.out / "products-gate" / "0"), "--device", runs.device)
    dense, narrowed = measured["as_trained"], measured["narrowed"]
    print(f"inference over all nodes: {dense['seconds']:.4f} s with {dense['width']} channels, {narrowed['seconds']:.4f} s with {narrowed['width']}: "
          f"{dense['seconds'] / narrowed['seconds']:.2f} times as fast\n")


PARTS = {"tune": tune, "nodes": nodes, "attributes": attributes, "planted": planted, "links": links, "arxiv": arxiv, "speed": speed, "products": products}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "graph")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peers", type=Path, default=PEERS, help="python with torch-geometric, for `speed`")
    arguments = parser.parse_args()
    runs = Runs(arguments.program, arguments.out, arguments.jobs, arguments.device, peers=arguments.peers)
    for part in arguments.parts or [name for name in PARTS if name not in ("tune", "products")]:
        PARTS[part](runs)


if __name__ == "__main__":
    main()
