"""What does a comparison say, so that a person sees it? The same comparison as terminal text, Markdown and HTML.

    $ python3 report.py runs/comparison.json
    model-triage-qwen2.5-coder v1 against model-triage-qwen2.5-coder v2: 44 cases of
    inbox-triage-robustness, 9 source groups, 5 trials a case.
    ...

Reads a comparison that compare.py wrote and, for the trials themselves, with --runs and --cases its two run records
and their case set. Prints text, or writes --markdown and --html files. Exit status: 0 done, 1 refused or bad input (one
`error:` line, nothing written), 2 bad usage, 130 interrupted.

Strings in, strings out: text_report, markdown_report and html_report compute no statistics. Every figure is the
comparison's own; what is null there is "not measured" here, with its reason. The three stand in one file, the longest
of the project, because they share one set of words and figures (Words), one scale for drawings (Scale) and one rule
that makes names harmless (clean): what is said differently in two of them would be a mistake in one. A third of the
file draws the page, and its style sheet is the last thing in it.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import difflib
import json
import math
import re
import unicodedata
from html import escape
from itertools import groupby
from typing import Any, Iterator, NamedTuple, Sequence

import harness

NOT_MEASURED = "not measured"
MARKDOWN_LIMIT = 65_536  # characters of one GitHub comment
TEXT_ROWS = 40  # changed cases and slices on a terminal
PAGE_ROWS = 1_000  # changed cases, cases in file order, and slices on the page
FOLD_FROM = 300  # a panel of more cases folds its unchanged ones
OPENED_CHARACTERS = 8_000_000  # of opened cases on the page, so that it stays under 20 MB
SHOWN_CHARACTERS = 4_000  # of one input or output on the page
MARKED_WORDS = 400  # difflib is quadratic: longer outputs stand unmarked
MARKED_WORK = 30_000_000  # pairs of words over the whole page, about a second
SIDES = ("baseline", "candidate")
ON_NOISE = ("noise", "nothing", "bounds", "incomplete baseline", "incomplete candidate")  # of Words.facts

# === Names made harmless ===


def clean(value: object, keep: str = "") -> str:
    """Return a value as text in which whatever steers a screen or hides on it is spelled out as an escape.

    That is control characters, line ends, direction overrides, lone surrogates, unassigned characters. Those in `keep`
    stay, and so do the joiners that scripts and emoji need. A value that is no text becomes its JSON.

    >>> clean("a\\tb\\u202ec")
    'a\\\\tb\\\\u202ec'
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    keep += "\u200c\u200d"
    return "".join(char if char in keep or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
                   else char.encode("unicode_escape").decode() for char in text)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("abc"), columns("日本"), columns("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff"
               else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def beginning(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns.

    >>> beginning("日本語", 5)
    '日本'
    """
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
    """Return a number with its noun.

    >>> many(1, "case"), many(2, "case")
    ('1 case', '2 cases')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ends_of(rows: Sequence[Any], limit: int) -> tuple[Sequence[Any], int, Sequence[Any]]:
    """Return the first and the last of rows that are more than limit, and how many between them are left out.

    >>> ends_of([1, 2, 3, 4, 5], 2)
    ([1], 3, [5])
    """
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
        """Return the ticks, each with its label, as short as the step allows.

        >>> Scale(-0.016, 0.076, 0.02).ticks()
        [(0.0, '0'), (0.02, '+0.02'), (0.04, '+0.04'), (0.06, '+0.06')]
        """
        places = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return [(k * self.step, f"{k * self.step:+.{places}f}" if k else "0")
                for k in range(math.ceil(self.low / self.step), math.floor(self.high / self.step) + 1)]


def scale_of(values: Sequence[float | None]) -> Scale:
    """Return a scale of at most 6 ticks that holds zero and all values that are not None, with some air at both ends.

    >>> scale_of([0, 10])
    Scale(low=-0.8, high=10.8, step=2.0)
    """
    numbers = [0.0, *(float(value) for value in values if value is not None)]
    low, high = (min(numbers), max(numbers)) if any(numbers) else (-0.1, 0.1)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    power = 10.0 ** math.floor(math.log10((high - low) / 6))
    return Scale(low, high, next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= 6))


# === The words and figures that all three share ===


class Interval(NamedTuple):
    """A row of the first drawing. `ends` is None where it is not measured; then the note says why."""

    label: str
    basis: str
    note: str
    ends: Sequence[float] | None
    kind: str = "contrast"  # or "decides", "exact" (the histogram stands above it), "noise"


class Slice(NamedTuple):
    """A slice; `cells` are its cases, groups, before, after, difference and adjusted p, `marks` what to mind in it."""

    tag: str
    value: str
    difference: float
    cells: list[str]
    by_source: Sequence[float] | None
    by_case: Sequence[float] | None
    marks: dict[str, str]  # keys of MARKS, each with its words


MARKS = {"*": "few cases", "-": "too few groups for a 95% interval", "=": "same cases as another slice",
         "?": "incomplete trials"}


class Words:
    """A comparison in words and formatted figures; what is missing or null in it is "not measured"."""

    def __init__(self, comparison: dict[str, Any], minus: str = "-"):
        self.comparison, self.minus = comparison, minus
        self.low: float
        self.high: float
        self.low, self.high = self.get("score_range") or (0, 1)
        # Shares have the JSON's 4 places; scores of up to 100 are told apart by 2.
        self.places = max(0, 4 - max(0, math.floor(math.log10(max(self.high - self.low, 1)))))
        self.unit = "case" if self.get("decision", "unit") == "case" else "source group"
        self.margin, self.gain = self.get("decision", "margin") or 0, self.get("decision", "min_gain") or 0
        self.overall: dict[str, Any] = self.get("overall") or {}
        self.difference = self.overall.get("difference")
        self.counts = ", ".join(f"{self.count(key)} {key}" for key in ("better", "worse", "same"))

    def get(self, *path: str) -> Any:
        """Return what stands at a path of keys, None where any of them is missing or null."""
        value: Any = self.comparison
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def plain(self, value: float | None, places: int | None = None, sign: str = "") -> str:
        places = self.places if places is None else places
        if value is None:
            return NOT_MEASURED
        return f"{round(value, places) or 0:{sign}.{places}f}".replace("-", self.minus)

    def signed(self, value: float | None) -> str:
        return self.plain(value, sign="+")

    def count(self, key: str) -> object:
        return "?" if self.overall.get(key) is None else self.overall[key]

    def span(self, ends: Sequence[float] | None) -> str:
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
        decision, overall = self.get("decision") or {}, self.overall
        word, interval = decision.get("verdict") or "undecided", decision.get("interval_95")
        rests = f"the 95% interval by {self.unit}, {self.span(interval)},"
        loss = f"a loss of {self.plain(self.margin)}" if self.margin else "a difference of zero"
        gain = f"the gain worth shipping, {self.signed(self.gain)}" if self.gain else "zero"
        tolerated = f"the loss that is tolerated, {self.signed(-self.margin)}" if self.margin else "zero"
        why = {"better": f"all of {rests} lies above {gain}.",
               "worse": f"all of {rests} lies below {tolerated}.",
               "equivalent": f"the 90% interval by {self.unit}, {self.span(decision.get('interval_90'))}, lies within "
                             f"{self.plain(self.margin)} of zero.",
               "not worse": f"{rests} rules out {loss}, but does not lie above {gain}.",
               }.get(word, f"{rests} does not rule out {loss}.")
        if not interval:
            why = f"there is no 95% interval by {self.unit}: {clean(decision.get('reason') or 'none was computed')}."
        said = [f"The candidate scores {self.plain(overall.get('candidate'))}, the baseline "
                f"{self.plain(overall.get('baseline'))}: a difference of {self.signed(self.difference)}.",
                why[0].upper() + why[1:]]
        if word == "undecided" and decision.get("groups_needed"):
            said.append(f"About {decision['groups_needed']} {self.unit}s would decide a difference of this size; there "
                        f"are {self.count('cases' if self.unit == 'case' else 'source_groups')}.")
        also = [clean(claim) for claim in decision.get("claims") or [] if claim != word]
        said += [f"It is also {' and '.join(also)}."] if also else []
        if decision.get("gate"):
            said.append(f"The gate ({clean(decision['gate'])}) is {'met' if decision.get('gate_met') else 'not met'}.")
        return clean(word), " ".join(said)

    def intervals(self) -> list[Interval]:
        """Return the rows of the first drawing, the one that decides first."""
        def row(label: str, basis: str, note: object, ends: Sequence[float] | None, kind: str = "contrast",
                reason: object = None) -> Interval:
            return Interval(label, basis, clean((note if ends else reason) or "none was computed"), ends, kind)

        overall, noise, pairs = self.overall, self.get("noise_floor") or {}, self.get("trial_pairs")
        flip, largest = overall.get("source_sign_flip") or {}, noise.get("largest_difference")
        cases, groups = many(self.count("cases"), "case"), many(self.count("source_groups"), "group")
        decides = flip.get("method"), flip.get("interval_95"), "decides", flip.get("reason")
        if self.unit == "case":  # each its own group: the bootstrap by source would be that by case
            rows = [row("By case, sign-flip", cases, *decides)]
        else:
            rows = [row("By source, sign-flip", groups, *decides),
                    row("By source, bootstrap", groups, overall.get("source_cluster_method"),
                        overall.get("source_cluster_interval_95"))]
        return rows + [
            row("By case, bootstrap", cases, overall.get("exact_method"), overall.get("exact_interval_95"), "exact"),
            row("By case, seeded", cases, f"{self.get('resamples')} resamples, seed {self.get('seed')}",
                overall.get("interval_95")),
            row("By trial", many(sum(pairs.values()), "pair") if pairs else "all pairs",
                "as if every trial were independent: for contrast only", overall.get("trial_level_interval_95"),
                reason=overall.get("trial_level_reason")),
            row("Noise floor", many(noise.get("splits") or "no", "split"),
                "halves of the baseline's own trials against each other, at most",
                None if largest is None else [-largest, largest], "noise", noise.get("reason"))]

    def slices(self) -> list[Slice]:
        """Return the slices in the comparison's order."""
        rows = []
        for tag, values in (self.get("slices") or {}).items():
            for value, figures in values.items():
                flip, missing = figures.get("source_sign_flip") or {}, figures.get("incomplete") or {}
                same = ", ".join(map(clean, figures.get("same_cases_as") or ()))
                marks = {"*": MARKS["*"] if figures.get("few_cases") else "", "-": clean(flip.get("reason") or ""),
                         "=": f"same cases as {same}" if same else "",
                         "?": f"incomplete trials: {missing['baseline']} before, {missing['candidate']} after"
                              if any(missing.values()) else ""}
                cells = [str(figures["cases"]), str(figures.get("source_groups", "-")),
                         self.plain(figures["baseline"]), self.plain(figures["candidate"]),
                         self.signed(figures["difference"]), self.plain(figures.get("adjusted_p_value"), 4)]
                marks = {mark: said for mark, said in marks.items() if said}
                rows.append(Slice(clean(tag), clean(value), figures["difference"], cells, flip.get("interval_95"),
                                  figures.get("exact_interval_95"), marks))
        return rows

    def changed(self) -> list[dict[str, Any]]:
        """Return the changed cases, the largest loss first; ties stay in the case file's order.

        Each has its figures as the comparison has them, and as `cells`: before, after, difference, by chance.
        """
        rows = [{"difference": case["candidate"] - case["baseline"], "by_chance": None, **case}
                for case in self.get("cases") or []]
        for row in rows:
            row["cells"] = [*(self.plain(row[side]) for side in SIDES), self.signed(row["difference"]),
                            self.plain(row["by_chance"], 4)]
        return sorted(rows, key=lambda row: row["difference"])

    def facts(self) -> dict[str, str]:
        """Return a sentence on each further figure, by name; what the comparison does not hold has none."""
        get, said = self.get, {}
        pairs, chance, noise = get("trial_pairs"), get("changed_by_chance") or {}, get("noise_floor") or {}
        if pairs:
            said["pairs"] = (f"Of {many(sum(pairs.values()), 'pair')} of trials {pairs['both_pass']} pass in both, "
                             f"{pairs['only_candidate']} only in the candidate, {pairs['only_baseline']} only in the "
                             f"baseline, {pairs['neither']} in neither.")
        elif get("trial_pairs_reason"):
            said["pairs"] = f"Trial pairs are {NOT_MEASURED}: {get('trial_pairs_reason')}."
        if chance.get("trials_moved"):
            first = chance["trials_moved"][0]
            moved = f"{many(first['observed'], 'case')} moved by at least {many(first['at_least'], 'trial')}"
            said["chance"] = (f"{moved}; had only the sampling changed, {self.plain(first['expected'], 2)} would be "
                              "expected to.")
        elif chance.get("reason"):
            said["chance"] = f"What moves by chance is {NOT_MEASURED}: {chance['reason']}."
        if noise.get("mean_difference") is not None:
            halves = f"{noise.get('trials_per_half')} a half, {many(noise.get('splits'), 'split')}"
            said["noise"] = (f"Two halves of the baseline's own trials ({halves}) differ by "
                             f"{self.plain(noise['mean_difference'])} on average and by "
                             f"{self.plain(noise.get('largest_difference'))} at most.")
            wrong = (f"the gate ({noise['gate']}) would have answered wrongly" if noise.get("gate") else
                     "a gain or a loss would have been claimed")
            share = noise.get("gate_tripped_share")
            said["noise"] += (f" On a share of {self.plain(share, 4)} of them {wrong}." if share is not None else
                              f" How often {wrong} on them is {NOT_MEASURED}: {noise.get('reason')}.")
        for side in SIDES:
            missing = get("incomplete", side) or {}
            if missing.get("trials"):
                reasons = ", ".join(f"{name} {count}" for name, count in (missing.get("reasons") or {}).items())
                said[f"incomplete {side}"] = f"Incomplete trials of the {side}: {missing['trials']} ({reasons})."
        if get("incomplete", "difference_bounds"):
            said["bounds"] = (f"Were all incomplete trials to go against the candidate, or all for it, the difference "
                              f"would be {' or '.join(map(self.signed, get('incomplete', 'difference_bounds')))}.")
        if get("nothing_moved"):
            groups, share = many(get("nothing_moved", "groups"), self.unit), get("nothing_moved", "excluded_share")
            said["nothing"] = (f"Nothing moved, which is no proof of sameness: with {groups}, only that more than a "
                               f"share of {self.plain(share, 4)} of them change is excluded.")
        if get("detectable_difference") is not None:
            said["detectable"] = (f"The smallest difference that this set detects at 80% power is "
                                  f"{self.plain(get('detectable_difference'))}.")
        if get("slices_compared"):
            method = get("adjusted_method")
            said["slices"] = (f"{many(get('slices_compared'), 'slice')} compared"
                              + (f"; the adjusted p-values allow for that ({method})." if method else "."))
        return {name: clean(sentence) for name, sentence in said.items()}

    def warnings(self) -> list[tuple[str, str]]:
        """Return each warning and what to do about it."""
        return [(clean(warning["message"]), clean(warning["advice"])) for warning in self.get("warnings") or []]

    def recipe(self) -> list[tuple[str, Any, Any]]:
        """Return all that is needed to reproduce the comparison: (what, the baseline's, the candidate's)."""
        get = self.get
        identities = [(what.replace("_", " "), f"{get(what, 'name')} sha256 {get(what, 'sha256')}")
                      for what in ("case_set", "task") if get(what)]
        shared = [*identities, ("trials a case", get("trials") or "uneven"), ("resamples", get("resamples")),
                  ("seed", get("seed")), ("scores", f"{self.low} to {self.high}"), ("unscored trials", get("missing")),
                  ("gain worth shipping", self.gain), ("loss tolerated", self.margin),
                  ("comparison version", get("comparison_version")), ("tool version", get("tool_version"))]
        rows = [(name, value, value) for name, value in shared if value is not None]
        own = {key: [get(side, key) for side in SIDES] for key in harness.SYSTEM_FIELDS}
        own["logs"] = [", ".join(f"{log['name']} sha256 {log['sha256']}" for log in get("logs", side) or [])
                       for side in SIDES]
        return rows + [(key, one or "none", other or "none") for key, (one, other) in own.items() if one or other]


# === Terminal ===


class Glyphs(NamedTuple):
    """What drawings on a terminal are made of."""

    left: str
    line: str
    right: str
    point: str
    zero: str
    edge: str
    ellipsis: str


UNICODE, ASCII = Glyphs("├", "─", "┤", "●", "│", "┊", "…"), Glyphs("[", "-", "]", "o", "|", ":", "...")
COLOURS = {"better": "32", "worse": "31", "undecided": "33", "equivalent": "36", "not worse": "36", "bold": "1"}


def terminal_settings(stream: Any, environ: Any = os.environ) -> dict[str, Any]:
    """Return text_report's width, unicode and colour for a stream: colour only on a terminal that wants it."""
    try:
        unicode = bool("".join(UNICODE).encode(stream.encoding or "ascii"))
    except (UnicodeEncodeError, LookupError):
        unicode = False
    width = environ.get("COLUMNS", "")
    if not width.isdecimal() and stream.isatty():
        width = os.get_terminal_size(stream.fileno()).columns
    colour = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return {"width": int(width or 0) or 80, "unicode": unicode, "colour": colour}


class _Screen:
    """Lines for a terminal of one width, with or without Unicode and colour."""

    def __init__(self, width: int, unicode: bool, colour: bool):
        self.width, self.unicode, self.colour = max(width, 72), unicode, colour
        self.glyphs = UNICODE if unicode else ASCII
        self.lines: list[str] = []

    def harmless(self, text: object) -> str:
        # Terminals disagree on the width of what joiners and variation selectors join: they are left out.
        text = clean(text).translate(dict.fromkeys((0x200C, 0x200D, 0xFE0E, 0xFE0F)))
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()

    def paint(self, text: str, colour: str | None) -> str:
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.colour and colour in COLOURS else text

    def heading(self, text: str, colour: str = "bold") -> None:
        self.lines += ["", self.paint(text, colour)]

    def say(self, text: str, first: str = "  ", rest: str = "  ") -> None:
        """Add a text wrapped by words to the width; a word wider than that is broken."""
        line, empty = first, True
        for word in self.harmless(text).split(" "):
            while columns(line) + columns(word) > self.width:
                if empty:
                    part = beginning(word, self.width - columns(line))
                    line, word = line + part, word[len(part):]
                self.lines.append(line)
                line, empty = rest, True
            line, empty = f"{line}{word} ", False
        self.lines.append(line)

    def table(self, rows: Sequence[Sequence[str]], left: Sequence[int] = (0,), signed: int = -1) -> list[str]:
        """Return lines of equal width: all but the `left` columns to the right, the first cut where it must be."""
        rows = [[self.harmless(cell) for cell in row] for row in rows]
        widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
        gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= self.width else 1
        taken = sum(widths[1:]) + gap * (len(widths) - 1)
        widths[0] = min(widths[0], max(12, self.width - taken))
        self.room = self.width - taken - widths[0] - 2  # for a drawing beside it
        lines = []
        for row in rows:
            cells = []
            for i, (cell, width) in enumerate(zip(row, widths)):
                cell = clip(cell, width, self.glyphs.ellipsis)
                air = " " * (width - columns(cell))
                if i == signed and cell.strip("+-.0"):
                    cell = self.paint(cell, {"+": "better", "-": "worse"}.get(cell[0]))
                cells.append(cell + air if i in left else air + cell)
            lines.append((" " * gap).join(cells))
        return lines

    def plotted(self, lines: list[str], words: Words,
                rows: Sequence[tuple[Sequence[float] | None, float | None]]) -> list[str]:
        """Return a table's lines with each row's interval and point drawn beside it, where there is room for that."""
        width, glyphs = min(self.room, 60), self.glyphs
        if width < 16:
            return lines
        edges = {-words.margin, words.margin, words.gain} - {0}
        scale = scale_of([*edges, *(value for ends, point in rows for value in (*(ends or ()), point))])

        def column(value: float) -> int:
            return round(scale.at(value) * (width - 1))

        axis = [" "] * width
        for tick, label in sorted(scale.ticks(), key=lambda tick: tick[0] != 0):  # zero is labelled first
            start = min(width - len(label), max(0, column(tick) - len(label) // 2))
            if not "".join(axis[max(0, start - 1):start + len(label) + 1]).strip():
                axis[start:start + len(label)] = label
        drawings = [axis]
        for ends, point in rows:
            cells = [" "] * width
            for edge in edges:
                cells[column(edge)] = glyphs.edge
            cells[column(0)] = glyphs.zero
            if ends:
                low, high = map(column, ends)
                cells[low:high + 1] = glyphs.line * (high + 1 - low)
                cells[low], cells[high] = glyphs.left, glyphs.right
            if point is not None:
                cells[column(point)] = glyphs.point
            drawings.append(cells)
        return [f"{line}  {''.join(cells)}" for line, cells in zip(lines, drawings)]


def text_report(comparison: dict[str, Any], width: int = 80, unicode: bool = True, colour: bool = False) -> str:
    """Return a comparison as lines for a terminal of `width` columns (72 at least), ending in a newline.

    Without unicode all is ASCII, other characters of names as escapes; colour adds ANSI codes.
    """
    words, screen = Words(comparison), _Screen(width, unicode, colour)
    facts, glyphs, (word, sentences) = words.facts(), screen.glyphs, words.verdict()

    def say_facts(*names: str) -> None:
        for name in names:
            if name in facts:
                screen.say(facts[name])

    screen.say(f"{words.side('baseline')} against {words.side('candidate')}: {words.subject()}.", "", "")
    screen.heading(word.upper(), word)
    screen.say(sentences)

    screen.heading("Is it larger than the noise?")
    rows = words.intervals()
    lines = screen.table([("95% interval", "", "from", "to"), *(
        (row.label + " <" * (row.kind == "decides"), row.basis,
         *(map(words.signed, row.ends) if row.ends else NOT_MEASURED.split())) for row in rows)])
    screen.lines += screen.plotted(lines, words, [(row.ends, None if row.kind == "noise" else words.difference)
                                                  for row in rows])
    screen.say(f"< decides; {glyphs.zero} no difference; {glyphs.point} the difference"
               + f"; {glyphs.edge} margin of {words.plain(words.margin)}" * bool(words.margin)
               + f"; {glyphs.edge} gain worth shipping, {words.signed(words.gain)}" * bool(words.gain) + ".")
    for row in rows:
        if row.ends is None:
            screen.say(f"{row.label}: {NOT_MEASURED}: {row.note}.")
    say_facts(*ON_NOISE)

    screen.heading("Where did it come from?")
    say_facts("pairs", "chance")
    first, left_out, last = ends_of(words.changed(), TEXT_ROWS)
    lines = screen.table([("changed case, worst first", "before", "after", "diff.", "by chance"), *(
        (row["case_id"], *(cell.replace(NOT_MEASURED, "-") for cell in row["cells"])) for row in (*first, *last))],
        signed=3)
    if left_out:
        lines.insert(1 + len(first), f"  {left_out} between these are left out; the JSON has them under \"cases\"")
    screen.lines += lines if first else ["  No case changed."]

    slices = words.slices()
    if slices:
        screen.heading("Whom does it help?")
        shown = slices[:TEXT_ROWS]
        lines = screen.table([("slice", "cases", "grp", "before", "after", "diff.", f"95% by {words.unit.split()[0]}",
                               "adj. p", ""), *(
            (f"{row.tag}: {row.value}", *row.cells[:5], " ".join(map(words.signed, row.by_source or ())) or "-",
             row.cells[5].replace(NOT_MEASURED, "-"), "".join(row.marks)) for row in shown)], left=(0, 8), signed=5)
        screen.lines += screen.plotted(lines, words, [(row.by_source, row.difference) for row in shown])
        if len(slices) > TEXT_ROWS:
            screen.say(f"{len(slices) - TEXT_ROWS} more slices are left out; the JSON has them.")
        used = [f"{mark} {meaning}" for mark, meaning in MARKS.items() if any(mark in row.marks for row in shown)]
        if used:
            screen.say("; ".join(used) + ".")
        say_facts("slices")

    if words.warnings():
        screen.heading("Warnings")
    for number, (message, advice) in enumerate(words.warnings(), start=1):
        screen.say(clip(f"{message}; {advice}.", 1000), f"[{number}] ", "    ")
    return "".join(f"{line.rstrip()}\n" for line in screen.lines)


# === Markdown ===


def _md(text: object, width: int = 600) -> str:
    """Return text that Markdown takes as nothing but text: no row, link, mention, reference or tag comes of it."""
    def entity(match: re.Match[str]) -> str:  # the space without width keeps @name and #1 from reaching anybody
        return f"&#{ord(match[0])};" + ("&#8203;" if match[0] in "@#" else "")

    return re.sub(r"(?i)[^\w ,;%'(/+=).:-]|_|:(?!\s|$)|(?<=www)\.", entity, clip(clean(text), width))


def _code(text: object, width: int = 60) -> str:
    return f"<code>{_md(text, width).replace('&#8203;', '')}</code>"  # GitHub looks for no mention inside of code


def _md_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Return the lines of a table: the first `words` columns to the left, the others to the right."""
    rule = [":---"] * words + ["---:"] * (len(head) - words)
    return ["", *(f"| {' | '.join(row)} |" for row in (head, rule, *rows)), ""]


def _folded(summary: str, lines: list[str]) -> list[str]:
    """Return lines, behind a summary where they are many."""
    return ["", "<details>", f"<summary>{summary}</summary>", *lines, "</details>", ""] if len(lines) > 25 else lines


def _markdown(words: Words, most_cases: int, most_slices: int, most_warnings: int) -> str:
    facts, (word, sentences) = words.facts(), words.verdict()

    def ends(ends: Sequence[float] | None) -> list[str]:
        return list(map(words.signed, ends)) if ends else [NOT_MEASURED, ""]

    lines = [f"### {word[:1].upper()}{word[1:]}: {_code(words.side('candidate'))} against "
             f"{_code(words.side('baseline'))}", "", _md(sentences, 2000), "", f"{_md(words.subject())}."]
    lines += _md_table(["95% interval", "rests on", "of", "from", "to"], [
        [f"**{row.label} (decides)**" if row.kind == "decides" else row.label, _md(row.note, 200), row.basis,
         *ends(row.ends)] for row in words.intervals()], words=2)
    lines += [f"- {_md(facts[name])}" for name in ("pairs", "chance", *ON_NOISE) if name in facts]
    slices = words.slices()
    if slices:
        table = _md_table(["slice", "mind", "cases", "groups", "before", "after", "difference", "adjusted p", "from",
                           "to"], [[_code(f"{row.tag}: {row.value}"), _md("; ".join(row.marks.values()), 200),
                                    *row.cells, *ends(row.by_source)] for row in slices[:most_slices]], words=2)
        left_out = len(slices[most_slices:])
        table += [f"{left_out} more slices are left out here.", ""] * bool(left_out)
        lines += ["", f"**Slices**, with the 95% sign-flip interval by {words.unit}. {_md(facts.get('slices', ''))}",
                  *_folded(f"{len(slices)} slices", table)]
    changed = words.changed()
    lines += ["", f"**Changed cases**, worst first: {words.counts}."]
    if changed:
        first, left_out, last = ends_of(changed, most_cases)
        table = _md_table(["case", "before", "after", "difference", "by chance"], [
            [_code(row["case_id"]), *row["cells"]] for row in (*first, *last)])
        note = f"{left_out} changed cases between the {len(first)} worst and the {len(last)} best are left out here."
        table += [note, ""] * bool(left_out)
        lines += _folded(f"{len(changed)} changed cases", table)
    warnings = words.warnings()
    lines += ["", "**Warnings**", ""] * bool(warnings)
    lines += [f"{number}. {_md(f'{message}; {advice}.')}"
              for number, (message, advice) in enumerate(warnings[:most_warnings], start=1)]
    if len(warnings) > most_warnings:
        lines += ["", f"{len(warnings) - most_warnings} more warnings are left out here."]
    recipe = "; ".join(f"{name} {_code(one, 120)}" + (f" and {_code(other, 120)}" if other != one else "")
                       for name, one, other in words.recipe())
    return "\n".join([*lines, "", f"<sub>Made from {recipe}</sub>", ""])


def markdown_report(comparison: dict[str, Any]) -> str:
    """Return a comparison as Markdown for a pull request comment, within MARKDOWN_LIMIT characters.

    What does not fit is left out, the least important first: the changed cases in the middle, then slices, then
    warnings; the text says so, and the comparison has it all.
    """
    words = Words(comparison)
    limits = (5000, 500, 100), (500, 500, 100), (200, 200, 100), (100, 100, 50), (50, 50, 20), (20, 20, 10), (10, 10, 5)
    for step, most in enumerate(limits):
        text = _markdown(words, *most) + (f"\nWhat does not fit into the {MARKDOWN_LIMIT:,} characters of a comment is "
                                          "left out; the comparison's JSON has it all.\n" * bool(step))
        if len(text) <= MARKDOWN_LIMIT:
            break
    return text


# === The panel: every trial of every case ===

# A row a case: {"case_id", "source", "input", "expected", "trials"}; what is not known is None. `trials` has, in order,
# {"seed", "baseline", "candidate"}; a side that lacks the trial is None, else {"verdict", "score", "output", "error",
# "raw"}: verdict pass, fail or incomplete, None where the score (within score_range) is neither; error a text or
# None; output, and raw (the reply as it came), any JSON value.


def record_panel(baseline: dict[str, Any], candidate: dict[str, Any],
                 case_set: harness.CaseSet) -> list[dict[str, Any]]:
    """Return the panel of two run records that harness.compare accepts, in the case file's order."""
    sides: list[dict[str, list[tuple[Any, dict[str, Any]]]]] = [{}, {}]
    for record, side in zip((baseline, candidate), sides):
        for row in record["results"]:
            error = f"{row['error']['type']}: {row['error']['message']}" if "error" in row else None
            outcome = {"verdict": row["verdict"], "score": int(row["verdict"] == "pass"), "output": row.get("output"),
                       "error": error, "raw": row["metadata"] or None}
            side.setdefault(row["case_id"], []).append((row.get("seed"), outcome))
    return [{"case_id": case.id, "source": case.tags.get("source"), "input": case.input, "expected": case.expected,
             "trials": [{"seed": seed, "baseline": one, "candidate": other}
                        for (seed, one), (_, other) in zip(*(side[case.id] for side in sides))]}
            for case in case_set.cases if case.id in sides[0]]


def pair_panel(pair: Any) -> list[dict[str, Any]]:
    """Return the panel of a trials.Pair as it was read, unscored trials included; trials of one seed share a column."""
    passes = all(trial.score in (0, 1, None) for side in pair.sides for trials in side.trials for trial in trials)

    def outcome(trial: Any) -> dict[str, Any] | None:
        if trial is None:
            return None
        verdict = "incomplete" if trial.score is None else ("pass" if trial.score else "fail") if passes else None
        return {"verdict": verdict, "score": trial.score, "output": trial.output, "error": trial.reason, "raw": None}

    rows = []
    for case, *sides in zip(pair.cases, *(side.trials for side in pair.sides)):
        left, right = ({i if trial.seed is None else f"{trial.seed}": trial for i, trial in enumerate(trials)}
                       for trials in sides)
        rows.append({"case_id": case.id, "source": case.source, "input": None, "expected": None, "trials": [
            {"seed": seed if isinstance(seed, str) else None, "baseline": outcome(left.get(seed)),
             "candidate": outcome(right.get(seed))} for seed in {**left, **right}]})
    return rows


# === The page: cells, rows, tables ===


def _esc(value: object) -> str:
    return escape(clean(value))


def _table(caption: str, head: str, body: str, kind: str = "", style: str = "") -> str:
    """Return a table in a box that scrolls by itself where the screen is too narrow for it."""
    return (f'<div class="scroll" role="region" aria-label="{re.sub(" *<.*", "", caption)}" tabindex="0"><table '
            f'class="{kind}"{style}><caption>{caption}</caption><thead><tr>{head}</tr></thead>{body}</table></div>')


def _class(*kinds: str) -> str:
    return f' class="{" ".join(filter(None, kinds))}"' if any(kinds) else ""


def _heads(*names: str) -> str:
    """Return heads of columns; those of numbers, marked #, stand to the right."""
    return "".join(f'<th scope="col"{_class("n" * name.startswith("#"))}>{name.lstrip("#")}</th>' for name in names)


def _row(head: str, *cells: str, kind: str = "") -> str:
    return f'<tr{_class(kind)}><th scope="row">{head}</th>{"".join(cells)}</tr>'


def _numbers(*values: object, kind: str = "") -> str:
    return "".join(f"<td{_class('n', 'null' if value == NOT_MEASURED else kind)}>{value}</td>" for value in values)


def _sign(value: float | None) -> str:
    return "none" if not value else "up" if value > 0 else "down"


def _drawing(drawn: str, title: str = "", kind: str = "plot") -> str:
    """Return a table cell filled by a drawing; one without a title repeats its row, and is silent on screen readers."""
    told = f'role="img"><title>{_esc(title)}</title>' if title else 'aria-hidden="true">'
    return f'<td class="{kind}"><svg class="fill" {told}{drawn}</svg></td>'


def _bar(value: float, most: float, line: float | None = None) -> str:
    """Return a cell with a bar from zero, and an upright line at another value."""
    at = "" if line is None else f"{94 * line / most:.2f}%"
    return _drawing(f'<rect class="bar" y="28%" height="44%" width="{94 * value / most:.2f}%"/>'
                    + f'<line class="edge" x1="{at}" x2="{at}" y1="10%" y2="90%"/>' * bool(at))


def _sentences(facts: dict[str, str], *names: str) -> str:
    return "".join(f"<p>{_esc(facts[name])}</p>" for name in names if name in facts)


# === The page: intervals on one scale ===


class _Plot:
    """Drawings of intervals on one scale, each filling its table cell; places across are shares of the cell's width."""

    def __init__(self, words: Words, values: Sequence[float | None]):
        self.words, margin, gain = words, words.margin, words.gain
        self.scale = scale_of([*values, -margin, margin, gain])
        self.ground = self.rect(-margin, margin, "band", "0", "100%") if margin else ""
        self.ground += "".join(self.upright(tick, "grid") for tick, _ in self.scale.ticks() if tick)
        self.ground += self.upright(0, "zero") + (self.upright(gain, "gain") if gain else "")

    def at(self, value: float) -> str:
        return f"{100 * self.scale.at(value):.2f}%"

    def rect(self, low: float, high: float, kind: str, top: str, height: str) -> str:
        across = self.scale.at(high) - self.scale.at(low)
        return f'<rect class="{kind}" x="{self.at(low)}" width="{100 * across:.2f}%" y="{top}" height="{height}"/>'

    def upright(self, value: float, kind: str, top: str = "0", bottom: str = "100%") -> str:
        return f'<line class="{kind}" x1="{self.at(value)}" x2="{self.at(value)}" y1="{top}" y2="{bottom}"/>'

    def level(self, ends: Sequence[float], kind: str, y: str) -> str:
        return f'<line class="{kind}" x1="{self.at(ends[0])}" x2="{self.at(ends[1])}" y1="{y}" y2="{y}"/>'

    def head(self) -> str:
        """Return the head of the column: which way is better, margin and gain by name, ticks with labels."""
        words, ticks = self.words, self.scale.ticks()
        zero = [tick for tick, _ in ticks].index(0)
        texts: list[tuple[float, int, str, int, str]] = [(0, 11, "end", -7, "← worse"), (0, 11, "start", 7, "better →")]
        texts += [(-words.margin, 26, "end", -3, f"margin ±{words.plain(words.margin)}")] * bool(words.margin)
        texts += [(words.gain, 26, "start", 3, f"gain wanted {words.signed(words.gain)}")] * bool(words.gain)
        texts += [(tick, 41, "tick odd" if (i - zero) % 2 else "tick", 0, label.replace("-", words.minus))
                  for i, (tick, label) in enumerate(ticks)]
        drawn = "".join(f'<text class="{kind}" x="{self.at(x)}" y="{y}" dx="{dx}">{text}</text>'
                        for x, y, kind, dx, text in texts)
        return (f'<th scope="col" class="plot"><svg class="fill" role="img"><title>Scale from {ticks[0][1]} to '
                f'{ticks[-1][1]}, candidate minus baseline</title>{drawn}</svg></th>')

    def interval(self, title: str, ends: Sequence[float] | None, point: float | None, kind: str, behind: str = "",
                 y: str = "50%") -> str:
        """Return the cell of an interval with caps at its ends and a point, drawn over what is behind."""
        drawn = self.ground + behind
        if ends:
            drawn += self.level(ends, f"ci {kind}", y) + "".join(
                f'<svg x="{self.at(end)}" y="{y}"><path class="cap {kind}" d="M0-5v10"/></svg>' for end in ends)
        if point is not None:
            drawn += f'<circle class="point {kind}" cx="{self.at(point)}" cy="{y}" r="4.5"/>'
        return _drawing(drawn, title)

    def histogram(self, distribution: dict[str, Any], ends: Sequence[float] | None) -> str:
        """Return the bars of a distribution, paler beyond the ends of its interval, and lines at these ends."""
        start, width, shares = distribution["start"], distribution["width"], distribution["shares"]
        drawn = "".join(self.upright(end, "edge", "4%", "88%") for end in ends or ())
        for i, share in enumerate(shares):
            middle, height = start + (i + 0.5) * width, 74 * share / max(shares)
            if height > 0.1:
                kind = "bar" if not ends or ends[0] <= middle <= ends[1] else "bar tail"
                drawn += self.rect(middle - width / 2, middle + width / 2, kind, f"{80 - height:.2f}%",
                                   f"{height:.2f}%")
        return drawn


def _noise_section(words: Words) -> str:
    rows, distribution = words.intervals(), words.get("overall", "exact_distribution")
    moves = distribution and sum(share > 0 for share in distribution["shares"]) > 1  # one bar would say nothing
    plot = _Plot(words, [words.difference, *(end for row in rows for end in row.ends or ())])
    body = ""
    for row in rows:
        bars = plot.histogram(distribution, row.ends) if row.kind == "exact" and moves else ""
        title = f"{row.label}: {words.span(row.ends)}" + ", below the distribution of the bootstrap's mean" * bool(bars)
        decides = ' <b class="tag">decides</b>' * (row.kind == "decides")
        point = None if row.kind == "noise" else words.difference
        body += _row(f"{row.label}{decides}<small>{row.basis}: {_esc(row.note)}</small>",
                     plot.interval(title, row.ends, point, row.kind, bars, "88%" if bars else "50%"),
                     _numbers(words.span(row.ends), kind="span"), kind="tall" if bars else "")
    head = _heads("Interval") + plot.head() + _heads("#from, to")
    return _table("95% intervals of the difference, candidate minus baseline, on one scale", head,
                  f"<tbody>{body}</tbody>", "plotted") + _sentences(words.facts(), *ON_NOISE)


def _slices_section(words: Words) -> str:
    slices = words.slices()
    if not slices:
        return "<p>The cases have no tags, so there are no slices.</p>" + _measures_table(words)
    shown = slices[:PAGE_ROWS]
    plot = _Plot(words, [value for row in shown
                         for value in (row.difference, *(row.by_source or ()), *(row.by_case or ()))])
    body = ""
    for tag, group in groupby(shown, key=lambda row: row.tag):
        body += f'<tbody><tr><th scope="rowgroup" colspan="9"><bdi>{_esc(tag)}</bdi></th></tr>'
        for row in group:
            title = f"{row.value}: by {words.unit} {words.span(row.by_source)}, by case {words.span(row.by_case)}"
            drawn = plot.interval(title, row.by_source, row.difference, "decides" if row.by_source else "hollow",
                                  plot.level(row.by_case, "thin", "50%") if row.by_case else "")
            cases, groups, before, after, difference, adjusted = row.cells
            body += _row(f"<bdi>{_esc(row.value)}</bdi><small>{_esc('; '.join(row.marks.values()))}</small>", drawn,
                         _numbers(difference, kind=_sign(row.difference)),
                         _numbers(words.span(row.by_source), kind="span"),
                         _numbers(adjusted, cases, groups, before, after))
        body += "</tbody>"
    head = (_heads("Slice") + plot.head()
            + _heads("#diff.", "#from, to", "#adj. p", "#cases", "#groups", "#before", "#after"))
    out = _table(f"Difference by slice <span>thick: 95% sign-flip interval by {words.unit}; thin: bootstrap by case"
                 "</span>", head, body, "plotted slices")
    if len(slices) > PAGE_ROWS:
        out += f"<p>{len(slices) - PAGE_ROWS} more slices are left out here; comparison.json has them.</p>"
    return out + _sentences(words.facts(), "slices") + _measures_table(words)


# === The page: the panel ===

# A trial's mark around x, y: pass a filled dot, fail a ring, incomplete a cross. Other scores are columns.
TRIAL_MARKS = {"pass": "M{x},{y}h.01", "fail": "M{x},{y}m-4,0a4,4 0 1,0 8,0a4,4 0 1,0-8,0",
               "incomplete": "M{x},{y}m-3.5-3.5l7,7m0-7l-7,7"}


def _mark(verdict: str) -> str:
    return (f'<svg class="mark" viewBox="0 0 14 14" aria-hidden="true"><path class="{verdict}" '
            f'd="{TRIAL_MARKS[verdict].format(x=7, y=7)}"/></svg> {verdict}')


def _shown(value: object) -> str:
    """Return an input or output as text of bounded length; of an input that is only a text, this text."""
    if isinstance(value, dict) and list(value) == ["text"]:
        value = value["text"]
    text = "" if value is None else clean(value, keep="\n\t")
    more = len(text) - SHOWN_CHARACTERS
    return f"{text[:SHOWN_CHARACTERS]}… ({more} more characters are left out here)" if more > 0 else text


class _Panel:
    """Rows of cases, as long as the page's budgets for opened cases and for marking differences last."""

    def __init__(self, words: Words, panel: Sequence[dict[str, Any]]):
        self.words, self.span = words, (words.high - words.low) or 1
        self.rows = {row["case_id"]: row for row in panel}
        self.numbers = {case_id: number for number, case_id in enumerate(self.rows, start=1)}
        self.changed = {case["case_id"]: case for case in words.changed()}
        self.trials = max((len(row["trials"]) for row in panel), default=0)
        self.scored = any(trial[side] and not trial[side]["verdict"] and trial[side]["score"] is not None
                          for row in panel for trial in row["trials"] for side in SIDES)
        self.room, self.work, self.closed = OPENED_CHARACTERS, MARKED_WORK, 0
        self.marked: dict[tuple[str, str], tuple[str, str]] = {}

    def table(self, caption: str, body: str) -> str:
        width = min(14 * self.trials, 420)
        trials = f"Trials 1–{self.trials}" if self.trials > 1 else "Trial"
        strips = f'<th scope="col" style="width:{max(80, width + 18)}px">{trials}</th>'
        wide = [f'<th scope="col" class="n wide">{name}</th>' for name in ("before", "after", "better →", "by chance")]
        head = _heads("Case") + strips * bool(self.trials) + "".join(wide[:3]) + _heads("#diff.") + wide[3]
        return _table(caption, head, body, "panel", f' style="min-width:{width + 230}px"')

    def across(self, inner: str) -> str:
        return f'<tr class="across"><th scope="rowgroup" colspan="{7 if self.trials else 6}">{inner}</th></tr>'

    def case(self, case_id: str, link: bool = False) -> str:
        """Return a case's table row. It opens while the budget lasts; a link leads to the row that does instead."""
        words, row, figures = self.words, self.rows.get(case_id), self.changed.get(case_id)
        name, anchor = f"<bdi>{_esc(case_id)}</bdi>", ""
        if link:
            name = f'<a href="#case-{self.numbers[case_id]}">{name}</a>'
        elif row:
            anchor = f' id="case-{self.numbers[case_id]}"'
            inner = self.opened(row) if self.room > 0 else ""
            self.room -= len(inner)
            self.closed += not inner
            if inner:
                name = f'<details><summary>{name}</summary><div class="in">{inner}</div></details>'
        share = self.share(row) if row and not figures else ""
        before, after, difference, chance = figures["cells"] if figures else (share, share, words.signed(0), "")
        moved = figures["difference"] if figures else 0
        bar = (f'<rect class="{_sign(moved)}" x="{50 + 50 * min(moved / self.span, 0):.2f}%" y="9" height="12" '
               f'width="{50 * abs(moved) / self.span:.2f}%"/><line class="zero" x1="50%" x2="50%" y1="0" y2="100%"/>')
        strip = f"<td>{self.strip(row) if row else ''}</td>" if self.trials else ""
        return (f'<tr{anchor}{_class("" if figures else "same")}><th scope="row">{name}</th>{strip}'
                + _numbers(before, after, kind="wide") + _drawing(bar, kind="plot wide")
                + _numbers(difference, kind=_sign(moved)) + _numbers(chance, kind="wide") + "</tr>")

    def share(self, row: dict[str, Any]) -> str:
        """Return the mean score, the same on both sides, of a case that did not change."""
        scores = [trial["baseline"]["score"] for trial in row["trials"] if trial["baseline"]]
        if self.words.get("missing") == "drop":
            scores = [score for score in scores if score is not None]
        return self.words.plain(float(sum(score or 0 for score in scores) / len(scores)) if scores else None)

    def strip(self, row: dict[str, Any]) -> str:
        """Return all trials of a case: the baseline's line above the candidate's, a seed a column."""
        paths = dict.fromkeys(("won", "lost", *TRIAL_MARKS, "score"), "")
        told: dict[str, list[str]] = {side: [] for side in SIDES}
        for i, trial in enumerate(row["trials"]):
            scores = [(trial[side] or {}).get("score") for side in SIDES]
            before, after = scores
            if before is not None and after is not None and before != after:
                paths["won" if after > before else "lost"] += f"M{14 * i + .5},0h13v28h-13z"
            for side, y, score in zip(SIDES, (7, 21), scores):
                if trial[side]:
                    verdict = trial[side]["verdict"] or "incomplete"
                    if score is not None and not trial[side]["verdict"]:
                        height = 1 + 11 * float(score - self.words.low) / self.span
                        paths["score"] += f"M{14 * i + 7},{y + 6}v-{height:.1f}"
                        verdict = self.words.plain(float(score))
                    else:
                        paths[verdict] += TRIAL_MARKS[verdict].format(x=14 * i + 7, y=y)
                    told[side].append(verdict)
        title = "; ".join(f"{side}: " + ", ".join(f"{len(list(same))} {verdict}" for verdict, same in groupby(verdicts))
                          for side, verdicts in told.items())
        drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
        width = 14 * self.trials
        return (f'<svg class="strip" width="{min(width, 420)}" viewBox="0 0 {width} 28" role="img">'
                f"<title>{title}</title>{drawn}</svg>")

    def opened(self, row: dict[str, Any]) -> str:
        """Return what a case was: its input, what was expected, and each trial's two outcomes side by side."""
        given = "".join(f"<p><b>{key.capitalize()}</b></p><pre>{escape(_shown(row[key]))}</pre>"
                        for key in ("input", "expected") if row[key] is not None)
        body = ""
        for number, trial in enumerate(row["trials"], start=1):
            seed = "" if trial["seed"] is None else f"<small>seed {_esc(trial['seed'])}</small>"
            sides = [trial[side] for side in SIDES]
            marked = self.differences(*(_shown(side["output"]) if side else "" for side in sides))
            body += _row(f"{number}{seed}", *map(self.outcome, sides, marked))
        head = _heads("Trial", "Baseline", "Candidate")
        return (f'{given}<table class="trials"><caption>Trials; what differs between two outputs is marked</caption>'
                f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def outcome(self, outcome: dict[str, Any] | None, marked: str) -> str:
        """Return the cell of one trial of one side."""
        if outcome is None:
            return "<td>no such trial</td>"
        verdict = outcome["verdict"] or ("incomplete" if outcome["score"] is None else None)
        said = _mark(verdict) if verdict else f"score {self.words.plain(float(outcome['score']))}"
        error = f": {_esc(outcome['error'])}" if outcome["error"] else ""
        raw = escape(_shown(outcome["raw"])) if verdict == "incomplete" else ""
        return f"<td><p>{said}{error}</p>{''.join(f'<pre>{text}</pre>' for text in (marked, raw) if text)}</td>"

    def differences(self, one: str, other: str) -> tuple[str, str]:
        """Return two texts as HTML with what differs marked word by word, unless that would cost too much."""
        if (one, other) in self.marked:
            return self.marked[one, other]
        before, after = (re.findall(r"\w+|\s+|.", text) for text in (one, other))
        work = len(before) * len(after)
        if one == other or not work or max(len(before), len(after)) > MARKED_WORDS or work > self.work:
            return escape(one), escape(other)
        self.work -= work
        left = right = ""
        for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            gone, come = escape("".join(before[a:b])), escape("".join(after[c:d]))
            left += gone if kind == "equal" or not gone else f"<del>{gone}</del>"
            right += come if kind == "equal" or not come else f"<ins>{come}</ins>"
        self.marked[one, other] = left, right
        return left, right

    def file_order(self, folded: bool, linked: set[str]) -> Iterator[str]:
        """Yield a table body a source group; where folded, rows of unchanged cases become one that counts them."""
        waiting = drawn = 0
        for (_, source), group in groupby(self.rows.values(), key=lambda row: (
                row["source"] is None, row["source"] or row["case_id"])):
            cases = list(group)
            changed = [row for row in cases if row["case_id"] in self.changed]
            shown = (changed if folded else cases)[:PAGE_ROWS - drawn]
            if shown:
                if waiting:
                    yield f"<tbody>{self.across(many(waiting, 'case') + ' folded')}</tbody>"
                waiting, drawn = 0, drawn + len(shown)
                head = self.across(f"<b><bdi>{_esc(source)}</bdi></b> {len(cases)} cases, {len(changed)} changed")
                yield (f'<tbody{_class("group" * (len(cases) > 1))}>{head * (len(cases) > 1)}'
                       + "".join(self.case(row["case_id"], row["case_id"] in linked) for row in shown) + "</tbody>")
            waiting += len(cases) - len(shown)
        if waiting:
            yield f"<tbody>{self.across(many(waiting, 'case') + ' folded')}</tbody>"


def _panel_section(words: Words, panel: Sequence[dict[str, Any]]) -> str:
    rows = _Panel(words, panel)
    out = f'<div class="pair">{_pairs_table(words)}{_chance_table(words)}</div>'
    marks = ", ".join(map(_mark, TRIAL_MARKS)) + ", other scores as columns of their height" * rows.scored
    legend = (f"{marks}: the baseline’s trials above, the candidate’s with the same seeds below; a tinted column is a "
              "pair that differs. Open a case to read it." if panel else "A comparison does not hold the trials "
              "themselves. Its two run records do; report.py --runs shows them here.")
    out += f'<p class="legend">{legend}</p>'
    first, left_out, last = ends_of(list(rows.changed), PAGE_ROWS)
    between = rows.across(f"{left_out} changed cases between these are left out here; comparison.json has them")
    cases = "".join([*map(rows.case, first), between * bool(left_out), *map(rows.case, last)])
    out += (rows.table(f"Changed cases, worst first <span>{words.counts}</span>", f"<tbody>{cases}</tbody>") if first
            else f"<p>No case changed: {words.counts}.</p>")
    if rows.closed:
        out += (f"<p>To keep the page light, {rows.closed} of the changed cases do not open here; the run records hold "
                "their trials.</p>")
    if panel:
        folded, title = len(panel) > FOLD_FROM, f"All {len(panel)} cases in file order"
        body = "".join(rows.file_order(folded, {*first, *last}))
        out += (f"<details{' open' * (not folded)}><summary>{title}{', those unchanged folded' * folded}</summary>"
                + rows.table(f"{title} <span>brackets join the variants of one source</span>", body) + "</details>")
    return out


def _pairs_table(words: Words) -> str:
    pairs = words.get("trial_pairs")
    if not pairs:
        return _sentences(words.facts(), "pairs")
    both, lost, won, neither = (pairs[key] for key in ("both_pass", "only_baseline", "only_candidate", "neither"))
    body = (_row("Baseline passes", _numbers(both), _numbers(lost, kind="down"), _numbers(both + lost))
            + _row("Baseline does not", _numbers(won, kind="up"), _numbers(neither, won + neither))
            + _row("All", _numbers(both + won, lost + neither, sum(pairs.values()))))
    return _table("Pairs of trials", _heads("Trials", "#Candidate passes", "#Candidate does not", "#All"),
                  f"<tbody>{body}</tbody>", "small")


def _chance_table(words: Words) -> str:
    rows = words.get("changed_by_chance", "trials_moved")
    if not rows:
        return _sentences(words.facts(), "chance")
    most = max(max(row["observed"], row["expected"]) for row in rows) or 1
    body = "".join(_row(f"at least {row['at_least']}", _bar(row["observed"], most, row["expected"]),
                        _numbers(row["observed"], words.plain(row["expected"], 2))) for row in rows)
    return _table("Cases that moved by so many trials <span>bar: observed; line: expected by chance</span>",
                  _heads("Trials", "drawn", "#observed", "#expected"), f"<tbody>{body}</tbody>", "small")


# === The page: the rest, and the whole ===


def _measures_table(words: Words) -> str:
    def number(value: float | None, sign: str = "") -> str:
        return NOT_MEASURED if value is None else f"{value:{sign},.6g}".replace("-", words.minus)

    body = "".join(_row(_esc(name), _numbers(row["cases"], *(number(row[side]) for side in SIDES), *(
        number(value, "+") for value in (row["difference"], *(row["interval_95"] or (None, None))))))
        for name, row in (words.get("measures") or {}).items())
    head = _heads("Measure", "#cases", "#before", "#after", "#diff.", "#from", "#to")
    return _table("What else differs, mean a case, with its 95% interval", head, f"<tbody>{body}</tbody>",
                  "small") if body else ""


def _plan_section(words: Words) -> str:
    half, plan, variance = (words.get(key) or {} for key in ("half_width", "plan", "variance"))
    names = {"now": "nothing", "twice_cases": "twice the cases", "twice_trials": "twice the trials",
             "endless_trials": "endless trials", "twice_groups": "twice the source groups"}
    most = max(half.get(key) or 0 for key in names) or 1
    body = "".join(_row(name, _bar(half.get(key) or 0, most), _numbers(words.plain(half.get(key))))
                   for key, name in names.items())
    out = _table("Half of the 95% interval’s width, and what would narrow it", _heads("Bought", "drawn", "#half-width"),
                 f"<tbody>{body}</tbody>", "small")
    if plan:
        wanted = [f"{plan[key]} {name}" for key, name in (("source_groups", "source groups"), ("cases", "cases"),
                                                         ("trials", "trials a case")) if plan.get(key) is not None]
        out += (f"<p>A half-width of {words.plain(plan['half_width'])} needs {' or '.join(wanted) or NOT_MEASURED}"
                + _esc(f" ({plan['reason']})" if plan.get("reason") else "") + ".</p>")
    parts = (("between_sources", "variance between sources", 6), ("between_cases", "variance between cases", 6),
             ("sampling", "variance of one trial", 6), ("standard_error_case", "standard error by case", 4),
             ("standard_error_source", "standard error by source", 4), ("design_effect", "design effect", 4))
    cells = "".join(f"<div><dt>{name}</dt><dd>{words.plain(variance.get(key), places)}</dd></div>"
                    for key, name, places in parts)
    reasons = dict.fromkeys(found["reason"] for found in (half, variance) if found.get("reason"))
    return (out + _sentences(words.facts(), "detectable") + f'<dl class="facts">{cells}</dl>'
            + "".join(f"<p>Not measured: {_esc(reason)}.</p>" for reason in reasons))


def _warnings_section(words: Words) -> str:
    items = "".join(f"<li>{_esc(message)}; <b>{_esc(advice)}</b></li>" for message, advice in words.warnings())
    return f"<ol>{items}</ol>" if items else "<p>None.</p>"


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a manifest holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path} {key}")
    elif value is not None:
        yield path.replace("_", " "), clean(value)


def _measured_section(words: Words, manifests: Sequence[dict[str, Any]]) -> str:
    rows = words.recipe()
    if manifests:
        sides: list[dict[str, str]] = [dict(_flat(manifest, "run")) for manifest in manifests]
        rows += [(key, sides[0].get(key, "–"), sides[1].get(key, "–"))
                 for key in dict.fromkeys((*sides[0], *sides[1]))]
    body = "".join(_row(_esc(name), f'<td colspan="2">{_esc(one)}</td>' if one == other else
                        f"<td>{_esc(one)}</td><td>{_esc(other)}</td>") for name, one, other in rows)
    out = _table("All that decides the figures; one value where both sides share it",
                 _heads("What", "Baseline", "Candidate"), f"<tbody>{body}</tbody>", "measured")
    for key, what in (("excluded", "cases were left out"), ("uneven_trials", "cases have uneven numbers of trials")):
        found = words.get(key) or []
        items = "".join(f"<li>{_esc(', '.join(f'{name} {clean(value)}' for name, value in row.items()))}</li>"
                        for row in found[:PAGE_ROWS])
        out += f"<details><summary>{len(found)} {what}</summary><ul>{items}</ul></details>" if found else ""
    return out


def html_report(comparison: dict[str, Any], panel: Sequence[dict[str, Any]] = (),
                manifests: Sequence[dict[str, Any]] = ()) -> str:
    """Return a comparison as one HTML page that needs no network and no script.

    panel is record_panel's rows, or their like from trial logs; manifests are the two run records' own. Without them
    the page shows what the comparison holds.
    """
    words = Words(comparison, minus="−")
    left_out = {row["case_id"] for row in words.get("excluded") or ()}
    panel = [row for row in panel if row["case_id"] not in left_out]
    (word, sentences), overall, pairs = words.verdict(), words.overall, words.get("trial_pairs")
    facts = [("difference", words.signed(words.difference), "candidate minus baseline")]
    for side in SIDES:
        what = [clip(clean(words.get(side, key)), 60) for key in ("model", "prompt") if words.get(side, key)]
        facts.append((side, words.plain(overall.get(side)), " · ".join([words.side(side), *what])))
    if pairs:
        both = pairs["both_pass"]
        facts.append(("trials that pass", f"{both + pairs['only_baseline']} → {both + pairs['only_candidate']}",
                      f"of {sum(pairs.values())}"))
    better, worse, same = words.counts.split(", ")
    facts.append(("cases", f"{better}, {worse}", same))
    sections = [("noise", "Is it larger than the noise?", _noise_section(words)),
                ("where", "Where did it come from?", _panel_section(words, panel)),
                ("whom", "Whom does it help?", _slices_section(words)),
                ("next", "What to buy next", _plan_section(words)),
                ("warnings", f"Warnings ({len(words.warnings())})", _warnings_section(words)),
                ("measured", "How it was measured", _measured_section(words, manifests))]
    title = _esc(f"{words.side('candidate')} against {words.side('baseline')}")
    known = "".join(f"<div><dt>{name}</dt><dd>{_esc(value)} <small>{_esc(note)}</small></dd></div>"
                    for name, value, note in facts)
    nav = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    main = "".join(f'<section id="{key}"><h2>{name}</h2>{inner}</section>\n' for key, name, inner in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_esc(word)}: {title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="subject"><b>{title}</b> {_esc(words.subject())}</p>
<h1 class="{word if word in ("better", "worse", "undecided") else "other"}">{_esc(word[:1].upper() + word[1:])}</h1>
<p class="lead">{_esc(sentences)}</p>
<dl class="facts">{known}</dl>
<nav aria-label="Sections">{nav}</nav>
</header>
<main>
{main}</main>
<footer><p>Made by report.py {harness.TOOL_VERSION}; the figures are those of comparison.json.</p></footer>
</body>
</html>
"""


# === Command line ===


def read_comparison(path: str) -> dict[str, Any]:
    """Return a comparison file's value; raise RunError for another kind of file or another version."""
    comparison: dict[str, Any] = harness.read_json(path)
    if harness.kind_of(comparison) != "a comparison":
        raise harness.RunError(f"{path} is {harness.kind_of(comparison)}, not a comparison; make one with compare.py")
    if comparison["comparison_version"] != "1":
        raise harness.RunError(f"{path}: comparison_version {comparison['comparison_version']!r}; this tool reads '1'")
    return comparison


def check_belongs(comparison: dict[str, Any], records: Sequence[dict[str, Any]], paths: Sequence[str]) -> None:
    """Raise RunError unless the comparison was made from these two run records, baseline first."""
    for side, record, path in zip(SIDES, records, paths):
        for what, ours in (("case_set", comparison["case_set"]), ("system", comparison[side])):
            theirs = record["manifest"][what]
            if ours != theirs:
                raise harness.RunError(f"{path}: its {what} is {json.dumps(theirs)}, the comparison's {side} has "
                                       f"{json.dumps(ours)}; give the records it was made from, baseline first")


def build_parser() -> argparse.ArgumentParser:
    parser = harness.command_parser(__doc__, "report.py")
    parser.add_argument("comparison", metavar="COMPARISON.json", help="what compare.py wrote")
    parser.add_argument("--runs", nargs=2, metavar=("BASELINE.json", "CANDIDATE.json"),
                        help="its run records, for the trials on the page")
    parser.add_argument("--cases", metavar="FILE", help="the case set of the run records, needed with them")
    parser.add_argument("--table", action="store_true", help="print it as text (the default where no file is named)")
    parser.add_argument("--markdown", metavar="FILE", help="write it as Markdown for a pull request comment")
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML page")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if bool(args.runs) != bool(args.cases):
        parser.error("--runs and --cases go together")
    for path in filter(None, (args.markdown, args.html)):
        harness.check_folder(path)
    comparison, panel, manifests = read_comparison(args.comparison), [], []
    if args.runs:
        baseline, candidate = (harness.read_record(path) for path in args.runs)
        case_set = harness.load_cases(args.cases)
        harness.compare(baseline, candidate, case_set, args.runs)
        check_belongs(comparison, (baseline, candidate), args.runs)
        panel, manifests = record_panel(baseline, candidate, case_set), [baseline["manifest"], candidate["manifest"]]
    if args.table or not (args.markdown or args.html):
        sys.stdout.write(text_report(comparison, **terminal_settings(sys.stdout)))
    if args.markdown:
        harness.write(args.markdown, markdown_report(comparison))
    if args.html:
        harness.write(args.html, html_report(comparison, panel, manifests))
    return 0


# === The page's style: system fonts, blue for gains and orange for losses, light and dark, print ===

STYLE = """
:root{--paper:#fcfcfb;--ink:#1c2126;--soft:#5b646d;--line:#dcdfe2;--band:#efede6;--up:#0a5ea8;--down:#b03a06;
--hold:#7a5a00;--up-tint:#dcebf8;--down-tint:#fbe6da;--bar:#7d9cba;--tail:#cfdae5}
@media screen and (prefers-color-scheme:dark){:root{
--paper:#15181b;--ink:#e4e7ea;--soft:#a0a9b2;--line:#32383e;--band:#262521;
--up:#74b8f5;--down:#ff9c6b;--hold:#e3b341;--up-tint:#16324c;--down-tint:#4a2614;--bar:#5d84aa;--tail:#2f4357}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:78rem;padding:1.5rem clamp(1rem,3vw,2.5rem) 4rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums;
overflow-wrap:break-word}bdi,pre,.measured td,.trials td{overflow-wrap:anywhere}
h1{margin:.1rem 0 .2rem;font-size:2.4rem;line-height:1.15;letter-spacing:-.02em}
h1.better{color:var(--up)}h1.worse{color:var(--down)}h1.undecided{color:var(--hold)}
h2{margin:0 0 .8rem;font-size:1.3rem;line-height:1.25;letter-spacing:-.01em}
main{counter-reset:question}#noise h2::before,#where h2::before,#whom h2::before{counter-increment:question;
content:counter(question);display:inline-block;min-width:1.5em;color:var(--soft);font-weight:400}
section{margin-top:2.6rem;padding-top:1.1rem;border-top:1px solid var(--line)}
p{margin:.5rem 0;max-width:72ch}small,.subject,.legend,caption span,footer,dt{color:var(--soft);font-size:13px}
.subject,.legend{max-width:none}.subject b{color:var(--ink);margin-right:.6em}.lead{font-size:1.1rem;line-height:1.45}
a{color:var(--up)}nav{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin-top:1rem;font-size:14px}
:focus-visible{outline:2px solid var(--up);outline-offset:2px;border-radius:2px}
.facts{display:flex;flex-wrap:wrap;gap:.8rem 2.2rem;margin:1.1rem 0}.facts div{max-width:21rem}
dd{margin:0;font-size:1.15rem;line-height:1.35}dd small{display:block;line-height:1.4}
.scroll{overflow-x:auto;margin:.6rem 0 1rem;container-type:inline-size}
table{border-collapse:collapse;width:100%;font-size:14px;line-height:1.35}
caption{padding:0 0 .4rem;text-align:left;font-weight:600}caption span{margin-left:.6em;font-weight:400}
th,td{padding:.28rem .6rem .28rem 0;text-align:left;vertical-align:top;font-weight:400}
tbody th small{display:block;line-height:1.3}
thead th{color:var(--soft);font-size:13px;vertical-align:bottom;border-bottom:1px solid var(--line)}
tbody tr+tr>*{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.n{text-align:right;padding-left:.6rem;white-space:nowrap}.null{color:var(--soft);font-style:italic;white-space:normal}
.up{color:var(--up)}.down{color:var(--down)}.none{color:var(--soft)}
.tag{padding:.05em .45em;border:1px solid;border-radius:1em;font-size:11.5px;font-weight:600;color:var(--up)}
.plot{position:relative;padding:0}.fill{position:absolute;inset:0;width:100%;height:100%}svg,svg svg{overflow:visible}
.plotted .plot{width:46%;min-width:10rem}.plotted thead .plot{height:46px}.plotted tbody td{vertical-align:middle}
.plotted .span{width:11rem}.tall{height:120px}.plotted .tall>*{vertical-align:bottom}
.plotted th[scope=row]{min-width:9rem}.slices .plot{width:27%}.slices .span{width:auto}
.slices th[scope=row]{min-width:clamp(9rem,22vw,17rem)}
.small{width:auto;min-width:min(100%,26rem)}.small .plot{width:11rem}.small th[scope=row]{white-space:nowrap}
.pair{display:flex;flex-wrap:wrap;gap:0 3rem}.pair .scroll{flex:1 1 24rem}
text{fill:var(--soft);font-size:12px}.tick{text-anchor:middle}.end{text-anchor:end}
.band{fill:var(--band)}.grid{stroke:var(--line)}.zero{stroke:var(--ink)}.gain{stroke:var(--up);stroke-dasharray:3 3}
.ci,.cap{fill:none;stroke:var(--ink);stroke-width:2}.contrast.ci,.contrast.cap{stroke:var(--soft);stroke-width:1.5}
.decides.ci,.decides.cap{stroke:var(--up)}.decides.ci{stroke-width:5}
.noise.ci{stroke:var(--bar);stroke-width:8}.noise.cap{display:none}
.point{fill:var(--ink);stroke:var(--paper);stroke-width:1.5}.hollow.point{fill:var(--paper);stroke:var(--ink)}
.thin{stroke:var(--soft);stroke-width:1.5;transform:translateY(8px)}
.edge{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:2 2}
.bar{fill:var(--bar)}.tail{fill:var(--tail)}rect.up{fill:var(--up)}rect.down{fill:var(--down)}
.mark{width:14px;height:14px;vertical-align:-2px}.strip{display:block;max-width:none;height:auto}
.pass{stroke:var(--up);stroke-width:9;stroke-linecap:round}.fail{fill:none;stroke:var(--down);stroke-width:2}
.incomplete{fill:none;stroke:var(--soft);stroke-width:2}.score{stroke:var(--up);stroke-width:8}
.won{fill:var(--up-tint)}.lost{fill:var(--down-tint)}
.panel{table-layout:fixed}.panel thead .n{width:5.2rem}
.panel thead .wide:nth-last-child(3){width:8rem;text-align:center}
.panel tbody>tr>*{padding-top:.55rem}.panel tr>td:has(.strip){padding-top:.3rem}.panel th[scope=row]{padding-left:.8rem}
.panel a{padding-left:1.15em}.same>*{color:var(--soft)}
.panel .across th{padding:.9rem 0 .3rem .8rem;color:var(--soft);font-size:13px}.across b{color:var(--ink)}
.group tr>:first-child{position:relative}.group tr>:first-child::before{content:"";position:absolute;left:0;top:0;
bottom:-1px;width:7px;border-left:1.5px solid var(--soft)}
.group tr:first-child>:first-child::before{top:1.1rem;border-top:1.5px solid var(--soft)}
.group tr:last-child>:first-child::before{bottom:.5rem;border-bottom:1.5px solid var(--soft)}
.slices th[scope=rowgroup]{padding:.7rem 0 .2rem;font-weight:600}.slices th[scope=row]{padding-left:.8rem}
summary{cursor:pointer}.panel summary:hover bdi{text-decoration:underline}
.in{position:relative;z-index:1;width:calc(100cqw - .9rem);margin:.5rem 0 1rem;padding:.6rem 1rem;
background:var(--paper);border-left:3px solid var(--up);color:var(--ink)}
.trials{table-layout:fixed}.trials th:first-child{width:5.5rem}
.trials th[scope=row],.trials tbody>tr>*{padding:.3rem .6rem .3rem 0}.in p{margin:.2rem 0}
pre,code,.measured td{font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
pre{margin:.2rem 0 .5rem;white-space:pre-wrap}
del{background:var(--down-tint);text-decoration:underline dashed var(--down)}
ins{background:var(--up-tint);text-decoration:underline var(--up)}del,ins{text-underline-offset:3px}
.measured th{width:13rem}
@media (max-width:44rem){.panel .wide,.odd{display:none}.small .plot{width:7rem}h1{font-size:2rem}
.plotted th[scope=row]{min-width:7.5rem}
.plotted .span{width:auto;white-space:normal}.slices .plot,.plotted .plot{min-width:8.5rem}}
@media print{:root{--paper:#fff}body{max-width:none;padding:0}body,table{font-size:11px}small,.legend,caption span,dt,
thead th,text,.tag{font-size:10px}.lead,dd{font-size:13px}nav,.odd{display:none}
.scroll{overflow:visible}.slices .plot{min-width:8rem}
tr{break-inside:avoid}h2,caption{break-after:avoid}section{margin-top:1.4rem}*{print-color-adjust:exact}}
"""


if __name__ == "__main__":
    sys.exit(harness.run_command(main))
