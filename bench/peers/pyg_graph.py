#!/usr/bin/env python3
"""Trains a graph network with PyTorch Geometric on a graph file of ours, full graph, and says how long it took and how much memory.

Usage: bench/peers/pyg_graph.py FILE --model gcn|sage [--path csr|csr-cached|edge|short] [--precision float32|tf32|bfloat16] [--compile] [--capture] [--device cuda] ...
FILE is a graph out of the cache of `l0gm`, or one of graph_file.py --make. Paths, all of the library's own layers:
  csr         the adjacency as torch's sparse CSR matrix, normalised ahead: the library's fused sparse product
  csr-cached  the same with the transposed matrix kept for the backward pass, which torch makes anew each time
  edge        a list of edges: gather, then scatter; needs memory for a message per edge
  short       csr-cached with two shortcuts that a user may take: what the first layer sums over neighbours is computed once, and the last layer
              computes in training the rows of training nodes alone
Several models, paths and precisions, separated by commas, are timed one after the other in one process, one line of JSON each. bfloat16 is mixed
precision with float32 weights and messages in bfloat16; tf32 concerns dense products.
Architecture: convolutions of the hidden width, each followed by layer norm (not the last, unless asked for), ReLU and dropout, then a
linear head; the loss is taken on training nodes, with Adam. Running out of memory is reported as such, exit status 3.
"""

import argparse
import itertools
import json
import os
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import torch_geometric
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SAGEConv

import graph_file

PATHS = ("csr", "csr-cached", "edge", "short")
PRECISIONS = ("float32", "tf32", "bfloat16")


