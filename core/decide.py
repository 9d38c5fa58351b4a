"""From intervals to a decision: what may be claimed, is the gate met, and what to record next?

    $ python3 -m doctest core/decide.py && echo "every example below came out"
    every example below came out

Numbers in, a dict out for each key that `comparison.json` holds beside its intervals: exact or full floats, compare.py
rounds. Reads, writes and prints nothing. Shapes throughout: the difference of case i (candidate minus baseline) is
numerators[i] / unit; `groups` is (cases, sum of numerators) of each source; without sources each case is its own group.
`baseline` and `candidate` hold the scores (int, Fraction) of each case's trials, in order.
"""

import bisect
import functools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

from core import intervals
from core.trials import ABSENT, Trial

Number = int | float | Fraction
Scores = list[list[int | Fraction]]
Groups = list[tuple[int, int]]
Record = dict[str, Any]

FEW_CASES = 10                 # cases; below, a single case is a tenth of the result
MIN_GROUPS = 6                 # fewer carry no 95% sign-flip interval: 2 / 2^5 is more than 5%
Z_95 = 1.96
LARGEST_PLAN = 10_000_000      # sources; a plan of so many is none
POWER = 0.80                   # with which planned numbers of sources find what is there
NORMAL = NormalDist()
MISSING = "it does not hold if what is missing is graded against it: record that again"
GATES = ("better", "not-worse", "equivalent")
WIDTHS = {"now": (1, 1, 1), "twice_cases": (1, 2, 1), "twice_trials": (1, 1, 2), "endless_trials": (1, 1, math.inf),
          "twice_groups": (2, 1, 1)}     # how many times the sources, the cases of each source, and the trials
# O'Brien and Fleming's constants for 2 to 10 looks at a one-sided error of 0.025 (Jennison & Turnbull 2000, Group
# Sequential Methods, section 2.4).
LOOK_CONSTANTS = (1.977, 2.004, 2.024, 2.040, 2.053, 2.063, 2.072, 2.080, 2.087)


def text(value: Number) -> str:
    """Return a number for a sentence: 4 digits, from 0.01 to 1 at most 4 places, as figures have, from 1000 on none.

    >>> text(-0.092308), text(0.0012345), text(15.684), text(-19159.2)
    ('-0.0923', '0.001234', '15.68', '-19159')
    """
    number = float(value)
    if 1000 <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{round(number, 4) if 0.01 <= abs(number) < 1 else number:.4g}"


def claim_of(gate: str) -> str:
    return gate.replace("-", " ")


# === What was declared, and what it is held against ===

class Limits(NamedTuple):
    """What was declared before the look. Limits are in score units and exact, for an end of an interval may lie on one.

    look is (K, N), the K-th of N planned looks; among is how many candidates are compared with this baseline.
    """
    min_gain: Number = Fraction(0)
    margin: Number = Fraction(0)
    gate: str | None = None
    look: tuple[int, int] | None = None
    among: int | None = None

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


class Evidence(NamedTuple):
    """The differences by source, and what one more source could lose or gain, in score units.

    most_lost: what the best source has in the baseline above the low end of the range; most_gained: what the worst
    lacks to the high end.
    """
    groups: Groups
    unit: int
    most_lost: Number = 1
    most_gained: Number = 1

    def with_one_more(self, sign: int) -> "Evidence":
        """Return it with one more source that lost most_lost (sign 1), or gained most_gained (sign -1).

        It has as many cases as the source of an average case.

        >>> Evidence([(1, 0), (3, 0)], 5).with_one_more(1).groups
        [(1, 0), (3, 0), (3, -15)]
        """
        cases, squares = sum(n for n, _ in self.groups), sum(n * n for n, _ in self.groups)
        size = (2 * squares + cases) // (2 * cases)
        change = Fraction(self.most_lost if sign > 0 else self.most_gained)
        groups = [(n, total * change.denominator) for n, total in self.groups]
        one = size, -sign * size * change.numerator * self.unit
        return self._replace(groups=[*groups, one], unit=self.unit * change.denominator)

    def above(self, sign: int, limit: Number, alpha: Number) -> bool:
        """Tell whether the low end of the interval of sign * difference lies above a limit, strictly."""
        return intervals.flip_excludes([(n, sign * total) for n, total in self.groups], self.unit, limit, alpha)

    def interval(self, alpha: Number) -> intervals.Interval:
        return intervals.sign_flip(self.groups, self.unit, level=1 - 2 * Fraction(alpha))


