"""Batches of one: one pair, one response, one token. The workbook is recalculated whole, and check says no more than it knows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import blueprint as bp

ROWS: dict[str, dict[str, Any]] = {
    "grpo": {"prompt": "1+1", "response": "2", "reward": 1.0},
    "dpo": {"prompt": "1+1", "chosen": "2 .", "rejected": "3"},
    "sft": {"prompt": "1+1", "response": "2"},
    "reward_model": {"prompt": "1+1", "chosen": "2", "rejected": "3", "chosen_score": 1.0, "rejected_score": 0.5},
}
ONE_TOKEN = {"level": "weights", "sizes": {"episodes": 1, "max_new_tokens": 1, "prompt": 1}}


@pytest.mark.parametrize("kind", ROWS)
def test_a_single_row_becomes_a_workbook_that_is_recalculated_whole(kind: str, tmp_path: Path) -> None:
    """IronCalc finds nothing by INDEX or MATCH in an address of one cell, and a range of one cell is none."""
    book, path = bp.build([ROWS[kind]], kind=kind), tmp_path / "one.xlsx"
    book.save(path)
    proof = book.prove(path)
    assert (proof.failures, proof.agreeing) == ([], proof.total)


def test_a_single_token_has_no_variance_by_n_minus_1_and_check_says_so_and_accuses_nobody(tmp_path: Path) -> None:
    path = tmp_path / "one.xlsx"
    bp.build(ONE_TOKEN).save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (verdict,) = bp.check(path).verdicts
    assert verdict.agrees
    assert {"advantages_used", "policy_loss", "total_loss"} < set(verdict.page.ended)
    assert {"advantages", "returns", "value_loss", "entropy"}.isdisjoint(verdict.page.ended)
