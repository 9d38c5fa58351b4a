"""Is the candidate better than the baseline, by more than the noise? A paired comparison of two recorded runs.

    $ python3 compare.py runs/qwen-coder-v1.json runs/qwen-coder-v2.json --cases cases-robustness.json 2>/dev/null
    difference +0.0318 (95% interval -0.0227 to +0.0909) over 44 cases; better 10, worse 6, same 28

Reads two run records and the case set they were made with, or with --trials the plain trial logs of any other harness
(then BASELINE and CANDIDATE name `config` values). Writes comparison.json with --out, a page with --html, a pull
request comment with --markdown. Prints one line, and with --table the whole comparison as text. Warnings go to stderr.

Calls no model, and the same inputs give the same bytes. Exit status: 0 done, 1 refused or bad input (one `error:`
line, nothing written), 2 bad usage, 3 done and the --gate was not met, 130 interrupted.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import gc
import json
import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from core import caution
from core import chance
from core import decide
from core import files
import harness
from core import intervals
from core import trials
from harness import CaseSet
from core.intervals import RESAMPLES, SEED, IndexStream
from core.decide import Scores
from core.trials import Pair, Trial

COMPARISON_VERSION = "1"
PLACES = 4
GRID = {"cost_usd": 1_000_000, "latency_s": 1_000, "tokens": 10}  # the precision to which a case's mean is taken

# Small quantities lose their meaning at four places after the point: these keep four significant digits.
SIGNIFICANT = frozenset((
    "p_value", "adjusted_p_value", "by_chance", "between_sources", "between_cases", "sampling", "standard_error_case",
    "standard_error_source", "cost_usd"))


class Options(NamedTuple):
    """What a comparison depends on beside its two runs; all of it stands in the comparison."""

    min_gain: Fraction = Fraction(0)
    margin: Fraction = Fraction(0)
    gate: str | None = None
    plan: Fraction | None = None
    missing: str = "refuse"
    seed: int = SEED
    tags: tuple[str, ...] = ()  # those to make slices of; none: those whose values repeat


# === Pure computation ===


def shares(scores: Sequence[Sequence[Trial]]) -> list[Fraction]:
    """Return the share of each case: the mean score of its trials, however many they are.

    >>> shares([[Trial(1001, 1, None, None, {}, None), Trial(1002, 0, None, None, {}, None)]])
    [Fraction(1, 2)]
    """
    return [Fraction(sum(trial.score or 0 for trial in case)) / len(case) for case in scores]


def on_grid(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return values as whole numbers over their least common denominator.

    >>> on_grid([Fraction(1, 2), Fraction(-1, 5)])
    ([5, -2], 10)
    """
    unit = math.lcm(*{value.denominator for value in values})
    return [value.numerator * (unit // value.denominator) for value in values], unit


def trial_pairs(pair: Pair) -> dict[str, int] | None:
    """Return the trial pairs by outcome; None where scores are not pass or fail. Assumes that trials pair."""
    counts = {(1, 1): 0, (1, 0): 0, (0, 1): 0, (0, 0): 0}
    for left, right in zip(pair.baseline.trials, pair.candidate.trials):
        for one, other in zip(left, right):
            outcome = one.score, other.score
            if outcome not in counts:
                return None
            counts[outcome] += 1
    return dict(zip(("both_pass", "only_baseline", "only_candidate", "neither"), counts.values()))


class Differences(NamedTuple):
    """What every figure is computed from: shares and difference of each case, and the source group it belongs to."""

    baseline: list[Fraction]
    candidate: list[Fraction]
    ks: list[int]  # the difference of case i is ks[i] / unit
    unit: int
    group_of: list[int]

    def groups(self, cases: Sequence[int]) -> list[tuple[int, int]]:
        """Return (number of cases, sum of ks) of each source group among these cases."""
        inside: dict[int, list[int]] = {}
        for i in cases:
            inside.setdefault(self.group_of[i], []).append(self.ks[i])
        return [(len(ks), sum(ks)) for ks in inside.values()]

    def of(self, cases: Sequence[int]) -> "Differences":
        """Return those of some cases, on the coarsest grid that holds them."""
        step = math.gcd(self.unit, *(self.ks[i] for i in cases))
        return Differences([self.baseline[i] for i in cases], [self.candidate[i] for i in cases],
                           [self.ks[i] // step for i in cases], self.unit // step, [self.group_of[i] for i in cases])


def differences(pair: Pair) -> Differences:
    """Return the shares and differences of a Pair whose every trial has a score."""
    baseline, candidate = shares(pair.baseline.trials), shares(pair.candidate.trials)
    return Differences(baseline, candidate, *on_grid(list(map(operator.sub, candidate, baseline))),
                       trials.sources(pair))


def summarize(found: Differences, stream: IndexStream) -> dict[str, Any]:
    """Return means, difference, seeded interval by case (from the stream) and cases by direction."""
    n = len(found.ks)
    return {
        "cases": n, "baseline": sum(found.baseline) / n, "candidate": sum(found.candidate) / n,
        "difference": Fraction(sum(found.ks), n * found.unit),
        "interval_95": intervals.sampled_interval(found.ks, found.unit, stream),
        "better": sum(k > 0 for k in found.ks), "worse": sum(k < 0 for k in found.ks), "same": found.ks.count(0),
    }


def interval_figures(found: Differences, sampled: Any, seed: int,
                     budget: float = intervals.WORK_BUDGET) -> dict[str, Any]:
    """Return the exact interval by case and the sign-flip by source; the sampled interval where none can be exact."""
    exact = intervals.exact_interval(found.ks, found.unit, budget=budget)
    why = "no common grid of scores" if found.unit > intervals.FINEST_UNIT else "too much work for an exact one"
    groups = found.groups(range(len(found.ks)))
    return {
        "exact_interval_95": exact or sampled,
        "exact_method": f"exact, grid of 1/{found.unit}" if exact else f"sampled, {RESAMPLES} resamples: {why}",
        "source_sign_flip": dict(zip(("interval_95", "p_value", "groups", "method", "reason"),
                                     intervals.sign_flip(groups, found.unit, seed=seed, budget=budget))),
    }


def measure_figures(pair: Pair, found: Differences) -> dict[str, Any]:
    """Return cost, latency and tokens a case, with the paired difference, over the cases where both sides have them.

    A case's mean is taken to the precision of GRID. The interval is 1.96 standard errors by source to each side: these
    are not what is decided on, and have no few values that a bootstrap would need; None with fewer than 2 sources.
    """
    figures = {}
    for name, unit in GRID.items():
        sides: tuple[list[int], list[int]] = ([], [])
        sums: dict[int, list[int]] = {}  # the differences by source group
        for group, case in zip(found.group_of, zip(pair.baseline.trials, pair.candidate.trials)):
            measured = [[trial.measures[name] for trial in side if name in trial.measures] for side in case]
            if all(measured):
                before, after = (round(math.fsum(values) / len(values) * unit) for values in measured)
                sides[0].append(before)
                sides[1].append(after)
                sums.setdefault(group, []).append(after - before)
        n = len(sides[0])
        if n:
            mean_before, mean_after = (Fraction(sum(side), n * unit) for side in sides)
            difference = float(mean_after - mean_before)
            groups = [(len(ks), sum(ks)) for ks in sums.values()]
            reach = decide.Z_95 * math.sqrt(decide.cluster_variance(groups, unit)) if len(groups) > 1 else None
            figures[name] = {
                "cases": n, "baseline": mean_before, "candidate": mean_after, "difference": difference,
                "interval_95": None if reach is None else [difference - reach, difference + reach]}
    return figures


def overall_figures(found: Differences, scores: Sequence[Scores], unpaired: str | None,
                    stream: IndexStream) -> dict[str, Any]:
    """Return the figures over all cases; the stream serves, in this order, by case, by trial, by source if sampled.

    trial_level_interval_95 is a function that waits for it, because it can take as long as all the rest.
    """
    overall = summarize(found, stream)
    by_trial = None if unpaired else intervals.sampled_aside(*on_grid(
        [Fraction(after) - before for case in zip(*scores) for before, after in zip(*case)]), stream)
    groups = found.groups(range(len(found.ks)))
    by_source = intervals.source_interval(groups, found.unit, stream)
    distribution = intervals.exact_distribution(found.ks, found.unit)
    return overall | {
        "trial_level_interval_95": by_trial, "source_groups": len(groups), "source_cluster_method": by_source.method,
        "source_cluster_interval_95": by_source.interval, "source_no_gain_share": by_source.no_gain_share,
        **interval_figures(found, overall["interval_95"], stream.seed),
        "exact_distribution": distribution and distribution._asdict(), "trial_level_reason": unpaired,
    }


def slice_figures(found: Differences, named: dict[tuple[str, str], list[int]], unscored: dict[str, list[int]],
                  stream: IndexStream) -> tuple[dict[str, Any], str | None, int]:
    """Return the slices by tag and value, how their p-values were adjusted, and how many different ones there are.

    Takes the cases of each (tag, value), and the unscored trials of each case by side. Slices of the same cases name
    each other and count once. A slice of too few source groups makes no claim: it has no adjusted p-value, and takes
    no part in the adjustment of the others.
    """
    same: dict[tuple[int, ...], list[str]] = {}
    for (tag, value), cases in named.items():
        same.setdefault(tuple(cases), []).append(f"{tag}: {value}")
    slices: dict[str, Any] = {}
    claiming: dict[tuple[int, ...], list[int]] = {}
    budget = intervals.WORK_BUDGET / max(1, len(named))  # all slices together may cost what one figure may
    for (tag, value), cases in named.items():
        part = found.of(cases)
        figures = summarize(part, stream)
        figures |= {
            "few_cases": len(cases) < decide.FEW_CASES, "source_groups": len({*part.group_of}),
            **interval_figures(part, figures["interval_95"], stream.seed, budget), "adjusted_p_value": None,
            "same_cases_as": [name for name in same[tuple(cases)] if name != f"{tag}: {value}"],
            "incomplete": {side: sum(counts[i] for i in cases) for side, counts in unscored.items()},
        }
        slices.setdefault(tag, {})[value] = figures
        if figures["source_sign_flip"]["interval_95"]:
            sums = claiming[tuple(cases)] = [0] * (max(found.group_of) + 1)
            for i in cases:
                sums[found.group_of[i]] += found.ks[i]
    if not claiming:
        return slices, None, len(same)
    p_values, method = intervals.adjusted_p_values(list(claiming.values()), stream.seed)
    adjusted = dict(zip(claiming, p_values))
    for (tag, value), cases in named.items():
        slices[tag][value]["adjusted_p_value"] = adjusted.get(tuple(cases))
    return slices, method, len(same)


def compare_pair(everything: Pair, options: Options = Options(), task: Any = None,
                 temperatures: tuple[float | None, float | None] = (None, None)) -> dict[str, Any]:
    """Return the comparison of a Pair, every figure rounded; RunError where something is missing that may not be.

    task is {"name", "sha256"} of run records, temperatures the two systems' settings where they are known.
    """
    pair, excluded = trials.apply_missing(everything, options.missing)
    found = differences(pair)
    unpaired = trials.unpaired_reason(pair)
    before, after = ([[trial.score or 0 for trial in case] for case in side.trials] for side in pair.sides)
    has_sources = any(case.source is not None for case in pair.cases)
    kept = {case.id for case in pair.cases}
    unscored = {name: [count for case, count in zip(everything.cases, decide.incomplete_per_case(side.trials))
                       if case.id in kept] for name, side in zip(trials.SIDES, everything.sides)}

    # One generator serves them all, in this order: the published figures depend on it.
    stream = IndexStream(options.seed)
    overall = overall_figures(found, (before, after), unpaired, stream)
    named, note = trials.slices(pair, options.tags)
    pair = pair._replace(notes=pair.notes + note)
    slices, adjusted_method, compared = slice_figures(found, named, unscored, stream)
    overall["trial_level_interval_95"] = overall["trial_level_interval_95"] and overall["trial_level_interval_95"]()

    pairs = None if unpaired else trial_pairs(pair)
    passes = chance.pass_counts(before, after)
    counts = {len(case) for side in (before, after) for case in side}
    groups, flip = found.groups(range(len(found.ks))), intervals.SignFlip(*overall["source_sign_flip"].values())
    comparison: dict[str, Any] = {
        "comparison_version": COMPARISON_VERSION, "resamples": RESAMPLES, "seed": options.seed,
        "case_set": pair.case_set, "trials": counts.pop() if len(counts) == 1 else None,
        "baseline": pair.baseline.description, "candidate": pair.candidate.description,
        "overall": overall,
        "trial_pairs": pairs, "trial_pairs_reason": unpaired or (None if pairs else "scores are not pass or fail"),
        "slices": slices,
        "cases": [{"case_id": case.id, "baseline": found.baseline[i], "candidate": found.candidate[i],
                   "source": case.source, "difference": Fraction(found.ks[i], found.unit),
                   "by_chance": passes and chance.by_chance(*passes[i])}
                  for i, case in enumerate(pair.cases) if found.ks[i]],
        "tool_version": files.TOOL_VERSION, "task": task,
        "logs": {"baseline": pair.baseline.logs, "candidate": pair.candidate.logs},
        "score_range": list(pair.score_range), "missing": options.missing, "excluded": excluded,
        "uneven_trials": trials.uneven_trials(pair),
        "slices_compared": compared, "adjusted_method": adjusted_method,
        "decision": decide.decision(flip, groups, found.unit, has_sources, options.min_gain, options.margin,
                                    options.gate, options.seed),
        "changed_by_chance": chance.changed_by_chance(passes),
        "noise_floor": chance.noise_floor(before, found.group_of, options.gate, options.min_gain, options.margin,
                                          options.seed),
        **decide.planning(found.ks, found.unit, groups, before, after, not unpaired, has_sources, options.plan),
        "incomplete": decide.incomplete(everything.baseline.trials, everything.candidate.trials, pair.score_range),
        "nothing_moved": decide.nothing_moved(found.ks, groups),
        "measures": measure_figures(pair, found),
    }
    comparison["warnings"] = caution.warnings(comparison, pair, found.group_of, temperatures)
    return dict(rounded(comparison))


def compare(baseline: dict[str, Any], candidate: dict[str, Any], case_set: CaseSet, options: Options = Options(),
            names: tuple[str, str] = ("baseline", "candidate")) -> dict[str, Any]:
    """Return the comparison of two run records; raise RunError, by name and value, unless they were measured alike.

    An incomplete trial does not pass: it counts as zero and is reported apart.
    """
    harness.compare(baseline, candidate, case_set, names)
    pair = trials.from_records(baseline, candidate, case_set)
    return compare_pair(pair, options._replace(missing="zero"), baseline["manifest"]["task"],
                        (harness.temperature(baseline["manifest"]), harness.temperature(candidate["manifest"])))


# === Formatting ===


def rounded(value: Any, key: str = "") -> Any:
    """Return a JSON value with its fractions and floats rounded: to 4 places, or 4 digits for the keys in SIGNIFICANT.

    >>> rounded({"difference": Fraction(1, 3), "p_value": 0.000012345, "interval_95": (-0.0, 0.5)})
    {'difference': 0.3333, 'p_value': 1.234e-05, 'interval_95': [0.0, 0.5]}
    """
    if isinstance(value, (float, Fraction)):
        number = float(value)
        return (float(f"{number:.{PLACES}g}") if key in SIGNIFICANT else round(number, PLACES)) + 0.0  # no -0.0
    if isinstance(value, dict):
        inner = key if key in SIGNIFICANT else None
        return {name: rounded(item, inner or name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, key) for item in value]
    return value


def format_json(comparison: dict[str, Any]) -> str:
    """Return a comparison as the text of its file."""
    return json.dumps(comparison, indent=2, allow_nan=False) + "\n"


def format_line(comparison: dict[str, Any]) -> str:
    """Return the comparison in one line: the difference, its interval by case, the cases by direction."""
    overall = comparison["overall"]
    low, high = overall["interval_95"]
    return (f"difference {overall['difference']:+.4f} (95% interval {low:+.4f} to {high:+.4f}) over {overall['cases']} "
            f"cases; better {overall['better']}, worse {overall['worse']}, same {overall['same']}")


# === Command line ===


def trial_log(text: str) -> tuple[str | None, str]:
    """Return the side that a trial log is for, None for both, and its path.

    >>> trial_log("baseline=a.jsonl"), trial_log("odd=name.jsonl")
    (('baseline', 'a.jsonl'), (None, 'odd=name.jsonl'))
    """
    side, equals, path = text.partition("=")
    return (side, path) if equals and side in trials.SIDES else (None, text)


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "compare.py")
    parser.add_argument("baseline", metavar="BASELINE", help="run record, or a config of the trial logs")
    parser.add_argument("candidate", metavar="CANDIDATE", help="run record, or a config of the trial logs")
    what = parser.add_argument_group("what is compared")
    what.add_argument("--cases", metavar="FILE", help="the case set of the run records")
    what.add_argument("--trials", action="append", type=trial_log, metavar="[SIDE=]FILE",
                      help="a plain trial log instead of run records, of both sides or of one (baseline=FILE, "
                      "candidate=FILE); may be given several times")
    what.add_argument("--score-range", nargs=2, type=trials.score_bound, default=[0, 1], metavar=("LOW", "HIGH"),
                      help="what scores of trial logs can be (default: 0 1)")
    what.add_argument("--missing", choices=("refuse", "drop", "zero"), default="refuse", help="what becomes of trials "
                      "without a score and cases of one side only, in trial logs (default: refuse)")
    what.add_argument("--skip-broken-lines", action="store_true",
                      help="read the whole rows of a trial log, list the others")
    what.add_argument("--ignore-input", action="store_true", help="pair cases of trial logs by task_id alone, though "
                      "their inputs differ, as with the prompt in them; swapped ids then pass unseen")
    what.add_argument("--tag", action="append", metavar="NAME", help="make slices of this tag; may be repeated "
                      "(default: of every tag whose values repeat)")
    decision = parser.add_argument_group("the decision; declare it before you look")
    decision.add_argument("--min-gain", type=trials.score_bound, default=Fraction(0), metavar="G",
                          help="the gain worth shipping, in score units (default: 0)")
    decision.add_argument("--margin", type=trials.score_bound, default=Fraction(0), metavar="M",
                          help="the loss that is tolerated, in score units (default: 0)")
    decision.add_argument("--gate", choices=decide.GATES, help="exit with 3 unless this claim holds")
    decision.add_argument("--plan", type=trials.score_bound, metavar="H", help="say what an interval of +-H would need")
    decision.add_argument("--seed", type=int, default=SEED, help="of whatever is sampled (default: %(default)s)")
    out = parser.add_argument_group("what comes out, beside the one line")
    out.add_argument("--out", metavar="FILE", help="comparison.json")
    out.add_argument("--json", action="store_true", help="print what --out writes, in place of the line")
    out.add_argument("--table", action="store_true", help="print the whole comparison as text after the line")
    out.add_argument("--markdown", metavar="FILE", help="write a pull request comment")
    out.add_argument("--html", metavar="FILE", help="write one self-contained page")
    return parser


Source = Pair | tuple[dict[str, Any], dict[str, Any], CaseSet]  # trial logs, or two run records and their case set


def read_inputs(args: argparse.Namespace, options: Options) -> tuple[dict[str, Any], Source]:
    """Return the comparison that the command asks for, and what it was made from."""
    names = args.baseline, args.candidate
    if not args.trials:
        baseline, candidate = (harness.read_record(path) for path in names)
        case_set = harness.load_cases(args.cases)
        return compare(baseline, candidate, case_set, options, names), (baseline, candidate, case_set)
    pair = trials.read_trial_logs(args.trials, *names, trials.Reading(
        tuple(args.score_range), args.skip_broken_lines, args.ignore_input))
    return compare_pair(pair, options), pair


def write_reports(args: argparse.Namespace, comparison: dict[str, Any], source: Source) -> None:
    """Write what --table, --markdown and --html ask for."""
    from views import page, text  # only here: a plain comparison starts faster without them

    if args.table:
        print(text.text_report(comparison, **text.terminal_settings(sys.stdout)), end="")
    if args.markdown:
        files.write(args.markdown, text.markdown_report(comparison))
    if args.html:
        if isinstance(source, Pair):
            html = page.html_report(comparison, page.pair_panel(source), [])
        else:
            html = page.html_report(comparison, page.record_panel(*source), [run["manifest"] for run in source[:2]])
        files.write(args.html, html)


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if bool(args.trials) == bool(args.cases):
        parser.error("give --cases with two run records, or --trials with two configs")
    if min(args.min_gain, args.margin) < 0 or args.plan is not None and args.plan <= 0:
        parser.error("--min-gain and --margin are at least 0, --plan is above 0")
    if args.score_range[0] >= args.score_range[1]:
        parser.error("--score-range: LOW is below HIGH")
    if args.json and args.table:
        parser.error("--json and --table both print to stdout; choose one")
    inputs = [path for _, path in args.trials] if args.trials else [args.baseline, args.candidate, args.cases]
    for path in filter(None, (args.out, args.markdown, args.html)):
        files.check_folder(path, *inputs)
    comparison, source = read_inputs(args, Options(args.min_gain, args.margin, args.gate, args.plan, args.missing,
                                                   args.seed, tuple(args.tag or ())))
    if args.out:
        files.write(args.out, format_json(comparison))
    print(format_json(comparison) if args.json else format_line(comparison) + "\n", end="")
    if args.table or args.markdown or args.html:
        write_reports(args, comparison, source)
    sys.stdout.flush()  # the result stands before the warnings about it
    for warning in comparison["warnings"]:
        files.tell(f"warning: {warning['message']}; {warning['advice']}")
    return 3 if comparison["decision"]["gate_met"] is False else 0


if __name__ == "__main__":
    gc.disable()  # one comparison and out: its many small objects hold no cycles worth looking for
    sys.exit(files.run_command(main))
