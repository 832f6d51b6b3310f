#!/usr/bin/env python3
"""Studies from outside: study_cli.py PROGRAM [TestClass …]. Standard library only."""
import csv
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from program import PROGRAM, CliCase

SHORT = ("--set", "train.epochs=3", "--workers", "2")


class StudyCase(CliCase):
    def cells(self, study):
        return sorted(os.path.basename(folder) for folder in glob.glob(self.path(study, "cells", "*")))

    def products(self, study):
        """When each product was written: what is run again gets a new time."""
        return {name: os.stat(name).st_mtime_ns for name in glob.glob(self.path(study, "cells", "*", "*.json")) if not name.endswith("cell.json")}


class Sweep(StudyCase):
    def sweep(self, out, *arguments, code=0):
        return self.run_program("sweep", self.config, "--out", self.path(out), *SHORT, *arguments, code=code)

    def test_lines_choices_and_files(self):
        out, _ = self.sweep("study", "--targets", "0.5,0.1", "--seeds", "2", "--within", "10", "--json")
        result = json.loads(out)
        self.assertEqual([line["name"] for line in result["lines"]], ["dense", "target 0.5", "target 0.1"])
        for line in result["lines"]:
            self.assertEqual(line["runs"], 2)
            self.assertIn("most_projected_units", line)
        self.assertEqual(result["choices"][1]["line"], "target 0.1")
        self.assertEqual(json.loads(self.read("study", "sweep.json")), result)
        self.assertIn(b"| target 0.1", self.read("study", "sweep.md"))
        self.assertEqual(len(self.cells("study")), 6)
        self.assertEqual(glob.glob(self.path("study", "cells", "*", "run", "predictions", "test.csv")), [])  # nobody asked
        # What is there is not run again; more is added to it.
        before = self.products("study")
        self.sweep("study", "--targets", "0.5,0.1", "--seeds", "2")
        self.assertEqual(self.products("study"), before)
        self.sweep("study", "--targets", "0.5,0.1,0.2", "--seeds", "2", "--test")
        after = self.products("study")
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertEqual(len(self.cells("study")), 8)
        self.assertIn(b"Test rows", self.read("study", "sweep.md"))

    def test_a_path_of_prices_with_warm_starts(self):
        out, _ = self.sweep("study", "--lambdas", "1e-4,1e-2,1e-1", "--seeds", "1", "--warm-starts", "--no-dense", "--json")
        result = json.loads(out)
        self.assertEqual(len(result["lines"]), 3)
        self.assertEqual(len(result["non_increasing"]), 1)
        configs = [self.read("study", "cells", key, "run", "config.toml").decode() for line in result["lines"] for key in line["cells"]]
        self.assertNotIn("init_from = \"/", configs[0])
        self.assertIn(result["lines"][0]["cells"][0], configs[1])

    def test_shards_meet_in_one_folder(self):
        words = ("--targets", "0.5,0.1", "--seeds", "1", "--no-dense")
        out, _ = self.sweep("study", *words, "--shard", "1/2")
        self.assertIn("not here yet", out)
        out, _ = self.sweep("study", *words, "--shard", "2/2")
        self.assertNotIn("not here yet", out)
        whole, _ = self.sweep("other", *words)
        self.assertEqual(out, whole)

    def test_a_cell_that_fails_is_told_of_and_the_rest_goes_on(self):
        # A price that makes the loss overflow would be data's fault; here a cell's folder cannot be written.
        self.sweep("study", "--targets", "0.5", "--seeds", "1", "--no-dense")
        cell = self.cells("study")[0]
        os.remove(self.path("study", "cells", cell, "train.json"))
        self.write(os.path.join("study", "cells", cell, "run", "run.json"), "{")
        out, error = self.sweep("study", "--targets", "0.5,0.1", "--seeds", "1", "--no-dense", code=2)
        self.assertIn("target 0.1", out)
        self.assertIn("failed: target 0.5, seed 0", out)
        self.assertIn(os.path.join("cells", cell, "log.txt"), error)
        self.assertIn("1 of 2 cells failed", error)

    def test_refusals(self):
        self.refused("sweep", self.config, "--out", self.path("x"), "--targets", "0.5,2", says=["--targets", "'2'"])
        self.refused("sweep", self.config, "--out", self.path("x"), "--measure", "f1", says=["--measure", "accuracy"])
        self.refused("sweep", self.config, "--out", self.path("x"), "--shard", "3/2", says=["--shard", "i/n"])
        self.refused("sweep", self.config, "--out", self.path("x"), "--set", "train.epoch=3", says=["train.epochs"])
        self.refused("sweep", self.config, "--out", self.path("x"), "--warm-starts", says=["--lambdas"])
        self.assertFalse(os.path.exists(self.path("x", "cells")))


