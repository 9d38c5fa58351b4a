"""What did Inspect record? Its logs, .eval or .json, as rows: a row a sample and epoch.

    $ python3 convert.py inspect tests/data/convert/inspect-v2.eval 2>/dev/null | wc -l
    14

The samples of a log are read one by one. Where a dataset has no ids Inspect numbers its samples, and such a number only
says which sample of the dataset it is: the case is then named by what it asks; --id id takes the number.
"""

import argparse
import copy
import gzip
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from core.files import MOST_BYTES, RunError, check_fields, parse_json, text_of
from core.texts import LENIENT, Json, head, opened_as
from core.trials import kept_text
from importers.rows import Rows, Sample, choose, dict_of, first_words, list_of, pick, score_of, total, versioned
from importers.unzstd import decompress

VERBS, WHAT = ("inspect",), "logs of Inspect, .eval or .json"
EXAMPLE = "v1=logs/old.eval v2=logs/new.eval --scorer match > trials.jsonl"
VERSIONS = (1, 2)  # `version` of a log; 2 since 2024
# What inspect_ai.scorer.value_to_float makes of text; what it cannot read counts 0 there, and is not scored here.
WORDS = {"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "no": 0}
NEEDED = {"id": str | int, "epoch": int, "scores": dict | None, "metadata": dict | None}  # of a sample
SAMPLE_FILE = re.compile(r"samples/(.*)_epoch_(\d{1,9})\.json", re.DOTALL)  # sample and epoch
MOST_HELD = 2**28  # of one member of a zip
ZSTANDARD = 93  # a zip's number for the compression that newer versions of Inspect use


def options(option: Callable[..., Any]) -> None:
    option("--scorer", metavar="NAME", help="which score, where there are several")
    option("--unfinished", action="store_true", help="convert a log that lacks samples, as far as it goes")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    entries = read_entries(path)
    header = next(entries)[1]
    where = versioned(path, header.get("version"), VERSIONS, rows)
    check_fields(header, {"eval": {"model": str, "task": str}}, where)
    rows.words = {**WORDS, **rows.words}  # --map comes first
    log = EvalLog(where, header, args, rows)
    for place, sample in entries:
        yield log.sample(sample, f"{log.where}: {place}")
    log.check()


class EvalLog:
    """What the samples of a log have in common, and what was seen of them."""

    def __init__(self, where: str, header: dict[str, Any], args: argparse.Namespace, rows: Rows):
        self.where, self.header, self.args, self.rows = where, header, args, rows
        self.spec = header["eval"]
        self.numbers: dict[str, bool] = {}  # of each score, whether a value was a number
        self.count = 0

    def check(self) -> None:
        """Raise RunError where samples are missing, or where it is not known which score is meant."""
        where, scorer, status = self.where, self.args.scorer, self.header.get("status")
        planned = total(pick(self.header, "results.total_samples")) or 0
        if not self.count and pick(self.spec, "config.log_samples") is False:
            raise RunError(f"{where} holds no samples: log_samples was off; run it again with them")
        if self.count < planned or status != "success":
            state = f"{where}: status {status!r}, samples: {self.count}" + (f" of {planned}" if planned else "")
            if not self.args.unfinished:
                raise RunError(f"{state}; finish it (`inspect eval-retry`), or convert what is there with --unfinished")
            self.rows.notes[state] = 0
        scored = [name for name, numbers in self.numbers.items() if numbers]
        if scorer or scored:  # what other values are is said with the rows
            choose("scorer", scorer, self.numbers if scorer else scored, where)

    def sample(self, sample: Any, where: str) -> Sample:
        """Return the trial of a sample."""
        self.count += 1
        check_fields(sample, NEEDED, where)
        sample = {key: value for key, value in sample.items() if value is not None}
        version_1 = {"score": sample["score"]} if "score" in sample else {}
        value, details = self.score(sample.get("scores", version_1), where)
        error = sample.get("error") and (pick(sample["error"], "message") or sample["error"])
        if not error and (value is None or value != value):  # NaN
            why = details.get("reason") or details.get("explanation")
            error = why and f"not scored: {first_words(why)}"
        if sample.get("invalidation"):
            error = error or "invalidated"
        self.note_selection(sample, details)
        attached, metadata = dict_of(sample.get("attachments")), dict_of(sample.get("metadata"))
        asked = question(sample, attached)
        answer = pick(sample, "output.completion", pick(sample, "output.choices.0.message.content"))
        return Sample(
            where=where, case=sample["id"] if isinstance(sample["id"], str) or asked is None else None,
            task=self.spec["task"], config=config_of(self.spec), seed=sample["epoch"], score=value, error=error,
            asked=asked, graded=sample.get("target"), place=sample["id"],
            content=[metadata, sample.get("files"), sample.get("setup")],
            fields={"id": sample["id"], "task": self.spec["task"], "model": self.spec["model"], **metadata},
            usual=metadata, output=content_text(answer, attached), explanation=details.get("explanation"),
            ts=sample.get("completed_at", sample.get("started_at")), measures=self.measures(sample))

    def score(self, scores: dict[str, Any], where: str) -> tuple[Any, dict[str, Any]]:
        """Return the value of the score that is meant, and the whole score."""
        values: dict[str, tuple[Any, dict[str, Any]]] = {}  # by name: "parts/a" for one of several of a scorer
        for scorer, details in scores.items():
            check_fields(details, {}, f"{where}: score {scorer!r}")
            value = details.get("value")
            parts = {f"{scorer}/{key}": value[key] for key in value} if isinstance(value, dict) else {scorer: value}
            values |= {name: (part, details) for name, part in parts.items()}
        for name, (part, _) in values.items():
            self.numbers[name] = self.numbers.get(name, False) or score_of(part, self.rows.words) is not None
        chosen = self.args.scorer or next((name for name in values if self.numbers[name]), next(iter(values), ""))
        # A score that is not one number is listed under the scorer's own name.
        return values.get(chosen) or values.get(chosen.rpartition("/")[0], (None, {}))

    def note_selection(self, sample: dict[str, Any], details: dict[str, Any]) -> None:
        """Note what was selected, or changed after the run: it may favour one side."""
        limit, ended = pick(sample, "limit.type"), str(sample.get("completed_at", "9"))
        scored_later = [event for event in list_of(sample.get("events"))
                        if pick(event, "event") == "score" and str(pick(event, "timestamp")) > ended]
        for reason, note in (
                (sample.get("error_retries"), "tried again after an error: what counts is the last try"),
                (limit, f"stopped by a limit ({limit}), and scored as it was then"),
                (sample.get("invalidation"), "invalidated in Inspect: unscored here"),
                (details.get("history") or scored_later, "scored or edited again after the run"),
                (sample.get("error") and details.get("value") is not None,
                 "failed, and scored by Inspect all the same: unscored here")):
            if reason:
                self.rows.notes[note] += 1

    def measures(self, sample: dict[str, Any]) -> dict[str, float | None]:
        """Return cost, time and tokens of the system, without those of other models or of a grader with its model."""
        model, usage = self.spec["model"], dict_of(sample.get("model_usage"))
        own = usage if model.startswith("none/") else {model: usage.get(model)}  # none: the task names its models
        graders = [item for role, item in dict_of(sample.get("role_usage")).items()
                   if pick(self.spec, f"model_roles.{role}.model") == model]
        others = [name for name in usage if name not in own]
        for name in others + [f"{model} as a grader"] * len(graders):
            self.rows.notes[f"not counted, since it is not the system's: tokens and cost of {name}"] += 1

        def spent(what: str) -> float | None:
            of_model, of_graders = (total(*(pick(item, what) for item in part)) for part in (own.values(), graders))
            return of_model and max(0, of_model - (of_graders or 0))

        return {"cost_usd": spent("total_cost"),
                "latency_s": total(sample.get("working_time", sample.get("total_time"))),
                "tokens": spent("total_tokens")}


def content_text(content: Any, attached: dict[str, Any]) -> str | None:
    """Return a message's content as text: text as it is, other parts as JSON, attached texts in their place."""
    if isinstance(content, str):
        return str(attached.get(content.removeprefix("attachment://"), content))
    if isinstance(content, list):
        return "\n".join(content_text(pick(part, "text"), attached) or str(kept_text(part)) for part in content)
    return None


def question(sample: dict[str, Any], attached: dict[str, Any]) -> str | None:
    """Return what a sample asks: text, or messages without the ids that each run makes anew; then its choices."""
    asked = sample.get("input")
    if asked is None:
        return None
    text = str(content_text(asked, attached))
    if isinstance(asked, list):
        texts = [(pick(message, "role"), content_text(pick(message, "content"), attached) or "") for message in asked]
        text = "\n\n".join(f"{role}: {content}" for role, content in texts).removeprefix("user: ")
    return "\n".join([text, *(f"{chr(65 + i)}) {choice}" for i, choice in enumerate(list_of(sample.get("choices"))))])


def config_of(spec: dict[str, Any]) -> str:
    """Return a log's own name for its configuration: the model, and what was passed to task and solver."""
    passed = {**dict_of(spec.get("task_args_passed", spec.get("task_args"))), **dict_of(spec.get("solver_args_passed"))}
    if spec.get("solver"):  # one put in the task's own place
        passed["solver"] = spec["solver"]
    return " ".join([spec["model"], *(f"{name}={text_of(value)}" for name, value in passed.items())])


def read_entries(path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, header) of a log, then (place, sample) of each sample; the header fills up while a JSON log is read.

    Raises RunError where the file is no log of Inspect, or damaged.
    """
    header: dict[str, Any] = {}
    with opened_as(path, ["a log of Inspect"], f"give {WHAT}") as (file, _):
        zipped = path.endswith(".eval") or head(file).startswith(b"PK")
        entries = zip_entries(path, file.buffer, header) if zipped else json_entries(Json(file, path), header)
        first = [*itertools.islice(entries, 1)]  # before it the header is read
        yield path, header
        yield from itertools.chain(first, entries)


def zip_entries(path: str, file: BinaryIO, header: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    try:
        # In a packed file going to and fro takes long, in a pipe it cannot be.
        packed = not file.seekable() or isinstance(getattr(file, "raw", None), gzip.GzipFile)
        archive = zipfile.ZipFile(io.BytesIO(file.read(MOST_BYTES)) if packed else file)
    except Exception:  # zipfile and what it calls have a dozen kinds of exception for bytes that are no zip
        raise RunError(f"{path}: not a whole zip; copy the log again") from None
    members = {info.filename: info for info in archive.infolist()}  # of one name the last counts, as for Inspect
    start = members.get("header.json") or members.get("_journal/start.json")  # a run that was killed has no header
    header.update(dict_of(start and parse(archive, start, path)))
    names = [match for name in members if (match := SAMPLE_FILE.fullmatch(name))]
    names.sort(key=lambda match: (int(match[2]), match[1].zfill(20) if match[1].isdecimal() else match[1]))
    for match in names:
        yield f"sample {match[1]!r}, epoch {int(match[2])}", parse(archive, members[match[0]], path)


def json_entries(text: Json, header: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for value in text.rows(("samples",), header):
        if value is not None:
            yield f"sample {str(pick(value, 'id'))!r}, epoch {pick(value, 'epoch')}", value


def parse(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> Any:
    where = f"{path}: {info.filename}"
    return parse_json(unzip(archive, info, where), where, LENIENT)


def unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> bytes:
    """Return a member's bytes, of the length and checksum that the archive gives.

    Raises RunError for a damaged one, and for one that holds more than MOST_HELD, whatever it says that it holds.
    """
    if info.file_size > MOST_HELD:
        raise RunError(f"{where}: {info.file_size} bytes, more than the {MOST_HELD} that are read; copy the log again")
    try:
        if info.compress_type == ZSTANDARD and not hasattr(zipfile, "zstd"):  # before Python 3.14
            packed = copy.copy(info)
            packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
            del packed.CRC  # that of what is packed
            data = decompress(archive.read(packed), info.file_size)
        elif info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD):  # others have no bound
            with archive.open(info) as member:
                data = member.read(info.file_size + 1)
        else:
            raise ValueError(f"compression {info.compress_type} is not known")
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError("its length or checksum does not fit")
        return data
    except Exception as error:
        raise RunError(f"{where}: damaged ({first_words(error) or 'cut off'}); copy the log again") from None
