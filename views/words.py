"""What does a comparison say? Its story in words, figures and tables, each written once for every view.

    $ python3 -m doctest views/words.py && echo "every example below came out"
    every example below came out

Every figure is the comparison's own, and what is null there is "not measured"; only by how many hundredths a measure
changed is computed here, and which level several candidates would have taken. `whole` reads a comparison of any version
by KEYS, `Words.story` describes one comparison, `sheet` several of one baseline. A view shows a Story: sections of
sentences and tables. Reads, writes and prints nothing.
"""

import difflib
import json
import math
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from core.decide import MIN_GROUPS, Limits
from core.files import RunError, clean, only_value
from core.intervals import LEVEL
from core.trials import SIDES, ComparedCase, Pair, kept_text, listed, shown_places

NOT_MEASURED = "not measured"
VERSION_1 = "the comparison is of version 1"
DRAWN_DOTS = 300  # sources; dots of more cannot be told apart
SHOWN_SOURCES = 20  # the rest are folded away
FOLDED_FROM = 4  # slices without an interval that become one line
RECORDED = ("graders", "task_changed", "cases_changed", "started_at", "python", "platform")  # of a run record
FIRST_CHARACTERS = 40  # of a case's input, beside its name
ALPHA = float(Limits().alpha)  # one-sided, where neither look nor among is declared; of a two-sided p twice as much

Ends = Sequence[float] | None  # an interval's two ends, None where it is not measured

# === Names and numbers as text ===


def count_of(number: object, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "case"), count_of(2, "case"), count_of(None, "case")
    ('1 case', '2 cases', '? cases')
    """
    return f"{'?' if number is None else number} {noun}{'' if number == 1 else 's'}"


def sentence(text: str | None) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a JSON value holds, nulls and empty lists left out; a list of objects is numbered.

    >>> list(flat({"a": {"b_c": 1, "d": None}, "e": [{"f": "x"}], "g": [2, 3], "h": []}))
    [('a b c', '1'), ('e 1 f', 'x'), ('g', '[2, 3]')]
    """
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = dict(enumerate(value, start=1))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path} {key}")
    elif value is not None and value != []:
        yield path.replace("_", " ").strip(), clean(value, keep="\n\t")


def percent(share: float) -> str:
    """Return a share in hundredths to 4 digits, to 8 where it is almost all.

    >>> percent(0.95), percent(0.999995)
    ('95%', '99.9995%')
    """
    figures = 4 if share <= 0.999 else 8
    return f"{100 * share:.{figures}g}%"


def digits(value: float | None, sign: str = "") -> str:
    """Return a measure or p-value to four significant digits, without an exponent where it has few places.

    >>> digits(1234.56), digits(0.000123456), digits(0.5, "+"), digits(0, "+"), digits(None)
    ('1,235', '0.0001235', '+0.5', '0', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    form = ",.0f" if abs(value) >= 1000 else ".4g"
    return f"{value:{sign if value else ''}{form}}"


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
    types = TYPES[kind] if isinstance(kind, str) else (type(kind),)
    if value is not None and type(value) not in types:
        raise RunError(f"{where} is {value!r:.60}, which cannot be there; make the comparison again with compare.py")
    if isinstance(kind, str):
        return value
    if isinstance(kind, list):
        return [whole(inner, kind[0], f"{where}[{i}]") for i, inner in enumerate(value or ())]
    value = value or {}
    names = dict.fromkeys(value, kind["*"]) if "*" in kind else kind
    return {key: whole(value.get(key), inner, f"{where}.{key}") for key, inner in names.items()}


def places_of(comparison: dict[str, Any]) -> int:
    """Return how many decimal places a comparison's scores are shown with."""
    low, high = comparison["score_range"] or (0, 1)
    return shown_places(Fraction(str(low)), Fraction(str(high)))  # 0.01 is no binary float


def _tells_little(part: dict[str, Any]) -> bool:
    """Tell whether a slice has too few sources for an interval, and no small p-value on these very cases either."""
    on_these = part["these_cases"]["adjusted_p_value"]
    return bool(part["source_sign_flip"]["reason"]) and (on_these is None or on_these >= 2 * ALPHA)


