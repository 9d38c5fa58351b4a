"""Does the client ask what it should, and tell apart an answer, a model's failing and a server's trouble?

Both dialects, against fake_server.py. No model, no network but loopback.
"""

import contextlib
import doctest
import json
import os
import socket
import sys
import unittest
from unittest import mock

import chat
import harness
import triage_task
from harness import Case, RunError, Unavailable
from tests.fake_server import WEIGHTS, ServerTest, http, ollama, openai, sha256

TASK = harness.load_task("triage_task")
ANSWER = {"category": "billing", "needs_human": False}
TEXT = TASK._replace(name="text", check_answer=lambda answer: None if isinstance(answer,
                                                                                 str) else triage_task.check_answer(0),
                     rejection=harness.NoRejection)  # a task whose answers are texts
SCHEMA = {"type": "object", "properties": {"category": {"type": "string"}}}


def case(**case_input):
    return Case("c", "dev", case_input or {"text": "I was charged twice"}, ANSWER, {})


class ChatTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.told = self.enterContext(mock.patch.object(chat, "print_stderr"))

    def system(self, name="fake:1b", task=TASK, prompt=None, cases=None, **options):
        system = harness.load_system(f"chat:{name}")
        system.configure(task, [case()] if cases is None else cases, prompt, options)
        return system

    def respond(self, reply, name="fake:1b", **options):
        """Return the answer to one message where the server gives this reply."""
        self.server.always = reply
        return self.system(name, **options).respond(case(), 1)

    def body(self, *args, case=case(), trial=1, **kwargs):
        """Return what one trial asks of the server."""
        self.system(*args, **kwargs).respond(case, trial)
        return self.server.posts[-1]


class RequestTest(ChatTest):
    def test_one_message_is_one_ollama_request_with_exactly_this_body(self):
        body = self.body(case=case(text="Where is it? ¿Dónde?"), trial=3, prompt=("v2", "Sort it."))
        self.assertEqual(self.server.asked, [("POST", "/api/chat", body)])
        self.assertEqual(body, {
            "model": "fake:1b", "stream": False, "think": False, "truncate": False,
            "messages": [{"role": "system", "content": "Sort it."},
                         {"role": "user", "content": "Where is it? ¿Dónde?"}],
            "options": {"temperature": 1, "num_predict": 1024, "num_ctx": 4096, "seed": 1003}})

    def test_one_message_is_one_openai_request_with_exactly_this_body(self):
        body = self.body("openai:fake:1b", case=case(text="Where is it?"), trial=3, prompt=("v2", "Sort it."))
        self.assertEqual(self.server.asked, [("POST", "/v1/chat/completions", body)])
        self.assertEqual(body, {
            "model": "fake:1b", "temperature": 1, "max_tokens": 1024, "seed": 1003,
            "messages": [{"role": "system", "content": "Sort it."}, {"role": "user", "content": "Where is it?"}]})

    def test_the_schema_of_a_task_goes_with_the_request_in_the_form_that_the_server_takes(self):
        task = TASK._replace(schema=SCHEMA)
        self.assertEqual(self.body(task=task)["format"], SCHEMA)
        strict = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
        for given, form in (({}, strict), ({"response_format": "json_schema"}, strict),
                            ({"response_format": "json_object"}, {"type": "json_object", "schema": SCHEMA}),
                            ({"response_format": {"type": "grammar"}}, {"type": "grammar"}),
                            ({"response_format": None}, None)):
            self.assertEqual(self.body("openai:fake:1b", task, **given).get("response_format"), form)
        self.assertEqual(self.body("openai:fake:1b", response_format="json_object")["response_format"],
                         {"type": "json_object"})

    def test_options_are_sent_where_each_belongs_and_null_sends_none(self):
        body = self.body(temperature=0, num_ctx=8192, think=True, num_predict=None, seed=None, keep_alive="5m")
        self.assertEqual((body["think"], body["keep_alive"]), (True, "5m"))
        self.assertEqual(body["options"], {"temperature": 0, "num_ctx": 8192})
        body = self.body("openai:fake:1b", temperature=None, max_completion_tokens=9, top_p=0.5, seed=None)
        self.assertEqual(set(body), {"model", "messages", "max_completion_tokens", "top_p"})

    def test_options_that_cannot_be_sent_are_refused_by_name(self):
        for name, options, words in (("fake:1b", {"tempreature": 0}, "tempreature is no option of Ollama's"),
                                     ("fake:1b", {"max_tokens": 9}, "max_tokens is no option of Ollama's"),
                                     ("openai:fake:1b", {"model": "x"}, "are the recorder's"),
                                     ("fake:1b", {"seed": 7}, "seed=null"), ("openai:fake:1b", {"n": 2}, "recorder"),
                                     ("fake:1b", {"price_in": "2"}, "USD for a million tokens"),
                                     ("fake:1b", {"price_out": -1}, "USD"), ("fake:1b", {"price_in": True}, "USD")):
            self.assertIn(words, self.raised(RunError, lambda name=name, options=options: self.system(name, **options)))

    def test_settings_hold_prompt_options_and_temperature_and_change_with_none_of_the_requests(self):
        system = self.system(prompt=("v1", "Sort it."), temperature=0.5)
        before = json.dumps(system.settings)
        system.respond(case(), 1)
        system.respond(case(), 1)
        self.assertEqual(self.server.posts[0], self.server.posts[1])
        self.assertEqual(json.dumps(system.settings), before)
        self.assertEqual(json.loads(before), {
            "prompt": "Sort it.", "prompt_sha256": sha256("Sort it."), "fields": [], "temperature": 0.5,
            "seed_kept": True, "prices": {}, "model": None, "request": {
                "model": "fake:1b", "stream": False, "think": False, "truncate": False,
                "options": {"temperature": 0.5, "num_predict": 1024, "num_ctx": 4096}}})

    def test_whether_a_seed_is_kept_is_said(self):
        self.assertFalse(self.system(seed=None).settings["seed_kept"])
        for address, kept in (("http://127.0.0.1:8000/v1", True), ("http://gpu1:8000/v1", True),
                              ("http://[::1]:1/v1", True),
                              ("https://api.models.example/v1", False), ("http://box.local/v1", True)):
            os.environ["OPENAI_BASE_URL"] = address
            self.assertEqual(self.system("openai:m").settings["seed_kept"], kept, address)


