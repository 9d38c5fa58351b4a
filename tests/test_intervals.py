"""Is every interval what its definition says? Small shapes by brute force, the rest by laws and published figures.

    $ python3 -m unittest tests.test_intervals

Reads nothing but intervals.py. The data sets are written out below: one sign a case, groups apart.
"""

import doctest
import itertools
import math
import random
import unittest
from collections import Counter
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
    tail, ordered = (1 - Fraction(str(level))) / 2, sorted(means, key=float)  # far faster
    return tuple(ordered[math.ceil(share * len(ordered)) - 1] for share in (tail, 1 - tail))


def every_mean(groups: list[tuple[int, int]]) -> list[Fraction]:
    """Return the mean of every draw of as many groups as there are."""
    sums = Counter((sum(total for _, total in draw), sum(size for size, _ in draw))
                   for draw in itertools.product(groups, repeat=len(groups)))
    return [mean for (total, size), times in sums.items() for mean in [Fraction(total, size)] * times]


def random_groups(rng: random.Random, most: int) -> list[tuple[int, int]]:
    """Return few groups full of ties and zeros."""
    size, total = rng.choice([1, 2, 6]), rng.choice([1, 3, 8])
    return [(rng.randint(1, size), rng.choice([0, rng.randint(-total, total)])) for _ in range(rng.randint(1, most))]


def inverted():
    """Let nothing be counted, so that small shapes can be held against brute force: 60 times as roughly, for speed."""
    intervals._resampled.cache_clear()
    return mock.patch.multiple(intervals, HALVED_DRAWS=0, COUNTED_SUMS=0, FEW_SUMS=0, COUNTED_GROUPS=0,
                               COUNTED_SUBSETS=0, HALVED_GROUPS=0, MORE_GROUPS=0, ROUNDED_GROUPS=0, COUNTED_BITS=0,
                               BLUR=60 * intervals.BLUR, FLIP_BLUR=20 * intervals.FLIP_BLUR)


