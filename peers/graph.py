#!/usr/bin/env python3
"""Trains a graph network of PyTorch Geometric on a graph file of ours and hands its predictions back as a run folder.

FILE is a graph out of the cache of `l0gm` (`graph.cache`) or of `l0gm data export`. RUN gets predictions/{valid,test}.csv
(`row,label,p_<class>...`, a row is a node's number) and summary.json; `l0gm eval RUN` judges it. Where perturbed.json lies beside FILE (`l0gm
data export --perturb`), the test nodes of its copies are predicted as well: predictions/test-<condition>.csv, perturbed.json. Each layer is a convolution (with a linear residual), layer norm, ReLU and
dropout; a linear head follows; Adam, full graph; the weights of the best validation score are kept. The recipes are those that work well
on Amazon Computers and Coauthor CS; every part of one can be changed.
"""

import argparse
import copy
import csv
import hashlib
import io
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from files import UserError, write_atomically

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench" / "peers"))
import graph_file  # noqa: E402
import pyg_graph  # noqa: E402

RECIPES = {"computers": {"layers": 3, "dropout": 0.5, "weight_decay": 5e-5, "epochs": 800, "residual": "none"},
           "cs": {"layers": 2, "dropout": 0.3, "weight_decay": 5e-4, "epochs": 500, "residual": "linear"}}


class Network(nn.Module):
    def __init__(self, structure: pyg_graph.Structure, attributes: int, classes: int, options: argparse.Namespace) -> None:
        super().__init__()
        self.structure, self.dropout = structure, options.dropout
        widths = [attributes] + [options.hidden] * options.layers
        self.layers = nn.ModuleList(self.layer(options, *pair) for pair in zip(widths, widths[1:]))
        self.residuals = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in zip(widths, widths[1:]) if options.residual == "linear")
        self.norms = nn.ModuleList(nn.LayerNorm(options.hidden) for _ in range(options.layers))
        self.head = nn.Linear(options.hidden, classes)

    def layer(self, options: argparse.Namespace, inputs: int, outputs: int) -> nn.Module:
        if options.model == "gat":
            return GATConv(inputs, outputs // options.heads, options.heads)
        gcn = options.model == "gcn"
        made = pyg_graph.CachedGCN(inputs, outputs, normalize=False) if gcn else pyg_graph.CachedSAGE(inputs, outputs, aggr="sum")
        made.transposed = self.structure.transposed
        return made

    def forward(self, x: Tensor) -> Tensor:
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            y = layer(x, self.structure.edges)
            if self.residuals:
                y = y + self.residuals[number](x)
            x = F.dropout(F.relu(norm(y)), self.dropout, self.training)
        return self.head(x)


class Training:
    def __init__(self, graph: graph_file.Graph, options: argparse.Namespace) -> None:
        self.options, device = options, torch.device(options.device)
        path = "edge" if options.model == "gat" else "csr-cached"
        structure = pyg_graph.Structure(graph, "gcn" if options.model == "gcn" else "sage", path, device, torch.float32)
        # Decided once, by the graph as it is: noisy copies of sparse attributes are dense, and are scaled like the others.
        self.scale = ("rows" if graph.dense is None else "standard") if options.features == "auto" else options.features
        self.x = torch.from_numpy(graph_file.attributes_of(graph, self.scale)).to(device)
        self.labels = torch.from_numpy(graph.labels.astype(np.int64)).to(device)
        self.nodes = {name: torch.from_numpy(np.array(getattr(graph, name))).to(device) for name in ("train", "valid", "test")}
        self.network = Network(structure, self.x.size(1), len(graph.classes), options).to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=options.lr, weight_decay=options.weight_decay, fused=True)
        self.best_score, self.best_epoch, self.best = float("-inf"), 0, copy.deepcopy(self.network.state_dict())

    def loss(self, logits: Tensor, split: str, smoothing: float = 0.0) -> Tensor:
        return F.cross_entropy(logits[self.nodes[split]], self.labels[self.nodes[split]], label_smoothing=smoothing)

    @torch.no_grad()
    def logits(self, x: Tensor | None = None) -> Tensor:
        self.network.eval()
        return self.network(self.x if x is None else x)

    def probabilities(self, x: Tensor | None = None) -> np.ndarray:
        return self.logits(x).double().softmax(1).cpu().numpy()

    def read_attributes(self, graph: graph_file.Graph) -> Tensor:
        return torch.from_numpy(graph_file.attributes_of(graph, self.scale)).to(self.x.device)

    def judge(self, epoch: int) -> None:
        logits, nodes = self.logits(), self.nodes["valid"]
        right = (logits[nodes].argmax(1) == self.labels[nodes]).double().mean()
        score = float(right) if self.options.select == "accuracy" else -float(self.loss(logits, "valid"))
        if score > self.best_score:
            self.best_score, self.best_epoch, self.best = score, epoch, copy.deepcopy(self.network.state_dict())

    def run(self) -> np.ndarray:
        """Probabilities of all nodes by the best weights."""
        for epoch in range(1, self.options.epochs + 1):
            self.network.train()
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(self.network(self.x), "train", self.options.label_smoothing).backward()
            self.optimizer.step()
            if epoch % self.options.every == 0 or epoch == self.options.epochs:
                self.judge(epoch)
        self.network.load_state_dict(self.best)
        return self.probabilities()


