"""What did a system do on each case, and can its record be trusted? Cases, tasks, systems, trials, grades, run records.

    $ python3 harness.py replay recorded/qwen-coder-v1.jsonl --cases cases-robustness.json --out runs/qwen-coder-v1.json
    model-triage-qwen2.5-coder v1 on dev: 54 of 220 trials pass, 166 fail, 0 incomplete; wrote runs/qwen-coder-v1.json
    $ python3 harness.py check recorded/qwen-coder-v1.jsonl
    recorded/qwen-coder-v1.jsonl: whole and sealed: 220 trials of model-triage-qwen2.5-coder v1 on dev

`replay` grades the answers of one log, or of the shards of one run, and writes the run record: the same bytes for the
same log, save RUN_DESCRIPTION_FIELDS. `run` sends the cases through an offline system straight into a record. `check`
says whether a case set, a log or a run record is sound. Exit status: 0 done, 1 refused or bad input (one `error:`
line), 2 bad usage, 130 interrupted.

It is long because all rules of trials and records are here: the same rules serve to write them and to check them.
A trial goes: case -> system.respond -> outcome (attempt) -> log line (bench.py) -> graded row (grade) -> run record.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import copy
import datetime
import functools
import importlib.machinery
import itertools
import json
import platform
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from core.files import (
    STAGES, STRICT, TOOL_VERSION, CaseError, RunError, check_fields, check_outputs, command_parser, decode, expect,
    json_line, line_of, parse_json, read_bytes, run_command, sha256_of, stream_of, write,
)
from core.kinds import HEAD, OURS, describe
from core.logs import RUN_DESCRIPTION_FIELDS as RUN_DESCRIPTION_FIELDS, SPLITS as SPLITS, trial_seed as trial_seed
from core.logs import (
    LOG_VERSION, NAMED, NAMED_SYSTEM, RUN, TRIAL, Header, Log, Row, TrialKey, check_header, check_trial, read_log,
    refuse_difference, refuse_run_difference,
)
from core.texts import Json, opened_as

sys.path.append("")  # last: a user's own module beside the data, never in place of one of ours

RECORD_VERSION = "1"
MOST_TRIALS = 10_000_000  # of a run: more are a slip of the hand
VERDICTS = ("pass", "fail", "incomplete")
SYSTEM_FIELDS = ("name", "version", "mode", "model", "prompt", "tools", "index")
NAMED_FIELD = re.compile(r"(?<![\w}])\{([A-Za-z_]\w*)\}")  # as a prompt names a field; \boxed{x} is LaTeX
REJECTED = {"rejected": True}  # what a case expects whose input must be refused

CASE = {"split": str, "input": dict, "expected": dict, "tags": dict}
MANIFEST_FIELDS = (
    "record_version", "tool_version", "case_set", "task", "graders", "splits", "trials", "system", "settings", "server",
    "log", "shards", "extended", "task_changed", "cases_changed", "cases_left_out", "seeds", "workers", "started_at",
    "python", "platform",
)
MANIFEST = RUN | {"graders": dict, "log": dict | None, "shards": list | None}
ROW = TRIAL | {"split": str, "seed": int | None, "verdict": str, "graders": dict}

Record = dict[str, Any]  # a run record: its manifest, its summary, and its results, a row a trial


class Unavailable(Exception):
    """Raised by a system whose server gave no reply: the same trial may go through later, so bench.py tries again.

    `retry_after_s` is the pause in seconds that the server asks for, None where it does not; `absent` says that nothing
    listens at its address.
    """

    def __init__(self, message: str, retry_after_s: float | None = None, absent: bool = False):
        super().__init__(message)
        self.retry_after_s, self.absent = retry_after_s, absent


class Incomplete(Exception):
    """Raised by a system whose reply holds no answer to grade; metadata keeps what came instead."""

    def __init__(self, message: str, metadata: dict[str, Any] | None = None):
        super().__init__(message)
        self.metadata = metadata or {}


class NoRejection(Exception):
    """Stands for the rejection of a task that knows none: nobody raises it."""


class Case(NamedTuple):
    id: str
    split: str
    input: dict[str, Any]
    expected: dict[str, Any]
    tags: dict[str, str]


class CaseSet(NamedTuple):
    name: str
    version: str
    sha256: str
    cases: tuple[Case, ...]
    path: str = "the case set given"
    corrects: "CaseSet | None" = None  # the one that was recorded with, where this one corrects it

    def of(self, splits: Iterable[str]) -> list[Case]:
        """Return the cases of these splits in file order."""
        return [case for case in self.cases if case.split in splits]


class Answer(NamedTuple):
    output: Any
    metadata: dict[str, Any]


class Task(NamedTuple):
    name: str
    sha256: str
    graders: dict[str, tuple[str, Callable[[Any, Any], Any]]]  # with "rejection", where an input may be refused
    check_expected: Callable[[Any], None]
    check_answer: Callable[[Any], None]
    rejection: type[Exception]  # what a system raises to refuse an input
    schema: Any = None  # JSON Schema of an answer, for servers that keep to one


# === Cases, tasks, systems ===


def load_cases(path: str, corrects: str | None = None) -> CaseSet:
    """Return the case set of a file; raise CaseError where it is not sound, RunError where it cannot be read.

    corrects: the file of the case set that logs were recorded with, where that was another one.
    """
    data = read_bytes(path)
    value = expect("a case set", data, path, "give the cases-*.json file with --cases", CaseError)
    check_fields(value, {"name": str, "version": str, "cases": list}, path, CaseError)
    cases = tuple(_case(item, f"{path}: case {number}") for number, item in enumerate(value["cases"], start=1))
    if not cases:
        raise CaseError(f"{path}: no cases; add at least one")
    [(case_id, count)] = Counter(case.id for case in cases).most_common(1)
    if count > 1:
        raise CaseError(f"{path}: the case id {case_id!r} is duplicated ({count} times); give each case its own")
    corrected = None if corrects is None else load_cases(corrects)
    return CaseSet(value["name"], value["version"], sha256_of(data), cases, path, corrected)


def _case(item: Any, where: str) -> Case:
    check_fields(item, {"id": str}, where, CaseError)
    where = f"{where} ({item['id']!r})"
    check_fields(item, CASE, where, CaseError)
    check_fields(item["tags"], dict.fromkeys(item["tags"], str), f"{where}: tags", CaseError)
    if not item["id"].strip():
        raise CaseError(f"{where}: the id is blank; give each case a name")
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise CaseError(f"{where}: it holds half a character (a lone surrogate); write the whole character") from None
    if item["split"] not in SPLITS:
        raise CaseError(f"{where}: split {item['split']!r} is none of {', '.join(SPLITS)}; correct it")
    return Case(*(item[field] for field in Case._fields))


def check_cases(case_set: CaseSet, task: Task) -> None:
    """Raise CaseError, naming the case, where the task cannot grade what a case expects."""
    for case in case_set.cases:
        if case.expected != REJECTED or "rejection" not in task.graders:
            try:
                task.check_expected(case.expected)
            except ValueError as error:
                raise CaseError(f"{case_set.path}: case {case.id!r}: expected is {error}; correct it for {task.name}, "
                                "or name another task with --task: answer_task for cases of convert.py") from None


def _source(name: str) -> bytes:
    """Return the source of the module that a name would import; nothing of it is run. Raises RunError for none."""
    folders, spec = None, None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, folders) if part.isidentifier() else None
        folders = list(spec.submodule_search_locations or ()) if spec else []
    if spec is None or not str(spec.origin).endswith(".py"):
        raise RunError(f"cannot import the task {name!r}: there is no source file of it; "
                       "name a Python module of this folder, without .py")
    return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]  # out of a zip, too


def _module(name: str, role: str) -> Any:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise RunError(f"cannot import {role} {name!r}: {type(error).__name__}: {error}; correct it, or name another "
                       "module, without .py; a model is named as chat:MODEL") from error


def load_task(name: str, header: Header | None = None, where: str = "") -> Task:
    """Return the task that a module holds: GRADERS {name: (version, grade)}, check_expected, check_answer.

    A grade function takes (expected, answer) and returns whether it passes, or NotImplemented where the case asks for
    something else. Both checks raise ValueError. A module with an exception named Rejection lets its systems refuse an
    input; one with SCHEMA says what JSON an answer is. Raises RunError for a module that is no task, and, given the
    header of a log and where that is, before it runs one with another source than the log was recorded with.
    """
    sha256 = sha256_of(_source(name))
    if header:  # what a log from somewhere names is run only if it is what the log was recorded with
        _refuse_another("task", header, sha256, (where, f"{name} as it is now"))
    prefix, sys.pycache_prefix = sys.pycache_prefix, os.devnull  # what is run is the source, not what was compiled once
    try:
        module = _module(name, "the task")
    finally:
        sys.pycache_prefix = prefix
    try:
        task = Task(name, sha256, module.GRADERS, module.check_expected, module.check_answer,
                    getattr(module, "Rejection", NoRejection), getattr(module, "SCHEMA", None))
    except AttributeError as error:
        raise RunError(f"the task {name!r}: {error}; see docs/tasks.md") from None
    graders = task.graders
    if not (isinstance(graders, dict) and graders and "rejection" not in graders and all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and callable(pair[1])
            for pair in graders.values())):
        raise RunError(f"the task {name!r}: GRADERS is not {{name: (version, function)}} with at least one, and none "
                       "named rejection; correct it")
    if not (callable(task.check_expected) and callable(task.check_answer) and isinstance(task.rejection, type)
            and issubclass(task.rejection, Exception)):
        raise RunError(f"the task {name!r}: check_expected or check_answer is no function, or Rejection no exception; "
                       "correct it")
    if task.rejection is not NoRejection:
        graders = graders | {"rejection": ("1", lambda expected, answer: NotImplemented)}  # an answer refuses nothing
    return task._replace(graders=graders)


def _refuse_another(kind: str, header: Header, sha256: str, names: Sequence[str]) -> None:
    """Raise RunError, with both sha256, unless this task or case set is the one that a run was made with."""
    refuse_difference({kind: {"sha256": header[kind]["sha256"]}}, {kind: {"sha256": sha256}}, names)


def load_system(name: str) -> Any:
    """Return the system that "module:attribute" names: an object with SYSTEM_FIELDS and respond(case, trial).

    respond returns Answer(output, metadata), or raises Incomplete, or its task's Rejection. A system may also have
    `settings` (an object to record), `prepare()` (called before the first trial, now and then, and after the last;
    returns an object that describes its server, with "host" and "version"), `timeout_s`, `seeds`, the rule for
    trial_seed, and `configure(task, cases, prompt, options)`, without which it takes no --prompt and no
    --system-option.
    """
    module_name, _, attribute = name.partition(":")
    try:
        system = getattr(_module(module_name, "the system's module"), attribute)
        fields = {field: getattr(system, field) for field in (*SYSTEM_FIELDS, "respond")}
    except AttributeError as error:
        raise RunError(f"the module {module_name!r} has no system {attribute!r}: {error}; name one as "
                       "module:attribute, such as triage_task:rules, and see docs/tasks.md") from None
    if isinstance(system, type):
        raise RunError(f"the system {name!r} is a class; make an object of it in its module, and name that")
    check_fields(fields, NAMED_SYSTEM, f"the system {name!r}")
    return system


def configure(system: Any, task: Task, cases: Sequence[Case], prompt: str | None, options: Sequence[str]) -> None:
    """Give a system its task, the prompt in a file and its options; raise RunError where it takes none, or not these.

    A system takes them that has configure(task, cases, (name, text) or None, {key: value}). A value is JSON, or text.
    """
    values: dict[str, Any] = {}
    for option in options:
        key, equals, text = option.partition("=")
        if not key or not equals or key in values:
            raise RunError(f"--system-option {option!r}: give key=value, and each key once")
        values[key] = text
        with suppress(RunError):
            values[key] = parse_json(text, key)
    template = None
    if prompt is not None:
        text = decode(read_bytes(prompt), prompt)
        if not text.strip():
            raise RunError(f"{prompt} is blank; write the prompt into it")
        template = (os.path.splitext(os.path.basename(prompt))[0], text)
    if hasattr(system, "configure"):
        system.configure(task, cases, template, values)
    elif template or values:
        raise RunError(f"the system {system.name} takes neither --prompt nor --system-option; leave them out")


# === Trials and grades ===


def attempt(system: Any, task: Task, case: Case, trial: int) -> Row:
    """Return the outcome of one trial: {"output" or "error", "metadata"}, as JSON holds it.

    A rejection or a reply without an answer is an outcome. Any other exception but RunError and Unavailable is the
    system's bug, told as a RuntimeError: an exit or an OSError would pass for one of the command.
    """
    try:
        output, metadata = system.respond(copy.deepcopy(case), trial)  # what it does to a case is not seen by others
        outcome = {"output": output}
    except (Incomplete, task.rejection) as error:
        kind = "Rejection" if isinstance(error, task.rejection) else type(error).__name__
        metadata = getattr(error, "metadata", {})
        outcome = {"error": {"type": kind, "message": str(error)}}
    except (RunError, Unavailable):
        raise
    except (Exception, SystemExit) as error:
        raise RuntimeError(f"the system {system.name} failed on case {case.id!r} trial {trial}: "
                           f"{type(error).__name__}: {error}; respond() returns Answer(output, metadata), or raises "
                           "harness.Unavailable where its server gave no reply, which is tried again") from error
    if not isinstance(metadata, dict):
        raise RunError(f"the system {system.name} returns metadata {metadata!r:.60}, not an object; correct the system")
    return dict(json.loads(json_line(outcome | {"metadata": metadata})))


def grade(task: Task, case: Case, outcome: Row) -> tuple[str, dict[str, bool]]:
    """Return the verdict of an outcome ("pass", "fail" or "incomplete") and what each grader said.

    To refuse an input is an answer: right where the case expects a rejection, else wrong. Any other error, and an
    output that the task cannot grade, is incomplete: not wrong, and not passed. Raises RunError for a grader that gives
    a score which is neither a pass nor a fail.
    """
    graded = _graded_without_task(case.expected, outcome, task.graders)
    if graded is None:
        try:
            task.check_answer(outcome["output"])
        except ValueError:
            return "incomplete", {}
        graded = {}
        for name, (_, grader) in task.graders.items():
            passes = grader(case.expected, outcome["output"])
            if isinstance(passes, (int, float, str, tuple, dict)) and passes not in (0, 1):
                raise RunError(f"the grader {name} of {task.name} returns {passes!r:.40} of case {case.id!r}, and a "
                               "case passes or fails; return true or false, or compare scores with compare.py --trials")
            if passes is not NotImplemented:
                graded[name] = bool(passes)
    return verdict_of(graded), graded


def _graded_without_task(expected: Any, outcome: Row, graders: Collection[str]) -> dict[str, bool] | None:
    """Return the grades of a rejection, or none for a reply without an answer; None where the task's graders decide."""
    error = outcome.get("error", {}).get("type")
    must_reject = "rejection" in graders and expected == REJECTED
    if error == "Rejection" or must_reject and error is None:
        return {"rejection": must_reject and error is not None}
    return None if error is None else {}


