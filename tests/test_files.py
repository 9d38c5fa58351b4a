"""Is a file written whole or not at all, and does a command tell its errors and nothing else?"""

import contextlib
import io
import os
import stat
import sys
import unittest
from unittest import mock

from core import files
from core.files import CaseError, RunError
from harness import Unavailable
from tests.test_harness import FolderTest


class WriteTest(FolderTest):
    def mode(self, name):
        return stat.S_IMODE(os.stat(name).st_mode)

    def test_the_text_is_written_and_nothing_is_left_beside_it(self):
        before = set(os.listdir())
        files.write("new.txt", "caf\u00e9\n\ud800")
        self.assertEqual(self.load("new.txt"), b"caf\xc3\xa9\n\\ud800")
        self.assertEqual(set(os.listdir()) - before, {"new.txt"})

    def test_a_log_or_a_folder_is_not_written_however_it_is_spelled(self):
        os.symlink("log.jsonl", "link")
        os.symlink("nowhere/x", "astray")
        for path, says in (("log.jsonl", "it is a log"), ("log.jsonl/", "it is a log"), ("link", "it is a log"),
                           ("", "it is a folder"), ("./", "it is a folder"), ("astray", "there is no folder")):
            before = sorted(os.listdir()), self.load("log.jsonl")
            with self.subTest(path), self.assertRaisesRegex(RunError, says):
                files.write(path, "over it")
            self.assertEqual((sorted(os.listdir()), self.load("log.jsonl")), before)

    def test_permissions_follow_the_umask(self):
        self.addCleanup(os.umask, os.umask(0o027))
        files.write("new.txt", "x")
        self.assertEqual(self.mode("new.txt"), 0o640)
        os.umask(0o002)
        files.write("new.txt", "y")
        self.assertEqual(self.mode("new.txt"), 0o664)

    def test_a_symbolic_link_stays_one(self):
        os.mkdir("far")
        self.save("far/target.txt", "old")
        os.symlink("far/target.txt", "link.txt")
        os.symlink("far/nothing-yet.txt", "dangling.txt")
        for link in ("link.txt", "dangling.txt"):
            files.write(link, "new")
            self.assertTrue(os.path.islink(link))
        self.assertEqual(sorted(os.listdir("far")), ["nothing-yet.txt", "target.txt"])
        self.assertEqual([self.load(f"far/{name}") for name in os.listdir("far")], [b"new", b"new"])

    def test_a_write_that_fails_leaves_what_was_there(self):
        self.save("good.txt", "good")
        before = self.files()
        for step in ("fsync", "replace"):
            full = mock.patch.object(os, step, side_effect=OSError(28, "No space left on device"))
            with full, self.assertRaises(RunError) as caught:
                files.write("good.txt", "half")
            self.assertIn("cannot write good.txt: No space left on device", str(caught.exception))
            self.assertEqual(self.files(), before)
        with mock.patch.object(os, "fsync", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            files.write("good.txt", "half")
        self.assertEqual(self.files(), before)

    def test_no_reader_meets_half_a_file(self):
        self.save("good.txt", "good")
        seen = []
        with mock.patch.object(os, "fsync", side_effect=lambda descriptor: seen.append(self.load("good.txt"))):
            files.write("good.txt", "better")
        self.assertEqual((seen, self.load("good.txt")), ([b"good"], b"better"))

    def test_a_pipe_is_written_as_it_is(self):
        os.mkfifo("pipe")
        reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        files.write("pipe", "through")
        self.assertEqual(os.read(reader, 100), b"through")
        self.assertTrue(stat.S_ISFIFO(os.stat("pipe").st_mode))


class ManualTest(unittest.TestCase):
    """What the errors and exit statuses of every command rest on."""

    def command(self, main):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return files.run_command(main), said.getvalue()

    def test_our_errors_become_one_line_and_exit_1(self):
        for error in (RunError("x:1: odd;\nmend it"), CaseError("x:1: odd;\nmend it")):
            self.assertEqual(self.command(mock.Mock(side_effect=error)), (1, "error: x:1: odd; mend it\n"))

    def test_a_bug_keeps_its_traceback(self):
        for bug in (ValueError("bug"), OSError(5, "Input/output error"), Unavailable("busy")):
            with self.assertRaises(type(bug)):
                self.command(mock.Mock(side_effect=bug))

    def test_streams_that_are_closed_or_gone_stop_nothing(self):
        with mock.patch.object(sys, "stdout", None), mock.patch.object(sys, "stderr", None):
            self.assertEqual(files.run_command(lambda: files.write("/dev/stdout", "x") or sys.stderr.write("x")), 1)
            sys.stdout.close()
            sys.stderr.close()
        gone = mock.Mock(write=mock.Mock(side_effect=BrokenPipeError()))
        with contextlib.redirect_stderr(gone):
            self.assertEqual(files.run_command(mock.Mock(side_effect=KeyboardInterrupt)), 130)

    def test_interrupted_exits_130(self):
        self.assertEqual(self.command(mock.Mock(side_effect=KeyboardInterrupt))[0], 130)

    def test_a_status_is_passed_on(self):
        self.assertEqual(self.command(lambda: 3), (3, ""))


if __name__ == "__main__":
    unittest.main()
