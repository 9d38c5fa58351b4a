"""What did lm-eval record? Its samples_*.jsonl as rows: a row a document and filter.

    $ python3 convert.py lm-eval tests/data/convert/org__*/*.jsonl --filter first --metric exact_match | wc -l
    note: several answers (repeats), which lm-eval scores as one: one row, not one an answer (trials: 8)
    note: trials of config 'org__alpha': 4
    note: trials of config 'org__beta': 4
    8

Rows are read one by one. doc_id only says which document of its data set it is, so a case is named by the document, or
else by its hash or the arguments of the request; --id doc_id takes the number.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from core.files import WHOLE, check_fields, refusal
from core.kinds import describe
from core.texts import Json, head, opened
from importers.rows import Rows, Sample, choose, table

VERBS, WHAT = ("lm-eval",), "lm-eval's samples_*.jsonl, written with --log_samples"
EXAMPLE = "results/*/samples_*.jsonl --metric acc"


def options(option: Callable[..., Any]) -> None:
    option("--metric", metavar="NAME", help="which metric, where there are several")
    option("--filter", metavar="NAME", help="which filter, where there are several")


def task_of(path: str) -> str:
    found = re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl(\.gz)?", os.path.basename(path))
    return found[1] if found else ""  # a file that was given another name does not say it


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    filters = set[str]()
    with opened(path) as text:
        if describe(head(text), path)[0] not in ("samples of lm-eval", ""):
            raise refusal(path, "samples of lm-eval", data=head(text))
        values = Json(text, path)
        while values.next():
            for _, row in values.whole():
                check_fields(row, {"doc_id": WHOLE}, where := values.where())
                filters.add(name := str(row.get("filter", "none")))
                if args.filter in (None, name) and (args.filter or len(filters) == 1):
                    yield sample_of(row, where, path, args, rows)
    if filters:
        choose("filter", args.filter, filters, path)


def sample_of(row: dict[str, Any], where: str, path: str, args: argparse.Namespace, rows: Rows) -> Sample:
    # A list is what a metric of the whole task is computed from, and no score of a row.
    named = row.get("metrics")
    of_task = [key for key in row if isinstance(row[key], list) and isinstance(named, list) and key in named]
    metrics = [key for key in row if key != "doc_id" and isinstance(row[key], (int, float))
               or key == args.metric and not isinstance(row[key], (list, dict))]
    score = row[choose("metric", args.metric, metrics, where, "".join(
        f"; {name} is computed from all rows of the task at once" for name in of_task))]
    each = row.get("resps")
    if isinstance(each, list) and any(isinstance(item, list) and item[1:] for item in each):
        rows.notes["several answers (repeats), which lm-eval scores as one: one row, not one an answer"] += 1
    task, asked = task_of(path), row.get("doc")
    if asked is None:
        asked = row.get("doc_hash")
    asked = asked or row.get("arguments") or None
    own = None if asked else row["doc_id"]
    if own is not None:
        rows.notes["named by doc_id, since nothing there says what was asked: they pair by their place"] += 1
    several = task and len({task_of(other) for _, other in args.logs} - {""}) > 1  # documents of two may be alike
    if several:
        asked = asked and {"task": task, **(asked if isinstance(asked, dict) else {"doc": asked})}
        own = own if asked else f"{task}/{own}"
    answers = row.get("filtered_resps", each)
    return Sample(
        where=where, case=own, config=os.path.basename(os.path.dirname(os.path.abspath(path))), score=score,
        asked=asked, graded=row.get("target"), place=row["doc_id"],
        fields={"task": task, "doc_id": row["doc_id"], **table(row.get("doc"))}, usual=["task"] * bool(several),
        output=answers[0] if isinstance(answers, list) and len(answers) == 1 else answers)
