"""What does a comparison look like? One HTML page that needs no network, from a phone to a wide screen.

    $ python3 report.py runs/comparison.json --runs runs/qwen-coder-v1.json runs/qwen-coder-v2.json \\
          --cases cases-robustness.json --html runs/comparison.html

Sentences, tables and their order are those of words.py; here are their look, every trial of every case, and the change
word by word. The page embeds page.css, and page.js, which filters and sorts cases; without it all stands there, too.
"""

import base64
import difflib
import hashlib
import pkgutil
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from typing import Any
from urllib.parse import quote

from core.files import TOOL_VERSION, clean
from harness import CaseSet
from views.words import NOT_MEASURED, SIDES, Draw, Row, Scale, Story, Table, Words, ends_of, flat

PAGE_ROWS = 1_000  # of a table
OPENED_BYTES = 2_500_000  # of opened cases, so that a page of 10,000 cases stays under 6 MB
LINKED_BYTES = 500_000  # of the links from sources and slices to their cases, for the same reason
DRAWN_TRIALS = 50  # of a case's row; a case that opens lists them all
DRAWN_DOTS = 300  # sources that are drawn one by one; more become a distribution
SHOWN_CHARACTERS = 4_000  # of one input or output
MARKED_WORK = 30_000_000  # pairs of words that difflib may compare, about a second
OPEN_UP_TO = 100  # unchanged cases that are not folded away


def _file(name: str) -> str:
    return (pkgutil.get_data("views", name) or b"").decode()  # from a zip, too


STYLE, SCRIPT = _file("page.css"), _file("page.js")

# === The panel: every trial of every case ===

# A row a case: {"case_id", "source", "tags", "input", "expected", "trials"}; what is not known is None. `trials` has, in
# order, {"seed", "baseline", "candidate"}; a side that lacks the trial is None, else {"verdict", "score", "output",
# "error", "raw", "graders"}: verdict pass, fail or incomplete, None where the score (within score_range) is neither;
# error a text or None; output, and raw (the reply as it came), any JSON value; graders {name: true or false}.


def _outcome(verdict: str | None, score: Any, output: Any, error: str | None, raw: Any = None,
             graders: Any = None) -> dict[str, Any]:
    return {"verdict": verdict, "score": score, "output": output, "error": error, "raw": raw, "graders": graders or {}}


def record_panel(baseline: dict[str, Any], candidate: dict[str, Any], case_set: CaseSet) -> list[dict[str, Any]]:
    """Return the panel of two run records that harness.compare accepts, in the case file's order."""
    rows: dict[str, dict[str, Any]] = {
        case.id: {"case_id": case.id, "source": case.tags.get("source"), "input": case.input, "tags": [
            (tag, value) for tag, value in case.tags.items() if tag != "source"], "expected": case.expected,
            "trials": []} for case in case_set.cases}
    others = {(row["case_id"], row["trial"]): row for row in candidate["results"]}
    for row in baseline["results"]:
        one, other = (_outcome(side["verdict"], int(side["verdict"] == "pass"), side.get("output"),
                               "{type}: {message}".format(**side["error"]) if "error" in side else None,
                               side["metadata"] or None, side["graders"])
                      for side in (row, others[row["case_id"], row["trial"]]))
        rows[row["case_id"]]["trials"].append({"seed": row.get("seed"), "baseline": one, "candidate": other})
    return [row for row in rows.values() if row["trials"]]


def pair_panel(pair: Any) -> list[dict[str, Any]]:
    """Return the panel of a trials.Pair as it was read, unscored trials included; trials of one seed share a column."""
    passes = all(trial.score in (0, 1, None) for side in pair.sides for trials in side.trials for trial in trials)

    def outcome(trial: Any) -> dict[str, Any] | None:
        if trial is None:
            return None
        verdict = "incomplete" if trial.score is None else ("pass" if trial.score else "fail") if passes else None
        return _outcome(verdict, trial.score, trial.output, trial.reason)

    rows = []
    for case, *sides in zip(pair.cases, *(side.trials for side in pair.sides), strict=True):
        left, right = ({i if trial.seed is None else f"{trial.seed}": trial for i, trial in enumerate(trials)}
                       for trials in sides)
        rows.append({"case_id": case.id, "source": case.source, "tags": case.tags, "input": case.input,
                     "expected": None, "trials": [
                         {"seed": seed if isinstance(seed, str) else None, "baseline": outcome(left.get(seed)),
                          "candidate": outcome(right.get(seed))} for seed in {**left, **right}]})
    return rows


