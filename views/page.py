"""What does a comparison look like? One HTML page that needs no network, from a phone to a wide screen.

    $ python3 report.py runs/comparison.json --runs runs/qwen-coder-v1.json runs/qwen-coder-v2.json \\
          --cases cases-robustness.json --html runs/comparison.html

Sentences, tables and their order are those of words.py; here are their look, the trials of the cases, and the change
word by word. page.html is the frame of the page, page.css its look; page.js filters and sorts the cases; without it
the same ones are shown.
"""

import base64
import difflib
import hashlib
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from core.files import TOOL_VERSION, clean, only_value
from core.trials import SIDES, ComparedCase, Score, Trial, kept_text
from views.words import (
    Block, Scale, SideBySide, Story, Table, TableRow, Words, beside, case_note, count_of, joined, sentence, shortened)

MOST_ROWS = 1_000  # of a table; of more the first and the last are shown
OPENED_BYTES = 2_000_000  # of opened cases, so that a page of 10,000 cases stays under 6 MB
DRAWN_TRIALS = 30  # of a case's row; a case that opens lists them all
SHOWN_CHARACTERS = 4_000  # of one input or output
MARKED_WORK = 30_000_000  # pairs of words that difflib may compare, about a second
LINKED_CASES = 20  # of a source or slice
LINES = ' class="lines"'  # of a mark around whole lines
WORD = re.compile(r"\w+")

PAGE, STYLE, SCRIPT = beside("page.html"), beside("page.css"), beside("page.js")

# === Cells and rows ===


def _esc(text: str) -> str:
    """Return a text as HTML; its line breaks stay, whatever else steers a screen is spelled out."""
    return escape(clean(text, keep="\n\t"))


def _cell(head: str, text: str, sign: str = "", tag: str = "td") -> str:
    """Return a cell of a column; those of figures, whose heads are marked # or ~, are aligned to the right."""
    classes = joined({"#": "n", "~": "n wide"}.get(head[:1]), sign, by=" ")
    attribute = f' class="{classes}"' if classes else ""
    return f"<{tag}{attribute}>{_esc(text)}</{tag[:2]}>"


def _heads(*heads: str) -> str:
    return "".join(_cell(head, head.lstrip("#~"), tag='th scope="col"') for head in heads)


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{summary}</summary>{inner}</details>"


# === Drawings on one scale ===


class _Plot:
    """Drawings on one scale, each filling its table cell; places across are shares of the cell's width."""

    def __init__(self, scale: Scale, edges: Sequence[float]):
        self.scale = scale
        marks = [("grid", tick) for tick, _ in scale.ticks] + [("edge", edge) for edge in edges] + [("zero", 0)]
        self.ground = "".join(f'<line class="{kind}" x1="{self.at(x)}" x2="{self.at(x)}" y1="0" y2="100%"/>'
                              for kind, x in marks)

    def at(self, value: float) -> str:
        return f"{100 * self.scale.at(value):.2f}%"

    def head(self) -> str:
        """Return the head of the column: which way is better, and the ticks with their labels."""
        ticks = self.scale.ticks
        drawn = "".join(f'<text class="tick" x="{self.at(tick)}" y="27">{label}</text>' for tick, label in ticks)
        return (f'<th scope="col" class="plot"><svg class="fill" role="img"><title>Ticks from {ticks[0][1]} to '
                f'{ticks[-1][1]}, candidate minus baseline</title><text x="0" y="11">← worse</text>'
                f'<text class="end" x="100%" y="11">better →</text>{drawn}</svg></th>')

    def cell(self, row: TableRow) -> str:
        """Return a table cell filled by what a row draws; its title is what a screen reader says of it."""
        drawn = self.ground + self.dots(row.dots)
        if row.ends:
            low, high = map(self.at, row.ends)
            kind = "ci decides" if row.decides else "ci"
            drawn += f'<line class="{kind}" x1="{low}" x2="{high}" y1="50%" y2="50%"/>'
            drawn += "".join(f'<svg x="{end}" y="50%"><path class="cap" d="M0-5v10"/></svg>' for end in (low, high))
        if row.change is not None:
            drawn += f'<circle class="point" cx="{self.at(row.change)}" cy="50%" r="4.5"/>'
        title = _esc(joined(*row.cells.values(), by=", "))
        return f'<td class="plot"><svg class="fill" role="img"><title>{title}</title>{drawn}</svg></td>'

    def dots(self, values: Sequence[float]) -> str:
        """Return a dot for each value; those of one place are stacked."""
        stacks: dict[int, list[float]] = {}
        for value in values:
            stacks.setdefault(round(60 * self.scale.at(value)), []).append(value)
        step = min(16.0, 90 / max(map(len, stacks.values()), default=1))
        return "".join(f'<circle class="dot" cx="{self.at(value)}" cy="{50 + step * (i - (len(stack) - 1) / 2):.1f}%" '
                       f'r="{min(4.0, step / 2):.1f}"/>' for stack in stacks.values() for i, value in enumerate(stack))


