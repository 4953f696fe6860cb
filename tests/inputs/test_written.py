"""A written numbers file: it gives the same numbers back, and holds every key, each with its comment."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.inputs import Numbers, load, names, toml_of
from blueprint.inputs.load import level_named
from blueprint.inputs.toml_file import spelled
from blueprint.inputs.write import level_schema
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.registry import level_of
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.inputs.equal import differing

BUILT_IN = [name for name, _ in names()]
WEIGHTS = [
    ["seed=7", "sizes.hidden=7", "sizes.vocabulary=30", "sizes.episodes=5", "sizes.max_new_tokens=9"],
    ["preset=verl", "compare=openai,verl", "ppo.clip_range=0.3", "loss.dual_clip=off"],
    ["conventions=live", "advantage.ddof=0", "ppo.whiten_eps=1e-12"],
    ["sizes.prompt=1", "sizes.max_new_tokens=1", "sizes.episodes=1", "sizes.hidden=1", "sizes.embedding=1"],
    ["old_critic.b=-0.0", "critic.delta_b=1e-300", "reward_model.b=123456789012345"],
    ['rollout.responses=["happy", "very very <eos>"]', "title='a \"quoted\" \\\\ title'"],
    ['rollout.responses=[["", "very"], ""]', "about="],
    ['text.vocabulary=["</s>", "ä", "雪", "a\\u0022b"]', 'text.prompts=["ä 雪", "雪"]'],
]
OTHERS = {
    "classic": [["preset=sb3", "ppo.gamma=1"], ["ppo.value_clip_range=off", "rollout.next_values=[1e-7, 2]"]],
    "kl-controller": [["controller.horizon=50", "controller.kl_stat=token_mean"]],
    "reinforce": [["reinforce.baseline=typed", "reward.scores=[1e-7, 0, 2, -1]"]],
    "optimum": [["optimum.beta=5", "reward.scores=[[1e-7, 0, 2], [1, 2, 3], [0, 0, -1]]"]],
    "value-iteration": [["value_iteration.gamma=0.5", 'grid.map=[["S", "#"], [".", "G"]]', "grid.sweeps=2"]],
    "q-learning-path": [["q_learning.exploration=softmax", "q_learning.tau=0.2", "grid.episodes=2"]],
    "bandit": [["bandit.strategy=softmax", "arms.means=[1, 2, 3, 4.5]", "sweep.temperatures=[0.5, 2]"]],
    "kto": [
        [
            "kto.loss_type=apo_zero_unpaired",
            "policy.logprobs=[[-1e-7], [-1, -2], [], [0], [-700]]",
            "reference.logprobs=[[-1], [-1, -2], [], [-2], [-1]]",
        ]
    ],
    "advantage": [["advantage.gamma=0.9", "sweep.lambdas=[0, 0.1, 0.2, 1]"]],
    "frontier": [["frontier.beta=5", "proxy.each=[1e-7, 0, 2, 0]", "sweep.draws=[1, 2, 3]"]],
    "ten-libraries": [["text.episodes=[3,1]"], ["preset=trl_1.12", "metrics.kl=k2"], ["text.end_word=happy"]],
    "very-very-sleepy": [["ppo.gamma=0.25"], ['per_token.words=[["two words", "b", "c"]]']],
}
CASES = [
    *((name, []) for name in BUILT_IN),
    *(("default", each) for each in WEIGHTS),
    *((name, each) for name, several in OTHERS.items() for each in several),
]


def again(numbers: Numbers, folder: Path) -> Numbers:
    """Writes numbers and loads them; the file has the name of the numbers, from which they take theirs."""
    path = folder / f"{numbers.name}.toml"
    path.write_text(toml_of(numbers), encoding="utf-8")
    return load(path)


@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_a_written_file_gives_the_same_numbers_and_the_same_text(
    tmp_path: Path, name: str, overrides: list[str]
) -> None:
    loaded_by_name = load(name, overrides)
    numbers = replace(loaded_by_name, name=name.rpartition("/")[2])  # built-in ones may lie in a folder
    loaded = again(numbers, tmp_path)
    assert differing(numbers, loaded) == []
    assert toml_of(loaded) == toml_of(numbers)


FLOATS = st.floats(-9e307, 9e307)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(FLOATS, min_size=4, max_size=4),
    st.floats(0, 1),
    st.tuples(*(st.integers(low, high) for low, high in ((2, 12), (1, 5), (1, 6), (1, 3), (1, 5), (1, 6)))),
)
def test_random_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int, w: list[float], gamma: float, sizes: tuple[int, ...]
) -> None:
    of_sizes = [f"sizes.{key}={size}" for key, size in zip(SIZES, sizes, strict=True)]
    for overrides in ([f"old_critic.w={w}"], of_sizes):
        numbers = load("default", [f"seed={seed}", f"ppo.gamma={gamma}", *overrides])
        assert differing(numbers, again(numbers, tmp_path_factory.mktemp("again"))) == []


SIZES = ("vocabulary", "embedding", "hidden", "episodes", "prompt", "max_new_tokens")


def test_draws_of_every_column_are_kept_where_the_seed_does_not_give_them(tmp_path: Path) -> None:
    """Somebody may type another draw where none is used, and shorten the prompt later."""
    numbers = load()
    assert isinstance(numbers, WeightNumbers)
    draws = numbers.draws.copy()
    draws[1, 0] = 0.5
    changed = replace(numbers, draws=draws)
    assert differing(changed, again(changed, tmp_path)) == []
    assert np.shape(tomllib.loads(toml_of(changed))["rollout"]["draws"]) == (2, 8)
    assert np.shape(tomllib.loads(toml_of(numbers))["rollout"]["draws"]) == (2, 4)


def test_an_emptied_draw_that_draws_nothing_is_no_obstacle(tmp_path: Path) -> None:
    numbers = load()
    assert isinstance(numbers, WeightNumbers)
    draws = numbers.draws.copy()
    draws[1, 0] = 0.0
    assert differing(numbers, again(replace(numbers, draws=draws), tmp_path)) == []


UNGIVEN = {
    "by-hand-grpo": {"reference.logprobs", "engine.logprobs", "policy.entropy"},
    "by-hand-dpo": {f"{table}.{side}" for table in ("mismatched", "rewards") for side in ("chosen", "rejected")},
}
"""What built-in numbers lack, at levels where something is missing rather than drawn."""


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("preset", [(), ("preset=default",)])
def test_every_key_of_the_level_stands_there_once(name: str, preset: tuple[str, ...]) -> None:
    numbers = load(name, preset if "preset" in level_of(load(name)).keys else ())
    text = toml_of(numbers)
    level = tomllib.loads(text)["level"]
    live = level == "logits" or (level == "weights" and bool(preset))
    found = _keys(text)
    assert len(found) == len(set(found))
    expected = {key for key in _of_schema(level) if live or level != "weights" or not _is_convention(key)}
    expected -= UNGIVEN.get(name, set())
    # What an optimiser steps from has no Δ, which a file may not give then.
    assert set(found) == {key for key in expected if name not in ("epochs", "pipeline/ppo") or ".delta_" not in key}


def _keys(text: str) -> list[str]:
    """Lists every key that a text has, behind a # or not."""
    table, found = "", []
    for line in text.splitlines():
        head = line.removeprefix("# ")
        if head.startswith("[") and "]" in head.split()[0]:
            table = head[1 : head.index("]")] + "."
        elif " = " in head and head.split(" = ")[0].isidentifier():
            found.append(table + head.split(" = ")[0])
    return found


