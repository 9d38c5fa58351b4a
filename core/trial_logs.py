"""Which scores do the trial logs of any other harness hold, a row a trial? Their reader, and the rules of a row.

    $ printf '{"task_id": "c1", "seed": 0, "config": "%s", "score": 1}\\n' v1 v2 > t.jsonl
    $ python3 -c "from core import trial_logs as t; print(t.read_trial_logs([(None, 't.jsonl')], 'v1', 'v2').cases)"
    [ComparedCase(id='c1', source=None, tags=(), input=None, expected=None)]

`read_trial_logs` gives a trials.Pair. `check_row` holds the rules of a row, `Known` those of rows among themselves;
collector.py refuses by the same. Reads the files it is given, writes none, prints nothing.
"""

import contextlib
import functools
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.files import STRICT, RunError, decode, json_reason, parse_json, read_bytes, refusal, sha256_of
from core.kinds import HEAD, describe
from core.texts import unpacked
from core.trials import (
    LARGEST, MEASURES, SIDES, ComparedCase, Fields, Measures, Note, Pair, Score, ScoreRange, Side, Tags, Trial, amount,
    kept_text, listed, note_of, score_places, seed_note, seed_order, tag_pairs)
from harness import SYSTEM_FIELDS

INPUTS = ("input", "expected", "input_sha256")
# 0.333333333 is read as a third, so that three of them are 1. 2520 is the least common multiple of 1 to 10; a range 100
# wide has 7 places.
COMMON_DENOMINATOR, LEAST_PLACES = 2520, 7
REASON_LENGTH = 60  # characters: reasons are counted by their text, and no stack trace comes twice

# What else to do where rows of a case state other facts.
OTHERWISE = {"tags": "; with convert.py convert all logs of both sides in one command, or choose --tag FIELD",
             **dict.fromkeys(INPUTS, "; --ignore-input pairs by task_id alone, where inputs differ on purpose, and "
                             "then swapped ids pass unseen")}


class RowTwice(RunError):
    """A row with the same config, task_id and seed is there already."""


class CheckedRow(NamedTuple):
    """A row of a trial log that keeps its rules."""

    id: str
    id_is_number: bool
    config: str
    facts: Fields  # what it states of its case, not of its trial: cluster, tags, input, expected, input_sha256
    trial: Trial


class Reading(NamedTuple):
    """How trial logs are read."""

    score_range: ScoreRange = (0, 1)
    skip_broken: bool = False  # leave out the lines that cannot be read, and list them in a note
    ignore_input: bool = False  # let the inputs of a case differ


DEFAULT_READING = Reading()


# === One row ===


def check_row(row: object, where: str, score_range: ScoreRange = (0, 1)) -> CheckedRow:
    """Return a row of a trial log, its values in one form; raise RunError, naming where, if it breaks a rule.

    >>> check_row({"task_id": 7, "seed": "0", "config": "A", "score": 0.1}, "log:1").trial.score
    Fraction(1, 10)
    """
    try:
        return _row(row, score_range)
    except RunError as error:
        raise RunError(f"{where}: {error}") from None
    except UnicodeEncodeError as error:
        raise RunError(f"{where}: {error.object!r:.60} holds half a character (a lone surrogate), which no file can "
                       "carry; write the whole character") from None
    except RecursionError:  # what could just be parsed may be too deep to be shown
        raise RunError(f"{where}: nested too deeply; write flatter values") from None


