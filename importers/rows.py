"""What does the row of another tool's log become? Rows of a plain trial log, held back until all inputs proved whole.

    $ python3 -m doctest importers/rows.py && echo "every example below came out"
    every example below came out

What the importers of this folder share. An importer is a file that states its VERBS, WHAT it reads and an EXAMPLE, its
`options`, and `samples`, which yields a Sample for each trial of a file. convert.py finds it by its VERBS.
Prints the rows and their notes.
"""

import argparse
import json
import math
import os
import pickle
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from core.files import STAGES, RunError, clean, json_line, print_stderr, read_bytes, sha256_of, text_of
from core.kinds import HEAD, describe
from core.trial_logs import check_row
from core.trials import kept_text, listed, repeats

SHORT_TEXT = 200  # characters of a tag's value or an error; longer text names no slice, and a stack trace is no reason
LABEL = 40  # characters of what a case asks, in its name
# The fields that say most about a document.
FIELDS_OF_WORDS = ("question", "query", "prompt", "input", "text", "problem", "instruction", "goal")
NO_WORDS: Mapping[str, float | None] = {}
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Key(NamedTuple):
    """What tells a case from others: its own id, or what it asks and what tells it from others that ask the same."""

    task: str
    name: int | str  # its own id, or the first words of what it asks
    asked: str = ""  # a digest
    content: str = ""  # a digest of all that is known of it
    number: int = 0  # of those before it in their file that are alike in all


TrialPlace = tuple[str, Key, int | str | None, str]  # config, case, seed, where it is
FieldTags = dict[str, list[Any]]  # by field
# Of trials that ask the same: the content of each place and its number, and how many places have it.
Twins = tuple[dict[Any, tuple[str, int]], Counter[str]]


class Sample(NamedTuple):
    """A trial as another tool's log has it. A case without a stable id is named by what it asks."""

    where: str  # how an error names its place
    score: Any  # as the log has it
    case: int | str | None = None  # the tool's own id, where that is stable
    task: str = ""  # its name goes before those of its cases where there are several
    config: str | None = None
    seed: int | str | None = None  # None: the log holds one trial a case
    error: Any = None
    asked: Any = None  # text, variables or messages, the same for all systems
    graded: Any = None  # what answers are compared with
    content: Any = None  # what else tells apart cases that ask the same: metadata, files
    place: Any = None  # differs from that of other cases of its file that ask the same
    fields: Mapping[str, Any] = {}  # what --id, --config-column, --cluster and --tag choose from
    usual: Iterable[str] = ()  # the fields that are tags where no --tag is given
    output: Any = None
    explanation: Any = None  # what the grader said about the score
    ts: Any = None
    measures: Mapping[str, float | None] = {}


