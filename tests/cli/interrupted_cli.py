#!/usr/bin/env python3
"""Kills, Ctrl-C and resumption: interrupted_cli.py PROGRAM [TestClass …]. Standard library only."""
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from program import PROGRAM, CliCase


class Interrupted(CliCase):
    LONG = ("--set", "train.epochs=60", "--set", "train.checkpoint_every=2", "--set", "train.batch=16")

    def wait_for(self, *parts, process):
        """Until the file is there; the process has a generous time for it."""
        for _ in range(6000):
            if os.path.exists(self.path(*parts)) or process.poll() is not None:
                return
            time.sleep(0.01)
        self.fail(f"{parts} never came")

    def begin(self, out, *arguments):
        return self.start("train", self.config, "--out", self.path(out), "--threads", "1", *self.LONG, *arguments)

    def test_killed_ten_times(self):
        start = time.monotonic()
        self.train("whole", *self.LONG)
        whole = time.monotonic() - start
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        kills = 0
        while kills < 10:
            process = self.begin("killed", "--resume")
            time.sleep(chance.uniform(0.0, 0.35) * whole)
            process.kill()
            out, error = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error)
            kills += 1
        self.train("killed", *self.LONG, "--resume")
        self.assert_same_result("whole", "killed")
        for run in ("whole", "killed"):
            self.run_program("eval", self.path(run))
        self.assertEqual(self.read("whole", "predictions/test.csv"), self.read("killed", "predictions/test.csv"))

    def test_killed_while_the_folder_is_made(self):
        short = ("--set", "train.epochs=4")
        self.train("whole", *self.LONG, *short)
        for name in ("checkpoint", "run.json", "config.toml", "schema.json", "environment.json", "checkpoint/state.safetensors"):
            with self.subTest(name=name):
                run = "early-" + name.replace("/", "-")
                process = self.begin(run, *short)
                while not os.path.exists(self.path(run, name)) and process.poll() is None:
                    pass
                process.kill()
                process.communicate()
                self.train(run, *self.LONG, *short, "--resume")
                self.assert_same_result("whole", run)

    def test_control_c(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = f"stopped-{int(number)}"
                process = self.begin(run, "--set", "train.epochs=3000", "--seed", "4")
                self.wait_for(run, "metrics.jsonl", process=process)
                process.send_signal(number)
                out, error = process.communicate(timeout=300)
                self.assertEqual(process.returncode, 128 + number, error)
                self.assertEqual(out, b"")
                text = error.decode()
                self.assertIn("is saved", text)
                # What it says can be typed as it stands, up to the name of the program.
                command = text[text.index("l0gm train"):].strip().splitlines()[0]
                self.assertIn("--resume", command)
                again = subprocess.Popen(["bash", "-c", command.replace("l0gm train", f"'{PROGRAM}' train", 1)], cwd=self.folder,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
                lines = len(self.read(run, "metrics.jsonl").splitlines())
                for _ in range(6000):
                    if again.poll() is not None or len(self.read(run, "metrics.jsonl").splitlines()) > lines + 1:
                        break
                    time.sleep(0.01)
                refused = again.poll()
                if refused is None:
                    os.killpg(again.pid, signal.SIGKILL)
                _, error = again.communicate()
                self.assertIsNone(refused, error.decode())
                self.refused("eval", self.path(run), says=["has not finished training", "--resume", "--finish"])

    def test_control_c_and_finish(self):
        long = ("--set", "train.epochs=3000")
        process = self.begin("run", *long)
        self.wait_for("run", "metrics.jsonl", process=process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn("--finish", error.decode())
        self.refused("train", self.config, "--out", self.path("run"), *self.LONG, *long, "--finish", says=["--resume"])
        self.refused("train", self.config, "--out", self.path("none"), *self.LONG, *long, "--resume", "--finish", says=["none is none"])
        self.refused("eval", self.path("run"), says=["has not finished training"])
        self.train("run", *self.LONG, *long, "--resume", "--finish")
        summary = json.loads(self.read("run", "summary.json"))
        self.assertTrue(summary["stopped_early"])
        self.assertLess(summary["steps"], summary["planned_steps"])
        self.assertLessEqual(summary["best_step"], summary["steps"])
        result = json.loads(self.run_program("--json", "eval", self.path("run"))[0])
        self.assertGreater(result["rows"], 0)
        self.assertTrue(os.path.exists(self.path("run", "predictions", "test.csv")))

    def test_control_c_while_settings_are_tried(self):
        config = self.write("board.toml", "[data]\nsource = 'varied-graph'\nsplit.seed = 4\n[model]\nhidden = 16\n[train]\nepochs = 800\n")
        process = self.start("train", config, "--out", self.path("run"), "--threads", "1")
        for line in process.stderr:  # the first of six
            if b"tried the settings" in line:
                break
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=300)
        self.assertEqual((process.returncode, out), (130, b""), error)
        said = error.decode()
        self.assertIn("nothing of it is kept yet", said)
        self.assertIn(f"Start again with: l0gm train {config} --out {self.path('run')} --threads 1", said)
        for untrue in ("is saved", "--finish", "--resume"):
            self.assertNotIn(untrue, said)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_a_folder_in_use(self):
        process = self.begin("run", "--set", "train.epochs=3000")
        self.wait_for("run", "metrics.jsonl", process=process)
        try:
            self.refused("train", self.config, "--out", self.path("run"), *self.LONG, "--set", "train.epochs=3000", "--resume",
                         says=["in use by another process"])
        finally:
            process.kill()
            process.communicate()

    def test_another_configuration(self):
        process = self.begin("run")
        self.wait_for("run", "metrics.jsonl", process=process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.refused("train", self.config, "--out", self.path("run"), "--resume", *self.LONG, "--set", "gate.target_active=0.5",
                     says=["target_active = 0.5"])
        self.refused("train", self.config, "--out", self.path("run"), says=["already holds a run"])

    def test_checkpoints_that_were_altered(self):
        process = self.begin("run")
        self.wait_for("run", "checkpoint", "state.safetensors", process=process)
        process.kill()
        process.communicate()
        good = self.read("run", "checkpoint/state.safetensors")
        for bad in (good[: len(good) // 2], b"", good[:-20] + bytes([good[-20] ^ 1]) + good[-19:]):
            self.write("run/checkpoint/state.safetensors", bad)
            self.refused("train", self.config, "--out", self.path("run"), *self.LONG, "--resume", says=["state.safetensors"])
        self.write("run/checkpoint/state.safetensors", good)
        self.train("run", *self.LONG, "--resume")


if __name__ == "__main__":
    unittest.main(verbosity=2)
