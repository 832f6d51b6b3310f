#!/usr/bin/env python3
"""Reads the sources under src/ and fails where code that serves every modality names graphs.

What a graph needs lies in its own files: below a folder graph/ or made/, or in a file whose name has graph, link or node in it.
A few explicit lists name each modality and are allowed to. Comments and texts may say what they like; identifiers and #include
lines are looked at.
Usage: tests/modality_names.py [--root DIR] | --self-test
"""

import argparse
import re
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

OWN_FOLDERS = {"graph", "made"}
OWN_NAMES = ("graph", "link", "node")
# Relative to src/: where modalities are listed, and why.
LISTS: dict[str, str] = {
    "training/modalities.cpp": "the product's modalities",
    "training/config.h": "the sections of a configuration",
    "data/options.h": "where data comes from",
    "compact/compact_kinds.cpp": "the kinds of compact files",
    "data/catalogue.json": "the datasets",
    "baselines/peers.h": "the lists of peers",
    "baselines/peers.cpp": "the lists of peers",
    "cli/command.h": "one function for each verb",
    "cli/bench.cpp": "the benchmarks",
}
SOURCE_SUFFIXES = {".h", ".hpp", ".cuh", ".inc", ".c", ".cc", ".cpp", ".cu"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
NAME = re.compile(r"\b\w*graph\w*", re.IGNORECASE)
# CUDA's recordings of work have the word in their name; they are no data.
OF_CUDA = re.compile(r"\b(?:ATen/cuda/CUDAGraph\.h|CUDAGraph|graph_pool_handle)\b")
# Comments and literals, longest first where they begin alike. A ' inside a number separates its digits.
NOT_CODE = re.compile(
    r"""//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/
    |(?:u8|u|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    |"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)


def is_own(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(OWN_FOLDERS & set(path.parts[:-1])) or any(word in path.name.lower() for word in OWN_NAMES)


def blank(match: re.Match[str]) -> str:
    return " " + "\n" * match[0].count("\n")


def without_comments_and_texts(source: str) -> str:
    """Code alone, on the lines where it stood. What an #include names stays, between < and >."""
    without_comments = NOT_CODE.sub(lambda match: blank(match) if match[0].startswith(("//", "/*")) else match[0], source)
    return NOT_CODE.sub(blank, INCLUDE.sub(r"#include <\1>", without_comments))


def complaints(root: Path) -> Iterator[str]:
    for name in LISTS:
        if not (root / "src" / name).is_file():
            yield f"src/{name}: does not exist; take it off the list in tests/modality_names.py"
    for file in sorted((root / "src").rglob("*")):
        name = file.relative_to(root / "src").as_posix()
        if file.suffix not in SOURCE_SUFFIXES or not file.is_file() or name in LISTS or is_own(name):
            continue
        code = OF_CUDA.sub("", without_comments_and_texts(file.read_text(encoding="utf-8", errors="replace")))
        for number, line in enumerate(code.splitlines(), start=1):
            include = INCLUDE.match(line)
            found = [include[1]] if include and NAME.search(include[1]) else NAME.findall(line)
            if found:
                yield f"src/{name}:{number}: names {', '.join(dict.fromkeys(found))}"


class SelfTest(unittest.TestCase):
    def check(self, files: dict[str, str], *wanted: str) -> None:
        """The tree must give exactly these complaints."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**{name: "graph" for name in LISTS}, **files}.items():
                path = Path(folder) / "src" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            self.assertEqual(list(complaints(Path(folder))), list(wanted))

    def test_own_files_and_lists_may(self) -> None:
        self.check({"data/graph/a.h": "struct Graph;", "encoders/graph/cuda/a.cu": "Graph g;", "data/made/a.cpp": "Graph g;",
                    "model/graph_model.h": "Graph g;", "heads/link.cpp": "Graph g;", "data/node_names.h": "Graph g;"})

    def test_identifiers_are_found_whatever_their_case(self) -> None:
        self.check({"cli/a.cpp": "int x;\nconfig.graph.scale = 2;\n"}, "src/cli/a.cpp:2: names graph")
        self.check({"run/a.h": "GraphOptions my_graph(SUBGRAPH);"}, "src/run/a.h:1: names GraphOptions, my_graph, SUBGRAPH")
        self.check({"run/a.cu": "graph();"}, "src/run/a.cu:1: names graph")
        self.check({"run/a.cu": "#include <ATen/cuda/CUDAGraph.h>\nat::cuda::CUDAGraph recorded;\nCUDAGraphs x;\n"},
                   "src/run/a.cu:3: names CUDAGraphs")

    def test_includes_are_found(self) -> None:
        self.check({"run/a.h": '#include "data/graph/options.h"'}, "src/run/a.h:1: names data/graph/options.h")
        self.check({"run/a.h": "  # include <x/graphs.h>"}, "src/run/a.h:1: names x/graphs.h")

    def test_comments_and_texts_are_not_looked_at(self) -> None:
        self.check({"run/a.cpp": '// a graph\n/* graph\n graph */ call("a graph \\" graph", \'g\');\nR"x(graph " )" graph)x";\n'})
        self.check({"run/a.cpp": 'call("//"); graph();'}, "src/run/a.cpp:1: names graph")
        self.check({"run/a.cpp": "int n = 200'000; graph(); int m = 1'0;"}, "src/run/a.cpp:1: names graph")
        self.check({"run/a.cpp": 'R"(\n\n)"; graph();'}, "src/run/a.cpp:3: names graph")
        self.check({"run/a.cpp": '// #include "data/graph/a.h"\n#include "base/a.h"  // for graphs\n'})

    def test_lists_that_are_gone_are_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            self.assertEqual(len(list(complaints(Path(folder)))), len(LISTS))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the repository")
    parser.add_argument("--self-test", action="store_true", help="check this program on made-up trees")
    arguments = parser.parse_args()
    if arguments.self_test:
        result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(SelfTest))
        return 0 if result.wasSuccessful() else 1
    if not (arguments.root / "src").is_dir():
        print(f"error: {arguments.root} has no folder src/; give --root the repository.", file=sys.stderr)
        return 2
    found = list(complaints(arguments.root))
    print("\n".join(found) if found else "no file of src/ that serves every modality names graphs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
