"""Which scores did two systems get, case by case and trial by trial? The one internal shape of a comparison.

    $ python3 -c "from core import trials; print(trials.Trial(1001, 1).score)"
    1

`from_records` makes a Pair of two run records, trial_logs.py one of the logs of any other harness; nothing after that
asks where the scores came from. Here is also what every figure rests on: what is missing, what pairs, which cases are
a slice or a source group. Reads no file, writes none, prints nothing.
"""

import functools
import hashlib
import json
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.files import RunError
from core.logs import served_by
import harness
from harness import SYSTEM_FIELDS, CaseSet

Score = int | Fraction
Cases = tuple[int, ...]  # some cases of a Pair, by their place in it, ascending

SIDES = ("baseline", "candidate")
ABSENT = "missing"  # the reason of the trial that stands for a case without any
SCORES = {"pass": 1, "fail": 0, "incomplete": None}  # of a verdict
KEPT_LENGTH = 20_000  # characters of a text that are kept for the page
SHOWN = 5  # names that a message lists before it counts the rest
LARGEST = 10**100  # of a score or measure: a variance of larger ones is beyond any float
MOST_VALUES = 50  # of a tag that makes slices
_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


class Measures(NamedTuple):
    cost_usd: float | None = None
    latency_s: float | None = None
    tokens: float | None = None


MEASURES = Measures._fields


class Trial(NamedTuple):
    seed: int | str | None
    score: Score | None  # None: there was nothing to score, and reason says why
    reason: str | None = None
    output: str | None = None  # as kept_text() keeps it
    measures: Measures = Measures()
    at: str | None = None
    explanation: str | None = None  # what the graders said about the score, or why there was no answer to grade


class ComparedCase(NamedTuple):
    id: str
    source: str | None
    tags: tuple[tuple[str, str], ...]  # sorted (tag, value) pairs; the source is none of them
    input: object = None  # of a trial log as kept_text() keeps it
    expected: object = None  # of a case set


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
    manifests: Sequence[dict[str, Any]] = ()  # of run records
    other_load: str | None = None  # why the two runs' latencies do not compare

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.baseline, self.candidate

    @property
    def task(self) -> dict[str, str] | None:
        """The {"name", "sha256"} of what graded two run records; None for trial logs."""
        return self.manifests[0]["task"] if self.manifests else None

    @property
    def temperatures(self) -> list[Any]:
        return [harness.temperature(manifest) for manifest in self.manifests] or [None, None]


# === Scores ===


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


# === Texts ===


def kept_text(value: object) -> str | None:
    """Return an input or output as text: a text as it is, None for None, else JSON with sorted keys.

    Of an object that holds only a "text" comes this text. Of one longer than KEPT_LENGTH come so many characters, then
    its length and sha256: other texts stay other texts.

    >>> kept_text({"b": 1, "a": "é"}), kept_text("x" * 20_001)[19_998:20_040]
    ('{"a": "é", "b": 1}', 'xx… (20001 characters, sha256 991b716ebf85')
    """
    if value is None:
        return None
    if isinstance(value, dict) and list(value) == ["text"]:
        return kept_text(value["text"])
    text = value if isinstance(value, str) else _SORTED.encode(value)
    if len(text) <= KEPT_LENGTH:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{text[:KEPT_LENGTH]}… ({len(text)} characters, sha256 {digest})"


def listed(names: Iterable[object], shown: int = SHOWN) -> str:
    """Return the first names on one line, then how many more there are."""
    texts = [text if text.isprintable() else repr(text) for text in map(str, names)]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def note_of(code: str, message: str, which: str, advice: str) -> list[dict[str, str]]:
    return [{"code": code, "message": f"{message}: {which}", "advice": advice}] if which else []


def seed_note(sides: Sequence[Side]) -> list[dict[str, str]]:
    bare = sum(trial.seed is None for side in sides for trials in side.trials for trial in trials)
    return note_of("no_seeds", "trials without a seed, which pair by their place within the case", str(bare or ""),
                 "record each trial's seed, so that both systems meet the same chance")


# === Run records ===


class _Run(NamedTuple):
    """What a comparison takes from a run record."""

    manifest: dict[str, Any]
    side: Side
    token_s: float | None  # seconds a token, where the server says how long it computed
    served: set[str]  # models and fingerprints that the server says answered


