"""Which scores did two systems get, case by case and trial by trial? The one internal shape of a comparison.

    $ python3 -c "import harness; from core import trials; cases = harness.load_cases('cases-robustness.json'); \\
      records = [harness.read_record(f'runs/qwen-coder-{name}.json') for name in ('v1', 'v2')]; \\
      pair = trials.from_records(records, cases); \\
      print(pair.cases[10].id, [[trial.score for trial in side.trials[10]] for side in pair.sides])"
    password-changed--emphasis [[0, 1, 1, 1, 0], [0, 1, 0, 0, 0]]

`from_records` makes a Pair of two run records, trial_logs.py one of the logs of any other harness; nothing after that
asks where the scores came from. Here is also what every figure rests on: what is missing, what pairs, which cases are
a slice or a source group. Reads no file, writes none, prints nothing.
"""

import functools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.files import RunError, sha256_of
from core.logs import served_by
import harness

Score = int | Fraction
ScoreRange = tuple[Score, Score]  # the lowest and the highest score there can be
Cases = tuple[int, ...]  # some cases of a Pair, by their place in it, ascending
Fields = dict[str, Any]  # an object of a JSON file
Note = dict[str, str]  # {"code", "message", "advice"}: what was decided in reading

SIDES = ("baseline", "candidate")
SCORES = {"pass": 1, "fail": 0, "incomplete": None}  # of a verdict
KEPT_LENGTH = 20_000  # characters of a text that are kept for the page
SHOWN, LISTED_LENGTH = 5, 200  # names that a message lists before it counts the rest, and characters of each
LARGEST = 10**100  # of a score or measure: a variance of larger ones is beyond any float
MOST_VALUES = 50  # of a tag that makes slices
_WITH_SORTED_KEYS = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


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
    absent: bool = False  # it stands for one that was never recorded


Tags = tuple[tuple[str, str], ...]  # sorted (tag, value) pairs


class ComparedCase(NamedTuple):
    id: str
    source: str | None
    tags: Tags  # the source is none of them
    input: object = None  # this and what is expected: of a trial log as kept_text() keeps them
    expected: object = None


CaseTrials = tuple[ComparedCase, list[Trial], list[Trial]]  # a case with its trials of the baseline and the candidate


class Side(NamedTuple):
    description: Fields  # name, version, mode, model, prompt, tools, index; as far as known servers, workers, extended
    trials: list[list[Trial]]  # a list a case, in the order of Pair.cases; trials ascending
    logs: list[dict[str, str]]  # {"name", "sha256"}


class Pair(NamedTuple):
    cases: list[ComparedCase]
    baseline: Side
    candidate: Side
    score_range: ScoreRange
    case_set: dict[str, str]  # {"name", "sha256"}
    notes: list[Note]
    manifests: Sequence[Fields] = ()  # of run records
    other_load: str | None = None  # why the two runs' latencies do not compare

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.baseline, self.candidate

    @property
    def rows(self) -> Iterator[CaseTrials]:
        return zip(self.cases, self.baseline.trials, self.candidate.trials, strict=True)

    @property
    def task(self) -> dict[str, str] | None:
        """The {"name", "sha256"} of what graded two run records; None for trial logs."""
        return self.manifests[0]["task"] if self.manifests else None


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


def amount(value: Any) -> float | None:
    """Return a measure; None for what is no number, or beyond LARGEST."""
    return float(value) if type(value) in (int, float) and abs(value) <= LARGEST else None


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
    text = value if isinstance(value, str) else _WITH_SORTED_KEYS.encode(value)
    if len(text) <= KEPT_LENGTH:
        return text
    return f"{text[:KEPT_LENGTH]}… ({len(text)} characters, sha256 {sha256_of(text)})"


def listed(names: Iterable[object], shown: int = SHOWN) -> str:
    """Return the first names on one line, then how many more there are."""
    texts = [f"{name!s:.{LISTED_LENGTH}}" for name in names]
    texts = [text if text.isprintable() and text == text.strip() else repr(text) for text in texts]
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def seed_order(seed: int | str | None) -> tuple[bool, Any]:
    """Return what a seed is sorted by: numbers come before texts."""
    return not isinstance(seed, int), "" if seed is None else seed


