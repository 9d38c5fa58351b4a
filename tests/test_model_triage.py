"""Does the Ollama client ask what it should, and tell apart an answer, a model's failing and a server's trouble?

A small local HTTP server answers as Ollama documents its API, or misbehaves on cue. No model, no other network.
"""

import contextlib
import doctest
import hashlib
import http.server
import json
import os
import socket
import struct
import sys
import threading
import unittest
from unittest import mock


import harness
import model_triage
import triage_task
from harness import Case, RunError, Unavailable
from model_triage import server_address

TASK = harness.load_task("triage_task")
DIGESTS = {"qwen3.5:0.8b": "de63045f2975", "gemma4:e2b": "b37049369adf", "qwen2.5-coder:0.5b": "1d9614638d18"}
ANSWER = {"category": "billing", "needs_human": False}


def case(**case_input):
    return Case("c", "dev", case_input or {"text": "I was charged twice"}, ANSWER, {})


def chat(content='{"category": "billing", "needs_human": false}', thinking=None, **fields):
    """Return the reply of Ollama's POST /api/chat with stream false, as its API documentation shows it."""
    message = {"role": "assistant", "content": content} | ({"thinking": thinking} if thinking else {})
    return {"model": "demo:1b", "created_at": "2023-12-12T14:13:43.416799Z", "message": message, "done": True,
            "done_reason": "stop", "total_duration": 5191566416, "load_duration": 2154458, "prompt_eval_count": 26,
            "prompt_eval_duration": 383809000, "eval_count": 298, "eval_duration": 4799921000} | fields


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers /api/version and /api/tags from `tags`, /api/chat from `reply`: (status, body) or a function of self."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.command, self.path, None))
        if self.server.broken:
            self.send(*self.server.broken)
        elif self.path.endswith("/api/version"):
            self.send(200, {"version": "0.12.6"})
        elif self.path.endswith("/api/tags"):
            self.send(200, {"models": [{"name": name, "model": name, "size": 1, "digest": digest + 52 * "0"}
                                       for name, digest in self.server.tags.items()]})
        else:
            self.send(404, {"error": "no such page"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.command, self.path, json.loads(body)))
        if callable(self.server.reply):
            self.server.reply(self)
        else:
            self.send(*self.server.reply)

    def send(self, status, body, cut=0):
        """Send a reply; with `cut`, close the connection that many bytes before its end."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:len(data) - cut])
        self.close_connection = True

    def reset(self):
        """Close the connection with a TCP reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def log_message(self, *args):
        pass


class ServerTest(unittest.TestCase):
    """One server for the class; each test finds it well, with the three pinned models."""

    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        cls.server.handle_error = lambda *args: None  # a client that left is no error
        threading.Thread(target=cls.server.serve_forever, args=(0.01,), daemon=True).start()
        cls.address = f"127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        self.server.asked, self.server.tags = [], dict(DIGESTS)
        self.server.reply, self.server.broken = (200, chat()), None
        environment = mock.patch.dict(os.environ, {"OLLAMA_HOST": self.address})
        environment.start()
        self.addCleanup(environment.stop)

    def system(self, name="coder_v1"):
        return harness.load_system(f"model_triage:{name}")

    def respond(self, reply, status=200):
        """Return the answer to one message where the server gives this reply."""
        self.server.reply = reply if callable(reply) else (status, reply)
        return self.system().respond(case(), 1)

    def raised(self, kind, call, *args):
        with self.assertRaises(kind) as caught:
            call(*args)
        return str(caught.exception)


