"""Are the figures of a slice, and of a source, those of its cases alone?

    $ python3 -m unittest tests.test_slices
"""

import unittest
from fractions import Fraction

from core import figures, intervals
from core.trials import ComparedCase, Pair, Side, Trial


def compared(gains, kinds, sources=None):
    """Return a comparison in which case i gains gains[i] of four trials."""
    sides = []
    for name, passes in (("A", [0] * len(gains)), ("B", gains)):
        trials = [[Trial(t, int(t < passed)) for t in range(4)] for passed in passes]
        sides.append(Side({"name": name}, trials, []))
    sources = sources or [f"source {i}" for i in range(len(kinds))]
    cases = [ComparedCase(f"c{i:02}", source, (("kind", kind),))
             for i, (source, kind) in enumerate(zip(sources, kinds, strict=True))]
    return figures.compare_pair(Pair(cases, *sides, (0, 1), {"name": "made", "sha256": ""}, []))


def kinds_of(*made):
    """Return the slices by kind of such a comparison."""
    return compared(*made)["slices"]["kind"]


class SliceTest(unittest.TestCase):
    def test_differences_that_share_a_factor_count_as_they_are(self):
        even, odd = [0, 2, 2, 4, 2, 0, 2, 4], [1, 3, 0, 1, 2, 3, 1, 0]
        found = kinds_of(even + odd, ["even"] * 8 + ["odd"] * 8)
        for name, gains in (("even", even), ("odd", odd)):
            self.assertEqual(found[name]["difference"], round(sum(gains) / 32, 4))
            for key, interval in (("exact_interval_95", intervals.exact_interval(gains, 4).interval),
                                  ("sign flip", intervals.sign_flip([(1, k) for k in gains], 4).interval)):
                shown = found[name].get(key) or found[name]["source_sign_flip"]["interval_95"]
                self.assertEqual(shown, [round(float(end), 4) for end in interval], (name, key))

    def test_nine_cases_are_few_and_ten_are_not(self):
        found = kinds_of([1] * 19, ["nine"] * 9 + ["ten"] * 10)
        self.assertEqual([found[name]["few_cases"] for name in ("nine", "ten")], [True, False])

    def test_all_cases_of_one_kind_are_the_whole(self):
        found = kinds_of([1, 2, 0, 4, 3, 1] * 2, ["all"] * 12)["all"]
        self.assertEqual(found["difference"], round(float(Fraction(22, 48)), 4))
        self.assertEqual(found["adjusted_p_value"], found["source_sign_flip"]["p_value"])

    def test_a_case_without_a_source_is_one_of_its_own_and_is_named(self):
        rows = compared([0, 4, 2, 1], ["all"] * 4, ["a", None, "a", None])["sources"]
        self.assertEqual([[row[key] for key in ("source", "case_id", "cases", "difference")] for row in rows],
                         [["a", None, 2, 0.25], [None, "c01", 1, 1.0], [None, "c03", 1, 0.25]])


if __name__ == "__main__":
    unittest.main()
