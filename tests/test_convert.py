"""Do other tools' logs become the trials they hold, whole and exact, or one line that says why not?

tests/data/convert/ holds logs that the tools themselves wrote, made small: inspect-*.eval and .json by Inspect 0.3.285
(mockllm/model) and 0.3.46, org__*/ by lm-eval 0.4.13 (dummy), promptfoo.json by promptfoo 0.121.20 (echo, and a
provider that fails). expected/ holds the rows they become.
"""

import contextlib
import doctest
import glob
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock


import convert
from importers import inspect_ai
from core import files
from core import trials

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(HERE, "tests", "data", "convert")
GEN = sorted(glob.glob(os.path.join(glob.escape(DATA), "org__*", "samples_toy_gen_*.jsonl")))
ONCE = "give each log once, and the runs of two systems one by one, each with its --config"
CSV = ["--case", "task", "--trial", "run", "--config", "model", "--score", "correct"]


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
            trials.check_row(json.loads(line), f"row {number}")

    def test_inspect_zipped_logs_of_two_prompts(self):
        self.check("inspect", "note: 'nested' is no tag: not one value of at most 200 characters (trials: 4)\n"
                   "note: 'listed' is no tag: not one value of at most 200 characters (trials: 4)\n"
                   "note: trials of config 'mockllm/model prompt=v1': 14\n"
                   "note: trials of config 'mockllm/model prompt=v2': 14\n",
                   "inspect", data("inspect-v1.eval"), data("inspect-v2.eval"))

    def test_inspect_json_with_a_scorer_chosen(self):
        self.check("inspect-scorers", "note: trials of config 'multi': 10\n",
                   "inspect", data("inspect-scorers.json"), "--scorer", "parts/b", "--config", "multi")

    def test_inspect_log_of_2024(self):
        self.check("inspect-0.3.46", "note: trials of config 'mockllm/model': 4\n",
                   "inspect", data("inspect-0.3.46.eval"))

    def test_lm_eval_two_models_and_a_filter(self):
        self.check("lm-eval", "note: several answers (repeats), which lm-eval scores as one: one row, not one an "
                   "answer (trials: 8)\nnote: trials of config 'org__alpha': 4\n"
                   "note: trials of config 'org__beta': 4\n",
                   "lm-eval", *GEN, "--metric", "exact_match", "--filter", "first", "--tag", "subject")

    def test_promptfoo_providers_prompts_and_repeats(self):
        self.check("promptfoo", "note: 'list' is no tag: not one value of at most 200 characters (trials: 8)\n"
                   "note: of a test without assertions, which always passes (trials: 8)\n"
                   + "".join(f"note: trials of config '{name}': 8\n" for name in
                             ("echo v1", "echo v2", "priced v1", "priced v2")),
                   "promptfoo", data("promptfoo.json"), "--cluster", "source")

    def test_csv(self):
        self.check("csv", "note: trials of config 'small': 4\nnote: trials of config 'large': 4\n",
                   "csv", data("scores.csv"), *CSV, "--cluster", "source", "--tag", "language", "--error", "why")

    def test_fixtures_name_no_machine(self):
        for path in glob.glob(os.path.join(glob.escape(DATA), "**", "*.*"), recursive=True):
            if path.endswith(".eval"):
                with zipfile.ZipFile(path) as archive:
                    texts = [inspect_ai.unzip(archive, info) for info in archive.infolist()]
            else:
                texts = [read(path, "rb")]
            for text in texts:
                for word in (b"/home/", b"/Users/", b"C:\\", *(b"/%s/" % name for name in (b"tmp", b"root"))):
                    self.assertNotIn(word, text, path)


