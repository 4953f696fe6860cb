"""The command `blueprint inspect`: what a dump of a training step holds, as text or JSON. No maths."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Unreadable
from blueprint.quoting import printable, table, unquoted

if TYPE_CHECKING:
    from blueprint.dumps import Inspection

MOST_LISTED = 12
EXAMPLES = """\b
Examples:
  blueprint inspect run.safetensors
  blueprint inspect train_data_step12.jsonl
  blueprint inspect run.npz --json

\b
Formats: safetensors, npz, jsonl, parquet, and .pt of plain tensors.
Exit codes: 0 it can be replayed, 2 wrong use, 3 it cannot be read or not replayed.
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def inspect(file: Path, as_json: bool) -> None:
    """Say what a dump of a training step holds: recognised, missing, unknown, and what can be recomputed.

    Nothing in the file is ever unpickled. docs/minibatch.md tells the names, docs/dump-hooks.md how to write one.
    """
    from blueprint.dumps import MinibatchError
    from blueprint.dumps import inspect as look

    try:
        found = look(file)
    except MinibatchError as error:
        raise Unreadable(str(error)) from error
    say(json.dumps(_told(found), indent=2) if as_json else "\n".join(_lines(found)))
    if found.refusal:
        raise Unreadable(f"{found.path}: {found.refusal}")


def _lines(found: Inspection) -> Iterator[str]:
    yield _head(found)
    yield _from(found)
    yield ""
    yield from _indented(
        [(each.name, each.neutral, _shape(each.shape), each.dtype, each.meaning) for each in found.tensors]
    )
    yield from _listed("not recognised", [_with_near(name, near) for name, near in found.unknown.items()])
    yield from _listed("known, not needed", found.unused)
    yield from _listed("missing", found.missing)
    yield ""
    yield "can be recomputed:"
    yield from _indented([(what, _needs(lacking)) for what, lacking in found.recomputable.items()])
    yield from _pairs("hyperparameters", found.said.settings, found.said.unknown_settings)
    yield from _pairs("logged", found.said.logged, found.said.unknown_logged)
    yield from _listed("metadata not recognised", found.unknown_metadata)
    if found.batch and found.batch.notes:
        yield ""
        yield from (f"note: {note}" for note in found.batch.notes)


def _head(found: Inspection) -> str:
    begin = f"{printable(str(found.path))}: {found.format}"
    if found.batch is None:
        return begin
    rows, slots = found.batch.mask.shape
    return f"{begin}, {rows:,} responses of up to {slots:,} slots, {found.words:,} words inside the mask"


def _from(found: Inspection) -> str:
    step = f", step {found.batch.step}" if found.batch and found.batch.step is not None else ""
    library = " ".join(word for word in (found.library, found.version) if word) or "unknown"
    place = f", {found.batch.place}" if found.batch and found.batch.place else ""
    return f"library {library}{step}{place}; preset {found.preset or 'none, name one with --preset'}"


def _indented(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in table(rows))


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _with_near(name: str, near: str | None) -> str:
    return f"{unquoted(name)} (did you mean {near}?)" if near else unquoted(name)


def _needs(lacking: Sequence[str]) -> str:
    return f"no, lacks {', '.join(lacking)}" if lacking else "yes"


def _listed(title: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" … and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        yield f"{title}: {', '.join(map(unquoted, names[:MOST_LISTED]))}{more}"


def _pairs(title: str, known: Any, unknown: Sequence[str]) -> Iterator[str]:
    if known or unknown:
        yield ""
        yield f"{title}:"
        yield from _indented([(key, _number(value)) for key, value in known.items()]) if known else ()
        yield from _listed("  not understood", unknown)


def _number(value: float | str) -> str:
    from blueprint.inputs.setting import OFF

    return value if isinstance(value, str) else "off" if value == OFF else f"{value:.6g}"


def _told(found: Inspection) -> dict[str, Any]:
    """Returns the same for programs."""
    batch = found.batch
    return {
        "path": found.path,
        "format": found.format,
        "library": found.library,
        "version": found.version,
        "step": batch.step if batch else None,
        "place": asdict(batch.place) if batch and batch.place else None,
        "preset": found.preset,
        "responses": batch.mask.shape[0] if batch else None,
        "slots": batch.mask.shape[1] if batch else None,
        "words": found.words if batch else None,
        "tensors": [
            {"name": each.name, "neutral": each.neutral, "shape": list(each.shape), "dtype": each.dtype}
            for each in found.tensors
        ],
        "unknown": dict(found.unknown),
        "unused": list(found.unused),
        "missing": list(found.missing),
        "recomputable": {what: not lacking for what, lacking in found.recomputable.items()},
        "hyperparameters": {
            key: "off" if value == float("inf") else value for key, value in found.said.settings.items()
        },
        "logged": {name: value if isfinite(value) else str(value) for name, value in found.said.logged.items()},
        "not_understood": [*found.said.unknown_settings, *found.said.unknown_logged, *found.unknown_metadata],
        "notes": list(batch.notes) if batch else [],
        "refusal": found.refusal,
    }
