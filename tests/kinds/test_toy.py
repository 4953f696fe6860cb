"""A kind of one's own, from a folder of the tests: whatever is there for our kinds works on it through its record."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import NumbersError, load
from blueprint.language import Block, Sum, exp, log
from blueprint.language.blocks import Definition
from blueprint.language.nodes import wrap
from blueprint.workbooks import KindError, kinds, registry
from tests.commands import run_command
from tests.kinds.toy import KIND
from tests.kinds.toy.definitions import p, s

LOGPROBS = np.array([[[-0.5, -1.0, -0.2], [-0.9, -1.5, -0.3]], [[-2.0, -0.1, -0.4], [-0.3, -0.6, -0.8]]])
ENTRY = EntryPoint("toy", "tests.kinds.toy:KIND", registry.GROUP)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy kind is found as that of an installed package."""
    monkeypatch.setattr(registry, "entry_points", lambda group: [ENTRY])
    registry._installed.cache_clear()
    yield
    registry._installed.cache_clear()


def loss(logprobs: np.ndarray, beta: float = 0.5, mean: bool = False) -> float:
    """Computes the loss without the definitions."""
    scores = logprobs.mean(axis=2) if mean else logprobs.sum(axis=2)
    return float(np.log1p(np.exp(-beta * (scores[:, 0] - scores[:, 1]))).mean())


def result(book: Book) -> float:
    """Returns the number that everything leads to."""
    return float(book["preference_loss"].to_numpy().item())


def test_it_is_built_and_every_formula_is_proved(tmp_path: Path) -> None:
    result = run_command("build", "--numbers", "toy", "-o", str(tmp_path / "toy.xlsx"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].endswith("toy.xlsx: 8 sheets, 168 formulas")
    assert lines[1].startswith("proof: ironcalc recalculated 168 of 168 formulas to the same value")
    assert lines[2].startswith(f"preference loss {loss(LOGPROBS):.6g}: L = ")


def test_its_settings_are_chosen_as_any_others() -> None:
    assert result(bp.build("toy")) == pytest.approx(loss(LOGPROBS), abs=1e-15)
    changed = bp.build("toy", set={"preference.answer": "mean", "preference.beta": 2})
    assert result(changed) == pytest.approx(loss(LOGPROBS, 2, mean=True), abs=1e-15)


def test_numbers_are_given_as_tables_and_arrays() -> None:
    more = np.concatenate([LOGPROBS, LOGPROBS[:1] - 1])
    made = bp.build({"level": "pairs", "pairs": {"logprobs": more}})
    assert result(made) == pytest.approx(loss(more), abs=1e-15)
    assert made["logprobs"].shape == (3, 6)


def test_it_is_listed_behind_our_own() -> None:
    assert [kind.name for kind in kinds()][-1] == "toy"
    assert re.search(
        r"^toy +Two prompts with a chosen and a rejected answer each", run_command("list").stdout, re.MULTILINE
    )
    assert "toy" not in run_command("presets").stdout


def test_its_numbers_are_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert run_command("numbers", "toy", "--set", "preference.beta=2", "-o", str(path)).exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert "beta = 2.0                      # β: how much a margin counts; 0 to 100\n" in text
    assert '# answer = "sum"                # what an answer\'s tokens come to; sum or mean\n' in text
    again = load(path)
    assert (again.kind, again.level, again.ppo) == ("toy", "pairs", {"beta": 2.0})
    assert np.array_equal(again["pairs.logprobs"], LOGPROBS)
    assert tomllib.loads(text)["pairs"]["logprobs"] == LOGPROBS.tolist()


def test_its_keys_are_told_with_their_origins_and_described_to_editors() -> None:
    shown = run_command("numbers", "toy", "--show", "--set", "preference.beta=2").stdout
    told = {line.split()[0]: re.split(r"\s{2,}", line)[1:] for line in shown.splitlines()}
    assert told["preference.beta"] == ["2.0", "--set"]
    assert told["preference.answer"] == ['"sum"', "preset default"]
    assert told["pairs.logprobs"] == ["2 by 2 by 3: -0.5, -1.0, -0.2, …", "toy (built in)"]
    described = json.loads(run_command("numbers", "--schema").stdout)["$defs"]["pairs"]["properties"]
    assert described["preference"]["properties"]["answer"]["enum"] == ["sum", "mean"]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "pairs.logprobs=[[[-1, -2], [-1]]]",
            "pairs.logprobs, row 1, item 2: found 1 number, expected 2, one per token, as pairs.logprobs has.",
        ),
        ("pairs.logprobs=[[[-1]]]", "pairs.logprobs, row 1: found 1 side, expected 2."),
        ("preference.answer=max", 'preference.answer: found "max", expected "sum" or "mean".'),
        (
            "preset=verl",
            "preset: not at this level; numbers that begin at weights, logits, classic, choices, preferences, pair-logprobs, "
            "prompts, responses, rollouts, rankings, scores, demonstrations or labelled have it.",
        ),
    ],
)
def test_what_its_numbers_may_not_be_is_refused(override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load("toy", [override])
    assert str(refused.value) == sentence


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("x", "nowhere:KIND", registry.GROUP)])
    assert run_command("build", "--numbers", "nothing").stderr == (
        "Error: entry point x = nowhere:KIND, group blueprint.kinds: found No module named 'nowhere', expected a Kind; "
        "mend or uninstall the package.\n"
    )
    assert bp.build("kl-controller").blueprint.title  # our own need nobody's package


