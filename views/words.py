"""What does a comparison say? Its story in words, figures and tables, each written once for every view.

    $ python3 -m doctest views/words.py && echo "every example below came out"
    every example below came out

No statistics here: every figure is the comparison's own, and what is null there is "not measured". `whole` reads a
comparison of any version by KEYS, `Words.story` describes one comparison, `sheet` several of one baseline. A view shows
a Story: sections of sentences and tables. Reads, writes and prints nothing.
"""

import json
import math
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from core.files import RunError, clean

NOT_MEASURED = "not measured"
MOST_ROWS = 1_000  # of a table; of more the worst and the best are made
SHOWN_NAMES = 10  # of a list within a sentence
DRAWN_DOTS = 300  # sources; dots of more cannot be told apart
SHOWN_SOURCES = 20  # the rest are folded away
FOLDED_FROM = 4  # slices with one reason for no interval that become one line
SIDES = ("baseline", "candidate")
GONE = "made by a version that did not measure this"

Ends = Sequence[float] | None  # an interval's two ends, None where it is not measured

# === Names and numbers as text ===


def count_of(number: object, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "case"), count_of(2, "case"), count_of(None, "case")
    ('1 case', '2 cases', '? cases')
    """
    return f"{'?' if number is None else number} {noun}{'s' * (number != 1)}"


def sentence(text: str | None) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def listing(names: Sequence[str], left_out: int = 0) -> str:
    """Return the first names, and how many more there are, left_out of them not among names."""
    more = max(0, len(names) - SHOWN_NAMES) + left_out
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more else "")


def ends_of(rows: Sequence[Any], limit: int, left_out: int = 0) -> tuple[Sequence[Any], int, Sequence[Any]]:
    """Return the first of rows that are more than limit, how many are left out after them, and the last.

    left_out says how many were left out of the middle of rows before.
    """
    if len(rows) <= limit and not left_out:
        return rows, 0, []
    shown = min(limit, len(rows))
    return rows[:shown - shown // 2], left_out + len(rows) - shown, rows[len(rows) - shown // 2:]


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a JSON value holds, nulls left out; objects in a list are numbered.

    >>> list(flat({"a": {"b_c": 1, "d": None}, "e": [{"f": "x"}], "g": [2, 3]}))
    [('a b c', '1'), ('e 1 f', 'x'), ('g', '[2, 3]')]
    """
    if isinstance(value, dict) or isinstance(value, list) and value and isinstance(value[0], dict):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value, start=1):
            yield from flat(inner, f"{path} {key}")
    elif value is not None:
        yield path.replace("_", " ").strip(), clean(value, keep="\n\t")


def percent(share: float) -> str:
    """Return a share in hundredths to 4 digits, to 8 where it is almost all.

    >>> percent(0.95), percent(0.999995)
    ('95%', '99.9995%')
    """
    return f"{100 * share:.{4 if share <= 0.999 else 8}g}%"


def digits(value: float | None, sign: str = "") -> str:
    """Return a measure to four significant digits, without an exponent where it has few places.

    >>> digits(1234.56), digits(0.000123456), digits(0.5, "+"), digits(0, "+")
    ('1,235', '0.0001235', '+0.5', '0')
    """
    if value is None:
        return NOT_MEASURED
    return f"{value:{sign if value else ''}{',.0f' if abs(value) >= 1000 else '.4g'}}"


def joined(*parts: object, by: str = "; ") -> str:
    """Return the parts that are not empty, none, zero or false as one text."""
    return by.join(str(part) for part in parts if part)


# === What a comparison holds ===

# Every key of comparison_version "1" and "2" that a view may read, with the kind of its value; "*" is any name.
# Version 2 added options, these_cases, shared_luck, sources, consistency, must_pass and most of decision.
KEYS: dict[str, Any] = json.loads(pkgutil.get_data("views", "keys.json") or b"")  # from a zip, too
FITS: dict[str, Callable[[Any], bool]] = {
    "any value": lambda value: True, "text": lambda value: isinstance(value, str),
    "true or false": lambda value: isinstance(value, bool),
    "a number": lambda value: type(value) in (int, float) and abs(value) < 1e300,
    "two numbers": lambda value: isinstance(value, list) and len(value) == 2 and all(map(FITS["a number"], value))}


