"""Is chance told as its definitions say? By hand, by brute force over every pattern, split and deal, and in worlds
without change.

    $ python3 -m unittest tests.test_chance
"""

import doctest
import itertools
import math
import random
import unittest
from collections import Counter
from fractions import Fraction

from core import chance
from core import intervals
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
                self.assertEqual(chance.by_chance(b, in_baseline, c, in_candidate),
                                 Fraction(sum(gap >= seen for gap in gaps), len(gaps)))

    def test_by_chance_of_sixteen_guesses(self):
        # Fisher's lady tasting tea (1935): all eight cups right, one way in 70, the mirror image another.
        self.assertEqual(chance.by_chance(0, 4, 4, 4), Fraction(2, 70))
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


class TailTest(unittest.TestCase):
    def brute(self, values):
        sums = [sum(chosen) for size in range(len(values) + 1) for chosen in itertools.combinations(values, size)]
        return Fraction(sum(total <= 0 for total in sums), len(sums))

    def test_tail_equals_every_subset(self):
        rng = random.Random(10)
        for _ in range(200):
            values = [rng.randint(-3, 5) for _ in range(rng.randint(1, 9))]
            self.assertEqual(chance.flip_tail(values), self.brute(values) if sum(values) > 0 else 1, values)
            self.assertEqual(chance.flip_tail(values + [0] * 100), chance.flip_tail(values))

    def test_tail_says_what_the_interval_says(self):
        rng, agreed = random.Random(11), Counter()
        for _ in range(150):
            groups = [(rng.randint(1, 3), rng.randint(-2, 6)) for _ in range(rng.randint(6, 9))]
            value = Fraction(rng.randint(-4, 8), 4)
            low, high = intervals.sign_flip(groups, 1).interval
            above = chance.flip_tail([4 * s - int(4 * value) * n for n, s in groups]) <= Fraction(1, 40)
            self.assertEqual(above, low > value)
            agreed[above] += 1
        self.assertGreater(min(agreed.values()), 20)

    def test_values_too_fine_to_count_are_counted_nearly(self):
        rng = random.Random(12)
        for _ in range(10):
            values = [rng.randrange(-10 ** 17, 2 * 10 ** 17) for _ in range(12)]
            if sum(values) > 0:
                self.assertAlmostEqual(chance.flip_tail(values), self.brute(values), delta=0.002)

    def test_normal_approximation_continues_the_count(self):
        rng = random.Random(13)
        for total in (60, 80, 100):
            values = [round(rng.gauss(0, 5)) or 1 for _ in range(100)]
            values[0] += total - sum(values)
            self.assertAlmostEqual(float(chance.flip_tail(values)), chance.flip_tail(values + [1, -1]), delta=0.01)
            self.assertLess(chance.flip_tail(values), 0.2)


    def test_numbers_beyond_floats_are_no_error(self):
        values = [10, 1] * 60
        self.assertAlmostEqual(chance.flip_tail([value * 10 ** 400 for value in values]), chance.flip_tail(values))
        groups = [(1, k) for k in (4, -2, 3, -1, 2, 0, 1)]
        self.assertEqual(decide_on(groups, 10 ** 400)["groups_needed"], 18)


