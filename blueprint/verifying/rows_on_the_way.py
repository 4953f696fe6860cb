"""The rows on the way to one that is wanted, of which something may be done otherwise; and how that is handed on."""

from typing import NamedTuple

from blueprint.language import Block, Ref, walk
from blueprint.misconceptions.rewriting import Change, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import only_picks

Labelled = tuple[str, dict[str, Change]]
"""What is said of it, and by row how its equation is changed."""
SEVERAL = 2
"""What is read in fewer places is a part of one equation."""


class Way(NamedTuple):
    """The rows between those that are known and the one that is wanted, the nearest to it first.

    masks: rows that are 1 where something counts. before: those that the known ones are made of.
    everywhere: whether what one function makes is looked for among all rows. sided: whose equations they are, where responses have
        two sides.
    """

    equations: Equations
    wanted: str
    rows: list[str]
    masks: tuple[str, ...] = ()
    before: frozenset[str] = frozenset()
    everywhere: bool = False
    sided: Definitions | None = None

    def readers(self) -> dict[Block, list[str]]:
        """Returns by row the rows that read it, each as often as it does."""
        found: dict[Block, list[str]] = {}
        for name in self.rows:
            for node in (node for of in self.equations.rows[name].definitions for node in walk(of.expr)):
                if isinstance(node, Ref) and node.block.axes and not is_setting(node.block):
                    found.setdefault(node.block, []).append(name)
        return found

    @property
    def plain(self) -> list[str]:
        """The rows of one equation, that is no choice of where something stands."""
        of = self.equations
        return [name for name in self.rows if of.rows[name].inside is not None and not only_picks(of.rows[name])]
