"""How can runners on other machines write one trial log together, so that no row is lost and none counts twice?

    $ python3 collector.py --log trials.jsonl
    collecting into trials.jsonl (0 rows) at http://127.0.0.1:8080
    $ curl --data '{"task_id": "c1", "seed": 0, "config": "v2", "score": 1}' http://127.0.0.1:8080/trials
    {"accepted": 1}

POST /trials takes one JSON object, or NDJSON (curl --data-binary @rows.jsonl): all of it or nothing. Rows are checked
by the rules of trials.py and appended, one canonical line each; 202 is said once the disk has them. GET /health and
GET /stats tell how it goes. Refused, with {"error": why}: 400 a row that breaks a rule, 401 no token, 404, 405, 408 a
slow body, 409 a row that is there, 411 and 413 a body without a length or too long, 503 a disk that refuses.

With TRIAL_TOKEN in the environment, /trials and /stats want it, `Authorization: Bearer TOKEN`; without it, only
loopback addresses are served. It speaks plain HTTP, one request a connection, and does not limit their number: put a
reverse proxy with TLS before it, never the bare internet.

Reads and appends to LOG; a torn last line, which was never acknowledged, goes to LOG.torn on start. Exit status: 0
stopped by SIGTERM, 1 refused (one `error:` line), 2 bad usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import fcntl
import hmac
import ipaddress
import signal
import socket
import socketserver
import stat
import threading
import time
from collections import ChainMap
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Mapping, NamedTuple, Sequence

from harness import TOOL_VERSION, RunError, command_parser, decode, json_line, parse_json, run_command
from trials import UNEXPLAINED, Row, RowTwice, Score, add_row, check_row, read_lines, score_bound

FIELDS = ("task_id", "seed", "config", "score", "error", "cluster", "tags", "cost_usd", "latency_s", "tokens", "ts",
          "input_sha256")
METHODS = {"/trials": "POST", "/health": "GET", "/stats": "GET"}
MAX_BODY = 4 * 1024 * 1024  # bytes
TIMEOUT = 10.0  # seconds for a whole body, and of silence before it


class Refused(Exception):
    """An HTTP status other than 2xx, why, and headers that go with it."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] = {}):
        super().__init__(reason)
        self.status = status
        self.headers = headers


class Posted(NamedTuple):
    row: Row
    line: str  # as it will stand in the log
    where: str  # in the body, for errors


# === Rows ===


def canonical_line(row: dict[str, Any]) -> str:
    """Return a row as its one line: known fields in the format's order, then the others by name, in ASCII.

    >>> print(canonical_line({"score": 1, "note": "é", "config": "A", "seed": 0, "task_id": "c1"}), end="")
    {"task_id": "c1", "seed": 0, "config": "A", "score": 1, "note": "\\u00e9"}
    """
    return json_line({name: row[name] for name in (*FIELDS, *sorted(row.keys() - set(FIELDS))) if name in row})


def parse_body(body: bytes, score_range: tuple[Score, Score]) -> list[Posted]:
    """Return the rows of a request's body; raise RunError for the first that breaks a rule, alone or beside the others.

    In one thing it is stricter than the reader of logs: a null score needs its error, which the sender still knows.
    """
    broken: list[tuple[str, str]] = []
    try:
        values = [("body", parse_json(decode(body, "body"), "body"))]  # one object may be spread over lines
    except RunError:
        values = list(read_lines(body, "body", broken))
    if broken or not values:
        why = ": ".join(broken[0]) if broken else "body: no row"
        raise RunError(f"{why}; send one JSON object, or one on each line")
    posted = []
    known: dict[tuple[Any, ...], Any] = {}
    for where, value in values:
        row = check_row(value, where, score_range)
        if row.trial.reason == UNEXPLAINED:
            raise RunError(f"{where}: the score is null and there is no error; send the error beside it")
        add_row(known, row.config, row, where, where)
        posted.append(Posted(row, canonical_line(value), where))
    return posted


# === The log ===


