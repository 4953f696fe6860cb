"""From scores and log-probs to a learning signal for every word: every step in order, for one set of conventions."""

from typing import NamedTuple

from blueprint.language import Block, Operand, maximum
from blueprint.workbooks.common.definitions import (
    EVERYWHERE,
    OLD,
    After,
    Choices,
    Counted,
    Counting,
    Estimates,
    Gae,
    Moments,
    Paid,
    Places,
    Reach,
    Rewards,
    Score,
    Whitened,
    counted,
    counting,
    gae,
    holes,
    kept_values,
    kl_estimates,
    penalised,
    rewards,
    score,
    statistics,
    where_paid,
    whitened_advantages,
)


class Slots(NamedTuple):
    """The slots of responses, used or not, and what lies where in them. S: (n, t), 1 in every slot. counts: how many."""

    S: Block
    at: Places
    counts: tuple[Block, ...] = ()


class Scored(NamedTuple):
    """The score of each response, whether it ended in the end word, and whether a slot was left over; (n)."""

    given: Block
    by_word: Block
    by_pad: Block


class Batch(NamedTuple):
    """What is typed of the whole batch, of which only a part stands here: moments, and what enters behind the last column."""

    rewards: Moments
    advantages: Moments
    after: After


class Given(NamedTuple):
    """What the signal is made of: rows (n, t), but for the score and the number of words; None for what there is not.

    m: 1 on the response. words: how many words there are. values: of the state before the decision; with slots those of
    every slot, else of the response alone. exact: the exact KL. slots: where conventions choose among slots. placed: the score
    on its slot; scored: what it is made of. rewards, advantages: where they are given instead. before: rows to be shown
    above the values.
    """

    m: Block
    logp_old: Block
    logp_ref: Block
    words: Block | None = None
    values: Block | None = None
    exact: Block | None = None
    slots: Slots | None = None
    placed: Block | None = None
    scored: Scored | None = None
    rewards: Block | None = None
    advantages: Block | None = None
    batch: Batch | None = None
    before: tuple[Block, ...] = ()


class Signal(NamedTuple):
    """From the score to the advantage; None for what is given instead, or cannot be made of what is given.

    used: the advantage that the loss uses. V: the values kept.
    """

    given: Given
    counted: Counted
    kl: Estimates | None
    scored: Score | None
    paid: Paid | None
    rewards: Rewards | None
    V: Block | None
    gae: Gae | None
    white: Whitened | None
    used: Block

    @property
    def placed(self) -> Block | None:
        """The score, on its slot."""
        return self.scored.placed if self.scored else self.given.placed

    @property
    def whole(self) -> "Whole":
        """The same, where nothing is missing."""
        found = (self.kl, self.placed, self.paid, self.rewards, self.gae, self.white)
        assert all(each is not None for each in found)
        return Whole(self.given, self.counted, *found)  # type: ignore[arg-type]


class Whole(NamedTuple):
    """A signal of which nothing was given instead: everything from the score to the advantage is there."""

    given: Given
    counted: Counted
    kl: Estimates
    placed: Block
    paid: Paid
    rewards: Rewards
    gae: Gae
    white: Whitened


def signal(given: Given, use: Choices) -> Signal:
    """Runs the definitions from the score to the advantage."""
    slots, batch, m = given.slots, given.batch, given.m
    counts, S = (counted(slots.S, m, slots.at, use), slots.S) if slots else (Counted(m, m), m)
    kl, scored, paid, made = _rewards(given, counts, S, use)
    V = _values(given, counts, use)
    reward = made.used if made else given.rewards
    if given.advantages is not None or reward is None or V is None:
        assert given.advantages is not None
        return Signal(given, counts, kl, scored, paid, made, V, None, None, given.advantages)
    found = gae(reward, V, Reach(S, holes(S, counts.kept, use)), use, batch.after if batch else None)
    white = _whitened(found.advantages, given, counts, S, use)
    return Signal(given, counts, kl, scored, paid, made, V, found, white, white.used)


def _rewards(
    given: Given, counts: Counted, S: Block, use: Choices
) -> tuple[Estimates | None, Score | None, Paid | None, Rewards | None]:
    """Makes the reward of each word, unless it is given, or there is nothing to make it of."""
    if given.rewards is not None or (given.scored is None and given.placed is None):
        return None, None, None, None
    at = given.slots.at if given.slots else None
    kl = kl_estimates(OLD, given.logp_old, given.logp_ref, given.exact, use)
    scored = score(*given.scored, at, use) if given.scored and at else None
    placed = scored.placed[use.at] if scored else given.placed[use.n, use.t]  # type: ignore[index]
    paid = penalised(kl.used, use, where_paid(counts.response, at, use) if at else EVERYWHERE)
    made = rewards(paid, placed, use, counts.kept, S, given.batch.rewards if given.batch else None)
    return kl, scored, paid, made


def _values(given: Given, counts: Counted, use: Choices) -> Block | None:
    """Keeps the values where a convention keeps them; without slots they are those of the response alone."""
    if given.values is None or given.slots is None:
        return given.values
    end: Operand = given.batch.after.ahead[use.n] if given.batch else 0
    made = use.row("values.kept")
    return kept_values(made, given.values, counts.kept, None if given.advantages is not None else end)


def _whitened(A: Block, given: Given, counts: Counted, S: Block, use: Choices) -> Whitened:
    """Whitens the advantages over the batch: over all slots or the response, or over the words of it."""
    M = counts.response
    if given.slots is None:
        assert given.words is not None
        over = Counting(M, given.words, maximum(given.words - 1, 1))
        return whitened_advantages(A, statistics("advantage", A, over, use), use)
    whole = given.batch.advantages if given.batch else None
    over = counting("advantage", M, S, use, whole)
    return whitened_advantages(A, statistics("advantage", A, over, use, whole), use, M)