def from_records(records: Iterable[dict[str, Any]], case_set: CaseSet, names: Sequence[str] = SIDES) -> Pair:
    """Return two run records, baseline first, as a Pair: pass is 1, fail 0, incomplete unscored.

    Cases are those of the runs' splits in the case file's order, trials ascending; a case's source is its tag `source`.
    Of an iterator each record is taken when the one before was read and can go: they are large. Raises RunError, by
    name and value, unless both are sound and were measured alike: case set, task, graders, splits, number of trials,
    the seed of every trial.
    """
    records, runs = iter(records), list[_Run]()
    while len(runs) < len(names):
        runs.append(_run(next(records), runs, case_set, names))
    manifests, sides = [run.manifest for run in runs], [run.side for run in runs]
    cases = [ComparedCase(case.id, case.tags.get("source"), tuple(sorted(
        (tag, value) for tag, value in case.tags.items() if tag != "source")), case.input, case.expected)
        for case in case_set.of(manifests[0]["splits"])]
    _refuse_other_seeds(cases, sides, names)
    identity = {"name": case_set.name, "sha256": case_set.sha256}
    return Pair(cases, sides[0], sides[1], (0, 1), identity,
                seed_note(sides) + _record_notes(sides, manifests) + _served_note(runs), manifests, _other_load(runs))


def _run(record: dict[str, Any], before: Sequence[_Run], case_set: CaseSet, names: Sequence[str]) -> _Run:
    """Return the run of a record, once it is known to be sound and measured like those before."""
    name = names[len(before)]
    manifest = harness.check_manifest(record, name, case_set)
    for run in before:
        harness.refuse_unlike_manifests([run.manifest, manifest], names)
    cases: dict[str, dict[int, Trial]] = {case.id: {} for case in case_set.of(manifest["splits"])}
    nanoseconds, tokens, known, served = 0, 0, dict[Any, Any](), set[str]()
    for row in harness.checked_rows(record, name, case_set):
        cases[row["case_id"]][row["trial"]] = _record_trial(row, known)
        served.add(served_by(row))
        took, count = (row["metadata"].get(field) for field in ("eval_duration", "eval_count"))
        if all(type(value) is int and 0 < value < 2**63 for value in (took, count)):
            nanoseconds, tokens = nanoseconds + took, tokens + count
    rows = [[numbers[number] for number in sorted(numbers)] for numbers in cases.values()]
    logs = [manifest["log"]] if manifest.get("log") else manifest.get("shards") or []
    described = {field: manifest["system"].get(field) for field in SYSTEM_FIELDS} | _served(manifest)
    side = Side(described, rows, [{"name": log["name"], "sha256": log["sha256"]} for log in logs])
    return _Run(manifest, side, nanoseconds / tokens / 1e9 if tokens else None, served - {""})


def _refuse_other_seeds(cases: Sequence[ComparedCase], sides: Sequence[Side], names: Sequence[str]) -> None:
    for case, *both in zip(cases, *(side.trials for side in sides), strict=True):
        for number, (one, other) in enumerate(zip(*both, strict=True), start=1):
            if one.seed != other.seed:
                raise RunError(f"case {case.id!r} trial {number} has seed {one.seed} in {names[0]} and {other.seed} in "
                               f"{names[1]}; record both with the same seeds")


def _record_trial(row: dict[str, Any], known: dict[Any, Any]) -> Trial:
    """Return the trial of a row. Of known, the seeds and outputs so far, it shares those that are the same."""
    score, seed, output = SCORES[row["verdict"]], row.get("seed"), kept_text(row.get("output"))
    reason = row["error"]["type"] if "error" in row else "UngradableOutput"
    measures = Measures(**{name: _amount(value) for name, value in harness.measures(row).items()})
    return Trial(known.setdefault(seed, seed), score, reason if score is None else None,
                 known.setdefault(output, output), measures, row.get("at"),
                 _graders_text(tuple(row["graders"].items())) or _why_incomplete(row))


