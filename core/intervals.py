"""How sure can we be of a mean difference? Numbers in, intervals out.

    question                                        function             unit that decides
    ----------------------------------------------  -------------------  ----------------------
    what would other draws of these cases give?     sampled_interval     case, seeded, published
    the same, without the luck of the seed          exact_interval       case
    its whole distribution, for a picture           exact_distribution   case
    what would other draws of the sources give?     source_interval      source group
    which means does a sign-flip test not reject?   sign_flip            source group, or case
    does a slice stand out among all looked at?     adjusted_p_values    source group
    how many pairs does a narrower interval need?   required_pairs       case

    $ python3 -c "from core import intervals; print(*intervals.exact_interval([0, 0, 0, 1, 1, 3], unit=5))"
    1/30 11/30

Files read or written: none. Nothing is printed, and nothing of ours is imported.

Differences are whole numbers `ks` over one `unit`: a case that went from 3 to 5 passes of 5 trials is 2 over unit 5. A
source group is (number of its cases, sum of their ks). Every interval is a pair of Fractions in score units.

How the exact ones work. A resampled mean is a sum over a size, and a resample is two half resamples. For one half, the
weights of all (size, sum) are counted in whole numbers, packed side by side into big integers, where a shift and an
addition count for all of them at once. Two sorted halves then give P(mean <= t) without ever being combined (Horowitz &
Sahni 1974, J. ACM 21:277). Where all sizes are equal and the cases many, a Fourier sum takes less. Weights are only
rounded down, so what is missing from the known total bounds the error of every probability, whatever was lost where.
Whether a probability reaches 0.025 is decided outside that bound; inside it, all is done again without any loss.
"""

import cmath
import contextlib
import functools
import itertools
import math
import operator
import os
import random
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20261020
SIGN_PATTERNS = 10_000       # drawn for adjusted p-values beyond EVERY_PATTERN groups
EVERY_PATTERN = 16           # groups up to which all 2 ** 16 sign patterns are gone through
ASIDE_FROM = 20_000          # values from which drawing in a child process pays for its start
FINEST_UNIT = 1_000_000      # scores of more than six decimals have no common grid worth the name
WIDEST_K = 10 ** 15          # beyond, floats lose whole numbers
WORK_BUDGET = 3_000_000_000  # nanoseconds by estimate, not by the clock: every machine must choose the same method

Groups = Sequence[tuple[int, int]]
_Value = TypeVar("_Value")


class Distribution(NamedTuple):
    """Shares of the resampled mean in bins of equal width: bin i starts at start + i * width, in score units."""
    start: float
    width: float
    shares: list[float]


class SourceInterval(NamedTuple):
    """The interval by source group, P(mean <= 0) as `no_gain_share`, and how both were found."""
    interval: tuple[Fraction, Fraction]
    no_gain_share: Fraction | float
    method: str


class SignFlip(NamedTuple):
    """The interval (None: `reason` says why), the two-sided p-value at 0, and how both were found."""
    interval: tuple[Fraction, Fraction] | None
    p_value: Fraction | float
    groups: int
    method: str
    reason: str | None


def _tail(level: float) -> Fraction:
    """Return the share beyond one end of an interval, exactly: 1/40 for the level 0.95, which is no float."""
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")
    return (1 - Fraction(str(level))) / 2


# === The seeded stream ================================================================================================

