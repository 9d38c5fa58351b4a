"""Do other tools' logs become the trials they hold, whole and exact, or one line that says why not?

tests/data/convert/ holds logs that the tools themselves wrote, made small: inspect-*.eval and .json by Inspect 0.3.285
(mockllm/model) and 0.3.46, org__*/ by lm-eval 0.4.13 (dummy), promptfoo.json by promptfoo 0.121.20 (echo, and a
provider that fails). expected/ holds the rows they become. promptfoo-*.json, export-*.csv and tests/data/recipes/ were
written by hand after the formats of their tools.
"""

import contextlib
import copy
import doctest
import glob
import gzip
import io
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

import convert
from importers import inspect_ai
from core import files
from core import trial_logs
from core import trials

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(HERE, "tests", "data", "convert")
GEN = sorted(glob.glob(os.path.join(glob.escape(DATA), "org__*", "samples_toy_gen_*.jsonl")))
ONCE = ("give each log once, number the runs of one system with --run N, and name those of two systems: NAME=FILE, "
        "or where a file holds both --config-column FIELD, which tells them apart")
CSV = ["--case", "task", "--trial", "run", "--config-column", "model", "--score", "correct"]
MAP = "--map WORD=NUMBER makes a word one; choose another for a list"
NO_NUMBER = "is no number; correct it, or give --map WORD=NUMBER, or WORD= for what is no score"
NO_TAGS = ("note: fields that make no slices, for their values are objects, exceed 200 characters, differ within a "
           "case, or hardly repeat (--tag NAME, here and in compare.py, chooses one that hardly repeats): ")


def data(name):
    return os.path.join(DATA, name)


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
        return file.read()


def run(*argv):
    """Return exit status, stdout and stderr of a command line."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = files.run_command(lambda: convert.main(argv))
    for stream in (out, err):
        stream.flush()
    return status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


class ConvertTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode()
                       if isinstance(content, str) else json.dumps(content).encode())
        return path

    def zip(self, members, name="log.eval"):
        path = os.path.join(self.folder, name)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content if isinstance(content, bytes) else json.dumps(content))
        return path

    def rows(self, *argv):
        status, out, err = run(*argv)
        self.assertEqual(status, 0, err)
        return [json.loads(line) for line in out.splitlines()]

    def refused(self, expected, *argv):
        """Assert that a command is refused with a line, the folder of the test taken out of it, and prints no row."""
        status, out, err = run(*argv)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.replace(self.folder + os.sep, "").replace(DATA + os.sep, ""), f"error: {expected}\n")


# === Logs that the tools wrote ===


class FixtureTest(ConvertTest):
    def check(self, name, notes, *argv):
        status, out, err = run(*argv)
        self.assertEqual((status, err.replace(DATA + os.sep, "")), (0, notes))
        self.assertEqual(out, read(data(f"expected/{name}.jsonl")))
        for number, line in enumerate(out.splitlines(), start=1):
            trial_logs.check_row(json.loads(line), f"row {number}")
        status, bare, _ = run(*argv, "--no-text")
        for line, other in zip(out.splitlines(), bare.splitlines(), strict=True):
            row, other = json.loads(line), json.loads(other)
            texts = {"input", "expected", "output", "explanation"}
            self.assertEqual(texts & other.keys(), set())
            self.assertEqual({key: row[key] for key in row if key not in texts | {"task_id"}},
                             {key: other[key] for key in other if key != "task_id"})
            self.assertEqual(str(row["task_id"])[-12:], str(other["task_id"])[-12:])

    def test_inspect_zipped_logs_of_two_prompts(self):
        self.check("inspect", f"{NO_TAGS}nested, level, hard, listed, ratio\n" + "".join(
            f"note: trials of config 'mockllm/model prompt={version}': 14, of which 3 have no score\n"
            for version in ("v1", "v2")),
                   "inspect", data("inspect-v1.eval"), data("inspect-v2.eval"))

    def test_inspect_json_with_a_scorer_chosen(self):
        self.check("inspect-scorers",
                   f"{NO_TAGS}language\nnote: trials of config 'multi': 10, of which 1 has no score\n", "inspect",
                   data("inspect-scorers.json"), "--scorer", "parts/b", "--config", "multi")

    def test_inspect_log_of_2024(self):
        self.check("inspect-0.3.46", f"{NO_TAGS}level\nnote: trials of config 'mockllm/model': 4\n",
                   "inspect", data("inspect-0.3.46.eval"))

    def test_lm_eval_two_models_and_a_filter(self):
        self.check("lm-eval", "note: several answers (repeats), which lm-eval scores as one: one row, not one an "
                   "answer (trials: 8)\nnote: trials of config 'org__alpha': 4\n"
                   "note: trials of config 'org__beta': 4\n",
                   "lm-eval", *GEN, "--metric", "exact_match", "--filter", "first", "--tag", "subject")

    def test_promptfoo_providers_prompts_and_repeats(self):
        self.check("promptfoo", "note: of a test without assertions, which always passes (trials: 8)\n"
                   f"{NO_TAGS}level, list\n" + "".join(f"note: trials of config '{name}': 8{lack}\n" for name, lack in (
                       ("echo v1", ""), ("echo v2", ""), ("priced v1", ", of which 4 have no score"),
                       ("priced v2", ", of which 4 have no score"))),
                   "promptfoo", data("promptfoo.json"), "--cluster", "source")

    def test_csv(self):
        self.check("csv", "".join(f"note: trials of config '{name}': 4, of which 1 has no score\n"
                                  for name in ("small", "large")),
                   "csv", data("scores.csv"), *CSV, "--cluster", "source", "--tag", "language", "--error", "why")

    def test_fixtures_name_no_machine(self):
        for path in glob.glob(os.path.join(glob.escape(DATA), "**", "*.*"), recursive=True):
            if path.endswith(".eval"):
                with zipfile.ZipFile(path) as archive:
                    texts = [inspect_ai.unzip(archive, info, "x") for info in archive.infolist()]
            else:
                texts = [read(path, "rb")]
            for text in texts:
                for word in (b"/home/", b"/Users/", b"C:\\", *(b"/%s/" % name for name in (b"tmp", b"root"))):
                    self.assertNotIn(word, text, path)


class OracleTest(ConvertTest):
    """The tools' own totals, which the converter does not read, against the rows."""

    def test_inspect_mean_is_the_one_that_inspect_computed(self):
        for name in ("inspect-v1.eval", "inspect-v2.eval", "inspect-0.3.46.eval"):
            header = next(inspect_ai.read_entries(data(name)))[1]
            metrics = header["results"]["scores"][0]["metrics"]
            scores = {}
            for row in self.rows("inspect", data(name)):
                if row["score"] is not None:
                    scores.setdefault(row["task_id"], []).append(row["score"])
            mean = sum(sum(values) / len(values) for values in scores.values()) / len(scores)
            self.assertAlmostEqual(mean, metrics.get("mean", metrics.get("accuracy"))["value"], 12)

    def test_promptfoo_counts_are_the_ones_that_promptfoo_printed(self):
        stats = json.loads(read(data("promptfoo.json")))["results"]["stats"]
        scores = [row["score"] for row in self.rows("promptfoo", data("promptfoo.json"), "--metric", "pass")]
        self.assertEqual([scores.count(score) for score in (1, 0, None)],
                         [stats["successes"], stats["failures"], stats["errors"]])

    def test_inspect_log_gives_the_same_rows_zipped_and_as_json(self):
        items = list(inspect_ai.read_entries(data("inspect-v1.eval")))
        log = {**items[0][1], "samples": [sample for _, sample in reversed(items[1:])]}
        for argv in ((), ("--id", "id"), ("--tag", "level", "--cluster", "language")):
            found = [run("inspect", path, *argv) for path in (self.file("log.json", log), data("inspect-v1.eval"))]
            self.assertEqual(*[(status, sorted(out.splitlines()), err) for status, out, err in found])


# === Inspect ===


def inspect_log(*samples, version=2, status="success", **results):
    """Return (header, samples) of a small log; a sample is (id, epoch, value) or an object."""
    header = {"version": version, "status": status, "eval": {"task": "t", "model": "m"}, "results": results}
    return header, [sample if isinstance(sample, dict) else {
        "id": sample[0], "epoch": sample[1], "input": "q", "target": "a", "scores": {"s": {"value": sample[2]}}}
        for sample in samples]