def _row(row: object, score_range: ScoreRange) -> CheckedRow:
    if not isinstance(row, dict):
        raise RunError(f"{row!r:.60} is not an object; write one a line, a line a trial")
    numbered = type(row.get("task_id")) is int
    task_id = str(row["task_id"]) if numbered else _name(row, "task_id")
    config = _name(row, "config")
    reason = error_words(row)
    if not reason and "score" not in row:
        raise RunError("score is missing; write a number, or null and an error")
    reason = reason or ("null score without an error" if row.get("score") is None else None)
    score = None if reason else _score(row["score"], score_range)
    measures = Measures(*[_measure(row.get(name), name) for name in MEASURES])
    facts = {"cluster": _text(row.get("cluster"), "cluster").strip(), "tags": _tags(row.get("tags")),
             "input": kept_text(row.get("input")), "expected": kept_text(row.get("expected")),
             "input_sha256": _text(row.get("input_sha256"), "input_sha256")}
    trial = Trial(_seed(row.get("seed")), score, reason, kept_text(row.get("output")), measures,
                  _text(row.get("ts"), "ts") or None, kept_text(_text(row.get("explanation"), "explanation") or None))
    stated = {field: fact for field, fact in facts.items() if fact not in (None, "")}
    return CheckedRow(task_id, numbered, config, stated, trial)


def _name(row: Fields, field: str) -> str:
    """Return the text of a field that every row has, exactly."""
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise RunError(f"{field} {value!r:.60} is no name; name the case and the system, as convert.py table does")
    return _text(value, field)


def _text(value: object, what: str) -> str:
    """Return a text exactly, a number, true or false as its JSON text; an empty text for null or blank.

    Raises RunError for other values, UnicodeEncodeError for a text that no file can carry.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        value.encode()
        return value if value.strip() else ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)  # as RFC 8785 has it: a table with gaps makes 2024.0 of 2024, and one number is one slice
    if not isinstance(value, (int, float)):
        raise RunError(f"{what} {value!r:.60} is not text, a number, true or false; correct the line")
    return json.dumps(value)


def error_words(row: Fields) -> str | None:
    """Return the first words of a row's error; None where null, false, blank or empty says that there was none."""
    error = row.get("error")
    if not error:
        return None
    if isinstance(error, dict):
        error = error.get("type") or error.get("message") or error
    text = error if isinstance(error, str) else json.dumps(error)
    text = " ".join(text.strip().partition("\n")[0].split()).encode("utf-8", "backslashreplace").decode()
    return (text if len(text) <= REASON_LENGTH else text[:REASON_LENGTH].rstrip() + "…") or None


def _exact(value: int | float) -> Fraction:
    return Fraction(repr(value) if isinstance(value, float) else value)  # the decimal as it was written: 0.1, a tenth


def _as_score(number: Fraction) -> Score:
    return number.numerator if number.denominator == 1 else number


def score_bound(text: str) -> Score:
    """Return an end of --score-range; raise ValueError for what is not a number, or is beyond LARGEST.

    >>> score_bound("0.5"), score_bound("-1")
    (Fraction(1, 2), -1)
    """
    bound = _as_score(_exact(float(text)))
    if not -LARGEST <= bound <= LARGEST:
        raise ValueError(f"{text} is beyond 1e100")
    return bound


def _score(value: object, score_range: ScoreRange) -> Score:
    if not isinstance(value, (int, float)):
        raise RunError(f"score {value!r:.60} is not a number or null; write a number, or null and an error")
    return _in_range(value, *score_range)


def as_fraction(number: Fraction, places: int) -> Fraction:
    """Return the fraction that a decimal stands for to so many places, such as a third; else the number itself.

    Its denominator divides COMMON_DENOMINATOR. Of few places nearly every decimal would stand for one: then for none.

    >>> as_fraction(Fraction("0.333333333"), 9), as_fraction(Fraction("0.3333"), 9), as_fraction(Fraction("0.333"), 3)
    (Fraction(1, 3), Fraction(3333, 10000), Fraction(333, 1000))
    """
    if places < LEAST_PLACES:
        return number
    fraction = Fraction(round(number * COMMON_DENOMINATOR), COMMON_DENOMINATOR)
    return fraction if fraction and round(fraction, places) == round(number, places) else number


@functools.lru_cache(maxsize=4096)
def _in_range(value: int | float, low: Score, high: Score) -> Score:
    """Return a score read to nine digits of its range; raise RunError where it lies outside."""
    places = score_places(low, high)
    rounded = round(round(_exact(value), places + 3), places)  # what lies next to a half rounds as the half does
    ends = {round(end, places): end for end in (low, high)}  # an end may have more digits
    score = ends.get(rounded, _as_score(as_fraction(rounded, places)))
    if not low <= score <= high:
        raise RunError(f"score {value!r:.60} is outside [{float(low):.15g}, {float(high):.15g}]; correct the line, or "
                       "say what a score can be with --score-range LOW HIGH")
    return score


