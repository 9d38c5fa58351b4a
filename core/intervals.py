"""How sure can we be of a mean difference? Numbers in, intervals out.

    question                                        function             unit that decides
    ----------------------------------------------  -------------------  ----------------------
    what would other draws of these cases give?     sampled_interval     case, seeded, published
    the same, without the luck of the seed          exact_interval       case
    its whole distribution, for a picture           exact_distribution   case
    what would other draws of the sources give?     source_interval      source group
    which means does a sign-flip test not reject?   sign_flip            source group, or case
    how often do random signs take a gain away?     flip_tail            source group, or case
    is a limit below that interval, ties exactly?   flip_excludes        source group, or case
    does a slice stand out among all looked at?     adjusted_p_values    source group
    could it, had all of it moved one way?          smallest_p_values    source group
    how many pairs does a narrower interval need?   required_pairs       case

    $ python3 -c "from core import intervals; print(*intervals.exact_interval([0, 0, 0, 1, 1, 3], 5).interval)"
    1/30 11/30

Files read or written: none. Nothing is printed, and nothing of ours is imported.

Differences are whole `numerators` over one `unit`: a case that went from 3 to 5 passes of 5 trials is 2 over unit 5. A
source group is (number of its cases, sum of their numerators). Intervals are in score units.

Only sampled_interval, whose figures are published, and adjusted_p_values beyond EVERY_PATTERN groups draw anything. All
else is the distribution that such draws come from, found in one of two ways. Where that is little work it is counted,
in whole numbers: a probability that equals a limit is seen to equal it. Else it is computed from its characteristic
function (`_Inversion`), in floats; interval ends then lie within 1e-4 of the score range of the true ones.
"""

import cmath
import functools
import itertools
import math
import operator
import random
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

LEVEL = 0.95
RESAMPLES = 2000
SEED = 20261020
SIGN_PATTERNS = 10_000       # drawn for adjusted p-values beyond EVERY_PATTERN groups
EVERY_PATTERN = 16           # groups up to which all 2 ** 16 sign patterns are gone through
COUNTED_SUMS = 120_000       # additions up to which a distribution is counted: some hundredths of a second
COUNTED_BITS = 600_000_000   # bits that shift and add may move to count the sums at one point without loss
COUNTED_GROUPS = 150         # groups up to which rounded values are counted; beyond, inversion is faster
ROUNDED_STEPS = 20_000       # to which values are rounded for that: ends move by less than 1e-4 of the score range
SOLVED_STEPS = 1 << 16       # steps from the smallest to the largest mean in which an end is looked for
BLUR = 1.5e-5                # of the largest difference of means: the noise that inversion may add where grids are fine
NEGLIGIBLE = 1e-10           # of a characteristic function: what is below is left out
INVERTED_CELLS = 400_000     # sizes times nodes up to which all sizes of a resample are inverted at once
SMALLEST_TAIL = 1e-7         # below, an inverted tail is replaced by an upper bound

Number = int | float | Fraction
Groups = Sequence[tuple[int, int]]


class Interval(NamedTuple):
    """An interval in score units (None: `reason` says why), and how it was found."""
    interval: tuple[Number, Number] | None
    method: str
    exact: bool                  # counted in whole numbers, without any loss
    reason: str | None = None
    tail: Number | None = None   # source_interval: P(mean <= 0). sign_flip: the two-sided p-value at 0


class Distribution(NamedTuple):
    """Shares of the resampled mean in bins of equal width: bin i starts at start + i * width, in score units."""
    start: float
    width: float
    shares: list[float]


def _tail(level: Number) -> Fraction:
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

    def indices(self, n: int, count: int) -> Sequence[int]:
        """Return the next `count` indices in range(n).

        Raises ValueError unless 0 < n < 2**32: beyond, randrange takes more than one word for an index.
        """
        if not 0 < n < 1 << 32:
            raise ValueError(f"cannot draw from {n} items: need 1 to 2**32 - 1")
        found, below = array("I"), 32 - n.bit_length()
        while missing := min(count - len(found), self._BLOCK):
            words = memoryview(self._words(missing)).cast("I")[::1 if sys.byteorder == "little" else -1]
            found.extend([word >> below for word in words if word >> below < n])
        return found

    def sums(self, values: Sequence[int], repeats: int) -> list[int]:
        """Return `repeats` sums, each of len(values) values drawn with replacement."""
        n, low = len(values), min(values)
        if n >= 256 or max(values) - low >= 256:
            return [sum(map(values.__getitem__, self.indices(n, n))) for _ in range(repeats)]
        # A try shows in the top byte of its word: one call looks a block of them up, or deletes those rejected.
        below, drawn = 8 - n.bit_length(), bytearray()
        table = bytes(values[top >> below] - low if top >> below < n else 0 for top in range(256))
        rejected = bytes(top for top in range(256) if top >> below >= n)
        while missing := min(n * repeats - len(drawn), self._BLOCK):
            drawn += self._words(missing, "little")[3::4].translate(table, rejected)
        return [sum(drawn[i:i + n]) + n * low for i in range(0, n * repeats, n)]

    def _words(self, count: int, order: str = sys.byteorder) -> bytes:
        return self.generator.getrandbits(32 * count).to_bytes(4 * count, order)


