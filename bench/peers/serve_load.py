#!/usr/bin/env python3
"""Makes the figures of docs/results/serving.md: l0gm-serve under wrk beside FastAPI + LightGBM (uvicorn, 2 workers) and beside the same
predictions behind cpp-httplib, in one alternating run on Adult.

Usage: bench/peers/serve_load.py MODEL.l0gm --export DIR --lightgbm RUN [--seconds 60] [--rounds 1] [--connections 64] [--out runs/serve_load]
  MODEL.l0gm       of examples/adult/fast.toml
  --export DIR     l0gm data export examples/adult/fast.toml --out DIR: the test rows that are sent
  --lightgbm RUN   peers/train.py lightgbm DIR --out RUN
  --rows 1,1000    rows of a request, each measured by itself
  --silent N       connections that are opened and say nothing meanwhile (cpp-httplib has a thread for each that it serves)
Prints Markdown; all figures go to OUT/load.json. Needs wrk, a build of the targets l0gm_serve and l0gm_server, and a Python with
lightgbm, fastapi and uvicorn (peers/setup; --python for another one). cpp-httplib is left out where its header is not installed.
"""

import argparse
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from program import PEERS, table  # noqa: E402

LUA = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local i = 0
request = function() i = i %% #bodies + 1; return wrk.format(nil, nil, nil, bodies[i]) end
"""
LIBRARIES = ["server", "serving", "data", "runtime", "encode", "metrics", "base"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def read_rows(path: Path, label: str) -> list[dict]:
    """Numbers as numbers, as a client would send them."""
    def value(text: str) -> object:
        return float(text) if re.fullmatch(r"-?[0-9]+\.[0-9]+", text) else int(text) if re.fullmatch(r"-?[0-9]+", text) else text
    with open(path, encoding="utf-8", newline="") as file:
        return [{name: value(text) for name, text in row.items() if name not in ("row", label)} for row in csv.DictReader(file)]


class Server:
    """One of those that are compared; runs only while it is measured."""

    def __init__(self, name: str, path: str, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.name, self.path, self.command, self.environment = name, path, command, environment or {}

    @contextmanager
    def running(self):
        port = free_port()
        process = subprocess.Popen([word.replace("PORT", str(port)) for word in self.command], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **self.environment})
        try:
            for _ in range(2400):  # two minutes: Python imports slowly on a busy machine
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None:
                        sys.exit(f"error: {self.name} did not start: {' '.join(self.command)}")
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}{self.path}", port, process
        finally:
            process.terminate()
            process.wait(timeout=30)

    def probabilities(self, address: str, rows: list[dict]) -> list[float]:
        request = urllib.request.Request(address, json.dumps({"rows": rows}).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return [row[-1] for row in json.load(response)["probabilities"]]


def build_httplib(out: Path, build: Path) -> Path | None:
    if not Path("/usr/include/httplib.h").exists():
        print("cpp-httplib is not installed (libcpp-httplib-dev): left out", file=sys.stderr)
        return None
    program = out / "httplib_serve"
    libraries = [str(build / f"libl0gm_{name}.a") for name in LIBRARIES]
    subprocess.run(["g++", "-std=c++20", "-O3", "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), str(ROOT / "bench/peers/httplib_serve.cpp"),
                    *libraries, "-lz", "-llzma", "-lzstd", "-lcurl", "-lcpp-httplib", "-lpthread", "-o", str(program)], check=True)
    return program


def seconds_of(text: str) -> float:
    found = re.fullmatch(r"([0-9.]+)(us|ms|s|m)", text)
    if found is None:  # no request was finished
        return float("nan")
    number, unit = found.groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[unit]


def load(address: str, script: Path, connections: int, seconds: int) -> dict:
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency", "-s", str(script), address],
                          capture_output=True, text=True, check=True).stdout
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done)
    others = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
    return {"requests": int(re.search(r"(\d+) requests in", done).group(1)), "requests_per_second": float(re.search(r"Requests/sec:\s+([0-9.]+)", done).group(1)),
            "p50": seconds_of(re.search(r"^\s+50%\s+(\S+)", done, re.MULTILINE).group(1)), "p99": seconds_of(re.search(r"^\s+99%\s+(\S+)", done, re.MULTILINE).group(1)),
            "errors": sum(map(int, errors.groups())) if errors else 0, "refused": int(others.group(1)) if others else 0}


def processes_of(process: subprocess.Popen) -> list[str]:
    """With those that it started."""
    pids = [str(process.pid)]
    for pid in pids:
        pids += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return pids


def memory_of(process: subprocess.Popen) -> float:
    lines = [line for pid in processes_of(process) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return sum(int(line.split()[1]) for line in lines) / 1024


def processor_seconds(process: subprocess.Popen) -> float:
    """What others on the machine do matters little to it."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in processes_of(process)]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--export", type=Path, required=True)
    parser.add_argument("--lightgbm", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rows", default="1,1000")
    parser.add_argument("--silent", type=int, default=0)
    parser.add_argument("--only", default="", help="names of servers, with commas between them")
    parser.add_argument("--python", type=Path, default=PEERS)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "serve_load")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        print("error: wrk is not installed (Debian: wrk)", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    split = json.loads((arguments.export / "split.json").read_text())
    rows = read_rows(arguments.export / "test.csv", split["label"])

    servers = [Server("l0gm-serve", "/v1/models/adult:predict", [str(arguments.build / "l0gm-serve"), f"adult={arguments.model}", "--port", "PORT"]),
               Server("FastAPI + LightGBM", "/predict",
                      [str(arguments.python), "-m", "uvicorn", "--app-dir", str(ROOT / "bench/peers"), "fastapi_lightgbm:app", "--workers", "2",
                       "--port", "PORT", "--no-access-log", "--log-level", "warning"], {"MODEL_DIR": str(arguments.lightgbm.resolve())})]
    httplib = build_httplib(arguments.out, arguments.build)
    if httplib is not None:
        servers.append(Server("cpp-httplib", "/v1/models/adult:predict", [str(httplib), str(arguments.model), "PORT"]))
    if arguments.only:
        servers = [server for server in servers if server.name in arguments.only.split(",")]

    with open(arguments.lightgbm / "predictions" / "test.csv", encoding="utf-8", newline="") as file:
        known = [float(list(row.values())[-1]) for _, row in zip(range(100), csv.DictReader(file))]
    results = []
    for count in map(int, arguments.rows.split(",")):
        bodies, script = arguments.out / f"bodies_{count}.jsonl", arguments.out / f"load_{count}.lua"
        starts = range(0, min(len(rows) - count + 1, 1000 * count), count)
        bodies.write_text("\n".join(json.dumps({"rows": rows[start:start + count]}, separators=(",", ":")) for start in starts) + "\n")
        script.write_text(LUA % bodies.resolve())
        for round_number in range(arguments.rounds):
            for server in servers:
                with ExitStack() as stack:
                    address, port, process = stack.enter_context(server.running())
                    found = server.probabilities(address, rows[:100])
                    if "LightGBM" in server.name:  # nobody is fast and wrong
                        assert max(abs(a - b) for a, b in zip(found, known, strict=True)) < 1e-6, "not what LightGBM itself predicts"
                    silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(arguments.silent)]
                    load(address, script, arguments.connections, 3)  # warm
                    before = processor_seconds(process)
                    measured = load(address, script, arguments.connections, arguments.seconds)
                    measured["processor_us"] = 1e6 * (processor_seconds(process) - before) / max(measured["requests"], 1)
                    measured.update(server=server.name, rows=count, round=round_number, silent=len(silent), memory_mb=memory_of(process))
                    results.append(measured)
                    print(json.dumps(measured), file=sys.stderr)
    (arguments.out / "load.json").write_text(json.dumps(results, indent=1))
    table(["server", "rows a request", "requests a second", "rows a second", "p50 ms", "p99 ms", "processor µs a request", "errors", "memory MB"],
          [[r["server"], str(r["rows"]), f"{r['requests_per_second']:,.0f}", f"{r['requests_per_second'] * r['rows']:,.0f}", f"{r['p50'] * 1000:.2f}",
            f"{r['p99'] * 1000:.2f}", f"{r['processor_us']:.1f}", str(r["errors"] + r["refused"]), f"{r['memory_mb']:.0f}"] for r in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
