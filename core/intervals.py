"""How sure can we be of a mean difference? Numbers in, intervals out.

    question                                        function             unit that decides
    ----------------------------------------------  -------------------  ----------------------
    what would other draws of these cases give?     sampled_interval     case, seeded, published
    the same, without the luck of the seed          exact_interval       case
    what would other draws of the sources give?     source_interval      source group
    which means does a sign-flip test not reject?   sign_flip            source group, or case
    how often do random signs take a gain away?     flip_tail            source group, or case
    how often do they bring one as large about?     flip_p_value         source group, or case
    is a limit below that interval, ties exactly?   flip_excludes        source group, or case
    how do draws of several kinds add up?           InvertedSum          a draw of whole numbers
    how many pairs does a narrower interval need?   required_pairs       case

    $ python3 -c "from core import intervals; print(*intervals.exact_interval([0, 0, 0, 1, 1, 3], 5).interval)"
    1/30 11/30

It is long because each of these asks for a distribution, and all ways to have one stay in one place. Reads, writes and
prints nothing, and imports nothing of ours. Differences are whole `numerators` over one `unit`: a case that went from 3
to 5 passes of 5 trials is 2 over unit 5. A source group is (number of its cases, sum of their numerators). Intervals
are in score units.

Only sampled_interval, whose figures are published, draws anything. All else is the distribution that such draws come
from, found in one of two ways. Where that is little work it is counted: in how many of all draws does the sum come out
at most so large? These are whole numbers, and a probability that equals a limit is seen to equal it. Else it is
inverted, in floats (`InvertedSum` says how), and interval ends lie within 1e-4 of the score range of the true ones;
those of source_interval within 1e-3 where one or two sources hold nearly all cases.
"""

import cmath
import functools
import itertools
import math
import random
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20261020

# Up to where distributions are counted: some tenths of a second where inverting takes seconds, else hundredths.
HALVED_DRAWS, HALVED_GROUPS = 11, 26            # a half has no more than 8,192 sums
MORE_GROUPS, FEW_SUMS_OF_HALF = 200, 2048       # groups that are tried as well, and the sums that their halves may have
COUNTED_SOURCES = 40         # of unequal sizes
COUNTED_SUMS, FEW_SUMS = 2_400_000, 30_000      # additions: for up to so many sources of unequal sizes, for the rest
COUNTED_GROUPS, COUNTED_SUBSETS = 15, 360_000   # for ends of sign flips: groups, or groups times places of their sums
ROUNDED_GROUPS, ROUNDED_STEPS = 60, 60_000      # the values of so many are rounded to so many steps
SMALL_SHARE, LARGE_SUMS = 10_000, 1024          # small sizes have so small a part of the squares, large so few sums
MOST_ALIKE = 20                                 # what is left has the squares of no more sizes that are still large
COUNTED_BITS = 600_000_000   # moved by shift and add to count the sums at one point

# How closely the rest is computed: ends within 1e-4 of the score range.
SOLVED_STEPS = 1 << 16       # from the smallest to the largest mean
ROUGHLY = 16, 4, 1           # times as roughly, one after the other, until an end stays where it is
MANY_KINDS = 1000            # of groups; of more, the roughest shares take as long as the next
BLUR = 1.5e-5                # noise that inversion may add to a mean, of the largest difference of means
FLIP_BLUR = 1e-4             # and to the sum of sign flips, of half the sum of all sizes
NEAR_STEPS, NEAR_BLURS = 4, 2    # sums that differ by so little all but tie
NO_BLUR = 2                  # steps of a grid: noise of less takes longer than none
FEW_NODES = 10_000           # points, up to which no noise is added
LONGEST_RUN = 64             # nodes that are looked at together, and left out if none counts
NEGLIGIBLE = 1e-13           # of a characteristic function: what is below is left out
SMALLEST_TAIL = 1e-7         # below, an inverted tail is replaced by an upper bound

NORMAL = NormalDist()
Number = int | float | Fraction
Groups = Sequence[tuple[int, int]]


class Interval(NamedTuple):
    """An interval in score units (None: `reason` says why), and how it was found."""
    interval: tuple[Number, Number] | None
    method: str
    exact: bool                  # counted in whole numbers, without any loss
    reason: str | None = None
    at_zero: Number | None = None  # source_interval: P(mean <= 0). sign_flip: the two-sided p-value at 0


def _tail(level: Number) -> Fraction:
    """Return the share beyond one end of an interval, exactly: 1/40 for the level 0.95, which is no float."""
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")
    return (1 - Fraction(str(level))) / 2


