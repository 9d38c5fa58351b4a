"""What was only chance: how much would have moved had nothing but the sampling differed?

    $ python3 -c "from core import chance; print(chance.by_chance(0, 5, 5, 5))"
    1/126

Numbers in, a dict out for each key that `comparison.json` holds: exact or full floats, compare.py rounds. Reads, writes
and prints nothing. `baseline` and `candidate` hold the scores (int, Fraction) of each case's trials, in order; `members`
the index of each case's source group. Without sources each case is its own group.
"""

import functools
import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from core import intervals
from core.decide import CLAIMS, MIN_GROUPS, Number, Record, Scores, claim_of

def pass_counts(baseline: Scores, candidate: Scores) -> list[tuple[int, int, int, int]] | None:
    """Return (baseline passes, trials, candidate passes, trials) of each case; None if a score is neither 0 nor 1."""
    if any(score not in (0, 1) for side in (baseline, candidate) for scores in side for score in scores):
        return None
    return [(int(sum(b)), len(b), int(sum(c)), len(c)) for b, c in zip(baseline, candidate)]


@functools.cache               # ten thousand cases of five trials ask a few dozen different questions
def _uneven_share(passes: int, trials_baseline: int, trials_candidate: int, least: int) -> Fraction:
    """Return how often passes dealt to two runs differ by at least `least` / (Tb * Tc) in their shares."""
    ways = sum(math.comb(trials_candidate, c) * math.comb(trials_baseline, passes - c)
               for c in range(min(passes, trials_candidate) + 1)
               if abs(c * trials_baseline - (passes - c) * trials_candidate) >= least)
    return Fraction(ways, math.comb(trials_baseline + trials_candidate, passes))


def by_chance(passes_baseline: int, trials_baseline: int, passes_candidate: int, trials_candidate: int) -> Fraction:
    """Return how often the passes of both runs together split at least as unevenly if nothing but sampling differs.

    Hypergeometric (Fisher 1935, given the total); two-sided, by the size of the difference of shares.

    >>> by_chance(0, 5, 5, 5), by_chance(3, 5, 4, 5)
    (Fraction(1, 126), Fraction(1, 1))
    """
    return _uneven_share(passes_baseline + passes_candidate, trials_baseline, trials_candidate,
                         abs(passes_candidate * trials_baseline - passes_baseline * trials_candidate))


def changed_by_chance(passes: list[tuple[int, int, int, int]] | None) -> Record:
    """Return how many cases moved by at least 1, 2, ... trials, and how many would have by sampling alone.

    passes as pass_counts gives them. The list ends where nothing moved and nothing (to 4 places) was expected to;
    it is None, with the reason, where moves cannot be counted in trials.

    >>> changed_by_chance([(0, 1, 1, 1), (1, 1, 1, 1)])["trials_moved"]
    [{'at_least': 1, 'observed': 1, 'expected': 1.0}]
    """
    if passes is None:
        return {"trials_moved": None, "reason": "scores are not pass or fail"}
    counts = {count for _, in_baseline, _, in_candidate in passes for count in (in_baseline, in_candidate)}
    if len(counts) > 1:
        return {"trials_moved": None, "reason": f"cases have {min(counts)} to {max(counts)} trials"}
    trials, totals = counts.pop(), Counter(b + c for b, _, c, _ in passes)
    rows = [{"at_least": least, "observed": sum(abs(c - b) >= least for b, _, c, _ in passes),
             "expected": math.fsum(cases * _uneven_share(total, trials, trials, least * trials)
                                   for total, cases in totals.items())} for least in range(1, trials + 1)]
    return {"trials_moved": [row for row in rows if row["observed"] or row["expected"] >= 0.00005], "reason": None}


def flip_tail(values: list[int]) -> Fraction | float:
    """Return the share of all subsets of values with a sum of at most 0; 1, uncounted, if the total is not positive.

    At most 2.5% is the same as: the 95% sign-flip interval of groups with these sums lies above 0 (Hartigan 1969). One
    limit costs far less than the interval. Counted in one packed integer up to 100 values, put on a coarser grid if
    they are too fine for that (free floats); normal approximation beyond.
    """
    total, values = sum(values), [value for value in values if value]      # a 0 doubles both counts
    if total <= 0:
        return 1
    if len(values) > 100:
        squares = sum(map(operator.mul, values, values))
        return math.erfc(math.sqrt(Fraction(total * total, 2 * squares))) / 2      # no float holds the squares alone
    # Leaving a negative value out is as good as taking its size: sum <= 0 becomes sum of sizes <= reach.
    width = len(values) + 1
    budget, reach = 20_000_000 // (len(values) * width), sum(-value for value in values if value < 0)
    if reach > budget:
        values = [round(Fraction(value * budget, reach)) for value in values]
        reach = sum(-value for value in values if value < 0)
    counts, mask = 1, (1 << (reach + 1) * width) - 1                       # digit s: subsets whose sizes add up to s
    for size in map(abs, values):
        if size <= reach:
            counts = (counts + (counts << size * width)) & mask
    return Fraction(counts % ((1 << width) - 1), 1 << len(values))         # modulo base - 1 adds the digits up


