"""The whole blueprint: from words and weights to the total loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blueprint.language import Axis, Block, link, typed
from blueprint.numbers import WeightNumbers
from blueprint.page.outline import Blueprint, Piece, Sheet
from blueprint.ppo import checks
from blueprint.ppo.axes import j, k, n, one, t, v
from blueprint.ppo.diagnostics import EQUAL_RETURNS
from blueprint.ppo.rollout import Prompts, prompts
from blueprint.ppo.settings import Settings, settings
from blueprint.ppo.sheets import critics, policies
from blueprint.ppo.sheets import loss as loss_sheet
from blueprint.ppo.sheets import signal as signal_sheet
from blueprint.ppo.sheets.checks import checks_sheet
from blueprint.ppo.sheets.diagnostics import Diagnostics, diagnostics
from blueprint.ppo.sheets.inputs import inputs_sheet
from blueprint.ppo.sheets.start import start_sheet

NAMES: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}


class Steps(NamedTuple):
    """Everything between the inputs and the diagnostics."""

    old: policies.OldPolicy
    reference: policies.Policy
    reference_kl: Block
    policy: policies.Policy
    old_critic: critics.Critic
    critic: critics.Critic
    reward_sheet: Sheet
    entropy: Block
    signal: signal_sheet.Signal
    loss: loss_sheet.Loss


def weights_level(numbers: WeightNumbers) -> Blueprint:
    """Makes the blueprint of RLHF PPO from prompts, draws, weights and settings."""
    chosen, given = settings(numbers.ppo), prompts()
    max_new_tokens = typed("max_new_tokens", (), "max_new", "words the policy may write, at most", decimals=0)
    steps = _steps(given, max_new_tokens, chosen)
    watched = diagnostics(steps.old.head, steps.old.rollout, steps.signal, steps.loss, _watched_rows(steps))
    checked, judged, tolerances = checks_sheet(steps.old.head.on("checks"), _residuals(steps, given, chosen))
    start = start_sheet(numbers.title, numbers.about, _parts(steps), _pieces(steps, watched), judged.verdict)
    sheets = (
        start, inputs_sheet(chosen, given, max_new_tokens), steps.old.policy.sheet, steps.reference.sheet, steps.reward_sheet,
        steps.old_critic.sheet, steps.signal.sheet, steps.policy.sheet, steps.critic.sheet, steps.loss.sheet,
        watched.sheet, checked,
    )  # fmt: skip
    longest = numbers.draws.shape[1]
    sizes = {n: len(numbers.prompts), t: longest, v: len(numbers.vocabulary)}
    E = numbers.weights["old.E"]
    sizes |= {k: E.shape[1], j: numbers.weights["old.W"].shape[1]}
    blueprint = Blueprint(
        numbers.title,
        sheets,
        sizes,
        chosen.typed | tolerances | {max_new_tokens: numbers.max_new_tokens},
        NAMES | {v: given.vocabulary},
        chosen.choices | {given.given: given.vocabulary},
        chosen.ranges | {max_new_tokens: (1, numbers.max_new_tokens), steps.old.rollout.draw: (0.01, 0.99)},
        {"numbers": numbers.name, "preset": "default", "seed": str(numbers.seed)},
        steps.loss.total.total,
        (steps.loss.total.policy_loss, *steps.loss.adds),
    )
    weights = {block_name(key): weight for key, weight in numbers.weights.items()}
    others = {"rollout.draw": numbers.draws, "explained_variance.floor": EQUAL_RETURNS}
    return blueprint.with_typed(_texts(numbers, longest) | others | weights)


def block_name(key: str) -> str:
    """Returns the block that holds a weight of the numbers file: `critic.delta_w` stands in `critic.delta.head.w`.

    In a sheet upper and lower case are the same, so w and W need names that differ.
    """
    model, part = key.split(".")
    words = ["delta"] if part.startswith("delta_") else []
    part = part.removeprefix("delta_")
    return ".".join([model, *words, *(["head"] if part in ("w", "b") else []), part])


def _steps(given: Prompts, max_new_tokens: Block, chosen: Settings) -> Steps:
    """Runs the definitions in the order in which the numbers come about."""
    old = policies.old_policy(given, max_new_tokens)
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
    return Steps(old, reference, reference_kl, policy, old_critic, critic, reward_sheet, entropy, signal, loss)


def _watched_rows(steps: Steps) -> list[Block]:
    """Lists the rows whose mean over the response the first sheet shows, as far as there is none yet."""
    s, loss = steps.signal, steps.loss
    return [
        steps.old.policy.logprobs, steps.reference.logprobs, steps.policy.logprobs, s.reward.rewards,
        steps.old_critic.values, s.gae.td_errors, s.white.used, loss.ratio, loss.clip.unclipped, loss.clip.smaller,
    ]  # fmt: skip


def _residuals(steps: Steps, given: Prompts, chosen: Settings) -> list[Block]:
    """Lists what must be 0 in every workbook."""
    s, loss = steps.signal, steps.loss
    models = {"old policy": steps.old.policy, "reference": steps.reference, "new policy": steps.policy}
    return [
        checks.no_gap(given.is_given),
        checks.not_empty(given.is_given),
        *(checks.sums_to_one(name, policy.words.p) for name, policy in models.items()),
        *(checks.not_positive(name, policy.logprobs) for name, policy in models.items()),
        checks.not_negative("exact_kl", "exact KL to reference is never negative", steps.reference_kl),
        checks.not_negative("k3", "k3 is never negative", s.kl.k3),
        checks.adds_up(s.gae.advantages, s.V, s.gae.returns),
        checks.ratio_rests(loss.ratio, chosen.used["update_step"]),
        checks.shares_add_up(steps.old.rollout.mask, loss.share, loss.total.total),
    ]


def _parts(steps: Steps) -> list[Piece]:
    """Lists the total loss and the four numbers that add up to it."""
    total, names = steps.loss.total, ("value loss, weighted", "entropy bonus, weighted", "policy KL, weighted")
    adds = [Piece(name, block, block) for name, block in zip(names, steps.loss.adds, strict=True)]
    return [
        Piece("total loss", total.total, total.total),
        Piece("policy loss", total.policy_loss, total.policy_loss),
        *adds,
    ]


def _pieces(steps: Steps, d: Diagnostics) -> list[Piece]:
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


def _texts(numbers: WeightNumbers, decisions: int) -> dict[str, object]:
    """Lays the prompts out: the start column holds the first word, empty cells follow the last."""
    rows = [[*prompt, *[""] * (decisions + 1 - len(prompt))] for prompt in numbers.prompts]
    return {"given": np.array(rows, dtype=object), "vocabulary": list(numbers.vocabulary)}