class IndexStream:
    """Indices from a seed: the very ones that random.Random(seed).randrange(n) gives, about ten times as fast.

    randrange(n) takes the top n.bit_length() bits of one 32-bit word of the generator, and of another word when they
    make n or more. Here one getrandbits gives a block of words, the first word lowest, and never more than indices are
    missing: so the generator ends where the plain loop leaves it.

    >>> plain = random.Random(7)
    >>> list(IndexStream(7).indices(44, 5)) == [plain.randrange(44) for _ in range(5)]
    True
    """

    _BLOCK = 1 << 16

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.generator = random.Random(seed)
        self._masks: dict[int, int] = {}

    def indices(self, n: int, count: int) -> Sequence[int]:
        """Return the next `count` indices in range(n).

        Raises ValueError unless 0 < n < 2**32: beyond, randrange takes more than one word for an index.
        """
        if not 0 < n < 1 << 32:
            raise ValueError(f"cannot draw from {n} items: need 1 to 2**32 - 1")
        found, forward = array("I"), 1 if sys.byteorder == "little" else -1
        while missing := count - len(found):
            found.extend([index for index in self._tries(n, missing)[::forward] if index < n])
        return found

    def sums(self, values: Sequence[int], repeats: int) -> list[int]:
        """Return `repeats` sums, each of len(values) values drawn with replacement."""
        n, low = len(values), min(values)
        span = max(values) - low
        if n < 256 and span < 256:
            # A try shows in the top byte of its word: one call looks a block of them up, or deletes those rejected.
            rest, drawn = 8 - n.bit_length(), bytearray()
            table = bytes(values[top >> rest] - low if top >> rest < n else 0 for top in range(256))
            rejected = bytes(top for top in range(256) if top >> rest >= n)
            while missing := min(n * repeats - len(drawn), self._BLOCK):
                drawn += self._words(missing)[3::4].translate(table, rejected)
            return [sum(drawn[i:i + n]) + n * low for i in range(0, n * repeats, n)]
        # One lookup a try, rejected or not: a value carries a 1 above all digits of the sum, a rejected try is 0.
        one = 1 << (n * span).bit_length()
        accepted = float(one) if n * one < 1 << 52 else one          # floats add up faster, and exactly up to 2 ** 53
        entry = {value: value - low + accepted for value in values}  # equal values share an object: fewer cache misses
        lookup = [entry[value] for value in values] + [0 * accepted] * ((1 << n.bit_length()) - n)
        sums = []
        for _ in range(repeats):
            total, missing = n * low, n
            while missing:
                accepted_here, part = divmod(int(sum([lookup[i] for i in self._tries(n, missing)])), one)
                total, missing = total + part, missing - accepted_here
            sums.append(total)
        return sums

    def skip(self, n: int, count: int) -> None:
        """Move on past `count` indices in range(n), at a third of their cost: tries are counted, not looked up."""
        bound = n << 32 - n.bit_length()             # of a word that is not rejected; its top byte nearly always tells
        limit = bound >> 24
        rejected = bytes(range(limit, 256))
        while tries := min(count, self._BLOCK):
            words = self._words(tries)
            tops = words[3::4]
            count -= len(tops.translate(None, rejected))
            at = tops.find(limit)
            while at >= 0:
                count -= int.from_bytes(words[4 * at:4 * at + 4], "little") < bound
                at = tops.find(limit, at + 1)

    def _words(self, count: int) -> bytes:
        return self.generator.getrandbits(32 * count).to_bytes(4 * count, "little")

    def _tries(self, n: int, count: int) -> memoryview:
        """Return up to `count` tries at an index below n, none rejected yet; big-endian, they are backwards."""
        bits, count = n.bit_length(), min(count, self._BLOCK)
        if bits not in self._masks:
            self._masks[bits] = int.from_bytes(((1 << bits) - 1).to_bytes(4, "little") * self._BLOCK, "little")
        tops = self.generator.getrandbits(32 * count) >> 32 - bits & self._masks[bits]
        return memoryview(tops.to_bytes(4 * count, sys.byteorder)).cast("I")


def sampled_interval(ks: Sequence[int], unit: int, stream: IndexStream, resamples: int = RESAMPLES,
                     level: float = LEVEL) -> tuple[Fraction, Fraction]:
    """Return the percentile bootstrap interval of the mean of ks / unit, from `resamples` draws of the stream.

    The ends are the sorted means at floor(a R) and ceil((1 - a) R) - 1, with a = (1 - level) / 2. Assumes that the
    cases are independent. Raises ValueError on no cases. Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    >>> sampled_interval([0, 0, 0, 1, 1, 3], 5, IndexStream(SEED))
    (Fraction(1, 30), Fraction(11, 30))
    """
    if not ks:
        raise ValueError("an interval needs at least one case")
    low, high = _ends(sorted(stream.sums(ks, resamples)), level)
    return Fraction(low, len(ks) * unit), Fraction(high, len(ks) * unit)


def sampled_aside(ks: Sequence[int], unit: int, stream: IndexStream) -> Callable[[], tuple[Fraction, Fraction]]:
    """Return a function that waits for sampled_interval(ks, unit, stream), whose draws the stream has passed already.

    With many values a child process draws them, while the caller goes on with what comes next in the stream.
    """
    if len(ks) < ASIDE_FROM or not hasattr(os, "fork"):
        found = sampled_interval(ks, unit, stream)
        return lambda: found
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, " ".join(map(str, sampled_interval(ks, unit, stream))).encode())
        finally:
            os._exit(0)
    os.close(writer)
    stream.skip(len(ks), len(ks) * RESAMPLES)

    def ends() -> tuple[Fraction, Fraction]:
        with open(reader, "rb") as pipe:
            found = pipe.read().decode().split()
        if os.waitpid(child, 0)[1] or not found:
            raise RuntimeError("the child process that draws trials ended without its interval")
        return Fraction(found[0]), Fraction(found[1])
    return ends


def _ends(ordered: Sequence[_Value], level: float) -> tuple[_Value, _Value]:
    """Return the percentile interval of sorted resampled means, or sums."""
    tail = _tail(level) * len(ordered)
    return ordered[math.floor(tail)], ordered[math.ceil(len(ordered) - tail) - 1]


