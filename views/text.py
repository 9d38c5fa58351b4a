"""What does a comparison look like without a browser? Text for a terminal, and Markdown for a pull request comment.

    $ python3 report.py runs/comparison.json
    model-triage-qwen2.5-coder v1 against model-triage-qwen2.5-coder v2: 44 cases of
    inbox-triage-robustness, 9 source groups, 5 trials a case.
    ...

Words and figures are those of words.py. Reads, writes and prints nothing.
"""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from views.words import (MARKS, NOT_MEASURED, ON_NOISE, SIDES, Ends, Words, beginning, clean, clip, columns, ends_of,
                         scale_of)

MARKDOWN_LIMIT = 65_536  # characters of one GitHub comment
TEXT_ROWS = 40  # changed cases and slices on a terminal

# === Terminal ===

# What drawings are made of: left end, line, right end, point, zero, the edge of the margin, ellipsis.
UNICODE, ASCII = ("├", "─", "┤", "●", "│", "┊", "…"), ("[", "-", "]", "o", "|", ":", "...")
COLOURS = {"better": "32", "worse": "31", "undecided": "33", "equivalent": "36", "not worse": "36", "bold": "1"}


def terminal_settings(stream: Any) -> dict[str, Any]:
    """Return text_report's width, unicode and colour for a stream: colour only on a terminal that wants it."""
    try:
        unicode = bool("".join(UNICODE).encode(stream.encoding or "ascii"))
    except (UnicodeEncodeError, LookupError):
        unicode = False
    colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return {"width": shutil.get_terminal_size().columns, "unicode": unicode, "colour": colour}


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

    def heading(self, text: str, colour: str = "bold") -> None:
        painted = self.colour and colour in COLOURS
        self.lines += ["", f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if painted else text]

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

    def table(self, rows: Sequence[Sequence[str]], left: Sequence[int] = (0,),
              draw: Callable[[int], list[str]] | None = None) -> None:
        """Add rows: all but the `left` columns to the right, the first cut where it must be, a drawing beside them."""
        rows = [["-" if cell == NOT_MEASURED else self.harmless(cell) for cell in row] for row in rows]
        widths = [max(map(columns, column)) for column in zip(*rows)]
        gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= self.width else 1
        taken = sum(widths[1:]) + gap * (len(widths) - 1)
        widths[0] = min(widths[0], max(6, self.width - taken))
        room = min(60, self.width - taken - widths[0] - 2)
        drawings = draw(room) if draw and room >= 16 else [""] * len(rows)
        for row, drawing in zip(rows, drawings):
            cells = [clip(cell, width, self.glyphs[-1]) for cell, width in zip(row, widths)]
            airs = [" " * (width - columns(cell)) for cell, width in zip(cells, widths)]
            cells = [cell + air if i in left else air + cell for i, (cell, air) in enumerate(zip(cells, airs))]
            self.lines.append(f"{(' ' * gap).join(cells)}  {drawing}")


def _drawings(words: Words, rows: Sequence[tuple[Ends, float | None]], glyphs: Sequence[str], width: int) -> list[str]:
    """Return an axis, and each row's interval and point below it, in so many columns."""
    left, line, right, middle, zero, border, _ = glyphs
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
            cells[column(edge)] = border
        cells[column(0)] = zero
        if ends:
            low, high = map(column, ends)
            cells[low:high + 1] = line * (high + 1 - low)
            cells[low], cells[high] = left, right
        if point is not None:
            cells[column(point)] = middle
        drawings.append(cells)
    return list(map("".join, drawings))


