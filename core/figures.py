"""What does a comparison hold? Every figure of comparison.json, computed from two systems' scores.

    $ python3 compare.py runs/qwen-coder-v1.json runs/qwen-coder-v2.json --cases cases-robustness.json --json \\
      2> /dev/null | grep --after-context 4 '"overall"'
      "overall": {
        "cases": 44,
        "baseline": 0.2455,
        "candidate": 0.2773,
        "difference": 0.0318,

`compare_pair` is the list of them; it takes a trials.Pair. Reads no file, writes none, prints nothing, and the same
scores give the same figures.
"""

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean
from typing import Any

from core import adjust, caution, chance, decide, intervals, outcomes, trials
from core.decide import Differences, Evidence, Figures, Scores
from core.files import TOOL_VERSION
from core.intervals import RESAMPLES, IndexStream, Interval
from core.options import DEFAULT_OPTIONS, Options
from core.trials import SIDES, Cases, Pair, Side

COMPARISON_VERSION = "2"
MOST_DRAWN = 5000  # trials of one side up to which the seeded intervals are drawn; beyond they cost more than they tell

# Small quantities lose their meaning at four places after the point: these keep four significant digits.
SIGNIFICANT = frozenset((
    "p_value", "adjusted_p_value", "smallest_adjusted_p_value", "by_chance", "between_sources", "between_cases",
    "sampling", "standard_error_case", "standard_error_source", "cost_usd", "latency_s"))
# What was declared is shown as it was given.
DECLARED = frozenset(("min_gain", "margin", "score_range", "alpha", "level", "equivalence_level", "half_width"))


# === What figures are computed from ===


def differences(scores: Sequence[Scores], group_of: list[int]) -> Differences:
    """Return the shares and differences of cases, from the scores of each side and the source group of each case.

    The share of a case is the mean score of its trials, however many they are.
    """
    share = functools.cache(lambda case: Fraction(sum(case)) / len(case))  # of thousands most score alike
    both, unit = decide.whole_numbers(share(tuple(case)) for side in scores for case in side)
    return Differences(both[:len(group_of)], both[len(group_of):], unit, group_of, max(group_of) + 1)


class Data:
    """What every figure is computed from; RunError where something is missing that may not be."""

    def __init__(self, as_read: Pair, options: Options) -> None:
        self.as_read, self.options = as_read, options  # the Pair with what is missing
        self.must_pass, self.failed = outcomes.must_pass(as_read, options.must_pass)
        self.unscored = outcomes.unscored(as_read)
        # A model whose answer is missing has not passed.
        self.missing = options.missing if as_read.task is None else "zero"
        pair, self.excluded = trials.apply_missing(as_read, self.missing)
        self.slices, notes = trials.slices(pair, options.tags)
        self.pair = pair._replace(notes=pair.notes + notes)  # each trial has a score
        self.scores = chance.scores_of(pair)  # by side
        # By case; None where scores are not pass or fail.
        self.passes = chance.pass_counts(*self.scores) if pair.score_range == (0, 1) else None
        self.differences = differences(self.scores, trials.source_groups(pair))
        self.has_sources = any(case.source is not None for case in pair.cases)
        self.unpaired = trials.unpaired_reason(pair)
        self.sampled = self.scores  # what varies by sampling: where trials pair, the difference of each, by case
        if not self.unpaired:
            cases = zip(*self.scores, strict=True)
            self.sampled = [[list(map(operator.sub, after, before)) for before, after in cases]]
        self.luck = chance.shared_luck(pair, not self.unpaired)
        self.very_cases = chance.VeryCases(pair, self.sampled, self.passes, self.luck)


# === Figures ===


def drawn_interval(numerators: Sequence[int], unit: int, stream: IndexStream | None) -> Interval:
    """Return the seeded interval; without a stream, where nothing is drawn, the exact one in its place."""
    if stream:
        return intervals.sampled_interval(numerators, unit, stream)
    return intervals.exact_interval(numerators, unit)


def case_figures(diffs: Differences, stream: IndexStream | None) -> Figures:
    """Return means, difference, cases by direction, the two intervals by case and the sign-flip interval by source."""
    numerators, groups = diffs.numerators, diffs.groups()
    exact = intervals.exact_interval(numerators, diffs.unit)
    by_case = drawn_interval(numerators, diffs.unit, stream)
    flip = intervals.sign_flip(groups, diffs.unit)
    return {
        "cases": len(numerators), **diffs.means(), "interval_95": by_case.interval, "interval_method": by_case.method,
        "better": sum(k > 0 for k in numerators), "worse": sum(k < 0 for k in numerators), "same": numerators.count(0),
        "exact_interval_95": exact.interval, "exact_method": exact.method,
        "source_sign_flip": {"interval_95": flip.interval, "p_value": flip.at_zero, "groups": len(groups),
                             "method": flip.method, "reason": flip.reason},
    }