class RequestTest(ServerTest):
    def test_one_message_is_one_chat_request_with_exactly_this_body(self):
        self.system("coder_v2").respond(case(text="Where is it? ¿Dónde?"), 3)
        self.assertEqual(self.server.asked, [("POST", "/api/chat", {
            "model": "qwen2.5-coder:0.5b", "stream": False, "think": False,
            "format": {"type": "object",
                       "properties": {
                           "category": {"type": "string", "enum": ["billing", "delivery", "account", "other"]},
                           "needs_human": {"type": "boolean"}},
                       "required": ["category", "needs_human"]},
            "messages": [{"role": "system", "content": model_triage.PROMPTS["v2"]},
                         {"role": "user", "content": "Where is it? ¿Dónde?"}],
            "options": {"temperature": 1, "num_predict": 64, "seed": 1003}})])

    def test_the_seed_is_1000_plus_the_trial_for_every_case_and_model(self):
        for name in ("coder_v1", "gemma_v2", "llama3.2:1b/v2"):
            for trial in (1, 5):
                self.system(name).respond(case(text=name), trial)
        self.assertEqual([body["options"]["seed"] for _, _, body in self.server.asked], [1001, 1005] * 3)

    def test_a_request_leaves_the_next_one_as_it_was(self):
        system = self.system()
        recorded = json.dumps(system.settings)
        system.respond(case(), 1)
        system.respond(case(), 1)
        self.assertEqual(self.server.asked[0], self.server.asked[1])
        self.assertEqual(json.dumps(system.settings), recorded)

    def test_the_settings_to_record_hold_the_prompt_and_every_option(self):
        settings = self.system("coder_v2").settings
        self.assertEqual(settings["prompt"], model_triage.PROMPTS["v2"])
        self.assertEqual(settings["request"]["options"], {"temperature": 1, "num_predict": 64})

    def test_blank_and_missing_messages_are_rejected_before_any_call_as_the_rules_reject_them(self):
        for case_input in ({"other": 1}, {"text": None}, {"text": ""}, {"text": " \n "}):
            empty = Case("c", "dev", case_input, {"rejected": True}, {})
            ours, theirs = (harness.attempt(system, TASK, empty, 1) for system in (self.system(), triage_task.rules))
            self.assertEqual(ours, theirs)
            self.assertEqual(ours["error"]["type"], "Rejection")
        self.assertEqual(self.server.asked, [])

    def test_the_path_of_ollama_host_stands_before_every_request(self):
        os.environ["OLLAMA_HOST"] = f"http://{self.address}/behind/a/proxy/"
        system = self.system()
        self.assertEqual(system.prepare()["host"], f"{self.address}/behind/a/proxy")
        system.respond(case(), 1)
        self.assertEqual([path for _, path, _ in self.server.asked],
                         [f"/behind/a/proxy/api/{name}" for name in ("version", "tags", "chat")])


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
    def test_pinned_systems_name_their_tag_digest_and_prompt(self):
        for short, tag in (("qwen", "qwen3.5:0.8b"), ("gemma", "gemma4:e2b"), ("coder", "qwen2.5-coder:0.5b")):
            for version in ("v1", "v2"):
                system = harness.load_system(f"model_triage:{short}_{version}")
                self.assertEqual((system.tag, system.version, system.model, system.mode, system.tools, system.index),
                                 (tag, version, f"{tag}@{DIGESTS[tag]}", "live", None, None))

    def test_any_installed_model_is_a_system(self):
        for tag in ("llama3.2:1b", "llama3.2", "hf.co/org/model-GGUF:Q4_K_M", "me/my_v2:x"):
            system = harness.load_system(f"model_triage:{tag}/v2")
            self.assertEqual((system.tag, system.version, system.pinned), (tag, "v2", None))

    def test_what_is_no_system_is_refused_by_name(self):
        for name in ("coder_v3", "coder", "nobody_v1", "llama3.2:1b", "llama3.2:1b/v3", "/v1", "coder_v1/"):
            with self.subTest(name), self.assertRaises(RunError) as caught:
                harness.load_system(f"model_triage:{name}")
            self.assertIn(f"has no system {name!r}", str(caught.exception))


# Ollama's own table, TestHost of envconfig/config_test.go; an empty host there is this machine.
OLLAMA_HOSTS = {
    "": "http://127.0.0.1:11434", "1.2.3.4": "http://1.2.3.4:11434", ":1234": "http://127.0.0.1:1234",
    "1.2.3.4:1234": "http://1.2.3.4:1234", "example.com": "http://example.com:11434",
    "example.com:1234": "http://example.com:1234", ":0": "http://127.0.0.1:0", ":66000": "http://127.0.0.1:11434",
    ":-1": "http://127.0.0.1:11434", "[::1]": "http://[::1]:11434", "[::]": "http://[::]:11434",
    "::1": "http://[::1]:11434", "[::1]:1337": "http://[::1]:1337", " 1.2.3.4 ": "http://1.2.3.4:11434",
    '"1.2.3.4"': "http://1.2.3.4:11434", ' " 1.2.3.4 " ': "http://1.2.3.4:11434",
    "'1.2.3.4'": "http://1.2.3.4:11434", "http://1.2.3.4": "http://1.2.3.4:80",
    "http://1.2.3.4:4321": "http://1.2.3.4:4321", "https://1.2.3.4": "https://1.2.3.4:443",
    "https://1.2.3.4:4321": "https://1.2.3.4:4321", "https://example.com/ollama": "https://example.com:443/ollama",
    "ollama.com": "https://ollama.com:443",
}
MORE_HOSTS = {
    "http://localhost:11434/": "http://localhost:11434", "0.0.0.0": "http://0.0.0.0:11434",
    "http://[::1]": "http://[::1]:80", "[fe80::1]:80/x/y/": "http://[fe80::1]:80/x/y", "host:": "http://host:11434",
    "host:port": "http://host:11434", "host:008080": "http://host:8080", f"host:{'9' * 5000}": "http://host:11434",
    "fe80::1": "http://[fe80::1]:11434", "host:１２": "http://host:11434",
}


