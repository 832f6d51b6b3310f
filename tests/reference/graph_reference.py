#!/usr/bin/env python3
"""Writes graph_reference.json: graph layers, stacks of two layers, link metrics and mutual information by formulas of their own.

Everything is numpy in double precision, one node at a time; nothing is taken from the C++ sources. Run it without arguments after a
change; the output is committed. Weights are rounded when drawn, so that the file stays short and a float32 reader sees nearly the same.

A weight matrix W is [in, out] and multiplies from the right: x W. GAT's `source` and `target` are [heads, out / heads].
A model's layer: convolution (+ x W_residual) -> norm -> ReLU, in the last layer as well.
"""

import json
import math
from pathlib import Path

import numpy as np
from numpy import ndarray as Array

NODES, ATTRIBUTES, HIDDEN, LAST, HEADS = 12, 5, 4, 6, 2
ISOLATED = (3, 11)
SLOPE, EPSILON = 0.2, 1e-5
KINDS = ("gcn", "sage-mean", "sage-max", "sage-pool", "gat", "mlp")
VARIANTS = [  # norm of the first layer, of the last, residual
    ("none", "none", "none"), ("layer", "none", "linear"), ("batch", "batch", "linear"), ("layer", "layer", "none"), ("none", "batch", "none")]
Rows = list[list[int]]  # of each node those that it hears


def drawn(random: np.random.Generator, *shape: int) -> Array:
    return np.round(random.normal(0, 0.7, shape), 2)


def draw_graph(random: np.random.Generator) -> Rows:
    linked = np.zeros((NODES, NODES), dtype=bool)
    for v in range(NODES):
        for u in range(v):
            linked[v, u] = linked[u, v] = random.random() < 0.35 and v not in ISOLATED and u not in ISOLATED
    return [[u for u in range(NODES) if linked[v, u]] for v in range(NODES)]


def gcn(rows: Rows, x: Array, w: dict[str, Array]) -> Array:
    y = np.zeros((NODES, w["weight"].shape[1]))
    for v, heard in enumerate(rows):
        for u in [*heard, v]:
            y[v] += x[u] @ w["weight"] / math.sqrt((len(heard) + 1) * (len(rows[u]) + 1))
    return y + w["bias"]


def sage(rows: Rows, x: Array, w: dict[str, Array], aggregate: str) -> Array:
    y = []
    for v, heard in enumerate(rows):
        messages = [np.maximum(x[u] @ w["pool_weight"] + w["pool_bias"], 0) if aggregate == "pool" else x[u] for u in heard]
        together = np.zeros(w["neighbour_weight"].shape[0])
        if messages:
            together = np.mean(messages, axis=0) if aggregate == "mean" else np.max(messages, axis=0)
        y.append(together @ w["neighbour_weight"] + x[v] @ w["root_weight"] + w["bias"])
    return np.array(y)


def gat(rows: Rows, x: Array, w: dict[str, Array]) -> Array:
    h = (x @ w["weight"]).reshape(NODES, HEADS, -1)
    y = np.zeros_like(h)
    for v, heard in enumerate(rows):
        for head in range(HEADS):
            sum_of_weights = 0.0
            for u in [*heard, v]:
                score = float(w["target"][head] @ h[v, head] + w["source"][head] @ h[u, head])
                weight = math.exp(score if score > 0 else SLOPE * score)
                y[v, head] += weight * h[u, head]
                sum_of_weights += weight
            y[v, head] /= sum_of_weights
    return y.reshape(NODES, -1) + w["bias"]


def convolve(kind: str, rows: Rows, x: Array, w: dict[str, Array]) -> Array:
    if kind.startswith("sage-"):
        return sage(rows, x, w, kind.removeprefix("sage-"))
    return {"gcn": gcn, "gat": gat, "mlp": lambda _, inputs, weights: inputs @ weights["weight"] + weights["bias"]}[kind](rows, x, w)


