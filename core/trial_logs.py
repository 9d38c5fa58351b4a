"""Which scores do the trial logs of any other harness hold, a row a trial? Their reader, and the rules of a row.

    $ printf '{"task_id": "c1", "seed": 0, "config": "%s", "score": 1}\\n' v1 v2 > t.jsonl
    $ python3 -c "from core import trial_logs as t; print(t.read_trial_logs([(None, 't.jsonl')], 'v1', 'v2').cases)"
    [ComparedCase(id='c1', source=None, tags=(), input=None, expected=None)]

`read_trial_logs` gives a trials.Pair. `check_row` holds the rules of a row, `Known` those of rows among themselves;
collector.py refuses by the same. Reads the files it is given, writes none, prints nothing.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.files import RunError, decode, parse_json, read_bytes, refusal
from core.kinds import HEAD, describe
from core.texts import Json, unpacked
from core.trials import (
    LARGEST, MEASURES, SIDES, ComparedCase, Measures, Pair, Score, Side, Trial, kept_text, listed, note_of,
    score_places, seed_note)
from harness import SYSTEM_FIELDS

FACTS = ("cluster", "tags", "input", "input_sha256")  # what a row says of its case, not of its trial
INPUTS = FACTS[2:]  # those that tell one case from another whatever its id
UNEXPLAINED = "null score without an error"
REASON_LENGTH = 60  # characters: reasons are counted by their text, and no stack trace comes twice


class RowTwice(RunError):
    """A row with the same config, task_id and seed is there already."""


class Row(NamedTuple):
    """A row of a trial log that keeps its rules. Of FACTS, None is one that the row does not state."""

    id: str
    id_is_number: bool
    config: str
    facts: tuple[Any, ...]
    trial: Trial


class Reading(NamedTuple):
    """How trial logs are read."""

    score_range: tuple[Score, Score] = (0, 1)
    skip_broken: bool = False  # leave out the lines that cannot be read, and list them in a note
    ignore_input: bool = False  # let the inputs of a case differ


DEFAULT_READING = Reading()


# === One row ===


def check_row(row: object, where: str, score_range: tuple[Score, Score] = (0, 1)) -> Row:
    """Return a row of a trial log, its values in one form; raise RunError, naming where, if it breaks a rule.

    >>> check_row({"task_id": 7, "seed": "0", "config": "A", "score": 0.1}, "log:1").trial.score
    Fraction(1, 10)
    """
    try:
        return _row(row, score_range)
    except RunError as error:
        raise RunError(f"{where}: {error}") from None
    except RecursionError:  # what could just be parsed may be too deep to be shown
        raise RunError(f"{where}: nested too deeply; write flatter values") from None


def _row(row: object, score_range: tuple[Score, Score]) -> Row:
    if not isinstance(row, dict):
        raise RunError(f"{row!r:.60} is not an object; write one a line, a line a trial")
    numbered = type(row.get("task_id")) is int
    task_id = str(row["task_id"]) if numbered else _text(row, "task_id")
    config = _text(row, "config")
    if task_id is None or config is None:
        raise RunError(f"no {'task_id' if task_id is None else 'config'}; name the case and the system")
    reason = _reason(row.get("error"))
    score = None if reason else _score(row, score_range)
    measures = Measures(*[_measure(row.get(name), name) for name in MEASURES])
    cluster = _text(row, "cluster", numbers=True)
    facts = (cluster and cluster.strip(), _tags(row.get("tags")), kept_text(row.get("input")) or None,
             _text(row, "input_sha256"))
    return Row(task_id, numbered, config, facts,
               Trial(_seed(row), score, reason or (UNEXPLAINED if score is None else None),
                     kept_text(row.get("output")), measures,
                     _text(row, "ts", numbers=True), kept_text(_text(row, "explanation"))))


def _text(row: dict[str, Any], field: str, numbers: bool = False) -> str | None:
    """Return a field's text exactly, a number's JSON text where it may be one, None where absent, null or blank."""
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, str):
        return _whole(value, field) if value.strip() else None
    if numbers and type(value) in (int, float):
        return _json_text(value)
    kinds = "text or a whole number" if field in ("task_id", "seed") else "text"
    raise RunError(f"{field} {value!r:.60} is not {kinds}; correct the line")


def _whole(text: str, what: str) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        raise RunError(f"{what} {text!r:.60} holds half a character (a lone surrogate), which no file can carry; "
                       "write the whole character") from None


def _json_text(value: bool | int | float) -> str:
    # As RFC 8785 has it: a table with gaps makes 2024.0 of 2024, and one number is one slice.
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value)


def _reason(error: object) -> str | None:
    """Return the first words of a row's error; None where null, false, blank or empty says that there was none."""
    if not error:
        return None
    if isinstance(error, dict):
        error = next((error[key] for key in ("type", "message") if error.get(key)), error)
    text = error.strip() if isinstance(error, str) else "error" if error is True else json.dumps(error)
    text = " ".join(text.partition("\n")[0].split()).encode("utf-8", "backslashreplace").decode()  # words for people
    return (text if len(text) <= REASON_LENGTH else text[:REASON_LENGTH].rstrip() + "…") or None


