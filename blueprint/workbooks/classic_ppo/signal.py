"""Advantage: from rewards and values to a learning signal for every step, one end after the other."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, block, link, maximum
from blueprint.page.outline import Note, Section, Sheet, key
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.use import use_of
from blueprint.workbooks.common.definitions.averages import Counting
from blueprint.workbooks.common.definitions.choices import EVERYWHERE
from blueprint.workbooks.common.definitions.gae import Gae, Reach, gae
from blueprint.workbooks.common.definitions.whitening import Whitened, statistics, whitened_advantages
from blueprint.workbooks.common.settings import Settings

LEAD = "from rewards and values to a learning signal for every step; nothing reaches back over the end of an episode"
STOPS = "Two things reach back from the next column: its value, unless stop is 1, and its advantage, unless done is 1."
RIGHT_TO_LEFT = (
    "Read from right to left: the last A is δ, each earlier one adds γλ of its neighbour, unless the episode ended."
)


class Ends(NamedTuple):
    """Rows (n, t) of 0 and 1: where an episode ended, and where the task itself did."""

    done: Block
    terminated: Block


class Signal(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    rewards: Block
    stop: Block
    ends: Ends
    gae: Gae
    white: Whitened


def signal(run: Rollout, chosen: Settings) -> Signal:
    """Defines and outlines TD error, advantage, return and whitening."""
    head = run.head.on("advantage")
    r, V = link("advantage.rewards", run.rewards), link("advantage.values", run.V_old)
    ends = Ends(head.done, link("advantage.terminated", run.terminated))
    use, N = use_of(chosen), run.counts.N
    stop = block("stop", (n, t), "stop", "1 where V(next) is cut off", decimals=0, source=sources.BOOTSTRAP)
    stop[n, t] = chosen.switch["bootstrap"].choose(done=ends.done[n, t], terminated=ends.terminated[n, t])
    made = gae(r, V, Reach(stop=stop, done=ends.done), use)
    of = statistics("advantage", made.advantages, Counting(EVERYWHERE, N, maximum(N - 1, 1)), use)
    white = whitened_advantages(made.advantages, of, use)
    scale = (of.mean, of.centred, of.variance, *of.divisors)
    sections = (
        Section("Where the future stops", (Note(STOPS), ends.terminated, key(stop))),
        Section("TD error: the reward and what comes after, less what was expected", (r, V, key(made.td_errors))),
        Section("Advantage (GAE)", (Note(RIGHT_TO_LEFT), key(made.advantages))),
        Section("Return: what the critic is trained towards", (key(made.returns),)),
        Section("Whitening: mean 0 and variance 1 over all steps", (*scale, white.whitened, key(white.used))),
    )
    return Signal(Sheet("Advantage", LEAD, sections, (n, t), head), r, stop, ends, made, white)