def _row(row: TableRow, drawn: str = "", opened: str = "", attributes: str = "") -> str:
    """Return a table row: its name, which opens or is a link, its drawing, its other cells."""
    name = f"<bdi>{_esc(row.name)}</bdi>"
    if row.link:
        name = f'<a href="{_esc(row.link)}">{name}</a>'
    if row.note:
        name += f"<small>{_esc(row.note)}</small>"
    if opened:
        name = _folded(name, opened)
    _, *others = row.cells.items()
    cells = "".join(_cell(head, cell, row.direction if head == "#difference" else "") for head, cell in others)
    return f'<tr{attributes}><th scope="row">{name}</th>{drawn}{cells}</tr>'


def _table(table: Table, kind: str, drawn: str, row_of: Callable[[TableRow], str]) -> str:
    """Return a table with the head of its drawings, and below it the rows that it folds away."""
    def framed(caption: str, rows: Sequence[TableRow]) -> str:  # in a box that scrolls by itself where it is too wide
        name, *others = rows[0].cells
        body = "".join(map(row_of, shortened(rows, MOST_ROWS)))
        return (f'<div class="scroll" role="region" aria-label="{_esc(caption)}" tabindex="0"><table class="{kind}">'
                f"<caption>{_esc(caption)}</caption><thead><tr>{_heads(name)}{drawn}{_heads(*others)}</tr></thead>"
                f"<tbody>{body}</tbody></table></div>")

    shown = framed(table.caption, table.rows) if table.rows else ""
    return shown + (_folded(_esc(table.more_caption), framed(table.more_caption, table.more)) if table.more else "")


# === Differences between texts ===


