#!/usr/bin/env python3
"""Text encoders on a processor: processor seconds per 1,000 texts, one thread (or --threads), in float32, bfloat16 and int8.

The same weights, the same IMDB reviews of at most --max-tokens tokens, in batches of similar length (padded where an engine wants it, at most --block tokens a
batch), from token ids to the mean of the last states and probabilities of a linear head. Engines: l0gm (a run, with LibTorch), runtime (its compact file
without LibTorch, through the Python package and from texts: tokenising is part of its time), PyTorch (eager, compiled), ONNX Runtime, OpenVINO, CTranslate2.
`runtime`, `onnx` and `ctranslate2` also as `-int8`, `runtime` and `openvino` also as `-bf16`. Rounds alternate between engines and the fastest of each counts, so that other work on the machine hits all of them.
Usage: peers/setup; .venv-peers/bin/python bench/peers/text_cpu.py --weights FOLDER --data FOLDER/imdb [--texts 500] [--rounds 3] [--threads 1] [--json FILE]
--resident: also the megabytes that each engine adds to a process of its own, with its library, its weights and one pass over the texts.
--accuracy: also accuracy and NLL of our compact files, as they are served, over all test reviews (--accuracy N: over N of them). It is --models
that this is for: the head of the file that is made here has seen the beginnings of 240 reviews. With --rounds 0 nothing is timed.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from hf_folder import hf_folder

ROOT = Path(__file__).resolve().parent.parent.parent


def labelled(path: Path, count: int | None) -> list[tuple[str, str]]:
    import lzma
    import random

    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    random.Random(0).shuffle(rows)
    return [(label, text) for label, text in rows[:count]]


def sample(path: Path, count: int) -> list[str]:
    return [text for _, text in labelled(path, count)]


def blocks(ids: list[list[int]], tokens: int) -> list[list[int]]:
    """Rows of similar length, at most so many tokens with padding; the longest first."""
    result: list[list[int]] = [[]]
    for row in sorted(range(len(ids)), key=lambda row: -len(ids[row])):
        if result[-1] and (len(result[-1]) + 1) * len(ids[result[-1][0]]) > tokens:
            result.append([])
        result[-1].append(row)
    return result


class L0gm:
    """A run with a frozen encoder: `bench text` sends its test texts through the encoder again."""

    def __init__(self, arguments: argparse.Namespace, texts: list[str], work: Path) -> None:
        self.program, self.threads, self.run = str(arguments.program), str(arguments.threads), work / "run"
        self.one_by_one = arguments.one_by_one
        labels = sorted({label for label, _ in labelled(arguments.data / "train.tsv.xz", 50)})
        with open(work / "texts.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label", "part"])
            for i, text in enumerate(texts):
                writer.writerow([text, labels[i % 2], "test"])
            # Beginnings of training reviews: enough for a head whose probabilities mean something.
            for i, (label, text) in enumerate(labelled(arguments.data / "train.tsv.xz", 300)):
                writer.writerow([text[:400], label, "valid" if i < 60 else "train"])
        (work / "texts.toml").write_text(f"""[data]
source = "csv"
train = "{work / 'texts.csv'}"
text = "text"
label = "label"
split.column = "part"
[encoder]
path = "{arguments.weights}"
frozen = true
max_tokens = {arguments.max_tokens}
[gate]
unit = "none"
[train]
epochs = 1
""")
        self.call("train", str(work / "texts.toml"), "--out", str(self.run), "--threads", self.threads)

    def call(self, *words: str) -> dict:
        done = subprocess.run([self.program, "--quiet", "--json", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr + done.stdout[-500:])
        return json.loads(done.stdout)

    def seconds(self) -> tuple[float, float]:
        found = self.call("bench", "text", str(self.run), "--warmup", "0", "--inferences", "1", "--threads", self.threads)
        return found["processor_seconds"], found["inference_seconds"]


class Served:
    """A compact file in libl0gm_runtime, from texts to probabilities."""

    def __init__(self, arguments: argparse.Namespace, file: Path, texts: list[str]) -> None:
        import sys

        os.environ.setdefault("L0GM_RUNTIME_LIBRARY", str(arguments.program.with_name("libl0gm_runtime.so")))
        sys.path.insert(0, str(ROOT / "python"))
        import l0gm

        self.model = l0gm.load(file, threads=arguments.threads)
        self.calls = [[text] for text in texts] if arguments.one_by_one else [texts]

    def seconds(self) -> tuple[float, float]:
        start, processor = time.perf_counter(), time.process_time()
        for texts in self.calls:
            self.model.predict_proba(texts)
        return time.process_time() - processor, time.perf_counter() - start

    def judged(self, reviews: list[tuple[str, str]]) -> dict[str, float]:
        """Labels are 0, 1, …: places among the model's classes."""
        import numpy

        probabilities = self.model.predict_proba([text for _, text in reviews]).astype(numpy.float64)
        labels = numpy.array([int(label) for label, _ in reviews])
        likelihood = numpy.maximum(probabilities[numpy.arange(len(labels)), labels], 1e-12)
        return {"accuracy": float((probabilities.argmax(1) == labels).mean()), "nll": float(-numpy.log(likelihood).mean())}


