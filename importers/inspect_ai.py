"""What did Inspect record? Its logs, .eval or .json, as rows: a row a sample and epoch.

    $ python3 convert.py inspect tests/data/convert/inspect-v2.eval 2>/dev/null | wc -l
    14

The samples of a log are read one by one. Where a dataset has no ids Inspect numbers its samples, and such a number only
says which sample of the dataset it is: the case is then named by what it asks; --id id takes the number.
"""

import argparse
import copy
import functools
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from core.files import TABLE, TEXT, WHOLE, RunError, check_fields, decode, open_input, parse_json, refusal
from core.kinds import describe
from core.texts import LARGEST, LENIENT, Json, head, opened
from core.trials import kept_text
from importers.rows import Rows, Sample, amount, choose, first_words, pick, score_of, table, versioned
from importers.unzstd import decompress

VERBS, WHAT = ("inspect",), "logs of Inspect, .eval or .json"
EXAMPLE = "v1=logs/old.eval v2=logs/new.eval --scorer match"
VERSIONS = (1, 2)  # `version` of a log; 2 since 2024
# What inspect_ai.scorer.value_to_float makes of text; what it cannot read counts 0 there, and is not scored here.
WORDS = {"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "no": 0}
WORDS_FOR: dict[type, str] = {str: "text", list: "lists", dict: "objects"}
MOST_BYTES = 2**28  # of one member of a zip
ZSTANDARD = 93  # a zip's number for the compression that newer versions of Inspect use


def options(option: Callable[..., Any]) -> None:
    option("--scorer", metavar="NAME", help="which score, where there are several")
    option("--unfinished", action="store_true", help="convert a log that lacks samples, as far as it goes")


def samples(path: str, args: argparse.Namespace, rows: Rows) -> Iterator[Sample]:
    entries = read_log(path)
    header = next(entries)[1]
    log = EvalLog(versioned(path, header.get("version"), VERSIONS, rows), header, args, rows)
    for place, sample in entries:
        yield log.sample(sample, f"{log.where}: {place}")
    log.check()


class EvalLog:
    """What the samples of a log have in common, and what was seen of them."""

    def __init__(self, where: str, header: dict[str, Any], args: argparse.Namespace, rows: Rows):
        self.where, self.header, self.args, self.rows, self.spec = where, header, args, rows, header["eval"]
        self.task = self.spec["task"] if len({task_of(path) for _, path in args.logs}) > 1 else None
        self.kinds: dict[str, set[str]] = {}  # of the values of each score
        self.count = 0

    def check(self) -> None:
        """Raise RunError where samples are missing, or where it is not known which score is meant."""
        where, scorer, status = self.where, self.args.scorer, self.header.get("status")
        planned = amount(table(self.header.get("results")).get("total_samples")) or 0
        if not self.count and pick(self.spec, "config.log_samples") is False:
            raise RunError(f"{where} holds no samples: log_samples was off; run it again with them")
        if self.count < planned or status != "success":
            state = f"{where}: status {status!r}, samples: {self.count}" + f" of {planned}" * (planned > 0)
            if not self.args.unfinished:
                raise RunError(f"{state}; finish the run with `inspect eval-retry`, or convert what is there with "
                               "--unfinished")
            self.rows.notes[state] = 0
        numbers = [name for name in self.kinds if "numbers" in self.kinds[name]]
        # Which words a score holds, and how to make numbers of them, is said with the rows.
        if "text" not in self.kinds.get(scorer, ()) and (scorer or len(numbers) > 1):
            choose("scorer", scorer, numbers, where, "".join(
                f"; {name} holds {' and '.join(sorted(kinds)) or 'nothing'}" for name, kinds in self.kinds.items()
                if name not in numbers))

    def sample(self, sample: Any, where: str) -> Sample:
        """Return the trial of a sample."""
        self.count += 1
        check_fields(sample, {}, where)
        sample = {"scores": {"score": sample["score"]} if sample.get("score") else {},  # version 1 has but one
                  "metadata": {}, **{key: sample[key] for key in sample if sample[key] is not None}}
        check_fields(sample, {"id": TEXT if isinstance(sample.get("id"), str) else WHOLE, "epoch": WHOLE,
                              "scores": TABLE, "metadata": TABLE}, where)
        value, details = self.score(sample["scores"], where)
        error = sample.get("error") and (table(sample["error"]).get("message") or sample["error"])
        if error and score_of(value, self.rows.words)[0] is not None:
            self.rows.notes["scored by Inspect in spite of an error: unscored here"] += 1
        if not error and (value is None or value != value):  # NaN
            why = details.get("reason") or details.get("explanation")
            error = why and f"not scored: {first_words(why)}"
        self.note_selection(sample, details)
        attached, output, metadata = table(sample.get("attachments")), table(sample.get("output")), sample["metadata"]
        asked = question(sample, attached)
        own = f"{self.task}/{sample['id']}" if self.task else sample["id"]
        if self.task and asked is not None:
            asked = f"{self.task}: {asked}"
        return Sample(
            where=where, case=own if isinstance(sample["id"], str) or asked is None else None,
            config=config_of(self.spec), seed=sample["epoch"], score=value,
            error=error or ("invalidated" if sample.get("invalidation") else None),
            asked=asked, graded=sample.get("target"), place=sample["id"],
            content=[metadata, sample.get("files"), sample.get("setup")],
            fields={"id": sample["id"], "task": self.spec["task"], "model": self.spec["model"], **metadata},
            usual=[*["task"] * bool(self.task), *metadata],
            output=text_of(output.get("completion", pick(output, "choices.0.message.content")), attached),
            explanation=details.get("explanation"),
            ts=sample.get("completed_at", sample.get("started_at")), measures=self.measures(sample))

    def score(self, scores: dict[str, Any], where: str) -> tuple[Any, dict[str, Any]]:
        """Return the value of the score that is meant, and the whole score."""
        values: dict[str, tuple[Any, dict[str, Any]]] = {}  # by name: "parts/a" for one of several of a scorer
        for name, item in scores.items():
            check_fields(item, {}, f"{where}: score {name!r}")
            parts = item.get("value")
            named = {f"{name}/{key}": parts[key] for key in parts} if isinstance(parts, dict) else {name: parts}
            values |= {key: (value, item) for key, value in named.items()}
        for name, (value, _) in values.items():
            kind = "numbers" if score_of(value, self.rows.words)[0] is not None else WORDS_FOR.get(type(value))
            self.kinds.setdefault(name, set()).update([kind] if kind else [])
        # A score that is not one number is listed under the scorer's own name.
        chosen = self.args.scorer or next((name for name in values if "numbers" in self.kinds[name]), "")
        return values.get(chosen) or values.get(chosen.rpartition("/")[0]) or next(
            iter(() if self.args.scorer else values.values()), (None, {}))

    def note_selection(self, sample: dict[str, Any], details: dict[str, Any]) -> None:
        """Note what was selected, or changed after the run: it may favour one side."""
        notes, ended = self.rows.notes, str(sample.get("completed_at", "9"))
        if sample.get("error_retries"):
            notes["tried again after an error: what counts is the last try"] += 1
        if limit := pick(sample, "limit.type"):
            notes[f"stopped by a limit ({limit}), and scored as it was then"] += 1
        if sample.get("invalidation"):
            notes["invalidated in Inspect: unscored here"] += 1
        if details.get("history") or any(pick(event, "event") == "score" and str(pick(event, "timestamp")) > ended
                                         for event in sample.get("events", ())):
            notes["scored or edited again after the run"] += 1

    def measures(self, sample: dict[str, Any]) -> dict[str, float | None]:
        """Return cost, time and tokens of the system; those of other models, as of a grader, are counted apart."""
        model, usage = self.spec["model"], table(sample.get("model_usage"))
        mine = usage.keys() if model.startswith("none/") else {model}  # none: the task names its models itself

        def spent(usages: list[Any]) -> list[float | None]:
            return [amount(*(pick(usage, key) for usage in usages)) for key in ("total_tokens", "total_cost")]

        graders = spent([item for role, item in table(sample.get("role_usage")).items()
                         if pick(self.spec, f"model_roles.{role}.model") == model])
        self.rows.count_other(f"{model}, as a grader", *graders)
        for name in usage.keys() - mine:
            self.rows.count_other(name, *spent([usage[name]]))
        own = spent([usage.get(name) for name in mine])
        tokens, cost_usd = (total and max(0, total - (other or 0)) for total, other in zip(own, graders, strict=True))
        return {"cost_usd": cost_usd, "latency_s": amount(sample.get("working_time", sample.get("total_time"))),
                "tokens": tokens}


def text_of(content: Any, attached: dict[str, Any]) -> str | None:
    """Return a message's content as text: text as it is, other parts as JSON, attached texts in their place."""
    if isinstance(content, str):
        return str(attached.get(content.removeprefix("attachment://"), content))
    if isinstance(content, list):
        return "\n".join(text_of(pick(part, "text"), attached) or str(kept_text(part)) for part in content)
    return None


def question(sample: dict[str, Any], attached: dict[str, Any]) -> str | None:
    """Return what a sample asks: text, or messages without the ids that each run makes anew; then its choices."""
    asked, choices = sample.get("input"), sample.get("choices")
    if isinstance(asked, list):
        texts = [(table(message).get("role"), text_of(table(message).get("content"), attached) or "")
                 for message in asked]
        alone = len(texts) == 1 and texts[0][0] == "user"
        asked = texts[0][1] if alone else "\n\n".join(f"{role}: {text}" for role, text in texts)
    return None if asked is None else "\n".join([str(text_of(asked, attached)), *(
        f"{chr(65 + i)}) {choice}" for i, choice in enumerate(choices if isinstance(choices, list) else ()))])


def config_of(spec: dict[str, Any]) -> str:
    """Return a log's own name for its configuration: the model, and what was passed to task and solver."""
    passed = {**table(spec.get("task_args_passed", spec.get("task_args"))), **table(spec.get("solver_args_passed")),
              **({"solver": spec["solver"]} if spec.get("solver") else {})}  # a solver put in the task's own place
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in passed.items()]
    return " ".join([spec["model"], *words])


