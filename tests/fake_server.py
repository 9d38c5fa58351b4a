"""What a model server says, without a model: Ollama's API and the OpenAI-compatible one on a loopback socket.

It answers by seed and message, and misbehaves on cue. Used by test_chat, test_model_triage and test_bench.
"""

import contextlib
import hashlib
import json
import os
import socket
import struct
import threading
import unittest
import zlib
from unittest import mock

CATEGORIES = ("billing", "delivery", "account", "other")
WEIGHTS = "1d96" * 16
MODEL_FAULTS = {  # what the model does wrong: done_reason and content
    "NotLoaded": ("load", ""),
    "TruncatedReply": ("length", '{"category": "bil'),
    "EmptyReply": ("stop", " \n"),
    "NotJSON": ("stop", "I think that this is about billing."),
    "WrongSchema": ("stop", '{"category": "weather", "needs_human": false}'),
    "ThinkingLeaked": ("stop", '<think>hm</think>{"category": "billing", "needs_human": false}'),
}


def http(status, value, *headers, cut=0):
    """Return the bytes of a reply; with `cut`, that many bytes before its end are left out."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} Cue", f"Content-Length: {len(data)}", *headers, ""))
    return (head.encode() + data)[:-cut or None]


def ollama(content='{"category": "billing", "needs_human": false}', thinking=None, **fields):
    """Return the reply of Ollama's POST /api/chat with stream false, as its API documentation shows it."""
    message = {"role": "assistant", "content": content} | ({"thinking": thinking} if thinking else {})
    return {"model": "fake:1b", "created_at": "2023-12-12T14:13:43.416799Z", "message": message, "done": True,
            "done_reason": "stop", "total_duration": 5191566416, "load_duration": 2154458, "prompt_eval_count": 140,
            "prompt_eval_duration": 383809000, "eval_count": 20, "eval_duration": 4799921000} | fields


def openai(content='{"category": "billing", "needs_human": false}', reason="stop", message=(), **fields):
    """Return the reply of the OpenAI-compatible POST /v1/chat/completions, as its reference shows it."""
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1741569952, "model": "fake-2025", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": content, **dict(message)},
                 "finish_reason": reason}],
            "usage": {"prompt_tokens": 140, "completion_tokens": 20, "total_tokens": 160},
            "system_fingerprint": "fp_1"} | fields