def verdict_of(graded: dict[str, bool]) -> str:
    """Return the verdict that follows from what each grader said; none said anything where there was no answer."""
    if not graded:
        return "incomplete"
    return "pass" if all(graded.values()) else "fail"


@functools.lru_cache(maxsize=4096)  # answers repeat
def _letters(text: str) -> str:
    """Return a text without capitals and blanks, and, where it has no digit, without punctuation: -5 is not 5."""
    left_out = "ZC" if any(map(str.isdigit, text)) else "ZCP"
    text = unicodedata.normalize("NFC", text).casefold()
    gone = [ord(char) for char in set(text) if unicodedata.category(char)[0] in left_out]
    return text.translate(dict.fromkeys(gone)).rstrip(".")


def near_miss(expected: dict[str, Any], output: Any) -> bool:
    """Tell whether an output is not what is expected, but would be were capitals, blanks and punctuation left out.

    Only where a case expects a single text, or any of several.

    >>> near_miss({"equals": "late parcel"}, "Late-Parcel."), near_miss({"equals": "late parcel"}, "late")
    (True, False)
    """
    named = {name: given for name, given in expected.items() if isinstance(given, (str, list))}
    if len(named) != 1 or "matches" in named or not isinstance(output, str):
        return False
    values = named.get("any_of") or [*named.values()]
    return output.strip() not in values and any(
        _letters(output) == _letters(value) != "" for value in values
        if isinstance(value, str) and len(output) < 2 * len(value) + 20)  # a long one has other words


