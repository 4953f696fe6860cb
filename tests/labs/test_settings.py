"""What the settings of a lab refuse, each in a sentence."""

from __future__ import annotations

import pytest

from blueprint.labs.settings import LabError, recipes, settings

REFUSED = {
    "unknown method": (
        {"method": "ppoo"},
        "there is no method ppoo (did you mean ppo?): write one of ppo, a2c, reinforce",
    ),
    "unknown recipe": ({"recipe": "zoo"}, "there is no recipe zoo: write one of tutorial, by-hand"),
    "unknown key": (
        {"changed": ["clip=0.1"]},
        "there is no setting clip: write one of environments, rollout_steps, time_limit, hidden,",
    ),
    "no =": (
        {"changed": ["clip_range"]},
        "--set clip_range: found no =, expected key=value, such as --set clip_range=0.1",
    ),
    "a word for a number": ({"changed": ["lr=fast"]}, 'lr: found "fast", expected a number'),
    "a number below": ({"changed": {"gamma": 1.5}}, "gamma: found 1.5, expected a number less than or equal to 1"),
    "a limit that is neither": ({"changed": ["clip_range=of"]}, 'clip_range: found "of", expected a number, or "off"'),
    "no list": ({"changed": ["hidden=8"]}, "hidden: found 8, expected a list of 1 to 4 numbers"),
    "no truth": ({"changed": ["shared_trunk=yes"]}, 'shared_trunk: found "yes", expected true or false'),
    "half a thing": ({"changed": ["environments=2.5"]}, "environments: found 2.5, expected an integer"),
    "too few steps": (
        {"steps": 100},
        "steps: found 100, expected at least 256, which is one iteration: 8 environments of 32 steps",
    ),
    "a minibatch of one": (
        {"changed": {"minibatch": 1}},
        'minibatch: found 1, expected a number greater than or equal to 2, or "all"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_a_sentence(case: str) -> None:
    given, said = REFUSED[case]
    with pytest.raises(LabError) as refused:
        settings(**given)  # type: ignore[arg-type]
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_a_method_has_the_word_over_a_recipe_and_a_key_over_both() -> None:
    use = settings("a2c", recipe="tutorial", changed=["epochs=2", "clip_range=off", "hidden=[8]"])
    assert (use.epochs, use.minibatch, use.environments, use.shared_trunk) == (2, "all", 1, True)
    assert (use.clip(1.0), use.hidden) == (float("inf"), [8])
    assert recipes() == ("tutorial", "by-hand")


def test_what_falls_falls_in_a_line() -> None:
    use = settings("ppo", changed={"clip_range": 0.4})
    assert [use.clip(left) for left in (1.0, 0.5, 0.0)] == [0.4, 0.2, 0.0]
    assert settings("ppo", recipe="tutorial").clip(0.1) == 0.2
