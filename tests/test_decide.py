"""Does decide.py decide as its definitions say? By hand, by brute force over every pattern, split and deal, by laws,
and in simulated worlds whose truth is known.

    $ python3 -m unittest test_decide
"""

import copy
import doctest
import itertools
import math
import random
import unittest
from collections import Counter
from fractions import Fraction

from core import decide
from core import intervals
from core.trials import Case, Pair, Side, Trial

# tau-bench airline (Yao et al. 2024; github.com/sierra-research/tau-bench, MIT): one system, four trials a case, as
# "group:trials". The first two trials against the last two are an A/A comparison: truly no difference.
AIRLINE = """
    01:0000 02:0100 03:0010 04:0000 05:0000 05:0100 06:1000 06:0010 07:0000 07:0000 08:0000 09:1000 10:1111 11:0110
    12:0000 13:0011 14:0001 15:0001 16:1111 17:0000 18:1111 19:0111 20:0000 21:0000 21:1111 22:0000 22:1010 22:0110
    23:0000 23:1000 24:0101 25:1001 26:0000 26:0000 27:1101 28:1111 28:1111 29:0111 26:1111 26:1000 26:1101 30:0101
    30:1111 30:1000 30:1010 31:1001 31:0110 32:0100 33:1111 34:1111
"""
AIRLINE_GROUPS = [int(case[:2]) - 1 for case in AIRLINE.split()]
AIRLINE_SCORES = [[int(score) for score in case[3:]] for case in AIRLINE.split()]


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(decide))
    return tests


def grouped(ks, members):
    sizes, sums = Counter(members), Counter()
    for group, k in zip(members, ks):
        sums[group] += k
    return [(sizes[group], sums[group]) for group in sizes]


def differences(baseline, candidate):
    """Return (ks, unit) of the share differences."""
    shares = [Fraction(sum(c), len(c)) - Fraction(sum(b), len(b)) for b, c in zip(baseline, candidate)]
    unit = math.lcm(*(share.denominator for share in shares))
    return [int(share * unit) for share in shares], unit


def decide_on(groups, unit=1, **limits):
    return decide.decision(intervals.sign_flip(groups, unit), groups, unit, True, **limits)


def subset_interval(groups, unit, level):
    """Return the sign-flip interval from every non-empty subset of groups; None where there is none."""
    means = sorted(Fraction(sum(s for _, s in chosen), sum(n for n, _ in chosen) * unit)
                   for size in range(1, len(groups) + 1) for chosen in itertools.combinations(groups, size))
    position = math.floor((1 - level) / 2 * 2 ** len(groups))
    return (means[position - 1], means[-position]) if position else None


