"""Is every bad input refused by one line, is a log evidence, and does a record follow from it byte for byte?"""

import contextlib
import copy
import doctest
import gzip
import hashlib
import importlib.util
import io
import itertools
import json
import os
import py_compile
import random
import resource
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import compare
from core import files, logs, trials
import harness
from harness import CaseError, Incomplete, RunError, Unavailable

HARNESS = os.path.join(HERE, "harness.py")
PARSER = harness.build_parser()  # made once: it takes longer than a short command
TASK = harness.load_task("triage_task")
BILLING = {"category": "billing", "needs_human": False}
SYSTEM = {"name": "demo", "version": "v1", "mode": "live", "model": "demo:1b@0123456789ab", "prompt": "p",
          "tools": None, "index": None}


def case(case_id, text="I was charged twice", expected=BILLING, split="dev", **tags):
    return {"id": case_id, "split": split, "input": {"text": text}, "expected": expected, "tags": tags}


CASES = {"name": "demo-cases", "version": "1", "cases": [
    case("a", source="s"), case("b", "Where is my parcel?", {"category": "delivery", "needs_human": False}, source="s"),
    case("blank", " ", {"rejected": True}), case("later", split="heldout")]}
CASES_TEXT = json.dumps(CASES, indent=1)
SHA256 = hashlib.sha256(CASES_TEXT.encode()).hexdigest()

REFUSED = {"type": "Rejection", "message": "blank"}
# One outcome of each sort: right, wrong, wrongly refused, rightly refused, no answer, an answer of another schema.
OUTCOMES = {
    ("a", 1): {"output": BILLING}, ("b", 1): {"output": BILLING}, ("blank", 1): {"error": REFUSED},
    ("a", 2): {"error": REFUSED}, ("b", 2): {"error": {"type": "NotJSON", "message": "prose"}},
    ("blank", 2): {"output": {"category": "refunds"}},
}
VERDICTS = {("a", 1): "pass", ("b", 1): "fail", ("blank", 1): "pass", ("a", 2): "fail", ("b", 2): "incomplete",
            ("blank", 2): "fail"}


def header(**fields):
    """Return the first line of the demo run's log: 3 cases, 2 trials."""
    return {"type": "header", "log_version": "1", "tool_version": "1.0.0",
            "case_set": {"name": "demo-cases", "sha256": SHA256},
            "task": {"name": "triage_task", "sha256": TASK.sha256},
            "splits": ["dev"], "trials": 2, "shard": None, "system": SYSTEM, "settings": {"temperature": 1},
            "server": {"host": "127.0.0.1:11434", "version": "0.12.6"}, "started_at": "2026-11-30T08:00:00.000Z",
            "python": "3.11.7", "platform": "Linux"} | fields


def trial_line(unit, **fields):
    return {"type": "trial", "case_id": unit[0], "trial": unit[1], "seed": 1000 + unit[1], **OUTCOMES[unit],
            "metadata": {"eval_count": 17}, "elapsed_s": 0.5, "at": "2026-11-30T08:00:01.000Z"} | fields


def rows(units=None):
    return [trial_line(unit) for unit in (OUTCOMES if units is None else units)]


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def sealed(values, trials=None):
    """Return a log's bytes: these lines and the end line that seals them."""
    body = lines(*values)
    if trials is None:
        trials = sum(isinstance(value, dict) and value.get("type") == "trial" for value in values)
    return body + lines({"type": "end", "trials": trials, "sha256": hashlib.sha256(body).hexdigest()})


