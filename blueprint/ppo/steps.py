"""The steps: every definition of RLHF PPO, in the order in which the numbers come about, sheet by sheet."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Sheet
from blueprint.ppo.rollout import DrawRange, Prompts
from blueprint.ppo.settings import Settings
from blueprint.ppo.sheets import critics, policies
from blueprint.ppo.sheets import loss as loss_sheet
from blueprint.ppo.sheets import signal as signal_sheet


class Steps(NamedTuple):
    """Everything between the inputs and the diagnostics."""

    old: policies.OldPolicy
    reference: policies.Policy
    reference_kl: Block
    policy: policies.Policy
    policy_kl: Block
    old_critic: critics.Critic
    critic: critics.Critic
    reward_sheet: Sheet
    entropy: Block
    signal: signal_sheet.Signal
    loss: loss_sheet.Loss

    def sheets(self) -> tuple[Sheet, ...]:
        """Returns the sheets from the rollout to the loss, in reading order."""
        return (
            self.old.policy.sheet, self.reference.sheet, self.reward_sheet, self.old_critic.sheet, self.signal.sheet,
            self.policy.sheet, self.critic.sheet, self.loss.sheet,
        )  # fmt: skip


def steps_of(given: Prompts, max_new_tokens: Block, draws: DrawRange, chosen: Settings) -> Steps:
    """Runs the definitions in the order in which the numbers come about."""
    old = policies.old_policy(given, max_new_tokens, draws)
    reference, reference_kl = policies.reference(old)
    reward_sheet, score = critics.reward_model(old)
    old_critic = critics.old_critic(old)
    words = old.rollout.words

    head = old.head.on("signal")
    come_in = signal_sheet.Given(old.policy.logprobs, reference.logprobs, score, old_critic.values, reference_kl)
    signal = signal_sheet.signal(head, head.mask, signal_sheet.linked("signal", come_in), words, chosen)

    policy, policy_kl, entropy = policies.new_policy(old, chosen.used["update_step"])
    critic = critics.new_critic(old, old_critic, chosen.used["update_step"])
    head = old.head.on("loss")
    rows = (
        policy.logprobs, old.policy.logprobs, signal.white.used, critic.values, old_critic.values,
        signal.gae.returns, entropy, policy_kl,
    )  # fmt: skip
    names = loss_sheet.Given._fields
    here = loss_sheet.Given(*(link(f"loss.{name}", row) for name, row in zip(names, rows, strict=True)))
    loss = loss_sheet.loss(head, here, words, chosen)
    return Steps(
        old, reference, reference_kl, policy, policy_kl, old_critic, critic, reward_sheet, entropy, signal, loss
    )