# === Cells and rows ===


def _esc(value: object) -> str:
    return escape(clean(value))


def _class(*kinds: str) -> str:
    return f' class="{" ".join(filter(None, kinds))}"' if any(kinds) else ""


def _sign(text: str) -> str:
    """Return the class of a difference: better or worse."""
    return {"+": "up", "-": "down", "−": "down"}.get(text[:1], "")


def _head(head: str) -> str:
    """Return the head of a column; those of figures, marked # or ~, stand to the right."""
    figures = head[:1] in ("#", "~")
    return f'<th scope="col"{_class("n" * figures, "wide" * head.startswith("~"))}>{_esc(head.lstrip("#~"))}</th>'


def _cell(head: str, text: str, sign: str = "") -> str:
    kinds = "n" * (head[:1] in ("#", "~")), "wide" * head.startswith("~"), "null" * (text == NOT_MEASURED), sign
    return f"<td{_class(*kinds)}>{_esc(text)}</td>"


def _framed(caption: str, head: str, body: str, kind: str = "") -> str:
    """Return a table in a box that scrolls by itself where the screen is too narrow for it."""
    body = body if body.startswith("<tbody") else f"<tbody>{body}</tbody>"
    return (f'<div class="scroll" role="region" aria-label="{_esc(caption)}" tabindex="0"><table{_class(kind)}>'
            f"<caption>{_esc(caption)}</caption><thead><tr>{head}</tr></thead>{body}</table></div>")


def _folded(summary: str, inner: str, opened: bool = False, kind: str = "") -> str:
    return f"<details{' open' * opened}{_class(kind)}><summary>{summary}</summary>{inner}</details>"


# === Drawings on one scale ===


class _Plot:
    """Drawings on one scale, each filling its table cell; places across are shares of the cell's width."""

    def __init__(self, scale: Scale, edges: Sequence[float]):
        self.scale = scale
        self.ground = "".join(self.line("grid", tick, tick) for tick, _ in scale.ticks() if tick)
        self.ground += "".join(self.line("edge", edge, edge) for edge in edges) + self.line("zero", 0, 0)

    def at(self, value: float) -> str:
        return f"{100 * self.scale.at(value):.2f}%"

    def line(self, kind: str, low: float, high: float, top: str = "0", bottom: str = "100%") -> str:
        return f'<line class="{kind}" x1="{self.at(low)}" x2="{self.at(high)}" y1="{top}" y2="{bottom}"/>'

    def head(self) -> str:
        """Return the head of the column: which way is better, and the ticks with their labels."""
        ticks = self.scale.ticks()
        zero = [tick for tick, _ in ticks].index(0)
        drawn = "".join(f'<text class="{kind}" x="{self.at(x)}" y="{y}" dx="{dx}">{text}</text>' for x, y, kind, dx, text
                        in [(0, 11, "end", -7, "← worse"), (0, 11, "start", 7, "better →"), *(
                            (tick, 27, "tick odd" if (i - zero) % 2 else "tick", 0, label.replace("-", "−"))
                            for i, (tick, label) in enumerate(ticks))])
        return (f'<th scope="col" class="plot"><svg class="fill" role="img"><title>Scale from {ticks[0][1]} to '
                f'{ticks[-1][1]}, candidate minus baseline</title>{drawn}</svg></th>')

    def cell(self, draw: Draw, told: str) -> str:
        """Return a table cell filled by what a row draws; told is what a screen reader says of it."""
        drawn, y = self.ground, "50%"
        if len(draw.dots) > DRAWN_DOTS or draw.bars:
            start, width, shares = draw.bars or self.binned(draw.dots)
            drawn, y = drawn + self.histogram(start, width, shares, draw.ends), "90%"
        else:
            drawn += self.dots(draw.dots)
        if draw.thin:
            drawn += self.line("thin", *draw.thin, "50%", "50%")
        if draw.ends:
            drawn += self.line(f"ci {draw.kind}", *draw.ends, y, y) + "".join(
                f'<svg x="{self.at(end)}" y="{y}"><path class="cap {draw.kind}" d="M0-5v10"/></svg>'
                for end in draw.ends)
        if draw.point is not None:
            drawn += f'<circle class="point {draw.kind}" cx="{self.at(draw.point)}" cy="{y}" r="4.5"/>'
        return (f'<td class="plot{" tall" * bool(draw.bars or draw.dots)}"><svg class="fill" role="img"><title>'
                f"{_esc(told)}</title>{drawn}</svg></td>")

    def dots(self, values: Sequence[float]) -> str:
        """Return a dot a value; those of one place stand on each other."""
        stacks = [list(same) for _, same in groupby(sorted(values), key=lambda value: round(60 * self.scale.at(value)))]
        step = min(16.0, 90 / max(map(len, stacks), default=1))
        return "".join(f'<circle class="dot" cx="{self.at(value)}" cy="{50 + step * (i - (len(stack) - 1) / 2):.1f}%" '
                       f'r="{min(4.0, step / 3):.1f}"/>' for stack in stacks for i, value in enumerate(stack))

    def binned(self, values: Sequence[float], bins: int = 40) -> tuple[float, float, list[float]]:
        width = (self.scale.high - self.scale.low) / bins
        shares = [0.0] * bins
        for value in values:
            shares[min(bins - 1, int((value - self.scale.low) / width))] += 1
        return self.scale.low, width, shares

    def histogram(self, start: float, width: float, shares: Sequence[float], ends: Sequence[float] | None) -> str:
        """Return the bars of a distribution, hollow beyond the ends of its interval."""
        drawn, most = "", max(shares, default=0)
        for i, share in enumerate(shares):
            middle = start + (i + 0.5) * width
            if most and share / most > 0.001:
                kind = "bar" if not ends or ends[0] <= middle <= ends[1] else "bar tail"
                across = 100 * (self.scale.at(middle + width / 2) - self.scale.at(middle - width / 2))
                drawn += (f'<rect class="{kind}" x="{self.at(middle - width / 2)}" width="{across:.2f}%" '
                          f'y="{82 - 74 * share / most:.2f}%" height="{74 * share / most:.2f}%"/>')
        return drawn


