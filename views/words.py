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

Ends = Sequence[float]  # an interval's two ends; empty where it is not measured

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
    """Return a share in hundredths, to 4 digits, to 12 where it is almost all.

    >>> percent(0.95), percent(0.9999995065)
    ('95%', '99.99995065%')
    """
    return f"{100 * share:.{4 if share <= 0.999 else 12}g}%"


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
    rests_on = joined(count_of(decision["groups"], decision["unit"]), declared(decision, "look", "among"))
    verdict = joined(f"verdict: {decision['verdict']}; by {decision['unit']} {span} ({rests_on})",
                     declared(decision, "min_gain", "margin"))
    if decision["gate_met"] is not None:
        return [verdict, gate_line(comparison)]
    if ends and not decision["margin"] and ends[0] <= decision["min_gain"] and ends[1] >= 0:
        return [verdict]  # which says why it is undecided
    return [joined(verdict, decision["reason"])]


def gate_line(comparison: dict[str, Any]) -> str:
    """Return whether gate and must-pass are met, and why not; empty without either."""
    decision = comparison["decision"]
    if decision["gate_met"] is None:
        return ""
    gate = joined(decision["gate"], comparison["must_pass"] and "must pass", by=" and ")
    unsure = "" if decision["gate_contradicted"] else ", the data cannot tell"
    outcome = "met" if decision["gate_met"] else f"not met{unsure}: {decision['gate_reason']}"
    return f"gate: {gate}, {outcome}"


def declared(decision: dict[str, Any], *names: str) -> str:
    """Return those of these that were declared: min_gain, margin, look, among; empty where none was."""
    return joined(*(f"{name.replace('_', ' ')} {decision[name]}" for name in names if decision[name]), by=", ")


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
    """A row of texts, each below the head of its column, and what it draws on its table's scale."""

    cells: dict[str, str]  # heads: # before one of numbers, ~ before one of numbers that a narrow screen leaves out
    note: str = ""  # small print to the first cell
    change: float | None = None  # a difference of means, drawn as a point; above 0 better, below 0 worse
    ends: Ends = ()  # of an interval
    decides: bool = False  # of an interval
    dots: Sequence[float] = ()
    key: Any = None  # a case's id; a source or (tag, value), whose cases a page opens below it
    link: str = ""  # an address

    @property
    def name(self) -> str:
        """The first cell."""
        return next(iter(self.cells.values()))

    @property
    def direction(self) -> str:
        """Which way it changed."""
        return "same" if not self.change else "better" if self.change > 0 else "worse"


class Table(NamedTuple):
    """Rows of the same columns."""

    key: str
    caption: str
    rows: Sequence[TableRow]
    more: Sequence[TableRow] = ()  # which a view folds away behind their caption
    more_caption: str = ""

    def folded(self) -> str:
        """Return the rows that are folded away as a line: their caption and their first names."""
        return f"{self.more_caption}: {listed(row.name for row in self.more)}."


class SideBySide(NamedTuple):
    """What the two sides say of one thing."""

    name: str
    baseline: str
    candidate: str


Block = str | SideBySide | Table  # a string is a sentence
Blocks = Iterator[Block]


