"""What does the row of another tool's log become? Rows of a plain trial log, held back until all inputs proved whole.

    $ python3 -m doctest importers/rows.py && echo "every example below came out"
    every example below came out

What the importers of this folder share: the rows they make, and how they read a value, a name or a file. Prints the
rows and their notes, reads what it is given.
"""

import argparse
import hashlib
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TextIO

from core.files import RunError, decode, json_line, open_input, parse_json, read_bytes, tell
from core.trials import check_row

LONGEST = 200  # characters of a tag's value or an error; longer text names no slice, and a stack trace is no reason
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LENIENT = json.JSONDecoder()  # reads NaN, which other tools write for "not scored"; it is never passed on


class Rows:
    """The rows of one conversion, held back until all inputs are read: half a log must not look like a whole one."""

    def __init__(self, file: TextIO, args: argparse.Namespace):
        self.file, self.args = file, args
        self.notes: Counter[str] = Counter()
        self._places: dict[tuple[str, str, int | str], str] = {}
        self._tags: dict[str, dict[str, Any]] = {}  # of each case
        self._varying: set[str] = set()
        self._fields: set[str] = set()

    def add(self, where: str, task_id: int | str, seed: int | str, config: str, score: Any, error: Any,
            fields: dict[str, Any], usual: Iterable[str] = (), inputs: Sequence[Any] = (), ts: Any = None,
            **measures: float | None) -> None:
        """Keep a trial, unscored if it has an error. Raises RunError where it came before, or trials.py refuses it.

        --tag and --cluster choose from fields; usual names the tags where no --tag does. Inputs are hashed.
        """
        before = self._places.setdefault((config, str(task_id), seed), where)
        if before is not where:
            raise RunError(f"{where}: case {task_id!r}, trial {seed!r} of {config!r} came before, in {before}; "
                           "give each log once, and the runs of two systems one by one, each with its --config")
        tags = self._tags.setdefault(str(task_id), {})
        for name in usual if self.args.tag is None else self.args.tag:
            value = fields.get(name)
            broken = isinstance(value, float) and not abs(value) < math.inf
            if broken or isinstance(value, (list, dict)) or len(str(value)) > LONGEST:
                self.notes[f"{name!r} is no tag: not one value of at most {LONGEST} characters"] += 1
            elif value not in (None, "") and name != self.args.cluster and tags.setdefault(name, value) != value:
                self._varying.add(name)
                self.notes[f"{name!r} is no tag: it differs between trials of one case"] = 0
        self._fields.update(fields)
        cluster = fields.get(self.args.cluster)
        row = {"task_id": task_id, "seed": seed, "config": config, "score": None if error else score,
               "cluster": cluster if isinstance(cluster, str | None) else json.dumps(cluster), "tags": None, **measures,
               "ts": ts if isinstance(ts, str) else None, "error": first_words(error) if error else None,
               "input_sha256": digest(*inputs) if inputs and not self.args.no_hash else None}
        check_row(row, where, (-10**400, 10**400))  # whoever compares says what a score can be
        self.file.write(json_line(row))

    def write(self) -> None:
        """Print the rows, then the notes. Raises RunError where there is no row, or none with a field asked for."""
        if not self._places:
            raise RunError("no trial in the files given; give logs that hold samples")
        for name in filter(None, (*(self.args.tag or ()), self.args.cluster)):
            if name not in self._fields:
                raise RunError(f"no trial has a field {name!r} for --tag or --cluster; there are: "
                               f"{', '.join(sorted(self._fields)) or 'none'}")
        self.file.seek(0)
        for line in self.file:  # a tag belongs to a case: a log in which it differs between trials would be refused
            row = json.loads(line)
            tags = self._tags[str(row["task_id"])]
            row["tags"] = {name: tags[name] for name in tags if name not in self._varying} or None
            sys.stdout.write(json_line({key: row[key] for key in row if key == "score" or row[key] is not None}))
        sys.stdout.flush()
        for text, count in self.notes.items():
            tell(f"note: {text}" + f" (trials: {count})" * (count > 0))
        for config, count in Counter(config for config, _, _ in self._places).items():
            tell(f"note: trials of config {config!r}: {count}")


def first_words(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:LONGEST]


def score_of(value: Any, words: dict[str, float] | None = None) -> tuple[float | None, str | None]:
    """Return (score, None), or (None, why the value is none). words: the scores of texts that are no numbers.

    >>> [score_of(value)[0] for value in (True, 0.25, "1", "0.50", "TRUE", "1e999", "0,5", "85%", float("nan"), [1])]
    [1, 0.25, 1, 0.5, 1, None, None, None, None, None]
    """
    if isinstance(value, str):
        text = value.strip().lower()
        words = words or {"true": 1, "false": 0}
        value = words.get(value, words.get(text, value))
        if NUMBER.fullmatch(text):
            value = float(text)
            value = int(value) if value.is_integer() else value
    if isinstance(value, (int, float)) and abs(value) < math.inf:  # false for NaN as well
        return int(value) if isinstance(value, bool) else value, None
    return None, f"not scored: {'no value' if value is None else repr(value)[:60]}"


def amount(*values: Any) -> float | None:
    """Return a cost, a time or a count, summed over the values that can be one; None where none can."""
    known = [value for value in values if type(value) in (int, float) and 0 <= value < 1e300]
    return sum(known) if known else None


def digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def versioned(path: str, version: Any, known: Sequence[Any], rows: Rows) -> str:
    """Return how errors name a log: with its version if that is unknown, which a note tells as well."""
    if version in known:
        return path
    rows.notes[f"{path}: format version {version!r} is not known here; read by the fields it shares"] = 0
    return f"{path} (format version {version!r}, not known here)"


def choose(option: str, wanted: str | None, names: Collection[str], where: str) -> str:
    """Return the name that an option asks for, or else the only one; raise RunError where there is none such."""
    if wanted is None and len(names) == 1:
        return next(iter(names))
    if wanted is None or wanted not in names:
        what = f"several {option}s" if wanted is None and names else f"no {option} {wanted or ''!r}"
        raise RunError(f"{where}: {what}; choose with --{option} one of: {', '.join(sorted(names)) or 'none'}")
    return wanted


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # for what a log may also lack


def parse(data: bytes, where: str) -> Any:
    return parse_json(decode(data, where), where, LENIENT)


def lines(path: str) -> Iterator[str]:
    """Yield a text file's lines. Only a newline ends one: U+2028 within a text does not."""
    try:
        file = open_input(path)  # once: it may be a pipe
        with io.TextIOWrapper(file, json.detect_encoding(file.peek(4)[:4]), newline="\n") as text:
            yield from text
    except UnicodeDecodeError:
        decode(read_bytes(path), path)  # refuses it as well, and knows the byte
        raise
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}; give a file that can be read") from None
