"""What does a model behind HTTP answer to a case? Ollama's /api/chat, and the OpenAI-compatible /v1/chat/completions.

    $ python3 bench.py --cases cases-tickets.json --task answer_task --system chat:llama3.2:1b \\
          --prompt prompts/v1.txt --trials 5 --log recorded/v1.jsonl

`chat:MODEL` asks the Ollama server that OLLAMA_HOST names (127.0.0.1:11434 unless set), `chat:openai:MODEL` the server
at OPENAI_BASE_URL (https://api.openai.com/v1 unless set) with the key in OPENAI_API_KEY: hosted models, vLLM, SGLang,
LM Studio, llama.cpp. Neither a key nor a login in an address is ever written. --prompt FILE is a template where it
names a field of the input as {field}, else the system message. --system-option key=value sets what is sent.

What the server does wrong (Unavailable) bench.py tries again; what the model does wrong (Incomplete) is its answer;
what the server refuses (RunError) stops the run at once.
"""

import base64
import contextlib
import http.client
import io
import json
import os
import re
import socket
import ssl
import time
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from core.files import STRICT, RunError, Timed, json_reason, only_value, print_stderr, sha256_of, text_of
from harness import NAMED_FIELD, REJECTED, Answer, Case, Incomplete, NoRejection, Task, Unavailable, trial_seed

TEMPERATURE = 1
ANSWER_TOKENS = 1024  # the longest answer, unless an option says otherwise
CONTEXT_TOKENS = 4096  # Ollama's smallest default; asked for, so that it does not depend on the machine
TIMEOUT_S, LOOK_TIMEOUT_S = 300.0, 10.0  # for a whole reply: of the model, of the server about itself
LARGEST_REPLY = 16_000_000  # bytes
SHORT_SECRET = 4  # letters: to hide shorter ones would make messages unreadable
# What is hidden in a reply: a secret of 16 letters, or of 8 with a digit. No model would write it as a word.
NO_WORD = re.compile(r".{16,}|(?=.*[0-9]).{8,}")
PRICES = ("price_in", "price_out")  # options: USD for a million tokens read, written
FIXED = ("model", "messages", "stream", "n", "seed")  # the recorder decides on them
LATER = {408, 425, 429}  # the same request may go through later, whatever is said of it
BUSY = {500, 502, 503, 504, 507, *range(520, 530)}  # it may, unless the words below refuse it and no pause is named
REFUSED = re.compile(
    r"validation|invalid_request|literal_error|response_format|max_(completion_)?tokens|"
    r"not (supported|permitted)|does not support|"
    r"(invalid|unsupported|unknown|unexpected) (\S+ )?(argument|field|format|schema|option|parameter|value)\b", re.I)
CUT = "as many tokens were read as the context (num_ctx) holds, or far fewer than the prompt has words: it may be cut"
# How thinking text looks when it leaks into content.
THINKING = ("<think>", "<thinking>", "</think>", "<|channel|>", "[THINK]", "<reasoning>", "<thought>")
NO_SERVER = (ConnectionRefusedError, socket.gaierror, ssl.SSLError, http.client.InvalidURL, UnicodeError)

Fields = dict[str, Any]  # of a request, a reply, a case's input
Messages = list[dict[str, str]]


# What a model can do wrong. A log keeps the name of the class, its message and the raw reply.
class TruncatedReply(Incomplete): ...  # cut off at the token limit before it was whole
class NotLoaded(Incomplete): ...  # empty with done_reason "load": the model was loaded and nothing was generated
class EmptyReply(Incomplete): ...  # no text
class Declined(Incomplete): ...  # a refusal of the model, or a content filter, in place of an answer
class ThinkingLeaked(Incomplete): ...  # thinking text is in the answer
class NotJSON(Incomplete): ...  # prose, or JSON inside a fence, where the task wants JSON
class WrongSchema(Incomplete): ...  # JSON, and not what the task takes


# === A server ===


