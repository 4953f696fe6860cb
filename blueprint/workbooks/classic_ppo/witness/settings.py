"""The settings of classic PPO, in the order of the sheet, and the words of those that are switches."""

from __future__ import annotations

from types import MappingProxyType

from blueprint.witness.settings import File

WORDS = MappingProxyType(
    {
        "bootstrap": ("done", "terminated"),
        "whiten_advantages": ("on", "off"),
        "whiten_form": ("std_plus", "std_max"),
        "value_combine": ("max", "clipped_only"),
        "value_norm": ("l2", "smooth_l1"),
    }
)
"""A word's number is its place, from 0."""

ORDER = (
    "gamma", "gae_lambda", "clip_range", "clip_more", "value_clip_range", "value_factor", "vf_coef", "ent_coef", "whiten_eps",
    *WORDS,
)  # fmt: skip


def is_classic(file: File) -> bool:
    """Returns whether a file is one of classic PPO: its old values reach one step behind the rollout."""
    return "values.old" in file
