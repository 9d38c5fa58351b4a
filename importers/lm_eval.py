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

from core.files import check_fields
from core.texts import Json, opened_as
from core.trials import listed
from importers.rows import Rows, Sample, choose, dict_of, list_of
from importers.tables import read_json

VERBS, WHAT = ("lm-eval",), "lm-eval's samples_*.jsonl, written with --log_samples"
EXAMPLE = "results/*/samples_*.jsonl --metric acc > trials.jsonl"


def options(option: Callable[..., Any]) -> None:
    option("--metric", metavar="NAME", help="which metric, where there are several")
    option("--filter", metavar="NAME", help="which filter, where there are several")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    match = re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl(\.gz)?", os.path.basename(path))
    task = match[1] if match else ""  # a file that was given another name does not say its task
    config = os.path.basename(os.path.dirname(os.path.abspath(path)))
    filters = set[str]()
    with opened_as(path, ["samples of lm-eval"], f"give {WHAT}") as (file, _):
        for where, row in read_json(Json(file, path), {}):
            check_fields(row, {"doc_id": int}, where)
            name = str(row.get("filter", "none"))
            filters.add(name)
            if args.filter in (None, name):  # of several without a choice, choose() refuses them all
                sample = sample_of(row, where, args, rows)
                yield sample._replace(task=task, config=config, fields={"task": task, **sample.fields})
    if filters:
        choose("filter", args.filter, filters, path)


def sample_of(row: dict[str, Any], where: str, args: argparse.Namespace, rows: Rows) -> Sample:
    # A list is what a metric of the whole task is computed from, and no score of a row.
    of_task = [key for key in row if isinstance(row[key], list) and key in list_of(row.get("metrics"))]
    metrics = [key for key in row if key != "doc_id" and isinstance(row[key], (int, float))
               or key == args.metric and not isinstance(row[key], (list, dict))]
    score = row[choose("metric", args.metric, metrics, where,
                       f"; computed from all rows of the task at once: {listed(of_task)}" if of_task else "")]
    if any(len(list_of(item)) > 1 for item in list_of(row.get("resps"))):
        rows.notes["several answers (repeats), which lm-eval scores as one: one row, not one an answer"] += 1
    asked = (row.get("doc_hash") if row.get("doc") is None else row["doc"]) or row.get("arguments") or None
    if asked is None:
        rows.notes["named by doc_id, since nothing there says what was asked: they pair by their place"] += 1
    answers = row.get("filtered_resps", row.get("resps"))
    return Sample(
        where=where, case=row["doc_id"] if asked is None else None, score=score, asked=asked, graded=row.get("target"),
        place=row["doc_id"], fields={"doc_id": row["doc_id"], **dict_of(row.get("doc"))},
        output=answers[0] if isinstance(answers, list) and len(answers) == 1 else answers)
