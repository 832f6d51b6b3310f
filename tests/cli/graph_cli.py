#!/usr/bin/env python3
"""Graph models from outside: graph_cli.py PROGRAM [TestClass …]. Standard library only."""
import csv
import json
import os
import shutil
import unittest

from program import ROOT, CliCase

KEYS = ["units", "open_units", "parity_float64", "parity_float32", "rows_checked", "bytes", "bytes_dense", "figures", "encoder_narrowed"]
NODES = 80


class GraphCase(CliCase):
    def setUp(self):
        super().setUp()
        name = "person {}".format
        edges = [(name(i), name((i + 2) % NODES)) for i in range(NODES)] + [(name(i), name(i + 1)) for i in range(0, NODES, 20)]
        self.write_csv("edges.csv", ["from", "to"], edges)
        people = [(name(i), 1 + i % 2 + .01 * (i % 7), 30 + 5 * (i % 2), .1 * (i * 7 % 11)) for i in range(NODES)]
        self.write_csv("people.csv", ["name", "height", "age", "noise"], people)
        self.write_csv("labels.csv", ["node", "label"], [(name(i), "odd" if i % 2 else "even") for i in range(NODES - 10)])
        data = '[data]\nsource = "graph"\nedges = "edges.csv"\nfeatures = "people.csv"\n'
        self.write("new.toml", data)
        self.write("own.toml", data + 'labels = "labels.csv"\n[graph]\ncache = "cache"\n[model]\nname = "sage"\nhidden = 8\ndepth = 2\n'
                   '[gate]\ntarget_active = 0.5\n[train]\nepochs = 15\nlr = 0.02\nema = 0.5\n')

    def write_csv(self, name, header, rows):
        with open(self.path(name), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    def rows(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def json(self, *words):
        return json.loads(self.run_program("--json", "--quiet", *words)[0])

    def make(self, *words, name="model.l0gm"):
        if not os.path.exists(self.path("run")):
            self.run_program("train", "own.toml", "--out", "run", "--threads", "1")
        return self.json("compact", "run", "-o", name, *words)

    def assert_close(self, first, second, most=1e-5):
        self.assertEqual(len(first), len(second))
        for a, b in zip(first, second):
            for key in a:
                if key.startswith("p_"):
                    self.assertLessEqual(abs(float(a[key]) - float(b[key])), most, (a, b))


class CompactGraph(GraphCase):
    def test_a_file_says_what_the_run_says_without_labels(self):
        result = self.make()
        self.assertFalse([key for key in KEYS if key not in result], result)
        self.assertEqual((result["units"], result["open_units"], result["rows_checked"], result["encoder_narrowed"]), (8, 4, NODES, True))
        self.assertLessEqual(result["parity_float64"], 1e-9)
        self.assertLessEqual(result["parity_float32"], result["parity_float32_limit"])
        self.assertEqual(result["bytes"], os.path.getsize(self.path("model.l0gm")))
        self.assertIn("## Limits", self.read("model.md").decode())
        for words in ([], ["--calibrated"]):
            for model in ("run", "model.l0gm"):
                self.assertEqual(self.json("predict", model, "new.toml", "-o", model + ".csv", *words)["rows"], NODES)
            self.assert_close(self.rows("run.csv"), self.rows("model.l0gm.csv"))
        self.assertEqual(list(self.rows("run.csv")[0]), ["node", "prediction", "p_even", "p_odd"])
        self.assertEqual([row["node"] for row in self.rows("run.csv")], [f"person {i}" for i in range(NODES)])

    def test_some_nodes_and_a_graph_file(self):
        self.make()
        self.json("predict", "model.l0gm", "new.toml", "-o", "all.csv")
        self.write("some.csv", "node\nperson 7\nperson 79\nperson 0\n")
        self.json("predict", "model.l0gm", "new.toml", "-o", "some.p.csv", "--nodes", "some.csv")
        every = {row["node"]: row for row in self.rows("all.csv")}
        some = self.rows("some.p.csv")
        self.assertEqual([row["node"] for row in some], ["person 7", "person 79", "person 0"])
        self.assert_close(some, [every[row["node"]] for row in some])
        self.run_program("data", "export", "own.toml", "-o", "exported")
        self.json("predict", "model.l0gm", os.path.join("exported", "graph.safetensors"), "-o", "exported.csv")
        self.assert_close(self.rows("exported.csv"), self.rows("all.csv"))

    def test_look_ups_need_no_graph(self):
        self.make()
        self.json("predict", "model.l0gm", "new.toml", "-o", "all.csv", "--raw")
        result = self.make("--nodes", "all", name="lookup.l0gm")
        self.assertEqual((result["nodes"], result["stored"], result["rows_checked"]), (NODES, "logits", NODES))
        self.write("asked.csv", "what,node\nx,person 3\nx,person 78\nx,stranger\n")
        told = self.json("predict", "lookup.l0gm", "asked.csv", "-o", "asked.p.csv", "--raw")
        self.assertEqual(told["unseen"], {"node": 1})
        asked, every = self.rows("asked.p.csv"), self.rows("all.csv")
        self.assert_close(asked[:2], [every[3], every[78]])
        self.assertAlmostEqual(float(asked[2]["p_odd"]), .5, delta=.05)
        self.assertIn("median", json.dumps(self.json("bench", "latency", "lookup.l0gm", "--batch", "1", "--threads", "1", "--runs", "10", "--warmup", "1")))

    def test_the_same_run_gives_the_same_bytes(self):
        self.make()
        self.make(name="again.l0gm")
        self.assertTrue(self.read("model.l0gm") == self.read("again.l0gm"))

    def test_refused(self):
        self.make()
        good = self.read("model.l0gm")
        self.write("flipped", good[:-5] + bytes([good[-5] ^ 4]) + good[-4:])
        for words, says in (
                (["predict", "flipped", "new.toml"], ["flipped"]),
                (["predict", "model.l0gm", "people.csv"], ["reads a graph"]),
                (["predict", "model.l0gm", "nothing.toml"], ["nothing.toml"]),
                (["predict", "model.l0gm", "new.toml", "--nodes", "people.csv"], ["'node'"]),
                (["predict", "model.l0gm", "new.toml", "--delimiter", ";"], ["data.delimiter"]),
                (["compact", "run", "--weights", "int8"], ["int8", "float32 only"]),
                (["compact", "run", "--nodes", "nothing.csv"], ["nothing.csv"])):
            self.refused(*words, "-o", "out.x", says=says)
        self.refused("bench", "latency", "model.l0gm", says=["kind 'graph'", "LibTorch", "look-ups"])
        self.write_csv("people.csv", ["name", "height", "noise"], [(f"person {i}", 1, 1) for i in range(NODES)])
        self.refused("predict", "model.l0gm", "new.toml", "-o", "out.x", says=["lacks 1 of the 3 attributes", "age"])
        self.refused("compact", "run", "-o", "out.x", says=["has changed"])
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("out.")])


