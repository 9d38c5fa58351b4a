"""How did each side's trials end? Cases that always or sometimes pass, those that must, trials without a score.

    $ python3 compare.py runs/qwen-coder-v1.json runs/qwen-coder-v2.json --cases cases-robustness.json --table \\
      2> /dev/null | grep "^cases that"
    cases that always pass            2          3
    cases that sometimes pass        22         17
    cases that never pass            20         24

Counts: no chance and no claim. A Pair in, a dict out for each key that `comparison.json` holds; figures.py rounds.
Reads, writes and prints nothing.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from core.decide import Figures
from core.files import RunError
from core.intervals import Number
from core.trials import SIDES, Pair, Side


# === Cases that sometimes pass, and those that must ===


def consistency(pair: Pair) -> Figures:
    """Return how steadily each side passes; only the top of the score range passes.

    By side the number of cases that pass "always", "sometimes", "never", and "pass_hat_k": for k from 1 to the least
    number of trials the mean over cases of C(passes, k) / C(T, k), the chance that k trials all pass (Yao et al. 2024,
    arXiv:2406.12045). newly_unsteady are the cases that pass sometimes, and did not before; newly_steady the reverse.

    >>> from core.trials import ComparedCase, Trial
    >>> before, after = (Side({}, [[Trial(t, score) for t, score in enumerate(scores)]], [])
    ...                  for scores in ([1, 1, 1], [1, 0, 1]))
    >>> consistency(Pair([ComparedCase("a", None, ())], before, after, (0, 1), {}, []))["newly_unsteady"]
    ['a']
    """
    figures, unsteady = dict[str, Any](), []
    least = min(len(case) for side in pair.sides for case in side.trials)
    for name, side in zip(SIDES, pair.sides, strict=True):
        counts = [([trial.score for trial in case].count(pair.score_range[1]), len(case)) for case in side.trials]
        powers = [0.0] * least
        for (passes, trials), cases in Counter(counts).items():
            chance = 1.0
            for k in range(min(least, passes)):
                chance *= (passes - k) / (trials - k)
                powers[k] += chance * cases / len(counts)
        how = ["never" if passes == 0 else "sometimes" if passes < trials else "always" for passes, trials in counts]
        figures[name] = {end: how.count(end) for end in ("always", "sometimes", "never")} | {"pass_hat_k": powers}
        unsteady.append([end == "sometimes" for end in how])
    told = list(zip(pair.cases, *unsteady, strict=True))
    return figures | {"newly_unsteady": [case.id for case, before, after in told if after and not before],
                      "newly_steady": [case.id for case, before, after in told if before and not after],
                      "reason": None if least > 1 else "a case has a single trial, which cannot pass only sometimes"}


def must_pass(pair: Pair, wanted: Sequence[tuple[str, str]]) -> tuple[list[Figures], dict[str, bool] | None]:
    """Return, for each (tag, value), how many cases it has and which do not pass all trials of the candidate.

    Second come all these cases, and whether that is certain: where a trial was scored below the top, and in run
    records, where a trial without an answer is the model's failure; None where nothing must pass. pair is as it was
    read: a trial without a score, or one that the baseline has and the candidate lacks, has not passed. Raises RunError
    where a slice has no case.
    """
    rules, certain, top = [], dict[str, bool](), pair.score_range[1]
    for tag, value in wanted:
        failed, count = [], 0
        for case, before, after in pair.rows:
            if (tag, value) in (*case.tags, ("source", case.source)):
                count += 1
                scores, trials = [trial.score for trial in after], max(len(before), len(after))
                if scores.count(top) < trials:
                    failed.append({"case_id": case.id, "passed": scores.count(top), "trials": trials})
                    certain[case.id] = pair.task is not None or not {top, None}.issuperset(scores)
        if not count:
            raise RunError(f"--must-pass {tag}={value}: no case has this tag value; correct it, or leave it out")
        rules.append({"tag": tag, "value": value, "cases": count, "failed": failed})
    return rules, certain if wanted else None


# === What if the incomplete trials had been graded? ===


def unscored(as_read: Pair) -> dict[str, list[list[str | None]]]:
    """Return why trials of each case have no score, of baseline and candidate, before any missing policy.

    A case that a side lacks counts as one trial, "missing".
    """
    return {case.id: [[trial.reason for trial in trials if trial.score is None] if trials else ["missing"]
                      for trials in sides] for case, *sides in as_read.rows}


def incomplete(as_read: Pair, reasons: dict[str, list[list[str | None]]]) -> Figures:
    """Return the unscored trials by side and reason, and the difference if they had gone one way or the other.

    Takes a Pair before any missing policy, and what unscored() says of it. difference_bounds, over all cases: all of
    the baseline's at the top of the score range and the candidate's at the bottom, then the other way round. None where
    each trial has a score.
    """
    def mean(side: Side, filled: Number) -> Fraction:
        cases = ([filled if trial.score is None else trial.score for trial in case] or [filled]
                 for case in side.trials)
        return sum((Fraction(sum(scores)) / len(scores) for scores in cases), Fraction(0)) / len(side.trials)

    figures: Figures = {}
    for at, name in enumerate(SIDES):
        counts = Counter(reason for sides in reasons.values() for reason in sides[at])
        figures[name] = {"trials": counts.total(), "reasons": dict(sorted(counts.items()))}
    if not any(side["trials"] for side in figures.values()):
        return figures | {"difference_bounds": None}
    low, high = as_read.score_range
    return figures | {"difference_bounds": [mean(as_read.candidate, low) - mean(as_read.baseline, high),
                                            mean(as_read.candidate, high) - mean(as_read.baseline, low)]}
