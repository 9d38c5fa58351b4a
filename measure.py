"""How fast is a comparison, and do its intervals keep their promise? The project's own benchmark.

    $ python3 measure.py speed --cases 44
    compare.py, all of it, on cases of 5 trials: processor seconds and MB of the cheapest of 3. Python 3.11.7, x86_64.

    | cases | read from   | processor s | MB | times Python's start | times json.loads |
    |-------|-------------|-------------|----|----------------------|------------------|
    | 44    | run records | 0.349       | 24 | 4.16                 | 86.4             |
    | 44    | a trial log | 0.308       | 24 | 3.67                 | 73.6             |
    ...

`speed` times compare.py on synthetic runs beside Python's own start and a plain json.loads of the same rows, and single
figures beside a plain way to the same. `coverage` draws worlds whose true difference is known, and counts how often
each interval holds it and how often each verdict is wrong. Markdown on stdout, progress on stderr where that is a
terminal. Writes into a temporary folder only, needs a Unix (wait4). Exit status: 0 done, 1 refused, 2 bad usage, 130
interrupted.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import itertools
import json
import math
import multiprocessing
import platform
import random
import subprocess
import tempfile
import time
import timeit
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core import decide
from core import files
from core.figures import MOST_DRAWN
import harness
from core import intervals
from core.intervals import RESAMPLES, SEED, Groups, IndexStream

HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = ("original", "typo", "uppercase", "greeting", "emphasis", "translation")
PROCESSES = 3                 # of which the cheapest counts
PLAIN_WAYS = 2_000_000        # compositions that can be gone through in some seconds

MARGIN = Fraction(1, 10)      # where the true difference is 0; else as large as it is: the worst place for a claim
SIZES = {"equal": (4,), "unequal": (1, 1, 2, 3, 5, 9), "dominated": (1, 1, 1, 1, 1, 20)}  # of the sources, in turn
LOOKS, CANDIDATES, SOURCES_A_LOOK = (5, 10), (5, 20), 6

Interval = tuple[Fraction, Fraction]
World = tuple[list[int], list[int], decide.Evidence]  # differences of each case, of each trial, and by source
COVERED, MOST_COVERED = ("by case", "by source", "sign-flip", "by trial"), 50   # sources, beyond which only claims
CLAIMED = ("better", "equivalent", "not worse", "worse", "none", "wrong", "interval alone")


def progress(text: str) -> None:
    """Tell a person what is being done, in place of what was told before; nothing in a log or a pipe."""
    if sys.stderr.isatty():
        print(f"\r\33[K{text}", end="", file=sys.stderr, flush=True)


def markdown(*lines: Sequence[str]) -> str:
    """Return lines of cells, the first of them titles, as a Markdown table with even columns.

    >>> print(markdown(("a", "b"), ("1", "long")), end="")
    | a | b    |
    |---|------|
    | 1 | long |
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [f"| {' | '.join(map(str.ljust, line, widths))} |\n" for line in lines]
    return rows[0] + f"|{'|'.join('-' * (width + 2) for width in widths)}|\n" + "".join(rows[1:])


