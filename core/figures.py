"""What does a comparison hold? Every figure of comparison.json, computed from two systems' scores.

    $ python3 -c "from core import figures; print(figures.COMPARISON_VERSION)"
    2

`compare_pair` is the list of them; it takes a trials.Pair. Reads no file, writes none, prints nothing, and the same
scores give the same figures.
"""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core import adjust, caution, chance, decide, intervals, trials
from core.decide import Evidence, Record, Scores
from core.files import TOOL_VERSION
from core.intervals import RESAMPLES, IndexStream, Interval
from core.options import DEFAULT_OPTIONS, Options
from core.trials import SIDES, Cases, Pair, Side

COMPARISON_VERSION = "2"
MOST_DRAWN = 5000  # trials of one side up to which the seeded intervals are drawn; beyond they cost more than they tell

# Small quantities lose their meaning at four places after the point: these keep four significant digits.
SIGNIFICANT = frozenset((
    "p_value", "adjusted_p_value", "smallest_adjusted_p_value", "by_chance", "between_sources", "between_cases",
    "sampling", "standard_error_case", "standard_error_source", "cost_usd"))
# What was declared stands as it was given.
DECLARED = frozenset(("min_gain", "margin", "score_range", "alpha", "level", "equivalence_level", "half_width"))


# === What figures are computed from ===


