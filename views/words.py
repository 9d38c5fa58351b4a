"""What does a comparison say? Its words, its figures as text and the scale of its drawings, for every view alike.

    $ python3 -m doctest views/words.py && echo "every example below came out"
    every example below came out

No statistics here: every figure is the comparison's own, and what is null there is "not measured". `Words` holds a
comparison, `Scale` is the axis of a drawing. Reads, writes and prints nothing.
"""

import json
import math
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from core.files import clean as clean
import harness

NOT_MEASURED = "not measured"
SHOWN_NAMES = 10  # of a list within a sentence
SIDES = ("baseline", "candidate")
ON_NOISE = ("noise", "nothing", "bounds", "incomplete baseline", "incomplete candidate")  # of Words.facts

Ends = Sequence[float] | None  # an interval's two ends, None where it is not measured

# === Names that fit ===


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("abc"), columns("日本"), columns("e\\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(
        0 if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff"
        else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def beginning(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    end = 4 * width + 8  # marks stacked without end take no columns, but they do take a screen
    while columns(text[:end]) > width:
        end -= 1
    return text[:end]


def clip(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text that takes at most `width` columns; the middle of a longer one gives way, for variants end apart.

    >>> clip("password-changed--typo", 14), clip("short", 14)
    ('passwor…--typo', 'short')
    """
    if columns(text) <= width and len(text) <= 4 * width:
        return text
    room = width - len(ellipsis)
    tail = beginning(text[:-4 * width - 8:-1], room // 2)[::-1]
    return beginning(text, room - columns(tail)) + ellipsis + tail


def many(number: object, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else "")


def ends_of(rows: Sequence[Any], limit: int) -> tuple[Sequence[Any], int, Sequence[Any]]:
    """Return the first of rows that are more than limit, how many are left out after them, and the last."""
    if len(rows) <= limit:
        return rows, 0, []
    return rows[:limit - limit // 2], len(rows) - limit, rows[len(rows) - limit // 2:]


# === One scale for drawings ===


class Scale(NamedTuple):
    """A stretch of numbers with round ticks; zero is always on it."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high end."""
        return min(1.0, max(0.0, (float(value) - self.low) / (self.high - self.low)))

    def ticks(self) -> list[tuple[float, str]]:
        """Return the ticks, each with its label, as short as the step allows."""
        places = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return [(k * self.step, f"{k * self.step:+.{places}f}" if k else "0")
                for k in range(math.ceil(self.low / self.step), math.floor(self.high / self.step) + 1)]


def scale_of(values: Sequence[float | None]) -> Scale:
    """Return a scale of at most 6 ticks that holds zero and all values but None, with some air at both ends."""
    numbers = [0.0, *(float(value) for value in values if value is not None)]
    low, high = (min(numbers), max(numbers)) if any(numbers) else (-0.1, 0.1)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    power = 10.0 ** math.floor(math.log10((high - low) / 6))
    return Scale(low, high, next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= 6))


# === The words and figures that all three share ===


class Interval(NamedTuple):
    """A row of the first drawing; where it is not measured, the note says why."""

    label: str
    basis: str
    note: str
    ends: Ends
    kind: str  # "decides", "exact" (the histogram stands above it), "noise", or "contrast"


class Slice(NamedTuple):
    """A slice; `cells` are cases, groups, before, after, difference, interval and adjusted p, `marks` what to mind."""

    tag: str
    value: str
    difference: float
    cells: list[str]
    by_source: Ends
    by_case: Ends
    marks: dict[str, str]  # keys of MARKS, each with its words


MARKS = {"*": "few cases", "-": "too few groups for a 95% interval", "=": "same cases as another slice",
         "?": "incomplete trials"}


class Words:
    """A comparison in words and formatted figures; what is missing or null in it is "not measured"."""

    def __init__(self, comparison: dict[str, Any], minus: str = "-"):
        self.comparison, self.minus = comparison, minus
        scores: tuple[float, float] = self.get("score_range") or (0, 1)
        self.low, self.high = scores
        # Shares have the JSON's 4 places; scores of up to 100 are told apart by 2.
        self.places = max(0, 4 - max(0, math.floor(math.log10(max(self.high - self.low, 1)))))
        self.unit = "case" if self.get("decision", "unit") == "case" else "source group"
        self.margin, self.gain = self.get("decision", "margin") or 0, self.get("decision", "min_gain") or 0
        self.overall: dict[str, Any] = self.get("overall") or {}
        self.difference = self.overall.get("difference")
        self.counts = ", ".join(f"{self.count(key)} {key}" for key in ("better", "worse", "same"))

    def get(self, *path: str) -> Any:
        """Return what stands at a path of keys, None where one is missing."""
        value: Any = self.comparison
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def count(self, key: str) -> object:
        return "?" if self.overall.get(key) is None else self.overall[key]

    def plain(self, value: float | None, places: int | None = None, sign: str = "") -> str:
        if value is None:
            return NOT_MEASURED
        places = self.places if places is None else places
        number = round(value, places) or 0  # no -0, and no sign before 0
        return f"{number:{sign if number else ''}.{places}f}".replace("-", self.minus)

    def signed(self, value: float | None) -> str:
        return self.plain(value, sign="+")

    def chance(self, value: float | None) -> str:
        """Return a p-value; one that 4 places would call zero keeps two digits."""
        return f"{value:.1e}" if value and value < 0.00005 else self.plain(value, 4)

    def span(self, ends: Ends) -> str:
        return f"{self.signed(ends[0])} to {self.signed(ends[1])}" if ends else NOT_MEASURED

    def side(self, side: str) -> str:
        """Return a side's name and version."""
        named = " ".join(clean(self.get(side, key)) for key in ("name", "version") if self.get(side, key))
        return clip(named, 60) or side

    def subject(self) -> str:
        """Return what was compared on what, in one line."""
        groups = f", {many(self.count('source_groups'), 'source group')}" if self.unit != "case" else ""
        trials = f"{many(self.get('trials'), 'trial')} a case" if self.get("trials") else "uneven numbers of trials"
        name = clip(clean(self.get("case_set", "name") or "trial logs"), 60)
        return f"{many(self.count('cases'), 'case')} of {name}{groups}, {trials}"

    def verdict(self) -> tuple[str, str]:
        """Return the verdict as a word, and the sentences that say what it rests on."""
        decision, unit = self.get("decision") or {}, self.unit
        word, gate = decision.get("verdict") or "undecided", decision.get("gate")
        interval = decision.get("interval") or decision.get("interval_95")
        narrow = decision.get("equivalence_interval") or decision.get("interval_90")
        rests = f"the 95% interval by {unit}, {self.span(interval)},"
        loss = f"a loss of {self.plain(self.margin)}" if self.margin else "a difference of zero"
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        tolerated = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        why = {"better": f"all of {rests} lies above {gain}.", "worse": f"all of {rests} lies below {tolerated}.",
               "equivalent": f"the 90% interval by {unit}, {self.span(narrow)}, lies within "
                             f"{self.plain(self.margin)} of zero.",
               "not worse": f"{rests} rules out {loss}, but does not lie above {gain}.",
               }.get(word, f"{rests} does not rule out {loss}.")
        if word == "undecided" and decision.get("interval"):
            why = f"{decision['reason']}."
        if not interval:
            why = f"there is no 95% interval by {unit}: {clean(decision.get('reason') or 'none was computed')}."
        before, after = (self.plain(self.overall.get(side)) for side in SIDES)
        said = [f"The candidate scores {after}, the baseline {before}: a difference of {self.signed(self.difference)}.",
                why[0].upper() + why[1:]]
        if word == "undecided" and decision.get("groups_needed"):
            there = self.count("cases" if unit == "case" else "source_groups")
            said.append(f"About {decision['groups_needed']} {unit}s would decide a difference of this size; "
                        f"there are {there}.")
        if also := [clean(claim) for claim in decision.get("claims") or [] if claim != word]:
            said.append(f"It is also {' and '.join(also)}.")
        if gate:
            said.append(f"The gate ({clean(gate)}) is {'' if decision.get('gate_met') else 'not '}met.")
        return clean(word), " ".join(said)

    def intervals(self) -> list[Interval]:
        """Return the rows of the first drawing, the one that decides first."""
        get, noise, pairs = self.overall.get, self.get("noise_floor") or {}, self.get("trial_pairs")
        flip, largest = get("source_sign_flip") or {}, noise.get("largest_difference")
        cases, groups = many(self.count("cases"), "case"), many(self.count("source_groups"), "group")
        by, basis = ("case", cases) if self.unit == "case" else ("source", groups)
        rows = [
            (f"By {by}, sign-flip", basis, flip.get("interval_95"), "decides", flip.get("method"), flip.get("reason")),
            ("By source, bootstrap", groups, get("source_cluster_interval_95"), "contrast",
             get("source_cluster_method"), None),
            ("By case, bootstrap", cases, get("exact_interval_95"), "exact", get("exact_method"), None),
            ("By case, seeded", cases, get("interval_95"), "contrast",
             f"{self.get('resamples')} resamples, seed {self.get('seed')}", None),
            ("By trial", many(sum(pairs.values()), "pair") if pairs else "all pairs", get("trial_level_interval_95"),
             "contrast", "as if every trial were independent: for contrast only", get("trial_level_reason")),
            ("Noise floor", many(noise.get("splits") or "no", "split"),
             None if largest is None else [-largest, largest], "noise",
             "halves of the baseline's own trials against each other, at most", noise.get("reason"))]
        if by == "case":  # each its own source: both bootstraps are one
            del rows[1]
        return [Interval(label, basis, clean((method if ends else reason) or "none was computed"), ends, kind)
                for label, basis, ends, kind, method, reason in rows]

    def slices(self) -> list[Slice]:
        """Return the slices in the comparison's order."""
        rows = []
        for tag, values in (self.get("slices") or {}).items():
            for value, figures in values.items():
                flip, missing = figures.get("source_sign_flip") or {}, figures.get("incomplete") or {}
                same, ends = some(figures.get("same_cases_as") or ()), flip.get("interval_95")
                marks = {"*": figures.get("few_cases") and MARKS["*"], "-": flip.get("reason"),
                         "=": same and f"same cases as {same}",
                         "?": any(missing.values()) and
                         "incomplete trials: {baseline} before, {candidate} after".format(**missing)}
                cells = [str(figures["cases"]), str(figures.get("source_groups", NOT_MEASURED)),
                         *(self.plain(figures[side]) for side in SIDES), self.signed(figures["difference"]),
                         self.span(ends), self.chance(figures.get("adjusted_p_value"))]
                rows.append(Slice(clean(tag), clean(value), figures["difference"], cells, ends,
                                  figures.get("exact_interval_95"),
                                  {mark: clean(words) for mark, words in marks.items() if words}))
        return rows

    def changed(self) -> list[dict[str, Any]]:
        """Return the changed cases, the largest loss first; ties stay in the case file's order."""
        return sorted(({"difference": case["candidate"] - case["baseline"], "by_chance": None, **case}
                       for case in self.get("cases") or []), key=lambda row: row["difference"])

    def case_cells(self, cases: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return before, after, difference and by chance of each case; the first three in as few places as hold all."""
        figures = [case[key] for case in cases for key in (*SIDES, "difference") if case[key] is not None]
        places = next(places for places in range(self.places + 1) if places == self.places or all(
            round(value, places) == round(value, self.places) for value in figures))
        return [[*(self.plain(case[side], places) for side in SIDES), self.plain(case["difference"], places, "+"),
                 self.chance(case["by_chance"])] for case in cases]

    def facts(self) -> dict[str, str]:
        """Return a sentence on each further figure, by name; what the comparison does not hold has none."""
        get, plain = self.get, self.plain
        pairs, moved, noise = get("trial_pairs"), get("changed_by_chance", "trials_moved"), get("noise_floor") or {}
        said = {name: f"{what} {NOT_MEASURED}: {reason}." for name, what, reason in (
            ("pairs", "Trial pairs are", get("trial_pairs_reason")),
            ("chance", "What moves by chance is", get("changed_by_chance", "reason"))) if reason}
        if pairs:
            said["pairs"] = ("Of {} of trials {both_pass} pass in both, {only_candidate} only in the candidate, "
                             "{only_baseline} only in the baseline, {neither} in neither.").format(
                                 many(sum(pairs.values()), "pair"), **pairs)
        if moved:
            said["chance"] = (f"{many(moved[0]['observed'], 'case')} moved by at least "
                              f"{many(moved[0]['at_least'], 'trial')}; had only the sampling changed, "
                              f"{plain(moved[0]['expected'], 2)} would be expected to.")
        if noise.get("mean_difference") is not None:
            gate, share = noise.get("gate"), noise.get("gate_tripped_share")
            often = (f"a share of them that is {NOT_MEASURED}: {noise.get('reason')}" if share is None else
                     f"a share of {plain(share, 4)} of them" if share else "none of them")
            claim = f"The gate ({gate}) would answer wrongly" if gate else "A gain or a loss would be claimed"
            said["noise"] = (
                f"Two halves of the baseline's own trials ({noise.get('trials_per_half')} a half, "
                f"{many(noise.get('splits'), 'split')}) differ by {plain(noise['mean_difference'])} on average and by "
                f"{plain(noise.get('largest_difference'))} at most. {claim} on {often}.")
        for side in SIDES:
            if count := get("incomplete", side, "trials"):
                reasons = [f"{name} {n}" for name, n in (get("incomplete", side, "reasons") or {}).items()]
                said[f"incomplete {side}"] = f"Incomplete trials of the {side}: {count} ({some(reasons)})."
        if bounds := get("incomplete", "difference_bounds"):
            said["bounds"] = (f"Were all incomplete trials to go against the candidate, or all for it, the difference "
                              f"would be {' or '.join(map(self.signed, bounds))}.")
        if get("nothing_moved"):
            said["nothing"] = (f"Nothing moved, which is no proof of sameness: with "
                               f"{many(get('nothing_moved', 'groups'), self.unit)}, only that more than a share of "
                               f"{plain(get('nothing_moved', 'excluded_share'), 4)} of them change is excluded.")
        if get("detectable_difference") is not None:
            said["detectable"] = ("The smallest difference that this set detects at 80% power is "
                                  f"{plain(get('detectable_difference'))}.")
        if get("slices_compared"):
            said["slices"] = f"{many(get('slices_compared'), 'slice')} compared" + (
                f"; the adjusted p-values allow for that ({method})." if (method := get("adjusted_method")) else ".")
        return {name: clean(sentence) for name, sentence in said.items()}

    def warnings(self) -> list[tuple[str, str]]:
        """Return each warning and what to do about it."""
        return [(clean(warning["message"]), clean(warning["advice"])) for warning in self.get("warnings") or []]

    def recipe(self) -> list[tuple[str, Any, Any]]:
        """Return all that is needed to reproduce the comparison: (what, the baseline's, the candidate's)."""
        get = self.get
        shared: dict[str, Any] = {what.replace("_", " "): f"{get(what, 'name')} sha256 {get(what, 'sha256')}"
                                  for what in ("case_set", "task") if get(what)}
        shared |= {"trials a case": get("trials") or "uneven", "resamples": get("resamples"), "seed": get("seed"),
                   "scores": f"{self.low} to {self.high}", "unscored trials": get("missing"),
                   "gain worth shipping": self.gain, "loss tolerated": self.margin,
                   "comparison version": get("comparison_version"), "tool version": get("tool_version")}
        own = {key: [get(side, key) for side in SIDES] for key in harness.SYSTEM_FIELDS}
        own["logs"] = [", ".join(f"{log['name']} sha256 {log['sha256']}" for log in get("logs", side) or [])
                       for side in SIDES]
        return ([(name, value, value) for name, value in shared.items() if value is not None]
                + [(key, one or "none", other or "none") for key, (one, other) in own.items() if one or other])