# === Run records ===


def run_header(case_set: CaseSet, task: Task, system: Any, server: Any, run: dict[str, Any]) -> Header:
    """Return a log's first line: everything that decides what its trials measure, and where they were measured.

    `run` holds splits, trials, shard, workers and started_at, and seeds where they are per case.
    """
    cases = len(case_set.of(run["splits"]))
    if not 1 <= cases * run["trials"] <= MOST_TRIALS:
        raise RunError(f"--trials {run['trials']} of {cases} cases in {' '.join(run['splits'])}: a run has 1 to "
                       f"{MOST_TRIALS:,} trials; give another number or another --split")
    return dict(json.loads(json_line({
        "type": "header", "log_version": LOG_VERSION, "tool_version": TOOL_VERSION,
        **_graded_with(case_set, task), **run,
        "system": {field: getattr(system, field) for field in SYSTEM_FIELDS},
        "settings": getattr(system, "settings", None), "server": server,
        "python": platform.python_version(), "platform": platform.platform(),
    })))  # as JSON holds it, so that a resumed run meets its own header again


def _graded_with(case_set: CaseSet, task: Task) -> Header:
    return {"case_set": {"name": case_set.name, "sha256": case_set.sha256},
            "task": {"name": task.name, "sha256": task.sha256}}


