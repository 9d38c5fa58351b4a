"""What does a comparison look like? One HTML page that needs no network and no script, from a phone to a wide screen.

    $ python3 report.py runs/comparison.json --runs runs/qwen-coder-v1.json runs/qwen-coder-v2.json \\
          --cases cases-robustness.json --html runs/comparison.html

Words and figures are those of words.py; here are the panel of all trials, the tables and their drawings. The style is
page.css, which the page embeds.
"""

import difflib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from core.files import TOOL_VERSION
from harness import CaseSet
from views.words import NOT_MEASURED, ON_NOISE, SIDES, Ends, Words, clean, clip, ends_of, scale_of

PAGE_ROWS = 1_000  # changed cases, cases in file order, and slices
FOLD_FROM = 300  # a panel of more cases folds its unchanged ones
OPENED_BYTES = 8_000_000  # of opened cases, so that the page stays under 20 MB
DRAWN_TRIALS = 50  # of a case's row, for the same reason; a case that opens lists them all
SHOWN_CHARACTERS = 4_000  # of one input or output
MARKED_WORK = 30_000_000  # pairs of words that difflib may compare, about a second
STYLE = (pkgutil.get_data("views", "page.css") or b"").decode()  # from a zip, too

# === The panel: every trial of every case ===

# A row a case: {"case_id", "source", "input", "expected", "trials"}; what is not known is None. `trials` has, in order,
# {"seed", "baseline", "candidate"}; a side that lacks the trial is None, else {"verdict", "score", "output", "error",
# "raw"}: verdict pass, fail or incomplete, None where the score (within score_range) is neither; error a text or
# None; output, and raw (the reply as it came), any JSON value.


def _outcome(verdict: str | None, score: Any, output: Any, error: str | None, raw: Any = None) -> dict[str, Any]:
    return {"verdict": verdict, "score": score, "output": output, "error": error, "raw": raw}


def record_panel(baseline: dict[str, Any], candidate: dict[str, Any], case_set: CaseSet) -> list[dict[str, Any]]:
    """Return the panel of two run records that harness.compare accepts, in the case file's order."""
    rows: dict[str, dict[str, Any]] = {
        case.id: {"case_id": case.id, "source": case.tags.get("source"), "input": case.input,
                  "expected": case.expected, "trials": []} for case in case_set.cases}
    others = {(row["case_id"], row["trial"]): row for row in candidate["results"]}
    for row in baseline["results"]:
        one, other = (_outcome(side["verdict"], int(side["verdict"] == "pass"), side.get("output"),
                               "{type}: {message}".format(**side["error"]) if "error" in side else None,
                               side["metadata"] or None) for side in (row, others[row["case_id"], row["trial"]]))
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
    for case, *sides in zip(pair.cases, *(side.trials for side in pair.sides)):
        left, right = ({i if trial.seed is None else f"{trial.seed}": trial for i, trial in enumerate(trials)}
                       for trials in sides)
        rows.append({"case_id": case.id, "source": case.source, "input": case.input, "expected": None, "trials": [
            {"seed": seed if isinstance(seed, str) else None, "baseline": outcome(left.get(seed)),
             "candidate": outcome(right.get(seed))} for seed in {**left, **right}]})
    return rows


# === Cells, rows, tables ===


def _esc(value: object) -> str:
    return escape(clean(value))


def _class(*kinds: str) -> str:
    return f' class="{" ".join(filter(None, kinds))}"' if any(kinds) else ""


def _heads(*names: str) -> str:
    """Return heads of columns; those of numbers, marked #, stand to the right."""
    return "".join(f'<th scope="col"{_class("n" * name.startswith("#"))}>{name.lstrip("#")}</th>' for name in names)


def _row(head: str, *cells: str, kind: str = "") -> str:
    return f'<tr{_class(kind)}><th scope="row">{head}</th>{"".join(cells)}</tr>'


def _numbers(*values: object, kind: str = "") -> str:
    return "".join(f"<td{_class('n', 'null' if value == NOT_MEASURED else kind)}>{escape(str(value))}</td>"
                   for value in values)


def _table(caption: str, head: str, body: str, kind: str = "small", style: str = "") -> str:
    """Return a table in a box that scrolls by itself where the screen is too narrow for it."""
    body = body if body.startswith("<tbody") else f"<tbody>{body}</tbody>"
    return (f'<div class="scroll" role="region" aria-label="{re.sub(" *<.*", "", caption)}" tabindex="0"><table '
            f'class="{kind}"{style}><caption>{caption}</caption><thead><tr>{head}</tr></thead>{body}</table></div>')