class Worlds(NamedTuple):
    """What was compared; and the same with all that is missing filled against the candidate, and for it."""
    seen: Evidence
    against: Evidence
    favour: Evidence

    def above(self, sign: int, limit: Number, alpha: Number, one_more: bool = False) -> bool:
        """Tell whether sign * difference lies above a limit, as seen and filled against that.

        With one_more also where one more source went against it as far as it could.
        """
        filled = self.against if sign > 0 else self.favour
        worlds = [self.seen] + [filled] * (filled != self.seen)
        return all(world.above(sign, limit, alpha) for world in worlds) and (
            not one_more or all(world.with_one_more(sign).above(sign, limit, alpha) for world in worlds))


def alone(evidence: Evidence) -> Worlds:
    """Return the worlds where nothing is missing."""
    return Worlds(evidence, evidence, evidence)


# === May it ship? ===

CLAIMS = ("worse", "better", "equivalent", "not worse")      # in the order of the verdict


def holds(claim: str, worlds: Worlds, limits: Limits) -> bool:
    """Tell whether a claim holds. A limit is excluded strictly: an end that touches it claims nothing.

    A claim of safety ("equivalent", "not worse") needs a margin, and must also hold with one more source that lost all
    it could, for a suite of few sources does not see what hits few of them. Below `limits.sources` there is no claim.

    >>> gain = alone(Evidence([(1, k) for k in (1, 2, 1, 0, 2, 3, 1, 1)], 10))
    >>> [claim for claim in CLAIMS if holds(claim, gain, Limits(margin=Fraction(1, 10)))]
    ['better', 'not worse']
    """
    alpha, margin = limits.alpha, limits.margin
    if len(worlds.seen.groups) < limits.sources or not margin and claim in CLAIMS[2:]:
        return False
    if claim == "worse":
        return worlds.above(-1, margin, alpha)
    if claim == "equivalent":
        return all(worlds.above(sign, -margin, limits.equivalence_alpha, True) for sign in (1, -1))
    better = worlds.above(1, limits.min_gain, alpha)       # which implies "not worse"
    return better or claim == "not worse" and worlds.above(1, -margin, alpha, True)


def contradicted(worlds: Worlds, limits: Limits) -> bool:
    """Tell whether the data contradict the gate: the difference lies where the gate's claim is wrong."""
    if limits.gate is None or len(worlds.seen.groups) < limits.sources:
        return False
    if limits.gate == "equivalent":
        return any(worlds.above(sign, limits.margin, limits.equivalence_alpha) for sign in (1, -1))
    return worlds.above(-1, -limits.min_gain if limits.gate == "better" else limits.margin, limits.alpha)


