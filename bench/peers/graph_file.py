#!/usr/bin/env python3
"""Reads a graph as `l0gm` keeps it in its cache: one safetensors file, mapped, not read. Needs numpy alone.

Usage: graph_file.py FILE                              says what is in it
       graph_file.py FILE --make NODES [--degree D]    writes a random undirected graph in that form, to try the programs beside this one
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TYPES = {"I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "U8": np.dtype("u1")}
FORMAT = 1  # of src/data/graph/cache.cpp


class FileError(Exception):
    """The user's mistake: what was found, what was wanted, what to do."""


@dataclass
class Graph:
    """Row v of the adjacency lists the nodes that v hears, ascending, never v itself."""
    offsets: np.ndarray     # int64 [nodes + 1]
    neighbours: np.ndarray  # int32 [edges]
    labels: np.ndarray      # int32 [nodes]; -1: unknown
    train: np.ndarray       # int64: nodes
    valid: np.ndarray
    test: np.ndarray
    dense: np.ndarray | None = None  # float32 [nodes, attributes], or else the three arrays of a sparse matrix
    sparse: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # offsets, columns, values
    attributes: int = 0
    name: str = "graph"
    symmetric: bool = False
    classes: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int:
        return len(self.labels)

    @property
    def edges(self) -> int:
        return len(self.neighbours)


def tensors_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, mapped."""
    if not path.is_file():
        raise FileError(f"{path} does not exist; wanted a graph file out of the cache of `l0gm` (`graph.cache`).")
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, 1 << 32):
            raise FileError(f"{path} is no safetensors file, or cut off: its header would have {length} bytes. Make it again.")
        try:
            header = json.loads(file.read(length))
        except ValueError as problem:
            raise FileError(f"{path} is no safetensors file: its header is not JSON ({problem}). Make it again.") from problem
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, (begin, end) = TYPES.get(entry["dtype"]), entry["data_offsets"]
        if dtype is None or end - begin != math.prod(entry["shape"]) * dtype.itemsize or 8 + length + end > size:
            raise FileError(f"{path}: tensor '{name}' is {entry} in a file of {size} bytes. It is damaged: make it again.")
        shape = tuple(entry["shape"])
        arrays[name] = np.memmap(path, dtype, "r", 8 + length + begin, shape) if end > begin else np.empty(shape, dtype)
    return arrays


def read(path: Path) -> Graph:
    arrays = tensors_of(path)
    wanted = ["description", "offsets", "neighbours", "labels", "train", "valid", "test"]
    wanted += ["dense"] if "dense" in arrays else ["sparse.offsets", "sparse.columns", "sparse.values"]
    absent = [name for name in wanted if name not in arrays]
    if absent:
        raise FileError(f"{path} has no tensor {', '.join(absent)}; it has: {', '.join(arrays) or 'none'}. Wanted a graph file.")
    facts = json.loads(arrays["description"].tobytes())
    graph = Graph(*(arrays[name] for name in wanted[1:7]), name=facts["name"], symmetric=facts["symmetric"], classes=facts["classes"],
                  attributes=facts["attributes"])
    if "dense" in arrays:
        graph.dense = arrays["dense"].reshape(graph.nodes, graph.attributes)
    else:
        graph.sparse = tuple(arrays[name] for name in wanted[7:])
    return graph


def attributes_of(graph: Graph, scale: str = "auto") -> np.ndarray:
    """The attributes as a model reads them, dense; the scales are those of the option `graph.features`."""
    if scale == "auto":
        scale = "rows" if graph.dense is None else "standard"
    if graph.dense is not None:
        x = np.array(graph.dense, dtype=np.float32)
    else:
        offsets, columns, values = graph.sparse
        x = np.zeros((graph.nodes, graph.attributes), dtype=np.float32)
        x[np.repeat(np.arange(graph.nodes), np.diff(offsets)), columns] = values
    if scale == "rows":
        total = np.abs(x).sum(axis=1, keepdims=True)
        x /= np.where(total > 0, total, 1)
    elif scale == "standard":
        mean, deviation = x[graph.train].mean(axis=0, dtype=np.float64), x[graph.train].std(axis=0, dtype=np.float64)
        x -= mean.astype(np.float32)
        x /= np.where(deviation > 0, deviation, 1).astype(np.float32)
    return x


def write(path: Path, arrays: dict[str, np.ndarray], name: str, classes: list[str], attributes: int, symmetric: bool) -> None:
    """The arrays under their names in the file; `l0gm` reads it as one of its own."""
    facts = {"format": FORMAT, "name": name, "nodes": len(arrays["labels"]), "symmetric": symmetric, "attributes": attributes,
             "attribute_names": [], "classes": classes, "node_names": [], "planted": [], "files": []}
    arrays = arrays | {"description": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)}
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)  # the widest first: each is aligned to its type
    names, header, begin = {dtype: word for word, dtype in TYPES.items()}, {}, 0
    for word, array in ordered:
        header[word] = {"dtype": names[array.dtype], "shape": [array.size], "data_offsets": [begin, begin + array.nbytes]}
        begin += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(array.tobytes())


def make(path: Path, nodes: int, degree: float, attributes: int = 100, classes: int = 10, seed: int = 0) -> None:
    """Two thirds of the edges stay within a class, and attributes tell a little of it: enough to see whether something is learned."""
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=nodes, dtype=np.int32)
    count = int(nodes * degree / 2)
    begin, end = random.integers(nodes, size=(2, count))
    of_class = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[of_class], np.arange(classes + 1))
    same = random.random(count) < 2 / 3
    own = labels[begin[same]]
    end[same] = of_class[first[own] + (random.random(len(own)) * (first[own + 1] - first[own])).astype(np.int64)]
    both = np.unique(np.concatenate([begin * nodes + end, end * nodes + begin]))
    target, source = both // nodes, both % nodes
    target, source = target[target != source], source[target != source]
    x = random.normal(size=(nodes, attributes)).astype(np.float32)
    x[np.arange(nodes), labels] += 1
    order = random.permutation(nodes)
    splits = {name: np.sort(part) for name, part in zip(("train", "valid", "test"), np.split(order, [nodes * 6 // 10, nodes * 8 // 10]))}
    offsets = np.searchsorted(target, np.arange(nodes + 1)).astype(np.int64)
    write(path, {"offsets": offsets, "neighbours": source.astype(np.int32), "dense": x, "labels": labels, **splits}, f"random-{nodes}",
          [str(label) for label in range(classes)], attributes, symmetric=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--make", type=int, metavar="NODES")
    parser.add_argument("--degree", type=float, default=50)
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.file, arguments.make, arguments.degree)
    try:
        graph = read(arguments.file)
    except FileError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print(json.dumps({"name": graph.name, "nodes": graph.nodes, "edges": graph.edges, "symmetric": graph.symmetric,
                      "attributes": graph.attributes, "sparse": graph.dense is None, "classes": len(graph.classes),
                      "train": len(graph.train), "valid": len(graph.valid), "test": len(graph.test)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