class Crossval(StudyCase):
    def test_folds_of_a_table(self):
        table, config = self.path("t.csv"), self.write("own.toml", """
[data]
source = "csv"
train = "t.csv"
label = "label"
[model]
width = 4
hidden = 16
depth = 1
[gate]
unit = "group"
target_active = 0.2
[train]
epochs = 3
batch = 64
""")
        self.run_program("data", "make", "planted-table", "--rows", "600", "--out", table)
        words = ("crossval", config, "--out", self.path("study"), "--folds", "3", "--workers", "2", "--json")
        out, _ = self.run_program(*words)
        result = json.loads(out)
        self.assertEqual(result["runs"], 3)
        for name in ("nll", "accuracy", "open_units"):
            figure = result["figures"][name]
            self.assertEqual(len(figure["values"]), 3)
            self.assertTrue(figure["low"] <= figure["mean"] <= figure["high"], name)
        self.assertEqual(sum(result["inputs"]["open_in_runs"].values()), 3 * 6)
        # Each row that is not a test row is judged once, and no test row is.
        held_out = []
        for file in glob.glob(self.path("study", "cells", "*", "run", "predictions", "test.csv")):
            with open(file, newline="") as rows:
                held_out += [int(row["row"]) for row in csv.DictReader(rows)]
        self.assertEqual(len(held_out), len(set(held_out)))
        self.run_program("data", "export", config, "--out", self.path("export"))
        with open(self.path("export", "test.csv"), newline="") as rows:
            test = {int(row["row"]) for row in csv.DictReader(rows)}
        self.assertEqual(len(held_out), 600 - len(test))
        self.assertFalse(test & set(held_out))
        before = self.products("study")
        again, _ = self.run_program(*words)
        self.assertEqual(again, out)
        self.assertEqual(self.products("study"), before)


class Tune(StudyCase):
    def test_the_best_becomes_a_configuration(self):
        words = ("tune", self.config, "--out", self.path("study"), "--by", "grid", "--space", "none", "--search", "train.lr=1e-4,1e-2", "--budget", "2", *SHORT)
        out, _ = self.run_program(*words, "--json")
        ours = json.loads(out)["methods"][0]
        self.assertEqual(len(ours["trials"]), 2)
        self.assertEqual(ours["trainings"], 2)
        losses = [trial["figures"]["nll"]["mean"] for trial in ours["trials"]]
        self.assertEqual(ours["best"], losses.index(min(losses)))
        self.assertEqual(glob.glob(self.path("study", "cells", "*", "run", "predictions", "test.csv")), [])
        # `train` makes the same run of it.
        self.run_program("train", self.path("study", "best.toml"), "--out", self.path("again"), "--threads", "1")
        best = ours["trials"][ours["best"]]["cells"][0]
        self.assertEqual(self.read("again", "predictions", "valid.csv"), self.read("study", "cells", best, "run", "predictions", "valid.csv"))
        before = self.products("study")
        self.run_program(*words)
        self.assertEqual(self.products("study"), before)

    def test_refusals(self):
        self.refused("tune", self.config, "--out", self.path("x"), "--by", "grid", "--budget", "5", says=["the grid has", "--budget"])
        self.refused("tune", self.config, "--out", self.path("x"), "--search", "train.lr=1", says=["two values at least"])
        self.refused("tune", self.config, "--out", self.path("x"), "--peer", "lightgmb", says=["Did you mean 'lightgbm'?"])


class Compare(StudyCase):
    PLAN = """
title = "Made columns"
seeds = 2
reference = "dense"
[[data]]
name = "planted"
config = "tiny.toml"
[[data]]
name = "absent"
set = ["data.source=csv", "data.train=nowhere.csv", "data.label=y"]
[[line]]
name = "student"
teacher = "dense"
[[line]]
name = "dense"
set = ["gate.unit=none"]
[[line]]
name = "gate"
choose = { "model.interface_dropout" = [0.1, 0.4] }
[[line]]
name = "refused"
set = ["gate.unti=none"]
"""

    def test_lines_choices_teachers_and_what_is_missing(self):
        words = ("compare", self.write("plan.toml", self.PLAN), "--out", self.path("study"), *SHORT, "--json")
        out, error = self.run_program(*words)
        result = json.loads(out)
        self.assertEqual(json.loads(self.read("study", "compare.json")), result)
        planted, absent = result["data"]
        self.assertIn("nowhere.csv does not exist", absent["missing"])
        student, dense, gate, refused = planted["lines"]
        self.assertIn("Did you mean 'gate.unit'?", refused["missing"])
        self.assertIn("Did you mean 'gate.unit'?", error)
        self.assertEqual([line["runs"] for line in (student, dense, gate)], [2, 2, 2])
        self.assertIn(gate["chosen"], ("model.interface_dropout=0.1", "model.interface_dropout=0.4"))
        self.assertTrue(gate["nll_difference"]["low"] <= gate["nll_difference"]["mean"] <= gate["nll_difference"]["high"])
        config = self.read("study", "cells", student["cells"][1], "run", "config.toml").decode()
        self.assertIn(dense["cells"][1], config)
        self.assertEqual(len(self.cells("study")), 8)
        self.assertEqual(glob.glob(self.path("study", "cells", "*", "run", "predictions", "test.csv")), [])  # nobody asked
        # What is there is not run again; test rows are judged where that is asked for.
        before = self.products("study")
        self.assertEqual(self.run_program(*words)[0], out)
        self.assertEqual(self.products("study"), before)
        self.assertEqual(json.loads(self.run_program(*words, "--print-only")[0])["data"][0], planted)
        self.run_program(*words, "--test")
        after = self.products("study")
        self.assertEqual({name: after[name] for name in before}, before)
        self.assertIn(b"Test rows, mean over 2 seeds", self.read("study", "compare.md"))
        self.assertIn(b"| student", self.read("study", "compare.md"))

    def test_refusals(self):
        plan = self.write("plan.toml", self.PLAN.replace("reference =", "referenz ="))
        self.refused("compare", plan, "--out", self.path("x"), says=[plan, "'referenz'", "Did you mean 'reference'?"])
        self.refused("compare", self.path("none.toml"), "--out", self.path("x"), says=["none.toml"])
        self.assertFalse(os.path.exists(self.path("x", "cells")))


