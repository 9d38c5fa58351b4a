"""Is a file written whole or not at all, and does a command tell its errors and nothing else?"""

import ast
import concurrent.futures
import contextlib
import datetime
import doctest
import errno
import io
import itertools
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest
from unittest import mock

import compare
from core import files
from core.files import CaseError, RunError
from harness import Unavailable
from tests.test_harness import CASES, HERE, FolderTest, demo_log

ENTRIES = [name for name in sorted(os.listdir(HERE)) if name.endswith(".py")
           and "run_command" in files.read_bytes(os.path.join(HERE, name)).decode()]


OLD, NEW = ('{"comparison_version": "1"}\n', '{"comparison_version": "2"}\n')
RECORD = {"manifest": {"case_set": {"name": "c", "sha256": "1"}, "task": {"name": "t", "sha256": "2"},
                       "system": {"name": "s", "version": "1", "mode": "replay"}}, "summary": {}, "results": []}
PAGE = "<!doctype html>\n<html lang='en'>\n<footer><p>Made by report.py 1</p></footer>\n</body>\n</html>\n"
MARKDOWN = "### Better\n\nwords\n\n<sub>Made by report.py</sub>\n"
OLD_MARKDOWN = ["### Better: b against a\n\n<sub>Made from x</sub>\n" + end
                for end in ("", "\nWhat does not fit is out.\n")]


def write(path, text):
    files.write("a comparison", path, text)


