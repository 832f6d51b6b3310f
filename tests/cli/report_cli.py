#!/usr/bin/env python3
"""Report pages from outside: report_cli.py PROGRAM [TestClass …]. Standard library only; a browser looks at them in tests/report."""
import json
import os
import re
import unittest

from program import CliCase


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
        self.assertEqual(sorted(data["fronts"]["valid"]["planted-table/standard/0 (table)"]["auc"])[-1:], [1], data["fronts"])
        self.assertNotIn(self.folder, page)

    def test_refused(self):
        self.refused("report", self.folder, "--out", self.path("p.html"), says=["no run in", "l0gm train"])
        self.refused("report", self.path("nothing"), "--out", self.path("p.html"), says=["does not exist"])
        self.train("run")
        self.refused("report", self.path("run"), "--out", self.path("p.html"), "--plotly", self.path("no.js"), says=["no.js", "plotly.min.js"])
        self.refused("report", self.path("run"), "--out", self.path("no/such/p.html"))
        self.assertFalse(os.path.exists(self.path("p.html")))


if __name__ == "__main__":
    unittest.main()
