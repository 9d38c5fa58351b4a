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
import pkgutil
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby, islice
from typing import Any, NamedTuple
from urllib.parse import quote

from core.files import TOOL_VERSION, clean
from core.trials import ComparedCase, Pair, Score, Trial
from views.words import (
    MOST_ROWS, NOT_MEASURED, SIDES, Draw, Scale, Story, Table, TableRow, Words, count_of, ends_of, sentence)

OPENED_BYTES = 2_500_000  # of opened cases, so that a page of 10,000 cases stays under 6 MB
LINKED_BYTES = 500_000  # of the links from sources and slices to their cases, for the same reason
DRAWN_TRIALS = 50  # of a case's row; a case that opens lists them all
SHOWN_CHARACTERS = 4_000  # of one input or output
MARKED_WORK = 30_000_000  # pairs of words that difflib may compare, about a second
OPEN_UP_TO = 100  # unchanged cases that are not folded away
LINKED_CASES = 50  # of a source or slice


def _file(name: str) -> str:
    return (pkgutil.get_data("views", name) or b"").decode()  # from a zip, too


PAGE, STYLE, SCRIPT = _file("page.html"), _file("page.css"), _file("page.js")

# === Cells and rows ===


def _esc(value: object, keep: str = "") -> str:
    return escape(clean(value, keep))


def _text(text: str) -> str:
    """Return a text that may hold what a user typed: its hyphens stay, so that it can be copied."""
    return _esc(text, keep="\n\t")


def _said(text: str) -> str:
    """Return a sentence or figure, with a minus sign in place of the hyphen before a number."""
    return re.sub(r"(?<![\w-])-(?=\d)", "−", _text(text))


def _class(*kinds: str) -> str:
    return f' class="{" ".join(filter(None, kinds))}"' if any(kinds) else ""


def _sign(change: float) -> str:
    """Return the class of a difference: better or worse."""
    return "up" if change > 0 else "down" if change < 0 else ""


def _cell(head: str, text: str, sign: str = "", tag: str = "td") -> str:
    """Return a cell of a column; those of figures, whose heads are marked # or ~, are aligned to the right."""
    kinds = "n" * (head[:1] in ("#", "~")), "wide" * head.startswith("~"), "null" * (text == NOT_MEASURED), sign
    return f"<{tag}{_class(*kinds)}>{(_said if kinds[0] else _text)(text)}</{tag[:2]}>"


def _heads(*heads: str) -> str:
    return "".join(_cell(head, head.lstrip("#~"), tag='th scope="col"') for head in heads)