class WriteTest(FolderTest):
    def mode(self, name):
        return stat.S_IMODE(os.stat(name).st_mode)

    def test_the_text_is_written_and_nothing_is_left_beside_it(self):
        before = set(os.listdir())
        write("new.txt", "caf\u00e9\n\ud800")
        self.assertEqual(self.load("new.txt"), b"caf\xc3\xa9\n\\ud800")
        self.assertEqual(set(os.listdir()) - before, {"new.txt"})

    def test_a_log_or_a_folder_is_not_written_however_it_is_spelled(self):
        os.symlink("log.jsonl", "link")
        os.symlink("nowhere/x", "astray")
        for path, says in (("log.jsonl", "it is a log"), ("log.jsonl/", "it is a log"), ("link", "it is a log"),
                           ("", "it is a folder"), ("./", "it is a folder"), ("astray", "there is no folder")):
            before = sorted(os.listdir()), self.load("log.jsonl")
            with self.subTest(path), self.assertRaisesRegex(RunError, says):
                write(path, "over it")
            self.assertEqual((sorted(os.listdir()), self.load("log.jsonl")), before)

    def test_a_new_file_follows_the_umask_and_a_replaced_one_keeps_its_mode(self):
        self.addCleanup(os.umask, os.umask(0o027))
        write("new.txt", OLD)
        self.assertEqual(self.mode("new.txt"), 0o640)
        for mode in (0o600, 0o664):
            os.chmod("new.txt", mode)
            write("new.txt", NEW)
            self.assertEqual(self.mode("new.txt"), mode)

    def test_a_symbolic_link_stays_one(self):
        os.mkdir("far")
        self.save("far/target.txt", OLD)
        os.symlink("far/target.txt", "link.txt")
        os.symlink("far/nothing-yet.txt", "dangling.txt")
        for link in ("link.txt", "dangling.txt"):
            write(link, NEW)
            self.assertTrue(os.path.islink(link))
        self.assertEqual(sorted(os.listdir("far")), ["nothing-yet.txt", "target.txt"])
        self.assertEqual([self.load(f"far/{name}").decode() for name in os.listdir("far")], [NEW, NEW])

    def test_a_write_that_fails_leaves_what_was_there(self):
        self.save("good.txt", OLD)
        before = self.files()
        for step in ("fsync", "replace"):
            full = mock.patch.object(os, step, side_effect=OSError(28, "No space left on device"))
            with full, self.assertRaises(RunError) as caught:
                write("good.txt", NEW)
            self.assertIn("cannot write good.txt: No space left on device", str(caught.exception))
            self.assertEqual(self.files(), before)
        with mock.patch.object(os, "fsync", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            write("good.txt", NEW)
        self.assertEqual(self.files(), before)

    def test_no_reader_meets_half_a_file(self):
        self.save("good.txt", OLD)
        seen = []
        with mock.patch.object(os, "fsync", side_effect=lambda descriptor: seen.append(self.load("good.txt"))):
            write("good.txt", NEW)
        self.assertEqual((seen, self.load("good.txt")), ([OLD.encode()], NEW.encode()))

    def test_what_a_killed_command_left_and_what_others_laid_there_does_no_harm(self):
        self.save("victim", "kept")
        real, laid = tempfile._get_candidate_names(), iter(("one", "two", "three"))
        self.save(".one.tmp", "left")
        os.symlink("victim", ".two.tmp")
        with mock.patch.object(tempfile, "_get_candidate_names", lambda: itertools.chain(laid, real)):
            write("new.txt", NEW)
        self.assertEqual((self.load("victim"), self.load(".one.tmp"), self.load("new.txt")),
                         (b"kept", b"left", NEW.encode()))

    def test_a_pipe_is_written_as_it_is(self):
        os.mkfifo("pipe")
        reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        write("pipe", "through")
        self.assertEqual(os.read(reader, 100), b"through")
        self.assertTrue(stat.S_ISFIFO(os.stat("pipe").st_mode))

    def test_a_pipe_without_a_reader_is_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        with self.assertRaisesRegex(RunError, f"cannot write /dev/fd/{writer}: Broken pipe"):
            write(f"/dev/fd/{writer}", "words")
        os.close(writer)

    def test_a_pipe_that_does_not_block_takes_all(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            read = pool.submit(lambda: b"".join(iter(lambda: os.read(reader, 65_536), b"")))
            write(f"/dev/fd/{writer}", "words" * 100_000)
            os.close(writer)
            self.assertEqual(read.result(10), b"words" * 100_000)
        os.close(reader)

    def test_streams_are_written_to_and_never_replaced(self):
        script = ("import os, sys; from core import files; os.chdir(sys.argv[1]); sys.exit(files.run_command("
                  "lambda: print('line') or files.write('a page', sys.argv[2], 'text\\n') or 0))")
        ways = "/dev/fd/3", "/proc/self/fd/3", "/dev/stderr", "/dev/fd/2", "/dev/stdout", "/dev/fd/1"
        for words, unbuffered in zip(ways, itertools.cycle((False, True))):
            self.save("out", "before\n")
            number = 3 if words.endswith("3") else 1 if words.endswith(("1", "out")) else 2
            done = python("-c", script, self.folder, words, unbuffered=unbuffered,
                          shell=f"exec {number}>>{self.folder}/out")
            with self.subTest(words):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.load("out"), b"before\n" + b"line\n" * (number == 1) + b"text\n")
        for words, closed in (("/dev/stdout", ">&-"), ("/dev/fd/1", ">&-"), ("/dev/stderr", "2>&-")):
            done = python("-c", script, self.folder, words, unbuffered=False, shell=f"exec {closed}")
            self.assertEqual(done.returncode, 1, words)
        for number in (987, 999_999_999, 99_999_999_999):
            with self.assertRaisesRegex(RunError, f"cannot write /dev/fd/{number}: "):
                files.check_outputs([("a text", f"/dev/fd/{number}")])
            with self.assertRaisesRegex(RunError, f"cannot write /dev/fd/{number}: "):
                write(f"/dev/fd/{number}", NEW)


class ReplaceTest(FolderTest):
    """A file that exists is replaced by an output of its own kind, and by nothing else."""

    def test_each_kind_replaces_its_own_and_nothing_else(self):
        records = [json.dumps({**RECORD, "manifest": {**RECORD["manifest"], what: {"name": "other", "sha256": "9"}}})
                   for what in ("case_set", "task", "system")]
        made = {"a comparison": OLD, "a run record": json.dumps(RECORD), "a page": PAGE, "a Markdown report": MARKDOWN}
        others = ("# a README\n", "<!doctype html>\n<html><title>mine</title></html>\n", MARKDOWN + "\nmy notes\n",
                  "my notes\n" + MARKDOWN, json.dumps(CASES),
                  '{"task_id": "c1", "seed": 0, "config": "a", "score": 1}\n', "{}", "[]", "\0\1\2", OLD + "x",
                  PAGE + "x", demo_log(), f"[{json.dumps(RECORD)}]", *records)
        for kind in made:
            for content in (*made.values(), *others, *OLD_MARKDOWN):
                with self.subTest(kind=kind, content=content[:40]):
                    self.save("there", content)
                    before = self.load("there")
                    like = RECORD["manifest"] if kind == "a run record" else None
                    if content == made[kind] or content in OLD_MARKDOWN and kind == "a Markdown report":
                        files.check_outputs([(kind, "there")], [], like)
                        files.write(kind, "there", "new", like)
                        self.assertEqual(self.load("there"), b"new")
                    else:
                        for refused in (lambda kind=kind, like=like: files.check_outputs([(kind, "there")], [], like),
                                        lambda kind=kind, like=like: files.write(kind, "there", "new", like)):
                            with self.assertRaisesRegex(RunError, "^cannot write there: it is .*; name another file"):
                                refused()
                        self.assertEqual(self.load("there"), before)

    def test_a_folder_that_may_not_be_written_to_is_told_before_the_work(self):
        with mock.patch.object(os, "access", lambda path, mode: False):
            with self.assertRaisesRegex(RunError, "that may be written to"):
                files.check_outputs([("a comparison", "new")])
            files.check_outputs([("a comparison", "/dev/null")])

    def test_an_empty_file_may_be_written(self):
        self.save("empty", "")
        write("empty", NEW)

    def test_a_run_record_of_another_system_is_named(self):
        self.save("run.json", json.dumps(RECORD))
        live = {**RECORD["manifest"], "system": {**RECORD["manifest"]["system"], "mode": "live"}}
        files.check_outputs([("a run record", "run.json")], [], live)
        live["system"]["version"] = "2"
        with self.assertRaisesRegex(RunError, "only a run record of this case set, task and system"):
            files.check_outputs([("a run record", "run.json")], [], live)

    def test_an_input_and_an_output_named_twice_are_refused(self):
        self.save("one", OLD)
        os.symlink("one", "soft")
        for other in ("one", "./one", "soft"):
            with self.subTest(other), self.assertRaisesRegex(RunError, "it is read as well"):
                files.check_outputs([("a comparison", other)], ["one"])
        os.symlink("new", "link")
        for one, other in (("new", "new"), ("new", "./new"), ("link", "new"), ("/dev/stdout", "/dev/fd/1")):
            with self.subTest(other), self.assertRaisesRegex(RunError, "or named twice; name another"):
                files.check_outputs([("a comparison", one), ("a page", None), ("a Markdown report", other)])


ENDS = """
import gc, json, os, sys, tempfile
import compare
from core import files

def main(what, text):
    print(text * 5000)
    files.print_stderr("note")
    if what == "usage":
        files.command_parser("a doc", "x").parse_args(["--nonsense"])
    if what == "help":
        files.command_parser("a doc", "x").parse_args(["--help"])
    if what == "refused":
        raise files.RunError("odd; mend it")
    if what == "interrupted":
        raise KeyboardInterrupt
    if what == "bug":
        raise ValueError("a bug")
    if what == "stderr named":
        files.write("a page", "/dev/stderr", text * 5000)
        return 4
    return int(what)

def opened(stream):
    if stream == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    if stream:
        return os.open(stream, os.O_WRONLY)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

found = []
gc.freeze()
for what, text, *streams in json.loads(sys.argv[1]):
    descriptors = [opened(stream) for stream in streams]
    process = os.fork()
    if not process:
        for number, descriptor in enumerate(descriptors, start=1):
            os.dup2(descriptor, number)
        sys.exit(files.run_command(lambda: main(what, text)))  # the whole end of an interpreter follows
    found.append([os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])])
    for stream, descriptor in zip(streams, descriptors):
        found[-1].append(None if stream else os.pread(descriptor, 100_000, 0).decode())
        os.close(descriptor)
print(json.dumps(found))
"""


def python(*command, unbuffered, shell=":", **options):
    """Return what a process of this Python did, with or without PYTHONUNBUFFERED, after a shell command in it."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    return subprocess.run(["/bin/sh", "-c", f'{shell}; exec "$@"', "sh", sys.executable, *command], check=False,
                          text=True, timeout=30, cwd=HERE, env=environment,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options)


def both_at_once(work, values):
    """Return work(value) of each value, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, values))