class Runtime(Served):
    """The compact file of the run with a frozen encoder."""

    def __init__(self, arguments: argparse.Namespace, run: L0gm, texts: list[str], weights: str) -> None:
        file = run.run.with_name(f"{weights}.l0gm")
        if not file.exists():
            found = run.call("compact", str(run.run), "--out", str(file), "--weights", weights)
            print(f"runtime, {weights}: {file.stat().st_size / 1e6:.1f} MB, largest difference "
                  f"{found.get('rounding', {}).get('largest_difference', found['parity_float32']):.2g} of {found['rows_checked']} texts", flush=True)
        super().__init__(arguments, file, texts)


class Engine:
    def __init__(self, ids: list[list[int]], parts: list[list[int]]) -> None:
        import numpy

        self.batches = []
        for rows in parts:
            longest = max(len(ids[row]) for row in rows)
            tokens, mask = numpy.zeros((len(rows), longest), dtype=numpy.int64), numpy.zeros((len(rows), longest), dtype=numpy.int64)
            for i, row in enumerate(rows):
                tokens[i, : len(ids[row])] = ids[row]
                mask[i, : len(ids[row])] = 1
            self.batches.append((tokens, mask))

    def states(self, tokens, mask):  # noqa: ANN001, ANN201
        raise NotImplementedError

    def seconds(self) -> tuple[float, float]:
        import numpy

        rng = numpy.random.default_rng(0)
        head = rng.normal(size=(384, 2)).astype(numpy.float32)
        start, processor = time.perf_counter(), time.process_time()
        for tokens, mask in self.batches:
            states = self.states(tokens, mask)
            weights = mask[:, :, None].astype(numpy.float32)
            logits = ((states * weights).sum(1) / weights.sum(1)) @ head
            numpy.exp(logits - logits.max(1, keepdims=True))
        return time.process_time() - processor, time.perf_counter() - start


class Torch(Engine):
    def __init__(self, ids, parts, weights: str, compiled: bool) -> None:  # noqa: ANN001
        import torch
        from transformers import AutoModel

        super().__init__(ids, parts)
        self.torch = torch
        self.model = AutoModel.from_pretrained(weights, attn_implementation="sdpa", dtype=torch.float32).eval()
        if compiled:
            self.model = torch.compile(self.model, dynamic=True)

    def states(self, tokens, mask):  # noqa: ANN001, ANN201
        with self.torch.inference_mode():
            return self.model(input_ids=self.torch.from_numpy(tokens), attention_mask=self.torch.from_numpy(mask)).last_hidden_state.numpy()


def export_onnx(weights: str, path: Path) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(weights, attn_implementation="eager", dtype=torch.float32).eval()

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    example = (torch.ones(2, 7, dtype=torch.long), torch.ones(2, 7, dtype=torch.long))
    axes = {0: torch.export.Dim("texts", min=1, max=4096), 1: torch.export.Dim("tokens", min=2, max=512)}
    torch.onnx.export(States(), example, str(path), input_names=["ids", "mask"], output_names=["states"], dynamo=True,
                      dynamic_shapes={"ids": axes, "mask": axes}, external_data=False)


class Onnx(Engine):
    def __init__(self, ids, parts, path: Path, threads: int) -> None:  # noqa: ANN001
        import onnxruntime

        super().__init__(ids, parts)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def states(self, tokens, mask):  # noqa: ANN001, ANN201
        return self.session.run(None, {"ids": tokens, "mask": mask})[0]


def fused_onnx(path: Path) -> Path:
    fused = path.with_name("fused.onnx")
    if not fused.exists():
        from onnxruntime.transformers import optimizer

        optimizer.optimize_model(str(path), model_type="bert", num_heads=12, hidden_size=384).save_model_to_file(str(fused))
    return fused


