"""What does a comparison say? Its story in words, figures and tables, each written once for every view.

    $ python3 -m doctest views/words.py && echo "every example below came out"
    every example below came out

No statistics here: every figure is the comparison's own, and what is null there is "not measured". `whole` reads a
comparison of any version by KEYS, `Words.story` tells one comparison, `sheet` several of one baseline. A view draws
a Story: sections of sentences and tables. Reads, writes and prints nothing.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from core.files import RunError, clean

NOT_MEASURED = "not measured"
SHOWN_NAMES = 10  # of a list within a sentence
FOLDED_FROM = 4  # slices with one reason for no interval that become one line
SIDES = ("baseline", "candidate")
GONE = "made by a version that did not measure this"

Ends = Sequence[float] | None  # an interval's two ends, None where it is not measured

# === Names and numbers as text ===


def many(number: object, noun: str) -> str:
    """Return a number with its noun.

    >>> many(1, "case"), many(2, "case"), many(None, "case")
    ('1 case', '2 cases', '? cases')
    """
    return f"{'?' if number is None else number} {noun}{'s' * (number != 1)}"


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {len(names) - SHOWN_NAMES} more" if names[SHOWN_NAMES:] else "")


def ends_of(rows: Sequence[Any], limit: int) -> tuple[Sequence[Any], int, Sequence[Any]]:
    """Return the first of rows that are more than limit, how many are left out after them, and the last."""
    if len(rows) <= limit:
        return rows, 0, []
    return rows[:limit - limit // 2], len(rows) - limit, rows[len(rows) - limit // 2:]


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a JSON value holds, nulls left out.

    >>> list(flat({"a": {"b_c": 1, "d": None}, "e": "x"}))
    [('a b c', '1'), ('e', 'x')]
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path} {key}")
    elif value is not None:
        yield path.replace("_", " ").strip(), clean(value, keep="\n\t")


# === What a comparison holds ===

NUMBER, TEXT, FLAG, ENDS, ANY, EACH = "a number", "text", "true or false", "two numbers", "any value", "each name"


def _keys(names: str, kind: Any = NUMBER) -> dict[str, Any]:
    return dict.fromkeys(names.split(), kind)


_REASON = _keys("method reason", TEXT)
_FLIP = _keys("p_value groups") | _REASON | _keys("interval_95", ENDS)
_THESE = (_keys("p_value pairs disagree adjusted_p_value") | _REASON | _keys("interval_reason", TEXT)
          | _keys("interval_95", ENDS))
_MEANS = _keys("cases baseline candidate difference")
_SUMMARY = (_MEANS | _keys("better worse same source_groups") | _keys("interval_95 exact_interval_95", ENDS)
            | _keys("exact_method interval_method", TEXT) | {"source_sign_flip": _FLIP, "these_cases": _THESE})
_FILE = _keys("name sha256", TEXT)
_STEADY = _keys("always sometimes never") | {"pass_hat_k": [NUMBER]}
_UNSCORED = {"trials": NUMBER, "reasons": {EACH: NUMBER}}
_LUCK = _keys("ratio p_value")

# Every key that a view reads of comparison_version "1" or "2", and what stands there. Version 2 added `options`,
# `these_cases`, `shared_luck`, `sources`, `consistency`, `must_pass` and most of `decision`.
KEYS: dict[str, Any] = {
    **_keys("comparison_version tool_version missing trial_pairs_reason adjusted_method", TEXT),
    **_keys("resamples trials slices_compared detectable_difference"), "seed": ANY, "score_range": ENDS,
    "options": {EACH: ANY}, "case_set": _FILE, "task": _FILE, "baseline": {EACH: ANY}, "candidate": {EACH: ANY},
    "logs": dict.fromkeys(SIDES, [_FILE]),
    "overall": _SUMMARY | _keys("source_no_gain_share") | {
        **_keys("trial_level_interval_95 source_cluster_interval_95", ENDS),
        **_keys("trial_level_reason trial_level_method source_cluster_method", TEXT),
        "exact_distribution": _keys("start width") | {"shares": [NUMBER]}},
    "trial_pairs": _keys("both_pass only_baseline only_candidate neither"),
    "slices": {EACH: {EACH: _SUMMARY | _keys("adjusted_p_value smallest_adjusted_p_value") | {
        "few_cases": FLAG, "same_cases_as": [TEXT], "incomplete": dict.fromkeys(SIDES, NUMBER)}}},
    "cases": [_keys("baseline candidate difference by_chance") | _keys("case_id source", TEXT)],
    "excluded": [_keys("case_id side reason", TEXT)], "uneven_trials": [_keys("baseline candidate") | {"case_id": TEXT}],
    "sources": [_MEANS | {"source": TEXT}],
    "decision": {
        **_keys("groups min_gain margin alpha level among sources_needed sources_for_level groups_needed"),
        **_keys("unit verdict reason gate gate_reason interval_method look", TEXT), "claims": [TEXT],
        **_keys("gate_met gate_contradicted", FLAG), "equivalence_level": NUMBER,
        **_keys("interval interval_95 interval_90 equivalence_interval interval_with_missing_filled", ENDS),
        **_keys("interval_with_one_more equivalence_interval_with_one_more", ENDS)},
    "changed_by_chance": {"trials_moved": [_keys("at_least observed expected")], "reason": TEXT, "most_telling": NUMBER},
    "noise_floor": _keys("trials_per_half splits mean_difference largest_difference gate_tripped_share") | {
        **_REASON, "gate": TEXT},
    "variance": _keys("between_sources between_cases sampling standard_error_case standard_error_source design_effect"
                      ) | {"reason": TEXT},
    "half_width": _keys("now twice_cases twice_trials endless_trials twice_groups") | {"reason": TEXT},
    "plan": _keys("half_width source_groups cases trials") | {"reason": TEXT},
    "incomplete": dict.fromkeys(SIDES, _UNSCORED) | {"difference_bounds": ENDS},
    "nothing_moved": _keys("groups excluded_share"),
    "shared_luck": _LUCK | {"trials": NUMBER, "reason": TEXT, "withheld": FLAG, "paired": FLAG,
                            **dict.fromkeys(SIDES, _LUCK)},
    "consistency": {**dict.fromkeys(SIDES, _STEADY), "newly_unsteady": [TEXT], "newly_steady": [TEXT], "reason": TEXT},
    "must_pass": [_keys("tag value", TEXT) | {"cases": NUMBER, "failed": [_keys("passed trials") | {"case_id": TEXT}]}],
    "measures": {EACH: _MEANS | {"interval_95": ENDS, "reason": TEXT}},
    "warnings": [_keys("code message advice", TEXT)],
}


def _fits(value: Any, kind: str) -> bool:
    if kind == ENDS:
        return isinstance(value, (list, tuple)) and len(value) == 2 and all(_fits(end, NUMBER) for end in value)
    if kind == NUMBER:
        return type(value) in (int, float) and abs(value) < 1e300
    return kind == ANY or isinstance(value, {TEXT: str, FLAG: bool}[kind])


def whole(value: Any, kind: Any, where: str = "comparison") -> Any:
    """Return a value with every key of its kind: what it lacks is None, an object of None, or empty; others left out.

    So a key that no version knows raises KeyError where it is read. Raises RunError, naming where, for a value of
    another kind.

    >>> whole({"b": 1, "z": 2}, {"a": {"x": NUMBER}, "b": NUMBER, "c": [TEXT]})
    {'a': {'x': None}, 'b': 1, 'c': []}
    """
    shape = type(kind) if isinstance(kind, (dict, list)) else None
    if value is None and shape is None:
        return None
    if value is not None and not (isinstance(value, shape) if shape else _fits(value, kind)):
        named = kind if not shape else "an object" if shape is dict else "a list"
        raise RunError(f"{where} is {value!r:.60}, not {named}; make the comparison again with compare.py")
    if isinstance(kind, list):
        return [whole(inner, kind[0], f"{where}[{i}]") for i, inner in enumerate(value or ())]
    if isinstance(kind, dict):
        found = value or {}
        names = dict.fromkeys(found, kind[EACH]) if EACH in kind else kind
        return {key: whole(found.get(key), inner, f"{where}.{key}") for key, inner in names.items()}
    return value


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


# === A story: sections of sentences and tables ===


class Draw(NamedTuple):
    """What a row draws on its table's scale: an interval with its point, a thin one below, dots."""

    ends: Ends = None
    point: float | None = None
    kind: str = ""  # "decides" or "noise"
    thin: Ends = None
    dots: Sequence[float] = ()
    bars: tuple[float, float, Sequence[float]] | None = None  # a distribution behind: its start, bar width, shares

    def values(self) -> list[float]:
        return [*(self.ends or ()), *(self.thin or ()), *self.dots, *([] if self.point is None else [self.point])]