def _pack(columns: Sequence[Sequence[int]]) -> tuple[list[int], Callable[[int], list[int]]]:
    """Return one integer a position that holds all columns' values, and what takes a sum of such integers apart.

    Holds for sums of at most as many terms as a column has.
    """
    width = (len(columns[0]) * max(abs(value) for column in columns for value in column)).bit_length() + 2
    places, half = range(0, width * len(columns), width), 1 << width - 1
    bias = sum(half << place for place in places)
    packed = [sum(value << place for value, place in zip(values, places)) for values in zip(*columns)]
    return packed, lambda total: [(total + bias >> place & 2 * half - 1) - half for place in places]


# === Exact shares of a resampled mean =================================================================================

_Terms = tuple[tuple[int, int, int], ...]      # what one draw may add: (size, sum, in how many of its ways)
_Draws = tuple[tuple[_Terms, int], ...]        # (terms, how many such draws)
_Plan = tuple[_Draws, _Draws]                  # the two halves of a resample
_Answer = TypeVar("_Answer")

# How to find shares, in this order: (part of the budget it may cost, bits of a weight). Bits None: lose nothing.
# Bits 0: waves. The last settles what the others left open.
_ATTEMPTS = ((1 / 8, None), (1, 0), (1, 53), (1, None))


class _Half(NamedTuple):
    """Half of a resample: in `weights[i]` ways its draws give `sizes[i]` cases whose ks sum to `sums[i]`."""
    sizes: list[int]
    sums: list[int]
    weights: list[int]
    whole: int          # what the weights would add up to had nothing been lost, rounded up


class _TooMuch(Exception):
    """The work would exceed the budget."""


class _Undecided(Exception):
    """A probability lies so near a limit that what was lost could tip the scales."""


def _moments(draws: _Draws, axis: int, slope: float = 0.0) -> tuple[float, float]:
    """Return the mean and the variance of the size (axis 0), or of the sum less slope a case (axis 1)."""
    mean = variance = 0.0
    for terms, repeats in draws:
        whole, values = sum(ways for _, _, ways in terms), [term[axis] - axis * slope * term[0] for term in terms]
        middle = sum(value * term[2] for value, term in zip(values, terms)) / whole
        mean += repeats * middle
        variance += repeats * sum((value - middle) ** 2 * term[2] for value, term in zip(values, terms)) / whole
    return mean, variance


def _centre_and_spread(draws: _Draws) -> tuple[float, float]:
    """Return about the mean and the standard deviation of sum / size after these draws."""
    size = _moments(draws, 0)[0] or 1.0            # no draw at all adds no size
    centre = _moments(draws, 1)[0] / size
    return centre, math.sqrt(_moments(draws, 1, centre)[1]) / size


