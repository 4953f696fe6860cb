"""A step of a reward model computed again in torch, in float64: where scores are read, what is made of them, and how far rounding
alone may move it.

Sources: InstructGPT, 2203.02155, eq. 1; TRL 1.16.0, reward_trainer.py, compute_loss; GenericForSequenceClassification of
transformers, which reads the score of the rightmost token that is not the pad.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

read: "one_early", "one_late" or "first", where the score is read; sides: chosen and rejected are exchanged.
factor: by quantity, what it is multiplied by. ties: how much of a success two equal scores are; accuracy_of: "argument" for the
difference less the margin. margin: −1 where the margin is added; in_margin: it is subtracted from the logged margin, too.
likely: losses are 1 − σ and no −log σ; overflow: −log of a σ that float32 rounds to 0. summed: sums over pairs and no means; parts:
means over so many parts of the pairs. centre: "difference" where the square is that of the difference, "mean" of the mean.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from blueprint.dumps import SIDES, Array
from blueprint.verifying import NO_RESULTS, PLAIN, Again, Axes, Given, Quantity, Settings, Ways, coarsest
from blueprint.workbooks.reward_model.dumps import ScoredPairs

PAIRS = Axes("pair", "", "pair")
SCORES = ("chosen.score", "rejected.score")
AT_POSITIONS = ("chosen.position_scores", "rejected.position_scores")
MADE_OF = (*SCORES, *AT_POSITIONS)
MEANS = ("mean.score", "least.score", "largest.score", "mean.chosen", "mean.rejected")
LOSSES = ("loss.pair", "preference_loss", "total_loss")
ALL = {
    each.name: each
    for each in (
        *(Quantity(name, (), AT_POSITIONS) for name in SCORES),
        *(Quantity(name, SCORES, MADE_OF) for name in MEANS),
        Quantity("mean.margin", SCORES, MADE_OF),
        Quantity("accuracy", SCORES, MADE_OF),
        Quantity("loss.pair", SCORES, MADE_OF),
        Quantity("preference_loss", (*SCORES, "loss.pair"), MADE_OF),
        Quantity("total_loss", (*SCORES, "loss.pair", "preference_loss"), MADE_OF),
    )
}


UNIT = {"float64": 1e-12, "float32": 1e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, what a score may be off, of 1 + its size: about 16 units in the last place, for two forwards of the same text."""


def add_room(found: Again) -> None:
    """Adds the room of every row and number: the slope of −log σ is at most 1 for either score, that of a square is its root's."""
    batch, settings = found.batch, found.settings
    held = coarsest(batch.dtypes, MADE_OF)
    # what the model computed in less is so far off only where the scores of all positions are of another forward
    forward = batch.forward_dtype if "chosen.position_scores" in batch.tensors else None
    of_scores = max(UNIT[held], UNIT.get(str(forward), 0.0))
    largest = max(float(np.abs(batch.tensors[name]).max()) for name in SCORES)
    off, own = of_scores * (1 + largest), UNIT[held] * (1 + largest)
    found.room = dict.fromkeys(SCORES, off)
    found.room |= dict.fromkeys(found.numbers, 2 * off)
    apart = np.abs(found.rows["difference"])
    found.room["accuracy"] = 1e-6
    found.extra["accuracy"] = float(((apart > 0) & (apart <= 2 * off)).mean())
    weight = 1 + 4 * (float(settings["center"]) + float(settings["l2"])) * (1 + largest)
    for name in LOSSES:
        size = found.sizes.get(
            name, float(np.max(found.rows["loss.pair"][np.isfinite(found.rows["loss.pair"])], initial=0.0))
        )
        found.room[name] = 2 * off * weight / float(settings["score.divide"]) + own + UNIT[held] * size


UNDERFLOW = -88.7
"""Below that e^−x is more than float32 holds, and its σ is 0."""
UNKNOWN = "per_position"
"""A loss of which files of one score for each response say nothing."""