def write_predictions(path: Path, graph: graph_file.Graph, nodes: np.ndarray, probabilities: np.ndarray) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "label", *(f"p_{name}" for name in graph.classes)])
    for node in nodes.tolist():
        label = graph.labels[node]
        writer.writerow([node, graph.classes[label] if label >= 0 else "", *map(repr, probabilities[node].tolist())])
    write_atomically(path, text.getvalue())


def hash_of_attributes(graph: graph_file.Graph) -> str:
    """Of the attributes' bytes in the order in which `l0gm` takes them."""
    digest = hashlib.sha256()
    for array in [graph.dense] if graph.dense is not None else graph.sparse:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def predict_perturbed(training: Training, options: argparse.Namespace) -> None:
    """Test nodes under every condition that was exported; the attributes must be those that the export wrote."""
    record = options.file.parent / "perturbed.json"
    (options.out / "perturbed.json").unlink(missing_ok=True)  # of an earlier run: its predictions are not this model's
    if not record.is_file():
        return
    text = record.read_text(encoding="utf-8")
    try:
        conditions = [(name, options.file.parent / each["file"], each["sha256"]) for name, each in json.loads(text)["conditions"].items()]
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise UserError(f"{record} is damaged ({problem!r}); wanted conditions, each with file and sha256. Export again.") from problem
    for name, path, sha256 in conditions:
        copy = graph_file.read(path)
        found = hash_of_attributes(copy)
        if found != sha256:
            raise UserError(f"the attributes of {path} have the SHA-256 {found}, but {record} says {sha256}. Export again.")
        write_predictions(options.out / "predictions" / f"test-{name}.csv", copy, copy.test, training.probabilities(training.read_attributes(copy)))
    write_atomically(options.out / "perturbed.json", text)


def check(graph: graph_file.Graph, options: argparse.Namespace) -> None:
    for name in ("train", "valid"):
        nodes = getattr(graph, name)
        unknown = int((graph.labels[nodes] < 0).sum())
        if len(nodes) == 0 or unknown:
            raise UserError(f"{options.file}: {len(nodes)} nodes of the split '{name}', {unknown} without a label; wanted some, all with one.")
    if options.model == "gat" and options.hidden % options.heads:
        raise UserError(f"--hidden is {options.hidden} and --heads {options.heads}; wanted heads that divide the width.")
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError(f"torch {torch.__version__} sees no GPU; take --device cpu or a CUDA build of torch.")
    if (options.out / "config.toml").exists():
        raise UserError(f"{options.out} is the run of a model of ours; give --out a folder of its own.")


def run(options: argparse.Namespace) -> None:
    graph = graph_file.read(options.file)
    check(graph, options)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    training = Training(graph, options)
    start = time.perf_counter()
    probabilities = training.run()
    seconds = time.perf_counter() - start
    for name in ("valid", "test"):
        write_predictions(options.out / "predictions" / f"{name}.csv", graph, getattr(graph, name), probabilities)
    predict_perturbed(training, options)
    settings = {key: value for key, value in vars(options).items() if key not in ("file", "out")}
    versions = {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__, "python": sys.version.split()[0]}
    summary = {"method": f"pyg-{options.model}", "versions": versions, "graph": graph.name, "train_seconds": seconds,
               "best_epoch": training.best_epoch, "parameters": settings, "seed": options.seed}
    write_atomically(options.out / "summary.json", json.dumps(summary, indent=2) + "\n")
    print(f"{options.model}: best of {options.epochs} epochs is {training.best_epoch}, {seconds:.1f} s; predictions in {options.out}",
          file=sys.stderr)
    print(json.dumps(summary))


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=("gcn", "sage", "gat"))
    parser.add_argument("file", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="RUN", help="the run folder to write")
    parser.add_argument("--recipe", choices=RECIPES, default="computers", help="layers, dropout, weight decay, epochs, residual")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--residual", choices=("none", "linear"))
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--heads", type=int, default=4, help="of gat")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--label-smoothing", type=float, default=0.0)
    parser.add_argument("--features", choices=("auto", "raw", "rows", "standard"), default="auto")
    parser.add_argument("--select", choices=("nll", "accuracy"), default="nll", help="which validation score keeps weights")
    parser.add_argument("--every", type=int, default=5, help="epochs between two looks at validation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores this process may use")
    options = parser.parse_args(words)
    for key, value in RECIPES[options.recipe].items():
        if getattr(options, key) is None:
            setattr(options, key, value)
    return options


def main() -> int:
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    try:
        run(options_of(sys.argv[1:]))
    except (UserError, graph_file.FileError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