class OnnxFused(Onnx):
    """With the library's own fusions for BERT: attention, layer norms, GELU."""

    def __init__(self, ids, parts, path: Path, threads: int) -> None:  # noqa: ANN001
        super().__init__(ids, parts, fused_onnx(path), threads)


class OnnxInt8(Onnx):
    """Weights of products in int8 (signed, per tensor: its fastest), inputs quantised as they come."""

    def __init__(self, ids, parts, path: Path, threads: int) -> None:  # noqa: ANN001
        rounded = path.with_name("int8.onnx")
        if not rounded.exists():
            from onnxruntime.quantization import QuantType, quantize_dynamic

            quantize_dynamic(str(fused_onnx(path)), str(rounded), weight_type=QuantType.QInt8)
        super().__init__(ids, parts, rounded, threads)


class OpenVino(Engine):
    def __init__(self, ids, parts, path: Path, threads: int, precision: str = "f32") -> None:  # noqa: ANN001
        import openvino

        super().__init__(ids, parts)
        core = openvino.Core()
        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"}
        self.model = core.compile_model(core.read_model(str(path)), "CPU", settings)

    def states(self, tokens, mask):  # noqa: ANN001, ANN201
        return self.model({"ids": tokens, "mask": mask})[0]


class CTranslate2(Engine):
    def __init__(self, ids, parts, weights: str, work: Path, threads: int, precision: str = "float32") -> None:  # noqa: ANN001
        import ctranslate2
        import numpy

        super().__init__(ids, parts)
        if not work.exists():
            ctranslate2.converters.TransformersConverter(weights).convert(str(work))
        self.encoder = ctranslate2.Encoder(str(work), device="cpu", compute_type=precision, inter_threads=1, intra_threads=threads)
        self.storage, self.numpy = ctranslate2.StorageView, numpy

    def states(self, tokens, mask):  # noqa: ANN001, ANN201
        lengths = mask.sum(1).astype(self.numpy.int32)
        out = self.encoder.forward_batch(self.storage.from_array(tokens.astype(self.numpy.int32)), self.storage.from_array(lengths))
        return self.numpy.array(out.last_hidden_state)


@dataclass
class Setup:
    """What engines are made of. Files that one needs are made once and stay in `work`, also for the processes that look at memory."""
    arguments: argparse.Namespace
    reference: str
    texts: list[str]
    ids: list[list[int]]
    parts: list[list[int]]
    work: Path
    trained: L0gm | None = None

    def run(self) -> L0gm:
        self.trained = self.trained or L0gm(self.arguments, self.texts, self.work)
        return self.trained

    def engine(self, name: str) -> L0gm | Served | Engine:
        arguments, ids, parts, threads, onnx = self.arguments, self.ids, self.parts, self.arguments.threads, self.work / "model.onnx"
        makers = {"l0gm": self.run, "runtime": lambda: Runtime(arguments, self.run(), self.texts, "float32"),
                  "runtime-bf16": lambda: Runtime(arguments, self.run(), self.texts, "bfloat16"),
                  "runtime-int8": lambda: Runtime(arguments, self.run(), self.texts, "int8"),
                  "eager": lambda: Torch(ids, parts, self.reference, False), "compiled": lambda: Torch(ids, parts, self.reference, True),
                  "onnx": lambda: Onnx(ids, parts, onnx, threads), "onnx-fused": lambda: OnnxFused(ids, parts, onnx, threads),
                  "onnx-int8": lambda: OnnxInt8(ids, parts, onnx, threads), "openvino": lambda: OpenVino(ids, parts, onnx, threads),
                  "openvino-bf16": lambda: OpenVino(ids, parts, onnx, threads, "bf16"),
                  "ctranslate2": lambda: CTranslate2(ids, parts, self.reference, self.work / "ct2", threads),
                  "ctranslate2-int8": lambda: CTranslate2(ids, parts, self.reference, self.work / "ct2", threads, "int8")}
        for file in arguments.models:
            makers[file.name] = lambda file=file: Served(arguments, file, self.texts)
        return makers[name]()


def added_megabytes(setup: Setup, name: str) -> float:
    from latency_engines import resident_bytes  # brings numpy, which is nobody's share

    before = resident_bytes()
    engine = setup.engine(name)
    engine.seconds()
    return (resident_bytes() - before) / 1e6