def sampled_interval(numerators: Sequence[int], unit: int, stream: IndexStream, resamples: int = RESAMPLES,
                     level: Number = LEVEL) -> Interval:
    """Return the percentile bootstrap interval of the mean of numerators / unit, from `resamples` draws of the stream.

    The ends are the sorted means at floor(a R) and ceil((1 - a) R) - 1, with a = (1 - level) / 2. Assumes that the
    cases are independent. Raises ValueError on no cases. Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    >>> sampled_interval([0, 0, 0, 1, 1, 3], 5, IndexStream(SEED)).interval
    (Fraction(1, 30), Fraction(11, 30))
    """
    if not numerators:
        raise ValueError("an interval needs at least one case")
    tail, whole = _tail(level) * resamples, len(numerators) * unit
    sums = sorted(stream.sums(numerators, resamples))
    low, high = sums[math.floor(tail)], sums[math.ceil(resamples - tail) - 1]
    return Interval((Fraction(low, whole), Fraction(high, whole)),
                    f"sampled, {resamples} resamples, seed {stream.seed}", False)


# === Counting =========================================================================================================

_Terms = Iterable[tuple[tuple[int, int], int]]      # what one draw can add, (size, total), and in how many ways


def _count(draws: Iterable[_Terms]) -> dict[tuple[int, int], int]:
    """Return in how many ways the draws, one after the other, add up to each (size, total).

    Two draws from the groups (1, 0) and (1, 5), which can come in two orders where they differ:

    >>> _count([[((1, 0), 1), ((1, 5), 1)]] * 2)
    {(2, 0): 1, (2, 5): 2, (2, 10): 1}
    """
    ways = {(0, 0): 1}
    for terms in draws:
        more: dict[tuple[int, int], int] = defaultdict(int)
        for (size, total), so_far in ways.items():
            for (cases, part), times in terms:
                more[size + cases, total + part] += so_far * times
        ways = more
    return dict(ways)


