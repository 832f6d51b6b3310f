#!/usr/bin/env python3
"""How often the 95 % interval of a difference of ECE holds its truth when two models are compared over several seeds (src/metrics/compare.cpp, written
anew here): a run is a model with noise of its own in its logits, `spread` large; the second model's logits are `sharper` besides. The truth is the
difference that samples of this size have on average. Two classes, 15 bins; NLL beside it, of the same samples.

Usage: tests/reference/ece_over_seeds.py [SAMPLES] (numpy)
"""

import sys

import numpy as np

ROWS, RUNS, BINS, RESAMPLES, TRUTH_SAMPLES = 600, 3, 15, 600, 2000


def bins_of(p: np.ndarray) -> np.ndarray:
    return np.clip(np.ceil(p * BINS).astype(int) - 1, 0, BINS - 1)


def ece_values(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """outcome - forecast with the sign of its bin's gap: the mean over rows is the ECE."""
    bins = bins_of(p)
    gaps = np.bincount(bins, weights=y - p, minlength=BINS)
    return (y - p) * np.sign(gaps)[bins]


def nll_values(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -np.log(np.where(y == 1, p, 1 - p))


def sample(random: np.random.Generator, spread: float, sharper: float, same_rows: bool) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each run: labels, P(class 1) of the first model and of the second."""
    runs = []
    for run in range(RUNS):
        if run == 0 or not same_rows:
            logits = 1.2 * random.standard_normal(ROWS)
            labels = (random.random(ROWS) < 1 / (1 + np.exp(-logits))).astype(float)
        runs.append((labels, *(1 / (1 + np.exp(-(factor * logits + spread * random.standard_normal(ROWS)))) for factor in (1, sharper))))
    return runs


def interval(random: np.random.Generator, differences: list[np.ndarray], same_rows: bool) -> tuple[float, float]:
    means = np.array([values.mean() for values in differences])
    pulls = [(values - values.mean()) / ROWS for values in differences]
    own = sum((pull**2).sum() * ROWS / (ROWS - 1) for pull in pulls)
    together = (sum(pulls) if same_rows else np.concatenate(pulls)) / RUNS
    count = len(together)
    row_variance = (together**2).sum() * count / (count - 1)
    covariances = RUNS**2 * row_variance - own
    by_rows = own / RUNS - covariances / (RUNS * (RUNS - 1))
    deviation = np.sqrt(max(0.0, means.var(ddof=1) - by_rows / 2) / RUNS)
    drawn = together[random.integers(0, count, (RESAMPLES, count))].sum(1) + deviation * random.standard_t(RUNS - 1, RESAMPLES)
    return means.mean() + np.quantile(drawn, 0.025), means.mean() + np.quantile(drawn, 0.975)


def coverage(samples: int, spread: float, sharper: float, same_rows: bool) -> list[float]:
    random = np.random.default_rng([int(10 * spread), int(10 * sharper), same_rows])
    shares = []
    for values in (ece_values, nll_values):
        truth = np.mean([np.mean([(values(second, y) - values(first, y)).mean() for y, first, second in sample(random, spread, sharper, same_rows)])
                         for _ in range(TRUTH_SAMPLES)])
        held = 0
        for _ in range(samples):
            differences = [values(second, y) - values(first, y) for y, first, second in sample(random, spread, sharper, same_rows)]
            low, high = interval(random, differences, same_rows)
            held += low <= truth <= high
        shares.append(100 * held / samples)
    return shares


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| rows of a run | noise in the logits | sharper by | ECE | NLL |\n|---|---|---|---|---|")
    for same_rows in (True, False):
        for spread in (0.1, 0.3, 0.7):
            for sharper in (1.0, 1.3, 1.6):
                ece, nll = coverage(samples, spread, sharper, same_rows)
                print(f"| {'the same' if same_rows else 'its own'} | {spread} | {sharper} | {ece:.1f} | {nll:.1f} |", flush=True)


if __name__ == "__main__":
    main()
