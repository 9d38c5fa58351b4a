"""How fast is a comparison, and do its intervals keep their promise? The project's own benchmark.

    $ python3 measure.py speed --cases 44
    compare.py, all of it, on cases of 5 trials: processor seconds and MB of the cheapest of 3. Python 3.11.7, x86_64.
    A plain loop draws 2000 resamples of the cases, by one randrange a draw.

    | cases | read from   | processor s | MB | times Python's start | times json.loads | times a plain loop |
    |-------|-------------|-------------|----|----------------------|------------------|--------------------|
    | 44    | run records | 0.305       | 24 | 7.19                 | 172              | 4.95               |
    | 44    | a trial log | 0.306       | 24 | 7.21                 | 165              | 4.96               |

`speed` times compare.py on synthetic runs beside Python's own start, a plain json.loads of the same rows, and a plain
bootstrap of as many cases. `coverage` draws worlds whose true difference is known, and counts how often each interval
holds it and how often each verdict is wrong. Markdown on stdout, progress on stderr where that is a terminal. Writes
into a temporary folder only, needs a Unix (wait4). Exit status: 0 done, 1 refused, 2 bad usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import itertools
import json
import math
import operator
import platform
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from core import decide, files, intervals
import harness
from core.intervals import RESAMPLES, SEED, Groups

HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = ("original", "typo", "uppercase", "greeting", "emphasis", "translation")
PROCESSES = 3                 # of which the cheapest counts
PLAIN_PART = 100              # of the resamples of a plain loop one in so many is drawn

MARGIN = Fraction(1, 10)      # where the true difference is 0; else as large as it is: the worst place for a claim
SIZES = {"equal": (4,), "unequal": (1, 1, 2, 3, 5, 9), "dominated": (1, 1, 1, 1, 1, 20)}  # of the sources, in turn
SOURCES_A_LOOK, SOURCES_COMPARED = 6, 20
TIMES_WORLDS = 10             # as many worlds of looks and candidates: their rates lie close together
COVERED, MOST_COVERED = ("by case", "by source", "sign-flip", "by trial"), 50   # sources, beyond which only claims
CLAIMED = ("better", "equivalent", "not worse", "worse", "none", "wrong", "interval alone")


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


# === Speed ===


def plain_sampled(numerators: Sequence[int], unit: int, resamples: int = RESAMPLES) -> tuple[Fraction, Fraction]:
    """Return intervals.sampled_interval by one randrange a draw."""
    rng, n = random.Random(SEED), len(numerators)
    sums = sorted(sum(numerators[rng.randrange(n)] for _ in range(n)) for _ in range(resamples))
    return Fraction(sums[resamples // 40], n * unit), Fraction(sums[-1 - resamples // 40], n * unit)


def cost_of(*args: str) -> tuple[float, float]:
    """Return processor seconds, and MB of memory at the peak, of the cheapest of PROCESSES Pythons so called."""
    costs = []
    for _ in range(PROCESSES):
        process = subprocess.Popen([sys.executable, *args], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=HERE)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise files.RunError(f"python3 {args[0]} ended with {process.returncode}; run it by hand to see why")
        costs.append((used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))
    return min(costs)


def make_runs(folder: str, n: int) -> None:
    """Write a case set of n cases, in sources of 1 to 6, two run records of 5 trials, and the same as a trial log.

    They are cases.json, old.json, new.json and trials.jsonl in this folder.
    """
    rng, rows = random.Random(SEED), []
    right, wrong = ({"category": category, "needs_human": False} for category in ("delivery", "other"))
    cases = [{"id": f"message {source}, {variant}", "split": "dev",
              "input": {"text": "Where is it?"}, "expected": right,
              "tags": {"language": "es" if variant == "translation" else "en", "variant": variant,
                       "topic": f"topic {source % 12}", "source": f"message {source}"}}
             for source in range(n) for variant in VARIANTS[:1 + source % 6]][:n]
    path = os.path.join(folder, "cases.json")
    files.write("a synthetic case set", path, json.dumps({"name": "synthetic", "version": "1", "cases": cases}))
    case_set, task = harness.load_cases(path), harness.load_task("triage_task")
    header = harness.run_header(case_set, task, harness.load_system("triage_task:rules"), None, {
        "splits": ["dev"], "trials": 5, "shard": None, "workers": 1, "started_at": ""})
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


def processor_s(code: str) -> float:
    """Return the processor seconds of these lines, in a Python of their own."""
    timed = f"import json, time; start = time.process_time(); {code}; print(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", timed], stdout=subprocess.PIPE, cwd=HERE, check=True).stdout)


def speed_rows(cases: int) -> list[list[str]]:
    """Return the table's rows: what compare.py costs, and in times of what is plainer."""
    with tempfile.TemporaryDirectory() as folder:
        files.STAGES.enter(f"{cases} cases: making runs")
        processor_s(f"import measure; measure.make_runs({folder!r}, {cases})")  # elsewhere: its memory is not ours
        case_set, old, new, log = (os.path.join(folder, name)
                                   for name in ("cases.json", "old.json", "new.json", "trials.jsonl"))
        files.STAGES.enter(f"{cases} cases: compare.py")
        began = time.process_time()
        plain_sampled([0] * cases, 1, RESAMPLES // PLAIN_PART)
        loop_s = (time.process_time() - began) * PLAIN_PART
        start_s, _ = cost_of("-c", "")
        rows = []
        for read_from, args, read in (
                ("run records", [old, new, "--cases", case_set], f"json.load(open({old!r})); json.load(open({new!r}))"),
                ("a trial log", ["old", "new", "--trials", log], f"[json.loads(line) for line in open({log!r})]")):
            compare_s, mb = cost_of("compare.py", *args)
            times = [short(compare_s / plain_s) for plain_s in (start_s, processor_s(read), loop_s)]
            rows.append([f"{cases:,}", read_from, short(compare_s), f"{mb:,.0f}", *times])
    return rows


def cmd_speed(args: argparse.Namespace) -> int:
    rows = [row for cases in args.cases for row in speed_rows(cases)]
    print(f"compare.py, all of it, on cases of 5 trials: processor seconds and MB of the cheapest of {PROCESSES}. "
          f"Python {platform.python_version()}, {platform.machine()}.\n"
          f"A plain loop draws {RESAMPLES} resamples of the cases, by one randrange a draw.\n")
    print(markdown(("cases", "read from", "processor s", "MB", "times Python's start", "times json.loads",
                    "times a plain loop"), *rows), end="")
    return 0


# === Coverage ===


class Kind(NamedTuple):
    """A kind of world: the chances of sources to pass before, and by how much they move, both in hundredths.

    Moves are drawn for each source, or each case, and are parts of the chance where relative; none leads out of 0 to 1.
    luck is by how much all chances of one side and trial are higher, or lower.
    """
    name: str
    moves: Sequence[int]         # each as likely as the others
    before: Sequence[int] = (40, 50, 60)
    relative: bool = False
    trials: Sequence[int] = (1, 5)
    sizes: Sequence[str] = ("equal", "unequal")
    by_source: bool = True
    luck: float = 0.0

    @property
    def truth(self) -> Fraction:
        """The mean move. Moves do not depend on sizes: over cases and over sources it is the same."""
        move = Fraction(sum(self.moves), 100 * len(self.moves))
        return move * sum(self.before) / (100 * len(self.before)) if self.relative else move

    @property
    def margin(self) -> Fraction:
        return abs(self.truth) or MARGIN


ALWAYS, CEILING, ALL_OF_A_TENTH = (100,), (90, 95, 100), (-100, *[0] * 9)
WORLDS = (
    Kind("A/A: nothing moves", (0,)),
    Kind("cases move -0.2 or +0.4", (-20, 40), by_source=False),
    Kind("sources move -0.2 or +0.4", (-20, 40)),
    Kind("1 source in 4 moves -0.4", (0, 0, 0, -40)),
    Kind("sure cases, 1 source in 20 loses all", (-100, *[0] * 19), ALWAYS, True, (1,)),
    Kind("sure cases, 1 source in 10 loses all", ALL_OF_A_TENTH, ALWAYS, True, (1,)),
    Kind("near the ceiling, 1 source in 10 loses all", ALL_OF_A_TENTH, CEILING, True),
    Kind("near the ceiling, 1 source in 5 loses half", (-50, 0, 0, 0, 0), CEILING, True),
    Kind("1 source in 4 passes, of these 2 in 5 lose all", (-100, -100, 0, 0, 0), (100, 0, 0, 0), True, (1,)),
    Kind("sizes 1, 1, 1, 1, 1, 20, 1 source in 10 loses all", ALL_OF_A_TENTH, CEILING, True, sizes=("dominated",)),
    Kind("trials share their luck, all move -0.1", (-10,), luck=0.1),
)


World = tuple[list[int], list[int], decide.Evidence]     # differences of each case, of each trial, and by source


def draw_world(kind: Kind, sizes: Sequence[int], count: int, rng: random.Random) -> World:
    """Return a world of this kind that has sources of these sizes and `count` trials a case."""
    luck = [[rng.choice((-kind.luck, kind.luck)) for _ in range(count)] for _ in range(2)]
    old: list[int] = []  # passes of each trial
    new: list[int] = []
    passes = []  # of both sides, by source
    for size in sizes:
        before, together = rng.choice(kind.before) / 100, rng.choices(kind.moves)[0]
        for _ in range(size):
            move = (together if kind.by_source else rng.choices(kind.moves)[0]) / 100
            after = before + move * (before if kind.relative else 1)
            for luck_before, luck_after in zip(*luck, strict=True):
                old.append(int(rng.random() < before + luck_before))
                new.append(int(rng.random() < after + luck_after))
        passes.append([sum(side[-size * count:]) for side in (old, new)])
    passes_before, passes_after = zip(*passes, strict=True)
    each = list(map(operator.sub, new, old))
    numerators = [sum(each[first:first + count]) for first in range(0, len(each), count)]
    return numerators, each, decide.evidence_of(sizes, passes_before, passes_after, count, (0, 1))


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


def simulate(kind: Kind, sizes: Sequence[int], count: int, worlds: int, seed: str) -> Counter[str]:
    """Return in how many worlds each interval holds the truth, and each claim is made.

    Counted with the claims are "interval alone", where the sign-flip interval lies above the margin, "wrong", where any
    claim is, and "none".
    """
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    limits, wrong, truth = decide.Limits(margin=kind.margin), wrong_claims(kind), kind.truth
    for _ in range(worlds):
        numerators, each, evidence = draw_world(kind, sizes, count, rng)
        if len(sizes) <= MOST_COVERED:
            ends_by_name = {"by case": intervals.exact_interval(numerators, count).interval,
                            "by source": resampled_sources(evidence.groups, count, rng),
                            "by trial": intervals.exact_interval(each, 1).interval}
            found.update({name: ends[0] <= truth <= ends[1] for name, ends in ends_by_name.items() if ends})
            found["sign-flip"] += not any(evidence.above(sign, sign * truth, limits.alpha) for sign in (1, -1))
        claims = [claim for claim in decide.CLAIMS if decide.holds(claim, evidence, limits)]
        found.update(claims or ["none"])
        found["interval alone"] += evidence.above(1, -kind.margin, limits.alpha)
        found["wrong"] += bool(wrong & {*claims})
    return found


def draw_unchanged(sources: int, candidates: int, rng: random.Random) -> list[Groups]:
    """Return for each candidate its sources' differences from one baseline: each source has 4 cases of 5 trials."""
    chances = [rng.choice((0.4, 0.5, 0.6)) for _ in range(sources)]
    before, *others = ([sum(rng.random() < chance for _ in range(20)) for chance in chances]
                       for _ in range(1 + candidates))
    return [[(4, new - old) for old, new in zip(before, after, strict=True)] for after in others]


def false_gains(worlds: int, seed: int) -> list[list[str]]:
    """Return the rows of the table of looks and candidates: how often a gain is claimed where nothing differs.

    Each look sees SOURCES_A_LOOK more sources; candidates are compared with one baseline.
    """
    rng, rows = random.Random(seed), []
    for name, number in (("looks", 5), ("looks", 10), ("candidates", 5), ("candidates", 20)):
        plain = declared = 0
        for _ in range(worlds):
            if name == "looks":
                groups, = draw_unchanged(SOURCES_A_LOOK * number, 1, rng)
                seen = [(groups[:SOURCES_A_LOOK * k], decide.Limits(look=(k, number))) for k in range(1, number + 1)]
            else:
                seen = [(groups, decide.Limits(among=number))
                        for groups in draw_unchanged(SOURCES_COMPARED, number, rng)]
            plain += any(decide.holds("better", decide.Evidence(groups, 5), decide.Limits()) for groups, _ in seen)
            declared += any(decide.holds("better", decide.Evidence(groups, 5), limits) for groups, limits in seen)
        rows.append([f"{number} {name}", percent(plain / worlds), percent(declared / worlds),
                     percent(error(plain, worlds))])
    return rows


def error(count: int, worlds: int) -> float:
    """Return the Monte Carlo standard error of a share of worlds; none or all of them count as half a world off.

    >>> error(50, 100), round(error(0, 100), 4)
    (0.05, 0.0071)
    """
    share = min(max(count, 0.5), worlds - 0.5) / worlds
    return math.sqrt(share * (1 - share) / worlds)


def percent(share: float) -> str:
    return f"{share:.1%}"


def coverage_row(kind: Kind, name: str, number: int, by_count: Sequence[Counter[str]], worlds: int) -> list[str]:
    """Return how often each interval holds the truth, from counts for each number of trials."""
    shares = [" / ".join(percent(held[title] / worlds) for held in by_count) for title in COVERED]
    worst = max(error(held[title], worlds) for held in by_count for title in COVERED)
    return [kind.name, str(number), name, " / ".join(map(str, kind.trials)), *shares, percent(worst)]


def claims_row(kind: Kind, number: int, made: Counter[str], worlds: int) -> list[str]:
    """Return how often each claim is made, with an x where it is wrong in such a world."""
    wrong = wrong_claims(kind) | {"wrong"}
    if "not worse" in wrong:
        wrong.add("interval alone")
    shares = [percent(made[claim] / worlds) + (" x" if claim in wrong else "") for claim in CLAIMED]
    return [kind.name, f"{float(kind.truth):+.3g}", str(number), *shares, percent(error(made["wrong"], worlds))]


def cmd_coverage(args: argparse.Namespace) -> int:
    coverage, claimed = [], []
    for kind, number in itertools.product(WORLDS, args.groups):
        all_sizes: Counter[str] = Counter()
        for name in kind.sizes:
            files.STAGES.enter(f"{kind.name}: {number} sources, {name} sizes")
            sizes = list(itertools.islice(itertools.cycle(SIZES[name]), number))
            by_count = [simulate(kind, sizes, count, args.worlds, f"{SEED} {kind.name} {sizes} {count}")
                        for count in kind.trials]
            all_sizes = sum(by_count, all_sizes)
            if number <= MOST_COVERED:
                coverage.append(coverage_row(kind, name, number, by_count, args.worlds))
        claimed.append(claims_row(kind, number, all_sizes, args.worlds * len(kind.sizes) * len(kind.trials)))
    files.STAGES.enter("looks and candidates")
    gains = false_gains(TIMES_WORLDS * args.worlds, SEED)
    print(f"The truth lies within the 95% interval: share of {args.worlds} worlds (seed {SEED}).\n"
          "+-: the largest Monte Carlo standard error of the row.\n")
    print(markdown(("world", "sources", "sizes", "trials", *COVERED, "+-"), *coverage))
    print(f"Claims with a margin as large as the true difference, {float(MARGIN)} where that is 0: share of "
          f"{args.worlds} worlds of each size and number of trials.\nx: wrong in such a world.\n")
    print(markdown(("world", "truth", "sources", *CLAIMED, "+-"), *claimed))
    print(f"A gain is claimed where nothing differs: share of {TIMES_WORLDS * args.worlds} worlds.\n")
    print(markdown(("what was done", "as if done once", "declared", "+-"), *gains), end="")
    return 0


# === Command line ===


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "measure.py")
    speed = parser.verb("speed", cmd_speed, "Print the processor time and memory of a comparison.",
                        "python3 measure.py speed --cases 44 1000")
    speed.add_argument("--cases", type=int, nargs="+", default=[44, 1000, 10_000, 100_000], metavar="N",
                       help="numbers of cases (default: 44 1000 10000 100000)")
    coverage = parser.verb("coverage", cmd_coverage, "Print how often intervals and claims are right, in drawn worlds.",
                           "python3 measure.py coverage --worlds 20 --groups 6 9")
    coverage.add_argument("--worlds", type=int, default=100, metavar="N",
                          help="worlds of each kind, number and sizes of sources, and trials (default: %(default)s)")
    coverage.add_argument("--groups", type=int, nargs="+", default=[6, 9, 15, 20, 30, 50, 100], metavar="G",
                          help="numbers of sources, from 6 up (default: 6 9 15 20 30 50 100)")
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