def trials_of(run: Header, case_set: CaseSet) -> Iterator[tuple[Case, int]]:
    """Return the case and the number of each trial of a run, one by one, in the case file's order.

    `run` holds splits, and how many trials a case has.
    """
    return ((case, trial) for case in case_set.of(run["splits"]) for trial in range(1, run["trials"] + 1))


def make_record(header: Header, case_set: CaseSet, task: Task, trials: dict[TrialKey, Row]) -> Record:
    """Return the run record of trials {(case id, trial): outcome with seed}: manifest, summary, a row a trial.

    Every case of the header's splits has its trials 1 to T there; rows are in the case file's order.
    """
    results = []
    for case, trial in trials_of(header, case_set):
        row = trials[case.id, trial]
        verdict, graded = grade(task, case, row)
        outcome = "error" if "error" in row else "output"
        results.append({"case_id": case.id, "split": case.split, "trial": trial, "seed": row["seed"],
                        "verdict": verdict, "graders": graded,
                        **{field: row.get(field) for field in (outcome, "metadata", "elapsed_s", "at")}})
    described = {
        "settings": None, "server": None, "log": None, "shards": None, **header,
        "record_version": RECORD_VERSION, "tool_version": TOOL_VERSION,
        "graders": {name: version for name, (version, _) in task.graders.items()},
    }
    manifest = {field: described[field] for field in MANIFEST_FIELDS if field in described}
    return {"manifest": manifest, "summary": summarize(results), "results": results}


