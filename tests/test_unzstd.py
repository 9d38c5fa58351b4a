"""Does the decoder give what the reference library packed, and nothing but an error for what is damaged?

tests/data/convert/frames.zst and SMALL were written by libzstd: together they use every kind of block, table and
literals but one repeated byte as literals.
"""

import contextlib
import os
import tempfile
import unittest
import zipfile
import zlib
from unittest import mock

from core.files import RunError
from importers import inspect_ai
from importers import unzstd

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "convert")

SMALL = {  # a code of one bit, the third of the offsets that a frame begins with, the last offset less one
    b"aaaaaaaaabaaaaaaaaaa": "28b52ffd006865000042010204e00f815100041000",
    b"kfdkkjckfckflckdkkjyzglcxglckdkjckfxckdxckdkyzckfckfyzckfckdkkkfjckfkfxglckfglckdk":
        "28b52ffd00688501006244090ae0e9bbb9375082076098f309b4f7457ff6f515cd377cd317f309cc048ae2f9a4af2f9e"
        "3d020051094fb30b05",
    b"dfblgahxdfblgahxcddfbahhyzddfblahhddfblijcxahhxlgahhhijcdahhfblgaxcddflgahhyzfblgahfblgahhxcddfyzahhahhhhxfblg"
    b"ahxlgahhdfblblgahijcddfbhxblgahhyzfblgahxgahhdfblgahyzlgahhyzahhyzblgahhhyzijcdyzcddfbfblga":
        "28b52ffd00680d030072040b0cd01d034f4c362bee0200e80a5018b4ba9a919fe53f3cac163e8c9cfd50980f29670fb3fa"
        "1034233914064d17a810a728b3d4761038c1c17a10382db76601db37852104f0fd1b08bbd1d05090958a22254e4a3e3c70132d83"
        "aa79743b1b"}


def noise(count, seed):
    """Return numbers that look random, the same for ever."""
    numbers = []
    for _ in range(count):
        seed = (1103515245 * seed + 12345) % 2**31
        numbers.append(seed >> 16)
    return numbers


def frames():
    """Return what each frame of frames.zst holds."""
    squares = " ".join(str(i * i) for i in range(400)).encode()
    mixed = b"".join(b"%d:%d;" % (i % 97, i * i % 1009) for i in range(360))
    fixed = b"".join(bytes(v % 256 for v in noise(4, i * 7919 + 1)) + b"0123456789abcdef" for i in range(40))
    return [b"a" * 300000 + b"b" * 10, squares, squares[:253], mixed, bytes(v % 5 for v in noise(300, 1)),
            b"0123456789abcdef?" + fixed]


