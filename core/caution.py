"""What could mislead a reader of a comparison? The warnings, each with what to do about it.

    $ python3 -c "import json; print(*[row['code'] for row in json.load(open('runs/comparison.json'))['warnings']])"
    large_design_effect same_slices other_load trials_alike trials_alike

Reads the figures of a comparison and the trials they were computed from; writes and prints nothing.
"""

import itertools
import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from core.chance import alike, grouped
from core.decide import FEW_CASES, MIN_GROUPS, Figures, number_text, whole_numbers
from core.intervals import Number, flip_p_value
from core.trials import SIDES, ComparedCase, Pair, Side, Trial, listed, source_groups
from harness import near_miss, temperature

Rule = tuple[str, str, str]    # code, message, advice
ALIKE = 0.95                   # of the cases with the same output, and two trials are nearly one


def warnings(comparison: Figures, pair: Pair) -> list[Figures]:
    """Return [{"code", "message", "advice"}, ...]: whatever could mislead a reader, the readers' own notes last.

    comparison holds all other keys of comparison.json. pair is after the missing policy: each score is a number.
    """
    rules = itertools.chain(_grading_rules(comparison, pair), _size_rules(comparison), _interval_rules(comparison),
                            _missing_rules(comparison), _trial_rules(comparison, pair))
    return [dict(zip(("code", "message", "advice"), rule, strict=True)) for rule in rules] + pair.notes


def _grading_rules(c: Figures, pair: Pair) -> Iterator[Rule]:
    near, failed, gains = zip(*(_near_misses(pair.cases, side) for side in pair.sides), strict=True)
    seen, would_be = c["overall"]["difference"], c["overall"]["difference"] + gains[1] - gains[0]
    if any(near) and (10 * sum(near) >= sum(failed) or (seen > 0) != (would_be > 0)):
        yield ("near_misses", "answers fail in nothing but capitals, blanks or punctuation: "
               f"{near[0]} of {failed[0]} failures of the baseline, {near[1]} of {failed[1]} of the candidate; had "
               f"these passed, the difference would be {number_text(would_be, '+')}",
               "if the grader should be less strict, make the case set again (convert.py cases --ignore-case for "
               "capitals; any_of for the rest), and compare the logs with --cases NEW.json --recorded-with OLD.json; a "
               "task of your own grades again with harness.py replay --task-changed")


def _near_misses(cases: Sequence[ComparedCase], side: Side) -> tuple[int, int, Fraction]:
    """Return how many failed trials miss what is expected in capitals, blanks or punctuation alone; how many failed.

    Third comes what the mean share would gain if these had passed.
    """
    near, failed, gain = 0, 0, Fraction(0)
    for case, trials in zip(cases, side.trials, strict=True):
        outputs = [trial.output for trial in trials if not trial.score and trial.reason is None]
        misses = sum(near_miss(case.expected, output) for output in outputs) if isinstance(case.expected, dict) else 0
        near, failed, gain = near + misses, failed + len(outputs), gain + Fraction(misses, len(trials))
    return near, failed, gain / len(cases)


def _size_rules(c: Figures) -> Iterator[Rule]:
    overall, unit, needed = c["overall"], c["decision"]["unit"], c["decision"]["sources_for_level"]
    cases, groups, effect = overall["cases"], overall["source_sign_flip"]["groups"], c["variance"]["design_effect"]
    if groups < needed:
        yield ("few_groups", f"{unit}s: {groups}, too few for the interval that decides",
               f"record at least {needed} {unit}s; variants of one message are one source")
    sizes = [row["cases"] for row in c["sources"] or []]
    effective = sum(sizes) ** 2 / sum(size * size for size in sizes) if sizes else groups
    if effective < 2 / 3 * groups:
        yield ("uneven_sources", f"few sources hold most of the cases: the {groups} count as about "
               f"{round(effective)}, and the interval by source is too narrow",
               "record about as many cases of each source")
    if cases < FEW_CASES:
        yield ("few_cases", f"cases: {cases}, so a single one of them can turn the result",
               f"record at least {FEW_CASES} cases")
    if unit == "case":
        yield ("no_sources", "no case names its source, so cases made from one message count as independent",
               "name each case's source (convert.py --cluster FIELD, for a case set convert.py cases --source COLUMN)")
    if effect and effect > 2:
        yield ("large_design_effect", f"variants of one message rise and fall together, so these {cases} cases count "
               f"as about {max(1, round(cases / effect))}", "use the interval by source; add new messages, not more "
               "variants")
    if overall["baseline"] == c["score_range"][0]:
        yield ("nothing_to_lose", "the baseline has the lowest score in every case, so these cases cannot show a loss",
               "do not rely on \"not worse\"; add cases that the baseline passes")
    if c["nothing_moved"]:
        share = number_text(100 * c["nothing_moved"]["excluded_share"])
        yield ("nothing_moved", f"no case changed, yet up to {share}% of all {unit}s may change",
               "do not call the two the same: add cases that are neither easy nor hopeless")


