"""Do text, Markdown and page say what the comparison says, of whatever version, names and sizes it is?

    $ python3 -m unittest tests.test_report

The comparison here is made up: seven cases of six sources, three trials each, in figures easy to tell apart. Its two
run records are graded by harness.py, so that the page's trials are real ones.
"""

import contextlib
import copy
import doctest
import html
import io
import json
import os
import re
import tempfile
import unittest
from unittest import mock

import compare
from core import files
from core.files import clean
from core import trials
from core.trials import ComparedCase, Pair, Side, Trial
import harness
import report
from views import page, text as text_view, words as wording
from views.text import MARKDOWN_LIMIT, clip, columns, fitting, story_markdown, story_text, terminal_settings
from views.words import KEYS, SIDES, Words, gate_line, scale_of, sheet, whole
from tests.test_harness import HERE, read_json

# (id, source, language, baseline, candidate): 1 pass, 0 fail, None incomplete
CASES = [("late", "late", "en", (1, 1, 1), (1, 1, 1)),
         ("late--es", "late", "es", (0, 0, 1), (1, 1, 1)),
         ("refund", "refund", "en", (1, 1, 1), (1, 0, 1)),
         ("login", "login", "en", (0, None, 0), (1, 1, 0)),
         ("advice", "advice", "en", (0, 0, 0), (0, 0, 0)),
         ("topics", "topics", "en", (1, 0, 1), (1, 1, 1)),
         ("charged", None, "en", (1, 1, 1), (1, 1, 1))]
EXPECTED = {"category": "billing", "needs_human": False}
FLIP = {"interval_95": [-0.0952, 0.4286], "p_value": 0.25, "groups": 6, "method": "exact, 64 sign patterns",
        "reason": None}
FEW = {"interval_95": None, "p_value": 1.0, "groups": 1, "method": "exact, 2 sign patterns",
       "reason": "1 source group can carry no 95% interval; 6 can"}


def case_set_text():
    return json.dumps({"name": "inbox", "version": "1", "cases": [
        {"id": case_id, "split": "dev", "input": {"text": f"Message <{case_id}> & more"}, "expected": EXPECTED,
         "tags": {"language": language, **({"source": source} if source else {})}}
        for case_id, source, language, _, _ in CASES]})


class Scripted:
    """A system that answers as CASES says."""

    name, mode, model, prompt, tools, index = "told", "offline", "small:1b", None, None, None

    def __init__(self, version, column):
        self.version, self.outcomes = version, {row[0]: row[column] for row in CASES}

    def respond(self, case, trial):
        outcome = self.outcomes[case.id][trial - 1]
        if outcome is None:
            raise harness.Incomplete("cut off at <64> tokens", {"reply": '{"category": "bil'})
        return harness.Answer(EXPECTED if outcome else {"category": "delivery", "needs_human": False}, {"tokens": 9})


def write_runs(folder):
    """Write case set, both run records and the comparison into a folder; return their paths in this order."""
    paths = [os.path.join(folder, name) for name in ("cases.json", "v1.json", "v2.json", "comparison.json")]
    files.write("a case set", paths[0], case_set_text())
    case_set, task = harness.load_cases(paths[0]), harness.load_task("triage_task")
    for path, system in zip(paths[1:], (Scripted("v1", 3), Scripted("v2", 4))):
        record = harness.run_offline(system, task, case_set, {
            "splits": ["dev"], "trials": 3, "shard": None, "workers": 1, "started_at": "2026-10-20T10:00:00.000Z"})
        files.write("a run record", path, harness.record_text(record))
    comparison = sample()
    comparison["case_set"] = {"name": case_set.name, "sha256": case_set.sha256}
    comparison["logs"] = {"baseline": [], "candidate": []}
    comparison["task"] = {"name": task.name, "sha256": task.sha256}
    files.write("a comparison", paths[3], json.dumps(comparison))
    return paths


def pair_of_runs():
    with tempfile.TemporaryDirectory() as folder:
        cases, left, right, _ = write_runs(folder)
        return trials.from_records(map(harness.read_record, (left, right)), harness.load_cases(cases))


def sample():
    """Return a comparison of CASES with a figure for every key."""
    system = {"name": "told", "version": "v1", "mode": "offline", "model": "small:1b", "prompt": None, "tools": None,
              "index": None}
    these = {"p_value": 0.125, "interval_95": [0.0123, 0.4639], "pairs": 21, "disagree": 7,
             "method": "exact, 128 sign patterns", "reason": None, "interval_reason": None}
    part = {"cases": 6, "baseline": 0.6111, "candidate": 0.7222, "difference": 0.1111, "interval_95": [-0.1111, 0.3333],
            "better": 2, "worse": 1, "same": 3, "few_cases": True, "source_groups": 6,
            "exact_interval_95": [-0.1111, 0.3889], "exact_method": "exact, grid of 1/3", "source_sign_flip": FLIP,
            "adjusted_p_value": 0.4375, "smallest_adjusted_p_value": 0.0625, "same_cases_as": [],
            "incomplete": {"baseline": 1, "candidate": 0}, "these_cases": these | {"adjusted_p_value": 0.25}}
    return {
        "comparison_version": "2", "options": {"margin": "0.02", "gate": "better", "tags": ["language"]},
        "resamples": 2000, "seed": 20261020,
        "case_set": {"name": "inbox", "sha256": "c" * 64}, "trials": 3,
        "baseline": system, "candidate": system | {"version": "v2"},
        "overall": {
            "cases": 7, "baseline": 0.5714, "candidate": 0.8095, "difference": 0.2381, "interval_95": [-0.0476, 0.4762],
            "better": 3, "worse": 1, "same": 3, "trial_level_interval_95": [0.0476, 0.381], "source_groups": 6,
            "source_cluster_method": "exact over 462 draws", "source_cluster_interval_95": [-0.0556, 0.4444],
            "source_no_gain_share": 0.0417, "exact_interval_95": [-0.0477, 0.4763],
            "exact_method": "exact, grid of 1/3",
            "source_sign_flip": FLIP, "trial_level_reason": None, "these_cases": these},
        "trial_pairs": {"both_pass": 11, "only_baseline": 1, "only_candidate": 6, "neither": 3},
        "trial_pairs_reason": None,
        "slices": {"language": {"en": part, "es": part | {
            "cases": 1, "baseline": 0.3333, "candidate": 1.0, "difference": 0.6667, "source_groups": 1,
            "exact_interval_95": [0.6667, 0.6667], "source_sign_flip": FEW, "adjusted_p_value": None,
            "same_cases_as": ["variant: translation"], "incomplete": {"baseline": 0, "candidate": 0}}}},
        "cases": [{"case_id": "late--es", "baseline": 0.3333, "candidate": 1.0, "source": "late", "difference": 0.6667,
                   "by_chance": 0.4},
                  {"case_id": "refund", "baseline": 1.0, "candidate": 0.6667, "source": "refund", "difference": -0.3333,
                   "by_chance": 1.0},
                  {"case_id": "login", "baseline": 0.0, "candidate": 0.6667, "source": "login", "difference": 0.6667,
                   "by_chance": 0.4001},
                  {"case_id": "topics", "baseline": 0.6667, "candidate": 1.0, "source": "topics", "difference": 0.3333,
                   "by_chance": 1.0}],
        "tool_version": "1.0.0", "task": {"name": "triage_task", "sha256": "a" * 64},
        "logs": {"baseline": [{"name": "v1.jsonl", "sha256": "1" * 64}], "candidate": []},
        "score_range": [0, 1], "missing": "zero", "excluded": [], "uneven_trials": [], "slices_compared": 2,
        "adjusted_method": "exact, 64 sign patterns",
        "sources": [{"source": "late", "cases": 2, "baseline": 0.6667, "candidate": 1.0, "difference": 0.3333},
                    {"source": "refund", "cases": 1, "baseline": 1.0, "candidate": 0.6667, "difference": -0.3333},
                    {"source": "login", "cases": 1, "baseline": 0.0, "candidate": 0.6667, "difference": 0.6667},
                    {"source": "advice", "cases": 1, "baseline": 0.0, "candidate": 0.0, "difference": 0.0},
                    {"source": "topics", "cases": 1, "baseline": 0.6667, "candidate": 1.0, "difference": 0.3333},
                    {"source": None, "case_id": "alone", "cases": 1, "baseline": 1.0, "candidate": 1.0,
                     "difference": 0.0}],
        "decision": {"unit": "source", "groups": 6, "min_gain": 0.05, "margin": 0.02, "look": None, "among": None,
                     "alpha": 0.025, "level": 0.95, "interval": [-0.0952, 0.4286],
                     "interval_method": "exact, 64 sign patterns", "equivalence_level": 0.9,
                     "equivalence_interval": [-0.05, 0.4], "interval_with_one_more": [-0.2381, 0.4286],
                     "equivalence_interval_with_one_more": [-0.2, 0.5], "interval_with_missing_filled": None,
                     "sources_needed": None, "sources_for_level": 6, "claims": [], "verdict": "undecided",
                     "reason": "it is wide", "groups_needed": 21, "groups_needed_for": "better",
                     "gate": "better", "gate_met": False,
                     "gate_contradicted": False, "gate_reason": "it does not lie above 0.05"},
        "shared_luck": {"trials": 3, "paired": True, "ratio": None, "p_value": None, "baseline": None,
                        "candidate": None, "withheld": False, "reason": "one seed for all cases: cannot be checked"},
        "consistency": {"baseline": {"always": 3, "sometimes": 2, "never": 2, "pass_hat_k": [0.5714, 0.4762, 0.4286]},
                        "candidate": {"always": 4, "sometimes": 2, "never": 1, "pass_hat_k": [0.8095, 0.7143, 0.6]},
                        "newly_unsteady": ["refund", "login"], "newly_steady": ["late--es", "topics"], "reason": None},
        "must_pass": [{"tag": "language", "value": "es", "cases": 2,
                       "failed": [{"case_id": "refund", "passed": 2, "trials": 3}]}],
        "changed_by_chance": {"trials_moved": [{"at_least": 1, "observed": 4, "expected": 1.5},
                                               {"at_least": 2, "observed": 2, "expected": 0.25}], "reason": None},
        "noise_floor": {"trials_per_half": 1, "splits": 3, "method": "every split", "mean_difference": 0.0317,
                        "largest_difference": 0.0952, "gate": "better", "gate_tripped_share": 0.1667, "reason": None},
        "variance": {"between_sources": 0.01, "between_cases": 0.002, "sampling": 0.125, "standard_error_case": 0.1201,
                     "standard_error_source": 0.1302, "standard_deviation": 0.3189, "design_effect": 1.1752,
                     "reason": None},
        "half_width": {"now": 0.2619, "twice_cases": 0.1852, "twice_trials": 0.2, "endless_trials": 0.1501,
                       "twice_groups": 0.1853, "reason": None},
        "plan": {"half_width": 0.1, "source_groups": 42, "cases": None, "trials": None,
                 "reason": "trials do not reach it"},
        "detectable_difference": 0.3701,
        "incomplete": {"baseline": {"trials": 1, "reasons": {"Incomplete": 1}},
                       "candidate": {"trials": 0, "reasons": {}},
                       "difference_bounds": [0.1905, 0.2382]},
        "nothing_moved": None,
        "measures": {"latency_s": {"cases": 7, "baseline": 1.5, "candidate": 2.25, "difference": 0.75,
                                   "interval_95": [0.5, 1.0], "reason": None}},
        "warnings": [{"code": "few", "message": "sources: 6, which is few", "advice": "record more of them"}]}


