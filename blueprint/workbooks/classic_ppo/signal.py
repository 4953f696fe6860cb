"""Advantage: from rewards and values to a learning signal for every step, one end after the other."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Note, Section, Sheet, key
from blueprint.workbooks.classic_ppo.advantage import Gae, Whitened, gae, whiten
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.checks import Ends
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.common.settings import Settings

LEAD = "from rewards and values to a learning signal for every step; nothing reaches back over the end of an episode"
STOPS = "Two things reach back from the next column: its value, unless stop is 1, and its advantage, unless done is 1."
RIGHT_TO_LEFT = (
    "Read from right to left: the last A is δ, each earlier one adds γλ of its neighbour, unless the episode ended."
)


class Signal(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    rewards: Block
    V: Block
    ends: Ends
    gae: Gae
    white: Whitened


def signal(run: Rollout, chosen: Settings) -> Signal:
    """Defines and outlines TD error, advantage, return and whitening."""
    head = run.head.on("advantage")
    r, V = link("advantage.rewards", run.rewards), link("advantage.values", run.V_old)
    ends = Ends(head.done, link("advantage.terminated", run.terminated))
    made = gae(r, V, ends.done, ends.terminated, chosen)
    white = whiten(made.advantages, run.counts.N, chosen)
    scale = (white.mean, white.centred, white.variance, white.deviation, white.plus, white.largest, white.divisor)
    sections = (
        Section("Where the future stops", (Note(STOPS), ends.terminated, key(made.stop))),
        Section("TD error: the reward and what comes after, less what was expected", (r, V, key(made.td_errors))),
        Section("Advantage (GAE)", (Note(RIGHT_TO_LEFT), key(made.advantages))),
        Section("Return: what the critic is trained towards", (key(made.returns),)),
        Section("Whitening: mean 0 and variance 1 over all steps", (*scale, white.whitened, key(white.used))),
    )
    return Signal(Sheet("Advantage", LEAD, sections, (n, t), head), r, V, ends, made, white)
