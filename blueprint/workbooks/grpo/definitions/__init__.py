"""The definitions of GRPO and its family, in order: the whole way from scores and log-probs to the loss."""

from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.grpo.definitions.importance_ratios import ratios, rollout
from blueprint.workbooks.grpo.definitions.losses import (
    averages,
    counted,
    kept_tokens,
    kl_in_loss,
    objective,
    total,
    weight,
)
from blueprint.workbooks.grpo.definitions.metrics import watched
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import Steps, advantages, group, rewards


def derived(given: Rows, use: Choices) -> Steps:
    """Runs the definitions, one after the other. given: by name, what the responses are and what models say of them."""
    s, m, truncated = Steps(use, given), given["response.tokens"], given["truncated"]
    new, old, ref, engine = (given[f"{name}.logprobs"] for name in ("policy", "old", "reference", "engine"))
    length, H = given["response.length"], given["policy.entropy"]
    group(rewards(given["score"], length, truncated, old, ref, m, s), length, given["greedy"], s)
    A = advantages(m, s)
    ratio = ratios(new, old, engine, m, s)
    loss = objective(new, ratio, A, m, s)
    rollout(old, engine, m, s)
    keep = kept_tokens(A, new, old, H, m, s)
    ways = averages(counted(truncated, s), s)
    by = {of: weight(of, ways, s) for of in ("policy", "kl", "entropy")}
    kl = kl_in_loss(new, ref, engine, m, s)
    total(loss, keep, kl, H, by, s)
    watched(given["score"], length, A, ratio, kl, m, s)
    return s