def _table(story: Story, table: Table, opened: Callable[[str, Any], str]) -> str:
    """Return a table of a story, and below it the rows that it folds away; opened(table's key, row's key) is what a row
    opens."""
    scale, heads = story.scale(table), table.columns
    plot = _Plot(scale, story.edges) if scale else None
    texts = not any(head[:1] in ("#", "~") for head in heads)
    signed = [i for i, head in enumerate(heads) if head.lstrip("#~") in ("difference", "change")]

    def row(row: Row) -> str:
        name = f"<bdi>{_esc(row.cells[0])}</bdi>"
        if table.key == "sheet" and row.key:
            name = f'<a href="{_esc(row.key)}">{name}</a>'
        elif inner := opened(table.key, row.key):
            name = _folded(name, f'<div class="links">{inner}</div>')
        name += ' <b class="tag">decides</b>' * bool(row.draw and row.draw.kind == "decides" and table.key != "sheet")
        name += f"<small>{_esc(row.note)}</small>" * bool(row.note)
        drawn = plot.cell(row.draw or Draw(), f"{row.cells[0]}: {', '.join(filter(None, row.cells[1:]))}") if plot else ""
        if texts and len(row.cells) == 3 and row.cells[1] == row.cells[2]:
            rest = f'<td colspan="2">{_esc(row.cells[1])}</td>'
        else:  # more of cost, latency or tokens is worse
            rest = "".join(_cell(head, cell, _sign(cell) if i in signed and table.key != "cost" else "")
                           for i, (head, cell) in enumerate(zip(heads, row.cells)) if i)
        return f'<tr><th scope="row">{name}</th>{drawn}{rest}</tr>'

    def framed(rows: Sequence[Row]) -> str:
        first, left_out, last = ends_of(rows, PAGE_ROWS)
        between = (f'<tr><th scope="row" colspan="{len(heads) + bool(plot)}">{left_out} between these are left out here; '
                   "the comparison's JSON has them</th></tr>") * bool(left_out)
        head = _head(heads[0] or " ") + (plot.head() if plot else "") + "".join(map(_head, heads[1:]))
        body = "".join([*map(row, first), between, *map(row, last)])
        return _framed(table.caption, head, body, " ".join([table.key, *["plotted"] * bool(plot), *["texts"] * texts]))

    return (framed(table.rows) if table.rows else "") + "".join(
        _folded(_esc(summary), framed(rows), not table.rows) for summary, rows in table.folded)


