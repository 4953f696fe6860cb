"""Saved workbooks of GRPO and its family against torch, as they are and with mistakes planted, and read back as numbers."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.checking.causes import Cause
from blueprint.cli import main
from blueprint.inputs import load
from blueprint.reopening import back_from
from blueprint.workbooks import blueprint_of
from tests.checking.cells import Edits, change, change_sheets
from tests.checking.running import judged
from tests.checking.test_check_live import cell_of
from tests.page.workshop import located, made, save_made
from tests.reopening.alike import fields_that_differ
from tests.workbooks.apart import apart

TYPED: dict[str, tuple[tuple[int, ...], float | str]] = {"score": ((4,), 0.25), "group.std.yours": ((), "others")}
"""What is typed by hand: the place in a block, and what stands there then."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    return save_made(tmp_path_factory.mktemp("grpo") / "grpo.xlsx", numbers="grpo-batch")


def test_every_quantity_of_the_default_agrees(plain: Path) -> None:
    verdict = judged(plain)
    computed = {each for each, found in located(plain).items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert verdict.agrees


OTHERS: tuple[tuple[str, ...], ...] = (
    ("reward.overlong=capped", "reward.max_tokens=4", "reward.buffer=2", "reward.truncated=0.5"),
    ("group.baseline=length", "group.std=residual", "reward.clip_low=-1", "reward.clip_high=0.5", "reward.clip_at=after"),
    ("group.baseline=second", "group.std=batch_of_advantages", "advantage.whiten=responses"),
    ("group.baseline=greedy", "group.std=not_zero", "advantage.credit=discounted", "ppo.gamma=0.9", "kl.place=advantage"),
    ("group.of=row", "advantage.credit=reward_to_go", "kl.place=reward_token", "kl.coef=0.1", "advantage.whiten=tokens"),
    ("advantage.credit=to_go", "kl.place=after", "ppo.gamma=0.8", "advantage.whiten=tokens", "advantage.whiten_form=at_least"),
    ("loss.objective=sapo", "loss.sapo_bad=1.05", "ratio.level=own_token", "ratio.sequence_most=0.1"),
    ("loss.objective=gmpo", "ratio.length_eps=0.001", "loss.aggregation=seq_mean_token_sum", "loss.constant=6"),
    ("loss.objective=vespo", "ratio.clamp=0.2", "loss.aggregation=prompt_mean", "loss.entropy_least=1.5"),
    ("loss.objective=reinforce", "ratio.level=rollout", "loss.off_policy=0.01", "loss.ent_coef=0.01"),
    ("kl.place=loss", "kl.gradient=k2_is", "kl.weight=ratio", "kl.aggregation=token_mean", "loss.aggregation=token_sum"),
    ("rollout.level=product", "rollout.low=0.5", "rollout.high=2", "rollout.mode=mask", "rollout.normalise=on"),
    ("rollout.level=token", "rollout.mode=filter", "rollout.statistic=binary_kl", "rollout.high=0.01", "ratio.old=new"),
    ("group.filter=constant", "loss.aggregation=prompt_mean", "group.baseline=others", "loss.mask=drop_truncated"),
    ("group.filter=zero_spread", "group.std=others", "loss.aggregation=seq_mean_token_sum", "loss.rows_eps=0.1"),
    ("group.filter=mean_at_end", "loss.aggregation=seq_mean_token_mean", "kl.place=loss", "kl.aggregation=token_mean"),
    ("rollout.reject=mean", "rollout.reject_low=0.9", "rollout.reject_high=1.1", "loss.mask=drop_truncated", "loss.dual_clip=3"),
)  # fmt: skip
"""Conventions that are far from the default, so that each way is gone at least once."""


@pytest.mark.parametrize("overrides", OTHERS, ids=[each[0] for each in OTHERS])
def test_every_quantity_of_other_conventions_agrees(overrides: tuple[str, ...]) -> None:
    assert apart(made(*overrides, numbers="grpo-batch")) == {}


@pytest.mark.parametrize(
    ("block", "at"),
    [("group.others", (1, 2)), ("log_ratio", (0, 1))],
)
def test_a_number_typed_over_a_formula_is_named_first(
    plain: Path, tmp_path: Path, block: str, at: tuple[int, ...]
) -> None:
    found = located(plain)[block]
    cell = cell_of(plain, found, at)
    change(plain, tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.3751)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet, first.cause) == (block, f"{found.sheet}!{cell}", 0.3751, Cause.FORMULA)


@pytest.fixture(scope="module")
def typed_into(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Types something into a saved workbook; what its formulas came to stays as it was."""
    path, edits = tmp_path_factory.mktemp("typed") / "a.xlsx", dict[str, Edits]()
    for block, (at, value) in TYPED.items():
        found = located(plain)[block]
        row, column = next((r, c) for index, r, c in found.cells() if index == at)
        edits[found.sheet] = {f"{openpyxl.utils.get_column_letter(column)}{row}": (None, value)}
    change_sheets(plain, path, edits)
    return path


def test_what_was_typed_by_hand_is_stale_and_builds_a_workbook_that_agrees(typed_into: Path) -> None:
    assert judged(typed_into).firsts[0].cause is Cause.STALE
    back = back_from(typed_into)
    assert (back.unheld, back.remarks) == ([], [])
    assert len(fields_that_differ(load("grpo-batch"), back.numbers)) == len(TYPED)
    assert apart(Book(blueprint_of(back.numbers))) == {}


def test_the_numbers_come_back(tmp_path: Path) -> None:
    path, overrides = tmp_path / "a.xlsx", ("preset=verl_grpo", "kl.coef=0.07", "loss.clip_high=off")
    made(*overrides, numbers="grpo-batch").save(path)
    back = back_from(path)
    assert fields_that_differ(load("grpo-batch", overrides), back.numbers) == []
    assert (back.unheld, back.remarks) == ([], [])


def test_explain_and_diff_take_a_workbook_of_the_kind(plain: Path, typed_into: Path) -> None:
    explained = CliRunner().invoke(main, ["explain", str(plain), "total_loss"])
    assert (explained.exit_code, "adds.kl_loss" in explained.output) == (0, True)
    told = CliRunner().invoke(main, ["diff", str(plain), str(typed_into)])
    assert (told.exit_code, "score" in told.output) == (1, True)
