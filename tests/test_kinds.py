"""Is each file told for what it is, whole or broken off, with the command that reads it?

    $ python3 -m unittest tests.test_kinds
"""

import doctest
import gzip
import json
import os
import unittest

from core import files, kinds

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(HERE, "tests", "data", "convert")


def read(*path):
    with open(os.path.join(HERE, *path), "rb") as file:
        return file.read()


class KindsTest(unittest.TestCase):
    def test_files_of_the_house_and_of_other_tools(self):
        convert = "read it with python3 convert.py {} f > trials.jsonl"
        for data, kind, advice in (
                (read("recorded", "qwen-coder-v1.jsonl"), "a log", "python3 harness.py replay f"),
                (read("runs", "qwen-coder-v1.json"), "a run record", "python3 compare.py"),
                (read("runs", "comparison.json"), "a comparison", "python3 report.py f shows it"),
                (read("cases-robustness.json"), "a case set", "--cases"),
                (read("recorded", "taubench-airline-aa.jsonl"), "a plain trial log", "--trials f"),
                (read(DATA, "inspect-v1.eval"), "a log of Inspect", convert.format("inspect")),
                (read(DATA, "inspect-scorers.json"), "a log of Inspect", convert.format("inspect")),
                (read(DATA, "promptfoo.json"), "an output file of promptfoo", convert.format("promptfoo")),
                (b'{"cost": 0, "testIdx": 0, "promptIdx": 0}\n', "an output file of promptfoo, a result a line",
                 convert.format("promptfoo")),
                (b'{"doc_id": 0, "doc": {}}\n', "samples of lm-eval", convert.format("lm-eval")),
                (b'{"results": {"arc": {"acc": 0.5}}, "group_subtasks": {}, "configs": {}}',
                 "totals of lm-eval, which hold no samples", "run lm_eval with --log_samples"),
                (b'{"eval_set_id": "x", "tasks": []}', "Inspect's list of a set of logs", "the .eval files beside it"),
                (b'{"2026_t.eval": {"version": 2, "eval": {}}}', "Inspect's list of logs", "the logs beside it"),
                (read(DATA, "scores.csv"), "a table", "python3 convert.py table NAME=f --case COLUMN"),
                (b'[{"id": 1}]', "JSON of another kind", "python3 convert.py table NAME=f"),
                (b"PK\3\4xx", "packed", "unpack it"), (b"", "", ""), (b"words", "", "")):
            with self.subTest(kind):
                found = kinds.describe(data, "f")
                self.assertEqual(found[0], kind)
                self.assertIn(advice, found[1])
                if data.startswith((b"{", b"[")):
                    for other in (gzip.compress(data), b"\xef\xbb\xbf \n" + data, data.decode().encode("utf-16")):
                        self.assertEqual(kinds.describe(other, "f"), found)
        self.assertEqual(kinds.describe(b"", "x.eval")[0], "a log of Inspect")

    def test_a_file_that_breaks_off_is_told_by_its_beginning(self):
        for name in ("promptfoo.json", "inspect-scorers.json"):
            data = read(DATA, name)
            self.assertEqual(kinds.describe(data[:2000], "f"), kinds.describe(data, "f"))

    def test_keys_inside_do_not_count(self):
        inside = {"x": {"manifest": {}, "testIdx": 0, "promptIdx": 0}, "y": ['{"doc_id": 0}', {"cases": []}]}
        self.assertEqual(kinds.describe(json.dumps(inside).encode(), "f")[0], "JSON of another kind")

    def test_a_refusal_says_what_the_file_is_and_names_a_path_that_a_shell_takes(self):
        error = files.refusal("my runs/a b.csv", "a plain trial log", data=b"a,b\n1,2\n")
        self.assertEqual(str(error), "my runs/a b.csv is a table, not a plain trial log; read it with python3 "
                         "convert.py table NAME='my runs/a b.csv' --case COLUMN --score COLUMN > trials.jsonl, or "
                         "make a case set of it with python3 convert.py cases")
        self.assertEqual(str(files.refusal("f", "a log", "give one", b"words")), "f is not a log; give one")
        self.assertEqual(str(files.refusal("f", "a log", "give one", b'{"manifest": 1}')),
                         "f is a run record, not a log; give one")

    def test_doctests(self):
        self.assertEqual(doctest.testmod(kinds).failed, 0)


if __name__ == "__main__":
    unittest.main()