# === Differences between texts ===


class _Marker:
    """Marks what differs between two texts, as long as its budget lasts: difflib's work is quadratic."""

    def __init__(self) -> None:
        self.work = MARKED_WORK

    def parts(self, one: str, other: str, most: float) -> list[tuple[str, str]] | None:
        """Return the texts as (gone, come) pieces, alike where nothing changed, by words, or by lines of long ones."""
        for pattern in (r"\w+|\s+|.", r"[^\n]*\n?"):
            before, after = (re.findall(pattern, text, re.DOTALL) for text in (one, other))
            work = len(before) * len(after)
            if 0 < work <= min(self.work, most):
                self.work -= work
                matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
                return [("".join(before[a:b]), "".join(after[c:d])) for _, a, b, c, d in matcher.get_opcodes()]
        return None

    def beside(self, one: str, other: str) -> tuple[str, str]:
        """Return two outputs as HTML, to stand side by side."""
        parts = None if one == other else self.parts(one, other, MARKED_WORK / 100)
        if parts is None:
            return escape(one), escape(other)
        return ("".join(_marked("del", gone) if gone != come else escape(gone) for gone, come in parts),
                "".join(_marked("ins", come) if gone != come else escape(come) for gone, come in parts))

    def through(self, one: str, other: str) -> str:
        """Return one text as HTML in which what went is struck through and what came is marked."""
        parts = self.parts(one, other, self.work) or [(one, other)]
        return "".join(escape(gone) if gone == come else _marked("del", gone) + _marked("ins", come)
                       for gone, come in parts)