class DecisionTest(unittest.TestCase):
    def test_claims_and_verdict_follow_the_definitions_by_every_subset(self):
        rng, seen = random.Random(4), Counter()
        for _ in range(120):
            shift = rng.choice([-3, -1, 0, 0, 1, 3])
            groups = [(rng.randint(1, 3), rng.randint(-2, 2) + shift) for _ in range(rng.randint(5, 8))]
            gain, margin = Fraction(rng.randint(0, 4), 4), Fraction(rng.randint(0, 12), 4)
            wide, narrow = (subset_interval(groups, 2, level) for level in (Fraction(95, 100), Fraction(9, 10)))
            expected = []
            if wide:
                expected += ["worse"] * (wide[1] < -margin) + ["better"] * (wide[0] > gain)
                expected += ["equivalent"] * (margin > 0 and -margin < narrow[0] and narrow[1] < margin)
                expected += ["not worse"] * (wide[0] > -margin)
            found = decide_on(groups, 2, min_gain=gain, margin=margin)
            self.assertEqual(found["claims"], expected)
            self.assertEqual(found["verdict"], (expected or ["undecided"])[0])
            self.assertEqual(found["reason"] is None, bool(expected))
            self.assertEqual(found["interval_95"], wide and [*wide])
            self.assertEqual(found["interval_90"], [*narrow] if narrow and margin else None)
            seen[found["verdict"]] += 1
        self.assertEqual(set(seen), {"worse", "better", "equivalent", "not worse", "undecided"})

    def test_an_end_on_a_limit_claims_nothing(self):
        groups = [(1, 1)] * 8                              # every subset has the mean 1: both ends are 1
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 10))["claims"], ["not worse"])
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 11))["claims"], ["better", "not worse"])
        self.assertEqual(decide_on(groups, 10, margin=Fraction(1, 10))["claims"], ["better", "not worse"])
        self.assertEqual(decide_on(groups, 10, margin=Fraction(1, 9))["claims"], ["better", "equivalent", "not worse"])
        losses = [(1, -1)] * 8
        self.assertEqual(decide_on(losses, 10, margin=Fraction(1, 10))["claims"], [])
        self.assertEqual(decide_on(losses, 10, margin=Fraction(1, 11))["claims"], ["worse"])

    def test_gate_is_met_by_its_claim_whatever_the_verdict(self):
        gain, none, loss = [(1, 1)] * 8, [(1, 1), (1, -1)] * 4, [(1, -1)] * 8
        table = [(gain, 0, "better", True), (gain, 0, "not-worse", True), (gain, 0, "equivalent", False),
                 (gain, 2, "equivalent", True), (none, 0, "better", False), (none, 0, "not-worse", False),
                 (none, 2, "not-worse", True), (none, 2, "equivalent", True), (none, 2, "better", False),
                 (loss, 0, "not-worse", False), (loss, 2, "not-worse", True), (loss, 2, "better", False)]
        for groups, margin, gate, met in table:
            with self.subTest(groups=groups[:2], margin=margin, gate=gate):
                self.assertIs(decide_on(groups, margin=margin, gate=gate)["gate_met"], met)
        self.assertIsNone(decide_on(gain)["gate_met"])

    def test_five_groups_are_undecided_whatever_they_show(self):
        found = decide_on([(1, 1)] * 5, gate="not-worse", margin=5)
        self.assertEqual((found["claims"], found["verdict"], found["gate_met"]), ([], "undecided", False))
        self.assertIsNone(found["interval_95"])
        self.assertIn("6", found["reason"])
        self.assertEqual(decide_on([(1, 1)] * 6)["verdict"], "better")

    def test_reason_says_what_stays_open(self):
        self.assertEqual(decide_on([(1, k) for k in (4, -2, 3, -1, 2, 0, 1)], 10)["reason"],
                         "the interval, -0.1 to 0.3, does not tell a gain from a loss")
        self.assertIn("does not tell whether a loss stays within 0.05",
                      decide_on([(1, k) for k in (4, -2, 3, -1, 2, 0, 1)], 10, margin=Fraction(1, 20))["reason"])
        self.assertIn("without a margin shows nothing", decide_on([(1, 0)] * 7)["reason"])

    def test_swapping_the_systems_swaps_better_and_worse(self):
        rng = random.Random(5)
        swap = {"better": "worse", "worse": "better", "equivalent": "equivalent"}
        for _ in range(60):
            groups = [(rng.randint(1, 3), rng.randint(-3, 6)) for _ in range(7)]
            limit = Fraction(rng.randint(0, 3), 2)
            one, other = (decide_on([(n, sign * s) for n, s in groups], min_gain=limit, margin=limit)
                          for sign in (1, -1))
            self.assertEqual({swap[name] for name in one["claims"] if name in swap},
                             {name for name in other["claims"] if name in swap})

    def test_unit_names_what_was_flipped(self):
        groups = [(1, 1)] * 6
        self.assertEqual(decide.decision(intervals.sign_flip(groups, 1), groups, 1, False)["unit"], "case")
        self.assertEqual(decide_on(groups)["unit"], "source")

    def test_groups_needed_by_hand(self):
        # Seven groups of one case: mean 1/10, squared deviations in tenths 9 + 9 + 4 + 4 + 1 + 1 + 0 = 28, so a
        # spread of sqrt(28 / 6) / 10 = 0.216; (1.96 * 0.216 / 0.1)^2 = 17.93.
        groups = [(1, k) for k in (4, -2, 3, -1, 2, 0, 1)]
        self.assertEqual(decide_on(groups, 10)["groups_needed"], 18)
        # Worth shipping from 0.05: twice as close, four times as many.
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 20))["groups_needed"], 72)
        # Not worth it below 0.5, a loss of 0.15 tolerated: not worse by now, equivalent only with
        # (1.645 * 0.216 / 0.05)^2 = 50.5.
        found = decide_on(groups, 10, min_gain=Fraction(1, 2), margin=Fraction(3, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("not worse", 51))
        # Beyond a margin of 0.05, not worth shipping: 0.15 from the loss that counts, (1.96 * 0.216 / 0.15)^2 = 7.97.
        found = decide_on(groups, 10, min_gain=Fraction(1, 2), margin=Fraction(1, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 8))
        found = decide_on([(1, -k) for _, k in groups], 10, margin=Fraction(1, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 72))
        # The approximation would do with 2 of these, but the 6 there are do not: at least one more.
        found = decide_on([(1, 5)] * 5 + [(1, -1)])
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 7))
        self.assertIsNone(decide_on([(1, 1), (1, -1)] * 4)["groups_needed"])
        self.assertIsNone(decide_on([(1, 1)] * 8)["groups_needed"])
        self.assertIsNone(decide_on([(4, 1)])["groups_needed"])
        self.assertEqual(decide_on([(1, 1), (1, 1), (1, 2)])["groups_needed"], 6)

    def test_groups_needed_is_enough_when_the_groups_repeat(self):
        rng, tried = random.Random(6), 0
        while tried < 12:
            groups = [(1, rng.randint(-4, 5)) for _ in range(6)]
            needed = decide_on(groups)["groups_needed"]
            if needed and needed <= 60:
                tried += 1
                self.assertNotEqual(decide_on(groups * math.ceil(needed * 1.3 / 6))["verdict"], "undecided")
                fewer = math.floor(needed * 0.7 / 6)
                self.assertEqual(decide_on(groups * max(1, fewer))["verdict"], "undecided")

    def test_nothing_moved_leaves_five_percent(self):
        found = decide.nothing_moved([0] * 44, [(5, 0)] * 9)
        self.assertEqual(found["groups"], 9)
        self.assertAlmostEqual((1 - found["excluded_share"]) ** 9, 0.05, places=12)
        self.assertEqual(round(found["excluded_share"], 4), 0.2831)
        self.assertIsNone(decide.nothing_moved([0, 1, -1], [(3, 0)]))


