"""A look at a few responses rules out what is wrong and never what is right: causes are the same without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.verifying import Try
from blueprint.verifying.settings import Setting
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.trial import MinibatchTrial
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import FILED as INPUTS

RESPONSES, SLOTS = 131, 12


def made() -> Minibatch:
    """Returns so many responses that a few of them are looked at first."""
    drawn = np.random.default_rng(5)
    mask = np.arange(SLOTS) < drawn.integers(1, SLOTS + 1, (RESPONSES, 1))
    tensors = {name: drawn.normal(size=mask.shape) for name in INPUTS} | {"scores": drawn.normal(size=RESPONSES)}
    slots, first = np.full(RESPONSES, SLOTS), np.zeros(RESPONSES, dtype=int)
    return Minibatch("made", {**tensors, "response_mask": mask}, dict.fromkeys(INPUTS, "float64"), {}, slots, first)


def logged_by(batch: Minibatch, settings: dict[str, Setting]) -> Minibatch:
    """Returns the batch with the rows of a run under the settings."""
    rows = replay(batch, settings).rows(range(RESPONSES))
    names = {"rewards": "rewards", "advantages": "advantages_used", "returns": "returns"}
    return replace(batch, tensors={**batch.tensors, **{name: rows[row][:, :SLOTS] for name, row in names.items()}})


CHANGES: list[tuple[str, dict[str, Setting]]] = [
    ("advantages", {"gamma": 0.99}),
    ("advantages", {"advantage.ddof": 0}),
    ("advantages", {"whiten_advantages": "keep_mean"}),
    ("rewards", {"reward.score_slot": "end"}),
    ("rewards", {"kl_estimator": "k3"}),
    ("rewards", {"reward.whiten": "on"}),
]


@pytest.mark.parametrize(("quantity", "changes"), CHANGES, ids=[str(each) for _, each in CHANGES])
def test_causes_are_the_same_with_a_look(
    quantity: str, changes: dict[str, Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = dict(rlhf().preset("trl_0.11.4").values)
    batch = logged_by(made(), settings | changes)
    whole = verify(batch, settings, "trl_0.11.4", whole=True)
    monkeypatch.setattr("blueprint.workbooks.rlhf_ppo.verifying.trial.SMALL", 0)
    looked = verify(batch, settings, "trl_0.11.4", whole=True)
    assert [each.said for each in looked.causes] == [each.said for each in whole.causes]
    assert looked.first is not None
    assert looked.first.compared.name == quantity
    assert any(f"{key} = {value}" in each.said for key, value in changes.items() for each in looked.causes)


def test_few_responses_are_gone_through_for_what_is_ruled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look is used: ruled out this way, most causes never go through the batch."""
    settings = dict(rlhf().preset("trl_0.11.4").values)
    batch = logged_by(made(), settings)
    advantages = np.array(batch.tensors["advantages"])
    advantages[3, 0] += 1
    wrong = replace(batch, tensors={**batch.tensors, "advantages": advantages})
    monkeypatch.setattr("blueprint.workbooks.rlhf_ppo.verifying.trial.SMALL", 0)
    allowed = list[bool]()
    allows = MinibatchTrial.allows

    def looked(trial: MinibatchTrial, each: Try, name: str) -> bool:
        allowed.append(allows(trial, each, name))
        return allowed[-1]

    monkeypatch.setattr(MinibatchTrial, "allows", looked)
    assert verify(wrong, settings, "trl_0.11.4", whole=True).causes == ()
    assert sum(allowed) < 0.1 * len(allowed)