def case_note(case: ComparedCase) -> str:
    """Return where a case comes from, and the first words of its input, on one line.

    >>> case_note(ComparedCase("c1", "refund", (), {"text": "Where is\\nmy money?"}))
    'from refund: "Where is my money?"'
    """
    words = " ".join((kept_text(only_value(case.input)) or "").split())
    if len(words) > FIRST_CHARACTERS:
        words = f"{words[:FIRST_CHARACTERS]}..."
    return joined("" if case.source is None else f"from {case.source}", words and f'"{words}"', by=": ")


# === The lines that compare.py prints: scripts may read them ===


def format_line(comparison: dict[str, Any]) -> str:
    """Return a comparison in one line: the difference, its interval by case, the cases by direction."""
    overall, places = comparison["overall"], places_of(comparison)
    change, low, high = (f"{value:+.{places}f}" for value in (overall["difference"], *overall["interval_95"]))
    return (f"difference {change} (95% interval {low} to {high}) over {count_of(overall['cases'], 'case')}; "
            f"better {overall['better']}, worse {overall['worse']}, same {overall['same']}")


def verdict_lines(comparison: dict[str, Any]) -> list[str]:
    """Return the verdict in a line, and where there is a gate whether it is met, and why not, in another."""
    decision, places = comparison["decision"], places_of(comparison)
    ends = decision["interval"]
    span = " to ".join(f"{end:+.{places}f}" for end in ends) if ends else "no interval"
    declared = joined(*(f"{name} {decision[name]}" for name in ("look", "among") if decision[name]), by=", ")
    rests_on = joined(count_of(decision["groups"], decision["unit"]), declared)
    verdict = f"verdict: {decision['verdict']}; by {decision['unit']} {span} ({rests_on})"
    if decision["gate_met"] is None:
        tells_more = decision["margin"] or not ends
        return [joined(verdict, tells_more and decision["reason"])]
    gate = joined(decision["gate"], comparison["must_pass"] and "must pass", by=" and ")
    unsure = "" if decision["gate_contradicted"] else ", the data cannot tell"
    outcome = "met" if decision["gate_met"] else f"not met{unsure}: {decision['gate_reason']}"
    return [verdict, f"gate: {gate}, {outcome}"]


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
    room = 0.08 * (high - low)
    low, high = low - room, high + room
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if (high - low) / step <= 4)
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
    key: Any = None  # a case's id; a source or (tag, value), whose cases a page opens below it
    link: str = ""  # an address


class Table(NamedTuple):
    """`columns` are the heads: # before one of numbers, ~ before one of numbers that a narrow screen leaves out."""

    key: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[TableRow]
    more: Sequence[TableRow] = ()  # which a view folds away behind their caption
    more_caption: str = ""

    def folded(self) -> str:
        """Return the rows that are folded away as a line: their caption and their first names."""
        return f"{self.more_caption}: {listed(row.cells[0] for row in self.more)}."


class SideBySide(NamedTuple):
    """What the two sides say of one thing."""

    name: str
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
    blanks = [""] * (len(rows[0].cells) - 1)
    return [*rows[:half], TableRow([f"({len(rows) - 2 * half} rows left out)", *blanks]), *rows[-half:]]


def side_by_side(baseline: Any, candidate: Any) -> list[SideBySide]:
    """Return all that two JSON values hold, "none" where one lacks it."""
    before, after = dict(flat(baseline)), dict(flat(candidate))
    return [SideBySide(name, before.get(name, "none"), after.get(name, "none")) for name in before | after]


def lines_of(block: str | SideBySide, limit: int) -> list[str]:
    """Return a sentence or what the two sides say as lines; of long texts that differ only the lines that do.

    Of more than limit such lines the first come, then how many are left out.

    >>> lines_of(SideBySide("model", "a", "b"), 9), lines_of(SideBySide("prompt", "A\\nSort.\\nB", "Sort.\\nA\\nB"), 1)
    (['model: a -> b'], ['prompt:', '+ Sort.', '(1 line left out)'])
    """
    if isinstance(block, str):
        return [block]
    name, baseline, candidate = block
    if baseline == candidate:
        return [f"{name}: {baseline}"]
    before, after = baseline.split("\n"), candidate.split("\n")
    if len(before) == len(after) == 1:
        return [f"{name}: {baseline} -> {candidate}"]
    differing = [*difflib.unified_diff(before, after, n=0, lineterm="")][2:]  # after the names of two files
    lines = [f"{line[0]} {line[1:]}" for line in differing if not line.startswith("@")]
    left_out = [f"({count_of(len(lines) - limit, 'line')} left out)"] if len(lines) > limit else []
    return [f"{name}:", *lines[:limit], *left_out]


