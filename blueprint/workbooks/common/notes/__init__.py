"""What a row's note adds to its meaning and source: why the quantity is there, what to look at, where libraries differ.

Notes are TOML: by the name of a block its note. A key that begins with a dot is the end of a name: it stands for every
block that is called so. Under `beside` stands what is said instead where another block is in the workbook, too.

What is said of a library was read in its source at the version named, most of it also run. TRL 1.12 is the last release
with PPO; a name with seven digits is a commit.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from blueprint.inputs.catalogue import data_in
from blueprint.inputs.setting import Setting
from blueprint.page.outline import Blueprint

REPEATED = ("library.", "presets.")
"""What begins the name of a block that is another one over again, for each library or in the table of presets."""


def notes_in(
    places: Iterable[Path], settings: Mapping[str, Setting] | None = None, there: Collection[str] = ()
) -> dict[str, str]:
    """Reads the notes of files and folders, and of the records of settings. there: which blocks the workbook has."""
    notes = {key: setting.note for key, setting in (settings or {}).items() if setting.note}
    instead: dict[str, str] = {}
    for place in places:
        for file in sorted(place.glob("*.toml")) if place.is_dir() else [place]:
            found = data_in(file)
            notes |= {key: note for key, note in found.items() if key != "beside"}
            for beside, own in found.get("beside", {}).items():
                instead |= own if beside in there else {}
    return notes | instead


def note_of(name: str, notes: Mapping[str, str]) -> str:
    """Return the note of a block: its own, else that of the longest ending of its name, else nothing.

    `policy.delta.E` asks for `policy.delta.E`, then `.delta.E`, then `.E`. `library.gamma` asks for `library.gamma`, then
    what `gamma` asks for.
    """
    if name in notes:
        return notes[name]
    for prefix in REPEATED:
        if name.startswith(prefix):
            return note_of(name.removeprefix(prefix), notes)
    endings = [name[at:] for at, letter in enumerate(name) if letter == "."]
    return next((notes[key] for key in endings if key in notes), "")


def with_notes(made: Blueprint, places: Iterable[Path], settings: Mapping[str, Setting] | None) -> Blueprint:
    """Adds what is said of each block."""
    names = dict.fromkeys(block.name for block in made.blocks())
    notes = notes_in(places, settings, names)
    return replace(made, notes={name: note_of(name, notes) for name in names})
