"""Saved workbooks of every kind against the outside witness, and mistakes planted in them, by the command and from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking.causes import Cause
from blueprint.checking.verdicts import Verdict
from blueprint.page.read import Found
from tests.audit import formulas
from tests.checking.cells import change
from tests.checking.running import judged, judged_together, run
from tests.page.workshop import located, made
from tests.replayed import window_book, with_everything_logged
from tests.windows import variant

BOOKS: dict[str, Callable[[], Book]] = {
    "default": made,
    "very-very-sleepy": partial(made, numbers="very-very-sleepy"),
    "logits": partial(made, "preset=verl", "compare=openai,openrlhf,verl", numbers="ten-libraries"),
    "weights": partial(made, "conventions=live", "compare=verl"),
    "ten": partial(made, "preset=verl", numbers="ten-libraries"),
    "classic": partial(made, numbers="classic"),
    "torchrl": partial(made, "preset=torchrl", numbers="classic"),
    "kl-controller": partial(made, numbers="kl-controller"),
    "grpo": partial(made, numbers="grpo-batch"),
    "dpo": partial(made, "gradients=on", numbers="dpo-batch"),
    "sft": partial(made, numbers="sft"),
    "verl": partial(window_book, "verl"),
    "trl": partial(window_book, "trl_1.12", 24, with_everything_logged("trl_1.12")),
    "rewards": partial(variant, "rewards"),
    "advantages": partial(variant, "advantages, no entropy"),
}
"""The last four are of a minibatch, one for each place where such a workbook begins."""
AMONG = {
    "dpo": {"policy.logits.grad", "policy.logprobs.grad", "margin.grad", "chosen.logp.grad"},
    "sft": {"policy.E.grad", "update1.direction.policy.W", "epoch2.policy.Y", "epoch2.label.weight"},
}
"""Quantities that must be among those that are computed: gradients, and the steps of an optimiser."""
Saved = Callable[[str], Path]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Saves a workbook when it is first asked for."""
    folder = tmp_path_factory.mktemp("kinds")

    def path(name: str) -> Path:
        file = folder / f"{name}.xlsx"
        if not file.exists():
            BOOKS[name]().save(file)
        return file

    return path


def cell_of(path: Path, found: Found, at: tuple[int, ...]) -> str:
    """Returns the address of a cell of a block, and checks that a formula stands there."""
    assert (found.sheet, found.cell(at)) in formulas_in(path)
    return found.cell(at)


@cache
def formulas_in(path: Path) -> dict[tuple[str, str], str]:
    """Returns every formula of a saved workbook, which no test writes anew."""
    return formulas(path)


def computed(path: Path) -> set[str]:
    """Returns the names of the blocks of a file that are not typed."""
    return {name for name, found in located(path).items() if found.kind != "typed"}


@pytest.mark.parametrize("name", BOOKS)
def test_every_quantity_has_a_line_and_agrees(saved: Saved, name: str) -> None:
    verdict = judged(saved(name))
    assert verdict.firsts == ()
    assert {line.name for line in verdict.lines} == computed(saved(name))
    assert [line.name for line in verdict.lines if not line.agrees] == []
    assert verdict.agrees
    assert not verdict.file.recalculated
    assert AMONG.get(name, set()) <= computed(saved(name))
    assert name not in ("default", "very-very-sleepy") or verdict.largest < 1e-14


def test_the_command_prints_a_line_for_each_quantity(saved: Saved) -> None:
    code, out, err = run(saved("trl"), "--all")
    assert (code, err) == (0, "")
    assert f"{saved('trl')}  agrees" in out
    assert computed(saved("trl")) - {line.split()[0] for line in out.splitlines() if line.strip()} == set()


def test_all_kinds_in_one_call_on_the_command_line(saved: Saved) -> None:
    names = ("classic", "torchrl", "kl-controller", "verl", "trl", "rewards", "advantages")
    code, out, _ = run(*map(saved, names))
    assert code == 0
    assert [f"{saved(name)}  agrees" in out for name in names] == [True] * len(names)
    code, out, _ = run(*map(saved, names[:3]), "--json")
    found = json.loads(out)["files"]
    assert (code, [each["agrees"] for each in found]) == (0, [True] * 3)
    assert min(each["quantities_compared"] for each in found) > 50