class Paper(StudyCase):
    def test_quick_tables_of_made_clicks(self):
        words = ("paper", "f2", "--data", "clicks", "--out", self.path("study"), "--seeds", "1", "--quick", "--set", "data.rows=2000", "--set",
                 "train.epochs=2", "--workers", "2", "--json")
        out, _ = self.run_program(*words)
        result = json.loads(out)
        self.assertEqual([line["name"] for line in result["tables"][0]["lines"]], ["no annealing", "annealing"])
        self.assertEqual([claim["id"] for claim in result["claims"]], [f"C{number}" for number in range(1, 12)])
        self.assertEqual(result["claims"][0]["verdict"], "cannot be told")
        self.assertIn("better by", result["claims"][3]["why"])
        page = self.read("study", "paper-clicks-f2.md").decode()
        self.assertIn("**Quick**", page)
        again, _ = self.run_program(*words, "--print-only")
        self.assertEqual(json.loads(again), result)
        listed = json.loads(self.run_program(*words, "--list")[0])["cells"]
        self.assertEqual([(cell["label"], cell["done"]) for cell in listed], [("no annealing, seed 0", True), ("annealing, seed 0", True)])
        self.assertEqual(sorted(cell["key"] for cell in listed), self.cells("study"))
        # Where what was predicted is gone, what was found of it is still there.
        for folder in glob.glob(self.path("study", "cells", "*", "run")):
            shutil.rmtree(folder)
        self.assertEqual(json.loads(self.run_program(*words, "--print-only")[0]), result)
        out, _ = self.run_program("paper", "f2", "--data", "clicks,adult", "--out", self.path("study"), "--seeds", "1", "--quick", "--print-only",
                                  "--json")
        self.assertEqual([data["data"] for data in json.loads(out)["data"]], ["clicks", "adult"])
        page = self.read("study", "paper-clicks-adult-f2.md").decode()
        self.assertIn("annealing: not run", page)
        self.assertIn("22 verdicts", page)
        self.assertIn("- adult: 0 of 2 lines complete; not there, or not for all seeds: f2 no annealing, f2 annealing", page)

    def test_one_line_of_a_table(self):
        words = ("paper", "f2", "--data", "clicks", "--out", self.path("study"), "--seeds", "1", "--quick", "--set", "data.rows=2000", "--set",
                 "train.epochs=2", "--json")
        out, _ = self.run_program(*words, "--line", "annealing")
        self.assertEqual([line["runs"] for line in json.loads(out)["tables"][0]["lines"]], [0, 1])
        self.refused(*words, "--line", "anealing", says=["--line", "Did you mean 'annealing'?"])


class Killed(StudyCase):
    WORDS = ("--targets", "0.5,0.1", "--seeds", "2", "--workers", "2", "--threads", "1", "--set", "train.epochs=12", "--set", "train.batch=32")

    def test_ten_kills_end_in_the_same_tables(self):
        start = time.monotonic()
        self.run_program("sweep", self.config, "--out", self.path("whole"), *self.WORDS)
        whole = time.monotonic() - start
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        for _ in range(10):
            process = self.start("sweep", self.config, "--out", self.path("killed"), *self.WORDS)
            time.sleep(chance.uniform(0.0, 0.3) * whole)
            process.kill()
            _, error = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error.decode())
            self.assertNotIn(b"failed", error)
        out, error = self.run_program("sweep", self.config, "--out", self.path("killed"), *self.WORDS)
        self.assertEqual(self.read("killed", "sweep.md"), self.read("whole", "sweep.md"))
        self.assertEqual(self.read("killed", "sweep.json"), self.read("whole", "sweep.json"))
        self.assertEqual(self.cells("killed"), self.cells("whole"))
        # No worker outlived its study.
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
        self.assertNotIn(self.path("killed"), running)

    def test_control_c(self):
        process = self.start("sweep", self.config, "--out", self.path("study"), *self.WORDS, "--set", "train.epochs=4000")
        for _ in range(6000):
            if glob.glob(self.path("study", "cells", "*", "run", "metrics.jsonl")) or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, error.decode())
        self.assertIn(b"the same command goes on", error)
        self.assertTrue(glob.glob(self.path("study", "cells", "*", "run", "checkpoint", "state.safetensors")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
