"""From intervals to a decision: what may be claimed, is the gate met, and what to record next?

    $ python3 -c "from core.decide import Evidence, Limits, decision; \\
      gains = Evidence([(4, 2), (4, 1), (4, 3), (4, 2), (4, 1), (4, 2)], 5); \\
      print(decision(gains, Limits(), has_sources=True)['verdict'])"
    better

Numbers in, a dict out for each key that `comparison.json` holds beside its intervals: exact or full floats, figures.py
rounds. Reads, writes and prints nothing. Shapes throughout: the difference of case i (candidate minus baseline) is
numerators[i] / unit; `groups` is (cases, sum of numerators) of each source; without sources each case is its own group.
The shares of both sides are whole numbers over the same unit.
"""

import bisect
import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core import intervals
from core.intervals import NORMAL, Groups, Number
from core.trials import listed

Scores = list[list[int | Fraction]]
Figures = dict[str, Any]

FEW_CASES = 10                 # cases; below, a single case is a tenth of the result
MIN_GROUPS = 6                 # fewer carry no 95% sign-flip interval: 2 / 2^5 is more than 5%
Z_95 = 1.96
LARGEST_PLAN = 10_000_000      # sources; a plan of so many is none
POWER = 0.80                   # with which planned numbers of sources find what is there
MISSING = "it does not hold if what is missing is graded against it: record that again"
GATES = ("better", "not-worse", "equivalent")
# O'Brien and Fleming's constants for 2 to 10 looks at a one-sided error of 0.025 (Jennison & Turnbull 2000, Group
# Sequential Methods, section 2.4).
LOOK_CONSTANTS = (1.977, 2.004, 2.024, 2.040, 2.053, 2.063, 2.072, 2.080, 2.087)


def number_text(value: Number, sign: str = "", places: int | None = None) -> str:
    """Return a number for a sentence: 4 digits, from 0.01 to 1 at most 4 places, from 1000 on none; or with places.

    >>> number_text(-0.092308), number_text(0.0012345), number_text(15.684, "+"), number_text(0.0000123, "+", 6)
    ('-0.0923', '0.001234', '+15.68', '+0.000012')
    """
    number = float(value)
    if places is not None:
        number = round(number, places)
        return f"{number:{sign}.{places}f}".rstrip("0").rstrip(".") if number else "0"
    if 1000 <= abs(number) < 1e15:
        return f"{number:{sign}.0f}"
    if 0.01 <= abs(number) < 1:
        number = round(number, 4)
    return f"{number:{sign}.4g}" if number else "0"


