"""What does a table hold? A CSV, JSONL or JSON file as rows: a line, or an object, a trial.

    $ python3 convert.py table tests/data/convert/scores.csv --case task --trial run --config-column model \
          --score correct | wc -l
    note: trials of config 'small': 4
    note: trials of config 'large': 4
    8

Files are read piece by piece. A column within a column has a dot between their names: inputs.question, results.0.score.
"""

import argparse
import csv
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from core.files import STRICT, RunError, read_bytes, refusal
from core.kinds import HEAD, describe
from core.texts import Json, head, opened
from core.trials import MEASURES, listed
from importers.rows import Rows, Sample, amount, pick, score_of

VERBS, WHAT = ("table", "csv"), "a CSV, JSONL or JSON file with a line or an object a trial"
EXAMPLE = "v1=old.csv v2=new.csv --case id --score correct"
ID_OPTION = "--case"
ONCE = json.JSONDecoder(object_pairs_hook=STRICT.object_pairs_hook)  # reads NaN, but no object with a key twice
DELIMITERS = (",", ";", "|", "\t")  # of a CSV: the one that is most often in its first line


def options(option: Callable[..., Any]) -> None:
    option("--score", required=True, metavar="COLUMN", help="the score")
    option("--trial", metavar="COLUMN", help="the trial's number (default: --run, else 1)")
    option("--error", metavar="COLUMN", help="why a trial has no score")
    option("--input", metavar="COLUMN", help="what is asked")
    option("--output", metavar="COLUMN", help="what was answered")
    option("--explanation", metavar="COLUMN", help="what the grader said about the score")
    option("--measure", nargs="+", default=[], metavar="NAME=COLUMN", help=f"of {', '.join(MEASURES)}")
    option("--rows", nargs="+", metavar="KEY[=SCORE]", help="where a JSON object holds its rows: a list, or an object "
           "of objects (. for the outermost); with the score that all of them have")
    option("--where", metavar="COLUMN=VALUE", help="only the rows that have this value")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    measured = dict(pair.partition("=")[::2] for pair in args.measure)
    if wrong := measured.keys() - set(MEASURES):
        raise RunError(f"--measure {min(wrong)}: choose of {', '.join(MEASURES)}, as in latency_s=COLUMN")
    if not args.id and not args.input:
        raise RunError(f"{path}: no column names the cases; choose one with --case COLUMN or --input COLUMN"
                       + what_else(path))
    rows.named |= dict.fromkeys([args.input, args.output, args.explanation, *measured.values()], False)
    field, _, wanted = (args.where or "").partition("=")
    for where, row in read_table(path, args.rows):
        if args.where and text_of(pick(row, field)) != wanted:
            continue
        given, trial, asked = (pick(row, name, row) for name in (args.score, args.trial, args.input))
        error = pick(row, args.error)
        rows.named.setdefault(args.error, not isinstance(row, Cells))  # JSON may leave it out where nothing failed
        for name, value in ((args.score, error or given), (args.trial, trial), (not args.id and args.input, asked)):
            if name and value is row:
                lists = [f"; if {key!r} is the list of rows: --rows {key}" for key in row if pick(row, f"{key}.0")]
                raise RunError(f"{where}: no column {name!r}; there are: {listed(row, 40) or 'none'}"
                               + what_else(path, "".join(lists[:1]) * (not args.rows)))
            if name and name != args.score and (value is None or not text_of(value).strip()):
                raise RunError(f"{where}: {name} is blank; fill it in")
        if given in (None, ""):
            error = error or "no score"
        if not error and score_of(given, rows.words)[0] is None:
            raise RunError(f"{where}: score {given!r:.60} is no number; correct it, or give --map WORD=NUMBER")
        if isinstance(trial, str) and re.fullmatch(r"0|[1-9]\d{0,17}", trial, re.ASCII):
            trial = int(trial)
        yield Sample(where=where, score=given, error=error, seed=trial if args.trial else None,
                     place=None if args.trial else where, fields=row,
                     asked=None if asked is row else asked, output=pick(row, args.output),
                     explanation=pick(row, args.explanation),
                     measures={name: amount(score_of(pick(row, column), {})[0]) for name, column in measured.items()})


def what_else(path: str, hint: str = "") -> str:
    """Return what a file is, and what reads it, for the error of a row that lacks a column; of a table the hint."""
    kind, reader = describe(read_bytes(path, HEAD) if os.path.isfile(path) else b"", path)
    return hint if kind in ("a table", "JSON of another kind", "") else f"; the file is {kind}: {reader}"


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# === Tables ===


def read_table(path: str, keys: Sequence[str] | None = None,
               decoder: json.JSONDecoder = ONCE) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, row by column) of a CSV, JSONL or JSON file, JSON from the lists and objects under some keys.

    A key may end in =SCORE: the column `score` of its rows. Rows that are no objects have the column `value`, those of
    an object of objects the column `key`. Raises RunError where the file is none of these, or damaged.
    """
    with opened(path) as file:
        first = head(file).decode(file.encoding, "replace").lstrip().partition("\n")[0]
        if first.startswith(("{", "[")):
            yield from read_json(Json(file, path, decoder), dict(item.partition("=")[::2] for item in keys or ()))
        elif describe(head(file), path)[0] not in ("", "a table"):
            raise refusal(path, "a table", data=head(file))
        else:
            yield from read_csv(file, path, max(DELIMITERS, key=first.count))


class Cells(dict[str, str]):
    """A row of a CSV, which has all of its columns."""


def read_csv(file: TextIO, path: str, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(2**27)  # an answer kept in a column may be longer than the usual 128 KiB
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])  # of two columns with one name it is not known which is meant
        names = [name + " (duplicated)" * (header.count(name) > 1) for name in header]
        for cells in filter(None, reader):
            if len(cells) != len(header):
                raise RunError(f"{path}:{reader.line_num}: {len(cells)} cells, but {len(header)} columns; correct the "
                               "line")
            yield f"{path}:{reader.line_num}", Cells(zip(names, cells, strict=True))
    except csv.Error as error:
        wrong = f"{error}; correct the quotes" if "new-line" not in str(error) else (
            "a carriage return without a line feed; quote that cell, or save the table with line feeds")
        raise RunError(f"{path}:{reader.line_num}: {wrong}") from None


def read_json(text: Json, scores: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    inside = {tuple(filter(None, key.split("."))): score for key, score in scores.items()}
    columns: list[str] = []
    number, others = 0, dict[str, None]()
    while mark := text.next():
        for keys, value in text.pieces(inside) if inside else text.whole():
            at = keys if keys in inside else keys[:-1]
            if keys[-1:] == ("columns",) and isinstance(value, list):
                columns = [str(name) for name in value]  # of rows that are lists of cells
            elif at in inside or not inside:
                row = value if isinstance(value, dict) else dict(zip(columns, value, strict=False)) if isinstance(
                    value, list) else {"value": value}
                number += 1
                where = f"{text.path}: item {number}" if inside or mark == "[" else text.where()
                yield where, row | ({"key": keys[-1]} if keys != at else {}) | (
                    {"score": inside[at]} if inside.get(at) else {})
            elif keys:
                others[".".join(keys)] = None
    if lost := [".".join(keys) or "." for keys in inside if keys not in text.met]:
        raise RunError(f"{text.path}: nothing for --rows is under {lost[0]!r}; there are: {listed(others) or 'none'}")
