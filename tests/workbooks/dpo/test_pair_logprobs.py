"""DPO from log-probs of one's own: the libraries' losses again, what is not given, and what is refused."""

from __future__ import annotations

from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.language import Block, compute
from blueprint.page.outline import Blueprint
from blueprint.reopening import back_from
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import behind
from blueprint.workbooks.dpo.schema import WITHOUT, lost, presets_of
from blueprint.workbooks.registry import kind_named
from tests.preference_runs import Run, with_loss
from tests.reopening.alike import fields_that_differ
from tests.workbooks.apart import apart
from tests.workbooks.dpo.own_logprobs import LOGPROBS, SIDES, by_response, given, golden


def built(tables: dict[str, Any], *overrides: str) -> Blueprint:
    return blueprint_of(load(tables_of(tables), overrides))


def rows(tables: dict[str, Any], *overrides: str) -> dict[str, Any]:
    book = Book(built(tables, *overrides))
    return {block.name: array for block, array in book.values.arrays.items()}


def fitting() -> list[Run]:
    """Returns a run of each set of conventions that reads no more than log-probs."""
    found = {
        tuple(sorted(run.conventions.items(), key=str)): run
        for run in with_loss("preference")
        if all(run.conventions.get(key, words[0]) in words for key, words in WITHOUT["token"].items())
    }
    return list(found.values())


FITTING = fitting()


@cache
def once() -> tuple[Blueprint, dict[str, Block], list[Block]]:
    outline = built(golden())
    blocks = {block.name: block for block in outline.blocks()}
    needed = behind([blocks["total_loss"]])
    return outline, blocks, [block for block in outline.blocks() if block in needed]


@pytest.mark.parametrize("run", FITTING, ids=[f"{run.library}-{run.variant}" for run in FITTING])
def test_log_probs_alone_give_what_a_library_computed(run: Run) -> None:
    """Every recorded set of conventions that reads no more; log-probs go through a file with 15 digits, far below the tolerance."""
    outline, blocks, needed = once()
    yours = {blocks[f"{key}.yours"]: value for key, value in run.conventions.items() if f"{key}.yours" in blocks}
    found = compute(needed, outline.sizes, {**outline.typed, **yours})[blocks["total_loss"]]
    assert float(found) == pytest.approx(run.out["loss"], rel=1e-12, abs=1e-12)


def test_most_runs_need_no_more_than_log_probs() -> None:
    assert len(FITTING) >= 50


def test_presets_that_read_more_are_not_offered() -> None:
    """ORPO's own code counts a pad, TRL's ORPO and axolotl's, and TRL 0.24's LD, the prompt, and WPO reads logits.

    Of whole responses ColossalChat's tokens are missing.
    """
    every = kind_named("dpo").part("presets")().presets
    gone = {name for name in every if lost(every[name], "token")}
    assert gone == {"orpo", "axolotl_orpo", "trl_1.16_orpo", "trl_1.16_wpo", "trl_0.24_wpo", "trl_0.24_ld"}
    assert (
        gone
        < {name for name in every if lost(every[name], "response")}
        == every.keys() - presets_of("response").presets.keys()
    )
    for per in WITHOUT:
        offered = presets_of(per)
        words = {key: each.words for key, each in offered.settings.items() if each.words}
        assert all(preset.values[key] in words[key] for preset in offered.presets.values() for key in words)


def test_without_log_probs_a_first_step_has_a_loss_of_ln_2_and_no_right_pair() -> None:
    for models in ((), ("policy",)):
        found = rows(given(*models))
        assert float(found["total_loss"]) == pytest.approx(log(2), abs=1e-15)
        assert float(found["rewards.accuracies"]) == 0  # a tie is wrong
    assert float(rows(given(), "loss.form=ipo")["total_loss"]) == pytest.approx(25, abs=1e-12)
    assert float(rows(given(), "preset=trl_1.16_kto")["total_loss"]) == pytest.approx(0.5, abs=1e-15)


def test_numbers_of_whole_responses_are_taken_as_they_are() -> None:
    """The same numbers, a sum for each response: the same loss; and no setting that would ask for tokens."""
    tables = by_response()
    found, by_token = rows(tables), rows(given("policy", "reference"))
    for name in ("total_loss", "rewards.chosen", "rewards.margins", "margin"):
        assert np.asarray(found[name]) == pytest.approx(np.asarray(by_token[name]), rel=1e-14)
    assert not {"logp.of", "logp.ld", "loss.odds_one"} & (found.keys() - {"loss.odds_one"})
    means = rows(tables, "preset=simpo")  # whose mean is taken already
    u = 2 * (np.array([-1.75, -0.25]) - np.array([-2, -703])) - 0.5
    assert float(means["total_loss"]) == pytest.approx(np.log1p(np.exp(-u)).mean(), abs=1e-12)


@pytest.mark.parametrize(("models", "per"), [((), "token"), (("policy", "reference"), "token")])
def test_a_saved_workbook_comes_back(models: tuple[str, ...], per: str, tmp_path: Path) -> None:
    tables = given(
        *models, per=per, rewards={side: [1, 0.5] for side in SIDES}, mismatched={side: [0.5, 0] for side in SIDES}
    )
    Book(built(tables, "gradients=on" if models else "dpo.beta=0.5")).save(tmp_path / "mine.xlsx")
    back = back_from(tmp_path / "mine.xlsx")
    assert (back.unheld, back.remarks) == ([], [])
    overrides = ["gradients=on" if models else "dpo.beta=0.5"]
    assert fields_that_differ(load(tables_of(tables), overrides), back.numbers) == []