class WorldsTest(unittest.TestCase):
    """In a world on the very edge of a claim, the claim must be as rare as its level promises."""

    def claimed(self, worlds, difference, **limits):
        """Return how often each claim is made, as shares of simulated worlds with this true difference."""
        rng, counts = random.Random(7), Counter()
        for _ in range(worlds):
            # Seven sources of unequal size, each with an effect of its own, symmetric about the true difference.
            groups = [(n, round(sum(rng.gauss(0, 2) for _ in range(n)) + n * rng.gauss(0, 1.5) + n * difference))
                      for n in (1, 2, 3, 3, 4, 5, 6)]
            counts.update(decide_on(groups, **limits)["claims"])
        return {name: counts[name] / worlds for name in decide.CLAIMS}

    def bound(self, level, worlds):
        return level + 3 * math.sqrt(level * (1 - level) / worlds)

    def test_no_difference_is_called_better_or_worse_in_five_percent(self):
        shares = self.claimed(400, 0)
        self.assertLess(shares["better"], self.bound(0.025, 400))
        self.assertLess(shares["worse"], self.bound(0.025, 400))
        self.assertEqual(shares["not worse"], shares["better"])
        self.assertGreater(shares["better"] + shares["worse"], 0.015)         # nor is the test asleep
        self.assertGreater(self.claimed(20, 8)["better"], 0.9)

    def test_claims_on_their_edge_keep_their_level(self):
        self.assertLess(self.claimed(200, 2, min_gain=2)["better"], self.bound(0.025, 200))
        shares = self.claimed(200, -5, margin=5)
        self.assertLess(shares["worse"], self.bound(0.025, 200))
        self.assertLess(shares["not worse"], self.bound(0.025, 200))
        self.assertLess(shares["equivalent"], self.bound(0.05, 200))
        self.assertGreater(shares["equivalent"], 0.01)

    def test_a_pass_fail_world_without_change_is_not_called_changed(self):
        rng, worlds, hits = random.Random(8), 200, 0
        for _ in range(worlds):
            sums = []
            for _ in range(8):
                chance = rng.random()
                sums.append(sum((rng.random() < chance) - (rng.random() < chance) for _ in range(5 * 3)))
            hits += decide_on([(5, total) for total in sums], 3)["verdict"] in ("better", "worse")
        self.assertLess(hits / worlds, self.bound(0.05, worlds))

    def test_airline_against_itself_is_undecided(self):
        ks, unit = differences(*([case[i:i + 2] for case in AIRLINE_SCORES] for i in (0, 2)))
        found = decide_on(grouped(ks, AIRLINE_GROUPS), unit, gate="better", margin=Fraction(1, 20))
        self.assertEqual((found["verdict"], found["gate_met"]), ("undecided", False))
        wide = decide_on(grouped(ks, AIRLINE_GROUPS), unit, gate="equivalent", margin=Fraction(15, 100))
        self.assertEqual((wide["verdict"], wide["gate_met"]), ("equivalent", True))


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
                self.assertEqual(decide.by_chance(b, in_baseline, c, in_candidate),
                                 Fraction(sum(gap >= seen for gap in gaps), len(gaps)))

    def test_by_chance_of_sixteen_guesses(self):
        # Fisher's lady tasting tea (1935): all eight cups right, one way in 70, the mirror image another.
        self.assertEqual(decide.by_chance(0, 4, 4, 4), Fraction(2, 70))
        self.assertEqual(decide.by_chance(3, 5, 0, 5), decide.by_chance(0, 5, 3, 5))

    def test_changed_by_chance_equals_every_deal(self):
        passes = [(0, 3, 2, 3), (3, 3, 3, 3), (1, 3, 1, 3), (2, 3, 1, 3), (0, 3, 3, 3)]
        rows = decide.changed_by_chance(passes)["trials_moved"]
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
            for row in decide.changed_by_chance(passes)["trials_moved"]:
                observed[row["at_least"]] += row["observed"]
                expected[row["at_least"]] += row["expected"]
        for least in (1, 2, 3):
            self.assertLess(abs(observed[least] - expected[least]), 4 * math.sqrt(expected[least]))

    def test_changed_by_chance_gives_a_reason_where_moves_have_no_count(self):
        self.assertEqual(decide.changed_by_chance(None),
                         {"trials_moved": None, "reason": "scores are not pass or fail"})
        self.assertEqual(decide.changed_by_chance([(1, 2, 1, 2), (1, 2, 1, 5)])["reason"], "cases have 2 to 5 trials")
        self.assertEqual(decide.changed_by_chance([(2, 2, 2, 2)]), {"trials_moved": [], "reason": None})

    def test_pass_counts_need_scores_of_0_and_1(self):
        self.assertEqual(decide.pass_counts([[0, 1], [1]], [[1, 1], [Fraction(0)]]), [(1, 2, 2, 2), (1, 1, 0, 1)])
        self.assertIsNone(decide.pass_counts([[0, 1]], [[1, Fraction(1, 2)]]))


