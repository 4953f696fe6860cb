"""The total loss of a new policy and a new critic by live conventions, so that torch can differentiate it."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from blueprint.witness import signal
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.conventions.recompute import signal as learnt_from
from blueprint.witness.conventions.recompute import update
from blueprint.witness.live.rows import options_of, temperature_of, texts_of
from blueprint.witness.models import Policy, Scored, distribution, logprobs


def total_loss(batch: Batch, rows: Rows, policy: Policy, critic: Scored) -> Tensor:
    """Returns the total loss, a number, of a new policy and a new critic on the texts that the rows hold."""
    read, written = rows["rollout.read"].long(), rows["rollout.written"][..., 1:].long()
    slots = rows["slots"][..., :-1]
    found = distribution(policy.logits(policy.memory(read)) / temperature_of(batch)[..., None])
    p_log_p = (found["p"] * found["log_p"]).sum(dim=-1)
    texts = replace(
        texts_of(rows, rows["mask"][..., 1:-1]),
        logprobs=logprobs(found["log_p"], written, slots),
        kl_new_reference=signal.exact_kl(found["p"], p_log_p, rows["reference.log_p"], slots)[1],
        kl_old_new=signal.exact_kl(rows["old.p"], rows["old.p_log_p"], found["log_p"], slots)[1],
        entropy=-slots * p_log_p,
        values=slots * critic.score(critic.memory(read)),
    )
    options = options_of(batch)
    return update(texts, learnt_from(texts, options), options)["total_loss"].sum()
