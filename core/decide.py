"""From an interval to a decision: what may be claimed, what was only chance, and what to buy next?

    $ python3 -m doctest core/decide.py && echo "every example below came out"
    every example below came out

Numbers in, a dict out for each key that `comparison.json` holds beside its intervals: exact or full floats, compare.py
rounds. Reads, writes and prints nothing. Shapes throughout: the difference of case i (candidate minus baseline) is
ks[i] / unit; `groups` is (cases, sum of ks) of each source; `members` the index of each case's group. Without sources
each case is its own group. `baseline` and `candidate` hold the scores (int, Fraction) of each case's trials, in order.
"""

import functools
import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core import intervals
from core.trials import ABSENT, Pair, Side, Trial

Number = int | float | Fraction
Scores = list[list[int | Fraction]]
Groups = list[tuple[int, int]]
Record = dict[str, Any]

MIN_GROUPS = 6                 # fewer carry no 95% sign-flip interval: 2 / 2^5 is more than 5%
FEW_CASES = 10                 # cases; below, a single case is a tenth of the result
Z_95, Z_90, Z_POWER_80 = 1.96, 1.645, 0.8416
GATES = ("better", "not-worse", "equivalent")
WIDTHS = {"now": (1, 1, 1), "twice_cases": (1, 2, 1), "twice_trials": (1, 1, 2), "endless_trials": (1, 1, math.inf),
          "twice_groups": (2, 1, 1)}     # how many times the sources, the cases of each source, and the trials


def _text(value: Number) -> str:
    return f"{float(value):.4g}"


def _claim(gate: str) -> str:
    return gate.replace("-", " ")


# === May it ship? ===

# above(sign, value, level): is the low end of the interval of sign * difference above value? Strictly: an end that
# touches a limit claims nothing. The order is the verdict's. "better" implies "not worse", "worse" excludes it.
Above = Callable[[int, Number, float], bool]
CLAIMS: dict[str, Callable[[Above, Number, Number], bool]] = {
    "worse": lambda above, min_gain, margin: above(-1, margin, 0.95),
    "better": lambda above, min_gain, margin: above(1, min_gain, 0.95),
    # The 90% interval inside the margin is two one-sided tests at 5% each (Schuirmann 1987).
    "equivalent": lambda above, min_gain, margin: margin > 0 and all(above(sign, -margin, 0.90) for sign in (1, -1)),
    "not worse": lambda above, min_gain, margin: above(1, -margin, 0.95),
}


def decision(flip: intervals.SignFlip, groups: Groups, unit: int, has_sources: bool,
             min_gain: Number = 0, margin: Number = 0, gate: str | None = None,
             seed: int = intervals.SEED) -> Record:
    """Return the claims that the sign-flip interval carries, the first of them as verdict, and whether the gate is met.

    flip is the 95% sign_flip of the same groups. min_gain and margin are in score units and not negative; give a
    Fraction of the literal, for an end may lie on it. A gate (of GATES) is met when its claim holds, whatever the
    verdict: better meets not-worse too. "undecided" meets no gate and is not "the same". interval_90 is None without a
    margin, for then nothing rests on it.

    >>> groups = [(1, k) for k in (1, 2, 1, 0, 2, 3, 1, 1)]
    >>> found = decision(intervals.sign_flip(groups, 10), groups, 10, True, gate="not-worse")
    >>> found["verdict"], found["claims"], found["gate_met"]
    ('better', ['better', 'not worse'], True)
    """
    narrow = intervals.sign_flip(groups, unit, level=0.90, seed=seed).interval if margin > 0 else None
    ends: dict[float, Any] = {0.95: flip.interval, 0.90: narrow}

    def above(sign: int, value: Number, level: float) -> bool:
        low, high = ends[level]
        return bool((low if sign > 0 else -high) > value)

    claims = [name for name, holds in CLAIMS.items() if flip.interval and holds(above, min_gain, margin)]
    verdict = claims[0] if claims else "undecided"
    return {"unit": "source" if has_sources else "case", "min_gain": min_gain, "margin": margin,
            "interval_95": flip.interval and list(flip.interval), "interval_90": narrow and list(narrow),
            "claims": claims, "verdict": verdict, "reason": None if claims else _why_undecided(flip, margin),
            "groups_needed": _groups_needed(verdict, groups, unit, min_gain, margin),
            "gate": gate, "gate_met": None if gate is None else _claim(gate) in claims}


