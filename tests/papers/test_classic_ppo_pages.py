"""The built-in workbook of classic PPO, by every preset and convention, is what the page makes of what is typed in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

import blueprint as bp
from blueprint.book import Book
from blueprint.workbooks.classic_ppo.paper import results
from tests.papers.held import TOLERANCE, held_against

NEVER = [[0] * 8] * 2


def cases() -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yields every preset, and every convention once."""
    yield from (("classic", preset, {}) for preset in (None, "cleanrl", "sb3", "torchrl", "rlax"))
    for changed in (
        {"ppo.clip_more": 0.1}, {"ppo.value_clip_range": "off"}, {"ppo.bootstrap": "terminated", "rollout.terminated": NEVER},
        {"ppo.whiten_advantages": "off"}, {"ppo.whiten_form": "std_max", "ppo.whiten_eps": 0.5},
        {"ppo.value_combine": "clipped_only"}, {"ppo.value_norm": "smooth_l1"}, {"ppo.clip_range": 0.05, "ppo.ent_coef": 0.3},
    ):  # fmt: skip
        yield "classic", None, changed


def off(book: Book) -> dict[str, float]:
    """Returns how far each result is from the book."""
    return held_against(book, results)


@pytest.mark.parametrize(("name", "preset", "changed"), list(cases()))
def test_a_book_is_what_the_page_makes_of_it(name: str, preset: str | None, changed: dict[str, Any]) -> None:
    found = off(bp.build(name, preset=preset, set=changed, gradients=True))
    assert {each: far for each, far in found.items() if not far <= TOLERANCE} == {}
    assert len(found) >= 36
