"""A step of a reward model computed again by the definitions: where scores are read, and what is made of them; the causes that are
tried; and some of its pairs as a workbook.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

moved, first: the score is read so many tokens later (1) or earlier (−1), or at the first token; only: of one side. sides: chosen
and rejected are exchanged. factor: by quantity, what it is multiplied by. equations: by row of the definitions, how its equation
is changed. parts: means over so many parts of the pairs.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from math import isfinite

import numpy as np

from blueprint.dumps import SIDES, Array, require
from blueprint.inputs import LONGEST, Numbers, counted
from blueprint.language import (
    Axis,
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
    size,
    where,
)
from blueprint.misconceptions import becomes, equation, turned
from blueprint.misconceptions.rewriting import Names
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    UNITS,
    Again,
    Agreement,
    Axes,
    Chosen,
    Conventions,
    Definitions,
    Given,
    Mistakes,
    Quantity,
    Selection,
    Settings,
    Shown,
    SmallKind,
    Try,
    Verdict,
    View,
    ViewOptions,
    Ways,
    agreement_of,
    changed,
    check_length,
    coarsest,
    coefficient,
    computable,
    digits,
    extremes,
    factor_of,
    mistakes_in,
    multiplied,
    of_broadcast,
    of_equations,
    of_other_forms,
    of_what_is_read,
    off_by,
    parts_of,
    places,
    sums_of,
    typed,
    view_of,
)
from blueprint.verifying.other_cells import of_other_side
from blueprint.workbooks.reward_model.definitions import LABELS, derived, n, o, p, q, t
from blueprint.workbooks.reward_model.dumps import ScoredPairs
from blueprint.workbooks.reward_model.schema import MOST_RESPONSES, REWARD_MODEL, rm_presets

PAIRS = Axes("pair", "", "pair")
SCORES = ("chosen.score", "rejected.score")
AT_POSITIONS = ("chosen.position_scores", "rejected.position_scores")
MADE_OF = (*SCORES, *AT_POSITIONS)
MEANS = {
    "mean.score": "rewards.mean", "least.score": "rewards.min", "largest.score": "rewards.max", "mean.chosen": "rewards.chosen",
    "mean.rejected": "rewards.rejected", "mean.margin": "rewards.margins", "accuracy": "accuracy",
}  # fmt: skip
"""By quantity that is logged of scores as they are, the row that makes it."""
LOSSES = ("loss.pair", "preference_loss", "total_loss")
ALL = {
    each.name: each
    for each in (
        *(Quantity(name, (), AT_POSITIONS) for name in SCORES),
        *(Quantity(name, SCORES, MADE_OF) for name in MEANS),
        Quantity("loss.pair", SCORES, MADE_OF),
        Quantity("preference_loss", (*SCORES, "loss.pair"), MADE_OF),
        Quantity("total_loss", (*SCORES, "loss.pair", "preference_loss"), MADE_OF),
    )
}
TYPED = {
    **dict.fromkeys(("head", "text.there", "token.is_end", "token.id"), (n, t)),
    **dict.fromkeys(("chosen.is", "rejected.is"), (o, n)), "pair.same": (o, p), "pair.of_ranking": (q, p),
    **dict.fromkeys(("chosen.number", "pair.margin", "pair.ranking", "pair.counts"), (p,)), "rejected.number.column": (o,),
    **dict.fromkeys(("count.responses", "overflow.sheet", "overflow.float32", "shift", "scale"), ()),
}  # fmt: skip
EQUATIONS = Definitions(
    REWARD_MODEL, LABELS.labels, TYPED, lambda given, use: derived(given, use).rows, masks=("text.there",)
)
OF_PLACES = ("read.of", "read.here", "score")
"""Rows that say where a score is read, and the score."""
AS_THEY_ARE = {"score.subtract": 0.0, "score.divide": 1.0}
"""What is logged of scores is of these as the model says them."""
UNDERFLOW = 88.7
"""Beyond it e^x is more than float32 holds, and σ of −x is 0."""
OF_RANKINGS = "softmax_best"
OF_EXPONENTIALS = "log_exp"
UNKNOWN = "per_position"
"""A loss of which files of one score for each response say nothing."""


def recompute(
    batch: ScoredPairs,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
    read_before: dict[object, Array] | None = None,
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what
    comes out. read_before: scores as they were read before, by file and place.
    """
    found = Again(batch, settings)
    use, count = dict(settings), batch.pairs
    if settings["loss.form"] == UNKNOWN:
        found.lacks = dict.fromkeys(
            LOSSES, "the scores of all positions, compared one by one, which verify does not do"
        )
        use["loss.form"] = "logsigmoid"
    if settings["loss.form"] == OF_RANKINGS:  # of two responses it is −log σ of their difference
        use |= {"loss.form": "logsigmoid", "loss.margin": "off"}
    elsewhere = ways.get("equations", PLAIN).keys() & {*OF_PLACES}  # so nothing else reads them
    known = {} if read_before is None or elsewhere else read_before
    where = id(batch), use["score.read"], ways.get("moved"), ways.get("first"), ways.get("only")
    if where not in known:
        known[where] = _read(batch, use, ways, device)
        if "only" in ways:  # of that side alone
            kept = np.split(_read(batch, settings, PLAIN, device), 2)
            made = np.split(known[where], 2)
            known[where] = np.concatenate(
                [made[at] if SIDES[at] == ways["only"] else kept[at] for at in range(len(SIDES))]
            )
    read = dict(zip(SCORES, np.split(known[where], 2), strict=True))
    if AT_POSITIONS[0] in batch.tensors:
        found.rows |= {name: row * factor_of(ways, name) for name, row in read.items()}
    scores = np.concatenate([np.asarray(given.get(name, row), np.float64) for name, row in read.items()])
    scores = np.roll(scores, count) if ways.get("sides") else scores
    plain, parts = use | AS_THEY_ARE, [_known(batch, scores, rows) for rows in parts_of(count, ways)]
    logged = EQUATIONS.means(plain, parts, tuple(MEANS.values()), **changed(ways), device=device)
    numbers = {name: logged[row] for name, row in MEANS.items()}
    numbers |= EQUATIONS.means(use, parts, ("preference_loss", "total_loss"), **changed(ways), device=device)
    found.numbers = {name: number * factor_of(ways, name) for name, number in numbers.items()}
    whole = _known(batch, scores, np.arange(count))
    found.rows |= EQUATIONS.values(plain, *whole, ("difference",), device=device)
    found.rows |= EQUATIONS.values(use, *whole, ("loss.pair",), **changed(ways), device=device)
    found.rows["loss.pair"] = found.rows["loss.pair"] * factor_of(ways, "loss.pair")
    if settings["loss.form"] == OF_EXPONENTIALS:
        with np.errstate(over="ignore"):
            found.on_the_way["loss.pair"] = np.exp(-found.rows["difference"])
        largest = float(found.on_the_way["loss.pair"].max(initial=0.0))
        found.on_the_way |= dict.fromkeys(("preference_loss", "total_loss"), largest)
    if sized:
        _add_room(found, scores)
    return found


