"""What was only chance: how much would have moved had nothing but the sampling differed?

    $ python3 -c "from core import chance; print(round(chance.by_chance(0, 5, 5, 5), 6))"
    0.007937

Numbers in, a dict out for each key that `comparison.json` holds: exact or full floats, figures.py rounds. Reads, writes
and prints nothing. `baseline` and `candidate` hold the scores (int, Fraction) of each case's trials, in order;
`passes` counts those that are 1, where every score is 0 or 1.
"""

import functools
import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from core.decide import (
    MIN_GROUPS, Z_95, Differences, Evidence, Figures, Limits, Scores, evidence_of, holds, number_text, squares_of)
from core.intervals import InvertedSum, Number, flip_p_value
from core.trials import SIDES, Pair, Side, Trial, trial_numbers

LUCK_TRIALS = 4                # fewer show too little of whether trials of different cases move together
LUCK_RATIO, LUCK_P = 2, 0.01   # beyond, they do
DEALT_BLUR = 3e-4              # noise that may be added to a sum of dealt passes, of its standard deviation
ALIKE_BY_CHANCE = 0.05         # pairs of trial numbers expected to agree everywhere; fewer, and agreeing is no chance


def scores_of(pair: Pair) -> list[Scores]:
    """Return the scores of each side, by case and trial, after the missing policy."""
    return [[[trial.score or 0 for trial in case] for case in side.trials] for side in pair.sides]


# === One case ===

Passes = tuple[int, int, int, int]     # of a case: passes of the baseline, its trials, passes of the candidate, trials


def pass_counts(baseline: Scores, candidate: Scores) -> list[Passes] | None:
    """Return (baseline passes, trials, candidate passes, trials) of each case; None if a score is neither 0 nor 1."""
    if any(score not in (0, 1) for side in (baseline, candidate) for scores in side for score in scores):
        return None
    return [(int(sum(b)), len(b), int(sum(c)), len(c)) for b, c in zip(baseline, candidate, strict=True)]


def _deals(passes: int, in_baseline: int, in_candidate: int) -> dict[int, float]:
    """Return how often each difference comes out when so many passes are dealt to the trials of both runs at random.

    A difference of shares is in units of 1 / (in_baseline * in_candidate).

    >>> _deals(1, 1, 3)                    # one to the baseline in one of four deals, to the candidate in three
    {-3: 0.25, 1: 0.75}
    """
    low, high = max(0, passes - in_baseline), min(passes, in_candidate)
    whole, chances = math.comb(in_baseline + in_candidate, passes), dict[int, float]()
    ways = math.comb(in_candidate, low) * math.comb(in_baseline, passes - low)       # to deal so many to the candidate
    for c in range(low, high + 1):
        chances[c * in_baseline - (passes - c) * in_candidate] = ways / whole
        ways = ways * (in_candidate - c) * (passes - c) // ((c + 1) * (in_baseline - passes + c + 1))
    return chances


@functools.lru_cache(maxsize=4096)         # ten thousand cases of five trials ask a few dozen different questions
def by_chance(passes_baseline: int, trials_baseline: int, passes_candidate: int, trials_candidate: int) -> float:
    """Return how often the passes of both runs together split at least as unevenly if nothing but sampling differs.

    Hypergeometric (Fisher 1935, given the total); two-sided, by the size of the difference of shares.

    >>> round(by_chance(0, 5, 5, 5), 6), by_chance(3, 5, 4, 5)         # 1 / 126; any deal of 7 passes
    (0.007937, 1.0)
    """
    deals = _deals(passes_baseline + passes_candidate, trials_baseline, trials_candidate)
    least = abs(passes_candidate * trials_baseline - passes_baseline * trials_candidate)
    return min(1.0, math.fsum(chance for move, chance in deals.items() if abs(move) >= least))


