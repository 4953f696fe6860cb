"""What the dump says, as typed blocks: the words shown, their log-probs, values and scores, and what the library logged."""

from collections.abc import Collection
from typing import NamedTuple

from blueprint.language import Block, typed
from blueprint.page.outline import Item, Note, Row, Section, Sheet
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.minibatch.batch import SHOWN

LEAD = "what the dump says of the words shown here, as it stands there; everything else follows from it"
WHERE = (
    "The columns are those of the dump's own arrays, counted from 0; where a response is longer, a part of it is shown."
)
BEHIND = "What stands behind the last word is read only where a convention says so."


class Dump(NamedTuple):
    """What is given of each column (n, t) or each response (n); None where the dump has no such tensor.

    number, column: where a response and its words stand in the dump. S: slots. ended, padded: as `reward.ends` tells them.
    """

    number: Block
    column: Block
    words: Block
    mask: Block
    S: Block
    ended: Block
    padded: Block
    logp_old: Block
    logp_new: Block
    logp_ref: Block
    V_old: Block | None
    V_new: Block | None
    entropy: Block | None
    score: Block | None
    placed: Block | None
    rewards: Block | None
    advantages: Block | None
    returns: Block | None

    @property
    def head(self) -> InView:
        """The rows that stay in view."""
        return InView(self.words, self.mask, self.column)


def dump_of(names: Collection[str]) -> Dump:
    """Makes the blocks whose names are among those of the numbers; the others are None."""

    def row(name: str, symbol: str, meaning: str, unit: str = "") -> Block | None:
        return typed(name, (n, t), symbol, meaning, unit=unit, decimals=SHOWN) if name in names else None

    def flag(name: str, symbol: str, meaning: str) -> Block:
        return typed(name, (n,), symbol, meaning, decimals=0)

    edge = (t.last + 1,)
    return Dump(
        number=typed("episode.number", (n,), "no", "number of the response in the dump, from 0", decimals=0),
        column=typed("slot.column", (n, t), "col", "column of the dump, from 0; −1: none", decimals=0),
        words=typed("word_written", (n, t), "writes", "word, or its id", text=True),
        mask=typed("mask", (n, t), "m", "mask: 1 on the response", unit="0 or 1", decimals=0),
        S=typed("slots", (n, t), "S", "1 in every slot, padding included", unit="0 or 1", decimals=0, edges=edge),
        ended=flag("response.ended", "ended_n", "1 if it ended in the end word"),
        padded=flag("response.padded", "padded_n", "1 if a slot was left over"),
        logp_old=typed(
            "old.logprobs", (n, t), "log π_old", "log-prob under the old policy", unit="≤ 0", decimals=SHOWN
        ),
        logp_new=typed(
            "policy.logprobs", (n, t), "log π_θ", "log-prob under the new policy", unit="≤ 0", decimals=SHOWN
        ),
        logp_ref=typed(
            "reference.logprobs", (n, t), "log π_ref", "log-prob under the reference", unit="≤ 0", decimals=SHOWN
        ),
        V_old=row("old_critic.values", "V_old", "old critic's value before the word"),
        V_new=row("critic.values", "V", "new critic's value before the word"),
        entropy=row("policy.entropy", "H", "entropy of the new policy", "≥ 0"),
        score=typed("score.given", (n,), "s_n", "score of the response", decimals=SHOWN)
        if "score.given" in names
        else None,
        placed=row("score.placed", "score", "score of each word, as given"),
        rewards=row("rewards", "r", "reward of each word, as given"),
        advantages=row("advantages_used", "Â_used", "advantage, as given"),
        returns=row("returns", "R", "return, as given"),
    )


def dump_sheet(given: Dump, notes: tuple[str, ...]) -> Sheet:
    """Outlines what is typed. notes: where it comes from, and what the dump has not."""
    probs = (given.logp_old, given.logp_new, given.logp_ref, given.entropy)
    sections = [
        Section("Where these words stand", (*map(Note, notes), Note(WHERE), given.number, given.column,
                                              Row(given.words, "text"), given.mask, given.S, given.ended, given.padded)),
        Section("Log-probs and entropy", _there(*probs)),
        Section("Values", (Note(BEHIND), *_there(given.V_old, given.V_new))),
        Section("What was scored", _there(given.score, given.placed, given.rewards, given.advantages, given.returns)),
    ]  # fmt: skip
    whole = tuple(section for section in sections if any(not isinstance(item, Note) for item in section.items))
    return Sheet("Dump", LEAD, whole, (n, t))


def _there(*blocks: Block | None) -> tuple[Item, ...]:
    return tuple(block for block in blocks if block is not None)