def demo_log():
    return sealed([header(), *rows()])


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run_here(main, argv):
    """Return (status, stdout, stderr) of a command's main, run in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = files.run_command(lambda: main(argv))
        except SystemExit as stopped:
            status = stopped.code
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode())
    return status, *said


class FolderTest(unittest.TestCase):
    """A folder of its own with cases.json and log.jsonl, and harness.py called there in this process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        sync = mock.patch.object(os, "fsync")  # waits for the disk, and these files do not outlive the test
        sync.start()
        self.addCleanup(sync.stop)
        self.addCleanup(os.chdir, os.getcwd())
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.folder = os.path.realpath(folder.name)
        os.chdir(self.folder)
        self.save("cases.json", CASES_TEXT)
        self.save("log.jsonl", demo_log())

    def save(self, name, content):
        with open(name, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def load(self, name):
        with open(name, "rb") as file:
            return file.read()

    def files(self):
        """Return {path: bytes} of the folder, the byte code of imported modules aside."""
        return {os.path.join(folder, name): self.load(os.path.join(folder, name))
                for folder, _, names in os.walk(".") for name in names if "__pycache__" not in folder}

    def command(self, *argv):
        """Return (status, stdout, stderr) of harness.py with these arguments."""
        with mock.patch.object(harness, "build_parser", lambda: PARSER):
            return run_here(harness.main, argv)

    def refused(self, *argv, says=()):
        """Assert one `error:` line with these words, exit status 1 and no file changed; return the line."""
        before = self.files()
        status, out, err = self.command(*argv)
        self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
        self.assertRegex(err, "^error: .*\n$")
        self.assertEqual(self.files(), before)
        for words in (says,) if isinstance(says, str) else says:
            self.assertIn(words, err)
        return err

    def run_rules(self, *more, cases="cases.json", system="triage_task:rules", out="out.json"):
        return ("run", "--cases", cases, "--system", system, "--out", out, *more)

    def replay(self, *logs, cases="cases.json", out="out.json"):
        return ("replay", *(logs or ("log.jsonl",)), "--cases", cases, "--out", out)

    def record(self):
        """Return the run record of log.jsonl, saved as record.json."""
        self.assertEqual(self.command(*self.replay(out="record.json"))[0], 0)
        return harness.read_record("record.json")


# === Bad input, by command line ===


class BadFileTest(FolderTest):
    """Each kind of bad file, wherever a file is read."""

    def everywhere(self, content, says):
        """Give the bad file as case set of each verb, as log, and to check; say the same everywhere."""
        self.save("bad", content)
        for argv in (self.run_rules(cases="bad"), self.replay(cases="bad"), self.replay("bad"),
                     self.replay("log.jsonl", "bad"), ("check", "bad")):
            self.refused(*argv, says=says)

    def test_no_such_file(self):
        for argv in (self.run_rules(cases="nowhere.json"), self.replay("nowhere.json"), ("check", "nowhere.json"),
                     ("check", "nowhere/x.json")):
            self.refused(*argv, says=("cannot read nowhere", "No such file or directory"))

    def test_a_directory(self):
        os.mkdir("folder")
        for argv in (self.run_rules(cases="folder"), self.replay("folder"), ("check", "folder")):
            self.refused(*argv, says=("cannot read folder", "Is a directory"))

    def test_empty(self):
        for data in (b"", b" \n\r\n"):
            self.everywhere(data, "bad: not JSON, for it is empty; correct the file")
        self.everywhere(b"\0" * 512, "bad: not JSON at line ")

    def test_packed_files_of_our_own_are_named_so(self):
        self.everywhere(gzip.compress(b'{"cases": []}'), "bad is packed with gzip, and a ")

    def test_not_json_is_reported_with_line_and_column(self):
        self.everywhere(b'{"name": "x",\n "other": [}', "bad: not JSON at line 2 column 12 (")
        self.everywhere(b"hello", "bad: not JSON at line 1 column 1 (")
        self.everywhere(b'{"a": 1}\n{"b": 2}\n', "bad: not JSON at line 2 column 1 (Extra data)")
        self.save("bad", CASES_TEXT + "]")
        self.refused("check", "bad", says="(Extra data)")
        self.refused(*self.replay("bad"), says="bad is a case set, not a log; give a log that bench.py recorded")

    def test_no_text(self):
        self.everywhere(b'{"name": "caf\xe9"}', "bad: byte 13 is not utf-8; save the file as UTF-8")

    def test_no_finite_number(self):
        for literal in (b"NaN", b"Infinity", b"-Infinity"):
            self.everywhere(b'{"name": %s}' % literal, f"bad: {literal.decode()} is not a finite number")
        self.everywhere(b'{"name": [-1e999]}', "bad: -1e999 is not a finite number")

    def test_a_number_of_thousands_of_digits(self):
        self.everywhere(b'{"name": 1%s}' % (b"0" * 5000), "bad: a whole number of thousands of digits")

    def test_a_key_twice_in_one_object(self):
        for key in ("name", "points"):  # "points": once taken for the message on int()
            self.everywhere(f'{{"odd": [{{"{key}": 1, "x": 2, "{key}": 3}}]}}'.encode(),
                            f"bad: the key {key!r} is duplicated in one object")

    def test_nested_too_deeply(self):
        self.everywhere(b"[" * 1_000_000, "bad: nested too deeply")

    def test_json_of_another_kind(self):
        self.record()
        comparison = self.save("comparison.json", '{"comparison_version": "1", "overall": {}}')
        plain = self.save("plain.jsonl", '{"task_id": "a", "config": "A"}\n{"task_id": "b", "config": "A"}\n')
        other = self.save("other.json", "[1, 2]")
        kinds = {"record.json": "a run record", comparison: "a comparison", "cases.json": "a case set",
                 "log.jsonl": "a log", plain: "a plain trial log", other: "JSON of another kind"}
        for name, kind in kinds.items():
            if kind != "a case set":
                self.refused(*self.run_rules(cases=name), says=f"{name} is {kind}, not a case set; give the cases")
                self.refused(*self.replay(cases=name), says=f"{name} is {kind}, not a case set")
            if kind != "a log":
                self.refused(*self.replay(name), says=f"{name} is {kind}, not a log; give a log that bench.py recorded")
            if kind != "a run record":
                with self.assertRaisesRegex(RunError, f"{name} is {kind}, not a run record; make one with harness"):
                    harness.read_record(name)
        self.save("list.json", f"[{CASES_TEXT}]")
        self.refused("check", "list.json", says="list.json: not an object; correct the file")
        for name in (comparison, plain, other):
            self.refused("check", name, says=f"{name} is {kinds[name]}, not a case set")

    def test_a_file_on_one_line_is_known_as_well(self):
        self.save("line.json", json.dumps(self.record()))
        self.assertEqual(self.command("check", "line.json", "--cases", "cases.json")[0], 0)
        self.refused(*self.replay("line.json"), says="line.json is a run record, not a log")
        odd = case("a") | {"input": {"text": "x", "task_id": 7, "log_version": 1}}
        self.save("line.json", lines(CASES | {"cases": [odd]}))
        self.assertEqual(self.command(*self.run_rules(cases="line.json"))[0], 0)
        self.save("line.json", lines(CASES) + b"rest")
        self.refused(*self.run_rules(cases="line.json"), says="not JSON at line 2 column 1")


class EncodingTest(FolderTest):
    ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")

    def test_a_case_set_is_read_whatever_its_marks_and_line_ends(self):
        for encoding in self.ENCODINGS:
            self.save("cases.json", CASES_TEXT.replace("parcel", "paquete ñ").encode(encoding))
            self.assertEqual(harness.load_cases("cases.json").cases[1].input["text"], "Where is my paquete ñ?")
        self.save("cases.json", CASES_TEXT.replace("\n", "\r\n"))
        self.assertEqual(len(harness.load_cases("cases.json").cases), 4)

    def test_the_identity_of_a_case_set_is_that_of_its_bytes(self):
        self.assertEqual(harness.load_cases("cases.json").sha256, SHA256)
        self.save("cases.json", CASES_TEXT.encode("utf-8-sig"))
        self.refused(*self.replay(), says=("log.jsonl and cases.json differ in case set.sha256: ", SHA256))

    def test_a_run_record_is_read_alike(self):
        record = self.record()
        text = self.load("record.json").decode()
        for encoding in self.ENCODINGS:
            self.save("record.json", text.replace("\n", "\r\n").encode(encoding))
            self.assertEqual(harness.read_record("record.json"), record)

    def test_a_log_in_another_encoding_was_changed_and_is_refused_by_its_name(self):
        for encoding in self.ENCODINGS:
            self.save("log.jsonl", demo_log().decode().encode(encoding))
            self.refused(*self.replay(), says=(f"log.jsonl has the encoding {encoding}", "take the original"))
            self.refused("check", "log.jsonl", says=f"the encoding {encoding}")
        self.save("log.jsonl", demo_log().replace(b"\n", b"\r\n"))
        self.refused(*self.replay(), says="or CRLF line ends: it was changed after recording")


class BadCaseSetTest(FolderTest):
    def bad(self, says, *cases, **fields):
        self.save("bad.json", json.dumps({**CASES, "cases": list(cases), **fields}))
        for argv in (self.run_rules(cases="bad.json"), self.replay(cases="bad.json"), ("check", "bad.json")):
            self.refused(*argv, says=("bad.json", says))

    def test_a_case_id_twice(self):
        self.bad("the case id 'a' is duplicated (2 times)", case("a"), case("b"), case("a"))

    def test_a_case_without_an_expectation(self):
        without = {key: value for key, value in case("b").items() if key != "expected"}
        self.bad("case 2 ('b'): expected is missing", case("a"), without)
        self.bad("case 1 ('a'): expected is None, not an object", case("a", expected=None))

    def test_an_expectation_that_the_task_cannot_grade(self):
        self.bad("case 'a': expected is not an object of", case("a", expected={"label": "billing"}))
        self.bad("case 'a': expected is category 'bills' is", case("a", expected=BILLING | {"category": "bills"}))
        self.bad("case 'a': expected is not an object of", case("a", expected={"rejected": False}))

    def test_a_tag_that_is_no_text(self):
        for value in (1, None, True, ["x"], {}):
            self.bad(f"case 1 ('a'): tags: language is {value!r}, not text", case("a", language=value))

    def test_a_field_of_another_kind_or_missing(self):
        for field, value, said in (
                ("id", 7, "case 1: id is 7, not text"), ("id", "", "case 1 (''): the id is blank"),
                ("id", " ", "the id is blank"), ("split", "test", "split 'test' is none of dev, heldout"),
                ("split", None, "split is None, not text"), ("input", "hi", "input is 'hi', not an object"),
                ("tags", None, "tags is None, not an object"), ("tags", [], "tags is [], not an object")):
            self.bad(said, case("a") | {field: value})
        for field in ("id", "split", "input", "tags"):
            self.bad(f"{field} is missing", {key: value for key, value in case("a").items() if key != field})
        for item in (None, [], "a", 7):
            self.bad("case 1: not an object", item)

    def test_a_head_that_is_not_one(self):
        for field in ("name", "version"):
            self.bad(f"{field} is 1, not text", case("a"), **{field: 1})
        self.bad("cases is {}, not a list", cases={})
        self.bad("no cases; add at least one")

    def test_half_a_character_which_no_request_can_carry(self):
        for odd in (case("\ud83d"), case("a") | {"input": {"text": "hello \ud83d"}}):
            self.bad("case 1 ('", odd)
            self.bad("holds half a character (a lone surrogate); write the whole character", odd)

    def test_a_table_is_sent_to_the_command_that_makes_cases_of_it(self):
        self.save("my tickets.csv", "id,text,label\n1,q,a\n")
        self.refused(*self.run_rules(cases="my tickets.csv"), says="my tickets.csv is a table, not a case set; read "
                     "it with python3 convert.py table NAME='my tickets.csv' --case COLUMN --score COLUMN > "
                     "trials.jsonl, or make a case set of it with python3 convert.py cases")

    def test_a_split_without_a_case(self):
        self.save("bad.json", json.dumps({**CASES, "cases": [case("a")]}))
        self.refused(*self.run_rules("--split", "heldout", cases="bad.json"),
                     says="--trials 1 of 0 cases in heldout: a run has 1 to 10,000,000 trials; give another number or")

    def test_names_that_a_terminal_cannot_show_are_no_obstacle(self):
        self.save("bad.json", json.dumps({**CASES, "cases": [case("\u202e"), case("\u202e")]}))
        self.refused(*self.run_rules(cases="bad.json"), says="'\\u202e' is duplicated (2 times)")
        self.refused(*self.run_rules(cases="\udce9.json"), says="cannot read \\udce9.json: ")
        self.assertIn("; wrote \\udce9.json\n", self.command(*self.run_rules(out="\udce9.json"))[1])


class BadArgumentTest(FolderTest):
    def test_trials_below_one(self):
        for count in ("0", "-1"):
            self.refused(*self.run_rules("--trials", count), says=f"--trials {count} of 3 cases in dev: a run has 1 to")

    def test_usage_exits_2(self):
        for argv in ((), ("run",), ("replay", "--cases", "x", "--out", "y"), self.run_rules("--trials", "many"),
                     self.run_rules("--split", "test"), ("sum", "x"), [*self.replay(), "--task"]):
            self.assertEqual(self.command(*argv)[0], 2, argv)

    def test_an_output_folder_that_does_not_exist(self):
        for argv in (self.run_rules(out="no/x.json"), self.replay(out="no/x.json")):
            self.refused(*argv, says="cannot write no/x.json: there is no folder ")

    def test_an_output_that_is_a_folder(self):
        os.mkdir("folder")
        self.refused(*self.run_rules(out="folder"), says="cannot write folder: it is a folder")

    def test_an_output_over_an_input_or_any_log(self):
        for argv in (self.run_rules(out="cases.json"), self.replay(out="cases.json"), self.replay(out="./cases.json")):
            self.refused(*argv, says="cases.json: it is read as well, or named twice; name another file")
        self.save("other.jsonl", demo_log())
        self.refused(*self.replay(out="log.jsonl"), says="cannot write log.jsonl: it is read as well")
        self.refused(*self.replay(out="other.jsonl"),
                     says="cannot write other.jsonl: it is a log, and only a run record")
        self.refused(*self.run_rules(out="other.jsonl"), says="cannot write other.jsonl: it is a log")

    def test_the_version_is_reported(self):
        self.assertEqual(self.command("--version"), (0, f"harness.py {files.TOOL_VERSION}\n", ""))


class BadModuleTest(FolderTest):
    TASK = "GRADERS = {'same': ('1', lambda expected, answer: expected == answer)}\ndef check_expected(value): pass\n" \
           "def check_answer(value): pass\n"
    SYSTEM = "class S:\n  name = version = 'x'\n  mode = 'offline'\n  model = prompt = tools = index = None\n" \
             "  def respond(self, case, trial): return {'a': 1}, {}\nsystem = S()\n"

    def module(self, text):
        """Return the name of a new module in the folder."""
        name = f"harness_test_module_{random.randrange(10**12)}"
        self.save(f"{name}.py", text)
        self.addCleanup(sys.modules.pop, name, None)
        return name

    def test_a_task_and_system_beside_the_data_are_found(self):
        task, system = self.module(self.TASK), self.module(self.SYSTEM)
        self.save("own.json", json.dumps({**CASES, "cases": [case("a", expected={"a": 1}), case("b")]}))
        status, out, _ = self.command(*self.run_rules("--task", task, cases="own.json", system=f"{system}:system"))
        self.assertEqual((status, out), (0, "x x on dev: 1 of 2 trials pass, 1 fail, 0 incomplete; wrote out.json\n"))
        record = harness.read_record("out.json")
        self.assertEqual(record["manifest"]["task"]["sha256"], hashlib.sha256(self.TASK.encode()).hexdigest())
        self.assertEqual(record["manifest"]["graders"], {"same": "1"})

    def test_what_cannot_be_imported_is_reported_with_its_own_message(self):
        for text, said in (("import no_such_module_here", "No module named 'no_such_module_here'"),
                           ("def", "SyntaxError: invalid syntax"), ("1 / 0", "ZeroDivisionError: division by zero"),
                           ("raise ValueError('set API_KEY\\nfirst')", "ValueError: set API_KEY first"),
                           ("raise SystemExit('no GPU')", "SystemExit: no GPU"),
                           ("import sys; sys.exit(3)", "SystemExit: 3")):
            name = self.module(text)
            self.refused(*self.run_rules(system=f"{name}:x"), says=(f"import the system's module {name!r}: ", said))
            self.refused(*self.run_rules("--task", name), says=(f"cannot import the task {name!r}", said))
        for name in ("no_such_module", "", "..", "triage_task.py", "a/b"):
            self.refused(*self.run_rules("--task", name), says=f"cannot import the task {name!r}")
            self.refused("check", "cases.json", "--task", name, says=f"cannot import the task {name!r}")

    def test_the_task_that_a_log_names_is_run_only_if_it_is_the_one_it_was_recorded_with(self):
        os.mkdir("package")
        self.save("package/__init__.py", "open('package-ran', 'w')\n")
        self.save("package/task.py", f"{self.TASK}open('ran', 'w')\n")
        own = self.module(f"{self.TASK}open('ran', 'w')\n")
        for name in (own, "package.task", "package", "antigravity", "no.such", "..", "sys"):
            self.save("log.jsonl", sealed([header(task={"name": name, "sha256": "0" * 64}), *rows()]))
            before = set(sys.modules)
            self.refused(*self.replay(), says=name)
            self.assertFalse({"antigravity", "package", own} & (set(sys.modules) - before))
        self.save("log.jsonl", sealed([header(task={"name": own, "sha256": hashlib.sha256(
            self.load(f"{own}.py")).hexdigest()}), *rows()]))
        self.assertEqual(self.command(*self.replay())[0], 0)
        self.assertTrue(os.path.exists("ran"))

    def test_a_system_that_is_not_named_as_one(self):
        for name in ("triage_task", "triage_task:", "triage_task:rule"):
            attribute = name.removeprefix("triage_task").removeprefix(":")
            self.refused(*self.run_rules(system=name), says=(f"the module 'triage_task' has no system {attribute!r}: ",
                                                             "name one as module:attribute, such as triage_task:rules"))
        for name in (":rules", ""):
            self.refused(*self.run_rules(system=name), says=("cannot import the system's module ''", "chat:MODEL"))

    def test_a_system_that_lacks_an_attribute(self):
        for field in (*harness.SYSTEM_FIELDS, "respond"):
            name = self.module(f"{self.SYSTEM}del S.{field}\n")
            self.refused(*self.run_rules(system=f"{name}:system"),
                         says=f"the module '{name}' has no system 'system': 'S' object has no attribute '{field}'")

    def test_a_system_whose_name_version_or_mode_is_no_text(self):  # recorded, its log could not be read again
        for field, value in (("name", None), ("version", 2), ("mode", True)):
            name = self.module(f"{self.SYSTEM}S.{field} = {value}\n")
            self.refused(*self.run_rules(system=f"{name}:system"),
                         says=f"the system '{name}:system': {field} is {value!r}, not text")

    def test_a_class_is_no_system(self):
        name = self.module(self.SYSTEM)
        self.refused(*self.run_rules(system=f"{name}:S"), says=f"the system '{name}:S' is a class; make an object")

    def test_a_task_that_lacks_an_attribute(self):
        for field in ("GRADERS", "check_expected", "check_answer"):
            name = self.module(f"{self.TASK}del {field}\n")
            self.refused(*self.run_rules("--task", name),
                         says=f"the task {name!r}: module {name!r} has no attribute {field!r}; see docs/tasks.md")
        self.refused(*self.run_rules("--task", "sys"), says="there is no source file of it")

    def test_a_task_may_be_a_module_of_a_package(self):
        package = self.module("")
        os.mkdir(package + "_tasks")
        with open(os.path.join(package + "_tasks", "first.py"), "w", encoding="utf-8") as file:
            file.write(self.TASK)
        name = f"{package}_tasks.first"
        self.assertEqual(harness.load_task(name).name, name)
        self.refused(*self.run_rules("--task", f"{package}_tasks.other"), says="there is no source file of it")
        self.refused(*self.run_rules("--task", "string"), says="the task 'string': module 'string' has no attribute")

    def test_graders_of_another_shape(self):
        for graders in ("{}", "[]", "{'rejection': ('1', len)}",
                        "{'same': len}", "{'same': ('1',)}", "{'same': (1, len)}", "{'same': ('1', 2)}"):
            name = self.module(f"{self.TASK}GRADERS = {graders}\n")
            self.refused(*self.run_rules("--task", name), says=f"the task {name!r}: GRADERS is not {{name: (")
        for more in ("check_answer = 5\n", "check_expected = None\n", "Rejection = 5\n", "Rejection = int\n"):
            name = self.module(self.TASK + more)
            self.refused(*self.run_rules("--task", name), says="is no function, or Rejection no exception; correct it")

    def test_a_grader_that_gives_a_score_is_refused(self):
        for score, says in (("0.3", "grader same of"), ("2", "returns 2 of case"), ("'no'", "returns 'no' of"),
                            ("(False, 'why')", "returns (False, 'why') of"),
                            ("{'score': 1}", "returns {'score': 1} of"), ("1.0", ""), ("0", "")):
            task, system = self.module(self.TASK.replace("expected == answer", score)), self.module(self.SYSTEM)
            run = self.run_rules("--task", task, system=f"{system}:system", out=f"{score}.json")
            self.refused(*run, says=says) if says else self.assertEqual(self.command(*run)[0], 0)

    def test_what_was_compiled_of_a_task_is_not_run_in_place_of_its_source(self):
        task, system = self.module(self.TASK), self.module(self.SYSTEM)
        self.save("other.py", "raise SystemExit('compiled before')\n")
        os.mkdir("__pycache__")
        py_compile.compile("other.py", importlib.util.cache_from_source(f"{task}.py"),
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        self.assertEqual(self.command(*self.run_rules("--task", task, system=f"{system}:system"))[0], 0)

    def test_what_a_system_does_to_a_case_is_seen_by_no_other_trial(self):
        name = self.module(self.SYSTEM.replace("return {'a': 1}, {}", "\n    case.input['text'] += '!'; "
                           "case.expected.clear(); return {'text': case.input['text']}, {}"))
        self.assertEqual(self.command(*self.run_rules("--trials", "3", system=f"{name}:system"))[0], 0)
        self.assertEqual({row["output"]["text"].count("!") for row in harness.read_record("out.json")["results"]}, {1})

    def test_a_system_that_is_not_offline_needs_a_log(self):
        name = self.module(self.SYSTEM.replace("offline", "live"))
        self.refused(*self.run_rules(system=f"{name}:system"), says="the system x is live, not offline; record it with")
        name = self.module("import harness\n" + self.SYSTEM.replace(
            "return {'a': 1}, {}", "raise harness.Unavailable('503 busy')"))
        self.refused(*self.run_rules(system=f"{name}:system"), says="x: 503 busy; what needs a server is live: record")

    def test_what_json_cannot_hold_is_refused_and_a_bug_keeps_its_traceback(self):
        for answer, said in (("float('nan'), {}", "a value that JSON cannot hold"),
                             ("{1, 2}, {}", "a value that JSON cannot hold"),
                             ("{}, None", "the system x returns metadata None, not an object")):
            name = self.module(self.SYSTEM.replace("{'a': 1}, {}", answer))
            self.refused(*self.run_rules(system=f"{name}:system"), says=said)
        name = self.module(self.SYSTEM.replace("{'a': 1}, {}", "1 / 0"))
        grades = self.module(self.TASK.replace("expected == answer", "1 / 0"))
        with self.assertRaisesRegex(RuntimeError, "x failed on case 'a' trial 1: ZeroDivisionError: division by zero; "
                                    "respond.. returns Answer.*or raises harness.Unavailable"):
            self.command(*self.run_rules(system=f"{name}:system"))
        with self.assertRaises(ZeroDivisionError):
            self.command(*self.run_rules("--task", grades, system=f"{self.module(self.SYSTEM)}:system"))


# === Trials and grades ===


class Scripted:
    """A system that returns or raises what it is given."""

    name, version, mode, model, prompt, tools, index = "scripted", "1", "offline", None, None, None, None

    def __init__(self, outcome):
        self.outcome = outcome

    def respond(self, case, trial):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class AttemptTest(unittest.TestCase):
    CASE = harness.Case("a", "dev", {"text": "x"}, BILLING, {})

    def attempt(self, outcome, task=TASK):
        return harness.attempt(Scripted(outcome), task, self.CASE, 1)

    def test_an_answer_is_kept_as_json_holds_it(self):
        self.assertEqual(self.attempt(harness.Answer({"a": (1, 2)}, {"n": 1})),
                         {"output": {"a": [1, 2]}, "metadata": {"n": 1}})

    def test_no_answer_is_an_outcome_with_its_kind_reason_and_metadata(self):
        class CutOff(Incomplete):
            pass
        self.assertEqual(self.attempt(CutOff("at 64", {"reply": "{"})),
                         {"error": {"type": "CutOff", "message": "at 64"}, "metadata": {"reply": "{"}})
        self.assertEqual(self.attempt(Incomplete("why")),
                         {"error": {"type": "Incomplete", "message": "why"}, "metadata": {}})

    def test_an_output_that_the_task_cannot_grade_is_incomplete_and_not_wrong(self):
        for output in (None, {}, {"category": "billing"}, BILLING | {"category": "refunds"}, "billing"):
            self.assertEqual(harness.grade(TASK, self.CASE, {"output": output}), ("incomplete", {}))
        self.assertEqual(harness.grade(TASK, self.CASE, {"output": BILLING | {"needs_human": True}}),
                         ("fail", {"category": True, "needs_human": False}))

    def test_a_rejection_has_one_name_in_every_log(self):
        class Refused(Exception):
            pass
        self.assertEqual(self.attempt(Refused("blank"), TASK._replace(rejection=Refused)),
                         {"error": {"type": "Rejection", "message": "blank"}, "metadata": {}})

    def test_trouble_and_bugs_go_through(self):
        for error in (Unavailable("busy"), RunError("404"), KeyboardInterrupt()):
            with self.assertRaises(type(error)):
                self.attempt(error)
        # Bare, the last two would pass for the command's own.
        for error in (ZeroDivisionError("bug"), BrokenPipeError("its own pipe"), SystemExit(0)):
            with self.assertRaisesRegex(RuntimeError, "scripted failed on case 'a' trial 1") as caught:
                self.attempt(error)
            self.assertIs(caught.exception.__cause__, error)

    def test_a_task_without_rejections_grades_every_case(self):
        task = TASK._replace(rejection=harness.NoRejection, graders={"category": TASK.graders["category"]})
        cases = harness.CaseSet("x", "1", "0", (self.CASE._replace(expected={"rejected": True}),))
        harness.check_cases(cases, TASK)
        strict = task._replace(check_expected=TASK.check_answer)
        with self.assertRaises(CaseError):
            harness.check_cases(cases, strict)
        alike = task._replace(graders={"same": ("1", lambda expected, answer: expected == answer)},
                              check_answer=lambda answer: None)
        for rejected, verdict in ((True, "pass"), (False, "fail")):
            self.assertEqual(harness.grade(alike, cases.cases[0], {"output": {"rejected": rejected}})[0], verdict)

    def test_seeds_depend_on_the_trial_alone(self):
        self.assertEqual([harness.trial_seed(trial) for trial in (1, 2, 5)], [1001, 1002, 1005])


# === Logs ===


class SealTest(FolderTest):
    """Whatever is done to a log after recording is noticed."""

    def broken(self, data, says=""):
        self.save("log.jsonl", data)
        self.refused("check", "log.jsonl", says=says)
        return self.refused(*self.replay(), says=says)

    def read(self, data):
        with mock.patch.object(logs, "read_bytes", return_value=data):
            return harness.read_log("log.jsonl")

    def test_a_whole_log_is_reported_as_such(self):
        self.assertEqual(self.command("check", "log.jsonl"),
                         (0, "log.jsonl: whole and sealed: 6 trials of demo v1 on dev\n", ""))
        self.save("log.jsonl", sealed([header(shard="1/2"), *rows(list(OUTCOMES)[::2])]))
        self.assertEqual(self.command("check", "log.jsonl")[1],
                         "log.jsonl: whole and sealed: 3 trials of demo v1 on dev\n")

    def test_every_field_of_every_line_edited(self):
        values = [json.loads(line) for line in demo_log().splitlines()]
        for number, value in enumerate(values):
            for field in value:
                if number == len(values) - 1 and field == "type":
                    continue
                for new in (None, "edited", 99, {"edited": True}):
                    edited = copy.deepcopy(values)
                    edited[number][field] = new
                    if edited == values:
                        continue
                    with self.subTest(number=number, field=field, new=new), self.assertRaises(RunError):
                        self.read(lines(*edited))

    def test_any_byte_changed_is_noticed(self):
        data, rng = sealed([header(), *rows()[:2]]), random.Random(20261020)
        sealed_part = data.rindex(b"\n", 0, -1) + 1
        whole = self.read(data)
        for place in range(len(data)):
            changed = bytearray(data)
            others = (*b' "{},:01aZ\n\r\0', 0xFF, data[place] ^ 32)
            changed[place] = rng.choice([byte for byte in others if byte != data[place]])
            try:
                log = self.read(bytes(changed))
            except RunError:
                continue
            # Only spaces of the end line, which is no evidence but its seal, can differ and mean the same.
            self.assertGreaterEqual(place, sealed_part)
            self.assertEqual((log.header, log.rows, log.end), (whole.header, whole.rows, whole.end))

    def test_lines_removed_doubled_and_swapped(self):
        kept = demo_log().splitlines(keepends=True)
        for i in range(len(kept) - 1):
            self.broken(b"".join(kept[:i] + kept[i + 1:]))
            self.broken(b"".join(kept[:i + 1] + kept[i:]))
            swapped = kept[:i] + [kept[i + 1], kept[i]] + kept[i + 2:]
            self.broken(b"".join(swapped))
        self.broken(b"".join(kept[:3] + kept[2:]), "log.jsonl:4: case 'b' trial 1 is recorded twice")
        self.broken(b"".join(kept[:4] + kept[5:]), "log.jsonl:7: the seal does not fit the lines before it")
        self.broken(demo_log() + kept[-1], "log.jsonl:9: a line after the end line")

    def test_an_end_line_that_says_something_else(self):
        kept = demo_log().splitlines(keepends=True)
        end = json.loads(kept[-1])
        for edit in ({"trials": 5}, {"trials": "6"}, {"sha256": end["sha256"].upper()}, {"sha256": ""}, {"more": 1}):
            self.broken(b"".join(kept[:-1]) + lines(end | edit), "log.jsonl:8: the seal does not fit")
        self.broken(sealed([header(), *rows()], trials=5), "log.jsonl:8: the seal does not fit the lines before it")

    def test_an_unfinished_log_is_never_read_as_whole(self):
        data = demo_log()
        kept = data.splitlines(keepends=True)
        for count in range(1, 8):
            self.broken(b"".join(kept[:count]), "log.jsonl is unfinished: its end line is missing; finish")
        self.broken(b"".join(kept[:4]) + kept[4][:20], "unfinished: its end line is missing")
        self.broken(data[:-1], "unfinished: its end line is missing")
        self.broken(kept[0][:-1], "no whole line")
        self.broken(data + b'{"type": "tri', "log.jsonl: half a line after the end line; it was changed")

    def test_a_model_that_changed_under_way(self):
        changed = {"type": "changed", "model": "demo:1b@ffffffffffff", "at": "2026-11-30T09:00:00.000Z"}
        self.broken(sealed([header(), *rows(), changed]),
                    'the model changed while it was recorded: the start and a later look differ in system.model: '
                    '"demo:1b@0123456789ab" and "demo:1b@ffffffffffff"')
        self.broken(sealed([header(), *rows()[:3], changed, *rows()[3:]]), "log.jsonl:5: the model changed while")
        self.broken(sealed([header(), *rows(), changed | {"model": SYSTEM["model"]}]), "log.jsonl:8: the model changed")
        self.broken(sealed([header(), *rows(), {"type": "changed"}]), 'system.model: "demo:1b@0123456789ab" and null')

    def test_a_sealed_line_that_is_no_line_of_a_log(self):
        for value in ({"type": "note"}, {}, [], None, 7, {"type": ["trial"]}):
            self.broken(sealed([header(), *rows(), value]), " is no line of a log, which holds trials, then its end")
        self.broken(sealed([header(), *rows()]).replace(b"\n", b"\n\n", 1), "log.jsonl:2: not JSON")
        self.broken(sealed([header(), header(), *rows()]), "log.jsonl:2: {'type': 'header', ")

    def test_a_sealed_extension_is_whole_and_null_is_none_yet(self):
        end = json.loads(sealed([header(), *rows()]).splitlines()[-1])
        self.broken(sealed([header(), *rows(), end, {"type": "extended"}]), "log.jsonl:9: trials is missing")
        for count in (-1, 0, 1, 2):
            self.broken(sealed([header(), *rows(), end, {"type": "extended", "trials": count}]),
                        f"log.jsonl:9: extended from 2 trials to {count}; it was changed after recording")
        self.save("log.jsonl", sealed([header(extended=None), *rows()]))
        self.assertEqual(self.command(*self.replay())[0], 0)

    def test_numbers_are_alike_by_their_value_and_true_is_no_number(self):
        logs.refuse_difference({"t": 1}, {"t": 1.0}, ("a", "b"))
        with self.assertRaisesRegex(RunError, "a and b differ in t: 1 and true"):
            logs.refuse_difference({"t": 1}, {"t": True}, ("a", "b"))

    def test_an_id_that_no_file_can_hold_has_a_seed_all_the_same(self):
        self.assertIsInstance(logs.trial_seed(1, "\ud800", "per-case"), int)

    def test_a_sealed_header_that_is_not_whole(self):
        for edit, said in (
                ({"log_version": "2"}, "log.jsonl:1: no log's header of log_version '1'; give a log of bench.py's"),
                ({"log_version": 1}, "1: no log's header"), ({"type": "head"}, "1: no log's header"),
                ({"trials": 0}, "0 trials, and a run has at least one"), ({"trials": True}, "trials is True, not a"),
                ({"trials": 2.0}, "trials is 2.0, not a whole"), ({"splits": []}, "splits [] are not of dev, heldout"),
                ({"splits": ["test"]}, "splits ['test'] are not"), ({"splits": [[]]}, "splits [[]] are not"),
                ({"splits": "dev"}, "splits is 'dev', not a list"), ({"task": None}, "1: task is None, not an object"),
                ({"system": {**SYSTEM, "name": None}}, "log.jsonl:1: system: name is None, not text"),
                ({"case_set": {"name": "x"}}, "log.jsonl:1: case_set: sha256 is missing")):
            self.broken(sealed([header(**edit), *rows()]), said)
        for field in header().keys() - {"type", "log_version", "shard", "settings", "server"}:
            self.broken(sealed([{key: value for key, value in header().items() if key != field}, *rows()]),
                        f"log.jsonl:1: {field} is missing")

    def test_a_sealed_trial_that_is_not_whole(self):
        line = trial_line(("a", 1))
        for edit, said in (
                ({"case_id": 7}, "log.jsonl:2: case_id is 7, not text"), ({"trial": "1"}, "trial is '1', not a whole"),
                ({"trial": True}, "trial is True"), ({"seed": None}, "seed is None, not a whole number"),
                ({"metadata": None}, "metadata is None, not an object"), ({"error": None}, "an output or an error")):
            self.broken(sealed([header(), line | edit, *rows()[1:]]), said)
        self.broken(sealed([header(), {key: line[key] for key in line if key != "output"}, *rows()[1:]]),
                    "either an output or an error")
        error = trial_line(("a", 2)) | {"error": {"type": "X"}}
        self.broken(sealed([header(), error]), "log.jsonl:2: error: message is missing")


class ReplayTest(FolderTest):
    def replayed(self, *logs):
        """Return the bytes of the record that these logs give."""
        status, _, err = self.command(*self.replay(*logs))
        self.assertEqual((status, err), (0, ""))
        return self.load("out.json")

    def without(self, data, *fields):
        """Return a record without these fields of its manifest."""
        record = json.loads(data)
        record["manifest"] = {key: value for key, value in record["manifest"].items() if key not in fields}
        return record

    def shard(self, name, k, n, **fields):
        """Save the K-th shard of N in the order of a recorder; its server and start are its own."""
        own = {"started_at": f"2026-11-30T0{k}:00:00.000Z", "server": {"host": f"node{k}:11434", "version": "0.12.6"},
               "platform": f"Linux {k}", "python": f"3.11.{k}"}
        return self.save(name, sealed([header(shard=f"{k}/{n}", **own | fields), *rows(list(OUTCOMES)[k - 1::n])]))

    def test_verdicts_follow_from_outcomes_and_are_in_the_case_files_order(self):
        record = self.record()
        self.assertEqual({(row["case_id"], row["trial"]): row["verdict"] for row in record["results"]}, VERDICTS)
        self.assertEqual([(row["case_id"], row["trial"]) for row in record["results"]],
                         [(case_id, trial) for case_id in ("a", "b", "blank") for trial in (1, 2)])
        self.assertEqual(record["summary"], {"dev": {
            "cases": 3, "trials": 6, "pass": 2, "fail": 3, "incomplete": 1,
            "per_case": {"a": {"pass": 1, "fail": 1, "incomplete": 0}, "b": {"pass": 0, "fail": 1, "incomplete": 1},
                         "blank": {"pass": 1, "fail": 1, "incomplete": 0}}}})
        self.assertEqual(record["results"][0], {
            "case_id": "a", "split": "dev", "trial": 1, "seed": 1001, "verdict": "pass",
            "graders": {"category": True, "needs_human": True}, "output": BILLING, "metadata": {"eval_count": 17},
            "elapsed_s": 0.5, "at": "2026-11-30T08:00:01.000Z"})

    def test_the_manifest_says_what_was_run_and_names_its_log(self):
        manifest = self.record()["manifest"]
        self.assertEqual(list(manifest), [
            "record_version", "tool_version", "case_set", "task", "graders", "splits", "trials", "system", "settings",
            "server", "log", "shards", "started_at", "python", "platform"])
        self.assertEqual(manifest["log"], {"name": "log.jsonl", "sha256": hashlib.sha256(demo_log()).hexdigest()})
        self.assertEqual(manifest["system"], SYSTEM | {"mode": "replay"})
        self.assertEqual(manifest["graders"], {"category": "1", "needs_human": "1", "rejection": "1"})

    def test_the_same_log_gives_the_same_bytes(self):
        first = self.replayed()
        self.assertEqual(self.replayed(), first)
        os.mkdir("elsewhere")
        self.save("elsewhere/log.jsonl", demo_log())
        self.assertEqual(self.replayed("elsewhere/log.jsonl"), first)

    def test_a_record_is_reported_and_checked_as_sound(self):
        line = "demo v1 on dev: 2 of 6 trials pass, 3 fail, 1 incomplete"
        self.assertEqual(self.command(*self.replay()), (0, f"{line}; wrote out.json\n", ""))
        told = f"out.json: a sound run record: {line}"
        self.assertEqual(self.command("check", "out.json", "--cases", "cases.json"), (0, f"{told}\n", ""))
        self.refused("check", "out.json", says="out.json is a run record; give the case set that it was made with")

    def test_the_order_of_lines_is_irrelevant(self):
        first = self.replayed()
        for order in itertools.islice(itertools.permutations(rows()), 1, 720, 90):
            self.save("log.jsonl", sealed([header(), *order]))
            self.assertEqual(self.without(self.replayed(), "log"), self.without(first, "log"))

    def test_shards_joined_equal_the_whole(self):
        whole = self.replayed()
        own = ("log", "shards", "server", *harness.RUN_DESCRIPTION_FIELDS)
        for n in (2, 3):
            names = [self.shard(f"shard{k}.jsonl", k, n) for k in range(1, n + 1)]
            joined = self.replayed(*names)
            self.assertEqual(self.without(joined, *own), self.without(whole, *own))
            manifest = json.loads(joined)["manifest"]
            self.assertIsNone(manifest["log"])
            self.assertEqual(manifest["shards"], [
                {"name": name, "sha256": hashlib.sha256(self.load(name)).hexdigest(), "shard": f"{k}/{n}",
                 "server": {"host": f"node{k}:11434", "version": "0.12.6"}} for k, name in enumerate(names, start=1)])
            for order in itertools.permutations(names):
                self.assertEqual(self.replayed(*order), joined)

    def test_what_a_header_says_of_its_log_and_shards_is_not_taken_into_the_record(self):
        self.save("log.jsonl", sealed([header(shards=[{"x": 1}], log=5), *rows()]))
        manifest = json.loads(self.replayed())["manifest"]
        self.assertEqual((manifest["log"]["name"], manifest["shards"]), ("log.jsonl", None))

    def test_a_run_of_which_a_later_shard_was_extended_says_so(self):
        one, units = self.shard("one.jsonl", 1, 2), list(OUTCOMES)[1::2]
        before = sealed([header(shard="2/2", trials=1, started_at="2026-11-30T09:00:00.000Z"), *rows(units[:1])])
        more = before + lines({"type": "extended", "trials": 2, "at": "later"}, *rows(units[1:]))
        end = {"type": "end", "trials": len(units), "sha256": hashlib.sha256(more).hexdigest()}
        record = json.loads(self.replayed(one, self.save("two.jsonl", more + lines(end))))
        self.assertEqual((record["manifest"]["extended"], len(record["results"])), ([1], 6))

    def test_overlapping_shards_are_refused(self):
        one, two = self.shard("one.jsonl", 1, 2), self.shard("two.jsonl", 2, 2)
        self.refused(*self.replay(one, two, one), says="3 trials are in more than one log; give each shard once")
        self.refused(*self.replay(two, "log.jsonl"), says="two.jsonl log.jsonl: 3 trials are in more than one log")

    def test_a_gap_is_refused_with_the_first_missing_trial(self):
        two = self.shard("two.jsonl", 2, 3)
        self.refused(*self.replay(two), says=("two.jsonl: case 'a' trial 1 is missing, 4 in all",
                                              "replay every log of the run, and no other"))
        self.save("log.jsonl", sealed([header(), *rows()[:-1]]))
        self.refused(*self.replay(), says="log.jsonl: case 'blank' trial 2 is missing, 1 in all")
        self.save("log.jsonl", sealed([header(trials=10**15), *rows()]))
        self.refused(*self.replay(), says=f"case 'a' trial 3 is missing, {3 * 10**15 - 6} in all")

    def test_logs_of_different_runs_are_refused_by_name_and_value(self):
        one = self.shard("one.jsonl", 1, 2)
        for fields, place, left, right in (
                ({"trials": 3}, "trials", "2", "3"), ({"splits": ["heldout"]}, "splits[0]", '"dev"', '"heldout"'),
                ({"system": SYSTEM | {"model": "demo:1b@ff"}}, "system.model", "demo:1b@0123456789ab", "demo:1b@ff"),
                ({"settings": {"temperature": 0}}, "settings.temperature", "1", "0"),
                ({"task": {"name": "triage_task", "sha256": "0"}}, "task.sha256", TASK.sha256, '"0"'),
                ({"server": {"host": "x", "version": "0.13"}}, "server.version", '"0.12.6"', '"0.13"')):
            two = self.shard("two.jsonl", 2, 2, **fields)
            self.refused(*self.replay(one, two), says=(f"one.jsonl and two.jsonl differ in {place}: ", left, right))

    def test_a_trial_that_is_not_of_this_run(self):
        for edit, said in (
                ({"case_id": "nobody"}, "case 'nobody' trial 1"), ({"case_id": "later"}, "case 'later' trial 1"),
                ({"trial": 3, "seed": 1003}, "case 'a' trial 3"), ({"trial": 0, "seed": 1000}, "case 'a' trial 0")):
            self.save("log.jsonl", sealed([header(), trial_line(("a", 1)) | edit, *rows()[1:]]))
            self.refused(*self.replay(), says=f"log.jsonl: {said} is not of this run")

    def test_another_seed_than_the_trials(self):
        self.save("log.jsonl", sealed([header(), trial_line(("a", 1), seed=1002), *rows()[1:]]))
        self.refused(*self.replay(), says="log.jsonl:2: case 'a' trial 1 has seed 1002, not seed 1001")

    def test_a_log_of_another_case_set_or_task(self):
        self.save("other.json", CASES_TEXT + "\n")
        other = hashlib.sha256(CASES_TEXT.encode() + b"\n").hexdigest()
        self.refused(*self.replay(cases="other.json"), says=(
            f'log.jsonl and other.json differ in case set.sha256: "{SHA256}" and "{other}"; ',
            "give the case set as it was; where it was corrected, give finished logs, not their records, to "
            "compare.py --cases NEW.json --recorded-with OLD.json"))
        self.save("log.jsonl", sealed([header(task={"name": "triage_task", "sha256": "f" * 64}), *rows()]))
        self.refused(*self.replay(), says=(
            f'log.jsonl and triage_task as it is now differ in task.sha256: "{"f" * 64}" and "{TASK.sha256}"; ',
            "or grade a finished log with that of today: harness.py replay "
            "--task-changed"))
        self.save("log.jsonl", sealed([header(task={"name": "no_such_task", "sha256": "f" * 64}), *rows()]))
        self.refused(*self.replay(), says="cannot import the task 'no_such_task'")


# === Records ===


class RunTest(FolderTest):
    def test_an_offline_run_can_be_repeated_byte_for_byte_but_for_where_it_ran(self):
        saved = []
        for seconds, version in ((0, "3.11.0"), (10**9, "3.14.1")):
            with mock.patch.object(harness.time, "time", return_value=seconds), \
                    mock.patch.object(harness.platform, "python_version", return_value=version):
                line = "triage-rules 1 on dev: 9 of 9 trials pass, 0 fail, 0 incomplete; wrote out.json\n"
                self.assertEqual(self.command(*self.run_rules("--trials", "3")), (0, line, ""))
            saved.append(self.load("out.json").decode().splitlines())
        changed = {one.split('"')[1] for one, other in zip(*saved, strict=True) if one != other}
        self.assertEqual(changed, {"started_at", "python"})
        self.assertLessEqual(changed, set(harness.RUN_DESCRIPTION_FIELDS))

    def test_the_split_asked_for_is_run(self):
        self.command(*self.run_rules("--split", "heldout"))
        record = harness.read_record("out.json")
        self.assertEqual([row["case_id"] for row in record["results"]], ["later"])
        manifest = record["manifest"]
        self.assertEqual(manifest["splits"], ["heldout"])
        self.assertEqual((manifest["system"]["mode"], manifest["log"]), ("offline", None))

    def test_a_case_set_is_reported_as_sound(self):
        self.assertEqual(self.command("check", "cases.json"),
                         (0, "cases.json: a sound case set: 3 cases in dev, 1 cases in heldout\n", ""))


class RecordTest(FolderTest):
    """A record is evidence, not an assertion."""

    def setUp(self):
        super().setUp()
        self.good = self.record()

    def refuse(self, says, edit):
        """Assert that the record is refused after edit(record), by check and by read_record alike."""
        record = copy.deepcopy(self.good)
        edit(record)
        self.save("record.json", harness.record_text(record) if isinstance(record.get("results"), list)
                  and "summary" in record else json.dumps(record))
        self.refused("check", "record.json", "--cases", "cases.json", says=("record.json", says))

    def test_the_text_of_a_record_reads_back_as_the_record(self):
        text = harness.record_text(self.good)
        self.assertEqual(json.loads(text), self.good)
        self.assertEqual(sum(line.startswith('  {"case_id": ') for line in text.splitlines()), 6)  # a result a line
        empty = {**self.good, "results": []}
        self.assertEqual(json.loads(harness.record_text(empty)), empty)

    def test_a_summary_that_does_not_follow_from_the_results(self):
        summary = "the summary does not follow from the results"
        self.refuse(summary, lambda record: record["summary"]["dev"].update({"pass": 3}))
        self.refuse(summary, lambda record: record["summary"]["dev"]["per_case"]["a"].update({"pass": 2}))
        self.refuse(summary, lambda record: record["summary"]["dev"]["per_case"].pop("a"))
        self.refuse(summary, lambda record: record["summary"].update({"heldout": {}}))
        self.refuse(summary, lambda record: record["summary"].clear())

    def test_a_verdict_that_does_not_follow_from_its_graders(self):
        self.refuse("result 1: verdict 'fail' where its graders say 'pass'",
                    lambda record: record["results"][0].update({"verdict": "fail"}))
        self.refuse("result 3: verdict 'fail' where its graders say 'pass'",
                    lambda record: record["results"][2]["graders"].update({"category": True}))
        self.refuse("result 4: verdict 'incomplete' where its graders say 'fail'",
                    lambda record: record["results"][3]["graders"].update({"category": True}) or
                    record["results"][3].update({"error": {"type": "Rejection", "message": "x"}}))
        self.refuse("result 4: verdict 'pass' where its graders say 'incomplete'",
                    lambda record: record["results"][3].update({"verdict": "pass", "graders": {"category": True}}))
        self.refuse("result 1: verdict 'pass' where its graders say 'fail'",
                    lambda record: record["results"][0]["graders"].update({"category": 1}))
        self.refuse("result 3: verdict 'fail' where its graders say 'fail' ({'category': 0,",
                    lambda record: record["results"][2]["graders"].update({"category": 0}))

    def test_a_trial_missing_or_twice_or_of_no_run(self):
        self.refuse("case 'a' trial 1 is missing, 1 in all", lambda record: record["results"].pop(0))
        self.refuse("case 'b' trial 1 is recorded twice", lambda record: record["results"].append(record["results"][2]))
        self.refuse("case 'a' trial 2 is not of this run", lambda record: record["manifest"].update({"trials": 1}))
        self.refuse("case 'a' trial 3 is missing", lambda record: record["manifest"].update({"trials": 10**15}))

    def test_another_version(self):
        self.refuse("record_version '2'; this version reads '1', replay the log again",
                    lambda record: record["manifest"].update({"record_version": "2"}))
        self.refuse("record_version None", lambda record: record["manifest"].pop("record_version"))

    def test_a_part_missing_or_of_another_kind(self):
        self.refuse("the summary does not follow", lambda record: record.pop("summary"))
        self.refuse("case 'a' trial 1 is missing, 6 in all", lambda record: record.pop("results"))
        for field in ("case_set", "task", "graders", "splits", "trials", "system"):
            self.refuse(f"manifest: {field} is missing", lambda record, field=field: record["manifest"].pop(field))
            self.refuse(f"manifest: {field} is None",
                        lambda record, field=field: record["manifest"].update({field: None}))
        self.refuse("manifest is [], not an object", lambda record: record.update({"manifest": []}))
        for field in ("case_id", "split", "trial", "verdict", "graders", "metadata"):
            self.refuse(f"result 2: {field} is missing", lambda record, field=field: record["results"][1].pop(field))
            self.refuse(f"result 2: {field} is 0.5",
                        lambda record, field=field: record["results"][1].update({field: 0.5}))
        self.refuse("result 1: not an object", lambda record: record["results"].insert(0, 7))
        self.refuse("result 1: a trial has either an output or an error",
                    lambda record: record["results"][0].pop("output"))
        self.refuse("result 1: seed is '1001'", lambda record: record["results"][0].update({"seed": "1001"}))
        self.refuse("result 2: error: not an object", lambda record: record["results"][1].update({"error": None}))

    def test_all_that_is_used_is_checked(self):
        for field, value, said in (
                ("log", {"name": "x"}, "manifest: log: sha256 is missing"), ("log", "x", "not an object or null"),
                ("log", [1], "log is [1]"), ("shards", [5], "log: not an object"), ("shards", 5, "shards is 5"),
                ("shards", [{"name": 1, "sha256": "2"}], "name is 1, not text"),
                ("splits", ["dev", "dev"], "each once"),
                ("splits", ["heldout"], "case 'a' trial 1 is not of this run"),
                ("splits", [["dev"]], "splits [['dev']]"),
                ("workers", "2", "workers is '2'"), ("extended", [0], "manifest: 0 trials"),
                ("extended", ["x"], "manifest: 'x' trials"), ("extended", [True], "manifest: True trials"),
                ("graders", {"category": "1"}, "where its graders say 'pass' ({'category': True, 'needs_human'")):
            self.refuse(said, lambda record, field=field, value=value: record["manifest"].update({field: value}))
        for field, value, said in (
                ("at", [5], "at is [5], not text or null"), ("elapsed_s", "1", "not a whole number or a number"),
                ("split", "heldout", "split 'heldout' of a case in dev"),
                ("seed", 1002, "case 'a' trial 1 has seed 1002, not seed 1001"),
                ("graders", {"category": True, "flavour": True}, "'flavour': True})"),
                ("graders", {"rejection": True}, "verdict 'pass' where its graders say 'incomplete'"),
                ("graders", {"category": 1, "needs_human": True}, "({'category': 1, 'needs_human': True})")):
            self.refuse(said, lambda record, field=field, value=value: record["results"][0].update({field: value}))

    def test_a_rejection_is_held_against_what_the_case_expects(self):
        def forged(number, **changed):
            record = copy.deepcopy(self.good)
            row = record["results"][number]
            for came in ("error", "output"):
                row.pop(came, None)
            row.update(changed)
            record["summary"] = harness.summarize(record["results"])
            self.save("record.json", harness.record_text(record))
            return record

        cases = harness.load_cases("cases.json")
        wrong = "result [0-9]: verdict '[a-z]*' where its graders say '(pass|fail)'"
        for number, changed in ((0, {"error": REFUSED, "verdict": "pass", "graders": {"rejection": True}}),
                                (4, {"error": REFUSED, "verdict": "fail", "graders": {"rejection": False}}),
                                (4, {"output": BILLING, "verdict": "pass", "graders": {"category": True}})):
            record = forged(number, **changed)
            with self.subTest(number), self.assertRaisesRegex(RunError, wrong):
                trials.from_records((self.good, record), cases)
            self.refused("check", "record.json", "--cases", "cases.json", says="where its graders say")
        forged(0, error=REFUSED, verdict="fail", graders={"rejection": False})
        self.assertEqual(self.command("check", "record.json", "--cases", "cases.json")[0], 0)
        self.save("other.json", CASES_TEXT + " ")
        self.refused("check", "record.json", "--cases", "other.json", says="record.json and other.json differ in")

    def test_the_rows_of_a_record_may_come_last_and_the_manifest_before_them(self):
        for order in (("manifest", "results", "summary"), ("summary", "manifest", "results")):
            self.save("record.json", json.dumps({part: self.good[part] for part in order}))
            self.assertEqual(harness.read_record("record.json"), self.good)
            harness.check_record(harness.open_record("record.json"), "x", harness.load_cases("cases.json"))
            self.assertEqual(self.command("check", "record.json", "--cases", "cases.json")[0], 0)

    def test_a_record_may_be_longer_than_what_tells_its_kind(self):
        self.good["results"][0]["metadata"] = {"x": "y" * 100_000}
        self.save("record.json", json.dumps(self.good, sort_keys=True))
        self.assertEqual(harness.read_record("record.json"), self.good)
        late = {"results": [{**self.good["results"][0], "metadata": {}}], "summary": {}, "manifest": {}}
        self.save("record.json", json.dumps(late))
        self.refused("check", "record.json", "--cases", "cases.json", says="no manifest before the results")
        for more in (self.good, {"other": 1}):
            self.save("record.json", json.dumps({"results": self.good["results"], **more}))
            with self.assertRaisesRegex(RunError, "record.json is JSON of another kind, not a run record; make one"):
                harness.read_record("record.json")

    def test_rows_are_a_list(self):
        for results, says in (({"0": self.good["results"][0]}, "case 'a' trial 1 is missing, 6 in all"),
                              ([], "case 'a' trial 1 is missing, 6 in all"), ("abc", "result 1: not an object"),
                              (None, "result 1: not an object")):
            self.refuse(says, lambda record, results=results: record.update(results=results))

    def test_rows_of_cases_that_the_set_lacks_are_refused_whatever_they_hold(self):
        for changed in ({}, {"verdict": "bogus"}, {"graders": {"a": [1]}}):
            self.refuse("case 'zz' trial 1 is not of this run",
                        lambda record, changed=changed: record["results"][0].update(case_id="zz", **changed))
        record = copy.deepcopy(self.good)
        record["manifest"]["splits"] = ["heldout"]
        for row in record["results"]:
            row["split"] = "heldout"
        with self.assertRaisesRegex(RunError, "is not of this run"):
            harness.check_record(record, "x", harness.load_cases("cases.json"))

    def test_a_seed_of_another_trial_is_seen_beside_others_without(self):
        cases = harness.load_cases("cases.json")
        for row in self.good["results"]:
            row["seed"] = None
        self.good["results"][1]["seed"] = 1002
        self.assertEqual(len(list(harness.checked_rows(self.good, "x", cases))), 6)
        self.good["results"][0]["seed"] = 1002
        with self.assertRaisesRegex(RunError, "x: result 1: case 'a' trial 1 has seed 1002, not seed 1001"):
            list(harness.checked_rows(self.good, "x", cases))

    def test_seeds_per_case_are_those_of_the_rule(self):
        cases = harness.load_cases("cases.json")
        self.good["manifest"]["seeds"] = "per-case"
        with self.assertRaisesRegex(RunError, "has seed 1001, not seed "):
            list(harness.checked_rows(self.good, "x", cases))
        for row in self.good["results"]:
            row["seed"] = harness.trial_seed(row["trial"], row["case_id"], "per-case")
        self.assertEqual(len(list(harness.checked_rows(self.good, "x", cases))), 6)

    def test_a_row_is_held_only_until_the_next_is_asked_for(self):
        class Watched(dict):
            def __del__(self):
                gone.append(1)

        gone = []
        rows = harness.checked_rows(harness.open_record("record.json"), "x", harness.load_cases("cases.json"))
        for number, row in enumerate(rows):
            row["metadata"] = Watched()
            self.assertGreaterEqual(len(gone), number - 1)

    def test_what_is_not_one_object_is_no_record(self):
        text = json.dumps(self.good)
        for given, says in ((f"[{text}]", "record.json:1: not one object; give a file for each"),
                            (f"{text} {{}}", "record.json:1: not one object; give a file"),
                            (f'{text[:-1]}, "results": []}}', "the key 'results' is duplicated"),
                            (text.replace('"elapsed_s": ', '"elapsed_s": NaN, "x": ', 1), "NaN is not a finite number"),
                            (text.replace('"split": ', '"split": "dev", "split": ', 1), "'split' is duplicated"),
                            (text[:-90], "record.json:1: not JSON at column 2"),
                            ("", "record.json is not a run record")):
            self.save("record.json", given)
            with self.assertRaises(RunError) as caught:
                trials.from_records([harness.open_record("record.json")] * 2, harness.load_cases("cases.json"))
            self.assertIn(says, str(caught.exception))

    def test_a_row_without_a_seed_is_allowed(self):
        for row in self.good["results"]:
            row["seed"] = None
        harness.check_record(self.good, "x", harness.load_cases("cases.json"))


class CompareTest(FolderTest):
    """Runs that were not measured alike are refused by name and value."""

    def setUp(self):
        super().setUp()
        self.set = harness.load_cases("cases.json")
        self.baseline, self.candidate = self.record(), self.record()

    def refuse(self, *says, record=None):
        """Assert that the pair is refused, whichever side is the odd one."""
        self.candidate["summary"] = harness.summarize(self.candidate["results"])
        with self.assertRaises(RunError) as caught:
            trials.from_records((self.baseline, self.candidate), self.set, ("one.json", "two.json"))
        with self.assertRaises(RunError):
            trials.from_records((self.candidate, self.baseline), self.set)
        for words in says:
            self.assertIn(words, str(caught.exception))

    def test_alike_is_accepted_and_nothing_is_changed(self):
        before = copy.deepcopy((self.baseline, self.candidate))
        random.Random(0).shuffle(self.candidate["results"])
        self.candidate["manifest"] |= {"started_at": "x", "python": "x", "platform": "x", "server": None, "log": None,
                                       "settings": None, "system": SYSTEM | {"name": "other", "model": "another"}}
        trials.from_records((self.baseline, self.candidate), self.set)
        self.assertEqual(self.baseline, before[0])

    def test_another_case_set(self):
        self.candidate["manifest"]["case_set"]["sha256"] = "f" * 64
        self.refuse(f'two.json and cases.json differ in case set.sha256: "{"f" * 64}" and "{SHA256}"')

    def test_another_case_file_than_both_were_made_with(self):
        self.set = self.set._replace(sha256="e" * 64)
        self.refuse("one.json and cases.json differ in case set.sha256", "e" * 64)

    def test_every_part_of_the_manifest(self):
        for place, parent, field, value, left, right in (
                ("task.sha256", "task", "sha256", "f" * 64, f'"{TASK.sha256}"', '"ffff'),
                ("task.name", "task", "name", "other", '"triage_task"', '"other"'),
                ("case set.name", "case_set", "name", "other", '"demo-cases"', '"other"'),
                ("graders.category", "graders", "category", "2", '"1"', '"2"'),
                ("graders.tone", "graders", "tone", "1", "nothing", '"1"')):
            self.candidate = copy.deepcopy(self.baseline)
            self.candidate["manifest"][parent][field] = value
            self.refuse(f"one.json and two.json differ in {place}: {left} and {right}")

    def test_other_splits(self):
        self.candidate["manifest"]["splits"] = ["dev", "heldout"]
        self.refuse('one.json and two.json differ in splits[1]: nothing and "heldout"')

    def test_another_number_of_trials(self):
        self.candidate["results"] = [row for row in self.candidate["results"] if row["trial"] == 1]
        self.candidate["manifest"]["trials"] = 1
        self.refuse("one.json and two.json differ in trials: 2 and 1")

    def test_a_case_that_one_lacks_or_that_is_of_no_set(self):
        whole = self.candidate["results"]
        self.candidate["results"] = [row for row in whole if row["case_id"] != "b"]
        self.refuse("two.json: case 'b' trial 1 is missing, 2 in all")
        self.candidate["results"] = whole + [row | {"case_id": "nobody"} for row in whole if row["case_id"] == "b"]
        self.refuse("two.json: case 'nobody' trial 1 is not of this run")

    def test_a_trial_missing_or_twice(self):
        last = self.candidate["results"].pop()
        self.refuse("two.json: case 'blank' trial 2 is missing")
        self.candidate["results"] += [last, last]
        self.refuse("two.json: result 7: case 'blank' trial 2 is recorded twice")

    def test_other_seeds(self):
        self.candidate["results"][3]["seed"] = 7
        self.refuse("two.json: result 4: case 'b' trial 2 has seed 7, not seed 1002; it was changed")
        self.candidate["results"][3]["seed"] = None
        self.refuse("one.json and two.json: case 'b' has seeds 1001, 1002 and 1001, None (baseline and candidate); "
                    "record both with the same seeds")

    def test_a_record_that_does_not_hold_together_on_either_side(self):
        self.candidate["results"][0]["verdict"] = "fail"
        self.refuse("two.json: result 1: verdict 'fail'")


# === The command ===


class CommandTest(FolderTest):
    """What only a process of its own can show."""

    def process(self, *argv, options=(), **more):
        return subprocess.run([sys.executable, "-W", "error", *options, HARNESS, *argv], capture_output=True, text=True,
                              timeout=60, check=False, **more)

    def test_isolated_and_optimized_python_give_the_same_record(self):
        expected = harness.record_text(self.record())
        for options in (("-I",), ("-OO",)):
            done = self.process(*self.replay(), options=options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.load("out.json").decode(), expected)
        refused = self.process(*self.replay("cases.json"), options=("-I", "-OO"))
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("error: cases.json is a case set, not a log", refused.stderr)

    def test_a_systems_exceptions_are_those_of_the_command(self):
        self.save("own_system.py", "import harness\nfrom triage_task import Rules\nclass Own(Rules):\n"
                                   "  def respond(self, *args): raise harness.Incomplete('cut off')\nown = Own()\n")
        done = self.process(*self.run_rules(system="own_system:own"), options=("-B",))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("0 of 3 trials pass, 0 fail, 3 incomplete", done.stdout)

    def test_dev_stdout_gets_the_record_and_nothing_else(self):
        expected = harness.record_text(self.record())
        done = self.process(*self.replay(out="/dev/stdout"))
        self.assertEqual((done.returncode, done.stdout), (0, expected))
        self.assertIn("wrote /dev/stdout", done.stderr)
        with open("all.txt", "a") as file:
            file.write("kept\n")
            file.flush()
            subprocess.run([sys.executable, HARNESS, *self.replay(out="/dev/stdout")], stdout=file,
                           stderr=subprocess.DEVNULL, timeout=60, check=True)
        self.assertEqual(self.load("all.txt").decode(), "kept\n" + expected)

    def test_a_full_disk_leaves_the_good_file_whole(self):
        self.record()
        before = self.files()
        done = self.process(*self.replay(out="record.json"),
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "error: cannot write record.json: File too large; "
                                      "free disk space or name another file\n")
        self.assertEqual(self.files(), before)

    def test_an_output_that_takes_no_more(self):
        command = [sys.executable, "-E", HARNESS, "check", "log.jsonl"]  # -E: buffered, whatever the environment says
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"error: cannot write the output: No space left on device; free disk space\n")
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(writer)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_times_are_utc_to_the_millisecond(self):
        self.assertEqual(harness.utc(1_700_000_000.9999), "2023-11-14T22:13:20.999Z")
        self.assertEqual(harness.utc(1764490000.99999999), "2025-11-30T08:06:41.000Z")  # the float is the next second


class TaskChangedTest(FolderTest):
    def test_a_log_of_another_version_of_the_task_is_graded_with_todays_where_one_says_so(self):
        self.record()
        old = {"name": "triage_task", "sha256": "0" * 64}
        self.save("log.jsonl", sealed([header(task=old), *rows()]))
        self.refused(*self.replay(), says=f'differ in task.sha256: "{"0" * 64}" and "{TASK.sha256}"; ')
        self.assertEqual(self.command(*self.replay(), "--task-changed")[0], 0)
        manifest = harness.read_record("out.json")["manifest"]
        self.assertEqual((manifest["task"]["sha256"], manifest["task_changed"]), (TASK.sha256, "0" * 64))
        self.assertEqual(harness.read_record("out.json")["results"], harness.read_record("record.json")["results"])
        case_set = harness.load_cases("cases.json")
        records = (harness.read_record("record.json"), harness.read_record("out.json"))
        trials.from_records(records, case_set)  # both were graded by one task
        older = harness.read_record("record.json")
        older["manifest"]["task"] = old
        with self.assertRaisesRegex(RunError, "differ in task.sha256"):
            trials.from_records((older, harness.read_record("out.json")), case_set)

    def test_where_the_task_is_the_same_nothing_is_said(self):
        self.assertEqual(self.command(*self.replay(), "--task-changed")[0], 0)
        self.assertNotIn("task_changed", harness.read_record("out.json")["manifest"])


class CasesChangedTest(FolderTest):
    def changed(self, **fields):
        """Save CASES with these fields in its first case, and return the arguments that replay the log with it."""
        self.save("new.json", json.dumps(CASES | {"cases": [CASES["cases"][0] | fields, *CASES["cases"][1:]]}))
        return (*self.replay(cases="new.json"), "--recorded-with", "cases.json")

    def test_a_log_is_graded_with_other_expectations_and_tags_where_one_gives_the_case_set_it_was_recorded_with(self):
        right = {"category": "delivery", "needs_human": False}
        self.assertEqual(self.command(*self.changed(expected=right, tags={"topic": "post"}))[0], 0)
        record = harness.read_record("out.json")
        case_set = harness.load_cases("new.json")
        self.assertEqual(record["manifest"]["case_set"], {"name": case_set.name, "sha256": case_set.sha256})
        self.assertEqual(record["manifest"]["cases_changed"], SHA256)
        self.assertEqual(record["results"][0]["verdict"], "fail")  # its answer is billing
        harness.check_record(record, "out.json", case_set)

    def test_what_was_not_asked_is_not_graded(self):
        for fields, case_id in (({"id": "z"}, "z"), ({"input": {"text": "other"}}, "a")):
            self.refused(*self.changed(**fields), says=f"case '{case_id}' was not in this split, or ")
        self.save("new.json", json.dumps(CASES | {"cases": CASES["cases"][3:]}))
        self.refused(*self.replay(cases="new.json"), "--recorded-with", "cases.json",
                     says="new.json has no case in dev; ")

    def test_an_input_of_other_json_is_another_input(self):
        first = {"text": "q", "flag": True}
        asked = [CASES | {"cases": [CASES["cases"][0] | {"input": given}, *CASES["cases"][1:]]}
                 for given in (first, {"text": "q", "flag": 1}, {"flag": True, "text": "q"})]
        old, *others = [json.dumps(cases) for cases in asked]
        self.save("old.json", old)
        self.save("log.jsonl", sealed([header(case_set={
            "name": "demo-cases", "sha256": hashlib.sha256(old.encode()).hexdigest()}), *rows()]))
        for other in others:
            self.save("new.json", other)
            self.refused(*self.replay(cases="new.json"), "--recorded-with", "old.json",
                         says="case 'a' was not in this split, or had another input")

    def test_a_record_of_the_same_log_is_replaced(self):
        for topic in ("post", "mail"):
            self.assertEqual(self.command(*self.changed(tags={"topic": topic}))[0], 0)

    def test_cases_may_be_left_out(self):
        self.save("new.json", json.dumps(CASES | {"cases": CASES["cases"][1:]}))
        self.assertEqual(self.command(*self.replay(cases="new.json"), "--recorded-with", "cases.json")[0], 0)
        record = harness.read_record("out.json")
        self.assertEqual({row["case_id"] for row in record["results"]}, {"b", "blank"})
        self.assertEqual(record["manifest"]["cases_left_out"], 1)
        harness.check_record(record, "out.json", harness.load_cases("new.json"))

    def test_a_comparison_takes_the_logs_with_both_case_sets_and_says_that_they_were_graded_again(self):
        arguments = self.changed(tags={"topic": "post"})
        self.assertEqual(self.command(*arguments)[0], 0)
        for run in ("log.jsonl", "out.json"):  # a log is graded in memory, a record was graded before
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(compare.main([run, run, "--cases", "new.json", "--recorded-with", "cases.json",
                                               "--json"]), 0)
            warnings = [warning["message"] for warning in json.loads(out.getvalue())["warnings"]]
            self.assertIn("answers were graded with another case set or task than they were recorded with: baseline "
                          "and candidate", warnings)
        self.record()
        for cases in ("new.json", "cases.json"):  # with a record of either set
            status, _, stderr = run_here(compare.main, ["record.json", "log.jsonl", "--cases", cases,
                                                        "--recorded-with", "cases.json"])
            self.assertEqual((status, "was not graded again; give its log in its place" in stderr), (1, True), stderr)

    def test_the_case_set_that_is_given_must_be_that_of_the_recording(self):
        arguments = self.changed(tags={})
        self.save("cases.json", CASES_TEXT + " ")
        self.refused(*arguments, says="log.jsonl and cases.json differ in case set.sha256: ")

    def test_where_the_case_set_is_the_same_nothing_is_said(self):
        self.assertEqual(self.command(*self.replay(), "--recorded-with", "cases.json")[0], 0)
        self.assertNotIn("cases_changed", harness.read_record("out.json")["manifest"])


class NearMissTest(unittest.TestCase):
    def test_capitals_blanks_and_punctuation_apart_they_are_the_same(self):
        for expected, output, near in (
                ("positive", "Positive.", True), ("late parcel", "**Late-Parcel**", True), ("3 days", "3 Days.", True),
                ("-5", "5", False), ("3.5", "35", False), ("<3", ">3", False), ("की", "का", False), ("a", "", False),
                ("refund", " refund\n", False), ("a\nb", "A b", True), ("late", "late" + 20 * " .", False),
                ("late", None, False), ("1", 1, False)):
            self.assertEqual(harness.near_miss({"equals": expected}, output), near, (expected, output))
        self.assertTrue(harness.near_miss({"any_of": ["no", "yes"], "ignore_case": False}, "Yes!"))
        for expected in ({"matches": r"yes\."}, {"contains": ["yes", "no"]}, {"any_of": ["yes"], "contains": "n"}):
            self.assertFalse(harness.near_miss(expected, "Yes"), expected)


class NeutralTest(unittest.TestCase):
    def test_temperature_is_read_from_settings_of_both_versions(self):
        first = {"request": {"options": {"temperature": 1}}}
        for settings, found in ((first, 1), ({"temperature": 0.5, **first}, 0.5),
                                ({"temperature": None, **first}, None),
                                (None, None), (7, None), ({}, None), ({"request": 7}, None),
                                ({"request": {"options": []}}, None)):
            self.assertEqual(harness.temperature({"settings": settings}), found, settings)
        self.assertIsNone(harness.temperature({}))

    def test_a_rejected_input_calls_no_model_and_has_no_latency(self):
        row = {"error": {"type": "Rejection", "message": "blank"}, "metadata": {}, "elapsed_s": 0.0}
        self.assertEqual(harness.measures(row), {"latency_s": None, "tokens": None, "cost_usd": None})
        row["error"]["type"] = "NotJSON"
        self.assertEqual(harness.measures(row)["latency_s"], 0.0)

    def test_the_bundled_logs_of_the_first_version_keep_their_measures(self):
        record = harness.read_record(os.path.join(HERE, "runs", "qwen-coder-v1.json"))
        self.assertEqual(harness.measures(record["results"][0]), {"latency_s": 6.693, "tokens": 152, "cost_usd": None})
        self.assertEqual(harness.temperature(record["manifest"]), 1)


def load_tests(loader, tests, pattern):
    if sys.flags.optimize < 2:  # which strips docstrings
        tests.addTests(doctest.DocTestSuite(harness))
        tests.addTests(doctest.DocTestSuite(logs))
    return tests


if __name__ == "__main__":
    unittest.main()
