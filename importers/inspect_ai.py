"""What did Inspect record? Its logs, .eval or .json, as rows: a row a sample and epoch.

    $ python3 convert.py inspect tests/data/convert/inspect-v2.eval 2>/dev/null | wc -l
    14

The samples of a zip are read one by one; a JSON log is read whole.
"""

import argparse
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from core.files import TABLE, TEXT, WHOLE, RunError, check_fields, kind_of, open_input, read_bytes
from importers.rows import Rows, amount, choose, first_words, parse, score_of, table, versioned
from importers.unzstd import decompress

INSPECT_VERSIONS = (1, 2)  # `version` of a log; 2 since 2024
# What inspect_ai.scorer.value_to_float makes of text; what it cannot read counts 0 there, and is not scored here.
INSPECT_SCORES = {"C": 1, "P": 0.5, "I": 0, "N": 0, "yes": 1, "true": 1, "no": 0, "false": 0}
MOST_BYTES = 2**28  # of one member of a zip
ZSTANDARD = 93  # a zip's number for the compression that newer versions of Inspect use


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
        open_input(path).close()
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
    """Return a member's bytes, of the length and checksum that the archive gives.

    Raises RunError for a damaged one, and for one that holds more than MOST_BYTES, whatever it says that it holds.
    """
    where, data = f"{archive.filename}: {info.filename}", bytearray()
    if info.file_size <= MOST_BYTES:
        try:
            if info.compress_type == ZSTANDARD:
                with open(str(archive.filename), "rb") as file:
                    file.seek(info.header_offset + 26)  # past the member's own header, which names it once more
                    name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
                    file.seek(name + extra, os.SEEK_CUR)
                    data += decompress(file.read(info.compress_size), info.file_size)
            elif info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a bound
                with archive.open(info) as member:
                    while part := member.read(65536):
                        data += part
            if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
                raise ValueError("its length or checksum does not fit")
            return bytes(data)
        except Exception as error:
            raise RunError(f"{where}: damaged ({first_words(error)}); copy the log again") from None
    raise RunError(f"{where}: {info.file_size} bytes, more than the {MOST_BYTES} that are read; copy the log again")


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
