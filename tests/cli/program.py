"""What all tests of the program from outside share: a folder, a small configuration, ways to start it. Standard library only."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.abspath(sys.argv.pop(1))

TINY = """
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

METRICS = ["step", "epoch", "phase", "tau", "lambda", "mu", "train_loss", "valid_nll", "active_fraction", "expected_active_fraction", "seconds"]


class CliCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="l0gm-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.config = self.write("tiny.toml", TINY)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def start(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if k not in ("L0GM_DATA", "OMP_NUM_THREADS")}
        return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                cwd=self.folder, env=environment)

    def run_program(self, *arguments, code=0):
        process = self.start(*arguments)
        out, error = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, f"{arguments}\n{out.decode(errors='replace')}\n{error.decode(errors='replace')}")
        return out.decode(), error.decode()

    def train(self, out, *arguments, code=0):
        return self.run_program("train", self.config, "--out", self.path(out), "--threads", "1", *arguments, code=code)

    def refused(self, *arguments, says=()):
        """Exit code 2, nothing on standard output, one `error:` with every one of the words."""
        out, error = self.run_program(*arguments, code=2)
        self.assertEqual(out, "")
        self.assertEqual(error.count("error: "), 1, error)
        for words in says:
            self.assertIn(words, error)
        self.assertNotIn("internal", error)
        return error

    def metrics(self, run):
        lines = []
        for line in self.read(run, "metrics.jsonl").decode().splitlines():
            value = json.loads(line)
            del value["seconds"]
            lines.append(value)
        return lines

    def assert_same_result(self, first, second):
        for name in ("checkpoint/best.safetensors", "checkpoint/state.safetensors", "predictions/valid.csv", "config.toml", "schema.json"):
            self.assertTrue(self.read(first, name) == self.read(second, name), name)
        self.assertEqual(self.metrics(first), self.metrics(second))