def resident_megabytes(setup: Setup, names: list[str]) -> dict[str, float]:
    """Each in a process of its own; without `l0gm`, which is a program by itself."""
    found = {}
    for name in names:
        if name != "l0gm":
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                try:
                    found[name] = pool.submit(added_megabytes, setup, name).result()
                except Exception as error:  # noqa: BLE001: the timings of the others are worth more
                    print(f"{name}: memory not measured: {str(error)[:300]}", flush=True)
    return found


def print_table(rows: dict[str, dict[str, float]]) -> None:
    columns = {"processor": ("processor seconds per 1,000 texts", ".2f", 1), "wall": ("seconds per 1,000 texts", ".2f", 1),
               "resident": ("resident MB added", ".0f", 1), "accuracy": ("accuracy %", ".2f", 100), "nll": ("NLL", ".4f", 1)}
    shown = {key: column for key, column in columns.items() if any(key in row for row in rows.values())}
    print(f"| engine | {' | '.join(head for head, _, _ in shown.values())} |\n|{'---|' * (len(shown) + 1)}")
    for name, row in rows.items():
        cells = [format(factor * row[key], digits) if key in row else "-" for key, (_, digits, factor) in shown.items()]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "l0gm")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--block", type=int, default=4096)
    parser.add_argument("--one-by-one", action="store_true", help="a call for each text: seconds per 1,000 texts are then milliseconds a call")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--engines", default="l0gm,runtime,runtime-bf16,runtime-int8,eager,compiled,onnx,onnx-fused,onnx-int8,openvino,"
                        "openvino-bf16,ctranslate2,ctranslate2-int8")
    parser.add_argument("--models", type=Path, nargs="*", default=[], help="compact files of trained models, timed as well; they cut texts where they were told to")
    parser.add_argument("--resident", action="store_true", help="also the megabytes that each engine adds to a process")
    parser.add_argument("--accuracy", type=int, nargs="?", const=0, metavar="N", help="also accuracy and NLL of compact files, over N test reviews; without N: all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.weights = arguments.weights.resolve()
    reference = hf_folder(arguments.weights)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(arguments.threads)
    texts = sample(arguments.data / "test.tsv.xz", arguments.texts)
    ids = AutoTokenizer.from_pretrained(reference)(texts, truncation=True, max_length=arguments.max_tokens)["input_ids"]
    parts = [[row] for row in range(len(ids))] if arguments.one_by_one else blocks(ids, arguments.block)
    work = Path(tempfile.mkdtemp())
    setup = Setup(arguments, reference, texts, ids, parts, work)
    wanted = [name for name in arguments.engines.split(",") if name] + [file.name for file in arguments.models]
    try:
        if any(name.startswith(("onnx", "openvino")) for name in wanted):
            export_onnx(reference, work / "model.onnx")
        engines = {}
        for name in wanted:
            try:
                engines[name] = setup.engine(name)
            except Exception as error:  # noqa: BLE001: what is not there is named in the table, the others go on
                print(f"{name}: not measured: {str(error)[:300]}", flush=True)
        best: dict[str, tuple[float, float]] = {}
        for number in range(arguments.rounds + 1):  # the first warms up
            for name, engine in engines.items():
                processor, wall = engine.seconds()
                if number > 0:
                    before = best.get(name, (float("inf"), float("inf")))
                    best[name] = (min(before[0], processor), min(before[1], wall))
        tokens = sum(len(row) for row in ids)
        print(f"{len(ids)} texts, {tokens} tokens, {sum(len(p) * len(ids[p[0]]) for p in parts)} with padding, {arguments.threads} threads")
        scale = 1000 / len(ids)
        rows: dict[str, dict[str, float]] = {}
        for name in sorted(engines, key=lambda name: best.get(name, ())):  # no rounds: no seconds
            rows[name] = {key: scale * value for key, value in zip(("processor", "wall"), best.get(name, ()))}
        if arguments.resident:
            for name, megabytes in resident_megabytes(setup, list(rows)).items():
                rows[name]["resident"] = megabytes
        if arguments.accuracy is not None:
            reviews = labelled(arguments.data / "test.tsv.xz", arguments.accuracy or None)
            print(f"accuracy and NLL of {len(reviews)} test reviews")
            for name, engine in engines.items():
                rows[name].update(engine.judged(reviews) if isinstance(engine, Served) else {})
        print_table(rows)
        if arguments.json:
            arguments.json.write_text(json.dumps(rows))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
