"""The map of the flow: boxes in cells, from the models on the left to the total loss on the right."""

from __future__ import annotations

from blueprint.page.outline import Box, Flow
from blueprint.ppo.sheets.signal import Signal
from blueprint.ppo.steps import Steps

ON, UP, DOWN, LINE, DASH = "→", "↗", "↘", "───────────", "──"


def flow_of_signal(s: Signal) -> Flow:
    """Draws the way from given log-probs, scores and values to the advantage."""
    return Flow((
        (Box("log π_old (given)", s.logp_old), ON, Box("reference KL", s.kl.used), ON, Box("reward r", s.reward.rewards), ON,
         Box("TD error δ", s.gae.td_errors), ON, Box("advantage A", s.gae.advantages), ON, Box("whitened Â", s.white.used)),
        (Box("log π_ref (given)", s.logp_ref), UP, "", UP, "", UP, "", DOWN),
        (Box("score (given)", s.score), DASH, LINE, UP, "", UP, "", "", Box("return R", s.gae.returns)),
        (Box("value V_old (given)", s.V), DASH, LINE, DASH, LINE, UP, LINE, UP),
    ))  # fmt: skip


def flow_of_loss(steps: Steps) -> Flow:
    """Draws the way from the six models to the total loss."""
    old, reference, policy, before, after = steps.old, steps.reference, steps.policy, steps.old_critic, steps.critic
    s, x, total = steps.signal, steps.loss, steps.loss.total
    R, white = Box("return R", s.gae.returns), Box("whitened Â", s.white.used)
    log_old, log_ref = Box("log π_old", old.policy.logprobs), Box("log π_ref", reference.logprobs)
    return Flow((
        (Box("Old policy π_old writes", old.rollout.word_written), ON, log_old, ON, Box("reference KL", s.kl.used), ON,
         Box("reward r", s.reward.rewards), ON, Box("TD error δ", s.gae.td_errors), ON, Box("advantage A", s.gae.advantages)),
        (Box("Reference π_ref reads", reference.words.p), ON, log_ref, UP, "", UP, "", UP, "", DOWN, "↓"),
        (Box("Reward model reads", s.score), ON, Box("score", s.score), DASH, LINE, UP, "", UP, R, "", white),
        (Box("Old critic reads", before.values), ON, Box("value V_old", before.values), DASH, LINE, DASH, LINE, UP, "│", "", "│"),
        (Box("Policy π_θ reads", policy.words.p), ON, Box("log π_θ", policy.logprobs), ON, Box("ratio π_θ / π_old", x.ratio), ON,
         Box("clipped surrogate", x.clip.smaller), "←", "│", "←", "┘"),
        ("", "", "", "", "", "", "↓", "", "│"),
        ("", "", "", "", "", "", Box("policy loss", total.policy_loss), DASH, "│", DOWN),
        ("", DOWN, Box("entropy H", total.entropy), DASH, LINE, DASH, LINE, DASH, "│", ON, Box("TOTAL LOSS", total.total)),
        ("", DOWN, Box("policy KL", total.policy_kl), DASH, LINE, DASH, LINE, DASH, "│", UP),
        (Box("Critic reads", after.values), ON, Box("value V", after.values), ON, Box("value clip", x.value.held), ON,
         Box("value loss", total.value_loss), "←", "┘"),
        ("", "", "", "", "", "", "└", DASH, LINE, UP),
    ))  # fmt: skip
