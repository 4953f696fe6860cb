"""Planted faults: the first tensor that went wrong is named, and what was done otherwise is among its causes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.inputs.catalogue import OFF
from blueprint.verifying import text_of
from blueprint.verifying.compare import NEEDS_OTHERS
from blueprint.verifying.logged import ALL
from blueprint.verifying.settings import MEANINGS
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.judge import cut
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.replayed import RESPONSES, minibatch, replayed
from tests.verifying.dumps import FIRST, dump, settings
from tests.verifying.planting import FAULTS, Fault, planted


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.library}: {fault.cause}")
def test_a_planted_fault_is_named(fault: Fault) -> None:
    verdict = verify(planted(fault), settings(FIRST[fault.library]), fault.library)
    assert verdict.first is not None
    assert verdict.first.compared.name == fault.quantity
    named = [each for each in verdict.causes if fault.cause in each.said]
    assert named, [each.said for each in verdict.causes]
    assert named[0].rest
    assert "It matches with " in text_of(verdict)


@pytest.mark.parametrize("fault", FAULTS[:6], ids=lambda fault: f"{fault.library}: {fault.cause}")
def test_float32_tells_as_much(fault: Fault) -> None:
    verdict = verify(planted(fault, "float32"), settings(FIRST[fault.library]), fault.library)
    assert verdict.first is not None
    assert verdict.first.compared.name == fault.quantity
    assert any(fault.cause in each.said for each in verdict.causes)


def test_every_meaning_is_of_a_value_that_may_stand_there() -> None:
    known = rlhf().settings
    for key, value in MEANINGS:
        assert key in known
        assert value in known[key].words or isinstance(value, int) or (value == "off" and known[key].high == OFF)


def test_every_planted_quantity_and_convention_is_one_that_is_known() -> None:
    assert {fault.quantity for fault in FAULTS} <= set(ALL)
    assert len(FAULTS) >= 15


def test_a_microbatch_whose_advantages_were_whitened_with_others_is_told_from_a_fault() -> None:
    """A hook inside the loop over microbatches saves some responses, with advantages whitened over all of them."""
    whole = minibatch("advantages")
    rows = replayed("trl_1.12", whole).rows(range(RESPONSES))
    logged = rows["advantages_used"].astype(np.float32)
    part = cut(replace(whole, tensors=dict(whole.tensors) | {"advantages": logged}, logged={}), slice(0, 5))
    verdict = verify(part, rlhf().preset("trl_1.12").values, "trl_1.12")
    moments = replayed("trl_1.12", whole).whole
    assert verdict.agrees
    assert [line.says for line in verdict.lines] == [NEEDS_OTHERS]
    line = verdict.left_open["advantages"]
    assert line is not None
    assert line.mean == pytest.approx(moments["advantage.mean"], abs=1e-5)
    assert 1 / line.slope == pytest.approx(moments["advantage.divisor"], rel=1e-5)
    known = verify(part, rlhf().preset("trl_1.12").values, "trl_1.12", whole=True)
    assert known.first is not None
    assert [each.beyond for each in known.causes] == [True]
    damaged = logged.copy()
    damaged[2, 0] += 0.01
    wrong = cut(replace(whole, tensors=dict(whole.tensors) | {"advantages": damaged}, logged={}), slice(0, 5))
    assert verify(wrong, rlhf().preset("trl_1.12").values, "trl_1.12").causes == ()


def test_all_numbers_that_are_means_of_microbatch_means_are_one_cause() -> None:
    """Advantages are those of the whole batch; the losses are means of the microbatches' own."""
    whole, values = minibatch("advantages"), rlhf().preset("verl").values
    advantages = replayed("verl", whole).rows(range(RESPONSES))["advantages_used"].astype(np.float32)
    logged = replace(whole, tensors=dict(whole.tensors) | {"advantages": advantages}, logged={})
    parts = [replay(cut(logged, slice(at, at + 4)), values, given=("advantages",)).whole for at in (0, 4, 8)]
    names = ("approx_kl.used", "policy_loss", "value_loss", "entropy")
    said = {name: float(np.mean([part[name] for part in parts])) for name in names}
    verdict = verify(replace(logged, logged=said), values, "verl")
    (cause,) = (each for each in verdict.causes if each.said == "microbatches of 4")
    assert cause.rest
    assert [line.says for line in verdict.lines if line.compared.name in names].count("DIFFERS") == 1
    damaged = said | {"value_loss": said["value_loss"] * 1.1}
    found = verify(replace(logged, logged=damaged), values, "verl")
    assert not any(each.rest for each in found.causes)