class ZstandardTest(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(DATA, "frames.zst"), "rb") as file:
            self.packed = file.read()

    def test_frames_of_the_reference_library(self):
        content = b"".join(frames())
        self.assertEqual(unzstd.decompress(self.packed, len(content)), content)
        self.assertEqual(unzstd.decompress(b"", 0), b"")
        for content, packed in SMALL.items():
            self.assertEqual(unzstd.decompress(bytes.fromhex(packed), len(content)), content)

    def test_headers_by_hand(self):
        magic, block = bytes.fromhex("28b52ffd"), b"\x19\0\0abc"  # the last block, raw, of three bytes
        for head, length in ((0, 1), (32, 1), (64, 3), (96, 2), (128, 5), (160, 4), (192, 9), (224, 8)):
            for check in (0, 4):  # a checksum of four bytes follows
                frame = magic + bytes([head + check]) + b"\xff" * length + block + bytes(check)
                self.assertEqual(unzstd.decompress(frame * 2, 6), b"abcabc")
        for head in (33, 34, 35, 40):  # a dictionary, a reserved bit
            with self.assertRaisesRegex(ValueError, "no Zstandard frame"):
                unzstd.decompress(magic + bytes([head]) + b"\3" + block, 3)

    def test_damage_is_an_error_or_shows_in_the_content(self):
        packed, size = self.packed[40:], sum(map(len, frames()[1:]))
        for cut in range(1, len(packed), 61):
            with contextlib.suppress(ValueError, LookupError):
                self.assertLess(len(unzstd.decompress(packed[:cut], size)), size)
        for place in range(0, len(packed), 61):
            broken = bytearray(packed)
            broken[place] ^= 16
            with contextlib.suppress(ValueError, LookupError):
                unzstd.decompress(bytes(broken), size)

    def test_content_beyond_its_size_is_not_unpacked(self):
        for packed in (self.packed, self.packed[40:]):
            with self.assertRaises(ValueError):
                unzstd.decompress(packed, 1000)

    def test_tables_and_blocks_wider_than_any_are_refused_before_they_are_built(self):
        magic = bytes.fromhex("28b52ffd") + b"\x20\x80"
        # 128 weights of 15: a table of 2**22 entries
        literals = ((16 | 65 << 10) << 4 | 2).to_bytes(3, "little") + bytes([255] * 65)
        block = (len(literals) << 3 | 5).to_bytes(3, "little") + literals
        with self.assertRaisesRegex(ValueError, "too wide"):
            unzstd.decompress(magic + block, 10**9)
        # No literals, and a sequence whose literal lengths have a table of 2**20 states.
        block = bytes([0, 1, 2 << 6, 15, 0, 0, 0])
        with self.assertRaisesRegex(ValueError, "too wide"):
            unzstd.decompress(magic + (len(block) << 3 | 5).to_bytes(3, "little") + block, 10**9)
        # Three times a literal and 65,539 copies of it: tables of one entry each, and 16 extra bits a match.
        block = b"\x18aaa\3" + bytes([0x54, 1, 0, 52]) + bytes(6) + b"\1"
        with self.assertRaisesRegex(ValueError, "beyond its block"):
            unzstd.decompress(magic + (len(block) << 3 | 5).to_bytes(3, "little") + block, 10**9)
        block = block.replace(b"\3", b"\1", 1).replace(bytes(6), bytes(2))
        packed = magic + (len(block) << 3 | 5).to_bytes(3, "little") + block
        self.assertEqual(unzstd.decompress(packed, 10**9), b"a" * (1 + 65539 + 2))
        for kind in (0, 1, 3):
            with self.assertRaisesRegex(ValueError, "cut off|more than"):
                unzstd.decompress(magic + (200_000 << 3 | kind << 1).to_bytes(3, "little") + b"x", 100_000)

    def test_members_of_a_zip_are_bounded_by_what_they_hold(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = os.path.join(folder, "log.eval")
        for kind, claimed, says in ((zipfile.ZIP_DEFLATED, None, "2000 bytes, more than the 1000"),
                                    (zipfile.ZIP_DEFLATED, 500, "damaged"), (zipfile.ZIP_STORED, 500, "damaged"),
                                    (zipfile.ZIP_BZIP2, 500, "damaged"), (inspect_ai.ZSTANDARD, 500, "damaged")):
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.json", " " * 2000, kind if kind != inspect_ai.ZSTANDARD else zipfile.ZIP_STORED)
            with zipfile.ZipFile(path) as archive, mock.patch.object(inspect_ai, "MOST_HELD", 1000):
                [info] = archive.infolist()
                info.compress_type, info.file_size = kind, claimed or info.file_size
                with self.subTest(kind=kind, claimed=claimed), self.assertRaisesRegex(RunError, says):
                    inspect_ai.unzip(archive, info, "x")

    def test_what_is_no_frame_is_refused(self):
        for packed in (b"PK\3\4\0", b"\x50\x2a\x4d\x18\0\0\0\0"):
            with self.assertRaisesRegex(ValueError, "no Zstandard frame"):
                unzstd.decompress(packed, 1000)

    def test_members_of_a_zip_have_the_checksums_that_it_gives(self):
        with zipfile.ZipFile(os.path.join(DATA, "inspect-v2.eval")) as archive:
            packed = [info for info in archive.infolist() if info.compress_type == inspect_ai.ZSTANDARD]
            self.assertEqual([zlib.crc32(inspect_ai.unzip(archive, info, "x")) for info in packed],
                             [info.CRC for info in packed])
            self.assertGreater(len(packed), 10)


if __name__ == "__main__":
    unittest.main()