# === The seeded stream ================================================================================================

class IndexStream:
    """Draws from a seed: of the very indices that random.Random(seed).randrange(n) gives, several times as fast.

    randrange(n) takes the top n.bit_length() bits of one 32-bit word of the generator, and of another word when they
    make n or more. Here one getrandbits gives a block of words, the first word lowest, and never more than indices are
    missing: so the generator ends where the plain loop leaves it.

    >>> plain = random.Random(7)
    >>> IndexStream(7).sums(range(44), 1) == [sum(plain.randrange(44) for _ in range(44))]
    True
    """

    _BLOCK = 1 << 16             # words that are drawn at once

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.generator = random.Random(seed)

    def sums(self, values: Sequence[int], repeats: int) -> list[int]:
        """Return `repeats` sums, each of len(values) values drawn with replacement; ValueError beyond 65,535 values.

        A table tells the value from the top 8 or 16 bits of a word. It holds 1 and more for a value, and 0 where the
        word is passed over because its bits make n or more.
        """
        n, offset = len(values), min(values) - 1
        bits = 8 if n < 256 else 16
        by_index = [value - offset for value in values] + [0] * ((1 << n.bit_length()) - n)
        table = [value for value in by_index for _ in range(1 << bits - n.bit_length())]
        in_bytes = bits == 8 and max(table) < 256               # then C looks them up and adds them
        rejected = bytes(top for top in range(256) if not table[top])
        drawn: Any = bytearray() if in_bytes else []
        sums: list[int] = []
        while len(sums) < repeats:
            tops = self._tops(bits, min(n * (repeats - len(sums)) - len(drawn), self._BLOCK))
            if in_bytes:
                drawn += bytes(tops).translate(bytes(table), rejected)
            else:
                drawn += filter(None, map(table.__getitem__, tops))
            whole = len(drawn) - len(drawn) % n
            sums += [sum(drawn[i:i + n]) + n * offset for i in range(0, whole, n)]
            del drawn[:whole]
        return sums

    def _tops(self, bits: int, count: int) -> memoryview:
        """Return the top 8 or 16 bits of each of the next `count` words, in their order."""
        words = self.generator.getrandbits(32 * count).to_bytes(4 * count, sys.byteorder)
        parts, in_word = memoryview(words).cast("B" if bits == 8 else "H"), 32 // bits
        return parts[in_word - 1::in_word] if sys.byteorder == "little" else parts[-in_word::-in_word]


def sampled_interval(numerators: Sequence[int], unit: int, stream: IndexStream, resamples: int = RESAMPLES,
                     level: Number = LEVEL) -> Interval:
    """Return the percentile bootstrap interval of the mean of numerators / unit, from `resamples` draws of the stream.

    The ends are the sorted means at floor(a R) and ceil((1 - a) R) - 1, with a = (1 - level) / 2. Assumes that the
    cases are independent. Raises ValueError on no cases. Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    >>> sampled_interval([0, 0, 0, 1, 1, 3], 5, IndexStream(SEED)).interval
    (Fraction(1, 30), Fraction(11, 30))
    """
    tail, whole = _tail(level) * resamples, len(numerators) * unit
    sums = sorted(stream.sums(numerators, resamples))
    low, high = sums[math.floor(tail)], sums[math.ceil(resamples - tail) - 1]
    return Interval((Fraction(low, whole), Fraction(high, whole)),
                    f"sampled, {resamples} resamples, seed {stream.seed}", False)


# === Looking for an end ===============================================================================================

_Kinds = dict[tuple[int, int], int]        # how many groups there are of each (size, total)


def _normal_quantile(probability: Number) -> float:
    """Return a normal quantile, kept finite: -6 for 0, and 6 for 1."""
    return NORMAL.inv_cdf(min(max(float(probability), 1e-9), 1 - 1e-9))


def _first(share: Callable[[int], Number], wanted: Number, limits: tuple[int, int], guess: float,
           spread: float) -> int:
    """Return the smallest whole number p with share(p) >= wanted, that lies above limits[0] and not above limits[1].

    Each try is where p would be if the shares were those of a normal distribution, with this spread. From the sixth on
    every other try halves what is left, whatever the shares are.

    >>> _first(lambda p: p / 100, 0.3, (0, 100), 50, 20)
    30
    """
    low, high = limits
    tries = 0
    while high - low > 1:
        tries += 1
        if tries > 5 and tries % 2 == 0:
            guess = (low + high) // 2                       # in whole numbers: these may be beyond any float
        p = min(max(math.ceil(guess), low + 1), high - 1)
        reached = share(p)
        low, high = (low, p) if reached >= wanted else (p, high)
        move = spread * (_normal_quantile(wanted) - _normal_quantile(reached))
        guess = p + 1.1 * move + math.copysign(1, move)        # a little too far, so that both sides close in
    return high


