"""A server for the tests that look at it from outside: starts l0gm-serve, asks it, ends it. Standard library only."""
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.path.abspath(sys.argv.pop(1))
MODEL = os.path.join(ROOT, "tests", "runtime", "files", "version1.l0gm")
OTHER = os.path.join(ROOT, "tests", "runtime", "files", "version1_batch.l0gm")  # other weights, the same columns and classes
LOOKUP = os.path.join(ROOT, "tests", "compact", "graph", "files", "lookup.l0gm")
COLUMNS = ["age", "angle", "colour", "city", "tags", "weight"]
ROW = {"age": 30, "angle": 0.5, "colour": "red", "city": "Paris", "tags": "a", "weight": 71.5}
BODY = json.dumps({"rows": [ROW]}).encode()
TOKEN = "0123456789abcdef0123"


def rewritten(source, target, change):
    """A compact file whose manifest was changed, with right hashes: as someone who makes such a file on purpose would."""
    with open(source, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    manifest = json.loads(header["__metadata__"]["l0gm"])
    change(manifest)
    text = json.dumps(manifest)
    header["__metadata__"].update(l0gm=text, l0gm_sha256=hashlib.sha256(text.encode()).hexdigest())
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(packed)) + packed + data[8 + size:])
    return target


class ServerCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="l0gm-serve-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.process = None

    def copy(self, source, name="m.l0gm"):
        """In place of a file of that name, all at once."""
        path = os.path.join(self.folder, name)
        shutil.copy(source, path + ".part")
        os.replace(path + ".part", path)
        return path

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path + ".part", "wb") as file:
            file.write(content)
        os.replace(path + ".part", path)
        return path

    def start(self, *arguments, environment=None):
        variables = {name: value for name, value in os.environ.items() if name != "L0GM_TOKEN"}
        self.errors = open(os.path.join(self.folder, "errors.txt"), "w+b")
        self.addCleanup(self.errors.close)
        self.process = subprocess.Popen([PROGRAM, *arguments, "--port", "0"], stdout=subprocess.PIPE, stderr=self.errors,
                                        stdin=subprocess.DEVNULL, env={**variables, **(environment or {})})
        self.addCleanup(self.end)
        line = self.process.stdout.readline().decode()
        self.assertTrue(line.startswith("http://"), line + self.log())
        self.port = int(line.rstrip("/\n").rsplit(":", 1)[1])

    def log(self):
        self.errors.flush()
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=60), code, self.log())

    def refuses_to_start(self, *arguments, environment=None):
        variables = {name: value for name, value in os.environ.items() if name != "L0GM_TOKEN"}
        result = subprocess.run([PROGRAM, *arguments, "--port", "0"], capture_output=True, timeout=60, env={**variables, **(environment or {})},
                                check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        return result.stderr.decode()

    def connect(self, timeout=30):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        self.addCleanup(connection.close)
        return connection

    def ask(self, method="GET", path="/healthz", body=None, headers=None):
        """Status, headers and body."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            client.request(method, path, body, headers or ({"Content-Type": "application/json"} if body is not None else {}))
            response = client.getresponse()
            return response.status, response.headers, response.read()
        finally:
            client.close()

    def predict(self, body=BODY, model="m", path="", headers=None):
        status, _, text = self.ask("POST", f"/v1/models/{model}:predict{path}", body, headers)
        return status, json.loads(text)

    def metric(self, name):
        _, _, text = self.ask(path="/metrics")
        return next(float(line.rsplit(" ", 1)[1]) for line in text.decode().splitlines() if line.startswith(name))


def request_bytes(body=BODY, model="m", extra=""):
    return (f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n{extra}\r\n").encode() + body


def read_answer(connection, pending=b""):
    """Status, body and what followed; ConnectionError when the connection ends first."""
    while b"\r\n\r\n" not in pending:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("closed before an answer")
        pending += piece
    head, pending = pending.split(b"\r\n\r\n", 1)
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    while len(pending) < length:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("closed within an answer")
        pending += piece
    return int(head.split()[1]), pending[:length], pending[length:]