class Differences(NamedTuple):
    """Shares and difference of each case, as whole numbers, and the source group it belongs to."""

    baseline: list[int]  # the share of case i is baseline[i] / grid
    candidate: list[int]
    grid: int
    numerators: list[int]  # the difference of case i is numerators[i] / unit, on the coarsest grid that holds them
    unit: int
    group_of: list[int]

    def sizes(self) -> list[int]:
        """Return the number of cases of each source group, in order of their first case."""
        return list(Counter(self.group_of).values())

    def sums(self, values: Sequence[int]) -> list[int]:
        """Return the sum over each source group of values, one a case."""
        sums = dict.fromkeys(self.group_of, 0)
        for group, value in zip(self.group_of, values, strict=True):
            sums[group] += value
        return list(sums.values())

    def groups(self) -> list[tuple[int, int]]:
        """Return (number of cases, sum of numerators) of each source group."""
        return list(zip(self.sizes(), self.sums(self.numerators), strict=True))

    def of(self, cases: Sequence[int]) -> "Differences":
        """Return those of some cases."""
        baseline, candidate, numerators, group_of = (
            [values[i] for i in cases] for values in (self.baseline, self.candidate, self.numerators, self.group_of))
        step = math.gcd(self.unit, *numerators)
        return Differences(baseline, candidate, self.grid, [k // step for k in numerators], self.unit // step, group_of)


def differences(pair: Pair) -> Differences:
    """Return the shares and differences of a Pair whose every trial has a score.

    The share of a case is the mean score of its trials, however many they are.
    """
    sums = [[sum(trial.score or 0 for trial in case) for case in side.trials] for side in pair.sides]
    counts = [[len(case) for case in side.trials] for side in pair.sides]
    grid = math.lcm(*{total.denominator * count for totals, side in zip(sums, counts, strict=True)
                      for total, count in zip(totals, side, strict=True)})
    baseline, candidate = (
        [total.numerator * (grid // (total.denominator * count)) for total, count in zip(totals, side, strict=True)]
        for totals, side in zip(sums, counts, strict=True))
    changes = list(map(operator.sub, candidate, baseline))
    step = math.gcd(grid, *changes)
    return Differences(baseline, candidate, grid, [change // step for change in changes], grid // step,
                       trials.sources(pair))


class Data(NamedTuple):
    """What every figure is computed from."""

    as_read: Pair  # with what is missing
    pair: Pair  # after the missing policy: each trial has a score
    options: Options
    scores: list[Scores]  # of pair, by side
    differences: Differences
    slices: dict[tuple[str, str], Cases]  # by tag and value
    unpaired: str | None  # why trials do not pair
    luck: Record
    very_cases: chance.VeryCases


def prepare(as_read: Pair, pair: Pair, options: Options) -> Data:
    """Return what figures are computed from, of a Pair before and after the missing policy."""
    slices, notes = trials.slices(pair, options.tags)
    unpaired = trials.unpaired_reason(pair)
    luck = chance.shared_luck(pair, not unpaired)
    return Data(as_read, pair._replace(notes=pair.notes + notes), options,
                [[[trial.score or 0 for trial in case] for case in side.trials] for side in pair.sides],
                differences(pair), slices, unpaired, luck, chance.very_cases(pair, not unpaired, luck))


# === Figures ===


def resampled(numerators: Sequence[int], unit: int, stream: IndexStream | None) -> Interval:
    """Return the interval of seeded resamples, or without a stream that of the distribution they come from."""
    if stream is None:
        return intervals.exact_interval(numerators, unit)
    return intervals.sampled_interval(numerators, unit, stream)


def case_figures(diffs: Differences, stream: IndexStream | None) -> Record:
    """Return means, difference, cases by direction, the two intervals by case and the sign-flip interval by source."""
    n, numerators, groups = len(diffs.numerators), diffs.numerators, diffs.groups()
    by_case = resampled(numerators, diffs.unit, stream)
    exact = by_case if stream is None else intervals.exact_interval(numerators, diffs.unit)
    flip = intervals.sign_flip(groups, diffs.unit)
    return {
        "cases": n, "baseline": Fraction(sum(diffs.baseline), n * diffs.grid),
        "candidate": Fraction(sum(diffs.candidate), n * diffs.grid),
        "difference": Fraction(sum(numerators), n * diffs.unit),
        "interval_95": by_case.interval, "interval_method": by_case.method,
        "better": sum(k > 0 for k in numerators), "worse": sum(k < 0 for k in numerators), "same": numerators.count(0),
        "exact_interval_95": exact.interval, "exact_method": exact.method,
        "source_sign_flip": {"interval_95": flip.interval, "p_value": flip.tail, "groups": len(groups),
                             "method": flip.method, "reason": flip.reason},
    }


def by_trial(scores: Sequence[Scores], stream: IndexStream | None) -> Interval:
    """Return the interval as if every trial were independent, for contrast only; trials pair."""
    before, after = ([score for case in side for score in case] for side in scores)
    changes = list(map(operator.sub, after, before))
    unit = math.lcm(*{change.denominator for change in changes})
    return resampled([change.numerator * (unit // change.denominator) for change in changes], unit, stream)


def overall_figures(data: Data, stream: IndexStream | None) -> Record:
    """Return the figures over all cases; the stream serves by case, then by trial."""
    diffs = data.differences
    overall = case_figures(diffs, stream)
    trial_level = None if data.unpaired else by_trial(data.scores, stream)
    by_source = intervals.source_interval(diffs.groups(), diffs.unit)
    return overall | {
        "trial_level_interval_95": trial_level and trial_level.interval,
        "trial_level_method": trial_level and trial_level.method, "trial_level_reason": data.unpaired,
        "source_groups": overall["source_sign_flip"]["groups"], "source_cluster_method": by_source.method,
        "source_cluster_interval_95": by_source.interval, "source_no_gain_share": by_source.tail,
        "exact_distribution": intervals.exact_distribution(diffs.numerators, diffs.unit)._asdict(),
        "these_cases": chance.these_cases(data.very_cases, range(len(data.pair.cases)), overall["difference"]),
    }


def slice_figures(data: Data, stream: IndexStream | None) -> tuple[Record, str | None, int]:
    """Return the slices by tag and value, how their p-values were adjusted, and how many different ones there are.

    Slices of the same cases name each other and count once. A slice of too few source groups makes no claim: it has no
    adjusted p-value, and takes no part in the adjustment of the others. That holds of new sources; of these very cases
    each slice has its p-value.
    """
    names: dict[Cases, list[str]] = {}
    for (tag, value), cases in data.slices.items():
        names.setdefault(cases, []).append(f"{tag}: {value}")
    slices, unscored = dict[str, Record](), unscored_of_cases(data)
    for (tag, value), cases in data.slices.items():
        figures = case_figures(data.differences.of(cases), stream)
        slices.setdefault(tag, {})[value] = figures | {
            "few_cases": len(cases) < decide.FEW_CASES, "source_groups": figures["source_sign_flip"]["groups"],
            "adjusted_p_value": None, "smallest_adjusted_p_value": None,
            "same_cases_as": [name for name in names[cases] if name != f"{tag}: {value}"],
            "incomplete": {side: sum(counts[i] for i in cases) for side, counts in unscored.items()},
            "these_cases": chance.these_cases(data.very_cases, cases, figures["difference"]),
        }
    distinct = {cases: slices[tag][value] for (tag, value), cases in data.slices.items()}
    p_values = [figures["these_cases"]["p_value"] for figures in distinct.values()]
    holm = dict(zip(distinct, adjust.holm(p_values), strict=True)) if None not in p_values else {}
    adjusted, method = _adjusted([cases for cases, figures in distinct.items()
                                  if figures["source_sign_flip"]["interval_95"]], data.differences)
    for (tag, value), cases in data.slices.items():
        figures = slices[tag][value]
        figures["these_cases"]["adjusted_p_value"] = holm.get(cases)
        figures["adjusted_p_value"], figures["smallest_adjusted_p_value"] = adjusted.get(cases, (None, None))
    return slices, method, len(distinct)


def _adjusted(slices: Sequence[Cases], diffs: Differences) -> tuple[dict[Cases, tuple[Any, Any]], str | None]:
    """Return (p-value among all, the smallest that it could be) of each slice, given by its cases, and the method."""
    sums, sizes = [], []
    for cases in slices:
        changes, counts = ([0] * (max(diffs.group_of) + 1) for _ in range(2))
        for i in cases:
            changes[diffs.group_of[i]] += diffs.numerators[i]
            counts[diffs.group_of[i]] += 1
        sums.append(changes)
        sizes.append(counts)
    if not sums:
        return {}, None
    p_values, method = adjust.adjusted_p_values(sums)
    return dict(zip(slices, zip(p_values, adjust.smallest_p_values(sums, sizes), strict=True), strict=True)), method


def unscored_of_cases(data: Data) -> dict[str, list[int]]:
    """Return by side how many trials of each compared case have no score."""
    kept, unscored = {case.id for case in data.pair.cases}, {}
    for name, side in zip(SIDES, data.as_read.sides, strict=True):
        counts = zip(data.as_read.cases, decide.incomplete_per_case(side.trials), strict=True)
        unscored[name] = [count for case, count in counts if case.id in kept]
    return unscored


def trial_pairs(data: Data) -> dict[str, int] | None:
    """Return the trial pairs by outcome; None where trials do not pair, or scores are not pass or fail."""
    outcomes: Counter[tuple[Any, ...]] = Counter()
    if not data.unpaired:
        for before, after in zip(*data.scores, strict=True):
            outcomes.update(zip(before, after, strict=True))
    named = {"both_pass": (1, 1), "only_baseline": (1, 0), "only_candidate": (0, 1), "neither": (0, 0)}
    return {name: outcomes[outcome] for name, outcome in named.items()} if (
        outcomes and outcomes.keys() <= set(named.values())) else None


def case_rows(data: Data, passes: list[tuple[int, int, int, int]] | None) -> list[Record]:
    """Return what each case scores that differs; passes as chance.pass_counts() returns them."""
    diffs = data.differences
    return [{"case_id": case.id, "baseline": diffs.baseline[i] / diffs.grid,
             "candidate": diffs.candidate[i] / diffs.grid, "source": case.source,
             "difference": diffs.numerators[i] / diffs.unit, "by_chance": passes and chance.by_chance(*passes[i])}
            for i, case in enumerate(data.pair.cases) if diffs.numerators[i]]


def source_rows(data: Data) -> list[Record] | None:
    """Return what each source scores, in the order of its first case; None where no case names a source."""
    if not has_sources(data.pair):
        return None
    diffs = data.differences
    names = {group: case.source for group, case in zip(diffs.group_of, data.pair.cases, strict=True)}
    rows = zip(names.values(), diffs.sizes(), *map(diffs.sums, (diffs.baseline, diffs.candidate, diffs.numerators)),
               strict=True)
    return [{"source": name, "cases": size, "baseline": baseline / (diffs.grid * size),
             "candidate": candidate / (diffs.grid * size), "difference": change / (diffs.unit * size)}
            for name, size, baseline, candidate, change in rows]


def has_sources(pair: Pair) -> bool:
    return any(case.source is not None for case in pair.cases)


def measure_figures(data: Data) -> Record:
    """Return cost, latency and tokens a case, with the paired difference, over the cases where both sides have them.

    The interval is the t interval of the standard error by source: these are not what is decided on, and have no few
    values that a bootstrap would need. None with the reason.
    """
    figures = {}
    for name in trials.MEASURES:
        before, after = (_means(side, name) for side in data.pair.sides)
        cases = [i for i in before if i in after]
        if not cases:
            continue
        changes: dict[int, list[float]] = {}  # by source group
        for i in cases:
            changes.setdefault(data.differences.group_of[i], []).append(after[i] - before[i])
        reason = data.pair.other_load if name == "latency_s" else None
        reason = reason or ("one source shows no spread between sources" if len(changes) < 2 else None)
        groups = [(len(group), Fraction(math.fsum(group))) for group in changes.values()]
        figures[name] = {
            "cases": len(cases), "baseline": math.fsum(before[i] for i in cases) / len(cases),
            "candidate": math.fsum(after[i] for i in cases) / len(cases),
            "difference": math.fsum(itertools.chain(*changes.values())) / len(cases),
            "interval_95": None if reason else decide.t_interval(groups), "reason": reason}
    return figures


def _means(side: Side, name: str) -> dict[int, float]:
    """Return the mean of a measure over the trials of each case that have it, by the number of the case."""
    measured = ([value for trial in case if (value := getattr(trial.measures, name)) is not None]
                for case in side.trials)
    return {i: math.fsum(values) / len(values) for i, values in enumerate(measured) if values}


def decided(data: Data, must_pass: list[Record]) -> Record:
    """Return the decision; must_pass as chance.must_pass() returns it."""
    pair = data.pair
    worlds = decide.alone(evidence(data.differences, pair))
    if pair.task is None and data.options.missing != "refuse":  # of run records what is missing is the model's outcome
        against, favour = (evidence(differences(trials.filled(data.as_read, for_candidate)), pair)
                           for for_candidate in (False, True))
        worlds = worlds._replace(against=against, favour=favour)
    failed = [row["case_id"] for rule in must_pass for row in rule["failed"]] if must_pass else None
    return decide.decision(worlds, data.options.limits, has_sources(pair), failed)


def evidence(diffs: Differences, pair: Pair) -> Evidence:
    """Return the differences by source, with what the baseline's best source has and its worst one lacks."""
    means = [Fraction(total, diffs.grid * size)
             for size, total in zip(diffs.sizes(), diffs.sums(diffs.baseline), strict=True)]
    low, high = pair.score_range
    return Evidence(diffs.groups(), diffs.unit, max(means) - low, high - min(means))


def planning(data: Data) -> Record:
    diffs, (baseline, candidate) = data.differences, data.scores
    recorded = decide.Recorded(diffs.numerators, diffs.unit, diffs.groups(), baseline, candidate, not data.unpaired,
                               has_sources(data.pair))
    return decide.planning(recorded, data.options.limits.alpha, data.options.plan)


# === The comparison ===


def compare_pair(as_read: Pair, options: Options = DEFAULT_OPTIONS) -> Record:
    """Return the comparison of a Pair, every figure rounded; RunError where something is missing that may not be."""
    missing = options.missing if as_read.task is None else "zero"  # a model whose answer is missing has not passed
    must_pass = chance.must_pass(as_read, options.must_pass)
    pair, excluded = trials.apply_missing(as_read, missing)
    data = prepare(as_read, pair, options)
    pair, diffs = data.pair, data.differences
    # One generator serves them all, in this order: the published figures depend on it.
    drawn = max(sum(map(len, side)) for side in data.scores) <= MOST_DRAWN
    stream = IndexStream(options.seed) if drawn else None
    overall = overall_figures(data, stream)
    slices, adjusted_method, compared = slice_figures(data, stream)
    pairs, passes = trial_pairs(data), chance.pass_counts(*data.scores)
    lengths = {len(case) for side in data.scores for case in side}
    comparison = {
        "comparison_version": COMPARISON_VERSION, "resamples": RESAMPLES, "seed": options.seed,
        "case_set": pair.case_set, "trials": lengths.pop() if len(lengths) == 1 else None,
        "baseline": pair.baseline.description, "candidate": pair.candidate.description,
        "overall": overall, "trial_pairs": pairs,
        "trial_pairs_reason": data.unpaired or (None if pairs else "scores are not pass or fail"),
        "slices": slices, "cases": case_rows(data, passes), "sources": source_rows(data),
        "slices_compared": compared, "adjusted_method": adjusted_method,
        "shared_luck": data.luck, "consistency": chance.consistency(pair),
        "changed_by_chance": chance.changed_by_chance(passes),
        "noise_floor": chance.noise_floor(data.scores[0], diffs.group_of, options.limits, pair.score_range,
                                          options.seed),
        **planning(data),
        "incomplete": decide.incomplete(as_read.baseline.trials, as_read.candidate.trials, pair.score_range),
        "nothing_moved": decide.nothing_moved(diffs.numerators, diffs.groups()),
        "tool_version": TOOL_VERSION, "task": pair.task,
        "logs": {"baseline": pair.baseline.logs, "candidate": pair.candidate.logs},
        "score_range": list(pair.score_range), "missing": missing, "excluded": excluded,
        "uneven_trials": trials.uneven_trials(pair), "options": dict(options.given), "must_pass": must_pass or None,
        "decision": decided(data, must_pass), "measures": measure_figures(data),
    }
    comparison["warnings"] = caution.warnings(comparison, pair, diffs.group_of)
    return dict(rounded(comparison, places=trials.shown_places(*pair.score_range)))


def rounded(value: Any, key: str = "", places: int = 4) -> Any:
    """Return a JSON value with its fractions and floats rounded.

    To so many places, or 4 digits for the keys in SIGNIFICANT; those in DECLARED stay as they are.

    >>> rounded({"difference": Fraction(1, 3), "p_value": 0.000012345, "interval_95": (-0.0, 0.5)})
    {'difference': 0.3333, 'p_value': 1.234e-05, 'interval_95': [0.0, 0.5]}
    """
    if value is None or isinstance(value, (str, int)):  # most values, and soonest told
        return value
    if type(value) in (float, Fraction):  # isinstance() of a Fraction takes ten times as long, and these are many
        number = float(value)
        if key not in DECLARED:
            number = float(f"{number:.4g}") if key in SIGNIFICANT else round(number, places)
        return number + 0.0  # no -0.0
    if isinstance(value, dict):
        inner = key if key in SIGNIFICANT else None
        return {name: rounded(item, inner or name, places) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, key, places) for item in value]
    return value
