"""How do the runs of another harness come here? Inspect, lm-eval, promptfoo and CSV files, as a plain trial log.

    $ python3 convert.py csv tests/data/convert/scores.csv --case task --trial run --config model --score correct >t.jsonl
    note: trials of config 'small': 4
    note: trials of config 'large': 4
    $ head -1 t.jsonl
    {"task_id": "greet, typo", "seed": 1, "config": "small", "score": 1}

The other verbs: `inspect LOG.eval LOG.json --scorer NAME`, `lm-eval samples_*.jsonl --metric acc`, `promptfoo
results.json`, and `cases`, which makes a case set of a table; `--help` after a verb lists its options. Prints a row a trial, as trials.py reads them, once all inputs
proved whole; seed is the epoch, repeat or run number. Memory holds one sample of an .eval log, one line of JSONL and
CSV, but the whole of a JSON log. `note:` lines on stderr tell what could not be carried, and each config. Exit status:
0 done, 1 refused or bad input (one `error:` line), 2 bad usage, 130 interrupted.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit(f"error: this is Python {sys.version.split()[0]}; run it with Python 3.11 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import tempfile
from collections.abc import Callable, Sequence

from core.files import add_verb, command_parser, run_command
from importers import cases
from importers.inspect_ai import cmd_inspect
from importers.lm_eval import cmd_lm_eval
from importers.promptfoo import cmd_promptfoo
from importers.rows import Rows
from importers.tables import cmd_csv


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "convert.py")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="inspect | lm-eval | promptfoo | csv | cases")

    def verb(name: str, run: Callable[..., None], what: str, example: str) -> Callable[..., argparse.Action]:
        command = add_verb(verbs, name, f"Convert {what}, into a plain trial log.", f"python3 convert.py {name} {example}")
        command.set_defaults(command=run)
        command.add_argument("logs", nargs="+", metavar="FILE", help=what)
        command.add_argument("--cluster", metavar="FIELD", help="field (metadata, doc, variable, column) of the source")
        command.add_argument("--tag", action="append", metavar="FIELD", help="one to carry as a tag; may be repeated "
                             "(default: all metadata of Inspect and promptfoo, else none)")
        if name != "csv":
            command.add_argument("--config", metavar="NAME", help="the configuration's name, in place of the log's")
            command.add_argument("--no-hash", action="store_true", help="no input_sha256: inputs differ on purpose")
        return command.add_argument

    option = verb("inspect", cmd_inspect, "logs of Inspect, .eval or .json",
                  "logs/v1.eval logs/v2.eval --scorer match > trials.jsonl")
    option("--scorer", metavar="NAME", help="which score, where there are several")
    option("--unfinished", action="store_true", help="convert a log that lacks samples, as far as it goes")
    option = verb("lm-eval", cmd_lm_eval, "lm-eval's samples_*.jsonl, written with --log_samples",
                  "results/*/samples_*.jsonl --metric acc > trials.jsonl")
    option("--metric", metavar="NAME", help="which metric, where there are several")
    option("--filter", metavar="NAME", help="which filter, where there are several")
    option("--seed", type=int, default=1, metavar="N", help="number of this run (default: %(default)s)")
    option = verb("promptfoo", cmd_promptfoo, "an output file of promptfoo, JSON",
                  "results.json > trials.jsonl")
    option("--metric", default="score", metavar="NAME", help="score, pass or a named score (default: %(default)s)")
    option = verb("csv", cmd_csv, "CSV tables with a line a trial",
                  "scores.csv --case task --trial run --config model --score correct > trials.jsonl")
    for name in ("case", "config", "score"):
        option(f"--{name}", required=True, metavar="COLUMN", help=f"column of the {name}")
    option("--trial", metavar="COLUMN", help="column of the trial's number (default: 1)")
    option("--error", metavar="COLUMN", help="column that says why a trial has no score")
    option("--delimiter", default=",", choices=(",", ";", "|", "tab"), help="default: a comma")
    command = add_verb(verbs, "cases", f"Convert {cases.WHAT}.", f"python3 convert.py cases {cases.EXAMPLE}")
    cases.options(command.add_argument)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    if args.verb == "cases":
        return cases.run(args)
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        rows = Rows(file, args)
        args.command(args, rows)
        rows.write()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
