"""What does a log hold, and was it changed after recording? Reads the logs that bench.py writes, and compares headers.

    $ python3 -c "from core import logs; print(len(logs.read_log('recorded/qwen-coder-v1.jsonl').rows))"
    220

A log is a header, then trials as they finished, then an end line with the sha256 of all bytes before it.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Collection, Container, Iterator, Sequence
from typing import Any

from core.files import RunError, check_fields, expect, parse_json, read_bytes, sha256_of

LOG_VERSION = "1"
SPLITS = ("dev", "heldout")
SEED_RULES = ("by-trial", "per-case")  # the first one holds where a log or record names none

# Where and when a run was made, not what was measured: only these may differ in a fresh record.
RUN_DESCRIPTION_FIELDS = ("tool_version", "started_at", "python", "platform")

NAMED = {"name": str, "sha256": str}
NAMED_SYSTEM = {"name": str, "version": str, "mode": str}
RUN = {"case_set": NAMED, "task": NAMED, "splits": list, "trials": int, "system": NAMED_SYSTEM,
       "workers": int | None, "extended": list | None, "seeds": str | None}
HEADER = RUN | {"tool_version": str, "started_at": str, "python": str, "platform": str}
TRIAL = {"case_id": str, "trial": int, "seed": int, "metadata": dict, "at": str | None,
         "elapsed_s": int | float | None}
ADVICE = {"case_set.sha256": "give the case set as it was; where it was corrected, give finished logs, not their "
                             "records, to compare.py --cases NEW.json --recorded-with OLD.json",
          "seeds": "give the same --seeds", "system.prompt": "give the prompt as it was, or record into another log",
          "trials": "extend the shorter run, once it is finished: bench.py --trials N --resume",
          "task.sha256": "give the task as it was, or grade a finished log with that of today: harness.py replay "
                         "--task-changed"}
CHANGED = "it was changed after recording, take the original or record it again"

TrialKey = tuple[str, int]  # a case's id and the number of a trial
Header = dict[str, Any]  # what was run, and where: the first line of a log, or the manifest of a run record
Row = dict[str, Any]  # one trial: a line of a log, or a result of a run record


class Log:
    """What a log holds. Of a log that was extended the header says how many trials it has now, and had before."""

    def __init__(self, name: str, header: Header):
        self.name, self.header = name, header
        self.sha256 = ""  # of all its whole lines
        self.rows: list[Row] = []  # its trials, in the order of the file
        self.lines: dict[TrialKey, int] = {}  # by trial, in the same order: the number of its line
        self.end: Any = None  # its end line


def trial_seed(trial: int, case_id: str = "", rule: str | None = None) -> int:
    """Return the seed of a trial: two systems get the same seeds, as it depends on nothing but the trial.

    By the rule "per-case" also on the case's id, so that the cases of a trial share no luck: the first 31 bits of the
    sha256 of id, NUL and number.

    >>> trial_seed(2), trial_seed(2, "late-parcel", "per-case")
    (1002, 1702452015)
    """
    if rule == "per-case":
        return int(sha256_of(f"{case_id}\0{trial}")[:8], 16) >> 1
    return 1000 + trial


# === Checks that logs and run records share ===


def check_header(header: Header, fields: dict[str, Any], where: str) -> None:
    """Raise RunError unless a log's header or a record's manifest has these fields and says what was run."""
    check_fields(header, fields, where)
    if header.get("seeds") not in (None, *SEED_RULES):
        raise RunError(f"{where}: seeds {header['seeds']!r:.40} is none of {', '.join(SEED_RULES)}; correct the file")
    splits = header["splits"]
    if not splits or not all(split in SPLITS and splits.count(split) == 1 for split in splits):
        raise RunError(f"{where}: splits {splits!r:.60} are not of {', '.join(SPLITS)}, each once; correct the file")
    for count in (header["trials"], *(header.get("extended") or ())):
        if type(count) is not int or count < 1:
            raise RunError(f"{where}: {count!r:.60} trials, and a run has at least one; correct the file")


def check_trial(row: Row, fields: dict[str, Any], header: Header, earlier: Container[TrialKey], where: str) -> TrialKey:
    """Return the case and the number of a trial; raise RunError unless it is whole, and not among the earlier trials.

    Whole: it has these fields, either an output or an error, and the seed that the rule in the header gives it; a
    record may hold no seed.
    """
    check_fields(row, fields, where)
    if ("output" in row) == ("error" in row):
        raise RunError(f"{where}: a trial has either an output or an error; correct the file")
    if "error" in row:
        check_fields(row["error"], {"type": str, "message": str}, f"{where}: error")
    case_id, trial = row["case_id"], row["trial"]
    seed = trial_seed(trial, case_id, header.get("seeds"))
    if row.get("seed") not in (seed, None):
        raise RunError(f"{where}: case {case_id!r} trial {trial} has seed {row['seed']}, not seed {seed}; {CHANGED}")
    if (case_id, trial) in earlier:
        raise RunError(f"{where}: case {case_id!r} trial {trial} is recorded twice; {CHANGED}")
    return case_id, trial


def served_by(row: Row) -> str:
    """Return the model and fingerprint that the server names as having answered a trial; "" where it names none."""
    names = map(row["metadata"].get, ("served", "system_fingerprint"))
    return " ".join(str(name) for name in names if name)


# === Reading ===


def parse_log(data: bytes, where: str) -> Log:
    """Return what a log's bytes hold; raise RunError, with the line, for what no recorder writes, or a changed model.

    An unfinished log has no end; half a last line is no part of it.
    """
    encoding = json.detect_encoding(data)
    if encoding != "utf-8" or b"\r" in data:  # plain ASCII with bare line ends is what json_line writes
        raise RunError(f"{where} has the encoding {encoding}, or CRLF line ends: {CHANGED}")
    lines = data.split(b"\n")[:-1]  # after the last line end is half a line, or nothing
    if not lines:
        raise RunError(f"{where}: no whole line; an empty log can be recorded anew after removing it")
    header = parse_json(lines[0], f"{where}:1")
    if not isinstance(header, dict) or (header.get("type"), header.get("log_version")) != ("header", LOG_VERSION):
        raise RunError(f"{where}:1: no log's header of log_version {LOG_VERSION!r}; give a log of bench.py's, or use "
                       "the version that wrote it")
    check_header(header, HEADER, f"{where}:1")
    log = Log(os.path.basename(where), header)
    digest = hashlib.sha256(lines[0] + b"\n")  # of the lines so far
    for number, line in enumerate(lines[1:], start=2):
        _add(log, parse_json(line, f"{where}:{number}"), number, where, digest)
        digest.update(line + b"\n")
    log.sha256 = digest.hexdigest()
    return log


def _add(log: Log, value: Any, number: int, path: str, digest: Any) -> None:
    """Add the value of a line after the first to a log; digest is the sha256 of all bytes before it."""
    where = f"{path}:{number}"
    match value:
        case {"type": "trial"} if not log.end:
            log.lines[check_trial(value, TRIAL, log.header, log.lines, where)] = number
            log.rows.append(value)
        case {"type": "extended"} if log.end:
            check_fields(value, {"trials": int}, where)
            if value["trials"] <= log.header["trials"]:
                raise RunError(f"{where}: extended from {log.header['trials']} trials to {value['trials']}; {CHANGED}")
            extended = log.header.get("extended") or []
            log.header |= {"trials": value["trials"], "extended": [*extended, log.header["trials"]]}
            log.end = None
        case _ if log.end:
            raise RunError(f"{where}: a line after the end line; {CHANGED}")
        case {"type": "changed"}:
            refuse_changed(log.header, value, where)
            raise RunError(f"{where}: the model changed while it was recorded; record it again")
        case {"type": "end"}:
            if value != {"type": "end", "trials": len(log.rows), "sha256": digest.hexdigest()}:
                raise RunError(f"{where}: the seal does not fit the lines before it; {CHANGED}")
            log.end = value
        case _:
            raise RunError(f"{where}: {value!r:.60} is no line of a log, which holds trials, then its end; {CHANGED}")


def read_log(path: str) -> Log:
    """Return a finished log; raise RunError for one that is unfinished, was changed, or whose model changed."""
    data = read_bytes(path)
    expect("a log", data, path, "give a log that bench.py recorded")
    log = parse_log(data, path)
    if log.end is None:
        raise RunError(f"{path} is unfinished: its end line is missing; finish it with bench.py --resume")
    if not data.endswith(b"\n"):
        raise RunError(f"{path}: half a line after the end line; {CHANGED}")
    return log


# === Are two runs alike? ===


def json_differences(first: Any, second: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the place of each value in which two JSON values differ, and both as JSON, "nothing" for one not there.

    >>> list(json_differences({"a": [1, 2], "b": 0}, {"a": [1, 3]}))
    [('a[1]', '2', '3'), ('b', '0', 'nothing')]
    """
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first | second:
            yield from json_differences(first.get(key, ...), second.get(key, ...), f"{place}.{key}")
    elif isinstance(first, list) and isinstance(second, list):
        for i, (left, right) in enumerate(itertools.zip_longest(first, second, fillvalue=...)):
            yield from json_differences(left, right, f"{place}[{i}]")
    else:
        texts = ["nothing" if value is ... else json.dumps(value) for value in (first, second)]
        equal = {type(first), type(second)} <= {int, float} and first == second  # 1 and 1.0, not 1 and true
        if texts[0] != texts[1] and not equal:
            yield place.lstrip("."), texts[0], texts[1]


