#!/usr/bin/env python3
"""AdamW steps by torch.optim.AdamW (float64), for tests/training/adamw_test.cpp. Run with a Python that has torch:

    python tests/reference/adamw_reference.py > tests/reference/adamw_reference.json

Three parameters in two groups: `a` and `b` with weight decay, `c` (a gate's logits) without and with its own learning rate. `b` has no
gradient in every third step. The learning rate is multiplied by a factor that changes from step to step, as a schedule does.
"""
import json
import math

import torch

SHAPES = {"a": [3, 2], "b": [4], "c": [5]}
STEPS = 8
GROUPS = {"decayed": {"lr": 0.02, "weight_decay": 0.1, "names": ["a", "b"]}, "free": {"lr": 0.3, "weight_decay": 0.0, "names": ["c"]}}


def values(name, step, scale):
    count = math.prod(SHAPES[name])
    return [scale * math.sin(1 + 3 * i + 7 * step + 11 * (ord(name) - ord("a"))) for i in range(count)]


def run(clip):
    parameters = {n: torch.tensor(values(n, 0, 1.0), dtype=torch.float64).reshape(s).requires_grad_() for n, s in SHAPES.items()}
    optimiser = torch.optim.AdamW(
        [{"params": [parameters[n] for n in g["names"]], "lr": g["lr"], "weight_decay": g["weight_decay"]} for g in GROUPS.values()],
        betas=(0.9, 0.999), eps=1e-8)
    steps = []
    for step in range(1, STEPS + 1):
        factor = 1.0 / step
        gradients = {n: values(n, step, 0.5 * step) for n in SHAPES}
        if step % 3 == 0:
            gradients["b"] = None
        for name, gradient in gradients.items():
            parameters[name].grad = None if gradient is None else torch.tensor(gradient, dtype=torch.float64).reshape(SHAPES[name])
        norm = math.sqrt(sum(g * g for gradient in gradients.values() if gradient is not None for g in gradient))
        if clip > 0:
            torch.nn.utils.clip_grad_norm_([p for p in parameters.values() if p.grad is not None], clip)
        for group, settings in zip(optimiser.param_groups, GROUPS.values()):
            group["lr"] = settings["lr"] * factor
        optimiser.step()
        steps.append({"factor": factor, "norm": norm, "gradients": gradients,
                      "parameters": {n: p.detach().reshape(-1).tolist() for n, p in parameters.items()}})
    return {"clip": clip, "steps": steps}


if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__, "shapes": SHAPES, "groups": GROUPS,
                      "start": {n: values(n, 0, 1.0) for n in SHAPES}, "runs": [run(0.0), run(1.0), run(1e6)]}, indent=0))