def server_address(text: str, variable: str) -> tuple[str, str, str, int, str]:
    """Return (scheme, login, host, port, path) of an address, read as Ollama reads OLLAMA_HOST (envconfig.Host).

    The port is 11434, or 80 or 443 after http:// or https://, unless a port that is one is given. Raises RunError,
    which repeats nothing of the address: it may hold a password.

    >>> server_address("https://me:pw@models.example/ollama", "X"), server_address("[::1]:8080", "X")
    (('https', 'me:pw', 'models.example', 443, '/ollama'), ('http', '', '::1', 8080, ''))
    """
    text = text.strip().strip("\"'").strip()
    scheme, _, rest = ("https://ollama.com" if text == "ollama.com" else text).rpartition("://")
    login, _, rest = rest.rpartition("@")
    if scheme not in ("", "http", "https") or re.search("[?#]", rest):
        raise RunError(f"{variable} has a query, or a scheme that is neither http:// nor https://; correct it")
    place, slash, path = rest.rstrip("/").partition("/")
    match = re.fullmatch(r"(\[.*\]|[^:\[\]]*):([^:]*)", place)  # else a host alone, or an IPv6 address without brackets
    host, text = match.groups() if match else (place, "")
    port = {"": 11434, "http": 80, "https": 443}[scheme]
    if re.fullmatch("[0-9]{1,9}", text) and int(text) < 65536:
        port = int(text)
    return scheme or "http", urllib.parse.unquote(login), host.strip("[]") or "127.0.0.1", port, slash + path


def _escaped(char: str) -> str:
    """Return a pattern of a character of a secret as JSON, an address or HTML may write it."""
    if char.isalnum():
        return char
    return rf"(?i:\\*{re.escape(char)}|\\u{ord(char):04x}|%{ord(char):02x}|&#?\w+;)"