def _drawing(drawn: str, title: str = "", kind: str = "plot") -> str:
    """Return a table cell filled by a drawing; one without a title repeats its row, and is silent on screen readers."""
    told = f'role="img"><title>{_esc(title)}</title>' if title else 'aria-hidden="true">'
    return f'<td class="{kind}"><svg class="fill" {told}{drawn}</svg></td>'


def _bar(value: float, most: float, line: float | None = None) -> str:
    """Return a cell with a bar from zero, and an upright line at another value."""
    at = "" if line is None else f"{94 * line / most:.2f}%"
    return _drawing(f'<rect class="bar" y="28%" height="44%" width="{94 * value / most:.2f}%"/>'
                    + f'<line class="edge" x1="{at}" x2="{at}" y1="10%" y2="90%"/>' * bool(at))


def _sign(value: float) -> str:
    return "up" if value > 0 else "down" if value else "none"


def _sentences(facts: dict[str, str], *names: str) -> str:
    return "".join(f"<p>{_esc(facts[name])}</p>" for name in names if name in facts)


# === 1 and 3: intervals on one scale ===


class _Plot:
    """Drawings of intervals on one scale, each filling its table cell; places across are shares of the cell's width."""

    def __init__(self, words: Words, values: Sequence[float | None]):
        self.words, margin, gain = words, words.margin, words.gain
        self.scale = scale_of([*values, -margin, margin, gain])
        self.ground = self.rect(-margin, margin, "band", "0", "100%") if margin else ""
        self.ground += "".join(self.line("grid", tick, tick) for tick, _ in self.scale.ticks() if tick)
        self.ground += self.line("zero", 0, 0) + (self.line("gain", gain, gain) if gain else "")

    def at(self, value: float) -> str:
        return f"{100 * self.scale.at(value):.2f}%"

    def rect(self, low: float, high: float, kind: str, top: str, height: str) -> str:
        across = self.scale.at(high) - self.scale.at(low)
        return f'<rect class="{kind}" x="{self.at(low)}" width="{100 * across:.2f}%" y="{top}" height="{height}"/>'

    def line(self, kind: str, low: float, high: float, top: str = "0", bottom: str = "100%") -> str:
        return f'<line class="{kind}" x1="{self.at(low)}" x2="{self.at(high)}" y1="{top}" y2="{bottom}"/>'

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

    def interval(self, title: str, ends: Ends, point: float | None, kind: str, behind: str = "", y: str = "50%") -> str:
        """Return the cell of an interval with caps at its ends and a point, drawn over what is behind."""
        drawn = self.ground + behind
        if ends:
            drawn += self.line(f"ci {kind}", ends[0], ends[1], y, y) + "".join(
                f'<svg x="{self.at(end)}" y="{y}"><path class="cap {kind}" d="M0-5v10"/></svg>' for end in ends)
        if point is not None:
            drawn += f'<circle class="point {kind}" cx="{self.at(point)}" cy="{y}" r="4.5"/>'
        return _drawing(drawn, title)

    def histogram(self, start: float, width: float, shares: Sequence[float], ends: Ends) -> str:
        """Return the bars of a distribution, paler beyond the ends of its interval, and lines at these ends."""
        drawn = "".join(self.line("edge", end, end, "4%", "88%") for end in ends or ())
        for i, share in enumerate(shares):
            middle, height = start + (i + 0.5) * width, 74 * share / max(shares)
            if height > 0.1:
                kind = "bar" if not ends or ends[0] <= middle <= ends[1] else "bar tail"
                left, right = middle - width / 2, middle + width / 2
                drawn += self.rect(left, right, kind, f"{80 - height:.2f}%", f"{height:.2f}%")
        return drawn


def _noise_section(words: Words) -> str:
    rows, distribution = words.intervals(), words.get("overall", "exact_distribution")
    moves = distribution and sum(share > 0 for share in distribution["shares"]) > 1  # one bar would say nothing
    plot = _Plot(words, [words.difference, *(end for row in rows for end in row.ends or ())])
    body = ""
    for row in rows:
        bars = plot.histogram(**distribution, ends=row.ends) if row.kind == "exact" and moves else ""
        title = f"{row.label}: {words.span(row.ends)}" + ", below the distribution of the bootstrap's mean" * bool(bars)
        decides = ' <b class="tag">decides</b>' * (row.kind == "decides")
        point = None if row.kind == "noise" else words.difference
        body += _row(f"{row.label}{decides}<small>{_esc(row.basis)}: {_esc(row.note)}</small>",
                     plot.interval(title, row.ends, point, row.kind, bars, "88%" if bars else "50%"),
                     _numbers(words.span(row.ends), kind="span"), kind="tall" if bars else "")
    return _table("95% intervals of the difference, candidate minus baseline, on one scale",
                  _heads("Interval") + plot.head() + _heads("#from, to"), body, "plotted"
                  ) + _sentences(words.facts(), *ON_NOISE)


