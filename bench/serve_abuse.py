#!/usr/bin/env python3
"""Does the server's memory stay flat under bad clients? Damaged requests and bodies, half-closed and reset sockets, slow and silent clients, sound
requests among them, for minutes; its memory is looked at every half minute.

Usage: bench/serve_abuse.py [--seconds 600] [--slow 300] [--pause 0.01] [--model FILE.l0gm --row JSON] [--serve build/release/l0gm-serve]
Prints Markdown. Exit status 1 when the server died, a sound request failed, or memory grew by more than a tenth after the first minute.
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROW = {"age": 30, "angle": 0.5, "colour": "red", "city": "Paris", "tags": "a", "weight": 71.5}
RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER: a reset in place of an end


class Abuser:
    def __init__(self, port: int, name: str, row: dict, slow: int) -> None:
        self.port, self.most_slow, self.chance = port, slow, random.Random(1)
        self.body = json.dumps({"rows": [row]}).encode()
        self.head = f"POST /v1/models/{name}:predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n".encode()
        self.slow: list[socket.socket] = []
        self.connections, self.failed = 0, 0

    def connect(self) -> socket.socket:
        self.connections += 1
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def request(self, body: bytes) -> bytes:
        return self.head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body

    def damaged(self, data: bytes) -> bytes:
        broken = bytearray(data)
        for _ in range(self.chance.randint(1, 6)):
            place = self.chance.randrange(len(broken))
            if self.chance.random() < 0.2:
                del broken[place:place + self.chance.randint(1, 20)]
                broken = broken or bytearray(b"x")
            else:
                broken[place] = self.chance.randrange(256)
        return bytes(broken)

    def sound(self) -> None:
        with self.connect() as connection:
            connection.sendall(self.request(self.body))
            if not connection.recv(65536).startswith(b"HTTP/1.1 200"):
                self.failed += 1

    def send(self, data: bytes, end: str) -> None:
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if end == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    return
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass  # the server hung up first: its right

    def one_turn(self) -> None:
        whole = self.request(self.body)
        self.send(self.damaged(whole), "half-closed")
        self.send(self.request(self.damaged(self.body)), "half-closed")
        self.send(whole[:self.chance.randrange(1, len(whole))], "half-closed")
        self.send(whole, "reset")
        self.sound()
        if len(self.slow) >= self.most_slow:
            self.slow.pop(self.chance.randrange(len(self.slow))).close()
        connection = self.connect()
        connection.sendall(whole[:self.chance.randrange(0, len(whole) - 1)])
        self.slow.append(connection)


def memory_of(process: subprocess.Popen) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--slow", type=int, default=300, help="clients that sent a part and are held open")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between turns of six connections")
    parser.add_argument("--model", type=Path, default=ROOT / "tests" / "runtime" / "files" / "version1.l0gm")
    parser.add_argument("--row", type=json.loads, default=ROW, help="a row that the model takes, as JSON")
    parser.add_argument("--serve", type=Path, default=ROOT / "build" / "release" / "l0gm-serve")
    arguments = parser.parse_args()
    process = subprocess.Popen([str(arguments.serve), str(arguments.model), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = process.stdout.readline().strip()
        if not address:
            sys.exit(f"serve_abuse.py: {arguments.serve} did not start with {arguments.model}; run it by hand to see why")
        abuser = Abuser(int(address.rstrip("/").rsplit(":", 1)[1]), arguments.model.stem, arguments.row, arguments.slow)
        start, looks = time.monotonic(), []
        while (passed := time.monotonic() - start) < arguments.seconds and process.poll() is None:
            abuser.one_turn()
            time.sleep(arguments.pause)
            if passed >= 30 * (len(looks) + 1):
                looks.append(memory_of(process))
        alive = process.poll() is None
        if alive:
            looks.append(memory_of(process))
    finally:
        process.kill()
        process.wait()
    print("| seconds | connections | sound requests that failed | server lived | memory, MB, every 30 s |\n|---|---|---|---|---|")
    print(f"| {passed:.0f} | {abuser.connections:,} | {abuser.failed} | {'yes' if alive else 'NO'} | {', '.join(f'{look:.2f}' for look in looks)} |")
    grew = len(looks) > 2 and looks[-1] > 1.1 * looks[1]
    return 0 if alive and not abuser.failed and not grew else 1


if __name__ == "__main__":
    sys.exit(main())
