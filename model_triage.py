"""What does a local model answer to one message? The system under test: an Ollama model with prompt v1 or v2.

    $ python3 bench.py --cases cases-robustness.json --system model_triage:coder_v1 --trials 5 \\
          --log recorded/qwen-coder-v1.jsonl

One message goes to `POST /api/chat` of the server that OLLAMA_HOST names (127.0.0.1:11434 unless set). The pinned
systems are qwen_v1, qwen_v2, gemma_v1, gemma_v2, coder_v1 and coder_v2; any other installed model is
`model_triage:TAG/v2`, for example `model_triage:llama3.2:1b/v2`. Weights are told apart by their digest: a pinned
system with other weights is refused before its first trial.

What the server does wrong (Unavailable) bench.py tries again; what the model does wrong (Incomplete) is its answer.
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
from typing import Any

from core.files import RunError, parse_json
from harness import Answer, Case, Incomplete, Unavailable, trial_seed
from triage_task import CATEGORIES, check_answer, message_text

PROMPTS = {
    "v1": (
        "Classify one customer message for an online shop's support inbox. Reply with JSON only.\n"
        "category: billing (charges, refunds, payments), delivery (orders on their way, tracking, arrival), account "
        "(signing in, passwords, account access), or other (anything else).\n"
        "needs_human: true when the message suggests that someone else used or changed the customer's account; "
        "otherwise false."
    ),
}
PROMPTS["v2"] = PROMPTS["v1"] + (
    "\nMessages can be in Spanish or contain typos: classify by meaning, not by exact words. A password or account "
    "changed without the customer's permission always needs a human."
)

# The first 12 hex digits of the weights' digest, as GET /api/tags reports it. That of coder is the digest of
# the server that the bundled runs were recorded with.
MODELS = {
    "qwen": ("qwen3.5:0.8b", "de63045f2975"),
    "gemma": ("gemma4:e2b", "b37049369adf"),
    "coder": ("qwen2.5-coder:0.5b", "1d9614638d18"),
}
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"category": {"type": "string", "enum": list(CATEGORIES)}, "needs_human": {"type": "boolean"}},
    "required": ["category", "needs_human"],
}
NUM_PREDICT = 64
TEMPERATURE = 1
CONTEXT_TOKENS = 4096  # Ollama's smallest default context; it cuts a longer prompt without a word
TIMEOUT_S = 300.0
BUSY = (429, 500, 502, 503, 504)  # a server's own trouble: the same request may go through later
THINKING = ("<think>", "<thinking>", "</think>", "<|channel|>")  # how thinking text looks when it leaks into content
KEPT = ("done_reason", "prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration",
        "eval_duration")


# What a model can do wrong. A log keeps the name of the class, its message and the raw reply.
class TruncatedReply(Incomplete): ...  # cut off at the token limit before it was whole
class NotLoaded(Incomplete): ...  # empty with done_reason "load": the model was loaded and nothing was generated
class EmptyReply(Incomplete): ...  # no text
class ThinkingLeaked(Incomplete): ...  # thinking text stands in the answer
class NotJSON(Incomplete): ...  # prose, or JSON inside a fence
class WrongSchema(Incomplete): ...  # JSON, and no {"category", "needs_human"}


def server_address(text: str) -> tuple[str, str, int, str]:
    """Return (scheme, host, port, path) of an OLLAMA_HOST value, read as Ollama's own client reads it (envconfig.Host).

    The port is 11434, or 80 or 443 after http:// or https://, unless a port that is one is given.

    >>> server_address("https://models.example/ollama"), server_address("[::1]:8080")
    (('https', 'models.example', 443, '/ollama'), ('http', '::1', 8080, ''))
    """
    text = text.strip().strip("\"'").strip()
    scheme, _, rest = ("https://ollama.com" if text == "ollama.com" else text).rpartition("://")
    if scheme not in ("", "http", "https"):
        raise RunError(f"OLLAMA_HOST is {text!r}: {scheme}:// is neither http:// nor https://; correct it")
    place, _, path = rest.partition("/")
    split = re.fullmatch(r"(\[.*\]|[^:\[\]]*):([^:]*)", place)  # else a host alone, or an IPv6 address without brackets
    host, port = split.groups() if split else (place, "")
    known = re.fullmatch("[0-9]{1,9}", port) and int(port) < 65536
    number = int(port) if known else {"": 11434, "http": 80, "https": 443}[scheme]
    path = path.rstrip("/")
    return scheme or "http", host.strip("[]") or "127.0.0.1", number, path and f"/{path}"


class Server:
    """Ollama's HTTP API at one address; a connection a request, so that a dead one is never used again."""

    def __init__(self, address: str):
        self.scheme, self.host, self.port, self.path = server_address(address)
        self.name = f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{self.path}"

    def request(self, method: str, path: str, body: Any = None, timeout_s: float = TIMEOUT_S) -> Any:
        """Return the JSON object that the server answers; raise Unavailable where the same may go through later.

        Raises RunError, with the server's words, for a status that is neither 200 nor of BUSY.
        """
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        try:
            with contextlib.closing(kind(self.host, self.port, timeout=timeout_s)) as connection:
                data = None if body is None else json.dumps(body)
                connection.request(method, self.path + path, data, {"Content-Type": "application/json"} if data else {})
                reply = connection.getresponse()
                content = reply.read()
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: a host that is no host name
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if isinstance(error, TimeoutError):
                reason = f"no answer within {timeout_s:g} s"
            raise Unavailable(f"{self.name}: {reason}") from None
        said, value = content.decode("utf-8", "replace").strip(), None
        with contextlib.suppress(RunError):
            value = parse_json(said, self.name)
        if isinstance(value, dict) and isinstance(value.get("error"), str):
            said = value["error"]
        if reply.status in BUSY:
            raise Unavailable(f"{self.name}: {reply.status} {said[:200]}")
        if reply.status != 200:
            raise RunError(f"{self.name}{path} answers {reply.status}: {said[:300]}; "
                           "correct the model's name or the request")
        if not isinstance(value, dict) or "error" in value:
            what = "an error" if isinstance(value, dict) else "no JSON object"
            raise Unavailable(f"{self.name}: a reply that is {what}: {said[:200]!r}")
        return value


