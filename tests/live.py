"""Files with live conventions, for the tests: mixes of options from fixed seeds, and rows that wait to be repaired."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.inputs.catalogue import OFF
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import LIVE, rlhf
from tests.rows import Array, arrays, differing

PRESETS = tuple(rlhf().presets)
TOLERANCE = 1e-12

RANGES = {
    "gamma": (0, 1), "gae_lambda": (0, 1), "kl_coef": (0, 2), "clip_range": (0, 0.5), "value_clip_range": (0, 1),
    "vf_coef": (0, 2), "ent_coef": (0, 1), "policy_kl_coef": (0, 1), "update_step": (-1, 2), "whiten_eps": (1e-9, 0.1),
    "batch.temperature": (0.3, 2), "reward.kl_clamp_in": (0, 0.5), "reward.kl_clamp_out": (0, 0.5),
    "reward.score_clip": (0, 2), "reward.length_penalty": (0, 0.5),
    "reward.missing_eos_value": (-3, 3), "loss.log_ratio_clamp": (0, 0.5),
    "loss.clip_range_high": (0, 0.5), "loss.dual_clip": (1, 3), "loss.ratio_threshold": (0.5, 2), "value.factor": (0, 2),
}  # fmt: skip
"""Where numbers are drawn, so that limits bite; an ε lies in 0 … 0.1."""
WHOLE = {"advantage.tail_slots": 2, "reward.free_tokens": 4, "advantage.ddof": 1, "value.tail": 1}
SLOTS, RESPONSES = 6, 4


def mixed(seed: int) -> dict[str, Array]:
    """Returns a file of random conventions."""
    return live(*mix(seed))


def mix(seed: int) -> tuple[str, ...]:
    """Draws conventions: built-in numbers, at level weights for odd seeds, at level logits for even ones, and overrides."""
    drawn, weights = random.Random(seed), bool(seed % 2)
    overrides = ["conventions=live", f"preset={drawn.choice(PRESETS)}"]
    for name in LIVE:
        if (weights or name != "update_step") and drawn.random() < 0.5:
            overrides.append(f"{name if '.' in name else f'ppo.{name}'}={drawn_value(drawn, name)}")
    if weights and drawn.random() < 0.5:
        sizes = {"hidden": drawn.randint(3, 5), "max_new_tokens": drawn.randint(1, 6), "episodes": drawn.randint(1, 4)}
        overrides += [f"seed={seed}", *(f"sizes.{name}={size}" for name, size in sizes.items())]
    if not weights and drawn.random() < 0.6:
        overrides.append(f"text.mask={[_holed(drawn) for _ in range(RESPONSES)]}")
    return ("default" if weights else "ten-libraries", *overrides)


def drawn_value(drawn: random.Random, name: str) -> str:
    """Draws a convention, as it is written in an override."""
    setting = LIVE[name]
    if setting.words:
        return f'"{drawn.choice(setting.words)}"'
    if setting.high == OFF and drawn.random() < 0.4:
        return '"off"'
    if name in WHOLE:
        return str(drawn.randint(0, WHOLE[name]))
    return str(round(drawn.uniform(*RANGES.get(name, (0, 0.1))), 9))


def _holed(drawn: random.Random) -> list[int]:
    """Draws a mask with holes."""
    return [drawn.randint(0, 1) for _ in range(SLOTS)]


@cache
def live(name: str, *overrides: str) -> dict[str, Array]:
    """Returns the blocks of a workbook by name."""
    return arrays(book(name, *overrides))


@cache
def book(name: str, *overrides: str) -> Book:
    """Returns the workbook of a built-in set of numbers."""
    return Book(blueprint_of(load(name, overrides)))


def parting(found: Mapping[str, Array], file: Mapping[str, Array], tolerance: float = TOLERANCE) -> list[str]:
    """Lists where the witness and a file part, beside what is awaited."""
    return differing(found, file, tolerance)
