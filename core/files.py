"""How is a file read so that nothing odd slips in, and written so that nothing is lost? And command-line behaviour.

    $ python3 -c "from core import files; print(files.parse_json('[1, 2]', 'here'), files.stream_of('/dev/stderr'))"
    [1, 2] 2

It is long, for files and streams fail in many ways, and every command meets all of them here and nowhere else.
Strict JSON in, whole files out, and the two errors that become one `error:` line and exit status 1; every other
exception is a bug and keeps its traceback.
"""

import argparse
import contextlib
import errno
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
import textwrap
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, get_args

from core import kinds

TOOL_VERSION = "2.0.0"
MOST_BYTES = 2_000_000_000  # of one input: a comparison of that much takes far more memory
PIECE = 2**20  # bytes that are read at once: read() sets aside all that it is asked for
TELL_S = 2.0  # a command that takes longer says on a terminal what it does
LOG_START = b'{"type": "header"'


class CaseError(Exception):
    """A case set is not what it must be."""


class RunError(Exception):
    """A run, a log, a record, a system or a file is not what it must be, or runs do not compare."""


# === Reading ===


@contextlib.contextmanager
def open_input(path: str) -> Iterator["io.BufferedReader[Any]"]:
    """Open a file for reading; raise RunError where it cannot be read, or is a device, which may have no end."""
    try:
        if stat.S_IFMT(os.stat(path).st_mode) in (stat.S_IFCHR, stat.S_IFBLK):
            raise OSError(errno.EINVAL, "it is a device")
        with io.BufferedReader(io.FileIO(path), kinds.HEAD) as file:
            yield file
    except OSError as error:
        raise RunError(f"cannot read {path or repr(path)}: {error.strerror}; give a file that can be read") from None


def read_bytes(path: str, size: int = MOST_BYTES) -> bytes:
    """Return a file's bytes, or its first `size`; raise RunError where it cannot be read, or has MOST_BYTES or more."""
    with open_input(path) as file:
        pieces = iter(lambda: file.read(PIECE), b"")
        data = b"".join(itertools.islice(pieces, size // PIECE + 1))[:size]
        if len(data) == MOST_BYTES:
            raise OSError(errno.EFBIG, f"it has {MOST_BYTES} bytes or more")
    return data


def decode(data: bytes, where: str) -> str:
    """Return the text of UTF-8, UTF-16 or UTF-32 bytes, a byte-order mark taken off; raise RunError for other bytes."""
    try:
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise RunError(f"{where}: {json_reason(error)}; save the file as UTF-8") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.60} is duplicated in one object")
    return value


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError(f"{literal:.30} is not a finite number")
    return value


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)


def parse_json(text: str | bytes, where: str, decoder: json.JSONDecoder = STRICT) -> Any:
    """Return the value of a JSON text; raise RunError, naming where and the place in it, for what is not strict JSON.

    Strict: no NaN or Infinity, no number beyond the largest float, no key twice in an object.
    """
    if isinstance(text, bytes):
        text = decode(text, where)
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{where}: {json_reason(error)}; correct the file") from None


