"""The command `blueprint inspect`: what a dump of a training step holds, as text or JSON. No maths."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import click

from blueprint.commands import console, errors
from blueprint.dumps import (
    Inspection,
    Minibatch,
    MinibatchError,
    ends_as_dump,
    files_in,
    head_of,
    inspect,
    is_bundle,
    is_foreign,
)
from blueprint.inputs import counted, shown_value
from blueprint.quoting import printable, table, unquoted

MOST_LISTED = 12
"""So many names stand in a line, and so many files of a folder are opened."""
EXAMPLES = """\b
Examples:
  blueprint inspect run.safetensors
  blueprint inspect train_data_step12.jsonl
  blueprint inspect run.npz --json
  blueprint inspect dumps/

\b
Formats: safetensors, npz, jsonl, parquet, and .pt of plain tensors.
Exit codes: 0 what is shown can be replayed, 2 wrong use, 3 something cannot be read or not replayed.
"""


@click.command("inspect", epilog=EXAMPLES)
@click.argument("file", type=errors.FILE)
@click.option("--above-zero", is_flag=True, help="Accept log-probs above 0, as made-up numbers of an exercise are.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def inspect_dump(file: Path, above_zero: bool, as_json: bool) -> None:
    """Say what a dump of a training step holds: recognised, missing, unknown, and what can be recomputed.

    Of a folder: what each of its first dozen dumps is, and whether it can be replayed. Nothing in a file is ever unpickled.
    docs/minibatch.md lists the names; docs/dump-hooks.md says how to write a dump.
    """
    if file.is_dir() and not is_bundle(file):
        return _folder(file, above_zero, as_json)
    found = inspect(file, above_zero)
    console.say(json.dumps(_data(found), indent=2) if as_json else "\n".join(_lines(found)))
    if found.refusal:
        raise errors.Unreadable(f"{found.path}: {found.refusal}")


def _folder(folder: Path, above_zero: bool, as_json: bool) -> None:
    """Says of the first dumps of a folder what each is, and how many more there are."""
    files = [file for file in files_in(folder) if ends_as_dump(file) and not _is_other(file)]
    if not files:
        raise errors.Unreadable(
            f"{folder} holds no dump of a training step: docs/dump-hooks.md tells how to write them"
        )
    shown, more = files[:MOST_LISTED], max(0, len(files) - MOST_LISTED)
    found = [_found(file, above_zero) for file in shown]
    if as_json:
        said = [{"refusal": each} if isinstance(each, str) else _data(each) for each in found]
        listed = [{"path": str(file), **each} for file, each in zip(shown, said, strict=True)]
        console.say(json.dumps({"folder": str(folder), "files": listed, "more": more}, indent=2))
    else:
        console.say("\n".join(line for each in found for line in _short(each)))
        if more:
            console.say(f"… and {counted(more, 'more file')}: name one to see what it holds")
    bad = sum(isinstance(each, str) or bool(each.refusal) for each in found)
    if bad:
        raise errors.Unreadable(f"{folder}: {bad} of {counted(len(shown), 'file')} cannot be replayed")


def _is_other(file: Path) -> bool:
    """Tells whether a file holds nothing of a training step, as a checkpoint or a list of verdicts does."""
    try:
        return is_foreign(head_of(file))
    except MinibatchError:
        return False


def _found(file: Path, above_zero: bool) -> Inspection | str:
    """Returns what a file of a folder holds, or why it cannot be read."""
    try:
        return inspect(file, above_zero)
    except MinibatchError as error:
        return str(error)


def _short(found: Inspection | str) -> Iterator[str]:
    """Yields what a file is, whose it is, and why it cannot be replayed, if so."""
    if isinstance(found, str):
        yield found
        return
    head, whose = _head(found)
    yield head
    yield f"  {whose.rstrip()}"
    if found.refusal:
        yield f"  cannot be replayed: {found.refusal}"


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
