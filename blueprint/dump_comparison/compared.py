"""Two dumps of one step compared: the responses aligned, quantities side by side, and the conventions that explain a difference."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from blueprint.dump_comparison.aligned import Aligned, align
from blueprint.dump_comparison.conventions import Conventions, conventions
from blueprint.dump_comparison.differences import DIFFERS, FOLLOWS, OF_FORWARDS, Difference, differences
from blueprint.dumps import Dump

OWN = ("agrees", "too coarse")


@dataclass(frozen=True)
class Comparison:
    """Two dumps side by side. lines: what both have, in the order of the computation; conventions: what their settings explain."""

    pair: Aligned
    lines: tuple[Difference, ...]
    conventions: Conventions

    @property
    def first(self) -> Difference | None:
        """The first difference that neither rounding nor what is before it explains; None where there is none."""
        return next((each for each in self.lines if each.says == DIFFERS), None)

    @property
    def inputs_differ(self) -> bool:
        """Whether something differs that is not computed from anything else in the files."""
        computed = self.conventions.computed
        return any(each.says == DIFFERS and each.name not in computed for each in self.lines)


def compare(one: Dump, other: Dump, presets: tuple[str | None, str | None] = (None, None)) -> Comparison:
    """Compares two dumps of one step.

    Raises:
        MinibatchError: dumps of different kinds, or of different batches.
    """
    pair = align(one, other)
    found = differences(pair)
    explained = conventions(one, other, presets)
    return Comparison(pair, tuple(_followed(found, explained)), explained)


def _followed(lines: Iterable[Difference], explained: Conventions) -> Iterable[Difference]:
    """Says of what differs whether it follows: each dump's own settings give it, and so do the first one's in the second."""
    for each in lines:
        own = all(said.get(each.name) in OWN for said in explained.follows)
        crossed = explained.crossed.get(each.name)
        follows = each.says == DIFFERS and each.name not in OF_FORWARDS and own and crossed in (*OWN, "follows")
        yield replace(each, says=FOLLOWS) if follows else each
