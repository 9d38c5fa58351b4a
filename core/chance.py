"""What was only chance: how much would have moved had nothing but the sampling differed?

    $ python3 -c "from core import chance; print(round(chance.by_chance(0, 5, 5, 5), 6))"
    0.007937

Numbers in, a dict out for each key that `comparison.json` holds: exact or full floats, compare.py rounds. Reads, writes
and prints nothing. `baseline` and `candidate` hold the scores (int, Fraction) of each case's trials, in order;
`members` the index of each case's source group. Without sources each case is its own group.
"""

import functools
import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core.decide import (
    MIN_GROUPS, Z_95, Evidence, Limits, Number, Record, Scores, alone, claim_of, holds, text,
)
from core.files import RunError
from core.intervals import SEED, InvertedSum, flip_p_value
from core.trials import SIDES, Pair, Side, Trial, trial_numbers

LUCK_TRIALS = 4                # fewer show too little of whether trials of different cases move together
LUCK_RATIO, LUCK_P = 2, 0.01   # beyond, they do
NOTHING_DECLARED = Limits()
NOT_THERE = ...                # the answer of a trial that a case lacks
ALIKE_BY_CHANCE = 0.05         # pairs of trial numbers expected to agree everywhere; fewer, and agreeing is no chance


# === One case ===

def pass_counts(baseline: Scores, candidate: Scores) -> list[tuple[int, int, int, int]] | None:
    """Return (baseline passes, trials, candidate passes, trials) of each case; None if a score is neither 0 nor 1."""
    if any(score not in (0, 1) for side in (baseline, candidate) for scores in side for score in scores):
        return None
    return [(int(sum(b)), len(b), int(sum(c)), len(c)) for b, c in zip(baseline, candidate, strict=True)]