class _Marker:
    """Marks what differs between two texts, as long as its budget lasts: difflib's work is quadratic."""

    def __init__(self) -> None:
        self.work = MARKED_WORK

    def pieces(self, old: str, new: str) -> list[tuple[str, str]]:
        """Return the texts as HTML in (old, new) pieces: by words; where they share less than half of these, by lines.

        By lines, too, where the texts are too long for words; whole where no line is shared either.
        """
        if old == new:
            return [_marked(old, new, "")]
        shorter, longer = sorted(len(WORD.findall(text)) for text in (old, new))
        half = max(shorter // 2, longer // 8)  # of the words of a far longer text some are shared by chance
        for pattern, attribute, least in ((r"\w+|\s+|.", "", half), (r"[^\n]*\n?", LINES, 1)):
            before, after = (re.findall(pattern, text, re.DOTALL) for text in (old, new))
            repeats = len(after) // (4 * len(set(after)) + 1)  # a text that repeats itself takes that much longer
            work = len(before) * len(after) * max(1, repeats)
            if work > self.work:
                continue
            self.work -= work
            matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
            pieces = [("".join(before[a:b]), "".join(after[c:d])) for _, a, b, c, d in matcher.get_opcodes()]
            shared = WORD.findall(" ".join(one for one, other in pieces if one == other))
            if len(shared) >= least:
                return [_marked(*piece, attribute) for piece in pieces]
        return [_marked(old, new, LINES)]


def _marked(old: str, new: str, attribute: str) -> tuple[str, str]:
    if old == new:
        return escape(old), escape(new)
    return (f"<del{attribute}>{escape(old)}</del>" if old else "",
            f"<ins{attribute}>{escape(new)}</ins>" if new else "")


def _sides(both: SideBySide, marker: _Marker) -> str:
    """Return what both sides say of one thing: what is gone struck through, what is new underlined or a tinted line."""
    pieces = marker.pieces(both.baseline, both.candidate)
    marked = "".join(old if old == new else old + new for old, new in pieces)
    return f'<div class="sides"><span>{_esc(both.name)}</span><pre>{marked}</pre></div>'


# === Cases with all their trials ===

# A trial's mark, from its centre: pass a filled dot, fail a ring, incomplete a cross. Other scores are columns.
TRIAL_MARKS = {"pass": "h.01", "fail": "m-4,0a4,4 0 1,0 8,0a4,4 0 1,0-8,0", "incomplete": "m-3.5-3.5l7,7m0-7l-7,7"}


def _mark(verdict: str) -> str:
    """Return a trial's verdict with its mark, a score as it is."""
    if verdict not in TRIAL_MARKS:
        return f"score {verdict}"
    return (f'<svg class="mark" viewBox="0 0 14 14" aria-hidden="true"><path class="{verdict}" '
            f'd="M7,7{TRIAL_MARKS[verdict]}"/></svg> {verdict}')


def _shown(value: object) -> str:
    """Return an input or output as text of bounded length; of an input that is only a text, this text."""
    text = clean(kept_text(value) or "", keep="\n\t")
    return f"{text[:SHOWN_CHARACTERS]}… (the rest is left out here)" if len(text) > SHOWN_CHARACTERS else text


def _address(case_id: str) -> str:
    return "case-" + quote(case_id, safe="", errors="surrogatepass")


Matched = list[tuple[Trial | None, Trial | None]]  # the baseline's, the candidate's; None: none


def _matched(*sides: Sequence[Trial]) -> Matched:
    """Return the trials of a case side by side: those of one seed, or without seeds of one place."""
    before, after = ({place if trial.seed is None else f"{trial.seed}": trial for place, trial in enumerate(side)}
                     for side in sides)
    return [(before.get(key), after.get(key)) for key in before | after]


class _Panel:
    """The cases' rows, as long as the page's budgets for opened cases and for marking differences last.

    Their trials are those of the pair as it was read, unscored ones included; most cases of a large one are not shown.
    """

    def __init__(self, words: Words, marker: _Marker):
        self.words, self.marker, self.room = words, marker, OPENED_BYTES
        sides = [side.trials for side in words.pair.sides] if words.pair else [[], []]
        self.passes = (words.low, words.high) == (0, 1) and all(
            trial.score in (0, 1, None) for side in sides for case in side for trial in case)
        excluded = {row["case_id"] for row in words.all["excluded"]}
        compared = {name: case for name, case in words.recorded.items() if name not in excluded}
        changed = {row["case_id"]: ComparedCase(row["case_id"], row["source"], ()) for row in words.changed}
        self.cases = changed | compared
        names = dict.fromkeys([*words.recorded, *(row["case_id"] for row in words.all["cases"])])
        self.places = {name: place for place, name in enumerate(names)}  # in the comparison's order of cases
        blank = {"~baseline": "", "~candidate": "", "#difference": words.signed(0), "~by chance": ""}  # as above them
        same = [TableRow({"Case": name} | blank, change=0, key=name) for name in compared if name not in changed]
        self.table = Table("cases", "Changed cases", shortened([*map(words.case, words.changed)], MOST_ROWS),
                           shortened(same, MOST_ROWS), f"{count_of(len(same), 'case')} that did not change")
        recorded = dict(zip(words.recorded, zip(*sides, strict=True), strict=True))  # the trials of both sides
        self.trials = {row.key: _matched(*recorded.get(row.key, ((), ())))
                       for row in (*self.table.rows, *self.table.more) if row.key}
        self.drawn = min(max(map(len, self.trials.values()), default=0), DRAWN_TRIALS)
        self.members: dict[Any, list[str]] = {}  # the cases of each source, and of each slice
        for case in self.cases.values():
            for key in (case.source, *case.tags):
                self.members.setdefault(key, []).append(case.id)

    def score(self, trial: Trial | None) -> Score | float | None:
        """Return what a trial counts in the comparison, None where it is not there or was dropped."""
        if trial is None or trial.score is None and self.words.all["missing"] == "drop":
            return None
        return self.words.low if trial.score is None else trial.score

    def verdict(self, trial: Trial) -> str:
        """Return pass, fail or incomplete, or the score of a trial where scores are neither."""
        if trial.score is None:
            return "incomplete"
        if self.passes:
            return "pass" if trial.score else "fail"
        return self.words.plain(float(trial.score))

    def links(self, key: Any) -> str:
        """Return links to the first cases of a source or slice; nothing for another row."""
        names = self.members.get(key, []) if key else []
        linked = [name for name in names if name in self.trials][:LINKED_CASES]
        links = ", ".join(f'<a href="#{_address(name)}"><bdi>{_esc(name)}</bdi></a>' for name in linked)
        more = f" and {len(names) - len(linked)} more" if len(names) > len(linked) else ""
        return f'<div class="links">{links}{more}</div>' if linked else ""

    def shown(self) -> str:
        """Return the tables of the cases, below what their marks mean."""
        drawn = f'<th scope="col" class="strips">Trials 1 to {self.drawn}</th>' if self.drawn else ""
        width = max(84, 14 * self.drawn + 14) if self.drawn else 0  # of that column, in pixels
        tables = _table(self.table, "cases", drawn, self.case)  # before explained(), which asks what did not open
        return (f'<p class="legend">{self.explained()}</p><div id="all-cases" data-n="{len(self.cases)}" '
                f'style="--strips:{width}px">{tables}</div>')

    def case(self, row: TableRow) -> str:
        """Return the table row of a case: its trials, what it opens to while the budget lasts, what filters ask."""
        trials = self.trials.get(row.key, [])
        strip = f"<td>{self.strip(trials) if trials else ''}</td>" if self.drawn else ""
        if row.key is None:  # it stands for those left out
            return _row(row, strip)
        case, inner = self.cases[row.key], ""
        if trials and self.room > 0:
            inner = self.inside(case, trials)
            self.room -= len(inner.encode())
        flags = [row.direction]
        scores = [float(score) for _, after in trials if (score := self.score(after)) is not None]
        if 0 < scores.count(self.words.high) < len(scores):
            flags.append("unsteady")
        if any(trial and trial.score is None for both in trials for trial in both):
            flags.append("incomplete")
        slices = "\n".join(clean(f"{tag}: {value}") for tag, value in case.tags
                           if value in self.words.all["slices"].get(tag, ()))
        return _row(row._replace(note=case_note(case)), strip, inner,
                    f' id="{_address(case.id)}" data-f="{" ".join(flags)}" data-d="{row.change:.4g}" '
                    f'data-i="{self.places[case.id]}" data-t="{escape(slices)}" data-s="{_esc(case.source or "")}"')

    def strip(self, trials: Matched) -> str:
        """Return all trials of a case: the baseline's line above the candidate's, a seed a column."""
        shown, paths = trials[:self.drawn], dict.fromkeys(("won", "lost", *TRIAL_MARKS, "score"), "")
        for i, both in enumerate(shown):
            before, after = map(self.score, both)
            if before is not None and after is not None and before != after:
                paths["won" if after > before else "lost"] += f"M{14 * i + .5},0h13v28h-13z"
            for trial, y in zip(both, (7, 21), strict=True):
                if trial and (verdict := self.verdict(trial)) in TRIAL_MARKS:
                    paths[verdict] += f"M{14 * i + 7},{y}{TRIAL_MARKS[verdict]}"
                elif trial:
                    height = 11 * (float(trial.score or 0) - self.words.low) / (self.words.high - self.words.low)
                    paths["score"] += f"M{14 * i + 7},{y + 6}v-{1 + height:.1f}"
        title = "; ".join(f"{side}: {', '.join(map(self.verdict, filter(None, tried)))}"
                          for side, tried in zip(SIDES, zip(*shown, strict=True), strict=True))
        drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
        return (f'<svg class="strip" width="{14 * self.drawn}" height="28" role="img"><title>{title}</title>{drawn}'
                "</svg>")

    def inside(self, case: ComparedCase, trials: Matched) -> str:
        """Return what a case was: its tags, input, what was expected, and each trial's outcomes side by side."""
        tags = [f"{tag}: {value}" for tag, value in (("source", case.source), *case.tags) if value is not None]
        about = f'<p class="soft">{_esc(" · ".join(tags))} <a href="#{_address(case.id)}">link to this case</a></p>'
        for name, value in (("Input", only_value(case.input)), ("Expected", case.expected)):
            if value is not None:
                about += f"<p><b>{name}</b></p><pre>{escape(_shown(value))}</pre>"
        body, outputs = "", "their outputs were not recorded"
        for number, both in enumerate(trials, start=1):
            if any(trial and trial.output is not None for trial in both):
                outputs = "what differs between two outputs is marked"
            texts = [_shown(trial and trial.output) for trial in both]
            marked = map("".join, zip(*self.marker.pieces(*texts), strict=True))
            seed = next(trial.seed for trial in both if trial)
            small = "" if seed is None else f"<small>seed {_esc(str(seed))}</small>"
            body += f'<tr><th scope="row">{number}{small}</th>{"".join(map(self.outcome, both, marked))}</tr>'
        return (f'<div class="in">{about}<table class="trials"><caption>Trials; {outputs}</caption><thead><tr>'
                f'{_heads("Trial", "Baseline", "Candidate")}</tr></thead><tbody>{body}</tbody></table></div>')

    def outcome(self, trial: Trial | None, marked: str) -> str:
        """Return the cell of one trial of one side: its verdict or score, what was said of it, its output."""
        if trial is None:
            return "<td>no such trial</td>"
        reasons = "".join(f": {escape(_shown(text))}" for text in (trial.reason, trial.explanation) if text)
        output = f"<pre>{marked}</pre>" if marked else ""
        return f'<td><p class="said">{_mark(self.verdict(trial))}{reasons}</p>{output}</td>'

    def explained(self) -> str:
        """Return what the marks of the trials mean, or why there are none."""
        if not self.drawn:
            with_runs = ", or report.py with --runs," if self.words.all["task"]["name"] else ""  # trial logs have none
            return f"The trials are in the runs: compare.py --html{with_runs} shows them here."
        marks = ", ".join(map(_mark, TRIAL_MARKS)) + ("" if self.passes else ", other scores as columns")
        limits = "" if self.room > 0 else "; to keep the page small, the last of them do not open"
        if len(self.cases) > len(self.trials):
            limits += "; of so many some are left out, all that changed are in the comparison’s JSON"
        return (f"{marks}: the baseline’s trials above, the candidate’s with the same seeds below; a pair that differs "
                f"is tinted. Open a case to read it{limits}.")


# === The whole ===


def _block(block: Block, story: Story, panel: _Panel | None, marker: _Marker) -> str:
    """Return a sentence, what both sides say, or a table; in the rows of sources and slices links to their cases."""
    if isinstance(block, str):
        return f"<p>{_esc(block)}</p>"
    if isinstance(block, SideBySide):
        return _sides(block, marker)
    if panel and block.key == "cases":
        return panel.shown()
    plot = _Plot(scale, story.edges) if (scale := story.scale(block)) else None
    kind, drawn = (f"{block.key} plotted", plot.head()) if plot else (block.key, "")
    return _table(block, kind, drawn, lambda row: _row(
        row, plot.cell(row) if plot else "", panel.links(row.key) if panel else ""))


def story_html(story: Story) -> str:
    """Return a story as one HTML page; one of a single comparison opens its cases."""
    marker = _Marker()
    panel = _Panel(story.words, marker) if story.words else None
    nav = "".join(f'<a href="#{key}">{_esc(heading)}</a>' for key, heading, _ in story.sections)
    main = ""
    for key, heading, blocks in story.sections:
        inner = "".join(_block(block, story, panel, marker) for block in blocks)
        main += f'<section id="{key}"><h2>{_esc(heading)}</h2>{inner}</section>\n'
    lead = "".join(f"<p>{_esc(line)}</p>" for line in story.lead)
    if story.gate:
        lead += f'<p class="gate">{_esc(sentence(story.gate))}</p>'
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return PAGE.format(
        allowed=allowed, verdict=_esc(sentence(story.verdict)[:-1]), title=_esc(story.title),
        subject=_esc(story.subject), nav=nav, lead=lead, main=main, style=STYLE, script=SCRIPT, version=TOOL_VERSION)