def bare():
    """Return a comparison in which every figure is null."""
    def emptied(value):
        return {key: emptied(inner) for key, inner in value.items()} if isinstance(value, dict) else None

    whole = sample()
    whole["plan"] = None
    return {key: emptied(value) for key, value in whole.items()} | {
        "comparison_version": "2", "trial_pairs": None, "slices": {}, "cases": [], "warnings": [], "excluded": [],
        "uneven_trials": [], "measures": {}}


HOSTILE = ["[net]vpn|wifi|dns", "<b>c</b>\nline2", "`code` ``", "<script>alert(1)</script>", "x" * 300,
           "\u202eevil\u202c", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\ud800lone",
           "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f", "\u65e5\u672c\u8a9e\u306e\u9577\u3044" * 9,
           "e\u0301" * 40, "z\u0301" * 400, "a\\|b\\", "@octocat a/b#3 :smile: $x$", "&lt;&#64;", "\x1b[31mred\x07",
           "]]>--><!--", "' onload='x", '" onclick="x', "- [ ] *x* _y_ ~~z~~", "http://evil.example www.evil.example",
           "\u2028sep\x00nul", "| --- |", "\r\n# head"]


def hostile():
    """Return a comparison and a pair in which every name is hostile."""
    comparison = sample()
    comparison["cases"] = [{"case_id": name, "baseline": 0.5, "candidate": 0.5 + (i % 5 - 2) / 4,
                            "source": HOSTILE[i - i % 2], "difference": (i % 5 - 2) / 4, "by_chance": 0.5}
                           for i, name in enumerate(HOSTILE)]
    part = comparison["slices"]["language"]["en"]
    part = part | {"same_cases_as": HOSTILE[:2]}
    comparison["slices"] = {tag: dict.fromkeys(HOSTILE, part) for tag in HOSTILE[:3]}
    for i, side in enumerate(SIDES):
        comparison[side] = dict.fromkeys(comparison[side], HOSTILE[i + 1])
    comparison["case_set"]["name"] = HOSTILE[1]
    comparison["warnings"] = [{"code": name, "message": name, "advice": name} for name in HOSTILE]
    comparison["incomplete"]["baseline"]["reasons"] = dict.fromkeys(HOSTILE, 1)
    comparison["sources"] = [comparison["sources"][0] | {"source": name} for name in HOSTILE]
    comparison["measures"] = dict.fromkeys(HOSTILE, comparison["measures"]["latency_s"] | {"reason": HOSTILE[3]})
    comparison["consistency"]["newly_steady"] = HOSTILE
    comparison["must_pass"] = [{"tag": name, "value": name, "cases": 1, "failed": [
        {"case_id": name, "passed": 0, "trials": 1}]} for name in HOSTILE]
    for key in ("verdict", "reason", "gate", "gate_reason", "interval_method"):
        comparison["decision"][key] = HOSTILE[3]
    cases = [ComparedCase(name, HOSTILE[i - i % 2], ((name, name),), {"text": name}, name)
             for i, name in enumerate(HOSTILE)]
    sides = [Side({"name": name}, [[Trial(name, None if i % 2 else 0, name if i % 2 else None, name, explanation=name)]
                                   for i, name in enumerate(HOSTILE)], []) for name in HOSTILE[:2]]
    return comparison, Pair(cases, *sides, (0, 1), {}, [])


def many_cases(count, changed_every, trials_of_each=5, asked=None):
    """Return a comparison and a pair of `count` cases, every so many of which changed by a trial."""
    comparison = sample()
    cases = [ComparedCase(f"case-{i}", f"source-{i // 5}", (("half", f"{i % 2}"),),
                          {"text": asked or f"message {i} " * 20}, EXPECTED) for i in range(count)]
    right = Trial(1001, 1, None, '{"category": "billing"}', explanation="category passes")
    before = [right._replace(seed=1001 + t) for t in range(trials_of_each)]
    worse = [right._replace(score=0, output='{"category": "delivery"}'), *before[1:]]
    after = [before if i % changed_every else worse for i in range(count)]
    comparison["cases"] = [
        {"case_id": f"case-{i}", "baseline": 1.0, "candidate": 1 - 1 / trials_of_each, "source": f"source-{i // 5}",
         "difference": -1 / trials_of_each, "by_chance": 1.0} for i in range(0, count, changed_every)]
    return comparison, Pair(cases, Side({}, [before] * count, []), Side({}, after, []), (0, 1), {}, [])


SCRIPT = "<script>alert(1)</script>\x1b[31m"


def forged(value, kind=KEYS):
    """Return a comparison's value with a script in place of every text in it, names of its maps included."""
    if isinstance(kind, dict):
        if "*" in kind:
            return {name: forged(inner, kind["*"]) for key, inner in value.items() for name in (key, SCRIPT + key)}
        return {key: forged(inner, kind[key]) if key in kind and inner is not None else inner
                for key, inner in value.items()}
    if isinstance(kind, list):
        return [forged(inner, kind[0]) for inner in value]
    return SCRIPT if isinstance(value, str) else value


def saved(name):
    return compare.read_comparison(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", name),
                                   report.COMPARISON_VERSIONS)


def text_report(comparison, *settings, **named):
    return story_text(Words(comparison).story(), *settings, **named)


def markdown_report(comparison):
    return story_markdown(Words(comparison).story())


def texts(row):
    return [*row.cells.values()]


def html_report(comparison, pair=None):
    return page.story_html(Words(comparison, pair).story())


