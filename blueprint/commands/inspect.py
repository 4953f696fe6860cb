"""The command `blueprint inspect`: what a dump of a training step holds, as text or JSON. No maths."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import click

from blueprint.commands import console, errors
from blueprint.dumps import Inspection, Minibatch, inspect
from blueprint.inputs import counted, shown_value
from blueprint.quoting import printable, table, unquoted

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


@click.command("inspect", epilog=EXAMPLES)
@click.argument("file", type=errors.FILE)
@click.option("--above-zero", is_flag=True, help="Accept log-probs above 0, as made-up numbers of an exercise are.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def inspect_dump(file: Path, above_zero: bool, as_json: bool) -> None:
    """Say what a dump of a training step holds: recognised, missing, unknown, and what can be recomputed.

    Nothing in the file is ever unpickled. docs/minibatch.md lists the names; docs/dump-hooks.md says how to write a dump.
    """
    found = inspect(file, above_zero)
    console.say(json.dumps(_data(found), indent=2) if as_json else "\n".join(_lines(found)))
    if found.refusal:
        raise errors.Unreadable(f"{found.path}: {found.refusal}")


def _lines(found: Inspection) -> Iterator[str]:
    yield from _head(found)
    yield from _indented(
        [
            (each.name, each.neutral, f"[{', '.join(map(str, each.shape))}]", each.dtype, each.meaning)
            for each in found.tensors
        ]
    )
    yield from _listed(
        "not recognised",
        [
            f"{unquoted(name)} (did you mean {near}?)" if near else unquoted(name)
            for name, near in found.unknown.items()
        ],
    )
    yield from _listed("known, not needed", found.unused)
    yield from _listed("missing", found.missing)
    yield "\ncan be recomputed:"
    yield from _indented(
        [
            (what, f"no, lacks {', '.join(lacking)}" if lacking else "yes")
            for what, lacking in found.recomputable.items()
        ]
    )
    yield from _pairs("hyperparameters", found.mentioned.settings, found.mentioned.unknown_settings)
    yield from _listed("  read otherwise, or without effect here", found.dropped)
    yield from _pairs("logged", found.mentioned.logged, found.mentioned.unknown_logged)
    yield from _listed("metadata not recognised", found.unknown_metadata)
    if found.batch and found.batch.notes:
        yield ""
        yield from (f"note: {note}" for note in found.batch.notes)


def _head(found: Inspection) -> Iterator[str]:
    """Yields what the file is, how large, and where it is from."""
    batch, size, where = found.batch, "", ""
    if batch is not None:
        size = f", {_size(found)}"
        step = None if batch.step is None else f"step {batch.step}"
        where = "".join(f", {each}" for each in (step, batch.place) if each)
    yield f"{printable(str(found.path))}: {found.format}{size}"
    library = " ".join(filter(None, (found.library, found.version))) or "unknown"
    yield f"library {library}{where}; preset {found.preset or 'none, name one with --preset'}\n"


def _size(found: Inspection) -> str:
    """Says how large a dump is, and, of one that is no step of RLHF, what it is."""
    batch = found.batch
    head = batch.head.rstrip(".") if batch else ""
    if not isinstance(batch, Minibatch):
        return f"{head[:1].lower()}{head[1:]}"
    rows, slots = batch.mask.shape
    many = counted(rows, "response"), counted(slots, "position"), counted(found.words, "token")
    inside = "{} of up to {}, {} inside the mask".format(*many)
    return f"{inside}; {head[:1].lower()}{head[1:]}" if head else inside


def _indented(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in table(rows))


def _listed(title: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" … and {len(names) - MOST_LISTED} more" * (len(names) > MOST_LISTED)
        yield f"{title}: {', '.join(map(unquoted, names[:MOST_LISTED]))}{more}"


def _pairs(title: str, known: Mapping[str, float | str], unknown: Sequence[str]) -> Iterator[str]:
    if known or unknown:
        yield f"\n{title}:"
        yield from _indented([(key, shown_value(value, "-")) for key, value in known.items()])
        yield from _listed("  not understood", unknown)


def _data(found: Inspection) -> dict[str, Any]:
    batch = found.batch
    return {
        "path": found.path,
        "format": found.format,
        "library": found.library,
        "version": found.version,
        "step": batch.step if batch else None,
        "place": asdict(batch.place) if batch and batch.place else None,
        "preset": found.preset,
        "responses": batch.mask.shape[0] if isinstance(batch, Minibatch) else None,
        "slots": batch.mask.shape[1] if isinstance(batch, Minibatch) else None,
        "words": found.words if isinstance(batch, Minibatch) else None,
        **(batch.facts if batch and not isinstance(batch, Minibatch) else {}),
        "tensors": [
            {"name": each.name, "neutral": each.neutral, "shape": list(each.shape), "dtype": each.dtype}
            for each in found.tensors
        ],
        "unknown": dict(found.unknown),
        "unused": list(found.unused),
        "missing": list(found.missing),
        "recomputable": {what: not lacking for what, lacking in found.recomputable.items()},
        "hyperparameters": {
            key: "off" if value == float("inf") else value for key, value in found.mentioned.settings.items()
        },
        "without_effect": list(found.dropped),
        "logged": {name: value if isfinite(value) else str(value) for name, value in found.mentioned.logged.items()},
        "not_understood": [*found.mentioned.unknown_settings, *found.mentioned.unknown_logged, *found.unknown_metadata],
        "notes": list(batch.notes) if batch else [],
        "refusal": found.refusal,
    }
