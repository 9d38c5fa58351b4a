"""How do the runs of another harness come here? Inspect, lm-eval, promptfoo and CSV files, as a plain trial log.

    $ python3 convert.py csv testdata/convert/scores.csv --case task --trial run --config model --score correct >t.jsonl
    note: trials of config 'small': 4
    note: trials of config 'large': 4
    $ head -1 t.jsonl
    {"task_id": "greet, typo", "seed": 1, "config": "small", "score": 1}

The other verbs: `inspect LOG.eval LOG.json --scorer NAME`, `lm-eval samples_*.jsonl --metric acc`, `promptfoo
results.json`; `--help` after a verb lists its options. Prints a row a trial, as trials.py reads them, once all inputs
proved whole; seed is the epoch, repeat or run number. Memory holds one sample of an .eval log, one line of JSONL and
CSV, but the whole of a JSON log. `note:` lines on stderr tell what could not be carried, and each config. Exit status:
0 done, 1 refused or bad input (one `error:` line), 2 bad usage, 130 interrupted.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TextIO

from files import (
    LIST, TABLE, TEXT, WHOLE, RunError, check_fields, command_parser, decode, json_line, kind_of, parse_json,
    read_bytes, run_command,
)
from trials import check_row
from unzstd import decompress

INSPECT_VERSIONS = (1, 2)  # `version` of a log; 2 since 2024
PROMPTFOO_VERSIONS = (3,)  # `results.version`; 2 has no numbers of tests and prompts
# What inspect_ai.scorer.value_to_float makes of text; what it cannot read counts 0 there, and is not scored here.
INSPECT_SCORES = {"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "true": 1, "no": 0, "false": 0}
PROMPTFOO_ERROR = 2  # `failureReason`: 0 none, 1 an assertion failed, 2 an error
ZSTANDARD = 93  # a zip's number for the compression that newer versions of Inspect use
LONGEST = 200  # characters of a tag's value or an error; longer text names no slice, and a stack trace is no reason
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LENIENT = json.JSONDecoder()  # reads NaN, which other tools write for "not scored"; it is never passed on


# === Rows out ===


class Rows:
    """The rows of one conversion, held back until all inputs are read: half a log must not look like a whole one."""

    def __init__(self, file: TextIO, args: argparse.Namespace):
        self.file, self.args = file, args
        self.notes: Counter[str] = Counter()
        self._places: dict[tuple[str, str, int | str], str] = {}
        self._tags: dict[str, dict[str, Any]] = {}  # of each case
        self._varying: set[str] = set()
        self._fields: set[str] = set()

    def add(self, where: str, task_id: int | str, seed: int | str, config: str, score: Any, error: Any,
            fields: dict[str, Any], usual: Iterable[str] = (), inputs: Sequence[Any] = (), ts: Any = None,
            **measures: float | None) -> None:
        """Keep a trial, unscored if it has an error. Raises RunError where it came before, or trials.py refuses it.

        --tag and --cluster choose from fields; usual names the tags where no --tag does. Inputs are hashed.
        """
        before = self._places.setdefault((config, str(task_id), seed), where)
        if before is not where:
            raise RunError(f"{where}: case {task_id!r}, trial {seed!r} of {config!r} came before, in {before}; "
                           "give each log once, and the runs of two systems one by one, each with its --config")
        tags = self._tags.setdefault(str(task_id), {})
        for name in usual if self.args.tag is None else self.args.tag:
            value = fields.get(name)
            broken = isinstance(value, float) and not abs(value) < math.inf
            if broken or isinstance(value, (list, dict)) or len(str(value)) > LONGEST:
                self.notes[f"{name!r} is no tag: not one value of at most {LONGEST} characters"] += 1
            elif value not in (None, "") and name != self.args.cluster and tags.setdefault(name, value) != value:
                self._varying.add(name)
                self.notes[f"{name!r} is no tag: it differs between trials of one case"] = 0
        self._fields.update(fields)
        cluster = fields.get(self.args.cluster)
        row = {"task_id": task_id, "seed": seed, "config": config, "score": None if error else score,
               "cluster": cluster if isinstance(cluster, str | None) else json.dumps(cluster), "tags": None, **measures,
               "ts": ts if isinstance(ts, str) else None, "error": first_words(error) if error else None,
               "input_sha256": digest(*inputs) if inputs and not self.args.no_hash else None}
        check_row(row, where, (-10**400, 10**400))  # whoever compares says what a score can be
        self.file.write(json_line(row))

    def write(self) -> None:
        """Print the rows, then the notes. Raises RunError where there is no row, or none with a field asked for."""
        if not self._places:
            raise RunError("no trial in the files given; give logs that hold samples")
        for name in filter(None, (*(self.args.tag or ()), self.args.cluster)):
            if name not in self._fields:
                raise RunError(f"no trial has a field {name!r} for --tag or --cluster; there are: "
                               f"{', '.join(sorted(self._fields)) or 'none'}")
        self.file.seek(0)
        for line in self.file:  # a tag belongs to a case: a log in which it differs between trials would be refused
            row = json.loads(line)
            tags = self._tags[str(row["task_id"])]
            row["tags"] = {name: tags[name] for name in tags if name not in self._varying} or None
            sys.stdout.write(json_line({key: row[key] for key in row if key == "score" or row[key] is not None}))
        sys.stdout.flush()
        for text, count in self.notes.items():
            print(f"note: {text}" + f" (trials: {count})" * (count > 0), file=sys.stderr)
        for config, count in Counter(config for config, _, _ in self._places).items():
            print(f"note: trials of config {config!r}: {count}", file=sys.stderr)


def first_words(error: object) -> str:
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
            value = int(value) if value.is_integer() else value
    if isinstance(value, (int, float)) and abs(value) < math.inf:  # false for NaN as well
        return int(value) if isinstance(value, bool) else value, None
    return None, f"not scored: {'no value' if value is None else repr(value)[:60]}"


def amount(*values: Any) -> float | None:
    """Return a cost, a time or a count, summed over the values that can be one; None where none can."""
    known = [value for value in values if type(value) in (int, float) and 0 <= value < 1e300]
    return sum(known) if known else None


def digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def versioned(path: str, version: Any, known: Sequence[Any], rows: Rows) -> str:
    """Return how errors name a log: with its version if that is unknown, which a note tells as well."""
    if version in known:
        return path
    rows.notes[f"{path}: format version {version!r} is not known here; read by the fields it shares"] = 0
    return f"{path} (format version {version!r}, not known here)"


def choose(option: str, wanted: str | None, names: Collection[str], where: str) -> str:
    """Return the name that an option asks for, or else the only one; raise RunError where there is none such."""
    if wanted is None and len(names) == 1:
        return next(iter(names))
    if wanted is None or wanted not in names:
        what = f"several {option}s" if wanted is None and names else f"no {option} {wanted or ''!r}"
        raise RunError(f"{where}: {what}; choose with --{option} one of: {', '.join(sorted(names)) or 'none'}")
    return wanted


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # for what a log may also lack


def parse(data: bytes, where: str) -> Any:
    return parse_json(decode(data, where), where, LENIENT)


def lines(path: str) -> Iterator[str]:
    """Yield a text file's lines. Only a newline ends one: U+2028 within a text does not."""
    try:
        with open(path, "rb") as file:
            encoding = json.detect_encoding(file.read(4))
        with open(path, encoding=encoding, newline="\n") as file:
            yield from file
    except UnicodeDecodeError:
        decode(read_bytes(path), path)  # refuses it as well, and knows the byte
        raise
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}; give a file that can be read") from None