class Links(GraphCase):
    def make_links(self, *options):
        self.write("links.toml", self.read("own.toml").decode().replace('labels = "labels.csv"\n', "").replace("[graph]", '[graph]\ntask = "links"')
                   + "batch = 16\n[link]\ntest = 0.3\n")
        self.run_program("train", "links.toml", "--out", "run", "--threads", "1", *options)
        self.write("pairs.csv", "from,to\nperson 3,person 78\nperson 78,person 3\nperson 5,person 5\n")

    def predict_pairs(self, model, *words):
        told = self.json("predict", model, "links.toml", "--pairs", "pairs.csv", "-o", "pairs.p.csv", "--threads", "1", *words)
        self.assertEqual(told["rows"], 3)
        return self.rows("pairs.p.csv")

    def test_links_of_a_graph_without_labels(self):
        self.make_links()
        result = self.json("eval", "run")  # 25 links are too few to ask for a score
        self.assertEqual((result["units"], result["open_units"]), (8, 4))
        self.assertIn("mrr", result)
        pairs = self.predict_pairs("run")
        self.assertEqual(list(pairs[0]), ["from", "to", "prediction", "p_unlinked", "p_linked"])
        self.assertEqual([(row["from"], row["to"]) for row in pairs], [("person 3", "person 78"), ("person 78", "person 3"), ("person 5", "person 5")])
        self.assertEqual(pairs[0]["p_linked"], pairs[1]["p_linked"])
        for row in pairs:
            linked, unlinked = float(row["p_linked"]), float(row["p_unlinked"])
            self.assertTrue(0 < linked < 1)
            self.assertAlmostEqual(linked + unlinked, 1, places=5)
            self.assertEqual(row["prediction"], "linked" if linked > unlinked else "unlinked")
        self.refused("predict", "run", "links.toml", "-o", "out.x", says=["--pairs"])
        self.refused("predict", "run", "links.toml", "--nodes", "pairs.csv", "-o", "out.x", says=["--pairs"])
        self.write("strange.csv", "from,to\nperson 3,nobody\n")
        self.refused("predict", "run", "links.toml", "--pairs", "strange.csv", "-o", "out.x", says=["strange.csv: row 0", "nobody"])
        self.assertIn("as_trained", self.json("bench", "graph", "run", "--threads", "1", "--inferences", "1", "--warmup", "0"))

    def test_links_are_compacted(self):
        for scorer in ("mlp", "dot"):
            with self.subTest(scorer=scorer):
                shutil.rmtree(self.path("run"), ignore_errors=True)
                self.make_links("--set", f"link.scorer={scorer}")
                result = self.make(name="links.l0gm")
                self.assertFalse([key for key in KEYS if key not in result], result)
                self.assertEqual((result["units"], result["open_units"], result["encoder_narrowed"]), (8, 4, True))
                self.assertLessEqual(result["parity_float64"], 1e-9)
                self.assertLessEqual(result["parity_float32"], result["parity_float32_limit"])
                for words in ([], ["--calibrated"]):
                    self.assert_close(self.predict_pairs("run", *words), self.predict_pairs("links.l0gm", *words))
                self.refused("predict", "links.l0gm", "links.toml", "-o", "out.x", says=["--pairs"])

    def test_look_ups_of_links_need_no_graph(self):
        self.make_links()
        self.refused("compact", "run", "-o", "out.x", "--nodes", "all", says=["--nodes", "link.scorer = dot"])
        self.assertFalse(os.path.exists(self.path("out.x")))
        shutil.rmtree(self.path("run"))
        self.make_links("--set", "link.scorer=dot")
        result = self.make("--nodes", "all", name="lookup.l0gm")
        self.assertEqual((result["nodes"], result["stored"], result["columns"]), (NODES, "embeddings", 2))
        self.assertLessEqual(result["parity_float32"], result["parity_float32_limit"])
        pairs = self.predict_pairs("run")
        self.json("predict", "lookup.l0gm", "pairs.csv", "-o", "lookup.csv")
        self.assert_close(pairs, self.rows("lookup.csv"))
        self.write("pairs.csv", "from,to\nperson 3,nobody\n")
        self.assertEqual(self.json("predict", "lookup.l0gm", "pairs.csv", "-o", "lookup.csv")["unseen"], {"to": 1})

    def test_links_are_perturbed(self):
        self.make_links()
        result = self.json("eval", "run", "--perturb")
        self.assertEqual(len(result["conditions"]), 12)
        for measure, mean in result["rob_mu"].items():
            self.assertAlmostEqual(mean, sum(c[measure] for c in result["conditions"].values()) / 12, places=9)
        self.assertNotEqual(result["conditions"]["missing-0.5"]["nll"], result["nll"])
        self.assertEqual(self.json("eval", "run", "--perturb", "--again"), result)

    def test_a_finished_run_is_judged_by_its_stored_statistics(self):
        self.write("links.toml", self.read("own.toml").decode().replace("[graph]", '[graph]\ntask = "links"\nnorm = "batch"') + "batch = 16\n[link]\nvalid = 0.3\n")
        for unit in ("fine", "dimension"):
            self.run_program("train", "links.toml", "--out", unit, "--threads", "1", "--set", f"gate.unit={unit}", "--set", "model.dropout=0.5")
            summary = json.loads(self.read(f"{unit}/summary.json"))
            self.assertAlmostEqual(self.json("eval", unit, "--split", "valid")["nll"], summary["best_valid_nll"], delta=1e-6, msg=unit)


