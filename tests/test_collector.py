"""Does the collector keep each row it said yes to, exactly once, whatever happens to it?"""

import contextlib
import errno
import http.client
import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter
from contextlib import suppress
from unittest import mock


import collector
from core.files import RunError
from core.trial_logs import RowTwice

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def row(task_id="c1", seed=0, config="A", score=1, **more):
    return {"task_id": task_id, "seed": seed, "config": config, "score": score, **more}


def ndjson(*rows):
    return "".join(json.dumps(each) + "\n" for each in rows)


class CollectorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "trials.jsonl")

    def lines(self):
        with open(self.log, "rb") as file:
            return file.read().decode("ascii").splitlines()

    def write(self, data):
        with open(self.log, "wb") as file:
            file.write(data)


class BodyTest(unittest.TestCase):
    def test_a_null_score_has_its_error_whatever_its_words(self):
        for words in ("null score without an error", "503", {"type": "Timeout"}):
            self.assertEqual(len(collector.parse_body(ndjson(row(score=None, error=words)).encode(), (0, 1))), 1)
        for none in ({}, {"error": None}, {"error": " "}, {"error": False}):
            with self.assertRaisesRegex(RunError, "body:1: the score is null and there is no error; send the error"):
                collector.parse_body(ndjson(row(score=None, **none)).encode(), (0, 1))