def summarize(results: Iterable[Row]) -> dict[str, Any]:
    """Return, per split, the number of cases and trials, trials by verdict, and the same for each case."""
    summary: dict[str, Any] = {}
    for row in results:
        counts = dict.fromkeys(VERDICTS, 0)
        split = summary.setdefault(row["split"], {"cases": 0, "trials": 0, **counts, "per_case": {}})
        case = split["per_case"].setdefault(row["case_id"], counts)
        split["cases"] = len(split["per_case"])
        split["trials"] += 1
        split[row["verdict"]] += 1
        case[row["verdict"]] += 1
    return summary


def replay(logs: Sequence[Log], case_set: CaseSet, task: Task) -> Record:
    """Return the run record of a finished log, or of the shards of one run joined, in whatever order they are given.

    Where the task or the case set is not that of the recording, the manifest names both. Raises RunError where the logs
    do not belong together, overlap or leave a gap, or were recorded with another case set than this one, or than the
    one that it corrects: of that it may leave out cases, and must ask the others as they were asked.
    """
    logs = sorted(logs, key=lambda log: (log.header["started_at"], log.name, log.sha256))
    header, recorded = dict(logs[0].header), case_set.corrects or case_set
    _refuse_another("case_set", header, recorded.sha256, (logs[0].name, recorded.path))
    _refuse_other_inputs(recorded, case_set, header["splits"])
    for log in logs:
        refuse_run_difference(header, log.header, (logs[0].name, log.name), ("shard",))
    where = " ".join(log.name for log in logs)
    trials = {(row["case_id"], row["trial"]): row for log in logs for row in log.rows}
    twice = sum(len(log.rows) for log in logs) - len(trials)
    if twice:
        raise RunError(f"{where}: {twice} trials are in more than one log; give each shard once")
    _check_trials(trials, recorded, header, where)
    extended = {count for log in logs for count in log.header.get("extended") or ()}
    if extended:
        header["extended"] = sorted(extended)
    if header["task"]["sha256"] != task.sha256:
        header["task_changed"] = header["task"]["sha256"]
    if recorded.sha256 != case_set.sha256:
        left_out = len(recorded.of(header["splits"])) - len(case_set.of(header["splits"]))
        header |= {"cases_changed": recorded.sha256, "cases_left_out": left_out}
    shards = [{"name": log.name, "sha256": log.sha256, "shard": log.header.get("shard"),
               "server": log.header.get("server")} for log in logs]
    whole = {"name": logs[0].name, "sha256": logs[0].sha256} if len(logs) == 1 else None
    header |= {"log": whole, "shards": None if whole else shards}
    header |= {**_graded_with(case_set, task), "system": header["system"] | {"mode": "replay"}}
    return make_record(header, case_set, task, trials)


def _refuse_other_inputs(recorded: CaseSet, case_set: CaseSet, splits: Sequence[str]) -> None:
    """Raise RunError, naming a case, where a case set asks something else in these splits than was recorded."""
    cases, inputs = case_set.of(splits), {case.id: json_line(case.input) for case in recorded.of(splits)}
    if not cases:
        raise RunError(f"{case_set.path} has no case in {' '.join(splits)}; give the one that was corrected")
    for case in cases:
        if inputs.get(case.id) != json_line(case.input):  # as a model may be sent it
            raise RunError(f"{case_set.path}: case {case.id!r} was not in this split, or had another input, when the "
                           "log was recorded; only what was asked can be graded again: keep ids, splits and inputs, or "
                           "record again")


def run_paths(text: str) -> list[str]:
    """Return the files that name one run: a run record, a log, or the logs of its shards with commas between them."""
    return [text] if os.path.exists(text) else text.split(",")


def read_runs(names: Sequence[str], cases: str, recorded_with: str | None) -> tuple[CaseSet, Iterator[Record]]:
    """Return the case set of a file, and one by one the run records that names stand for; see load_cases, run_paths.

    Logs are replayed in memory.
    """
    case_set = load_cases(cases, recorded_with)
    return case_set, (_read_run(run_paths(name), case_set) for name in names)