def text_report(comparison: dict[str, Any], width: int = 80, unicode: bool = True, colour: bool = False) -> str:
    """Return a comparison as lines for a terminal of `width` columns, 72 at least; all ASCII without unicode."""
    words, screen = Words(comparison), _Screen(width, unicode, colour)
    facts, glyphs, (word, sentences) = words.facts(), screen.glyphs, words.verdict()
    screen.say(f"{words.side('baseline')} against {words.side('candidate')}: {words.subject()}.", "", "")
    screen.heading(word.upper(), word)
    screen.say(sentences)

    screen.heading("Is it larger than the noise?")
    rows = words.intervals()
    drawn = [(row.ends, None if row.kind == "noise" else words.difference) for row in rows]
    screen.table([("95% interval", "", "from, to"), *(
        (row.label + " <" * (row.kind == "decides"), row.basis, words.span(row.ends)) for row in rows)],
        draw=lambda room: _drawings(words, drawn, glyphs, room))
    screen.say(f"< decides; {glyphs[4]} no difference; {glyphs[3]} the difference"
               + f"; {glyphs[5]} margin of {words.plain(words.margin)}" * bool(words.margin)
               + f"; {glyphs[5]} gain worth shipping, {words.signed(words.gain)}" * bool(words.gain) + ".")
    for sentence in [f"{row.label}: {NOT_MEASURED}: {row.note}." for row in rows if row.ends is None] + [
            facts[name] for name in ON_NOISE if name in facts]:
        screen.say(sentence)

    screen.heading("Where did it come from?")
    for name in ("pairs", "chance"):
        if name in facts:
            screen.say(facts[name])
    first, left_out, last = ends_of(words.changed(), TEXT_ROWS)
    if changed := [*first, *last]:
        screen.table([("changed case, worst first", "before", "after", "diff.", "by chance"), *(
            (case["case_id"], *cells) for case, cells in zip(changed, words.case_cells(changed)))])
    else:
        screen.say("No case changed.")
    if left_out:
        screen.lines.insert(len(screen.lines) - len(last),
                            f'  {left_out} between these are left out; the JSON has them under "cases"')

    if slices := words.slices():
        screen.heading("Whom does it help?")
        shown = slices[:TEXT_ROWS]
        table = [("slice", "cases", "grp", "before", "after", "diff.", f"95% by {words.unit.split()[0]}", "adj. p", ""),
                 *((f"{row.tag}: {row.value}", *(cell.replace(" to ", " ") for cell in row.cells), "".join(row.marks))
                   for row in shown)]
        spans = [(row.by_source, row.difference) for row in shown]
        screen.table(table, (0, 8), draw=lambda room: _drawings(words, spans, glyphs, room))
        if len(slices) > TEXT_ROWS:
            screen.say(f"{len(slices) - TEXT_ROWS} more slices are left out; the JSON has them.")
        if used := [f"{mark} {meaning}" for mark, meaning in MARKS.items() if any(mark in row.marks for row in shown)]:
            screen.say("; ".join(used) + ".")
        if "slices" in facts:
            screen.say(facts["slices"])

    for number, (message, advice) in enumerate(words.warnings(), start=1):
        if number == 1:
            screen.heading("Warnings")
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


def _folded(summary: str, lines: list[str], note: str | int) -> list[str]:
    """Return lines, and a note if there is one, behind a summary where they are many."""
    lines += [str(note), ""] if note else []
    return ["", "<details>", f"<summary>{summary}</summary>", *lines, "</details>", ""] if len(lines) > 25 else lines


def _markdown(words: Words, most_cases: int, most_slices: int, most_warnings: int) -> str:
    facts, (word, sentences), warnings, slices = words.facts(), words.verdict(), words.warnings(), words.slices()
    baseline, candidate = (_code(words.side(side)) for side in SIDES)
    lines = [f"### {word[:1].upper()}{word[1:]}: {candidate} against {baseline}", "", _md(sentences, 2000), "",
             f"{_md(words.subject())}."]
    lines += _md_table(["95% interval", "rests on", "of", "from, to"], [
        [f"**{row.label} (decides)**" if row.kind == "decides" else row.label, _md(row.note, 200), row.basis,
         words.span(row.ends)] for row in words.intervals()], words=2)
    lines += [f"- {_md(facts[name])}" for name in ("pairs", "chance", *ON_NOISE) if name in facts]
    if slices:
        table = _md_table(["slice", "mind", "cases", "groups", "before", "after", "difference", "from, to",
                           "adjusted p"], [[_code(f"{row.tag}: {row.value}"), _md("; ".join(row.marks.values()), 200),
                                            *row.cells] for row in slices[:most_slices]], words=2)
        left_out = len(slices[most_slices:])
        lines += ["", f"**Slices**, with the 95% sign-flip interval by {words.unit}. {_md(facts.get('slices', ''))}",
                  *_folded(f"{len(slices)} slices", table, left_out and f"{left_out} more slices are left out here.")]
    changed = words.changed()
    lines += ["", f"**Changed cases**, worst first: {words.counts}."]
    if changed:
        first, left_out, last = ends_of(changed, most_cases)
        shown = [*first, *last]
        table = _md_table(["case", "before", "after", "difference", "by chance"], [
            [_code(case["case_id"]), *cells] for case, cells in zip(shown, words.case_cells(shown))])
        lines += _folded(f"{len(changed)} changed cases", table, left_out and
                         f"{left_out} changed cases between the {len(first)} worst and the {len(last)} best are left "
                         "out here.")
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

    What does not fit is left out, the changed cases in the middle first, then slices, then warnings.
    """
    words = Words(comparison)
    note = ""
    for most in ((5000, 500, 100), (500, 500, 100), (200, 200, 100), (100, 100, 50), (50, 50, 20), (20, 20, 10),
                 (10, 10, 5)):
        text = _markdown(words, *most) + note
        note = (f"\nWhat does not fit into the {MARKDOWN_LIMIT:,} characters of a comment is left out; "
                "the comparison's JSON has it all.\n")
        if len(text) <= MARKDOWN_LIMIT:
            break
    return text
