#!/usr/bin/env python3
"""Reads the #include lines under src/ and include/ and fails on an arrow that points forwards.

Folders are stations of a pipeline (docs/architecture.md); a station includes itself, base and what lies behind it.
Usage: tests/include_arrows.py [--root DIR] | --self-test
"""

import argparse
import re
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

# Station -> the stations right behind it; the rest follows transitively. The longest matching folder of src/ is a file's station.
ARROWS: dict[str, list[str]] = {
    "base": [],
    "metrics": ["base"],
    "run": ["metrics"],
    "encode": ["base"],
    "data": ["encode"],
    "gate": ["base"],
    "batches": ["data", "gate"],
    "encoders": ["batches"],
    "heads": ["encoders"],
    "model": ["heads"],
    "training": ["model", "run"],
    "runtime": ["metrics", "encode"],
    "compact": ["training", "runtime"],
    "serving": ["runtime", "data"],
    "evaluation": ["compact", "serving"],
    "baselines": ["evaluation"],
    "study": ["baselines"],
    "report": ["run"],
    "server": ["serving"],
    "cli": ["study", "report", "server"],
}
WITHOUT_TORCH = {"base", "metrics", "run", "encode", "data", "runtime", "serving", "server", "report"}
# Public headers, include/l0gm/: whose they are.
PUBLIC_HEADERS: dict[str, str] = {
    "l0gm/api.h": "base",
    "l0gm/error.h": "base",
    "l0gm/input_counts.h": "base",
    "l0gm/options.h": "base",
    "l0gm/runtime.h": "runtime",
    "l0gm/c_api.h": "runtime",
}
OTHER_PUBLIC_HEADERS = "gate"

