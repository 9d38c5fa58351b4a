"""Does the whole chain keep its laws on case sets, runs, logs and faults that nobody wrote by hand?

Everything is drawn from a seed: a case set, two systems that answer, refuse, fail or are unavailable at random, the
logs that bench.py records of them, and what happens to these logs.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import sys
import tempfile
import unittest
from unittest import mock

import bench
import compare
import harness
from core.files import CaseError, RunError

SYSTEMS = '''
import random
from harness import Answer, Incomplete, Unavailable
from triage_task import CATEGORIES, message_text

class Random:
    """Answers by its own seed, the case and the trial; out of service now and then."""
    name, mode, model, prompt, tools, index = "random", "live", "dice@1", None, None, None

    def __init__(self, version):
        self.version, self.asked = version, {}

    def respond(self, case, trial):
        message_text(case.input)
        again = self.asked[case.id, trial] = self.asked.get((case.id, trial), 0) + 1
        dice = random.Random(f"{self.version} {case.id} {trial}")
        if dice.random() < 0.1 and again == 1:
            raise Unavailable("503 busy")
        if dice.random() < 0.1:
            raise Incomplete("prose", {"reply": "Well,"})
        answer = {"category": dice.choice(CATEGORIES[:2]), "needs_human": dice.random() < 0.1}
        return Answer(answer, {"dice": dice.random()})

def __getattr__(name):
    if not name.startswith("v"):
        raise AttributeError(name)
    return Random(name)
'''


def random_cases(rng):
    """Return a random case set as its file has it."""
    cases = []
    for number in range(rng.randint(2, 12)):
        text = rng.choice(["Where is it?", "Quiero mi dinero \U0001f4b6", "a | b `c` <i>", " ", None])
        expected = ({"category": rng.choice(("billing", "delivery")), "needs_human": False}
                    if text and text.strip() else {"rejected": True})
        tags = {tag: rng.choice(values) for tag, values in (("source", "abcdefgh"), ("lang", "xy"), ("form", "pqr"))
                if rng.random() < 0.9}
        cases.append({"id": f"c{number} {rng.choice(['', 'ñ', '--es', '|'])}",
                      "split": rng.choice(("dev", "dev", "heldout")), "input": {} if text is None else {"text": text},
                      "expected": expected, "tags": tags})
    cases[0]["split"] = "dev"
    return {"name": "drawn", "version": "1", "cases": cases}


class PropertyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        self.addCleanup(sys.modules.pop, "drawn_systems", None)
        sync = mock.patch.object(os, "fsync")  # waits for the disk, and these files do not outlive the test
        sync.start()
        self.addCleanup(sync.stop)
        os.chdir(folder.name)
        os.mkdir("runs")
        self.save("drawn_systems.py", SYSTEMS)

    def save(self, name, content):
        with open(name, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def load(self, name):
        with open(name, "rb") as file:
            return file.read()

    def record(self, version, trials, *more):
        """Record one system into VERSION.jsonl with bench.py, and return the name of its log."""
        log = f"{version}.jsonl"
        with contextlib.redirect_stdout(io.StringIO()):
            bench.main(["--cases", "cases.json", "--system", f"drawn_systems:{version}", "--trials", str(trials),
                        "--log", log, "--quiet", *more], bench.Times(lambda: 0.0, lambda: 0.0, lambda pause: None))
        return log

    def worlds(self, count, seed):
        """Yield (rng, trials, case set) of random worlds, each saved as cases.json beside fresh logs of v1 and v2."""
        rng = random.Random(seed)
        for world in range(count):
            for name in (*os.listdir(), *(os.path.join("runs", name) for name in os.listdir("runs"))):
                if name.endswith((".jsonl", ".json")):
                    os.unlink(name)
            self.save("cases.json", json.dumps(random_cases(rng), ensure_ascii=rng.random() < 0.5))
            trials = rng.randint(1, 4)
            with self.subTest(seed=seed, world=world), contextlib.redirect_stderr(io.StringIO()):
                for version in ("v1", "v2"):
                    self.record(version, trials, "--workers", str(rng.randint(1, 3)))
                yield rng, trials, harness.load_cases("cases.json")

    def replayed(self, *logs):
        return harness.replay([harness.read_log(log) for log in logs], harness.load_cases("cases.json"),
                              harness.load_task("triage_task"))

    def test_a_rebuilt_record_and_comparison_equal_the_saved_ones(self):
        for _, _, cases in self.worlds(6, seed=1):
            runs = []
            for version in ("v1", "v2"):
                runs.append(self.replayed(f"{version}.jsonl"))
                self.assertEqual(harness.record_text(runs[-1]).encode(), self.load(f"runs/{version}.json"))
                harness.check_record(runs[-1], version, cases)
            argv = ["runs/v1.json", "runs/v2.json", "--cases", "cases.json", "--out", "c.json"]
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(compare.main(argv), 0)
            self.assertEqual(compare.format_json(compare.compare(*runs, cases)).encode(), self.load("c.json"))

    def test_swapping_the_sides_mirrors_every_exact_figure(self):
        for _, _, cases in self.worlds(6, seed=2):
            one, other = self.replayed("v1.jsonl"), self.replayed("v2.jsonl")
            forward, back = compare.compare(one, other, cases), compare.compare(other, one, cases)
            self.assertEqual(back["overall"]["difference"], -forward["overall"]["difference"] + 0.0)
            for key in ("p_value", "groups", "reason"):
                self.assertEqual(back["overall"]["source_sign_flip"][key], forward["overall"]["source_sign_flip"][key])
            if forward["decision"]["interval"]:
                low, high = forward["decision"]["interval"]
                self.assertEqual(back["decision"]["interval"], [-high + 0.0, -low + 0.0])
            self.assertEqual([case["by_chance"] for case in back["cases"]],
                             [case["by_chance"] for case in forward["cases"]])
            self.assertEqual(back["variance"], forward["variance"])
            for tag, values in forward["slices"].items():
                for value, part in values.items():
                    self.assertEqual(back["slices"][tag][value]["adjusted_p_value"], part["adjusted_p_value"])

    def test_shards_joined_are_the_whole_run(self):
        for rng, trials, _ in self.worlds(5, seed=3):
            n = rng.randint(2, 4)
            logs = []
            for k in range(1, n + 1):
                self.record("v1", trials, "--shard", f"{k}/{n}", "--log", f"part{k}.jsonl")
                logs.append(f"part{k}.jsonl")
            rng.shuffle(logs)
            joined, whole = self.replayed(*logs), self.replayed("v1.jsonl")
            for record in (joined, whole):
                for field in ("log", "shards", "workers"):
                    record["manifest"].pop(field, None)
                for row in record["results"]:
                    row["metadata"] = {key: row["metadata"][key] for key in row["metadata"] if "retr" not in key}
            self.assertEqual(joined, whole)
            with self.assertRaises(RunError):
                self.replayed(*logs[1:])
            with self.assertRaises(RunError):
                self.replayed(*logs, logs[0])

    def test_order_of_the_lines_of_a_log_changes_nothing_but_its_seal(self):
        for rng, _, _ in self.worlds(4, seed=4):
            before = self.replayed("v1.jsonl")
            header, *lines, _ = self.load("v1.jsonl").splitlines(keepends=True)
            rng.shuffle(lines)
            body = header + b"".join(lines)
            self.save("v1.jsonl", body + json.dumps({"type": "end", "trials": len(lines), "sha256":
                                                     hashlib.sha256(body).hexdigest()}).encode() + b"\n")
            after = self.replayed("v1.jsonl")
            del before["manifest"]["log"], after["manifest"]["log"]
            self.assertEqual(after, before)

    def test_a_byte_changed_anywhere_is_noticed_or_changes_nothing(self):
        for rng, _, cases in self.worlds(3, seed=5):
            kept = {name: self.load(name) for name in ("v1.jsonl", "runs/v1.json", "cases.json")}
            one, other = self.replayed("v1.jsonl"), harness.read_record("runs/v2.json")
            expected = compare.compare(one, other, cases)
            expected.pop("logs")
            for _ in range(60):
                name = rng.choice(list(kept))
                data = bytearray(kept[name])
                data[rng.randrange(len(data))] = rng.choice(b' 0"}n\xff')
                self.save(name, bytes(data))
                with contextlib.suppress(RunError, CaseError):
                    changed = harness.load_cases("cases.json")
                    # A record is no evidence of its own: it must agree with what its log gives.
                    fresh, saved = self.replayed("v1.jsonl"), harness.read_record("runs/v1.json")
                    if name != "runs/v1.json" or saved == fresh:
                        found = compare.compare(fresh, other, changed)
                        found.pop("logs")
                        self.assertEqual(found, expected)
                self.save(name, kept[name])


if __name__ == "__main__":
    unittest.main()