def bootstrap(groups: list[tuple[int, int]], resamples: int, seed: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a plain bootstrap of whole groups."""
    rng = random.Random(seed)
    draws = (rng.choices(groups, k=len(groups)) for _ in range(resamples))
    means = sorted(sum(total for _, total in draw) / sum(size for size, _ in draw) for draw in draws)
    return means[int((1 - level) / 2 * resamples)], means[int((1 + level) / 2 * resamples)]


class IndexStreamTest(unittest.TestCase):
    def test_sums_of_changing_values_are_those_of_the_plain_loop(self):
        plain, stream, shapes = random.Random(0), IndexStream(0), random.Random(1)
        for _ in range(200):
            n = shapes.choice([1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 44, 127, 128, 129, 255, 256, 257, 1000])
            for values in (range(n), range(0, 1000 * n, 1000)):
                self.assertEqual(stream.sums(values, 2), [sum(values[plain.randrange(n)] for _ in range(n))
                                                          for _ in range(2)])
        self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_sums_equal_the_plain_loop_for_every_way_of_adding(self):
        rng = random.Random(3)
        for n, top, repeats in ((1, 9, 5), (44, 2, 200), (44, 255, 200), (44, 256, 200), (255, 5, 50),
                                (255, 10 ** 30, 20), (256, 5, 30), (300, 1, 30), (1000, 2, 20), (1000, 10 ** 12, 20),
                                (65_535, 1, 1)):
            with self.subTest(n=n, top=top):
                values = [rng.randint(-top // 2, top - top // 2) for _ in range(n)]
                plain, stream = random.Random(n), IndexStream(n)
                self.assertEqual(stream.sums(values, repeats),
                                 [sum(values[plain.randrange(n)] for _ in range(n)) for _ in range(repeats)])
                self.assertEqual(stream.generator.getstate(), plain.getstate())

    def test_more_values_than_the_table_holds_raise(self):
        with self.assertRaises(ValueError):
            IndexStream(1).sums(range(65_536), 1)

    def test_seeds_differ_and_zero_is_one(self):
        first, second = (IndexStream(seed).sums(range(44), 20) for seed in (0, 1))
        self.assertNotEqual(first, second)
        self.assertEqual(first, IndexStream(0).sums(range(44), 20))


class SampledIntervalTest(unittest.TestCase):
    def test_three_cases_by_hand(self):
        # Four resamples of [0, 1, 5]: indices 012 210 111 220 would give 6 6 3 10. Sorted: 3 6 6 10.
        stream = mock.Mock(wraps=IndexStream(0), sums=lambda values, repeats: [6, 6, 3, 10])
        self.assertEqual(sampled_interval([0, 1, 5], 1, stream, 4, level=0.5).interval, (2, 2))
        self.assertEqual(sampled_interval([0, 1, 5], 1, stream, 4).interval, (Fraction(3, 3), Fraction(10, 3)))

    def test_positions_are_counted_in_decimals(self):
        # 0.9 as a float is more than 0.9: its tail of 2000 means would be 99.99 and not 100.
        stream = mock.Mock(wraps=IndexStream(0), sums=lambda values, repeats: range(repeats))
        for level, first, last in ((0.95, 50, 1949), (0.9, 100, 1899), (0.7, 300, 1699)):
            self.assertEqual(sampled_interval([1], 1, stream, level=level).interval, (first, last))

    def test_published_comparison_comes_out_from_one_stream(self):
        cases = [case for case in PUBLISHED.split() if case != "|"]
        numerators, trials = [sum(signs(case)) for case in cases], signs("".join(cases))
        groups = [(len(group.split()), sum(signs("".join(group.split())))) for group in PUBLISHED.split("|")]
        variants = [variant for size, _ in groups for variant in VARIANTS[:size]]

        def rounded(found):
            return [round(float(end), 4) for end in found.interval]
        stream = IndexStream(SEED)
        self.assertEqual(rounded(sampled_interval(numerators, 5, stream)), [0.0091, 0.0682])
        self.assertEqual(rounded(sampled_interval(trials, 1, stream)), [0.0091, 0.0636])
        by_source = source_interval(groups, 5)
        self.assertEqual(rounded(by_source), [0.0, 0.0727])
        self.assertEqual(by_source.at_zero, Fraction(6, 9) ** 9)
        self.assertEqual((by_source.method, by_source.exact), ("exact over 24310 draws", True))
        spanish = [variant == "translation" for variant in variants]
        slices = [[k for k, es in zip(numerators, spanish) if es == wanted] for wanted in (False, True)]
        slices += [[k for k, of in zip(numerators, variants) if of == variant] for variant in sorted(VARIANTS)]
        self.assertEqual([rounded(sampled_interval(chosen, 5, stream)) for chosen in slices],
                         [[0.0054, 0.0649], [0.0, 0.1714], [0.0, 0.1714], [0.0, 0.0], [0.0, 0.1111], [0.0, 0.1714],
                          [0.0, 0.1143], [0.0, 0.0]])

    def test_twenty_published_differences(self):
        self.assertEqual(sum(TWENTY) / 20, 3.5)
        self.assertEqual(sampled_interval(TWENTY, 1, IndexStream(SEED))[:2],
                         ((-1.5, 8.5), "sampled, 2000 resamples, seed 20261020"))
        self.assertEqual(exact_interval(TWENTY, 1), ((-1.5, 8.5), "exact, grid of 1/1", True, None, None))

    def test_many_resamples_tend_to_the_exact_interval(self):
        numerators = signs("".join(DATA["tau2 airline"][0].split()))
        for level in (0.5, 0.8, 0.95):
            sampled = sampled_interval(numerators, 1, IndexStream(5), 20_000, level).interval
            for ours, exact in zip(sampled, exact_interval(numerators, 1, level).interval):
                self.assertLessEqual(abs(ours - exact), Fraction(1, 50))

    def test_no_cases_or_a_level_out_of_range_raises(self):
        with self.assertRaises(ValueError):
            sampled_interval([], 1, IndexStream(0))
        for level in (0, 1, 95):
            with self.assertRaisesRegex(ValueError, "between 0 and 1"):
                sampled_interval([1, 2], 1, IndexStream(0), level=level)


class ExactIntervalTest(unittest.TestCase):
    def assert_ends(self, numerators, expected, level=0.95, unit=1):
        self.assertEqual(exact_interval(numerators, unit, level).interval, expected)

    def test_numerators_beyond_any_float_end_where_smaller_ones_do(self):
        small = [3, 1, 0, 2, 7, 5, 4, 1]
        low, high = exact_interval(small, 1).interval
        found = exact_interval([k * 10**40 + 1 for k in small], 1)
        self.assertEqual(found.interval, (low * 10**40 + 1, high * 10**40 + 1))
        self.assertTrue(found.exact)

    def test_the_method_names_the_coarsest_grid(self):
        self.assertEqual(exact_interval([2, 4, -2], 10).method, "exact, grid of 1/5")

    def test_three_cases_every_draw_by_hand(self):
        # [0, 1, 5] drawn three times, all 27 draws by their sum: 0 once, 1 and 2 three times each, 3 once, 5 three
        # times, 6 six times, 7, 10 and 11 three times each, 15 once.
        self.assert_ends([0, 1, 5], (0, 5))                           # 1/27 and 26/27 straddle
        self.assert_ends([0, 1, 5], (Fraction(1, 3), Fraction(11, 3)), 0.9)
        self.assert_ends([0, 1, 5], (Fraction(2, 3), Fraction(10, 3)), 0.5)

    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(11)
        for _ in range(40):
            numerators = [total for _, total in random_groups(rng, 5)]
            level = rng.choice([0.95, 0.9, 0.5, Fraction(7, 8), 0.99])
            with self.subTest(numerators=numerators, level=level):
                means = [mean / 5 for mean in every_mean([(1, k) for k in numerators])]
                self.assert_ends(numerators, percentiles(means, level), level, 5)
        numerators = [-2, 0, 0, 1, 3, 3]
        self.assert_ends(numerators, percentiles(every_mean([(1, k) for k in numerators]), 0.95))

    def test_inversion_equals_brute_force(self):
        rng = random.Random(9)
        for numerators in ([0, 0, 1, 1, 1, -1], [5, 0, 0, -2, 7], [rng.randrange(10 ** 7) for _ in range(6)], [-3, 3]):
            means = every_mean([(1, k) for k in numerators])
            with self.subTest(numerators=numerators), inverted():
                for ours, true in zip(exact_interval(numerators, 1, 0.9).interval, percentiles(means, 0.9)):
                    self.assertAlmostEqual(float(ours), float(true), delta=3e-3 * (max(numerators) - min(numerators)))

    def test_pass_or_fail_equals_the_binomial_distribution(self):
        for n, ones in ((30, 7), (101, 50), (400, 3), (2000, 700)):
            running = list(itertools.accumulate(
                math.exp(math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
                         + i * math.log(ones / n) + (n - i) * math.log(1 - ones / n)) for i in range(n + 1)))
            low, high = (next(i for i in range(n + 1) if running[i] >= share) for share in (0.025, 0.975))
            self.assert_ends([1] * ones + [0] * (n - ones), (Fraction(low, n), Fraction(high, n)))

    def test_a_probability_equal_to_the_limit_reaches_it(self):
        # P(Binomial(12, 1/2) <= 2) = 79/4096, which is half of 1 - 0.96142578125; P(<= 9) is the other limit.
        self.assert_ends([0, 1] * 6, (Fraction(2, 12), Fraction(9, 12)), 0.96142578125)
        self.assert_ends([0, 1] * 6, (Fraction(2, 12), Fraction(10, 12)), 0.96142578126)
        self.assert_ends([0, 1] * 6, (Fraction(3, 12), Fraction(9, 12)), 0.96142578124)

    def test_all_equal_and_one_case_are_points(self):
        for numerators in ([3], [3] * 7, [0] * 44, [-2] * 5000):
            self.assert_ends(numerators, (Fraction(numerators[0], 5),) * 2, unit=5)

    def test_data_sets_equal_an_independent_enumeration(self):
        for name, (text, trials, ends, _, _) in DATA.items():
            with self.subTest(name):
                found = exact_interval(signs("".join(text.split())), trials)
                self.assertEqual(tuple(map(float, found.interval)), ends)

    def test_grids_fine_and_coarse_tend_to_the_same(self):
        # Tenths are counted or inverted on their grid; with a millionth added to one of them there is none.
        rng = random.Random(6)
        for n in (9, 60, 700):
            tenths = [rng.randint(-6, 9) * 10 ** 5 for _ in range(n)]
            one, other = (exact_interval(numerators, 10 ** 6).interval for numerators in (
                tenths, [*tenths[:-1], tenths[-1] + 1]))
            for coarse, fine in zip(one, other):
                self.assertAlmostEqual(float(coarse), float(fine), delta=1e-4, msg=n)

    def test_free_floats_tend_to_a_long_bootstrap(self):
        rng = random.Random(8)
        for n in (8, 10, 40):
            numerators = [rng.randint(-10 ** 7, 2 * 10 ** 7) for _ in range(n)]
            long = bootstrap([(1, k) for k in numerators], 20_000, 1)
            for ours, theirs in zip(exact_interval(numerators, 10 ** 7).interval, long):
                self.assertAlmostEqual(float(ours), theirs / 10 ** 7, delta=0.03)

    def test_numbers_beyond_floats_are_not_fatal(self):
        groups = [(1, 10 ** 120), (2, -1), (1, 3), (1, 5), (1, 7), (2, 9)]
        numerators = [k for _, k in groups]
        with inverted():
            for found in (exact_interval(numerators, 1), source_interval(groups, 1), sign_flip(groups, 1)):
                self.assertLess(*found.interval)

    def test_no_cases_raises(self):
        with self.assertRaises(ValueError):
            exact_interval([], 1)


class SourceIntervalTest(unittest.TestCase):
    def test_small_shapes_equal_brute_force(self):
        rng = random.Random(12)
        for _ in range(50):
            groups, level = random_groups(rng, 5), rng.choice([0.95, 0.9, 0.5, 0.875])
            with self.subTest(groups=groups, level=level):
                means = every_mean(groups)
                found = source_interval(groups, 5, level)
                self.assertEqual(found.interval, percentiles([mean / 5 for mean in means], level))
                self.assertEqual(found.at_zero, Fraction(sum(mean <= 0 for mean in means), len(means)))
                self.assertEqual(found.method, f"exact over {math.comb(2 * len(groups) - 1, len(groups))} draws")

    def test_inversion_equals_brute_force(self):
        rng = random.Random(21)
        fine = [(rng.randint(1, 4), rng.randint(-10 ** 6, 10 ** 6)) for _ in range(4)]
        for groups in ([(1, 2), (3, -4), (2, 2), (1, 0), (2, 5)], [(1, 1), (1, 0), (2, 0), (2, 3), (1, 0)], fine):
            means = every_mean(groups)
            span = max(total / size for size, total in groups) - min(total / size for size, total in groups)
            with self.subTest(groups=groups), inverted():
                found = source_interval(groups, 1)
                for ours, true in zip(found.interval, percentiles(means, 0.95)):
                    self.assertAlmostEqual(float(ours), float(true), delta=3e-3 * span)
                self.assertAlmostEqual(found.at_zero, sum(mean <= 0 for mean in means) / len(means), places=3)
                self.assertFalse(found.exact)

    def test_no_gain_share_holds_the_draws_in_which_nothing_moved(self):
        for count, moved in ((100, 3), (500, 4)):
            groups = [(1, 0)] * (count - moved) + [(1, k) for k in (3141593, 2718282, 1414214, 1618034)[:moved]]
            found = source_interval(groups, 10 ** 7)
            self.assertFalse(found.exact)
            self.assertAlmostEqual(found.at_zero, (1 - moved / count) ** count, places=5)

    def test_data_sets_lie_within_the_spread_of_an_independent_bootstrap(self):
        for name, (text, trials, _, low, high) in DATA.items():
            with self.subTest(name):
                found = source_interval(grouped(text), trials)
                for end, (least, most) in zip(found.interval, (low, high)):
                    self.assertTrue(least - 1e-4 <= end <= most + 1e-4, (end, least, most))

    def test_equal_sizes_equal_the_interval_by_case(self):
        numerators = signs("+0-+0#+0+-" * 5)
        found = source_interval([(4, k) for k in numerators], 1)
        self.assertEqual(found.interval, tuple(end / 4 for end in exact_interval(numerators, 1).interval))

    def test_other_shapes_tend_to_a_long_bootstrap(self):
        rng = random.Random(3)
        large = [(50, 90), (40, -60), (60, 100)] + [(1, rng.randint(-2, 3)) for _ in range(12)]
        sized = [(rng.randint(1, 5), rng.randint(-9, 12)) for _ in range(45)]
        for groups, delta in ((TWELVE[1:], 0.07), (large, 0.15), (sized, 0.07)):
            for ours, theirs in zip(source_interval(groups, 1).interval, bootstrap(groups, 4_000, 2)):
                self.assertAlmostEqual(float(ours), theirs, delta=delta)

    def test_uneven_trial_counts_need_no_common_grid(self):
        # Shares of 7, 11 and 13 trials have the unit 1001; only that of the last is not a multiple of 1/7.
        coarse = [(size, 1001 * total // 7) for size, total in ((1, 3), (2, -4), (2, 9), (3, 5), (1, 0), (2, 7))] * 3
        one, other = (source_interval(groups, 1001) for groups in (coarse, coarse[:-1] + [(2, coarse[-1][1] + 1)]))
        for ours, theirs in zip(one.interval, other.interval):
            self.assertAlmostEqual(float(ours), float(theirs), delta=1e-4)

    def test_one_group_is_a_point_and_none_raises(self):
        found = source_interval([(3, 2)], 5)
        self.assertEqual(found, ((Fraction(2, 15),) * 2, "exact over 1 draws", True, None, 0))
        with self.assertRaises(ValueError):
            source_interval([], 1)


def all_but_tied(signs, noise):
    """Return the share of subsets with a sum of at most 0, and the values: signs times a billion, and the noise."""
    ways = Counter({(0, 0): 1})                                     # of subsets, by the sums of their signs and noise
    for sign, more in zip(signs, noise, strict=True):
        ways.update({(whole + sign, part + more): count for (whole, part), count in ways.items()})
    exact = sum(count for sums, count in ways.items() if sums <= (0, 0)) / 2 ** len(signs)
    return exact, [10 ** 9 * sign + more for sign, more in zip(signs, noise, strict=True)]


class SignFlipTest(unittest.TestCase):
    @staticmethod
    def by_definition(groups: list[tuple[int, int]], level: float) -> tuple:
        """Return the interval and the p-value from all subsets and all sign patterns, one by one."""
        means = sorted((Fraction(sum(k for _, k in some), sum(size for size, _ in some))
                        for count in range(1, len(groups) + 1) for some in itertools.combinations(groups, count)),
                       key=float)
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
                self.assertEqual((found.interval, found.at_zero), self.by_definition(groups, level))
                self.assertEqual(found.method, f"exact, {2 ** len(groups)} sign patterns")

    def test_six_groups_carry_the_95_interval_and_five_the_90(self):
        groups = [(1, k) for k in (1, 2, 3, 4, 5, 6)]
        self.assertEqual(sign_flip(groups, 1).interval, (1, 6))
        self.assertIsNone(sign_flip(groups[:5], 1).interval)
        self.assertEqual(sign_flip(groups[:5], 1).reason, "fewer than 6 sources: too few for a 95% interval")
        self.assertEqual(sign_flip(groups[:5], 1).at_zero, Fraction(1, 16))
        self.assertEqual(sign_flip(groups[:5], 1, level=0.9).interval, (1, 5))
        self.assertEqual(sign_flip(groups[:4], 1, level=0.9).reason, "fewer than 5 sources: too few for a 90% interval")

    def test_sums_that_equal_the_limit_are_counted_for_scores_of_many_decimals(self):
        rng = random.Random(44)
        for decimals, count in ((4, 40), (6, 60), (9, 30), (9, 100)):
            values = [round(10 ** decimals * rng.choice((-3, -2, -1, 1, 2, 3, 4)) / 6) for _ in range(count)]
            ways = Counter({0: 1})
            for value in values:
                ways = ways + Counter({total + value: times for total, times in ways.items()})
            tail = Fraction(sum(times for total, times in ways.items() if total <= 0), 2 ** count)
            with self.subTest(decimals=decimals, count=count):
                self.assertEqual(intervals.flip_tail(Counter(values)), tail)
                self.assertEqual(intervals.flip_excludes([(1, k) for k in values], 1, 0, tail), True)

    def test_inversion_equals_brute_force(self):
        rng = random.Random(16)
        for groups in ([(rng.randint(1, 3), rng.randint(-3, 5)) for _ in range(9)],
                       [(1, 2), (1, 2), (1, -2), (1, 2), (1, 0), (1, 2), (1, 2)],
                       [(rng.randint(1, 3), rng.randint(-10 ** 6, 2 * 10 ** 6)) for _ in range(9)]):
            means = [total / size for size, total in groups]
            interval, p_value = self.by_definition(groups, 0.95)
            with self.subTest(groups=groups), inverted():
                found = sign_flip(groups, 5)
                for ours, true in zip(found.interval, interval):
                    self.assertAlmostEqual(float(ours), float(true), delta=2e-3 * (max(means) - min(means)))
                self.assertAlmostEqual(found.at_zero, p_value, delta=2 / 2 ** 9)
                self.assertFalse(found.exact)

    def test_coarse_and_fine_values_tend_to_the_same(self):
        # Whole passes are counted or inverted on their grid; a billionth more for each source leaves no grid.
        rng = random.Random(18)
        for n in (18, 40, 160):
            groups = [(size, 10 ** 9 * rng.randint(-size, size + 1)) for size in (rng.randint(1, 6) for _ in range(n))]
            fine = [(size, total + rng.randint(-9, 9)) for size, total in groups]
            one, other = sign_flip(groups, 10 ** 9), sign_flip(fine, 10 ** 9)
            for ours, theirs in zip(one.interval, other.interval):
                self.assertAlmostEqual(float(ours), float(theirs), delta=1e-4, msg=n)
            moved = [(size, total + 10 ** 7 * size) for size, total in groups]      # by a hundredth: no sum is 0
            nearby = [(size, total + rng.randint(-9, 9)) for size, total in moved]
            one, other = (intervals.flip_tail(Counter(total for _, total in some)) for some in (moved, nearby))
            self.assertAlmostEqual(float(one), float(other), delta=0.002)

    def test_rounded_sums_give_the_tail_that_inversion_gives(self):
        rng = random.Random(31)
        for n in (44, 60, 35, 50):
            values = [rng.randint(-10 ** 9, 16 * 10 ** 8) for _ in range(n)]
            rounded = intervals.flip_tail(Counter(values))
            with mock.patch.object(intervals, "ROUNDED_GROUPS", 0):
                self.assertAlmostEqual(float(rounded), intervals.flip_tail(Counter(values)), delta=2e-4)

    def test_sums_that_all_but_tie_count_as_ties_which_errs_on_the_safe_side(self):
        rng = random.Random(31)
        for n, losing in ((33, 10), (40, 13), (60, 21), (70, 26), (100, 40)):
            signs = [-1] * losing + [1] * (n - losing)
            for _ in range(3):
                noise = [sign * rng.randrange(6) for sign in signs]
                exact, values = all_but_tied(signs, noise)
                found, tied = (float(intervals.flip_tail(Counter(some))) for some in (values, signs))
                self.assertGreater(found, exact - 5e-5)
                self.assertLess(found, tied + 5e-5)
        large = 10 ** 13                    # seven gain it and one loses it: what is left decides in 8 of 256 ways
        for n, losing in ((40, 22), (60, 32), (80, 42)):
            signs = [-1] * losing + [1] * (n - losing)
            exact, values = all_but_tied(signs, [-rng.randrange(1, 6) for _ in signs])
            found = float(intervals.flip_tail(Counter([large] * 7 + [-large] + values)))
            self.assertGreater(found, (1 + 8 * exact) / 2 ** 8 - 1e-4)

    def test_a_few_large_sources_count_for_what_they_are(self):
        # Beside sources of 300 and 200, two hundred of one: the sum of the small ones is normal, the large are counted.
        sizes = [300, 200] + [1, 3] * 100
        sd = math.sqrt(100 * (1 + 9))
        expected = math.fsum(math.erfc((sum(sizes) - 150 + a + b) / sd / math.sqrt(2)) / 8
                             for a in (300, -300) for b in (200, -200))
        values = [*sizes[:2], *(value * (-1 if i % 3 else 1) for i, value in enumerate(sizes[2:]))]
        gap = sum(values)
        expected = math.fsum(math.erfc((gap - 2 + a + b) / sd / math.sqrt(2)) / 8
                             for a in (300, -300) for b in (200, -200))
        self.assertAlmostEqual(float(intervals.flip_tail(Counter(values))), expected, delta=0.002)
        with inverted():
            self.assertAlmostEqual(intervals.flip_tail(Counter(values)), expected, delta=0.002)

    def test_one_of_many_alike_is_not_large(self):
        for sizes, large in (([10 ** 5, *range(950, 1060)], []), ([10 ** 6, 9 * 10 ** 5, *range(950, 1060)], [0, 1]),
                             ([*range(10 ** 6, 10 ** 6 + 10), *range(950, 1060)], range(10)),
                             ([10 ** 9] * 30 + [*range(1, 999)], range(30)), ([10 ** 5] + [101] * 5 + [100] * 100, [])):
            squares = sum(size ** 2 for size in sizes)
            self.assertEqual(intervals._few_large(Counter(sizes), squares), Counter(sizes[i] for i in large))

    def test_small_sources_beside_a_few_large_ones_are_not_drowned_in_their_noise(self):
        rng = random.Random(5)
        small = [rng.choice((-9, -5, -2, 1, 4, 8)) for _ in range(399)]
        small.append(-60 - sum(small))                              # so that the sum of all leans against the large
        ways = {0: 1}
        for value in small:
            step = Counter()
            for total, count in ways.items():
                step[total] += count
                step[total + value] += count
            ways = step
        lowest = Fraction(sum(count for total, count in ways.items() if total <= 0), 2 ** len(small))
        small = [10 ** 5 * value for value in small]                # too fine to be counted
        for large in ([10 ** 14 + 1] * 5, [10 ** 14 + 1, 10 ** 14 + 10 ** 9, 2 * 10 ** 14]):
            # Only the subsets without a large value have a sum of at most 0.
            found = intervals.flip_tail(Counter(small + large))
            self.assertAlmostEqual(float(found), float(lowest / 2 ** len(large)), delta=1e-6)
            groups = [(1, value) for value in small + large]
            for off in (-1, 1):
                alpha = lowest / 2 ** len(large) * (1 + Fraction(off, 100))
                self.assertEqual(intervals.flip_excludes(groups, 1, 0, alpha), off > 0)

    def test_the_order_of_the_values_changes_nothing(self):
        rng = random.Random(3)
        for count in (20, 40, 90):
            values = [round(rng.uniform(-0.4, 1) * 10 ** 9) for _ in range(count)]
            self.assertEqual({intervals.flip_p_value(rng.sample(values, count)) for _ in range(4)},
                             {intervals.flip_p_value(values)})

    def test_p_value_and_interval_agree_at_zero(self):
        rng = random.Random(17)
        for _ in range(60):
            groups = [(rng.randint(1, 3), rng.randint(-3, 6)) for _ in range(10)]
            found = sign_flip(groups, 1)
            low, high = found.interval
            self.assertEqual(found.at_zero > Fraction(1, 20), low <= 0 <= high, groups)

    def test_p_value_of_equal_cases_is_binomial(self):
        groups = [(1, 1)] * 20 + [(1, -1)] * 8 + [(1, 0)] * 3
        two_sided = Fraction(2 * sum(math.comb(28, i) for i in range(9)), 2 ** 28)
        self.assertEqual(sign_flip(groups, 1).at_zero, two_sided)

    def test_the_low_end_touches_no_limit_that_is_excluded(self):
        rng = random.Random(5)
        for n in (6, 9, 13):
            groups = [(rng.randint(1, 3), rng.randint(-2, 5)) for _ in range(n)]
            low = sign_flip(groups, 5).interval[0]
            little = Fraction(1, 10 ** 9)
            for limit, excluded in ((low, False), (low - little, True), (low + little, False)):
                self.assertEqual(intervals.flip_excludes(groups, 5, limit, 0.025), excluded, (groups, limit))

    def test_a_tail_equal_to_alpha_excludes(self):
        # Ten gains of one: no subset but the empty one has a sum of 0, 1 / 1024; with a loss of one, twelve of 2048.
        for losses, share in ((0, Fraction(1, 1024)), (1, Fraction(12, 2048))):
            groups = [(1, 1)] * 10 + [(1, -1)] * losses
            self.assertEqual(intervals.flip_tail(Counter(k for _, k in groups)), share)
            self.assertTrue(intervals.flip_excludes(groups, 1, 0, share))
            self.assertFalse(intervals.flip_excludes(groups, 1, 0, share - Fraction(1, 10 ** 9)))

    def test_the_tail_is_true_at_any_size_and_total(self):
        rng = random.Random(2)
        for n, top in ((0, 1), (5, 3), (9, 10 ** 12), (11, 2)):
            for _ in range(5):
                values = [rng.randint(-top, top) for _ in range(n)]
                sums = [sum(itertools.compress(values, chosen)) for chosen in itertools.product((0, 1), repeat=n)]
                share = Fraction(sum(value <= 0 for value in sums), 2 ** n)
                self.assertEqual(intervals.flip_tail(Counter(values)), share)
        for n in (1000, 2000):
            for gains in (n // 2 + 40, n // 2):
                exact = Fraction(sum(math.comb(n, i) for i in range(n - gains + 1)), 2 ** n)
                self.assertAlmostEqual(float(intervals.flip_tail({3: gains, -3: n - gains})), float(exact),
                                       places=9)

    def test_tails_too_small_for_floats_are_bounded_from_above(self):
        with inverted():
            for n in (32, 60, 1200):                       # none of them, one of the small, or the large one alone
                tail = intervals.flip_tail({2: n, -3: 1})
                self.assertTrue(Fraction(n + 2, 2 ** (n + 1)) <= tail <= intervals.SMALLEST_TAIL, (n, tail))

    def test_groups_needed_is_where_a_claim_becomes_possible(self):
        for alpha in (Fraction(1, 40), 0.05, 0.5, Fraction(1, 64), 0.0123, 1e-6, 1e-300):
            needed = intervals.groups_needed_for(alpha)
            self.assertTrue(Fraction(1, 2 ** needed) <= Fraction(str(alpha)) < Fraction(1, 2 ** (needed - 1)), alpha)
            level = 1 - 2 * Fraction(str(alpha))
            if 0 < level and needed < 100:
                self.assertIsNone(sign_flip([(1, 1)] * (needed - 1), 1, level).interval if needed > 1 else None)
                self.assertIsNotNone(sign_flip([(1, 1)] * needed, 1, level).interval)

    def test_few_large_sources_beside_small_ones_of_free_floats_are_counted(self):
        """The values of the large ones must not set the scale: a subset that leaves them out has a small mean."""
        rng = random.Random(17)
        for alpha in (Fraction(1, 800), Fraction(1, 40)):
            groups = [(size, rng.randint(-7 * 10 ** 5 * size, 10 ** 6 * size)) for size in [1] * 14 + [50] * 3]
            subsets = [(0, 0)]
            for size, total in groups:
                subsets += [(cases + size, part + total) for cases, part in subsets]
            low = sorted(part / cases for cases, part in subsets[1:])[math.floor(alpha * 2 ** 17) - 1] / 10 ** 6
            for by in (1e-9, 1e-4):
                self.assertTrue(intervals.flip_excludes(groups, 10 ** 6, Fraction(low - by), alpha))
                self.assertFalse(intervals.flip_excludes(groups, 10 ** 6, Fraction(low + by), alpha))

    def test_more_groups_of_free_floats_are_rounded_to_within_a_ten_thousandth_of_the_range(self):
        rng = random.Random(27)
        for alpha in (Fraction(1, 800), Fraction(1, 40)):
            groups = [(size, rng.randint(-7 * 10 ** 5 * size, 10 ** 6 * size)) for size in [1] * 21 + [50] * 3]
            level = 1 - 2 * alpha
            counted = sign_flip(groups, 10 ** 6, level).interval
            with mock.patch.object(intervals, "HALVED_GROUPS", 0):
                for one, other in zip(sign_flip(groups, 10 ** 6, level).interval, counted, strict=True):
                    self.assertAlmostEqual(float(one), float(other), delta=1e-4)

    def test_no_difference_has_p_one(self):
        found = sign_flip([(2, 0)] * 7, 1)
        self.assertEqual((found.interval, found.at_zero), ((0, 0), 1))


class LawsTest(unittest.TestCase):
    """What must hold for each interval, whatever it is computed from."""

    groups = [(1, 2), (3, -4), (2, 2), (1, 0), (2, 5), (4, 1), (1, -1), (2, 3)]

    def each(self):
        """Yield (name, function of groups and level); by case, each group counts as one case."""
        yield "sampled", lambda groups, level=0.95: sampled_interval(
            [k for _, k in groups], 5, IndexStream(1), level=level).interval
        yield "exact", lambda groups, level=0.95: exact_interval([k for _, k in groups], 5, level).interval
        yield "by source", lambda groups, level=0.95: source_interval(groups, 5, level).interval
        yield "sign flip", lambda groups, level=0.95: sign_flip(groups, 5, level).interval

    def test_swapping_the_systems_mirrors(self):
        for name, interval in self.each():
            with self.subTest(name):
                low, high = interval(self.groups)
                self.assertEqual(interval([(size, -k) for size, k in self.groups]), (-high, -low))

    def test_mirror_breaks_only_where_a_probability_equals_the_limit(self):
        # The low end is the first mean whose P reaches 1/4, the high end the first that reaches 3/4. Where P is 1/4
        # exactly, the mirrored distribution stops one mean earlier: percentile intervals are not quite symmetric.
        self.assertEqual(exact_interval([0, 1], 1, level=0.5).interval, (0, Fraction(1, 2)))
        self.assertEqual(exact_interval([0, -1], 1, level=0.5).interval, (-1, Fraction(-1, 2)))
        rng = random.Random(21)
        for _ in range(60):
            groups = random_groups(rng, 4)
            low, high = source_interval(groups, 1, level=0.875).interval
            mirrored = source_interval([(size, -k) for size, k in groups], 1, level=0.875).interval
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
            if name != "sampled":
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
