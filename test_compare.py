"""Does the comparison keep its contract? The published figures, the recorded runs, the laws, and every refusal."""

import copy
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import tempfile
import threading
import unittest
from fractions import Fraction
from unittest import mock

import compare
from core import chance, figures
import harness
from core import intervals
from core import options
from core import trials
from core.decide import Limits
from tests.test_harness import read_json, run_here

HERE = os.path.dirname(os.path.abspath(__file__))
PASSING = harness.Task("outcomes", "0" * 64, {"passes": ("1", lambda expected, output: expected == output)},
                       lambda expected: None, lambda output: None, harness.NoRejection)


def here(*parts):
    return os.path.join(HERE, *parts)


def case_set(cases, sha256="1" * 64):
    """Return a case set of {case id: tags}, all of them expecting the output 1."""
    return harness.CaseSet("cases", "1", sha256, tuple(
        harness.Case(case_id, "dev", {}, {"passes": True}, tags) for case_id, tags in cases.items()))


def run(cases, outcomes, name="system"):
    """Return a run record of {case id: its trials' outcomes}: 1 passes, 0 fails, None is incomplete."""
    (trials,) = {len(row) for row in outcomes.values()}
    header = {"case_set": {"name": cases.name, "sha256": cases.sha256},
              "task": {"name": "outcomes", "sha256": "0" * 64},
              "splits": ["dev"], "trials": trials, "started_at": "", "python": "", "platform": "",
              "system": dict.fromkeys(harness.SYSTEM_FIELDS) | {"name": name, "version": "v1", "mode": "replay"}}
    lines = {}
    for case_id, row in outcomes.items():
        for trial, outcome in enumerate(row, start=1):
            answer = {"error": {"type": "NotJSON", "message": "prose"}} if outcome is None else {
                "output": {"passes": bool(outcome)}}
            lines[case_id, trial] = {"seed": 1000 + trial, "metadata": {}, **answer}
    return harness.make_record(header, cases, PASSING, lines)


def published():
    """Return the published comparison, and case set and runs of the outcomes reconstructed from it."""
    saved = read_json(here("tests", "data", "published-comparison.json"))
    rows = read_json(here("tests", "data", "published-outcomes.json"))["cases"]
    cases = case_set({row["case_id"]: {tag: row[tag] for tag in ("source", "variant", "language")} for row in rows},
                     saved["case_set"]["sha256"])._replace(name=saved["case_set"]["name"])
    runs = [run(cases, {row["case_id"]: row[version] for row in rows}) for version in ("v1", "v2")]
    for record, side in zip(runs, ("baseline", "candidate")):
        record["manifest"]["system"] = saved[side]
    return saved, cases, runs


def simple(baseline, candidate, sources=None):
    """Return the comparison of {case id: outcomes} on both sides, each case in the source group that sources names."""
    cases = case_set({case_id: {"source": sources[case_id]} if sources else {} for case_id in baseline})
    return compare.compare(run(cases, baseline), run(cases, candidate), cases)


def worlds(count, seed=1):
    """Yield small random runs: (case set, baseline outcomes, candidate outcomes)."""
    rng = random.Random(seed)
    for _ in range(count):
        n, trials = rng.randint(2, 9), rng.randint(1, 4)
        cases = case_set({f"c{i}": {"source": f"s{rng.randrange(n)}", "kind": rng.choice("ab")} for i in range(n)})
        yield cases, *({case.id: [rng.choice((0, 1, 1, None)) for _ in range(trials)] for case in cases.cases}
                       for _ in range(2))


