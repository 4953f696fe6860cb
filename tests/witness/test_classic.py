"""The witness against workbooks of classic PPO and of the KL controller: presets, drawn rollouts, numbers and words typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.book import Book
from blueprint.checking.deviations import TOLERANCES, WHITENED, compare, widened
from blueprint.inputs import Numbers, load
from blueprint.language import NotationError
from blueprint.language.blocks import Definition
from blueprint.language.nodes import wrap
from blueprint.witness import WitnessError, advantages, losses
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import witness_of as witness
from tests.page.workshop import made
from tests.witness.stage import Array, arrays
from tests.witness.windows import computed_in, typed_in
from tests.workbooks.test_classic_reference import SEEDS, drawn

TIME_LIMITS = f"rollout.terminated={[[0] * 8] * 2}"
CASES = {
    "classic": ("classic",),
    "sb3, values clipped": ("classic", "preset=sb3", "ppo.value_clip_range=0.2"),
    "torchrl, time limits": ("classic", "preset=torchrl", TIME_LIMITS),
    "rlax": ("classic", "preset=rlax"),
    "kl-controller": ("kl-controller",),
    "per token": ("kl-controller", "controller.kl_stat=token_mean", "controller.target=1.1"),
}


@cache
def book(name: str, *overrides: str) -> Book:
    """Returns the book of built-in numbers."""
    return made(*overrides, numbers=name)


def deviating(file: dict[str, Array], found: dict[str, Array] | None = None) -> list[str]:
    """Lists in what a workbook and torch differ, in the order of derivation; what divides by a small spread rounds by it."""
    theirs = found or witness([file], device="cpu")[0]
    wider = widened(theirs, {name: theirs for name in WHITENED if name in theirs})
    return [each.name for each in compare(file, theirs, TOLERANCES["float64"], wider) if not each.agrees]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_formula_is_recomputed_from_typed_blocks_and_nothing_else(case: tuple[str, ...]) -> None:
    typed = typed_in(book(*case))
    found = witness([typed], device="cpu")[0]
    assert set(found) == computed_in(book(*case))
    assert deviating(arrays(book(*case))) == []


def test_drawn_rollouts_agree_in_one_call() -> None:
    files = [arrays(Book(blueprint_of(drawn(seed)))) for seed in SEEDS[::2]]
    together = witness(files, device="cpu")
    for file, found in zip(files, together, strict=True):
        assert deviating(file, found) == []
    for file, found in zip(files[:6], together, strict=False):
        alone = witness([file], device="cpu")[0]
        assert [name for name in found if not np.array_equal(found[name], alone[name])] == []


@pytest.mark.parametrize(
    ("case", "typed"),
    [
        ("classic", {"preset": "SB3", "gamma.yours": 0.5, "value_combine.yours": "MAX", "value_clip_range.yours": np.inf}),
        ("classic", {"whiten_form.yours": "std_max", "whiten_eps.yours": 0.7, "clip_more.yours": 0.3}),
        ("classic", {"value_norm.yours": "smooth_l1", "gae_lambda.yours": 1.5}),
        ("classic", {"done": [[0.5] * 8, [1] * 8], "terminated": [[1] * 8, [0] * 8], "bootstrap.yours": "terminated"}),
        ("torchrl, time limits", {"whiten_advantages.yours": "on", "actions": [[3] * 8, [0] * 8]}),
        ("kl-controller", {"target.yours": -1, "kl_coef.yours": -0.5, "responses.length": [[0.5] * 4] * 6}),
    ],
)  # fmt: skip
def test_numbers_and_words_that_are_typed_are_followed(case: str, typed: dict[str, object]) -> None:
    edited, before = arrays(Book(book(*CASES[case]).blueprint.with_typed(typed))), arrays(book(*CASES[case]))
    assert deviating(edited) == []
    changed = {name for name in computed_in(book(*CASES[case])) if not np.array_equal(edited[name], before[name])}
    assert changed & {"total_loss", "final_kl_coef", "check.norm.verdict"}


GIVEN = ("rewards", "values.old", "values.new", "old.logits", "policy.logits", "done")


@pytest.mark.parametrize(
    ("name", "given"), [("classic", GIVEN), ("kl-controller", ("responses.kl", "responses.length"))]
)
def test_every_number_that_is_typed_matters(name: str, given: tuple[str, ...]) -> None:
    """A witness that forgot one would not see that it was changed; the length of a response without KL tells nothing."""
    file = typed_in(book(name))
    before = witness([file], device="cpu")[0]
    cells = [
        (key, at) for key in given for at in np.ndindex(file[key].shape) if key[-6:] != "length" or file[given[0]][at]
    ]
    files = []
    for key, at in cells:
        moved = file[key].copy()
        moved[at] = 1 - moved[at] if key == "done" else moved[at] + 3
        files.append(file | {key: moved})
    for cell, after in zip(cells, witness(files, device="cpu"), strict=True):
        assert any(not np.array_equal(after[row], before[row]) for row in before), cell


def with_mistake(numbers: Numbers, theirs: dict[str, Array], name: str, equation: int) -> list[str]:
    """Lists what deviates if an equation comes to 2 more; one that the notation refuses deviates, too."""
    blueprint = blueprint_of(numbers)
    block = next(block for block in blueprint.blocks() if block.name == name)
    right = block.definitions[equation]
    block.definitions[equation] = Definition(right.target, wrap(right.expr + 2))
    try:
        return deviating(arrays(Book(blueprint)), theirs)
    except NotationError:
        return [name]


def shorter(numbers: Numbers) -> Numbers:
    """Returns four steps of the first environment, in which an episode ends; a KL controller as it is."""
    if numbers.level != "classic":
        return numbers
    cut = {key: each if key == "preset" else each[:1, :4] for key, each in numbers.parts.items() if key != NEXT}
    return replace(numbers, parts={**cut, NEXT: numbers[NEXT][:1]})


NEXT = "rollout.next_values"
IN_A_CIRCLE = {"identity.after": "identity.to_go", "kl_coef.before": "kl_coef.after"}
"""Rows that read each other: what is wrong in one is wrong in the other, a cell further."""


@pytest.mark.parametrize(
    ("case", "begins", "least"),
    [(("classic",), "", 80), (("classic", "ppo.value_norm=smooth_l1"), "value.", 8), (("kl-controller",), "", 20)],
)
def test_whatever_equation_is_another_one_its_row_is_named_first(
    case: tuple[str, ...], begins: str, least: int
) -> None:
    """Every equation in turn comes to 2 more, edges of rows, too: no row is left unchecked."""
    numbers, known = shorter(load(case[0], case[1:])), book(*case).values.arrays.items()
    rows = {block.name: block for block, array in known if array.dtype != object and block.name.startswith(begins)}
    settings = {name.removesuffix(".yours") for name in typed_in(book(*case)) if name.endswith(".yours")}
    of_settings = {f"{name}{part}" for name in settings for part in ("", ".preset", ".outside", ".number")}
    verdicts = {name for name in rows if name.endswith((".worst", ".failed"))}
    names = computed_in(book(*case)) & rows.keys() - of_settings - verdicts
    planted = [(name, place) for name in sorted(names) for place in range(len(rows[name].definitions))]
    assert len(planted) > least
    theirs = witness([arrays(Book(blueprint_of(numbers)))], device="cpu")[
        0
    ]  # of what is typed, which no equation changes
    found = {each: with_mistake(numbers, theirs, *each)[:1] for each in planted}
    missed = {each: first for each, first in found.items() if first not in ([each[0]], [IN_A_CIRCLE.get(each[0])])}
    assert missed == {}


def forgetting_ends(rewards: Tensor, values: Tensor, ahead: Tensor, *others: Any) -> dict[str, Tensor]:
    """Looks at V(next) across the end of an episode."""
    return GAE(rewards, values, torch.cat([values[..., 1:], ahead[..., -1:]], dim=-1), *others)


def by_n(*given: Any) -> dict[str, Tensor]:
    """Takes the variance over N instead of N − 1."""
    found = MOMENTS(*given)
    return found | {"variance": found["variance"] * 15 / 16}


def unclipped(values: Tensor, limit: Tensor, around: Tensor) -> Tensor:
    """Never clips a value."""
    return values


GAE, MOMENTS = advantages.gae, advantages.moment_rows


@pytest.mark.parametrize(
    ("room", "name", "wrong", "first"),
    [
        (advantages, "gae", forgetting_ends, "td_errors"),
        (advantages, "moment_rows", by_n, "advantage.variance"),
        (losses, "within", unclipped, "value.clipped"),
    ],
)
def test_a_mistake_in_the_witness_is_seen(
    monkeypatch: pytest.MonkeyPatch, room: object, name: str, wrong: Callable[..., object], first: str
) -> None:
    file = arrays(book("classic"))
    assert deviating(file) == []
    monkeypatch.setattr(room, name, wrong)
    assert deviating(file)[0] == first


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"preset": "sb4"}, "the preset is 'sb4': write one of default, cleanrl, sb3, torchrl, rlax"),
        ({"bootstrap.yours": "never"}, "bootstrap is 'never': write one of done, terminated"),
        ({"actions": 4}, "an action is 4: write a whole number from 0 to 3"),
        ({"actions": 0.5}, "an action is 0.5: write a whole number from 0 to 3"),
        ({"value_norm.built": "l3"}, "value_norm.built is 'l3': write one of l2, smooth_l1"),
    ],
)
def test_files_that_cannot_be_computed_are_refused(cells: dict[str, object], message: str) -> None:
    file = arrays(book("classic"))
    file |= {name: np.full_like(file[name], value) for name, value in cells.items()}
    with pytest.raises(WitnessError, match=message):
        witness([file], device="cpu")


@pytest.mark.parametrize("gone", ["done", "gamma.low", "next", "terminated", "responses.length"])
def test_files_that_lack_a_block_are_refused(gone: str) -> None:
    name = "kl-controller" if gone.startswith("responses") else "classic"
    gone = gone.replace("next", "policy.logits")
    file = {key: each for key, each in typed_in(book(name)).items() if key != gone}
    with pytest.raises(WitnessError, match=f"the file has no block {gone}, which the computation starts from"):
        witness([file], device="cpu")


def test_float32_agrees_coarsely() -> None:
    file = arrays(book("classic"))
    found = witness([file], device="cpu", dtype="float32")[0]
    assert found["advantages"].dtype == np.float32
    rows = {name: row for name, row in found.items() if not name.startswith("check.")}
    assert [each.name for each in compare(file, rows, TOLERANCES["float32"], {}) if not each.agrees] == []


def test_gradients_of_the_loss_are_those_of_torch() -> None:
    """The smaller surrogate passes no gradient where the clip holds it, as in the paper."""
    apart = torch.tensor([[[0.5, -0.5, 0.1]]], requires_grad=True)
    clipped = losses.between(apart.exp(), torch.tensor(0.8), torch.tensor(1.2))
    found = losses.surrogates(apart.exp(), clipped, torch.tensor([[[1.0, 1.0, 1.0]]]))
    (slopes,) = torch.autograd.grad(found["surrogate"].sum(), apart)
    assert [bool(slope) for slope in slopes.flatten()] == [False, True, True]