def _seed(seed: object) -> int | str | None:
    if type(seed) is int:
        return seed
    text = _text(seed, "seed")
    # A CSV file knows only text, so "3" is the seed 3. The length keeps int() within what it takes.
    return int(text) if re.fullmatch("0|-?[1-9][0-9]{0,99}", text) else text or None


def _measure(value: Any, name: str) -> float | None:
    measure = amount(value)
    if measure is None and value is not None:
        raise RunError(f"{name} {value!r:.60} is not a number up to 1e100; write one, or null for not measured")
    return measure


def _tags(tags: object) -> Tags | None:
    """Return the (tag, value) pairs that a row states, sorted, each once; None where it says nothing of tags."""
    if tags is None:
        return None
    if not isinstance(tags, dict):
        raise RunError(f'tags {tags!r:.60} is not an object; write {{"tag": "value"}}')
    all_text = set(map(type, tags.values())) <= {str, type(None)}
    pairs_of = _tag_pairs if all_text else _tag_pairs.__wrapped__  # 1 and true would be one key of its cache
    return pairs_of(tuple(tags.items()))


@functools.lru_cache(maxsize=4096)  # the rows of a case repeat its tags
def _tag_pairs(tags: tuple[tuple[str, Any], ...]) -> Tags:
    return tag_pairs((_text(tag, "tag"), _text(value, "tag value"))
                     for tag, values in tags for value in (values if isinstance(values, list) else [values]))


# === Rows among themselves ===


class Known:
    """What the rows so far say: where each row is, and what was stated first of each case.

    A side is a name of the caller's for those rows that are one run. A row that leaves out a fact of its case, or has
    null, says nothing of it and agrees with all; tags are stated whole, and {} states that there are none.
    """

    def __init__(self, ignore_input: bool = False):
        self.ignored = INPUTS if ignore_input else ()
        self.places: dict[tuple[str, str, int | str | None], str] = {}  # by side, case id and seed
        self.kinds: dict[tuple[str, str], tuple[bool, str]] = {}  # by side and case id: is it a number, the first place
        self.facts: dict[tuple[str, str], tuple[Any, str]] = {}  # by case id and field: the first, and its place

    def check(self, side: str, row: CheckedRow, where: str) -> None:
        """Raise RowTwice for a row of a side that is there, RunError for one that contradicts another of its case.

        `where` is how an error names the row. Ids 1 and "1" on one side contradict each other.
        """
        seed = row.trial.seed
        if place := self.places.get((side, row.id, seed)):
            raise RowTwice(f"{where}: config {row.config!r:.60}, task_id {row.id!r:.60}, seed {seed!r:.60} is "
                           f"already at {place}; keep one of the two, or number the trials of a case in seed")
        is_number, place = self.kinds.get((side, row.id), (row.id_is_number, ""))
        if is_number != row.id_is_number:
            raise RunError(f"{where}: of task_id {row.id!r:.60} here and at {place} one is a number and one is text; "
                           "write one case one way, and give two cases two names")
        for field, fact in row.facts.items():
            first_fact, place = self.facts.get((row.id, field), (fact, ""))
            if fact != first_fact and field not in self.ignored:
                here, there = _told_apart(fact, first_fact)
                raise RunError(f"{where}: case {row.id!r:.60} has {field} {here} here and {there} at {place}; give all "
                               f"rows of a case the same, and two cases two names{OTHERWISE.get(field, '')}")

    def add(self, side: str, row: CheckedRow, where: str) -> None:
        """Take in a row of a side, unless check() refuses it."""
        self.check(side, row, where)
        self.places[side, row.id, row.trial.seed] = where
        self.kinds.setdefault((side, row.id), (row.id_is_number, where))
        for field, fact in row.facts.items():
            self.facts.setdefault((row.id, field), (fact, where))

    def fact(self, case_id: str, field: str) -> Any:
        """Return what is stated of a case; None where no row states it."""
        return self.facts.get((case_id, field), (None, ""))[0]


