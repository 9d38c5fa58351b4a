"""Which scores did two systems get, case by case and trial by trial? The one internal shape, and its two readers.

    $ printf '{"task_id": "c1", "seed": 0, "config": "%s", "score": 1}\\n' v1 v2 > trials.jsonl
    $ python3 -c "from core import trials; print(trials.read_trial_logs([(None, 'trials.jsonl')], 'v1', 'v2').cases)"
    [ComparedCase(id='c1', source=None, tags=(), input=None)]

`from_records` reads two run records, `read_trial_logs` the plain logs of any other harness, a row a trial. Both give
a Pair, and nothing after it asks where the scores came from. `check_row` holds the rules of a row, `Known` those of
rows among themselves; collector.py refuses by the same. Reads the files it is given, writes none, prints nothing.
"""

import contextlib
import functools
import hashlib
import json
import math
import operator
import os
import re
import unicodedata
from collections import ChainMap, Counter
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.files import RunError, decode, parse_json, read_bytes, refusal
from core.kinds import HEAD, describe
from core.texts import unpacked
import harness
from harness import SYSTEM_FIELDS, CaseSet

Score = int | Fraction

SIDES = ("baseline", "candidate")
MEASURES = ("cost_usd", "latency_s", "tokens")
FACTS = ("cluster", "tags", "input", "input_sha256")  # what a row says of its case, not of its trial
INPUTS = FACTS[2:]  # those that tell one case from another whatever its id
ABSENT = "missing"  # the reason of the trial that stands for a case without any
UNEXPLAINED = "null score without an error"
SHOWN = 5  # names that a message lists before it counts the rest
LARGEST = 10**100  # of a score or measure: a variance of larger ones is beyond any float
REASON_LENGTH = 60  # characters: reasons are counted by their text, and no stack trace comes twice
KEPT_LENGTH = 20_000  # characters of an input or output that are kept for the page
MOST_VALUES = 50  # of a tag that makes slices


class RowTwice(RunError):
    """A row with the same config, task_id and seed is there already."""


class Trial(NamedTuple):
    seed: int | str | None
    score: Score | None  # None: there was nothing to score, and reason says why
    reason: str | None
    output: object  # of a trial log at most KEPT_LENGTH characters, see kept_text()
    measures: dict[str, float]  # of MEASURES, those that were measured
    at: str | None
    explanation: str | None = None  # what the grader said about the score of a trial log, as kept_text() returns it


class ComparedCase(NamedTuple):
    id: str
    source: str | None
    tags: tuple[tuple[str, str], ...]  # sorted (tag, value) pairs; the source is none of them
    input: str | None = None  # of a trial log, as kept_text() returns it; a case set has its own


class Side(NamedTuple):
    description: dict[str, Any]  # name, version, mode, model, prompt, tools, index
    trials: list[list[Trial]]  # a list a case, in the order of Pair.cases; trials ascending
    logs: list[dict[str, str]]  # {"name", "sha256"}


class Pair(NamedTuple):
    cases: list[ComparedCase]
    baseline: Side
    candidate: Side
    score_range: tuple[Score, Score]
    case_set: dict[str, str]  # {"name", "sha256"}
    notes: list[dict[str, str]]  # {"code", "message", "advice"}: what was decided in reading
    # Of run records:
    task: dict[str, str] | None = None  # {"name", "sha256"}
    temperatures: tuple[float | None, float | None] = (None, None)
    other_load: str | None = None  # why the two runs' latencies do not compare

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.baseline, self.candidate


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


# === One row ===


def check_row(row: object, where: str, score_range: tuple[Score, Score] = (0, 1)) -> Row:
    """Return a row of a trial log, its values in one form; raise RunError, naming where, if it breaks a rule.

    >>> check_row({"task_id": 7, "seed": "0", "config": "A", "score": 0.1}, "log:1").trial.score
    Fraction(1, 10)
    """
    try:
        return _row(row, where, score_range)
    except RecursionError:  # what could just be parsed may be too deep to be shown
        raise RunError(f"{where}: nested too deeply; write flatter values") from None