class Row(NamedTuple):
    cells: list[str]  # a text a column
    note: str = ""  # small print to the first cell
    draw: Draw | None = None
    key: Any = None  # what a page opens below it: a source, a (tag, value); of a sheet, a page's address


class Table(NamedTuple):
    """`columns` are the heads: # before one of numbers, ~ before one of numbers that a narrow screen leaves out."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: list[Row]
    folded: Sequence[tuple[str, list[Row]]] = ()  # a summary, and the rows that it stands for


class Section(NamedTuple):
    key: str
    heading: str
    blocks: list[str | Table]


class Story(NamedTuple):
    title: str
    subject: str
    verdict: str
    gate: str  # of the first line: gate and must-pass, and why; empty without
    lead: list[str]
    warnings: list[tuple[str, str]]
    sections: list[Section]
    edges: Sequence[float] = ()  # margin and gain, which drawings mark: [-margin, margin, gain], zeros left out

    def scale(self, table: Table) -> Scale | None:
        """Return the scale of a table's drawings, None where its rows draw nothing."""
        rows = [*table.rows, *(row for _, rows in table.folded for row in rows)]
        values = [value for row in rows if row.draw for value in row.draw.values()]
        return scale_of([*self.edges, *values]) if any(row.draw for row in rows) else None


class Words:
    """A comparison in words and formatted figures; what is missing or null in it is "not measured"."""

    def __init__(self, comparison: dict[str, Any], minus: str = "-"):
        self.all: dict[str, Any] = whole(comparison, KEYS)
        self.minus, self.overall, self.decision = minus, self.all["overall"], self.all["decision"]
        self.low, self.high = self.all["score_range"] or (0, 1)
        # Shares have 4 places; scores of up to 100 are told apart by 2, those of up to 0.01 by 6.
        self.places = min(12, max(0, 4 - math.floor(math.log10(max(self.high - self.low, 1e-9)))))
        self.unit = "case" if self.decision["unit"] == "case" else "source"
        self.units = self.overall["cases" if self.unit == "case" else "source_groups"]
        self.margin, self.gain = self.decision["margin"] or 0, self.decision["min_gain"] or 0
        self.difference = self.overall["difference"]
        self.interval: Ends = (self.decision["interval"] or self.decision["interval_95"]
                               or self.overall["source_sign_flip"]["interval_95"])
        self.level = f"{100 * (self.decision['level'] or 0.95):.4g}%"

    # --- figures as text ---

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

    def digits(self, value: float | None, sign: str = "") -> str:
        """Return a measure to four significant digits, without an exponent where it has few places."""
        if value is None:
            return NOT_MEASURED
        text = f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign},.4g}"
        return text.replace("-", self.minus)

    def percent(self, row: dict[str, Any]) -> str:
        if not row["baseline"] or row["difference"] is None:
            return NOT_MEASURED
        return f"{100 * row['difference'] / abs(row['baseline']):+.0f}%".replace("-", self.minus)

    def span(self, ends: Ends) -> str:
        return f"{self.signed(ends[0])} to {self.signed(ends[1])}" if ends else NOT_MEASURED

    def side(self, side: str) -> str:
        """Return a side's name and version."""
        about = self.all[side]
        return " ".join(clean(about[key])[:60] for key in ("name", "version") if about.get(key)) or side

    def case_cells(self, cases: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return baseline, candidate, difference and by chance of each case; the first three as short as all allow."""
        figures = [case[key] for case in cases for key in (*SIDES, "difference") if case[key] is not None]
        places = next(places for places in range(self.places + 1) if places == self.places or all(
            round(value, places) == round(value, self.places) for value in figures))
        return [[*(self.plain(case[side], places) for side in SIDES), self.plain(case["difference"], places, "+"),
                 self.chance(case["by_chance"])] for case in cases]

    # --- the verdict ---

    def verdict(self) -> str:
        return clean(self.decision["verdict"] or "undecided")

    def lead(self) -> list[str]:
        """Return the sentences that say what the verdict rests on."""
        decision, unit, word = self.decision, self.unit, self.verdict()
        rests = f"the {self.level} interval by {unit}, {self.span(self.interval)},"
        narrow = decision["equivalence_interval"] or decision["interval_90"]
        level = f"{100 * (decision['equivalence_level'] or 0.9):.4g}%"
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        loss = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        why = {"better": f"All of {rests} lies above {gain}.", "worse": f"All of {rests} lies below {loss}.",
               "equivalent": f"The {level} interval by {unit}, {self.span(narrow)}, lies within "
                             f"{self.plain(self.margin)} of zero.",
               "not worse": f"{rests.capitalize()} lies above {loss}, but not above {gain}.",
               }.get(word, f"No claim can be made: {clean(decision['reason'] or 'none was recorded')}.")
        said = ["The baseline scores {}, the candidate {}: a difference of {}.".format(
            *(self.plain(self.overall[side]) for side in SIDES), self.signed(self.difference)), why]
        more = decision["interval_with_one_more"] if word != "equivalent" else decision[
            "equivalence_interval_with_one_more"]
        if more and word in ("not worse", "equivalent"):
            said.append(f"With one more {unit} that loses (or gains) all it can, it would be {self.span(more)}.")
        if filled := decision["interval_with_missing_filled"]:
            said.append(f"With what is missing filled against it, then for it: {self.span(filled)}.")
        if word == "undecided" and decision["groups_needed"]:
            said.append(f"About {many(decision['groups_needed'], unit)} would decide a difference of this size; "
                        f"there {'is' if self.units == 1 else 'are'} {self.units}.")
        if also := [clean(claim) for claim in decision["claims"] if claim != word]:
            said.append(f"It is also {' and '.join(also)}.")
        if (decision["among"] or 1) > 1 or decision["look"]:
            declared = [f"look {decision['look']}"] * bool(decision["look"]) + [
                f"one of {decision['among']} candidates"] * ((decision["among"] or 1) > 1)
            said.append(clean(f"Declared: {' and '.join(declared)}, so the interval is at level {self.level}; "
                              f"that takes {many(decision['sources_for_level'], unit)} or more."))
        return said

    def gate(self) -> str:
        """Return whether gate and must-pass are met, and why not; empty without either."""
        decision, said = self.decision, []
        if decision["gate_met"] is not None:
            met = "met" if decision["gate_met"] else "not met"
            unsure = ", the data cannot tell" if decision["gate_contradicted"] is False and met != "met" else ""
            why = f" ({decision['gate_reason']})" if decision["gate_reason"] else ""
            said.append(f"gate {decision['gate'] or 'must pass'}: {met}{unsure}{why}")
        for rule in self.all["must_pass"]:
            failed = [f"{case['case_id']} {case['passed']} of {case['trials']}" for case in rule["failed"]]
            outcome = f"{len(failed)} of {many(rule['cases'], 'case')} did not: {some(failed)}" if failed else (
                f"all {rule['cases']} did")
            said.append(f"must pass {rule['tag']}={rule['value']}: {outcome}")
        return clean("; ".join(said))

    # --- tables ---

    def questions(self) -> list[str | Table]:
        """Return the two questions with one interval each, the figure of every source, and the sources, worst first."""
        these, flip, luck = self.overall["these_cases"], self.overall["source_sign_flip"], self.all["shared_luck"]
        pairs = f"{many(these['pairs'], 'pair')} of trials, of which {these['disagree']} differ" if (
            these["pairs"] is not None) else "pairs of trials"
        asked = f"{pairs}; {these['method'] or ''}" if these["p_value"] is not None else (
            f"{NOT_MEASURED}: {these['reason'] or GONE}")
        narrow = these["interval_reason"] if these["p_value"] is not None and not these["interval_95"] else None
        method = self.decision["interval_method"] or flip["method"]
        rests = f"this decides; {many(self.units, self.unit)}; " + (f"{self.level} interval, {method}" if self.interval else
                                                     self.decision["reason"] or flip["reason"] or GONE)
        new = "On new messages like these" if self.unit == "source" else "On new cases like these"
        sources = sorted(self.all["sources"] or [], key=lambda row: row["difference"])
        dots = [row["difference"] for row in sources] if self.unit == "source" else [
            row["difference"] for row in self.changed()]
        rows = [Row(["On these very cases", self.span(these["interval_95"]), self.chance(these["p_value"])],
                    clean(f"{asked}; {narrow}" if narrow else asked), Draw(these["interval_95"], self.difference)),
                Row([new, self.span(self.interval), self.chance(flip["p_value"])], clean(rests),
                    Draw(self.interval, self.difference, "decides"))]
        if dots:
            each = f"Each of {many(self.units, 'source')}" if self.unit == "source" else "Each changed case"
            rows.append(Row([each, "", ""], "", Draw(dots=dots)))
        blocks: list[str | Table] = [
            Table("questions", "The difference, candidate minus baseline", ["Question", "#interval", "#p"], rows),
            "p: how often a difference at least as large would come up if nothing had changed: on these cases nothing "
            f"but the luck of sampling, on new ones with each {self.unit} as likely to gain as to lose."]
        marked = [f"the margin of {self.plain(self.margin)}"] * bool(self.margin) + [
            f"the gain worth shipping, {self.signed(self.gain)}"] * bool(self.gain)
        blocks += [f"Dashed lines in the drawings: {' and '.join(marked)}."] * bool(marked)
        blocks += [clean(f"On these cases: {luck['reason']}.")] * bool(luck["reason"])
        if sources and self.unit == "source":
            blocks.append(Table("sources", "Sources, worst first: a source is what several cases were made from", [
                "Source", "~cases", "~baseline", "~candidate", "#difference"], [
                    Row([clean(row["source"] or "(no source)"), f"{row['cases']}", *(self.plain(row[side])
                         for side in SIDES), self.signed(row["difference"])], "",
                        Draw(None, row["difference"]), row["source"]) for row in sources]))
        return blocks + self.unscored()

    def edges(self) -> list[float]:
        return [edge for edge in (-self.margin, self.margin, self.gain) if edge]

    def unscored(self) -> list[str | Table]:
        """Return what is known of incomplete trials, and of a comparison where nothing moved."""
        incomplete, nothing, said = self.all["incomplete"], self.all["nothing_moved"], []
        for side in SIDES:
            if count := incomplete[side]["trials"]:
                reasons = [f"{name} {n}" for name, n in incomplete[side]["reasons"].items()]
                said.append(f"Incomplete trials of the {side}: {count} ({some(reasons)}).")
        if bounds := incomplete["difference_bounds"]:
            said.append("Were all incomplete trials to go against the candidate, or all for it, the difference would "
                        f"be {' or '.join(map(self.signed, bounds))}.")
        if nothing["groups"]:
            said.append(f"No case changed, which does not prove that nothing would: {many(nothing['groups'], self.unit)} "
                        f"cannot exclude that up to {self.plain(100 * nothing['excluded_share'], 0)}% of all change.")
        return [clean(sentence) for sentence in said]

    def cost(self) -> list[str | Table]:
        names = {"latency_s": "latency, seconds", "cost_usd": "cost, USD"}
        rows = [Row([names.get(name, clean(name)), *(self.digits(row[side]) for side in SIDES),
                     self.digits(row["difference"], "+"), self.percent(row),
                     " to ".join(self.digits(end, "+") for end in row["interval_95"] or ()) or NOT_MEASURED],
                    clean(row["reason"] or "")) for name, row in self.all["measures"].items()]
        return [Table("cost", "Mean of a case", ["Measure", "#baseline", "#candidate", "#difference", "#change",
                                                 "~95% interval"], rows)] if rows else [
            "Neither cost, latency nor tokens were recorded."]

    def changed(self) -> list[dict[str, Any]]:
        """Return the changed cases, the largest loss first; ties stay in the case file's order."""
        rows = [{**case, "difference": case["candidate"] - case["baseline"] if case["difference"] is None else
                 case["difference"]} for case in self.all["cases"]]
        return sorted(rows, key=lambda row: row["difference"])

    def cases(self) -> list[str | Table]:
        """Return what changed: trials by outcome, the moves that chance would bring, the changed cases."""
        pairs, moved, changed = self.all["trial_pairs"], self.all["changed_by_chance"], self.changed()
        better, worse, same = (NOT_MEASURED if self.overall[key] is None else self.overall[key]
                               for key in ("better", "worse", "same"))
        said = [f"Cases: {worse} worse, {better} better, {same} the same." if changed else "No case changed."]
        if pairs["both_pass"] is not None:
            said.append("Of {} of trials {both_pass} pass on both sides, {only_baseline} only in the baseline, "
                        "{only_candidate} only in the candidate, {neither} in neither.".format(
                            many(sum(pairs.values()), "pair"), **pairs))
        said += [f"{many(row['observed'], 'case')} moved by {many(row['at_least'], 'trial')} or more; by chance alone "
                 f"{self.plain(row['expected'], 2)} would." for row in moved["trials_moved"]
                 if row["at_least"] == moved["most_telling"]]
        blocks: list[str | Table] = [" ".join(said)]
        blocks += [clean(f"{what} {NOT_MEASURED}: {reason}.") for what, reason in (
            ("Pairs of trials are", self.all["trial_pairs_reason"]), ("What moves by chance is", moved["reason"]))
            if reason]
        blocks.append(Table("cases", "Changed cases, worst first", [
            "Case", "~baseline", "~candidate", "#difference", "#by chance"], [
                Row([clean(case["case_id"]), *cells], "", None, case["case_id"])
                for case, cells in zip(changed, self.case_cells(changed))]))
        if moved["trials_moved"]:
            blocks.append(Table("chance", "Cases that moved by so many trials", [
                "Trials", "#observed", "#expected by chance"], [
                    Row([f"at least {row['at_least']}", f"{row['observed']}", self.plain(row["expected"], 2)])
                    for row in moved["trials_moved"]]))
            blocks.append("By chance: how often the passes of a case, dealt at random to the two runs, would differ by "
                          "at least as much. Where one seed brings replies alike, chance moves fewer cases.")
        return blocks

    def slices(self) -> list[str | Table]:
        """Return the slices, worst first; those with one reason for no interval behind one line."""
        rows: list[tuple[float, str, Row]] = []
        for tag, values in self.all["slices"].items():
            for value, part in values.items():
                flip, these, missing = part["source_sign_flip"], part["these_cases"], part["incomplete"]
                ends, least = flip["interval_95"], part["smallest_adjusted_p_value"]
                few = "" if ends else f"too few {self.unit}s for an interval"
                notes = [few, f"same cases as {some(part['same_cases_as'])}" if part["same_cases_as"] else ""]
                if any(missing.values()):
                    notes.append("incomplete trials: {baseline} in the baseline, {candidate} in the candidate".format(
                        **missing))
                if ends and least is not None and least > 0.05:
                    notes.append(f"its {many(part['source_groups'], 'source')} cannot give an adjusted p below "
                                 f"{self.chance(least)}; on these very cases p is {self.chance(these['p_value'])}")
                cells = [clean(f"{tag}: {value}"), f"{part['cases']}", f"{part['source_groups'] or NOT_MEASURED}", *(
                    self.plain(part[side]) for side in SIDES), self.signed(part["difference"]), self.span(ends),
                    self.chance(part["adjusted_p_value"])]
                rows.append((part["difference"], few, Row(cells, clean("; ".join(filter(None, notes))), Draw(
                    ends, part["difference"], thin=part["exact_interval_95"]), (tag, value))))
        if not rows:
            return ["The cases have no tags, so there are no slices."]
        rows.sort(key=lambda row: row[0])
        few_rows = [row for _, few, row in rows if few]
        folded = [(f"{many(len(few_rows), 'slice')} of too few {self.unit}s for an interval", few_rows)] * (
            len(few_rows) >= FOLDED_FROM)
        shown = [row for _, few, row in rows if not (few and folded)]
        head = ["Slice", "~cases", f"~{self.unit}s", "~baseline", "~candidate", "#difference", "#95% interval",
                "#adjusted p"]
        method = f" ({clean(self.all['adjusted_method'])})" if self.all["adjusted_method"] else ""
        return [Table("slices", "Slices, worst first", head, shown, folded),
                f"{many(self.all['slices_compared'] or len(rows), 'slice')} compared. Adjusted p: how often any of them "
                f"would stand out as much if nothing had changed{method}. The interval is by {self.unit}."]

    def consistency(self) -> list[str | Table]:
        found, sides = self.all["consistency"], [self.all["consistency"][side] for side in SIDES]
        if sides[0]["always"] is None:
            return [clean(f"Consistency is {NOT_MEASURED}: {found['reason'] or GONE}.")]
        rows = [Row([f"cases that {key} pass", *(f"{side[key]}" for side in sides)])
                for key in ("always", "sometimes", "never")]
        rows += [Row([f"pass^{k}", *map(self.plain, both)]) for k, both in enumerate(
            zip(*(side["pass_hat_k"] for side in sides), strict=True), start=1)]
        said = [f"Newly {what}: {some([clean(name) for name in found[f'newly_{what}']]) or 'none'}."
                for what in ("unsteady", "steady")]
        return [Table("consistency", "How steadily cases pass", ["Cases", "#baseline", "#candidate"], rows),
                "pass^k: how often k trials of a case all pass. " + " ".join(said)]

    def plans(self) -> list[str | Table]:
        """Return what would make the interval narrower, and what the asked half-width takes."""
        half, plan, detectable = self.all["half_width"], self.all["plan"], self.all["detectable_difference"]
        names = {"now": "as recorded", "twice_cases": "twice the cases of each source" if self.unit == "source" else
                 "twice the cases", "twice_trials": "twice the trials", "endless_trials": "endless trials",
                 "twice_groups": "twice the sources, with as many cases each"}
        rows = [Row([name, self.plain(half[key])], "", Draw(
            [self.difference - half[key], self.difference + half[key]], self.difference, ""))
            for key, name in names.items() if half[key] is not None and self.difference is not None]
        blocks: list[str | Table] = [Table("plans", "What would make the interval narrower", [
            "With", "#half-width"], rows)] * bool(rows)
        if plan["half_width"] is not None:
            wanted = [f"{many(plan[key], noun)}" for key, noun in (
                ("source_groups", "source"), ("cases", "case"), ("trials", "trial a case")) if plan[key] is not None]
            reason = f" ({plan['reason']})" if plan["reason"] else ""
            blocks.append(clean(f"A half-width of {self.plain(plan['half_width'])} takes "
                                f"{' or '.join(wanted) or NOT_MEASURED}{reason}."))
        if detectable is not None:
            blocks.append("The smallest difference that these would detect in 4 of 5 repetitions is "
                          f"{self.plain(detectable)}.")
        return blocks + [clean(f"Not all is measured: {half['reason']}.")] * bool(half["reason"])

    def contrast(self) -> list[str | Table]:
        """Return all intervals that do not decide, and what they say."""
        overall, noise = self.overall, self.all["noise_floor"]
        cases, groups = many(overall["cases"], "case"), many(overall["source_groups"], "source")
        largest, pairs = noise["largest_difference"], self.all["trial_pairs"]
        spread = overall["exact_distribution"]
        bars = (spread["start"], spread["width"], spread["shares"]) if len(spread["shares"]) > 1 else None
        seeded = overall["interval_method"] or (
            f"{self.all['resamples']} resamples, seed {self.all['seed']}" if overall["interval_95"] else "")
        rows = [(f"By {self.unit}, bootstrap", overall["source_cluster_interval_95"], groups,
                 overall["source_cluster_method"]),
                ("By case, bootstrap", overall["exact_interval_95"], cases, overall["exact_method"]),
                ("By case, seeded", overall["interval_95"], cases, seeded),
                ("By trial", overall["trial_level_interval_95"], "as if every trial were independent",
                 overall["trial_level_reason"] or overall["trial_level_method"])]
        drawn = [Row([label, self.span(ends)], clean("; ".join(filter(None, (basis, method)))),
                     Draw(ends, self.difference, bars=bars if i == 1 else None)) for i, (label, ends, basis, method)
                 in enumerate(rows) if self.unit == "source" or i]  # without sources both bootstraps are one
        halves = (f"{many(noise['splits'], 'split')} of the baseline's own trials into halves: the largest difference"
                  if largest is not None else noise["reason"] or GONE)
        drawn.append(Row(["Noise floor", self.span(None if largest is None else [-largest, largest])], clean(halves),
                         Draw(None if largest is None else [-largest, largest], None, "noise")))
        blocks: list[str | Table] = [Table("contrast", "95% intervals that do not decide", [
            "Interval", "#from, to"], drawn)]
        if noise["mean_difference"] is not None:
            share, gate = noise["gate_tripped_share"], clean(noise["gate"] or "")
            often = f"a share that is {NOT_MEASURED}: {clean(noise['reason'] or GONE)}" if share is None else (
                f"{self.plain(100 * share, 1)}%" if share else "none")
            claim = f"the gate ({gate}) would have answered wrongly" if gate else "a gain or a loss would be claimed"
            blocks.append(f"The noise floor is the baseline against itself: two halves of its own trials "
                          f"({noise['trials_per_half']} a half) differ by {self.plain(noise['mean_difference'])} on "
                          f"average; in {often} of the splits {claim}.")
        return blocks

    # --- how it was measured ---

    def recipe(self) -> list[tuple[str, str, str]]:
        """Return all that is needed to reproduce the comparison: (what, the baseline's, the candidate's)."""
        names = ("comparison_version", "tool_version", "case_set", "task", "trials", "resamples", "seed", "score_range",
                 "missing", "options", "variance")
        rows = [(name, value, value) for name, value in flat({name: self.all[name] for name in names})]
        one, other = (dict(flat(self.all[side] | {"logs": ", ".join(
            f"{log['name']} sha256 {log['sha256']}" for log in self.all["logs"][side]) or None})) for side in SIDES)
        rows += [(name, one.get(name, "none"), other.get(name, "none")) for name in one | other]
        rows += [(f"left out: {row['case_id']}", f"{row['side']}: {row['reason']}", "") for row in self.all["excluded"]]
        rows += [(f"trials of {row['case_id']}", *(f"{row[side]}" for side in SIDES))
                 for row in self.all["uneven_trials"]]
        return [(clean(name), clean(one), clean(other)) for name, one, other in rows]

    def changes(self) -> list[tuple[str, str, str]]:
        """Return what differs between the two systems as the comparison describes them: (what, before, after)."""
        one, other = ({clean(name): text for name, text in flat(self.all[side])} for side in SIDES)
        return [(key, one.get(key, ""), other.get(key, "")) for key in one | other if one.get(key) != other.get(key)]

    def story(self) -> Story:
        """Return the whole comparison, in the order in which a person who decides asks."""
        change: list[str | Table] = [Table("change", "What differs between the two systems", [
            "What", "baseline", "candidate"], [Row([name, one or "none", other or "none"])
                                               for name, one, other in self.changes()])]
        change += ["The two systems are described alike."] * (not self.changes())
        measured: list[str | Table] = [Table("measured", "All that decides the figures", [
            "What", "baseline", "candidate"], [Row(list(row)) for row in self.recipe()])]
        sections = [("change", "What was changed", change), ("questions", "Is it larger than the noise?", self.questions()),
                    ("cost", "Cost, latency and tokens", self.cost()), ("cases", "Where did it come from?", self.cases()),
                    ("slices", "Which slices changed?", self.slices()),
                    ("consistency", "How consistent is it?", self.consistency()),
                    ("next", "What to record next", self.plans()),
                    ("contrast", "Other intervals, for contrast", self.contrast()),
                    ("measured", "How it was measured", measured)]
        groups = f", {many(self.units, 'source')}" if self.unit == "source" and self.units is not None else ""
        trials = f"{many(self.all['trials'], 'trial')} a case" if self.all["trials"] else "uneven numbers of trials"
        warnings = [(clean(row["message"] or ""), clean(row["advice"] or "")) for row in self.all["warnings"]]
        return Story(f"{self.side('baseline')} against {self.side('candidate')}",
                     f"{many(self.overall['cases'], 'case')} of {clean(self.all['case_set']['name'] or 'trial logs')[:120]}{groups}, {trials}",
                     self.verdict(), self.gate(), self.lead(), warnings, [Section(*section) for section in sections],
                     self.edges())


# === Several candidates of one baseline ===


def sheet(comparisons: Sequence[dict[str, Any]], names: Sequence[str], pages: Sequence[str] = (),
          minus: str = "-") -> Story:
    """Return several candidates of one baseline as one story, a row each, best first.

    Raises RunError, by name, where baseline or case set is another. Says so where a comparison was not declared as one
    of at least so many, and which level that would have taken.
    """
    every = [Words(comparison, minus) for comparison in comparisons]
    first: dict[str, Any] = {}
    for name, words in zip(names, every, strict=True):
        stated = {"case set": words.all["case_set"], "task": words.all["task"], "baseline": words.all["baseline"],
                  "recording of the baseline": words.all["logs"]["baseline"]}
        first = first or stated
        for what, value in stated.items():
            if value != first[what]:
                raise RunError(f"{name} has another {what} than {names[0]}; "
                               "give comparisons of one baseline on one case set")
    count = len(every)
    levels: dict[str, list[str]] = {}
    for name, words in zip(names, every, strict=True):
        among = words.decision["among"] or 1
        if among < count:  # a level of 1 - 2a becomes 1 - 2a * among / count
            alpha = (words.decision["alpha"] or 0.025) * among / count
            levels.setdefault(f"{100 * (1 - 2 * alpha):.4g}%", []).append(clean(name))
    warnings = [(f"compared without --among {count}, as if each were the only candidate: {some(named)}",
                 f"compare them again with --among {count}; that takes intervals at {level}, which are wider")
                for level, named in levels.items()]
    measured = dict.fromkeys(name for words in every for name in words.all["measures"])
    rows = []
    for words, page in sorted(zip(every, [*pages, *[""] * (count - len(pages))]),
                              key=lambda row: row[0].difference or 0, reverse=True):
        changes = [words.percent(words.all["measures"][name]) if name in words.all["measures"] else NOT_MEASURED
                   for name in measured]
        unsteady = words.all["consistency"]["candidate"]["sometimes"]
        about = words.all["candidate"]
        own = about.get("name") != words.all["baseline"].get("name") or not about.get("version")
        rows.append(Row([words.side("candidate") if own else clean(about["version"]), words.verdict(), words.signed(words.difference),
                         words.span(words.interval), *changes, NOT_MEASURED if unsteady is None else f"{unsteady}"],
                        words.gate(), Draw(words.interval, words.difference, "decides"), page or None))
    heads = ["Candidate", "verdict", "#difference", "#interval", *(f"#{clean(name).partition('_')[0]}" for name in measured),
             "~unsteady"]
    story = every[0].story()
    return Story(f"{every[0].side('baseline')} against {count} candidates", story.subject, f"{count} candidates", "",
                 [f"The baseline scores {every[0].plain(every[0].overall['baseline'])}."], warnings,
                 [Section("sheet", "Which candidate?", [
                     Table("sheet", "Candidates, best first, candidate minus baseline", heads, rows),
                     f"The intervals are by {every[0].unit}. Cost, latency and tokens: the change from the baseline. Unsteady: cases "
                     "that sometimes pass."])],
                 edges=every[0].edges())