class Story(NamedTuple):
    """What a view shows; of a single comparison with its Words, for the page's cases."""

    title: str
    subject: str
    verdict: str
    gate: str  # of the first line: gate and must-pass, and why; empty without
    lead: list[str]
    sections: list[Section]
    edges: Sequence[float] = ()  # margin and gain, which drawings mark: [-margin, margin, gain], zeros left out
    words: "Words | None" = None

    def scale(self, table: Table) -> Scale | None:
        """Return the scale of a table's drawings, None where its rows draw nothing."""
        drawn = [value for row in (*table.rows, *table.more) for value in (*(row.ends or ()), *row.dots, row.point)
                 if value is not None]
        return scale_of([*self.edges, *drawn]) if drawn else None


class Words:
    """A comparison in words and formatted figures; what is missing or null in it is "not measured".

    With the pair that it was made from also the settings of its runs, and the first words of its cases' inputs. Names
    and texts of the comparison stay as they are: a view makes harmless whatever it shows.
    """

    def __init__(self, comparison: dict[str, Any], pair: Pair | None = None):
        self.pair, self.manifests = pair, pair.manifests if pair else ()
        self.recorded = {case.id: case for case in pair.cases} if pair else {}
        self.all: dict[str, Any] = whole(comparison, KEYS)
        self.overall, self.decision = overall, decision = self.all["overall"], self.all["decision"]
        for case in self.all["cases"]:
            if case["difference"] is None:  # in version 1
                case["difference"] = case["candidate"] - case["baseline"]
        # The largest loss first; ties stay in the case file's order.
        self.changed = sorted(self.all["cases"], key=itemgetter("difference"))
        self.low, self.high = map(float, self.all["score_range"] or (0, 1))
        self.places = places_of(self.all)
        self.by_case = decision["unit"] == "case"
        self.unit = "case" if self.by_case else "source"
        self.units = overall["cases"] if self.by_case else overall["source_groups"]
        self.margin, self.gain = decision["margin"] or 0, decision["min_gain"] or 0
        self.edges = [edge for edge in (-self.margin, self.margin, self.gain) if edge]  # which drawings mark
        self.verdict, self.difference = decision["verdict"] or "undecided", overall["difference"]
        self.level = percent(decision["level"] or LEVEL)
        # In version 1 the sign-flip interval decides.
        self.interval: Ends = decision["interval"] if decision["level"] else overall["source_sign_flip"]["interval_95"]

    # --- figures as text ---

    def plain(self, value: float | None, sign: str = "") -> str:
        """Return a score with as many decimal places as the score range asks for; zero has no sign."""
        if value is None:
            return NOT_MEASURED
        number = round(value, self.places)
        return f"{number:{sign}.{self.places}f}" if number else f"{0:.{self.places}f}"

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
        cases = f"{count_of(self.overall['cases'], 'case')} of {(self.all['case_set']['name'] or 'trial logs')[:120]}"
        sources = "" if self.by_case or self.units is None else count_of(self.units, "source")
        trials = f"{count_of(self.all['trials'], 'trial')} a case" if self.all["trials"] else "uneven numbers of trials"
        return joined(cases, sources, trials, by=", ")

    def shared(self) -> dict[str, Any]:
        """Return what comparisons that stand on one sheet have in common."""
        alike = {key: self.all[key] for key in ("case_set", "task", "baseline", "missing", "score_range")}
        return alike | {"recording": self.all["logs"]["baseline"]}

    # --- the verdict ---

    def lead(self) -> Iterator[str]:
        """Yield the sentences that say what the verdict rests on."""
        decision, unit = self.decision, self.unit
        yield "The baseline scores {}, the candidate {}: a difference of {}.".format(*self.scores(self.overall))
        lies = f"All of the {self.level} interval by {unit}, {self.span(self.interval)}, lies"
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        loss = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        both_sides = self.span(decision["equivalence_interval"] or decision["interval_90"])
        reason = decision["reason"] or VERSION_1
        claims = {
            "better": f"{lies} above {gain}.", "worse": f"{lies} below {loss}.", "not worse": f"{lies} above {loss}.",
            "equivalent": f"All of the {percent(decision['equivalence_level'] or 0.9)} interval by {unit}, "
                          f"{both_sides}, lies within {self.plain(self.margin)} of zero."}
        if (p_value := self.overall["these_cases"]["p_value"]) is not None:
            luck = self.all["shared_luck"]["reason"]
            yield (f"On these very cases: {self.overall['worse']} worse, {self.overall['better']} better; sampling "
                   f"alone would bring a difference as large with p = {digits(p_value)}{f' ({luck})' if luck else ''}.")
        if self.verdict in claims or reason != decision["gate_reason"]:  # else the gate says it
            yield claims.get(self.verdict, f"No claim can be made: {reason}.")
        if self.verdict == "undecided" and decision["groups_needed"] and self.more_would_decide():
            yield (f"About {count_of(decision['groups_needed'], unit)} would decide a difference of this size; "
                   f"{self.units} took part.")
        if decision["look"] or decision["among"]:
            declared = joined(decision["look"] and f"look {decision['look']}",
                              decision["among"] and f"candidates {decision['among']}", by=", ")
            yield (f"Declared: {declared}; so the interval is at level {self.level} and takes "
                   f"{decision['sources_for_level']} {unit}s or more.")

    def more_would_decide(self) -> bool:
        """Tell whether more units would make a claim, and the reason of the decision has not said how many."""
        low, high = self.interval or (-math.inf, math.inf)
        barred = low > self.gain or high < -self.margin  # by what is missing
        said = self.decision["sources_needed"] and low > -self.margin
        return not (barred or said)

    def gate(self) -> str:
        """Return whether gate and must-pass are met, and why not; empty without either."""
        decision = self.decision
        if decision["gate_met"] is None:
            return ""
        rules = [decision["gate"], *(f"{rule['tag']}={rule['value']} must pass" for rule in self.all["must_pass"])]
        outcome = "met" if decision["gate_met"] else "not met"
        unsure = "the data cannot tell" if not decision["gate_met"] and decision["gate_contradicted"] is False else ""
        return f"gate {joined(*rules, by=', ')}: {joined(outcome, unsure, decision['gate_reason'])}"

    # --- sentences and tables ---

    def settings(self) -> list[SideBySide]:
        """Return what the two run records say of their settings and servers; nothing where they are not at hand."""
        both = [{key: manifest.get(key) for key in ("settings", "server")} for manifest in self.manifests]
        return side_by_side(*both) if both else []

    def change(self) -> Blocks:
        """Return what differs between the two systems, and where it is known between their settings and servers."""
        facts = side_by_side(self.all["baseline"], self.all["candidate"]) + self.settings()
        differing: list[Block] = [fact for fact in facts if fact.baseline != fact.candidate]
        yield from differing or ["The two systems are described alike."]
        if self.all["task"]["name"] and not self.manifests:  # trial logs have none
            yield "Prompts and settings are in run records: a report made with those shows them here."

    def questions(self) -> Blocks:
        """Return the two questions with one interval each, the figure of every source, and the sources, worst first."""
        these, luck = self.overall["these_cases"], self.all["shared_luck"]["reason"]
        sources = sorted(self.all["sources"], key=itemgetter("difference"))
        rows = [self.on_these_cases(), self.on_new_ones()]
        dots = [row["difference"] for row in (self.changed if self.by_case else sources)]
        if 0 < len(dots) <= DRAWN_DOTS:
            name = "Changed cases, low to high" if self.by_case else "Sources, lowest to highest"
            rows.append(TableRow([name, self.span([dots[0], dots[-1]]), ""], dots=dots))
        yield Table("questions", "The difference, candidate minus baseline", ["Question", "#interval", "#p"], rows)
        yield ("p: how often a difference at least as large would come up if nothing had changed: on these cases "
               f"by sampling alone, on new ones with each {self.unit} as likely to gain as to lose. The first says "
               "nothing of other cases, the second nothing of these.")
        ends, p_value = these["interval_95"], these["p_value"]
        if ends and p_value is not None and (ends[0] <= 0 <= ends[1]) == (p_value < 2 * ALPHA):
            yield "On these cases interval and p disagree about zero; the p counts."
        if self.edges:
            yield (f"Dashed lines, where this is drawn: {', '.join(map(self.signed, self.edges))}; a margin lies on "
                   "both sides of zero, a gain worth shipping above it.")
        if luck and these["p_value"] is not None:
            yield f"Do trials of different cases move together? {sentence(luck)}"
        if sources:
            rows = [TableRow([row["source"] or "(no source)", f"{row['cases']}", *self.scores(row)],
                             point=row["difference"], change=row["difference"], key=row["source"])
                    for row in sources]
            yield Table("sources", "Sources, worst first: a source is what several cases were made from", [
                "Source", "~cases", "~baseline", "~candidate", "#difference"], rows[:SHOWN_SOURCES],
                rows[SHOWN_SOURCES:], f"{len(rows) - SHOWN_SOURCES} more sources")
        for side, incomplete in self.all["incomplete"].items():
            if incomplete["trials"]:
                reasons = listed(f"{name}: {n}" for name, n in incomplete["reasons"].items())
                yield f"Incomplete trials of the {side}: {incomplete['trials']} ({reasons})."

    def on_these_cases(self) -> TableRow:
        these, trials = self.overall["these_cases"], self.all["trials"]
        pairs = ""
        if these["pairs"]:
            total = self.overall["cases"] * trials if trials else sum(filter(None, self.all["trial_pairs"].values()))
            once = ", repeated answers counted once" if these["pairs"] < total else ""
            differ = "differs" if these["disagree"] == 1 else "differ"
            pairs = f"{count_of(these['pairs'], 'pair')} of trials{once}, of which {these['disagree']} {differ}"
        reasons = dict.fromkeys([these["reason"], these["interval_reason"]])
        return TableRow(["On these very cases", self.span(these["interval_95"]), digits(these["p_value"])],
                        joined(pairs, these["method"], *reasons), these["interval_95"], self.difference)

    def on_new_ones(self) -> TableRow:
        flip = self.overall["source_sign_flip"]
        method = joined(f"{self.level} interval", self.decision["interval_method"] or flip["method"])
        reason = method if self.interval else self.decision["reason"] or VERSION_1
        name = "On new cases like these" if self.by_case else "On new messages like these"
        return TableRow([name, self.span(self.interval), digits(flip["p_value"])],
                        f"This decides: {count_of(self.units, self.unit)}; {reason}", self.interval, self.difference,
                        decides=True)

    def cost(self) -> Blocks:
        labels = {"latency_s": "latency, seconds", "cost_usd": "cost, USD"}
        rows = []
        for name, row in self.all["measures"].items():
            ends = " to ".join(digits(end, "+") for end in row["interval_95"]) or NOT_MEASURED
            rows.append(TableRow([labels.get(name, name), digits(row["baseline"]), digits(row["candidate"]),
                                  digits(row["difference"], "+"), self.change_of(name), ends], row["reason"] or ""))
        yield Table("cost", "Mean of a case", ["Measure", "#baseline", "#candidate", "#difference", "#change",
                                               "~95% interval"], rows)
        if not rows:
            yield "No cost, latency or tokens were recorded."

    def cases(self) -> Blocks:
        """Return what changed: trials by outcome, the changed cases, the moves that chance would bring."""
        pairs, moved = self.all["trial_pairs"], self.all["changed_by_chance"]
        counts = "Cases: {worse} worse, {better} better, {same} the same." if self.changed else "No case changed."
        yield counts.format(**self.overall)
        if pairs["both_pass"] is not None:
            yield ("Of {} of trials {both_pass} pass on both sides, {only_baseline} only in the baseline, "
                   "{only_candidate} only in the candidate, {neither} in neither.").format(
                       count_of(sum(pairs.values()), "pair"), **pairs)
        reasons = {"trial pairs by outcome": self.all["trial_pairs_reason"], "moves by chance": moved["reason"]}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            names = " and ".join(name for name in reasons if reasons[name] == reason)
            yield sentence(f"{names} are not measured: {reason}")
        yield self.changed_cases()
        yield Table("chance", "Cases that moved by so many trials", ["Trials", "#observed", "#expected by chance"], [
            TableRow([f"at least {row['at_least']}", f"{row['observed']}", digits(row["expected"])])
            for row in moved["trials_moved"]])
        if any(case["by_chance"] is not None for case in self.changed):
            yield ("By chance: how often the passes of a case, dealt at random to the two runs, would differ by at "
                   "least as much. Where one seed gives the same reply on both sides, chance moves fewer cases.")

    def changed_cases(self) -> Table:
        rows = []
        for row in self.changed:
            case, by_chance = self.recorded.get(row["case_id"]), row["by_chance"]
            note = case_note(case) if case and case.input is not None else ""
            cells = [row["case_id"], *self.scores(row), "-" if by_chance is None else digits(by_chance)]
            rows.append(TableRow(cells, note, change=row["difference"], key=row["case_id"]))
        return Table("cases", "Changed cases, worst first",
                     ["Case", "~baseline", "~candidate", "#difference", "~by chance"], rows)

    def slices(self) -> Blocks:
        """Return the slices, worst first; those without an interval behind one line, where there are several."""
        rows = sorted((self.slice(tag, value, part) for tag, parts in self.all["slices"].items()
                       for value, part in parts.items()), key=attrgetter("change"))
        if not rows:
            yield "No tag makes slices of these cases."
            return
        parts = {row.key: self.all["slices"][row.key[0]][row.key[1]] for row in rows}
        more = [row for row in rows if _tells_little(parts[row.key])]
        if len(more) < FOLDED_FROM:
            more = []
        shown = [row for row in rows if row not in more]
        yield Table("slices", "Slices, worst first", [
            "Slice", "~cases", "~sources", "~baseline", "~candidate", "#difference", "#95% interval", "#adjusted p"],
            shown, more, f"{count_of(len(more), 'slice')} of fewer than {MIN_GROUPS} {self.unit}s, so without an "
            f"interval, and none with an adjusted p below {2 * ALPHA:g} on these very cases")
        method = f" ({self.all['adjusted_method']})" if self.all["adjusted_method"] else ""
        meaning = (f" Adjusted p: how often any of them would stand out as much if nothing had changed{method}. The "
                   f"interval is by {self.unit}.") if any(row.ends for row in shown) else ""
        yield f"{count_of(self.all['slices_compared'] or len(rows), 'slice')} compared.{meaning}"
        if any(parts[row.key]["few_cases"] for row in shown):
            yield "*: so few cases that a single one can turn the result."

    def slice(self, tag: str, value: str, part: dict[str, Any]) -> TableRow:
        flip, least, notes = part["source_sign_flip"], part["smallest_adjusted_p_value"], []
        on_these = part["these_cases"]["adjusted_p_value"]
        if flip["reason"]:
            notes.append(f"too few {self.unit}s for an interval")
        if part["same_cases_as"]:
            notes.append(f"same cases as {listed(part['same_cases_as'])}")
        if flip["interval_95"] and (least or 0) > 2 * ALPHA:
            notes.append(f"its {count_of(part['source_groups'], self.unit)} cannot give an adjusted p below "
                         f"{digits(least)}")
        if on_these is not None and (on_these < 2 * ALPHA or (least or 1) > 2 * ALPHA):
            notes.append(f"on these very cases p is {digits(on_these)}, adjusted for the number of slices")
        cases = f"{part['cases']}*" if part["few_cases"] else f"{part['cases']}"
        sources = "-" if self.by_case else f"{part['source_groups'] or '-'}"
        return TableRow([f"{tag}: {value}", cases, sources, *self.scores(part), self.span(flip["interval_95"]),
                         digits(part["adjusted_p_value"])],
                        "; ".join(notes), flip["interval_95"], part["difference"], change=part["difference"],
                        key=(tag, value))

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

    def unsteady(self) -> str:
        """Return how many cases of the candidate sometimes pass; with one trial a case nobody can know."""
        consistency = self.all["consistency"]
        return NOT_MEASURED if consistency["reason"] else digits(consistency["candidate"]["sometimes"])

    def plans(self) -> Blocks:
        """Return what would make the interval narrower, and what the asked half-width takes."""
        half, plan, detectable = self.all["half_width"], self.all["plan"], self.all["detectable_difference"]
        names = {"now": "as recorded", "twice_cases": "twice the cases, no more sources",
                 "twice_trials": "twice the trials", "endless_trials": "unlimited trials",
                 "twice_groups": f"twice the {self.unit}s, each like these"}
        yield Table("plans", "What would make the interval narrower", ["With", "#half-width"], [
            TableRow([name, self.plain(half[key])]) for key, name in names.items()
            if half[key] is not None and not (self.by_case and key == "twice_cases")])
        if plan["half_width"] is not None:
            wanted = [count_of(plan[key], noun) + more for key, noun, more in (
                ("source_groups", "source", ""), ("cases", "case", ""), ("trials", "trial", " a case"))
                if plan[key] is not None]
            takes = f"A half-width of {self.plain(plan['half_width'])} takes {' or '.join(wanted) or NOT_MEASURED}"
            yield f"{joined(takes, plan['reason'])}."
        if detectable is not None:
            yield f"The smallest difference that these would detect in 4 of 5 repetitions is {self.plain(detectable)}."
        if half["reason"] or half["now"] is None:
            yield f"Not all is measured: {half['reason'] or VERSION_1}."

    def contrast(self) -> Blocks:
        """Return all intervals that do not decide, and what they say."""
        overall, decision = self.overall, self.decision
        cases, sources = count_of(overall["cases"], "case"), count_of(overall["source_groups"], "source")
        by_source = overall["source_cluster_interval_95"], sources, overall["source_cluster_method"]
        intervals: tuple[tuple[Any, ...], ...] = (
            ("By source, bootstrap", *([None] if self.by_case else by_source)),
            ("By case, bootstrap", overall["exact_interval_95"], cases, overall["exact_method"]),
            ("By case, seeded", overall["interval_95"], cases, overall["interval_method"]),
            ("By trial", overall["trial_level_interval_95"], "as if every trial were independent",
             overall["trial_level_reason"], overall["trial_level_method"]),
            (f"With one more {self.unit}", decision["interval_with_one_more"]),
            ("For equivalence", decision["equivalence_interval"]),
            (f"The same, one more {self.unit}", decision["equivalence_interval_with_one_more"]),
            ("With what is missing filled", decision["interval_with_missing_filled"]))
        rows = [TableRow([name, self.span(ends)], joined(*notes), ends, self.difference)
                for name, ends, *notes in intervals if ends or notes]
        yield Table("contrast", "Other intervals of the difference", ["Interval", "#from, to"],
                    [*rows, self.noise_floor()])

    def noise_floor(self) -> TableRow:
        noise = self.all["noise_floor"]
        largest = noise["largest_difference"]
        ends: Ends = None if largest is None else [-largest, largest]
        error = {None: "better or worse would be claimed", "better": "the gate would be met"}.get(
            self.decision["gate"], "the gate would not be met")
        note = ("the largest difference between two halves of the baseline's own trials, "
                f"{self.plain(noise['mean_difference'])} on average; share of the {count_of(noise['splits'], 'split')} "
                f"in which {error}: {digits(noise['gate_tripped_share'])}")
        return TableRow(["Noise floor", self.span(ends)], joined(note if ends else "", noise["reason"]), ends)

    def recipe(self) -> Blocks:
        """Return all that is needed to reproduce the comparison."""
        shared = {name: self.all[name] for name in (
            "comparison_version", "tool_version", "case_set", "task", "trials", "resamples", "seed", "score_range",
            "missing", "options", "variance")}
        yield from side_by_side(shared, shared)
        yield from side_by_side(*(self.all[side] | {"log": self.all["logs"][side]} for side in SIDES))
        yield from (fact for fact in self.settings() if fact.baseline == fact.candidate)  # else they are in the change
        if self.manifests:
            yield from side_by_side(*({key: run.get(key) for key in RECORDED} for run in self.manifests))
        for row in self.all["excluded"]:
            yield f"left out: {row['case_id']}, in the {row['side']}: {row['reason']}"
        for row in self.all["uneven_trials"]:
            yield SideBySide(f"trials of {row['case_id']}", f"{row['baseline']}", f"{row['candidate']}")

    def story(self) -> Story:
        """Return the whole comparison, in the order in which a person who decides asks."""
        warnings = [f"{number}. {sentence(row['message'])} {sentence(row['advice'])}"
                    for number, row in enumerate(self.all["warnings"], start=1)]
        sections: list[tuple[str, str, Iterable[Block]]] = [
            ("change", "What was changed", self.change()),
            ("questions", "Is it larger than the noise?", self.questions()),
            ("cost", "Cost, latency and tokens", self.cost()),
            ("cases", "Where did it come from?", self.cases()),
            ("slices", "Which slices changed?", self.slices()),
            ("consistency", "How consistent is it?", self.consistency()),
            ("next", "What to record next", self.plans()),
            ("contrast", "Other intervals, for contrast", self.contrast()),
            ("measured", "How it was measured", self.recipe())]
        if warnings:
            sections.insert(0, ("warnings", f"Warnings ({len(warnings)})", warnings))
        return Story(
            title=f"{self.side('baseline')} against {self.side('candidate')}", subject=self.subject(),
            verdict=self.verdict, gate=self.gate(), lead=list(self.lead()), edges=self.edges,
            sections=[(key, heading, list(blocks)) for key, heading, blocks in sections], words=self)


