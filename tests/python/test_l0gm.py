#!/usr/bin/env python3
"""The Python package against what `l0gm predict` says of the same file.

Usage: test_l0gm.py MODEL.l0gm INPUT.csv EXPECTED.csv [CALIBRATED.csv], or the same in L0GM_TEST_MODEL, L0GM_TEST_INPUT, L0GM_TEST_EXPECTED and
L0GM_TEST_CALIBRATED. The library: L0GM_RUNTIME_LIBRARY. The package of this checkout is tested, with L0GM_TEST_INSTALLED=1 the installed one.
EXPECTED is the output of `l0gm predict MODEL INPUT --out EXPECTED`, CALIBRATED the same with --calibrated. INPUT has commas between cells and at
least one numeric and one categorical column. Pandas is tested where it is installed.
"""

import copy
import csv
import os
import pickle
import sys
import threading
import unittest
from pathlib import Path

import numpy as np

if "L0GM_TEST_INSTALLED" not in os.environ:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import l0gm  # noqa: E402
from l0gm._columns import plain_column, texts_of_numbers  # noqa: E402

try:
    import pandas as pd
except ImportError:
    pd = None

NAMES = ("L0GM_TEST_MODEL", "L0GM_TEST_INPUT", "L0GM_TEST_EXPECTED", "L0GM_TEST_CALIBRATED")
CLOSE = 2e-6  # the program prints fewer digits than it has


