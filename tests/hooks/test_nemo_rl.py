"""NeMo-RL writes its steps itself, as JSON lines: what its own code computed of the recorded batch, as it would write it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.verifying import StepVerdict, verify_step
from tests.hooks.page import PAGE
from tests.workbooks.grpo.recorded import batch, recorded_file

PROMPTS = recorded_file("critic_free_runs.json")["batch"]["prompts"]
NEMO = "nemo_rl_7ea279a"


def recorded(variant: str) -> Any:
    return np.array(recorded_file("critic_free_runs.json")["runs"][NEMO]["variants"][variant]["out"]["advantages"])


def behind_prompt(rows: Any) -> list[list[float]]:
    """Sets numbers of responses behind those of a prompt, which has none, as NeMo-RL's of whole sequences stand."""
    return [[0.0] * len(prompt) + list(map(float, row)) for prompt, row in zip(PROMPTS, rows, strict=True)]


def lines(advantages: Any) -> list[dict[str, Any]]:
    """Returns what grpo.py logs (lines 3632 to 3654), a response per line, each value in a list of one: logger.py cuts the batch
    into microbatches of one response."""
    of = batch()
    whole = advantages * of.mask if advantages.ndim == 2 else advantages[:, None] * of.mask
    columns = {
        "content": [f"response {number}" for number in range(len(PROMPTS))],
        "rewards": of.rewards.tolist(),
        "input_lengths": [len(prompt) + int(count) for prompt, count in zip(PROMPTS, of.mask.sum(1), strict=True)],
        "token_ids": [[*prompt, *row] for prompt, row in zip(PROMPTS, of.tokens.tolist(), strict=True)],
        "token_loss_mask": behind_prompt(of.mask), "sample_loss_mask": [1.0] * len(PROMPTS), "advantages": behind_prompt(whole),
        "generation_logprobs": behind_prompt(of.logprobs("rollout") * of.mask),
        "prev_logprobs": behind_prompt(of.logprobs("old") * of.mask),
    }  # fmt: skip
    return [{**{name: [each[row]] for name, each in columns.items()}, "idx": row} for row in range(len(PROMPTS))]


def verified(advantages: Any, folder: Path) -> StepVerdict:
    """Verifies such a file behind the line that docs/dump-hooks.md says.

    Of the recorded batch the engine is another policy by far, which the file has to say.
    """
    first = json.loads(re.findall(r"'1i (\{.*\})' train_data_step", PAGE.read_text(encoding="utf-8"))[0])
    path = folder / "train_data_step1.jsonl"
    told = {"metadata": first["metadata"] | {"logprobs_rollout_from": "older"}}
    written = [told, *lines(advantages)]
    path.write_text("\n".join(map(json.dumps, written)), encoding="utf-8")
    return verify_step([path])


def test_its_own_file_is_a_step_of_grpo_whose_groups_are_found(tmp_path: Path) -> None:
    found = verified(recorded("grpo_default"), tmp_path)
    assert found.agrees
    (part,) = found.parts
    assert part.verdict.replayed.batch.kind == "grpo"
    assert [line.name for line in found.lines if line.line.says == "agrees"] == ["advantages"]


@pytest.mark.parametrize(
    ("variant", "cause"),
    [
        ("grpo_no_leave_one_out", "the conventions of nemo_rl_dapo"),
        ("rloo_no_normalize", "group.std = none"),
        ("dr_grpo_like", "the conventions of trl_dr_grpo"),
    ],
)
def test_what_another_configuration_does_is_named(variant: str, cause: str, tmp_path: Path) -> None:
    found = verified(recorded(variant), tmp_path)
    assert found.first is not None
    assert any(cause in each.said for each in found.causes), [each.said for each in found.causes]