def _told_apart(*facts: Any) -> list[str]:
    """Return two facts from shortly before they differ, in ASCII where nobody could see the difference."""
    texts = [fact if isinstance(fact, str) else ", ".join(map("=".join, fact)) or "no tags" for fact in facts]
    differs = [one != other for one, other in zip(*texts, strict=False)]
    start = max(0, [*differs, True].index(True) - 20)
    written = repr if len(set(map(_looks, texts))) > 1 else ascii
    return [("…" if start else "") + written(text[start:start + 40]) for text in texts]


def _looks(text: str) -> str:
    """Return a text without what nobody sees, its blanks alike and its letters composed in one way."""
    text = re.sub(r"[^\S\r\n]", " ", unicodedata.normalize("NFC", text).strip())
    return text if text.isprintable() else "".join(filter(str.isprintable, text))  # most are, and long ones take long


# === Logs ===


def read_lines(data: bytes, path: str, broken: list[tuple[str, str]]) -> Iterator[tuple[str, object]]:
    """Yield "path:line" and the value of each line of JSON, and append (place, why) to broken for a line that is none.

    A line ends at a line feed and nowhere else; nothing is glued to a line that was cut. Of one list its elements come.
    """
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8") and (b'"\0' in data or b'\0"' in data):  # other NULs are a crash's padding
        data = decode(data, path).encode()
    if data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        with contextlib.suppress(RunError):
            for number, value in enumerate(parse_json(data, path), start=1):
                yield f"{path}: item {number}", value
            return
    for number, line in enumerate(io.BytesIO(data), start=1):
        if line.isspace():
            continue
        where = f"{path}:{number}"
        try:
            value = STRICT.decode(line.decode().removeprefix("\ufeff").rstrip())  # joined files have marks inside, too
        except (ValueError, RecursionError) as error:
            broken.append((where, json_reason(error)))
        else:
            yield where, value


