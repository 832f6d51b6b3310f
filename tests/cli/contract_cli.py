#!/usr/bin/env python3
"""What verbs print, write and refuse: contract_cli.py PROGRAM [TestClass …]. Standard library only."""
import json
import os
import shutil
import unittest

from program import METRICS, CliCase


class Contract(CliCase):
    def test_train_eval_predict(self):
        out, error = self.train("run")
        self.assertIn("units open", out)
        self.assertIn("training rows", error)
        self.assertNotIn("training rows", out)
        self.assertNotIn("\x1b", out + error)  # no colours, no bars off a terminal
        with open(self.path("run", "metrics.jsonl")) as file:
            self.assertEqual(list(json.loads(file.readline())), METRICS)
        out, _ = self.run_program("eval", self.path("run"), "--json")
        result = json.loads(out)
        self.assertEqual((result["units"], result["open_units"], result["rows"]), (120, 30, 120))
        text, _ = self.run_program("eval", self.path("run"), self.path("run"))
        self.assertEqual(len(text.splitlines()), 3)
        both = json.loads(self.run_program("eval", self.path("run"), self.path("run"), "--json")[0])
        self.assertEqual(both["results"], [result, result])
        valid = json.loads(self.run_program("eval", self.path("run"), "--split", "valid", "--json")[0])
        self.assertEqual(valid["split"], "valid")
        self.run_program("data", "make", "planted-table", "--rows", "150", "-o", self.path("new.csv"))
        for flags in (["--raw"], ["--calibrated"]):
            out, _ = self.run_program("predict", self.path("run"), self.path("new.csv"), "-o", self.path("p.csv"), "--json", *flags)
            self.assertEqual(json.loads(out)["rows"], 150)
            self.assertEqual(json.loads(out)["calibrated"], flags == ["--calibrated"])
            lines = self.read("p.csv").decode().splitlines()
            self.assertEqual(lines[0], "row,prediction,p_no,p_yes")
            self.assertEqual([int(line.split(",")[0]) for line in lines[1:]], list(range(150)))

    def test_json_is_one_object_and_quiet_is_silent(self):
        out, error = self.train("run", "--json", "--quiet", "--set", "gate.target_active=1.0")  # nothing to warn about
        self.assertEqual(error, "")
        result = json.loads(out)
        self.assertIsInstance(result, dict)
        self.assertEqual(result["split"], "valid")
        out, error = self.run_program("--quiet", "--json", "eval", self.path("run"))  # in front of the verb as well
        self.assertEqual(error, "")
        json.loads(out)
        for arguments in (["data", "list"], ["data", "info", "adult"], ["data", "make", "planted-table", "--rows", "100", "-o", "x.csv"],
                          ["data", "export", self.config, "-o", "exported"]):
            out, error = self.run_program(*arguments, "--json", "--quiet")
            self.assertIsInstance(json.loads(out), dict)
            self.assertEqual(error, "")

    def test_an_evaluation_is_kept(self):
        self.train("run")
        first = json.loads(self.run_program("eval", self.path("run"), "--json")[0])
        stored = json.loads(self.read("run", "evaluation", "test.json"))
        self.assertEqual({**stored["evaluation"], "run": first["run"], "split": "test"}, first)

        # What is kept is the answer, as a figure that is changed by hand shows; `--again` computes.
        def forge():
            stored["evaluation"]["nll"] = 7.0
            self.write("run/evaluation/test.json", json.dumps(stored))

        def nll(*words):
            return json.loads(self.run_program("eval", self.path("run"), "--json", *words)[0])["nll"]

        forge()
        self.assertEqual(nll(), 7.0)
        self.assertEqual(nll("--again"), first["nll"])
        self.assertEqual(json.loads(self.read("run", "evaluation", "test.json"))["evaluation"]["nll"], first["nll"])
        # It holds no longer where it lacks what is asked for, is damaged, or its predictions are not those that were judged.
        forge()
        self.assertEqual(nll("--perturb"), first["nll"])
        for damaged in (b"", b"[]", b'{"basis": 3}', json.dumps({**stored, "evaluation": {"nll": "much"}}).encode()):
            self.write("run/evaluation/test.json", damaged)
            self.assertEqual(nll(), first["nll"])
        forge()
        self.write("run/predictions/test.csv", self.read("run", "predictions", "test.csv")[:-20])
        self.assertEqual(nll(), first["nll"])

    def test_parts_of_an_epoch(self):
        self.train("run", "--set", "train.epochs=2", "--set", "train.evaluate_every=0.5", "--set", "train.checkpoint_every=0.5")
        steps = [line["step"] for line in self.metrics("run")]
        self.assertEqual(len(steps), 4, steps)
        self.assertEqual(steps[1] * 2, steps[3])

    def test_weights_of_another_run(self):
        self.train("first")
        self.train("second", "--set", f"model.init_from={self.path('first')}", "--set", "train.epochs=1", "--set", "gate.unit=none")
        drawn = self.metrics("first")[0]["valid_nll"]
        self.assertLess(self.metrics("second")[0]["valid_nll"], drawn)
        self.refused("train", self.config, "--out", self.path("third"), "--set", f"model.init_from={self.path('first')}", "--set", "model.hidden=8",
                     says=["model.init_from"])
        self.refused("train", self.config, "--out", self.path("third"), "--set", "model.init_from=nothing", says=["model.init_from", "nothing"])
        self.assertFalse(os.path.exists(self.path("third")))

    def test_help_and_version(self):
        for arguments in (["--help"], ["train", "--help"], ["eval", "--help"], ["predict", "--help"], ["data", "--help"], ["--version"]):
            out, error = self.run_program(*arguments)
            self.assertTrue(out)
            self.assertEqual(error, "")
        out, _ = self.run_program("train", "--help")
        for words in ("--resume", "--set", "--seed", "--device", "target_active", "anneal_until", "checkpoint_every"):
            self.assertIn(words, out)

    def test_seed_is_train_seed(self):
        self.train("a", "--seed", "3")
        self.train("b", "--set", "train.seed=3")
        self.train("c")
        self.assert_same_result("a", "b")
        self.assertNotEqual(self.read("a", "predictions/valid.csv"), self.read("c", "predictions/valid.csv"))

    def test_mistakes_on_the_command_line(self):
        self.refused("trian", self.config, says=["unknown command 'trian'", "Did you mean 'train'"])
        self.refused(says=["--help"])
        self.refused("train", self.config, says=["--out"])
        self.refused("train", self.config, "--out", "r", "--frobnicate", says=["--frobnicate"])
        self.refused("train", self.config, "--out", "r", "--set", "gate.untis=group", says=["gate.untis", "gate.unit"])
        self.refused("train", self.config, "--out", "r", "--set", "gate.unit=grop", says=["group"])
        self.refused("train", self.config, "--out", "r", "--set", "gate.k=3", "--set", "gate.lambda=1", says=["exclude each other"])
        self.refused("train", self.config, "--out", "r", "--device", "gpu", says=["cpu or cuda", "gpu"])
        self.refused("train", "none.toml", "--out", "r", says=["none.toml"])
        self.refused("train", self.folder, "--out", "r", says=["directory"])
        self.refused("train", self.config, "--out", "r", "--set", "data.source=planted-tabel", says=["planted-table"])
        self.refused("eval", "nothing", says=["nothing does not exist"])
        self.refused("eval", self.folder, "--split", "train", says=["train"])
        self.refused("predict", "nothing", "in.csv", "-o", "out.csv", says=["nothing"])
        self.refused("train", self.config, "--out", "r", "--set", "model.name=depfm",
                     says=["model.name is 'depfm', and data.source is a table: take one of", "deepfm"])
        self.refused("train", self.config, "--out", "r", "--set", "model.name=gcn", says=["model.name is 'gcn', and data.source is a table"])
        self.refused("train", self.config, "--out", "r", "--set", "distill.weight=0.7",
                     says=["distill.weight has no effect unless distill.from is set or distill.dense = on"])
        self.refused("train", self.config, "--out", "r", "--set", "train.evaluate_every=0", says=["train.evaluate_every"])
        self.refused("data", "get", "adlut", says=["adult"])
        self.assertFalse(os.path.exists(self.path("r")))

    def test_peers_are_judged(self):
        os.makedirs(self.path("peer", "predictions"))
        rows = "".join(f"{i},{'a' if i % 3 else 'b'},{p},{1 - p}\n" for i in range(100) for p in [0.9 if i % 4 else 0.25])
        self.write("peer/predictions/test.csv", "row,label,p_a,p_b\n" + rows)
        result = json.loads(self.run_program("eval", self.path("peer"), "--json")[0])
        self.assertEqual(result["rows"], 100)
        self.assertIsNone(result["nll_scaled"])
        self.write("peer/predictions/valid.csv", "row,label,p_a,p_b\n" + rows)
        result = json.loads(self.run_program("eval", self.path("peer"), "--json")[0])
        self.assertLessEqual(result["nll_scaled"], result["nll"])
        self.write("peer/predictions/test.csv", "row,label,p_a,p_b\n0,a,0.7,0.7\n")
        self.refused("eval", self.path("peer"), says=["test.csv"])

    def test_perturbed_copies_are_the_same_for_peers(self):
        self.train("run", "--seed", "3")
        result = json.loads(self.run_program("eval", self.path("run"), "--perturb", "--json")[0])
        self.assertEqual(len(result["conditions"]), 12)
        self.assertFalse(os.path.exists(self.path("run", "perturbed")))
        for measure, mean in result["rob_mu"].items():
            self.assertAlmostEqual(mean, sum(c[measure] for c in result["conditions"].values()) / 12, places=9)
        self.run_program("data", "export", self.config, "--set", "train.seed=3", "--perturb", "-o", self.path("exported"))
        exported = json.loads(self.read("exported", "perturbed.json"))
        self.assertEqual(exported["seed"], 3)
        for name, condition in exported["conditions"].items():
            self.assertEqual(condition["sha256"], result["conditions"][name]["sha256"])
        # A peer that said of every copy what our run said of the plain rows: robust by definition.
        os.makedirs(self.path("peer", "predictions"))
        for name in ["test", *(f"test-{condition}" for condition in exported["conditions"])]:
            shutil.copy(self.path("run", "predictions", "test.csv"), self.path("peer", "predictions", f"{name}.csv"))
        self.refused("eval", self.path("peer"), "--perturb", says=["perturbed.json", "export"])
        shutil.copy(self.path("exported", "perturbed.json"), self.path("peer"))
        peer = json.loads(self.run_program("eval", self.path("peer"), "--perturb", "--json")[0])
        self.assertAlmostEqual(peer["rob_mu"]["auc"], result["auc"], places=9)
        text, _ = self.run_program("eval", self.path("run"), self.path("peer"), "--perturb")
        self.assertIn("Rob μ AUC", text)
        self.assertEqual(len(text.splitlines()), 3)  # all have all conditions and the same copies: no remark
        self.run_program("eval", self.path("run"), "--perturb", "--keep-perturbed")
        self.assertEqual(self.read("run", "perturbed", "test-noise-0.1.csv"), self.read("exported", "perturbed", "test-noise-0.1.csv"))
        self.refused("eval", self.path("run"), "--keep-perturbed", says=["--perturb"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