class Server:
    """A JSON API over HTTP at one address; a connection a request, so that a dead one is never used again."""

    def __init__(self, variable: str, default: str = "", key: str = ""):
        """Read the address in an environment variable; raise RunError where it, or the key, can be none."""
        address, key = os.environ.get(variable) or default, key.strip()
        if not re.fullmatch("[ -~]*", address + key):
            raise RunError(f"{variable}, or its key, has a letter that no HTTP header carries; correct it")
        self.variable = variable
        self.scheme, login, self.host, self.port, self.path = server_address(address, variable)
        host = f"[{self.host}]" if ":" in self.host else self.host  # an IPv6 address has colons of its own
        self.name = f"{host}:{self.port}{self.path}"
        self.headers = {"Content-Type": "application/json"}
        basic = base64.b64encode(login.encode()).decode()
        if key or login:
            self.headers["Authorization"] = f"Bearer {key}" if key else f"Basic {basic}"
        secrets = {key, login, login.partition(":")[2], basic}
        self.secrets = sorted((secret for secret in secrets if len(secret) >= SHORT_SECRET), key=len, reverse=True)

    def hidden(self, text: str, in_reply: bool = False) -> str:
        """Return a text with *** for the key and the login, however they are escaped."""
        for secret in self.secrets:
            if not in_reply or NO_WORD.fullmatch(secret):
                text = re.sub("".join(map(_escaped, secret)), "***", text)
        return text

    def _exchange(self, path: str, data: str | None, timeout_s: float) -> tuple[http.client.HTTPResponse, bytes]:
        """Return a response and its whole body; raise OSError, HTTPException or ValueError where there is none."""
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        with contextlib.closing(kind(self.host, self.port, timeout=timeout_s)) as connection:
            connection.request("GET" if data is None else "POST", self.path + path, data, self.headers)
            with http.client.HTTPResponse(connection.sock) as response:
                response.fp = io.BufferedReader(Timed(connection.sock, timeout_s))  # before the head is read
                response.begin()
                content = response.read(LARGEST_REPLY + 1)
        if len(content) > LARGEST_REPLY:
            raise ValueError(f"a reply of more than {LARGEST_REPLY:,} bytes")
        if response.length:  # read(size) does not say so itself
            raise http.client.IncompleteRead(content, response.length)
        return response, content

    def request(self, path: str, body: Any = None, read: Callable[[Any], Any] = dict,
                timeout_s: float = LOOK_TIMEOUT_S, optional: bool = False) -> Any:
        """Return what read() makes of the JSON object or list that the server answers to a GET, or to a POST of a body.

        Raises Unavailable where the same may go through later: no whole answer within timeout_s, or none that read()
        takes; RunError where it will not, in the server's words. Where an `optional` path, which not all servers have,
        is not there or not allowed, read() gets an empty object.
        """
        try:
            response, content = self._exchange(path, None if body is None else json.dumps(body), timeout_s)
        except TimeoutError:
            raise Unavailable(f"{self.name}: no whole answer within {timeout_s:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = self.hidden(str(error) or type(error).__name__)
            raise Unavailable(f"{self.name} ({self.variable}): {reason}", absent=isinstance(error, NO_SERVER)) from None
        if response.status in (403, 404, 405, 501) and optional:
            return read({})
        value: Any = None
        text, fault = content.decode(errors="replace"), "a reply that is an error, or not whole"
        try:
            text = json.dumps(STRICT.decode(content.decode(json.detect_encoding(content))), ensure_ascii=False)
            value = STRICT.decode(self.hidden(text, in_reply=True))
        except (ValueError, RecursionError) as error:
            fault = f"a reply: {json_reason(error)}"
        shown, header = self.hidden(text)[:300], response.getheader("Retry-After", "")
        pause = float(header) if re.fullmatch("[0-9]{1,9}", header) else None
        if response.status in LATER or response.status in BUSY and (pause is not None or not REFUSED.search(text)):
            raise Unavailable(f"{self.name}: {response.status} {shown}", pause)
        if response.status != 200:
            raise RunError(f"{self.name}{path} answers {response.status}: {shown}; correct model, options, prompt, "
                           "key or URL")
        with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
            if isinstance(value, list) or value.get("error") is None:
                return read(value)
            shown = self.hidden(json.dumps({"error": value["error"]}, ensure_ascii=False))[:300]
        raise Unavailable(f"{self.name}: {fault}: {shown}")


# === A model with a prompt, behind any server ===


class Reply(NamedTuple):
    text: str
    reason: Any  # why it ended
    tokens_in: Any
    tokens_out: Any
    kept: Fields  # what goes into the metadata as it is


class Chat:
    """A model with one prompt, as harness.load_system wants a system; a dialect adds `path`, sent, read and prepare."""

    mode, tools, index, timeout_s, seeds, version = "live", None, None, TIMEOUT_S, "by-trial", "no prompt"
    prompt: str | None = None  # name and digest of `text`
    text: str | None = None
    fields: Sequence[str] = ()  # of the input, that the text names
    schema: Any = None  # of an answer
    task: Task
    seed_kept = sends_seed = True
    facts: Any = None  # what the server tells of the model
    path: str
    sent: Callable[..., Fields]  # of messages and seed, or neither; RunError for an option that is none
    read: Callable[[Any], Reply]  # of the server's answer, as Server.request() takes it

    def __init__(self, model: str, server: Server, options: Fields):
        self.asked = self.name = self.model = model  # asked: what a request calls the model
        self.server, self.options = server, options
        self.prices: dict[str, float] = {}

    def use_prompt(self, name: str, text: str, fields: Sequence[str] = ()) -> None:
        """Take a prompt: a template where it names one of these fields of the input, else the system message."""
        self.version, self.text = name, text
        self.prompt = f"{name} sha256:{sha256_of(text)[:16]}"
        self.fields = [field for field in fields if f"{{{field}}}" in text]

    def configure(self, task: Task, cases: Sequence[Case], prompt: tuple[str, str] | None, options: Fields) -> None:
        """Take the task, --prompt as (name, text), and options; raise RunError where one does not fit."""
        self.task, self.schema = task, self.schema or task.schema
        if prompt:
            in_cases = list(dict.fromkeys(field for case in cases for field in case.input))
            self.use_prompt(*prompt, in_cases)
            the_input = f"the input (its fields: {', '.join(in_cases[:20])})"
            so = "" if self.fields else "; the prompt names no field, so it is the system message"
            for word in sorted({*NAMED_FIELD.findall(prompt[1])}.difference(self.fields)):
                print_stderr(f"note: prompt {prompt[0]}: {{{word}}} is no field of {the_input}, and stays as it is{so}")
            if not self.fields and not NAMED_FIELD.search(prompt[1]):
                print_stderr(f"note: prompt {prompt[0]} names no field of {the_input}, so it is the system message")
        elif self.text is None:
            print_stderr("note: no --prompt, so the model gets the input alone")
        for case in cases:
            missing = [field for field in self.fields if field not in case.input]
            if missing and case.expected != REJECTED:
                raise RunError(f"case {case.id!r} has no field {missing[0]!r}, and the prompt names it; add it there")
        for key, value in options.items():
            if key in PRICES and type(value) in (int, float) and 0 <= value < 1e9:
                self.prices[key] = value
            elif key == "seed" and value is None:
                self.sends_seed = False
            elif key in PRICES + FIXED:
                raise RunError(f"--system-option {key}: {', '.join(FIXED)} are the recorder's (seed=null sends no "
                               "seed), and a price is a number, USD for a million tokens")
            else:
                self.options[key] = value
        self.sent()  # refuses what it cannot send

    @property
    def settings(self) -> Fields:
        """Return all that decides the replies, as log and record keep it."""
        return {"prompt": self.text, "prompt_sha256": self.text and sha256_of(self.text), "fields": list(self.fields),
                "temperature": self.options.get("temperature"), "seed_kept": self.seed_kept and self.sends_seed,
                "prices": self.prices, "model": self.facts, "request": self.sent()}

    def user_text(self, case_input: Fields) -> str:
        """Return the input as a message; raise the task's rejection where it holds nothing."""
        filled = any(text_of(value).strip() for value in case_input.values() if value is not None)
        if self.task.rejection is not NoRejection and not filled:
            raise self.task.rejection("the input is blank")
        return text_of(only_value(case_input))

    def messages(self, case: Case) -> Messages:
        """Return the messages of a case: the filled template, or the prompt and then the input."""
        text = self.user_text(case.input)
        if self.fields:  # all in one pass, so that nothing in a value is taken for a field
            names = "|".join(map(re.escape, self.fields))
            text = re.sub(rf"\{{({names})\}}", lambda match: text_of(case.input.get(match[1], "")), str(self.text))
        elif self.text is not None:
            return [{"role": "system", "content": self.text}, {"role": "user", "content": text}]
        return [{"role": "user", "content": text}]

    def respond(self, case: Case, trial: int) -> Answer:
        """Return the model's answer to a case; metadata has the reply, tokens, latency_s, and cost_usd where priced.

        Raises the task's rejection, before any call, for a blank or missing input.
        """
        messages = self.messages(case)
        seed = trial_seed(trial, case.id, self.seeds) if self.sends_seed else None
        began = time.monotonic()
        reply: Reply = self.server.request(self.path, self.sent(messages, seed), self.read, self.timeout_s)
        latency_s = round(time.monotonic() - began, 3)
        metadata = {"server": self.server.name, "reply": reply.text, "latency_s": latency_s, **reply.kept}
        if type(reply.tokens_in) is type(reply.tokens_out) is int and max(reply.tokens_in, reply.tokens_out) < 1e12:
            metadata["tokens"] = reply.tokens_in + reply.tokens_out
            if self.prices:
                price_in, price_out = (self.prices.get(option, 0) for option in PRICES)
                metadata["cost_usd"] = round((reply.tokens_in * price_in + reply.tokens_out * price_out) / 1e6, 9)
        if may_be_cut(reply.tokens_in, self.options.get("num_ctx"), messages):
            metadata["warning"] = CUT
        return Answer(self.read_answer(reply.text, reply.reason, metadata), metadata)

    def read_answer(self, content: str, reason: Any, metadata: Fields) -> Any:
        """Return the answer in a reply: its text where the task takes text, else its JSON value.

        Raises Incomplete, with metadata, where it holds none.
        """
        try:
            value, fault = STRICT.decode(content), ""
        except (ValueError, RecursionError) as error:
            value, fault = content, f"the reply: {json_reason(error)}"
        blank = not content.strip()
        # Whole JSON, and blanks up to the limit.
        padded = isinstance(value, (dict, list)) and content != content.rstrip()
        if blank and reason == "load":
            raise NotLoaded('an empty reply with done_reason "load": nothing was generated', metadata)
        if reason == "length" and not padded:
            raise TruncatedReply("cut off at the token limit: raise num_predict or max_tokens, or think less", metadata)
        if reason == "content_filter" or "refusal" in metadata:
            raise Declined("a refusal or filter, and no answer", metadata)
        if blank:
            raise EmptyReply(f"an empty reply with done_reason {reason!r}", metadata)
        asked = self.text or ""  # a prompt may ask for thinking in such marks
        if any(mark in content and mark.replace("/", "") not in asked for mark in THINKING):
            raise ThinkingLeaked("thinking text is in the answer", metadata)
        for answer in (content, value):
            try:
                self.task.check_answer(answer)
                return answer
            except ValueError as error:
                wrong_schema = WrongSchema(str(error), metadata)
        raise NotJSON(fault, metadata) if fault else wrong_schema


def may_be_cut(read: Any, context: Any, messages: Messages) -> bool:
    """Tell whether a server that read so many tokens of messages may have cut them: all its context holds, or too few.

    A token is rarely as much as two words, or as ten bytes in text without blanks.

    >>> may_be_cut(2050, 8192, [{"content": "word " * 8000}]), may_be_cut(8010, 8192, [{"content": "word " * 8000}])
    (True, False)
    """
    words = [word for message in messages for word in message["content"].split()]
    fewest = max(len(words) / 2, len(" ".join(words).encode()) / 10)
    return type(read) is int and (read < fewest or type(context) is int and read >= context)


# === The two dialects ===

OLLAMA_TOP = ("think", "format", "keep_alive", "truncate", "shift")
OLLAMA_OPTIONS = (  # a server takes others in silence, and ignores them
    "num_keep", "num_predict", "top_k", "top_p", "min_p", "typical_p", "repeat_last_n", "temperature", "repeat_penalty",
    "presence_penalty", "frequency_penalty", "stop", "num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap",
    "num_thread")
OLLAMA_KEPT = ("done_reason", "prompt_eval_count", "eval_count", "total_duration", "load_duration",
               "prompt_eval_duration", "eval_duration")


class Ollama(Chat):
    """A model of an Ollama server, known by its weights, template and parameters, or by a pinned digest."""

    path = "/api/chat"

    def __init__(self, tag: str, pinned: str | None = None):
        super().__init__(tag, Server("OLLAMA_HOST"), {
            "temperature": TEMPERATURE, "num_predict": ANSWER_TOKENS, "num_ctx": CONTEXT_TOKENS})
        self.pinned, self.model = pinned, f"{tag}@{pinned or 'unknown'}"
        self.shown: Fields = {}
        self.loaded_before: set[str] | None = None

    def sent(self, messages: Messages | None = None, seed: int | None = None) -> Fields:
        top = {"model": self.asked, "messages": messages, "stream": False, "think": False, "truncate": False,
               "format": self.schema}
        options = {"seed": seed}
        for key, value in self.options.items():
            if key not in OLLAMA_TOP + OLLAMA_OPTIONS:
                raise RunError(f"--system-option {key} is no option of Ollama's; it has {', '.join(OLLAMA_OPTIONS)}")
            (top if key in OLLAMA_TOP else options)[key] = value
        return _drop_none(top) | {"options": _drop_none(options)}

    def read(self, reply: Any) -> Reply:
        message = reply["message"]
        if not isinstance(message["content"], str) or reply["done"] is not True:
            raise ValueError("not done")
        kept = _drop_none({key: reply.get(key) for key in OLLAMA_KEPT} | {"thinking": message.get("thinking") or None})
        return Reply(message["content"], reply.get("done_reason"), reply.get("prompt_eval_count"),
                     reply.get("eval_count"), kept)

    def prepare(self) -> Fields:
        """Return {"host", "version", "digest"} of server and manifest, and note what the model is.

        "loaded" lists other digests that were loaded under its name since the first look, where there are any. Raises
        RunError where the server lacks the model, or has another than the one pinned.
        """
        version = self.server.request("/api/version").get("version")
        models = self.server.request("/api/tags", read=lambda reply: dict(_digests(reply)))
        name = self.asked if self.asked in models else f"{self.asked}:latest"
        if name not in models:
            raise RunError(f"{self.server.name} has no model {self.asked!r}, only {', '.join(map(str, models))}; run "
                           "ollama pull")
        digest = models[name]
        if self.facts is None or self.shown:  # a server that did not tell it at first is not asked again
            self.shown = self.server.request("/api/show", {"model": self.asked}, optional=self.facts is None)
        facts = self.shown
        running = self.server.request("/api/ps", read=_digests, optional=True)
        loaded = {its_digest for its_name, its_digest in running if its_name == name} - {digest}
        if self.loaded_before is None:  # at the first look: what is loaded then answers nothing here
            self.loaded_before = loaded
        weights = re.findall(r"^(?:FROM|ADAPTER) .*sha256[-:]([0-9a-f]{64})", str(facts.get("modelfile")), re.M)
        self.facts = {"weights": weights, "template": sha256_of(text_of(facts.get("template"))),
                      "parameters": sha256_of(text_of([*map(facts.get, ("parameters", "system", "messages"))]))}
        self.model = f"{self.asked}@{digest if self.pinned or not weights else weights[0][:12]}"
        if self.pinned and digest != self.pinned:
            raise RunError(f"{self.server.name} has {self.asked} with digest {digest}, and {self.pinned} is pinned; "
                           f"install that, or record this one as --system model_triage:{self.asked}/VERSION")
        return _drop_none({"host": self.server.name, "version": str(version), "digest": digest,
                           "loaded": sorted(loaded - self.loaded_before) or None})


class OpenAI(Chat):
    """A model behind the OpenAI-compatible API, whoever serves it."""

    path = "/chat/completions"

    def __init__(self, model: str):
        server = Server("OPENAI_BASE_URL", "https://api.openai.com/v1", os.environ.get("OPENAI_API_KEY", ""))
        super().__init__(model, server, {"temperature": TEMPERATURE})
        self.name = f"openai:{model}"
        # One's own server honours a seed; a hosted one, behind a public name, promises nothing for it.
        self.seed_kept = bool(re.fullmatch(r"[^.]*|[0-9.]+|.*:.*|.*\.(local|lan|internal)", server.host))

    def sent(self, messages: Messages | None = None, seed: int | None = None) -> Fields:
        sent = {"model": self.asked, "messages": messages, "seed": seed, **self.options}
        if "max_completion_tokens" not in sent:
            sent.setdefault("max_tokens", ANSWER_TOKENS)
        form = sent.get("response_format", "json_schema" if self.schema else None)
        if form == "json_schema":
            form = {"type": form, form: {"name": "answer", "strict": True, "schema": self.schema}}
        elif form == "json_object":
            form = _drop_none({"type": form, "schema": self.schema})
        return _drop_none(sent | {"response_format": form})

    def read(self, reply: Any) -> Reply:
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        message, reason = choice["message"], choice["finish_reason"]
        content, parts = message.get("content") or "", []
        if isinstance(content, list):
            parts = [part for part in content if part["type"] != "text"]
            content = "".join(part["text"] for part in content if part["type"] == "text")
        if not isinstance(content, str) or not isinstance(reason, str) or choice.get("error") or reason == "error":
            raise ValueError("no text, no end, or an error")
        kept = {"finish_reason": reason, "usage": usage, "served": reply.get("model"),
                "system_fingerprint": reply.get("system_fingerprint"), "refusal": message.get("refusal") or None,
                "thinking": message.get("reasoning_content") or message.get("reasoning") or parts or None}
        return Reply(content, reason, usage.get("prompt_tokens"), usage.get("completion_tokens"), _drop_none(kept))

    def prepare(self) -> Fields:
        """Return {"host", "version"} of the server; raise RunError where its list of models lacks this one."""
        listed = self.server.request("/models", optional=True, read=lambda reply: [
            model["id"] for model in (reply if isinstance(reply, list) else reply.get("data") or ())])
        if listed and self.asked not in listed:
            first = ", ".join(map(str, listed[:20]))
            raise RunError(f"{self.server.name} has no model {self.asked!r}, only {first}; name one")
        return {"host": self.server.name, "version": None}


def _drop_none(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def _digests(reply: Fields) -> list[tuple[str, str]]:
    """Return (name, digest of 12 digits) of the models in a list of an Ollama server."""
    return [(model["name"], model.get("digest", "unknown").removeprefix("sha256:")[:12])
            for model in reply.get("models") or ()]


def __getattr__(name: str) -> Chat:
    """Return the system that a name stands for: openai:MODEL, or the tag of a model of Ollama's."""
    model = name.removeprefix("openai:")
    if not model or name.startswith("__"):
        raise AttributeError("name a model, as chat:MODEL or chat:openai:MODEL")
    return Ollama(name) if model == name else OpenAI(model)