def decision(worlds: Worlds, limits: Limits, has_sources: bool, failed: list[str] | None = None) -> Record:
    """Return the claims, the first of them as verdict, the intervals they rest on, and whether the gate is met.

    failed names the cases that had to pass and did not; None where none had to, which is no gate. A gate is met when
    its claim holds, whatever the verdict. "undecided" meets no gate and is not "the same".

    >>> found = decision(alone(Evidence([(1, 1)] * 8, 10)), Limits(gate="better"), True)
    >>> found["verdict"], found["claims"], found["gate_met"], found["level"]
    ('better', ['better'], True, Fraction(19, 20))
    """
    seen, flip = worlds.seen, worlds.seen.interval(limits.alpha)
    gated, failed = limits.gate is not None or failed is not None, failed or []
    found = [claim for claim in CLAIMS if holds(claim, worlds, limits)]
    held = limits.gate is None or claim_of(limits.gate) in found
    record: Record = {
        "unit": "source" if has_sources else "case", "groups": len(seen.groups), "min_gain": limits.min_gain,
        "margin": limits.margin, "look": limits.look and "{}/{}".format(*limits.look), "among": limits.among,
        "alpha": limits.alpha, "level": 1 - 2 * limits.alpha, "interval": flip.interval, "interval_method": flip.method,
        **_safety_intervals(worlds, limits, enough=flip.interval is not None),
        "sources_for_level": limits.sources, "claims": found, "verdict": found[0] if found else "undecided",
        "gate": limits.gate, "gate_met": held and not failed if gated else None,
    }
    record["gate_contradicted"] = record["gate_met"] is False and (bool(failed) or contradicted(worlds, limits))
    record |= _numbers_needed(seen, limits, record["verdict"])
    record["reason"] = None if found else why_not(record, "not worse" if limits.margin else None)
    reasons = []
    if failed:
        reasons.append(f"cases that must pass and do not: {', '.join(failed[:5])}"
                       + f" and {len(failed) - 5} more" * (len(failed) > 5))
    if not held:
        reasons.append(why_not(record, limits.gate and claim_of(limits.gate)))
    record["gate_reason"] = "; ".join(reasons) or None
    return record


def _safety_intervals(worlds: Worlds, limits: Limits, enough: bool) -> Record:
    """Return the intervals that claims are held against beside the first; None where none is asked for."""
    seen, alpha, other = worlds.seen, limits.alpha, limits.equivalence_alpha
    found: Record = dict.fromkeys(("equivalence_level", "equivalence_interval", "interval_with_one_more",
                                   "equivalence_interval_with_one_more", "interval_with_missing_filled"))
    if enough and worlds != alone(seen):
        found["interval_with_missing_filled"] = _widest(worlds.against, worlds.favour, alpha)
    if enough and limits.margin:
        found |= {"equivalence_level": 1 - 2 * other, "equivalence_interval": seen.interval(other).interval,
                  "interval_with_one_more": seen.with_one_more(1).interval(alpha).interval,
                  "equivalence_interval_with_one_more": _widest(seen.with_one_more(1), seen.with_one_more(-1), other)}
    return found


def _widest(lower: Evidence, upper: Evidence, alpha: Number) -> tuple[Number, Number] | None:
    """Return the low end of one interval and the high end of the other."""
    low, high = (evidence.interval(alpha).interval for evidence in (lower, upper))
    return low and high and (low[0], high[1])


def why_not(record: Record, claim: str | None) -> str:
    """Return in words why a claim does not hold (None: why nothing can be claimed), from a decision's own numbers."""
    unit, margin, ends = record["unit"], record["margin"], record["interval"]
    if ends is None:
        there = f"there {'is' if record['groups'] == 1 else 'are'} {record['groups']}"
        return f"a claim takes at least {record['sources_for_level']} {unit}s, and {there}"
    if claim == "equivalent":
        ends = record["equivalence_interval"]
    span = f"the interval by {unit}, {text(ends[0])} to {text(ends[1])},"
    if claim in (None, "better"):
        gain = record["min_gain"]
        if ends[0] > gain or claim is None and ends[1] < 0:
            return MISSING
        if ends[0] == ends[1] == 0 and not (claim and gain):
            return "no difference was seen, which without a margin shows nothing"
        if claim is None and ends[0] <= 0:
            return f"{span} leaves open whether it is a gain or a loss"
        return f"{span} {'lies below' if ends[1] < gain else 'does not lie above'} {text(gain)}"
    if ends[1] < -margin or claim == "equivalent" and ends[0] > margin:
        return f"{span} lies beyond the margin of {text(margin)}"
    if ends[0] <= -margin or claim == "equivalent" and ends[1] >= margin:
        return f"{span} does not rule out a {'change' if claim == 'equivalent' else 'loss'} of {text(margin)}"
    return _one_more_or_missing(record, claim)


