"""Which command is meant? The entry of a zipapp that holds the whole project; docs/ci.md makes one.

    $ python3 . harness check cases-robustness.json
    cases-robustness.json: a sound case set: 44 cases in dev, 36 cases in heldout

The first argument names a file of this folder without its .py; the others are that command's own, and so is the exit
status.
"""

import importlib
import sys

from core import files

COMMANDS = ("compare", "report", "convert", "harness", "bench", "collector", "plan")


def main() -> int:
    parser = files.command_parser(str(__doc__).replace("python3 .", "python3 compare.pyz"), "compare.pyz")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=f"{', '.join(COMMANDS)}; each has --help")
    command = parser.parse_args(sys.argv[1:2]).command
    return int(importlib.import_module(command).main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(files.run_command(main))
