"""What does a table hold? A CSV, JSONL or JSON file as rows: a line, or an object, a trial.

    $ python3 convert.py table tests/data/convert/scores.csv --case task --trial run --config-column model \
          --score correct | wc -l
    note: trials of config 'small': 4
    note: trials of config 'large': 4, of which 1 has no score
    8

Files are read piece by piece. A column within a column has a dot between their names: inputs.question, results.0.score.
Without --trial the rows of one case are its trials, in their order; a note counts those after the first.
"""

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from core.files import STRICT, RunError, refusal, text_of
from core.kinds import describe
from core.texts import Json, head, opened
from core.trial_logs import error_words
from core.trials import MEASURES
from importers.rows import Rows, Sample, cell_text, digest, known_word, needed, pick, score_of, total, what_else

VERBS, WHAT = ("table", "csv"), "a CSV, JSONL or JSON file with a line or an object a trial"
EXAMPLE = "v1=old.csv v2=new.csv --case id --score correct > trials.jsonl"
ONCE = json.JSONDecoder(object_pairs_hook=STRICT.object_pairs_hook)  # reads NaN, but no object with a key twice
DELIMITERS = (",", ";", "|", "\t")  # of a CSV: the one that is most often in its first line


def options(option: Callable[..., Any]) -> None:
    option("--score", required=True, metavar="COLUMN", help="the score")
    option("--trial", metavar="COLUMN", help="the trial's number (default: its place)")
    option("--error", metavar="COLUMN", help="why a trial has no score: text other than false")
    option("--input", metavar="COLUMN", help="what is asked")
    option("--output", metavar="COLUMN", help="what was answered")
    option("--explanation", metavar="COLUMN", help="what the grader said about the score")
    option("--measure", nargs="+", default=[], metavar="NAME=COLUMN", help=f"of {', '.join(MEASURES)}")
    option("--rows", nargs="+", metavar="KEY[=SCORE]", help="where a JSON object holds its rows (. for the outermost), "
           "and the score that all of them have")
    option("--where", metavar="COLUMN=VALUE", help="only the rows that have this value")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    measured = dict(pair.partition("=")[::2] for pair in args.measure)
    if wrong := [name for name, column in measured.items() if name not in MEASURES or not column]:
        raise RunError(f"--measure {wrong[0]}: choose of {', '.join(MEASURES)}, as in latency_s=COLUMN")
    if args.error == args.score:
        raise RunError(f"--error and --score both name {args.score}, so no trial would have a score; leave --error out")
    named = args.id or args.input  # what names a case
    if not named:
        raise RunError(f"{path}: no column names the cases; choose one with --case or --input{what_else(path)}")
    optional = (args.input, args.output, args.explanation, args.error, *measured.values())
    rows.had.update(dict.fromkeys(filter(None, optional), 0))
    where_column = (args.where or "").partition("=")[0]
    seen = Counter[str]()  # rows of each config and case
    for where, row in read_table(path, args.rows):
        if args.where and args.where != f"{where_column}={text_of(pick(row, where_column))}":
            continue
        rows.optional = None if isinstance(row, Cells) else args.error  # JSON may leave it out where nothing failed
        score, error = None, failure(row, args.error)
        if not error:
            score = needed(row, args.score, where, path, may_be_blank=True)
            if score in (None, "") or score != score:  # NaN
                error = "no score"
            elif score_of(score, rows.words) is None and known_word(score, rows.words) is None:
                raise RunError(f"{where}: score {score!r:.60} is no number; correct it, or give --map WORD=NUMBER, or "
                               "WORD= for what is no score")
        for name in filter(None, (args.trial, named)):
            needed(row, name, where, path)
        if not (args.error or error) and score_of(score, rows.words) is not None and failure(row, "error"):
            rows.notes["scored though the column error says something; --error error makes them unscored"] += 1
        measures = {name: total(score_of(pick(row, column))) for name, column in measured.items()}
        for name, column in measured.items():
            if measures[name] is None and cell_text(pick(row, column)):
                rows.notes[f"{name} in {column!r} that is no number of 0 or more, left out"] += 1
        seed, case = pick(row, args.trial), digest(pick(row, args.config_column), pick(row, named))
        seen[case] += 1
        if not args.trial and seen[case] > 1:
            seed = seen[case]
            rows.notes["rows of a case that is there already, counted as further trials of it"] += 1
        yield Sample(where=where, score=score, error=error, seed=seed, fields=row, asked=pick(row, args.input),
                     output=pick(row, args.output), explanation=pick(row, args.explanation), measures=measures)
    if args.where and not seen:
        raise RunError(f"{path}: no row has {args.where}; correct the column or its value, as JSON writes it")


