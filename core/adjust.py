"""Which of many slices stands out? p-values that allow for how many slices were looked at.

    $ python3 -c "from core import adjust; print(*adjust.holm([0.01, 0.04, 0.03]))"
    0.03 0.06 0.06

Numbers in, numbers out. `adjusted_p_values` serves the question of new sources, `holm` that of these very cases.
"""

import functools
import itertools
import operator
import random
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from core.intervals import SEED, Number

EVERY_PATTERN = 16        # groups up to which all 2 ** 16 sign patterns are gone through
SIGN_PATTERNS = 10_000    # drawn beyond


def holm(p_values: Sequence[Number]) -> list[Number]:
    """Return p-values that allow for how many were looked at (Holm 1979), in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = itertools.accumulate(((len(order) - rank) * p_values[i] for rank, i in enumerate(order)), max)
    by_place = dict(zip(order, adjusted, strict=True))
    return [min(1, by_place[i]) for i in range(len(order))]


def adjusted_p_values(slices: Sequence[Sequence[int]],
                      sizes: Sequence[Sequence[int]]) -> tuple[list[tuple[Fraction, Fraction]], str]:
    """Return for each slice a p-value that allows for all the slices looked at, and the least that it could have; and
    the method: the single-step maximum.

    slices[j][g] is the sum of numerators of slice j's cases in source group g (0 where it has none). A sign pattern
    turns whole groups, in all slices alike, so slices that share cases move together. The statistic of a slice is its
    |signed sum| over the root of its sum of squares; its p-value is the share of patterns under which the largest
    statistic of any slice is at least the one observed. A slice without any difference has p = 1. Exact for up to
    EVERY_PATTERN groups, else SIGN_PATTERNS random patterns and (1 + k) / (1 + N). Westfall & Young (1993).

    The least is that with all of its groups moved one way, each by sizes[j][g], its number of cases, and the other
    slices as seen. Where its groups move unevenly a slice may reach still less, as one does that has: then it is what
    it has.

    >>> adjusted_p_values([[1, 1, 1, 1], [1, 0, 0, 0]], [[2, 2, 2, 2], [1, 0, 0, 0]])
    ([(Fraction(1, 8), Fraction(1, 8)), (Fraction(1, 1), Fraction(1, 1))], 'exact, 16 sign patterns')
    """
    n = len(slices[0])
    count, p_values = _patterns(n)[0], []
    drawn = 1 if n > EVERY_PATTERN else 0              # then the pattern observed is one more
    largest = second = [-1.0] * count                  # under each pattern, and the largest but that one
    for column in slices:
        own = _statistics(column)
        smaller = [b if b < a else a for a, b in zip(largest, own, strict=True)]
        second = [b if b > a else a for a, b in zip(second, smaller, strict=True)]
        largest = [b if b > a else a for a, b in zip(largest, own, strict=True)]
    ordered = sorted(largest)
    for column, cases in zip(slices, sizes, strict=True):
        observed = sum(column) ** 2 / (_squares(column) or 1)
        reached = count - bisect_left(ordered, observed)
        least = min(reached, _least_reached(column, cases, largest, second))
        p_values.append((Fraction(reached + drawn, count + drawn), Fraction(least + drawn, count + drawn)))
    return p_values, f"sampled, {count} sign patterns, seed {SEED}" if drawn else f"exact, {2 ** n} sign patterns"


def _least_reached(column: Sequence[int], cases: Sequence[int], largest: list[float], second: list[float]) -> int:
    """Return under how many patterns a statistic is as large as that of a slice whose groups all moved one way."""
    taken = [pattern for pattern, size in zip(_patterns(len(cases))[1], cases, strict=True) if size]
    every, none = functools.reduce(operator.and_, taken), ~functools.reduce(operator.or_, taken)
    one_way = f"{(every | none) % (1 << len(largest)):0{len(largest)}b}"       # for each pattern, the last one first
    reached = {p for p, bit in enumerate(one_way) if bit == "1"}
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
    """Return for each pattern, the last one first, the sum of the sizes that it takes: twice that, less the sum of all
    sizes, is the sum with signs.

    All patterns are added up at once: planes[i] holds bit i of each sum, so that a carry runs through all of them in a
    few operations. A pattern that leaves a negative value out takes its size.
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
    sums, digits_0 = [0] * count, int.from_bytes(b"0" * count)
    for first in reversed(range(0, len(planes), 8)):            # eight planes make a byte for each pattern
        byte_of_each = sum(int.from_bytes(f"{plane:0{count}b}".encode()) - digits_0 << i
                           for i, plane in enumerate(planes[first:first + 8])).to_bytes(count)
        pairs = zip(sums, byte_of_each, strict=True)
        sums = [256 * total + byte for total, byte in pairs] if any(sums) else list(byte_of_each)
    return sums