class Product(torch.autograd.Function):
    """matrix @ x, with the transposed matrix at hand for the gradient."""

    @staticmethod
    def forward(context: torch.autograd.function.FunctionCtx, matrix: Tensor, transposed: Tensor, x: Tensor) -> Tensor:
        context.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(context: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, context.transposed @ gradient.contiguous()


class CachedGCN(GCNConv):
    transposed: Tensor | None = None

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        return Product.apply(adj_t, self.transposed, x)


class CachedSAGE(SAGEConv):
    transposed: Tensor | None = None

    def message_and_aggregate(self, adj_t: Tensor, x: tuple[Tensor, Tensor]) -> Tensor:
        return Product.apply(adj_t, self.transposed, x[0])


def transposed_of(matrix: Tensor) -> Tensor:
    other = matrix.to_sparse_csc()
    return torch.sparse_csr_tensor(other.ccol_indices(), other.row_indices(), other.values(), (matrix.shape[1], matrix.shape[0]), check_invariants=False)


def rows_of(matrix: Tensor, rows: Tensor) -> Tensor:
    offsets = matrix.crow_indices().long()
    lengths = (offsets[1:] - offsets[:-1])[rows]
    begins = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    entries = torch.arange(int(begins[-1]), device=rows.device) + torch.repeat_interleave(offsets[rows] - begins[:-1], lengths)
    index = matrix.crow_indices().dtype
    return torch.sparse_csr_tensor(begins.to(index), matrix.col_indices()[entries], matrix.values()[entries], (len(rows), matrix.shape[1]), check_invariants=False)


class Structure:
    """The adjacency in the form that a path wants: `edges` goes to the layers, with `weights` where that is a list."""

    def __init__(self, graph: graph_file.Graph, model: str, path: str, device: torch.device, dtype: torch.dtype) -> None:
        degree, neighbours, offsets = np.diff(graph.offsets), graph.neighbours, graph.offsets
        if model == "gcn":  # every node hears itself: at the end of its row
            neighbours = np.insert(neighbours, offsets[1:], np.arange(graph.nodes, dtype=np.int32))
            offsets, degree = offsets + np.arange(graph.nodes + 1), degree + 1
            scale = (1 / np.sqrt(degree)).astype(np.float32)
            values, other_values = np.repeat(scale, degree) * scale[neighbours], None
        else:  # the mean as a sum over rows divided ahead; the transposed matrix of a symmetric graph differs in its values alone
            scale = (1 / np.maximum(degree, 1)).astype(np.float32)
            values, other_values = np.repeat(scale, degree), scale[neighbours]
        self.weights = self.transposed = None
        if path == "edge":
            target = np.repeat(np.arange(graph.nodes), degree)
            self.edges = torch.from_numpy(np.stack([neighbours.astype(np.int64), target])).to(device)
            self.weights = torch.from_numpy(values).to(device, dtype) if model == "gcn" else None
            return
        index = np.int32 if len(neighbours) < 2**31 else np.int64  # MKL's own type, half the traffic elsewhere
        rows = torch.from_numpy(offsets.astype(index)).to(device)
        columns = torch.from_numpy(np.array(neighbours, dtype=index)).to(device)

        def matrix(of: np.ndarray) -> Tensor:
            weights = torch.from_numpy(of).to(device, dtype)
            return torch.sparse_csr_tensor(rows, columns, weights, (graph.nodes, graph.nodes), check_invariants=False)

        self.edges = matrix(values)
        if path in ("csr-cached", "short") and not graph.symmetric:
            self.transposed = transposed_of(self.edges)
        elif path in ("csr-cached", "short"):
            self.transposed = self.edges if other_values is None else matrix(other_values)
        if path == "short":
            self.last = rows_of(self.edges, torch.from_numpy(np.array(graph.train)).to(device))
            self.last_transposed = transposed_of(self.last)


class Network(nn.Module):
    def __init__(self, structure: Structure, attributes: int, classes: int, options: argparse.Namespace) -> None:
        super().__init__()
        self.structure, self.dropout, self.dtype = structure, options.dropout, options.dtype
        self.model, self.path, self.summed = options.model, options.path, None
        widths = [attributes] + [options.hidden] * options.layers
        self.layers = nn.ModuleList(self.layer(options, *pair) for pair in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(options.hidden) for _ in range(options.layers - (options.last_norm == "none")))
        self.head = nn.Linear(options.hidden, classes)

    def layer(self, options: argparse.Namespace, inputs: int, outputs: int) -> nn.Module:
        cached = self.structure.transposed is not None
        if options.model == "gcn":
            made = (CachedGCN if cached else GCNConv)(inputs, outputs, normalize=False)
        else:
            # The matrix holds the mean already; over a list of edges the library takes it itself.
            made = (CachedSAGE if cached else SAGEConv)(inputs, outputs, aggr="mean" if options.path == "edge" else "sum")
        if cached:
            made.transposed = self.structure.transposed
        return made

    def convolve(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x, self.structure.edges) if self.structure.weights is None else layer(x, self.structure.edges, self.structure.weights)

    def first(self, layer: nn.Module, x: Tensor) -> Tensor:
        """From sums over neighbours that were computed once: the library's layers are linear in them."""
        if self.model == "gcn":
            return layer.lin(self.summed) + layer.bias
        return layer.lin_l(self.summed) + layer.lin_r(x)

    def last(self, layer: nn.Module, x: Tensor, nodes: Tensor) -> Tensor:
        """The rows of `nodes` alone."""
        structure = self.structure
        if self.model == "gcn":
            return Product.apply(structure.last, structure.last_transposed, layer.lin(x)) + layer.bias
        return layer.lin_l(Product.apply(structure.last, structure.last_transposed, x)) + layer.lin_r(x[nodes])

    def forward(self, x: Tensor, nodes: Tensor | None) -> Tensor:
        short = self.path == "short"
        for number, layer in enumerate(self.layers):
            x = x.to(self.dtype)  # layer norm gives float32 under mixed precision; messages have the matrix's type
            if short and number == 0:
                x = self.first(layer, x)
            elif short and number + 1 == len(self.layers) and nodes is not None:
                x = self.last(layer, x, nodes)
                nodes = None
            else:
                x = self.convolve(layer, x)
            if number < len(self.norms):
                x = self.norms[number](x)
            x = F.dropout(F.relu(x), self.dropout, self.training)
        return self.head(x if nodes is None else x[nodes])


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_memory(device: torch.device) -> int:
    """Bytes: of the GPU since the last reset, or of the process since its start."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()


class Timing:
    def __init__(self, options: argparse.Namespace, graph: graph_file.Graph) -> None:
        self.options, self.device = options, torch.device(options.device)
        self.graph = graph
        self.x = torch.from_numpy(graph_file.attributes_of(graph, options.features)).to(self.device)
        self.labels = torch.from_numpy(graph.labels.astype(np.int64)).to(self.device)
        self.train_nodes = torch.from_numpy(np.array(graph.train)).to(self.device)
        structure = Structure(graph, options.model, options.path, self.device, options.dtype)
        self.network = Network(structure, self.x.size(1), len(graph.classes), options).to(self.device)
        if options.path == "short":
            self.network.summed = (structure.edges @ self.x.to(options.dtype)).detach()
        self.forward = torch.compile(self.network) if options.compile else self.network
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=options.lr, fused=True, capturable=options.capture)
        self.graph_of_step: torch.cuda.CUDAGraph | None = None

    def mixed(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.dtype == torch.bfloat16)

    def step(self) -> None:
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        with self.mixed():
            logits = self.forward(self.x, self.train_nodes)
        loss = F.cross_entropy(logits.float(), self.labels[self.train_nodes])
        loss.backward()
        self.optimizer.step()
        self.loss = loss.detach()

    def capture(self) -> None:
        """The step as a CUDA graph, as torch's documentation does it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        self.graph_of_step = graph

    def epoch(self) -> float:
        wait_for(self.device)
        begin = time.perf_counter()
        if self.graph_of_step:
            self.graph_of_step.replay()
        else:
            self.step()
        wait_for(self.device)
        return time.perf_counter() - begin

    @torch.inference_mode()
    def inference(self) -> float:
        wait_for(self.device)
        begin = time.perf_counter()
        self.network.eval()
        with self.mixed():
            self.logits = self.forward(self.x, None)
        wait_for(self.device)
        return time.perf_counter() - begin

    def accuracy(self, nodes: np.ndarray) -> float | None:
        nodes = nodes[self.graph.labels[nodes] >= 0]
        if len(nodes) == 0:
            return None
        chosen = torch.from_numpy(np.array(nodes)).to(self.device)
        return float((self.logits[chosen].argmax(1) == self.labels[chosen]).double().mean())

    def run(self) -> dict:
        options = self.options
        reset_peak(self.device)
        if options.capture:
            self.capture()
        seconds = [self.epoch() for _ in range(options.warmup + options.epochs)][options.warmup:]
        training_peak = peak_memory(self.device)
        self.optimizer.zero_grad(set_to_none=True)
        reset_peak(self.device)
        inference = [self.inference() for _ in range(1 + options.inferences)][1:]
        return {"seconds_per_epoch": statistics.median(seconds), "seconds_of_epochs": seconds, "seconds_of_inference": statistics.median(inference),
                "peak_bytes_training": training_peak, "peak_bytes_inference": peak_memory(self.device), "loss": float(self.loss),
                "valid_accuracy": self.accuracy(self.graph.valid), "test_accuracy": self.accuracy(self.graph.test)}


def several(*known: str) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is unknown; known: {', '.join(known)}")
        return text.split(",")
    return parse


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=several("gcn", "sage"), default=["gcn"])
    parser.add_argument("--path", type=several(*PATHS), default=["csr-cached"])
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--last-norm", choices=("none", "layer"), default="none")
    parser.add_argument("--features", choices=("auto", "raw", "rows", "standard"), default="auto")
    parser.add_argument("--epochs", type=int, default=10, help="that are timed")
    parser.add_argument("--warmup", type=int, default=2, help="epochs before")
    parser.add_argument("--inferences", type=int, default=3, help="that are timed, after one that is not")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--precision", type=several(*PRECISIONS), default=["float32"])
    parser.add_argument("--compile", action="store_true", help="the network through torch.compile")
    parser.add_argument("--capture", action="store_true", help="the training step captured as a CUDA graph and replayed")
    parser.add_argument("--json", action="store_true", help="JSON objects on standard output instead of words, one a line")
    return parser.parse_args(words)


