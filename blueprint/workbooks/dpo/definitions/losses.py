"""From the loss of each pair to that of the batch: weights, what is added, and the mean.

Sources: WPO, 2406.11827, eq. 2; NLL terms: RPO, 2404.19733; CPO, 2401.08417; ORPO, 2403.07691, eq. 6; libraries by version in
`conventions.toml`.
"""

from typing import NamedTuple

from blueprint.language import Sum, exp, less, log, minimum, where
from blueprint.workbooks.common import with_weight
from blueprint.workbooks.dpo.definitions.axes import n, p, t
from blueprint.workbooks.dpo.definitions.steps import Given, Row, Steps


class Total(NamedTuple):
    """The two parts in the order in which they add up, and the total."""

    parts: tuple[Row, Row]
    total: Row


def total(pairs: Row, kto: tuple[Row, Row], bco: Row, weight: Row | None, nll: Row, s: Steps) -> Total:
    """Takes the mean over pairs, or over all responses where each counts by itself, and adds the NLL of chosen ones.

    weight: of each pair, (p), or None where every one counts 1.
    """
    s.under("The loss")
    used = s.use.used
    weighed = s.pair("loss.weighed", pairs[p] if weight is None else weight[p] * pairs[p])
    over = s.one("loss.over", s.pairs + used["loss.mean_eps"])
    mean = s.one("loss.paired", Sum(p, weighed[p]) / over)
    responses = s.one("loss.responses", 2 * s.pairs + used["loss.mean_eps"])
    single = [
        s.one(f"loss.{name}_mean", Sum(n, each[n]) / responses)
        for name, each in zip(("kto", "apo_zero_unpaired"), kto, strict=True)
    ]
    words = dict.fromkeys(s.use.switch["loss.form"].words, mean)
    chosen = s.pick("loss.preference", (), "loss.form", **{**words, "kto": single[0], "apo_zero_unpaired": single[1]})
    binary = s.one("loss.bco_whole", Sum(p, bco[p]) / over)
    mix = used["loss.bco_mix"]
    mixed = s.one("preference_loss", (chosen + mix * binary) / (1 + mix))
    added = s.one("adds.nll", with_weight(used["loss.nll_coef"], nll))
    return Total((mixed, added), s.one("total_loss", mixed + added))


def likelihood(logp: Given, m: Given, text: Given, good: Given, s: Steps) -> Row:
    """Takes the NLL of the chosen responses: of the response, of prompt and response, or of pads too."""
    s.under("The likelihood of chosen responses")
    every = s.row("nll.every", 1 + 0 * m[n, t])
    counts = s.pick("nll.region", (n, t), "loss.nll_region", response=m[n, t], text=text[n, t], everything=every[n, t])
    counted = s.row("nll.counted", good[n] * counts[n, t])
    each = s.row("nll.of_token", -(counted[n, t] * logp[n, t]))
    summed, length = s.each("nll.sum", Sum(t, each[n, t])), s.each("nll.length", Sum(t, counted[n, t]))
    mean = s.each("nll.row_mean", where(less(0, length[n]), summed[n] / length[n], 0))
    over = s.one("nll.over", s.pairs + s.use.used["loss.mean_eps"])
    cells = s.one("nll.all_cells", s.pairs * s.one("nll.columns", Sum((n, t), every[n, t]) / (2 * s.pairs)))
    return s.pick(
        "nll", (), "loss.nll_mean", token=Sum(n, summed[n]) / Sum(n, length[n]), sequence_mean=Sum(n, mean[n]) / over,
        sequence_sum=Sum(n, summed[n]) / over, cells=Sum(n, summed[n]) / cells,
    )  # fmt: skip


def weights(logp: Given, square: Given, m: Given, length: Row, s: Steps) -> Row:
    """Weighs each pair by how likely the policy writes such responses (WPO); square: Σ π² of each token, (n, t).

    TRL 0.24.0 moves log-probs one column on before it takes them, and holds the weight at 1.
    """
    s.under("The weight of a pair")
    away = s.row("weight.away", log(square[n, t]))
    own = s.row("weight.own", m[n, t] * logp[n, t])
    late = s.row("weight.late")
    late[n, t.first - 1] = 0
    late[n, t] = own[n, t]
    shifted = s.row("weight.shifted", m[n, t] * (late[n, t - 1] - away[n, t]))
    right = s.row("weight.right", m[n, t] * (logp[n, t] - away[n, t]))
    made = {}
    for name, row in (("wpo", right), ("wpo_shifted", shifted)):
        mean = s.sides(
            f"{name}_mean", s.each(f"weight.{name}_mean", where(less(0, length[n]), Sum(t, row[n, t]) / length[n], 0))
        )
        made[name] = s.pair(f"weight.{name}", exp(mean.chosen[p] + mean.rejected[p]))
    at_most = s.pair("weight.held", minimum(1, made["wpo_shifted"][p]))
    used = s.pick("weight.pair", (p,), "loss.weight", off=1, wpo=made["wpo"][p], wpo_shifted=at_most[p])
    return s.held("weight.used", used)
