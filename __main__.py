"""Which command is meant? The entry of a zipapp that holds the whole project, docs/ci.md makes one.

    $ python3 . harness check cases-robustness.json
    cases-robustness.json: a sound case set: 44 cases in dev, 36 cases in heldout

The first argument names a file of this folder without its .py; the others are that command's own.
"""

import importlib
import sys

COMMANDS = ("compare", "report", "convert", "harness", "bench", "collector", "plan")


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else "none"
    if name not in COMMANDS:
        print(f"error: {name!r} is no command; name one of {', '.join(COMMANDS)} first", file=sys.stderr)
        return 2
    from core.files import run_command
    return run_command(lambda: importlib.import_module(name).main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
