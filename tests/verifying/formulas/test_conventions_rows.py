"""What must hold for any options: libraries side by side, holes, prompts in front, empty responses, shares."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.verifying.formulas.options import Named, Options, Texts
from blueprint.verifying.formulas.ppo import recompute
from tests.recorded_ppo import FLOOR, Changes, Run, options, presets

LIBRARIES = tuple(presets())
# These are the places of an edge, not of a word: 1 in every column in front of the last word, and not masked at all.
NOT_OF_SLOTS = {"place.until", "reward.whitened", "value.clipped"}


def made(seed: int, mask: Tensor, before: int = 0) -> Texts:
    """Returns random inputs for a mask [F, N, T] of response words, with columns of a prompt in front of the slots."""
    drawn = torch.Generator().manual_seed(seed)
    shape = (*mask.shape[:-1], mask.shape[-1])
    made = {
        each.name: torch.randn(shape, generator=drawn, dtype=torch.float64)
        for each in fields(Texts)
        if each.name not in ("slots", "mask", "score", "ended")
    }
    score = torch.randn(shape[:-1], generator=drawn, dtype=torch.float64)
    ended = (torch.arange(shape[-2]) % 2).expand(shape[:-1]).to(torch.float64)
    texts = Texts(slots=torch.ones(shape, dtype=torch.float64), mask=mask, **made, score=score, ended=ended)
    return texts if not before else _after_prompt(texts, before, drawn)


def _after_prompt(texts: Texts, before: int, drawn: torch.Generator) -> Texts:
    moved = {}
    for each in fields(texts):
        row = getattr(texts, each.name)
        if row.dim() == 3:
            front = torch.randn((*row.shape[:-1], before), generator=drawn, dtype=torch.float64)
            moved[each.name] = torch.cat([front * (each.name not in ("slots", "mask")), row], dim=-1)
    return replace(texts, **moved)


def mask_of(*rows: str) -> Tensor:
    """Returns a mask [1, N, T] from rows such as "1100"."""
    return torch.tensor([[[float(cell) for cell in row] for row in rows]], dtype=torch.float64)


def used(*libraries: str, changes: Changes | None = None) -> Options:
    """Returns the options of libraries side by side."""
    return options([Run(library, "", changes=changes or {}) for library in libraries])


def rows_of(texts: Texts, chosen: Options) -> Named:
    """Returns the rows of texts [1, N, T] for every file of the options."""
    count = len(chosen.values["gamma"])
    repeated = {each.name: getattr(texts, each.name).expand(count, *[-1] * (getattr(texts, each.name).dim() - 1))
                for each in fields(texts)}  # fmt: skip
    return recompute(Texts(**repeated), chosen, torch.full((count,), FLOOR, dtype=torch.float64))


MASK = mask_of("111100", "110000", "111111", "100000")
HOLED = mask_of("110110", "101000", "011111", "111000")


@pytest.mark.parametrize("mask", [MASK, HOLED], ids=["whole", "with holes"])
def test_libraries_side_by_side_are_what_each_gives_alone(mask: Tensor) -> None:
    together = rows_of(made(1, mask), used(*LIBRARIES))
    for number, library in enumerate(LIBRARIES):
        alone = rows_of(made(1, mask), used(library))
        for name, row in together.items():
            torch.testing.assert_close(row[number], alone[name][0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("mask", [MASK, HOLED, mask_of("000000", "110000")], ids=["whole", "with holes", "empty"])
def test_shares_add_up_to_the_total(mask: Tensor) -> None:
    chosen = used(*LIBRARIES, changes={"ent_coef": 0.1, "policy_kl_coef": 0.2})
    rows = rows_of(made(2, mask), chosen)
    torch.testing.assert_close(rows["share"].sum(dim=(-2, -1)), rows["total_loss"], rtol=1e-12, atol=1e-12)


def test_what_stands_in_front_of_the_slots_does_not_matter() -> None:
    texts, moved = made(3, MASK), made(3, MASK, before=3)
    alone, behind = rows_of(texts, used(*LIBRARIES)), rows_of(moved, used(*LIBRARIES))
    for name, row in alone.items():
        shifted = behind[name][..., 3:] if row.dim() == 3 else behind[name]
        torch.testing.assert_close(shifted, row, rtol=1e-12, atol=1e-12)
        if row.dim() == 3 and name not in NOT_OF_SLOTS:
            assert (behind[name][..., :3] == (name in ("ratio", "ratio.clipped"))).all(), name


@pytest.mark.parametrize("library", LIBRARIES)
def test_responses_without_a_word_leave_every_row_finite(library: str) -> None:
    for mask in (mask_of("0000", "0000"), mask_of("0000", "1000"), mask_of("1")):
        for name, row in rows_of(made(4, mask), used(library, changes={"reward.whiten": "on"})).items():
            assert torch.isfinite(row).all(), name


def test_carrying_over_a_hole_is_the_response_without_it() -> None:
    """As verl's loop: V and A of the next word are kept over the hole."""
    texts = made(5, mask_of("1011011"))
    words = texts.mask[0, 0] > 0
    whole = {each.name: getattr(texts, each.name) for each in fields(texts)}
    dense = Texts(**{name: row[..., words] if row.dim() == 3 else row for name, row in whole.items()})
    changes: Changes = {"advantage.gae_holes": "carry", "gamma": 0.9, "gae_lambda": 0.8, "reward.kl_in": "reward"}
    with_hole, without = (rows_of(each, used("verl", changes=changes)) for each in (texts, dense))
    for name in ("td_errors", "returns", "advantages_used", "value.word_loss", "surrogate"):
        torch.testing.assert_close(with_hole[name][..., words], without[name], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(with_hole["total_loss"], without["total_loss"], rtol=1e-12, atol=1e-12)


def test_zero_in_a_hole_hides_the_value_behind_it_but_not_the_advantage() -> None:
    """As the loops of TRL and OpenRLHF on V·mask and r·mask, which know of no holes."""
    changes: Changes = {"advantage.gae_holes": "zero", "gamma": 0.9, "gae_lambda": 0.8}
    rows = rows_of(made(6, mask_of("1101")), used("trl_0.11.4", changes=changes))
    delta, advantages, rewards = (rows[name][0, 0] for name in ("td_errors", "advantages", "rewards"))
    values = rows["values.kept"][0, 0]
    expected = torch.zeros(5, dtype=torch.float64)
    for t in reversed(range(4)):
        assert float(delta[t]) == pytest.approx(float(rewards[t] + 0.9 * values[t + 1] - values[t]))
        expected[t] = delta[t] + 0.9 * 0.8 * expected[t + 1]
    torch.testing.assert_close(advantages, expected, rtol=1e-12, atol=1e-12)


def test_clamps_cut_what_is_larger() -> None:
    texts = made(7, mask_of("111"))
    texts = replace(texts, old_logprobs=torch.tensor([[[0.0, -40.0, -1.0]]], dtype=torch.float64))
    texts = replace(
        texts, reference_logprobs=torch.zeros(1, 1, 3, dtype=torch.float64), logprobs=texts.old_logprobs * 0
    )
    rows = rows_of(texts, used("nemo_rl", changes={"loss.log_ratio_clamp": 20}))
    assert rows["kl.k1"][0, 0].tolist() == [0, -20, -1]
    assert rows["kl.used"][0, 0].tolist() == pytest.approx([0, 10, torch.e - 2])
    assert rows["log_ratio"][0, 0].tolist() == [0, 20, 1]


def test_a_large_mean_ratio_switches_both_losses_off() -> None:
    texts = made(8, MASK)
    rows = rows_of(replace(texts, logprobs=texts.old_logprobs + 3), used("trl_0.11.4", "trl_1.12"))
    assert rows["loss.keep"].tolist() == [0, 1]
    assert [rows[name][0].abs().item() for name in ("policy_loss", "value_loss", "total_loss")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("slot", "columns"),
    [("last", [3, 1, 5, 0]), ("end", [5, 5, 5, 5]), ("one_past", [4, 2, 5, 1]), ("two_past", [5, 3, 5, 2])],
)
def test_the_score_lands_where_it_is_said_to(slot: str, columns: list[int]) -> None:
    rows = rows_of(made(9, MASK), used("trl_0.11.4", changes={"reward.score_slot": slot}))
    assert rows["score.place"][0].argmax(dim=-1).tolist() == columns
    assert rows["score.place"][0].sum(dim=-1).tolist() == [1, 1, 1, 1]


def test_a_value_inside_its_range_never_counts_as_clipped() -> None:
    """−0.08 + (0.12 − (−0.08)) is not 0.12 in binary numbers, and would decide a tie of the squares."""
    texts = made(10, mask_of("1"))
    old, new = (torch.tensor([[[each]]], dtype=torch.float64) for each in (-0.08, 0.12))
    rows = rows_of(replace(texts, old_values=old, values=new, score=old[..., 0]), used("openrlhf"))
    assert rows["value.clipped"].item() == 0.12
    assert rows["clip_fraction.value"].item() == 0