def recompute(
    batch: ScoredPairs,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what
    comes out.
    """
    found = Again(batch, settings)
    if settings["loss.form"] == UNKNOWN:
        lacks = "the scores of all positions, compared one by one, which verify does not do"
        found.lacks = dict.fromkeys(("loss.pair", "preference_loss", "total_loss"), lacks)
    read = dict(zip(SIDES, _read(batch, settings, ways), strict=True))
    for side, row in read.items():
        if f"{side}.position_scores" in batch.tensors:
            found.rows[f"{side}.score"] = row * _factor(ways, f"{side}.score")
    used = [torch.from_numpy(np.asarray(given.get(f"{side}.score", row))).to(device) for side, row in read.items()]
    used = [used[1], used[0]] if ways.get("sides") else used
    _watched(found, (used[0], used[1]), ways)
    _losses(found, (used[0], used[1]), settings, ways)
    if sized:
        add_room(found)
    return found


def _read(batch: ScoredPairs, settings: Settings, ways: Ways) -> list[Array]:
    """Returns the score of each response, [P], as it is read from those of all positions, or as the file has it."""
    if "chosen.position_scores" not in batch.tensors:
        return [np.asarray(batch.tensors[f"{side}.score"], np.float64) for side in SIDES]
    found = []
    for side in SIDES:
        scores = np.asarray(batch.tensors[f"{side}.position_scores"], np.float64)
        at = _positions(batch, side, scores.shape, str(ways.get("read", settings["score.read"])))
        found.append(scores[np.arange(len(scores)), at])
    return found


def _positions(batch: ScoredPairs, side: str, shape: tuple[int, ...], read: str) -> Array:
    """Returns in which column the score of each response is read, [P]."""
    columns = np.arange(shape[1])
    text = np.asarray(batch.tensors.get(f"{side}.text", np.ones(shape, np.bool_)))
    last = np.where(text, columns, 0).max(axis=1)
    if read == "before_end":  # where no tokens are known, the last of each text is taken for its end
        is_end = columns == last[:, None] if batch.end is None else batch.tensors[f"{side}.tokens"] == batch.end
        last = np.where(text & ~is_end, columns, 0).max(axis=1)
    moved = {"last_column": np.full_like(last, shape[1] - 1), "one_early": last - 1, "one_late": last + 1,
             "first": np.zeros_like(last), "before_end": last}  # fmt: skip
    return np.asarray(np.clip(moved.get(read, last), 0, shape[1] - 1))


def _watched(found: Again, scores: tuple[Tensor, Tensor], ways: Ways) -> None:
    """Takes what is logged of scores: two that are equal are no success, and the margin of a pair enters none of it."""
    chosen, rejected = scores
    both, apart = torch.cat(scores), chosen - rejected
    margin = _margin(found.batch, apart)
    ahead = apart - margin if ways.get("accuracy_of") == "argument" else apart
    right = (ahead > 0).to(apart) + ways.get("ties", 0.0) * (ahead == 0)
    logged = apart - margin if ways.get("in_margin") else apart
    means = {
        "mean.score": both,
        "mean.chosen": chosen,
        "mean.rejected": rejected,
        "mean.margin": logged,
        "accuracy": right,
    }
    for name, row in means.items():
        _put(found, name, _averaged(row, ways) * _counted(found), float(row.abs().mean()), ways)
    for name, value in (("least.score", both.min()), ("largest.score", both.max())):
        _put(found, name, value, float(both.abs().mean()), ways)
    found.rows["difference"] = apart.cpu().numpy()


def _losses(found: Again, scores: tuple[Tensor, Tensor], settings: Settings, ways: Ways) -> None:
    """Takes the loss of each pair, [P], its mean, and what scores cost besides."""
    mean, std = float(settings["score.subtract"]), float(settings["score.divide"])
    chosen, rejected = ((each - mean) / std for each in scores)
    typed = settings["loss.margin"] == "typed" and settings["loss.form"] == "logsigmoid"
    margin = _margin(found.batch, chosen) * float(ways.get("margin", 1.0)) if typed else torch.zeros_like(chosen)
    x = chosen - rejected - margin
    pairs = -torch.expm1(logsigmoid(x)) if ways.get("likely") else -logsigmoid(x)
    if ways.get("overflow"):
        pairs = torch.where(x < UNDERFLOW, torch.full_like(pairs, torch.inf), pairs)
    squares = {
        "difference": (chosen - rejected) ** 2,
        "mean": ((chosen + rejected) / 2) ** 2,
    }.get(str(ways.get("centre")), (chosen + rejected) ** 2)
    count = 1.0 if settings["loss.average"] == "rankings" else _counted(found)
    preference = pairs.sum() if ways.get("summed") else _averaged(pairs, ways) * count
    costs = float(settings["center"]) * _averaged(squares, ways) * count
    costs = costs + float(settings["l2"]) * _averaged((chosen**2 + rejected**2) / 2, ways) * count
    found.rows["loss.pair"] = pairs.cpu().numpy() * _factor(ways, "loss.pair")
    for name, value in (("preference_loss", preference), ("total_loss", preference + costs)):
        _put(found, name, value, abs(float(value)), ways)


def _counted(found: Again) -> float:
    """Returns by what a mean over pairs is smaller where a number is added to theirs."""
    return float(found.batch.pairs / (found.batch.pairs + float(found.settings["loss.mean_eps"])))


def _margin(batch: ScoredPairs, like: Tensor) -> Tensor:
    """Returns how far the two of each pair are meant to be apart, 0 where the file does not say it."""
    return torch.from_numpy(np.asarray(batch.tensors.get("pair.margin", np.zeros(len(like))), np.float64)).to(like)


def _averaged(row: Tensor, ways: Ways) -> Tensor:
    return torch.stack([each.mean() for each in row.chunk(ways["parts"])]).mean() if "parts" in ways else row.mean()


def _put(found: Again, name: str, value: Tensor, size: float, ways: Ways) -> None:
    found.numbers[name], found.sizes[name] = float(value) * _factor(ways, name), size


def _factor(ways: Ways, name: str) -> float:
    return float(ways.get("factor", {}).get(name, 1.0))
