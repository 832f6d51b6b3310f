#!/usr/bin/env python3
"""Event files of `l0gm train --tensorboard`, read with TensorBoard's own reader. Skipped (exit code 77)
where TensorBoard is not installed: peers/setup does.
Usage: tensorboard_reads.py PATH_OF_L0GM"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "..", "..", ".venv-peers", "bin", "python")
CONFIG = """
[data]
source = "planted-table"
rows = 600
[model]
name = "deepfm"
width = 4
hidden = 16
depth = 1
members = 1
[gate]
target_active = 0.25
[train]
epochs = 6
batch = 64
"""


def check(program):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with tempfile.TemporaryDirectory(prefix="l0gm-events-") as folder:
        config, run = os.path.join(folder, "c.toml"), os.path.join(folder, "run")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        subprocess.run([program, "train", config, "--out", run, "--threads", "1", "--quiet", "--tensorboard"], check=True, stdout=subprocess.DEVNULL)
        files = glob.glob(os.path.join(run, "tensorboard", "*tfevents*"))
        assert len(files) == 1, files
        events = EventAccumulator(os.path.join(run, "tensorboard"), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        events.Reload()
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        with open(os.path.join(run, "gates.jsonl"), encoding="utf-8") as file:
            spread = [json.loads(line) for line in file]

        def scalars(tag):
            tags = events.Tags()
            if tag in tags["scalars"]:
                return [(event.step, event.value) for event in events.Scalars(tag)]
            from tensorboard.util import tensor_util
            return [(event.step, float(tensor_util.make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]

        for tag, key in (("loss/valid_nll", "valid_nll"), ("loss/train", "train_loss"), ("gate/tau", "tau"), ("gate/mu", "mu"), ("gate/active_fraction", "active_fraction"),
                         ("gate/expected_active_fraction", "expected_active_fraction")):
            found = scalars(tag)
            assert [step for step, _ in found] == [line["step"] for line in lines], (tag, found)
            assert all(abs(value - line[key]) <= 1e-6 * max(1, abs(line[key])) for (_, value), line in zip(found, lines)), (tag, found)
        assert len(scalars("loss/step")) == lines[-1]["step"]
        histograms = events.Histograms("gate/interface/open_probability")
        assert len(histograms) == len(lines) == len(spread)
        for event, line in zip(histograms, spread):
            value = event.histogram_value
            assert value.num == sum(line["sites"]["interface"]), value
            assert [round(count) for count in value.bucket] == line["sites"]["interface"], value
            assert 0 <= value.min <= value.max <= 1, value
    print(f"TensorBoard reads {len(lines)} looks at the validation rows, scalars and histograms")


if __name__ == "__main__":
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        if os.path.exists(PEERS) and sys.prefix != os.path.dirname(os.path.dirname(os.path.abspath(PEERS))):
            os.execv(PEERS, [PEERS, *sys.argv])
        print("skipped: tensorboard is not installed (peers/setup installs it)")
        sys.exit(77)
    check(os.path.abspath(sys.argv[1]))