def tag_pairs(tags: Iterable[tuple[str, str]]) -> Tags:
    """Return the (tag, value) pairs of a case sorted, each once, without blanks at their ends; a blank one is none.

    >>> tag_pairs([("lang", "en "), ("kind", ""), ("area", "tax"), ("lang", "en")])
    (('area', 'tax'), ('lang', 'en'))
    """
    pairs = {(tag.strip(), value.strip()) for tag, value in tags}
    return tuple(sorted(pair for pair in pairs if all(pair)))


def note_of(code: str, message: str, which: str, advice: str) -> list[Note]:
    """Return a list of one note, which says what its message is true of; an empty list where that is nothing."""
    return [{"code": code, "message": f"{message}: {which}", "advice": advice}] if which else []


def seed_note(sides: Sequence[Side]) -> list[Note]:
    """Return a note on how many trials have no seed."""
    seeds = Counter(trial.seed for side in sides for trials in side.trials for trial in trials)
    return note_of("no_seeds", "trials without a seed, which pair by place within a case, if at all",
                   str(seeds.get(None, "")), "record each trial's seed, so that both systems meet the same chance")


# === Run records ===


class _Run(NamedTuple):
    """What a comparison takes from a run record."""

    manifest: Fields
    side: Side
    token_s: float | None  # seconds a token, where the server says how long it computed
    served: list[str]  # models and fingerprints that the server says answered, sorted
    servers: list[str]  # hosts and versions that it names, and hosts that its trials alone name, sorted


def from_records(records: Iterable[Fields], case_set: harness.CaseSet, names: Sequence[str] = SIDES) -> Pair:
    """Return two run records, baseline first, as a Pair: pass is 1, fail 0, incomplete unscored.

    Cases are those of the runs' splits in the case file's order, trials ascending; a case's source is its tag `source`.
    Of an iterator each record is taken when the one before was read and can go: they are large. Raises RunError, by
    name and value, unless both are sound and were measured alike: case set, task, graders, splits, number of trials,
    the seed of every trial.
    """
    records, runs = iter(records), list[_Run]()
    for name in names:
        record = next(records)
        manifest = harness.check_manifest(record, name, case_set)
        if runs:
            harness.refuse_unlike_manifests([runs[0].manifest, manifest], names)
        runs.append(_run(record, manifest, name, case_set))
        del record  # before the next one is made
    baseline, candidate = (run.side for run in runs)
    cases = [_compared(case) for case in case_set.of(runs[0].manifest["splits"])]
    notes = seed_note((baseline, candidate)) + _record_notes(runs)
    pair = Pair(cases, baseline, candidate, (0, 1), {"name": case_set.name, "sha256": case_set.sha256}, notes,
                [run.manifest for run in runs], _other_load(runs))
    if unpaired := unpaired_reason(pair):
        raise RunError(f"{names[0]} and {names[1]}: {unpaired}; record both with the same seeds")
    return pair


def _compared(case: harness.Case) -> ComparedCase:
    tags = dict(case.tags)
    source = tags.pop("source", "").strip() or None
    return ComparedCase(case.id, source, tag_pairs(tags.items()), case.input, case.expected)


def _run(record: Fields, manifest: Fields, name: str, case_set: harness.CaseSet) -> _Run:
    """Return the run of a record, once its rows are known to be sound."""
    cases: dict[str, dict[int, Trial]] = {case.id: {} for case in case_set.of(manifest["splits"])}
    shared, served, hosts = dict[Any, Any](), set[str](), set[str]()
    total_ns = total_tokens = 0.0
    for row in harness.checked_rows(record, name, case_set):
        cases[row["case_id"]][row["trial"]] = _record_trial(row, shared)
        served.add(served_by(row))
        hosts.add(_host(row["metadata"].get("server")))
        nanoseconds, tokens = map(amount, harness.time_and_tokens(row))
        if nanoseconds and tokens:
            total_ns, total_tokens = total_ns + nanoseconds, total_tokens + tokens
    trials = [[by_number[number] for number in sorted(by_number)] for by_number in cases.values()]
    logs = [manifest["log"]] if manifest.get("log") else manifest.get("shards") or []
    description = {field: manifest["system"].get(field) for field in harness.SYSTEM_FIELDS} | _recording(manifest)
    side = Side(description, trials, [{"name": log["name"], "sha256": log["sha256"]} for log in logs])
    token_s = total_ns / total_tokens / 1e9 if total_tokens else None
    named = {(_host(server["host"]), server["version"]) for server in description.get("servers", [])}
    met_later = {(host, "") for host in hosts - {"", *(host for host, _ in named)}}
    servers = sorted(f"{host} {version}".strip() for host, version in named | met_later)
    return _Run(manifest, side, token_s, sorted(served - {""}), servers)


