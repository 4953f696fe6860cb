"""Minibatches of whole responses: each takes a step of its own, over its own tokens."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.kind import KindError
from tests.rows import Array, arrays

SHUFFLED = ("update.minibatches=2", "update.order=[[2,1],[1,2],[2,1],[1,2]]")
SHORT = ("update.epochs=1", "update.minibatches=2", "update.order=[[2,1]]")
STEPS = ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "4.1", "4.2"]


@cache
def built(*overrides: str) -> dict[str, Array]:
    """Returns the rows of the built-in numbers `epochs`."""
    return arrays(Book(blueprint_of(load("epochs", overrides))))


def of_step(rows: dict[str, Array], number: str) -> dict[str, Array]:
    """Returns the rows of a step, by the names that they have in the first one."""
    begins = "" if number == "1.1" else f"epoch{number}."
    return {name.removeprefix(begins): row for name, row in rows.items() if name.startswith(begins)}


def test_only_the_first_step_begins_at_the_old_policy() -> None:
    rows = built(*SHUFFLED)
    assert np.abs(rows["ratio"] - 1).max() == 0
    assert np.abs(rows["epoch1.2.ratio"] - 1).max() > 0.1
    assert list(rows["epochs.clip_fraction.ratio"][:2] > 0) == [False, True]


def test_an_epoch_takes_every_response_once_in_its_order() -> None:
    rows = built(*SHUFFLED)
    taken = [of_step(rows, number)["minibatch"].tolist() for number in STEPS]
    assert taken == [[0, 1], [1, 0], [1, 0], [0, 1]] * 2


def test_means_and_gradients_are_over_the_tokens_of_the_minibatch() -> None:
    rows, whole = built(*SHORT), built("update.epochs=1")
    for number, response in (("1.1", 1), ("1.2", 0)):
        step = of_step(rows, number)
        tokens = rows["mask"][response, 1:-1] == 1
        assert step["minibatch.words"] == tokens.sum() != whole["response.words"]
        assert step["policy_loss"] == pytest.approx(-step["surrogate"][response, tokens].mean(), abs=1e-15)
        assert step["value_loss"] == pytest.approx(step["value.word_loss"][response, tokens].mean(), abs=1e-15)
        assert np.array_equal(np.argwhere(step["surrogate.grad"])[:, 0], np.full(tokens.sum(), response))
        assert not step["policy.logprobs.grad"][1 - response].any()
        assert not step["critic.values.grad"][1 - response].any()
    # The rollout's advantages are made once, before the epochs.
    np.testing.assert_array_equal(rows["advantages_used"], whole["advantages_used"])


def test_steps_stand_side_by_side_and_token_by_token() -> None:
    rows = built(*SHUFFLED)
    for at, number in enumerate(STEPS):
        step = of_step(rows, number)
        np.testing.assert_array_equal(rows[f"tokens.ratio.{number}"], step["ratio"])
        np.testing.assert_array_equal(rows[f"tokens.policy.logprobs.grad.{number}"], step["policy.logprobs.grad"])
        far = [rows[f"epochs.ratio.{end}"][at] for end in ("smallest", "largest")]
        assert far == pytest.approx([step["ratio"].min(), step["ratio"].max()], rel=1e-15)
        shown = [rows[f"epochs.{name}"][at] for name in ("total_loss", "norm")]
        assert shown == [step["total_loss"], rows[f"update{number}.norm"]]
    assert rows["epochs.number.minibatch"].tolist() == [1, 2] * 4


def test_one_order_more_is_another_result() -> None:
    first = built(*SHORT)["update1.2.policy.W"]
    other = built("update.epochs=1", "update.minibatches=2", "update.order=[[1,2]]")["update1.2.policy.W"]
    assert np.abs(first - other).max() > 1e-3


def test_whitening_over_the_minibatch_where_a_library_does_so() -> None:
    for name, over in (("openai", "minibatch"), ("trlx", "minibatch"), ("verl", "batch")):
        assert blueprint_of(load("epochs", [*SHORT, f"preset={name}"])).facts["whiten"] == over
    rows = built(*SHORT, "update.whiten=minibatch")
    for number, response in (("1.1", 1), ("1.2", 0)):
        step = of_step(rows, number)
        tokens = rows["mask"][response, 1:-1] == 1
        used, raw = step["advantages_used"][response, tokens], rows["advantages"][response, :-1][tokens]
        assert used.mean() == pytest.approx(0, abs=1e-15)
        assert used.var(ddof=1) == pytest.approx(1, rel=1e-6)
        np.testing.assert_allclose(used, (raw - raw.mean()) / np.sqrt(raw.var(ddof=1) + 1e-8), rtol=1e-14)


def test_a_saved_file_says_its_minibatches(tmp_path: Path) -> None:
    path = tmp_path / "minibatches.xlsx"
    book = bp.build("epochs", set=dict(each.split("=") for each in SHORT))
    book.save(path)
    again = bp.open(path)
    assert again["epochs.total_loss"].equals(book["epochs.total_loss"])
    assert again["minibatch.place1"].to_numpy().ravel().tolist() == [2, 1]
    assert [sheet.title for sheet in again.blueprint.sheets] == [sheet.title for sheet in book.blueprint.sheets]


def test_a_place_that_is_typed_twice_fails_a_check() -> None:
    outline = blueprint_of(load("epochs", SHORT)).with_typed({"minibatch.place1": [1, 1]})
    rows = arrays(Book(outline))
    assert rows["check.order"] == 2
    assert rows["check.order.verdict"] == "LOOK"
    assert built(*SHORT)["check.order.verdict"] == "OK"


def test_three_minibatches_of_two_responses_take_all_six() -> None:
    update = {"by": "sgd", "epochs": 1, "minibatches": 3, "order": [[6, 1, 2, 5, 4, 3]]}
    rows = arrays(bp.build({"level": "weights", "sizes": {"episodes": 6, "max_new_tokens": 2}, "update": update}))
    taken = [of_step(rows, number)["minibatch"].nonzero()[0].tolist() for number in ("1.1", "1.2", "1.3")]
    assert taken == [[0, 5], [1, 4], [2, 3]]
    assert rows["minibatch.size"] == 2
    assert rows["check.order"] == 0


def test_gradients_of_libraries_are_none_of_a_minibatch() -> None:
    with pytest.raises(KindError, match="that of the whole batch, and these steps take minibatches; write"):
        blueprint_of(load("epochs", (*SHORT, "preset=verl", "gradients=on")))


def test_a_minibatch_without_a_token_has_no_loss_and_no_gradient() -> None:
    pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")
    from blueprint.workbooks.rlhf_ppo.paper import PAGE
    from tests.papers.held import TOLERANCE, held_against

    outline = blueprint_of(load("epochs", ["update.epochs=2", "update.minibatches=2", "update.order=[[2,1],[1,2]]"]))
    full = np.array([["the", "old", "dog", "is", *[""] * 5], ["the", "old", "dog", "is", *["very"] * 5]], dtype=object)
    outline = outline.with_typed({"given": full})
    rows = arrays(Book(outline))
    empty = [rows["response.length"][1], rows["policy_loss"], rows["value_loss"], rows["minibatch.words"] - 1]
    assert not np.any(empty)
    assert rows["update1.1.norm"] == 0
    np.testing.assert_array_equal(rows["update1.1.policy.W"], rows["policy.W"])
    assert rows["update1.2.norm"] > 0
    # The page's means of no token are 0/0, as in libraries; whatever has a number there agrees.
    off = held_against(Book(outline), PAGE.results, PAGE.masks)
    assert {name: far for name, far in off.items() if far > TOLERANCE} == {}
    assert sum(np.isnan(far) for far in off.values()) < 50 < 250 < len(off)
