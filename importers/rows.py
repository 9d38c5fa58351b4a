"""What does the row of another tool's log become? Rows of a plain trial log, held back until all inputs proved whole.

    $ python3 -m doctest importers/rows.py && echo "every example below came out"
    every example below came out

What the importers of this folder share. An importer is a file that states its VERBS, WHAT it reads and an EXAMPLE, its
`options`, and `samples`, which yields a Sample for each trial of a file; where they differ from those of the others
also the scores of its WORDS and its ID_OPTION. convert.py finds it by its VERBS.
Prints the rows and their notes, reads nothing.
"""

import argparse
import hashlib
import json
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from core.files import STAGES, RunError, clean, json_line, print_stderr
from core.trial_logs import check_row
from core.trials import MOST_VALUES, kept_text, listed, repeats

LONGEST = 200  # characters of a tag's value or an error; longer text names no slice, and a stack trace is no reason
LABEL = 40  # characters of what a case asks, in its name
# The fields that say most about a document.
FIELDS_OF_WORDS = ("question", "query", "prompt", "input", "text", "problem", "instruction", "goal")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Sample(NamedTuple):
    """A trial as another tool's log has it. A case without a stable id is named by what it asks."""

    where: str  # how an error names its place
    score: Any  # as the log has it
    case: int | str | None = None  # the tool's own id, where that is stable
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


def twice(where: str, config: str, before: str) -> RunError:
    return RunError(f"{where}: this trial of {config!r} is also in {before}; give each log once, number the runs of "
                    "one system with --run N, and name those of two systems: NAME=FILE")


