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
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from core.files import RunError, clean
from core.trials import SIDES, listed, shown_places

NOT_MEASURED = "not measured"
VERSION_1 = "the comparison is of version 1"
DRAWN_DOTS = 300  # sources; dots of more cannot be told apart
SHOWN_SOURCES = 20  # the rest are folded away
FOLDED_FROM = 4  # slices without an interval that become one line

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


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a JSON value holds, nulls and empty lists left out; a list of objects is numbered.

    >>> list(flat({"a": {"b_c": 1, "d": None}, "e": [{"f": "x"}], "g": [2, 3], "h": []}))
    [('a b c', '1'), ('e 1 f', 'x'), ('g', '[2, 3]')]
    """
    if isinstance(value, dict) or isinstance(value, list) and value and isinstance(value[0], dict):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value, start=1):
            yield from flat(inner, f"{path} {key}")
    elif value is not None and value != []:
        yield path.replace("_", " ").strip(), clean(value, keep="\n\t")


def percent(share: float) -> str:
    """Return a share in hundredths to 4 digits, to 8 where it is almost all.

    >>> percent(0.95), percent(0.999995)
    ('95%', '99.9995%')
    """
    return f"{100 * share:.{4 if share <= 0.999 else 8}g}%"


def digits(value: float | None, sign: str = "") -> str:
    """Return a measure or p-value to four significant digits, without an exponent where it has few places.

    >>> digits(1234.56), digits(0.000123456), digits(0.5, "+"), digits(0, "+"), digits(None)
    ('1,235', '0.0001235', '+0.5', '0', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    return f"{value:{sign if value else ''}{',.0f' if abs(value) >= 1000 else '.4g'}}"


def joined(*parts: object, by: str = "; ") -> str:
    """Return the parts that are not empty, none, zero or false as one text."""
    return by.join(str(part) for part in parts if part)


# === What a comparison holds ===


def beside(name: str) -> str:
    """Return the text of a file of this folder, which may be in a zip."""
    return (pkgutil.get_data("views", name) or b"").decode()


# Every key of comparison_version "1" and "2" that a view reads, with the kind of its value; "*" is any name.
# Version 2 added options, these_cases, shared_luck, sources, consistency, must_pass and most of decision.
KEYS: dict[str, Any] = json.loads(beside("keys.json"))
TYPES = {"any value": (str, bool, int, float, list, dict), "text": (str,), "true or false": (bool,),
         "a number": (int, float)}


def whole(value: Any, kind: Any, where: str = "comparison") -> Any:
    """Return a value with every key of its kind: what it lacks is None, an object of None, or empty; others left out.

    So a key that no version knows raises KeyError where it is read. Raises RunError, naming where, for a value of
    another kind.

    >>> whole({"b": 1, "z": 2}, {"a": {"x": "a number"}, "b": "a number", "c": ["text"]})
    {'a': {'x': None}, 'b': 1, 'c': []}
    """
    if value is not None and type(value) not in (TYPES[kind] if isinstance(kind, str) else (type(kind),)):
        raise RunError(f"{where} is {value!r:.60}, which cannot be there; make the comparison again with compare.py")
    if isinstance(kind, str):
        return value
    if isinstance(kind, list):
        return [whole(inner, kind[0], f"{where}[{i}]") for i, inner in enumerate(value or ())]
    value = value or {}
    names = dict.fromkeys(value, kind["*"]) if "*" in kind else kind
    return {key: whole(value.get(key), inner, f"{where}.{key}") for key, inner in names.items()}


# === One scale for drawings ===


class Scale(NamedTuple):
    """A stretch of numbers with round ticks; zero is always on it."""

    low: float
    high: float
    ticks: list[tuple[float, str]]  # each with its label, as short as they allow

    def at(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


def scale_of(values: Sequence[float]) -> Scale:
    """Return a scale of at most 5 ticks that holds zero and all values, with some room at both ends."""
    low, high = (min(0.0, *values), max(0.0, *values)) if any(values) else (-0.1, 0.1)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= 4)
    places = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return Scale(low, high, [(place, digits(place, "+")) for place in places])


# === A story: sections of sentences and tables ===


class TableRow(NamedTuple):
    """A row of texts, and what it draws on its table's scale: an interval, its point, dots."""

    cells: list[str]  # a text a column
    note: str = ""  # small print to the first cell
    ends: Ends = None
    point: float | None = None
    dots: Sequence[float] = ()
    decides: bool = False  # of an interval
    change: float = 0  # above 0 better, below 0 worse
    key: Any = None  # a source or (tag, value), whose cases a page opens below it
    link: str = ""  # an address


class Table(NamedTuple):
    """`columns` are the heads: # before one of numbers, ~ before one of numbers that a narrow screen leaves out."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[TableRow]
    more: Sequence[TableRow] = ()  # which a view folds away behind their caption
    more_caption: str = ""


class SideBySide(NamedTuple):
    """What the two sides say of one thing."""

    what: str
    baseline: str
    candidate: str


Block = str | SideBySide | Table  # a string is a sentence
Blocks = Iterator[Block]
Section = tuple[str, str, list[Block]]  # key, heading, blocks


def shortened(rows: Sequence[TableRow], limit: int) -> Sequence[TableRow]:
    """Return rows; of more than limit the first and the last, and between them how many are left out."""
    if len(rows) <= limit:
        return rows
    half = (limit - 1) // 2
    left_out = f"({len(rows) - 2 * half} rows left out)"
    return [*rows[:half], TableRow([left_out, *[""] * (len(rows[0].cells) - 1)]), *rows[-half:]]


def side_by_side(one: Any, other: Any) -> list[SideBySide]:
    """Return all that two JSON values hold, "none" where one lacks it."""
    left, right = dict(flat(one)), dict(flat(other))
    return [SideBySide(name, left.get(name, "none"), right.get(name, "none")) for name in left | right]


def lines_of(block: str | SideBySide) -> list[str]:
    """Return a sentence or what the two sides say as lines; of long texts that differ only the lines that do.

    >>> lines_of(SideBySide("model", "a", "b")), lines_of(SideBySide("prompt", "Sort.\\nA", "Sort.\\nB"))
    (['model: a -> b'], ['prompt:', '- A', '+ B'])
    """
    if isinstance(block, str):
        return [block]
    what, one, other = block
    before, after = one.splitlines(), other.splitlines()
    if one != other and max(len(before), len(after)) > 1:
        return [f"{what}:", *(f"- {line}" for line in before if line not in after),
                *(f"+ {line}" for line in after if line not in before)]
    return [f"{what}: {one}" if one == other else f"{what}: {one} -> {other}"]


class Story(NamedTuple):
    title: str
    subject: str
    verdict: str
    gate: str  # of the first line: gate and must-pass, and why; empty without
    lead: list[str]
    sections: list[Section]
    edges: Sequence[float] = ()  # margin and gain, which drawings mark: [-margin, margin, gain], zeros left out

    def scale(self, table: Table) -> Scale | None:
        """Return the scale of a table's drawings, None where its rows draw nothing."""
        drawn = [value for row in (*table.rows, *table.more) for value in (*(row.ends or ()), *row.dots, row.point)
                 if value is not None]
        return scale_of([*self.edges, *drawn]) if drawn else None


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
        self.low, self.high = map(float, self.all["score_range"] or (0, 1))
        self.places = shown_places(*(Fraction(str(end)) for end in (self.low, self.high)))
        self.unit = "case" if self.decision["unit"] == "case" else "source"
        self.units = self.overall["cases" if self.unit == "case" else "source_groups"]
        self.margin, self.gain = self.decision["margin"] or 0, self.decision["min_gain"] or 0
        self.edges = [edge for edge in (-self.margin, self.margin, self.gain) if edge]  # which drawings mark
        self.verdict, self.difference = self.decision["verdict"] or "undecided", self.overall["difference"]
        older: Ends = self.overall["source_sign_flip"]["interval_95"]  # decides in version 1
        self.interval = self.decision["interval"] if self.decision["level"] else older
        self.level = percent(self.decision["level"] or 0.95)

    # --- figures as text ---

    def plain(self, value: float | None, sign: str = "") -> str:
        """Return a score with as many decimal places as the score range asks for; zero has no sign."""
        if value is None:
            return NOT_MEASURED
        number = round(value, self.places) or 0
        return f"{number:{sign if number else ''}.{self.places}f}"

    def signed(self, value: float | None) -> str:
        return self.plain(value, "+")

    def scores(self, row: dict[str, Any]) -> list[str]:
        """Return baseline, candidate and difference of a row."""
        return [self.plain(row["baseline"]), self.plain(row["candidate"]), self.signed(row["difference"])]

    def span(self, ends: Ends) -> str:
        return f"{self.signed(ends[0])} to {self.signed(ends[1])}" if ends else NOT_MEASURED

    def change_of(self, measure: str) -> str:
        """Return by how much a measure changed, in hundredths of the baseline's."""
        row = self.all["measures"].get(measure)
        if not row or not row["baseline"] or row["difference"] is None:
            return NOT_MEASURED
        return f"{digits(round(100 * row['difference'] / abs(row['baseline'])), '+')}%"

    def side(self, side: str) -> str:
        """Return a side's name and version."""
        return joined(*(str(self.all[side].get(key) or "")[:60] for key in ("name", "version")), by=" ") or side

    def subject(self) -> str:
        """Return what was compared: cases, sources, trials."""
        sources = self.unit == "source" and self.units is not None and count_of(self.units, "source")
        trials = f"{count_of(self.all['trials'], 'trial')} a case" if self.all["trials"] else "uneven numbers of trials"
        name = (self.all["case_set"]["name"] or "trial logs")[:120]
        return joined(f"{count_of(self.overall['cases'], 'case')} of {name}", sources, trials, by=", ")

    # --- the verdict ---

    def lead(self) -> Iterator[str]:
        """Yield the sentences that say what the verdict rests on."""
        decision, unit = self.decision, self.unit
        lies = f"All of the {self.level} interval by {unit}, {self.span(self.interval)}, lies"
        narrow = self.span(decision["equivalence_interval"] or decision["interval_90"])
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        loss = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        why = decision["reason"] or VERSION_1
        verdicts = {
            "better": f"{lies} above {gain}.", "worse": f"{lies} below {loss}.", "not worse": f"{lies} above {loss}.",
            "equivalent": f"All of the {percent(decision['equivalence_level'] or 0.9)} interval by {unit}, {narrow}, "
                          f"lies within {self.plain(self.margin)} of zero."}
        yield "The baseline scores {}, the candidate {}: a difference of {}.".format(*self.scores(self.overall))
        no_claim = "No claim can be made." if why == decision["gate_reason"] else f"No claim can be made: {why}."
        yield verdicts.get(self.verdict, no_claim)
        low, high = self.interval or (-math.inf, math.inf)
        barred = low > self.gain or high < -self.margin  # by what is missing
        told = decision["sources_needed"] and low > -self.margin  # by the reason
        small = not self.margin and 0 <= (self.difference or 0) <= self.gain  # without a margin none claims that
        if self.verdict == "undecided" and decision["groups_needed"] and not (barred or told or small):
            yield (f"About {count_of(decision['groups_needed'], unit)} would decide a difference of this size; "
                   f"{self.units} took part.")
        if decision["look"] or decision["among"]:
            yield (f"Declared: look {decision['look'] or '1/1'}, candidates {decision['among'] or 1}; so the interval "
                   f"is at level {self.level} and takes {decision['sources_for_level']} {unit}s or more.")

    def gate(self) -> str:
        """Return whether gate and must-pass are met, and why not; empty without either."""
        decision = self.decision
        if decision["gate_met"] is None:
            return ""
        asked = [decision["gate"], *(f"{rule['tag']}={rule['value']} must pass" for rule in self.all["must_pass"])]
        unsure = not decision["gate_met"] and decision["gate_contradicted"] is False and "the data cannot tell"
        met = joined("met" if decision["gate_met"] else "not met", unsure, decision["gate_reason"])
        return f"gate {joined(*asked, by=', ')}: {met}"

    # --- sentences and tables ---

    def change(self) -> Blocks:
        """Return what differs between the two systems, and where it is known between their settings and servers."""
        both = side_by_side(self.all["baseline"], self.all["candidate"])
        if self.manifests:
            both += side_by_side(*({key: manifest.get(key) for key in ("settings", "server")}
                              for manifest in self.manifests))
        differing: list[Block] = [one for one in both if one.baseline != one.candidate]
        yield from differing or ["The two systems are described alike."]
        if self.all["task"]["name"] and not self.manifests:  # trial logs have none
            yield "Prompts and settings are in run records: a report made with those shows them here."

    def questions(self) -> Blocks:
        """Return the two questions with one interval each, the figure of every source, and the sources, worst first."""
        these, flip, decision = self.overall["these_cases"], self.overall["source_sign_flip"], self.decision
        pairs = these["pairs"] and f"{count_of(these['pairs'], 'pair')} of trials, of which {these['disagree']} differ"
        asked = joined(pairs, these["method"], *dict.fromkeys([these["reason"], these["interval_reason"]]))
        method = joined(f"{self.level} interval", decision["interval_method"] or flip["method"])
        rests = joined(f"This decides: {count_of(self.units, self.unit)}",
                       method if self.interval else decision["reason"] or VERSION_1)
        sources = sorted(self.all["sources"], key=itemgetter("difference"))
        dots = [row["difference"] for row in (sources if self.unit == "source" else self.changed)]
        new, each = ("messages", "Sources, lowest to highest") if self.unit == "source" else (
            "cases", "Changed cases, low to high")
        rows = [TableRow(["On these very cases", self.span(these["interval_95"]), digits(these["p_value"])],
                         asked, these["interval_95"], self.difference),
                TableRow([f"On new {new} like these", self.span(self.interval), digits(flip["p_value"])],
                         rests, self.interval, self.difference, decides=True)]
        if 0 < len(dots) <= DRAWN_DOTS:
            rows.append(TableRow([each, self.span([dots[0], dots[-1]]), ""], dots=dots))
        yield Table("questions", "The difference, candidate minus baseline", ["Question", "#interval", "#p"], rows)
        yield ("p: how often a difference at least as large would come up if nothing had changed: on these cases "
               f"by sampling alone, on new ones with each {self.unit} as likely to gain as to lose. The first says "
               "nothing of other cases, the second nothing of these.")
        if self.edges:
            yield (f"Dashed lines, where this is drawn: {', '.join(map(self.signed, self.edges))}; a margin lies on "
                   "both sides of zero, a gain worth shipping above it.")
        if self.all["shared_luck"]["reason"] and these["p_value"] is not None:
            yield f"Do trials of different cases move together? {sentence(self.all['shared_luck']['reason'])}"
        if sources:
            rows = [TableRow([row["source"] or "(no source)", f"{row['cases']}", *self.scores(row)],
                             point=row["difference"], change=row["difference"], key=row["source"])
                    for row in sources]
            yield Table("sources", "Sources, worst first: a source is what several cases were made from", [
                "Source", "~cases", "~baseline", "~candidate", "#difference"], rows[:SHOWN_SOURCES],
                rows[SHOWN_SOURCES:], f"{len(rows) - SHOWN_SOURCES} more sources")
        for side in SIDES:
            incomplete = self.all["incomplete"][side]
            if incomplete["trials"]:
                reasons = listed([f"{name} {n}" for name, n in incomplete["reasons"].items()])
                yield f"Incomplete trials of the {side}: {incomplete['trials']} ({reasons})."

    def cost(self) -> Blocks:
        names = {"latency_s": "latency, seconds", "cost_usd": "cost, USD"}
        rows = []
        for name, row in self.all["measures"].items():
            ends = " to ".join(digits(end, "+") for end in row["interval_95"] or ()) or NOT_MEASURED
            rows.append(TableRow([names.get(name, name), digits(row["baseline"]), digits(row["candidate"]),
                                  digits(row["difference"], "+"), self.change_of(name), ends], row["reason"] or ""))
        yield Table("cost", "Mean of a case", ["Measure", "#baseline", "#candidate", "#difference", "#change",
                                               "~95% interval"], rows)
        if not rows:
            yield "Neither cost, latency nor tokens were recorded."

    def cases(self) -> Blocks:
        """Return what changed: trials by outcome, the changed cases, the moves that chance would bring."""
        pairs, moved = self.all["trial_pairs"], self.all["changed_by_chance"]
        yield "Cases: {worse} worse, {better} better, {same} the same.".format(**self.overall) if self.changed else (
            "No case changed.")
        if pairs["both_pass"] is not None:
            yield ("Of {} of trials {both_pass} pass on both sides, {only_baseline} only in the baseline, "
                   "{only_candidate} only in the candidate, {neither} in neither.").format(
                       count_of(sum(pairs.values()), "pair"), **pairs)
        not_all = joined(*dict.fromkeys([self.all["trial_pairs_reason"], moved["reason"]]))
        if not_all:
            yield f"Not all of this is measured: {not_all}."
        yield Table("cases", "Changed cases, worst first",
                    ["Case", "~baseline", "~candidate", "#difference", "~by chance"],
                    [TableRow([case["case_id"], *self.scores(case),
                               "-" if case["by_chance"] is None else digits(case["by_chance"])],
                              change=case["difference"]) for case in self.changed])
        yield Table("chance", "Cases that moved by so many trials", ["Trials", "#observed", "#expected by chance"], [
            TableRow([f"at least {row['at_least']}", f"{row['observed']}", digits(row["expected"])])
            for row in moved["trials_moved"]])
        if any(case["by_chance"] is not None for case in self.changed):
            yield ("By chance: how often the passes of a case, dealt at random to the two runs, would differ by at "
                   "least as much. Where one seed gives the same reply on both sides, chance moves fewer cases.")

    def slices(self) -> Blocks:
        """Return the slices, worst first; those without an interval behind one line, where there are several."""
        rows = sorted((self.slice(tag, value, part) for tag, values in self.all["slices"].items()
                       for value, part in values.items()), key=attrgetter("change"))
        few = [row for row in rows if not row.ends]
        if len(few) < FOLDED_FROM:
            few = []
        yield Table("slices", "Slices, worst first",
                    ["Slice", "~cases", "~sources", "~baseline", "~candidate", "#difference",
                     "#95% interval", "#adjusted p"],
                    [row for row in rows if row.ends or not few], few,
                    f"{count_of(len(few), 'slice')} without an interval, which takes 6 {self.unit}s")
        method = f" ({self.all['adjusted_method']})" if self.all["adjusted_method"] else ""
        yield (f"{count_of(self.all['slices_compared'] or len(rows), 'slice')} compared. Adjusted p: how often any of "
               f"them would stand out as much if nothing had changed{method}. The interval is by {self.unit}."
               if rows else "No tag makes slices of these cases.")
        if any(row.cells[1].endswith("*") for row in rows):
            yield "*: so few cases that a single one can turn the result."

    def slice(self, tag: str, value: str, part: dict[str, Any]) -> TableRow:
        ends, least, notes = part["source_sign_flip"]["interval_95"], part["smallest_adjusted_p_value"], []
        sources = part["source_groups"] if self.unit == "source" else None
        these = part["these_cases"]["adjusted_p_value"]
        if part["source_sign_flip"]["reason"]:
            notes.append(f"too few {self.unit}s for an interval")
        if part["same_cases_as"]:
            notes.append(f"same cases as {listed(part['same_cases_as'])}")
        if ends and (least or 0) > 0.05:
            notes.append(f"its {count_of(part['source_groups'], self.unit)} cannot give an adjusted p below "
                         f"{digits(least)}")
        if these is not None and (these < 0.05 or (least or 1) > 0.05):
            notes.append(f"on these very cases p is {digits(these)}, adjusted for the number of slices")
        cases = f"{part['cases']}{'*' if part['few_cases'] else ''}"
        return TableRow([f"{tag}: {value}", cases, f"{sources or '-'}", *self.scores(part),
                         self.span(ends), digits(part["adjusted_p_value"])],
                        "; ".join(notes), ends, part["difference"], change=part["difference"], key=(tag, value))

    def consistency(self) -> Blocks:
        steadiness = self.all["consistency"]
        before, after = (steadiness[side] for side in SIDES)
        if before["always"] is None:
            yield f"Consistency is {NOT_MEASURED}: {steadiness['reason'] or VERSION_1}."
            return
        rows = [TableRow([f"cases that {key} pass", f"{before[key]}", f"{after[key]}"])
                for key in ("always", "sometimes", "never")]
        for k, shares in enumerate(zip(before["pass_hat_k"], after["pass_hat_k"], strict=True), start=1):
            rows.append(TableRow([f"pass^{k}", *(f"{share:.4f}" for share in shares)]))
        yield Table("consistency", "How steadily cases pass", ["Cases", "#baseline", "#candidate"], rows)
        yield (f"pass^k: how often k trials of a case all pass; a trial passes with the top score, {self.high:g}. "
               f"Newly unsteady: {listed(steadiness['newly_unsteady']) or 'none'}. "
               f"Newly steady: {listed(steadiness['newly_steady']) or 'none'}.")

    def plans(self) -> Blocks:
        """Return what would make the interval narrower, and what the asked half-width takes."""
        half, plan, detectable = self.all["half_width"], self.all["plan"], self.all["detectable_difference"]
        names = {"now": "as recorded", "twice_cases": "twice the cases, no more sources",
                 "twice_trials": "twice the trials", "endless_trials": "unlimited trials",
                 "twice_groups": f"twice the {self.unit}s, each like these"}
        if self.unit == "case":
            del names["twice_cases"]
        yield Table("plans", "What would make the interval narrower", ["With", "#half-width"], [
            TableRow([name, self.plain(half[key])]) for key, name in names.items() if half[key] is not None])
        if plan["half_width"] is not None:
            wanted = [count_of(plan[key], noun) for key, noun in (
                ("source_groups", "source"), ("cases", "case"), ("trials", "trial")) if plan[key] is not None]
            takes = f"A half-width of {self.plain(plan['half_width'])} takes {' or '.join(wanted) or NOT_MEASURED}"
            yield f"{joined(takes, plan['reason'])}."
        if detectable is not None:
            yield f"The smallest difference that these would detect in 4 of 5 repetitions is {self.plain(detectable)}."
        if half["reason"] or half["now"] is None:
            yield f"Not all is measured: {half['reason'] or VERSION_1}."

    def contrast(self) -> Blocks:
        """Return all intervals that do not decide, and what they say."""
        overall, noise, decision = self.overall, self.all["noise_floor"], self.decision
        cases, sources = count_of(overall["cases"], "case"), count_of(overall["source_groups"], "source")
        by_source = [overall["source_cluster_interval_95"], sources, overall["source_cluster_method"]]
        by_trial = joined("as if every trial were independent", overall["trial_level_reason"])
        rows = [TableRow([name, self.span(ends)], joined(*notes), ends, self.difference) for name, ends, *notes in (
            ("By source, bootstrap", *(by_source if self.unit == "source" else [None])),
            ("By case, bootstrap", overall["exact_interval_95"], cases, overall["exact_method"]),
            ("By case, seeded", overall["interval_95"], cases, overall["interval_method"]),
            ("By trial", overall["trial_level_interval_95"], by_trial, overall["trial_level_method"]),
            (f"With one more {self.unit}", decision["interval_with_one_more"]),
            ("For equivalence", decision["equivalence_interval"]),
            (f"The same, one more {self.unit}", decision["equivalence_interval_with_one_more"]),
            ("With what is missing filled", decision["interval_with_missing_filled"])) if ends or notes]
        said = ("the largest difference between two halves of the baseline's own trials, "
                f"{self.plain(noise['mean_difference'])} on average; share of the {count_of(noise['splits'], 'split')} "
                f"that would be decided wrongly: {digits(noise['gate_tripped_share'])}")
        largest = noise["largest_difference"]
        floor = None if largest is None else [-largest, largest]
        rows.append(TableRow(["Noise floor", self.span(floor)], joined(floor and said, noise["reason"]), floor))
        yield Table("contrast", "Other intervals of the difference", ["Interval", "#from, to"], rows)

    def recipe(self) -> Blocks:
        """Return all that is needed to reproduce the comparison."""
        shared = {name: self.all[name] for name in (
            "comparison_version", "tool_version", "case_set", "task", "trials", "resamples", "seed", "score_range",
            "missing", "options", "variance")}
        yield from side_by_side(shared, shared)
        yield from side_by_side(*(self.all[side] | {"log": self.all["logs"][side]} for side in SIDES))
        for row in self.all["excluded"]:
            yield f"left out: {row['case_id']}, in the {row['side']}: {row['reason']}"
        for row in self.all["uneven_trials"]:
            yield SideBySide(f"trials of {row['case_id']}", f"{row['baseline']}", f"{row['candidate']}")

    def story(self) -> Story:
        """Return the whole comparison, in the order in which a person who decides asks."""
        said: list[Block] = [f"{number}. {sentence(row['message'])} {sentence(row['advice'])}"
                             for number, row in enumerate(self.all["warnings"], start=1)]
        sections: list[Section] = [
            ("warnings", f"Warnings ({len(said)})", said),
            ("change", "What was changed", list(self.change())),
            ("questions", "Is it larger than the noise?", list(self.questions())),
            ("cost", "Cost, latency and tokens", list(self.cost())),
            ("cases", "Where did it come from?", list(self.cases())),
            ("slices", "Which slices changed?", list(self.slices())),
            ("consistency", "How consistent is it?", list(self.consistency())),
            ("next", "What to record next", list(self.plans())),
            ("contrast", "Other intervals, for contrast", list(self.contrast())),
            ("measured", "How it was measured", list(self.recipe()))]
        return Story(
            title=f"{self.side('baseline')} against {self.side('candidate')}", subject=self.subject(),
            verdict=self.verdict, gate=self.gate(), lead=list(self.lead()), edges=self.edges,
            sections=[section for section in sections if section[2]])


# === Several candidates of one baseline ===


def sheet(comparisons: Sequence[dict[str, Any]], names: Sequence[str], pages: Sequence[str] = ()) -> Story:
    """Return several candidates of one baseline as one story, a row each, best first.

    Raises RunError, by name, where baseline or case set is another. A note says where a comparison was not declared as
    one of at least so many, and which level that would have taken.
    """
    every = [Words(comparison) for comparison in comparisons]
    first, measures = every[0], dict.fromkeys(name for words in every for name in words.all["measures"])
    same = [{key: words.all[key] for key in ("case_set", "task", "baseline", "missing", "score_range")}
            | {"recording": words.all["logs"]["baseline"]} for words in every]
    for name, theirs in zip(names, same, strict=True):
        for key, value in theirs.items():
            if value != same[0][key]:
                raise RunError(f"{name} and {names[0]} differ in {key}; give comparisons of one baseline, made alike")
    rows = []
    for words, page in zip(every, pages or [""] * len(every), strict=True):
        among = words.decision["among"] or 1
        alpha = (words.decision["alpha"] or 0.025) * among / len(every)
        lone = among < len(every) and (f"compared without --among {len(every)}, which takes a wider interval, at "
                                       f"{percent(1 - 2 * alpha)}")
        cells = [words.side("candidate"), words.verdict, words.signed(words.difference), words.span(words.interval),
                 *map(words.change_of, measures),
                 digits(words.all["consistency"]["candidate"]["sometimes"])]
        cases = words.overall["cases"]
        others = cases != first.overall["cases"] and f"over {count_of(cases, 'case')}"
        rows.append(TableRow(cells, joined(words.gate(), others, lone), words.interval, words.difference, decides=True,
                             change=words.difference, link=page))
    levels = " or ".join(dict.fromkeys(words.level for words in every))
    heads = ["Candidate", "verdict", "#difference", "#interval",
             *(f"#{name.partition('_')[0]}" for name in measures), "~unsteady"]
    return Story(
        title=f"{first.side('baseline')} against {len(every)} candidates", subject=first.subject(),
        verdict=f"{len(every)} candidates", gate="",
        lead=[f"The baseline scores {first.plain(first.overall['baseline'])}."],
        edges=first.edges if all(words.edges == first.edges for words in every) else (),
        sections=[("sheet", "Which candidate?", [
            Table("sheet", "Candidates, best first, candidate minus baseline", heads,
                  sorted(rows, key=attrgetter("change"), reverse=True)),
            f"The intervals are by {first.unit}, at {levels}; "
            "cost, latency and tokens are the change from the baseline. Unsteady: cases that sometimes pass."])])
