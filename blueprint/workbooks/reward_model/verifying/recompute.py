"""A step of a reward model computed again by the definitions: where scores are read, and what is made of them.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

moved, first: the score is read so many tokens later (1) or earlier (−1), or at the first token; only: of one side. sides: chosen
and rejected are exchanged. factor: by quantity, what it is multiplied by. equations: by row of the definitions, how its equation
is changed. parts: means over so many parts of the pairs.
"""

import numpy as np

from blueprint.dumps import SIDES, Array
from blueprint.language import Axis
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    UNITS,
    Again,
    Definitions,
    Given,
    Quantity,
    Selection,
    Settings,
    Ways,
    changed,
    coarsest,
    factor_of,
    parts_of,
    places,
    sums,
)
from blueprint.workbooks.reward_model.definitions import LABELS, derived, n, o, p, q, t
from blueprint.workbooks.reward_model.dumps import STACKED, ScoredPairs
from blueprint.workbooks.reward_model.schema import REWARD_MODEL

AT_EVERY = "per_position"
"""A loss of the scores at every position, of which files of one score for each response say nothing."""
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
POSITIONS = tuple(f"position.{side}.{what}" for side in SIDES for what in ("id", "score", "length"))
"""Rows of which that loss is made."""


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
    lacks = batch.place_lacks(settings["score.read"])
    batch = batch.without_positions if lacks else batch
    found = Again(batch, settings, lacks=dict.fromkeys(SCORES, lacks) if lacks else {})
    use, count = dict(settings), batch.pairs
    if settings["loss.form"] == AT_EVERY and (without := lacking(batch)):
        found.lacks |= dict.fromkeys(LOSSES, without)
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
    of_all = use["loss.form"] == AT_EVERY
    plain, parts = use | AS_THEY_ARE, [_known(batch, scores, rows, of_all) for rows in parts_of(count, ways)]
    logged = EQUATIONS.means(plain, parts, tuple(MEANS.values()), **changed(ways), device=device)
    numbers = {name: logged[row] for name, row in MEANS.items()}
    numbers |= EQUATIONS.means(use, parts, ("preference_loss", "total_loss"), **changed(ways), device=device)
    found.numbers = {name: number * factor_of(ways, name) for name, number in numbers.items()}
    whole = _known(batch, scores, np.arange(count), of_all)
    found.rows |= EQUATIONS.values(plain, *whole, ("difference",), device=device)
    found.rows |= EQUATIONS.values(use, *whole, ("loss.pair",), **changed(ways), device=device)
    found.rows["loss.pair"] = found.rows["loss.pair"] * factor_of(ways, "loss.pair")
    if settings["loss.form"] == OF_EXPONENTIALS:
        with np.errstate(over="ignore"):
            found.on_the_way["loss.pair"] = np.exp(-found.rows["difference"])
    if sized:
        _add_sums(found, scores)
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


def lacking(batch: ScoredPairs) -> str:
    """Says what is not there of the scores at every position, or cannot be told apart; "" where all is."""
    missing = [what for what in STACKED if f"{SIDES[0]}.{what}" not in batch.tensors]
    if missing:
        return "the tokens of both texts, and the scores at all of their positions"
    begins = batch.mask[:, 0].all() and not (batch.mask[:, 1:] & ~batch.mask[:, :-1]).any()
    return "" if begins else "texts that begin in the first column and have no holes"


def _at_positions(batch: ScoredPairs, rows: Array) -> dict[str, Array]:
    """Returns what the loss at every position is made of, of some pairs, [P, S], and how long their texts are, [P]."""
    of = (batch.tensors[f"{side}.{what}"][rows] for side in SIDES for what in ("tokens", "position_scores", "text"))
    wide = (np.asarray(each, np.float64) for each in of)
    return {
        name: each.sum(axis=1) if name.endswith("length") else each for name, each in zip(POSITIONS, wide, strict=True)
    }


def _known(
    batch: ScoredPairs, scores: Array, rows: Array, of_all: bool
) -> tuple[dict[Axis, int], dict[str, Array | Selection]]:
    """Returns the sizes, and what stands in the blocks, of some pairs, each a ranking.

    scores: of all responses, [2P]; of_all: whether the loss is of the scores at all positions.
    """
    count, margin = len(rows), batch.tensors.get("pair.margin", np.zeros(batch.pairs))
    number, at, more = np.arange(count) + 1.0, places(count), _at_positions(batch, rows) if of_all else {}
    return {n: 2 * count, p: count, q: count, **({t: batch.mask.shape[1]} if of_all else {})}, {
        **more, "score": scores[np.concatenate([rows, rows + batch.pairs])],
        "chosen.is": at["chosen"], "rejected.is": at["rejected"],
        "pair.same": at["same"], "pair.of_ranking": at["same"], "pair.ranking": number, "chosen.number": number,
        "rejected.number.column": number + count, "pair.margin": np.asarray(margin[rows], np.float64),
        "pair.counts": np.ones(count), "overflow.sheet": np.asarray(np.inf), "overflow.float32": np.asarray(UNDERFLOW),
    }  # fmt: skip


def _averaged(found: Again, scores: Array) -> dict[str, Array]:
    """Returns by mean the numbers that it is a mean of."""
    sides = dict(zip(("mean.chosen", "mean.rejected"), np.split(scores, 2), strict=True))
    return {"mean.score": scores, "mean.margin": found.rows["difference"], **sides}


def _add_sums(found: Again, scores: Array) -> None:
    """Adds how large means are before they are divided, and the squares in the loss before their weight makes them small."""
    chosen, rejected = np.split(scores, 2)
    with np.errstate(over="ignore"):
        squares = {"center": (chosen + rejected) ** 2, "l2": (chosen**2 + rejected**2) / 2}
    paid = [each for name, each in squares.items() if float(found.settings[name])]
    pairs = np.maximum(np.abs(found.rows["loss.pair"]), found.on_the_way.get("loss.pair", 0.0))
    found.on_the_way |= sums(
        {**_averaged(found, scores), "preference_loss": pairs, "total_loss": np.stack([pairs, *paid])}
    )


def _add_room(found: Again, scores: Array) -> None:
    """Adds the room of every row and number: the slope of −log σ is at most 1 for either score, that of a square is its root's."""
    batch, settings, apart = found.batch, found.settings, np.abs(found.rows["difference"])
    sizes = {"least.score": scores, "largest.score": scores, **_averaged(found, scores)}
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
