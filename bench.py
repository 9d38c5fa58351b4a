"""How does a system answer each case, again and again? Records repeated trials of one system into an append-only log.

    $ python3 bench.py --cases cases-robustness.json --system triage_task:rules --trials 5 --log recorded/rules.jsonl
    triage-rules 1: 220 of 220 trials to record into recorded/rules.jsonl
    ...
    triage-rules 1 on dev: 150 of 220 trials pass, 70 fail, 0 incomplete; wrote recorded/rules.jsonl and runs/rules.json

Reads the case set; writes the log, a flushed line a trial, and by replaying that log its run record, runs/NAME.json
unless --out names another. A run that stopped, for whatever reason, goes on with the same command and --resume, which
also starts a log that is not there yet; a torn last line is moved into LOG.torn. With --shard K/N a run is divided over
machines; then no record is written, and `harness.py replay` joins the shards.

A server that is busy, broken or gone is tried again (--retries, with growing pauses). A reply without an answer is
recorded as what it is. With --workers N a system's respond() is called from N threads at a time, else from one.
Progress, warnings and errors go to stderr. Exit status: 0 done, 1 refused or stopped (one `error:` line; what was
recorded is kept), 2 bad usage, 130 interrupted (what is finished is kept).
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import contextlib
import json
import random
import re
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from core import files, logs
import harness
from core.files import RunError, print_stderr
from harness import Case, CaseSet, Task, Unavailable

RETRIES = 8  # with the pauses below about two minutes: the time in which a server starts again and loads its model
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
TICK_S = 1.0  # how long the line on a terminal may stay as it is
LOOK_EVERY = 100  # trials between two looks at the server
MOST_WORKERS = 10_000
REDRAW_S, REPORT_S = 0.1, 60.0  # between two lines of progress: on a terminal, elsewhere

RUNS = "runs"  # the folder of run records, unless --out names another
NEAR_MISS = ("wrong in nothing but capitals, blanks or punctuation; if the grader should be less strict, correct the "
             "case set (convert.py cases --ignore-case, or any_of), and grade the log again with --recorded-with:")

Attempt = tuple[Case, int]  # a case and the number of its trial: the unit of work
Line = dict[str, Any]  # a line of a log
Clock = Callable[[], float]


def attempts_of(cases: Sequence[Case], trials: int, shard: tuple[int, int]) -> list[Attempt]:
    """Return the attempts of shard (K, N), in recording order: every case once, then every case again.

    A system that drifts while it is recorded drifts on all cases alike, and a run cut short has whole rounds.
    """
    k, n = shard
    return [(case, trial) for trial in range(1, trials + 1) for case in cases][k - 1::n]


# === The log, as it is written ===


class LogWriter(files.Appender):
    """The log of one run: its trials in `rows`, the attempts that it lacks in `missing`, and whether it is `sealed`.

    More trials extend a log that has its end line.
    """

    def __init__(self, path: str, resume: bool, header: Line, attempts: Sequence[Attempt]):
        """Open a log at its next line; raise RunError, the log untouched, where it is not one of this run."""
        self.header, self.missing = header, attempts
        self.rows: list[Line] = []
        self.sealed = False
        self.first: Line | None = header  # the line to begin with, where there is one
        super().__init__(path, files.LOG_START, self._check, fresh=not resume)

    def _check(self, lines: bytes) -> int:
        if not lines:
            return 0
        files.expect("a log", lines.partition(b"\n")[0], self.path, "give a log that bench.py recorded")
        log = logs.parse_log(lines, self.path)
        self.first = None
        if log.end and log.header["trials"] < self.header["trials"]:
            self.first = {"type": "extended", "trials": self.header["trials"], "at": self.header["started_at"]}
        there = log.header["trials"]
        if there > self.header["trials"]:
            raise RunError(f"{self.path} has {there} trials a case; give --trials {there}, or more to extend it")
        ignored = ("trials",) if self.first else ()
        logs.refuse_run_difference(log.header, self.header, (self.path, "this command"), ignored)
        missing = {(case.id, trial): (case, trial) for case, trial in self.missing}
        for trial, number in log.lines.items():
            if not missing.pop(trial, None):
                raise RunError(f"{self.path}:{number}: a trial that is not of this run; record it under another name")
        self.rows, self.missing = log.rows, list(missing.values())
        self.sealed = bool(log.end) and not self.first
        return len(lines)

    def add(self, value: Line) -> None:
        """Write one line and wait until the disk has it; raise RunError where it has not, or the log is not ours alone.

        Where somebody removed the log, cut it or wrote to it, all that was recorded is saved in another file, this line
        and those after it included, and this one raises RunError: what is under way is kept, no more is begun.
        """
        failed = f"cannot write {self.path}"
        try:
            change = self.changed(throughout=value["type"] == "end")
            if change:
                failed = f"{self.path} {change} while it was recorded"
                self.leave()
            self.append(files.json_line(value).encode())
        except OSError as error:
            raise RunError(f"{failed}: {error.strerror}; free disk space") from None
        if value["type"] == "trial":
            self.rows.append(value)
        if change:
            raise RunError(failed)

    def seal(self) -> None:
        """Write the end line: the number of trials, and the sha256 of every byte before it."""
        self.add({"type": "end", "trials": len(self.rows), "sha256": files.sha256_of(self.data)})
        self.sealed = True


# === Trials, several at a time ===


class Pool:
    """Threads that work on attempts, several at a time; the outcomes are kept in the order in which they come."""

    def __init__(self, work: Callable[[Any], Any], keep: Callable[[Any, Any], None], stop: threading.Event):
        """work returns the outcome of an attempt, keep takes both. stop: once set, none is begun any more."""
        self.work, self.keep, self.stop = work, keep, stop
        self.lock = threading.Lock()  # whoever holds it begins, keeps, or writes to the log
        self.waiting: Iterator[Any] = iter(())
        self.finished: deque[tuple[Any, Any]] = deque()
        self.failures: list[BaseException] = []

    def run(self, attempts: Sequence[Any], workers: int, idle: Callable[[], None]) -> None:
        """Keep the outcome of each attempt, `workers` at most under way, begun in their order; idle() now and then.

        Sets `stop` where one raises: those under way are waited for and kept, then that exception is raised. Ctrl-C
        does not wait: what is finished is kept, then KeyboardInterrupt is raised.
        """
        self.waiting = iter(attempts)
        threads = list[threading.Thread]()
        try:
            for _ in attempts[:workers]:
                thread = threading.Thread(target=self._serve, daemon=True)  # no exit waits for a slow server
                try:
                    thread.start()
                except RuntimeError:  # the machine allows no more of them
                    if not threads:
                        raise RunError("no thread can be started; give this command more memory or processes") from None
                    break
                threads.append(thread)
            for thread in threads:
                while thread.is_alive():
                    thread.join(TICK_S)
                    idle()
        except BaseException:
            self.stop.set()
            self.lock.acquire()  # for good: nothing is begun or kept by the threads after this
            while self.finished:
                with contextlib.suppress(RunError):  # one that is not kept is no reason to lose the next
                    self.keep(*self.finished.popleft())
            raise
        if self.failures:
            raise self.failures[0]

    def _serve(self) -> None:
        try:
            for attempt in iter(self._next, None):
                self.finished.append((attempt, self.work(attempt)))
        except BaseException as error:  # raised again, in the main thread
            self.failures.append(error)
            self.stop.set()

    def _next(self) -> Any:
        """Keep the outcome that has waited longest, if any; return the next attempt, or None for none.

        No more than one: the threads whose outcomes are kept would wait, and ask nothing meanwhile.
        """
        with self.lock:
            if self.finished:
                self.keep(*self.finished.popleft())
            return None if self.stop.is_set() else next(self.waiting, None)


# === Progress ===


class Progress:
    """One line about the run on stderr: drawn over itself on a terminal, else written once a minute."""

    def __init__(self, total: int, verdicts: Iterable[str], quiet: bool, timer: Clock):
        self.total, self.quiet, self.timer = total, quiet, timer
        self.verdicts = Counter(verdicts)
        self.before = self.verdicts.total()  # trials that an earlier recording left
        self.retries, self.waiting = 0, False  # waiting: for the server, and a line said so
        # What takes the drawn line away, on a terminal.
        self.erase = "\r\x1b[K" if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else ""
        self.began = self.drawn = self.stepped = timer()

    def line(self) -> str:
        """Return how far it is: done of all, percent, time left, passes, incomplete, retries, rate."""
        done = self.verdicts.total()
        rate = (done - self.before) / max(self.stepped - self.began, 1e-9)  # it does not fall during a trial
        seconds = (self.total - done) / max(rate, 1e-9) - (self.timer() - self.stepped)
        left = f"{timedelta(seconds=round(max(seconds, 0.0)))} left" if rate else "time left unknown"
        return (f"{done}/{self.total} {100 * done // max(self.total, 1)}%  {left}  pass {self.verdicts['pass']}  "
                f"incomplete {self.verdicts['incomplete']}  retries {self.retries}  {rate:.2f}/s")

    def retried(self, reason: str) -> None:
        """Count a retry, and tell the first of a series, quiet or not. Called by the workers."""
        self.retries += 1
        if not self.waiting:
            self.waiting = True
            self.write("")
            print_stderr(f"waiting for the server: {reason}")

    def step(self, verdict: str) -> None:
        self.verdicts[verdict] += 1
        self.waiting, self.stepped = False, self.timer()
        self.show()

    def show(self) -> None:
        """Draw the line, unless the last one is young."""
        now = self.timer()
        if now - self.drawn >= (REDRAW_S if self.erase else REPORT_S):
            self.drawn = now
            width = max(shutil.get_terminal_size().columns - 3, 0)
            self.write(self.line()[:width] if self.erase else f"{self.line()}\n")

    def write(self, text: str) -> None:
        """Write a text in place of the drawn line, and flush, unless quiet."""
        if not self.quiet:
            print(self.erase + text, end="", file=sys.stderr, flush=True)


def shown_verdict(task: Task, case: Case, row: Line) -> str:
    """Return the verdict for the progress line. A grader that fails is no reason to stop: the answer is kept."""
    try:
        return harness.grade(task, case, row)[0]
    except Exception:  # raised again by the replay of the finished log
        return "not graded"


def run_warnings(rows: Sequence[Line], task: Task, cases: dict[str, Case]) -> list[str]:
    """Return warnings for the reader of a run: incomplete trials by reason, near misses, what the system warned of."""
    places: dict[str, list[str]] = {}  # by reason
    for row in rows:
        where = f"(first: case {row['case_id']!r} trial {row['trial']})"
        case = cases[row["case_id"]]
        verdict = shown_verdict(task, case, row)
        if verdict == "fail" and harness.near_miss(case.expected, row.get("output")):
            places.setdefault(NEAR_MISS, []).append(f"{row['output']!r:.60} {where}")
        if verdict == "incomplete":
            error = row.get("error", {"type": "NoAnswer", "message": f"the output is no answer of {task.name}"})
            places.setdefault(f"incomplete, {error['type']}:", []).append(f"{error['message'][:200]} {where}")
        if "warning" in row["metadata"]:
            places.setdefault(str(row["metadata"]["warning"]), []).append(where)
    return [f"{len(found)} of {len(rows)} trials: {reason} {found[0]}" for reason, found in places.items()]


# === Recording ===


class Times(NamedTuple):
    """How the time of day is told, how time is measured, and how a pause is made, if not by waiting."""

    clock: Clock = time.time
    timer: Clock = time.monotonic
    wait: Callable[[float], Any] | None = None


REAL_TIMES = Times()


class Recorder:
    """Asks a system, again where its server is unavailable, and writes what it answers into a log."""

    writer: LogWriter

    def __init__(self, args: argparse.Namespace, system: Any, task: Task, times: Times):
        self.args, self.system, self.task, self.times = args, system, task, times
        self.stop = threading.Event()  # set: nothing is begun or tried again, and a pause ends
        self.pool = Pool(self.work, self.keep, self.stop)
        self.look_due, self.looking = False, threading.Lock()
        self.wait = times.wait or self.stop.wait
        self.progress = Progress(0, (), args.quiet, times.timer)

    def tried(self, work: Callable[[], Any], subject: str, first: bool = False) -> tuple[Any, list[str]]:
        """Return what work() returns, and why each time before it was Unavailable; raise RunError, naming the subject.

        Pauses double, jitter shortens them by up to half, so that many recorders do not come back at once, and no pause
        is shorter than the server asks, up to the longest. It ends once --retries further tries are spent, after a
        pause in which `stop` was set, or, the first time, at once where no server is.
        """
        reasons: list[str] = []
        while True:
            try:
                return work(), reasons
            except RunError as error:
                raise RunError(f"{subject}: {error}") from None
            except Unavailable as error:
                if len(reasons) == self.args.retries or first and error.absent:
                    raise RunError(f"{subject}: {error}, after {len(reasons)} retries; start the server, "
                                   "or wait for it") from None
                pause = min(FIRST_PAUSE_S * 2 ** min(len(reasons), 9), LONGEST_PAUSE_S)  # no float holds 2 ** 1024
                reasons.append(str(error))
                self.progress.retried(str(error))
                self.wait(max(pause * random.uniform(0.5, 1), min(error.retry_after_s or 0, LONGEST_PAUSE_S)))
                if self.stop.is_set():
                    raise

    def prepared(self, first: bool = False) -> Any:
        """Return what the system's prepare() says of its server, None where it has none."""
        prepare = getattr(self.system, "prepare", lambda: None)
        return self.tried(prepare, f"the server of {self.system.name}", first)[0]

    def record(self, writer: LogWriter, cases: dict[str, Case]) -> None:
        """Record what a log is missing, and seal it; raise RunError where the run must stop.

        After a retry, every LOOK_EVERY trials and at the end, the model and the server are compared with the header.
        """
        verdicts = [shown_verdict(self.task, cases[row["case_id"]], row) for row in writer.rows]
        total = len(writer.rows) + len(writer.missing)
        self.writer, self.progress = writer, Progress(total, verdicts, self.args.quiet, self.times.timer)
        self.progress.write(files.line_of(f"{self.system.name} {self.system.version}: {len(writer.missing)} of {total} "
                                          f"trials to record into {self.args.log}") + "\n")
        try:
            if writer.first:
                writer.add(writer.first)
            self.pool.run(writer.missing, self.args.workers, self.progress.show)
            self.look()
            writer.seal()
        except BaseException as stopped:
            self.progress.write("")
            if writer.sealed:  # the model has changed: there is nothing to go on with
                raise
            rest = "nothing of it is kept"  # it was removed, and could not be saved elsewhere
            if os.path.exists(writer.path):
                rest = (f"{len(writer.rows)} of {total} trials are kept; give the same command again with "
                        f"--log {writer.path} --resume" + ("" if writer.rows else "; remove the log to change it"))
            if isinstance(stopped, RunError):
                raise RunError(f"{stopped}; {rest}") from None
            print_stderr(f"stopped: {rest}")
            raise
        self.progress.write(f"{self.progress.line()}\n")

    def work(self, attempt: Attempt) -> Any:
        """Return the outcome of an attempt, tried again while the server is unavailable. Called by the workers.

        A look at the server that is due comes first; the other workers go on meanwhile.
        """
        def respond() -> Line:
            began = self.times.timer()
            outcome = harness.attempt(self.system, self.task, *attempt)
            return {**outcome, "elapsed_s": round(self.times.timer() - began, 3), "at": harness.utc(self.times.clock())}

        if self.look_due and self.looking.acquire(blocking=False):
            try:
                self.look_due = False
                self.look()
            finally:
                self.looking.release()
        outcome, reasons = self.tried(respond, f"case {attempt[0].id!r} trial {attempt[1]}")
        if reasons:
            outcome["metadata"] |= {"retries": len(reasons), "retried_after": reasons}
        return outcome

    def keep(self, attempt: Attempt, outcome: Line) -> None:
        """Write an outcome into the log."""
        if self.writer.sealed:  # the model has changed: what was still under way is of no use
            return
        case, trial = attempt
        seed = harness.trial_seed(trial, case.id, self.args.seeds)
        self.writer.add({"type": "trial", "case_id": case.id, "trial": trial, "seed": seed, **outcome})
        self.progress.step(shown_verdict(self.task, case, outcome))
        self.look_due |= "retries" in outcome["metadata"] or len(self.writer.rows) % LOOK_EVERY == 0

    def look(self) -> None:
        """Raise RunError, the log noted so and sealed, unless model, settings and server are those of the header."""
        server = self.prepared()  # now the system knows what its model is
        now = json.loads(files.json_line({  # as JSON holds it, like the header
            "type": "changed", "model": self.system.model, "settings": getattr(self.system, "settings", None),
            "server": server, "at": harness.utc(self.times.clock())}))
        try:
            logs.refuse_changed(self.writer.header, now, self.args.log)
        except RunError:
            with self.pool.lock:
                with contextlib.suppress(RunError):  # where the log was removed it is noted in what was saved
                    self.writer.add(now)
                self.writer.seal()
            raise


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "bench.py")
    harness.add_run_options(parser, "chat:MODEL (Ollama), chat:openai:MODEL, or a system of your own")
    parser.add_argument("--log", required=True, metavar="FILE", help="the log to write: a new one, unless --resume")
    parser.add_argument("--out", metavar="FILE", help="the run record to write (default: runs/LOG.json)")
    parser.add_argument("--resume", action="store_true", help="go on with the log, if there: record what it lacks")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="record every N-th trial, from the K-th on")
    parser.add_argument("--seeds", choices=logs.SEED_RULES, default=logs.SEED_RULES[0],
                        help="what the seed of a trial follows from (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="requests at a time (default: %(default)s)")
    parser.add_argument("--retries", type=int, default=RETRIES, metavar="N", help="of a request (default: %(default)s)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for one reply (default: the system's own)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return parser


def shard_of(text: str) -> tuple[int, int]:
    """Return (K, N) of "K/N"; raise RunError unless K is one of 1 to N."""
    shard = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", text)
    k, n = map(int, shard.groups()) if shard else (0, 0)
    if not 1 <= k <= n:
        raise RunError(f"--shard {text}: give K/N with K from 1 to N, for example 1/4")
    return k, n


def set_up(system: Any, args: argparse.Namespace) -> None:
    """Give a system its time limit and the rule of its seeds; raise RunError where it takes no rule."""
    if args.timeout is not None and hasattr(system, "timeout_s"):
        system.timeout_s = args.timeout
    if hasattr(system, "seeds"):
        system.seeds = args.seeds
    elif args.seeds != logs.SEED_RULES[0] and system.mode != "offline":
        raise RunError(f"the system {args.system} has no attribute seeds; write seeds = None into its class, and send "
                       "harness.trial_seed(trial, case.id, self.seeds)")


def finish(args: argparse.Namespace, task: Task, case_set: CaseSet) -> None:
    """Print the warnings of a finished log, and, where it is the whole run, write its run record."""
    log = logs.read_log(args.log)
    for warning in run_warnings(log.rows, task, {case.id: case for case in case_set.cases}):
        print_stderr(f"warning: {warning}")
    if args.out is None:
        print(files.line_of(f"wrote {args.log}, shard {log.header['shard']}; join the shards with harness.py replay"))
        return
    try:
        harness.save(harness.replay([log], case_set, task), args.out, args.log)
    except Exception:
        print_stderr(f"{args.log} is whole: harness.py replay makes its record, with --task-changed of a mended task")
        raise


def main(argv: Sequence[str] | None = None, times: Times = REAL_TIMES) -> int:
    args = build_parser().parse_args(argv)
    k, n = shard_of(args.shard)
    if n > 1:
        args.out = None  # of a shard there is no record
    elif args.out is None:
        args.out = f"{RUNS}/{os.path.splitext(os.path.basename(args.log))[0]}.json"
    if (not 1 <= args.workers <= MOST_WORKERS or args.retries < 0
            or args.timeout is not None and not 0 < args.timeout < 1e9):
        raise RunError(f"give --workers from 1 to {MOST_WORKERS}, --retries of 0 or more, --timeout above 0")
    task, case_set, system = harness.load_run(args)
    set_up(system, args)
    recorder = Recorder(args, system, task, times)
    server = recorder.prepared(first=True)
    run = {"splits": [args.split], "trials": args.trials, "shard": None if n == 1 else f"{k}/{n}",
           "workers": args.workers, "started_at": harness.utc(times.clock())}
    if args.seeds != logs.SEED_RULES[0]:
        run["seeds"] = args.seeds
    header = harness.run_header(case_set, task, system, server, run)
    if args.out and os.path.dirname(args.out) == RUNS and os.path.isdir(os.path.dirname(args.log) or "."):
        with contextlib.suppress(OSError):  # why it could not be made is said where the record is checked
            os.makedirs(RUNS, exist_ok=True)
    outputs, inputs = [("a run record", args.out)], [path for path in (args.cases, args.log, args.prompt) if path]
    if not os.path.exists(args.log):  # a log that is there is looked at first: it says what differs
        files.check_outputs(outputs, inputs, header)
    attempts = attempts_of(case_set.of([args.split]), args.trials, (k, n))
    with contextlib.closing(LogWriter(args.log, args.resume, header, attempts)) as writer:
        files.check_outputs(outputs, inputs, header)
        if not writer.sealed:
            recorder.record(writer, {case.id: case for case in case_set.cases})
    finish(args, task, case_set)
    return 0


if __name__ == "__main__":
    sys.exit(files.run_command(main))
