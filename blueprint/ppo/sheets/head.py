"""The rows that stay in view on every sheet: which words a column reads and writes, and whether it counts."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link


class InView(NamedTuple):
    """Words read and written, and the mask m; all over (n, t)."""

    reads: Block
    writes: Block
    mask: Block

    def on(self, sheet: str) -> InView:
        """Repeats the three rows on another sheet."""
        return InView(
            link(f"{sheet}.reads", self.reads), link(f"{sheet}.writes", self.writes), link(f"{sheet}.mask", self.mask)
        )