def _marked(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>" if text else ""


# === What was changed, and how it was measured ===


def _change(words: Words, manifests: Sequence[dict[str, Any]], marker: _Marker) -> str:
    """Return what differs between the two systems and their settings, word by word."""
    rows = words.changes()
    if manifests:
        one, other = (dict(flat({key: manifest.get(key) for key in ("settings", "server")})) for manifest in manifests)
        rows += [(key, one.get(key, ""), other.get(key, "")) for key in one | other if one.get(key) != other.get(key)]
    body = "".join(f'<tr><th scope="row">{_esc(name)}</th><td><pre>{marker.through(before, after)}</pre></td></tr>'
                   for name, before, after in rows)
    table = _framed("What differs, word by word: struck through what went, underlined what came",
                    _head("What") + _head("baseline, then candidate"), body, "change") * bool(body)
    return table + ("" if manifests else "<p>Prompts and settings stand in run records: with them (report.py --runs) "
                    "they are shown here word by word.</p>")


def _manifest_rows(manifests: Sequence[dict[str, Any]]) -> list[Row]:
    one, other = (dict(flat(manifest, "run")) for manifest in manifests or ({}, {}))
    return [Row([key, one.get(key, "–"), other.get(key, "–")]) for key in one | other]


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
    more = len(text) - SHOWN_CHARACTERS
    return f"{text[:SHOWN_CHARACTERS]}… ({more} more characters are left out here)" if more > 0 else text


def _address(case_id: str) -> str:
    return "case-" + quote(case_id, safe="", errors="surrogatepass")


class _Panel:
    """The cases' rows, as long as the page's budgets for opened cases and for marking differences last."""

    def __init__(self, words: Words, panel: Sequence[dict[str, Any]], marker: _Marker):
        self.words, self.marker, self.span = words, marker, (words.high - words.low) or 1
        self.drop = words.all["missing"] == "drop"
        left_out = {row["case_id"] for row in words.all["excluded"]}
        self.rows = {row["case_id"]: row for row in panel if row["case_id"] not in left_out}
        self.changed = {case["case_id"]: case for case in words.changed()}
        self.trials = min(max((len(row["trials"]) for row in panel), default=0), DRAWN_TRIALS)
        self.room, self.link_room, self.closed = OPENED_BYTES, LINKED_BYTES, 0
        first, self.between, last = ends_of(list(self.changed), PAGE_ROWS)
        self.shown_changed, self.first = [*first, *last], len(first)
        same = [case_id for case_id in self.rows if case_id not in self.changed]
        self.shown_same, self.left_out = same[:PAGE_ROWS], len(same[PAGE_ROWS:])
        figures = [self.changed.get(case_id) or self.same(self.rows[case_id])
                   for case_id in (*self.shown_changed, *self.shown_same)]
        self.cells = dict(zip((*self.shown_changed, *self.shown_same), words.case_cells(figures), strict=True))
        self.members: dict[Any, list[str]] = {}
        for row in self.rows.values():
            for key in (row["source"], *row["tags"]):
                self.members.setdefault(key, []).append(row["case_id"])

    def same(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the figures of a case that did not change: its mean score, the same on both sides."""
        scores = [trial["baseline"]["score"] for trial in row["trials"] if trial["baseline"]]
        if self.drop:
            scores = [score for score in scores if score is not None]
        share = float(sum(score or 0 for score in scores) / len(scores)) if scores else None
        return {"baseline": share, "candidate": share, "difference": 0, "by_chance": None}

    def opened(self, table: str, key: Any) -> str:
        """Return links to the cases of a source or slice, the worst first, while their budget lasts."""
        if table not in ("sources", "slices"):
            return ""
        cases = sorted(self.members.get(key, ()), key=lambda case_id: (
            case_id not in self.changed, self.changed.get(case_id, {}).get("difference", 0)))
        linked = [case_id for case_id in cases if case_id in self.cells][:50]
        links = ", ".join(f'<a href="#{_esc(_address(case_id))}"><bdi>{_esc(case_id)}</bdi></a>'
                          f"{_moved(self.cells[case_id][2])}" for case_id in linked)
        links += f" and {len(cases) - len(linked)} more" * (len(cases) > len(linked))
        self.link_room -= len(links)
        return links if self.link_room > 0 else ""

    def case(self, case_id: str) -> str:
        """Return a case's table row. It opens while the budget lasts."""
        row, changed = self.rows.get(case_id), self.changed.get(case_id)
        name, anchor, about = f"<bdi>{_esc(case_id)}</bdi>", _esc(_address(case_id)), ""
        inner = self.inside(row, anchor) if row and self.room > 0 else ""
        if inner:
            self.room -= len(inner.encode())
            name, anchor = _folded(name, inner), ""
        self.closed += bool(row and not inner)
        before, after, difference, chance = self.cells[case_id]
        moved = changed["difference"] if changed else 0
        flags = ["worse" if moved < 0 else "better" if moved else "same"]
        if row:
            seen = {trial["candidate"]["verdict"] for trial in row["trials"] if trial["candidate"]}
            flags += ["unsteady"] * ({"pass", "fail"} <= seen) + ["incomplete"] * any(
                trial[side] and trial[side]["verdict"] == "incomplete" for trial in row["trials"] for side in SIDES)
            about = f' data-t="{_esc("|".join(f"{tag}: {value}" for tag, value in row["tags"]))}"'
        source = row["source"] if row else changed and changed["source"]
        about += f' data-s="{_esc(source)}"' if source else ""
        bar = (f'<rect class="{"up" if moved > 0 else "down"}" x="{50 + 50 * min(moved / self.span, 0):.2f}%" y="9" '
               f'height="12" width="{50 * abs(moved) / self.span:.2f}%"/>') * bool(moved)
        bar += '<line class="zero" x1="50%" x2="50%" y1="0" y2="100%"/>'
        strip = f"<td>{self.strip(row) if row else ''}</td>" if self.trials else ""
        return (f'<tr{f" id={chr(34)}{anchor}{chr(34)}" * bool(anchor)} data-f="{" ".join(flags)}" data-d="{moved:.4g}"'
                f'{about}><th scope="row">{name}</th>{strip}{_cell("~", before)}{_cell("~", after)}<td class="plot wide">'
                f'<svg class="fill" aria-hidden="true">{bar}</svg></td>{_cell("#", difference, _sign(difference))}'
                f'{_cell("~", chance if changed else "")}</tr>')

    def strip(self, row: dict[str, Any]) -> str:
        """Return all trials of a case: the baseline's line above the candidate's, a seed a column."""
        paths = dict.fromkeys(("won", "lost", *TRIAL_MARKS, "score"), "")
        told: dict[str, list[str]] = {side: [] for side in SIDES}
        for i, trial in enumerate(row["trials"][:self.trials]):
            # An incomplete trial has not passed: it counts as 0, unless such trials are left out.
            before, after = (outcome and (outcome["score"] if outcome["score"] is not None or self.drop else 0)
                             for outcome in (trial[side] for side in SIDES))
            if before is not None and after is not None and before != after:
                paths["won" if after > before else "lost"] += f"M{14 * i + .5},0h13v28h-13z"
            for side, y in zip(SIDES, (7, 21), strict=True):
                outcome = trial[side]
                if outcome and outcome["verdict"]:
                    paths[outcome["verdict"]] += TRIAL_MARKS[outcome["verdict"]].format(x=14 * i + 7, y=y)
                    told[side].append(outcome["verdict"])
                elif outcome:
                    height = 1 + 11 * float(outcome["score"] - self.words.low) / self.span
                    paths["score"] += f"M{14 * i + 7},{y + 6}v-{height:.1f}"
                    told[side].append(self.words.plain(float(outcome["score"])))
        title = "; ".join(f"{side}: " + ", ".join(f"{len(list(same))} {verdict}" for verdict, same in groupby(verdicts))
                          for side, verdicts in told.items())
        drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
        width = 14 * self.trials
        return (f'<svg class="strip" width="{min(width, 420)}" viewBox="0 0 {width} 28" role="img">'
                f"<title>{title}</title>{drawn}</svg>")

    def inside(self, row: dict[str, Any], anchor: str) -> str:
        """Return what a case was: its tags, input, what was expected, and each trial's outcomes side by side."""
        about = [f"source: {row['source']}"] * bool(row["source"]) + [f"{tag}: {value}" for tag, value in row["tags"]]
        given = f'<p class="soft">{_esc(" · ".join(about))} <a href="#{anchor}">link to this case</a></p>' + "".join(
            f"<p><b>{key.capitalize()}</b></p><pre>{escape(_shown(row[key]))}</pre>"
            for key in ("input", "expected") if row[key] is not None)
        body, outputs = "", False
        for number, trial in enumerate(row["trials"], start=1):
            seed = "" if trial["seed"] is None else f"<small>seed {_esc(trial['seed'])}</small>"
            sides = [trial[side] for side in SIDES]
            texts = [_shown(side and side["output"]) for side in sides]
            outputs = outputs or any(texts)
            cells = "".join(map(self.outcome, sides, self.marker.beside(*texts)))
            body += f'<tr><th scope="row">{number}{seed}</th>{cells}</tr>'
        caption = "Trials; what differs between two outputs is marked" if outputs else (
            "Trials; their outputs were not recorded")
        return (f'<div class="in" id="{anchor}">{given}<table class="trials"><caption>{caption}</caption><thead><tr>'
                f'{_head("Trial")}{_head("Baseline")}{_head("Candidate")}</tr></thead><tbody>{body}</tbody></table></div>')

    def outcome(self, outcome: dict[str, Any] | None, marked: str) -> str:
        """Return the cell of one trial of one side."""
        if outcome is None:
            return "<td>no such trial</td>"
        verdict = outcome["verdict"]
        said = _mark(verdict) if verdict else f"score {self.words.plain(float(outcome['score']))}"
        graded = ", ".join(f"{name} {'passes' if good else 'fails'}" for name, good in outcome["graders"].items())
        said += f": {_esc(outcome['error'])}" if outcome["error"] else f": {_esc(graded)}" if graded else ""
        raw = escape(_shown(outcome["raw"])) if verdict == "incomplete" else ""
        return f"<td><p>{said}</p>{''.join(f'<pre>{text}</pre>' for text in (marked, raw) if text)}</td>"

    def table(self, caption: str, body: str) -> str:
        trials = f"Trials 1 to {self.trials}" if self.trials > 1 else "Trial"
        width = max(84, min(14 * self.trials, 420) + 14)
        strips = f'<th scope="col" style="width:{width}px">{trials}</th>' * bool(self.trials)
        head = _head("Case") + strips + "".join(map(_head, ("~baseline", "~candidate")))
        head += '<th scope="col" class="plot wide mid">← worse, better →</th>' + _head("#difference") + _head("~by chance")
        return _framed(caption, head, body, "panel")

    def tables(self) -> str:
        """Return the changed cases, worst first, and those that did not change."""
        scored = any(trial[side] and not trial[side]["verdict"] for row in self.rows.values() for trial in row["trials"]
                     for side in SIDES)
        legend = (", ".join(map(_mark, TRIAL_MARKS)) + ", other scores as columns of their height" * scored
                  + ": the baseline’s trials above, the candidate’s with the same seeds below; a tinted column is a pair "
                  "that differs. Open a case to read it." if self.rows else "A comparison does not hold the trials "
                  "themselves: compare.py --html, or report.py with --runs, shows them here.")
        across = 3 + bool(self.trials)  # columns that a phone shows, and one
        between = (f'<tr><th scope="row" colspan="{across}">{self.between} changed cases between these are left out here; '
                   "comparison.json has them</th></tr>") * bool(self.between)
        rows = [*map(self.case, self.shown_changed)]
        body = "".join([*rows[:self.first], between, *rows[self.first:]])
        out = f'<p class="legend">{legend}</p>' + (
            self.table("Changed cases, worst first", body) if body else "<p>No case changed.</p>")
        if self.shown_same:
            count = len(self.shown_same) + self.left_out
            hidden = f"<p>{self.left_out} more are left out here; the runs hold their trials.</p>" * bool(self.left_out)
            out += _folded(f"{count} cases that did not change", self.table(
                "Cases that did not change, in file order", "".join(map(self.case, self.shown_same))) + hidden,
                count <= OPEN_UP_TO, "same")
        if self.closed:
            out += (f"<p>To keep the page light, {self.closed} of these cases do not open here; the runs hold their "
                    "trials.</p>")
        return f'<div id="all-cases">{out}</div>'


def _moved(difference: str) -> str:
    return f' <span class="{_sign(difference)}">{_esc(difference)}</span>' if _sign(difference) else ""


# === The whole ===


def story_html(story: Story, made: dict[str, str] | None = None,
               opened: Callable[[str, Any], str] = lambda table, key: "") -> str:
    """Return a story as one HTML page; made holds the HTML of tables, by key, that the page makes itself."""
    made = made or {}
    warnings = "".join(f"<li>{_esc(message)}; <b>{_esc(advice)}</b>.</li>" for message, advice in story.warnings)
    warnings = f'<section id="warnings"><h2>Warnings ({len(story.warnings)})</h2><ol>{warnings}</ol></section>\n' * bool(
        warnings)
    main = ""
    for section in story.sections:
        inner = "".join(f"<p>{_esc(block)}</p>" if isinstance(block, str) else
                        made[block.key] if block.key in made else _table(story, block, opened)
                        for block in section.blocks)
        main += f'<section id="{section.key}"><h2>{_esc(section.heading)}</h2>{inner}</section>\n'
    nav = "".join(f'<a href="#{section.key}">{_esc(section.heading)}</a>' for section in story.sections)
    lead = "".join(f"<p>{_esc(sentence)}</p>" for sentence in story.lead)
    lead += f'<p class="gate">{_esc(story.gate[:1].upper() + story.gate[1:])}.</p>' * bool(story.gate)
    word = _esc(story.verdict[:1].upper() + story.verdict[1:])
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'sha256-{allowed}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{word}: {_esc(story.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="subject"><b>{_esc(story.title)}</b> {_esc(story.subject)}</p>
<h1{_class(story.verdict if story.verdict in ("better", "worse") else "")}>{word}</h1>
<div class="lead">{lead}</div>
</header>
<main>
{warnings}<nav aria-label="Sections">{nav}</nav>
{main}</main>
<footer><p>Made by report.py {TOOL_VERSION}; the figures are those of the comparison's JSON.</p></footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def html_report(comparison: dict[str, Any], panel: Sequence[dict[str, Any]] = (),
                manifests: Sequence[dict[str, Any]] = ()) -> str:
    """Return a comparison as one HTML page, with the trials of a panel and the two run records' manifests if given."""
    words, marker = Words(comparison, minus="−"), _Marker()
    story, rows = words.story(), _Panel(words, panel, marker)
    measured = story.sections[-1].blocks[0]
    assert isinstance(measured, Table)
    measured.rows.extend(_manifest_rows(manifests))
    return story_html(story, {"change": _change(words, manifests, marker), "cases": rows.tables()}, rows.opened)