class Examples(CliCase):
    """The configurations of examples/graph, as a newcomer types them."""

    def example(self, name):
        return os.path.join(ROOT, "examples", "graph", name)

    def test_planted_attributes_are_found(self):
        self.run_program("train", self.example("planted.toml"), "--out", "run", "--threads", "1")
        result = json.loads(self.run_program("eval", "run", "--json")[0])
        self.assertEqual((result["planted"]["precision"], result["planted"]["recall"]), (1, 1), result["planted"])
        self.assertGreater(result["accuracy"], 0.85)

    def test_made_products(self):
        options = ["graph.scale=0.0005", "model.hidden=16", "train.epochs=5", f"graph.cache={self.path('cache')}"]
        for name, sampler in (("full", []), ("sampled", ["graph.sampler=neighbour", "train.batch=64"])):
            words = [word for option in options + sampler for word in ("--set", option)]
            self.run_program("train", self.example("products_like.toml"), "--out", name, "--threads", "1", *words)
            result = json.loads(self.run_program("eval", name, "--json")[0])
            self.assertEqual((result["nodes"], result["units"], result["open_units"]), (1225, 16, 2), name)

    def test_real_graphs(self):
        data = os.path.abspath(os.environ.get("L0GM_DATA", os.path.join(ROOT, "..", "shared", "data")))
        if not os.path.exists(os.path.join(data, "graph", "amazon_computers")):
            self.skipTest("Amazon Computers is not here: L0GM_DATA names a folder that has graph/")
        small = ["model.hidden=32", "train.epochs=10", f"data.dir={data}", f"graph.cache={self.path('cache')}"]
        for name, further in (("computers.toml", []), ("links.toml", ["train.epochs=3"])):
            words = [word for option in small + further for word in ("--set", option)]
            self.run_program("train", self.example(name), "--out", name + "-run", "--threads", "1", *words)
            result = json.loads(self.run_program("eval", name + "-run", "--json")[0])
            self.assertGreater(result["auc"], 0.7)
            self.assertEqual("mrr" in result, name == "links.toml")


if __name__ == "__main__":
    unittest.main(verbosity=2)
