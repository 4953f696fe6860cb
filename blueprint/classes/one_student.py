"""One student's file and its key, side by side; a file that was lost is written once more."""

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.classes.assignment import Assignment
from blueprint.classes.key import Key, KeyStudent, base_of
from blueprint.classes.making import KEY, write_file
from blueprint.files import refuse_target
from blueprint.language import Block

MOST_INPUTS = 12
"""Cells of a block that are shown one by one; of a larger one it is said how many differ."""


def key_of(folder: Path) -> Key:
    """Returns the key of a class, from its folder or from the file itself. Raises ClassError."""
    return Key.load(folder / KEY if folder.is_dir() else folder)


def shown(key: Key, student: KeyStudent) -> dict[str, Any]:
    """Returns what a student has, for programs: who, which file, inputs that differ, and the answer of each cell."""
    return {
        "student": student.id,
        "name": student.name,
        "email": student.email,
        "variant": student.variant,
        "token": student.token,
        "file": student.file,
        "sha256": student.sha256,
        "inputs": [{"input": what, "all": usual, "student": own} for what, usual, own in inputs_of(key, student)],
        "answers": [
            {
                "blank": blank.id,
                "title": blank.title,
                "cell": f"{blank.sheet}!{address}",
                "answer": number,
                "decimals": blank.decimals,
            }
            for blank in key.blanks
            for address, number in zip(blank.addresses, student.answers[blank.id], strict=True)
        ],
    }


def inputs_of(key: Key, student: KeyStudent) -> list[tuple[str, str, str]]:
    """Lists what is typed otherwise: the block, or one cell of it, as the numbers have it, and as the student has it."""
    usual = {block.name: (block, np.asarray(cells, dtype=object)) for block, cells in base_of(key).typed.items()}
    found: list[tuple[str, str, str]] = []
    for name, own in student.typed.items():
        block, cells = usual[name]
        own = np.asarray(own, dtype=object)
        places = [at for at in np.ndindex(cells.shape) if _text(cells[at]) != _text(own[at])]
        if len(places) > MOST_INPUTS:
            found.append((f"{block.symbol} ({name}): {len(places)} of {cells.size} cells", "", ""))
        else:
            found += [(_cell(block, at), _text(cells[at]), _text(own[at])) for at in places]
    return found


def written_again(key: Key, student: KeyStudent, path: Path, force: bool) -> bool:
    """Writes a student's file once more; False if its bytes are not those that the manifest has. Raises SaveError."""
    refuse_target(path, force)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_file(Assignment.of(key), student.id, student.typed, student.answers, path) == student.sha256


def _cell(block: Block, at: tuple[int, ...]) -> str:
    members = ", ".join(f"{axis.letter}={place + axis.start}" for axis, place in zip(block.axes, at, strict=True))
    return f"{block.symbol} ({block.name}{f', {members}' if members else ''})"


def _text(cell: object) -> str:
    """Prints what is typed; an empty cell is a dash."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return "–"
    return f"{cell:g}" if isinstance(cell, float | int) else str(cell)
