"""How far rounding alone may move what is made of scores."""

import numpy as np

from blueprint.verifying import Again, coarsest
from blueprint.workbooks.reward_model.verifying.judge import LOSSES, MADE_OF, SCORES

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