def _why_undecided(flip: intervals.SignFlip, margin: Number) -> str | None:
    if flip.interval is None:
        return flip.reason
    low, high = flip.interval
    if low == high == 0:
        return "no difference was seen, which without a margin shows nothing"
    unknown = f"whether a loss stays within {_text(margin)}" if margin else "a gain from a loss"
    return f"the interval, {_text(low)} to {_text(high)}, does not tell {unknown}"


def _groups_needed(verdict: str, groups: Groups, unit: int, min_gain: Number, margin: Number) -> int | None:
    """Return at how many groups this difference gets the verdict that it would get from endless ones.

    Normal approximation, the spread between groups as seen. None once it has that verdict, and where no number would
    do: the difference lies on a limit (it is 0, without margins), or a single group shows no spread.
    """
    difference = Fraction(sum(total for _, total in groups), sum(cases for cases, _ in groups) * unit)
    if difference < -margin:
        final, gap, z = "worse", -margin - difference, Z_95
    elif difference > min_gain:
        final, gap, z = "better", difference - min_gain, Z_95
    elif abs(difference) < margin:
        final, gap, z = "equivalent", margin - abs(difference), Z_90
    else:
        final, gap, z = "not worse", difference + margin, Z_95
    if verdict == final or gap == 0 or len(groups) < 2:
        return None
    needed = (Fraction(str(z)) / gap) ** 2 * cluster_variance(groups, unit) * len(groups)
    return max(MIN_GROUPS, len(groups) + 1, math.ceil(needed))


def nothing_moved(ks: list[int], groups: Groups) -> Record | None:
    """Return what a comparison without any difference still excludes; None where some case differs.

    If more than excluded_share of all sources changed visibly, none of these would have with less than 5% chance
    (1 - 0.05^(1/G); sources drawn independently).

    >>> nothing_moved([0, 0, 0], [(2, 0), (1, 0)])
    {'groups': 2, 'excluded_share': 0.7763932022500211}
    """
    return None if any(ks) else {"groups": len(groups), "excluded_share": 1 - 0.05 ** (1 / len(groups))}


# === What was only chance? ===

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


def _flip_tail(values: list[int]) -> Fraction | float:
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
            tail = _flip_tail([sign * total * limit.denominator - limit.numerator * sizes[group]
                               for group, total in enumerate(sums)])
            return tail <= (1 - Fraction(str(level))) / 2
        claims = [_claim(gate)] if gate else ["better", "worse"]
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


# === Where does the noise come from, and what to buy next? ===

class _Noise(NamedTuple):
    """The variance of the mean difference is by_source + one / cases; one, that of a case, is steady + sampling / T.

    With a single trial a case only their sum is known: steady and sampling are None.
    """
    cases: int
    groups: int
    by_source: float
    one: float
    steady: float | None
    sampling: float | None

    def half_width(self, sources: float, cases: float, trials: float) -> float:
        """Return the 95% half-width with so many times the sources, the cases of each source, and the trials."""
        steady = self.one if self.steady is None else self.steady
        one = steady + (self.one - steady) / trials
        return Z_95 * math.sqrt((self.by_source + one / self.cases / cases) / sources)


