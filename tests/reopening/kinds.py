"""The kinds of workbooks besides the default one and the one of the token level."""

from __future__ import annotations

from pathlib import Path

from blueprint import Book
from tests.page.workshop import made, save_made

KINDS = {
    "logits": ("ten-libraries", "compare=openai,openrlhf,verl", "text.episodes=[3]"),
    "live": ("default", "preset=verl", "compare=trl_1.12", "sizes.episodes=1", "sizes.prompt=2", "sizes.max_new_tokens=2"),
    "fixed": ("default", 'rollout.responses=[["very", "", "sleepy"], "happy <eos>"]'),
    "classic": ("classic", "preset=sb3"),
    "smooth": ("classic", "ppo.value_norm=smooth_l1"),
    "controller": ("kl-controller",),
}  # fmt: skip
"""By name: the numbers, and what is laid over them."""


def book_of_kind(kind: str, *more: str) -> Book:
    """Makes the book of a kind, with more overrides."""
    numbers, *overrides = KINDS[kind]
    return made(*overrides, *more, numbers=numbers)


def save_kind(kind: str, path: Path) -> Path:
    """Saves the workbook of a kind."""
    numbers, *overrides = KINDS[kind]
    return save_made(path, *overrides, numbers=numbers)
