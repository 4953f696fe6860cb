"""First hour: ten things to try, each with the cell to type into, the number to watch, and what one will see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Note, Section, Sheet

TITLE = "First hour"
LEAD = "things to try: type the change, see the number beside it move, then undo it (Ctrl+Z, or empty the cell under “yours”)"
TYPE, WATCH, NOW, SEEN = 19, 43, 9, 16
TEXTS = 53
"""Letters of what is typed and of what one will see together, which is what a small laptop has left."""
HEADINGS = ("type into", "this", "and watch", "now", "in the default", "what one will see")
HOW = (
    Note("“now” is live. Undo a change before the next."),
    Note(
        "“in the default” is what the number is as delivered and what it becomes, for the built-in numbers “default” with nothing "
        "else changed: each was measured in a recalculated workbook."
    ),
)
EVERY = frozenset({"weights", "live", "logits", "tokens", "minibatch", "classic"})
RLHF = EVERY - {"classic"}
PLAIN = frozenset({"weights"})
CHOOSES = frozenset({"live", "logits", "minibatch"})
WORDS = frozenset({"weights", "live"})


class Try(NamedTuple):
    """A change and what it does: what to do, blocks and what is typed there, what to watch, before and after, and why.

    first: it is typed in the column of the first response word. kinds: the workbooks in which it holds.
    """

    do: str
    typed: Mapping[str, float | str]
    watch: tuple[str, ...]
    seen: tuple[float, float] | None
    why: str
    kinds: frozenset[str]
    first: bool = False


TRIES = (
    Try(
        "take no update: step 0", {"update_step.yours": 0}, ("mean.ratio",), (1.0096, 1.0000),
        "Old and new policy are the same: every ratio is exactly 1, nothing is clipped, both KLs of the update are 0. Where "
        "advantages are whitened over the words, the policy loss is 0 too; its gradient is not.", WORDS,
    ),
    Try(
        "trust the critic: λ = 0", {"gae_lambda.yours": 0}, ("advantage.mean",), (0.1799, 0.0265),
        "Later TD errors no longer count: the rows A and δ agree in every column.", EVERY,
    ),
    Try(
        "trust the rewards: γ = 1 and λ = 1", {"gamma.yours": 1, "gae_lambda.yours": 1}, ("returns.mean", "mean.returns"),
        (0.5283, 0.7944),
        "The return R is now the plain sum of the rewards from the word on: the values in between cancel.",
        frozenset({"weights", "tokens"}),
    ),
    Try(
        "make drifting dear: β = 1", {"kl_coef.yours": 1}, ("mean.reward.penalty",), (-0.0012, -0.0124),
        "The penalties are ten times what they were. Some are bonuses: where the reference likes a word better, k1 is below 0.",
        PLAIN,
    ),
    Try(
        "another estimate: k3", {"kl_estimator.yours": "k3"}, ("kl.per_word", "mean.kl.used"), (0.0124, 0.0128),
        "No word has a KL below 0 any more, and the penalty never is a bonus.", frozenset({"weights", "tokens"}),
    ),
    Try(
        "do not whiten: off", {"whiten_advantages.yours": "off"}, ("policy_loss",), (0.0129, -0.1620),
        "The loss takes the raw advantages A: their mean is not 0, and so the policy loss moves away from 0.", PLAIN,
    ),
    Try(
        "a wide clip: ε = 0.5", {"clip_range.yours": 0.5}, ("clip_fraction.loss",), (0.3333, 0.0000),
        "No ratio is farther than 0.5 from 1, so U and U_min are the same in every column: the clip does nothing.", PLAIN,
    ),
    Try(
        "a value clip that never holds: ε_V = 10", {"value_clip_range.yours": 10}, ("value_loss",), (0.4237, 0.4157),
        "The clip takes the larger of two squares, so without it the value loss can only be smaller.", PLAIN,
    ),
    Try(
        "a kinder reward model: bias b = 0", {"reward_model.head.b": 0}, ("score.mean",), (0.3502, 1.3502),
        "Every score rises by 1. Raw advantages rise too, but whitened ones still have mean 0: a shift of all scores is no signal.",
        PLAIN,
    ),
    Try(
        "draw another first word in episode 1", {"rollout.draw": 0.05}, ("response.words",),
        (6, 3),
        "In the column that writes the first response word: u falls on the end word, and the response is that word alone; "
        "every sheet follows, and the columns behind turn grey.",
        PLAIN, first=True,
    ),
    Try(
        "another library: choose a preset", {"preset": "verl"}, ("total_loss",), None,
        "Every convention of that library takes the place of the one before; what is typed under “yours” stays and goes first.",
        CHOOSES,
    ),
    Try(
        "average over responses first", {"loss.aggregation.yours": "seq-mean-token-mean"}, ("policy_loss",), None,
        "Short responses now weigh as much as long ones. Where all are of one length, nothing changes.", CHOOSES,
    ),
    Try(
        "the score one slot later", {"reward.score_slot.yours": "one_past"}, ("mean.score.placed",), None,
        "Where a slot was left over, the score leaves the last word; GAE brings it back if that slot is kept (tail).", CHOOSES,
    ),
    Try(
        "a floor for bad words: c = 1.5", {"loss.dual_clip.yours": 1.5}, ("policy_loss",), None,
        "Only words with Â < 0 whose ratio is above 1.5 change: their surrogate is held at 1.5 · Â.", CHOOSES,
    ),
)  # fmt: skip


def first_hour_sheet(blocks: Mapping[str, Block], measured: bool) -> list[Sheet]:
    """Outlines what can be tried in a workbook; nothing where that is not much. measured: in its very numbers."""
    found = tries(blocks)
    if len(found) < 2:
        return []
    entries = [_entry(number, each, blocks, measured) for number, each in enumerate(found, 1)]
    section = Section("Type the change, watch the number", (*HOW, *entries), HEADINGS)
    this = 1 + max(len(_this(each)) for each in found)
    return [Sheet(TITLE, LEAD, (section,), widths=(TYPE, this, WATCH, NOW, SEEN, TEXTS - this), first=None)]


def tries(blocks: Mapping[str, Block]) -> list[Try]:
    """Returns the things to try in a workbook."""
    kind = kind_of(blocks)
    has = (each for each in TRIES if kind in each.kinds and all(name in blocks for name in each.typed))
    return [each for each in has if _watched(each, blocks) is not None]


def kind_of(blocks: Mapping[str, Block]) -> str:
    """Returns which kind of workbook it is, by the rows that it has."""
    if "count.environments" in blocks:
        return "classic"
    if "window.words" in blocks:
        return "minibatch"
    if "old.logits" not in blocks:
        return "tokens"
    live = "presets.names" in blocks
    return ("live" if live else "weights") if "old.E" in blocks else "logits"


def _watched(each: Try, blocks: Mapping[str, Block]) -> Block | None:
    return next((blocks[name] for name in each.watch if name in blocks), None)


def _entry(number: int, each: Try, blocks: Mapping[str, Block], measured: bool) -> Entry:
    where, watch = [blocks[name] for name in each.typed], _watched(each, blocks)
    assert watch is not None
    seen = f"{_shown(each.seen[0])} → {_shown(each.seen[1])}" if measured and each.seen else ""
    meaning = Box(f"{watch.symbol}: {watch.about.meaning}", watch)
    return Entry((str(number), each.do, Box("", where[0]), _this(each), meaning, watch, seen, each.why))


def _this(each: Try) -> str:
    """Returns what is typed."""
    return " and ".join(dict.fromkeys(_spelled(value) for value in each.typed.values()))


def _spelled(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _shown(value: float) -> str:
    return (f"{value:.4f}" if isinstance(value, float) else str(value)).replace("-", "−")