class WordsTest(unittest.TestCase):
    def blocks(self, comparison, key):
        blocks = next(blocks for name, _, blocks in Words(comparison).story().sections if name == key)
        return ([block for block in blocks if isinstance(block, str)],
                {block.key: block for block in blocks if isinstance(block, wording.Table)})

    def test_sections_are_in_the_order_in_which_a_person_asks(self):
        self.assertEqual([key for key, _, _ in Words(sample()).story().sections],
                         ["warnings", "change", "questions", "cost", "cases", "slices", "consistency", "next",
                          "contrast", "measured"])

    def test_baseline_is_before_candidate_in_every_table(self):
        for _, _, blocks in Words(sample()).story().sections:
            for block in blocks:
                heads = [head.lstrip("#~") for head in block.rows[0].cells] if isinstance(block, wording.Table) else []
                if "baseline" in heads:
                    self.assertEqual(heads.index("candidate"), heads.index("baseline") + 1, block.key)

    def test_versions_1_and_2_and_the_published_comparison_are_shown_in_every_view(self):
        for comparison in (sample(), saved("comparison-version-1.json"), saved("published-comparison.json"), bare()):
            for text in (text_report(comparison), markdown_report(comparison), html_report(comparison)):
                self.assertNotRegex(text, r"\bNone\b|\bnan\b")
        old = " ".join(text_report(saved("comparison-version-1.json")).split())
        self.assertIn("On new messages like these -0.0923 to +0.1556 0.75", old)
        self.assertIn("On these very cases - -", old)
        published = " ".join(text_report(saved("published-comparison.json")).split())
        self.assertIn("The baseline scores 0.8500, the candidate 0.8864: a difference of +0.0364.", published)

    def test_a_key_that_no_version_knows_is_an_error_and_what_is_missing_is_not(self):
        known = whole({"overall": {"better": 3, "bettter": 4}}, KEYS)
        self.assertEqual((known["overall"]["better"], known["overall"]["worse"], known["cases"]), (3, None, []))
        self.assertIsNone(known["overall"]["source_sign_flip"]["p_value"])
        for path in (("overall", "bettter"), ("noise_flor",), ("decision", "interval_99")):
            with self.assertRaises(KeyError):
                value = known
                for key in path:
                    value = value[key]

    def test_a_value_of_another_kind_is_refused_by_its_place(self):
        for path, value, said in ((("overall", "better"), SCRIPT, "comparison.overall.better is "),
                                  (("score_range",), 1, "comparison.score_range is 1, which cannot be there"),
                                  (("slices",), "x", "comparison.slices is 'x', which cannot be there"),
                                  (("warnings",), {}, "comparison.warnings is {}, which cannot be there"),
                                  (("decision", "gate_met"), 1, "comparison.decision.gate_met is 1, which"),
                                  (("overall", "interval_95"), [0.5, "x"], "comparison.overall.interval_95[1] is 'x',"),
                                  (("trials",), True, "comparison.trials is True, which cannot be there")):
            comparison = sample()
            inner = comparison
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            for view in (text_report, markdown_report, html_report):
                with self.assertRaises(files.RunError) as caught:
                    view(comparison)
                self.assertTrue(str(caught.exception).startswith(said), caught.exception)

    def test_each_verdict_names_the_number_it_is_held_against(self):
        for verdict, words in (("better", "-0.0952 to +0.4286, lies above the gain worth shipping, +0.0500."),
                               ("worse", "-0.0952 to +0.4286, lies below the loss that is tolerated, -0.0200."),
                               ("equivalent", "the 90% interval by source, -0.0500 to +0.4000, lies within 0.0200 of"),
                               ("not worse", "lies above the loss that is tolerated, -0.0200."),
                               ("undecided", "No claim can be made: it is wide. About 21 sources would decide")):
            comparison = sample()
            comparison["decision"] |= {"verdict": verdict, "claims": [verdict, "not worse"]}
            lead = " ".join(Words(comparison).lead())
            self.assertIn(words, lead)
            self.assertIn("On these very cases: 1 worse, 3 better; ", lead)

    def test_gate_and_must_pass_say_why_they_are_not_met(self):
        self.assertEqual(gate_line(sample()),
                         "gate: better and must pass, not met, the data cannot tell: it does not lie above 0.05")
        comparison = sample()
        comparison["decision"] |= {"gate_contradicted": True, "gate": None, "gate_reason": "no <case>"}
        self.assertEqual(gate_line(comparison), "gate: must pass, not met: no <case>")
        comparison["decision"] |= {"gate_contradicted": False, "gate_met": True, "gate_reason": None}
        self.assertEqual(gate_line(comparison), "gate: must pass, met")
        comparison["must_pass"] = None
        comparison["decision"] |= {"gate": None, "gate_met": None}
        self.assertEqual(gate_line(comparison), "")

    def test_the_two_questions_have_an_interval_each_and_the_deciding_one_shows_every_source(self):
        _, tables = self.blocks(sample(), "questions")
        these, new, each = tables["questions"].rows
        self.assertEqual(texts(these), ["On these very cases", "+0.0123 to +0.4639", "0.125"])
        self.assertEqual(these.note, "21 pairs of trials counted, 7 with a difference; exact, 128 sign patterns")
        self.assertEqual(texts(new), ["On new messages like these", "-0.0952 to +0.4286", "0.25"])
        self.assertEqual(texts(each), ["Sources, lowest to highest", "-0.3333 to +0.6667", ""])
        self.assertEqual((new.decides, each.dots), (True, [-0.3333, 0.0, 0.0, 0.3333, 0.3333, 0.6667]))
        self.assertEqual([row.name for row in tables["sources"].rows],
                         ["refund", "advice", "(no source) alone", "late", "topics", "login"])
        self.assertEqual(texts(tables["sources"].rows[0])[1:], ["1", "1.0000", "0.6667", "-0.3333"])

    def test_shared_luck_is_said_once(self):
        for luck, p_value, said in ((None, 0.5, ("p = 0.5.", "")), ("one seed", 0.5, ("p = 0.5 (one seed).", "")),
                                    ("moved together", None, ("", "; moved together"))):
            comparison = sample() | {"shared_luck": {"reason": luck}}
            reason = None if p_value else luck
            comparison["overall"]["these_cases"] |= {"p_value": p_value, "reason": reason, "interval_reason": reason}
            lead = " ".join(Words(comparison).lead())
            note = self.blocks(comparison, "questions")[1]["questions"].rows[0].note
            self.assertIn(said[0], lead)
            self.assertEqual((note.partition("exact, 128 sign patterns")[2], "moved" in lead), (said[1], False))

    def test_trials_that_do_not_pair_are_not_counted_as_pairs(self):
        comparison = sample() | {"shared_luck": None}
        comparison["overall"]["these_cases"] |= {"pairs": None, "disagree": None, "method": "passes dealt at random"}
        self.assertEqual(self.blocks(comparison, "questions")[1]["questions"].rows[0].note, "passes dealt at random")

    def test_without_sources_the_questions_are_of_cases(self):
        comparison = sample()
        comparison["decision"]["unit"], comparison["sources"] = "case", None
        _, tables = self.blocks(comparison, "questions")
        self.assertEqual(tables["questions"].rows[1].name, "On new cases like these")
        self.assertNotIn("sources", tables)

    def test_cost_says_by_how_much_a_hundred(self):
        _, tables = self.blocks(sample(), "cost")
        self.assertEqual(texts(tables["cost"].rows[0]),
                         ["latency, seconds", "1.5", "2.25", "+0.75", "+50%", "+0.5 to +1"])
        self.assertEqual(self.blocks(sample() | {"measures": {}}, "cost")[0],
                         ["No cost, latency or tokens were recorded."])

    def test_worst_slice_comes_first_and_those_of_few_sources_fold(self):
        comparison = sample()
        few, part = comparison["slices"]["language"]["es"], comparison["slices"]["language"]["en"]
        comparison["slices"] = {"a": {f"{i}": part | {"difference": i / 10} for i in (3, -2, 1)},
                                "b": {f"{i}": few for i in range(54)}}
        _, tables = self.blocks(comparison, "slices")
        self.assertEqual([row.name for row in tables["slices"].rows], ["a: -2", "a: 1", "a: 3"])
        said = ("54 slices of fewer than 6 sources, so without an interval, and none with an adjusted p below 0.05 on "
                "these very cases")
        self.assertEqual((tables["slices"].more_caption, len(tables["slices"].more)), (said, 54))
        self.assertIn(f"{said}: b: 0, b: 1,", " ".join(text_report(comparison).split()))

    def test_a_slice_of_few_sources_that_collapsed_is_not_folded_away(self):
        comparison = sample()
        few = comparison["slices"]["language"]["es"]
        collapsed = few | {"difference": -0.9, "these_cases": {"adjusted_p_value": 0.049}}
        comparison["slices"] = {"region": {"a": few, "b": few, "c": few, "d": few, "e": collapsed}}
        sentences, tables = self.blocks(comparison, "slices")
        self.assertEqual([row.name for row in tables["slices"].rows], ["region: e"])
        self.assertEqual(len(tables["slices"].more), 4)
        self.assertNotIn("Adjusted p:", " ".join(sentences), "no row that is shown has one")
        del comparison["slices"]["region"]["e"]
        self.assertNotIn("*:", " ".join(self.blocks(comparison, "slices")[0]), "no row is shown")
        of_version_1 = few | {"source_sign_flip": {}}  # nothing is known of its sources
        comparison["slices"] = {"region": dict.fromkeys("abcdef", of_version_1)}
        self.assertEqual(len(self.blocks(comparison, "slices")[1]["slices"].rows), 6)

    def test_a_slice_that_these_cases_tell_of_is_told_of(self):
        comparison = sample()
        for p_value, told in ((0.04, True), (0.06, False), (None, False)):
            part = comparison["slices"]["language"]["en"]
            part |= {"smallest_adjusted_p_value": 0.03, "few_cases": p_value is None,
                     "these_cases": {"p_value": 0.01, "adjusted_p_value": p_value}}
            row = self.blocks(comparison, "slices")[1]["slices"].rows[0]
            self.assertEqual("on these very cases p is 0.04, adjusted" in row.note, told)
            self.assertEqual(texts(row)[1].endswith("*"), p_value is None)

    def test_a_reason_that_the_gate_says_too_is_said_once(self):
        comparison = sample()
        comparison["decision"] |= {"reason": "it is wide", "gate_reason": "it is wide"}
        self.assertNotIn("No claim can be made", " ".join(Words(comparison).lead()))

    def test_a_slice_that_can_attain_no_small_p_says_what_is_known_of_its_cases(self):
        _, tables = self.blocks(sample(), "slices")
        self.assertIn("its 6 sources cannot give an adjusted p below 0.0625; on these very cases p is 0.25",
                      tables["slices"].rows[0].note)

    def test_intervals_that_claims_of_safety_are_held_against_stand_among_the_others(self):
        comparison = sample()
        comparison["decision"]["interval_with_missing_filled"] = [-0.3, 0.5]
        rows = {row.name: texts(row)[1] for row in self.blocks(comparison, "contrast")[1]["contrast"].rows}
        self.assertEqual(list(rows.items())[4:8], [
            ("With one more source", "-0.2381 to +0.4286"), ("For equivalence", "-0.0500 to +0.4000"),
            ("The same, one more source", "-0.2000 to +0.5000"),
            ("With what is missing filled", "-0.3000 to +0.5000")])
        comparison["decision"] |= dict.fromkeys(
            ("interval_with_one_more", "equivalence_interval", "equivalence_interval_with_one_more",
             "interval_with_missing_filled"))
        comparison["overall"] |= {"trial_level_interval_95": None, "trial_level_reason": "one case"}
        rows = {row.name: row.note for row in self.blocks(comparison, "contrast")[1]["contrast"].rows}
        self.assertEqual(list(rows)[3:], ["By trial", "Noise floor"])
        self.assertEqual(rows["By trial"], "as if every trial were independent; one case")

    def test_noise_floor_says_how_often_it_would_have_misled(self):
        for share, said in ((0.0, "of the 3 splits in which a change is claimed or a gate of safety not met: 0"),
                            (None, "not met: not measured; too few groups")):
            comparison = sample()
            comparison["noise_floor"] |= {"gate_tripped_share": share,
                                          "reason": "too few groups" if share is None else None}
            note = self.blocks(comparison, "contrast")[1]["contrast"].rows[-1].note
            self.assertTrue(note.startswith("the largest difference between two halves of the baseline's own trials"))
            self.assertTrue(note.endswith(said), note)
        comparison["noise_floor"] = {"reason": "a case has a single trial"}
        row = self.blocks(comparison, "contrast")[1]["contrast"].rows[-1]
        self.assertEqual((texts(row)[1], row.note), ("not measured", "a case has a single trial"))

    def test_scores_of_a_hundred_have_four_places_and_of_a_hundredth_six(self):
        comparison = sample() | {"score_range": [0, 100]}
        comparison["overall"]["difference"] = -12.3456
        self.assertIn("a difference of -12.3456.", text_report(comparison))
        comparison = sample() | {"score_range": [0, 0.01]}
        comparison["overall"]["difference"] = 0.000021
        self.assertIn("a difference of +0.000021.", " ".join(text_report(comparison).split()))
        comparison["overall"]["difference"] = -0.0000001
        self.assertIn("a difference of 0.000000.", " ".join(text_report(comparison).split()))

    def test_tiny_chances_keep_their_digits(self):
        comparison = sample()
        comparison["cases"][0]["by_chance"] = 1.234e-05
        self.assertEqual(texts(self.blocks(comparison, "cases")[1]["cases"].rows[2]),
                         ["late--es", "0.3333", "1.0000", "+0.6667", "1.234e-05"])
        comparison["cases"][0]["by_chance"] = None  # in a narrow column
        self.assertEqual(texts(self.blocks(comparison, "cases")[1]["cases"].rows[2])[-1], "-")

    def test_long_lists_within_a_sentence_are_cut_and_counted(self):
        comparison = sample()
        comparison["incomplete"]["baseline"] = {"trials": 5000, "reasons": {f"error-{i}": 1 for i in range(5000)}}
        comparison["slices"]["language"]["en"]["same_cases_as"] = [f"tag: {i}" for i in range(5000)]
        self.assertIn("error-3: 1, error-4: 1 and 4995 more).", " ".join(self.blocks(comparison, "questions")[0]))
        self.assertIn("tag: 3, tag: 4 and 4995 more", self.blocks(comparison, "slices")[1]["slices"].rows[0].note)

    def test_of_many_sources_and_cases_the_worst_and_the_best_are_made_and_the_rest_counted(self):
        comparison, _ = many_cases(1300, 1)
        comparison["sources"] = [comparison["sources"][0] | {"source": f"s{i}", "difference": i / 4000}
                                 for i in range(1300)]
        sources = self.blocks(comparison, "questions")[1]["sources"]
        self.assertEqual((sources.more_caption, len(sources.rows), len(sources.more)), ("1280 more sources", 20, 1280))
        self.assertIn("s23, s24 and 1275 more.", " ".join(text_report(comparison).split()))
        self.assertIn("(1262 rows left out)", text_report(comparison))
        self.assertIn("(302 rows left out)", html_report(comparison))
        self.assertIn("(282 rows left out)", html_report(comparison))

    def test_rows_left_out_stand_between_the_first_and_the_last(self):
        rows = [wording.TableRow({"Name": f"{i}", "#p": "x"}) for i in range(10)]
        self.assertEqual(wording.shortened(rows, 10), rows)
        for limit, names in ((9, ["0", "1", "2", "3", "(2 rows left out)", "6", "7", "8", "9"]),
                             (5, ["0", "1", "(6 rows left out)", "8", "9"])):
            self.assertEqual([row.name for row in wording.shortened(rows, limit)], names)

    def test_one_of_anything_is_said_in_the_singular(self):
        comparison = sample()
        comparison["overall"] |= {"cases": 1, "source_groups": 1}
        comparison["trials"] = 1
        story = Words(comparison).story()
        self.assertEqual(story.subject, "1 case of inbox, 1 source, 1 trial a case")
        self.assertNotRegex(text_report(comparison), r"\b1 (cases|sources|trials|pairs|slices)\b|All 1 ")

    def test_a_plan_says_trials_a_case(self):
        comparison = sample()
        for count, words in ((31, "or 31 trials a case"), (1, "or 1 trial a case")):
            comparison["plan"] |= {"source_groups": 42, "trials": count}
            self.assertIn(f"takes 42 sources {words}", " ".join(map(str, Words(comparison).plans())))

    def test_a_sheet_says_nothing_of_steadiness_where_nothing_is_known_and_counts_warnings(self):
        comparison = sample()
        comparison["consistency"]["reason"] = "a case has a single trial"
        comparison["warnings"] = comparison["warnings"] * 3
        story = sheet([sample(), comparison], ["a", "b"])
        rows = story.sections[0][2][0].rows
        self.assertEqual([texts(row)[-1] for row in rows], ["2", "not measured"])
        self.assertIn("3 warnings in its report", rows[1].note)
        self.assertIn("1 warning in its report", rows[0].note)

    def test_declared_looks_and_candidates_are_said_with_their_level(self):
        comparison = sample()
        comparison["decision"] |= {"look": "1/2", "among": 3, "level": 0.99}
        self.assertEqual(self.blocks(comparison, "questions")[1]["questions"].rows[1].note,
                         "This decides: 6 sources; 99% interval; exact, 64 sign patterns")
        for look, rules, said in (("1/2", 1, "look 1/2, among 3, language=es must pass"), (None, 0, "among 3")):
            comparison["decision"] |= {"look": look, "margin": 0, "min_gain": 0, "sources_for_level": 9}
            comparison["must_pass"] = comparison["must_pass"][:rules]
            self.assertIn(f"Declared: {said}; the interval takes 9 sources or more.", list(Words(comparison).lead()))

    def test_where_the_declared_level_has_no_interval_none_of_another_level_stands_for_it(self):
        comparison = sample()
        comparison["decision"] |= {"look": "1/2", "level": 0.999, "interval": None, "interval_95": [-0.1, 0.4],
                                   "reason": "a claim takes at least 11 sources, not 6"}
        new = self.blocks(comparison, "questions")[1]["questions"].rows[1]
        self.assertEqual((texts(new)[1], new.ends), ("not measured", []))
        self.assertEqual(new.note, "This decides: 6 sources; a claim takes at least 11 sources, not 6")

    def test_dashed_lines_are_named_where_there_are_any(self):
        for margin, gain, said in ((0.1, None, "-0.1000, +0.1000"), (None, 0.05, "+0.0500"), (None, None, None)):
            comparison = sample()
            comparison["decision"] |= {"margin": margin, "min_gain": gain}
            text = " ".join(self.blocks(comparison, "questions")[0])
            self.assertEqual("Dashed lines" in text, said is not None)
            self.assertIn(f"Dashed lines, where this is drawn: {said}; a margin" if said else "", text)

    def test_two_figures_that_are_not_measured_are_told_apart(self):
        comparison = sample()
        comparison["trial_pairs"], comparison["trial_pairs_reason"] = None, "case 'q03' has seeds 1, 2 and 1"
        comparison["changed_by_chance"] = {"trials_moved": None, "reason": "cases have 1 to 2 trials"}
        said = self.blocks(comparison, "cases")[0]
        self.assertIn("Trial pairs by outcome are not measured: case 'q03' has seeds 1, 2 and 1.", said)
        self.assertIn("Moves by chance are not measured: cases have 1 to 2 trials.", said)
        self.assertNotIn("not measured", " ".join(self.blocks(sample(), "cases")[0]))

    def test_a_change_of_less_than_a_half_in_a_hundred_has_no_sign(self):
        for difference, said in ((0.0, "0%"), (-0.004, "0%"), (-0.25, "-17%"), (30.0, "+2,000%")):
            comparison = sample()
            comparison["measures"]["latency_s"]["difference"] = difference
            self.assertEqual(Words(comparison).change_of("latency_s"), said)

    def test_slices_say_why_they_have_no_interval(self):
        _, tables = self.blocks(sample(), "slices")
        self.assertIn("too few sources for an interval", tables["slices"].rows[1].note)

    def test_how_often_trials_all_pass_is_a_share_whatever_the_scores(self):
        comparison = sample() | {"score_range": [0, 100]}
        self.assertRegex(text_report(comparison), r"\npass\^1 +\d\.\d{4} +\d\.\d{4}\n")