def _amount(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and abs(value) <= LARGEST else None


@functools.lru_cache(maxsize=4096)
def _graders_text(graders: tuple[tuple[str, bool], ...]) -> str:
    return ", ".join(f"{name} {'passes' if good else 'fails'}" for name, good in graders)


def _why_incomplete(row: dict[str, Any]) -> str:
    """Return the message of a trial without an answer to grade, and the reply that came instead."""
    came = [json.dumps(row["metadata"], ensure_ascii=False)] if row["metadata"] else []
    return "\n".join([row["error"]["message"], *came] if "error" in row else came)


def _served(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of the recording, as far as it does: servers, workers, extended."""
    shards = manifest.get("shards") or [manifest]
    servers = [shard["server"] for shard in shards if isinstance(shard.get("server"), dict)]
    pairs = sorted({(str(server.get("host")), str(server.get("version") or "unknown")) for server in servers})
    servers = [{"host": host, "version": version} for host, version in pairs]
    stated = {"servers": servers, "workers": manifest.get("workers"), "extended": manifest.get("extended")}
    return {key: value for key, value in stated.items() if isinstance(value, (int, list)) and value}


def _record_notes(sides: Sequence[Side], manifests: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return notes on what the recordings have not alike: servers, and trials that were added later."""
    served = [{(server["host"].rpartition(":")[0], server["version"]) for server in side.description.get("servers", [])}
              for side in sides]
    servers = " and ".join(listed([" ".join(pair) for pair in sorted(side)]) for side in served)
    extended = [f"the {name} was extended after {n} trial{'s' * (n > 1)}"
                for name, side in zip(SIDES, sides, strict=True)
                for n in side.description.get("extended", [])]
    settings = [manifest.get("settings") for manifest in manifests]
    loose = [name for name, one in zip(SIDES, settings, strict=True)
             if isinstance(one, dict) and one.get("seed_kept") is False]
    return [
        *note_of("other_servers", "the two runs had other servers", servers if served[0] != served[1] else "",
                 "record both with one server: other versions and processors give other answers to the same seed"),
        *note_of("seeds_in_name_only", "trials share their seed in name only: the server promises nothing for it, or "
                 "was sent none", " and ".join(loose), "take pairs of trials as independent"),
        *note_of("extended", "trials were added to a finished run", "; ".join(extended),
                 "where the first result was looked at, this is a second look: declare it")]


def _served_note(runs: Sequence[_Run]) -> list[dict[str, str]]:
    """Return a note where more answered under the name of one model than one model, or fingerprint."""
    models = [run.manifest["system"].get("model") for run in runs]
    several = max(len(run.served) for run in runs) > 1 or (
        models[0] == models[1] and len(set.union(*(run.served for run in runs))) > 1)
    which = " and ".join(listed(sorted(run.served)) or "none" for run in runs)
    return note_of("other_models_served", "by the server's own word several models or fingerprints answered for one",
                   which if several else "", "record both again: what answers changed under way, or between the two")


def _other_load(runs: Sequence[_Run]) -> str | None:
    """Return why two runs' latencies do not compare: other workers, or the same weights at another speed."""
    workers, weights = zip(*((run.manifest.get("workers"), str(run.manifest["system"].get("model")).rpartition("@")[2])
                             for run in runs), strict=True)
    if workers[0] != workers[1] and None not in workers:
        return f"recorded with {workers[0]} and {workers[1]} workers"
    times = [run.token_s for run in runs if run.token_s is not None]
    if weights[0] != weights[1] or len(times) < 2 or max(times) <= 1.1 * min(times):
        return None
    return (f"the same weights took {min(times):.3g} s a token in one run and {max(times):.3g} s in the other: another "
            "load")


# === What is missing, and what pairs ===


def apply_missing(pair: Pair, policy: str) -> tuple[Pair, list[dict[str, str]]]:
    """Return a Pair whose trials all have a score and whose cases have trials on both sides, and what was excluded.

    Policy "refuse" raises RunError where something is missing, naming it. "zero" scores it 0, reasons kept, save cases
    that the baseline lacks. "drop" leaves out unscored trials, then cases without a trial on one side. What is left out
    is listed, {"case_id", "side", "reason"}.
    Raises RunError where no case is left, and where 0 is no score.
    """
    gaps = "; ".join(gap for name, side in zip(SIDES, pair.sides, strict=True) for gap in _gaps(pair.cases, name, side))
    low, high = pair.score_range
    if not gaps:
        return pair, []
    if policy == "refuse":
        gaps += "".join(f"; {note['message']}" for note in pair.notes if note["code"] == "look_alike_ids")
        if not any(map(operator.and_, *(map(bool, side.trials) for side in pair.sides))):
            gaps += "; no case is on both sides: name cases alike on both (convert.py: --id FIELD)"
        raise RunError(f"{gaps}: record them, or choose with --missing: drop leaves them out, zero counts them as 0")
    if policy == "zero" and not low <= 0 <= high:
        raise RunError(f"{gaps}: 0 is outside [{low}, {high}] and cannot stand for them; use --missing drop")
    if policy == "zero":
        least = [min(1, len(case)) for case in pair.baseline.trials]  # what it never ran says nothing of loss or gain
        scored = [[_filled(trials, 0, least[i]) for i, trials in enumerate(side.trials)] for side in pair.sides]
    else:
        scored = [[[trial for trial in trials if trial.score is not None] for trials in side.trials]
                  for side in pair.sides]
    excluded = [{"case_id": case.id, "side": name,
                 "reason": listed(dict.fromkeys(trial.reason for trial in side.trials[i])) or "no trial"}
                for i, case in enumerate(pair.cases)
                for name, side, kept in zip(SIDES, pair.sides, scored, strict=True) if not kept[i]]
    both = [i for i in range(len(pair.cases)) if scored[0][i] and scored[1][i]]
    if not both:
        raise RunError(f"{gaps}: no case has a score on both sides; record both on the same cases")
    sides = [side._replace(trials=[trials[i] for i in both]) for side, trials in zip(pair.sides, scored, strict=True)]
    return pair._replace(cases=[pair.cases[i] for i in both], baseline=sides[0], candidate=sides[1]), excluded


def filled(pair: Pair, for_candidate: bool) -> Pair:
    """Return a Pair in which all that is missing has a score: as good for the candidate as can be, or as bad.

    Takes what was read, before any policy. Filled are trials without a score, and those that the baseline has and the
    candidate lacks. A case that the baseline lacks is left out.
    """
    low, high = pair.score_range
    there = {i: len(trials) for i, trials in enumerate(pair.baseline.trials) if trials}
    scores = (low, high) if for_candidate else (high, low)
    sides = [side._replace(trials=[_filled(side.trials[i], score, least) for i, least in there.items()])
             for side, score in zip(pair.sides, scores, strict=True)]
    return pair._replace(cases=[pair.cases[i] for i in there], baseline=sides[0], candidate=sides[1])


def _filled(trials: list[Trial], score: Score, least: int) -> list[Trial]:
    """Return trials with this score where they have none, and with more of it where they are fewer than the least."""
    absent = Trial(None, score, ABSENT)
    return [trial._replace(score=score) if trial.score is None else trial for trial in trials] + (
        [absent] * (least - len(trials)))


def _gaps(cases: Sequence[ComparedCase], name: str, side: Side) -> list[str]:
    """Return what a side lacks, in words: cases without a trial, trials without a score."""
    absent = [case.id for case, trials in zip(cases, side.trials, strict=True) if not trials]
    unscored = [f"{case.id} seed {trial.seed}: {trial.reason}"
                for case, trials in zip(cases, side.trials, strict=True) for trial in trials if trial.score is None]
    who = f"the {name} {side.description['name']!r:.60}"
    return ([f"{who} lacks {len(absent)} of {len(cases)} cases ({listed(absent)})"] if absent else []) + (
        [f"{who} has no score in {len(unscored)} of its trials ({listed(unscored)})"] if unscored else [])


def uneven_trials(pair: Pair) -> list[dict[str, Any]]:
    """Return {"case_id", "baseline", "candidate"}, counts of trials, of each case that has not the most common count.

    Empty where every case has the same number of trials on both sides.
    """
    counts = [tuple(len(side.trials[i]) for side in pair.sides) for i in range(len(pair.cases))]
    common = Counter(count for both in counts for count in both).most_common(1)[0][0]
    return [{"case_id": case.id, **dict(zip(SIDES, both, strict=True))}
            for case, both in zip(pair.cases, counts, strict=True) if both != (common, common)]


def unpaired_reason(pair: Pair) -> str | None:
    """Return why trials do not pair, by the first case whose sides have other seeds; None where they pair, in order."""
    for case, *sides in zip(pair.cases, pair.baseline.trials, pair.candidate.trials, strict=True):
        left, right = ([trial.seed for trial in trials] for trials in sides)
        if left == right and None not in left:
            continue
        if any(trial.reason == ABSENT for trials in sides for trial in trials):
            return f"case {case.id!r:.60} stands on one side only"
        if left != right:
            what = f"{len(left)} trials and {len(right)}" if len(left) != len(right) else (
                f"seeds {listed(left)} and {listed(right)}")
            return f"case {case.id!r:.60} has {what} (baseline and candidate)"
    return None


def trial_numbers(side: Side) -> list[Sequence[int]]:
    """Return the number of each trial of each case, from 0: where cases share seeds, that of its seed among all.

    Else, as with a seed for each case and trial, it is the trial's place within its case.
    """
    seeds = [tuple([trial.seed for trial in case]) for case in side.trials]
    kinds = set(seeds)
    known = {seed for case in kinds for seed in case}
    shared = len(known) < min(sum(map(len, seeds)), 2 * max(map(len, kinds)))
    if len(kinds) == 1 or None in known or not shared:
        return [range(len(case)) for case in seeds]
    in_order = sorted(known, key=lambda seed: (isinstance(seed, str), seed))
    numbers = {seed: number for number, seed in enumerate(in_order)}
    return [[numbers[seed] for seed in case] for case in seeds]


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


def slices(pair: Pair, chosen: Sequence[str] = ()) -> tuple[dict[tuple[str, str], Cases], list[dict[str, str]]]:
    """Return the cases of each slice, {(tag, value): cases}, sorted by tag and value, and a note.

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
    note = note_of("tags_set_aside", f"tags of over {MOST_VALUES} values, or of values that hardly repeat: no slices",
                 "" if chosen else listed(sorted(values.keys() - set(kept)), 20), "choose such a tag with --tag NAME")
    return {key: tuple(members[key]) for key in sorted(members) if key[0] in kept}, note
