"""Charts, as data: what is drawn over what, and what the picture says to somebody who cannot see it."""

from dataclasses import dataclass

from blueprint.language import Block


@dataclass(frozen=True)
class Series:
    """One curve, cloud of dots or set of bars.

    name:   what the legend calls it.
    values: the block that is drawn.
    over:   the block of the places along the horizontal axis; of words under bars.
    dots:   drawn as points instead of a line.
    words:  the block of the words beside the dots.
    """

    name: str
    values: Block
    over: Block
    dots: bool = False
    words: Block | None = None


@dataclass(frozen=True)
class Scale:
    """An axis of a chart: its title, and its ends and the distance of its marks where they are fixed."""

    title: str
    low: float | None = None
    high: float | None = None
    unit: float | None = None


@dataclass(frozen=True)
class Chart:
    """A picture of series.

    kind: "scatter" (numbers over numbers) or "bars" (numbers over words).
    tells: one sentence on what to see; it is also read to those who cannot see the picture.
    numbers: the format of the numbers at the ends of bars; none: bars without numbers.
    wide: takes the room of two charts side by side.
    among: rows that are 1 where a member may have a bar; of each group those from the first to the last such one are drawn.
    given: a row that is 1 where a member has none.
    """

    title: str
    kind: str
    series: tuple[Series, ...]
    across: Scale
    up: Scale
    tells: str
    numbers: str = ""
    wide: bool = False
    among: tuple[Block, ...] = ()
    given: Block | None = None