@functools.cache
def task_of(path: str) -> str:
    return str(next(read_log(path))[1]["eval"]["task"])


def read_log(path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, header) of a log, then (place, sample) of each sample; the header fills up while a JSON log is read.

    Raises RunError where the file is no log of Inspect, or damaged.
    """
    try:
        open_input(path).close()
        entries = zip_entries(zipfile.ZipFile(path), path)
    except Exception:  # zipfile and what it calls have a dozen kinds of exception for bytes that are no zip
        entries = json_entries(path)
    header = next(entries)[1]
    if not isinstance(table(header).get("eval"), dict):
        raise refusal(path, "a log of Inspect", "give one, .eval or .json")
    check_fields(header["eval"], {"model": TEXT, "task": TEXT}, path)
    yield path, header
    yield from entries


def zip_entries(archive: zipfile.ZipFile, path: str) -> Iterator[tuple[str, Any]]:
    members = {info.filename: info for info in archive.infolist()}  # of one name the last counts, as for Inspect
    start = members.get("header.json") or members.get("_journal/start.json")  # a run that was killed has no header
    yield path, start and parse(archive, start)
    found: list[tuple[int, str, zipfile.ZipInfo]] = [
        (int(match[2]), match[1], info) for name, info in members.items()
        if (match := re.fullmatch(r"samples/(.*)_epoch_(\d{1,9})\.json", name, re.DOTALL))]
    found.sort(key=lambda item: (item[0], item[1].zfill(20) if item[1].isdecimal() else item[1]))
    for epoch, name, info in found:
        yield f"sample {name!r}, epoch {epoch}", parse(archive, info)


def json_entries(path: str) -> Iterator[tuple[str, Any]]:
    header: dict[str, Any] = {}
    number = 0
    with opened(path) as file:
        kind = describe(head(file), path)[0]
        if path.endswith(".eval") or head(file).startswith(b"PK"):
            try:  # again, since it may be packed with gzip
                archive = zipfile.ZipFile(io.BytesIO(file.buffer.read(LARGEST)))
                archive.filename = path
            except Exception:
                raise RunError(f"{path}: not a whole zip; copy the log again") from None
            yield from zip_entries(archive, path)
            return
        if kind not in ("a log of Inspect", "JSON of another kind", ""):
            raise refusal(path, "a log of Inspect", data=head(file))
        text = Json(file, path)
        if text.next() == "[" and kind == "a log of Inspect":
            raise RunError(f"{path} is a list of logs of Inspect; give each in a file of its own")
        for keys, value in text.pieces([("samples",)]):
            if keys == ("samples",) and value is not None:
                if not number:
                    yield path, header
                number += 1
                yield f"sample {str(table(value).get('id'))!r}, epoch {table(value).get('epoch')}", value
            elif keys:
                header[keys[0]] = value
    if not number:
        yield path, header


def parse(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    where = f"{archive.filename}: {info.filename}"
    return parse_json(decode(unzip(archive, info), where), where, LENIENT)


def unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes, of the length and checksum that the archive gives.

    Raises RunError for a damaged one, and for one that holds more than MOST_BYTES, whatever it says that it holds.
    """
    where = f"{archive.filename}: {info.filename}"
    if info.file_size > MOST_BYTES:
        raise RunError(f"{where}: {info.file_size} bytes, more than the {MOST_BYTES} that are read; copy the log again")
    try:
        if info.compress_type == ZSTANDARD and not getattr(zipfile, "zstd", None):  # before Python 3.14
            packed = copy.copy(info)
            packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
            del packed.CRC  # that of what is packed
            data = decompress(archive.read(packed), info.file_size)
        elif info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD):  # others have no bound
            with archive.open(info) as member:
                data = b"".join(iter(lambda: member.read(65536), b""))
        else:
            raise ValueError(f"compression {info.compress_type} is not known")
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ValueError("its length or checksum does not fit")
        return data
    except Exception as error:
        raise RunError(f"{where}: damaged ({first_words(error)}); copy the log again") from None
