"""How are the results of other tools compared here? Inspect, lm-eval, promptfoo and tables become a plain trial log.

    $ python3 convert.py table old=tests/data/convert/export-a.csv new=tests/data/convert/export-b.csv \
          --case example_id --score feedback.correctness --error error > trials.jsonl
    note: trials of config 'old': 3, of which 1 has no score
    note: trials of config 'new': 3
    $ head -1 trials.jsonl
    {"task_id": "e1", "seed": 1, "config": "old", "score": 1}

`--help` after a verb lists its options. FILE may be packed with gzip; NAME=FILE names the run in it. Prints a row a
trial, as trial_logs.py reads them, once all inputs proved whole; seed is the epoch, repeat or run number. Logs are read
piece by piece: memory holds one of them, and a line or two for each trial. `note:` lines on stderr tell what could
not be carried, what was selected, and each config. Exit status: 0 done, 1 refused or bad input (one `error:` line), 2
bad usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import importlib
import pkgutil
import tempfile
from collections.abc import Sequence
from typing import Any

import importers
from core.files import command_parser, run_command
from importers.rows import Rows, score_of


def modules() -> list[Any]:
    """Return the importers: the files of the folder that state their VERBS."""
    found = [importlib.import_module(f"importers.{file.name}") for file in pkgutil.iter_modules(importers.__path__)]
    return [module for module in found if hasattr(module, "VERBS")]


def named_file(text: str) -> tuple[str | None, str]:
    """Return the run's name, if there is one, and the path of NAME=FILE.

    >>> named_file("v1=a.csv"), named_file("a.csv")
    (('v1', 'a.csv'), (None, 'a.csv'))
    """
    name, equals, path = text.partition("=")
    return (name, path) if equals and name and not os.path.exists(text) else (None, text)


def word_score(text: str) -> tuple[str, float | None]:
    """Return the word and the score of WORD=NUMBER, or of WORD=, which is no score.

    >>> word_score("pass=1"), word_score("timeout=")
    (('pass', 1), ('timeout', None))
    """
    word, _, number = text.rpartition("=")
    score = score_of(number)
    if score is None and number or not word:
        raise argparse.ArgumentTypeError(f"{text!r} is not WORD=NUMBER")
    return word, score


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(__doc__, "convert.py")
    for module in modules():
        for verb in module.VERBS:
            added = parser.verb(verb, module, f"Convert {module.WHAT}.", f"python3 convert.py {verb} {module.EXAMPLE}")
            module.options(added.add_argument)
            if hasattr(module, "samples"):
                shared_options(added)
    return parser


def shared_options(command: argparse.ArgumentParser) -> None:
    """Add what is the same for all logs of trials."""
    option = command.add_argument_group("the same for all tools").add_argument
    command.add_argument("logs", nargs="+", type=named_file, metavar="[NAME=]FILE",
                         help="a file, and what to call the run in it")
    option("--config", metavar="NAME", help="what to call the run, in place of the file's own name for it")
    option("--config-column", metavar="FIELD", help="a field (metadata, variable, document, column) that names it")
    option("--run", type=int, metavar="N", help="number of this run, where one system was run several times")
    option("--cluster", metavar="FIELD", help="a field that names the source a case was made from")
    option("--tag", action="append", metavar="FIELD", help="a field to make slices of; may be repeated (default: "
           "metadata whose values repeat, if any)")
    option("--map", nargs="+", type=word_score, metavar="WORD=NUMBER", help="what a word is worth as a score: pass=1; "
           "timeout= is no score")
    option("--no-text", action="store_true", help="leave out inputs, outputs and all other texts")
    option("--id", "--case", metavar="FIELD", help="a field that names the case (default: the tool's own id where that "
           "is stable, else what is asked: the --input of a table)")


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    importer = args.command
    if not hasattr(importer, "samples"):
        return int(importer.run(args))
    with tempfile.TemporaryFile() as file:
        rows = Rows(file, args)
        for name, path in args.logs:
            rows.begin(name)
            for sample in importer.samples(path, args, rows):
                rows.add(sample)
        rows.write()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