class ModelTriage:
    """An Ollama model with one version of the prompt, as harness.load_system wants a system."""

    mode, tools, index = "live", None, None

    def __init__(self, tag: str, version: str, digest: str | None = None):
        self.tag, self.version, self.pinned, self.timeout_s = tag, version, digest, TIMEOUT_S
        self.server = Server(os.environ.get("OLLAMA_HOST", ""))
        text = PROMPTS[version]
        self.name, self.model = f"model-triage-{tag.partition(':')[0]}", f"{tag}@{digest or 'unknown'}"
        self.prompt = f"triage-{version} sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self.request: dict[str, Any] = {
            "model": tag, "stream": False, "think": False, "format": ANSWER_SCHEMA,
            "options": {"temperature": TEMPERATURE, "num_predict": NUM_PREDICT},
        }
        self.settings = {"prompt": text, "request": self.request}

    def prepare(self) -> dict[str, str]:
        """Return {"host", "version"} of the server, and note the digest of its weights in `model`.

        Raises RunError where the server cannot be reached, lacks the model, or has other weights than those pinned.
        """
        try:
            version = self.server.request("GET", "/api/version", timeout_s=10).get("version")
            models = self.server.request("GET", "/api/tags", timeout_s=10).get("models")
            models = models if isinstance(models, list) else []
        except Unavailable as error:
            raise RunError(f"no Ollama server answers: {error}; start it, or set OLLAMA_HOST") from None
        listed = {str(model.get("name")): model for model in models if isinstance(model, dict)}
        model = listed.get(self.tag) or listed.get(f"{self.tag}:latest")
        if model is None:
            raise RunError(f"{self.server.name} has no model {self.tag!r}; it has {', '.join(listed) or 'none'}; "
                           f"run ollama pull {self.tag}")
        digest = str(model.get("digest", "")).removeprefix("sha256:")[:12] or "unknown"
        self.model = f"{self.tag}@{digest}"
        if self.pinned and digest != self.pinned:
            raise RunError(f"{self.server.name} has {self.tag} with weights {digest}, and {self.pinned} is pinned; "
                           f"install those, or record these as --system model_triage:{self.tag}/{self.version}")
        return {"host": self.server.name, "version": str(version)}

    def respond(self, case: Case, trial: int) -> Answer:
        """Return the model's answer to a case, with the reply's own counts and times as metadata.

        Raises the task's Rejection, before any call, for a blank or missing message.
        """
        messages = [{"role": "system", "content": PROMPTS[self.version]},
                    {"role": "user", "content": message_text(case.input)}]
        options = {**self.request["options"], "seed": trial_seed(trial)}
        reply = self.server.request("POST", "/api/chat", {**self.request, "messages": messages, "options": options},
                                    self.timeout_s)
        message = reply.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str) or reply.get("done") is False:
            raise Unavailable(f"{self.server.name}: a reply that is not whole: {json.dumps(reply)[:200]}")
        metadata = {"server": self.server.name, "reply": content, **{key: reply[key] for key in KEPT if key in reply}}
        if message.get("thinking"):
            metadata["thinking"] = message["thinking"]
        read = reply.get("prompt_eval_count")
        if isinstance(read, int) and read >= CONTEXT_TOKENS:
            metadata["warning"] = f"prompt_eval_count at the context limit of {CONTEXT_TOKENS}: the prompt may be cut"
        return Answer(read_answer(content, metadata), metadata)


def read_answer(content: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the answer that a reply's text holds; raise Incomplete, with metadata, where it holds none."""
    reason = metadata.get("done_reason")
    if reason == "load" and not content.strip():
        raise NotLoaded('an empty reply with done_reason "load": nothing was generated', metadata)
    if reason == "length":
        spent = " on thinking" if metadata.get("thinking") else ""
        raise TruncatedReply(f"cut off at num_predict {NUM_PREDICT}, spent{spent} before the answer was whole; "
                             "raise num_predict, or see that think is false", metadata)
    if not content.strip():
        raise EmptyReply(f"an empty reply with done_reason {reason!r}", metadata)
    if any(mark in content for mark in THINKING):
        raise ThinkingLeaked("thinking text stands in the answer, although think is false", metadata)
    try:
        answer = parse_json(content, "the reply")
    except RunError as error:
        raise NotJSON(str(error).rpartition(";")[0], metadata) from None
    try:
        check_answer(answer)
    except ValueError as error:
        raise WrongSchema(str(error), metadata) from None
    return dict(answer)


def __getattr__(name: str) -> ModelTriage:
    """Return the system that a name stands for: a pinned one such as coder_v1, or TAG/VERSION of any other model."""
    short, _, version = name.rpartition("_")
    if short in MODELS and version in PROMPTS:
        tag, digest = MODELS[short]
        return ModelTriage(tag, version, digest)
    tag, slash, version = name.rpartition("/")
    if slash and tag and version in PROMPTS:
        return ModelTriage(tag, version)
    raise AttributeError(name)