def overall_figures(data: Data, stream: IndexStream | None) -> Figures:
    """Return the figures over all cases; the stream serves by case, then by trial."""
    diffs = data.differences
    overall = case_figures(diffs, stream)
    trial_level = None  # as if every trial were independent, for contrast only
    if not data.unpaired:
        trial_level = drawn_interval(*decide.whole_numbers(itertools.chain(*data.sampled[0])), stream)
    by_source = intervals.source_interval(diffs.groups(), diffs.unit)
    return overall | {
        "trial_level_interval_95": trial_level and trial_level.interval,
        "trial_level_method": trial_level and trial_level.method, "trial_level_reason": data.unpaired,
        "source_groups": overall["source_sign_flip"]["groups"], "source_cluster_method": by_source.method,
        "source_cluster_interval_95": by_source.interval, "source_no_gain_share": by_source.at_zero,
        "these_cases": data.very_cases.figures(range(len(data.pair.cases)), overall["difference"]),
    }


def slice_figures(data: Data, stream: IndexStream | None) -> tuple[Figures, str | None, int]:
    """Return the slices by tag and value, how their p-values were adjusted, and how many different ones there are.

    Slices of the same cases name each other and count once. A slice of too few source groups makes no claim: it has no
    adjusted p-value, and takes no part in the adjustment of the others. That holds of new sources; of these very cases
    each slice has its p-value.
    """
    names: dict[Cases, list[str]] = {}
    for (tag, value), cases in data.slices.items():
        names.setdefault(cases, []).append(f"{tag}: {value}")
    parts = {cases: data.differences.of(cases) for cases in names}
    these = {cases: data.very_cases.figures(cases, part.means()["difference"]) for cases, part in parts.items()}
    known = {cases: answer["p_value"] for cases, answer in these.items() if answer["p_value"] is not None}
    of_these = adjust.holm(known)
    enough = {cases: (part.sums(part.numerators), part.sizes()) for cases, part in parts.items()
              if len(part.groups()) >= decide.MIN_GROUPS}
    of_new, method = adjust.adjusted_p_values(enough) if enough else ({}, None)
    slices = dict[str, Figures]()
    for (tag, value), cases in data.slices.items():
        figures = case_figures(parts[cases], stream)
        missing = [data.unscored[data.pair.cases[i].id] for i in cases]
        p_value, smallest = of_new.get(cases, (None, None))
        slices.setdefault(tag, {})[value] = figures | {
            "few_cases": len(cases) < decide.FEW_CASES, "source_groups": figures["source_sign_flip"]["groups"],
            "adjusted_p_value": p_value, "smallest_adjusted_p_value": smallest,
            "same_cases_as": [name for name in names[cases] if name != f"{tag}: {value}"],
            "incomplete": {side: sum(len(reasons[at]) for reasons in missing) for at, side in enumerate(SIDES)},
            "these_cases": these[cases] | {"adjusted_p_value": of_these.get(cases)},
        }
    return slices, method, len(parts)


def trial_pairs(data: Data) -> Figures:
    """Return "trial_pairs" by outcome; None, with the reason, where trials do not pair or are not pass or fail."""
    if data.unpaired or data.passes is None:
        return {"trial_pairs": None, "trial_pairs_reason": data.unpaired or "scores are not pass or fail"}
    pairs = Counter(pair for case in zip(*data.scores, strict=True) for pair in zip(*case, strict=True))
    named = {"both_pass": pairs[1, 1], "only_baseline": pairs[1, 0], "only_candidate": pairs[0, 1],
             "neither": pairs[0, 0]}
    return {"trial_pairs": named, "trial_pairs_reason": None}


def case_rows(data: Data) -> list[Figures]:
    """Return what each case that differs scores."""
    diffs, passes = data.differences, data.passes
    return [{"case_id": case.id, "baseline": before / diffs.unit, "candidate": after / diffs.unit,
             "source": case.source, "difference": (after - before) / diffs.unit,
             "by_chance": passes and chance.by_chance(*passes[i])}
            for i, (case, before, after) in enumerate(
                zip(data.pair.cases, diffs.baseline, diffs.candidate, strict=True)) if before != after]


def source_rows(data: Data) -> list[Figures] | None:
    """Return what each source scores, in the order of its first case; None where no case names a source.

    A case that names none is a source of its own, known by its case_id.
    """
    if not data.has_sources:
        return None
    members: dict[int, list[int]] = {}
    for i, group in enumerate(data.differences.group_of):
        members.setdefault(group, []).append(i)
    rows = []
    for cases in members.values():
        first = data.pair.cases[cases[0]]
        rows.append({"source": first.source, "case_id": first.id if first.source is None else None,
                     "cases": len(cases), **data.differences.of(cases).means()})
    return rows


def measure_figures(data: Data) -> Figures:
    """Return cost, latency and tokens a case, with the paired difference, over the cases where both sides have them.

    The interval is the t interval of the standard error by source: these are not what is decided on, and have more
    different values than a bootstrap can count. None with the reason.
    """
    figures = {}
    for name in trials.MEASURES:
        before, after = (_means(side, name) for side in data.pair.sides)
        cases = [i for i in before if i in after]
        changes: dict[int, list[float]] = {}  # by source group
        for i in cases:
            changes.setdefault(data.differences.group_of[i], []).append(after[i] - before[i])
        reason = data.pair.other_load if name == "latency_s" else None
        if len(changes) < 2:
            reason = reason or "one source shows no spread between sources"
        groups = [(len(group), Fraction(math.fsum(group))) for group in changes.values()]
        if cases:
            figures[name] = {
                "cases": len(cases), "baseline": fmean(before[i] for i in cases),
                "candidate": fmean(after[i] for i in cases), "difference": fmean(itertools.chain(*changes.values())),
                "interval_95": None if reason else decide.t_interval(groups), "reason": reason}
    return figures


