"""The steps from the advantage of a response to that of each token: REINFORCE++, 2501.03262; ReMax, 2310.10505."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named, sums_from, with_end, with_weight
from blueprint.workbooks.grpo.witness.options import wide
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import named


def credit_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns what each token is credited with, [B, T], and the steps to it."""
    m, gamma, credit, place = rows["mask"], use.number("gamma"), use.word("advantage.credit"), use.word("kl.place")
    A, b = (places.of_response(rows[f"group.{name}"]) for name in ("advantage", "baseline_used"))
    last = m * (1 - with_end(m)[:, 1:])
    own = rows["reward.shaped"] if credit == "reward_to_go" else A
    per_token, less_kl = float(place in ("reward_token", "after")), float(place == "advantage")
    placed = last * wide(own, m) - with_weight(per_token, rows["kl_old.paid"])
    ahead = sums_from(m * placed, m * gamma)
    # γ once for every token from here on to the end of the response.
    fading = torch.cat([gamma ** runs(m), torch.ones_like(m[:, :1])], 1)
    ways = {
        "outcome": wide(A, m), "to_go": ahead[:, :-1], "reward_to_go": ahead[:, :-1] - b[:, None],
        "discounted": A[:, None] * fading[:, :-1],
    }  # fmt: skip
    token = m * (ways[credit] - with_weight(less_kl, rows["kl_old.paid"]))
    return named("advantage", {
        "response": A, "baseline": b, "last": last, "own": own, "kl_per_token": A.new_tensor(per_token), "placed": placed,
        "to_go": ahead, "fading": fading, "credited.reward_to_go": ways["reward_to_go"],
        "credited.discounted": ways["discounted"], "credited": ways[credit], "less_kl": A.new_tensor(less_kl), "token": token,
    }) | whitened_rows(token, m, use)  # fmt: skip


def runs(m: Tensor) -> Tensor:
    """Returns how many ones follow without a gap, the own one counted, [B, T]."""
    return sums_from(m, m)[:, :-1]


def whitened_rows(A: Tensor, m: Tensor, use: Asked) -> Named:
    """Returns the advantages whitened over all tokens, the steps to them, and those in use."""
    count, eps = m.sum(), use.number("advantage.whiten_eps")
    over = count + use.number("advantage.mean_eps")
    mean = (A * m).sum() / over
    centred, bessel = (A - mean) * m, count / (count - use.number("advantage.whiten_ddof")).clamp(min=1)
    variance = centred.square().sum() / over * bessel
    ways = {
        "inside": (variance + eps).sqrt(), "at_least": variance.clamp(min=eps).sqrt(), "outside": variance.sqrt() + eps,
        "centre": torch.ones_like(variance),
    }  # fmt: skip
    divisor = ways[use.word("advantage.whiten_form")]
    found = {
        "count": count, "divided_by": over, "mean": mean, "centred": centred, "bessel": bessel, "variance": variance,
        "divisor.inside": ways["inside"], "divisor.at_least": ways["at_least"], "divisor.outside": ways["outside"],
        "divisor": divisor, "whitened": centred / divisor,
    }  # fmt: skip
    used = found["whitened"] if use.word("advantage.whiten") == "tokens" else A
    return named("advantage", found) | {"advantages": used}
