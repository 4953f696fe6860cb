"""Walk: one decision from top to bottom, with every equation and its numbers. The page for a class."""

from __future__ import annotations

from blueprint.language import Block, typed
from blueprint.page.outline import Choice, Finder, Item, Line, Listed, Note, Section, Sheet, Step
from blueprint.ppo.axes import n, t
from blueprint.ppo.sheets.loss import Loss
from blueprint.ppo.sheets.signal import Signal
from blueprint.ppo.steps import Models, Steps

Items = tuple[Block | Step | Listed, ...]
Titled = tuple[str, Items]
"""A heading, and the quantities below it."""

LEAD = "one decision, derived from top to bottom: pick an episode and a decision; every line follows"
WIDTHS = (12, 55, 65, 27, 8, 8)
DECIMALS = 4
COLUMNS = (
    "value",
    "equation",
    "the equation with its numbers",
    "stands on",
    "unit",
    "decimals",
    "tried",
    "",
    "",
    "",
    "",
    "due",
)
READING = Note(
    "Numbers in equations have as many decimals as a pocket calculator needs to come to the value. Pale blue: derived; white: read."
)


def choice(episode: int, decision: int) -> tuple[Choice, dict[Block, object]]:
    """Makes the two cells by which one picks a column, and what stands in them at first."""
    numbers = (
        typed("walk.episode", (), "n", "episode to walk through", decimals=0),
        typed("walk.decision", (), "t", "decision to walk through", decimals=0),
    )
    decimals = typed("walk.decimals", (), "dec", "fewest decimals of numbers in equations", decimals=0)
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
    last = Section("How this page is made", (Line((chosen.decimals,), "line"), found, Finder()), printed=False)
    return Sheet("Walk", LEAD, (*sections, last), pinned=lines, widths=WIDTHS, aside=3, tight=True)


def walk_sections(steps: Steps) -> list[Section]:
    """Outlines the whole derivation of one word, from what was read to its share of the loss."""
    m, s, loss = steps.models, steps.signal, steps.loss
    way = m.way
    value = (way.expects, m.V_new) if way else ()
    return numbered(
        *written_sections(m),
        *model_sections(m),
        *signal_sections(s),
        *loss_sections(loss, steps.entropy, value),
    )


def written_sections(m: Models) -> tuple[Titled, ...]:
    """Outlines how the old policy wrote the word: the word read, memory, soft-max and draw, as far as that is run here."""
    way, run, words = m.way, m.texts, m.old.words
    soft = ("Every next word: logits and soft-max", (
        Listed(words.logits), words.top, Listed(words.exponentials), words.logsumexp, Listed(words.p),
    ))  # fmt: skip
    if way is None:
        return soft, ("The word written", (run.mask, run.written))
    h = way.network.h
    embedded = Listed(way.embedding, word=way.read, says="embedding of the word read")
    read = (way.read, embedded, Listed(h, by=-1), Step(h, word=0), Listed(h))
    drawn: Items = (*run.how, Step(way.upto, word=way.drawn), way.drawn, run.mask, run.written)
    return ("The word read, and the memory", read), soft, ("The draw, and the word written", drawn)


def model_sections(m: Models) -> tuple[Titled, ...]:
    """Outlines what the models say of the word: three policies, reward model and critic."""
    a, way = m.texts.written, m.way
    policies = {"old policy": m.old, "reference": m.reference.policy, "new policy": m.policy.policy}
    likely = (
        (f"How likely was the word to the {whose}?", (
            Step(policy.words.logits, word=a), Step(policy.words.logp, word=a), policy.logprobs,
        ))
        for whose, policy in policies.items()
    )  # fmt: skip
    if way is None:
        return tuple(likely)
    judged = (Step(way.scored, later=True), m.score, way.expected, m.V_old)
    return *likely, ("Reward model and old critic", judged)


def walk_sections_of_signal(signal: Signal, mask: Block) -> list[Section]:
    """Outlines the derivation of one word's advantage, from given log-probs, value and score."""
    given = (signal.logp_old, signal.logp_ref, signal.score, signal.V)
    return numbered(("The decision", (mask, *given)), *signal_sections(signal))


def signal_sections(signal: Signal) -> tuple[Titled, ...]:
    """Outlines reward and advantage of one word."""
    kl, paid, estimate, white = signal.kl, signal.reward, signal.gae, signal.white
    return (
        ("Reward", (kl.k1, kl.k2, kl.k3, kl.used, paid.penalty, paid.rewards)),
        ("Advantage", (
            estimate.td_errors, estimate.advantages, estimate.returns, white.mean, white.centred,
            white.variance, white.whitened, white.used,
        )),
    )  # fmt: skip


def loss_sections(loss: Loss, entropy: Block, value: tuple[Block, ...] = ()) -> tuple[Titled, ...]:
    """Outlines what the word adds to the loss. value: the new critic's, as it comes about."""
    clip, off = loss.clip, loss.value
    log_ratio, free, held = (
        loss.log_ratio,
        (off.error, off.square),
        (off.held, off.held_error, off.held_square),
    )
    return (
        ("Ratio and clip", (log_ratio, loss.ratio, clip.unclipped, clip.clipped_ratio, clip.clipped, clip.smaller)),
        ("Value loss", (*value, *free, *held, off.loss)),
        ("What the word adds to the total", (entropy, loss.share, loss.total.total)),
    )  # fmt: skip


def numbered(*titled: Titled) -> list[Section]:
    """Outlines sections one after the other; the first one says how to read them."""
    return [
        Section(
            f"{number}  {title}",
            ((READING,) if number == 1 else ())
            + tuple(Step(item) if isinstance(item, Block) else item for item in items),
            COLUMNS if number == 1 else (),
        )
        for number, (title, items) in enumerate(titled, 1)
    ]
