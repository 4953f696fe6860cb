"""The loss of GRPO as TRL adds it up: the KL comes to each token's loss, and the sum is averaged once.

The definitions average both, and add up the means: what is changed between is no change of theirs.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Sum, block
from blueprint.misconceptions import Change
from blueprint.verifying import Definitions, Settings, Try, of_equations
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.grpo.definitions.group_advantages import LABELS, n, t
from blueprint.workbooks.grpo.schema import GRPO

MODE = "loss.aggregation"
TYPED = {
    "policy.counts": (n, t), "kl_new.counts": (n, t), "loss.counted": (n, t), "joined.tokens": (), "joined.responses": (),
    "joined.bonus": (),
}  # fmt: skip


def _derived(given: Rows, use: Choices) -> Rows:
    """Makes loss and KL of each token, their sums over the tokens of each response, and the mean of these."""
    loss, counts, tokens, responses = (
        given[name] for name in ("policy.counts", "loss.counted", "joined.tokens", "joined.responses")
    )
    paid = block("joined.kl", (n, t), "k", "β times the KL of the token")
    paid[n, t] = use.used["kl.coef"] * given["kl_new.counts"][n, t]
    each = block("joined.each", (n, t), "ℓ", "loss of the token, with its KL")
    each[n, t] = loss[n, t] + paid[n, t]
    sums = block("joined.sums", (n,), "s", "sum over the tokens of the response")
    sums[n] = Sum(t, counts[n, t] * each[n, t])
    mean = block("joined.means", (n,), "s̄", "mean over the tokens of the response")
    mean[n] = sums[n] / Sum(t, counts[n, t])
    made = {
        "token_mean": lambda: Sum(n, sums[n]) / tokens,
        "seq_mean_token_mean": lambda: Sum(n, mean[n]) / responses,
        "seq_mean_token_sum": lambda: Sum(n, sums[n]) / responses / use.used["loss.constant"],
    }
    average = block("joined.mean", (), "L̄", "mean of the losses")
    average[()] = made[use.switch[MODE].words[0]]()
    total = block("joined.total", (), "L", "total loss")
    total[()] = average - given["joined.bonus"]
    return {each.name: each for each in (paid, each, sums, mean, average, total)}


EQUATIONS = Definitions(GRPO, LABELS.labels, TYPED, _derived, masks=("loss.counted",))
WORDS = ("token_mean", "seq_mean_token_mean", "seq_mean_token_sum")


def of_joined(settings: Settings) -> Iterator[Try]:
    """Yields every change of one part of these equations, where the KL is paid in the loss and averaged as the rest is."""
    if settings[MODE] in WORDS and settings["kl.place"] == "loss" and settings["kl.aggregation"] == "as_policy":
        for each in of_equations(EQUATIONS, settings, "joined.total", ()):
            yield each._replace(ways={"joined": each.ways["equations"]})


def joined_total(
    settings: Settings, of: Mapping[str, Array], changes: Mapping[str, Change], share: float, bonus: float
) -> float:
    """Computes the total with changes. of: the typed rows of tokens, [B, T]; share: of a mean over this file, as it counts in that
    over a larger batch; bonus: what is taken off for entropy."""
    counts = of["loss.counted"]
    numbers = {"joined.tokens": counts.sum() / share, "joined.responses": len(counts) / share, "joined.bonus": bonus}
    known = {**of, **{name: np.asarray(each) for name, each in numbers.items()}}
    sizes = {n: counts.shape[0], t: counts.shape[1]}
    return float(EQUATIONS.values(settings, sizes, known, ("joined.total",), changes)["joined.total"])