TYPED_OVER: list[tuple[str, str, tuple[int, ...], str]] = [
    ("logits", "score.place", (1, 3), ""),
    ("logits", "library.rewards.raw", (2, 1, 4), "library.rewards.raw of library 3, episode 2, position 5"),
    ("weights", "policy.weight.row", (0, 5), ""),
    ("verl", "advantages", (1, 3), ""),
    ("verl", "place.until", (2, 16), ""),
    ("trl", "off.rewards", (0, 5), ""),
    ("trl", "total_loss", (), ""),
    ("rewards", "td_errors", (2, 0), ""),
    ("advantages", "surrogate", (1, 1), ""),
    ("classic", "td_errors", (1, 4), "td_errors of environment 2, step 5"),
    ("classic", "identity.to_go", (0, 8), "identity.to_go of environment 1, the end of steps"),
    ("classic", "old.p", (0, 2, 0), "old.p of environment 1, step 3, action 0"),
    ("torchrl", "value.clipped.size", (1, 1), "value.clipped.size of environment 2, step 2"),
    ("kl-controller", "responses.kl_per_word", (5, 3), "responses.kl_per_word of update 6, response 4"),
    ("kl-controller", "kl_coef.after", (0,), "kl_coef.after of the start of updates"),
    *(("grpo", block, at, "") for block, at in (("group.others", (1, 2)), ("log_ratio", (0, 1)))),
    *(
        ("dpo", block, at, "")
        for block, at in (("chosen.ratio", (1,)), ("policy.weighed", (0, 3)), ("margin.grad", (2,)))
    ),
    *(("sft", block, at, "") for block, at in (("loss.of_token", (1, 2)), ("policy.W.grad", (0, 1)))),
]
"""Workbook, block, cell, and how the cell is called."""


Judged = Callable[[str], dict[tuple[str, tuple[int, ...]], tuple[str, Verdict]]]