def failure(row: dict[str, Any], column: str | None) -> Any:
    """Return what a row says of a failure; None where that is blank, false or not a number: there was none."""
    cell = pick(row, column)
    says_false = isinstance(row, Cells) and str(cell).strip().lower() == "false"
    return None if says_false or cell != cell or not error_words({"error": cell}) else cell


# === Tables ===


def read_table(path: str, keys: Sequence[str] | None = None,
               decoder: json.JSONDecoder = ONCE) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, row by column) of a CSV, JSONL or JSON file, JSON from the lists and objects under some keys.

    A key may end in =SCORE: the column `score` of its rows. Rows that are no objects have the column `value`, those of
    an object of objects the column `key`. Raises RunError where the file is none of these, or damaged.
    """
    with opened(path) as file:
        first_line = head(file).decode(file.encoding, "replace").lstrip().partition("\n")[0]
        if first_line.startswith(("{", "[")):
            yield from read_json(Json(file, path, decoder), dict(item.partition("=")[::2] for item in keys or ()))
        elif describe(head(file), path)[0] in ("", "a table"):
            unquoted = re.sub('"[^"]*"', "", first_line)
            yield from read_csv(file, path, max(DELIMITERS, key=unquoted.count))
        else:
            raise refusal(path, "a table", data=head(file))


class Cells(dict[str, str]):
    """A row of a CSV, which has all of its columns."""


def read_csv(file: TextIO, path: str, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(2**27)  # an answer kept in a column may be longer than the usual 128 KiB
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])  # of two columns with one name it is not known which is meant
        names = [f"{name} (duplicated)" if header.count(name) > 1 else name for name in header]
        for cells in filter(None, reader):
            where = f"{path}:{reader.line_num}"
            if len(cells) != len(header):
                raise RunError(f"{where}: {len(cells)} cells, but {len(header)} columns; correct the line")
            yield where, Cells(zip(names, cells, strict=True))
    except csv.Error as error:
        what = str(error).partition(" - ")[0]  # what may follow is for programmers
        raise RunError(f"{path}:{reader.line_num}: {what}; correct quotes and line ends") from None


def read_json(text: Json, scores: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    inside = {tuple(filter(None, key.split("."))): score for key, score in scores.items()}
    columns, count = list[str](), 0
    while mark := text.next():
        for keys, value in text.pieces(inside) if inside else text.whole():
            parent = keys if keys in inside else keys[:-1]
            if keys[-1:] == ("columns",) and isinstance(value, list):
                columns = [str(name) for name in value]  # of rows that are lists of cells
            elif parent in inside or not inside:
                row = value if isinstance(value, dict) else {"value": value}
                if isinstance(value, list):
                    row = dict(zip(columns, value, strict=False))
                if keys != parent:
                    row = {**row, "key": keys[-1]}
                if inside.get(parent):
                    row = {**row, "score": inside[parent]}
                count += 1
                yield f"{text.path}: item {count}" if inside or mark == "[" else text.where(), row
    for keys in inside:
        if keys not in text.met:
            raise RunError(f"{text.path}: nothing for --rows is under {'.'.join(keys) or '.'!r}; name another key")
