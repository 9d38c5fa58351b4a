"""Is chance told as its definitions say? By hand, by brute force over every pattern, split and deal, and in worlds
without change.

    $ python3 -m unittest tests.test_chance
"""

import doctest
import itertools
import math
import operator
import random
import unittest
from collections import Counter
from fractions import Fraction

from core import chance
from core import decide
from core import intervals
from core.trials import ComparedCase, Pair, Side, Trial
from tests.test_decide import AIRLINE_GROUPS, AIRLINE_SCORES, decide_on, differences, grouped


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(chance))
    return tests


class ChanceTest(unittest.TestCase):
    def test_by_chance_equals_every_deal_of_the_passes(self):
        for in_baseline, in_candidate in itertools.product(range(1, 5), repeat=2):
            slots = range(in_baseline + in_candidate)
            for b, c in itertools.product(range(in_baseline + 1), range(in_candidate + 1)):
                gaps = []
                for passing in itertools.combinations(slots, b + c):
                    dealt = sum(slot < in_baseline for slot in passing)
                    gaps.append(abs(Fraction(b + c - dealt, in_candidate) - Fraction(dealt, in_baseline)))
                seen = abs(Fraction(c, in_candidate) - Fraction(b, in_baseline))
                self.assertAlmostEqual(chance.by_chance(b, in_baseline, c, in_candidate),
                                       sum(gap >= seen for gap in gaps) / len(gaps), places=12)

    def test_by_chance_of_sixteen_guesses(self):
        # Fisher's lady tasting tea (1935): all eight cups right, one way in 70, the mirror image another.
        self.assertAlmostEqual(chance.by_chance(0, 4, 4, 4), 2 / 70, places=12)
        self.assertEqual(chance.by_chance(3, 5, 0, 5), chance.by_chance(0, 5, 3, 5))

    def test_changed_by_chance_equals_every_deal(self):
        passes = [(0, 3, 2, 3), (3, 3, 3, 3), (1, 3, 1, 3), (2, 3, 1, 3), (0, 3, 3, 3)]
        rows = chance.changed_by_chance(passes)["trials_moved"]
        self.assertEqual([row["observed"] for row in rows], [3, 2, 1])
        for row in rows:
            expected = Fraction(0)
            for b, _, c, _ in passes:
                moves = [abs(b + c - 2 * sum(slot < 3 for slot in passing))
                         for passing in itertools.combinations(range(6), b + c)]
                expected += Fraction(sum(move >= row["at_least"] for move in moves), len(moves))
            self.assertAlmostEqual(row["expected"], float(expected), places=12)

    def test_observed_meets_expected_in_worlds_without_change(self):
        rng, observed, expected = random.Random(9), Counter(), Counter()
        for _ in range(200):
            chances = [rng.random() for _ in range(30)]
            passes = [(sum(rng.random() < p for _ in range(4)), 4, sum(rng.random() < p for _ in range(4)), 4)
                      for p in chances]
            for row in chance.changed_by_chance(passes)["trials_moved"]:
                observed[row["at_least"]] += row["observed"]
                expected[row["at_least"]] += row["expected"]
        for least in (1, 2, 3):
            self.assertLess(abs(observed[least] - expected[least]), 4 * math.sqrt(expected[least]))

    def test_changed_by_chance_gives_a_reason_where_moves_have_no_count(self):
        self.assertEqual(chance.changed_by_chance(None),
                         {"trials_moved": None, "reason": "scores are not pass or fail"})
        self.assertEqual(chance.changed_by_chance([(1, 2, 1, 2), (1, 2, 1, 5)])["reason"], "cases have 2 to 5 trials")
        self.assertEqual(chance.changed_by_chance([(2, 2, 2, 2)]), {"trials_moved": [], "reason": None})

    def test_pass_counts_need_scores_of_0_and_1(self):
        self.assertEqual(chance.pass_counts([[0, 1], [1]], [[1, 1], [Fraction(0)]]), [(1, 2, 2, 2), (1, 1, 0, 1)])
        self.assertIsNone(chance.pass_counts([[0, 1]], [[1, Fraction(1, 2)]]))


    def test_44_cases_that_lose_all_are_not_what_sampling_brings(self):
        found = chance.changed_by_chance([(5, 5, 0, 5)] * 44)
        self.assertEqual(found["trials_moved"][0], {"at_least": 1, "observed": 44, "expected": 44})
        self.assertEqual(found["trials_moved"][4]["observed"], 44)
        self.assertAlmostEqual(found["trials_moved"][4]["expected"], 44 * 2 / 252)

    def test_many_trials_take_no_more_than_a_step_a_trial(self):
        trials = 20_000                                    # whole numbers of so many digits would take minutes
        # The move has a deviation of 100, and the parity of all passes: 100 or more is beyond 99 in three, 100 in two.
        found = chance.changed_by_chance([(trials // 2 + shift, trials, trials // 2, trials) for shift in range(5)])
        self.assertAlmostEqual(found["trials_moved"][99]["expected"], 3 * 0.3222 + 2 * 0.3173, delta=0.001)
        self.assertLess(len(found["trials_moved"]), 600)
        self.assertAlmostEqual(chance.by_chance(10_000, trials, 10_196, trials), 0.0512, delta=0.0001)

    def test_deals_in_floats_are_those_in_whole_numbers(self):
        for passes, in_baseline, in_candidate in ((150, 200, 100), (7, 300, 5), (300, 150, 151), (0, 200, 200)):
            shares = chance._deals(passes, in_baseline, in_candidate)
            self.assertEqual(len(shares), min(passes, in_candidate) - max(0, passes - in_baseline) + 1)
            ways = math.comb(in_baseline + in_candidate, passes)
            for move, share in shares.items():
                c = (move + passes * in_candidate) // (in_baseline + in_candidate)
                exact = math.comb(in_candidate, c) * math.comb(in_baseline, passes - c) / ways
                self.assertAlmostEqual(share / exact if exact > 1e-290 else 1, 1, places=9)


def made_pair(baseline, candidate, outputs=None, shift=0, score_range=(0, 1), tags=()):
    """Return a Pair of scores by case and trial; outputs(side, case, trial), shift of the candidate's seeds."""
    sides = [Side({}, [[Trial(1000 + t + by, score, None, outputs and outputs(name, i, t))
                        for t, score in enumerate(case)] for i, case in enumerate(scores)], [])
             for name, scores, by in (("baseline", baseline, 0), ("candidate", candidate, shift))]
    return Pair([ComparedCase(f"c{i}", None, tuple(tags)) for i in range(len(baseline))], *sides, score_range, {}, [])


def dealt_by_convolution(cases):
    """Return how often dealt passes differ as much, by adding up the cases one by one."""
    grid = math.lcm(*(n for _, b, _, c in cases for n in (b, c)))
    sums = Counter({0: 1.0})
    for b, in_b, c, in_c in cases:
        longer = Counter()
        for move, dealt in chance._deals(b + c, in_b, in_c).items():
            for total, share in sums.items():
                longer[total + move * grid // (in_b * in_c)] += share * dealt
        sums = longer
    seen = abs(sum(c * grid // in_c - b * grid // in_b for b, in_b, c, in_c in cases))
    return sum(share for total, share in sums.items() if abs(total) >= seen)


def asked(pair, paired=True, cases=None):
    luck = chance.shared_luck(pair, paired)
    scores = chance.scores_of(pair)
    cases = range(len(pair.cases)) if cases is None else cases
    difference = sum(Fraction(sum(scores[1][i]), len(scores[1][i])) - Fraction(sum(scores[0][i]), len(scores[0][i]))
                     for i in cases) / len(cases)
    sampled = [[[c - b for b, c in zip(*both)] for both in zip(*scores)]] if paired else scores
    return chance.VeryCases(pair, sampled, chance.pass_counts(*scores), luck).figures(cases, difference)


class TheseCasesTest(unittest.TestCase):
    def test_p_value_is_the_share_of_all_signs_of_the_pairs(self):
        rng = random.Random(21)
        for _ in range(40):
            counts = [rng.randint(1, 3) for _ in range(4)]
            before, after = ([[rng.choice((0, 1, Fraction(1, 4))) for _ in range(n)] for n in counts] for _ in range(2))
            units = [(c - b) / Fraction(n) for one, other, n in zip(before, after, counts) for b, c in zip(one, other)]
            seen, moves = abs(sum(units)), [unit for unit in units if unit]
            signs = list(itertools.product((1, -1), repeat=len(moves)))
            share = Fraction(sum(abs(sum(map(operator.mul, row, moves))) >= seen for row in signs), len(signs))
            found = asked(made_pair(before, after))
            self.assertAlmostEqual(found["p_value"], share)
            self.assertEqual((found["pairs"], found["disagree"]), (sum(counts), len(moves)))

    def test_pass_or_fail_is_the_exact_mcnemar_test(self):
        # Of 9 pairs that disagree 8 gain: twice (9 + 1) of 2^9.
        found = asked(made_pair([[0, 1]] * 8 + [[1, 1]], [[1, 1]] * 8 + [[1, 0]]))
        self.assertEqual((found["p_value"], found["method"]), (Fraction(20, 512), "exact McNemar test"))
        self.assertEqual((found["pairs"], found["disagree"]), (18, 9))
        many = asked(made_pair([[0, 0]] * 1100 + [[1, 1]] * 1000, [[1, 1]] * 1100 + [[0, 0]] * 1000))
        self.assertAlmostEqual(many["p_value"], math.erfc(199 / math.sqrt(4200) / math.sqrt(2)), delta=1e-5)

    def test_outputs_alike_in_all_trials_count_once(self):
        before, after = [[0] * 5] * 6, [[1] * 5] * 6
        alike = asked(made_pair(before, after, lambda name, i, t: f"{name}{i}"))
        self.assertEqual((alike["p_value"], alike["pairs"]), (Fraction(2, 2 ** 6), 6))
        for outputs in (None, lambda name, i, t: f"{name}{i}{t}"):         # unknown, or different
            apart = asked(made_pair(before, after, outputs))
            self.assertEqual((apart["p_value"], apart["pairs"]), (Fraction(2, 2 ** 30), 30))

    def test_passes_dealt_on_a_fine_grid_err_to_the_safe_side_by_little(self):
        passes = [(3, 7, 9, 11), (2, 9, 8, 13), (5, 11, 6, 7), (4, 13, 5, 9), (6, 17, 3, 7)]
        true, found = dealt_by_convolution(passes), chance._dealt(passes)
        self.assertLessEqual(true, found)
        self.assertLess(found - true, 1e-3)

    def test_trials_that_hardly_differ_are_no_copies(self):
        before = [[0] * 5 for _ in range(60)]
        after = [[int(i < 2)] * 5 for i in range(60)]
        after[30][3] = 1  # one slip among 600 trials
        pair = made_pair(before, after)
        self.assertEqual(chance.alike_trials(pair), [[0], [1], [2], [3], [4]])
        self.assertEqual(asked(pair)["pairs"], 300)

    def test_many_copies_of_one_trial_count_once(self):
        rng = random.Random(4)
        for cases, trials in ((20, 10), (10, 5), (12, 8), (30, 12), (44, 20)):
            drawn = [[[rng.randint(0, 1) for _ in range(2)] for _ in range(cases)] for _ in range(2)]
            copied = [[case[:1] + case[1:] * (trials - 1) for case in side] for side in drawn]
            pair = made_pair(*copied)
            self.assertEqual(chance.alike_trials(pair), [[0], [*range(1, trials)]])
            values = [(c - b) * count for before, after in zip(*drawn)
                      for b, c, count in zip(before, after, (1, trials - 1))]
            self.assertEqual(asked(pair)["p_value"], intervals.flip_p_value(values), (cases, trials))

    def test_trial_numbers_that_always_answer_alike_count_once(self):
        rng = random.Random(22)
        before, after = ([[rng.randint(0, 1) for _ in range(4)] for _ in range(20)] for _ in range(2))
        double = [[case + case[1:2] for case in side] for side in (before, after)]
        found = asked(made_pair(*double))
        self.assertEqual((chance.alike_trials(made_pair(*double)), found["pairs"]), ([[0], [1, 4], [2], [3]], 80))
        sums = [sum(c - b for b, c in zip(*both)) for both in zip(*double)]
        values = [(c - b) * (2 if t == 1 else 1) for b, c in zip(before, after) for t, (b, c) in enumerate(zip(b, c))]
        tail = intervals.flip_tail(Counter(value if sum(sums) > 0 else -value for value in values))
        self.assertAlmostEqual(found["p_value"], min(1, 2 * tail))
        one_differs = [case[:] for case in double[0]]
        one_differs[3][4] = 1 - one_differs[3][4]
        self.assertEqual(asked(made_pair(one_differs, double[1]))["pairs"], 100)
        # Cases that hardly vary agree by chance.
        steady = [[[1] * 5 for _ in range(20)] for _ in range(2)]
        self.assertEqual(asked(made_pair(*steady))["pairs"], 100)

    def test_among_many_trial_numbers_two_may_agree_in_a_few_cases_by_chance(self):
        rng = random.Random(24)
        for cases, alike in ((5, False), (12, True)):  # 190 pairs of numbers; in a case about 1/4 of them agree
            sides = [[[rng.randint(0, 1) for _ in range(19)] for _ in range(cases)] for _ in range(2)]
            pair = made_pair(*([case + case[:1] for case in side] for side in sides))
            self.assertEqual([0, 19] in chance.alike_trials(pair), alike)

    def test_trials_that_do_not_pair_are_dealt_at_random(self):
        rng = random.Random(23)
        for _ in range(12):
            cases = [(rng.randint(0, n), n, rng.randint(0, m), m)
                     for n, m in ((rng.randint(1, 3), rng.randint(1, 3)) for _ in range(3))]
            seen = abs(sum(Fraction(c, m) - Fraction(b, n) for b, n, c, m in cases))
            deals = [[Fraction(sum(slot >= n for slot in chosen), m) - Fraction(sum(slot < n for slot in chosen), n)
                      for chosen in itertools.combinations(range(n + m), b + c)] for b, n, c, m in cases]
            share = [abs(sum(row)) >= seen for row in itertools.product(*deals)]
            self.assertAlmostEqual(chance._dealt(cases), sum(share) / len(share))
            found = asked(made_pair([[1] * b + [0] * (n - b) for b, n, _, _ in cases],
                                    [[1] * c + [0] * (m - c) for _, _, c, m in cases]), paired=False)
            self.assertAlmostEqual(found["p_value"], sum(share) / len(share))
            self.assertIsNone(found["pairs"])
        found = asked(made_pair([[Fraction(1, 2)]], [[1, 1]]), paired=False)
        self.assertEqual((found["p_value"], found["reason"]),
                         (None, "trials do not pair, and scores are not pass or fail"))

    def test_dealt_passes_add_up_as_a_convolution_says(self):
        for cases in ([(2, 5, 3, 5)] * 20 + [(4, 5, 1, 4)] * 15 + [(0, 3, 2, 3)] * 10, [(5, 5, 0, 5)] * 44,
                      [(2, 5, 3, 5)] * 90 + [(3, 5, 2, 5)] * 80, [(1, 1, 1, 1)] * 3, [(300, 900, 333, 1000)]):
            self.assertAlmostEqual(chance._dealt(cases), min(dealt_by_convolution(cases), 1), delta=2e-12)

    def test_no_change_is_rarely_called_one(self):
        rng, worlds, alarms = random.Random(24), 400, Counter()
        for _ in range(worlds):
            chances = [rng.random() for _ in range(12)]
            before, after = ([[int(rng.random() < p) for _ in range(3)] for p in chances] for _ in range(2))
            for paired in (True, False):
                alarms[paired] += asked(made_pair(before, after), paired)["p_value"] <= 0.05
        for paired in (True, False):
            self.assertLess(alarms[paired] / worlds, 0.05 + 3 * math.sqrt(0.05 * 0.95 / worlds))
            self.assertGreater(alarms[paired] / worlds, 0.01)

    def test_interval_is_that_of_sampling_alone(self):
        # Six cases with trial differences 1 and 0: variance 1/2 each, of a share 1/4.
        found = asked(made_pair([[0, 0]] * 6, [[1, 0]] * 6))
        reach = 1.96 * math.sqrt(6 / 4) / 6
        self.assertAlmostEqual(found["interval_95"][0], 0.5 - reach)
        self.assertAlmostEqual(found["interval_95"][1], 0.5 + reach)
        # Unpaired: of each side, and here only the candidate varies.
        apart = asked(made_pair([[0, 0]] * 6, [[1, 0]] * 6), paired=False)
        self.assertAlmostEqual(apart["interval_95"][1], 0.5 + reach)
        few = asked(made_pair([[0, 0]] * 6, [[1, 0]] * 5 + [[0, 0]]))
        self.assertIsNone(few["interval_95"])
        self.assertIn("fewer than 6 cases", few["interval_reason"])
        single = asked(made_pair([[0]] * 9, [[1]] * 9))
        self.assertEqual((single["interval_95"], single["interval_reason"]),
                         (None, "a case with a single trial that counts shows no sampling"))
        self.assertEqual(single["p_value"], Fraction(2, 2 ** 9))
        steady = asked(made_pair([[0, 0]] * 9, [[1, 1]] * 9, lambda name, i, t: f"{name}{i}"))
        self.assertEqual((steady["interval_95"], steady["interval_reason"], steady["pairs"]),
                         (None, "no case varies between its trials: no sampling is seen", 9))

    def test_a_slice_is_asked_of_its_own_cases(self):
        found = asked(made_pair([[1] * 4] * 10, [[0] * 4] * 5 + [[1] * 4] * 5), cases=range(5))
        self.assertEqual((found["p_value"], found["pairs"]), (Fraction(2, 2 ** 20), 20))
        self.assertEqual(asked(made_pair([[1]] * 4, [[1]] * 4))["p_value"], 1)


def without(pair, *dropped):
    """Return a Pair without these trials: (case, place) pairs."""
    sides = [side._replace(trials=[[trial for t, trial in enumerate(case) if (i, t) not in dropped]
                                   for i, case in enumerate(side.trials)]) for side in pair.sides]
    return pair._replace(baseline=sides[0], candidate=sides[1])


class SharedLuckTest(unittest.TestCase):
    def test_trials_that_some_cases_lack_do_not_put_the_others_out_of_line(self):
        rng = random.Random(8)
        lucks = [[rng.choice((0.1, 0.9)) for _ in range(8)] for _ in range(2)]
        pair = made_pair(*([[int(rng.random() < luck) for luck in side] for _ in range(40)] for side in lucks))
        some_lack = without(pair, *((i, 0 if i % 2 else 7) for i in range(40)))
        all_lack = without(pair, *((i, t) for i in range(40) for t in (0, 7)))
        for paired in (True, False):
            found = chance.shared_luck(some_lack, paired)
            self.assertEqual(found, chance.shared_luck(all_lack, paired))
            self.assertEqual((found["trials"], found["withheld"]), (6, True))

    def test_a_trial_without_an_answer_is_not_alike_to_one_with(self):
        rng = random.Random(4)
        scores = [[[int(rng.random() < 0.5)] * 2 + [int(rng.random() < 0.5)] for _ in range(20)] for _ in range(2)]
        self.assertEqual(chance.alike_trials(made_pair(*scores)), [[0, 1], [2]])
        for case in scores[1][:8]:
            case[0] = None
        self.assertEqual(chance.alike_trials(made_pair(*scores)), [[0], [1], [2]])

    def test_one_that_is_lacking_does_not_join_two_that_differ(self):
        answers = [[0, 1, 1, i % 2] for i in range(12)]
        alike = [[f"{i} {t if t == 3 else 0} {t * (i == 9)}" for t in range(4)] for i in range(12)]
        pair = made_pair([[0] * 4] * 12, answers, outputs=lambda name, i, t: alike[i][t])
        self.assertEqual(chance.alike_trials(without(pair, (9, 0))), [[0, 1], [2], [3]])

    def test_seeds_of_case_and_trial_go_by_their_place(self):
        scores = [[int((i * t) % 3 == 0) for t in range(5)] for i in range(20)]
        shared = made_pair(scores, scores[::-1])
        sides = [side._replace(trials=[[trial._replace(seed=1000 * i + trial.seed) for trial in case]
                                       for i, case in enumerate(side.trials)]) for side in shared.sides]
        own = shared._replace(baseline=sides[0], candidate=sides[1])
        self.assertEqual(chance.shared_luck(own, True), chance.shared_luck(shared, True))
        self.assertEqual(chance.alike_trials(own), chance.alike_trials(shared))

    def test_trials_without_seeds_are_not_said_to_share_one(self):
        pair = made_pair([[0, 1]] * 6, [[1, 0]] * 6)
        bare = [side._replace(trials=[[trial._replace(seed=None) for trial in case] for case in side.trials])
                for side in pair.sides]
        bare = pair._replace(baseline=bare[0], candidate=bare[1])
        self.assertIsNone(chance.shared_luck(bare, False)["reason"])
        self.assertEqual(chance.shared_luck(pair, True)["reason"], "one seed for all cases: cannot be checked")

    def test_where_each_trial_is_lacking_somewhere_nothing_can_be_checked(self):
        pair = without(made_pair([[0, 1, 1, 0, 1]] * 6, [[1, 0, 1, 0, 0]] * 6), *((i, i % 5) for i in range(6)))
        found = chance.shared_luck(pair, True)
        self.assertEqual((found["trials"], found["reason"]), (0, "one seed for all cases: cannot be checked"))

    def test_numbers_that_agree_are_one_draw_also_where_some_cases_lack_one(self):
        rng = random.Random(9)

        def output(name, case, trial):
            return f"{name} {case} {min(trial, 3) if trial % 2 else trial}"  # trials 3 and 5 are alike

        scores = [[[int(rng.random() < 0.5) for _ in range(5)] for _ in range(30)] for _ in range(2)]
        pair = made_pair(*([[*row, row[3]] for row in side] for side in scores), outputs=output)
        self.assertEqual(chance.alike_trials(pair), [[0], [1], [2], [3, 5], [4]])
        for place in range(6):
            some_lack = without(pair, *((i, (place + i) % 6) for i in range(30)))
            self.assertEqual(chance.alike_trials(some_lack), [[0], [1], [2], [3, 5], [4]])
            found = asked(some_lack)
            self.assertEqual(found["pairs"], 4 * 20 + 5 * 10)  # a pair of a case that lacks 3 or 5 stands alone

    def test_ratio_and_tail_by_hand(self):
        # Trials add up to 2, 0, 1, 1: squares 2 about their mean; within the cases 1 + 1.
        pair = made_pair([[1, 0, 1, 0], [1, 0, 0, 1]], [[0] * 4] * 2)
        found = chance.shared_luck(pair, True)
        self.assertEqual((found["ratio"], found["candidate"]["ratio"], found["withheld"]), (1, None, False))
        self.assertAlmostEqual(found["p_value"], 0.3916, places=4)         # chi squared of 3 with 3 degrees of freedom

    def test_chi_squared_tails_are_those_of_printed_tables(self):
        # Fisher & Yates (1963), table IV
        for df, p_value, value in ((1, 0.05, 3.841), (2, 0.01, 9.210), (3, 0.01, 11.345), (4, 0.05, 9.488),
                                   (9, 0.001, 27.877), (10, 0.5, 9.342), (30, 0.05, 43.773)):
            self.assertAlmostEqual(chance.chi_squared_tail(value, df), p_value, places=4)
        self.assertEqual(chance.chi_squared_tail(0, 5), 1)

    def test_cases_that_move_together_withhold_what_rests_on_trials(self):
        rng = random.Random(25)
        luck = [[0.1, 0.9, 0.2, 0.8, 0.5], [0.9, 0.1, 0.5, 0.2, 0.8]]
        before, after = ([[int(rng.random() < p) for p in row] for _ in range(40)] for row in luck)
        found = chance.shared_luck(made_pair(before, after), True)
        self.assertTrue(found["withheld"])
        self.assertIn("trials of different cases move together", found["reason"])
        for paired in (True, False):
            asked_of = asked(made_pair(before, after), paired)
            self.assertEqual((asked_of["p_value"], asked_of["interval_95"]), (None, None))
            self.assertIn("move together", asked_of["reason"])
        # The same luck on both sides cancels where trials pair, and only there.
        same = made_pair(before, before)
        self.assertEqual([chance.shared_luck(same, paired)["withheld"] for paired in (True, False)], [False, True])

    def test_three_trials_cannot_be_checked_unless_seeds_differ_by_case(self):
        pair = made_pair([[0, 1, 0]] * 9, [[1, 0, 1]] * 9)
        found = chance.shared_luck(pair, True)
        self.assertEqual((found["ratio"], found["withheld"]), (None, False))
        self.assertEqual(found["reason"], "one seed for all cases: cannot be checked")
        own = [side._replace(trials=[[trial._replace(seed=(i, trial.seed)) for trial in case]
                                     for i, case in enumerate(side.trials)]) for side in pair.sides]
        self.assertIsNone(chance.shared_luck(pair._replace(baseline=own[0], candidate=own[1]), True)["reason"])

    def test_alarms_are_rare_where_trials_are_independent(self):
        rng, alarms = random.Random(26), 0
        for _ in range(300):
            before, after = ([[rng.randint(0, 1) for _ in range(10)] for _ in range(20)] for _ in range(2))
            alarms += chance.shared_luck(made_pair(before, after), True)["withheld"]
        self.assertLess(alarms / 300, 0.06)                # a ratio above 2 with 9 degrees of freedom: 0.035


class TailTest(unittest.TestCase):
    def test_numbers_beyond_floats_are_no_error(self):
        values = [10, 1] * 60
        large = [value * 10 ** 400 for value in values]
        self.assertAlmostEqual(intervals.flip_tail(Counter(large)), intervals.flip_tail(Counter(values)))
        groups = [(1, k) for k in (4, -2, 3, -1, 2, 0, 1)]
        self.assertEqual(decide_on(groups, 10 ** 400)["groups_needed"], 53)


def noise_floor(baseline, members, limits=decide.Limits(), score_range=(0, 1), seed=intervals.SEED):
    diffs = decide.Differences([], [], 1, members, max(members) + 1)
    return chance.noise_floor(baseline, diffs, limits, score_range, seed)


class NoiseFloorTest(unittest.TestCase):
    def brute(self, baseline, members, gate, min_gain, margin):
        """Return |differences| and whether the gate errs, over every ordered pair of halves."""
        trials = min(map(len, baseline))
        found, wrong = [], []
        for early in itertools.combinations(range(trials), trials // 2):
            for late in itertools.combinations([t for t in range(trials) if t not in early], trials // 2):
                ks, unit = differences(*([[case[t] for t in half] for case in baseline] for half in (early, late)))
                shares = [Fraction(sum(case[t] for t in early), len(early)) for case in baseline]
                means = [Fraction(sum(share for share, other in zip(shares, members) if other == group),
                                  members.count(group)) for group in set(members)]
                made = decide_on(grouped(ks, members), unit, max(means), 1 - min(means), gate=gate, min_gain=min_gain,
                                 margin=margin)
                found.append(abs(Fraction(sum(ks), len(ks) * unit)))
                wrong.append(bool({"better", "worse"} & {*made["claims"]}) if gate is None
                             else made["gate_met"] == (gate == "better"))
        return found, wrong

    def test_noise_floor_equals_every_split(self):
        rng, errors = random.Random(14), Counter()
        gates = [(None, 0, 0), ("better", 0, 0), ("better", Fraction(1, 20), 0), ("not-worse", 0, Fraction(1, 5)),
                 (None, 0, Fraction(1, 10)), ("equivalent", 0, Fraction(1, 4))]
        narrow = [(4, gate, 0, Fraction(margin, 20)) for gate in ("equivalent", "not-worse")
                  for margin in (9, 13, 17, 19)]
        for trials, gate, gain, margin in [(trials, *gate) for trials in (2, 3, 4) for gate in gates] + narrow + [
                (5, "better", 0, 0)]:
            members = [group for group in range(7) for _ in range(group % 3 + 1)]
            luck = [rng.random() for _ in range(5)]        # a trial number may have its own luck
            baseline = [[int(rng.random() < luck[t]) for t in range(trials)] for _ in members]
            baseline[0] = baseline[0] + [1]                # one case more than the others: its last trial stays out
            found = noise_floor(baseline, members, decide.Limits(gain, margin, gate))
            sizes, wrong = self.brute(baseline, members, gate, gain, margin)
            self.assertEqual((found["trials_per_half"], found["splits"]), (trials // 2, len(sizes) // 2))
            self.assertEqual(found["method"], "every split")
            self.assertEqual(found["mean_difference"], sum(sizes) / len(sizes))
            self.assertEqual(found["largest_difference"], max(sizes))
            self.assertEqual(found["gate_tripped_share"], Fraction(sum(wrong), len(wrong)))
            errors[gate, sum(wrong) in (0, len(wrong))] += 1
        for gate in (None, *decide.GATES):                 # each gate sometimes erred and sometimes not
            self.assertTrue(errors[gate, False], (gate, errors))

    def test_scores_on_a_grid_count_as_they_are(self):
        scores = [[Fraction(1, 4), Fraction(2, 3)], [Fraction(1), Fraction(1, 2)]]
        self.assertEqual(noise_floor(scores, [0, 1])["largest_difference"], Fraction(1, 24))

    def test_one_trial_has_no_halves_and_few_groups_no_gate(self):
        found = noise_floor([[1, 0], [1]], [0, 1], decide.Limits(gate="better"))
        self.assertEqual(found["reason"], "a case has a single trial: no halves to compare")
        self.assertEqual([found[key] for key in ("trials_per_half", "splits", "mean_difference")], [None] * 3)
        few = noise_floor([[1, 0]] * 5, [0, 1, 2, 3, 4])
        self.assertEqual((few["largest_difference"], few["gate_tripped_share"]), (1, None))
        self.assertEqual(noise_floor([[1, 0]] * 6, [0, 1, 2, 3, 4, 5])["gate_tripped_share"], 1)

    def test_many_splits_are_seeded(self):
        rng = random.Random(15)
        baseline = [[rng.randint(0, 1) for _ in range(12)] for _ in range(8)]
        first, again, other = (noise_floor(baseline, list(range(8)), seed=seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first["mean_difference"], other["mean_difference"])
        self.assertEqual((first["splits"], first["method"]), (200, "200 splits, seed 1"))
        self.assertEqual(noise_floor([[1] * 12] * 8, list(range(8)))["largest_difference"], 0)   # equal halves

    def test_splits_are_fewer_where_a_gate_takes_long_to_try(self):
        rng, limits = random.Random(16), decide.Limits(gate="better")
        fine = [[Fraction(rng.randrange(10 ** 9), 10 ** 9) for _ in range(10)] for _ in range(80)]
        rough = [[round(score) for score in case] for case in fine]
        for scores, method in ((fine, f"4 splits, seed {intervals.SEED}"),          # 126 would take minutes
                               (fine[:20], "every split"), (rough, "every split")):
            self.assertEqual(noise_floor(scores, list(range(len(scores))), limits)["method"], method)
        narrow = noise_floor([[0, 0]] * 30, list(range(30)), limits, (0, Fraction(1, 1000)))
        self.assertEqual(narrow["largest_difference"], 0)                           # a range of less than one step
        for groups, trials, steps, most in ((60, 10, 3 * 10 ** 14, 8), (1000, 10, 5000, 24), (10_000, 5, 20_000, 60),
                                            (100_000, 5, 200_000, 10)):
            self.assertEqual(chance._most_splits(groups, trials, steps), most)

    def test_airline_shows_what_its_own_halves_differ_by(self):
        found = noise_floor(AIRLINE_SCORES, AIRLINE_GROUPS, decide.Limits(gate="better"))
        passes = [sum(case[t] for case in AIRLINE_SCORES) for t in range(4)]
        sizes = [abs(passes[0] + passes[t] - (sum(passes) - passes[0] - passes[t])) for t in (1, 2, 3)]
        self.assertEqual(found["splits"], 3)
        self.assertEqual(found["mean_difference"], Fraction(sum(sizes), 3 * 2 * 50))
        self.assertEqual(found["gate_tripped_share"], 0)


if __name__ == "__main__":
    unittest.main()
