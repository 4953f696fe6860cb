"""A file that is a part of a larger batch is computed with the mean and deviation that were fitted to it: its own numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.verifying.settings import laid_over
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying import as_part, numbers_of
from blueprint.workbooks.rlhf_ppo.verifying.judge import cut
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from blueprint.workbooks.rlhf_ppo.verifying.window import worst_window
from tests.replayed import RESPONSES, SLOTS, minibatch, replayed, values_of

FORMS = ("rsqrt_var_plus", "clamp", "std_plus", "std_max")


def part(changes: dict[str, float | str]) -> tuple[Minibatch, dict[str, float | str]]:
    """Returns five responses of a batch of twelve, whitened with all twelve, and the settings of the run."""
    settings = laid_over(rlhf().preset("verl").values, changes)
    rows = replayed("verl", minibatch("advantages"), **{key.replace(".", "_"): each for key, each in changes.items()})
    found = rows.rows(range(RESPONSES))
    logged = {
        "rewards": found["rewards"],
        "advantages": found["advantages_used"][:, :SLOTS],
        "returns": found["returns"][:, :SLOTS],
    }
    whole = minibatch(**logged)
    return replace(cut(whole, slice(2, 7)), logged={}), settings


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ddof", [0, 1])
def test_what_was_fitted_makes_the_files_own_numbers(form: str, ddof: int) -> None:
    batch, settings = part({"advantage.eps_form": form, "advantage.ddof": ddof, "whiten_eps": 1e-3})
    alone = verify(batch, settings, "verl")
    assert set(alone.left_open) == {"advantages"}
    again = verify(as_part(alone), settings, "verl")
    assert again.agrees
    assert {line.says for line in again.lines} == {"agrees"}
    assert not again.left_open


def test_rewards_that_were_whitened_with_a_larger_batch_too() -> None:
    batch, settings = part({"reward.whiten": "on"})
    alone = verify(batch, settings, "verl", whole=False)
    assert "rewards" in alone.left_open
    again = verify(as_part(alone), settings, "verl")
    assert next(line for line in again.lines if line.compared.name == "rewards").says == "agrees"


def test_a_workbook_of_it_shows_the_librarys_advantages() -> None:
    batch, settings = part({})
    verdict = verify(as_part(verify(batch, settings, "verl")), settings, "verl")
    window = worst_window(verdict.replayed, 2, "ratio", 16)
    shown = values_of(numbers_of(verdict.replayed, window, "run", "verl", verdict))
    at = np.arange(16)[None, :] + np.asarray(window.first)[:, None]
    theirs = np.take_along_axis(batch.tensors["advantages"][list(window.episodes)].astype(float), at, axis=1)
    mask = shown["mask"] > 0
    assert np.allclose(shown["advantages_used"][mask], theirs[mask], rtol=0, atol=1e-6)


def test_a_verdict_that_leaves_nothing_open_keeps_the_minibatch_as_it_is() -> None:
    whole = minibatch("advantages")
    verdict = verify(whole, rlhf().preset("verl").values, "verl", explain=False)
    assert as_part(verdict).moments == whole.moments
