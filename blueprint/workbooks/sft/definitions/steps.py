"""Steps in order, of supervised fine-tuning: rows for tokens and for texts."""

from blueprint.language import Operand, less, where
from blueprint.workbooks.common import Choices, Given, Lined, Ordered, labels
from blueprint.workbooks.sft.definitions.axes import n, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.sft"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["LABELS", "Given", "Row", "Steps"]


class Steps(Ordered):
    """Writes rows by their names, along tokens and texts."""

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each text."""
        return self.along(name, (n,), value)

    def share(self, name: str, count: Row) -> Row:
        """Divides 1 by a count, to which the library adds what keeps it from 0; of nothing counted 0, which no loss reads."""
        over = count[count.axes] + self.use.used["loss.mean_eps"]
        return self.along(name, count.axes, where(less(0, count[count.axes]), 1 / over, 0))
