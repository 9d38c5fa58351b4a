"""Is every interval what its definition says? Small shapes by brute force, the rest by laws and published figures.

    $ python3 -m unittest test_intervals

Reads nothing but intervals.py. The data sets are written out below: one sign a case, groups apart.
"""

import doctest
import itertools
import math
import operator
import os
import random
import sys
import unittest
from fractions import Fraction
from unittest import mock


from core import intervals
from core.intervals import SEED, IndexStream, exact_interval, sampled_interval, sign_flip, source_interval

# Change of passes a trial, in file order: the published comparison of two prompts, 44 cases of 5 trials, by source.
PUBLISHED = """
    00000 00000 00000 00000 00000 00000 | 0000+ 0000+ 00000 00000 00000 00000 | 00000 00000 00000 00000 00000 00000
    | 00000 00000 00000 00000 00000 00000 | 00000 00000 00000 00000 00000 00000 | +0-+0 000+0 00000 00000 +00+0 00000
    | 00000 00000 00000 00000 00000 000++ | 00000 | 00000"""
VARIANTS = ("original", "typo", "uppercase", "greeting", "emphasis", "translation")

# Change of passes a case (= - 0 + # for -2 to 2), groups apart: tau-bench and tau2-bench, airline, retail and telecom,
# from the MIT-licensed repositories of sierra-research. Then trials a case, the exact ends by case, and between which
# ends an independent program's ten bootstraps by group, of 100,000 resamples each, came out.
DATA = {
    "taubench airline, truly no difference": (
        "0 - + 0 0- -+ 00 0 - 0 0 0 # + + 0 0 0 + 0 00 000 0- 0 0 000-- - 00 + 00-0 00 - 0 0",
        2, (-0.11, 0.07), (-0.098039215686, -0.097826086957), (0.075, 0.076086956522)),
    "tau2 gpt-4.1, 59 groups": (
        "0 0- 0 0+ + 0 0 - + + - 0 0 0 +0 0 + 0 0 0 0 0 0 00 0 0 0 0 - 0 + 0 0 0 - - 0 + - 0 0 0 + 0 + + 0 0 - 0 0 0 + "
        "0 0 - 000+00+0+00000+000 00+0+00000+00000+0+++++++++000 0000+0+0000+0++++00+000+0+00+--0",
        1, (0.11428571428571428, 0.3), (0.02380952381, 0.025316455696), (0.300614499378, 0.301886792453)),
    "tau2 airline, cases missing": (
        "0 0 00 00 00 0 0 0 000 0 0 0 0 00 00 00 - 0 0 0 + 0 0 0 0 0 0 0 0 00 0 00 0 0",
        1, (-0.06818181818181818, 0.06818181818181818), (-0.068181818182,) * 2, (0.068181818182,) * 2),
    "tau2 airline, a score missing": (
        "0 0 ++ 0000 00+00 0 00 +++ 0 0 0 0 ++ 00 00 0 0 0 0 + 0 0 + 0 + 0 0 0 +0 0 +0 0 0",
        1, (0.14285714285714285, 0.3877551020408163),
        (0.119047619048, 0.120689655172), (0.423728813559, 0.425925925926)),
    "tau2 airline": (
        "0 0 00 0+0+ 00000 - ++ 0 000 - + + 0 00 00 00 0 0 0 0 + 0 + 0 0 0 0 0 0 0+ + 0+ 0 +",
        1, (0.06, 0.34), (0.055555555556, 0.056603773585), (0.35, 0.352941176471)),
}

# On scores around 60 of 100: mean 3.5, and a published 95% percentile interval of -1.5 to 8.5.
TWENTY = [-20] + [-10] * 3 + [0] * 8 + [10] * 5 + [20] * 2 + [30]

# Sizes that defeat any lattice: few groups, far apart.
TWELVE = [(231, 57), (75, -40), (44, 31), (34, 3), (32, 40), (22, -9), (22, 17), (19, 2), (10, 11), (8, -6), (2, 1),
          (1, 5)]


def signs(text: str) -> list[int]:
    return ["=-0+#".index(sign) - 2 for sign in text]


def grouped(text: str) -> list[tuple[int, int]]:
    return [(len(group), sum(signs(group))) for group in text.split()]


def percentiles(means: list[Fraction], level: float) -> tuple[Fraction, Fraction]:
    """Return the interval by its definition: the smallest mean that so large a share of all draws does not exceed."""
    tail, ordered = (1 - Fraction(str(level))) / 2, sorted(means)
    return tuple(ordered[math.ceil(share * len(ordered)) - 1] for share in (tail, 1 - tail))


def every_mean(groups: list[tuple[int, int]]) -> list[Fraction]:
    """Return the mean of every draw of as many groups as there are."""
    return [Fraction(sum(total for _, total in draw), sum(size for size, _ in draw))
            for draw in itertools.product(groups, repeat=len(groups))]


