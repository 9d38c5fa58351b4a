"""Does decide.py decide as its definitions say? By hand, by brute force over every pattern, by laws, and in worlds
whose truth is known.

    $ python3 -m unittest tests.test_decide
"""

import doctest
import itertools
import math
import random
import unittest
from collections import Counter
from fractions import Fraction

from core import decide

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


def decide_on(groups, unit=1, lost=1, gained=1, **limits):
    return decide.decision(decide.Evidence(groups, unit, lost, gained), decide.Limits(**limits), True)


def filled(seen, against, favour):
    return seen if against == favour == seen else seen._replace(against=against, favour=favour)


def subset_interval(groups, unit, level):
    """Return the sign-flip interval from every non-empty subset of groups; None where there is none."""
    means = sorted((Fraction(sum(s for _, s in chosen), sum(n for n, _ in chosen) * unit)
                    for size in range(1, len(groups) + 1) for chosen in itertools.combinations(groups, size)),
                   key=float)
    position = math.floor((1 - level) / 2 * 2 ** len(groups))
    return (means[position - 1], means[-position]) if position else None


class DecisionTest(unittest.TestCase):
    def test_claims_and_verdict_follow_the_definitions_by_every_subset(self):
        rng, seen = random.Random(4), Counter()
        for _ in range(60):
            shift = rng.choice([-6, -3, -1, 0, 0, 1, 3])
            groups = [(rng.randint(1, 3), rng.randint(-2, 2) + shift) for _ in range(rng.randint(5, 8))]
            gain, margin = Fraction(rng.randint(0, 4), 4), Fraction(rng.randint(0, 12), 4)
            lost, gained = Fraction(rng.randint(0, 16), 4), Fraction(rng.randint(0, 16), 4)
            size = math.floor(Fraction(sum(n * n for n, _ in groups), sum(n for n, _ in groups)) + Fraction(1, 2))
            more = {sign: [(n, 4 * total) for n, total in groups] + [(size, int(-sign * change * 8 * size))]
                    for sign, change in ((1, lost), (-1, gained))}
            wide, narrow = (subset_interval(groups, 2, level) for level in (Fraction(95, 100), Fraction(9, 10)))
            expected = []
            if wide:
                low = subset_interval(more[1], 8, Fraction(95, 100))[0]
                outer = [subset_interval(more[sign], 8, Fraction(9, 10))[sign < 0] for sign in (1, -1)]
                expected += ["worse"] * (wide[1] < -margin) + ["better"] * (wide[0] > gain)
                if margin:
                    expected += ["equivalent"] * (-margin < min(narrow[0], outer[0])
                                                  and max(narrow[1], outer[1]) < margin)
                    expected += ["not worse"] * (wide[0] > gain or min(wide[0], low) > -margin)
            found = decide_on(groups, 2, lost, gained, min_gain=gain, margin=margin)
            self.assertEqual(found["claims"], expected)
            self.assertEqual(found["verdict"], (expected or ["undecided"])[0])
            self.assertEqual(found["reason"] is None, bool(expected))
            self.assertEqual(found["interval"], wide)
            self.assertEqual(found["equivalence_interval"], narrow if wide and margin else None)
            if wide and margin:
                self.assertEqual(found["interval_with_one_more"][0], low)
                self.assertEqual(found["equivalence_interval_with_one_more"], tuple(outer))
            seen[found["verdict"]] += 1
        self.assertEqual(set(seen), {"worse", "better", "equivalent", "not worse", "undecided"})

    def test_an_end_on_a_limit_claims_nothing(self):
        groups = [(1, 1)] * 8                              # every subset has the mean 1: both ends are 1
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 10))["claims"], [])
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 11))["claims"], ["better"])
        self.assertEqual(decide_on(groups, 10, 0, 0, margin=Fraction(1, 10))["claims"], ["better", "not worse"])
        self.assertEqual(decide_on(groups, 10, 0, 0, margin=Fraction(1, 9))["claims"],
                         ["better", "equivalent", "not worse"])
        losses = [(1, -1)] * 8
        self.assertEqual(decide_on(losses, 10, margin=Fraction(1, 10))["claims"], [])
        self.assertEqual(decide_on(losses, 10, margin=Fraction(1, 11))["claims"], ["worse"])

    def test_a_claim_of_safety_needs_a_margin_and_survives_one_more_bad_source(self):
        nothing = [(1, 0)] * 44
        self.assertEqual(decide_on(nothing)["claims"], [])
        # P(19 of 50 fair coins or fewer) is 0.059, half of it more than 0.025; of 51 coins it is 0.046.
        self.assertEqual(decide_on([(1, 0)] * 50, margin=Fraction(1, 20), gate="not-worse")["gate_met"], False)
        self.assertEqual(decide_on([(1, 0)] * 51, margin=Fraction(1, 20), gate="not-worse")["gate_met"], True)
        # A baseline that scores a quarter at best can lose no more than that.
        self.assertEqual(decide_on(nothing, 1, Fraction(1, 4), margin=Fraction(1, 20))["claims"], ["not worse"])
        # Nor is one source that could gain it all "equivalent".
        self.assertEqual(decide_on(nothing, 1, Fraction(1, 4), Fraction(1, 4), margin=Fraction(1, 20))["claims"],
                         ["equivalent", "not worse"])

    def test_the_verdict_says_what_one_more_source_would_do_and_how_many_would_settle_it(self):
        found = decide_on([(1, 0)] * 9, margin=Fraction(1, 20), gate="not-worse")
        # Of 1,024 subsets of nine zeros and a -1 the 25th lowest mean is that of the -1 with two others.
        self.assertEqual(found["interval_with_one_more"][0], Fraction(-1, 3))
        self.assertEqual(found["reason"], "one more source that fails completely would put the loss at 0.3333, beyond "
                                          "the margin of 0.05; about 51 sources would settle it")
        self.assertEqual((found["gate_met"], found["gate_contradicted"]), (False, False))
        self.assertEqual((found["gate_reason"], found["sources_needed"]), (found["reason"], 51))
        found = decide_on([(1, 0)] * 9, 1, Fraction(1, 100), margin=Fraction(1, 20), gate="equivalent")
        self.assertIn("one more source that gains all it can would put the gain at ", found["gate_reason"])

    def test_claims_hold_only_if_what_is_missing_could_not_turn_them(self):
        seen, against, favour = (decide.Evidence([(1, k)] * 8, 10, 0, 0) for k in (2, -2, 3))
        for worlds, limits, claims in (
                ((seen, seen, seen), {}, ["better"]), ((seen, against, favour), {}, []),
                ((seen, against, favour), {"margin": Fraction(1, 4)}, ["not worse"]),
                ((seen, seen, favour), {"margin": Fraction(1, 4)}, ["better", "not worse"]),
                ((seen, seen, seen), {"margin": Fraction(1, 4)}, ["better", "equivalent", "not worse"]),
                ((against, against, against), {"margin": Fraction(1, 10)}, ["worse"]),
                ((against, against, favour), {"margin": Fraction(1, 10)}, [])):
            found = decide.decision(filled(*worlds), decide.Limits(**limits), True)
            self.assertEqual(found["claims"], claims)
            missing = worlds[1:] != worlds[:1] * 2
            self.assertEqual(found["interval_with_missing_filled"], (
                worlds[1].interval(Fraction(1, 40)).interval[0], worlds[2].interval(Fraction(1, 40)).interval[1]
            ) if missing else None)

    def test_gate_is_met_by_its_claim_whatever_the_verdict(self):
        gain, none, loss = [(1, 1)] * 8, [(1, 1), (1, -1)] * 4, [(1, -1)] * 8
        table = [(gain, 0, "better", True, False), (gain, 2, "not-worse", True, False),
                 (gain, 2, "equivalent", True, False), (none, 0, "better", False, False),
                 (none, 2, "not-worse", True, False), (none, 2, "equivalent", True, False),
                 (none, 2, "better", False, False), (loss, 0.5, "not-worse", False, True),
                 (loss, 2, "not-worse", True, False), (loss, 2, "better", False, True),
                 (loss, 0.5, "equivalent", False, True), (gain, 0.5, "equivalent", False, True)]
        for groups, margin, gate, met, contradicted in table:
            with self.subTest(groups=groups[:2], margin=margin, gate=gate):
                found = decide_on(groups, margin=Fraction(margin), gate=gate)
                self.assertEqual((found["gate_met"], found["gate_contradicted"]), (met, contradicted))
                self.assertEqual(found["gate_reason"] is None, met)
        self.assertIsNone(decide_on(gain)["gate_met"])

    def test_what_is_missing_can_take_back_a_contradiction(self):
        loss, favour = (decide.Evidence([(1, k)] * 8, 10) for k in (-4, 4))
        for gate in decide.GATES:
            limits = decide.Limits(margin=Fraction(1, 10), gate=gate)
            for worlds, contradicted in (((loss, loss, loss), True), ((loss, loss, favour), False)):
                found = decide.decision(filled(*worlds), limits, True)
                self.assertEqual((found["gate_met"], found["gate_contradicted"]), (False, contradicted))

    def test_cases_that_must_pass_are_a_gate_of_their_own(self):
        seen = decide.Evidence([(1, 1)] * 8, 10)
        for gate, failed, met in ((None, {}, True), (None, {"c1": True}, False), ("better", {}, True),
                                  ("better", {"c1": True}, False)):
            found = decide.decision(seen, decide.Limits(gate=gate), True, failed)
            self.assertEqual((found["gate_met"], found["gate_contradicted"]), (met, not met))
            self.assertEqual(found["gate_reason"], None if met else "cases that must pass and do not: c1")
        found = decide.decision(seen, decide.Limits(), True, {"c1": False})  # what is missing may yet pass
        self.assertEqual((found["gate_met"], found["gate_contradicted"], found["gate_reason"]),
                         (False, False, "cases that must pass and have trials without a score: c1"))
        found = decide.decision(seen, decide.Limits(), True, {"c1": False, "c2": True})
        self.assertEqual((found["gate_contradicted"], found["gate_reason"]), (
            True, "cases that must pass and do not: c2; cases that must pass and have trials without a score: c1"))
        found = decide.decision(decide.Evidence([(1, 0)] * 8, 10), decide.Limits(gate="better"), True, {})
        self.assertEqual((found["gate_met"], found["gate_contradicted"]), (False, False))

    def test_five_groups_are_undecided_whatever_they_show(self):
        found = decide_on([(1, 1)] * 5, gate="not-worse", margin=Fraction(1, 2))
        self.assertEqual((found["claims"], found["verdict"], found["gate_met"]), ([], "undecided", False))
        self.assertEqual((found["interval"], found["gate_contradicted"]), (None, False))
        self.assertEqual(found["reason"], "a claim takes at least 6 sources, not 5")
        self.assertEqual(decide_on([(1, 1)] * 6)["verdict"], "better")
        found = decide_on([(1, -1)] * 5, gate="not-worse", margin=Fraction(1, 2))
        self.assertEqual((found["claims"], found["gate_contradicted"]), ([], False))

    def test_looks_and_candidates_take_more_sources_and_a_wider_interval(self):
        for limits, sources in (({"look": (1, 5)}, 19), ({"among": 20}, 10), ({"look": (2, 2)}, 6), ({"among": 2}, 7)):
            few, enough = (decide_on([(1, 1)] * count, **limits) for count in (sources - 1, sources))
            self.assertEqual((few["claims"], few["sources_for_level"]), ([], sources))
            self.assertEqual(enough["claims"], ["better"])
            self.assertAlmostEqual(float(enough["level"]), 1 - 2 * float(decide.Limits(**limits).alpha))
        found = decide_on([(1, k) for k in (3, 1, 2, 0, 1, 2, 4, 2, 1, 2)], among=4, margin=Fraction(9, 2))
        self.assertEqual((found["among"], found["look"], found["alpha"]), (4, None, Fraction(1, 160)))
        self.assertEqual(found["equivalence_level"], found["level"])       # "equivalent" gets no wider error, either
        self.assertEqual(decide_on([(1, 1)] * 9, look=(2, 5))["look"], "2/5")

    def test_look_constants_keep_the_error_of_all_looks_together(self):
        rng, wrong, worlds, looks = random.Random(1), 0, 4000, 4
        for _ in range(worlds):
            total, claimed = 0.0, False
            for k in range(1, looks + 1):
                total += rng.gauss(0, 1)
                error = math.erfc(total / math.sqrt(k) / math.sqrt(2)) / 2
                claimed |= error <= decide.Limits(look=(k, looks)).alpha
            wrong += claimed
        self.assertAlmostEqual(wrong / worlds, 0.025, delta=3 * math.sqrt(0.025 / worlds))

    def test_reason_says_what_stays_open(self):
        groups = [(1, k) for k in (4, -2, 3, -1, 2, 0, 1)]
        self.assertEqual(decide_on(groups, 10)["reason"],
                         "the interval by source, -0.1 to +0.3, leaves open whether it is a gain or a loss")
        self.assertEqual(decide_on(groups, 10, margin=Fraction(1, 20))["reason"],
                         "the interval by source, -0.1 to +0.3, does not rule out a loss of 0.05")
        self.assertEqual(decide_on([(1, 0)] * 7)["reason"],
                         "the interval by source, 0 to 0, does not lie above 0")
        asked = decide_on([(1, 0)] * 7, gate="better", min_gain=Fraction(1, 10))
        self.assertEqual((asked["gate_contradicted"], asked["gate_reason"]),  # nothing moved: they cannot tell
                         (False, "the interval by source, 0 to 0, does not lie above 0.1"))
        self.assertIn("does not lie above 0", decide_on(groups, 10, gate="better")["gate_reason"])
        asked = decide_on(groups, 10, gate="better", min_gain=Fraction(2, 5))
        self.assertIn("does not lie above 0.4", asked["gate_reason"])
        for gate, total, said in (("not-worse", -5, "shows a loss of 0.1 or more"),
                                  ("equivalent", -5, "shows a change of 0.1 or more"),
                                  ("equivalent", 5, "shows a change of 0.1 or more")):
            asked = decide_on([(1, total)] * 7, 10, gate=gate, margin=Fraction(1, 10))
            self.assertTrue(asked["gate_contradicted"])
            self.assertTrue(asked["gate_reason"].endswith(said), asked["gate_reason"])

    def test_a_loss_that_what_is_missing_could_turn_is_said_so(self):
        seen = decide.Evidence([(1, -3)] * 7, 10)
        seen = filled(seen, seen, seen._replace(groups=[(1, 1)] * 7))
        for gate in ("not-worse", None):
            asked = decide.decision(seen, decide.Limits(margin=Fraction(1, 10), gate=gate), True)
            self.assertEqual((asked["claims"], asked["gate_contradicted"]), ([], False))
            for reason in (asked["reason"], asked["gate_reason"] or asked["reason"]):
                self.assertIn("shows a loss of 0.1 or more, but what is missing could turn that", reason)

    def test_ends_are_said_with_the_places_of_other_figures(self):
        groups = [(1, k) for k in (-390, -200, 423, 300, 200, 100, 770, 50)]
        for unit, places, low in ((10_000, 4, "-0.0163"), (100_000, 4, "-0.0016"), (1_000_000, 6, "-0.000163")):
            self.assertIn(f"by source, {low} to", decide_on(groups, unit, gate="better", places=places)["gate_reason"])

    def test_an_end_on_the_margin_does_not_show_the_loss(self):
        asked = decide_on([(1, -1)] * 7, 10, gate="not-worse", margin=Fraction(1, 10))
        self.assertTrue(asked["gate_reason"].endswith("does not rule out a loss of 0.1"), asked["gate_reason"])

    def test_the_loss_with_one_more_source_has_the_places_of_other_figures(self):
        asked = decide_on([(1, 0)] * 7, 10, Fraction(1, 3), gate="not-worse", margin=Fraction(1, 1000), places=2)
        self.assertIn("would put the loss at 0.17, beyond", asked["gate_reason"])

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
        self.assertEqual(decide.decision(decide.Evidence(groups, 1), decide.Limits(), False)["unit"], "case")
        self.assertEqual(decide_on(groups)["unit"], "source")

    def test_a_level_beyond_what_a_float_tells_from_1_has_a_quantile(self):
        limits = decide.Limits(look=(1, 10), among=999_999)
        self.assertLess(decide.detectable_errors(limits.alpha, 1100), 12)

    def test_more_sources_are_asked_for_than_there_are_and_than_any_claim_takes(self):
        found = decide_on([(1, 1)] * 4 + [(1, 0)] * 5, 1, gate="not-worse", margin=Fraction(1, 10))
        self.assertEqual((found["gate_met"], found["sources_needed"]), (False, 10))
        self.assertIn("about 10 sources would settle it", found["gate_reason"])
        self.assertEqual(decide_on([(1, 1)] * 8, 1, 0, 0, margin=Fraction(1, 2))["sources_needed"], 6)

    def test_groups_needed_by_hand(self):
        # Seven groups of one case: mean 1/10, squared deviations in tenths 9 + 9 + 4 + 4 + 1 + 1 + 0 = 28, so a
        # variance of 28 / 6; t with 6 degrees of freedom 2.447 and 0.906; (2.447 + 0.906)^2 * 28 / 6 = 52.46.
        groups = [(1, k) for k in (4, -2, 3, -1, 2, 0, 1)]
        found = decide_on(groups, 10)
        self.assertEqual((found["groups_needed"], found["groups_needed_for"]), (53, "better"))
        # Worth shipping from 0.05: twice as close, four times as many.
        self.assertEqual(decide_on(groups, 10, min_gain=Fraction(1, 20))["groups_needed"], 210)
        # Not worth it below 0.5, a loss of 0.15 tolerated: not worse by now, equivalent only with
        # (1.943 + 0.906)^2 * 28 / 6 / 0.5^2 = 151.5.
        found = decide_on(groups, 10, 0, 0, min_gain=Fraction(1, 2), margin=Fraction(3, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("not worse", 152))
        # Beyond a margin of 0.05, not worth shipping: 0.15 from the loss that counts, 52.46 / 1.5^2 = 23.3.
        found = decide_on(groups, 10, 0, 0, min_gain=Fraction(1, 2), margin=Fraction(1, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 24))
        # Safe from one more source that loses everything, with as many as that takes.
        found = decide_on(groups, 10, min_gain=Fraction(1, 2), margin=Fraction(1, 20))
        self.assertEqual(found["groups_needed"], max(24, found["sources_needed"]))
        found = decide_on([(1, -k) for _, k in groups], 10, margin=Fraction(1, 20))
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 210))
        # (2.571 + 0.920)^2 * 6 / 4^2 = 4.6 would do, but the 6 there are do not: at least one more.
        found = decide_on([(1, 5)] * 5 + [(1, -1)])
        self.assertEqual((found["verdict"], found["groups_needed"]), ("undecided", 7))
        self.assertIsNone(decide_on([(1, 1), (1, -1)] * 4)["groups_needed"])
        # Without a margin no number of sources decides a gain that is not worth shipping.
        self.assertIsNone(decide_on(groups, 10, min_gain=Fraction(1, 2))["groups_needed"])
        self.assertIsNone(decide_on([(1, 1)] * 8)["groups_needed"])
        self.assertIsNone(decide_on([(4, 1)])["groups_needed"])
        self.assertEqual(decide_on([(1, 1), (1, 1), (1, 2)])["groups_needed"], 6)
        self.assertEqual(decide_on([(1, 1), (1, 1), (1, 2)], among=20)["groups_needed"], 83)     # t: 19.96 and 1.061

    def test_groups_needed_finds_what_is_there_in_four_of_five_worlds(self):
        rng, groups = random.Random(6), [(1, k) for k in (40, -20, 30, -10, 20, 0, 10, 30, 20, 10)]
        needed, mean = decide_on(groups)["groups_needed"], 13
        spread = math.sqrt(sum((k - mean) ** 2 for _, k in groups) / 9)
        found = sum(decide.Evidence([(1, round(rng.gauss(mean, spread))) for _ in range(needed)], 1).above(
            1, 0, Fraction(1, 40)) for _ in range(300))
        self.assertAlmostEqual(found / 300, 0.8, delta=0.12)      # t quantiles of few groups leave some in hand

    def test_what_is_missing_is_the_reason_where_the_interval_is_not(self):
        seen, against = (decide.Evidence([(1, k)] * 8, 10) for k in (2, -1))
        worlds = filled(seen, against, seen)
        for limits in ({}, {"gate": "better"}, {"min_gain": Fraction(1, 10), "gate": "better"}):
            found = decide.decision(worlds, decide.Limits(**limits), True)
            self.assertEqual((found["verdict"], found["reason"]), ("undecided", decide.MISSING))
            self.assertEqual(found["gate_reason"], decide.MISSING if limits else None)
        loss, favour = (decide.Evidence([(1, k)] * 8, 10) for k in (-2, 1))
        found = decide.decision(filled(loss, loss, favour), decide.Limits(), True)
        self.assertEqual((found["verdict"], found["reason"]), ("undecided", decide.MISSING))

    def test_one_more_source_that_puts_the_loss_at_the_margin_is_the_reason(self):
        # Of 511 means of subsets of eight zeros and a loss of 1, the twelfth smallest is that of three.
        found = decide.decision(decide.Evidence([(1, 0)] * 8, 1), decide.Limits(margin=Fraction(1, 3)), True)
        said = "one more source that fails completely would put the loss at 0.3333, beyond the margin of 0.3333"
        self.assertTrue(found["reason"].startswith(said), found["reason"])

    def test_a_gain_below_the_gain_that_is_wanted_is_no_open_question(self):
        found = decide_on([(1, 1), (1, 2)] * 6, 10, min_gain=Fraction(3, 10))
        self.assertEqual(found["reason"], "the interval by source, +0.1167 to +0.1833, does not lie above 0.3")

    def test_where_a_gain_is_seen_fewer_sources_are_needed_for_it_settles_not_worse_too(self):
        groups = [(10, 20)] * 1 + [(1, k) for k in (0, 0, 0, 1, 0, 0, 1)]
        found = decide_on(groups, margin=Fraction(1, 10), gate="not-worse")
        safe = decide.sources_for_safety(decide.Evidence(groups, 5), 1, Fraction(1, 10), Fraction(1, 40))
        self.assertLess(found["sources_needed"], safe)
        times = -(-found["sources_needed"] // len(groups))
        self.assertIn("better", decide_on(groups * (times + 1), margin=Fraction(1, 10), gate="not-worse")["claims"])

    def test_sources_needed_is_where_the_claim_begins_to_hold_if_the_sources_repeat(self):
        rng = random.Random(7)
        for _ in range(8):
            groups = [(rng.randint(1, 3), rng.randint(-1, 2)) for _ in range(8)]
            limits = decide.Limits(min_gain=1, margin=Fraction(rng.randint(6, 12), 20))
            worlds = [decide.Evidence((groups * 12)[:count], 5, Fraction(rng.randint(2, 10), 10))
                      for count in range(8, 96)]
            needed = decide.sources_for_safety(worlds[0], 1, limits.margin, Fraction(1, 40))
            first = next(len(world.groups) for world in worlds
                         if decide.holds("not worse", world, limits))
            self.assertAlmostEqual(max(needed, 8), first, delta=3 + first / 4)

    def test_t_quantiles_are_those_of_printed_tables(self):
        # Fisher & Yates (1963), Statistical Tables, table III: df, then P = 0.8, 0.95, 0.975, 0.995 (one-sided)
        table = {1: (1.376, 6.314, 12.706, 63.657), 2: (1.061, 2.920, 4.303, 9.925), 5: (0.920, 2.015, 2.571, 4.032),
                 10: (0.879, 1.812, 2.228, 3.169), 30: (0.854, 1.697, 2.042, 2.750), 60: (0.848, 1.671, 2.000, 2.660),
                 120: (0.845, 1.658, 1.980, 2.617), 10 ** 6: (0.842, 1.645, 1.960, 2.576)}
        for df, row in table.items():
            for share, value in zip((0.8, 0.95, 0.975, 0.995), row):
                self.assertAlmostEqual(decide.t_quantile(share, df), value, delta=0.0006, msg=(df, share))
        self.assertAlmostEqual(decide.t_quantile(1 - 1e-7, 1) / 3183098.86, 1, places=6)  # a tangent, far out
        self.assertAlmostEqual(decide.t_quantile(0.975, 999), decide.t_quantile(0.975, 1000), places=5)

    def test_nothing_moved_leaves_five_percent(self):
        found = decide.nothing_moved(decide.Differences([0] * 44, [0] * 44, 5, [i % 9 for i in range(44)], 9))
        self.assertEqual(found["groups"], 9)
        self.assertAlmostEqual((1 - found["excluded_share"]) ** 9, 0.05, places=12)
        self.assertEqual(round(found["excluded_share"], 4), 0.2831)
        self.assertIsNone(decide.nothing_moved(decide.Differences([0, 0, 1], [0, 1, 0], 5, [0, 0, 0], 1)))


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
        self.assertEqual(shares["not worse"], 0)                              # no margin, no such claim
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


class PlanningTest(unittest.TestCase):
    def plan(self, baseline, candidate, members, target=None, paired=True, has_sources=True):
        ks, unit = differences(baseline, candidate)
        trials = [baseline, candidate]
        if paired:
            trials = [[[y - x for x, y in zip(b, c)] for b, c in zip(baseline, candidate)]]
        diffs = decide.Differences([0] * len(ks), ks, unit, members, max(members) + 1)
        return decide.planning(diffs, trials, has_sources, Fraction(1, 40), target)

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
        self.assertAlmostEqual(found["variance"]["standard_deviation"], math.sqrt(8))      # of the means 2 and 6
        expected = {"now": 4, "twice_cases": 5.5 / 2 + 5 / 8, "twice_trials": 5.5 / 2 + (4.25 + 1.5 / 4) / 4,
                    "endless_trials": 5.5 / 2 + 4.25 / 4, "twice_groups": 2}
        for key, square in expected.items():
            self.assertAlmostEqual(found["half_width"][key], 1.96 * math.sqrt(square), places=12, msg=key)
        # For a variance of 3.24: groups 4 * 2 / 3.24 = 2.5, but 6 carry an interval; cases 5 / (3.24 - 2.75) = 10.2;
        # trials: 2.75 + 4.25 / 4 leave 3.8125, more than 3.24.
        self.assertEqual({key: found["plan"][key] for key in ("source_groups", "cases", "trials")},
                         {"source_groups": 6, "cases": 11, "trials": None})
        self.assertEqual(found["plan"]["reason"], f"endless trials alone leave {1.96 * math.sqrt(3.8125):.4g}")
        self.assertAlmostEqual(found["detectable_difference"], (12.7062 + 1.3764) * 2, places=3)  # t, one degree

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
        rng, mean, worlds = random.Random(17), Counter(), 40
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

    def test_a_plan_that_comes_out_whole_asks_for_no_case_more(self):
        for half_width, cases in ((0.196, 100), (0.98, 4), (0.49, 16), (0.07, 784), (0.0196, 10_000), (0.1959, 101)):
            plan = self.plan([[0]] * 3, [[-1], [0], [1]], [0, 1, 2], half_width, has_sources=False)["plan"]
            self.assertEqual(plan["cases"], max(cases, 6), half_width)       # of variance 1: (1.96 / half width)^2

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
            ("all equal", [[1, 1]] * 4, [[1, 1]] * 4, [0, 0, 1, 1], True, {"design_effect", "standard_deviation"},
             None)]
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


if __name__ == "__main__":
    unittest.main()
