"""Are the ends of trials counted as their definitions say? By hand, by every draw and every way to grade.

    $ python3 -m unittest tests.test_outcomes
"""

import doctest
import itertools
import random
import unittest
from fractions import Fraction

from core import outcomes
from core.files import RunError
from core.trials import ComparedCase, Pair, Side, Trial
from tests.test_chance import made_pair
from tests.test_decide import AIRLINE_SCORES


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(outcomes))
    return tests


def trial(score, seed=1, output=None, at=None, reason=None):
    return Trial(seed, score, reason, output, at=at)


def side(*cases):
    return Side({}, [list(case) for case in cases], [])


class ConsistencyTest(unittest.TestCase):
    def test_pass_hat_k_equals_every_draw_of_trials(self):
        rng = random.Random(27)
        scores = [[rng.randint(0, 1) for _ in range(rng.randint(3, 5))] for _ in range(6)]
        found = outcomes.consistency(made_pair(scores, scores))["baseline"]["pass_hat_k"]
        for k in (1, 2, 3):
            draws = [[all(drawn) for drawn in itertools.combinations(case, k)] for case in scores]
            self.assertAlmostEqual(found[k - 1], sum(sum(row) / len(row) for row in draws) / 6)
        self.assertEqual(len(found), min(map(len, scores)))

    def test_airline_comes_out_as_published(self):
        # tau-bench (Yao et al. 2024): pass^1 to pass^4 of gpt-4o on the airline tasks
        found = outcomes.consistency(made_pair(AIRLINE_SCORES, AIRLINE_SCORES))["candidate"]
        self.assertEqual([round(value, 3) for value in found["pass_hat_k"]], [0.42, 0.273, 0.22, 0.2])
        self.assertEqual([found[key] for key in ("always", "sometimes", "never")], [10, 26, 14])

    def test_cases_newly_unsteady_and_newly_steady_are_named(self):
        found = outcomes.consistency(made_pair([[2, 2], [1, 2], [0, 2], [1, 1]], [[2, 1], [2, 2], [0, 2], [0, 0]],
                                             score_range=(0, 2)))
        self.assertEqual((found["newly_unsteady"], found["newly_steady"]), (["c0"], ["c1"]))
        self.assertEqual(found["baseline"], {"always": 1, "sometimes": 2, "never": 1, "pass_hat_k": [0.5, 0.25]})
        single = outcomes.consistency(made_pair([[1]], [[0]]))
        self.assertEqual((single["candidate"]["pass_hat_k"], single["newly_unsteady"]), ([0], []))
        self.assertIn("a case has a single trial", single["reason"])

    def test_a_case_that_must_pass_fails_for_certain_where_a_trial_says_so_or_the_model_gave_no_answer(self):
        for manifests, after, certain in (((), [1, None], False), ((), [0, None], True),
                                          ([{"task": {"name": "t"}}] * 2, [1, None], True)):
            case = ComparedCase("c1", None, (("k", "v"),))
            sides = [Side({}, [[Trial(t, score) for t, score in enumerate(scores)]], []) for scores in ([1, 1], after)]
            pair = Pair([case], *sides, (0, 1), {}, [], manifests)
            self.assertEqual(outcomes.must_pass(pair, [("k", "v")])[1], {"c1": certain})
            self.assertEqual(outcomes.must_pass(pair, []), ([], None))

    def test_must_pass_names_the_cases_that_do_not(self):
        pair = made_pair([[1, 1]] * 4, [[1, 1], [1, Fraction(9, 10)], [1, None], [1]], tags=[("kind", "safety")])
        (found,), _ = outcomes.must_pass(pair, [("kind", "safety")])
        self.assertEqual(found, {"tag": "kind", "value": "safety", "cases": 4, "failed": [
            {"case_id": "c1", "passed": 1, "trials": 2}, {"case_id": "c2", "passed": 1, "trials": 2},
            {"case_id": "c3", "passed": 1, "trials": 2}]})
        absent = pair._replace(candidate=pair.candidate._replace(trials=[[], *pair.candidate.trials[1:]]))
        self.assertEqual(outcomes.must_pass(absent, [("kind", "safety")])[0][0]["failed"][0],
                         {"case_id": "c0", "passed": 0, "trials": 2})
        with self.assertRaisesRegex(RunError, "kind=safe: no case has this tag value"):
            outcomes.must_pass(pair, [("kind", "safe")])


def pair_of(baseline, candidate, score_range):
    cases = [ComparedCase(f"c{i}", None, ()) for i in range(len(baseline))]
    return Pair(cases, side(*baseline), side(*candidate), score_range, {}, [])


class IncompleteTest(unittest.TestCase):
    def test_bounds_are_the_extremes_of_every_way_to_grade(self):
        cut, lost = trial(None, reason="TruncatedReply"), trial(None, reason="timeout")
        baseline = [[trial(1), cut], [trial(0), trial(1)], [], [trial(1), trial(Fraction(1, 2))]]
        candidate = [[trial(1), trial(0)], [lost, cut], [trial(1)], [trial(0), lost]]
        pair = pair_of(baseline, candidate, (0, 2))
        found = outcomes.incomplete(pair, outcomes.unscored(pair))
        self.assertEqual(found["baseline"], {"trials": 2, "reasons": {"TruncatedReply": 1, "missing": 1}})
        self.assertEqual(found["candidate"], {"trials": 3, "reasons": {"TruncatedReply": 1, "timeout": 2}})
        self.assertEqual(outcomes.unscored(pair), {
            "c0": [["TruncatedReply"], []], "c1": [[], ["timeout", "TruncatedReply"]], "c2": [["missing"], []],
            "c3": [[], ["timeout"]]})
        differences = []
        for fill in itertools.product((0, 2), repeat=5):
            rest = iter(fill)
            means = [Fraction(sum(sum((Fraction(next(rest) if t.score is None else t.score) for t in case or [cut]),
                                      Fraction(0)) / len(case or [cut]) for case in trials), 4)
                     for trials in (baseline, candidate)]
            differences.append(means[1] - means[0])
        self.assertEqual(found["difference_bounds"], [min(differences), max(differences)])

    def test_nothing_incomplete_has_no_bounds(self):
        pair = pair_of([[trial(1)]], [[trial(0)]], (0, 1))
        self.assertEqual(outcomes.incomplete(pair, outcomes.unscored(pair)),
                         {"baseline": {"trials": 0, "reasons": {}}, "candidate": {"trials": 0, "reasons": {}},
                          "difference_bounds": None})


if __name__ == "__main__":
    unittest.main()
