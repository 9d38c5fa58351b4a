"""Is the page well formed, complete and equal to the comparison, whatever names and sizes it holds?

    $ python3 -m unittest tests.test_page

The comparison and its run records are those of test_report.py.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import unittest
from fractions import Fraction
from html import escape
from html.parser import HTMLParser
from unittest import mock

from core import trials
from views import page
from tests.test_report import CASES, bare, hostile, html_report, many_cases, pair_of_runs, sample, saved


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


def said_of_both(text):
    """Return what a page says of both sides: {what: its HTML, with what differs marked}."""
    return dict(re.findall('<div class="sides"><span>(.*?)</span><pre>(.*?)</pre></div>', text, re.DOTALL))


def numbers(text):
    """Return the numbers of a page's text, its minus signs read as such."""
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d+|[-+]?\d+", text.replace("−", "-"))]


# As much of a browser as page.js uses. cases: (id, name, flags) of each row; what it did is told as JSON.
BROWSER = """
const [script, total, hash, cases] = JSON.parse(require("fs").readFileSync(0));
const made = [], scrolled = [], listeners = {};
const node = (more) => ({ dataset: {}, options: [], value: "", append(...inside) { this.options = inside; },
  setAttribute() {}, querySelector: () => null, ...more });
const rows = cases.map(([id, name, flags]) => node({ id, hidden: false, tagName: "TR", textContent: name,
  dataset: { f: flags, d: "0" }, querySelector: (asked) => asked === "th bdi" ? { textContent: name } : null,
  closest() { return this; }, scrollIntoView() { scrolled.push(name); } }));
const box = node({ dataset: { n: total }, querySelector: () => ({ before() {} }),
  querySelectorAll: (asked) => asked.endsWith("tr[data-f]") ? rows : [] });
global.document = { getElementById: (id) => id === "all-cases" ? box : rows.find((row) => row.id === id) || null,
  createElement(tag) { made.push(node({ tag })); return made.at(-1); } };
global.location = { hash, replace(address) { this.hash = address; listeners.hashchange(); } };
global.addEventListener = (kind, listener) => { listeners[kind] = listener; };
(0, eval)(script);
const show = made.find((one) => one.tag === "select");
const told = { show: show.options.map((one) => one.options[0]), address: location.hash, first: [...scrolled] };
show.value = "worse";
show.onchange();
told.left = made.find((one) => one.tag === "output").textContent;
listeners.click({ target: { closest: () => ({ hash: location.hash }) } });
listeners.click({ target: { closest: () => ({ hash: "#elsewhere" }) } });
console.log(JSON.stringify({ ...told, scrolled, hidden: rows.filter((row) => row.hidden).length }));
"""


