"""What does a comparison say, so that a person sees it? As terminal text, Markdown or one HTML page.

    $ python3 report.py runs/comparison.json
    model-triage-qwen2.5-coder v1 against model-triage-qwen2.5-coder v2: 44 cases of
    inbox-triage-robustness, 9 source groups, 5 trials a case.
    ...

Reads a comparison that compare.py wrote and, to show every trial on the page, its two run records and their case set.
Prints text, or writes --markdown and --html files. Exit status: 0 done, 1 refused or bad input (one `error:` line,
nothing written), 2 bad usage, 130 interrupted.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
from collections.abc import Sequence
from typing import Any

from core import files
import harness
from views import page, text
from views.words import SIDES


def read_comparison(path: str) -> dict[str, Any]:
    """Return a comparison file's value; raise RunError for another kind of file or another version."""
    comparison: dict[str, Any] = files.expect("a comparison", files.read_bytes(path), path, "make one with compare.py")
    if comparison["comparison_version"] not in ("1", "2"):
        raise files.RunError(f"{path}: comparison_version {comparison['comparison_version']!r:.60}; "
                             "this tool reads '1' and '2'")
    return comparison


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "report.py")
    parser.add_argument("comparison", metavar="COMPARISON.json", help="what compare.py wrote")
    parser.add_argument("--runs", nargs=2, metavar=("BASELINE.json", "CANDIDATE.json"),
                        help="its run records, for the trials on the page")
    parser.add_argument("--cases", metavar="FILE", help="the case set of the run records, needed with them")
    parser.add_argument("--table", action="store_true", help="print it as text (the default where no file is named)")
    parser.add_argument("--markdown", metavar="FILE", help="write it as Markdown for a pull request comment")
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML page")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    if bool(args.runs) != bool(args.cases):
        parser.error("--runs and --cases go together")
    for path in filter(None, (args.markdown, args.html)):
        files.check_folder(path, args.comparison, *args.runs or (), *[args.cases] * bool(args.cases))
    comparison, panel, manifests = read_comparison(args.comparison), [], []
    if args.runs:
        baseline, candidate = (harness.read_record(path) for path in args.runs)
        case_set = harness.load_cases(args.cases)
        harness.compare(baseline, candidate, case_set, args.runs)
        made_from = [baseline["manifest"]["case_set"], baseline["manifest"]["system"], candidate["manifest"]["system"]]
        described = [{field: comparison[side].get(field) for field in harness.SYSTEM_FIELDS} for side in SIDES]
        if made_from != [comparison.get("case_set"), *described]:
            raise files.RunError(f"{args.comparison} was not made from {' and '.join(args.runs)}; "
                                 "give the records it was made from, baseline first")
        panel = page.record_panel(baseline, candidate, case_set)
        manifests = [baseline["manifest"], candidate["manifest"]]
    try:  # a comparison just made is right, or that is a bug; one from a file may be damaged
        shown = text.text_report(comparison, **text.terminal_settings(sys.stdout))
        markdown = text.markdown_report(comparison)
        html = page.html_report(comparison, panel, manifests)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise files.RunError(f"{args.comparison}: not a whole comparison ({type(error).__name__}: {error}); "
                             "make it again with compare.py") from error
    if args.table or not (args.markdown or args.html):
        sys.stdout.write(shown)
    if args.markdown:
        files.write(args.markdown, markdown)
    if args.html:
        files.write(args.html, html)
    return 0


if __name__ == "__main__":
    sys.exit(files.run_command(main))