class OracleTest(ConvertTest):
    """The tools' own totals, which the converter does not read, against the rows."""

    def test_inspect_mean_is_the_one_that_inspect_computed(self):
        for name in ("inspect-v1.eval", "inspect-v2.eval", "inspect-0.3.46.eval"):
            header = next(inspect_ai.read_inspect(data(name), mock.MagicMock()))[1]
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
        items = list(inspect_ai.read_inspect(data("inspect-v1.eval"), mock.MagicMock()))
        log = {**items[0][1], "samples": [sample for _, sample in reversed(items[1:])]}
        self.assertEqual(run("inspect", self.file("log.json", log)), run("inspect", data("inspect-v1.eval")))


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
        rows = self.rows("inspect", self.log((0, 1, "maybe"), (1, 1, float("nan")), (2, 1, None), nan, (4, 1, 1e999)))
        self.assertEqual([row["error"] for row in rows], [
            "not scored: 'maybe'", "not scored: nan", "not scored: no value", "not scored: grader_failed",
            "not scored: inf"])
        self.assertEqual({row["score"] for row in rows}, {None})

    def test_ids_stay_as_they_are(self):
        ids = [7, "a|b\n<c>", "\u2028x", 10**30, "007"]
        rows = self.rows("inspect", self.log(*((name, 1, "C") for name in ids)))
        self.assertCountEqual([row["task_id"] for row in rows], ids)

    def test_an_error_is_unscored_whatever_the_score(self):
        sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": "I"}}, "error": {"message": "b" * 300 + "\nTraceback"},
                  "metadata": {"long": "x" * 201, "short": "x" * 200, "ratio": float("nan")}}
        _, out, err = run("inspect", self.log(sample))
        row = json.loads(out)
        self.assertEqual((row["score"], row["error"], row["tags"]), (None, "b" * 200, {"short": "x" * 200}))
        self.assertIn("note: scored by Inspect in spite of an error: unscored here (trials: 1)\n", err)

    def test_cost_and_time_come_from_usage(self):
        sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}, "working_time": 2.5, "total_time": 9,
                  "completed_at": "2026-01-01T00:00:00+00:00", "model_usage": {
                      "a": {"total_cost": 0.25, "total_tokens": 10}, "b": {"total_cost": 0.5, "total_tokens": 5},
                      "c": {}}}
        row = self.rows("inspect", self.log(sample))[0]
        self.assertEqual((row["cost_usd"], row["latency_s"], row["tokens"], row["ts"]),
                         (0.75, 2.5, 15, "2026-01-01T00:00:00+00:00"))
        sample |= {"working_time": float("nan"), "completed_at": 0, "model_usage": {
            "a": {"total_cost": -1, "total_tokens": 10**400}, "b": {"total_cost": True, "total_tokens": "5"}}}
        self.assertLessEqual(self.rows("inspect", self.log(sample))[0].keys(),
                             {"task_id", "seed", "config", "score", "input_sha256"})

    def test_ids_of_messages_do_not_change_the_hash(self):
        logs = [self.log({"id": 1, "epoch": 1, "input": [{"id": text, "role": "user", "content": "q"}]}, name=text)
                for text in ("x", "y")]
        self.assertEqual(len({self.rows("inspect", log)[0]["input_sha256"] for log in logs}), 1)
        self.assertNotIn("input_sha256", self.rows("inspect", logs[0], "--no-hash")[0])

    def test_a_tag_that_differs_between_trials_is_dropped_and_one_that_is_missing_is_filled(self):
        samples = [{"id": 1, "epoch": epoch, "metadata": metadata} for epoch, metadata in enumerate(
            ({"kind": "a", "tries": 1}, {"kind": "a", "tries": 2}, {}), start=1)]
        _, out, err = run("inspect", self.log(*samples))
        self.assertEqual([json.loads(line)["tags"] for line in out.splitlines()], [{"kind": "a"}] * 3)
        self.assertIn("note: 'tries' is no tag: it differs between trials of one case\n", err)

    def test_a_sample_of_version_1_and_an_invalidated_one(self):
        log = self.log({"id": 1, "epoch": 1, "score": {"value": "C"}},
                       {"id": 2, "epoch": 1, "scores": {"score": {"value": "C"}}, "invalidation": {}}, version=1)
        self.assertEqual([row["score"] for row in self.rows("inspect", log)], [1, 1])
        log = self.log({"id": 2, "epoch": 1, "scores": {"s": {"value": "C"}}, "invalidation": {"by": "x"}})
        self.assertEqual([(row["score"], row["error"]) for row in self.rows("inspect", log)], [(None, "invalidated")])

    def test_a_score_that_is_only_text_needs_no_choice(self):
        log = self.log({"id": 1, "epoch": 1, "scores": {"s": {"value": "C"}, "words": {"value": "fluent"}}})
        self.assertEqual(self.rows("inspect", log)[0]["score"], 1)

    def test_config_is_model_arguments_and_solver(self):
        header, samples = inspect_log((1, 1, "C"))
        header["eval"] |= {"task_args_passed": {"prompt": "v2", "shots": 3}, "solver": "agent",
                           "solver_args_passed": {"n": None}}
        log = self.file("log.json", {**header, "samples": samples})
        self.assertEqual(self.rows("inspect", log)[0]["config"], "m prompt=v2 shots=3 n=null solver=agent")

    def test_scores_of_one_scorer_that_is_nan_as_a_whole(self):
        log = self.log((1, 1, {"a": 1, "b": 0}), (2, 1, float("nan")))
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
            self.refused(f"{lack}; finish the run with `inspect eval-retry`, or convert what is there with "
                         "--unfinished", "inspect", log)
            status, out, err = run("inspect", log, "--unfinished")
            self.assertEqual((status, len(out.splitlines())), (0, 1))
            self.assertIn(lack, err)

    def test_an_unknown_version_is_read_by_its_fields_or_refused_with_its_number(self):
        status, out, err = run("inspect", self.log((1, 1, "C"), version=3))
        self.assertEqual(status, 0)
        self.assertIn("log.json: format version 3 is not known here; read by the fields it shares\n", err)
        self.refused("log.json (format version 3, not known here): sample 1: epoch is missing; correct the file",
                     "inspect", self.log({"id": 1, "trial": 1}, version=3))

    def test_a_log_given_twice_is_refused(self):
        path = data("inspect-0.3.46.eval")
        self.refused("inspect-0.3.46.eval: sample 'add', epoch 1: case 'add', trial 1 of 'mockllm/model' came "
                     f"before, in inspect-0.3.46.eval: sample 'add', epoch 1; {ONCE}", "inspect", path, path)

    def test_logs_of_two_tasks_are_refused(self):
        header, samples = inspect_log((1, 1, "C"))
        header["eval"]["task"] = "u"
        other = self.file("other.json", {**header, "samples": samples})
        self.refused("other.json: task 'u', after 't': ids of two tasks may be alike; convert each task by "
                     "itself", "inspect", self.log((1, 1, "C")), other)

    def test_files_that_are_no_log_are_refused(self):
        whole = read(data("inspect-0.3.46.eval"), "rb")
        cases = {
            "cut.eval": (whole[:900], "cut.eval: not a whole zip; copy the log again"),
            "empty.eval": (b"", "empty.eval: not a whole zip; copy the log again"),
            "cut.json": ('{"version": 2, "ev',
                         "cut.json: not JSON at line 1 column 16 (Unterminated string starting at); correct the file"),
            "row.json": ({"task_id": 1},
                         "row.json: a row of a plain trial log, not a log of Inspect; give one, .eval or .json"),
            "list.json": ([1], "list.json: JSON of another kind, not a log of Inspect; give one, .eval or .json"),
            "big.json": ('{"eval": {}, "version": ' + "9" * 5000 + "}",
                         "big.json: a whole number of thousands of digits; correct the file"),
        }
        for name, (content, message) in cases.items():
            with self.subTest(name):
                self.refused(message, "inspect", self.file(name, content))
        self.refused("no.eval: no header.json in this zip; give a log of Inspect, or copy it again",
                     "inspect", self.zip({"x": {}}, "no.eval"))
        status, out, err = run("inspect", os.path.join(self.folder, "absent.eval"))
        self.assertEqual((status, out, err.startswith("error: cannot read ")), (1, "", True))

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
                ({"id": None, "epoch": 1}, "'None', epoch 1: id is missing; correct the file"),
                ({"id": True, "epoch": 1}, "'True', epoch 1: id is True, not a whole number; correct the file"),
                ({"id": " ", "epoch": 1}, "' ', epoch 1: no task_id; name the case and the system"),
                ({"id": "\ud800", "epoch": 1}, "'\\ud800', epoch 1: task_id '\\ud800' holds half a character (a lone "
                 "surrogate), which no file can carry; write the whole character"),
                ({"id": 1, "epoch": "1"}, "1: epoch is '1', not a whole number; correct the file"),
                ({"id": 1, "epoch": 1, "scores": []}, "'1', epoch 1: scores is [], not an object; correct the file"),
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
        self.assertEqual([(row["task_id"], row["score"], row["tags"]) for row in self.rows("lm-eval", one, two)],
                         [("a_b/0", 1.0, {"task": "a_b"}), ("c/0", 0.0, {"task": "c"})])

    def test_hash_is_of_document_and_target_not_of_the_prompt(self):
        row = {"doc_id": 0, "acc": 1, "doc_hash": "d", "target_hash": "t", "prompt_hash": "p"}
        hashes = [self.rows("lm-eval", self.samples({**row, key: "other"}))[0]["input_sha256"]
                  for key in ("resps", "prompt_hash", "target_hash", "doc_hash")]
        self.assertEqual([hashes.index(value) for value in hashes], [0, 0, 2, 3])
        self.assertNotIn("input_sha256", self.rows("lm-eval", self.samples({**row, "doc_hash": None}))[0])

    def test_nan_is_unscored_and_text_is_read(self):
        log = self.samples({"doc_id": 0, "m": float("nan")}, {"doc_id": 1, "m": "True"})
        rows = self.rows("lm-eval", log, "--metric", "m")
        self.assertEqual([(row["score"], row.get("error")) for row in rows], [(None, "not scored: nan"), (1, None)])

    def test_a_second_run_has_its_seed(self):
        self.assertEqual(self.rows("lm-eval", self.samples({"doc_id": 0, "acc": 1}), "--seed", "2")[0]["seed"], 2)

    def test_several_filters_or_metrics_without_a_choice_are_refused(self):
        path = GEN[0].removeprefix(DATA + os.sep)
        self.refused(f"{path}: several filters; choose with --filter one of: first, lower-majority",
                     "lm-eval", GEN[0], "--metric", "exact_match")
        self.refused(f"{path}: no filter 'last'; choose with --filter one of: first, lower-majority",
                     "lm-eval", GEN[0], "--metric", "exact_match", "--filter", "last")
        self.refused(f"{path}:1: no metric 'bleu'; choose with --metric one of: exact_match",  # of the whole task
                     "lm-eval", GEN[0], "--metric", "bleu", "--filter", "first")
        two = self.samples({"doc_id": 0, "acc": 1, "acc_norm": 0})
        name = os.path.basename(two)
        self.refused(f"{name}:1: several metrics; choose with --metric one of: acc, acc_norm", "lm-eval", two)
        self.refused(f"{name}:1: no metric 'f1'; choose with --metric one of: acc, acc_norm",
                     "lm-eval", two, "--metric", "f1")

    def test_bad_rows_are_refused_by_line(self):
        for content, message in (
                (b'{"doc_id": 0, "acc": 1}\n{"doc_id": 1, "a',
                 ":2: not JSON at line 1 column 15 (Unterminated string starting at); correct the file"),
                (b'{"doc_id": "0", "acc": 1}\n', ":1: doc_id is '0', not a whole number; correct the file"),
                (b'{"doc_id": 0, "acc": 1}\n\xff\n', ": byte 24 is not utf-8; save the file as UTF-8")):
            self.refused("x.jsonl" + message, "lm-eval", self.file("x.jsonl", content))
        self.refused("no trial in the files given; give logs that hold samples", "lm-eval", self.file("x.jsonl", b""))

    def test_an_old_log_with_unnamed_filters_is_refused(self):
        status, out, err = run("lm-eval", self.samples({"doc_id": 0, "acc": 1}, {"doc_id": 0, "acc": 0}))
        self.assertEqual((status, out), (1, ""))
        self.assertIn(".jsonl:2: case 0, trial 1 of ", err)


