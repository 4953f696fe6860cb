"""The rows that stay in view on every sheet: which words a column reads and writes, and whether it counts."""

from typing import NamedTuple

from blueprint.language import Block, link


class InView(NamedTuple):
    """Words written, and the mask m, and where models read them the words read; all over (n, t)."""

    writes: Block
    mask: Block
    reads: Block | None = None

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows from top to bottom, the mask last."""
        return (*((self.reads,) if self.reads is not None else ()), self.writes, self.mask)

    def on(self, sheet: str) -> "InView":
        """Repeats the rows on another sheet."""
        reads = link(f"{sheet}.reads", self.reads) if self.reads is not None else None
        return InView(link(f"{sheet}.writes", self.writes), link(f"{sheet}.mask", self.mask), reads)