def whole(value: Any, kind: Any, where: str = "comparison") -> Any:
    """Return a value with every key of its kind: what it lacks is None, an object of None, or empty; others left out.

    So a key that no version knows raises KeyError where it is read. Raises RunError, naming where, for a value of
    another kind.

    >>> whole({"b": 1, "z": 2}, {"a": {"x": "a number"}, "b": "a number", "c": ["text"]})
    {'a': {'x': None}, 'b': 1, 'c': []}
    """
    if isinstance(kind, str):
        if value is not None and not FITS[kind](value):
            raise refused(where, value, kind)
        return value
    if value is not None and not isinstance(value, type(kind)):
        raise refused(where, value, "an object" if isinstance(kind, dict) else "a list")
    if isinstance(kind, list):
        return [whole(inner, kind[0], f"{where}[{i}]") for i, inner in enumerate(value or ())]
    value = value or {}
    names = dict.fromkeys(value, kind["*"]) if "*" in kind else kind
    return {key: whole(value.get(key), inner, f"{where}.{key}") for key, inner in names.items()}


def refused(where: str, value: Any, kind: str) -> RunError:
    return RunError(f"{where} is {value!r:.60}, not {kind}; make the comparison again with compare.py")


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
    """Return a scale of at most 6 ticks that holds zero and all values but None, with some room at both ends."""
    numbers = [0.0, *(float(value) for value in values if value is not None)]
    low, high = (min(numbers), max(numbers)) if any(numbers) else (-0.1, 0.1)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    power = 10.0 ** math.floor(math.log10((high - low) / 6))
    return Scale(low, high, next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= 6))


# === A story: sections of sentences and tables ===


class Draw(NamedTuple):
    """What a row draws on its table's scale: an interval with its point, or dots."""

    ends: Ends = None
    point: float | None = None
    kind: str = ""  # "decides" or "noise"
    dots: Sequence[float] = ()


class TableRow(NamedTuple):
    cells: list[str]  # a text a column
    note: str = ""  # small print to the first cell
    draw: Draw | None = None
    key: Any = None  # what a page opens below it: a source, a (tag, value); of a sheet, a page's address
    change: float = 0  # above 0 better, below 0 worse


class Table(NamedTuple):
    """`columns` are the heads: # before one of numbers, ~ before one of numbers that a narrow screen leaves out."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: list[TableRow]
    folded: "Table | None" = None  # of the same columns, behind its caption
    left_out: int = 0  # rows that were not made, between the two halves of rows

    def fold(self, caption: str, rows: list[TableRow], left_out: int = 0) -> "Table":
        """Return the table with more rows behind a caption, itself where there are none."""
        return self._replace(folded=self._replace(caption=caption, rows=rows, left_out=left_out)) if rows else self

    def line(self) -> str:
        """Return a folded table as a line: its caption and its first names."""
        return f"{self.caption}: {listing([row.cells[0] for row in self.rows], self.left_out)}."


def side_rows(one: Any, other: Any) -> list[TableRow]:
    """Return a row of texts for all that two JSON values hold, "none" where one lacks it."""
    left, right = dict(flat(one)), dict(flat(other))
    return [TableRow([name, left.get(name, "none"), right.get(name, "none")]) for name in left | right]


Blocks = Iterator[str | Table]


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
    worse: int | None = None  # cases
    edges: Sequence[float] = ()  # margin and gain, which drawings mark: [-margin, margin, gain], zeros left out

    def scale(self, table: Table) -> Scale | None:
        """Return the scale of a table's drawings, None where its rows draw nothing."""
        draws = [row.draw for row in [*table.rows, *(table.folded.rows if table.folded else ())] if row.draw]
        values = [value for draw in draws for value in (*(draw.ends or ()), *draw.dots, draw.point)]
        return scale_of([*self.edges, *values]) if draws else None