def _row(row: object, where: str, score_range: tuple[Score, Score]) -> Row:
    if not isinstance(row, dict):
        raise RunError(f"{where}: {row!r:.60} is not an object; write one a line, a line a trial")
    numbered = type(row.get("task_id")) is int
    task_id = str(row["task_id"]) if numbered else _text(row, "task_id", where)
    config = _text(row, "config", where)
    if task_id is None or config is None:
        raise RunError(f"{where}: no {'task_id' if task_id is None else 'config'}; name the case and the system")
    reason = _reason(row.get("error"))
    score = None if reason else _score(row, where, score_range)
    measures = {name: _measure(row[name], name, where) for name in MEASURES if row.get(name) is not None}
    cluster = _text(row, "cluster", where, numbers=True)
    facts = (cluster and cluster.strip(), _tags(row.get("tags"), where), kept_text(row.get("input")) or None,
             _text(row, "input_sha256", where))
    output = row.get("output")
    if not isinstance(output, (bool, int, float)):
        text = kept_text(output)
        output = text if isinstance(output, str) or text and len(text) > KEPT_LENGTH else output
    return Row(task_id, numbered, config, facts,
               Trial(_seed(row, where), score, reason or (UNEXPLAINED if score is None else None), output, measures,
                     _text(row, "ts", where, numbers=True), kept_text(_text(row, "explanation", where))))


def kept_text(value: object) -> str | None:
    """Return an input or output as text: a text as it is, None for None, else JSON with sorted keys.

    Of one longer than KEPT_LENGTH come so many characters, then its length and sha256: other texts stay other texts.

    >>> kept_text({"b": 1, "a": "é"}), kept_text("x" * 20_001)[19_998:20_040]
    ('{"a": "é", "b": 1}', 'xx… (20001 characters, sha256 991b716ebf85')
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(text) <= KEPT_LENGTH:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{text[:KEPT_LENGTH]}… ({len(text)} characters, sha256 {digest})"


def _text(row: dict[str, Any], field: str, where: str, numbers: bool = False) -> str | None:
    """Return a field's text exactly, a number's JSON text where it may be one, None where absent, null or blank."""
    value = row.get(field)
    if value is None:
        return None
    if numbers and type(value) in (int, float):
        return _json_text(value)
    if not isinstance(value, str):
        kinds = "text or a whole number" if field in ("task_id", "seed") else "text"
        raise RunError(f"{where}: {field} {value!r:.60} is not {kinds}; correct the line")
    return _whole(value, field, where) if value.strip() else None


def _whole(text: str, what: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RunError(f"{where}: {what} {text!r:.60} holds half a character (a lone surrogate), which no file can "
                       "carry; write the whole character") from None
    return text


def _json_text(value: bool | int | float) -> str:
    # As RFC 8785 has it: a table with gaps makes 2024.0 of 2024, and one number is one slice.
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value)


def _reason(error: object) -> str | None:
    """Return the first words of a row's error; None where null, false, blank or empty says that there was none."""
    if isinstance(error, dict):
        error = next((error[key] for key in ("type", "message") if error.get(key)), error)
    text = error.strip() if isinstance(error, str) else "error" if error is True else json.dumps(error) if error else ""
    text = " ".join(text.partition("\n")[0].split()).encode("utf-8", "backslashreplace").decode()  # words for people
    return (text if len(text) <= REASON_LENGTH else text[:REASON_LENGTH].rstrip() + "…") or None


@functools.lru_cache(maxsize=4096)
def _exact(value: float, places: int | None = None) -> Score:
    exact = Fraction(repr(value))  # the shortest decimal that reads as value: 0.1 is one tenth, as it was written
    exact = exact if places is None else Fraction(round(exact, places))
    return exact.numerator if exact.denominator == 1 else exact


@functools.lru_cache(maxsize=64)
def score_places(low: Score, high: Score) -> int:
    """Return the decimal place to which scores are read, nine digits of their range: rounding noise is no difference.

    >>> score_places(0, 1), score_places(0, 100), score_places(0, Fraction(1, 100))
    (9, 7, 11)
    """
    power = math.ceil(math.log10(high - low))  # a float may miss a power of ten by one
    return 9 - next(n for n in (power - 1, power, power + 1) if Fraction(10) ** n >= high - low)


def shown_places(low: Score, high: Score) -> int:
    """Return how many decimal places figures are shown with: 4, more where the score range is narrower than 1.

    >>> shown_places(0, 1), shown_places(0, 100), shown_places(0, Fraction(1, 100))
    (4, 4, 6)
    """
    return max(4, score_places(low, high) - 5)


def score_bound(text: str) -> Score:
    """Return an end of --score-range; raise ValueError for what is not a number, or is beyond LARGEST.

    >>> score_bound("0.5"), score_bound("-1")
    (Fraction(1, 2), -1)
    """
    bound = _exact(float(text))
    if not -LARGEST <= bound <= LARGEST:
        raise ValueError(f"{text} is beyond 1e100")
    return bound


