"""How can runners on other machines write one trial log together, so that no row is lost and none counts twice?

    $ python3 collector.py --log trials.jsonl
    collecting into trials.jsonl (0 rows) at http://127.0.0.1:8080
    $ curl --data '{"task_id": "c1", "seed": 0, "config": "v2", "score": 1}' http://127.0.0.1:8080/trials
    {"accepted": 1}

POST /trials takes one JSON object, or NDJSON (curl --data-binary @rows.jsonl): all of it or nothing, a crash included.
Rows are checked by the rules of trial_logs.py and appended, one line each; 202 is answered once the disk has them.
GET /health and GET /stats say how it goes. Refused, with {"error": why}: 400 a row that breaks a rule, 401 no token,
404 no such path, 405 another method, 408 a slow body, 409 a row that is there, 411 no length, 413 too long, 503 a disk
that refuses.

With TRIAL_TOKEN in the environment, /trials and /stats want it, `Authorization: Bearer TOKEN`; without it, only this
machine is served. Plain HTTP, connections without limit: put a reverse proxy with TLS before it.

Appends to LOG; what a crash cut short was never acknowledged and goes to LOG.torn on start. Where somebody removes,
replaces, cuts or writes to LOG, its rows and those to come go into a new LOG.….saved, which stderr names. Exit status:
0 stopped by SIGTERM, 1 refused (one `error:` line), 2 bad usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import hmac
import io
import re
import signal
import socket
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from core.files import STRICT, Appender, RunError, Timed, command_parser, decode, json_line, print_stderr, run_command
from core.texts import Json
from core.trial_logs import CheckedRow, Known, RowTwice, check_row, error_words, read_lines, score_bound
from core.trials import Score

METHODS = {"/trials": "POST", "/health": "GET", "/stats": "GET"}
MAX_BODY = 4 * 1024 * 1024  # bytes
MORE = b"\t"  # how a line begins that has more rows of its request behind it; to readers of JSON a tab is nothing

PostedRow = tuple[CheckedRow, str, str]  # a row, its line for the log, and its place in the body, for errors


class Refused(Exception):
    """A request that is answered with an HTTP status other than 2xx, and why: its two arguments."""


# === Rows ===


def parse_body(body: bytes, score_range: tuple[Score, Score], ignore_input: bool = False) -> list[PostedRow]:
    """Return the rows in a body; raise RunError for a bad one.

    Stricter than the reader of logs in one thing: a null score needs its error, which the sender still knows.
    """
    text = Json(io.StringIO(decode(body, "body")), "body", STRICT)
    earlier = Known(ignore_input)
    posted = []
    while text.next():
        where, value = text.where(), text.value()
        row = check_row(value, where, score_range)
        if row.trial.score is None and not error_words(value):
            raise RunError(f"{where}: the score is null and there is no error; send the error beside it")
        earlier.add(row.config, row, where)
        posted.append((row, json_line({"task_id": 0, **dict(sorted(value.items()))}), where))  # as all begin
    if not posted:
        raise RunError("body: no row; send one JSON object, or one on each line")
    return posted


# === The log ===


class TrialLog(Appender):
    """A trial log that this process alone appends to; RunError where that cannot be, or the reader would refuse it."""

    def __init__(self, path: str, score_range: tuple[Score, Score], ignore_input: bool = False):
        self.score_range, self.ignore_input = score_range, ignore_input
        self.accepted = Known(ignore_input)
        self.lock = threading.Lock()
        super().__init__(path, b'{"task_id"', self._check, mode=0o600)  # what is collected is nobody else's business

    def _check(self, lines: bytes) -> int:
        requests = io.BytesIO(lines).readlines()
        while requests and requests[-1].startswith(MORE):  # the rest of its request is not there
            requests.pop()
        lines = b"".join(requests)
        if b"\0" in lines or lines.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise RunError(f"{self.path} holds NUL bytes, as UTF-16 does, or is a JSON list; name another log")
        broken: list[tuple[str, str]] = []
        for where, value in read_lines(lines, self.path, broken):
            row = check_row(value, where, self.score_range)
            self.accepted.add(row.config, row, where)
        if broken:
            raise RunError(f"{': '.join(broken[0])}; repair the log, or name another")
        return len(lines)

    def settle(self, throughout: bool = False) -> None:
        """Go on in another file where somebody changed this one, and say so; throughout: look at every byte."""
        old_path, change = self.path, self.changed(throughout)
        if change:
            self.leave()
            print_stderr(f"{old_path} {change}; its rows, and those to come, are in {self.path}")

    def add(self, rows: Sequence[PostedRow]) -> None:
        """Return once all rows are on the disk; raise RowTwice, RunError or OSError, and then none of them is there."""
        with self.lock:
            self.settle()
            for row, _, where in rows:
                self.accepted.check(row.config, row, where)
            *before, last = (line.encode() for _, line, _ in rows)
            self.append(b"".join(MORE + line for line in before) + last)
            for row, *_ in rows:
                self.accepted.add(row.config, row, self.path)

    def stats(self) -> dict[str, Any]:
        """Return {"rows", "configs": {config: {"rows", "cases"}}} of what is on the disk."""
        with self.lock:
            rows = Counter(config for config, *_ in self.accepted.places)
            cases = Counter(config for config, *_ in self.accepted.kinds)
        return {"rows": rows.total(),
                "configs": {config: {"rows": rows[config], "cases": cases[config]} for config in sorted(rows)}}


# === HTTP ===


class Collector(socketserver.ThreadingTCPServer):
    """The server of one log. To close it waits for the requests under way, each within its time."""

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, log: TrialLog, token: str):
        self.log, self.token = log, token
        super().__init__((host, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away; those of the log are answered
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: a connection ends with its answer, so nothing unread is taken for a second request."""

    timeout = 10.0  # seconds for a whole head, then for a whole body
    server: Collector

    def setup(self) -> None:
        super().setup()
        self.timed = Timed(self.connection, self.timeout)  # the time for all of the head
        self.rfile = io.BufferedReader(self.timed)

    def answer(self) -> None:
        try:
            self._send(*self._respond())
        except Refused as refused:
            self.send_error(*refused.args)
        except RunError as error:
            self.send_error(400, str(error))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def _respond(self) -> tuple[int, dict[str, Any]]:
        path, server = self.path.partition("?")[0], self.server
        if path not in METHODS:
            raise Refused(404, f"there is no {path}; there are {', '.join(METHODS)}")
        if self.command != METHODS[path]:
            raise Refused(405, f"send {METHODS[path]} to {path}, not {self.command}")
        if path == "/health":
            return 200, {"status": "ok"}
        sent = self.headers.get("Authorization", "").encode("latin-1", "replace")  # the bytes as they came
        if server.token and not hmac.compare_digest(sent, f"Bearer {server.token}".encode()):
            raise Refused(401, "send the token: Authorization: Bearer TOKEN")
        return (200, server.log.stats()) if path == "/stats" else (202, {"accepted": self._collect(server.log)})

    def _collect(self, log: TrialLog) -> int:
        """Return how many rows of the body were added to the log."""
        rows = parse_body(self._body(), log.score_range, log.ignore_input)
        try:
            log.add(rows)
        except RowTwice as error:  # there already: a row twice in one body is an error of the sender
            raise Refused(409, str(error)) from None
        except OSError as error:
            reason = f"{error.strerror}; nothing of it was kept, send it again later"
            print_stderr(f"{log.path}: {reason}")
            raise Refused(503, reason) from None
        return len(rows)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not re.fullmatch("[0-9]+", length):
            raise Refused(411, "send the body in one piece, with its Content-Length")
        if len(length) > 15 or int(length) > MAX_BODY:
            raise Refused(413, f"the body is beyond {MAX_BODY} bytes; send fewer rows at once")
        self.timed.deadline = time.monotonic() + self.timeout
        try:
            body = self.rfile.read(int(length))
        except TimeoutError:
            raise Refused(408, f"the body took more than {self.timeout:g} s; send it again") from None
        if len(body) < int(length):
            raise Refused(400, f"the body ended {int(length) - len(body)} bytes early")
        return body

    def _send(self, status: int, value: dict[str, Any]) -> None:
        body = json_line(value).encode()
        self.connection.settimeout(self.timeout)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self._send(code, {"error": message or self.responses[code][0]})
        # Read on for a moment: to close on unread bytes resets the connection, and the answer may be lost.
        self.timed.deadline = time.monotonic() + 1
        with suppress(OSError):  # the client has gone
            self.connection.shutdown(socket.SHUT_WR)
            while self.timed.read(65536):
                pass

    def log_message(self, format: str, *args: object) -> None:
        pass  # the sender has the answer; an access log is the reverse proxy's


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "collector.py")
    parser.add_argument("--log", required=True, metavar="FILE", help="the trial log to append to, or to make")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind; one that other machines reach needs "
                        "TRIAL_TOKEN in the environment (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8080, help="port to bind, 0 for a free one (default: %(default)s)")
    parser.add_argument("--score-range", nargs=2, type=score_bound, default=(0, 1), metavar=("LOW", "HIGH"),
                        help="what a score can be (default: 0 1)")
    parser.add_argument("--ignore-input", action="store_true", help="let the rows of a case have several inputs, as "
                        "with the prompt in them; swapped ids then pass unseen")
    return parser