def timed(options: argparse.Namespace, graph: graph_file.Graph, precision: str) -> dict:
    """One model on one path in one precision."""
    options.dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.manual_seed(options.seed)
    facts = {"model": options.model, "path": options.path, "precision": precision, "compiled": options.compile, "captured": options.capture, "layers": options.layers,
             "hidden": options.hidden, "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu", "threads": options.threads,
             "torch": torch.__version__, "torch_geometric": torch_geometric.__version__, "graph": graph.name, "nodes": graph.nodes, "edges": graph.edges}
    try:
        return facts | Timing(options, graph).run()
    except (torch.OutOfMemoryError, MemoryError) as problem:
        print(f"error: out of memory: {problem}", file=sys.stderr)
        return facts | {"error": "out of memory"}
    except RuntimeError as problem:
        if not options.capture:
            raise
        print(f"error: {problem}", file=sys.stderr)
        return facts | {"error": "cannot be captured"}


def main() -> int:
    options = options_of(sys.argv[1:])
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    if options.device == "cuda" and not torch.cuda.is_available():
        print(f"error: torch {torch.__version__} sees no GPU; take --device cpu or a CUDA build of torch.", file=sys.stderr)
        return 2
    if options.device == "cpu" and "bfloat16" in options.precision and options.path != ["edge"]:
        print("error: torch has no bfloat16 product of sparse matrices on the CPU; take float32, or --device cuda.", file=sys.stderr)
        return 2
    try:
        graph = graph_file.read(options.file)
    except graph_file.FileError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    failed = False
    for model, path, precision in itertools.product(options.model, options.path, options.precision):
        facts = timed(argparse.Namespace(**(vars(options) | {"model": model, "path": path})), graph, precision)
        failed = failed or "error" in facts
        print(json.dumps(facts) if options.json else "\n".join(f"{key}: {value}" for key, value in facts.items() if key != "seconds_of_epochs"), flush=True)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
