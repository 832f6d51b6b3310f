#!/usr/bin/env python3
"""Hostile inputs and damaged run folders: hostile_cli.py PROGRAM [TestClass …]. Standard library only."""
import json
import os
import shutil
import unittest

from program import CliCase


class Hostile(CliCase):
    def own(self, content, *arguments, label="y", code=0, name="t.csv", says=()):
        path = self.write(name, content)
        config = self.write("own.toml", f'[data]\nsource = "csv"\ntrain = "{path}"\nlabel = "{label}"\n[model]\nwidth = 2\nhidden = 8\n'
                                        "[gate]\nlambda = 0.0001\n[train]\nepochs = 2\nbatch = 64\n")
        shutil.rmtree(self.path("run"), ignore_errors=True)
        command = ["train", config, "--out", self.path("run"), "--threads", "1", *arguments]
        if code == 2:
            error = self.refused(*command, says=says)
            self.assertFalse(os.path.exists(self.path("run")))
            return error
        out, error = self.run_program(*command)
        for words in says:
            self.assertIn(words, error)
        return out

    @staticmethod
    def rows(count, extra=lambda i: "", head="x,y"):
        return head + "\n" + "".join(f"{i * 37 % 101},{'no' if i % 2 else 'yes'}{extra(i)}\n" for i in range(count))

    def test_refused(self):
        good = self.rows(200)
        self.own(good + "1,2,3\n", code=2, says=["t.csv", "line 202", "found 3 cells"])
        self.own(good + "1\n", code=2, says=["line 202", "found 1 cells"])
        self.own(good.encode() + b"1\x00,yes\n", code=2, says=["t.csv", "line 202"])
        self.own(good.encode() + b"1,caf\xe9\n", code=2, says=["t.csv", "line 202", "UTF-8"])
        self.own(good.encode("utf-16"), code=2, says=["t.csv", "UTF-16"])
        self.own(good.replace("x,y", "y,y", 1), code=2, says=["two columns are named 'y'"])
        self.own(good.replace("x,y", ",y", 1), code=2, says=["empty name"])
        self.own(good.replace("yes", "no"), code=2, says=["single class", "'no'"])
        self.own("x,y\n", code=2, says=["no rows"])
        self.own("", code=2, says=["empty"])
        self.own(good, label="Y", code=2, says=["'Y'", "Did you mean 'y'?"])
        self.own(good, label="", code=2, says=["data.label is not set"])
        self.own(good + '1,"yes\n', code=2, says=["line 202", "quote"])
        self.own(good + "1,\n", code=2, says=["label"])
        self.own("x,y\n1,a\n2,b\n", code=2, says=[])
        self.own(good.replace("\n", "\r"), code=2, says=[])
        self.own(os.urandom(4096), code=2, says=["t.csv"])
        self.own(b"\x1f\x8b\x08\x00" + os.urandom(512), code=2, name="t.csv.gz", says=["t.csv.gz"])
        self.own(self.rows(200, head="x;y").replace(",", ";"), code=2, says=["'y' is not in", "x;y"])
        self.own("x,y\n" + "5,no\n6,yes\n" * 100, "--set", "data.types={x=\"ignore\"}", code=2, says=["no input column"])

    def test_a_missing_file(self):
        config = self.write("own.toml", '[data]\nsource = "csv"\ntrain = "none.csv"\nlabel = "y"\n')
        self.refused("train", config, "--out", "run", says=["none.csv"])
        self.refused("train", config, "--out", "run", "--set", f"data.train={self.folder}", says=[self.folder])

    def test_odd_but_fine(self):
        self.own(self.rows(200, lambda i: ",", head="x,y,nothing"), says=["nothing", "missing"])
        self.own(self.rows(200, lambda i: ",7", head="x,y,same"), says=["same", "warning"])
        self.own(self.rows(200).replace("\n", "\r\n"))
        self.own(b"\xef\xbb\xbf" + self.rows(200).encode())
        self.own(self.rows(200, lambda i: ",2" if i % 2 else ",", head="x,y,sometimes"))
        self.own(self.rows(200, lambda i: f',"a ""{i % 5}"", b\nc"', head='x,y,"quoted, name"'))
        self.own(self.rows(200, lambda i: f",{'1e308' if i % 3 else '-1e308'}", head="x,y,huge"))

    def test_infinite_values(self):
        # Not a quantity: either refused by name or read as missing with a warning, and never a NaN in the end.
        path = self.write("t.csv", self.rows(300, lambda i: f",{'inf' if i % 50 == 0 else i}", head="x,y,big"))
        config = self.write("own.toml", f'[data]\nsource = "csv"\ntrain = "{path}"\nlabel = "y"\n[model]\nwidth = 2\nhidden = 8\n'
                                        "[train]\nepochs = 2\nbatch = 64\n")
        process = self.start("train", config, "--out", self.path("run"), "--json")
        out, error = process.communicate(timeout=300)
        self.assertIn(process.returncode, (0, 2), error)
        if process.returncode == 0:
            self.assertIsNotNone(json.loads(out)["nll"])
        else:
            self.assertIn("big", error.decode())

    def test_fifty_thousand_categories(self):
        text = "x,y,id\n" + "".join(f"{i % 7},{'no' if i % 2 else 'yes'},c{i % 50000}\n" for i in range(60000))
        self.own(text, "--set", "train.batch=4096", "data.types={id=\"categorical\"}")
        out, _ = self.run_program("eval", self.path("run"), "--json")
        self.assertEqual(json.loads(out)["columns"], 2)

    def test_predict_refuses_with_a_message(self):
        self.own(self.rows(200, lambda i: f",{'abc'[i % 3]}", head="x,y,c"))
        out = self.path("out.csv")

        def predict(content, says):
            self.refused("predict", self.path("run"), self.write("in.csv", content), "-o", out, says=says)
            self.assertFalse(os.path.exists(out))

        predict("x,k\n1,a\n", ["'c'"])
        predict("x,c\n1,a\n1\n", ["line 3"])
        predict(b"x,c\n1,\xff\n", ["in.csv"])
        predict("x,c\n", ["no rows"])
        predict("", ["in.csv"])
        self.refused("predict", self.path("run"), self.path("none.csv"), "-o", out, says=["none.csv"])
        self.refused("predict", self.path("run"), self.write("in.csv", "x,c\n1,a\n"), "-o", out, "--delimiter", ";;", says=["delimiter"])
        text, _ = self.run_program("predict", self.path("run"), self.write("in.csv", "extra,c,x\n0,zebra,1\n0,a,2\n"), "-o", out)
        self.assertIn("1 in c", text)

    def test_a_changed_file_is_refused(self):
        self.own(self.rows(200))
        self.run_program("eval", self.path("run"))
        self.write("t.csv", self.rows(201))
        self.refused("eval", self.path("run"), says=["t.csv has changed since"])

    def test_hostile_configs(self):
        for content, says in ((b"\xff\xfe", []), (b"[data", ["line 1"]), (b"data = 3", ["data"]), (b"[gate]\nlambda = 'much'", ["gate.lambda"]),
                              (b"[train]\nepochs = 99999999999999999999", ["line 2"]), (b"[gate]\nlambda = nan", ["gate.lambda"]),
                              (b"a = " + b"[" * 20000, []), (b"[data]\nsource = 3", ["data.source"]), (b"", ["data.source"]),
                              (b"[data]\nsource = 'planted-table'\nrows = 1e18\n", ["data.rows"]), (b"\x00", [])):
            with self.subTest(content=content[:40]):
                self.refused("train", self.write("bad.toml", content), "--out", "run", says=says)