class EndTest(unittest.TestCase):
    """The exit status of a whole process, whatever its streams are and whether Python buffers them or not."""

    def ends(self, *runs):
        """Return [status, stdout, stderr] of each (what, text, stdout, stderr), in both modes; a stream may be a path,
        "gone" for a pipe without a reader, or None."""
        found = []
        for done in both_at_once(lambda unbuffered: python("-W", "error", "-c", ENDS, json.dumps(runs),
                                                           unbuffered=unbuffered), (False, True)):
            self.assertEqual(done.stderr, "")
            found += zip(runs, json.loads(done.stdout))
        return found

    def test_a_reader_that_has_gone_and_a_stderr_that_is_full_change_no_status(self):
        expected = {"0": 0, "3": 3, "4": 4, "usage": 2, "help": 0, "refused": 1, "bug": 1, "interrupted": 130}
        streams = [("gone", None), (None, "gone"), (None, "/dev/full"), ("gone", "gone"), ("gone", "/dev/full")]
        texts = itertools.cycle(("", "many words ", ""))
        for run, (status, _, stderr) in self.ends(*(
                (what, next(texts), *pair) for what in expected for pair in streams)):
            with self.subTest(run):
                self.assertEqual(status, expected[run[0]])
                for word in ("Broken pipe", "Exception ignored", "cannot write"):
                    self.assertNotIn(word, stderr or "")

    def test_a_stdout_that_cannot_be_written_is_told_and_gives_1(self):
        for run, (status, _, stderr) in self.ends(*((what, text, "/dev/full", stderr) for what in (
                "0", "4", "help", "refused", "interrupted") for text, stderr in (("", None), ("words ", "/dev/full")))):
            with self.subTest(run):
                self.assertEqual(status, 130 if run[0] == "interrupted" else 1)
                if stderr is not None:
                    self.assertEqual(stderr.count("error: cannot write the output: No space left on device"),
                                     run[0] != "interrupted")

    def test_sigterm_that_is_ignored_stays_ignored(self):
        code = ("import signal; from core import files; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
                "files.run_command(lambda: 0); print(signal.getsignal(signal.SIGTERM) == signal.SIG_IGN)")
        self.assertEqual(python("-c", code, unbuffered=False).stdout, "True\n")

    def test_a_terminal_that_was_closed_is_a_reader_that_has_gone(self):
        screen, terminal = os.openpty()
        os.close(screen)
        done = python("plan.py", "--version", unbuffered=False, stdout=terminal)
        os.close(terminal)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_stderr_that_is_named_as_an_output_and_is_full_gives_1(self):
        for stderr, status in (("/dev/full", 1), ("gone", 4)):
            for _, found in self.ends(("stderr named", "many words ", None, stderr)):
                self.assertEqual(found[0], status)

    def test_streams_that_were_closed_are_as_if_nobody_read_them(self):
        ways = "exec >&-", "exec 2>&-", "exec >&- 2>&-", "exec <&- >&- 2>&-"
        runs = [(closed, unbuffered, *option) for closed, unbuffered in zip(ways, itertools.cycle((False, True)))
                for option in (("--version", 0), ("--nonsense", 2))]
        for (_, _, _, status), done in zip(runs, both_at_once(
                lambda run: python("plan.py", run[2], unbuffered=run[1], shell=run[0]), runs)):
            self.assertEqual(done.returncode, status, done)

    def test_each_command_ends_there(self):
        with open("/dev/full", "w") as full:
            ends = both_at_once(lambda run: python(run[0], "--nonsense", unbuffered=run[1], stderr=full).returncode,
                                zip(ENTRIES, itertools.cycle((False, True))))
        self.assertEqual(ends, [2] * len(ENTRIES))

    def test_a_working_folder_that_was_removed_is_one_error_line(self):
        done = python(os.path.join(HERE, "harness.py"), "check", "x", unbuffered=False,
                      shell="cd $(mktemp -d) && rmdir $PWD")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Aerror: the working folder was removed; [^\n]*\n\Z")

    def test_where_no_file_can_be_locked_only_recording_and_collecting_need_another_system(self):
        no_lock = "import os, runpy, sys; sys.modules['fcntl'] = None; sys.argv = sys.argv[1:]; "
        done = python("-c", no_lock + "import compare, convert, harness, measure, plan, report; "
                      "report.main(['runs/comparison.json']); harness.main(['check', 'cases-robustness.json'])",
                      unbuffered=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        folder = self.enterContext(tempfile.TemporaryDirectory())
        log = os.path.join(folder, "log.jsonl")
        for command in (("collector.py", "--port", "0", "--log", log),
                        ("bench.py", "--cases", "cases-robustness.json", "--system", "triage_task:rules",
                         "--log", log, "--out", log + ".json")):
            done = python("-c", no_lock + "runpy.run_path(sys.argv[0], run_name='__main__')", *command,
                          unbuffered=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"\Aerror: .*on Linux or macOS\n\Z")
        self.assertEqual(os.listdir(folder), [])

    def test_an_old_python_is_told_which_one_is_needed(self):
        ours = [os.path.splitext(name)[0] for name in os.listdir(HERE)]  # none of them is imported yet
        modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] not in ours}
        for name in (os.path.join("core", "__init__.py"), *ENTRIES):
            with self.subTest(name), open(os.path.join(HERE, name), encoding="utf-8") as file:
                text = file.read()
                ast.parse(text, name, feature_version=(3, 6))  # to be told, it must be read
                with (mock.patch.object(sys, "version_info", (3, 10, 9)), mock.patch.object(datetime, "UTC"),
                      mock.patch.dict(sys.modules, modules, clear=True), self.assertRaises(SystemExit) as told):
                    del datetime.UTC  # which that Python lacks
                    exec(compile(text, name, "exec"), {"__name__": "__main__", "__file__": os.path.join(HERE, name)})
                self.assertRegex(told.exception.code, r"\Aerror: this is Python .*; .* Python 3\.11 or later\Z")


