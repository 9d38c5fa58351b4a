"""What is asked of a system, and when is its answer right? Inbox triage for an online shop.

    $ python3 harness.py run --cases cases-robustness.json --system triage_task:rules --out runs/rules.json
    triage-rules 1 on dev: 30 of 44 trials pass, 14 fail, 0 incomplete; wrote runs/rules.json

A case's input is {"text": a customer's message}; an answer is {"category": one of CATEGORIES, "needs_human": true or
false}. A case passes when every grader does. A case can expect a rejection instead ({"rejected": true}): its message
is blank or missing, and then raising Rejection is the pass.

This file is a task as harness.py loads one: GRADERS, check_expected, check_answer and, because its systems may refuse
an input, Rejection. Its sha256 is in every log and record: after an edit, old runs are runs of another task.
It also holds `rules`, a system of keyword rules that needs no model. Reads and writes no file.
"""

from collections.abc import Callable
from typing import Any

CATEGORIES = ("billing", "delivery", "account", "other")
REJECTED = {"rejected": True}


class Rejection(Exception):
    """The input holds no message to triage."""


def message_text(case_input: dict[str, object]) -> str:
    """Return the message of a case's input; raise Rejection where it is missing or blank.

    >>> message_text({"text": "Where is my parcel?"})
    'Where is my parcel?'
    """
    text = case_input.get("text")
    if not isinstance(text, str):
        raise Rejection("the message is missing")
    if not text.strip():
        raise Rejection("the message is blank")
    return text


def check_answer(answer: object) -> None:
    """Raise ValueError, saying what is wrong, unless answer is {"category", "needs_human"} and nothing else.

    >>> check_answer({"category": "billing", "needs_human": False})
    """
    if not isinstance(answer, dict) or set(answer) != {"category", "needs_human"}:
        raise ValueError('not an object of "category" and "needs_human"')
    if answer["category"] not in CATEGORIES:
        raise ValueError(f"category {answer['category']!r} is none of {', '.join(CATEGORIES)}")
    if not isinstance(answer["needs_human"], bool):
        raise ValueError(f"needs_human {answer['needs_human']!r} is not true or false")


def check_expected(expected: object) -> None:
    """Raise ValueError unless a case may expect this: an answer, or {"rejected": true}."""
    if expected != REJECTED:
        check_answer(expected)


# === Graders: name -> (version, function of what is expected and what was answered) ===


def _same(field: str) -> Callable[[Any, Any], bool]:
    return lambda expected, answer: bool(expected[field] == answer[field])


GRADERS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "category": ("1", _same("category")),
    "needs_human": ("1", _same("needs_human")),
}


# === A system without a model ===

# Looked for in the lower-cased message, whole or as a part of a word; the category with most hits wins, ties go to
# the first. Written from the prompt's definitions and not tuned on the bundled cases: it is there to run the chain.
KEYWORDS = {
    "billing": ("charge", "refund", "payment", "paid", "invoice", "card", "cobr", "reembols", "pago", "factura"),
    "delivery": ("deliver", "parcel", "package", "tracking", "courier", "arriv", "shipped", "paquete", "envío",
                 "pedido", "entrega"),
    "account": ("account", "password", "sign in", "log in", "login", "code", "cuenta", "contraseña",
                "código"),
}
SOMEONE_ELSE = ("wasn't me", "was not me", "someone", "somebody", "not by me", "hacked", "no fui yo", "alguien",
                "otra persona")


class Rules:
    """Keyword rules: the same answer for every trial."""

    name, version, mode = "triage-rules", "1", "offline"
    model = prompt = tools = index = None

    def respond(self, case: Any, trial: int) -> tuple[dict[str, object], dict[str, object]]:
        """Return the answer to a case and no metadata; raise Rejection for a blank or missing message."""
        text = message_text(case.input).lower()
        hits = {category: sum(word in text for word in words) for category, words in KEYWORDS.items()}
        best = max(hits, key=lambda category: hits[category])
        needs_human = any(words in text for words in SOMEONE_ELSE)
        return {"category": best if hits[best] else "other", "needs_human": needs_human}, {}


rules = Rules()
