"""The rest of the batch, as typed numbers: its statistics and counts, what enters behind the last column, other words' sums.

They were computed from the whole dump, in float64, by the conventions as they were then. A window cannot know them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block, typed
from blueprint.page.outline import Line, Note, Section, Sheet
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.aggregation import Totals
from blueprint.workbooks.common.definitions.gae import After
from blueprint.workbooks.common.definitions.whitening import Moments
from blueprint.workbooks.common.loss import Rest

LEAD = "what the words that are not shown here add: counted and summed up over the whole minibatch, then typed"
STALE = (
    "These numbers belong to the dump and to the conventions as delivered. Choose others, and what is computed above them "
    "changes here but not in the words that are not shown: import the dump again with that preset."
)


SHOWN = 2
"""Decimals of what is typed; a typed number may show two more, and real ones do: the four that computed rows have."""


class Whole(NamedTuple):
    """What is typed of the whole batch. more: (n), 1 where words follow behind the last column."""

    most: Block
    reward: Moments
    advantage: Moments
    more: Block
    after: After
    rest: Rest


def whole_batch() -> Whole:
    """Makes the typed numbers of the whole batch."""
    return Whole(
        most=number("response.most", "T_most", "slots of the longest response", 0),
        reward=_moments("reward", "r"),
        advantage=_moments("advantage", "A"),
        more=_each("after.words", "more", "1 if words follow behind the last column", 0),
        after=After(
            _each("after.ahead", "V_after", "value that enters behind the last column"),
            _each("after.advantages", "A_after", "advantage that enters there"),
        ),
        rest=Rest(
            number("loss.mean_ratio", "ρ_mean", "mean ratio over what counts as response"),
            _totals("policy", "π", "policy loss"),
            _totals("value", "V", "value loss"),
            {
                "policy_loss": number("rest.policy", "rest_π", "Σ w·U_min of words not shown"),
                "value_loss": number("rest.value", "rest_V", "Σ w·v_loss of words not shown"),
                "entropy": number("rest.entropy", "rest_H", "Σ w·H of words not shown"),
                "kl_loss": number("rest.kl", "rest_KL", "Σ w·KL of words not shown"),
            },
        ),
    )


def batch_sheet(whole: Whole, words: Block, means: Mapping[str, Block]) -> Sheet:
    """Outlines the typed numbers of the whole batch, and means over the words shown (their number), for the first sheet."""
    typed_of = whole.rest
    lines = (
        ("Statistics by which the advantages and the rewards are whitened", (*whole.advantage, *whole.reward)),
        ("Counts", (*typed_of.policy[:2], *typed_of.value[:2], whole.most, typed_of.mean_ratio)),
        ("What the words that are not shown add", tuple(typed_of.sums.values())),
    )
    first, counts, rest = (Section(title, tuple(Line((each,), "line") for each in blocks)) for title, blocks in lines)
    rows = (typed_of.policy.length, typed_of.value.length, whole.more, *whole.after)
    shown = Section("Of each response shown: its words, and what enters behind the last column", rows)
    first = Section(first.title, (Note(STALE), *first.items))
    below = Section("Means over the words shown, for the first sheet", (words, *means.values()))
    return Sheet("Batch", LEAD, (first, counts, shown, rest, below), (n, t))


def number(name: str, symbol: str, meaning: str, decimals: int = SHOWN) -> Block:
    """Types a number of the whole batch."""
    return typed(name, (), symbol, meaning, decimals=decimals)


def _each(name: str, symbol: str, meaning: str, decimals: int = SHOWN) -> Block:
    return typed(name, (n,), symbol, meaning, decimals=decimals)


def _moments(name: str, of: str) -> Moments:
    return Moments(
        number(f"{name}.count", f"N_{of}", f"{name}s counted", 0),
        number(f"{name}.mean", f"μ_{of}", f"mean of the {name}s"),
        number(f"{name}.variance", f"σ²_{of}", f"variance of the {name}s"),
    )


def _totals(name: str, of: str, told: str) -> Totals:
    return Totals(
        number(f"{name}.words", f"N_{of}", f"words counted, {told}", 0),
        number(f"{name}.responses", f"B_{of}_all", f"responses counted, {told}", 0),
        _each(f"{name}.weight.length", f"n_{of}", f"words counted in the response, {told}", 0),
    )
