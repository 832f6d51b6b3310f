#!/usr/bin/env python3
"""Trains the network of a finished `deepfm` run in plain eager PyTorch, on random rows of the same shapes, and prints its speed as JSON.

Usage: bench/peers/eager_table.py RUN [--threads 2] [--epochs 3] [--rows N] [--check]
RUN/schema.json gives fields and rows, RUN/config.toml the sizes and the training step: forward, loss, backward, clipping, AdamW, moving
average. Only training steps are timed: no validation, no checkpoints. A gated run is trained in its annealing phase throughout, the costly
one. `--check` compares the parameters with those of the run's checkpoint instead. What of a run is not rebuilt here is refused.
"""

import argparse
import json
import math
import statistics
import struct
import sys
import time
import tomllib
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NUMERIC = ("piecewise", "plain")
WANTED = {"model.name": ("deepfm",), "model.members": (1,), "distill.from": ("",), "coupling.kind": ("none",),
          "train.label_smoothing": (0,), "train.class_weights": ("none",), "train.precision": ("float32",),
          "gate.unit": ("none", "dimension")}
WANTED_OF_GATES = {"gate.logits": ("global",), "gate.attach": ("interface",), "gate.control": ("lambda", "target")}


def rows_of(field: dict) -> int:
    """Codes of a field."""
    match field["kind"]:
        case "categorical": return len(field["vocabulary"]) + 2
        case "exact": return len(field["values"]) + 2
        case "hashed": return field["buckets"] + 1
        case "piecewise": return len(field["edges"])
        case "plain": return 2
    sys.exit(f"field '{field['name']}' is {field['kind']}, which is not rebuilt here; wanted neither multi nor periodic: take another run")


class Shape:
    """What of a schema a network is made from. Lookups stand before numerics, so that no batch needs reordering."""

    def __init__(self, schema: dict) -> None:
        fields = schema["fields"]
        statistic = [f for f in fields if f["kind"] == "statistic"]
        numeric = [f for f in fields if f["kind"] in NUMERIC]
        lookup = [f for f in fields if f["kind"] not in ("statistic", *NUMERIC)]
        self.lookup_rows, self.numeric_rows = [rows_of(f) for f in lookup], [rows_of(f) for f in numeric]
        self.fields, self.statistics = len(lookup) + len(numeric), len(statistic)
        self.outputs = 1 if len(schema["classes"]) == 2 else len(schema["classes"])
        self.rows = sum(schema["class_rows"])
        # A source is a column with all its encodings, or a pair of columns: the linear term of a field is open while its source is.
        pairs = {i for i, s in enumerate(schema["statistics"]) if "second" in s}
        key = [("pair", f["statistic"]) if f.get("statistic") in pairs else ("column", f["column"]) for f in lookup + numeric + statistic]
        numbers = {k: i for i, k in enumerate(dict.fromkeys(key))}
        self.source_of_field = [numbers[k] for k in key]
        of_source = [[f for f, s in enumerate(self.source_of_field) if s == source] for source in range(len(numbers))]
        most = max(map(len, of_source))
        self.fields_of_source = [own + [len(key)] * (most - len(own)) for own in of_source]  # padded with a field that is never open


class FieldEmbeddings(nn.Module):
    def __init__(self, shape: Shape, width: int, deviation: float) -> None:
        super().__init__()
        numeric, bins = len(shape.numeric_rows), max(shape.numeric_rows, default=1) - 1
        self.lookups = nn.Embedding(sum(shape.lookup_rows), width)
        nn.init.normal_(self.lookups.weight, std=deviation)
        self.starts = nn.Parameter(torch.randn(numeric, width) * deviation)
        self.missing = nn.Parameter(torch.randn(numeric, width) * deviation)
        self.directions = nn.Parameter(torch.randn(numeric, bins, width) * deviation)

    def forward(self, lookup_rows: Tensor, numeric_rows: Tensor, slopes: Tensor) -> Tensor:  # [examples, fields, width]
        found = self.lookups(lookup_rows)
        if numeric_rows.size(1) == 0:
            return found
        below = self.directions.cumsum(1) - self.directions
        at_zero = torch.cat([self.missing.unsqueeze(1), below + self.starts.unsqueeze(1)], 1).flatten(0, 1)
        direction = F.pad(self.directions, (0, 0, 1, 0)).flatten(0, 1)
        numeric = torch.addcmul(F.embedding(numeric_rows, at_zero), slopes.unsqueeze(2), F.embedding(numeric_rows, direction))
        return torch.cat([found, numeric], 1)