def _interval_rules(c: Figures) -> Iterator[Rule]:
    overall, flip = c["overall"], c["overall"]["source_sign_flip"]["interval_95"]
    slices = {f"{tag}: {value}": part for tag, values in c["slices"].items() for value, part in values.items()}
    moved, (low, high) = overall["better"] + overall["worse"], overall["exact_interval_95"]
    if moved and (moved < MIN_GROUPS or low == high):
        yield ("degenerate_interval", f"{moved} of {overall['cases']} cases changed, too few or too much alike for a "
               "bootstrap interval by case",
               "read the changed cases one by one; add cases that are neither easy nor hopeless")
    if c["shared_luck"]["withheld"]:                       # then no interval by case is believed
        yield ("shared_luck", "intervals by case and by trial are too narrow, and with many sources the one by source: "
               f"{c['shared_luck']['reason']}", "record both runs again, each case and trial with a seed of its "
                   "own (bench.py --seeds per-case)")
    else:
        if flip and _excludes_0([low, high]) != _excludes_0(flip):
            yield ("intervals_disagree", "one of the bootstrap interval by case and the sign-flip interval contains 0, "
                   "the other does not", "use the sign-flip interval: the decision rests on it")
        alone = [name for name, part in slices.items() if _excludes_0(part["exact_interval_95"])
                 and (part["adjusted_p_value"] or 0) >= 0.05]
        if alone:
            yield ("many_slices", "slices that differ when looked at alone, but not among all "
                   f"{c['slices_compared']}: {listed(alone)}",
                   "read their adjusted p; test such a slice on new cases before reporting it")
    same = {" = ".join(sorted([name, *part["same_cases_as"]])) for name, part in slices.items()
            if part["same_cases_as"]}
    if same:
        yield ("same_slices", f"slices of the same cases: {listed(sorted(same))}",
               "count them once: these cases cannot show which of the names explains a change")


def _excludes_0(interval: Sequence[Number]) -> bool:
    return not interval[0] <= 0 <= interval[1]


def _missing_rules(c: Figures) -> Iterator[Rule]:
    trials, bounds = [c["incomplete"][side]["trials"] for side in SIDES], c["incomplete"]["difference_bounds"]
    if bounds and bounds[0] * bounds[1] <= 0:
        yield ("incomplete_decides", f"had the incomplete trials been graded, the difference could lie anywhere from "
               f"{number_text(bounds[0])} to {number_text(bounds[1])}: what can be said depends on them",
               "find out why, and record them again with what lets them end")
    if max(trials) > 2 * min(trials):
        yield ("one_sided_incomplete", "incomplete trials: baseline {}, candidate {}".format(*trials),
               "look at their reasons: a limit or a timeout may have cut off one side more than the other")
    if c["excluded"]:
        yield ("excluded_cases", f"cases left out of the comparison: {len({row['case_id'] for row in c['excluded']})}, "
               "perhaps not by chance", "record what is missing")
    if c["uneven_trials"]:
        yield ("uneven_trials", f"cases with fewer trials than others or the other side: {len(c['uneven_trials'])}",
               "record the missing trials; each case weighs the same, and one with fewer is noisier")


