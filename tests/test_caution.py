"""Does each warning come where it should, and nowhere else?

    $ python3 -m unittest tests.test_caution
"""

import copy
import doctest
import math
import random
import unittest
from fractions import Fraction

from core import caution
from core.trials import ComparedCase, Pair, Side
from tests.test_outcomes import side, trial


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(caution))
    return tests


def quiet_comparison():
    """Return what warnings reads of a comparison that deserves none."""
    flip = {"interval_95": [0.1, 0.3], "method": "exact, 512 sign patterns", "groups": 9}
    part = {"exact_interval_95": [0.1, 0.3], "adjusted_p_value": 0.01, "same_cases_as": []}
    return {"score_range": [0, 1],
            "overall": {"cases": 40, "difference": 0.1, "baseline": 0.4, "better": 20, "worse": 5, "same": 15,
                        "exact_interval_95": [0.1, 0.3], "exact_method": "exact, grid of 1/5",
                        "source_cluster_method": "exact over 24310 draws", "source_sign_flip": flip},
            "slices": {"language": {"en": dict(part), "es": dict(part)}}, "slices_compared": 2,
            "excluded": [], "uneven_trials": [], "nothing_moved": None, "sources": [{"cases": 4}] * 9,
            "decision": {"unit": "source", "sources_for_level": 6, "margin": 0},
            "shared_luck": {"withheld": False, "reason": None}, "measures": {"latency_s": {"reason": None}},
            "variance": {"design_effect": 1.2, "sampling": 0.1},
            "incomplete": {"baseline": {"trials": 0}, "candidate": {"trials": 0}, "difference_bounds": None}}


def quiet_pair(notes=(), count=12):
    cases = [ComparedCase(f"c{i}", None, ()) for i in range(count)]
    sides = [side(*([trial(i % 2, seed=t, output=f"{name}{i}{t}", at=f"2026-10-20T10:{t:02d}:{i:02d}Z")
                     for t in (1, 2, 3)] for i in range(count))) for name in "AB"]
    return Pair(cases, *sides, (0, 1), {}, list(notes))


def long_pair():
    return quiet_pair(count=40)


