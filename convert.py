"""How do the runs of another harness come here? Inspect, lm-eval, promptfoo and CSV files, as a plain trial log.

    $ python3 convert.py csv testdata/convert/scores.csv --case task --trial run --config model --score correct |head -1
    {"task_id": "greet, typo", "seed": 1, "config": "small", "score": 1}

The other verbs: `inspect LOG.eval LOG.json --scorer NAME`, `lm-eval samples_*.jsonl --metric acc`, `promptfoo
results.json`; `--help` after a verb lists its options. Prints a JSON object a trial: task_id, seed (epoch, repeat or
run number), config, score; where known cluster, tags, cost_usd, latency_s, tokens, ts, error, input_sha256. A trial
that failed or was not scored has score null, and `error` says why. Nothing is printed before all inputs proved whole:
rows wait in a temporary file, and memory holds one sample of a zipped Inspect log (.eval) or one line of JSONL and
CSV, but the whole of a JSON log. Then `note:` lines on stderr tell what could not be carried, and each config.
Exit status: 0 done, 1 refused or bad input (one `error:` line), 2 bad usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import csv
import hashlib
import json
import math
import re
import tempfile
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, Sequence, TextIO

try:
    from compression.zstd import decompress as native_unzstd  # Python 3.14 or later
except ImportError:
    native_unzstd = None

import harness
from harness import LIST, TABLE, TEXT, WHOLE, RunError, check_fields

INSPECT_VERSIONS = (1, 2)  # `version` of a log; 2 since 2024
PROMPTFOO_VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
# What inspect_ai.scorer.value_to_float makes of text; what it cannot read counts 0 there, and is not scored here.
INSPECT_SCORES = {"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "true": 1, "no": 0, "false": 0}
PROMPTFOO_ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error
ZSTANDARD = 93  # a zip's number for the compression that newer versions of Inspect use
LONGEST = 200  # characters of a tag's value or an error; longer text is no name of a slice, and no reason
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LENIENT = json.JSONDecoder()  # reads NaN, which other tools write for "not scored"; it is never passed on


# === Rows out ===


class Rows:
    """The rows of one conversion, held back until all inputs are read: half a log must not look like a whole one."""

    def __init__(self, file: TextIO, tags: Sequence[str] | None, cluster: str | None):
        self.file, self.wanted, self.cluster = file, tags, cluster
        self.notes: Counter[str] = Counter()
        self._places: dict[tuple[str, str, int | str], str] = {}
        self._tags: dict[str, dict[str, Any]] = {}
        self._uneven = False
        self._varying: set[str] = set()
        self._fields: set[str] = set()

    def add(self, where: str, task_id: int | str, seed: int | str, config: str, score: Any, error: Any,
            fields: dict[str, Any], usual: Iterable[str] = (), ts: Any = None, input_sha256: str | None = None,
            **measures: float | None) -> None:
        """Keep a trial, unscored if it has an error. Raises RunError where its case, seed and config came before.

        --tag and --cluster choose from fields; usual names the tags where no --tag does.
        """
        before = self._places.setdefault((config, str(task_id), seed), where)
        if before is not where:
            raise RunError(f"{where}: case {task_id!r}, trial {seed!r} of {config!r} came before, in {before}; "
                           "give each log once, and the runs of two systems one by one, each with its --config")
        tags = {}
        for name in usual if self.wanted is None else self.wanted:
            value = fields.get(name)
            if isinstance(value, (list, dict)) or value != value or len(str(value)) > LONGEST:
                self.notes[f"{name!r} is no tag: not one value of at most {LONGEST} characters"] += 1
            elif value not in (None, "") and name != self.cluster:
                tags[name] = value
        kept = self._tags.setdefault(str(task_id), dict(tags))
        self._uneven |= kept != tags
        self._varying.update(name for name in tags if kept.setdefault(name, tags[name]) != tags[name])
        self._fields.update(fields)
        cluster = fields.get(self.cluster) if self.cluster else None
        row = {"task_id": task_id, "seed": seed, "config": config, "score": None if error else score,
               "cluster": cluster if isinstance(cluster, (str, type(None))) else json.dumps(cluster),
               "tags": tags or None, **measures, "ts": ts if isinstance(ts, str) else None,
               "error": first_words(error) if error else None, "input_sha256": input_sha256}
        self.file.write(harness.json_line({key: row[key] for key in row if key == "score" or row[key] is not None}))

    def write(self) -> None:
        """Print the rows, then the notes. Raises RunError where there is no row, or none with a field asked for."""
        if not self._places:
            raise RunError("no trial in the files given; give logs that hold samples")
        for name in (*(self.wanted or ()), *([self.cluster] if self.cluster else ())):
            if name not in self._fields:
                raise RunError(f"no trial has a field {name!r} for --tag or --cluster; there are: "
                               f"{', '.join(sorted(self._fields)) or 'none'}")
        self.file.seek(0)
        for line in self.file:
            if self._uneven:  # a tag belongs to a case, and a log in which it differs between trials would be refused
                row = json.loads(line)
                tags = self._tags[str(row["task_id"])]
                row["tags"] = {name: tags[name] for name in tags if name not in self._varying}
                line = harness.json_line({key: row[key] for key in row if key != "tags" or row[key]})
            sys.stdout.write(line)
        sys.stdout.flush()
        for name in sorted(self._varying):
            print(f"note: {name!r} is no tag: it differs between trials of one case", file=sys.stderr)
        for text, count in self.notes.items():
            print(f"note: {text}" + f" (trials: {count})" * (count > 0), file=sys.stderr)
        for config, count in Counter(config for config, _, _ in self._places).items():
            print(f"note: trials of config {config!r}: {count}", file=sys.stderr)


def first_words(error: object) -> str:
    """Return the first line of an error, cut to LONGEST characters: a stack trace is no reason."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:LONGEST]


