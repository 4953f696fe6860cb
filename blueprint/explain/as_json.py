"""An explanation for programs: nested dictionaries, and the same as JSON, however deep it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from blueprint.explain.text import nearest

if TYPE_CHECKING:
    from blueprint.explain.tree import Explanation

FIELDS = ("label", "name", "symbol", "meaning", "source", "at", "cell", "equation", "numbers", "value", "typed")


def to_dict(top: Explanation) -> dict[str, Any]:
    """Returns nested dictionaries; a cell has its `reads` where it stands nearest to the top, elsewhere only its value.

    `complete` is false where the depth was reached; a blank is None.
    """
    below = nearest(top)
    home = {id(each): id(parent) for each, parent in below}
    listed = [top, *(each for each, _ in below)]
    made = {id(each): _facts(each) for each in listed}
    for each in listed:
        read = {id(one): one for one in each.reads}
        made[id(each)]["reads"] = [
            made[key] if home[key] == id(each) else _mention(one) for key, one in read.items()
        ]  # fmt: skip
    return made[id(top)]


def to_json(top: Explanation) -> str:
    """Returns JSON with a line for every cell, nested deeper than what Python's own encoder takes if need be."""
    written: list[str] = []
    left: list[dict[str, Any] | str] = [to_dict(top)]
    while left:
        piece = left.pop()
        if isinstance(piece, str):
            written.append(piece)
            continue
        reads = piece.pop("reads", None)
        own = json.dumps(piece)[:-1]
        written.append(own + (', "reads": [' if reads is not None else "}"))
        if reads is not None:
            left.append("]}")
            left += [part for read in reversed(reads) for part in (read, ",\n" if read is not reads[0] else "\n")]
    return "".join(written)


def _facts(told: Explanation) -> dict[str, Any]:
    facts = {field: getattr(told, field) for field in FIELDS} | {"at": dict(told.at), "complete": not told.more}
    facts["value"] = _plain(told.value)
    return facts if told.said is None else facts | {"said": told.said}


def _mention(told: Explanation) -> dict[str, Any]:
    return {"label": told.label, "name": told.name, "cell": told.cell, "value": _plain(told.value)}


def _plain(value: float | str) -> float | str | None:
    return None if value != value else value