def _read_run(paths: Sequence[str], case_set: CaseSet) -> Record:
    if len(paths) > 1 or os.path.isfile(paths[0]) and describe(read_bytes(paths[0], HEAD), paths[0])[0] == "a log":
        return replay_logs(paths, case_set)
    record = open_record(paths[0])
    if case_set.corrects and record["manifest"].get("cases_changed") != case_set.corrects.sha256:
        raise RunError(f"{paths[0]} is a run record, and was not graded again; give its log in its place")
    return record


def replay_logs(paths: Sequence[str], case_set: CaseSet, task_changed: bool = False) -> Record:
    """Return the run record of log files, graded by the task that they name; see replay.

    With task_changed today's version of the task may grade, where another was recorded with.
    """
    logs = [read_log(path) for path in paths]
    header = logs[0].header
    task = load_task(header["task"]["name"], None if task_changed else header, logs[0].name)
    check_cases(case_set, task)
    return replay(logs, case_set, task)


def _check_trials(trials: Collection[TrialKey], case_set: CaseSet, run: Header, where: str) -> None:
    """Raise RunError unless these are the trials of a run, 1 to T of each of its cases, and no other."""
    case_ids = {case.id for case in case_set.of(run["splits"])}
    advice = "replay every log of the run, and no other"
    for case_id, trial in trials:
        if case_id not in case_ids or not 1 <= trial <= run["trials"]:
            raise RunError(f"{where}: case {case_id!r} trial {trial} is not of this run; {advice}")
    missing = len(case_ids) * run["trials"] - len(trials)
    if missing:
        case, trial = next((case, trial) for case, trial in trials_of(run, case_set) if (case.id, trial) not in trials)
        raise RunError(f"{where}: case {case.id!r} trial {trial} is missing, {missing} in all; {advice}")


def record_text(record: Record) -> str:
    """Return a run record as JSON, a result a line, the same bytes for the same record."""
    start = json.dumps({key: record[key] for key in ("manifest", "summary")}, indent=1, allow_nan=False)
    rows = ",\n  ".join(json_line(row).rstrip("\n") for row in record["results"])
    return f'{start[:-2]},\n "results": [\n  {rows}\n ]\n}}\n'


def open_record(path: str) -> Record:
    """Return the run record of a file, not yet checked; "results" yields a row at a time, once: they are many.

    What the file holds after the rows is in the record when all have come. Raises RunError for another kind of file.
    """
    record: Record = {}
    rows = _rows(path, record)
    # To read the first row puts all that comes before it into the record.
    record["results"] = itertools.chain(list(itertools.islice(rows, 1)), rows)
    if "manifest" not in record:
        raise RunError(f"{path}: no manifest before the results; correct the file")
    check_fields(record, {"manifest": dict}, path)
    return record


def _rows(path: str, record: Record) -> Iterator[Any]:
    """Yield each row of a run record's file; what else it holds is put into record."""
    advice = "make one with harness.py replay, or give plain trial logs to compare.py --trials"
    with opened_as(path, ["a run record"], advice, OURS) as (file, _):
        yield from Json(file, path, STRICT).rows(("results",), record)


def read_record(path: str) -> Record:
    """Return the whole run record of a file, not yet checked; raise RunError where it is of another kind."""
    record = open_record(path)
    record["results"] = list(record["results"])
    return record


def check_record(record: Record, where: str, case_set: CaseSet) -> None:
    """Raise RunError unless a record holds together: see check_manifest and checked_rows."""
    check_manifest(record, where, case_set)
    list(checked_rows(record, where, case_set))  # each row is checked when it is taken


def check_manifest(record: Record, where: str, case_set: CaseSet) -> Header:
    """Return the manifest of a record; raise RunError where it is not whole, or of another case set."""
    manifest: Header = record["manifest"]
    if manifest.get("record_version") != RECORD_VERSION:
        raise RunError(f"{where}: record_version {manifest.get('record_version')!r}; this version reads "
                       f"{RECORD_VERSION!r}, replay the log again")
    check_header(manifest, MANIFEST, f"{where}: manifest")
    log = manifest.get("log")
    for source in ([log] if log else []) + (manifest.get("shards") or []):
        check_fields(source, NAMED, f"{where}: manifest: log")
    _refuse_another("case_set", manifest, case_set.sha256, (where, case_set.path))
    return manifest