@pytest.mark.parametrize(
    ("models", "overrides"),
    [
        ((), ("gradients=on",)),
        (("policy",), ("preset=simpo", "gradients=on")),
        (("policy", "reference"), ("loss.form=ipo", "logp.of=mean")),
        (
            ("policy", "reference"),
            ("loss.form=kto", "gradients=on", "mismatched.chosen=[0.5, 1]", "mismatched.rejected=[0, 2]"),
        ),
        (
            ("policy", "reference"),
            ("loss.form=bco", "logp.ld=both", "logp.ld_alpha=0.5", "loss.nll_coef=1", "gradients=on"),
        ),
    ],
)
def test_torch_agrees_whatever_is_given(models: tuple[str, ...], overrides: tuple[str, ...]) -> None:
    assert apart(Book(built(given(*models), *overrides))) == {}


def test_ratios_that_rounding_alone_sets_apart_are_equal() -> None:
    """Log-ratios of 0.30000000000000004 and 0.3: a sheet compares 15 digits; the first comes first, for torch, too."""
    logs = {
        "policy": {"chosen": [[-0.1, -0.2], [-0.7]], "rejected": [[-1], [-2]]},
        "reference": {"chosen": [[-0.3, -0.3], [-1.0]], "rejected": [[-1], [-2]]},
    }
    text = {"prompts": ["a", "b"], "chosen": [["c", "d"], ["e"]], "rejected": [["f"], ["g"]]}
    book = Book(built({"level": "pair-logprobs", "text": text, **logs}, "loss.form=aot_unpaired", "gradients=on"))
    found = {block.name: array for block, array in book.values.arrays.items()}
    first, second = found["chosen.ratio"]
    assert 0 < abs(first - second) < 1e-15
    assert found["aot_unpaired.first.rank"].tolist() == [1, 2]
    assert not found["aot_unpaired.first.smaller"].any()
    assert apart(book) == {}


def test_torch_agrees_on_numbers_of_whole_responses() -> None:
    assert apart(Book(built(by_response(), "gradients=on"))) == {}


def other(table: str, **sides: Any) -> dict[str, Any]:
    return given(**{table: {**LOGPROBS[table], **sides}})


READ = ("without ", ", expected ", " in the file, which it reads, or another setting.")
SENTENCES: tuple[tuple[dict[str, Any], str, str], ...] = (
    (given("reference"), "",
     "reference.chosen: found log-probs, expected those of policy.chosen, too, with which they are compared."),
    (given(policy={"chosen": LOGPROBS["policy"]["chosen"]}), "",
     "policy: found numbers of one side of the pairs, expected both policy.chosen and policy.rejected, or neither."),
    (given(rewards={"rejected": [1, 2]}), "",
     "rewards: found numbers of one side of the pairs, expected both rewards.chosen and rewards.rejected, or neither."),
    (other("policy", chosen=[[-1, -1], [-1]]), "",
     "policy.chosen, row 1: found 2 numbers, expected 3, one per token of the chosen response, as text.chosen has."),
    (other("policy", rejected=[[0.5], [-1, -2, -1, 0]]), "",
     "policy.rejected, row 1, item 1: found 0.5, expected a log-probability of at most 0."),
    (other("policy", chosen=[[-1, -0.5, -0.25]]), "",
     "policy.chosen: found 1 row, expected 2, one per pair, as text.prompts has."),
    (given(text={"prompts": ["a"], "chosen": [[]], "rejected": [[]]}), "",
     "text.chosen: found no token in any response, expected a token in at least one of them."),
    (given(text={"prompts": ["a"] * 33, "chosen": [["a"]] * 33, "rejected": [["b"]] * 33}), "",
     "text.prompts: found 33 pairs, expected 1 to 32."),
    (given(per="word"), "", "per: found word, expected token or response."),
    (given(per="response"), "", 'text.chosen, row 1: found 3 tokens, expected one text, where per is "response".'),
    (given(), "preset=simpo", f"reference.used: found off {'policy.chosen'.join(READ)}"),
    (given(), "loss.nll_coef=0.2", f"loss.nll_coef: found 0.2 {'policy.chosen'.join(READ)}"),
    (given("policy", "reference"), "preset=trl_1.16_kto", f"loss.form: found kto {'mismatched.chosen'.join(READ)}"),
    (given("policy"), "loss.form=rpo_squared", f"loss.form: found rpo_squared {'rewards.chosen'.join(READ)}"),
    (given("policy"), "preset=orpo", 'preset orpo: its loss.nll_region is "text", which log-probs of each token do not say; choose '
     'another preset, or begin with logits, at level "preferences".'),
    (given("policy"), "loss.weight=wpo", "loss.weight: found wpo, expected off, which is all that log-probs of each token say."),
    (given("policy"), "preset=trl", "preset trl: unknown, did you mean"),
)  # fmt: skip


@pytest.mark.parametrize(("tables", "override", "sentence"), SENTENCES, ids=[each[2][:40] for each in SENTENCES])
def test_what_does_not_go_together_is_refused(tables: dict[str, Any], override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load(tables_of(tables), [override] if override else [])
    assert str(refused.value).startswith(sentence)