class Gate(nn.Module):
    """Hard concrete, one logit per dimension of the interface."""

    def __init__(self, units: int, options: dict) -> None:
        super().__init__()
        self.options, self.tau = options, 1.0
        self.logits = nn.Parameter(torch.randn(units) * 0.01 + math.log(options["init_open"] / (1 - options["init_open"])))

    def forward(self, examples: int) -> Tensor:
        low, high = self.options["gamma"], self.options["zeta"]
        noise = torch.rand(examples if self.options["noise"] == "example" else 1, self.logits.numel()).logit_(1e-7)
        return (torch.sigmoid((self.logits + noise) / self.tau) * (high - low) + low).clamp(0, 1)

    def expected_open(self) -> Tensor:
        return torch.sigmoid(self.logits - self.tau * math.log(-self.options["gamma"] / self.options["zeta"])).sum()


class DeepFm(nn.Module):
    def __init__(self, shape: Shape, config: dict) -> None:
        super().__init__()
        model, self.shape, self.width = config["model"], shape, config["model"]["width"]
        self.interface_dropout, self.weighted = model["interface_dropout"], config["fm"]["weighted"]
        self.embedded = shape.fields * self.width
        dimensions = self.embedded + shape.statistics
        self.encoder = FieldEmbeddings(shape, self.width, 0.2 if self.weighted else 0.05)
        self.gate = Gate(dimensions, config["gate"]) if config["gate"]["unit"] != "none" else None
        self.bias = nn.Parameter(torch.zeros(shape.outputs))
        self.terms = FieldEmbeddings(shape, shape.outputs, 0)
        self.statistic_weights = nn.Parameter(torch.zeros(shape.statistics, shape.outputs))
        if self.weighted:
            self.pair_weights = nn.Parameter(torch.randn(shape.outputs, shape.fields * (shape.fields - 1) // 2) * 0.01)
        elif shape.outputs > 1:
            self.coordinate_weights = nn.Parameter(1 + torch.randn(self.width, shape.outputs) * 0.1)
        layers: list[nn.Module] = []
        for layer in range(model["depth"]):
            layers += [nn.Linear(model["hidden"] if layer else dimensions, model["hidden"]), nn.ReLU(), nn.Dropout(model["dropout"])]
        self.deep = nn.Sequential(*layers, nn.Linear(model["hidden"] if layers else dimensions, shape.outputs, bias=False))
        self.register_buffer("lookup_offset", torch.tensor([0, *shape.lookup_rows]).cumsum(0)[:-1])
        self.register_buffer("numeric_offset", torch.arange(len(shape.numeric_rows)) * max(shape.numeric_rows, default=1))
        self.register_buffer("source_of_field", torch.tensor(shape.source_of_field))
        self.register_buffer("fields_of_source", torch.tensor(shape.fields_of_source))
        self.register_buffer("pairs", torch.triu_indices(shape.fields, shape.fields, 1))

    def linear(self, terms: Tensor, found: Tensor, gates: Tensor | None) -> Tensor:
        if gates is not None:
            of_field = gates[:, :self.embedded].view(-1, self.shape.fields, self.width).amax(2)
            padded = F.pad(torch.cat([of_field, gates[:, self.embedded:]], 1), (0, 1))
            of_source = padded.index_select(1, self.fields_of_source.flatten()).view(-1, *self.fields_of_source.shape).amax(2)
            of_field = of_source.index_select(1, self.source_of_field)
            terms = terms * of_field[:, :self.shape.fields].unsqueeze(2)
            found = found * of_field[:, self.shape.fields:]
        return torch.addmm(terms.sum(1), found, self.statistic_weights) if self.shape.statistics else terms.sum(1)

    def interactions(self, v: Tensor) -> Tensor:  # [examples, fields, width] -> [examples, outputs]
        if self.weighted:
            matrix = v.new_zeros(self.shape.outputs, self.shape.fields, self.shape.fields)
            matrix[:, self.pairs[0], self.pairs[1]] = self.pair_weights
            mixed = torch.matmul(matrix.flatten(0, 1), v).view(len(v), self.shape.outputs, -1)
            return (mixed * v.flatten(1).unsqueeze(1)).sum(2)
        pooled = (v.sum(1).square() - v.square().sum(1)) * 0.5
        return pooled @ self.coordinate_weights if self.shape.outputs > 1 else pooled.sum(1, keepdim=True)

    def forward(self, codes: Tensor, slopes: Tensor) -> Tensor:
        lookups, numerics = len(self.shape.lookup_rows), len(self.shape.numeric_rows)
        read = (codes[:, :lookups] + self.lookup_offset, codes[:, lookups:] + self.numeric_offset, slopes[:, :numerics])
        found = slopes[:, numerics:]
        r = self.encoder(*read).flatten(1)
        r = torch.cat([r, found], 1) if self.shape.statistics else r
        gates = self.gate(len(codes)) if self.gate is not None else None
        r = r * gates if gates is not None else r
        r = F.dropout(r, self.interface_dropout, self.training)
        v = r[:, :self.embedded].view(-1, self.shape.fields, self.width)
        return self.bias + self.linear(self.terms(*read), found, gates) + self.interactions(v) + self.deep(r)


class Trainer:
    def __init__(self, model: DeepFm, config: dict, steps: int) -> None:
        self.model, self.config, self.options, self.steps = model, config, config["train"], steps
        self.step_number, self.price = 0, 0.0
        named = [(name, p) for name, p in model.named_parameters() if p.numel() > 0]
        lr, decay = self.options["lr"], self.options["weight_decay"]
        encoder = [p for name, p in named if name.startswith("encoder.")]
        gates = [p for name, p in named if name.startswith("gate.")]
        head = [p for name, p in named if not name.startswith(("encoder.", "gate."))]
        groups = [{"params": encoder, "base": lr}, {"params": head, "base": self.options.get("head_lr", lr)},
                  {"params": gates, "base": self.options.get("gate_lr", 0.05), "weight_decay": 0.0}]
        self.averaged = encoder + head
        self.parameters = self.averaged + gates
        self.average = [p.detach().clone() for p in self.averaged]
        # fused: one kernel per tensor instead of a dozen; on a CPU it takes less than half the time of foreach or of the plain loop.
        self.optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=lr, weight_decay=decay, fused=True)

    def schedule(self) -> None:
        warmup = self.options["lr_warmup"] * self.steps
        x = (self.step_number - warmup) / max(1.0, self.steps - warmup)
        end = self.options["lr_end"]
        factor = (self.step_number + 1) / (warmup + 1) if x < 0 else end + (1 - end) * (0.5 + 0.5 * math.cos(math.pi * x))
        for group in self.optimizer.param_groups:
            group["lr"] = group["base"] * factor

    def penalty(self) -> Tensor:
        gate, options, schedule, x = self.model.gate, self.config["gate"], self.config["schedule"], self.step_number / self.steps
        ramp = min(1.0, x / schedule["ramp_until"])
        expected = gate.expected_open()
        if options["control"] == "lambda":
            return expected * (options["lambda"] * ramp)
        gap = expected / gate.logits.numel() - (1 + (options["target_active"] - 1) * ramp)
        penalty = gap * self.price + gap.square() * 5  # an augmented Lagrangian: the simplest control that holds a target
        self.price += 0.05 * gap.item()
        return penalty

    def step(self, codes: Tensor, slopes: Tensor, targets: Tensor) -> float:
        self.schedule()
        if self.model.gate is not None:
            schedule = self.config["schedule"]
            self.model.gate.tau = schedule["tau_start"] + (schedule["tau_end"] - schedule["tau_start"]) * self.step_number / self.steps
        logits = self.model(codes, slopes)
        binary = self.model.shape.outputs == 1
        task = F.binary_cross_entropy_with_logits(logits.squeeze(1), targets.float()) if binary else F.cross_entropy(logits, targets)
        loss = task + self.penalty() if self.model.gate is not None else task
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.options["clip"] > 0:
            nn.utils.clip_grad_norm_(self.parameters, self.options["clip"])
        self.optimizer.step()
        self.step_number += 1
        if self.options["ema"] > 0:
            with torch.no_grad():
                weight = 1 - min(self.options["ema"], self.step_number / (self.step_number + 10))
                torch._foreach_lerp_(self.average, self.averaged, weight)
        return task.item()


def train(model: DeepFm, config: dict, rows: int, epochs: int) -> list[float]:
    """Seconds of each epoch."""
    shape, batch = model.shape, config["train"]["batch"]
    codes = torch.stack([torch.randint(count, (rows,)) for count in shape.lookup_rows + shape.numeric_rows], 1)
    slopes = torch.randn(rows, len(shape.numeric_rows) + shape.statistics)
    targets = torch.randint(max(2, shape.outputs), (rows,))
    trainer = Trainer(model, config, epochs * math.ceil(rows / batch))
    seconds = []
    model.train()
    for _ in range(epochs):
        begin = time.perf_counter()
        for chosen in torch.randperm(rows).split(batch):
            loss = trainer.step(codes.index_select(0, chosen), slopes.index_select(0, chosen), targets.index_select(0, chosen))
            if not math.isfinite(loss):
                sys.exit(f"the loss is {loss} at step {trainer.step_number}: such steps may be faster or slower than others")
        seconds.append(time.perf_counter() - begin)
    return seconds


def sizes_of_checkpoint(path: Path) -> list[int]:
    """Elements of each tensor of a safetensors file."""
    with path.open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return [math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, help="instead of the run's training rows")
    parser.add_argument("--check", action="store_true", help="compare parameters, train nothing")
    arguments = parser.parse_args()
    config = tomllib.loads((arguments.run / "config.toml").read_text())
    for name, wanted in (WANTED | (WANTED_OF_GATES if config["gate"]["unit"] != "none" else {})).items():
        section, key = name.split(".")
        if config[section][key] not in wanted:
            sys.exit(f"{name} is {config[section][key]!r}; wanted one of {wanted}: take another run")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(config["train"]["seed"])
    shape = Shape(json.loads((arguments.run / "schema.json").read_text())["schema"])
    model = DeepFm(shape, config)
    sizes = [p.numel() for p in model.parameters()]
    if arguments.check:
        theirs = sizes_of_checkpoint(arguments.run / "checkpoint" / "best.safetensors")
        same = sorted(filter(None, sizes)) == sorted(filter(None, theirs))
        print(json.dumps({"parameters": sum(sizes), "of_run": sum(theirs), "same_tensors": same}))
        sys.exit(0 if same else 1)
    rows, batch = arguments.rows or shape.rows, config["train"]["batch"]
    seconds = train(model, config, rows, arguments.epochs)
    per_epoch, steps = statistics.median(seconds[1:] or seconds), math.ceil(rows / batch)
    print(json.dumps({"parameters": sum(sizes), "rows": rows, "batch": batch, "threads": arguments.threads, "gated": model.gate is not None,
                      "epochs": arguments.epochs, "steps_per_epoch": steps, "seconds_per_epoch": per_epoch,
                      "milliseconds_per_step": 1000 * per_epoch / steps, "rows_per_second": rows / per_epoch, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