TORCH_FOLDERS = ("torch/", "ATen/", "c10/")
SOURCE_SUFFIXES = {".h", ".hpp", ".cuh", ".inc", ".c", ".cc", ".cpp", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\b\s*(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>|(?P<computed>\S+))')


def allowed_from(station: str) -> set[str]:
    allowed, waiting = {station, "base"}, [station]
    while waiting:
        for behind in ARROWS[waiting.pop()]:
            if behind not in allowed:
                allowed.add(behind)
                waiting.append(behind)
    return allowed


def station_of(path: str) -> str | None:
    """The station of a path as an #include names it: relative to src/ or include/. None when there is none."""
    if path.startswith("l0gm/"):
        return PUBLIC_HEADERS.get(path, OTHER_PUBLIC_HEADERS)
    folder = PurePosixPath(path).parent
    return next((str(candidate) for candidate in [folder, *folder.parents] if str(candidate) in ARROWS), None)


def sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Every source file with its name as an #include would give it."""
    for tree in ("src", "include"):
        for file in sorted((root / tree).rglob("*")):
            if file.suffix in SOURCE_SUFFIXES and file.is_file():
                yield file, file.relative_to(root / tree).as_posix()


def included_path(root: Path, name: str, included: str) -> str:
    """A file beside the including one comes first, as for the compiler."""
    beside = normpath(str(PurePosixPath(name).parent / included))
    return beside if any((root / tree / beside).is_file() for tree in ("src", "include")) else normpath(included)


def complaint(root: Path, name: str, station: str, match: re.Match[str]) -> str | None:
    if match["computed"]:
        return f"#include {match['computed']} is computed by a macro; name the file"
    included = match["quoted"] or match["angled"]
    if included.startswith(TORCH_FOLDERS):
        return f"includes {included}, but {station}/ is free of torch" if station in WITHOUT_TORCH else None
    path = included_path(root, name, included)
    if match["angled"] and not path.startswith("l0gm/") and not (root / "src" / path).is_file():
        return None  # a header of the system or of a library
    target = station_of(path)
    allowed = allowed_from(station)
    if target is None:
        return f'includes "{included}", which is in no known folder; known: {", ".join(ARROWS)}, l0gm'
    if target not in allowed:
        return f'{station}/ includes "{included}" of {target}/; {station}/ may include: {", ".join(s for s in ARROWS if s in allowed)}'
    return None


def unknown_folders(root: Path) -> Iterator[str]:
    first_parts = {station.split("/")[0] for station in ARROWS}
    for tree, known in (("src", first_parts), ("include", {"l0gm"})):
        for entry in sorted((root / tree).glob("*")):
            if entry.is_dir() and entry.name not in known:
                yield f"{tree}/{entry.name}: unknown folder; known: {', '.join(sorted(known))} (the table is in tests/include_arrows.py)"
            elif entry.suffix in SOURCE_SUFFIXES:
                yield f"{tree}/{entry.name}: lies in no folder; move it into one of: {', '.join(sorted(known))}"


def complaints(root: Path) -> list[str]:
    found = list(unknown_folders(root))
    for file, name in sources(root):
        station = station_of(name)
        if station is None:
            continue  # its folder is complained about already
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            match = INCLUDE.match(line)
            problem = complaint(root, name, station, match) if match else None
            if problem:
                found.append(f"{file.relative_to(root)}:{number}: {problem}")
    return found


class SelfTest(unittest.TestCase):
    def check(self, files: dict[str, str], *wanted: str) -> None:
        """The tree must give exactly as many complaints as wanted, each starting with the wanted text."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = complaints(Path(folder))
            self.assertEqual(len(found), len(wanted), found)
            for line, start in zip(found, wanted):
                self.assertTrue(line.startswith(start), f"{line!r} does not start with {start!r}")

    def test_the_table_is_sound(self) -> None:
        for station, behind in ARROWS.items():
            self.assertTrue(set(behind) <= set(ARROWS), station)
            others = allowed_from(station) - {station}
            self.assertFalse([other for other in others if station in allowed_from(other)], f"{station} is in a circle")
        self.assertTrue(all(allowed_from(station) <= WITHOUT_TORCH for station in WITHOUT_TORCH))
        self.assertEqual(allowed_from("cli"), set(ARROWS))

    def test_backward_arrows_pass(self) -> None:
        self.check({"src/training/loop.cpp": '#include "data/table/fit.h"\n#include <vector>\n#include "metrics/x.h"\n#include "base/a.h"',
                    "src/run/run.h": '#include "l0gm/error.h"', "src/heads/fm.h": '  # include "l0gm/gate.h"\n#include <torch/x.h>',
                    "src/data/table/fit.cpp": '#include "encode/table/schema.h"\n// #include "model/model.h"'})

    def test_forward_arrows_fail_with_line_and_allowance(self) -> None:
        self.check({"src/run/run.h": '#pragma once\n#include "model/model.h"\n'},
                   'src/run/run.h:2: run/ includes "model/model.h" of model/; run/ may include: base, metrics, run')
        self.check({"src/base/a.h": '#include "l0gm/gate.h"'}, 'src/base/a.h:1: base/ includes "l0gm/gate.h" of gate/')
        self.check({"src/data/a.h": '#include "gate/gate.h"'}, "src/data/a.h:1: data/ includes")
        self.check({"include/l0gm/options.h": '#include "gate/gate.h"'}, "include/l0gm/options.h:1: base/ includes")

    def test_the_runtime_shares_encode_and_nothing_else_of_the_data(self) -> None:
        self.check({"src/encode/table/a.h": '#include "data/table/fit.h"'}, "src/encode/table/a.h:1: encode/")
        self.check({"src/runtime/a.h": '#include "encode/table/schema.h"\n#include "data/table/fit.h"'}, "src/runtime/a.h:2: ")

    def test_torch_is_refused_where_it_must_not_be(self) -> None:
        for station in sorted(WITHOUT_TORCH):
            self.check({f"src/{station}/a.cpp": '#include <torch/types.h>\n#include <ATen/ATen.h>\n#include "c10/x.h"'},
                       *[f"src/{station}/a.cpp:{line}: includes" for line in (1, 2, 3)])

    def test_detours_are_seen(self) -> None:
        self.check({"src/base/a.h": '#include "../model/model.h"', "src/model/model.h": ""},
                   'src/base/a.h:1: base/ includes "../model/model.h" of model/')
        self.check({"src/base/a.h": "#include <model/model.h>", "src/model/model.h": ""}, "src/base/a.h:1: base/ includes")
        self.check({"src/base/a.h": "#include NAME"}, "src/base/a.h:1: #include NAME is computed")
        self.check({"src/base/a.h": '#include "b.h"', "src/base/b.h": ""})
        self.check({"src/base/a.h": '#include "b.h"'}, 'src/base/a.h:1: includes "b.h", which is in no known folder')

    def test_unknown_folders_fail(self) -> None:
        self.check({"src/utils/a.h": ""}, "src/utils: unknown folder")
        self.check({"src/main.cpp": ""}, "src/main.cpp: lies in no folder")
        self.check({"include/other/a.h": ""}, "include/other: unknown folder")
        self.check({"src/base/a.h": '#include "utils/a.h"'}, 'src/base/a.h:1: includes "utils/a.h"')


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
    found = complaints(arguments.root)
    print("\n".join(found) if found else f"{sum(1 for _ in sources(arguments.root))} files, every arrow points backwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
