"""The sheets of RLHF PPO, each with a column for every position."""

from collections.abc import Iterable

from blueprint.page.outline import Section, Sheet
from blueprint.workbooks.common import InView, n, t


def sheet_of(title: str, lead: str, sections: Iterable[Section], head: InView, first: int = 1) -> Sheet:
    """Outlines a sheet with a column for each position; `head` stays in view."""
    return Sheet(title, lead, tuple(sections), (n, t), head.rows, head.mask, first=first)
