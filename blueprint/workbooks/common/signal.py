"""From scores and log-probs to a learning signal for every word: every step in order, for one set of conventions; and the outline
of rewards and advantages on a sheet, where steps on the way are folded.
"""

from collections.abc import Iterator
from typing import NamedTuple

from blueprint.language import Block, Operand, maximum
from blueprint.page.outline import Item, Section, key, minor
from blueprint.workbooks.common.definitions.logprobs_and_kl import OLD, Estimates, kl_estimates
from blueprint.workbooks.common.definitions.rewards_and_gae import (
    After,
    Counted,
    Counting,
    Gae,
    Moments,
    Paid,
    Places,
    Reach,
    Rewards,
    Score,
    Statistics,
    Whitened,
    counted,
    counting,
    gae,
    holes,
    kept_values,
    penalised,
    rewards,
    score,
    statistics,
    where_paid,
    whitened_advantages,
)
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, Choices, rows
from blueprint.workbooks.common.sheets.walk import Rows, several


class Signal(NamedTuple):
    """From the score to the advantage; None for what is given instead, or cannot be made of what is given.

    given: what it is made of. at: the places in a response, where conventions choose among slots. used: the advantage that
    the loss uses. V: the values kept.
    """

    given: Rows
    at: Places | None
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
        return self.scored.placed if self.scored else self.given.get("score.placed")

    @property
    def rows(self) -> dict[str, Block]:
        """What the loss and the metrics read of it, by the names by which they do."""
        found = {
            "advantages_used": self.used,
            "kl.used": self.kl and self.kl.used,
            "returns": self.gae and self.gae.returns,
        }
        if self.at:
            found |= {"response": self.counted.response, "old_critic.values": self.V}
        return {name: row for name, row in found.items() if row is not None}

    @property
    def estimates(self) -> Gae:
        """The advantages before whitening, in a workbook that computes them."""
        assert self.gae is not None
        return self.gae


def signal(given: Rows, use: Choices) -> Signal:
    """Runs the definitions from the score to the advantage.

    given: by the names of blocks, the mask, log-probs of the old policy and the reference, and as far as they are there:
    the old critic's values (`values.masked`, where they are kept already), and the exact KL. With `slots`, conventions
    choose among the slots by their places, and the score is that of a response; else it stands on its slot
    (`score.placed`), and values are those of the response alone. Rewards or advantages may be given instead; of a larger
    batch, its moments and what enters behind the last column.
    """
    m, S = given["mask"], given.get("slots", given["mask"])
    at = Places(*(given[f"place.{place}"] for place in Places._fields)) if "slots" in given else None
    counts = counted(S, m, at, use) if at else Counted(m, m)
    kl, scored, paid, made = _rewards(given, at, counts, S, use)
    V = _values(given, counts, use)
    reward = made.used if made else given.get("rewards")
    if "advantages_used" in given or reward is None or V is None:
        return Signal(given, at, counts, kl, scored, paid, made, V, None, None, given["advantages_used"])
    after = After(given["after.ahead"], given["after.advantages"]) if "after.ahead" in given else None
    found = gae(reward, V, Reach(S, holes(S, counts.kept, use)), use, after)
    white = whitened(found.advantages, given, counts, S, use)
    return Signal(given, at, counts, kl, scored, paid, made, V, found, white, white.used)


def _rewards(
    given: Rows, at: Places | None, counts: Counted, S: Block, use: Choices
) -> tuple[Estimates | None, Score | None, Paid | None, Rewards | None]:
    """Makes the reward of each word, unless it is given, or there is nothing to make it of."""
    if "rewards" in given or not {"score.given", "score.placed"} & set(given):
        return None, None, None, None
    kl = kl_estimates(OLD, given["old.logprobs"], given["reference.logprobs"], given.get("kl.exact"), use)
    scored = None
    if at and "score.given" in given:
        length, by_word, by_pad = (given[f"response.{name}"] for name in ("length", "ended", "padded"))
        scored = score(given["score.given"], length, by_word, by_pad, at, use)
    placed = scored.placed[use.at] if scored else given["score.placed"][use.n, use.t]
    paid = penalised(kl.used, use, where_paid(counts.response, at, use) if at else EVERYWHERE)
    return kl, scored, paid, rewards(paid, placed, use, counts.kept, S, _moments(given, "reward"))