def checked_rows(record: Record, where: str, case_set: CaseSet) -> Iterator[Row]:
    """Yield each row of a record whose manifest is checked; raise RunError unless it holds together.

    Verdicts follow from graders and from what the case expects, seeds from the rule, and each trial is there once. Seen
    at the end: none is missing, and the summary follows from the rows.
    """
    manifest = record["manifest"]
    cases = {case.id: case for case in case_set.of(manifest["splits"])}
    verdicts: dict[TrialKey, str] = {}
    for number, row in enumerate(record["results"], start=1):
        place = f"{where}: result {number}"
        case_id, trial = check_trial(row, ROW, manifest, verdicts, place)
        verdicts[case_id, trial] = row["verdict"]
        if case_id in cases:  # else it is refused below
            _check_verdict(row, cases[case_id], manifest["graders"], place)
            yield row
    _check_trials(verdicts, case_set, manifest, where)
    rows = ({"case_id": case_id, "split": cases[case_id].split, "verdict": verdict}
            for (case_id, _), verdict in verdicts.items())
    if record.get("summary") != summarize(rows):
        raise RunError(f"{where}: the summary does not follow from the results; replay the log again")


def _check_verdict(row: Row, case: Case, graders: dict[str, Any], where: str) -> None:
    """Raise RunError unless a row's verdict follows from its graders, and a rejection from what the case expects."""
    graded = row["graders"]
    due = _graded_without_task(case.expected, row, graders)
    if due is None:  # true or false from each grader of the task
        due = {name: passes is True for name, passes in graded.items() if name in graders and name != "rejection"}
    if (row["verdict"], repr(graded), row["split"]) != (verdict_of(due), repr(due), case.split):  # 1 is not true
        raise RunError(f"{where}: verdict {row['verdict']!r:.20} where its graders say {verdict_of(due)!r} "
                       f"({graded!r:.80}), split {row['split']!r:.20} of a case in {case.split}; replay the log again")


def refuse_unlike_manifests(manifests: Sequence[Header], names: Sequence[str]) -> None:
    """Raise RunError, by name and value, unless two runs had one case set, task, graders, splits, number of trials."""
    fields = ("case_set", "task", "graders", "splits", "trials")
    first, second = ({field: manifest[field] for field in fields} for manifest in manifests)
    refuse_difference(first, second, names)


# === What a record says in any server's words ===


def measures(row: Row) -> dict[str, Any]:
    """Return latency_s, tokens and cost_usd of a record's row, as its system wrote them into metadata; None if not.

    The recorder's own elapsed_s stands in for latency_s. Logs of the first version have counts in Ollama's words.

    >>> measures({"metadata": {"prompt_eval_count": 26, "eval_count": 4}, "elapsed_s": 0.5})
    {'latency_s': 0.5, 'tokens': 30, 'cost_usd': None}
    """
    metadata = row["metadata"]
    prompt, answer = metadata.get("prompt_eval_count"), metadata.get("eval_count")
    tokens = prompt + answer if type(prompt) is type(answer) is int else None
    # A rejected input calls no model: the moment that this took is none of its latencies.
    elapsed_s = None if row.get("error", {}).get("type") == "Rejection" else row.get("elapsed_s")
    return {"latency_s": metadata.get("latency_s", elapsed_s), "tokens": metadata.get("tokens", tokens),
            "cost_usd": metadata.get("cost_usd")}


def time_and_tokens(row: Row) -> tuple[Any, Any]:
    """Return the nanoseconds that the server of a record's row says it computed the answer, and its tokens, or None."""
    return row["metadata"].get("eval_duration"), row["metadata"].get("eval_count")


def temperature(manifest: Header) -> Any:
    """Return the temperature in a record's settings, None where none is; the first version had it in the request."""
    settings: Any = manifest.get("settings")
    with suppress(KeyError, TypeError):
        return settings["temperature"] if "temperature" in settings else settings["request"]["options"]["temperature"]
    return None


# === Command line ===