def test_one_damaged_number_is_found_where_it_stands() -> None:
    run = FIRST["openrlhf"]
    batch = dump(run)
    advantages = np.array(batch.tensors["advantages"])
    advantages[2, 1] += 0.01
    verdict = verify(replace(batch, tensors={**batch.tensors, "advantages": advantages}), settings(run), run.preset)
    assert verdict.first is not None
    found = verdict.first.compared
    assert found.name == "advantages"
    assert found.spot is not None
    assert (found.spot.row, found.spot.first, found.spot.last) == (2, 1 + 3, 1 + 3)  # slot 0 stands in column 3
    assert (found.deviating, found.spot.words) == (1, 1)
    assert found.spot.logged - found.spot.recomputed == pytest.approx(0.01)
    assert verdict.causes == ()
    assert "No single known convention explains it" in text_of(verdict)


def test_a_row_of_the_file_is_named_where_rows_were_left_out() -> None:
    run = FIRST["openrlhf"]
    batch = dump(run)
    returns = np.array(batch.tensors["returns"])
    returns[1, 0] += 1
    moved = replace(batch, tensors={**batch.tensors, "returns": returns}, rows=np.array([0, 5, 6, 9]))
    first = verify(moved, settings(run), run.preset).first
    assert first is not None
    assert first.compared.spot is not None
    assert (first.compared.spot.episode, first.compared.spot.row) == (1, 5)


def test_what_follows_is_told_from_what_is_wrong_by_itself() -> None:
    run = FIRST["trl_0.11.4"]
    batch = dump(run)
    wrong = replace(batch, logged={**batch.logged, "total_loss": batch.logged["total_loss"] + 0.5})
    rewards = np.array(batch.tensors["rewards"])
    rewards[0, 0] += 1
    wrong = replace(wrong, tensors={**wrong.tensors, "rewards": rewards})
    says = {line.compared.name: line.says for line in verify(wrong, settings(run), run.preset).lines}
    # The advantages were not made of the damaged reward, so that they differ from what it leads to.
    assert says["rewards"] == "DIFFERS"
    assert says["total_loss"] == "DIFFERS"
    assert says["policy_loss"] == "agrees"


@pytest.mark.parametrize("size", [1, 2])
def test_the_mean_of_microbatch_means_is_recognised(size: int) -> None:
    run = FIRST["trl_0.11.4"]
    batch = dump(run)
    parts = []
    for first in range(0, len(batch.slots), size):
        rows = slice(first, first + size)
        cut = replace(
            batch,
            tensors={name: each[rows] for name, each in batch.tensors.items()},
            slots=batch.slots[rows],
            first=batch.first[rows],
        )
        parts.append(replay(cut, settings(run), given=("advantages",)).whole["policy_loss"])
    wrong = replace(batch, logged={"policy_loss": float(np.mean(parts))})
    verdict = verify(wrong, settings(run), run.preset)
    assert verdict.first is not None
    assert verdict.first.compared.name == "policy_loss"
    assert any(each.said == f"microbatches of {size}" for each in verdict.causes)


@pytest.mark.parametrize(
    ("factor", "said"), [(-1.0, "the opposite sign"), (4.0, "multiplied by 4"), (0.25, "divided by 4")]
)
def test_a_loss_of_another_sign_or_multiplied_is_recognised(factor: float, said: str) -> None:
    run = FIRST["verl"]
    batch = dump(run)
    wrong = replace(batch, logged={"policy_loss": factor * batch.logged["policy_loss"]})
    assert any(said in each.said for each in verify(wrong, settings(run), run.preset).causes)


def test_no_coefficient_is_made_up_for_a_number_that_none_explains() -> None:
    run = FIRST["trl_0.11.4"]
    batch = dump(run)
    wrong = replace(batch, logged={"value_loss": 1.2345678 * batch.logged["value_loss"]})
    assert verify(wrong, settings(run), run.preset).causes == ()


def test_rows_logged_before_whitening_are_taken_for_that() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    raw = replay(batch, settings(run)).rows(range(4))["advantages"][:, :6]
    verdict = verify(replace(batch, tensors={**batch.tensors, "advantages": raw}), settings(run), run.preset)
    assert verdict.agrees
    line = next(each for each in verdict.lines if each.called == "advantages")
    assert line.compared.means == "before whitening"


def test_a_part_logged_times_its_coefficient_is_taken_for_that() -> None:
    run = FIRST["trl_1.12"]
    batch = dump(run)
    times = {"value_loss": 0.1 * batch.logged["value_loss"]}
    verdict = verify(replace(batch, logged={**batch.logged, **times}), settings(run), run.preset)
    assert verdict.agrees
    assert {line.called: line.compared.means for line in verdict.lines}["value_loss"] == "times its coefficient"
    wrong = replace(batch, logged={**batch.logged, **times, "total_loss": batch.logged["total_loss"] + 1})
    says = {line.called: line.says for line in verify(wrong, settings(run), run.preset).lines}
    assert says["value_loss"] == "agrees"
    assert says["total_loss"] == "DIFFERS"