class Damage(CliCase):
    def setUp(self):
        super().setUp()
        self.train("run")

    def test_files_that_were_altered(self):
        for name in ("checkpoint/best.safetensors", "schema.json", "config.toml", "run.json"):
            good = self.read("run", name)
            for bad in (good[: len(good) // 2], b"", good[:-20] + bytes([good[-20] ^ 1]) + good[-19:]):
                self.write(os.path.join("run", name), bad)
                with self.subTest(name=name, size=len(bad)):
                    self.refused("eval", self.path("run"), says=[self.path("run")])
            os.remove(self.path("run", name))
            self.refused("eval", self.path("run"), says=[self.path("run")])
            self.write(os.path.join("run", name), good)
        self.run_program("eval", self.path("run"))

    def test_a_newer_format(self):
        record = json.loads(self.read("run", "run.json"))
        record["format"] = 99
        self.write("run/run.json", json.dumps(record))
        for arguments in (["eval", self.path("run")], ["train", self.config, "--out", self.path("run"), "--resume"]):
            self.refused(*arguments, says=["newer l0gm", "99"])

    def test_taken_folders(self):
        self.refused("train", self.config, "--out", self.path("run"), says=["already holds a run", "--resume"])
        os.makedirs(self.path("mine"))
        self.write("mine/notes.txt", "mine")
        self.refused("train", self.config, "--out", self.path("mine"), says=["is not a run"])
        self.assertEqual(self.read("mine", "notes.txt"), b"mine")
        self.refused("train", self.config, "--out", self.path("tiny.toml", "run"), says=["tiny.toml"])

    def test_the_finished_run_is_left_alone(self):
        before = self.read("run", "summary.json")
        self.train("run", "--resume")
        self.assertEqual(self.read("run", "summary.json"), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
