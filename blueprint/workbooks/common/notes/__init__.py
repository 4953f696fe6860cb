"""What a row's note adds to its meaning and source: why the quantity is there, what to look at, where libraries differ.

What is said of a library was read in its source at the version named, most of it also run. TRL 1.12 is the last release
with PPO; a name with seven digits is a commit.
"""

from __future__ import annotations

from dataclasses import replace

from blueprint.page.outline import Blueprint
from blueprint.workbooks.common.notes import (
    conventions,
    diagnostics,
    live_loss,
    live_signal,
    loss,
    minibatch,
    models,
    rollout,
    settings,
    signal,
)

NOTES: dict[str, str] = (
    settings.NOTES | conventions.NOTES | rollout.NOTES | models.NOTES | signal.NOTES | live_signal.NOTES | loss.NOTES
    | live_loss.NOTES | diagnostics.NOTES | minibatch.NOTES
)  # fmt: skip
"""By block name. A key that begins with a dot is the end of a name: it stands for every block that is called so."""

REPEATED = ("library.", "presets.")
"""What begins the name of a block that is another one over again, for each library or in the table of presets."""


def note_of(name: str) -> str:
    """Returns the note of a block: its own, else that of the longest ending of its name, else nothing.

    `policy.delta.E` asks for `policy.delta.E`, then `.delta.E`, then `.E`. `library.gamma` asks for `library.gamma`, then
    what `gamma` asks for.
    """
    if name in NOTES:
        return NOTES[name]
    for prefix in REPEATED:
        if name.startswith(prefix):
            return note_of(name.removeprefix(prefix))
    endings = [name[at:] for at, letter in enumerate(name) if letter == "."]
    return next((NOTES[key] for key in endings if key in NOTES), "")


def with_notes(made: Blueprint, live: bool) -> Blueprint:
    """Adds what is said of each block; some of it differs where conventions are live."""
    own = live_signal.LIVE if live else {}
    return replace(made, notes={block.name: own.get(block.name) or note_of(block.name) for block in made.blocks()})
