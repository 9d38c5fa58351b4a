"""Do text, Markdown and page say what the comparison says, whatever names and sizes it holds?

    $ python3 -m unittest test_report

The comparison here is made up: seven cases of six sources, three trials each, in figures easy to tell apart. Its two
run records are graded by harness.py, so that the page's panel is made from real ones.
"""

import contextlib
import copy
import doctest
import io
import json
import os
import re
import tempfile
import unittest
from unittest import mock

from core import files
import harness
import report
from views import page, words as wording
from views.text import MARKDOWN_LIMIT, markdown_report, terminal_settings, text_report
from views.words import SIDES, Words, clean, clip, columns, scale_of

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


class Told:
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
    files.write(paths[0], case_set_text())
    case_set, task = harness.load_cases(paths[0]), harness.load_task("triage_task")
    for path, system in zip(paths[1:], (Told("v1", 3), Told("v2", 4))):
        record = harness.run_offline(system, task, case_set, ["dev"], 3, "2026-10-20T10:00:00.000Z")
        files.write(path, harness.record_text(record))
    comparison = sample()
    comparison["case_set"] = {"name": case_set.name, "sha256": case_set.sha256}
    files.write(paths[3], json.dumps(comparison))
    return paths


def panel():
    with tempfile.TemporaryDirectory() as folder:
        cases, left, right, _ = write_runs(folder)
        return page.record_panel(harness.read_record(left), harness.read_record(right), harness.load_cases(cases))


def sample():
    """Return a comparison of CASES with a figure for every key."""
    system = {"name": "told", "version": "v1", "mode": "offline", "model": "small:1b", "prompt": None, "tools": None,
              "index": None}
    part = {"cases": 6, "baseline": 0.6111, "candidate": 0.7222, "difference": 0.1111, "interval_95": [-0.1111, 0.3333],
            "better": 2, "worse": 1, "same": 3, "few_cases": True, "source_groups": 6,
            "exact_interval_95": [-0.1111, 0.3889], "exact_method": "exact, grid of 1/3", "source_sign_flip": FLIP,
            "adjusted_p_value": 0.4375, "same_cases_as": [], "incomplete": {"baseline": 1, "candidate": 0}}
    return {
        "comparison_version": "1", "resamples": 2000, "seed": 20261020,
        "case_set": {"name": "inbox", "sha256": "c" * 64}, "trials": 3,
        "baseline": system, "candidate": system | {"version": "v2"},
        "overall": {
            "cases": 7, "baseline": 0.5714, "candidate": 0.8095, "difference": 0.2381, "interval_95": [-0.0476, 0.4762],
            "better": 3, "worse": 1, "same": 3, "trial_level_interval_95": [0.0476, 0.381], "source_groups": 6,
            "source_cluster_method": "exact over 462 draws", "source_cluster_interval_95": [-0.0556, 0.4444],
            "source_no_gain_share": 0.0417, "exact_interval_95": [-0.0477, 0.4763],
            "exact_method": "exact, grid of 1/3",
            "source_sign_flip": FLIP, "trial_level_reason": None,
            "exact_distribution": {"start": -0.2, "width": 0.1, "shares": [0.01, 0.1, 0.2, 0.3, 0.25, 0.1, 0.04]}},
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
        "decision": {"unit": "source", "min_gain": 0.05, "margin": 0.02, "interval_95": [-0.0952, 0.4286],
                     "interval_90": [-0.05, 0.4], "claims": [], "verdict": "undecided", "reason": "it is wide",
                     "groups_needed": 21, "gate": "better", "gate_met": False},
        "changed_by_chance": {"trials_moved": [{"at_least": 1, "observed": 4, "expected": 1.5},
                                               {"at_least": 2, "observed": 2, "expected": 0.25}], "reason": None},
        "noise_floor": {"trials_per_half": 1, "splits": 3, "method": "every split", "mean_difference": 0.0317,
                        "largest_difference": 0.0952, "gate": "better", "gate_tripped_share": 0.1667, "reason": None},
        "variance": {"between_sources": 0.01, "between_cases": 0.002, "sampling": 0.125, "standard_error_case": 0.1201,
                     "standard_error_source": 0.1302, "design_effect": 1.1752, "reason": None},
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
                                   "interval_95": [0.5, 1.0]}},
        "warnings": [{"code": "few", "message": "sources: 6, which is few", "advice": "record more of them"}]}


