"""What did promptfoo record? Its results as rows: a row a test, provider, prompt and repeat.

    $ python3 convert.py promptfoo tests/data/convert/promptfoo.json 2>/dev/null | wc -l
    32

A file is read whole.
"""

import argparse
from collections import Counter
from typing import Any

from core.files import LIST, TABLE, WHOLE, RunError, check_fields, kind_of, read_bytes
from importers.rows import Rows, amount, choose, digest, parse, score_of, table, versioned

PROMPTFOO_VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
PROMPTFOO_ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error


def cmd_promptfoo(args: argparse.Namespace, rows: Rows) -> None:
    needed = {"testIdx": WHOLE, "promptIdx": WHOLE, "testCase": TABLE, "prompt": TABLE, "provider": TABLE}
    for path in args.logs:
        log = parse(read_bytes(path), path)
        results = table(log).get("results")
        if not isinstance(results, dict):
            raise RunError(f"{path}: {kind_of(log)}, not results of promptfoo; give what its --output wrote")
        where = versioned(path, results.get("version"), PROMPTFOO_VERSIONS, rows)
        check_fields(results, {"results": LIST}, where)
        for number, row in enumerate(results["results"], start=1):
            check_fields(row, needed, f"{where}: result {number}")
        ordered = sorted(results["results"], key=lambda row: (row["testIdx"], row["promptIdx"]))  # not as they ended
        metrics = {"score", "pass"}.union(*(table(row.get("namedScores")) for row in ordered))
        metric = choose("metric", args.metric, metrics, where)
        labels = [str(row["prompt"].get("label") or row["prompt"].get("raw")) for row in ordered]
        prompts = list(dict.fromkeys(labels))
        cases: dict[str, int] = {}  # each repeat of a test has a testIdx of its own: only its content tells it again
        seeds: Counter[tuple[int, int]] = Counter()
        for row, label in zip(ordered, labels):
            test, response = row["testCase"], table(row.get("response"))
            meaning = [test.get(key) for key in ("vars", "assert", "threshold")]
            case = cases.setdefault(digest(meaning, test.get("description"), test.get("metadata")), len(cases))
            seeds[case, row["promptIdx"]] += 1
            config = str(row["provider"].get("label") or row["provider"].get("id"))
            if len(prompts) > 1:  # a prompt without a label is labelled with all its text
                short = len(label) <= 40 and label.isprintable()
                config += f" {label}" if short else f" prompt {prompts.index(label) + 1}"
            named = {**table(row.get("namedScores")), "score": row.get("score"), "pass": row.get("success")}
            score, error = score_of(named.get(metric))
            reason = row.get("failureReason")  # a result's own `error` also tells why an answer merely failed
            if reason == PROMPTFOO_ERROR or reason is None and row.get("error") and not row.get("gradingResult"):
                error = row.get("error") or "error"
            if not test.get("assert"):
                rows.notes["of a test without assertions, which always passes"] += 1
            if cached := response.get("cached"):
                rows.notes["answered from promptfoo's cache: no cost and latency"] += 1
            latency_ms = amount(None if cached or error else row.get("latencyMs"))
            metadata = table(test.get("metadata"))
            rows.add(f"{where}: testIdx {row['testIdx']}, promptIdx {row['promptIdx']}", case,
                     seeds[case, row["promptIdx"]], args.config or config, score, error,
                     table(test.get("vars")) | metadata, metadata, meaning, results.get("timestamp"),
                     cost_usd=amount(None if cached else response.get("cost")),
                     latency_s=None if latency_ms is None else latency_ms / 1000,
                     tokens=amount(table(response.get("tokenUsage")).get("total")))
