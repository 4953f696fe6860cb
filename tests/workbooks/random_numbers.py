"""Number sets of every size and setting, each from its own seed."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from blueprint.inputs import Array, Settings, load
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers

CLOSEST_DRAW = 1e-9


class Sizes(NamedTuple):
    """The sizes of one set."""

    vocabulary: int
    embedding: int
    hidden: int
    episodes: int
    longest_prompt: int
    max_new_tokens: int


def default() -> WeightNumbers:
    """Return the default example."""
    loaded = load("default")
    assert isinstance(loaded, WeightNumbers)
    return loaded


def with_settings(numbers: WeightNumbers, **ppo: float | str) -> WeightNumbers:
    """Return the numbers with some settings changed."""
    return replace(numbers, ppo=numbers.ppo | ppo)


@cache
def random_numbers(seed: int) -> WeightNumbers:
    """Return a random set; one with a draw closer than 1e-9 to a boundary between two words is drawn again."""
    rng = np.random.default_rng(seed)
    while True:
        numbers = _draw(rng, seed)
        if margin(numbers) >= CLOSEST_DRAW:
            return numbers


def margin(numbers: WeightNumbers) -> float:
    """Return how far the closest draw that is used is from a boundary between two words; word after word, in plain numpy."""
    E, W, Y = (numbers.weights[f"old.{part}"] for part in "EWY")
    ids = {word: number for number, word in enumerate(numbers.vocabulary)}
    closest = np.inf
    for prompt, draws in zip(numbers.prompts, numbers.draws, strict=True):
        state = np.zeros(W.shape[1])
        for word in prompt[:-1]:
            state = np.tanh(np.concatenate([E[ids[word]], state, [1.0]]) @ W)
        read = ids[prompt[-1]]
        for u in draws[len(prompt) - 1 :][: numbers.max_new_tokens]:
            state = np.tanh(np.concatenate([E[read], state, [1.0]]) @ W)
            logits = state @ Y
            p = np.exp(logits - logits.max())
            boundaries = (p / p.sum()).cumsum()[:-1]
            closest = min(closest, float(np.abs(boundaries - u).min()))
            read = int((boundaries <= u).sum())
            if read == 0:
                break
    return closest


def _draw(rng: np.random.Generator, seed: int) -> WeightNumbers:
    low, high = Sizes(2, 1, 1, 1, 1, 1), Sizes(12, 5, 8, 4, 5, 6)
    sizes = Sizes(*rng.integers(low, np.array(high) + 1).tolist())
    words = [f"w{number}" for number in range(1, sizes.vocabulary)]
    lengths = [sizes.longest_prompt, *rng.integers(1, sizes.longest_prompt + 1, sizes.episodes - 1)]
    columns = sizes.longest_prompt + sizes.max_new_tokens
    return replace(
        default(),
        name=f"random {seed}",
        vocabulary=("<eos>", *words),
        prompts=tuple(tuple(rng.choice(words, length).tolist()) for length in lengths),
        max_new_tokens=sizes.max_new_tokens,
        draws=rng.uniform(0.01, 0.99, (sizes.episodes, columns)),
        weights=_weights(rng, sizes),
        ppo=_settings(rng),
    )


def _weights(rng: np.random.Generator, sizes: Sizes) -> dict[str, Array]:
    """Return all weights; the gap between logits is sometimes so wide that one word takes nearly everything."""
    gap, update = rng.choice([1.0, 3.0, 8.0]), 0.2
    shapes = {
        "E": (sizes.vocabulary, sizes.embedding),
        "W": (sizes.embedding + sizes.hidden + 1, sizes.hidden),
        "Y": (sizes.hidden, sizes.vocabulary),
        "w": (sizes.hidden,),
        "b": (),
    }
    spread = {"E": 0.6, "W": 0.5, "Y": gap, "w": 1.0, "b": 0.5}
    models = {"old": "EWY", "reference": "EWY", "old_critic": "EWwb", "reward_model": "EWwb"}
    weights = {f"{model}.{p}": spread[p] * rng.normal(size=shapes[p]) for model, parts in models.items() for p in parts}
    deltas = [*(("policy", part) for part in "EWY"), *(("critic", part) for part in "EWwb")]
    weights |= {f"{model}.delta_{p}": update * spread[p] * rng.normal(size=shapes[p]) for model, p in deltas}
    # A reference of its own would be so far away that every k3 is huge; half of them stay near the old policy.
    if rng.random() < 0.5:
        weights |= {f"reference.{p}": weights[f"old.{p}"] + update * weights[f"reference.{p}"] for p in "EWY"}
    return {name: np.asarray(weight) for name, weight in weights.items()}


def _settings(rng: np.random.Generator) -> Settings:
    """Return every setting, its extremes often enough to be met in 200 sets."""
    return {
        "gamma": float(rng.choice([1.0, rng.random()])),
        "gae_lambda": float(rng.choice([0.0, 1.0, rng.random()])),
        "kl_coef": float(rng.choice([0.0, rng.random()])),
        "clip_range": float(rng.choice([0.0, 0.2, rng.random()])),
        "value_clip_range": float(rng.choice([0.0, 0.2, rng.random()])),
        "vf_coef": float(rng.random()),
        "ent_coef": float(rng.random()),
        "policy_kl_coef": float(rng.choice([0.0, rng.random()])),
        "update_step": float(rng.choice([0.0, 0.5, 1.0])),
        "kl_estimator": str(rng.choice(["k1", "k2", "k3"])),
        "whiten_advantages": str(rng.choice(["on", "off"])),
        "whiten_eps": float(rng.choice([1e-8, 1e-5])),
    }