class TrialLog:
    """A trial log that this process alone appends to.

    Raises RunError where it is in use, cannot be written, or holds what the reader would refuse.
    """

    def __init__(self, path: str, score_range: tuple[Score, Score]):
        self.path = path
        self.known: dict[tuple[Any, ...], Any] = {}
        self.configs: dict[str, dict[str, int]] = {}  # config: {"rows", "cases"}
        self.lines = 0
        self.unsound: str | None = None  # why nothing more can be appended
        self.lock = threading.Lock()
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if not stat.S_ISREG(os.fstat(self.fd).st_mode):
                raise RunError(f"{path} is not a file; name one")
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(score_range)
            folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
            os.fsync(folder)  # a file just made is lost with its folder's entry
            os.close(folder)
        except BlockingIOError:
            raise RunError(f"{path} is in use by another collector; stop that one, or name another log") from None
        except OSError as error:
            raise RunError(f"cannot use {path}: {error.strerror}; name a log that can be written") from None

    def _read(self, score_range: tuple[Score, Score]) -> None:
        with open(self.fd, "rb", closefd=False) as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        tail = data[whole:]
        broken: list[tuple[str, str]] = []
        if tail and list(read_lines(tail, self.path, broken)):
            self._write(b"\n")  # a whole row that lacks its line feed, as editors leave it
            data += b"\n"
        elif tail:
            with open(self.path + ".torn", "ab") as torn:
                torn.write(tail + b"\n")
                torn.flush()
                os.fsync(torn.fileno())
            os.ftruncate(self.fd, whole)
            os.fsync(self.fd)
            data = data[:whole]
            print(f"the last line was torn: its {len(tail)} bytes are now in {self.path}.torn", file=sys.stderr)
        broken.clear()
        new: dict[tuple[Any, ...], Any] = {}
        for where, value in read_lines(data, self.path, broken):
            row = check_row(value, where, score_range)
            add_row(new, row.config, row, where, where)
        if broken:
            raise RunError(f"{': '.join(broken[0])}; repair the log, or name another")
        self._learn(new, data.count(b"\n"))

    def _learn(self, new: Mapping[tuple[Any, ...], Any], lines: int) -> None:
        for key in new:  # as add_row makes them: a row has three parts, a case of a config two
            if len(key) == 3 or (len(key) == 2 and key not in self.known):
                count = self.configs.setdefault(key[0], {"rows": 0, "cases": 0})
                count["rows" if len(key) == 3 else "cases"] += 1
        self.known.update(new)
        self.lines += lines

    def append(self, rows: Sequence[Posted]) -> None:
        """Return once all rows are on the disk; raise RowTwice, RunError or OSError, and then none of them is there."""
        with self.lock:
            layered = ChainMap({}, self.known)
            for number, (row, _, where) in enumerate(rows, start=self.lines + 1):
                add_row(layered, row.config, row, where, f"{self.path}:{number}")
            self._write("".join(posted.line for posted in rows).encode())
            self._learn(layered.maps[0], len(rows))

    def _write(self, data: bytes) -> None:
        if self.unsound:
            raise OSError(self.unsound)
        here, there = os.fstat(self.fd), os.stat(self.path)
        if not os.path.samestat(here, there):
            raise OSError("the log was moved or replaced, start the collector again")
        try:
            while data:
                data = data[os.write(self.fd, data):]
            os.fsync(self.fd)
        except OSError:
            self.unsound = "half a row could not be taken back, start the collector again"
            os.ftruncate(self.fd, here.st_size)
            os.fsync(self.fd)
            self.unsound = None
            raise

    def stats(self) -> dict[str, Any]:
        """Return {"rows", "configs": {config: {"rows", "cases"}}} of what is on the disk."""
        with self.lock:
            configs = {config: dict(count) for config, count in sorted(self.configs.items())}
        return {"rows": sum(count["rows"] for count in configs.values()), "configs": configs}


# === HTTP ===