def browsed(names, total, address="", flags=("same", "worse")):
    """Return what page.js does on a page of cases of these names, opened at an address."""
    cases = [(page._address(name), name, flag) for name, flag in zip(names, flags, strict=True)]
    done = subprocess.run(["node", "-e", BROWSER], input=json.dumps([page.SCRIPT, total, address, cases]),
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class PageTest(unittest.TestCase):
    def check(self, text):
        """Return the page: well formed, references resolved, tables and drawings as a screen reader needs them."""
        seen = Page(text)
        self.assertEqual(seen.errors, [])
        self.assertEqual(len(seen.ids), len(set(seen.ids)), "an id is there twice")
        self.assertEqual({href for href in seen.hrefs if href[:1] != "#" or href[1:] not in seen.ids}, set())
        self.assertEqual({tag for tag, _ in seen.tags} & {"img", "link", "iframe", "object", "base"}, set())
        self.assertEqual([attrs for tag, attrs in seen.tags if tag == "script"], [{}])
        for tag, attrs in seen.tags:
            self.assertFalse([name for name in attrs if name.startswith("on") or name in ("src", "srcset", "action")])
            self.assertNotIn("url(", attrs.get("style", "") + page.STYLE)
            if tag == "th":
                self.assertIn(attrs.get("scope"), ("col", "row"))
        self.assertTrue(all(table["caption"].strip() for table in seen.tables))
        for attrs, title in seen.drawings:
            hidden = attrs.get("aria-hidden") == "true" or not attrs.get("class")  # a cap inside of a titled drawing
            self.assertTrue(hidden or title, attrs)
        return seen

    def test_every_kind_of_comparison_is_well_formed(self):
        unchanged = sample() | {"cases": []}
        for comparison, pair in ((sample(), pair_of_runs()), (sample(), None), (bare(), None),
                                 (unchanged, pair_of_runs()), hostile(),
                                 (saved("published-comparison.json"), None), (saved("comparison-version-1.json"), None),
                                 many_cases(1, 1), many_cases(50, 7, 20)):
            self.check(html_report(comparison, pair))

    def test_warnings_are_shown_once_below_the_verdict_and_sections_in_order(self):
        text = html_report(sample(), pair_of_runs())
        self.assertEqual(self.check(text).headings, [
            "Warnings (1)", "What was changed", "Is it larger than the noise?", "Cost, latency and tokens",
            "Where did it come from?", "Which slices changed?", "How consistent is it?", "What to record next",
            "Other intervals, for contrast", "How it was measured"])
        self.assertEqual(text.count("Sources: 6, which is few"), 1)

    def test_figures_are_the_comparisons(self):
        seen = self.check(html_report(sample(), pair_of_runs()))
        self.assertEqual([numbers(row[2].replace(" to ", " ")) for row in seen.table("The difference,")[1:3]],
                         [[0.0123, 0.4639], [-0.0952, 0.4286]])
        self.assertEqual([row[0] for row in seen.table("Sources, worst first")[1:]],
                         ["refund" + "refund", "advice" + "advice", "(no source) alone", "late" + "late--es, late",
                          "topics" + "topics", "login" + "login"])
        spans = [numbers(row[2].replace(" to ", " ")) for row in seen.table("Other intervals")[1:]]
        overall = sample()["overall"]
        self.assertEqual(spans, [overall["source_cluster_interval_95"], overall["exact_interval_95"],
                                 overall["interval_95"], overall["trial_level_interval_95"], [-0.2381, 0.4286],
                                 [-0.05, 0.4], [-0.2, 0.5], [-0.0952, 0.0952]])
        en, es = seen.table("Slices, worst first")[1:]
        self.assertEqual([numbers(cell.replace(" to ", " ")) for cell in en[2:]],
                         [[6], [6], [0.6111], [0.7222], [0.1111], [-0.0952, 0.4286], [0.4375]])
        self.assertEqual(es[-2:], ["not measured", "not measured"])
        self.assertIn("same cases as variant: translation", es[0])
        self.assertEqual([row[1:] for row in seen.table("Cases that moved")[1:]], [["4", "1.5"], ["2", "0.25"]])
        self.assertEqual([float(row[1]) for row in seen.table("What would make")[1:]],
                         list(sample()["half_width"].values())[:5])
        self.assertEqual(said_of_both(html_report(sample()))["variance design effect"], "1.1752")
        self.assertEqual(seen.table("Mean of a case")[1], [
            "latency, seconds", "1.5", "2.25", "+0.75", "+50%", "+0.5 to +1"])

    def test_drawn_ends_are_the_intervals(self):
        text = html_report(sample())
        row = re.search(r"<tr[^>]*><th scope=\"row\"><bdi>By trial.*?</tr>", text)[0]
        found = re.search(r'"zero" x1="([\d.]+)%.*"ci" x1="([\d.]+)%" x2="([\d.]+)%.*cx="([\d.]+)%', row)
        zero, low, high, point = map(float, found.groups())
        self.assertAlmostEqual((low - zero) / (high - zero), 0.0476 / 0.381, places=3)
        self.assertAlmostEqual((point - zero) / (high - zero), 0.2381 / 0.381, places=3)
        edges = [float(edge) for edge in re.findall(r'"edge" x1="([\d.]+)%', row)]
        for edge, value in zip(edges, (-0.02, 0.02, 0.05), strict=True):
            self.assertAlmostEqual((edge - zero) / (high - zero), value / 0.381, places=3)

    def test_every_source_is_a_dot_and_those_of_one_place_are_stacked(self):
        row = re.search(r"<tr[^>]*><th scope=\"row\"><bdi>Sources, lowest.*?</tr>", html_report(sample()))[0]
        dots = re.findall(r'class="dot" cx="([\d.]+%)" cy="([\d.]+%)"', row)
        self.assertEqual((len(dots), len(set(dots)), len({x for x, _ in dots})), (6, 6, 4))
        comparison = sample()
        comparison["sources"] = comparison["sources"] * 100
        self.assertNotIn('class="dot"', html_report(comparison))

    def test_changed_cases_come_first_with_all_their_trials(self):
        text = html_report(sample(), pair_of_runs())
        seen = self.check(text)
        strips = [title for attrs, title in seen.drawings if attrs.get("class") == "strip"]
        self.assertEqual(strips[:4], ["baseline: pass, pass, pass; candidate: pass, fail, pass",
                                      "baseline: pass, fail, pass; candidate: pass, pass, pass",
                                      "baseline: fail, fail, pass; candidate: pass, pass, pass",
                                      "baseline: fail, incomplete, fail; candidate: pass, pass, fail"])
        self.assertEqual(len(strips), len(CASES))
        refund = seen.table("Changed cases")[1]
        self.assertEqual([numbers(cell) for cell in refund[2:]], [[1.0], [0.6667], [-0.3333], [1.0]])
        same = seen.table("3 cases that did not change")
        self.assertEqual(same[1][2:], ["", "", "0.0000", ""])
        self.assertEqual([row.count("late") > 0 for row in (same[1][0], same[2][0], same[3][0])], [True, False, False])
        for name in ("refund", "late--es", "charged"):
            self.assertIn(f'id="case-{name}"', text)
        for cell in ('<td class="n worse">-0.3333</td>', '<td class="n better">+0.6667</td>',
                     '<td class="n same">0.0000</td>'):
            self.assertIn(cell, text)

    def test_rows_have_what_the_script_filters_by(self):
        text = html_report(sample(), pair_of_runs())
        for name, flags in (("refund", "worse unsteady"), ("login", "better unsteady incomplete"), ("late", "same")):
            row = re.search(rf'<tr id="case-{name}" data-f="([^"]*)" data-d="([^"]*)" data-i="([^"]*)" '
                            rf'data-t="([^"]*)" data-s="([^"]*)"><th scope="row"><details><summary><bdi>{name}</bdi>',
                            text)
            place = [case_id for case_id, *_ in CASES].index(name)
            self.assertEqual((row[1], row[3], row[4], row[5]), (flags, f"{place}", "language: en", name))

    @unittest.skipUnless(shutil.which("node"), "page.js needs a JavaScript engine")
    def test_a_filter_counts_what_is_shown_as_such(self):
        self.assertIn('<div id="all-cases" data-n="7" ', html_report(sample(), pair_of_runs()))
        for total, show, left in (
                ("2", ["all 2 cases", "worse (1)", "the same (1)"], "1 of 2 cases"),
                ("7", ["2 shown of 7", "worse (1 shown)", "the same (1 shown)"], "1 of 2 shown cases")):
            told = browsed(["a", "b"], total)
            self.assertEqual((told["show"], told["left"]), (show, left))

    def test_scores_of_0_and_1_in_another_range_are_no_passes(self):
        for score_range, passes in (([0, 1], True), ([0, 10], False)):
            text = html_report(sample() | {"score_range": score_range}, pair_of_runs())
            self.assertEqual('<path class="score"' in text, not passes)

    def test_a_trial_that_was_dropped_counts_nowhere_on_the_page(self):
        comparison, pair = sample(), pair_of_runs()
        one_lost = [[trial._replace(score=None if t == 2 else 1) for t, trial in enumerate(case)]
                    for case in pair.candidate.trials]
        pair = pair._replace(candidate=pair.candidate._replace(trials=one_lost))
        for missing, counted in (("drop", False), ("zero", True)):
            text = html_report(comparison | {"missing": missing}, pair)
            flags = re.findall(' data-f="([^"]*)"', text)
            self.assertTrue(all("incomplete" in of_case for of_case in flags))
            self.assertEqual(any("unsteady" in of_case for of_case in flags), counted, missing)
            self.assertEqual('<path class="lost"' in text, counted, missing)

    @unittest.skipUnless(shutil.which("node"), "page.js needs a JavaScript engine")
    def test_an_id_typed_as_it_is_opens_its_case_and_a_link_to_it_does_so_again(self):
        for name, typed in (("a", "a"), ("gsm8k/12", "gsm8k/12"), ("x@|\\*'&", "x@|\\*'&"), ("50% a", "50%%20a"),
                            ("a<b/c", "a%3Cb/c"), ("a%20b", "a%20b"), ("é:1", "%C3%A9:1"), ("100%ab", "100%ab")):
            told = browsed([name, "b"], "2", f"#case-{typed}")
            self.assertEqual((told["address"], told["first"]), (f"#{page._address(name)}", [name]))
            self.assertEqual((told["scrolled"], told["hidden"]), ([name, name], 0), "hidden by a filter, then clicked")
        told = browsed(["a", "b"], "2", "#case-c")
        self.assertEqual((told["address"], told["scrolled"], told["hidden"]), ("#case-c", [], 1))

    def test_unsteady_are_the_cases_that_do_not_always_pass(self):
        for after, flags in (((1, None), "same unsteady incomplete"), ((1, 0), "same unsteady"), ((1, 1), "same"),
                             ((None, None), "same incomplete")):
            pair = self.pair([(1, 1, None)] * 2, [(score, seed, None) for seed, score in enumerate(after, start=1)])
            self.assertIn(f'data-f="{flags}"', html_report(sample() | {"cases": []}, pair))
        for high, after, flags in ((100, (100, 0), "same unsteady"), (Fraction(1, 100), (Fraction(1, 100), 0),
                                   "same unsteady"), (1, (1, Fraction(1, 2)), "same unsteady"), (1, (0, 0.5), "same")):
            pair = self.pair([(1, 1, None)] * 2, [(score, seed, None) for seed, score in enumerate(after, start=1)])
            comparison = sample() | {"cases": [], "score_range": [0, float(high)]}
            self.assertIn(f'data-f="{flags}"', html_report(comparison, pair._replace(score_range=(0, high))))

    def test_only_slices_of_the_comparison_are_to_be_filtered_by(self):
        pair = self.pair([(1, 1, None)], [(1, 1, None)], tags=(("language", "en"), ("uniq", "7"), ("language", "fr")))
        self.assertIn('data-t="language: en"', html_report(sample() | {"cases": []}, pair))

    def test_texts_that_repeat_themselves_are_not_marked_word_by_word(self):
        marker, pair = page._Marker(), ("0, 1, " * 300, "0, 2, " * 300)
        self.assertEqual(marker.pieces(*pair), [tuple(f"<{tag}{page.LINES}>{text}</{tag}>"
                                                      for tag, text in zip(("del", "ins"), pair, strict=True))])
        self.assertGreater(marker.work, page.MARKED_WORK - 9)

    def test_a_caption_says_no_order_that_sorting_makes_false(self):
        captions = [table["caption"] for table in self.check(html_report(sample(), pair_of_runs())).tables]
        self.assertLessEqual({"Changed cases", "3 cases that did not change"}, set(captions))

    def test_hyphens_that_a_user_typed_and_those_of_figures_stay(self):
        text = html_report(sample() | {"score_range": [-5, 0], "options": {"must_pass": ["neg=-2"]}})
        self.check(text)
        self.assertEqual(said_of_both(text)["score range"], "[-5, 0]")
        self.assertEqual(said_of_both(text)["options must pass"], "[&quot;neg=-2&quot;]")
        self.assertNotIn("−", text)

    def test_a_pair_that_differs_is_tinted_incomplete_like_failed(self):
        text = html_report(sample(), pair_of_runs())
        strips = {row[0]: re.search(rf"id=\"case-{row[0]}\".*?class=\"strip\".*?</svg>", text, re.DOTALL)[0]
                  for row in CASES}
        self.assertIn('class="lost" d="M14.5,0h13v28h-13z"/>', strips["refund"])
        self.assertIn('class="won" d="M0.5,0h13v28h-13zM14.5,0h13v28h-13z"/>', strips["login"])
        self.assertIn('class="fail" d="M21,21m', strips["refund"])
        self.assertIn('class="fail" d="M7,7m', strips["login"])
        self.assertIn('class="incomplete" d="M21,7m', strips["login"])
        pair = self.pair([(None, 1, None)], [(1, 1, None)])
        self.assertIn('class="won" d', html_report(sample(), pair))
        self.assertNotIn('class="won" d', html_report(sample(), self.pair([], [(1, 1, None)])))
        below_zero = sample() | {"score_range": [-1, 1]}  # where 0 is no lack of an answer
        text = html_report(below_zero, self.pair([(None, 1, None)], [(-0.5, 1, None)]))
        self.assertIn('class="won" d', text)
        self.assertNotIn('class="lost" d', text)

    def test_each_case_names_its_source_and_the_first_words_of_its_input_as_far_as_they_are_known(self):
        text = html_report(sample(), pair_of_runs())
        for case in ("login", "late--es", "advice"):
            row = re.search(rf'id="case-{case}".*?</summary>', text, re.DOTALL)[0]
            said = f"from {case.partition('--')[0]}: &quot;Message &lt;{case}&gt; &amp; more&quot;"
            self.assertIn(f"<small>{said}</small>", row)
        for cases in ([], sample()["cases"]):
            self.assertIn("<small>from s</small>", html_report(
                sample() | {"cases": cases}, self.pair([(1, 1, None)], [(1, 1, None)], source="s")))
        self.assertIn("<small>from refund</small>", html_report(sample()))

    def test_opened_case_shows_tags_input_expected_graders_and_both_outputs_marked(self):
        text = html_report(sample(), pair_of_runs())
        case = re.search(r'id="case-login".*?</details>', text, re.DOTALL)[0]
        self.assertIn("source: login · language: en <a", case)
        self.assertIn("<pre>Message &lt;login&gt; &amp; more</pre>", case)
        self.assertIn("<pre>{&quot;category&quot;: &quot;billing&quot;, &quot;needs_human&quot;: false}</pre>", case)
        self.assertIn("&quot;<del>delivery</del>&quot;", case)
        self.assertIn("&quot;<ins>billing</ins>&quot;", case)
        self.assertIn("fail: category fails, needs_human passes", case)
        self.assertIn("incomplete: Incomplete: cut off at &lt;64&gt; tokens", case)
        self.assertIn("seed 1003", case)

    def test_the_change_is_shown_word_by_word_with_its_line_breaks(self):
        manifests = [{"settings": {"prompt": f"Classify.\nBe {how}.", "temperature": 1}, "log": {"sha256": how}}
                     for how in ("brief", "kind")]
        text = html_report(sample(), pair_of_runs()._replace(manifests=manifests))
        self.check(text)
        change = re.search(r'<section id="change">.*?</section>', text, re.DOTALL)[0]
        self.assertIn("<pre>Classify.\nBe <del>brief</del><ins>kind</ins>.</pre>", change)
        self.assertNotIn("temperature", change)
        self.assertIn("Prompts and settings are in run records:", html_report(sample()))

    def test_marks_leave_the_texts_whole_and_their_work_is_bounded(self):
        marker = page._Marker()
        for one, other in (("a b c", "a x c"), ("", "x"), ("same", "same"), ("<&>", "<x>"), ("x\n\ny", "x\ny")):
            pieces = marker.pieces(one, other)
            for text, html in zip((one, other), map("".join, zip(*pieces, strict=True)), strict=True):
                self.assertEqual(re.sub("</?(?:del|ins)[^>]*>", "", html), escape(text))
            self.assertTrue(all(("<" in old + new) == (old != new) for old, new in pieces))
        self.assertEqual(marker.pieces("a b c", "a x c"),
                         [("a ", "a "), ("<del>b</del>", "<ins>x</ins>"), (" c", " c")])
        left = marker.work
        self.assertEqual(marker.pieces("x y", "x z")[0], ("x ", "x "))
        self.assertEqual(left - marker.work, 9)
        marker.work = 20  # too little for the words, enough for the lines
        self.assertEqual(marker.pieces("a b c\nd", "a y c\nd"), [
            ('<del class="lines">a b c\n</del>', '<ins class="lines">a y c\n</ins>'), ("d", "d")])
        marker.work = 0
        self.assertEqual(marker.pieces("a b d", "a y d"), [
            ('<del class="lines">a b d</del>', '<ins class="lines">a y d</ins>')])

    def test_where_most_words_differ_whole_lines_are_marked(self):
        def pieces(one, other):
            return page._Marker().pieces(one, other)

        old, new = "Is this a bug?\n\nMessage: {text}", "You label what users send.\nOne word.\n\nMessage: {text}"
        self.assertEqual(pieces(old, new), [
            ('<del class="lines">Is this a bug?\n</del>',
             '<ins class="lines">You label what users send.\nOne word.\n</ins>'),
            ("\nMessage: {text}", "\nMessage: {text}")])
        old, new = "Is this a bug?\n\nOne word.", "You label it.\n\nLower case."  # alike in an empty line alone
        self.assertEqual(pieces(old, new), [
            (f'<del class="lines">{old}</del>', f'<ins class="lines">{new}</ins>')])
        # By words: half of them are in both; most of an old text stays; there are few.
        self.assertEqual(pieces("a b", "a c")[0], ("a ", "a "))
        self.assertEqual(pieces("a b c", f"a b c{20 * ' d'}")[0], ("a b c", "a b c"))
        self.assertEqual(pieces(f"a b c{20 * ' d'}", "a b c")[0], ("a b c", "a b c"))
        self.assertEqual(pieces("v1", "v2"), [("<del>v1</del>", "<ins>v2</ins>")])
        self.assertIn(".lines { display: block", page.STYLE)

    def test_long_output_is_cut_and_said(self):
        self.assertEqual(page._shown("x" * 5000), "x" * 4000 + "… (the rest is left out here)")
        self.assertEqual(page._shown({"text": "a\nb\x00"}), "a\nb\\x00")
        self.assertEqual(page._shown({"b": 1, "a": 2}), '{"a": 2, "b": 1}')  # as outputs are

    def pair(self, left, right, **case):
        """Return a trials.Pair of one case with these (score, seed) trials."""
        sides = [trials.Side({"name": name}, [[
            trials.Trial(seed, score, "timeout" if score is None else None, output)
            for score, seed, output in side]], []) for name, side in (("old", left), ("new", right))]
        about = {"id": "c", "source": None, "tags": (), "input": None} | case
        return trials.Pair([trials.ComparedCase(**about)], *sides, (0, 1), {}, [])

    def test_trial_logs_show_input_and_output_and_where_there_are_none_they_say_so(self):
        comparison = sample() | {"cases": []}
        pair = self.pair([(1, 1, "yes <b>")], [(0, 1, "no <b>")], input="Is it <i>?", expected="yes <i>")
        text = html_report(comparison, pair)
        self.check(text)
        for need in ("<pre>Is it &lt;i&gt;?</pre>", "<p><b>Expected</b></p><pre>yes &lt;i&gt;</pre>",
                     "<pre><del>yes</del> &lt;b&gt;</pre>",
                     "<pre><ins>no</ins> &lt;b&gt;", "what differs between two outputs is marked"):
            self.assertIn(need, text)
        text = html_report(comparison, self.pair([(1, 1, "")], [(0, 1, "")]))  # an empty answer is one
        self.assertNotIn("their outputs were not recorded", text)
        text = html_report(comparison, self.pair([(1, 1, None)], [(0, 1, None)]))
        self.assertIn("Trials; their outputs were not recorded", text)
        self.assertNotIn("what differs between two outputs is marked", text)

    def test_what_the_grader_said_is_shown_with_the_outcome(self):
        pair = self.pair([(1, 1, "yes")], [(0, 1, "no")])
        pair.baseline.trials[0][0] = pair.baseline.trials[0][0]._replace(explanation="It is <b>\nshort.")
        text = html_report(sample() | {"cases": []}, pair)
        self.check(text)
        self.assertIn('pass: It is &lt;b&gt;\nshort.</p><pre><del>yes', text)
        self.assertIn('fail</p><pre><ins>no', text)

    def test_scores_other_than_pass_and_fail_are_columns(self):
        pair = self.pair([(0.25, 1, None), (1, 2, None)], [(0.75, 1, None), (None, 3, None)])
        matched = page._matched(*(side.trials[0] for side in pair.sides))
        self.assertEqual([[trial and trial.seed for trial in both] for both in matched], [[1, 1], [2, None], [None, 3]])
        self.assertEqual([after and after.score for _, after in matched], [0.75, None, None])
        comparison = sample() | {"cases": [], "trial_pairs": None, "trial_pairs_reason": "scores are not pass or fail"}
        text = html_report(comparison, pair)
        titles = [title for _, title in self.check(text).drawings]
        self.assertIn("baseline: 0.2500, 1.0000; candidate: 0.7500, incomplete", titles)
        self.assertIn("other scores as columns", text)
        self.assertRegex(text, r'class="score" d="M7,13v-3\.[78]M7,27v-9\.[23]M21,13v-12\.0"')
        text = html_report(comparison, self.pair([(1, 1, None), (0, 2, None)], [(0, 1, None)]))
        self.assertIn("baseline: pass, fail; candidate: fail", [title for _, title in self.check(text).drawings])

    def test_excluded_cases_are_listed_and_not_among_the_cases(self):
        comparison = sample() | {"excluded": [{"case_id": "advice", "side": "baseline", "reason": "<timeout>"}],
                                 "uneven_trials": [{"case_id": "late", "baseline": 2, "candidate": 5}]}
        text = html_report(comparison, pair_of_runs())
        self.check(text)
        self.assertIn("<p>left out: advice, in the baseline: &lt;timeout&gt;</p>", text)
        self.assertEqual(said_of_both(text)["trials of late"], "<del>2</del><ins>5</ins>")
        self.assertIn("2 cases that did not change", text)

    def test_ten_thousand_cases_stay_under_six_megabytes_and_say_what_is_left_out(self):
        for changed_every, said in ((1, "(9002 rows left out)"), (40, "(8752 rows left out)")):
            comparison, pair = many_cases(10_000, changed_every)
            text = html_report(comparison, pair)
            self.assertLess(len(text.encode()), 6_000_000)
            self.assertTrue(said in text, said)
            self.assertIn("all that changed are in the comparison’s JSON", text)

    def test_wide_characters_and_many_trials_stay_light_too(self):
        for count, trials_of_each, told in ((600, 5, "Trials 1 to 5</th>"), (100, 300, "Trials 1 to 30</th>")):
            comparison, pair = many_cases(count, 1, trials_of_each, "\U0001f600" * 3000)
            shared = pair.candidate.trials[0]  # by all cases
            shared[1::2] = [trial._replace(score=0) for trial in shared[1::2]]
            text = html_report(comparison, pair)
            self.assertLess(len(text.encode()), 6_000_000)
            self.assertIn(told, text)

    def test_what_does_not_open_is_said(self):
        comparison, pair = many_cases(60, 1, asked="<" * 4000)
        with mock.patch.object(page, "OPENED_BYTES", 100_000):
            text = html_report(comparison, pair)
        self.assertIn("the last of them do not open.", text)
        self.assertEqual(text.count('<tr id="case-'), 60)
        self.assertTrue(0 < text.count("<details><summary><bdi>case-") < 60)
        self.check(text)

    def test_the_script_is_short_and_the_only_one_that_may_run(self):
        self.assertLessEqual(page.SCRIPT.count("\n"), 200)
        allowed = base64.b64encode(hashlib.sha256(page.SCRIPT.encode()).digest()).decode()
        text = html_report(sample())
        self.assertIn(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'", text)
        self.assertIn(f"<script>{page.SCRIPT}</script>", text)
        for word in ("fetch", "XMLHttp", "innerHTML", "eval", "import", "localStorage", "http"):
            self.assertNotIn(word, page.SCRIPT)

    def test_contrast_of_text_is_at_least_four_and_a_half_and_of_marks_three_in_light_and_dark(self):
        def luminance(colour):
            channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
            return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))  # WCAG 2.2

        palettes = re.findall(r":root \{\s*(--paper.*?)\}", page.STYLE, re.DOTALL)[:2]
        self.assertEqual(len(palettes), 2)
        texts = [(ink, ground) for ink in ("ink", "soft", "up", "down") for ground in ("paper", "fill")] + [
            ("ink", ground) for ground in ("up-tint", "down-tint", "removed", "added")]
        marks = [(mark, ground) for mark in ("bar", "soft", "ink", "up", "down", "mark")
                 for ground in ("paper", "fill")]
        marks += [("up", "up-tint"), ("down", "down-tint"), ("mark", "added"), ("mark", "removed")]
        for palette in palettes:
            colours = dict(re.findall(r"--([\w-]+):\s*(#\w{6})", palette))
            for pairs, least in ((texts, 4.5), (marks, 3)):
                for ink, ground in pairs:
                    light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
                    self.assertGreaterEqual((light + 0.05) / (dark + 0.05), least, (ink, ground, colours))


if __name__ == "__main__":
    unittest.main()
