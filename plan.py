"""How many sources must be recorded? An answer before the first trial, from a guess of how much sources differ.

    $ python3 plan.py --sd 0.15 --gap 0.05 --margin 0.05
    sources  enough for
          6  any claim at all
         35  a 95% interval that reaches 0.05 to each side
         73  a true difference of 0.05, found in 80 of 100 repetitions
         89  "not worse" by more than 0.05 where nothing changed, in about half of the repetitions

--sd is the standard deviation of a source's difference; docs/planning.md says how to guess it. Where every case has its
own source, read cases for sources. Nothing is read or written. Exit status: 0 done, 1 it cannot be printed, 2 bad
usage, 130 interrupted.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # `python3 -I` leaves this folder out

import argparse
import bisect
from collections.abc import Sequence
from fractions import Fraction

from core import decide, files, intervals


def sources_to_find(sd: float, gap: float) -> int:
    """Return how many sources find a true difference of `gap` with a power of 80%, each tail at 2.5%.

    The smallest G with ((t_0.975 + t_0.80) * sd / gap)^2 <= G, t with G - 1 degrees of freedom.

    >>> sources_to_find(0.15, 0.05)
    73
    """
    def found(count: int) -> bool:
        return (decide.detectable_errors(decide.Limits().alpha, count) * sd / gap) ** 2 <= count

    return 2 + bisect.bisect_left(range(2, decide.LARGEST_PLAN), True, key=found)


def build_parser() -> argparse.ArgumentParser:
    parser = files.command_parser(__doc__, "plan.py")
    parser.add_argument("--sd", type=float, required=True, metavar="SD",
                        help="standard deviation of a source's difference, in score units")
    parser.add_argument("--gap", type=float, required=True, help="the difference that is worth finding, in score units")
    parser.add_argument("--margin", type=float, help="the loss that is tolerated, in score units (default: none)")
    parser.add_argument("--width", type=float, default=1, metavar="W",
                        help="from the lowest to the highest score, what one more source may lose (default: 1)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    sd, gap, margin = args.sd, args.gap, args.margin
    given = [gap] if margin is None else [gap, margin]
    if not (sd > 0 and all(sd / 1e3 <= value <= args.width <= 1e9 for value in given)):
        parser.error("--sd is above 0, and --gap and --margin are from a thousandth of it to the width of the score "
                     f"range, {args.width:g}; --width W, up to 1e9, widens it")
    limits = decide.Limits()
    rows = [(limits.sources, "any claim at all"),
            (intervals.required_pairs(sd, gap), f"a 95% interval that reaches {gap:g} to each side"),
            (sources_to_find(sd, gap), f"a true difference of {gap:g}, found in 80 of 100 repetitions")]
    if margin is not None:
        numerator, grid = sd.as_integer_ratio()
        two = decide.Evidence([(1, numerator), (1, -numerator)], grid, Fraction(args.width))
        safe = decide.sources_for_safety(two, 1, Fraction(margin), limits.alpha)
        if safe is None:
            parser.error(f"--margin {margin:g} takes more than {decide.LARGEST_PLAN:,} sources; give a larger one")
        rows.append((safe, f'"not worse" by more than {margin:g} where nothing changed, in about half of the '
                     "repetitions"))
    print("sources  enough for")
    for count, what in rows:
        print(f"{max(count, limits.sources):7,}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(files.run_command(main))
