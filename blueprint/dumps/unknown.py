"""What a file says that nothing here understands, in sentences: a misspelt name must not go unsaid."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from blueprint.dumps.batch import Raw
from blueprint.dumps.mentioned import Mentioned
from blueprint.dumps.names import AID, LOGGED, NAMES, SETTING, TENSOR, Names, nearest
from blueprint.dumps.recognise import METADATA
from blueprint.quoting import unquoted
from blueprint.workbooks.common.conventions.data import LIVE

MOST_LISTED = 12

MOST_LOOKED_AT = 500
"""Names for which a known one is looked for: a whole training configuration, and not what a hostile file may hold."""


def not_understood(
    raw: Raw,
    unknown: Collection[str],
    said: Mentioned,
    metadata: Collection[str] = METADATA,
    names: Names = NAMES,
    settings: Collection[str] = LIVE,
) -> tuple[str, ...]:
    """Returns a sentence for each kind of names that were not understood and therefore change nothing.

    unknown: of tensors. metadata, settings: the keys that are understood.
    """
    kinds: dict[str, tuple[Sequence[str], Collection[str]]] = {
        "tensors": (list(unknown), names.spelled(TENSOR, AID)),
        "hyperparameters": (said.unknown_settings, names.spelled(SETTING) | set(settings)),
        "logged numbers": (said.unknown_logged, names.spelled(LOGGED)),
        "metadata": ([key for key in raw.metadata if key not in metadata], metadata),
    }
    return tuple(_sentence(kind, listed, known) for kind, (listed, known) in kinds.items() if listed)


def _sentence(kind: str, names: Sequence[str], known: Collection[str]) -> str:
    """Lists the names, those that are nearly known ones first: they are the likelier mistakes."""
    near = {name: _nearest(name, known) for name in names[:MOST_LOOKED_AT]}
    order = sorted(names, key=lambda name: near.get(name) is None)
    listed = ", ".join(_asked(name, near.get(name)) for name in order[:MOST_LISTED])
    more = f" … and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{kind} that are not understood and change nothing: {listed}{more}"


def _nearest(name: str, known: Collection[str]) -> str | None:
    """Returns the known name that a name, or its last part, is nearest to."""
    return nearest(name, known) or nearest(name.replace("/", ".").rpartition(".")[2], known)


def _asked(name: str, near: str | None) -> str:
    return f"{unquoted(name)} (did you mean {near}?)" if near and near != name else unquoted(name)