class WarningsTest(unittest.TestCase):
    def codes(self, comparison=None, pair=None, temperatures=(0.7, 0.7)):
        manifests = [{"task": {}, "settings": {"temperature": temperature}} for temperature in temperatures]
        pair = (pair or quiet_pair())._replace(manifests=manifests)
        found = caution.warnings(comparison or quiet_comparison(), pair)
        for warning in found:
            self.assertEqual(list(warning), ["code", "message", "advice"])
            self.assertTrue(all(warning.values()))
            self.assertNotIn("None", warning["message"] + warning["advice"])
        return [warning["code"] for warning in found]

    def test_another_load_is_told_of_and_no_other_reason_of_a_latency_without_an_interval(self):
        comparison = quiet_comparison()
        comparison["measures"] = {"latency_s": {"reason": "one source shows no spread between sources"}}
        self.assertEqual(self.codes(comparison), [])
        self.assertEqual(self.codes(comparison, quiet_pair()._replace(other_load="another load")), ["other_load"])

    def test_a_sound_comparison_gives_no_warning(self):
        self.assertEqual(self.codes(), [])

    def test_answers_that_miss_in_capitals_or_punctuation_alone_are_told_where_they_are_a_tenth_of_the_failures(self):
        for count, said, reason in ((2, True, None), (1, False, None), (2, False, "TruncatedReply")):
            pair = quiet_pair()  # 18 of the trials of each side fail
            cases = [case._replace(expected={"equals": "late"}) for case in pair.cases]
            sides = list(pair.sides)
            failing = [[at._replace(output="LATE!", reason=reason) if i < 2 * count and at.score == 0 else at
                        for at in trials]
                       for i, trials in enumerate(sides[1].trials)]
            pair = pair._replace(cases=cases, candidate=sides[1]._replace(trials=failing))
            self.assertEqual("near_misses" in self.codes(pair=pair), said, count)
            turned = quiet_comparison()
            turned["overall"]["difference"] = Fraction(-1, 1000)  # with one more that passes the sign is another
            self.assertEqual("near_misses" in self.codes(turned, pair), reason is None, count)
        messages = [rule["message"] for rule in caution.warnings(quiet_comparison(), pair._replace(
            candidate=pair.candidate._replace(trials=[[at._replace(output="LATE!") for at in trials]
                                                      for trials in sides[1].trials])))]
        self.assertIn("answers fail in nothing but capitals, blanks or punctuation: 0 of 18 failures of the baseline, "
                      "18 of 18 of the candidate; had these passed, the difference would be +0.6", messages)

    def test_each_figure_warns_on_its_own(self):
        table = [
            ("few_groups", "overall.source_sign_flip.groups", 5),
            ("few_cases", "overall.cases", 9),
            ("no_sources", "decision.unit", "case"),
            ("nothing_to_lose", "overall.baseline", 0),
            ("large_design_effect", "variance.design_effect", 2.4),
            ("nothing_moved", "nothing_moved", {"groups": 9, "excluded_share": 0.28}),
            ("degenerate_interval", "overall.exact_interval_95", [0.2, 0.2]),
            ("intervals_disagree", "overall.exact_interval_95", [0, 0.3]),
            ("intervals_disagree", "overall.source_sign_flip.interval_95", [-0.1, 0.3]),
            ("many_slices", "slices.language.es.adjusted_p_value", 0.05),
            ("same_slices", "slices.language.es.same_cases_as", ["variant: translation"]),
            ("incomplete_decides", "incomplete.difference_bounds", [-0.01, 0.2]),
            ("incomplete_decides", "incomplete.difference_bounds", [0, 0.2]),
            ("one_sided_incomplete", "incomplete.candidate.trials", 1),
            ("excluded_cases", "excluded", [{"case_id": "c1", "side": "baseline", "reason": "missing"}]),
            ("uneven_trials", "uneven_trials", [{"case_id": "c1", "baseline": 2, "candidate": 5}]),
            ("few_groups", "decision.sources_for_level", 10),
            ("uneven_sources", "sources", [{"cases": 1}] * 8 + [{"cases": 28}]),
            ("shared_luck", "shared_luck", {"withheld": True, "reason": "together"}),
            ]
        for code, path, value in table:
            with self.subTest(code, path=path):
                comparison = quiet_comparison()
                *way, last = path.split(".")
                inner = comparison
                for key in way:
                    inner = inner[key]
                inner[last] = value
                self.assertEqual(self.codes(comparison), [code])

    def test_one_trial_is_told_by_the_trials_not_by_what_is_unknown_of_them(self):
        comparison = quiet_comparison()
        comparison["variance"]["sampling"] = None          # as in a suite of one case a source without spread
        self.assertEqual(self.codes(comparison), [])
        single = quiet_pair()
        single = single._replace(candidate=single.candidate._replace(trials=[
            case[:1] for case in single.candidate.trials]))
        self.assertEqual(self.codes(pair=single), ["one_trial"])

    def test_nothing_moved_says_how_much_may_change(self):
        comparison = quiet_comparison()
        comparison["nothing_moved"] = {"groups": 9, "excluded_share": 0.28}
        (warning,) = caution.warnings(comparison, quiet_pair())
        self.assertEqual(warning["message"], "no case changed, yet up to 28% of all sources may change")

    def test_a_level_out_of_reach_is_said_with_what_it_takes(self):
        comparison = quiet_comparison()
        comparison["decision"]["sources_for_level"] = 19
        (warning,) = caution.warnings(comparison, quiet_pair())
        self.assertEqual(warning["message"], "sources: 9, too few for the interval that decides")
        self.assertIn("at least 19 sources", warning["advice"])

    def test_shared_luck_silences_what_rests_on_intervals_by_case(self):
        comparison = quiet_comparison()
        comparison["shared_luck"] = {"withheld": True, "reason": "together"}
        comparison["overall"]["exact_interval_95"] = [-0.3, -0.1]
        comparison["slices"]["language"]["es"] |= {"exact_interval_95": [-0.3, -0.1], "adjusted_p_value": 0.9}
        self.assertEqual(self.codes(comparison), ["shared_luck"])

    def test_trials_that_answer_alike_in_nearly_every_case_are_named(self):
        def outputs(differing):
            return self.changed(long_pair(), lambda name, i, t: t._replace(output=(
                f"{i}{t.seed}" if name == "B" or i < differing or t.seed not in (2, 3) else i)))
        found = caution.warnings(quiet_comparison(), outputs(1))
        self.assertEqual([warning["code"] for warning in found], ["trials_alike"])
        self.assertIn("give the same output in nearly every case (numbers 2, 3), so its 3 trials count as 2",
                      found[0]["message"])
        self.assertEqual(caution.warnings(quiet_comparison(), outputs(3)), [])
        pair = outputs(1)  # the first case lacks a trial on both sides
        sides = [side._replace(trials=[side.trials[0][:2], *side.trials[1:]]) for side in pair.sides]
        lacking = pair._replace(baseline=sides[0], candidate=sides[1])
        found = caution.warnings(quiet_comparison(), lacking)
        self.assertEqual([warning["code"] for warning in found], ["trials_alike"])

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
        (warning,) = caution.warnings(comparison, quiet_pair())
        self.assertEqual(warning["message"], "slices of the same cases: language: es = variant: translation")

    def changed(self, pair, change):
        sides = [Side({}, [[change(name, i, t) for t in case] for i, case in enumerate(part.trials)], [])
                 for name, part in zip("AB", (pair.baseline, pair.candidate))]
        return pair._replace(baseline=sides[0], candidate=sides[1])

    def test_outputs_shared_by_both_runs_may_come_from_a_cache(self):
        shared = self.changed(quiet_pair(), lambda name, i, t: t._replace(output=f"{i} {t.seed}"))
        self.assertEqual(self.codes(pair=shared), ["cached_repeats"])
        self.assertEqual(self.codes(pair=shared, temperatures=(None, 0)), ["cached_repeats"])
        one_differs = self.changed(shared, lambda name, i, t: t._replace(output="1.0" if name == "A" else "1")
                                   if (i, t.seed) == (7, 2) else t)
        self.assertEqual(self.codes(pair=one_differs), [])
        other_seeds = self.changed(shared, lambda name, i, t: t._replace(seed=t.seed + (name == "A")))
        self.assertEqual(self.codes(pair=other_seeds), [])

    def test_repeats_alike_at_a_temperature_may_come_from_a_cache(self):
        alike = self.changed(quiet_pair(), lambda name, i, t: t._replace(output=f"{name}{i}") if name == "B" else t)
        self.assertEqual(self.codes(pair=alike), ["cached_repeats"])
        manifests = [{"task": {}, "settings": {"temperature": 0.7}}] * 2
        (warning,) = caution.warnings(quiet_comparison(), alike._replace(manifests=manifests))
        self.assertEqual((warning["message"], warning["advice"]), (
            "all trials of each case of the candidate are alike, byte for byte: perhaps short answers under seeds that "
            "all cases share, perhaps a cache",
            "record with other seeds for each case (bench.py --seeds per-case), and without a cache"))
        for temperatures in ((0.7, 0), (0.7, None)):
            self.assertEqual(self.codes(pair=alike, temperatures=temperatures), [])
        self.assertEqual(self.codes(pair=alike, temperatures=()), ["cached_repeats"])  # of a plain trial log

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
        (warning,) = caution.warnings(quiet_comparison(), drift)
        self.assertEqual(warning["code"], "order_effect")
        self.assertIn("from the earlier to the later trials of the same cases the candidate's score changes by 1 ",
                      warning["message"])
        self.assertIn("p = 0.0004883", warning["message"])                    # 2 / 2^12
        in_groups = drift._replace(cases=[case._replace(source=f"s{i % 7}") for i, case in enumerate(drift.cases)])
        self.assertEqual(caution.warnings(quiet_comparison(), in_groups), [])  # 2 / 2^7 is more than 1%

    def test_a_small_rise_in_many_cases_is_an_order_effect_and_in_few_is_none(self):
        # Three trials a case: the first and the last count. All but a few cases score the same early and late.
        for rising, told in ((8, True), (7, False)):           # 2 / 2^8 is less than 1%, 2 / 2^7 is more
            pair = self.changed(quiet_pair(count=40), lambda name, i, t, rising=rising: t._replace(
                score=int(i % 2 or name == "B" and t.seed == 3 and i < 2 * rising)))
            found = caution.warnings(quiet_comparison(), pair)
            self.assertEqual([warning["code"] for warning in found], ["order_effect"] * told)
            if told:
                self.assertIn("the candidate's score changes by 0.2 (p = 0.007812)", found[0]["message"])

    def test_two_trials_a_case_have_an_order_and_may_be_alike(self):
        two = quiet_pair()._replace(**{
            name: part._replace(trials=[case[:2] for case in part.trials])
            for name, part in zip(("baseline", "candidate"), quiet_pair().sides)})
        self.assertEqual(self.codes(pair=two), [])
        alike = self.changed(two, lambda name, i, t: t._replace(output=f"{name}{i}") if name == "B" else t)
        self.assertEqual(self.codes(pair=alike), ["cached_repeats"])
        drift = self.changed(two, lambda name, i, t: t._replace(score=int(t.seed == 2)) if name == "A" else t)
        self.assertEqual(self.codes(pair=drift), ["order_effect"])

    def test_order_is_that_of_the_times_not_of_the_trials(self):
        def change(name, i, t):
            late = t.seed == 1                             # recorded backwards
            return t._replace(score=int(late), at=f"2026-10-20T1{4 - t.seed}:00:00Z")
        (first, second) = caution.warnings(quiet_comparison(), self.changed(quiet_pair(), change))
        self.assertIn("changes by 1 ", first["message"] + second["message"])

    def test_times_that_are_numbers_sort_as_numbers(self):
        drift = self.changed(quiet_pair(), lambda name, i, t: t._replace(
            score=int(t.seed == 3), at=str({1: 9.5, 2: 30, 3: 100.25}[t.seed])))      # as texts, 100.25 comes first
        (first, second) = caution.warnings(quiet_comparison(), drift)
        self.assertIn("changes by 1 ", first["message"] + second["message"])

    def test_times_with_and_without_a_fraction_sort_as_texts(self):
        times = {1: "2026-10-20T10:00:00Z", 2: "2026-10-20T11:00:00.5Z", 3: "2026-10-20T12:00:00Z"}
        drift = self.changed(quiet_pair(), lambda name, i, t: t._replace(score=int(t.seed > 1), at=times[t.seed]))
        (first, second) = caution.warnings(quiet_comparison(), drift)
        self.assertIn("changes by 1 ", first["message"] + second["message"])

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
            rise, p_value = caution._order_effect(side(*trials), [i // 2 for i in range(30)])
            alarms += p_value < 0.01
        self.assertLess(alarms, 3 + 3 * math.sqrt(3))

    def test_warnings_leave_the_comparison_alone(self):
        comparison = quiet_comparison()
        before = copy.deepcopy(comparison)
        self.codes(comparison)
        self.assertEqual(comparison, before)


if __name__ == "__main__":
    unittest.main()