def _means(side: Side, name: str) -> dict[int, float]:
    """Return the mean of a measure over the trials of each case that have it, by the number of the case."""
    known = ([value for trial in case if (value := getattr(trial.measures, name)) is not None] for case in side.trials)
    return {i: fmean(values) for i, values in enumerate(known) if values}


def decided(data: Data) -> Figures:
    """Return the decision; with what is missing filled, save of run records, where that is the model's outcome.

    Where nothing may be missing nothing is, unless broken lines are left out.
    """
    score_range = data.pair.score_range
    seen = evidence(data.differences, score_range)
    if data.pair.task is None and (data.missing != "refuse" or data.options.reading.skip_broken):
        filled = [trials.filled(data.as_read, for_candidate) for for_candidate in (False, True)]
        against, favour = (evidence(differences(chance.scores_of(pair), trials.source_groups(pair)), score_range)
                           for pair in filled)
        if (against, favour) != (seen, seen):
            seen = seen._replace(against=against, favour=favour)
    return decide.decision(seen, data.options.limits, data.has_sources, data.failed)


def evidence(diffs: Differences, score_range: tuple[trials.Score, trials.Score]) -> Evidence:
    """Return the differences by source, with what the baseline's best source has and its worst one lacks."""
    before, after = diffs.sums(diffs.baseline), diffs.sums(diffs.candidate)
    return decide.evidence_of(diffs.sizes(), before, after, diffs.unit, score_range)


# === The comparison ===


def compare_pair(as_read: Pair, options: Options = DEFAULT_OPTIONS) -> Figures:
    """Return the comparison of a Pair, every figure rounded; RunError where something is missing that may not be."""
    data = Data(as_read, options)
    pair, diffs = data.pair, data.differences
    # One generator serves them all, in this order: the published figures depend on it.
    stream = IndexStream(options.seed) if max(sum(map(len, side)) for side in data.scores) <= MOST_DRAWN else None
    overall = overall_figures(data, stream)
    slices, adjusted_method, compared = slice_figures(data, stream)
    uneven = trials.uneven_trials(pair)
    comparison = {
        "comparison_version": COMPARISON_VERSION, "resamples": RESAMPLES, "seed": options.seed,
        "case_set": pair.case_set, "trials": None if uneven else len(data.scores[0][0]),
        "baseline": pair.baseline.description, "candidate": pair.candidate.description,
        "overall": overall, **trial_pairs(data), "slices": slices, "cases": case_rows(data),
        "sources": source_rows(data), "slices_compared": compared, "adjusted_method": adjusted_method,
        "shared_luck": data.luck, "consistency": outcomes.consistency(pair),
        "changed_by_chance": chance.changed_by_chance(data.passes),
        "noise_floor": chance.noise_floor(data.scores[0], diffs, options.limits, pair.score_range, options.seed),
        **decide.planning(diffs, data.sampled, data.has_sources, options.limits.alpha, options.plan),
        "incomplete": outcomes.incomplete(as_read, data.unscored),
        "nothing_moved": decide.nothing_moved(diffs),
        "tool_version": TOOL_VERSION, "task": pair.task,
        "logs": {"baseline": pair.baseline.logs, "candidate": pair.candidate.logs},
        "score_range": list(pair.score_range), "missing": data.missing, "excluded": data.excluded,
        "uneven_trials": uneven, "options": dict(options.given),
        "must_pass": data.must_pass or None, "decision": decided(data), "measures": measure_figures(data),
    }
    comparison["warnings"] = caution.warnings(comparison, pair)
    return dict(rounded(comparison, places=trials.shown_places(*pair.score_range)))


def rounded(value: Any, key: str = "", places: int = 4) -> Any:
    """Return a JSON value with its fractions and floats rounded.

    To so many places, or 4 digits for the keys in SIGNIFICANT; those in DECLARED stay as they are.

    >>> rounded({"difference": Fraction(1, 3), "p_value": 0.000012345, "interval_95": (-0.0, 0.5)})
    {'difference': 0.3333, 'p_value': 1.234e-05, 'interval_95': [0.0, 0.5]}
    """
    if isinstance(value, dict):
        inner = key if key in SIGNIFICANT else None
        return {name: rounded(item, inner or name, places) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, key, places) for item in value]
    if type(value) not in (float, Fraction):  # isinstance() of a Fraction takes ten times as long, and these are many
        return value
    number = float(value)
    if key not in DECLARED:
        number = float(f"{number:.4g}") if key in SIGNIFICANT else round(number, places)
    return number + 0.0  # no -0.0
