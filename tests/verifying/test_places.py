"""Where numbers of a row come from, if no equation explains them: found by their numbers, named only where every cell says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Array
from blueprint.verifying import Seen, StepVerdict, places_of, verify_step
from tests.hooks import dpo_formulas, trl_formulas
from tests.hooks.test_planted import dumped, second_pass, whole
from tests.hooks.trl_formulas import Written, read

ALLOWED = 1e-6
ROW = np.random.default_rng(5).normal(size=8)
GROUPS = np.arange(8) // 4
ORDERS = {
    "in reverse order": ROW[::-1],
    "of the response behind": np.roll(ROW, -1),
    "of the response before": np.roll(ROW, 1),
    "halves are swapped": np.roll(ROW, 4),
    "interleaved by 4": ROW.reshape(4, 2).T.ravel(),
    "of each group in reverse order": ROW.reshape(2, 4)[:, ::-1].ravel(),
    "next response of the group": np.roll(ROW.reshape(2, 4), -1, axis=1).ravel(),
    "other responses": ROW[[1, 0, 2, 3, 4, 7, 6, 5]],
}


def said(theirs: Array, ours: Array = ROW, **more: Array) -> list[str]:
    seen = Seen("advantages", np.asarray(theirs), ours, np.ones(ours.shape, bool), groups=GROUPS, **more)  # type: ignore[arg-type]
    return [place.said for place in places_of(seen, ALLOWED)]


@pytest.mark.parametrize("order", ORDERS)
def test_another_order_of_the_responses_is_named(order: str) -> None:
    found = said(ORDERS[order])
    assert any(order in each for each in found)


def test_one_cell_that_does_not_fit_is_enough_against_a_place() -> None:
    reverse = ROW[::-1].copy()
    reverse[3] += 1e-3
    assert not said(reverse)


def test_numbers_of_one_size_tell_no_order_from_another_sign() -> None:
    signs = np.array([1.0, -1.0] * 4)
    assert not said(-signs, signs)


def test_tokens_that_are_shifted_or_turned_around_are_found_within_the_response() -> None:
    tokens, cells = np.random.default_rng(6).normal(size=(8, 6)), np.ones((8, 6), bool)
    for theirs, what in ((np.roll(tokens, 1, axis=1), "earlier"), (np.roll(tokens, -1, axis=1), "later")):
        (found,) = places_of(Seen("ratio", theirs, tokens, cells), ALLOWED)
        assert what in found.said
    (found,) = places_of(Seen("ratio", tokens[:, ::-1], tokens, cells), ALLOWED)
    assert "from its last token to its first" in found.said


def test_rows_of_the_file_before_are_found_also_where_the_first_has_older_ones() -> None:
    every = np.random.default_rng(7).normal(size=24)
    stale = np.concatenate([np.full(8, 9.0) + ROW, every[:16]])
    for at in (0, 8, 16):
        assert said(stale[at : at + 8], every[at : at + 8], whole=every, logged=stale) == [
            "those of the file before (stale by one)"
        ]


def moved(files: list[Written], name: str, folder: Path, trainer: object) -> StepVerdict:
    """Verifies the files of a step in which a tensor stands in reverse order."""
    paths = dumped(files, trainer, folder)  # type: ignore[arg-type]
    for path, file in zip(paths, read(folder), strict=True):
        file._replace(tensors={**file.tensors, name: file.tensors[name][::-1].copy()}).save(path)
    return verify_step(paths)


@pytest.mark.parametrize(
    ("files", "name", "trainer"),
    [
        (second_pass("trl_grpo/grpo"), "advantages", trl_formulas.TRL),
        (whole("trl_dpo/sigmoid"), "chosen_rewards", dpo_formulas.TRL),
    ],
    ids=["grpo", "dpo"],
)
def test_a_tensor_in_reverse_order_is_said_of_every_file(
    files: list[Written], name: str, trainer: object, tmp_path: Path
) -> None:
    found = moved(files, name, tmp_path, trainer)
    assert found.causes[0].said == f"{name} that are those of the responses in reverse order, in {name} alone"