def score_of(value: Any, words: dict[str, float] | None = None) -> tuple[float | None, str | None]:
    """Return (score, None), or (None, why the value is none). words: the scores of texts that are no numbers.

    >>> [score_of(value)[0] for value in (True, 0.25, "1", "0.50", "TRUE", "1e999", "0,5", "85%", float("nan"), [1])]
    [1, 0.25, 1, 0.5, 1, None, None, None, None, None]
    """
    if isinstance(value, str):
        text = value.strip().lower()
        words = words or {"true": 1, "false": 0}
        value = words.get(value, words.get(text, value))
        if NUMBER.fullmatch(text):
            value = float(text)
            value = int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, (int, float)) and math.isfinite(value):
        return int(value) if isinstance(value, bool) else value, None
    return None, f"not scored: {'no value' if value is None else repr(value)[:60]}"


def amount(value: Any) -> float | None:
    """Return a cost or a time as it is, None for what cannot be one."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and math.isfinite(value) and value >= 0 else None


def total(values: Iterable[Any]) -> float | None:
    """Return the sum of what is known, None where nothing is."""
    known = [value for value in map(amount, values) if value is not None]
    return sum(known) if known else None


def digest(*values: Any) -> str:
    """Return the sha256 of values as JSON with sorted keys, in hex."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def versioned(path: str, version: Any, known: Sequence[Any], rows: Rows) -> str:
    """Return how errors name a log: with its version if that is unknown, for then its fields decide if it is read."""
    if version in known:
        return path
    rows.notes[f"{path}: format version {version!r} is not known here; read by the fields it shares"] = 0
    return f"{path} (format version {version!r}, not known here)"


def table(value: Any) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one: for what a log may also lack."""
    return value if isinstance(value, dict) else {}


def parse(data: bytes, where: str) -> Any:
    return harness.parse_json(harness.decode(data, where), where, LENIENT)


def lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield a text file's numbered lines. Only a newline ends one: U+2028 within a text does not."""
    try:
        with open(path, "rb") as file:
            encoding = json.detect_encoding(file.read(4))
        with open(path, encoding=encoding, newline="\n") as file:
            yield from enumerate(file, start=1)
    except UnicodeDecodeError:
        harness.decode(harness.read_bytes(path), path)  # refuses it as well, and knows the byte
        raise
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}; give a file that can be read") from None


# === Inspect: samples x epochs ===


def cmd_inspect(args: argparse.Namespace, rows: Rows) -> None:
    tasks: dict[str, None] = {}
    names: set[str] = set()
    for path in args.logs:
        samples = read_inspect(path, rows)
        where, header = next(samples)
        check_fields(header["eval"], {"model": TEXT, "task": TEXT}, where)
        tasks[header["eval"]["task"]] = None
        if len(tasks) > 1:
            raise RunError(f"{where}: another task than before ({', '.join(tasks)}): ids of two tasks may be alike; "
                           "convert each task by itself")
        count = 0
        for count, (place, sample) in enumerate(samples, start=1):
            names |= convert_sample(sample, place, args, inspect_config(header["eval"]), rows)
        check_whole(header, count, where, args.unfinished, rows)
    if len(names) > 1 and args.scorer is None or names and args.scorer not in (None, *names):
        raise RunError(f"{'several scores' if args.scorer is None else f'no score {args.scorer!r}'} in the samples; "
                       f"choose with --scorer one of: {', '.join(sorted(names))}")


