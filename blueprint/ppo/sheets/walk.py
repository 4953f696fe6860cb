"""Walk: one decision from top to bottom, with every equation and its numbers. The page for a class."""

from __future__ import annotations

from blueprint.language import Block, typed
from blueprint.page.outline import Choice, Finder, Item, Line, Note, Section, Sheet, Step
from blueprint.ppo.axes import n, t
from blueprint.ppo.sheets.loss import Loss
from blueprint.ppo.sheets.reading import Policy
from blueprint.ppo.sheets.signal import Signal
from blueprint.ppo.steps import Steps

LEAD = "one decision, derived from top to bottom: pick an episode and a decision; every line follows"
WIDTHS = (12, 55, 65, 27, 13, 13)
DECIMALS = 4
COLUMNS = ("value", "equation", "the equation with its numbers", "stands on", "as print", "as factor")
READING = Note(
    "The numbers are those of lines above, rounded for print: by hand the last digit may differ. Pale blue: derived; white: read."
)


def choice(episode: int, decision: int) -> tuple[Choice, dict[Block, object]]:
    """Makes the two cells by which one picks a column, and what stands in them at first."""
    numbers = (
        typed("walk.episode", (), "n", "episode to walk through", decimals=0),
        typed("walk.decision", (), "t", "decision to walk through", decimals=0),
    )
    decimals = typed("walk.decimals", (), "dec", "decimals of the numbers in equations", decimals=0)
    return Choice((n, t), numbers, decimals), dict(
        zip((*numbers, decimals), (episode, decision, DECIMALS), strict=True)
    )


def ranges(chosen: Choice) -> dict[Block, tuple[float, float]]:
    """Returns what may be typed on the sheet besides the choice."""
    return {chosen.decimals: (0, 9)}


def walk_sheet(chosen: Choice, words: tuple[Block, ...], sections: list[Section]) -> Sheet:
    """Outlines the sheet: the choice and its words stay in view, the sections scroll."""
    lines: tuple[Item, ...] = (*map(Line, zip(chosen.numbers, strict=True)), *map(Step, words))
    found = Note("Every line reads this place of its row.")
    last = Section("How this page is made", (Line((chosen.decimals,), "line"), found, Finder()))
    return Sheet("Walk", LEAD, (*sections, last), pinned=lines, widths=WIDTHS, aside=3)


def walk_sections(steps: Steps) -> list[Section]:
    """Outlines the whole derivation of one word, from what was read to its share of the loss."""
    m, run, a = steps.models, steps.models.texts, steps.models.texts.written

    return [
        section(1, "The decision", READING, run.mask, *run.how, a),
        likely(2, "old policy", m.old, a),
        likely(3, "reference", m.reference.policy, a),
        likely(4, "new policy", m.policy.policy, a),
        *signal_sections(5, steps.signal),
        *loss_sections(7, steps.loss, steps.entropy),
    ]  # fmt: skip


def walk_sections_of_signal(signal: Signal, mask: Block) -> list[Section]:
    """Outlines the derivation of one word's advantage, from given log-probs, value and score."""
    given = (signal.logp_old, signal.logp_ref, signal.score, signal.V)
    return [section(1, "The decision", READING, mask, *given), *signal_sections(2, signal)]


def signal_sections(number: int, signal: Signal) -> list[Section]:
    """Outlines reward and advantage of one word."""
    kl, paid, estimate, white = signal.kl, signal.reward, signal.gae, signal.white
    return [
        section(number, "Reward", kl.k1, kl.k2, kl.k3, kl.used, paid.penalty, paid.rewards),
        section(
            number + 1, "Advantage", estimate.td_errors, estimate.advantages, estimate.returns, white.mean, white.centred,
            white.variance, white.whitened, white.used,
        ),
    ]  # fmt: skip


def loss_sections(number: int, loss: Loss, entropy: Block) -> list[Section]:
    """Outlines what the word adds to the loss."""
    clip, value = loss.clip, loss.value
    log_ratio, free, held = (
        loss.log_ratio,
        (value.error, value.square),
        (value.held, value.held_error, value.held_square),
    )
    return [
        section(number, "Ratio and clip", log_ratio, loss.ratio, clip.unclipped, clip.clipped_ratio, clip.clipped, clip.smaller),
        section(number + 1, "Value loss", *free, *held, value.loss),
        section(number + 2, "What the word adds to the total", entropy, loss.share, loss.total.total),
    ]  # fmt: skip


def likely(number: int, whose: str, policy: Policy, written: Block) -> Section:
    """Outlines how likely the word was to one policy; written: the ids of the words."""
    steps = Step(policy.words.logp, word=written), Step(policy.logprobs)
    return Section(f"{number}  How likely was the word to the {whose}?", steps)


def section(number: int, title: str, *items: Block | Note) -> Section:
    """Outlines a few quantities of one word under a heading."""
    steps = (Step(item) if isinstance(item, Block) else item for item in items)
    return Section(f"{number}  {title}", tuple(steps), COLUMNS if number == 1 else ())