def _host(server: object) -> str:
    """Return the host of "host:port"; "" where there is none."""
    return str(server or "").rpartition(":")[0]


def _record_trial(row: Fields, shared: dict[Any, Any]) -> Trial:
    """Return the trial of a row. Many values are equal: one object in `shared`, {value: value}, stands for them all."""
    seed, output, explanation = (
        shared.setdefault(value, value) for value in (row.get("seed"), kept_text(row.get("output")), _explanation(row)))
    score = SCORES[row["verdict"]]
    reason = row["error"]["type"] if "error" in row else "UngradableOutput"
    measures = Measures(**{name: amount(value) for name, value in harness.measures(row).items()})
    return Trial(seed, score, reason if score is None else None, output, measures, row.get("at"), explanation)


def _explanation(row: Fields) -> str:
    """Return what the graders said of a trial; without an answer to grade, why, and the reply that came instead."""
    if row["graders"]:
        return ", ".join(f"{name} {'passes' if passes else 'fails'}" for name, passes in row["graders"].items())
    message = row["error"]["message"] if "error" in row else None
    reply = json.dumps(row["metadata"], ensure_ascii=False) if row["metadata"] else None
    return "\n".join(text for text in (message, reply) if text is not None)


def _recording(manifest: Fields) -> Fields:
    """Return what a manifest says of the recording, as far as it does: servers, workers, extended."""
    servers = [part["server"] for part in manifest.get("shards") or [manifest] if isinstance(part.get("server"), dict)]
    pairs = sorted({(str(server.get("host")), str(server.get("version") or "unknown")) for server in servers})
    stated = {"servers": [{"host": host, "version": version} for host, version in pairs],
              "workers": manifest.get("workers"), "extended": manifest.get("extended")}
    return {key: value for key, value in stated.items() if value}


def _both(names: Sequence[Sequence[str]]) -> str:
    return " and ".join(listed(of_side) or "none" for of_side in names)


def _record_notes(runs: Sequence[_Run]) -> list[Note]:
    """Return notes on the two recordings: graded or extended later, odd prompts, other servers, models, seeds."""
    servers, served = [run.servers for run in runs], [run.served for run in runs]
    models = [run.manifest["system"].get("model") for run in runs]
    mixed = max(map(len, served)) > 1 or models[0] == models[1] and len({*served[0], *served[1]}) > 1
    regraded, unfilled, unseeded, extended = list[str](), list[str](), list[str](), list[str]()
    for name, run in zip(SIDES, runs, strict=True):
        stated, left_out = run.manifest.get("settings"), run.manifest.get("cases_left_out")
        settings = stated if isinstance(stated, dict) else {}
        if run.manifest.get("cases_changed") or run.manifest.get("task_changed"):
            regraded.append(f"{name} (cases left out: {left_out})" if left_out else name)
        if settings.get("fields") == []:
            words = harness.NAMED_FIELD.findall(str(settings.get("prompt")))
            unfilled += [f"{{{word}}} ({name})" for word in words]
        if settings.get("seed_kept") is False:
            unseeded.append(name)
        extended += [f"the {name} was extended after {count} trial{'s' if count > 1 else ''}"
                     for count in run.side.description.get("extended", [])]
    return [
        *note_of("graded_again", "answers were graded with another case set or task than they were recorded with",
                 " and ".join(regraded), "see that no correction was chosen by its result"),
        *note_of("unfilled_fields", "a prompt names what is no field of the input, so it was sent as it stands, as the "
                 "system message", listed(unfilled), "if a field was meant, correct the prompt and record again"),
        *note_of("other_servers", "the two runs had other servers", _both(servers) if servers[0] != servers[1] else "",
                 "record both with one server: other versions and processors give other answers to the same seed"),
        *note_of("seeds_in_name_only", "trials share their seed in name only: the server promises nothing for it, or "
                 "was sent none", " and ".join(unseeded), "take pairs of trials as independent"),
        *note_of("extended", "trials were added to a finished run", "; ".join(extended),
                 "where the first result was looked at, say so beside this one: it is a second look (--look counts new "
                 "sources, not trials)"),
        *note_of("other_models_served", "by the server's own word several models or fingerprints answered for one",
                 _both(served) if mixed else "", "record both again: what answers changed, under way or in between")]


