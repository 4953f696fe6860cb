"""Libraries side by side: the same pairs once more by the conventions of every library of a file, one after the other."""

from collections.abc import Mapping

from blueprint.witness import Asked, Batch, Named, Rows, Setting, add_alone
from blueprint.workbooks.dpo.witness.backward import once
from blueprint.workbooks.dpo.witness.given import UNSET
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.start import Start


def add_libraries(batch: Batch, rows: Rows, start: Start, places: Places) -> None:
    """Adds what every library does, and all that follows from it; of a switch its word is what is read, not its number."""

    def alone(bare: Batch, said: Mapping[str, Setting], numbers: Mapping[str, float]) -> Named:
        return once(bare, start, places, Asked({**UNSET, **said}))

    add_alone(batch, rows, alone)
