"""Which number of a step of a reward model went wrong first, all being computed again; and the causes that are tried."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path

from blueprint.dumps import whole_of
from blueprint.language import at_most, constant, exp, less, log, where
from blueprint.misconceptions import becomes, equation, turned
from blueprint.verifying import (
    Given,
    Judge,
    Settings,
    SmallTrial,
    StepVerdict,
    Try,
    VerifyOptions,
    Watch,
    Way,
    Ways,
    extremes,
    given_of,
    of_equations,
    of_what_is_read,
    one_thread,
    shown,
    sums_of,
    verdict_of,
    verify_parts,
)
from blueprint.workbooks.reward_model.dumps import ScoredPairs
from blueprint.workbooks.reward_model.schema import REWARD_MODEL, rm_presets
from blueprint.workbooks.reward_model.verifying.recompute import (
    ALL,
    EQUATIONS,
    LOSSES,
    MEANS,
    PAIRS,
    SCORES,
    UNKNOWN,
    recompute,
)

NUMBERS: Mapping[str, tuple[float, ...]] = {
    "center": (0.0, 0.001, 0.01, 0.1), "l2": (0.0, 0.001), "loss.mean_eps": (0.0, 1e-8),
}  # fmt: skip
"""Numbers that libraries use, by setting."""
READ = {
    "last_token": "the score read at the last token, which ends the text",
    "before_end": "the score read in front of the end of the text, as where the pad is that token",
    "last_column": "the score read in the last column of the batch, behind the pads of shorter texts",
}
SIDES: tuple[str, Ways] = ("chosen and rejected exchanged", {"sides": True})
SLIPS: Mapping[str, tuple[tuple[str, Ways], ...]] = {
    "score": (
        ("the score read one token too early", {"moved": -1}),
        ("the score read one token too late", {"moved": 1}),
        ("the score read at the first token", {"first": True}),
    ),
    "accuracy": (
        ("two equal scores counted as a success", {"equations": {
            "right": equation(lambda b: at_most(b("rejected.score"), b("chosen.score")))}}),
        ("two equal scores counted as half a success", {"equations": {"right": equation(
            lambda b: (less(b("rejected.score"), b("chosen.score")) + at_most(b("rejected.score"), b("chosen.score"))) / 2)}}),
        ("a success only where the difference is larger than the margin", {"equations": {
            "right": equation(lambda b: less(b("pair.margin"), b("difference")))}}),
        SIDES,
    ),
    "margin": (
        ("the margin of each pair subtracted in what is logged, too", {"equations": {
            "rewards.margins": becomes("difference", lambda b: b("difference") - b("pair.margin"))}}),
        SIDES,
    ),
    "loss": (
        SIDES,
        ("the margin of each pair added, not subtracted", {"equations": {"argument": turned("margin.used")}}),
        ("1 − σ of the difference in the place of −log σ", {"equations": {
            "loss.pair": equation(lambda b: 1 - exp(-b("loss.pair")))}}),
        ("−log of a σ that is rounded to 0, which is infinite", {"equations": {"loss.pair": equation(
            lambda b: where(less(b("argument"), -b("overflow.float32")), -log(0 * b("argument")), b("loss.pair")))}}),
        ("a sum over the pairs, not their mean", {"equations": {
            "preference_loss": becomes("weight.pair", lambda b: constant(1))}}),
        ("the difference of the scores held near 0, not their sum", {"equations": {
            "center.square": becomes("center.sum", lambda b: b("difference"))}}),
        ("the mean of the scores held near 0, not their sum", {"equations": {
            "center.square": becomes("center.sum", lambda b: b("center.sum") / 2)}}),
    ),
}  # fmt: skip
"""Mistakes, by what they concern."""
DIGITS = 3


def tries(
    batch: ScoredPairs, settings: Settings, name: str, given: Given, whole: ScoredPairs | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    if name in SCORES:
        last = {**settings, "score.read": "last_token"}
        both = [*_read(settings), *(Try(label, last, ways) for label, ways in SLIPS["score"])]
        yield both
        side = name.partition(".")[0]
        yield [
            Try(f"{each.label}, on the {side} side alone", settings, {**each.ways, "only": side})
            for each in both
            if each.ways
        ]
        return
    share = name == "accuracy"  # it has few bits: only how a success is told is changed, next to what is known
    told = [*of_equations(EQUATIONS, settings, "right", ("chosen.score", "rejected.score"))] if share else []
    if share:
        told = [*told, *extremes(EQUATIONS, settings, name)]
    yield [*_slips(batch, settings, name, whole), *(_settings(settings) if name in LOSSES else ()), *told]
    if not share:
        yield list(of_equations(EQUATIONS, settings, MEANS.get(name, name), ("score",)))
    if name in LOSSES:
        yield list(_presets(settings))
        yield from of_what_is_read(EQUATIONS, settings, name, ("score",))
        yield list(_fitted(batch, settings, name, given))


def _read(settings: Settings) -> Iterator[Try]:
    """Yields the other positions at which libraries read."""
    for word, says in READ.items():
        if word != settings["score.read"]:
            yield Try(f"score.read = {word}: {says}", {**settings, "score.read": word})


def _slips(batch: ScoredPairs, settings: Settings, name: str, whole: ScoredPairs | None) -> Iterator[Try]:
    """Yields mistakes, and numbers that were averaged in parts, multiplied or divided."""
    of = "loss" if name in LOSSES else {"mean.margin": "margin"}.get(name, "accuracy")
    yield from (Try(label, settings, ways) for label, ways in SLIPS[of])
    yield Try(f"the opposite sign of {name}", settings, {"factor": {name: -1.0}})
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    yield from sums_of(batch.pairs, settings, name)


def _settings(settings: Settings) -> Iterator[Try]:
    """Yields every setting with its other values."""
    for key, record in REWARD_MODEL.items():
        values: tuple[float | str, ...] = tuple(record.words) or NUMBERS.get(key, ())
        for value in values if not key.startswith("score.") else ():
            if value not in (settings[key], UNKNOWN):
                yield Try(_said(key, value), {**settings, key: value})


def _fitted(batch: ScoredPairs, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the weights of what scores cost that make a loss what the file logged."""
    if name not in batch.logged or not isfinite(batch.logged[name]):
        return
    for key in ("center", "l2"):
        none, one = (
            recompute(batch, {**settings, key: value}, given=given).numbers[name] - batch.logged[name]
            for value in (0.0, 1.0)
        )
        value = float(f"{none / (none - one):.{DIGITS}g}") if none != one else 0.0
        if isfinite(value) and 0 < value <= REWARD_MODEL[key].high:
            yield Try(_said(key, value), {**settings, key: value}, fitted=True)


def _presets(settings: Settings) -> Iterator[Try]:
    """Yields what other presets do."""
    for preset in rm_presets().presets:
        values = dict(rm_presets().preset(preset).values)
        if values["loss.form"] != UNKNOWN and any(values[key] != settings[key] for key in values):
            yield Try(f"the conventions of {preset}", {**settings, **values})


def _said(key: str, value: float | str) -> str:
    """Says a setting as numbers files have it."""
    return f"{key if '.' in key else f'reward.{key}'} = {shown(value)}"


def trial_of(
    batch: ScoredPairs, settings: Settings, options: VerifyOptions, steps: Sequence[ScoredPairs] = ()
) -> SmallTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    again = partial(recompute, device=options.device, read_before={})
    found = again(batch, settings, sized=True)
    judge, given = Judge(batch, found, ALL, options.tolerance, PAIRS), given_of(batch, ALL)
    return SmallTrial(batch, settings, found, judge, given, whole_of(batch, steps), again, tries, LOSSES, ALL)


@one_thread()
def verify_steps(
    batches: Sequence[ScoredPairs], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own pairs."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