def random_groups(rng: random.Random, most: int) -> list[tuple[int, int]]:
    """Return few groups full of ties and zeros."""
    size, total = rng.choice([1, 2, 6]), rng.choice([1, 3, 8])
    return [(rng.randint(1, size), rng.choice([0, rng.randint(-total, total)])) for _ in range(rng.randint(1, most))]


def exactly(*attempts: tuple[float, int | None]):
    """Allow only these ways of counting, and without remembering what another way has counted."""
    intervals._count.cache_clear()
    intervals._waves.cache_clear()
    return mock.patch.object(intervals, "_ATTEMPTS", attempts)


def counting(way: str):
    """Let halves be counted only by rows, or only by place."""
    intervals._count.cache_clear()
    return mock.patch.multiple(intervals, _by_rows=getattr(intervals, way), _by_place=getattr(intervals, way))


WAYS = "_by_rows", "_by_place"


class IndexStreamTest(unittest.TestCase):
    def test_indices_equal_the_plain_loop_and_leave_the_same_state(self):
        for n in (1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 44, 127, 128, 129, 220, 255, 256, 257, 1000, 65535, 65536, 65537,
                  100000, 2 ** 31, 2 ** 32 - 1):
            with self.subTest(n=n):
                count = 150_000 if n in (44, 220, 255, 256, 1000, 65536) else 50_000
                plain, stream = random.Random(n), IndexStream(n)
                self.assertEqual(list(stream.indices(n, count)), [plain.randrange(n) for _ in range(count)])
                self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_indices_of_changing_n_are_handed_out_as_the_plain_loop_would(self):
        plain, stream, shapes = random.Random(0), IndexStream(0), random.Random(1)
        for _ in range(300):
            n, count = shapes.choice([1, 2, 3, 44, 255, 256, 1000, 70000]), shapes.randrange(40)
            self.assertEqual(list(stream.indices(n, count)), [plain.randrange(n) for _ in range(count)])
        self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_sums_equal_the_plain_loop_for_every_way_of_adding(self):
        rng = random.Random(3)
        for n, top, repeats in ((1, 9, 5), (44, 2, 200), (44, 255, 200), (44, 256, 200), (255, 5, 50),
                                (255, 10 ** 30, 20), (256, 5, 30), (300, 1, 30), (1000, 2, 20), (1000, 10 ** 12, 20),
                                (70_000, 1, 1)):
            with self.subTest(n=n, top=top):
                values = [rng.randint(-top // 2, top - top // 2) for _ in range(n)]
                plain, stream = random.Random(n), IndexStream(n)
                self.assertEqual(stream.sums(values, repeats),
                                 [sum(values[plain.randrange(n)] for _ in range(n)) for _ in range(repeats)])
                self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_skipping_leaves_the_state_that_drawing_leaves(self):
        for n, count in ((1, 10), (2, 1000), (44, 70_000), (255, 999), (256, 5000), (257, 70_000), (10_000, 200_000),
                         (50_000, 200_000), (65_536, 1000), (100_000, 70_000)):
            drawn, skipped = IndexStream(n), IndexStream(n)
            drawn.indices(n, count)
            skipped.skip(n, count)
            self.assertEqual(skipped.generator.getstate(), drawn.generator.getstate(), n)

    def test_drawing_aside_gives_the_same_interval_and_state(self):
        values = [random.Random(1).choice((-1, 0, 0, 2)) for _ in range(300)]
        plain, aside = IndexStream(3), IndexStream(3)
        expected = intervals.sampled_interval(values, 5, plain)
        with mock.patch.object(intervals, "ASIDE_FROM", 300):
            ends = intervals.sampled_aside(values, 5, aside)
        self.assertEqual(aside.generator.getstate(), plain.generator.getstate())
        self.assertEqual(ends(), expected)

    def test_a_child_that_dies_is_told(self):
        with mock.patch.object(intervals, "ASIDE_FROM", 3), \
                mock.patch.object(intervals, "sampled_interval", side_effect=MemoryError):
            ends = intervals.sampled_aside([0, 1, 2], 1, IndexStream(3))
        self.assertRaises(RuntimeError, ends)

    def test_seeds_differ_and_zero_is_one(self):
        first, second = (list(IndexStream(seed).indices(44, 20)) for seed in (0, 1))
        self.assertNotEqual(first, second)
        self.assertEqual(first, list(IndexStream(0).indices(44, 20)))

    def test_nothing_or_too_much_to_draw_from_raises(self):
        for n in (0, -1, 2 ** 32):
            with self.assertRaisesRegex(ValueError, "cannot draw"):
                IndexStream(0).indices(n, 1)


class SampledIntervalTest(unittest.TestCase):
    def test_three_cases_by_hand(self):
        # Four resamples of [0, 1, 5]: indices 012 210 111 220 would give 6 6 3 10. Sorted: 3 6 6 10.
        stream = mock.Mock(wraps=IndexStream(0), sums=lambda values, repeats: [6, 6, 3, 10])
        self.assertEqual(sampled_interval([0, 1, 5], 1, stream, 4, level=0.5), (Fraction(6, 3), Fraction(6, 3)))
        self.assertEqual(sampled_interval([0, 1, 5], 1, stream, 4), (Fraction(3, 3), Fraction(10, 3)))

    def test_positions_are_counted_in_decimals(self):
        # 0.9 as a float is more than 0.9: its tail of 2000 means would be 99.99 and not 100.
        stream = mock.Mock(wraps=IndexStream(0), sums=lambda values, repeats: range(repeats))
        for level, first, last in ((0.95, 50, 1949), (0.9, 100, 1899), (0.7, 300, 1699)):
            self.assertEqual(sampled_interval([1], 1, stream, level=level), (first, last))

    def test_published_comparison_comes_out_from_one_stream(self):
        cases = [case for case in PUBLISHED.split() if case != "|"]
        ks, trials = [sum(signs(case)) for case in cases], signs("".join(cases))
        groups = [(len(group.split()), sum(signs("".join(group.split())))) for group in PUBLISHED.split("|")]
        variants = [variant for size, _ in groups for variant in VARIANTS[:size]]

        def rounded(ends):
            return [round(float(end), 4) for end in ends]
        stream = IndexStream(SEED)
        self.assertEqual(rounded(sampled_interval(ks, 5, stream)), [0.0091, 0.0682])
        self.assertEqual(rounded(sampled_interval(trials, 1, stream)), [0.0091, 0.0636])
        by_source = source_interval(groups, 5, stream)
        self.assertEqual(rounded(by_source.interval), [0.0, 0.0727])
        self.assertEqual(by_source.no_gain_share, Fraction(6, 9) ** 9)
        self.assertEqual(by_source.method, "exact over 24310 draws")
        spanish = [variant == "translation" for variant in variants]
        slices = [[k for k, es in zip(ks, spanish) if es == wanted] for wanted in (False, True)]
        slices += [[k for k, of in zip(ks, variants) if of == variant] for variant in sorted(VARIANTS)]
        self.assertEqual([rounded(sampled_interval(chosen, 5, stream)) for chosen in slices],
                         [[0.0054, 0.0649], [0.0, 0.1714], [0.0, 0.1714], [0.0, 0.0], [0.0, 0.1111], [0.0, 0.1714],
                          [0.0, 0.1143], [0.0, 0.0]])

    def test_twenty_published_differences(self):
        self.assertEqual(sum(TWENTY) / 20, 3.5)
        self.assertEqual(sampled_interval(TWENTY, 1, IndexStream(SEED)), (-1.5, 8.5))
        self.assertEqual(exact_interval(TWENTY, 1), (-1.5, 8.5))

    def test_many_resamples_tend_to_the_exact_interval(self):
        ks = signs("".join(DATA["tau2 airline"][0].split()))
        for level in (0.5, 0.8, 0.95):
            sampled = sampled_interval(ks, 1, IndexStream(5), 20_000, level)
            for ours, exact in zip(sampled, exact_interval(ks, 1, level)):
                self.assertLessEqual(abs(ours - exact), Fraction(1, 50))

    def test_no_cases_or_a_level_out_of_range_raises(self):
        with self.assertRaisesRegex(ValueError, "at least one case"):
            sampled_interval([], 1, IndexStream(0))
        for level in (0, 1, 95):
            with self.assertRaisesRegex(ValueError, "between 0 and 1"):
                sampled_interval([1, 2], 1, IndexStream(0), level=level)


class ExactIntervalTest(unittest.TestCase):
    def test_three_cases_every_draw_by_hand(self):
        # [0, 1, 5] drawn three times, all 27 draws by their sum: 0 once, 1 and 2 three times each, 3 once, 5 three
        # times, 6 six times, 7, 10 and 11 three times each, 15 once.
        self.assertEqual(exact_interval([0, 1, 5], 1), (0, 5))                           # 1/27 and 26/27 straddle
        self.assertEqual(exact_interval([0, 1, 5], 1, level=0.9), (Fraction(1, 3), Fraction(11, 3)))
        self.assertEqual(exact_interval([0, 1, 5], 1, level=0.5), (Fraction(2, 3), Fraction(10, 3)))

    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(11)
        for _ in range(100):
            ks, level = [total for _, total in random_groups(rng, 5)], rng.choice([0.95, 0.9, 0.5, 0.875, 0.99])
            with self.subTest(ks=ks, level=level):
                means = [mean / 5 for mean in every_mean([(1, k) for k in ks])]
                self.assertEqual(exact_interval(ks, 5, level), percentiles(means, level))
        ks = [-2, 0, 0, 1, 3, 3]
        self.assertEqual(exact_interval(ks, 1), percentiles(every_mean([(1, k) for k in ks]), 0.95))

    def test_pass_or_fail_equals_the_binomial_distribution(self):
        for n, ones in ((30, 7), (101, 50), (400, 3)):
            weights = [math.comb(n, i) * ones ** i * (n - ones) ** (n - i) for i in range(n + 1)]
            running = list(itertools.accumulate(weights))
            low, high = (next(i for i in range(n + 1) if running[i] >= share * n ** n)
                         for share in (Fraction(1, 40), Fraction(39, 40)))
            self.assertEqual(exact_interval([1] * ones + [0] * (n - ones), 1), (Fraction(low, n), Fraction(high, n)))

    def test_a_probability_equal_to_the_limit_reaches_it(self):
        # P(Binomial(12, 1/2) <= 2) = 79/4096, which is half of 1 - 0.96142578125; P(<= 9) is the other limit.
        self.assertEqual(exact_interval([0, 1] * 6, 1, level=0.96142578125), (Fraction(2, 12), Fraction(9, 12)))
        self.assertEqual(exact_interval([0, 1] * 6, 1, level=0.96142578126), (Fraction(2, 12), Fraction(10, 12)))
        self.assertEqual(exact_interval([0, 1] * 6, 1, level=0.96142578124), (Fraction(3, 12), Fraction(9, 12)))

    def test_a_limit_within_the_error_bound_is_never_guessed(self):
        # The same equality at 12 bits: undecided, until the attempt that loses nothing settles it.
        with exactly((9, 12)):
            self.assertIsNone(exact_interval([0, 1] * 6, 1, level=0.96142578125))
            self.assertEqual(exact_interval([0, 1] * 6, 1), (Fraction(3, 12), Fraction(9, 12)))
        with exactly((9, 2)), counting("_by_rows"):                # all places round down to nothing
            self.assertIsNone(exact_interval(list(range(40)), 1))
        with exactly((9, 12), (9, 0), (9, None)):
            self.assertEqual(exact_interval([0, 1] * 6, 1, level=0.96142578125), (Fraction(2, 12), Fraction(9, 12)))

    def test_all_equal_and_one_case_are_points(self):
        for ks in ([3], [3] * 7, [0] * 44):
            self.assertEqual(exact_interval(ks, 5), (Fraction(ks[0], 5),) * 2)

    def test_data_sets_equal_an_independent_enumeration(self):
        for name, (text, trials, ends, _, _) in DATA.items():
            with self.subTest(name):
                self.assertEqual(tuple(map(float, exact_interval(signs("".join(text.split())), trials))), ends)

    def test_every_way_of_counting_gives_the_same(self):
        rng = random.Random(4)
        for n, top in ((7, 3), (20, 40), (31, 2), (64, 5)):
            ks = [rng.choice([0, rng.randint(-top, top)]) for _ in range(n)]
            with exactly((9, None)):
                found = exact_interval(ks, 1)
            for bits, way in itertools.product((53, 110, 30), WAYS):
                with self.subTest(n=n, bits=bits, way=way), exactly((9, bits)), counting(way):
                    self.assertEqual(exact_interval(ks, 1), found)
            with exactly((9, 0)):
                self.assertIn(exact_interval(ks, 1), (found, None))

    def test_error_bound_holds_the_exact_share(self):
        rng = random.Random(5)
        for size in (1, 3):
            groups = [(rng.randint(1, size), rng.randint(-3, 4)) for _ in range(23)]
            plan = intervals._redrawn(groups)
            for t in (Fraction(0), Fraction(1, 5), Fraction(1, 3)):
                true = intervals._Halves(plan, None, 1e12).share(t)
                for bits, way in itertools.product((16, 20, 24, 53), WAYS):
                    with counting(way):
                        mean = intervals._Halves(plan, bits, 1e12)
                    low = Fraction(mean.mass(t), mean.whole)
                    self.assertTrue(low <= true <= low + Fraction(mean.lost, mean.whole), (size, t, bits, way))
                    self.assertGreaterEqual(mean.share(t), float(true))

    def test_error_bound_of_waves_holds_the_exact_share(self):
        rng = random.Random(7)
        for name, ks in (("even", [rng.randint(-60, 90) for _ in range(40)]),
                         ("waves far from the first ones", [20 * rng.randint(-9, 11) for _ in range(39)] + [7]),
                         ("few values", [rng.choice([-500, 0, 0, 0, 499]) for _ in range(60)])):
            plan = intervals._redrawn([(3, k) for k in ks])
            waves, counted = intervals._Waves(plan, 1e12), intervals._Halves(plan, None, 1e12)
            self.assertLess(waves.lost, 1e-9)
            for i in range(-30, 40):
                t = Fraction(i, 7) * max(ks) / 50
                self.assertTrue(0 <= counted.share(t) - Fraction(waves.mass(t)) <= waves.lost, (name, t))

    def test_fine_grids_are_exact(self):
        rng = random.Random(6)
        few = [round(rng.gauss(0.02, 0.3) * 10 ** 6) for _ in range(6)]                # any grid, by enumeration
        self.assertEqual(exact_interval(few, 10 ** 6),
                         percentiles([mean / 10 ** 6 for mean in every_mean([(1, k) for k in few])], 0.95))
        some = [round(rng.gauss(0.02, 0.3) * 500) for _ in range(44)]                  # by counting and by waves
        with exactly((9, 53)):
            counted = exact_interval(some, 500)
        with exactly((9, 0)):
            self.assertEqual(exact_interval(some, 500), counted)
        many = [round(rng.gauss(0.02, 0.3) * 50_000) for _ in range(1000)]             # only waves can
        mean, error = sum(many) / 5e7, math.sqrt(sum((k / 5e4) ** 2 for k in many)) / 1000
        for ours, normal in zip(exact_interval(many, 50_000), (mean - 1.96 * error, mean + 1.96 * error)):
            self.assertAlmostEqual(float(ours), normal, delta=error / 20)

    def test_no_common_grid_or_too_much_work_is_none(self):
        self.assertIsNone(exact_interval([1, 2, 3], intervals.FINEST_UNIT + 1))
        self.assertIsNone(exact_interval(list(range(40)), 7, budget=1))

    def test_numbers_beyond_floats_are_sampled_not_fatal(self):
        groups = [(1, 10 ** 400), (2, -1), (1, 3), (1, 5), (1, 7), (2, 9)]
        ks = [k for _, k in groups]
        self.assertIsNone(exact_interval(ks, 1))
        self.assertIsNone(intervals.exact_distribution(ks, 1))
        self.assertRegex(source_interval(groups, 1, IndexStream(0)).method, "sampled")
        self.assertRegex(sign_flip(groups, 1).method, "sampled")
        self.assertEqual(intervals.adjusted_p_values([ks])[0], [Fraction(1, 16)])

    def test_many_cases_stay_fast(self):
        ks = [(i * i) % 11 - 5 for i in range(30_000)]
        low, high = exact_interval(ks, 5)
        self.assertLess(low, Fraction(sum(ks), 150_000))
        self.assertLess(Fraction(sum(ks), 150_000), high)

    def test_no_cases_raises(self):
        for function in (exact_interval, intervals.exact_distribution):
            with self.assertRaisesRegex(ValueError, "at least one case"):
                function([], 1)


class ExactDistributionTest(unittest.TestCase):
    def test_shares_equal_brute_force(self):
        ks = [-2, 0, 0, 1, 5]
        found = intervals.exact_distribution(ks, 5, bins=6)
        means = [mean / 5 for mean in every_mean([(1, k) for k in ks])]
        for i, share in enumerate(found.shares):
            low, high = found.start + i * found.width, found.start + (i + 1) * found.width
            self.assertAlmostEqual(share, sum(low < mean < high for mean in means) / len(means), places=12)

    def test_shares_add_up_to_nearly_one_in_at_most_forty_bins(self):
        for ks in (TWENTY, [0] * 5, [7], signs("+0-#" * 200)):
            found = intervals.exact_distribution(ks, 1)
            self.assertLessEqual(len(found.shares), 40)
            self.assertAlmostEqual(sum(found.shares), 1, places=3)
            self.assertLess(found.start, sum(ks) / len(ks))
            self.assertGreater(found.start + len(found.shares) * found.width, sum(ks) / len(ks))

    def test_none_as_for_the_interval(self):
        self.assertIsNone(intervals.exact_distribution([1, 2], intervals.FINEST_UNIT + 1))
        self.assertIsNone(intervals.exact_distribution(list(range(40)), 7, budget=1))


class SourceIntervalTest(unittest.TestCase):
    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(12)
        for _ in range(100):
            groups, level = random_groups(rng, 5), rng.choice([0.95, 0.9, 0.5, 0.875])
            with self.subTest(groups=groups, level=level):
                means, stream = every_mean(groups), IndexStream(0)
                found = source_interval(groups, 5, stream, level=level)
                self.assertEqual(found.interval, percentiles([mean / 5 for mean in means], level))
                self.assertEqual(found.no_gain_share, Fraction(sum(mean <= 0 for mean in means), len(means)))
                self.assertEqual(found.method, f"exact over {math.comb(2 * len(groups) - 1, len(groups))} draws")
                self.assertEqual(stream.generator.getstate(), random.Random(0).getstate())

    def test_every_way_of_counting_gives_the_same(self):
        rng = random.Random(13)
        for n, size in ((8, 3), (21, 6), (30, 2)):
            groups = [(rng.randint(1, size), rng.randint(-4, 6)) for _ in range(n)]
            with exactly((9, None)):
                found = source_interval(groups, 5, IndexStream(0))
            for bits, way in itertools.product((53, 40), WAYS):
                with self.subTest(n=n, bits=bits, way=way), exactly((9, bits)), counting(way):
                    other = source_interval(groups, 5, IndexStream(0))
                    self.assertEqual((other.interval, other.method), (found.interval, found.method))
                    self.assertAlmostEqual(other.no_gain_share, float(found.no_gain_share), places=5)

    def test_data_sets_lie_within_the_spread_of_an_independent_bootstrap(self):
        for name, (text, trials, _, low, high) in DATA.items():
            with self.subTest(name):
                found = source_interval(grouped(text), trials, IndexStream(0))
                self.assertEqual(found.method, f"exact, {len(text.split())} groups")
                for end, (least, most) in zip(found.interval, (low, high)):
                    self.assertTrue(least - 1e-9 <= end <= most + 1e-9, (end, least, most))

    def test_exact_is_the_rule_for_real_shapes(self):
        rng = random.Random(14)
        for name, groups in (("equal sizes", [(5, rng.randint(-9, 12)) for _ in range(3000)]), ("twelve", TWELVE),
                             ("one to six", [(size, rng.randint(-2, 3)) for size in range(1, 7) for _ in range(17)])):
            with self.subTest(name):
                found = source_interval(groups, 5, IndexStream(0))
                self.assertEqual(found.method, f"exact, {len(groups)} groups")
                self.assertTrue(0 <= found.no_gain_share <= 1)

    def test_method_counts_draws_up_to_ten_groups(self):
        for n, method in ((10, "exact over 92378 draws"), (11, "exact, 11 groups")):
            self.assertEqual(source_interval([(2, k) for k in range(n)], 1, IndexStream(0)).method, method)

    def test_equal_sizes_equal_the_interval_by_case(self):
        ks = signs("+0-+0#+0+-" * 5)
        found = source_interval([(4, k) for k in ks], 1, IndexStream(0))
        self.assertEqual(found.interval, tuple(end / 4 for end in exact_interval(ks, 1)))

    def test_beyond_the_budget_the_stream_decides_draw_for_draw(self):
        groups, plain, stream = grouped(DATA["tau2 gpt-4.1, 59 groups"][0]), random.Random(8), IndexStream(8)
        found = source_interval(groups, 1, stream, resamples=200, budget=0)
        draws = [[groups[plain.randrange(59)] for _ in range(59)] for _ in range(200)]
        means = sorted(Fraction(sum(k for _, k in draw), sum(size for size, _ in draw)) for draw in draws)
        self.assertEqual(found, ((means[5], means[194]), Fraction(sum(mean <= 0 for mean in means), 200),
                                 "sampled, 200 resamples, seed from stream"))
        self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_samples_tend_to_the_exact_interval(self):
        exact = source_interval(TWELVE, 5, IndexStream(0))
        sampled = source_interval(TWELVE, 5, IndexStream(0), resamples=20_000, budget=0)
        for ours, theirs in zip(sampled.interval, exact.interval):
            self.assertAlmostEqual(float(ours), float(theirs), delta=0.01)
        self.assertAlmostEqual(float(sampled.no_gain_share), float(exact.no_gain_share), delta=0.01)

    def test_one_group_is_a_point_and_none_raises(self):
        found = source_interval([(3, 2)], 5, IndexStream(0))
        self.assertEqual(found, ((Fraction(2, 15),) * 2, 0, "exact over 1 draws"))
        with self.assertRaisesRegex(ValueError, "at least one source group"):
            source_interval([], 1, IndexStream(0))


class SignFlipTest(unittest.TestCase):
    @staticmethod
    def by_definition(groups: list[tuple[int, int]], level: float) -> tuple:
        """Return the interval and the p-value from all subsets and all sign patterns, one by one."""
        means = sorted(Fraction(sum(k for _, k in some), sum(size for size, _ in some))
                       for count in range(1, len(groups) + 1) for some in itertools.combinations(groups, count))
        rank = math.floor((1 - Fraction(str(level))) / 2 * 2 ** len(groups))
        sums = [abs(sum(sign * k for sign, (_, k) in zip(pattern, groups)))
                for pattern in itertools.product((1, -1), repeat=len(groups))]
        p_value = Fraction(sum(value >= sums[0] for value in sums), len(sums))
        return (means[rank - 1] / 5, means[-rank] / 5) if rank else None, p_value

    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(15)
        for _ in range(120):
            groups, level = random_groups(rng, 8), rng.choice([0.95, 0.9, 0.5, 0.875])
            with self.subTest(groups=groups, level=level):
                found = sign_flip(groups, 5, level)
                self.assertEqual((found.interval, found.p_value), self.by_definition(groups, level))
                self.assertEqual(found.groups, len(groups))
                self.assertEqual(found.method, f"exact, {2 ** len(groups)} sign patterns")

    def test_six_groups_carry_the_95_interval_and_five_the_90(self):
        groups = [(1, k) for k in (1, 2, 3, 4, 5, 6)]
        self.assertEqual(sign_flip(groups, 1).interval, (1, 6))
        self.assertIsNone(sign_flip(groups[:5], 1).interval)
        self.assertEqual(sign_flip(groups[:5], 1).reason, "fewer than 6 groups carry no 95% interval")
        self.assertEqual(sign_flip(groups[:5], 1).p_value, Fraction(1, 16))
        self.assertEqual(sign_flip(groups[:5], 1, level=0.9).interval, (1, 5))
        self.assertEqual(sign_flip(groups[:4], 1, level=0.9).reason, "fewer than 5 groups carry no 90% interval")

    def test_every_way_of_counting_gives_the_same(self):
        rng = random.Random(16)
        for n, size in ((9, 2), (20, 6), (33, 1)):
            groups = [(rng.randint(1, size), rng.randint(-3, 5)) for _ in range(n)]
            with exactly((9, None)):
                found = sign_flip(groups, 5)
            for bits, way in itertools.product((53, 36), WAYS):
                with self.subTest(n=n, bits=bits, way=way), exactly((9, bits)), counting(way):
                    other = sign_flip(groups, 5)
                    self.assertEqual(other.interval, found.interval)
                    self.assertAlmostEqual(float(other.p_value), float(found.p_value), places=5)

    def test_p_value_and_interval_agree_at_zero(self):
        rng = random.Random(17)
        for _ in range(60):
            groups = [(rng.randint(1, 3), rng.randint(-3, 6)) for _ in range(10)]
            found = sign_flip(groups, 1)
            low, high = found.interval
            self.assertEqual(found.p_value > Fraction(1, 20), low <= 0 <= high, groups)

    def test_p_value_of_equal_cases_is_binomial(self):
        groups = [(1, 1)] * 20 + [(1, -1)] * 8 + [(1, 0)] * 3
        two_sided = Fraction(2 * sum(math.comb(28, i) for i in range(9)), 2 ** 28)
        self.assertEqual(sign_flip(groups, 1).p_value, two_sided)

    def test_a_hundred_groups_of_one_to_six_cases_are_exact(self):
        rng = random.Random(18)
        groups = [(size, rng.randint(-size, size + 1)) for size in range(1, 7) for _ in range(17)]
        found = sign_flip(groups, 1)
        self.assertEqual(found.method, "exact, 2**102 sign patterns")
        mean = Fraction(sum(k for _, k in groups), sum(size for size, _ in groups))
        self.assertTrue(found.interval[0] < mean < found.interval[1])

    def test_random_patterns_tend_to_the_exact_figures(self):
        groups = grouped(DATA["tau2 airline"][0])
        exact, sampled = sign_flip(groups, 1), sign_flip(groups, 1, budget=0)
        self.assertEqual(sampled.method, f"sampled, 2000 sign patterns, seed {SEED}")
        self.assertEqual(sampled, sign_flip(groups, 1, budget=0))
        self.assertNotEqual(sampled.interval, sign_flip(groups, 1, seed=0, budget=0).interval)
        self.assertEqual(sign_flip([(1, 1)] * 40, 1, budget=0).p_value, Fraction(1, 2001))
        for ours, theirs in zip((*sampled.interval, sampled.p_value), (*exact.interval, exact.p_value)):
            self.assertAlmostEqual(float(ours), float(theirs), delta=0.03)

    def test_no_difference_has_p_one_and_no_groups_raises(self):
        self.assertEqual(sign_flip([(2, 0)] * 7, 1)[:2], ((0, 0), 1))
        with self.assertRaisesRegex(ValueError, "at least one group"):
            sign_flip([], 1)

    def test_free_floats_are_exact_only_while_their_ends_can_be_closed_in_on_cheaply(self):
        # Few of the sums that so fine a grid allows are attained: an end takes dozens of questions instead of a few.
        rng = random.Random(4)
        for number, method in ((14, "exact"), (30, "sampled")):
            groups = [(2, rng.randint(-10 ** 17, 10 ** 17)) for _ in range(number)]
            self.assertTrue(sign_flip(groups, 10 ** 17).method.startswith(method), number)


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
                self.assertEqual(intervals.adjusted_p_values(slices), (expected, f"exact, {2 ** n} sign patterns"))

    def test_one_slice_keeps_its_own_p_value_and_company_raises_it(self):
        column, other = [3, 1, 2, 2, 1, 0, 1], [-1, -1, 1, 1, 1, 1, 1]
        (alone,), _ = intervals.adjusted_p_values([column])
        self.assertEqual(alone, sign_flip([(1, k) for k in column], 1).p_value)
        (adjusted, _), _ = intervals.adjusted_p_values([column, other])
        self.assertGreater(adjusted, alone)
        self.assertEqual(intervals.adjusted_p_values([column, column]), ([alone, alone], "exact, 128 sign patterns"))

    def test_many_groups_are_sampled_near_the_exact_share(self):
        rng = random.Random(20)
        slices = [[rng.randint(-3, 4) for _ in range(17)], [rng.randint(0, 1) for _ in range(17)], [0] * 17]
        sampled, method = intervals.adjusted_p_values(slices)
        self.assertEqual(method, f"sampled, 10000 sign patterns, seed {SEED}")
        with mock.patch.object(intervals, "EVERY_PATTERN", 17):
            exact, _ = intervals.adjusted_p_values(slices)
        for ours, theirs in zip(sampled, exact):
            self.assertAlmostEqual(float(ours), float(theirs), delta=0.015)
        self.assertEqual(sampled[2], 1)
        self.assertEqual(intervals.adjusted_p_values([[100] * 17])[0], [Fraction(1, 10_001)])

    def test_no_slices_have_no_p_values(self):
        self.assertEqual(intervals.adjusted_p_values([])[0], [])


class LawsTest(unittest.TestCase):
    """What must hold for each interval, whatever it is computed from."""

    groups = [(1, 2), (3, -4), (2, 2), (1, 0), (2, 5), (4, 1), (1, -1), (2, 3)]

    def each(self):
        """Yield (name, function of groups and level); by case, each group counts as one case."""
        yield "sampled", lambda groups, level=0.95: sampled_interval(
            [k for _, k in groups], 5, IndexStream(1), level=level)
        yield "exact", lambda groups, level=0.95: exact_interval([k for _, k in groups], 5, level)
        yield "by source", lambda groups, level=0.95: source_interval(groups, 5, IndexStream(1), level=level).interval
        yield "by source, sampled", lambda groups, level=0.95: source_interval(
            groups, 5, IndexStream(1), level=level, budget=0).interval
        yield "sign flip", lambda groups, level=0.95: sign_flip(groups, 5, level).interval
        yield "sign flip, sampled", lambda groups, level=0.95: sign_flip(groups, 5, level, budget=0).interval

    def test_swapping_the_systems_mirrors(self):
        for name, interval in self.each():
            with self.subTest(name):
                low, high = interval(self.groups)
                self.assertEqual(interval([(size, -k) for size, k in self.groups]), (-high, -low))

    def test_mirror_breaks_only_where_a_probability_equals_the_limit(self):
        # The low end is the first mean whose P reaches 1/4, the high end the first that reaches 3/4. Where P is 1/4
        # exactly, the mirrored distribution stops one mean earlier: percentile intervals are not quite symmetric.
        self.assertEqual(exact_interval([0, 1], 1, level=0.5), (0, Fraction(1, 2)))
        self.assertEqual(exact_interval([0, -1], 1, level=0.5), (-1, Fraction(-1, 2)))
        rng = random.Random(21)
        for _ in range(100):
            groups = random_groups(rng, 5)
            low, high = source_interval(groups, 1, IndexStream(0), level=0.875).interval
            mirrored = source_interval([(size, -k) for size, k in groups], 1, IndexStream(0), level=0.875).interval
            means = every_mean(groups)
            shares = {Fraction(sum(mean <= end for mean in means), len(means)) for end in (low, high)}
            self.assertEqual(mirrored == (-high, -low), not shares & {Fraction(1, 16), Fraction(15, 16)}, groups)

    def test_adding_a_constant_to_every_case_shifts(self):
        for name, interval in self.each():
            with self.subTest(name):
                low, high = interval(self.groups)
                by_case = name in ("sampled", "exact")
                shifted = [(size, k + 10 * (1 if by_case else size)) for size, k in self.groups]
                self.assertEqual(interval(shifted), (low + 2, high + 2))

    def test_a_wider_level_contains_a_narrower(self):
        for name, interval in self.each():
            ends = [interval(self.groups, level) for level in (0.95, 0.9, 0.8, 0.5)]
            for (low, high), (inner_low, inner_high) in itertools.pairwise(ends):
                self.assertTrue(low <= inner_low <= inner_high <= high, name)

    def test_order_is_irrelevant_where_nothing_is_sampled(self):
        for name, interval in self.each():
            if name in ("exact", "by source", "sign flip", "sign flip, sampled"):
                self.assertEqual(interval(self.groups[::-1]), interval(self.groups), name)

    def test_input_is_not_modified(self):
        for name, interval in self.each():
            groups = list(self.groups)
            interval(groups)
            self.assertEqual(groups, self.groups, name)

    def test_doubling_the_list_narrows(self):
        for name, interval in self.each():
            low, high = interval(self.groups)
            twice_low, twice_high = interval(self.groups * 2)
            self.assertTrue(low < twice_low < twice_high < high, name)


class RequiredPairsTest(unittest.TestCase):
    def test_published_values(self):
        self.assertEqual(intervals.required_pairs(0.18, 0.05), 50)
        self.assertEqual(intervals.required_pairs(0.31, 0.05), 148)

    def test_a_whole_number_of_pairs_is_not_rounded_up(self):
        self.assertEqual(intervals.required_pairs(0.55, 0.077), 196)
        self.assertEqual(intervals.required_pairs(0.3, 0.1, z=1), 9)
        self.assertEqual(intervals.required_pairs(0, 0.1), 0)

    def test_bad_input_raises(self):
        for sd, half_width in ((0.1, 0), (0.1, -1), (-0.1, 0.1)):
            with self.assertRaisesRegex(ValueError, "half_width"):
                intervals.required_pairs(sd, half_width)


def load_tests(loader, tests, _):
    """Add the examples in the docstrings, which `python3 -OO` drops."""
    tests.addTests(doctest.DocTestSuite(intervals))
    return tests


if __name__ == "__main__":
    unittest.main()
