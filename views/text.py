"""What does a comparison look like without a browser? Text for a terminal, and Markdown for a pull request comment.

    $ python3 report.py runs/comparison.json
    model-triage-qwen2.5-coder v1 against model-triage-qwen2.5-coder v2: 44 cases of
    inbox-triage-robustness, 9 sources, 5 trials a case.
    ...

Sentences, tables and their order are those of words.py. Reads, writes and prints nothing.
"""

import functools
import itertools
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from core.files import clean
from views.words import NOT_MEASURED, Scale, Story, Table, TableRow, joined, lines_of, sentence, shortened

MARKDOWN_LIMIT = 65_536  # characters of one GitHub comment
MARKDOWN_WIDTH = 100  # characters of a table's row, about what a pull request shows without scrolling
ROW_LIMITS = (1000, 500, 200, 100, 50, 20, 10, 5)  # of a table; the first that makes a text fit is taken
LEAST_WIDTH = 60  # columns of a terminal
TEXT_ROWS = 40  # of a table on a terminal
LEFT_OUT = (f"What does not fit into the {MARKDOWN_LIMIT:,} characters of a comment is left out; it is in the "
            "comparison's JSON and its run records.")
MADE_BY = "<sub>Made by report.py</sub>"  # so that the next may replace it
FIRST_SCREEN = ("questions", "cost", "sheet")  # tables of a comment's first screen, with the regressions
FIRST_ROWS = 10  # regressions there
FIGURES = "#~"  # what the heads of columns of figures begin with
MOST_OF_NAME = 24  # columns that a name takes before others are left out for it


# === Texts that fit ===


