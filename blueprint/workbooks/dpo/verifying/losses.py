"""The losses of a step of DPO: of each pair, of all, and with the NLL. A loss may be the sum of several, each with a weight."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from blueprint.verifying import Settings, Ways
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.feeding import Fed
from blueprint.workbooks.dpo.verifying.formulas import derived
from blueprint.workbooks.dpo.verifying.needs import uses

Rows = Mapping[str, Tensor]
Terms = Sequence[tuple[float, Settings]]
"""The losses that are added up, each with its weight and all conventions in force; usually there is one, of weight 1."""


def terms_of(batch: PairStep, settings: Settings, ways: Ways) -> Terms:
    """Returns the losses of a file's sum; `shares` of ways are other weights."""
    shares = ways.get("shares", [share for share, _ in batch.terms] or [1.0])
    return list(zip(shares, uses(batch, settings), strict=True))


def losses(of: Fed, rows: Rows, plain: Rows, terms: Terms, ways: Ways) -> dict[str, Tensor]:
    """Returns the loss of each pair, [P], and the numbers that are made of them.

    rows: what is fed, derived under the first conventions; plain: the file's own tokens, whose NLL it is, whatever log-probs of
    whole responses the file has.
    """
    made, nll = _summed(of, terms, rows), plain["nll"]
    pairs, preference = made["loss.pair"], made["preference_loss"]
    if ways.get("likely"):
        pairs = -torch.expm1(-pairs)
        preference = pairs.mean()
    if ways.get("summed"):
        preference = pairs.sum()
    elif "parts" in ways and not ways.get("likely"):
        preference, nll = _in_parts(of, terms, ways["parts"])
    total = preference + float(terms[0][1]["loss.nll_coef"]) * nll
    return {"loss.pair": pairs, "preference_loss": preference, "nll": nll, "total_loss": total}


def _summed(of: Fed, terms: Terms, rows: Rows | None = None) -> Rows:
    """Returns the loss of each pair, their mean and the NLL, of all losses together; rows: of the only one, if it is known."""
    if len(terms) == 1 and terms[0][0] == 1:
        return derived(of, terms[0][1]) if rows is None else rows
    each = [(share, derived(of, use)) for share, use in terms]

    def total(name: str) -> Tensor:
        return torch.stack([share * made[name] for share, made in each]).sum(0)

    return {"nll": each[0][1]["nll"], "loss.pair": total("loss.pair"), "preference_loss": total("preference_loss")}


def _in_parts(of: Fed, terms: Terms, parts: int) -> tuple[Tensor, Tensor]:
    """Returns means over parts of the pairs, each averaged by itself."""
    count = len(of["response.chosen"]) // 2
    found = []
    for rows in torch.arange(count).chunk(parts):
        both = torch.cat([rows, rows + count])
        some = {name: each[both] for name, each in of.items()}
        found.append(_summed(some, terms))
    return tuple(torch.stack([each[name] for each in found]).mean() for name in ("preference_loss", "nll"))  # type: ignore[return-value]
