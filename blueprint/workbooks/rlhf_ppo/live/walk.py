"""Walk, where conventions are live: one word from its log-probs to its share of the loss, with every convention's step."""

from __future__ import annotations

from blueprint.page.outline import Section
from blueprint.workbooks.common.definitions.choices import rows
from blueprint.workbooks.common.sheets.loss import walked
from blueprint.workbooks.common.sheets.walk import titled_sections
from blueprint.workbooks.rlhf_ppo.live.steps import Live
from blueprint.workbooks.rlhf_ppo.sheets.walk import model_sections, written_sections


def walk_sections(live: Live) -> list[Section]:
    """Outlines the whole derivation of one word."""
    m, given, s = live.steps.models, live.batch, live.signal
    whole = s.whole
    paid, found, of_A, scored = whole.paid, whole.rewards, whole.white, s.scored
    placed, whitened = scored[5:] if scored else (), found.white[1:] if found.white else ()
    value_of = (m.way.expects, m.V_new) if m.way else ()
    return titled_sections(
        *written_sections(m),
        *model_sections(m),
        ("Where things are counted", (given.S, *s.counted)),
        ("KL to the reference", tuple(row for row in (*whole.kl.steps, whole.kl.used) if row.axes)),
        ("Reward", rows(*placed, paid.support, paid.penalty, found.raw, *whitened, found.used)),
        ("Advantage", whole.gae[1:]),
        ("Whitening", rows(*of_A.of[1:4], *of_A.of.divisors[-1:], *of_A[1:])),
        *walked(live.loss, value_of, live.steps.entropy),
    )
