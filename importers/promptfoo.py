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
from typing import Any, NamedTuple

from core.files import TABLE, WHOLE, RunError, check_fields, refusal
from core.kinds import describe
from core.texts import Json, head, opened
from importers.rows import Rows, Sample, amount, choose, digest, pick, table, versioned

VERBS, WHAT = ("promptfoo",), "results of promptfoo, JSON or JSONL"
EXAMPLE = "before=old.json after=new.json"
VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error
NEEDED = {"testIdx": WHOLE, "promptIdx": WHOLE, "testCase": TABLE, "prompt": TABLE, "provider": TABLE}
CONTENT = ("vars", "assert", "threshold", "description", "metadata")  # of a test


class Result(NamedTuple):
    """What is needed of a result once all are read."""

    order: tuple[int, int]  # testIdx, promptIdx
    content: str  # a digest of the test
    prompt: str  # its label
    scores: dict[str, Any]  # by name
    sample: Sample  # as far as it is known


def options(option: Callable[..., Any]) -> None:
    option("--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    results, about = read_results(path, rows)
    results.sort(key=lambda result: result.order)
    metric = choose("metric", args.metric, {name for result in results for name in result.scores}, str(about["where"]))
    prompts = list(dict.fromkeys(result.prompt for result in results))
    # Each repeat of a test has another testIdx, and only its content says that it is the same test. Where the file
    # does not say how often tests were repeated, it is as often as explains how often each content is there.
    counts = Counter((result.content, result.order[1], result.sample.config) for result in results)
    seen = Counter[Any]()
    stated = about.get("repeat")
    repeats = stated if type(stated) is int and stated > 0 else math.gcd(*counts.values())
    for order, content, prompt, scores, sample in results:
        alike = content, order[1], sample.config
        place, repeat = divmod(seen[alike], repeats)
        seen[alike] += 1
        if repeat and repeats != stated:
            rows.notes["tests that are alike in all are counted as repeats of one"] += 1
        config = sample.config
        if len(prompts) > 1:  # a prompt without a label is labelled with all its text
            short = len(prompt) <= 40 and prompt.isprintable()
            config = f"{config} {prompt}" if short else f"{config} prompt {prompts.index(prompt) + 1}"
        yield sample._replace(config=config, content=content, place=(content, place), seed=repeat + 1,
                              score=scores.get(metric), ts=about.get("timestamp"))


def read_results(path: str, rows: Rows) -> tuple[list[Result], dict[str, Any]]:
    """Return the results, and what the file says of itself."""
    about: dict[str, Any] = {"where": path}
    results: list[Result] = []
    numbers: dict[tuple[Any, ...], int] = {}
    with opened(path) as file:
        kind, _ = describe(head(file), path)
        if not kind.startswith("an output file of promptfoo"):
            advice = "" if kind else "give what its --output wrote"
            raise refusal(path, "an output file of promptfoo", advice, head(file))
        text, in_lines = Json(file, path), kind.endswith("line")
        while mark := text.next():
            if mark == "[" and not in_lines:
                raise RunError(f"{path} is a list of output files of promptfoo; give each in a file of its own")
            for keys, value in text.whole() if in_lines else text.pieces(
                    [("results", "results"), ("runtimeOptions", "repeat")]):
                if keys == ("results", "version"):
                    about["where"] = versioned(path, value, VERSIONS, rows)
                elif keys in ((), ("results", "results")):
                    check_fields(value, NEEDED, f"{about['where']}: result {len(results) + 1}")
                    results.append(result := result_of(value, str(about["where"]), rows))
                    sample, number = result.sample, len(results)
                    if (first := numbers.setdefault((result.order, sample.config), number)) != number:
                        raise RunError(f"{sample.where}: results {first} and {number} are this one of "
                                       f"{sample.config!r}; remove one of them")
                elif keys[:1] == ("runtimeOptions",):
                    about["repeat"] = value if keys[1:] == ("repeat",) else about.get("repeat", 1)
                elif keys == ("results", "timestamp"):
                    about["timestamp"] = value
    if not results:
        raise RunError(f"{about['where']}: no results; give what promptfoo's --output wrote")
    return results, about


def explanation_of(graded: dict[str, Any]) -> str | None:
    """Return what each assertion said, a line each, or else what was said of all."""
    parts = graded.get("componentResults")
    lines = [f"{pick(part, 'assertion.type', 'assertion')}: {part['reason']}"
             for part in (parts if isinstance(parts, list) else ()) if pick(part, "reason")]
    return "\n".join(lines) or graded.get("reason")


def result_of(row: dict[str, Any], where: str, rows: Rows) -> Result:
    test, response, graded = row["testCase"], table(row.get("response")), table(row.get("gradingResult"))
    error, reason = None, row.get("failureReason")  # `error` also says why an answer failed
    if reason == ERROR or reason is None and row.get("error") and not graded:
        error = row.get("error") or "error"
    if not test.get("assert"):
        rows.notes["of a test without assertions, which always passes"] += 1
    if cached := response.get("cached"):
        rows.notes["answered from promptfoo's cache: no cost and latency"] += 1
    rows.count_other("graders", amount(pick(graded, "tokensUsed.total")))
    latency_ms = amount(None if cached or error else row.get("latencyMs"))
    variables, metadata = table(test.get("vars")), table(test.get("metadata"))
    order = row["testIdx"], row["promptIdx"]
    sample = Sample(
        where=f"{where}: testIdx {order[0]}, promptIdx {order[1]}", score=None, error=error,
        config=str(row["provider"].get("label") or row["provider"].get("id")),
        asked=variables or test.get("description"), graded=[test.get(name) for name in ("assert", "threshold")],
        fields={"testIdx": order[0], "description": test.get("description"), **variables, **metadata},
        usual=metadata, output=response.get("output"), explanation=explanation_of(graded),
        measures={
            "cost_usd": amount(None if cached else response.get("cost")),
            "tokens": amount(pick(response, "tokenUsage.total")),
            "latency_s": None if latency_ms is None else latency_ms / 1000})
    return Result(order, digest(*map(test.get, CONTENT)), str(row["prompt"].get("label") or row["prompt"].get("raw")),
                  {**table(row.get("namedScores")), "score": row.get("score"), "pass": row.get("success")}, sample)
