"""What can be compared: the rows of the witness that a file has as blocks, and of the others the reason why not."""

from collections.abc import Iterator, Mapping

from blueprint.checking.files import Checked
from blueprint.language import Array
from blueprint.page.names import defined_name
from blueprint.quoting import unquoted
from blueprint.reopening.fresh import of_witness


def comparable(
    file: Checked, witness: Mapping[str, Array], without: str | None = None
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns the rows of the witness that can be compared with a file's blocks, and what cannot be, each with the reason.

    without: how the names of quantities begin that are not compared this time.
    """
    rows = {
        name: row for name, row in with_repeats(file, witness).items() if not (without and name.startswith(without))
    }
    missed = dict(_missed(file, rows, without))
    return {name: row for name, row in rows.items() if name in file.places and name not in missed}, missed


def with_repeats(file: Checked, witness: Mapping[str, Array]) -> dict[str, Array]:
    """Adds what only repeats another block, behind that block: it must be the same, wherever it stands."""
    repeats: dict[str, list[str]] = {}
    for name, found in file.places.items():
        if found.kind == "link" and name not in witness:
            repeats.setdefault(next(iter(found.reads), ""), []).append(name)
    typed = {name: file.arrays[name] for name in repeats if name in file.places and file.places[name].kind == "typed"}
    rows: dict[str, Array] = {}
    for name, array in (typed | dict(witness)).items():
        waiting = [name]
        while waiting:
            rows[waiting[0]] = array
            waiting += repeats.get(waiting.pop(0), [])
    return {name: row for name, row in rows.items() if name not in typed}


def _missed(file: Checked, rows: Mapping[str, Array], without: str | None) -> Iterator[tuple[str, str]]:
    for name, row in rows.items():
        if name not in file.places and not file.compared.why and not file.left_out(name):
            yield name, "the Contents sheet has no such name: it was changed, or its line is another's"
        elif name in file.places and (why := _unlike(file, name, row)):
            yield name, why
    for name, found in file.places.items():
        left_out = (without and name.startswith(without)) or of_witness(name, file.places)
        if found.called != defined_name(name):
            yield name, f"its range is called {unquoted(found.called)}, as that of another name would be"
        elif found.kind != "typed" and name not in rows and not left_out:
            yield name, f"{file.range(name)}: torch computes nothing of this name"


def _unlike(file: Checked, name: str, row: Array) -> str:
    """Says in what a block is another kind of thing than the witness's row; "" if in nothing."""
    shape, words = file.arrays[name].shape, file.places[name].words
    if shape != row.shape:
        return f"the Contents sheet says that it lies as {shape}, expected {row.shape}"
    unlike = words != (row.dtype == object)
    return f"the Contents sheet says that it holds {'words' if words else 'numbers'}" if unlike else ""