def _values(given: Rows, counts: Counted, use: Choices) -> Block | None:
    """Keeps the values where a convention keeps them; without slots they are those of the response alone."""
    values = given.get("old_critic.values")
    if values is None or "slots" not in given:
        return given.get("values.masked", values)
    end: Operand = given["after.ahead"][use.n] if "after.ahead" in given else 0
    return kept_values(use.row("values.kept"), values, counts.kept, None if "advantages_used" in given else end)


def whitened(A: Block, given: Rows, counts: Counted, S: Block, use: Choices) -> Whitened:
    """Whitens the advantages over the batch: over all slots or the response, or over the words of it."""
    M = counts.response
    if "slots" not in given:
        words = given["response.words"]
        over = Counting(M, words, maximum(words - 1, 1))
        return whitened_advantages(A, statistics("advantage", A, over, use), use)
    whole = _moments(given, "advantage")
    over = counting("advantage", M, S, use, whole)
    return whitened_advantages(A, statistics("advantage", A, over, use, whole), use, M)


def _moments(given: Rows, name: str) -> Moments | None:
    """Returns count, mean and variance of the whole batch, where only a part of it stands here."""
    return (
        Moments(*(given[f"{name}.{part}"] for part in ("count", "mean", "variance")))
        if f"{name}.count" in given
        else None
    )


SIGNAL_TITLE = "Reward & advantage"
SIGNAL_LEAD = "from one score at the end and a KL penalty to a learning signal for every token"


def signal_sections(made: Signal) -> Iterator[Section]:
    """Outlines the way from the score to the advantage."""
    given, kl, scored, paid, found = made.given, made.kl, made.scored, made.paid, made.rewards
    if made.at:
        counts = several(given, "response.slots", "response.most") if "response.slots" in given else ()
        steps = (given["slots"], *minors(*made.at), *counts, *map(key, made.counted))
        yield Section("Positions: what counts as response, and what is kept behind it", steps)
    if kl:
        probs = several(given, "old.logprobs", "reference.logprobs")
        steps = (*probs, *kl.steps, key(kl.used), *rows(given.get("kl.exact")))
        yield Section("How far from the reference?", steps)
    if scored:
        score = several(given, "score.given", "response.length", "response.ended", "response.padded")
        steps = (*score, *minors(*scored.ways), *scored.steps, key(scored.placed))
        yield Section("Score: corrected, clipped, and put at one position", steps)
    if paid and found:
        last = key(found.used if found.raw is None else found.raw)
        yield Section("Reward", (*rows(*paid, None if scored else made.placed), last))
    if found and found.white:
        of, whitened, shifted = found.white
        steps = (*_statistics(of), whitened, shifted, key(found.used))
        yield Section("Whitening of the rewards (used if it is on)", steps)
    yield from _advantage_sections(made)


def _advantage_sections(made: Signal) -> Iterator[Section]:
    given, gae, white = made.given, made.gae, made.white
    typed = given.get("old_critic.values")
    values = rows(None if made.V is typed else typed)
    if gae:
        over = minors(gae.reach.over, gae.ahead) if isinstance(gae.reach.over, Block) else ()
        steps = (*values, gae.V, *over, gae.td_errors, key(gae.advantages), key(gae.returns))
        yield Section("Advantage (GAE) and return", steps)
    if white:
        steps = (*_statistics(white.of), white.whitened, *rows(white.shifted), key(white.used))
        yield Section("Whitening of the advantages: mean 0 and variance 1", steps)
    elif made.V is not None and not gae:
        yield Section("Old values, for the value loss", (*values, made.V))


def _statistics(of: Statistics) -> tuple[Item, ...]:
    """Lists what whitening divides by; folded, where there are many steps to it. What is typed stands on another sheet."""
    steps = [*of.counting.steps[:2], of.mean, of.centred, *of.counting.steps[2:], of.variance, *of.divisors]
    own = tuple(row for row in steps if not row.typed)
    return minors(*own) if of.counting.steps else own


def minors(*made: Block | None) -> tuple[Item, ...]:
    """Folds rows that are steps on the way."""
    return tuple(map(minor, rows(*made)))
