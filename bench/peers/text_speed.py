#!/usr/bin/env python3
"""Hugging Face transformers beside `l0gm bench text`: seconds of a training epoch and texts a second at inference.

The same folder of weights, the same texts (IMDB), the same batches: 32 texts of similar length for training (sorted within chunks of 50
batches), blocks of at most 65,536 tokens with padding, sorted by length, at inference. Dynamic padding, SDPA, bfloat16 by autocast
in training, with and without torch.compile; fused AdamW; page-locked, asynchronous copies. Inference is timed three ways: autocast, weights in
bfloat16, and those compiled. The fastest counts. Token ids are on the host before the clock starts, probabilities when it stops. Compiling takes
minutes, which are not counted: a quarter of the batches go before the clock starts.
Usage: bench/peers/text_speed.py --weights FOLDER --data FOLDER/imdb [--device cuda] [--texts N] [--max-tokens 512] [--ways WAY,...] [--json FILE]
Ways: training, compiled-training, autocast (float32 on a processor), bfloat16, compiled; all of them where not said.
"""

import argparse
import json
import lzma
import random
import time
from pathlib import Path

import numpy
import torch
from transformers import AutoModel, AutoTokenizer

from hf_folder import hf_folder

EPOCH = 22500  # training texts
WAYS = ("training", "compiled-training", "autocast", "bfloat16", "compiled")


def read(path: Path, rows: int) -> tuple[list[int], list[str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        pairs = [line.rstrip("\n").split("\t", 1) for line in lines]
    random.Random(0).shuffle(pairs)
    pairs = pairs[:rows] if rows else pairs
    classes = sorted({label for label, _ in pairs})
    return [classes.index(label) for label, _ in pairs], [text for _, text in pairs]


class Classifier(torch.nn.Module):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, attn_implementation="sdpa", dtype=torch.float32)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        return self.head((states * weights).sum(1) / weights.sum(1))


def padded(ids: list[numpy.ndarray], rows: list[int], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(ids[row]) for row in rows)
    tokens = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    filled, marked = tokens.numpy(), mask.numpy()
    for i, row in enumerate(rows):
        filled[i, : len(ids[row])] = ids[row]
        marked[i, : len(ids[row])] = 1
    if device == "cuda":
        return tokens.pin_memory().to(device, non_blocking=True), mask.pin_memory().to(device, non_blocking=True)
    return tokens, mask


def training_batches(ids: list[numpy.ndarray], batch: int) -> list[list[int]]:
    rows = list(range(len(ids)))
    random.Random(1).shuffle(rows)
    batches = []
    for begin in range(0, len(rows), 50 * batch):
        chunk = sorted(rows[begin : begin + 50 * batch], key=lambda row: len(ids[row]))
        batches += [chunk[i : i + batch] for i in range(0, len(chunk), batch)]
    random.Random(2).shuffle(batches)
    return batches


def blocks(ids: list[numpy.ndarray], tokens: int) -> list[list[int]]:
    result: list[list[int]] = [[]]
    for row in sorted(range(len(ids)), key=lambda row: -len(ids[row])):
        if result[-1] and (len(result[-1]) + 1) * len(ids[result[-1][0]]) > tokens:
            result.append([])
        result[-1].append(row)
    return result


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def time_training(model: Classifier, ids: list[numpy.ndarray], labels: list[int], device: str) -> float:
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01, fused=True)
    batches = training_batches(ids, 32)
    start = 0.0
    warm = len(batches) // 4
    for number, rows in enumerate(batches):
        if number == warm:
            wait(device)
            start = time.perf_counter()
        tokens, mask = padded(ids, rows, device)
        target = torch.tensor([labels[row] for row in rows]).to(device, non_blocking=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            loss = torch.nn.functional.cross_entropy(model(tokens, mask).float(), target)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
    wait(device)
    return (time.perf_counter() - start) * len(batches) / (len(batches) - warm)


def time_inference(model: torch.nn.Module, ids: list[numpy.ndarray], device: str, autocast: bool) -> float:
    model.eval()
    best = float("inf")
    parts = blocks(ids, 65536 if device == "cuda" else 8192)
    with torch.inference_mode():
        for _ in range(3):
            wait(device)
            start = time.perf_counter()
            outputs = []
            for rows in parts:
                tokens, mask = padded(ids, rows, device)
                with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
                    outputs.append(model(tokens, mask))
            torch.cat([o.float().softmax(-1) for o in outputs]).cpu()
            best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--texts", type=int, default=0)
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device, ways = arguments.device, arguments.ways.split(",")
    if unknown := set(ways) - set(WAYS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(WAYS)}")
    if device != "cuda":
        ways = [way for way in ways if way in ("training", "autocast")]
    arguments.weights = hf_folder(arguments.weights)
    tokenizer = AutoTokenizer.from_pretrained(arguments.weights)
    result: dict[str, float] = {}

    def say(key: str, value: float) -> None:
        result[key] = value
        print(json.dumps({key: value}), flush=True)

    def encode(texts: list[str]) -> list[numpy.ndarray]:
        found = tokenizer(texts, truncation=True, max_length=arguments.max_tokens, return_attention_mask=False, return_token_type_ids=False)
        return [numpy.array(ids) for ids in found["input_ids"]]

    def model() -> Classifier:
        return Classifier(arguments.weights).to(device)

    if {"training", "compiled-training"} & set(ways):
        labels, texts = read(arguments.data / "train.tsv.xz", arguments.texts or EPOCH)
        ids = encode(texts)
        share = EPOCH / len(ids)  # a sample has the same lengths
        if "training" in ways:
            say("epoch_seconds", share * time_training(model(), ids, labels, device))
        if "compiled-training" in ways:
            say("epoch_seconds_compiled", share * time_training(torch.compile(model(), dynamic=True), ids, labels, device))
    if {"autocast", "bfloat16", "compiled"} & set(ways):
        _, texts = read(arguments.data / "test.tsv.xz", arguments.texts)
        ids = encode(texts)
    if "autocast" in ways:
        say("texts_per_second_autocast" if device == "cuda" else "texts_per_second_float32", len(ids) / time_inference(model(), ids, device, device == "cuda"))
    if "bfloat16" in ways:
        say("texts_per_second_bfloat16", len(ids) / time_inference(model().to(torch.bfloat16), ids, device, False))
    if "compiled" in ways:
        say("texts_per_second_compiled", len(ids) / time_inference(torch.compile(model().to(torch.bfloat16), dynamic=True), ids, device, False))
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
