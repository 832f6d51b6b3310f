#!/usr/bin/env python3
"""Report pages in headless Chromium through its driver: a run and a folder of runs, hovered, filtered and put side by side; no error on
the console, no markup made of names, no request that leaves the page. Skipped (exit code 77) without a browser.
Usage: report_in_browser.py PATH_OF_L0GM"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "support"))
from browser import Browser, skip_without_browser  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
PLOTLY = glob.glob(os.path.join(HERE, "..", "..", ".venv", "lib", "python*", "site-packages", "plotly", "package_data", "plotly.min.js"))
HOSTILE = "<img src=x onerror=\"document.title='taken'\"></script><b id=taken><a href='https://example.invalid/'>"
LONG = 120000  # milliseconds for a page that unpacks Plotly on a busy machine


def run_program(*arguments):
    result = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=600, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: {result.stderr.decode(errors='replace')}")
    return result.stdout.decode()


class Pages(unittest.TestCase):
    """Three runs on one table whose names are hostile, made once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="l0gm-report-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        quoted = '"' + HOSTILE.replace('"', '""') + '"'
        with open(cls.path("t.csv"), "w", encoding="utf-8") as file:
            file.write(f"{quoted},plain,noise,y\n")
            for i in range(900):
                a, b, c = i * 37 % 101, i * 61 % 97, i * 89 % 83
                file.write(f"{a},{b},{c},{quoted if a + b + i % 13 > 105 else 'other'}\n")
        with open(cls.path("t.toml"), "w", encoding="utf-8") as file:
            file.write(f'[data]\nsource = "csv"\ntrain = "{cls.path("t.csv")}"\nlabel = "y"\n[model]\nname = "mlp"\nwidth = 4\nhidden = 16\ndepth = 1\n'
                       "[train]\nepochs = 6\nbatch = 64\n")
        for name, *settings in (["dense", "gate.unit=none"], ["half", "gate.target_active=0.5"], ["few", "gate.target_active=0.2"]):
            out = cls.path("runs", name)
            run_program("train", cls.path("t.toml"), "--out", out, "--threads", "1", "--quiet", *[word for one in settings for word in ("--set", one)])
            run_program("eval", out, "--perturb", "--quiet", "--threads", "1")

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.folder, *parts)

    def browse(self, what, *arguments, **shown_as):
        page = self.path("page.html")
        run_program("report", self.path(what), "--out", page, *arguments)
        self.assertLess(os.path.getsize(page), 5_000_000)
        with open(page, encoding="utf-8") as file:
            self.assertNotIn(self.folder, file.read())
        self.browser = Browser(tempfile.mkdtemp(dir=self.folder))
        self.addCleanup(self.browser.close)
        if shown_as:
            self.browser.show_as(**shown_as)
        self.browser.open("file://" + page)
        self.page = page

    def nothing_went_wrong(self):
        self.assertEqual([entry["message"] for entry in self.browser.entries("browser")], [])
        asked = self.browser.requests("file://" + self.page)
        self.assertIn("file://" + self.page, asked)
        self.assertEqual([address for address in asked if not address.startswith(("file://" + self.page, "data:", "blob:"))], [])
        self.assertEqual(self.browser.run("return document.querySelectorAll('#taken, main img, main b[id], a[href*=example]').length"), 0)
        self.assertNotEqual(self.browser.run("return document.title"), "taken")

    def sections(self):
        return self.browser.run("return [...document.querySelectorAll('main > section')].map(e => e.id)")

    def test_a_run_without_plotly(self):
        self.browse("runs/half", "--plotly", "none")
        self.browser.wait("document.querySelectorAll('figure svg.plain').length > 8")
        self.assertEqual(self.sections(), ["summary", "curves", "gates", "reliability", "confusion", "inputs", "robustness", "latency", "settings"])
        self.assertEqual(self.browser.run("return document.querySelectorAll('figure').length"), self.browser.run("return document.querySelectorAll('figure details table').length"))
        labels = self.browser.run("return [...document.querySelectorAll('figure .drawing')].map(e => e.getAttribute('aria-label'))")
        self.assertTrue(all(len(label) > 10 for label in labels), labels)
        self.assertIn(HOSTILE, self.browser.run("return document.querySelector('#confusion table').textContent"))
        self.assertIn("bench latency", self.browser.run("return document.querySelector('#latency').textContent"))
        self.browser.run("const e = document.querySelector('#settings input'); e.value = 'target_active'; e.dispatchEvent(new Event('input'))")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#settings .pair > div:first-child tbody tr').length"), 1)
        self.nothing_went_wrong()

    @unittest.skipUnless(PLOTLY, "the plotly wheel is not in .venv (scripts/setup)")
    def test_a_run_hovered(self):
        self.browse("runs/half", "--plotly", PLOTLY[0], width=1200, height=900)
        self.browser.wait("document.querySelectorAll('figure .interactive .plot-container').length", LONG / 1000)
        self.browser.run("document.querySelector('#confusion').scrollIntoView()")
        self.browser.wait("document.querySelector('#confusion .interactive .heatmaplayer image, #confusion .interactive .heatmaplayer .hm')", LONG / 1000)
        box = self.browser.run("const r = document.querySelector('#confusion .interactive .nsewdrag').getBoundingClientRect(); return [r.x + r.width / 4, r.y + r.height / 4]")
        self.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] - 9, y=box[1] - 9)
        self.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        told = self.browser.wait("(e => e && e.textContent)(document.querySelector('#confusion .hoverlayer'))")
        self.assertIn("true ", told)
        self.nothing_went_wrong()

    def test_runs_sorted_filtered_and_side_by_side(self):
        self.browse("runs", "--plotly", "none")
        self.browser.wait("document.querySelectorAll('#rows tr').length === 3")
        names = "return [...document.querySelectorAll('#rows th')].map(e => e.firstChild.textContent.trim())"
        self.assertEqual(self.browser.run(names)[-1], "dense", "by active fraction")
        self.browser.run("[...document.querySelectorAll('#table thead button')][0].click()")
        self.assertEqual(self.browser.run(names), ["dense", "few", "half"])
        self.browser.run("[...document.querySelectorAll('#table thead button')][0].click()")
        self.assertEqual(self.browser.run(names), ["half", "few", "dense"])
        self.browser.run("const e = document.getElementById('filter'); e.value = 'gate.target_active=0.2'; e.dispatchEvent(new Event('input'))")
        self.assertEqual(self.browser.run(names), ["few"])
        self.assertEqual(self.browser.run("return document.getElementById('count').textContent"), "1 of 3 runs")
        points = self.browser.run("return [...document.querySelectorAll('#front svg.plain circle title')].map(e => e.textContent)")
        self.assertEqual(len(points), 3)
        self.assertTrue(any(text.startswith("half") and "active" in text for text in points), points)
        self.assertIn("gate.target_active", self.browser.run("return document.querySelector('#compare').textContent"))
        self.browser.run("const e = document.querySelectorAll('#compare select')[1]; e.value = '2'; e.dispatchEvent(new Event('change'))")
        self.assertIn("half", self.browser.run("return document.querySelector('#pair thead').textContent"))
        self.nothing_went_wrong()

    @unittest.skipUnless(PLOTLY, "the plotly wheel is not in .venv (scripts/setup)")
    def test_the_front_names_the_run_under_the_mouse(self):
        self.browse("runs", "--plotly", PLOTLY[0], width=1200, height=900)
        self.browser.wait("document.querySelectorAll('#front .interactive .points path').length >= 3", LONG / 1000)
        box = self.browser.run("const r = [...document.querySelectorAll('#front .interactive .points path')].at(-1).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]")
        self.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] - 30, y=box[1] - 30)
        self.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        self.assertRegex(self.browser.wait("(e => e && e.textContent)(document.querySelector('#front .hoverlayer'))"), "dense|half|few")
        self.nothing_went_wrong()

    def test_worth_by_what_all_columns_were_tried_by(self):
        titles = "return [...document.querySelectorAll('#inputs h3')].map(e => e.textContent)"
        self.browse("runs/half", "--plotly", "none")
        self.browser.wait("document.querySelector('#inputs h3')")
        self.assertIn("Rise of the validation NLL when it is closed", self.browser.run(titles))
        shutil.copytree(self.path("runs", "half"), self.path("some"))
        stored = self.path("some", "evaluation", "test.json")
        with open(stored, encoding="utf-8") as file:
            evaluation = json.load(file)
        self.assertGreater(len(evaluation["evaluation"]["open_columns"]), 1)
        evaluation["evaluation"]["open_columns"][0].pop("worth_closed")  # as of a column that trees read, too
        with open(stored, "w", encoding="utf-8") as file:
            json.dump(evaluation, file)
        self.browse("some", "--plotly", "none")
        self.browser.wait("document.querySelector('#inputs h3')")
        self.assertIn("Rise of the validation NLL when its cells are shuffled", self.browser.run(titles))
        self.nothing_went_wrong()

    def test_a_phone_and_the_dark(self):
        self.browse("runs/half", "--plotly", "none", width=360, height=700, phone=True, dark=True)
        self.browser.wait("document.querySelectorAll('figure svg.plain').length > 8")
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
        self.assertEqual(self.browser.run("return getComputedStyle(document.body).backgroundColor"), "rgb(20, 22, 26)")
        self.browse("runs", "--plotly", "none", width=360, height=700, phone=True)
        self.browser.wait("document.querySelectorAll('figure svg.plain').length > 2")
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
        self.nothing_went_wrong()


if __name__ == "__main__":
    skip_without_browser()
    unittest.main()
