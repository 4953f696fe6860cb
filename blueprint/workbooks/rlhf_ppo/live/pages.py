"""The sections of the sheets on which conventions are live: every step of the pipeline, in order, steps on the way folded."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.page.outline import Item, Section, key, minor
from blueprint.workbooks.common.conventions.weights import Weights
from blueprint.workbooks.common.signal import Signal
from blueprint.workbooks.rlhf_ppo.live.pipeline import Batch, LossPart


def loss_sections(given: Batch, made: Signal, out: LossPart, cross: Block | None) -> tuple[Section, ...]:
    """Outlines the way from the advantage to the total loss. cross: Σ p log q of the new policy and the reference, if
    it stands on this sheet."""
    value, total, added = out.value, out.sums.total, out.sums
    squares = (value.error, value.square, value.held, value.held_error, value.held_square, out.larger, key(value.loss))
    return (
        *_policy_sections(given, made, out),
        Section(
            "Value loss",
            (given.at.first_past, out.value_counted, given.V_new, made.whole.gae.V, made.whole.gae.returns, *squares),
        ),
        Section(
            "Value loss: weights and mean", (out.value_mode, *_weights(out.value_weights), key(total.value_loss))
        ),
        Section(
            "Entropy bonus and policy KL",
            (out.entropy_mode, *_weights(out.entropy_weights), given.entropy, key(total.entropy),
             given.policy_kl, key(total.policy_kl)),
        ),
        Section(
            "KL to the reference as a loss (used if it is chosen)",
            (given.logp_ref, *((minor(cross),) if cross is not None else ()), given.kl_new_ref,
             *out.kl.steps, out.kl.used, key(added.kl_loss)),
        ),
        Section(
            "Total loss: the policy loss and what the others add to it",
            (added.vf, added.beta, *added.adds, key(total.total)),
        ),
        Section("What each word adds to the total", (*_minor(*added.parts), added.share)),
    )  # fmt: skip


def _policy_sections(given: Batch, made: Signal, out: LossPart) -> tuple[Section, ...]:
    clip = out.clip
    return (
        Section(
            "Importance ratio of new to old probability",
            (
                made.counted.response,
                given.logp_new,
                given.logp_old,
                clip.free_log_ratio,
                clip.log_ratio,
                key(clip.ratio),
            ),
        ),
        Section(
            "Clipped surrogate: the smaller of two, and never below its floor",
            (made.used, *clip.steps, key(clip.smaller)),
        ),
        Section(
            "Policy loss: which words count, and with which weight",
            (*out.filter, *_weights(out.policy_weights), *out.guard, key(out.sums.total.policy_loss)),
        ),
    )


def _minor(*blocks: Block) -> tuple[Item, ...]:
    return tuple(map(minor, blocks))


def _weights(made: Weights) -> tuple[Item, ...]:
    steps = (made.length, made.wrote, made.rows, *made.modes, made.of_words, made.chosen)
    return (*_minor(*steps), made.row)
