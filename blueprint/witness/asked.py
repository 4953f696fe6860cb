"""What the witness is told, and what it makes of it: the word or number of a convention by its key, as in a file, and rows by name.

A limit that is off is infinite.
"""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf

from torch import Tensor


@dataclass(frozen=True)
class Asked:
    """The conventions of one file."""

    values: Mapping[str, float | str]

    def word(self, key: str) -> str:
        """Returns the word of a convention."""
        return str(self.values[key])

    def number(self, key: str) -> float:
        """Returns the number of a convention."""
        return float(self.values[key])

    def limit(self, key: str) -> float | None:
        """Returns a limit, None where it is off."""
        value = self.number(key)
        return None if isinf(value) else value

    def around(self, x: Tensor, key: str) -> Tensor:
        """Keeps numbers within ± a limit."""
        reach = self.limit(key)
        return x if reach is None else x.clamp(-reach, reach)

    def between(self, x: Tensor, low: str, high: str) -> Tensor:
        """Keeps numbers between two limits."""
        least, most = self.limit(low), self.limit(high)
        return x if least is None and most is None else x.clamp(least, most)


class Nodes(ChainMap[str, Tensor]):
    """Rows by name, of which autograd knows each as one of its own, also where it repeats another: so each has its own slope.

    What is written stands in front of what was there.
    """

    def __init__(self, there: Mapping[str, Tensor]):
        super().__init__({}, there)  # type: ignore[arg-type]  # of these nothing is written

    def __setitem__(self, name: str, x: Tensor) -> None:
        super().__setitem__(name, x.view_as(x))

    def take(self, nodes: Mapping[str, Tensor]) -> None:
        """Takes rows that are nodes already, as they are."""
        self.maps[0].update(nodes)

    @property
    def written(self) -> dict[str, Tensor]:
        """What was written or taken."""
        return dict(self.maps[0])
