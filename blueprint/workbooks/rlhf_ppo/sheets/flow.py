"""The map of the flow: boxes in cells, from the models on the left to the total loss on the right."""

from __future__ import annotations

from blueprint.page.outline import Box, Flow
from blueprint.workbooks.common.sheets.flow import DASH, DOWN, LINE, ON, UP, with_
from blueprint.workbooks.common.signal import Whole
from blueprint.workbooks.rlhf_ppo.steps import Steps


def flow_of_signal(s: Whole) -> Flow:
    """Draws the way from given log-probs, scores and values to the advantage."""
    V, r, delta, A = (
        with_("V_old", s.gae.V),
        Box("reward r", s.rewards.used),
        Box("TD error δ", s.gae.td_errors),
        Box("advantage A", s.gae.advantages),
    )
    return Flow((
        (Box("log π_old (given)", s.given.logp_old), ON, Box("reference KL", s.kl.used), ON, r, ON, delta, ON, A, ON,
         Box("whitened Â", s.white.used)),
        (Box("log π_ref (given)", s.given.logp_ref), UP, "", "", with_("score", s.placed), "", V, "", "", DOWN,
         Box("return R", s.gae.returns)),
        (Box("score (given)", s.placed), "", "", "", "", "", "", "", "", "", V),
        (Box("value V_old (given)", s.gae.V),),
    ))  # fmt: skip


def flow_of_loss(steps: Steps) -> Flow:
    """Draws the way from the six models to the total loss; what enters from elsewhere is named below its box."""
    m, s, x, total = steps.models, steps.signal, steps.loss, steps.loss.total
    means = total.means
    old, reference, policy, before, after = m.old, m.reference.policy, m.policy.policy, m.V_old, m.V_new
    r, delta, A = (
        Box("reward r", s.rewards.used),
        Box("TD error δ", s.gae.td_errors),
        Box("advantage A", s.gae.advantages),
    )
    log_old, V_old, R = old.logprobs, before, Box("return R", s.gae.returns)
    return Flow((
        (Box("Old policy π_old writes the words", m.texts.word_written), ON, Box("log π_old", log_old), ON,
         Box("reference KL", s.kl.used), ON, r, ON, delta, ON, A),
        (Box("Reference π_ref reads them", reference.words.p), ON, Box("log π_ref", reference.logprobs), UP, "", "",
         with_("score", s.placed), "", with_("V_old", V_old), "", "↓"),
        (Box("Reward model reads them", m.score), ON, Box("score", s.placed), "", "", "", "", "", "", "", R),
        (Box("Old critic reads them", before), ON, Box("value V_old", V_old), "", "", "", "", "", "", "", with_("V_old", V_old)),
        ("", "", "", "", "", "", "", "", "", "", Box("whitened Â", s.white.used)),
        ("", "", "", "", "", "", "", "", "", "", with_("A", s.gae.advantages)),
        (Box("Policy π_θ reads them", policy.words.p), ON, Box("log π_θ", policy.logprobs), ON, Box("ratio ρ", x.clip.ratio), ON,
         Box("clipped surrogate", x.clip.smaller), ON, Box("policy loss", means["policy_loss"]), DOWN),
        ("", "", "", "", with_("log π_old", log_old), "", with_("Â", s.white.used)),
        ("", DOWN, Box("entropy H", steps.entropy), DASH, LINE, DASH, LINE, ON, Box("mean entropy", means["entropy"]), ON,
         Box("TOTAL LOSS", total.total)),
        ("", DOWN, Box("KL from π_old", m.policy.exact), DASH, LINE, DASH, LINE, ON, Box("policy KL", means["policy_kl"]), UP),
        ("", "", with_("p of π_old", old.words.p)),
        (Box("Critic reads them", after), ON, Box("value V", after), ON, Box("value clipped", x.critic.held), ON,
         Box("larger square", x.critic.loss), ON, Box("value loss", means["value_loss"]), UP),
        ("", "", "", "", with_("V_old", V_old), "", with_("return R", s.gae.returns)),
    ))  # fmt: skip