def _one_more_or_missing(record: Record, claim: str) -> str:
    """Return what turns a claim of safety that holds of what was seen: one more source, or what is missing."""
    margin, needed = record["margin"], record["sources_needed"]
    settle = f"; about {needed} {record['unit']}s would settle it" * bool(needed)
    low, high = record[f"{'equivalence_' * (claim == 'equivalent')}interval_with_one_more"]
    if low <= -margin:
        return (f"one more {record['unit']} that fails completely would put the loss at {text(-low)}, beyond the "
                f"margin of {text(margin)}{settle}")
    if claim == "equivalent" and high >= margin:
        return (f"one more {record['unit']} that gains all it can would put the gain at {text(high)}, beyond the "
                f"margin of {text(margin)}{settle}")
    return MISSING


def nothing_moved(numerators: list[int], groups: Groups) -> Record | None:
    """Return what a comparison without any difference still excludes; None where some case differs.

    If more than excluded_share of all sources changed visibly, none of these would have with less than 5% chance
    (1 - 0.05^(1/G); sources drawn independently).

    >>> nothing_moved([0, 0, 0], [(2, 0), (1, 0)])
    {'groups': 2, 'excluded_share': 0.7763932022500211}
    """
    return None if any(numerators) else {"groups": len(groups), "excluded_share": 1 - 0.05 ** (1 / len(groups))}


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
    quarter = math.pi / 2
    at = bisect.bisect_left(range(1 << 40), share, key=lambda step: _t_share(step / (1 << 40) * quarter, df))
    return math.sqrt(df) * math.tan(at / (1 << 40) * quarter)


def _t_share(angle: float, df: int) -> float:
    """Return P(T <= t), t being sqrt(df) tan(angle)."""
    odd = df % 2
    term = total = (math.cos(angle) if odd else 1.0) * (df > 1)
    for k in range(2 + odd, df - 1, 2):
        term *= (k - 1) / k * math.cos(angle) ** 2
        total += term
    within = math.sin(angle) * total
    return (1 + ((angle + within) * 2 / math.pi if odd else within)) / 2


def t_interval(groups: list[tuple[int, Fraction]]) -> tuple[Number, Number]:
    """Return the 95% interval of the mean over cases by Student's t, from (cases, sum) of each source, two or more."""
    mean = sum(total for _, total in groups) / Fraction(sum(n for n, _ in groups))
    reach = t_quantile(0.975, len(groups) - 1) * math.sqrt(cluster_variance(groups, 1))
    return mean - Fraction(reach), mean + Fraction(reach)


def _numbers_needed(seen: Evidence, limits: Limits, verdict: str) -> Record:
    """Return "sources_needed", for the claim of safety, and "groups_needed", for the verdict of endless sources.

    The claim of safety is "equivalent" where that is the gate, else "not worse"; None without a margin, and where the
    difference seen lies beyond it. groups_needed, at the spread seen and with 80% power, is None once it has that
    verdict, and where no number would do: the difference lies on a limit, or a single source shows no spread.
    """
    difference = Fraction(sum(total for _, total in seen.groups), sum(n for n, _ in seen.groups) * seen.unit)
    final, gap = _in_the_end(difference, limits)
    found: Record = {"groups_needed": None, "sources_needed": limits.margin and _sources_needed(
        "equivalent" if limits.gate == "equivalent" else "not worse", seen, limits) or None}
    if verdict == final or not gap or len(seen.groups) < 2:
        return found
    alpha = limits.equivalence_alpha if final == "equivalent" else limits.alpha
    reach = sum(t_quantile(float(share), len(seen.groups) - 1) for share in (1 - alpha, POWER))
    needed = _whole(cluster_variance(seen.groups, seen.unit) * len(seen.groups) * Fraction(reach) ** 2 / gap ** 2)
    safe = _sources_needed(final, seen, limits) or 0 if final in CLAIMS[2:] else 0
    return found | {"groups_needed": max(needed, limits.sources, len(seen.groups) + 1, safe)}


