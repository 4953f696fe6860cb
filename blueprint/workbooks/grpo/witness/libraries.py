"""Libraries side by side: the same responses once more by the conventions of every library of a file, one after the other."""

from collections.abc import Mapping

from torch import Tensor

from blueprint.witness import Asked, Batch, Named, Rows, Setting, add_alone, alternative
from blueprint.workbooks.grpo.witness.given import UNSET
from blueprint.workbooks.grpo.witness.once import once
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.start import Start

AVERAGE = "loss.aggregation"


def add_libraries(batch: Batch, rows: Rows, start: Start, places: Places, read: Tensor | None) -> None:
    """Adds what every library does, all that follows from it, and how its gradient lies to the one in use."""

    def alone(bare: Batch, said: Mapping[str, Setting], numbers: Mapping[str, float]) -> Named:
        place = float(alternative(batch.files[0], AVERAGE, "token_mean"))
        modes = {f"{AVERAGE}.token_mean": place, f"{AVERAGE}.number": numbers[AVERAGE]}
        return once(bare, start, places, Asked({**UNSET, **said, **modes}), read)

    add_alone(batch, rows, alone)
