"""Is an answer judged by what the case expects, do the rules hold, and is the bundled case set what it says it is?"""

import difflib
import doctest
import os
import re
import sys
import unittest
from collections import Counter


import harness
import triage_task
from harness import Case

CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases-robustness.json")
VARIANTS = {"": "original", "--typo": "typo", "--uppercase": "uppercase", "--greeting": "greeting",
            "--emphasis": "emphasis", "--es": "translation"}


def answer(category="billing", needs_human=False):
    return {"category": category, "needs_human": needs_human}


def rules_on(text):
    """Return the answer of the keyword rules to a message."""
    output, metadata = triage_task.rules.respond(Case("c", "dev", {"text": text}, {}, {}), 1)
    assert metadata == {}
    return output


class AnswerTest(unittest.TestCase):
    def test_each_category_with_either_flag_is_an_answer(self):
        for category in ("billing", "delivery", "account", "other"):
            for needs_human in (True, False):
                triage_task.check_answer(answer(category, needs_human))

    def test_what_is_no_answer_is_refused_and_the_fault_named(self):
        for value, said in ((None, "not an object"), ("billing", "not an object"), ([answer()], "not an object"),
                            ({"category": "billing"}, "not an object"), (answer() | {"why": "x"}, "not an object"),
                            (answer("Billing"), "'Billing' is none of billing, delivery, account, other"),
                            (answer(None), "None is none of"), (answer(["billing"]), "is none of"),
                            (answer(needs_human="false"), "'false' is not true or false"),
                            (answer(needs_human=0), "0 is not true or false"),
                            (answer(needs_human=None), "None is not true or false")):
            with self.subTest(value), self.assertRaises(ValueError) as caught:
                triage_task.check_answer(value)
            self.assertIn(said, str(caught.exception))

    def test_a_case_may_expect_an_answer_or_a_rejection_and_nothing_else(self):
        triage_task.check_expected(answer())
        triage_task.check_expected({"rejected": True})
        for value in ({"rejected": False}, {"rejected": True} | answer(), {}, None):
            with self.subTest(value), self.assertRaises(ValueError):
                triage_task.check_expected(value)


class GraderTest(unittest.TestCase):
    def grade(self, expected, outcome):
        task = harness.load_task("triage_task")
        return harness.grade(task, Case("c", "dev", {}, expected, {}), outcome)

    def test_each_field_is_graded_by_itself(self):
        for given, verdict, category, needs_human in (
                (answer("billing", True), "pass", True, True), (answer("other", True), "fail", False, True),
                (answer("billing", False), "fail", True, False), (answer("other", False), "fail", False, False)):
            with self.subTest(given):
                self.assertEqual(self.grade(answer("billing", True), {"output": given}),
                                 (verdict, {"category": category, "needs_human": needs_human}))

    def test_graders_are_named_and_versioned(self):
        self.assertEqual({name: version for name, (version, _) in triage_task.GRADERS.items()},
                         {"category": "1", "needs_human": "1"})

    def test_a_rejection_is_right_only_where_it_is_expected(self):
        rejected = {"error": {"type": "Rejection", "message": "the message is blank"}}
        self.assertEqual(self.grade({"rejected": True}, rejected), ("pass", {"rejection": True}))
        self.assertEqual(self.grade(answer(), rejected), ("fail", {"rejection": False}))
        self.assertEqual(self.grade({"rejected": True}, {"output": answer()}), ("fail", {"rejection": False}))

    def test_no_answer_is_incomplete_and_never_a_fail(self):
        cut = {"error": {"type": "TruncatedReply", "message": "cut off"}}
        for expected, outcome in ((answer(), cut), ({"rejected": True}, cut), (answer(), {"output": None}),
                                  (answer(), {"output": {"category": "billing"}})):
            with self.subTest(outcome, expected=expected):
                self.assertEqual(self.grade(expected, outcome), ("incomplete", {}))


class RulesTest(unittest.TestCase):
    def test_a_keyword_decides_the_category(self):
        for text, category in (("The courier lost it", "delivery"), ("I was charged twice", "billing"),
                               ("I forgot my password", "account"), ("Do you sell lamps?", "other"),
                               ("¿Dónde está mi PAQUETE?", "delivery"), ("Quiero un reembolso", "billing")):
            with self.subTest(text):
                self.assertEqual(rules_on(text), answer(category))

    def test_most_hits_win_and_a_tie_goes_to_the_first(self):
        self.assertEqual(rules_on("parcel, tracking, refund")["category"], "delivery")
        self.assertEqual(rules_on("parcel and refund")["category"], "billing")

    def test_somebody_else_needs_a_human(self):
        self.assertEqual(rules_on("Someone changed my password"), answer("account", True))
        self.assertEqual(rules_on("Alguien entró en mi cuenta"), answer("account", True))

    def test_blank_and_missing_messages_are_rejected_by_name(self):
        for case_input, said in (({}, "missing"), ({"text": None}, "missing"), ({"text": 7}, "missing"),
                                 ({"text": ""}, "blank"), ({"text": " \n\t\u3000"}, "blank")):
            with self.subTest(case_input), self.assertRaises(triage_task.Rejection) as caught:
                triage_task.rules.respond(Case("c", "dev", case_input, {}, {}), 1)
            self.assertIn(said, str(caught.exception))

    def test_the_rules_are_a_system(self):
        system = harness.load_system("triage_task:rules")
        self.assertEqual([getattr(system, field) for field in harness.SYSTEM_FIELDS],
                         ["triage-rules", "1", "offline", None, None, None, None])


