"""Are p-values among many slices what their definitions say? By brute force over every sign pattern, and by hand.

    $ python3 -m unittest tests.test_adjust
"""

import doctest
import itertools
import operator
import random
import unittest
from fractions import Fraction
from unittest import mock

from core import adjust
from core.intervals import SEED, sign_flip


def p_values(slices):
    """Return the p-values of slices whose groups have one case each, and the method."""
    found, method = adjust.adjusted_p_values({j: (sums, [1] * len(sums)) for j, sums in enumerate(slices)})
    return [found[j][0] for j in range(len(slices))], method


def adjusted(slices, sizes):
    """Return (p-value, the least it could be) of each slice, by its number."""
    return adjust.adjusted_p_values(dict(enumerate(zip(slices, sizes, strict=True))))[0]


class HolmTest(unittest.TestCase):
    def test_holm_by_hand(self):
        self.assertEqual(adjust.holm({"a": Fraction(1, 4), "b": Fraction(1, 100), "c": Fraction(1, 10)}),
                         {"a": Fraction(1, 4), "b": Fraction(3, 100), "c": Fraction(1, 5)})
        self.assertEqual(adjust.holm({}), {})


class AdjustedPValuesTest(unittest.TestCase):
    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(19)
        for _ in range(100):
            n = rng.randint(1, 6)
            slices = [[rng.choice([0, rng.randint(-4, 4)]) for _ in range(n)] for _ in range(rng.randint(1, 4))]

            def statistics(pattern, slices=slices):
                return [Fraction(sum(map(operator.mul, pattern, column)) ** 2, sum(k * k for k in column) or 1)
                        for column in slices]
            largest = [max(statistics(pattern)) for pattern in itertools.product((1, -1), repeat=n)]
            expected = [Fraction(sum(value >= own for value in largest), 2 ** n) for own in statistics([1] * n)]
            with self.subTest(slices=slices):
                self.assertEqual(p_values(slices), (expected, f"exact, {2 ** n} sign patterns"))

    def test_one_slice_keeps_its_own_p_value_and_company_raises_it(self):
        column, other = [3, 1, 2, 2, 1, 0, 1], [-1, -1, 1, 1, 1, 1, 1]
        (alone,), _ = p_values([column])
        self.assertEqual(alone, sign_flip([(1, k) for k in column], 1).at_zero)
        (adjusted, _), _ = p_values([column, other])
        self.assertGreater(adjusted, alone)
        self.assertEqual(p_values([column, column]), ([alone, alone], "exact, 128 sign patterns"))

    def test_many_groups_are_sampled_near_the_exact_share(self):
        rng = random.Random(20)
        slices = [[rng.randint(-3, 4) for _ in range(17)], [rng.randint(0, 1) for _ in range(17)], [0] * 17]
        slices.append([-10 ** 12 * value for value in slices[0]])
        sampled, method = p_values(slices)
        self.assertEqual(method, f"sampled, 10000 sign patterns, seed {SEED}")
        with mock.patch.object(adjust, "EVERY_PATTERN", 17):
            exact, _ = p_values(slices)
        for ours, theirs in zip(sampled, exact):
            self.assertAlmostEqual(float(ours), float(theirs), delta=0.015)
        self.assertEqual((sampled[2], sampled[3]), (1, sampled[0]))
        self.assertEqual(p_values([[100] * 17])[0], [Fraction(1, 10_001)])

    def test_random_patterns_take_each_group_half_of_the_time(self):
        for column in ([5], [-3], [1, 2, -4, 0]):
            with mock.patch.object(adjust, "EVERY_PATTERN", 0):
                adjust._patterns.cache_clear()
                sums = [2 * taken - sum(map(abs, column)) for taken in adjust._sums_taken(column)]
            adjust._patterns.cache_clear()
            self.assertEqual({abs(total) for total in sums}, {abs(sum(map(operator.mul, pattern, column)))
                             for pattern in itertools.product((1, -1), repeat=len(column))})
            self.assertAlmostEqual(sum(sums) / len(sums), 0, delta=0.03 * sum(map(abs, column)))

    def test_smallest_p_value_is_that_of_all_groups_moved_one_way(self):
        rng = random.Random(31)
        for n in (6, 8):
            few, uneven = ([*three, *[0] * (n - 3)] for three in ((1, 1, -1), (5, 1, 1)))
            # Where the first slice stands out most under a pattern, the second to it may still reach what it could.
            slices = [few, [rng.randint(-2, 2) for _ in range(n)], [rng.randint(-2, 2) for _ in range(n - 2)] + [0, 0]]
            sizes = [uneven, [rng.randint(1, 3) for _ in range(n)], [rng.randint(1, 3) for _ in range(n - 2)] + [0, 0]]
            for j, (p_value, found) in adjusted(slices, sizes).items():
                hits = 0
                moved = [*slices[:j], sizes[j], *slices[j + 1:]]
                for signs in itertools.product((1, -1), repeat=n):
                    statistics = [Fraction(sum(map(operator.mul, signs, column)) ** 2, sum(v * v for v in column) or 1)
                                  for column in moved]
                    hits += max(statistics) >= Fraction(sum(sizes[j]) ** 2, sum(v * v for v in sizes[j]))
                self.assertEqual(found, min(Fraction(hits, 2 ** n), p_value))
        # What has moved as a whole has the p-value that it could have.
        moved = [[5, 5, 5, 5, 5, 5, 0, 0], [1, -1, 2, 0, 1, 0, -1, 1]]
        self.assertEqual(*adjusted(moved, [[1] * 6 + [0, 0], [1] * 8])[0])
        _, many = adjusted([[0] * 40], [[1] * 7 + [0] * 33])[0]
        self.assertAlmostEqual(many, 2 / 2 ** 7, delta=0.005)


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(adjust))
    return tests


if __name__ == "__main__":
    unittest.main()