def _other_load(runs: Sequence[_Run]) -> str | None:
    """Return why two runs' latencies do not compare: other workers, or the same weights at another speed."""
    workers = [run.manifest.get("workers") for run in runs]
    weights = [str(run.manifest["system"].get("model")).rpartition("@")[2] for run in runs]
    times = [run.token_s for run in runs if run.token_s is not None]
    if workers[0] != workers[1] and None not in workers:
        return f"recorded with {workers[0]} and {workers[1]} workers"
    if weights[0] == weights[1] and len(times) == 2 and max(times) > 1.1 * min(times):
        return (f"the same weights took {min(times):.3g} s a token in one run and {max(times):.3g} s in the other: "
                "another load")
    return None


# === What is missing, and what pairs ===


def apply_missing(pair: Pair, policy: str) -> tuple[Pair, list[dict[str, str]]]:
    """Return a Pair whose trials all have a score and whose cases have trials on both sides, and what was excluded.

    Policy "refuse" raises RunError where something is missing, naming it. "zero" scores it 0, reasons kept, save cases
    that the baseline lacks. "drop" leaves out unscored trials, then cases without a trial on one side. What is left out
    is listed, {"case_id", "side", "reason"}. Raises RunError where no case is left, and where 0 is no score.
    """
    gaps = "; ".join(_gaps(pair))
    if not gaps:
        return pair, []
    gaps += "".join(f"; {note['message']}" for note in pair.notes if note["code"] == "look_alike_ids")
    if policy == "refuse":
        raise RunError(f"{gaps}: record them, or choose with --missing: drop leaves them out, zero counts them as 0")
    if policy == "zero":  # a case that the baseline never ran says nothing of loss or gain
        low, high = pair.score_range
        if not low <= 0 <= high:
            raise RunError(f"{gaps}: 0 is outside [{float(low):.15g}, {float(high):.15g}] and cannot stand for them; "
                           "use --missing drop")
        rows = [(case, _filled(before, 0), _filled(after, 0, min(1, len(before)))) for case, before, after in pair.rows]
    else:
        rows = [(case, _scored(before), _scored(after)) for case, before, after in pair.rows]
    kept = _with_rows(pair, rows)
    if not kept.cases:
        raise RunError(f"{gaps}: no case has a score on both sides; record both on the same cases")
    return kept, [{"case_id": case.id, "side": name,
                   "reason": listed(dict.fromkeys(trial.reason for trial in trials)) or "no trial"}
                  for (case, *both), (_, *left) in zip(pair.rows, rows, strict=True)
                  for name, trials, some_left in zip(SIDES, both, left, strict=True) if not some_left]


def filled(pair: Pair, for_candidate: bool) -> Pair:
    """Return a Pair in which all that is missing has a score: as good for the candidate as can be, or as bad.

    Takes what was read, before any policy. Filled are trials without a score, and those that the baseline has and the
    candidate lacks. A case that the baseline lacks is left out.
    """
    low, high = pair.score_range
    first, second = (low, high) if for_candidate else (high, low)
    return _with_rows(pair, [(case, _filled(before, first), _filled(after, second, len(before)))
                             for case, before, after in pair.rows])


def _scored(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.score is not None]


def _filled(trials: Sequence[Trial], score: Score, least: int = 0) -> list[Trial]:
    """Return the trials of a case on one side, at least so many, with this score where there is none."""
    found = [trial._replace(score=score) if trial.score is None else trial for trial in trials]
    return found + [Trial(None, score, absent=True)] * (least - len(found))


def _with_rows(pair: Pair, rows: Sequence[CaseTrials]) -> Pair:
    """Return a Pair of those of these rows that have trials on both sides."""
    kept = [(case, before, after) for case, before, after in rows if before and after]
    return pair._replace(cases=[case for case, _, _ in kept],
                         baseline=pair.baseline._replace(trials=[before for _, before, _ in kept]),
                         candidate=pair.candidate._replace(trials=[after for _, _, after in kept]))