def bare():
    """Return a comparison in which every figure is null."""
    def emptied(value):
        return {key: emptied(inner) for key, inner in value.items()} if isinstance(value, dict) else None

    whole = sample()
    whole["overall"]["exact_distribution"] = whole["plan"] = None
    return {key: emptied(value) for key, value in whole.items()} | {
        "comparison_version": "1", "trial_pairs": None, "slices": {}, "cases": [], "warnings": [], "excluded": [],
        "uneven_trials": []}


HOSTILE = ["[net]vpn|wifi|dns", "<b>c</b>\nline2", "`code` ``", "<script>alert(1)</script>", "x" * 300,
           "\u202eevil\u202c", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\ud800lone",
           "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f", "\u65e5\u672c\u8a9e\u306e\u9577\u3044" * 9,
           "e\u0301" * 40, "z\u0301" * 400, "a\\|b\\", "@octocat a/b#3 :smile: $x$", "&lt;&#64;", "\x1b[31mred\x07",
           "]]>--><!--", "' onload='x", '" onclick="x', "- [ ] *x* _y_ ~~z~~", "http://evil.example www.evil.example",
           "\u2028sep\x00nul", "| --- |", "\r\n# head"]


def hostile():
    """Return a comparison and panel in which every name is hostile."""
    comparison, rows = sample(), []
    comparison["cases"] = [{"case_id": name, "baseline": 0.5, "candidate": 0.5 + (i % 5 - 2) / 4,
                            "source": HOSTILE[i - i % 2], "difference": (i % 5 - 2) / 4, "by_chance": 0.5}
                           for i, name in enumerate(HOSTILE)]
    part = comparison["slices"]["language"]["en"]
    part = part | {"same_cases_as": HOSTILE[:2]}
    comparison["slices"] = {tag: dict.fromkeys(HOSTILE, part) for tag in HOSTILE[:3]}
    for i, side in enumerate(SIDES):
        comparison[side] = {key: HOSTILE[i + 1] for key in comparison[side]}
    comparison["case_set"]["name"] = HOSTILE[1]
    comparison["warnings"] = [{"code": name, "message": name, "advice": name} for name in HOSTILE]
    comparison["incomplete"]["baseline"]["reasons"] = dict.fromkeys(HOSTILE, 1)
    for i, name in enumerate(HOSTILE):
        outcomes = [{"verdict": "fail", "score": 0, "output": name, "error": name, "raw": name},
                    {"verdict": "incomplete", "score": None, "output": None, "error": name, "raw": {name: name}}]
        rows.append({"case_id": name, "source": HOSTILE[i - i % 2], "input": {"text": name}, "expected": name,
                     "trials": [{"seed": name, "baseline": outcomes[i % 2], "candidate": outcomes[0]}]})
    return comparison, rows


def many_cases(count, changed_every, trials=5):
    """Return a comparison and panel of `count` cases, every so many of which changed by a trial."""
    comparison, rows, changed = sample(), [], []
    for i in range(count):
        moved = i % changed_every == 0
        right = {"verdict": "pass", "score": 1, "output": {"category": "billing", "at": i}, "error": None, "raw": None}
        wrong = right | {"verdict": "fail", "score": 0, "output": {"category": "delivery", "at": i}}
        rows.append({"case_id": f"case-{i}", "source": f"source-{i // 5}", "input": {"text": f"message {i} " * 20},
                     "expected": EXPECTED, "trials": [
                         {"seed": 1001 + t, "baseline": right, "candidate": wrong if moved and t == 0 else right}
                         for t in range(trials)]})
        if moved:
            changed.append({"case_id": f"case-{i}", "baseline": 1.0, "candidate": 1 - 1 / trials,
                            "source": f"source-{i // 5}", "difference": -1 / trials, "by_chance": 1.0})
    comparison["cases"] = changed
    return comparison, rows