def _trial_rules(c: Figures, pair: Pair) -> Iterator[Rule]:
    if any(max(map(len, side.trials)) == 1 for side in pair.sides):
        yield ("one_trial", "there is one trial a case, so a real change and a lucky draw look alike",
               "record 3 trials a case or more")
    if pair.other_load and "latency_s" in c["measures"]:
        yield ("other_load", f"latency has no interval: {pair.other_load}",
               "record both sides in turns, on a machine that does nothing else")
    if _same_outputs(pair):
        yield ("cached_repeats", "both runs gave the same output under each seed, byte for byte: perhaps one recording "
               "given twice, a prompt that did not change, or one cache",
               "compare two recordings, of a prompt or model that did change, made without a cache")
    sampled = [temperature(manifest) for manifest in pair.manifests] or [True, True]  # trial logs do not say
    for name, side, varies in zip(SIDES, pair.sides, sampled, strict=True):
        if varies and _repeats_alike(side):
            yield ("cached_repeats", f"all trials of each case of the {name} are alike, byte for byte: perhaps "
                   "short answers under seeds that all cases share, perhaps a cache",
                   "record with other seeds for each case (bench.py --seeds per-case), and without a cache")
        elif groups := _nearly_alike(side):
            numbers = "; ".join(", ".join(str(number + 1) for number in group) for group in groups if len(group) > 1)
            yield ("trials_alike", f"trials of the {name} give the same output in nearly every case (numbers "
                   f"{numbers}), so its {sum(map(len, groups))} trials count as {len(groups)}",
                   "record with other seeds, or with bench.py --seeds per-case")
        rise, p_value = _order_effect(side, source_groups(pair))
        if p_value < 0.01:
            yield ("order_effect", f"from the earlier to the later trials of the same cases the {name}'s score changes "
                   f"by {number_text(rise)} (p = {number_text(p_value)})",
                   "find what changed while recording, and record both sides in turns")


def _same_outputs(pair: Pair) -> bool:
    return any(trial.output is not None for case in pair.baseline.trials for trial in case) and all(
        b and c and b.seed == c.seed is not None and b.output == c.output
        for _, *sides in pair.rows for b, c in itertools.zip_longest(*sides))


def _repeats_alike(side: Side) -> bool:
    known = [case for case in side.trials if len(case) > 1 and any(trial.output is not None for trial in case)]
    return bool(known) and all(map(alike, known))


def _nearly_alike(side: Side) -> list[list[int]]:
    """Return the numbers of trials, from 0, in groups that give the same output in nearly every case.

    [] if no two do, or if all do: then the system is steady. Looked at are cases with 3 to 50 trials, all of known
    output, where there are 10 of them.
    """
    [(common, _)] = Counter(map(len, side.trials)).most_common(1)
    outputs = [[trial.output for trial in case] for case in side.trials if len(case) == common]
    known = [case for case in outputs if None not in case]
    if len(known) < FEW_CASES or not 3 <= common <= 50:
        return []
    columns = dict(enumerate(zip(*known, strict=True)))
    groups = grouped(columns, any, lambda column, other: (
        sum(map(operator.ne, column, other)) <= (1 - ALIKE) * len(known)))
    return groups if 1 < len(groups) < len(columns) else []


def _order_effect(side: Side, group_of: list[int]) -> tuple[Fraction, Number]:
    """Return the mean rise from the early to the late half of each case's trials, and its two-sided sign-flip p-value.

    Within a case, so the mix of cases does not matter; by group, because variants of one message share their luck under
    one seed. Cases without a time on every trial are left out; numbers sort by size, ISO 8601 texts in UTC as they
    stand.
    """
    def when(trial: Trial) -> tuple[int, str]:
        at = str(trial.at)
        return len(at) - len(at.lstrip("0123456789")), at

    rises, cases = dict.fromkeys(group_of, Fraction(0)), 0
    for group, case in zip(group_of, side.trials, strict=True):
        half = len(case) // 2
        if half and all(trial.at for trial in case):
            scores = [trial.score or 0 for trial in sorted(case, key=when)]
            rises[group] += Fraction(sum(scores[-half:]) - sum(scores[:half])) / half
            cases += 1
    return sum(rises.values(), Fraction(0)) / max(cases, 1), flip_p_value(whole_numbers([*rises.values()])[0])
