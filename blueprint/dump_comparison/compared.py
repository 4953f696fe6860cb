"""Two dumps of one step compared: the responses aligned, quantities side by side, and the conventions that explain a difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from blueprint.dump_comparison.aligned import Aligned, align
from blueprint.dump_comparison.conventions import Conventions, conventions
from blueprint.dump_comparison.differences import DIFFERS, FOLLOWS, OF_FORWARDS, Difference, differences
from blueprint.dump_comparison.report import text_of
from blueprint.dump_comparison.sides import Side, side_of
from blueprint.dumps import Dump

OWN = ("agrees", "too coarse")


@dataclass(frozen=True)
class Comparison:
    """Two dumps side by side. lines: what both have, in the order of the computation; conventions: what their settings explain."""

    pair: Aligned
    lines: tuple[Difference, ...]
    conventions: Conventions

    def __repr__(self) -> str:
        """Says where both first differ, and by which setting: a notebook shows it, and no arrays."""
        if self.first is None:
            return f"<Comparison: no difference in {len(self.lines)} quantities>"
        said = self.conventions
        causes = ", ".join(each.turned() if said.turned else str(each) for each in said.needed)
        by = f" {'A' if said.turned else 'B'}'s numbers come out with {causes}." if causes else ""
        return f"<Comparison: first difference: {self.first}{by}>"

    def __str__(self) -> str:
        """Says what `blueprint compare` prints: a line for every quantity, the first difference, and what explains it."""
        return text_of(self)

    @property
    def first(self) -> Difference | None:
        """The first difference that neither rounding nor what is before it explains; None where there is none."""
        return next((each for each in self.lines if each.says == DIFFERS), None)

    @property
    def inputs_differ(self) -> bool:
        """Whether something differs that is not computed from anything else in the files."""
        computed = self.conventions.computed
        return any(each.says == DIFFERS and each.name not in computed for each in self.lines)


def compare(
    one: Dump | Sequence[Dump], other: Dump | Sequence[Dump], presets: tuple[str | None, str | None] = (None, None)
) -> Comparison:
    """Compares two dumps of one step, or all files of the step of two frameworks.

    Raises:
        MinibatchError: dumps of different kinds, or of different batches; files that are not of one step.
    """
    return compare_sides(side_of(one), side_of(other), presets)


def compare_sides(one: Side, other: Side, presets: tuple[str | None, str | None] = (None, None)) -> Comparison:
    """Compares the files of one step of two frameworks. Raises MinibatchError as `compare`."""
    pair = align(one, other)
    found = differences(pair)
    explained = conventions(one.files, other.files, presets)
    return Comparison(pair, tuple(_followed(found, explained)), explained)


def _followed(lines: Iterable[Difference], explained: Conventions) -> Iterable[Difference]:
    """Says of what differs whether it follows: each dump's own settings give it, and so do the first one's in the second."""
    for each in lines:
        own = all(said.get(each.name) in OWN for said in explained.follows)
        crossed = explained.crossed.get(each.name)
        follows = each.says == DIFFERS and each.name not in OF_FORWARDS and own and crossed in (*OWN, "follows")
        yield replace(each, says=FOLLOWS) if follows else each