def json_reason(error: Exception) -> str:
    """Return why a decoder refused a text, in words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not {error.encoding}"
    if isinstance(error, json.JSONDecodeError):
        place = f"at line {error.lineno} column {error.colno} ({error.msg})"
        return f"not JSON {place}" if error.doc.strip() else "not JSON, for it is empty"
    # Of _object or _finite above, or of int(), which takes no more than 4,300 digits.
    return "a whole number of thousands of digits" if str(error).startswith("Exceeds") else str(error)


def refusal(path: str, wanted: str, advice: str = "", data: bytes = b"",
            error: type[Exception] = RunError) -> Exception:
    """Return the error of a file that is not what was wanted: what it is, and the command that reads it, or the advice.

    The advice takes the place of the command for a file of this tool's own kinds, and for one whose kind is not known.
    """
    kind, reader = kinds.describe(data, path)
    return error(f"{path} is {kind + ', ' if kind else ''}not {wanted}; "
                 f"{advice if advice and kind in kinds.OURS else reader}")


def expect(kind: str, data: bytes, path: str, advice: str, error: type[Exception] = RunError) -> Any:
    """Return the JSON object in a file's bytes, of a log its header; raise error, with the advice, for another kind.

    What may have been meant, and is not JSON, is told as that.
    """
    if data.startswith(kinds.GZIP):
        raise error(f"{path} is packed with gzip, and {kind} is not read so; unpack it")
    found, value = kinds.describe(data, path)[0], None
    if found in (kind, "JSON of another kind", ""):
        text = decode(data, path)
        value = parse_json(text.partition("\n")[0] if found == "a log" else text, path)
    if found != kind:
        raise refusal(path, kind, advice, data, error)
    check_fields(value, {}, path, error)  # it may be a list of such
    return value


def json_line(value: Any) -> str:
    """Return a value as one line of JSON in plain ASCII, so that no reader can split or misread it."""
    try:
        return json.dumps(value, allow_nan=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise RunError(f"a value that JSON cannot hold: {error}; return text, finite numbers, lists, objects") from None


# === Outputs ===

# How a page or a Markdown report made before begins and ends.
_REPORTS = {"a page": rb"<!doctype html>\n<html lang=.*\n<footer><p>Made by report\.py .*</body>\n</html>\n",
            "a Markdown report": rb"### .*\n<sub>Made (by|from) [^\n]*</sub>\n(\nWhat does not fit [^\n]*\n)?"}


def stream_of(path: str) -> int | None:
    """Return the number of the stream that /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N names, or None."""
    match = re.fullmatch("(?:/dev|/proc/self)/fd/([0-9]+)", path)
    return int(match[1]) if match else {"/dev/stdout": 1, "/dev/stderr": 2}.get(path)


def check_outputs(outputs: Sequence[tuple[str, str | None]], inputs: Sequence[str] = (), manifest: Any = None) -> None:
    """Raise RunError unless each (kind, path) can be written: before the work, not after. A path None is no output.

    A file that exists is replaced only where it is empty or an earlier output of the same kind: "a comparison", "a run
    record", "a page" or "a Markdown report"; a run record only by one with the case set, task and system of manifest,
    where that is given. Nothing that is read, and nothing twice, is written.
    """
    taken: set[int | str] = {os.path.realpath(path) for path in inputs}
    for kind, path in outputs:
        if path is not None:
            stream = stream_of(path)
            target = os.path.realpath(path) if stream is None else stream
            reason = ("it is read as well, or named twice; name another file" if target in taken else
                      _why_no_stream(target) if isinstance(target, int) else _why_no_file(target, kind, manifest))
            if reason:
                raise RunError(f"cannot write {path or repr(path)}: {reason}")
            taken.add(target)


def _why_no_stream(number: int) -> str:
    """Return why a stream is not written, and what to do; "" where it can be."""
    printed = {1: sys.stdout, 2: sys.stderr}.get(number)  # one that was closed has the null device in its place
    is_open = os.path.exists(f"/dev/fd/{number}") and getattr(printed, "name", "") != os.devnull
    return "" if is_open else "there is no such stream; name one that is open"


def _why_no_file(path: str, kind: str, manifest: Any) -> str:
    """Return why an output of this kind is not written to a real path, and what to do; "" where it can be."""
    if os.path.isdir(path):
        return "it is a folder; name a file"
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
        return ""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return f"there is no folder {folder} that may be written to; make it, or name another"
    if not os.path.exists(path) or _is_earlier(data := read_bytes(path), path, kind, manifest):
        return ""
    alike = " of this case set, task and system" if manifest else ""
    return (f"it is {kinds.describe(data, path)[0] or 'a file of another kind'}, and only {kind}{alike} made before "
            "is replaced, a whole one; name another file")


def _is_earlier(data: bytes, path: str, kind: str, manifest: Any) -> bool:
    """Tell whether a file that an output would replace is empty, or an earlier output of its kind.

    Given a manifest, a run record is one only if it is of that log, or of that case set, task and system.
    """
    if not data or kind in _REPORTS:
        return not data or re.fullmatch(_REPORTS[kind], data, re.DOTALL) is not None
    with contextlib.suppress(RunError, TypeError, LookupError, AttributeError):  # it may hold anything
        value = expect(kind, data, path, "")
        if not manifest:
            return True
        manifests = value["manifest"], manifest
        what = [(each["case_set"], each["task"], each["system"] | {"mode": None}) for each in manifests]
        logs = [each.get("log") or each.get("shards") for each in manifests]
        return what[0] == what[1] or logs[0] == logs[1] is not None
    return False


def write(kind: str, path: str, text: str, manifest: Any = None) -> None:
    """Write a text file, or a stream, device or pipe; raise RunError where that fails or check_outputs refuses.

    No reader meets half a file: the text is written beside its place and renamed into it. What was there stays where
    that fails, and its mode stays in any case.
    """
    check_outputs([(kind, path)], (), manifest)
    stream, data = stream_of(path), text.encode("utf-8", "backslashreplace")
    try:
        if stream is None and (os.path.isfile(path) or not os.path.exists(path)):
            _replace(os.path.realpath(path), data)
            return
        for printed in (sys.stdout, sys.stderr):  # which comes before it
            printed.flush()
        with _Stream(path if stream is None else stream, "wb", closefd=stream is None) as device:
            device.write(data)
        if device.failure and not (stream in (1, 2) and isinstance(device.failure, BrokenPipeError)):  # its reader left
            raise device.failure
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}; free disk space or name another file") from None


def _replace(path: str, data: bytes) -> None:
    """Write a file beside its place and rename it into it."""
    beside = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.tmp")
    try:
        with open(beside, "xb") as file:  # new, and no link that somebody laid
            if os.path.exists(path):
                shutil.copymode(path, beside)
            _write_all(file.fileno(), data)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _write_all(descriptor: int, data: bytes | bytearray) -> None:
    """Write to a file, and wait until the disk has it: a disk that fills up takes a part, and refuses the next."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left):]
    os.fsync(descriptor)


