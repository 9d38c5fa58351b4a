"""How does a system answer each case, again and again? Records repeated trials of one system into an append-only log.

    $ python3 bench.py --cases cases-robustness.json --system triage_task:rules --trials 5 --log recorded/rules.jsonl
    triage-rules 1: 220 trials to record into recorded/rules.jsonl
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

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import contextlib
import hashlib
import json
import queue
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from core import files
import harness
from core.files import RunError, print_stderr
from harness import Case, Task, Unavailable

RETRIES = 8  # with the pauses below about two minutes: the time in which a server starts again and loads its model
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
TICK_S = 1.0  # how long the line on a terminal may stand still
LOOK_EVERY = 100  # trials between two looks at what serves
REDRAW_S, REPORT_S = 0.1, 60.0  # between two lines of progress: on a terminal, elsewhere

Attempt = tuple[Case, int]  # a case and the number of its trial: the unit of work
Outcome = dict[str, Any]


def units_of(cases: Sequence[Case], trials: int, shard: tuple[int, int]) -> list[Attempt]:
    """Return the units of shard (K, N), in recording order: every case once, then every case again.

    A system that drifts while it is recorded drifts on all cases alike, and a run cut short has whole rounds.
    """
    k, n = shard
    return [(case, trial) for trial in range(1, trials + 1) for case in cases][k - 1::n]


# === The log, as it is written ===


class LogWriter(files.Appender):
    """The log of one run: `rows` are its trials, `sealed` says whether it has its end line. More trials extend it."""

    def __init__(self, path: str, resume: bool, header: dict[str, Any], units: Sequence[Attempt]):
        """Open a log at its next line; raise RunError, the log untouched, where it is not one of this run."""
        self.rows: list[dict[str, Any]] = []
        self.sealed, self.extend, self.moved = False, False, ""

        def check(lines: bytes) -> int:
            if lines:
                log = harness.parse_log(lines, path)
                self.extend = log.end is not None and not log.changed and log.header["trials"] < header["trials"]
                more = {"trials": header["trials"]} if self.extend else {}
                harness.refuse_run_difference(log.header | more, header, (path, "this command"))
                ours = {(case.id, trial) for case, trial in units}
                for number, row in zip(log.lines, log.rows):
                    if (row["case_id"], row["trial"]) not in ours:
                        raise RunError(f"{path}:{number}: case {row['case_id']!r} trial {row['trial']} is not of this "
                                       "run; record it again under another name")
                self.rows, self.sealed = log.rows, log.end is not None and not self.extend
            return len(lines)

        super().__init__(path, files.LOG_START, check, fresh=not resume)
        if not self.data or self.extend:
            more = {"type": "extended", "trials": header["trials"], "at": header["started_at"]}
            try:
                self.add(more if self.extend else header)
            except BaseException:
                self.close()
                raise

    def add(self, value: dict[str, Any]) -> None:
        """Write one line and wait until the disk has it; raise RunError where it has not, or the log is not ours alone.

        Where somebody removed the log, cut it or wrote to it, all that was recorded goes on in another file, this line
        included, and every line after it raises RunError as well: what is under way is kept, no more is begun.
        """
        try:
            why = "" if self.moved else self.changed(value["type"] == "end")
            if why:
                before = self.path
                self.leave()
                self.moved = f"{before} {why} while it was recorded"
            self.append(files.json_line(value).encode())
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {error.strerror}; make room for it") from None
        if value["type"] == "trial":
            self.rows.append(value)
        if self.moved:
            raise RunError(self.moved)

    def seal(self) -> None:
        """Write the end line: the number of trials, and the sha256 of every byte before it."""
        self.add({"type": "end", "trials": len(self.rows), "sha256": hashlib.sha256(self.data).hexdigest()})
        self.sealed = True


# === Trials, several at a time ===


class Patience(NamedTuple):
    """How what a server did not do is tried again."""

    retries: int
    stop: threading.Event  # set: nothing is tried again
    wait: Callable[[float], Any] | None  # makes a pause; None: one that ends once stop is set
    noted: Callable[[str], Any]
    jitter: Callable[[], float] = random.random  # from 0 to 1
    known: bool = True  # the server was there before: where nothing listens now, it may come back

    def tried(self, work: Callable[[], Any]) -> tuple[Any, list[str]]:
        """Return what work() returns, and why each time before it was Unavailable.

        Pauses double, jitter shortens them by up to half, so that many recorders do not come back at once, and no pause
        is shorter than the server asks, up to the longest. Raises Unavailable once `retries` further tries are spent,
        after a pause in which `stop` was set, or at once where no server is.
        """
        reasons: list[str] = []
        while True:
            try:
                return work(), reasons
            except Unavailable as error:
                if error.absent and not self.known:
                    raise
                if len(reasons) == self.retries:
                    raise Unavailable(f"{error}, after {self.retries} retries") from None
                reasons.append(str(error))
                self.noted(str(error))
                pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(len(reasons) - 1, 9)) * (1 - self.jitter() / 2)
                (self.wait or self.stop.wait)(max(pause, min(LONGEST_PAUSE_S, error.retry_after_s or 0)))
                if self.stop.is_set():
                    raise Unavailable(f"{error}, and the run was stopped") from None


def run_all(units: Sequence[Attempt], work: Callable[[Attempt], Outcome], workers: int, stop: threading.Event,
            keep: Callable[[Attempt, Outcome], None], idle: Callable[[], None]) -> None:
    """Call keep(unit, outcome) for each unit as it finishes, at most `workers` under way, begun in their order.

    Sets `stop` and begins no more when one raises: those under way are waited for and kept, then the exception goes
    on. Ctrl-C does not wait: what is finished is kept, then KeyboardInterrupt is raised. `idle` is called where nothing
    finished for a while.
    """
    todo, lock = iter(units), threading.Lock()
    room = threading.Semaphore(workers)  # none is begun before an earlier one is kept: so much can be lost, and no more
    done: queue.SimpleQueue[tuple[Attempt, Outcome | BaseException] | KeyboardInterrupt | None] = queue.SimpleQueue()

    def serve() -> None:
        while room.acquire() and not stop.is_set():
            with lock:
                unit = next(todo, None)
            if unit is None:
                break
            try:
                done.put((unit, work(unit)))
            except BaseException as error:  # noqa: BLE001 (raised again, in the main thread)
                stop.set()
                done.put((unit, error))
        done.put(None)

    def interrupt(*_: Any) -> None:  # a message cannot cut a line in two, as an exception out of nowhere could
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C waits for nothing
        stop.set()
        done.put(KeyboardInterrupt())

    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where `&` said to ignore it
    if listening:
        signal.signal(signal.SIGINT, interrupt)
    serving = min(workers, len(units))
    failure: BaseException | None = None
    try:
        for _ in range(serving):
            threading.Thread(target=serve, daemon=True).start()  # daemon: no exit waits for a slow server
        while serving and not isinstance(failure, KeyboardInterrupt) or not done.empty():
            try:
                item = done.get(timeout=TICK_S)
            except queue.Empty:
                idle()
                continue
            if item is None:
                serving -= 1
            elif isinstance(item, KeyboardInterrupt):
                failure = item
            else:
                unit, outcome = item
                try:
                    if isinstance(outcome, BaseException):
                        raise outcome
                    keep(unit, outcome)
                except BaseException as error:  # noqa: BLE001 (raised again, once what is under way is kept)
                    stop.set()
                    failure = failure or error
                room.release()
    finally:
        if listening:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()  # after that: a handler called from within it would wait for itself
    if failure is not None:
        raise failure


# === Progress ===


class Progress:
    """One line about the run on stderr: drawn over itself on a terminal, else written once a minute."""

    def __init__(self, total: int, kept: Iterable[str], quiet: bool, timer: Callable[[], float], stream: Any = None):
        self.total, self.verdicts = total, Counter(kept)
        self.before, self.retries, self.trouble = self.verdicts.total(), 0, ""
        self.stream, self.quiet, self.timer = stream or sys.stderr, quiet, timer
        self.terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.began = self.drawn = self.stepped = timer()

    def line(self) -> str:
        """Return how far it is: done of all, percent, rate, time left, passes, incomplete, retries, what is wrong."""
        have = self.verdicts.total()
        rate = (have - self.before) / max(self.stepped - self.began, 1e-9)  # it does not fall during a trial
        seconds = (self.total - have) / rate - (self.timer() - self.stepped) if rate else 0.0
        left = f"{duration(max(seconds, 0.0))} left" if rate else "time left unknown"
        return (f"{have}/{self.total} {100 * have // max(self.total, 1)}%  {rate:.2f}/s  {left}  "
                f"pass {self.verdicts['pass']}  incomplete {self.verdicts['incomplete']}  retries {self.retries}"
                + (f", waiting: {self.trouble}" if self.trouble else ""))

    def retried(self, reason: str) -> None:
        """Count a retry. Called by the workers, who draw nothing: the line shows it within a tick, else it is told."""
        if not self.trouble and (self.quiet or not self.terminal):
            print_stderr(f"waiting for the server: {reason}")
        self.retries, self.trouble = self.retries + 1, files.line_of(reason)

    def step(self, verdict: str) -> None:
        self.verdicts[verdict] += 1
        self.trouble, self.stepped = "", self.timer()
        self.show()

    def show(self) -> None:
        """Draw the line, unless the last one is young."""
        now = self.timer()
        if now - self.drawn < (REDRAW_S if self.terminal else REPORT_S):
            return
        self.drawn, columns = now, 80
        with contextlib.suppress(OSError):
            columns = os.get_terminal_size(self.stream.fileno()).columns or 80
        self._write(f"\r{self.line()[:max(columns - 3, 0)]}\x1b[K" if self.terminal else f"{self.line()}\n")

    def note(self, text: str) -> None:
        self.clear()
        self._write(f"{files.line_of(text)}\n")

    def clear(self) -> None:
        """Take the drawn line away, so that an error or warning begins on an empty one."""
        if self.terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if not self.quiet:
            self.stream.write(text)
            self.stream.flush()


def duration(seconds: float) -> str:
    """Return seconds as minutes:seconds or hours:minutes:seconds: 1:15, 1:00:00."""
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}" if minutes >= 60 else f"{minutes}:{seconds:02d}"


def run_warnings(rows: Sequence[dict[str, Any]], task: Task, cases: dict[str, Case]) -> list[str]:
    """Return what whoever reads the run must know: its incomplete trials by reason, what the system warned of."""
    found: dict[str, list[str]] = {}
    for row in rows:
        where = f"(first: case {row['case_id']!r} trial {row['trial']})"
        if harness.grade(task, cases[row["case_id"]], row)[0] == "incomplete":
            error = row.get("error", {"type": "NoAnswer", "message": f"the output is no answer of {task.name}"})
            message = " ".join(error["message"].split())
            found.setdefault(f"incomplete, {error['type']}", []).append(f"{message[:200]} {where}")
        if "warning" in row["metadata"]:
            found.setdefault(str(row["metadata"]["warning"]), []).append(where)
    return [f"{len(firsts)} of {len(rows)} trials: {what}: {firsts[0]}" for what, firsts in found.items()]


# === Command line ===


class Changed(RunError):
    """What serves is not what served at first; the log says so, and is closed."""


def record(args: argparse.Namespace, system: Any, task: Task, units: Sequence[Attempt], writer: LogWriter,
           clock: Callable[[], float], timer: Callable[[], float], wait: Callable[[float], Any] | None,
           header: dict[str, Any]) -> None:
    """Record the units that the log lacks, then seal it; raise RunError where the run must stop.

    After a retry, every LOOK_EVERY trials and at the end, what answers is compared with the header.
    """
    rows, cases = writer.rows, {case.id: case for case, _ in units}
    have = {(row["case_id"], row["trial"]) for row in rows}
    missing = [(case, trial) for case, trial in units if (case.id, trial) not in have]
    kept = (harness.grade(task, cases[row["case_id"]], row)[0] for row in rows)
    progress = Progress(len(units), kept, args.quiet, timer)
    progress.note(f"{system.name} {system.version}: {len(missing)} trials to record into {args.log}"
                  + (f", {len(rows)} are there" if rows else ""))

    def work(unit: Attempt) -> Outcome:
        def attempt() -> Outcome:
            began = timer()
            outcome = harness.attempt(system, task, *unit)
            return {**outcome, "elapsed_s": round(timer() - began, 3), "at": harness.utc(clock())}

        try:
            outcome, reasons = patience.tried(attempt)
        except (RunError, Unavailable) as error:
            raise RunError(f"case {unit[0].id!r} trial {unit[1]}: {error}") from error.__cause__
        outcome["metadata"] |= {"retries": len(reasons), "retried_after": reasons} if reasons else {}
        return outcome

    def keep(unit: Attempt, outcome: Outcome) -> None:
        if writer.sealed:  # the model has changed: what was still under way is of no use
            return
        case, trial = unit
        row = {"type": "trial", "case_id": case.id, "trial": trial, "seed": harness.trial_seed(trial, case.id, args.seeds),
               **outcome}
        writer.add(row)
        progress.step(harness.grade(task, case, outcome)[0])
        if "retries" in outcome["metadata"] or len(rows) % LOOK_EVERY == 0:
            try:
                look(patience._replace(retries=0))
            except Changed:
                raise
            except RunError:  # the server has gone again: the next trial finds out
                pass

    def look(patience: Patience) -> None:
        server = harness.prepare(system, lambda work: patience.tried(work)[0])
        now = json.loads(files.json_line({
            "type": "changed", "model": system.model, "settings": getattr(system, "settings", None), "server": server,
            "at": harness.utc(clock())}))
        try:
            harness.refuse_changed(header, now, args.log)
        except RunError as error:
            writer.add(now)
            writer.seal()
            raise Changed(str(error)) from None

    patience = Patience(args.retries, threading.Event(), wait, progress.retried)
    try:
        run_all(missing, work, args.workers, patience.stop, keep, progress.show)
        look(patience._replace(stop=threading.Event()))
        writer.seal()
    except BaseException as stopped:
        progress.clear()
        if isinstance(stopped, Changed):
            raise
        words = (f"{len(rows)} of {len(units)} trials are kept in {writer.path}; go on with the same command"
                 + (f", --log {writer.path}" if writer.moved else "") + " and --resume")
        if isinstance(stopped, RunError):
            raise RunError(f"{stopped}; {words}") from stopped.__cause__
        print_stderr(f"stopped: {words}")
        raise
    progress.note(progress.line())


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "bench.py")
    harness.add_run_options(parser)
    parser.add_argument("--log", required=True, metavar="FILE", help="the log to write: a new one, unless --resume")
    parser.add_argument("--out", metavar="FILE", help="the run record to write (default: runs/NAME-OF-LOG.json)")
    parser.add_argument("--resume", action="store_true", help="go on with the log if it is there: record what it lacks")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="record every N-th trial, from the K-th on")
    parser.add_argument("--seeds", choices=harness.SEED_RULES, default=harness.SEED_RULES[0], help="one seed for all "
                        "cases of a trial, or one for each case and trial (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="requests under way (default: %(default)s)")
    parser.add_argument("--retries", type=int, default=RETRIES, metavar="N",
                        help="further tries where the server is unavailable (default: %(default)s)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for one reply (default: the system's own)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return parser


def main(argv: Sequence[str] | None = None, clock: Callable[[], float] = time.time,
         timer: Callable[[], float] = time.monotonic, wait: Callable[[float], Any] | None = None) -> int:
    """Run the command; clock tells the time of day, timer measures, wait makes the pauses between retries."""
    args = build_parser().parse_args(argv)
    default = os.path.join("runs", os.path.splitext(os.path.basename(args.log))[0] + ".json")
    out = ("a run record", default if args.out is None else args.out)
    if args.workers < 1 or args.retries < 0 or args.timeout is not None and not 0 < args.timeout < 1e9:
        raise RunError("--workers is at least 1, --retries at least 0, --timeout above 0; correct the option")
    shard = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", args.shard)
    k, n = map(int, shard.groups()) if shard else (0, 0)
    if not 1 <= k <= n:
        raise RunError(f"--shard {args.shard}: give K/N with K from 1 to N, for example 1/4")
    if n == 1:
        read = [args.cases, args.log, *filter(None, [args.prompt])]
        files.check_outputs([out], read)
    task, case_set = harness.load_task(args.task), harness.load_cases(args.cases)
    system = harness.load_system(args.system)
    harness.check_cases(case_set, task, args.cases)
    if args.timeout is not None and hasattr(system, "timeout_s"):
        system.timeout_s = args.timeout
    if hasattr(system, "seeds"):
        system.seeds = args.seeds
    elif args.seeds != harness.SEED_RULES[0] and system.mode != "offline":
        raise RunError(f"the system {args.system} has no attribute seeds, and would send seeds of its own: give it one, "
                       "and use harness.trial_seed(trial, case.id, self.seeds)")
    cases = case_set.of([args.split])
    units = units_of(cases, args.trials, (k, n))
    harness.configure(system, task, cases, args.prompt, args.system_option)
    patience = Patience(args.retries, threading.Event(), wait, lambda why: print_stderr(f"waiting for the server: {why}"),
                        known=False)
    server = harness.prepare(system, lambda work: patience.tried(work)[0])
    header = harness.run_header(case_set, task, [args.split], args.trials, system, server,
                                harness.utc(clock()), None if n == 1 else f"{k}/{n}", args.workers)
    if args.seeds != harness.SEED_RULES[0]:
        header["seeds"] = args.seeds
    if n == 1:
        files.check_outputs([out], read, header)
    with contextlib.closing(LogWriter(args.log, args.resume, header, units)) as writer:
        if not writer.sealed:
            record(args, system, task, units, writer, clock, timer, wait, header)
    log = harness.read_log(args.log)
    for warning in run_warnings(log.rows, task, {case.id: case for case in cases}):
        print_stderr(f"warning: {warning}")
    if n > 1:
        print(files.line_of(f"wrote {args.log}, shard {k}/{n}; join all {n} with harness.py replay"))
        return 0
    run = harness.replay([log], case_set, task)
    try:
        files.write(*out, harness.record_text(run), run["manifest"])
    except RunError as error:
        raise RunError(f"{error}; {args.log} is whole: make its record with harness.py replay") from None
    print(files.line_of(f"{harness.format_counts(run)}; wrote {args.log} and {out[1]}"))
    return 0


if __name__ == "__main__":
    sys.exit(files.run_command(main))