class ReadTest(FolderTest):
    def test_what_has_no_end_is_refused(self):
        for path in ("/dev/zero", "/dev/full"):
            with self.assertRaisesRegex(RunError, f"cannot read {path}: it is a device; give a file"):
                files.read_bytes(path)
        with mock.patch.object(files, "MOST_BYTES", 5), self.assertRaisesRegex(RunError, "it has 5 bytes or more"):
            files.read_bytes("cases.json", 5)

    def test_no_more_memory_is_set_aside_than_a_file_has(self):
        path = os.path.join(tempfile.mkdtemp(dir=self.enterContext(tempfile.TemporaryDirectory())), "f")
        for size in (0, 1, 100_000):
            with open(path, "wb") as file:
                file.write(b"x" * size)
            tracemalloc.start()
            data = files.read_bytes(path)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            self.assertEqual(len(data), size)
            self.assertLess(peak, 10_000_000)
        self.assertEqual(files.read_bytes(path, 7), b"x" * 7)

    def test_a_pipe_is_read(self):
        reader, writer = os.pipe()
        os.write(writer, b"through")
        os.close(writer)
        self.assertEqual(files.read_bytes(f"/dev/fd/{reader}"), b"through")
        os.close(reader)


class AppenderTest(FolderTest):
    def test_a_file_that_is_removed_while_it_is_looked_at_was_removed(self):
        log = files.Appender("log.jsonl", b"{", len)
        self.addCleanup(log.close)
        self.assertEqual(log.changed(), "")
        os.unlink("log.jsonl")
        with mock.patch("os.path.exists", return_value=True):  # as it was a moment before
            self.assertEqual(log.changed(), "was removed or replaced")

    def test_what_could_not_be_written_whole_is_taken_back(self):
        log = files.Appender("new.jsonl", b"{", len)
        self.addCleanup(log.close)
        log.append(b'{"a": 1}\n')
        for reason in (OSError(28, "No space left on device"), KeyboardInterrupt()):
            with mock.patch.object(os, "fsync", side_effect=[reason, None]), self.assertRaises(type(reason)):
                log.append(b'{"b": 2}\n')
            self.assertEqual((log.read(), log.changed()), (b'{"a": 1}\n', ""))
        log.append(b'{"c": 3}\n')
        self.assertEqual(log.read(), b'{"a": 1}\n{"c": 3}\n')


