"""Which options does a comparison depend on, beside its two runs, and what do they stand for?

    $ python3 -c "from core import options; print(options.parse_options({'margin': '0.05'}).limits.margin)"
    1/20

A comparison holds its options in the words of the command line, so that compare.py --check can take them from there.
"""

import re
import shlex
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from core import decide
from core.intervals import SEED
from core.trial_logs import Reading, as_fraction, score_bound
from core.trials import Score, score_places, shown_places

# The options of the command line that a comparison depends on, with their values where they are left out.
DEFAULTS: dict[str, Any] = {
    "min_gain": "0", "margin": "0", "gate": None, "must_pass": [], "look": None, "among": None, "plan": None,
    "missing": "refuse", "seed": str(SEED), "score_range": ["0", "1"], "skip_broken_lines": False, "tags": [],
    "ignore_input": False}
LOOKS = {f"{k}/{n}": (k, n) for n in range(2, 11) for k in range(1, n + 1)}
CHOICES = {"gate": (None, *decide.GATES), "missing": ("refuse", "drop", "zero")}


class Options(NamedTuple):
    """What a comparison depends on beside its two runs."""

    limits: decide.Limits = decide.Limits()
    plan: Fraction | None = None  # the half-width to plan for
    must_pass: tuple[tuple[str, str], ...] = ()  # (tag, value) pairs
    missing: str = "refuse"
    seed: int = SEED
    tags: tuple[str, ...] = ()  # those to make slices of; none: those whose values repeat
    reading: Reading = Reading()
    given: Mapping[str, Any] = MappingProxyType(DEFAULTS)  # the words that stand for all this on the command line


DEFAULT_OPTIONS = Options()


def parse_options(given: Mapping[str, Any]) -> Options:
    """Return the options that the words of a command line, or a comparison's "options", stand for.

    Raises ValueError, in words for a person, where they are of no use.

    >>> parse_options({"margin": "5"})
    Traceback (most recent call last):
    ValueError: --margin 5 is not from 0 to below the width of the score range, 1: in score units 5% is 0.05
    """
    words = DEFAULTS | dict(given)
    for name, value in words.items():
        _require(_is_option(name, value), f"{name} {value!r:.60} is no option")
    low, high = (_number("score_range", text) for text in words["score_range"])
    _require(low < high, "--score-range: LOW is below HIGH")
    gain, margin = (_score_units(name, words[name], low, high) for name in ("min_gain", "margin"))
    gate, among, seed = words["gate"], words["among"], words["seed"]
    _require(gate in (None, "better") or margin, f"--gate {gate} needs --margin, the loss that is tolerated")
    plan = None if words["plan"] is None else Fraction(_number("plan", words["plan"]))
    _require(plan is None or plan > 0, "--plan is above 0")
    parts = [text.partition("=") for text in words["must_pass"]]
    must_pass = tuple((tag.strip(), value.strip()) for tag, _, value in parts)
    _require(all(tag and value for tag, value in must_pass),
             f"--must-pass {', '.join(words['must_pass'])}: give TAG=VALUE")
    _require(among is None or re.fullmatch("[2-9]|[1-9][0-9]{1,5}", among),
             f"--among {among}: give the number of candidates, from 2 to 999999")
    _require(re.fullmatch("-?[0-9]{1,40}", seed), f"--seed {seed}: give a whole number")
    look = words["look"]
    _require(look in (None, *LOOKS), f"--look {look}: give K/N, look K of N, N from 2 to 10")
    limits = decide.Limits(gain, margin, gate, look and LOOKS[look], among and int(among), shown_places(low, high))
    return Options(limits, plan, must_pass, words["missing"], int(seed), tuple(words["tags"]),
                   Reading((low, high), words["skip_broken_lines"], words["ignore_input"]), words)


def words_of(given: Mapping[str, Any]) -> str:
    """Return those options of a comparison that are not left at their defaults, in the words of the command line.

    >>> words_of(DEFAULTS | {"margin": "0.05", "must_pass": ["a=b", "c=d"], "ignore_input": True})
    '--margin 0.05 --must-pass a=b --must-pass c=d --ignore-input'
    """
    words = list[str]()
    for name, value in given.items():
        if value is True:
            words.append(flag(name))
        elif value != DEFAULTS[name]:
            for text in value if name in ("must_pass", "tags") else [value]:
                words += [flag(name), *([text] if isinstance(text, str) else text)]
    return shlex.join(words)


def flag(name: str) -> str:
    """Return how an option is named on the command line."""
    return "--tag" if name == "tags" else f"--{name.replace('_', '-')}"


def _require(holds: object, rule: str) -> None:
    if not holds:
        raise ValueError(rule)


def _is_option(name: str, value: Any) -> bool:
    """Tell whether there is such an option and its value, which may come from a file, is of the kind of its default."""
    default = DEFAULTS.get(name, ...)
    of_kind = isinstance(value, (str | None) if default is None else type(default))
    texts = value if isinstance(value, list) else []
    return of_kind and all(isinstance(text, str) for text in texts) and value in CHOICES.get(name, [value])


def _score_units(name: str, text: str, low: Score, high: Score) -> Fraction:
    """Return a gain or loss in score units, read as scores are, at least 0 and below the width of the score range."""
    amount, width = as_fraction(Fraction(_number(name, text)), score_places(low, high)), high - low
    _require(0 <= amount < width, f"{flag(name)} {text} is not from 0 to below the width of the score range, "
                                  f"{float(width):g}: in score units 5% is {float(width) / 20:g}")
    return amount


def _number(name: str, text: str) -> Score:
    try:
        return score_bound(text)
    except ValueError:
        raise ValueError(f"{flag(name)} {text}: not a number up to 1e100; in score units, with a point: of scores "
                         "from 0 to 1, 5% is 0.05") from None
