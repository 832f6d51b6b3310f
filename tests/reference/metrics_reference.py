"""Independent values for the tests of src/metrics: scikit-learn and scipy where they have the measure, plain numpy elsewhere.

Run:  python3 -m venv VENV && VENV/bin/pip install numpy scipy scikit-learn && VENV/bin/python metrics_reference.py
It writes metrics_reference.json beside itself; inputs are part of the file, so the tests need no Python.
"""

import json
import pathlib
import warnings

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, f1_score, log_loss, roc_auc_score

BINS = 15
SMALLEST = 1e-15
rng = np.random.default_rng(20240607)


def binned_error(forecast, happened, in_bin):
    error = 0.0
    for mask in in_bin:
        if mask.any():
            error += mask.mean() * abs(forecast[mask].mean() - happened[mask].mean())
    return error


def equal_width(forecast):
    edges = np.arange(BINS + 1) / BINS
    masks = [(forecast > low) & (forecast <= high) for low, high in zip(edges[:-1], edges[1:])]
    masks[0] |= forecast == 0
    assert sum(mask.sum() for mask in masks) == len(forecast)
    return masks


def equal_mass(forecast):
    n = len(forecast)
    ordered = np.sort(forecast)
    upper = np.array([ordered[-(-(k * n) // BINS) - 1] for k in range(1, BINS + 1)])
    index = np.searchsorted(upper, forecast, side="left")
    return [index == k for k in range(BINS)]


def measures(labels, p):
    known = labels >= 0
    y, p = labels[known], p[known]
    classes = p.shape[1]
    top = np.array([list(row).index(max(row)) for row in p])  # the first of equals
    confidence, right = p.max(axis=1), (top == y).astype(float)
    onehot = np.eye(classes)[y]
    present = [c for c in range(classes) if (y == c).any()]
    out = {
        "accuracy": accuracy_score(y, top),
        "macro_f1": f1_score(y, top, average="macro", labels=sorted(set(y) | set(top)), zero_division=0),
        "nll": float(np.mean([-np.log(max(row[c], SMALLEST)) for row, c in zip(p, y)])),
        "brier": brier_score_loss(y, p[:, 1], pos_label=1) if classes == 2 else float(((p - onehot) ** 2).sum(axis=1).mean()),
        "ece": binned_error(confidence, right, equal_width(confidence)),
        "ece_adaptive": binned_error(confidence, right, equal_mass(confidence)),
        "ece_classwise": float(np.mean([binned_error(p[:, c], onehot[:, c], equal_width(p[:, c])) for c in range(classes)])),
        "ece_binary": binned_error(p[:, 1], y.astype(float), equal_width(p[:, 1])) if classes == 2 else None,
        "confusion": confusion_matrix(y, top, labels=range(classes)).tolist(),
    }
    if len(present) < 2:
        out["auc"] = None
    elif classes == 2:
        out["auc"] = roc_auc_score(y, p[:, 1])
    else:
        out["auc"] = float(np.mean([roc_auc_score(y == c, p[:, c]) for c in present]))
    if p.min() > 1e-12 and len(present) == classes > 1:
        assert abs(out["nll"] - log_loss(y, p)) < 1e-12
    return {k: (v if v is None or isinstance(v, list) else float(v)) for k, v in out.items()}


def fitted(labels, p, query):
    """Calibrators on the labelled rows, and what they make of the query rows."""
    y, p = labels[labels >= 0], p[labels >= 0]
    classes, rows = p.shape[1], np.arange((labels >= 0).sum())
    logs = lambda q: np.log(np.maximum(q, SMALLEST))

    def temperature_nll(t):
        return -log_softmax(logs(p) / np.exp(t), axis=1)[rows, y].mean()

    best = minimize_scalar(temperature_nll, bounds=(np.log(0.05), np.log(20)), method="bounded", options={"xatol": 1e-12})
    temperature = float(np.exp(best.x))

    def powered(q, scale, exponent):
        if classes == 2:  # the binary formula, so that the multi-class one is checked against it
            l = logs(q)[:, 1] - logs(q)[:, 0]
            l = scale * np.sign(l) * np.abs(l) ** exponent
            return np.stack([np.zeros_like(l), l], axis=1)
        l = logs(q) - logs(q).max(axis=1, keepdims=True)
        return -scale * np.abs(l) ** exponent

    def power_nll(x):
        return -log_softmax(powered(p, np.exp(x[0]), np.exp(x[1])), axis=1)[rows, y].mean()

    power = min((minimize(power_nll, [start, 0.0], method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-15, "maxiter": 10000})
                 for start in (0.0, -best.x)), key=lambda r: r.fun)
    scale, exponent = np.exp(power.x)

    def curve(c):
        margin = 1 / (len(y) + 2)
        logit = lambda q: logs(q[:, c]) - (logs(q[:, 1 - c]) if classes == 2 else logs(1 - q[:, c]))
        model = IsotonicRegression(y_min=margin, y_max=1 - margin, out_of_bounds="clip").fit(logit(p), (y == c).astype(float))
        return model.predict(logit(query))

    if classes == 2:
        one = curve(1)
        isotonic = np.stack([1 - one, one], axis=1)
    else:
        isotonic = np.stack([curve(c) for c in range(classes)], axis=1)
        isotonic /= isotonic.sum(axis=1, keepdims=True)
    return {
        "query": query.tolist(),
        "temperature": temperature,
        "temperature_nll": float(best.fun),
        "temperature_query": softmax(logs(query) / temperature, axis=1).tolist(),
        "power_scale": float(scale),
        "power_exponent": float(exponent),
        "power_nll": float(power.fun),
        "power_query": softmax(powered(query, scale, exponent), axis=1).tolist(),
        "isotonic_query": isotonic.tolist(),
    }


def draw_labels(p):
    return np.array([rng.choice(len(row), p=row / row.sum()) for row in p])


def two(p1):
    p1 = np.asarray(p1, dtype=float)
    return np.stack([1 - p1, p1], axis=1)


def sharpen(p, by):
    return softmax(np.log(p) * by, axis=1)


def cases():
    """name, labels, probabilities, whether calibrators are fitted"""
    honest = two(rng.beta(0.8, 1.6, 250))
    yield "binary_overconfident", draw_labels(honest), sharpen(honest, 2.0), True
    honest = two(rng.beta(1.2, 1.2, 200))
    yield "binary_underconfident", draw_labels(honest), sharpen(honest, 0.6), True
    logit = rng.normal(0, 2, 300)
    bent = np.sign(logit) * 1.4 * np.abs(logit) ** 1.5
    yield "binary_bent", draw_labels(two(1 / (1 + np.exp(-logit)))), two(1 / (1 + np.exp(-bent))), True
    yield "binary_edges", rng.integers(0, 2, 32), two([k / 15 for k in range(16)] * 2), False
    tied = two(np.clip(np.round(rng.random(120), 1), 0.1, 0.9))
    yield "binary_ties", draw_labels(sharpen(tied, 0.8)), tied, True
    yield "binary_halves", rng.integers(0, 2, 40), two(np.full(40, 0.5)), False
    yield "binary_one_class", np.ones(30, dtype=int), two(rng.random(30)), False
    yield "binary_zero_and_one", rng.integers(0, 2, 25), two(rng.integers(0, 2, 25)), False
    yield "binary_empty_bins", rng.integers(0, 2, 50), two(rng.choice([0.02, 0.97], 50)), False
    yield "single_row_right", np.array([1]), two([0.8]), False
    yield "single_row_wrong", np.array([0]), two([1.0]), False
    honest = rng.dirichlet([0.7] * 5, 200)
    yield "five_classes", draw_labels(honest), sharpen(np.maximum(honest, 1e-6), 1.7), True
    honest = rng.dirichlet([1.0] * 3, 150)
    labels = draw_labels(honest)
    labels[rng.random(150) < 0.2] = -1
    yield "three_classes_some_unlabelled", labels, sharpen(np.maximum(honest, 1e-6), 0.7), True
    p = rng.dirichlet([0.5] * 6, 90)
    yield "six_classes_three_absent", rng.choice([0, 2, 5], 90), p, False
    onehot = np.eye(4)[rng.integers(0, 4, 40)]
    yield "four_classes_zero_and_one", rng.integers(0, 4, 40), onehot, False
    yield "four_classes_ties", rng.integers(0, 4, 60), np.tile([0.25] * 4, (60, 1)), False
    yield "three_classes_one_only", np.full(20, 2), rng.dirichlet([1.0] * 3, 20), False
    yield "one_class", np.zeros(5, dtype=int), np.ones((5, 1)), False


def main():
    warnings.simplefilter("ignore")  # scikit-learn warns of the very edge cases that are wanted here
    out = []
    for name, labels, p, fits in cases():
        entry = {"name": name, "labels": [int(y) for y in labels], "probabilities": p.tolist(), "expected": measures(labels, p)}
        if fits:
            classes = p.shape[1]
            query = np.concatenate([rng.dirichlet([0.6] * classes, 12), p[:6], np.eye(classes)])
            entry["fitted"] = fitted(labels, p, query)
        out.append(entry)
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(out, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


main()
