"""Changes of equations that have a name: the written misconceptions of the rows on the way to a quantity, before every other change
of one part of these equations.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from blueprint.language import Expr, NotationError, text
from blueprint.misconceptions.rewriting import Change, Misconception, Names
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import every_change
from blueprint.verifying.equations import tries as of_equations
from blueprint.verifying.in_memory import Try


def named_first(
    of: Definitions,
    settings: Mapping[str, float | str],
    wanted: str | tuple[str, ...],
    known: Collection[str],
    misconceptions: Sequence[Misconception],
    spelled: Mapping[str, Change],
    telling: bool = True,
) -> Iterator[Try]:
    """Yields misconceptions of the rows between those that are known and those that are wanted, then every other change of them.

    spelled: by row the same equation as libraries spell it, of which one part may be changed, too. telling: whether there are bits
    enough to tell every change apart; else misconceptions, and changes of a spelled row that what is wanted reads itself.
    """
    equations, seen = of.under(settings), set[tuple[str, str]]()
    rows = (wanted,) if isinstance(wanted, str) else wanted
    on_the_way = dict.fromkeys(name for row in rows for name in equations.on_the_way(row, known))
    for name in on_the_way:
        for each in misconceptions:
            made = _changed(equations, name, each)
            if made is not None and (name, text(made)) not in seen:
                seen.add((name, text(made)))
                yield Try(_said(name, each.says), settings, {"equations": {name: _to(equations, name, made)}})
    read = {block for row in rows for block in equations.reads(equations.rows[row])}
    for other in of_equations(of, settings, wanted, known) if telling else ():
        changes = other.ways["equations"]
        if not all((name, _text(equations, name, change)) in seen for name, change in changes.items()):
            yield other
    for name in [each for each in on_the_way if each in spelled and (telling or equations.rows[each] in read)]:
        own, names = equations.rows[name].inside, _names(equations)
        if own is None:
            continue
        for says, made in every_change(equations, name, rows, spelled[name](own, names)):
            if (name, text(made)) not in seen:
                seen.add((name, text(made)))
                label = f"another equation of {name}, as libraries spell it: {says.removesuffix('.')}"
                yield Try(label, settings, {"equations": {name: _to(equations, name, made)}})


def _changed(equations: Equations, name: str, each: Misconception) -> Expr | None:
    """Returns the equation of a row with a misconception; None where it is none of that row, or changes nothing."""
    bound, own = each.bound(name), equations.rows[name].inside
    if bound is None or own is None or each.change is None:
        return None
    try:
        made = each.change(own, _names(equations, bound))
    except (KeyError, NotationError):  # a row that it names is not there
        return None
    return None if text(made) == text(own) else made


def _to(equations: Equations, name: str, made: Expr) -> Change:
    """Makes a change of a row's equation inside into another; at its ends it stays."""
    own = equations.rows[name].inside
    return lambda expr, names: made if expr is own else expr


def _names(equations: Equations, bound: Mapping[str, str | None] = MappingProxyType({})) -> Names:
    """Returns the rows by name, and the settings that are numbers."""
    return Names({**{block.name: block for block in equations.numbers}, **equations.rows}, bound)


def _text(equations: Equations, name: str, change: Change) -> str:
    own = equations.rows[name].inside
    return "" if own is None else text(change(own, Names(equations.rows, {})))


def _said(name: str, says: str) -> str:
    """Returns a sentence as a part of one, with the row of which it is said; one that begins with a symbol keeps it."""
    word, space, rest = says.removesuffix(".").partition(" ")
    plain = word.istitle() and word.isalpha() and word.isascii() and len(word) > 1
    return f"{word.lower() if plain else word}{space}{rest} ({name})"