def planning(ks: list[int], unit: int, groups: Groups, baseline: Scores, candidate: Scores, paired: bool,
             has_sources: bool, target: Number | None = None) -> Record:
    """Return "variance", "half_width", "plan" (None without a target half-width) and "detectable_difference".

    Model: difference of a case = mean + source + case + sampling / T. Moments of the one-way layout with unequal groups
    (Searle, Casella and McCulloch, Variance Components, 1992, ch. 3): with mean squares MSW within and MSB between
    sources, between_sources = (MSB - MSW) (G - 1) / (n - sum n_g^2 / n) and between_cases = MSW - sampling / T. What
    comes out negative is 0; without a source part MSW is the variance of all differences. sampling, of one trial: the
    pooled variance of the trial differences within a case where trials pair, else the two sides' variances added up.

    half_width.now = 1.96 sqrt(between_sources sum n_g^2 / n^2 + MSW / n): where sources add nothing, exactly 1.96
    standard_error_case; where they do and all have as many cases, exactly 1.96 standard_error_source (CR1,
    cluster-robust). Of MSW, sampling / T shrinks with more trials. Twice the cases or trials are of the same sources.
    plan: what the target needs of each alone, the others as now; None where that cannot reach it.
    detectable_difference is found in 80% of repetitions. All are normal approximations: with few groups the sign-flip
    interval is wider. Without spread to plan from (one case, one source, all equal) figures are None with the reason.
    """
    variance, noise, reasons = _variance(ks, unit, groups, baseline, candidate, paired, has_sources)
    reason = "; ".join(reasons) or None
    widths: Record = dict.fromkeys(WIDTHS)
    plan: Record = {"half_width": target, "source_groups": None, "cases": None, "trials": None, "reason": reason}
    stuck: list[str] = []
    if noise:
        widths = {name: None if noise.steady is None and "trials" in name else noise.half_width(*times)
                  for name, times in WIDTHS.items()}
        wanted = [("cases", noise.groups if has_sources else MIN_GROUPS, noise.one, noise.by_source)]
        if has_sources:
            spread = (noise.by_source + noise.one / noise.cases) * noise.groups
            wanted.append(("source_groups", MIN_GROUPS, spread, 0.0))
        if noise.sampling is not None and noise.steady is not None:
            wanted.append(("trials", 1, noise.sampling / noise.cases, noise.by_source + noise.steady / noise.cases))
        for name, least, shrinking, staying in wanted:
            room = (target or 0) ** 2 - Z_95 ** 2 * staying
            if room > 0:
                plan[name] = max(least, intervals.required_pairs(math.sqrt(shrinking), math.sqrt(room)))
            else:
                stuck.append(f"endless {name} alone leave {_text(Z_95 * math.sqrt(staying))}")
        plan["reason"] = "; ".join(stuck + reasons) or None
        if has_sources and noise.groups == noise.cases:    # more cases of the same sources: nobody knows
            widths["twice_cases"] = plan["cases"] = None
    return {"variance": variance | {"reason": reason}, "half_width": widths | {"reason": reason},
            "plan": plan if target is not None else None,
            "detectable_difference": widths["now"] and widths["now"] / Z_95 * (Z_95 + Z_POWER_80)}


def _variance(ks: list[int], unit: int, groups: Groups, baseline: Scores, candidate: Scores, paired: bool,
              has_sources: bool) -> tuple[Record, _Noise | None, list[str]]:
    """Return "variance", its parts to plan from (None where there is no spread), and why figures are missing."""
    n, number, total, squares = len(ks), len(groups), sum(ks), sum(k * k for k in ks)
    found: Record = dict.fromkeys(("between_sources", "between_cases", "sampling", "standard_error_case",
                                 "standard_error_source", "design_effect"))
    if n < 2:
        return found, None, ["one case shows no spread between cases"]
    by_source, one = Fraction(0), Fraction(squares * n - total * total, n * (n - 1) * unit ** 2)
    found["standard_error_case"] = math.sqrt(one / n)
    if has_sources and number < 2:
        return found, None, ["one source shows no spread between sources"]
    if has_sources:
        robust = cluster_variance(groups, unit)
        found |= {"standard_error_source": math.sqrt(robust), "design_effect": robust * n / one if one else None}
    reasons = [] if has_sources else ["no source tag: each case counts as independent"]
    if has_sources and number == n:
        reasons.append("one case a source: between_cases holds the part of the sources too")
    elif has_sources:
        by_size: Counter[int] = Counter()                  # a few fractions to add instead of thousands
        for cases, group_total in groups:
            by_size[cases] += group_total ** 2
        explained = sum((Fraction(square, cases) for cases, square in by_size.items()), Fraction(0))
        weight = sum(cases ** 2 for cases, _ in groups)
        within = (squares - explained) / ((n - number) * unit ** 2)
        between = (explained - Fraction(total * total, n)) / ((number - 1) * unit ** 2)
        found["between_sources"] = max(Fraction(0), (between - within) * (number - 1) / (n - Fraction(weight, n)))
        if between > within:
            by_source, one = found["between_sources"] * weight / n ** 2, within

    sides = [[[y - x for x, y in zip(b, c)] for b, c in zip(baseline, candidate)]] if paired else [baseline, candidate]
    if all(any(len(scores) > 1 for scores in side) for side in sides):
        sampling, part = (sum(figures) for figures in zip(*map(_sampling, sides)))
        steady = max(0.0, one - part)
        found |= {"between_cases": steady, "sampling": sampling}
        noise = _Noise(n, number, float(by_source), float(one), steady, sampling * min(1, one / part) if part else 0.0)
    else:
        reasons.append("one trial a case: the sampling part is not known")
        noise = _Noise(n, number, float(by_source), float(one), None, None)
    if not noise.half_width(*WIDTHS["now"]):
        return found, None, ["all equal: no spread to plan from"]
    return found, noise, reasons


