"""The JSON Schema of numbers files: it takes what the loader takes, and refuses what an editor should mark."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from blueprint.inputs import OFF, NumbersError, Setting, load, names, read, schema_of, toml_of
from blueprint.inputs.load import level_named
from blueprint.inputs.overrides import overridden
from blueprint.inputs.write import level_schema
from blueprint.workbooks.rlhf_ppo.draw import LIMITS
from tests.inputs.test_written import CASES

SCHEMA = schema_of()
CHECKER = Draft202012Validator(SCHEMA)
BUILT_IN = [name for name, _ in names()]

# (file, what is laid over it, where the schema's complaint is)
WRONG = [
    ("default", {"level": "wights"}, "level"),
    ("default", {"sise": 3}, ""),
    ("default", {"seed": -1}, "seed"),
    ("default", {"seed": 1.5}, "seed"),
    ("default", {"title": 3}, "title"),
    ("default", {"title": "x" * 101}, "title"),
    ("default", {"sizes": {"hidden": 33}}, "sizes.hidden"),
    ("default", {"sizes": {"hiden": 3}}, "sizes"),
    ("default", {"text": {"vocabulary": ["a", "b c"]}}, "text.vocabulary.1"),
    ("default", {"text": {"vocabulary": ["a", ""]}}, "text.vocabulary.1"),
    ("default", {"text": {"prompts": [""]}}, "text.prompts.0"),
    ("default", {"rollout": {"draws": [[0.5, 1.0]]}}, "rollout.draws.0.1"),
    ("default", {"rollout": {"responses": [3, "very"]}}, "rollout.responses.0"),
    ("default", {"ppo": {"gamma": 1.5}}, "ppo.gamma"),
    ("default", {"ppo": {"gamma": "0.5"}}, "ppo.gamma"),
    ("default", {"ppo": {"gamma": True}}, "ppo.gamma"),
    ("default", {"ppo": {"gama": 0.5}}, "ppo"),
    ("default", {"ppo": {"kl_estimator": "k4"}}, "ppo.kl_estimator"),
    ("default", {"ppo": {"clip_range": "of"}}, "ppo.clip_range"),
    ("default", {"loss": {"dual_clip": 0.5}}, "loss.dual_clip"),
    ("default", {"advantage": {"ddof": 0.5}}, "advantage.ddof"),
    ("default", {"preset": "verll"}, "preset"),
    ("grpo", {"reward": {"free_tokens": 2.5}}, "reward.free_tokens"),
    ("grpo", {"reward": {"free_tokens": 100_001}}, "reward.free_tokens"),
    ("grpo", {"reward": {"max_tokens": -1}}, "reward.max_tokens"),
    ("default", {"compare": ["verll"]}, "compare"),
    ("default", {"conventions": "lively"}, "conventions"),
    ("default", {"old": {"E": [1, 2]}}, "old.E.0"),
    ("default", {"old_critic": {"b": [1]}}, "old_critic.b"),
    ("default", {"per_token": {}}, ""),
    ("ten-libraries", {"conventions": "plain"}, "conventions"),
    ("ten-libraries", {"seed": 1}, ""),
    ("ten-libraries", {"old": {}}, "old"),
    ("ten-libraries", {"text": {"vocabulary": ["a", "b"]}}, "text"),
    ("very-very-sleepy", {"ppo": {"kl_estimator": "full"}}, "ppo.kl_estimator"),
    ("very-very-sleepy", {"preset": "verl"}, ""),
    ("very-very-sleepy", {"cases": {"advantages": [1], "ratios": [0]}}, "cases.ratios.0"),
    ("classic", {"preset": "verl"}, "preset"),
    ("classic", {"ppo": {"kl_coef": 0.1}}, "ppo"),
    ("classic", {"ppo": {"bootstrap": "never"}}, "ppo.bootstrap"),
    ("kl-controller", {"controller": {"target": 0}}, "controller.target"),
    ("kl-controller", {"responses": {"kl_sums": [[1.0]], "lengths": [[0]]}}, "responses.lengths.0.0"),
]


def raw(name: str) -> dict[str, Any]:
    """Reads the tables of a built-in file."""
    return read(name).raw


def complaints(tables: dict[str, Any]) -> list[str]:
    """Lists where a file is marked."""
    return [".".join(map(str, error.absolute_path)) for error in CHECKER.iter_errors(tables)]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_files_are_right(name: str) -> None:
    assert complaints(raw(name)) == []


@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_every_written_file_is_right(name: str, overrides: list[str]) -> None:
    assert complaints(tomllib.loads(toml_of(load(name, overrides)))) == []


@pytest.mark.parametrize(("name", "wrong", "where"), WRONG)
def test_a_wrong_file_is_marked_where_it_is_wrong_and_refused(
    tmp_path: Path, name: str, wrong: dict[str, Any], where: str
) -> None:
    tables = raw(name) | wrong
    assert where in complaints(tables)
    path = tmp_path / "mine.toml"
    path.write_text(as_toml(tables), encoding="utf-8")
    with pytest.raises(NumbersError):
        load(path)


def as_toml(tables: dict[str, Any]) -> str:
    """Writes tables as TOML, one inline table each."""
    return "\n".join(f"{key} = {inline(value)}" for key, value in tables.items())


def inline(value: Any) -> str:
    """Writes a value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key} = {inline(each)}" for key, each in value.items()) + "}"
        case list():
            return f"[{', '.join(map(inline, value))}]"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value + "'"
        case _:
            return repr(value)