def _sources_needed(claim: str, seen: Evidence, limits: Limits) -> int | None:
    if claim == "not worse":
        gains = [Fraction(total, seen.unit) - limits.min_gain * n for n, total in seen.groups]
        ways = [sources_for_safety(seen, 1, limits.margin, limits.alpha), _enough(gains, 0.0, limits.alpha)]
        return min(filter(None, ways), default=None)      # "better" implies it
    both = [sources_for_safety(seen, sign, limits.margin, limits.equivalence_alpha) for sign in (1, -1)]
    return max(count or 0 for count in both) if all(both) else None


def _in_the_end(difference: Fraction, limits: Limits) -> tuple[str, Number]:
    """Return the verdict of endless sources with this difference, and how far it lies from the nearest limit."""
    margin = limits.margin
    if difference < -margin:
        return "worse", -margin - difference
    if difference > limits.min_gain:
        return "better", difference - limits.min_gain
    if abs(difference) < margin:
        return "equivalent", margin - abs(difference)
    return "not worse", difference + margin


def sources_for_safety(seen: Evidence, sign: int, margin: Number, alpha: Number) -> int | None:
    """Return at about how many sources a claim of safety holds with one more that goes against it; None where at none.

    The sources seen stand for all, normal approximation; half of the sign patterns leave the one more out. Where
    nothing moved, only that one source counts.

    >>> sources_for_safety(Evidence([(1, 0)] * 9, 5), 1, Fraction(1, 20), 0.025)
    51
    """
    values = [sign * Fraction(total, seen.unit) + margin * n for n, total in seen.groups]
    size, against = seen.with_one_more(sign).groups[-1][0], seen.most_lost if sign > 0 else seen.most_gained
    lost = 2 * (against - margin) * size + sum(values) / len(values)     # the last for steps of one source
    return _enough(values, float(lost), alpha)


def _enough(values: Sequence[Number], lost: float, alpha: Number) -> int | None:
    """Return how many sources with sums like these have their interval above 0, also with one more that lost."""
    mean, square = (math.fsum(float(value) ** power for value in values) / len(values) for power in (1, 2))

    def holds(count: int) -> bool:
        tails = [NORMAL.cdf((taken - count * mean) / math.sqrt(count * square)) for taken in (0.0, lost)]
        return max(tails[0], sum(tails) / 2) <= alpha

    found = 1 + bisect.bisect_left(range(1, LARGEST_PLAN), True, key=holds) if mean > 0 else LARGEST_PLAN
    return found if found < LARGEST_PLAN else None


def _whole(value: Number) -> int:
    """Return the least whole number from value on; the last digits of a float cost no case."""
    return math.ceil(float(value) * (1 - 1e-12))


# === Where does the noise come from, and what to record next? ===

class _Noise(NamedTuple):
    """The variance of the mean difference is by_source + one_case / cases; one_case, that of a case, is
    between_cases + sampling / T.

    With a single trial a case only their sum is known: between_cases and sampling are None.
    """
    cases: int
    groups: int
    by_source: float
    one_case: float
    between_cases: float | None
    sampling: float | None

    def half_width(self, sources: float, cases: float, trials: float) -> float:
        """Return the 95% half-width with so many times the sources, the cases of each source, and the trials."""
        between_cases = self.one_case if self.between_cases is None else self.between_cases
        one_case = between_cases + (self.one_case - between_cases) / trials
        return Z_95 * math.sqrt((self.by_source + one_case / self.cases / cases) / sources)


class Recorded(NamedTuple):
    """What planning looks at: the differences by case and source, the scores they come from, and how those pair."""
    numerators: list[int]
    unit: int
    groups: Groups
    baseline: Scores
    candidate: Scores
    paired: bool
    has_sources: bool