class Rows:
    """The rows of one conversion, held back until all inputs are read: half a log must not look like a whole one."""

    def __init__(self, file: TextIO, args: argparse.Namespace, words: Mapping[str, float]):
        self.file, self.args = file, args
        self.words: dict[str, float] = {"true": 1, "false": 0, **words, **dict(args.map or ())}
        self.notes: Counter[str] = Counter()  # by text: how many trials it is about, 0 where it does not count them
        self.others_use: dict[str, list[float]] = {}  # tokens and cost that are not the system's, by whose they are
        self._config: str | None = None  # that a file is named by
        self._places: dict[tuple[str, int, int | str], str] = {}  # by config, number of the case, and seed
        self._cases: dict[tuple[Any, ...], int] = {}  # the number of a case, by its own id or by all that it asks
        self._twins: dict[tuple[str, ...], tuple[dict[Any, tuple[str, int]], Counter[str]]] = {}  # by what they ask
        self._unlike: set[tuple[str, ...]] = set()  # what is asked twice in a file, and not alike in all
        self._tags: list[dict[str, list[Any]]] = []  # of each case
        self._unfit: dict[str, dict[str, None]] = {}  # fields that are no tags, by the reason
        self._fields: dict[str, None] = {}  # all that were there
        self.named = dict.fromkeys([*(args.tag or ()), args.cluster], False)  # by an option, and may they be nowhere
        self._found = set[str | None]()  # of them, what a trial had
        self._scored, self._unread = 0, Counter[str]()

    def begin(self, config: str | None) -> None:
        """Begin a file; all its trials are of the config that it is named by, if it is."""
        self._config, self._twins = config, {}
        STAGES.enter("reading the trials")

    def count_other(self, whose: str, tokens: float | None, cost_usd: float | None = None) -> None:
        """Count tokens and cost that are not the system's, for a note."""
        if tokens or cost_usd:
            sums = self.others_use.setdefault(whose, [0, 0])
            sums[:] = sums[0] + (tokens or 0), sums[1] + (cost_usd or 0)

    def add(self, sample: Sample) -> None:
        """Keep a trial, unscored if it has an error; raise RunError where it is there twice or check_row refuses it."""
        args, where = self.args, sample.where
        config = self._config or args.config or (
            str(self._field(args.config_column, sample)) if args.config_column else sample.config)
        if not config or not config.strip():
            raise RunError(f"{where}: no name for this run; name it with NAME=FILE or --config NAME, or a column of "
                           "names with --config-column")
        seed = 1 if sample.seed is None else sample.seed
        if args.run is not None:
            seed = args.run if sample.seed is None else f"{args.run}.{seed}"
        own = self._field(args.id, sample) if args.id else sample.case
        cluster = pick(sample.fields, args.cluster)
        score, error = (None, sample.error) if sample.error else score_of(sample.score, self.words)
        self._scored += score is not None
        if score is None and not sample.error and isinstance(sample.score, str):
            self._unread[sample.score[:LABEL]] += 1
        # Inspect's simple scorers give the output as its own explanation.
        why = clean(kept_text(sample.explanation) or "", keep="\n\t") * (sample.explanation != sample.output)
        texts = {} if args.no_text else {"input": kept_text(shown(sample.asked)), "output": kept_text(sample.output),
                                         "explanation": why or None}
        row = {"task_id": "x" if own is None else own, "seed": seed, "config": config, "score": score,
               "error": first_words(error) if error else None,
               "cluster": cluster if isinstance(cluster, str | None) else json.dumps(cluster), **sample.measures,
               "ts": sample.ts if isinstance(sample.ts, str) else None,
               "input_sha256": digest(*known) if (known := [sample.asked, sample.graded]) != [None, None] else None,
               **texts}
        checked = check_row(row, where, (-10**400, 10**400))  # whoever compares says what a score can be
        number = self._number(own, checked.config, sample)
        if (before := self._places.setdefault((checked.config, number, seed), where)) is not where:
            raise twice(where, config, before)
        kept = {key: value for key, value in row.items() if key == "score" or value is not None and key != "task_id"}
        self.file.write(f"{number} {json_line(kept)}")
        self._take_tags(number, sample)
        STAGES.tell()

    def _field(self, name: str, sample: Sample) -> str | int:
        value = pick(sample.fields, name)
        if isinstance(value, (dict, list, type(None))) or not str(value).strip():
            raise RunError(f"{sample.where}: field {name!r} is {value!r:.60} and names nothing; fill it in, or choose "
                           f"one of: {listed(sample.fields, 20) or 'none'}")
        return value if isinstance(value, str) or type(value) is int else json.dumps(value)

    def _number(self, own: int | str | None, config: str, sample: Sample) -> int:
        """Return the number of a trial's case: by its own id, else by what it asks, and what tells twins apart."""
        key: tuple[Any, ...] = (own,)
        if own is None:
            asked = label(sample.asked, self.args.no_text), digest(sample.asked)
            places, contents = self._twins.setdefault((config, *asked), ({}, Counter()))
            if sample.place not in places:
                content = digest(sample.asked, sample.graded, sample.content)
                places[sample.place] = content, contents[content]
                contents[content] += 1
                if len(contents) > 1:
                    self._unlike.add(asked)
            key = *asked, *places[sample.place]
        if key not in self._cases:
            self._tags.append({})
        return self._cases.setdefault(key, len(self._cases))

    def _take_tags(self, number: int, sample: Sample) -> None:
        self._fields.update(dict.fromkeys(sample.fields))
        self._found.update([name for name in self.named if name not in self._found
                            and pick(sample.fields, name, sample) is not sample])
        for name in sample.usual if self.args.tag is None else self.args.tag:
            value = pick(sample.fields, name)
            values = [item for item in (value if isinstance(value, list) else [value]) if item not in (None, "")]
            if not all(map(fits_tag, values)):
                self._unfit.setdefault(f"they hold more than values of {LONGEST} characters", {})[name] = None
            elif name != self.args.cluster and values:
                self._take_tag(self._tags[number], name, values)

    def _take_tag(self, tags: dict[str, list[Any]], name: str, values: list[Any]) -> None:
        if tags.setdefault(name, values) != values:
            self._unfit.setdefault("they differ between the trials of a case", {})[name] = None

    def write(self) -> None:
        """Print the rows, then the notes. Raises RunError where there is no row, no score or no field asked for."""
        if not self._places:
            raise RunError("no trial in the files given; give logs that hold samples")
        for name in [name for name in self.named if name and name not in self._found]:
            if not self.named[name]:
                raise RunError(f"no trial has a field {name!r}; leave its option out, or choose one of: "
                               f"{listed(sorted(self._fields), 20) or 'none'}")
            self.notes[f"no row has the field {name!r}"] = 0
        if self._unread:
            words = f"words that are no scores: {listed(map(repr, self._unread), 20)}"
            if not self._scored:
                raise RunError(f"{words}; give each a number: --map "
                               + " ".join(f"{shlex.quote(word)}=NUMBER" for word in self._unread))
            self.notes[f"{words}; --map WORD=NUMBER makes one a score"] = self._unread.total()
        cases = self._names()
        self._refuse_twice(cases)
        heads, tails = [json.dumps({"task_id": name})[:-1] for name in cases], self._tails(cases)
        self.file.seek(0)
        for line in self.file:
            number, _, row = line.partition(" ")
            sys.stdout.write(f"{heads[int(number)]}, {row[1:-2]}{tails[int(number)]}}}\n")
        sys.stdout.flush()
        for text, count in self.notes.items():
            print_stderr(f"note: {text}" + f" (trials: {count})" * (count > 0))
        for whose, (tokens, cost_usd) in self.others_use.items():
            print_stderr(f"note: not counted, since it is not the system's: {whose}: tokens {tokens}, "
                         f"cost {cost_usd:.4g} USD")
        for reason, names in self._unfit.items():
            print_stderr(f"note: no tags, for {reason}: {listed(names, 20)}")
        for config, count in Counter(config for config, _, _ in self._places).items():
            print_stderr(f"note: trials of config {config!r}: {count}")

    def _refuse_twice(self, names: Sequence[int | str]) -> None:
        """Raise RunError where two trials, of cases that are told apart by what is graded, have all in common else."""
        there: dict[tuple[str, int | str, int | str], str] = {}
        for (config, case, seed), where in self._places.items():
            if (before := there.setdefault((config, names[case], seed), where)) != where:
                raise twice(where, config, before)

    def _names(self) -> list[int | str]:
        """Return the name of each case: its own id, or the first words of what it asks and a digest.

        The digest is of what is asked alone, so that a case whose metadata changed is the same case; but where a file
        asks that twice, it is of all that tells the two apart, and not of the order in which they come.
        """
        names, twins = [], 0
        for own, *rest in self._cases:
            if rest:
                asked, content, number = rest
                unlike = (own, asked) in self._unlike
                own = f"{own} {(content if unlike else asked)[:12]}" + f" ({number + 1})" * (number > 0)
                twins += unlike or number > 0
            names.append(own)
        if twins:
            self.notes["cases that ask the same as another, named by what else tells them apart, or a number in "
                       f"brackets: {twins}"] = 0
        return names

    def _tails(self, names: Sequence[int | str]) -> list[str]:
        """Return how the rows of each case end: with tags that all its trials share, and whose values repeat."""
        shared: dict[int | str, dict[str, list[Any]]] = {}
        for case, tags in zip(names, self._tags, strict=True):
            known = shared.setdefault(case, tags)
            for name in tags:
                self._take_tag(known, name, tags[name])
        tags_of = {name: None for tags in shared.values() for name in tags}
        if self.args.tag is None:
            for name in tags_of:
                values = [set(map(str, tags[name])) for tags in shared.values() if name in tags]
                if not repeats(values):
                    many = len(set().union(*values)) > MOST_VALUES
                    why = f"they have more than {MOST_VALUES} values" if many else "their values hardly repeat"
                    self._unfit.setdefault(f"{why} (--tag NAME makes one)", {})[name] = None
        for unfit in self._unfit.values():
            tags_of = {name: None for name in tags_of if name not in unfit}
        chosen = [{name: tags[name] if tags[name][1:] else tags[name][0] for name in tags_of if name in tags}
                  for tags in map(shared.__getitem__, names)]
        return [f', "tags": {json.dumps(tags)}' if tags else "" for tags in chosen]