def _sync_folder(path: str) -> None:
    """Wait until the disk knows the name of a file just made: else a crash may lose the file with all that it holds."""
    with contextlib.suppress(OSError):  # a folder that may be written but not read, or Windows
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


# === A file that only grows ===


class Appender:
    """A file of JSON lines that only grows, open and locked: whole lines, on the disk before append() returns.

    A lock that the kernel holds (flock) keeps a second writer out and dies with its process. `data` is what the file
    holds, in memory as well: what was recorded outlives a file that somebody removed, cut or wrote to.
    """

    def __init__(self, path: str, beginning: bytes, check: Callable[[bytes], int], fresh: bool = False,
                 mode: int = 0o666):
        """Open a file at its next line; raise RunError, the file untouched, where it is not of the kind that is wanted.

        beginning: how the first line begins. check takes all whole lines and returns how many bytes of them stay, or
        raises RunError. A last line that is whole but for its line end gets that; half a line is moved into PATH.torn.
        fresh: the file must not be there. mode: the permissions of a new file, less the umask.
        """
        self.path, self.data = path, bytearray()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (os.O_EXCL if fresh else 0)
        try:
            import fcntl  # here: only who locks a file needs it, and some systems have none
            self._file = os.open(path, flags, mode)
            try:
                if not stat.S_ISREG(os.fstat(self._file).st_mode):
                    raise OSError(errno.EINVAL, "it is not a file that keeps what is written to it")
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._begin(self.read(), beginning, check)
            except BaseException:
                self.close()
                raise
        except ImportError:
            raise RunError("no file can be locked here; record and collect on Linux or macOS") from None
        except OSError as error:
            reasons = {
                FileNotFoundError: "there is no such folder; make it, or name another file with --log",
                FileExistsError: "no log is overwritten; continue it with --resume, or name another with --log",
                BlockingIOError: "it is in use by another recorder or collector; wait for it, or stop it"}
            reason = reasons.get(type(error), f"{error.strerror}; name another file with --log")
            raise RunError(f"cannot write {error.filename or path or repr(path)}: {reason}") from None

    def _begin(self, content: bytes, beginning: bytes, check: Callable[[bytes], int]) -> None:
        """Take in the whole lines of a file, and end it at the last of them that check keeps."""
        line_end = content.rfind(b"\n") + 1
        lines, rest = content[:line_end], content[line_end:]
        with contextlib.suppress(RunError):
            if isinstance(parse_json(rest, ""), dict):
                lines, rest = content + b"\n", b""
        kept = check(lines)
        start = rest.lstrip(b"\t")
        if not lines and not start.startswith(beginning[:len(start)]):  # of whole lines check() says what they are
            raise RunError(f"{self.path} is not a log, and does not begin as one; name another file with --log")
        self.data += lines[:kept]
        if kept < len(content):
            self._move_aside(content[kept:])
        elif kept > len(content):
            _write_all(self._file, b"\n")
        _sync_folder(self.path)

    def _move_aside(self, torn: bytes) -> None:
        """Move the end of the file into PATH.torn, and say so."""
        torn_path = f"{self.path}.torn"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        with open(os.open(torn_path, flags, stat.S_IMODE(os.fstat(self._file).st_mode)), "wb") as file:
            _write_all(file.fileno(), torn.removesuffix(b"\n") + b"\n")
        _sync_folder(torn_path)
        self._take_back()  # only now: killed in between, it is aside twice, and never lost
        print_stderr(f"{self.path}: its last {len(torn)} bytes were not finished, and were moved into {torn_path}")

    def _take_back(self) -> None:
        """Cut from the file what `data` does not hold."""
        os.ftruncate(self._file, len(self.data))
        os.lseek(self._file, 0, os.SEEK_END)
        os.fsync(self._file)

    def read(self) -> bytes:
        """Return what the open file holds now."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            return file.read()

    def append(self, lines: bytes) -> None:
        """Write whole lines; raise OSError, the file as before, where the disk does not take them."""
        try:
            _write_all(self._file, lines)
            self.data += lines
        except BaseException:  # also an interruption
            with contextlib.suppress(OSError):
                self._take_back()
            raise

    def changed(self, throughout: bool = False) -> str:
        """Return what somebody else did to the file, "" for nothing; throughout: compare every byte, too."""
        opened, named = os.fstat(self._file), None
        with contextlib.suppress(OSError):  # asked once: between two questions it could be removed
            named = os.stat(self.path)
        if named is None or not os.path.samestat(opened, named):
            return "was removed or replaced"
        if opened.st_size != len(self.data) or throughout and self.read() != self.data:
            return "was cut or written to by somebody else"
        return ""

    def leave(self) -> None:
        """Go on in a new file that holds all of `data`, and name it in `path`; raise OSError where none can be made."""
        import fcntl
        try:
            file, path = self._saved(os.path.dirname(self.path) or ".")
        except OSError:  # the folder is gone, or full
            file, path = self._saved(None)
        fcntl.flock(file, fcntl.LOCK_EX)
        self.close()
        self._file, self.path = file, path
        _sync_folder(path)

    def _saved(self, folder: str | None) -> tuple[int, str]:
        """Return a new file that holds all of `data`, in a folder or None for a temporary one, and its path."""
        beginning = os.path.basename(self.path)[:50]  # a longer one would be too long with what is added
        file, path = tempfile.mkstemp(".saved", f"{beginning}.", folder)
        try:
            _write_all(file, self.data)
        except OSError:
            os.close(file)
            os.unlink(path)
            raise
        return file, path

    def close(self) -> None:
        os.close(self._file)


# === Connections ===


class Timed(io.RawIOBase):
    """The bytes that come on a connection until `deadline`, then TimeoutError.

    A socket's own timeout begins anew with every byte.
    """

    def __init__(self, connection: Any, seconds: float):  # a socket; its module takes a while to import
        self.connection, self.deadline = connection, time.monotonic() + seconds
        self.file = connection.makefile("rb", 0)  # the connection lives as long as this, whoever closes it before

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        left = self.deadline - time.monotonic()
        if left <= 0:  # also where bytes never stop coming
            raise TimeoutError
        self.connection.settimeout(left)
        return self.file.readinto(buffer)

    def close(self) -> None:
        self.file.close()
        super().close()


# === Fields ===

_WORDS = {str: "text", int: "a whole number", float: "a number", dict: "an object", list: "a list", type(None): "null"}


def check_fields(value: Any, fields: Mapping[str, Any], where: str, error: type[Exception] = RunError) -> None:
    """Raise error unless value is an object with these fields, each of the kind named beside it, or with its fields.

    A kind is a type of Python's, or a union of types; a field may be missing where None is one of them.
    """
    if not isinstance(value, dict):
        raise error(f"{where}: not an object; correct the file")
    for field, wanted in fields.items():
        item = value.get(field)
        if type(item) is wanted:  # most are, and are passed over soonest
            continue
        accepted = dict if isinstance(wanted, dict) else wanted
        if isinstance(item, bool) or not isinstance(item, accepted):
            words = " or ".join(_WORDS[kind] for kind in get_args(accepted) or (accepted,))
            reason = f"is {item!r:.60}, not {words}" if field in value else "is missing"
            raise error(f"{where}: {field} {reason}; correct the file")
        if isinstance(wanted, dict):
            check_fields(item, wanted, f"{where}: {field}", error)


# === Texts ===


def sha256_of(data: bytes | bytearray | str) -> str:
    """Return the sha256 of bytes, or of a text as UTF-8, half a character in it as an escape."""
    return hashlib.sha256(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data).hexdigest()


def text_of(value: object) -> str:
    """Return a text as it is, another value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def only_value(value: Any) -> Any:
    """Return what an object of a single field holds, another value as it is: so an input is sent, and shown.

    >>> only_value({"text": "Where is it?"}), only_value({"a": 1, "b": 2})
    ('Where is it?', {'a': 1, 'b': 2})
    """
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def clean(value: object, keep: str = "") -> str:
    """Return a value, JSON if it is no text, with whatever steers a screen or hides on it spelled out as an escape.

    Characters in `keep` stay, and so do the joiners that scripts and emoji need.

    >>> clean("a\\tb\\u202ec")
    'a\\\\tb\\\\u202ec'
    """
    text = text_of(value)
    if text.isprintable():
        return text
    keep += "\u200c\u200d"
    return "".join(char if char in keep or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
                   else char.encode("unicode_escape").decode() for char in text)