@functools.cache
def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("abc"), columns("日本"), columns("e\\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def beginning(text: str, width: int) -> str:
    """Return the longest beginning of a text that takes at most `width` columns."""
    text = text[:4 * width + 8]  # combining marks take no column, but many of them fill a screen
    taken = itertools.accumulate(map(_width, text))
    return text[:sum(1 for total in taken if total <= width)]


def clip(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns; of a longer one without its middle: names differ at their ends.

    >>> clip("password-changed--typo", 14), clip("short", 14)
    ('passwor…--typo', 'short')
    """
    if columns(text) <= width and len(text) <= 4 * width:
        return text
    tail = beginning(text[::-1], (width - 1) // 2)[::-1]
    return f"{beginning(text, width - 1 - columns(tail))}…{tail}"


def fitting(rows: Sequence[dict[str, str]], width: int) -> list[str]:
    """Return the heads of the columns that a table of `width` shows: those marked ~ are left out, the last first.

    >>> fitting([{"name": "abc", "~cases": "12345", "#p": "0.5"}], 12)
    ['name', '#p']
    """
    name, *others = rows[0]
    widths = {head: max(columns(head), *(columns(row[head]) for row in rows)) for head in (name, *others)}
    widths[name] = min(widths[name], MOST_OF_NAME)
    for head in reversed(others):
        alone = head == "~baseline" and "~candidate" not in widths  # a mean without the other's
        if head.startswith("~") and (alone or sum(widths.values()) + 2 * len(widths) - 2 > width):
            del widths[head]
    return [*widths]


def padded(text: str, width: int, right: bool) -> str:
    """Return a text in exactly `width` columns, clipped or with blanks before it (right) or after it."""
    text = clip(text, width)
    blanks = " " * (width - columns(text))
    return blanks + text if right else text + blanks


# === Terminal ===

# What drawings are made of: left end, line, right end, point, zero, zero inside an interval, dashed edge; an ellipsis.
UNICODE, ASCII = "├─┤●│┼┊…", "[-]o|+:~"
COLOURS = {"better": "32", "worse": "31", "undecided": "33", "equivalent": "36", "not worse": "36"}


def terminal_settings(stream: Any) -> dict[str, Any]:
    """Return story_text's width, unicode and colour for a stream: colour only on a terminal that wants it."""
    unicode = "utf" in str(stream.encoding).lower()
    colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return {"width": shutil.get_terminal_size().columns, "unicode": unicode, "colour": colour}


class _Screen:
    """Lines for a terminal of one width, with or without Unicode and colour."""

    def __init__(self, width: int, unicode: bool, colour: bool):
        self.width, self.unicode, self.colour = max(width, LEAST_WIDTH), unicode, colour
        self.lines: list[str] = []

    def harmless(self, text: object) -> str:
        # Terminals disagree on the width of what joiners and variation selectors join: they are left out.
        text = clean(text).translate(dict.fromkeys((0x200C, 0x200D, 0xFE0E, 0xFE0F)))
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()

    def heading(self, text: str, colour: str = "1") -> None:
        text = clip(self.harmless(text), self.width)
        self.lines += ["", f"\x1b[{colour}m{text}\x1b[0m" if self.colour else text]

    def say(self, text: str, indent: str = "  ") -> None:
        """Add a text wrapped by words to the width; a word wider than that is broken."""
        line = indent
        for word in clip(self.harmless(text), 1500).split(" "):
            if columns(line) + columns(word) > self.width and line != indent:
                self.lines.append(line)
                line = indent
            while columns(line) + columns(word) > self.width:
                part = beginning(word, self.width - columns(line))
                self.lines.append(line + part)
                line, word = indent, word[len(part):]
            line += f"{word} "
        self.lines.append(line)

    def table(self, story: Story, table: Table) -> None:
        """Add a table, what it folds away as a line, and its notes."""
        rows = shortened(table.rows, TEXT_ROWS)
        if rows:
            self.say(f"{table.caption}:", "")
            self.grid(rows, story.scale(table), story.edges)
        if table.more:
            self.say(table.folded())
        for row in rows:
            if row.note:
                self.say(f"{row.name}: {row.note}.")

    def grid(self, rows: Sequence[TableRow], scale: Scale | None, edges: Sequence[float]) -> None:
        """Add the rows of a table: columns that do not fit are left out; the drawings are to the right of them."""
        cells = [{head: self.harmless("-" if cell == NOT_MEASURED else cell) for head, cell in row.cells.items()}
                 for row in rows]
        heads = fitting(cells, self.width)
        lines = [[head.lstrip(FIGURES) for head in heads], *([row[head] for head in heads] for row in cells)]
        widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
        spare = self.width - sum(widths) - 2 * (len(widths) - 1)
        widths[0] = max(6, widths[0] + min(spare, 0))
        drawings = _drawings(scale, edges, rows, min(60, spare - 3)) if scale and spare >= 19 else [""] * len(lines)
        right = [head[0] in FIGURES for head in heads]
        for line, drawing in zip(lines, drawings, strict=True):
            self.lines.append("  ".join([*map(padded, line, widths, right), drawing]))


def _drawings(scale: Scale, edges: Sequence[float], rows: Sequence[TableRow], width: int) -> list[str]:
    """Return an axis, and below it what each row draws, in so many columns; zero is seen in every row."""
    left, line, right, point, zero, crossed, border, _ = list(UNICODE)

    def column(value: float) -> int:
        return round(scale.at(value) * (width - 1))

    axis = [" "] * width
    for tick, label in sorted(scale.ticks, key=lambda tick: tick[0] != 0):  # zero is labelled first
        start = min(width - len(label), max(0, column(tick) - len(label) // 2))
        if not "".join(axis[max(0, start - 1):start + len(label) + 1]).strip():
            axis[start:start + len(label)] = label
    drawings = ["".join(axis)]
    for row in rows:
        cells = [" "] * width
        for edge in edges:
            cells[column(edge)] = border
        cells[column(0)] = zero
        if row.ends:
            low, high = map(column, row.ends)
            cells[low:high + 1] = line * (high + 1 - low)
            cells[low], cells[high] = left, right
            if low <= column(0) <= high:
                cells[column(0)] = crossed
        for place, count in Counter(map(column, row.dots)).items():
            cells[place] = point if count == 1 else f"{count}" if count < 10 else "#"
        if row.change is not None:
            cells[column(row.change)] = point
        drawings.append("".join(cells))
    return drawings


def story_text(story: Story, width: int = 80, unicode: bool = True, colour: bool = False) -> str:
    """Return a story as lines for a terminal of `width` columns, LEAST_WIDTH at least; all ASCII without unicode."""
    screen = _Screen(width, unicode, colour)
    screen.say(f"{story.title}: {story.subject}.", "")
    screen.heading(story.verdict.upper(), COLOURS.get(story.verdict, "1"))
    for line in filter(None, (*story.lead, sentence(story.gate))):
        screen.say(line)
    for _, heading, blocks in story.sections:
        screen.heading(heading)
        for block in blocks:
            if isinstance(block, Table):
                if block.rows and block is not blocks[0]:
                    screen.lines.append("")
                screen.table(story, block)
            else:
                for number, line in enumerate(lines_of(block, TEXT_ROWS)):
                    screen.say(line, "    " if number else "  ")
    text = "".join(f"{line.rstrip()}\n" for line in screen.lines)
    return text if unicode else text.translate(str.maketrans(UNICODE, ASCII))


# === Markdown ===


def _md(text: object) -> str:
    """Return text that Markdown takes as nothing but text: no row, link, mention, reference or tag comes of it."""
    def entity(match: re.Match[str]) -> str:  # a space without width, so that @name and #1 notify nobody
        return f"&#{ord(match[0])};" + ("&#8203;" if match[0] in "@#" else "")

    return re.sub(r"(?i)[^\w ,;%'(/+=).:-]|_|:(?!\s|$)|(?<=www)\.", entity, clip(clean(text), 600))


def _md_table(table: Table, limit: int) -> list[str]:
    """Return the lines of a table of at most so many rows, and of the names that it folds away."""
    lines: list[str] = []
    if table.rows:
        rows = shortened(table.rows, limit)
        heads = fitting([row.cells for row in rows], MARKDOWN_WIDTH)
        lines += ["", f"**{_md(table.caption)}**", "", _md_row(_md(head.lstrip(FIGURES)) for head in heads),
                  _md_row("---:" if head[0] in FIGURES else ":---" for head in heads)]
        for row in rows:
            name, *figures = (_md(row.cells[head]) for head in heads)
            if row.link:
                name = f'<a href="{_md(row.link).replace("&#8203;", "")}">{name}</a>'
            if row.note:
                name += f"<br><sub>{_md(row.note)}</sub>"
            lines.append(_md_row([name, *figures]))
    if table.more:
        lines += ["", _md(table.folded())]
    return lines


def _md_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(story: Story, limit: int) -> str:
    """Return a story as Markdown with at most so many rows a table, and as many blocks a section."""
    first = [f"### {joined(_md(sentence(story.verdict)[:-1]), _md(story.gate), by=' · ')}", "",
             f"**{_md(story.title)}**: {_md(story.subject)}.", "", " ".join(map(_md, story.lead))]
    folded: list[str] = []
    for _, heading, blocks in story.sections:
        inner: list[str] = []
        for block in blocks[:limit]:
            if not isinstance(block, Table):
                inner += ["", "<br>".join(map(_md, lines_of(block, limit)))]
            elif block.key in FIRST_SCREEN:
                first += _md_table(block, limit)
            else:
                inner += _md_table(block, limit)
                if block.key == "cases":
                    losses = [row for row in block.rows if row.direction == "worse"]
                    shown = losses[:FIRST_ROWS]
                    caption = f"Regressions, worst first ({len(shown)} of {len(losses)})"
                    first += _md_table(block._replace(caption=caption, rows=shown), limit)
        if inner:
            folded += ["", f"<details><summary>{_md(heading)}</summary>", *inner, "", "</details>"]
    if limit < ROW_LIMITS[0]:
        folded += ["", LEFT_OUT]
    return "\n".join([*first, *folded, "", MADE_BY, ""])


def story_markdown(story: Story) -> str:
    """Return a story as Markdown for a pull request comment, within MARKDOWN_LIMIT characters.

    What does not fit is left out: rows between the first and the last of each table, and where that is not enough the
    end.
    """
    for limit in ROW_LIMITS:
        text = _markdown(story, limit)
        if len(text) <= MARKDOWN_LIMIT:
            return text
    end = "\n".join(["", LEFT_OUT, "", MADE_BY, ""])
    return text[:MARKDOWN_LIMIT - len(end)].rpartition("\n")[0] + end