def _of_schema(level: str) -> list[str]:
    tables = level_schema(level)["properties"].items()
    return [f"{name}.{key}" if key else name for name, node in tables for key in node.get("properties", [""])]


def _is_convention(key: str) -> bool:
    return key in level_named("weights").by_dotted_key and not key.startswith("ppo.")


@pytest.mark.parametrize(("overrides", "preset"), [([], "default"), (["preset=trl_1.12"], "trl_1.12")])
def test_left_out_settings_are_shown_as_the_preset_has_them(tmp_path: Path, overrides: list[str], preset: str) -> None:
    """Taking the # away from all of them changes nothing but who says it."""
    text = toml_of(load("default", overrides))
    assert isinstance(before := load("default", overrides), WeightNumbers)
    assert before.ppo == {}
    names = {key.rpartition(".")[2] for key in level_named("weights").by_dotted_key}
    lines = [line.removeprefix("# ") if line.split(" = ")[0][2:] in names else line for line in text.splitlines()]
    (tmp_path / "mine.toml").write_text("\n".join(lines), encoding="utf-8")
    after = load(tmp_path / "mine.toml")
    assert isinstance(after, WeightNumbers)
    expected = rlhf().preset(preset).values
    assert after.ppo == {key: value for key, value in expected.items() if overrides or "." not in key}


def test_what_settings_mean_is_told_beside_them() -> None:
    text = toml_of(load())
    assert "# gamma = 0.9                   # γ: discount of later rewards (RLHF: often 1); 0 to 1\n" in text


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_a_written_file_can_be_read_by_people(name: str) -> None:
    text = toml_of(load(name))
    assert len(text) < 40_000
    assert max(map(len, text.splitlines())) <= 140


def test_many_whole_numbers_are_told_by_their_bounds() -> None:
    assert "tokens that cost nothing; a whole number from 0 to 100000" in toml_of(load("grpo"))
    assert "0 or 1" in toml_of(load("ten-libraries"))


def test_rows_and_columns_are_explained_and_aligned() -> None:
    lines = toml_of(load()).splitlines()
    start = lines.index("E = [                           # a row per token, a column per number of x")
    assert lines[start + 1 : start + 4] == [
        "    [ 0.7,  1.0, -0.4],  # <eos>",
        "    [-1.2,  0.0, -0.7],  # the",
        "    [-0.4, -0.2, -0.3],  # old",
    ]


def test_what_has_no_point_gets_no_zeros_behind_it() -> None:
    assert spelled([[1, 0.25], [float("inf"), -3.0]]) == ["[", "    [    1,  0.25],", "    [  inf, -3.00],", "]"]


def test_the_first_line_points_to_the_schema() -> None:
    assert toml_of(load(), schema="../x.json").startswith("#:schema ../x.json\n")
