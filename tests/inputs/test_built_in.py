"""The built-in sets hold the numbers they were published with."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from blueprint.inputs import load
from blueprint.inputs.toml_file import names
from blueprint.workbooks.common.conventions import PRESET_DEFAULT
from blueprint.workbooks.registry import kinds
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers


def table(text: str) -> NDArray[np.float64]:
    """Read rows of numbers, as they were first published."""
    return np.array([[float(each) for each in row.split()] for row in text.split("/")])


OLD_E = table(".7 1 -.4 / -1.2 0 -.7 / -.4 -.2 -.3 / -.6 .5 .1 / -.7 .1 -.4 / -1.1 -.6 -.4 / -.2 -.6 -.6 / -.6 -1 -.3")
OLD_W = table(
    ".6 -.2 0 .3 / -.5 -.6 -.7 .1 / -.3 -.3 -.2 .2 / 0 .4 .6 0"
    " / .4 -.5 .3 -.7 / -.8 1.2 -.5 -.9 / -.4 1 -.2 -1.2 / 0 -.3 .2 .2"
)
OLD_Y = table(
    "1 -.2 -.1 1 0 -.8 1.2 .4 / .5 -.9 .2 1.1 1.1 1.5 -.8 -1.7"
    " / 1.1 -.3 0 .1 -1.5 -.9 .8 .7 / -.3 .1 .6 -.9 1.6 .5 -.6 1.7"
)
REF_Y = table(
    "1 .2 -.1 1 0 -.8 1.1 .4 / .1 -.9 .2 1.1 1.1 1.5 -.8 -1.7"
    " / 1.1 -.3 0 .1 -1.5 -.3 .8 .3 / -.3 .1 .6 -.5 1.6 .5 -.1 1.7"
)
CRITIC_E = table(".1 .4 -.1 / .2 -.2 .4 / -.9 .5 -.3 / -.1 1 .9 / -.6 0 -.3 / -1 .2 0 / -.9 -.2 -.2 / .6 -.5 .6")
CRITIC_W = table(
    "-.6 .3 .4 0 / -.4 0 .2 .3 / -.3 .3 .8 -.5 / -.2 -.1 -.1 .8"
    " / -.3 0 -.3 .6 / .2 -.4 -.5 -1.5 / -.8 -.1 .1 .2 / .3 -.4 .1 -.2"
)
RM_E = table("1.5 -.5 .7 / -.7 .1 .5 / .7 .4 .3 / -.1 .3 1 / -.7 .1 -.7 / .7 .1 .6 / -.1 -.9 -.4 / .7 .3 .2")
RM_W = table(
    ".5 .5 0 1.1 / -.3 -.1 1.1 1 / .3 -.1 .1 -.1 / -.6 .1 0 -.1"
    " / .7 -.6 -.2 -.2 / 0 .3 .7 .6 / -.4 -.5 .3 -.3 / 0 0 -.2 .4"
)

DELTA_Y = np.zeros((4, 8))
DELTA_Y[[0, 0, 1, 2, 2, 3], [6, 7, 7, 0, 5, 6]] = [-0.7, 0.8, 0.8, 0.5, -0.5, -0.4]

WEIGHTS: dict[str, NDArray[np.float64] | list[float] | float] = {
    "old.E": OLD_E,
    "old.W": OLD_W,
    "old.Y": OLD_Y,
    "reference.E": OLD_E,
    "reference.W": OLD_W,
    "reference.Y": REF_Y,
    "policy.delta_E": np.zeros((8, 3)),
    "policy.delta_W": np.zeros((8, 4)),
    "policy.delta_Y": DELTA_Y,
    "old_critic.E": CRITIC_E,
    "old_critic.W": CRITIC_W,
    "old_critic.w": [0.7, 0.1, -0.3, 0.3],
    "old_critic.b": 0.0,
    "critic.delta_E": np.zeros((8, 3)),
    "critic.delta_W": np.zeros((8, 4)),
    "critic.delta_w": [0.1, -0.3, -0.2, 0.1],
    "critic.delta_b": 0.0,
    "reward_model.E": RM_E,
    "reward_model.W": RM_W,
    "reward_model.w": [2.1, -1.2, -3, -0.9],
    "reward_model.b": -1.0,
}


@pytest.fixture(scope="module")
def default() -> WeightNumbers:
    numbers = load()
    assert isinstance(numbers, WeightNumbers)
    return numbers


def test_default_texts(default: WeightNumbers) -> None:
    assert default.vocabulary == ("<eos>", "the", "old", "dog", "is", "very", "sleepy", "happy")
    assert default.prompts == (("the", "old", "dog", "is"),) * 2
    assert (default.name, default.seed, default.max_new_tokens, default.ppo) == ("default", 1, 4, {})


def test_default_draws_stand_at_the_response_columns(default: WeightNumbers) -> None:
    assert default.draws.shape == (2, 8)
    np.testing.assert_array_equal(default.draws[:, 3:7], [[0.64, 0.75, 0.90, 0.11], [0.89, 0.14, 0.5, 0.5]])
    assert np.all((default.draws >= 0.01) & (default.draws <= 0.99))


def test_default_has_every_weight_in_order(default: WeightNumbers) -> None:
    assert list(default.weights) == list(WEIGHTS)


@pytest.mark.parametrize("name", WEIGHTS)
def test_default_weight(default: WeightNumbers, name: str) -> None:
    np.testing.assert_array_equal(default.weights[name], WEIGHTS[name])
    assert default.weights[name].dtype == np.float64
    assert default.weights[name].shape == np.shape(WEIGHTS[name])


def test_very_very_sleepy() -> None:
    numbers = load("very-very-sleepy")
    assert (numbers.kind, numbers.level) == ("rlhf_ppo", "per-token")
    assert numbers["per_token.words"] == (("very", "very", "sleepy"),)
    assert numbers["per_token.logprobs_old"] == ((-0.9, -2.5, -0.5),)
    assert numbers["per_token.logprobs_ref"] == ((-1.5, -1.0, -0.5),)
    assert numbers["per_token.values"] == ((3.0, 3.5, 4.0),)
    assert numbers["per_token.scores"] == ((0.0, 0.0, 5.0),)
    assert numbers["cases.advantages"].tolist() == [2.0, 2.0, -2.0, -2.0]
    assert numbers["cases.ratios"].tolist() == [1.1, 1.5, 0.9, 0.5]
    assert numbers.ppo == {
        "gamma": 0.9,
        "gae_lambda": 0.8,
        "kl_coef": 0.1,
        "clip_range": 0.2,
        "whiten_advantages": "off",
    }


def test_names_come_with_a_sentence_the_default_first() -> None:
    first, *others = [name for name, _ in names()]
    assert (first, others) == ("default", sorted({name for kind in kinds() for name in kind.built_in()} - {"default"}))
    assert len(others) >= 31
    assert all(about.endswith(".") for _, about in names())


def test_preset_values() -> None:
    assert {key: setting.value for key, setting in PRESET_DEFAULT.items()} == {
        "gamma": 0.9,
        "gae_lambda": 0.8,
        "kl_coef": 0.1,
        "clip_range": 0.2,
        "value_clip_range": 0.2,
        "vf_coef": 0.5,
        "ent_coef": 0.01,
        "policy_kl_coef": 0,
        "update_step": 1,
        "kl_estimator": "k1",
        "whiten_advantages": "on",
        "whiten_eps": 1e-8,
    }


@pytest.mark.parametrize("key", PRESET_DEFAULT)
def test_preset_allows_its_own_value_and_its_bounds(key: str) -> None:
    setting = PRESET_DEFAULT[key]
    for allowed in setting.words or (setting.value, setting.low, setting.high):
        assert load("default", [f"ppo.{key}={allowed}"]).ppo == {key: allowed}


def test_import_stays_light() -> None:
    program = "import sys, blueprint.inputs; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "openpyxl", "xlsxwriter", "torch", "click"} & set(loaded)
