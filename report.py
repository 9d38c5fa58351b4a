"""What does a comparison say, so that a person sees it? As terminal text, Markdown or one HTML page.

    $ python3 report.py runs/comparison.json
    model-triage-qwen2.5-coder v1 against model-triage-qwen2.5-coder v2: 44 cases of
    inbox-triage-robustness, 9 sources, 5 trials a case.
    ...

Reads a comparison that compare.py wrote and, to show every trial on the page, its two run records or logs and their
case set. Of several comparisons of one baseline it makes one sheet, a row a candidate. Prints text, or writes
--markdown and --html files. Exit status: 0 done, 1 refused or bad input (one `error:` line, nothing written), 2 bad
usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
from collections.abc import Sequence
from typing import Any

from core import files, trials
import compare
import harness
from views import words

COMPARISON_VERSIONS = ("1", "2")  # of comparisons that can be read


def runs_of(args: argparse.Namespace, comparison: dict[str, Any]) -> trials.Pair:
    """Return the comparison's two runs; raise RunError where it was made from others."""
    case_set, records = harness.read_runs(args.runs, args.cases, args.recorded_with)
    pair = trials.from_records(records, case_set, args.runs)
    made_from = [(side.logs, *map(side.description.get, harness.SYSTEM_FIELDS)) for side in pair.sides]
    stated = [(comparison["logs"][side], *map(comparison[side].get, harness.SYSTEM_FIELDS)) for side in trials.SIDES]
    if (pair.case_set, pair.task, made_from) != (comparison["case_set"], comparison["task"], stated):
        raise files.RunError(f"{args.comparison[0]} was not made from {' and '.join(args.runs)}; "
                             "give the records or logs it was made from, baseline first")
    return pair


def story_of(args: argparse.Namespace) -> words.Story:
    """Return the story of the comparison, or the sheet of several."""
    files.STAGES.enter("reading the comparison and its runs")
    first, *others = comparisons = [compare.read_comparison(path, COMPARISON_VERSIONS) for path in args.comparison]
    if others:
        return words.sheet(comparisons, args.comparison, args.pages or ())
    return words.Words(first, runs_of(args, words.whole(first, words.KEYS)) if args.runs else None).story()


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "report.py")
    parser.add_argument("comparison", nargs="+", metavar="COMPARISON.json",
                        help="what compare.py wrote; several of one baseline make one sheet")
    parser.add_argument("--runs", nargs=2, metavar=("BASELINE", "CANDIDATE"),
                        help="its run records or logs, for inputs, settings and trials")
    parser.add_argument("--cases", metavar="FILE", help="the case set of the run records, needed with them")
    parser.add_argument("--recorded-with", metavar="FILE", help="the logs' case set, where --cases corrects it")
    parser.add_argument("--pages", nargs="+", metavar="PAGE.html", help="of several comparisons: the page of each, in "
                        "their order, which the sheet then links to")
    parser.add_argument("--table", action="store_true", help="print it as text (the default where no file is named)")
    parser.add_argument("--markdown", metavar="FILE", help="write it as Markdown for a pull request comment")
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML page")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    several = len(args.comparison) > 1
    if args.runs and (several or not args.cases) or not args.runs and (args.cases or args.recorded_with is not None):
        parser.error("--runs and --cases go together, and with one comparison; --recorded-with goes with both; of "
                     "trial logs compare.py --html shows the trials")
    if args.pages and (len(args.pages) != len(args.comparison) or not several):
        parser.error("--pages takes one page for each of several comparisons")
    runs = [path for name in args.runs or () for path in harness.run_paths(name)]
    inputs = [*args.comparison, *runs, *filter(None, (args.cases, args.recorded_with))]
    files.check_outputs([("a Markdown report", args.markdown), ("a page", args.html)], inputs)
    args.table |= not (args.markdown or args.html)
    try:  # a comparison just made is right, or that is a bug; one from a file may be damaged
        compare.write_reports(args, story_of(args))
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise files.RunError(f"{' or '.join(args.comparison)}: not a whole comparison ({type(error).__name__}: {error})"
                             "; make it again with compare.py") from error
    return 0


if __name__ == "__main__":
    sys.exit(files.run_command(main))