class Rows:
    """The rows of one conversion, held back until all inputs are read: half a log must not look like a whole one."""

    def __init__(self, file: BinaryIO, args: argparse.Namespace):
        self.file, self.args = file, args
        self.words: dict[str, float | None] = {"true": 1, "false": 0, **dict(args.map or ())}
        self.notes: Counter[str] = Counter()  # by text: how many trials it is about, 0 where it does not count them
        # Of the fields that options name, how many trials had them.
        self.had = Counter(dict.fromkeys(filter(None, [*(args.tag or ()), args.cluster]), 0))
        self.optional: str | None = None  # of these, one that may be nowhere
        self._config: str | None = None  # that a file is named by
        self._trials: list[TrialPlace] = []  # whose rows are in the file
        self._unscored: defaultdict[str, Counter[str]] = defaultdict(Counter)  # why trials have no score, by config
        self._no_scores: Counter[str] = Counter()  # words, lists and objects in place of a score
        self._first_places: dict[str, str] = {}  # of these
        self._cases: dict[Key, tuple[Key, FieldTags]] = {}  # one and the same key, and its tags
        self._twins: dict[tuple[str, str], Twins] = {}  # by config and what they ask, of one file
        self._unlike: set[tuple[str, str]] = set()  # what is asked twice in a file, and not alike in all
        self._no_slices: dict[str, None] = {}  # fields that are no tags
        self._fields: set[str] = set()  # of all trials

    def begin(self, config: str | None) -> None:
        """Begin a file; all its trials are of the config that it is named by, if it is."""
        self._config, self._twins = config, {}
        STAGES.enter("reading the trials")

    def add(self, sample: Sample) -> None:
        """Keep a trial, unscored if it has an error; raise RunError where check_row refuses it."""
        args, where = self.args, sample.where
        config = self._config or args.config
        if not config:
            config = str(name_in(sample, args.config_column)) if args.config_column else sample.config
        if not config or not config.strip():
            raise RunError(f"{where}: no name for this run; name it with NAME=FILE, --config or --config-column")
        seed = 1 if sample.seed is None else sample.seed
        if args.run is not None:
            seed = args.run if sample.seed is None else f"{args.run}.{seed}"
        own = name_in(sample, args.id) if args.id else sample.case
        score = None if sample.error else score_of(sample.score, self.words)
        error = None if score is not None else first_words(sample.error or self._why_unscored(sample.score, where))
        if error is not None:
            self._unscored[config][error] += 1
        cluster, identity = pick(sample.fields, args.cluster), (sample.asked, sample.graded)
        row = {"seed": seed, "config": config, "score": score, "error": error,
               "cluster": None if cluster is None else text_of(cluster), **sample.measures,
               "ts": sample.ts if isinstance(sample.ts, str) else None,
               "input_sha256": None if identity == (None, None) else digest(*identity)}
        if not args.no_text:
            row |= {"input": kept_text(shown(sample.asked)), "expected": kept_text(shown(sample.graded)),
                    "output": kept_text(sample.output)}
            if sample.explanation != sample.output:  # Inspect's simple scorers give the output as its own explanation
                row["explanation"] = clean(kept_text(sample.explanation) or "", keep="\n\t") or None
        row = {key: value for key, value in row.items() if key == "score" or value is not None}
        # Whoever compares says what a score can be.
        checked = check_row({"task_id": "x" if own is None else own, **row}, where, (-10**400, 10**400))
        row["seed"] = checked.trial.seed  # a number where a text is one
        pickle.dump(row, self.file)  # the name of its case and its tags are known when all are read
        case = self._case(own, config, sample)
        case, tags = self._cases.setdefault(case, (case, {}))
        self._merge(tags, self._tags_of(sample))
        self._trials.append((config, case, checked.trial.seed, where))
        STAGES.tell()

    def _why_unscored(self, value: Any, where: str) -> str:
        if known_word(value, self.words) is not None:
            return str(value)
        if isinstance(value, (str, list, dict)):
            self._no_scores[f"{value!r:.{LABEL}}"] += 1
            self._first_places.setdefault(f"{value!r:.{LABEL}}", where)
        return f"not scored: {'no value' if value is None else repr(value)[:60]}"

    def _case(self, own: int | str | None, config: str, sample: Sample) -> Key:
        """Return the case of a trial: by its own id, else by what it asks, and what tells twins apart."""
        if own is not None:
            return Key(sample.task, own)
        name, asked = label(None if self.args.no_text else sample.asked), digest(sample.asked)
        places, counts = self._twins.setdefault((config, asked), ({}, Counter()))
        if sample.place not in places:
            content = digest(sample.asked, sample.graded, sample.content)
            places[sample.place] = content, counts[content]
            counts[content] += 1
            if len(counts) > 1:
                self._unlike.add((sample.task, asked))
        return Key(sample.task, name, asked, *places[sample.place])

    def _tags_of(self, sample: Sample) -> FieldTags:
        """Return the tags of a trial, and see which of the fields that options name it has."""
        self._fields |= sample.fields.keys()
        for name in self.had:
            self.had[name] += pick(sample.fields, name, sample) is not sample
        tags: FieldTags = {}
        for name in sample.usual if self.args.tag is None else self.args.tag:
            value = pick(sample.fields, name)
            values = [item for item in (value if isinstance(value, list) else [value]) if item not in (None, "")]
            if not all(map(fits_tag, values)):
                self._no_slices[name] = None
            elif values and (self.args.tag or name != self.args.cluster):
                tags[name] = values
        return tags

    def _merge(self, tags: FieldTags, more: FieldTags) -> None:
        """Add to the tags of a case those of another trial; one that differs within a case makes no slices."""
        for name, values in more.items():
            if tags.setdefault(name, values) != values:
                self._no_slices[name] = None

    def write(self) -> None:
        """Print the rows, then the notes.

        Raises RunError where there is no row, no score or no field asked for, or a trial is there twice.
        """
        if not self._trials:
            raise RunError("no trial in the files given; give logs that hold samples")
        for name in [name for name, count in self.had.items() if not count]:
            if name != self.optional:
                raise RunError(f"no trial has a field {name!r}; leave its option out, or choose one of: "
                               f"{listed(sorted(self._fields), 20) or 'none'}")
            self.notes[f"no row has the field {name!r}"] = 0
        if self._no_scores:
            values = listed((f"{value} ({self._first_places[value]})" for value in self._no_scores), 20)
            note = f"values that are no scores: {values}; --map WORD=NUMBER makes a word one; choose another for a list"
            if sum(map(Counter.total, self._unscored.values())) == len(self._trials):
                raise RunError(note)
            self.notes[note] = self._no_scores.total()
        several_tasks = len({case.task for case in self._cases if case.task}) > 1
        names = {case: self._name(case, several_tasks) for case in self._cases}
        if twins := sum(case.number > 0 or (case.task, case.asked) in self._unlike for case in self._cases):
            self.notes[f"cases that ask the same as another, told apart by other things or by number: {twins}"] = 0
        self._refuse_twice(names)
        tags = self._tags(names, several_tasks)
        self.file.seek(0)
        for _, case, _, _ in self._trials:
            name = names[case]
            sys.stdout.write(json_line({"task_id": name, **pickle.load(self.file), **tags[name]}))
        sys.stdout.flush()
        for text, count in self.notes.items():
            print_stderr(f"note: {text} (trials: {count})" if count else f"note: {text}")
        if self._no_slices:
            chosen = "" if self.args.tag else " (--tag NAME, here and in compare.py, chooses one that hardly repeats)"
            print_stderr(f"note: fields that make no slices, for their values are objects, exceed {SHORT_TEXT} "
                         f"characters, differ within a case, or hardly repeat{chosen}: {listed(self._no_slices, 20)}")
        for config, count in Counter(config for config, *_ in self._trials).items():
            reasons = self._unscored[config]
            lack = reasons.total()
            words = f", of which {lack} {'has' if lack == 1 else 'have'} no score" if lack else ""
            if lack == count:
                words += f": {listed(f'{reason!r} ({times})' for reason, times in reasons.most_common())}"
            print_stderr(f"note: trials of config {config!r}: {count}{words}")

    def _refuse_twice(self, names: Mapping[Key, int | str]) -> None:
        places: dict[tuple[str, int | str, int | str | None], str] = {}
        for config, case, seed, where in self._trials:
            first = places.setdefault((config, names[case], seed), where)
            if first is not where:  # a log given twice has the same texts
                raise RunError(f"{where}: this trial of {config!r} is also in {first}; give each log once, number the "
                               "runs of one system with --run N, and name those of two systems: NAME=FILE, or where "
                               "a file holds both --config-column FIELD, which tells them apart")

    def _name(self, case: Key, several_tasks: bool) -> int | str:
        """Return the name of a case: its own id, or the first words of what it asks and a digest.

        The digest is of what is asked alone, so that a case whose metadata changed is the same case; but where a file
        asks that twice, it is of all that tells the two apart, and not of the order in which they come.
        """
        name = case.name
        if case.asked:
            name = f"{name} {(case.content if (case.task, case.asked) in self._unlike else case.asked)[:12]}"
        if case.number:
            name = f"{name} ({case.number + 1})"
        return f"{case.task}/{name}" if several_tasks and case.task else name

    def _tags(self, names: Mapping[Key, int | str], several_tasks: bool) -> dict[int | str, dict[str, Any]]:
        """Return {"tags": ...} of each case, {} without: tags that all its trials share, and whose values repeat."""
        by_task = several_tasks and self.args.tag is None and self.args.cluster != "task"
        tags_of: dict[int | str, FieldTags] = {}
        for case, tags in self._cases.values():
            self._merge(tags_of.setdefault(names[case], {"task": [case.task]} if by_task and case.task else {}), tags)
        if self.args.tag is None:
            for field in dict.fromkeys(field for tags in tags_of.values() for field in tags):
                if not repeats([set(map(str, tags[field])) for tags in tags_of.values() if field in tags]):
                    self._no_slices[field] = None
        slices = {name: {field: values if len(values) > 1 else values[0] for field, values in tags.items()
                         if field not in self._no_slices} for name, tags in tags_of.items()}
        return {name: {"tags": of_case} if of_case else {} for name, of_case in slices.items()}