def read_inspect(path: str, rows: Rows) -> Iterator[tuple[str, Any]]:
    """Yield (place, header) of a log, then (place, sample) epoch by epoch; the samples of a zip are read one by one.

    Raises RunError where the file is no log of Inspect, or damaged. The order is Inspect's own, whichever ended first.
    """
    def order(item: tuple[int, str, Any]) -> tuple[int, str]:
        return item[0], item[1].zfill(20) if item[1].isdecimal() else item[1]

    if not zipfile.is_zipfile(path):
        data = harness.read_bytes(path)
        if data[:2] == b"PK" or path.endswith(".eval"):
            raise RunError(f"{path}: not a whole zip; copy the log again")
        header = parse(data, path)
        where = check_header(header, path, rows)
        samples = header.pop("samples", None) or []
        check_fields({"samples": samples}, {"samples": LIST}, where)
        yield where, header
        for number, sample in enumerate(samples, start=1):
            check_fields(sample, {"epoch": WHOLE}, f"{where}: sample {number}")
        for epoch, name, sample in sorted(((item["epoch"], str(item.get("id")), item) for item in samples), key=order):
            yield f"{where}: sample {name!r}, epoch {epoch}", sample
        return
    with damaged(path):
        archive = zipfile.ZipFile(path)
    with archive:
        members = {info.filename: info for info in archive.infolist()}  # of one name the last counts, as for Inspect
        start = members.get("header.json") or members.get("_journal/start.json")  # a run that was killed has no header
        if start is None:
            raise RunError(f"{path}: no header.json in this zip; give a log of Inspect, or copy it again")
        header = parse(unzip(archive, start), f"{path}: {start.filename}")
        where = check_header(header, path, rows)
        yield where, header
        found = [(re.fullmatch(r"samples/(.*)_epoch_(\d{1,9})\.json", name, re.DOTALL), info)
                 for name, info in members.items()]
        for _, _, info in sorted(((int(name[2]), name[1], info) for name, info in found if name), key=order):
            place = f"{where}: {info.filename}"
            yield place, parse(unzip(archive, info), place)


def check_header(header: Any, path: str, rows: Rows) -> str:
    """Return how errors are to name a log. Raises RunError where the header is not one of Inspect."""
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise RunError(f"{path}: {harness.kind_of(header)}, not a log of Inspect; give one, .eval or .json")
    return versioned(path, header.get("version"), INSPECT_VERSIONS, rows)


