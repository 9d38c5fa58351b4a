"""Is the candidate better than the baseline, by more than the noise? A paired comparison of two recorded runs.

    $ python3 compare.py runs/qwen-coder-v1.json runs/qwen-coder-v2.json --cases cases-robustness.json
    difference +0.0318 (95% interval -0.0227 to +0.0909) over 44 cases; better 10, worse 6, same 28
    verdict: undecided; by source -0.0923 to +0.1556 (9 sources)
    ...

Reads two run records and the case set they were made with, or with --trials the plain trial logs of any other harness
(then BASELINE and CANDIDATE name `config` values). A sealed log, or the logs of shards with commas between them, may
stand in place of a run record: it is replayed in memory. Writes comparison.json with --out, a page with --html, a pull
request comment with --markdown. Prints one line, and with --table the whole comparison as text. Verdict and warnings go
to stderr, with --table the verdict alone. With --check it writes nothing, and says whether a comparison comes out of
its logs again.

Calls no model, and the same inputs give the same bytes. Exit status: 0 done, 1 refused (one `error:` line,
nothing written), 2 bad usage, 3 the data contradict the gate, 4 they cannot tell, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import gc
import json
from collections.abc import Sequence

from core import decide, files, logs, trial_logs, trials
import harness
from core.decide import Figures
from core.figures import COMPARISON_VERSION, compare_pair
from core.intervals import SEED
from core.options import CHOICES, DEFAULT_OPTIONS, DEFAULTS, Options, flag, parse_options, words_of
from views.words import Story, Words, format_line, verdict_lines

OF_TRIAL_LOGS = ("score_range", "missing", "skip_broken_lines", "ignore_input")  # options that run records do not have
OF_RUN_RECORDS = ("task", "recorded_with")  # options that trial logs do not have


def compare(baseline: harness.Record, candidate: harness.Record, case_set: harness.CaseSet,
            options: Options = DEFAULT_OPTIONS, names: Sequence[str] = trials.SIDES) -> Figures:
    """Return the comparison of two run records; raise RunError, by name and value, unless they were measured alike."""
    return compare_pair(trials.from_records((baseline, candidate), case_set, names), options)


def format_json(comparison: Figures) -> str:
    """Return a comparison as the text of its file."""
    return json.dumps(comparison, indent=2, allow_nan=False) + "\n"


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
    runs = parser.add_argument_group("what is compared")
    runs.add_argument("baseline", metavar="BASELINE", help="run record, log or shards (a,b), or a config")
    runs.add_argument("candidate", metavar="CANDIDATE", help="the same of the candidate")
    source = runs.add_mutually_exclusive_group(required=True)
    source.add_argument("--cases", metavar="FILE", help="case set of the run records or logs")
    source.add_argument("--trials", action="append", type=trial_log, metavar="[SIDE=]FILE",
                       help="trial log, of one side or both; repeatable")
    runs.add_argument("--recorded-with", metavar="FILE", help="the logs' case set, where --cases corrects it")
    runs.add_argument("--task", metavar="MODULE", help="refuse runs that another task graded")
    runs.add_argument("--score-range", nargs=2, metavar=("LOW", "HIGH"), help="of trial logs (default: 0 1)")
    runs.add_argument("--missing", choices=CHOICES["missing"], metavar="POLICY",
                      help="unscored trials: refuse (default), drop or zero")
    runs.add_argument("--skip-broken-lines", action="store_true", help="leave them out of a trial log, and list them")
    runs.add_argument("--ignore-input", action="store_true", help="pair by task_id though inputs differ")
    runs.add_argument("--tag", action="append", dest="tags", metavar="NAME", help="slice by this tag only; repeatable")
    decision = parser.add_argument_group("the decision; declare it before you look")
    decision.add_argument("--min-gain", metavar="G", help="gain worth shipping, in score units (0)")
    decision.add_argument("--margin", metavar="M", help="loss tolerated, in score units (none)")
    decision.add_argument("--gate", choices=decide.GATES, metavar="CLAIM", help="better, not-worse or equivalent")
    decision.add_argument("--must-pass", action="append", metavar="TAG=VALUE",
                          help="slice that passes all trials; repeatable")
    decision.add_argument("--look", metavar="K/N", help="K-th of N planned looks, N from 2 to 10")
    decision.add_argument("--among", metavar="C", help="one of C candidates for this baseline")
    decision.add_argument("--plan", metavar="H", help="say what an interval of +-H would take")
    decision.add_argument("--seed", help=f"of the intervals that are sampled ({SEED})")
    out = parser.add_argument_group("what comes out, beside the one line")
    out.add_argument("--out", metavar="FILE", help="write comparison.json")
    printed = out.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="print comparison.json in place of the line")
    printed.add_argument("--table", action="store_true", help="print all of it as text")
    out.add_argument("--markdown", metavar="FILE", help="write a pull request comment")
    out.add_argument("--html", metavar="FILE", help="write one self-contained page")
    out.add_argument("--check", metavar="FILE", help="only check that this one comes out again")
    return parser


def read_comparison(path: str, versions: Sequence[str] = (COMPARISON_VERSION,)) -> Figures:
    """Return a comparison file's value; raise RunError for another kind of file or another version."""
    saved: Figures = files.expect("a comparison", files.read_bytes(path), path, "make one with compare.py --out")
    if saved["comparison_version"] not in versions:
        raise files.RunError(f"{path}: comparison_version {saved['comparison_version']!r:.60}, and this tool makes "
                             f"{COMPARISON_VERSION!r}; use the version that made it")
    return saved


