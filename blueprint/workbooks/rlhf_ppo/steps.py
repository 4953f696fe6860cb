"""The steps: every definition of RLHF PPO, in the order in which the numbers come about, sheet by sheet."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Sheet
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions.choices import fixed
from blueprint.workbooks.common.definitions.metrics import Flags, PolicyKL, clip_flags, policy_kl
from blueprint.workbooks.common.definitions.networks import Network, Temperature
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.common.sheets.loss import LEAD, sections
from blueprint.workbooks.common.sheets.loss import linked as linked_loss
from blueprint.workbooks.common.signal import Given, Whole, signal
from blueprint.workbooks.rlhf_ppo.sheets import critics, policies
from blueprint.workbooks.rlhf_ppo.sheets.reading import Policy, Read
from blueprint.workbooks.rlhf_ppo.sheets.signal import linked, signal_sheet
from blueprint.workbooks.rlhf_ppo.texts import DrawRange, Prompts, Texts


class Way(NamedTuple):
    """How models that are run here come to what they say.

    read, embedding, network: what the old policy reads (ids), its embedding and its memory.
    upto, drawn: the sums on which the draw falls, and the id that it falls on.
    scored, expected, expects: the heads of the reward model, the old critic and the new one.
    """

    read: Block
    embedding: Block
    network: Network
    upto: Block
    drawn: Block
    scored: Block
    expected: Block
    expects: Block


class Models(NamedTuple):
    """What the models say, however it came about: texts, policies, values (n, t) and the score, with their sheets.

    before, between: the sheets that stand before the reward, and between the advantage and the loss.
    ends: (n, t), 1 where the end word ends a response. slots: where log-probs and values are taken behind it too.
    way: how they came to it, where they are run here.
    """

    texts: Texts
    head: InView
    old: Policy
    reference: Read
    policy: Read
    V_old: Block
    V_new: Block
    score: Block
    before: tuple[Sheet, ...]
    between: tuple[Sheet, ...]
    ends: Block
    slots: Block | None = None
    way: Way | None = None


class Steps(NamedTuple):
    """Everything between the inputs and the diagnostics."""

    models: Models
    entropy: Block
    signal: Whole
    signal_sheet: Sheet
    loss: losses.Loss
    loss_sheet: Sheet
    flags: Flags
    policy_kl: PolicyKL

    def sheets(self) -> tuple[Sheet, ...]:
        """Returns the sheets from the rollout to the loss, in reading order."""
        return (*self.models.before, self.signal_sheet, *self.models.between, self.loss_sheet)


def models_of(
    given: Prompts, max_new_tokens: Block, draws: DrawRange, update_step: Block, temperature: Temperature | None = None
) -> Models:
    """Runs the six models. With a temperature, log-probs and values are taken in every slot, used or not."""
    old = policies.old_policy(given, max_new_tokens, draws, temperature)
    reference = policies.reference(old)
    reward_model = critics.reward_model(old)
    old_critic = critics.old_critic(old)
    policy = policies.new_policy(old, update_step)
    critic = critics.new_critic(old, old_critic, update_step)
    before = (old.policy.sheet, reference.policy.sheet, reward_model.sheet, old_critic.sheet)
    run = old.rollout
    way = Way(
        run.read, old.memory.E, run.network, run.cumulative, run.drawn, reward_model.out, old_critic.out, critic.out
    )
    return Models(
        old.rollout.texts(), old.head, old.policy, reference, policy, old_critic.values, critic.values, reward_model.score,
        before,
        (policy.policy.sheet, critic.sheet), old.rollout.turn.ends, old.slots.row if old.slots else None, way,
    )  # fmt: skip


def steps_of(models: Models, chosen: Settings) -> Steps:
    """Runs the definitions from the reward to the loss."""
    words, reference, policy = models.texts.words, models.reference, models.policy
    assert policy.entropy is not None
    head = models.head.on("signal")
    come_in = Given(
        m=head.mask, logp_old=models.old.logprobs, logp_ref=reference.policy.logprobs, words=words, values=models.V_old,
        exact=reference.exact, placed=models.score,
    )  # fmt: skip
    use = fixed(chosen, LIVE)
    made = signal(linked(come_in), use)
    whole, sheet = made.whole, signal_sheet(made, head)
    head = models.head.on("loss")
    given = losses.Given(
        logp_new=policy.policy.logprobs, logp_old=models.old.logprobs, advantages=made.used, V_new=models.V_new,
        V_old=models.V_old, returns=whole.gae.returns, entropy=policy.entropy, policy_kl=policy.exact, m=head.mask, words=words,
    )  # fmt: skip
    out = losses.loss(linked_loss(given), use)
    flags, moved = clip_flags(out.clip, use), policy_kl(out.clip.log_ratio, out.clip.free_log_ratio, use)
    outline = tuple(sections(out, flags=(flags.by_loss, flags.by_ratio), moved=moved.steps))
    of_loss = Sheet("Loss", LEAD, outline, (n, t), head.rows, head.mask)
    return Steps(models, policy.entropy, whole, sheet, out, of_loss, flags, moved)
