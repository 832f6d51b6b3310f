#!/usr/bin/env python3
"""Report pages from outside: report_cli.py PROGRAM [TestClass …]. Standard library only; a browser looks at them in tests/report."""
import json
import os
import pty
import re
import subprocess
import unittest

from program import PROGRAM, CliCase


def data_of(page):
    """What the page's script reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


class Reports(CliCase):
    def report(self, *arguments):
        out, _ = self.run_program("report", *arguments, "--out", self.path("page.html"), "--json")
        page = self.read("page.html").decode()
        result = json.loads(out)
        self.assertEqual((result["page"], result["bytes"]), (self.path("page.html"), len(page.encode())))
        return result, page

    def test_one_run_then_several(self):
        self.train("runs/gated", "--tensorboard")
        self.train("runs/dense", "--set", "gate.unit=none")
        self.assertEqual(len(os.listdir(self.path("runs/gated/tensorboard"))), 1)
        result, page = self.report(self.path("runs/gated"), "--plotly", "none")
        self.assertEqual((result["runs"], result["plots"]), (1, "plain drawings"))
        self.assertNotIn(self.folder, page)
        run = data_of(page)["runs"][0]
        self.assertEqual((run["name"], run["modality"], run["seed"], run["latency"]), ("gated", "table", 0, None))
        self.assertEqual([note["command"] for note in run["notes"]], ["l0gm eval gated"])
        self.assertEqual(len(run["gates"][0]["names"]), 120)
        self.assertEqual(len(run["metrics"]["gates"]), 6)
        self.assertEqual([phase["name"] for phase in run["phases"]], ["warm-up", "anneal", "harden"])

        self.run_program("eval", self.path("runs/gated"), "--perturb", "--threads", "1")
        self.run_program("compact", self.path("runs/gated"), "--out", self.path("m.l0gm"))
        self.run_program("bench", "latency", self.path("m.l0gm"), "--batch", "1", "--runs", "20", "--warmup", "2", "--run", self.path("runs/gated"))
        run = data_of(self.report(self.path("runs/gated"), "--plotly", "none")[1])["runs"][0]
        self.assertEqual(run["notes"], [])
        self.assertEqual(len(run["evaluations"]["test"]["conditions"]), 12)
        self.assertEqual([result["batch"] for result in run["latency"]["results"]], [1, 1])
        self.assertIn(self.folder, self.report(self.path("runs/gated"), "--with-paths", "--plotly", "none")[1])

        result, page = self.report(self.path("runs"), "--plotly", "none")
        data = data_of(page)
        self.assertEqual((result["runs"], [run["name"] for run in data["runs"]]), (2, ["dense", "gated"]))
        front = next(iter(data["fronts"]["valid"].values()))["auc"]
        self.assertIn(1, front, "nothing reads fewer units than the gated run")
        self.assertNotIn(self.folder, page)

    def test_a_sketch_of_the_front_on_a_terminal_only(self):
        for name, target in (("a", 0.5), ("b", 0.25), ("c", 0.1)):
            self.train(name, "--set", f"gate.target_active={target}")
        command = ["eval", *(self.path(name) for name in "abc")]
        self.assertEqual(len(self.run_program(*command)[0].splitlines()), 4)
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, *command], stdout=slave, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not part:
                break
            said += part
        os.close(master)
        self.assertEqual(process.communicate(timeout=60)[1], b"")
        text = said.decode()
        self.assertIn("AUC against active fraction", text)
        self.assertRegex(text, r"(?m)^  c c, on the front")

    def test_refused(self):
        self.refused("report", self.folder, "--out", self.path("p.html"), says=["no run in", "l0gm train"])
        self.refused("report", self.path("nothing"), "--out", self.path("p.html"), says=["does not exist"])
        self.train("run")
        self.refused("report", self.path("run"), "--out", self.path("p.html"), "--plotly", self.path("no.js"), says=["no.js", "plotly.min.js"])
        self.refused("report", self.path("run"), "--out", self.path("no/such/p.html"))
        self.assertFalse(os.path.exists(self.path("p.html")))


if __name__ == "__main__":
    unittest.main()