def _score(row: dict[str, Any], where: str, score_range: tuple[Score, Score]) -> Score | None:
    value = row.get("score", "")
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        found = f"score {value!r:.60} is not a number or null" if "score" in row else "score is missing"
        raise RunError(f"{where}: {found}; write a number, or null and an error")
    score = _in_range(value, *score_range)
    if score is None:
        raise RunError(f"{where}: score {value!r:.60} is outside [{score_range[0]}, {score_range[1]}]; correct the "
                       "line, or say what a score can be with --score-range LOW HIGH")
    return score


@functools.lru_cache(maxsize=4096, typed=True)
def _in_range(value: int | float, low: Score, high: Score) -> Score | None:
    """Return a score read to nine digits of its range; None where it lies outside."""
    places = score_places(low, high)
    score = _exact(value, places) if isinstance(value, float) else round(int(value), min(places, 0))
    score = next((end for end in (low, high) if score == round(end, places)), score)
    return score if low <= score <= high else None


def _seed(row: dict[str, Any], where: str) -> int | str | None:
    seed = row.get("seed")
    if isinstance(seed, int) and not isinstance(seed, bool):
        return seed
    text = _text(row, "seed", where)
    # A CSV file knows only text, so "3" is the seed 3. The length keeps int() within what it takes.
    return int(text) if text and re.fullmatch("0|-?[1-9][0-9]{0,99}", text) else text


def _measure(value: Any, name: str, where: str) -> float:
    if type(value) in (int, float) and abs(value) <= LARGEST:
        return float(value)
    raise RunError(f"{where}: {name} {value!r:.60} is not a number up to 1e100; write one, or null for not measured")


def _tags(tags: object, where: str) -> tuple[tuple[str, str], ...] | None:
    """Return the (tag, value) pairs that a row states, sorted, each once; None where it says nothing of tags."""
    if tags is None:
        return None
    if not isinstance(tags, dict):
        raise RunError(f'{where}: tags {tags!r:.60} is not an object; write {{"tag": "value"}}')
    with contextlib.suppress(TypeError, UnicodeEncodeError):
        return _text_tags(tuple(tags.items()))
    pairs = set()
    for tag, values in tags.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, (bool, int, float)):
                value = _json_text(value)
            if not isinstance(value, str | None):
                raise RunError(f"{where}: tag {tag!r:.60} holds {value!r:.60}; write text, a number, true or false, or "
                               "a list of those")
            if tag.strip() and value and value.strip():
                pairs.add((_whole(tag.strip(), "tag", where), _whole(value.strip(), "tag value", where)))
    return tuple(sorted(pairs))


@functools.lru_cache(maxsize=4096)  # the rows of a case repeat its tags
def _text_tags(tags: tuple[tuple[str, object], ...]) -> tuple[tuple[str, str], ...]:
    """Return tags whose values are all text, sorted; raise TypeError or UnicodeEncodeError where one is not."""
    for tag, value in tags:
        str.encode(tag)
        str.encode(value)  # type: ignore[arg-type]
    return tuple(sorted({(tag.strip(), str(value).strip()) for tag, value in tags
                         if tag.strip() and str(value).strip()}))


# === Rows among themselves ===


