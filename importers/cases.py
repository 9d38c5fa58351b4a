"""What is asked, and what is expected? A table of cases, CSV, JSONL or a JSON list, as a case set.

    $ python3 convert.py cases tests/data/convert/cases.csv --id id --input text --expected label | head -7
    {
     "name": "cases",
     "version": "1",
     "cases": [
      {
       "id": "t1",
       "split": "dev",

A row is a case. Prints the case set, for answer_task.py: an answer must equal what is expected, or is compared with it
by another grader (--grader; for any_of, json and number the cell is JSON). In JSON an expected object is used as it is,
so that it serves any task. A blank cell, and an id or an input that another row has, is refused by its row.
"""

import argparse
import functools
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import answer_task
from core.files import STRICT, RunError, parse_json
from harness import SPLITS
from importers.rows import cell_text, needed
from importers.tables import read_table

VERBS, WHAT = ("cases",), "a table with a row a case into a case set"
JSON_CELLS = {"any_of": '["a", "b"]', "json": '{"category": "billing"}', "number": "3.5"}  # of graders, as examples
EXAMPLE = "tickets.csv --id id --input text --expected label --tag language --source thread > cases-tickets.json"


def options(option: Callable[..., Any]) -> None:
    option("table", metavar="FILE", help="CSV, JSONL or a JSON list of objects")
    option("--id", required=True, metavar="COLUMN", help="the case's id")
    option("--input", required=True, action="append", metavar="COLUMN", help="what is asked; may be repeated")
    option("--expected", required=True, metavar="COLUMN", help="what is expected")
    option("--grader", default="equals", choices=tuple(answer_task.GRADERS), help="how an answer is compared with it "
           "(default: %(default)s)")
    option("--ignore-case", action="store_true", help="capitals and small letters are alike (for equals, any_of, "
           "contains and matches; an expected object stays as it is)")
    option("--tag", action="append", default=[], metavar="COLUMN", help="a tag to make slices of; may be repeated")
    option("--source", metavar="COLUMN", help="the message, thread or document that a case was made from")
    option("--split", metavar="COLUMN", help="dev or heldout (default: all are dev)")


def expected_of(value: Any, args: argparse.Namespace, where: str) -> dict[str, Any]:
    """Return what a case expects: an object as it is, another value with its grader."""
    if isinstance(value, dict):
        return value
    if args.grader not in JSON_CELLS and not isinstance(value, list):
        value = cell_text(value)
    elif isinstance(value, str):
        wanted = f"{answer_task.WANTED[args.grader][1]}, such as {JSON_CELLS[args.grader]}"
        value = parse_json(value, f"{where}: {args.expected} must hold {wanted}")
    whole = isinstance(value, dict) and args.grader in value and args.grader != "json"  # with its flags
    expected = value if whole else {args.grader: value} | ({"ignore_case": True} if args.ignore_case else {})
    try:
        answer_task.check_expected(expected)
    except ValueError as error:
        raise RunError(f"{where}: expected is {error}; correct the cell, choose another --grader, or leave out "
                       "--ignore-case") from None
    return expected


def run(args: argparse.Namespace) -> int:
    """Print the case set of a table; raise RunError, by row, for what makes none."""
    cases: list[dict[str, Any]] = []
    seen: dict[tuple[str, str], str] = {}
    columns = {name: name for name in args.tag} | ({"source": args.source} if args.source else {})  # of tags
    for where, row in read_table(args.table, decoder=STRICT):
        cell = functools.partial(needed, row, where=where, path=args.table)
        expected = cell(args.expected)
        asked = {name: cell(name, may_be_blank=expected == answer_task.REJECTED) for name in args.input}
        if len(asked) == 1 and isinstance(asked[args.input[0]], dict):
            asked = asked[args.input[0]]  # an input as a case set holds it
        tags = {tag: cell_text(cell(column, may_be_blank=column != args.source)).strip()
                for tag, column in columns.items()}
        case = {"id": cell_text(cell(args.id)).strip(),
                "split": cell_text(cell(args.split)).strip() if args.split else SPLITS[0], "input": asked,
                "expected": expected_of(expected, args, where),
                "tags": {tag: text for tag, text in tags.items() if text}}
        for what in ("id", "input"):
            value = json.dumps(case[what], sort_keys=True)
            first = seen.setdefault((what, value), where)
            if first != where:
                raise RunError(f"{where}: the {what} {value:.60} is also at {first}; keep one of the two")
        if case["split"] not in SPLITS:
            raise RunError(f"{where}: split {case['split']!r:.40} is none of {', '.join(SPLITS)}; correct it")
        cases.append(case)
    if not cases:
        raise RunError(f"{args.table}: no row; give a table with a row a case")
    name = os.path.splitext(os.path.basename(args.table))[0]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors=sys.stdout.errors)  # it goes to a file, not to a terminal
    print(json.dumps({"name": name, "version": "1", "cases": cases}, indent=1, ensure_ascii=False))
    return 0
