"""What is this file, and which command reads it?

    $ python3 -c "from core import kinds; print(kinds.describe('tests/data/convert/scores.csv')[0])"
    a table

`describe` looks at a file's first bytes alone, so that a file too long or too broken to be read is told as well.
"""

import contextlib
import json
import re
import shlex
import zlib

from core.files import RunError, read_bytes
from core.texts import HEAD

CONVERT = "python3 convert.py {verb} {path} > trials.jsonl reads it"
# What a file is by how it begins: its first bytes; or keys of its outermost object, the first in a list or on a line.
MAGIC = ((b"PK\3\4", "a zip"), (b"\x28\xb5\x2f\xfd", "packed with Zstandard"), (b"BZh", "packed with bzip2"),
         (b"\xfd7zXZ", "packed with xz"), (b"PAR1", "a Parquet table"), (b"SQLite format 3", "a SQLite database"))
KEYS = (
    ("task_id config", "a plain trial log", "python3 compare.py CONFIG CONFIG --trials {path} compares two of its runs"),
    ("log_version", "a log", "python3 compare.py compares it with another, given --cases"),
    ("manifest", "a run record", "python3 compare.py compares it with another, given --cases"),
    ("comparison_version", "a comparison", "python3 report.py {path} shows it"),
    ("testIdx promptIdx", "an output file of promptfoo, a result a line", CONVERT.replace("{verb}", "promptfoo")),
    ("results evalId", "an output file of promptfoo", CONVERT.replace("{verb}", "promptfoo")),
    ("eval status", "a log of Inspect", CONVERT.replace("{verb}", "inspect")),
    ("eval_set_id tasks", "Inspect's list of a set of logs", "give the .eval files beside it to convert.py inspect"),
    ("doc_id", "samples of lm-eval", CONVERT.replace("{verb}", "lm-eval")),
    ("results group_subtasks", "totals of lm-eval, which hold no samples",
     "run lm_eval with --log_samples, and give the samples_*.jsonl to convert.py lm-eval"),
    ("cases name", "a case set", "give it with --cases"),
)
TABLE = "python3 convert.py table {path} --case COLUMN --score COLUMN > trials.jsonl reads its columns"
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


def outermost_keys(text: str) -> list[str]:
    """Return the keys of the first object in a text that may break off, of those in a list the first one's.

    >>> outermost_keys('[{"a": {"b": 1}, "c": "d'), outermost_keys('{"a": 1}{"b": 2}')
    (['a', 'c'], ['a'])
    """
    keys, depth = [], 0
    for token in TOKEN.finditer(text):
        mark = token[0][0]
        depth += (mark == "{" or mark == "[" and depth > 0) - (mark in "}]")
        if depth == 1 and token[2]:
            keys.append(token[1])
        elif depth < 1 and mark == "}":
            break
    return keys


def kind_of_bytes(data: bytes, path: str) -> tuple[str, str]:
    """Return what the first bytes of a file say it is, and what reads it; two empty texts where they do not say."""
    if path.endswith(".eval") or b"_journal/start.json" in data[:HEAD]:
        return "a log of Inspect", CONVERT.replace("{verb}", "inspect")
    for magic, kind in MAGIC:
        if data.startswith(magic):
            return kind, "unpack it, or save it as CSV or JSONL"
    text = data.decode(json.detect_encoding(data), "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(("{", "[")):
        line = text.partition("\n")[0]
        return ("a table", TABLE) if any(mark in line for mark in ",;\t|") and line.isprintable() else ("", "")
    keys = outermost_keys(text)
    for needed, kind, advice in KEYS:
        if not set(needed.split()) - set(keys):
            return kind, advice
    if keys and keys[0].endswith((".eval", ".json")):
        return "Inspect's list of logs", "give the logs beside it to convert.py inspect"
    return "JSON of another kind", TABLE


def describe(path: str, data: bytes | None = None) -> tuple[str, str]:
    """Return what a file is and which command reads it, in words; two empty texts where its first bytes do not say."""
    data = read_bytes(path, HEAD) if data is None else data[:HEAD]
    if data.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):
            data = zlib.decompressobj(31).decompress(data, HEAD)
    kind, advice = kind_of_bytes(data, path)
    return kind, advice.replace("{path}", shlex.quote(path))


def refusal(path: str, wanted: str, advice: str, data: bytes | None = None) -> RunError:
    """Return the error of a file that is not what was wanted: what it is and what reads it, else the advice."""
    kind, reader = describe(path, data)
    return RunError(f"{path} is {f'{kind}, ' * bool(kind)}not {wanted}; {reader or advice}")
