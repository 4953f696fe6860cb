"""Libraries side by side: every preset's column has the loss that the library's own code computed, and a wrong preset is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.comparison import answers, changed, told_of
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import Comparison
from blueprint.workbooks.registry import kind_named
from tests.commands import run_command
from tests.page.workshop import made
from tests.preference_runs import ORDER
from tests.rows import arrays
from tests.workbooks.apart import distance
from tests.workbooks.front_door import front
from tests.workbooks.repeats import REPEATED, RUNS, run_of

WITHOUT = {"grpo": {"dapo_paper", "rloo_paper", "rfpp_paper"}, "dpo": set[str]()}
"""By kind papers whose whole recipe no library was run with."""
PRESETS = {kind: kind_named(kind).part("presets")().presets for kind in WITHOUT}
LEVELS = {"grpo": "responses", "dpo": "preferences"}
TRL, NEMO, LF, OLD = "trl_1.16.0_GRPOTrainer", "nemo_rl_7ea279a", "llamafactory_0.9.5", "trl_0.24.0"
DEFECTS: dict[str, dict[str, tuple[str, str] | None]] = {
    "grpo": {
        "CISPO's cap of 0.2 where none is set": (TRL, "cispo_default_eps_high"), "Dr. GRPO with the std kept": (TRL, "dr_grpo"),
        "The std of the others": (NEMO, "grpo_no_kl"),
        "One ratio for the whole batch": ("torchtune_bd2a0fc", "GRPOCompletionLoss"),
    },
    "dpo": {
        "LLaMA-Factory's hinge trains DPO": (LF, "dpo/hinge"), "LLaMA-Factory's ipo trains DPO of means": (LF, "dpo/ipo"),
        "label_smoothing does nothing": ("trl_1.16.0", "dpo/sigmoid__label_smoothing_0.1"),
        "WPO's weights off by one token": (OLD, "dpo/sigmoid__use_weighting_True"),
        "LD-DPO counts from the prompt": (OLD, "dpo/sigmoid__ld_alpha_0.5"),
        "ORPO's mean counts a pad": ("orpo_208d2d6", "orpo__alpha_.1"),
        "SimPO with a whole NLL": None, "rewards logged without β": ("nemo_aligner_af2b3bd", "dpo__beta_.1"),
    },
}  # fmt: skip
"""By kind and title of a defect the run that has it and nothing else; DPO was run with every one but β = 2 and the NLL."""
LOGGED = {f"rewards/{of}": f"rewards.{of}" for of in ("chosen", "rejected", "margins", "accuracies")}


def beside(kind: str) -> Book:
    """Returns the workbook in which all libraries stand side by side."""
    return made("compare=all", "gradients=on", numbers=f"{kind}-batch")


def losses(book: Book) -> dict[str, float]:
    """Returns what stands on Which GRPO, or Which DPO, by the name of the preset."""
    names, found = (book.values[book.blocks[name]] for name in ("library.names", "which.total_loss"))
    return dict(zip(map(str, names), map(float, np.ravel(found)), strict=True))


def wide(kind: str, *overrides: str) -> tuple[Book, Comparison]:
    """Returns a workbook with what the comparison of its kind changes, and that comparison."""
    _, of = told_of(LEVELS[kind])
    numbers = load(f"{kind}-batch", ["compare=default", *overrides])
    return Book(blueprint_of(replace(numbers, parts={**numbers.parts, **of.parts}))), of


@pytest.mark.parametrize("kind", WITHOUT)
def test_every_preset_is_one_that_was_run_or_says_why_not(kind: str) -> None:
    assert {*REPEATED[kind], *WITHOUT[kind]} == {*PRESETS[kind]}


@pytest.mark.parametrize("kind", WITHOUT)
def test_every_column_has_the_loss_that_the_library_computed(kind: str) -> None:
    found = losses(beside(kind))
    assert found.keys() == PRESETS[kind].keys() - {"default"}
    theirs = {name: float(run_of(kind, name).out["loss"]) for name in REPEATED[kind] if name != "default"}
    assert {name: found[name] for name in theirs} == pytest.approx(theirs, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("preset", sorted(REPEATED["dpo"].keys() - {"default"}))
def test_a_preset_that_is_typed_in_gives_what_its_library_computed(preset: str) -> None:
    """To 1e-12, as all runs; what is logged, too, where it was recorded as one number."""
    run = run_of("dpo", preset)
    values = front("dpo", "dpo-batch").typed_in(PRESETS["dpo"][preset].values)
    metrics = run.out.get("metrics", {})
    meant = {ours: metrics[theirs] for theirs, ours in LOGGED.items() if isinstance(metrics.get(theirs), float)}
    for name, value in {"total_loss": run.out["loss"], **meant}.items():
        assert abs(float(front("dpo", "dpo-batch").cells(values, name)) - value) <= 1e-12 * max(1.0, abs(value))


@pytest.mark.parametrize("name", sorted(WITHOUT["grpo"]))
def test_a_paper_is_the_workbook_built_with_its_preset(name: str) -> None:
    alone = made(f"preset={name}", numbers="grpo-batch")
    assert losses(beside("grpo"))[name] == pytest.approx(
        float(alone.values.cell(alone.blocks["total_loss"])), abs=1e-14
    )


def test_gradients_of_grpo_are_those_that_libraries_computed() -> None:
    book = beside("grpo")
    names = list(map(str, book.values[book.blocks["library.names"]]))
    of_logits, of_tokens = (book.values[book.blocks[f"library.policy.{of}.grad"]] for of in ("logits", "logprobs"))
    norms = book.values[book.blocks["library.policy.grad.norm_l"]]
    mask = book.values[book.blocks["mask"]]
    compared = 0
    for name in REPEATED["grpo"]:
        out = run_of("grpo", name).out
        if name != "default" and "grad_logp" in out:
            place = names.index(name)
            assert mask * of_tokens[place] == pytest.approx(mask * np.array(out["grad_logp"], float), abs=1e-12), name
            assert norms[place] == pytest.approx(np.linalg.norm(of_logits[place]), rel=1e-12)
            compared += 1
    assert compared > 20


def test_gradients_of_dpo_are_those_that_libraries_computed() -> None:
    """By the log-prob of the token at each position; what a logit feels is that times one-hot less p."""
    book = beside("dpo")
    grads = np.asarray(book.values[book.blocks["library.policy.logprobs.grad"]], float)
    names = [str(name) for name in book.values[book.blocks["library.names"]]]
    compared = 0
    for place, name in enumerate(names):
        out = run_of("dpo", name).out
        if "grad_taken" in out:
            theirs = np.array(out["grad_taken"], float)[ORDER]
            p = np.exp(np.asarray(book.values[book.blocks["policy.logprobs"]], float))
            np.testing.assert_allclose(
                grads[place] * (1 - p), theirs[:, : p.shape[1]], rtol=0, atol=1e-11, err_msg=name
            )
            compared += 1
    assert compared >= 20


def test_a_wrong_preset_is_seen() -> None:
    """verl without its dual clip: the column, computed anew from the table, is no longer what verl computed."""
    book = beside("grpo")
    names = list(map(str, book.values[book.blocks["presets.names"]]))
    wrong = np.array(book.blueprint.typed[book.blocks["presets.loss.dual_clip"]], float)
    wrong[names.index("verl_grpo")] = np.inf
    found = losses(Book(book.blueprint.with_typed({"presets.loss.dual_clip": wrong})))
    theirs = float(run_of("grpo", "verl_grpo").out["loss"])
    assert losses(book)["verl_grpo"] == pytest.approx(theirs, abs=1e-12)
    assert abs(found["verl_grpo"] - theirs) > 1e-3
    assert found["verl_rloo"] == losses(book)["verl_rloo"]


@pytest.mark.parametrize("kind", WITHOUT)
def test_each_defect_is_what_a_library_computes(kind: str) -> None:
    book, of = wide(kind)
    found = {each.change.title: each.adds for each in changed(book, of.defects)}
    assert DEFECTS[kind].keys() < found.keys() if kind == "grpo" else DEFECTS[kind].keys() == found.keys()
    known = {(run.library, run.variant): float(run.out["loss"]) for run in RUNS[kind]() if "loss" in run.out}
    first = known[REPEATED[kind]["default"]]
    theirs = {title: known[run] for title, run in DEFECTS[kind].items() if run}
    assert {title: first + found[title] for title in theirs} == pytest.approx(
        theirs, rel=1e-12, abs=1e-6 if kind == "grpo" else 1e-12
    )


def test_narrow_clips_move_the_loss_little_and_take_the_gradient() -> None:
    """GSPO with the paper's ε: −.019, and a fifth of the length; the sequence mean: −.205, and 7/8 of it."""
    book, of = wide("grpo", "gradients=on")
    found = {each.change.title: each for each in changed(book, of.changes)}
    gspo = found["one ratio for a response, ε = 3e-4 and 4e-4 (GSPO)"]
    means = found["the mean over responses of the mean over their tokens"]
    assert (gspo.adds, gspo.turns["policy"].longer) == pytest.approx((-0.019, 0.20), abs=5e-3)
    assert (means.adds, means.turns["policy"].longer) == pytest.approx((-0.205, 0.875), abs=5e-3)


def test_a_word_that_no_library_has_stands_as_a_row_of_ones_own() -> None:
    book, _ = wide("grpo", "loss.objective=sapo")
    *_, yours = answers(book, ["verl_grpo"])
    assert yours.preset.name == "yours"
    assert [effect.key for effect in yours.effects] == ["loss.objective"]
    assert yours.loss == pytest.approx(float(book.values.cell(book.blocks["total_loss"])), abs=1e-14)


def test_where_all_rewards_are_equal_no_gradient_has_an_angle_to_nothing() -> None:
    equal = ["--set", f"reward.scores={[1] * 12}", "--compare", "trl_grpo,trl_0.14,openrlhf"]
    printed = run_command("which", "--numbers", "grpo-batch", *equal).stdout
    assert "The default's gradient is 0, so that no other has an angle to it." in printed
    assert "| no std | +0.0000 | – | – |" in printed
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