# === Inspect: samples x epochs ===


def cmd_inspect(args: argparse.Namespace, rows: Rows) -> None:
    names: set[str] = set()
    task = None
    for path in args.logs:
        samples = read_inspect(path, rows)
        where, header = next(samples)
        spec = header["eval"]
        check_fields(spec, {"model": TEXT, "task": TEXT}, where)
        if (task := task or spec["task"]) != spec["task"]:
            raise RunError(f"{where}: task {spec['task']!r}, after {task!r}: ids of two tasks may be alike; "
                           "convert each task by itself")
        passed = {**table(spec.get("task_args_passed", spec.get("task_args"))), **table(spec.get("solver_args_passed")),
                  **({"solver": spec["solver"]} if spec.get("solver") else {})}  # a solver put in the task's own place
        words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in passed.items()]
        config = args.config or " ".join([spec["model"], *words])
        count = 0
        for place, sample in samples:
            names |= convert_sample(sample, place, args.scorer, config, rows)
            count += 1
        planned, status = amount(table(header.get("results")).get("total_samples")) or 0, header.get("status")
        if count < planned or status != "success":
            state = f"{where}: status {status!r}, samples: {count}" + f" of {planned}" * (planned > 0)
            if not args.unfinished:
                raise RunError(f"{state}; finish the run with `inspect eval-retry`, or convert what is there with "
                               "--unfinished")
            rows.notes[state] = 0
    if names:
        choose("scorer", args.scorer, names, path)


