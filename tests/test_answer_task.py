"""Is an answer graded by what its case expects, and what cannot be expected refused?"""

import doctest
import unittest

import answer_task
import harness
from harness import REJECTED, Case, CaseError, CaseSet

TASK = harness.load_task("answer_task")


def verdict(expected, answer):
    """Return the verdict of an answer and what the graders said."""
    case = Case("c", "dev", {"text": "?"}, expected, {})
    answer_task.check_expected(expected)
    return harness.grade(TASK, case, {"output": answer, "metadata": {}})


class GraderTest(unittest.TestCase):
    def assert_graded(self, expected, right, wrong):
        for answers, passes in ((right, "pass"), (wrong, "fail")):
            for answer in answers:
                with self.subTest(expected=expected, answer=answer):
                    self.assertEqual(verdict(expected, answer)[0], passes)

    def test_equals_is_the_whole_answer_without_its_ends(self):
        self.assert_graded({"equals": "billing"}, ["billing", " billing\n"], ["Billing", "billing.", "", "bill ing"])
        self.assert_graded({"equals": " Straße ", "ignore_case": True}, ["STRASSE", "straße"], ["strase"])

    def test_any_of_is_one_of_several_whole_answers(self):
        self.assert_graded({"any_of": ["a", "b c"]}, ["a", "b c\n"], ["A", "a b c", ""])
        self.assert_graded({"any_of": ["a", "B"], "ignore_case": True}, ["A", "b"], ["c"])

    def test_contains_is_a_part_and_of_a_list_all(self):
        self.assert_graded({"contains": "30 days"}, ["within 30 days."], ["within 30 Days", "30"])
        self.assert_graded({"contains": ["a", "b"], "ignore_case": True}, ["B then A"], ["a", "b"])

    def test_matches_searches_the_first_characters(self):
        self.assert_graded({"matches": r"^[A-Z]{2}-\d+$"}, ["AB-12", "\nAB-12 "], ["ab-12", "AB-12."])
        self.assert_graded({"matches": "yes", "ignore_case": True}, ["Well, YES"], ["no"])
        self.assert_graded({"matches": "end"}, ["x" * 1997 + "end"], ["x" * 1998 + "end", "x" * 9999 + "end"])

    def test_json_has_these_fields_equal_in_kind(self):
        self.assert_graded({"json": {"category": "billing", "urgent": True, "n": 1}},
                           ['{"category": "billing", "urgent": true, "n": 1.0, "more": null}'],
                           ['{"category": "billing", "urgent": 1, "n": 1}', '{"category": "billing", "urgent": true}',
                            "billing", "[]", '```json\n{"category": "billing", "urgent": true, "n": 1}\n```', ""])
        self.assert_graded({"json": {"a": [1, {"b": None}]}}, ['{"a": [1, {"b": null}]}'],
                           ['{"a": [1, {"b": null, "c": 1}]}', '{"a": [1]}', '{"a": [true, {"b": null}]}', '{"a": 1}'])

    def test_number_is_near_enough_without_rounding_noise(self):
        self.assert_graded({"number": 3.5, "tolerance": 0.1}, ["3.6", "3.4", " 3.5\n", "+3.50", "35e-1"],
                           ["3.61", "3.39", "about 3.5", "", "3,5", "nan", "inf", "1_0", "３.5", "1e9999999", "9" * 99])
        self.assert_graded({"number": 42}, ["42", "42.0", "4.2E1"], ["42.0001", "-42", "0x2a"])
        self.assert_graded({"number": 1e22, "tolerance": 0}, ["1e22", "1" + "0" * 22], ["1e21"])

    def test_all_graders_that_a_case_names_must_pass_and_no_other_speaks(self):
        expected = {"contains": "refund", "matches": r"\d+ days"}
        self.assertEqual(verdict(expected, "refund in 3 days"), ("pass", {"contains": True, "matches": True}))
        self.assertEqual(verdict(expected, "refund soon"), ("fail", {"contains": True, "matches": False}))
        self.assertEqual(verdict({"equals": "a"}, "a"), ("pass", {"equals": True}))

    def test_a_rejection_is_right_where_one_is_expected(self):
        rejected = {"error": {"type": "Rejection", "message": "blank"}, "metadata": {}}
        for expected, outcome, found in ((REJECTED, rejected, "pass"), ({"equals": "a"}, rejected, "fail"),
                                         (REJECTED, {"output": "a", "metadata": {}}, "fail")):
            self.assertEqual(harness.grade(TASK, Case("c", "dev", {}, expected, {}), outcome)[0], found)

    def test_an_answer_that_is_no_text_is_incomplete(self):
        for answer in (None, 1, {"a": 1}, ["a"], True):
            self.assertEqual(verdict({"equals": "a"}, answer), ("incomplete", {}))


class ExpectedTest(unittest.TestCase):
    def test_what_may_be_expected(self):
        for expected in (REJECTED, {"equals": "a"}, {"any_of": ["a"]}, {"contains": "a"}, {"contains": ["a"]},
                         {"json": {"a": 1}},
                         {"matches": ""}, {"number": 0, "tolerance": 0}, {"number": -1.5e-7},
                         {"equals": "a", "json": {"b": 2}}):
            answer_task.check_expected(expected)

    def test_what_may_not_is_refused_by_name(self):
        for expected, words in (
                ({}, "names a grader"), ("a", "names a grader"), (None, "names a grader"),
                ({"ignore_case": True}, "names a grader"),
                ({"equal": "a", "equals": "a"}, "'equal'"), ({"rejected": True, "equals": "a"}, "'rejected'"),
                ({"equals": "a", "tolerance": 1}, "'tolerance'"), ({"number": 1, "ignore_case": True}, "'ignore_case'"),
                ({"equals": ""}, "equals is '', not text"), ({"equals": 1}, "not text"),
                ({"any_of": []}, "a list of texts"),
                ({"any_of": ["a", 1]}, "a list of texts"), ({"contains": [" "]}, "text or a list"),
                ({"json": {}}, "with fields"),
                ({"matches": "("}, "a regular expression"), ({"matches": 1}, "a regular expression"),
                ({"number": True}, "a number"), ({"number": "1"}, "a number"), ({"number": float("inf")}, "a number"),
                ({"number": 1, "tolerance": -0.1}, "from 0 up"), ({"equals": "a", "ignore_case": 1}, "true or false")):
            with self.subTest(expected), self.assertRaises(ValueError) as caught:
                answer_task.check_expected(expected)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(CaseError, "case 'c': expected is an object whose equals is 1, not text"):
            harness.check_cases(CaseSet("s", "1", "0", (Case("c", "dev", {}, {"equals": 1}, {}),)), TASK)


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(answer_task))
    return tests


if __name__ == "__main__":
    unittest.main()
