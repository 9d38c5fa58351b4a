"""How is a file read so that nothing odd slips in, and written so that nothing is lost? And the manners of a command.

    $ python3 -c "import files; print(files.kind_of(files.read_json('runs/comparison.json')))"
    a comparison

Strict JSON in, whole files out, and the two errors that become one `error:` line and exit status 1; every other
exception is a bug and keeps its traceback. Imports nothing of ours.
"""

import argparse
import errno
import io
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

TOOL_VERSION = "1.0.0"
LOG_START = b'{"type": "header"'


class CaseError(Exception):
    """A case set is not what it must be."""


class RunError(Exception):
    """A run, a log, a record, a system or a file is not what it must be, or runs do not compare."""


# === Reading ===


def read_bytes(path: str) -> bytes:
    """Return a file's bytes; raise RunError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot read {path}: {reason}; give a file that can be read") from None


def decode(data: bytes, where: str) -> str:
    """Return the text of UTF-8, UTF-16 or UTF-32 bytes, a byte-order mark taken off; raise RunError for other bytes."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise RunError(f"{where}: byte {error.start} is not {encoding}; save the file as UTF-8") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {key!r:.60} stands twice in one object")
    return value


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError(f"{literal:.30} is not a finite number")
    return value


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)


def parse_json(text: str, where: str, decoder: json.JSONDecoder = STRICT) -> Any:
    """Return the value of a JSON text; raise RunError, naming where and the place in it, for what is not strict JSON.

    Strict: no NaN or Infinity, no number beyond the largest float, no key twice in an object.
    """
    if not text.strip("\0 \t\r\n"):
        raise RunError(f"{where}: {'only NUL bytes' if text.strip() else 'empty'}; give a JSON file")
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at line {error.lineno} column {error.colno} ({error.msg})"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:  # ours above, and int() of more than 4,300 digits
        reason = str(error) if not str(error).startswith("Exceeds") else "a whole number of thousands of digits"
    raise RunError(f"{where}: {reason}; correct the file")


# Files with a value a line: what their first line is, and what they are.
LINES = {"a log's header": "a log", "a row of a plain trial log": "a plain trial log"}


def kind_of(value: Any) -> str:
    """Return what a JSON value claims to be, in words: "a run record", "a comparison", "a case set" and so on."""
    if isinstance(value, dict):
        for key, kind in (("manifest", "a run record"), ("comparison_version", "a comparison"), ("cases", "a case set"),
                          ("log_version", "a log's header"), ("task_id", "a row of a plain trial log")):
            if key in value:
                return kind
    return "JSON of another kind"


def identify(data: bytes, path: str) -> tuple[str, Any]:
    """Return what a file's bytes are, in words, and their JSON value; of a log, with a value a line, that of line 1."""
    text = decode(data, path)
    try:
        value = parse_json(text.partition("\n")[0], path)
    except RunError:
        value = None
    if kind_of(value) in LINES:
        return LINES[kind_of(value)], value
    value = parse_json(text, path)
    return kind_of(value), value


def expect(kind: str, data: bytes, path: str, advice: str, error: type[Exception] = RunError) -> Any:
    """Return the JSON value of a file's bytes; raise error, with the advice, where it is of another kind."""
    found, value = identify(data, path)
    if found != kind:
        raise error(f"{path} is {found}, not {kind}; {advice}")
    return value


def read_json(path: str) -> Any:
    """Return the value of a JSON file; raise RunError where it is not one."""
    kind, value = identify(read_bytes(path), path)
    if kind in LINES.values():
        advice = "make its run record with harness.py replay" if kind == "a log" else "give it to compare.py --trials"
        raise RunError(f"{path} is {kind}; {advice}")
    return value


def json_line(value: Any) -> str:
    """Return a value as one line of JSON in plain ASCII, so that no reader can split or misread it."""
    try:
        return json.dumps(value, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RunError(f"a value that JSON cannot hold: {error}; "
                       "return text, finite numbers, lists and objects") from None


def check_folder(path: str, *inputs: str) -> None:
    """Raise RunError unless a file can be made at path, and is none of the inputs: before the work, not after it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RunError(f"cannot write {path}: there is no folder {os.path.dirname(path)}; make it first")
    if os.path.isdir(path):
        raise RunError(f"cannot write {path}: it is a folder; name a file")
    if any(os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name) for name in inputs):
        raise RunError(f"cannot write {path}: it is read as well; name another file")


def write(path: str, text: str) -> None:
    """Write a text file beside its place and rename it into it, so that no reader ever meets half a file.

    Raises RunError, and leaves what was there, where that fails, and where it is a log, which cannot be made again. A
    device or a pipe is written as it is.
    """
    check_folder(path)
    if path == "/dev/stdout":  # the stream itself: where it is a file, a second opening would start at its beginning
        sys.stdout.write(text)
        return
    data = text.encode("utf-8", "backslashreplace")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as device:
                device.write(data)
            return
        if os.path.exists(path):
            with open(path, "rb") as there:
                if there.read(len(LOG_START)) == LOG_START:
                    raise RunError(f"cannot write {path}: it is a log; name another file")
        target = os.path.realpath(path)
        beside = f"{target}.{os.getpid()}.tmp"
        try:
            with open(beside, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            if os.path.exists(beside):
                os.unlink(beside)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}; free the space or name another file") from None


TEXT, WHOLE, TABLE, LIST = str, int, dict, list
_WORDS = {TEXT: "text", WHOLE: "a whole number", TABLE: "an object", LIST: "a list"}


def check_fields(value: Any, fields: Mapping[str, type], where: str, error: type[Exception] = RunError) -> None:
    """Raise error unless value is an object with these fields, each of the kind named beside it."""
    if not isinstance(value, dict):
        raise error(f"{where}: not an object; correct the file")
    for field, kind in fields.items():
        if field not in value:
            raise error(f"{where}: {field} is missing; correct the file")
        if not isinstance(value[field], kind) or isinstance(value[field], bool):
            raise error(f"{where}: {field} is {value[field]!r:.60}, not {_WORDS[kind]}; correct the file")


# === The manners of a command ===


def run_command(main: Callable[[], int]) -> int:
    """Return a command's exit status, its own errors told as one `error:` line; bugs keep their traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    try:
        status = main()
        print(end="", flush=True)
        return status
    except (CaseError, RunError) as error:
        print("error:", *str(error).splitlines(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the exit flushes once more
        if error.errno == errno.ENOSPC:  # who reads a pipe may leave it; a full disk is told
            print(f"error: cannot write the output: {error.strerror}; free the space", file=sys.stderr)
        return 1


def command_parser(doc: str | None, prog: str) -> argparse.ArgumentParser:
    """Return a parser that shows a file's own opening as its help, and knows --version."""
    parser = argparse.ArgumentParser(prog=prog, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"%(prog)s {TOOL_VERSION}")
    return parser