class PromptTest(ChatTest):
    def contents(self, text, case_input):
        one = case(**case_input)
        body = self.body(prompt=("p", text), cases=[one], case=one)
        return [(message["role"], message["content"]) for message in body["messages"]]

    def test_fields_in_braces_are_filled_in_and_all_other_braces_stay(self):
        self.assertEqual(self.contents('Reply {"label": ...} to {text}{{text}} {other}', {"text": "a {n} \\1", "n": 3}),
                         [("user", 'Reply {"label": ...} to a {n} \\1{a {n} \\1} {other}')])
        self.assertEqual(self.contents("{n} of {my field} {list}", {"n": 3, "my field": "é", "list": ["ü"]}),
                         [("user", '3 of é ["ü"]')])

    def test_a_prompt_without_a_field_is_the_system_message(self):
        self.assertEqual(self.contents("Sort {it}.", {"text": "Where?"}),
                         [("system", "Sort {it}."), ("user", "Where?")])
        self.assertEqual(self.contents("Sort.", {"question": "Where?"}), [("system", "Sort."), ("user", "Where?")])
        self.assertEqual(self.contents("Sort.", {"a": "ü", "b": 1}),
                         [("system", "Sort."), ("user", '{"a": "ü", "b": 1}')])

    def test_braces_that_are_no_field_are_reported(self):
        self.contents("{text} {txet}", {"text": "a"})
        self.told.assert_called_once_with("note: prompt p: {txet} is no field of the input (its fields: text), and "
                                          "stays as it is")

    def test_a_prompt_that_names_no_field_is_told_to_be_the_system_message(self):
        self.contents('{text}: reply {"label": ...}', {"review": "a", "id": 1})
        self.told.assert_called_once_with("note: prompt p: {text} is no field of the input (its fields: review, id), "
                                          "and stays as it is; the prompt names no field, so it is the system message")

    def test_a_prompt_without_any_field_is_told_to_be_the_system_message(self):
        for text in ("Sort it.", "Sort { text }.", "Sort [text]."):
            self.system(prompt=("v1", text))
            self.told.assert_called_once_with("note: prompt v1 names no field of the input (its fields: text), so it "
                                              "is the system message")
            self.told.reset_mock()

    def test_no_prompt_is_told(self):
        self.system()
        self.told.assert_called_once_with("note: no --prompt, so the model gets the input alone")

    def test_a_case_without_the_field_is_refused_by_name(self):
        said = self.raised(RunError, lambda: self.system(prompt=("p", "{text} {n}"),
                                                         cases=[case(text="a", n=1), case()]))
        self.assertIn("case 'c' has no field 'n'", said)

    def test_a_case_that_is_to_be_refused_needs_no_field(self):
        rejected = Case("c", "dev", {}, {"rejected": True}, {})
        system = self.system(prompt=("p", "{text}"), cases=[case(text="a"), rejected])
        self.assertEqual(system.messages(case(text="b"))[0]["content"], "b")
        self.assertEqual(self.system(prompt=("p", "{text} {n}"), cases=[
            case(text="a", n=1), rejected]).messages(case(n=3)),
            [{"role": "user", "content": " 3"}])

    def test_version_is_the_name_and_identity_follows_the_text(self):
        system = self.system(prompt=("v7", "Sort it."))
        self.assertEqual((system.version, system.prompt), ("v7", f"v7 sha256:{sha256('Sort it.')[:16]}"))
        bare = self.system()
        self.assertEqual((bare.version, bare.prompt, bare.name), ("no prompt", None, "fake:1b"))
        self.assertEqual(len(self.body()["messages"]), 1)

    def test_blank_inputs_are_rejected_before_any_call_where_the_task_rejects(self):
        for case_input in ({"text": ""}, {"text": " \n"}, {"text": None}, {"a": "", "b": " "}):
            empty = Case("c", "dev", case_input, {"rejected": True}, {})
            outcome = harness.attempt(self.system(), TASK, empty, 1)
            self.assertEqual(outcome["error"]["type"], "Rejection")
        self.assertEqual(self.server.asked, [])
        self.system().messages(case(n=0))  # no blank
        self.system(task=TEXT).respond(Case("c", "dev", {"text": ""}, {}, {}), 1)
        self.assertEqual(len(self.server.posts), 1)