def line_of(text: str) -> str:
    """Return a text on one line, cleaned: no value in it can begin a line of its own."""
    return clean(" ".join(text.splitlines()))


# === Command-line behaviour ===


def print_stderr(text: str) -> None:
    """Print a line on stderr, cleaned."""
    print(line_of(text), file=sys.stderr)


class Stages:
    """The stages of a command, each told in a line of stderr once the command has taken TELL_S: on a terminal alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock, self.began = clock, clock()
        self.name = ""

    def enter(self, name: str) -> None:
        """Begin a stage, which has this name."""
        self.name = name
        self.tell()

    def tell(self) -> None:
        """Print the name of the stage, unless that was done or it is too early."""
        if self.name and self.clock() - self.began >= TELL_S and sys.stderr.isatty():
            print_stderr(f"{self.name} ...")
            self.name = ""


STAGES = Stages()  # of this process


class _Stream(io.FileIO):
    """The bytes under sys.stdout or sys.stderr, dropped after the first failure, so that no write or flush raises."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        left = memoryview(data)
        try:
            while left and not self.failure:
                left = left[super().write(left) or 0:]  # None: a pipe that does not block is full
        except OSError as error:
            hung_up = error.errno == errno.EIO and stat.S_ISCHR(os.fstat(self.fileno()).st_mode)  # a closed terminal
            self.failure = BrokenPipeError() if hung_up else error
        return len(data)


