"""Complete a checked file: every part given or drawn, every draw in its column."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from blueprint.inputs import Array
from blueprint.workbooks.rlhf_ppo.inputs import draw
from blueprint.workbooks.rlhf_ppo.inputs.sizes import Sizes

_ACTOR = ("E", "W", "Y")
_HEAD = ("E", "W", "w", "b")
MODELS = {
    "old": _ACTOR,
    "reference": _ACTOR,
    "policy": tuple(f"delta_{letter}" for letter in _ACTOR),
    "old_critic": _HEAD,
    "critic": tuple(f"delta_{letter}" for letter in _HEAD),
    "reward_model": _HEAD,
}
_BASES = {"reference": "old", "policy": "old", "critic": "old_critic"}


def text(seed: int, parts: Mapping[str, Any], sizes: Sizes) -> tuple[list[str], list[list[str]]]:
    """Return the vocabulary and the prompts."""
    vocabulary = parts.get("text.vocabulary") or draw.vocabulary(sizes.vocabulary)
    return vocabulary, parts.get("text.prompts") or draw.prompts(seed, vocabulary, sizes)


def draws(seed: int, given: list[list[float]] | None, prompts: list[list[str]], sizes: Sizes) -> Array:
    """Return a draw for every column, (episodes, T); given ones begin at the column of the last prompt word.

    Given ones may also have all T columns.
    """
    columns = draw.uniforms(seed, sizes)
    if given and len(given[0]) == sizes.columns:
        return np.array(given, dtype=float)
    for row, response, prompt in zip(columns, given or [], prompts, strict=given is not None):
        first = len(prompt) - 1  # column t = len(prompt), counted from 1, writes the first response word
        row[first : first + len(response)] = response
    return columns


def weights(seed: int, parts: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """Return all weights by dotted name, in the order of the models."""
    done: dict[str, Array] = {}
    for model, model_parts in MODELS.items():
        for part in model_parts:
            name = f"{model}.{part}"
            if name in parts:
                done[name] = np.array(parts[name], dtype=float)
            else:
                done[name] = _left_out(seed, name, parts, sizes, done)
    return done


def base_of(name: str) -> str:
    """Name the weights from which others start: `old.E` for `reference.E` and `policy.delta_E`; "" where there are none."""
    model, _, part = name.partition(".")
    return f"{_BASES[model]}.{part.removeprefix('delta_')}" if model in _BASES else ""


def is_drawn(name: str, parts: Collection[str]) -> bool:
    """Tell whether weights that are left out are drawn: they are not where those from which they start are given."""
    return base_of(name) not in parts


def _left_out(seed: int, name: str, parts: Mapping[str, Any], sizes: Sizes, done: Mapping[str, Array]) -> Array:
    """Fill one part: an update is 0 and a reference the old policy where those are given; the rest is drawn."""
    base, is_update = base_of(name), "delta_" in name
    if not base:
        return draw.weights(seed, name, sizes)
    if not is_drawn(name, parts):
        return np.zeros_like(done[base]) if is_update else done[base].copy()
    if is_update:
        return draw.nudge(seed, name, sizes)
    # A reference near the old policy, but not it: else every KL would be 0.
    return (done[base] + draw.nudge(seed, name, sizes)).round(2) + 0.0
