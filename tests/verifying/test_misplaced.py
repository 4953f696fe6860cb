"""PPO's verify says where a tensor or a number is from, if it stands, or was read, in another place; of what is nowhere, nothing.

Settings and equations, which are tried before places, are left out in most rows: what they explain, other tests ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Array
from blueprint.verifying import StepVerdict, Try, text_of_step, verify_step
from blueprint.workbooks.rlhf_ppo.verifying import verify
from blueprint.workbooks.rlhf_ppo.verifying.misplaced import of_places
from blueprint.workbooks.rlhf_ppo.verifying.trial import MinibatchTrial
from tests.verifying.misplaced import Planted, drawn, logged, signal, table, written

REVERSED, BEFORE, BEHIND = "in reverse order", "those of the response before", "those of the response behind"
STALE, OF_FILE_BEHIND, EPOCH = (
    "of the file before (stale by one)",
    "of the file behind",
    "in the pass before (stale by an epoch)",
)
PART = "of the file before (stale by one) in some rows alone (such as row"
NAMED = {
    "rewards written: rows reversed": ("rewards", REVERSED),
    "rewards used: row before": ("rewards", BEFORE),
    "rewards written: two rows exchanged": ("rewards", "two rows that are exchanged (such as row 1"),
    "advantages written: file before": ("advantages", STALE),
    "advantages used: halves swapped": ("advantages", "halves are swapped"),
    "advantages used: one file stale": ("advantages", f"{STALE} in that file alone"),
    "advantages written: half of each file stale": ("advantages", PART),
    "advantages written: returns": ("advantages", "the numbers of returns"),
    "advantages written: rollout reversed": ("advantages", "row 0 of 0_0.npz has what belongs to row 7 of 0_1.npz"),
    "returns written: pairs taken apart": ("returns", "taken apart by 2"),
    "returns written: within pairs": ("returns", "the other row of each pair"),
    "returns written: column behind in one row": ("returns", "one token later in some rows alone (such as row 3 of 0_0.npz)"),
    "returns written: one row stale": ("returns", PART),
    "scores read: file behind": ("rewards", f"scores that are those {OF_FILE_BEHIND}"),
    "values_old read: file before": ("advantages", f"values_old that are those {STALE}"),
    "values_old read: row behind": ("advantages", f"values_old that are {BEHIND}"),
    "logprobs_old read: one row stale": ("rewards", f"logprobs_old that are those {PART}"),
    "logprobs_old read: two rows exchanged": ("rewards", "logprobs_old that are those of two rows that are exchanged"),
    "logprobs_ref read: column before in one row": ("rewards", "shifted by one column to the right) in some rows alone"),
    "logprobs_new read: epoch before": ("approx_kl.used", f"logprobs_new that are those of the same responses {EPOCH}"),
    "values_new read: rows reversed": ("value_loss", f"values_new that are those of the responses {REVERSED}"),
    "entropy read: file before": ("entropy", f"entropy that are those {STALE}"),
    "loss/policy: file behind": ("policy_loss", f"policy_loss that is that {OF_FILE_BEHIND}"),
    "loss/total: epoch before": ("total_loss", "total_loss that is that of the file 2 before"),
    "all numbers: file before": ("approx_kl.used", f"all logged numbers that are those {STALE}"),
}  # fmt: skip
"""By what is planted, what deviates first, and what is said of it."""
NOT_NAMED = {
    "policy/clipfrac: file before": "a share of some tokens is that of another file by chance",
    "values_new read: one row stale": "one number a file does not tell which row of it",
}
AMONG_ALL = {
    "values_old read: halves swapped": ("advantages", "halves are swapped"),
    "rewards used: rollout shifted by one": ("rewards", "of the row before"),
    "loss/policy: loss/value": ("policy_loss", "value_loss"),
}
"""The same where settings and equations are tried first."""


@pytest.fixture
def places_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def stages(trial: MinibatchTrial, name: str, *_: object) -> Iterator[list[Try]]:
        yield list(of_places(trial, name))

    monkeypatch.setattr(verify, "stages", stages)


def said(verdict: StepVerdict) -> tuple[str, str]:
    """Returns what deviates first, and what is said first of it."""
    assert verdict.first is not None
    return verdict.first.name, verdict.causes[0].said if verdict.causes else ""


@pytest.mark.usefixtures("places_alone")
@pytest.mark.parametrize("planted", NAMED)
def test_it_is_said_where_a_tensor_or_a_number_is_from(planted: str, tmp_path: Path) -> None:
    quantity, place = NAMED[planted]
    name, cause = said(table()[planted].verified(tmp_path))
    assert (name, place in cause) == (quantity, True), cause


@pytest.mark.usefixtures("places_alone")
@pytest.mark.parametrize("planted", NOT_NAMED)
def test_what_too_few_digits_tell_is_not_said(planted: str, tmp_path: Path) -> None:
    assert not table()[planted].verified(tmp_path).causes, NOT_NAMED[planted]


@pytest.mark.parametrize("planted", AMONG_ALL)
def test_places_are_named_after_settings_and_equations(planted: str, tmp_path: Path) -> None:
    quantity, place = AMONG_ALL[planted]
    name, cause = said(table()[planted].verified(tmp_path))
    assert (name, place in cause) == (quantity, True), cause


@pytest.mark.usefixtures("places_alone")
@pytest.mark.parametrize(
    ("planted", "tried_on"),
    [("values_old read: file before", 2), ("scores read: file behind", 2), ("all numbers: file before", 3)],
)
def test_of_a_file_without_that_neighbour_nothing_is_said(planted: str, tried_on: int, tmp_path: Path) -> None:
    """Whether everything else agrees in the first or last of four, and in what was whitened with it, is not known."""
    found = text_of_step(table()[planted].verified(tmp_path))
    assert (
        f"it was tried on {tried_on} of the files that deviate, and everything else in them agrees then, too." in found
    )
    assert "in all 4 files" not in found


def noise(each: Array) -> Array:
    return each + 0.1 * np.random.default_rng(3).normal(size=each.shape)


def noise_in_a_row(each: Array) -> Array:
    found = each.copy()
    found[:, :, 2] = noise(each)[:, :, 2]
    return found


@pytest.mark.usefixtures("places_alone")
@pytest.mark.parametrize("move", [noise, noise_in_a_row])
@pytest.mark.parametrize("name", ["rewards", "advantages", "scores"])
def test_numbers_that_are_nowhere_are_in_no_place(name: str, move: object, tmp_path: Path) -> None:
    how = "read" if name == "scores" else "written"
    assert not Planted(name, how, move).verified(tmp_path).causes  # type: ignore[arg-type]


def test_a_step_in_which_all_is_in_its_place_agrees(tmp_path: Path) -> None:
    step = drawn()
    step |= signal(step)
    assert verify_step(written(step | logged(step), tmp_path)).agrees
