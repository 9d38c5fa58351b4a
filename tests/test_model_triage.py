"""Does the bundled system ask with the published prompts, under names that tell two systems apart?

The server is fake_server.py. What its HTTP says is test_chat's.
"""

import hashlib
import unittest
from unittest import mock

import harness
import model_triage
import triage_task
from harness import Case, RunError
from tests.fake_server import ServerTest

TASK = harness.load_task("triage_task")
PINS = {"qwen": ("qwen3.5:0.8b", "de63045f2975"), "gemma": ("gemma4:e2b", "b37049369adf"),
        "coder": ("qwen2.5-coder:0.5b", None)}


def load(name):
    return harness.load_system(f"model_triage:{name}")


class PromptTest(unittest.TestCase):
    def test_prompts_are_the_published_ones_to_the_byte(self):
        for version, digits in (("v1", "053fdf51b21d891e"), ("v2", "d3ebc88d046c97b5")):
            for name in (f"qwen_{version}", f"gemma_{version}", f"coder_{version}", f"any:1b/{version}"):
                self.assertEqual(getattr(model_triage, name).prompt, f"triage-{version} sha256:{digits}")
            text = model_triage.PROMPTS[version]
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], digits)

    def test_the_identity_follows_the_prompt(self):
        with mock.patch.dict(model_triage.PROMPTS, {"v1": "Another prompt."}):
            self.assertNotIn("053fdf51b21d891e", model_triage.coder_v1.prompt)


class NameTest(unittest.TestCase):
    def test_short_names_have_a_tag_a_prompt_and_the_published_model(self):
        for short, (tag, pin) in PINS.items():
            for version in ("v1", "v2"):
                system = load(f"{short}_{version}")
                self.assertEqual((system.asked, system.version, system.model, system.mode, system.tools, system.index),
                                 (tag, version, f"{tag}@{pin or 'unknown'}", "live", None, None))

    def test_any_installed_model_is_a_system_and_two_tags_of_one_model_have_two_names(self):
        names = set()
        for tag in ("llama3.2:1b", "llama3.2:3b", "llama3.2", "hf.co/org/model-GGUF:Q4_K_M", "me/my_v2:x"):
            system = load(f"{tag}/v2")
            self.assertEqual((system.asked, system.version, system.pinned), (tag, "v2", None))
            names.add(system.name)
        self.assertEqual(len(names), 5)

    def test_what_is_no_system_is_refused_with_those_that_are(self):
        for name in ("coder_v3", "coder", "nobody_v1", "llama3.2:1b", "llama3.2:1b/v3", "/v1", "coder_v1/"):
            with self.subTest(name), self.assertRaises(RunError) as caught:
                load(name)
            for part in (f"has no system {name!r}", "qwen, gemma, coder with _v1 or _v2", "TAG/v1 or TAG/v2"):
                self.assertIn(part, str(caught.exception))


class RequestTest(ServerTest):
    def test_one_message_is_one_chat_request_with_exactly_this_body(self):
        system = load("coder_v2")
        system.configure(TASK, [], None, {})
        system.respond(Case("c", "dev", {"text": "Where is it? ¿Dónde?"}, {}, {}), 3)
        self.assertEqual(self.server.asked, [("POST", "/api/chat", {
            "model": "qwen2.5-coder:0.5b", "stream": False, "think": False, "truncate": False,
            "format": {"type": "object",
                       "properties": {
                           "category": {"type": "string", "enum": ["billing", "delivery", "account", "other"]},
                           "needs_human": {"type": "boolean"}},
                       "required": ["category", "needs_human"]},
            "messages": [{"role": "system", "content": model_triage.PROMPTS["v2"]},
                         {"role": "user", "content": "Where is it? ¿Dónde?"}],
            "options": {"temperature": 1, "num_predict": 64, "num_ctx": 4096, "seed": 1003}})])

    def test_blank_and_missing_messages_are_rejected_before_any_call_as_the_rules_reject_them(self):
        for case_input in ({"other": 1}, {"text": None}, {"text": ""}, {"text": " \n "}):
            empty, system = Case("c", "dev", case_input, {"rejected": True}, {}), load("coder_v1")
            system.configure(TASK, [empty], None, {})
            ours, theirs = (harness.attempt(each, TASK, empty, 1) for each in (system, triage_task.rules))
            self.assertEqual(ours, theirs)
            self.assertEqual(ours["error"]["type"], "Rejection")
        self.assertEqual(self.server.asked, [])

    def test_another_task_refuses_in_its_own_way(self):
        task = harness.load_task("answer_task")
        empty, system = Case("c", "dev", {"text": " "}, {"rejected": True}, {}), load("coder_v1")
        system.configure(task, [empty], None, {})
        outcome = harness.attempt(system, task, empty, 1)
        self.assertEqual(outcome["error"], {"type": "Rejection", "message": "the input is blank"})
        self.assertEqual(harness.grade(task, empty, outcome)[0], "pass")

    def test_options_and_a_prompt_of_ones_own_take_the_place_of_the_systems(self):
        system = load("coder_v1")
        system.configure(TASK, [], ("mine", "Sort it."), {"num_predict": 9, "temperature": 0})
        self.assertEqual((system.version, system.text), ("mine", "Sort it."))
        self.assertEqual(system.sent()["options"], {"temperature": 0, "num_predict": 9, "num_ctx": 4096})
        self.assertEqual(system.sent()["format"], model_triage.ANSWER_SCHEMA)


class PinTest(ServerTest):
    def test_the_pinned_manifest_is_accepted_and_has_the_published_text(self):
        for short, (tag, pin) in PINS.items():
            self.server.models[tag] = (pin or "4edae2d5b293") + 52 * "0"
            system = load(f"{short}_v1")
            self.assertEqual(system.prepare()["digest"], pin or "4edae2d5b293")
            self.assertEqual(system.model, f"{tag}@{pin or '1d961d961d96'}")

    def test_another_manifest_is_refused_with_both_digests_before_any_message_is_sent(self):
        self.server.models["qwen3.5:0.8b"] = "0123456789abcdef"
        said = self.raised(RunError, load("qwen_v1").prepare)
        for part in ("0123456789ab", "de63045f2975", "qwen3.5:0.8b/VERSION", self.server.host):
            self.assertIn(part, said)
        self.assertEqual(self.server.posts, [])


if __name__ == "__main__":
    unittest.main()
