"""Does the recorder lose nothing, repeat nothing and invent nothing, whatever happens to it?

    $ python3 -m unittest test_bench

Time stands still here: clock, timer and pauses are given to bench.main, so that equal runs leave equal bytes. Servers
are sockets on the loopback, systems are objects of this file, and a death is an exception out of os.write after so
many bytes, save where a subprocess kills itself in earnest.
"""

import argparse
import collections
import contextlib
import errno
import fcntl
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import bench
import chat  # noqa: F401 (once, not anew in each test that puts back sys.modules)
from core import files, logs, trials
import harness
import model_triage  # noqa: F401
import triage_task  # noqa: F401
from harness import Answer, Incomplete, RunError, Unavailable
from tests.fake_server import MODEL_FAULTS, WEIGHTS, FakeServer, http

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(HERE, "bench.py")
DELIVERY = {"category": "delivery", "needs_human": False}
UNITS = [(f"c{i}", trial) for trial in (1, 2, 3) for i in range(3)]  # of the small case set, in recording order
BUG = 70  # stands for a traceback
PARSER = bench.build_parser()  # made once: it takes longer than a short run
UNBUFFERED = itertools.cycle(("", "1"))  # processes run in both modes of Python, in turn


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Result(NamedTuple):
    status: int
    out: str
    err: str


def bench_main(*args: str, terminal: bool = False, **injected: Any) -> Result:
    """Return what bench.main did, its exceptions told as files.run_command and Python tell them."""
    out, err = io.StringIO(), Terminal() if terminal else io.StringIO()
    injected = {"clock": lambda: 0.0, "timer": lambda: 0.0, "wait": lambda pause: None} | injected
    with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
          mock.patch.object(bench, "build_parser", lambda: PARSER)):
        try:
            status = bench.main(args, bench.Times(**injected))
        except (harness.CaseError, RunError) as error:
            status = 1
            print(f"error: {error}", file=sys.stderr)
        except Exception:  # noqa: BLE001 (a bug: the test looks at its traceback)
            status = BUG
            traceback.print_exc()
    return Result(status, out.getvalue(), err.getvalue())


