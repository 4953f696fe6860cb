"""The definitions of GRPO and its family, in order: the whole way from scores and log-probs to the loss."""

from typing import NamedTuple

from blueprint.language import Block
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.grpo.definitions.group_advantages import (
    Counts,
    Group,
    Places,
    Rewards,
    Row,
    Steps,
    advantages,
    group,
    rewards,
)
from blueprint.workbooks.grpo.definitions.losses import (
    Ratios,
    Total,
    averages,
    counted,
    kept_tokens,
    kl_in_loss,
    objective,
    ratios,
    rollout,
    total,
    watched,
    weight,
)


class Derived(NamedTuple):
    """Every row in order, and those that one looks for."""

    steps: Steps
    rewards: Rewards
    group: Group
    advantages: Row
    ratios: Ratios
    kl: Row
    total: Total

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        return self.steps.rows


def derived(given: Rows, use: Choices) -> Derived:
    """Runs the definitions, one after the other. given: by name, what the responses are and what models say of them."""
    s, m, truncated = (
        Steps(
            use,
            Counts(*(given[f"count.{of}"] for of in Counts._fields)),
            Places(given["response.is"], given["response.same"]),
        ),
        given["response.tokens"],
        given["truncated"],
    )
    new, old, ref, engine = (given[f"{name}.logprobs"] for name in ("policy", "old", "reference", "engine"))
    length, H = given["response.length"], given["policy.entropy"]
    rewarded = rewards(given["score"], length, truncated, old, ref, m, s)
    grouped = group(rewarded.used, length, given["greedy"], s)
    A = advantages(grouped, rewarded, m, s)
    ratio = ratios(new, old, engine, m, s)
    loss = objective(new, ratio, A, m, s)
    corrected = rollout(ratio, old, engine, m, s)
    keep = kept_tokens(A, new, old, H, m, s)
    counts = averages(counted(corrected.kept, truncated, grouped.left, s), grouped.left, s)
    by = {of: weight(of, counts, s) for of in ("policy", "kl", "entropy")}
    kl = kl_in_loss(new, ref, engine, ratio, m, s)
    whole = total(loss, corrected.weight, keep, kl, H, by, s)
    watched(grouped, given["score"], length, A, ratio, kl, m, s)
    return Derived(s, rewarded, grouped, A, ratio, kl, whole)