def test_what_is_added_twice_is_refused() -> None:
    with pytest.raises(KindError, match="kind toy: there is one of that name already"):
        bp.add_kind(KIND)


def test_torch_agrees_with_its_files_and_names_what_was_edited(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")
    path = tmp_path / "toy.xlsx"
    bp.build("toy", set={"preference.answer": "mean"}).save(path)
    checked = bp.check(path)
    assert checked.agrees
    assert {"margin", "loss", "preference_loss"} <= set(checked.frame.quantity)
    sheet = load_workbook(path)
    margin = next(
        each for row in sheet["Pairs"].iter_rows() for each in row if str(each.value).startswith("=SUMPRODUCT")
    )
    margin.value = 7
    sheet.save(path)
    assert [str(each.what) for each in bp.check(path).verdicts[0].firsts] == ["margin of pair 1"]


def test_it_has_a_gradient_as_any_other(tmp_path: Path) -> None:
    """−β·σ(−β·M)/N for each token of a chosen answer, the same with a plus for the rejected one (Rafailov et al. 2023, §4)."""
    pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")
    book, path = bp.build("toy", gradients=True), tmp_path / "toy.xlsx"
    scores = LOGPROBS.sum(axis=2)
    felt = -0.5 / (1 + np.exp(0.5 * (scores[:, 0] - scores[:, 1]))) / 2
    slopes = np.stack([felt, -felt], axis=1)[..., None] * np.ones(3)
    np.testing.assert_allclose(book.values[book.blocks["logprobs.grad"]], slopes, rtol=0, atol=1e-15)
    book.save(path)
    assert book.prove(path).failures == []
    assert "logprobs.grad" in bp.open(path).blocks
    checked = bp.check(path)
    assert checked.agrees
    assert "logprobs.grad" in set(checked.frame.quantity)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("margin", lambda b: Sum(s, b["score"][p, s])),
        ("loss", lambda b: log(1 + exp(b["beta"] * b["margin"][p]))),
        ("preference_loss", lambda b: Sum(p, b["loss"][p])),
    ],
    ids=["both added", "the sign", "no mean"],
)
def test_a_mistake_planted_in_its_definitions_is_named_first(
    name: str, wrong: Callable[[dict[str, Block]], Any]
) -> None:
    pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")
    from blueprint.checking.deviations import TOLERANCES, compare
    from blueprint.checking.recomputed import results_of
    from tests.kinds.toy.paper import PAGE

    made = bp.build("toy").blueprint
    blocks = {block.name: block for block in made.blocks()}
    right = blocks[name].definitions[-1]
    blocks[name].definitions[-1] = Definition(right.target, wrap(wrong(blocks)))
    arrays = Book(made).values.arrays.items()
    typed, computed = ({block.name: array for block, array in arrays if block.typed is kind} for kind in (True, False))
    page = results_of(PAGE, typed, computed, "float64", "cpu")
    found = compare({each: computed[each] for each in page}, page, TOLERANCES["float64"], {})
    assert next(each.name for each in found if not each.agrees) == name