def _sampling(scores: Scores) -> tuple[float, float]:
    """Return the variance of one trial within its case, pooled over cases, and that of a share, its mean over cases."""
    squares = 0.0
    for case in scores:
        mean = math.fsum(case) / len(case)
        squares += math.fsum((score - mean) ** 2 for score in case)
    one_trial = squares / sum(len(case) - 1 for case in scores)
    return one_trial, one_trial * math.fsum(1 / len(case) for case in scores) / len(scores)


def cluster_variance(groups: Groups, unit: int) -> Fraction:
    """Return the squared standard error CR1 of the mean: residual sums by group, squared, times G / (G - 1)."""
    n, total, number = sum(cases for cases, _ in groups), sum(total for _, total in groups), len(groups)
    squares = sum((group_total * n - cases * total) ** 2 for cases, group_total in groups)
    return Fraction(squares * number, (number - 1) * n ** 4 * unit ** 2)


# === What if the incomplete trials had been graded? ===

def incomplete_per_case(trials: list[list[Trial]]) -> list[int]:
    """Return how many trials of each case have no score, before any missing policy; an absent case counts as one."""
    return [sum(trial.score is None for trial in case) if case else 1 for case in trials]


def incomplete(baseline: list[list[Trial]], candidate: list[list[Trial]], score_range: tuple[Number, Number]) -> Record:
    """Return the unscored trials by side and reason, and the difference if they had gone one way or the other.

    Takes trials before any missing policy; a case absent on one side counts as one trial, "missing". difference_bounds,
    over all cases: all of the baseline's at the top of score_range and the candidate's at the bottom, then the other
    way round. None where each trial has a score.
    """
    def count(side: list[list[Trial]]) -> Record:
        reasons = Counter(trial.reason for case in side for trial in case if trial.score is None)
        reasons[ABSENT] += side.count([])
        return {"trials": reasons.total(), "reasons": dict(sorted((+reasons).items()))}

    def mean(side: list[list[Trial]], filled: Number) -> Fraction:
        shares = ([filled if trial.score is None else trial.score for trial in case] or [filled] for case in side)
        return sum((Fraction(sum(share)) / len(share) for share in shares), Fraction(0)) / len(side)

    low, high = score_range
    sides = {"baseline": count(baseline), "candidate": count(candidate)}
    bounds = [mean(candidate, low) - mean(baseline, high), mean(candidate, high) - mean(baseline, low)]
    return sides | {"difference_bounds": bounds if any(side["trials"] for side in sides.values()) else None}


# === What must a reader know? ===

Rule = tuple[str, str, str]    # code, message, advice