class PublishedTest(unittest.TestCase):
    maxDiff = None

    def assert_holds(self, new, old, path="comparison"):
        """Assert that every key of old is in new, in old's order, with old's value."""
        if isinstance(old, dict):
            self.assertEqual([key for key in new if key in old], list(old), path)
            for key in old:
                self.assert_holds(new[key], old[key], f"{path}.{key}")
        elif isinstance(old, list) and old and isinstance(old[0], dict):
            self.assertEqual(len(new), len(old), path)
            for number, (one, other) in enumerate(zip(new, old)):
                self.assert_holds(one, other, f"{path}[{number}]")
        else:
            self.assertEqual(new, old, path)

    def test_published_figures_come_out_exactly(self):
        saved, cases, runs = published()
        fresh = compare.compare(*runs, cases)
        self.assertEqual((saved.pop("comparison_version"), fresh["comparison_version"]), ("1", "2"))  # with more keys
        self.assert_holds(fresh, saved)

    def test_published_no_gain_share_is_a_power_of_six_ninths(self):
        _, cases, runs = published()
        overall = compare.compare(*runs, cases)["overall"]
        self.assertEqual(overall["source_no_gain_share"], round((6 / 9) ** 9, 4))

    def test_sampled_lower_end_depends_on_the_seed(self):
        _, cases, runs = published()
        pair = trials.from_records(runs, cases)
        found = figures.differences(chance.scores_of(pair), trials.source_groups(pair))
        groups, unit = found.groups(), found.unit
        ends = set()
        for seed in range(50):
            # Drawn as a sample even where the exact interval could be had: that is what the seed would decide.
            rng, count = random.Random(seed), len(groups)
            means = sorted(sum(groups[g][1] for g in draw) / (sum(groups[g][0] for g in draw) * unit)
                           for draw in ([rng.randrange(count) for _ in groups] for _ in range(intervals.RESAMPLES)))
            ends.add(means[intervals.RESAMPLES // 40] > 0)
            if len(ends) == 2:
                break
        self.assertEqual(ends, {True, False})

    def test_interval_of_another_seed_is_another_sample_of_the_same_distribution(self):
        _, cases, runs = published()
        ends = {tuple(compare.compare(*runs, cases, options.Options(seed=seed))["overall"]["interval_95"])
                for seed in range(6)}
        exact = compare.compare(*runs, cases)["overall"]["exact_interval_95"]
        self.assertGreater(len(ends), 1)
        for low, high in ends:
            self.assertAlmostEqual(low, exact[0], delta=0.006)
            self.assertAlmostEqual(high, exact[1], delta=0.006)


RECORDED = (("comparison", ("qwen-coder-v1", "qwen-coder-v2"), "undecided"),
            ("model-swap", ("qwen-coder-heldout", "triage-few-heldout"), "better"))


class RecordedTest(unittest.TestCase):
    maxDiff = None

    def test_recorded_runs_and_comparison_match_fresh_runs(self):
        cases = harness.load_cases(here("cases-robustness.json"))
        for result, names, verdict in RECORDED:
            runs = []
            for name in names:
                log = harness.read_log(here("recorded", f"{name}.jsonl"))
                fresh = harness.replay([log], cases, harness.load_task("triage_task"))
                saved = harness.read_record(here("runs", f"{name}.json"))
                runs.append(fresh)
                self.assertEqual(without_description(fresh), without_description(saved))
            fresh = compare.compare(*runs, cases)
            saved = read_json(here("runs", f"{result}.json"))
            for comparison in (fresh, saved):
                comparison.pop("tool_version")
            self.assertEqual(json.loads(compare.format_json(fresh)), saved)
            self.assertEqual(saved["decision"]["verdict"], verdict)

    def test_recorded_logs_hold_real_and_different_answers(self):
        models = {"qwen-coder": "qwen2.5-coder:0.5b@4edae2d5b293", "triage-few": "triage-few:1.5b@0bef5025a425"}
        for name in itertools.chain(*(names for _, names, _ in RECORDED)):
            log = harness.read_log(here("recorded", f"{name}.jsonl"))
            self.assertEqual(len(log.rows), 180 if name.endswith("heldout") else 220)
            replies = {row["metadata"].get("reply") for row in log.rows}
            self.assertGreater(len(replies), 3)
            self.assertEqual(log.header["system"]["model"], models[name[:10]])


def without_description(record):
    record = copy.deepcopy(record)
    for field in harness.RUN_DESCRIPTION_FIELDS:
        del record["manifest"][field]
    return record


class FigureTest(unittest.TestCase):
    def test_by_hand(self):
        # a: 1/2 -> 2/2, b: 2/2 -> 1/2, c: 0/2 -> 2/2; differences 1/2, -1/2, 1; their mean is a third.
        found = simple({"a": [1, 0], "b": [1, 1], "c": [0, 0]}, {"a": [1, 1], "b": [0, 1], "c": [1, 1]})
        overall = found["overall"]
        self.assertEqual((overall["cases"], overall["baseline"], overall["candidate"]), (3, 0.5, 0.8333))
        self.assertEqual([overall[key] for key in ("difference", "better", "worse", "same")], [0.3333, 2, 1, 0])
        self.assertEqual(found["trial_pairs"], {"both_pass": 2, "only_baseline": 1, "only_candidate": 3, "neither": 0})
        # 27 draws of 3: P(mean = -1/2) = 1/27 = 0.037 is more than 0.025, and so is P(mean = 1).
        self.assertEqual(overall["exact_interval_95"], [-0.5, 1.0])
        self.assertEqual(overall["source_cluster_interval_95"], [-0.5, 1.0])
        self.assertEqual(overall["source_no_gain_share"], round(7 / 27, 4))  # bbb, and 3 orders each of abb and bbc
        self.assertEqual([case["case_id"] for case in found["cases"]], ["a", "b", "c"])

    def test_incomplete_does_not_pass_and_is_counted_apart(self):
        found = simple({"a": [1, 1], "b": [1, 1]}, {"a": [1, None], "b": [None, None]})
        self.assertEqual(found["overall"]["candidate"], 0.25)
        self.assertEqual(found["incomplete"]["candidate"], {"trials": 3, "reasons": {"NotJSON": 3}})
        self.assertEqual(found["incomplete"]["difference_bounds"], [-0.75, 0.0])

    def test_variants_of_one_source_are_resampled_together(self):
        # A candidate that fixes the six variants of one source of nine, and nothing else.
        ids = [f"s{source}-{variant}" for source in range(9) for variant in range(6)]
        baseline = {case_id: [int(not case_id.startswith("s0"))] * 5 for case_id in ids}
        found = simple(baseline, dict.fromkeys(ids, [1] * 5), {case_id: case_id[:2] for case_id in ids})["overall"]
        self.assertGreater(found["interval_95"][0], 0)
        self.assertGreater(found["exact_interval_95"][0], 0)
        self.assertEqual(found["source_cluster_interval_95"][0], 0)

    def test_grouped_bootstrap_equals_every_draw(self):
        rng = random.Random(5)
        for groups in (3, 4):
            for _ in range(6):
                sizes = [rng.randint(1, 4) for _ in range(groups)]
                ids = [f"g{g}-{i}" for g in range(groups) for i in range(sizes[g])]
                sides = [{case_id: [rng.randint(0, 1) for _ in range(2)] for case_id in ids} for _ in range(2)]
                found = simple(*sides, {case_id: case_id[:2] for case_id in ids})["overall"]
                sums = [[sum(sides[1][i]) - sum(sides[0][i]) for i in ids if i.startswith(f"g{g}-")]
                        for g in range(groups)]
                means = sorted(Fraction(sum(sum(sums[g]) for g in draw), 2 * sum(len(sums[g]) for g in draw))
                               for draw in itertools.product(range(groups), repeat=groups))
                low, high = (next(v for v in means if sum(m <= v for m in means) * 1000 >= limit * len(means))
                             for limit in (25, 975))
                self.assertEqual(found["source_cluster_interval_95"], [round(float(low), 4), round(float(high), 4)])
                share = sum(m <= 0 for m in means) / len(means)
                self.assertEqual(found["source_no_gain_share"], round(share, 4))

    def test_swapping_the_sides_negates(self):
        for cases, one, other in worlds(8):
            forward = compare.compare(run(cases, one), run(cases, other), cases)
            back = compare.compare(run(cases, other), run(cases, one), cases)
            self.assertEqual(back["overall"]["difference"] + 0.0, -forward["overall"]["difference"] + 0.0)
            self.assertEqual(back["overall"]["better"], forward["overall"]["worse"])
            self.assertEqual(*(found["overall"]["source_sign_flip"]["p_value"] for found in (back, forward)))
            self.assertEqual(back["trial_pairs"]["only_baseline"], forward["trial_pairs"]["only_candidate"])
            self.assertEqual([case["difference"] for case in back["cases"]],
                             [-case["difference"] for case in forward["cases"]])

    def test_identical_runs_give_zeros(self):
        for cases, one, _ in worlds(5):
            found = compare.compare(run(cases, one), run(cases, one), cases)
            overall = found["overall"]
            for key in ("interval_95", "exact_interval_95", "trial_level_interval_95", "source_cluster_interval_95"):
                self.assertEqual(overall[key], [0.0, 0.0])
            self.assertEqual((overall["difference"], overall["same"], found["cases"]), (0.0, overall["cases"], []))
            self.assertIsNotNone(found["nothing_moved"])
            self.assertNotIn("better", found["decision"]["claims"])

    def test_order_of_rows_in_a_record_does_not_matter(self):
        for cases, one, other in worlds(4):
            records = run(cases, one), run(cases, other)
            expected = compare.compare(*records, cases)
            random.Random(3).shuffle(records[1]["results"])
            for row in records[0]["results"]:
                row.update({key: row.pop(key) for key in sorted(row)})
            self.assertEqual(compare.compare(*records, cases), expected)

    def test_order_of_cases_matters_to_no_exact_figure(self):
        for cases, one, other in worlds(4):
            expected = compare.compare(run(cases, one), run(cases, other), cases)
            turned = cases._replace(cases=cases.cases[::-1])
            found = compare.compare(run(turned, one), run(turned, other), turned)
            for key in ("difference", "exact_interval_95", "source_cluster_interval_95", "source_sign_flip"):
                self.assertEqual(found["overall"][key], expected["overall"][key], key)
            self.assertEqual(found["decision"], expected["decision"])

    def test_slices_hold_their_cases_and_name_their_twins(self):
        tags = {"a": {"lang": "en", "form": "x"}, "b": {"lang": "es", "form": "y"}, "c": {"lang": "en", "form": "x"}}
        cases = case_set(tags)
        found = compare.compare(run(cases, {"a": [0], "b": [0], "c": [1]}),
                                        run(cases, {"a": [1], "b": [0], "c": [1]}), cases)
        self.assertEqual(list(found["slices"]), ["form", "lang"])
        self.assertEqual(found["slices"]["lang"]["en"]["difference"], 0.5)
        self.assertEqual(found["slices"]["lang"]["en"]["same_cases_as"], ["form: x"])
        self.assertEqual(found["slices_compared"], 2)
        self.assertIsNone(found["slices"]["lang"]["en"]["adjusted_p_value"])
        self.assertTrue(found["slices"]["lang"]["es"]["few_cases"])

    def test_rounding_keeps_small_probabilities(self):
        self.assertEqual(figures.rounded({"p_value": 1e-9, "difference": 1e-9}), {"p_value": 1e-9, "difference": 0.0})


class RefusalTest(unittest.TestCase):
    cases = case_set({"a": {}, "b": {}})

    def assert_refused(self, change, *words, cases=cases, summarized=True):
        """Assert that a candidate record so changed is refused in these words."""
        baseline, candidate = (run(self.cases, {"a": [1, 0], "b": [0, 0]}) for _ in range(2))
        change(candidate)
        if summarized:
            candidate["summary"] = harness.summarize(candidate["results"])
        with self.assertRaises(harness.RunError) as caught:
            compare.compare(baseline, candidate, cases)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_runs_measured_otherwise(self):
        for changed, *words in (
                ({"case_set": {"name": "cases", "sha256": "2" * 64}}, "candidate", "2" * 16, "1" * 16),
                ({"task": {"name": "outcomes", "sha256": "4" * 64}}, "task", "0000", "4444"),
                ({"graders": {"passes": "2"}}, "graders.passes", '"1"', '"2"'),
                ({"splits": ["heldout"]}, "splits", "dev", "heldout")):
            self.assert_refused(lambda record, changed=changed: record["manifest"].update(changed), *words)

    def test_another_case_file(self):
        self.assert_refused(lambda record: None, "baseline", "3" * 16, "1" * 16,
                            cases=self.cases._replace(sha256="3" * 64))

    def test_another_trial_count(self):
        self.assert_refused(lambda record: record.update(run(self.cases, {"a": [1], "b": [0]})), "trials", "2", "1",
                            "extend the shorter run, once it is finished: bench.py --trials N --resume")

    def test_trials_missing_twice_or_under_other_seeds(self):
        for change, *words in (
                (lambda rows: rows.pop(2), "candidate", "'b' trial 1", "missing"),
                (lambda rows: rows.__delitem__(slice(2, 4)), "candidate", "'b' trial 1", "missing"),
                (lambda rows: rows.append(rows[0]), "candidate", "'a' trial 1", "twice"),
                (lambda rows: rows[3].update(seed=7), "'b' trial 2", "seed 1002", "7"),
                (lambda rows: rows[0].update(verdict="fail"), "candidate", "result 1", "verdict 'fail'", "'pass'")):
            self.assert_refused(lambda record, change=change: change(record["results"]), *words)

    def test_a_summary_that_does_not_follow(self):
        self.assert_refused(lambda record: record["summary"]["dev"].update({"pass": 2}), "candidate",
                            "summary does not follow", summarized=False)


class CommandTest(unittest.TestCase):
    """compare.py from its command line: stdout, stderr, exit status, files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)

    def command(self, *argv):
        """Return (status, stdout, stderr) of compare.py, run in this process."""
        return run_here(compare.main, argv)

    def rows(self, *rows):
        """Save a trial log of (config, task_id, seed, score, fields) rows and return its path."""
        return self.save("trials.jsonl", "".join(json.dumps(
            {"task_id": task_id, "seed": seed, "config": config, "score": score, **fields}) + "\n"
            for config, task_id, seed, score, fields in rows))

    def simple_log(self, gain=True):
        """A candidate that mends, or breaks, each of eight cases of their own source."""
        return self.rows(*((config, f"c{i}", seed, int((config == "new") == gain), {"cluster": f"s{i}"})
                           for config in ("old", "new") for i in range(8) for seed in range(2)))

    def test_recorded_runs_print_one_line_and_give_the_bundled_files_byte_for_byte(self):
        names = "comparison.json", "comparison.html", "comparison.md"
        status, stdout, _ = self.command(
            here("runs", "qwen-coder-v1.json"), here("runs", "qwen-coder-v2.json"), "--cases",
            here("cases-robustness.json"), *(part for flag, name in zip(("--out", "--html", "--markdown"), names)
                                             for part in (flag, self.path(name))))
        saved = read_json(self.path("comparison.json"))
        self.assertEqual((status, stdout), (0, compare.format_line(saved) + "\n"))
        self.assertRegex(stdout, r"\Adifference [+-]\d\.\d{4} \(95% interval [+-]\d\.\d{4} to [+-]\d\.\d{4}\) over 44 "
                                 r"cases; better \d+, worse \d+, same \d+\n\Z")
        self.command(here("runs", "qwen-coder-heldout.json"), here("runs", "triage-few-heldout.json"), "--cases",
                     here("cases-robustness.json"), "--html", self.path("model-swap.html"))
        for name in (*names, "model-swap.html"):
            with open(here("runs", name), "rb") as one, open(self.path(name), "rb") as other:
                self.assertTrue(one.read() == other.read(), f"runs/{name} is not what its runs give")

    def test_task_is_taken_where_it_graded_both_sides_and_refused_else(self):
        cases = here("cases-robustness.json")
        runs = here("runs", "qwen-coder-v1.json"), here("runs", "qwen-coder-v2.json"), "--cases", cases
        self.assertEqual(self.command(*runs, "--task", "triage_task")[0], 0)
        status, stdout, stderr = self.command(*runs, "--task", "answer_task")
        self.assertEqual((status, stdout), (1, ""))
        self.assertRegex(stderr, r"\Aerror: .*qwen-coder-v1.json and answer_task .* differ in task.sha256: "
                                 r'"63e516c0d2304c37[0-9a-f]{48}" and "[0-9a-f]{64}"; ')
        for option in (("--task", "triage_task"), ("--recorded-with", "cases.json")):
            self.assertEqual(self.command("old", "new", "--trials", self.simple_log(), *option)[0], 2)

    def test_table_follows_the_line(self):
        status, stdout, _ = self.command("old", "new", "--trials", self.simple_log(), "--table")
        self.assertEqual(status, 0)
        self.assertTrue(stdout.startswith("difference +1.0000"))
        self.assertIn("Is it larger than the noise?", stdout)

    def test_json_prints_what_out_writes(self):
        log = self.simple_log()
        _, stdout, _ = self.command("old", "new", "--trials", log, "--json", "--out", self.path("c.json"))
        with open(self.path("c.json"), encoding="utf-8") as file:
            self.assertEqual(stdout, file.read())

    def test_gate_exits_0_when_met_3_when_contradicted_4_when_unsure_and_all_write(self):
        for gain, gate, status in ((True, "better", 0), (True, "not-worse", 0), (False, "better", 3),
                                   (False, "not-worse", 3), (True, "equivalent", 3), (None, "better", 4),
                                   (None, "not-worse", 4), (None, "equivalent", 4)):
            out = self.path(f"{gain}-{gate}.json")
            log = self.simple_log(gain) if gain is not None else self.rows(*(
                (config, f"c{i}", 0, 1, {"cluster": f"s{i}"}) for config in ("old", "new") for i in range(8)))
            found = self.command("old", "new", "--trials", log, "--gate", gate, "--margin", "0.1", "--out", out)
            self.assertEqual(found[0], status, (gain, gate))
            decision = read_json(out)["decision"]
            self.assertEqual((decision["gate_met"], decision["gate_contradicted"]), (status == 0, status == 3))
            self.assertTrue(found[1].startswith("difference "))
            verdict, said = found[2].split("\n")[:2]
            self.assertRegex(verdict, r"^verdict: (better|worse|undecided); by source [+-]\d\.\d{4} to [+-]\d\.\d{4} "
                                      r"\(8 sources\)")
            self.assertTrue(said.startswith(f"gate: {gate}, met" if not status else f"gate: {gate}, not met"), said)
            self.assertEqual("the data cannot tell" in said, status == 4)
            self.assertEqual(decision["gate_reason"] or "", said.partition(": ")[2].partition(": ")[2])

    def test_bad_usage_exits_2(self):
        with_log = [f"old new --trials x {options}" for options in (
            "--margin -1", "--margin nan", "--score-range 1 0", "--score-range 0 1e101", "--score-range 0 x",
            "--plan 0", "--plan x", "--look 0/3", "--look 4/3", "--look 1/11", "--look 1/1", "--look 2", "--among 1",
            "--among 0", "--among x", "--must-pass safety", "--must-pass =x", "--must-pass x=", "--seed x",
            "--gate not-worse", "--gate equivalent", "--gate equivalent --margin 0", "--margin 0.05 --gate good")]
        for argv in ("", "old new", "old new --trials x --cases y", "a b --cases c --gate good",
                     "old new --trials x --among=", "old new --trials x --look=",
                     *(f"a b --cases c {option}" for option in ("--score-range 0 100", "--missing drop",
                                                                "--skip-broken-lines", "--ignore-input")), *with_log):
            status, stdout, stderr = self.command(*argv.split())
            self.assertEqual((status, stdout), (2, ""), argv)
            self.assertIn("error:", stderr)

    def test_a_slip_of_the_unit_is_bad_usage(self):
        for option in ("--margin", "--min-gain"):
            for value, width, words in (("5", "0 1", "5% is 0.05"), ("1", "0 1", "5% is 0.05"),
                                        ("5%", "0 1", "5% is 0.05"), ("0,05", "0 1", "5% is 0.05"),
                                        ("100", "0 100", "5% is 5"), ("0.01", "0 0.01", "5% is 0.0005")):
                status, stdout, stderr = self.command("old", "new", "--trials", "x", option, value, "--score-range",
                                                      *width.split())
                self.assertEqual((status, stdout), (2, ""))
                self.assertIn(f"{option} {value}", stderr)
                self.assertIn(words, stderr)
        log = self.rows(*((config, "c", 0, 50, {}) for config in ("old", "new")))
        found = self.command("old", "new", "--trials", log, "--margin", "5", "--score-range", "0", "100")
        self.assertEqual(found[0], 0)

    def test_options_stand_in_the_comparison_as_they_were_given(self):
        self.command("old", "new", "--trials", self.simple_log(), "--margin", "0.00001", "--min-gain", "1e-6", "--plan",
                     "0.123456789", "--among", "3", "--seed", "7", "--out", self.path("c.json"))
        found = read_json(self.path("c.json"))
        self.assertEqual(found["options"], dict(options.DEFAULTS, margin="0.00001", min_gain="1e-6", plan="0.123456789",
                                                among="3", seed="7"))
        self.assertEqual((found["decision"]["margin"], found["decision"]["min_gain"], found["plan"]["half_width"]),
                         (0.00001, 1e-6, 0.123456789))
        self.assertEqual(options.parse_options(found["options"]).limits, Limits(
            Fraction(1, 10 ** 6), Fraction(1, 10 ** 5), None, None, 3))

    def test_refused_input_leaves_every_file_as_it_was(self):
        kept = '{"comparison_version": "0"}\n'
        out = self.save("comparison.json", kept)
        status, stdout, stderr = self.command("old", "newer", "--trials", self.simple_log(), "--out", out)
        self.assertEqual((status, stdout), (1, ""))
        self.assertRegex(stderr, r"\Aerror: .*'newer'.*new, old\n\Z")
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), kept)

    def test_nothing_that_decides_depends_on_the_seed(self):
        rng = random.Random(2)
        log = self.rows(*((config, f"c{i}", 0, rng.random(), {"cluster": f"s{i // 2}", "tags": {"t": "ab"[i % 2]}})
                          for config in ("old", "new") for i in range(60)))
        found = []
        for seed in ("0", "7"):
            self.command("old", "new", "--trials", log, "--seed", seed, "--margin", "0.1", "--out", self.path("c.json"))
            found.append(read_json(self.path("c.json")))
            self.assertEqual(found[-1]["overall"]["interval_method"], f"sampled, 2000 resamples, seed {seed}")
        self.assertNotEqual(*(part["overall"]["interval_95"] for part in found))
        for key in ("decision", "adjusted_method"):
            self.assertEqual(*(part[key] for part in found))
        for part in (found[0]["overall"], found[1]["overall"], *found[0]["slices"]["t"].values(),
                     *found[1]["slices"]["t"].values()):
            for seeded in ("interval_95", "interval_method", "trial_level_interval_95", "trial_level_method"):
                part.pop(seeded, None)
        for key in ("overall", "slices"):
            self.assertEqual(*(part[key] for part in found))

    def test_nothing_is_drawn_beyond_five_thousand_trials(self):
        self.assertEqual(figures.MOST_DRAWN, 5000)
        self.enterContext(mock.patch.object(figures, "MOST_DRAWN", 300))
        for cases, drawn in ((60, True), (61, False)):
            log = self.rows(*(
                (config, f"c{i}", seed, (i * seed + (config == "new")) % 3 % 2, {"tags": {"t": "ab"[i % 2]}})
                for config in ("old", "new") for i in range(cases) for seed in range(5)))
            self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
            found = read_json(self.path("c.json"))
            for part in (found["overall"], *found["slices"]["t"].values()):
                self.assertEqual(part["interval_method"].startswith("sampled"), drawn)
                self.assertEqual(part["interval_method"] == part["exact_method"], not drawn)
                for seeded, exact in zip(part["interval_95"], part["exact_interval_95"]):
                    self.assertAlmostEqual(seeded, exact, delta=0.02 * drawn)
            self.assertEqual(found["overall"]["trial_level_method"].startswith("sampled"), drawn)
            low, high = found["overall"]["trial_level_interval_95"]
            self.assertTrue(low < found["overall"]["difference"] < high)

    def test_a_case_of_one_side_pairs_no_trials(self):
        log = self.rows(("old", "a", 0, 1, {}), ("old", "b", 0, 1, {}), ("new", "a", 0, 1, {}))
        self.command("old", "new", "--trials", log, "--missing", "zero", "--out", self.path("c.json"))
        self.assertEqual(read_json(self.path("c.json"))["trial_pairs_reason"], "case 'b' is on one side only")

    def test_an_input_is_never_written_over(self):
        log = self.simple_log()
        with open(log, "rb") as file:
            before = file.read()
        for flag in ("--out", "--markdown", "--html"):
            for given in (log, f"baseline={log}"):
                status, _, stderr = self.command("old", "new", "--trials", given, "--trials", log, flag, log)
                self.assertEqual(status, 1)
                self.assertIn("it is read as well", stderr)
        with open(log, "rb") as file:
            self.assertEqual(file.read(), before)
        kept = self.path("kept.json")
        shutil.copy(os.path.join(HERE, "runs", "comparison.json"), kept)  # which a comparison may replace
        status, _, stderr = self.command("v1", "v2", "--cases", "cases.json", "--recorded-with", kept, "--out", kept)
        self.assertEqual((status, "it is read as well" in stderr), (1, True), stderr)

    def test_logs_give_what_their_run_records_give_and_a_check_says_so(self):
        logs = [here("recorded", f"qwen-coder-v{number}.jsonl") for number in (1, 2)]
        cases, saved = ("--cases", here("cases-robustness.json")), here("runs", "comparison.json")
        before = sorted(os.listdir(self.folder))
        for sides in (logs, [logs[0], here("runs", "qwen-coder-v2.json")]):
            self.assertEqual(self.command(*sides, *cases, "--check", saved), (
                0, f"{saved}: the same\n", "verdict: undecided; by source -0.0923 to +0.1556 (9 sources)\n"))
        status, stdout, stderr = self.command(*logs[::-1], *cases, "--check", saved)
        self.assertEqual((status, stdout), (1, ""))
        self.assertIn('differ in baseline.version: "v1" and "v2"', stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        for other in ("old", f"{logs[0]},{logs[1]}", f"{logs[0]},{logs[0]}", f"{logs[0]},"):
            self.assertEqual(self.command(other, logs[1], *cases, "--check", saved)[:2], (1, ""))

    def test_logs_of_shards_are_joined(self):
        cases = here("cases-robustness.json")
        whole = harness.read_log(here("recorded", "qwen-coder-v1.jsonl"))
        parts = []
        for k in (1, 2):
            head = whole.header | {"shard": f"{k}/2"}
            body = "".join(json.dumps(value) + "\n" for value in (head, *whole.rows[k - 1::2]))
            end = {"type": "end", "trials": 110, "sha256": hashlib.sha256(body.encode()).hexdigest()}
            parts.append(self.save(f"part{k},of 2.jsonl", body + json.dumps(end) + "\n"))
        one, other = parts
        plain = [self.path("a.jsonl"), self.path("b.jsonl")]
        for part, path in zip(parts, plain):
            os.symlink(part, path)
        found = [self.command(side, here("runs", "qwen-coder-v2.json"), "--cases", cases, "--json")
                 for side in (here("runs", "qwen-coder-v1.json"), ",".join(plain), ",".join(plain[::-1]))]
        shared = [{key: value for key, value in json.loads(stdout).items() if key != "logs"} for _, stdout, _ in found]
        self.assertEqual([status for status, _, _ in found], [0, 0, 0])
        self.assertEqual((shared[1], shared[2]), (shared[0], shared[0]))
        status, _, stderr = self.command(one, other, "--cases", cases)  # a name with a comma is a name, and half a run
        self.assertEqual(status, 1)
        self.assertIn("is missing", stderr)

    def test_a_check_of_trial_logs_takes_the_options_from_the_file(self):
        log, saved = self.simple_log(), self.path("c.json")
        options = ("--margin", "0.2", "--gate", "better", "--score-range", "0", "2", "--missing", "drop", "--seed", "7",
                   "--plan", "0.1", "--ignore-input", "--min-gain", "0.05")
        self.assertEqual(self.command("old", "new", "--trials", log, *options, "--out", saved)[0], 0)
        with open(saved, "rb") as file:
            before = file.read()
        status, out, err = self.command("old", "new", "--trials", log, "--check", saved)
        self.assertEqual((status, out), (0, f"{saved}: the same\n"))
        self.assertIn("note: its author gave --min-gain 0.05 --margin 0.2 --plan 0.1 --missing drop --seed 7 "
                      "--score-range 0 2 --ignore-input\n", err)
        for more in (("--seed", "20261020"), ("--margin", "0"), ("--skip-broken-lines",), ("--out", "x"),
                     ("--html", "x"), ("--markdown", "x"), ("--json",), ("--table",), ("--gate", "better"),
                     ("--tag", "t")):
            self.assertEqual(self.command("old", "new", "--trials", log, "--check", saved, *more)[0], 2, more)
        changed = json.loads(before)
        changed["options"]["surplus"] = 1
        odd = self.save("odd.json", json.dumps(changed))
        self.assertIn("surplus 1 is no option", self.command("old", "new", "--trials", log, "--check", odd)[2])
        self.simple_log(gain=False)
        self.assertIn("differ in ", self.command("old", "new", "--trials", log, "--check", saved)[2])
        with open(saved, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_a_check_says_whether_the_gate_was_met_and_its_status_only_whether_all_is_the_same(self):
        for gain, met in ((True, "gate: better, met\n"), (False, "gate: better, not met: ")):
            log, saved = self.simple_log(gain), self.path(f"{gain}.json")
            _, _, said = self.command("old", "new", "--trials", log, "--gate", "better", "--out", saved)
            status, _, stderr = self.command("old", "new", "--trials", log, "--check", saved)
            self.assertEqual((status, stderr.splitlines()), (0, said.splitlines()[:2]))
            self.assertIn(met, stderr)

    def test_a_check_names_the_first_key_that_differs_and_refuses_what_it_cannot_compare(self):
        log, saved = self.simple_log(), self.path("c.json")
        self.command("old", "new", "--trials", log, "--out", saved)
        good = read_json(saved)
        self.save("c.json", json.dumps(good | {"tool_version": "9"}))
        self.assertEqual(self.command("old", "new", "--trials", log, "--check", saved)[0], 0)
        overall, cases = good["overall"], good["cases"]
        for changed, says in (
                ({"overall": overall | {"difference": 0.5}}, "overall.difference: 0.5 and 1.0"),
                ({"overall": overall | {"better": True}}, "overall.better: true and 8"),
                ({"cases": cases[:1] + [cases[1] | {"baseline": 1.0}] + cases[2:]}, "cases[1].baseline: 1.0 and 0.0"),
                ({"cases": cases[:-1]}, 'cases[7]: nothing and {"case_id": '), ({"cases": []}, "cases[0]: nothing and"),
                ({"zzz": "\x1b[31m"}, 'zzz: "\\u001b[31m" and nothing'), ({"task": {}}, "task: {} and null"),
                ({"comparison_version": "1"}, "comparison_version '1', and this tool makes"),
                ({"comparison_version": ["2"]}, "comparison_version ['2']"),
                ({"options": None}, "options: "), ({"options": {"gate": "good"}}, "gate 'good' is no option"),
                ({"options": {"margin": 5}}, "margin 5 is no option"), ({"options": {"new": "x"}}, "new 'x' is no"),
                ({"options": {"seed": "x"}}, "options: "), ({"options": {"tags": [1]}}, "tags [1] is no option"),
                ({"options": {"score_range": ["0"]}}, "options: "), ({"options": {"look": "9/2"}}, "--look 9/2")):
            self.save("c.json", json.dumps(good | changed))
            status, stdout, stderr = self.command("old", "new", "--trials", log, "--check", saved)
            with self.subTest(changed):
                self.assertEqual((status, stdout, stderr.count("\n")), (1, "", 1), stderr)
                self.assertIn(says, stderr)
                self.assertIn(saved, stderr)
        for path in (log, here("cases-robustness.json"), self.path("none")):
            self.assertEqual(self.command("old", "new", "--trials", log, "--check", path)[0], 1)

    def test_check_refuses_options_that_runs_do_not_have(self):
        names = [here("runs", f"qwen-coder-{name}.json") for name in ("v1", "v2")]
        cases, saved = here("cases-robustness.json"), self.path("c.json")
        pair = trials.from_records(map(harness.read_record, names), harness.load_cases(cases))
        for given in ({"score_range": ["0", "10"], "margin": "5", "gate": "not-worse"}, {"skip_broken_lines": True},
                      {"missing": "zero"}, {"ignore_input": True}):
            self.save("c.json", compare.format_json(figures.compare_pair(pair, options.parse_options(given))))
            status, stdout, stderr = self.command(*names, "--cases", cases, "--check", saved)
            self.assertEqual((status, stdout), (1, ""))
            self.assertIn(" does not go with --cases; make it again", stderr)

    def test_a_run_record_may_come_through_a_pipe(self):
        names = [here("runs", f"qwen-coder-{name}.json") for name in ("v1", "v2")]
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        with open(names[0], "rb") as file:
            content = file.read()

        def write():
            with open(pipe, "wb") as file:
                file.write(content)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        status, stdout, stderr = self.command(pipe, names[1], "--cases", here("cases-robustness.json"))
        writer.join(10)
        self.assertEqual((status, stdout[:19]), (0, "difference +0.0318 "), stderr)

    def test_rows_that_were_broken_cannot_pass_a_gate(self):
        log = self.rows(*((config, f"c{i}", seed, 1, {"cluster": f"s{i}"})
                          for config in ("old", "new") for i in range(40) for seed in range(5)))
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        lines = [line[:-9] if '"new"' in line and '"seed": 4' in line else line for line in lines]
        self.save("trials.jsonl", "\n".join(lines) + "\n")
        argv = ("old", "new", "--trials", log, "--margin", "0.1", "--gate", "not-worse", "--skip-broken-lines")
        for more in ((), ("--missing", "drop"), ("--missing", "zero")):
            self.assertEqual(self.command(*argv, *more)[0], 4, more)

    def test_ends_in_reasons_have_the_places_of_the_score_range(self):
        log = self.rows(*((config, f"c{i}", 0, 0.005 + 0.000123 * (config == "new") * (-1) ** i * (i % 4), {})
                          for config in ("old", "new") for i in range(12)))
        _, _, stderr = self.command("old", "new", "--trials", log, "--score-range", "0", "0.01", "--gate", "better")
        ends = re.findall(r"by case[, ]+([-+]0\.\d{6}) to ([-+]0\.\d{6})", stderr)
        self.assertEqual(len(ends), 2, stderr)
        self.assertEqual(*ends)

    def test_earlier_outputs_are_replaced_and_other_files_are_not(self):
        log, outputs = self.simple_log(), (("--out", "c.json"), ("--html", "c.html"), ("--markdown", "c.md"))
        argv = ("old", "new", "--trials", log, *(part for flag, name in outputs for part in (flag, self.path(name))))
        for _ in range(2):
            self.assertEqual(self.command(*argv)[0], 0)
        for flag, name in outputs:
            for other in ("c.json", "c.html", "c.md", "cases-robustness.json", "README.md"):
                path = here(other) if other not in dict(outputs).values() else self.path(other)
                with open(path, "rb") as file:
                    before = file.read()
                if other != name:
                    status, _, stderr = self.command("old", "new", "--trials", log, flag, path)
                    self.assertEqual(status, 1)
                    self.assertIn(f"cannot write {path}: it is ", stderr)
                    with open(path, "rb") as file:
                        self.assertEqual(file.read(), before)
            self.assertEqual(self.command("old", "new", "--trials", log, flag, "")[0], 1)
        both = ("--out", self.path("x"), "--html", self.path("x"))
        self.assertEqual(self.command("old", "new", "--trials", log, *both)[0], 1)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_missing_folder_is_told_before_any_work(self):
        out = self.path("none/c.json")
        status, stdout, stderr = self.command("old", "new", "--trials", "no-such-log", "--out", out)
        self.assertEqual((status, stdout), (1, ""))
        self.assertIn("there is no folder", stderr)

    def test_files_of_another_kind_are_named_for_what_they_are(self):
        cases, run_v1 = here("cases-robustness.json"), here("runs", "qwen-coder-v1.json")
        for argv, words in (
                ((here("runs", "comparison.json"), run_v1, "--cases", cases), "is a comparison, not a run record"),
                ((run_v1, run_v1, "--cases", run_v1), "is a run record, not a case set"),
                ((run_v1, run_v1, "--cases", here("recorded", "qwen-coder-v1.jsonl")), "is a log, not a case set"),
                ((run_v1, cases, "--cases", cases), "is a case set, not a run record")):
            status, stdout, stderr = self.command(*argv)
            self.assertEqual((status, stdout), (1, ""))
            self.assertIn(words, stderr)
            self.assertEqual(stderr.count("\n"), 1)

    def test_a_file_per_side_may_hold_the_same_config(self):
        before = self.save("before.jsonl", '{"task_id": "a", "seed": 1, "config": "m", "score": 0}\n')
        after = self.save("after.jsonl", '{"task_id": "a", "seed": 1, "config": "m", "score": 0.5}\n')
        status, stdout, _ = self.command("m", "m", "--trials", f"baseline={before}", "--trials", f"candidate={after}")
        self.assertEqual(status, 0)
        self.assertIn("difference +0.5000", stdout)

    def test_free_floats_have_all_intervals_too(self):
        rng = random.Random(1)
        for draw in (lambda: rng.randrange(11) / 10, rng.random):
            log = self.rows(*((config, i, 0, draw(), {}) for config in ("old", "new") for i in range(8)))
            self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
            overall = read_json(self.path("c.json"))["overall"]
            for low, high in (overall["exact_interval_95"], overall["source_cluster_interval_95"],
                              overall["source_sign_flip"]["interval_95"]):
                self.assertLess(low, high)

    def test_a_slice_whose_differences_share_a_factor_is_what_it_is_alone(self):
        # In slice a every case moves by an even number of the four trials, over all by any number.
        passes = {f"c{i}": (i % 3, i % 3 + (2 * (i % 4 // 2) if i % 2 else i % 2 + i % 3 % 2)) for i in range(24)}
        tags = {case_id: {"kind": "a" if int(case_id[1:]) % 2 else "b"} for case_id in passes}
        sides = [{case_id: [int(trial < counts[side]) for trial in range(4)] for case_id, counts in passes.items()}
                 for side in (0, 1)]
        alone = {case_id: row for case_id, row in tags.items() if row["kind"] == "a"}
        together, apart = (compare.compare(*(run(cases, {case_id: side[case_id] for case_id in tags_of})
                                             for side in sides), cases)
                           for tags_of in (tags, alone) for cases in [case_set(tags_of)])
        for key in ("difference", "exact_interval_95", "source_sign_flip", "better", "worse", "same"):
            self.assertEqual(together["slices"]["kind"]["a"][key], apart["overall"][key], key)
        self.assertNotEqual(apart["overall"]["difference"], 0)

    def test_few_cases_are_fewer_than_ten(self):
        tags = {f"c{i}": {"kind": "a" if i < 9 else "b"} for i in range(19)}
        cases = case_set(tags)
        outcomes = {case_id: [1] for case_id in tags}
        found = compare.compare(run(cases, outcomes), run(cases, outcomes), cases)["slices"]["kind"]
        self.assertEqual([found[kind]["few_cases"] for kind in "ab"], [True, False])

    def compared(self, log, *options):
        """Return (status, stderr, comparison) of old against new."""
        status, _, stderr = self.command("old", "new", "--trials", log, "--out", self.path("c.json"), *options)
        return status, stderr, read_json(self.path("c.json"))

    def test_rounding_noise_of_binary_floats_is_no_difference(self):
        log = self.rows(*((config, f"c{i}", 0, 0.3 if config == "old" or i % 2 else 0.1 + 0.2, {"cluster": f"s{i}"})
                          for config in ("old", "new") for i in range(12)))
        _, _, found = self.compared(log)
        self.assertEqual((found["overall"]["same"], found["decision"]["claims"]), (12, []))

    def test_order_of_rows_decides_no_figure_and_swapping_sides_mirrors_the_seeded_interval(self):
        rng = random.Random(4)
        rows = [(config, f"c{i}", seed, rng.randint(0, 1), {"cluster": f"s{i % 7}"})
                for config in ("old", "new") for i in range(30) for seed in range(3)]
        _, _, first = self.compared(self.rows(*rows))
        rng.shuffle(rows)
        _, _, again = self.compared(self.rows(*rows))
        for found in (first, again):
            del found["logs"]                              # another order, another file
        self.assertEqual(first, again)
        self.command("new", "old", "--trials", self.rows(*rows), "--out", self.path("c.json"))
        low, high = read_json(self.path("c.json"))["overall"]["interval_95"]
        self.assertEqual(first["overall"]["interval_95"], [-high, -low])

    def test_no_claim_holds_on_survivors_alone(self):
        rows = [(config, f"c{i}", 0, None if config == "new" and i >= 40 else 1, {"cluster": f"s{i}"}
                 | ({"error": "Timeout"} if config == "new" and i >= 40 else {}))
                for config in ("old", "new") for i in range(60)]
        for policy in ("drop", "zero"):
            gate = "--missing", policy, "--margin", "0.1", "--gate", "not-worse"
            status, stderr, found = self.compared(self.rows(*rows), *gate)
            self.assertEqual((status, found["decision"]["claims"]), (4, []))
            self.assertLess(found["decision"]["interval_with_missing_filled"][0], -0.2)
            if policy == "drop":
                self.assertEqual(found["decision"]["interval"], [0, 0])
                self.assertIn("it does not hold if what is missing is graded against it", stderr)
        # Whole cases that the candidate lacks are survivors' gaps, too; those that the baseline lacks are not.
        lacking = [row for row in rows if row[3] is not None]
        status, _, _ = self.compared(self.rows(*lacking), "--missing", "drop", "--margin", "0.1", "--gate", "not-worse")
        self.assertEqual(status, 4)
        mirrored = [({"old": "new", "new": "old"}[config], *rest) for config, *rest in lacking]
        status, _, found = self.compared(self.rows(*mirrored), "--missing", "zero", "--margin", "0.1", "--gate",
                                         "not-worse")
        self.assertEqual((status, len(found["excluded"]), found["overall"]["difference"]), (0, 20, 0))

    def test_nothing_moved_on_six_sources_is_undecided_and_says_why(self):
        log = self.rows(*((config, f"c{i}", 0, 1, {"cluster": f"s{i}"}) for config in ("old", "new") for i in range(6)))
        status, stderr, found = self.compared(log, "--margin", "0.001", "--gate", "equivalent")
        self.assertEqual((status, found["decision"]["verdict"]), (4, "undecided"))
        self.assertRegex(stderr, r"one more source that fails completely would put the loss at 0\.\d+, beyond the "
                                 r"margin of 0\.001; about \d+ sources would settle it")

    def test_a_slice_that_collapses_is_told_for_these_cases_beside_new_ones(self):
        rng = random.Random(5)
        log = self.rows(*(
            (config, f"c{g}-{i}", seed, int(config == "old") if g < 6 else int(rng.random() < 0.7),
             {"cluster": f"s{g}", "tags": {"topic": f"t{g // 6}"}})
            for config in ("old", "new") for g in range(24) for i in range(6) for seed in range(5)))
        _, _, found = self.compared(log)
        part = found["slices"]["topic"]["t0"]
        self.assertEqual((part["these_cases"]["pairs"], part["these_cases"]["disagree"]), (180, 180))
        self.assertLess(part["these_cases"]["adjusted_p_value"], 1e-50)
        self.assertGreater(part["adjusted_p_value"], 0.02)     # of 6 sources: 2 of 64 sign patterns at least
        self.assertGreater(found["slices"]["topic"]["t1"]["these_cases"]["adjusted_p_value"], 0.01)

    def test_one_system_under_other_seeds_reads_nowhere_as_a_loss(self):
        rows = read_json(here("tests", "data", "same-system-other-seeds.json"))["cases"]
        log = self.rows(*((config, case_id, 1001 + t, int(passed), {"cluster": row["source"], "tags": {
            tag: row[tag] for tag in ("language", "variant")}}) for config, seeds in (("old", "seeds1to5"), (
                "new", "seeds6to10")) for case_id, row in rows.items() for t, passed in enumerate(row[seeds])))
        status, stdout, stderr = self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
        found = read_json(self.path("c.json"))
        self.assertLess(found["overall"]["interval_95"][1], 0)         # the contract's first line, and its keys
        self.assertEqual(found["decision"]["claims"], [])
        self.assertTrue(found["shared_luck"]["withheld"])
        self.assertGreater(found["shared_luck"]["ratio"], 4)
        parts = [found["overall"], *(part for values in found["slices"].values() for part in values.values())]
        self.assertEqual({part["these_cases"]["p_value"] for part in parts}, {None})
        self.assertEqual({part["these_cases"]["interval_95"] and 1 for part in parts}, {None})
        codes = [warning["code"] for warning in found["warnings"]]
        self.assertIn("shared_luck", codes)
        self.assertFalse({"intervals_disagree", "many_slices"} & {*codes})
        self.assertRegex(stderr, r"^verdict: undecided; ")

    def test_thirds_add_up_to_what_they_are(self):
        rows = [(config, f"c{i}", seed, score, {}) for i in range(10) for config, scores in (
            ("old", (1 / 3, 2 / 3, 0)), ("new", (1 / 3, 1 / 3, 1 / 3))) for seed, score in enumerate(scores)]
        _, stderr, found = self.compared(self.rows(*rows))
        self.assertEqual((found["overall"]["same"], found["decision"]["verdict"]), (10, "undecided"))

    def test_a_limit_is_read_as_scores_are(self):
        rows = [(config, f"c{i}", 0, score, {}) for i in range(12) for config, score in (("old", 0), ("new", 1 / 3))]
        status, _, found = self.compared(self.rows(*rows), "--min-gain", "0.333333333", "--gate", "better")
        self.assertEqual((status, found["decision"]["verdict"]), (4, "undecided"))
        wide = [(config, f"c{i}", 0, score, {}) for i in range(12) for config, score in (("old", 0), ("new", 0.012))]
        self.assertEqual(self.compared(self.rows(*wide), "--score-range", "0", "1000000", "--min-gain", "0.012",
                                       "--gate", "better")[0], 4)

    def test_a_margin_smaller_than_the_digits_of_scores_is_kept(self):
        self.assertEqual(options.parse_options({"margin": "1e-10"}).limits.margin, Fraction(1, 10**10))

    def test_must_pass_is_a_gate_and_names_what_failed(self):
        rows = [(config, f"c{i}", seed, int(i != 3 or config == "old" or seed > 0), {
            "cluster": f"s{i}", "tags": {"kind": "safety" if i < 5 else "other"}})
            for config in ("old", "new") for i in range(10) for seed in range(3)]
        status, stderr, found = self.compared(self.rows(*rows), "--must-pass", "kind=safety")
        self.assertEqual((status, found["decision"]["gate"], found["decision"]["gate_met"]), (3, None, False))
        self.assertEqual(found["must_pass"], [{"tag": "kind", "value": "safety", "cases": 5, "failed": [
            {"case_id": "c3", "passed": 2, "trials": 3}]}])
        self.assertIn("gate: must pass, not met: cases that must pass and do not: c3\n", stderr)
        status, stderr, _ = self.compared(self.rows(*rows), "--must-pass", "kind=other")
        self.assertEqual(status, 0)
        self.assertIn("gate: must pass, met\n", stderr)
        # A gate that cannot tell is 4, with a case that must pass and does not 3.
        for slices, status in (("other", 4), ("safety", 3)):
            found, stderr, _ = self.compared(self.rows(*rows), "--must-pass", f"kind={slices}", "--gate", "better")
            self.assertEqual(found, status)
            self.assertIn("gate: better and must pass, not met", stderr)
        self.assertEqual(self.compared(self.rows(*rows), "--must-pass", "source=s3")[0], 3)
        status, stdout, stderr = self.command("old", "new", "--trials", self.rows(*rows), "--must-pass", "kind=safe")
        self.assertEqual((status, stdout), (1, ""))
        self.assertIn("kind=safe: no case has this tag value", stderr)

    def test_must_pass_cannot_tell_where_only_trials_without_a_score_do_not_pass(self):
        for score, status in ((None, 4), (0, 3)):
            lost = [("new", "c3", 0, score, {"error": "timeout"} if score is None else {})]
            rest = [(config, f"c{i}", seed, 1, {"tags": {"kind": "safety" if i < 4 else "other"}})
                    for config in ("old", "new") for i in range(8) for seed in range(3)
                    if (config, i, seed) != ("new", 3, 0)]
            found, stderr, _ = self.compared(self.rows(*rest, *lost), "--must-pass", "kind=safety", "--missing", "drop")
            self.assertEqual(found, status)
            self.assertEqual("the data cannot tell" in stderr, status == 4)

    def test_scores_pass_or_fail_only_where_these_are_the_ends_of_the_range(self):
        log = self.rows(*((config, f"c{i}", seed, i % 2, {}) for config in ("old", "new") for i in range(8)
                          for seed in range(2)))
        self.assertEqual(self.compared(log)[2]["trial_pairs"]["both_pass"], 8)
        found = self.compared(log, "--score-range", "0", "10")[2]
        self.assertEqual((found["trial_pairs"], found["trial_pairs_reason"]), (None, "scores are not pass or fail"))
        self.assertEqual(found["consistency"]["baseline"]["never"], 8)

    def test_looks_and_candidates_stand_in_the_decision_and_widen_it(self):
        log = self.rows(*((config, f"c{i}", 0, int(config == "new" and i < 9), {"cluster": f"s{i}"})
                          for config in ("old", "new") for i in range(24)))
        _, _, once = self.compared(log)
        _, _, found = self.compared(log, "--look", "1/5")
        self.assertEqual((found["decision"]["look"], found["decision"]["sources_for_level"]), ("1/5", 19))
        self.assertLess(found["decision"]["interval"][0], once["decision"]["interval"][0])
        self.assertEqual((once["decision"]["claims"], found["decision"]["claims"]), (["better"], []))
        _, stderr, found = self.compared(log, "--look", "1/5", "--among", "100")
        self.assertEqual((found["decision"]["among"], found["decision"]["interval"]), (100, None))
        self.assertIn("a claim takes at least 26 sources, not 24", stderr)
        for declared, told in (((), "24 sources)"), (("--look", "1/5"), "24 sources; look 1/5)"),
                               (("--among", "3"), "24 sources; among 3)"),
                               (("--look", "2/2", "--among", "3"), "24 sources; look 2/2, among 3)")):
            verdict = self.compared(log, *declared)[1].split("\n")[0]
            self.assertRegex(verdict, rf"^verdict: [a-z]+; by source [^(;]* \({re.escape(told)}")
        self.assertIn("too few for the interval that decides; record at least 26 sources", stderr)

    def test_digits_follow_the_score_range(self):
        log = self.rows(*((config, f"c{i}", 0, 0.001 + 0.000012 * (config == "old") * (1 + i % 3), {"cluster": f"s{i}"})
                          for config in ("old", "new") for i in range(12)))
        status, stdout, stderr = self.command("old", "new", "--trials", log, "--score-range", "0", "0.01", "--out",
                                              self.path("c.json"))
        self.assertIn("difference -0.000024 (95% interval -0.0000", stdout)
        self.assertIn("verdict: worse; by source -0.0000", stderr)
        self.assertEqual(read_json(self.path("c.json"))["overall"]["difference"], -0.000024)

    def test_latency_under_another_load_has_no_interval(self):
        cases = case_set({f"c{i}": {"source": f"s{i}"} for i in range(8)})
        records = [run(cases, {case_id: [1, 0] for case_id in (f"c{i}" for i in range(8))}) for _ in range(2)]
        for record, seconds in zip(records, (1, 2)):
            record["manifest"]["system"]["model"] = "m@12"
            for row in record["results"]:
                row |= {"elapsed_s": seconds + row["trial"] / 10, "metadata": {
                    "eval_count": 10, "eval_duration": seconds * 10 ** 9, "prompt_eval_count": 5}}
        found = compare.compare(*records, cases)
        self.assertIsNone(found["measures"]["latency_s"]["interval_95"])
        self.assertIn("0.1 s a token in one run and 0.2 s in the other", found["measures"]["latency_s"]["reason"])
        self.assertIn("other_load", [warning["code"] for warning in found["warnings"]])
        self.assertEqual(found["measures"]["tokens"]["interval_95"], [0, 0])
        records[1]["manifest"]["system"]["model"] = "n@34"             # other weights may take another time
        self.assertIsNotNone(compare.compare(*records, cases)["measures"]["latency_s"]["interval_95"])
        for record, workers in zip(records, (1, 4)):
            record["manifest"]["workers"] = workers
        self.assertIn("1 and 4 workers", compare.compare(*records, cases)["measures"]["latency_s"]["reason"])

    def test_costs_far_below_a_cent_are_no_zeros(self):
        log = self.rows(*((config, f"c{i}", 0, 1, {"cluster": f"s{i}", "cost_usd": (2 + i) * 1e-7 * (1 + (
            config == "new"))}) for config in ("old", "new") for i in range(5)))
        _, _, found = self.compared(log)
        cost = found["measures"]["cost_usd"]
        self.assertEqual((cost["baseline"], cost["candidate"], cost["difference"]), (4e-7, 8e-7, 4e-7))
        # standard error of 2, 3, 4, 5 and 6 1e-7: 0.707e-7; t with 4 degrees of freedom 2.776
        self.assertAlmostEqual(cost["interval_95"][0], 4e-7 - 2.776 * 0.7071e-7, delta=2e-10)

    def test_trials_that_do_not_pair_by_seed_still_compare_by_case(self):
        log = self.rows(("old", "easy", 0, 1, {}), ("old", "hard", 0, 0, {}), ("old", "hard", 1, 0, {}),
                        ("new", "easy", 5, 1, {}), *(("new", "hard", seed, 0, {}) for seed in range(5)))
        status, _, _ = self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
        found = read_json(self.path("c.json"))
        self.assertEqual((status, found["overall"]["difference"]), (0, 0.0))  # pooled trials would say -0.1667
        self.assertIsNone(found["trial_pairs"])
        self.assertIn("seeds", found["trial_pairs_reason"])
        self.assertIsNone(found["overall"]["trial_level_interval_95"])
        self.assertEqual([row["case_id"] for row in found["uneven_trials"]], ["hard"])

    def test_missing_policies(self):
        log = self.rows(*(("old", case, 0, 1, {}) for case in "abc"), ("new", "a", 0, 1, {}),
                        ("new", "b", 0, 0, {"error": "rate limit"}))
        status, _, stderr = self.command("old", "new", "--trials", log)
        self.assertEqual(status, 1)
        for words in ("candidate 'new'", "lacks 1 of 3 cases (c)", "b seed 0: rate limit", "--missing"):
            self.assertIn(words, stderr)
        for policy, cases, difference in (("drop", 1, 0.0), ("zero", 3, -0.6667)):
            status, stdout, _ = self.command("old", "new", "--trials", log, "--missing", policy, "--json")
            found = json.loads(stdout)
            overall = found["overall"]
            self.assertEqual((status, overall["cases"], overall["difference"]), (0, cases, difference))
            self.assertEqual(found["incomplete"]["difference_bounds"], [-0.6667, 0.0])
        self.assertEqual([], found["excluded"])

    def test_cost_and_latency_are_compared_where_both_sides_have_them(self):
        log = self.rows(*(row for case, before, after in (("a", 1, 2), ("b", 1, 4), ("c", 1, 3)) for row in (
            ("old", case, 0, 1, {"cost_usd": before / 1000, "latency_s": 2}),
            ("new", case, 0, 1, {"cost_usd": after / 1000}))))
        self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
        # differences 1, 3, 2 thousandths: mean 2, standard error 1 / sqrt(3), times t with 2 degrees 4.3027: 2.4841
        self.assertEqual(read_json(self.path("c.json"))["measures"], {"cost_usd": {
            "cases": 3, "baseline": 0.001, "candidate": 0.003, "difference": 0.002,
            "interval_95": [-0.0004841, 0.004484], "reason": None}})

    def test_the_cost_of_one_source_has_no_interval(self):
        log = self.rows(("old", "a", 0, 1, {"cost_usd": 1}), ("new", "a", 0, 1, {"cost_usd": 3}))
        self.command("old", "new", "--trials", log, "--out", self.path("c.json"))
        found = read_json(self.path("c.json"))["measures"]["cost_usd"]
        self.assertEqual((found["difference"], found["interval_95"]), (2.0, None))


def load_tests(loader, tests, pattern):
    import doctest
    tests.addTests(doctest.DocTestSuite(module) for module in (compare, figures, options))
    return tests


if __name__ == "__main__":
    unittest.main()