def _read(batch: ScoredPairs, settings: Settings, ways: Ways, device: str) -> Array:
    """Returns the score of each response, [2P], as it is read from those of all positions, or as the file has it."""
    if AT_POSITIONS[0] not in batch.tensors:
        return np.concatenate([np.asarray(batch.tensors[name], np.float64) for name in SCORES])
    head = np.concatenate([np.asarray(batch.tensors[name], np.float64) for name in AT_POSITIONS])
    rows, columns = np.arange(len(head)), np.arange(head.shape[1])
    text, is_end = batch.mask.copy(), np.zeros(head.shape, np.bool_)
    last = np.where(text, columns, 0).max(axis=1)
    is_end[rows, last] = batch.end is None  # where no tokens are known, the last of each text is taken for its end
    if batch.end is not None:
        is_end = np.concatenate([batch.tensors[f"{side}.tokens"] for side in SIDES]) == batch.end
    if ways.get("first"):
        text[:] = columns == 0
    head = head[:, np.clip(columns + ways.get("moved", 0), 0, columns[-1])]
    of = text & ~is_end if settings["score.read"] == "before_end" else text
    nothing = ~of.any(axis=1)  # then transformers reads the first column
    text[nothing, 0], is_end[nothing, 0] = True, False
    known = {"head": np.where(np.isfinite(head), head, 0.0), "text.there": text * 1.0, "token.is_end": is_end * 1.0}
    sizes = {n: len(head), t: len(columns)}
    changes = ways.get("equations", PLAIN)
    here = EQUATIONS.values(settings, sizes, known, ("read.of",), changes)["read.of"]
    # the running maximum in one go: column by column, as it is defined, takes long
    known["read.from"] = np.pad(np.maximum.accumulate(here[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return EQUATIONS.values(settings, sizes, known, ("score",), changes, device=device)["score"]


def _known(batch: ScoredPairs, scores: Array, rows: Array) -> tuple[dict[Axis, int], dict[str, Array | Selection]]:
    """Returns the sizes, and what stands in the blocks, of some pairs, each a ranking. scores: of all responses, [2P]."""
    count, margin = len(rows), batch.tensors.get("pair.margin", np.zeros(batch.pairs))
    number, at = np.arange(count) + 1.0, places(count)
    return {n: 2 * count, p: count, q: count}, {
        "score": scores[np.concatenate([rows, rows + batch.pairs])], "chosen.is": at["chosen"], "rejected.is": at["rejected"],
        "pair.same": at["same"], "pair.of_ranking": at["same"], "pair.ranking": number, "chosen.number": number,
        "rejected.number.column": number + count, "pair.margin": np.asarray(margin[rows], np.float64),
        "pair.counts": np.ones(count), "overflow.sheet": np.asarray(np.inf), "overflow.float32": np.asarray(UNDERFLOW),
    }  # fmt: skip


def _add_room(found: Again, scores: Array) -> None:
    """Adds the room of every row and number: the slope of −log σ is at most 1 for either score, that of a square is its root's."""
    batch, settings, apart = found.batch, found.settings, np.abs(found.rows["difference"])
    sizes = {"mean.score": scores, "least.score": scores, "largest.score": scores, "mean.margin": apart}
    sizes |= dict(zip(("mean.chosen", "mean.rejected"), np.split(scores, 2), strict=True))
    found.sizes = {name: abs(number) for name, number in found.numbers.items()}
    found.sizes |= {name: float(np.abs(row).mean()) for name, row in sizes.items()}
    held = coarsest(batch.dtypes, MADE_OF)
    # what the model computed in less is so far off only where the scores of all positions are of another forward
    forward = batch.forward_dtype if AT_POSITIONS[0] in batch.tensors else None
    of_scores = max(UNITS[held], UNITS.get(str(forward), 0.0))
    largest = max(float(np.abs(batch.tensors[name]).max()) for name in SCORES)
    off, own = of_scores * (1 + largest), UNITS[held] * (1 + largest)
    found.room = dict.fromkeys(SCORES, off) | dict.fromkeys(found.numbers, 2 * off) | {"accuracy": 1e-6}
    found.extra["accuracy"] = float(((apart > 0) & (apart <= 2 * off)).mean())
    weight = 1 + 4 * (float(settings["center"]) + float(settings["l2"])) * (1 + largest)
    finite = found.rows["loss.pair"][np.isfinite(found.rows["loss.pair"])]
    for name in LOSSES:
        size = found.sizes.get(name, float(np.max(finite, initial=0.0)))
        found.room[name] = 2 * off * weight / float(settings["score.divide"]) + own + UNITS[held] * size


INSTEAD = Conventions(
    rm_presets,
    {"center": (0.0, 0.001, 0.01, 0.1), "l2": (0.0, 0.001), "loss.mean_eps": (0.0, 1e-8)},
    {"loss.form": (UNKNOWN,)},
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


NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits."""
COMPARED = {"chosen.score": "chosen.score", "difference": "difference", "loss.pair": "loss.pair"}
NUMBERS = ("accuracy", "preference_loss", "total_loss")
PAD, END, TOKEN = "<pad>", "<end>", "token"
MOST_WORDS = 62
"""Different tokens that a vocabulary may have besides the pad and the end."""


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there, or more than fit."""
    found: Again = verdict.replayed
    computable(found, "total_loss")
    view = view_of(found, chosen, options, -found.rows["difference"], MOST_RESPONSES // 2, "pairs")
    _check(view.step, view.rows, found.settings)
    again, remarks = recompute(view.step, found.settings), view.partly
    if AT_POSITIONS[0] not in view.step.tensors:
        remarks.append(
            "The dump has no scores of other positions: each text is one token, after which its score stands."
        )
    return view.shown(remarks, lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again))


def _check(step: ScoredPairs, rows: Array, settings: Settings) -> None:
    """Raises MinibatchError for texts that are too long, or of which no token has the score that is read."""
    check_length(step.path, int(step.mask.sum(axis=1).max()), "a text")
    there = {"without a token there,": step.mask.any(axis=1)}
    if settings["score.read"] == "before_end" and AT_POSITIONS[0] in step.tensors:
        texts, _, end = _texts(step)
        lacking = "that is nothing but its end, and score.read = before_end reads the score in front of that,"
        there[lacking] = np.array([any(word != end for word in text) for text in texts])
    for lacking, has in there.items():
        gone = np.flatnonzero(~has) % len(rows)
        where = f"in row {rows[gone[0]]}" if len(gone) else ""
        require(not len(gone), f"{step.path} has a text {lacking} {where}: name others with --rows")


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at scores, 15 digits of each."""
    step, count = view.step, view.step.pairs
    texts, vocabulary, end = _texts(step)
    parts = {
        "preset": view.preset,
        "text.vocabulary": vocabulary,
        "text.end": end,
        "text.texts": texts,
        "pairs.chosen": np.arange(count) + 1.0,
        "pairs.rejected": np.arange(count) + 1.0 + count,
        "pairs.margin": digits(step.tensors.get("pair.margin", np.zeros(count))),
        "pairs.ranking": np.arange(count) + 1.0,
        "pairs.counts": np.ones(count),
        "scores.head": _head(step, view.settings["score.read"]),
    }
    what = f"{counted(count, 'pair')} of a step of {step.library or 'a reward model'}"
    return view.numbers("scores", name, what, view.asked, parts)


def _head(step: ScoredPairs, read: float | str) -> Array:
    """Returns the score after each token, [2P, S], texts first, then pads, as a workbook has them; one of each text where nothing
    else is known. read: where scores are read; in the last column stands that of the last one of the file, if it is there."""
    if AT_POSITIONS[0] not in step.tensors:
        return digits(_both(step, "score"))[:, None]
    found = _both(step, "position_scores")
    laid = np.take_along_axis(found, np.argsort(~step.mask, axis=1, kind="stable"), axis=1)[:, :LONGEST]
    if read == "last_column":
        laid[:, -1] = found[:, -1]
    return digits(laid)


def _both(step: ScoredPairs, name: str) -> Array:
    """Returns what both sides have, chosen ones first."""
    return np.concatenate([step.tensors[f"{side}.{name}"] for side in SIDES])


def _texts(step: ScoredPairs) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], str]:
    """Returns the texts, the vocabulary, and the token that ends texts: ids, where they are known and few enough."""
    mask, end, unknown = step.mask, step.end, ((PAD, END, TOKEN), END)
    if AT_POSITIONS[0] not in step.tensors:
        return tuple((TOKEN,) for _ in range(2 * step.pairs)), *unknown
    if end is None:
        return tuple((*[TOKEN] * (int(each) - 1), END) for each in mask.sum(axis=1)), *unknown
    ids = _both(step, "tokens")
    used, rows = np.unique([*ids[mask], end]), [row[of].tolist() for row, of in zip(ids, mask, strict=True)]
    if len(used) > MOST_WORDS:
        return tuple(tuple(END if each == end else TOKEN for each in row) for row in rows), *unknown
    return (
        tuple(tuple(f"#{each}" for each in row) for row in rows),
        (PAD, *(f"#{each}" for each in used.tolist())),
        f"#{end}",
    )


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares rows and losses of a workbook with the pairs computed again."""
    rows = {block: ours.rows[row] for block, row in COMPARED.items() if row in ours.rows}
    shift, scale = (float(ours.settings[f"score.{key}"]) for key in ("subtract", "divide"))  # scores as they are used
    rows["difference"] = rows["difference"] / scale
    if "chosen.score" in rows:
        rows["chosen.score"] = (rows["chosen.score"] - shift) / scale
    return agreement_of(arrays, rows | {name: np.asarray(ours.numbers[name]) for name in NUMBERS}, NEAR)


KIND = SmallKind(ALL, lambda device: partial(recompute, device=device, read_before={}), tries, LOSSES, PAIRS)
VERIFIER = KIND.verifier(shown)