@functools.lru_cache(maxsize=4)                    # an interval, its picture and another level ask of the same halves
def _count(draws: _Draws, bits: int | None, budget: float) -> _Half:
    """Return the half that these draws make, counted in the cheaper of two ways; raise _TooMuch beyond the budget.

    Places (size, sum) lie on a lattice: a row for each size, a column for each sum less `slope` a case, which keeps
    rows short when every case gains. Weights are rounded down to `bits` bits, so that far places fall away.
    """
    slope = round(_centre_and_spread(draws)[0])
    sheared = [([(size, total - slope * size, ways) for size, total, ways in terms], n) for terms, n in draws if n]
    starts = [[min(term[axis] for term in terms) for axis in (0, 1)] for terms, _ in sheared]
    units = [math.gcd(*(term[axis] - start[axis] for (terms, _), start in zip(sheared, starts) for term in terms)) or 1
             for axis in (0, 1)]
    steps = [([((size - start[0]) // units[0], (total - start[1]) // units[1], ways) for size, total, ways in terms], n)
             for (terms, n), start in zip(sheared, starts)]
    ways = [(sum(move[2] for move in moves), n) for moves, n in steps]
    log_ways = sum(n * math.log2(each) for each, n in ways)
    kept = bits or math.ceil(log_ways) + 1
    far = [sum(n * max(move[axis] for move in moves) for moves, n in steps) for axis in (0, 1)]
    spreads = [math.sqrt(_moments(draws, axis, slope)[1]) / units[axis] for axis in (0, 1)]
    rows, columns = (end + 1 if bits is None else min(end, 13 * spread) + 1 for end, spread in zip(far, spreads))

    # Nanoseconds, as measured on one machine, with 18 questions to the halves, and more where few of the sums that a
    # grid allows are attained: between two of them a share is flat, and the ends are closed in on by halves.
    question = 400 + 1.2 * (kept / 30) ** 2
    ask = 300 + 18 * question
    by_rows = rows * (sum(n * len(moves) for moves, n in steps) * (100 + 0.02 * columns * (kept + 9)) + columns * ask)
    by_place, found = 0.0, 1
    for moves, n in steps:
        for i in range(n):
            by_place += 200 * found * len(moves)
            found = min(found * (len(moves) + i) // (i + 1), (far[0] + 1) * (far[1] + 1))    # draws have no order
            if by_place > min(by_rows, budget):
                break
    by_place += found * (ask + question * 4 * max(0, (far[1] + 1).bit_length() - 2 * found.bit_length()))
    if min(by_rows, by_place) > budget:
        raise _TooMuch
    cut, places = (_by_rows if by_rows < by_place else _by_place)(steps, kept, bits is not None)
    size, total = (sum(n * start[axis] for (_, n), start in zip(steps, starts)) for axis in (0, 1))
    half = _Half([], [], [], -(-math.prod(each ** n for each, n in ways) >> cut))
    for row, column, weight in places:
        half.sizes.append(size + units[0] * row)
        half.sums.append(total + units[1] * column + slope * half.sizes[-1])
        half.weights.append(weight)
    return half


_Steps = list[tuple[list[tuple[int, int, int]], int]]      # (moves on the lattice: rows, columns, ways; how many such)


def _by_rows(steps: _Steps, bits: int, lossy: bool) -> tuple[int, Iterable[tuple[int, int, int]]]:
    """Return the bits cut off, and the places; each row is packed into one integer, where a move shifts all at once."""
    most = max((sum(move[2] for move in moves) for moves, _ in steps), default=1).bit_length()
    width = (bits + most + 9) // 8                         # bytes of a place
    rows, cut, log_ways, start, end = {0: 1}, 0, 0.0, 0, 1
    for moves, n in steps:
        by_row: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for down, across, ways in moves:
            by_row[down].append((across * width * 8, ways))
        for i in range(n):
            drawn: dict[int, int] = defaultdict(int)
            for row, packed in rows.items():
                for down, pairs in by_row.items():         # shifts are faster than one multiplication
                    drawn[row + down] += sum([(packed if ways == 1 else packed * ways) << shift
                                              for shift, ways in pairs])
            log_ways += math.log2(sum(move[2] for move in moves))
            end += max(move[1] for move in moves)
            rows = drawn
            if excess := max(0, math.ceil(log_ways - cut - bits)):
                mask = int.from_bytes(((2 << bits) - 1).to_bytes(width, "little") * end, "little")
                rows = {row: rest for row, packed in drawn.items() if (rest := packed >> excess & mask)}
                cut += excess
                if not i % 8:                              # what fell away in all rows need not be carried along
                    empty = min([(packed & -packed).bit_length() for packed in rows.values()] or [0]) // (8 * width)
                    rows = {row: packed >> empty * width * 8 for row, packed in rows.items()}
                    start, end = start + empty, end - empty
    faint = int(2 ** (log_ways - cut - 0.8 * bits)) if lossy else 0            # not worth a question
    lines = {row: packed.to_bytes(-(-packed.bit_length() // 8 // width) * width, "little")
             for row, packed in rows.items()}
    return cut, ((row, start + i // width, weight) for row, line in lines.items() for i in range(0, len(line), width)
                 if (weight := int.from_bytes(line[i:i + width], "little")) > faint)


def _by_place(steps: _Steps, bits: int, lossy: bool) -> tuple[int, Iterable[tuple[int, int, int]]]:
    """Return the same from a dictionary: for few places far apart."""
    places, cut, log_ways = {(0, 0): 1}, 0, 0.0
    for moves, n in steps:
        for _ in range(n):
            drawn: dict[tuple[int, int], int] = defaultdict(int)
            for (row, column), weight in places.items():
                for down, across, ways in moves:
                    drawn[row + down, column + across] += weight * ways
            log_ways += math.log2(sum(move[2] for move in moves))
            excess = max(0, math.ceil(log_ways - cut - bits))
            places = {place: weight >> excess for place, weight in drawn.items() if weight >> excess}
            cut += excess
    return cut, ((*place, weight) for place, weight in places.items())


class _Mean:
    """The distribution of a resampled mean in ks: quantiles and shares, from what a subclass says of any t.

    A subclass sets `whole`, `lost` and `sizes` (the sizes a resample can have), and defines mass(t).
    """
    whole: int
    lost: int | float
    sizes: Sequence[int]

    def __init__(self, plan: _Plan) -> None:
        draws = plan[0] + plan[1]
        means = [Fraction(total, size) for terms, _ in draws for size, total, _ in terms if size]
        self.least, self.most = min(means), max(means)
        self.centre, self.spread = _centre_and_spread(draws)

    def mass(self, t: Fraction) -> int | float:
        """Return the weight found at means up to t: at most `lost` less than there is, of `whole` in all."""
        raise NotImplementedError

    def share(self, t: Fraction) -> Fraction | float:
        """Return P(mean <= t): exactly where nothing was lost, else its upper bound, as a float."""
        mass = Fraction(self.mass(t))
        return min(1.0, float((mass + Fraction(self.lost)) / self.whole)) if self.lost else mass / self.whole

    def quantile(self, share: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= share. Raises _Undecided."""
        low, high = self.least - 1, self.most             # P is 0 at the one and 1 at the other
        gaps = [-9.0, 9.0]                                # how far P is from the share there

        def score(probability: float) -> float:           # Tukey's lambda: a normal quantile to 1%, and never infinite
            return 4.91 * (math.pow(probability, 0.14) - math.pow(1 - probability, 0.14))

        # Close in from a normal guess by false position, for scores are almost a straight line in t, and every other
        # time by halves. Any t will do until few means are left between low and high; then only these.
        guess = self.centre + self.spread * score(float(share))
        tries = [Fraction(guess - self.spread / 4), Fraction(guess + self.spread / 4)]
        for turn in itertools.count():
            ends = [(size, size * low.numerator // low.denominator + 1, size * high.numerator // high.denominator + 1)
                    for size in self.sizes]
            part = Fraction(0.5 if turn % 2 else min(max(gaps[0] / (gaps[0] - gaps[1]), 0.001), 0.999))
            if sum(end - start for _, start, end in ends) <= 24 + 4 * len(ends):
                means = sorted({Fraction(total, size) for size, start, end in ends for total in range(start, end)})
                if len(means) == 1:
                    break
                t = means[min(round(part * len(means)), len(means) - 2)]
            else:
                t, gap = tries.pop() if tries else low + (high - low) * part, high - low
                grid = 2 ** max(0, 12 + gap.denominator.bit_length() - gap.numerator.bit_length())
                t = Fraction(round(t * grid), grid)
                if not low < t < high:
                    continue
            mass = self.mass(t)
            distance = score(max(0.0, mass / self.whole)) - score(float(share))
            if mass >= share * self.whole:
                high, gaps[1] = t, max(distance, 1e-9)
            elif mass + self.lost < share * self.whole:
                low, gaps[0] = t, min(distance, -1e-9)
            else:
                raise _Undecided
        return means[0]


class _Halves(_Mean):
    """A mean whose resamples are counted as pairs of halves, each sorted by how far it lies above t."""

    def __init__(self, plan: _Plan, bits: int | None, budget: float) -> None:
        super().__init__(plan)
        self.first, self.second = (_count(draws, bits, budget / len({*plan})) for draws in plan)
        self.whole = self.first.whole * self.second.whole
        self.lost = self.whole - sum(self.first.weights) * sum(self.second.weights)
        if self.lost == self.whole:
            raise _Undecided
        if self.lost:
            self.lost += self.first.whole + self.second.whole           # by as much `whole` may be rounded up
        start, end = (limit(self.first.sizes) + limit(self.second.sizes) for limit in (min, max))
        self.sizes = range(start or 1, end + 1)

    def mass(self, t: Fraction) -> int:
        p, q = t.numerator, t.denominator

        def ranked(half: _Half) -> tuple[list[int], list[int]]:
            heights = [q * total - p * size for size, total in zip(half.sizes, half.sums)]
            order = sorted(range(len(heights)), key=heights.__getitem__)
            return [heights[i] for i in order], [half.weights[i] for i in order]

        heights, weights = ranked(self.second)
        running = list(itertools.accumulate(weights, initial=0))
        others, weights = (heights, weights) if self.first is self.second else ranked(self.first)
        fitting = map(bisect_right, itertools.repeat(heights), map(operator.neg, others))
        return sum(map(operator.mul, weights, map(running.__getitem__, fitting)))


class _Waves(_Mean):
    """A mean of equal draws on a grid too fine to count on: shares from the waves (Fourier terms) of the sum.

    On a cycle long enough to hold the sum but for 1e-12 (Bernstein's bound), P(sum <= t) is a sum over frequencies k of
    phi ** draws, phi being the mean of the draw's unit vectors, each turned by k times its value. Where |phi| is below
    `still`, the power is below 1e-13 and the wave can go. |phi| changes by no more than `speed` a frequency, so one
    look proves many of them still; neighbouring values turn almost alike, so their blocks change far more slowly, and
    |phi| is at most the sum of theirs. In floats, with a bound, if cos and sin err by less than 2 ** -51.
    """

    def __init__(self, plan: _Plan, budget: float) -> None:
        super().__init__(plan)
        terms, draws = plan[0][0][0], sum(n for half in plan for _, n in half)
        size, base, _ = terms[0]
        if any(term[0] != size for half in plan for each, _ in half for term in each) or plan[0][0][0] != plan[1][0][0]:
            raise _TooMuch                                              # it would take waves in two dimensions
        self.sizes, self.whole = [size * draws], 1
        self.step = math.gcd(*(total - base for _, total, _ in terms)) or 1
        middle = round((self.centre * size - base) / self.step)
        values = [(total - base) // self.step - middle for _, total, _ in terms]
        weights = [ways / sum(term[2] for term in terms) for _, _, ways in terms]
        mean = math.fsum(map(operator.mul, values, weights))
        variance = math.fsum((value - mean) ** 2 * weight for value, weight in zip(values, weights))
        most = max(map(abs, values)) + 1
        radius = math.ceil(10 * most + math.sqrt(100 * most * most + 60 * draws * variance)) + 1
        self.cycle, self.start = 2 * radius + 1, math.floor(draws * mean) - radius
        self.origin = draws * (base + self.step * middle)               # the sum from which steps are counted

        turn, still = 2 * math.pi / self.cycle, math.exp(-30 / draws) - 1e-12 - 4e-15 * most
        length = max(3, round((1.77 / still) ** 2))
        blocks = [slice(i, i + length) for i in range(0, len(values), length)]
        speed, block_speed = (turn * 1.000001 * math.fsum(
            weight * abs(value - values[block][len(values[block]) // 2] * relative) for block in blocks
            for value, weight in zip(values[block], weights[block])) + 1e-300 for relative in (0, 1))
        turned, look, looks, k = [value * turn for value in values], 110 * len(values) + 150 * len(blocks), 0, 1
        self.waves: list[tuple[int, complex]] = []
        self.lost = 2e-12 + 4e-13 * math.log(self.cycle)
        while 2 * k < self.cycle:
            looks += 1
            if looks * look > budget or looks == 4000 and looks * look * self.cycle / k > 4 * budget:
                raise _TooMuch                                          # or it is going to be
            vectors = list(map(cmath.rect, weights, [k * angle for angle in turned]))
            parts = [sum(vectors[block]) for block in blocks]
            slack = max((still - abs(sum(parts))) / speed, (still - sum(map(abs, parts))) / block_speed)
            if slack > 0:
                k += 1 + int(slack)
                continue
            angles = [k * value % self.cycle * turn for value in values]
            phi = complex(math.fsum(map(operator.mul, weights, map(math.cos, angles))),
                          math.fsum(map(operator.mul, weights, map(math.sin, angles))))
            back = cmath.rect(1, -(k * (2 * self.start - 1) % (2 * self.cycle)) * turn / 2)
            self.waves.append((k, phi ** draws * back / (1j * self.cycle * math.sin(k * turn / 2))))
            self.lost += 1e-14 * draws * abs(phi) ** (draws - 1) / k
            k += 1

    def mass(self, t: Fraction) -> float:
        reach = (math.floor(t * self.sizes[0]) - self.origin) // self.step - self.start + 1
        reach = min(max(reach, 0), self.cycle)
        vectors = (cmath.rect(1, -(k * reach % self.cycle) * 2 * math.pi / self.cycle) for k, _ in self.waves)
        return reach / self.cycle - self.lost / 2 + math.fsum(
            (wave * (1 - vector)).real for (_, wave), vector in zip(self.waves, vectors))


def _redrawn(groups: Groups) -> _Plan:
    """Return the plan of drawing as many groups as there are, with replacement."""
    terms, n = tuple((*group, count) for group, count in sorted(Counter(groups).items())), len(groups)
    return ((terms, n // 2),), ((terms, n - n // 2),)


def _answer(plan: _Plan, question: Callable[[_Mean], _Answer], budget: float) -> _Answer | None:
    """Return what `question` says of the mean, found as exactly as it needs; None beyond the budget of work."""
    for part, bits in _ATTEMPTS:
        with contextlib.suppress(_Undecided, _TooMuch, OverflowError):      # the last: of sums beyond any float
            return question(_waves(plan, part * budget) if bits == 0 else _Halves(plan, bits, part * budget))
    return None


_waves = functools.lru_cache(maxsize=1)(_Waves)


# === The exact intervals ==============================================================================================

def exact_interval(ks: Sequence[int], unit: int, level: float = LEVEL,
                   budget: float = WORK_BUDGET) -> tuple[Fraction, Fraction] | None:
    """Return the percentile interval of the bootstrap distribution itself, mean of ks / unit: no seed, no resamples.

    The low end is the smallest v with P(mean <= v) >= (1 - level) / 2, the high end the same with (1 + level) / 2.
    Assumes that the cases are independent. None when the scores have no common grid (unit above FINEST_UNIT, or ks
    above WIDEST_K) or the work is beyond the budget. Raises ValueError on no cases.

    >>> exact_interval([0, 1], 1)             # means 0, 1/2 and 1 with shares 1/4, 1/2 and 1/4
    (Fraction(0, 1), Fraction(1, 1))
    >>> exact_interval([0, 1], 1, level=0.5)  # P(mean <= 0) = 1/4 reaches 1/4, P(mean <= 1/2) = 3/4 reaches 3/4
    (Fraction(0, 1), Fraction(1, 2))
    """
    if not ks:
        raise ValueError("an interval needs at least one case")
    if unit > FINEST_UNIT or max(map(abs, ks)) > WIDEST_K:
        return None
    tail = _tail(level)
    ends = _answer(_redrawn([(1, k) for k in ks]),
                   lambda mean: (mean.quantile(tail), mean.quantile(1 - tail)), budget)
    return ends and (ends[0] / unit, ends[1] / unit)


def exact_distribution(ks: Sequence[int], unit: int, bins: int = 40,
                       budget: float = WORK_BUDGET) -> Distribution | None:
    """Return the bootstrap distribution of the mean of ks / unit in at most `bins` bins, for a picture.

    Bins reach four standard errors to each side or as far as a mean can lie. Each holds equally many of the means
    that can occur, and none lies on an edge: else bins would be uneven for no reason. None as in exact_interval.

    >>> exact_distribution([0, 1], 1)
    Distribution(start=-0.25, width=0.5, shares=[0.25, 0.5, 0.25])
    """
    if not ks:
        raise ValueError("a distribution needs at least one case")
    if unit > FINEST_UNIT or max(map(abs, ks)) > WIDEST_K:
        return None
    n, total = len(ks), sum(ks)
    step = math.gcd(*(k - ks[0] for k in ks)) or 1
    reach = 4 * math.sqrt(sum((k - total / n) ** 2 for k in ks))
    first = n * ks[0] + step * math.floor((max(n * min(ks), total - reach) - n * ks[0]) / step)
    count = math.floor((min(n * max(ks), total + reach) - first) / step) + 1
    wide = -(-count // bins)
    edges = [Fraction(2 * (first + i * wide * step) - step, 2 * n) for i in range(-(-count // wide) + 1)]
    shares = _answer(_redrawn([(1, k) for k in ks]), lambda mean: [mean.share(edge) for edge in edges], budget)
    return None if shares is None else Distribution(float(edges[0] / unit), wide * step / (n * unit),
                                                    [max(0.0, float(b - a)) for a, b in itertools.pairwise(shares)])


def source_interval(groups: Groups, unit: int, stream: IndexStream, resamples: int = RESAMPLES, level: float = LEVEL,
                    budget: float = WORK_BUDGET) -> SourceInterval:
    """Return the bootstrap interval of the mean over cases when whole source groups are drawn, and P(mean <= 0).

    A resample draws as many groups as there are; its mean weighs every drawn case the same. Exact within the budget
    of work, else from the stream, which stays untouched by the exact one. Assumes that groups are independent, and
    promises too much with few: nine groups cover the truth in about 88 of 100 worlds. Raises ValueError on no groups.

    >>> source_interval([(1, 0), (1, 1)], 1, IndexStream(SEED), level=0.5)
    SourceInterval(interval=(Fraction(0, 1), Fraction(1, 2)), no_gain_share=Fraction(1, 4), method='exact over 3 draws')
    """
    if not groups:
        raise ValueError("an interval needs at least one source group")
    n, tail = len(groups), _tail(level)
    exact = _answer(_redrawn(groups),
                    lambda mean: (mean.quantile(tail), mean.quantile(1 - tail), mean.share(Fraction(0))), budget)
    if exact:
        low, high, no_gain = exact
        method = f"exact over {math.comb(2 * n - 1, n - 1)} draws" if n <= 10 else f"exact, {n} groups"
        return SourceInterval((low / unit, high / unit), no_gain, method)
    packed, unpack = _pack([[size for size, _ in groups], [total for _, total in groups]])
    drawn = map(unpack, stream.sums(packed, resamples))
    means = sorted(Fraction(total, size * unit) for size, total in drawn)
    return SourceInterval(_ends(means, level), Fraction(bisect_right(means, 0), resamples),
                          f"sampled, {resamples} resamples, seed from stream")


# === Sign flips =======================================================================================================

def sign_flip(groups: Groups, unit: int, level: float = LEVEL, seed: int = SEED,
              budget: float = WORK_BUDGET) -> SignFlip:
    """Return the means that a sign-flip test over source groups does not reject, and its two-sided p-value at 0.

    If each group's difference is symmetric about the true mean, all 2 ** G sign patterns are equally likely, however
    few the groups. The ends are the floor(a 2 ** G)-th smallest and largest of the means of the non-empty subsets of
    groups, a = (1 - level) / 2 (Hartigan 1969, typical values); where that is none, the interval is None. Cases
    without sources are groups of one. Beyond the budget of work, `RESAMPLES` random subsets stand for all, with
    (1 + k) / (1 + N) as p-value. Raises ValueError on no groups.

    >>> result = sign_flip([(1, k) for k in (1, 2, 3, 4, 5, 6)], 1)
    >>> result.interval, result.p_value, result.method
    ((Fraction(1, 1), Fraction(6, 1)), Fraction(1, 32), 'exact, 64 sign patterns')
    """
    if not groups:
        raise ValueError("a sign-flip test needs at least one group")
    n, tail = len(groups), _tail(level)
    needed = next(g for g in itertools.count(1) if math.floor(tail * 2 ** g))
    reason = None if n >= needed else f"fewer than {needed} groups carry no {100 * level:g}% interval"
    # Turned so that the sum is not negative: then p is twice the share of subsets whose sum is not positive.
    turn = -1 if sum(total for _, total in groups) < 0 else 1
    turned = sorted((size, turn * total) for size, total in groups)
    first, second = (tuple((((0, 0, 1), (*group, 1)), times) for group, times in Counter(half).items())
                     for half in (turned[::2], turned[1::2]))

    def question(mean: _Mean) -> tuple[list[Fraction], Fraction | float]:
        rank = math.floor(tail * 2 ** n)               # counted from 1, for the empty subset is below every t
        ends = [] if reason else [mean.quantile(Fraction(place + 1, 2 ** n)) for place in (rank, 2 ** n - rank)]
        return ends, 2 * mean.share(Fraction(0))

    if answer := _answer((first, second), question, budget):
        ends, p_value = answer
        method = f"exact, {2 ** n if n <= EVERY_PATTERN else f'2**{n}'} sign patterns"
    else:
        packed, unpack = _pack([[size for size, _ in turned], [total for _, total in turned]])
        subsets, whole = [unpack(total) for total in _subset_sums(packed, RESAMPLES, seed)], sum(k for _, k in turned)
        means = sorted(Fraction(total, size) for size, total in subsets if size)
        rank = max(1, math.floor(tail * (len(means) + 1)))
        ends, method = [means[rank - 1], means[-rank]], f"sampled, {RESAMPLES} sign patterns, seed {seed}"
        p_value = Fraction(1 + sum(not 0 < total < whole for _, total in subsets), 1 + RESAMPLES)
    low, *_, high = sorted(turn * end / unit for end in ends) or [Fraction(0), Fraction(0)]
    return SignFlip(None if reason else (low, high), min(p_value, Fraction(1)), n, method, reason)


def _subset_sums(values: Sequence[int], count: int, seed: int) -> Iterator[int]:
    """Yield `count` sums of random subsets of the values, each value in with probability 1/2."""
    generator, digits = random.Random(seed), bytes.maketrans(b"01", b"\0\1")
    for _ in range(count):
        chosen = f"{generator.getrandbits(len(values)):0{len(values)}b}".encode().translate(digits)
        yield sum(itertools.compress(values, chosen))


def adjusted_p_values(slices: Sequence[Sequence[int]], seed: int = SEED) -> tuple[list[Fraction], str]:
    """Return a p-value a slice that allows for all the slices looked at, and the method: the single-step maximum.

    slices[j][g] is the sum of ks of slice j's cases in source group g (0 where it has none). A sign pattern turns
    whole groups, in all slices alike, so slices that share cases move together. The statistic of a slice is its
    |signed sum| over the root of its sum of squares; its p-value is the share of patterns under which the largest
    statistic of any slice is at least the one observed. A slice without any difference has p = 1. Exact for up to
    EVERY_PATTERN groups, else SIGN_PATTERNS random patterns and (1 + k) / (1 + N). Westfall & Young (1993).

    >>> adjusted_p_values([[1, 1, 1, 1], [1, 0, 0, 0]])
    ([Fraction(1, 8), Fraction(1, 1)], 'exact, 16 sign patterns')
    """
    n = len(slices[0]) if slices else 0
    squares = [sum(value * value for value in column) for column in slices]
    common = math.lcm(*(square for square in squares if square))
    weights = [common // square if square else 0 for square in squares]    # so squared statistics are whole numbers
    observed = [sum(column) ** 2 * weight for column, weight in zip(slices, weights)]
    if n <= EVERY_PATTERN:
        largest, method = [0] * 2 ** max(0, n - 1), f"exact, {2 ** n} sign patterns"
        for column, weight in zip(slices, weights):
            sums = list(column[:1])                    # the first sign may stay: turning all signs changes nothing
            for value in column[1:]:
                sums = [total + value for total in sums] + [total - value for total in sums]
            largest = list(map(max, largest, [total * total * weight for total in sums]))
    else:
        packed, unpack = _pack(slices)
        totals, method = [sum(column) for column in slices], f"sampled, {SIGN_PATTERNS} sign patterns, seed {seed}"
        largest = [max((2 * part - total) ** 2 * weight for part, total, weight in zip(unpack(subset), totals, weights))
                   for subset in _subset_sums(packed, SIGN_PATTERNS, seed)]
        largest.append(max(observed))                  # the pattern observed is one of those that could be drawn
    largest.sort()
    return [Fraction(len(largest) - bisect_left(largest, value), len(largest)) for value in observed], method


# === Planning =========================================================================================================

def required_pairs(sd: float, half_width: float, z: float = 1.96) -> int:
    """Return how many pairs an interval of mean +- half_width needs when their differences have this deviation.

    Both are in score units; z is the normal quantile of the level. Decimals are taken as written, so 100.0 pairs stay
    100. Raises ValueError unless half_width > 0 and sd >= 0.

    >>> required_pairs(0.18, 0.05), required_pairs(0.31, 0.05)
    (50, 148)
    """
    if half_width <= 0 or sd < 0:
        raise ValueError(f"half_width {half_width} must be above 0 and sd {sd} not below")
    return math.ceil((Fraction(str(z)) * Fraction(str(sd)) / Fraction(str(half_width))) ** 2)
