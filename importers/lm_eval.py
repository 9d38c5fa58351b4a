"""What did lm-eval record? Its samples_*.jsonl as rows: a row a document and filter.

    $ python3 convert.py lm-eval tests/data/convert/org__*/*.jsonl --filter first --metric exact_match 2>/dev/null | wc -l
    8

Files are read line by line.
"""

import argparse
import os
import re
from typing import Any

from core.files import WHOLE, check_fields, parse_json
from importers.rows import LENIENT, Rows, choose, lines, score_of, table


def cmd_lm_eval(args: argparse.Namespace, rows: Rows) -> None:
    tasks = {path: re.sub(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl", r"\1", os.path.basename(path))
             for path in args.logs}
    several = len(set(tasks.values())) > 1
    for path, task in tasks.items():
        config = args.config or os.path.basename(os.path.dirname(os.path.abspath(path)))
        filters: set[str] = set()
        for number, line in enumerate(lines(path), start=1):
            where = f"{path}:{number}"
            row = parse_json(line, where, LENIENT)
            check_fields(row, {"doc_id": WHOLE}, where)
            filters.add(name := str(row.get("filter", "none")))
            if args.filter not in (None, name) or args.filter is None and len(filters) > 1:
                continue
            # A list is what a metric of the whole task is computed from, and no score of a row.
            metrics = [key for key in row if key != "doc_id" and isinstance(row[key], (int, float))
                       or key == args.metric and not isinstance(row[key], (list, dict))]
            score, error = score_of(row[choose("metric", args.metric, metrics, where)])
            if isinstance(row.get("resps"), list) and any(isinstance(item, list) and item[1:] for item in row["resps"]):
                rows.notes["several answers (repeats), which lm-eval scores as one: one row, not one an answer"] += 1
            hashes = [row.get("doc_hash"), row.get("target_hash")]  # not the prompt's: another prompt may be the point
            rows.add(where, f"{task}/{row['doc_id']}" if several else row["doc_id"], args.seed, config, score, error,
                     {"task": task, **table(row.get("doc"))}, ["task"] if several else (),
                     () if None in hashes else hashes)
        if filters:
            choose("filter", args.filter, filters, path)
