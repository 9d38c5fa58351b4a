"""How is a text read that may be packed, in one of several encodings, or too long to be held?

    $ echo '{"a": 1, "b": [2, 3]}' > x.json
    $ python3 -c "from core import texts; print(list(texts.Json(open('x.json'), 'x.json').pieces([('b',)])))"
    [(('a',), 1), (('b',), 2), (('b',), 3)]

`opened` gives a text whose lines end at a newline alone, `Json` the values of a JSON text one by one.
"""

import contextlib
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TextIO

from core.files import MOST_BYTES, RunError, json_reason, open_input, refusal
from core.kinds import GZIP, HEAD, describe

CHUNK = 1 << 16  # characters that are read at once
LENIENT = json.JSONDecoder()  # reads NaN, which other tools write for "not scored"; it is never passed on
SPACE = re.compile(r"[ \t\r\n]*")
Keys = tuple[str, ...]  # of the objects around a value, the outermost first


def unpacked(data: bytes, path: str) -> bytes:
    """Return what a file's bytes hold where gzip packed them, else the bytes; raise RunError where they are damaged."""
    if not data.startswith(GZIP):
        return data
    with opened(path, data) as text:
        held = bytes(text.buffer.read(MOST_BYTES + 1))
    if len(held) > MOST_BYTES:
        raise RunError(f"{path} holds more than {MOST_BYTES} bytes; give it in parts")
    return held


@contextlib.contextmanager
def opened(path: str, data: bytes | None = None) -> Iterator[TextIO]:
    """Open a text file of UTF-8, UTF-16 or UTF-32, packed or not; raise RunError where it cannot be read.

    data: its bytes, where they were read before.
    """
    file: io.BufferedReader[Any]
    with open_input(path) if data is None else io.BufferedReader(io.BytesIO(data)) as file:  # once: it may be a pipe
        try:
            if file.peek(2)[:2] == GZIP:
                file = io.BufferedReader(gzip.GzipFile(fileobj=file), HEAD)
            with io.TextIOWrapper(file, json.detect_encoding(file.peek(4)[:4]), newline="\n") as text:
                yield text
        except UnicodeDecodeError as error:
            raise RunError(f"{path} holds bytes that are not {error.encoding}; save the file as UTF-8") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RunError(f"{path}: damaged ({error}); pack the file again") from None


def head(text: TextIO) -> bytes:
    """Return the first bytes of a text that was opened and not yet read."""
    return bytes(text.buffer.peek(HEAD))  # type: ignore[attr-defined]


@contextlib.contextmanager
def opened_as(path: str, kinds: Sequence[str], advice: str, advised: Collection[str] = ("",)
              ) -> Iterator[tuple[TextIO, str]]:
    """Open a file of one of these kinds, and say of which; raise RunError where it is of none, or cannot be read.

    That gives the advice for the kinds advised ("" is one that is not known), for others the command that reads them.
    """
    with opened(path) as file:
        kind = describe(head(file), path)[0]
        if kind not in kinds:
            error = refusal(path, kinds[0], advice if kind in advised else "", head(file))
            if kind == "JSON of another kind":
                for _ in Json(file, path).whole():  # it may be no JSON, which is said where that is seen
                    pass
            raise error
        yield file, kind


class Json:
    """A text of one JSON value, or of several one after the other, of which few are held at a time."""

    def __init__(self, file: TextIO, path: str, decoder: json.JSONDecoder = LENIENT):
        self.file, self.path, self.decoder = file, path, decoder
        self.text, self.at = "", 0  # a part of the file, and where in it the next value is looked for
        self.line, self.column = 1, 1  # of the first character of text
        self.met: dict[Keys, str] = {}  # of the keys inside, those that were there, and how their value began

    def where(self) -> str:
        return f"{self.path}:{self._place()[0]}"

    def _place(self) -> tuple[int, int]:
        """Return the line and column at which the next value is looked for."""
        lines = self.text.count("\n", 0, self.at)
        column = self.at - self.text.rfind("\n", 0, self.at) if lines else self.column + self.at
        return self.line + lines, column

    def _wrong(self, reason: str) -> RunError:
        return RunError(f"{self.where()}: {reason}; correct the file")

    def _not_json(self, reason: str) -> RunError:
        return self._wrong(f"not JSON at column {self._place()[1]} ({reason})")

    def _more(self) -> bool:
        """Read on, and forget what was passed; tell whether there was more."""
        chunk = self.file.read(max(CHUNK, len(self.text) - self.at))
        self.line, self.column = self._place()
        self.text, self.at = self.text[self.at:] + chunk, 0
        return bool(chunk)

    def next(self) -> str:
        """Return the character that the next value begins with, or an empty text at the end."""
        while True:
            self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or not self._more():
                return self.text[self.at:self.at + 1]

    def value(self) -> Any:
        """Return the next value; raise RunError where there is none."""
        self.next()
        while True:
            start = self.at  # which _more() moves
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # An error far from the end of what was read is no value that only breaks off there.
                if (error.msg.startswith("Unterminated") or error.pos > len(self.text) - 16) and self._more():
                    continue
                self.at += error.pos - start
                raise self._not_json(error.msg) from None
            except (ValueError, RecursionError) as error:
                raise self._wrong(json_reason(error)) from None
            if end < len(self.text) or not self._more():  # a number that ends there may go on
                self.at = end
                return value

    def _mark(self, marks: str) -> str:
        """Pass one of these marks and return it; raise RunError where none of them follows."""
        mark = self.next()
        if not mark or mark not in marks:
            raise self._not_json(f"no {' or '.join(marks)}")
        self.at += 1
        return mark

    def _elements(self, end: str) -> Iterator[None]:
        """Yield before each element of the list or object that begins here, which the caller reads; then pass it."""
        self.at += 1
        mark = self._mark(end) if self.next() == end else ","
        while mark == ",":
            yield
            mark = self._mark("," + end)

    def whole(self) -> Iterator[tuple[Keys, Any]]:
        """Yield ((), value) for the next value, or for each element where it is a list."""
        yield from self.pieces([()]) if self.next() == "[" else [((), self.value())]

    def pieces(self, inside: Collection[Keys], keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
        """Yield (keys, value) of all that the next value holds: of a list or object inside, each of its elements.

        Objects are entered where they are inside or hold what is; all other values come whole. The elements of a list
        come under its own keys.
        """
        mark = self.next()
        if keys in inside:
            self.met[keys] = mark
        if mark == "[" and keys in inside:
            for _ in self._elements("]"):
                yield keys, self.value()
        elif mark == "{" and any(entered[:len(keys)] == keys for entered in inside):
            names = set[str]()
            for _ in self._elements("}"):
                name = str(self.value())
                if name in names:
                    raise self._wrong(f"the key {name!r:.60} is duplicated in one object")
                names.add(name)
                self._mark(":")
                yield from self.pieces(inside, (*keys, name))
        else:
            yield keys, self.value()

    def rows(self, inside: Keys, about: dict[str, Any]) -> Iterator[Any]:
        """Yield each element of the list under these keys of the one object in the text; about gets all else it holds.

        What stands before the list is there with the first element. Raises RunError for a text of anything else.
        """
        if self.next() == "{":
            for keys, value in self.pieces([inside]):
                if keys == inside:
                    yield value
                else:
                    about[".".join(keys)] = value
        if self.next():
            raise RunError(f"{self.where()}: not one object; give a file for each")
