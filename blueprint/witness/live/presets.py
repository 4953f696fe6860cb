"""Settings of files with a table of presets: what is typed, else what the preset in use says; and those of libraries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from blueprint.witness.conventions.options import WORDS
from blueprint.witness.errors import WitnessError, quoted
from blueprint.witness.settings import File, alternative, block, is_blank, numbers, single
from blueprint.workbooks.classic_ppo.witness import settings as classic

ORDER = (
    "gamma", "gae_lambda", "kl_coef", "clip_range", "value_clip_range", "vf_coef", "ent_coef", "policy_kl_coef",
    "update_step", "kl_estimator", "whiten_advantages", "whiten_eps",
    "batch.temperature", "batch.temperature_eps", "batch.response_mask",
    "reward.kl_clamp_in", "reward.kl_clamp_out", "reward.kl_clamp_of", "reward.kl_in", "reward.kl_at_first_pad",
    "reward.score_slot",
    "reward.score_clip", "reward.missing_eos", "reward.missing_eos_value", "reward.missing_eos_test", "reward.whiten",
    "reward.whiten_rezero",
    "advantage.tail_slots", "advantage.gae_holes", "advantage.stats", "advantage.ddof", "advantage.eps_form",
    "advantage.mean_eps", "advantage.ddof_eps",
    "loss.sample_filter", "loss.log_ratio_clamp", "loss.clip_range_high", "loss.dual_clip", "loss.ratio_threshold",
    "loss.aggregation", "loss.agg_eps", "loss.seq_eps", "loss.joint", "loss.entropy_aggregation",
    "loss.kl_coef", "loss.kl_estimator", "loss.kl_clamp_in", "loss.kl_clamp_out", "loss.kl_clamp_of",
    "value.factor", "value.tail", "value.combine", "value.aggregation",
    "metrics.kl", "metrics.log_ratio", "metrics.over", "metrics.clip_fraction", "metrics.explained", "metrics.ev_eps",
    "metrics.kl_stat",
)  # fmt: skip
"""Every convention, in the order in which a file shows which libraries differ in it; `update_step` needs weights."""

Setting = float | str


def is_live(file: File) -> bool:
    """Returns whether the conventions of a file are live: it then has a table of presets."""
    return "presets.names" in file


def held(file: File) -> tuple[str, ...]:
    """Returns the conventions that a file has, in their order."""
    order = classic.ORDER if classic.is_classic(file) else ORDER
    return tuple(name for name in order if f"{name}.yours" in file)


def words(file: File) -> Collection[str]:
    """Returns the conventions that are words, in a file of this kind."""
    return classic.WORDS if classic.is_classic(file) else WORDS


def column(file: File, preset: Any) -> int:
    """Returns the place of a preset in the table, from 0; capitals do not matter. Raises WitnessError for another name."""
    known = [str(each) for each in block(file, "presets.names").tolist()]
    for place, each in enumerate(known):
        if each.lower() == str(preset).lower():
            return place
    raise WitnessError(f"the preset is {quoted(preset)}: write one of {', '.join(known)}")


def preset_of(file: File, name: str, place: int) -> Setting:
    """Returns what a preset says about a convention: a number, or a word."""
    if name in words(file):
        return str(block(file, f"presets.{name}")[place])
    return float(numbers(file, f"presets.{name}")[place])


def in_use(file: File) -> dict[str, Setting]:
    """Returns every convention of a file: what is typed, else its preset's. Raises WitnessError for an unknown word."""
    place = column(file, single(file, "preset"))
    found: dict[str, Setting] = {}
    for name in held(file):
        yours = single(file, f"{name}.yours")
        chosen = preset_of(file, name, place) if is_blank(yours) else yours
        found[name] = str(chosen) if name in words(file) else float(chosen)
    for name in set(words(file)) & set(found):
        alternative(file, name, str(found[name]))
    return found


def as_number(file: File, name: str, value: Setting) -> float:
    """Returns the number that a convention is computed with: itself, or the place of its word."""
    return float(alternative(file, name, value) if isinstance(value, str) else value)


def libraries(file: File) -> list[int]:
    """Returns the places of the libraries that stand side by side, none for a file without them."""
    return [column(file, each) for each in np.atleast_1d(file.get("library.names", np.array([], dtype=object)))]
