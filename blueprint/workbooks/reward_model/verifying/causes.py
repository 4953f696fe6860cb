"""What else a reward model may have been trained by, where something deviates: other words of settings, and known mistakes."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import isfinite

from blueprint.language import (
    Constant,
    Expr,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    Sum,
    at_most,
    constant,
    exp,
    less,
    log,
    minimum,
    size,
    where,
)
from blueprint.misconceptions import becomes, equation, turned
from blueprint.misconceptions.rewriting import Change, Names
from blueprint.verifying import (
    Conventions,
    Given,
    Mistakes,
    Settings,
    Try,
    Ways,
    coefficient,
    extremes,
    mistakes_in,
    multiplied,
    of_broadcast,
    of_equations,
    of_other_forms,
    of_what_is_read,
    off_by,
    sums_of,
    typed,
)
from blueprint.verifying.other_cells import of_other_side
from blueprint.workbooks.reward_model.definitions import n, o, t, u
from blueprint.workbooks.reward_model.dumps import ScoredPairs
from blueprint.workbooks.reward_model.schema import REWARD_MODEL, rm_presets
from blueprint.workbooks.reward_model.verifying.recompute import (
    AT_EVERY,
    EQUATIONS,
    LOSSES,
    MEANS,
    SCORES,
    lacking,
    recompute,
)

INSTEAD = Conventions(
    rm_presets,
    {"center": (0.0, 0.001, 0.01, 0.1), "l2": (0.0, 0.001), "loss.mean_eps": (0.0, 1e-8)},
    {"loss.form": (AT_EVERY,)},
)
READ = {
    "last_token": "the score read at the last token, which ends the text",
    "before_end": "the score read in front of the end of the text, as where the pad is that token",
    "last_column": "the score read in the last column of the batch, behind the pads of shorter texts",
}
FIRST, LAST = Lookup(t, Constant(0)), Lookup(t, size(t) - 1)
BELOW = Constant(-(10**9))
"""No score is as small."""


def _end_of_both(name: str, b: Names) -> Expr:
    """Returns 1 where the text of the pair ends that is the longer (maximum) or the shorter one (minimum)."""
    here, behind = b["read.from"][n, t], b["read.from"][n, t + 1]
    both = [Op(name, (each, of_other_side(each, n))) for each in (here, behind)]
    return Op("sub", (both[0], both[1]))


EXCHANGED: tuple[str, Ways] = ("chosen and rejected exchanged", {"sides": True})
SLIPS: Mistakes = {
    "score": (
        ("the score read one token too early", {"moved": -1}),
        ("the score read one token too late", {"moved": 1}),
        ("the score read at the first token", {"first": True}),
        ("the mean of the scores at all tokens of the text, not the last one", {"equations": {"score": equation(
            lambda b: Sum(t, b["text.there"][n, t] * b["head"][n, t]) / Sum(t, b["text.there"][n, t]))}}),
        ("the sum of the scores at all tokens of the text, not the last one", {"equations": {"score": equation(
            lambda b: Sum(t, b["text.there"][n, t] * b["head"][n, t]))}}),
        ("the mean of the scores at all positions, pads and all", {"equations": {"score": equation(
            lambda b: Sum(t, b["head"][n, t]) / size(t))}}),
        ("the mean of the scores at all positions but the last, pads and all", {"equations": {"score": equation(
            lambda b: (Sum(t, b["head"][n, t]) - Ref(b["head"], (Position(n), LAST))) / (size(t) - 1))}}),
        ("the first token read of a text that fills its row, as where the first pad is sought and there is none", {
            "equations": {"score": lambda expr, names: Op("where", (less(0, Ref(names["text.there"], (Position(n), LAST))),
                                                                  Ref(names["head"], (Position(n), FIRST)), expr))}}),
        ("the largest of the scores at all tokens of the text, not the last one", {"equations": {"score": equation(
            lambda b: Reduce("max", (t,), Op("where", (less(0, b["text.there"][n, t]), b["head"][n, t], BELOW))))}}),
        ("the score read where the other text of the pair ends", {"equations": {"score": equation(
            lambda b: Reduce("sum", (t,), Op("mul", (of_other_side(b["read.here"][n, t], n), b["head"][n, t]))))}}),
        *((f"the score read where the {which} text of the pair ends", {"equations": {"read.here": equation(
            partial(_end_of_both, name))}}) for which, name in (("longer", "maximum"), ("shorter", "minimum"))),
    ),
    "accuracy": (
        ("two equal scores counted as a success", {"equations": {
            "right": equation(lambda b: at_most(b("rejected.score"), b("chosen.score")))}}),
        ("two equal scores counted as half a success", {"equations": {"right": equation(
            lambda b: (less(b("rejected.score"), b("chosen.score")) + at_most(b("rejected.score"), b("chosen.score"))) / 2)}}),
        ("a success for each side of which the score has the right sign", {"equations": {"right": equation(
            lambda b: (less(0, b("chosen.score")) + less(b("rejected.score"), 0)) / 2)}}),
        ("a success only where the difference is larger than the margin", {"equations": {
            "right": equation(lambda b: less(b("pair.margin"), b("difference")))}}),
        EXCHANGED,
    ),
    "margin": (
        ("the margin of each pair subtracted in what is logged, too", {"equations": {
            "rewards.margins": becomes("difference", lambda b: b("difference") - b("pair.margin"))}}),
        EXCHANGED,
    ),
    "loss": (
        EXCHANGED,
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


def at_every_position(settings: Settings) -> list[Try]:
    """Returns the scores compared at every position where they are at one, from the first difference on or at more of them."""
    use = {**settings, "loss.form": AT_EVERY}
    counted: Mapping[str, Change] = {
        "in the whole batch, pads too": equation(lambda b: 1 + 0 * b["position.inside"][o, u]),
        "of the longer text": equation(lambda b: b["position.inside"][o, u]),
        "of both texts": equation(lambda b: at_most(
            b["position.number"][u], minimum(b["position.chosen.length"][o], b["position.rejected.length"][o]))),
    }  # fmt: skip
    made = (Try(f"the scores of a pair are compared at every position {where}", use, {"equations": {"position.counted": each}})
            for where, each in counted.items())  # fmt: skip
    plain = INSTEAD.changed(settings, {"loss.form": AT_EVERY}) if settings["loss.form"] != AT_EVERY else None
    return [*([plain] if plain else []), *made]


def tries(
    batch: ScoredPairs, settings: Settings, name: str, given: Given, whole: ScoredPairs | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    if name in SCORES:
        words = [word for word in READ if word != settings["score.read"]]
        other_places = [INSTEAD.changed(settings, {"score.read": word}, f": {READ[word]}") for word in words]
        both = [*other_places, *mistakes_in(SLIPS, ("score",), {**settings, "score.read": "last_token"})]
        yield both
        side = name.partition(".")[0]
        alone = f", on the {side} side alone"
        yield [Try(f"{each.label}{alone}", settings, {**each.ways, "only": side}) for each in both if each.ways]
        yield list(of_equations(EQUATIONS, settings, ("score",), ("read.from",)))
        return
    read = [key for key in REWARD_MODEL if not key.startswith("score.")] if name in LOSSES else []
    known = [*_slips(batch, settings, name, whole), *INSTEAD.others(settings, read)]
    if name == "accuracy":  # it has few bits: only how a success is told is changed, next to what is known
        known += of_equations(EQUATIONS, settings, "right", ("chosen.score", "rejected.score"))
        yield [*known, *extremes(EQUATIONS, settings, name)]
    else:
        yield known
        yield list(of_equations(EQUATIONS, settings, MEANS.get(name, name), ("score",)))
    if name in LOSSES and not lacking(batch):
        yield at_every_position(settings)
    if name in LOSSES:
        reads = of_what_is_read(EQUATIONS, settings, name, ("score",))
        yield next(reads)  # what one equation reads otherwise, all of them may
        yield list(INSTEAD.of_presets(settings))
        yield list(of_broadcast(EQUATIONS, settings, (name,), ("score",), batch.pairs))
        yield from of_other_forms(EQUATIONS, settings, (name,), ("score",), None)
        yield from reads
        yield list(_fitted(batch, settings, name, given))


def _slips(batch: ScoredPairs, settings: Settings, name: str, whole: ScoredPairs | None) -> Iterator[Try]:
    """Yields mistakes, and numbers that were averaged in parts, multiplied or divided."""
    of = "loss" if name in LOSSES else {"mean.margin": "margin"}.get(name, "accuracy")
    yield from mistakes_in(SLIPS, (of,), settings)
    yield multiplied(settings, name, -1.0, f"the opposite sign of {name}")
    if whole is not None:
        yield Try("a number of all files of the step together, not of this one", settings, {"whole": True})
    yield from sums_of(batch.pairs, settings, name)


def _fitted(batch: ScoredPairs, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the weights of what scores cost that make a loss what the file logged."""
    if name not in batch.logged or not isfinite(batch.logged[name]):
        return
    off = off_by(recompute, batch, settings, name, given)
    for key in ("center", "l2"):
        for value in typed(coefficient(partial(off, key)), REWARD_MODEL[key].high):
            yield INSTEAD.changed(settings, {key: value}, fitted=True)
