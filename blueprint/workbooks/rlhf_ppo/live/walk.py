"""Walk, where conventions are live: one word from its log-probs to its share of the loss, with every convention's step."""

from __future__ import annotations

from blueprint.page.outline import Section
from blueprint.workbooks.common.sheets.walk import titled_sections
from blueprint.workbooks.rlhf_ppo.live.steps import Live
from blueprint.workbooks.rlhf_ppo.sheets.walk import model_sections, written_sections


def walk_sections(live: Live) -> list[Section]:
    """Outlines the whole derivation of one word."""
    m, given, s, out = live.steps.models, live.batch, live.signal, live.loss
    kl, paid, of_r, of_A, clip, value = s.kl, s.paid, s.rewards, s.white, out.clip, out.value
    value_of = (m.way.expects, m.V_new) if m.way else ()
    return titled_sections(
        *written_sections(m),
        *model_sections(m),
        ("Where things are counted", (given.S, *s.counted)),
        ("KL to the reference", (kl.free, kl.held, kl.k1, kl.absolute, kl.k2, kl.k3, kl.chosen, kl.clipped, kl.used)),
        ("Reward", (s.score.place, s.score.placed, paid.support, paid.penalty, paid.raw, of_r.whitened, of_r.shifted, of_r.used)),
        ("Advantage", (s.gae.V, s.gae.ahead, s.gae.td_errors, s.gae.advantages, s.gae.returns)),
        ("Whitening", (of_A.of.mean, of_A.of.centred, of_A.of.variance, of_A.of.divisor, of_A.whitened, of_A.shifted, of_A.used)),
        ("Ratio and clip", (
            clip.free_log_ratio, clip.log_ratio, clip.ratio, clip.unclipped, clip.clipped_ratio, clip.clipped,
            clip.pessimistic, clip.floor, clip.smaller,
        )),
        ("Value loss", (
            *value_of, value.error, value.square, value.held, value.held_error, value.held_square, out.larger, value.loss,
        )),
        ("The weight of the word", (
            out.filter.counted, out.policy_weights.row, out.value_weights.row, out.entropy_weights.row,
        )),
        ("What the word adds to the total", (live.steps.entropy, *out.sums.parts, out.sums.share, out.sums.total.total)),
    )  # fmt: skip
