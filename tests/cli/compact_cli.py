#!/usr/bin/env python3
"""Compact models from outside: compact_cli.py PROGRAM [TestClass …]. Standard library only; the Python package is tested where numpy is."""
import csv
import json
import os
import struct
import subprocess
import sys
import unittest

from program import ROOT, CliCase

KEYS = ["units", "open_units", "parity_float64", "parity_float32", "rows_checked", "bytes", "bytes_dense"]


class CompactCase(CliCase):
    def make(self, *options, name="model.l0gm", words=()):
        if not os.path.exists(self.path("people.csv")):
            self.run_program("data", "make", "planted-table", "--rows", "900", "--out", self.path("people.csv"))
        config = self.write("own.toml", '[data]\nsource = "csv"\ntrain = "people.csv"\nlabel = "label"\n[model]\nwidth = 4\nhidden = 8\ndepth = 1\n'
                            '[gate]\nunit = "group"\ntarget_active = 0.2\n[train]\nepochs = 6\nbatch = 64\n')
        if not os.path.exists(self.path("run")):
            self.run_program("train", config, "--out", self.path("run"), "--threads", "1", *options)
        return json.loads(self.run_program("--json", "--quiet", "compact", self.path("run"), "-o", self.path(name), *words)[0])

    def predictions(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def predict(self, model, table, out, *words):
        return json.loads(self.run_program("--json", "predict", self.path(model), self.path(table), "-o", self.path(out), *words)[0])

    def assert_close(self, first, second, most=3e-6):
        a, b = self.predictions(first), self.predictions(second)
        self.assertEqual([row["row"] for row in a], [row["row"] for row in b])
        self.assertEqual(a[0].keys(), b[0].keys())
        for x, y in zip(a, b):
            for key in x:
                if key.startswith("p_"):
                    self.assertLessEqual(abs(float(x[key]) - float(y[key])), most, (x, y))


class Compact(CompactCase):
    def test_a_teacher_and_its_pupil_in_one_step(self):
        config = self.write("both.toml", '[data]\nsource = "planted-table"\nrows = 900\n[model]\nwidth = 4\nhidden = 16\nmembers = 3\n'
                            '[gate]\nunit = "none"\n[train]\nepochs = 4\nbatch = 64\n[serve]\npupil = true\nsettings = { "model.hidden" = "7" }\n')
        said = json.loads(self.run_program("--json", "--quiet", "train", config, "--out", self.path("both"), "--threads", "1")[0])
        self.assertEqual((said["run"], said["pupil"]["run"]), (self.path("both"), self.path("both", "pupil")))
        self.assertLess(said["pupil"]["parameters"], said["parameters"])
        self.assertIn("hidden = 7", self.read("both", "pupil", "config.toml").decode())
        self.assertEqual((said["served"]["file"], said["served"]["bytes"]),
                         (self.path("both", "served.l0gm"), os.path.getsize(self.path("both", "served.l0gm"))))
        self.assertTrue(all(line["median_us"] > 0 for line in said["served"]["latency"]))
        self.assertTrue(os.path.exists(self.path("both", "served.md")))
        pupil = json.loads(self.run_program("--json", "--quiet", "compact", self.path("both"), "-o", self.path("small.l0gm"))[0])
        teacher = json.loads(self.run_program("--json", "--quiet", "compact", self.path("both"), "-o", self.path("large.l0gm"), "--teacher")[0])
        self.assertLess(pupil["bytes"], teacher["bytes"])
        self.run_program("data", "make", "planted-table", "--rows", "300", "--out", self.path("people.csv"))
        self.predict("both/pupil", "people.csv", "run.csv")
        self.predict("small.l0gm", "people.csv", "file.csv")
        self.assert_close("run.csv", "file.csv")
        self.refused("train", config, "--out", self.path("r"), "--set", 'serve.settings={"train.seed" = "1"}', says=["serve.settings names train.seed"])
        self.assertFalse(os.path.exists(self.path("r")))

    def test_a_file_says_what_the_run_says(self):
        result = self.make()
        self.assertFalse([key for key in KEYS if key not in result], result)
        self.assertEqual((result["units"], result["open_units"], result["columns"]), (30, 6, 6))
        self.assertEqual(len(result["closed_columns"]), 24)
        self.assertLessEqual(result["parity_float64"], 1e-9)
        self.assertLessEqual(result["parity_float32"], result["parity_float32_limit"])
        self.assertGreaterEqual(result["rows_checked"], 10000 + 90)
        self.assertEqual(result["bytes"], os.path.getsize(self.path("model.l0gm")))
        card = self.read("model.md").decode()
        for words in ("## Figures", "## Calibration", "## Limits", "6 of 30 columns"):
            self.assertIn(words, card)
        for words in ([], ["--raw"], ["--calibrated"]):
            self.predict("run", "people.csv", "run.csv", *words)
            self.predict("model.l0gm", "people.csv", "file.csv", *words, "--threads", "2")
            self.assert_close("run.csv", "file.csv")
        with self.assertRaises(AssertionError):  # calibration moves something
            self.predict("run", "people.csv", "run.csv", "--raw")
            self.assert_close("run.csv", "file.csv")

    def test_the_same_run_gives_the_same_bytes(self):
        self.make()
        self.make(name="again.l0gm")
        self.assertTrue(self.read("model.l0gm") == self.read("again.l0gm"))

    def test_the_file_is_safetensors(self):
        self.make()
        bytes_ = self.read("model.l0gm")
        size = struct.unpack("<Q", bytes_[:8])[0]
        header = json.loads(bytes_[8:8 + size])
        manifest = json.loads(header.pop("__metadata__")["l0gm"])
        self.assertEqual((manifest["format_version"], manifest["kind"], manifest["weights"]), (1, "table", "float32"))
        self.assertEqual(max(tensor["data_offsets"][1] for tensor in header.values()), len(bytes_) - 8 - size)

    def test_columns_by_name(self):
        closed = self.make()["closed_columns"]
        rows = self.predictions("people.csv")
        self.predict("model.l0gm", "people.csv", "all.csv")
        open_columns = [name for name in rows[0] if name not in closed and name != "label"]
        self.assertEqual(len(open_columns), 6)
        for order in (open_columns, open_columns[::-1] + ["label"]):  # closed columns need not be there; order and further ones do not matter
            lines = [",".join(order)] + [",".join(row[name] for name in order) for row in rows]
            self.write("some.csv", "\n".join(lines) + "\n")
            self.predict("model.l0gm", "some.csv", "some.p.csv")
            self.assertEqual(self.read("some.p.csv"), self.read("all.csv"))
        lines = [",".join(open_columns[1:])] + [",".join(row[name] for name in open_columns[1:]) for row in rows]
        self.write("short.csv", "\n".join(lines) + "\n")
        self.refused("predict", self.path("model.l0gm"), self.path("short.csv"), "-o", self.path("no.csv"), says=[open_columns[0]])
        self.assertFalse(os.path.exists(self.path("no.csv")))

    def test_strange_cells_are_counted(self):
        self.make()
        rows = self.predictions("people.csv")
        counted = {}
        for column in [name for name in rows[0] if name != "label"]:
            table = [dict(row) for row in rows[:50]]
            table[0][column], table[1][column], table[2][column] = "never seen", "", "never seen either"
            lines = [",".join(rows[0])] + [",".join(row.values()) for row in table]
            self.write("strange.csv", "\n".join(lines) + "\n")
            of_file, of_run = (self.predict(model, "strange.csv", "p.csv") for model in ("model.l0gm", "run"))
            kind = "unseen" if of_run["unseen"] else "unreadable"
            self.assertEqual(of_run[kind], {column: 2})
            if of_file[kind]:  # else the column is closed
                self.assertEqual((of_file[kind], of_file["missing"]), ({column: 2}, {column: 1}))
                counted[kind] = counted.get(kind, 0) + 1
        self.assertGreater(sum(counted.values()), 5)

    def test_fewer_bits(self):
        full = self.make()
        for weights, most in (("bfloat16", 0.05), ("int8", 0.1)):
            small = self.make(name=f"{weights}.l0gm", words=["--weights", weights])
            self.assertLess(small["bytes"], full["bytes"])
            self.assertGreater(small["rounding"]["largest_difference"], 0)
            self.assertLess(small["rounding"]["largest_difference"], most)
            self.predict(f"{weights}.l0gm", "people.csv", f"{weights}.csv")
        self.refused("compact", self.path("run"), "-o", self.path("x.l0gm"), "--weights", "int4", says=["int4"])

    def test_latency(self):
        self.make()
        result = json.loads(self.run_program("--json", "bench", "latency", self.path("model.l0gm"), "--batch", "1,64", "--threads", "1", "--runs", "20",
                                             "--warmup", "2")[0])
        text = json.dumps(result)
        for word in ("median", "p99", "numbers", "text"):
            self.assertIn(word, text)

    def test_the_library_is_small_and_stands_alone(self):
        library = os.environ.get("L0GM_RUNTIME_LIBRARY", "")
        if os.environ.get("L0GM_BUILD_TYPE") != "Release" or not library:
            self.skipTest("not a release build")
        self.assertLess(os.path.getsize(library), 2_000_000)  # texts are half of it: tables of Unicode, kernels of their own
        self.assertNotIn(b"libtorch", open(library, "rb").read())

    def test_refused(self):
        self.make()
        good = self.read("model.l0gm")
        flipped = good[:-5] + bytes([good[-5] ^ 4]) + good[-4:]
        for name, bytes_ in (("short", good[:len(good) // 2]), ("empty", b""), ("flipped", flipped), ("text", b"hello" * 100)):
            self.write(name, bytes_)
            self.refused("predict", self.path(name), self.path("people.csv"), "-o", self.path("p.csv"), says=[name])
            self.refused("bench", "latency", self.path(name), says=[name])
        self.refused("predict", self.path("nothing"), self.path("people.csv"), "-o", self.path("p.csv"), says=["nothing"])
        self.refused("compact", self.path("nothing"), "-o", self.path("x.l0gm"), says=["nothing"])
        self.refused("compact", self.path("run"), "-o", self.path("x.md"), "--card", self.path("x.md"), says=["--card"])
        self.write("people.csv", self.read("people.csv") + self.read("people.csv").splitlines(keepends=True)[1])
        self.refused("compact", self.path("run"), "-o", self.path("x.l0gm"), says=["has changed"])
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("x.")])


class TextFiles(CompactCase):
    """A text model in its three precisions: with LibTorch (the run), by the program and by the Python package without it."""

    def make_texts(self):
        config = self.write("texts.toml", '[data]\nsource = "planted-text"\nrows = 300\n[encoder]\nwidth = 16\ndepth = 1\nheads = 2\nffn = 24\n'
                            'vocabulary = 200\nmax_tokens = 48\n[gate]\ntarget_active = 0.5\n[train]\nepochs = 3\nbatch = 32\nlr = 0.005\n')
        self.run_program("train", config, "--out", self.path("run"), "--threads", "1")
        texts = ["", "word1 word2 and some more words", "a", "caf\u00e9 \u65e5\u672c", "long " * 200]
        with open(self.path("texts.csv"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "text"], *([i, text] for i, text in enumerate(texts * 30))])
        return texts * 30

    def test_every_precision_and_interface(self):
        texts = self.make_texts()
        self.predict("run", "texts.csv", "run.csv", "--raw")
        sizes = []
        for weights, close in (("float32", 1e-4), ("bfloat16", 0.05), ("int8", 0.1)):
            file = f"{weights}.l0gm"
            result = json.loads(self.run_program("--json", "--quiet", "compact", self.path("run"), "-o", self.path(file), "--weights", weights)[0])
            if weights != "float32":
                self.assertLessEqual(result["rounding"]["largest_difference"], close)
            sizes.append(result["bytes"])
            self.predict(file, "texts.csv", "p.csv", "--raw", "--threads", "2")
            self.assert_close("run.csv", "p.csv", close)
            self.predict(file, "texts.csv", "alone.csv", "--raw", "--threads", "1")
            self.assertEqual(self.read("p.csv"), self.read("alone.csv"))
            self.check_python(file, texts)
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        measured = json.loads(self.run_program("--json", "bench", "latency", self.path("int8.l0gm"), "--tokens", "10", "--runs", "3", "--warmup", "0")[0])
        self.assertEqual([row["batch"] for row in measured["results"]], [1, 32])

    def check_python(self, file, texts):
        python = next((python for python in (sys.executable, os.path.join(ROOT, ".venv", "bin", "python"), os.path.join(ROOT, ".venv-peers", "bin", "python"))
                       if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0), None)
        if python is None:
            return
        program = (f"import sys, json; sys.path.insert(0, {os.path.join(ROOT, 'python')!r}); import l0gm\n"
                   f"model = l0gm.load({self.path(file)!r}, threads=2, calibrated=False); texts = json.loads(sys.stdin.read())\n"
                   "p = model.predict_proba(texts); assert (p == model.predict_proba({'id': texts, 'text': texts})).all(); assert model.reads_texts\n"
                   "counts = model.empty_counts(); model.predict_proba([{'text': None}, {'text': 'a'}], counts); assert counts.as_dict()['missing'] == {'text': 1}\n"
                   "print(json.dumps(p.tolist()))")
        done = subprocess.run([python, "-c", program], input=json.dumps(texts), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for row, found in zip(self.predictions("p.csv"), json.loads(done.stdout)):
            for key, p in zip((key for key in row if key.startswith("p_")), found):
                self.assertLessEqual(abs(float(row[key]) - p), 3e-6)


class PythonPackage(CompactCase):
    """tests/python against files of the program."""

    def interpreter(self):
        for python in (sys.executable, *(os.path.join(ROOT, venv, "bin", "python") for venv in (".venv", ".venv-peers"))):
            if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
                return python
        self.skipTest("numpy is not here: python3 -m pip install numpy pandas")

    def test_python_says_what_the_program_says(self):
        python = self.interpreter()
        self.make()
        self.predict("model.l0gm", "people.csv", "p.csv")  # as it comes, in both
        self.predict("model.l0gm", "people.csv", "calibrated.csv", "--calibrated")
        done = subprocess.run([python, os.path.join(ROOT, "tests", "python", "test_l0gm.py"), *(self.path(name) for name in (
            "model.l0gm", "people.csv", "p.csv", "calibrated.csv"))], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