def fits_tag(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT_TEXT and value.encode(errors="ignore").decode() == value  # no half of a character
    return isinstance(value, int) or isinstance(value, float) and math.isfinite(value)


def pick(fields: Any, path: str | None, absent: Any = None) -> Any:
    """Return a field by its name, or by the names on the way to it, with dots between; absent where it is not there.

    >>> pick({"a.b": 1, "c": {"d": [5, 6]}}, "a.b"), pick({"c": {"d": [5, 6]}}, "c.d.1"), pick({}, "x")
    (1, 6, None)
    """
    if isinstance(fields, list):
        fields = {str(place): item for place, item in enumerate(fields)}
    if path is None or not isinstance(fields, Mapping):
        return absent
    name, _, rest = path.partition(".")
    if path in fields or name not in fields or not rest:
        return fields.get(path, absent)
    return pick(fields[name], rest, absent)


def needed(fields: Mapping[str, Any], name: str, where: str, path: str | None = None,
           may_be_blank: bool = False) -> Any:
    """Return a field; raise RunError where it is not there, or blank. path: of the table that holds it, if one does."""
    value = pick(fields, name, fields)
    if value is fields:
        raise RunError(f"{where}: no field {name!r}; there are: {listed(fields, 40) or 'none'}{what_else(path)}")
    if not may_be_blank and not cell_text(value).strip():
        raise RunError(f"{where}: {name} is blank; fill it in, or leave the row out")
    return value


def name_in(sample: Sample, field: str) -> int | str:
    value = needed(sample.fields, field, sample.where)
    return value if type(value) is int else text_of(value)


def what_else(path: str | None) -> str:
    """Return what a file that was read as a table is, and what reads it, if it is no table."""
    kind, reader = describe(read_bytes(path, HEAD) if path and os.path.isfile(path) else b"", path or "")
    return "" if kind in ("a table", "JSON of another kind", "") else f"; the file is {kind}: {reader}"


def shown(asked: Any) -> str | None:
    """Return what a case asks as a person reads it: a text as it is, one variable as its value, several a line each.

    >>> shown({"topic": "red"}), shown({"b": 1, "a": "x"})
    ('red', 'a: x\\nb: 1')
    """
    if not isinstance(asked, dict) or not asked:
        return kept_text(asked)
    if len(asked) == 1:
        return text_of(*asked.values())
    return "\n".join(f"{key}: {text_of(value)}" for key, value in sorted(asked.items()))


def label(asked: Any) -> str:
    """Return the first words of what a case asks, which make its name readable; "case" where there are none."""
    if isinstance(asked, dict):
        asked = next((asked[name] for name in FIELDS_OF_WORDS if isinstance(asked.get(name), str)), asked)
    text = " ".join((shown(asked) or "").split())
    if len(text) > LABEL:
        text = text[:LABEL].rstrip() + "…"
    return "".join(char if char.isprintable() else "?" for char in text) or "case"


def cell_text(value: Any) -> str:
    return "" if value is None else text_of(value)


def first_words(error: object) -> str:
    return str(error).strip().partition("\n")[0][:SHORT_TEXT]


def known_word(value: Any, words: Collection[str]) -> str | None:
    """Return the word that a text is, as it is written or else in small letters; None where it is none of them."""
    texts = (value, value.strip().lower()) if isinstance(value, str) else ()
    return next((text for text in texts if text in words), None)


def score_of(value: Any, words: Mapping[str, float | None] = NO_WORDS) -> float | None:
    """Return the score that a value is; None where it is none. words: the scores of texts that are no numbers.

    >>> [score_of(value, {"true": 1}) for value in (True, 0.25, "1", "0.50", "TRUE", "1e999", "0,5", "85%", [1])]
    [1, 0.25, 1, 0.5, 1, None, None, None, None]
    """
    word = known_word(value, words)
    if word is not None:
        value = words[word]
    elif isinstance(value, str) and DECIMAL.fullmatch(value.strip()):
        value = float(value)
        value = int(value) if value.is_integer() else value
    if not isinstance(value, (int, float)) or not abs(value) < math.inf:  # infinity is not, nor is NaN
        return None
    return int(value) if isinstance(value, bool) else value


def total(*values: Any) -> float | None:
    """Return a cost, a time or a count, summed over the values that can be one; None where none can."""
    amounts = [value for value in values if type(value) in (int, float) and 0 <= value < 1e300]
    return sum(amounts) if amounts else None


def digest(*values: Any) -> str:
    return sha256_of(json.dumps(values, sort_keys=True))


def versioned(path: str, version: Any, known: Sequence[Any], rows: Rows) -> str:
    """Return how errors name a log: with its version if that is unknown, which a note says as well."""
    if version in known:
        return path
    rows.notes[f"{path}: format version {version!r} is not known here; read by the fields it shares"] = 0
    return f"{path} (format version {version!r}, not known here)"


def choose(option: str, wanted: str | None, names: Collection[str], where: str, others: str = "") -> str:
    """Return the name that an option asks for, or else the only one; raise RunError where there is none.

    others is what is to be said of names that cannot be chosen.
    """
    found = [name for name in names if wanted in (None, name)]
    if len(found) == 1:
        return found[0]
    problem = f"several {option}s" if found else f"no {option} {wanted!r}" if wanted else f"no {option}"
    raise RunError(f"{where}: {problem}; choose with --{option} one of: {', '.join(sorted(names)) or 'none'}{others}")


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # for what a log may also lack


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