@functools.lru_cache(maxsize=4096)
def _exact(value: float, places: int | None = None) -> Score:
    exact = Fraction(repr(value))  # the shortest decimal that reads as value: 0.1 is one tenth, as it was written
    exact = exact if places is None else Fraction(round(exact, places))
    return exact.numerator if exact.denominator == 1 else exact


def score_bound(text: str) -> Score:
    """Return an end of --score-range; raise ValueError for what is not a number, or is beyond LARGEST.

    >>> score_bound("0.5"), score_bound("-1")
    (Fraction(1, 2), -1)
    """
    bound = _exact(float(text))
    if not -LARGEST <= bound <= LARGEST:
        raise ValueError(f"{text} is beyond 1e100")
    return bound


def _score(row: dict[str, Any], score_range: tuple[Score, Score]) -> Score | None:
    value = row.get("score", "")
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        wrong = f"score {value!r:.60} is not a number or null" if "score" in row else "score is missing"
        raise RunError(f"{wrong}; write a number, or null and an error")
    score = _in_range(value, *score_range)
    if score is None:
        raise RunError(f"score {value!r:.60} is outside [{score_range[0]}, {score_range[1]}]; correct the line, or say "
                       "what a score can be with --score-range LOW HIGH")
    return score


@functools.lru_cache(maxsize=4096, typed=True)
def _in_range(value: int | float, low: Score, high: Score) -> Score | None:
    """Return a score read to nine digits of its range; None where it lies outside."""
    places = score_places(low, high)
    score = _exact(value, places) if isinstance(value, float) else round(int(value), min(places, 0))
    score = next((end for end in (low, high) if score == round(end, places)), score)
    return score if low <= score <= high else None


def _seed(row: dict[str, Any]) -> int | str | None:
    seed = row.get("seed")
    if type(seed) is int:
        return seed
    text = _text(row, "seed")
    # A CSV file knows only text, so "3" is the seed 3. The length keeps int() within what it takes.
    return int(text) if text and re.fullmatch("0|-?[1-9][0-9]{0,99}", text) else text


def _measure(value: Any, name: str) -> float | None:
    if value is None or type(value) in (int, float) and abs(value) <= LARGEST:
        return None if value is None else float(value)
    raise RunError(f"{name} {value!r:.60} is not a number up to 1e100; write one, or null for not measured")


def _tags(tags: object) -> tuple[tuple[str, str], ...] | None:
    """Return the (tag, value) pairs that a row states, sorted, each once; None where it says nothing of tags."""
    if tags is None:
        return None
    if not isinstance(tags, dict):
        raise RunError(f'tags {tags!r:.60} is not an object; write {{"tag": "value"}}')
    try:
        return _text_tags(tuple(tags.items()))
    except (TypeError, UnicodeEncodeError):
        return _other_tags(tags)


