"""Bugs that are no change of one part of one equation are named: another axis, one function in several rows, and GRPO's KL of each
token added otherwise; what comes to the same for any numbers is said once.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.language import Axis, Count, Reduce, Ref, Sum, block, text, walk
from blueprint.verifying import of_broadcast, of_what_is_read
from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import Between
from blueprint.verifying.other_axes import tries
from blueprint.workbooks.common.labels import labels
from tests.verifying.mutants import KINDS, mutant, placed, verified

q, i, n = Axis("q", "prompt", start=1), Axis("i", "response", start=1), Axis("n", "row")


def _derived(given, use):  # type: ignore[no-untyped-def]
    r, mean = given["r"], block("mean", (q,), "μ", "mean of the group")
    mean[q] = Sum(i, r[q, i]) / given["many"]
    left = block("left", (q, i), "A", "what is left")
    left[q, i] = r[q, i] - mean[q]
    return {"mean": mean, "left": left}


SMALL = Definitions({}, labels(), {"r": (q, i), "many": ()}, _derived, counts={"many": i})


def test_a_mean_is_taken_along_the_other_axis_or_both() -> None:
    """Its sum, and the number by which it is divided; and by the sum alone."""
    found = {each.label: each.ways["equations"] for each in tries(Between(SMALL, {}, ("left",), ()))}
    assert [*found] == [
        "the sum in mean goes over all",
        "mean is taken of each response, not of each prompt, in left",
        "mean is taken of all, not of each prompt, in left",
        "mean is laid out in turn, not for each response, in left",
    ]
    equations = SMALL.under({})
    for label, axes in (("of each response", (q,)), ("of all", (q, i))):
        (changes,) = (each for said, each in found.items() if label in said)
        left = equations.changed("left", changes["left"]).definitions[0].expr
        (mean,) = (node.block for node in walk(left) if isinstance(node, Ref) and node.block.name == "mean")
        (total,) = (node for node in walk(mean.definitions[0].expr) if isinstance(node, Reduce))
        sizes = [node.axis for node in walk(mean.definitions[0].expr) if isinstance(node, Count)]
        assert total.axes == axes == tuple(sizes)


def test_a_row_along_an_axis_of_its_own_is_taken_along_no_other() -> None:
    """What is typed of each prompt has no number of each response: it can only stand at the wrong ones."""

    def derived(given, use):  # type: ignore[no-untyped-def]
        mean, left = block("mean", (q,), "μ", "mean"), block("left", (q, i), "A", "what is left")
        mean[q] = Sum(i, given["r"][q, i]) / given["many"] + given["b"][q]
        left[q, i] = given["r"][q, i] - mean[q]
        return {"mean": mean, "left": left}

    of = Definitions({}, labels(), {"r": (q, i), "many": (), "b": (q,)}, derived, counts={"many": i})
    assert [each.label for each in tries(Between(of, {}, ("left",), ()))] == [
        "the sum in mean goes over all",
        "mean is laid out in turn, not for each response, in left",
    ]


def test_a_row_that_is_laid_out_in_turn_begins_again_at_its_end() -> None:
    """As `repeat` for `repeat_interleave`: of two prompts with three responses each 1, 2, 1 and 2, 1, 2."""
    (changes,) = (e.ways["equations"] for e in tries(Between(SMALL, {}, ("left",), ())) if "in turn" in e.label)
    r = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    known = {"r": r, "many": np.asarray(3.0)}
    left = SMALL.values({}, {q: 2, i: 3}, known, ("left",), changes)["left"]
    assert np.allclose(left, r - np.tile([2.0, 20.0], 3).reshape(2, 3))


def test_a_number_is_taken_of_each_and_a_sum_of_all_with_its_count() -> None:
    """What they come to, not only what they say: a change that is no equation is passed over in silence."""

    def derived(given, use):  # type: ignore[no-untyped-def]
        r, whole, total, less = (
            given["r"],
            block("whole", (), "m", "mean"),
            block("total", (q,), "s", "sum"),
            block("less", (q, i), "L", "rest"),
        )
        whole[()] = Sum((q, i), r[q, i]) / given["all"]
        total[q] = Sum(i, r[q, i])
        less[q, i] = r[q, i] - total[q] / given["many"] - whole
        return {"whole": whole, "total": total, "less": less}

    of = Definitions({}, labels(), {"r": (q, i), "many": (), "all": ()}, derived, counts={"many": i, "all": n})
    r = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    known = {"r": r, "many": np.asarray(3.0), "all": np.asarray(6.0)}

    def made(label: str) -> np.ndarray:
        (found,) = (each for each in tries(Between(of, {}, ("less",), ())) if each.label == label)
        return of.values({}, {q: 2, i: 3}, known, ("less",), found.ways["equations"])["less"]

    of_each = made("whole is taken of each prompt, not of all, in less")
    assert np.allclose(of_each, r - 2 * r.mean(1, keepdims=True))
    of_all = made("total is taken of all, not of each prompt, in less, and divided by as many")
    assert np.allclose(of_all, r - 2 * r.mean())


def test_shapes_that_are_broadcast_come_to_the_mean_over_all_of_both() -> None:
    def derived(given, use):  # type: ignore[no-untyped-def]
        apart, square, loss = (
            block("apart", (q,), "d", "difference"),
            block("square", (q,), "e", "its square"),
            block("loss", ()),
        )
        apart[q] = given["x"][q] - given["y"][q]
        square[q] = apart[q] * apart[q]
        loss[()] = Sum(q, square[q]) / given["many"]
        return {"apart": apart, "square": square, "loss": loss}

    of = Definitions({}, labels(), {"x": (q,), "y": (q,), "many": ()}, derived, counts={"many": q})
    x, y = np.array([1.0, 2.0, 4.0]), np.array([0.5, 3.0, -1.0])
    (found,) = of_broadcast(of, {}, ("loss",), (), 3)
    assert found.label == "each number of x meets every one of y in apart, as [B, 1] and [B] are broadcast"
    known = {"x": x, "y": y, "many": np.asarray(3.0)}
    loss = of.values({}, {q: 3}, known, ("loss",), found.ways["equations"])["loss"]
    assert np.allclose(loss, ((x[:, None] - y) ** 2).mean())
    assert not [*of_broadcast(of, {}, ("loss",), (), 1 << 20)]


def test_what_one_function_makes_is_changed_in_all_of_its_rows() -> None:
    def derived(given, use):  # type: ignore[no-untyped-def]
        one, two = block("one", (q,), "a", "one"), block("two", (q,), "b", "two")
        one[q], two[q] = (
            given["x"][q] * given["x"][q] / 2 + given["x"][q],
            given["y"][q] * given["y"][q] / 2 + given["y"][q],
        )
        both = block("both", (q,), "c", "both")
        both[q] = one[q] + two[q]
        return {"one": one, "two": two, "both": both}

    of = Definitions({}, labels(), {"x": (q,), "y": (q,)}, derived)
    stages = [each for stage in of_what_is_read(of, {}, "both", ()) for each in stage]
    (other,) = (
        each for each in stages if each.label == "another equation of one, two, alike in all: It is not divided by 2."
    )
    equations = of.under({})
    made = [text(equations.changed(row, change).definitions[0].expr) for row, change in other.ways["equations"].items()]
    assert made == ["x[q]·x[q] + x[q]", "y[q]·y[q] + y[q]"]


@pytest.mark.parametrize(
    ("kind", "run", "mistake", "says"),
    [
        ("grpo", "dapo", "line 75: grouped.mean(1, keepdims=True) -> grouped.mean(0, keepdims=True)",
         "group.mean is taken of each response to the prompt, not of each prompt"),
        ("grpo", "dr_grpo", "use['beta'] * to_reference -> use['beta'] + to_reference", "another equation of joined.kl"),
        ("grpo", "sequence", "line 99: 1 -> 2", "another equation of ratio.clipped"),
    ],
)  # fmt: skip
def test_a_mistake_of_several_rows_is_named(kind: str, run: str, mistake: str, says: str) -> None:
    at = next(at for at, said in enumerate(placed(KINDS[kind])) if mistake in said)
    trainer, _ = mutant(KINDS[kind], at)
    found = verified(KINDS[kind].files(f"trl_grpo/{run}"), trainer)
    assert says in found.causes[0].said
    assert found.causes[0].rest
    assert len(found.causes[0].same) < 5
