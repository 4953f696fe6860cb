"""Reward & advantage of the words shown: the same steps as in every workbook, by the statistics of the whole batch."""

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Sheet
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.places import Places, places
from blueprint.workbooks.common.sheets.signal import LEAD, TITLE, sections
from blueprint.workbooks.common.signal import Batch, Given, Scored, Slots, signal
from blueprint.workbooks.common.signal import Signal as Made
from blueprint.workbooks.minibatch.batch import Whole
from blueprint.workbooks.minibatch.dump import Dump


class Signal(NamedTuple):
    """The sheet, the slots, where things lie in the responses, and the steps as far as the dump does not give what they make."""

    sheet: Sheet
    slots: Block
    at: Places
    made: Made

    @property
    def rewards(self) -> Block | None:
        """The reward of each word: made here, or given."""
        return self.made.rewards.used if self.made.rewards else self.made.given.rewards


def signal_of(given: Dump, whole: Whole, use: Choices) -> Signal:
    """Defines and outlines what the dump does not give itself."""
    S = link("signal.S", given.S)
    at = places(S, given.mask, whole.more)
    scored = None
    if given.score is not None:
        scored = Scored(*(link(f"signal.{name}", getattr(given, name)) for name in ("score", "ended", "padded")))
    made = signal(
        Given(
            m=given.mask, logp_old=link("signal.logp_old", given.logp_old), logp_ref=link("signal.logp_ref", given.logp_ref),
            values=_values(given), slots=Slots(S, at), placed=given.placed, scored=None if given.placed is not None else scored,
            rewards=given.rewards, advantages=given.advantages,
            batch=Batch(whole.reward, whole.advantage, whole.after),
        ),
        use,
    )  # fmt: skip
    head = given.head.on("signal")
    return Signal(Sheet(TITLE, LEAD, tuple(sections(made)), (n, t), head.rows, head.mask), S, at, made)


def _values(given: Dump) -> Block | None:
    """Repeats the old values; with given advantages they are read only where there are given returns for the value loss."""
    if given.V_old is None or (given.advantages is not None and given.returns is None):
        return None
    return link("signal.V_old", given.V_old)
