#!/usr/bin/env python3
"""Runs a copy of scripts/setup against made-up package indexes on this machine: which LibTorch it takes, what it says, what it leaves.

Nothing is installed outside a temporary folder: dpkg-query, apt-get and sudo are stand-ins that come first in PATH.
Usage: tests/scripts/setup_test.py [TEST ...]
"""

import http.server
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import zipfile
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "scripts" / "setup"
PYTHON = shutil.which("python3")
TIMEOUT = 240  # seconds for one run: making a virtual environment is slow on a busy machine


def can_make_environments() -> bool:
    return PYTHON is not None and subprocess.run([PYTHON, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0


def make_wheel(folder: Path, name: str, version: str, requires: str = "") -> None:
    """The smallest wheel that pip installs: a module, a file of CMake's where LibTorch has it, and the metadata."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}/__init__.py": f"__version__ = '{version}'\n",
        f"{module}/share/cmake/Torch/TorchConfig.cmake": "",
        f"{module}/package_data/plotly.min.js": "",  # where the plotly wheel has its script
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                            + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: setup_test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def make_indexes(folder: Path) -> None:
    """Indexes as pip reads them: a folder for each project, whose listing links to the files."""
    for index in ("cuda", "cuda-slow"):
        make_wheel(folder / index / "torch", "torch", "2.13.0", requires="nvidia-fake-cu13")
        make_wheel(folder / index / "nvidia-fake-cu13", "nvidia-fake-cu13", "1.0")
        make_wheel(folder / index / "plotly", "plotly", "7.1.0", requires="narwhals")
    for index in ("cpu", "cpu-slow"):
        make_wheel(folder / index / "torch", "torch", "2.13.0+cpu")
    make_wheel(folder / "plain" / "torch", "torch", "2.13.0")
    make_wheel(folder / "old" / "torch", "torch", "2.12.0+cpu")


class Handler(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []
    delay = 0.0  # seconds before a wheel of an index called …-slow is sent

    def do_GET(self) -> None:
        Handler.asked.append(self.path)
        if "-slow/" in self.path and self.path.endswith(".whl"):
            time.sleep(Handler.delay)
        try:
            super().do_GET()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the run was ended meanwhile

    def log_message(self, *arguments: object) -> None:
        pass


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(can_make_environments(), "python3 cannot make virtual environments with pip (no ensurepip)")
class SetupTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        indexes = tempfile.TemporaryDirectory()
        cls.addClassCleanup(indexes.cleanup)
        make_indexes(Path(indexes.name))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Handler(*a, directory=indexes.name))
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.server = f"http://127.0.0.1:{server.server_port}"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"
        self.tools = Path(folder.name) / "tools"
        (self.root / "scripts").mkdir(parents=True)
        self.script = shutil.copy2(SETUP, self.root / "scripts" / "setup")
        self.tool("dpkg-query", 'for package in "$@"; do echo "$package installed"; done')
        self.tool("apt-get", 'echo "apt-get must not be called" >&2; exit 100')
        self.tool("sudo", 'shift; exec "$@"')
        Handler.asked, Handler.delay = [], 0.0

    def tool(self, name: str, script: str) -> None:
        self.tools.mkdir(exist_ok=True)
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / name).chmod(0o755)

    def environment(self, index: str, torch_index: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("PIP_", "L0GM_", "PYTHON", "VIRTUAL_ENV")) and not name.lower().endswith("_proxy")}
        return kept | {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_DEFAULT_TIMEOUT": "90",
            "PIP_INDEX_URL": f"{self.server}/{index}/",
            "LC_ALL": "C",
            "L0GM_TORCH_INDEX": torch_index if "://" in torch_index else f"{self.server}/{torch_index}/",
        }

    def setup_script(self, *arguments: str, index: str, torch_index: str = "cpu") -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.script, *arguments], env=self.environment(index, torch_index), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT)

    def installed(self) -> dict[str, str]:
        """Distributions of the virtual environment besides pip's own and plotly, with their versions."""
        found = [path.name.removesuffix(".dist-info").split("-") for path in self.root.glob(".venv/lib/python3*/site-packages/*.dist-info")]
        return {name: version for name, version in found if name not in ("pip", "setuptools", "plotly")}

    def check_complete(self, result: subprocess.CompletedProcess[str], wanted: dict[str, str]) -> None:
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.installed(), wanted)
        self.assertEqual((self.root / ".venv/.torch.installed").read_text(), "torch==2.13.0\n")
        self.assertFalse((self.root / ".venv/.torch.installing").exists())
        self.assertFalse((self.root / ".venv/tmp").exists())

    def check_refused(self, result: subprocess.CompletedProcess[str], tried: str) -> None:
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for part in ("several gigabytes of CUDA packages", f"{tried}, tried instead", "L0GM_TORCH_INDEX", "PIP_FIND_LINKS",
                     "set L0GM_TORCH to", "scripts/setup --allow-cuda"):
            self.assertIn(part, result.stderr)
        self.assertEqual(self.installed(), {})
        self.assertFalse((self.root / ".venv/.torch.installed").exists())

    def test_cpu_index_is_taken_where_pip_would_bring_cuda(self) -> None:
        result = self.setup_script("--torch-prefix", index="cuda")
        self.check_complete(result, {"torch": "2.13.0+cpu"})
        self.assertIn(f"asking {self.server}/cpu/", result.stderr)
        self.assertIn(f"taking the CPU build of {self.server}/cpu/", result.stderr)
        prefix = Path(result.stdout.rstrip("\n"))
        self.assertTrue((prefix / "Torch/TorchConfig.cmake").is_file(), result.stdout)
        self.assertIn("Successfully installed torch-2.13.0+cpu", (self.root / "build/setup.log").read_text())

        Handler.asked = []
        again = self.setup_script("--torch-prefix", index="cuda")
        self.assertEqual((again.returncode, again.stdout, Handler.asked), (0, result.stdout, []), again.stderr)
        self.assertIn("torch==2.13.0 present", again.stderr)

    def test_plotly_is_installed_alone(self) -> None:
        result = self.setup_script(index="cuda")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(list(self.root.glob(".venv/lib/python3*/site-packages/plotly/package_data/plotly.min.js"))), 1, result.stderr)
        self.assertEqual(list(self.root.glob(".venv/lib/python3*/site-packages/narwhals*")), [])

    def test_without_plotly_the_rest_is_complete(self) -> None:
        result = self.setup_script("--torch-prefix", index="plain")
        self.check_complete(result, {"torch": "2.13.0"})
        self.assertIn("report pages will have plain drawings", result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1)

    def test_cpu_index_out_of_reach(self) -> None:
        address = f"http://127.0.0.1:{closed_port()}/cpu/"
        result = self.setup_script("--torch-prefix", index="cuda", torch_index=address)
        self.check_refused(result, address)
        self.assertIn("> pip install", result.stderr)  # the log of what failed

    def test_cpu_index_without_that_version_or_with_cuda_too(self) -> None:
        self.check_refused(self.setup_script(index="cuda", torch_index="old"), f"{self.server}/old/")
        self.check_refused(self.setup_script(index="cuda", torch_index="cuda"), f"{self.server}/cuda/")

    def test_plain_index_without_cuda_is_taken_directly(self) -> None:
        result = self.setup_script(index="plain")
        self.check_complete(result, {"torch": "2.13.0"})
        self.assertEqual(result.stdout, "")
        self.assertNotIn("/cpu/", result.stderr + " ".join(Handler.asked))

    def test_cuda_is_taken_when_it_is_allowed(self) -> None:
        result = self.setup_script("--allow-cuda", index="cuda")
        self.check_complete(result, {"torch": "2.13.0", "nvidia_fake_cu13": "1.0"})
        self.assertNotIn("/cpu/", result.stderr + " ".join(Handler.asked))

    def test_no_such_version_anywhere(self) -> None:
        result = self.setup_script(index="old")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("pip finds no torch==2.13.0", result.stderr)
        self.assertIn("2.12.0+cpu", result.stderr)  # pip's own words

    def test_interrupted_installation_is_made_anew(self) -> None:
        Handler.delay = 60
        with open(self.root / "said", "w") as said:
            run = subprocess.Popen([self.script, "--allow-cuda"], env=self.environment("cuda-slow", "cpu"), stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=said, start_new_session=True)
        unfinished = self.root / ".venv/.torch.installing"
        end = time.monotonic() + TIMEOUT
        while not (unfinished.exists() and any(path.endswith(".whl") for path in Handler.asked)):
            self.assertIsNone(run.poll(), (self.root / "said").read_text())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.assertFalse((self.root / ".venv/.torch.installed").exists())
        # The worst that may lie there: metadata that make pip believe torch is complete.
        packages = next(self.root.glob(".venv/lib/python3*/site-packages"))
        (packages / "torch-2.13.0+cpu.dist-info").mkdir()
        (packages / "torch-2.13.0+cpu.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n")

        self.check_complete(self.setup_script(index="cuda"), {"torch": "2.13.0+cpu"})
        self.assertTrue((packages / "torch/__init__.py").is_file())

    def test_progress_in_lines(self) -> None:
        Handler.delay = 18
        result = self.setup_script("--allow-cuda", index="cpu-slow")
        self.check_complete(result, {"torch": "2.13.0+cpu"})
        self.assertRegex(result.stderr, r"(?m)^setup: LibTorch: \d+ s, \d+ MB; ")
        self.assertNotIn("\r", result.stderr)
        self.assertNotIn("Terminated", result.stderr)

    def test_progress_on_a_terminal(self) -> None:
        Handler.delay = 4
        master, slave = pty.openpty()
        run = subprocess.Popen([self.script, "--allow-cuda", "--torch-prefix"], env=self.environment("cpu-slow", "cpu"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True)
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
        prefix = run.communicate(timeout=TIMEOUT)[0]
        text = said.decode()
        self.assertEqual(run.returncode, 0, text)
        self.assertEqual(prefix.count("\n"), 1, prefix)
        self.assertGreaterEqual(len(re.findall(r"\r\033\[Ksetup: LibTorch: \d+ s, \d+ MB; ", text)), 2, text)
        self.assertTrue(all(len(line) < 80 for line in re.findall(r"\033\[K([^\r\n]*)", text)), text)

    def test_packages_are_installed_where_they_are_missing(self) -> None:
        self.tool("dpkg-query", 'for package in "$@"; do test "$package" = mold || echo "$package installed"; done')
        self.tool("apt-get", f'echo "apt-get speaks"; echo "$@" >> "{self.tools}/calls"')
        result = self.setup_script(index="plain")
        self.check_complete(result, {"torch": "2.13.0"})
        self.assertEqual((self.tools / "calls").read_text(), "update\ninstall -y --no-install-recommends mold\n")
        self.assertNotIn("apt-get speaks", result.stdout + result.stderr)
        self.assertIn("apt-get speaks", (self.root / "build/setup.log").read_text())

    def test_failing_packages_show_the_log(self) -> None:
        self.tool("dpkg-query", "exit 1")
        self.tool("apt-get", 'echo "E: no such archive" >&2; exit 100')
        result = self.setup_script(index="plain")
        self.assertEqual(result.returncode, 100, result.stderr)
        self.assertIn("E: no such archive\n", result.stderr)
        self.assertIn("build/setup.log", result.stderr)
        self.assertFalse((self.root / ".venv").exists())


if __name__ == "__main__":
    unittest.main()
