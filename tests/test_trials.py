"""Does the reader take what a trial log says, exactly, and refuse what it cannot mean?"""

import contextlib
import doctest
import gzip
import hashlib
import io
import json
import os
import random
import tempfile
import unittest
from fractions import Fraction
from unittest import mock


import compare
from core import trial_logs
from core import trials
from core.files import run_command
import harness
from harness import Case as SetCase
from harness import CaseSet, RunError
from core.trials import Trial


def line(task_id="c0", seed=0, config="A", score=1, **more):
    """Return one row of a log as text."""
    return json.dumps({"task_id": task_id, "seed": seed, "config": config, "score": score, **more})


def both(task_id="c0", seed=0, scores=(0, 1), **more):
    """Return the two rows of a trial of A and B."""
    return [line(task_id, seed, config, score, **more) for config, score in zip("AB", scores)]


class LogTest(unittest.TestCase):
    """A folder of its own for each test; files are named a.jsonl, b.jsonl, ... in errors and here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, content, name="a.jsonl"):
        path = os.path.join(self.folder, name)
        if not isinstance(content, bytes):
            content = "".join(f"{text}\n" for text in content).encode()
        with open(path, "wb") as file:
            file.write(content)
        return path

    def read(self, *contents, baseline="A", candidate="B", sides=None, **options):
        paths = [self.file(content, f"{chr(97 + i)}.jsonl") for i, content in enumerate(contents)]
        return trial_logs.read_trial_logs(list(zip(sides or [None] * len(paths), paths)), baseline, candidate,
                                      trial_logs.Reading(**options))

    def refused(self, *contents, **options):
        with self.assertRaises(RunError) as caught:
            self.read(*contents, **options)
        text = str(caught.exception).replace(self.folder + os.sep, "")
        self.assertNotIn("\n", text)
        return text


class OneRowTest(unittest.TestCase):
    def row(self, score_range=(0, 1), **fields):
        fields = {"task_id": "c0", "seed": 0, "config": "A", "score": 1} | fields
        given = {key: value for key, value in fields.items() if value is not ...}
        return trial_logs.check_row(given, "log:7", score_range)

    def refused(self, **fields):
        with self.assertRaises(RunError) as caught:
            self.row(**fields)
        self.assertTrue(str(caught.exception).startswith("log:7: "), caught.exception)
        return str(caught.exception)

    def test_scores_are_exact(self):
        for given, score in ((1, 1), (True, 1), (False, 0), (1.0, 1), (0.1, Fraction(1, 10)),
                             (5e-7, Fraction(1, 2000000))):
            self.assertEqual(self.row(score=given).trial.score, score)
        self.assertIs(type(self.row(score=1.0).trial.score), int)

    def test_scores_are_read_to_nine_digits_of_their_range(self):
        third = Fraction(1, 3)
        for given, score_range, score in (
                (0.1 + 0.2, (0, 1), Fraction(3, 10)), (1 + 2**-52, (0, 1), 1), (-1e-12, (0, 1), 0),
                (1 / 3, (0, 1), third), (0.333333333, (0, 1), third), (0.33333333, (0, 1), Fraction(33333333, 10**8)),
                (1 / 13, (0, 1), Fraction(76923077, 10**9)), (100 / 7, (0, 100), Fraction(100, 7)),
                (0.083, (0, 10**6), Fraction(83, 1000)), (0.3333333, (0, 1), Fraction(3333333, 10**7)),
                (1 / 3, (0, Fraction("0.3333333333333333")), Fraction("0.3333333333333333")),
                (1 / 3, (0, third), third),
                (1 / 3, (0, 100), third), (1 / 3, (0, 1000), Fraction(333333, 10**6)),
                (0.1 + 0.2, (0, 100), Fraction(3, 10)), (1e-10, (0, Fraction(1, 100)), Fraction(1, 10**10)),
                (123456, (0, 10**12), 123000), (4e-11, (-5, 5), 0)):
            self.assertEqual(self.row(score_range, score=given).trial.score, score, (given, score_range))

    def test_score_that_is_no_number_is_refused(self):
        for score in ("1", "pass", "", [], {}, [1]):
            self.assertIn("not a number or null", self.refused(score=score))
        self.assertIn("score is missing", self.refused(score=...))

    def test_score_outside_the_range_is_refused_by_either_end(self):
        for score in (1.7, -0.2, 1e308, 2, -1, 10**400, 1.000000001):
            self.assertIn("outside [0, 1]", self.refused(score=score))
        self.assertEqual(self.row(score=-3, score_range=(-5, 5)).trial.score, -3)
        self.assertIn("outside [1, 5]", self.refused(score=0, score_range=(1, 5)))
        self.assertIn("outside [0.5, 1234567.25]", self.refused(score=0, score_range=(Fraction(1, 2), 1234567.25)))

    def test_noise_beside_a_half_of_the_last_digit_is_no_difference(self):
        for one, other in ((0.0009765625, 0.0009765625000000003), (0.1 + 0.2, 0.3),
                           (0.1234567885, 0.12345678850000001)):
            self.assertEqual(self.row(score=one).trial.score, self.row(score=other).trial.score)

    def test_error_makes_a_row_unscored_whatever_its_score_says(self):
        for score in (0, 1, 7, "x", None, ...):
            trial = self.row(score=score, error="429 rate limited").trial
            self.assertEqual((trial.score, trial.reason), (None, "429 rate limited"))

    def test_reasons_are_the_first_words_of_an_error(self):
        for error, reason in (({"type": "Timeout", "message": "m"}, "Timeout"), ({"message": "no\nroute"}, "no"),
                              ("  a \t b\r\nTraceback", "a b"), (True, "true"), (503, "503"), (["x"], '["x"]'),
                              ("x" * 61, "x" * 60 + "…"), ("\ud800!", "\\ud800!"), ({"code": 5}, '{"code": 5}')):
            self.assertEqual(self.row(error=error).trial.reason, reason)

    def test_blank_error_is_no_error(self):
        for error in (None, "", " \n", False, {}, [], ...):
            self.assertEqual(self.row(error=error).trial[1:3], (1, None))

    def test_null_score_without_an_error_is_unscored_and_says_so(self):
        self.assertEqual(self.row(score=None).trial[1:3], (None, "null score without an error"))

    def test_ids_are_kept_exactly(self):
        for given, kept in ((12345678901234567890123456789012, "12345678901234567890123456789012"), (-7, "-7"),
                            (" c0\u2028", " c0\u2028"), ("01", "01"), ("1.0", "1.0"), ("e\u0301", "e\u0301")):
            self.assertEqual(self.row(task_id=given).id, kept)
        self.assertTrue(self.row(task_id=1).id_is_number)
        self.assertFalse(self.row(task_id="1").id_is_number)

    def test_id_of_another_kind_is_refused(self):
        for task_id in (1.0, True, [], {}, None, "", "  "):
            self.assertIn(f"task_id {task_id!r} is no name", self.refused(task_id=task_id))
        self.assertIn("task_id None is no name", self.refused(task_id=...))

    def test_lone_surrogate_is_refused_where_it_would_be_written(self):
        for fields in ({"task_id": "\ud800"}, {"config": "a\udfff"}, {"seed": "\ud800"}, {"cluster": "\ud800"},
                       {"tags": {"\ud800": "x"}}, {"tags": {"x": ["\ud800"]}}, {"ts": "\ud800"},
                       {"input_sha256": "\ud800"}):
            self.assertIn("lone surrogate", self.refused(**fields))
        self.row(note="\ud800")  # an unknown key is not carried

    def test_seed_text_that_is_a_whole_number_is_that_number(self):
        for given, seed in ((3, 3), ("3", 3), ("-3", -3), ("03", "03"), ("-0", "-0"), ("²", "²"), ("x", "x"),
                            ("", None), (None, None), (..., None), (1.0, 1), (True, "true"), (10**33, 10**33),
                            ("9" * 5000, "9" * 5000)):
            self.assertEqual(self.row(seed=given).trial.seed, seed)
        for seed in ([], {}):
            self.assertIn("seed", self.refused(seed=seed))

    def test_tags_take_one_form(self):
        for given, pairs in (
                ({"hard": True}, [("hard", "true")]), ({"hard": "true"}, [("hard", "true")]),
                ({"year": 2024}, [("year", "2024")]), ({"year": 2024.0}, [("year", "2024")]),
                ({"t": 0.5}, [("t", "0.5")]), ({"t": 10**30}, [("t", "1" + "0" * 30)]),
                ({"t": False}, [("t", "false")]), ({"t": 0}, [("t", "0")]),
                ({"lang": ["fr", "en", None, "en", ""]}, [("lang", "en"), ("lang", "fr")]),
                ({" lang": " en "}, [("lang", "en")]), ({"b": "1", "a": "2"}, [("a", "2"), ("b", "1")]),
                ({"a": None, "b": "", "c": " ", "": "x", "d": []}, [])):
            self.assertEqual(self.row(tags=given).facts["tags"], tuple(pairs))
        self.assertEqual((self.row(tags=None).facts, self.row().facts), ({}, {}))

    def test_tags_of_another_kind_are_refused(self):
        for tags in ({"lang": {"a": 1}}, {"lang": [["en"]]}, {"lang": [{}]}, ["en"], "en", 5, True):
            self.assertIn("tag", self.refused(tags=tags))

    def test_cluster_and_time_are_text_or_the_text_of_a_number(self):
        self.assertEqual([self.row(cluster=c).facts.get("cluster") for c in ("s1", " s1", 7, 7.0, True, None, "", ...)],
                         ["s1", "s1", "7", "7", "true", None, None, None])
        self.assertEqual([self.row(ts=at).trial.at for at in ("2024-01-01", 1700000000.5, None)],
                         ["2024-01-01", "1700000000.5", None])
        for field in ("cluster", "ts", "input_sha256", "config"):
            for value in ([], {}):
                self.assertIn(f"{field} {value!r}", self.refused(**{field: value}))
        self.assertIn("config 3 is no name", self.refused(config=3))

    def test_measures_are_finite_numbers(self):
        self.assertEqual(self.row(cost_usd=1, latency_s=0.5, tokens=None).trial.measures,
                         (1.0, 0.5, None))
        for value in ("1", True, [], 10**400):
            for name in trials.MEASURES:
                self.assertIn(name, self.refused(**{name: value}))

    def test_numbers_that_no_variance_could_hold_are_refused(self):
        for text in ("1.1e100", "-1e200", "1e400", "nan"):
            with self.assertRaises(ValueError):
                trial_logs.score_bound(text)
        self.assertEqual(trial_logs.score_bound("-1e100"), -10**100)
        self.assertIn("up to 1e100", self.refused(cost_usd=1e101))

    def test_input_and_output_are_kept_and_those_too_long_in_part(self):
        for given, asked, output in ((..., None, None), (None, None, None), ("", None, ""), ("q", "q", "q"),
                                     ({"b": 1, "a": [2]}, '{"a": [2], "b": 1}', '{"a": [2], "b": 1}'),
                                     ({"text": "l\n"}, "l\n", "l\n"),
                                     (0.5, "0.5", "0.5"), ("\ud800", "\ud800", "\ud800")):
            row = self.row(input=given, output=given)
            self.assertEqual((row.facts.get("input"), row.trial.output), (asked, output))
        long = "x" * trials.KEPT_LENGTH
        for one, other in ((long + "1", long + "2"), ([long, 1], [long, 2]), (long + "\ud800", long + "\ud801")):
            rows = [self.row(input=value, output=value) for value in (one, other)]
            self.assertEqual(len({(row.facts["input"], row.trial.output) for row in rows}), 2)
            self.assertLess(len(rows[0].trial.output), trials.KEPT_LENGTH + 120)
        self.assertEqual(self.row(output=long).trial.output, long)

    def test_what_was_expected_is_a_fact_of_the_case(self):
        for given, expected in ((None, None), (..., None), ("4", "4"), ({"b": 1, "a": [2]}, '{"a": [2], "b": 1}')):
            self.assertEqual(self.row(expected=given).facts.get("expected"), expected)

    def test_explanation_is_text_and_is_kept_in_part_where_it_is_long(self):
        for given, explanation in ((..., None), (None, None), (" ", None), ("off by one", "off by one")):
            self.assertEqual(self.row(explanation=given).trial.explanation, explanation)
        long = "x" * trials.KEPT_LENGTH
        self.assertEqual(self.row(explanation=long + "y").trial.explanation, trials.kept_text(long + "y"))
        for wrong in (["off"], {"why": "off"}):
            self.assertIn("is not text", self.refused(explanation=wrong))

    def test_value_too_deep_to_be_shown_is_refused_in_words(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        for field in ("score", "error", "tags", "input", "output"):
            self.assertIn("nested too deeply", self.refused(**{field: deep}))

    def test_row_that_is_no_object_is_refused(self):
        for row in ([], "x", 5, None):
            with self.assertRaisesRegex(RunError, "^log:1: .*not an object"):
                trial_logs.check_row(row, "log:1")


class RowsTest(LogTest):
    def test_pair_has_cases_in_the_order_of_their_ids_and_trials_by_seed(self):
        rows = [line("z", 0, "B"), line("b", 10, "A"), line("b", "x", "A", 0), line("b", 9, "A", 0.5),
                line("a", 9, "A"), line("b", 9, "B"), line("n", 1, "C", "what?")]
        pair = self.read(rows)
        self.assertEqual([case.id for case in pair.cases], ["a", "b", "z"])
        self.assertEqual([[trial.seed for trial in row] for row in pair.baseline.trials], [[9], [9, 10, "x"], []])
        self.assertEqual([len(row) for row in pair.candidate.trials], [0, 1, 1])
        self.assertEqual(pair.baseline.trials[1][0], Trial(9, Fraction(1, 2)))
        self.assertEqual(pair.baseline.description, {"name": "A", "version": None, "mode": "recorded", "model": None,
                                                     "prompt": None, "tools": None, "index": None})
        self.assertEqual(pair.notes, [])

    def test_order_of_rows_and_files_changes_no_trial(self):
        rows = [text for i in range(8) for seed in range(3) for text in both(f"c{i}", seed, (i % 2, seed % 2))]
        shuffled = random.Random(1).sample(rows, len(rows))
        one, other = self.read(rows), self.read(shuffled[:20], shuffled[20:])
        by_id = [sorted(zip(pair.cases, *(side.trials for side in pair.sides))) for pair in (one, other)]
        self.assertEqual(*by_id)
        self.assertEqual(one.case_set["sha256"], other.case_set["sha256"])

    def test_case_set_is_named_by_files_and_hashed_by_cases(self):
        pair = self.read(both(cluster="s", tags={"b": "2", "a": 1}), both("é"))
        self.assertEqual(pair.case_set["name"], "a.jsonl + b.jsonl")
        text = '[["c0","s",[["a","1"],["b","2"]]],["\\u00e9",null,[]]]'
        self.assertEqual(pair.case_set["sha256"], hashlib.sha256(text.encode()).hexdigest())
        self.assertEqual([log["name"] for log in pair.baseline.logs], ["a.jsonl", "b.jsonl"])

    def test_row_twice_is_refused_with_both_places(self):
        rows = both("c0") + both("c1")
        self.assertEqual(self.refused(rows + rows), "a.jsonl:5: config 'A', task_id 'c0', seed 0 is already at "
                         "a.jsonl:1; keep one of the two, or number the trials of a case in seed")
        self.assertIn("b.jsonl:1: config 'A', task_id 'c0', seed 0 is already at a.jsonl:1",
                      self.refused(rows, rows))

    def test_row_twice_in_other_words_is_refused(self):
        for again in (line(seed="0"), line(score=0), line(error="x"), line(filter="loose"), line(ts="later")):
            self.assertIn("a.jsonl:3: config 'A'", self.refused([*both(), again]))
        self.assertIn("a.jsonl:3: ", self.refused([*both(5), line("5")]))

    def test_second_row_without_a_seed_is_refused_as_nothing_tells_it_from_a_copy(self):
        self.assertIn("number the trials of a case in seed", self.refused([*both(seed=None), line(seed=None)]))
        pair = self.read(both(seed=None))
        self.assertEqual((pair.notes[0]["code"], trials.unpaired_reason(pair)), ("no_seeds", None))

    def test_number_and_text_ids_pair_across_sides_with_a_note_and_are_refused_within_one(self):
        pair = self.read([line(7, config="A"), line("7", config="B"), *both(8)])
        self.assertEqual([case.id for case in pair.cases], ["7", "8"])
        self.assertEqual([(note["code"], note["message"][-3:]) for note in pair.notes], [("ids_as_text", ": 7")])
        self.assertIn("of task_id '1' here and at a.jsonl:1 one is a number and one is text",
                      self.refused([*both(1), line("1", seed=1)]))
        rows = [line(1, config="B", cluster="s"), line(1), line(1, seed=1, cluster="s"), line("1", seed=2)]
        self.assertIn("a.jsonl:4: of task_id '1' here and at a.jsonl:2 one is", self.refused(rows))

    def test_contradicting_facts_of_a_case_are_refused_with_both_places(self):
        for field, one, other in (("cluster", "s1", "s2"), ("input_sha256", "aa", "bb"),
                                  ("tags", {"k": "x"}, {"k": "y"}), ("tags", {"k": "x"}, {}),
                                  ("tags", {"k": "x"}, {"k": None}),
                                  ("tags", {"k": ["x", "y"]}, {"k": "x"}), ("tags", {"k": True}, {"k": "True"}),
                                  ("input", "x", "y"), ("input", {"q": 1}, {"q": 2})):
            for config in "AB":  # between the rows of one side, and between the sides
                text = self.refused([line(**{field: one}), line(seed=1, config=config, **{field: other})])
                self.assertIn(f"a.jsonl:2: case 'c0' has {field}", text)
                self.assertIn("at a.jsonl:1", text)

    def test_swapped_ids_are_refused_by_their_inputs_unless_these_are_ignored(self):
        rows = [line(task_id, config=config, input=f"{'a' * 50} {asked} in the middle of it")
                for config, ids in (("A", "12"), ("B", "21")) for task_id, asked in zip(ids, ("alpha", "beta"))]
        text = self.refused(rows)
        self.assertIn("a.jsonl:3: case '2' has input …'aaaaaaaaaaaaaaaaaaa alpha in the middle ' here and "
                      "…'aaaaaaaaaaaaaaaaaaa beta in the middle o' at a.jsonl:2; ", text)
        self.assertIn("--ignore-input pairs by task_id alone", text)
        pair = self.read(rows, ignore_input=True)
        self.assertEqual([note["code"] for note in pair.notes], ["inputs_ignored"])
        self.assertIn(" alpha", pair.cases[0].input)
        rows = [line(input_sha256="a", input="x y"), line(config="B", input_sha256="b", input="x z")]
        self.assertIn("has input 'x z' here and 'x y' at", self.refused(rows))  # what a person can read comes first
        rows = [line(input_sha256="a"), line(config="B", input_sha256="b")]
        self.assertIn("--ignore-input pairs by task_id alone, where inputs differ on purpose", self.refused(rows))
        self.read(rows, ignore_input=True)
        rows = [line(expected="4"), line(config="B", expected="5")]
        self.assertIn("has expected '5' here and '4' at a.jsonl:1;", self.refused(rows))
        self.assertEqual(self.read(rows, ignore_input=True).cases[0].expected, "4")
        for more in ({"cluster": "t"}, {"tags": {"k": "y"}}):
            rows = [line(cluster="s", tags={"k": "x"}, input="x"), line(config="B", input="y", **more)]
            self.assertIn(f"a.jsonl:2: case 'c0' has {list(more)[0]}", self.refused(rows, ignore_input=True))

    def test_inputs_and_outputs_are_of_cases_and_trials_and_change_no_identity(self):
        plain = self.read(both())
        pair = self.read(both(input={"q": "x"}, output=["y"]))
        self.assertEqual((pair.cases[0].input, pair.baseline.trials[0][0].output), ('{"q": "x"}', '["y"]'))
        self.assertEqual(pair.case_set, plain.case_set)
        explained = [line(config=config, explanation=f"said of {config}") for config in "AB"]
        self.assertEqual([side.trials[0][0].explanation for side in self.read(explained).sides],
                         ["said of A", "said of B"])

    def test_facts_that_say_the_same_agree(self):
        for one, other in (({"k": True}, {"k": "true"}), ({"k": ["x"]}, {"k": "x"}), ({"k": None}, {}),
                           ({"k": "x", "l": None}, {"k": "x"}), ({"k": 3.0}, {"k": 3})):
            pair = self.read([line(tags=one), line(config="B", tags=other)])
            self.assertEqual(pair.notes, [])

    def test_row_that_states_no_facts_agrees_with_all(self):
        rows = [line(), line(seed=1, cluster="s1", tags=None), line(config="B", tags={"k": "x"}, cluster=None)]
        for order in (rows, rows[::-1]):
            pair = self.read(order)
            self.assertEqual(pair.cases, [trials.ComparedCase("c0", "s1", (("k", "x"),))])
            self.assertEqual(pair.notes, [])
        self.assertIn("at a.jsonl:2", self.refused([*rows, line(config="B", seed=1, cluster="s2")]))

    def test_other_configs_are_not_looked_into_but_must_be_named(self):
        self.read([*both(), line(config="C", score="x", cluster=[]), line(config="C")])
        self.assertIn("config ' ' is no name", self.refused([*both(), line(config=" ")]))
        self.assertIn("config 3 is no name", self.refused([*both(), line(config=3)]))

    def test_config_that_is_not_there_lists_those_that_are(self):
        self.assertEqual(self.refused(both(), candidate="b"),
                         "no row of the candidate 'b' in its files; give the one with it as --trials candidate=FILE, "
                         "or name a config that is there: a.jsonl has A, B")
        self.assertTrue(self.refused(both(), [""], candidate="b").endswith("a.jsonl has A, B, b.jsonl has none"))
        self.assertIn("\\n", self.refused([line(config="x\ny")]))
        self.assertIn("a.jsonl has 'A '", self.refused([line(config="A ")]))
        self.assertLess(len(self.refused([line(f"{i}" * 5000) for i in range(9)])), 2000)

    def test_file_of_one_side_serves_that_side_alone(self):
        sides = ("baseline", "candidate")
        pair = self.read(both(scores=(0, 0)), both(scores=(1, 1)), sides=sides)
        self.assertEqual([side.trials[0][0].score for side in pair.sides], [0, 1])
        self.assertEqual([side.logs[0]["name"] for side in pair.sides], ["a.jsonl", "b.jsonl"])
        pair = self.read([line(score=0)], [line(score=1)], candidate="A", sides=sides)  # one config, before and after
        self.assertEqual([side.trials[0][0].score for side in pair.sides], [0, 1])
        self.assertIn("no row of the candidate 'B'", self.refused(both(), [line()], sides=sides))
        self.assertIn("both 'A'", self.refused(both(), candidate="A"))

    def test_files_of_one_side_only_name_the_other(self):
        for side, other in (("baseline", "candidate"), ("candidate", "baseline")):
            text = self.refused(both(), sides=[side])
            self.assertTrue(text.startswith(f"no row of the {other} "), text)
            self.assertIn(f"--trials {other}=FILE", text)

    def test_ids_that_look_alike_are_shown_so_that_they_can_be_told_apart(self):
        for one, other in (("c1", "c1 "), ("c 1", "c\u00a01"), ("c1", "c\u200b1"), ("e\u0301", "\u00e9"),
                           ("c1", "c1\u0085")):
            pair = self.read([line(one), line(other, config="B"), *both("same")])
            self.assertEqual([note["message"] for note in pair.notes if note["code"] == "look_alike_ids"],
                             [f"ids that differ in nothing that can be seen: {one!a} and {other!a}"])
            with self.assertRaisesRegex(RunError, "differ in nothing that can be seen"):
                trials.apply_missing(pair, "refuse")
            with self.assertRaisesRegex(RunError, "differ in nothing that can be seen.*: no case has a score"):
                trials.apply_missing(self.read([line(one), line(other, config="B")]), "drop")
        pair = self.read([line("c1"), line("c2", config="B"), *both("x y"), *both("xy")])
        self.assertEqual([note["code"] for note in pair.notes], [])
        pair = self.read([*both("x"), *both("x ")])  # a case that is there twice on both sides
        self.assertIn("seen: 'x' and 'x '", pair.notes[0]["message"])

    def test_facts_that_look_alike_are_shown_so_that_they_can_be_told_apart(self):
        long = "\u4f60" * 40
        for one, other, shown in (("e\u0301", "\u00e9", ("'e\\u0301'", "'\\xe9'")), (f"{long}red", f"{long}red ", (
                f"…{long[:17] + 'red'!a}", f"…{long[:17] + 'red '!a}"))):
            self.assertIn(f"has input {shown[1]} here and {shown[0]} at",
                          self.refused([line(input=one), line(config="B", input=other)]))
        self.assertIn("has cluster '\\xe9' here and 'e\\u0301' at",
                      self.refused([line(cluster="e\u0301"), line(config="B", cluster="\u00e9")]))


class BytesTest(LogTest):
    plain = "".join(json.dumps(json.loads(text), ensure_ascii=False) + "\n" for i in range(3)
                    for text in both(f"ñ{i}\u2028\u0085x", cluster="s", tags={"k": "é"}))

    def test_marks_line_ends_and_encodings_read_alike(self):
        expected = self.read(self.plain.encode())
        self.assertIn("\u2028", expected.cases[0].id)
        for data in (b"\xef\xbb\xbf" + self.plain.encode(), self.plain.replace("\n", "\r\n").encode(),
                     self.plain.replace("\n", "\n\n \t\n").encode(), self.plain.rstrip().encode(),
                     self.plain.encode("utf-16"), self.plain.encode("utf-16-le"), self.plain.encode("utf-16-be"),
                     b"\xfe\xff" + self.plain.encode("utf-16-be"), self.plain.encode("utf-32"),
                     self.plain.replace("\n", "\n\ufeff", 2).encode()):
            pair = self.read(data)
            self.assertEqual(pair[0], expected[0])
            self.assertEqual(pair.baseline.trials, expected.baseline.trials)

    def test_separators_of_other_kinds_do_not_end_a_line(self):
        row = json.dumps({"task_id": "a\u2028\u2029\u0085b", "seed": 0, "config": "A", "score": 1}, ensure_ascii=False)
        self.assertEqual(self.read([row, row.replace('"A"', '"B"')]).cases[0].id, "a\u2028\u2029\u0085b")

    def test_broken_lines_are_named_or_left_out_with_a_note_and_nothing_is_glued(self):
        whole = [*both("c0"), *both("c1")]
        other = line("c9").encode()
        for broken in (other[:30], b"\xff\xfe", b'{"task_id": "\xc3', b"\0" * 50, b"[1, 2", b"NaN", b"\0\0" + other,
                       b'{"a": 1, "a": 2}', b'{"score": 1e999}', b"[" * 100_000, b'{"x": ' + b"9" * 5000 + b"}",
                       other + other, other[:30] + other, b"x\x1f\x8b\x08"):
            for place in (0, 2, 4):
                lines = [text.encode() for text in whole]
                lines.insert(place, broken)
                for data in (b"\n".join(lines), b"\n".join(lines) + b"\n"):
                    text = self.refused(data)
                    self.assertTrue(text.startswith(f"a.jsonl:{place + 1}: "), text)
                    self.assertIn("(broken lines: 1)", text)
                    pair = self.read(data, skip_broken=True)
                    self.assertEqual([case.id for case in pair.cases], ["c0", "c1"])
                    self.assertIn(f"a.jsonl:{place + 1}: ", pair.notes[0]["message"])

    def test_a_file_without_a_whole_row_names_the_way_on(self):
        rows = [json.loads(text) for text in both("c0")]
        spread = "\n".join(json.dumps(row, indent=1) for row in rows).encode()
        for data in (spread, json.dumps(rows).encode()[:-9], b"words"):
            text = self.refused(data)
            self.assertIn("); repair the file, ", text)
            self.assertTrue(text.endswith("or make rows of JSON over several lines with convert.py table"), text)
        self.assertTrue(self.refused(b"\x89PNG").startswith("a.jsonl:1: byte 0 is not utf-8 (broken"))
        text = self.refused(spread, skip_broken=True)
        self.assertTrue(text.endswith("a.jsonl has none; broken lines: 12"), text)

    def test_row_that_breaks_a_rule_is_no_broken_line(self):
        self.assertIn("a.jsonl:3: ", self.refused([*both(), line("c1", score=2)], skip_broken=True))

    def test_cut_utf_16_keeps_its_whole_rows(self):
        data = self.plain.encode("utf-16")
        for cut in (4, 12):
            self.assertIn(":6: ", self.refused(data[:-cut]))
            self.assertEqual(len(self.read(data[:-cut], skip_broken=True).cases), 3)
        self.assertIn("is not utf-16-le; save the file as UTF-8", self.refused(data[:-3]))

    def test_packed_logs_and_lists_of_rows_read_alike(self):
        expected = self.read(self.plain.encode())
        rows = [json.loads(text) for text in self.plain.split("\n") if text]
        for data in (gzip.compress(self.plain.encode()), json.dumps(rows).encode(), json.dumps(rows, indent=2).encode(),
                     b"\xef\xbb\xbf " + json.dumps(rows).encode(), gzip.compress(json.dumps(rows).encode()),
                     json.dumps(rows).encode("utf-16"), json.dumps(rows).encode("utf-32-le")):
            pair = self.read(data)
            self.assertEqual((pair[0], pair.baseline.trials), (expected[0], expected.baseline.trials))
            self.assertEqual(pair.baseline.logs[0]["sha256"], hashlib.sha256(data).hexdigest())  # as sha256sum has it
        rows[3]["score"] = "x"
        self.assertIn("a.jsonl: item 4: score 'x'", self.refused(json.dumps(rows).encode()))
        self.assertIn("a.jsonl: damaged", self.refused(gzip.compress(self.plain.encode())[:-5]))

    def test_other_files_are_named_with_the_command_that_reads_them(self):
        for data, kind, command in (
                (b'{"type": "header", "log_version": "1"}\n', "a log", "harness.py replay"),
                (b"id,score\na,1\n", "a table", "convert.py table"),
                (b'{"doc_id": 0, "acc": 1}\n', "samples of lm-eval", "convert.py lm-eval"),
                (b'{"version": 2, "status": "success", "eval": {"task"', "a log of Inspect", "convert.py inspect")):
            for skip_broken in (False, True):
                text = self.refused(data, skip_broken=skip_broken)
                self.assertTrue(text.startswith(f"a.jsonl is {kind}, not a plain trial log; "), text)
                self.assertIn(command, text)

    def test_rows_of_another_kind_are_refused_by_line_with_a_way_to_make_them(self):
        text = self.refused(b'{"id": "a", "output": "x", "score": 1}\n')
        self.assertEqual(text, "a.jsonl:1: task_id None is no name; name the case and the system, as convert.py "
                         "table does")

    def test_file_that_cannot_be_read_is_refused(self):
        for path in (self.folder, os.path.join(self.folder, "none.jsonl")):
            with self.assertRaisesRegex(RunError, "cannot read"):
                trial_logs.read_trial_logs([(None, path)], "A", "B")

    def test_damaged_bytes_never_give_another_exception(self):
        rng = random.Random(5)
        data = self.plain.encode()
        pieces = [b"\0", b"\xff", b'"', b"{", b"}", b"[", b"\n", b"\\ud800", b"1e999", b"null", b"true", b"9" * 40]
        for _ in range(500):
            damaged = bytearray(data)
            for _ in range(rng.randrange(1, 5)):
                at = rng.randrange(len(damaged))
                damaged[at:at + rng.randrange(8)] = rng.choice(pieces)
            try:
                with mock.patch("core.trial_logs.read_bytes", return_value=bytes(damaged)):
                    how = trial_logs.Reading(skip_broken=rng.random() < 0.5)
                    pair = trial_logs.read_trial_logs([(None, "log")], "A", "B", how)
            except RunError:
                continue
            json.dumps([case.id for case in pair.cases], ensure_ascii=False).encode()


class MissingTest(LogTest):
    def gap(self, **options):
        """c0 is whole; c1 has an error in B; c2 is not in B, c3 not in A."""
        return self.read([*both("c0"), *both("c0", 1), line("c1"), line("c1", config="B", error="429 slow down"),
                          *both("c1", 1), line("c2"), line("c3", config="B", score=0)], **options)

    def test_refuse_names_what_is_missing_on_which_side(self):
        with self.assertRaises(RunError) as caught:
            trials.apply_missing(self.gap(), "refuse")
        self.assertEqual(str(caught.exception), (
            "the baseline 'A' lacks 1 of 4 cases (c3), or names them otherwise (--id of convert.py); "
            "the candidate 'B' lacks 1 of 4 cases (c2), or names them otherwise (--id of convert.py); "
            "the candidate 'B' has no score in 1 of its trials (c1 seed 0: 429 slow down): record them, or choose "
            "with --missing: drop leaves them out, zero counts them as 0"))

    def test_long_lists_are_counted(self):
        pair = self.read([line(f"c{i}", config=config) for i in range(9) for config in ("AB" if i == 0 else "A")])
        with self.assertRaisesRegex(RunError, r"lacks 8 of 9 cases \(c1, c2, c3, c4, c5 and 3 more\)"):
            trials.apply_missing(pair, "refuse")

    def test_drop_keeps_what_is_scored_on_both_sides_and_lists_the_rest(self):
        pair, excluded = trials.apply_missing(self.gap(), "drop")
        self.assertEqual([case.id for case in pair.cases], ["c0", "c1"])
        self.assertEqual([[len(row) for row in side.trials] for side in pair.sides], [[2, 2], [2, 1]])
        self.assertEqual(excluded, [{"case_id": "c2", "side": "candidate", "reason": "no trial"},
                                    {"case_id": "c3", "side": "baseline", "reason": "no trial"}])
        self.assertEqual(trials.uneven_trials(pair), [{"case_id": "c1", "baseline": 2, "candidate": 1}])
        self.assertIn("'c1' has seeds 0, 1 and 1 (", trials.unpaired_reason(pair))

    def test_drop_says_why_a_case_went(self):
        rows = [*both("c0"), *[line("c1", seed, "A", None, error=error) for seed, error in enumerate("xyx")]]
        _, excluded = trials.apply_missing(self.read(rows), "drop")
        self.assertEqual(excluded, [{"case_id": "c1", "side": "baseline", "reason": "x, y"},
                                    {"case_id": "c1", "side": "candidate", "reason": "no trial"}])

    def test_zero_counts_what_is_missing_as_zero_with_its_reason(self):
        pair, excluded = trials.apply_missing(self.gap(), "zero")
        self.assertEqual(excluded, [{"case_id": "c3", "side": "baseline", "reason": "no trial"}])
        self.assertEqual([[[trial.score for trial in row] for row in side.trials] for side in pair.sides],
                         [[[0, 0], [1, 0], [1]], [[1, 1], [0, 1], [0]]])
        self.assertEqual(pair.candidate.trials[1][0].reason, "429 slow down")
        self.assertEqual(pair.candidate.trials[2][0], Trial(None, 0, absent=True))

    def test_an_error_called_missing_is_no_absent_trial(self):
        for error in ("missing", "timeout"):
            rows = [line("c0", None, "A", None, error=error), line("c0", None, "B"), *both("c1", None)]
            pair, _ = trials.apply_missing(self.read(rows), "zero")
            self.assertIsNone(trials.unpaired_reason(pair), error)
        lacking, _ = trials.apply_missing(self.read([line("c0", None, "A"), *both("c1", None)]), "zero")
        self.assertEqual(trials.unpaired_reason(lacking), "case 'c0' is on one side only")

    def test_filled_gives_what_is_missing_the_worst_and_the_best_for_the_candidate(self):
        rows = [line("c0", score=0.5), line("c0", seed=1, score=None, error="x"), line("c0", config="B", score=0.5),
                line("c1", config="B")]
        for for_candidate, sides in ((False, [[[Fraction(1, 2), 4]], [[Fraction(1, 2), -2]]]),
                                     (True, [[[Fraction(1, 2), -2]], [[Fraction(1, 2), 4]]])):
            pair = trials.filled(self.read(rows, score_range=(-2, 4)), for_candidate)
            self.assertEqual([case.id for case in pair.cases], ["c0"])
            self.assertEqual([[[trial.score for trial in row] for row in side.trials] for side in pair.sides], sides)

    def test_zero_outside_the_range_is_refused(self):
        rows = [*both("c0", scores=(3, 4)), line("c1", score=5)]
        with self.assertRaisesRegex(RunError, r"0 is outside \[1, 5\]"):
            trials.apply_missing(self.read(rows, score_range=(1, 5)), "zero")

    def test_no_case_left_is_refused(self):
        with self.assertRaisesRegex(RunError, "no case has a score on both sides"):
            trials.apply_missing(self.read([line("c0"), line("c1", config="B")]), "drop")

    def test_whole_pair_is_returned_as_it_is(self):
        pair = self.read(both())
        for policy in ("refuse", "drop", "zero"):
            self.assertEqual(trials.apply_missing(pair, policy), (pair, []))

    def test_uneven_counts_are_those_that_differ_from_the_common_one(self):
        rows = [line("easy", seed, "A") for seed in range(2)] + [line("easy", 0, "B")]
        rows += [line("hard", seed, config, 0) for config, n in (("A", 2), ("B", 9)) for seed in range(n)]
        rows += [text for seed in range(2) for text in both("even", seed)] + both("once")
        self.assertEqual(trials.uneven_trials(self.read(rows)), [{"case_id": "easy", "baseline": 2, "candidate": 1},
                                                                 {"case_id": "hard", "baseline": 2, "candidate": 9},
                                                                 {"case_id": "once", "baseline": 1, "candidate": 1}])

    def test_trials_pair_by_seed_or_tell_why_not(self):
        self.assertIsNone(trials.unpaired_reason(self.read([*both(), *both(seed=1)])))
        pair = self.read([line(seed=0), line(seed=1), line(seed=1, config="B"), line(seed=2, config="B")])
        self.assertEqual(trials.unpaired_reason(pair),
                         "case 'c0' has seeds 0, 1 and 1, 2 (baseline and candidate)")


class GroupsTest(LogTest):
    def test_sources_group_cases_and_a_case_without_one_stands_alone(self):
        rows = [text for task_id, cluster in zip("abcdef", ("s2", None, "s1", "s2", " ", 0))
                for text in both(task_id, cluster=cluster)]
        self.assertEqual(trials.source_groups(self.read(rows)), [0, 1, 2, 0, 3, 4])

    def test_source_named_like_a_place_is_no_lone_case(self):
        rows = [*both("a", cluster="1"), *both("b"), *both("c", cluster=1)]
        self.assertEqual(trials.source_groups(self.read(rows)), [0, 1, 0])

    def test_slices_are_sorted_and_a_missing_tag_is_none(self):
        tags = {"a": {"lang": "fr", "hard": True}, "b": {"lang": ["en", "fr"]}, "c": {"lang": None}, "d": None}
        rows = [text for task_id in tags for text in both(task_id, tags=tags[task_id])]
        members, notes = trials.slices(self.read(rows), ("lang", "hard"))
        self.assertEqual((list(members.items()), notes), (
            [(("hard", "true"), (0,)), (("lang", "en"), (1,)), (("lang", "fr"), (0, 1))], []))

    def test_tags_that_hardly_repeat_are_no_slices_unless_chosen(self):
        def read(values):
            return self.read([text for i, value in enumerate(values)
                              for text in both(f"c{i}", tags={"t": value, "lang": "en"})])

        for values, kept in ((range(40), False), ([i // 2 for i in range(100)], True),
                             ([i // 2 for i in range(102)], False), ([0, 0, 1, 2], True), ([0, 0, 1, 2, 3], False),
                             ([["a", i] for i in range(50)], False), ([["a", i] for i in range(49)], True),
                             ([None, None, None, "x"], False), (["x"], False)):
            members, notes = trials.slices(read(values))
            self.assertEqual("t" in {tag for tag, _ in members}, kept, values)
            if len(values) > 1:
                self.assertEqual([(note["code"], note["message"][-3:]) for note in notes],
                                 [] if kept else [("tags_set_aside", ": t")])
            members, notes = trials.slices(read(values), ["t"])
            self.assertEqual(({tag for tag, _ in members}, notes), ({"t"}, []))
        with self.assertRaisesRegex(RunError, "no case has a tag 'url'; choose with --tag one of: lang, t"):
            trials.slices(read([0]), ["url"])


class CommandTest(LogTest):
    """What compare.py makes of the options that concern the reader."""

    def run_compare(self, rows, *options):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run_command(lambda: compare.main(["A", "B", "--trials", self.file(rows), "--json", *options]))
        return status, out.getvalue() and json.loads(out.getvalue()), err.getvalue()

    def test_tags_are_chosen_by_their_values_or_by_name(self):
        rows = [text for i in range(12) for text in both(f"c{i}", tags={"lang": "fr" if i % 2 else "en", "url": i})]
        _, comparison, err = self.run_compare(rows)
        self.assertEqual(list(comparison["slices"]), ["lang"])
        self.assertEqual(err.count("url"), 1)
        _, comparison, err = self.run_compare(rows, "--tag", "url")
        self.assertEqual((list(comparison["slices"]), len(comparison["slices"]["url"])), (["url"], 12))
        self.assertEqual(self.run_compare(rows, "--tag", "ulr")[0], 1)

    def test_inputs_that_differ_are_refused_or_ignored(self):
        rows = [*both("c0"), line("c1", input="x"), line("c1", config="B", input="y")]
        self.assertEqual(self.run_compare(rows)[0], 1)
        status, comparison, _ = self.run_compare(rows, "--ignore-input")
        self.assertEqual((status, comparison["overall"]["cases"]), (0, 2))
        self.assertIn("inputs_ignored", [warning["code"] for warning in comparison["warnings"]])


class RecordsTest(unittest.TestCase):
    def record(self, name, verdicts, seeds=(1001, 1002), **manifest):
        """Return a run record of verdicts {case id: one a trial}."""
        results = []
        for case_id, row in verdicts.items():
            for trial, verdict in enumerate(row, start=1):
                result = {"case_id": case_id, "split": "dev", "trial": trial, "seed": seeds[trial - 1],
                          "verdict": verdict, "graders": {"x": verdict == "pass"},
                          "metadata": {"prompt_eval_count": 30, "eval_count": 4}, "elapsed_s": 0.5, "at": "now"}
                result |= {"output": {"x": 1}} if verdict != "incomplete" else {
                    "error": {"type": "TruncatedReply", "message": "cut"}, "metadata": {"reply": "{"},
                    "graders": {}, "elapsed_s": None}
                results.append(result)
        system = {"name": name, "version": "1", "mode": "replay", "model": None, "prompt": "p", "tools": None,
                  "index": None, "other": "x"}
        log = {"name": "l.jsonl", "sha256": "ab"}
        task = {"name": "t", "sha256": "12"}
        whole = {"record_version": "1", "case_set": {"name": "set", "sha256": "cd"}, "graders": {"x": "1"},
                 "trials": max(map(len, verdicts.values())), "task": task, "splits": ["dev"], "system": system,
                 "log": log}
        return {"manifest": whole | manifest, "summary": harness.summarize(results), "results": results[::-1]}

    case_set = CaseSet("set", "1", "cd", tuple(
        SetCase(case_id, split, {}, {}, tags) for case_id, split, tags in (
            ("held", "heldout", {}), ("b", "dev", {"source": "s", "variant": "typo", "lang": "en"}), ("a", "dev", {}))))

    def test_a_blank_tag_of_a_case_is_none(self):
        tags = {"source": " ", "lang": "en ", "variant": ""}
        self.case_set = self.case_set._replace(cases=tuple(case._replace(tags=tags) for case in self.case_set.cases))
        record = self.record("old", {"a": ("pass",), "b": ("fail",)})
        pair = trials.from_records((record, record), self.case_set)
        self.assertEqual([(case.source, case.tags) for case in pair.cases], [(None, (("lang", "en"),))] * 2)

    def test_records_become_a_pair_in_the_order_of_the_case_file(self):
        baseline = self.record("old", {"a": ("pass", "fail"), "b": ("incomplete", "pass")})
        candidate = self.record("new", {"a": ("pass", "pass"), "b": ("fail", "pass")}, log=None,
                                shards=[{"name": f"{i}.jsonl", "sha256": "ef", "shard": f"{i}/2"} for i in (1, 2)])
        pair = trials.from_records((baseline, candidate), self.case_set)
        self.assertEqual(pair.cases, [trials.ComparedCase("b", "s", (("lang", "en"), ("variant", "typo")), {}, {}),
                                      trials.ComparedCase("a", None, (), {}, {})])
        self.assertEqual(pair.baseline.trials[0], [
            Trial(1001, None, "TruncatedReply", None, trials.Measures(), "now", 'cut\n{"reply": "{"}'),
            Trial(1002, 1, None, '{"x": 1}', (None, 0.5, 34.0), "now", "x passes")])
        self.assertEqual([[trial.score for trial in row] for row in pair.candidate.trials], [[0, 1], [1, 1]])
        self.assertEqual(" ".join(pair.baseline.description), "name version mode model prompt tools index")
        self.assertEqual([side.description["name"] for side in pair.sides], ["old", "new"])
        self.assertEqual([side.logs for side in pair.sides], [
            [{"name": "l.jsonl", "sha256": "ab"}], [{"name": f"{i}.jsonl", "sha256": "ef"} for i in (1, 2)]])
        self.assertEqual((pair.score_range, pair.case_set, pair.notes), ((0, 1), {"name": "set", "sha256": "cd"}, []))
        self.assertEqual((pair.task, pair.other_load), ({"name": "t", "sha256": "12"}, None))
        self.assertIsNone(trials.unpaired_reason(pair))

    def test_answer_that_cannot_be_graded_is_incomplete_with_a_reason(self):
        record = self.record("old", {"a": ("fail", "pass"), "b": ("pass", "pass")})
        next(row for row in record["results"] if row["verdict"] == "fail").update(verdict="incomplete", graders={})
        record["summary"] = harness.summarize(record["results"])
        pair = trials.from_records((record, record), self.case_set)
        self.assertEqual(pair.baseline.trials[1][0][1:4], (None, "UngradableOutput", '{"x": 1}'))

    def test_counts_beyond_measure_are_not_measured(self):
        record = self.record("old", {"a": ("pass", "pass"), "b": ("pass", "pass")})
        record["results"][0]["metadata"]["eval_count"] = 10**400
        pair = trials.from_records((record, record), self.case_set)
        self.assertEqual([trial.measures for trial in pair.baseline.trials[0]], [(None, 0.5, 34.0), (None, 0.5, None)])

    def test_measures_are_those_that_the_system_wrote(self):
        record = self.record("old", {"a": ("pass", "pass"), "b": ("pass", "pass")})
        for row in record["results"]:
            row["metadata"] = {"tokens": 7, "latency_s": 0.25, "cost_usd": 0.001, "eval_count": 9,
                               "prompt_eval_count": 9}
        record["results"][-1]["metadata"] = {"tokens": "7", "latency_s": True, "cost_usd": None}
        pair = trials.from_records((record, record), self.case_set)
        self.assertEqual([trial.measures for trial in pair.baseline.trials[1]],
                         [trials.Measures(), (0.001, 0.25, 7.0)])

    def test_other_servers_loose_seeds_and_added_trials_are_told(self):
        def notes(one, other):
            verdicts = {"a": ("pass", "pass"), "b": ("pass", "pass")}
            records = self.record("old", verdicts, **one), self.record("new", verdicts, **other)
            pair = trials.from_records(records, self.case_set)
            return pair, {note["code"]: note["message"] for note in pair.notes}

        def server(host, version="0.24.0"):
            return {"server": {"host": host, "version": version, "digest": "ab"}}

        self.assertEqual(notes(server("a:1"), server("a:2"))[1], {})  # a port is no other machine
        self.assertEqual(notes(server("[::1]:1"), server("[::1]:2"))[1], {})
        pair, told = notes(server("a:1"), server("b:1") | {"workers": 4})
        self.assertEqual(told, {"other_servers": "the two runs had other servers: a 0.24.0 and b 0.24.0"})
        self.assertEqual(pair.candidate.description["servers"], [{"host": "b:1", "version": "0.24.0"}])
        self.assertEqual((pair.candidate.description["workers"], "workers" in pair.baseline.description), (4, False))
        self.assertIn("a 0.24.0 and a 0.25.0", notes(server("a:1"), server("a:1", "0.25.0"))[1]["other_servers"])
        shards = {"log": None, "shards": [{"name": name, "sha256": "ef", **server(f"{name}:1")} for name in "ab"]}
        self.assertIn("a 0.24.0, b 0.24.0 and a 0.24.0", notes(shards, server("a:1"))[1]["other_servers"])
        self.assertIn("servers: none and b 0.24.0", notes({}, server("b:1"))[1]["other_servers"])
        self.assertIn("candidate", notes({}, {"settings": {"seed_kept": False}})[1]["seeds_in_name_only"])
        self.assertEqual(notes({"settings": 7, "server": 7}, {})[1], {})
        named = {"settings": {"prompt": "Sort {mesage}, {a} or {\"b\"}.", "fields": []}}
        self.assertEqual(notes(named, {"settings": {"prompt": "{x} {y}", "fields": ["x"]}})[1], {
            "unfilled_fields": "a prompt names what is no field of the input, so it was sent as it stands, as the "
                               "system message: {mesage} (baseline), {a} (baseline)"})
        latex = {"settings": {"prompt": r"Write \boxed{answer} and \frac{1}{2}.", "fields": []}}
        self.assertEqual(notes(latex, {})[1], {})
        again = notes({"task_changed": "0" * 64}, {"cases_changed": "0" * 64, "cases_left_out": 2})[1]["graded_again"]
        self.assertEqual(again.partition(": ")[2], "baseline and candidate (cases left out: 2)")
        pair, told = notes({"extended": [3, 5]}, {"extended": [3]})
        self.assertEqual(told["extended"], "trials were added to a finished run: the baseline was extended after 3 "
                         "trials; the baseline was extended after 5 trials; the candidate was extended after 3 trials")
        self.assertEqual(pair.baseline.description["extended"], [3, 5])

    def test_a_server_that_a_run_met_later_is_told(self):
        verdicts = {"a": ("pass", "pass"), "b": ("pass", "pass")}
        records = [self.record(name, verdicts, server={"host": "a:1", "version": "0.24.0"}) for name in ("old", "new")]
        for record in records:
            for row in record["results"]:
                row["metadata"] = {"server": "a:2/v1"}
        self.assertEqual(trials.from_records(records, self.case_set).notes, [])
        records[1]["results"][-1]["metadata"] = {"server": "b:1"}
        [note] = trials.from_records(records, self.case_set).notes
        self.assertEqual(note["message"], "the two runs had other servers: a 0.24.0 and a 0.24.0, b")

    def test_several_models_that_answered_for_one_are_told(self):
        def told(old, new, **manifest):
            records = []
            for name, served in (("old", old), ("new", new)):
                records.append(self.record(name, {"a": ("pass", "pass"), "b": ("pass", "pass")},
                                           **(manifest if name == "new" else {})))
                for row, fingerprint in zip(records[-1]["results"], served):
                    row["metadata"] = {"served": "m", "system_fingerprint": fingerprint} if fingerprint else {}
            notes = trials.from_records(records, self.case_set).notes
            return [note["message"].partition(": ")[2] for note in notes if note["code"] == "other_models_served"]

        self.assertEqual(told(["a"] * 4, ["a"] * 4), [])
        self.assertEqual(told(["a"] * 4, [None] * 4), [])
        self.assertEqual(told(["a", "b", "a", "a"], [None] * 4), ["m a, m b and none"])
        self.assertEqual(told(["a"] * 4, ["a", "a", "a", "b"]), ["m a and m a, m b"])
        self.assertEqual(told(["a"] * 4, ["b"] * 4), ["m a and m b"])
        swapped = {"system": {"name": "new", "version": "1", "mode": "replay", "model": "another"}}
        self.assertEqual(told(["a"] * 4, ["b"] * 4, **swapped), [])

    def test_records_without_seeds_pair_by_place_with_a_note(self):
        record = self.record("old", {"a": ("pass", "fail"), "b": ("pass", "pass")}, seeds=(None, None), log=None)
        pair = trials.from_records((record, record), self.case_set)
        self.assertEqual(([note["code"] for note in pair.notes], pair.baseline.logs), (["no_seeds"], []))
        self.assertIsNone(trials.unpaired_reason(pair))


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(module) for module in (trials, trial_logs))
    return tests


if __name__ == "__main__":
    unittest.main()
