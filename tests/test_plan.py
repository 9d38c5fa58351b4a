"""Does plan.py name the numbers of sources that its formulas give, and refuse what has no answer?"""

import contextlib
import doctest
import io
import itertools
import unittest

import plan
from core import decide


def run(*argv):
    """Return the lines that plan.py prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        plan.main(argv)
    return out.getvalue().splitlines()


class PlanTest(unittest.TestCase):
    def test_sources_to_find_is_the_first_number_that_is_enough(self):
        for sd, gap in itertools.product((0.05, 0.2, 1.0), (0.05, 0.3, 1.0)):
            def reach(count, ratio=sd / gap):
                return ratio * (decide.t_quantile(0.975, count - 1) + decide.t_quantile(0.8, count - 1)) / count ** 0.5
            found = plan.sources_to_find(sd, gap)
            self.assertLessEqual(reach(found), 1)
            self.assertTrue(found == 2 or reach(found - 1) > 1)

    def test_printed_sample_sizes(self):
        # A t test of one sample at 5%, power 80%: effects of 0.2, 0.5 and 0.8 deviations take 199, 34 and 15 (G*Power).
        self.assertEqual([plan.sources_to_find(1, effect) for effect in (0.2, 0.5, 0.8)], [199, 34, 15])

    def test_no_line_is_below_what_any_claim_takes(self):
        counts = [int(line.split()[0]) for line in run("--sd", "0.001", "--gap", "1", "--margin", "1")[1:]]
        self.assertEqual(len(counts), 4)
        self.assertEqual(min(counts), 6)

    def test_less_noise_takes_no_more_sources(self):
        def counts(sd):
            lines = run("--sd", sd, "--gap", "0.05", "--margin", "0.05")[1:]
            return [int(line.split()[0].replace(",", "")) for line in lines]

        for less, more in itertools.pairwise(map(counts, ("0.05", "0.1", "0.2", "0.4"))):
            self.assertTrue(all(a <= b for a, b in zip(less, more, strict=True)))

    def test_other_units_of_the_score_take_as_many_sources(self):
        one, other = (run("--sd", sd, "--gap", gap, "--margin", gap, *more)[1:] for sd, gap, more in (
            ("0.15", "0.05", ()), ("15", "5", ("--width", "100"))))
        self.assertEqual([line.split()[0] for line in one], [line.split()[0] for line in other])

    def test_without_margin_no_line_speaks_of_one(self):
        self.assertEqual(len(run("--sd", "0.2", "--gap", "0.1")), 4)

    def test_what_has_no_answer_is_bad_usage(self):
        for argv in (("--sd", "0", "--gap", "1"), ("--sd", "1", "--gap", "-1"), ("--sd", "nan", "--gap", "1"),
                     ("--sd", "1", "--gap", "0.0001"), ("--sd", "1", "--gap", "1", "--margin", "0"), ("--gap", "1"),
                     ("--sd", "15", "--gap", "5", "--margin", "5"),
                     ("--sd", "10", "--gap", "1", "--margin", "0.011", "--width", "100000")):
            with self.subTest(argv), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit) as stopped:
                    plan.main(argv)
            self.assertEqual(stopped.exception.code, 2)


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(plan))
    return tests
