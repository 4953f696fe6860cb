"""Reward & advantage of the words shown: the same steps as in every workbook, by the statistics of the whole batch."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Item, Section, Sheet, key, minor
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import reward
from blueprint.workbooks.common.conventions.advantage import Estimate, estimate
from blueprint.workbooks.common.conventions.choices import Choices
from blueprint.workbooks.common.conventions.places import Counted, Places, counted, places
from blueprint.workbooks.common.conventions.whitening import Whitened, whitened_advantages, whitened_rewards
from blueprint.workbooks.common.sheets.signal import LEAD, TITLE
from blueprint.workbooks.minibatch.batch import Whole
from blueprint.workbooks.minibatch.dump import Dump


class Signal(NamedTuple):
    """From the score to the advantage; None for what the dump gives itself, or has no tensor for."""

    sheet: Sheet
    slots: Block
    at: Places
    counted: Counted
    kl: reward.Estimates | None
    paid: reward.Paid | None
    whitened: Whitened | None
    placed: Block | None
    rewards: Block | None
    gae: Estimate | None
    white: Whitened | None
    used: Block
    kept: Block | None


class _Rewards(NamedTuple):
    kl: reward.Estimates | None
    placed: Block | None
    paid: reward.Paid | None
    whitened: Whitened | None
    used: Block | None


Sections = list[tuple[str, tuple[Item, ...]]]


def signal(given: Dump, whole: Whole, use: Choices) -> Signal:
    """Defines and outlines what the dump does not give itself."""
    S = link("signal.S", given.S)
    at = places(S, given.mask, whole.more)
    counts = counted(S, given.mask, at, use)
    first: tuple[Item, ...] = (S, *map(minor, at), key(counts.response), key(counts.kept))
    shown: Sections = [("Slots: what counts as response, and what is kept behind it", first)]
    found = _rewards(given, whole, S, at, counts, use, shown)
    gae, white, used = _advantages(given, whole, S, counts, found.used, use, shown)
    kept = _kept_values(given, counts, use, shown) if gae is None else None
    sections = tuple(Section(title, items) for title, items in shown)
    head = given.head.on("signal")
    sheet = Sheet(TITLE, LEAD, sections, (n, t), head.rows, head.mask)
    return Signal(
        sheet, S, at, counts, found.kl, found.paid, found.whitened, found.placed, found.used, gae, white, used, kept
    )


def _rewards(
    given: Dump, whole: Whole, S: Block, at: Places, counts: Counted, use: Choices, shown: Sections
) -> _Rewards:
    """Makes the reward of each word, unless the dump gives it, or has nothing to make it of."""
    if given.rewards is not None or (given.score is None and given.placed is None):
        return _Rewards(None, None, None, None, given.rewards)
    old, ref = link("signal.logp_old", given.logp_old), link("signal.logp_ref", given.logp_ref)
    kl = reward.kl_estimates(reward.OLD, old, ref, None, use)
    shown.append(
        (
            "How far from the reference?",
            (
                old,
                ref,
                kl.free,
                kl.held,
                kl.k1,
                kl.absolute,
                kl.k2,
                kl.k3,
                kl.chosen,
                kl.holds,
                kl.clipped,
                key(kl.used),
            ),
        )
    )
    placed = _placed(given, at, use, shown)
    paid = reward.paid(counts.response, kl.used, placed, at, use)
    shown.append(("Reward", (paid.support, paid.coef, paid.penalty, key(paid.raw))))
    rewards = whitened_rewards(paid.raw, counts.kept, S, use, whole.reward)
    shown.append(("Whitening of the rewards (used if it is on)", (*_whitening(rewards), key(rewards.used))))
    return _Rewards(kl, placed, paid, rewards, rewards.used)


def _placed(given: Dump, at: Places, use: Choices, shown: Sections) -> Block:
    """Puts the score on its slot; scores of single words stand where they stand."""
    if given.placed is not None:
        return given.placed
    assert given.score is not None
    score = link("signal.score", given.score)
    made = reward.score(score, given.ended, given.padded, at, use)
    steps = (minor(made.ended), minor(made.subtracted), minor(made.replaced), made.corrected, made.clipped, made.place)
    shown.append(("Score: corrected, clipped, and put on one slot", (score, *steps, key(made.placed))))
    return made.placed


def _advantages(
    given: Dump, whole: Whole, S: Block, counts: Counted, rewards: Block | None, use: Choices, shown: Sections
) -> tuple[Estimate | None, Whitened | None, Block]:
    """Estimates advantages and whitens them, unless the dump gives them because it has no values or no rewards."""
    if given.advantages is not None:
        return None, None, given.advantages
    assert rewards is not None
    assert given.V_old is not None
    V = link("signal.V_old", given.V_old)
    gae = estimate(rewards, V, counts.kept, S, use, whole.after)
    steps = (V, gae.V, minor(gae.over), minor(gae.ahead), gae.td_errors, key(gae.advantages), key(gae.returns))
    shown.append(("Advantage (GAE) and return", steps))
    white = whitened_advantages(gae.advantages, counts.response, S, use, whole.advantage)
    shown.append(("Whitening of the advantages", (*_whitening(white), key(white.used))))
    return gae, white, white.used


def _kept_values(given: Dump, counts: Counted, use: Choices, shown: Sections) -> Block | None:
    """Keeps the old values for the value loss where advantages are given, and the returns with them."""
    if given.V_old is None or given.returns is None:
        return None
    V = use.row("values.kept", "V_kept", "old value, where it is kept")
    V[n, t] = counts.kept[n, t] * given.V_old[n, t]
    shown.append(("Old values, for the value loss", (V,)))
    return V


def _whitening(made: Whitened) -> tuple[Item, ...]:
    """Lists the steps of whitening but for the statistics, which are typed on Batch."""
    of = made.of
    return (*map(minor, (of.counted, of.centred, *of.roots, of.divisor)), made.whitened, made.shifted)