class Collector(ThreadingHTTPServer):
    """The server of one log. To close it waits for the requests under way, each within its time."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, family: int, address: Any, log: TrialLog, token: str, args: argparse.Namespace):
        self.address_family = family
        self.log = log
        self.token = token
        self.score_range: tuple[Score, Score] = tuple(args.score_range)
        self.max_body: int = args.max_body
        self.timeout_s: float = args.timeout
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer's own asks a name server, and may wait for it

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):  # those are a client that went away
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: a connection ends with its answer, so nothing unread is taken for a second request."""

    server_version = f"collector/{TOOL_VERSION}"
    sys_version = ""
    server: Collector

    def setup(self) -> None:
        self.timeout = self.server.timeout_s  # type: ignore[misc]  # the base class reads it per connection
        super().setup()

    def answer(self) -> None:
        try:
            self._send(*self._respond())
        except Refused as refused:
            self._send(refused.status, {"error": str(refused)}, refused.headers)
            self._drain()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def _respond(self) -> tuple[int, dict[str, Any]]:
        path, log = self.path.partition("?")[0], self.server.log
        if path not in METHODS:
            raise Refused(404, f"there is no {path}; there are {', '.join(METHODS)}")
        if self.command != METHODS[path]:
            raise Refused(405, f"{path} takes {METHODS[path]}", {"Allow": METHODS[path]})
        if path == "/health":
            return (503, {"error": log.unsound}) if log.unsound else (200, {"status": "ok"})
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")  # the bytes as they came
        if self.server.token and not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            raise Refused(401, "send the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        if path == "/stats":
            return 200, log.stats()
        body = self._body()
        try:
            rows = parse_body(body, self.server.score_range)
        except RunError as error:  # a row twice in one body is an error of the sender, not a row that is there
            raise Refused(400, str(error)) from None
        try:
            log.append(rows)
        except RunError as error:
            raise Refused(409 if isinstance(error, RowTwice) else 400, str(error)) from None
        except OSError as error:
            reason = f"{error.strerror or error}; nothing of it was kept, send it again later"
            print(f"{log.path}: {reason}", file=sys.stderr)
            raise Refused(503, reason, {"Retry-After": "5"}) from None
        return 202, {"accepted": len(rows)}

    def _body(self) -> bytes:
        lengths = set(self.headers.get_all("Content-Length", []))
        if not lengths or "Transfer-Encoding" in self.headers:
            raise Refused(411, "send the body in one piece, with its Content-Length")
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdigit()):
            raise Refused(400, "Content-Length is not one whole number")
        if len(length) > 15 or int(length) > self.server.max_body:
            raise Refused(413, f"the body is beyond {self.server.max_body} bytes; send fewer rows at once")
        deadline = time.monotonic() + self.server.timeout_s  # for all of it: drop by drop is slow, too
        parts = []
        left = int(length)
        while left:
            self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                parts.append(self.rfile.read1(left))
            except TimeoutError:
                raise Refused(408, f"the body took more than {self.server.timeout_s:g} s; send it again") from None
            if not parts[-1]:
                raise Refused(400, f"the body ended {left} bytes early")
            left -= len(parts[-1])
        return b"".join(parts)

    def _send(self, status: int, value: dict[str, Any], headers: Mapping[str, str] = {}) -> None:
        body = json_line(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _drain(self) -> None:
        """Read on for a moment: to close on unread bytes resets the connection, and the answer may be lost."""
        deadline = time.monotonic() + 1
        try:
            self.connection.shutdown(socket.SHUT_WR)
            while (left := deadline - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(65536):
                    return
        except OSError:
            pass  # the client has gone

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self._send(code, {"error": message or self.responses[code][0]})

    def log_message(self, format: str, *args: object) -> None:
        pass  # the sender is told; an access log is the reverse proxy's


# === Command line ===


def resolve(host: str, port: int, token: str) -> tuple[int, Any]:
    """Return the address family and address to bind; raise RunError where others could reach it without a token."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise RunError(f"cannot find the address {host!r}: {error}; give one of this machine with --host") from None
    if not token and not all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found):
        raise RunError(f"{host!r} is reached from other machines; set TRIAL_TOKEN to a secret, or stay on 127.0.0.1")
    return found[0][0], found[0][4]


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "collector.py")
    parser.add_argument("--log", required=True, help="the trial log to append to, made if it is not there")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8080, help="port to bind, 0 for a free one (default: %(default)s)")
    parser.add_argument("--score-range", nargs=2, type=score_bound, default=(0, 1), metavar=("LOW", "HIGH"),
                        help="what a score can be (default: 0 1)")
    parser.add_argument("--max-body", type=int, default=MAX_BODY, metavar="BYTES",
                        help="longest body taken (default: %(default)s bytes)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS",
                        help="how long a whole body may take (default: %(default)s s)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if not 0 <= args.port <= 65535 or args.max_body < 1 or not 0 < args.timeout < 1e6:
        parser.error("--port is 0 to 65535, --max-body and --timeout are above 0")
    token = os.environ.get("TRIAL_TOKEN", "").strip()
    family, address = resolve(args.host, args.port, token)
    log = TrialLog(args.log, tuple(args.score_range))
    try:
        server = Collector(family, address, log, token, args)
    except OSError as error:
        raise RunError(f"cannot bind {args.host} port {args.port}: {error.strerror}; give another --port") from None
    with server:
        # shutdown() waits for the loop that the signal interrupts, hence the thread.
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        host, port = str(server.server_address[0]), server.server_address[1]
        print(f"collecting into {args.log} ({log.stats()['rows']} rows) at "
              f"http://{f'[{host}]' if ':' in host else host}:{port}", file=sys.stderr, flush=True)
        server.serve_forever(poll_interval=0.1)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