@functools.lru_cache(maxsize=1024)
def _deals(passes: int, in_baseline: int, in_candidate: int) -> tuple[int, Sequence[float]]:
    """Return the least passes that the candidate can be dealt, and the share of deals of each number from there on.

    >>> _deals(1, 1, 3)                    # none in one of four deals, one in three
    (0, [0.25, 0.75])
    """
    low, high = max(0, passes - in_baseline), min(passes, in_candidate)
    mode = min(high, max(low, (passes + 1) * (in_candidate + 1) // (in_baseline + in_candidate + 2)))
    up, down = [1.0], [1.0]                # relative to the likeliest number, for others may be too small for a float
    for c in range(mode, high):
        up.append(up[-1] * (in_candidate - c) * (passes - c) / ((c + 1) * (in_baseline - passes + c + 1)))
    for c in range(mode, low, -1):
        down.append(down[-1] * c * (in_baseline - passes + c) / ((in_candidate - c + 1) * (passes - c + 1)))
    weights = down[:0:-1] + up
    whole = math.fsum(weights)
    return low, [weight / whole for weight in weights]


@functools.lru_cache(maxsize=4096)         # ten thousand cases of five trials ask a few dozen different questions
def by_chance(passes_baseline: int, trials_baseline: int, passes_candidate: int, trials_candidate: int) -> float:
    """Return how often the passes of both runs together split at least as unevenly if nothing but sampling differs.

    Hypergeometric (Fisher 1935, given the total); two-sided, by the size of the difference of shares.

    >>> round(by_chance(0, 5, 5, 5), 6), by_chance(3, 5, 4, 5)         # 1 / 126; any deal of 7 passes
    (0.007937, 1.0)
    """
    passes = passes_baseline + passes_candidate
    low, shares = _deals(passes, trials_baseline, trials_candidate)
    least = abs(passes_candidate * trials_baseline - passes_baseline * trials_candidate)
    return min(1.0, math.fsum(share for c, share in enumerate(shares, low)
                              if abs(c * trials_baseline - (passes - c) * trials_candidate) >= least))


def changed_by_chance(passes: list[tuple[int, int, int, int]] | None) -> Record:
    """Return how many cases moved by at least 1, 2, ... trials, and how many would have by sampling alone.

    passes as pass_counts gives them. The list ends where nothing moved and nothing (to 4 places) was expected to;
    it is None, with the reason, where moves cannot be counted in trials. most_telling is at_least of the row in which
    the two differ most, in standard deviations of a count; None where they are the same in all, as with one trial.

    >>> changed_by_chance([(0, 1, 1, 1), (1, 1, 1, 1)])
    {'trials_moved': [{'at_least': 1, 'observed': 1, 'expected': 1.0}], 'reason': None, 'most_telling': None}
    """
    if passes is None:
        return {"trials_moved": None, "most_telling": None, "reason": "scores are not pass or fail"}
    counts = {count for _, in_baseline, _, in_candidate in passes for count in (in_baseline, in_candidate)}
    if len(counts) > 1:
        why = f"cases have {min(counts)} to {max(counts)} trials"
        return {"trials_moved": None, "most_telling": None, "reason": why}
    trials = counts.pop()
    moved, expected = Counter(abs(c - b) for b, _, c, _ in passes), [0.0] * (trials + 1)
    for total, cases in Counter(b + c for b, _, c, _ in passes).items():
        low, shares = _deals(total, trials, trials)
        for c, share in enumerate(shares, low):
            expected[abs(2 * c - total)] += cases * share
    at_least = zip(*(list(itertools.accumulate(counts[:0:-1]))[::-1] for counts in (
        [moved[by] for by in range(trials + 1)], expected)), strict=True)
    rows = [{"at_least": least, "observed": observed, "expected": by_chance}
            for least, (observed, by_chance) in enumerate(at_least, start=1) if observed or by_chance >= 0.00005]

    def surprise(row: Record) -> float:
        return float(abs(row["observed"] - row["expected"]) / math.sqrt(max(row["expected"], 1)))
    telling = max(reversed(rows), key=surprise, default=None)
    return {"trials_moved": rows, "reason": None,
            "most_telling": telling["at_least"] if telling and surprise(telling) > 1e-9 else None}


# === These very cases ===

def shared_luck(pair: Pair, paired: bool) -> Record:
    """Return whether one stream of chance pushed the cases of a trial together, over the trials that all cases have.

    Of the differences by trial where trials pair, else of each side alone: "ratio", the variance of the trials' sums to
    that of independent cases, and "p_value", its chi-squared tail with one degree of freedom less than trials. Where
    either tells of shared luck, these_cases is "withheld". Each side's own ratio stands beside; what cannot be had is
    None.

    >>> together = Side({}, [[Trial(t, t % 2) for t in range(4)] for _ in range(5)], [])
    >>> found = shared_luck(Pair([], together, together, (0, 1), {}, []), False)
    >>> found["baseline"]["ratio"], found["withheld"], found["reason"]
    (5.0, True, 'trials of different cases move together, 5 times as much as independent cases would (p = 0.001817)')
    """
    sides = [_scores_of_all(side) for side in pair.sides]
    trials = min(len(scores[0]) for scores in sides)
    found: Record = {"trials": trials, "paired": paired} | dict.fromkeys(
        ("ratio", "p_value", "baseline", "candidate")) | {"withheld": False, "reason": None}
    if trials < LUCK_TRIALS:
        one_seed = any(len({trial.seed for case in side.trials for trial in case}) < sum(map(len, side.trials))
                       for side in pair.sides if len(side.trials) > 1)
        return found | {"reason": "one seed for all cases: cannot be checked" if one_seed else None}
    checked = found["baseline"], found["candidate"] = [_luck(scores) for scores in sides]
    if paired:
        checked = [_luck([tuple(map(operator.sub, *case)) for case in zip(*reversed(sides), strict=True)])]
        found |= checked[0]
    alarms = [luck for luck in checked if luck["ratio"] is not None
              and (luck["ratio"] > LUCK_RATIO or luck["p_value"] < LUCK_P)]
    if alarms:
        worst = min(alarms, key=operator.itemgetter("p_value"))
        found |= {"withheld": True, "reason": f"trials of different cases move together, {text(worst['ratio'])} times "
                  f"as much as independent cases would (p = {text(worst['p_value'])})"}
    return found


def _scores_of_all(side: Side) -> list[tuple[Number, ...]]:
    """Return the scores of each case's trials, of the numbers alone that all cases have."""
    numbers = trial_numbers(side)
    common = set[int].intersection(*map(set, {tuple(case) for case in numbers}))
    return [tuple([trial.score or 0 for trial, number in zip(case, of_case, strict=True) if number in common])
            for case, of_case in zip(side.trials, numbers, strict=True)]


def _luck(scores: Sequence[tuple[Number, ...]]) -> Record:
    """Return ratio and p-value of scores by case and trial; None where no case varies."""
    trials, together = len(scores[0]), _squares([sum(column) for column in zip(*scores, strict=True)])
    apart = math.fsum(_squares(row) * cases for row, cases in Counter(scores).items())
    if not apart:
        return {"ratio": None, "p_value": None}
    return {"ratio": together / apart, "p_value": chi_squared_tail(together / apart * (trials - 1), trials - 1)}


def _squares(values: Sequence[Number]) -> float:
    """Return the sum of squared distances from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def chi_squared_tail(value: float, df: int) -> float:
    """Return P(chi-squared with df degrees of freedom >= value), by recurrence (Abramowitz & Stegun 1964, 26.4.8).

    >>> round(chi_squared_tail(3.841, 1), 3), round(chi_squared_tail(9.488, 4), 3)
    (0.05, 0.05)
    """
    half = value / 2
    tail = math.erfc(math.sqrt(half)) if df % 2 else math.exp(-half)
    if half:
        tail += math.fsum(math.exp((k / 2) * math.log(half) - half - math.lgamma(k / 2 + 1))
                          for k in range(1 if df % 2 else 2, df - 1, 2))
    return min(1.0, tail)


class VeryCases(NamedTuple):
    """What sampling alone could have made of each case, ready to be asked of all of them or of a slice."""
    units: Sequence[list[int]]       # the differences of each case that could have had either sign, on one grid
    passes: list[tuple[int, int, int, int]] | None     # instead of units where trials do not pair
    variances: Sequence[float | None]      # of each case's difference, by sampling; None with a single trial
    reason: str | None               # why nothing can be said


def very_cases(pair: Pair, paired: bool, luck: Record) -> VeryCases:
    """Return the units of chance of each case.

    Where trials pair, baseline and candidate are exchangeable within each pair if nothing but the sampling differs: its
    difference may have either sign. What is one draw is one unit: all trials of a case whose outputs are alike on both
    sides, and trial numbers that give the same answers in all cases.
    """
    rows = [[[trial.score or 0 for trial in case] for case in side.trials] for side in pair.sides]
    reason = luck["reason"] if luck["withheld"] else None
    if not paired:
        passes = pass_counts(*rows)
        variance = functools.cache(lambda case: _variance_of_mean([[score] for score in case]))
        known = zip(*([variance(tuple(case)) for case in side] for side in rows), strict=True)
        return VeryCases([], passes, [None if None in both else sum(both) for both in known],
                         reason or (None if passes else "trials do not pair, and scores are not pass or fail"))
    alike, numbers, most = alike_trials(pair), trial_numbers(pair.baseline), math.lcm(*{len(case) for case in rows[0]})
    whole = math.lcm(*{score.denominator for side in rows for case in side for score in case})

    @functools.cache                       # of thousands of cases most have the same few differences
    def chance_of(each: tuple[tuple[int, int], ...], one_draw: bool) -> tuple[list[int], float | None]:
        by_number = dict(each)
        parts = [part for group in alike if (part := [by_number[number] for number in group if number in by_number])]
        variance = _variance_of_mean(parts)
        units = [sum(part) * most // len(each) for part in ([[*by_number.values()]] if one_draw else parts)]
        return units, variance and variance / whole ** 2

    found = [chance_of(tuple([(n, int((c - b) * whole)) for n, b, c in zip(of_case, before, after, strict=True)]),
                       len(before) > 1 and all(map(_alike, outcomes)))
             for of_case, before, after, *outcomes in zip(
                 numbers, *rows, *(side.trials for side in pair.sides), strict=True)]
    units, variances = zip(*found, strict=True)
    return VeryCases(units, None, variances, reason)


def _variance_of_mean(parts: Sequence[Sequence[Number]]) -> float | None:
    """Return the variance of the mean of all trials, where those of one part are one draw; None of a single draw."""
    if len(parts) < 2:
        return None
    squares = _squares([sum(part) / len(part) for part in parts])
    trials = sum(map(len, parts))
    return squares / (len(parts) - 1) * sum(len(part) ** 2 for part in parts) / trials ** 2


def _alike(trials: Sequence[Trial]) -> bool:
    """Tell whether the outputs of these trials are known and the same, to the byte."""
    return trials[0].output is not None and len({trial.output for trial in trials}) == 1


def alike_trials(pair: Pair) -> list[list[int]]:
    """Return the numbers of trials, from 0, that give the same answers in all cases on both sides, grouped.

    An answer is the output where it is known, else the score. Numbers that agree because cases hardly vary stay apart:
    where more than ALIKE_BY_CHANCE pairs of numbers would agree everywhere if trials were independent.
    """
    numbers = trial_numbers(pair.baseline)
    trials = 1 + max(number for case in {tuple(case) for case in numbers} for number in case)
    columns: list[list[Any]] = [[NOT_THERE] * 2 * len(numbers) for _ in range(trials)]
    for at, side in enumerate(pair.sides):
        for i, (of_case, case) in enumerate(zip(numbers, side.trials, strict=True)):
            for number, trial in zip(of_case, case, strict=True):
                columns[number][2 * i + at] = trial.score if trial.output is None else trial.output
    lacking, groups = any(NOT_THERE in column for column in columns), dict[tuple[Any, ...], list[int]]()
    for number, column in enumerate(columns):
        like = [first for first, group in groups.items() if all(
            all(map(_agree, column, columns[member])) for member in group)] if lacking else []
        groups.setdefault(like[0] if like else tuple(column), []).append(number)
    if len(groups) < trials:
        answers = list(zip(*columns, strict=True))             # baseline and candidate of the first case, of the next
        chances = map(_agreeing, answers[::2], answers[1::2])
        if math.comb(trials, 2) * math.prod(chances) > ALIKE_BY_CHANCE:
            return [[number] for number in range(trials)]
    return list(groups.values())


def _agree(one: Any, other: Any) -> bool:
    return one == other or one is NOT_THERE or other is NOT_THERE


def _agreeing(before: Sequence[Any], after: Sequence[Any]) -> float:
    """Return how many of the pairs of trials that a case has give the same answers on both sides; 1 where none does."""
    there = Counter(both for both in zip(before, after, strict=True) if NOT_THERE not in both)
    count = there.total()
    return sum(n * (n - 1) for n in there.values()) / (count * (count - 1) or 1) or 1


def these_cases(sample: VeryCases, cases: Sequence[int], difference: Number) -> Record:
    """Return how often the difference on exactly these cases would be as large, had only the sampling differed.

    p_value: of sign flips of the trial pairs, for pass or fail the exact McNemar test on the pairs that disagree; where
    trials do not pair, of dealing each case's passes to the two runs. interval_95 is that of sampling alone, 1.96
    standard errors to each side. Both say nothing of other cases. None with the reason.
    """
    found: Record = dict.fromkeys(("p_value", "interval_95", "pairs", "disagree", "method"))
    found |= {"reason": sample.reason, "interval_reason": sample.reason}
    if sample.passes is None and sample.units:
        units = [sample.units[i] for i in cases]
        values = [value for case in units for value in case if value]
        moving = sum(map(any, units))
        found |= {"pairs": sum(map(len, units)), "disagree": len(values)}
    if sample.reason:
        return found
    if sample.passes is None:
        found["p_value"] = min(1, flip_p_value(values))
        found["method"] = "sign flips of trial pairs" if len({*map(abs, values)}) > 1 else "exact McNemar test"
    else:
        dealt = [sample.passes[i] for i in cases]
        moving = sum(0 < b + c < in_both + also for b, in_both, c, also in dealt)
        found["p_value"], found["method"] = _dealt(dealt), "passes of each case dealt to the two runs at random"
    variances = [variance for i in cases if (variance := sample.variances[i]) is not None]
    if len(variances) < len(cases):
        return found | {"interval_reason": "one trial a case shows no sampling"}
    if moving < MIN_GROUPS:
        return found | {"interval_reason": f"fewer than {MIN_GROUPS} cases with a pair of trials that disagrees"}
    reach = Z_95 * math.sqrt(math.fsum(variances)) / len(cases)
    return found | {"interval_95": [difference - reach, difference + reach]}


def _dealt(cases: Sequence[tuple[int, int, int, int]]) -> float:
    """Return how often the sum of the cases' differences is at least as large when passes are dealt at random.

    Right to 1e-12, and that much is added.
    """
    grid = math.lcm(*{count for _, in_baseline, _, in_candidate in cases for count in (in_baseline, in_candidate)})
    seen = abs(sum(c * (grid // in_candidate) - b * (grid // in_baseline) for b, in_baseline, c, in_candidate in cases))
    draws = []
    for (total, one, other), count in Counter((b + c, in_b, in_c) for b, in_b, c, in_c in cases).items():
        low, shares = _deals(total, one, other)
        draws.append((count, {c * (grid // other) - (total - c) * (grid // one): share
                              for c, share in enumerate(shares, low) if share > 1e-20}))
    found = InvertedSum(draws)
    return min(1.0, max(0.0, found.share(-seen) + 1 - found.share(seen - 1)) + 1e-12)


# === Cases that sometimes pass ===

def consistency(pair: Pair) -> Record:
    """Return how steadily each side passes; only the top of the score range passes.

    By side the number of cases that pass "always", "sometimes", "never", and "pass_hat_k": for k from 1 to the least
    number of trials the mean over cases of C(passes, k) / C(T, k), the chance that k trials all pass (Yao et al. 2024,
    arXiv:2406.12045). newly_unsteady are the cases that pass sometimes, and did not before; newly_steady the reverse.

    >>> from core.trials import ComparedCase
    >>> one, other = (Side({}, [[Trial(t, score) for t, score in enumerate(scores)]], [])
    ...               for scores in ([1, 1, 1], [1, 0, 1]))
    >>> consistency(Pair([ComparedCase("a", None, ())], one, other, (0, 1), {}, []))["newly_unsteady"]
    ['a']
    """
    counts = [[([trial.score for trial in case].count(pair.score_range[1]), len(case)) for case in side.trials]
              for side in pair.sides]
    most = min(trials for side in counts for _, trials in side)
    found: Record = {}
    for name, side in zip(SIDES, counts, strict=True):
        powers = [0.0] * most
        for (passes, trials), cases in Counter(side).items():
            one_more = ((passes - k) / (trials - k) for k in range(min(most, passes)))
            for k, chance in enumerate(itertools.accumulate(one_more, operator.mul)):
                powers[k] += chance * cases / len(side)
        always = sum(passes == trials for passes, trials in side)
        never = sum(not passes for passes, _ in side)
        found[name] = {"always": always, "sometimes": len(side) - always - never, "never": never, "pass_hat_k": powers}
    for name, (old, new) in (("newly_unsteady", counts), ("newly_steady", counts[::-1])):
        found[name] = [case.id for case, before, after in zip(pair.cases, old, new, strict=True)
                       if 0 < after[0] < after[1] and not 0 < before[0] < before[1]]
    return found | {"reason": None if most > 1 else "one trial a case: none can pass only sometimes"}


def must_pass(pair: Pair, wanted: Sequence[tuple[str, str]]) -> list[Record]:
    """Return, for each (tag, value), how many cases it has and which do not pass all trials of the candidate.

    pair is as it was read: a trial without a score, or one that the baseline has and the candidate lacks, has not
    passed. Raises RunError where a slice has no case.
    """
    found = []
    for tag, value in wanted:
        cases = [i for i, case in enumerate(pair.cases) if (tag, value) in case.tags]
        if not cases:
            raise RunError(f"--must-pass {tag}={value}: no case has this tag value; correct it, or leave it out")
        failed = []
        for i in cases:
            trials = pair.candidate.trials[i]
            passes, of = sum(trial.score == pair.score_range[1] for trial in trials), max(
                len(trials), len(pair.baseline.trials[i]))
            if passes < of:
                failed.append({"case_id": pair.cases[i].id, "passed": passes, "trials": of})
        found.append({"tag": tag, "value": value, "cases": len(cases), "failed": failed})
    return found


# === The baseline against itself ===

def noise_floor(baseline: Scores, members: list[int], limits: Limits = NOTHING_DECLARED,
                score_range: tuple[Number, Number] = (0, 1), seed: int = SEED) -> Record:
    """Return how large a difference the baseline shows against itself, and how often the gate answers that wrongly.

    Its trials are split in two halves of T // 2 (T odd: one stays out; uneven: the first min T count), by the same
    numbers for every case because trials of one number share a seed. Every split up to 200, fewer for many thousand
    groups, else as many seeded ones. gate_tripped_share is over both signs of each split: how often gate better would
    have been met; how often not-worse or equivalent would not; without a gate, how often better or worse was claimed.
    Two whole runs differ about 1 / sqrt(2) as much as halves. Figures that cannot be had are None, with the reason.

    >>> found = noise_floor([[0, 1], [1, 1], [1, 1]], [0, 1, 2])
    >>> found["splits"], found["largest_difference"], found["gate_tripped_share"], found["reason"]
    (1, Fraction(1, 3), None, 'groups: 3, too few for an interval to try a gate on')
    """
    trials, sizes = min(map(len, baseline)), Counter(members)
    half, gate = trials // 2, limits.gate
    result: Record = dict.fromkeys(("trials_per_half", "splits", "method", "mean_difference", "largest_difference",
                                    "gate", "gate_tripped_share", "reason")) | {"gate": gate}
    if not half:
        return result | {"reason": "one trial a case: no halves to compare"}
    unit = math.lcm(*{score.denominator for scores in baseline for score in scores}) * half
    cases = [sizes[group] for group in range(len(sizes))]
    columns = [[0] * len(sizes) for _ in range(trials)]                    # group sums of each trial number
    for group, scores in zip(members, baseline, strict=True):
        for column, score in zip(columns, scores, strict=False):           # of uneven trials the first count
            column[group] += score.numerator * (unit // half // score.denominator)
    splits, method = _splits(trials, min(200, max(10, 3_000_000 // (len(sizes) * trials))), seed)
    differences, tripped, enough = [], 0, len(sizes) >= limits.sources
    for numbers in splits:
        early, late = ([sum(sums) for sums in zip(*(columns[t] for t in half), strict=True)] for half in numbers)
        differences.append(Fraction(abs(sum(late) - sum(early)), len(baseline) * unit))
        if enough:
            tripped += sum(_answers_wrongly(_between(*halves, cases, unit, score_range), limits)
                           for halves in ((early, late), (late, early)))
    result |= {"trials_per_half": half, "splits": len(splits), "method": method,
               "mean_difference": sum(differences) / len(splits), "largest_difference": max(differences)}
    if not enough:
        return result | {"reason": f"groups: {len(sizes)}, too few for an interval to try a gate on"}
    return result | {"gate_tripped_share": Fraction(tripped, 2 * len(splits))}


def _between(before: list[int], after: list[int], cases: list[int], unit: int,
             score_range: tuple[Number, Number]) -> Evidence:
    """Return the differences by source of two halves of one run."""
    means = list(map(operator.truediv, before, cases))
    best, worst = (Fraction(before[group], cases[group] * unit) for group in (
        means.index(max(means)), means.index(min(means))))
    groups = list(zip(cases, map(operator.sub, after, before), strict=True))
    return Evidence(groups, unit, best - score_range[0], score_range[1] - worst)


def _answers_wrongly(seen: Evidence, limits: Limits) -> bool:
    """Tell whether the gate, or without one the verdict, takes two halves of one run for different."""
    wanted = [claim_of(limits.gate)] if limits.gate else ["better", "worse"]
    return any(holds(claim, alone(seen), limits) for claim in wanted) == (limits.gate in (None, "better"))


def _splits(trials: int, limit: int, seed: int) -> tuple[list[tuple[Sequence[int], Sequence[int]]], str]:
    """Return the unordered pairs of halves of range(trials), or `limit` seeded ones if there are more, and which."""
    half, numbers = trials // 2, range(trials)
    if math.comb(trials, half) * math.comb(trials - half, half) // 2 > limit:
        rng = random.Random(seed)
        draws = [rng.sample(numbers, 2 * half) for _ in range(limit)]
        return [(draw[:half], draw[half:]) for draw in draws], f"{limit} splits, seed {seed}"
    return [(early, late) for early in itertools.combinations(numbers, half)
            for late in itertools.combinations(sorted({*numbers} - {*early}), half) if early < late], "every split"