def _slices_section(words: Words) -> str:
    slices = words.slices()
    shown = slices[:PAGE_ROWS]
    plot = _Plot(words, [value for row in shown
                         for value in (row.difference, *(row.by_source or ()), *(row.by_case or ()))])
    body = ""
    for tag, group in groupby(shown, key=lambda row: row.tag):
        body += f'<tbody><tr><th scope="rowgroup" colspan="9"><bdi>{_esc(tag)}</bdi></th></tr>'
        for row in group:
            title = f"{row.value}: by {words.unit} {words.span(row.by_source)}, by case {words.span(row.by_case)}"
            thin = plot.line("thin", row.by_case[0], row.by_case[1], "50%", "50%") if row.by_case else ""
            kind = "decides" if row.by_source else "hollow"
            *counts, difference, span, adjusted = row.cells
            body += _row(f"<bdi>{_esc(row.value)}</bdi><small>{_esc('; '.join(row.marks.values()))}</small>",
                         plot.interval(title, row.by_source, row.difference, kind, thin),
                         _numbers(difference, kind=_sign(row.difference)), _numbers(span, kind="span"),
                         _numbers(adjusted, *counts))
        body += "</tbody>"
    head = (_heads("Slice") + plot.head()
            + _heads("#diff.", "#from, to", "#adj. p", "#cases", "#groups", "#before", "#after"))
    out = _table(f"Difference by slice <span>thick: 95% sign-flip interval by {words.unit}; thin: bootstrap by case"
                 "</span>", head, body, "plotted slices") if slices else "<p>The cases have no tags, so no slices.</p>"
    if len(slices) > PAGE_ROWS:
        out += f"<p>{len(slices) - PAGE_ROWS} more slices are left out here; comparison.json has them.</p>"
    return out + _sentences(words.facts(), "slices") + _measures_table(words)


def _measures_table(words: Words) -> str:
    def number(value: float | None, sign: str = "") -> str:
        return NOT_MEASURED if value is None else f"{value:{sign},.6g}".replace("-", words.minus)

    body = ""
    for name, row in (words.get("measures") or {}).items():
        span = " to ".join(number(end, "+") for end in row["interval_95"] or ()) or NOT_MEASURED
        body += _row(_esc(name), _numbers(row["cases"], *(number(row[side]) for side in SIDES),
                                          number(row["difference"], "+"), span))
    head = _heads("Measure", "#cases", "#before", "#after", "#diff.", "#from, to")
    return _table("What else differs, mean a case, with its 95% interval", head, body) if body else ""


