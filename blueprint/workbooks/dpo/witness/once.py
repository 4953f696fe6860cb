"""The whole way from log-probs to the loss, for one set of conventions."""

from collections.abc import Mapping

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named, Nodes
from blueprint.workbooks.dpo.witness.losses import pair_rows
from blueprint.workbooks.dpo.witness.margins import margin_rows
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.sequences import sequence_rows
from blueprint.workbooks.dpo.witness.totals import likelihood_rows, total_rows
from blueprint.workbooks.dpo.witness.unpaired import unpaired_rows
from blueprint.workbooks.dpo.witness.watched import watched_rows
from blueprint.workbooks.dpo.witness.weights import weight_rows


def derived(given: Held, use: Mapping[str, float | str]) -> Named:
    """Returns every row that follows from log-probs, by name; autograd knows each as one of its own.

    given: policy.logprobs, reference.logprobs and response.tokens, [B, T]; text.tokens, [B, T + 1], with 1 in front; pair.number,
    response.chosen and true.reward, [B]. For KTO mismatched.tokens and the log-probs of both models there, [B, T], or
    mismatched.ratio, [B]; for WPO policy.square, [B, T]: without them no row of theirs is made. use: every convention by its key,
    a limit that is off infinite.

    Raises:
        WitnessError: if a pair has not one chosen and one rejected response.
        KeyError: if a convention is missing, or asks for what was not given.
    """
    return steps(given, Places.of(given["pair.number"], given["response.chosen"], given.get("pair.column")), Asked(use))


def steps(given: Held, places: Places, use: Asked) -> Named:
    """Returns the rows, one after the other."""
    r = Nodes({**given, **places.rows()})
    r["fixed.0"], r["fixed.1"] = torch.zeros_like(r["count.pairs"]), torch.ones_like(r["count.pairs"])
    sequence_rows(r, places, use)
    margin_rows(r, use)
    pair_rows(r, places, use)
    if "mismatched.tokens" in given or "mismatched.ratio" in given:
        unpaired_rows(r, use)
    if "policy.square" in given:
        weight_rows(r, places, use)
    else:
        r["weight.pair"] = unweighed(r["loss.pair"], use)
    likelihood_rows(r, use)
    total_rows(r, use)
    watched_rows(r, places, use)
    return places.rows() | r.written


def unweighed(pairs: Tensor, use: Asked) -> Tensor:
    """Returns a weight of 1 for each pair. Raises KeyError where another is asked for."""
    return {"off": torch.ones_like(pairs)}[use.word("loss.weight")]
