"""Reports of a step: one table for all its files, where it first deviates and why, once; as text, or as data for programs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blueprint.dumps import COUNTED_IN, PLACE_KEYS, Dump, Place
from blueprint.verifying.coarse import reasons, summary
from blueprint.verifying.lines import DIFFERS, NEEDS_OTHERS
from blueprint.verifying.report import cause_data, causes_told, data_of, others_told, quantity, table_of, text_of, where
from blueprint.verifying.step_lines import StepLine, only_in
from blueprint.verifying.verdict import StepVerdict

MOST_LISTED = 4


def text_of_step(found: StepVerdict, each: bool = False) -> str:
    """Prints a line for every logged quantity of a step, where it is worst, then what deviates first, why, and what follows.

    each: every file's own table, too.
    """
    if not found.parts:
        return "\n".join(found.unread.values())
    said = [str(found.parts[0].chosen), ""]
    if len(found.parts) == 1 and not found.unread:
        return "\n".join([*said, text_of(found.parts[0].verdict), *_left_open(found), *_notes(found.notes)])
    said += [_head(found), "", *([_table(found)] if found.lines else ["Nothing was logged that could be compared."])]
    said += [*(_told(found) if found.first else []), *_before_update(found)]
    if found.agrees and found.lines:
        said.append(f"{summary([line.line for line in found.lines])[:-1]}, in all {len(found.parts)} files.")
        said += reasons([line.line for line in found.lines])
    said += [*_left_open(found), *(f"Not read: {reason}" for reason in found.unread.values())]
    tables = (f"\n{part.path.name}\n{table_of(part.verdict.lines)}" for part in found.parts if each)
    return "\n".join([*said, *_notes([*found.notes, *_of_files(found)]), *tables])


def _head(found: StepVerdict) -> str:
    """Says how many files there are, of what."""
    places = [each.verdict.replayed.batch.place or Place() for each in found.parts]
    words = sum(int(each.verdict.replayed.batch.mask.sum()) for each in found.parts)
    counts = {what: len({getattr(each, what) for each in places} - {None}) for what in COUNTED_IN}
    several = ", ".join(_plural(count, what) for what, count in counts.items() if count > 1)
    step = "Files without a step" if found.step is None else f"Step {found.step}"
    return f"{step}: {len(found.parts)} files of {words:,} words{f': {several}' if several else ''}."


def _plural(count: int, what: str) -> str:
    return f"{count} {what}es" if what.endswith("batch") else f"{count} {what}s"


def _table(found: StepVerdict) -> str:
    files = [(f"{len(each.deviating)} of {each.files}", _name(each.worst)) for each in found.lines]
    return table_of([each.line for each in found.lines], ("deviates in", "worst in"), files)


def _name(batch: Dump) -> str:
    return Path(batch.path).name


def _told(found: StepVerdict) -> Iterator[str]:
    first = found.first
    assert first is not None
    assert first.first is not None
    line, batch = first.first
    yield ""
    yield f"First deviation: {_name(batch)}: {where(line)}"
    yield f"  It deviates in {len(first.deviating)} of {first.files} files{_common(found, first)}."
    if first.line.says == DIFFERS and not first.early:
        yield from causes_told(found.causes, [each.line for each in found.lines])
    yield from others_told([each.line for each in found.lines if each != first and not each.early], "the files' own")


def _before_update(found: StepVerdict) -> Iterator[str]:
    """Says what is wrong before the first update in the first file in which something is, and in how many others."""
    wrong = [part for part in found.parts if part.verdict.before_update.said]
    if wrong:
        others = f", and {len(wrong) - 1} other file{'s' if len(wrong) > 2 else ''}" if len(wrong) > 1 else ""
        yield f"\nBefore the first update, {wrong[0].path.name}{others}:"
        yield from (f"  {each}" for each in wrong[0].verdict.before_update.said)


def _common(found: StepVerdict, line: StepLine) -> str:
    """Says what the files that deviate have in common, and no other file has."""
    batches = [each.verdict.replayed.batch for each in found.parts]
    same = list(only_in(line.deviating, batches))
    return f", all of {' and '.join(same)}" if same else ""


def _left_open(found: StepVerdict) -> Iterator[str]:
    """Says what only files that are not there could judge, and what was compared all the same."""
    lines = {each.name: each for each in found.lines if each.line.says == NEEDS_OTHERS}
    for name, each in lines.items():
        on = {str(line) for part in found.parts for of, line in part.verdict.left_open.items() if of == name and line}
        on_line = f"; all that is here agrees with {on.pop()} in the whitening" if len(on) == 1 else ""
        yield f"{each.line.called}: only the other files of the step can tell{on_line}."
    if lines or found.lacking:
        yield f"{_lack(found.lacking)}."


def _lack(lacking: Sequence[str]) -> str:
    if not lacking:
        return f"Nothing says of which part of the step it is: {', '.join(PLACE_KEYS)} in the metadata would"
    more = f" and {len(lacking) - MOST_LISTED} more" if len(lacking) > MOST_LISTED else ""
    listed = ", ".join(lacking[:MOST_LISTED])
    if set(lacking) <= set(PLACE_KEYS):
        return f"The metadata do not say {listed}: then nobody knows whether all files of the step are here"
    return f"Not there: {listed}{more}"


def _of_files(found: StepVerdict) -> list[str]:
    """Returns the notes on files, those that all have once, others with the file."""
    notes = [(part.path.name, note) for part in found.parts for note in part.verdict.notes]
    shared = {note for _, note in notes if sum(note == other for _, other in notes) == len(found.parts)}
    own = [f"{name}: {note}" for name, note in notes if note not in shared]
    return [*dict.fromkeys(note for _, note in notes if note in shared), *own]


def _notes(notes: Sequence[str]) -> list[str]:
    return [f"Note: {each}" for each in notes]


def data_of_step(found: StepVerdict) -> dict[str, Any]:
    """Returns a step for programs, as JSON has it; of a single file what it comes to, with the same names."""
    first = found.first
    return {
        "step": found.step,
        "agrees": all(part_data["agrees"] for part_data in map(data_of, (part.verdict for part in found.parts))),
        "deviates": not found.agrees,
        **found.parts[0].verdict.replayed.batch.facts,
        "quantities": [_line(each) for each in found.lines],
        "first": _line(first) | {"file": first.first[1].path} if first and first.first else None,
        "causes": [cause_data(each) for each in found.causes],
        "lacking": list(found.lacking),
        "not_read": {str(path): reason for path, reason in found.unread.items()},
        "notes": list(found.notes),
        "files": [data_of(part.verdict) for part in found.parts],
    }


def _line(line: StepLine) -> dict[str, Any]:
    more = {"worst_in": line.worst.path, "files": line.files, "deviating_in": [each.path for each in line.deviating]}
    return quantity(line.line) | more
