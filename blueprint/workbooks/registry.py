"""The kinds of workbooks there are: those of the folders beside this file, those of installed packages, and a user's own."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.quoting import unquoted
from blueprint.workbooks.kind import Kind, KindError, imported

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.checks import Witnessed

FIRST = "rlhf_ppo"
"""The kind that lists begin with."""
SHARED = "common"
"""The folder of what kinds share, which is none."""
GROUP = "blueprint.kinds"
"""The group of entry points under which a package may bring a kind of its own."""
_added: dict[str, Kind] = {}


def add_kind(kind: Kind) -> None:
    """Make a kind of one's own known: commands and `bp.build` then work on it as on any other.

    One that was added before under the same name gives way to it, as when a cell of a notebook is run again.

    Raises:
        KindError: if it is none, or if another kind has its name, one of its levels, or built-in numbers of one name.

    >>> import blueprint as bp
    >>> from blueprint.workbooks import Kind
    >>> bp.add_kind(Kind("classic_ppo", "mine", levels={}, build=None))
    Traceback (most recent call last):
    blueprint.workbooks.kind.KindError: kind classic_ppo: there is one of that name already; give yours another name.
    """
    if not isinstance(kind, Kind):
        raise KindError(f"add_kind: found {type(kind).__name__}, expected a record; write add_kind(Kind(name, …)).")
    for other in kinds():
        if other.name != kind.name or kind.name not in _added:
            _refuse_twins(kind, other)
    _added[kind.name] = kind


def _refuse_twins(kind: Kind, other: Kind) -> None:
    if kind.name == other.name:
        raise KindError(f"kind {unquoted(kind.name)}: there is one of that name already; give yours another name.")
    for what, own, others in (
        ("level", kind.levels, other.levels),
        ("built-in numbers", kind.built_in(), other.built_in()),
    ):
        if twins := sorted(own.keys() & others.keys()):
            taken = f"{what} {unquoted(twins[0])}: taken by {other.title}"
            raise KindError(f"kind {unquoted(kind.name)}, {taken}; give yours another name.")


def kinds() -> list[Kind]:
    """Return every kind there is: our own, then those of installed packages, then those that were added."""
    return list(_all().values())


def _all() -> dict[str, Kind]:
    return {**_own(), **_installed(), **_added}


@cache
def _own() -> dict[str, Kind]:
    folders = {path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")} - {SHARED}
    names = sorted(folders, key=lambda name: (name != FIRST, name))
    return {name: import_module(f"blueprint.workbooks.{name}").KIND for name in names}


def entry_points(group: str) -> Iterable[Any]:
    """Return what installed packages offer; imported now, since it takes long and most commands need none of it."""
    from importlib import metadata

    return metadata.entry_points(group=group)


@cache
def _installed() -> dict[str, Kind]:
    """Load the kinds that installed packages bring."""
    found: dict[str, Kind] = {}
    for each in entry_points(group=GROUP):
        try:
            kind = each.load()
        except Exception as error:  # whatever somebody's package does when it is imported
            what = f"entry point {unquoted(each.name)} = {unquoted(each.value)}, group {GROUP}"
            raise KindError(
                f"{what}: found {unquoted(error)}, expected a Kind; mend or uninstall the package."
            ) from error
        for other in (*_own().values(), *found.values()):
            _refuse_twins(kind, other)
        found[kind.name] = kind
    return found


def kind_named(name: str) -> Kind:
    """Return the kind of this name.

    Raises:
        KindError: if there is none.
    """
    found = _own().get(name) or _all().get(name)
    if found is None:
        known = ", ".join(kind.name for kind in kinds())
        raise KindError(f"kind {unquoted(name)}: there is none of that name; write one of {known}.")
    return found


def kind_of_level(word: object) -> Kind | None:
    """Return the kind to which a level belongs."""
    for kind in _ours_first():
        if str(word) in kind.levels:
            return kind
    return None


def built_in_file(name: str) -> Path | None:
    """Return the file of a built-in set of numbers."""
    for kind in _ours_first():
        if found := kind.built_in().get(name):
            return found
    return None


def _ours_first() -> Iterator[Kind]:
    """Yield every kind; those of other packages are looked for only where none of ours will do."""
    yield from _own().values()
    yield from kinds()


def level_of(numbers: Any) -> Any:
    """Return the level at which numbers begin, as their kind describes it."""
    return kind_of(numbers).level(numbers.level)


def kind_of(numbers: Any) -> Kind:
    """Return the kind to which numbers belong: they say it themselves, under `kind`."""
    return kind_named(numbers.kind)


def blueprint_of(numbers: Any, witnessed: "Witnessed | None" = None) -> "Blueprint":
    """Make the blueprint of numbers of any kind, with its notes and what helps to read it.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    return guided(outline_of(numbers, witnessed), numbers)


def outline_of(numbers: Any, witnessed: "Witnessed | None" = None) -> "Blueprint":
    """Make the blueprint of numbers of any kind: all that is computed, and nothing that only helps to read it."""
    kind = kind_of(numbers)
    build = imported(kind.build[numbers.level] if isinstance(kind.build, Mapping) else kind.build)
    outline: Blueprint = build(numbers, witnessed) if witnessed else build(numbers)
    if numbers.gradients and kind.gradient is None:
        raise KindError(f"gradients: {kind.title} has no loss, and only a loss has gradients; leave gradients out.")
    if numbers.gradients:
        outline = kind.part("gradient")(outline)
    return replace(outline, derivation=kind.derivation, topics=kind.topics)


def guided(outline: "Blueprint", numbers: Any) -> "Blueprint":
    """Add to the blueprint of numbers its notes and what helps to read it."""
    from blueprint.workbooks.common.guides import with_guides, with_notes, with_one_page

    kind = kind_of(numbers)
    made = with_guides(
        with_notes(outline, kind.notes, imported(kind.settings) or {}),
        built_in=numbers.built_in,
        models=kind.models,
        presets=kind.part("presets")() if kind.presets else None,
    )
    if kind.one_page is None and kind.name not in _own():
        from blueprint.page.outline.derived import with_derived_page

        return with_derived_page(made)
    return with_one_page(made, kind.one_page)
