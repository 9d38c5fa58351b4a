"""Which of many slices stands out? p-values that allow for how many slices were looked at.

    $ python3 -c "from core import adjust; print(adjust.holm({'en': 0.01, 'es': 0.04, 'fr': 0.03}))"
    {'en': 0.03, 'fr': 0.06, 'es': 0.06}

Numbers in, numbers out, each under the name of its slice. `adjusted_p_values` serves the question of new sources,
`holm` that of these very cases.
"""

import functools
import operator
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from core.intervals import SEED, Number

EVERY_PATTERN = 16        # groups up to which all 2 ** 16 sign patterns are gone through
SIGN_PATTERNS = 10_000    # drawn beyond

Name = TypeVar("Name")     # of a slice


def holm(p_values: Mapping[Name, Number]) -> dict[Name, Number]:
    """Return p-values that allow for how many were looked at (Holm 1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted: dict[Name, Number] = {}
    largest: Number = 0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return adjusted


def adjusted_p_values(slices: Mapping[Name, tuple[Sequence[int], Sequence[int]]],
                      ) -> tuple[dict[Name, tuple[Fraction, Fraction]], str]:
    """Return by slice the p-value that allows for all slices looked at, and the least that it could be; and the method.

    A slice is (sums, sizes): the sum of numerators of its cases in each source group, 0 where it has none, and their
    number. A sign pattern turns whole groups, in all slices alike, so slices that share cases move together. The
    statistic of a slice is its |signed sum| over the root of its sum of squares; its p-value is the share of patterns
    under which the largest statistic of any slice is at least the one observed. A slice without any difference has
    p = 1. Exact for up to EVERY_PATTERN groups, else SIGN_PATTERNS random patterns and (1 + k) / (1 + N). The
    single-step maximum of Westfall & Young (1993).

    The least is that with all of its groups moved one way, each by its number of cases, and the other slices as seen.
    Where its groups move unevenly a slice may reach still less, as one does that has: then it is what it has.

    >>> adjusted_p_values({"all": ([1, 1, 1, 1], [2, 2, 2, 2]), "one": ([1, 0, 0, 0], [1, 0, 0, 0])})[0]
    {'all': (Fraction(1, 8), Fraction(1, 8)), 'one': (Fraction(1, 1), Fraction(1, 1))}
    """
    n = len(next(iter(slices.values()))[0])
    count, p_values = _patterns(n)[0], dict[Name, tuple[Fraction, Fraction]]()
    drawn = 1 if n > EVERY_PATTERN else 0              # then the pattern observed is one more
    largest = [-1.0] * count                           # statistic of any slice under each pattern
    second = [-1.0] * count                            # the largest but that one
    for sums, _ in slices.values():
        for p, own in enumerate(_statistics(sums)):
            if own > largest[p]:
                second[p], largest[p] = largest[p], own
            elif own > second[p]:
                second[p] = own
    ordered = sorted(largest)
    for name, (sums, sizes) in slices.items():
        observed = sum(sums) ** 2 / (_squares(sums) or 1)
        reached = count - bisect_left(ordered, observed)
        least = min(reached, _least_reached(sums, sizes, largest, second))
        p_values[name] = Fraction(reached + drawn, count + drawn), Fraction(least + drawn, count + drawn)
    return p_values, f"sampled, {count} sign patterns, seed {SEED}" if drawn else f"exact, {2 ** n} sign patterns"


def _least_reached(column: Sequence[int], cases: Sequence[int], largest: list[float], second: list[float]) -> int:
    """Return under how many patterns a statistic is as large as that of a slice whose groups all moved one way."""
    taken = [pattern for pattern, size in zip(_patterns(len(cases))[1], cases, strict=True) if size]
    every, some = functools.reduce(operator.and_, taken), functools.reduce(operator.or_, taken)
    count = len(largest)
    one_way = every | (1 << count) - 1 - some                                  # the patterns that take all, or none
    reached = {p for p, bit in enumerate(f"{one_way:0{count}b}") if bit == "1"}         # the last pattern first
    limit = sum(cases) ** 2 / _squares(cases) * (1 - 1e-12)
    if max(largest) >= limit:                                                  # else no slice that was seen reaches it
        statistics = zip(_statistics(column), largest, second, strict=True)
        reached.update(p for p, (own, most, next_most) in enumerate(statistics)
                       if (next_most if own == most else most) >= limit)
    return len(reached)


def _squares(column: Sequence[int]) -> int:
    return sum(value * value for value in column)


def _statistics(column: Sequence[int]) -> list[float]:
    """Return the statistic of a slice, squared, under each sign pattern."""
    sums, whole, squares = _sums_taken(column), sum(map(abs, column)), _squares(column) or 1
    statistic = {taken: (2 * taken - whole) ** 2 / squares for taken in set(sums)}
    return [statistic[taken] for taken in sums]


@functools.lru_cache(maxsize=1)
def _patterns(groups: int) -> tuple[int, list[int]]:
    """Return how many sign patterns there are, and for each group a number: bit p is 1 where pattern p takes it.

    Turning all signs changes no size, so of all patterns those that take the first group are enough.

    >>> _patterns(3) == (4, [0b1111, 0b0101, 0b0011])
    True
    """
    if groups > EVERY_PATTERN:
        generator = random.Random(SEED)
        return SIGN_PATTERNS, [generator.getrandbits(SIGN_PATTERNS) for _ in range(groups)]
    count = 1 << groups - 1
    everyone = (1 << count) - 1
    return count, [everyone] + [everyone // ((1 << (1 << group)) + 1) for group in range(groups - 1)]


def _sums_taken(column: Sequence[int]) -> list[int]:
    """Return for each pattern, the last one first, the sum of the sizes that it takes.

    Twice that, less the sum of all sizes, is the sum with signs. All patterns are added up at once: planes[i] holds bit
    i of each sum, so that a carry runs through all of them in a few operations. A pattern that leaves a negative value
    out takes its size.
    """
    count, patterns = _patterns(len(column))
    planes = [0] * (sum(map(abs, column)).bit_length() + 1)
    for value, taken in zip(column, patterns, strict=True):
        if value < 0:
            taken ^= (1 << count) - 1
        for place in range(value.bit_length()):
            at, carry = place, taken if abs(value) >> place & 1 else 0
            while carry:
                planes[at], carry = planes[at] ^ carry, planes[at] & carry
                at += 1
    sums, zeros = [0] * count, int.from_bytes(b"0" * count)
    for first in reversed(range(0, len(planes), 8)):            # eight planes make a byte for each pattern
        byte_of_each = 0
        for i, plane in enumerate(planes[first:first + 8]):
            digits = int.from_bytes(f"{plane:0{count}b}".encode()) - zeros      # a byte for each, which is 0 or 1
            byte_of_each += digits << i
        sums = [256 * total + byte for total, byte in zip(sums, byte_of_each.to_bytes(count), strict=True)]
    return sums
