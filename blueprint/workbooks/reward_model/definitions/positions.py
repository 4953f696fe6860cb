"""Every position by itself: both responses of a pair compared from the first token in which they differ.

Source: DeepSpeed-Chat 83757d9, reward_model.py, forward; trlX 3340c2f, examples/summarize_rlhf/reward_model/reward_model.py.
Compared are the scores at the same positions, from the first difference to the end of the longer text: behind the end
of the shorter one that is what the model says after pads.
"""

from blueprint.language import Max, Sum, at_most, equal, maximum, number, size, where
from blueprint.workbooks.common.pairs import Sides
from blueprint.workbooks.reward_model.definitions.axes import n, o, t, u
from blueprint.workbooks.reward_model.definitions.steps import Given, Row, Steps

PLACES = "Positions in a column: for losses that compare every position"
COMPARED = "Which positions are compared"
SCORED = "The scores at these positions"
LOSS = "The loss of each position, and of the pair"


def positions(head: Given, ids: Given, text: Given, s: Steps) -> Row:
    """Makes the mean loss over the positions of each pair, (o). head, ids, text: (n, t), scores, tokens, and 1 on the text."""
    s.on("Inputs", PLACES)
    place = s.along("position.number", (u,))
    place[u.first - 1] = 0
    place[u] = place[u - 1] + 1
    here = s.along("position.here", (u, n, t), equal(place[u], number(t)))
    counted = _compared(_laid("id", ids, here, s), s.each("text.length", Sum(t, text[n, t])), place, s)
    s.on("Scores", PLACES.replace("Positions", "Scores"))
    column = s.along("position.score", (u, n), Sum(t, here[u, n, t] * head[n, t]))
    s.on("Positions", SCORED)
    found = _sides("score", column, s)
    gap = s.table("position.gap", found.chosen[o, u] - found.rejected[o, u])
    s.on("Positions", LOSS)
    right = s.log_sigmoid("position.right", gap)
    lost = s.table("position.loss", -(counted[o, u] * right[o, u]))
    many = s.along("position.count", (o,), Sum(u, counted[o, u]))
    return s.along("position.mean", (o,), Sum(u, lost[o, u]) / many[o])


def _laid(name: str, of: Given, here: Row, s: Steps) -> Row:
    """Lays a number of each token, (n, t), out with the positions in a column, (u, n)."""
    return s.along(f"position.{name}", (u, n), Sum(t, here[u, n, t] * of[n, t]))


def _sides(name: str, of: Row, s: Steps) -> Sides:
    """Looks the numbers of both responses of a pair up, (o, u)."""
    return Sides(*(
        s.table(f"position.{side}.{name}", Sum(n, place[o, n] * of[u, n]))
        for side, place in (("chosen", s.places.chosen), ("rejected", s.places.rejected))
    ))  # fmt: skip


def _compared(ids: Row, length: Row, place: Row, s: Steps) -> Row:
    """Marks the positions that count, (o, u): of a pair of equal texts only the last column, as DeepSpeed-Chat does."""
    s.on("Positions", COMPARED)
    both = _sides("id", ids, s)
    apart = s.table("position.apart", where(equal(both.chosen[o, u], both.rejected[o, u]), 0, 1))
    since = s.table("position.since")
    since[o, u.first - 1] = 0
    since[o, u] = maximum(since[o, u - 1], apart[o, u])
    first, second = (
        s.along(f"position.{side}.length", (o,), Sum(n, at[o, n] * length[n]))
        for side, at in (("chosen", s.places.chosen), ("rejected", s.places.rejected))
    )
    longer = s.along("position.longer", (o,), maximum(first[o], second[o]))
    inside = s.table("position.inside", at_most(place[u], longer[o]))
    alike = s.along("position.alike", (o,), 1 - Max(u, apart[o, u]))
    last = s.along("position.last", (u,), equal(place[u], s.one("position.columns", size(t))))
    return s.table("position.counted", since[o, u] * inside[o, u] + alike[o] * last[u])
