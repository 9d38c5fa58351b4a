"""Which command is meant? The entry of a zipapp that holds the whole project, docs/ci.md makes one.

    $ python3 . harness check cases-robustness.json
    cases-robustness.json: a sound case set: 44 cases in dev, 36 cases in heldout

The first argument names a file of this folder without its .py; the others are that command's own.
"""

import importlib
import sys

from core import files

COMMANDS = ("compare", "report", "convert", "harness", "bench", "collector", "plan")


def main() -> int:
    name, *arguments = sys.argv[1:] or ["--help"]
    if name == "--version":
        print(files.TOOL_VERSION)
        return 0
    if name in ("-h", "--help"):
        print(f"usage: COMMAND [options], where COMMAND is one of {', '.join(COMMANDS)}; each knows --help")
        return 0
    if name not in COMMANDS:
        files.print_stderr(f"error: {name!r} is no command; name one of {', '.join(COMMANDS)} first")
        return 2
    return int(importlib.import_module(name).main(arguments))


if __name__ == "__main__":
    sys.exit(files.run_command(main))
