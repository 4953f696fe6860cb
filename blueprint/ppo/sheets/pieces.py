"""What the first sheet lists: the parts of the loss, and the pieces of RLHF PPO under their usual names."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.page.outline import Piece
from blueprint.ppo.sheets.diagnostics import Diagnostics
from blueprint.ppo.steps import Steps


def watched_rows(steps: Steps) -> list[Block]:
    """Lists the rows whose mean over the response the first sheet shows, as far as there is none yet."""
    s, loss = steps.signal, steps.loss
    return [
        steps.old.policy.logprobs, steps.reference.logprobs, steps.policy.logprobs, s.reward.rewards,
        steps.old_critic.values, s.gae.td_errors, s.white.used, loss.ratio, loss.clip.unclipped, loss.clip.smaller,
    ]  # fmt: skip


def parts_of(steps: Steps) -> list[Piece]:
    """Lists the total loss and the four numbers that add up to it."""
    total, names = steps.loss.total, ("value loss, weighted", "entropy bonus, weighted", "policy KL, weighted")
    adds = [Piece(name, block, block) for name, block in zip(names, steps.loss.adds, strict=True)]
    return [
        Piece("total loss", total.total, total.total),
        Piece("policy loss", total.policy_loss, total.policy_loss),
        *adds,
    ]


def pieces_of(steps: Steps, d: Diagnostics) -> list[Piece]:
    """Lists the pieces of RLHF PPO under their usual names, in the order in which they are computed."""
    s, loss, run = steps.signal, steps.loss, steps.old.rollout

    def mean(title: str, row: Block) -> Piece:
        return Piece(title, d.means[row.name], row)

    return [
        Piece("masks and EOS", run.words, run.mask),
        mean("proximity model θ_old", steps.old.policy.logprobs),
        mean("reference model θ_ref", steps.reference.logprobs),
        mean("per-token log-probs", steps.policy.logprobs),
        Piece("reference KL", d.kl_per_word, s.kl.used),
        Piece("reward-model coupling", d.per_response.score_mean, s.score),
        Piece("sequence-level credit assignment", d.per_response.score_mean, d.per_response.score),
        mean("augmented reward", s.reward.rewards),
        mean("values of the old critic", steps.old_critic.values),
        mean("TD errors", s.gae.td_errors),
        Piece("GAE advantage estimation", s.white.mean, s.gae.advantages),
        Piece("value targets (from the old critic)", d.explained.mean_return, s.gae.returns),
        mean("advantage whitening", s.white.used),
        mean("importance-sampling ratios", loss.ratio),
        mean("token-level advantage weighting", loss.clip.unclipped),
        mean("clipped surrogate (PPO clip)", loss.clip.smaller),
        Piece("value loss", loss.total.value_loss, loss.value.loss),
        Piece("entropy bonus", loss.total.entropy, steps.entropy),
        Piece("policy KL", loss.total.policy_kl, loss.total.policy_kl),
        Piece("clip fraction", loss.by_loss.fraction, loss.by_loss.flag),
        Piece("approximate KL", d.approx_kl[1], d.approx_kl[1]),
        Piece("explained variance", d.explained.explained, d.explained.explained),
    ]
