"""An explanation for programs: a flat dictionary of its cells by address, and the same as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blueprint.explaining.tree import Explanation

FIELDS = (
    "name", "label", "symbol", "meaning", "at", "cell", "equation", "numbers", "value", "unit", "source", "typed",
)  # fmt: skip


def to_dict(top: Explanation) -> dict[str, Any]:
    """Returns {"top": key, "cells": {key: facts}}: every cell once, by its address, the nearest to the top first.

    `reads` lists the keys of what a cell's equation reads, in its order; `complete` is false where the depth was
    reached. A blank value is None. `said` stands only where a file shows another value.
    """
    listed = [top, *(each for each, _ in top.nearest())]
    return {"top": _key(top), "cells": {_key(each): _facts(each) for each in listed}}


def to_json(top: Explanation) -> str:
    """Returns the dictionary as JSON."""
    return json.dumps(to_dict(top), indent=1)


def _key(told: Explanation) -> str:
    """Returns the address; of a cell that stands nowhere its block's name and its members."""
    return told.cell or f"{told.name}[{', '.join(map(str, told.at.values()))}]"


def _facts(told: Explanation) -> dict[str, Any]:
    facts = {field: getattr(told, field) for field in FIELDS} | {"at": dict(told.at), "value": _plain(told.value)}
    said = {} if told.said is None else {"said": told.said}
    return facts | said | {"complete": not told.more, "reads": list(dict.fromkeys(map(_key, told.reads)))}


def _plain(value: float | str) -> float | str | None:
    return None if value != value else value
