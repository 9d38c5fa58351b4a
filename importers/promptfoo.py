"""What did promptfoo record? Its results as rows: a row a test, provider, prompt and repeat.

    $ python3 convert.py promptfoo tests/data/convert/promptfoo.json 2>/dev/null | wc -l
    32

Results are read one by one; what a row needs of them is held until all are read, since they are in the order in which
they ended. testIdx only says which test it is, so a case is named by its variables; --id testIdx takes the number.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from core.files import TABLE, WHOLE, RunError, check_fields, refusal
from core.kinds import describe
from core.texts import Json, head, opened
from importers.rows import Rows, Sample, amount, choose, digest, pick, table, versioned

VERBS, WHAT = ("promptfoo",), "results of promptfoo, JSON or JSONL"
EXAMPLE = "before=old.json after=new.json"
WORDS: dict[str, float] = {"true": 1, "false": 0}
VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error
NEEDED = {"testIdx": WHOLE, "promptIdx": WHOLE, "testCase": TABLE, "prompt": TABLE, "provider": TABLE}
CONTENT = ("vars", "assert", "threshold", "description", "metadata")  # of a test
HEAVY = ("gradingResult", "prompt", "response", "vars", "metadata", "tokenUsage")  # held in part, or not at all


def options(option: Callable[..., Any]) -> None:
    option("--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    results, about = read_results(path, rows)
    results.sort(key=lambda row: (row["testIdx"], row["promptIdx"]))
    where = str(about["where"])
    names = {"score", "pass"}.union(*(table(row.get("namedScores")) for row in results))
    metric = choose("metric", args.metric, names, where)
    prompts = list(dict.fromkeys(row["label"] for row in results))
    # Each repeat of a test has another testIdx, and only its content says that it is the same test. Where the file
    # does not say how often tests were repeated, it is as often as explains how often each content is there.
    contents = [(digest(*map(row["testCase"].get, CONTENT)), row["promptIdx"]) for row in results]
    stated, seen = about.get("repeat"), Counter[Any]()
    repeats = stated if type(stated) is int and stated > 0 else math.gcd(*Counter(contents).values())
    for row, content in zip(results, contents, strict=True):
        place, repeat = divmod(seen[content], repeats)
        seen[content] += 1
        if repeat and repeats != stated:
            rows.notes["tests that are alike in all are counted as repeats of one"] += 1
        label = row["label"]
        config = str(row["provider"].get("label") or row["provider"].get("id"))
        if len(prompts) > 1:  # a prompt without a label is labelled with all its text
            short = len(label) <= 40 and label.isprintable()
            config += f" {label}" if short else f" prompt {prompts.index(label) + 1}"
        yield sample_of(row, f"{where}: testIdx {row['testIdx']}, promptIdx {row['promptIdx']}", metric, rows)._replace(
            config=config, place=(content[0], place), seed=repeat + 1, ts=about.get("timestamp"))


def read_results(path: str, rows: Rows) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the results, as far as rows are made of them, and what the file says of itself."""
    about: dict[str, Any] = {"where": path}
    results: list[dict[str, Any]] = []
    with opened(path) as file:
        kind, _ = describe(head(file), path)
        if not kind.startswith("an output file of promptfoo"):
            raise refusal(path, "an output file of promptfoo", "give what its --output wrote", head(file))
        text = Json(file, path)
        while text.next():
            for keys, value in text.whole() if kind.endswith("line") else text.pieces(
                    [("results", "results"), ("runtimeOptions", "repeat")]):
                if keys == ("results", "version"):
                    about["where"] = versioned(path, value, VERSIONS, rows)
                elif keys in ((), ("results", "results")):
                    results.append(held(value, f"{about['where']}: result {len(results) + 1}"))
                elif keys[:1] == ("runtimeOptions",):
                    about["repeat"] = value if keys[1:] == ("repeat",) else about.get("repeat", 1)
                elif keys == ("results", "timestamp"):
                    about["timestamp"] = value
    if not results:
        raise RunError(f"{about['where']}: no results; give what promptfoo's --output wrote")
    return results, about


def held(row: Any, where: str) -> dict[str, Any]:
    """Return what a row is made of, without all else that a result holds."""
    check_fields(row, NEEDED, where)
    return {**{key: row[key] for key in row if key not in HEAVY}, "graded": bool(row.get("gradingResult")),
            "label": str(row["prompt"].get("label") or row["prompt"].get("raw")),
            "explanation": explanation_of(table(row.get("gradingResult"))),
            "judge": amount(pick(row, "gradingResult.tokensUsed.total")),
            "response": {key: pick(row, f"response.{key}") for key in ("output", "cached", "cost", "tokenUsage")}}


def explanation_of(graded: dict[str, Any]) -> str | None:
    """Return what each assertion said, a line each, or else what was said of all."""
    parts = graded.get("componentResults")
    lines = [f"{pick(part, 'assertion.type', 'assertion')}: {part['reason']}"
             for part in (parts if isinstance(parts, list) else ()) if pick(part, "reason")]
    return "\n".join(lines) or graded.get("reason")


def sample_of(row: dict[str, Any], where: str, metric: str, rows: Rows) -> Sample:
    test, response = row["testCase"], row["response"]
    named = {**table(row.get("namedScores")), "score": row.get("score"), "pass": row.get("success")}
    error, reason = None, row.get("failureReason")  # `error` also says why an answer failed
    if reason == ERROR or reason is None and row.get("error") and not row["graded"]:
        error = row.get("error") or "error"
    if not test.get("assert"):
        rows.notes["of a test without assertions, which always passes"] += 1
    if cached := response["cached"]:
        rows.notes["answered from promptfoo's cache: no cost and latency"] += 1
    rows.count_other("graders", row["judge"])
    latency_ms = amount(None if cached or error else row.get("latencyMs"))
    variables, metadata = table(test.get("vars")), table(test.get("metadata"))
    return Sample(
        where=where, score=named.get(metric), error=error, asked=variables or test.get("description"),
        graded=[test.get(name) for name in ("assert", "threshold")], usual=metadata, output=response["output"],
        explanation=row["explanation"],
        fields={"testIdx": row["testIdx"], "description": test.get("description"), **variables, **metadata},
        measures={
            "cost_usd": amount(None if cached else response["cost"]),
            "tokens": amount(pick(response, "tokenUsage.total")),
            "latency_s": None if latency_ms is None else latency_ms / 1000})