class TailTest(unittest.TestCase):
    def brute(self, values):
        sums = [sum(chosen) for size in range(len(values) + 1) for chosen in itertools.combinations(values, size)]
        return Fraction(sum(total <= 0 for total in sums), len(sums))

    def test_tail_equals_every_subset(self):
        rng = random.Random(10)
        for _ in range(200):
            values = [rng.randint(-3, 5) for _ in range(rng.randint(1, 9))]
            self.assertEqual(decide._flip_tail(values), self.brute(values) if sum(values) > 0 else 1, values)
            self.assertEqual(decide._flip_tail(values + [0] * 100), decide._flip_tail(values))

    def test_tail_says_what_the_interval_says(self):
        rng, agreed = random.Random(11), Counter()
        for _ in range(150):
            groups = [(rng.randint(1, 3), rng.randint(-2, 6)) for _ in range(rng.randint(6, 9))]
            value = Fraction(rng.randint(-4, 8), 4)
            low, high = intervals.sign_flip(groups, 1).interval
            above = decide._flip_tail([4 * s - int(4 * value) * n for n, s in groups]) <= Fraction(1, 40)
            self.assertEqual(above, low > value)
            agreed[above] += 1
        self.assertGreater(min(agreed.values()), 20)

    def test_values_too_fine_to_count_are_counted_nearly(self):
        rng = random.Random(12)
        for _ in range(10):
            values = [rng.randrange(-10 ** 17, 2 * 10 ** 17) for _ in range(12)]
            if sum(values) > 0:
                self.assertAlmostEqual(decide._flip_tail(values), self.brute(values), delta=0.002)

    def test_normal_approximation_continues_the_count(self):
        rng = random.Random(13)
        for total in (60, 80, 100):
            values = [round(rng.gauss(0, 5)) or 1 for _ in range(100)]
            values[0] += total - sum(values)
            self.assertAlmostEqual(float(decide._flip_tail(values)), decide._flip_tail(values + [1, -1]), delta=0.01)
            self.assertLess(decide._flip_tail(values), 0.2)


    def test_numbers_beyond_floats_are_no_error(self):
        values = [10, 1] * 60
        self.assertAlmostEqual(decide._flip_tail([value * 10 ** 400 for value in values]), decide._flip_tail(values))
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
            found = decide.noise_floor(baseline, members, gate, gain, margin)
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
        self.assertEqual(decide.noise_floor(scores, [0, 1])["largest_difference"], Fraction(1, 24))

    def test_one_trial_has_no_halves_and_few_groups_no_gate(self):
        found = decide.noise_floor([[1, 0], [1]], [0, 1], "better")
        self.assertEqual(found["reason"], "one trial a case: no halves to compare")
        self.assertEqual([found[key] for key in ("trials_per_half", "splits", "mean_difference")], [None] * 3)
        few = decide.noise_floor([[1, 0]] * 5, [0, 1, 2, 3, 4])
        self.assertEqual((few["largest_difference"], few["gate_tripped_share"]), (1, None))
        self.assertEqual(decide.noise_floor([[1, 0]] * 6, [0, 1, 2, 3, 4, 5])["gate_tripped_share"], 1)

    def test_many_splits_are_seeded(self):
        rng = random.Random(15)
        baseline = [[rng.randint(0, 1) for _ in range(12)] for _ in range(8)]
        first, again, other = (decide.noise_floor(baseline, list(range(8)), seed=seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first["mean_difference"], other["mean_difference"])
        self.assertEqual((first["splits"], first["method"]), (200, "200 splits, seed 1"))
        self.assertEqual(decide.noise_floor([[1] * 12] * 8, list(range(8)))["largest_difference"], 0)   # equal halves

    def test_airline_shows_what_its_own_halves_differ_by(self):
        found = decide.noise_floor(AIRLINE_SCORES, AIRLINE_GROUPS, "better")
        passes = [sum(case[t] for case in AIRLINE_SCORES) for t in range(4)]
        sizes = [abs(passes[0] + passes[t] - (sum(passes) - passes[0] - passes[t])) for t in (1, 2, 3)]
        self.assertEqual(found["splits"], 3)
        self.assertEqual(found["mean_difference"], Fraction(sum(sizes), 3 * 2 * 50))
        self.assertEqual(found["gate_tripped_share"], 0)


class PlanningTest(unittest.TestCase):
    def plan(self, baseline, candidate, members, target=None, paired=True, has_sources=True):
        ks, unit = differences(baseline, candidate)
        return decide.planning(ks, unit, grouped(ks, members), baseline, candidate, paired, has_sources, target)

    def test_airline_standard_errors_as_an_independent_program_found_them(self):
        found = self.plan(*([case[i:i + 2] for case in AIRLINE_SCORES] for i in (0, 2)), AIRLINE_GROUPS)["variance"]
        self.assertAlmostEqual(found["standard_error_case"], 0.045084953823027143, places=14)
        self.assertAlmostEqual(found["standard_error_source"], 0.044201631671514585, places=14)
        self.assertAlmostEqual(found["design_effect"], (0.044201631671514585 / 0.045084953823027143) ** 2, places=12)

    def test_components_by_hand(self):
        # Two sources of two cases of two trials; differences of the trials, of the cases, of the sources:
        #   (2, 0) -> 1, (4, 2) -> 3: source mean 2;   (5, 3) -> 4, (8, 8) -> 8: source mean 6.   Mean 4.
        # sampling (2 + 2 + 2 + 0) / 4 = 1.5.  MSW = (1 + 1 + 4 + 4) / 2 = 5.  MSB = 2 (4 + 4) / 1 = 16.
        # between_sources (16 - 5) / 2 = 5.5.  between_cases 5 - 1.5 / 2 = 4.25.
        found = self.plan([[0, 0]] * 4, [[2, 0], [4, 2], [5, 3], [8, 8]], [0, 0, 1, 1], target=1.96 * 1.8)
        self.assertEqual({key: float(value) for key, value in found["variance"].items() if key.startswith("betw")},
                         {"between_sources": 5.5, "between_cases": 4.25})
        self.assertEqual(found["variance"]["sampling"], 1.5)
        # Variance of the mean: 5.5 / 2 + 5 / 4 = 4, by source in one step 16 / 4 = 4.
        self.assertAlmostEqual(found["variance"]["standard_error_source"], 2)
        expected = {"now": 4, "twice_cases": 5.5 / 2 + 5 / 8, "twice_trials": 5.5 / 2 + (4.25 + 1.5 / 4) / 4,
                    "endless_trials": 5.5 / 2 + 4.25 / 4, "twice_groups": 2}
        for key, square in expected.items():
            self.assertAlmostEqual(found["half_width"][key], 1.96 * math.sqrt(square), places=12, msg=key)
        # For a variance of 3.24: groups 4 * 2 / 3.24 = 2.5, but 6 carry an interval; cases 5 / (3.24 - 2.75) = 10.2;
        # trials: 2.75 + 4.25 / 4 leave 3.8125, more than 3.24.
        self.assertEqual({key: found["plan"][key] for key in ("source_groups", "cases", "trials")},
                         {"source_groups": 6, "cases": 11, "trials": None})
        self.assertEqual(found["plan"]["reason"], f"endless trials alone leave {1.96 * math.sqrt(3.8125):.4g}")
        self.assertAlmostEqual(found["detectable_difference"], 2.8016 * 2, places=12)

    def test_now_is_the_standard_error_where_groups_are_equal(self):
        rng, by_source, by_case = random.Random(16), 0, 0
        for _ in range(40):
            members = [group for group in range(6) for _ in range(3)]
            effects = [rng.gauss(0, 0.3) for _ in range(6)]
            candidate = [[Fraction(round(100 * (effects[g] + rng.gauss(0, 0.6))), 100)] for g in members]
            found = self.plan([[0]] * 18, candidate, members)
            width, variance = found["half_width"]["now"] / 1.96, found["variance"]
            if variance["between_sources"]:
                by_source += 1
                self.assertAlmostEqual(width, variance["standard_error_source"], places=12)
            else:
                by_case += 1
                self.assertAlmostEqual(width, variance["standard_error_case"], places=12)
                self.assertLess(variance["standard_error_source"], variance["standard_error_case"])
        self.assertTrue(by_source and by_case)

    def test_components_come_out_in_simulated_worlds(self):
        rng, mean, worlds = random.Random(17), Counter(), 120
        members = [group for group in range(40) for _ in range(group % 4 + 1)]
        for _ in range(worlds):
            source = [rng.gauss(0, 2) for _ in range(40)]
            case = [rng.gauss(0, 3) for _ in members]
            candidate = [[Fraction(round(1000 * (source[g] + case[i] + rng.gauss(0, 4))), 1000) for _ in range(3)]
                         for i, g in enumerate(members)]
            for paired in (True, False):
                variance = self.plan([[0, 0, 0]] * len(members), candidate, members, paired=paired)["variance"]
                for key in ("between_sources", "between_cases", "sampling"):
                    mean[key, paired] += variance[key] / worlds
        for paired in (True, False):
            self.assertAlmostEqual(mean["between_sources", paired], 4, delta=0.6)
            self.assertAlmostEqual(mean["between_cases", paired], 9, delta=0.9)
            self.assertAlmostEqual(mean["sampling", paired], 16, delta=0.6)

    def test_now_rests_on_the_differences_even_where_trials_vary_more(self):
        baseline, candidate = [[0, 1], [1, 0], [0, 1]], [[1, 0], [0, 1], [1, 1]]         # 0, 0 and 1/2 by case
        found = self.plan(baseline, candidate, [0, 1, 2], 0.1, has_sources=False)
        self.assertAlmostEqual(found["variance"]["sampling"], 1.5)                      # (2 + 2 + 1/2) / 3
        self.assertEqual(found["variance"]["between_cases"], 0)
        self.assertAlmostEqual(found["half_width"]["now"], 1.96 * found["variance"]["standard_error_case"])
        self.assertAlmostEqual(found["half_width"]["twice_trials"], found["half_width"]["now"] / math.sqrt(2))
        self.assertEqual(found["half_width"]["endless_trials"], 0)
        self.assertEqual(found["plan"]["trials"], math.ceil(2 * (found["half_width"]["now"] / 0.1) ** 2))

    def test_shared_luck_counts_only_where_trials_pair(self):
        baseline, candidate = [[0, 1, 0, 1], [1, 0, 1, 0]], [[0, 1, 0, 1], [1, 0, 1, 1]]
        self.assertAlmostEqual(self.plan(baseline, candidate, [0, 1])["variance"]["sampling"], 1 / 8)
        self.assertAlmostEqual(self.plan(baseline, candidate, [0, 1], paired=False)["variance"]["sampling"],
                               1 / 3 + (1 / 3 + 1 / 4) / 2)

    def test_plan_is_the_least_that_reaches_the_target(self):
        rng = random.Random(18)
        members = [group for group in range(12) for _ in range(group % 3 + 2)]
        lean = [rng.gauss(0, 0.2) for _ in range(12)]
        baseline, candidate = ([[int(rng.random() < 0.5 + shift * lean[g]) for _ in range(4)] for g in members]
                               for shift in (-1, 1))
        found = self.plan(baseline, candidate, members)
        source, case, sampling = (found["variance"][key] for key in ("between_sources", "between_cases", "sampling"))
        weight = sum((group % 3 + 2) ** 2 for group in range(12)) / len(members) ** 2
        self.assertTrue(source and case and sampling)

        def width(groups=12, cases=len(members), trials=4):
            return 1.96 * math.sqrt((source * weight + (case + sampling / trials) / cases) * 12 / groups)

        self.assertAlmostEqual(width(), found["half_width"]["now"], places=12)
        for share in (0.6, 0.8, 0.9, 0.95):
            target = share * width()
            plan = self.plan(baseline, candidate, members, target)["plan"]
            for key, name in (("source_groups", "groups"), ("cases", "cases"), ("trials", "trials")):
                if plan[key] is None:
                    self.assertGreater(width(**{name: 10 ** 9}), target)
                else:
                    self.assertLessEqual(width(**{name: plan[key]}), target + 1e-12)
                    self.assertGreater(width(**{name: plan[key] - 1}), target)
        self.assertEqual(self.plan(baseline, candidate, members, 9.0)["plan"],
                         {"half_width": 9.0, "source_groups": 6, "cases": 12, "trials": 1, "reason": None})

    def test_what_cannot_be_told_is_none_with_its_reason(self):
        table = [
            ("one trial a case", [[0], [1], [0], [1]], [[1], [1], [0], [0]], [0, 0, 1, 1], True,
             {"sampling", "between_cases"}, {"twice_trials", "endless_trials"}),
            ("no source tag", [[0, 1], [1, 1]], [[1, 1], [0, 1]], [0, 1], False,
             {"between_sources", "standard_error_source", "design_effect"}, set()),
            ("one case a source", [[0, 1], [1, 1]], [[1, 1], [0, 1]], [0, 1], True, {"between_sources"},
             {"twice_cases"}),
            ("one source", [[0, 1], [1, 1]], [[1, 1], [0, 1]], [0, 0], True, None, None),
            ("one case", [[0, 1]], [[1, 1]], [0], True, None, None),
            ("all equal", [[1, 1]] * 4, [[1, 1]] * 4, [0, 0, 1, 1], True, {"design_effect"}, None)]
        for reason, baseline, candidate, members, has_sources, no_variance, no_width in table:
            with self.subTest(reason):
                found = self.plan(baseline, candidate, members, 0.1, has_sources=has_sources)
                self.assertIn(reason, found["variance"]["reason"])
                self.assertEqual(found["half_width"]["reason"], found["variance"]["reason"])
                empty = {key for key, value in found["half_width"].items() if value is None}
                self.assertEqual(empty, {"now", "twice_cases", "twice_trials", "endless_trials", "twice_groups"}
                                 if no_width is None else no_width)
                self.assertEqual(found["detectable_difference"] is None, no_width is None)
                if no_variance is not None:
                    self.assertEqual({key for key, value in found["variance"].items() if value is None}, no_variance)
                self.assertIn(reason, found["plan"]["reason"])
        plan = self.plan([[0, 1], [1, 1]], [[1, 1], [0, 1]], [0, 1], 9.0)["plan"]
        self.assertEqual((plan["source_groups"], plan["cases"], plan["trials"]), (6, None, 1))
        plan = self.plan([[0, 1]] * 9, [[1, 1], [0, 1], [0, 0]] * 3, list(range(9)), 9.0, has_sources=False)["plan"]
        self.assertEqual((plan["source_groups"], plan["cases"], plan["trials"]), (None, 6, 1))
        self.assertIsNone(self.plan([[0]] * 4, [[1], [0], [1], [0]], [0, 0, 1, 1])["plan"])


def trial(score, seed=1, output=None, at=None, reason=None):
    return Trial(seed, score, reason, output, {}, at)


def side(*cases):
    return Side({}, [list(case) for case in cases], [])


class IncompleteTest(unittest.TestCase):
    def test_bounds_are_the_extremes_of_every_way_to_grade(self):
        cut, lost = trial(None, reason="TruncatedReply"), trial(None, reason="timeout")
        baseline = [[trial(1), cut], [trial(0), trial(1)], [], [trial(1), trial(Fraction(1, 2))]]
        candidate = [[trial(1), trial(0)], [lost, cut], [trial(1)], [trial(0), lost]]
        found = decide.incomplete(baseline, candidate, (0, 2))
        self.assertEqual(found["baseline"], {"trials": 2, "reasons": {"TruncatedReply": 1, "missing": 1}})
        self.assertEqual(found["candidate"], {"trials": 3, "reasons": {"TruncatedReply": 1, "timeout": 2}})
        self.assertEqual(decide.incomplete_per_case(baseline), [1, 0, 1, 0])
        self.assertEqual(decide.incomplete_per_case(candidate), [0, 2, 0, 1])
        outcomes = []
        for fill in itertools.product((0, 2), repeat=5):
            rest = iter(fill)
            means = [Fraction(sum(sum((Fraction(next(rest) if t.score is None else t.score) for t in case or [cut]),
                                      Fraction(0)) / len(case or [cut]) for case in trials), 4)
                     for trials in (baseline, candidate)]
            outcomes.append(means[1] - means[0])
        self.assertEqual(found["difference_bounds"], [min(outcomes), max(outcomes)])

    def test_nothing_incomplete_has_no_bounds(self):
        self.assertEqual(decide.incomplete([[trial(1)]], [[trial(0)]], (0, 1)),
                         {"baseline": {"trials": 0, "reasons": {}}, "candidate": {"trials": 0, "reasons": {}},
                          "difference_bounds": None})


def quiet_comparison():
    """Return what warnings reads of a comparison that deserves none."""
    flip = {"interval_95": [0.1, 0.3], "method": "exact, 512 sign patterns", "groups": 9}
    part = {"exact_interval_95": [0.1, 0.3], "adjusted_p_value": 0.01, "same_cases_as": []}
    return {"overall": {"cases": 40, "better": 20, "worse": 5, "same": 15, "exact_interval_95": [0.1, 0.3],
                        "exact_method": "exact, grid of 1/5", "source_cluster_method": "exact over 24310 draws",
                        "source_sign_flip": flip},
            "slices": {"language": {"en": dict(part), "es": dict(part)}}, "slices_compared": 2,
            "excluded": [], "uneven_trials": [], "decision": {"unit": "source"}, "nothing_moved": None,
            "variance": {"design_effect": 1.2, "sampling": 0.1},
            "incomplete": {"baseline": {"trials": 0}, "candidate": {"trials": 0}, "difference_bounds": None}}


def quiet_pair(notes=()):
    cases = [Case(f"c{i}", None, ()) for i in range(12)]
    sides = [side(*([trial(i % 2, seed=t, output=f"{name}{i}{t}", at=f"2026-10-20T10:{t:02d}:{i:02d}Z")
                     for t in (1, 2, 3)] for i in range(12))) for name in "AB"]
    return Pair(cases, *sides, (0, 1), {}, list(notes))


class WarningsTest(unittest.TestCase):
    def codes(self, comparison=None, pair=None, temperatures=(0.7, 0.7)):
        found = decide.warnings(comparison or quiet_comparison(), pair or quiet_pair(), list(range(12)), temperatures)
        for warning in found:
            self.assertEqual(list(warning), ["code", "message", "advice"])
            self.assertTrue(all(warning.values()))
            self.assertNotIn("None", warning["message"] + warning["advice"])
        return [warning["code"] for warning in found]

    def test_a_sound_comparison_gives_no_warning(self):
        self.assertEqual(self.codes(), [])

    def test_each_figure_warns_on_its_own(self):
        table = [
            ("few_groups", "overall.source_sign_flip.groups", 5),
            ("few_cases", "overall.cases", 9),
            ("no_sources", "decision.unit", "case"),
            ("large_design_effect", "variance.design_effect", 2.4),
            ("nothing_moved", "nothing_moved", {"groups": 9, "excluded_share": 0.28}),
            ("degenerate_interval", "overall.exact_interval_95", [0.2, 0.2]),
            ("intervals_disagree", "overall.exact_interval_95", [0, 0.3]),
            ("intervals_disagree", "overall.source_sign_flip.interval_95", [-0.1, 0.3]),
            ("sampled_not_exact", "overall.exact_method", "sampled, 2000 resamples: no common grid of scores"),
            ("sampled_not_exact", "overall.source_sign_flip.method", "sampled, 10000 patterns"),
            ("sampled_not_exact", "overall.source_cluster_method", "sampled, 2000 resamples, seed from stream"),
            ("many_slices", "slices.language.es.adjusted_p_value", 0.05),
            ("same_slices", "slices.language.es.same_cases_as", ["variant: translation"]),
            ("incomplete_decides", "incomplete.difference_bounds", [-0.01, 0.2]),
            ("incomplete_decides", "incomplete.difference_bounds", [0, 0.2]),
            ("one_sided_incomplete", "incomplete.candidate.trials", 1),
            ("excluded_cases", "excluded", [{"case_id": "c1", "side": "baseline", "reason": "missing"}]),
            ("uneven_trials", "uneven_trials", [{"case_id": "c1", "baseline": 2, "candidate": 5}]),
            ("one_trial", "variance.sampling", None)]
        for code, path, value in table:
            with self.subTest(code, path=path):
                comparison = quiet_comparison()
                *way, last = path.split(".")
                inner = comparison
                for key in way:
                    inner = inner[key]
                inner[last] = value
                self.assertEqual(self.codes(comparison), [code])

    def test_near_misses_do_not_warn(self):
        comparison = quiet_comparison()
        comparison["incomplete"] = {"baseline": {"trials": 2}, "candidate": {"trials": 4},
                                    "difference_bounds": [0.1, 0.2]}
        comparison["overall"] |= {"better": 3, "worse": 3, "cases": 10}
        comparison["overall"]["source_sign_flip"] |= {"interval_95": None, "groups": 6}
        comparison["slices"]["language"]["es"] |= {"exact_interval_95": [-0.1, 0.3], "adjusted_p_value": 0.9}
        comparison["slices"]["language"]["en"] |= {"adjusted_p_value": None}
        comparison["variance"]["design_effect"] = None
        self.assertEqual(self.codes(comparison), [])
        comparison["incomplete"]["candidate"]["trials"] = 5
        self.assertEqual(self.codes(comparison), ["one_sided_incomplete"])

    def test_few_moved_cases_make_an_interval_degenerate(self):
        comparison = quiet_comparison()
        comparison["overall"] |= {"better": 5, "worse": 0, "same": 35}
        self.assertEqual(self.codes(comparison), ["degenerate_interval"])

    def test_same_slices_are_named_once(self):
        comparison = quiet_comparison()
        comparison["slices"]["language"]["es"]["same_cases_as"] = ["variant: translation"]
        comparison["slices"]["variant"] = {"translation": comparison["slices"]["language"]["en"] | {
            "same_cases_as": ["language: es"]}}
        (warning,) = decide.warnings(comparison, quiet_pair(), list(range(12)))
        self.assertEqual(warning["message"], "same cases under several names: language: es = variant: translation")

    def changed(self, pair, change):
        sides = [Side({}, [[change(name, i, t) for t in case] for i, case in enumerate(part.trials)], [])
                 for name, part in zip("AB", (pair.baseline, pair.candidate))]
        return pair._replace(baseline=sides[0], candidate=sides[1])

    def test_outputs_shared_by_both_runs_may_come_from_a_cache(self):
        shared = self.changed(quiet_pair(), lambda name, i, t: t._replace(output=[i, t.seed]))
        self.assertEqual(self.codes(pair=shared), ["cached_repeats"])
        self.assertEqual(self.codes(pair=shared, temperatures=(None, 0)), ["cached_repeats"])
        one_differs = self.changed(shared, lambda name, i, t: t._replace(output=1.0 if name == "A" else 1)
                                   if (i, t.seed) == (7, 2) else t)
        self.assertEqual(self.codes(pair=one_differs), [])
        other_seeds = self.changed(shared, lambda name, i, t: t._replace(seed=t.seed + (name == "A")))
        self.assertEqual(self.codes(pair=other_seeds), [])

    def test_repeats_alike_at_a_temperature_may_come_from_a_cache(self):
        alike = self.changed(quiet_pair(), lambda name, i, t: t._replace(output=f"{name}{i}") if name == "B" else t)
        self.assertEqual(self.codes(pair=alike), ["cached_repeats"])
        for temperatures in ((0.7, 0), (0.7, None)):
            self.assertEqual(self.codes(pair=alike, temperatures=temperatures), [])

    def test_unknown_outputs_are_no_cache(self):
        unknown = self.changed(quiet_pair(), lambda name, i, t: t._replace(output=None))
        self.assertEqual(self.codes(pair=unknown), [])

    def test_notes_of_the_reader_come_last_as_they_are(self):
        note = {"code": "ids_of_two_kinds", "message": "m", "advice": "a"}
        comparison = quiet_comparison()
        comparison["overall"]["cases"] = 9
        self.assertEqual(self.codes(comparison, quiet_pair([note])), ["few_cases", "ids_of_two_kinds"])

    def test_drift_within_cases_is_an_order_effect(self):
        drift = self.changed(quiet_pair(), lambda name, i, t: t._replace(score=int(t.seed == 3)) if name == "B" else t)
        (warning,) = decide.warnings(quiet_comparison(), drift, list(range(12)))
        self.assertEqual(warning["code"], "order_effect")
        self.assertIn("the candidate's later trials of the same cases score 1 higher", warning["message"])
        self.assertIn("p = 0.0004883", warning["message"])                    # 2 / 2^12
        in_groups = decide.warnings(quiet_comparison(), drift, [i % 7 for i in range(12)])
        self.assertEqual(in_groups, [])                                       # 2 / 2^7 is more than 1%

    def test_order_is_that_of_the_times_not_of_the_trials(self):
        def change(name, i, t):
            late = t.seed == 1                             # recorded backwards
            return t._replace(score=int(late), at=f"2026-10-20T1{4 - t.seed}:00:00Z")
        (first, second) = decide.warnings(quiet_comparison(), self.changed(quiet_pair(), change), list(range(12)))
        self.assertIn("1 higher", first["message"] + second["message"])

    def test_times_that_are_numbers_sort_as_numbers(self):
        drift = self.changed(quiet_pair(), lambda name, i, t: t._replace(
            score=int(t.seed == 3), at=str({1: 9.5, 2: 30, 3: 100.25}[t.seed])))      # as texts, 100.25 comes first
        (first, second) = decide.warnings(quiet_comparison(), drift, list(range(12)))
        self.assertIn("1 higher", first["message"] + second["message"])

    def test_hard_cases_recorded_late_are_no_order_effect(self):
        late = self.changed(quiet_pair(), lambda name, i, t: t._replace(
            score=int(i < 6), at=f"2026-10-{10 + i}T{t.seed}"))
        self.assertEqual(self.codes(pair=late), [])

    def test_unknown_times_are_no_order_effect(self):
        unknown = self.changed(quiet_pair(), lambda name, i, t: t._replace(score=int(t.seed == 3), at=None))
        self.assertEqual(self.codes(pair=unknown), [])

    def test_order_effect_is_rare_where_there_is_none(self):
        rng, alarms = random.Random(19), 0
        for _ in range(300):
            trials = [[trial(int(rng.random() < 0.5), t, at=str(t)) for t in range(5)] for _ in range(30)]
            rise, p_value = decide._order_effect(side(*trials), [i // 2 for i in range(30)])
            alarms += p_value < 0.01
        self.assertLess(alarms, 3 + 3 * math.sqrt(3))

    def test_warnings_leave_the_comparison_alone(self):
        comparison = quiet_comparison()
        before = copy.deepcopy(comparison)
        self.codes(comparison)
        self.assertEqual(comparison, before)


if __name__ == "__main__":
    unittest.main()