def warnings(comparison: Record, pair: Pair, members: list[int],
             temperatures: tuple[float | None, float | None] = (None, None)) -> list[Record]:
    """Return [{"code", "message", "advice"}, ...]: whatever could mislead a reader, the readers' own notes last.

    comparison holds all other keys of comparison.json. pair is after the missing policy: each score is a number.
    temperatures of baseline and candidate, None where not known.
    """
    rules = itertools.chain(_size_rules(comparison), _interval_rules(comparison), _missing_rules(comparison),
                            _trial_rules(comparison, pair, members, temperatures))
    return [dict(zip(("code", "message", "advice"), rule)) for rule in rules] + pair.notes


def _size_rules(c: Record) -> Iterator[Rule]:
    unit, groups, cases = c["decision"]["unit"], c["overall"]["source_sign_flip"]["groups"], c["overall"]["cases"]
    if groups < MIN_GROUPS:
        yield ("few_groups", f"{unit}s: {groups}, too few for a 95% interval",
               f"record at least {MIN_GROUPS} {unit}s that differ; variants of the same do not count")
    if cases < FEW_CASES:
        yield "few_cases", f"cases: {cases}, so that one of them moves the result", f"record at least {FEW_CASES} cases"
    if unit == "case":
        yield ("no_sources", "no sources are named: cases made from one message would count as independent",
               "tag each case with its source (cluster in a trial log)")
    effect = c["variance"]["design_effect"]
    if effect and effect > 2:
        yield ("large_design_effect", f"cases of one source move together: by source the variance is {_text(effect)} "
               "times that by case", "believe the figures by source; buy sources, not cases")
    if c["nothing_moved"]:
        yield ("nothing_moved", f"no case moved, yet up to {_text(c['nothing_moved']['excluded_share'])} of all "
               f"{unit}s may change", "do not call it the same: declare --margin, add cases that tell them apart")


def _interval_rules(c: Record) -> Iterator[Rule]:
    overall, flip = c["overall"], c["overall"]["source_sign_flip"]
    slices = {f"{tag}: {value}": part for tag, values in c["slices"].items() for value, part in values.items()}
    moved, cases = overall["better"] + overall["worse"], overall["cases"]

    def excludes_0(interval: Sequence[Number] | None) -> bool:
        return interval is not None and not interval[0] <= 0 <= interval[1]

    low, high = overall["exact_interval_95"]
    if moved and (moved < MIN_GROUPS or low == high):
        yield ("degenerate_interval", f"{moved} of {cases} cases moved, too few or too alike to believe a bootstrap "
               "interval of them", "read the changed cases one by one; add cases that are neither easy nor hopeless")
    if flip["interval_95"] and excludes_0([low, high]) != excludes_0(flip["interval_95"]):
        yield ("intervals_disagree", "the bootstrap interval by case and the sign-flip interval disagree about 0",
               "believe the sign-flip interval: the decision rests on it")
    sampled = [name for name, method in (("by case", overall["exact_method"]), ("sign-flip", flip["method"]),
                                         ("by source", overall["source_cluster_method"] or ""))
               if method.startswith("sampled")]
    if sampled:
        yield ("sampled_not_exact", f"sampled with a seed, not exact: {', '.join(sampled)}",
               "allow the last digit of an end some play; scores on a common grid (tenths, whole points) help")
    alone = [name for name, part in slices.items() if excludes_0(part["exact_interval_95"])
             and part["adjusted_p_value"] is not None and part["adjusted_p_value"] >= 0.05]
    if alone:
        yield ("many_slices", f"different when looked at alone, but not among {c['slices_compared']} slices: "
               + ", ".join(alone),
               "read adjusted_p_value; try such a slice on new cases before telling of it")
    same = {" = ".join(sorted([name, *part["same_cases_as"]])) for name, part in slices.items()
            if part["same_cases_as"]}
    if same:
        yield ("same_slices", f"same cases under several names: {'; '.join(sorted(same))}",
               "count them once: nothing here tells whose effect it is")