class NoiseFloorTest(unittest.TestCase):
    def brute(self, baseline, members, gate, min_gain, margin):
        """Return |differences| and whether the gate errs, over every ordered pair of halves."""
        trials = min(map(len, baseline))
        found, wrong = [], []
        for early in itertools.combinations(range(trials), trials // 2):
            for late in itertools.combinations([t for t in range(trials) if t not in early], trials // 2):
                ks, unit = differences(*([[case[t] for t in half] for case in baseline] for half in (early, late)))
                made = decide_on(grouped(ks, members), unit, gate=gate, min_gain=min_gain, margin=margin)
                found.append(abs(Fraction(sum(ks), len(ks) * unit)))
                wrong.append(bool({"better", "worse"} & {*made["claims"]}) if gate is None
                             else made["gate_met"] == (gate == "better"))
        return found, wrong

    def test_noise_floor_equals_every_split(self):
        rng, errors = random.Random(14), Counter()
        gates = [(None, 0, 0), ("better", 0, 0), ("better", Fraction(1, 20), 0), ("not-worse", 0, Fraction(1, 5)),
                 (None, 0, Fraction(1, 10)), ("equivalent", 0, Fraction(1, 4))]
        narrow = [(4, "equivalent", 0, Fraction(margin, 20)) for margin in range(4, 12)]
        for trials, gate, gain, margin in [(trials, *gate) for trials in (2, 3, 4) for gate in gates] + narrow + [
                (5, "better", 0, 0)]:
            members = [group for group in range(7) for _ in range(group % 3 + 1)]
            luck = [rng.random() for _ in range(5)]        # a trial number may have its own luck
            baseline = [[int(rng.random() < luck[t]) for t in range(trials)] for _ in members]
            baseline[0] = baseline[0] + [1]                # one case more than the others: its last trial stays out
            found = chance.noise_floor(baseline, members, gate, gain, margin)
            sizes, wrong = self.brute(baseline, members, gate, gain, margin)
            self.assertEqual((found["trials_per_half"], found["splits"]), (trials // 2, len(sizes) // 2))
            self.assertEqual(found["method"], "every split")
            self.assertEqual(found["mean_difference"], sum(sizes) / len(sizes))
            self.assertEqual(found["largest_difference"], max(sizes))
            self.assertEqual(found["gate_tripped_share"], Fraction(sum(wrong), len(wrong)))
            errors[gate] += sum(wrong) / len(wrong)
        self.assertTrue(all(errors.values()), errors)      # each gate erred somewhere, so each was tried

    def test_scores_on_a_grid_count_as_they_are(self):
        scores = [[Fraction(1, 4), Fraction(2, 3)], [Fraction(1), Fraction(1, 2)]]
        self.assertEqual(chance.noise_floor(scores, [0, 1])["largest_difference"], Fraction(1, 24))

    def test_one_trial_has_no_halves_and_few_groups_no_gate(self):
        found = chance.noise_floor([[1, 0], [1]], [0, 1], "better")
        self.assertEqual(found["reason"], "one trial a case: no halves to compare")
        self.assertEqual([found[key] for key in ("trials_per_half", "splits", "mean_difference")], [None] * 3)
        few = chance.noise_floor([[1, 0]] * 5, [0, 1, 2, 3, 4])
        self.assertEqual((few["largest_difference"], few["gate_tripped_share"]), (1, None))
        self.assertEqual(chance.noise_floor([[1, 0]] * 6, [0, 1, 2, 3, 4, 5])["gate_tripped_share"], 1)

    def test_many_splits_are_seeded(self):
        rng = random.Random(15)
        baseline = [[rng.randint(0, 1) for _ in range(12)] for _ in range(8)]
        first, again, other = (chance.noise_floor(baseline, list(range(8)), seed=seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first["mean_difference"], other["mean_difference"])
        self.assertEqual((first["splits"], first["method"]), (200, "200 splits, seed 1"))
        self.assertEqual(chance.noise_floor([[1] * 12] * 8, list(range(8)))["largest_difference"], 0)   # equal halves

    def test_airline_shows_what_its_own_halves_differ_by(self):
        found = chance.noise_floor(AIRLINE_SCORES, AIRLINE_GROUPS, "better")
        passes = [sum(case[t] for case in AIRLINE_SCORES) for t in range(4)]
        sizes = [abs(passes[0] + passes[t] - (sum(passes) - passes[0] - passes[t])) for t in (1, 2, 3)]
        self.assertEqual(found["splits"], 3)
        self.assertEqual(found["mean_difference"], Fraction(sum(sizes), 3 * 2 * 50))
        self.assertEqual(found["gate_tripped_share"], 0)


if __name__ == "__main__":
    unittest.main()
