"""Mistakes that nobody has written a line for: made further up, by another row, in another unit; and numbers that are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.language import Array, Block, Values, compute
from blueprint.misconceptions import Diagnosis, Wrong, diagnose, further_values, wrong_values
from blueprint.misconceptions.relatives import Relatives
from blueprint.page.outline import Blank, Blueprint
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import blueprint_of, kind_of
from tests.misconceptions.mistakes import MISTAKES, epmean, gae, nxt, togo, tokmean

KINDS = ("default", "grpo", "dpo")
LN2 = np.log(2)


@dataclass(frozen=True, eq=False)
class World:
    """A workbook, its numbers, and its rows by name."""

    kind: Kind
    base: Blueprint
    values: Values
    blocks: dict[str, Block]

    def __getitem__(self, name: str) -> Any:
        found = np.nan_to_num(np.asarray(self.values[self.blocks[name]], dtype=float))
        return found if found.ndim else float(found)


@cache
def world(name: str) -> World:
    loaded = load(name)
    base = blueprint_of(loaded)
    values = compute(base.blocks(), base.sizes, base.typed, beyond=True)
    return World(kind_of(loaded), base, values, {block.name: block for block in base.blocks()})


@cache
def known(name: str, row: str, cell: tuple[int, ...]) -> list[Wrong]:
    here = world(name)
    blank = Blank(row, here.blocks[row], (cell,))
    near = wrong_values(here.kind, here.base, here.values, blank)
    return [*near, *further_values(here.kind, here.base, here.values, blank, near)]


def said(name: str, row: str, cell: tuple[int, ...], number: float) -> Diagnosis | None:
    here = world(name)
    right = float(here.values.cell(here.blocks[row], *cell))
    return diagnose([number], known(name, row, cell), [[right]], here.blocks[row].about.decimals)


def cell_for(name: str, row: str, wrong: Array) -> tuple[int, ...] | None:
    """Returns a cell in which a mistake shows, of those in which something stands."""
    here = world(name)
    right, unit = np.asarray(here[row]), 10.0 ** -here.blocks[row].about.decimals
    shows = (np.abs(wrong - right) > 2 * unit) & (np.abs(wrong) > 2 * unit) & (np.abs(right) > unit / 2)
    cells = [tuple(map(int, at)) for at in np.argwhere(shows & np.isfinite(wrong))]
    return cells[len(cells) // 3] if cells else None


Made = Callable[[World], Any]
V = "old_critic.values"
FAMILIES: list[tuple[str, str, str, Made]] = [
    ("default", "advantage.whitened", "This is A (", lambda v: v["advantages"]),
    ("default", "advantage.whitened", "divided by n", lambda v: v["advantage.centred"] / np.sqrt(
        tokmean(v, v["advantage.centred"] ** 2) + v["whiten_eps"])),
    ("default", "returns", "left out throughout", lambda v: togo(v["rewards"], 1)),
    ("default", "returns", "from here on, discounted by γ", lambda v: togo(v["rewards"], v["gamma"])),
    ("grpo", "advantages", "divided by how many positions count", lambda v: v["advantages"] / v["mask"].sum(1)[:, None]),
    ("grpo", "ratio.clipped", "logarithm is held between", lambda v: np.exp(np.clip(v["log_ratio"], -0.2, 0.2))),
    ("default", "value_loss", "½ is forgotten", lambda v: 2 * v["value_loss"]),
    ("default", "entropy", "in bits", lambda v: v["entropy"] / LN2),
    ("grpo", "entropy", "in bits", lambda v: v["entropy"] / LN2),
    ("default", "policy_loss", "max stands where min should", lambda v: -tokmean(
        v, np.maximum(v["surrogate.unclipped"], v["surrogate.clipped"]))),
    ("default", "ratio", "ratio clipped to 1", lambda v: v["ratio.clipped"]),
    ("default", "ratio", "reference", lambda v: np.exp(v["policy.logprobs"] - v["reference.logprobs"])),
    ("default", "kl.k1", "This is k2", lambda v: v["kl.k2"]),
    ("default", "kl.k1", "This is k3", lambda v: v["kl.k3"]),
    ("default", "kl.k1", "another policy (policy)", lambda v: v["policy.logprobs"] - v["reference.logprobs"]),
    ("default", "advantages", "λ stands where γ should", lambda v: gae(
        v["mask"] * (v["rewards"] + v["gae_lambda"] * nxt(v[V]) - v[V]), v["gamma"] * v["gae_lambda"])),
    ("default", "advantages", "one step alone", lambda v: v["td_errors"] + v["gamma"] * v["gae_lambda"] * nxt(v["td_errors"])),
    ("default", "td_errors", "new critic's value", lambda v: v["mask"] * (
        v["rewards"] + v["gamma"] * nxt(v["critic.values"]) - v["critic.values"])),
    ("default", "td_errors", "read at the position before", lambda v: v["mask"] * (
        v["rewards"] + v["gamma"] * v[V] - nxt(v[V], -1))),
    ("default", "policy.logprobs", "the position after", lambda v: nxt(v["policy.logprobs"])),
    ("default", "policy.logprobs", "base 10", lambda v: v["policy.logprobs"] / np.log(10)),
    ("default", "advantage.mean", "means of the episodes", lambda v: epmean(v, v["advantages"])),
    ("default", "policy_loss", "means are averaged", lambda v: -epmean(v, v["surrogate"])),
    ("dpo", "preference_loss", "reference", lambda v: np.log1p(
        np.exp(-v["beta"] * (v["chosen.logp"] - v["rejected.logp"]))).mean()),
    ("dpo", "loss.sigmoid", "mean of a token", lambda v: np.log1p(np.exp(-v["beta"] * (
        v["chosen.ratio"] / v["chosen.length"] - v["rejected.ratio"] / v["rejected.length"])))),
]  # fmt: skip
"""Numbers, row, a part of what is said, and what the row shows."""


@pytest.mark.parametrize(("name", "row", "says", "made"), FAMILIES)
def test_a_mistake_is_named_by_how_the_workbook_is_built(name: str, row: str, says: str, made: Made) -> None:
    wrong = np.broadcast_to(made(world(name)), np.shape(world(name)[row]))
    cell = cell_for(name, row, wrong)
    assert cell is not None
    found = said(name, row, cell, round(float(wrong[cell]), world(name).blocks[row].about.decimals))
    assert found is not None
    assert says in found.says


def test_most_of_a_list_that_was_written_first_is_named() -> None:
    """By numbers typed as the sheet shows them, and by those that a program saved in full."""
    shown, in_full, shows = 0, 0, 0
    for name, row, _, made in MISTAKES:
        here = world(name)
        with np.errstate(all="ignore"):
            wrong = np.broadcast_to(np.asarray(made(here), dtype=float), np.shape(here[row]))
        if (cell := cell_for(name, row, wrong)) is None:
            continue
        shows += 1
        number = float(wrong[cell])
        shown += said(name, row, cell, round(number, here.blocks[row].about.decimals)) is not None
        in_full += said(name, row, cell, number) is not None
    assert shows > 370
    assert shown / shows > 0.88
    assert in_full / shows > 0.92


def blanks() -> list[tuple[str, str, tuple[int, ...]]]:
    """Returns a cell of each row of the list."""
    found = {}
    for name, row in dict.fromkeys((name, row) for name, row, *_ in MISTAKES):
        numbers = np.asarray(world(name)[row])
        places = [tuple(map(int, at)) for at in np.argwhere(numbers != 0)]
        if places:
            found[name, row] = places[len(places) // 2]
    return [(name, row, cell) for (name, row), cell in found.items()]


def test_right_numbers_of_too_few_digits_and_zeros_are_never_named() -> None:
    for name, row, cell in blanks():
        here = world(name)
        right, decimals = float(here.values.cell(here.blocks[row], *cell)), here.blocks[row].about.decimals
        cut = int(right * 10**decimals) / 10**decimals
        for number in (round(right, decimals - 1), cut, 0.0):
            found = said(name, row, cell, number)
            assert found is None, (name, row, right, number, found)


def test_nonsense_is_hardly_ever_named() -> None:
    """Four digits are sometimes those of a mistake, by chance: of 1,000 numbers 5 at most; in full never."""
    drawn, numbers, named = np.random.default_rng(7), 0, 0
    for name, row, cell in blanks():
        here = world(name)
        right, decimals = float(here.values.cell(here.blocks[row], *cell)), here.blocks[row].about.decimals
        for number in (*drawn.normal(right, 0.5, 8), *drawn.uniform(-2, 2, 8)):
            if abs(number - right) > 3 * 10.0**-decimals:
                numbers += 1
                named += said(name, row, cell, round(float(number), decimals)) is not None
                assert said(name, row, cell, float(number)) is None
    assert numbers > 1000
    assert named <= 0.005 * numbers


def test_two_mistakes_of_one_number_are_both_said() -> None:
    """c1 is 0.5 here: whoever forgets it, and whoever forgets the ½ of the value loss, writes the same."""
    v = world("default")
    number = v["policy_loss"] + v["value_loss"] - v["ent_coef"] * v["entropy"] + v["policy_kl_coef"] * v["policy_kl"]
    found = said("default", "total_loss", (), number)
    assert found is not None
    assert "c1, is forgotten" in found.says
    assert "½ is forgotten" in found.says


def test_what_is_near_what_in_a_workbook() -> None:
    kin, blocks = Relatives(world("default").base), world("default").blocks
    near = {each.name: far for each, far in kin.near(blocks["value_loss"], 1).items() if not each.link}
    assert near["value.word_loss"] == 0  # of which it is the mean
    assert near["value.square"] == 1
    assert "critic.memory" not in near
    assert {each.name for each in kin.alike(blocks["kl.k1"])} >= {"kl.k2", "kl.k3", "kl.exact"}
    assert blocks["reference.logprobs"] in {*kin.alike(blocks["policy.logprobs"])}
    assert kin.origin(blocks["signal.values"]) is blocks[V]