class CleanTest(unittest.TestCase):
    def test_nothing_steers_a_terminal_or_begins_a_line(self):
        odd = "\x1b[31m \x9b2J \u202e \u2066 \r \n error: x \u2028 \x85 \x00 \x7f \ud800 \xad \U000e0041 \x08"
        shown = files.line_of(odd)
        self.assertTrue(shown.isprintable(), shown)
        self.assertEqual(files.clean("caf\u00e9 \u65e5\u672c \U0001f469\u200d\U0001f52c"),
                         "caf\u00e9 \u65e5\u672c \U0001f469\u200d\U0001f52c")

    def test_what_is_told_an_error_and_a_usage_error_stand_on_lines_of_their_own(self):
        odd = "x\nerror: forged\x1b[2J\u202e"
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            files.print_stderr(odd)
            files.run_command(mock.Mock(side_effect=RunError(odd)))
            files.run_command(lambda: files.command_parser("", "x").parse_args([odd]))
        lines = said.getvalue().splitlines()
        self.assertEqual(len(lines), 4, lines)  # one of them the usage
        self.assertFalse([line for line in lines if line.startswith("error: forged") or not line.isprintable()])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class StagesTest(unittest.TestCase):
    def told(self, stderr):
        """Return what stderr got of a command whose third stage begins after two seconds and lasts."""
        now = [100.0]
        with contextlib.redirect_stderr(stderr):
            stages = files.Stages(lambda: now[0])
            for seconds, step in ((0, lambda: stages.enter("one")), (1.9, lambda: stages.enter("two")),
                                  (0.2, stages.tell), (5, stages.tell), (1, lambda: stages.enter("three"))):
                now[0] += seconds
                step()
        return stderr.getvalue()

    def test_stages_are_told_once_each_from_two_seconds_on_and_on_a_terminal_alone(self):
        self.assertEqual(self.told(Terminal()), "two ...\nthree ...\n")
        self.assertEqual(self.told(io.StringIO()), "")

    def test_a_comparison_tells_its_stages(self):
        class Rushed(files.Stages):
            def __init__(self):
                super().__init__(itertools.count(0, 3).__next__)
        log = "".join(json.dumps({"task_id": "c", "seed": 0, "config": config, "score": 1}) + "\n" for config in "ab")
        with (tempfile.TemporaryDirectory() as folder, mock.patch.object(files, "STAGES", Rushed()),
              contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(Terminal()) as stderr):
            path = os.path.join(folder, "t.jsonl")
            files.write("a page", path, log)
            self.assertEqual(compare.main(["a", "b", "--trials", path, "--html", os.path.join(folder, "p.html")]), 0)
        self.assertTrue(stderr.getvalue().startswith(
            "reading the runs ...\ncomputing the figures ...\nwriting the reports ...\nverdict: "), stderr.getvalue())


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
        for bug in (ValueError("bug"), OSError(5, "Input/output error"), BrokenPipeError(32, "x"), Unavailable("busy")):
            with self.assertRaises(type(bug)):
                self.command(mock.Mock(side_effect=bug))

    def test_an_exit_of_what_a_command_calls_is_not_its_own(self):
        for code in (0, None, 3, "text"):
            with self.assertRaises(RuntimeError):
                self.command(mock.Mock(side_effect=SystemExit(code)))

    def test_a_full_disk_is_an_error_line(self):
        full = mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        self.assertEqual(self.command(full), (1, "error: No space left on device; free disk space\n"))

    def test_interrupted_exits_130(self):
        self.assertEqual(self.command(mock.Mock(side_effect=KeyboardInterrupt))[0], 130)

    def test_a_status_is_passed_on(self):
        self.assertEqual(self.command(lambda: 3), (3, ""))

    def test_a_pipe_that_does_not_block_gets_everything(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        got = []

        def read():
            with os.fdopen(reader, "rb") as pipe:
                got.append(pipe.read())

        thread = threading.Thread(target=read)
        with os.fdopen(writer, "w") as pipe, mock.patch.object(sys, "stdout", pipe):
            thread.start()
            files.run_command(lambda: print("x" * 300_000) or 0)
            pipe.close()
            thread.join()
        self.assertEqual(len(got[0]), 300_001)


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(files))
    return tests


if __name__ == "__main__":
    unittest.main()
