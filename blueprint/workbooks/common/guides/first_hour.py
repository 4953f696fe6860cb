"""First hour: ten things to try, each with the cell to type into, the number to watch, and what one will see."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.catalogue import data_in
from blueprint.inputs.setting import shown_value
from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Note, Section, Sheet

LEAD = "things to try: type the change, see the number beside it move, then undo it (Ctrl+Z, or empty the cell under “yours”)"
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


class Try(NamedTuple):
    """A change and what it does; `first_hour.toml` says what each part is."""

    do: str
    type: Mapping[str, float | str]
    watch: Sequence[str]
    why: str
    has: Sequence[str] = ()
    lacks: Sequence[str] = ()
    first: bool = False
    before: float | None = None
    after: float | None = None

    def holds(self, blocks: Collection[str]) -> bool:
        """Says whether it can be tried where there are these blocks."""
        needed = {*self.type, *self.has}
        watched = any(name in blocks for name in self.watch)
        return watched and needed <= set(blocks) and not set(self.lacks) & set(blocks)


def all_tries() -> list[Try]:
    """Returns all that can be tried in one workbook or another."""
    return [Try(**each) for each in data_in(Path(__file__).with_name("first_hour.toml"))["try"]]


def first_hour_sheet(blocks: Mapping[str, Block], measured: bool) -> list[Sheet]:
    """Outlines what can be tried in a workbook; nothing where that is not much. measured: in its very numbers."""
    found = tries(blocks)
    if len(found) < 2:
        return []
    entries = [_entry(number, each, blocks, measured) for number, each in enumerate(found, 1)]
    section = Section("Type the change, watch the number", (*HOW, *entries), HEADINGS)
    this = 1 + max(len(_this(each)) for each in found)
    return [Sheet("First hour", LEAD, (section,), widths=(19, this, 43, 9, 16, TEXTS - this), first=None)]


def tries(blocks: Mapping[str, Block]) -> list[Try]:
    """Returns the things to try in a workbook."""
    return [each for each in all_tries() if each.holds(blocks)]


def _entry(number: int, each: Try, blocks: Mapping[str, Block], measured: bool) -> Entry:
    where = next(blocks[name] for name in each.type)
    watch = next(blocks[name] for name in each.watch if name in blocks)
    seen = f"{_shown(each.before)} → {_shown(each.after)}" if measured and each.before is not None else ""
    meaning = Box(f"{watch.symbol}: {watch.about.meaning}", watch)
    return Entry((str(number), each.do, Box("", where), _this(each), meaning, watch, seen, each.why))


def _this(each: Try) -> str:
    """Returns what is typed."""
    return " and ".join(dict.fromkeys(shown_value(value) for value in each.type.values()))


def _shown(value: float | None) -> str:
    return (f"{value:.4f}" if isinstance(value, float) else str(value)).replace("-", "−")
