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

from program import ROOT, CliCase

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

    def test_a_study_has_a_folder_without_being_given_one(self):
        _, error = self.run_program("crossval", self.config, "--folds", "2", *SHORT)
        self.assertIn(os.path.join("studies", "tiny"), error)
        self.assertEqual(len(self.cells(os.path.join("studies", "tiny"))), 2)
        self.assertIn(b"2 of 2 folds", self.read("studies", "tiny", "crossval.md"))


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

    def test_shards_meet_and_name_the_best_once_all_are_there(self):
        words = ("tune", self.config, "--by", "grid", "--space", "none", "--search", "train.lr=1e-4,1e-2", "--budget", "2", *SHORT)
        out, _ = self.run_program(*words, "--out", self.path("study"), "--shard", "1/2")
        self.assertIn("not here yet", out)
        self.assertFalse(os.path.exists(self.path("study", "best.toml")))
        out, _ = self.run_program(*words, "--out", self.path("study"), "--shard", "2/2")
        self.assertNotIn("not here yet", out)
        self.assertEqual(self.run_program(*words, "--out", self.path("whole"))[0], out)
        self.assertEqual(self.read("study", "best.toml"), self.read("whole", "best.toml"))
        self.refused("tune", self.config, "--by", "halving", "--budget", "4", "--out", self.path("x"), "--shard", "1/2", says=["--shard", "round by round"])

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

    def columns_table(self):
        """`a` and `b` say the class together, the others nothing."""
        chance = random.Random(1)
        rows = []
        for _ in range(600):
            a, b = chance.gauss(0, 1), chance.gauss(0, 1)
            noise = [f"{chance.gauss(0, 1):.3f}" for _ in range(3)]
            rows.append(",".join([f"{a:.3f}", *noise, f"{b:.3f}", "yes" if a + b + chance.gauss(0, 0.3) > 0 else "no"]))
        return self.write("t.csv", "\n".join(["a,n1,n2,n3,b,y", *rows]) + "\n")

    COLUMNS = ("--label", "y", "--k", "2", "--repeats", "1", "--quality", "fast", "--set", "train.epochs=10", "--workers", "2", "--json")

    def test_columns_by_the_gate_alone(self):
        words = ("columns", self.columns_table(), *self.COLUMNS, "--peers", self.path("nowhere"))
        out, error = self.run_program(*words)
        result = json.loads(out)
        self.assertIn(os.path.join("studies", "t"), error)
        self.assertEqual(json.loads(self.read("studies", "t", "columns.json")), result)
        self.assertEqual(result["columns"], 5)
        self.assertEqual(result["chosen"], {"2": {"gate": [["a", "b"]]}})
        self.assertEqual(list(result["nll"]), ["our dense model"])
        self.assertLess(result["nll"]["our dense model"]["2"]["gate"][0], 0.5)  # chance has .69
        self.assertIn("peers/setup", result["missing"][0])
        page = self.read("studies", "t", "columns.md").decode()
        self.assertIn("Missing: selectors and the judge LightGBM: not installed", page)
        before = self.products(os.path.join("studies", "t"))
        self.assertEqual(self.run_program(*words)[0], out)
        self.assertEqual(self.products(os.path.join("studies", "t")), before)

    def test_columns_beside_the_selectors(self):
        peers = os.path.join(ROOT, "peers")
        if not os.path.exists(os.path.join(ROOT, ".venv-peers", "bin", "python")):
            self.skipTest("no .venv-peers: peers/setup makes it")
        out, _ = self.run_program("columns", self.columns_table(), *self.COLUMNS, "--out", self.path("study"), "--peers", peers)
        result = json.loads(out)
        self.assertEqual(result["missing"], [])
        self.assertEqual(sorted(result["chosen"]["2"]),
                         ["L1", "chance", "chi2", "elimination", "gate", "mutual information", "permutation", "tree gain"])
        self.assertEqual(result["chosen"]["2"]["elimination"], [["a", "b"]])
        for judge in ("our dense model", "LightGBM"):
            self.assertLess(result["nll"][judge]["2"]["gate"][0], 0.5, judge)

    def test_columns_refusals(self):
        table = self.columns_table()
        self.refused("columns", table, says=["--label"])
        self.refused("columns", self.path("none.csv"), "--label", "y", says=["none.csv", "does not exist"])
        self.refused("columns", self.config, "--label", "y", says=["--label", "data.label"])
        self.refused("columns", table, "--label", "y", "--k", "2.5", says=["--k", "whole numbers"])
        self.refused("columns", table, "--label", "y", "--repeats", "6", says=["--repeats", "at most 5"])
        self.refused("columns", table, "--label", "y", "--shard", "1/2", says=["--shard"])

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

    def test_all_data_of_a_modality(self):
        words = ("paper", "f2", "--out", self.path("study"), "--seeds", "1", "--print-only", "--json")
        out, _ = self.run_program(*words, "--modality", "table")
        self.assertEqual([data["data"] for data in json.loads(out)["data"]], ["adult", "clicks"])
        self.assertIn(b"cannot be told*: 22 (22 because lines, times or kept predictions are missing", self.read("study", "paper-adult-clicks-f2.md"))
        self.refused(*words, "--modality", "table", "--data", "adult", says=["--modality", "--data"])
        self.refused(*words, "--modality", "sound", says=["--modality", "table"])

    def test_a_budget_for_each_line(self):
        words = ("paper", "q1", "--data", "clicks", "--out", self.path("study"), "--seeds", "1", "--quick", "--peers", self.path("nowhere"), "--json")
        lines = json.loads(self.run_program(*words, "--budget", "3", "--print-only")[0])["tables"][0]["lines"]
        tuned = {line["name"]: line["missing"] for line in lines if line["name"].endswith(", tuned")}
        ours = dict.fromkeys(["gate, tuned", "MLP, tuned", "Wide&Deep, tuned", "DeepFM, tuned"], "0 of 3 trials are there")
        peers = dict.fromkeys(["XGBoost, tuned", "LightGBM, tuned", "CatBoost, tuned"], "not installed: peers/setup makes the environment")
        self.assertEqual(tuned, {**ours, **peers})
        labels = [cell["label"] for cell in json.loads(self.run_program(*words, "--budget", "3", "--list")[0])["cells"]]
        self.assertEqual([label for label in labels if label.startswith("Wide&Deep, trial")], [f"Wide&Deep, trial {trial}" for trial in (0, 1, 2)])
        self.refused("paper", "f2", "--out", self.path("study"), "--budget", "3", says=["--budget", "q1"])
        self.refused(*words, "--budget", "3", "--line", "gate", says=["--budget", "--line"])

    def test_peers_are_timed(self):
        python, peers = (os.path.join(ROOT, *parts) for parts in ((".venv-peers", "bin", "python"), ("peers",)))
        if not os.path.exists(python):
            self.skipTest("no .venv-peers: peers/setup makes it")

        def run(script, *words, code=0):
            done = subprocess.run([python, os.path.join(peers, script), *words], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            return done

        chance = random.Random(1)
        for classes in (["no", "yes"], ["<1", "a, b", ">1"]):
            export = self.path(f"export{len(classes)}")
            os.makedirs(export)
            for name in ("train", "valid", "test"):
                with open(os.path.join(export, f"{name}.csv"), "w", newline="", encoding="utf-8") as file:
                    writer = csv.writer(file)
                    writer.writerow(["row", "age", "x", "colour", "y"])
                    for row in range(300):
                        age, x, colour = chance.randint(18, 40), chance.gauss(0, 1), chance.choice(["red", "green", "?", *(["unseen"] if name == "test" else [])])
                        value = x + (age - 29) / 8 + (colour == "red") + chance.gauss(0, 0.5)
                        writer.writerow([row, age, f"{x:.3f}" if row % 9 else "", colour, classes[0 if value < 0 else -1 if value > 0.7 else 1]])
            with open(os.path.join(export, "split.json"), "w", encoding="utf-8") as file:
                json.dump({"label": "y", "classes": classes, "categorical": ["colour"], "numeric": ["age", "x"]}, file)
            for method in ("xgboost", "lightgbm", "catboost", "hist-gradient-boosting"):
                folder = self.path(f"{method}{len(classes)}")
                exact = ["--exact-values"] if method == "catboost" else []
                run("train.py", method, export, "--out", folder, "--threads", "1", "--set", "learning_rate=0.5", *exact)
                result = json.loads(run("latency.py", folder, export, "--batch", "1,64", "--runs", "3", "--warm-ups", "1").stdout)
                self.assertEqual((result["method"], result["classes"], result["columns"]), (method, len(classes), 3 + len(exact)))
                self.assertEqual([entry["batch"] for entry in result["results"]], [1, 64])
                for entry in result["results"]:
                    self.assertGreater(entry["median_us"], 0)
                    self.assertGreater(entry["p99_us"], 0)
                    self.assertEqual(entry["call_overhead_us"] is None, method not in ("xgboost", "lightgbm"))
        # What does not predict what the run predicted is not timed, nor is a network.
        run_folder, export = self.path("lightgbm2"), self.path("export2")
        shutil.copy(self.path("lightgbm3", "model.txt"), run_folder)
        self.assertIn("predictions/test.csv", run("latency.py", run_folder, export, code=2).stderr)
        self.assertIn("name the folder that the run was trained on", run("latency.py", run_folder, self.path("export3"), code=2).stderr)
        self.write("lightgbm2/summary.json", '{"method": "tabm"}')
        self.assertIn("tabm, which is not timed here", run("latency.py", run_folder, export, code=2).stderr)


class Killed(StudyCase):
    WORDS = ("--targets", "0.5,0.1", "--seeds", "2", "--workers", "2", "--threads", "1", "--set", "train.epochs=12", "--set", "train.batch=32")

    def unfinished(self, study):
        return [cell for cell in self.cells(study) if not os.path.exists(self.path(study, "cells", cell, "train.json"))]

    def test_ten_kills_end_in_the_same_tables(self):
        start = time.monotonic()
        self.run_program("sweep", self.config, "--out", self.path("whole"), *self.WORDS)
        whole = time.monotonic() - start
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        hits = 0  # while cells were being computed: of a study that is done, or has not begun, nothing is lost
        for _ in range(10):
            process = self.start("sweep", self.config, "--out", self.path("killed"), *self.WORDS)
            time.sleep(chance.uniform(0.05, 0.25) * whole)
            process.kill()
            _, error = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error.decode())
            self.assertNotIn(b"failed", error)
            hits += process.returncode == -signal.SIGKILL and bool(self.unfinished("killed"))
        print(f"{hits} of 10 kills hit cells at work", file=sys.stderr)
        self.assertGreaterEqual(hits, 3, "too few to say anything")
        self.assertEqual(self.unfinished("whole"), [])
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
