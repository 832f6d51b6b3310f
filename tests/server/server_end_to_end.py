#!/usr/bin/env python3
"""The server from outside, over sockets: what it answers, and what slow, broken and hostile clients do to it.
Usage: server_end_to_end.py PATH_OF_L0GM_SERVE [CLASS …]"""
import json
import random
import signal
import socket
import subprocess
import threading
import time
import unittest

from running_server import (BODY, COLUMNS, LOOKUP, MODEL, OTHER, PROGRAM, ROOT, ROW, TOKEN, ServerCase, read_answer, request_bytes,
                            rewritten)


class Answers(ServerCase):
    def test_predictions_are_those_of_the_kept_file(self):
        self.start(self.copy(MODEL), self.copy(LOOKUP, "node.l0gm"))
        with open(MODEL.replace(".l0gm", ".json"), encoding="utf-8") as file:
            kept = json.load(file)
        for calibrated in (False, True):
            body = json.dumps({"columns": COLUMNS, "rows": kept["rows"], "calibrated": calibrated}).encode()
            status, answer = self.predict(body)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["calibrated"], calibrated)
            wanted = kept["calibrated" if calibrated else "probabilities"]
            found = [p for row in answer["probabilities"] for p in row]
            for p, q in zip(found, wanted, strict=True):
                self.assertAlmostEqual(p, q, delta=2e-6)
        status, answer = self.predict(json.dumps({"rows": [{"node": 5}, {"node": "nobody"}]}).encode(), "node")
        self.assertEqual((status, len(answer["predictions"]), answer["unseen"]), (200, 2, {"node": 1}))

    def test_csv_in_and_out(self):
        self.start(self.copy(MODEL))
        table = ";".join(COLUMNS) + "\n" + ";".join(str(value) for value in ROW.values()) + "\n"
        status, headers, text = self.ask("POST", "/v1/models/m:predict", table.encode(), {"Content-Type": "text/csv"})
        self.assertEqual((status, headers["Content-Type"]), (200, "text/csv; charset=utf-8"), text)
        self.assertEqual(text.decode().splitlines()[0], "row,prediction,p_k,p_l,p_m")
        _, answer = self.predict()
        cells = text.decode().splitlines()[1].split(",")
        self.assertEqual([float(cell) for cell in cells[2:]], answer["probabilities"][0])
        status, answer = self.predict(table.replace(";", ",").encode(), path="?delimiter=,",
                                      headers={"Content-Type": "text/csv", "Accept": "application/json"})
        self.assertEqual((status, answer["predictions"]), (200, [cells[1]]))

    def test_the_other_addresses(self):
        self.start(self.copy(MODEL))
        self.assertEqual(json.loads(self.ask(path="/healthz")[2])["status"], "alive")
        self.assertEqual(json.loads(self.ask(path="/readyz")[2])["status"], "ready")
        self.assertEqual([model["name"] for model in json.loads(self.ask(path="/v1/models")[2])["models"]], ["m"])
        self.assertEqual(json.loads(self.ask(path="/v1/models/m")[2])["inputs"][2]["categories"], ["red", "green", "sky blue"])
        self.assertIn("/v1/models/m:predict", json.loads(self.ask(path="/openapi.json")[2])["paths"])
        status, headers, page = self.ask(path="/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertTrue(page.startswith(b"<!doctype html>"))
        status, headers, text = self.ask("HEAD", "/")
        self.assertEqual((status, text, headers["Content-Length"]), (200, b"", str(len(page))))
        self.assertEqual(self.ask("PUT", "/metrics")[0], 405)
        self.assertEqual(self.ask("POST", "/v1/models/m:predict", b"x", {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(self.ask(path="/nothing")[0], 404)

    def test_metrics_count_what_was_sent(self):
        self.start(self.copy(MODEL))
        self.predict()
        self.predict(json.dumps({"rows": [{**ROW, "colour": "ultraviolet", "age": None}, ROW]}).encode())
        self.predict(b"{}")
        self.assertEqual(self.metric("l0gm_rows_total"), 3)
        self.assertEqual(self.metric('l0gm_unseen_total{model="m",column="colour"}'), 1)
        self.assertEqual(self.metric('l0gm_missing_total{model="m",column="age"}'), 1)
        self.assertEqual(self.metric('l0gm_requests_total{model="m",code="200"}'), 2)
        self.assertEqual(self.metric('l0gm_requests_total{model="m",code="400"}'), 1)
        scores = [self.metric(f'l0gm_mean_score{{model="m",class="{name}"}}') for name in "klm"]
        self.assertAlmostEqual(sum(scores), 1, places=5)

    def test_it_needs_no_libtorch(self):
        linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("torch", linked)

    def test_hostile_names_stay_texts(self):
        hostile = "</script><script>alert(1)</script>\"\\"

        def change(manifest):
            manifest["schema"]["columns"][0]["name"] = hostile
            manifest["schema"]["classes"][0] = hostile
            manifest["about"]["closed_columns"] = [hostile]

        self.start(rewritten(MODEL, self.folder + "/m.l0gm", change))
        body = json.dumps({"rows": [{**{name: value for name, value in ROW.items() if name != "age"}, hostile: 30}]}).encode()
        status, answer = self.predict(body)
        self.assertEqual((status, answer["classes"][0]), (200, hostile))
        described = json.loads(self.ask(path="/v1/models/m")[2])
        self.assertEqual((described["inputs"][0]["name"], described["about"]["closed_columns"]), (hostile, [hostile]))
        for path in ("/metrics", "/openapi.json", "/v1/models", "/v1/models/m"):
            _, headers, _ = self.ask(path=path)
            self.assertNotIn("html", headers["Content-Type"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertNotIn(b"alert(1)", self.ask(path="/")[2])


class Clients(ServerCase):
    def test_slow_and_silent_clients_take_nothing_from_others(self):
        self.start(self.copy(MODEL), "--threads", "1", "--time-limit", "2")
        slow = [self.connect() for _ in range(100)]
        for connection in slow[:50]:
            connection.sendall(request_bytes()[:40])
        for _ in range(50):
            status, answer = self.predict()
            self.assertEqual(status, 200, answer)
        answered = read_answer(slow[0])
        self.assertEqual(answered[0], 408)
        self.assertGreaterEqual(self.metric("l0gm_timeouts_total"), 1)

    def test_silent_clients_do_not_fill_the_server(self):
        self.start(self.copy(MODEL), "--max-connections", "8")
        silent = [self.connect() for _ in range(20)]
        self.assertEqual(self.predict()[0], 200)
        self.assertGreaterEqual(self.metric("l0gm_evicted_connections_total"), 12)
        self.assertEqual(silent[0].recv(1), b"")

    def test_busy_connections_are_not_evicted(self):
        self.start(self.copy(MODEL), "--max-connections", "4")
        busy = [self.connect() for _ in range(4)]
        for connection in busy:
            connection.sendall(request_bytes()[:60])
        time.sleep(0.3)
        self.assertEqual(read_answer(self.connect())[0], 503)
        for connection in busy:
            connection.sendall(request_bytes()[60:])
            self.assertEqual(read_answer(connection)[0], 200)

    def test_trickling_clients_do_not_fill_the_server(self):
        self.start(self.copy(MODEL), "--max-connections", "4", "--time-limit", "4")
        trickling = [self.connect() for _ in range(4)]
        for connection in trickling:
            connection.sendall(b"P")
        time.sleep(2.3)
        self.assertEqual(self.predict()[0], 200)
        self.assertGreaterEqual(self.metric("l0gm_evicted_connections_total"), 1)

    def test_half_closed_sockets_get_their_answer(self):
        self.start(self.copy(MODEL))
        connection = self.connect()
        connection.sendall(request_bytes())
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(read_answer(connection)[0], 200)
        self.assertEqual(connection.recv(1), b"")
        half = self.connect()
        half.sendall(request_bytes()[:-5])
        half.shutdown(socket.SHUT_WR)
        self.assertEqual(half.recv(1), b"")

    def test_clients_that_vanish(self):
        self.start(self.copy(MODEL))
        for _ in range(200):
            connection = self.connect()
            connection.sendall(request_bytes())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset in place of an end
            connection.close()
        self.assertEqual(self.predict()[0], 200)

    def test_requests_in_a_row_are_answered_in_order(self):
        self.start(self.copy(MODEL))
        connection = self.connect()
        bodies = [json.dumps({"rows": [{**ROW, "age": age}]}).encode() for age in range(20, 50)]
        wanted = [self.predict(body)[1]["probabilities"] for body in bodies]
        connection.sendall(b"".join(request_bytes(body) + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" for body in bodies))
        pending = b""
        for row in wanted:
            status, body, pending = read_answer(connection, pending)
            self.assertEqual((status, json.loads(body)["probabilities"]), (200, row))
            status, body, pending = read_answer(connection, pending)
            self.assertEqual((status, json.loads(body)["status"]), (200, "alive"))

    def test_ten_thousand_pipelined_requests(self):
        self.start(self.copy(MODEL))
        connection = self.connect()
        sender = threading.Thread(target=lambda: connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10000))
        sender.start()
        pending = b""
        for _ in range(10000):
            status, _, pending = read_answer(connection, pending)
            self.assertEqual(status, 200)
        sender.join()

    def test_chunks_and_continue(self):
        self.start(self.copy(MODEL))
        connection = self.connect()
        head = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        middle = len(BODY) // 2
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
            b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:middle], BODY[middle:])) + b"0\r\n\r\n")
        self.assertEqual(read_answer(connection)[0], 200)
        connection.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.sendall(BODY)
        self.assertEqual(read_answer(connection)[0], 200)

    def test_limits(self):
        self.start(self.copy(MODEL), "--max-body", "100000", "--max-rows", "10")
        connection = self.connect()
        connection.sendall(request_bytes(b"x" * 200000))  # refused by its head; the answer must survive what is still sent
        self.assertEqual(read_answer(connection)[0], 413)
        self.assertEqual(self.predict(json.dumps({"rows": [ROW] * 10}).encode())[0], 200)
        self.assertEqual(self.predict(json.dumps({"rows": [ROW] * 11}).encode())[0], 413)
        connection = self.connect()
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 100000)
        self.assertEqual(read_answer(connection)[0], 431)

    def test_large_answers_to_slow_readers(self):
        self.start(self.copy(MODEL), "--max-rows", "50000", "--max-body", "100000000")
        body = json.dumps({"columns": COLUMNS, "rows": [list(ROW.values())] * 50000}).encode()
        connection = self.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(request_bytes(body))
        time.sleep(0.5)
        self.assertEqual(self.predict()[0], 200)
        status, text, _ = read_answer(connection)
        self.assertEqual((status, len(json.loads(text)["probabilities"])), (200, 50000))

    def test_malformed_requests(self):
        self.start(self.copy(MODEL))
        chance = random.Random(1)
        sound = request_bytes()
        for _ in range(1500):
            broken = bytearray(sound)
            for _ in range(chance.randint(1, 6)):
                broken[chance.randrange(len(broken))] = chance.randrange(256)
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
            connection.sendall(bytes(broken))
            connection.shutdown(socket.SHUT_WR)
            try:
                status, body, _ = read_answer(connection)
                self.assertIn(status // 100, (2, 4, 5))
                self.assertNotEqual(status, 500, broken)
                if status >= 400:
                    self.assertEqual(json.loads(body)["error"]["status"], status)
            except ConnectionError:
                pass  # it never became a request
            connection.close()
        self.assertEqual(self.predict()[0], 200)

    def test_malformed_bodies(self):
        self.start(self.copy(MODEL))
        chance = random.Random(2)
        connection = self.connect()
        for _ in range(1500):
            body = bytearray(BODY)
            for _ in range(chance.randint(1, 4)):
                place = chance.randrange(len(body))
                if chance.random() < 0.3:
                    del body[place:place + chance.randint(1, 30)]
                    body = body or bytearray(b"x")
                else:
                    body[place] = chance.randrange(256)
            connection.sendall(request_bytes(bytes(body)))
            status, text, _ = read_answer(connection)
            self.assertIn(status, (200, 400), body)
            json.loads(text)
        self.assertEqual(self.predict()[0], 200)


class Tokens(ServerCase):
    def test_others_need_a_token(self):
        model = self.copy(MODEL)
        self.assertIn("--token-file", self.refuses_to_start(model, "--host", "0.0.0.0"))
        self.assertIn("short", self.refuses_to_start(model, environment={"L0GM_TOKEN": "abc"}))
        self.refuses_to_start(model, "--token", TOKEN)
        self.start(model, "--host", "0.0.0.0", "--token-file", self.write("token", TOKEN.encode() + b"\n"))
        bearer = {"Authorization": "Bearer " + TOKEN}
        for path in ("/metrics", "/v1/models", "/openapi.json"):
            status, headers, _ = self.ask(path=path)
            self.assertEqual((status, headers["WWW-Authenticate"]), (401, 'Bearer realm="l0gm"'))
            self.assertEqual(self.ask(path=path, headers=bearer)[0], 200)
        self.assertEqual(self.predict()[0], 401)
        self.assertEqual(self.predict(headers={"Content-Type": "application/json", **bearer})[0], 200)
        self.assertEqual(self.ask(path="/readyz")[0], 200)

    def test_the_environment_has_one(self):
        self.start(self.copy(MODEL), environment={"L0GM_TOKEN": TOKEN})
        self.assertEqual(self.ask(path="/metrics")[0], 401)

    def test_a_local_server_has_local_names(self):
        self.start(self.copy(MODEL))
        self.assertEqual(self.ask(path="/v1/models", headers={"Host": "evil.example"})[0], 403)


class Life(ServerCase):
    def load(self, seconds, problems, versions, closed_is_fine=False):
        """Asks without a pause on a connection of its own."""
        end = time.monotonic() + seconds
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        try:
            while time.monotonic() < end:
                try:
                    connection.sendall(request_bytes())
                except OSError:
                    self.assertTrue(closed_is_fine)
                    return
                try:
                    status, body, _ = read_answer(connection)
                except ConnectionError as problem:
                    if not (closed_is_fine and "before" in str(problem)):
                        problems.append(repr(problem))
                    return
                if status != 200:
                    problems.append(body)
                versions.append(json.loads(body)["version"])
        finally:
            connection.close()

    def run_load(self, threads, seconds, meanwhile, **options):
        problems, versions = [], []
        workers = [threading.Thread(target=self.load, args=(seconds, problems, versions), kwargs=options) for _ in range(threads)]
        for worker in workers:
            worker.start()
        meanwhile()
        for worker in workers:
            worker.join()
        self.assertEqual(problems, [])
        return versions

    def test_a_new_file_is_served_without_a_dropped_request(self):
        model = self.copy(MODEL)
        self.start(model, "--reload", "0.05")

        def swap():
            for i in range(8):
                time.sleep(0.3)
                self.copy(OTHER if i % 2 == 0 else MODEL)

        versions = self.run_load(4, 3, swap)
        self.assertEqual(len(set(versions)), 2)
        self.assertGreaterEqual(self.metric("l0gm_reloads_total"), 2)

    def test_a_damaged_file_changes_nothing(self):
        model = self.copy(MODEL)
        self.start(model, "--reload", "0.05")
        _, before = self.predict()
        with open(OTHER, "rb") as file:
            damaged = bytearray(file.read())
        damaged[-10] ^= 255

        def damage():
            time.sleep(0.3)
            self.write("m.l0gm", bytes(damaged))

        versions = self.run_load(2, 1.5, damage)
        self.assertEqual(set(versions), {before["version"]})
        self.assertEqual(self.metric('l0gm_reload_refused{model="m"}'), 1)
        self.assertEqual(self.metric("l0gm_refused_reloads_total"), 1)
        self.assertTrue(json.loads(self.ask(path="/v1/models")[2])["models"][0]["reload_refused"])
        self.assertIn("SHA-256", self.log())
        self.copy(OTHER)
        deadline = time.monotonic() + 20
        while self.predict()[1]["version"] == before["version"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertNotEqual(self.predict()[1]["version"], before["version"])
        self.assertEqual(self.metric('l0gm_reload_refused{model="m"}'), 0)

    def test_stopping_finishes_what_was_accepted(self):
        self.start(self.copy(MODEL))
        begun = self.connect()
        begun.sendall(request_bytes()[:50])
        idle = self.connect()
        time.sleep(0.2)
        self.run_load(4, 1, lambda: (time.sleep(0.5), self.process.send_signal(signal.SIGTERM)), closed_is_fine=True)
        self.assertEqual(idle.recv(1), b"")
        with self.assertRaises(OSError):
            self.connect(timeout=1)
        begun.sendall(request_bytes()[50:])
        status, body, _ = read_answer(begun)
        self.assertEqual(status, 200, body)
        self.assertEqual(self.process.wait(timeout=30), 0, self.log())

    def test_a_second_signal_ends_at_once(self):
        self.start(self.copy(MODEL), "--grace", "60", "--time-limit", "60")
        self.connect().sendall(request_bytes()[:50])
        time.sleep(0.2)
        self.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(self.process.poll())
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(timeout=10), 0)

    def test_it_refuses_to_start_where_it_would_have_to_guess(self):
        model = self.copy(MODEL)
        self.assertIn("both be served", self.refuses_to_start(model, model))
        self.assertIn("no name for an address", self.refuses_to_start(self.copy(MODEL, "a b.l0gm")))
        self.assertIn("LibTorch", self.refuses_to_start(ROOT + "/tests/compact/graph/files/graph.l0gm"))
        self.assertIn("none.l0gm", self.refuses_to_start(self.folder + "/none.l0gm"))
        self.refuses_to_start(self.folder)
        self.refuses_to_start(model, "--max-rows", "0")
        self.refuses_to_start(model, "--unknown")
        self.refuses_to_start()


if __name__ == "__main__":
    unittest.main()
