#!/usr/bin/env python3
"""Writes gate_reference.json: noise, gates, test rules, instance logits and calibration couplings by formulas of their own.

Everything is plain Python in double precision, one element at a time; nothing is taken from the C++ sources. Run it without
arguments after a change; the output is committed.
"""

import json
import math
from pathlib import Path

WORD = (1 << 32) - 1
LONG = (1 << 64) - 1


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


def clip(x: float) -> float:
    return min(1.0, max(0.0, x))


# Random123's Philox 4x32-10.
def philox(key: int, counter: list[int]) -> list[int]:
    k = [key & WORD, key >> 32]
    c = list(counter)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & WORD, (first >> 32) ^ c[3] ^ k[1], first & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


# Vigna's splitmix64.
def splitmix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & LONG
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & LONG
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & LONG
    return x ^ (x >> 31)


def key_of(seed: int, step: int, site: int) -> int:
    state = splitmix(seed)
    for word in (step, site, 0):
        state = splitmix(state ^ splitmix((word + 0xD1B54A32D192ED03) & LONG))
    return state


def uniform(seed: int, step: int, site: int, example: int, element: int) -> float:
    identity = example & LONG
    bits = philox(key_of(seed, step, site), [identity & WORD, identity >> 32, element // 4, 0])[element % 4]
    return max(1, bits >> 8) / 2**24


def noise_cases() -> list[dict]:
    cases = []
    draws = [(0, 0, 0, [0, 1, 2], 9), (7, 12345, 99, [5, 2**33 + 1, -1, 2**62], 6), (2**63, 1, 2**31 - 1, [48841], 70)]
    for seed, step, site, ids, width in draws:
        u = [[uniform(seed, step, site, i, j) for j in range(width)] for i in ids]
        cases.append({"seed": seed, "step": step, "site": site, "ids": ids, "width": width, "u": u})
    return cases


LOGITS = [-9.0, -4.8, -2.4, -1.3, -1.1, -0.3, 0.0, 0.2, 0.9, 1.8, 2.5, 7.0]
COSTS = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.25, 1.0, 1.0, 4.0, 1.0, 1.0]


def stretched(s: float, gamma: float, zeta: float) -> float:
    return clip(s * (zeta - gamma) + gamma)


def gate_cases() -> list[dict]:
    cases = []
    variants = [(-0.1, 1.1, 0.5, 0.5), (-0.1, 1.1, 2.0, 0.3), (-0.3, 1.05, 0.66, 0.7), (-0.02, 1.6, 1.0, 0.5),
                (-0.5, 1.5, 0.1, 0.9)]
    for number, (gamma, zeta, tau, pi) in enumerate(variants):
        ids = [3, 11, 2**40]
        u = [[uniform(5, number, 17, i, j) for j in range(len(LOGITS))] for i in ids]
        z = [[stretched(sigmoid((math.log(v) - math.log(1 - v) + a) / tau), gamma, zeta) for v, a in zip(row, LOGITS)]
             for row in u]
        # P(z > 0) = P(s > -gamma / (zeta - gamma)), from the distribution of the concrete variable.
        edge = -gamma / (zeta - gamma)
        shift = tau * math.log(edge / (1 - edge))
        probability = [sigmoid(a - shift) for a in LOGITS]
        cases.append({
            "gamma": gamma, "zeta": zeta, "tau": tau, "pi": pi, "seed": 5, "step": number, "site": 17, "ids": ids, "z": z,
            "open_probability": probability, "expected_open": math.fsum(c * p for c, p in zip(COSTS, probability)),
            "threshold": [1.0 if sigmoid(a) > pi else 0.0 for a in LOGITS],
            "median": [stretched(sigmoid(a / tau), gamma, zeta) for a in LOGITS],
            "louizos": [stretched(sigmoid(a), gamma, zeta) for a in LOGITS],
        })
    return cases


def instance_case() -> dict:
    units, rank, examples = 5, 3, 4
    gamma, zeta, tau, pi = -0.1, 1.1, 0.5, 0.5
    logits, raw_range = [-3.0, -0.4, 0.1, 0.6, 2.0], [0.5, 1.0, -1.0, 2.0, 0.0]
    map_in = [[math.sin(1 + 3 * i + j) for j in range(rank)] for i in range(units)]
    map_out = [[math.cos(2 + 2 * i + 5 * j) for j in range(units)] for i in range(rank)]
    r = [[math.sin(0.7 * i + 1.3 * j) for j in range(units)] for i in range(examples)]
    reach = [softplus(x) for x in raw_range]
    alive = [1.0 if sigmoid(a + b) > pi else 0.0 for a, b in zip(logits, reach)]
    moved, probability, values, expected = [], [], [], 0.0
    for row in r:
        hidden = [math.fsum(row[i] * alive[i] * map_in[i][k] for i in range(units)) for k in range(rank)]
        own = [logits[j] + reach[j] * math.tanh(math.fsum(hidden[k] * map_out[k][j] for k in range(rank))) for j in range(units)]
        moved.append(own)
        probability.append([sigmoid(a - tau * math.log(-gamma / zeta)) for a in own])
        values.append([1.0 if sigmoid(a) > pi else 0.0 for a in own])
        expected += math.fsum((j + 1) * p for j, p in enumerate(probability[-1])) / examples
    return {"tau": tau, "logits": logits, "range": raw_range, "map_in": map_in, "map_out": map_out, "r": r, "alive": alive,
            "open_probability": probability, "threshold": values, "cost": [1.0, 2.0, 3.0, 4.0, 5.0], "expected_open": expected}


def coupling_case(examples: int, classes: int) -> dict:
    scores = [[1.7 * math.sin(1 + 2.3 * i + 1.9 * j * j) for j in range(classes)] for i in range(examples)]
    targets = [(i * i + i // 3) % classes for i in range(examples)]
    log_p, confidence, gap = [], [], []
    for row, target in zip(scores, targets):
        total = math.log(math.fsum(math.exp(s) for s in row))
        log_p.append([s - total for s in row])
        top = max(range(classes), key=lambda j: row[j])
        confidence.append(math.exp(row[top] - total))
        gap.append((1.0 if top == target else 0.0) - confidence[-1])
    pairs = 0.0
    for i in range(examples):
        for j in range(examples):
            pairs += gap[i] * gap[j] * math.exp(-abs(confidence[i] - confidence[j]) / 0.2)
    bins = [0.0] * 15
    for c, g in zip(confidence, gap):
        weight = [math.exp(-((c - (b + 0.5) / 15) ** 2) / 0.01) for b in range(15)]
        for b in range(15):
            bins[b] += g * weight[b] / sum(weight)
    return {"log_probabilities": log_p, "targets": targets, "mmce": math.sqrt(pairs / examples**2),
            "soft-ece": sum(abs(b) for b in bins) / examples, "mean-gap": abs(sum(gap)) / examples, "none": 0.0}


def main() -> None:
    reference = {"noise": noise_cases(), "logits": LOGITS, "costs": COSTS, "gates": gate_cases(), "instance": instance_case(),
                 "coupling": [coupling_case(12, 2), coupling_case(17, 4)]}
    path = Path(__file__).with_name("gate_reference.json")
    path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in reference.items()) + "\n}\n")


if __name__ == "__main__":
    main()