# === promptfoo ===


def result(test_number=0, prompt_number=0, **fields):
    return {"testIdx": test_number, "promptIdx": prompt_number, "testCase": {"vars": {"q": "x"}, "assert": [{}]},
            "prompt": {"raw": "p"}, "provider": {"id": "echo"}, "score": 1, "success": True, "failureReason": 0,
            "response": {"output": ""}, **fields}


class PromptfooTest(ConvertTest):
    def results(self, *rows, version=3, **stats):
        return self.file("results.json", {"results": {"version": version, "results": rows, "stats": stats}})

    def test_repeats_are_told_from_tests_by_content(self):
        other = {"vars": {"q": "y"}, "assert": [{}]}  # a test of two variables repeats as x, y, x, y
        path = self.results(result(2), result(0), result(1, testCase=other), result(3, testCase=other))
        rows = self.rows("promptfoo", path)
        self.assertEqual([(row["task_id"], row["seed"]) for row in rows], [(0, 1), (1, 1), (0, 2), (1, 2)])

    def test_a_failure_is_a_score_and_an_error_is_none(self):
        rows = self.rows("promptfoo", self.results(
            result(0, score=0.25, success=False, failureReason=1, error="Expected x"),
            result(1, score=0, success=False, failureReason=2, error="503\nstack"),
            {**result(2, score=0, error="old"), "failureReason": None}))
        self.assertEqual([(row["score"], row.get("error")) for row in rows],
                         [(0.25, None), (None, "503"), (None, "old")])

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

    def test_long_prompts_are_numbered(self):
        labels = ("p", "line\nline", "v2")
        path = self.results(*(result(0, number, prompt={"label": label}) for number, label in enumerate(labels)))
        self.assertEqual([row["config"] for row in self.rows("promptfoo", path)],
                         ["echo p", "echo prompt 2", "echo v2"])

    def test_what_is_not_whole_or_not_known_is_refused(self):
        self.refused("results.json (format version 2, not known here): result 1: testIdx is missing; correct the file",
                     "promptfoo", self.results({"vars": {}}, version=2))
        self.refused("x.json: JSON of another kind, not results of promptfoo; give what its --output wrote",
                     "promptfoo", self.file("x.json", [1]))
        self.refused("results.json: testIdx 0, promptIdx 1: case 0, trial 1 of 'echo' came before, in results.json: "
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
        for mark, name in ((";", ";"), ("\t", "tab")):
            path = self.csv("task;run;model;correct\na;1;m;1\na;01;m;1\na;x;m;1\n".replace(";", mark))
            rows = self.rows("csv", path, *CSV, "--delimiter", name)
            self.assertEqual([row["seed"] for row in rows], [1, "01", "x"])

    def test_bad_tables_are_refused_by_line(self):
        head = "task,run,model,correct\n"
        for content, message in (
                ("task,run,model\n", ":1: no columns 'correct'; there are: task, run, model"),
                ("", ":1: no columns 'task'; there are: none"),
                ("task,task,run,model,correct\n", ":1: 2 columns 'task'; there are: task, task, run, model, correct"),
                (head + "a,1,m,1\na,2,m\n", ":3: 3 cells, but 4 columns; correct the line"),
                (head + "a,1,m,1,\n", ":2: 5 cells, but 4 columns; correct the line"),
                (head + "a,,m,1\n", ":2: run is blank; fill it in"),
                (head + "a,1,m,passs\n", ":2: score 'passs' is no number, true or false; correct it"),
                (head + "a,1,m,nan\n", ":2: score 'nan' is no number, true or false; correct it"),
                (head + "a,1,m,\"1\n", ":2: unexpected end of data; correct the quotes, or give --delimiter"),
                (head + "a,1,m,1\nb,1,m,1\na,1,m,0\n",
                 f":4: case 'a', trial 1 of 'm' came before, in t.csv:2; {ONCE}")):
            with self.subTest(content):
                self.refused("t.csv" + message, "csv", self.csv(content), *CSV)


# === Command line ===


class CommandTest(ConvertTest):
    def test_a_field_that_no_trial_has_is_refused(self):
        self.refused("no trial has a field 'lang' for --tag or --cluster; there are: hard, language, level, listed, "
                     "nested, nothing, ratio", "inspect", data("inspect-v1.eval"), "--tag", "lang")

    def test_process_prints_rows_only_and_tells_its_status(self):
        def process(*argv):
            done = subprocess.run([sys.executable, "-I", "-W", "error", os.path.join(HERE, "convert.py"), *argv],
                                  capture_output=True, text=True, cwd=HERE)
            return done.returncode, done.stdout, done.stderr

        status, out, err = process("csv", data("scores.csv"), *CSV)
        self.assertEqual((status, out.splitlines()[0]), (
            0, '{"task_id": "greet, typo", "seed": 1, "config": "small", "score": 1}'))
        self.assertEqual(err, "note: trials of config 'small': 4\nnote: trials of config 'large': 4\n")
        self.assertEqual(process("csv", "absent.csv", *CSV), (
            1, "", "error: cannot read absent.csv: No such file or directory; give a file that can be read\n"))

    def test_doctests(self):
        self.assertEqual(doctest.testmod(convert).failed, 0)


if __name__ == "__main__":
    unittest.main()
