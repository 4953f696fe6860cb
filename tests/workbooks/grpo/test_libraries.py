"""Libraries side by side: every preset's column has the loss that the library's own code computed, and a wrong preset is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.book import Book
from blueprint.cli import main
from blueprint.comparison import answers, changed, told_of
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.grpo.schema import grpo_presets
from tests.page.workshop import made
from tests.rows import arrays
from tests.workbooks.apart import distance
from tests.workbooks.grpo.recorded import Run, runs

TRL, VERL, NEMO = "trl_1.16.0_GRPOTrainer", "verl_0.9.1", "nemo_rl_7ea279a"
RECORDED = {
    "default": (TRL, "default_later_step"), "trl_grpo": (TRL, "grpo"), "trl_dapo": (TRL, "default_later_step"),
    "trl_dr_grpo": (TRL, "dr_grpo_recipe"), "trl_rloo": ("trl_1.16.0_RLOOTrainer", "default"),
    "trl_0.14": ("trl_0.14.0_GRPOTrainer", "default"), "verl_grpo": (VERL, "grpo_default"), "verl_rloo": (VERL, "rloo"),
    "verl_remax": (VERL, "remax"), "verl_rfpp": (VERL, "reinforce_plus_plus"), "verl_gpg": (VERL, "gpg"), "verl_opo": (VERL, "opo"),
    "verl_gspo": (VERL, "gspo_paper_eps"), "verl_cispo": (VERL, "cispo_default_clip"),
    "openrlhf": ("openrlhf_0.11.2", "group_norm"), "nemo_rl": (NEMO, "grpo_default"), "nemo_rl_dapo": (NEMO, "dapo_recipe"),
    "torchtune": ("torchtune_bd2a0fc", "GRPOLoss"), "open_instruct": ("open_instruct_e6c3044", "default"),
    "oat": ("oat_c1a074c_dr_grpo", "drgrpo_default"), "skyrl": ("skyrl_a956457", "grpo_default"),
    "slime": ("slime_624b824", "grpo"), "areal": ("areal_4aef98d", "grpo"), "roll": ("roll_8eb27cc", "grpo_default"),
    "liger": ("liger_kernel_0.8.5", "class_default_beta_0_04"), "unsloth": ("unsloth_zoo_2026.10.9", "dapo"),
    "grpo_paper": ("trl_0.17.0_GRPOTrainer", "grpo"), "dr_grpo_paper": (TRL, "dr_grpo_recipe"),
    "gspo_paper": (TRL, "gspo_paper_eps"), "cispo_paper": (TRL, "cispo_eps_high_5"),
}  # fmt: skip
"""By preset the run that it repeats: library and variant."""
WITHOUT = {"dapo_paper", "rloo_paper", "rfpp_paper"}
"""Papers whose whole recipe no library was run with."""
DEFECTS = {
    "CISPO's cap of 0.2 where none is set": (TRL, "cispo_default_eps_high"), "Dr. GRPO with the spread kept": (TRL, "dr_grpo"),
    "The spread of the others": (NEMO, "grpo_no_kl"), "One ratio for the whole batch": ("torchtune_bd2a0fc", "GRPOCompletionLoss"),
}  # fmt: skip
"""Defects of which a library was run with nothing else set, by their titles."""


@pytest.fixture(scope="module")
def book() -> Book:
    return made("compare=all", "gradients=on", numbers="grpo-batch")


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, str], Run]:
    return {(run.library, run.variant): run for run in runs()}


def losses(book: Book) -> dict[str, float]:
    """Returns what stands on Which GRPO, by the name of the preset."""
    names, found = (book.values[book.blocks[name]] for name in ("library.names", "which.total_loss"))
    return dict(zip(map(str, names), map(float, np.ravel(found)), strict=True))


def test_every_preset_is_one_that_was_run_or_says_why_not() -> None:
    assert {*RECORDED, *WITHOUT} == {*grpo_presets().presets}


def test_every_column_has_the_loss_that_the_library_computed(book: Book, known: dict[tuple[str, str], Run]) -> None:
    found = losses(book)
    assert found.keys() == grpo_presets().presets.keys() - {"default"}
    theirs = {name: float(known[run].out["loss"]) for name, run in RECORDED.items() if name != "default"}
    assert {name: found[name] for name in theirs} == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_a_paper_is_the_workbook_built_with_its_preset(book: Book, name: str) -> None:
    alone = made(f"preset={name}", numbers="grpo-batch")
    assert losses(book)[name] == pytest.approx(float(alone.values.cell(alone.blocks["total_loss"])), abs=1e-14)


def test_gradients_are_those_that_libraries_computed(book: Book, known: dict[tuple[str, str], Run]) -> None:
    names = list(map(str, book.values[book.blocks["library.names"]]))
    of_logits, of_tokens = (book.values[book.blocks[f"library.policy.{of}.grad"]] for of in ("logits", "logprobs"))
    norms = book.values[book.blocks["library.policy.grad.norm_l"]]
    mask = book.values[book.blocks["mask"]]
    compared = 0
    for name, run in RECORDED.items():
        out = known[run].out
        if name != "default" and "grad_logp" in out:
            place = names.index(name)
            assert mask * of_tokens[place] == pytest.approx(mask * np.array(out["grad_logp"], float), abs=1e-12), name
            assert norms[place] == pytest.approx(np.linalg.norm(of_logits[place]), rel=1e-12)
            compared += 1
    assert compared > 20


def test_a_wrong_preset_is_seen(book: Book, known: dict[tuple[str, str], Run]) -> None:
    """verl without its dual clip: the column, computed anew from the table, is no longer what verl computed."""
    names = list(map(str, book.values[book.blocks["presets.names"]]))
    wrong = np.array(book.blueprint.typed[book.blocks["presets.loss.dual_clip"]], float)
    wrong[names.index("verl_grpo")] = np.inf
    found = losses(Book(book.blueprint.with_typed({"presets.loss.dual_clip": wrong})))
    theirs = float(known[RECORDED["verl_grpo"]].out["loss"])
    assert losses(book)["verl_grpo"] == pytest.approx(theirs, abs=1e-12)
    assert abs(found["verl_grpo"] - theirs) > 1e-3
    assert found["verl_rloo"] == losses(book)["verl_rloo"]


def test_defects_are_what_libraries_computed(book: Book, known: dict[tuple[str, str], Run]) -> None:
    _, of = told_of("responses")
    first = known[RECORDED["default"]].out["loss"]
    numbers = replace(load("grpo-batch", ["compare=default"]))
    wide = replace(numbers, parts={**numbers.parts, **of.parts})
    found = {each.change.title: each.adds for each in changed(Book(blueprint_of(wide)), of.defects)}
    assert DEFECTS.keys() < found.keys()
    for title, run in DEFECTS.items():
        assert first + found[title] == pytest.approx(known[run].out["loss"], abs=1e-6), title


def test_narrow_clips_move_the_loss_little_and_take_the_gradient() -> None:
    """GSPO with the paper's ε: −.019, and a fifth of the length; the sequence mean: −.205, and 7/8 of it."""
    _, of = told_of("responses")
    numbers = load("grpo-batch", ["compare=default", "gradients=on"])
    wide = replace(numbers, parts={**numbers.parts, **of.parts})
    found = {each.change.title: each for each in changed(Book(blueprint_of(wide)), of.changes)}
    gspo = found["one ratio for a response, ε = 3e-4 and 4e-4 (GSPO)"]
    means = found["the mean over responses of the mean over their tokens"]
    assert (gspo.adds, gspo.turns["policy"].longer) == pytest.approx((-0.019, 0.20), abs=5e-3)
    assert (means.adds, means.turns["policy"].longer) == pytest.approx((-0.205, 0.875), abs=5e-3)