class BundledCasesTest(unittest.TestCase):
    """The shape that the README and every figure of the bundled runs rest on."""

    @classmethod
    def setUpClass(cls):
        cls.set = harness.load_cases(CASES)
        cls.dev, cls.heldout = cls.set.of(["dev"]), cls.set.of(["heldout"])
        cls.by_id = {case.id: case for case in cls.set.cases}

    def variants(self, variant):
        """Yield (original message, its variant) over the sources of both splits."""
        for case in self.set.cases:
            if case.tags["variant"] == variant:
                yield self.by_id[case.tags["source"]].input["text"], case.input["text"]

    def test_the_task_can_grade_every_case(self):
        harness.check_cases(self.set, harness.load_task("triage_task"))

    def test_dev_is_44_cases_of_9_sources_7_of_them_with_five_variants(self):
        sizes = Counter(case.tags["source"] for case in self.dev)
        self.assertEqual(len(self.dev), 44)
        self.assertEqual(sorted(sizes.values()), [1, 1] + [6] * 7)
        self.assertLessEqual({"password-changed", "product-advice", "charged-after-closing"}, set(sizes))
        self.assertEqual({case.id for case in self.dev if case.expected == {"rejected": True}},
                         {source for source, size in sizes.items() if size == 1})

    def test_the_two_without_variants_are_the_blank_and_the_missing_message(self):
        rejected = [case.input.get("text") for case in self.dev if case.expected == {"rejected": True}]
        self.assertEqual([text if text is None else text.strip() for text in rejected], ["", None])

    def test_heldout_has_at_least_5_other_sources(self):
        sources = {case.tags["source"] for case in self.heldout}
        self.assertGreaterEqual(len(sources), 5)
        self.assertFalse(sources & {case.tags["source"] for case in self.dev})

    def test_file_order_is_source_by_source_with_the_original_first(self):
        seen = list(dict.fromkeys((case.split, case.tags["source"]) for case in self.set.cases))
        in_order = sorted(self.set.cases, key=lambda case: seen.index((case.split, case.tags["source"])))
        self.assertEqual(list(self.set.cases), in_order)
        for split, source in seen:
            ids = [case.id for case in self.set.cases if case.tags["source"] == source]
            self.assertEqual(ids, [source + ending for ending in VARIANTS][:len(ids)], split)
            self.assertIn(len(ids), (1, 6))

    def test_tags_follow_from_the_id(self):
        for case in self.set.cases:
            variant = VARIANTS[case.id.removeprefix(case.tags["source"])]
            self.assertEqual(case.tags, {"language": "es" if variant == "translation" else "en", "variant": variant,
                                         "source": case.tags["source"]})

    def test_variants_of_a_source_expect_the_same(self):
        for case in self.set.cases:
            self.assertEqual(case.expected, self.by_id[case.tags["source"]].expected, case.id)

    def test_every_category_and_both_flags_are_expected(self):
        for cases in (self.dev, self.heldout):
            expected = [case.expected for case in cases if case.expected != {"rejected": True}]
            self.assertEqual({item["category"] for item in expected}, set(triage_task.CATEGORIES))
            self.assertEqual({item["needs_human"] for item in expected}, {True, False})

    def test_no_message_stands_twice(self):
        texts = [case.input["text"] for case in self.set.cases if "text" in case.input]
        self.assertEqual(len(texts), len(set(texts)))

    def test_uppercase_is_the_original_in_capitals(self):
        for original, text in self.variants("uppercase"):
            self.assertEqual(text, original.upper())
            self.assertNotEqual(text, original)

    def test_greeting_holds_the_original_word_for_word(self):
        for original, text in self.variants("greeting"):
            self.assertIn(original, text)
            self.assertGreater(len(text), len(original) + 3)

    def test_emphasis_has_the_same_words_louder(self):
        for original, text in self.variants("emphasis"):
            letters, louder = (re.sub(r"[^\w]", "", item) for item in (original, text))
            self.assertEqual(louder.lower(), letters.lower())
            self.assertTrue(louder != letters and re.search(r"[*!]", text), text)

    def test_typos_change_several_words_and_leave_the_message_readable(self):
        for original, text in self.variants("typo"):
            wrong = set(re.findall(r"[^\W\d]+", text.lower())) - set(re.findall(r"[^\W\d]+", original.lower()))
            self.assertGreaterEqual(len(wrong), 4, text)
            same = difflib.SequenceMatcher(None, original.lower(), text.lower(), autojunk=False).ratio()
            self.assertGreater(same, 0.85, text)

    def test_translations_are_spanish(self):
        for original, text in self.variants("translation"):
            words = set(re.findall(r"\w+", text.lower()))
            self.assertGreaterEqual(len(words & {"que", "de", "la", "el", "en", "y", "no", "lo", "por", "a"}), 4, text)
            self.assertFalse(words & {"the", "and", "is", "my", "it"}, text)
            self.assertNotEqual(text, original)

    def test_the_rules_get_some_right_and_some_wrong(self):
        record = harness.run_offline(triage_task.rules, harness.load_task("triage_task"), self.set, {
            "splits": ["dev"], "trials": 1, "shard": None, "workers": 1, "started_at": ""})
        self.assertEqual(harness.format_counts(record),
                         "triage-rules 1 on dev: 30 of 44 trials pass, 14 fail, 0 incomplete")


def load_tests(loader, tests, pattern):
    if sys.flags.optimize < 2:  # which strips docstrings
        tests.addTests(doctest.DocTestSuite(triage_task))
    return tests


if __name__ == "__main__":
    unittest.main()