def shortened(rows: Sequence[TableRow], limit: int) -> Sequence[TableRow]:
    """Return rows; of more than limit the first and the last, and between them how many are left out."""
    if len(rows) <= limit:
        return rows
    half = (limit - 1) // 2
    first, *others = rows[0].cells
    between = {first: f"({len(rows) - 2 * half} rows left out)"} | dict.fromkeys(others, "")
    return [*rows[:half], TableRow(between), *rows[-half:]]


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
    sections: list[tuple[str, str, list[Block]]]  # key, heading, blocks
    edges: Sequence[float] = ()  # margin and gain, which drawings mark: [-margin, margin, gain], zeros left out
    words: "Words | None" = None

    def scale(self, table: Table) -> Scale | None:
        """Return the scale of a table's drawings, None where its rows draw nothing."""
        drawn = [value for row in (*table.rows, *table.more) for value in (*row.ends, *row.dots, row.change)
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
        if not decision["level"]:  # in version 1, where the sign-flip interval decides
            decision |= {"level": LEVEL, "interval": overall["source_sign_flip"]["interval_95"],
                         "equivalence_interval": decision["interval_90"]}
            for part in (decision, self.all["consistency"], self.all["half_width"]):
                part["reason"] = part["reason"] or VERSION_1
            for case in self.all["cases"]:
                if case["difference"] is None:
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
        self.level, self.interval = percent(decision["level"]), decision["interval"]

    # --- figures as text ---

    def plain(self, value: float | None, sign: str = "") -> str:
        """Return a score with as many decimal places as the score range asks for; zero has no sign."""
        if value is None:
            return NOT_MEASURED
        number = round(value, self.places)
        return f"{number:{sign}.{self.places}f}" if number else f"{0:.{self.places}f}"

    def signed(self, value: float | None) -> str:
        return self.plain(value, "+")

    def scores(self, row: dict[str, Any]) -> dict[str, str]:
        """Return the cells of a row's two means and their difference."""
        return {"~baseline": self.plain(row["baseline"]), "~candidate": self.plain(row["candidate"]),
                "#difference": self.signed(row["difference"])}

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
        return joined(self.all[side].get("name"), self.all[side].get("version"), by=" ") or side

    def subject(self) -> str:
        """Return what was compared: cases, sources, trials."""
        cases = f"{count_of(self.overall['cases'], 'case')} of {self.all['case_set']['name'] or 'trial logs'}"
        sources = "" if self.by_case else count_of(self.units, "source")
        trials = f"{count_of(self.all['trials'], 'trial')} a case" if self.all["trials"] else "uneven numbers of trials"
        return joined(cases, sources, trials, by=", ")

    # --- the verdict ---

    def lead(self) -> Iterator[str]:
        """Yield the sentences that say what the verdict rests on."""
        decision, overall, unit = self.decision, self.overall, self.unit
        yield (f"The baseline scores {self.plain(overall['baseline'])}, the candidate "
               f"{self.plain(overall['candidate'])}: a difference of {self.signed(self.difference)}.")
        luck = self.all["shared_luck"]["reason"]
        if (p_value := overall["these_cases"]["p_value"]) is not None:
            yield (f"On these very cases: {overall['worse']} worse, {overall['better']} better; sampling alone would "
                   f"bring a difference as large with p = {digits(p_value)}{f' ({luck})' if luck else ''}.")
        lies = f"All of the {self.level} interval by {unit}, {self.span(self.interval)}, lies"
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        loss = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        claims = {
            "better": f"{lies} above {gain}.", "worse": f"{lies} below {loss}.", "not worse": f"{lies} above {loss}.",
            "equivalent": f"All of the {percent(decision['equivalence_level'] or 0.9)} interval by {unit}, "
                          f"{self.span(decision['equivalence_interval'])}, lies within {self.plain(self.margin)} of "
                          "zero."}
        if self.verdict in claims or decision["reason"] != decision["gate_reason"]:  # else the gate says it
            yield claims.get(self.verdict, f"No claim can be made: {decision['reason']}.")
        if self.verdict == "undecided" and decision["groups_needed"] and self.more_would_decide():
            claim = f', as "{decision["groups_needed_for"]}"' if decision["groups_needed_for"] else ""
            yield (f"About {count_of(decision['groups_needed'], unit)} would decide a difference of this size{claim}; "
                   f"{self.units} took part.")
        rules = [f"{rule['tag']}={rule['value']} must pass" for rule in self.all["must_pass"]]
        if chosen := joined(declared(decision, "min_gain", "margin", "look", "among"), *rules, by=", "):
            yield f"Declared: {chosen}; the interval takes {decision['sources_for_level']} {unit}s or more."

    def more_would_decide(self) -> bool:
        """Tell whether more units would make a claim, and the reason of the decision has not said how many."""
        low, high = self.interval or (-math.inf, math.inf)
        barred = low > self.gain or high < -self.margin  # by what is missing
        said = self.decision["sources_needed"] and low > -self.margin
        return not (barred or said or self.all["shared_luck"]["withheld"])  # then no interval holds

    # --- sentences and tables ---

    def facts(self, alike: bool) -> list[SideBySide]:
        """Return what both systems, their settings and servers are, where they are alike or where they differ.

        Settings and servers are those of run records, where these are at hand.
        """
        settings = [{key: run.get(key) for key in ("settings", "server")} for run in self.manifests] or [{}, {}]
        facts = side_by_side(*(self.all[side] | more for side, more in zip(SIDES, settings, strict=True)))
        return [fact for fact in facts if (fact.baseline == fact.candidate) == alike]

    def change(self) -> Blocks:
        """Return what differs between the two systems."""
        differing: list[Block] = [*self.facts(alike=False)]
        yield from differing or ["The two systems are described alike."]
        if self.all["task"]["name"] and not self.manifests:  # trial logs have none
            yield "Prompts and settings are in run records: a report made with those shows them here."

    def questions(self) -> Blocks:
        """Return the two questions with one interval each, the figure of every source, and the sources, worst first."""
        sources = sorted(self.all["sources"], key=itemgetter("difference"))
        rows = [self.on_these_cases(), self.on_new_ones()]
        dots = [row["difference"] for row in (self.changed if self.by_case else sources)]
        if 0 < len(dots) <= DRAWN_DOTS:
            name = "Changed cases, low to high" if self.by_case else "Sources, lowest to highest"
            rows.append(TableRow({"Question": name, "#interval": self.span([dots[0], dots[-1]]), "#p": ""}, dots=dots))
        yield Table("questions", "The difference, candidate minus baseline", rows)
        yield ("p: how often a difference at least as large would come up if nothing had changed: on these cases "
               f"by sampling alone, on new ones with each {self.unit} as likely to gain as to lose. The first says "
               "nothing of other cases, the second nothing of these. Where interval and p on these cases disagree, the "
               "p counts.")
        if self.edges:
            yield (f"Dashed lines, where this is drawn: {', '.join(map(self.signed, self.edges))}; a margin lies on "
                   "both sides of zero, a gain worth shipping above it.")
        rows = [TableRow({"Source": joined(row["source"] or "(no source)", row["case_id"], by=" "),
                          "~cases": f"{row['cases']}"} | self.scores(row),
                         change=row["difference"], key=row["source"]) for row in sources]
        if rows:
            yield Table("sources", "Sources, worst first: a source is what several cases were made from",
                        rows[:SHOWN_SOURCES], rows[SHOWN_SOURCES:], f"{len(rows) - SHOWN_SOURCES} more sources")
        for side, incomplete in self.all["incomplete"].items():
            if incomplete["trials"]:
                reasons = listed(f"{name}: {n}" for name, n in incomplete["reasons"].items())
                yield f"Incomplete trials of the {side}: {incomplete['trials']} ({reasons})."

    def on_these_cases(self) -> TableRow:
        these = self.overall["these_cases"]
        notes = [these["pairs"] and f"{count_of(these['pairs'], 'pair')} of trials counted, {these['disagree']} with a "
                 "difference", these["method"], these["reason"], these["interval_reason"]]
        return TableRow({"Question": "On these very cases", "#interval": self.span(these["interval_95"]),
                         "#p": digits(these["p_value"])},
                        joined(*dict.fromkeys(notes)), self.difference, these["interval_95"])

    def on_new_ones(self) -> TableRow:
        flip, decision = self.overall["source_sign_flip"], self.decision
        name = "On new cases like these" if self.by_case else "On new messages like these"
        how = f"{self.level} interval; {decision['interval_method'] or flip['method']}"
        note = joined(f"This decides: {count_of(self.units, self.unit)}",
                      how if self.interval else decision["reason"])
        return TableRow({"Question": name, "#interval": self.span(self.interval), "#p": digits(flip["p_value"])},
                        note, self.difference, self.interval, decides=True)

    def cost(self) -> Blocks:
        labels = {"latency_s": "latency, seconds", "cost_usd": "cost, USD"}
        yield Table("cost", "Mean of a case", [
            TableRow({"Measure": labels.get(name, name), "#baseline": digits(row["baseline"]),
                      "#candidate": digits(row["candidate"]), "#difference": digits(row["difference"], "+"),
                      "#change": self.change_of(name),
                      "~95% interval": " to ".join(digits(end, "+") for end in row["interval_95"]) or NOT_MEASURED},
                     row["reason"] or "") for name, row in self.all["measures"].items()])
        if not self.all["measures"]:
            yield "No cost, latency or tokens were recorded."

    def cases(self) -> Blocks:
        """Return what changed: trials by outcome, the changed cases, the moves that chance would bring."""
        pairs, moved = self.all["trial_pairs"], self.all["changed_by_chance"]
        counts = "Cases: {worse} worse, {better} better, {same} the same." if self.changed else "No case changed."
        yield counts.format(**self.overall)
        if pairs["both_pass"] is not None:
            outcomes = {"passes": ("both_pass", "only_baseline"), "does not": ("only_candidate", "neither")}
            yield Table("pairs", f"{count_of(sum(pairs.values()), 'pair')} of trials by outcome", [
                TableRow({"Baseline": name, "#candidate passes": f"{pairs[one]}", "#does not": f"{pairs[other]}"})
                for name, (one, other) in outcomes.items()])
        for name, reason in (("Trial pairs by outcome", self.all["trial_pairs_reason"]),
                             ("Moves by chance", moved["reason"])):
            if reason:
                yield f"{name} are {NOT_MEASURED}: {reason}."
        yield Table("cases", "Changed cases, worst first", [self.case(row) for row in self.changed])
        yield Table("chance", "Cases that moved by so many trials", [
            TableRow({"Trials": f"at least {row['at_least']}", "#observed": f"{row['observed']}",
                      "#expected by chance": digits(row["expected"])}) for row in moved["trials_moved"]])
        if any(row["by_chance"] is not None for row in self.changed):
            yield ("By chance: how often the passes of a case, dealt at random to the two runs, would differ by at "
                   "least as much. Where one seed gives the same reply on both sides, chance moves fewer cases.")

    def case(self, row: dict[str, Any]) -> TableRow:
        case, by_chance = self.recorded.get(row["case_id"]), row["by_chance"]
        cells = {"Case": row["case_id"]} | self.scores(row)
        cells["~by chance"] = "-" if by_chance is None else digits(by_chance)  # in a narrow column
        note = case_note(case) if case and case.input is not None else ""
        return TableRow(cells, note, row["difference"], key=row["case_id"])

    def slices(self) -> Blocks:
        """Return the slices, worst first; those without an interval behind one line, where there are several."""
        parts = [part | {"key": (tag, value)} for tag, values in self.all["slices"].items()
                 for value, part in values.items()]
        parts.sort(key=itemgetter("difference"))
        little = [part for part in parts if _tells_little(part)]
        if len(little) < FOLDED_FROM:
            little = []
        shown = [part for part in parts if part not in little]
        yield Table("slices", "Slices, worst first", [*map(self.slice, shown)], [*map(self.slice, little)],
                    f"{count_of(len(little), 'slice')} of fewer than {MIN_GROUPS} {self.unit}s, so without an "
                    f"interval, and none with an adjusted p below {2 * ALPHA:g} on these very cases")
        yield f"{count_of(self.all['slices_compared'] or len(parts), 'slice')} compared."
        if any(part["source_sign_flip"]["interval_95"] for part in shown):
            yield ("Adjusted p: how often any of them would stand out as much if nothing had changed "
                   f"({self.all['adjusted_method']}). The interval is by {self.unit}.")
        if any(part["few_cases"] for part in shown):
            yield "*: so few cases that a single one can turn the result."

    def slice(self, part: dict[str, Any]) -> TableRow:
        flip, least = part["source_sign_flip"], part["smallest_adjusted_p_value"]
        on_these, too_large = part["these_cases"]["adjusted_p_value"], (least or 1) > 2 * ALPHA
        notes = [flip["reason"] and f"too few {self.unit}s for an interval",
                 part["same_cases_as"] and f"same cases as {listed(part['same_cases_as'])}"]
        if flip["interval_95"] and least and too_large:
            notes.append(f"its {count_of(part['source_groups'], self.unit)} cannot give an adjusted p below "
                         f"{digits(least)}")
        if on_these is not None and (on_these < 2 * ALPHA or too_large):
            notes.append(f"on these very cases p is {digits(on_these)}, adjusted for the number of slices")
        cells = {"Slice": "{}: {}".format(*part["key"]), "~cases": f"{part['cases']}{'*' if part['few_cases'] else ''}"}
        if not self.by_case:
            cells["~sources"] = digits(part["source_groups"])
        cells |= self.scores(part) | {"#95% interval": self.span(flip["interval_95"]),
                                      "#adjusted p": digits(part["adjusted_p_value"])}
        return TableRow(cells, joined(*notes), part["difference"], flip["interval_95"], key=part["key"])

    def consistency(self) -> Blocks:
        steadiness = self.all["consistency"]
        before, after = (steadiness[side] for side in SIDES)
        if before["always"] is None:
            yield f"Consistency is {NOT_MEASURED}: {steadiness['reason']}."
            return
        rows = {f"cases that {key} pass": (f"{before[key]}", f"{after[key]}")
                for key in ("always", "sometimes", "never")}
        for k, (one, other) in enumerate(zip(before["pass_hat_k"], after["pass_hat_k"], strict=True), start=1):
            rows[f"pass^{k}"] = f"{one:.4f}", f"{other:.4f}"
        yield Table("consistency", "How steadily cases pass", [
            TableRow({"Cases": name, "#baseline": one, "#candidate": other}) for name, (one, other) in rows.items()])
        yield (f"pass^k: how often k trials of a case all pass; a trial passes with the top score, {self.high:g}. "
               f"Pass sometimes, and did not before: {listed(steadiness['newly_unsteady']) or 'none'}. "
               f"Passed sometimes, and now always or never: {listed(steadiness['newly_steady']) or 'none'}.")

    def unsteady(self) -> str:
        """Return how many cases of the candidate sometimes pass; with one trial a case nobody can know."""
        consistency = self.all["consistency"]
        return NOT_MEASURED if consistency["reason"] else digits(consistency["candidate"]["sometimes"])

    def plans(self) -> Blocks:
        """Return what would make the interval narrower, and what the asked half-width takes."""
        half, plan, detectable = self.all["half_width"], self.all["plan"], self.all["detectable_difference"]
        widths = {"as recorded": half["now"],
                  "twice the cases, no more sources": None if self.by_case else half["twice_cases"],
                  "twice the trials": half["twice_trials"], "unlimited trials": half["endless_trials"],
                  f"twice the {self.unit}s, each like these": half["twice_groups"]}
        yield Table("plans", "What would make the interval narrower (at 95%, about)", [
            TableRow({"With": name, "#half-width": self.plain(width)}) for name, width in widths.items()
            if width is not None])
        if plan["half_width"] is not None:
            takes = joined(plan["source_groups"] and count_of(plan["source_groups"], "source"),
                           plan["cases"] and count_of(plan["cases"], "case"),
                           plan["trials"] and f"{count_of(plan['trials'], 'trial')} a case", by=" or ")
            said = f"A half-width of {self.plain(plan['half_width'])} takes {takes or NOT_MEASURED}"
            yield f"{joined(said, plan['reason'])}."
        if detectable is not None:
            yield (f"The smallest difference that these would detect in 4 of 5 repetitions is {self.plain(detectable)}"
                   f"; the --sd of plan.py is {digits(self.all['variance']['standard_deviation'])}.")
        if half["reason"]:
            yield f"Not all is measured: {half['reason']}."

    def contrast(self) -> Blocks:
        """Return all intervals that do not decide, and what they say."""
        overall, decision, cases = self.overall, self.decision, count_of(self.overall["cases"], "case")
        intervals: dict[str, tuple[Any, ...]] = {  # without sources the first gives way to the second
            f"By {self.unit}, bootstrap": (overall["source_cluster_interval_95"], count_of(self.units, "source"),
                                           overall["source_cluster_method"]),
            "By case, bootstrap": (overall["exact_interval_95"], cases, overall["exact_method"]),
            "By case, seeded": (overall["interval_95"], cases, overall["interval_method"]),
            "By trial": (overall["trial_level_interval_95"], "as if every trial were independent",
                         overall["trial_level_reason"], overall["trial_level_method"]),
            f"With one more {self.unit}": (decision["interval_with_one_more"],),
            "For equivalence": (decision["equivalence_interval"],),
            f"The same, one more {self.unit}": (decision["equivalence_interval_with_one_more"],),
            "With what is missing filled": (decision["interval_with_missing_filled"],)}
        rows = [TableRow({"Interval": name, "#from, to": self.span(ends)}, joined(*notes), self.difference, ends)
                for name, (ends, *notes) in intervals.items() if ends or notes]
        yield Table("contrast", "Other intervals of the difference", [*rows, self.noise_floor()])

    def noise_floor(self) -> TableRow:
        noise = self.all["noise_floor"]
        largest = noise["largest_difference"]
        ends = [] if largest is None else [-largest, largest]
        note = ends and ("the largest difference between two halves of the baseline's own trials, "
                         f"{self.plain(noise['mean_difference'])} on average; share of the "
                         f"{count_of(noise['splits'], 'split')} in which a change is claimed or a gate of safety not "
                         f"met: {digits(noise['gate_tripped_share'])}")
        return TableRow({"Interval": "Noise floor", "#from, to": self.span(ends)}, joined(note, noise["reason"]),
                        ends=ends)

    def recipe(self) -> Blocks:
        """Return all that is needed to reproduce the comparison, aside what the change says."""
        shared = {name: self.all[name] for name in (
            "comparison_version", "tool_version", "case_set", "task", "trials", "resamples", "seed", "score_range",
            "missing", "options", "variance")}
        yield from side_by_side(shared, shared)
        yield from self.facts(alike=True)
        runs = [{key: run.get(key) for key in RECORDED} for run in self.manifests] or [{}, {}]
        yield from side_by_side(*({"log": self.all["logs"][side]} | run for side, run in zip(SIDES, runs, strict=True)))
        for row in self.all["excluded"]:
            yield f"left out: {row['case_id']}, in the {row['side']}: {row['reason']}"
        for row in self.all["uneven_trials"]:
            yield SideBySide(f"trials of {row['case_id']}", f"{row['baseline']}", f"{row['candidate']}")

    def story(self) -> Story:
        """Return the whole comparison, in the order in which a person who decides asks."""
        warnings = [f"{number}. {sentence(row['message'])} {sentence(row['advice'])}"
                    for number, row in enumerate(self.all["warnings"], start=1)]
        sections: list[tuple[str, str, Iterable[Block]]] = [
            ("warnings", f"Warnings ({len(warnings)})", warnings),
            ("change", "What was changed", self.change()),
            ("questions", "Is it larger than the noise?", self.questions()),
            ("cost", "Cost, latency and tokens", self.cost()),
            ("cases", "Where did it come from?", self.cases()),
            ("slices", "Which slices changed?", self.slices()),
            ("consistency", "How consistent is it?", self.consistency()),
            ("next", "What to record next", self.plans()),
            ("contrast", "Other intervals, for contrast", self.contrast()),
            ("measured", "How it was measured", self.recipe())]
        return Story(
            title=f"{self.side('baseline')} against {self.side('candidate')}", subject=self.subject(),
            verdict=self.verdict, gate=gate_line(self.all), lead=list(self.lead()), edges=self.edges,
            sections=[(key, heading, list(blocks)) for key, heading, blocks in sections if blocks], words=self)


# === Several candidates of one baseline ===


def sheet(comparisons: Sequence[dict[str, Any]], names: Sequence[str], pages: Sequence[str] = ()) -> Story:
    """Return several candidates of one baseline as one story, a row each, best first.

    Raises RunError, by name, where baseline or case set is another. A note says where a comparison was not declared as
    one of at least so many, and which level that would have taken.
    """
    candidates = [Words(comparison) for comparison in comparisons]
    first = candidates[0]
    shared = [{key: words.all[key] for key in ("task", "baseline", "missing", "score_range")}
              | {"recording": words.all["logs"]["baseline"], "cases": words.all["case_set"]["sha256"]}
              for words in candidates]
    for name, alike in zip(names, shared, strict=True):
        if differing := [key for key in alike if alike[key] != shared[0][key]]:
            raise RunError(f"{name} and {names[0]} differ in {', '.join(differing)}; give comparisons of one baseline, "
                           "made alike")
    measures = dict.fromkeys(name for words in candidates for name in words.all["measures"])
    rows = []
    for words, page in zip(candidates, pages or [""] * len(candidates), strict=True):
        warned, among, cases = len(words.all["warnings"]), words.decision["among"] or 1, words.overall["cases"]
        notes = [gate_line(words.all), declared(words.decision, "min_gain", "margin"),
                 warned and f"{count_of(warned, 'warning')} in its report",
                 cases != first.overall["cases"] and f"over {count_of(cases, 'case')}"]
        if among < len(candidates):
            alpha = (words.decision["alpha"] or ALPHA) * among / len(candidates)
            notes.append(f"compared without --among {len(candidates)}, which takes a wider interval, at "
                         f"{percent(1 - 2 * alpha)}")
        cells = {"Candidate": words.side("candidate"), "verdict": words.verdict,
                 "#difference": words.signed(words.difference), "#interval": words.span(words.interval),
                 **{f"#{name.partition('_')[0]}": words.change_of(name) for name in measures},
                 "~unsteady": words.unsteady()}
        rows.append(TableRow(cells, joined(*notes), words.difference, words.interval, decides=True, link=page))
    rows.sort(key=attrgetter("change"), reverse=True)
    levels = " or ".join(dict.fromkeys(words.level for words in candidates))
    return Story(
        title=f"{first.side('baseline')} against {len(rows)} candidates", subject=first.subject(),
        verdict=f"{len(rows)} candidates", gate="",
        lead=[f"The baseline scores {first.plain(first.overall['baseline'])}."],
        edges=first.edges if all(words.edges == first.edges for words in candidates) else (),
        sections=[("sheet", "Which candidate?", [
            Table("sheet", "Candidates, best first, candidate minus baseline", rows),
            f"The intervals are by {first.unit}, at {levels}; "
            "cost, latency and tokens are the change from the baseline. Unsteady: cases that sometimes pass."])])
