"""Is the page well formed, complete and equal to the comparison, whatever names and sizes it holds?

    $ python3 -m unittest test_page

The comparison and its run records are those of test_report.py.
"""

import os
import re
import time
import unittest
from html import escape
from html.parser import HTMLParser
from unittest import mock

import report
from views import page
from views.words import Words
from tests.test_report import CASES, FEW, FLIP, bare, hostile, many_cases, panel, sample


class Page(HTMLParser):
    """A page read strictly: every tag closed in order; ids, references, tables and texts kept."""

    VOID = frozenset(("meta", "br", "hr", "img", "input", "link"))

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.hrefs, self.tags, self.errors = [], [], [], [], []
        self.tables, self.drawings, self.headings, self.inside = [], [], [], []
        self.feed(text)
        self.close()
        self.errors += [f"never closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        if len(attrs) != len(dict(attrs)):
            self.errors.append(f"attribute twice in {tag}")
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.hrefs += [attrs["href"]] if "href" in attrs else []
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
            self.inside.append(self.tables[-1])
        elif tag == "tr":
            self.inside[-1]["rows"].append([])
        elif tag in ("th", "td"):
            self.inside[-1]["rows"][-1].append("")
        elif tag == "svg":
            self.drawings.append([attrs, None])

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.errors.append(f"</{tag}> at {self.getpos()} closes {self.open[-1:]}")
        else:
            self.open.pop()
        if tag == "table":
            self.inside.pop()

    def handle_data(self, data):
        if self.open[-1:] == ["title"] and "svg" in self.open:
            self.drawings[-1][1] = data
        elif "caption" in self.open:
            self.inside[-1]["caption"] += data
        elif self.inside and self.inside[-1]["rows"][-1:] != [[]]:
            self.inside[-1]["rows"][-1][-1] += data
        elif self.open[-1:] == ["h2"]:
            self.headings.append(data)

    def table(self, caption):
        return next(table["rows"] for table in self.tables if table["caption"].startswith(caption))


def numbers(text):
    """Return the numbers of a page's text, its minus signs read as such."""
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d+|[-+]?\d+", text.replace("−", "-"))]


class PageTest(unittest.TestCase):
    def check(self, text):
        """Return the page: well formed, references resolved, tables and drawings as a screen reader needs them."""
        seen = Page(text)
        self.assertEqual(seen.errors, [])
        self.assertEqual(len(seen.ids), len(set(seen.ids)), "an id stands twice")
        self.assertEqual({href for href in seen.hrefs if href[:1] != "#" or href[1:] not in seen.ids}, set())
        self.assertEqual({tag for tag, _ in seen.tags} & {"script", "img", "link", "iframe", "object", "base"}, set())
        for tag, attrs in seen.tags:
            self.assertFalse([name for name in attrs if name.startswith("on") or name in ("src", "srcset", "action")])
            self.assertNotIn("url(", attrs.get("style", "") + page.STYLE)
            if tag == "th":
                self.assertIn(attrs.get("scope"), ("col", "row", "rowgroup"))
        self.assertTrue(all(table["caption"].strip() for table in seen.tables))
        for attrs, title in seen.drawings:
            hidden = attrs.get("aria-hidden") == "true" or not attrs.get("class")  # a cap inside of a titled drawing
            self.assertTrue(hidden or title, attrs)
        return seen

    def test_every_kind_of_comparison_is_well_formed(self):
        folder = os.path.dirname(os.path.abspath(__file__))
        old = report.read_comparison(os.path.join(folder, "data", "published-comparison.json"))  # has fewer keys
        unchanged = sample() | {"cases": []}
        for comparison, rows in ((sample(), panel()), (sample(), []), (bare(), []), (old, []), (unchanged, panel()),
                                 hostile(), many_cases(1, 1), many_cases(400, 7, trials=20)):
            self.check(page.html_report(comparison, rows))

    def test_three_questions_stand_in_order(self):
        seen = self.check(page.html_report(sample(), panel()))
        questions = ["Is it larger than the noise?", "Where did it come from?", "Whom does it help?"]
        self.assertEqual(seen.headings[:3], questions)
        self.assertEqual(seen.headings[3:], ["What to buy next", "Warnings (1)", "How it was measured"])

    def test_figures_are_the_comparisons(self):
        comparison = sample()
        overall = comparison["overall"]
        seen = self.check(page.html_report(comparison, panel()))
        spans = [numbers(row[2].replace(" to ", " ")) for row in seen.table("95% intervals")[1:]]
        self.assertEqual(spans, [FLIP["interval_95"], overall["source_cluster_interval_95"],
                                 overall["exact_interval_95"],
                                 overall["interval_95"], overall["trial_level_interval_95"], [-0.0952, 0.0952]])
        en, es = [row for row in seen.table("Difference by slice") if row[0][:2] in ("en", "es")]
        self.assertEqual([numbers(cell.replace(" to ", " ")) for cell in en[2:]],
                         [[0.1111], [-0.0952, 0.4286], [0.4375], [6], [6], [0.6111], [0.7222]])
        self.assertEqual(es[3:5], ["not measured", "not measured"])
        self.assertIn("en: by source group −0.0952 to +0.4286, by case −0.1111 to +0.3889", [
            title for _, title in seen.drawings])
        self.assertTrue(es[0].endswith(f"few cases; {FEW['reason']}; same cases as variant: translation"))
        self.assertEqual([row[1:] for row in seen.table("Pairs of trials")[1:]], [["11", "1", "12"], ["6", "3", "9"],
                                                                                ["17", "4", "21"]])
        self.assertEqual([row[2:] for row in seen.table("Cases that moved")[1:]], [["4", "1.50"], ["2", "0.25"]])
        widths = list(comparison["half_width"].values())[:5]
        self.assertEqual([float(row[2]) for row in seen.table("Half of the")[1:]], widths)
        self.assertIn(["variance design effect", "1.1752"], seen.table("All that decides"))
        self.assertEqual(numbers(" ".join(seen.table("What else differs")[1][1:])), [7, 1.5, 2.25, 0.75, 0.5, 1.0])

    def test_drawn_ends_are_the_intervals(self):
        text = page.html_report(sample())
        row = re.search(r"<tr[^>]*><th scope=\"row\">By trial.*?</tr>", text)[0]
        found = re.search(r'"zero" x1="([\d.]+)%.*"ci contrast" x1="([\d.]+)%" x2="([\d.]+)%.*cx="([\d.]+)%', row)
        zero, low, high, point = map(float, found.groups())
        self.assertAlmostEqual((low - zero) / (high - zero), 0.0476 / 0.381, places=3)
        self.assertAlmostEqual((point - zero) / (high - zero), 0.2381 / 0.381, places=3)
        self.assertEqual(text.count('class="band"'), len(re.findall('class="zero" x1="(?!50%)', text)))
        left, width = map(float, re.search(r'class="band" x="([\d.]+)%" width="([\d.]+)%', row).groups())
        self.assertAlmostEqual(left + width / 2, zero, delta=0.02)
        self.assertIn("margin ±0.0200", text)
        self.assertIn("gain wanted +0.0500", text)

    def test_histogram_shows_every_share_and_pales_beyond_the_ends(self):
        bars = re.findall(r'<rect class="(bar|bar tail)" x="[\d.]+%" width="[\d.]+%" y="[\d.]+%" height="([\d.]+)%"',
                          page.html_report(sample()))
        heights, shares = [float(height) for _, height in bars], sample()["overall"]["exact_distribution"]["shares"]
        for height, share in zip(heights, shares, strict=True):
            self.assertAlmostEqual(height / max(heights), share / max(shares), places=3)
        narrow = sample()
        narrow["overall"]["exact_interval_95"] = [-0.0477, 0.3]
        kinds = re.findall(r'<rect class="(bar|bar tail)" x="', page.html_report(narrow))
        self.assertEqual(kinds, ["bar tail", "bar tail", "bar", "bar", "bar", "bar tail", "bar tail"])
        self.assertRegex(page.html_report(sample()), r'class="point exact" cx="[\d.]+%" cy="88%"')

    def test_panel_shows_the_recorded_trials_and_brackets_sources(self):
        text = page.html_report(sample(), panel())
        seen = self.check(text)
        told = [title for attrs, title in seen.drawings if attrs.get("class") == "strip"]
        self.assertEqual(told[:4], ["baseline: 3 pass; candidate: 1 pass, 1 fail, 1 pass",
                                    "baseline: 1 pass, 1 fail, 1 pass; candidate: 3 pass",
                                    "baseline: 2 fail, 1 pass; candidate: 3 pass",
                                    "baseline: 1 fail, 1 incomplete, 1 fail; candidate: 2 pass, 1 fail"])
        self.assertEqual(len(told), 4 + len(CASES))
        refund = seen.table("Changed cases, worst first")[1]
        self.assertEqual([numbers(cell) for cell in (*refund[2:4], *refund[5:])], [[1.0], [0.6667], [-0.3333], [1.0]])
        self.assertEqual(set(re.findall(r'rowgroup" colspan="(\d)"><b>', text)), {"3"}, "a phone shows three columns")
        rows = seen.table("All 7 cases in file order")
        self.assertEqual(rows[2][2:4] + rows[2][5:], ["1.0000", "1.0000", "0.0000", ""])
        self.assertEqual([row[0] for row in rows[1:4]], ["late 2 cases, 1 changed", rows[2][0], "late--es"])
        self.assertEqual(text.count('<tbody class="group">'), 1)
        self.assertEqual(text.count('href="#case-2"'), 1)
        self.assertLess(text.index('id="case-3"'), text.index('id="case-6"'), "worst first")

    def test_pairs_that_differ_are_tinted_and_the_baseline_stands_above(self):
        text = page.html_report(sample(), panel())
        strips = {case_id: re.search(rf'id="case-{number}".*?class="strip".*?</svg>', text, re.DOTALL)[0]
                  for number, case_id in enumerate([row[0] for row in CASES], start=1)}
        self.assertIn('class="lost" d="M14.5,0h13v28h-13z"/>', strips["refund"])
        self.assertIn('class="won" d="M0.5,0h13v28h-13zM14.5,0h13v28h-13z"/>', strips["login"])
        self.assertIn('class="fail" d="M21,21m', strips["refund"])
        self.assertIn('class="fail" d="M7,7m', strips["login"])
        self.assertIn('class="incomplete" d="M21,7m', strips["login"])

    def test_observed_bars_and_expected_lines_share_a_scale(self):
        rows = re.search(r"<caption>Cases that moved.*?</table>", page.html_report(sample()))[0]
        found = re.findall(r'class="bar"[^>]*width="([\d.]+)%.*?class="edge" x1="([\d.]+)%', rows)
        self.assertEqual(found, [("94.00", "35.25"), ("47.00", "5.88")])  # 4 and 2 observed, 1.5 and 0.25 expected

    def test_opened_case_shows_input_expected_and_both_outputs_marked(self):
        text = page.html_report(sample(), panel())
        case = re.search(r'<tr id="case-4">.*?</details>', text, re.DOTALL)[0]
        self.assertIn("<pre>Message &lt;login&gt; &amp; more</pre>", case)
        self.assertIn("<pre>{&quot;category&quot;: &quot;billing&quot;, &quot;needs_human&quot;: false}</pre>", case)
        self.assertIn("&quot;<del>delivery</del>&quot;", case)
        self.assertIn("&quot;<ins>billing</ins>&quot;", case)
        self.assertIn("incomplete: Incomplete: cut off at &lt;64&gt; tokens", case)
        self.assertIn("{&quot;category\\&quot;: \\&quot;bil".replace("\\&", "\\&").replace("{&", "{\\&"), case)
        self.assertIn("seed 1003", case)

    def test_marks_leave_the_texts_whole_and_their_work_is_bounded(self):
        rows = page._Panel(Words(sample()), [])
        for one, other in (("a b c", "a x c"), ("", "x"), ("same", "same"), ("<&>", "<x>"), ("x\n\ny", "x\ny")):
            marked = rows.differences(one, other)
            for text, html in zip((one, other), marked):
                self.assertEqual(re.sub("</?(?:del|ins)>", "", html), escape(text))
        self.assertEqual(rows.differences("a b c", "a x c"), ("a <del>b</del> c", "a <ins>x</ins> c"))
        long = [" ".join(str(i * step) for i in range(2000)) for step in (1, 2)]
        self.assertEqual(rows.differences(*long), tuple(long))
        self.assertLess(rows.work, page.MARKED_WORK)
        rows.work = 300
        self.assertEqual(rows.differences("a b d", "a y d"), ("a b d", "a y d"))

    def test_long_output_is_cut_and_said(self):
        self.assertEqual(page._shown("x" * 5000), "x" * 4000 + "… (1000 more characters are left out here)")
        self.assertEqual(page._shown({"text": "a\nb\x00"}), "a\nb\\x00")

    def test_scores_other_than_pass_and_fail_are_columns(self):
        class Trial:
            def __init__(self, score, seed=1, reason=None):
                self.score, self.seed, self.reason, self.output = score, seed, reason, None

        class Pair:
            cases = (type("Case", (), {"id": "c", "source": None, "input": None}),)
            sides = (type("Side", (), {"trials": [[Trial(0.25), Trial(1, 2)]]}), type("Side", (), {"trials": [
                [Trial(0.75), Trial(None, 3, "timeout")]]}))

        rows = page.pair_panel(Pair)
        self.assertEqual([trial["seed"] for trial in rows[0]["trials"]], ["1", "2", "3"])
        after = [trial["candidate"] for trial in rows[0]["trials"]]
        self.assertEqual([outcome and outcome["score"] for outcome in after], [0.75, None, None])
        comparison = sample() | {"cases": [], "trial_pairs": None, "trial_pairs_reason": "scores are not pass or fail"}
        seen = self.check(page.html_report(comparison, rows))
        told = [title for _, title in seen.drawings]
        self.assertIn("baseline: 1 0.2500, 1 1.0000; candidate: 1 0.7500, 1 incomplete", told)
        text = page.html_report(comparison, rows)
        self.assertIn("other scores as columns", text)
        self.assertRegex(text, r'class="score" d="M7,13v-3\.[78]M7,27v-9\.[23]M21,13v-12\.0"')
        for missing, share in (("drop", "0.75"), ("zero", "0.38")):
            swapped = [{**trial, "baseline": trial["candidate"]} for trial in rows[0]["trials"]]
            cells = page._Panel(Words({"missing": missing, "score_range": [0, 100]}), [
                {**rows[0], "trials": swapped}]).cells["c"]
            self.assertEqual(cells[0], share)
        Pair.sides[0].trials = [[Trial(1), Trial(0, 2)]]
        Pair.sides[1].trials = [[Trial(0)]]
        before = [trial["baseline"] for trial in page.pair_panel(Pair)[0]["trials"]]
        self.assertEqual([outcome["verdict"] for outcome in before], ["pass", "fail"])

    def test_excluded_cases_are_listed_and_not_in_the_panel(self):
        comparison = sample() | {"excluded": [{"case_id": "advice", "side": "baseline", "reason": "<timeout>"}],
                                 "uneven_trials": [{"case_id": "late", "baseline": 2, "candidate": 5}]}
        seen = self.check(page.html_report(comparison, panel()))
        self.assertIn(["left out: advice", "<timeout>", "–"], seen.table("All that decides"))
        self.assertIn(["trials of late", "2", "5"], seen.table("All that decides"))
        self.assertEqual(len(seen.table("All 6 cases in file order")), 1 + 6 + 1)

    def test_ten_thousand_cases_stay_light_and_say_what_is_left_out(self):
        for changed_every, said in ((1, "9000 changed cases between these are left out"),
                                    (40, "9750 cases are folded away")):
            comparison, rows = many_cases(10_000, changed_every)
            start = time.perf_counter()
            text = page.html_report(comparison, rows)
            self.assertLess(time.perf_counter() - start, 5)
            self.assertLess(len(text.encode()), 20_000_000)
            self.assertTrue(said in text, said)
            self.assertIn("<summary>All 10000 cases in file order, those unchanged folded</summary>", text)

    def test_wide_characters_and_many_trials_stay_light_too(self):
        for count, trials, told in ((10_000, 5, "<th scope=\"col\" style=\"width:88px\">Trials 1–5</th>"),
                                    (2_000, 300, "Trials 1–50 of 300</th>")):
            comparison, rows = many_cases(count, 1, trials)
            for row in rows:
                row["input"] = {"text": "\U0001f600" * 3000}
                row["trials"][1::2] = [trial | {"candidate": trial["candidate"] | {"verdict": "fail", "score": 0}}
                                       for trial in row["trials"][1::2]]
            text = page.html_report(comparison, rows)
            self.assertLess(len(text.encode()), 20_000_000)
            self.assertIn(told, text)

    def test_what_does_not_open_is_counted(self):
        comparison, rows = many_cases(60, 1)
        for row in rows:
            row["input"] = {"text": "<" * 4000}
        with mock.patch.object(page, "OPENED_BYTES", 100_000):
            text = page.html_report(comparison, rows)
        closed = int(re.search(r"(\d+) of the changed cases do not open here", text)[1])
        self.assertEqual(closed + text.count("<details><summary><bdi>"), 60)

    def test_text_contrast_is_at_least_four_and_a_half_in_light_and_dark(self):
        def luminance(colour):
            channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
            return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))  # WCAG 2.2

        palettes = re.findall(r":root\{\s*(--paper.*?)\}", page.STYLE, re.DOTALL)[:2]
        self.assertEqual(len(palettes), 2)
        for palette in palettes:
            colours = dict(re.findall(r"--([\w-]+):(#\w{6})", palette))
            pairs = [(ink, "paper") for ink in ("ink", "soft", "up", "down", "hold")]
            for ink, ground in pairs + [("ink", "up-tint"), ("ink", "down-tint"), ("soft", "band")]:
                light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, (ink, ground, colours))


if __name__ == "__main__":
    unittest.main()