class NameTest(unittest.TestCase):
    def test_any_name_is_a_model_and_openai_names_the_dialect(self):
        for name, kind, asked in (("llama3.2:1b", chat.Ollama, "llama3.2:1b"),
                                  ("hf.co/o/m:Q4", chat.Ollama, "hf.co/o/m:Q4"),
                                  ("openai:gpt-5", chat.OpenAI, "gpt-5"), ("openai:a/b:c", chat.OpenAI, "a/b:c"),
                                  ("openai", chat.Ollama, "openai")):
            system = harness.load_system(f"chat:{name}")
            self.assertEqual((type(system), system.asked, system.name), (kind, asked, name))
        for name in ("", "openai:"):
            with self.assertRaisesRegex(RunError, "name a model, as chat:MODEL or chat:openai:MODEL"):
                harness.load_system(f"chat:{name}")


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
                scheme, login, host, port, path = chat.server_address(text, "OLLAMA_HOST")
                self.assertEqual(login, "")
                self.assertEqual(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}", expected)

    def server(self, address, key=""):
        with mock.patch.dict(os.environ, {"ADDRESS": address}):
            return chat.Server("ADDRESS", "https://default.example/v1", key)

    def test_the_server_is_named_with_its_port(self):
        for text, name in (("", "default.example:443/v1"), ("::1", "[::1]:11434"), ("https://a.b/c", "a.b:443/c"),
                           ("https://me:pa%20ss@a.b/c", "a.b:443/c"), ("me:pa@ss@a.b:80", "a.b:80")):
            self.assertEqual(self.server(text).name, name)

    def test_a_login_in_the_address_is_sent_as_basic_and_a_key_as_bearer(self):
        self.assertEqual(self.server("http://me:pa%20ss@a.b").headers["Authorization"], "Basic bWU6cGEgc3M=")
        self.assertEqual(self.server("http://me:p@a.b", " sk-1\n").headers["Authorization"], "Bearer sk-1")
        self.assertNotIn("Authorization", self.server("http://a.b").headers)

    def test_what_is_no_address_or_key_is_refused_without_its_secrets(self):
        for address, key, words in (("ftp://me:secret@example.com", "", "neither http:// nor https://"),
                                    ("http://a.b/v1?key=secret", "", "has a query"),
                                    ("http://me:secret@a.b/#x", "", "query"),
                                    ("http://a.b", "secret\nX: y", "no HTTP header"),
                                    ("http://a.b", "sécret", "letter"), ("http://me:s\udcffcret@a.b", "", "letter")):
            with self.assertRaises(RunError) as caught:
                self.server(address, key)
            self.assertIn(words, str(caught.exception))
            self.assertNotRegex(str(caught.exception), "s[eé\udcff]cret")