def _outlet(stream: Any) -> Any:
    """Return a stream that takes the place of sys.stdout or sys.stderr, None for one that was closed, and never raises.

    A character that the terminal cannot show is no reason to stop.
    """
    if stream is None:
        return open(os.devnull, "w")  # as long as the process
    buffer = getattr(stream, "buffer", None)
    if not isinstance(getattr(buffer, "raw", buffer), io.FileIO):  # one in memory, or a console of Windows
        return stream
    return io.TextIOWrapper(_Stream(stream.fileno(), "wb", closefd=False), stream.encoding, "backslashreplace",
                            line_buffering=stream.line_buffering, write_through=stream.write_through)


def _failed(reason: str) -> int:
    print_stderr(f"error: {reason}")
    return 1


def _status_of(main: Callable[[], int]) -> int:
    """Return a command's exit status, its own errors told; raise what is a bug."""
    try:
        os.getcwd()
    except OSError:
        return _failed("the working folder was removed; change to one that is there")
    try:
        return main()
    except _ParserExit as done:
        return int(done.code or 0)
    except SystemExit as error:  # of a grader or a system: its status is none of ours
        raise RuntimeError("what this command called wanted to exit") from error
    except (CaseError, RunError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        print_stderr("interrupted")
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return _failed(f"{error.strerror}; free disk space")


def run_command(main: Callable[[], int]) -> int:
    """Return a command's exit status, its own errors told as one `error:` line; bugs keep their traceback.

    Here every command ends. A reader of stdout or stderr that has gone changes no status; stdout that cannot be
    written for another reason gives 1, stderr none: Python's own last flush would give 120, or 1 where PYTHONUNBUFFERED
    is set, in place of the gate's status. SIGTERM, with which schedulers end a job, is taken as Ctrl-C.
    """
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout, sys.stderr = _outlet(sys.stdout), _outlet(sys.stderr)
    late = threading.Timer(TELL_S, STAGES.tell)  # a stage may begin before that time and last beyond it
    late.daemon = True  # the end of a command does not wait for it
    if sys.stderr.isatty():
        late.start()
    status = _status_of(main)
    late.cancel()
    sys.stdout.flush()
    failure = getattr(getattr(sys.stdout, "buffer", None), "failure", None)
    if failure and not isinstance(failure, ConnectionError) and status != 130:  # its reader may go
        status = _failed(f"cannot write the output: {failure.strerror}; free disk space")
    sys.stderr.flush()
    return status


class _ParserExit(SystemExit):
    """Argparse has printed its help, the version or bad usage."""


class _Parser(argparse.ArgumentParser):
    """A parser whose help holds an example, and whose messages are cleaned."""

    verbs: Any = None

    def __init__(self, what: str, example: str, **settings: Any):
        if example:
            example = f"\n\nexample:\n    {' '.join(example.split())}"
        super().__init__(description=textwrap.fill(what, 79) + example, allow_abbrev=False, **settings,
                         formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28))

    def verb(self, name: str, command: Any, what: str, example: str) -> argparse.ArgumentParser:
        """Add a verb and return its parser: args.command is `command` where it is given; the help holds the rest."""
        self.verbs = self.verbs or self.add_subparsers(dest="verb", required=True)
        added: _Parser = self.verbs.add_parser(name, help=what, what=what, example=example, epilog=self.epilog)
        added.set_defaults(command=command)
        return added

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:
            print_stderr(message)  # cleaned: it repeats what was given
        raise _ParserExit(status)

    def format_usage(self) -> str:
        """Return the usage without what may be left out: the help explains that line by line."""
        formatter = self.formatter_class(prog=f"{self.prog} [options]")
        formatter.add_usage(None, [action for action in self._actions if action.required], [])
        return formatter.format_help()

    def format_help(self) -> str:
        self.usage = self.format_usage().removeprefix("usage: ").strip()
        return super().format_help()


def command_parser(doc: str | None, prog: str) -> _Parser:
    """Return a parser that knows --version; its help holds a file's first line, first command and exit statuses.

    The whole of `doc`, a file's opening docstring, is longer than a screen.
    """
    doc = doc or ""  # python3 -OO keeps none
    example = re.search(r"^    \$ (.*(?:\\\n.*)*)", doc, re.MULTILINE)
    status = re.search(r"Exit status:.*?(?=\n\n|\Z)", doc, re.DOTALL)
    epilog = textwrap.fill(" ".join(status[0].split()), 79) if status else None
    parser = _Parser(doc.partition("\n\n")[0], example[1] if example else "", prog=prog, epilog=epilog)
    parser.add_argument("--version", action="version", version=f"%(prog)s {TOOL_VERSION}", help="print the version")
    return parser
