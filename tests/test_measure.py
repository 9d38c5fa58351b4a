"""Does the benchmark measure what it says? The plain loop against the fast one, worlds by hand, tables by shape.

    $ python3 -m unittest tests.test_measure
"""

import contextlib
import doctest
import io
import itertools
import os
import random
import statistics
import tempfile
import unittest
from fractions import Fraction
from unittest import mock

from core import files
import harness
from core import intervals
from core import trial_logs, trials
import measure
from measure import WORLDS, MARGIN


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(measure))
    return tests


def printed(*argv):
    """Return what a command prints, as (lines before a table, tables as lists of rows of cells)."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        status = measure.main(argv)
    lines = stdout.getvalue().split("\n")
    tables = [[]]
    for line in lines:
        if line.startswith("|"):
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif tables[-1]:
            tables.append([])
    return status, [table for table in tables if table], stderr.getvalue()


class PlainLoopTest(unittest.TestCase):
    def test_plain_sampled_is_the_published_interval_draw_for_draw(self):
        for numerators in ([0, 0, 0, 1, 1, 3], [-1, 0, 2] * 20):
            fast = intervals.sampled_interval(numerators, 5, intervals.IndexStream(measure.SEED)).interval
            self.assertEqual(measure.plain_sampled(numerators, 5), fast)


class WorldTest(unittest.TestCase):
    def test_truth_is_the_mean_move(self):
        tenth, ceiling = Fraction(-1, 10), Fraction(-95, 1000)
        self.assertEqual([kind.truth for kind in WORLDS], [0, -tenth, -tenth, tenth, tenth / 2, tenth, ceiling, ceiling,
                                                          tenth, ceiling, tenth])
        for kind in WORLDS:
            self.assertEqual(kind.margin, abs(kind.truth) or MARGIN)

    def test_no_move_leads_out_of_0_to_1(self):
        for kind in WORLDS:
            for before, move in itertools.product(kind.before, kind.moves):
                after = before + move * (before / 100 if kind.relative else 1)
                for chance in (before / 100, after / 100):
                    self.assertTrue(-1e-12 <= chance - kind.luck and chance + kind.luck <= 1 + 1e-12, kind.name)

    def test_draw_world_adds_up_trials_to_cases_to_sources(self):
        numerators, each, evidence = measure.draw_world(WORLDS[2], [2, 1, 3], 5, random.Random(1))
        self.assertEqual([size for size, _ in evidence.groups], [2, 1, 3])
        self.assertEqual((numerators, evidence.unit), ([sum(each[i:i + 5]) for i in range(0, 30, 5)], 5))
        self.assertEqual([total for _, total in evidence.groups],
                         [sum(numerators[:2]), numerators[2], sum(numerators[3:])])
        self.assertLessEqual(set(each), {-1, 0, 1})
        sure = measure.draw_world(WORLDS[4], [1] * 9, 1, random.Random(1))[2]
        self.assertEqual((sure.most_lost, sure.most_gained), (1, 0))
        quarter = measure.draw_world(WORLDS[8], [2] * 40, 1, random.Random(1))[2]
        self.assertEqual((quarter.most_lost, quarter.most_gained), (1, 1))

    def test_draw_world_comes_near_the_truth_and_moves_sources_as_one(self):
        n, count = 1500, 10
        for kind in WORLDS:
            numerators, _, _ = measure.draw_world(kind, [2] * n, count, random.Random(5))
            truth = float(kind.truth)
            # a source's mean has a standard deviation of at most 0.33 here; shared luck goes through all of them
            luck = kind.luck * (2 / count) ** 0.5
            self.assertAlmostEqual(sum(numerators) / (2 * n * count), truth, delta=4 * (0.33 / n ** 0.5 + luck))
            first, second = ([k / count - truth for k in numerators[start::2]] for start in (0, 1))
            together = sum(a * b for a, b in zip(first, second)) / n
            spread = statistics.fmean((move / 100 * (before / 100 if kind.relative else 1) - truth) ** 2
                                      for move in kind.moves for before in kind.before)
            if not kind.luck:
                self.assertAlmostEqual(together, spread if kind.by_source else 0, delta=0.016, msg=kind.name)

    def test_shared_luck_moves_all_cases_of_a_trial(self):
        _, each, _ = measure.draw_world(WORLDS[-1], [1] * 2000, 8, random.Random(3))
        sums = [sum(each[t::8]) / 2000 for t in range(8)]
        for trial in sums:                                 # -0.1, and the luck of either side
            self.assertLess(min(abs(trial + 0.1 - luck) for luck in (-0.2, 0, 0.2)), 0.05)
        self.assertGreater(max(sums) - min(sums), 0.1)

    def test_wrong_claims_at_between_and_beyond_the_margin(self):
        for move, wrong in ((0, {"better", "worse"}), (10, {"equivalent", "worse"}),
                            (-10, {"better", "worse", "equivalent", "not worse"})):
            self.assertEqual(measure.wrong_claims(measure.Kind("", (move,))), wrong, move)

    def test_simulate_is_decided_by_its_seed(self):
        runs = [measure.simulate(WORLDS[1], [1, 2, 3] * 2, 5, 3, seed) for seed in ("a", "a", "b")]
        self.assertEqual(runs[0], runs[1])
        self.assertLessEqual(set(measure.COVERED), set(runs[0]))
        worlds = [measure.draw_world(WORLDS[1], [9], 5, random.Random(seed)) for seed in ("a", "b")]
        self.assertNotEqual(*worlds)

    def test_simulate_in_worlds_without_noise_finds_the_truth_always(self):
        still = measure.Kind("none moves", (0,), measure.ALWAYS)
        found = measure.simulate(still, [2] * 6, 5, 4, "0")
        self.assertEqual({found[name] for name in (*measure.COVERED, "none", "interval alone")}, {4})
        found = measure.simulate(still, [1] * 51, 1, 2, "0")
        self.assertEqual((found["equivalent"], found["not worse"], found["wrong"]), (2, 2, 0))
        sure = measure.Kind("all move", (-50,), measure.ALWAYS)
        found = measure.simulate(sure, [4] * 20, 5, 4, "0")
        self.assertEqual(found["none"] + found["worse"], 4)  # at the margin: the truth decides nothing

    def test_a_rare_loss_is_rarely_called_safe_though_the_interval_alone_says_so(self):
        found = measure.simulate(WORLDS[5], [1] * 9, 1, 60, "0")
        self.assertGreater(found["interval alone"], 12)     # 0.9^9 of the worlds show nothing at all
        self.assertEqual((found["not worse"], found["equivalent"], found["wrong"]), (0, 0, 0))
        self.assertLess(found["sign-flip"], 45)

    def test_declared_looks_and_candidates_keep_false_gains_rare(self):
        rows = measure.false_gains(30, 1)
        self.assertEqual([row[0] for row in rows], ["5 looks", "10 looks", "5 candidates", "20 candidates"])
        plain, declared = (sum(float(row[column][:-1]) for row in rows) for column in (1, 2))
        self.assertGreater(plain, declared)


class CommandTest(unittest.TestCase):
    def test_coverage_prints_three_tables(self):
        with mock.patch.object(measure, "WORLDS", (WORLDS[0], WORLDS[5])):
            status, (coverage, claimed, gains), stderr = printed("coverage", "--worlds", "2", "--groups", "6")
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual(coverage[0], ["world", "sources", "sizes", "trials", "by case", "by source", "sign-flip",
                                       "by trial", "+-"])
        self.assertEqual([row[2:4] for row in coverage[2:]], [["equal", "1 / 5"], ["unequal", "1 / 5"], ["equal", "1"],
                                                              ["unequal", "1"]])
        for row in coverage[2:]:
            for cell in row[4:8]:
                self.assertRegex(cell, r"^(0|50|100)\.0%( / (0|50|100)\.0%)?$")
        self.assertEqual(claimed[0], ["world", "truth", "sources", *measure.CLAIMED, "+-"])
        self.assertEqual([[cell.endswith("x") for cell in row[3:10]] for row in claimed[2:]], [
            [True, False, False, True, False, True, False], [True, True, True, True, False, True, True]])
        self.assertEqual(len(gains), 2 + 4)

    def test_speed_prints_what_is_read_and_what_it_costs(self):
        with mock.patch.object(measure, "PROCESSES", 1):
            status, (processes,), stderr = printed("speed", "--cases", "8")
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual([row[:2] for row in processes[2:]], [["8", "run records"], ["8", "a trial log"]])
        for row in processes[2:]:
            seconds, megabytes, starts, reads, loops = (float(cell.replace(",", "")) for cell in row[2:])
            self.assertGreater(min(seconds, megabytes), 0)
            self.assertGreater(min(starts, reads, loops), 1)

    def test_a_process_that_fails_is_an_error_of_one_line(self):
        with self.assertRaisesRegex(files.RunError, r"python3 nothing\.py ended with 2; run it by hand"):
            measure.cost_of("nothing.py")

    def test_made_runs_have_the_shape_that_was_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            measure.make_runs(folder, 50)
            case_set = harness.load_cases(os.path.join(folder, "cases.json"))
            records = [harness.read_record(os.path.join(folder, name)) for name in ("old.json", "new.json")]
            log = trial_logs.read_trial_logs([(None, os.path.join(folder, "trials.jsonl"))], "old", "new")
        trials.from_records(records, case_set)
        self.assertEqual([len(record["results"]) for record in records], [250, 250])
        for record, side in zip(records, log.sides, strict=True):  # the log holds the same scores
            passes = sum(row["verdict"] == "pass" for row in record["results"])
            self.assertEqual(sum(trial.score for case in side.trials for trial in case), passes)
        sources = [case.tags["source"] for case in case_set.cases]
        self.assertEqual({len(case.tags) for case in case_set.cases}, {4})
        self.assertLessEqual({sources.count(source) for source in sources}, set(range(1, 7)))
        self.assertGreater(len({sources.count(source) for source in sources}), 2)

    def test_bad_usage_exits_2_and_says_why(self):
        for argv, why in ((["coverage", "--groups", "5"], "at least 6"), (["coverage", "--worlds", "0"], "at least 1"),
                          (["speed", "--cases", "0"], "at least 1 case"), ([], "required")):
            stderr = io.StringIO()
            with contextlib.redirect_stderr(stderr), self.assertRaises(SystemExit) as ended:
                measure.main(argv)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(why, stderr.getvalue())


if __name__ == "__main__":
    unittest.main()
