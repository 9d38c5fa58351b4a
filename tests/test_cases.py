"""Does a table become the case set that it holds, or one line that names the row?"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import answer_task
import harness
from tests.test_convert import run

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "id,text,label,language,thread,split"
OPTIONS = ("--id", "id", "--input", "text", "--expected", "label")


class CasesTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def save(self, text, name="tickets.csv"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def cases(self, text, *more, name="tickets.csv", options=OPTIONS):
        """Return the case set of a table, as harness.load_cases finds it sound."""
        status, out, err = run("cases", self.save(text, name), *options, *more)
        self.assertEqual((status, err), (0, ""), err)
        path = self.save(out, "cases-made.json")
        case_set = harness.load_cases(path)
        harness.check_cases(case_set, harness.load_task("answer_task"))
        return case_set

    def assert_refused(self, text, words, *more, name="tickets.csv", options=OPTIONS):
        status, out, err = run("cases", self.save(text, name), *options, *more)
        self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
        self.assertIn(words, err.replace(self.folder + os.sep, ""))

    def test_a_csv_becomes_a_case_set_with_tags_source_and_split(self):
        made = self.cases(f'{HEAD}\r\nt1,"a, ""b""\r\nc",billing,en,x,dev\r\nt2,¿d?,other, ,y,heldout\r\n', "--tag",
                          "language",
                          "--source", "thread", "--split", "split")
        self.assertEqual((made.name, made.version), ("tickets", "1"))
        self.assertEqual(made.cases, (
            harness.Case("t1", "dev", {"text": 'a, "b"\r\nc'}, {"equals": "billing"},
                         {"language": "en", "source": "x"}),
            harness.Case("t2", "heldout", {"text": "¿d?"}, {"equals": "other"}, {"source": "y"})))

    def test_the_bundled_table_gives_the_cases_that_the_bundled_log_was_recorded_with(self):
        with open(os.path.join(HERE, "tickets.csv"), encoding="utf-8", newline="") as file:
            text = file.read()
        made = self.cases(text, "--tag", "language", "--source", "thread")
        log = harness.read_log(os.path.join(HERE, "recorded", "tickets-openai.jsonl"))
        record = harness.replay([log], made, harness.load_task("answer_task"))
        saved = harness.read_record(os.path.join(HERE, "runs", "tickets-openai.json"))
        self.assertEqual(record["results"], saved["results"])
        self.assertGreater(len({row["metadata"]["reply"] for row in record["results"]}), 3)

    def test_jsonl_and_a_json_list_are_read_alike_and_keep_their_kinds(self):
        rows = [{"id": 7, "text": "a", "label": "x", "tags": None},
                {"id": "8", "text": {"q": "b", "n": 1}, "label": {"json": {"a": 1}}},
                {"id": "9", "text": "c", "label": ["x", "y"]}, {"id": "10", "text": " ", "label": {"rejected": True}},
                {"id": "11", "text": "d", "label": 2.5}]
        options = (*OPTIONS, "--grader", "any_of")
        for text in (json.dumps(rows[:3]), "\n".join(map(json.dumps, rows[:3])) + "\n\n"):
            made = self.cases(text.replace('"label": "x"', '"label": ["x"]'), name="t.jsonl", options=options)
            self.assertEqual([(case.id, case.input, case.expected) for case in made.cases], [
                ("7", {"text": "a"}, {"any_of": ["x"]}), ("8", {"q": "b", "n": 1}, {"json": {"a": 1}}),
                ("9", {"text": "c"}, {"any_of": ["x", "y"]})])
        made = self.cases(json.dumps(rows[3:4]), name="t.json")
        self.assertEqual((made.cases[0].input, made.cases[0].expected), ({"text": " "}, answer_task.REJECTED))
        made = self.cases(json.dumps(rows[4:]), "--grader", "number", name="t.json")
        self.assertEqual(made.cases[0].expected, {"number": 2.5})

    def test_a_case_set_is_utf_8_whatever_the_output_is(self):
        with open(os.path.join(self.folder, "t.csv"), "w", encoding="utf-8") as file:
            file.write("id,text,label\n1,¿Dónde está mi café? \U0001f600,a\n")
        made = subprocess.run([sys.executable, os.path.join(HERE, "convert.py"), "cases", file.name, *OPTIONS],
                              stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
        self.assertEqual(json.loads(made.stdout.decode())["cases"][0]["input"]["text"],
                         "¿Dónde está mi café? \U0001f600")

    def test_half_a_character_is_written_as_an_escape(self):
        path = self.save('{"id": "1", "text": "a\\ud800", "label": "b"}\n', "t.jsonl")
        made = subprocess.run([sys.executable, os.path.join(HERE, "convert.py"), "cases", path, *OPTIONS],
                              stdout=subprocess.PIPE, check=True)
        self.assertIn(b"a\\ud800", made.stdout)

    def test_graders_take_text_or_json_cells(self):
        for grader, cell, expected in (("contains", "a b", "a b"), ("matches", "^a", "^a"), ("number", "2.5", 2.5),
                                       ("any_of", '"[""a"", ""b""]"', ["a", "b"]),
                                       ("json", '"{""a"": true}"', {"a": True})):
            made = self.cases(f"id,text,label\n1,q,{cell}\n", "--grader", grader)
            self.assertEqual(made.cases[0].expected, {grader: expected})
        made = self.cases('id,text,label\n1,q,"{""number"": 3, ""tolerance"": 0.1}"\n', "--grader", "number")
        self.assertEqual(made.cases[0].expected, {"number": 3, "tolerance": 0.1})

    def test_capitals_can_be_made_like_small_letters(self):
        for grader, cell, answer in (("equals", "positive", "Positive"), ("contains", "tiv", "POSITIVE"),
                                     ("any_of", '"[""a"", ""Positive""]"', "positive"), ("matches", "^p", "Positive")):
            for more, passes in ((("--ignore-case",), True), ((), False)):
                made = self.cases(f"id,text,label\n1,q,{cell}\n", "--grader", grader, *more)
                expected = made.cases[0].expected
                self.assertEqual((expected.get("ignore_case"), answer_task.GRADERS[grader][1](expected, answer)),
                                 (passes or None, passes))
        made = self.cases('{"id": 1, "text": "q", "label": {"equals": "A"}}\n', "--ignore-case", name="t.jsonl")
        self.assertEqual(made.cases[0].expected, {"equals": "A"})
        for grader, cell in (("json", '"{""a"": 1}"'), ("number", "1")):
            self.assert_refused(f"id,text,label\n1,q,{cell}", "expected is an object with 'ignore_case', which is no "
                                "grader, and no flag of one that is there; ", "--ignore-case", "--grader", grader)

    def test_several_inputs_and_another_delimiter(self):
        made = self.cases("id;text;more;label\n1;q;r;a\n", "--input", "more")
        self.assertEqual(made.cases[0].input, {"text": "q", "more": "r"})

    def test_duplicates_and_blanks_are_refused_by_row(self):
        for rows, words in (("1,q,a\n2,r,b\n1,s,c", 'tickets.csv:4: the id "1" is also at tickets.csv:2'),
                            ("1,q,a\n2,q,b", 'tickets.csv:3: the input {"text": "q"} is also at'),
                            ("1,q,a\n , r,b", "tickets.csv:3: id is blank"),
                            ("1,q,a\n2,,b", "tickets.csv:3: text is blank"),
                            ('1,"q\nq",a\n2,r, ', "tickets.csv:4: label is blank"),
                            ("1,q", "tickets.csv:2: 2 cells, but 3"),
                            ("", "tickets.csv: no row"), ('1,"q,a', "unexpected end of data"),
                            ('1,"q" x,a', "expected after")):
            self.assert_refused(f"id,text,label\n{rows}", words)
        self.assert_refused(f"{HEAD}\n1,q,a,en,,dev", "thread is blank", "--source", "thread")
        self.assert_refused(f"{HEAD}\n1,q,a,en,x,test", "split 'test' is none of dev, heldout", "--split", "split")

    def test_what_is_no_table_of_these_columns_is_refused_by_name(self):
        self.assert_refused("id,text,label\n1,q,a", "tickets.csv:2: no field 'lang'; there are: id, text, label\n",
                            "--tag", "lang")
        self.assert_refused("id,text,id,label\n1,q,2,a", "no field 'id'")
        self.assert_refused('{"id": 1}\n', "t.jsonl:1: no field 'label'", name="t.jsonl")
        self.assert_refused('[7]', "t.json: item 1: no field", name="t.json")
        self.assert_refused('{"id": 1,\n', "t.jsonl:2: not JSON", name="t.jsonl")
        for grader, example in (("any_of", 'a list of texts, such as ["a", "b"]'),
                                ("number", "a number, such as 3.5"),
                                ("json", 'an object with fields, such as {"category": "billing"}')):
            self.assert_refused("id,text,label\n1,q,x", f"tickets.csv:2: label must hold {example}: not JSON at line 1 "
                                "column 1 (Expecting value); correct the file\n", "--grader", grader)
        self.assert_refused("id,text,label\n1,q,(", "matches is '(', not a regular expression", "--grader", "matches")


if __name__ == "__main__":
    unittest.main()