def read(path: str) -> dict[str, list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    return {name: [line[place] for line in lines[1:]] for place, name in enumerate(lines[0])}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = l0gm.load(os.environ["L0GM_TEST_MODEL"])
        cls.cells = read(os.environ["L0GM_TEST_INPUT"])
        cls.rows = len(next(iter(cls.cells.values())))
        cls.expected = cls.probabilities(os.environ["L0GM_TEST_EXPECTED"])
        cls.numeric = [name for name in cls.model.columns if cls.model.is_numeric(name)]
        cls.categorical = [name for name in cls.model.columns if not cls.model.is_numeric(name)]

    @classmethod
    def probabilities(cls, path: str) -> np.ndarray:
        columns = read(path)
        return np.array([[float(text) for text in columns[f"p_{name}"]] for name in cls.model.classes]).T

    def assert_close(self, found: np.ndarray, expected: np.ndarray | None = None) -> None:
        np.testing.assert_allclose(found, self.expected if expected is None else expected, atol=CLOSE, rtol=0)

    def number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            return float("nan")  # a missing mark

    def typed(self) -> dict[str, object]:
        """The same table with numbers as numbers."""
        return {name: np.array([self.number(text) for text in texts]) if name in self.numeric else texts for name, texts in self.cells.items()}


class AboutTheModel(Case):
    def test_says_what_it_reads_and_predicts(self) -> None:
        self.assertTrue(set(self.model.columns) <= set(self.cells))
        self.assertEqual([f"p_{name}" for name in self.model.classes],
                         [name for name in read(os.environ["L0GM_TEST_EXPECTED"]) if name.startswith("p_")])
        self.assertEqual(self.model.manifest["kind"], "table")
        self.assertGreater(self.model.memory_bytes, 100)

    def test_copies_and_pickles_load_the_file_again(self) -> None:
        for other in (copy.copy(self.model), pickle.loads(pickle.dumps(self.model))):
            self.assertEqual(other.columns, self.model.columns)
            self.assertNotEqual(other._handle.value, self.model._handle.value)

    def test_long_whole_numbers_and_short_floats_keep_their_digits(self) -> None:
        long = [9007199254740993, 123456789012345678]
        for column in (plain_column("id", long), plain_column("id", np.array(long))):
            self.assertEqual(texts_of_numbers(column).distinct, [str(value).encode() for value in long])
        self.assertEqual(plain_column("x", np.array([0.1, 0.25], dtype=np.float32)).tolist(), [0.1, 0.25])

    def test_codes(self) -> None:
        name = self.categorical[0]
        known = next(text for text in self.cells[name] if text.strip())
        self.assertGreaterEqual(self.model.code(name, known), 2)
        self.assertEqual(self.model.code(name, "no such category"), 1)
        with self.assertRaisesRegex(l0gm.Error, self.numeric[0]):
            self.model.code(self.numeric[0], "1")
        with self.assertRaisesRegex(l0gm.Error, "no such column"):
            self.model.code("no such column", "1")

    def test_a_file_that_is_no_model_is_refused(self) -> None:
        for path in (os.environ["L0GM_TEST_INPUT"], "no/such/file.l0gm"):
            with self.assertRaisesRegex(l0gm.Error, Path(path).name):
                l0gm.load(path)
        self.assertTrue(issubclass(l0gm.Error, ValueError))

    def test_calibrated(self) -> None:
        calibrated = l0gm.load(os.environ["L0GM_TEST_MODEL"], calibrated=True)
        self.assertTrue(calibrated.calibrated)
        found = calibrated.predict_proba(self.cells)
        raw = l0gm.load(os.environ["L0GM_TEST_MODEL"], calibrated=False)
        self.assertFalse(raw.calibrated)
        np.testing.assert_array_equal(raw.predict_proba(self.cells, calibrated=True), found)
        np.testing.assert_array_equal(calibrated.predict_proba(self.cells, calibrated=False), raw.predict_proba(self.cells))
        by_default = l0gm.load(os.environ["L0GM_TEST_MODEL"])
        helps = by_default.manifest["calibrator"].get("helps", False)
        self.assertEqual(by_default.calibrated, helps)
        np.testing.assert_array_equal(by_default.predict_proba(self.cells), found if helps else raw.predict_proba(self.cells))
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
        if NAMES[3] not in os.environ:
            self.skipTest("no calibrated expectation was given")
        self.assert_close(found, self.probabilities(os.environ[NAMES[3]]))


class PlainInputs(Case):
    def test_dict_of_texts(self) -> None:
        found = self.model.predict_proba(self.cells)
        self.assertEqual((found.dtype, found.shape), (np.float32, (self.rows, len(self.model.classes))))
        self.assert_close(found)

    def test_dict_of_numbers_and_texts(self) -> None:
        self.assert_close(self.model.predict_proba(self.typed()))

    def test_columns_in_any_order_and_further_ones(self) -> None:
        turned = {"further": [0] * self.rows, **dict(reversed(self.typed().items()))}
        self.assert_close(self.model.predict_proba(turned))

    def test_list_of_dicts(self) -> None:
        rows = [{name: texts[row] for name, texts in self.cells.items()} for row in range(self.rows)]
        self.assert_close(self.model.predict_proba(rows))

    def test_what_a_row_lacks_is_missing(self) -> None:
        name = self.numeric[0]
        rows = [{name: texts[row] for name, texts in self.cells.items()} for row in range(2)]
        del rows[1][name]
        counts = self.model.empty_counts()
        found = self.model.predict_proba(rows, counts=counts)
        self.assert_close(found[:1], self.expected[:1])
        whole = self.model.empty_counts()
        self.model.predict_proba([{name: texts[row] for name, texts in self.cells.items()} for row in range(2)], counts=whole)
        place = self.model.columns.index(name)
        self.assertEqual(counts.missing[place] - whole.missing[place], 1)

    def test_rows_of_numbers_in_the_models_order(self) -> None:
        if any(column["type"] == "multi" for column in self.model.manifest["schema"]["columns"]):
            self.skipTest("cells of several values have more than one code")
        numbers = np.empty((self.rows, len(self.model.columns)))
        for place, name in enumerate(self.model.columns):
            texts = self.cells[name]
            numbers[:, place] = [self.number(text) if name in self.numeric else self.model.code(name, text) for text in texts]
        self.assert_close(self.model.predict_proba(numbers))
        with self.assertRaisesRegex(l0gm.Error, "shape"):
            self.model.predict_proba(numbers[:, :-1])
        with self.assertRaisesRegex(l0gm.Error, "shape"):
            self.model.predict_proba(numbers[0])

    def test_the_most_probable_class(self) -> None:
        found = self.model.predict(self.cells)
        self.assertEqual(list(found), [self.model.classes[place] for place in self.expected.argmax(axis=1)])

    def test_no_rows(self) -> None:
        self.assertEqual(self.model.predict_proba({name: [] for name in self.cells}).shape, (0, len(self.model.classes)))


class WhatIsWrongWithRows(Case):
    def test_a_missing_column_is_refused_by_name(self) -> None:
        name = self.model.columns[-1]
        with self.assertRaisesRegex(l0gm.Error, name):
            self.model.predict_proba({key: texts for key, texts in self.cells.items() if key != name})

    def test_unseen_unreadable_and_missing_cells_are_counted(self) -> None:
        category, number = self.categorical[0], self.numeric[0]
        rows = {name: [texts[0]] * 3 for name, texts in self.cells.items()}
        rows[category] = ["no such category", rows[category][0], None]
        rows[number] = ["12 apples", rows[number][0], rows[number][0]]
        counts = self.model.empty_counts()
        first = self.model.predict_proba(rows, counts=counts)
        found = counts.as_dict()
        self.assertEqual((found["unseen"][category], found["unreadable"][number], found["missing"][category]), (1, 1, 1))
        rows[number] = [float("nan"), *map(self.number, rows[number][1:])]  # unreadable is read as missing; this way without any text
        self.assert_close(self.model.predict_proba(rows, counts=counts), first)
        self.assertEqual((counts.as_dict()["unseen"][category], counts.as_dict()["unreadable"][number]), (2, 1))

    def test_inputs_of_the_wrong_form(self) -> None:
        first = self.model.columns[0]
        for wrong, words in ((3, "int"), ([1, 2], "int"), ({**self.cells, first: "text"}, first), ({**self.cells, first: self.cells[first][1:]}, first),
                             ({**self.cells, first: np.zeros((self.rows, 2))}, "dimensions")):
            with self.assertRaisesRegex(l0gm.Error, words):
                self.model.predict_proba(wrong)

    def test_counts_of_another_model_are_refused(self) -> None:
        with self.assertRaisesRegex(l0gm.Error, "empty_counts"):
            self.model.predict_proba(self.cells, counts=l0gm.Counts(["another"]))


class Threads(Case):
    def test_many_at_once_and_many_within(self) -> None:
        many = {name: texts * (1 + 5000 // self.rows) for name, texts in self.cells.items()}
        alone = self.model.predict_proba(many)
        together = l0gm.load(os.environ["L0GM_TEST_MODEL"], threads=2)
        found: list[np.ndarray | None] = [None] * 4

        def work(place: int) -> None:
            found[place] = (together if place % 2 else self.model).predict_proba(many)

        workers = [threading.Thread(target=work, args=(place,)) for place in range(len(found))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for probabilities in found:
            np.testing.assert_array_equal(probabilities, alone)


@unittest.skipIf(pd is None, "pandas is not installed")
class Frames(Case):
    def frame(self) -> "pd.DataFrame":
        return pd.DataFrame(self.cells)

    def test_texts(self) -> None:
        self.assert_close(self.model.predict_proba(self.frame()))

    def test_as_pandas_reads_the_file(self) -> None:
        self.assert_close(self.model.predict_proba(pd.read_csv(os.environ["L0GM_TEST_INPUT"])))

    def test_shuffled_columns_and_rows(self) -> None:
        frame = self.frame().sample(frac=1, random_state=1)
        found = self.model.predict_proba(frame[list(reversed(frame.columns))].assign(further=1))
        self.assert_close(found, self.expected[frame.index])

    def test_kinds_of_columns(self) -> None:
        frame = pd.DataFrame(self.typed())
        for name in self.categorical:
            for kind in ("category", "string", object):
                self.assert_close(self.model.predict_proba(frame.astype({name: kind})))
        for name in self.numeric:
            for kind in ("Float64", object):
                self.assert_close(self.model.predict_proba(frame.astype({name: kind})))

    def test_every_way_to_say_missing(self) -> None:
        category, number = self.categorical[0], self.numeric[0]
        frame = pd.DataFrame(self.typed()).iloc[:1].astype({category: object, number: object})
        expected = None
        for nothing in (None, float("nan"), pd.NA, pd.NaT):
            counts = self.model.empty_counts()
            cell = pd.Series([nothing], dtype=object)
            found = self.model.predict_proba(frame.assign(**{category: cell, number: cell}), counts)
            self.assertEqual((counts.as_dict()["missing"][category], counts.as_dict()["missing"][number]), (1, 1))
            expected = found if expected is None else expected
            self.assert_close(found, expected)

    def test_a_column_that_is_there_twice_is_refused(self) -> None:
        frame = self.frame()
        name = self.model.columns[0]
        with self.assertRaisesRegex(l0gm.Error, name):
            self.model.predict_proba(pd.concat([frame, frame[[name]]], axis=1))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    os.environ.update(zip(NAMES, given))
    absent = [name for name in NAMES[:3] if not os.environ.get(name)]
    if absent:
        sys.exit(f"{__doc__}\nabsent: {', '.join(absent)}")
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word.startswith("-"))])