class Known:
    """What the rows so far say: where each row stands, and what was stated first of each case.

    A side is a name of the caller's for those rows that are one run. A row that leaves out one of FACTS, or has null,
    says nothing of it and agrees with all; tags are stated whole, and {} states that there are none.
    """

    def __init__(self, ignore_input: bool = False):
        self.ignored = INPUTS if ignore_input else ()
        self.places: MutableMapping[tuple[str, str, int | str | None], str] = {}  # by side, case id and seed
        self.kinds: MutableMapping[tuple[str, str], tuple[bool, str]] = {}  # is the id a number, and a place
        self.facts: MutableMapping[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {}  # of a case, and their places
        self.partly: dict[str, None] = {}  # a set in order: cases of which some rows state less than others
        self.differing: dict[str, None] = {}  # cases with several inputs, where these may differ

    def layer(self) -> "Known":
        """Return a Known on top of this one: what is added to it is here only once take() was given it."""
        above = Known(bool(self.ignored))
        above.places, above.kinds, above.facts = (
            ChainMap({}, self.places), ChainMap({}, self.kinds), ChainMap({}, self.facts))
        return above

    def take(self, above: "Known") -> None:
        for name in ("places", "kinds", "facts"):
            getattr(self, name).update(getattr(above, name).maps[0])

    def add(self, side: str, row: Row, where: str, place: str) -> None:
        """Take in a row of a side. Place is where the row will be found, where is how an error names it.

        Raises RowTwice for a row that is there, RunError for ids 1 and "1" on one side and for a row that contradicts
        another of its case; nothing is then taken in.
        """
        seed = row.trial.seed
        if (side, row.id, seed) in self.places:
            hint = "number the trials of a case in seed" if seed is None else "keep one of the two"
            raise RowTwice(f"{where}: config {row.config!r:.60}, task_id {row.id!r:.60}, seed {seed!r:.60} stands "
                           f"already at {self.places[side, row.id, seed]}; {hint}")
        number, first = self.kinds.get((side, row.id), (row.id_is_number, place))
        if number != row.id_is_number:
            kinds = ("a number", "text") if row.id_is_number else ("text", "a number")
            raise RunError(f"{where}: task_id {row.id!r:.60} is {kinds[0]} here and {kinds[1]} at {first}; "
                           "write one case one way, and give two cases two names")
        facts = self.facts.get(row.id)
        if facts is None or facts[0] != row.facts:
            self.facts[row.id] = self._merged(row, where, place, *(facts or (row.facts, (place,) * len(FACTS))))
        self.places[side, row.id, seed] = place
        self.kinds[side, row.id] = number, first

    def _merged(self, row: Row, where: str, place: str, facts: tuple[Any, ...],
                places: tuple[str, ...]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        for field, here, there, at in zip(FACTS, row.facts, facts, places):
            if here == there:
                continue
            if here is None or there is None:
                self.partly[row.id] = None
            elif field in self.ignored:
                self.differing[row.id] = None
            else:
                raise RunError(
                    f"{where}: case {row.id!r:.60} has {field} {_shown(here, there)} here and {_shown(there, here)} at "
                    f"{at}; give all rows of a case the same, and two cases two names" + (
                        "; where inputs differ on purpose, as with the prompt in them, --ignore-input pairs by task_id "
                        "alone, and then swapped ids pass unseen" if field in INPUTS else ""))
        return (tuple(here if fact is None else fact for here, fact in zip(row.facts, facts)),
                tuple(place if fact is None else at for fact, at in zip(facts, places)))


def _shown(fact: str | tuple[tuple[str, str], ...], other: Any) -> str:
    """Return a fact in a few words: of a long text the part that the other has not."""
    if not isinstance(fact, str):
        return listed([f"{tag}={value}" for tag, value in fact]) or "none"
    alike = len(os.path.commonprefix([fact, other]))
    return f"{fact!r:.60}" if alike < 40 else f"…{fact[alike - 20:]!r:.60}"


# === Trial logs ===


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
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line and not line.isspace():
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
        self.there: dict[str, set[str]] = {side: set() for side in SIDES}  # the configs of the files of a side
        self.broken: list[tuple[str, str]] = []
        self.unexplained: list[str] = []
        self.whole = 0  # lines that could be read

    def read(self, only: str | None, path: str) -> None:
        """Take in the rows of a file that serves one side, or both."""
        data = read_bytes(path)
        held = unpacked(data, path)
        served = {name: side for name, side in zip(self.names, SIDES) if only in (None, side)}
        found: set[str] = set()
        kind = describe(held, path)[0]
        if kind not in ("a plain trial log", "JSON of another kind", "a table", ""):
            raise refusal(path, "a plain trial log", data=held)
        for where, value in read_lines(held, path, self.broken):
            self.whole += 1
            config = value.get("config") if isinstance(value, dict) else None
            if isinstance(config, str) and config.strip():
                found.add(config)
                if config not in served:
                    continue
            try:
                row = check_row(value, where, self.how.score_range)
            except RunError as error:
                hint = ", or make rows of other JSON with convert.py table" * (kind == "JSON of another kind")
                raise RunError(f"{error}{hint}") from None
            self._take(served, row, where)
        if kind == "a table" and not found:  # or else a line that is none is but broken
            raise refusal(path, "a plain trial log", data=held)
        for config, side in served.items():
            self.there[side] |= found
            if config in found:
                self.logs[side].append({"name": os.path.basename(path), "sha256": hashlib.sha256(data).hexdigest()})

    def _take(self, served: dict[str, str], row: Row, where: str) -> None:
        side = served[row.config]
        self.known.add(side, row, where, where)
        if row.trial.reason == UNEXPLAINED:
            self.unexplained.append(where)
        self.trials[side].setdefault(row.id, []).append(row.trial)

    def cases(self) -> list[ComparedCase]:
        """Return the cases in the order of their ids (code points): that of the rows may differ from file to file."""
        cases = []
        for case_id in sorted(self.trials["baseline"] | self.trials["candidate"]):
            cluster, tags, asked, _ = self.known.facts[case_id][0]
            cases.append(ComparedCase(case_id, cluster, tags or (), asked))
        return cases

    def notes(self, cases: Sequence[ComparedCase]) -> list[dict[str, str]]:
        """Return what was decided in reading; broken lines are taken as left out."""
        kinds = [[self.known.kinds.get((side, case.id), (None,))[0] for side in SIDES] for case in cases]
        mixed = [case.id for case, kind in zip(cases, kinds) if True in kind and False in kind]
        return [
            *_note("broken_lines", "lines that could not be read were left out",
                   listed([f"{os.path.basename(where)}: {why}" for where, why in self.broken], 20),
                   "what was lost there is in no figure; repair the log or record those trials again"),
            *_note("unexplained_null", UNEXPLAINED, listed(map(os.path.basename, self.unexplained)),
                   "it is unscored; write the error beside it"),
            *_note("facts_on_some_rows", f"{', '.join(FACTS[:-1])} or {FACTS[-1]} stand on some rows of a case only",
                   listed(self.known.partly), "the rows that have them are used; write them on every row"),
            *_note("inputs_ignored", "cases whose inputs differ, which were paired by their ids alone",
                   listed(self.known.differing), "see that the ids name the same cases: swapped ones pass unseen"),
            *_note("ids_as_text", "ids are numbers on one side and text on the other", listed(mixed),
                   "they pair by their digits; see that they name the same cases"),
            *_note("look_alike_ids", "ids that differ in nothing that can be seen", listed(
                f"{one!a} and {other!a}" for one, other in self._look_alikes()), "write one case one way")]

    def _look_alikes(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of ids, one of each side, that differ in white space, in what nobody sees, in composed letters."""
        only: list[dict[str, str]] = []
        for side, other in (SIDES, SIDES[::-1]):
            only.append({"".join(char for char in unicodedata.normalize("NFKC", case_id)
                                 if unicodedata.category(char)[0] not in "CZ"): case_id
                         for case_id in self.trials[side] if case_id not in self.trials[other]})
        yield from ((only[0][text], only[1][text]) for text in only[0] if text in only[1])


def read_trial_logs(paths: Sequence[tuple[str | None, str]], baseline: str, candidate: str,
                    how: Reading = Reading()) -> Pair:
    """Return the rows of two configs in trial logs as a Pair; every row is there, unscored ones included.

    Each path comes with the side it serves, or None for both. Cases stand in the order of their ids, trials by seed.
    Rows of other configs are not looked into. Raises RunError, with file and line, for a line that cannot be read (with
    skip_broken a note lists it), a row that breaks a rule, a config that is not there.
    """
    names = (baseline, candidate)
    given = {side for side, _ in paths}
    for side in SIDES:
        if given.isdisjoint((side, None)):
            raise RunError(f"no file of the {side}; give one with --trials {side}=FILE")
    if baseline == candidate and any(side is None for side, _ in paths):
        raise RunError(f"baseline and candidate are both {baseline!r:.60}; name two configs, or give a file for each "
                       "(baseline=FILE and candidate=FILE)")
    rows = _Rows(names, how)
    for only, path in paths:
        rows.read(only, path)
    if rows.broken and not how.skip_broken:
        raise RunError(f"{': '.join(rows.broken[0])} (broken lines: {len(rows.broken)}, whole rows: {rows.whole}); "
                       "repair the file, or compare the whole rows with --skip-broken-lines")
    for side, name in zip(SIDES, names):
        if not rows.trials[side]:
            files = listed([path for only, path in paths if only in (None, side)])
            raise RunError(f"no row of the {side} {name!r:.60} in {files}; name one of the configs there: "
                           f"{listed(sorted(rows.there[side]), 20) or 'none'}")
    cases = rows.cases()
    sides = [Side(dict.fromkeys(SYSTEM_FIELDS) | {"name": name, "mode": "recorded"},
                  [sorted(rows.trials[side].get(case.id, []), key=_seed_order) for case in cases], rows.logs[side])
             for side, name in zip(SIDES, names)]
    # There is no case file: its name is that of the logs, its identity that of what they say of the cases.
    identity = json.dumps(sorted(case[:3] for case in cases), separators=(",", ":")).encode()
    case_set = {"name": " + ".join(dict.fromkeys(os.path.basename(path) for _, path in paths)),
                "sha256": hashlib.sha256(identity).hexdigest()}
    return Pair(cases, sides[0], sides[1], how.score_range, case_set, [*rows.notes(cases), *_seed_note(sides)])


def _seed_order(trial: Trial) -> tuple[int, int, str]:
    return (0, trial.seed, "") if isinstance(trial.seed, int) else (1, 0, trial.seed or "")


def listed(names: Iterable[object], shown: int = SHOWN) -> str:
    """Return the first names on one line, then how many more there are."""
    texts = [text if text.isprintable() else repr(text) for text in map(str, names)]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def _note(code: str, message: str, which: str, advice: str) -> list[dict[str, str]]:
    return [{"code": code, "message": f"{message}: {which}", "advice": advice}] if which else []


def _seed_note(sides: Sequence[Side]) -> list[dict[str, str]]:
    bare = sum(trial.seed is None for side in sides for trials in side.trials for trial in trials)
    return _note("no_seeds", "trials without a seed, which pair by their place within the case", str(bare or ""),
                 "record each trial's seed, so that both systems meet the same chance")


# === Run records ===


def from_records(baseline: dict[str, Any], candidate: dict[str, Any], case_set: CaseSet) -> Pair:
    """Return two run records, checked by harness.compare, as a Pair: pass is 1, fail 0, incomplete unscored.

    Cases are those of the runs' splits in the case file's order, trials ascending; a case's source is its tag `source`.
    """
    members = case_set.of(baseline["manifest"]["splits"])
    cases = [ComparedCase(case.id, case.tags.get("source"), tuple(sorted(
        (tag, value) for tag, value in case.tags.items() if tag != "source"))) for case in members]
    sides = []
    for record in (baseline, candidate):
        rows: dict[str, list[Trial]] = {case.id: [] for case in members}
        for row in sorted(record["results"], key=lambda row: row["trial"]):
            rows[row["case_id"]].append(_record_trial(row))
        manifest = record["manifest"]
        logs = [manifest["log"]] if manifest.get("log") else manifest.get("shards") or []
        described = {field: manifest["system"].get(field) for field in SYSTEM_FIELDS} | _served(manifest)
        sides.append(Side(described, list(rows.values()),
                          [{"name": log["name"], "sha256": log["sha256"]} for log in logs]))
    identity = {"name": case_set.name, "sha256": case_set.sha256}
    manifests = baseline["manifest"], candidate["manifest"]
    return Pair(cases, sides[0], sides[1], (0, 1), identity, _seed_note(sides) + _record_notes(sides, manifests),
                baseline["manifest"]["task"], (harness.temperature(manifests[0]), harness.temperature(manifests[1])),
                _other_load(baseline, candidate))


def _record_trial(row: dict[str, Any]) -> Trial:
    score = {"pass": 1, "fail": 0, "incomplete": None}[row["verdict"]]
    reason = row["error"]["type"] if "error" in row else "UngradableOutput"
    return Trial(row.get("seed"), score, reason if score is None else None, row.get("output"),
                 {name: float(value) for name, value in harness.measures(row).items()
                  if type(value) in (int, float) and abs(value) <= LARGEST}, row.get("at"))


def _served(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of the recording, as far as it does: servers, workers, extended."""
    shards = manifest.get("shards") or [manifest]
    servers = [shard["server"] for shard in shards if isinstance(shard.get("server"), dict)]
    pairs = sorted({(str(server.get("host")), str(server.get("version") or "unknown")) for server in servers})
    servers = [{"host": host, "version": version} for host, version in pairs]
    found = {"servers": servers, "workers": manifest.get("workers"), "extended": manifest.get("extended")}
    return {key: value for key, value in found.items() if isinstance(value, (int, list)) and value}


def _record_notes(sides: Sequence[Side], manifests: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return notes on what the recordings have not alike: servers, and trials that were added later."""
    served = [{(server["host"].rpartition(":")[0], server["version"]) for server in side.description.get("servers", [])}
              for side in sides]
    names = [listed([" ".join(pair) for pair in sorted(side)]) for side in served]
    extended = [f"the {name} was extended after {n} trials" for name, side in zip(SIDES, sides)
                for n in side.description.get("extended", [])]
    settings = [manifest.get("settings") for manifest in manifests]
    loose = [name for name, one in zip(SIDES, settings) if isinstance(one, dict) and one.get("seed_kept") is False]
    return [
        *_note("other_servers", "the two runs had other servers", served[0] != served[1] and " and ".join(names) or "",
               "record both with one server: other versions and processors give other answers to the same seed"),
        *_note("seeds_in_name_only", "trials share their seed in name only: the server promises nothing for it, or was "
               "sent none", " and ".join(loose), "take pairs of trials as independent"),
        *_note("extended", "trials were added to a finished run", "; ".join(extended),
               "where the first result was looked at, this is a second look: declare it")]


def _other_load(baseline: dict[str, Any], candidate: dict[str, Any]) -> str | None:
    """Return why two runs' latencies do not compare: other workers, or the same weights at another speed."""
    manifests = [run["manifest"] for run in (baseline, candidate)]
    workers, weights = zip(*((manifest.get("workers"), str(manifest["system"].get("model")).rpartition("@")[2])
                             for manifest in manifests), strict=True)
    if workers[0] != workers[1] and None not in workers:
        return f"recorded with {workers[0]} and {workers[1]} workers"
    counts = [[[row["metadata"].get(name) for name in ("eval_duration", "eval_count")] for row in run["results"]]
              for run in (baseline, candidate)]
    known = [[pair for pair in run if all(type(value) is int and 0 < value < 2**63 for value in pair)]
             for run in counts]
    if weights[0] != weights[1] or not all(known):
        return None
    slow, slower = sorted(sum(time for time, _ in run) / sum(tokens for _, tokens in run) / 1e9 for run in known)
    return None if slower <= 1.1 * slow else (
        f"the same weights took {slow:.3g} s a token in one run and {slower:.3g} s in the other: another load")


# === What is missing, and what pairs ===


def apply_missing(pair: Pair, policy: str) -> tuple[Pair, list[dict[str, str]]]:
    """Return a Pair whose trials all have a score and whose cases have trials on both sides, and what was excluded.

    Policy "refuse" raises RunError where something is missing, naming it. "zero" scores it 0, reasons kept, save cases
    that the baseline lacks. "drop" leaves out unscored trials, then cases without a trial on one side. What is left out
    is listed, {"case_id", "side", "reason"}.
    Raises RunError where no case is left, and where 0 is no score.
    """
    gaps = "; ".join(gap for name, side in zip(SIDES, pair.sides) for gap in _gaps(pair.cases, name, side))
    low, high = pair.score_range
    if not gaps:
        return pair, []
    if policy == "refuse":
        gaps += "".join(f"; {note['message']}" for note in pair.notes if note["code"] == "look_alike_ids")
        if not any(map(operator.and_, *(map(bool, side.trials) for side in pair.sides))):
            gaps += "; no case stands on both sides: name cases alike on both (convert.py: --id FIELD)"
        raise RunError(f"{gaps}: record them, or choose with --missing: drop leaves them out, zero counts them as 0")
    if policy == "zero" and not low <= 0 <= high:
        raise RunError(f"{gaps}: 0 is outside [{low}, {high}] and cannot stand for them; use --missing drop")
    scored = [[[trial for trial in trials if trial.score is not None] for trials in side.trials] for side in pair.sides]
    if policy == "zero":  # but what the baseline never ran says nothing of a loss or a gain
        absent = Trial(None, 0, ABSENT, None, {}, None)
        scored = [[[trial._replace(score=0) if trial.score is None else trial for trial in trials]
                   or [absent] * bool(there) for trials, there in zip(side.trials, pair.baseline.trials)]
                  for side in pair.sides]
    excluded = [{"case_id": case.id, "side": name,
                 "reason": listed(dict.fromkeys(trial.reason for trial in side.trials[i])) or "no trial"}
                for i, case in enumerate(pair.cases)
                for name, side, kept in zip(SIDES, pair.sides, scored) if not kept[i]]
    both = [i for i in range(len(pair.cases)) if scored[0][i] and scored[1][i]]
    if not both:
        raise RunError(f"{gaps}: no case has a score on both sides; record both on the same cases")
    sides = [side._replace(trials=[trials[i] for i in both]) for side, trials in zip(pair.sides, scored)]
    return pair._replace(cases=[pair.cases[i] for i in both], baseline=sides[0], candidate=sides[1]), excluded


def filled(pair: Pair, for_candidate: bool) -> Pair:
    """Return a Pair in which all that is missing has a score: as good for the candidate as can be, or as bad.

    Takes what was read, before any policy. Filled are trials without a score, and those that the baseline has and the
    candidate lacks. A case that the baseline lacks is left out.
    """
    low, high = pair.score_range
    there = [i for i, trials in enumerate(pair.baseline.trials) if trials]
    sides = []
    for side, score in zip(pair.sides, (low, high) if for_candidate else (high, low)):
        absent = Trial(None, score, ABSENT, None, {}, None)
        rows = [[trial._replace(score=score) if trial.score is None else trial for trial in side.trials[i]]
                + [absent] * (len(pair.baseline.trials[i]) - len(side.trials[i])) for i in there]
        sides.append(side._replace(trials=rows))
    return pair._replace(cases=[pair.cases[i] for i in there], baseline=sides[0], candidate=sides[1])


def _gaps(cases: Sequence[ComparedCase], name: str, side: Side) -> list[str]:
    """Return what a side lacks, in words: cases without a trial, trials without a score."""
    absent = [case.id for case, trials in zip(cases, side.trials) if not trials]
    unscored = [f"{case.id} seed {trial.seed}: {trial.reason}"
                for case, trials in zip(cases, side.trials) for trial in trials if trial.score is None]
    who = f"the {name} {side.description['name']!r:.60}"
    return ([f"{who} lacks {len(absent)} of {len(cases)} cases ({listed(absent)})"] if absent else []) + (
        [f"{who} has no score in {len(unscored)} of its trials ({listed(unscored)})"] if unscored else [])


def uneven_trials(pair: Pair) -> list[dict[str, Any]]:
    """Return {"case_id", "baseline", "candidate"}, counts of trials, of each case that has not the most common count.

    Empty where every case has the same number of trials on both sides.
    """
    counts = [tuple(len(side.trials[i]) for side in pair.sides) for i in range(len(pair.cases))]
    common = Counter(count for both in counts for count in both).most_common(1)[0][0]
    return [{"case_id": case.id, **dict(zip(SIDES, both))}
            for case, both in zip(pair.cases, counts) if both != (common, common)]


def unpaired_reason(pair: Pair) -> str | None:
    """Return why trials do not pair, by the first case whose sides have other seeds; None where they pair, in order."""
    for case, *sides in zip(pair.cases, pair.baseline.trials, pair.candidate.trials):
        left, right = ([trial.seed for trial in trials] for trials in sides)
        if any(trial.reason == ABSENT for trials in sides for trial in trials):
            return f"case {case.id!r:.60} stands on one side only"
        if left != right:
            what = f"{len(left)} trials and {len(right)}" if len(left) != len(right) else (
                f"seeds {listed(left)} and {listed(right)}")
            return f"case {case.id!r:.60} has {what} (baseline and candidate)"
    return None


# === Groups ===


def sources(pair: Pair) -> list[int]:
    """Return the number of each case's source group, in order of their first case; without a source, one of its own."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(i if case.source is None else case.source, len(numbers))
            for i, case in enumerate(pair.cases)]


def repeats(values: Collection[Collection[str]]) -> bool:
    """Tell whether the values that a tag has, those of each case that has it, repeat so that slices come of them.

    At most MOST_VALUES of them, and at least half of the cases with a value that another case has too.

    >>> repeats([["en"], ["en"], ["fr"]]), repeats([["en"], ["en"], ["fr"], ["de"], ["es"]])
    (True, False)
    """
    counts = Counter(value for case in values for value in set(case))
    shared = sum(any(counts[value] > 1 for value in case) for case in values)
    return len(counts) <= MOST_VALUES and 2 * shared >= len(values)


def slices(pair: Pair, chosen: Sequence[str] = ()) -> tuple[dict[tuple[str, str], list[int]], list[dict[str, str]]]:
    """Return the cases of each slice, {(tag, value): ascending indices}, sorted by tag and value, and a note.

    Slices are made of the tags chosen, else of those whose values repeat; the note names the others. Raises RunError
    for a tag that no case has.
    """
    members: dict[tuple[str, str], list[int]] = {}
    values: dict[str, dict[int, list[str]]] = {}
    for i, case in enumerate(pair.cases):
        for tag, value in case.tags:
            members.setdefault((tag, value), []).append(i)
            values.setdefault(tag, {}).setdefault(i, []).append(value)
    if absent := [tag for tag in chosen if tag not in values]:
        raise RunError(f"no case has a tag {absent[0]!r:.60}; choose with --tag one of: "
                       f"{listed(sorted(values), 20) or 'none'}")
    kept = chosen or [tag for tag in values if repeats(values[tag].values())]
    note = _note("tags_set_aside", "tags whose values hardly repeat, and which are no slices",
                 "" if chosen else listed(sorted(values.keys() - set(kept)), 20), "choose such a tag with --tag NAME")
    return {key: members[key] for key in sorted(members) if key[0] in kept}, note
