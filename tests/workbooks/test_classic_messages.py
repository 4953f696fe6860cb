"""Wrong numbers of classic PPO are refused in a sentence that says where, what was found, and what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.inputs.catalogue import OFF
from blueprint.inputs.errors import NumbersError

ROW = "[0, 0, 0, 0, 0, 0, 0, 0]"
LOGITS = "[[[1, 2, 3, 4], [1, 2, 3, 4]]]"

MESSAGES = [
    ("preset=clean", "preset clean: unknown, did you mean cleanrl?"),
    ("preset=ppo", "preset ppo: unknown, write one of default, cleanrl, sb3, torchrl, rlax."),
    ("rollout.done=[[0, 2], [0, 1]]", "rollout.done, row 1, item 2: found 2, expected 0 or 1."),
    ("rollout.done=[[0, true], [0, 1]]", "rollout.done, row 1, item 2: found true, expected a number."),
    (
        "rollout.done=[[0], [0]]",
        "rollout.done, row 1: found 1 number, expected 8, one per step, as rollout.actions has.",
    ),
    (
        f"rollout.rewards=[{ROW}]",
        "rollout.rewards: found 1 row, expected 2, one per environment, as rollout.actions has.",
    ),
    (
        f"rollout.rewards=[{ROW}, [0]]",
        "rollout.rewards, row 2: found 1 number, expected 8, one per step, as rollout.actions has.",
    ),
    (
        "rollout.actions=[[1, 1, 3, 3, 0, 0, 0, 0], [1, 3]]",
        "rollout.actions, row 2: found 2 numbers, expected 8, one per step, as rollout.actions has.",
    ),
    (
        f"rollout.actions=[{ROW}, [0, 0, 4, 0, 0, 0, 0, 0]]",
        "rollout.actions, row 2, item 3: found 4, expected 0 to 3, as there are 4 actions.",
    ),
    (
        f"rollout.actions=[{ROW}, [0, 0, -1, 0, 0, 0, 0, 0]]",
        "rollout.actions, row 2, item 3: found -1, expected 0 to 3, as there are 4 actions.",
    ),
    ("rollout.actions=[[0.5]]", "rollout.actions, row 1, item 1: found 0.5, expected a whole number."),
    ("rollout.actions=[]", "rollout.actions: found 0 environments, expected 1 to 64."),
    ("rollout.actions=[[]]", "rollout.actions, row 1: found 0 steps, expected 1 to 500."),
    (
        "rollout.next_values=[1]",
        "rollout.next_values: found 1 number, expected 2, one per environment, as rollout.actions has.",
    ),
    (
        f"rollout.logits_old={LOGITS}",
        "rollout.logits_old: found 1 row, expected 2, one per environment, as rollout.actions has.",
    ),
    (
        f"rollout.terminated=[[1, 0, 0, 0, 0, 0, 0, 0], {ROW}]",
        "rollout.terminated, row 1, item 1: found 1, expected 0, because the episode is not done there.",
    ),
    ("rollout.value=[1]", "rollout.value: unknown key, did you mean rollout.values_old?"),
    ("rollout={}", "rollout.actions: found nothing, expected a value, as nothing is drawn at this level."),
    ("ppo.gamma=1.5", "ppo.gamma: found 1.5, expected a number from 0 to 1."),
    ("ppo.bootstrap=never", 'ppo.bootstrap: found "never", expected "done" or "terminated".'),
    ("ppo.value_norm=l1", 'ppo.value_norm: found "l1", expected "l2" or "smooth_l1".'),
    ("ppo.kl_coef=1", "ppo.kl_coef: unknown key, did you mean ppo.vf_coef?"),
]


@pytest.mark.parametrize(("override", "sentence"), MESSAGES)
def test_what_is_refused(override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load("classic", [override])
    assert str(refused.value) == sentence


def test_every_step_has_a_score_per_action(tmp_path: Path) -> None:
    lines = ['level = "classic"', "[rollout]", "actions = [[0, 1]]", "rewards = [[1, 2]]", "done = [[0, 1]]"]
    lines += ["values_old = [[0, 0]]", "values_new = [[0, 0]]", "next_values = [0]"]
    lines += ["logits_old = [[[1, 2], [1, 2]]]", "logits_new = [[[1, 2], [1, 2, 3]]]"]
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(NumbersError) as refused:
        load(path)
    assert (
        str(refused.value)
        == "rollout.logits_new, row 1, item 2: found 3 numbers, expected 2, one per action, as rollout.logits_old has."
    )
    path.write_text(path.read_text(encoding="utf-8").replace("[[1, 2], [1, 2]]", "[[1], [1]]"), encoding="utf-8")
    with pytest.raises(NumbersError) as refused:
        load(path)
    assert str(refused.value) == "rollout.logits_old, row 1, item 1: found 1 action, expected 2 to 64."


def test_off_is_a_limit_that_limits_nothing() -> None:
    assert load("classic", ["ppo.value_clip_range=off"]).ppo == {"value_clip_range": OFF}