def python(*args: str, shell: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Return what a Python process did, after a shell command in the same process such as `ulimit`."""
    command = ["/bin/sh", "-c", f'{shell or ":"}; exec "$@"', "sh", sys.executable, *args]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, check=False, text=True, timeout=30, **pipes | options)


class System:
    """A system without a server: answers by case and trial, and does `hook(number of the call, unit)` before."""

    name, version, mode, model = "scripted", "1", "offline", None
    prompt = tools = index = None

    def __init__(self, hook: Callable[[int, tuple[str, int]], Any] = lambda number, unit: None):
        self.hook, self.calls, self.lock = hook, [], threading.Lock()

    def respond(self, case: Any, trial: int) -> Answer:
        with self.lock:
            self.calls.append((case.id, trial))
            number = len(self.calls)
        self.hook(number, (case.id, trial))
        return Answer(DELIVERY | {"needs_human": trial % 2 == 0}, {"number": int(case.id[1:])})


def failing(error: BaseException, at: int) -> System:
    """Return a system that raises this from its call number `at` on."""
    def hook(number: int, unit: Any) -> None:
        if number >= at:
            raise error
    return System(hook)


class Folder(unittest.TestCase):
    """A folder with a small case set, and commands that record it."""

    trials = 3

    def setUp(self) -> None:
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # fsync costs nothing there
        self.folder = self.enterContext(tempfile.TemporaryDirectory(dir=fast))
        self.cases, self.log, self.out = (self.path(name) for name in ("cases.json", "log.jsonl", "run.json"))
        self.write_cases()
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run with `&` ignores it
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write_cases(self, count: int = 3, **changed: str) -> None:
        cases = [{"id": f"c{i}", "split": "dev", "input": {"text": f"Where is parcel {i}?"}, "expected": DELIVERY,
                  "tags": {"source": f"s{i}"}} for i in range(count)]
        with open(self.cases, "w") as file:
            json.dump({"name": "small", "version": "1", **changed, "cases": cases}, file)

    def record(self, *more: str, system: Any = None, log: str | None = None, **injected: Any) -> Result:
        """Return the result of bench.main with this system: an object, or a name."""
        named = system if isinstance(system, str) else "scripted:system"
        module = types.SimpleNamespace(system=System() if system is None else system)
        with mock.patch.dict(sys.modules, {"scripted": module}):
            return bench_main("--cases", self.cases, "--system", named, "--trials", str(self.trials),
                              "--log", log or self.log, "--out", self.out, *more, **injected)

    def save(self, data: bytes) -> None:
        with open(self.log, "wb") as file:
            file.write(data)

    def bytes(self, path: str | None = None) -> bytes:
        with open(path or self.log, "rb") as file:
            return file.read()

    def rows(self) -> list[dict[str, Any]]:
        """Return the trials of a log that is whole, sealed and holds each trial once, in recording order."""
        rows = logs.read_log(self.log).rows
        units = [(f"c{i}", trial) for trial in range(1, self.trials + 1) for i in range(3)]
        self.assertEqual(sorted((row["case_id"], row["trial"]) for row in rows), sorted(units))
        return rows

    def assert_refused(self, result: Result, *words: str) -> None:
        self.assertEqual((result.status, result.out), (1, ""))
        self.assertEqual(result.err.count("error: "), 1, result.err)
        for word in words:
            self.assertIn(word, result.err)


class OrderTest(Folder):
    def test_every_case_comes_once_before_any_comes_again(self):
        system = System()
        self.record(system=system)
        self.assertEqual(system.calls, UNITS)

    def test_shards_partition_the_attempts_whatever_their_number(self):
        whole = bench.attempts_of(range(7), 3, (1, 1))
        for n in range(1, 25):
            shards = [bench.attempts_of(range(7), 3, (k, n)) for k in range(1, n + 1)]
            self.assertEqual(sorted(itertools.chain(*shards)), sorted(whole))

    def test_joined_shards_equal_the_whole_run(self):
        self.record()
        whole = harness.read_record(self.out)
        paths = []
        for k in (1, 2, 3, 4):
            paths.append(self.path(f"shard{k}.jsonl"))
            result = self.record("--shard", f"{k}/4", log=paths[-1])
            self.assertEqual(result.out, f"wrote {paths[-1]}, shard {k}/4; join the shards with harness.py replay\n")
        joined = harness.replay([logs.read_log(path) for path in paths], harness.load_cases(self.cases),
                                harness.load_task("triage_task"))
        self.assertEqual((joined["summary"], joined["results"]), (whole["summary"], whole["results"]))

    def test_a_shard_without_units_is_a_whole_log_too(self):
        self.assertEqual(self.record("--shard", "12/12").status, 0)
        self.assertEqual(logs.read_log(self.log).rows, [])

    def test_workers_give_the_record_that_one_gives(self):
        self.trials = 12
        records = []
        for workers in ("1", "4", "99"):
            log = self.path(f"{workers}.jsonl")
            self.assertEqual(self.record("--workers", workers, log=log).status, 0)
            records.append(harness.read_record(self.out)["results"])
        self.assertEqual(records[0], records[1])
        self.assertEqual(records[0], records[2])

    def test_workers_are_under_way_together_and_not_more_than_asked(self):
        together = threading.Barrier(3, timeout=10)  # breaks, and the run with it, unless three meet
        self.trials = 4
        most = []

        class Counting(System):
            now = 0

            def respond(self, case, trial):
                with self.lock:
                    self.now += 1
                    most.append(self.now)
                answer = super().respond(case, trial)
                with self.lock:
                    self.now -= 1
                return answer

        self.assertEqual(self.record("--workers", "3", system=Counting(lambda *_: together.wait())).status, 0)
        self.assertEqual(max(most), 3)


# === Faults of a server ===


SERVER_FAULTS = ("refused", "reset", "closed", "timeout", "cut short", "not JSON", "error in a 200", 429, 500, 502, 503)
POSITIONS = (1, 5, 9)  # of 9 requests: the first, a middle and the last one


class FaultTest(Folder):
    def serve(self, cues: dict[int, Any] | None = None) -> FakeServer:
        server = FakeServer(cues)
        self.addCleanup(server.close)
        self.enterContext(mock.patch.dict(os.environ, {"OLLAMA_HOST": server.host}))
        if os.path.exists(self.log):
            os.unlink(self.log)
        return server

    def record(self, *more: str, **injected: Any) -> Result:
        return super().record(*more, system="model_triage:fake:1b/v2", **injected)

    def outputs(self) -> list[Any]:
        return [row.get("output") for row in harness.read_record(self.out)["results"]]

    def faultless(self) -> list[Any]:
        self.serve()
        self.assertEqual(self.record().status, 0)
        return self.outputs()

    def test_a_fault_of_the_server_is_tried_again_and_counted(self):
        expected = self.faultless()
        for cue, position in zip(SERVER_FAULTS, itertools.cycle(POSITIONS)):
            with self.subTest(cue=cue, position=position):
                server, pauses = self.serve({position: cue}), []

                def wait(pause, server=server, pauses=pauses, cue=cue):
                    pauses.append(pause)
                    if cue == "refused":
                        server.reopen()

                result = self.record("--timeout", "1" if cue == "timeout" else "10", wait=wait)
                self.assertEqual((result.status, len(pauses)), (0, 1), result.err)
                self.assertEqual(self.outputs(), expected)
                retries = [row["metadata"].get("retries", 0) for row in self.rows()]
                self.assertEqual(retries, [int(number == position) for number in range(1, 10)])
                self.assertEqual(len(self.rows()[position - 1]["metadata"]["retried_after"]), 1)
                self.assertEqual(len(server.posts), 9 + (cue != "refused"))

    def test_a_fault_of_the_model_is_recorded_as_incomplete_and_not_repeated(self):
        for (cue, (reason, content)), position in zip(MODEL_FAULTS.items(), itertools.cycle(POSITIONS)):
            with self.subTest(cue=cue, position=position):
                server = self.serve({position: cue})
                result = self.record(wait=self.fail)
                self.assertEqual((result.status, len(server.posts)), (0, 9), result.err)
                row = self.rows()[position - 1]
                self.assertEqual((row["error"]["type"], row["metadata"]["reply"]), (cue, content))
                self.assertEqual(row["metadata"]["done_reason"], reason)
                self.assertIn("1 incomplete", result.out)
                self.assertRegex(result.err, rf"warning: 1 of 9 trials: incomplete, {cue}: .* "
                                             rf"\(first: case 'c{(position - 1) % 3}'")

    def test_warnings_are_shown_even_where_progress_is_not(self):
        self.serve({2: "context", 3: "NotJSON", 4: "NotJSON", 5: "context"})
        result = self.record("--quiet")
        self.assertEqual(result.err.count("\n"), 2, result.err)
        self.assertIn("warning: 2 of 9 trials: incomplete, NotJSON: ", result.err)
        self.assertRegex(result.err, r"warning: 2 of 9 trials: .* it may be cut \(first: case 'c1' trial 1\)")

    def test_another_refusal_stops_at_once_with_the_server_s_words(self):
        for cue, position in itertools.product((400, 404), POSITIONS):
            with self.subTest(cue=cue, position=position):
                server = self.serve({position: cue})
                result = self.record(wait=self.fail)
                self.assert_refused(result, f"cue {cue}", f"case 'c{(position - 1) % 3}'",
                                    f"{position - 1} of 9 trials are kept", f"--log {self.log} --resume")
                self.assertEqual(len(server.posts), position)

    def test_spent_retries_stop_the_run_and_resuming_finishes_it(self):
        expected = self.faultless()
        for position in POSITIONS:
            with self.subTest(position=position):
                server = self.serve(dict.fromkeys(range(position, position + 4), 503))
                result = self.record("--retries", "3")
                self.assert_refused(result, '503 {"error": "cue 503"}, after 3 retries',
                                    f"{position - 1} of 9 trials are kept", "--resume")
                self.assertNotIn(b"cue 503", self.bytes())
                kept = self.bytes()
                self.assertEqual(self.record("--resume").status, 0)
                self.assertTrue(self.bytes().startswith(kept))
                self.assertEqual((self.outputs(), len(server.posts)), (expected, 9 + 4))

    def test_what_others_finish_is_kept_when_one_worker_is_refused(self):
        self.serve({5: 404})
        result = self.record("--workers", "3")
        rows = logs.parse_log(self.bytes(), self.log).rows
        self.assert_refused(result, "cue 404", f"{len(rows)} of 9 trials are kept")
        self.assertGreaterEqual(len(rows), 4)

    def test_a_model_that_changed_under_way_is_noted_and_refused(self):
        """At the end, after a retry and every so many trials, also where it was changed back in between."""
        def lingers(server):
            server.loaded = [("fake:1b", "ef56" * 16)]

        for what, change, words in (
                ("weights", lambda server: server.swap("cd34" * 16), ("fake:1b@1d961d961d96", "fake:1b@cd34cd34cd34")),
                ("template", lambda server: server.shown.update(template="{{ . }}"), ("settings.model.template",)),
                ("version", lambda server: setattr(server, "version", "0.2"), ("server.version", '"0.1"', '"0.2"')),
                ("swapped and back", lingers, ("server.loaded", "ef56ef56ef56"))):
            looks = ((None, {}, 9), ("retry", {5: 503}, 5), ("looks", {}, 6))
            for end, more, rows in looks if what in ("weights", "swapped and back") else looks[1:2]:
                with self.subTest(what=what, end=end):
                    server = self.serve(more)
                    server.cues[4] = lambda server=server, change=change: change(server)
                    with mock.patch.object(bench, "LOOK_EVERY", 6 if end == "looks" else 100):
                        result = self.record()
                    self.assert_refused(result, "the model changed while it was recorded", *words)
                    self.assertNotIn("--resume", result.err)
                    kept = self.bytes()
                    self.assertEqual((kept.count(b'"type": "trial"'), json.loads(kept.splitlines()[-2])["type"]),
                                     (rows, "changed"))
                    with self.assertRaisesRegex(RunError, "the model changed while it was recorded: .*differ in"):
                        logs.read_log(self.log)
                    again = "changed" if what == "swapped and back" else "differ in"
                    self.assert_refused(self.record("--resume"), again)
                    self.assertEqual(self.bytes(), kept)

    def test_what_is_under_way_when_the_model_has_changed_is_not_added_to_the_closed_log(self):
        class Changed(System):
            looks = 0

            def prepare(self):
                self.looks += 1
                return {"host": "h", "version": str(min(self.looks, 2))}

        def hook(number: int, unit: Any) -> None:
            if unit == ("c1", 1):
                under_way.set()
                while b'"type": "end"' not in self.bytes():
                    time.sleep(0.001)
            elif number < 3:
                under_way.wait(10)
                raise Unavailable("503 busy")  # so that the server is looked at

        under_way = threading.Event()
        result = Folder.record(self, "--workers", "2", system=Changed(hook))
        self.assert_refused(result, "the model changed while it was recorded", "server.version")
        kinds = [json.loads(line)["type"] for line in self.bytes().splitlines()]
        self.assertEqual(kinds, ["header", "trial", "changed", "end"])

    def test_where_no_server_is_the_command_ends_at_once_quiet_or_not(self):
        self.serve().close()
        for more in ((), ("--quiet",)):
            result = self.record(*more, wait=self.fail)
            self.assert_refused(result, "the server of model-triage-fake:1b: ", "(OLLAMA_HOST)",
                                "Connection refused")
            self.assertEqual((result.err.count("\n"), os.listdir(self.folder)), (1, ["cases.json"]))

    def test_a_manifest_made_anew_of_the_same_content_is_no_change(self):
        server = self.serve()
        server.cues[4] = lambda: server.models.update({"fake:1b": "cd34" * 16})
        self.assertEqual(self.record().status, 0)

    def test_a_look_that_finds_no_server_after_a_retry_is_tried_again(self):
        server = self.serve({4: 503})
        server.cues[5] = lambda: setattr(server, "broken", http(503, b"busy"))
        self.assertEqual(self.record(wait=lambda pause: setattr(server, "broken", None)).status, 0)

    def test_a_server_gone_before_the_last_check_of_the_weights_leaves_a_log_to_resume(self):
        server = self.serve()
        server.cues |= {9: server.listener.close, 10: "no more"}
        self.assert_refused(self.record(), "9 of 9 trials are kept", "--resume")
        self.assertIsNone(logs.parse_log(self.bytes(), self.log).end)
        server.reopen()
        self.assertEqual(self.record("--resume").status, 0)
        self.assertEqual((len(self.rows()), len(server.posts)), (9, 9))

    def test_resuming_with_other_weights_or_another_server_version_is_refused(self):
        server = self.serve({4: 404})
        self.record()
        kept = self.bytes()
        server.swap("cd34" * 16)
        self.assert_refused(self.record("--resume"), "fake:1b@1d961d961d96", "fake:1b@cd34cd34cd34")
        server.swap(WEIGHTS)
        server.version = "0.2"
        self.assert_refused(self.record("--resume"), "server", '"0.1"', '"0.2"')
        self.assertEqual((self.bytes(), len(server.posts)), (kept, 4))
        server.version = "0.1"
        self.assertEqual(self.record("--resume").status, 0)

    def test_shards_of_the_same_weights_made_twice_join_and_of_other_templates_do_not(self):
        paths = []
        for k, digest, template in ((1, "ab12", "{{ .Prompt }}"), (2, "cd34", "{{ .Prompt }}"), (2, "ab12", "{{ . }}")):
            server = self.serve()
            server.models["fake:1b"], server.shown["template"] = digest * 16, template
            paths.append(self.path(f"{len(paths)}.jsonl"))
            self.assertEqual(self.record("--shard", f"{k}/2", "--workers", str(k), log=paths[-1]).status, 0)
        whole = [logs.read_log(path) for path in paths]
        cases, task = harness.load_cases(self.cases), harness.load_task("triage_task")
        harness.replay(whole[:2], cases, task)
        with self.assertRaisesRegex(RunError, "differ in settings.model.template"):
            harness.replay(whole[::2], cases, task)

    def test_workers_are_in_header_and_record_and_may_differ_on_resuming(self):
        self.serve({4: 404})
        self.record("--workers", "2")
        self.assertEqual(self.record("--resume").status, 0)
        self.assertEqual(logs.read_log(self.log).header["workers"], 2)
        self.assertEqual(harness.read_record(self.out)["manifest"]["workers"], 2)

    def test_seeds_per_case_are_sent_recorded_named_and_checked(self):
        server = self.serve()
        self.assertEqual(self.record("--seeds", "per-case").status, 0)
        rows = self.rows()
        seeds = {(row["case_id"], row["trial"]): row["seed"] for row in rows}
        for (case_id, trial), seed in seeds.items():
            digest = hashlib.sha256(f"{case_id}\0{trial}".encode()).hexdigest()
            self.assertEqual(seed, int(bin(int("1" + digest, 16))[3:34], 2))
        self.assertEqual([body["options"]["seed"] for body in server.posts], [row["seed"] for row in rows])
        self.assertEqual(len(set(seeds.values())), 9)
        record = harness.read_record(self.out)
        self.assertEqual((logs.read_log(self.log).header["seeds"], record["manifest"]["seeds"]), ("per-case",) * 2)
        trials.from_records((record, record), harness.load_cases(self.cases))

        whole = self.bytes()
        self.assert_refused(self.record("--resume"), "seeds", "per-case", "nothing")      # another rule, another run
        for rule, said in ((b'"by-trial"', "has seed [0-9]+, not seed 1001; it was changed"),
                           (b'"by-day"', "seeds 'by-day' is none of by-trial, per-case")):
            self.save(whole.replace(b'"seeds": "per-case"', b'"seeds": ' + rule))
            with self.assertRaisesRegex(RunError, said):
                logs.parse_log(self.bytes(), self.log)
        os.unlink(self.log)
        self.record()
        self.assertEqual({row["seed"] for row in self.rows()}, {1001, 1002, 1003})
        by_trial = harness.read_record(self.out)
        self.assertNotIn("seeds", by_trial["manifest"])
        with self.assertRaisesRegex(RunError, "with the same seeds"):
            trials.from_records((record, by_trial), harness.load_cases(self.cases))

    def test_seeds_per_case_need_a_system_that_takes_the_rule(self):
        live = System()
        live.mode = "live"
        self.assert_refused(Folder.record(self, "--seeds", "per-case", system=live), "no attribute seeds")
        self.assertEqual(Folder.record(self, "--seeds", "per-case", system=System()).status, 0)

    def test_a_run_may_go_on_with_another_server_of_the_same_version(self):
        first = self.serve({4: 404})
        self.record()
        second = FakeServer()
        self.addCleanup(second.close)
        with mock.patch.dict(os.environ, {"OLLAMA_HOST": second.host}):
            self.assertEqual(self.record("--resume").status, 0)
        servers = [row["metadata"]["server"] for row in self.rows()]
        self.assertEqual(servers, [first.host] * 3 + [second.host] * 6)


class PauseTest(unittest.TestCase):
    def patient(self, failures: int, retries: int, jitter: float = 0.0, stop: threading.Event | None = None,
                asked: float | None = None) -> Any:
        """Return ((outcome, reasons), pauses) of work that fails so many times before it succeeds."""
        left, pauses = iter(range(failures)), []

        def work() -> int:
            if next(left, None) is not None:
                raise Unavailable("503 busy", asked)
            return 1

        args = argparse.Namespace(retries=retries, quiet=True)
        recorder = bench.Recorder(args, None, None, bench.Times(lambda: 0.0, lambda: 0.0, pauses.append))
        recorder.stop = stop or recorder.stop
        with (mock.patch.object(random, "uniform", lambda low, high: high - jitter * (high - low)),
              contextlib.redirect_stderr(io.StringIO())):
            return recorder.tried(work, "case c"), pauses

    def test_pauses_double_up_to_a_minute(self):
        self.assertEqual(self.patient(9, 9)[1], [1, 2, 4, 8, 16, 32, 60, 60, 60])
        self.assertEqual(self.patient(1100, 1100)[1][-1], 60)  # a weekend: 2 ** 1024 is no float

    def test_jitter_shortens_a_pause_by_half_at_most(self):
        self.assertEqual(self.patient(3, 3, jitter=1.0)[1], [0.5, 1, 2])
        self.assertEqual(self.patient(3, 3, jitter=0.5)[1], [0.75, 1.5, 3])

    def test_a_pause_that_the_server_asks_for_is_kept_up_to_a_minute(self):
        self.assertEqual(self.patient(5, 5, jitter=1.0, asked=3)[1], [3, 3, 3, 4, 8])
        self.assertEqual(self.patient(2, 2, asked=3600)[1], [60, 60])
        self.assertEqual(self.patient(2, 2, asked=-5)[1], [1, 2])

    def test_reasons_are_reported_and_are_in_the_metadata(self):
        self.assertEqual(self.patient(2, 2)[0], (1, ["503 busy", "503 busy"]))
        self.assertEqual(self.patient(0, 2)[0], (1, []))
        test = Folder()
        test.setUp()
        self.addCleanup(test.doCleanups)
        left = iter([1, 2])

        def hook(number: int, unit: Any) -> None:
            if unit == ("c1", 2) and next(left, None):
                raise Unavailable("503 busy")

        self.assertEqual(test.record(system=System(hook)).status, 0)
        self.assertEqual([row["metadata"] for row in test.rows() if row["trial"] == 2], [
            {"number": 0}, {"number": 1, "retries": 2, "retried_after": ["503 busy"] * 2}, {"number": 2}])

    def test_spent_retries_are_reported(self):
        with self.assertRaisesRegex(RunError, "^case c: 503 busy, after 2 retries; start the server, or wait for it$"):
            self.patient(3, 2)

    def test_the_first_and_the_last_look_at_the_server_are_tried_again(self):
        class Looked(System):
            looks = 0

            def prepare(self):
                self.looks += 1
                if self.looks in self.fails:
                    raise Unavailable("503 busy", 7)
                return {"host": "h", "version": "1"}

        for fails, status, waits in (((1, 2), 0, [7, 7]), ((2, 3), 0, [7, 7]), ((1, 2, 3), 1, [7, 7]), ((), 0, []),
                                     ((2, 3, 4), 1, [7, 7])):
            with self.subTest(fails=fails):
                test, system, pauses = Folder(), Looked(), []
                test.setUp()
                system.fails = fails
                result = test.record("--retries", "2", system=system, wait=pauses.append)
                self.assertEqual((result.status, pauses), (status, waits), result.err)
                if status:
                    test.assert_refused(result, "the server of scripted: 503 busy, after 2 retries")
                    self.assertEqual(len(system.calls), 9 * (fails[0] > 1))
                    system.fails = ()
                    self.assertEqual(test.record("--resume", system=system).status, 0)
                test.rows()
                test.doCleanups()

    def test_nobody_tries_on_in_a_run_that_stops(self):
        stop = threading.Event()
        stop.set()
        with self.assertRaisesRegex(Unavailable, "503 busy"):
            self.patient(1, 5, stop=stop)

    def test_a_pause_ends_when_another_worker_fails(self):
        class Two(System):
            def respond(self, case, trial):
                if case.id == "c1":
                    raise Unavailable("503 busy")  # would pause for seconds
                paused.wait(10)
                raise RunError("answers 404")

        paused = threading.Event()
        test = Folder()
        test.setUp()
        self.addCleanup(test.doCleanups)
        with mock.patch.object(bench, "FIRST_PAUSE_S", 600), mock.patch.object(bench, "LONGEST_PAUSE_S", 600), \
                mock.patch.object(bench.Progress, "retried", lambda self, reason: paused.set()):
            result = test.record("--workers", "2", system=Two(), wait=None)
        test.assert_refused(result, "case 'c0' trial 1: answers 404; 0 of 9 trials are kept")


# === Resuming ===


class ResumeTest(Folder):
    def stop_after(self, count: int) -> bytes:
        """Return the bytes of a log whose system broke down after so many trials."""
        self.record(system=failing(RunError("answers 404"), count + 1))
        return self.bytes()

    def test_only_what_is_missing_is_run_in_the_order_of_a_fresh_run(self):
        kept, system = self.stop_after(4), System()
        result = self.record("--resume", system=system)
        self.assertEqual(system.calls, UNITS[4:])
        self.assertTrue(self.bytes().startswith(kept))
        self.assertIn("scripted 1: 5 of 9 trials to record into", result.err)
        self.assertEqual(len(self.rows()), 9)

    def test_a_file_in_the_place_of_the_record_is_found_before_anything_is_asked(self):
        kept, system = self.stop_after(4), System()
        with open(self.out, "w") as file:
            file.write("# a README")
        self.assert_refused(self.record("--resume", system=system), "a file of another kind")
        self.assertEqual((self.bytes(), system.calls), (kept, []))

    def test_gaps_in_the_middle_are_filled_too(self):
        self.record()
        lines = self.bytes().splitlines(keepends=True)
        self.save(b"".join(lines[:1] + lines[8:2:-2]))
        system = System()
        self.assertEqual(self.record("--resume", system=system).status, 0)
        self.assertEqual(system.calls, [unit for i, unit in enumerate(UNITS) if i not in (7, 5, 3)])
        self.rows()

    def test_a_torn_last_line_is_moved_aside_and_its_trial_recorded_again(self):
        kept = self.stop_after(4)
        self.save(kept + b'{"type": "trial", "case_id": "c1", "tri')
        result = self.record("--resume")
        self.assertIn(f"its last 39 bytes were not finished, and were moved into {self.log}.torn", result.err)
        self.assertEqual(self.bytes(f"{self.log}.torn"), b'{"type": "trial", "case_id": "c1", "tri\n')
        self.assertTrue(self.bytes().startswith(kept))
        self.rows()

    def test_a_whole_last_line_without_its_end_is_kept(self):
        for count in (0, 4, 9):
            kept, system = self.stop_after(count) if count < 9 else self.record() and self.bytes(), System()
            self.save(kept[:-1])
            self.assertEqual(self.record("--resume", system=system).status, 0)
            self.assertTrue(self.bytes().startswith(kept))
            self.assertEqual(system.calls, UNITS[count:])
            self.rows()
            self.assertFalse(os.path.exists(f"{self.log}.torn"))
            os.unlink(self.log)

    def test_a_grader_that_fails_stops_nothing_and_its_log_can_be_graded_once_it_is_mended(self):
        module = self.path("own_task.py")
        text = ("def check_expected(value): pass\ndef check_answer(value): pass\n"
                "GRADERS = {'g': ('1', lambda expected, answer: %s)}\n")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        self.addCleanup(sys.modules.pop, "own_task", None)
        os.chdir(self.folder)
        for grader in ("1 / 0 if answer['needs_human'] else True", "True"):
            with open(module, "w") as file:
                file.write(text % grader)
            sys.modules.pop("own_task", None)
            if grader == "True":
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(harness.main(["replay", self.log, "--cases", self.cases, "--out", self.out,
                                                   "--task-changed"]), 0)
            else:
                result = self.record("--task", "own_task")
                self.assertEqual(result.status, BUG)
                self.assertIn("ZeroDivisionError", result.err)
        self.assertEqual(harness.read_record(self.out)["summary"]["dev"]["pass"], 9)

    def test_a_resumed_run_with_another_model_says_so_before_it_looks_at_the_record(self):
        self.record()
        other = System()
        other.model = "other"
        self.assert_refused(self.record("--resume", system=other), "differ in system.model", 'null and "other"')

    def test_a_torn_line_goes_to_no_file_that_a_link_names(self):
        self.save(torn := self.stop_after(4)[:-30])
        os.symlink(self.cases, f"{self.log}.torn")
        before = self.bytes(self.cases)
        self.assert_refused(self.record("--resume"), f"cannot write {self.log}.torn", "Too many")
        self.assertEqual((self.bytes(), self.bytes(self.cases)), (torn, before))

    def test_a_log_of_another_run_is_refused_by_name_and_value_and_not_touched(self):
        kept = self.stop_after(4)
        self.save(kept + b'{"torn')
        other = System()
        other.version = "2"
        tuned = System()
        tuned.settings = {"temperature": 1}
        for more, system, words in (
            ((), other, ("system.version", '"1"', '"2"')),
            ((), "triage_task:rules", ("system.name", "scripted", "triage-rules")),
            ((), tuned, ("settings", "null", "temperature")),
            (("--trials", "4"), None, ("trials", "3", "4")),
            (("--shard", "1/2"), None, ("shard", "null", "1/2")),
        ):
            with self.subTest(words=words):
                self.assert_refused(self.record("--resume", *more, system=system), "differ in", *words)
        self.write_cases(name="larger")
        self.assert_refused(self.record("--resume"), "differ in case set", "small", "larger")
        self.write_cases(4)
        self.assert_refused(self.record("--resume"), "differ in case set.sha256")
        self.assertEqual(self.bytes(), kept + b'{"torn')
        self.assertFalse(os.path.exists(f"{self.log}.torn"))

    def test_another_task_and_another_split_are_refused(self):
        self.stop_after(4)
        task = harness.load_task("triage_task")
        with mock.patch.object(harness, "load_task", lambda name: task._replace(sha256="0" * 64)):
            self.assert_refused(self.record("--resume"), "differ in task.sha256", task.sha256, "0" * 64)
        self.assert_refused(self.record("--resume", "--split", "heldout"), "0 cases in heldout")

    def test_a_row_that_is_not_of_this_run_is_refused_by_its_line(self):
        kept = self.stop_after(4)
        for change, words in (({"case_id": "c7"}, "not of this run"), ({"trial": 4, "seed": 1004}, "not of this run"),
                              ({"seed": 1}, "not seed 1001"), ({"trial": 0, "seed": 1000}, "not of this run")):
            with self.subTest(change=change):
                lines = kept.splitlines(keepends=True)
                lines[2] = json.dumps(json.loads(lines[2]) | change).encode() + b"\n"
                self.save(b"".join(lines))
                self.assert_refused(self.record("--resume"), f"{self.log}:3: ", words)

    def test_settings_that_json_changes_resume_all_the_same(self):
        for system in (failing(RunError("answers 404"), 3), System()):
            system.tools, system.settings = ("search",), {1: (2, 3)}
            result = self.record("--resume", system=system)
        self.assertEqual(result.status, 0)
        self.assertEqual(len(self.rows()), 9)

    def test_resume_starts_a_log_that_is_not_there_is_empty_or_has_a_torn_header(self):
        self.record()
        expected = self.bytes()
        for start in (b"", b"{", expected[:17], expected[:100]):
            with self.subTest(start=start):
                self.save(start)
                self.assertEqual(self.record("--resume").status, 0)
                self.assertEqual(self.bytes(), expected)

    def test_a_finished_log_gets_its_record_and_no_trial(self):
        self.record()
        log, record = self.bytes(), self.bytes(self.out)
        os.unlink(self.out)
        system = System()
        self.assertEqual(self.record("--resume", system=system).status, 0)
        self.assertEqual((self.bytes(), self.bytes(self.out), system.calls), (log, record, []))

    def test_without_resume_a_log_is_never_touched(self):
        self.record()
        log = self.bytes()
        self.assert_refused(self.record(), "no log is overwritten", "--resume")
        self.assertEqual(self.bytes(), log)

    def test_a_link_to_a_log_is_followed(self):
        kept = self.stop_after(4)
        link = self.path("link.jsonl")
        os.symlink(self.log, link)
        self.assertEqual(self.record("--resume", log=link).status, 0)
        self.assertTrue(os.path.islink(link) and self.bytes().startswith(kept))
        self.rows()

    def test_a_file_that_is_no_log_is_refused_and_not_touched(self):
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        with open(self.path("notes"), "w") as file:
            file.write("a line without an end")
        for path, words in (("/dev/null", "not a file that keeps"), (self.path("fifo"), "not a file that keeps"),
                            (self.path("folder"), "Is a directory"), (self.path("notes"), "is not a log"),
                            (self.cases, "is a case set, not a log"),
                            (self.path("no/log.jsonl"), "there is no such folder"),
                            (BENCH, "bench.py is a table, not a log")):
            with self.subTest(path=path):
                before = self.bytes(path) if os.path.isfile(path) else None
                self.assert_refused(self.record("--resume", log=path), words)
                self.assertEqual(self.bytes(path) if os.path.isfile(path) else None, before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["cases.json", "fifo", "folder", "notes"])

    def test_an_empty_name_of_a_log_is_shown(self):
        result = bench_main("--cases", self.cases, "--system", "triage_task:rules", "--log", "", "--out", self.out)
        self.assert_refused(result, "cannot write '': ")

    def test_a_run_refused_before_its_first_trial_says_how_to_change_it(self):
        result = self.record(system=failing(RunError("no such model"), 1))
        self.assert_refused(result, "0 of 9 trials are kept", "--resume; remove the log to change it")
        result = self.record("--resume", system=failing(RunError("no such model"), 2))
        self.assert_refused(result, "1 of 9 trials are kept")
        self.assertNotIn("remove the log", result.err)

    def test_a_folder_that_cannot_be_written_is_said_before_any_trial(self):
        system = System()
        with mock.patch.object(os, "open", side_effect=PermissionError(errno.EACCES, "Permission denied")):
            self.assert_refused(self.record(system=system), f"cannot write {self.log}: Permission denied")
        self.assertEqual(system.calls, [])

    def test_a_bug_of_the_system_keeps_its_traceback_and_the_log(self):
        result = self.record(system=failing(KeyError("a bug"), 5))
        self.assertEqual(result.status, BUG)
        self.assertRegex(result.err, r"(?s)stopped: 4 of 9 trials are kept.*raise error\n.*KeyError: 'a bug'")
        self.assertEqual(self.record("--resume").status, 0)
        self.rows()

    def test_an_answer_that_a_log_cannot_hold_is_refused_at_once_by_case(self):
        for answer, words in ((Answer(float("nan"), {}), "a value that JSON cannot hold"),
                              (Answer({1, 2}, {}), "a value that JSON cannot hold"),
                              (Answer(DELIVERY, None), "metadata None, not an object"),
                              (Answer(DELIVERY, ["a list"]), "metadata ['a list'], not an object")):
            with self.subTest(answer=answer), mock.patch.object(System, "respond", lambda *_, answer=answer: answer):
                self.assert_refused(self.record("--resume"), "case 'c0' trial 1: ", words, "0 of 9 trials are kept")


class ChangedTest(Folder):
    """Somebody else does something to the log while it is recorded."""

    def unlink(self) -> None:
        os.unlink(self.log)

    def replace(self) -> None:  # in one step: with several workers a moment without a file could be seen
        beside = self.path("another")
        with open(beside, "wb") as file:
            file.write(b"another file")
        os.replace(beside, self.log)

    def cut(self) -> None:
        os.truncate(self.log, 100)

    def empty(self) -> None:
        os.truncate(self.log, 0)

    def add(self) -> None:
        with open(self.log, "ab") as file:
            file.write(b'{"half')

    def edit(self) -> None:  # is found before the end line is written
        with open(self.log, "r+b") as file:
            file.seek(-9, os.SEEK_END)
            file.write(b"x")

    def test_the_run_stops_and_everything_is_saved_what_is_under_way_included(self):
        self.record()
        expected = [json.loads(line) for line in self.bytes().splitlines()]
        for change, says in ((self.unlink, "was removed or"), (self.replace, "was removed or"),
                             (self.cut, "was cut or"), (self.empty, "was cut or"), (self.add, "was cut or"),
                             (self.edit, "was cut or")):
            for at, workers in ((1, "1"), (5, "1"), (9, "1"), (4, "3")):
                with self.subTest(says=says, at=at, workers=workers):
                    for name in os.listdir(self.folder):
                        if name.startswith("log.jsonl"):
                            os.unlink(self.path(name))
                    change_now = {at: change}
                    result = self.record("--workers", workers, system=System(
                        lambda number, unit, change_now=change_now: change_now.pop(number, lambda: None)()))
                    changed = self.bytes() if os.path.exists(self.log) else None
                    [saved] = [name for name in os.listdir(self.folder) if name.endswith(".saved")]
                    saved = self.path(saved)
                    rows = logs.parse_log(self.bytes(saved), saved).rows
                    self.assert_refused(result, f"{self.log} {says} ", f"{len(rows)} of 9 trials are kept; give the "
                                        f"same command again with --log {saved} --resume")
                    self.assertGreaterEqual(len(rows), 9 if change == self.edit else at)
                    if workers == "1" and change != self.edit:
                        self.assertEqual(len(rows), at)
                    self.assertEqual(self.record("--resume", log=saved).status, 0)
                    self.assertEqual(changed, self.bytes() if os.path.exists(self.log) else None)
                    whole = [json.loads(line) for line in self.bytes(saved).splitlines()]
                    self.assertEqual(sorted(map(str, whole[1:-1])), sorted(map(str, expected[1:-1])))

    def test_where_no_other_file_can_be_made_nothing_is_written_to_a_log_that_others_changed(self):
        together = threading.Barrier(2, timeout=10)

        def hook(number: int, unit: Any) -> None:
            if number > 2:
                together.wait()  # both are under way when the log is changed
                if number == 3:
                    self.add()
                together.wait()

        with mock.patch.object(tempfile, "mkstemp", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            result = self.record("--workers", "2", system=System(hook))
        self.assert_refused(result, "was cut or written to by somebody else while it was recorded: No space left on "
                            "device", "2 of 9 trials are kept")
        self.assertTrue(self.bytes().endswith(b'\n{"half'))

    def test_a_full_disk_where_the_log_was_and_elsewhere_leaves_no_part_of_a_file(self):
        def full(descriptor, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        system = System(lambda number, unit: number == 4 and os.unlink(self.log))
        write = files._write_all
        with mock.patch.object(files, "_write_all", lambda at, data: (full if len(data) > 900 else write)(at, data)), \
                mock.patch.object(tempfile, "tempdir", self.folder):
            result = self.record(system=system)
        self.assert_refused(result, "No space left on device", "nothing of it is kept")
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".saved")], [])

    def test_a_log_that_cannot_be_looked_at_is_one_error(self):
        with mock.patch.object(bench.LogWriter, "changed", side_effect=OSError(errno.EIO, "Input/output error")):
            self.assert_refused(self.record(), "cannot write", "Input/output error")

    def test_a_working_folder_that_was_removed_leaves_them_there_too_or_says_that_nothing_is_kept(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        for kept in (True, False):
            os.mkdir(self.path("inner"))
            os.chdir(self.path("inner"))
            system = System(lambda number, unit: number == 4 and shutil.rmtree(self.path("inner")))
            with mock.patch.object(tempfile, "tempdir", self.folder if kept else self.path("gone")):
                result = self.record(system=system, log="log.jsonl")
            os.chdir(here)
            saved = [name for name in os.listdir(self.folder) if name.endswith(".saved")]
            self.assertEqual(len(saved), 1)
            said = self.path(saved[0]) if kept else "nothing of it is kept"
            self.assert_refused(result, "log.jsonl was removed", "4 of 9 trials are kept" * kept, said)

    def test_a_folder_that_was_removed_leaves_the_trials_in_the_temporary_folder(self):
        os.mkdir(self.path("inner"))
        log = self.path("inner/log.jsonl")
        system = System(lambda number, unit: number == 4 and shutil.rmtree(self.path("inner")))
        with mock.patch.object(tempfile, "tempdir", self.folder):
            result = self.record(system=system, log=log)
        [saved] = [name for name in os.listdir(self.folder) if name.endswith(".saved")]
        self.assert_refused(result, "was removed", "4 of 9 trials are kept", f"--log {self.path(saved)} --resume")
        self.assertEqual(self.record("--resume", log=self.path(saved)).status, 0)


class ExtendTest(Folder):
    """More trials for a log that is whole: the old bytes stay, and everybody can see that trials were added."""

    def extended(self, trials: int = 5, **injected: Any) -> tuple[bytes, Result]:
        """Return the bytes of a log of 3 trials, and the result of recording more into it."""
        self.trials = 3
        self.record()
        whole, self.trials = self.bytes(), trials
        return whole, self.record("--resume", **injected)

    def test_a_sealed_log_gets_the_new_trials_and_a_seal_over_all_bytes(self):
        system = System()
        whole, result = self.extended(system=system)
        self.assertEqual(result.status, 0, result.err)
        self.assertEqual(system.calls, [(f"c{i}", trial) for trial in (4, 5) for i in range(3)])
        data = self.bytes()
        added = [json.loads(line) for line in data[len(whole):].splitlines()]
        self.assertTrue(data.startswith(whole))
        self.assertEqual(added[0], {"type": "extended", "trials": 5, "at": "1970-01-01T00:00:00.000Z"})
        self.assertEqual(added[-1], {"type": "end", "trials": 15, "sha256": hashlib.sha256(
            data[:data.rfind(b'{"type": "end"')]).hexdigest()})
        self.assertEqual(len(self.rows()), 15)

    def test_record_and_comparison_say_it(self):
        self.trials = 5
        self.record(log=self.path("other.jsonl"))
        os.rename(self.out, self.path("other.json"))
        self.extended()
        record = harness.read_record(self.out)
        self.assertEqual((record["manifest"]["trials"], record["manifest"]["extended"]), (5, [3]))
        done = python(os.path.join(HERE, "compare.py"), self.path("other.json"), self.out, "--cases", self.cases)
        self.assertIn("the candidate was extended after 3 trials", done.stderr)

    def test_a_log_may_be_extended_again_and_is_whole_at_its_full_number_only(self):
        self.extended()
        self.trials = 6
        self.assertEqual(self.record("--resume").status, 0)
        self.assertEqual(harness.read_record(self.out)["manifest"]["extended"], [3, 5])
        whole = self.bytes()
        for self.trials in (3, 5):
            self.assert_refused(self.record("--resume"), "has 6 trials a case; give --trials 6")
        self.trials = 6
        self.assertEqual(self.record("--resume", system=failing(AssertionError("asked"), 1)).status, 0)
        self.assertEqual(self.bytes(), whole)

    def test_stopped_in_between_it_is_unfinished_and_resumed(self):
        for at in (1, 4):
            whole, result = self.extended(system=failing(RunError("answers 404"), at))
            self.assert_refused(result, f"{9 + at - 1} of 15 trials are kept")
            with self.assertRaisesRegex(RunError, "unfinished: its end line is missing"):
                logs.read_log(self.log)
            self.assertTrue(self.bytes().startswith(whole))
            self.assertEqual(self.record("--resume").status, 0)
            self.assertEqual(len(self.rows()), 15)
            os.unlink(self.log)

    def test_killed_at_any_byte_the_extended_log_is_that_of_one_extension(self):
        whole, _ = self.extended()
        expected = self.bytes()
        for steps in itertools.count(0, 211):
            self.save(whole)
            with contextlib.suppress(Killed), life_of(steps):
                if self.record("--resume").status == 0:
                    break
            self.assertTrue(self.bytes().startswith(whole))
            self.assertEqual(self.record("--resume").status, 0)
            self.assertEqual(self.bytes(), expected)
        self.assertGreater(steps, 1000)

    def test_another_run_or_a_log_that_is_not_whole_is_not_extended(self):
        whole, _ = self.extended()
        other = System()
        other.version = "2"
        self.save(whole)
        os.unlink(self.out)
        self.assert_refused(self.record("--resume", system=other), "differ in system.version")
        self.assert_refused(self.record(), "no log is overwritten")
        self.assertEqual(self.bytes(), whole)
        self.save(b"".join(whole.splitlines(keepends=True)[:5]))
        self.assert_refused(self.record("--resume", "--trials", "4"), "differ in trials")
        self.save(b"".join(whole.splitlines(keepends=True)[:-1]))
        self.assert_refused(self.record("--resume"), "differ in trials")

    def test_a_model_that_changed_during_the_extension_leaves_the_log_before_it(self):
        system = System()
        self.record(system=system)
        before = self.bytes()
        system.hook = lambda number, unit: setattr(system, "model", "other")
        self.assert_refused(self.record("--resume", "--trials", "5", system=system), "the model changed")
        with self.assertRaisesRegex(RunError, "the model changed while it was recorded: "):
            logs.read_log(self.log)
        self.assertEqual(b"".join(self.bytes().splitlines(keepends=True)[:11]), before)

    def test_a_log_that_says_that_the_model_changed_is_not_gone_on_with(self):
        self.record()
        changed = {"type": "changed", "model": "other", "settings": None, "server": None}
        self.save(b"".join(self.bytes().splitlines(keepends=True)[:5]) + json.dumps(changed).encode() + b"\n")
        kept, system = self.bytes(), System()
        self.assert_refused(self.record("--resume", system=system), "the model changed while it was recorded")
        self.assertEqual((self.bytes(), system.calls), (kept, []))

    def test_shards_that_were_extended_and_not_join(self):
        for k, counts in ((1, ("3", "5")), (2, ("5",))):
            for count in counts:
                self.record("--shard", f"{k}/2", "--resume", "--trials", count, log=self.path(f"{k}.jsonl"))
        joined = harness.replay([logs.read_log(self.path(f"{k}.jsonl")) for k in (2, 1)],
                                harness.load_cases(self.cases), harness.load_task("triage_task"))
        self.assertEqual((len(joined["results"]), joined["manifest"]["extended"]), (15, [3]))

    def test_an_edit_before_or_after_the_extension_is_noticed_by_its_line(self):
        self.extended()
        lines = self.bytes().splitlines(keepends=True)
        for number in (3, 14):
            self.save(b"".join(line.replace(b"delivery", b"billings") if i == number else line
                               for i, line in enumerate(lines)))
            with self.assertRaisesRegex(RunError, f"log.jsonl:{11 if number == 3 else 19}: the seal does not fit"):
                logs.read_log(self.log)
        for changed, words in (([*lines[:11], *lines[12:]], ":12: a line after the end line"),
                               ([*lines[:10], lines[11], *lines[11:]], "{'type': 'extended', .* is no line of a log"),
                               ([*lines[:13], lines[2], *lines[13:]], ":14: case 'c1' trial 1 is recorded twice")):
            self.save(b"".join(changed))
            with self.assertRaisesRegex(RunError, words):
                logs.read_log(self.log)

    def test_shards_are_extended_alike(self):
        paths = []
        for k in (1, 2):
            log = self.path(f"{k}.jsonl")
            for count in ("3", "5")[:3 - k]:
                self.assertEqual(self.record("--shard", f"{k}/2", "--resume", "--trials", count, log=log).status, 0)
            paths.append(log)
        cases, task = harness.load_cases(self.cases), harness.load_task("triage_task")
        with self.assertRaisesRegex(RunError, "differ in trials"):
            harness.replay([logs.read_log(log) for log in paths], cases, task)
        self.record("--shard", "2/2", "--resume", "--trials", "5", log=paths[1])
        joined = harness.replay([logs.read_log(log) for log in paths], cases, task)
        self.assertEqual((len(joined["results"]), joined["manifest"]["extended"]), (15, [3]))


class Killed(BaseException):
    """A process that ended here."""


@contextlib.contextmanager
def life_of(steps: int) -> Iterator[None]:
    """Die after so many steps: a byte written is one, so is each fsync, truncation and renaming."""
    left = steps
    write, real = os.write, {name: getattr(os, name) for name in ("fsync", "ftruncate", "replace")}

    def mortal_write(file: int, data: Any) -> int:
        nonlocal left
        data = bytes(data)
        if len(data) > left:
            write(file, data[:left])
            raise Killed
        left -= len(data)
        return write(file, data)

    def mortal(name: str) -> Any:
        def call(*args: Any) -> Any:
            nonlocal left
            if not left:
                raise Killed
            left -= 1
            return real[name](*args)
        return call

    with mock.patch.multiple(os, write=mortal_write, **{name: mortal(name) for name in real}):
        yield


class KillTest(Folder):
    trials = 2

    def whole(self) -> bytes:
        self.record(log=self.path("whole.jsonl"))
        return self.bytes(self.path("whole.jsonl"))

    def life(self, steps: int) -> bool:
        """Return whether a recorder that dies after so many steps finishes the log."""
        system = System()
        kept = self.bytes() if os.path.exists(self.log) else b""
        done = {(row["case_id"], row["trial"]) for row in map(json.loads, kept.splitlines(keepends=True)[1:])
                if row["type"] == "trial"} if kept.endswith(b"\n") else set()
        try:
            with life_of(steps):
                result = self.record("--resume", system=system)
        except Killed:
            result = None
        self.assertTrue(self.bytes().startswith(kept[:kept.rfind(b"\n") + 1]), "a whole line was lost")
        self.assertFalse(done & set(system.calls), "a trial that was kept was run again")
        self.err = result and result.err
        return result is not None and result.status == 0

    def test_killed_after_any_number_of_steps_a_resumed_log_is_that_of_one_run(self):
        expected = self.whole()
        deaths = 0
        for steps in itertools.count(0, 67):
            if os.path.exists(self.log):
                os.unlink(self.log)
            if self.life(steps):
                break
            deaths += 1
            self.assertTrue(self.life(1_000_000), self.err)
            self.assertEqual(self.bytes(), expected)
        self.assertGreater(deaths, 60)

    def test_killed_any_number_of_times_a_log_is_that_of_one_run(self):
        expected, dice = self.whole(), random.Random(7)
        for _ in range(12):
            os.path.exists(self.log) and os.unlink(self.log)
            lives = 1
            while not self.life(dice.randrange(dice.choice((900, 9000)))):
                lives += 1
                self.assertLess(lives, 500)
            self.assertEqual(self.bytes(), expected)

    def test_killed_after_a_line_was_copied_and_before_it_was_cut_off_nothing_is_lost(self):
        expected = self.whole()
        torn = expected[:-30]
        self.save(torn)
        self.assertFalse(self.life(0))  # in the fsync of LOG.torn
        self.assertFalse(self.life(1))  # in the truncation
        self.assertEqual(self.bytes(), torn)
        self.assertTrue(self.life(1_000_000))
        self.assertEqual(self.bytes(), expected)
        self.assertIn(torn[torn.rfind(b"\n") + 1:], self.bytes(f"{self.log}.torn"))


MORTAL = textwrap.dedent("""
    import itertools, os, signal, sys, time
    sys.path.insert(0, {here!r})
    from harness import Answer
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run with `&` ignores it

    class System:
        name, version, mode, model, prompt, tools, index = "mortal", "1", "offline", None, None, None, None
        calls, end, how = itertools.count(1), int(os.environ.get("END_AT", 0)), int(os.environ.get("END_BY", 0))

        def respond(self, case, trial):
            time.sleep(0.001)  # a reply takes its time, in which others are written
            if next(self.calls) == self.end:
                os.kill(os.getpid(), self.how)
                time.sleep(60)  # the reply that Ctrl-C does not wait for
            return Answer({{"category": "delivery", "needs_human": trial % 2 == 0}}, {{}})

    system = System()
""").format(here=HERE)


class ProcessTest(Folder):
    """What only a real process shows: signals, limits, exit statuses."""

    trials = 40

    def setUp(self) -> None:
        super().setUp()
        with open(self.path("mortal.py"), "w") as file:
            file.write(MORTAL)

    def start(self, *more: str, limit: str = "", stderr: int = subprocess.PIPE,
              **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["-W", "error", BENCH, "--cases", self.cases, "--system", "mortal:system",
                   "--trials", str(self.trials), "--log", self.log, "--out", self.out, *more]
        environment = {"PYTHONUNBUFFERED": next(UNBUFFERED)} | environment
        return python(*command, shell=limit, stderr=stderr, cwd=self.folder, env=os.environ | environment)

    def test_a_recorder_that_is_killed_again_and_again_finishes(self):
        self.trials = 10
        dice, lives = random.Random(3), 0
        while True:
            done = self.start("--resume", "--workers", "4", END_AT=str(dice.randrange(1, 12)), END_BY="9")
            lives += 1
            if done.returncode == 0:
                break
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
            self.assertFalse(os.path.exists(self.out))
        self.assertGreater(lives, 3)
        self.assertEqual(len(self.rows()), 30)
        results = harness.read_record(self.out)["results"]
        self.assertTrue(all(row["output"]["needs_human"] == (row["trial"] % 2 == 0) for row in results))

    def test_ctrl_c_keeps_what_is_done_says_how_to_resume_and_exits_130(self):
        done = self.start("--workers", "2", "--quiet", END_AT="31", END_BY="2")
        self.assertEqual((done.returncode, done.stdout), (130, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Astopped: \d+ of 120 trials are kept; give the same command again with "
                                      r"--log \S+ --resume\ninterrupted\n\Z")
        kept = self.bytes()
        self.assertGreaterEqual(len(logs.parse_log(kept, self.log).rows), 30)
        self.assertEqual(self.start("--resume").returncode, 0)
        self.assertTrue(self.bytes().startswith(kept))
        self.assertEqual(len(self.rows()), 120)

    def test_sigterm_which_ends_a_job_is_taken_as_ctrl_c(self):
        done = self.start("--quiet", END_AT="31", END_BY=str(int(signal.SIGTERM)))
        self.assertEqual((done.returncode, done.stdout), (130, ""), done.stderr)
        self.assertIn("stopped: 30 of 120 trials are kept; give the same command again", done.stderr)

    def test_a_full_disk_leaves_whole_lines_and_says_what_is_kept(self):
        done = self.start(limit="ulimit -f 8")  # blocks of 512 or 1024 bytes: 4 or 8 kB
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        log = logs.parse_log(self.bytes(), self.log)
        self.assertTrue(self.bytes().endswith(b"\n"))
        self.assertIn(f"error: cannot write {self.log}: File too large", done.stderr)
        self.assertIn(f"{len(log.rows)} of 120 trials are kept; give the same command again with --log {self.log} "
                      "--resume", done.stderr)
        self.assertEqual(self.start("--resume").returncode, 0)
        self.assertEqual(len(self.rows()), 120)

    def test_progress_off_a_terminal_is_a_start_and_an_end_line(self):
        done = self.start()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Amortal 1: 120 of 120 trials to record into \S+\n120/120 100%  .*\n\Z")
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(done.stdout, "mortal 1 on dev: 60 of 120 trials pass, 60 fail, 0 incomplete; "
                                      f"wrote {self.log} and {self.out}\n")

    def test_a_recording_outlives_the_pipe_that_shows_its_progress_and_warnings(self):
        with open(self.path("mortal.py"), "a") as file:
            file.write("\nfrom harness import Incomplete\nclass Mute(System):\n    def respond(self, case, trial):\n"
                       "        raise Incomplete('nothing came')\nsystem = Mute()\n")
        for unbuffered in ("", "1"):
            self.log = self.path(f"log{unbuffered}.jsonl")
            reader, writer = os.pipe()
            os.close(reader)
            self.assertEqual(self.start(stderr=writer, PYTHONUNBUFFERED=unbuffered).returncode, 0)
            os.close(writer)
            self.assertEqual(len(self.rows()), 120)
        self.assertEqual(harness.read_record(self.out)["summary"]["dev"]["incomplete"], 120)


class InterruptTest(Folder):
    def test_ctrl_c_during_a_pause_between_retries_does_not_wait(self):
        forever = threading.Event()
        self.addCleanup(forever.set)

        def wait(pause: float) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            forever.wait(60)

        with self.assertRaises(KeyboardInterrupt):
            self.record(system=failing(Unavailable("503 busy"), 4), wait=wait)
        self.assertEqual(len(logs.parse_log(self.bytes(), self.log).rows), 3)
        self.assertEqual(self.record("--resume").status, 0)
        self.rows()

    def test_a_look_that_waits_keeps_no_outcome_from_the_log(self):
        recorder = bench.Recorder(argparse.Namespace(quiet=True, seeds="by-trial"), None, None, bench.Times())
        added, others_kept = list[str](), threading.Event()

        def add(line: Any) -> None:
            added.append(line["case_id"])
            if len(added) == 3:
                others_kept.set()

        recorder.writer = types.SimpleNamespace(sealed=False, rows=added, add=add)
        recorder.look = looks = mock.Mock(side_effect=lambda: self.assertTrue(others_kept.wait(10)))
        recorder.look_due = True
        cases = [(harness.Case(case_id, "dev", {}, {}, {}), 1) for case_id in "abcd"]
        with mock.patch.object(harness, "attempt", side_effect=lambda *_: {"output": 1, "metadata": {}}):
            recorder.pool.run(cases, 2, lambda: None)
        self.assertEqual((sorted(added), looks.call_count), (["a", "b", "c", "d"], 1))
        self.assertEqual((recorder.look_due, recorder.looking.locked()), (False, False))
        for retried in ({"retries": 1}, {}):  # a server that had to be tried again is looked at before the next trial
            recorder.keep(cases[0], {"output": 1, "metadata": retried})
            self.assertTrue(recorder.look_due)

    def test_one_looks_at_a_time_and_the_others_do_not_wait_for_it(self):
        recorder = bench.Recorder(argparse.Namespace(quiet=True, seeds="by-trial"), None, None, bench.Times())
        recorder.look = looks = mock.Mock()
        recorder.look_due = True
        with recorder.looking, mock.patch.object(harness, "attempt", return_value={"output": 1, "metadata": {}}):
            self.assertEqual(recorder.work((harness.Case("a", "dev", {}, {}, {}), 1))["output"], 1)
        self.assertEqual((looks.call_count, recorder.look_due), (0, True))

    def test_a_changed_model_is_noted_and_the_log_sealed_while_nobody_else_writes_even_where_the_log_is_gone(self):
        args = argparse.Namespace(quiet=True, seeds="by-trial", log="x.jsonl")
        recorder = bench.Recorder(args, types.SimpleNamespace(model="m"), None, bench.Times())
        recorder.prepared = lambda: None
        locked = []

        def add(line: Any) -> None:
            locked.append(recorder.pool.lock.locked())
            raise RunError("x.jsonl was removed")

        recorder.writer = types.SimpleNamespace(header={}, add=add, seal=lambda: locked.append(
            recorder.pool.lock.locked()))
        with mock.patch.object(logs, "refuse_changed", side_effect=RunError("the model changed")):
            self.assertRaisesRegex(RunError, "the model changed", recorder.look)
        self.assertEqual(locked, [True, True])

    def test_fewer_threads_than_workers_do_all_and_none_is_one_error(self):
        kept, start = list[int](), threading.Thread.start
        for allowed in (2, 0):
            pool = bench.Pool(lambda unit: -unit, lambda unit, outcome: kept.append(outcome), threading.Event())
            starts = iter([start] * allowed)

            def limited(thread: threading.Thread) -> None:
                if not (begin := next(starts, None)):
                    raise RuntimeError("can't start new thread")
                begin(thread)

            with mock.patch.object(threading.Thread, "start", limited):
                if allowed:
                    pool.run([1, 2, 3, 4, 5], 4, lambda: None)
                else:
                    self.assertRaisesRegex(files.RunError, "no thread can be started", pool.run, [1], 4, lambda: None)
        self.assertEqual(sorted(kept), [-5, -4, -3, -2, -1])

    def test_what_is_finished_when_ctrl_c_is_heard_is_kept_and_nothing_more_is_begun(self):
        hanging, ended, late, stop = (threading.Event() for _ in range(4))
        self.addCleanup(ended.set)
        begun, kept = [], []

        class Interrupted(collections.deque):
            def append(self, item: Any) -> None:
                super().append(item)
                if item == (2, -2):  # is finished, and before it can be kept comes Ctrl-C
                    hanging.wait(10)
                    os.kill(os.getpid(), signal.SIGINT)
                    while not (stop.is_set() and pool.lock.locked()):
                        time.sleep(0.001)
                elif item == (3, -3):
                    late.set()

        def work(unit: int) -> int:
            begun.append(unit)
            if unit == 3:
                hanging.set()
                ended.wait(60)  # the reply that Ctrl-C does not wait for
            return -unit

        def keep(unit: int, outcome: int) -> None:
            kept.append((unit, outcome))

        pool = bench.Pool(work, keep, stop)
        pool.finished = Interrupted()
        with self.assertRaises(KeyboardInterrupt):
            pool.run(range(9), 2, lambda: None)
        expected = [(0, 0), (1, -1), (2, -2)]
        self.assertEqual((sorted(kept), sorted(begun)), (expected, [0, 1, 2, 3]))
        ended.set()
        self.assertTrue(late.wait(10))
        time.sleep(0.05)  # for what must not come
        self.assertEqual(sorted(kept), expected)

    def test_after_a_failure_what_is_under_way_is_kept_and_no_more_is_begun(self):
        begun, kept, stop = [], [], threading.Event()

        def work(unit: int) -> int:
            begun.append(unit)
            if unit == 1:
                raise RunError("answers 404")
            self.assertTrue(stop.wait(10))
            return -unit

        with self.assertRaisesRegex(RunError, "answers 404"):
            bench.Pool(work, lambda *done: kept.append(done), stop).run(range(9), 2, lambda: None)
        self.assertEqual((sorted(begun), kept), ([0, 1], [(0, 0)]))

    def test_no_more_are_begun_than_can_be_under_way_while_the_disk_is_slow(self):
        begun, ahead = itertools.count(1), []
        bench.Pool(lambda unit: next(begun), lambda unit, outcome: ahead.append(outcome - len(ahead)),
                   threading.Event()).run(range(200), 4, lambda: None)
        self.assertEqual(len(ahead), 200)
        self.assertLessEqual(max(ahead), 4)

    def test_a_thread_writes_one_outcome_and_asks_again_so_that_none_waits_for_all(self):
        kept = []
        pool = bench.Pool(lambda unit: unit, lambda *done: kept.append(done), threading.Event())
        pool.waiting = iter([4])
        pool.finished.extend([(1, -1), (2, -2), (3, -3)])
        self.assertEqual((pool._next(), kept), (4, [(1, -1)]))

    def test_an_outcome_that_cannot_be_kept_after_ctrl_c_costs_no_other(self):
        self.enterContext(mock.patch.object(bench, "TICK_S", 0.01))
        tried, ended = [], threading.Event()
        self.addCleanup(ended.set)

        def keep(unit: int, outcome: int) -> None:
            tried.append(unit)
            raise RunError("the log was removed")

        def idle() -> None:
            pool.finished.extend([(1, -1), (2, -2)])
            raise KeyboardInterrupt

        pool = bench.Pool(lambda unit: ended.wait(60), keep, threading.Event())
        with self.assertRaises(KeyboardInterrupt):
            pool.run([0], 1, idle)
        self.assertEqual(tried, [1, 2])

    def test_a_process_told_to_ignore_ctrl_c_ignores_it(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.assertEqual(self.record(system=System(lambda *_: os.kill(os.getpid(), signal.SIGINT))).status, 0)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        self.rows()


class LockTest(Folder):
    def test_a_second_recorder_is_refused_and_the_first_goes_on(self):
        seconds = []

        def hook(number: int, unit: Any) -> None:
            if number in (1, 5):
                seconds.append(python(BENCH, "--cases", self.cases, "--system", "triage_task:rules", "--trials", "3",
                                      "--log", self.log, "--out", self.out, "--resume"))

        self.assertEqual(self.record(system=System(hook)).status, 0)
        for second in seconds:
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            self.assertEqual(second.stderr, f"error: cannot write {self.log}: it is in use by another recorder or "
                                            "collector; wait for it, or stop it\n")
        self.assertEqual((len(self.rows()), len(seconds)), (9, 2))

    def test_a_refused_recorder_lets_go_of_the_log(self):
        self.record()
        self.assert_refused(self.record("--resume", "--trials", "2"), "has 3 trials a case; give --trials 3")
        with open(self.log, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(b"not JSON")
        self.assert_refused(self.record("--resume"), "not a log")
        with open(self.log, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class DiskTest(Folder):
    def test_short_writes_give_the_same_log(self):
        self.record()
        expected, write = self.bytes(), os.write
        os.unlink(self.log)
        sizes = itertools.cycle((1, 2, 3, 50))
        with mock.patch.object(os, "write", lambda file, data: write(file, data[:next(sizes)])):
            self.assertEqual(self.record().status, 0)
        self.assertEqual(self.bytes(), expected)

    def test_a_disk_that_fills_up_leaves_whole_lines_and_says_so(self):
        self.record()
        expected, write = self.bytes(), os.write
        for room in (0, 100, 700, 1000, 1500, len(expected) - 20):
            os.unlink(self.log)
            left = [room]

            def full(file: int, data: Any, left: list[int] = left) -> int:
                if not left[0]:
                    raise OSError(errno.ENOSPC, "No space left on device")
                left[0] -= (count := min(left[0], len(data)))
                return write(file, data[:count])

            with self.subTest(room=room), mock.patch.object(os, "write", full):
                result = self.record()
                kept = self.bytes()
                self.assert_refused(result, f"cannot write {self.log}: No space left on device")
                self.assertTrue(expected.startswith(kept) and (not kept or kept.endswith(b"\n")))
                if kept:
                    rows = kept.count(b'"type": "trial"')
                    self.assertIn(f"{rows} of 9 trials are kept; give the same command again with --log {self.log} "
                                  "--resume", result.err)
            self.assertEqual(self.record("--resume").status, 0)
            self.assertEqual(self.bytes(), expected)

    def test_an_fsync_that_fails_is_an_error_and_its_line_not_kept(self):
        with mock.patch.object(os, "fsync", side_effect=[None] * 3 + [OSError(errno.EIO, "Input/output error")] * 2):
            self.assert_refused(self.record(), "Input/output error", "1 of 9 trials are kept")
        self.assertEqual(len(logs.parse_log(self.bytes(), self.log).rows), 1)

    def test_a_record_that_cannot_be_written_leaves_the_log_and_says_how_to_go_on(self):
        full = RunError("cannot write run.json: No space left on device")
        with mock.patch.object(harness, "write", side_effect=full):
            self.assert_refused(self.record(), "No space left", f"{self.log} is whole", "harness.py replay")
        self.assertEqual(len(self.rows()), 9)


# === Progress and the command line ===


class ProgressTest(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(mock.patch.dict(os.environ, {"TERM": "xterm"}))
        self.now = 0.0

    def progress(self, stream: Any, total: int = 220, kept: Any = (), quiet: bool = False) -> bench.Progress:
        self.enterContext(contextlib.redirect_stderr(stream))
        return bench.Progress(total, kept, quiet, lambda: self.now)

    def test_line_says_done_percent_rate_time_left_passes_incomplete_and_retries(self):
        progress = self.progress(io.StringIO(), kept=["pass"] * 60 + ["fail"] * 40)
        self.assertEqual(progress.line(), "100/220 45%  time left unknown  pass 60  incomplete 0  retries 0  0.00/s")
        self.now = 20.0
        for verdict in ["pass"] * 8 + ["fail", "incomplete"]:
            progress.step(verdict)
        progress.retried("503 busy")
        self.assertEqual(progress.line(), "110/220 50%  0:03:40 left  pass 68  incomplete 1  retries 1  0.50/s")
        progress.step("fail")
        self.assertEqual(progress.line(), "111/220 50%  0:03:18 left  pass 68  incomplete 1  retries 1  0.55/s")

    def test_time_left_falls_during_a_long_trial_and_never_climbs(self):
        progress = self.progress(io.StringIO(), total=4)
        self.now = 10.0
        progress.step("pass")
        left = []
        for self.now in (10.0, 19.0, 40.0, 90.0):
            left.append(progress.line().split("  ")[1])
        self.assertEqual(left, ["0:00:30 left", "0:00:21 left", "0:00:00 left", "0:00:00 left"])

    def test_a_server_that_went_away_is_reported_at_once(self):
        for stream, quiet, erased in ((io.StringIO(), False, ""), (Terminal(), True, ""),
                                      (Terminal(), False, "\r\x1b[K")):
            progress = self.progress(stream, quiet=quiet)
            for _ in range(3):
                progress.retried("127.0.0.1:11434:\nConnection refused")  # the same trouble: told once
            progress.step("pass")
            progress.retried("503 busy")
            self.assertEqual(stream.getvalue(),
                             f"{erased}waiting for the server: 127.0.0.1:11434: Connection refused\n"
                             f"{erased}waiting for the server: 503 busy\n")

    def test_terminal_line_is_drawn_over_itself_and_cleared_before_others(self):
        stream = Terminal()
        progress = self.progress(stream, total=2)
        self.now = 1.0
        progress.step("pass")
        progress.step("pass")  # too soon to draw again
        progress.write("warning: look\n")
        line = "1/2 50%  0:00:01 left  pass 1  incomplete 0  retries 0  1.00/s"
        self.assertEqual(stream.getvalue(), f"\r\x1b[K{line}\r\x1b[Kwarning: look\n")

    def test_narrow_terminal_cuts_the_line_to_its_width(self):
        for columns, width in ((20, 17), (200, 62), (0, 62)):  # 0 is what a terminal says that does not know
            stream = Terminal()
            self.now = 0.0
            progress = self.progress(stream, total=2)
            self.now = 1.0
            size = os.terminal_size((columns, 24))
            with mock.patch.object(stream, "fileno", lambda: 2), \
                    mock.patch.object(os, "get_terminal_size", return_value=size):
                progress.step("pass")
            self.assertEqual(len(stream.getvalue()), len("\r\x1b[K") + width)

    def test_elsewhere_a_line_a_minute(self):
        stream = io.StringIO()
        progress = self.progress(stream, total=10)
        for self.now in (1.0, 59.0, 60.0, 61.0, 119.0, 121.0):
            progress.step("pass")
        self.assertEqual([line.partition(" ")[0] for line in stream.getvalue().splitlines()], ["3/10", "6/10"])
        self.assertNotIn("\x1b", stream.getvalue())

    def test_dumb_terminal_is_no_terminal(self):
        with mock.patch.dict(os.environ, {"TERM": "dumb"}):
            self.assertFalse(self.progress(Terminal()).erase)

    def test_quiet_draws_nothing(self):
        stream = Terminal()
        progress = self.progress(stream, quiet=True)
        self.now = 100.0
        progress.step("pass")
        progress.write("start")
        self.assertEqual(stream.getvalue(), "")

    def test_line_is_drawn_while_nothing_finishes(self):
        stream = Terminal()
        progress = self.progress(stream, total=1)
        drawn = threading.Event()

        def idle() -> None:
            self.now += 1.0
            progress.show()
            drawn.set()

        with mock.patch.object(bench, "TICK_S", 0.001):
            bench.Pool(lambda unit: drawn.wait(10) and progress.retried("503 busy"),
                       lambda unit, outcome: progress.step("pass"), threading.Event()).run([1], 1, idle)
        self.assertIn("0/1 0%  time left unknown", stream.getvalue())


class CommandTest(Folder):
    def test_errors_and_warnings_begin_on_a_line_of_their_own(self):
        with mock.patch.dict(os.environ, {"TERM": "xterm"}):
            result = self.record(system=failing(RunError("answers 404"), 5), terminal=True,
                                 timer=itertools.count().__next__)
        drawn, _, error = result.err.split("\n")[1].rpartition("\r\x1b[K")
        self.assertTrue(drawn.endswith("/s"), drawn)
        self.assertTrue(error.startswith("error: case 'c1' trial 2: answers 404; 4 of 9 trials are kept"), error)

    def test_a_trial_s_time_is_measured_and_its_moment_is_reported(self):
        now = [0.0]
        self.record(system=System(lambda number, unit: now.append(now[-1] + 0.25 * number)), timer=lambda: now[-1],
                    clock=lambda: 86400.5)
        self.assertEqual([row["elapsed_s"] for row in self.rows()], [0.25 * number for number in range(1, 10)])
        self.assertEqual({row["at"] for row in self.rows()}, {"1970-01-02T00:00:00.500Z"})

    def test_options_that_cannot_be_are_refused_before_anything_is_begun(self):
        for more, words in ((("--trials", "0"), "--trials 0"), (("--workers", "0"), "--workers from 1 to 10000"),
                            (("--workers", "10001"), "--workers from 1 to 10000"),
                            (("--trials", "9" * 9), "1 to 10,000,000"),
                            (("--prompt", ""), "cannot read ''"), (("--retries", "-1"), "--retries"),
                            (("--timeout", "0"), "--timeout above 0"),
                            (("--timeout", "nan"), "--timeout above 0"), (("--timeout", "inf"), "--timeout above 0"),
                            (("--shard", "0/4"), "--shard 0/4"), (("--shard", "5/4"), "from 1 to N"),
                            (("--shard", "2"), "give K/N"), (("--shard=-1/-1",), "give K/N"),
                            (("--split", "heldout"), "0 cases in heldout"),
                            (("--shard", "1/" + "9" * 5000), "give K/N"),
                            (("--out", self.log), "it is read as well"), (("--out", ""), "it is a folder"),
                            (("--out", self.cases), "it is read as well"),
                            (("--out", self.path("no/run.json")), "no folder")):
            with self.subTest(more=more):
                system = System()
                self.assert_refused(self.record(*more, system=system), words)
                self.assertEqual((os.listdir(self.folder), system.calls), (["cases.json"], []))

    def test_a_record_of_another_run_is_found_before_the_first_trial_and_one_of_the_same_is_replaced(self):
        self.record()
        for number, log in enumerate(("again.jsonl", "third.jsonl")):
            self.assertEqual(self.record("--trials", str(2 + number), log=self.path(log)).status, 0)
        kept, other = self.bytes(self.out), System()
        other.version = "2"
        another = "only a run record of this case set, task and system made before is replaced"
        self.assert_refused(self.record(system=other, log=self.path("other.jsonl")), another)
        self.write_cases(4)
        self.assert_refused(self.record(log=self.path("other.jsonl")), another)
        with open(self.out, "w") as file:
            file.write("# a README")
        self.write_cases()
        self.assert_refused(self.record(system=other, log=self.path("other.jsonl")), "a file of another kind")
        self.assertEqual((other.calls, os.path.exists(self.path("other.jsonl"))), ([], False))
        self.assertNotEqual(kept, self.bytes(self.out))

    def test_a_record_on_stdout_is_alone_there(self):
        done = python(BENCH, "--cases", self.cases, "--system", "triage_task:rules", "--trials", "3", "--log", self.log,
                      "--out", "/dev/stdout")
        self.assertEqual(json.loads(done.stdout)["summary"]["dev"]["trials"], 9)
        self.assertIn("wrote", done.stderr)

    def test_a_system_of_one_s_own_may_warn_and_fail_to_answer(self):
        class Odd(System):
            def respond(self, case, trial):
                if trial == 1:
                    raise Incomplete("nothing\ncame", {"raw": ""})
                return Answer("no object" if trial == 2 else DELIVERY, {"warning": "slow"} if case.id == "c2" else {})

        result = self.record(system=Odd())
        self.assertEqual((result.status, result.err.splitlines()[2:]), (0, [
            "warning: 3 of 9 trials: incomplete, Incomplete: nothing came (first: case 'c0' trial 1)",
            ("warning: 3 of 9 trials: incomplete, NoAnswer: the output is no answer of triage_task "
             "(first: case 'c0' trial 2)"),
            "warning: 2 of 9 trials: slow (first: case 'c2' trial 2)"]))

    def test_answers_that_miss_in_capitals_and_punctuation_alone_are_told_of(self):
        class Loud(System):
            def respond(self, case, trial):
                return Answer(("Late.", "late", "no")[trial - 1] if case.id == "c1" else "late", {})

        with open(self.cases, "w") as file:
            json.dump({"name": "n", "version": "1", "cases": [
                {"id": f"c{i}", "split": "dev", "input": {"text": f"{i}"}, "expected": {"equals": "late"}, "tags": {}}
                for i in range(3)]}, file)
        result = self.record("--task", "answer_task", system=Loud())
        self.assertEqual((result.status, result.err.splitlines()[2:]), (0, [
            f"warning: 1 of 9 trials: {bench.NEAR_MISS} 'Late.' (first: case 'c1' trial 1)"]))

    def test_a_run_record_goes_into_a_folder_runs_that_is_made(self):
        done = python("-W", "error", BENCH, "--cases", self.cases, "--system", "triage_task:rules", "--log", "my.jsonl",
                      cwd=self.folder)
        self.assertEqual((done.returncode, os.listdir(self.path("runs"))), (0, ["my.json"]), done.stderr)

    def test_a_system_whose_server_is_not_there_is_refused_and_leaves_no_file(self):
        system = System()
        system.prepare = mock.Mock(side_effect=Unavailable("no licence free"))
        self.assert_refused(self.record(system=system), "the server of scripted: no licence free")
        self.assertEqual((os.listdir(self.folder), system.calls), (["cases.json"], []))

    @unittest.skipUnless(bench.__doc__, "python3 -OO takes docstrings away")
    def test_the_command_in_the_docstring_prints_what_stands_below_it(self):
        result = bench_main("--cases", os.path.join(HERE, "cases-robustness.json"), "--system", "triage_task:rules",
                            "--trials", "5", "--log", self.log, "--out", self.out)
        self.assertEqual(result.status, 0, result.err)
        self.assertIn(result.out.partition(";")[0], str(bench.__doc__))

    def test_the_command_runs_isolated_and_optimised(self):
        done = python("-I", "-OO", "-W", "error", BENCH, "--cases", self.cases, "--system", "triage_task:rules",
                      "--log", self.log, "--out", self.out, "--quiet", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("3 of 3 trials pass", done.stdout)


if __name__ == "__main__":
    unittest.main()