def changed_by_chance(passes: list[Passes] | None) -> Figures:
    """Return how many cases moved by at least 1, 2, ... trials, and how many would have by sampling alone.

    passes as pass_counts gives them. The list ends where nothing moved and nothing (to 4 places) was expected to;
    it is None, with the reason, where moves cannot be counted in trials.

    >>> changed_by_chance([(0, 1, 1, 1), (1, 1, 1, 1)])
    {'trials_moved': [{'at_least': 1, 'observed': 1, 'expected': 1.0}], 'reason': None}
    """
    if passes is None:
        return {"trials_moved": None, "reason": "scores are not pass or fail"}
    counts = {count for _, in_baseline, _, in_candidate in passes for count in (in_baseline, in_candidate)}
    if len(counts) > 1:
        return {"trials_moved": None, "reason": f"cases have {min(counts)} to {max(counts)} trials"}
    trials = counts.pop()
    moved, by_sampling = Counter(abs(c - b) for b, _, c, _ in passes), [0.0] * (trials + 1)
    for total, cases in Counter(b + c for b, _, c, _ in passes).items():
        for move, chance in _deals(total, trials, trials).items():
            by_sampling[abs(move) // trials] += cases * chance
    rows, observed, expected = [], 0, 0.0
    for least in range(trials, 0, -1):
        observed, expected = observed + moved[least], expected + by_sampling[least]
        if observed or expected >= 0.00005:
            rows.append({"at_least": least, "observed": observed, "expected": expected})
    return {"trials_moved": rows[::-1], "reason": None}


# === These very cases ===

def shared_luck(pair: Pair, paired: bool) -> Figures:
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
    figures: Figures = {"trials": min(len(scores[0]) for scores in sides), "paired": paired} | dict.fromkeys(
        ("ratio", "p_value", "baseline", "candidate")) | {"withheld": False, "reason": None}
    if figures["trials"] < LUCK_TRIALS:
        if len(pair.cases) > 1 and any(map(_repeats_a_seed, pair.sides)):
            figures["reason"] = "one seed for all cases: cannot be checked"
        return figures
    lucks = [_luck(scores) for scores in sides]
    figures |= zip(SIDES, lucks, strict=True)
    if paired:
        lucks = [_luck([tuple(map(operator.sub, *case)) for case in zip(*reversed(sides), strict=True)])]
        figures |= lucks[0]
    alarms = [luck for luck in lucks if luck["ratio"] and (luck["ratio"] > LUCK_RATIO or luck["p_value"] < LUCK_P)]
    if alarms:
        worst = min(alarms, key=operator.itemgetter("p_value"))
        ratio, p_value = number_text(worst["ratio"]), number_text(worst["p_value"])
        figures |= {"withheld": True, "reason": f"trials of different cases move together, {ratio} times as much as "
                    f"independent cases would (p = {p_value})"}
    return figures


def _repeats_a_seed(side: Side) -> bool:
    seeds = [trial.seed for case in side.trials for trial in case if trial.seed is not None]
    return len(set(seeds)) < len(seeds)


def _scores_of_all(side: Side) -> list[tuple[Number, ...]]:
    """Return the scores of each case's trials, of the numbers alone that all cases have."""
    numbers = trial_numbers(side)
    common = set[int].intersection(*map(set, {tuple(case) for case in numbers}))
    return [tuple([trial.score or 0 for trial, number in zip(case, of_case, strict=True) if number in common])
            for case, of_case in zip(side.trials, numbers, strict=True)]


def _luck(scores: Sequence[tuple[Number, ...]]) -> Figures:
    """Return ratio and p-value of scores by case and trial; None where no case varies."""
    together = squares_of([sum(column) for column in zip(*scores, strict=True)])
    apart = math.fsum(squares_of(row) * cases for row, cases in Counter(scores).items())
    if not apart:
        return {"ratio": None, "p_value": None}
    ratio, df = together / apart, len(scores[0]) - 1
    return {"ratio": ratio, "p_value": chi_squared_tail(ratio * df, df)}


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


class VeryCases:
    """What sampling alone could have made of each case, ready to be asked of all of them or of a slice.

    Where trials pair, baseline and candidate are exchangeable within each pair if nothing but the sampling differs: its
    difference may have either sign. What is one draw has one sign: all trials of a case whose outputs are alike on both
    sides, and trial numbers that give the same answers in all cases. sampled is what varies by sampling: the difference
    of each trial where they pair, else the scores of each side.
    """

    def __init__(self, pair: Pair, sampled: list[Scores], passes: list[Passes] | None, luck: Figures) -> None:
        self.passes, self.paired = passes or [], luck["paired"]
        self.reason = luck["reason"] if luck["withheld"] else None
        self.flips: list[list[int]] = []           # the differences of each case that could have either sign
        self.variances: list[float | None] = []    # of each case's difference, by sampling; None with a single trial
        if self.paired:
            self._pairs(pair, sampled[0])
            return
        if passes is None:
            self.reason = self.reason or "trials do not pair, and scores are not pass or fail"
        for sides in zip(*sampled, strict=True):
            variances = [_variance_of_mean(tuple((score,) for score in case)) for case in sides]  # each trial is a draw
            self.variances.append(None if None in variances else math.fsum(filter(None, variances)))

    def _pairs(self, pair: Pair, changes: Scores) -> None:
        """Fill in flips and variances where trials pair; flips of all cases are whole numbers on one grid."""
        grid = math.lcm(*{change.denominator for case in changes for change in case}) * math.lcm(*map(len, changes))
        draw_of = {number: draw for draw, numbers in enumerate(alike_trials(pair)) for number in numbers}
        for numbers, case, *trials in zip(
                trial_numbers(pair.baseline), changes, *(side.trials for side in pair.sides), strict=True):
            by_draw: dict[int, list[Number]] = {}              # the changes of the trials that are one draw
            for number, change in zip(numbers, case, strict=True):
                by_draw.setdefault(draw_of[number], []).append(change)
            draws = tuple(map(tuple, by_draw.values()))
            self.variances.append(_variance_of_mean(draws))
            if all(map(alike, trials)):
                draws = (tuple(case),)
            self.flips.append([int(sum(draw) * grid) // len(case) for draw in draws])

    def figures(self, cases: Sequence[int], difference: Number) -> Figures:
        """Return how often the difference on exactly these cases would be as large, had only the sampling differed.

        p_value: of sign flips of the trial pairs, for pass or fail the exact McNemar test on the pairs that disagree;
        where trials do not pair, of dealing each case's passes to the two runs. interval_95 is that of sampling alone,
        1.96 standard errors to each side. Both say nothing of other cases. None with the reason.
        """
        answer: Figures = dict.fromkeys(("p_value", "interval_95", "pairs", "disagree", "method"))
        answer |= {"reason": self.reason, "interval_reason": self.reason}
        flips = [self.flips[i] for i in cases] if self.paired else []
        values = [value for case in flips for value in case if value]
        if self.paired:
            answer |= {"pairs": sum(map(len, flips)), "disagree": len(values)}
        if self.reason:
            return answer
        if self.paired:
            moving = sum(map(any, flips))
            one_size = len({*map(abs, values)}) <= 1
            answer["p_value"] = min(1, flip_p_value(values))
            answer["method"] = "exact McNemar test" if one_size else "sign flips of trial pairs"
        else:
            passes = [self.passes[i] for i in cases]
            moving = sum(0 < b + c < in_baseline + in_candidate for b, in_baseline, c, in_candidate in passes)
            answer["p_value"] = _dealt(passes)
            answer["method"] = "passes of each case dealt to the two runs at random"
        variances = [variance for i in cases if (variance := self.variances[i]) is not None]
        if len(variances) < len(cases):
            return answer | {"interval_reason": "a case with a single trial that counts shows no sampling"}
        if moving < MIN_GROUPS:
            return answer | {"interval_reason": f"fewer than {MIN_GROUPS} cases with a pair of trials that disagrees"}
        if not any(variances):
            return answer | {"interval_reason": "no case varies between its trials: no sampling is seen"}
        half_width = Z_95 * math.sqrt(math.fsum(variances)) / len(cases)
        return answer | {"interval_95": [difference - half_width, difference + half_width]}


@functools.lru_cache(maxsize=4096)         # of thousands of cases most have the same few differences
def _variance_of_mean(draws: tuple[tuple[Number, ...], ...]) -> float | None:
    """Return the variance of the mean of all trials, where those of one draw vary together; None of one draw."""
    if len(draws) < 2:
        return None
    squares, trials = squares_of([sum(draw) / len(draw) for draw in draws]), sum(map(len, draws))
    return squares / (len(draws) - 1) * sum(len(draw) ** 2 for draw in draws) / trials ** 2


def alike(trials: Sequence[Trial]) -> bool:
    """Tell whether the outputs of these trials are known and the same, to the byte."""
    return trials[0].output is not None and len({trial.output for trial in trials}) == 1


def alike_trials(pair: Pair) -> list[list[int]]:
    """Return the numbers of trials, from 0, that give the same answers in all cases on both sides, grouped.

    An answer is the output where it is known, else the score. Numbers that agree because cases hardly vary stay apart:
    where more than ALIKE_BY_CHANCE pairs of numbers would agree everywhere if trials were independent.
    """
    def answer(trial: Trial) -> Any:
        return trial.score if trial.output is None else trial.output

    cases = [{number: (answer(b), answer(c)) for number, b, c in zip(numbers, before, after, strict=True)}
             for numbers, before, after in zip(
                 trial_numbers(pair.baseline), pair.baseline.trials, pair.candidate.trials, strict=True)]
    numbers = sorted(set[int]().union(*cases))
    columns = {number: tuple(case.get(number) for case in cases) for number in numbers}     # None where it is lacking
    same: dict[tuple[Any, ...], list[int]] = {}            # thousands of trials cannot be held against each other
    for number, column in columns.items():
        same.setdefault(column, []).append(number)
    groups = list(same.values())
    if any(None in column for column in same):
        groups = grouped(columns, all, lambda column, other: all(
            a == b or a is None or b is None for a, b in zip(column, other, strict=True)))
    expected = math.comb(len(numbers), 2) * math.prod(_agreeing(case, groups) for case in cases)
    return groups if expected <= ALIKE_BY_CHANCE else [[number] for number in numbers]


def grouped(columns: Mapping[int, Sequence[Any]], enough: Callable[[Iterable[bool]], bool],
            near: Callable[[Sequence[Any], Sequence[Any]], bool]) -> list[list[int]]:
    """Return the numbers of columns in groups: each joins the first to which it is near, all or any as is enough."""
    groups: list[list[int]] = []
    for number, column in columns.items():
        joined = next((group for group in groups if enough(near(column, columns[k]) for k in group)), [])
        if not joined:
            groups.append(joined)
        joined.append(number)
    return groups


def _agreeing(answers: Mapping[int, Any], groups: list[list[int]]) -> float:
    """Return about how often two trials that are no copies give the same answers in a case, by the rule of succession.

    Of a group, the numbers that may be copies of each other, one counts. 1 where all agree: such a case tells nothing.
    """
    firsts = [next(answers[number] for number in group if number in answers)
              for group in groups if not answers.keys().isdisjoint(group)]
    pairs, agreeing = math.comb(len(firsts), 2), sum(math.comb(n, 2) for n in Counter(firsts).values())
    return (agreeing + 1) / (pairs + 2) if agreeing < pairs else 1


def _dealt(cases: Sequence[Passes]) -> float:
    """Return how often the sum of the cases' differences is at least as large when passes are dealt at random.

    Right to 1e-12, and that much is added. Where many numbers of trials make the grid fine, noise may be added, and
    what is as much smaller counts as well: that errs to the safe side, by less than 1e-3.
    """
    grid = math.lcm(*{count for _, in_baseline, _, in_candidate in cases for count in (in_baseline, in_candidate)})
    seen = abs(sum(c * (grid // in_candidate) - b * (grid // in_baseline) for b, in_baseline, c, in_candidate in cases))
    draws = []
    for (total, in_b, in_c), count in Counter((b + c, in_b, in_c) for b, in_b, c, in_c in cases).items():
        moves = _deals(total, in_b, in_c).items()
        draws.append((count, {move * grid // (in_b * in_c): chance for move, chance in moves if chance > 1e-20}))
    spread = math.sqrt(math.fsum(count * chance * move ** 2 for count, chances in draws
                                 for move, chance in chances.items()))
    difference = InvertedSum(draws, DEALT_BLUR * spread)
    least = seen - math.ceil(3 * difference.blur * difference.step)
    return min(1.0, max(0.0, difference.share(-least) + 1 - difference.share(least - 1)) + 1e-12)


# === The baseline against itself ===

def noise_floor(baseline: Scores, diffs: Differences, limits: Limits, score_range: tuple[Number, Number],
                seed: int) -> Figures:
    """Return how large a difference the baseline shows against itself, and how often the gate answers that wrongly.

    Its trials are split in two halves of T // 2 (T odd: one stays out; uneven: the first min T count), by the same
    numbers for every case because trials of one number share a seed. Every split, up to as many as _most_splits tells,
    else so many seeded ones. gate_tripped_share is over both signs of each split: how often gate better would
    have been met; how often not-worse or equivalent would not; without a gate, how often better or worse was claimed.
    Two whole runs differ about 1 / sqrt(2) as much as halves. Figures that cannot be had are None, with the reason.
    diffs holds the source group of each case.

    >>> found = noise_floor([[0, 1], [1, 1], [1, 1]], Differences([], [], 1, [0, 1, 2], 3), Limits(), (0, 1), 1)
    >>> found["splits"], found["largest_difference"], found["gate_tripped_share"], found["reason"]
    (1, Fraction(1, 3), None, 'groups: 3, too few for an interval to try a gate on')
    """
    trials, groups = min(map(len, baseline)), diffs.group_count            # of uneven trials the first count
    half = trials // 2
    figures: Figures = dict.fromkeys(("trials_per_half", "splits", "method", "mean_difference", "largest_difference",
                                      "gate", "gate_tripped_share", "reason")) | {"gate": limits.gate}
    if not half:
        return figures | {"reason": "a case has a single trial: no halves to compare"}
    unit = math.lcm(*{score.denominator for scores in baseline for score in scores})
    whole, sizes, columns = unit * half, diffs.sizes(), []                 # group sums of each trial number
    for column in zip(*baseline, strict=False):
        columns.append(diffs.sums([score.numerator * (unit // score.denominator) for score in column]))
    steps = math.ceil((score_range[1] - score_range[0]) * whole * len(baseline))
    splits, method = _splits(trials, _most_splits(groups, trials, steps), seed)
    differences, wrong = [], []
    for numbers in splits:
        early, late = (list(map(sum, zip(*(columns[t] for t in side), strict=True))) for side in numbers)
        differences.append(Fraction(abs(sum(late) - sum(early)), len(baseline) * whole))
        if groups >= limits.sources:
            wrong += [_answered_wrongly(evidence_of(sizes, *sides, whole, score_range), limits)
                      for sides in ((early, late), (late, early))]
    return figures | {"trials_per_half": half, "splits": len(splits), "method": method,
                      "mean_difference": sum(differences) / len(splits), "largest_difference": max(differences),
                      "gate_tripped_share": Fraction(sum(wrong), len(wrong)) if wrong else None,
                      "reason": None if wrong else f"groups: {groups}, too few for an interval to try a gate on"}


def _answered_wrongly(seen: Evidence, limits: Limits) -> bool:
    """Tell whether the gate, or without one the claims of a change, are wrong of a system that is the same."""
    claims = [limits.claim] if limits.claim else ["better", "worse"]
    return any(holds(claim, seen, limits) for claim in claims) != (limits.gate in ("not-worse", "equivalent"))


def _most_splits(groups: int, trials: int, steps: int) -> int:
    """Return how many splits may be tried: 200, fewer of many thousand groups, or where trying a gate takes long.

    That takes long for 27 to 1,499 groups whose half runs can differ by many steps: such sign flips are neither counted
    by halves nor inverted at a few points. It grows with what counting them would move, up to 4 million steps.

    >>> _most_splits(44, 10, 220), _most_splits(80, 10, 4_000_000)      # pass or fail; scores of four decimals
    (200, 4)
    """
    most = min(200, max(10, 3_000_000 // (groups * trials)))
    if 26 < groups < 1500:
        most = min(most, max(3, 120_000_000_000 // (groups ** 2 * min(steps, 4_000_000))))
    return most


def _splits(trials: int, limit: int, seed: int) -> tuple[list[tuple[Sequence[int], Sequence[int]]], str]:
    """Return the unordered pairs of halves of range(trials), or `limit` seeded ones if there are more, and which."""
    half, numbers = trials // 2, range(trials)
    if math.comb(trials, half) * math.comb(trials - half, half) // 2 > limit:
        rng = random.Random(seed)
        draws = [rng.sample(numbers, 2 * half) for _ in range(limit)]
        return [(draw[:half], draw[half:]) for draw in draws], f"{limit} splits, seed {seed}"
    return [(early, late) for early in itertools.combinations(numbers, half)
            for late in itertools.combinations(sorted({*numbers} - {*early}), half) if early < late], "every split"
