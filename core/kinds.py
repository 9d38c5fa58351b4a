"""What is this file, and which command reads it?

    $ python3 -c "from core import kinds; print(kinds.describe(open('cases-robustness.json', 'rb').read(), 'c.json'))"
    ('a case set', 'give it with --cases')

Decided by the first bytes alone, so that a file too long or too broken to be read is named as well. Reads no file.
"""

import contextlib
import json
import re
import shlex
import zlib
from collections.abc import Collection

HEAD = 1 << 16  # bytes that tell what a file is
GZIP = b"\x1f\x8b"  # how a packed file begins
OURS = ("a log", "a run record", "a comparison", "a case set", "a plain trial log", "JSON of another kind", "")

PROMPTFOO_HEADS = "Status,Score,Named Scores"  # of its CSV, for each system
PROMPTFOO_CSV = "write it again with promptfoo's --output results.json, and give that to convert.py promptfoo"
PROMPTFOO = "read it with python3 convert.py promptfoo {path} > trials.jsonl"
# What a file is by keys of its outermost object, the first in a list or on a line: keys, what it is, what reads it.
KNOWN_KEYS = (
    ("task_id config", "a plain trial log",
     "python3 compare.py CONFIG CONFIG --trials {path} compares two of its runs"),
    ("log_version", "a log", "python3 harness.py replay {path} --cases CASES.json --out RUN.json makes its run record"),
    ("manifest", "a run record", "python3 compare.py compares it with another, given --cases"),
    ("comparison_version", "a comparison", "python3 report.py {path} shows it"),
    ("testIdx promptIdx", "an output file of promptfoo, a result a line", PROMPTFOO),
    ("results evalId", "an output file of promptfoo", PROMPTFOO),
    ("eval status", "a log of Inspect", "read it with python3 convert.py inspect {path} > trials.jsonl"),
    ("eval_set_id tasks", "Inspect's list of a set of logs", "give the .eval files beside it to convert.py inspect"),
    ("doc_id", "samples of lm-eval", "read it with python3 convert.py lm-eval {path} > trials.jsonl"),
    ("results group_subtasks", "totals of lm-eval, which hold no samples",
     "run lm_eval with --log_samples, and give the samples_*.jsonl to convert.py lm-eval"),
    ("cases", "a case set", "give it with --cases"),
)
# Zip, Zstandard, bzip2, xz, Parquet, SQLite.
PACKED = (b"PK\3\4", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"PAR1", b"SQLite format 3")
TABLE_ADVICE = ("read it with python3 convert.py table NAME={path} --case COLUMN --score COLUMN > trials.jsonl, or "
                "make a case set of it with python3 convert.py cases")
BETWEEN = re.compile(r"[\s:,]*")  # a key and its value, and two of these
DECODER = json.JSONDecoder(strict=False)


def outermost_keys(text: str) -> list[str]:
    """Return the keys of the first object in a text that may break off, of those in a list the first one's.

    >>> outermost_keys('[{"a": {"b": 1}, "c": "d'), outermost_keys('{"a": 1}{"b": 2}')
    (['a', 'c'], ['a'])
    """
    parts, at = [], text.find("{") + 1  # a key, its value, the next key
    with contextlib.suppress(ValueError, RecursionError):  # at the end, or where it breaks off
        while at:
            part, at = DECODER.raw_decode(text, BETWEEN.match(text, at).end())  # type: ignore[union-attr]
            parts.append(part)
    return [str(key) for key in parts[::2]]


def by_keys(keys: Collection[str]) -> tuple[str, str]:
    """Return what an object with these keys is, and what reads it."""
    for needed, kind, advice in KNOWN_KEYS:
        if all(key in keys for key in needed.split()):
            return kind, advice
    if keys and next(iter(keys)).endswith((".eval", ".json")):
        return "Inspect's list of logs", "give the logs beside it to convert.py inspect"
    return "JSON of another kind", TABLE_ADVICE


def describe(data: bytes, path: str) -> tuple[str, str]:
    """Return what the first bytes of a file say it is, and what reads it; two empty texts where they do not say."""
    data = data[:HEAD]
    if data.startswith(GZIP):
        with contextlib.suppress(zlib.error):
            data = zlib.decompressobj(31).decompress(data, HEAD)
    text = data.decode(json.detect_encoding(data), "replace").lstrip("\ufeff \t\r\n")
    first_line = text.partition("\n")[0].rstrip("\r").replace("\t", ",")
    kind, advice = "", ""
    if path.endswith(".eval") or b"_journal/start.json" in data:
        kind, advice = by_keys(("eval", "status"))
    elif data.startswith(PACKED):
        kind, advice = "packed", "unpack it, or save it as CSV or JSONL"
    elif text.startswith(("{", "[")):
        kind, advice = by_keys(outermost_keys(text))
    elif first_line.startswith("version https://git-lfs"):
        kind, advice = "a pointer of Git LFS", "fetch the file that it stands for: git lfs pull"
    elif PROMPTFOO_HEADS in first_line:
        kind, advice = "promptfoo's CSV, in which an error is a score of 0", PROMPTFOO_CSV
    elif first_line.isprintable() and re.search("[,;|]", first_line):
        kind, advice = "a table", TABLE_ADVICE
    return kind, advice.replace("{path}", shlex.quote(path))
