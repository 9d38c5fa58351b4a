"""What did promptfoo record? Its results as rows: a row a test, provider, prompt and repeat.

    $ python3 convert.py promptfoo tests/data/convert/promptfoo.json 2>/dev/null | wc -l
    32

Results are read one by one; what a row needs of them is held until all are read, since they are in the order in which
they ended. testIdx only says which test it is, so a case is named by its variables; --id testIdx takes the number.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

from core.files import RunError, check_fields
from core.texts import Json, opened_as
from importers.rows import Rows, Sample, choose, dict_of, digest, label, list_of, pick, total, versioned

VERBS, WHAT = ("promptfoo",), "results of promptfoo, JSON or JSONL"
EXAMPLE = "before=old.json after=new.json > trials.jsonl"
KIND = "an output file of promptfoo"
VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error
NEEDED = {"testIdx": int, "promptIdx": int, "testCase": dict, "prompt": dict, "provider": dict}
CONTENT = ("vars", "assert", "threshold", "description", "metadata")  # of a test


# The name of its prompt, and a trial whose score is all scores by name, and whose place is testIdx and promptIdx.
Result = tuple[str, Sample]


def options(option: Callable[..., Any]) -> None:
    option("--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    results, about = read_results(path, rows)
    results.sort(key=lambda result: result[1].place)
    metric = choose("metric", args.metric, {name for _, sample in results for name in sample.score}, path)
    several_prompts = len({prompt for prompt, _ in results}) > 1
    # Each repeat of a test has another testIdx, and only its content says that it is the same test. Where the file
    # does not say how often tests were repeated, it is as often as explains how often each content is there.
    alike: dict[Any, dict[int, int]] = {}  # by content, prompt and system: the tests that have it, and their numbers
    for _, sample in results:
        tests = alike.setdefault((sample.content, sample.place[1], sample.config), {})
        tests.setdefault(sample.place[0], len(tests))
    chosen = about.get("runtimeOptions")
    stated = chosen and pick(chosen, "repeat", 1)
    repeats = stated if type(stated) is int and stated > 0 else math.gcd(*map(len, alike.values()))
    for prompt, sample in results:
        test, prompt_number = sample.place
        place, repeat = divmod(alike[sample.content, prompt_number, sample.config][test], repeats)
        if repeat and repeats != stated:
            rows.notes["tests that are alike in all are counted as repeats of one"] += 1
        yield sample._replace(
            config=f"{sample.config} {prompt}" if several_prompts else sample.config, place=(sample.content, place),
            seed=repeat + 1, score=sample.score.get(metric), ts=about.get("results.timestamp"))


def read_results(path: str, rows: Rows) -> tuple[list[Result], dict[str, Any]]:
    """Return the results, and what else the file holds, with dots between the names of fields within fields."""
    where, about, results = path, dict[str, Any](), list[Result]()
    with opened_as(path, [KIND, f"{KIND}, a result a line"], f"give {WHAT}") as (file, kind):
        text = Json(file, path)
        lines = (value for _ in iter(text.next, "") for _, value in text.whole())
        for value in text.rows(("results", "results"), about) if kind == KIND else lines:
            where = versioned(path, about.get("results.version", VERSIONS[0]), VERSIONS, rows)
            check_fields(value, NEEDED, f"{where}: result {len(results) + 1}")
            results.append(result_of(value, where, rows))
    if not results:
        raise RunError(f"{where}: no results; give what promptfoo's --output wrote")
    return results, about


def explanation_of(row: dict[str, Any]) -> Any:
    """Return what each assertion said, a line each, or else what was said of all."""
    lines = [f"{pick(part, 'assertion.type', 'assertion')}: {part['reason']}"
             for part in list_of(pick(row, "gradingResult.componentResults")) if pick(part, "reason")]
    return "\n".join(lines) or pick(row, "gradingResult.reason")


def result_of(row: dict[str, Any], where: str, rows: Rows) -> Result:
    test, order = row["testCase"], (row["testIdx"], row["promptIdx"])
    variables, metadata = dict_of(test.get("vars")), dict_of(test.get("metadata"))
    error, reason = None, row.get("failureReason")  # `error` also says why an answer failed
    ungraded = any(pick(part, "metadata.graderError") for part in list_of(pick(row, "gradingResult.componentResults")))
    if reason == ERROR or ungraded or reason is None and row.get("error") and not row.get("gradingResult"):
        error = row.get("error") or "error"
    latency_ms, cost_usd = total(None if error else row.get("latencyMs")), total(pick(row, "response.cost"))
    if pick(row, "response.cached"):
        rows.notes["answered from promptfoo's cache: no cost and latency"] += 1
        latency_ms = cost_usd = None
    if not test.get("assert"):
        rows.notes["of a test without assertions, which always passes"] += 1
    if total(pick(row, "gradingResult.tokensUsed.total")):
        rows.notes["not counted, since it is not the system's: tokens and cost of graders"] += 1
    prompt = str(row["prompt"].get("label") or row["prompt"].get("raw"))
    short = label(prompt)  # a prompt without a label is labelled with all its text
    scores = {**dict_of(row.get("namedScores")), "score": row.get("score"), "pass": row.get("success")}
    return prompt if short == prompt else f"{short} {digest(prompt)[:8]}", Sample(
        where=f"{where}: testIdx {order[0]}, promptIdx {order[1]}", score=scores, error=error, place=order,
        config=str(row["provider"].get("label") or row["provider"].get("id")),
        asked=variables or test.get("description"),
        graded={key: test[key] for key in ("assert", "threshold") if test.get(key) not in (None, [])} or None,
        content=digest(*map(test.get, CONTENT)),
        fields={"testIdx": order[0], "promptIdx": order[1], "description": test.get("description"), **variables,
                **metadata},
        usual=metadata, output=pick(row, "response.output"), explanation=explanation_of(row),
        measures={"cost_usd": cost_usd, "tokens": total(pick(row, "response.tokenUsage.total")),
                  "latency_s": None if latency_ms is None else latency_ms / 1000})