def utc(seconds: float) -> str:
    """Return seconds since 1970 as UTC ISO 8601 text, to the millisecond."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _title(run: Header) -> str:
    return f"{run['system']['name']} {run['system']['version']} on {' '.join(run['splits'])}"


def format_counts(record: Record) -> str:
    """Return one line on a record: its system, splits and trials by verdict."""
    counts = Counter(row["verdict"] for row in record["results"])
    return (f"{_title(record['manifest'])}: {counts['pass']} of {counts.total()} trials pass, "
            f"{counts['fail']} fail, {counts['incomplete']} incomplete")


def run_offline(system: Any, task: Task, case_set: CaseSet, run: dict[str, Any]) -> Record:
    """Return the run record of an offline system, which needs no log: it can be run again. `run`: see run_header."""
    if system.mode != "offline":
        raise RunError(f"the system {system.name} is {system.mode}, not offline; record it with bench.py")
    header = run_header(case_set, task, system, None, run)
    try:
        rows = {(case.id, trial): {"seed": trial_seed(trial), **attempt(system, task, case, trial)}
                for case, trial in trials_of(run, case_set)}
    except Unavailable as error:
        raise RunError(f"{system.name}: {error}; what needs a server is live: record it with bench.py") from None
    return make_record(header, case_set, task, rows)


def save(record: Record, path: str, log: str = "") -> None:
    """Write a run record, and print its counts: on stderr where the record goes to stdout."""
    write("a run record", path, record_text(record), record["manifest"])
    wrote = f"{log} and {path}" if log else path
    print(line_of(f"{format_counts(record)}; wrote {wrote}"), file=sys.stderr if stream_of(path) == 1 else sys.stdout)


def load_run(args: argparse.Namespace) -> tuple[Task, CaseSet, Any]:
    """Return the task, the case set and the system that add_run_options name, the system set up by them."""
    task, case_set, system = load_task(args.task), load_cases(args.cases), load_system(args.system)
    check_cases(case_set, task)
    configure(system, task, case_set.of([args.split]), args.prompt, args.system_option)
    return task, case_set, system


def cmd_run(args: argparse.Namespace) -> None:
    check_outputs([("a run record", args.out)], [args.cases])
    task, case_set, system = load_run(args)
    run = {"splits": [args.split], "trials": args.trials, "shard": None, "workers": 1, "started_at": utc(time.time())}
    STAGES.enter("running the trials")
    save(run_offline(system, task, case_set, run), args.out)


def cmd_replay(args: argparse.Namespace) -> None:
    check_outputs([("a run record", args.out)], [args.cases, *args.logs])
    STAGES.enter("replaying the log")
    case_set = load_cases(args.cases, args.recorded_with)
    save(replay_logs(args.logs, case_set, args.task_changed), args.out)


def cmd_check(args: argparse.Namespace) -> None:
    STAGES.enter("checking the file")
    kind, _ = describe(read_bytes(args.file, HEAD), args.file)
    if kind == "a log":
        log = read_log(args.file)
        text = f"whole and sealed: {len(log.rows)} trials of {_title(log.header)}"
    elif kind == "a run record":
        if not args.cases:
            raise RunError(f"{args.file} is a run record; give the case set that it was made with: --cases FILE")
        record = read_record(args.file)
        check_record(record, args.file, load_cases(args.cases))
        text = f"a sound run record: {format_counts(record)}"
    else:
        case_set = load_cases(args.file)
        check_cases(case_set, load_task(args.task))
        counts = Counter(case.split for case in case_set.cases)
        text = "a sound case set: " + ", ".join(f"{count} cases in {split}" for split, count in counts.items())
    print(line_of(f"{args.file}: {text}"))


def add_run_options(parser: argparse.ArgumentParser, systems: str) -> None:
    """Add what `run` and bench.py share: cases, system, task, split and trials. systems: which there can be."""
    parser.add_argument("--cases", required=True, metavar="FILE", help="the case set, cases-*.json")
    parser.add_argument("--system", required=True, metavar="MODULE:NAME", help=systems)
    parser.add_argument("--task", default="triage_task", metavar="MODULE", help="the task (default: %(default)s)")
    parser.add_argument("--split", default="dev", choices=SPLITS, help="which cases (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=1, metavar="T", help="trials a case (default: %(default)s)")
    parser.add_argument("--prompt", metavar="FILE", help="a template with {field}s, else the system message")
    parser.add_argument("--system-option", action="append", default=[], metavar="K=V", help="what to send, repeatable")


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "harness.py")
    run = parser.verb("run", cmd_run, "Send the cases through an offline system, into a run record.",
                      "python3 harness.py run --cases cases-robustness.json --system triage_task:rules --out r.json")
    add_run_options(run, "an offline system; bench.py records the others")
    again = parser.verb("replay", cmd_replay, "Grade the answers of a log, or of all shards of one run.",
                        "python3 harness.py replay recorded/my.jsonl --cases cases-robustness.json --out runs/my.json")
    again.add_argument("logs", nargs="+", metavar="LOG", help="a sealed log, or the logs of all shards of one run")
    again.add_argument("--cases", required=True, metavar="FILE", help="the case set to grade with")
    again.add_argument("--task-changed", action="store_true", help="grade with today's version of its task")
    again.add_argument("--recorded-with", metavar="FILE", help="the case set it was recorded with, if it was "
                       "corrected since")
    check = parser.verb("check", cmd_check, "Say whether a case set, a log or a run record is sound.",
                        "python3 harness.py check recorded/my.jsonl")
    check.add_argument("file", metavar="FILE", help="a case set, a log or a run record")
    check.add_argument("--task", default="triage_task", metavar="MODULE", help="for a case set (default: %(default)s)")
    check.add_argument("--cases", metavar="FILE", help="for a run record: the case set it was made with")
    for verb in (run, again):
        verb.add_argument("--out", required=True, metavar="FILE", help="the run record to write")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    args.command(args)
    return 0


if __name__ == "__main__":
    import harness  # the one copy of this module that tasks and systems import too, so that its exceptions are theirs

    sys.exit(run_command(harness.main))