@pytest.fixture(scope="module")
def typed_over(saved: Saved, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Types 0.3751 over each cell of a workbook in a copy; returns the cell and the verdict on the copy by block and place.

    The copies of a workbook are checked together, which takes half the time; that each is judged alone is tested in
    test_together.py.
    """

    @cache
    def judged_of(name: str) -> dict[tuple[str, tuple[int, ...]], tuple[str, Verdict]]:
        folder = tmp_path_factory.mktemp("typed_over")
        wanted = {(block, at): folder / f"{i}.xlsx" for i, (of, block, at, _) in enumerate(TYPED_OVER) if of == name}
        cells = {}
        for (block, at), path in wanted.items():
            found = located(saved(name))[block]
            cells[block, at] = cell = cell_of(saved(name), found, at)
            change(saved(name), path, found.sheet, {cell: (None, 0.3751)})
        verdicts = judged_together([*wanted.values()])
        return {each: (cells[each], verdict) for each, verdict in zip(wanted, verdicts, strict=True)}

    return judged_of


@pytest.mark.parametrize(("name", "block", "at", "what"), TYPED_OVER)
def test_a_number_typed_over_a_formula_is_named(
    saved: Saved, typed_over: Judged, name: str, block: str, at: tuple[int, ...], what: str
) -> None:
    found = located(saved(name))[block]
    cell, verdict = typed_over(name)[block, at]
    first = verdict.firsts[0]
    assert (first.name, first.cell, first.sheet) == (block, f"{found.sheet}!{cell}", 0.3751)
    assert first.cause is Cause.FORMULA
    assert what in ("", first.what)
    if name == "verl":
        code, out, _ = run(verdict.file.path)
        assert code == 1
        assert f"differs: {found.sheet}!{cell}: {block}" in out


@pytest.mark.parametrize(
    ("name", "block", "old", "new", "follows"),
    [
        ("logits", "surrogate.floor", "", "*2", {"surrogate"}),
        ("classic", "td_errors", "gamma_*", "1*", {"advantages"}),
        ("verl", "policy.weight.token_mean", "", "*2",
         {"policy.weight.row", "policy_loss", "total_loss", "off.total_loss"}),
    ],
)  # fmt: skip
def test_a_row_of_another_formula_is_named_though_the_file_does_not_contradict_itself(
    saved: Saved, tmp_path: Path, name: str, block: str, old: str, new: str, follows: set[str]
) -> None:
    """Every cell of a row has another formula, and the file is recalculated."""
    found = located(saved(name))[block]
    written = {
        cell: formulas_in(saved(name))[found.sheet, cell] for cell in (found.cell(at) for at, _, _ in found.cells())
    }
    edits = {cell: (text.replace(old, new) if old else text + new, None) for cell, text in written.items()}
    change(saved(name), tmp_path / "a.xlsx", found.sheet, edits)
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated
    assert [first.name for first in verdict.firsts] == [block]
    assert verdict.firsts[0].cause is Cause.FORMULA
    assert "; a fresh workbook has =" in verdict.firsts[0].why
    assert follows <= set(verdict.firsts[0].follows)


STALE: list[tuple[str, str, tuple[int, ...], float | str, str, set[str]]] = [
    ("logits", "preset", (), "torchtune", "preset.number", {"gae_lambda.preset", "score.place", "total_loss", "library.differs"}),
    ("classic", "gamma.yours", (), 0.5, "gamma", {"td_errors", "advantages", "total_loss"}),
    ("classic", "done", (1, 5), 0, "advantage.done", {"stop", "td_errors", "returns"}),
    ("classic", "preset", (), "torchrl", "preset.number", {"whiten_form", "total_loss"}),
    ("kl-controller", "responses.kl", (0, 0), 90, "kl.seq_sum", {"error.raw", "kl.fed"}),
    ("verl", "gae_lambda.yours", (), 0.5, "gae_lambda", {"advantages", "returns", "total_loss"}),
    ("verl", "after.advantages", (0,), 0.75, "advantages", {"returns", "advantage.whitened", "policy_loss"}),
    ("verl", "rest.policy", (), 0.25, "policy_loss", {"total_loss"}),
    ("verl", "preset", (), "torchtune", "preset.number", {"reward.score_slot", "advantages", "total_loss"}),
]  # fmt: skip
"""Workbook, what is typed where, the first quantity that is stale, and some that follow."""


@pytest.mark.parametrize(("name", "typed", "at", "value", "first", "follows"), STALE)
def test_an_input_changed_without_recalculation_is_stale(
    saved: Saved, tmp_path: Path, name: str, typed: str, at: tuple[int, ...], value: float | str, first: str, follows: set[str]
) -> None:  # fmt: skip
    found = located(saved(name))[typed]
    change(saved(name), tmp_path / "a.xlsx", found.sheet, {found.cell(at): (None, value)})
    verdict = judged(tmp_path / "a.xlsx")
    assert (verdict.firsts[0].name, verdict.firsts[0].cause) == (first, Cause.STALE)
    assert follows <= set(verdict.firsts[0].follows)


EDITED: dict[str, dict[str, object]] = {
    "classic": {"preset": "sb3", "gamma.yours": 0.9, "value_clip_range.yours": 0.1, "whiten_form.yours": "std_max"},
    "trl": {"kl_estimator.yours": "k3", "gamma.yours": 0.9, "loss.aggregation.yours": "seq-mean-token-mean"},
}
BECOME: dict[str, tuple[str, str]] = {"classic": ("value_combine", "clipped_only"), "trl": ("kl_estimator", "k3")}


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_workbook_that_was_saved_without_numbers_agrees(saved: Saved, tmp_path: Path, name: str) -> None:
    """openpyxl drops every number, so that the file is recalculated with what was typed: it then agrees."""
    places, written = located(saved(name)), openpyxl.load_workbook(saved(name))
    for block, value in EDITED[name].items():
        written[places[block].sheet][places[block].cell(())].value = value
    written.save(tmp_path / "edited.xlsx")
    verdict = judged(tmp_path / "edited.xlsx")
    assert verdict.file.recalculated
    assert verdict.agrees, verdict.firsts
    assert float(verdict.file.arrays["gamma"]) == 0.9
    row, word = BECOME[name]
    assert verdict.file.arrays[row] == word


def test_an_action_that_there_is_not_is_refused_with_its_cell(saved: Saved, tmp_path: Path) -> None:
    found = located(saved("classic"))["actions"]
    cell = found.cell((0, 1))
    change(saved("classic"), tmp_path / "a.xlsx", found.sheet, {cell: (None, 1.5)})
    code, _, err = run(tmp_path / "a.xlsx", saved("torchrl"))
    expected = "found 1.5, expected a whole number from 0 to 3, as there are 4 actions"
    assert (code, f"a.xlsx, Rollout!{cell} (actions): {expected}" in err) == (3, True)