# === 2: the panel ===

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
        self.changed = {case["case_id"]: case for case in words.changed()}
        figures = {case_id: self.same(row) for case_id, row in self.rows.items()} | self.changed
        self.cells = dict(zip(figures, words.case_cells(list(figures.values()))))
        self.numbers = {case_id: number for number, case_id in enumerate(self.rows, start=1)}
        self.most = max((len(row["trials"]) for row in panel), default=0)
        self.trials = min(self.most, DRAWN_TRIALS)
        self.room, self.work, self.closed = OPENED_BYTES, MARKED_WORK, 0

    def same(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the figures of a case that did not change: its mean score, the same on both sides."""
        scores = [trial["baseline"]["score"] for trial in row["trials"] if trial["baseline"]]
        if self.words.get("missing") == "drop":
            scores = [score for score in scores if score is not None]
        share = float(sum(score or 0 for score in scores) / len(scores)) if scores else None
        return {"baseline": share, "candidate": share, "difference": 0, "by_chance": None}

    def table(self, caption: str, body: str) -> str:
        width = min(14 * self.trials, 420)
        trials = f"Trials 1–{self.trials}" if self.trials > 1 else "Trial"
        trials += f" of {self.most}" * (self.most > self.trials)
        strips = f'<th scope="col" style="width:{max(80, width + 18)}px">{trials}</th>' * bool(self.trials)
        wide = [f'<th scope="col" class="n wide">{name}</th>' for name in ("before", "after", "better →", "by chance")]
        head = _heads("Case") + strips + "".join(wide[:3]) + _heads("#diff.") + wide[3]
        return _table(caption, head, body, "panel", f' style="min-width:{width + 230}px"')

    def across(self, inner: str) -> str:
        columns = 2 + bool(self.trials)  # those that a phone shows; more would take their room
        return f'<tr class="across"><th scope="rowgroup" colspan="{columns}">{inner}</th></tr>'

    def case(self, case_id: str, link: bool = False) -> str:
        """Return a case's table row. It opens while the budget lasts; a link leads to the row that does instead."""
        row, changed = self.rows.get(case_id), self.changed.get(case_id)
        name, anchor = f"<bdi>{_esc(case_id)}</bdi>", ""
        if link:
            name = f'<a href="#case-{self.numbers[case_id]}">{name}</a>'
        elif row:
            anchor = f' id="case-{self.numbers[case_id]}"'
            if self.room > 0:
                inner = self.opened(row)
                self.room -= len(inner.encode())
                name = f'<details><summary>{name}</summary><div class="in">{inner}</div></details>'
            else:
                self.closed += 1
        before, after, difference, chance = self.cells[case_id]
        moved = changed["difference"] if changed else 0
        bar = (f'<rect class="{_sign(moved)}" x="{50 + 50 * min(moved / self.span, 0):.2f}%" y="9" height="12" '
               f'width="{50 * abs(moved) / self.span:.2f}%"/><line class="zero" x1="50%" x2="50%" y1="0" y2="100%"/>')
        strip = f"<td>{self.strip(row) if row else ''}</td>" if self.trials else ""
        return (f'<tr{anchor}{_class("" if changed else "same")}><th scope="row">{name}</th>{strip}'
                + _numbers(before, after, kind="wide") + _drawing(bar, kind="plot wide")
                + _numbers(difference, kind=_sign(moved)) + _numbers(chance if changed else "", kind="wide") + "</tr>")

    def strip(self, row: dict[str, Any]) -> str:
        """Return all trials of a case: the baseline's line above the candidate's, a seed a column."""
        paths = dict.fromkeys(("won", "lost", *TRIAL_MARKS, "score"), "")
        told: dict[str, list[str]] = {side: [] for side in SIDES}
        for i, trial in enumerate(row["trials"][:self.trials]):
            before, after = ((trial[side] or {}).get("score") for side in SIDES)
            if before is not None and after is not None and before != after:
                paths["won" if after > before else "lost"] += f"M{14 * i + .5},0h13v28h-13z"
            for side, y in zip(SIDES, (7, 21)):
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

    def opened(self, row: dict[str, Any]) -> str:
        """Return what a case was: its input, what was expected, and each trial's two outcomes side by side."""
        given = "".join(f"<p><b>{key.capitalize()}</b></p><pre>{escape(_shown(row[key]))}</pre>"
                        for key in ("input", "expected") if row[key] is not None)
        body = ""
        for number, trial in enumerate(row["trials"], start=1):
            seed = "" if trial["seed"] is None else f"<small>seed {_esc(trial['seed'])}</small>"
            sides = [trial[side] for side in SIDES]
            marked = self.differences(*(_shown(side and side["output"]) for side in sides))
            body += _row(f"{number}{seed}", *map(self.outcome, sides, marked))
        return (f'{given}<table class="trials"><caption>Trials; what differs between two outputs is marked</caption>'
                f'<thead><tr>{_heads("Trial", "Baseline", "Candidate")}</tr></thead><tbody>{body}</tbody></table>')

    def outcome(self, outcome: dict[str, Any] | None, marked: str) -> str:
        """Return the cell of one trial of one side."""
        if outcome is None:
            return "<td>no such trial</td>"
        verdict = outcome["verdict"]
        said = _mark(verdict) if verdict else f"score {self.words.plain(float(outcome['score']))}"
        error = f": {_esc(outcome['error'])}" if outcome["error"] else ""
        raw = escape(_shown(outcome["raw"])) if verdict == "incomplete" else ""
        return f"<td><p>{said}{error}</p>{''.join(f'<pre>{text}</pre>' for text in (marked, raw) if text)}</td>"

    def differences(self, one: str, other: str) -> tuple[str, str]:
        """Return two texts as HTML, what differs marked by words, while the budget for that lasts: it is quadratic."""
        before, after = (re.findall(r"\w+|\s+|.", text) for text in (one, other))
        work = len(before) * len(after)
        if one == other or not work or work > self.work / 100:
            return escape(one), escape(other)
        self.work -= work
        left = right = ""
        for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            gone, come = escape("".join(before[a:b])), escape("".join(after[c:d]))
            left += gone if kind == "equal" or not gone else f"<del>{gone}</del>"
            right += come if kind == "equal" or not come else f"<ins>{come}</ins>"
        return left, right

    def file_order(self, linked: set[str]) -> str:
        """Return all cases, source by source; of a large panel the changed ones, as the page has room."""
        folded, drawn, body = len(self.rows) > FOLD_FROM, 0, ""
        title = f"All {len(self.rows)} cases in file order"
        for (_, source), group in groupby(self.rows.values(), key=lambda row: (
                row["source"] is None, row["source"] or row["case_id"])):
            cases = [row["case_id"] for row in group]
            changed = [case_id for case_id in cases if case_id in self.changed]
            shown = (changed if folded else cases)[:PAGE_ROWS - drawn]
            drawn += len(shown)
            if shown:
                several = len(cases) > 1
                head = self.across(f"<b><bdi>{_esc(source)}</bdi></b> {len(cases)} cases, {len(changed)} changed")
                body += (f'<tbody{_class("group" * several)}>{head * several}'
                         + "".join(self.case(case_id, case_id in linked) for case_id in shown) + "</tbody>")
        table = self.table(f"{title} <span>brackets join the variants of one source</span>", body)
        hidden = f"<p>{len(self.rows) - drawn} cases are folded away here; the run records hold their trials.</p>"
        return (f"<details{' open' * (not folded)}><summary>{title}{', those unchanged folded' * folded}</summary>"
                f"{table}{hidden * (len(self.rows) > drawn)}</details>")


def _panel_section(words: Words, panel: Sequence[dict[str, Any]]) -> str:
    rows = _Panel(words, panel)
    scored = any(trial[side] and not trial[side]["verdict"] for row in panel for trial in row["trials"]
                 for side in SIDES)
    legend = (", ".join(map(_mark, TRIAL_MARKS)) + ", other scores as columns of their height" * scored
              + ": the baseline’s trials above, the candidate’s with the same seeds below; a tinted column is a pair "
              "that differs. Open a case to read it." if panel else "A comparison does not hold the trials "
              "themselves. Its two run records do; report.py --runs shows them here.")
    first, left_out, last = ends_of(list(rows.changed), PAGE_ROWS)
    between = rows.across(f"{left_out} changed cases between these are left out here; comparison.json has them")
    cases = "".join([*map(rows.case, first), between * bool(left_out), *map(rows.case, last)])
    out = (f'<div class="pair">{_pairs_table(words)}{_chance_table(words)}</div><p class="legend">{legend}</p>'
           + (rows.table(f"Changed cases, worst first <span>{words.counts}</span>", cases) if cases
              else f"<p>No case changed: {words.counts}.</p>"))
    if rows.closed:
        out += (f"<p>To keep the page light, {rows.closed} of the changed cases do not open here; the run records hold "
                "their trials.</p>")
    return out + (rows.file_order({*first, *last}) if panel else "")


def _pairs_table(words: Words) -> str:
    pairs = words.get("trial_pairs")
    if not pairs:
        return _sentences(words.facts(), "pairs")
    both, lost, won, neither = (pairs[key] for key in ("both_pass", "only_baseline", "only_candidate", "neither"))
    body = (_row("Baseline passes", _numbers(both), _numbers(lost, kind="down"), _numbers(both + lost))
            + _row("Baseline does not", _numbers(won, kind="up"), _numbers(neither, won + neither))
            + _row("All", _numbers(both + won, lost + neither, sum(pairs.values()))))
    return _table("Pairs of trials", _heads("Trials", "#Candidate passes", "#Candidate does not", "#All"), body)


def _chance_table(words: Words) -> str:
    rows = words.get("changed_by_chance", "trials_moved")
    if not rows:
        return _sentences(words.facts(), "chance")
    most = max(max(row["observed"], row["expected"]) for row in rows) or 1
    body = "".join(_row(f"at least {row['at_least']}", _bar(row["observed"], most, row["expected"]),
                        _numbers(row["observed"], words.plain(row["expected"], 2))) for row in rows)
    return _table("Cases that moved by so many trials <span>bar: observed; line: expected by chance</span>",
                  _heads("Trials", "drawn", "#observed", "#expected"), body)


# === The rest, and the whole ===

PURCHASES = {"now": "nothing", "twice_cases": "twice the cases", "twice_trials": "twice the trials",
             "endless_trials": "endless trials", "twice_groups": "twice the source groups"}
PLANS = {"source_groups": "source groups", "cases": "cases", "trials": "trials a case"}


def _plan_section(words: Words) -> str:
    half, plan = (words.get(key) or {} for key in ("half_width", "plan"))
    most = max(half.get(key) or 0 for key in PURCHASES) or 1
    out = _table("Half of the 95% interval’s width, and what would narrow it",
                 _heads("Bought", "drawn", "#half-width"),
                 "".join(_row(name, _bar(half.get(key) or 0, most), _numbers(words.plain(half.get(key))))
                         for key, name in PURCHASES.items()))
    if plan:
        wanted = " or ".join(f"{plan[key]} {name}" for key, name in PLANS.items() if plan.get(key) is not None)
        reason = f" ({plan['reason']})" if plan.get("reason") else ""
        out += (f"<p>A half-width of {words.plain(plan['half_width'])} needs "
                f"{_esc((wanted or NOT_MEASURED) + reason)}.</p>")
    return out + _sentences(words.facts(), "detectable") + (
        f"<p>Not measured: {_esc(half['reason'])}.</p>" if half.get("reason") else "")


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of all that a manifest holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path} {key}")
    elif value is not None:
        yield path.replace("_", " "), clean(value)


