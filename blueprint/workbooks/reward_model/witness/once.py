"""The whole way from a score after every token to the loss, for one set of conventions."""

from collections.abc import Mapping

import torch

from blueprint.witness import Asked, Held, Named, Nodes
from blueprint.workbooks.reward_model.witness.losses import loss_rows, total_rows
from blueprint.workbooks.reward_model.witness.places import Places
from blueprint.workbooks.reward_model.witness.positions import position_rows
from blueprint.workbooks.reward_model.witness.rankings import ranking_rows, softmax_rows
from blueprint.workbooks.reward_model.witness.scores import score_rows
from blueprint.workbooks.reward_model.witness.watched import shown_rows, watched_rows


def derived(given: Held, use: Mapping[str, float | str]) -> Named:
    """Returns every row that follows from the scores, by name; autograd knows each as one of its own.

    given: head, token.id, text.there, token.is_end, [N, T]; response.number, [N]; chosen.number, rejected.number, pair.margin,
    pair.ranking, pair.counts, [P]; shift, scale, overflow.sheet. use: every convention by its key.

    Raises:
        WitnessError: if a pair names a response that there is not.
    """
    return steps(given, Places.of(given), Asked(use))


def steps(given: Held, places: Places, use: Asked) -> Named:
    """Returns the rows, one after the other."""
    r = Nodes({**given, **places.rows(given)})
    r["fixed.0"], r["fixed.1"] = torch.zeros_like(given["shift"]), torch.ones_like(given["shift"])
    r["count.responses"] = given["shift"].new_tensor(float(len(given["head"])))
    ranking_rows(r, places, use)
    score_rows(r, use)
    position_rows(r, places)
    places.sides(r, "score", r["score.used"])
    r["difference"] = r["chosen.score"] - r["rejected.score"]
    r["probability"] = r["difference"].sigmoid()
    softmax_rows(r, places)
    loss_rows(r, places, use)
    total_rows(r, places, use)
    watched_rows(r)
    shown_rows(r)
    return places.rows(given) | r.written