class ServerTest(CollectorTest):
    """Each test may start collectors of its own on a free port: in this process, or where that matters as a process."""

    def start(self, *options, token=""):
        """Return a collector that serves in this process; its port is self.port, what it said on stderr self.said."""
        args = collector.build_parser().parse_args(["--log", self.log, "--port", "0", *options])
        self.said = self.enterContext(mock.patch.object(sys, "stderr", io.StringIO()))
        with mock.patch.dict(os.environ, TRIAL_TOKEN=token):
            server = collector.open_server(args)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()

        def stop():
            if thread.is_alive():
                server.shutdown()
                thread.join()
                server.server_close()  # waits for the requests under way
                server.log.close()

        server.stop = stop
        self.addCleanup(stop)
        return server

    def test_a_connection_that_was_lost_is_not_told_and_a_bug_is(self):
        server = self.start()
        for error, told in ((OSError(9, "Bad file descriptor"), False), (TimeoutError(), False), (KeyError(1), True)):
            self.said.truncate(0)
            try:
                raise error
            except Exception:
                server.handle_error(None, ("127.0.0.1", 1))
            self.assertEqual(type(error).__name__ in self.said.getvalue(), told)

    def start_hasty(self):
        """Start a collector that takes 1000 bytes and 0.3 s a body."""
        self.enterContext(mock.patch.object(collector, "MAX_BODY", 1000))
        self.enterContext(mock.patch.object(collector.Handler, "timeout", 0.3))
        return self.start()

    def start_process(self):
        """Return a collector that serves as a process; its port is self.port."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # run with `&` it is ignored
        self.addCleanup(signal.signal, signal.SIGINT, before)
        process = subprocess.Popen(
            [sys.executable, "-I", "-W", "error", os.path.join(HERE, "collector.py"), "--log", self.log, "--port", "0"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "TRIAL_TOKEN": ""})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, 5)
        self.addCleanup(process.kill)
        said = []
        while not said or " at http://" not in said[-1]:
            said.append(process.stderr.readline())
            if not said[-1]:
                self.fail(f"collector did not start: {said}")
        self.port = int(said[-1].rpartition(":")[2])
        return process

    def ask(self, body=None, path="/trials", method=None, **headers):
        """Return the status and the JSON value of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            if body is not None and not isinstance(body, str):
                body = json.dumps(body)
            connection.request(method or ("GET" if body is None else "POST"), path, body and body.encode(),
                               {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or "null")
        finally:
            connection.close()

    def raw(self, data, end=False):
        """Return what comes back on a connection that sent these bytes, and then waits or ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(data)
            if end:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer.decode()

    def refused_start(self, *options, token=""):
        """Return the error of a collector that does not start."""
        with mock.patch.dict(os.environ, TRIAL_TOKEN=token), self.assertRaises(RunError) as caught:
            collector.main(["--log", self.log, "--port", "0", *options])
        return str(caught.exception)

    def test_a_refused_start_is_one_error_line_and_exit_status_1(self):
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "collector.py"), "--log", self.log, "--host", "0.0.0.0"],
            capture_output=True, text=True, timeout=5, env={**os.environ, "TRIAL_TOKEN": ""})
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aerror: '0.0.0.0' is reached from other machines; set TRIAL_TOKEN [^\n]*\n\Z")
        self.assertFalse(os.path.exists(self.log))

    def test_rows_are_checked_appended_once_and_counted(self):
        self.start()
        self.assertEqual(self.ask(row("c1", score=True, note="é\u2028")), (202, {"accepted": 1}))
        self.assertEqual(self.ask(ndjson(row("c2"), row(2**100, config="B", score=0.5), row("c2", 1))),
                         (202, {"accepted": 3}))
        self.assertEqual(self.ask(json.dumps(row("c2", 2, score=None, error="503"), indent=2)), (202, {"accepted": 1}))
        for again in (row("c1"), row("c1", "0"), row("c1", error="x")):
            status, answer = self.ask(again)
            self.assertEqual(status, 409)
            self.assertIn("trials.jsonl", answer["error"])
        self.assertEqual(self.ask(path="/stats"), (200, {"rows": 5, "configs": {
            "A": {"rows": 4, "cases": 2}, "B": {"rows": 1, "cases": 1}}}))
        self.assertEqual(self.ask(path="/health"), (200, {"status": "ok"}))
        self.assertEqual(self.lines(), [
            '{"task_id": "c1", "config": "A", "note": "\\u00e9\\u2028", "score": true, "seed": 0}',
            '\t{"task_id": "c2", "config": "A", "score": 1, "seed": 0}',  # more of its request follow
            '\t{"task_id": 1267650600228229401496703205376, "config": "B", "score": 0.5, "seed": 0}',
            '{"task_id": "c2", "config": "A", "score": 1, "seed": 1}',
            '{"task_id": "c2", "config": "A", "error": "503", "score": null, "seed": 2}'])

    def test_inputs_of_a_case_may_differ_where_that_is_wanted(self):
        self.start("--ignore-input")
        for config in "AB":
            self.assertEqual(self.ask(row(config=config, output="x", input=config))[0], 202)
        self.assertIn('"input": "B", "output": "x"', self.lines()[1])

    def test_bad_bodies_are_refused_with_the_reason_and_leave_nothing(self):
        self.start()
        self.ask(row("c0", cluster="s1", input="q", output={"a": "b"}))
        for body, reason in (
                (row(score=2), "outside [0, 1]"), (row(score="1"), "not a number"), (row(score=None), "send the error"),
                (row(task_id=1.5), "task_id"), ("[1]", "not an object"), ("nonsense", "not JSON"), (" \n", "no row"),
                (ndjson(row("n1"), row("n2", score=9)), "body:2: score 9"), ('{"a": 1, "a": 2}', "duplicated"),
                (ndjson(row("n1"), row("n1")), "body:2: config 'A'"), ("[" * 100000, "nested too deeply"),
                (json.dumps(row("n1"))[:-9] + "\n" + json.dumps(row("n2")), "body:1: not JSON"),
                (json.dumps(row("n1"))[:-10] + "\n" + json.dumps(row("n2")) + "}", "body:1: not JSON"),
                (row("c0", 1, cluster="s2"), "trials.jsonl"), (row("\ud800"), "surrogate"),
                (row("c0", config="B", input="r"), "--ignore-input"),
                ('{"score": ' + "9" * 5000 + "}", "thousands of digits")):
            status, answer = self.ask(body)
            self.assertEqual(status, 400, answer)
            self.assertIn(reason, answer["error"])
        self.assertEqual(self.ask(ndjson(row("n1"), row("c0")))[0], 409)  # one of them is there: none is taken
        self.assertEqual(len(self.lines()), 1)

    def test_other_requests_are_refused_by_their_status(self):
        self.start_hasty()
        self.assertEqual(self.ask(path="/")[0], 404)
        for body, path in ((None, "/trials"), ({}, "/stats"), ({}, "/health")):
            status, answer = self.ask(body, path=path)
            self.assertEqual(status, 405)
            self.assertIn(path, answer["error"])
        for method, status in ((b"HEAD", "501"), (b"PUT", "405"), (b"DELETE", "405")):
            self.assertEqual(self.raw(method + b" /health HTTP/1.1\r\n\r\n").split()[1], status)
        self.assertEqual(self.ask("x" * 1001)[0], 413)
        self.assertEqual(self.ask("x" * 20_000_000)[0], 413)
        for head, status in (("", 411), ("Transfer-Encoding: chunked\r\n", 411), ("Content-Length: -1\r\n", 411),
                             ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 411),
                             ("Content-Length: 1_0\r\n", 411), ("Content-Length: ²\r\n", 411),
                             (f"Content-Length: {'9' * 5000}\r\n", 413), ("Content-Length: 30\r\n", 408),
                             ("Content-Length: 0\r\n", 400)):
            answer = self.raw(f"POST /trials HTTP/1.1\r\nHost: x\r\n{head}\r\n{{".encode())
            self.assertEqual(answer.split()[1], str(status), (head[:40], answer))
            self.assertIn('{"error": "', answer)
        answer = self.raw(b"POST /trials HTTP/1.1\r\nContent-Length: 100\r\n\r\n{}\n", end=True)
        self.assertIn("ended 97 bytes early", answer)
        self.assertIn('{"error": "', self.raw(b"NONSENSE\r\n\r\n"))
        self.assertEqual(self.ask(row())[0], 202)

    def test_body_that_drips_is_slow(self):
        self.start_hasty()
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"POST /trials HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
            began = time.monotonic()
            connection.settimeout(0.05)
            answer = b""
            while not answer and time.monotonic() - began < 3:
                connection.sendall(b" ")
                try:
                    answer = connection.recv(100)
                except TimeoutError:
                    pass
        self.assertIn(b" 408 ", answer)

    def test_connections_that_drip_or_wait_do_not_keep_it_from_ending(self):
        server = self.start_hasty()
        with socket.create_connection(("127.0.0.1", self.port), timeout=5), \
                socket.create_connection(("127.0.0.1", self.port), timeout=5) as dripping:
            dripping.sendall(b"POST /trials HTTP/1.1\r\nX: ")
            ending = threading.Thread(target=server.stop)
            ending.start()
            dripping.settimeout(0.05)
            began = time.monotonic()
            with suppress(ConnectionError):
                while ending.is_alive() and time.monotonic() - began < 5:
                    dripping.sendall(b"x")
                    with suppress(TimeoutError):
                        if not dripping.recv(100):
                            break
            ending.join(5)
            self.assertFalse(ending.is_alive())

    def test_token_is_asked_for_and_compared(self):
        self.start("--host", "0.0.0.0", token="s3cret-ü\n")
        for given in (None, "Bearer wrong", "s3cret-ü", "Bearer ", "Bearer s3cret-ü x"):
            header = {"Authorization": given} if given else {}
            self.assertEqual(self.ask(row(), **header)[0], 401)
            self.assertEqual(self.ask(path="/stats", **header)[0], 401)
        right = "Bearer s3cret-ü".encode().decode("latin-1")
        self.assertEqual(self.ask(row(), Authorization=right)[0], 202)
        self.assertEqual(self.ask(path="/stats", Authorization=right)[0], 200)
        self.assertEqual(self.ask(path="/health")[0], 200)

    def test_other_addresses_are_refused_without_a_token(self):
        for host in ("0.0.0.0", "", "::", "192.0.2.1", "localhost.example"):
            self.assertIn("set TRIAL_TOKEN", self.refused_start("--host", host))
        self.assertIn("TRIAL_TOKEN is blank", self.refused_start(token=" "))  # who set it meant it to be wanted
        for low, high in ((1, 0), (0, 0)):
            with self.assertRaises(SystemExit) as stopped, contextlib.redirect_stderr(io.StringIO()):
                collector.main(["--log", self.log, "--score-range", str(low), str(high)])
            self.assertEqual(stopped.exception.code, 2)
        self.assertFalse(os.path.exists(self.log))
        for listed in ("[1]\n", "\ufeff \n[\n{}]\n"):
            with open(self.log, "w") as file:
                file.write(listed)
            self.assertIn("or is a JSON list; name another log", self.refused_start())
            with open(self.log) as file:
                self.assertEqual(file.read(), listed)
            os.unlink(self.log)
        self.assertIn("cannot bind 192.0.2.1 port 0: ", self.refused_start("--host", "192.0.2.1", token="x"))
        self.assertIn("give another --host or --port", self.refused_start("--port", "65536"))
        self.start("--host", "localhost")

    def test_a_token_that_no_header_can_carry_is_refused(self):
        for token in (b"\xff\xfe", b"a\nb", b"\x1b[31m"):
            self.assertIn("TRIAL_TOKEN", self.refused_start(token=os.fsdecode(token)))

    def test_second_collector_of_a_log_is_refused(self):
        self.start()
        with self.assertRaisesRegex(RunError, "in use by another recorder or collector"):
            collector.TrialLog(self.log, (0, 1))

    def test_torn_line_is_moved_aside_and_what_is_there_stays_refused(self):
        whole = ndjson(row("c1"), row("c2")).encode()
        for torn in (b'{"task_id": "c3", "se', json.dumps(row("c3")).encode()[:-1]):
            self.write(whole + torn)
            server = self.start()
            self.assertIn(f"were moved into {self.log}.torn", self.said.getvalue())
            self.assertEqual([self.ask(row(task_id))[0] for task_id in ("c1", "c2", "c3")], [409, 409, 202])
            with open(self.log + ".torn", "rb") as file:
                self.assertTrue(file.read().endswith(torn + b"\n"))
            self.assertEqual([json.loads(line)["task_id"] for line in self.lines()], ["c1", "c2", "c3"])
            server.stop()

    def test_log_that_the_reader_would_refuse_is_refused_by_line(self):
        for text, place in ((ndjson(row("c1"), row("c1")), ":2: config 'A'"), ("{\n" + ndjson(row()), ":1: not JSON"),
                            (ndjson(row("c1"), row("c2", score=7)), ":2: score 7")):
            self.write(text.encode())
            self.assertIn(place, self.refused_start())
            self.assertEqual(self.lines(), text.splitlines())

    def test_log_that_cannot_be_used_is_refused(self):
        with self.assertRaisesRegex(RunError, "cannot write .*: there is no such folder; make it, or name another"):
            collector.TrialLog(os.path.join(self.log, "none", "trials.jsonl"), (0, 1))

    def test_a_log_that_others_changed_is_left_and_all_rows_are_in_a_new_one(self):
        def overwrite():
            os.unlink(self.log)
            self.write(b"")

        def add_half_a_line():
            with open(self.log, "ab") as file:
                file.write(b'{"task_id": "half')

        for change, says in ((lambda: os.unlink(self.log), "was removed or"), (overwrite, "was removed or"),
                             (lambda: os.truncate(self.log, 0), "was cut or"), (add_half_a_line, "was cut or")):
            with self.subTest(says):
                server = self.start()
                known = set(os.listdir(self.folder))
                self.assertEqual(self.ask(row("c1"))[0], 202)
                change()
                before = self.lines() if os.path.exists(self.log) else None
                self.assertEqual([self.ask(row(name))[0] for name in ("c2", "c1", "c3")], [202, 409, 202])
                self.assertEqual(self.lines() if os.path.exists(self.log) else None, before)
                [saved] = set(os.listdir(self.folder)) - known
                with open(os.path.join(self.folder, saved)) as file:
                    self.assertEqual([json.loads(line)["task_id"] for line in file], ["c1", "c2", "c3"])
                with self.assertRaisesRegex(RunError, "in use by another recorder or collector"):
                    collector.TrialLog(os.path.join(self.folder, saved), (0, 1))
                server.stop()
                self.assertEqual(self.said.getvalue().count(f"{self.log} {says}"), 1)
                self.assertIn(f" are in {os.path.join(self.folder, saved)}\n", self.said.getvalue())
                self.write(b"")

    def test_a_log_with_as_long_a_name_as_there_can_be_is_saved_too(self):
        self.log = os.path.join(self.folder, "é" * 122 + ".jsonl")
        log = collector.TrialLog(self.log, (0, 1))
        log.add(collector.parse_body(json.dumps(row("c1")).encode(), (0, 1)))
        os.unlink(self.log)
        log.settle()
        [saved] = os.listdir(self.folder)
        self.assertEqual(log.path, os.path.join(self.folder, saved))
        log.close()

    def test_rows_that_cannot_be_saved_at_the_end_are_one_error(self):
        log = collector.TrialLog(self.log, (0, 1))
        self.addCleanup(log.close)
        server = mock.MagicMock(log=log, server_address=("127.0.0.1", 1))
        server.serve_forever.side_effect = KeyboardInterrupt
        os.unlink(self.log)
        with mock.patch.multiple(collector, open_server=mock.Mock(return_value=server), print_stderr=mock.DEFAULT), \
                mock.patch.object(signal, "signal"), \
                mock.patch.object(tempfile, "mkstemp", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            self.assertRaisesRegex(RunError, "its rows cannot be saved: No space", collector.main, ["--log", self.log])

    def test_no_row_is_taken_where_none_can_be_saved(self):
        self.start()
        os.unlink(self.log)
        with mock.patch.object(tempfile, "mkstemp", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            self.assertEqual(self.ask(row("c1"))[0], 503)
        self.assertEqual([self.ask(row("c1"))[0] for _ in range(2)], [202, 409])

    def test_a_file_that_is_no_log_is_refused_and_not_touched(self):
        rows, cases = ndjson(row("c1"), row("c2")).encode(), os.path.join(HERE, "cases-robustness.json")
        with open(cases, "rb") as file:
            cases = file.read()
        sealed = os.path.join(HERE, "recorded", "qwen-coder-v1.jsonl")
        with open(sealed, "rb") as file:
            sealed = file.read()
        for content in (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), b"notes", b"notes\n", b"notes\nmore",
                        b'{"comparison_version": "2"}', b'{\n "comparison_version": "2"\n}', cases, cases.rstrip(),
                        sealed, sealed[:5000], rows.decode().encode("utf-16"), rows.decode().encode("utf-16-le"),
                        rows.decode().encode("utf-16")[:-1], rows.decode().encode("utf-32"),
                        rows + b'{"task_id": "c3"}', bytes(100), b'{"seed": 1, "task_'):
            with self.subTest(content[:40]):
                self.write(content)
                with self.assertRaisesRegex(RunError, "trials.jsonl"):
                    collector.TrialLog(self.log, (0, 1))
            with open(self.log, "rb") as file:
                self.assertEqual(file.read(), content)
            self.assertEqual(os.listdir(self.folder), [os.path.basename(self.log)])

    def test_a_whole_last_row_gets_its_line_end_and_half_a_row_or_padding_is_moved_aside(self):
        rows = ndjson(row("c1"), row("c2")).encode()
        for rest, count in ((b"", 2), (json.dumps(row("c3")).encode(), 3), (b'{"task_id": "c3", "se', 2),
                            (bytes(50), 2), (b"notes", 2),
                            (b'{"config": "A", "ta', 2), (b"\t" + json.dumps(row("c3")).encode() + b"\n", 2),
                            (b"\xef\xbb\xbf"[:0], 2), (json.dumps(row("c3")).encode() + b"\r", 3)):
            with self.subTest(rest), mock.patch.object(sys, "stderr", io.StringIO()):
                self.write(rows + rest)
                log = collector.TrialLog(self.log, (0, 1))
                log.add(collector.parse_body(json.dumps(row("c4")).encode(), (0, 1)))
                log.close()
                again = collector.TrialLog(self.log, (0, 1))
                again.close()
                self.assertEqual((log.stats()["rows"], again.stats()["rows"]), (count + 1, count + 1))
                with open(self.log, "rb") as file:
                    self.assertTrue(file.read().startswith(rows))
                if count == 2 and rest:
                    with open(f"{self.log}.torn", "rb") as file:
                        self.assertTrue(file.read().endswith(rest.removesuffix(b"\n") + b"\n"))

    def test_a_new_log_is_for_its_owner_alone_and_an_old_one_keeps_its_mode(self):
        collector.TrialLog(self.log, (0, 1)).close()
        self.assertEqual(stat.S_IMODE(os.stat(self.log).st_mode), 0o600)
        os.chmod(self.log, 0o640)
        self.write(ndjson(row()).encode() + b"{")
        with mock.patch.object(sys, "stderr", io.StringIO()):
            collector.TrialLog(self.log, (0, 1)).close()
        for name in (self.log, f"{self.log}.torn"):
            self.assertEqual(stat.S_IMODE(os.stat(name).st_mode), 0o640)

    def test_a_byte_that_somebody_overwrote_is_noticed_at_the_end(self):
        for number, (ending, status) in enumerate(((signal.SIGTERM, 0), (signal.SIGINT, 130))):
            process = self.start_process()
            self.assertEqual(self.ask(row(f"c{number}"))[0], 202)
            kept = self.lines()
            with open(self.log, "r+b") as file:
                file.seek(13)
                file.write(b"x")
            process.send_signal(ending)
            self.assertEqual(process.wait(5), status)
            said = process.stderr.read().splitlines()[0]
            self.assertIn(f"{self.log} was cut or written to by somebody else; its rows, and those to come, are ", said)
            with open(said.rpartition(" in ")[2]) as file:
                self.assertEqual(file.read().splitlines(), kept)
            os.unlink(self.log)

    def test_sigterm_answers_what_is_under_way_and_stops(self):
        process = self.start_process()
        body = json.dumps(row("c1")).encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"POST /trials HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body))
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            connection.sendall(body)
            self.assertIn(b" 202 ", connection.recv(1000))
        self.assertEqual((process.wait(5), process.stderr.read(), len(self.lines())), (0, "", 1))

    def test_interrupt_exits_130(self):
        process = self.start_process()
        process.send_signal(signal.SIGINT)
        self.assertEqual((process.wait(5), process.stderr.read()), (130, "interrupted\n"))

    def test_rows_acknowledged_before_a_kill_are_there_exactly_once(self):
        acknowledged = []
        for kill in range(3):
            process = self.start_process()
            sent = threading.Event()

            def post(worker):
                for i in range(10_000):
                    rows = [row(f"{kill}-{worker}-{i}", seed, note="x" * 300) for seed in range(1 + 20 * (worker % 2))]
                    try:
                        if self.ask_quietly(ndjson(*rows)) == 202:
                            acknowledged.extend((each["task_id"], each["seed"]) for each in rows)
                    except (OSError, http.client.HTTPException):
                        return
                    if i > 6:
                        sent.set()

            threads = [threading.Thread(target=post, args=(worker,)) for worker in range(8)]
            for thread in threads:
                thread.start()
            sent.wait(3)
            process.kill()
            for thread in threads:
                thread.join()
            process.wait()
        self.start()
        found = [(each["task_id"], each["seed"]) for each in map(json.loads, self.lines())]
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(Counter(task_id for task_id, _ in found).values()), {1, 21})  # requests are whole
        self.assertGreater(len(acknowledged), 50)
        self.assertEqual(set(acknowledged) - set(found), set())
        for task_id, seed in acknowledged[::len(acknowledged) // 50]:
            self.assertEqual(self.ask(row(task_id, seed))[0], 409)

    def ask_quietly(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("POST", "/trials", body)
            return connection.getresponse().status
        finally:
            connection.close()


class DiskTest(CollectorTest):
    """A disk that refuses, in this process."""

    def setUp(self):
        super().setUp()
        self.trials = collector.TrialLog(self.log, (0, 1))
        self.addCleanup(self.trials.close)

    def append(self, *rows):
        self.trials.add(collector.parse_body(ndjson(*rows).encode(), (0, 1)))

    def test_half_a_write_is_taken_back_and_the_row_can_come_again(self):
        self.append(row("c1"))
        real = os.write

        def full(fd, data):
            if len(data) < 100:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(fd, data[:60])

        failing = mock.Mock(side_effect=[OSError(errno.EIO, "I/O error"), None])
        for name, broken in (("write", full), ("fsync", failing)):
            with mock.patch.object(os, name, broken):
                with self.assertRaises(OSError):
                    self.append(row("c2"), row("c3"))
            self.assertEqual((len(self.lines()), self.trials.stats()["rows"]), (1, 1))
        self.append(row("c3"), row("c2"))
        with self.assertRaises(RowTwice):
            self.append(row("c2"))
        self.assertEqual((len(self.lines()), self.trials.stats()["rows"]), (3, 3))

    def test_half_a_write_that_stays_closes_the_log(self):
        with mock.patch.object(os, "write", side_effect=OSError(errno.EIO, "I/O error")):
            with mock.patch.object(os, "ftruncate", side_effect=OSError(errno.EIO, "I/O error")):
                with self.assertRaises(OSError):
                    self.append(row("c1"))
        self.append(row("c2"))  # the next request takes it back first
        self.assertEqual([json.loads(line)["task_id"] for line in self.lines()], ["c2"])

    def test_one_of_many_that_send_the_same_row_at_once_is_reported_yes(self):
        said = []

        def send():
            try:
                said.append(self.append(row("c1")))
            except RowTwice:
                said.append(409)

        with mock.patch.object(os, "fsync", lambda fd: time.sleep(0.01)):
            threads = [threading.Thread(target=send) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual((sorted(map(str, said)), len(self.lines())), (["409"] * 7 + ["None"], 1))

    def test_rows_are_on_the_disk_before_append_returns(self):
        with mock.patch.object(os, "fsync") as fsync:
            self.append(row("c1"), row("c2"))
        fsync.assert_called_once()

    def test_batch_that_is_refused_leaves_no_trace(self):
        self.append(row("c1", cluster="s1"))
        for rows in ([row("c2", cluster="x"), row("c1")], [row("c2", cluster="x"), row("c1", 1, cluster="s2")]):
            with self.assertRaises(RunError):
                self.append(*rows)
        self.append(row("c2", cluster="y"))
        self.assertEqual(self.trials.stats(), {"rows": 2, "configs": {"A": {"rows": 2, "cases": 2}}})

    def test_request_that_was_cut_anywhere_leaves_no_row_after_a_restart(self):
        self.append(row("c1"), row("c2"))
        self.append(row("c3"), row("c4"), row("c5"))
        with open(self.log, "rb") as file:
            data = file.read()
        second = data.index(b'\t{"task_id": "c3"')
        for cut in (*range(0, len(data), 9), second - 1, second, second + 1, len(data) - 1, len(data)):
            path = f"{self.log}.{cut}"
            with open(path, "wb") as file:
                file.write(data[:cut])
            with mock.patch("builtins.print"), mock.patch.object(os, "fsync"):
                log = collector.TrialLog(path, (0, 1))
            log.close()
            rows = 5 if cut >= len(data) - 1 else 2 if cut >= second - 1 else 0  # a row may lack its line end
            self.assertEqual((log.stats()["rows"], os.path.getsize(path)),
                             (rows, {0: 0, 2: second, 5: len(data)}[rows]))
            whole = (0, second - 1, second, len(data) - 1, len(data))
            self.assertEqual(os.path.exists(path + ".torn"), cut not in whole)


if __name__ == "__main__":
    unittest.main()