def short(value: float) -> str:
    """Return a number in three digits or more.

    >>> short(0.00123), short(12.0), short(1234.5)
    ('0.00123', '12', '1,234')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# === The plain way: 95% intervals as their definitions say ===


def plain_sampled(numerators: Sequence[int], unit: int) -> Interval:
    """Return intervals.sampled_interval by one randrange a draw."""
    rng, n = random.Random(SEED), len(numerators)
    sums = sorted(sum(numerators[rng.randrange(n)] for _ in range(n)) for _ in range(RESAMPLES))
    low, high = RESAMPLES // 40, math.ceil(RESAMPLES * 39 / 40) - 1
    return Fraction(sums[low], n * unit), Fraction(sums[high], n * unit)


def plain_exact(groups: Groups, unit: int) -> Interval:
    """Return the exact bootstrap interval by source group from every composition of the draws."""
    def compositions(kinds: Sequence[tuple[tuple[int, int], int]], draws: int) -> Iterator[tuple[int, int, int]]:
        (size, total), count = kinds[0]
        for k in range(draws + 1) if kinds[1:] else (draws,):
            for other_size, other_total, ways in compositions(kinds[1:], draws - k) if kinds[1:] else ((0, 0, 1),):
                yield k * size + other_size, k * total + other_total, math.comb(draws, k) * count ** k * ways

    means: Counter[Fraction] = Counter()
    for size, total, ways in compositions(list(Counter(groups).items()), len(groups)):
        means[Fraction(total, size * unit)] += ways
    ordered = sorted(means)
    running = list(itertools.accumulate(means[mean] for mean in ordered))
    low, high = (next(i for i, ways in enumerate(running) if 40 * ways >= part * running[-1]) for part in (1, 39))
    return ordered[low], ordered[high]


# === Speed ===


class Cost(NamedTuple):
    processor_s: float
    mb: float  # of memory at the peak


def cost_of(*args: str) -> Cost:
    """Return the cost of the cheapest of PROCESSES processes, each a Python called with these arguments."""
    costs = []
    for _ in range(PROCESSES):
        process = subprocess.Popen([sys.executable, *args], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=HERE)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise files.RunError(f"python3 {args[0]} ended with {process.returncode}; run it by hand to see why")
        costs.append(Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))
    return min(costs)


def make_runs(folder: str, n: int) -> None:
    """Write a case set of n cases, in sources of 1 to 6, two run records of 5 trials, and the same as a trial log.

    They are cases.json, old.json, new.json and trials.jsonl in this folder.
    """
    rng = random.Random(SEED)
    right, wrong = ({"category": category, "needs_human": False} for category in ("delivery", "other"))
    cases: list[dict[str, Any]] = []
    while len(cases) < n:
        tags = {"topic": f"topic {rng.randrange(12)}", "source": f"message {len(cases) + 1}"}
        for variant in VARIANTS[:min(rng.randint(1, 6), n - len(cases))]:
            cases.append({"id": f"{tags['source']}, {variant}", "split": "dev", "input": {"text": "Where is it?"},
                          "expected": right,
                          "tags": {"language": "es" if variant == "translation" else "en", "variant": variant} | tags})
    path = os.path.join(folder, "cases.json")
    files.write("a synthetic case set", path, json.dumps({"name": "synthetic", "version": "1", "cases": cases}))
    case_set, task = harness.load_cases(path), harness.load_task("triage_task")
    header = harness.run_header(case_set, task, harness.load_system("triage_task:rules"), None, {
        "splits": ["dev"], "trials": 5, "shard": None, "workers": 1, "started_at": ""})
    rows = []
    for name in ("old", "new"):
        outcomes = {}
        for case in case_set.cases:
            chance = rng.random()
            for trial in range(1, 6):
                passes = rng.random() < chance
                outcomes[case.id, trial] = {
                    "seed": harness.trial_seed(trial), "output": right if passes else wrong,
                    "metadata": {"prompt_eval_count": 135, "eval_count": rng.randint(14, 19)},
                    "elapsed_s": round(rng.uniform(1, 3), 3), "at": harness.utc(rng.random() * 1e6)}
                rows.append({"task_id": case.id, "seed": trial, "config": name, "score": int(passes),
                             "cluster": case.tags["source"], "tags": {**case.tags, "source": None}})
        record = harness.make_record(header, case_set, task, outcomes)
        files.write("a run record", os.path.join(folder, f"{name}.json"), harness.record_text(record))
    files.write("a trial log", os.path.join(folder, "trials.jsonl"), "".join(map(files.json_line, rows)))


def process_rows(cases: int) -> list[list[str]]:
    """Return the table's rows of whole processes: what they cost, and in times of Python's start and of json.loads."""
    with tempfile.TemporaryDirectory() as folder:
        progress(f"{cases} cases: making runs")
        maker = multiprocessing.Process(target=make_runs, args=(folder, cases))  # so that its memory is not ours
        maker.start()
        maker.join()
        case_set, old, new, log = (os.path.join(folder, name)
                                   for name in ("cases.json", "old.json", "new.json", "trials.jsonl"))
        progress(f"{cases} cases: compare.py")
        start = cost_of("-c", "")
        rows = []
        for what, args, plain_read in (
                ("run records", [old, new, "--cases", case_set], f"json.load(open({old!r})); json.load(open({new!r}))"),
                ("a trial log", ["old", "new", "--trials", log], f"[json.loads(line) for line in open({log!r})]")):
            code = f"import json, time; start = time.process_time(); {plain_read}; print(time.process_time() - start)"
            plain = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
            found = cost_of("compare.py", *args)
            rows.append([f"{cases:,}", what, short(found.processor_s), f"{found.mb:,.0f}",
                         short(found.processor_s / start.processor_s),
                         short(found.processor_s / float(plain))])
    return rows


def figure_rows(cases: int) -> list[list[str]]:
    """Return the table's rows of single figures: seconds, those of the plain way, and how many times as fast."""
    sizes = list(itertools.islice(itertools.cycle(range(1, 7)), cases * 2 // 7 or 1))
    sizes[-1] += cases - sum(sizes)
    numerators, each, evidence = draw_world(WORLDS[2], sizes, 5, random.Random(SEED))
    groups, unit = evidence.groups, evidence.unit
    ways = math.comb(len(groups) + len(set(groups)) - 1, len(groups))
    rows = []
    for name, work, plain in (
            *[("sampled, by case", lambda: intervals.sampled_interval(numerators, unit, IndexStream(SEED)),
               lambda: plain_sampled(numerators, unit))] * (cases <= MOST_DRAWN),
            ("exact, by case", lambda: intervals.exact_interval(numerators, unit), None),
            ("by trial", lambda: intervals.exact_interval(each, 1), None),
            ("by source", lambda: intervals.source_interval(groups, unit),
             (lambda: plain_exact(groups, unit)) if ways <= PLAIN_WAYS else None),
            ("sign-flip", lambda: intervals.sign_flip(groups, unit), None)):
        progress(f"{cases} cases: {name}")
        taken = timeit.timeit(work, number=1, timer=time.process_time)
        slow = plain and timeit.timeit(plain, number=1, timer=time.process_time)
        rows.append([f"{cases:,}", name, short(taken), *([short(slow), short(slow / taken)] if slow else ["", ""])])
    return rows


def cmd_speed(args: argparse.Namespace) -> int:
    processes = [row for cases in args.cases for row in process_rows(cases)]
    alone = [row for cases in args.cases for row in figure_rows(cases)]
    progress("")
    print(f"compare.py, all of it, on cases of 5 trials: processor seconds and MB of the cheapest of {PROCESSES}. "
          f"Python {platform.python_version()}, {platform.machine()}.\n")
    print(markdown(("cases", "read from", "processor s", "MB", "times Python's start", "times json.loads"), *processes))
    print("Single figures, done once, beside a plain way to the same figure where that ends.\n")
    print(markdown(("cases", "figure", "processor s", "plain processor s", "times as fast"), *alone), end="")
    return 0


# === Coverage ===


Moves = tuple[tuple[Fraction, int], ...]  # moves of a chance to pass, each with its weight


def moves(*weighted: tuple[str, int]) -> Moves:
    return tuple((Fraction(move), weight) for move, weight in weighted)


class Kind(NamedTuple):
    """A kind of world: the chances of sources to pass before, and by how much they move.

    Moves are drawn for each source, or each case, and are parts of the chance where relative; none leads out of 0 to 1.
    luck is by how much all chances of one side and trial are higher, or lower. shapes are names of sizes and numbers of
    trials.
    """
    name: str
    moves: Moves
    by_source: bool = True
    before: tuple[Fraction, ...] = (Fraction(2, 5), Fraction(1, 2), Fraction(3, 5))
    relative: bool = False
    luck: float = 0.0
    shapes: tuple[tuple[str, int], ...] = tuple(itertools.product(("equal", "unequal"), (1, 5)))

    @property
    def truth(self) -> Fraction:
        """The mean move. Moves do not depend on sizes: over cases and over sources it is the same."""
        move = sum(move * weight for move, weight in self.moves) / Fraction(sum(weight for _, weight in self.moves))
        return move * sum(self.before) / len(self.before) if self.relative else move

    @property
    def margin(self) -> Fraction:
        return abs(self.truth) or MARGIN


EITHER_WAY = moves(("-0.2", 1), ("0.4", 1))
ALL_OF_A_TENTH, ALWAYS, SINGLE = moves(("-1", 1), ("0", 9)), (Fraction(1),), (("equal", 1), ("unequal", 1))
CEILING = Fraction(9, 10), Fraction(19, 20), Fraction(1)
WORLDS = (
    Kind("A/A: nothing moves", moves(("0", 1))),
    Kind("cases move -0.2 or +0.4", EITHER_WAY, False),
    Kind("sources move -0.2 or +0.4", EITHER_WAY),
    Kind("1 source in 4 moves -0.4", moves(("0", 3), ("-0.4", 1))),
    Kind("sure cases, 1 source in 20 loses all", moves(("-1", 1), ("0", 19)), True, ALWAYS, True, 0, SINGLE),
    Kind("sure cases, 1 source in 10 loses all", ALL_OF_A_TENTH, True, ALWAYS, True, 0, SINGLE),
    Kind("near the ceiling, 1 source in 10 loses all", ALL_OF_A_TENTH, True, CEILING, True),
    Kind("near the ceiling, 1 source in 5 loses half", moves(("-0.5", 1), ("0", 4)), True, CEILING, True),
    Kind("1 source in 4 passes, of these 2 in 5 lose all", moves(("-1", 2), ("0", 3)), True,
         (Fraction(1), *[Fraction(0)] * 3), True, 0, SINGLE),
    Kind("sizes 1, 1, 1, 1, 1, 20, 1 source in 10 loses all", ALL_OF_A_TENTH, True, CEILING, True, 0,
         (("dominated", 1), ("dominated", 5))),
    Kind("trials share their luck, all move -0.1", moves(("-0.1", 1)), luck=0.1),
)


def draw_world(kind: Kind, sizes: Sequence[int], count: int, rng: random.Random) -> World:
    """Return a world of this kind that has sources of these sizes and `count` trials a case."""
    steps, weights = zip(*((float(move), weight) for move, weight in kind.moves), strict=True)
    luck = [[rng.choice((-kind.luck, kind.luck)) for _ in range(count)] for _ in range(2)]
    numerators: list[int] = []
    groups: list[tuple[int, int]] = []
    each: list[int] = []
    passed: list[Fraction] = []  # the baseline's share by source
    for size in sizes:
        before, passes = float(rng.choice(kind.before)), 0
        (together,) = rng.choices(steps, weights)
        for _ in range(size):
            move = together if kind.by_source else rng.choices(steps, weights)[0]
            after = before + move * (before if kind.relative else 1)
            for one, other in zip(*luck, strict=True):
                old = rng.random() < before + one
                each.append((rng.random() < after + other) - old)
                passes += old
            numerators.append(sum(each[-count:]))
        groups.append((size, sum(numerators[-size:])))
        passed.append(Fraction(passes, size * count))
    return numerators, each, decide.Evidence(groups, count, max(passed), 1 - min(passed))


def wrong_claims(kind: Kind) -> set[str]:
    """Return the claims that are false in such a world, given its margin."""
    truth, margin = kind.truth, kind.margin
    return {claim for claim, false in (
        ("better", truth <= 0), ("worse", truth >= -margin), ("equivalent", abs(truth) >= margin),
        ("not worse", truth <= -margin)) if false}


def resampled_sources(groups: Groups, unit: int, rng: random.Random) -> tuple[float, float]:
    """Return the bootstrap interval by source from 400 resamples; the exact one takes too long here."""
    drawn = (zip(*rng.choices(groups, k=len(groups)), strict=True) for _ in range(400))
    means = sorted(sum(totals) / sum(sizes) / unit for sizes, totals in drawn)
    return means[10], means[389]


def simulate(kind: Kind, sizes: Sequence[int], count: int, worlds: int, seed: str) -> tuple[Counter[str], Counter[str]]:
    """Return in how many worlds each interval holds the truth, and in how many each claim is made.

    Counted with the claims are "interval alone", where the sign-flip interval lies above the margin, "wrong", where any
    claim is, and "none".
    """
    rng = random.Random(seed)
    held: Counter[str] = Counter()
    made: Counter[str] = Counter()
    limits, wrong, truth = decide.Limits(margin=kind.margin), wrong_claims(kind), kind.truth
    for _ in range(worlds):
        numerators, each, evidence = draw_world(kind, sizes, count, rng)
        if len(sizes) <= MOST_COVERED:
            found = {"by case": intervals.exact_interval(numerators, count).interval,
                     "by source": resampled_sources(evidence.groups, count, rng),
                     "by trial": intervals.exact_interval(each, 1).interval}
            held.update({name: ends[0] <= truth <= ends[1] for name, ends in found.items() if ends})
            held["sign-flip"] += not any(evidence.above(sign, sign * truth, limits.alpha) for sign in (1, -1))
        claims = [claim for claim in decide.CLAIMS if decide.holds(claim, evidence, limits)]
        made.update(claims or ["none"])
        made.update({"interval alone": evidence.above(1, -kind.margin, limits.alpha), "wrong": bool(wrong & {*claims})})
    return held, made


def false_gains(worlds: int, seed: int) -> list[list[str]]:
    """Return the rows of the table of looks and candidates: how often a gain is claimed where nothing differs.

    Sources of 4 cases, 5 trials. A look has SOURCES_A_LOOK more of them, candidates are compared on 20; every candidate
    meets the same baseline.
    """
    def passes(chances: Sequence[float]) -> list[int]:
        return [sum(rng.random() < chance for _ in range(20)) for chance in chances]

    def seen(what: str, number: int) -> list[tuple[list[int], list[int], decide.Limits]]:
        """Return what is compared, each baseline and candidate with what is declared."""
        chances = [rng.choice((0.4, 0.5, 0.6)) for _ in range(SOURCES_A_LOOK * number if what == "looks" else 20)]
        before = passes(chances)
        if what == "candidates":
            return [(before, passes(chances), decide.Limits(among=number)) for _ in range(number)]
        after = passes(chances)
        return [(before[:SOURCES_A_LOOK * k], after[:SOURCES_A_LOOK * k], decide.Limits(look=(k, number)))
                for k in range(1, number + 1)]

    def gain(before: Sequence[int], after: Sequence[int], limits: decide.Limits) -> bool:
        evidence = decide.Evidence([(4, new - old) for old, new in zip(before, after, strict=True)], 5)
        return decide.holds("better", evidence, limits)

    rng, rows = random.Random(seed), []
    for what, number in [*(("looks", n) for n in LOOKS), *(("candidates", n) for n in CANDIDATES)]:
        false: Counter[str] = Counter()
        for _ in range(worlds):
            compared = seen(what, number)
            false.update({"plain": any(gain(old, new, decide.Limits()) for old, new, _ in compared),
                          "declared": any(gain(*each) for each in compared)})
        rows.append([f"{number} {what}", *(f"{false[way] / worlds:.1%}" for way in ("plain", "declared")),
                     f"{error(false['plain'], worlds):.1%}"])
    return rows


def error(count: int, worlds: int) -> float:
    """Return the Monte Carlo standard error of a share of worlds; none or all of them count as half a world off.

    >>> error(50, 100), round(error(0, 100), 4)
    (0.05, 0.0071)
    """
    share = min(max(count, 0.5), worlds - 0.5) / worlds
    return math.sqrt(share * (1 - share) / worlds)


def cmd_coverage(args: argparse.Namespace) -> int:
    coverage, claimed = [], []
    for kind, number in itertools.product(WORLDS, args.groups):
        made: Counter[str] = Counter()
        for name in dict.fromkeys(name for name, _ in kind.shapes):
            sizes, sides = list(itertools.islice(itertools.cycle(SIZES[name]), number)), []
            counts = [count for shape, count in kind.shapes if shape == name]
            for count in counts:
                progress(f"{kind.name}: {number} sources, {name} sizes, {count} trials")
                held, some = simulate(kind, sizes, count, args.worlds, f"{args.seed} {kind.name} {sizes} {count}")
                sides.append(held)
                made += some
            worst = max(error(held[title], args.worlds) for held in sides for title in COVERED)
            coverage += [[kind.name, str(number), name, " / ".join(map(str, counts)), *(" / ".join(
                f"{held[title] / args.worlds:.1%}" for held in sides) for title in COVERED), f"{worst:.1%}"]
                ] * (number <= MOST_COVERED)
        wrong, worlds = wrong_claims(kind) | {"wrong"}, args.worlds * len(kind.shapes)
        wrong |= {"interval alone"} if "not worse" in wrong else set()
        claimed.append([kind.name, f"{float(kind.truth):+.3g}", str(number), *(
            f"{made[claim] / worlds:.1%}{' x' * (claim in wrong)}" for claim in CLAIMED),
            f"{error(made['wrong'], worlds):.1%}"])
    progress("looks and candidates")
    gains = false_gains(args.worlds, args.seed)
    progress("")
    print(f"The truth lies within the 95% interval: share of {args.worlds} worlds (seed {args.seed}).\n"
          "+-: the largest Monte Carlo standard error of the row.\n")
    print(markdown(("world", "sources", "sizes", "trials", *COVERED, "+-"), *coverage))
    print(f"Claims with a margin as large as the true difference, {float(MARGIN)} where that is 0: share of "
          f"{args.worlds} worlds of each size and number of trials.\nx: wrong in such a world.\n")
    print(markdown(("world", "truth", "sources", *CLAIMED, "+-"), *claimed))
    print(f"A gain is claimed where nothing differs: share of {args.worlds} worlds.\n")
    print(markdown(("what was done", "as if done once", "declared", "+-"), *gains), end="")
    return 0


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "measure.py")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="speed | coverage")
    speed = files.add_verb(verbs, "speed", "Print the processor time and memory of each stage of a comparison.",
                           "python3 measure.py speed --cases 44 1000")
    speed.add_argument("--cases", type=int, nargs="+", default=[44, 1000, 10_000, 100_000], metavar="N",
                       help="numbers of cases (default: 44 1000 10000 100000)")
    speed.set_defaults(command=cmd_speed)
    coverage = files.add_verb(verbs, "coverage", "Print how often intervals and claims are right, in simulated worlds.",
                              "python3 measure.py coverage --worlds 20 --groups 6 9")
    coverage.add_argument("--worlds", type=int, default=100, metavar="N",
                          help="worlds of each kind, number and sizes of sources, and trials (default: %(default)s)")
    coverage.add_argument("--groups", type=int, nargs="+", default=[6, 9, 15, 20, 30, 50, 100], metavar="G",
                          help="numbers of sources, from 6 up (default: 6 9 15 20 30 50 100)")
    coverage.add_argument("--seed", type=int, default=SEED, help="of the worlds (default: %(default)s)")
    coverage.set_defaults(command=cmd_coverage)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.verb == "speed" and min(args.cases) < 1:
        parser.error("--cases: a comparison has at least 1 case")
    if args.verb == "coverage" and (args.worlds < 1 or min(args.groups) < decide.MIN_GROUPS):
        parser.error(f"--worlds is at least 1, and --groups at least {decide.MIN_GROUPS}: fewer carry no interval")
    return int(args.command(args))


if __name__ == "__main__":
    sys.exit(files.run_command(main))