@functools.lru_cache(maxsize=4096)  # the rows of a case repeat its tags
def _text_tags(tags: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return tags whose values are all text, sorted; raise TypeError or UnicodeEncodeError where one is not."""
    for text in (text for pair in tags for text in pair):
        str.encode(text)
    pairs = {(tag.strip(), value.strip()) for tag, value in tags}
    return tuple(sorted((tag, value) for tag, value in pairs if tag and value))


def _other_tags(tags: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    pairs = set()
    for tag, values in tags.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, (bool, int, float)):
                value = _json_text(value)
            if not isinstance(value, str | None):
                raise RunError(f"tag {tag!r:.60} holds {value!r:.60}; write text, a number, true or false, or a list "
                               "of those")
            if tag.strip() and value and value.strip():
                pairs.add((_whole(tag.strip(), "tag"), _whole(value.strip(), "tag value")))
    return tuple(sorted(pairs))


# === Rows among themselves ===


class Known:
    """What the rows so far say: where each row is, and what was stated first of each case.

    A side is a name of the caller's for those rows that are one run. A row that leaves out one of FACTS, or has null,
    says nothing of it and agrees with all; tags are stated whole, and {} states that there are none.
    """

    def __init__(self, ignore_input: bool = False):
        self.ignored = INPUTS if ignore_input else ()
        self.places: dict[tuple[str, str, int | str | None], str] = {}  # by side, case id and seed
        self.kinds: dict[tuple[str, str], tuple[bool, str]] = {}  # of a side's case: is its id a number, and a place
        self.facts: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {}  # of a case, and the place of each
        self.partly: dict[str, None] = {}  # a set in order: cases of which some rows state less than others
        self.differing: dict[str, None] = {}  # cases with several inputs, where these may differ

    def check(self, side: str, row: Row, where: str) -> None:
        """Raise RowTwice for a row of a side that is there, RunError for one that contradicts another of its case.

        Where is how an error names the row. Ids 1 and "1" on one side contradict each other.
        """
        seed = row.trial.seed
        place = self.places.get((side, row.id, seed))
        if place:
            hint = "number the trials of a case in seed" if seed is None else "keep one of the two"
            raise RowTwice(f"{where}: config {row.config!r:.60}, task_id {row.id!r:.60}, seed {seed!r:.60} is "
                           f"already at {place}; {hint}")
        number, first = self.kinds.get((side, row.id), (row.id_is_number, ""))
        if number != row.id_is_number:
            kinds = ("a number", "text") if row.id_is_number else ("text", "a number")
            raise RunError(f"{where}: task_id {row.id!r:.60} is {kinds[0]} here and {kinds[1]} at {first}; "
                           "write one case one way, and give two cases two names")
        stated, places = self.facts.get(row.id, (row.facts, ()))
        if stated != row.facts:
            for field, here, there, place in zip(FACTS, row.facts, stated, places, strict=True):
                if here != there and None not in (here, there) and field not in self.ignored:
                    raise RunError(
                        f"{where}: case {row.id!r:.60} has {field} {_shown(here, there)} here and "
                        f"{_shown(there, here)} at {place}; give all rows of a case the same, and two cases two names"
                        + ("; where only the target or the assertions differ, grade both sides by the same ones"
                           if field == "input_sha256" else "")
                        + ("; where inputs differ on purpose, as with the prompt in them, --ignore-input pairs by "
                           "task_id alone, and then swapped ids pass unseen" if field in INPUTS else ""))

    def add(self, side: str, row: Row, where: str, place: str) -> None:
        """Take in a row of a side, which is found at a place, unless check() refuses it."""
        self.check(side, row, where)
        self.places[side, row.id, row.trial.seed] = place
        self.kinds.setdefault((side, row.id), (row.id_is_number, place))
        stated, places = self.facts.setdefault(row.id, (row.facts, (place,) * len(FACTS)))
        if stated != row.facts:
            for here, there in zip(row.facts, stated, strict=True):
                if here != there:
                    cases = self.partly if None in (here, there) else self.differing
                    cases[row.id] = None
            self.facts[row.id] = (
                tuple(here if there is None else there for here, there in zip(row.facts, stated, strict=True)),
                tuple(place if there is None else at for there, at in zip(stated, places, strict=True)))


def _shown(fact: str | tuple[tuple[str, str], ...], other: Any) -> str:
    """Return a fact in a few words: of a long text the part that the other has not."""
    if not isinstance(fact, str):
        return listed([f"{tag}={value}" for tag, value in fact]) or "none"
    letters = enumerate(zip(fact, other, strict=False))
    alike = next((i for i, (here, there) in letters if here != there), min(len(fact), len(other)))
    written, before = (ascii, 5) if _looks(fact) == _looks(other) else (repr, 20)
    start = max(0, alike - before) if len(written(fact)) > 60 else 0
    return "…" * (start > 0) + written(fact[start:])[:60]


# === Logs ===


def read_lines(data: bytes, path: str, broken: list[tuple[str, str]]) -> Iterator[tuple[str, object]]:
    """Yield "path:line" and the value of each line of JSON, and append (place, why) to broken for a line that is none.

    A line ends at a line feed and nowhere else; nothing is glued to a line that was cut. Of one list its elements come.
    """
    if data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        with contextlib.suppress(RunError):
            yield from ((f"{path}: item {number}", value) for number, value in enumerate(
                parse_json(decode(data, path), path), start=1))
            return
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8") and (b'"\0' in data or b'\0"' in data):  # other NULs are a crash's padding
        width = 2 if "16" in encoding else 4
        data = decode(data[:len(data) // width * width], path).encode()
    for number, line in enumerate(io.BytesIO(data), start=1):
        if line.isspace():
            continue
        where = f"{path}:{number}"
        try:
            value = parse_json(line.decode().removeprefix("\ufeff"), where)  # joined files have marks inside, too
        except UnicodeDecodeError as error:
            broken.append((where, f"byte {error.start} of the line is not UTF-8"))
        except RunError as error:
            broken.append((where, str(error).removeprefix(f"{where}: ").rpartition(";")[0]))
        else:
            yield where, value


class _Rows:
    """The rows of two configs, read file by file."""

    def __init__(self, names: tuple[str, str], how: Reading):
        self.names, self.how = names, how
        self.known = Known(how.ignore_input)
        self.trials: dict[str, dict[str, list[Trial]]] = {side: {} for side in SIDES}
        self.logs: dict[str, list[dict[str, str]]] = {side: [] for side in SIDES}
        self.configs: dict[str, set[str]] = {side: set() for side in SIDES}  # of the files of a side
        self.broken: list[tuple[str, str]] = []
        self.unexplained: list[str] = []
        self.whole = 0  # lines that could be read
        self.spread = False  # is there JSON, but over several lines

    def read(self, only: str | None, path: str) -> None:
        """Take in the rows of a file that serves one side, or both."""
        data = read_bytes(path)
        held = unpacked(data, path)
        served = {name: side for name, side in zip(self.names, SIDES, strict=True) if only in (None, side)}
        kind = describe(held, path)[0]
        if kind not in ("a plain trial log", "JSON of another kind", "a table", ""):
            raise refusal(path, "a plain trial log", data=held)
        configs = set[str]()
        for where, value in read_lines(held, path, self.broken):
            self.whole += 1
            config = value.get("config") if isinstance(value, dict) else None
            if isinstance(config, str) and config.strip():
                configs.add(config)
                if config not in served:
                    continue
            try:
                row = check_row(value, where, self.how.score_range)
            except RunError as error:
                hint = ", or make rows of other JSON with convert.py table" * (kind == "JSON of another kind")
                raise RunError(f"{error}{hint}") from None
            side = served[row.config]
            self.known.add(side, row, where, where)
            self.trials[side].setdefault(row.id, []).append(row.trial)
            if row.trial.reason == UNEXPLAINED:
                self.unexplained.append(where)
        if self.broken and not self.whole and kind in ("a plain trial log", "JSON of another kind"):
            with contextlib.suppress(RunError):
                Json(io.StringIO(decode(held, path)), path).value()
                self.spread = True
        if kind == "a table" and not configs:  # or else a line that is none is but broken
            raise refusal(path, "a plain trial log", data=held)
        for config, side in served.items():
            self.configs[side] |= configs
            if config in configs:
                self.logs[side].append({"name": os.path.basename(path), "sha256": hashlib.sha256(data).hexdigest()})

    def cases(self) -> list[ComparedCase]:
        """Return the cases in the order of their ids (code points): that of the rows may differ from file to file."""
        cases = []
        for case_id in sorted(self.known.facts):
            cluster, tags, asked, _ = self.known.facts[case_id][0]
            cases.append(ComparedCase(case_id, cluster, tags or (), asked))
        return cases

    def notes(self) -> list[dict[str, str]]:
        """Return what was decided in reading; broken lines are taken as left out."""
        numbers, texts = ({case_id for (_, case_id), (number, _) in self.known.kinds.items() if number is wanted}
                          for wanted in (True, False))
        return [
            *note_of("broken_lines", "lines that could not be read were left out",
                     listed([f"{os.path.basename(where)}: {why}" for where, why in self.broken], 20),
                     "what was lost there is in no figure; repair the log or record those trials again"),
            *note_of("unexplained_null", UNEXPLAINED, listed(map(os.path.basename, self.unexplained)),
                     "it is unscored; write the error beside it"),
            *note_of("facts_on_some_rows", f"{', '.join(FACTS[:-1])} or {FACTS[-1]} are on some rows of a case only",
                     listed(self.known.partly), "the rows that have them are used; write them on every row"),
            *note_of("inputs_ignored", "cases whose inputs differ, which were paired by their ids alone",
                     listed(self.known.differing), "see that the ids name the same cases: swapped ones pass unseen"),
            *note_of("ids_as_text", "ids are numbers on one side and text on the other",
                     listed(sorted(numbers & texts)), "they pair by their digits; see that they name the same cases"),
            *note_of("look_alike_ids", "ids or inputs that differ in nothing that can be seen",
                     listed(self._look_alikes()), "write one case one way")]

    def _look_alikes(self) -> list[str]:
        """Return pairs of ids, and of inputs of cases that one side lacks, which look the same."""
        baseline, candidate = (self.trials[side].keys() for side in SIDES)
        asked = {self.known.facts[case_id][0][2] or "" for case_id in baseline ^ candidate}
        pairs = []
        for texts in (baseline | candidate, asked):
            firsts: dict[str, str] = {}
            for text in sorted(texts):
                if (first := firsts.setdefault(_looks(text), text)) != text:
                    pairs.append(f"{_shown(first, text)} and {_shown(text, first)}")
        return pairs


def _looks(text: str) -> str:
    """Return a text without what nobody sees, its blanks alike and its letters composed in one way."""
    text = re.sub(r"[^\S\r\n]", " ", unicodedata.normalize("NFC", text).strip())
    return text if text.isprintable() else "".join(filter(str.isprintable, text))  # most are, and long ones take long


def read_trial_logs(paths: Sequence[tuple[str | None, str]], baseline: str, candidate: str,
                    how: Reading = DEFAULT_READING) -> Pair:
    """Return the rows of two configs in trial logs as a Pair; every row is there, unscored ones included.

    Each path comes with the side it serves, or None for both. Cases are in the order of their ids, trials by seed.
    Rows of other configs are not looked into. Raises RunError, with file and line, for a line that cannot be read (with
    skip_broken a note lists it), a row that breaks a rule, a config that is not there.
    """
    names = (baseline, candidate)
    given = {side for side, _ in paths}
    for side in SIDES:
        if given.isdisjoint((side, None)):
            raise RunError(f"no file of the {side}; give one with --trials {side}=FILE")
    if baseline == candidate and None in given:
        raise RunError(f"baseline and candidate are both {baseline!r:.60}; name two configs, or give a file for each "
                       "(baseline=FILE and candidate=FILE)")
    rows = _Rows(names, how)
    for only, path in paths:
        rows.read(only, path)
    if rows.broken and not how.skip_broken:
        raise RunError(f"{': '.join(rows.broken[0])} (broken lines: {len(rows.broken)}, whole rows: {rows.whole}); "
                       "repair the file" + ", or compare the whole rows with --skip-broken-lines" * (rows.whole > 0)
                       + ", or make rows of JSON over several lines with convert.py table" * rows.spread)
    cases, sides = rows.cases(), []
    for side, name in zip(SIDES, names, strict=True):
        if not rows.trials[side]:
            files = listed([path for only, path in paths if only in (None, side)])
            raise RunError(f"no row of the {side} {name!r:.60} in {files}; name one of the configs there: "
                           f"{listed(sorted(rows.configs[side]), 20) or 'none'}")
        trials = [sorted(rows.trials[side].get(case.id, []), key=_seed_order) for case in cases]
        described = dict.fromkeys(SYSTEM_FIELDS) | {"name": name, "mode": "recorded"}
        sides.append(Side(described, trials, rows.logs[side]))
    # There is no case file: its name is that of the logs, its identity that of what they say of the cases.
    identity = json.dumps([case[:3] for case in cases], separators=(",", ":")).encode()
    case_set = {"name": " + ".join(dict.fromkeys(os.path.basename(path) for _, path in paths)),
                "sha256": hashlib.sha256(identity).hexdigest()}
    return Pair(cases, sides[0], sides[1], how.score_range, case_set, rows.notes() + seed_note(sides))


def _seed_order(trial: Trial) -> tuple[int, int, str]:
    return (0, trial.seed, "") if isinstance(trial.seed, int) else (1, 0, trial.seed or "")