def read_pair(args: argparse.Namespace, reading: trial_logs.Reading) -> trials.Pair:
    """Return the two runs that the command names."""
    names = args.baseline, args.candidate
    if args.trials:
        return trial_logs.read_trial_logs(args.trials, *names, reading)
    case_set, records = harness.read_runs(names, args.cases, args.recorded_with)
    pair = trials.from_records(records, case_set, names)
    if args.task is not None:
        for name, manifest in zip(names, pair.manifests, strict=True):
            harness.load_task(args.task, manifest, name)
    return pair


def write_reports(args: argparse.Namespace, story: Story) -> None:
    """Write what --table, --markdown and --html ask for, once all of it is made."""
    from views import page, text  # only here: a plain comparison starts faster without them

    files.STAGES.enter("writing the reports")
    shown = text.story_text(story, **text.terminal_settings(sys.stdout)) if args.table else ""
    forms = (("a Markdown report", args.markdown, text.story_markdown), ("a page", args.html, page.story_html))
    made = [(kind, path, form(story)) for kind, path, form in forms if path]
    print(shown, end="")
    for output in made:
        files.write(*output)


def tell_verdict(comparison: Figures) -> None:
    """Print the verdict, and whether the gate is met, on stderr."""
    sys.stdout.flush()  # the result comes before what is said of it
    for line in verdict_lines(comparison):
        files.print_stderr(line)


def check(args: argparse.Namespace) -> int:
    """Say whether a comparison comes out of what it names again, its tool_version set aside; raise RunError if not."""
    saved = read_comparison(args.check)
    try:
        options = parse_options(saved["options"])
        for name in () if args.trials else OF_TRIAL_LOGS:
            if options.given[name] != DEFAULTS[name]:
                raise ValueError(f"{flag(name)} does not go with --cases")
    except (LookupError, TypeError, ValueError) as error:
        raise files.RunError(f"{args.check}: options: {error}; make it again with compare.py --out") from None
    fresh = json.loads(format_json(compare_pair(read_pair(args, options.reading), options)))
    for place, was, now in logs.json_differences(saved | {"tool_version": fresh["tool_version"]}, fresh):
        raise files.RunError(f"{args.check} and what comes out now differ in {place}: {was:.200} and {now:.200}; find "
                             "out which was changed, the comparison, what it was made from, or the tool")
    print(files.line_of(f"{args.check}: the same"), flush=True)
    declared = words_of({**options.given, "gate": None})  # the gate has a line of its own
    if declared:
        files.print_stderr(f"note: its author gave {declared}")
    tell_verdict(fresh)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    given = {name: value for name, value in vars(args).items() if name in DEFAULTS and value not in (None, False)}
    for name in OF_RUN_RECORDS if args.trials else OF_TRIAL_LOGS:
        if getattr(args, name) not in (None, False):
            parser.error(f"{flag(name)} does not go with {'--trials' if args.trials else '--cases'}")
    if args.check is not None:
        if given or any((args.out, args.markdown, args.html, args.json, args.table)):
            parser.error("--check takes its options from the comparison, and writes nothing; leave the others out")
        return check(args)
    try:
        options = parse_options(given)
    except ValueError as error:
        parser.error(str(error))
    inputs = [path for _, path in args.trials or ()] or [
        args.cases, *harness.run_paths(args.baseline), *harness.run_paths(args.candidate)]
    inputs += [] if args.recorded_with is None else [args.recorded_with]
    outputs = [("a comparison", args.out), ("a Markdown report", args.markdown), ("a page", args.html)]
    files.check_outputs(outputs, inputs)
    files.STAGES.enter("reading the runs")
    pair = read_pair(args, options.reading)
    files.STAGES.enter("computing the figures")
    comparison = compare_pair(pair, options)
    if args.out:
        files.write("a comparison", args.out, format_json(comparison))
    print(format_json(comparison) if args.json else format_line(comparison) + "\n", end="")
    if args.table or args.markdown or args.html:
        write_reports(args, Words(comparison, pair).story())
    tell_verdict(comparison)
    for warning in [] if args.table else comparison["warnings"]:  # a table holds them
        files.print_stderr(f"warning: {warning['message']}; {warning['advice']}")
    if comparison["decision"]["gate_met"] is not False:
        return 0
    return 3 if comparison["decision"]["gate_contradicted"] else 4


if __name__ == "__main__":
    gc.disable()  # one comparison and out: its many small objects hold no cycles worth looking for
    sys.exit(files.run_command(main))
