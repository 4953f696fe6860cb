"""Where every number comes from: line by line, for merged numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs import NumbersError, given, load, names, origins, read, source_of, toml_of
from blueprint.inputs.load import assumed

PARTIAL = """\
level = "weights"
seed = 7
[text]
vocabulary = ["<eos>", "to", "be", "or", "not"]
prompts = ["to be", "not to be"]
[sizes]
hidden = 5
[ppo]
gamma = 1.0
[old]
Y = [[0,0,0,0,0], [0,0,0,0,0], [0,0,0,0,0], [0,0,0,0,0], [0,0,0,0,0.25]]
"""


def listed(source: str | Path, *overrides: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Returns value and origin by key."""
    return {line.key: (line.value, line.origin) for line in origins(read(source), overrides)}


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    """Writes a file that leaves most parts out."""
    path = tmp_path / "mine.toml"
    path.write_text(PARTIAL, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("key", "value", "origin"),
    [
        ("level", '"weights"', "mine.toml"),
        ("title", '"mine"', "the file's name"),
        ("about", '""', "default"),
        ("seed", "7", "mine.toml"),
        ("sizes.hidden", "5", "mine.toml"),
        ("sizes.vocabulary", "5", "told by text.vocabulary"),
        ("sizes.prompt", "3", "told by text.prompts"),
        ("sizes.embedding", "3", "default"),
        ("text.prompts", '2: "to be", "not to be"', "mine.toml"),
        ("old.Y", "5 by 5: 0.0, 0.0, 0.0, …", "mine.toml"),
        ("reference.Y", "5 by 5: 0.0, 0.0, 0.0, …", "as old.Y"),
        ("policy.delta_Y", "5 by 5: 0.0, 0.0, 0.0, …", "no update"),
        ("ppo.gamma", "1.0", "mine.toml"),
        ("ppo.gae_lambda", "0.8", "preset default"),
    ],
)
def test_a_file_that_leaves_parts_out(partial: Path, key: str, value: str, origin: str) -> None:
    assert listed(partial)[key] == (value, origin)


@pytest.mark.parametrize(
    "key", ["rollout.draws", "old.E", "reference.E", "policy.delta_W", "old_critic.w", "critic.delta_b"]
)
def test_what_is_drawn_names_its_seed(partial: Path, key: str) -> None:
    assert listed(partial)[key][1] == "seed 7"
    assert listed(partial, ("--set", "seed=8"))[key][1] == "seed 8"
    assert listed(partial, ("--set", "seed=8"))[key][0] != listed(partial)[key][0]


def test_overrides_and_what_follows_from_them() -> None:
    found = listed("default", ("--preset", "preset=verl"), ("--set", "sizes.hidden=3"), ("--set", "ppo.clip_range=0.3"))
    expected = {
        "preset": ('"verl"', "--preset"),
        "conventions": ('"live"', "a preset or convention is asked for"),
        "sizes.hidden": ("3", "--set"),
        "sizes.embedding": ("3", "default (built in)"),
        "ppo.clip_range": ("0.3", "--set"),
        "loss.clip_range_high": ("0.3", "as ppo.clip_range"),
        "loss.dual_clip": ("3.0", "preset verl"),
        "reward.kl_clamp_out": ("10.0", "preset verl"),
        "old.E": ("8 by 3: 0.7, 1.0, -0.4, …", "default (built in)"),
    }
    assert {key: found[key] for key in expected} == expected
    assert found["old.W"][1] == "drawn anew, seed 1"
    assert found["reference.W"][1] == "seed 1"


def test_a_whole_table_may_be_overridden() -> None:
    found = listed("default", ("--set", "old_critic={b=1}"))
    assert found["old_critic.b"] == ("1.0", "--set")
    assert found["old_critic.w"][1] == "seed 1"


def test_ragged_rows_have_no_second_size() -> None:
    words = "per_token.words=[['a','b'],['c']]"
    rows = [f"per_token.{key}=[[-1,-2],[-3]]" for key in ("logprobs_old", "logprobs_ref", "values", "scores")]
    found = listed("very-very-sleepy", *(("--set", each) for each in (words, *rows)))
    assert found["per_token.words"] == ('2 by ?: "a", "b", "c"', "--set")


def test_at_logits_conventions_are_always_live() -> None:
    assert listed("ten-libraries", ("--set", "text.end_word=happy"))["conventions"][1] == "ten-libraries (built in)"


@pytest.mark.parametrize(
    ("name", "key", "origin"),
    [
        ("classic", "rollout.terminated", "as rollout.done"),
        ("classic", "ppo.bootstrap", "preset default"),
        ("kl-controller", "controller.horizon", "preset default"),
        ("ten-libraries", "text.mask", "up to text.end_word"),
        ("very-very-sleepy", "ppo.whiten_advantages", "very-very-sleepy (built in)"),
    ],
)
def test_other_levels(name: str, key: str, origin: str) -> None:
    assert listed(name)[key][1] == origin


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_every_key_has_one_line(name: str) -> None:
    numbers = load(name)
    keys = [line.key for line in origins(read(name))]
    assert sorted(keys) == sorted({**given(numbers), **assumed(numbers)})


def test_a_text_made_of_another_file_names_that_file() -> None:
    found = source_of(toml_of(load()), Path("folder") / "mine.xlsx")
    lines = {line.key: line.origin for line in origins(found)}
    assert lines["old.E"] == lines["sizes.hidden"] == "mine.xlsx"


def test_asking_changes_nothing() -> None:
    found = read("default")
    before = repr(found.raw)
    origins(found, [("--preset", "preset=verl"), ("--set", "ppo.gamma=1")])
    assert repr(found.raw) == before


def test_a_wrong_override_is_refused() -> None:
    with pytest.raises(NumbersError) as refused:
        origins(read("default"), [("--set", "ppo.gama=1")])
    assert str(refused.value) == "ppo.gama: unknown key, did you mean ppo.gamma?"