@contextmanager
def damaged(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # zipfile and what it calls have a dozen kinds of exception for bytes gone wrong
        raise RunError(f"{where}: damaged ({first_words(error)}); copy the log again") from None


def unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes, of the length and checksum that the archive gives. Raises RunError for damaged ones."""
    with damaged(f"{archive.filename}: {info.filename}"):
        if info.compress_type != ZSTANDARD:
            return archive.read(info)
        with open(str(archive.filename), "rb") as file:  # past the member's own header, which names it once more
            file.seek(info.header_offset + 26)
            name, extra = file.read(2), file.read(2)
            file.seek(little(name) + little(extra), os.SEEK_CUR)
            packed = file.read(info.compress_size)
        data = native_unzstd(packed) if native_unzstd else unzstd(packed, info.file_size)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError("its checksum does not fit")
        return data


def inspect_config(spec: dict[str, Any]) -> str:
    """Return the name of a configuration: the model, the task's arguments as passed, a solver put in the task's place.

    >>> inspect_config({"model": "openai/gpt-4o", "task_args_passed": {"prompt": "v2", "shots": 3}})
    'openai/gpt-4o prompt=v2 shots=3'
    """
    passed = {**table(spec.get("task_args_passed", spec.get("task_args"))), **table(spec.get("solver_args_passed")),
              **({"solver": spec["solver"]} if spec.get("solver") else {})}
    return " ".join([spec["model"], *(f"{key}={value if isinstance(value, str) else json.dumps(value)}"
                                      for key, value in passed.items())])


def check_whole(header: dict[str, Any], count: int, where: str, unfinished: bool, rows: Rows) -> None:
    """Raise RunError where a log lacks samples it was to have, unless an unfinished one is welcome."""
    spec, status = header["eval"], header.get("status", "started")
    ids, epochs = table(spec.get("dataset")).get("sample_ids"), table(spec.get("config")).get("epochs")
    planned = table(header.get("results")).get("total_samples") or len(ids if isinstance(ids, list) else ()) * (
        epochs if isinstance(epochs, int) else 1)
    check_fields({"total_samples": planned}, {"total_samples": WHOLE}, where)
    if count < planned and not unfinished or not count:
        raise RunError(f"{where}: {count} of {planned} samples, status {status!r}; finish the run with "
                       "`inspect eval-retry`" + ", or convert what is there with --unfinished" * bool(count))
    if count < planned or status != "success":
        rows.notes[f"{where}: {count} of {planned} samples, status {status!r}"] = 0


def convert_sample(sample: Any, where: str, args: argparse.Namespace, config: str, rows: Rows) -> set[str]:
    """Add the trial of one sample; return the names of its scores: "parts/a" for one of several values of a scorer."""
    check_fields(sample, {}, where)
    sample = {"scores": {}, "metadata": {}, "model_usage": {},
              **{key: sample[key] for key in sample if sample[key] is not None}}
    if "score" in sample:  # version 1 has but one
        sample["scores"] = {"score": sample["score"]}
    check_fields(sample, {"epoch": WHOLE, "scores": TABLE, "metadata": TABLE, "model_usage": TABLE}, where)
    if isinstance(sample.get("id"), bool) or not isinstance(sample.get("id"), (int, str)):
        raise RunError(f"{where}: id is {sample.get('id')!r:.60}, not a whole number or text; correct the log")
    scores: dict[str, tuple[Any, dict[str, Any]]] = {}
    for name, item in sample["scores"].items():
        check_fields(item, {}, f"{where}: score {name!r}")
        parts = item.get("value")
        scores |= {f"{name}/{key}": (part, item) for key, part in parts.items()} if isinstance(parts, dict) else {
            name: (parts, item)}
    chosen = args.scorer or next(iter(scores), "")  # one without any value is unscored under the scorer's own name
    value, details = scores.get(chosen) or scores.get(chosen.rpartition("/")[0]) or (None, {})
    if isinstance(value, list):
        raise RunError(f"{where}: the score is a list; choose with --scorer a score that is one value")
    score, error = score_of(value, INSPECT_SCORES)
    why = details.get("reason") or details.get("explanation")
    error = f"not scored: {first_words(why)}" if error and why else error
    if sample.get("error"):
        if not error:
            rows.notes["scored by Inspect in spite of an error: unscored here"] += 1
        error = table(sample["error"]).get("message") or sample["error"]
    elif sample.get("invalidation"):
        error = "invalidated"
    elif sample.get("limit") and not error:
        rows.notes["stopped by a limit: scored as Inspect did"] += 1
    asked = sample.get("input")
    if isinstance(asked, list):  # chat messages, whose ids are made anew by each run
        asked = [{**message, "id": None} if isinstance(message, dict) else message for message in asked]
    usage = [table(item) for item in sample["model_usage"].values()]  # by model
    rows.add(where, sample["id"], sample["epoch"], args.config or config, score, error, sample["metadata"],
             sample["metadata"], cost_usd=total(item.get("total_cost") for item in usage),
             latency_s=amount(sample.get("working_time", sample.get("total_time"))),
             tokens=total(item.get("total_tokens") for item in usage),
             ts=sample.get("completed_at", sample.get("started_at")),
             input_sha256=None if args.no_hash else digest(asked, sample.get("choices"), sample.get("target")))
    return {name for name, (value, _) in scores.items() if score_of(value, INSPECT_SCORES)[0] is not None}


# === lm-eval: a row a document and filter ===


def cmd_lm_eval(args: argparse.Namespace, rows: Rows) -> None:
    tasks = {path: re.sub(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl", r"\1", os.path.basename(path))
             for path in args.logs}
    several = len(set(tasks.values())) > 1
    for path in args.logs:
        config = args.config or os.path.basename(os.path.dirname(os.path.abspath(path)))
        filters: set[str] = set()
        for number, line in lines(path):
            where = f"{path}:{number}"
            row = harness.parse_json(line, where, LENIENT)
            check_fields(row, {"doc_id": WHOLE}, where)
            filters.add(name := str(row.get("filter", "none")))
            if args.filter not in (None, name) or args.filter is None and len(filters) > 1:
                continue
            score, error = score_of(row[lm_metric(row, args.metric, where)])
            if isinstance(row.get("resps"), list) and any(isinstance(item, list) and item[1:] for item in row["resps"]):
                rows.notes["several answers (repeats), which lm-eval scores as one: one row, not one an answer"] += 1
            hashes = [row.get("doc_hash"), row.get("target_hash")]  # not the prompt's: another prompt may be the point
            rows.add(where, f"{tasks[path]}/{row['doc_id']}" if several else row["doc_id"], args.seed, config, score,
                     error, {"task": tasks[path], **table(row.get("doc"))}, ["task"] if several else (),
                     input_sha256=None if args.no_hash or None in hashes else digest(*hashes))
        if filters and (args.filter is None and len(filters) > 1 or args.filter not in (None, *filters)):
            raise RunError(f"{path}: {'several filters' if args.filter is None else f'no filter {args.filter!r}'} "
                           f"in the rows; choose with --filter one of: {', '.join(sorted(filters))}")


def lm_metric(row: dict[str, Any], wanted: str | None, where: str) -> str:
    """Return the name of the metric to read. Raises RunError where it is not there, or no score of a single row."""
    names = [name for name in row if isinstance(row[name], (int, float)) and name != "doc_id"]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or isinstance(row.get(wanted, []), (list, dict)):
        what = "several metrics" if wanted is None else f"{wanted!r} is not there" if wanted not in row else (
            f"{wanted!r} is computed over the whole task, and no score of a row")
        raise RunError(f"{where}: {what}; choose with --metric one of: {', '.join(names)}")
    return wanted


# === promptfoo: test x provider x prompt x repeat ===


def cmd_promptfoo(args: argparse.Namespace, rows: Rows) -> None:
    needed = {"testIdx": WHOLE, "promptIdx": WHOLE, "testCase": TABLE, "prompt": TABLE, "provider": TABLE}
    for path in args.logs:
        log = parse(harness.read_bytes(path), path)
        if not isinstance(log, dict) or not isinstance(log.get("results"), dict):
            raise RunError(f"{path}: {harness.kind_of(log)}, not results of promptfoo; give what its --output wrote")
        results = log["results"]
        where = versioned(path, results.get("version"), PROMPTFOO_VERSIONS, rows)
        check_fields(results, {"results": LIST}, where)
        for number, row in enumerate(results["results"], start=1):
            check_fields(row, needed, f"{where}: result {number}")
        count, stats = len(results["results"]), table(results.get("stats"))
        planned = [amount(stats.get(name)) or 0 for name in ("successes", "failures", "errors")]
        if sum(planned) > count:
            raise RunError(f"{where}: {count} of {sum(planned)} results; export the eval again")
        convert_results(results, where, args, rows)


def convert_results(results: dict[str, Any], where: str, args: argparse.Namespace, rows: Rows) -> None:
    """Add the trials of a file, whose results stand in the order in which they ended."""
    ordered = sorted(results["results"], key=lambda row: (row["testIdx"], row["promptIdx"]))
    metrics = {"score", "pass"}.union(*(table(row.get("namedScores")) for row in ordered))
    if args.metric not in metrics:
        raise RunError(f"{where}: no metric {args.metric!r}; choose with --metric one of: {', '.join(sorted(metrics))}")
    prompts = list(dict.fromkeys(str(row["prompt"].get("label") or row["prompt"].get("raw")) for row in ordered))
    cases: dict[str, int] = {}  # each repeat of a test has a testIdx of its own: only its content tells it again
    seeds: Counter[tuple[int, int]] = Counter()
    for row in ordered:
        test, response = row["testCase"], table(row.get("response"))
        meaning = [test.get(key) for key in ("vars", "assert", "threshold")]
        case = cases.setdefault(digest(meaning, test.get("description"), test.get("metadata")), len(cases))
        seeds[case, row["promptIdx"]] += 1
        config = str(row["provider"].get("label") or row["provider"].get("id"))
        if len(prompts) > 1:
            name = str(row["prompt"].get("label") or row["prompt"].get("raw"))
            short = len(name) <= 40 and name.isprintable()  # a prompt without a label is labelled with all its text
            config += f" {name}" if short else f" prompt {prompts.index(name) + 1}"
        score, error = promptfoo_score(row, args.metric)
        if not test.get("assert"):
            rows.notes["of a test without assertions, which always passes"] += 1
        if response.get("cached"):
            rows.notes["answered from promptfoo's cache: no cost and latency"] += 1
        latency_ms = None if error or response.get("cached") else amount(row.get("latencyMs"))
        metadata = table(test.get("metadata"))
        place = f"{where}: testIdx {row['testIdx']}, promptIdx {row['promptIdx']}"
        rows.add(place, case, seeds[case, row["promptIdx"]], args.config or config, score, error,
                 table(test.get("vars")) | metadata, metadata,
                 cost_usd=None if response.get("cached") else amount(response.get("cost")),
                 latency_s=None if latency_ms is None else latency_ms / 1000,
                 tokens=amount(table(response.get("tokenUsage")).get("total")), ts=results.get("timestamp"),
                 input_sha256=None if args.no_hash else digest(*meaning))


def promptfoo_score(row: dict[str, Any], metric: str) -> tuple[float | None, Any]:
    """Return score and error of a result, whose own `error` also tells why an answer merely failed."""
    reason = row.get("failureReason")
    if reason == PROMPTFOO_ERROR or reason is None and row.get("error") and not row.get("gradingResult"):
        return None, row.get("error") or "error"
    named = {"score": row.get("score"), "pass": row.get("success")}
    return score_of(named.get(metric, table(row.get("namedScores")).get(metric)))


# === CSV: a line a trial ===


def cmd_csv(args: argparse.Namespace, rows: Rows) -> None:
    csv.field_size_limit(2**27)  # an answer kept in a column may be longer than the usual 128 KiB
    delimiter = "\t" if args.delimiter == "tab" else args.delimiter
    for path in args.logs:
        reader = csv.reader((line for _, line in lines(path)), delimiter=delimiter, strict=True)
        try:
            header = next(reader, [])
            wanted = [args.case, args.trial, args.config, args.score, args.cluster, args.error, *(args.tag or ())]
            for name in filter(None, wanted):
                if header.count(name) != 1:
                    raise RunError(f"{path}:1: {header.count(name) or 'no'} columns {name!r}; there are: "
                                   f"{', '.join(header) or 'none'}")
            for cells in filter(None, reader):
                where, row = f"{path}:{reader.line_num}", dict(zip(header, cells))
                if len(cells) != len(header):
                    raise RunError(f"{where}: {len(cells)} cells, but {len(header)} columns; correct the line")
                for name in filter(None, (args.case, args.trial, args.config)):
                    if not row[name].strip():
                        raise RunError(f"{where}: {name} is blank; fill it in")
                seed = row[args.trial] if args.trial else "1"
                score, error = score_of(row[args.score] if row[args.score].strip() else None)
                if error and row[args.score].strip():
                    raise RunError(f"{where}: score {row[args.score]!r:.60} is no number, true or false; correct it")
                rows.add(where, row[args.case], int(seed) if re.fullmatch(r"0|[1-9]\d{0,17}", seed, re.ASCII) else seed,
                         row[args.config], score, args.error and row[args.error].strip() or error and "no score", row)
        except csv.Error as error:
            raise RunError(f"{path}:{reader.line_num}: {error}; correct the quotes, or give --delimiter") from None


# === Zstandard (RFC 8878), which Inspect zips with and Python reads by itself only from 3.14 on ===

# For literal lengths, offsets and match lengths: the largest accuracy allowed, the predefined accuracy and shares.
FSE: dict[str, tuple[int, int, list[int]]] = {
    "length": (9, 6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    "offset": (8, 5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    "match": (9, 6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7)}
# Extra bits of each code of a length; a code's base is where the range of the code before it ends.
LENGTH_BITS = [0] * 16 + [1] * 4 + [2, 2, 3, 3, 4, *range(6, 17)]
MATCH_BITS = [0] * 32 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, *range(7, 17)]
LENGTHS = [(sum(1 << bits for bits in LENGTH_BITS[:code]), bits) for code, bits in enumerate(LENGTH_BITS)]
MATCHES = [(3 + sum(1 << bits for bits in MATCH_BITS[:code]), bits) for code, bits in enumerate(MATCH_BITS)]
BLOCK = 1 << 17  # bytes that a block may hold at most


def unzstd(data: bytes, size: int) -> bytes:
    """Return the content, at most size bytes, of Zstandard frames; ValueError or IndexError where they are damaged.

    About 5 MB/s. No dictionaries; checksums are not looked at, for a zip has its own.
    """
    out, at = bytearray(), 0
    while at < len(data):
        magic, head, at = little(data[at:at + 4]), data[at + 4], at + 5
        if magic != 0xFD2FB528 or head & 11:
            raise ValueError("no Zstandard frame, or one with a dictionary")
        single = head >> 5 & 1  # else a byte tells the window, which a bytearray need not know
        at += 1 - single + (single if head < 64 else (2, 4, 8)[(head >> 6) - 1])
        frame, state, last = len(out), {"repeats": (1, 4, 8)}, 0
        while not last:
            block, at = little(data[at:at + 3]), at + 3
            last, kind, length = block & 1, block >> 1 & 3, block >> 3
            if kind == 2:
                read_block(data[at:at + length], out, frame, state)
            else:
                out += data[at:at + length] if kind == 0 else data[at:at + 1] * length
            at += 1 if kind == 1 else length
            if kind == 3 or at > len(data) or len(out) > size:
                raise ValueError("a block of an unknown kind, cut off, or too long")
        at += head & 4
    return bytes(out)


def little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def backward(data: bytes) -> tuple[Callable[[int], int], Callable[[], int]]:
    """Return read(count) of bits from a stream's end, and left(): how many there are, negative once read beyond."""
    at = len(data) * 8 + 55 + data[-1].bit_length()  # below a final 1 bit; eight zero bytes before serve what is beyond
    data = bytes(8) + data

    def read(count: int) -> int:
        nonlocal at
        at -= count
        return (int.from_bytes(data[at >> 3:(at + count + 7) >> 3], "little") >> (at & 7)) & ((1 << count) - 1)

    return read, lambda: at - 64


def fse_table(accuracy: int, shares: list[int]) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the accuracy and, for each state, its symbol, the bits to read and what to add for the next state."""
    size = 1 << accuracy
    symbols, high, at = [0] * size, size - 1, 0
    for symbol in (symbol for symbol, share in enumerate(shares) if share == -1):
        symbols[high], high = symbol, high - 1
    for symbol in (symbol for symbol, share in enumerate(shares) for _ in range(share)):
        symbols[at] = symbol
        at = (at + (size >> 1) + (size >> 3) + 3) % size
        while at > high:
            at = (at + (size >> 1) + (size >> 3) + 3) % size
    count, table = [abs(share) for share in shares], []
    for symbol in symbols:
        bits = accuracy + 1 - count[symbol].bit_length()
        table.append((symbol, bits, (count[symbol] << bits) - size))
        count[symbol] += 1
    return accuracy, table


def read_fse(data: bytes, at: int, largest: int) -> tuple[tuple[int, list[tuple[int, int, int]]], int]:
    """Return a table that is described at a place, and the place behind."""
    stream, place, shares = little(data[at:at + 512]), 4, []
    accuracy = (stream & 15) + 5
    left = 1 << accuracy
    while left > 0 and accuracy <= largest:
        bits = (left + 1).bit_length()
        value, half, spare = stream >> place & (1 << bits) - 1, (1 << bits - 1) - 1, (1 << bits) - 2 - left
        if value & half < spare:  # the small values take one bit less
            value, bits = value & half, bits - 1
        elif value > half:
            value -= spare
        place += bits
        shares.append(value - 1)
        left -= abs(value - 1)
        zeros = 3 if value == 1 else 0
        while zeros == 3:
            zeros = stream >> place & 3
            place += 2
            shares += [0] * zeros
    if left:
        raise ValueError("a table of shares that do not fit")
    return fse_table(accuracy, shares), at + (place + 7) // 8


def read_huffman(data: bytes, at: int) -> tuple[tuple[list[tuple[int, int]], int], int]:
    """Return the (symbol, bits) of each value of the next bits with how many bits those are, and the place behind."""
    size, at = data[at], at + 1
    if size >= 128:
        end = at + (size - 126) // 2
        weights = [half for byte in data[at:end] for half in (byte >> 4, byte & 15)][:size - 127]
    else:
        end = at + size
        (accuracy, table), at = read_fse(data[:end], at, 6)
        read, left = backward(data[at:end])
        now, other, weights = read(accuracy), read(accuracy), []
        while left() >= 0 and len(weights) < 255:  # two states take turns
            symbol, bits, base = table[now]
            weights.append(symbol)
            now, other = other, base + read(bits)
        weights.append(table[now][0])
    total = sum(1 << weight >> 1 for weight in weights)
    width = total.bit_length()
    weights.append(((1 << width) - total).bit_length())  # the last weight is what fills the table
    codes = [(symbol, width + 1 - weight) for weight in range(1, width + 1)
             for symbol, other in enumerate(weights) if other == weight for _ in range(1 << weight >> 1)]
    if len(codes) != 1 << width or width > 11:
        raise ValueError("a Huffman table that does not fit")
    return (codes, width), end


def huffman_symbols(data: bytes, huffman: tuple[list[tuple[int, int]], int], count: int) -> bytearray:
    """Return count symbols of a stream, which is read from its end."""
    codes, width = huffman
    data = data[::-1]
    have, at, beyond, out = data[0].bit_length() - 1, 1, 0, bytearray()
    held = data[0] & (1 << have) - 1
    while len(out) < count:
        more = data[at:at + 64] or bytes(2)
        beyond += 16 * (at >= len(data))
        held = (held & (1 << have) - 1) << 8 * len(more) | int.from_bytes(more, "big")
        have, at = have + 8 * len(more), at + 64
        while have >= width and len(out) < count:
            symbol, bits = codes[held >> have - width & (1 << width) - 1]
            out.append(symbol)
            have -= bits
    if have != beyond or at < len(data):
        raise ValueError("a Huffman stream of another length")
    return out


def read_literals(data: bytes, state: dict[str, Any]) -> tuple[bytes | bytearray, int]:
    """Return a compressed block's literals, and the place behind."""
    kind, form = data[0] & 3, data[0] >> 2 & 3
    if kind < 2:
        at = (1, 2, 1, 3)[form]
        size = little(data[:at]) >> (3, 4)[form & 1]
        return (data[at:at + 1] * size, at + 1) if kind else (data[at:at + size], at + size)
    at, width = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    size, end = little(data[:at]) >> 4 & (1 << width) - 1, at + (little(data[:at]) >> 4 + width)
    if kind == 2:
        state["codes"], at = read_huffman(data, at)
    if form == 0:
        return huffman_symbols(data[at:end], state["codes"], size), end
    ends, out, part = [little(data[at + i:at + i + 2]) for i in (0, 2, 4)], bytearray(), (size + 3) // 4
    at += 6
    for length, count in zip([*ends, end - at - sum(ends)], [part, part, part, size - 3 * part]):
        out += huffman_symbols(data[at:at + length], state["codes"], count)
        at += length
    return out, end


def read_block(data: bytes, out: bytearray, frame: int, state: dict[str, Any]) -> None:
    """Append a compressed block to out, whose frame began at a place; state is what blocks of a frame hand on."""
    literals, at = read_literals(data, state)
    count, at = data[at], at + 1
    if count == 255:
        count, at = little(data[at:at + 2]) + 0x7F00, at + 2
    elif count > 127:
        count, at = (count - 128 << 8) + data[at], at + 1
    if not count:
        out += literals
        return
    modes, at = data[at], at + 1
    for name, shift in (("length", 6), ("offset", 4), ("match", 2)):
        mode, (largest, accuracy, shares) = modes >> shift & 3, FSE[name]
        if mode == 0:
            state[name] = fse_table(accuracy, shares)
        elif mode == 1:
            state[name], at = (0, [(data[at], 0, 0)]), at + 1
        elif mode == 2:
            state[name], at = read_fse(data, at, largest)
    read, left = backward(data[at:])
    (accuracy, lengths), (of_accuracy, offsets), (match_accuracy, matches) = (state[name] for name in FSE)
    length_state, offset_state, match_state = read(accuracy), read(of_accuracy), read(match_accuracy)
    first, second, third = state["repeats"]
    used, limit = 0, len(out) + BLOCK
    for more in range(count - 1, -1, -1):
        code, offset_bits, offset_base = offsets[offset_state]
        offset = (1 << code) + read(code)
        code, match_bits, match_base = matches[match_state]
        match = MATCHES[code][0] + read(MATCHES[code][1])
        code, length_bits, length_base = lengths[length_state]
        length = LENGTHS[code][0] + read(LENGTHS[code][1])
        if more:
            length_state = length_base + read(length_bits)
            match_state = match_base + read(match_bits)
            offset_state = offset_base + read(offset_bits)
        if offset > 3:
            first, second, third = offset - 3, first, second
        else:  # one of the last three; after no literals the first of them is meant by none
            offset += not length
            if offset > 1:
                first, second, third = (second, first, third) if offset == 2 else (
                    third if offset == 3 else first - 1, first, second)
        out += literals[used:used + length]
        used += length
        begin = len(out) - first
        if begin < frame or first < 1 or used > len(literals) or len(out) + match > limit:
            raise ValueError("a sequence beyond its block or frame")
        out += out[begin:begin + match] if first >= match else (out[begin:] * (match // first + 1))[:match]
    if left():
        raise ValueError("sequences of another length")
    state["repeats"] = first, second, third
    out += literals[used:]


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = harness.command_parser(__doc__, "convert.py")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="inspect | lm-eval | promptfoo | csv")

    def verb(name: str, run: Callable[..., None], what: str, **options: str) -> argparse.ArgumentParser:
        command = verbs.add_parser(name, help=what)
        command.set_defaults(command=run)
        command.add_argument("logs", nargs="+", metavar="FILE", help=what)
        for option, text in options.items():
            command.add_argument(f"--{option}", metavar="NAME", help=text)
        command.add_argument("--cluster", metavar="FIELD", help="field (metadata, doc, variable, column) of the source")
        command.add_argument("--tag", action="append", metavar="FIELD", help="one to carry as a tag; may be repeated "
                             "(default: all metadata of Inspect and promptfoo, else none)")
        if name != "csv":
            command.add_argument("--config", metavar="NAME", help="the configuration's name, in place of the log's")
            command.add_argument("--no-hash", action="store_true", help="no input_sha256: inputs differ on purpose")
        return command

    verb("inspect", cmd_inspect, "logs of Inspect, .eval or .json", scorer="which score, where there are several"
         ).add_argument("--unfinished", action="store_true", help="convert a log that lacks samples, as far as it goes")
    verb("lm-eval", cmd_lm_eval, "samples_*.jsonl, written with --log_samples", metric="which metric, where there are "
         "several", filter="which filter, where there are several"
         ).add_argument("--seed", type=int, default=1, metavar="N", help="number of this run (default: %(default)s)")
    verb("promptfoo", cmd_promptfoo, "results as JSON").add_argument(
        "--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")
    cells = verb("csv", cmd_csv, "tables with a line a trial", trial="column of the trial's number (default: 1)",
                 error="column that says why a trial has no score")
    for name in ("case", "config", "score"):
        cells.add_argument(f"--{name}", required=True, metavar="NAME", help=f"column of the {name}")
    cells.add_argument("--delimiter", default=",", choices=(",", ";", "|", "tab"), help="default: a comma")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        rows = Rows(file, args.tag, args.cluster)
        args.command(args, rows)
        rows.write()
    return 0


if __name__ == "__main__":
    sys.exit(harness.run_command(main))
