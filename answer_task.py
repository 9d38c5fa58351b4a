"""When is an answer right, where the case itself says so? A task for people who write no Python.

    $ python3 -c "import answer_task; print(answer_task.GRADERS['equals'][1]({'equals': 'billing'}, ' billing '))"
    True

An answer is a text: what the model replied, white space at its ends taken off. A case expects an object that names one
grader or more, and all of them must pass:

    {"equals": "billing"}                   the answer, to the letter
    {"any_of": ["billing", "payment"]}      one of these is the answer
    {"contains": "30 days"}                 a part of the answer; of a list: all are
    {"matches": "^[A-Z]{2}-[0-9]+$"}        a regular expression, searched in the first 2,000 characters
    {"json": {"category": "billing"}}       the answer is a JSON object, and these fields of it are equal
    {"number": 3.5, "tolerance": 0.1}       the answer is a number, no further away; without a tolerance it is equal
    {"rejected": true}                      the input is blank or missing, and the system must refuse it

"ignore_case": true beside one of the first four makes capitals and small letters alike. An expression that searches
very long holds the run up: it is your own. This file is a task as
harness.py loads one; its sha256 is in every log and record.
"""

import contextlib
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from core.files import RunError, parse_json

LONGEST = 2000  # characters that `matches` looks at
REJECTED = {"rejected": True}
FLAGS = {"ignore_case": ("equals", "any_of", "contains", "matches"), "tolerance": ("number",)}
NUMBER = re.compile(r"[+-]?(\d{1,99}(\.\d{0,99})?|\.\d{1,99})(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


class Rejection(Exception):
    """The input holds nothing to answer."""


def check_answer(answer: object) -> None:
    """Raise ValueError unless an answer is text.

    >>> check_answer("billing")
    """
    if not isinstance(answer, str):
        raise ValueError("no text")


def check_expected(expected: Any) -> None:
    """Raise ValueError, saying what is wrong, unless a case may expect this.

    >>> check_expected({"equals": "billing", "ignore_case": True})
    """
    if expected == REJECTED:
        return
    if not isinstance(expected, dict) or not any(name in expected for name in GRADERS):
        raise ValueError(f"no object that names a grader: {', '.join(GRADERS)}, or rejected alone")
    for name, value in expected.items():
        if name not in WANTED or name in FLAGS and not any(one in expected for one in FLAGS[name]):
            raise ValueError(f"an object with {name!r:.40}, which is no grader, and no flag of one that is there")
        wanted, words = WANTED[name]
        if not wanted(value):
            raise ValueError(f"an object whose {name} is {value!r:.60}, not {words}")


# === What may be expected of each grader, and how it is asked ===


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


def _expression(value: Any) -> bool:
    with contextlib.suppress(re.error, RecursionError, OverflowError):
        return isinstance(value, str) and bool(re.compile(value))
    return False


def _number(value: Any) -> bool:
    return type(value) in (int, float) and bool(NUMBER.fullmatch(str(value)))


WANTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "equals": (_text, "text"), "any_of": (_texts, "a list of texts"), "matches": (_expression, "a regular expression"),
    "contains": (lambda value: _text(value) or _texts(value), "text or a list of texts"),
    "json": (lambda value: isinstance(value, dict) and bool(value), "an object with fields"),
    "number": (_number, "a number"), "tolerance": (lambda value: _number(value) and value >= 0, "a number from 0 up"),
    "ignore_case": (lambda value: isinstance(value, bool), "true or false"),
}


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; unlike Python's ==, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _has_fields(expected: dict[str, Any], answer: str) -> bool:
    try:
        found = parse_json(answer, "the answer")
    except RunError:
        return False
    return isinstance(found, dict) and all(key in found and _same(value, found[key])
                                           for key, value in expected["json"].items())


def _is_near(expected: dict[str, Any], answer: str) -> bool:
    value, tolerance = (Fraction(str(expected.get(name, 0))) for name in ("number", "tolerance"))
    return bool(NUMBER.fullmatch(answer)) and abs(Fraction(answer) - value) <= tolerance


def _grader(name: str, passes: Callable[[dict[str, Any], str], bool]) -> Callable[[Any, Any], Any]:
    """Return a grader of trimmed answers that says NotImplemented where a case does not name it."""
    return lambda expected, answer: passes(expected, answer.strip()) if name in expected else NotImplemented


def _fold(expected: dict[str, Any], text: str) -> str:
    return text.strip().casefold() if expected.get("ignore_case") else text.strip()


GRADERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {name: ("1", _grader(name, passes)) for name, passes in {
    "equals": lambda expected, answer: _fold(expected, expected["equals"]) == _fold(expected, answer),
    "any_of": lambda expected, answer: _fold(expected, answer) in [_fold(expected, one) for one in expected["any_of"]],
    "contains": lambda expected, answer: all(
        _fold(expected, part) in _fold(expected, answer)
        for part in ([expected["contains"]] if isinstance(expected["contains"], str) else expected["contains"])),
    "matches": lambda expected, answer: bool(re.search(
        expected["matches"], answer[:LONGEST], re.IGNORECASE if expected.get("ignore_case") else 0)),
    "json": _has_fields,
    "number": _is_near,
}.items()}