def planning(sample: Recorded, alpha: Number = Fraction(1, 40), target: Number | None = None) -> Record:
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
    detectable_difference is found in 80% of repetitions at the one-sided error alpha, with t quantiles on one degree of
    freedom less than there are sources. The widths are normal approximations: with few groups the sign-flip interval is
    wider. Without spread to plan from (one case, one source, all equal) figures are None with the reason.
    """
    variance, noise, reasons = _variance(sample)
    reason = "; ".join(reasons) or None
    widths: Record = dict.fromkeys(WIDTHS)
    plan: Record = {"half_width": target, "source_groups": None, "cases": None, "trials": None, "reason": reason}
    stuck: list[str] = []
    if noise:
        widths = {name: None if noise.between_cases is None and "trials" in name else noise.half_width(*times)
                  for name, times in WIDTHS.items()}
        wanted = [("cases", noise.groups if sample.has_sources else MIN_GROUPS, noise.one_case, noise.by_source)]
        if sample.has_sources:
            spread = (noise.by_source + noise.one_case / noise.cases) * noise.groups
            wanted.append(("source_groups", MIN_GROUPS, spread, 0.0))
        if noise.sampling is not None and noise.between_cases is not None:
            staying = noise.by_source + noise.between_cases / noise.cases
            wanted.append(("trials", 1, noise.sampling / noise.cases, staying))
        for name, least, shrinking, staying in wanted:
            room = (target or 0) ** 2 - Z_95 ** 2 * staying
            if room > 0:
                plan[name] = max(least, _whole(Z_95 ** 2 * shrinking / room))
            else:
                stuck.append(f"endless {name} alone leave {text(Z_95 * math.sqrt(staying))}")
        plan["reason"] = "; ".join(stuck + reasons) or None
        if sample.has_sources and noise.groups == noise.cases:    # more cases of the same sources: nobody knows
            widths["twice_cases"] = plan["cases"] = None
    return {"variance": variance | {"reason": reason}, "half_width": widths | {"reason": reason},
            "plan": plan if target is not None else None,
            "detectable_difference": widths["now"] and widths["now"] / Z_95 * sum(
                t_quantile(float(share), len(sample.groups) - 1) for share in (1 - alpha, POWER))}


def _variance(sample: Recorded) -> tuple[Record, _Noise | None, list[str]]:
    """Return "variance", its parts to plan from (None where there is no spread), and why figures are missing."""
    numerators, unit, groups, baseline, candidate, paired, has_sources = sample
    n, number, total, squares = len(numerators), len(groups), sum(numerators), sum(k * k for k in numerators)
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

    sides = [baseline, candidate]
    if paired:
        sides = [[[y - x for x, y in zip(b, c, strict=True)] for b, c in zip(baseline, candidate, strict=True)]]
    noise = _Noise(n, number, float(by_source), float(one), None, None)
    if all(any(len(scores) > 1 for scores in side) for side in sides):
        sampling, part = (sum(figures) for figures in zip(*map(_sampling, sides), strict=True))
        found |= {"between_cases": max(0.0, one - part), "sampling": sampling}
        noise = noise._replace(between_cases=found["between_cases"],
                               sampling=sampling * min(1, one / part) if part else 0.0)
    else:
        reasons.append("one trial a case: the sampling part is not known")
    if not noise.half_width(*WIDTHS["now"]):
        return found, None, ["all equal: no spread to plan from"]
    return found, noise, reasons


def _sampling(scores: Scores) -> tuple[float, float]:
    """Return the variance of one trial within its case, pooled over cases, and that of a share, its mean over cases."""
    squares = 0.0
    for case, count in Counter(map(tuple, scores)).items():          # of thousands of cases most score alike
        mean = math.fsum(case) / len(case)
        squares += count * math.fsum((score - mean) ** 2 for score in case)
    one_trial = squares / (sum(map(len, scores)) - len(scores))
    return one_trial, one_trial * math.fsum(1 / len(case) for case in scores) / len(scores)


def cluster_variance(groups: Sequence[tuple[int, int | Fraction]], unit: int) -> Fraction:
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
    if not any(side["trials"] for side in sides.values()):
        return sides | {"difference_bounds": None}
    return sides | {"difference_bounds": [mean(candidate, low) - mean(baseline, high),
                                          mean(candidate, high) - mean(baseline, low)]}