class TruthTest(unittest.TestCase):
    """Sentences that would be false in some comparison."""

    def said(self, **changed):
        comparison = sample()
        for key, value in changed.items():
            comparison[key] = comparison[key] | value if isinstance(value, dict) else value
        return Words(comparison)

    def test_an_interval_that_looks_decided_is_told_with_the_reason_why_it_is_not(self):
        comparison = sample()
        comparison["decision"] |= {"gate_met": None, "groups": 6, "margin": 0, "min_gain": 0}
        for interval, told in (([-0.1, 0.4], False), ([0.1, 0.4], True), ([-0.4, -0.1], True), (None, True)):
            comparison["decision"]["interval"] = interval
            self.assertEqual("; it is wide" in wording.verdict_lines(comparison)[0], told)

    def test_how_many_sources_would_decide_is_said_unless_the_reason_says_it(self):
        decision = {"verdict": "undecided", "groups_needed": 99, "sources_needed": 60, "margin": 0.05}
        for changed, said in (({"interval": [-0.2, 0.2]}, True), ({"interval": [-0.05, 0.2]}, True),
                              ({"interval": [-0.01, 0.2]}, False), ({"interval": [-0.3, -0.06]}, False),
                              ({"interval": [0.1, 0.2], "margin": 0, "min_gain": 0.3}, False),
                              ({"interval": [-0.1, 0.2], "margin": 0, "min_gain": 0}, True),
                              ({"interval": [0.05, 0.5], "margin": 0, "sources_needed": None, "min_gain": 0.1}, True),
                              ({"interval": None}, True), ({"verdict": "not worse", "interval": [-0.06, 1]}, False)):
            lead = " ".join(self.said(decision=decision | changed).lead())
            self.assertEqual("About 99 sources would decide" in lead, said)
            luck = {"reason": "trials of different cases move together", "withheld": True}  # then no interval holds
            lead = " ".join(self.said(decision=decision | changed, shared_luck=luck).lead())
            self.assertNotIn("would decide", lead)

    def test_without_records_nothing_is_said_of_settings(self):
        comparison = sample()
        comparison["candidate"] = comparison["baseline"]
        manifests = [{"settings": {"temperature": t}} for t in (1, 0.1)]
        for given, said in (((), "Prompts and settings are in run records:"),
                            (manifests[:1] * 2, "are described alike"), (manifests, "settings temperature: 1 -> 0.1")):
            pair = pair_of_runs()._replace(manifests=given)
            text = " ".join(story_text(Words(comparison, pair).story(), width=200).split())
            self.assertIn(said, text)
            self.assertEqual("Prompts and settings are in run records:" in text, not given)
            self.assertEqual("described alike" in text, given != manifests)
        comparison["task"] = None  # of trial logs, which have no run records
        self.assertNotIn("run records", text_report(comparison))

    def test_of_a_prompt_of_many_lines_those_that_differ_are_shown(self):
        manifests = [{"settings": {"prompt": f"Sort it.\n{line}\nEnd."}} for line in ("One word.", "Two words.")]
        story = Words(sample(), pair_of_runs()._replace(manifests=manifests)).story()
        self.assertIn("  settings prompt:\n    - One word.\n    + Two words.\n", story_text(story))
        self.assertIn("\nsettings prompt:<br>- One word.<br>+ Two words.\n", story_markdown(story))

    def test_changed_cases_show_the_first_words_of_their_input_in_each_view_where_it_is_at_hand(self):
        story = Words(sample(), pair_of_runs()).story()
        self.assertIn('  late--es: from late: "Message <late--es> & more".\n', story_text(story))
        first, _, rest = story_markdown(story).partition("<details>")
        row = "| refund<br><sub>from refund&#58; &#34;Message &#60;refund&#62; &#38; more&#34;</sub> | 1.0000 |"
        self.assertIn(row.replace("&#58;", ":"), first)
        self.assertIn("| late--es<br><sub>from late: &#34;Message", rest)
        self.assertNotIn("from late", text_report(sample()) + markdown_report(sample()))
        pair = pair_of_runs()
        pair = pair._replace(cases=[case._replace(input=None) for case in pair.cases])
        self.assertNotIn("from late", story_text(Words(sample(), pair).story()))

    def test_first_words_are_of_one_line_and_bounded(self):
        for given, said in (("a\n\n b\u2028c", '"a b c"'), ("x" * 41, f'"{"x" * 40}..."'), ({"q": "é"}, '"é"'),
                            ({"q": "é", "r": 1}, '"{"q": "é", "r": 1}"'),
                            ("x" * 40, f'"{"x" * 40}"'), ("", ""), (" \n", ""), (None, ""), (["a", 1], '"["a", 1]"')):
            self.assertEqual(wording.case_note(ComparedCase("c", None, (), given)), said)
        self.assertEqual(wording.case_note(ComparedCase("c", "s", (), None)), "from s")

    def test_a_comparison_of_the_first_version_draws_no_cases_as_sources(self):
        old = {key: value for key, value in sample().items() if key != "sources"} | {"comparison_version": "1"}
        for values in old["slices"].values():
            for part in values.values():
                part["source_sign_flip"] = {}
        text = story_text(Words(old).story(), width=120)
        self.assertNotIn("lowest to highest", text)
        self.assertIn("\nlanguage: es ", text)

    def test_without_sources_slices_speak_of_cases(self):
        words = self.said(decision={"unit": "case"}, sources=[])
        table = next(words.slices())
        self.assertNotIn("source", " ".join(row.note for row in table.rows))
        self.assertNotIn("~sources", table.rows[0].cells)
        self.assertNotIn("By source, bootstrap", [row.name for row in next(words.contrast()).rows])
        self.assertNotIn("no more sources", " ".join(row.name for row in next(words.plans()).rows))

    def test_where_nothing_was_declared_zero_is_what_an_interval_lies_above_or_below(self):
        for verdict, said in (("better", "lies above zero."), ("worse", "lies below zero.")):
            decision = {"verdict": verdict, "min_gain": None, "margin": None}
            self.assertIn(said, " ".join(self.said(decision=decision).lead()))

    def test_the_score_that_passes_is_named(self):
        for changed, said in (({}, "the top score, 1."), ({"score_range": [0, 5]}, "the top score, 5.")):
            text = " ".join(filter(lambda block: isinstance(block, str), self.said(**changed).consistency()))
            self.assertIn(f"a trial passes with {said}", text)