def fits_tag(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST and value.encode(errors="ignore").decode() == value  # no half of a character
    return isinstance(value, int) or isinstance(value, float) and math.isfinite(value)


def pick(fields: Any, path: str | None, absent: Any = None) -> Any:
    """Return a field by its name, or by the names on the way to it, with dots between; absent where it is not there.

    >>> pick({"a.b": 1, "c": {"d": [5, 6]}}, "a.b"), pick({"c": {"d": [5, 6]}}, "c.d.1"), pick({}, "x")
    (1, 6, None)
    """
    if path is None or isinstance(fields, Mapping) and path in fields:
        return absent if path is None else fields[path]
    for name in path.split("."):
        if isinstance(fields, list) and name.isdecimal() and int(name) < len(fields):
            fields = fields[int(name)]
        elif isinstance(fields, Mapping) and name in fields:
            fields = fields[name]
        else:
            return absent
    return fields


def shown(asked: Any) -> str | None:
    """Return what a case asks as a person reads it: a text as it is, one variable as its value, several a line each.

    >>> shown({"topic": "red"}), shown({"b": 1, "a": "x"})
    ('red', 'a: x\\nb: 1')
    """
    if isinstance(asked, dict) and asked:
        lines = [f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
                 for key, value in sorted(asked.items())]
        return lines[0].partition(": ")[2] if len(lines) == 1 else "\n".join(lines)
    return kept_text(asked)


def label(asked: Any, hidden: bool) -> str:
    """Return the first words of what a case asks, which make its name readable; "case" where texts are hidden."""
    if isinstance(asked, dict):
        asked = next((asked[name] for name in FIELDS_OF_WORDS if isinstance(asked.get(name), str)), asked)
    words = "" if hidden else " ".join((shown(asked) or "").split())
    words = "".join(char if char.isprintable() else "?" for char in words[:LABEL + 1])
    return words if 0 < len(words) <= LABEL else words[:LABEL].rstrip() + "…" if words else "case"


def first_words(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:LONGEST]


def score_of(value: Any, words: Mapping[str, float]) -> tuple[float | None, str | None]:
    """Return (score, None), or (None, why the value is none). words: the scores of texts that are no numbers.

    >>> [score_of(value, {"true": 1})[0] for value in (True, 0.25, "1", "0.50", "TRUE", "1e999", "0,5", "85%", [1])]
    [1, 0.25, 1, 0.5, 1, None, None, None, None]
    """
    if isinstance(value, str):
        text = value.strip().lower()
        value = words.get(value, words.get(text, value))
        if isinstance(value, str) and NUMBER.fullmatch(text):
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
    """Return how errors name a log: with its version if that is unknown, which a note says as well."""
    if version in known:
        return path
    rows.notes[f"{path}: format version {version!r} is not known here; read by the fields it shares"] = 0
    return f"{path} (format version {version!r}, not known here)"


def choose(option: str, wanted: str | None, names: Collection[str], where: str, others: str = "") -> str:
    """Return the name that an option asks for, or else the only one; raise RunError where there is none.

    others is what is to be said of names that cannot be chosen.
    """
    if wanted is None and len(names) == 1:
        return next(iter(names))
    if wanted is None or wanted not in names:
        what = f"several {option}s" if wanted is None and names else f"no {option} {wanted or ''!r}"
        raise RunError(f"{where}: {what}; choose with --{option} one of: {', '.join(sorted(names)) or 'none'}{others}")
    return wanted


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # for what a log may also lack
