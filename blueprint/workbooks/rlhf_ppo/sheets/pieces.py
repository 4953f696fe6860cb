"""What the first sheet lists: the parts of the loss, and the pieces of RLHF PPO under their usual names."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.page.outline import Piece
from blueprint.workbooks.common.sheets.averaged import TOTAL
from blueprint.workbooks.rlhf_ppo.sheets.diagnostics import Diagnostics
from blueprint.workbooks.rlhf_ppo.steps import Steps

ADDS = ("value loss, weighted", "entropy bonus, weighted", "policy KL, weighted", "KL to the reference, weighted")
"""What is added to the policy loss; the last one only where conventions are live."""


PROXIMITY = "θ_old, the policy that wrote the responses: its log-prob of each word"
COUPLING = "the score, added to the reward at the response's last word"
COUPLING_LIVE = "the score, added to the reward in the slot where it lands"


def coupled(steps: Steps) -> Block:
    """Returns the score as it enters the reward, where it is defined and not where it is repeated."""
    return steps.models.score if steps.signal.placed.link else steps.signal.placed


def averaged_rows(steps: Steps) -> list[Block]:
    """Lists the rows whose mean over the response the first sheet shows, as far as there is none yet."""
    m, s, loss = steps.models, steps.signal, steps.loss
    return [
        m.old.logprobs, m.reference.policy.logprobs, m.policy.policy.logprobs, s.paid.penalty, coupled(steps),
        s.rewards.used, m.V_old,
        s.gae.td_errors, s.white.used, loss.clip.ratio, loss.clip.unclipped, loss.clip.smaller,
    ]  # fmt: skip


def parts_of(steps: Steps) -> list[Piece]:
    """Lists the total loss and the four numbers that add up to it."""
    total = steps.loss.total
    adds = [Piece(name, block, block) for name, block in zip(ADDS, total.adds, strict=False)]
    return [
        Piece("total loss", total.total, total.total, of=TOTAL),
        Piece("policy loss", total.means["policy_loss"], total.means["policy_loss"]),
        *adds,
    ]


def pieces_of(steps: Steps, d: Diagnostics, logged: Mapping[str, Block]) -> list[Piece]:
    """Lists the pieces of RLHF PPO under their usual names, in the order in which they are computed.

    logged: by the name of a piece, the number that is shown instead, as a library logs it.
    """
    m, s, loss, run = steps.models, steps.signal, steps.loss, steps.models.texts

    def mean(title: str, row: Block, says: str = "") -> Piece:
        return Piece(title, d.named[f"mean.{row.name}"], row, says=says)

    means, score = loss.total.means, coupled(steps)
    lands = COUPLING if s.placed.link else COUPLING_LIVE

    listed = [
        Piece("masks and EOS", run.words, run.mask),
        mean("proximity model θ_old", m.old.logprobs, PROXIMITY),
        mean("reference model θ_ref", m.reference.policy.logprobs),
        mean("per-token log-probs", m.policy.policy.logprobs),
        Piece("reference KL", d.named["kl.per_word"], s.kl.used),
        mean("KL penalty", s.paid.penalty),
        mean("reward-model coupling", score, lands),
        Piece("sequence-level credit assignment", d.named["score.mean"], d.named["score.response"]),
        mean("augmented reward", s.rewards.used),
        mean("values of the old critic", m.V_old),
        mean("TD errors", s.gae.td_errors),
        Piece("GAE advantage estimation", s.white.of.mean, s.gae.advantages),
        Piece("value targets (from the old critic)", d.named["returns.mean"], s.gae.returns),
        mean("advantage whitening", s.white.used),
        mean("importance-sampling ratios", loss.clip.ratio),
        mean("token-level advantage weighting", loss.clip.unclipped),
        mean("clipped surrogate (PPO clip)", loss.clip.smaller),
        Piece("value loss", means["value_loss"], loss.critic.loss),
        Piece("entropy bonus", means["entropy"], steps.entropy),
        Piece("policy KL", means["policy_kl"], means["policy_kl"]),
        Piece("clip fraction", d.named["clip_fraction.loss"], steps.flags.by_loss),
        Piece("approximate KL", *(d.named["approx_kl.k3"],) * 2),
        Piece("explained variance", *(d.named["explained_variance"],) * 2),
    ]
    return [Piece(p.title, logged[p.title], logged[p.title]) if p.title in logged else p for p in listed]
