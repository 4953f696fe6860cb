"""Hold the blocks that the tests of spellings share, and names in the place of addresses."""

from blueprint.language import Axis, block, less, typed
from blueprint.language.nodes import Ref
from tests.language.common import i, k, n, t, v

a, b, c = typed("a"), typed("b"), typed("c")
x = typed("x", (n, t))
e = typed("e", (n, t), edges=(t.first - 1, t.last + 1))
w = typed("w", (v,))
W = typed("W", (k, v))
whole = typed("whole", (i,))
words = typed("words", (v,), text=True)
most = typed("most", limit=True)
gamma = block("gamma", (), "γ")
ratio = block("ratio", (n, t), "ρ_old")
small = less(a, b)


class Names:
    """Writes names where addresses would stand: a cell `x.n.t`, a range `x.n.t:t` and a number `#t`."""

    def cell(self, ref: Ref) -> str:
        """Returns the name of a cell."""
        return ".".join([ref.block.name, *(str(index).replace(" ", "") for index in ref.at)])

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Returns the name of a cell and the axes along which it runs."""
        return f"{self.cell(ref)}:{''.join(map(str, axes))}"

    def number(self, axis: Axis) -> str:
        """Returns the name of the member's number."""
        return f"#{axis}"

    def changes(self) -> str:
        """Returns the name of the count of changed inputs."""
        return "changed"
