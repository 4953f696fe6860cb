"""The recorded pairs and rankings of reward models through the front door: batches as they ship, and rankings of single tokens."""

from functools import cache
from typing import Any

from blueprint.language import Values
from tests.workbooks.dpo.recorded import Array
from tests.workbooks.front_door import FrontDoor, shipped
from tests.workbooks.reward_model.recorded import Run, rankings

KEYS = {"center": "reward.center", "l2": "reward.l2"}


@cache
def front(ranked: bool) -> FrontDoor:
    """Returns the four pairs, or both rankings: of each response of these one score is recorded, and one token stands for it."""
    tables = shipped("reward_model", "reward-batch")
    return FrontDoor(_ranked(tables) if ranked else tables, KEYS)


def _ranked(tables: dict[str, Any]) -> dict[str, Any]:
    of = rankings()
    pairs = {"chosen": [1 + at for at in of.chosen], "rejected": [1 + at for at in of.rejected], "ranking": of.ranking}
    text = {**tables["text"], "texts": ["what"] * len(of.head)}
    return {**tables, "text": text, "pairs": pairs, "scores": {"head": of.head.tolist()}}


def computed(run: Run) -> Values:
    """Computes the workbook with a run's conventions, and the pairs that it was on."""
    return front(run.ranked).typed_in(run.conventions, {"pair.counts": run.counts})


def row(name: str, run: Run) -> Array:
    """Returns a row of a run."""
    return front(run.ranked).cells(computed(run), name)