class _Rows:
    """The rows of two configs, read file by file."""

    def __init__(self, how: Reading):
        self.how, self.known = how, Known(how.ignore_input)
        self.trials: dict[str, dict[str, list[Trial]]] = {side: {} for side in SIDES}  # by side and case id
        self.logs: dict[str, list[dict[str, str]]] = {side: [] for side in SIDES}
        self.configs: dict[str, set[str]] = {}  # by file
        self.broken: list[tuple[str, str]] = []

    def read(self, path: str, sides: dict[str, str]) -> None:
        """Take in the rows of a file: those of some configs, each named with its side."""
        packed = read_bytes(path)
        data = unpacked(packed, path)
        kind = describe(data, path)[0]
        if kind not in ("a plain trial log", "JSON of another kind", "a table", ""):
            raise refusal(path, "a plain trial log", data=data)
        configs = set[str]()
        for where, value in read_lines(data, path, self.broken):
            config = value.get("config") if isinstance(value, dict) else None
            if isinstance(config, str) and config.strip():
                configs.add(config)
                if config not in sides:
                    continue
            row = check_row(value, where, self.how.score_range)
            side = sides[row.config]
            self.known.add(side, row, where)
            self.trials[side].setdefault(row.id, []).append(row.trial)
        if kind == "a table" and not configs:  # where rows follow, only the first line is broken
            raise refusal(path, "a plain trial log", data=data)
        self.configs[path] = configs
        sha256 = sha256_of(packed)
        for config in configs & sides.keys():
            self.logs[sides[config]].append({"name": os.path.basename(path), "sha256": sha256})

    def side(self, side: str, config: str, cases: Sequence[ComparedCase]) -> Side:
        """Return what was read of a side; raise RunError where that is nothing."""
        if not self.trials[side]:
            files = [f"{path} has {listed(sorted(configs), 20) or 'none'}" for path, configs in self.configs.items()]
            raise RunError(f"no row of the {side} {config!r:.60} in its files; give the one with it as --trials "
                           f"{side}=FILE, or name a config that is there: {listed(files)}"
                           + (f"; broken lines: {len(self.broken)}" if self.broken else ""))
        trials = [sorted(self.trials[side].get(case.id, []), key=lambda trial: seed_order(trial.seed))
                  for case in cases]
        return Side(dict.fromkeys(SYSTEM_FIELDS) | {"name": config, "mode": "recorded"}, trials, self.logs[side])

    def notes(self) -> list[Note]:
        """Return what was decided in reading; broken lines are taken as left out."""
        numbers, texts = ({case_id for (_, case_id), (is_number, _) in self.known.kinds.items() if is_number == kind}
                          for kind in (True, False))
        return [
            *note_of("broken_lines", "lines that could not be read were left out",
                     listed([f"{os.path.basename(where)}: {why}" for where, why in self.broken], 20),
                     "what was lost there is in no figure; repair the log or record those trials again"),
            *note_of("inputs_ignored", "cases were paired by their ids, whatever their inputs",
                     "--ignore-input" if self.how.ignore_input else "",
                     "see that the ids name the same cases: swapped ones pass unseen"),
            *note_of("ids_as_text", "ids are numbers on one side and text on the other",
                     listed(sorted(numbers & texts)), "they pair by their digits; see that they name the same cases"),
            *note_of("look_alike_ids", "ids that differ in nothing that can be seen", listed(self._look_alikes()),
                     "write one case one way")]

    def _look_alikes(self) -> list[str]:
        """Return the ids that look the same, in groups, so that they can be told apart."""
        by_looks: dict[str, list[str]] = {}
        for case_id in sorted(set().union(*self.trials.values())):
            by_looks.setdefault(_looks(case_id), []).append(ascii(case_id))
        return [" and ".join(ids) for ids in by_looks.values() if len(ids) > 1]


def read_trial_logs(paths: Sequence[tuple[str | None, str]], baseline: str, candidate: str,
                    how: Reading = DEFAULT_READING) -> Pair:
    """Return the rows of two configs in trial logs as a Pair; every row is there, unscored ones included.

    Each path comes with the side it serves, or None for both. Cases are in the order of their ids (code points: that of
    the rows may differ from file to file), trials by seed. Rows of other configs are not looked into. Raises RunError,
    with file and line, for a line that cannot be read (with skip_broken a note lists it), a row that breaks a rule, a
    config that is not there.
    """
    if baseline == candidate and None in [side for side, _ in paths]:
        raise RunError(f"baseline and candidate are both {baseline!r:.60}; name two configs, or give a file for each "
                       "(baseline=FILE and candidate=FILE)")
    configs = dict(zip(SIDES, (baseline, candidate), strict=True))
    rows = _Rows(how)
    for only_side, path in paths:
        rows.read(path, {config: side for side, config in configs.items() if only_side in (None, side)})
    if rows.broken and not how.skip_broken:
        raise RunError(f"{': '.join(rows.broken[0])} (broken lines: {len(rows.broken)}); repair the file, leave them "
                       "out with --skip-broken-lines, or make rows of JSON over several lines with convert.py table")
    fact, case_ids = rows.known.fact, set[str]().union(*rows.trials.values())
    cases = [ComparedCase(case_id, fact(case_id, "cluster"), fact(case_id, "tags") or (), fact(case_id, "input"),
                          fact(case_id, "expected"))
             for case_id in sorted(case_ids)]
    sides = [rows.side(side, config, cases) for side, config in configs.items()]
    # There is no case file: its name is that of the logs, its identity that of what they say of the cases.
    identity = json.dumps([(case.id, case.source, case.tags) for case in cases], separators=(",", ":"))
    case_set = {"name": " + ".join(dict.fromkeys(os.path.basename(path) for _, path in paths)),
                "sha256": sha256_of(identity)}
    return Pair(cases, sides[0], sides[1], how.score_range, case_set, rows.notes() + seed_note(sides))
