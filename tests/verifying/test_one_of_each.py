"""A step of one response of one token: it is verified, and nothing that is counted once stands in the plural."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import MinibatchError, read_dump
from blueprint.verifying import VerifyOptions, text_of_step, verify_step
from tests.dumps.batches import raw_npz

TOKEN, MASK = np.full((1, 1), -1.0), np.ones((1, 1), bool)
PPO = {
    "logprobs_old": TOKEN, "logprobs_new": TOKEN - 0.1, "logprobs_ref": TOKEN, "values_old": -TOKEN, "values_new": -TOKEN,
    "scores": np.ones(1), "rewards": -TOKEN, "advantages": -TOKEN, "returns": -TOKEN, "response_mask": MASK, "entropy": -TOKEN,
}  # fmt: skip
OF_PAIRS = {"logprobs": np.full((2, 1), -1.0), "logprobs_ref": np.full((2, 1), -1.0), "mask": np.ones((2, 1), bool)}
STEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ppo": (PPO, {"preset": "verl", "optimizer_step": 0, "logged": {"policy_loss": 0.5}}),
    "grpo": (PPO | {"group": np.zeros(1, int)}, {"algorithm": "grpo", "preset": "trl_grpo", "logged": {"policy_loss": 0.5}}),
    "dpo": (OF_PAIRS, {"algorithm": "dpo", "preset": "dpo_original", "logged": {"loss": 0.5}}),
    "sft": ({"logprobs": TOKEN, "mask": MASK}, {"algorithm": "sft", "preset": "default", "logged": {"loss": 0.5}}),
    "empty beside it": (
        {name: np.concatenate([each, each]) for name, each in PPO.items()} | {"response_mask": np.array([[True], [False]])},
        {"preset": "verl", "logged": {"policy_loss": 0.5}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_what_is_counted_once_is_said_in_the_singular(tmp_path: Path, name: str) -> None:
    tensors, said = STEPS[name]
    path = raw_npz(tmp_path, tensors, json.dumps({"layout": "response", **said}))
    text = text_of_step(verify_step([path], VerifyOptions(causes=False)))
    assert not re.findall(r"(?<![\d.])1 (?:of 1 )?(?:tokens|responses|rows|pairs|texts|files|groups|prompts)\b", text)
    assert not re.findall(r"\b1 of \d+ \w+ (?:are|differ|have)\b", text)


@pytest.mark.parametrize(
    ("tensors", "said", "sentence"),
    [
        ({"response_mask": ~MASK}, {}, "the one response is empty: the mask is 0 throughout"),
        (
            {"group": np.zeros(1, int), "rewards_per_func": np.ones((1, 2))}, {"hyperparameters": {"reward_weights": [1]}},
            "reward_weights: found 1 weight, expected 2, one for each column of rewards_per_func.",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_is_counted_so(
    tmp_path: Path, tensors: dict[str, Any], said: dict[str, Any], sentence: str
) -> None:
    without = {name: each for name, each in PPO.items() if name != "scores"}
    with pytest.raises(MinibatchError, match=re.escape(sentence)):
        read_dump(raw_npz(tmp_path, without | tensors, json.dumps({"algorithm": "grpo", "layout": "response", **said})))