def open_server(args: argparse.Namespace) -> Collector:
    """Return a server of the log and address that the options name; raise RunError where that cannot be."""
    token = os.environ.get("TRIAL_TOKEN", "")
    if token.isspace() or not token.strip().isprintable():  # bytes that are no text come as halves of characters
        raise RunError("TRIAL_TOKEN is blank or not printable; set it to a secret, or take it out of the environment")
    if not token and args.host not in ("127.0.0.1", "localhost"):
        raise RunError(f"{args.host!r} is reached from other machines; set TRIAL_TOKEN to a secret, or keep 127.0.0.1")
    log = TrialLog(args.log, tuple(args.score_range), args.ignore_input)
    try:
        return Collector(args.host, args.port, log, token.strip())
    except (OSError, OverflowError, UnicodeError) as error:  # the last two: for a port, a name that cannot be one
        log.close()
        reason = str(error).rstrip(".")
        raise RunError(f"cannot bind {args.host} port {args.port}: {reason}; give another --host or --port") from None


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if not args.score_range[0] < args.score_range[1]:
        parser.error("--score-range: LOW is below HIGH")
    server = open_server(args)
    try:
        with server:
            # shutdown() waits for the loop that the signal interrupts, hence the thread.
            signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
            rows, port = server.log.stats()["rows"], server.server_address[1]
            print_stderr(f"collecting into {args.log} ({rows} rows) at http://{args.host}:{port}")
            server.serve_forever(poll_interval=0.1)
    finally:  # also where Ctrl-C ends it
        try:
            server.log.settle(throughout=True)
        except OSError as error:
            raise RunError(f"{args.log} was changed, and its rows cannot be saved: {error.strerror}; free disk space"
                           ) from None
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
