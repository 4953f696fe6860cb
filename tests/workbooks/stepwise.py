"""Every step of an optimiser against PPO's page, which takes it with torch.optim; rows of the way back against autograd."""

from __future__ import annotations

from blueprint.book import Book
from blueprint.page.outline import Blueprint

NEAR = 1e-12
"""Of 1 + a row's numbers: torch adds and multiplies the same numbers in another order, step after step."""


def assert_torch_agrees(outline: Blueprint, least: int = 60) -> None:
    """Compares results of every step, new weights, norms and slopes. least: how many there are."""
    from blueprint.workbooks.rlhf_ppo.paper import PAGE
    from tests.autograd import way_back
    from tests.papers.held import TOLERANCE, held_against

    book = Book(outline)
    found = held_against(book, PAGE.results, PAGE.masks)
    assert len(found) > least
    assert {name: far for name, far in found.items() if not far <= TOLERANCE} == {}
    away = way_back(book, "rlhf_ppo")
    assert len(away) > 3
    assert {name: far for name, far in away.items() if not far <= NEAR} == {}