def whole_numbers(values: Iterable[int | Fraction]) -> tuple[list[int], int]:
    """Return values as whole numbers of one unit: each value is its number / unit.

    >>> whole_numbers([Fraction(1, 2), 2, Fraction(2, 3)])
    ([3, 12, 4], 6)
    """
    values = list(values)
    unit = math.lcm(*{value.denominator for value in values})
    return [value.numerator * (unit // value.denominator) for value in values], unit


# === What was declared, and what it is held against ===

class Limits(NamedTuple):
    """What was declared before the look. Limits are in score units and exact, for an end of an interval may lie on one.

    look is (K, N), the K-th of N planned looks; among is how many candidates are compared with this baseline; places is
    how many decimal places scores are shown with.
    """
    min_gain: Number = Fraction(0)
    margin: Number = Fraction(0)
    gate: str | None = None
    look: tuple[int, int] | None = None
    among: int | None = None
    places: int = 4

    @property
    def claim(self) -> str | None:
        """The claim that the gate asks for."""
        return self.gate and self.gate.replace("-", " ")

    @property
    def alpha(self) -> Number:
        """The one-sided error that a claim may make.

        >>> Limits().alpha, Limits(among=20).alpha, round(Limits(look=(2, 2)).alpha, 4)
        (Fraction(1, 40), Fraction(1, 800), 0.024)
        """
        error: Number = Fraction(1, 40)
        if self.look:
            k, n = self.look
            error = math.erfc(LOOK_CONSTANTS[n - 2] * math.sqrt(n / k / 2)) / 2
        return error / (self.among or 1)

    @property
    def equivalence_alpha(self) -> Number:
        """The one-sided error of each of the two tests of "equivalent" (Schuirmann 1987)."""
        return self.alpha if self.look or self.among else 2 * self.alpha

    @property
    def sources(self) -> int:
        """How many sources a claim takes: G where 2^G reaches 1 / alpha.

        >>> Limits().sources, Limits(look=(1, 5)).sources, Limits(among=20).sources
        (6, 19, 10)
        """
        return intervals.groups_needed_for(self.alpha)


class Differences(NamedTuple):
    """Shares and difference of each case, as whole numbers, and the source group it belongs to."""

    baseline: list[int]  # the share of case i is baseline[i] / unit
    candidate: list[int]
    unit: int
    group_of: list[int]  # of each case the number of its group
    group_count: int  # of all groups, also those that have no case here

    @property
    def numerators(self) -> list[int]:
        """The difference of case i is numerators[i] / unit."""
        return list(map(operator.sub, self.candidate, self.baseline))

    def sums(self, values: Sequence[int]) -> list[int]:
        """Return the sum of values, one a case, over each of all groups, by its number."""
        sums = [0] * self.group_count
        for group, value in zip(self.group_of, values, strict=True):
            sums[group] += value
        return sums

    def sizes(self) -> list[int]:
        """Return how many cases each of all groups has, by its number."""
        return self.sums([1] * len(self.group_of))

    def groups(self) -> list[tuple[int, int]]:
        """Return (number of cases, sum of numerators) of each source group that has cases, in order of the first."""
        sizes, sums = self.sizes(), self.sums(self.numerators)
        return [(sizes[group], sums[group]) for group in dict.fromkeys(self.group_of)]

    def means(self) -> Figures:
        """Return the mean shares over all cases, and their difference."""
        baseline, candidate = (Fraction(sum(side), len(side) * self.unit) for side in (self.baseline, self.candidate))
        return {"baseline": baseline, "candidate": candidate, "difference": candidate - baseline}

    def of(self, cases: Sequence[int]) -> "Differences":
        """Return those of some cases."""
        baseline, candidate, group_of = (
            [values[i] for i in cases] for values in (self.baseline, self.candidate, self.group_of))
        return self._replace(baseline=baseline, candidate=candidate, group_of=group_of)


class Evidence(NamedTuple):
    """The differences by source, and what one more source could lose or gain, in score units.

    most_lost: what the best source has in the baseline above the low end of the range; most_gained: what the worst
    lacks to the high end. against and favour: the same with all that is missing filled against the candidate, and for
    it; None where nothing is missing.
    """
    groups: Groups
    unit: int
    most_lost: Number = 1
    most_gained: Number = 1
    against: "Evidence | None" = None
    favour: "Evidence | None" = None

    def with_one_more(self, sign: int) -> "Evidence":
        """Return it with one more source that lost most_lost (sign 1), or gained most_gained (sign -1).

        It has as many cases as the source of an average case.

        >>> Evidence([(1, 0), (3, 0)], 5).with_one_more(1).groups
        [(1, 0), (3, 0), (3, -15)]
        """
        sizes = [n for n, _ in self.groups]
        size = math.floor(Fraction(sum(n * n for n in sizes), sum(sizes)) + Fraction(1, 2))        # rounded
        change = Fraction(self.most_lost if sign > 0 else self.most_gained)
        groups = [(n, total * change.denominator) for n, total in self.groups]
        groups.append((size, -sign * size * change.numerator * self.unit))
        return self._replace(groups=groups, unit=self.unit * change.denominator)

    def above(self, sign: int, limit: Number, alpha: Number, one_more: bool = False) -> bool:
        """Tell whether the low end of the interval of sign * difference lies above a limit, strictly.

        Also where what is missing is filled against that; with one_more also where one more source went against it as
        far as it could.
        """
        filled = self.against if sign > 0 else self.favour
        tried = [self, filled] if filled else [self]
        if one_more:
            tried += [evidence.with_one_more(sign) for evidence in tried]
        return all(intervals.flip_excludes([(n, sign * total) for n, total in evidence.groups], evidence.unit, limit,
                                           alpha) for evidence in tried)

    def interval(self, alpha: Number) -> intervals.Interval:
        return intervals.sign_flip(self.groups, self.unit, level=1 - 2 * Fraction(alpha))


def evidence_of(sizes: Sequence[int], before: Sequence[int], after: Sequence[int], unit: int,
                score_range: tuple[Number, Number]) -> Evidence:
    """Return the evidence of two runs, from the number of cases of each source and the sums of their scores * unit."""
    means = list(map(operator.truediv, before, sizes))                     # in floats: these are asked for often
    best, worst = means.index(max(means)), means.index(min(means))
    groups = list(zip(sizes, map(operator.sub, after, before), strict=True))
    return Evidence(groups, unit, Fraction(before[best], sizes[best] * unit) - score_range[0],
                    score_range[1] - Fraction(before[worst], sizes[worst] * unit))


# === May it ship? ===

CHANGES = ("worse", "better")
SAFETY = ("equivalent", "not worse")                         # these need a margin
CLAIMS = (*CHANGES, *SAFETY)                                 # in the order of the verdict
ONE_MORE = {1: "fails completely would put the loss", -1: "gains all it can would put the gain"}


def _demands(claim: str, limits: Limits) -> list[tuple[int, Number, Number]]:
    """Return what a claim demands: that sign * difference lies above a limit, with a one-sided error."""
    if claim == "equivalent":
        return [(sign, -limits.margin, limits.equivalence_alpha) for sign in (1, -1)]
    limit = {"worse": limits.margin, "better": limits.min_gain, "not worse": -limits.margin}[claim]
    return [(-1 if claim == "worse" else 1, limit, limits.alpha)]


def holds(claim: str, seen: Evidence, limits: Limits) -> bool:
    """Tell whether a claim holds. A limit is excluded strictly: an end that touches it claims nothing.

    A claim of safety ("equivalent", "not worse") needs a margin, and must also hold with one more source that lost all
    it could, for a suite of few sources does not see what hits few of them. Below `limits.sources` there is no claim.

    >>> gain = Evidence([(1, k) for k in (1, 2, 1, 0, 2, 3, 1, 1)], 10)
    >>> [claim for claim in CLAIMS if holds(claim, gain, Limits(margin=Fraction(1, 10)))]
    ['better', 'not worse']
    """
    if len(seen.groups) < limits.sources or claim in SAFETY and not limits.margin:
        return False
    if claim == "not worse" and holds("better", seen, limits):
        return True
    return all(seen.above(*demand, claim in SAFETY) for demand in _demands(claim, limits))


def contradicted(seen: Evidence, limits: Limits) -> bool:
    """Tell whether the data contradict the gate: the difference lies where its claim is wrong.

    Where no source moved, they cannot tell.
    """
    if limits.claim is None or len(seen.groups) < limits.sources or not any(total for _, total in seen.groups):
        return False
    return any(seen.above(-sign, -limit, alpha) for sign, limit, alpha in _demands(limits.claim, limits))


def decision(seen: Evidence, limits: Limits, has_sources: bool, failed: dict[str, bool] | None = None) -> Figures:
    """Return the claims, the first of them as verdict, the intervals they rest on, and whether the gate is met.

    failed holds the cases that had to pass and did not, {name: whether that is certain}; None where none had to, which
    is no gate. A gate is met when its claim holds, whatever the verdict; "undecided" meets none and is not "the same".

    >>> found = decision(Evidence([(1, 1)] * 8, 10), Limits(gate="better"), True)
    >>> found["verdict"], found["claims"], found["gate_met"], found["level"]
    ('better', ['better'], True, Fraction(19, 20))
    """
    flip = seen.interval(limits.alpha)
    claims = [claim for claim in CLAIMS if holds(claim, seen, limits)]
    claim_holds = limits.gate is None or limits.claim in claims
    gated, disputed = limits.gate is not None or failed is not None, not claim_holds and contradicted(seen, limits)
    figures: Figures = {
        "unit": "source" if has_sources else "case", "groups": len(seen.groups), "min_gain": limits.min_gain,
        "margin": limits.margin, "look": limits.look and "{}/{}".format(*limits.look), "among": limits.among,
        "alpha": limits.alpha, "level": 1 - 2 * limits.alpha, "interval": flip.interval, "interval_method": flip.method,
        **_safety_intervals(seen, limits), "sources_for_level": limits.sources, "claims": claims,
        "verdict": claims[0] if claims else "undecided", "gate": limits.gate,
        "gate_met": claim_holds and not failed if gated else None,
        "gate_contradicted": any((failed or {}).values()) or disputed,
    }
    figures |= _numbers_needed(seen, limits, figures["verdict"])
    figures["reason"] = None if claims else why_not(figures, limits, "not worse" if limits.margin else None)
    reasons = list[str]()
    for certain, what in ((True, "do not"), (False, "have trials without a score")):
        names = [name for name, sure in (failed or {}).items() if sure == certain]
        reasons += [f"cases that must pass and {what}: {listed(names)}"] if names else []
    if not claim_holds:
        reasons.append(why_not(figures, limits, limits.claim, disputed))
    figures["gate_reason"] = "; ".join(reasons) or None
    return figures


def _safety_intervals(seen: Evidence, limits: Limits) -> Figures:
    """Return the intervals that claims are held against beside the first; None where none is asked for."""
    alpha, other = limits.alpha, limits.equivalence_alpha
    figures: Figures = dict.fromkeys(("equivalence_level", "equivalence_interval", "interval_with_one_more",
                                      "equivalence_interval_with_one_more", "interval_with_missing_filled"))
    if len(seen.groups) < limits.sources:
        return figures
    if seen.against and seen.favour:
        figures["interval_with_missing_filled"] = _widest(seen.against, seen.favour, alpha)
    if limits.margin:
        lost, gained = seen.with_one_more(1), seen.with_one_more(-1)
        figures |= {"equivalence_level": 1 - 2 * other, "equivalence_interval": seen.interval(other).interval,
                    "interval_with_one_more": lost.interval(alpha).interval,
                    "equivalence_interval_with_one_more": _widest(lost, gained, other)}
    return figures


def _widest(lower: Evidence, upper: Evidence, alpha: Number) -> tuple[Number, Number] | None:
    """Return the low end of one interval and the high end of the other."""
    low, high = (evidence.interval(alpha).interval for evidence in (lower, upper))
    return (low[0], high[1]) if low and high else None


def why_not(figures: Figures, limits: Limits, claim: str | None, disputed: bool = False) -> str:
    """Return in words why a claim does not hold (None: why nothing can be claimed), from a decision's own numbers.

    disputed: the data contradict it, also where what is missing is filled the other way.
    """
    unit = figures["unit"]
    if figures["interval"] is None:
        return f"a claim takes at least {figures['sources_for_level']} {unit}s, not {figures['groups']}"
    ends, wider = figures["interval"], figures["interval_with_one_more"]
    if claim == "equivalent":
        ends, wider = figures["equivalence_interval"], figures["equivalence_interval_with_one_more"]
    demands = _demands(claim or "better", limits)
    if any(_low_end(ends, sign) <= limit for sign, limit, _ in demands) and (claim or ends[1] >= 0):
        low, high = (number_text(end, "+", limits.places) for end in ends)
        return f"the interval by {unit}, {low} to {high}, {_objection(ends, limits, claim, disputed)}"
    for sign, limit, _ in demands if claim in SAFETY else []:
        change = -_low_end(wider, sign)
        if change >= -limit:
            needed = figures["sources_needed"]
            settle = f"; about {needed} {unit}s would settle it" if needed else ""
            return (f"one more {unit} that {ONE_MORE[sign]} at {number_text(change, '', limits.places)}, beyond the "
                    f"margin of {number_text(limits.margin)}{settle}")
    return MISSING if figures["interval_with_missing_filled"] else f"the interval by {unit} ends too near the limit"


def _low_end(ends: tuple[Number, Number], sign: int) -> Number:
    """Return the low end of sign * difference."""
    return ends[0] if sign > 0 else -ends[1]


def _objection(ends: tuple[Number, Number], limits: Limits, claim: str | None, disputed: bool) -> str:
    """Return in words what in an interval speaks against a claim."""
    if claim in SAFETY:
        change = f"a {'change' if claim == 'equivalent' else 'loss'} of {number_text(limits.margin)}"
        shown = any(_low_end(ends, -sign) > -limit for sign, limit, _ in _demands(claim, limits))
        turned = "" if disputed else ", but what is missing could turn that"
        return f"shows {change} or more{turned}" if shown else f"does not rule out {change}"
    if claim is None and ends[0] <= 0 < ends[1]:
        return "leaves open whether it is a gain or a loss"
    return f"does not lie above {number_text(limits.min_gain)}"


def nothing_moved(diffs: Differences) -> Figures | None:
    """Return what a comparison without any difference still excludes; None where some case differs.

    If more than excluded_share of all sources changed visibly, none of these would have with less than 5% chance
    (1 - 0.05^(1/G); sources drawn independently).
    """
    groups = len(diffs.groups())
    return None if any(diffs.numerators) else {"groups": groups, "excluded_share": 1 - 0.05 ** (1 / groups)}


# === How many more would settle it? ===

@functools.lru_cache(maxsize=64)
def t_quantile(share: float, df: int) -> float:
    """Return the quantile of Student's t with df degrees of freedom, for a share in [0.5, 1).

    By bisection of the closed form (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4), in which t is sqrt(df) times the
    tangent of an angle; beyond 1,000 degrees by three terms of its expansion (26.7.5), right to 1e-7.

    >>> round(t_quantile(0.975, 1), 3), round(t_quantile(0.975, 8), 3), round(t_quantile(0.8, 33), 3)
    (12.706, 2.306, 0.853)
    """
    if df > 1000:
        z = NORMAL.inv_cdf(share)
        return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2)
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        low, high = (angle, high) if _t_share(angle, df) < share else (low, angle)
    return math.sqrt(df) * math.tan(low)


def _t_share(angle: float, df: int) -> float:
    """Return P(T <= t), t being sqrt(df) tan(angle)."""
    if df == 1:
        return 0.5 + angle / math.pi
    odd, squared_cosine = df % 2, math.cos(angle) ** 2
    factors = ((k - 1) / k * squared_cosine for k in range(2 + odd, df - 1, 2))
    terms = itertools.accumulate(factors, operator.mul, initial=math.cos(angle) if odd else 1.0)
    within = math.sin(angle) * sum(terms)
    return (1 + ((angle + within) * 2 / math.pi if odd else within)) / 2


def detectable_errors(alpha: Number, groups: int) -> float:
    """Return how many standard errors a difference lies from a limit that so many groups tell it from with POWER."""
    return sum(t_quantile(min(float(share), 1 - 2 ** -53), groups - 1) for share in (1 - alpha, POWER))  # below 1


def t_interval(groups: list[tuple[int, Fraction]]) -> tuple[Number, Number]:
    """Return the 95% interval of the mean over cases by Student's t, from (cases, sum) of each source, two or more."""
    n, total = map(sum, zip(*groups, strict=True))
    mean = total / Fraction(n)
    half_width = Fraction(t_quantile(0.975, len(groups) - 1) * math.sqrt(cluster_variance(groups, 1)))
    return mean - half_width, mean + half_width


def _numbers_needed(seen: Evidence, limits: Limits, verdict: str) -> Figures:
    """Return "sources_needed", for the claim of safety, "groups_needed", for the verdict of endless sources, and which.

    The claim of safety is "equivalent" where that is the gate, else "not worse"; None without a margin, and where the
    difference seen lies beyond it. groups_needed, at the spread seen and with 80% power, is None once it has that
    verdict, and where no number would do: the difference lies on a limit, or a single source shows no spread.
    """
    safety = "equivalent" if limits.gate == "equivalent" else "not worse"
    n, total = map(sum, zip(*seen.groups, strict=True))
    difference, groups = Fraction(total, n * seen.unit), len(seen.groups)
    for_safety = _sources_needed(safety, seen, limits) if limits.margin else None
    if for_safety and not holds(safety, seen, limits):     # the normal approximation may ask for too few
        for_safety = max(for_safety, groups + 1)
    figures: Figures = {"groups_needed": None, "groups_needed_for": None,
                        "sources_needed": for_safety and max(for_safety, limits.sources)}
    demands = {claim: _demands(claim, limits) for claim in (CLAIMS if limits.margin else CHANGES)}
    gaps = {claim: min(sign * difference - limit for sign, limit, _ in demands[claim]) for claim in demands}
    endless = next((claim for claim, gap in gaps.items() if gap > 0), verdict)      # what endless sources would say
    if endless != verdict and groups > 1:
        variance = cluster_variance(seen.groups, seen.unit) * groups
        errors = detectable_errors(demands[endless][0][2], groups)
        needed = _rounded_up(variance * Fraction(errors) ** 2 / gaps[endless] ** 2)
        safe = _sources_needed(endless, seen, limits) if endless in SAFETY else None
        figures |= {"groups_needed": max(needed, limits.sources, groups + 1, safe or 0), "groups_needed_for": endless}
    return figures


def _sources_needed(claim: str, seen: Evidence, limits: Limits) -> int | None:
    counts = [sources_for_safety(seen, sign, limits.margin, alpha) for sign, _, alpha in _demands(claim, limits)]
    numbers = [max(counts, key=lambda count: count or LARGEST_PLAN)]
    if claim == "not worse":                               # "better" implies it
        gains = [Fraction(total, seen.unit) - limits.min_gain * n for n, total in seen.groups]
        numbers.append(_enough(gains, 0.0, limits.alpha))
    return min(filter(None, numbers), default=None)


def sources_for_safety(seen: Evidence, sign: int, margin: Number, alpha: Number) -> int | None:
    """Return at about how many sources a claim of safety holds with one more that goes against it; None where at none.

    The sources seen stand for all, normal approximation; half of the sign patterns leave the one more out. Where
    nothing moved, only that one source counts.

    >>> sources_for_safety(Evidence([(1, 0)] * 9, 5), 1, Fraction(1, 20), 0.025)
    51
    """
    with_one_more = seen.with_one_more(sign)
    *values, one_more = [sign * Fraction(total, with_one_more.unit) + margin * n for n, total in with_one_more.groups]
    continuity = sum(values) / len(values)         # for sums of a subset come in steps of about one source
    return _enough(values, float(continuity - 2 * one_more), alpha)


def _enough(values: Sequence[Number], lost: float, alpha: Number) -> int | None:
    """Return how many sources with sums like these have their interval above 0, also with one more that lost."""
    mean, square = (math.fsum(float(value) ** power for value in values) / len(values) for power in (1, 2))

    def settled(count: int) -> bool:
        tails = [NORMAL.cdf((taken - count * mean) / math.sqrt(count * square)) for taken in (0.0, lost)]
        return max(tails[0], sum(tails) / 2) <= alpha

    if mean <= 0:
        return None
    needed = 1 + bisect.bisect_left(range(1, LARGEST_PLAN), True, key=settled)
    return needed if needed < LARGEST_PLAN else None


def _rounded_up(value: Number) -> int:
    """Return the least whole number from value on; the last digits of a float cost no case."""
    return math.ceil(float(value) * (1 - 1e-12))


# === Where does the noise come from, and what to record next? ===

class _Way(NamedTuple):
    """One thing to record more of."""
    now: float                     # how many there are; of trials a case the harmonic mean
    fewest: int                    # to ask for
    shrinking: float               # the part of the variance of the mean difference that twice as many would halve
    staying: float                 # the part that stays however many there are

    def half_width(self, left: float) -> float:
        """Return that of the interval where so much of the shrinking part is left."""
        return Z_95 * math.sqrt(self.shrinking * left + self.staying)


def planning(diffs: Differences, trials: list[Scores], has_sources: bool, alpha: Number,
             target: Number | None) -> Figures:
    """Return "variance", "half_width", "plan" (None without a target half-width) and "detectable_difference".

    Model: difference of a case = mean + source + case + sampling / T. Moments of the one-way layout with unequal groups
    (Searle, Casella and McCulloch, Variance Components, 1992, ch. 3): with mean squares MSW within and MSB between
    sources, between_sources = (MSB - MSW) (G - 1) / (n - sum n_g^2 / n) and between_cases = MSW - sampling / T. What
    comes out negative is 0; without a source part MSW is the variance of all differences. sampling, of one trial: the
    pooled variance of the trial differences within a case where trials pair, else the two sides' variances added up.

    half_width.now = 1.96 sqrt(between_sources sum n_g^2 / n^2 + MSW / n): where sources add nothing, exactly 1.96
    standard_error_case; where they do and all have as many cases, exactly 1.96 standard_error_source (CR1,
    cluster-robust). Of MSW, sampling / T shrinks with more trials. Twice the cases or trials are of the same sources.
    trials holds the differences of the trials where they pair, else the scores of each side.
    plan: what the target needs of each alone, the others as now; None where that cannot reach it.
    detectable_difference is found in 80% of repetitions at the one-sided error alpha, with t quantiles on one degree of
    freedom less than there are sources. The widths are normal approximations: with few groups the sign-flip interval is
    wider. Without spread to plan from (one case, one source, all equal) figures are None with the reason.
    """
    variance, ways = _variance(diffs, trials, has_sources)
    unit = "source_groups" if has_sources else "cases"
    left = {"now": (unit, 1.0), "twice_cases": ("cases", 0.5), "twice_trials": ("trials", 0.5),
            "endless_trials": ("trials", 0.0), "twice_groups": (unit, 0.5)}
    widths = {name: ways[way].half_width(part) if way in ways else None for name, (way, part) in left.items()}
    errors = detectable_errors(alpha, len(diffs.groups())) if ways else 0
    of_unit = math.sqrt(ways[unit].shrinking * ways[unit].now) if ways else None
    return {"variance": variance | {"standard_deviation": of_unit},
            "half_width": widths | {"reason": variance["reason"]},
            "plan": None if target is None else _plan(target, variance["reason"], ways),
            "detectable_difference": math.sqrt(ways[unit].shrinking) * errors if ways else None}


def _plan(target: Number, reason: str | None, ways: dict[str, _Way]) -> Figures:
    """Return how many sources, cases or trials bring the half-width down to the target."""
    needed: Figures = dict.fromkeys(("source_groups", "cases", "trials"))
    reasons = [reason] if reason else []
    for name, way in ways.items():
        room = (target / Z_95) ** 2 - way.staying
        if room > 0:
            needed[name] = max(way.fewest, _rounded_up(way.now * way.shrinking / room))
        else:
            reasons.append(f"endless {name} alone leave {number_text(way.half_width(0))}")
    return {"half_width": target, **needed, "reason": "; ".join(reasons) or None}


def _variance(diffs: Differences, trials: list[Scores], has_sources: bool) -> tuple[Figures, dict[str, _Way]]:
    """Return "variance", and the ways to lessen that of the mean difference: none where there is no spread."""
    groups, of_sources = diffs.groups(), Fraction(0)           # the part of the variance that sources make
    numerators, n, number = diffs.numerators, len(diffs.group_of), len(groups)
    variance: Figures = dict.fromkeys(("between_sources", "between_cases", "sampling", "standard_error_case",
                                       "standard_error_source", "design_effect", "reason"))
    if n < 2:
        return variance | {"reason": "one case shows no spread between cases"}, {}
    whole = by_case = cluster_variance([(1, k) for k in numerators], diffs.unit)
    variance["standard_error_case"] = math.sqrt(by_case)
    if has_sources and number < 2:
        return variance | {"reason": "one source shows no spread between sources"}, {}
    reasons, ways = [], dict[str, _Way]()
    if has_sources:
        by_source = cluster_variance(groups, diffs.unit)
        variance["standard_error_source"] = math.sqrt(by_source)
        variance["design_effect"] = by_source / by_case if by_case else None
    else:
        reasons.append("no source tag: each case counts as independent")
    if number < n:
        between, within = _between_and_within(groups, diffs)
        variance["between_sources"] = between
        if between:
            of_sources = between * sum(cases ** 2 for cases, _ in groups) / n ** 2
            whole = of_sources + within / n
        ways["cases"] = _Way(n, number, float(whole - of_sources), float(of_sources))
    elif has_sources:                      # what more cases of the same sources would bring nobody knows
        reasons.append("with one case a source, cases and sources cannot be told apart")
    if all(any(len(case) > 1 for case in scores) for scores in trials):
        sampling, part = (sum(figures) for figures in zip(*map(_sampling, trials), strict=True))
        variance |= {"between_cases": max(0.0, (whole - of_sources) * n - part), "sampling": sampling}
        staying = of_sources + variance["between_cases"] / n
        ways["trials"] = _Way(sampling / (part or 1), 1, whole - staying, staying)
    else:
        reasons.append("one trial a case: the sampling part is not known")
    ways["source_groups" if has_sources else "cases"] = _Way(number, MIN_GROUPS, float(whole), 0.0)
    if len(set(numerators)) == 1:
        reasons.append("all equal: no spread to plan from")
        ways = {}
    return variance | {"reason": "; ".join(reasons) or None}, ways


def _between_and_within(groups: Groups, diffs: Differences) -> tuple[Fraction, Fraction]:
    """Return the variance between sources, and that of cases within a source."""
    numerators, n, number = diffs.numerators, len(diffs.group_of), len(groups)
    explained = sum((Fraction(total ** 2, cases) for cases, total in groups), Fraction(0))
    weight = Fraction(sum(cases ** 2 for cases, _ in groups), n)
    within = (sum(k * k for k in numerators) - explained) / ((n - number) * diffs.unit ** 2)
    between = (explained - Fraction(sum(numerators) ** 2, n)) / ((number - 1) * diffs.unit ** 2)
    return max(Fraction(0), (between - within) * (number - 1) / (n - weight)), within


def _sampling(scores: Scores) -> tuple[float, float]:
    """Return the variance of one trial within its case, pooled over cases, and that of a share, its mean over cases."""
    squares = 0.0
    for case, count in Counter(map(tuple, scores)).items():          # of thousands of cases most score alike
        squares += count * squares_of(case)
    one_trial = squares / (sum(map(len, scores)) - len(scores))
    return one_trial, one_trial * math.fsum(1 / len(case) for case in scores) / len(scores)


def squares_of(values: Sequence[Number]) -> float:
    """Return the sum of squared distances from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def cluster_variance(groups: Sequence[tuple[int, int | Fraction]], unit: int) -> Fraction:
    """Return the squared standard error CR1 of the mean: residual sums by group, squared, times G / (G - 1)."""
    n, total = map(sum, zip(*groups, strict=True))
    squares = sum((group_total * n - cases * total) ** 2 for cases, group_total in groups)
    return Fraction(squares * len(groups), (len(groups) - 1) * n ** 4 * unit ** 2)