class PrepareTest(ChatTest):
    def test_a_model_is_known_by_its_weights_template_and_parameters_beside_the_manifest(self):
        system = self.system()
        self.assertEqual(system.model, "fake:1b@unknown")
        self.assertEqual(system.prepare(), {"host": self.server.host, "version": "0.1", "digest": "ab12ab12ab12"})
        self.assertEqual(system.model, f"fake:1b@{WEIGHTS[:12]}")
        facts = system.settings["model"]
        self.assertEqual((facts["weights"], facts["template"]), ([WEIGHTS], sha256("{{ .Prompt }}")))
        for change in ({"template": "other"}, {"parameters": "temperature 0"}, {"system": "Be brief."},
                       {"messages": [{"role": "user", "content": "a"}]},
                       {"modelfile": f"FROM /x/sha256-{'2' * 64}\n"},
                       {"modelfile": f"FROM sha256:{WEIGHTS}\nADAPTER /y/sha256-{'3' * 64}"}):
            with mock.patch.dict(self.server.shown, change):
                other = self.system()
                other.prepare()
                self.assertNotEqual(other.settings["model"], facts, change)
        self.server.models["fake:1b"] = "cd34" * 16  # the same weights made once more
        other = self.system()
        other.prepare()
        self.assertEqual((other.model, other.settings["model"]), (system.model, facts))

    def test_a_server_that_shows_less_gives_the_digest_of_the_manifest(self):
        self.server.shown = {}
        system = self.system()
        system.prepare()
        self.assertEqual((system.model, system.settings["model"]["weights"]), ("fake:1b@ab12ab12ab12", []))
        self.server.broken = http(200, {"models": [{"name": "fake:1b"}]})
        self.assertEqual(system.prepare()["digest"], "unknown")

    def test_a_server_that_no_longer_shows_its_model_stops_and_changes_nothing(self):
        system = self.system()
        system.prepare()
        model = system.model
        request = system.server.request

        def refused(path, *args, **kwargs):
            self.server.broken = http(403, b"no") if path == "/api/show" else None
            return request(path, *args, **kwargs)

        with mock.patch.object(system.server, "request", refused):
            self.assertIn("/api/show answers 403", self.raised(RunError, system.prepare))
            self.assertEqual(system.model, model)
            first = self.system()
            with mock.patch.object(first.server, "request", refused):
                first.prepare()  # one that never showed it is known by its digest
                self.server.broken = None
                first.prepare()
            self.assertEqual(first.settings["model"]["weights"], [])

    def test_latest_is_meant_where_no_tag_is_named(self):
        self.server.models = {"plain:latest": "sha256:0c1d2e3f4a5b66"}
        system = self.system("plain")
        self.assertEqual(system.prepare()["digest"], "0c1d2e3f4a5b")

    def test_weights_that_were_loaded_under_way_show_even_where_they_were_swapped_back(self):
        self.server.loaded = [("fake:1b", "0" * 64), ("other", "9" * 64)]  # lingers from before
        system = self.system()
        self.assertNotIn("loaded", system.prepare())
        self.server.loaded += [("fake:1b", "ab12" * 16), ("fake:1b", "cd34" * 16)]
        self.assertEqual(system.prepare()["loaded"], ["cd34cd34cd34"])

    def test_a_model_that_is_not_there_is_refused_with_those_that_are(self):
        self.server.models |= {"gemma4:e2b": "1"}
        for name in ("llama3.2:1b", "openai:llama3.2:1b"):
            said = self.raised(RunError, self.system(name).prepare)
            for part in ("no model 'llama3.2:1b'", "fake:1b, gemma4:e2b"):
                self.assertIn(part, said)
        self.server.models = {}
        self.assertIn("no model 'fake:1b', only ; run ollama pull", self.raised(RunError, self.system().prepare))
        for name, listed in (("fake:1b", {"models": [{"name": 5}]}), ("openai:fake:1b", {"data": [{"id": 5}]})):
            self.server.broken = http(200, {"version": "1", **listed})
            self.assertIn("no model 'fake:1b', only 5;", self.raised(RunError, self.system(name).prepare))

    def test_an_openai_server_needs_no_list_of_models(self):
        self.assertEqual(self.system("openai:fake:1b").prepare(), {"host": f"{self.server.host}/v1", "version": None})
        for listed in (http(404, {"detail": "Not Found"}), http(405, b"no"), http(403, b"no"), http(200, {"data": []}),
                       http(501, b"no"), http(200, {}), http(200, [{"id": "fake:1b"}])):
            self.server.broken = listed
            self.system("openai:fake:1b").prepare()
        self.server.broken = http(401, {"error": {"message": "bad key"}})
        self.assertIn('answers 401: {"error": {"message": "bad key"}}',
                      self.raised(RunError, self.system("openai:fake:1b").prepare))

    def test_where_nothing_listens_is_said_apart(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as held:
            closed = f"127.0.0.1:{held.getsockname()[1]}"
        for address, reason in ((closed, "refused"), ("a..b", "a..b"), ("with space", "with space"),
                                (f"https://{self.server.host}", "SSL")):
            os.environ["OLLAMA_HOST"] = address
            with self.subTest(address), self.assertRaises(Unavailable) as caught:
                self.system().prepare()
            self.assertIn(reason, str(caught.exception))
            self.assertTrue(caught.exception.absent)
        os.environ["OLLAMA_HOST"] = self.server.host
        self.server.broken = http(503, b"busy")
        with self.assertRaises(Unavailable) as caught:
            self.system().prepare()
        self.assertFalse(caught.exception.absent)
        self.server.always = "reset"
        with self.assertRaises(Unavailable) as caught:
            self.system().respond(case(), 1)
        self.assertFalse(caught.exception.absent)

    def test_a_server_that_is_not_ollama_is_refused(self):
        for broken in (http(404, b"<html>not here</html>"), http(200, b"<html>hello</html>"), http(200, [])):
            self.server.broken = broken
            self.assertIn(self.server.host, self.raised((RunError, Unavailable), self.system().prepare))
        for models in (None, []):
            self.server.broken = http(200, {"models": models})
            self.assertIn("no model 'fake:1b'", self.raised(RunError, self.system().prepare))
        for models in ([7], [{"name": ["odd"]}], 7):
            self.server.broken = http(200, {"models": models})
            self.assertIn("not whole", self.raised(Unavailable, self.system().prepare))


class AnswerTest(ChatTest):
    def test_an_answer_comes_with_counts_and_times_in_the_servers_words_and_in_ours(self):
        output, metadata = self.respond(ollama())
        self.assertEqual(output, ANSWER)
        self.assertLessEqual(0, metadata.pop("latency_s"))
        self.assertEqual(metadata, {
            "server": self.server.host, "reply": '{"category": "billing", "needs_human": false}', "tokens": 160,
            "done_reason": "stop", "prompt_eval_count": 140, "eval_count": 20, "total_duration": 5191566416,
            "load_duration": 2154458, "prompt_eval_duration": 383809000, "eval_duration": 4799921000})
        output, metadata = self.respond(openai(), "openai:fake:1b")
        self.assertEqual(output, ANSWER)
        self.assertLessEqual(0, metadata.pop("latency_s"))
        self.assertEqual(metadata, {
            "server": f"{self.server.host}/v1", "reply": '{"category": "billing", "needs_human": false}', "tokens": 160,
            "finish_reason": "stop", "usage": {"prompt_tokens": 140, "completion_tokens": 20, "total_tokens": 160},
            "served": "fake-2025", "system_fingerprint": "fp_1"})

    def test_prices_give_a_cost(self):
        for name, reply in (("fake:1b", ollama()), ("openai:fake:1b", openai())):
            self.assertEqual(self.respond(reply, name, price_in=0.5, price_out=2)[1]["cost_usd"], 0.00011)
            self.assertEqual(self.respond(reply, name, price_out=2)[1]["cost_usd"], 0.00004)
            self.assertNotIn("cost_usd", self.respond(reply, name)[1])

    def test_a_reply_without_counts_is_an_answer_too(self):
        bare = {"message": {"content": '\n {"needs_human": true, "category": "other"} '}, "done": True}
        output, metadata = self.respond(bare)
        self.assertEqual(output, {"category": "other", "needs_human": True})
        self.assertEqual(set(metadata), {"server", "reply", "latency_s"})
        bare = openai(**dict.fromkeys(("usage", "system_fingerprint", "model")))
        self.assertEqual(set(self.respond(bare, "openai:fake:1b")[1]),
                         {"server", "reply", "latency_s", "finish_reason", "usage"})

    def test_an_answer_may_come_with_the_loading(self):
        self.assertEqual(self.respond(ollama(done_reason="load")).output, ANSWER)

    def test_a_task_of_texts_gets_the_text(self):
        for content in ("Billing.", '{"a": 1}', "42"):
            self.assertEqual(self.respond(ollama(content), task=TEXT).output, content)

    def test_a_prompt_that_the_server_may_have_cut_is_a_warning(self):
        long = case(text="word " * 8000)
        for count, num_ctx, words, said in ((4095, 4096, case(), ""), (4096, 4096, case(), chat.CUT),
                                            (128, 128, case(), chat.CUT), (5709, 8192, case(), ""),
                                            (2050, 8192, long, chat.CUT), (8010, 8192, long, ""),
                                            (2050, 8192, case(text="字" * 8000), chat.CUT), (None, 4096, long, ""),
                                            ("4096", 4096, case(), "")):
            self.server.always = ollama(prompt_eval_count=count)
            warning = self.system(num_ctx=num_ctx).respond(words, 1).metadata.get("warning", "")
            self.assertEqual(said, warning, (count, num_ctx))
        self.server.always = openai(usage={"prompt_tokens": 2050, "completion_tokens": 1})
        self.assertEqual(self.system("openai:fake:1b").respond(long, 1).metadata["warning"], chat.CUT)

    def test_thinking_beside_the_answer_is_kept(self):
        for name, reply in (("fake:1b", ollama(thinking="Charged twice.")),
                            ("openai:fake:1b", openai(message={"reasoning_content": "Charged twice."})),
                            ("openai:fake:1b", openai(message={"reasoning": "Charged twice."}))):
            output, metadata = self.respond(reply, name)
            self.assertEqual((output, metadata["thinking"]), (ANSWER, "Charged twice."))

    def test_an_answer_may_come_in_parts_and_beside_an_empty_refusal(self):
        words = '{"category": "billing", "needs_human": false}'
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Charged twice."}]}
        output, metadata = self.respond(openai([thinking, *({"type": "text", "text": part} for part in (
            words[:9], words[9:]))]), "openai:m")
        self.assertEqual((output, metadata["thinking"], metadata["reply"]), (ANSWER, [thinking], words))
        output, metadata = self.respond(openai(message={"refusal": ""}), "openai:m")
        self.assertEqual((output, "refusal" in metadata), (ANSWER, False))

    def test_counts_beyond_all_sense_give_no_cost(self):
        usage = {"prompt_tokens": 10**400, "completion_tokens": 1}
        metadata = self.respond(openai(usage=usage), "openai:m", price_in=1)[1]
        self.assertFalse({"tokens", "cost_usd"} & metadata.keys())

    def test_whole_json_padded_with_blanks_up_to_the_limit_is_an_answer(self):
        whole = '{"category": "billing", "needs_human": false}'
        self.assertEqual(self.respond(ollama(whole + "\n \n", done_reason="length")).output, ANSWER)
        self.assertEqual(self.respond(openai(whole + "\n", "length"), "openai:fake:1b").output, ANSWER)


class IncompleteTest(ChatTest):
    """What the model does wrong is an outcome: recorded with its reason and the raw reply, never tried again."""

    def assert_incomplete(self, kind, said, reply, name="fake:1b", **options):
        self.server.always = reply
        outcome = harness.attempt(self.system(name, **options), TASK, case(), 1)
        self.assertEqual(outcome["error"]["type"], kind)
        self.assertIn(said, outcome["error"]["message"])
        self.assertNotRegex(outcome["error"]["message"], "\n|correct the file")
        message = reply["message"] if "message" in reply else reply["choices"][0]["message"]
        self.assertEqual(outcome["metadata"]["reply"], message["content"] or "")
        self.assertEqual(harness.grade(TASK, case(), outcome), ("incomplete", {}))
        self.assertEqual(len(self.server.posts), 1)
        self.server.posts.clear()
        return outcome["metadata"]

    def test_every_kind_is_an_incomplete(self):
        for kind in ("TruncatedReply", "NotLoaded", "EmptyReply", "Declined", "ThinkingLeaked", "NotJSON",
                     "WrongSchema"):
            self.assertTrue(issubclass(getattr(chat, kind), harness.Incomplete), kind)

    def test_a_model_that_was_only_loaded(self):
        self.assert_incomplete("NotLoaded", 'done_reason "load"', {
            "model": "demo:1b", "message": {"role": "assistant", "content": ""}, "done_reason": "load", "done": True})

    def test_thinking_that_spent_all_tokens(self):
        thought = "The task wants one word, so first I will consider"
        for name, reply in (("fake:1b", ollama("", thought, done_reason="length", eval_count=30)),
                            ("openai:fake:1b", openai(None, "length", {"reasoning_content": thought}))):
            metadata = self.assert_incomplete("TruncatedReply", "think less", reply, name)
            self.assertEqual(metadata["thinking"], thought)

    def test_a_reply_cut_off_at_the_token_limit_even_where_it_looks_whole(self):
        for content in ('{"category": "bil', "", '{"category": "billing", "needs_human": false}', '{"category": \n\n'):
            for reply, name in ((ollama(content, done_reason="length"), "fake:1b"),
                                (openai(content, "length"), "openai:fake:1b")):
                self.assert_incomplete("TruncatedReply", "cut off at the token limit", reply, name)
        for content in ("a text that went on \n", "12  ", '"yes" '):
            self.server.always = ollama(content, done_reason="length")
            with self.assertRaises(chat.TruncatedReply):
                self.system(task=TEXT).respond(case(), 1)

    def test_whole_json_that_blanks_fill_up_to_the_limit_is_an_answer(self):
        listing = TEXT._replace(check_answer=lambda answer: None if isinstance(answer, list) else int("no"))
        self.assertEqual(self.system(task=listing).read_answer('["billing"]\n\n   ', "length", {}), ["billing"])

    def test_an_empty_reply(self):
        for content in ("", " \n\t"):
            self.assert_incomplete("EmptyReply", "done_reason 'stop'", ollama(content))
        self.assert_incomplete("EmptyReply", "done_reason 'tool_calls'", openai(None, "tool_calls"), "openai:fake:1b")

    def test_a_refusal_or_a_filter(self):
        for reply in (openai(None, message={"refusal": "I can't help with that."}), openai("So far", "content_filter")):
            self.assert_incomplete("Declined", "a refusal or filter", reply, "openai:fake:1b")

    def test_a_fence_is_not_read_around_in_silence(self):
        fenced = '```json\n{"category": "billing", "needs_human": false}\n```'
        self.assert_incomplete("NotJSON", "line 1 column 1", ollama(fenced))

    def test_prose_and_broken_json(self):
        for content in ("The category is billing.", '{"category": "billing"', '{"needs_human": NaN}',
                        '{"category": "billing", "needs_human": false} Hope this helps!', "\0\0",
                        '{"category": "other", "category": "billing", "needs_human": false}', "[" * 5000):
            self.assert_incomplete("NotJSON", "the reply: ", ollama(content))

    def test_json_of_another_schema(self):
        for content, said in (('{"category": "billing"}', "not an object"), ('["billing", false]', "not an object"),
                              ('"billing"', "not an object"), ("null", "not an object"),
                              ('{"category": "refunds", "needs_human": false}', "'refunds' is none of"),
                              ('{"category": "billing", "needs_human": "no"}', "'no' is not true or false")):
            self.assert_incomplete("WrongSchema", said, ollama(content))

    def test_thinking_that_leaks_into_the_answer_is_named(self):
        for content in ('<think>Charged twice.</think>{"category": "billing", "needs_human": false}',
                        'so it is billing</think>\n{"category": "billing", "needs_human": false}',
                        "<thinking>hm", '<|channel|>analysis<|message|>billing', "[THINK]hm[/THINK]billing",
                        "<reasoning>hm</reasoning>billing", "<thought>hm</thought>billing"):
            self.assert_incomplete("ThinkingLeaked", "thinking text", ollama(content))
        for mark in ("reasoning", "think"):
            asking = self.system(task=TEXT, prompt=("v1", f"Reason in <{mark}> tags: {{text}}"))
            content = f"<{mark}>hm</{mark}>billing"
            self.assertEqual(asking.read_answer(content, "stop", {}), content)


# What llama-cpp-python 0.3.36 says, under status 500, of a response_format that it does not take.
VALIDATION = ("1 validation error: [{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
              "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}]")


class TroubleTest(ChatTest):
    """What the server does wrong: Unavailable where the same request may go through later, else RunError."""

    def test_a_server_that_is_busy_or_broken_is_unavailable_with_its_words(self):
        for status in (408, 425, 429, 500, 502, 503, 504, 507, 520, 524, 529):
            said = self.raised(Unavailable, self.respond, (status, {"error": "server busy, try later"}))
            self.assertEqual(said, f'{self.server.host}: {status} {{"error": "server busy, try later"}}')
            said = self.raised(Unavailable, self.respond, (status, {"error": {"message": "busy", "code": 1}}),
                               "openai:m")
            self.assertEqual(said, f'{self.server.host}/v1: {status} {{"error": {{"message": "busy", "code": 1}}}}')
        for status, words in ((500, "model runner has unexpectedly stopped, this may be due to resource limitations"),
                              (500, "invalid character '<' looking for beginning of value"), (503, "loading model"),
                              (502, "<h1>Bad Gateway</h1>"), (503, '{"error": "busy", "usage": {"prompt_tokens": 3}}')):
            self.raised(Unavailable, self.respond, (status, words.encode()))

    def test_the_pause_that_a_server_asks_for_goes_with_it(self):
        for value, seconds in (("7", 7.0), ("Thu, 01 Jan 1970 00:00:00 GMT", None), ("soon", None), ("-1", None),
                               ("", None),
                               ("9" * 400, None)):
            self.server.always = (429, {"error": "slow down"}, f"Retry-After: {value}")
            with self.assertRaises(Unavailable) as caught:
                self.system().respond(case(), 1)
            self.assertEqual(caught.exception.retry_after_s, seconds, value)

    def test_a_refusal_stops_at_once_whatever_its_status(self):
        for status, words in ((404, "model 'demo:1b' not found"), (400, "invalid format"), (401, "unauthorized"),
                              (301, "moved"), (413, "too large"), (501, "not implemented"), (500, VALIDATION),
                              (500, "invalid JSON schema in format"), (503, "Unsupported parameter: 'max_tokens'"),
                              (500, "unknown field seed"), (500, "seed is not supported"),
                              (500, "Extra inputs are not permitted: seed"), (500, "does not support images")):
            said = self.raised(RunError, self.respond, (status, {"error": words}))
            words = f"{json.dumps({'error': words})}; correct model, options, prompt, key or URL"
            self.assertIn(f"{self.server.host}/api/chat answers {status}: {words}", said)
        for answer in ((429, {"error": "lower max_tokens"}), (503, {"error": "invalid format"}, "Retry-After: 2")):
            self.raised(Unavailable, self.respond, answer)

    def test_a_key_that_a_server_repeats_in_a_reply_is_not_kept(self):
        with mock.patch.dict(os.environ, OPENAI_API_KEY="sk-a-key-of-some-length"):
            reply = openai("the key is sk-a-key-of-some-length", model="m sk-a-key-of-some-length")
            for data in (json.dumps(reply), json.dumps(reply).replace("sk-a-key", "sk-\\u0061-key")):
                answer = self.respond((200, data.encode()), "openai:fake:1b", task=TEXT)
                self.assertEqual((answer.output, answer.metadata["served"]), ("the key is ***", "m ***"))
        with mock.patch.dict(os.environ, OPENAI_API_KEY="token-abc123"):
            self.assertEqual(self.respond(openai("token-abc123"), "openai:m", task=TEXT).output, "***")
        for key, hidden in (("seven-7", False), ("token-78", True), ("fifteen-letters", False),
                            ("sixteen--letters", True)):
            with mock.patch.dict(os.environ, OPENAI_API_KEY=key):
                self.assertEqual(self.respond(openai(key), "openai:m", task=TEXT).output, "***" if hidden else key)
        with mock.patch.dict(os.environ, OPENAI_API_KEY="EMPTY"):  # as vLLM has it: a word that a model may use
            self.assertEqual(self.respond(openai("EMPTY"), "openai:fake:1b", task=TEXT).output, "EMPTY")
        with mock.patch.dict(os.environ, OPENAI_API_KEY="1234567890123456789"):  # hidden, the number is no JSON
            said = self.raised(Unavailable, self.respond, openai(created=1234567890123456789), "openai:fake:1b")
            self.assertIn("***", said)

    def test_a_key_of_a_few_letters_does_not_garble_what_a_server_says(self):
        with mock.patch.dict(os.environ, OPENAI_API_KEY="a"):
            said = self.raised(RunError, self.respond, (400, {"error": "a bad parameter"}), "openai:m")
        self.assertIn("a bad parameter", said)

    def test_a_key_is_hidden_however_it_is_escaped(self):
        with mock.patch.dict(os.environ, OPENAI_API_KEY="AB-Qm/Zhc2+U&2=="):
            for written in ("AB-Qm/Zhc2+U&2==", "AB-Qm\\/Zhc2+U&2==", "AB-Qm\\\\/Zhc2+U&2==",
                            "AB-Qm/Zhc2\\u002bU\\u00262==", "AB-Qm/Zhc2+U&amp;2==",
                            "AB%2DQm%2FZhc2%2bU%262%3D%3D", "AB-Qm&#47;Zhc2+U&#x26;2=="):
                said = self.raised(Unavailable, self.respond, (503, f"data: over {written} quota".encode()), "openai:m")
                self.assertIn("data: over *** quota", said, written)

    def test_an_error_in_a_200_is_shown_whatever_is_before_it(self):
        said = self.raised(Unavailable, self.respond, openai("x" * 400) | {"error": "upstream fell over"}, "openai:m")
        self.assertIn("upstream fell over", said)

    def test_half_a_character_in_a_template_is_no_reason_to_stop(self):
        self.assertEqual(len(chat.sha256_of("\ud83d")), 64)

    def test_a_connection_reset_dropped_or_cut_short_is_unavailable(self):
        for fault, said in (("reset", "reset"), ("closed", "without response"), ("cut short", "IncompleteRead"),
                            ("not JSON", "not JSON at line 1"),
                            ("error in a 200", 'an error, or not whole: {"error": "generation failed"}')):
            self.assertIn(said, self.raised(Unavailable, self.respond, fault))
        for cut in (1, 40, len(json.dumps(ollama()))):
            self.assertIn("IncompleteRead", self.raised(Unavailable, self.respond, http(200, ollama(), cut=cut)))

    def test_a_200_that_is_no_whole_reply_is_unavailable(self):
        stream = b'{"message":{"content":"se"},"done":false}\n{"error":"generation failed"}\n'
        for body, said in (({"error": "it failed"}, 'an error, or not whole: {"error": "it failed"}'),
                           ((200, stream), "not JSON at line 2 column 1"),
                           ({"error": {"code": 1}}, "an error"), ((200, b"<html>"), "not JSON at line 1 column 1"),
                           ((200, b""), "not JSON"), ([ollama()], "not whole"),
                           ((200, b'{"message": {"content": NaN}}'), "NaN is not a finite number"),
                           (ollama(error="it failed"), "an error"), (ollama(done=False), "not whole"),
                           (ollama(done=None), "not whole"), (ollama(done="true"), "not whole"),
                           (ollama(done=1), "not whole"),
                           ({"message": {"content": "se"}}, "not whole"), ({"done": True}, "not whole"),
                           (ollama(None), "not whole"), ({"message": "billing", "done": True}, "not whole"),
                           ((200, b'{"message": {"content": "caf\xe9"}, "done": true}'), "byte 28 is not utf-8")):
            with self.subTest(body):
                self.assertIn(said, self.raised(Unavailable, self.respond, body))
        for body in ({}, {"choices": []}, {"choices": 7}, {"choices": [{"message": {"content": "a"}}]},
                     openai(reason=None),
                     openai(["parts"]), openai("", "error"),
                     {"choices": [openai()["choices"][0] | {"error": {"code": 502}}]},
                     {"choices": [{"message": None, "finish_reason": "stop"}]}):
            self.assertIn("not whole", self.raised(Unavailable, self.respond, body, "openai:fake:1b"))
        self.assertEqual(self.respond(ollama(error=None)).output, ANSWER)

    def test_absurd_sizes_are_unavailable(self):
        head = b"HTTP/1.1 200 Cue\r\n"
        chunks = head + b"Transfer-Encoding: chunked\r\n\r\n"
        for raw in (chunks + b"-5\r\n{}\r\n", chunks + b"-1\r\n{}\r\n", chunks + b"FFFFFFFFFFFFFFFF\r\n{}\r\n",
                    chunks + b"zz\r\n{}", chunks + b"9" * 5000 + b"\r\n{}", head + b"Content-Length: -5\r\n\r\n",
                    head + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}", b"HTTP/1.1 two Cue\r\n\r\n", b"\0" * 99,
                    head + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{",
                    head + b"X: " + b"y" * 70000 + b"\r\n\r\n"):
            with self.subTest(raw[:60]):
                self.raised(Unavailable, self.respond, raw)

    def test_a_reply_without_end_is_unavailable_beyond_a_size(self):
        with mock.patch.object(chat, "LARGEST_REPLY", 3000):
            for fault in ("endless", ollama("x" * 4000),
                          b"HTTP/1.1 200 C\r\nTransfer-Encoding: chunked\r\n\r\n" + 9 * (
                              b"200\r\n" + b" " * 512 + b"\r\n")):
                self.assertIn("a reply of more than 3,000 bytes", self.raised(Unavailable, self.respond, fault))

    def test_the_time_is_for_a_whole_reply(self):
        for fault in ("timeout", "dripping head", "dripping body", "endless continue"):
            self.server.always = fault
            system = self.system()
            system.timeout_s = 0.1
            self.assertIn("no whole answer within 0.1 s", self.raised(Unavailable, system.respond, case(), 1))

    def test_a_key_or_login_that_a_server_repeats_reaches_nobody(self):
        os.environ["OPENAI_API_KEY"] = "sk-a\"b/c"
        os.environ["OLLAMA_HOST"] = f"http://me:pa%2Fss@{self.server.host}"
        for name, words, hidden in (("openai:m", 'bad key sk-a"b/c!', 'sk-a"b/c'),
                                    ("fake:1b", "me:pa/ss is unknown", "pa/ss"),
                                    ("fake:1b", "no bWU6cGEvc3M= here", "bWU6")):
            for status in (200, 401, 503):
                for body in ({"error": words}, {"error": {"message": words}}, words.encode(), {"said": words},
                             json.dumps([words]).encode(), json.dumps([words]).replace("/", "\\/").encode()):
                    said = self.raised((RunError, Unavailable), self.respond, (status, body), name)
                    self.assertIn("***", said)
                    self.assertNotIn(hidden, said)
                    self.assertNotIn(json.dumps(hidden)[1:-1], said)
        self.assertIn(': {"error": "*** is unknown"}', self.raised(RunError, self.respond, (401, {
            "error": "me:pa/ss is unknown"})))
        self.assertIn(": HTTP/2 ***", self.raised(Unavailable, self.respond, b'HTTP/2 me:pa/ss\r\n\r\n'))
        system = self.system("openai:m")
        self.assertNotIn("sk-a", json.dumps([system.settings, system.name, system.server.name, system.model]))
        with contextlib.suppress(RunError, Unavailable):
            system.respond(case(), 1)
        self.assertEqual(self.server.headers["Authorization"], 'Bearer sk-a"b/c')

    def test_trouble_goes_through_attempt_and_is_never_an_outcome(self):
        for status, kind in ((503, Unavailable), (404, RunError)):
            self.server.always = status
            self.raised(kind, harness.attempt, self.system(), TASK, case(), 1)


class ConfigureTest(ChatTest):
    def test_options_are_json_or_text_and_each_is_given_once(self):
        system = harness.load_system("chat:fake:1b")
        harness.configure(system, TASK, [case()], None,
                          ["temperature=0.5", "stop=[\"a\"]", "keep_alive=5m", "format=a=b"])
        self.assertEqual(system.options, {"temperature": 0.5, "num_predict": 1024, "num_ctx": 4096, "stop": ["a"],
                                          "keep_alive": "5m", "format": "a=b"})
        for options in (["temperature"], ["=1"], ["a=1", "a=1"], [""]):
            self.assertIn("give key=value", self.raised(RunError, harness.configure, system, TASK, [], None, options))

    def test_a_system_without_a_prompt_takes_none(self):
        prompt = os.path.join(os.path.dirname(chat.__file__), "prompts", "v1.txt")
        for prompt, options in ((prompt, []), (None, ["a=1"])):
            said = self.raised(RunError, harness.configure, triage_task.rules, TASK, [], prompt, options)
            self.assertIn("triage-rules takes neither --prompt nor --system-option", said)
        harness.configure(triage_task.rules, TASK, [], None, [])
        for prompt, words in ((os.path.join(os.path.dirname(chat.__file__), "views", "__init__.py"), "is blank"),
                              ("/no/such.txt", "cannot read /no/such.txt")):
            said = self.raised(RunError, harness.configure, harness.load_system("chat:m"), TASK, [], prompt, [])
            self.assertIn(words, said)

    def test_a_task_may_have_a_schema(self):
        self.assertIsNone(TASK.schema)
        with mock.patch.object(triage_task, "SCHEMA", SCHEMA, create=True):
            self.assertEqual(harness.load_task("triage_task").schema, SCHEMA)


def load_tests(loader, tests, pattern):
    if sys.flags.optimize < 2:  # which strips docstrings
        tests.addTests(doctest.DocTestSuite(chat))
    return tests


if __name__ == "__main__":
    unittest.main()