class SheetTest(unittest.TestCase):
    def candidates(self):
        comparisons = []
        for i, (version, difference) in enumerate((("v2", 0.1), ("v3", 0.3), ("v4", -0.2))):
            comparison = sample()
            comparison["candidate"] = comparison["candidate"] | {"version": version}
            comparison["overall"]["difference"] = difference
            comparison["logs"]["candidate"] = [{"name": f"{version}.jsonl", "sha256": f"{i}" * 64}]
            comparisons.append(comparison)
        return comparisons

    def rows(self, story):
        return story.sections[-1][2][0].rows

    def test_candidates_are_sorted_best_first_with_verdict_cost_and_unsteady_cases(self):
        story = sheet(self.candidates(), ["a", "b", "c"], ["v2.html", "v3.html", "v4.html"])
        rows = self.rows(story)
        self.assertEqual([texts(row) for row in rows], [
            [f"told {version}", "undecided", difference, "-0.0952 to +0.4286", "+50%", "2"]
            for version, difference in (("v3", "+0.3000"), ("v2", "+0.1000"), ("v4", "-0.2000"))])
        self.assertEqual([row.link for row in rows], ["v3.html", "v2.html", "v4.html"])
        self.assertIn('<a href="v3.html"><bdi>told v3</bdi></a>', page.story_html(story))
        for text in (story_text(story), story_markdown(story)):
            self.assertIn("v3", text)

    def test_what_was_not_declared_is_said_with_its_level(self):
        comparisons = self.candidates()
        comparisons[1]["decision"] |= {"among": 3, "alpha": 0.025 / 3, "level": 1 - 0.05 / 3}
        lone = "compared without --among 3, which takes a wider interval, at 98.33%"
        self.assertEqual([lone in row.note for row in self.rows(sheet(comparisons, ["a", "b", "c"]))],
                         [False, True, True])
        for comparison in comparisons:
            comparison["decision"]["among"] = 4
        self.assertFalse([row for row in self.rows(sheet(comparisons, ["a", "b", "c"])) if "--among" in row.note])

    def test_candidates_on_other_cases_with_other_levels_or_margins_are_told_apart(self):
        comparisons = self.candidates()
        alike = sheet(comparisons, ["a", "b", "c"])
        self.assertTrue(alike.edges)
        self.assertIn("at 95%;", alike.sections[-1][2][1])
        comparisons[1]["overall"]["cases"] = 5
        comparisons[1]["decision"] |= {"margin": 0.2, "level": 0.999995, "among": 3}
        story = sheet(comparisons, ["a", "b", "c"])
        self.assertEqual(story.edges, ())
        self.assertIn("at 95% or 99.9995%;", story.sections[-1][2][1])
        self.assertEqual(["over 5 cases" in row.note for row in self.rows(story)], [True, False, False])
        self.assertEqual(["margin 0.2" in row.note for row in self.rows(story)], [True, False, False])

    def test_the_name_of_the_cases_may_differ_where_they_are_the_same(self):
        comparisons = self.candidates()
        comparisons[1]["case_set"] = {"name": "base.jsonl + v3.jsonl", "sha256": comparisons[0]["case_set"]["sha256"]}
        self.assertEqual(len(self.rows(sheet(comparisons, ["a", "b", "c"]))), 3)

    def test_the_page_of_a_candidate_is_linked_in_markdown_too(self):
        text = story_markdown(sheet(self.candidates(), ["a", "b", "c"], ["v2.html", 'x"|#a.html', "v4.html"]))
        self.assertIn('| <a href="v2.html">told v2</a><br>', text)
        self.assertIn('| <a href="x&#34;&#124;&#35;a.html">told v3</a><br>', text)

    def test_other_baselines_and_case_sets_are_refused_by_name(self):
        for change, said in (({"case_set": {"name": "x", "sha256": "d" * 64}}, "b and a differ in cases;"),
                             ({"baseline": {"name": "other"}}, "b and a differ in baseline;"),
                             ({"task": None}, "b and a differ in task;"),
                             ({"missing": "drop"}, "b and a differ in missing;"),
                             ({"score_range": [0, 9]}, "b and a differ in score_range;"),
                             ({"logs": {"baseline": [], "candidate": []}}, "b and a differ in recording;")):
            with self.assertRaises(files.RunError) as caught:
                sheet([sample(), sample() | change], ["a", "b"])
            self.assertTrue(str(caught.exception).startswith(said), caught.exception)