class _Counted:
    """The distribution of a mean whose every (size, total) was counted."""

    def __init__(self, ways: dict[tuple[int, int], int]) -> None:
        # Two means that one float cannot tell apart are one: they differ by less than any figure shows.
        self.places = sorted(ways, key=lambda place: place[1] / place[0])
        self.means = [total / size for size, total in self.places]
        self.running = list(itertools.accumulate(ways[place] for place in self.places))

    def reached(self, ways: Number) -> Fraction:
        """Return the smallest mean up to which there are at least so many ways."""
        size, total = self.places[bisect_left(self.running, ways)]
        return Fraction(total, size)

    def quantile(self, share: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= share."""
        return self.reached(share * self.running[-1])

    def share(self, t: Fraction) -> Fraction:
        """Return P(mean <= t)."""
        at = bisect_right(self.means, float(t))
        return Fraction(self.running[at - 1] if at else 0, self.running[-1])


# === Inversion ========================================================================================================

_Function = Callable[[float], tuple[complex, float]]    # the value at w, and how far beyond w it stays negligible


def _waves(function: _Function, reach: float, blur: float) -> list[tuple[float, complex]]:
    """Return (w, weight) pairs whose sum of imaginary parts of weight * exp(-iwy) is 1/2 - P(X <= y), y +- 1/2 whole.

    X is a sum of whole numbers, `function` its characteristic function E(exp(iwX)): that of a sum of independent terms
    is the product of theirs, so thousands of terms cost little more than one. Gil-Pelaez (1951, Biometrika 38:481)
    turns it into a probability by an integral over w; these midpoints are off by no more than P(|X - y| > reach)
    (Davies 1973, Biometrika 60:415). Where a blur of more than the 1 between neighbours does no harm, X gets so much
    normal noise (a standard deviation), and w can end early.
    """
    cycle = 2 * math.ceil(reach / 2 + 1)
    turn, nodes = 2 * math.pi / cycle, cycle // 2
    if blur > 2:
        nodes = math.ceil(6.5 / (blur * turn))          # the noise leaves 1e-9 of what is beyond
    waves, node = [], 0
    while node < nodes:
        w = (node + 0.5) * turn
        value, far = function(w)
        if value:
            noise = math.exp(-(w * blur) ** 2 / 2) if blur > 2 else 1.0
            waves.append((w, value * noise / (cycle * math.sin(w / 2))))
        node += 1 + int(far / turn)
    return waves


def _fourier(values: Sequence[complex]) -> list[complex]:
    """Return the sums of values[k] * exp(-2 pi i k n / N) for n = 0 .. N - 1, N a power of two (Cooley & Tukey 1965)."""
    if len(values) == 1:
        return list(values)
    even, odd = _fourier(values[::2]), _fourier(values[1::2])
    turn = -2 * math.pi / len(values)
    odd = [value * cmath.rect(1, turn * k) for k, value in enumerate(odd)]
    return list(map(operator.add, even, odd)) + list(map(operator.sub, even, odd))


class _Axis:
    """The sizes, or the totals, that draws add up to, counted in steps from the smallest that they can."""

    def __init__(self, values: Sequence[int], times: Sequence[int]) -> None:
        draws, least = sum(times), min(values)
        self.base, self.step = draws * least, math.gcd(*(value - least for value in values)) or 1
        places = [(value - least) // self.step for value in values]
        self.top, self.centre = draws * max(places), float(sum(map(operator.mul, places, times)))
        self.parts = [place - self.centre / draws for place in places]
        most, self.slope = max(map(abs, self.parts)), math.fsum(map(operator.mul, map(abs, self.parts), times)) / draws
        squares = math.fsum(part * part * count for part, count in zip(self.parts, times))
        # Further from the mean than this lies less than 1e-9 of all sums (Bernstein's inequality).
        self.radius = min(self.top, 7 * most + math.sqrt(49 * most ** 2 + 42 * squares)) + 1
        self.range = range(max(0, math.floor(self.centre - self.radius)),
                           min(self.top, math.ceil(self.centre + self.radius)) + 1)


class _Sums:
    """The size and the total of as many draws from groups as there are, together, from their characteristic function.

    That is the mean of exp(i (w total + v size)) over the groups, to the power of the draws. A Fourier sum over v
    singles out each size; `_waves` turns what is left into a probability of the total.
    """

    def __init__(self, kinds: Mapping[tuple[int, int], int], blur: float) -> None:
        """Take how often each (size, total) occurs; the total is blurred where that is not noticed in share()."""
        times = list(kinds.values())
        draws = sum(times)
        self.sizes, self.totals = (_Axis(values, times) for values in zip(*kinds))
        still, count = NEGLIGIBLE ** (1 / draws), 1 << (len(self.sizes.range) - 1).bit_length()
        reach, blur = 2 * self.totals.radius, blur / self.totals.step
        columns: dict[float, list[complex]] = {}
        for k in range(count):
            terms = [(each / draws, total, 2 * math.pi * k / count * size)
                     for each, total, size in zip(times, self.totals.parts, self.sizes.parts)]

            def function(w: float) -> tuple[complex, float]:
                mean = sum([cmath.rect(weight, w * total + turn) for weight, total, turn in terms])
                if (size := abs(mean)) < still:                 # it grows no faster with w than the mean |total|
                    return 0.0, (still - size) / (self.totals.slope or 1.0)
                return mean ** draws, 0.0
            waves = _waves(function, reach, blur)
            for w, wave in waves if count > 1 else ():
                columns.setdefault(w, [0.0] * count)[k] = wave / count
        self.waves: list[list[tuple[float, complex]]] = [[] for _ in self.sizes.range] if count > 1 else [waves]
        turn = 2 * math.pi / count * (self.sizes.centre - self.sizes.range[0])
        for w, column in columns.items():
            turned = [value and value * cmath.rect(1, turn * k) for k, value in enumerate(column)]
            for waves, wave in zip(self.waves, _fourier(turned)):
                if abs(wave) > 1e-13:
                    waves.append((w, wave))

    def share(self, most: Callable[[int], int]) -> float:
        """Return P(total <= most(size))."""
        above = 0.5
        for place, waves in zip(self.sizes.range, self.waves):
            limit = most(self.sizes.base + place * self.sizes.step)
            y = (limit - self.totals.base) // self.totals.step + 0.5 - self.totals.centre
            y = min(max(y, -self.totals.radius), self.totals.radius)
            above += math.fsum([(wave * cmath.rect(1, -w * y)).imag for w, wave in waves])
        return min(1.0, max(0.0, 1 - above))


# === Looking for an end ===============================================================================================

def _score(probability: Number) -> float:
    """Return a normal quantile to 1%, finite everywhere (Tukey's lambda): almost a straight line in t."""
    inside = min(max(float(probability), 0.0), 1.0)
    return 4.91 * (math.pow(inside, 0.14) - math.pow(1 - inside, 0.14))


def _first(share: Callable[[int], Number], wanted: Number, limits: tuple[int, int], guess: float,
           spread: float) -> int:
    """Return the smallest whole number p with share(p) >= wanted, that lies above limits[0] and not above limits[1].

    Closes in as if the shares were normal, with this spread at first, and by halves once that has had its chance.

    >>> _first(lambda p: p / 100, 0.3, (0, 100), 50, 20)
    30
    """
    low, high = limits
    turn, before, slope = 0, None, 1 / spread
    while high - low > 1:
        p = min(max(math.ceil((low + high) / 2 if turn > 4 and turn % 2 else guess), low + 1), high - 1)
        found = share(p)
        low, high = (low, p) if found >= wanted else (p, high)
        score = _score(found)
        if before and 0.3 < (score - before[1]) / (p - before[0]) * spread < 3:
            slope = (score - before[1]) / (p - before[0])
        move = (_score(wanted) - score) / slope
        guess = p + 1.05 * move + math.copysign(1, move)        # a little too far, so that both sides close in
        turn, before = turn + 1, (p, score)
    return high


def _end(groups: Groups, wanted: Number, share: Callable[[Fraction, int], Number],
         roughly: Sequence[int] = (16, 4, 1)) -> Fraction:
    """Return the smallest mean t of groups, in numerators, with share(t, coarse) >= wanted, on a grid of SOLVED_STEPS.

    coarse, one after the other of `roughly`, is how many times as roughly as in the end a share may be found. An end
    that stays where it is when the next finer shares are asked is taken.
    """
    means = [Fraction(total, cases) for cases, total in groups]
    least, most = min(means), max(means)
    if least == most:
        return least
    step = Fraction(2) ** math.floor(math.log2((most - least) / SOLVED_STEPS))
    cases, total = map(sum, zip(*groups))
    middle = Fraction(total, cases)
    spread = math.sqrt(math.fsum(float((part - size * middle) / (step * cases)) ** 2 for size, part in groups))
    limits = math.floor(least / step) - 1, math.ceil(most / step)
    last, guess = None, float(middle / step) + spread * _score(wanted)
    for coarse in roughly:
        found = _first(lambda p: share(p * step, coarse), wanted, limits, guess, spread)
        if last is not None and abs(found - last) <= 2:
            break
        guess = last = found
    return step * found


# === The bootstrap, computed ==========================================================================================

class _Halves:
    """The distribution of the mean of as many draws as there are groups, counted for two halves of the draws.

    Each half sorted by total - t size tells P(mean <= t) without ever being combined (Horowitz & Sahni 1974, J. ACM
    21:277): what few large sources need, whose characteristic function does not fade.
    """
    roughly: tuple[int, ...] = (1,)

    def __init__(self, kinds: Mapping[tuple[int, int], int]) -> None:
        self.kinds, draws = kinds, sum(kinds.values())
        self.halves = [_count([kinds.items()] * count) for count in (draws // 2, draws - draws // 2)]

    def share(self, t: Fraction, coarse: int = 1) -> Fraction:
        """Return P(mean <= t)."""
        first, second = (sorted((total * t.denominator - size * t.numerator, ways)
                                for (size, total), ways in half.items()) for half in self.halves)
        heights = [height for height, _ in second]
        running = list(itertools.accumulate((ways for _, ways in second), initial=0))
        below = sum(ways * running[bisect_right(heights, -height)] for height, ways in first)
        return Fraction(below, sum(self.kinds.values()) ** sum(self.kinds.values()))

    def quantile(self, share: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= share, to a step of _end."""
        return _end([group for group, count in self.kinds.items() for _ in range(count)], share, self.share,
                    self.roughly)


class _Inverted(_Halves):
    """The same in floats, from the characteristic function."""
    roughly = (16, 4, 1)

    def __init__(self, kinds: Mapping[tuple[int, int], int]) -> None:
        self.kinds, times = kinds, list(kinds.values())
        self.sizes, self.totals = (_Axis(values, times) for values in zip(*kinds))
        means = [total / size for size, total in kinds]
        self.blur = BLUR * (max(means) - min(means)) * sum(size * count for (size, _), count in kinds.items())
        self.coarse = self.blur <= 2 * self.totals.step             # a grid so coarse needs no noise
        self.on_grid = self.coarse and len(self.sizes.range) == 1
        nodes = 2 * self.totals.radius / max(2.0, self.blur / self.totals.step)
        self.at_once = len(self.sizes.range) * nodes < INVERTED_CELLS or len(self.sizes.range) == 1
        self.sums: dict[int, _Sums] = {}

    def share(self, t: Fraction, coarse: int = 1) -> float:
        """Return P(mean <= t), with `coarse` times the noise where there must be any.

        From all sizes at once, P(total <= t size); if they are too many, from P(sum of (total - t size) <= 0).
        """
        if not self.at_once:
            numbers: dict[tuple[int, int], int] = Counter()
            for (size, total), count in self.kinds.items():
                numbers[1, total * t.denominator - size * t.numerator] += count
            return _Sums(numbers, coarse * self.blur * t.denominator).share(lambda size: 0)
        if self.coarse:
            coarse = 0
        if coarse not in self.sums:
            self.sums[coarse] = _Sums(self.kinds, coarse * self.blur)
        return self.sums[coarse].share(lambda size: size * t.numerator // t.denominator)

    def quantile(self, share: Fraction) -> Fraction:
        """Return the smallest mean t with P(mean <= t) >= share, to a step of _end unless all means lie on one grid."""
        if not self.on_grid:
            return super().quantile(share)
        size, totals = self.sizes.base, self.totals
        spread = math.sqrt(math.fsum(part * part * count for part, count in zip(totals.parts, self.kinds.values())))
        place = _first(lambda p: self.share(Fraction(totals.base + p * totals.step, size)), share, (-1, totals.top),
                       totals.centre + spread * _score(share), spread)
        return Fraction(totals.base + place * totals.step, size)


def _additions(kinds: Mapping[tuple[int, int], int], draws: int) -> int:
    """Return how many additions _count needs for so many draws, at most."""
    spans = [draws * (max(values) - min(values)) // (math.gcd(*(value - values[0] for value in values)) or 1) + 1
             for values in zip(*kinds)]
    return len(kinds) * min(math.comb(draws + len(kinds), draws), draws * math.prod(spans) // 2)


@functools.lru_cache(maxsize=1)                         # an interval and its picture ask for the same
def _resampled(times: tuple[tuple[tuple[int, int], int], ...]) -> _Counted | _Halves:
    """Return the distribution of the mean of as many draws as there are groups, from how often each (size, total) is."""
    kinds, draws = dict(times), sum(count for _, count in times)
    if _additions(kinds, draws) <= COUNTED_SUMS:
        return _Counted(_count([times] * draws))
    inverted = _Inverted(kinds)
    few = not (inverted.coarse and inverted.at_once) and _additions(kinds, (draws + 1) // 2) <= 4 * COUNTED_SUMS
    return _Halves(kinds) if few else inverted


def _bootstrap(groups: Iterable[tuple[int, int]]) -> _Counted | _Halves:
    return _resampled(tuple(sorted(Counter(groups).items())))


def exact_interval(numerators: Sequence[int], unit: int, level: Number = LEVEL) -> Interval:
    """Return the percentile interval of the bootstrap distribution itself, mean of numerators / unit: no resamples.

    The low end is the smallest v with P(mean <= v) >= (1 - level) / 2, the high end the same with (1 + level) / 2.
    Assumes that the cases are independent. Raises ValueError on no cases.

    >>> exact_interval([0, 1], 1).interval             # means 0, 1/2 and 1 with shares 1/4, 1/2 and 1/4
    (Fraction(0, 1), Fraction(1, 1))
    >>> exact_interval([0, 1], 1, level=0.5).interval  # P(mean <= 0) = 1/4 reaches 1/4, P(mean <= 1/2) = 3/4 does 3/4
    (Fraction(0, 1), Fraction(1, 2))
    """
    if not numerators:
        raise ValueError("an interval needs at least one case")
    tail, found = _tail(level), _bootstrap((1, k) for k in numerators)
    ends = found.quantile(tail) / unit, found.quantile(1 - tail) / unit
    counted = isinstance(found, _Counted)
    return Interval(ends, f"{'exact' if counted else 'numerical'}, grid of 1/{unit}", counted)


def exact_distribution(numerators: Sequence[int], unit: int, bins: int = 40) -> Distribution:
    """Return the bootstrap distribution of the mean of numerators / unit in at most `bins` bins, for a picture.

    Bins reach four standard errors to each side or as far as a mean can lie. Each holds equally many of the means
    that can occur, and none lies on an edge: else bins would be uneven for no reason. Raises ValueError on no cases.

    >>> exact_distribution([0, 1], 1)
    Distribution(start=-0.25, width=0.5, shares=[0.25, 0.5, 0.25])
    """
    if not numerators:
        raise ValueError("a distribution needs at least one case")
    found, n, total, base = _bootstrap((1, k) for k in numerators), len(numerators), sum(numerators), min(numerators)
    step = math.gcd(*(k - base for k in numerators)) or 1
    reach = 4 * math.sqrt(math.fsum((k - total / n) ** 2 for k in numerators))
    first = n * base + step * (max(0, total - math.ceil(reach) - n * base) // step)
    count = (min(n * max(numerators), total + math.floor(reach)) - first) // step + 1
    wide = -(-count // bins)
    edges = [Fraction(2 * (first + i * wide * step) - step, 2 * n) for i in range(-(-count // wide) + 1)]
    shares = [found.share(edge) for edge in edges]
    return Distribution(float(edges[0] / unit), wide * step / (n * unit),
                        [max(0.0, float(after - before)) for before, after in itertools.pairwise(shares)])


def source_interval(groups: Groups, unit: int, level: Number = LEVEL) -> Interval:
    """Return the bootstrap interval of the mean over cases when whole source groups are drawn; tail is P(mean <= 0).

    A resample draws as many groups as there are; its mean weighs every drawn case the same. Assumes that groups are
    independent, and promises too much with few: nine groups cover the truth in about 88 of 100 worlds. Raises
    ValueError on no groups.

    >>> source_interval([(1, 0), (1, 1)], 1, level=0.5)[:2]
    ((Fraction(0, 1), Fraction(1, 2)), 'exact over 3 draws')
    """
    if not groups:
        raise ValueError("an interval needs at least one source group")
    n, tail, found = len(groups), _tail(level), _bootstrap(groups)
    ends = found.quantile(tail) / unit, found.quantile(1 - tail) / unit
    counted = isinstance(found, _Counted)
    how = f"exact over {math.comb(2 * n - 1, n)} draws" if n <= 10 else f"exact, {n} groups"
    return Interval(ends, how if counted else f"numerical, {n} groups", counted, None,
                    found.share(Fraction(0)))


# === Sign flips =======================================================================================================

def groups_needed_for(alpha: Number) -> int:
    """Return the least number of groups that carries a claim with this one-sided error: 2 ** G >= 1 / alpha.

    >>> groups_needed_for(Fraction(1, 40)), groups_needed_for(0.05)
    (6, 5)
    """
    return math.ceil(1 / Fraction(str(alpha)) - 1).bit_length()


def flip_tail(values: Iterable[int]) -> Fraction | float:
    """Return the share of all subsets of whole values, the empty one included, with a sum of at most 0.

    With group sums as values: how often random signs, each as likely as the other, bring the sum as low as minus what
    it is. At most 2.5% is the same as: the 95% sign-flip interval of these groups lies above 0 (Hartigan 1969).

    >>> flip_tail([1, 2, -1])      # {}, {-1}, {1, -1} of eight
    Fraction(3, 8)
    """
    values = [value for value in values if value]               # a 0 doubles both counts
    return _subsets([abs(value) for value in values], -sum(value for value in values if value < 0))


def _flip_end(groups: Groups, wanted: Fraction) -> Fraction:
    """Return the smallest t, in numerators, up to which so large a share of all subsets of groups have their mean."""
    def share(t: Fraction, coarse: int) -> Number:
        values = [total * t.denominator - cases * t.numerator for cases, total in groups]
        return _subsets([abs(value) for value in values], -sum(value for value in values if value < 0), coarse)
    return _end(groups, wanted, share)


def _subsets(sizes: Sequence[int], reach: int, coarse: int = 0) -> Fraction | float:
    """Return the share of all subsets of positive sizes with a sum of at most reach; coarse as for _end, 0 not at all.

    Leaving a negative value out is as good as taking its size, so this answers for any values.
    """
    if reach < 0 or not sizes:
        return Fraction(reach >= 0)
    if 2 * reach >= sum(sizes):                                 # every other subset is the rest of one that counts
        return 1 - _subsets(sizes, sum(sizes) - reach - 1, coarse)
    n, step = len(sizes), math.gcd(*sizes)
    if (reach // step + 1) * (n + 1) * n <= (COUNTED_BITS // 100 if coarse else COUNTED_BITS):
        return _packed([size // step for size in sizes], reach // step)
    if 2 ** n <= COUNTED_SUMS:
        sums = [0]
        for size in sizes:
            sums += [size + total for total in sums]
        return Fraction(sum(total <= reach for total in sums), 2 ** n)
    if n <= COUNTED_GROUPS:
        steps = ROUNDED_STEPS // (coarse or 1)
        return float(_packed([(2 * size * steps + reach) // (2 * reach) for size in sizes], steps))
    return _inverted([size // step for size in sizes], reach // step, coarse or 1)


def _packed(sizes: Sequence[int], reach: int) -> Fraction:
    """Return the share of all subsets of sizes with a sum of at most reach, counted in one big whole number.

    Its digit s, of a base above 2 ** len(sizes), is the number of subsets that add up to s. A size that may be taken
    or left adds to the number itself, moved up by that many digits: a shift and an addition count for all sums at once.

    >>> _packed([1, 2], 2)         # sums 0, 1, 2 and 3
    Fraction(3, 4)
    """
    width = len(sizes) + 1
    counts, mask = 1, (1 << (reach + 1) * width) - 1
    for size in sizes:
        if size <= reach:
            counts = (counts + (counts << size * width)) & mask
    return Fraction(counts % ((1 << width) - 1), 1 << len(sizes))          # modulo base - 1 adds the digits up


def _inverted(sizes: Sequence[int], reach: int, coarse: int) -> float:
    """Return the share of all subsets of sizes with a sum of at most reach, which is less than half of all of them.

    A subset's sum is half the total, and each half size more or less: the characteristic function is the product of
    cos(w size / 2), which can be left as soon as some of its factors make it negligible. Hoeffding (1963, JASA 58:13)
    bounds what is smaller than floats can tell.
    """
    halves = [(size / 2, times) for size, times in sorted(Counter(sizes).items(), reverse=True)]
    total, squares = (math.fsum(half ** power * times for half, times in halves) for power in (1, 2))
    gap = total - reach - 0.5
    bound = math.exp(-gap * gap / squares / 2)

    def function(w: float) -> tuple[complex, float]:
        product = 1.0
        for half, times in halves:
            product *= math.cos(w * half) ** times
            if -NEGLIGIBLE < product < NEGLIGIBLE:
                return 0.0, 0.0
        return product, 0.0

    if bound < SMALLEST_TAIL:
        return bound
    waves = _waves(function, gap + min(total, 7 * math.sqrt(squares)), 1e-4 * coarse * total)
    share = 0.5 - math.fsum((wave * cmath.rect(1, w * gap)).imag for w, wave in waves)
    return share if share > SMALLEST_TAIL else min(SMALLEST_TAIL, bound)


def flip_excludes(groups: Groups, unit: int, limit: Number, alpha: Number) -> bool:
    """Tell whether the low end of the sign-flip interval with one-sided error alpha lies above limit, strictly.

    Give limit and alpha as Fractions of the literal: an end may lie on a limit, and a probability on alpha.

    >>> groups = [(1, k) for k in (1, 2, 3, 4, 5, 6)]          # ends: 1 and 6
    >>> flip_excludes(groups, 1, Fraction(9, 10), 0.025), flip_excludes(groups, 1, 1, 0.025)
    (True, False)
    """
    alpha, bound = Fraction(str(alpha)), Fraction(limit) * unit
    values = [total * bound.denominator - cases * bound.numerator for cases, total in groups]
    if alpha < Fraction(1, 2) and sum(values) <= 0:             # half of all subsets or more
        return False
    return flip_tail(values) <= alpha


def sign_flip(groups: Groups, unit: int, level: Number = LEVEL) -> Interval:
    """Return the means that a sign-flip test over source groups does not reject; tail is its two-sided p-value at 0.

    If each group's difference is symmetric about the true mean, all 2 ** G sign patterns are equally likely, however
    few the groups. The ends are the floor(a 2 ** G)-th smallest and largest of the means of the non-empty subsets of
    groups, a = (1 - level) / 2 (Hartigan 1969, JASA 64:1303, typical values); where that is none, the interval is
    None. Cases without sources are groups of one. Raises ValueError on no groups.

    >>> found = sign_flip([(1, k) for k in (1, 2, 3, 4, 5, 6)], 1)
    >>> found.interval, found.method, found.tail
    ((Fraction(1, 1), Fraction(6, 1)), 'exact, 64 sign patterns', Fraction(1, 32))
    """
    if not groups:
        raise ValueError("a sign-flip test needs at least one group")
    n, tail = len(groups), _tail(level)
    patterns = f"{2 ** n if n <= EVERY_PATTERN else f'2**{n}'} sign patterns"
    turn = -1 if sum(total for _, total in groups) < 0 else 1
    p_value = min(Fraction(1), 2 * flip_tail(turn * total for _, total in groups))
    rank = math.floor(tail * 2 ** n)
    if not rank:
        reason = f"fewer than {groups_needed_for(tail)} groups carry no {100 * float(level):g}% interval"
        return Interval(None, f"exact, {patterns}", True, reason, p_value)
    places = math.prod(sum(map(abs, values)) // (math.gcd(*values) or 1) + 1 for values in zip(*groups))
    work = min(2 ** (n + 1), n * places)
    if work <= COUNTED_SUMS:
        ways = _count([((0, 0), 1), (group, 1)] for group in groups)
        del ways[0, 0]                                          # the empty subset has no mean
        counted = _Counted(ways)
        ends = counted.reached(rank), counted.reached(2 ** n - rank)
    else:
        wanted = Fraction(2 * rank + 1, 2 ** (n + 1))           # the empty subset, and rank others: more than rank
        ends = _flip_end(groups, wanted), -_flip_end([(cases, -total) for cases, total in groups], wanted)
    return Interval((ends[0] / unit, ends[1] / unit), f"{'exact' if work <= COUNTED_SUMS else 'numerical'}, {patterns}",
                    work <= COUNTED_SUMS, None, p_value)


# === Slices ===========================================================================================================

def adjusted_p_values(slices: Sequence[Sequence[int]]) -> tuple[list[Fraction], str]:
    """Return a p-value a slice that allows for all the slices looked at, and the method: the single-step maximum.

    slices[j][g] is the sum of numerators of slice j's cases in source group g (0 where it has none). A sign pattern
    turns whole groups, in all slices alike, so slices that share cases move together. The statistic of a slice is its
    |signed sum| over the root of its sum of squares; its p-value is the share of patterns under which the largest
    statistic of any slice is at least the one observed. A slice without any difference has p = 1. Exact for up to
    EVERY_PATTERN groups, else SIGN_PATTERNS random patterns and (1 + k) / (1 + N). Westfall & Young (1993).

    >>> adjusted_p_values([[1, 1, 1, 1], [1, 0, 0, 0]])
    ([Fraction(1, 8), Fraction(1, 1)], 'exact, 16 sign patterns')
    """
    n = len(slices[0]) if slices else 0
    observed = [sum(column) ** 2 / (sum(value * value for value in column) or 1) for column in slices]
    largest = list(_largest(tuple(map(tuple, slices))))
    if n > EVERY_PATTERN:
        largest.append(max(observed))                  # the pattern observed is one of those that could be drawn
    largest.sort()
    method = f"exact, {2 ** n}" if n <= EVERY_PATTERN else f"sampled, {SIGN_PATTERNS}"
    return [Fraction(len(largest) - bisect_left(largest, value), len(largest)) for value in observed], (
        f"{method} sign patterns" + f", seed {SEED}" * (n > EVERY_PATTERN))


def smallest_p_values(slices: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]]) -> list[Fraction]:
    """Return the least adjusted p-value that each slice could have: with all of its groups moved one way.

    The other slices are as seen. sizes[j][g] is by how much group g of slice j then moves, its number of cases.

    >>> smallest_p_values([[1, -1, 1, 0], [0, 1, 0, 0]], [[1, 1, 1, 1], [0, 1, 0, 0]])
    [Fraction(1, 8), Fraction(1, 1)]
    """
    found, largest = [], _largest(tuple(map(tuple, slices)))
    for column in sizes:
        most, squares = sum(column) ** 2, sum(value * value for value in column)
        drawn, few = int(len(column) > EVERY_PATTERN), sum(map(bool, column)) <= 30
        signed = _signed_sums(column) if few else itertools.repeat(0)       # no random pattern turns more all one way
        reached = sum(total * total == most or other * squares >= most * (1 - 1e-12)
                      for total, other in zip(signed, largest))
        found.append(Fraction(reached + drawn, len(largest) + drawn))
    return found


@functools.lru_cache(maxsize=1)
def _largest(slices: tuple[tuple[int, ...], ...]) -> list[float]:
    """Return the largest statistic of any slice under each sign pattern."""
    largest: list[float] = []
    for column in slices:
        squares = sum(value * value for value in column) or 1
        statistics = [total * total / squares for total in _signed_sums(column)]
        largest = list(map(max, largest, statistics)) if largest else statistics
    return largest


def _signed_sums(column: Sequence[int]) -> list[int]:
    return (_every_signed_sum if len(column) <= EVERY_PATTERN else _random_signed_sums)(column)


def _every_signed_sum(column: Sequence[int]) -> list[int]:
    """Return the sums under all sign patterns; the first sign stays, for turning all signs changes no size."""
    sums = list(column[:1])
    for value in column[1:]:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums


def _random_signed_sums(column: Sequence[int]) -> list[int]:
    """Return the sums under SIGN_PATTERNS random patterns, the same ones for every slice.

    All patterns are added up at once: bit p of a group's random number says whether pattern p takes the group, and
    planes[i] holds bit i of all sums, so that a carry runs through all of them in a few operations.
    """
    generator = random.Random(SEED)
    planes = [0] * (sum(map(abs, column)).bit_length() + 1)
    everyone = (1 << SIGN_PATTERNS) - 1
    for value in column:
        taken = generator.getrandbits(SIGN_PATTERNS)
        if value < 0:
            taken ^= everyone                          # leaving a negative value out is taking its size
        for place in range(value.bit_length()):
            carry, at = taken if abs(value) >> place & 1 else 0, place
            while carry:
                planes[at], carry = planes[at] ^ carry, planes[at] & carry
                at += 1
    sums = [0] * SIGN_PATTERNS
    for i, plane in enumerate(planes):
        if plane:
            bits = f"{plane:0{SIGN_PATTERNS}b}".encode()
            sums = [total + (1 << i) if bit == 49 else total for total, bit in zip(sums, bits)]     # 49: the digit 1
    whole = sum(map(abs, column))
    return [2 * total - whole for total in sums]


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