class InspectTest(ConvertTest):
    def log(self, *samples, name="log.json", **options):
        header, samples = inspect_log(*samples, **options)
        return self.file(name, {**header, "samples": samples})

    def test_values_are_those_of_value_to_float(self):
        # Of inspect_ai.scorer._metric: sentinels, numbers, truth values, words and numbers as text.
        pairs = [("C", 1), ("P", 0.5), ("I", 0), ("N", 0), (True, 1), (False, 0), (0.25, 0.25), (3, 3), ("yes", 1),
                 ("No", 0), ("TRUE", 1), ("false", 0), ("0.75", 0.75), ("1e-1", 0.1), (10**400, 10**400)]
        rows = self.rows("inspect", self.log(*((number, 1, value) for number, (value, _) in enumerate(pairs))))
        self.assertEqual([row["score"] for row in rows], [score for _, score in pairs])

    def test_values_without_a_number_are_unscored_with_the_reason(self):
        nan = {"id": 3, "epoch": 1, "scores": {"s": {"value": float("nan"), "reason": "grader_failed"}}}
        rows = self.rows("inspect", self.log((0, 1, "maybe"), (1, 1, float("nan")), (2, 1, None), nan, (4, 1, 1e999),
                                               (5, 1, "C")))
        self.assertEqual([row["error"] for row in rows[:-1]], [
            "not scored: 'maybe'", "not scored: nan", "not scored: no value", "not scored: grader_failed",
            "not scored: inf"])
        self.assertEqual([row["score"] for row in rows], [None] * 5 + [1])

    def test_a_second_log_in_a_file_is_refused(self):
        path = self.log({"id": "a", "epoch": 1})
        self.file("log.json", read(path) * 2)
        self.refused("log.json:1: not one object; give a file for each", "inspect", path)

    def test_ids_stay_as_they_are(self):
        ids = [7, "a|b\n<c>", "\u2028x", 10**30, "007"]
        rows = self.rows("inspect", self.log(*((name, 1, "C") for name in ids)), "--id", "id")
        self.assertCountEqual([row["task_id"] for row in rows], ids)

    def test_a_number_says_where_a_sample_stood_so_its_input_names_the_case(self):
        def log(*asked, name):
            return self.log(*({"id": i, "epoch": 1, "input": text, "target": "a", "scores": {"s": {"value": "C"}}}
                              for i, text in enumerate(asked, start=1)), name=name)

        rows = self.rows("inspect", "a=" + log("x", "y z", "x", name="a.json"),
                         "b=" + log("new", "x", "y z", "x", name="b.json"))
        names = {config: [row["task_id"] for row in rows if row["config"] == config] for config in "ab"}
        self.assertEqual(names["a"], names["b"][1:])
        self.assertEqual([name.split(" ")[-1] for name in names["a"]][2], "(2)")
        self.assertTrue(names["a"][1].startswith("y z "), names)
        self.assertEqual(len({row["input_sha256"] for row in rows}), 3)

    def test_samples_that_ask_the_same_pair_by_target_metadata_and_files(self):
        for field, one, other in (("target", "1", "2"), ("metadata", {"k": 1}, {"k": 2}), ("files", ["f"], ["g"])):
            samples = [{"input": "x", "epoch": 1, "scores": {"s": {"value": score}}, field: value}
                       for score, value in ((1, one), (0, other))]
            logs = [self.log(*({"id": i, **sample} for i, sample in enumerate(order, start=1)), name=name)
                    for name, order in (("a.json", samples), ("b.json", samples[::-1]))]
            rows = self.rows("inspect", f"a={logs[0]}", f"b={logs[1]}")
            self.assertEqual(len({(row["task_id"], row["score"]) for row in rows}), 2, field)

    def test_metadata_that_a_run_changed_makes_no_other_case(self):
        rows = self.rows("inspect", self.log(*({"id": 1, "input": "x", "epoch": epoch, "metadata": {"n": epoch},
                                                "scores": {"s": {"value": 1}}} for epoch in (1, 2))))
        self.assertEqual(len({row["task_id"] for row in rows}), 1)

    def test_an_explanation_is_that_of_the_score_chosen_unless_it_repeats_the_output(self):
        sample = {"id": "a", "epoch": 1, "output": {"completion": "4"}, "scores": {
            "judge": {"value": "I", "explanation": "It lacks the unit."}, "match": {"value": "C", "explanation": "4"}}}
        for scorer, said in (("judge", "It lacks the unit."), ("match", None)):
            row = self.rows("inspect", self.log(sample), "--scorer", scorer)[0]
            self.assertEqual(row.get("explanation"), said)

    def test_messages_and_choices_are_text(self):
        asked = [{"id": "1", "role": "system", "content": "Be kind."},
                 {"id": "2", "role": "user", "content": [{"type": "text", "text": "Pick"},
                                                         {"type": "image", "image": "attachment://x"}]}]
        row = self.rows("inspect", self.log({
            "id": 1, "epoch": 1, "input": asked, "choices": ["one", "two"], "scores": {"s": {"value": "C"}},
            "output": {"choices": [{"message": {"content": [{"type": "text", "text": "A"}]}}]}}))[0]
        self.assertEqual((row["input"], row["output"]), (
            'system: Be kind.\n\nuser: Pick\n{"image": "attachment://x", "type": "image"}\nA) one\nB) two', "A"))
        for asked in ("user: hi", [{"role": "user", "content": "user: hi"}]):
            row = self.rows("inspect", self.log({"id": 1, "epoch": 1, "input": asked, "score": {"value": "C"}}))[0]
            self.assertEqual(row["input"], "user: hi")
        row = self.rows("inspect", self.log({
            "id": 1, "epoch": 1, "input": "attachment://5f", "attachments": {"5f": "q"},
            "scores": {"s": {"value": "C"}}, "output": {"completion": ""}}))[0]
        self.assertEqual((row["input"], row["output"], row["task_id"][:2]), ("q", "", "q "))

    def test_what_was_selected_or_changed_after_the_run_is_said(self):
        sample = {"id": "a", "epoch": 1, "completed_at": "2026-01-01T00:00:00+00:00"}
        log = self.log(*({**sample, **more, "scores": {"s": {"value": "C", "history": history}}} for more, history in (
            ({"id": "a", "error_retries": [{"message": "x"}]}, []), ({"id": "b", "limit": {"type": "token"}}, []),
            ({"id": "c", "invalidation": {"author": "x"}}, []), ({"id": "d"}, [{"value": "I"}]),
            ({"id": "e", "events": [{"event": "score", "timestamp": "2026-01-02T00:00:00+00:00"}]}, []),
            ({"id": "f", "events": [{"event": "score", "timestamp": "2025-12-31T00:00:00+00:00"}]}, []))))
        status, out, err = run("inspect", log)
        self.assertEqual(status, 0)
        for note in ("tried again after an error: what counts is the last try (trials: 1)",
                     "stopped by a limit (token), and scored as it was then (trials: 1)",
                     "invalidated in Inspect: unscored here (trials: 1)",
                     "scored or edited again after the run (trials: 2)"):
            self.assertIn(f"note: {note}\n", err)

    def test_tokens_and_cost_of_graders_are_counted_apart(self):
        usage = {"m": {"total_cost": 0.011, "total_tokens": 110}, "judge": {"total_cost": 0.05, "total_tokens": 500}}
        header, _ = inspect_log()
        header["eval"]["model_roles"] = {"grader": {"model": "m"}}
        sample = {"id": "a", "epoch": 1, "scores": {"s": {"value": 1}}, "model_usage": usage,
                  "role_usage": {"grader": {"total_cost": 0.01, "total_tokens": 100}}}
        status, out, err = run("inspect", self.file("log.json", {**header, "samples": [sample]}))
        row = json.loads(out)
        self.assertEqual((round(row["cost_usd"], 9), row["tokens"]), (0.001, 10))
        for who in ("judge", "m as a grader"):
            self.assertIn(f"not counted, since it is not the system's: tokens and cost of {who} (trials: 1)\n", err)
        header["eval"] |= {"model": "none/none", "model_roles": {}}  # the task names its models itself
        row = self.rows("inspect", self.file("log.json", {**header, "samples": [sample]}))[0]
        self.assertEqual((row["cost_usd"], row["tokens"]), (0.061, 610))

    def test_scores_that_are_words_lists_or_objects_say_what_to_do(self):
        log = self.log(*({"id": name, "epoch": 1, "scores": {
            "tone": {"value": tone, "explanation": "because"}, "grade": {"value": "A"}, "all": {"value": [1, 2]},
            "parts": {"value": {"x": 1}}}}
            for name, tone in (("a", "fluent"), ("b", "stiff"))))
        self.refused("values that are no scores: 'fluent' (log.json: sample 'a', epoch 1), 'stiff' (log.json: sample "
                     f"'b', epoch 1); {MAP}", "inspect", log, "--scorer", "tone")
        failed = self.log({"id": "a", "epoch": 1, "scores": {"tone": {"value": "stiff"}}},
                          {"id": "b", "epoch": 1, "error": {"message": "timeout"}}, name="failed.json")
        self.refused(f"values that are no scores: 'stiff' (failed.json: sample 'a', epoch 1); {MAP}",
                     "inspect", failed, "--scorer", "tone")
        rows = self.rows("inspect", log, "--scorer", "tone", "--map", "fluent=1", "stiff=0.5")
        self.assertEqual([row["score"] for row in rows], [1, 0.5])
        self.refused(f"values that are no scores: [1, 2] (log.json: sample 'a', epoch 1); {MAP}",
                     "inspect", log, "--scorer", "all")
        self.refused("log.json: no scorer 'parts'; choose with --scorer one of: all, grade, parts/x, tone",
                     "inspect", log, "--scorer", "parts")
        self.assertEqual([row["score"] for row in self.rows("inspect", log)], [1, 1])

    def test_scores_that_are_lists_alone_are_refused(self):
        log = self.log(*({"id": name, "epoch": 1, "scores": {"all": {"value": [1, 0]}}} for name in "ab"))
        self.refused(f"values that are no scores: [1, 0] (log.json: sample 'a', epoch 1); {MAP}", "inspect", log)

    def test_several_scores_are_never_mixed_whatever_else_holds_text(self):
        log = self.log(*({"id": name, "epoch": 1, "scores": {"judge": {"value": judge}, "f1": {"value": f1}}}
                         for name, judge, f1 in (("a", "refused", 0.4), ("b", 1, 0.9))))
        self.refused("log.json: several scorers; choose with --scorer one of: f1, judge", "inspect", log)

    def test_a_version_that_is_not_known_is_named_where_fields_lack(self):
        path = self.file("v99.json", {"version": 99, "status": "success", "eval": {"task": "t"}, "samples": []})
        self.refused("v99.json (format version 99, not known here): eval: model is missing; correct the file",
                     "inspect", path)

    def test_one_word_among_numbers_is_noted(self):
        status, out, err = run("inspect", self.log(("a", 1, "C"), ("b", 1, "maybe")))
        self.assertIn(f"sample 'b', epoch 1); {MAP} (trials: 1)", err)

    def test_a_second_run_and_a_name_of_the_run(self):
        log = self.log(("a", 1, "C"), ("a", 2, "I"))
        self.assertEqual([(row["seed"], row["config"]) for row in self.rows("inspect", f"new={log}", "--run", "2")],
                         [("2.1", "new"), ("2.2", "new")])
        self.assertEqual(self.rows("inspect", log, "--config", "x")[0]["config"], "x")
        self.assertEqual(self.rows("inspect", log, "--config-column", "task")[0]["config"], "t")

    def test_an_error_is_unscored_whatever_the_score(self):
        sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": "I"}}, "error": {"message": "b" * 300 + "\nTraceback"},
                  "metadata": {"long": "x" * 201, "short": "x" * 200, "ratio": float("nan")}}
        _, out, err = run("inspect", self.log(sample))
        row = json.loads(out)
        self.assertEqual((row["score"], row["error"], row.get("tags")), (None, "b" * 200, None))
        self.assertIn(f"{NO_TAGS}long, ratio, short\n", err)
        self.assertIn("failed, and scored by Inspect all the same: unscored here (trials: 1)", err)

    def test_cost_and_time_come_from_usage(self):
        sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}, "working_time": 2.5, "total_time": 9,
                  "completed_at": "2026-01-01T00:00:00+00:00", "model_usage": {
                      "m": {"total_cost": 0.75, "total_tokens": 15}, "c": {}}}
        row = self.rows("inspect", self.log(sample))[0]
        self.assertEqual((row["cost_usd"], row["latency_s"], row["tokens"], row["ts"]),
                         (0.75, 2.5, 15, "2026-01-01T00:00:00+00:00"))
        sample |= {"working_time": float("nan"), "completed_at": 0, "model_usage": {
            "m": {"total_cost": -1, "total_tokens": 10**400}, "b": {"total_cost": True, "total_tokens": "5"}}}
        self.assertLessEqual(self.rows("inspect", self.log(sample))[0].keys(), {"task_id", "seed", "config", "score"})

    def test_ids_of_messages_do_not_change_the_hash(self):
        logs = [self.log({"id": 1, "epoch": 1, "input": [{"id": text, "role": "user", "content": "q"}]}, name=text)
                for text in ("x", "y")]
        self.assertEqual(len({self.rows("inspect", log)[0]["input_sha256"] for log in logs}), 1)

    def test_a_tag_that_differs_between_trials_is_dropped_and_one_that_is_missing_is_filled(self):
        samples = [{"id": name, "epoch": epoch, "metadata": metadata, "scores": {"s": {"value": "C"}}}
                   for name in "xy" for epoch, metadata in enumerate(
                       ({"kind": "a", "tries": 1, "of": ["p", "q"]}, {"kind": "a", "tries": 2}, {}), start=1)]
        _, out, err = run("inspect", self.log(*samples))
        self.assertEqual([json.loads(line)["tags"] for line in out.splitlines()],
                         [{"kind": "a", "of": ["p", "q"]}] * 6)
        self.assertIn(f"{NO_TAGS}tries\n", err)

    def test_tags_whose_values_hardly_repeat_are_said_once_and_can_be_chosen(self):
        log = self.log(*({"id": f"s{i}", "epoch": 1, "scores": {"s": {"value": "C"}},
                          "metadata": {"url": i, "lang": "en" if i % 2 else "fr", "answer": -i}} for i in range(40)))
        status, out, err = run("inspect", log)
        self.assertEqual({tuple(json.loads(line)["tags"]) for line in out.splitlines()}, {("lang",)})
        self.assertEqual(err, f"{NO_TAGS}url, answer\nnote: trials of config 'm': 40\n")
        self.assertEqual(self.rows("inspect", log, "--tag", "url")[7]["tags"], {"url": 7})
        log = self.log(*({"id": f"s{i}", "epoch": 1, "scores": {"s": {"value": "C"}}, "metadata": {"repo": i // 3}}
                         for i in range(180)))
        self.assertIn(f"{NO_TAGS}repo\n", run("inspect", log)[2])

    def test_a_sample_of_version_1_and_an_invalidated_one(self):
        log = self.log({"id": 1, "epoch": 1, "score": {"value": "C"}},
                       {"id": 2, "epoch": 1, "scores": {"score": {"value": "C"}}, "invalidation": {}}, version=1)
        self.assertEqual([row["score"] for row in self.rows("inspect", log)], [1, 1])
        log = self.log({"id": 2, "epoch": 1, "scores": {"s": {"value": "C"}}, "invalidation": {"by": "x"}})
        self.assertEqual([(row["score"], row["error"]) for row in self.rows("inspect", log)], [(None, "invalidated")])

    def test_a_score_that_is_only_text_needs_no_choice(self):
        log = self.log({"id": 1, "epoch": 1, "scores": {"s": {"value": "C"}, "words": {"value": "fluent"}}})
        self.assertEqual(self.rows("inspect", log)[0]["score"], 1)

    def test_a_score_that_is_nowhere_a_number_needs_no_choice(self):
        for value in (float("nan"), 1e999, None, [1], {}):
            log = self.log({"id": 1, "epoch": 1, "scores": {"none": {"value": value}, "s": {"value": "C"}}})
            self.assertEqual(self.rows("inspect", log)[0]["score"], 1)

    def test_config_is_model_arguments_and_solver(self):
        header, samples = inspect_log((1, 1, "C"))
        header["eval"] |= {"task_args_passed": {"prompt": "v2", "shots": 3}, "solver": "agent",
                           "solver_args_passed": {"n": None}}
        log = self.file("log.json", {**header, "samples": samples})
        self.assertEqual(self.rows("inspect", log)[0]["config"], "m prompt=v2 shots=3 n=null solver=agent")

    def test_scores_of_one_scorer_that_is_nan_as_a_whole(self):
        log = self.log(("1", 1, {"a": 1, "b": 0}), ("2", 1, float("nan")))
        self.assertEqual([(row["score"], row.get("error")) for row in self.rows("inspect", log, "--scorer", "s/a")],
                         [(1, None), (None, "not scored: nan")])

    def test_several_scores_without_a_choice_are_refused(self):
        names = "choose with --scorer one of: graded, includes, parts/a, parts/b, skips"
        log = data("inspect-scorers.json")
        self.refused(f"inspect-scorers.json: several scorers; {names}", "inspect", log)
        self.refused(f"inspect-scorers.json: no scorer 'parts'; {names}", "inspect", log, "--scorer", "parts")

    def test_a_log_that_lacks_samples_is_refused_unless_wanted(self):
        spec = {"version": 2, "eval": {"task": "t", "model": "m"}}
        killed = self.zip({"_journal/start.json": spec, "samples/1_epoch_1.json": inspect_log((1, 1, "C"))[1][0]})
        for log, lack in ((self.log((1, 1, "C"), total_samples=2), "log.json: status 'success', samples: 1 of 2"),
                          (self.log((1, 1, "C"), status="error", name="e.json"), "e.json: status 'error', samples: 1"),
                          (killed, "log.eval: status None, samples: 1")):
            self.refused(f"{lack}; finish it (`inspect eval-retry`), or convert what is there with --unfinished",
                         "inspect", log)
            status, out, err = run("inspect", log, "--unfinished")
            self.assertEqual((status, len(out.splitlines())), (0, 1))
            self.assertIn(lack, err)

    def test_an_unknown_version_is_read_by_its_fields_or_refused_with_its_number(self):
        status, out, err = run("inspect", self.log((1, 1, "C"), version=3))
        self.assertEqual(status, 0)
        self.assertIn("log.json: format version 3 is not known here; read by the fields it shares\n", err)
        self.refused("log.json (format version 3, not known here): sample '1', epoch None: epoch is missing; correct "
                     "the file",
                     "inspect", self.log({"id": 1, "trial": 1}, version=3))

    def test_a_log_given_twice_is_refused(self):
        path = data("inspect-0.3.46.eval")
        self.refused("inspect-0.3.46.eval: sample 'add', epoch 1: this trial of 'mockllm/model' is also in "
                     f"inspect-0.3.46.eval: sample 'add', epoch 1; {ONCE}", "inspect", path, path)

    def test_a_trial_that_is_there_twice_under_other_targets_is_refused(self):
        paths = []
        for name, target in (("one", "a"), ("two", "b")):
            paths.append(os.path.join(self.folder, f"{name}.jsonl"))
            with open(paths[-1], "w") as file:
                file.write(json.dumps({"doc_id": 0, "doc": {"q": "x"}, "target": target, "acc": 1.0, "filter": "none",
                                       "resps": [["x"]], "filtered_resps": ["x"]}) + "\n")
        self.refused(f"two.jsonl:1: this trial of 'm' is also in one.jsonl:1; {ONCE}",
                     "lm-eval", *paths, "--config", "m", "--metric", "acc")

    def test_cases_of_two_tasks_are_kept_apart(self):
        header, samples = inspect_log(("a", 1, "C"), (1, 1, "I"))
        header["eval"]["task"] = "u"
        other = self.file("other.json", {**header, "samples": samples})
        rows = self.rows("inspect", self.log(("a", 1, "C"), (1, 1, "C")), other)
        self.assertEqual(len({row["task_id"] for row in rows}), 4)
        self.assertEqual([row["task_id"] for row in rows][::2], ["t/a", "u/a"])
        self.assertEqual([row["task_id"][:4] for row in rows][1::2], ["t/q ", "u/q "])
        self.assertEqual([row["tags"] for row in rows], [{"task": "t"}, {"task": "t"}, {"task": "u"}, {"task": "u"}])
        rows = self.rows("inspect", self.log(("a", 1, "C")), other, "--cluster", "task")
        self.assertEqual([(row["cluster"], row.get("tags")) for row in rows], [("t", None), ("u", None), ("u", None)])

    def test_a_log_without_samples_says_why(self):
        header, _ = inspect_log()
        header["eval"]["config"] = {"log_samples": False}
        self.refused("log.json holds no samples: log_samples was off; run it again with them",
                     "inspect", self.file("log.json", header))

    def test_files_that_are_no_log_are_refused(self):
        whole = read(data("inspect-0.3.46.eval"), "rb")
        table = ("read it with python3 convert.py table NAME={} --case COLUMN --score COLUMN > trials.jsonl, or make a "
                 "case set of it with python3 convert.py cases")
        cases = {
            "cut.eval": (whole[:900], "cut.eval: not a whole zip; copy the log again"),
            "empty.eval": (b"", "empty.eval: not a whole zip; copy the log again"),
            "cut.json": ('{"version": 2, "ev',
                         "cut.json:1: not JSON at column 16 (Unterminated string starting at); correct the file"),
            "half.json": ('{"version": 2, "status": "success", "eval": {}, "res',
                          "half.json:1: not JSON at column 49 (Unterminated string starting at); correct the file"),
            "list.json": ([1], f"list.json is JSON of another kind, not a log of Inspect; {table}"),
            "row.json": ({"task_id": 1}, f"row.json is JSON of another kind, not a log of Inspect; {table}"),
            "none.json": ("x", "none.json is not a log of Inspect; give logs of Inspect, .eval or .json"),
            "big.json": ('{"eval": {}, "status": "", "version": ' + "9" * 5000 + "}",
                         "big.json:1: a whole number of thousands of digits; correct the file"),
            "t.csv": ("a,b\n1,2\n", f"t.csv is a table, not a log of Inspect; {table}"),
        }
        for name, (content, message) in cases.items():
            with self.subTest(name):
                path = self.file(name, content)
                self.refused(message.format(name), "inspect", path)
        self.refused("no.zip is packed, not a log of Inspect; unpack it, or save it as CSV or JSONL",
                     "inspect", self.zip({"x": {}}, "no.zip"))
        status, out, err = run("inspect", os.path.join(self.folder, "absent.eval"))
        self.assertEqual((status, out, err.startswith("error: cannot read ")), (1, "", True))

    def test_a_log_packed_with_gzip_is_read(self):
        log = data("inspect-v1.eval")
        packed = gzip.compress(read(log, "rb"))
        for name in ("log.eval", "log.eval.gz"):
            self.assertEqual(run("inspect", self.file(name, packed)), run("inspect", log))
            self.refused(f"{name}: not a whole zip; copy the log again",
                         "inspect", self.file(name, gzip.compress(read(log, "rb")[:-50])))

    def test_a_list_of_logs_is_refused(self):
        header, samples = inspect_log((1, 1, "C"))
        self.refused("logs.json:1: not one object; give a file for each", "inspect",
                     self.file("logs.json", [{**header, "samples": samples}]))

    def test_a_member_that_says_it_holds_more_than_is_read_is_refused_before_it_is_unpacked(self):
        with mock.patch.object(inspect_ai, "MOST_HELD", 100), mock.patch.object(zipfile.ZipFile, "open") as opened:
            status, out, err = run("inspect", data("inspect-v1.eval"))
        self.assertEqual((status, out, opened.mock_calls), (1, "", []))
        self.assertRegex(err, r"\.json: \d+ bytes, more than the 100 that are read; copy the log again\n\Z")

    def test_a_damaged_member_is_named(self):
        for name in ("inspect-v1.eval", "inspect-0.3.46.eval"):
            whole = bytearray(read(data(name), "rb"))
            with zipfile.ZipFile(data(name)) as archive:
                info = next(info for info in archive.infolist() if info.filename.startswith("samples/"))
            whole[info.header_offset + 150] ^= 255
            status, out, err = run("inspect", self.file("log.eval", bytes(whole)))
            self.assertEqual((status, out), (1, ""))
            self.assertRegex(err, r"log\.eval: samples/.*_epoch_1\.json: damaged \(.*\); copy the log again\n\Z")

    def test_bad_samples_are_refused_by_name(self):
        for sample, message in (
                ({"id": None, "epoch": 1}, "'None', epoch 1: id is None, not text or a whole number; correct the file"),
                ({"id": True, "epoch": 1}, "'True', epoch 1: id is True, not text or a whole number; correct the file"),
                ({"id": " ", "epoch": 1}, "' ', epoch 1: task_id ' ' is no name; name the case and the system, as "
                 "convert.py table does"),
                ({"id": "\ud800", "epoch": 1}, "'\\ud800', epoch 1: '\\ud800' holds half a character (a lone "
                 "surrogate), which no file can carry; write the whole character"),
                ({"id": 1, "epoch": "1"}, "'1', epoch 1: epoch is '1', not a whole number; correct the file"),
                ({"id": 1, "epoch": 1, "scores": []},
                 "'1', epoch 1: scores is [], not an object or null; correct the file"),
                ({"id": 1, "epoch": 1, "scores": {"s": "C"}},
                 "'1', epoch 1: score 's': not an object; correct the file")):
            self.refused(f"log.json: sample {message}", "inspect", self.log(sample))


# === lm-eval ===


class LmEvalTest(ConvertTest):
    def samples(self, *rows, name="samples_t_2026-01-01T00-00-00.000000.jsonl"):
        return self.file(name, "".join(json.dumps(row) + "\n" for row in rows))

    def test_two_tasks_keep_their_documents_apart(self):
        one = self.samples({"doc_id": 0, "acc": 1.0}, name="samples_a_b_2026-01-01T00-00-00.000000.jsonl")
        two = self.samples({"doc_id": 0, "acc": 0.0}, name="samples_c_2026-01-01T00-00-00.000000.jsonl")
        rows = self.rows("lm-eval", one, two, "--tag", "task")
        self.assertEqual([(row["task_id"], row["score"], row["tags"]) for row in rows],
                         [("a_b/0", 1.0, {"task": "a_b"}), ("c/0", 0.0, {"task": "c"})])

    def test_hash_is_of_document_and_target_not_of_the_prompt(self):
        row = {"doc_id": 0, "acc": 1, "doc": {"q": "x"}, "target": "t", "arguments": "p"}
        hashes = [self.rows("lm-eval", self.samples({**row, key: value}))[0]["input_sha256"]
                  for key, value in (("resps", []), ("arguments", "o"), ("target", "o"), ("doc", {"q": "y"}))]
        self.assertEqual([hashes.index(value) for value in hashes], [0, 0, 2, 3])
        bare = [self.rows("lm-eval", self.samples({"doc_id": 0, "acc": 1, **more}))[0]
                for more in ({"target": "t"}, {})]
        self.assertEqual(["input_sha256" in row for row in bare], [True, False])

    def test_a_document_names_its_case_at_any_place(self):
        one, two = (self.samples(*({"doc_id": i, "acc": 1, "doc": {"question": text}} for i, text in enumerate(asked)),
                                 name=name) for asked, name in (("xyx", "a.jsonl"), ("nxyx", "b.jsonl")))
        rows = self.rows("lm-eval", f"a={one}", f"b={two}")
        names = [row["task_id"] for row in rows]
        self.assertEqual(names[:3], names[4:])
        self.assertEqual(names[2], names[0] + " (2)")
        rows = self.rows("lm-eval", f"a={one}", f"b={two}", "--id", "doc_id")
        self.assertEqual([row["task_id"] for row in rows], [0, 1, 2, 0, 1, 2, 3])

    def test_documents_that_are_text_or_empty_pair_by_what_was_asked(self):
        for one, other in (({"doc": "a"}, {"doc": "b"}), ({"doc_hash": "a"}, {"doc_hash": "b"}),
                           *(({"doc": doc, "doc_hash": "h", "arguments": [["a"]]},
                              {"doc": doc, "doc_hash": "h", "arguments": [["b"]]}) for doc in ("", {}))):
            pair = [{"acc": 1, **one}, {"acc": 0, **other}]
            logs = [self.samples(*({"doc_id": i, **row} for i, row in enumerate(order)), name=name)
                    for name, order in (("a", pair), ("b", pair[::-1]))]
            rows = self.rows("lm-eval", f"a={logs[0]}", f"b={logs[1]}")
            self.assertEqual(len({(row["task_id"], row["score"]) for row in rows}), 2, one)
        status, out, err = run("lm-eval", self.samples({"doc_id": 7, "acc": 1, "doc": {}}))
        self.assertEqual(json.loads(out)["task_id"], 7)
        self.assertIn("note: named by doc_id, since nothing there says what was asked: they pair by their place "
                      "(trials: 1)\n", err)

    def test_a_file_that_was_renamed_is_of_no_other_task(self):
        row = {"doc_id": 0, "acc": 1, "doc": {"q": "x"}}
        for more in (row, {**row, "doc": "x"}, {"doc_id": 0, "acc": 1}):
            rows = self.rows("lm-eval", "a=" + self.samples(more), "b=" + self.samples(more, name="renamed.jsonl"))
            self.assertEqual(len({row["task_id"] for row in rows}), 1)

    def test_a_list_of_rows_is_read(self):
        rows = [{"doc_id": i, "acc": 1, "doc": {"q": str(i)}} for i in range(2)]
        expected = self.rows("lm-eval", self.samples(*rows))
        self.assertEqual(self.rows("lm-eval", self.file("list.json", rows)), expected)
        self.assertEqual(self.rows("lm-eval", self.file("list.json", json.dumps(rows, indent=1))), expected)

    def test_nan_is_unscored_and_text_is_read(self):
        log = self.samples({"doc_id": 0, "m": float("nan")}, {"doc_id": 1, "m": "True"})
        rows = self.rows("lm-eval", log, "--metric", "m")
        self.assertEqual([(row["score"], row.get("error")) for row in rows], [(None, "not scored: nan"), (1, None)])

    def test_a_second_run_has_its_seed(self):
        self.assertEqual(self.rows("lm-eval", self.samples({"doc_id": 0, "acc": 1}), "--run", "2")[0]["seed"], 2)

    def test_several_filters_or_metrics_without_a_choice_are_refused(self):
        path = GEN[0].removeprefix(DATA + os.sep)
        self.refused(f"{path}: several filters; choose with --filter one of: first, lower-majority",
                     "lm-eval", GEN[0], "--metric", "exact_match")
        self.refused(f"{path}: no filter 'last'; choose with --filter one of: first, lower-majority",
                     "lm-eval", GEN[0], "--metric", "exact_match", "--filter", "last")
        self.refused(f"{path}:1: no metric 'bleu'; choose with --metric one of: exact_match; computed from all rows of "
                     "the task at once: bleu",
                     "lm-eval", GEN[0], "--metric", "bleu", "--filter", "first")
        whole = self.samples({"doc_id": 0, "acc": 1, "bleu": ["a", "b"], "metrics": ["acc", "bleu"]}, name="w.jsonl")
        self.refused("w.jsonl:1: no metric 'bleu'; choose with --metric one of: acc; computed from all rows of the "
                     "task at once: bleu", "lm-eval", whole, "--metric", "bleu")
        two = self.samples({"doc_id": 0, "acc": 1, "acc_norm": 0})
        name = os.path.basename(two)
        self.refused(f"{name}:1: several metrics; choose with --metric one of: acc, acc_norm", "lm-eval", two)
        self.refused(f"{name}:1: no metric 'f1'; choose with --metric one of: acc, acc_norm",
                     "lm-eval", two, "--metric", "f1")

    def test_bad_rows_are_refused_by_line(self):
        for content, message in (
                (b'{"doc_id": 0, "acc": 1}\n{"doc_id": 1, "a',
                 ":2: not JSON at column 15 (Unterminated string starting at); correct the file"),
                (b'{"doc_id": "0", "acc": 1}\n', ":1: doc_id is '0', not a whole number; correct the file"),
                (b'{"doc_id": 0, "acc": 1}\n\xff\n', " holds bytes that are not utf-8; save the file as UTF-8")):
            self.refused("x.jsonl" + message, "lm-eval", self.file("x.jsonl", content))
        self.refused("x.jsonl is not samples of lm-eval; give lm-eval's samples_*.jsonl, written with --log_samples",
                     "lm-eval", self.file("x.jsonl", b""))

    def test_an_old_log_with_unnamed_filters_is_refused(self):
        status, out, err = run("lm-eval", self.samples({"doc_id": 0, "acc": 1}, {"doc_id": 0, "acc": 0}))
        self.assertEqual((status, out), (1, ""))
        self.assertIn(".jsonl:2: this trial of ", err)


# === promptfoo ===


def result(test_number=0, prompt_number=0, **fields):
    return {"testIdx": test_number, "promptIdx": prompt_number, "testCase": {"vars": {"q": "x"}, "assert": [{}]},
            "prompt": {"raw": "p"}, "provider": {"id": "echo"}, "score": 1, "success": True, "failureReason": 0,
            "response": {"output": ""}, **fields}


class PromptfooTest(ConvertTest):
    def results(self, *rows, version=3, repeat=None):
        return self.file("results.json", {"evalId": "e", "results": {"version": version, "results": rows},
                                          **({"runtimeOptions": {"repeat": repeat}} if repeat else {})})

    def test_what_a_test_expects_is_its_assertions_and_threshold(self):
        equals = [{"type": "equals", "value": "4"}]
        rows = self.rows("promptfoo", self.results(*(
            result(i, testCase={"vars": {"q": f"{i}"}, **test}) for i, test in enumerate(
                ({"assert": equals}, {"assert": equals, "threshold": 0}, {"assert": []}, {})))))
        shown = json.dumps(equals)
        self.assertEqual([row.get("expected") for row in rows],
                         [shown, f"assert: {shown}\nthreshold: 0", None, None])

    def test_what_each_assertion_said_explains_the_score(self):
        parts = [{"pass": True, "reason": "It is polite", "assertion": {"type": "llm-rubric"}},
                 {"pass": False, "reason": "Expected 4", "assertion": {"type": "equals"}}, {"pass": True}]
        rows = self.rows("promptfoo", self.results(
            result(0, gradingResult={"reason": "Expected 4", "componentResults": parts}),
            result(1, testCase={"vars": {"q": "y"}}, gradingResult={"reason": "All assertions passed"}),
            result(2, testCase={"vars": {"q": "z"}}, gradingResult=None)))
        self.assertEqual([row.get("explanation") for row in rows],
                         ["llm-rubric: It is polite\nequals: Expected 4", "All assertions passed", None])

    def test_repeats_differ_from_tests_by_content(self):
        other = {"vars": {"q": "y"}, "assert": [{}]}  # a test of two variables repeats as x, y, x, y
        path = self.results(result(2), result(0), result(1, testCase=other), result(3, testCase=other))
        status, out, err = run("promptfoo", path)
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([(row["task_id"][:2], row["seed"]) for row in rows],
                         [("x ", 1), ("y ", 1), ("x ", 2), ("y ", 2)])
        self.assertIn("tests that are alike in all are counted as repeats of one (trials: 2)\n", err)

    def test_identical_tests_are_distinguished_from_repeats_where_their_number_is_known(self):
        rows = [result(number) for number in range(6)]
        path = self.results(*rows, repeat=3)
        status, out, err = run("promptfoo", path)
        found = [(row["task_id"][-3:] == "(2)", row["seed"]) for row in map(json.loads, out.splitlines())]
        self.assertEqual(found, [(False, 1), (False, 2), (False, 3), (True, 1), (True, 2), (True, 3)])
        self.assertIn("note: cases that ask the same as another, told apart by other things or by number: 1\n", err)
        path = self.file("once.json", {"evalId": "e", "results": {"results": rows}, "runtimeOptions": {"cache": True}})
        self.assertEqual([row["seed"] for row in self.rows("promptfoo", path)], [1] * 6)

    def test_identical_tests_are_distinguished_from_repeats_by_the_others_where_nothing_is_said(self):
        other = {"vars": {"q": "y"}, "assert": [{}]}  # it is there once, so that no test was repeated
        rows = self.rows("promptfoo", self.results(result(0), result(1), result(2, testCase=other)))
        self.assertEqual([row["seed"] for row in rows], [1, 1, 1])
        self.assertEqual(len({row["task_id"] for row in rows}), 3)
        named = {"vars": {"q": "x"}, "assert": [{}], "description": "the same, by another name"}
        rows = self.rows("promptfoo", self.results(result(0), result(1, testCase=named)))
        self.assertEqual((len({row["task_id"] for row in rows}), [row["task_id"][-3:] == "(2)" for row in rows]),
                         (2, [False, False]))

    def test_tests_of_the_same_variables_pair_by_what_else_tells_them_apart(self):
        def tests(*tests, name):
            rows = [result(i, testCase=test, score=score) for i, (test, score) in enumerate(tests)]
            return self.file(name, {"evalId": "e", "results": {"version": 3, "results": rows}})

        def pairs(old, new):
            rows = self.rows("promptfoo", "old=" + tests(*old, name="o.json"), "new=" + tests(*new, name="n.json"))
            found = {name: {row["task_id"]: row["score"] for row in rows if row["config"] == name}
                     for name in ("old", "new")}
            self.assertTrue(all("input_sha256" in row for row in rows))
            return found["old"], found["new"]

        bare = [({"vars": {}, "assert": [{"type": "equals", "value": str(i)}]}, i % 2) for i in range(4)]
        front = ({"vars": {}, "assert": [{"type": "equals", "value": "new"}]}, 1)
        old, new = pairs(bare, [front, *bare])
        self.assertEqual((len(old), len(new), old.items() - new.items()), (4, 5, set()))
        old, new = pairs(bare[:1], [front, *bare])  # asked twice in one file alone
        self.assertEqual((len(old), len(new), old.items() - new.items()), (1, 5, set()))
        noted = [({"vars": {"q": "x"}, "metadata": {"k": i}}, i) for i in range(2)]
        old, new = pairs(noted, noted[::-1])
        self.assertEqual((len(old), old), (2, new))
        old, new = pairs(noted[:1], noted[1:])  # asked once in each: a case whose metadata changed
        self.assertEqual(old.keys(), new.keys())
        self.refused("n.json: testIdx 0, promptIdx 0: this trial of 'm' is also in o.json: testIdx 0, promptIdx 0; "
                     f"{ONCE}", "promptfoo", "--config", "m",
                     *(tests(test, name=name) for test, name in zip(noted, ("o.json", "n.json"))))

    def test_a_case_whose_metadata_changed_has_the_tags_that_did_not(self):
        def log(level, name):
            tests = [{"vars": {"q": text}, "metadata": {"level": level, "lang": "en"}} for text in "xy"]
            return self.file(name, {"evalId": "e", "results": {"version": 3, "results": [
                result(i, testCase=test) for i, test in enumerate(tests)]}})

        status, out, err = run("promptfoo", "a=" + log(1, "a.json"), "b=" + log(2, "b.json"))
        self.assertEqual([json.loads(line)["tags"] for line in out.splitlines()], [{"lang": "en"}] * 4)
        self.assertIn(f"{NO_TAGS}level\n", err)

    def test_a_result_that_is_there_twice_is_refused(self):
        for repeat in (None, 2):
            place = "results.json: testIdx 1, promptIdx 0"
            self.refused(f"{place}: this trial of 'echo' is also in {place}; {ONCE}", "promptfoo",
                         self.results(result(), result(1), result(1), repeat=repeat))
        rows = self.rows("promptfoo", self.results(result(), result(provider={"id": "other"})))
        self.assertEqual([row["seed"] for row in rows], [1, 1])

    def test_a_test_added_in_front_pairs_the_others_by_what_they_ask(self):
        old, new = data("promptfoo-old.json"), data("promptfoo-new.json")
        rows = self.rows("promptfoo", f"old={old}", f"new={new}")
        log = self.file("t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        pair = trial_logs.read_trial_logs([(None, log)], "old", "new")
        with self.assertRaisesRegex(files.RunError, r"'old' lacks 1 of 5 cases \(teal [0-9a-f]{12}\), or .*--missing"):
            trials.apply_missing(pair, "refuse")
        both, excluded = trials.apply_missing(pair, "drop")
        self.assertEqual([case.input for case in both.cases], ["blue", "green", "grey", "red"])
        self.assertEqual(both.baseline.trials, both.candidate.trials)
        self.assertEqual([row["case_id"][:5] for row in excluded], ["teal "])

    def test_results_a_line_each_and_packed_ones_read_alike(self):
        results = [result(), result(1, testCase={"vars": {"q": "y"}, "assert": [{}]})]
        expected = run("promptfoo", self.results(*results))
        text = "".join(json.dumps(row) + "\n" for row in results)
        self.assertEqual(run("promptfoo", self.file("r.jsonl", text)), expected)
        self.assertEqual(run("promptfoo", self.file("r.jsonl.gz", gzip.compress(text.encode()))), expected)
        self.assertEqual(run("promptfoo", self.file("r.json", results)), expected)
        self.refused("l.json:1: not one object; give a file for each",
                     "promptfoo", self.file("l.json", [{"evalId": "e", "results": {"results": results}}]))
        one = json.dumps({"evalId": "e", "results": {"results": results}})
        self.refused("two.json:2: not one object; give a file for each", "promptfoo",
                     self.file("two.json", f"{one}\n{one}\n"))
        damaged = self.file("d.gz", gzip.compress(text.encode())[:-9])
        self.refused("d.gz: damaged (Compressed file ended before the end-of-stream marker was reached); pack the file "
                     "again", "promptfoo", damaged)

    def test_tokens_of_graders_are_counted_apart(self):
        path = self.results(result(gradingResult={"pass": True, "tokensUsed": {"total": 70}},
                                   response={"output": "x", "tokenUsage": {"total": 5}}))
        status, out, err = run("promptfoo", path)
        self.assertEqual(json.loads(out)["tokens"], 5)
        self.assertIn("not counted, since it is not the system's: tokens and cost of graders (trials: 1)\n", err)

    def test_a_failure_is_a_score_and_an_error_is_none(self):
        rows = self.rows("promptfoo", self.results(
            result(0, score=0.25, success=False, failureReason=1, error="Expected x"),
            result(1, score=0, success=False, failureReason=2, error="503\nstack"),
            {**result(2, score=0, error="old"), "failureReason": None},
            result(3, score=0, success=False, failureReason=1, error="API error: invalid key", gradingResult={
                "pass": False, "componentResults": [{"pass": True}, {"metadata": {"graderError": True}}]})))
        self.assertEqual([(row["score"], row.get("error")) for row in rows],
                         [(0.25, None), (None, "503"), (None, "old"), (None, "API error: invalid key")])

    def test_one_model_with_two_settings_is_told_apart_by_its_place(self):
        path = self.results(result(0, score=1), result(0, score=0, promptIdx=1))
        self.assertEqual([(row["config"], row["score"]) for row in
                          self.rows("promptfoo", path, "--config-column", "promptIdx")], [("0", 1), ("1", 0)])

    def test_metrics(self):
        path = self.results(result(score=0.25, success=False, namedScores={"tone": 0.5}))
        for name, score in (("score", 0.25), ("pass", 0), ("tone", 0.5)):
            self.assertEqual(self.rows("promptfoo", path, "--metric", name)[0]["score"], score)
        self.refused("results.json: no metric 'f1'; choose with --metric one of: pass, score, tone",
                     "promptfoo", path, "--metric", "f1")

    def test_cached_answers_cost_nothing_that_counts(self):
        path = self.results(result(latencyMs=1, response={"cached": True, "cost": 0.5}), result(1, latencyMs=40))
        self.assertEqual([(row.get("cost_usd"), row.get("latency_s")) for row in self.rows("promptfoo", path)],
                         [(None, None), (None, 0.04)])

    def test_long_prompts_are_named_by_their_first_words_wherever_they_stand(self):
        def configs(*labels):
            path = self.results(*(result(0, number, prompt={"label": label}) for number, label in enumerate(labels)))
            return [row["config"] for row in self.rows("promptfoo", path)]

        self.assertEqual(configs("p", "line\nline", "v2"), ["echo p", "echo line line d8e4e775", "echo v2"])
        self.assertEqual(configs("line\nline", "p"), ["echo line line d8e4e775", "echo p"])
        self.assertEqual(len(set(configs("w " * 99 + "a", "w " * 99 + "b"))), 2)

    def test_what_is_not_whole_or_not_known_is_refused(self):
        self.refused("results.json (format version 2, not known here): result 1: testIdx is missing; correct the file",
                     "promptfoo", self.results({"vars": {}}, version=2))
        self.refused("x.json is samples of lm-eval, not an output file of promptfoo; read it with python3 convert.py "
                     "lm-eval x.json > trials.jsonl", "promptfoo", self.file("x.json", {"doc_id": 0, "acc": 1}))
        self.refused("results.json: testIdx 0, promptIdx 1: this trial of 'echo' is also in results.json: "
                     f"testIdx 0, promptIdx 0; {ONCE}", "promptfoo", self.results(result(), result(0, 1)))


# === CSV ===


class CsvTest(ConvertTest):
    def csv(self, content):
        return self.file("t.csv", content)

    def test_encodings_and_line_ends_read_alike(self):
        long = "e" * 200_000
        text = f"task,run,model,correct\r\nä\u2028b,1,m,1\r\n\"c\rd\n{long}\",1,m,\r\n"
        expected = [("ä\u2028b", 1), (f"c\rd\n{long}", None)]
        for content in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"),
                        text.replace("\r\n", "\n").encode()):
            rows = self.rows("csv", self.csv(content), *CSV)
            self.assertEqual([(row["task_id"], row["score"]) for row in rows], expected)

    def test_seeds_are_numbers_where_they_are_written_as_such(self):
        for mark in (";", "\t", "|"):
            path = self.csv("task;run;model;correct\na;1;m;1\na;01;m;1\na;x;m;1\n".replace(";", mark))
            self.assertEqual([row["seed"] for row in self.rows("csv", path, *CSV)], [1, "01", "x"])

    def test_one_file_a_run_is_named_on_the_command_line(self):
        paths = [data("export-a.csv"), data("export-b.csv")]
        named = [f"{name}={path}" for name, path in zip(("old", "new"), paths)]
        columns = ["--case", "example_id", "--score", "feedback.correctness", "--error", "error",
                   "--input", "inputs.question", "--output", "outputs.answer", "--measure", "latency_s=execution_time"]
        rows = self.rows("table", *named, *columns)
        apart = [row for name, path in zip(("old", "new"), paths)
                 for row in self.rows("table", path, "--config", name, *columns)]
        self.assertEqual(rows, apart)
        self.assertEqual([(row["config"], row["task_id"], row["score"], row.get("latency_s")) for row in rows][:4], [
            ("old", "e1", 1, 0.51), ("old", "e2", 0, 0.42), ("old", "e3", None, None), ("new", "e1", 1, 0.51)])
        self.assertEqual((rows[1]["input"], rows[1]["output"]), ("3+3", "7"))
        by_input = self.rows("table", *named, *columns[2:])
        self.assertEqual([row["task_id"] for row in by_input[:3]], [row["task_id"] for row in by_input[3:]])
        again = self.rows("table", paths[0], "--config", "old", "--run", "2", *columns)
        self.assertEqual({row["seed"] for row in again}, {2})
        self.refused("--measure cost: choose of cost_usd, latency_s, tokens, as in latency_s=COLUMN",
                     "table", *named, *columns, "cost=x")

    def test_a_name_is_no_name_where_a_file_is_called_so(self):
        path = self.file("a=b.csv", "task,correct\nx,1\n")
        rows = self.rows("table", path, "--case", "task", "--score", "correct", "--config", "m")
        self.assertEqual(rows[0]["config"], "m")

    def test_a_word_may_be_no_score(self):
        path = self.csv("id,s\na,pass\nb,error: timeout\nc,fail\n")
        argv = ["table", f"m={path}", "--case", "id", "--score", "s", "--map", "pass=1", "fail=0"]
        self.refused(f"t.csv:3: score 'error: timeout' {NO_NUMBER}", *argv)
        status, out, err = run(*argv, "error: timeout=")
        self.assertEqual([(row["score"], row.get("error")) for row in map(json.loads, out.splitlines())],
                         [(1, None), (None, "error: timeout"), (0, None)])
        self.assertEqual((status, err), (0, "note: trials of config 'm': 3, of which 1 has no score\n"))

    def test_an_error_in_every_trial_is_told_of_and_no_score_is_its_own_error(self):
        path = self.csv("id,s,e\na,1,ok\nb,0,ok\nc,1,late\n")
        argv = ["table", f"m={path}", "--case", "id", "--score", "s", "--error"]
        self.assertEqual(run(*argv, "e")[2],
                         "note: trials of config 'm': 3, of which 3 have no score: 'ok' (2), 'late' (1)\n")
        self.refused("--error and --score both name s, so no trial would have a score; leave --error out", *argv, "s")

    def test_words_are_scores_where_that_is_said(self):
        path = self.csv("id,s\na,pass\nb,FAIL\nc,0.5\n")
        rows = self.rows("table", f"m={path}", "--case", "id", "--score", "s", "--map", "pass=1", "fail=0")
        self.assertEqual([row["score"] for row in rows], [1, 0, 0.5])
        status, out, err = run("table", f"m={path}", "--case", "id", "--score", "s", "--tag", "s")
        self.assertEqual((status, out), (1, ""))

    def test_json_of_any_shape_is_a_table(self):
        items = [{"id": "a", "r": {"score": [1, 0.5]}}, {"id": "b", "r": {"score": [0, 0.25]}}]
        text = "".join(json.dumps(item) + "\n" for item in items)
        for number, (content, more) in enumerate((
                (text, ()), (json.dumps(items), ()), (json.dumps(items, indent=2), ()), ("\ufeff" + text, ()),
                (json.dumps({"x": [1], "in": {"rows": items}}), ("--rows", "in.rows")),
                (json.dumps({item["id"]: item for item in items}), ("--rows", ".")),
                (json.dumps({"columns": ["id", "r"], "data": [[item["id"], item["r"]] for item in items]}),
                 ("--rows", "data")),
                (text + '{"id": "c", "kind": "spec"}\n', ("--where", "kind=null")))):
            path = self.file(f"{number}.json", content)
            rows = self.rows("table", f"m={path}", "--case", "id", "--score", "r.score.1", *more)
            self.assertEqual([(row["task_id"], row["score"]) for row in rows], [("a", 0.5), ("b", 0.25)])
        self.refused("r.json:1: no field 'x'; there are: id, r",
                     "table", "m=" + self.file("r.json", text), "--case", "id", "--score", "x")

    def test_rows_of_one_case_are_its_trials(self):
        path = self.file("q.json", [{"q": q, "s": s, "t": s, "id": q * 2, "m": m}
                                    for m in "ab" for q, s in (("x", 1), ("y", 1), ("x", 0))])
        for more, seeds in (([], [1, 1, 2] * 2), (["--trial", "t"], [1, 1, 0] * 2),
                            (["--run", "3"], [3, 3, "3.2"] * 2)):
            for named in (["--input", "q"], ["--case", "id"]):
                status, out, err = run("table", path, "--config-column", "m", *named, "--score", "s", *more)
                rows = [json.loads(line) for line in out.splitlines()]
                self.assertEqual((status, len({row["task_id"] for row in rows}), [row["seed"] for row in rows]),
                                 (0, 2, seeds))
                self.assertEqual("counted as further trials of it (trials: 2)" in err, "--trial" not in more)

    def test_what_says_that_there_was_no_error_is_none(self):
        for text, failed in (('"error": NaN', False), ('"error": " "', False), ('"error": false', False),
                             ('"error": "false"', True),
                             ('"error": null', False), ('"x": 1', False), ('"error": "boom"', True)):
            path = self.file("e.json", f'[{{"id": "a", "s": 1, {text}}}, {{"id": "b", "s": 0, "error": "late"}}]')
            rows = self.rows("table", f"m={path}", "--case", "id", "--score", "s", "--error", "error")
            self.assertEqual((rows[0]["score"], rows[1]["score"]), (None if failed else 1, None), text)
        for cell, failed in ((" ", False), ("False", False), ("false", False), ("", False), ("boom", True)):
            rows = self.rows("table", "m=" + self.csv(f"id,s,error\na,1,{cell}\n"), "--case", "id", "--score", "s",
                             "--error", "error")
            self.assertEqual(rows[0]["score"], None if failed else 1, cell)

    def test_rows_that_none_is_of_are_refused(self):
        path = self.file("w.json", [{"id": "a", "s": 1, "root": True}])
        argv = ["table", f"m={path}", "--case", "id", "--score", "s"]
        self.refused("--measure latency_s: choose of cost_usd, latency_s, tokens, as in latency_s=COLUMN",
                     *argv, "--measure", "latency_s")
        for where in ("root=True", "root", "none"):
            self.refused(f"w.json: no row has {where}; correct the column or its value, as JSON writes it",
                         *argv, "--where", where)
        blank = self.csv("id,s,root\na,1,\n")
        self.refused("t.csv: no row has root; correct the column or its value, as JSON writes it",
                     "table", f"m={blank}", *argv[2:], "--where", "root")

    def test_a_score_that_is_nan_is_none(self):
        path = self.file("n.json", '[{"id": "a", "s": NaN}, {"id": "b", "s": 1}]')
        self.assertEqual([row["score"] for row in self.rows("table", f"m={path}", "--case", "id", "--score", "s")],
                         [None, 1])

    def test_a_row_that_failed_may_lack_the_score_where_its_error_is_named(self):
        rows = '[{"id": "a", "s": 1}, {"id": "b", "error": "boom"}]'
        argv = ["table", "m=" + self.file("f.json", rows), "--case", "id", "--score", "s"]
        self.refused("f.json: item 2: no field 's'; there are: id, error", *argv)
        self.assertEqual([row["score"] for row in self.rows(*argv, "--error", "error")], [1, None])

    def test_a_delimiter_within_quotes_is_none(self):
        path = self.csv('"question, long, very";"score";id\n"a, b";1;x\n')
        rows = self.rows("table", f"m={path}", "--case", "id", "--score", "score", "--input", "question, long, very")
        self.assertEqual([(row["task_id"], row["input"]) for row in rows], [("x", "a, b")])

    def test_a_pointer_is_named_with_how_to_get_its_file(self):
        path = self.csv("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
        self.refused("t.csv is a pointer of Git LFS, not a table; fetch the file that it stands for: git lfs pull",
                     "table", f"m={path}", "--case", "id", "--score", "s")

    def test_promptfoos_table_is_named_with_what_reads_it(self):
        path = self.csv("q,Output,Status,Score,Named Scores,Grader Reason,Comment\nboom,,ERROR,0.00,,,\n")
        for verb, more, wanted in (("table", ["--case", "q", "--score", "Score"], "a table"),
                                   ("promptfoo", [], "an output file of promptfoo")):
            self.refused(f"t.csv is promptfoo's CSV, in which an error is a score of 0, not {wanted}; write it again "
                         "with promptfoo's --output results.json, and give that to convert.py promptfoo",
                         verb, f"m={path}", *more)

    def test_a_column_explains_the_score(self):
        rows = self.rows("table", f"m={data('../recipes/deepeval.json')}", "--rows", "testCases", "--input", "input",
                         "--score", "metricsData.0.score", "--explanation", "metricsData.0.reason", "--error",
                         "metricsData.0.error")
        self.assertEqual([row.get("explanation") for row in rows], ["It lacks a detail.", "No link.", None])

    def test_lists_of_names_are_rows_of_one_score(self):
        path = self.file("r.json", {"resolved_ids": ["a", "b"], "unresolved_ids": ["c"], "error_ids": []})
        rows = self.rows("table", f"m={path}", "--rows", "resolved_ids=1", "unresolved_ids=0", "--case", "value",
                         "--score", "score")
        self.assertEqual([(row["task_id"], row["score"]) for row in rows], [("a", 1), ("b", 1), ("c", 0)])

    def test_scores_of_rows_that_tell_of_an_error_are_noted(self):
        path = self.file("t.csv", "id,score,error\na,0,429\nb,1,\nc,1,false\nd,,429\ne,timeout,5xx\n")
        note = "note: scored though the column error says something; --error error makes them unscored (trials: 1)\n"
        argv = ("table", f"X={path}", "--case", "id", "--score", "score", "--map", "timeout=")
        self.assertIn(note, run(*argv)[2])
        self.assertNotIn("scored though", run(*argv, "--error", "error")[2])

    def test_bad_tables_are_refused_by_line(self):
        head = "task,run,model,correct\n"
        for content, message in (
                ("task,run,model\na,1,m\n", ":2: no field 'correct'; there are: task, run, model"),
                ("task,task,run,model,correct\na,b,1,m,1\n", ":2: no field 'task'; there are: task (duplicated), run, "
                 "model, correct"),
                (head + "a,1,m,1\na,2,m\n", ":3: 3 cells, but 4 columns; correct the line"),
                (head + "a,1,m,1,\n", ":2: 5 cells, but 4 columns; correct the line"),
                (head + "a,,m,1\n", ":2: run is blank; fill it in, or leave the row out"),
                (head + "a,1, ,1\n", ":2: model is blank; fill it in, or leave the row out"),
                (head + "a,1,m,passs\n", f":2: score 'passs' {NO_NUMBER}"),
                (head + "a,1,m,nan\n", f":2: score 'nan' {NO_NUMBER}"),
                (head + "a,1,m,\"1\n", ":2: unexpected end of data; correct quotes and line ends"),
                (head + "a,1,m,1\nb,1,m,1\na,1,m,0\n",
                 f":4: this trial of 'm' is also in t.csv:2; {ONCE}")):
            with self.subTest(content):
                self.refused("t.csv" + message, "csv", self.csv(content), *CSV)
        self.refused("no trial in the files given; give logs that hold samples", "csv", self.csv(""), *CSV)
        self.refused("t.csv:2: no name for this run; name it with NAME=FILE, --config or --config-column",
                     "table", self.csv(head + "a,1,m,1\n"), "--case", "task", "--score", "correct")
        self.refused("t.csv is packed, not a table; unpack it, or save it as CSV or JSONL",
                     "table", self.csv(b"PK\3\4\xff"), *CSV)


class OtherKindTest(ConvertTest):
    def test_a_file_of_ours_is_named_with_the_command_that_reads_it(self):
        for content, says in (({"task_id": 1, "config": "A"}, "a plain trial log, not {}; python3 compare.py CONFIG"),
                              ({"log_version": "1"}, "a log, not {}; python3 harness.py replay"),
                              ({"manifest": {}}, "a run record, not {}; python3 compare.py compares it"),
                              ({"x": 1}, "JSON of another kind, not {}; read it with python3 convert.py table")):
            for verb, wanted in (("lm-eval", "samples of lm-eval"), ("promptfoo", "an output file of promptfoo")):
                status, out, err = run(verb, self.file("f.json", content))
                self.assertEqual((status, out), (1, ""))
                self.assertIn(f"f.json is {says.format(wanted)}", err)


class ColumnTest(ConvertTest):
    """A column that an option names is there, or the refusal says which are, and what reads the file."""

    ROWS = [{"id": "a", "s": 1, "in": {"q": "x"}, "e": ""}, {"id": "b", "s": 0, "in": {"q": "y"}, "e": "x"}]

    def table(self, content=ROWS, *argv, name="t.json"):
        return "table", "m=" + self.file(name, content), *argv

    def test_a_case_is_named_by_a_column_that_is_there_and_filled_in(self):
        rows = [*self.ROWS, {"id": "c", "s": 1, "in": {"q": " "}}]
        self.refused("t.json: no column names the cases; choose one with --case or --input",
                     *self.table(rows, "--score", "s"))
        self.refused("t.json: item 1: no field 'in.p'; there are: id, s, in, e",
                     *self.table(rows, "--score", "s", "--input", "in.p"))
        self.refused("t.json: item 3: in.q is blank; fill it in, or leave the row out",
                     *self.table(rows, "--score", "s", "--input", "in.q"))
        self.rows(*self.table(rows, "--score", "s", "--input", "in.q", "--case", "id"))
        self.rows(*self.table([{"id": "a", "s": 1, "n": 0}], "--score", "s", "--case", "id", "--trial", "n"))

    def test_a_wrong_name_is_told_with_the_names_that_there_are(self):
        self.refused("t.json: item 1: no field 'questoin'; there are: id, s, in, e",
                     *self.table(self.ROWS, "--score", "s", "--case", "questoin"))
        self.refused("t.json: item 1: no field 'questoin'; there are: id, s, in, e",
                     "table", self.file("t.json", self.ROWS), "--score", "s", "--case", "id", "--config-column",
                     "questoin")
        self.refused("t.json: item 1: id is blank; fill it in, or leave the row out",
                     *self.table([{"id": None, "s": 1}], "--score", "s", "--case", "id"))

    def test_a_column_that_no_row_has_is_refused(self):
        for option in ("--input", "--output", "--explanation", "--tag", "--cluster", "--measure"):
            for name in ("x", "in.p"):
                value = f"tokens={name}" * (option == "--measure") or name
                self.refused(f"no trial has a field {name!r}; leave its option out, or choose one of: e, id, in, s",
                             *self.table(self.ROWS, "--score", "s", "--case", "id", option, value))
        with open(os.path.join(self.folder, "t.csv"), "w") as file:
            file.write("id,s\na,1\n")
        self.refused("no trial has a field 'e'; leave its option out, or choose one of: id, s",
                     "table", file.name, "--config", "x", "--score", "s", "--case", "id", "--error", "e")
        status, _, err = run(*self.table([{"id": "a", "s": 1}], "--score", "s", "--case", "id", "--error", "e"))
        self.assertEqual((status, err.splitlines()[0]), (0, "note: no row has the field 'e'"))  # where nothing failed
        rows = self.rows(*self.table([{"id": "c", "s": 1}, *self.ROWS], "--score", "s", "--case", "id", "--error", "e",
                                     "--cluster", "in.q"))
        self.assertEqual([(row["score"], row.get("cluster")) for row in rows], [(1, None), (1, "x"), (None, "y")])
        rows = self.rows(*self.table([*self.ROWS, {"id": "c", "e": "timeout"}], "--score", "s", "--case", "id",
                                     "--error", "e"))
        self.assertEqual((rows[2]["score"], rows[2]["error"]), (None, "timeout"))

    def test_a_file_of_another_kind_is_named_with_what_reads_it(self):
        convert = "read it with python3 convert.py {} {} > trials.jsonl"
        for content, kind, reader in (
                ({"version": 2, "status": "success", "eval": {}}, "a log of Inspect", convert.format("inspect", "{}")),
                ({"evalId": "e", "results": {"results": []}}, "an output file of promptfoo",
                 convert.format("promptfoo", "{}")),
                ({"type": "header", "log_version": "1"}, "a log",
                 "python3 harness.py replay {} --cases CASES.json --out RUN.json makes its run record"),
                ({"manifest": {}, "results": []}, "a run record", "python3 compare.py compares it with another, given "
                 "--cases"),
                ({"name": "x", "cases": [{"id": 1}]}, "a case set", "give it with --cases")):
            argv = self.table(content, "--score", "s", "--case", "id")
            path = argv[1].removeprefix("m=")
            for more in (argv, ("cases", path, "--id", "id", "--input", "q", "--expected", "s")):
                status, out, err = run(*more)
                self.assertEqual((status, out), (1, ""))
                self.assertTrue(err.endswith(f"; the file is {kind}: {reader.format(path)}\n"), err)

    def test_where_the_rows_are_is_said(self):
        inside = {"n": 1, "data": self.ROWS, "more": {"rows": self.ROWS}}
        columns = "--score", "s", "--case", "id"
        self.refused("t.json:1: no field 's'; there are: n, data, more", *self.table(inside, *columns))
        for wrong, right in (("rows", ()), ("more.data", ()), ("no", ("data=1",))):
            self.refused(f"t.json: nothing for --rows is under {wrong!r}; name another key",
                         *self.table(inside, *columns, "--rows", *right, f"{wrong}=0"))
        self.assertEqual(len(self.rows(*self.table({"a": [], "b": self.ROWS}, *columns, "--rows", "a", "b"))), 2)

    def test_a_column_or_a_key_that_is_there_twice_is_refused(self):
        argv = "--score", "s", "--case", "q"
        self.refused("t.csv:2: no field 's'; there are: q, s (duplicated)",
                     *self.table("q,s,s\na,1,0\n", *argv, name="t.csv"))
        self.refused("t.json:1: the key 's' is duplicated in one object; correct the file",
                     *self.table('{"q": 1, "s": 1, "s": 0}\n', *argv))
        self.assertEqual(self.rows(*self.table('{"q": "a", "s": 1, "x": NaN}\n', *argv))[0]["score"], 1)

    def test_carriage_returns_alone_are_named(self):
        self.refused("t.csv:1: new-line character seen in unquoted field; correct quotes and line ends",
                     *self.table("q,s\ra,1\rb,0\r", "--score", "s", "--case", "q", name="t.csv"))


class RecipeTest(ConvertTest):
    """The commands of the manual for the results of other tools, whose rows nobody prints there."""

    def test_each_gives_the_trials_that_the_file_holds(self):
        expected = {
            "swe-bench.json": [("shop__mail-9", 0), ("shop__cart-101", 1), ("shop__cart-117", 0), ("shop__mail-30", 0)],
            "swe-bench-report.json": [("shop__cart-101", 1)],
            "tau-bench.json": [(0, 1), (0, 0), (1, None), (1, 1)],
            "openai-evals.jsonl": [("capitals.dev.0", 1), ("capitals.dev.1", 0)],
            "deepeval.json": [("How do I return a shirt? c03bf9bb3b2d", 0.8), ("Where is my order? 2bcaefe7e7ae", 0.1),
                              ("Can I pay later? 974d7b6af0de", None)],
            "mlflow.json": [("What is a run? 862819b08005", 1), ("What is a tag? c8a0fe756c17", 0)],
            "export-a.csv": [("e1", 1), ("e2", 0), ("e3", None), ("e1", 1), ("e2", 1), ("e3", 1)],
            "braintrust.jsonl": [("2+2 df21e51a40ba", 1), ("3*3 bd79e1e743cc", 0.6), ("7-5 89bcf6e16acd", None)],
            "wide.csv old_score": [("q1", 1), ("q2", 0), ("q3", 1), ("q4", 0)],
            "wide.csv new_score": [("q1", 1), ("q2", 1), ("q3", 1), ("q4", 0)]}
        commands = {}
        for line in read(os.path.join(HERE, "docs", "trial-logs.md")).splitlines():
            if line.startswith("$ python3 convert.py table "):
                argv = shlex.split(line.partition(" >")[0])[3:]
                name = os.path.basename(argv[1])
                commands[f"{name} {argv[-1]}" if name == "wide.csv" else name] = argv
        self.assertEqual(list(commands), list(expected))
        for argv, rows in zip(commands.values(), expected.values(), strict=True):
            argv = [text.replace("=tests/", f"={HERE}/tests/") for text in argv]
            self.assertEqual([(row["task_id"], row["score"]) for row in self.rows(*argv)], rows)


# === Command line ===


class CommandTest(ConvertTest):
    def test_a_field_that_no_trial_has_is_refused(self):
        self.refused("no trial has a field 'lang'; leave its option out, or choose one of: hard, id, language, "
                     "level, listed, model, nested, nothing, ratio, task",
                     "inspect", data("inspect-v1.eval"), "--tag", "lang")

    def test_damaged_logs_give_rows_or_one_line_that_says_why(self):
        rng = random.Random(3)
        junk = [None, True, 0, -1, float("nan"), "", "x", "\ud800", [], [1], {}, {"a": 1}, [[]], [{}], 10**400]
        items = list(inspect_ai.read_entries(data("inspect-v1.eval")))
        logs = ((["inspect", "--unfinished"], {**items[0][1], "samples": [sample for _, sample in items[1:4]]}),
                (["promptfoo", "--cluster", "source"], json.loads(read(data("promptfoo.json")))),
                (["lm-eval", "--metric", "exact_match"], json.loads(read(GEN[0]).partition("\n")[0])),
                (["table", "--config", "m", "--rows", "data", "--input", "outputs", "--score", "latency"],
                 json.loads(read(data("../recipes/mlflow.json")))))
        statuses = set()
        for number in range(60):
            argv, log = logs[number % len(logs)]
            log = value = copy.deepcopy(log)
            for _ in range(rng.randrange(1, 7)):  # down to a value somewhere inside
                if not isinstance(value, (dict, list)) or not value:
                    break
                inner, key = value, rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
                value = inner[key]
            inner[key] = rng.choice(junk)
            status, out, err = run(*argv, self.file("log.json", log))
            statuses.add((argv[0], status))
            if status:
                self.assertEqual((status, out, err[:7], err.count("\n")), (1, "", "error: ", 1))
            for line in out.splitlines():
                trial_logs.check_row(json.loads(line), "row", (-10**400, 10**400))
        self.assertEqual(len(statuses), 8, statuses)

    def test_process_prints_rows_only_and_returns_its_status(self):
        def process(*argv):
            done = subprocess.run([sys.executable, "-I", "-W", "error", os.path.join(HERE, "convert.py"), *argv],
                                  capture_output=True, text=True, cwd=HERE)
            return done.returncode, done.stdout, done.stderr

        status, out, err = process("csv", data("scores.csv"), *CSV)
        self.assertEqual((status, out.splitlines()[0]), (
            0, '{"task_id": "greet, typo", "seed": 1, "config": "small", "score": 1}'))
        self.assertEqual(err, "note: trials of config 'small': 4\n"
                         "note: trials of config 'large': 4, of which 1 has no score\n")
        self.assertEqual(process("csv", "absent.csv", *CSV), (
            1, "", "error: cannot read absent.csv: No such file or directory; give a file that can be read\n"))

    def test_help_says_which_tags_there_are_without_the_option(self):
        for verb in ("inspect", "promptfoo", "lm-eval", "table", "csv"):
            with contextlib.redirect_stdout(io.StringIO()) as shown, self.assertRaises(SystemExit):
                convert.main([verb, "--help"])
            self.assertIn("a field to make slices of; may be repeated (default: metadata whose values repeat, if any)",
                          " ".join(shown.getvalue().split()))

    def test_doctests(self):
        self.assertEqual(doctest.testmod(convert).failed, 0)


if __name__ == "__main__":
    unittest.main()