def _measured_section(words: Words, manifests: Sequence[dict[str, Any]]) -> str:
    one, other = (dict(_flat(manifest, "run")) for manifest in manifests or ({}, {}))
    rows = words.recipe() + [(key, one.get(key, "–"), other.get(key, "–")) for key in {**one, **other}]
    rows += [(name, value, value) for name, value in _flat(words.get("variance"), "variance")]
    excluded, uneven = words.get("excluded") or [], words.get("uneven_trials") or []
    rows += [("cases left out", len(excluded), len(excluded))] * bool(excluded)
    for case in excluded[:PAGE_ROWS]:
        left, right = (case["reason"] if case["side"] == side else "–" for side in SIDES)
        rows.append((f"left out: {case['case_id']}", left, right))
    rows += [(f"trials of {case['case_id']}", case["baseline"], case["candidate"]) for case in uneven[:PAGE_ROWS]]
    body = "".join(_row(_esc(name), f'<td colspan="2">{_esc(left)}</td>' if left == right else
                        f"<td>{_esc(left)}</td><td>{_esc(right)}</td>") for name, left, right in rows)
    return _table("All that decides the figures; one value where both sides share it",
                  _heads("What", "Baseline", "Candidate"), body, "measured")


def html_report(comparison: dict[str, Any], panel: Sequence[dict[str, Any]] = (),
                manifests: Sequence[dict[str, Any]] = ()) -> str:
    """Return a comparison as one HTML page, with the trials of a panel and the two run records' manifests if given."""
    words = Words(comparison, minus="−")
    left_out = {row["case_id"] for row in words.get("excluded") or ()}
    panel = [row for row in panel if row["case_id"] not in left_out]
    word, sentences = words.verdict()
    moved, _, same = words.counts.rpartition(", ")
    facts = [("difference", words.signed(words.difference), "candidate minus baseline")]
    for side in SIDES:
        what = [clip(clean(words.get(side, key)), 60) for key in ("model", "prompt") if words.get(side, key)]
        facts.append((side, words.plain(words.overall.get(side)), " · ".join([words.side(side), *what])))
    facts.append(("cases", moved, same))
    warnings = "".join(f"<li>{_esc(message)}; <b>{_esc(advice)}</b></li>" for message, advice in words.warnings())
    warnings = f"<ol>{warnings}</ol>" if warnings else "<p>None.</p>"
    sections = [("noise", "Is it larger than the noise?", _noise_section(words)),
                ("where", "Where did it come from?", _panel_section(words, panel)),
                ("whom", "Whom does it help?", _slices_section(words)),
                ("next", "What to buy next", _plan_section(words)),
                ("warnings", f"Warnings ({len(words.warnings())})", warnings),
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
<footer><p>Made by report.py {TOOL_VERSION}; the figures are those of comparison.json.</p></footer>
</body>
</html>
"""
