#!/usr/bin/env python3
"""How much of the spread between runs that their rows explain should be taken off (src/metrics/compare.cpp): simulated coverage of the 95 %
interval for three runs that are judged on rows of their own. `s` is how far runs differ beyond their rows, in units of what rows do; a column for
each share that is taken off: coverage in percent and mean half width. `t` is Student's interval of the three means alone.

Usage: tests/reference/run_spread.py (numpy)
"""

import numpy as np

RUNS, SAMPLES = 3, 20_000


def main() -> None:
    random = np.random.default_rng(0)
    t, z = random.standard_t(RUNS - 1, size=4001), random.standard_normal(4001)
    ratios = np.linspace(0, 8, 81)
    quantiles = np.array([np.quantile(np.abs(ratio * t + z), 0.95) for ratio in ratios])

    def half_width(of_runs: np.ndarray) -> np.ndarray:
        of_rows = 1 / np.sqrt(RUNS)
        ratio = of_runs / of_rows
        return np.where(ratio < 8, np.interp(ratio, ratios, quantiles) * of_rows, 4.303 * of_runs)

    shares = (1, 0.75, 0.5, 0.25, 0)
    print("| s |", " | ".join(f"{share:g}" for share in shares), "| t |")
    for spread in (0, 0.3, 0.5, 1, 1.7, 3, 10):
        means = random.standard_normal((SAMPLES, RUNS)) * np.sqrt(1 + spread**2)
        variance, mean = means.var(1, ddof=1), np.abs(means.mean(1))
        widths = [half_width(np.sqrt(np.maximum(0, variance - share) / RUNS)) for share in shares] + [4.303 * np.sqrt(variance / RUNS)]
        print(f"| {spread:g} |", " | ".join(f"{100 * np.mean(mean <= width):.1f} ({width.mean():.2f})" for width in widths), "|")


if __name__ == "__main__":
    main()