# === Several candidates of one baseline ===


def sheet(comparisons: Sequence[dict[str, Any]], names: Sequence[str], pages: Sequence[str] = ()) -> Story:
    """Return several candidates of one baseline as one story, a row each, best first.

    Raises RunError, by name, where baseline or case set is another. A note says where a comparison was not declared as
    one of at least so many, and which level that would have taken.
    """
    candidates = [Words(comparison) for comparison in comparisons]
    first = candidates[0]
    for name, words in zip(names, candidates, strict=True):
        for key, value in words.shared().items():
            if value != first.shared()[key]:
                raise RunError(f"{name} and {names[0]} differ in {key}; give comparisons of one baseline, made alike")
    measures = dict.fromkeys(name for words in candidates for name in words.all["measures"])
    rows = []
    for words, page in zip(candidates, pages or [""] * len(candidates), strict=True):
        warned = len(words.all["warnings"])
        notes = [words.gate(), warned and f"{count_of(warned, 'warning')} in its report"]
        if words.overall["cases"] != first.overall["cases"]:
            notes.append(f"over {count_of(words.overall['cases'], 'case')}")
        among = words.decision["among"] or 1
        if among < len(candidates):
            alpha = (words.decision["alpha"] or ALPHA) * among / len(candidates)
            notes.append(f"compared without --among {len(candidates)}, which takes a wider interval, at "
                         f"{percent(1 - 2 * alpha)}")
        cells = [words.side("candidate"), words.verdict, words.signed(words.difference), words.span(words.interval),
                 *map(words.change_of, measures), words.unsteady()]
        rows.append(TableRow(cells, joined(*notes), words.interval, words.difference, decides=True,
                             change=words.difference, link=page))
    rows.sort(key=attrgetter("change"), reverse=True)
    levels = " or ".join(dict.fromkeys(words.level for words in candidates))
    heads = ["Candidate", "verdict", "#difference", "#interval",
             *(f"#{name.partition('_')[0]}" for name in measures), "~unsteady"]
    return Story(
        title=f"{first.side('baseline')} against {len(rows)} candidates", subject=first.subject(),
        verdict=f"{len(rows)} candidates", gate="",
        lead=[f"The baseline scores {first.plain(first.overall['baseline'])}."],
        edges=first.edges if all(words.edges == first.edges for words in candidates) else (),
        sections=[("sheet", "Which candidate?", [
            Table("sheet", "Candidates, best first, candidate minus baseline", heads, rows),
            f"The intervals are by {first.unit}, at {levels}; "
            "cost, latency and tokens are the change from the baseline. Unsteady: cases that sometimes pass."])])
