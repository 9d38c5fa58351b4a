"""Is the candidate better than the baseline, by more than the noise? A paired comparison of two recorded runs.

    $ python3 compare.py runs/qwen-coder-v1.json runs/qwen-coder-v2.json --cases cases-robustness.json
    difference +0.0318 (95% interval -0.0227 to +0.0909) over 44 cases; better 10, worse 6, same 28
    verdict: undecided; by source -0.0923 to +0.1556 (9 sources)
    ...

Reads two run records and the case set they were made with, or with --trials the plain trial logs of any other harness
(then BASELINE and CANDIDATE name `config` values). A sealed log, or the logs of shards with commas between them, may
stand in place of a run record: it is replayed in memory. Writes comparison.json with --out, a page with --html, a pull
request comment with --markdown. Prints one line, and with --table the whole comparison as text. Warnings go to stderr.
With --check it writes nothing, and says whether a comparison comes out of its logs again.

Calls no model, and the same inputs give the same bytes. Exit status: 0 done, 1 refused or bad input (one `error:`
line, nothing written), 2 bad usage, 3 done and the data contradict the gate, 4 done and the data cannot tell, 130
interrupted.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import gc
import json
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from core import caution
from core import chance
from core import decide
from core import files
import harness
from core import intervals
from core import trials
from harness import CaseSet
from core.intervals import RESAMPLES, SEED, IndexStream, Interval
from core.decide import Evidence, Limits, Scores
from core.trials import Pair, Trial

COMPARISON_VERSION = "2"
MOST_DRAWN = 5000  # trials of one side up to which the seeded intervals are drawn; beyond they cost more than they tell

# Small quantities lose their meaning at four places after the point: these keep four significant digits.
SIGNIFICANT = frozenset((
    "p_value", "adjusted_p_value", "smallest_adjusted_p_value", "by_chance", "between_sources", "between_cases",
    "sampling", "standard_error_case", "standard_error_source", "cost_usd"))
# What was declared stands as it was given.
DECLARED = frozenset(("min_gain", "margin", "score_range", "alpha", "level", "equivalence_level", "half_width"))


# The options of the command line that a comparison depends on, with what stands there where they are left out.
DEFAULTS: dict[str, Any] = {
    "min_gain": "0", "margin": "0", "gate": None, "must_pass": [], "look": None, "among": None, "plan": None,
    "missing": "refuse", "seed": str(SEED), "score_range": ["0", "1"], "skip_broken_lines": False, "tags": [],
    "ignore_input": False}


CHOICES = {"gate": (None, *decide.GATES), "missing": ("refuse", "drop", "zero")}


class Options(NamedTuple):
    """What a comparison depends on beside its two runs."""

    limits: Limits = Limits()
    plan: Fraction | None = None
    must_pass: tuple[tuple[str, str], ...] = ()
    missing: str = "refuse"
    seed: int = SEED
    tags: tuple[str, ...] = ()  # those to make slices of; none: those whose values repeat
    reading: trials.Reading = trials.Reading()
    given: Mapping[str, Any] = MappingProxyType(DEFAULTS)  # the words that stand for all this on the command line


def parse_options(given: Mapping[str, Any]) -> Options:
    """Return the options that the words of a command line, or a comparison's "options", stand for.

    Raises ValueError, in words for a person, where they are of no use.

    >>> parse_options({"margin": "0.05"}).limits.margin
    Fraction(1, 20)
    >>> parse_options({"margin": "5"})
    Traceback (most recent call last):
    ValueError: --margin 5 is not below the width of the score range, 1: in score units 5% is 0.05
    """
    words = DEFAULTS | dict(given)
    for name, value in words.items():
        default = DEFAULTS.get(name, 0)
        whole = isinstance(value, (str, type(None)) if default is None else type(default))
        texts = value if isinstance(value, list) else []
        if not whole or not all(isinstance(text, str) for text in texts) or value not in CHOICES.get(name, [value]):
            raise ValueError(f"{name} {value!r:.60} is no option")
    low, high = (_number("score_range", text) for text in words["score_range"])
    gain, margin, plan = (Fraction(_number(name, words[name] or "1")) for name in ("min_gain", "margin", "plan"))
    look: Any = re.fullmatch("([1-9]|10)/([2-9]|10)", words["look"] or "1/2")
    must_pass: list[Any] = [re.fullmatch(r"\s*(.*?)\s*=\s*(.*?)\s*", text, re.DOTALL) for text in words["must_pass"]]
    for broken, why in (
            (low >= high, "--score-range: LOW is below HIGH"),
            *((not 0 <= value < high - low, f"--{option} {words[name]} is " + (
                "below 0" if value < 0 else f"not below the width of the score range, {float(high - low):g}")
               + f": in score units 5% is {float(Fraction(high - low) / 20):g}")
              for option, name, value in (("min-gain", "min_gain", gain), ("margin", "margin", margin))),
            (plan <= 0, "--plan is above 0"),
            (words["gate"] in ("not-worse", "equivalent") and not margin,
             f"--gate {words['gate']} needs --margin, the loss that is tolerated"),
            (not look or int(look[1]) > int(look[2]), f"--look {words['look']}: give K/N, look K of N, N from 2 to 10"),
            (not re.fullmatch("[2-9]|[1-9][0-9]{1,5}", words["among"] or "2"),
             f"--among {words['among']}: give the number of candidates, 2 or more"),
            (not all(pair and pair[1] and pair[2] for pair in must_pass),
             f"--must-pass {', '.join(words['must_pass'])}: give TAG=VALUE"),
            (not re.fullmatch("-?[0-9]{1,40}", words["seed"]), f"--seed {words['seed']}: give a whole number")):
        if broken:
            raise ValueError(why)
    limits = Limits(gain, margin, words["gate"], words["look"] and (int(look[1]), int(look[2])),
                    words["among"] and int(words["among"]))
    return Options(limits, words["plan"] and plan, tuple((pair[1], pair[2]) for pair in must_pass), words["missing"],
                   int(words["seed"]), tuple(words["tags"]),
                   trials.Reading((low, high), words["skip_broken_lines"], words["ignore_input"]), words)


def _number(name: str, text: str) -> trials.Score:
    try:
        return trials.score_bound(text)
    except (ValueError, OverflowError):
        raise ValueError(f"--{name.replace('_', '-')} {text}: not a number up to 1e100; in score units, with a point: "
                         "of scores from 0 to 1, 5% is 0.05") from None


# === Pure computation ===


def shares(scores: Sequence[Sequence[Trial]]) -> list[Fraction]:
    """Return the share of each case: the mean score of its trials, however many they are.

    >>> shares([[Trial(1001, 1, None, None, {}, None), Trial(1002, 0, None, None, {}, None)]])
    [Fraction(1, 2)]
    """
    return [Fraction(sum(trial.score or 0 for trial in case)) / len(case) for case in scores]


def on_grid(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return values as whole numbers over their least common denominator.

    >>> on_grid([Fraction(1, 2), Fraction(-1, 5)])
    ([5, -2], 10)
    """
    unit = math.lcm(*{value.denominator for value in values})
    return [value.numerator * (unit // value.denominator) for value in values], unit


def trial_pairs(pair: Pair) -> dict[str, int] | None:
    """Return the trial pairs by outcome; None where scores are not pass or fail. Assumes that trials pair."""
    counts = {(1, 1): 0, (1, 0): 0, (0, 1): 0, (0, 0): 0}
    for left, right in zip(pair.baseline.trials, pair.candidate.trials, strict=True):
        for one, other in zip(left, right, strict=True):
            outcome = one.score, other.score
            if outcome not in counts:
                return None
            counts[outcome] += 1
    return dict(zip(("both_pass", "only_baseline", "only_candidate", "neither"), counts.values(), strict=True))


class Differences(NamedTuple):
    """What every figure is computed from: shares and difference of each case, and the source group it belongs to."""

    baseline: list[Fraction]
    candidate: list[Fraction]
    numerators: list[int]  # the difference of case i is numerators[i] / unit
    unit: int
    group_of: list[int]

    def groups(self) -> list[tuple[int, int]]:
        """Return (number of cases, sum of numerators) of each source group."""
        inside: dict[int, list[int]] = {}
        for group, numerator in zip(self.group_of, self.numerators, strict=True):
            inside.setdefault(group, []).append(numerator)
        return [(len(numerators), sum(numerators)) for numerators in inside.values()]

    def of(self, cases: Sequence[int]) -> "Differences":
        """Return those of some cases, on the coarsest grid that holds them."""
        baseline, candidate, numerators, group_of = (
            [values[i] for i in cases] for values in (self.baseline, self.candidate, self.numerators, self.group_of))
        step = math.gcd(self.unit, *numerators)
        return Differences(baseline, candidate, [k // step for k in numerators], self.unit // step, group_of)


def differences(pair: Pair) -> Differences:
    """Return the shares and differences of a Pair whose every trial has a score."""
    baseline, candidate = shares(pair.baseline.trials), shares(pair.candidate.trials)
    return Differences(baseline, candidate, *on_grid(list(map(operator.sub, candidate, baseline))),
                       trials.sources(pair))


def resampled(numerators: Sequence[int], unit: int, stream: IndexStream | None) -> Interval:
    """Return the interval of seeded resamples, or without a stream that of the distribution they come from."""
    if stream is None:
        return intervals.exact_interval(numerators, unit)
    return intervals.sampled_interval(numerators, unit, stream)


def case_figures(diffs: Differences, stream: IndexStream | None) -> dict[str, Any]:
    """Return means, difference, cases by direction, the two intervals by case and the sign-flip interval by source."""
    n, numerators, groups = len(diffs.numerators), diffs.numerators, diffs.groups()
    by_case = resampled(numerators, diffs.unit, stream)
    exact = by_case if stream is None else intervals.exact_interval(numerators, diffs.unit)
    flip = intervals.sign_flip(groups, diffs.unit)
    return {
        "cases": n, "baseline": sum(diffs.baseline) / n, "candidate": sum(diffs.candidate) / n,
        "difference": Fraction(sum(numerators), n * diffs.unit),
        "interval_95": by_case.interval, "interval_method": by_case.method,
        "better": sum(k > 0 for k in numerators), "worse": sum(k < 0 for k in numerators), "same": numerators.count(0),
        "exact_interval_95": exact.interval, "exact_method": exact.method,
        "source_sign_flip": {"interval_95": flip.interval, "p_value": flip.tail, "groups": len(groups),
                             "method": flip.method, "reason": flip.reason},
    }


def measure_figures(pair: Pair, diffs: Differences, latency: str | None = None) -> dict[str, Any]:
    """Return cost, latency and tokens a case, with the paired difference, over the cases where both sides have them.

    The interval is the t interval of the standard error by source: these are not what is decided on, and have no few
    values that a bootstrap would need. None with the reason, for latency the one given.
    """
    figures = {}
    for name in trials.MEASURES:
        means: list[tuple[Fraction, Fraction]] = []
        sums: dict[int, list[Fraction]] = {}  # the differences by source group
        for group, *case in zip(diffs.group_of, pair.baseline.trials, pair.candidate.trials, strict=True):
            measured = [[trial.measures[name] for trial in side if name in trial.measures] for side in case]
            if all(measured):
                before, after = (Fraction(math.fsum(values)) / len(values) for values in measured)
                means.append((before, after))
                sums.setdefault(group, []).append(after - before)
        if not means:
            continue
        before, after = (sum(side) / len(means) for side in zip(*means, strict=True))
        reason = latency if name == "latency_s" else None
        reason = reason or ("one source shows no spread between sources" if len(sums) < 2 else None)
        interval = None if reason else decide.t_interval([(len(numerators), sum(numerators, Fraction(0))) for numerators in sums.values()])
        figures[name] = {"cases": len(means), "baseline": before, "candidate": after, "difference": after - before,
                         "interval_95": interval, "reason": reason}
    return figures


def by_trial(scores: Sequence[Scores], stream: IndexStream | None) -> Interval:
    """Return the interval as if every trial were independent, for contrast only; trials pair."""
    pairs = (pair for case in zip(*scores, strict=True) for pair in zip(*case, strict=True))
    return resampled(*on_grid([Fraction(after) - before for before, after in pairs]), stream)


def overall_figures(diffs: Differences, scores: Sequence[Scores], unpaired: str | None,
                    stream: IndexStream | None) -> dict[str, Any]:
    """Return the figures over all cases; the stream serves by case, then by trial."""
    overall = case_figures(diffs, stream)
    trial_level = None if unpaired else by_trial(scores, stream)
    groups = diffs.groups()
    by_source = intervals.source_interval(groups, diffs.unit)
    return overall | {
        "trial_level_interval_95": trial_level and trial_level.interval,
        "trial_level_method": trial_level and trial_level.method, "trial_level_reason": unpaired,
        "source_groups": len(groups), "source_cluster_method": by_source.method,
        "source_cluster_interval_95": by_source.interval, "source_no_gain_share": by_source.tail,
        "exact_distribution": intervals.exact_distribution(diffs.numerators, diffs.unit)._asdict(),
    }


def slice_figures(diffs: Differences, slice_cases: dict[tuple[str, str], list[int]], unscored: dict[str, list[int]],
                  sample: chance.VeryCases, stream: IndexStream | None) -> tuple[dict[str, Any], str | None, int]:
    """Return the slices by tag and value, how their p-values were adjusted, and how many different ones there are.

    Takes the cases of each (tag, value), and the unscored trials of each case by side. Slices of the same cases name
    each other and count once. A slice of too few source groups makes no claim: it has no adjusted p-value, and takes
    no part in the adjustment of the others. That holds of new sources; of these very cases each slice has its p-value.
    """
    same: dict[tuple[int, ...], list[str]] = {}
    for (tag, value), cases in slice_cases.items():
        same.setdefault(tuple(cases), []).append(f"{tag}: {value}")
    slices: dict[str, Any] = {}
    claiming: dict[tuple[int, ...], list[list[int]]] = {}
    for (tag, value), cases in slice_cases.items():
        part = diffs.of(cases)
        figures = case_figures(part, stream)
        figures |= {
            "few_cases": len(cases) < decide.FEW_CASES, "source_groups": len({*part.group_of}),
            "adjusted_p_value": None, "smallest_adjusted_p_value": None,
            "same_cases_as": [name for name in same[tuple(cases)] if name != f"{tag}: {value}"],
            "incomplete": {side: sum(counts[i] for i in cases) for side, counts in unscored.items()},
            "these_cases": chance.these_cases(sample, cases, figures["difference"]) | {"adjusted_p_value": None},
        }
        slices.setdefault(tag, {})[value] = figures
        if figures["source_sign_flip"]["interval_95"]:
            sums, sizes = claiming[tuple(cases)] = [[0] * (max(diffs.group_of) + 1) for _ in range(2)]
            for i in cases:
                sums[diffs.group_of[i]] += diffs.numerators[i]
                sizes[diffs.group_of[i]] += 1
    these = {tuple(cases): slices[tag][value]["these_cases"]["p_value"] for (tag, value), cases in slice_cases.items()}
    holm = dict(zip(these, chance.holm(list(these.values())), strict=True)) if None not in these.values() else {}
    moved, all_of = ([columns[at] for columns in claiming.values()] for at in (0, 1))
    p_values, method = intervals.adjusted_p_values(moved) if claiming else ([], None)
    adjusted = dict(zip(claiming, zip(p_values, intervals.smallest_p_values(moved, all_of), strict=True), strict=True))
    for (tag, value), cases in slice_cases.items():
        figures, key = slices[tag][value], tuple(cases)
        figures["these_cases"]["adjusted_p_value"] = holm.get(key)
        figures["adjusted_p_value"], figures["smallest_adjusted_p_value"] = adjusted.get(key, (None, None))
    return slices, method, len(same)


def evidence(diffs: Differences, score_range: Sequence[trials.Score]) -> Evidence:
    """Return the differences by source, with what the baseline's best source has and its worst one lacks."""
    cases: dict[int, list[Fraction]] = {}
    for group, share in zip(diffs.group_of, diffs.baseline, strict=True):
        cases.setdefault(group, []).append(share)
    means = [sum(shares) / len(shares) for shares in cases.values()]
    return Evidence(diffs.groups(), diffs.unit, max(means) - score_range[0],
                    score_range[1] - min(means))


def source_rows(pair: Pair, diffs: Differences) -> list[dict[str, Any]] | None:
    """Return what each source scores, in the order of its first case; None where no case names a source."""
    if all(case.source is None for case in pair.cases):
        return None
    members: dict[int, list[int]] = {}
    for i, group in enumerate(diffs.group_of):
        members.setdefault(group, []).append(i)
    return [{"source": pair.cases[cases[0]].source, "cases": len(cases),
             **{side: sum(shares[i] for i in cases) / len(cases)
                for side, shares in zip(trials.SIDES, (diffs.baseline, diffs.candidate), strict=True)},
             "difference": Fraction(sum(diffs.numerators[i] for i in cases), diffs.unit * len(cases))}
            for cases in members.values()]


def compare_pair(as_read: Pair, options: Options = Options(), task: Any = None,
                 temperatures: tuple[float | None, float | None] = (None, None),
                 latency: str | None = None) -> dict[str, Any]:
    """Return the comparison of a Pair, every figure rounded; RunError where something is missing that may not be.

    task is {"name", "sha256"} of run records, temperatures the two systems' settings where they are known, latency why
    the two runs' latencies do not compare, if so.
    """
    must_pass = chance.must_pass(as_read, options.must_pass)
    pair, excluded = trials.apply_missing(as_read, options.missing)
    slice_cases, notes = trials.slices(pair, options.tags)
    pair = pair._replace(notes=pair.notes + notes)
    diffs = differences(pair)
    worlds = decide.alone(evidence(diffs, pair.score_range))
    if task is None and options.missing != "refuse":  # what is missing from run records is an outcome of the model
        worlds = worlds._replace(**{name: evidence(differences(trials.filled(as_read, for_candidate)),
                                                   pair.score_range)
                                    for name, for_candidate in (("against", False), ("favour", True))})
    comparison = {
        "comparison_version": COMPARISON_VERSION, "resamples": RESAMPLES, "seed": options.seed,
        **figures(as_read, pair, diffs, slice_cases, options),
        "tool_version": files.TOOL_VERSION, "task": task,
        "logs": {"baseline": pair.baseline.logs, "candidate": pair.candidate.logs},
        "score_range": list(pair.score_range), "missing": options.missing, "excluded": excluded,
        "uneven_trials": trials.uneven_trials(pair), "options": dict(options.given),
        "must_pass": must_pass or None,
        "decision": decide.decision(worlds, options.limits, any(case.source is not None for case in pair.cases),
                                    [row["case_id"] for rule in must_pass for row in rule["failed"]]
                                    if must_pass else None),
        "measures": measure_figures(pair, diffs, latency),
    }
    comparison["warnings"] = caution.warnings(comparison, pair, diffs.group_of, temperatures)
    return dict(rounded(comparison, places=trials.shown_places(*pair.score_range)))


def figures(as_read: Pair, pair: Pair, diffs: Differences, slice_cases: dict[tuple[str, str], list[int]],
            options: Options) -> dict[str, Any]:
    """Return what the two runs show, overall, by slice and by case, beside what is decided."""
    unpaired = trials.unpaired_reason(pair)
    scores = [[[trial.score or 0 for trial in case] for case in side.trials] for side in pair.sides]
    kept = {case.id for case in pair.cases}
    unscored = {}
    for name, side in zip(trials.SIDES, as_read.sides, strict=True):
        counts = zip(as_read.cases, decide.incomplete_per_case(side.trials), strict=True)
        unscored[name] = [count for case, count in counts if case.id in kept]
    luck = chance.shared_luck(pair, not unpaired)
    sample = chance.very_cases(pair, not unpaired, luck)

    # One generator serves them all, in this order: the published figures depend on it.
    drawn = max(sum(map(len, side)) for side in scores) <= MOST_DRAWN
    stream = IndexStream(options.seed) if drawn else None
    overall = overall_figures(diffs, scores, unpaired, stream)
    slices, adjusted_method, compared = slice_figures(diffs, slice_cases, unscored, sample, stream)
    overall["these_cases"] = chance.these_cases(sample, range(len(pair.cases)), overall["difference"])

    pairs, passes = None if unpaired else trial_pairs(pair), chance.pass_counts(*scores)
    lengths = {len(case) for side in scores for case in side}
    groups = diffs.groups()
    has_sources = any(case.source is not None for case in pair.cases)
    return {
        "case_set": pair.case_set, "trials": lengths.pop() if len(lengths) == 1 else None,
        "baseline": pair.baseline.description, "candidate": pair.candidate.description,
        "overall": overall,
        "trial_pairs": pairs, "trial_pairs_reason": unpaired or (None if pairs else "scores are not pass or fail"),
        "slices": slices,
        "cases": [{"case_id": case.id, "baseline": diffs.baseline[i], "candidate": diffs.candidate[i],
                   "source": case.source, "difference": Fraction(diffs.numerators[i], diffs.unit),
                   "by_chance": passes and chance.by_chance(*passes[i])}
                  for i, case in enumerate(pair.cases) if diffs.numerators[i]],
        "sources": source_rows(pair, diffs), "slices_compared": compared, "adjusted_method": adjusted_method,
        "shared_luck": luck, "consistency": chance.consistency(pair),
        "changed_by_chance": chance.changed_by_chance(passes),
        "noise_floor": chance.noise_floor(scores[0], diffs.group_of, options.limits, pair.score_range, options.seed),
        **decide.planning(decide.Recorded(diffs.numerators, diffs.unit, groups, scores[0], scores[1], not unpaired,
                                        has_sources), options.limits.alpha, options.plan),
        "incomplete": decide.incomplete(as_read.baseline.trials, as_read.candidate.trials, pair.score_range),
        "nothing_moved": decide.nothing_moved(diffs.numerators, groups),
    }


def compare(baseline: dict[str, Any], candidate: dict[str, Any], case_set: CaseSet, options: Options = Options(),
            names: tuple[str, str] = ("baseline", "candidate")) -> dict[str, Any]:
    """Return the comparison of two run records; raise RunError, by name and value, unless they were measured alike.

    An incomplete trial does not pass: it counts as zero and is reported apart.
    """
    harness.refuse_unlike_runs(baseline, candidate, case_set, names)
    pair = trials.from_records(baseline, candidate, case_set)
    return compare_pair(pair, options._replace(missing="zero"), baseline["manifest"]["task"],
                        (harness.temperature(baseline["manifest"]), harness.temperature(candidate["manifest"])),
                        other_load(baseline, candidate))


def other_load(baseline: dict[str, Any], candidate: dict[str, Any]) -> str | None:
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


# === Formatting ===


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


def format_json(comparison: dict[str, Any]) -> str:
    """Return a comparison as the text of its file."""
    return json.dumps(comparison, indent=2, allow_nan=False) + "\n"


def _places(comparison: dict[str, Any]) -> int:
    low, high = (Fraction(str(end)) for end in comparison["score_range"])  # 0.01, not the binary float beside it
    return trials.shown_places(low, high)


def format_line(comparison: dict[str, Any]) -> str:
    """Return the comparison in one line: the difference, its interval by case, the cases by direction."""
    overall, places = comparison["overall"], _places(comparison)
    change, low, high = (f"{value:+.{places}f}" for value in (overall["difference"], *overall["interval_95"]))
    return (f"difference {change} (95% interval {low} to {high}) over {overall['cases']} "
            f"cases; better {overall['better']}, worse {overall['worse']}, same {overall['same']}")


def verdict_lines(comparison: dict[str, Any]) -> list[str]:
    """Return the verdict in a line, and where there is a gate whether it is met, and why not, in another."""
    decision, places = comparison["decision"], _places(comparison)
    unit, ends = decision["unit"], decision["interval"]
    span = " to ".join(f"{end:+.{places}f}" for end in ends) if ends else "no interval"
    lines = [f"verdict: {decision['verdict']}; by {unit} {span} ({decision['groups']} "
             f"{unit}{'s' * (decision['groups'] != 1)})"]
    if decision["reason"] and decision["gate_met"] is None and (decision["margin"] or not ends):
        lines[0] += f"; {decision['reason']}"
    if decision["gate_met"] is not None:
        unsure = ", the data cannot tell" * (not decision["gate_contradicted"])
        lines.append(f"gate: {decision['gate'] or 'must pass'}, " + (
            "met" if decision["gate_met"] else f"not met{unsure}: {decision['gate_reason']}"))
    return lines


# === Command line ===


def trial_log(text: str) -> tuple[str | None, str]:
    """Return the side that a trial log is for, None for both, and its path.

    >>> trial_log("baseline=a.jsonl"), trial_log("odd=name.jsonl")
    (('baseline', 'a.jsonl'), (None, 'odd=name.jsonl'))
    """
    side, equals, path = text.partition("=")
    return (side, path) if equals and side in trials.SIDES else (None, text)


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "compare.py")
    parser.add_argument("baseline", metavar="BASELINE", help="run record, log or shards (a,b), or a config")
    parser.add_argument("candidate", metavar="CANDIDATE", help="the same of the candidate")
    what = parser.add_argument_group("what is compared")
    what.add_argument("--cases", metavar="FILE", help="case set of the run records or logs")
    what.add_argument("--task", metavar="MODULE", help="refuse runs that another task graded")
    what.add_argument("--trials", action="append", type=trial_log, metavar="[SIDE=]FILE",
                      help="trial log, of one side or both; repeatable")
    what.add_argument("--score-range", nargs=2, metavar=("LOW", "HIGH"), help="of trial logs (default: 0 1)")
    what.add_argument("--missing", choices=CHOICES["missing"], metavar="POLICY",
                      help="unscored: refuse (default), drop, or zero")
    what.add_argument("--skip-broken-lines", action="store_true", help="list such lines of a trial log")
    what.add_argument("--ignore-input", action="store_true", help="pair by task_id though inputs differ")
    what.add_argument("--tag", action="append", dest="tags", metavar="NAME", help="slice by this tag only; repeatable")
    decision = parser.add_argument_group("the decision; declare it before you look")
    decision.add_argument("--min-gain", metavar="G", help="gain worth shipping, in score units (0)")
    decision.add_argument("--margin", metavar="M", help="loss tolerated, in score units (none)")
    decision.add_argument("--gate", choices=decide.GATES, metavar="CLAIM", help="better, not-worse or equivalent")
    decision.add_argument("--must-pass", action="append", metavar="TAG=VALUE",
                          help="slice that passes all trials; repeatable")
    decision.add_argument("--look", metavar="K/N", help="K-th of N planned looks, N from 2 to 10")
    decision.add_argument("--among", metavar="M", help="one of M candidates for this baseline")
    decision.add_argument("--plan", metavar="H", help="say what an interval of +-H would need")
    decision.add_argument("--seed", help=f"of whatever is sampled ({SEED})")
    out = parser.add_argument_group("what comes out, beside the one line")
    out.add_argument("--out", metavar="FILE", help="write comparison.json")
    out.add_argument("--json", action="store_true", help="print that in place of the line")
    out.add_argument("--table", action="store_true", help="print all of it as text")
    out.add_argument("--markdown", metavar="FILE", help="write a pull request comment")
    out.add_argument("--html", metavar="FILE", help="write one self-contained page")
    out.add_argument("--check", metavar="FILE", help="nothing but: does this one come out again?")
    return parser


Source = Pair | tuple[dict[str, Any], dict[str, Any], CaseSet]  # trial logs, or two run records and their case set


def read_inputs(args: argparse.Namespace, options: Options) -> tuple[dict[str, Any], Source]:
    """Return the comparison that the command asks for, and what it was made from."""
    names = args.baseline, args.candidate
    if not args.trials:
        case_set = harness.load_cases(args.cases)
        baseline, candidate = (harness.read_run(name, case_set, args.cases) for name in names)
        for name, record in zip(names, (baseline, candidate), strict=True):
            if args.task:
                harness.load_task(args.task, record["manifest"], name)
        return compare(baseline, candidate, case_set, options, names), (baseline, candidate, case_set)
    pair = trials.read_trial_logs(args.trials, *names, options.reading)
    return compare_pair(pair, options), pair


def write_reports(args: argparse.Namespace, comparison: dict[str, Any], source: Source) -> None:
    """Write what --table, --markdown and --html ask for."""
    from views import page, text, words  # only here: a plain comparison starts faster without them

    if args.table or args.markdown:
        story = words.Words(comparison).story()
    if args.table:
        print(text.story_text(story, **text.terminal_settings(sys.stdout)), end="")
    if args.markdown:
        files.write("a Markdown report", args.markdown, text.story_markdown(story))
    if args.html:
        if isinstance(source, Pair):
            html = page.html_report(comparison, page.pair_panel(source), [])
        else:
            html = page.html_report(comparison, page.record_panel(*source), [run["manifest"] for run in source[:2]])
        files.write("a page", args.html, html)


def leaves(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield (keys and indices that lead there, JSON text) of each value within a JSON value that holds no other."""
    inside = value.items() if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else ()
    if not inside:
        yield place, json.dumps(value)
    for key, item in inside:
        yield from leaves(item, (*place, key))


def first_difference(one: Any, other: Any) -> str:
    """Return the place of the first value in which two JSON values differ, with both; "" where none does.

    >>> first_difference({"a": [1, 2], "b": 0}, {"a": [1, 3], "b": 1})
    'a[1]: 2 and 3'
    """
    known, found = dict(leaves(one)), dict(leaves(other))
    for place in {**found, **known}:
        pair = [side.get(place, "nothing") for side in (known, found)]
        if pair[0] != pair[1]:
            name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place).lstrip(".")
            return f"{name}: {pair[0]:.200} and {pair[1]:.200}"
    return ""


def check(args: argparse.Namespace) -> int:
    """Say whether a comparison comes out of what it names again, its tool_version set aside; raise RunError if not."""
    saved = files.expect("a comparison", files.read_bytes(args.check), args.check, "make one with compare.py --out")
    version = saved["comparison_version"]
    if version != COMPARISON_VERSION:
        raise files.RunError(f"{args.check}: comparison_version {version!r:.60}, and this tool makes "
                             f"{COMPARISON_VERSION!r}; check it with the version that made it")
    try:
        options = parse_options(saved["options"])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise files.RunError(f"{args.check}: options: {error}; make it again with compare.py --out") from None
    fresh = json.loads(format_json(read_inputs(args, options)[0]))
    found = first_difference(*({**one, "tool_version": None} for one in (saved, fresh)))
    if found:
        raise files.RunError(f"{args.check} and what comes out now differ in {found}; find out which was changed, the "
                             "comparison, what it was made from, or the tool")
    print(files.line_of(f"{args.check}: the same"))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if bool(args.trials) == bool(args.cases):
        parser.error("give --cases with two run records, or --trials with two configs")
    if args.task and args.trials:
        parser.error("--task says what graded run records; leave it out with --trials")
    given = {name: getattr(args, name) for name in DEFAULTS if getattr(args, name) not in (None, False)}
    if args.check is not None:
        if given or any((args.out, args.markdown, args.html, args.json, args.table)):
            parser.error("--check takes its options from the comparison, and writes nothing; leave the others out")
        return check(args)
    try:
        options = parse_options(given)
    except ValueError as error:
        parser.error(str(error))
    if args.json and args.table:
        parser.error("--json and --table both print to stdout; choose one")
    inputs = [path for _, path in args.trials or ()] or [
        args.cases, *harness.run_paths(args.baseline), *harness.run_paths(args.candidate)]
    outputs = [("a comparison", args.out), ("a Markdown report", args.markdown), ("a page", args.html)]
    files.check_outputs(outputs, inputs)
    comparison, source = read_inputs(args, options)
    if args.out:
        files.write("a comparison", args.out, format_json(comparison))
    print(format_json(comparison) if args.json else format_line(comparison) + "\n", end="")
    if args.table or args.markdown or args.html:
        write_reports(args, comparison, source)
    sys.stdout.flush()  # the result stands before the warnings about it
    told = [] if args.table else comparison["warnings"]  # the table has told them
    for line in (*verdict_lines(comparison), *(f"warning: {row['message']}; {row['advice']}" for row in told)):
        files.print_stderr(line)
    decision = comparison["decision"]
    return 0 if decision["gate_met"] is not False else 3 if decision["gate_contradicted"] else 4


if __name__ == "__main__":
    gc.disable()  # one comparison and out: its many small objects hold no cycles worth looking for
    sys.exit(files.run_command(main))