class AddressTest(unittest.TestCase):
    def test_values_are_read_as_ollama_reads_them(self):
        for text, expected in (OLLAMA_HOSTS | MORE_HOSTS).items():
            with self.subTest(text):
                scheme, host, port, path = server_address(text)
                self.assertEqual(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}", expected)

    def test_another_scheme_is_refused_by_name(self):
        with self.assertRaises(RunError) as caught:
            server_address("ftp://example.com")
        self.assertIn("ftp:// is neither http:// nor https://", str(caught.exception))

    def test_the_server_is_named_with_its_port(self):
        for text, name in (("", "127.0.0.1:11434"), ("::1", "[::1]:11434"), ("https://a.b/c", "a.b:443/c")):
            self.assertEqual(model_triage.Server(text).name, name)


class PrepareTest(ServerTest):
    def test_pinned_weights_that_are_there_are_accepted(self):
        system = self.system()
        self.assertEqual(system.prepare(), {"host": self.address, "version": "0.12.6"})
        self.assertEqual(system.model, "qwen2.5-coder:0.5b@1d9614638d18")

    def test_other_weights_are_refused_with_both_digests_before_any_message_is_sent(self):
        self.server.tags["qwen2.5-coder:0.5b"] = "0123456789abcdef"
        said = self.raised(RunError, self.system().prepare)
        for part in ("0123456789ab", "1d9614638d18", "qwen2.5-coder:0.5b/v1", self.address):
            self.assertIn(part, said)
        self.assertEqual({command for command, _, _ in self.server.asked}, {"GET"})

    def test_the_digest_of_any_other_model_is_recorded(self):
        self.server.tags |= {"llama3.2:1b": "baf6a787fdff", "plain:latest": "sha256:0c1d2e3f4a5b"}
        for name, model in (("llama3.2:1b/v2", "llama3.2:1b@baf6a787fdff"), ("plain/v1", "plain@0c1d2e3f4a5b"),
                            ("qwen2.5-coder:0.5b/v2", "qwen2.5-coder:0.5b@1d9614638d18")):
            system = self.system(name)
            self.assertEqual(system.model.partition("@")[2], "unknown")
            system.prepare()
            self.assertEqual(system.model, model)

    def test_weights_that_change_under_way_show_in_the_model(self):
        system = self.system("gemma4:e2b/v1")
        system.prepare()
        self.server.tags["gemma4:e2b"] = "ffffffffffff"
        system.prepare()
        self.assertEqual(system.model, "gemma4:e2b@ffffffffffff")

    def test_a_model_that_is_not_there_is_refused_with_those_that_are(self):
        said = self.raised(RunError, self.system("llama3.2:1b/v2").prepare)
        for part in ("no model 'llama3.2:1b'", "gemma4:e2b", "qwen3.5:0.8b", "ollama pull llama3.2:1b"):
            self.assertIn(part, said)
        self.server.tags = {}
        self.assertIn("it has none", self.raised(RunError, self.system().prepare))

    def test_no_server_is_one_error_that_says_what_to_do(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as held:
            closed = f"127.0.0.1:{held.getsockname()[1]}"
        for address, reason in ((closed, "refused"), ("a..b", "a..b"), ("with space", "with space")):
            os.environ["OLLAMA_HOST"] = address
            with self.subTest(address):
                said = self.raised(RunError, self.system().prepare)
                self.assertRegex(said, f"no Ollama server answers: .*{reason}.*; start it, or set OLLAMA_HOST")

    def test_a_server_that_is_not_ollama_is_refused(self):
        for broken in ((404, b"<html>not here</html>"), (200, b"<html>hello</html>"), (200, []), (503, b"busy")):
            self.server.broken = broken
            with self.subTest(broken):
                self.assertIn(self.address, self.raised(RunError, self.system().prepare))
        for models in (None, [7], [{"name": ["odd"]}], 7):
            self.server.broken = (200, {"models": models})
            self.assertIn("no model 'qwen2.5-coder:0.5b'", self.raised(RunError, self.system().prepare))


class AnswerTest(ServerTest):
    def test_an_answer_comes_with_the_replys_own_counts_and_times(self):
        output, metadata = self.respond(chat())
        self.assertEqual(output, ANSWER)
        self.assertEqual(metadata, {
            "server": self.address, "reply": '{"category": "billing", "needs_human": false}', "done_reason": "stop",
            "prompt_eval_count": 26, "eval_count": 298, "total_duration": 5191566416, "load_duration": 2154458,
            "prompt_eval_duration": 383809000, "eval_duration": 4799921000})

    def test_a_reply_without_counts_is_an_answer_too(self):
        output, metadata = self.respond({"message": {"content": '\n {"needs_human": true, "category": "other"} '}})
        self.assertEqual(output, {"category": "other", "needs_human": True})
        self.assertEqual(set(metadata), {"server", "reply"})

    def test_a_prompt_at_the_context_limit_is_a_warning(self):
        for count, warned in ((4095, False), (4096, True), (5000, True), (None, False), ("4096", False)):
            _, metadata = self.respond(chat(prompt_eval_count=count))
            self.assertEqual("context limit of 4096" in metadata.get("warning", ""), warned, count)

    def test_thinking_beside_the_answer_is_kept(self):
        output, metadata = self.respond(chat(thinking="Charged twice: billing."))
        self.assertEqual((output, metadata["thinking"]), (ANSWER, "Charged twice: billing."))


class IncompleteTest(ServerTest):
    """What the model does wrong is an outcome: recorded with its reason and the raw reply, never tried again."""

    def assert_incomplete(self, kind, said, reply):
        self.server.reply = (200, reply)
        outcome = harness.attempt(self.system(), TASK, case(), 1)
        self.assertEqual(outcome["error"]["type"], kind)
        self.assertIn(said, outcome["error"]["message"])
        self.assertNotIn("\n", outcome["error"]["message"])
        self.assertNotIn("correct the file", outcome["error"]["message"])
        self.assertEqual(outcome["metadata"]["reply"], reply["message"]["content"])
        self.assertEqual(outcome["metadata"].get("done_reason"), reply.get("done_reason"))
        self.assertEqual(harness.grade(TASK, case(), outcome), ("incomplete", {}))
        self.assertEqual(len(self.server.asked), 1)
        self.server.asked.clear()
        return outcome

    def test_every_kind_is_an_incomplete(self):
        for kind in ("TruncatedReply", "NotLoaded", "EmptyReply", "ThinkingLeaked", "NotJSON", "WrongSchema"):
            self.assertTrue(issubclass(getattr(model_triage, kind), harness.Incomplete), kind)

    def test_a_model_that_was_only_loaded(self):
        self.assert_incomplete("NotLoaded", 'done_reason "load"', {
            "model": "demo:1b", "message": {"role": "assistant", "content": ""}, "done_reason": "load", "done": True})

    def test_thinking_that_ate_the_budget(self):
        thought = "The task wants one word, so first I will consider"
        outcome = self.assert_incomplete("TruncatedReply", "num_predict 64, spent on thinking", {
            "model": "demo:1b", "message": {"role": "assistant", "content": "", "thinking": thought},
            "done_reason": "length", "done": True, "total_duration": 10**9, "prompt_eval_count": 20, "eval_count": 30})
        self.assertIn("think is false", outcome["error"]["message"])
        self.assertEqual(outcome["metadata"]["thinking"], thought)
        self.assertEqual(outcome["metadata"]["eval_count"], 30)

    def test_a_reply_cut_off_at_the_token_limit_even_where_it_looks_whole(self):
        for content in ('{"category": "bil', "", '{"category": "billing", "needs_human": false}'):
            self.assert_incomplete("TruncatedReply", "cut off at num_predict 64", chat(content, done_reason="length"))

    def test_an_empty_reply(self):
        for content in ("", " \n\t"):
            self.assert_incomplete("EmptyReply", "done_reason 'stop'", chat(content))

    def test_a_fence_is_not_read_around_in_silence(self):
        fenced = '```json\n{"category": "billing", "needs_human": false}\n```'
        self.assert_incomplete("NotJSON", "line 1 column 1", chat(fenced))

    def test_prose_and_broken_json(self):
        for content in ("The category is billing.", '{"category": "billing"', '{"needs_human": NaN}',
                        '{"category": "billing", "needs_human": false} Hope this helps!', "\0\0",
                        '{"category": "other", "category": "billing", "needs_human": false}', "[" * 5000):
            self.assert_incomplete("NotJSON", "the reply: ", chat(content))

    def test_json_of_another_schema(self):
        for content, said in (('{"category": "billing"}', "not an object"), ('["billing", false]', "not an object"),
                              ('"billing"', "not an object"), ("null", "not an object"),
                              ('{"category": "refunds", "needs_human": false}', "'refunds' is none of"),
                              ('{"category": "billing", "needs_human": "no"}', "'no' is not true or false")):
            self.assert_incomplete("WrongSchema", said, chat(content))

    def test_thinking_that_leaks_into_the_answer_is_named(self):
        for content in ('<think>Charged twice.</think>{"category": "billing", "needs_human": false}',
                        'so it is billing</think>\n{"category": "billing", "needs_human": false}',
                        "<thinking>hm", '<|channel|>analysis<|message|>billing'):
            self.assert_incomplete("ThinkingLeaked", "thinking text", chat(content))


class TroubleTest(ServerTest):
    """What the server does wrong: Unavailable where the same request may go through later, else RunError."""

    def test_a_server_that_is_busy_or_broken_is_unavailable_with_its_words(self):
        for status, words in ((503, "server busy, try later"), (500, "runner stopped"), (429, "slow down"),
                              (502, "bad gateway"), (504, "gateway time-out")):
            said = self.raised(Unavailable, self.respond, {"error": words}, status)
            self.assertEqual(said, f"{self.address}: {status} {words}")
        self.assertIn("502 <h1>Bad Gateway</h1>", self.raised(Unavailable, self.respond, b"<h1>Bad Gateway</h1>", 502))

    def test_a_connection_reset_or_dropped_is_unavailable(self):
        self.assertIn("reset", self.raised(Unavailable, self.respond, Handler.reset))
        dropped = self.raised(Unavailable, self.respond, lambda handler: setattr(handler, "close_connection", True))
        self.assertIn("without response", dropped)

    def test_a_body_cut_short_is_unavailable(self):
        for cut in (1, 40, len(json.dumps(chat()))):
            said = self.raised(Unavailable, self.respond, lambda handler, cut=cut: handler.send(200, chat(), cut))
            self.assertIn("IncompleteRead", said)

    def test_a_200_that_is_no_whole_reply_is_unavailable(self):
        stream = b'{"message":{"content":"se"},"done":false}\n{"error":"generation failed"}\n'
        for body, said in (({"error": "it failed"}, "an error: 'it failed'"), (stream, "no JSON object"),
                           ({"error": {"code": 1}}, "an error"), (b"<html>", "no JSON object"), (b"", "no JSON object"),
                           ([chat()], "no JSON object"), (b'{"message": {"content": NaN}}', "no JSON object"),
                           ({"message": {"content": "se"}, "done": False}, "not whole"), ({"done": True}, "not whole"),
                           ({"message": {"content": None}}, "not whole"), ({"message": "billing"}, "not whole")):
            with self.subTest(body):
                self.assertIn(said, self.raised(Unavailable, self.respond, body))

    def test_a_server_that_does_not_answer_in_time_is_unavailable(self):
        answered = threading.Event()
        self.addCleanup(answered.set)
        self.server.reply = lambda handler: answered.wait(5)
        system = self.system()
        system.timeout_s = 0.05
        self.assertIn("no answer within 0.05 s", self.raised(Unavailable, system.respond, case(), 1))

    def test_404_and_400_stop_at_once_with_the_servers_words(self):
        for status, words in ((404, "model 'demo:1b' not found"), (400, "invalid format"), (401, "unauthorized")):
            said = self.raised(RunError, self.respond, {"error": words}, status)
            self.assertIn(f"{self.address}/api/chat answers {status}: {words};", said)

    def test_trouble_goes_through_attempt_and_is_never_an_outcome(self):
        for status, kind in ((503, Unavailable), (404, RunError)):
            self.server.reply = (status, {"error": "words"})
            self.raised(kind, harness.attempt, self.system(), TASK, case(), 1)


def load_tests(loader, tests, pattern):
    if sys.flags.optimize < 2:  # which strips docstrings
        tests.addTests(doctest.DocTestSuite(model_triage))
    return tests


if __name__ == "__main__":
    unittest.main()