def read_inspect(path: str, rows: Rows) -> Iterator[tuple[str, Any]]:
    """Yield (place, header) of a log, then (place, sample) by epoch and id, the order of Inspect whichever ended first.

    The samples of a zip are read one by one. Raises RunError where the file is no log of Inspect, or damaged.
    """
    members: dict[str, zipfile.ZipInfo] = {}
    try:
        archive = zipfile.ZipFile(path)
    except Exception:  # zipfile and what it calls have a dozen kinds of exception for bytes that are no zip
        data = read_bytes(path)
        if data[:2] == b"PK" or path.endswith(".eval"):
            raise RunError(f"{path}: not a whole zip; copy the log again") from None
        header = parse(data, path)
    else:
        members = {info.filename: info for info in archive.infolist()}  # of one name the last counts, as for Inspect
        start = members.get("header.json") or members.get("_journal/start.json")  # a run that was killed has no header
        if start is None:
            raise RunError(f"{path}: no header.json in this zip; give a log of Inspect, or copy it again")
        header = parse(unzip(archive, start), f"{path}: {start.filename}")
    if not isinstance(table(header).get("eval"), dict):
        raise RunError(f"{path}: {kind_of(header)}, not a log of Inspect; give one, .eval or .json")
    where = versioned(path, header.get("version"), INSPECT_VERSIONS, rows)
    yield where, header
    found: list[tuple[int, str, Any]] = [
        (int(match[2]), match[1], info) for name, info in members.items()
        if (match := re.fullmatch(r"samples/(.*)_epoch_(\d{1,9})\.json", name, re.DOTALL))]
    samples = header.get("samples")
    for number, sample in enumerate(samples if isinstance(samples, list) else (), start=1):
        check_fields(sample, {"epoch": WHOLE}, f"{where}: sample {number}")
        found.append((sample["epoch"], str(sample.get("id")), sample))
    found.sort(key=lambda item: (item[0], item[1].zfill(20) if item[1].isdecimal() else item[1]))
    for epoch, name, sample in found:
        place = f"{where}: sample {name!r}, epoch {epoch}"
        yield place, parse(unzip(archive, sample), place) if isinstance(sample, zipfile.ZipInfo) else sample


def unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes, of the length and checksum that the archive gives. Raises RunError for damaged ones."""
    try:
        if info.compress_type != ZSTANDARD or getattr(zipfile, "zstd", None):  # Python 3.14 or later
            return archive.read(info)
        with open(str(archive.filename), "rb") as file:  # past the member's own header, which names it once more
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            file.seek(name + extra, os.SEEK_CUR)
            data = decompress(file.read(info.compress_size), info.file_size)
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError("its checksum does not fit")
        return data
    except Exception as error:
        where = f"{archive.filename}: {info.filename}"
        raise RunError(f"{where}: damaged ({first_words(error)}); copy the log again") from None


def convert_sample(sample: Any, where: str, scorer: str | None, config: str, rows: Rows) -> set[str]:
    """Add the trial of one sample; return the names of its scores: "parts/a" for one of several values of a scorer."""
    check_fields(sample, {}, where)
    sample = {"scores": {"score": sample["score"]} if sample.get("score") else {},  # version 1 has but one
              "metadata": {}, "model_usage": {}, **{key: sample[key] for key in sample if sample[key] is not None}}
    check_fields(sample, {"id": TEXT if isinstance(sample.get("id"), str) else WHOLE, "epoch": WHOLE, "scores": TABLE,
                          "metadata": TABLE, "model_usage": TABLE}, where)
    scores: dict[str, tuple[Any, dict[str, Any]]] = {}
    for name, item in sample["scores"].items():
        check_fields(item, {}, f"{where}: score {name!r}")
        value = item.get("value")
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        scores |= {name: (part, item) for name, part in parts.items()}
    chosen = scorer or next(iter(scores), "")  # one without any value is unscored under the scorer's own name
    value, details = scores.get(chosen) or scores.get(chosen.rpartition("/")[0]) or (None, {})
    score, error = score_of(value, INSPECT_SCORES)
    if error and (why := details.get("reason") or details.get("explanation")):
        error = f"not scored: {first_words(why)}"
    if sample.get("error"):
        if not error:
            rows.notes["scored by Inspect in spite of an error: unscored here"] += 1
        error = table(sample["error"]).get("message") or sample["error"]
    elif sample.get("invalidation"):
        error = "invalidated"
    asked = sample.get("input")
    if isinstance(asked, list):  # chat messages, whose ids are made anew by each run
        asked = [{**message, "id": None} if isinstance(message, dict) else message for message in asked]
    usage = [table(item) for item in sample["model_usage"].values()]  # by model
    cost, tokens = (amount(*(item.get(key) for item in usage)) for key in ("total_cost", "total_tokens"))
    rows.add(where, sample["id"], sample["epoch"], config, score, error, sample["metadata"], sample["metadata"],
             (asked, sample.get("choices"), sample.get("target")), sample.get("completed_at", sample.get("started_at")),
             cost_usd=cost, latency_s=amount(sample.get("working_time", sample.get("total_time"))), tokens=tokens)
    return {name for name, (value, _) in scores.items() if score_of(value, INSPECT_SCORES)[0] is not None}


# === lm-eval: a row a document and filter ===


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


# === promptfoo: test x provider x prompt x repeat ===


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


# === CSV: a line a trial ===


def cmd_csv(args: argparse.Namespace, rows: Rows) -> None:
    csv.field_size_limit(2**27)  # an answer kept in a column may be longer than the usual 128 KiB
    for path in args.logs:
        reader = csv.reader(lines(path), delimiter="\t" if args.delimiter == "tab" else args.delimiter, strict=True)
        try:
            header = next(reader, [])
            named = [name for name in (args.case, args.trial, args.config) if name]
            for name in filter(None, (*named, args.score, args.cluster, args.error, *(args.tag or ()))):
                if header.count(name) != 1:
                    raise RunError(f"{path}:1: {header.count(name) or 'no'} columns {name!r}; there are: "
                                   f"{', '.join(header) or 'none'}")
            for cells in filter(None, reader):
                where, row = f"{path}:{reader.line_num}", dict(zip(header, cells))
                if len(cells) != len(header):
                    raise RunError(f"{where}: {len(cells)} cells, but {len(header)} columns; correct the line")
                if blank := [name for name in named if not row[name].strip()]:
                    raise RunError(f"{where}: {blank[0]} is blank; fill it in")
                seed, given = row[args.trial] if args.trial else "1", row[args.score].strip()
                score, error = score_of(given) if given else (None, "no score")
                if error and given:
                    raise RunError(f"{where}: score {given!r:.60} is no number, true or false; correct it")
                rows.add(where, row[args.case], int(seed) if re.fullmatch(r"0|[1-9]\d{0,17}", seed, re.ASCII) else seed,
                         row[args.config], score, args.error and row[args.error].strip() or error, row)
        except csv.Error as error:
            raise RunError(f"{path}:{reader.line_num}: {error}; correct the quotes, or give --delimiter") from None


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "convert.py")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="inspect | lm-eval | promptfoo | csv")

    def verb(name: str, run: Callable[..., None], what: str) -> Callable[..., argparse.Action]:
        command = verbs.add_parser(name, help=what)
        command.set_defaults(command=run)
        command.add_argument("logs", nargs="+", metavar="FILE", help=what)
        command.add_argument("--cluster", metavar="FIELD", help="field (metadata, doc, variable, column) of the source")
        command.add_argument("--tag", action="append", metavar="FIELD", help="one to carry as a tag; may be repeated "
                             "(default: all metadata of Inspect and promptfoo, else none)")
        if name != "csv":
            command.add_argument("--config", metavar="NAME", help="the configuration's name, in place of the log's")
            command.add_argument("--no-hash", action="store_true", help="no input_sha256: inputs differ on purpose")
        return command.add_argument

    option = verb("inspect", cmd_inspect, "logs of Inspect, .eval or .json")
    option("--scorer", metavar="NAME", help="which score, where there are several")
    option("--unfinished", action="store_true", help="convert a log that lacks samples, as far as it goes")
    option = verb("lm-eval", cmd_lm_eval, "samples_*.jsonl, written with --log_samples")
    option("--metric", metavar="NAME", help="which metric, where there are several")
    option("--filter", metavar="NAME", help="which filter, where there are several")
    option("--seed", type=int, default=1, metavar="N", help="number of this run (default: %(default)s)")
    option = verb("promptfoo", cmd_promptfoo, "results as JSON")
    option("--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")
    option = verb("csv", cmd_csv, "tables with a line a trial")
    for name in ("case", "config", "score"):
        option(f"--{name}", required=True, metavar="COLUMN", help=f"column of the {name}")
    option("--trial", metavar="COLUMN", help="column of the trial's number (default: 1)")
    option("--error", metavar="COLUMN", help="column that says why a trial has no score")
    option("--delimiter", default=",", choices=(",", ";", "|", "tab"), help="default: a comma")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        rows = Rows(file, args)
        args.command(args, rows)
        rows.write()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
