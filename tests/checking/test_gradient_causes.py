"""A wrong gradient or step is named first, before what follows from it, and with the mistake by which it is what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from openpyxl.utils import get_column_letter

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking import Checked
from blueprint.checking.checker import judge
from blueprint.checking.recomputed import OfPage, Recomputed, recomputed
from blueprint.checking.verdicts import Verdict
from blueprint.inputs import load
from blueprint.language import Expr, Operand, sqrt
from blueprint.misconceptions import Misconception
from blueprint.page.cells import runs_of
from blueprint.page.outline import Blueprint
from blueprint.page.placing import place_blocks
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import j, n, t, v
from tests.checking.cells import change
from tests.checking.running import run
from tests.rows import Array, arrays
from tests.workbooks.test_backward import MISTAKES, G, with_equation

NUMBERS = {
    "forward": ("default", "ppo.gamma=0.9", "ppo.policy_kl_coef=0.3"),
    "gradients": ("default", "gradients=on", "ppo.ent_coef=0.1", "ppo.policy_kl_coef=0.3"),
    "steps": ("epochs", "update.epochs=2", "update.weight_decay=0.1", "update.eps=0.01", "ppo.ent_coef=0.1"),
    "minibatches": ("epochs", "update.epochs=2", "update.minibatches=2", "update.order=[[2,1],[1,2]]"),
    "grpo": (
        "grpo-batch", "gradients=on", "kl.place=loss", "kl.coef=0.1", "loss.ent_coef=0.1", "reward.overlong=linear",
        "reward.max_tokens=5", "reward.buffer=2", "loss.clip_low=0.02", "loss.clip_high=0.03", "loss.dual_clip=3",
        "loss.mask=drop_truncated", "rollout.level=token", "rollout.high=2",
    ),
    "dpo": (
        "dpo-batch", "gradients=on", "loss.gamma=0.3", "loss.label_smoothing=0.1", "loss.nll_coef=0.2", "loss.desirable=1.3",
        "logp.ld=both", "logp.ld_alpha=0.5", "loss.bco_threshold=batch_mean", "dpo.beta=0.3", "loss.bco_mix=0.3",
    ),
    "reward model": (
        "reward-batch", "gradients=on", "pairs.ranking=[1,1,1,2]", "pairs.counts=[1,0,1,1]", "loss.margin=typed",
        "reward.center=0.3", "reward.l2=0.2", "score.subtract=0.3", "score.divide=1.7",
    ),
    "whitened": ("epochs", "update.epochs=1", "update.minibatches=2", "update.whiten=minibatch"),
    "sft": ("sft-batch", "gradients=on", "sft.microbatches=2"),
}  # fmt: skip


def outline(numbers: str) -> Blueprint:
    """Returns a fresh blueprint."""
    name, *overrides = NUMBERS[numbers]
    return blueprint_of(load(name, overrides))


@dataclass
class Bench:
    """A saved workbook, and what check says of it when an equation is another one."""

    file: Checked
    numbers: str

    @cached_property
    def torch(self) -> Recomputed:
        """What torch computes from what is typed."""
        return recomputed([self.file], "cpu", "float64")[0]

    def with_equation(self, name: str, wrong: Callable[[G], Operand]) -> Verdict:
        """Checks the file as it would be if a row had been filled with another formula, and all recalculated."""
        return self.with_book(planted(self.numbers, name, wrong), name)

    def with_book(self, book: Book, name: str) -> Verdict:
        """Checks the file with the formulas that a row has in another book, and with the numbers of that."""
        file = copy(self.file)
        sheet = file.places[name].sheet
        file.written = {**file.written, sheet: {**file.written[sheet], **formulas_of(book, name)}}
        file.arrays = {name: _as_long(array, self.file.arrays[name]) for name, array in arrays(book).items()}
        file.__dict__["computed"] = None
        return judge(file, self.torch, OfPage(), "float64")


def planted(numbers: str, name: str, wrong: Callable[[G], Operand]) -> Book:
    """Returns a fresh book in which one row has another equation."""
    return with_equation(outline(numbers), name, wrong)


def formulas_of(book: Book, name: str) -> dict[tuple[int, int], str]:
    """Returns the formulas of a row by their cells, counted from 1."""
    return {
        (each.row + 1, column + 1): formula.removeprefix("=")
        for each in runs_of(book.blocks[name], place_blocks(book.blueprint, book.values))
        for column, formula in zip(each.columns, each.formulas or ("",) * len(each.columns), strict=True)
        if formula
    }


def _as_long(array: Array, other: Array) -> Array:
    """Cuts off what a mistake adds before the first position."""
    return array[:, -other.shape[1] :] if array.ndim > 1 and array.shape[1] > other.shape[1] else array


def saved(room: Path, *names: str) -> dict[str, Bench]:
    """Saves some of the workbooks."""
    for name in names:
        Book(outline(name)).save(room / f"{name}.xlsx")
    return {name: Bench(Checked(room / f"{name}.xlsx"), name) for name in names}


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bench]:
    """Saves a workbook with gradients and one with steps of AdamW."""
    room = tmp_path_factory.mktemp("causes")
    return saved(room, "gradients", "steps")


SAID = {
    "no backpropagation through time": "there is no backpropagation through time",
    "backpropagation through time the wrong way": "backpropagation through time runs the wrong way",
    "1 − h for 1 − h²": "the slope of tanh is 1 − h², not 1 − h",
    "no 1 − h² at all": "the slope of tanh, 1 − h², is forgotten",
    "the soft-max without − p": "the Σ of the soft-max is forgotten",
    "the sign of the entropy": "the sign of the entropy is turned",
    "the clip ignored": "the clip is ignored",
    "½ forgotten": "the ½ of the value loss is forgotten",
    "the mean forgotten": "the mean is forgotten",
    "one-hot of the wrong token": "the one-hot is that of the token read, not of the token written",
    "the value clip ignored": "the value clip is ignored",
    "the ratio forgotten": "the slope of ρ = e^d is ρ itself",
    "the bias of the head read once": "a ½ is one too many",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_is_named_first_with_its_mistake(benches: dict[str, Bench], mistake: str) -> None:
    name, wrong = MISTAKES[mistake]
    (first,) = benches["gradients"].with_equation(name, wrong).firsts
    assert first.name == name
    assert SAID[mistake].casefold() in first.likely.casefold()
    assert first.likely in str(first)


def mean(b: G, moment: str, decayed: bool) -> Expr:
    """Returns a moment of Y in the first step, of the gradient with the weight decay or without."""
    Y, by = b["policy.Y"], b["optimiser.beta1" if moment == "m" else "optimiser.beta2"]
    each = b["update1.gradient.policy.Y"][j, v] + (b["optimiser.weight_decay"] * Y[j, v] if decayed else 0)
    return (1 - by) * (each if moment == "m" else each * each)


def way(b: G, corrected: bool, inside: bool = False) -> Expr:
    """Returns the direction of Y in the first step."""
    left = [1 - b[f"update1.power{i}"] if corrected else b["optimiser.eps"] / b["optimiser.eps"] for i in (1, 2)]
    m, square = b["update1.m.policy.Y"][j, v] / left[0], b["update1.v.policy.Y"][j, v] / left[1]
    eps = b["optimiser.eps"]
    return m / (sqrt(square + eps) if inside else sqrt(square) + eps)


STEPS: dict[str, tuple[str, Callable[[G], Operand]]] = {
    "the bias correction is forgotten": ("update1.direction.policy.Y", lambda b: way(b, corrected=False)),
    "ε stands inside the root": ("update1.direction.policy.Y", lambda b: way(b, corrected=True, inside=True)),
    "the weight decay is coupled": ("update1.m.policy.Y", lambda b: mean(b, "m", decayed=True)),
    "the weight decay is coupled: ": ("update1.v.policy.Y", lambda b: mean(b, "v", decayed=True)),
    "the weight decay is coupled: it": (
        "update2.m.policy.Y", lambda b: b["optimiser.beta1"] * b["update1.m.policy.Y"][j, v] + (1 - b["optimiser.beta1"])
        * (b["update2.gradient.policy.Y"][j, v] + b["optimiser.weight_decay"] * b["epoch2.policy.Y"][j, v]),
    ),
    "β2 stands where β1": (
        "update1.m.policy.Y", lambda b: (1 - b["optimiser.beta2"]) * b["update1.gradient.policy.Y"][j, v],
    ),
    "the weight decay is left out": (
        "update1.policy.Y",
        lambda b: b["policy.Y"][j, v] - b["optimiser.lr"] * b["update1.direction.policy.Y"][j, v],
    ),
    "the slope of tanh is 1 − h², not 1 − h": (
        "epoch2.policy.memory.grad.in",
        lambda b: b["epoch2.policy.memory.grad"][n, t, j] * (1 - b["epoch2.policy.memory"][n, t, j]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", STEPS)
def test_a_wrong_step_is_named_first_with_its_mistake(benches: dict[str, Bench], said: str) -> None:
    name, wrong = STEPS[said]
    (first,) = benches["steps"].with_equation(name, wrong).firsts
    assert first.name == name
    assert first.likely.casefold().startswith(said.casefold())


@pytest.mark.parametrize(
    ("row", "name", "bound"),
    [
        ("{model}.memory.grad", "epoch2.1.policy.memory.grad", {"within": "epoch2.1.", "model": "policy"}),
        (
            "update{step}.{weight}",
            "update1.2.critic.head.w",
            {"within": None, "step": "1.2", "weight": "critic.head.w"},
        ),
        ("update{step}.m.{weight}", "update12.m.policy.E", {"within": None, "step": "12", "weight": "policy.E"}),
        ("surrogate.grad", "surrogate.grad", {"within": None}),
        ("surrogate.grad", "surrogate.grad.norm", None),
    ],
)
def test_a_mistake_is_known_of_rows_by_their_names(row: str, name: str, bound: dict[str, str | None] | None) -> None:
    assert Misconception(row, "", "").bound(name) == bound


def test_the_command_names_a_row_that_was_filled_with_another_formula(
    benches: dict[str, Bench], tmp_path: Path
) -> None:
    name, wrong = MISTAKES["1 − h for 1 − h²"]
    file = benches["gradients"].file
    formulas = formulas_of(planted("gradients", name, wrong), name)
    cells = {f"{get_column_letter(column)}{row}": (text, None) for (row, column), text in formulas.items()}
    change(file.path, tmp_path / "a.xlsx", file.places[name].sheet, cells)
    code, out, _ = run(tmp_path / "a.xlsx")
    assert code == 1
    assert re.search(
        r"policy\.memory\.grad\.in of .*: sheet .*\n  broken formula: the whole row is =.*; a fresh workbook has =.*\n"
        r"  likely: The slope of tanh is 1 − h², not 1 − h\.\n  \d+ quantities follow from it: .*policy\.memory\.grad(?!\.in)",
        out,
    )


def test_clean_files_are_not_accused_and_a_typed_number_is_no_known_mistake(benches: dict[str, Bench]) -> None:
    for bench in benches.values():
        assert judge(bench.file, bench.torch, OfPage(), "float64").firsts == ()
    (first,) = (
        benches["gradients"].with_equation("ratio.grad", lambda b: b["surrogate.grad"][n, t] * b["ratio"][n, t]).firsts
    )
    assert (first.name, first.likely) == ("ratio.grad", "")


def test_two_wrong_rows_are_named_from_the_loss_back(benches: dict[str, Bench]) -> None:
    """What is wrong on its own is named on its own: the critic's and the policy's way back do not meet."""
    names = list(benches["gradients"].torch.rows)
    back = [
        "surrogate.grad",
        "ratio.grad",
        "policy.logprobs.grad",
        "policy.logits.grad",
        "policy.memory.grad",
        "policy.Y.grad",
    ]
    assert [name for name in names if name in back] == back