def _missing_rules(c: Record) -> Iterator[Rule]:
    baseline, candidate = (c["incomplete"][side]["trials"] for side in ("baseline", "candidate"))
    bounds = c["incomplete"]["difference_bounds"]
    if bounds and bounds[0] * bounds[1] <= 0:
        yield ("incomplete_decides", f"had the incomplete trials been graded, the difference could lie anywhere from "
               f"{_text(bounds[0])} to {_text(bounds[1])}: its sign hangs on them", "record them again before deciding")
    if max(baseline, candidate) > 2 * min(baseline, candidate):
        yield ("one_sided_incomplete", f"incomplete trials: baseline {baseline}, candidate {candidate}",
               "see their reasons: a cut-off or a timeout may tell of limits rather than of answers")
    if c["excluded"]:
        yield ("excluded_cases", f"left out of the comparison: {len({row['case_id'] for row in c['excluded']})} cases, "
               "perhaps not by chance", "record what is missing, or read difference_bounds, which count them")
    if c["uneven_trials"]:
        yield ("uneven_trials", f"cases with fewer trials than others or the other side: {len(c['uneven_trials'])}",
               "record the trials that lack; each case weighs the same, and one with fewer is noisier")


def _trial_rules(c: Record, pair: Pair, members: list[int], temperatures: tuple[float | None, ...]) -> Iterator[Rule]:
    sides = {"baseline": pair.baseline, "candidate": pair.candidate}
    if c["variance"]["sampling"] is None:
        yield ("one_trial", "one trial a case: a change and a lucky draw look alike", "record 3 trials a case or more")
    if _same_outputs(pair):
        yield ("cached_repeats", "both runs gave the same output under each seed, byte for byte: perhaps one cache",
               "make sure that prompt or model did change, and record again without a cache")
    for (name, side), temperature in zip(sides.items(), temperatures):
        if temperature and _repeats_alike(side):
            yield ("cached_repeats", f"all trials of each case of the {name} are alike, byte for byte, at temperature "
                   f"{_text(temperature)}: perhaps from a cache", "switch the cache off, or record one trial a case")
        rise, p_value = _order_effect(side, members)
        if p_value < 0.01:
            yield ("order_effect", f"the {name}'s later trials of the same cases score {_text(abs(rise))} "
                   f"{'higher' if rise > 0 else 'lower'} than its earlier ones (p = {_text(p_value)})",
                   "look for what changed while recording, and record both sides in turns")


def _same_outputs(pair: Pair) -> bool:
    rows = [row for case in zip(pair.baseline.trials, pair.candidate.trials) for row in itertools.zip_longest(*case)]
    return any(b and b.output is not None for b, _ in rows) and all(
        b and c and b.seed == c.seed is not None and repr(b.output) == repr(c.output) for b, c in rows)


def _repeats_alike(side: Side) -> bool:
    repeated = [case for case in side.trials if len(case) > 1]
    return any(trial.output is not None for case in repeated for trial in case[1:]) and all(
        len({repr(trial.output) for trial in case}) == 1 for case in repeated)


def _order_effect(side: Side, members: list[int]) -> tuple[Fraction, Number]:
    """Return the mean rise from the early to the late half of each case's trials, and its two-sided sign-flip p-value.

    Within a case, so the mix of cases does not matter; by group, because variants of one message share their luck under
    one seed. Cases without a time on every trial are left out; ISO 8601 texts in UTC sort as they stand.
    """
    def when(trial: Trial) -> tuple[float, str]:
        try:
            return float(trial.at or ""), ""
        except ValueError:
            return math.inf, trial.at or ""

    rises: dict[int, Fraction] = {}
    cases = 0
    for group, case in zip(members, side.trials):
        half = len(case) // 2
        if half and all(trial.at for trial in case):
            scores = [trial.score or 0 for trial in sorted(case, key=when)]
            rises[group] = rises.get(group, Fraction(0)) + Fraction(sum(scores[-half:]) - sum(scores[:half])) / half
            cases += 1
    unit, total = math.lcm(*(rise.denominator for rise in rises.values())), sum(rises.values(), Fraction(0))
    sign = 1 if total > 0 else -1
    return total / max(cases, 1), min(1, 2 * _flip_tail([int(sign * rise * unit) for rise in rises.values()]))