def value_of(setting: Setting) -> st.SearchStrategy[str]:
    """Draws what a setting may be, now and then something that it may not."""
    if setting.words:
        return st.sampled_from(setting.words)
    number = st.floats(setting.low, min(setting.high, 1e6)) | st.integers(int(setting.low), int(min(setting.high, 9)))
    return number.map(str) | st.just("off") if setting.high == OFF else number.map(str)


SETTINGS = level_named("weights").by_dotted_key
OF_SETTING = st.sampled_from(list(SETTINGS)).flatmap(
    lambda key: value_of(SETTINGS[key]).map(lambda value: f"{key}={value}")
)
OF_SIZE = st.tuples(st.sampled_from(list(LIMITS)), st.integers(1, 30)).map(lambda pair: f"sizes.{pair[0]}={pair[1]}")
OF_TEXT = st.sampled_from(
    [
        "title=",
        "seed=4294967295",
        "rollout.responses=['very', '']",
        "compare=verl,openai",
        "old_critic.b=3",
        "text.prompts=[['is']]",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(OF_SETTING | OF_SIZE | OF_TEXT, min_size=1, max_size=3))
def test_what_the_loader_takes_is_never_marked(overrides: list[str]) -> None:
    tables = raw("default")
    try:
        load("default", overrides)
        overridden(tables, overrides)
    except NumbersError:
        assume(False)
    assert complaints(tables) == []


def test_it_is_small() -> None:
    """Whole numbers have bounds; a setting with a hundred thousand of them made ten megabytes of it."""
    assert len(json.dumps(SCHEMA)) < 300_000
    keys = level_schema("prompts")["properties"]["reward"]["properties"]
    assert {name: each for name, each in keys["free_tokens"].items() if name != "description"} == {
        "type": "integer", "minimum": 0, "maximum": 100_000, "default": keys["free_tokens"]["default"],
    }  # fmt: skip


def test_an_editor_finds_keys_with_their_meaning() -> None:
    """Taplo completes what stands under anyOf, and shows the description; that branch itself refuses nothing."""
    assert {"$ref": "#/$defs/weights"} in SCHEMA["anyOf"]
    assert SCHEMA["anyOf"][-1] is True
    weights = SCHEMA["$defs"]["weights"]["properties"]
    gamma = weights["ppo"]["properties"]["gamma"]
    assert gamma == {
        "type": "number", "minimum": 0.0, "maximum": 1.0, "default": 0.9,
        "description": "γ: discount of later rewards (RLHF: often 1)"
    }  # fmt: skip
    assert weights["ppo"]["properties"]["kl_estimator"]["enum"] == ["k1", "k2", "k3", "abs", "full"]
    assert weights["sizes"]["properties"]["hidden"]["maximum"] == 32


@pytest.mark.parametrize("level", SCHEMA["$defs"])
def test_every_key_is_described(level: str) -> None:
    for name, node in SCHEMA["$defs"][level]["properties"].items():
        assert node["description"], name
        for key, inner in node.get("properties", {}).items():
            assert inner["description"], key
        assert node.get("additionalProperties", False) is False