class FakeServer:
    """A server at `host`. `cues` maps the number of a chat request, from 1, to what becomes of it; `always` serves all.

    A cue is a status, a (status, body, header, ...), a body, raw bytes, a function to call before the usual reply, or a
    word: see `misbehave`. "refused" closes the door before that request comes; reopen() opens it again. `posts` holds
    the bodies of the chat requests, `asked` all (method, path, body), `headers` those of the last request.
    """

    def __init__(self, cues=None):
        self.cues, self.always, self.posts, self.asked, self.headers = dict(cues or {}), None, [], [], {}
        self.version, self.models, self.broken = "0.1", {"fake:1b": "ab12" * 16}, None
        self.shown = {"template": "{{ .Prompt }}", "parameters": "num_thread 1"}
        self.swap(WEIGHTS)
        self.loaded = []  # (name, digest) of models that are loaded beside those listed
        self.held, self.ended, self.port = [], threading.Event(), 0
        self.reopen()

    def swap(self, weights):
        """Put other weights, of a sha256, behind the model's name."""
        self.shown["modelfile"] = f"# Modelfile\nFROM /models/blobs/sha256-{weights}\n"

    def reopen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve, args=(self.listener,), daemon=True)
        self.thread.start()

    def close(self):
        self.ended.set()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()  # wakes accept()
        self.thread.join(5)  # until then the port takes connections, closed or not
        self.listener.close()
        for connection in self.held:
            connection.close()

    def serve(self, listener):
        while not self.ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if not self.ended.is_set():
                with contextlib.suppress(OSError, ValueError):  # who left, or speaks TLS
                    self.answer(connection, listener)
            if connection not in self.held:
                connection.close()

    def answer(self, connection, listener):
        with connection.makefile("rb") as file:
            method, path, _ = file.readline().decode().split()
            self.headers = dict(line.decode().strip().split(": ", 1) for line in iter(file.readline, b"\r\n"))
            body = json.loads(file.read(int(self.headers.get("Content-Length", 0))) or "null")
        self.asked.append((method, path, body))
        chat = path.endswith(("/api/chat", "/chat/completions"))
        if chat:
            self.posts.append(body)
        last = path not in ("/api/version", "/api/tags", "/api/show")  # of a look
        if last and self.cues.get(len(self.posts) + 1) == "refused":
            del self.cues[len(self.posts) + 1]
            listener.close()
        if not chat:
            return connection.sendall(self.broken or self.description(path, body))
        cue = self.cues.get(len(self.posts), self.always)
        if callable(cue):
            cue = cue()
        if isinstance(cue, bytes):
            return connection.sendall(cue)
        if isinstance(cue, int):
            return connection.sendall(http(cue, {"error": f"cue {cue}"}))
        if isinstance(cue, (tuple, dict, list)):
            return connection.sendall(http(*cue) if isinstance(cue, tuple) else http(200, cue))
        if cue in FAULTS:
            return FAULTS[cue](self, connection)
        return connection.sendall(http(200, self.reply(path, body, cue)))

    def description(self, path, body):
        """Return what the server says of itself."""
        named = {"/api/version": {"version": self.version},
                 "/api/tags": {"models": [{"name": name, "digest": digest} for name, digest in self.models.items()]},
                 "/api/ps": {"models": [{"name": name, "digest": digest} for name, digest in self.loaded]},
                 "/api/show": self.shown, "/models": {"object": "list", "data": [{"id": name} for name in self.models]}}
        found = next((value for end, value in named.items() if path.endswith(end)), None)
        return http(404, b"404 page not found") if found is None else http(200, found)

    def reply(self, path, body, cue):
        """Return the usual reply, or one with a fault of the model's."""
        seed = body["seed"] if "seed" in body else body.get("options", {}).get("seed", 0)
        number = zlib.crc32(body["messages"][-1]["content"].encode()) + seed
        content = json.dumps({"category": CATEGORIES[number % 4], "needs_human": number % 3 == 0})
        reason, content = MODEL_FAULTS.get(cue, ("stop", content))
        if path.endswith("/chat/completions"):
            return openai(content, reason)
        return ollama(content, done_reason=reason, **({"prompt_eval_count": 4096} if cue == "context" else {}))


def reset(server, connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(start):
    def fault(server, connection):
        connection.sendall(start)
        while not server.ended.wait(0.005):
            connection.sendall(b"1")
    return fault


def endless(server, connection):
    connection.sendall(b"HTTP/1.1 200 Cue\r\n\r\n{")
    while not server.ended.is_set():
        connection.sendall(b" " * 1_000_000)


def continues(server, connection):
    while not server.ended.is_set():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


FAULTS = {
    "reset": reset,
    "closed": lambda server, connection: None,
    "timeout": lambda server, connection: server.held.append(connection),
    "not JSON": lambda server, connection: connection.sendall(http(200, b"<html>busy</html>")),
    "error in a 200": lambda server, connection: connection.sendall(http(200, {"error": "generation failed"})),
    "cut short": lambda server, connection: connection.sendall(http(200, ollama(), cut=40)),
    "dripping head": drip(b"HTTP/1.1 200 Cue\r\nX: "),
    "dripping body": drip(b"HTTP/1.1 200 Cue\r\nContent-Length: 1000000\r\n\r\n"),
    "endless": endless,
    "endless continue": continues,
}


class ServerTest(unittest.TestCase):
    """A case with a server that OLLAMA_HOST and OPENAI_BASE_URL name."""

    def setUp(self):
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.environment = {"OLLAMA_HOST": self.server.host, "OPENAI_BASE_URL": f"http://{self.server.host}/v1"}
        self.enterContext(mock.patch.dict(os.environ, self.environment))
        os.environ.pop("OPENAI_API_KEY", None)  # put back with the rest

    def raised(self, kind, call, *args):
        """Return what an exception of this kind says."""
        with self.assertRaises(kind) as caught:
            call(*args)
        return str(caught.exception)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()