def noise_floor(baseline: Scores, members: list[int], gate: str | None = None, min_gain: Number = 0, margin: Number = 0,
                seed: int = intervals.SEED) -> Record:
    """Return how large a difference the baseline shows against itself, and how often the gate answers that wrongly.

    Its trials are split in two halves of T // 2 (T odd: one stays out; uneven: the first min T count), by the same
    numbers for every case because trials of one number share a seed. Every split up to 200, fewer for many thousand
    groups, else as many seeded ones. gate_tripped_share is over both signs of each split: how often gate better would
    have been met; how often not-worse or equivalent would not; without a gate, how often better or worse was claimed.
    Two whole runs differ about 1 / sqrt(2) as much as halves. Figures that cannot be had are None, with the reason.

    >>> found = noise_floor([[0, 1], [1, 1], [1, 1]], [0, 1, 2])
    >>> found["splits"], found["largest_difference"], found["gate_tripped_share"], found["reason"]
    (1, Fraction(1, 3), None, '3 groups carry no interval to try a gate on')
    """
    trials, sizes = min(map(len, baseline)), Counter(members)
    half = trials // 2
    result: Record = dict.fromkeys(("trials_per_half", "splits", "method", "mean_difference", "largest_difference",
                                    "gate", "gate_tripped_share", "reason")) | {"gate": gate}
    if not half:
        return result | {"reason": "one trial a case: no halves to compare"}
    unit = math.lcm(*{score.denominator for scores in baseline for score in scores}) * half
    columns = [[0] * len(sizes) for _ in range(trials)]                    # group sums of each trial number
    for group, scores in zip(members, baseline):
        for column, score in zip(columns, scores):
            column[group] += score.numerator * (unit // half // score.denominator)

    def wrong(sums: list[int]) -> bool:
        def above(sign: int, value: Number, level: float) -> bool:
            limit = Fraction(value) * unit
            tail = flip_tail([sign * total * limit.denominator - limit.numerator * sizes[group]
                               for group, total in enumerate(sums)])
            return tail <= (1 - Fraction(str(level))) / 2
        claims = [claim_of(gate)] if gate else ["better", "worse"]
        claimed = any(CLAIMS[name](above, min_gain, margin) for name in claims)
        return claimed == (gate in (None, "better"))

    splits, method = _splits(trials, min(200, max(10, 3_000_000 // (len(sizes) * trials))), seed)
    differences, tripped = [], 0
    for early, late in splits:
        sums = [sum(after) - sum(before) for before, after in zip(zip(*(columns[t] for t in early)),
                                                                  zip(*(columns[t] for t in late)))]
        differences.append(Fraction(abs(sum(sums)), len(baseline) * unit))
        if len(sizes) >= MIN_GROUPS:
            tripped += wrong(sums) + wrong([-total for total in sums])
    result |= {"trials_per_half": half, "splits": len(splits), "method": method,
               "mean_difference": sum(differences) / len(splits), "largest_difference": max(differences)}
    if len(sizes) < MIN_GROUPS:
        return result | {"reason": f"{len(sizes)} groups carry no interval to try a gate on"}
    return result | {"gate_tripped_share": Fraction(tripped, 2 * len(splits))}


def _splits(trials: int, limit: int, seed: int) -> tuple[list[tuple[Sequence[int], Sequence[int]]], str]:
    """Return the unordered pairs of halves of range(trials), or `limit` seeded ones if there are more, and which."""
    half, numbers = trials // 2, range(trials)
    if math.comb(trials, half) * math.comb(trials - half, half) // 2 > limit:
        rng = random.Random(seed)
        draws = [rng.sample(numbers, 2 * half) for _ in range(limit)]
        return [(draw[:half], draw[half:]) for draw in draws], f"{limit} splits, seed {seed}"
    return [(early, late) for early in itertools.combinations(numbers, half)
            for late in itertools.combinations(sorted({*numbers} - {*early}), half) if early < late], "every split"
