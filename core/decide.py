"""From an interval to a decision: what may be claimed, and what to record next?

    $ python3 -m doctest core/decide.py && echo "every example below came out"
    every example below came out

Numbers in, a dict out for each key that `comparison.json` holds beside its intervals: exact or full floats, compare.py
rounds. Reads, writes and prints nothing. Shapes throughout: the difference of case i (candidate minus baseline) is
ks[i] / unit; `groups` is (cases, sum of ks) of each source; without sources each case is its own group. `baseline` and
`candidate` hold the scores (int, Fraction) of each case's trials, in order.
"""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from core import intervals
from core.trials import ABSENT, Trial

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


def text(value: Number) -> str:
    return f"{float(value):.4g}"


def claim_of(gate: str) -> str:
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
            "gate": gate, "gate_met": None if gate is None else claim_of(gate) in claims}


def _why_undecided(flip: intervals.SignFlip, margin: Number) -> str | None:
    if flip.interval is None:
        return flip.reason
    low, high = flip.interval
    if low == high == 0:
        return "no difference was seen, which without a margin shows nothing"
    unknown = f"whether a loss stays within {text(margin)}" if margin else "a gain from a loss"
    return f"the interval, {text(low)} to {text(high)}, does not tell {unknown}"


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
                stuck.append(f"endless {name} alone leave {text(Z_95 * math.sqrt(staying))}")
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