def test_a_word_that_no_library_has_stands_as_a_row_of_ones_own() -> None:
    _, of = told_of("responses")
    numbers = load("grpo-batch", ["compare=default", "loss.objective=sapo"])
    wide = Book(blueprint_of(replace(numbers, parts={**numbers.parts, **of.parts})))
    *_, yours = answers(wide, ["verl_grpo"])
    assert yours.preset.name == "yours"
    assert [effect.key for effect in yours.effects] == ["loss.objective"]
    assert yours.loss == pytest.approx(float(wide.values.cell(wide.blocks["total_loss"])), abs=1e-14)


def test_where_all_rewards_are_equal_no_gradient_has_an_angle_to_nothing() -> None:
    equal = ["--set", f"reward.scores={[1] * 12}", "--compare", "trl_grpo,trl_0.14,openrlhf"]
    printed = CliRunner().invoke(main, ["which", "--numbers", "grpo-batch", *equal], catch_exceptions=False).stdout
    assert "The default's gradient is 0, so that no other has an angle to it." in printed
    assert "| no spread | +0.0000 | – | – |" in printed
    assert "nan" not in printed


def test_what_stands_side_by_side_is_chosen() -> None:
    some = made("compare=trl_dr_grpo,verl_grpo", numbers="grpo")
    assert list(losses(some)) == ["trl_dr_grpo", "verl_grpo"]
    titles = [sheet.title for sheet in some.blueprint.sheets]
    place = titles.index("Library groups")
    assert titles[place : place + 4] == ["Library groups", "Libraries", "Which GRPO", "Checks"]
    assert "library.names" not in made(numbers="grpo-batch").blocks


@pytest.mark.parametrize("numbers", ["grpo-batch", "grpo"])
def test_every_library_beside_has_the_numbers_of_the_page(numbers: str) -> None:
    """Its results are those that the page has of the workbook in which it alone is chosen."""
    pytest.importorskip("torch", reason="the pages are plain torch")
    from tests.workbooks.apart import by_page

    presets = ("verl_rfpp", "verl_gspo", "openrlhf", "nemo_rl")
    beside = arrays(made(f"compare={','.join(presets)}", "gradients=on", numbers=numbers))
    for place, preset in enumerate(presets):
        book = made(f"preset={preset}", "gradients=on", numbers=numbers)
        assert {row: far for row, far in by_page(book).items() if not far <= 1e-12} == {}
        alone, moved = arrays(book), {name for name in beside if name.startswith("library.")}
        named = {row.removeprefix("page: ") for row in by_page(book)} & {row.removeprefix("library.") for row in moved}
        assert len(named) > 15
        own = {row: beside[f"library.{row}"] for row in named}  # what no convention moves stands there once for all
        own = {row: each[place] if each.ndim > alone[row].ndim else each for row, each in own.items()}
        far = {row: distance(alone[row], np.asarray(each)) for row, each in own.items()}
        assert {row: each for row, each in far.items() if not each <= 1e-12} == {}