class Words:
    """A comparison in words and formatted figures; what is missing or null in it is "not measured".

    Names and texts of the comparison stay as they are: a view makes harmless whatever it shows.
    """

    def __init__(self, comparison: dict[str, Any], manifests: Sequence[dict[str, Any]] = ()):
        self.manifests = manifests  # of the two run records, where they are at hand
        self.all: dict[str, Any] = whole(comparison, KEYS)
        self.overall, self.decision = self.all["overall"], self.all["decision"]
        for case in self.all["cases"]:
            if case["difference"] is None:  # in version 1
                case["difference"] = case["candidate"] - case["baseline"]
        # The largest loss first; ties stay in the case file's order.
        self.changed = sorted(self.all["cases"], key=itemgetter("difference"))
        ends: Any = self.all["score_range"] or (0, 1)
        self.low, self.high = ends
        # Shares have 4 places; scores of up to 100 have 2, those of up to 0.01 have 6.
        self.places = min(12, max(0, 4 - math.floor(math.log10(max(self.high - self.low, 1e-9)))))
        self.unit = "case" if self.decision["unit"] == "case" else "source"
        self.units = self.overall["cases" if self.unit == "case" else "source_groups"]
        self.margin, self.gain = self.decision["margin"] or 0, self.decision["min_gain"] or 0
        self.verdict, self.difference = self.decision["verdict"] or "undecided", self.overall["difference"]
        self.interval: Ends = (self.decision["interval"] or self.decision["interval_95"]
                               or self.overall["source_sign_flip"]["interval_95"])
        self.level = percent(self.decision["level"] or 0.95)

    # --- figures as text ---

    def plain(self, value: float | None, places: int | None = None, sign: str = "") -> str:
        if value is None:
            return NOT_MEASURED
        places = self.places if places is None else places
        number = round(value, places) or 0  # no -0, and no sign before 0
        return f"{number:{sign if number else ''}.{places}f}"

    def signed(self, value: float | None) -> str:
        return self.plain(value, sign="+")

    def scores(self, row: dict[str, Any]) -> list[str]:
        """Return baseline, candidate and difference of a row."""
        return [self.plain(row["baseline"]), self.plain(row["candidate"]), self.signed(row["difference"])]

    def span(self, ends: Ends) -> str:
        return f"{self.signed(ends[0])} to {self.signed(ends[1])}" if ends else NOT_MEASURED

    def p_value(self, value: float | None) -> str:
        """Return a p-value; one that 4 places would call zero keeps two digits."""
        return f"{value:.1e}" if value and value < 0.00005 else self.plain(value, 4)

    def change_of(self, measure: str) -> str:
        """Return by how much a measure changed, in hundredths of the baseline's."""
        row = self.all["measures"].get(measure)
        if not row or not row["baseline"] or row["difference"] is None:
            return NOT_MEASURED
        return self.plain(100 * row["difference"] / abs(row["baseline"]), 0, "+") + "%"

    def side(self, side: str) -> str:
        """Return a side's name and version."""
        return " ".join(str(self.all[side][key])[:60] for key in ("name", "version") if self.all[side].get(key)) or side

    def case_cells(self, cases: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return baseline, candidate, difference and p-value of each case; the first three as short as all allow."""
        figures = [case[key] for case in cases for key in (*SIDES, "difference") if case[key] is not None]
        places = next(places for places in range(self.places + 1) if places == self.places or all(
            round(value, places) == round(value, self.places) for value in figures))
        return [[*(self.plain(case[side], places) for side in SIDES), self.plain(case["difference"], places, "+"),
                 self.p_value(case["by_chance"])] for case in cases]

    # --- the verdict ---

    def lead(self) -> Iterator[str]:
        """Yield the sentences that say what the verdict rests on."""
        decision, unit = self.decision, self.unit
        rests = f"the {self.level} interval by {unit}, {self.span(self.interval)},"
        narrow = self.span(decision["equivalence_interval"] or decision["interval_90"])
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        # Where the interval lies above the gain, what is missing bars the claim.
        but = f", but not above {gain}" * (not self.interval or self.interval[0] <= self.gain)
        loss = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        verdicts = {
            "better": f"All of {rests} lies above {gain}.",
            "worse": f"All of {rests} lies below {loss}.",
            "equivalent": f"The {percent(decision['equivalence_level'] or 0.9)} interval by {unit}, {narrow}, lies "
                          f"within {self.plain(self.margin)} of zero.",
            "not worse": f"{rests.capitalize()} lies above {loss}{but}."}
        yield "The baseline scores {}, the candidate {}: a difference of {}.".format(*self.scores(self.overall))
        yield verdicts.get(self.verdict, f"No claim can be made: {decision['reason'] or 'none was recorded'}.")
        if one_more := {"not worse": decision["interval_with_one_more"],
                        "equivalent": decision["equivalence_interval_with_one_more"]}.get(self.verdict):
            yield f"With one more {unit} that loses (or gains) all it can, it would be {self.span(one_more)}."
        if filled := decision["interval_with_missing_filled"]:
            yield f"With what is missing counted against the candidate, then for it: {self.span(filled)}."
        if self.verdict == "undecided" and decision["groups_needed"] and self.more_would_decide():
            yield (f"About {count_of(decision['groups_needed'], unit)} would decide a difference of this size; there "
                   f"{'is' if self.units == 1 else 'are'} {self.units}.")
        if also := [claim for claim in decision["claims"] if claim != self.verdict]:
            yield f"It is also {' and '.join(also)}."
        if declared := joined(decision["look"] and f"look {decision['look']}",
                              decision["among"] and f"one of {decision['among']} candidates", by=" and "):
            yield (f"Declared: {declared}, so the interval is at level {self.level}; that takes "
                   f"{count_of(decision['sources_for_level'], unit)} or more.")

    def more_would_decide(self) -> bool:
        """Tell whether more sources like those seen would decide, and no other sentence says how many."""
        low, high = self.interval or (-math.inf, math.inf)
        missing = low > self.gain or high < -self.margin  # it is what bars the claim
        between = not self.margin and 0 <= (self.difference or 0) <= self.gain  # without a margin none claims that
        return not missing and not between and (not self.decision["sources_needed"] or low <= -self.margin)

    def gate(self) -> str:
        """Return whether gate and must-pass are met, and why not; empty without either."""
        decision, said = self.decision, []
        if decision["gate_met"] is not None:
            unsure = ", the data cannot tell" if decision["gate_contradicted"] is False else ""
            met = "met" if decision["gate_met"] else f"not met{unsure}"
            why = f" ({decision['gate_reason']})" if decision["gate_reason"] else ""
            said.append(f"gate {decision['gate'] or 'must pass'}: {met}{why}")
        for rule in self.all["must_pass"]:
            failed = [f"{case['case_id']} {case['passed']} of {case['trials']}" for case in rule["failed"]]
            cases = count_of(rule["cases"], "case")
            met = f"{len(failed)} of {cases} did not: {listing(failed)}" if failed else f"{cases}, all did"
            said.append(f"must pass {rule['tag']}={rule['value']}: {met}")
        return joined(*said)

    # --- sentences and tables ---

    def changes(self) -> list[TableRow]:
        """Return what differs between the two systems, and where it is known between their settings and servers."""
        rows = side_rows(self.all["baseline"], self.all["candidate"])
        if self.manifests:
            rows += side_rows(*({key: manifest.get(key) for key in ("settings", "server")}
                                for manifest in self.manifests))
        return [row for row in rows if row.cells[1] != row.cells[2]]

    def change(self) -> Blocks:
        rows = self.changes()
        yield Table("change", "What differs between the two systems", ["What", "baseline", "candidate"], rows)
        if not rows:
            yield "The two systems are described alike." if self.manifests else (
                "The comparison describes the two systems alike; it does not hold their settings.")

    def questions(self) -> Blocks:
        """Return the two questions with one interval each, the figure of every source, and the sources, worst first."""
        these, flip, decision = self.overall["these_cases"], self.overall["source_sign_flip"], self.decision
        pairs = f"{count_of(these['pairs'], 'pair')} of trials, of which {these['disagree']} differ"
        asked = joined(these["pairs"] is not None and pairs, these["method"], these["interval_reason"])
        if these["p_value"] is None:
            asked = f"{NOT_MEASURED}: {these['reason'] or GONE}"
        method = f"{self.level} interval, {decision['interval_method'] or flip['method']}"
        rests = method if self.interval else decision["reason"] or flip["reason"] or GONE
        sources = sorted(self.all["sources"], key=itemgetter("difference"))
        dots = [row["difference"] for row in (sources if self.unit == "source" else self.changed)]
        new, each = ("messages", "Each source") if self.unit == "source" else ("cases", "Each changed case")
        rows = [TableRow(["On these very cases", self.span(these["interval_95"]), self.p_value(these["p_value"])],
                         asked, Draw(these["interval_95"], self.difference)),
                TableRow([f"On new {new} like these", self.span(self.interval), self.p_value(flip["p_value"])],
                         f"This decides: {count_of(self.units, self.unit)}; {rests}",
                         Draw(self.interval, self.difference, "decides"))]
        if 0 < len(dots) <= DRAWN_DOTS:
            rows.append(TableRow([each, "", ""], draw=Draw(dots=dots)))
        yield Table("questions", "The difference, candidate minus baseline", ["Question", "#interval", "#p"], rows)
        yield ("p: how often a difference at least as large would come up if nothing had changed: on these cases "
               f"by sampling alone, on new ones with each {self.unit} as likely to gain as to lose.")
        if marked := joined(self.margin and f"the margin of {self.plain(self.margin)}",
                            self.gain and f"the gain worth shipping, {self.signed(self.gain)}", by=" and "):
            yield f"Dashed lines, where this is drawn, are {marked}."
        if self.all["shared_luck"]["reason"] and these["p_value"] is not None:
            yield f"Do trials of different cases move together? {sentence(self.all['shared_luck']['reason'])}"
        if sources:
            yield self.sources(sources)
        yield from self.unscored()

    def sources(self, sources: Sequence[dict[str, Any]]) -> Table:
        """Return the table of sources that are sorted, all but the first folded away."""
        first, left_out, last = ends_of(sources[SHOWN_SOURCES:], MOST_ROWS)
        rows = [TableRow([row["source"] or "(no source)", f"{row['cases']}", *self.scores(row)],
                         draw=Draw(point=row["difference"]), key=row["source"], change=row["difference"])
                for row in (*sources[:SHOWN_SOURCES], *first, *last)]
        table = Table("sources", "Sources, worst first: a source is what several cases were made from", [
            "Source", "~cases", "~baseline", "~candidate", "#difference"], rows[:SHOWN_SOURCES])
        return table.fold(f"{len(sources) - SHOWN_SOURCES} more sources", rows[SHOWN_SOURCES:], left_out)

    def unscored(self) -> Blocks:
        """Return what is known of incomplete trials, and of a comparison where nothing moved."""
        incomplete, nothing = self.all["incomplete"], self.all["nothing_moved"]
        for side in SIDES:
            if count := incomplete[side]["trials"]:
                reasons = [f"{name} {n}" for name, n in incomplete[side]["reasons"].items()]
                yield f"Incomplete trials of the {side}: {count} ({listing(reasons)})."
        if bounds := incomplete["difference_bounds"]:
            yield ("If all incomplete trials counted against the candidate, or all for it, the difference would be "
                   f"{' or '.join(map(self.signed, bounds))}.")
        if nothing["groups"]:
            yield ("No case changed, which does not prove that nothing would: "
                   f"{count_of(nothing['groups'], self.unit)} cannot exclude that up to "
                   f"{100 * nothing['excluded_share']:.0f}% of all change.")

    def cost(self) -> Blocks:
        names = {"latency_s": "latency, seconds", "cost_usd": "cost, USD"}
        rows = [TableRow([names.get(name, name), *(digits(row[side]) for side in SIDES), digits(row["difference"], "+"),
                          self.change_of(name),
                          " to ".join(digits(end, "+") for end in row["interval_95"] or ()) or NOT_MEASURED],
                         row["reason"] or "") for name, row in self.all["measures"].items()]
        yield Table("cost", "Mean of a case", ["Measure", "#baseline", "#candidate", "#difference", "#change",
                                               "~95% interval"], rows)
        if not rows:
            yield "Neither cost, latency nor tokens were recorded."

    def cases(self) -> Blocks:
        """Return what changed: trials by outcome, the moves that chance would bring, the changed cases."""
        pairs, moved = self.all["trial_pairs"], self.all["changed_by_chance"]
        yield "Cases: {worse} worse, {better} better, {same} the same.".format(**self.overall) if self.changed else (
            "No case changed.")
        if pairs["both_pass"] is not None:
            yield ("Of {} of trials {both_pass} pass on both sides, {only_baseline} only in the baseline, "
                   "{only_candidate} only in the candidate, {neither} in neither.").format(
                       count_of(sum(pairs.values()), "pair"), **pairs)
        for row in moved["trials_moved"]:
            if row["at_least"] == moved["most_telling"]:
                yield (f"{count_of(row['observed'], 'case')} moved by {count_of(row['at_least'], 'trial')} or more; by "
                       f"chance alone {self.plain(row['expected'], 2)} would.")
        for what, reason in (("Pairs of trials are", self.all["trial_pairs_reason"]),
                             ("What moves by chance is", moved["reason"])):
            if reason:
                yield f"{what} {NOT_MEASURED}: {reason}."
        first, left_out, last = ends_of(self.changed, MOST_ROWS)
        shown = [*first, *last]
        yield Table("cases", "Changed cases, worst first",
                    ["Case", "~baseline", "~candidate", "#difference", "#by chance"],
                    [TableRow([case["case_id"], *cells], key=case["case_id"], change=case["difference"])
                     for case, cells in zip(shown, self.case_cells(shown), strict=True)], left_out=left_out)
        yield Table("chance", "Cases that moved by so many trials", ["Trials", "#observed", "#expected by chance"], [
            TableRow([f"at least {row['at_least']}", f"{row['observed']}", self.plain(row["expected"], 2)])
            for row in moved["trials_moved"]])
        if moved["trials_moved"]:
            yield ("By chance: how often the passes of a case, dealt at random to the two runs, would differ by at "
                   "least as much. Where one seed gives the same reply on both sides, chance moves fewer cases.")

    def slices(self) -> Blocks:
        """Return the slices, worst first; those of too few sources behind one line."""
        parts = [(tag, value, part) for tag, values in self.all["slices"].items() for value, part in values.items()]
        parts.sort(key=lambda slice_: slice_[2]["difference"])
        rows, flips = [self.slice(*part) for part in parts], [part["source_sign_flip"] for _, _, part in parts]
        heads = ["Slice", "~cases", *["~sources"] * (self.unit == "source"), "~baseline", "~candidate", "#difference",
                 "#95% interval", "#adjusted p"]
        few = [row for row, flip in zip(rows, flips, strict=True)
               if flip["groups"] is not None and not flip["interval_95"]]
        if len(few) < FOLDED_FROM:
            yield Table("slices", "Slices, worst first", heads, rows)
        else:
            yield Table("slices", "Slices, worst first", heads, [row for row in rows if row not in few]).fold(
                f"{count_of(len(few), 'slice')} of too few {self.unit}s for an interval", few)
        method = f" ({self.all['adjusted_method']})" if self.all["adjusted_method"] else ""
        yield (f"{count_of(self.all['slices_compared'] or len(rows), 'slice')} compared. Adjusted p: how often any of "
               f"them would stand out as much if nothing had changed{method}. The interval is by {self.unit}."
               if rows else "No tag makes slices of these cases.")

    def slice(self, tag: str, value: str, part: dict[str, Any]) -> TableRow:
        flip, least = part["source_sign_flip"], part["smallest_adjusted_p_value"]
        ends, sources = flip["interval_95"], count_of(part["source_groups"], self.unit)
        note = joined(
            not ends and (f"too few {self.unit}s for an interval" if flip["groups"] is not None else GONE),
            part["same_cases_as"] and f"same cases as {listing(part['same_cases_as'])}",
            any(part["incomplete"].values()) and "incomplete trials: {baseline} in the baseline, {candidate} in the "
            "candidate".format(**part["incomplete"]),
            ends and (least or 0) > 0.05 and f"its {sources} cannot give an adjusted p below {self.p_value(least)}; on "
            f"these very cases p is {self.p_value(part['these_cases']['p_value'])}")
        groups = [f"{part['source_groups'] or NOT_MEASURED}"] * (self.unit == "source")
        return TableRow([f"{tag}: {value}", f"{part['cases']}", *groups, *self.scores(part), self.span(ends),
                         self.p_value(part["adjusted_p_value"])],
                        note, Draw(ends, part["difference"]), (tag, value), part["difference"])

    def consistency(self) -> Blocks:
        found = self.all["consistency"]
        sides = [found[side] for side in SIDES]
        if sides[0]["always"] is None:
            yield f"Consistency is {NOT_MEASURED}: {found['reason'] or GONE}."
            return
        counts = [TableRow([f"cases that {key} pass", *(f"{side[key]}" for side in sides)])
                  for key in ("always", "sometimes", "never")]
        shares = zip(*(side["pass_hat_k"] for side in sides), strict=True)
        yield Table("consistency", "How steadily cases pass", ["Cases", "#baseline", "#candidate"], [
            *counts, *(TableRow([f"pass^{k}", *map(self.plain, both)]) for k, both in enumerate(shares, start=1))])
        scores = (self.low, self.high) != (0, 1) or self.all["trial_pairs"]["both_pass"] is None
        only = f"; a trial passes with the top score, {self.high:g}" * scores
        yield (f"pass^k: how often k trials of a case all pass{only}. Newly unsteady: "
               f"{listing(found['newly_unsteady']) or 'none'}. Newly steady: "
               f"{listing(found['newly_steady']) or 'none'}.")

    def plans(self) -> Blocks:
        """Return what would make the interval narrower, and what the asked half-width takes."""
        half, plan, detectable = self.all["half_width"], self.all["plan"], self.all["detectable_difference"]
        names = {"now": "as recorded", "twice_cases": "twice the cases of each source",
                 "twice_trials": "twice the trials", "endless_trials": "unlimited trials",
                 "twice_groups": f"twice the {self.unit}s, each like these"}
        if self.unit == "case":
            del names["twice_cases"]
        middle = self.difference or 0
        yield Table("plans", "What would make the interval narrower", ["With", "#half-width"], [
            TableRow([name, self.plain(half[key])], draw=Draw([middle - half[key], middle + half[key]], middle))
            for key, name in names.items() if half[key] is not None])
        if plan["half_width"] is not None:
            wanted = [count_of(plan[key], noun) for key, noun in (
                ("source_groups", "source"), ("cases", "case"), ("trials", "trial")) if plan[key] is not None]
            why = f" ({plan['reason']})" if plan["reason"] else ""
            yield f"A half-width of {self.plain(plan['half_width'])} takes {' or '.join(wanted) or NOT_MEASURED}{why}."
        if detectable is not None:
            yield f"The smallest difference that these would detect in 4 of 5 repetitions is {self.plain(detectable)}."
        if half["reason"]:
            yield f"Not all is measured: {half['reason']}."

    def contrast(self) -> Blocks:
        """Return all intervals that do not decide, and what they say."""
        overall, noise = self.overall, self.all["noise_floor"]
        cases = count_of(overall["cases"], "case")
        if self.all["shared_luck"]["withheld"]:
            cases += ", too narrow here: trials of different cases move together"
        seeded = overall["interval_method"] or (
            overall["interval_95"] and f"{self.all['resamples']} resamples, seed {self.all['seed']}")
        rows = [(f"By case, {kind}", ends, joined(cases, method)) for kind, ends, method in (
            ("bootstrap", overall["exact_interval_95"], overall["exact_method"]),
            ("seeded", overall["interval_95"], seeded))]
        if self.unit == "source":  # without sources both bootstraps are one
            rows.insert(0, ("By source, bootstrap", overall["source_cluster_interval_95"], joined(
                count_of(overall["source_groups"], "source"), overall["source_cluster_method"])))
        rows.append(("By trial", overall["trial_level_interval_95"], joined(
            "as if every trial were independent", overall["trial_level_method"], overall["trial_level_reason"])))
        largest = noise["largest_difference"]
        floor = None if largest is None else [-largest, largest]
        splits = f"the largest difference in {count_of(noise['splits'], 'split')} of the baseline's own trials"
        yield Table("contrast", "95% intervals that do not decide", ["Interval", "#from, to"], [
            *(TableRow([name, self.span(ends)], note, Draw(ends, self.difference)) for name, ends, note in rows),
            TableRow(["Noise floor", self.span(floor)], splits if floor else noise["reason"] or GONE,
                     Draw(floor, None, "noise"))])
        if noise["mean_difference"] is not None:
            yield self.noise_floor(noise)

    def noise_floor(self, noise: dict[str, Any]) -> str:
        share = noise["gate_tripped_share"]
        often = f"{self.plain(100 * share, 1)}%" if share is not None else (
            f"a share that is {NOT_MEASURED} ({noise['reason'] or GONE})")
        claim = f"the gate ({noise['gate']}) would have answered wrongly" if noise["gate"] else (
            "a gain or a loss would be claimed")
        return ("The noise floor is the baseline against itself: two halves of its own trials "
                f"({noise['trials_per_half']} a half) differ by {self.plain(noise['mean_difference'])} on average; "
                f"in {often} of the splits {claim}.")

    def recipe(self, records: bool) -> Blocks:
        """Return all that is needed to reproduce the comparison, one value where both sides share it.

        With records also what the manifests of the two run records hold, where they are at hand.
        """
        shared = ("comparison_version", "tool_version", "case_set", "task", "trials", "resamples", "seed",
                  "score_range", "missing", "options", "variance")
        rows = [TableRow([name, value, value]) for name, value in flat({name: self.all[name] for name in shared})]
        rows += side_rows(*(self.all[side] | {"log": self.all["logs"][side]} for side in SIDES))
        rows += [TableRow([f"left out: {row['case_id']}", *[f"{row['side']}: {row['reason']}"] * 2])
                 for row in self.all["excluded"]]
        rows += [TableRow([f"trials of {row['case_id']}", *(f"{row[side]}" for side in SIDES)])
                 for row in self.all["uneven_trials"]]
        if self.manifests and records:
            rows += side_rows(*({"run": manifest} for manifest in self.manifests))
        yield Table("measured", "All that decides the figures", ["What", "baseline", "candidate"], rows)

    def story(self, records: bool = False) -> Story:
        """Return the whole comparison, in the order in which a person who decides asks. records: see recipe."""
        sections = (
            ("change", "What was changed", self.change), ("questions", "Is it larger than the noise?", self.questions),
            ("cost", "Cost, latency and tokens", self.cost), ("cases", "Where did it come from?", self.cases),
            ("slices", "Which slices changed?", self.slices),
            ("consistency", "How consistent is it?", self.consistency), ("next", "What to record next", self.plans),
            ("contrast", "Other intervals, for contrast", self.contrast),
            ("measured", "How it was measured", lambda: self.recipe(records)))
        groups = f", {count_of(self.units, 'source')}" if self.unit == "source" and self.units is not None else ""
        trials = f"{count_of(self.all['trials'], 'trial')} a case" if self.all["trials"] else "uneven numbers of trials"
        name = (self.all["case_set"]["name"] or "trial logs")[:120]
        return Story(
            title=f"{self.side('baseline')} against {self.side('candidate')}",
            subject=f"{count_of(self.overall['cases'], 'case')} of {name}{groups}, {trials}",
            verdict=self.verdict, gate=self.gate(), lead=list(self.lead()),
            warnings=[(sentence(row["message"]), sentence(row["advice"])) for row in self.all["warnings"]],
            sections=[Section(key, heading, list(blocks())) for key, heading, blocks in sections],
            worse=self.overall["worse"], edges=[edge for edge in (-self.margin, self.margin, self.gain) if edge])


# === Several candidates of one baseline ===


def sheet(comparisons: Sequence[dict[str, Any]], names: Sequence[str], pages: Sequence[str] = ()) -> Story:
    """Return several candidates of one baseline as one story, a row each, best first.

    Raises RunError, by name, where baseline or case set is another. Says so where a comparison was not declared as one
    of at least so many, and which level that would have taken.
    """
    every = [Words(comparison) for comparison in comparisons]
    first, measures = every[0], dict.fromkeys(name for words in every for name in words.all["measures"])
    best_first = sorted(zip(every, pages or [""] * len(every), strict=True), key=lambda one: -one[0].difference)
    rows = []
    for words, page in best_first:
        about, unsteady = words.all["candidate"], words.all["consistency"]["candidate"]["sometimes"]
        by_version = about.get("version") and about.get("name") == first.all["baseline"].get("name")
        cells = [f"{about['version']}" if by_version else words.side("candidate"), words.verdict,
                 words.signed(words.difference), words.span(words.interval), *map(words.change_of, measures),
                 NOT_MEASURED if unsteady is None else f"{unsteady}"]
        rows.append(TableRow(cells, words.gate(), Draw(words.interval, words.difference, "decides"), page,
                             words.difference))
    levels = joined(*dict.fromkeys(words.level for words in every), by=" or ")
    heads = ["Candidate", "verdict", "#difference", "#interval", *(f"#{name.partition('_')[0]}" for name in measures),
             "~unsteady"]
    return first.story()._replace(
        title=f"{first.side('baseline')} against {len(every)} candidates", verdict=f"{len(every)} candidates", gate="",
        edges=first.story().edges if len({(words.margin, words.gain) for words in every}) == 1 else (),
        lead=[f"The baseline scores {first.plain(first.overall['baseline'])}."],
        warnings=undeclared(every, names),
        sections=[Section("sheet", "Which candidate?", [
            Table("sheet", "Candidates, best first, candidate minus baseline", heads, rows),
            f"The intervals are by {first.unit}, at {levels}; "
            "cost, latency and tokens are the change from the baseline. Unsteady: cases that sometimes pass."])])


def undeclared(every: Sequence[Words], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return a warning for those that were not declared as one of so many; raise RunError for another baseline."""
    count, first, levels = len(every), every[0], dict[str, list[str]]()
    for name, words in zip(names, every, strict=True):
        for key, what in (("case_set", "case set"), ("task", "task"), ("baseline", "baseline"),
                          ("missing", "way with what is missing"), ("score_range", "score range")):
            if words.all[key] != first.all[key]:
                raise RunError(f"{name} has another {what} than {names[0]}; give comparisons of one baseline")
        if words.all["logs"]["baseline"] != first.all["logs"]["baseline"]:
            raise RunError(f"{name} has another recording of the baseline than {names[0]}; compare with one recording")
        among = words.decision["among"] or 1
        if among < count:  # a level of 1 - 2a becomes 1 - 2a * among / count
            alpha = (words.decision["alpha"] or 0.025) * among / count
            levels.setdefault(percent(1 - 2 * alpha), []).append(name)
    cases = {words.overall["cases"]: name for name, words in zip(names, every, strict=True)}
    unlike = [("The comparisons are over other cases: " + " and ".join(
        f"{count_of(number, 'case')} in {name}" for number, name in cases.items()) + ".",
        "Record what is missing: each candidate is compared on its own cases.")] if len(cases) > 1 else []
    return unlike + [(f"Compared without --among {count}, as if each were the only candidate: {listing(named)}.",
             f"Compare them again with --among {count}; that takes intervals at {level}, which are wider.")
            for level, named in levels.items()]
