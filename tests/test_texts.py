"""Are texts read whole and in order, however they are packed, encoded and cut into chunks?

    $ python3 -m unittest tests.test_texts
"""

import gzip
import io
import json
import os
import tempfile
import threading
import unittest
from unittest import mock

from core import texts
from core.files import STRICT, RunError

VALUE = {"a": 1, "b": {"c": [1, 22, {"x": 'é"\n\\'}, []], "d": {}, "e": "f" * 50}, "g": [12, -13.5e3, True, None],
         "h": 7}


def pieces(text, inside, decoder=texts.LENIENT):
    reader = texts.Json(io.StringIO(text), "f", decoder)
    found = list(reader.pieces(inside))
    return found, reader.next()


class JsonTest(unittest.TestCase):
    def test_pieces_are_those_of_the_whole_value_whatever_the_chunks(self):
        expected = [(("a",), 1), *((("b", "c"), value) for value in VALUE["b"]["c"]), (("b", "d"), {}),
                    (("b", "e"), "f" * 50), (("g",), VALUE["g"]), (("h",), 7)]
        for chunk in (1, 2, 3, 7, 1000):
            with mock.patch.object(texts, "CHUNK", chunk):
                for indent in (None, 2):
                    text = json.dumps(VALUE, indent=indent, ensure_ascii=False)
                    self.assertEqual(pieces(text, [("b", "c")]), (expected, ""))
                    self.assertEqual(pieces(f" {text} ", []), ([((), VALUE)], ""))
                    self.assertEqual(pieces(text, [()])[0], [((key,), value) for key, value in VALUE.items()])
                    listed = json.dumps([1, 23, VALUE], indent=indent)
                    self.assertEqual(pieces(listed, [()])[0], [((), 1), ((), 23), ((), VALUE)])
        self.assertEqual(pieces("[]{}", [()]), ([], "{"))

    def test_values_one_after_the_other_know_their_lines(self):
        reader = texts.Json(io.StringIO('{"a": 1}\n\n[2,\n3]\n4'), "f")
        found = []
        while reader.next():
            found.append((reader.where(), reader.value()))
        self.assertEqual(found, [("f:1", {"a": 1}), ("f:3", [2, 3]), ("f:5", 4)])

    def test_what_is_no_json_is_refused_with_its_line(self):
        for text, reason in (('{"a": 1,,}', "f:1: not JSON"), ('{"a" 1}', "f:1: not JSON at column 6 (no :)"),
                             ("[1 2]", "(no , or ])"), ("[1,]", "f:1: not JSON at column 4 ("), ('{"a":1,}', "f:1"),
                             ('{"a":\n\nnope}', "f:3: not JSON at column 1 ("), ('{"a": "x', "Unterminated"),
                             ('{"a": [1,\n2', "f:2: not JSON at column 2 ("), ("[" * 100_000, "nested too deeply"),
                             ("9" * 5000, "a whole number of thousands of digits"), ("", "not JSON")):
            for inside in ([()], []):
                with self.subTest(text[:20]), self.assertRaises(RunError) as caught:
                    pieces(text, inside)
                self.assertIn(reason if inside else "f:", str(caught.exception))
        with self.assertRaisesRegex(RunError, "f:1: the key 'a' is duplicated in one object"):
            pieces('{"a": 1, "a": 2}', [], STRICT)

    def test_a_pipe_in_another_encoding_is_refused_and_read_once(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pipe = os.path.join(folder.name, "pipe")
        os.mkfifo(pipe)

        def send():
            with open(pipe, "wb") as file:
                file.write(b"a,b\n" * 30_000 + b"caf\xe9,1\n")

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        with self.assertRaisesRegex(RunError, "pipe holds bytes that are not utf-8; save the file"):
            with texts.opened(pipe) as text:
                text.read()
        sender.join(5)

    def test_a_second_value_that_is_no_json_is_refused_with_its_line(self):
        for chunk in (4, 1 << 16):
            with mock.patch.object(texts, "CHUNK", chunk):
                reader = texts.Json(io.StringIO('{"a":\n1}\nnot json\n'), "f")
                reader.value()
                self.assertRaisesRegex(RunError, "^f:3: not JSON at column 1 ", reader.value)
                reader = texts.Json(io.StringIO('{"a": 1, "bcdefghijk": 2, "l": nope'), "f")
                self.assertRaisesRegex(RunError, "^f:1: not JSON at column 32 ", lambda: list(reader.pieces([("x",)])))

    def test_no_more_is_held_than_a_value_takes(self):
        text = "[" + ", ".join(json.dumps({"n": n, "x": "y" * 1000}) for n in range(2000)) + "]"
        with mock.patch.object(texts, "CHUNK", 4096):
            reader = texts.Json(io.StringIO(text), "f")
            longest = 0
            for number, (_, value) in enumerate(reader.pieces([()])):
                self.assertEqual(value["n"], number)
                longest = max(longest, len(reader.text))
        self.assertLess(longest, 20_000)

    def test_an_error_in_the_middle_is_told_without_reading_on(self):
        text = '[{"a": nope}' + ", 1" * 1_000_000 + "]"
        with mock.patch.object(texts, "CHUNK", 4096):
            reader = texts.Json(io.StringIO(text), "f")
            with self.assertRaises(RunError):
                list(reader.pieces([()]))
        self.assertLess(len(reader.text), 10_000)


class OpenedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "f")

    def read(self, data):
        with open(self.path, "wb") as file:
            file.write(data)
        with texts.opened(self.path) as text:
            head = texts.head(text)
            return list(text), head

    def test_packed_or_not_and_in_any_encoding(self):
        plain = "é\u2028x\r\nline\n"
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"):
            for data in (plain.encode(encoding), gzip.compress(plain.encode(encoding)),
                         gzip.compress(plain.encode(encoding)[:8]) + gzip.compress(plain.encode(encoding)[8:])):
                lines, head = self.read(data)
                self.assertEqual((lines, head[:2]), (["é\u2028x\r\n", "line\n"], plain.encode(encoding)[:2]))

    def test_damage_is_one_error(self):
        packed = gzip.compress(b"x" * 1000)
        for data, reason in ((packed[:-5], "damaged"), (packed[:12] + b"\xff" + packed[13:], "damaged"),
                             (b"ok\n\xff\n", "holds bytes that are not utf-8"),
                             (gzip.compress(b"ok\n\xff\n"), "holds bytes that are not utf-8")):
            with self.assertRaisesRegex(RunError, reason):
                self.read(data)
        with self.assertRaisesRegex(RunError, "cannot read"), texts.opened(self.path + "x"):
            pass

    def test_what_is_held_whole_is_bounded(self):
        self.assertEqual(texts.unpacked(b"plain", "f"), b"plain")
        self.assertEqual(texts.unpacked(gzip.compress(b"x" * 100), "f"), b"x" * 100)
        with mock.patch.object(texts, "MOST_BYTES", 99), self.assertRaisesRegex(RunError, "f holds more than 99 bytes"):
            texts.unpacked(gzip.compress(b"x" * 100), "f")


if __name__ == "__main__":
    unittest.main()
