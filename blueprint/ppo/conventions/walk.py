"""Walk, where conventions are live: one word from its log-probs to its share of the loss, with every convention's step."""

from __future__ import annotations

from blueprint.page.outline import Section
from blueprint.ppo.conventions.live import Live
from blueprint.ppo.sheets.walk import READING, likely, section


def walk_sections(live: Live) -> list[Section]:
    """Outlines the whole derivation of one word."""
    m, given, s, out = live.steps.models, live.batch, live.signal, live.loss
    kl, paid, of_r, of_A, clip, value = s.kl, s.paid, s.rewards, s.white, out.clip, out.value
    return [
        section(1, "The decision", READING, m.texts.mask, *m.texts.how, m.texts.written, given.S, *s.counted),
        likely(2, "old policy", m.old, m.texts.written),
        likely(3, "reference", m.reference.policy, m.texts.written),
        likely(4, "new policy", m.policy.policy, m.texts.written),
        section(5, "KL to the reference", kl.k1, kl.absolute, kl.k2, kl.k3, kl.chosen, kl.used),
        section(6, "Reward", s.score.place, s.score.placed, paid.support, paid.penalty, paid.raw,
                of_r.whitened, of_r.shifted, of_r.used),
        section(7, "Advantage", s.gae.V, s.gae.ahead, s.gae.td_errors, s.gae.advantages, s.gae.returns),
        section(8, "Whitening", of_A.of.mean, of_A.of.centred, of_A.of.variance,
                of_A.of.divisor, of_A.whitened, of_A.shifted, of_A.used),
        section(9, "Ratio and clip", clip.free_log_ratio, clip.log_ratio, clip.ratio, clip.unclipped, clip.clipped_ratio,
                clip.clipped, clip.pessimistic, clip.floor, clip.smaller),
        section(10, "Value loss", value.error, value.square, value.held, value.held_error,
                value.held_square, out.larger, value.loss),
        section(11, "The weight of the word", out.filter.counted, out.policy_weights.row, out.value_weights.row,
                out.entropy_weights.row),
        section(12, "What the word adds to the total", live.steps.entropy, *out.sums.parts, out.sums.share, out.sums.total.total),
    ]  # fmt: skip