def draw_weights(random: np.random.Generator, kind: str, inputs: int, outputs: int) -> dict[str, Array]:
    w = {"bias": drawn(random, outputs)}
    if kind.startswith("sage-"):
        w |= {"neighbour_weight": drawn(random, inputs, outputs), "root_weight": drawn(random, inputs, outputs)}
    else:
        w["weight"] = drawn(random, inputs, outputs)
    if kind == "sage-pool":
        w |= {"pool_weight": drawn(random, inputs, inputs), "pool_bias": drawn(random, inputs)}
    if kind == "gat":
        w |= {"target": drawn(random, HEADS, outputs // HEADS), "source": drawn(random, HEADS, outputs // HEADS)}
    return w


def normalise(norm: str, y: Array, w: dict[str, Array]) -> Array:
    if norm == "none":
        return y
    mean, variance = w.get("norm_mean"), w.get("norm_variance")
    if norm == "layer":
        mean = y.mean(axis=1, keepdims=True)
        variance = ((y - mean) ** 2).mean(axis=1, keepdims=True)
    return (y - mean) / np.sqrt(variance + EPSILON) * w["norm_weight"] + w["norm_bias"]


def listed(w: dict[str, Array]) -> dict[str, list]:
    return {name: value.tolist() for name, value in w.items()}


def layer_cases(random: np.random.Generator, rows: Rows, x: Array) -> list[dict]:
    cases = []
    for kind in KINDS:
        w = draw_weights(random, kind, ATTRIBUTES, LAST)
        cases.append({"kind": kind, "weights": listed(w), "result": convolve(kind, rows, x, w).tolist()})
    return cases


def model_case(random: np.random.Generator, rows: Rows, x: Array, kind: str, norms: tuple[str, str], residual: str) -> dict:
    layers, results, y = [], [], x
    for norm, outputs in zip(norms, (HIDDEN, LAST)):
        inputs = y.shape[1]
        w = draw_weights(random, kind, inputs, outputs)
        if residual == "linear":
            w["residual_weight"] = drawn(random, inputs, outputs)
        if norm != "none":
            w |= {"norm_weight": 1 + drawn(random, outputs) / 2, "norm_bias": drawn(random, outputs)}
        if norm == "batch":
            w |= {"norm_mean": drawn(random, outputs), "norm_variance": 0.25 + drawn(random, outputs) ** 2}
        before = convolve(kind, rows, y, w)
        if residual == "linear":
            before = before + y @ w["residual_weight"]
        y = np.maximum(normalise(norm, before, w), 0)
        layers.append({"norm": norm, "weights": listed(w)})
        results.append(y.tolist())
    return {"kind": kind, "residual": residual, "layers": layers, "hidden": results[0], "result": results[1]}


def link_case(random: np.random.Generator) -> dict:
    """Scores on a coarse grid, so that there are ties. rank = 1 + negatives above + half of those that tie; hits@k: rank <= k."""
    positives = np.round(random.normal(1, 1, 9), 1)
    negatives = np.round(random.normal(0, 1, (9, 15)), 1)
    negatives[0, :3], negatives[1, :1] = positives[0], positives[1]
    wins = [0.5 if n == p else float(n < p) for p in positives for n in negatives.flatten()]
    ranks = [1 + sum(n > p for n in own) + 0.5 * sum(n == p for n in own) for p, own in zip(positives, negatives)]
    hits = {str(k): sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 3, 10)}
    return {"positives": positives.tolist(), "negatives": negatives.tolist(), "auc": math.fsum(wins) / len(wins),
            "ranks": [float(rank) for rank in ranks], "mrr": math.fsum(1 / rank for rank in ranks) / len(ranks), "hits": hits}


def information_case() -> dict:
    """Of each attribute, present or absent, with the class over the training nodes, in nats."""
    labels = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 1, 0]
    train = list(range(12))
    present = [[7, 8, 9, 10, 11], [0, 4, 7], [], [0, 1, 2, 4, 12], [13], [5]]  # nodes that have each attribute; those from 12 on do not count
    values = [[round(0.5 + 0.25 * node, 2) if node in nodes else 0.0 for nodes in present] for node in range(len(labels))]
    information = []
    for attribute in range(len(present)):
        total = 0.0
        for has in (False, True):
            for label in (0, 1, 2):
                both = sum((values[v][attribute] != 0) == has and labels[v] == label for v in train)
                one, other = sum((values[v][attribute] != 0) == has for v in train), sum(labels[v] == label for v in train)
                total += both / len(train) * math.log(both * len(train) / (one * other)) if both else 0.0
        information.append(total)
    return {"classes": 3, "labels": labels, "train": train, "attributes": values, "information": information}


def main() -> None:
    random = np.random.Generator(np.random.PCG64(20))
    rows = draw_graph(random)
    x = drawn(random, NODES, ATTRIBUTES)
    offsets = np.cumsum([0, *(len(heard) for heard in rows)]).tolist()
    reference = {
        "graph": {"nodes": NODES, "offsets": offsets, "neighbours": [u for heard in rows for u in heard], "isolated": list(ISOLATED)},
        "constants": {"heads": HEADS, "slope": SLOPE, "epsilon": EPSILON}, "attributes": x.tolist(),
        "layers": layer_cases(random, rows, x),
        "models": [model_case(random, rows, x, kind, (first, last), residual) for kind in KINDS for first, last, residual in VARIANTS],
        "links": link_case(random), "information": information_case()}
    path = Path(__file__).with_name("graph_reference.json")
    path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in reference.items()) + "\n}\n")


if __name__ == "__main__":
    main()