def _framed(caption: str, head: str, body: str, kind: str = "") -> str:
    """Return a table in a box that scrolls by itself where the screen is too narrow for it."""
    return (f'<div class="scroll" role="region" aria-label="{_esc(caption)}" tabindex="0"><table{_class(kind)}>'
            f"<caption>{_esc(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


def _folded(summary: str, inner: str, opened: bool = False, kind: str = "") -> str:
    return f"<details{' open' * opened}{_class(kind)}><summary>{summary}</summary>{inner}</details>"


def _left_out(number: int) -> str:
    return f"<p>{number} between the first and the last are left out here; the JSON has them.</p>" * bool(number)


# === Drawings on one scale ===


class _Plot:
    """Drawings on one scale, each filling its table cell; places across are shares of the cell's width."""

    def __init__(self, scale: Scale, edges: Sequence[float]):
        self.scale = scale
        grid = [tick for tick, _ in scale.ticks() if tick]
        self.ground = "".join(f'<line class="{kind}" x1="{self.at(x)}" x2="{self.at(x)}" y1="0" y2="100%"/>'
                              for kind, places in (("grid", grid), ("edge", edges), ("zero", [0])) for x in places)

    def at(self, value: float) -> str:
        return f"{100 * self.scale.at(value):.2f}%"

    def head(self) -> str:
        """Return the head of the column: which way is better, and the ticks with their labels."""
        ticks = self.scale.ticks()
        places = [round(tick / self.scale.step) for tick, _ in ticks]
        odd = any(place and place % 2 == 0 for place in places)  # else a narrow screen would show the 0 alone
        drawn = '<text x="0" y="11">← worse</text><text class="end" x="100%" y="11">better →</text>' + "".join(
            f'<text class="tick{" odd" * (odd and place % 2)}" x="{self.at(tick)}" y="27">{_said(label)}</text>'
            for place, (tick, label) in zip(places, ticks, strict=True))
        return (f'<th scope="col" class="plot"><svg class="fill" role="img"><title>Scale from {ticks[0][1]} to '
                f'{ticks[-1][1]}, candidate minus baseline</title>{drawn}</svg></th>')

    def cell(self, draw: Draw, title: str) -> str:
        """Return a table cell filled by what a row draws; the title is what a screen reader says of it."""
        drawn = self.ground + self.dots(draw.dots)
        if draw.ends:
            low, high = map(self.at, draw.ends)
            drawn += f'<line class="ci {draw.kind}" x1="{low}" x2="{high}" y1="50%" y2="50%"/>' + "".join(
                f'<svg x="{end}" y="50%"><path class="cap {draw.kind}" d="M0-5v10"/></svg>' for end in (low, high))
        if draw.point is not None:
            drawn += f'<circle class="point {draw.kind}" cx="{self.at(draw.point)}" cy="50%" r="4.5"/>'
        return (f'<td class="plot{" tall" * bool(draw.dots)}"><svg class="fill" role="img">'
                f"<title>{_said(title)}</title>{drawn}</svg></td>")

    def dots(self, values: Sequence[float]) -> str:
        """Return a dot for each value; those of one place are stacked."""
        stacks = [list(same) for _, same in groupby(sorted(values), key=lambda value: round(60 * self.scale.at(value)))]
        step = min(16.0, 90 / max(map(len, stacks), default=1))
        return "".join(f'<circle class="dot" cx="{self.at(value)}" cy="{50 + step * (i - (len(stack) - 1) / 2):.1f}%" '
                       f'r="{min(4.0, step / 3):.1f}"/>' for stack in stacks for i, value in enumerate(stack))


Opened = Callable[[str, Any], str]  # (a table's key, a row's key): the HTML that the row opens, or nothing


def _row(table: Table, row: TableRow, plot: _Plot | None, inner: str) -> str:
    """Return a table row; what it opens is below its name."""
    name = f"<bdi>{_esc(row.cells[0])}</bdi>"
    if table.key == "sheet" and row.key:
        name = f'<a href="{_esc(row.key)}">{name}</a>'
    elif inner:
        name = _folded(name, f'<div class="links">{inner}</div>')
    draw = row.draw or Draw()
    name += f"<small>{_text(row.note)}</small>" * bool(row.note)
    drawn = plot.cell(draw, f"{row.cells[0]}: {', '.join(filter(None, row.cells[1:]))}") if plot else ""
    if table.columns[1] == "baseline" and row.cells[1] == row.cells[2]:  # texts, shared by both sides
        return f'<tr><th scope="row">{name}</th><td colspan="2">{_text(row.cells[1])}</td></tr>'
    cells = [_cell(head, cell, _sign(row.change) if head == "#difference" else "")
             for head, cell in zip(table.columns, row.cells, strict=True)]
    return f'<tr><th scope="row">{name}</th>{drawn}{"".join(cells[1:])}</tr>'


def _table(story: Story, table: Table, opened: Opened) -> str:
    """Return a table of a story, and below it the rows that it folds away."""
    scale = story.scale(table)
    plot = _Plot(scale, story.edges) if scale else None
    kind = f"{table.key}{' plotted' * bool(plot)}{' texts' * ('baseline' in table.columns)}"

    def framed(table: Table) -> str:
        first, left_out, last = ends_of(table.rows, MOST_ROWS, table.left_out)
        body = "".join(_row(table, row, plot, opened(table.key, row.key)) for row in [*first, *last])
        head = _heads(table.columns[0]) + (plot.head() if plot else "") + _heads(*table.columns[1:])
        return _framed(table.caption, head, body, kind) * bool(body) + _left_out(left_out)

    return framed(table) + (_folded(_esc(table.folded.caption), framed(table.folded), not table.rows)
                            if table.folded else "")


# === Differences between texts ===


class _Marker:
    """Marks what differs between two texts, as long as its budget lasts: difflib's work is quadratic."""

    def __init__(self) -> None:
        self.work = MARKED_WORK

    def parts(self, one: str, other: str, most: float) -> list[tuple[str, str]] | None:
        """Return the texts as (old, new) pieces, alike where nothing changed, by words, or by lines of long ones."""
        for pattern in (r"\w+|\s+|.", r"[^\n]*\n?"):
            before, after = (re.findall(pattern, text, re.DOTALL) for text in (one, other))
            work = len(before) * len(after)
            if 0 < work <= min(self.work, most):
                self.work -= work
                matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
                return [("".join(before[a:b]), "".join(after[c:d])) for _, a, b, c, d in matcher.get_opcodes()]
        return None

    def side_by_side(self, one: str, other: str) -> tuple[str, str]:
        """Return two outputs as HTML, to be shown side by side."""
        parts = None if one == other else self.parts(one, other, MARKED_WORK / 100)
        if parts is None:
            return escape(one), escape(other)
        return ("".join(_marked("del", old) if old != new else escape(old) for old, new in parts),
                "".join(_marked("ins", new) if old != new else escape(new) for old, new in parts))

    def through(self, one: str, other: str) -> str:
        """Return one text as HTML in which what was removed is struck through and what was added is marked."""
        parts = self.parts(one, other, self.work) or [(one, other)]
        return "".join(escape(old) if old == new else _marked("del", old) + _marked("ins", new)
                       for old, new in parts)


def _marked(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>" if text else ""


def _change(words: Words, marker: _Marker) -> str:
    """Return what differs between the two systems, word by word."""
    body = "".join(f'<tr><th scope="row">{_esc(name)}</th><td><pre>{marker.through(one, other)}</pre></td></tr>'
                   for name, one, other in (row.cells for row in words.changes()))
    missing = "Prompts and settings are in run records; a page made with those shows them here, word by word."
    return _framed("What differs, word by word: removed words struck through, new words underlined",
                   _heads("What", "baseline, then candidate"), body, "change") * bool(body) + (
        "" if words.manifests else f"<p>{missing}</p>")


# === Cases with all their trials ===

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
    return f"{text[:SHOWN_CHARACTERS]}… (the rest is left out here)" if len(text) > SHOWN_CHARACTERS else text


def _address(case_id: str) -> str:
    return "case-" + quote(case_id, safe="", errors="surrogatepass")


Matched = list[tuple[str | None, Trial | None, Trial | None]]  # seed, baseline's trial, candidate's; None: none


def _matched(*sides: Sequence[Trial]) -> Matched:
    """Return the trials of a case side by side: those of one seed, or without seeds of one place."""
    left, right = ({i if trial.seed is None else f"{trial.seed}": trial for i, trial in enumerate(side)}
                   for side in sides)
    return [(seed if isinstance(seed, str) else None, left.get(seed), right.get(seed)) for seed in {**left, **right}]


class _Case(NamedTuple):
    """A case that the page shows; trials are empty where they are not at hand."""

    about: ComparedCase
    trials: Matched
    change: float
    cells: list[str]  # baseline, candidate, difference, by chance


class _Panel:
    """The cases' rows, as long as the page's budgets for opened cases and for marking differences last.

    Their trials are those of the pair as it was read, unscored ones included; most cases of a large one are not shown.
    """

    def __init__(self, words: Words, pair: Pair | None, marker: _Marker):
        self.words, self.marker, self.span = words, marker, (words.high - words.low) or 1
        self.drop, self.room, self.link_room = words.all["missing"] == "drop", OPENED_BYTES, LINKED_BYTES
        out = {row["case_id"] for row in words.all["excluded"]}
        sides = [side.trials for side in pair.sides] if pair else []
        self.passes = all(trial.score in (0, 1, None) for side in sides for trials in side for trial in trials)
        known = {case.id: (case, *both) for case, *both in zip(pair.cases if pair else (), *sides, strict=True)
                 if case.id not in out}
        changed = {row["case_id"]: row for row in words.changed}
        same = [case_id for case_id in known if case_id not in changed]
        first, self.between, last = ends_of(words.changed, MOST_ROWS)
        figures = [*first, *last, *(self.steady(*known[case_id][:2]) for case_id in same[:MOST_ROWS])]
        self.cases: dict[str, _Case] = {}
        for row, cells in zip(figures, words.case_cells(figures), strict=True):
            about, *both = known.get(row["case_id"], (ComparedCase(row["case_id"], row["source"], ()), (), ()))
            self.cases[about.id] = _Case(about, _matched(*both), row["difference"], cells)
        shown = list(self.cases.values())
        self.changed, self.same = shown[:len(first) + len(last)], shown[len(first) + len(last):]
        self.unchanged, self.at_hand = len(same), pair is not None
        self.drawn = min(max((len(case.trials) for case in shown), default=0), DRAWN_TRIALS)
        self.members: dict[Any, list[str]] = {}  # the cases of each source, and of each slice, worst first
        for about, *_ in (known[case_id] for case_id in (*changed, *same) if case_id in known):
            for key in (about.source, *about.tags):
                self.members.setdefault(key, []).append(about.id)

    def verdict(self, trial: Trial) -> str:
        """Return pass, fail or incomplete, nothing for a trial whose score is neither."""
        return "incomplete" if trial.score is None else "" if not self.passes else "pass" if trial.score else "fail"

    def score(self, trial: Trial | None) -> Score | None:
        """Return a trial's score; an incomplete trial has not passed and counts 0, unless such trials are left out."""
        return None if trial is None else 0 if trial.score is None and not self.drop else trial.score

    def steady(self, case: ComparedCase, trials: Sequence[Trial]) -> dict[str, Any]:
        """Return the figures of a case that did not change: its mean score, the same on both sides."""
        scores = [score for score in map(self.score, trials) if score is not None]
        share = float(sum(scores) / len(scores)) if scores else None
        return {"case_id": case.id, "source": case.source, "baseline": share, "candidate": share, "difference": 0,
                "by_chance": None}

    def opened(self, table: str, key: Any) -> str:
        """Return links to the cases of a source or slice, the worst first, while their budget lasts."""
        opens = table in ("sources", "slices") and key is not None  # cases without a source are no one source
        cases = self.members.get(key, ()) if opens and self.link_room > 0 else ()
        linked = list(islice((self.cases[case_id] for case_id in cases if case_id in self.cases), LINKED_CASES))
        links = ", ".join(f'<a href="#{_esc(_address(case.about.id))}"><bdi>{_esc(case.about.id)}</bdi></a> '
                          f'<span class="{_sign(case.change)}">{_said(case.cells[2])}</span>' for case in linked)
        links += f" and {len(cases) - len(linked)} more" * (len(cases) > len(linked))
        self.link_room -= len(links)
        return links if self.link_room > 0 else ""

    def case(self, case: _Case) -> str:
        """Return a case's table row. It opens while the budget lasts."""
        about, trials, change, (before, after, difference, chance) = case
        name, anchor = f"<bdi>{_esc(about.id)}</bdi>", f' id="{_esc(_address(about.id))}"'
        if trials and self.room > 0:
            inner = self.inside(about, trials, anchor)
            self.room -= len(inner.encode())
            name, anchor = _folded(name, inner), ""
        seen = [[self.verdict(trial) for trial in side if trial] for side in list(zip(*trials, strict=True))[1:]]
        flags = ["worse" if change < 0 else "better" if change else "same"]
        flags += ["unsteady"] if self.passes and {0, 1} <= {self.score(after) for *_, after in trials} else []
        flags += ["incomplete"] if any("incomplete" in side for side in seen) else []
        slices = escape("\n".join(clean(f"{tag}: {value}") for tag, value in about.tags
                                  if value in self.words.all["slices"].get(tag, ())))
        data = f'data-f="{" ".join(flags)}" data-d="{change:.4g}" data-t="{slices}" data-s="{_esc(about.source or "")}"'
        bar = (f'<rect class="{_sign(change)}" x="{50 + 50 * min(change / self.span, 0):.2f}%" y="9" '
               f'height="12" width="{50 * abs(change) / self.span:.2f}%"/>') * bool(change)
        return (f'<tr{anchor} {data}><th scope="row">{name}</th>'
                + (f"<td>{self.strip(trials)}</td>" if trials else "")
                + _cell("~", before) + _cell("~", after) + '<td class="plot wide"><svg class="fill" aria-hidden="true">'
                + f'{bar}<line class="zero" x1="50%" x2="50%" y1="0" y2="100%"/></svg></td>'
                + _cell("#", difference, _sign(change)) + _cell("~", chance if change else "") + "</tr>")

    def strip(self, trials: Matched) -> str:
        """Return all trials of a case: the baseline's line above the candidate's, a seed a column."""
        paths = dict.fromkeys(("won", "lost", *TRIAL_MARKS, "score"), "")
        outcomes: dict[str, list[str]] = {side: [] for side in SIDES}
        for i, (_, *both) in enumerate(trials[:self.drawn]):
            before, after = map(self.score, both)
            if before is not None and after is not None and before != after:
                paths["won" if after > before else "lost"] += f"M{14 * i + .5},0h13v28h-13z"
            for side, trial, y in zip(SIDES, both, (7, 21), strict=True):
                if trial is None:
                    continue
                if verdict := self.verdict(trial):
                    paths[verdict] += TRIAL_MARKS[verdict].format(x=14 * i + 7, y=y)
                else:
                    height = 1 + 11 * (float(trial.score or 0) - self.words.low) / self.span
                    paths["score"] += f"M{14 * i + 7},{y + 6}v-{height:.1f}"
                outcomes[side].append(verdict or self.words.plain(float(trial.score or 0)))
        title = "; ".join(f"{side}: " + ", ".join(f"{len(list(same))} {verdict}" for verdict, same in groupby(verdicts))
                          for side, verdicts in outcomes.items())
        drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
        width = 14 * self.drawn
        return (f'<svg class="strip" width="{min(width, 420)}" viewBox="0 0 {width} 28" role="img">'
                f"<title>{title}</title>{drawn}</svg>")

    def inside(self, case: ComparedCase, trials: Matched, anchor: str) -> str:
        """Return what a case was: its tags, input, what was expected, and each trial's outcomes side by side."""
        about = [f"source: {case.source}"] if case.source else []
        about += [f"{tag}: {value}" for tag, value in case.tags]
        given = f'<p class="soft">{_esc(" · ".join(about))} <a href="#{anchor[5:-1]}">link to this case</a></p>'
        given += "".join(f"<p><b>{name}</b></p><pre>{escape(_shown(value))}</pre>" for name, value in (
            ("Input", case.input), ("Expected", case.expected)) if value is not None)
        body, recorded = "", False
        for number, (seed, *both) in enumerate(trials, start=1):
            texts = [_shown(trial and trial.output) for trial in both]
            recorded = recorded or any(texts)
            cells = "".join(map(self.outcome, both, self.marker.side_by_side(*texts)))
            small = "" if seed is None else f"<small>seed {_esc(seed)}</small>"
            body += f'<tr><th scope="row">{number}{small}</th>{cells}</tr>'
        outputs = "what differs between two outputs is marked" if recorded else "their outputs were not recorded"
        return (f'<div class="in"{anchor}>{given}<table class="trials"><caption>Trials; {outputs}</caption><thead><tr>'
                f'{_heads("Trial", "Baseline", "Candidate")}</tr></thead><tbody>{body}</tbody></table></div>')

    def outcome(self, trial: Trial | None, marked: str) -> str:
        """Return the cell of one trial of one side: its verdict or score, what was said of it, its output."""
        if trial is None:
            return "<td>no such trial</td>"
        verdict = self.verdict(trial)
        shown = _mark(verdict) if verdict else f"score {self.words.plain(float(trial.score or 0))}"
        said = "".join(f": {escape(_shown(text))}" for text in (trial.reason, trial.explanation) if text)
        return f'<td><p class="said">{shown}{said}</p>{f"<pre>{marked}</pre>" if marked else ""}</td>'

    def table(self, caption: str, cases: Sequence[_Case]) -> str:
        """Return a table of these cases, nothing where there are none."""
        width = max(84, min(14 * self.drawn, 420) + 14)
        strips = f'<th scope="col" style="width:{width}px">Trials 1 to {self.drawn}</th>' * bool(self.drawn)
        head = (_heads("Case") + strips + _heads("~baseline", "~candidate")
                + '<th scope="col" class="wide middle">← worse, better →</th>' + _heads("#difference", "~by chance"))
        return _framed(caption, head, "".join(map(self.case, cases)), "panel") * bool(cases)

    def tables(self) -> str:
        """Return the changed cases, worst first, and those that did not change."""
        marks = ", ".join(map(_mark, TRIAL_MARKS)) + ", other scores as columns of their height" * (not self.passes)
        legend = (f"{marks}: the baseline’s trials above, the candidate’s with the same seeds below; a pair that "
                  "differs is tinted. Open a case to read it." if self.at_hand else "A comparison does not hold the "
                  "trials themselves: compare.py --html, or report.py with --runs, shows them here.")
        changed = self.table("Changed cases", self.changed)
        out = f'<p class="legend">{legend}</p>{changed}{_left_out(self.between)}'
        if self.same:
            inner = self.table("Cases that did not change", self.same)
            hidden = self.unchanged - len(self.same)
            inner += f"<p>{hidden} more are left out here.</p>" * bool(hidden)
            summary = f"{count_of(self.unchanged, 'case')} that did not change"
            out += _folded(summary, inner, self.unchanged <= OPEN_UP_TO, "same")
        if self.room <= 0:
            out += "<p>To keep the page small, the last of these cases do not open; the runs hold their trials.</p>"
        return f'<div id="all-cases" data-n="{self.words.overall["cases"] or 0}">{out}</div>'


# === The whole ===


def story_html(story: Story, made: dict[str, str] | None = None, opened: Opened = lambda table, key: "") -> str:
    """Return a story as one HTML page; made holds the HTML of tables, by key, that the page makes itself."""
    made = made or {}
    warnings = "".join(f"<li>{_said(message)} <b>{_said(advice)}</b></li>" for message, advice in story.warnings)
    main = f'<section id="warnings"><h2>Warnings ({len(story.warnings)})</h2><ol>{warnings}</ol></section>\n' * bool(
        story.warnings)
    nav = "".join(f'<a href="#{section.key}">{_esc(section.heading)}</a>' for section in story.sections)
    main += f'<nav aria-label="Sections">{nav}</nav>' * (len(story.sections) > 1)
    for section in story.sections:
        inner = "".join(f"<p>{_said(block)}</p>" if isinstance(block, str) else
                        made[block.key] if block.key in made else _table(story, block, opened)
                        for block in section.blocks)
        main += f'<section id="{section.key}"><h2>{_esc(section.heading)}</h2>{inner}</section>\n'
    lead = "".join(f"<p>{_said(said)}</p>" for said in story.lead)
    lead += f'<p class="gate">{_text(sentence(story.gate))}</p>' * bool(story.gate)
    word = _said(story.verdict[:1].upper() + story.verdict[1:])
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return PAGE.format(
        allowed=allowed, verdict=word, title=_esc(story.title), subject=_esc(story.subject), lead=lead, main=main,
        kind=story.verdict * (story.verdict in ("better", "worse")), style=STYLE, script=SCRIPT, version=TOOL_VERSION)


def html_report(comparison: dict[str, Any], pair: Pair | None = None) -> str:
    """Return a comparison as one HTML page, with the trials of the pair that it was made from, and its settings."""
    words, marker = Words(comparison, pair.manifests if pair else ()), _Marker()
    rows = _Panel(words, pair, marker)
    made = {"change": _change(words, marker), "cases": rows.tables()}
    return story_html(words.story(records=True), made, rows.opened)