def _cases(kinds: _Kinds) -> int:
    return sum(size * count for (size, _), count in kinds.items())


class _Solved(NamedTuple):
    """The distribution of a mean of groups that is asked for P(mean <= t) at one t after the other, to find an end."""
    kinds: _Kinds
    share: Callable[[Fraction, int], Number]          # of t, and how many times as rough as in the end it may be
    exact: bool = False
    step: Fraction | None = None                      # all means are multiples of it; else SOLVED_STEPS

    def quantile(self, wanted: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= wanted.

        Rough shares come first. An end that stays where it is when the next finer shares are asked is taken.
        """
        def share_at(coarse: int, p: int) -> Number:
            return self.share(p * step, coarse)

        means = [Fraction(total, size) for size, total in self.kinds]
        least, most = min(means), max(means)
        if least == most:
            return least
        step = self.step or Fraction(2) ** math.floor(math.log2((most - least) / SOLVED_STEPS))
        limits = math.floor(least / step) - 1, math.ceil(most / step)
        cases = _cases(self.kinds)
        middle = sum(total * count for (_, total), count in self.kinds.items()) / cases
        spread = math.hypot(*(math.sqrt(count) * (total - size * middle)
                              for (size, total), count in self.kinds.items())) / (cases * float(step))
        guess = middle / float(step) + spread * _normal_quantile(wanted)
        last: int | None = None
        for coarse in (1,) if self.step else ROUGHLY[1:] if len(self.kinds) > MANY_KINDS else ROUGHLY:
            end = _first(functools.partial(share_at, coarse), wanted, limits, guess, spread)
            if last is not None and abs(end - last) <= 2:
                break
            guess = last = end
        return step * end


# === Counting =========================================================================================================

_Ways = dict[int, int]                     # in how many ways draws add up to each sum


def _wide(kinds: _Kinds) -> int:
    """Return a number so large that size * wide + total tells size and total of any sum of these groups.

    Such a sum is called a place: sums of two numbers are counted as fast as those of one.

    >>> _wide({(1, 5): 2})                 # totals from -10 to 10
    21
    """
    return 2 * sum(kinds.values()) * max(abs(total) for _, total in kinds) + 1


def _counted(draws: Sequence[_Ways], additions: float = math.inf, sums: float = math.inf) -> _Ways:
    """Return in how many ways draws add up to each sum; {} where that takes more additions, or there are more sums.

    >>> dict(_counted([{100: 1, 105: 1}, {100: 1, 105: 1}]))     # with 100 as wide: groups of one case, totals 0 and 5
    {200: 1, 205: 2, 210: 1}
    """
    ways: _Ways = {0: 1}
    for draws_left, draw in zip(range(len(draws), 0, -1), draws, strict=True):
        if len(ways) * len(draw) * draws_left > additions:      # no draw that is left takes fewer
            return {}
        before, ways = ways, defaultdict(int)
        for value, times in draw.items():                       # few values: the loop inside is the long one
            for place, count in before.items():
                ways[place + value] += count * times
        if len(ways) > sums:
            return {}
    return ways


class _Means:
    """The distribution of a mean, from in how many ways each place comes out.

    >>> mean = _Means({100: 1, 205: 2, 105: 1}, 100)          # means 0, 5/2 (in two ways) and 5
    >>> mean.quantile(Fraction(1, 2)), mean.share(Fraction(3), 1)
    (Fraction(5, 2), Fraction(3, 4))
    """
    exact = True

    def __init__(self, ways: _Ways, wide: int) -> None:
        half = wide // 2
        places = [((place + half) // wide, (place + half) % wide - half, count) for place, count in ways.items()]
        # Two means that one float cannot tell apart are one: they differ by less than any figure shows.
        rows = sorted((total / size, total, size, count) for size, total, count in places)
        self.means, self.totals, self.sizes, counts = zip(*rows, strict=True)
        self.running = list(itertools.accumulate(counts))

    def share(self, t: Fraction, coarse: int) -> Fraction:
        """Return P(mean <= t), however coarse it may be."""
        at = bisect_right(self.means, float(t))
        return Fraction(self.running[at - 1] if at else 0, self.running[-1])

    def quantile(self, wanted: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= wanted."""
        at = bisect_left(self.running, wanted * self.running[-1])
        return Fraction(self.totals[at], self.sizes[at])


def _halved(draws: Sequence[_Ways], sums: float = math.inf) -> Callable[[int], int] | None:
    """Return the function of a sum that tells in how many ways the draws add up to at most that.

    The sums of each half of the draws are counted: the function finds for each sum of one half how many of the other
    fit (Horowitz & Sahni 1974, J. ACM 21:277). None where a half of the draws has more sums.

    >>> [_halved([{0: 1, 2: 1}, {0: 1, 3: 1}])(reach) for reach in (1, 2, 4, 5)]          # sums 0, 2, 3 and 5
    [1, 2, 3, 4]
    """
    one, other = (_counted(half, sums=sums) for half in (draws[::2], draws[1::2]))
    if not (one and other):
        return None
    ordered = sorted(one)
    running = list(itertools.accumulate(map(one.__getitem__, ordered), initial=0))
    return lambda reach: sum(ways * running[bisect_right(ordered, reach - part)] for part, ways in other.items())


def _heights(kinds: _Kinds, t: Fraction) -> Counter[int]:
    """Return how many groups have each total - t size, in whole numbers.

    Where those of the groups drawn add up to 0 or less, the mean of these groups is at most t.

    >>> _heights({(1, 2): 1, (2, 0): 3}, Fraction(1, 2))
    Counter({-2: 3, 3: 1})
    """
    heights: Counter[int] = Counter()
    for (size, total), count in kinds.items():
        heights[total * t.denominator - size * t.numerator] += count
    return heights


# === Inversion ========================================================================================================

class _Factor(NamedTuple):
    """A factor of a characteristic function: no larger than 1, with its power."""
    function: Callable[[float], complex]   # of w
    growth: float                          # of its size at most, where w grows by 1
    usual: float                           # its size as a rule: as if its terms had any direction
    times: int


def _characteristic(terms: Sequence[tuple[float, float]]) -> Callable[[float], complex]:
    """Return the function of w that is the mean of exp(iw part) over (weight, part); the mean of the parts is 0."""
    if len(terms) == 2 and terms[0][0] == terms[1][0]:         # each of thousands of sources may be one of two
        part = terms[0][1]
        return lambda w: math.cos(w * part)
    return lambda w: sum([cmath.rect(weight, w * part) for weight, part in terms])


class InvertedSum:
    """The distribution of a sum of independent whole numbers, inverted: right to 1e-12 where no noise is added.

    draws holds (how many, weight of each number that such a draw can be). The characteristic function of a draw, of w,
    is the mean of exp(iw number) = cos(w number) + i sin(w number); that of the sum is the product of all, so thousands
    of draws cost little more than one. Gil-Pelaez (1951, Biometrika 38:481) turns it into P(sum <= y) by an integral
    over w; a sum over `count` nodes is off by no more than P(|sum - y| > 2 count) (Davies 1973, Biometrika 60:415), and
    there are fewer where `only` names the one y that will be asked. Where these are many, and the sum may get normal
    noise with a standard deviation of `blur`, more than the 1 between neighbours, w ends early.

    >>> round(InvertedSum([(2, {0: 1, 3: 1})]).share(2), 12)           # 0 in one of four ways, 3 in two, 6 in one
    0.25
    """

    def __init__(self, draws: Sequence[tuple[int, Mapping[int, float]]], blur: float = 0.0,
                 only: int | None = None) -> None:
        lows = [min(weights) for _, weights in draws]
        self.base = sum(count * low for (count, _), low in zip(draws, lows, strict=True))
        self.step = math.gcd(*[number - low for (_, weights), low in zip(draws, lows, strict=True)
                               for number in weights]) or 1
        self.factors: list[_Factor] = []
        self.centre = top = most = variance = 0.0                      # in steps from base, as all below
        for (count, weights), low in zip(draws, lows, strict=True):
            whole, last = sum(weights.values()), (max(weights) - low) // self.step
            mean = sum([weight * ((number - low) // self.step) for number, weight in weights.items()]) / whole
            terms = [(weight / whole, (number - low) // self.step - mean) for number, weight in weights.items()]
            growth = sum([weight * abs(part) for weight, part in terms])
            usual = 0.75 * math.hypot(*[weight for weight, _ in terms])
            self.factors.append(_Factor(_characteristic(terms), growth, usual, count))
            self.centre += count * mean
            top += count * last
            most = max(most, mean, last - mean)
            variance += count * sum([weight * part ** 2 for weight, part in terms])
        # Further from its mean than this the sum lies in less than 1e-12 of all draws (Bernstein's inequality).
        radius = 9.5 * most + math.sqrt(90 * most ** 2 + 57 * variance)
        self.low, self.high = -min(radius, self.centre) - 1, min(radius, top - self.centre) + 1
        y = self.low if only is None else self._from_centre(only)
        reach = max(self.high - y, y - self.low) + 5 * blur / self.step
        self.count = LONGEST_RUN * math.ceil((reach / 2 + 1) / LONGEST_RUN)
        self.angle = math.pi / self.count
        self.blur = blur / self.step if blur > NO_BLUR * self.step and self.count > FEW_NODES else 0.0
        self.waves: dict[int, list[tuple[float, complex]]] = {}        # by how coarse they are

    def _from_centre(self, most: int) -> float:
        """Return a place between `most` and the next sum, in steps from the mean."""
        return min(max((most - self.base) // self.step + 0.5 - self.centre, self.low), self.high)

    def share(self, most: int, coarse: int = 1) -> float:
        """Return P(sum <= most), with `coarse` times the noise where there must be any."""
        if coarse not in self.waves:
            self.waves[coarse] = self._lasting(coarse * self.blur)
        y = self._from_centre(most)
        share = 0.5 - math.fsum([(wave * cmath.rect(1, -w * y)).imag for w, wave in self.waves[coarse]])
        return min(1.0, max(0.0, share))

    def _lasting(self, blur: float) -> list[tuple[float, complex]]:
        """Return (w, characteristic function times weight) at the nodes where the function is not negligible.

        Runs of nodes are looked at in their middle first, and left out where no growth within could make one count.
        """
        nodes, run = math.ceil(5 / (blur * self.angle)) if blur else self.count, LONGEST_RUN
        while run > 1 and sum([times * math.log(min(1.0, usual + growth * self.angle * run / 2))
                               for _, growth, usual, times in self.factors]) > math.log(NEGLIGIBLE):
            run //= 2                                      # none would be left out, as a rule
        points = [(first + run / 2) * self.angle for first in range(0, nodes, run)]
        while run > 1:
            finer = max(1, run // 4)
            points = [w + (first + (finer - run) / 2) * self.angle for w in points
                      if self._product(w, self.angle * (run - 1) / 2) for first in range(0, run, finer)]
            run = finer
        return [(w, product * math.exp(-(w * blur) ** 2 / 2) / (2 * self.count * math.sin(w / 2)))
                for w in points if (product := self._product(w))]

    def _product(self, w: float, around: float = 0.0) -> complex:
        """Return the characteristic function at w, or how large it is at most so far around it; 0 if negligible."""
        product: complex = 1.0
        for function, growth, _, times in self.factors:
            value = function(w)
            if around:
                value = min(1.0, abs(value) + growth * around)
            product *= value ** times
            if abs(product) <= NEGLIGIBLE:
                return 0.0
        return product


def _inverted(kinds: _Kinds) -> _Solved:
    """Return the distribution of the mean of as many draws as there are groups, inverted.

    Where all sizes are equal that is the sum of the totals drawn. Else the mean is at most t where the sum of total - t
    size is at most 0, and that sum is inverted for each t anew.

    >>> round(_inverted({(1, 0): 1, (2, 3): 1}).share(Fraction(1), 1), 12)  # means 0, 1 in two ways and 3/2
    0.75
    """
    draws, cases, means = sum(kinds.values()), _cases(kinds), [total / size for size, total in kinds]
    blur = BLUR * (max(means) - min(means)) * cases

    def share(t: Fraction, coarse: int) -> float:
        inverted, most = (totals, math.floor(cases * t)) if totals else (
            InvertedSum([(draws, _heights(kinds, t))], blur * t.denominator, 0), 0)
        reached = inverted.share(most, coarse)
        if inverted.blur:          # where every group drawn has this very mean, noise brings half of the draws above it
            equal = sum(count for (size, total), count in kinds.items()
                        if total * t.denominator == size * t.numerator)
            reached += (equal / draws) ** draws / 2
        return min(1.0, reached)

    one_size = len({size for size, _ in kinds}) == 1
    totals = InvertedSum([(draws, _heights(kinds, Fraction(0)))], blur) if one_size else None
    return _Solved(kinds, share, step=Fraction(1, cases) if totals and not totals.blur else None)


# === The bootstrap, computed ==========================================================================================

@functools.lru_cache(maxsize=4)                         # without sources the intervals by case and by source are one
def _resampled(groups: tuple[tuple[int, int], ...]) -> _Means | _Solved:
    """Return the distribution of the mean of as many draws as there are groups: counted if that is little work.

    >>> _resampled(((1, 0), (1, 1))).share(Fraction(1, 2), 1)       # means 0, 1/2 and 1 with shares 1/4, 1/2 and 1/4
    Fraction(3, 4)
    """
    kinds, draws = dict(sorted(Counter(groups).items())), len(groups)
    one_size, cases, wide = len({size for size, _ in kinds}) == 1, _cases(kinds), _wide(kinds)
    if one_size and draws <= HALVED_DRAWS and (ways_up_to := _halved([_heights(kinds, Fraction(0))] * draws)):
        return _Solved(kinds, lambda t, coarse: Fraction(ways_up_to(math.floor(t * cases)), draws ** draws),
                       exact=True, step=Fraction(1, cases))
    draw = {size * wide + total: count for (size, total), count in kinds.items()}
    if ways := _counted([draw] * draws, FEW_SUMS if one_size or draws > COUNTED_SOURCES else COUNTED_SUMS):
        return _Means(ways, wide)
    return _inverted(kinds)


def source_interval(groups: Groups, unit: int, level: Number = LEVEL) -> Interval:
    """Return the bootstrap interval of the mean over cases when whole source groups are drawn; at_zero is P(mean <= 0).

    A resample draws as many groups as there are; its mean weighs every drawn case the same (Davison & Hinkley 1997,
    Bootstrap Methods and their Application, section 3.8). Assumes that groups are independent, and promises too much
    with few: nine groups cover the truth in about 88 of 100 worlds. Raises ValueError on no groups.

    >>> source_interval([(1, 0), (1, 1)], 1, level=0.5)[:2]
    ((Fraction(0, 1), Fraction(1, 2)), 'exact over 3 draws')
    """
    n, tail, means = len(groups), _tail(level), _resampled(tuple(groups))
    method = f"{'exact' if means.exact else 'numerical'}, {n} groups"
    if means.exact and n <= 10:
        method = f"exact over {math.comb(2 * n - 1, n)} draws"
    return Interval((means.quantile(tail) / unit, means.quantile(1 - tail) / unit), method, means.exact, None,
                    means.share(Fraction(0), 1))


def exact_interval(numerators: Sequence[int], unit: int, level: Number = LEVEL) -> Interval:
    """Return the percentile interval of the bootstrap distribution itself, mean of numerators / unit: no resamples.

    The low end is the smallest v with P(mean <= v) >= (1 - level) / 2, the high end the same with (1 + level) / 2.
    Endless resamples of sampled_interval would end there (Efron 1979, Annals of Statistics 7:1). Assumes that the cases
    are independent. Raises ValueError on no cases.

    >>> exact_interval([0, 1], 1).interval             # means 0, 1/2 and 1 with shares 1/4, 1/2 and 1/4
    (Fraction(0, 1), Fraction(1, 1))
    >>> exact_interval([0, 1], 1, level=0.5).interval  # P(mean <= 0) = 1/4 reaches 1/4, P(mean <= 1/2) = 3/4 does 3/4
    (Fraction(0, 1), Fraction(1, 2))
    """
    tail, means = _tail(level), _resampled(tuple([(1, k) for k in numerators]))
    coarsest = unit // math.gcd(unit, *numerators)
    return Interval((means.quantile(tail) / unit, means.quantile(1 - tail) / unit),
                    f"{'exact' if means.exact else 'numerical'}, grid of 1/{coarsest}", means.exact)


# === Sign flips =======================================================================================================

def groups_needed_for(alpha: Number) -> int:
    """Return the least number of groups that carries a claim with this one-sided error: 2 ** G >= 1 / alpha.

    >>> groups_needed_for(Fraction(1, 40)), groups_needed_for(0.05)
    (6, 5)
    """
    return math.ceil(1 / Fraction(str(alpha)) - 1).bit_length()


def flip_tail(times: Mapping[int, int], coarse: int = 0) -> Number:
    """Return the share of all subsets of whole values, the empty one included, with a sum of at most 0.

    Each value is there so many times. With group sums as values: how often random signs, each as likely as the other,
    bring the sum as low as minus what it is. At most 2.5% is the same as: the 95% sign-flip interval of these groups
    lies above 0 (Hartigan 1969). Where sums are not counted it is good to about 1e-4, or to `coarse` times that. Where
    `coarse` is 0 those of up to MORE_GROUPS values are counted, and sums that all but tie with 0 count as ties, which
    errs on the safe side.

    >>> flip_tail({1: 1, 2: 1, -1: 1})     # {}, {-1}, {1, -1} of eight
    Fraction(3, 8)
    """
    sizes: Counter[int] = Counter()
    for value, count in times.items():
        sizes[abs(value)] += count
    del sizes[0]                                                # a 0 doubles both counts
    unit = math.gcd(*sizes) or 1
    sizes = Counter({size // unit: count for size, count in sorted(sizes.items(), reverse=True)})     # in one order
    reach = -sum(value * count for value, count in times.items() if value < 0) // unit
    return _subsets(sizes, reach, coarse, 0 if coarse else 1)


def flip_p_value(values: Iterable[int]) -> Number:
    """Return how often random signs bring the sum of whole values as far from 0 as it is, to either side.

    >>> flip_p_value([-1, -2, -1])
    Fraction(1, 4)
    """
    times = Counter(values)
    sign = -1 if sum(value * count for value, count in times.items()) < 0 else 1
    return min(Fraction(1), 2 * flip_tail({sign * value: count for value, count in times.items()}))


def _subsets(sizes: Counter[int], reach: int, coarse: int, near: int = 0) -> Number:
    """Return the share of all subsets of positive sizes with a sum of at most reach.

    They are counted in whole numbers where these are small, or where a half of the sizes has few sums: so a sum that
    equals the reach is seen to equal it. Else a few large sizes are counted, and the rest inverted; what is smaller
    than floats can tell is bounded from above (Hoeffding 1963, JASA 58:13). Where sums all but equal the reach they
    count with near = 1, and do not with -1.

    >>> _subsets(Counter({1: 1, 2: 1}), 1, 1)      # sums 0 and 1 of 0, 1, 2 and 3
    Fraction(1, 2)
    """
    if reach < 0:
        return Fraction(0)
    whole, squares = (sum([times * size ** power for size, times in sizes.items()]) for power in (1, 2))
    if whole <= 2 * reach:                                      # every other subset is the rest of one that counts
        return 1 - _subsets(sizes, whole - reach - 1, coarse, -near)
    n, roughly = sizes.total(), coarse or 1
    if n > HALVED_GROUPS and reach * n ** 2 * roughly <= COUNTED_BITS:
        return _count_subsets(list(sizes.elements()), reach)
    if n <= HALVED_GROUPS or n <= MORE_GROUPS and not coarse:
        ways_up_to = _halved([{0: 1, size: 1} for size in sizes.elements()],
                             FEW_SUMS_OF_HALF if n > HALVED_GROUPS else math.inf)
        if ways_up_to:
            return Fraction(ways_up_to(reach), 2 ** n)
    if large := _few_large(sizes, squares):
        ways = _counted([{0: 1, size: 1} for size in large.elements()])
        return sum([count * _subsets(sizes - large, reach - part, coarse, near)
                    for part, count in ways.items()]) / Fraction(2 ** large.total())
    if n <= ROUNDED_GROUPS:
        steps = ROUNDED_STEPS // roughly
        step = Fraction(2 * reach, 2 * steps + 1)               # the reach lies half way between two sums of steps
        # Rounded so that they add up to the whole: what all were off by would move the sums of the subsets.
        ends = [round(total / step) for total in itertools.accumulate(sizes.elements(), initial=0)]
        return _count_subsets([end - start for start, end in itertools.pairwise(ends)], steps + near * NEAR_STEPS)
    bound = math.exp(-(whole - 2 * reach - 1) ** 2 / (2 * squares))
    if bound < SMALLEST_TAIL:
        return bound
    draws = [(times, {0: 1, size: 1}) for size, times in sizes.most_common()]       # those that fade first
    inverted = InvertedSum(draws, roughly * FLIP_BLUR * whole / 2, reach)
    reach += near * math.ceil(NEAR_BLURS * inverted.blur * inverted.step)
    return max(inverted.share(reach), min(SMALLEST_TAIL, bound))


def _few_large(sizes: Counter[int], squares: int) -> Counter[int]:
    """Return the largest sizes, where few of them have nearly all of the squares, so that the others hardly move them.

    Noise that is little for the sum of all would be much for that of the others.

    >>> _few_large(Counter({1000: 2, 1: 30}), 2_000_030), _few_large(Counter(range(1, 31)), 9455)
    (Counter({1000: 2}), Counter())
    """
    large, left, sums = Counter[int](), squares, 1
    for size, times in sorted(sizes.items(), reverse=True):
        large[size], left, sums = times, left - times * size ** 2, sums * (times + 1)
        if sums > LARGE_SUMS:
            break
        if left * SMALL_SHARE <= squares:
            return large if left <= MOST_ALIKE * size ** 2 else Counter()
    return Counter()


def _count_subsets(sizes: Sequence[int], reach: int) -> Fraction:
    """Return the share of all subsets of sizes with a sum of at most reach, counted in one big whole number.

    Its digit s from the top, of a base above 2 ** len(sizes), is the number of subsets that add up to s. A size that
    may be taken or left adds to the number itself, moved down by that many digits: a shift and an addition count for
    all sums at once. Up to reach + 1 digits room is made below; then larger sums fall off there.

    >>> _count_subsets([1, 2], 2)         # sums 0, 1, 2 and 3
    Fraction(3, 4)
    """
    width, counts, room = len(sizes) + 1, 1, reach
    for size in sorted(sizes):                                  # small ones first, so that the number grows late
        up = min(size, room)
        counts, room = (counts << up * width) + (counts >> (size - up) * width), room - up
    return Fraction(counts % ((1 << width) - 1), 1 << len(sizes))          # modulo base - 1 adds the digits up


def flip_excludes(groups: Groups, unit: int, limit: Number, alpha: Number) -> bool:
    """Tell whether the low end of the sign-flip interval with one-sided error alpha lies above limit, strictly.

    Give limit and alpha as Fractions of the literal: an end may lie on a limit, and a probability on alpha.

    >>> groups = [(1, k) for k in (1, 2, 3, 4, 5, 6)]          # ends: 1 and 6
    >>> flip_excludes(groups, 1, Fraction(9, 10), 0.025), flip_excludes(groups, 1, 1, 0.025)
    (True, False)
    """
    alpha, bound = Fraction(str(alpha)), Fraction(limit) * unit
    heights = _heights(Counter(groups), bound)
    if alpha < Fraction(1, 2) and sum(height * count for height, count in heights.items()) <= 0:
        return False                                            # half of all subsets or more
    return flip_tail(heights) <= alpha


def sign_flip(groups: Groups, unit: int, level: Number = LEVEL) -> Interval:
    """Return the means that a sign-flip test over source groups does not reject; at_zero is its two-sided p-value at 0.

    If each group's difference is symmetric about the true mean, all 2 ** G sign patterns are equally likely, however
    few the groups. The ends are the floor(a 2 ** G)-th smallest and largest of the means of the non-empty subsets of
    groups, a = (1 - level) / 2 (Hartigan 1969, JASA 64:1303, typical values); where that is none, the interval is
    None. Cases without sources are groups of one.

    >>> found = sign_flip([(1, k) for k in (1, 2, 3, 4, 5, 6)], 1)
    >>> found.interval, found.method, found.at_zero
    ((Fraction(1, 1), Fraction(6, 1)), 'exact, 64 sign patterns', Fraction(1, 32))
    """
    n, tail, kinds = len(groups), _tail(level), Counter(groups)
    patterns = f"{2 ** n if n <= 16 else f'2**{n}'} sign patterns"
    p_value = flip_p_value(total for _, total in groups)
    rank = math.floor(tail * 2 ** n)
    if not rank:
        reason = f"fewer than {groups_needed_for(tail)} sources: too few for a {100 * float(level):g}% interval"
        return Interval(None, f"exact, {patterns}", True, reason, p_value)
    # No subsets have more sums of sizes, times sums of totals, than these.
    places = math.prod(sum(map(abs, values)) // (math.gcd(*values) or 1) + 1 for values in zip(*groups, strict=True))
    exact = n <= COUNTED_GROUPS or n * places <= COUNTED_SUBSETS
    if exact:
        wide, draws = _wide(kinds), list[_Ways]()
        for (size, total), count in kinds.items():
            draws.append({taken * (size * wide + total): math.comb(count, taken) for taken in range(count + 1)})
        ways = _counted(draws)
        del ways[0]                                             # the empty subset has no mean
        counted = _Means(ways, wide)
        low, high = (counted.quantile(Fraction(at, 2 ** n - 1)) for at in (rank, 2 ** n - rank))
    else:
        low = _flip_end(kinds, rank)
        high = -_flip_end({(size, -total): count for (size, total), count in kinds.items()}, rank)
    return Interval((low / unit, high / unit), f"{'exact' if exact else 'numerical'}, {patterns}", exact, None, p_value)


def _flip_end(kinds: _Kinds, rank: int) -> Fraction:
    """Return the smallest t, in numerators, up to which so many non-empty subsets of groups have their mean."""
    wanted = Fraction(2 * rank + 1, 2 ** (sum(kinds.values()) + 1))         # with the empty one: more than rank
    return _Solved(kinds, lambda t, coarse: flip_tail(_heights(kinds, t), coarse)).quantile(wanted)


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
