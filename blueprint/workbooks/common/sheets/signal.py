"""The outline of rewards and advantages, as far as they are made in a workbook; steps on the way are folded."""

from collections.abc import Iterator

from blueprint.language import Block
from blueprint.page.outline import Item, Section, key, minor
from blueprint.workbooks.common.definitions.rewards_and_gae import Statistics
from blueprint.workbooks.common.definitions.writing_rows import rows
from blueprint.workbooks.common.sheets.walk import several
from blueprint.workbooks.common.signal import Signal

TITLE = "Reward & advantage"
LEAD = "from one score at the end and a KL penalty to a learning signal for every token"


def sections(made: Signal) -> Iterator[Section]:
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