class TextTest(unittest.TestCase):
    maxDiff = None

    def test_whole_text_in_ascii(self):
        self.assertEqual(text_report(sample(), unicode=False), GOLDEN)

    def test_unicode_draws_the_same_as_ascii(self):
        table = str.maketrans({"├": "[", "─": "-", "┤": "]", "●": "o", "│": "|", "┊": ":", "┼": "+"})
        self.assertEqual(text_report(sample()).translate(table), GOLDEN)

    def test_interval_ends_are_where_the_axis_says_and_zero_is_seen(self):
        lines = text_report(sample(), width=140).split("\n")
        axis = next(line for line in lines if line.startswith("Interval "))
        row = next(line for line in lines if line.startswith("By case, seeded"))
        ticks = [(float(match[0]), match.start() + len(match[0]) // 2)
                 for match in re.finditer(r"[-+]0\.\d|\b0\b", axis[40:])]
        (one, left), (other, right) = ticks[0], ticks[-1]
        for mark, value in (("├", -0.0476), ("┤", 0.4762), ("┼", 0)):
            place = left + (value - one) / (other - one) * (right - left)
            self.assertLessEqual(abs(row[40:].index(mark) - place), 1.5, mark)

    def test_zero_is_seen_also_where_an_interval_ends_there(self):
        comparison = sample()
        comparison["slices"]["language"]["en"]["source_sign_flip"] = FLIP | {"interval_95": [0.0, 0.4]}
        row = next(line for line in text_report(comparison, width=140).split("\n") if line.startswith("language: en"))
        self.assertRegex(row, "┼─*●─*┤")

    def test_no_mean_is_shown_without_that_of_the_other_side(self):
        row = {"Slice": "a" * 20, "~cases": "1", "~baseline": "0.5000", "~candidate": "0.5000", "#difference": "0.1000"}
        shown = {tuple(fitting([row], width)) for width in range(30, 70)}
        self.assertEqual(shown, {("Slice", "#difference"), ("Slice", "~cases", "#difference"), tuple(row)})

    def test_hostile_names_keep_lines_narrow_and_columns_aligned(self):
        comparison, _ = hostile()
        for width in (60, 72, 80, 132):
            lines = text_report(comparison, width).split("\n")
            self.assertLessEqual(max(map(columns, lines)), width)
            start = next(i for i, line in enumerate(lines) if line.startswith("Case "))
            rows = lines[start + 1:start + 1 + len(HOSTILE)]
            self.assertEqual(len({columns(row) for row in rows}), 1)

    def test_there_are_no_control_characters_unless_colour_is_asked_for(self):
        plain, coloured = text_report(hostile()[0]), text_report(sample(), colour=True)
        self.assertTrue(all(char == "\n" or char.isprintable() for char in plain))
        self.assertIn("\x1b[33mUNDECIDED\x1b[0m", coloured)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", coloured), text_report(sample()))

    def test_text_and_page_can_be_encoded(self):
        comparison, rows = hostile()
        text_report(comparison, unicode=False).encode("ascii")
        for text in (text_report(comparison), markdown_report(comparison), html_report(comparison, rows)):
            text.encode("utf-8")

    def test_nothing_of_a_text_without_blanks_is_lost(self):
        comparison = sample()
        comparison["baseline"]["prompt"], comparison["candidate"]["prompt"] = "\u8a9e" * 50, "0123456789" * 12
        text = "".join(text_report(comparison, 60).split())
        for long in (comparison["task"]["sha256"], comparison["case_set"]["sha256"], "\u8a9e" * 50, "0123456789" * 12):
            self.assertIn(long, text)

    def test_narrow_terminals_leave_columns_out_and_wide_ones_draw_the_slices(self):
        def lines(width, start):
            return [line for line in text_report(sample(), width).split("\n") if line.startswith(start)]

        self.assertNotIn("├", "".join(lines(80, "language: ")))
        self.assertIn("├", "".join(lines(130, "language: ")))
        self.assertIn("Slice         difference", lines(60, "Slice ")[0])

    def test_worst_case_comes_first_and_what_is_left_out_is_counted(self):
        comparison, _ = many_cases(400, 4)
        comparison["cases"][50]["difference"] = -1.0
        lines = text_report(comparison).split("\n")
        start = next(i for i, line in enumerate(lines) if line.startswith("Case "))
        self.assertTrue(lines[start + 1].startswith("case-200 "))
        self.assertTrue(lines[start + 1 + 19].startswith("(62 rows left out)"), lines[start:])

    def test_null_figures_are_not_measured_with_the_reason(self):
        comparison = bare()
        comparison["noise_floor"]["reason"] = "one trial a case"
        comparison["decision"]["reason"] = "3 sources carry no interval"
        text = " ".join(text_report(comparison).split())
        self.assertIn("No claim can be made: 3 sources carry no interval.", text)
        self.assertIn("Noise floor: one trial a case.", text)

    def test_a_warning_is_shown_once(self):
        self.assertEqual(text_report(sample()).count("1. Sources: 6, which is few. Record more"), 1)

    def test_terminal_settings(self):
        class Stream(io.StringIO):
            encoding = "utf-8"

            def isatty(self):
                return True

        for asked, width, colour in (({}, 97, True), ({"NO_COLOR": "1"}, 97, False), ({"TERM": "dumb"}, 97, False),
                                     ({"COLUMNS": "9" * 5000}, 80, True)):
            with mock.patch.dict(os.environ, {"COLUMNS": "97"} | asked, clear=True), \
                    mock.patch("os.get_terminal_size", side_effect=OSError):
                self.assertEqual(terminal_settings(Stream()),
                                 {"width": width, "unicode": True, "colour": colour})
                pipe = io.TextIOWrapper(io.BytesIO(), "ascii")
                self.assertEqual(terminal_settings(pipe), {"width": width, "unicode": False, "colour": False})

    def test_figures_of_many_thousands_leave_the_lines_narrow(self):
        comparison = sample() | {"score_range": [0, 100_000]}
        part = comparison["slices"]["language"]["en"]
        part |= {key: part[key] * 100_000 for key in ("baseline", "candidate", "difference")}
        part["source_sign_flip"] = FLIP | {"interval_95": [-9523.81, 42857.12]}
        for width in (60, 80):
            self.assertLessEqual(max(map(columns, text_report(comparison, width).split("\n"))), width)


class MarkdownTest(unittest.TestCase):
    def check_shape(self, text):
        """Every table has one number of cells a row; nothing can be a mention, a link, a tag or code of its own."""
        head = None
        for line in text.split("\n"):
            if line.startswith("|"):
                head = head or line.count("|")
                self.assertEqual(line.count("|"), head, line)
                self.assertTrue(line.endswith(" |"), line)
            else:
                head = None
            self.assertNotRegex(line, r"[@`\[\]\\$~\x00-\x1f\u2028\u202e]|https?:|www\.|<!--")
        self.assertEqual(set(re.findall(r"</?(\w+)", text)) - {"details", "summary", "sub", "br"}, set())

    def test_hostile_names_break_no_row(self):
        comparison, _ = hostile()
        text = markdown_report(comparison)
        self.check_shape(text)
        self.assertIn("1. &#91;net&#93;", text)
        self.assertIn("&#64;&#8203;octocat a/b&#35;&#8203;3", text)  # in a sentence, where GitHub looks for @names

    def test_the_first_screen_has_verdict_gate_questions_cost_and_regressions_and_all_else_is_folded(self):
        first, _, rest = markdown_report(sample()).partition("<details>")
        head, *lines = [line for line in first.split("\n") if line]
        self.assertEqual(head, "### Undecided · gate: better and must pass, not met, the data cannot tell: it does not "
                               "lie above 0.05")
        for row in ("On new messages like these<br><sub>This decides: 6 sources; 95% interval; exact, 64 sign patterns"
                    "</sub> | -0.0952 to +0.4286 | 0.25", "latency, seconds | 1.5 | 2.25 | +0.75 | +50% | +0.5 to +1",
                    "refund | 1.0000 | 0.6667 | -0.3333 | 1"):
            self.assertIn(f"| {row} |", lines)
        self.assertLess(len(lines), 31)
        self.assertNotIn("| topics |", first)
        self.assertEqual(rest.count("<details>") + 1, rest.count("</details>"))

    def test_figures_are_the_comparisons(self):
        text = markdown_report(sample())
        self.check_shape(text)
        self.assertIn("language: en<br><sub>its"
                      " 6 sources cannot give an adjusted p below 0.0625; on these very cases p is 0.25, adjusted for "
                      "the number of slices</sub> | 6&#42; | 6 | 0.6111 | 0.7222 | +0.1111 | -0.0952 to +0.4286 | "
                      "0.4375 |", text)
        for need in ("\ncase set sha256: " + "c" * 64, "small&#58;1b", "\nversion: v1 -&#62; v2\n", "20261020",
                     "1.0.0"):
            self.assertIn(need, text)

    def test_regressions_that_are_not_all_shown_say_so(self):
        row = next(row for row in sample()["cases"] if row["difference"] < 0)
        for count, words in ((10, "worst first (10 of 10)"), (15, "worst first (10 of 15)")):
            comparison = sample() | {"cases": [row | {"case_id": f"c{i}"} for i in range(count)]}
            self.assertIn(f"**Regressions, {words}**", html.unescape(markdown_report(comparison)))

    def test_lines_that_moved_were_doubled_or_ended_otherwise_are_told_of(self):
        for before, after, lines in (("A\nB\nC", "B\nA\nC", ["+ B", "- B"]), ("A\nA\nB", "A\nB", ["- A"]),
                                     ("A\n", "A", ["- "]), ("A", "A\nB", ["+ B"])):
            self.assertCountEqual(wording.lines_of(wording.SideBySide("prompt", before, after), 9), ["prompt:", *lines])

    def test_limit_is_kept_whatever_names_there_are(self):
        comparison = sample()
        comparison["cases"] = [row | {"case_id": f"{'@' * 600}{i}", "source": "@" * 600}
                               for i in range(40) for row in comparison["cases"][:1]]
        part = comparison["slices"]["language"]["en"]
        comparison["slices"] = {"@" * 600: {f"{'@' * 600}{i}": part for i in range(40)}}
        comparison["warnings"] = [{"code": "x", "message": "@" * 600, "advice": "@" * 600}] * 40
        text = markdown_report(comparison)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.assertRegex(text, r"\nWhat does not fit into [^\n]*\n\n?<sub>Made by report.py</sub>\n\Z")
        plain = Words(sample()).story()
        with mock.patch.object(text_view, "ROW_LIMITS", (5,)):
            for limit in range(1000, 1200, 5):  # wherever the cut comes
                with mock.patch.object(text_view, "MARKDOWN_LIMIT", limit):
                    self.assertLessEqual(len(story_markdown(plain)), limit)

    def test_limit_is_kept_where_a_long_prompt_was_rewritten(self):
        prompts = ["\n".join(f'{{"text": "message {i} @{i}", "{key}": "billing"}}' for i in range(400))
                   for key in ("category", "label")]
        pair = pair_of_runs()._replace(manifests=[{"settings": {"prompt": prompt}} for prompt in prompts])
        story = Words(sample(), pair).story()
        text = story_markdown(story)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.assertIn(" lines left out)", text)
        self.assertIn("What does not fit into the 65,536 characters", text)
        self.assertIn("(760 lines left out)", story_text(story))

    def test_limit_is_kept_by_leaving_out_rows_between_and_saying_so(self):
        comparison, _ = many_cases(1200, 1)
        text = markdown_report(comparison)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.assertRegex(text, r"\n\| \(\d+ rows left out\) \|")
        self.assertIn("| language: es<br>", text)
        part = comparison["slices"]["language"]["en"]
        comparison["slices"] = {"\u202e" * 99: {f"{'|' * 99}{i}": part for i in range(120)}}
        comparison["warnings"] = [{"code": "x", "message": "|" * 5000, "advice": "@" * 5000}] * 40
        comparison["cases"] = comparison["cases"][:120]
        for case in comparison["cases"]:
            case["case_id"] = "|" * 300
        text = markdown_report(comparison)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.check_shape(text)
        self.assertIn("<summary>Warnings (40)</summary>", text)
        self.assertIn("What does not fit into the 65,536 characters", text)


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.cases, self.left, self.right, self.comparison = write_runs(self.folder)

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        out.reconfigure = err.reconfigure = lambda **_: None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = files.run_command(lambda: report.main(arguments))
            except SystemExit as stop:
                status = stop.code
        return status, out.getvalue(), err.getvalue()

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, comparison):
        files.write("a comparison", self.path(name), json.dumps(comparison))
        return self.path(name)

    def test_a_comparison_that_lacks_what_its_runs_are_held_against_was_not_made_from_them(self):
        with open(self.comparison, encoding="utf-8") as file:
            whole = json.load(file)
        for key in ("case_set", "baseline", "candidate", "task"):
            path = self.save("part.json", {name: value for name, value in whole.items() if name != key})
            status, out, err = self.run_main(path, "--runs", self.left, self.right, "--cases", self.cases)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(" was not made from ", err)

    def test_comparison_alone_prints_text(self):
        status, out, err = self.run_main(self.comparison)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("Is it larger than the noise?", out)

    def test_files_are_written_and_stdout_stays_empty(self):
        status, out, err = self.run_main(self.comparison, "--runs", self.left, self.right, "--cases", self.cases,
                                         "--html", self.path("page.html"), "--markdown", self.path("page.md"))
        self.assertEqual((status, out, err), (0, "", ""))
        text = files.decode(files.read_bytes(self.path("page.html")), "page")
        self.assertIn("Message &lt;login&gt;", text)
        self.assertIn("task sha256", text)
        self.assertTrue(os.path.getsize(self.path("page.md")))

    def test_logs_show_the_same_page_as_their_records(self):
        for runs, name in ((["runs/qwen-coder-v1.json", "runs/qwen-coder-v2.json"], "records.html"),
                           (["recorded/qwen-coder-v1.jsonl", "recorded/qwen-coder-v2.jsonl"], "logs.html")):
            runs = [os.path.join(HERE, run) for run in runs]
            done = self.run_main(os.path.join(HERE, "runs/comparison.json"), "--runs", *runs, "--cases",
                                 os.path.join(HERE, "cases-robustness.json"), "--html", self.path(name))
            self.assertEqual(done, (0, "", ""))
        records, logs = (files.read_bytes(self.path(name)) for name in ("records.html", "logs.html"))
        self.assertTrue(records == logs)
        shard = self.path("b.jsonl")
        status, _, err = self.run_main(self.comparison, "--runs", f"a.jsonl,{shard}", "c.jsonl", "--cases", self.cases,
                                       "--html", shard)
        self.assertEqual(status, 1)
        self.assertIn("it is read as well", err)

    def test_logs_that_were_graded_again_are_shown_with_both_case_sets(self):
        cases, corrected = os.path.join(HERE, "cases-robustness.json"), self.path("corrected.json")
        value = read_json(cases)
        value["cases"][0]["tags"]["variant"] = "corrected"
        with open(corrected, "w") as file:
            json.dump(value, file)
        runs = [os.path.join(HERE, f"recorded/qwen-coder-{name}.jsonl") for name in ("v1", "v2")]
        saved, both = self.path("again.json"), ["--cases", corrected, "--recorded-with", cases]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(compare.main([*runs, *both, "--out", saved]), 0)
        self.assertEqual(self.run_main(saved, "--runs", *runs, *both, "--html", self.path("again.html"))[0], 0)
        status, _, err = self.run_main(saved, "--runs", *runs, "--cases", corrected, "--html", self.path("no.html"))
        self.assertEqual(status, 1)
        self.assertIn("--recorded-with OLD.json", err)
        status, _, err = self.run_main(saved, "--runs", *runs, *both, "--html", cases)
        self.assertIn("it is read as well", err)
        with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
            report.main([saved, "--recorded-with", cases])
        self.assertIn("--recorded-with goes with both", told.getvalue())

    def test_several_comparisons_make_one_sheet(self):
        other = self.save("other.json", read_json(self.comparison) | {
            "candidate": {"name": "told", "version": "v9"}})
        status, out, err = self.run_main(self.comparison, other, "--pages", "a.html", "b.html", "--html",
                                         self.path("sheet.html"), "--markdown", self.path("sheet.md"), "--table")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("compared without --among 2,", " ".join(out.split()))
        self.assertIn(b'<a href="b.html"><bdi>told v9</bdi></a>', files.read_bytes(self.path("sheet.html")))
        alien = self.save("alien.json", sample() | {"task": None})
        status, out, err = self.run_main(self.comparison, alien)
        self.assertEqual((status, out), (1, ""))
        self.assertIn(f"{alien} and {self.comparison} differ in task, recording, cases;", err)

    def test_other_files_are_refused_by_name_and_nothing_is_written(self):
        other = self.save("other.json", sample() | {"comparison_version": "9"})
        damaged = self.save("damaged.json", sample() | {"slices": "x"})
        hollow = self.save("hollow.json", sample() | {"warnings": [1]})
        empty = self.save("empty.json", sample() | {"sources": [{}, {}]})
        cases = [row | {"case_id": None} for row in sample()["cases"]]
        nameless = self.save("nameless.json", sample() | {"cases": cases})
        script = self.save("forged.json", sample() | {"overall": sample()["overall"] | {"better": SCRIPT}})
        logs = self.save("logs.json", read_json(self.comparison) | {"logs": {"baseline": [], "candidate": [
            {"name": "v1.jsonl", "sha256": "2" * 64}]}})
        task = self.save("task.json", read_json(self.comparison) | {"task": {"name": "triage_task", "sha256": "2"}})
        written = self.path("page.html")
        runs = ("--cases", self.cases, "--html", written, "--runs")
        for arguments, said in (((self.left,), "is a run record, not a comparison"),
                                ((other,), "comparison_version '9', and this tool makes '2'; use the"),
                                ((damaged,), "comparison.slices is 'x', which cannot be there;"),
                                ((hollow,), "comparison.warnings[0] is 1, which cannot be there;"),
                                ((empty,), "empty.json: not a whole comparison (TypeError"),
                                ((nameless, "--markdown", written), "nameless.json: not a whole comparison (Attr"),
                                ((script, "--html", written), "comparison.overall.better is '<script>"),
                                ((self.path("none.json"),), "cannot read"),
                                ((self.comparison, *runs, self.right, self.left), "give the records or logs it"),
                                ((logs, *runs, self.left, self.right), "give the records or logs it"),
                                ((task, *runs, self.left, self.right), "give the records or logs it"),
                                ((self.comparison, *runs, self.cases, self.left), "is a case set, not a run record"),
                                ((self.comparison, "--table", "--html", self.path("none/x.html")),
                                 "there is no folder")):
            status, out, err = self.run_main(*arguments)
            self.assertEqual((status, out), (1, ""), said)
            self.assertRegex(err, r"\Aerror: .*\n\Z")
            self.assertIn(said, err)
            self.assertFalse(os.path.exists(written))

    def test_what_is_read_is_not_overwritten(self):
        runs = (self.comparison, "--runs", self.left, self.right, "--cases", self.cases)
        for option, path in (("--html", self.comparison), ("--markdown", self.right), ("--html", self.cases)):
            before = files.read_bytes(path)
            status, _, err = self.run_main(*runs, option, path)
            self.assertEqual((status, err), (1, f"error: cannot write {path}: it is read as well, or named "
                                                "twice; name another file\n"))
            self.assertEqual(files.read_bytes(path), before)

    def test_options_that_do_not_go_together_are_a_usage_error(self):
        for arguments, said in (((self.comparison, "--runs", self.left, self.right), "--runs and --cases go together"),
                                ((self.comparison, self.comparison, "--runs", self.left, self.right, "--cases",
                                  self.cases), "--runs and --cases go together, and with one comparison"),
                                ((self.comparison, "--pages", "x.html"), "--pages takes one page for each")):
            status, _, err = self.run_main(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(said, err)


class RulesTest(unittest.TestCase):
    def test_a_comparison_is_not_changed_by_reporting_it(self):
        comparison, pair = sample(), pair_of_runs()
        before = copy.deepcopy((comparison, pair))
        text_report(comparison), markdown_report(comparison), html_report(comparison, pair)
        self.assertEqual((comparison, pair), before)

    def test_no_text_of_a_forged_comparison_reaches_a_view_as_it_is(self):
        comparison = forged(sample())
        for text in (text_report(comparison), markdown_report(comparison), html_report(comparison),
                     page.story_html(sheet([comparison, comparison], [SCRIPT, SCRIPT], [SCRIPT, SCRIPT]))):
            self.assertNotIn("\x1b", text)
            if text[:9] == "<!doctype":
                self.assertNotIn("<script>alert", text)
            self.assertFalse(re.search("<script>", text) and text[:3] == "###")

    def test_scales_hold_their_values_and_zero(self):
        self.assertEqual(scale_of([]).at(0), 0.5)
        for values in ([0.1], [-3], [1e-9, 2e-9], [-70000.0, 12], [0], [], [None], [0.0091, 0.0682]):
            scale = scale_of(values)
            ticks = [tick for tick, _ in scale.ticks]
            self.assertTrue(0 in ticks and 2 <= len(ticks) <= 7, (values, ticks))
            self.assertEqual(len({label for _, label in scale.ticks}), len(ticks))
            for value in (0, *(value for value in values if value)):
                self.assertTrue(0 < scale.at(value) < 1)

    def test_clip_keeps_both_ends_and_the_width(self):
        for text in HOSTILE:
            text = clean(text)
            for width in range(5, 90, 7):
                cut = clip(text, width)
                self.assertLessEqual(columns(cut), width)
                if cut != text:
                    self.assertTrue(text.startswith(cut.partition("…")[0]) and text.endswith(cut.rpartition("…")[2]))


def load_tests(loader, tests, pattern):
    for module in (wording, text_view):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


GOLDEN = """\
told v1 against told v2: 7 cases of inbox, 6 sources, 3 trials a case.

UNDECIDED
  The baseline scores 0.5714, the candidate 0.8095: a difference of +0.2381.
  On these very cases: 1 worse, 3 better; sampling alone would bring a
  difference as large with p = 0.125 (one seed for all cases: cannot be
  checked).
  No claim can be made: it is wide.
  About 21 sources would decide a difference of this size, as "better"; 6 took
  part.
  Declared: min gain 0.05, margin 0.02, language=es must pass; the interval
  takes 6 sources or more.
  Gate: better and must pass, not met, the data cannot tell: it does not lie
  above 0.05.

Warnings (1)
  1. Sources: 6, which is few. Record more of them.

What was changed
  version: v1 -> v2
  Prompts and settings are in run records: a report made with those shows them
  here.

Is it larger than the noise?
The difference, candidate minus baseline:
Question                              interval      p          0       +0.5
On these very cases         +0.0123 to +0.4639  0.125          +----o---]
On new messages like these  -0.0952 to +0.4286   0.25        [-+----o---]
Sources, lowest to highest  -0.3333 to +0.6667           o     2:     2     o
  On these very cases: 21 pairs of trials counted, 7 with a difference; exact,
  128 sign patterns.
  On new messages like these: This decides: 6 sources; 95% interval; exact, 64
  sign patterns.
  p: how often a difference at least as large would come up if nothing had
  changed: on these cases by sampling alone, on new ones with each source as
  likely to gain as to lose. The first says nothing of other cases, the second
  nothing of these. Where interval and p on these cases disagree, the p counts.
  Dashed lines, where this is drawn: -0.0200, +0.0200, +0.0500; a margin lies on
  both sides of zero, a gain worth shipping above it.

Sources, worst first: a source is what several cases were made from:
Source             cases  baseline  candidate  difference         0     +0.5
refund                 1    1.0000     0.6667     -0.3333   o    :|:
advice                 1    0.0000     0.0000      0.0000        :o:
(no source) alone      1    1.0000     1.0000      0.0000        :o:
late                   2    0.6667     1.0000     +0.3333        :|:   o
topics                 1    0.6667     1.0000     +0.3333        :|:   o
login                  1    0.0000     0.6667     +0.6667        :|:         o
  Incomplete trials of the baseline: 1 (Incomplete: 1).

Cost, latency and tokens
Mean of a case:
Measure           baseline  candidate  difference  change  95% interval
latency, seconds       1.5       2.25       +0.75    +50%    +0.5 to +1

Where did it come from?
  Cases: 1 worse, 3 better, 3 the same.

21 pairs of trials by outcome:
Baseline  candidate passes  does not
passes                  11         1
does not                 6         3

Changed cases, worst first:
Case      baseline  candidate  difference  by chance           0       +0.5
refund      1.0000     0.6667     -0.3333          1    o     :|:
topics      0.6667     1.0000     +0.3333          1          :|:    o
late--es    0.3333     1.0000     +0.6667        0.4          :|:           o
login       0.0000     0.6667     +0.6667     0.4001          :|:           o

Cases that moved by so many trials:
Trials      observed  expected by chance
at least 1         4                 1.5
at least 2         2                0.25
  By chance: how often the passes of a case, dealt at random to the two runs,
  would differ by at least as much. Where one seed gives the same reply on both
  sides, chance moves fewer cases.

Which slices changed?
Slices, worst first:
Slice         cases  sources  difference        95% interval  adjusted p
language: en     6*        6     +0.1111  -0.0952 to +0.4286      0.4375
language: es     1*        1     +0.6667                   -           -
  language: en: its 6 sources cannot give an adjusted p below 0.0625; on these
  very cases p is 0.25, adjusted for the number of slices.
  language: es: too few sources for an interval; same cases as variant:
  translation; on these very cases p is 0.25, adjusted for the number of slices.
  2 slices compared.
  Adjusted p: how often any of them would stand out as much if nothing had
  changed (exact, 64 sign patterns). The interval is by source.
  *: so few cases that a single one can turn the result.

How consistent is it?
How steadily cases pass:
Cases                      baseline  candidate
cases that always pass            3          4
cases that sometimes pass         2          2
cases that never pass             2          1
pass^1                       0.5714     0.8095
pass^2                       0.4762     0.7143
pass^3                       0.4286     0.6000
  pass^k: how often k trials of a case all pass; a trial passes with the top
  score, 1. Pass sometimes, and did not before: refund, login. Passed sometimes,
  and now always or never: late--es, topics.

What to record next
What would make the interval narrower (at 95%, about):
With                                half-width
as recorded                             0.2619
twice the cases, no more sources        0.1852
twice the trials                        0.2000
unlimited trials                        0.1501
twice the sources, each like these      0.1853
  A half-width of 0.1000 takes 42 sources; trials do not reach it.
  The smallest difference that these would detect in 4 of 5 repetitions is
  0.3701; the --sd of plan.py is 0.3189.

Other intervals, for contrast
Other intervals of the difference:
Interval                             from, to             0               +0.5
By source, bootstrap       -0.0556 to +0.4444           [-+-------o-------]
By case, bootstrap         -0.0477 to +0.4763           [-+-------o--------]
By case, seeded            -0.0476 to +0.4762           [-+-------o--------]
By trial                   +0.0476 to +0.3810            :|[------o-----]
With one more source       -0.2381 to +0.4286    [--------+-------o------]
For equivalence            -0.0500 to +0.4000           [-+-------o-----]
The same, one more source  -0.2000 to +0.5000      [------+-------o---------]
Noise floor                -0.0952 to +0.0952         [---+--]
  By source, bootstrap: 6 sources; exact over 462 draws.
  By case, bootstrap: 7 cases; exact, grid of 1/3.
  By case, seeded: 7 cases.
  By trial: as if every trial were independent.
  Noise floor: the largest difference between two halves of the baseline's own
  trials, 0.0317 on average; share of the 3 splits in which a change is claimed
  or a gate of safety not met: 0.1667.

How it was measured
  comparison version: 2
  tool version: 1.0.0
  case set name: inbox
  case set sha256:
  cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc
  task name: triage_task
  task sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  trials: 3
  resamples: 2000
  seed: 20261020
  score range: [0, 1]
  missing: zero
  options margin: 0.02
  options gate: better
  options tags: ["language"]
  variance between sources: 0.01
  variance between cases: 0.002
  variance sampling: 0.125
  variance standard error case: 0.1201
  variance standard error source: 0.1302
  variance standard deviation: 0.3189
  variance design effect: 1.1752
  name: told
  mode: offline
  model: small:1b
  log 1 name: v1.jsonl -> none
  log 1 sha256: 1111111111111111111111111111111111111111111111111111111111111111
  -> none
"""

if __name__ == "__main__":
    unittest.main()