def _gaps(pair: Pair) -> Iterator[str]:
    """Yield what the sides lack, in words: cases without a trial, trials without a score."""
    for name, side in zip(SIDES, pair.sides, strict=True):
        cases = list(zip(pair.cases, side.trials, strict=True))
        absent = [case.id for case, trials in cases if not trials]
        unscored = [f"{case.id} seed {trial.seed}: {trial.reason}"
                    for case, trials in cases for trial in trials if trial.score is None]
        system = f"the {name} {side.description['name']!r:.60}"
        if absent:
            yield (f"{system} lacks {len(absent)} of {len(cases)} cases ({listed(absent)}), or names them otherwise "
                   "(--id of convert.py)")
        if unscored:
            yield f"{system} has no score in {len(unscored)} of its trials ({listed(unscored)})"


def uneven_trials(pair: Pair) -> list[Fields]:
    """Return {"case_id", "baseline", "candidate"}, counts of trials, of each case that has not the most common count.

    Empty where every case has the same number of trials on both sides.
    """
    counts = [(case.id, len(before), len(after)) for case, before, after in pair.rows]
    [(common, _)] = Counter(count for _, *both in counts for count in both).most_common(1)
    return [{"case_id": case_id, "baseline": before, "candidate": after}
            for case_id, before, after in counts if not before == after == common]


def unpaired_reason(pair: Pair) -> str | None:
    """Return why trials do not pair, by the first case whose sides have other seeds; None where they pair, in order."""
    for case, *sides in pair.rows:
        if any(trial.absent for trials in sides for trial in trials):
            return f"case {case.id!r:.60} is on one side only"
        left, right = ([trial.seed for trial in trials] for trials in sides)
        if left != right:
            return f"case {case.id!r:.60} has seeds {listed(left)} and {listed(right)} (baseline and candidate)"
    return None


def trial_numbers(side: Side) -> list[Sequence[int]]:
    """Return the number of each trial of each case, from 0: where cases share seeds, that of its seed among all.

    Else, as with a seed for each case and trial, it is the trial's place within its case.
    """
    seeds = [tuple([trial.seed for trial in case]) for case in side.trials]
    sequences = set(seeds)
    distinct = {seed for sequence in sequences for seed in sequence}
    shared = len(distinct) < min(sum(map(len, seeds)), 2 * max(map(len, sequences)))
    if len(sequences) == 1 or None in distinct or not shared:
        return [range(len(case)) for case in seeds]
    numbers = {seed: number for number, seed in enumerate(sorted(distinct, key=seed_order))}
    return [[numbers[seed] for seed in case] for case in seeds]


# === Groups ===


def source_groups(pair: Pair) -> list[int]:
    """Return the number of each case's source group, in order of their first case; without a source, one of its own."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(i if case.source is None else case.source, len(numbers))
            for i, case in enumerate(pair.cases)]


def repeats(values: Collection[Collection[str]]) -> bool:
    """Tell whether the values of a tag, given for each case that has it, repeat enough to make slices.

    They are at most MOST_VALUES, and at least half of the cases have a value that another case has too.

    >>> repeats([["en"], ["en"], ["fr"]]), repeats([["en"], ["en"], ["fr"], ["de"], ["es"]])
    (True, False)
    """
    counts = Counter(value for case in values for value in set(case))
    shared = sum(any(counts[value] > 1 for value in case) for case in values)
    return len(counts) <= MOST_VALUES and 2 * shared >= len(values)


def slices(pair: Pair, chosen: Sequence[str] = ()) -> tuple[dict[tuple[str, str], Cases], list[Note]]:
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
    for tag in chosen:
        if tag not in values:
            raise RunError(f"no case has a tag {tag!r:.60}; choose with --tag one of: "
                           f"{listed(sorted(values), 20) or '(there is none)'}")
    kept = chosen or [tag for tag in values if repeats(values[tag].values())]
    others = "" if chosen else listed(sorted(values.keys() - set(kept)), 20)
    note = note_of("tags_set_aside", f"tags of over {MOST_VALUES} values, or of values that hardly repeat, make no "
                   "slices", others, "choose such a tag with compare.py --tag NAME")
    return {key: tuple(members[key]) for key in sorted(members) if key[0] in kept}, note