class TextTest(unittest.TestCase):
    maxDiff = None

    def test_whole_text_in_ascii(self):
        self.assertEqual(text_report(sample(), unicode=False), GOLDEN)

    def test_unicode_draws_the_same_as_ascii(self):
        table = str.maketrans({"├": "[", "─": "-", "┤": "]", "●": "o", "│": "|", "┊": ":"})
        self.assertEqual(text_report(sample()).translate(table), GOLDEN)

    def test_interval_ends_stand_where_the_axis_says(self):
        lines = text_report(sample(), width=140).split("\n")
        axis = next(line for line in lines if line.startswith("95% interval"))
        by_trial = next(line for line in lines if line.startswith("By trial"))
        ticks = [(float(match[0]), match.start() + len(match[0]) // 2)
                 for match in re.finditer(r"[-+]0\.\d|\b0\b", axis[40:])]
        (one, left), (other, right) = ticks[0], ticks[-1]
        for mark, value in (("├", 0.0476), ("┤", 0.381)):
            place = left + (value - one) / (other - one) * (right - left)
            self.assertLessEqual(abs(by_trial[40:].index(mark) - place), 1.5, mark)

    def test_hostile_names_keep_lines_narrow_and_columns_aligned(self):
        comparison, _ = hostile()
        for width in (72, 80, 132):
            lines = text_report(comparison, width).split("\n")
            self.assertLessEqual(max(map(columns, lines)), width)
            start = next(i for i, line in enumerate(lines) if line.startswith("changed case"))
            rows = lines[start + 1:start + 1 + len(HOSTILE)]
            for end_of in (lambda row: row, lambda row: row.partition(" 0.5000 ")[0]):
                self.assertEqual(len({columns(end_of(row)) for row in rows}), 1)

    def test_nothing_steers_the_terminal_unless_colour_is_told(self):
        comparison, _ = hostile()
        plain, coloured = text_report(comparison), text_report(comparison, colour=True)
        self.assertTrue(all(char == "\n" or char.isprintable() for char in plain))
        self.assertIn("\x1b[33mUNDECIDED\x1b[0m", coloured)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", coloured), plain)

    def test_text_and_page_can_be_encoded(self):
        comparison, rows = hostile()
        text_report(comparison, unicode=False).encode("ascii")
        for text in (text_report(comparison), markdown_report(comparison),
                     page.html_report(comparison, rows)):
            text.encode("utf-8")

    def test_wide_terminals_draw_the_slices_too(self):
        def slice_lines(width):
            return [line for line in text_report(sample(), width).split("\n") if line.startswith("language: ")]

        self.assertNotIn("├", "".join(slice_lines(80)))
        self.assertIn("├", "".join(slice_lines(120)))

    def test_worst_case_comes_first_and_what_is_left_out_is_counted(self):
        comparison, _ = many_cases(400, 4)
        comparison["cases"][50]["difference"] = -1.0
        lines = text_report(comparison).split("\n")
        start = next(i for i, line in enumerate(lines) if line.startswith("changed case"))
        self.assertTrue(lines[start + 1].startswith("case-200 "))
        self.assertIn("60 between these are left out", lines[start + 1 + 20])

    def test_null_figures_are_not_measured_with_the_reason(self):
        comparison = bare()
        comparison["noise_floor"]["reason"] = "one trial a case"
        comparison["decision"]["reason"] = "3 groups carry no interval"
        text = text_report(comparison)
        self.assertIn("There is no 95% interval by source group: 3 groups carry no interval.", " ".join(text.split()))
        self.assertIn("Noise floor: not measured: one trial a case.", text)
        self.assertNotIn("None", text)

    def test_each_verdict_names_the_number_it_is_held_against(self):
        for verdict, words in (("better", "lies above the gain worth shipping, +0.0500"),
                               ("worse", "lies below the loss that is tolerated, -0.0200"),
                               ("equivalent", "-0.0500 to +0.4000, lies within 0.0200 of zero"),
                               ("not worse", "rules out a loss of 0.0200"),
                               ("undecided", "does not rule out a loss of 0.0200")):
            comparison = sample()
            comparison["decision"] |= {"verdict": verdict, "claims": [verdict, "not worse"]}
            word, sentences = Words(comparison).verdict()
            self.assertEqual(word, verdict)
            self.assertIn(words, sentences)
            self.assertEqual("It is also not worse." in sentences, verdict != "not worse")

    def test_scores_of_a_hundred_have_two_places(self):
        comparison = sample() | {"score_range": [0, 100]}
        comparison["overall"]["difference"] = -12.3456
        self.assertIn("a difference of -12.35.", text_report(comparison))

    def test_cases_have_as_few_places_as_hold_them_all_and_tiny_chances_keep_two_digits(self):
        case = {"baseline": 0.4, "candidate": 0.2, "difference": -0.2, "by_chance": 1.234e-05}
        words = Words(sample())
        self.assertEqual(words.case_cells([case]), [["0.4", "0.2", "-0.2", "1.2e-05"]])
        self.assertEqual(words.case_cells([case, case | {"baseline": 0.25, "difference": 0}])[1][:3],
                         ["0.25", "0.20", "0.00"])
        self.assertEqual(words.case_cells([case | {"baseline": 0.3333}])[0][0], "0.3333")

    def test_cases_without_sources_have_one_bootstrap(self):
        comparison = sample()
        comparison["decision"]["unit"] = "case"
        self.assertEqual([row.label for row in Words(comparison).intervals()][:3],
                         ["By case, sign-flip", "By case, bootstrap", "By case, seeded"])

    def test_noise_floor_says_how_often_it_would_have_misled(self):
        for gate, share, said in ((None, 0.0, "A gain or a loss would be claimed on none of them."),
                                  ("better", 0.5,
                                   "The gate (better) would answer wrongly on a share of 0.5000 of them."),
                                  (None, None, "on a share of them that is not measured: too few.")):
            comparison = sample()
            comparison["noise_floor"] |= {"gate": gate, "gate_tripped_share": share, "reason": "too few"}
            self.assertTrue(Words(comparison).facts()["noise"].endswith(said), said)

    def test_long_lists_within_a_sentence_are_cut_and_counted(self):
        comparison = sample()
        comparison["incomplete"]["baseline"] = {"trials": 5000, "reasons": {f"error-{i}": 1 for i in range(5000)}}
        comparison["slices"]["language"]["en"]["same_cases_as"] = [f"tag: {i}" for i in range(5000)]
        words = Words(comparison)
        self.assertTrue(words.facts()["incomplete baseline"].endswith("error-8 1, error-9 1 and 4990 more)."))
        self.assertTrue(words.slices()[0].marks["="].endswith("tag: 8, tag: 9 and 4990 more"))

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

    def test_figures_of_millions_leave_the_lines_narrow(self):
        comparison = sample() | {"score_range": [0, 10_000_000]}
        part = comparison["slices"]["language"]["en"]
        part |= {key: part[key] * 10_000_000 for key in ("baseline", "candidate", "difference")}
        part["source_sign_flip"] = FLIP | {"interval_95": [-952_381, 4_285_712]}
        for width in (72, 80):
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
        self.assertEqual(set(re.findall(r"</?(\w+)", text)) - {"code", "details", "summary", "sub"}, set())

    def test_hostile_names_break_no_row(self):
        comparison, _ = hostile()
        text = markdown_report(comparison)
        self.check_shape(text)
        self.assertIn("1. &#91;net&#93;", text)
        self.assertIn("&#64;&#8203;octocat a/b&#35;&#8203;3", text)  # in a sentence, where GitHub looks for @names

    def test_figures_are_the_comparisons(self):
        text = markdown_report(sample())
        self.check_shape(text)
        for row in ("**By source, sign-flip (decides)** | exact, 64 sign patterns | 6 groups | -0.0952 to +0.4286",
                    ("<code>language: en</code> | few cases; incomplete trials: 1 before, 0 after | 6 | 6 | 0.6111 | "
                     "0.7222 | +0.1111 | -0.0952 to +0.4286 | 0.4375"),
                    "<code>refund</code> | 1.0000 | 0.6667 | -0.3333 | 1.0000"):
            self.assertIn(f"\n| {row} |\n", text)
        self.assertLess(text.index("<code>refund</code>"), text.index("<code>topics</code>"))
        for need in ("c" * 64, "small&#58;1b", "<code>v1</code> and <code>v2</code>", "20261020", "2000", "1.0.0"):
            self.assertIn(need, text)

    def test_limit_is_kept_by_leaving_out_cases_first_and_saying_so(self):
        comparison, _ = many_cases(6000, 1)
        text = markdown_report(comparison)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.assertIn("5500 changed cases between the 250 worst and the 250 best are left out here", text)
        self.assertIn("What does not fit into the 65,536 characters", text)
        self.assertIn("<details>", text)
        self.assertIn("<code>language: es</code>", text)
        part = comparison["slices"]["language"]["en"]
        comparison["slices"] = {"\u202e" * 99: {f"{'|' * 99}{i}": part for i in range(1000)}}
        comparison["warnings"] = [{"code": "x", "message": "|" * 5000, "advice": "@" * 5000}] * 150
        comparison["cases"] = comparison["cases"][:1000]
        for case in comparison["cases"]:
            case["case_id"] = "|" * 300
        text = markdown_report(comparison)
        self.assertLessEqual(len(text), MARKDOWN_LIMIT)
        self.check_shape(text)
        self.assertIn("more slices are left out here", text)
        self.assertIn("more warnings are left out here", text)

    def test_short_lists_are_not_folded(self):
        self.assertNotIn("<details>", markdown_report(sample()))
        self.assertIn("<summary>40 changed cases</summary>", markdown_report(many_cases(40, 1)[0]))


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
        self.assertIn("run task sha256", text)
        self.assertTrue(os.path.getsize(self.path("page.md")))

    def test_other_files_are_refused_by_name_and_nothing_is_written(self):
        other = self.path("other.json")
        files.write(other, json.dumps(sample() | {"comparison_version": "9"}))
        damaged, hollow = self.path("damaged.json"), self.path("hollow.json")
        files.write(damaged, json.dumps(sample() | {"slices": "x"}))
        files.write(hollow, json.dumps(sample() | {"warnings": [1]}))
        written = self.path("page.html")
        runs = ("--cases", self.cases, "--html", written, "--runs")
        for arguments, said in (((self.left,), "is a run record, not a comparison"),
                                ((other,), "comparison_version '9'; this tool reads '1'"),
                                ((damaged,), "damaged.json: not a whole comparison (AttributeError: 'str' object"),
                                ((hollow,), "hollow.json: not a whole comparison (TypeError: "),
                                ((self.path("none.json"),), "cannot read"),
                                ((self.comparison, *runs, self.right, self.left), "give the records it was made from"),
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
            self.assertEqual((status, err), (1, f"error: cannot write {path}: it is read as well; name another file\n"))
            self.assertEqual(files.read_bytes(path), before)

    def test_runs_without_cases_is_a_usage_error(self):
        status, _, err = self.run_main(self.comparison, "--runs", self.left, self.right)
        self.assertEqual(status, 2)
        self.assertIn("--runs and --cases go together", err)


class RulesTest(unittest.TestCase):
    def test_a_comparison_is_not_changed_by_reporting_it(self):
        comparison, rows = sample(), panel()
        before = copy.deepcopy((comparison, rows))
        text_report(comparison), markdown_report(comparison), page.html_report(comparison, rows)
        self.assertEqual((comparison, rows), before)

    def test_scales_hold_their_values_and_zero(self):
        self.assertEqual(scale_of([]).at(0), 0.5)
        for values in ([0.1], [-3], [1e-9, 2e-9], [-70000.0, 12], [0], [], [None], [0.0091, 0.0682]):
            scale = scale_of(values)
            ticks = [tick for tick, _ in scale.ticks()]
            self.assertTrue(0 in ticks and 2 <= len(ticks) <= 7, (values, ticks))
            self.assertEqual(len({label for _, label in scale.ticks()}), len(ticks))
            for value in (0, *(value for value in values if value)):
                self.assertTrue(0 < scale.at(value) < 1)

    def test_clip_keeps_both_ends_and_the_width(self):
        for text in HOSTILE:
            text = clean(text)
            for width in range(5, 90):
                cut = clip(text, width)
                self.assertLessEqual(columns(cut), width)
                if cut != text:
                    self.assertTrue(text.startswith(cut.partition("…")[0]) and text.endswith(cut.rpartition("…")[2]))


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(wording))
    return tests


GOLDEN = """\
told v1 against told v2: 7 cases of inbox, 6 source groups, 3 trials a case.

UNDECIDED
  The candidate scores 0.8095, the baseline 0.5714: a difference of +0.2381. The
  95% interval by source group, -0.0952 to +0.4286, does not rule out a loss of
  0.0200. About 21 source groups would decide a difference of this size; there
  are 6. The gate (better) is not met.

Is it larger than the noise?
95% interval                                from, to       0     +0.2   +0.4
By source, sign-flip <  6 groups  -0.0952 to +0.4286    [-----------o------]
By source, bootstrap    6 groups  -0.0556 to +0.4444     [----------o-------]
By case, bootstrap       7 cases  -0.0477 to +0.4763      [---------o--------]
By case, seeded          7 cases  -0.0476 to +0.4762      [---------o--------]
By trial                21 pairs  +0.0476 to +0.3810       |:[------o-----]
Noise floor             3 splits  -0.0952 to +0.0952    [------]
  < decides; | no difference; o the difference; : margin of 0.0200; : gain worth
  shipping, +0.0500.
  Two halves of the baseline's own trials (1 a half, 3 splits) differ by 0.0317
  on average and by 0.0952 at most. The gate (better) would answer wrongly on a
  share of 0.1667 of them.
  Were all incomplete trials to go against the candidate, or all for it, the
  difference would be +0.1905 or +0.2382.
  Incomplete trials of the baseline: 1 (Incomplete 1).

Where did it come from?
  Of 21 pairs of trials 11 pass in both, 6 only in the candidate, 1 only in the
  baseline, 3 in neither.
  4 cases moved by at least 1 trial; had only the sampling changed, 1.50 would
  be expected to.
changed case, worst first  before   after    diff.  by chance
refund                     1.0000  0.6667  -0.3333     1.0000
topics                     0.6667  1.0000  +0.3333     1.0000
late--es                   0.3333  1.0000  +0.6667     0.4000
login                      0.0000  0.6667  +0.6667     0.4001

Whom does it help?
slice         cases  grp  before   after    diff.    95% by source  adj. p
language: en      6    6  0.6111  0.7222  +0.1111  -0.0952 +0.4286  0.4375  *?
language: es      1    1  0.3333  1.0000  +0.6667                -       -  *-=
  * few cases; - too few groups for a 95% interval; = same cases as another
  slice; ? incomplete trials.
  2 slices compared; the adjusted p-values allow for that (exact, 64 sign
  patterns).

Warnings
[1] sources: 6, which is few; record more of them.
"""

if __name__ == "__main__":
    unittest.main()