def refuse_difference(first: Any, second: Any, names: Sequence[str], ignored: Collection[str] = ()) -> None:
    """Raise RunError, with the place and both values, where two descriptions differ outside the ignored places.

    What is null is as if it were not there.
    """
    for where, before, after in json_differences(first, second):
        if where.partition("[")[0] not in ignored and not {before, after} <= {"null", "nothing"}:
            raise RunError(f"{names[0]} and {names[1]} differ in {where.replace('_', ' ')}: {before:.200} and "
                           f"{after:.200}; only what was measured alike goes together, "
                           f"{ADVICE.get(where, 'make both the same, or record again')}")


def refuse_run_difference(first: Header, second: Header, names: Sequence[str], ignored: Sequence[str] = ()) -> None:
    """Raise RunError unless two log headers are of one run, outside the ignored places.

    Where a server is, and the digest of a package whose content is known, are no difference.
    """
    of_machine = (*RUN_DESCRIPTION_FIELDS, "workers", "extended", "server.host", "server.digest")
    refuse_difference(first, second, names, (*of_machine, *ignored))


def refuse_changed(header: Header, now: dict[str, Any], where: str) -> None:
    """Raise RunError, with both values, where model, settings or server are no longer those of a log's header."""
    later = header | {key: now[key] for key in ("settings", "server") if key in now}
    later["system"] = header["system"] | {"model": now.get("model")}
    names = (f"{where}: the model changed while it was recorded: the start", "a later look")
    refuse_run_difference(header, later, names)
