"""What someone meets who tries the program with files of his own: python3 newcomer_cli.py PROGRAM."""
import json
import os
import random
import resource
import subprocess
import unittest

from program import PROGRAM, CliCase

CONFIG = """
[data]
source = "csv"
train = "rows.csv"
label = "y"
[model]
width = 2
hidden = 8
depth = 1
[train]
epochs = 2
batch = 64
"""


def rows(count=200):
    """Lines of a table: a, b and the label y, which b tells."""
    draw = random.Random(7)
    lines = []
    for _ in range(count):
        b = draw.random()
        lines.append([f"{draw.random():.3f}", f"{b:.3f}", "yes" if b > .5 else "no"])
    return lines


class Newcomer(CliCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("project"))
        self.config = self.write("project/own.toml", CONFIG)

    def table(self, lines, header="a,b,y", delimiter=",", name="project/rows.csv"):
        text = ([header] if header else []) + [delimiter.join(line) for line in lines]
        return self.write(name, "\n".join(text) + "\n")

    def test_paths_are_those_of_the_configuration_and_found_from_anywhere(self):
        self.table(rows())
        self.train("run")
        os.mkdir(self.path("elsewhere"))
        done = subprocess.run([PROGRAM, "eval", self.path("run"), "--json"], cwd=self.path("elsewhere"), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn(f'train = "{self.path("project", "rows.csv")}"', self.read("run", "config.toml").decode())

    def test_a_table_in_place_of_its_configuration(self):
        table = self.table(rows())
        self.refused("train", table, "-o", self.path("run"), says=["rows.csv is data", "[data]", 'train = "rows.csv"', "label"])

    def test_standard_input_and_output(self):
        self.table(rows())
        self.train("run")
        self.run_program("predict", self.path("run"), self.path("project", "rows.csv"), "-o", self.path("p.csv"), "--keep", "b,y")
        with open(self.path("project", "rows.csv"), "rb") as given:
            done = subprocess.run([PROGRAM, "predict", self.path("run"), "-", "-o", "-", "--keep", "b,y"], stdin=given,
                                  capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stdout, self.read("p.csv"))
        self.assertTrue(done.stdout.startswith(b"row,b,y,prediction,p_no,p_yes\n"), done.stdout[:80])
        self.assertIn(b"200 rows", done.stderr)
        self.refused("predict", self.path("run"), self.path("project", "rows.csv"), "-o", self.path("project", "rows.csv"),
                     says=["written over"])

    def test_files_without_a_header(self):
        self.table(rows(), header=None)
        self.refused("train", self.config, "-o", self.path("run"), says=["rows.csv", "line 1", "data.header = false"])
        self.train("run", "--set", "data.header=false", "--set", "data.label=column_3")
        self.run_program("predict", self.path("run"), self.path("project", "rows.csv"), "-o", self.path("p.csv"), "--no-header")
        self.assertEqual(len(self.read("p.csv").splitlines()), 201)

    def test_a_wrong_delimiter(self):
        self.table(rows(), header="a;b;y", delimiter=";")
        self.refused("train", self.config, "-o", self.path("run"), says=["rows.csv", "separated by ';'", 'data.delimiter = ";"'])
        self.table([[a.replace(".", ","), b.replace(".", ","), y] for a, b, y in rows()], header="a;b;y", delimiter=";")
        self.refused("train", self.config, "-o", self.path("run"), says=["rows.csv", "separated by ';'", 'data.delimiter = ";"'])
        _, error = self.train("run", "--set", "data.delimiter=;")
        self.assertIn("column 'a': its numbers are read as 1.234,5, with a decimal comma", error)

    def test_dates_that_are_not_read_as_days_are_told(self):
        self.table([[f"{1 + i % 28:02}.{1 + i % 12:02}.2024", b, y] for i, (_, b, y) in enumerate(rows())])
        _, error = self.train("run")
        self.assertIn("column 'a' has dates such as '", error)
        self.assertIn("2024-01-31", error)

    def test_few_validation_rows_are_told(self):
        self.table(rows(120))
        _, error = self.train("run")
        self.assertIn("warning: 12 validation rows decide", error)

    def test_a_class_that_only_test_rows_have(self):
        lines = rows()
        self.table(lines)
        self.table(lines[:5] + [["0.1", "0.2", "perhaps"]], name="project/test.csv")
        self.refused("train", self.config, "-o", self.path("run"), "--set", f"data.test={self.path('project', 'test.csv')}",
                     says=["test.csv: line 7", "'perhaps'", "add rows of that class"])

    def test_a_class_of_three_rows_is_named(self):
        lines = rows()
        for place in (3, 90, 170):
            lines[place][2] = "perhaps"
        self.table(lines)
        _, error = self.train("run")
        self.assertRegex(error, r"warning: .*'perhaps' \([12] training, [01] validation and [01] test rows\)")

    def test_more_columns_asked_for_than_there_are(self):
        self.table(rows())
        self.refused("train", self.config, "-o", self.path("run"), "--set", "gate.unit=group", "--set", "gate.k=9",
                     says=["gate.k = 9", "2 columns", "at most 2"])
        self.assertFalse(os.path.exists(self.path("run")))

    def test_the_first_odd_cell_is_shown(self):
        self.table([[a, b, "red" if i % 2 else "blue", y] for i, (a, b, y) in enumerate(rows())], header="a,b,c,y")
        self.train("run")
        odd = [[a, b, "red"] for a, b, _ in rows(30)]
        odd[7][1], odd[9][1], odd[8][2] = "24 inches", "unknown", "green"
        self.table(odd, header="a,b,c", name="new.csv")
        told = json.loads(self.run_program("predict", self.path("run"), self.path("new.csv"), "-o", self.path("p.csv"), "--json")[0])
        self.assertEqual(told["unreadable"], {"b": 2})
        self.assertEqual(told["first"], {"unreadable": {"b": {"cell": "24 inches", "row": 7}}, "unseen": {"c": {"cell": "green", "row": 8}}})
        text, _ = self.run_program("predict", self.path("run"), self.path("new.csv"), "-o", self.path("p.csv"))
        self.assertIn("not a number, read as missing: 2 in b (first '24 inches' in row 7)", text)

    def test_a_column_that_is_written_otherwise_than_in_training_is_warned_of(self):
        self.table(rows())
        self.train("run")
        self.table([[a, b.replace(".", ",")] for a, b, _ in rows(50)], header="a;b", delimiter=";", name="new.csv")
        _, error = self.run_program("predict", self.path("run"), self.path("new.csv"), "-o", self.path("p.csv"), "--delimiter", ";")
        self.assertIn("column 'b': 50 of 50 cells are not numbers", error)
        self.assertIn("such as '0,", error)
        self.table([line[:2] for line in rows(50)], header=None, name="bare.csv")
        self.refused("predict", self.path("run"), self.path("bare.csv"), "-o", self.path("p.csv"),
                     says=["line 1, looks like a row", "names of its columns above it"])

    def test_another_labelled_file(self):
        lines = rows()
        self.table(lines)
        self.train("run")
        self.table([["y", "b", "a"]] + [[y, b, a] for a, b, y in lines[:50]], header=None, name="other.csv")
        result = json.loads(self.run_program("eval", self.path("run"), "--data", self.path("other.csv"), "--json")[0])
        self.assertEqual((result["rows"], result["split"]), (50, self.path("other.csv")))
        self.refused("eval", self.path("run"), "--data", "-", says=["standard input", "give a file"])
        self.table([["1", "2"]], header="a,b", name="unlabelled.csv")
        self.refused("eval", self.path("run"), "--data", self.path("unlabelled.csv"), says=["the label column 'y'"])

    def test_what_each_column_is_worth(self):
        self.table(rows(600))
        self.train("run", "--set", "train.epochs=20")
        result = json.loads(self.run_program("eval", self.path("run"), "--json")[0])
        worth = {column["name"]: column["worth_shuffled"] for column in result["open_columns"]}
        self.assertGreater(worth["b"], 5 * abs(worth.get("a", 0)))
        self.assertIn("worth       validation NLL when shuffled", self.run_program("eval", self.path("run"))[0])
        self.run_program("compact", self.path("run"), "-o", self.path("m.l0gm"))
        self.assertIn("| b | numeric | +", self.read("m.md").decode())

    def test_progress_without_a_terminal_on_request(self):
        self.table(rows())
        self.assertNotIn("epoch ", self.train("run")[1])
        _, error = self.train("again", "--progress")
        self.assertEqual(error.count("valid NLL"), 2, error)

    def test_a_full_disk_has_an_exit_code_of_its_own(self):
        self.table(rows())
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        done = subprocess.run([PROGRAM, "train", self.config, "-o", self.path("run"), "--threads", "1"], capture_output=True,
                              preexec_fn=limit, restore_signals=False)  # Python ignores SIGXFSZ, and so does its child
        self.assertEqual(done.returncode, 3, done.stderr.decode())
        self.assertIn(b"Make room", done.stderr)

    def test_threads_sleep_while_they_wait(self):
        for given, wanted in (({}, "OMP_WAIT_POLICY = 'PASSIVE'"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "OMP_WAIT_POLICY = 'ACTIVE'")):
            environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")}
            done = subprocess.run([PROGRAM, "eval", self.path("none")], capture_output=True,
                                  env={**environment, "OMP_DISPLAY_ENV": "true", **given})
            shown = [line for line in done.stderr.decode().splitlines() if "OMP_WAIT_POLICY" in line]
            if not shown:
                self.skipTest("this OpenMP library does not tell what it was asked for")
            self.assertIn(wanted, shown[-1])

    def test_a_bad_cell_is_named_with_its_line(self):
        lines = rows()
        lines[40][0] = "unknown"
        self.table(lines)
        _, error = self.train("run")
        self.assertIn("column 'a'", error)
        self.assertIn(f"'unknown' in {self.path('project', 'rows.csv')}: line 42", error)
        self.assertIn("columns.a.type", error)


if __name__ == "__main__":
    unittest.main()
