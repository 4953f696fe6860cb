"""The numbers of a workbook come back from its saved file: all of them, and after an edit exactly the edited ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint import Book
from blueprint.inputs import Numbers, load, source_of, toml_of
from blueprint.page.read import ReadError
from blueprint.reopening import back_from, back_of, book_of, numbers_in
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.page.workshop import differing
from tests.reopening.alike import fields_that_differ
from tests.reopening.kinds import KINDS
from tests.reopening.typing_in import all_typed_into, typed_into, untouched

WORKBOOKS = Path(__file__).parents[2] / "workbooks"
COMMITTED = {path.stem: {"rlhf_ppo": "default"}.get(path.stem, path.stem) for path in sorted(WORKBOOKS.glob("*.xlsx"))}


def saved(numbers: Numbers, path: Path) -> Path:
    """Saves the workbook of numbers."""
    Book(blueprint_of(numbers)).save(path)
    return path


ZEROS = {f"parts.{table}.{side}" for table in ("mismatched", "rewards") for side in ("chosen", "rejected")}
DELTAS = {f"weights.{model}.delta_{of}" for model, weights in (("policy", "EWY"), ("critic", "EWwb")) for of in weights}
OTHERWISE = {"by-hand-dpo": ZEROS, "epochs": DELTAS}
"""What no file of pairs need give comes back as the zeros that are typed for it; an optimiser sets out without a typed Δ."""


@pytest.mark.parametrize("name", COMMITTED)
def test_the_numbers_of_the_committed_workbooks_come_back(name: str) -> None:
    back = back_from(WORKBOOKS / f"{name}.xlsx")
    assert {*fields_that_differ(load(COMMITTED[name]), back.numbers)} == OTHERWISE.get(name, set())
    assert (back.unheld, back.remarks) == ([], [])


@pytest.mark.parametrize("seed", range(4))
def test_random_numbers_of_random_sizes_come_back(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    sizes = {"vocabulary": 12, "embedding": 4, "hidden": 6, "episodes": 3, "prompt": 5, "max_new_tokens": 6}
    asked = [f"sizes.{key}={random.integers(1 + (key == 'vocabulary'), most)}" for key, most in sizes.items()]
    live = {0: ["preset=verl", "compare=openai", "reward.score_clip=2"], 1: ["conventions=live", "ppo.clip_range=0.15"]}
    numbers = load("default", [*asked, f"seed={seed + 5}", f"ppo.gamma={random.random():.12f}", *live.get(seed, ())])
    assert fields_that_differ(numbers, numbers_in(saved(numbers, tmp_path / "random.xlsx"))) == []


def test_prompts_of_different_lengths_come_back(tmp_path: Path) -> None:
    numbers = load("default", ['text.prompts=["the old dog is", "sleepy"]'])
    assert fields_that_differ(numbers, numbers_in(saved(numbers, tmp_path / "ragged.xlsx"))) == []


IN_CAPITALS = ("K2", "TRL_1.12")
"""Words that mean the same in small letters, and stay in the sheet as they were typed."""

# (kind, by block what is typed into its first cell, the fields that differ, and those of an override that says the same)
EDITS: list[tuple[str, dict[str, object], tuple[str, ...]]] = [
    ("default", {"gamma.yours": 0.5}, ("ppo.gamma=0.5",)),
    ("default", {"kl_estimator.yours": "K2"}, ("ppo.kl_estimator=k2",)),
    ("default", {"old_critic.head.b": -1.5, "whiten_eps.yours": "1e-6"}, ("old_critic.b=-1.5", "ppo.whiten_eps=1e-6")),
    ("default", {"vocabulary": "END"}, ('text.vocabulary=["END","the","old","dog","is","very","sleepy","happy"]',)),
    ("live", {"preset": "TRL_1.12", "batch.temperature.yours": 0.7, "library.names": "default"},
     ("preset=trl_1.12", "batch.temperature=0.7", "compare=default")),
    ("live", {"reward.score_clip.yours": "2,5"}, ("reward.score_clip=2.5",)),
    ("logits", {"preset": "openrlhf", "gamma.yours": 0.5, "loss.aggregation.yours": "seq-mean-token-mean",
                "library.names": "trl_1.12"},
     ("preset=openrlhf", "ppo.gamma=0.5", "loss.aggregation=seq-mean-token-mean", "compare=trl_1.12,openrlhf,verl")),
    ("classic", {"preset": "cleanrl", "clip_range.yours": 0.1}, ("preset=cleanrl", "ppo.clip_range=0.1")),
    ("controller", {"target.yours": "3"}, ("controller.target=3",)),
    ("controller", {"kl_stat.yours": "token_mean"}, ("controller.kl_stat=token_mean",)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "edits", "overrides"), EDITS)
def test_exactly_what_was_typed_differs(
    kinds: Path, folder: Path, tmp_path: Path, kind: str, edits: dict[str, object], overrides: tuple[str, ...]
) -> None:
    source = folder / "default.xlsx" if kind == "default" else kinds / f"{kind}.xlsx"
    name, *before = KINDS.get(kind, ("default",))
    book = book_of(all_typed_into(source, tmp_path / "edited.xlsx", edits))
    back, numbers, old = back_of(book), load(name, [*before, *overrides]), load(name, before)
    assert fields_that_differ(numbers, back.numbers) == []
    assert fields_that_differ(old, back.numbers) != []
    assert back.unheld == []
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    spelled = {key.removesuffix(".yours") for key, value in edits.items() if value in IN_CAPITALS}
    apart = differing(Book(blueprint_of(numbers)), arrays, 0)
    assert {name.removesuffix(".yours") for name in apart} == spelled
    assert len(differing(Book(blueprint_of(old)), arrays, 0)) > len(edits)


def test_weights_draws_and_prompts_that_were_typed(folder: Path, tmp_path: Path) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "1.xlsx", "old.E", (2, 1), 7)
    path = typed_into(path, tmp_path / "2.xlsx", "rollout.draw", (1, 4), 0.25)
    path = typed_into(path, tmp_path / "3.xlsx", "given", (0, 3), None)
    back = back_from(path)
    assert isinstance(back.numbers, WeightNumbers)
    assert fields_that_differ(load(), back.numbers) == ["prompts", "draws", "weights.old.E"]
    assert back.numbers.weights["old.E"][2, 1] == 7
    assert back.numbers.draws[1, 4] == 0.25
    assert back.numbers.prompts == (("the", "old", "dog"), ("the", "old", "dog", "is"))


def test_the_token_level_with_an_edit(folder: Path, tmp_path: Path) -> None:
    back = back_from(typed_into(folder / "sleepy.xlsx", tmp_path / "edited.xlsx", "reference.logprobs", (0, 1), -3))
    assert fields_that_differ(load("very-very-sleepy"), back.numbers) == ["parts.per_token.logprobs_ref"]


def test_a_preset_clip_stays_the_upper_one_where_only_the_lower_was_typed(kinds: Path, tmp_path: Path) -> None:
    """A numbers file that gives one ε means both; in the sheet the upper one is still the preset's."""
    path = typed_into(kinds / "live.xlsx", tmp_path / "clip.xlsx", "clip_range.yours", (), 0.1)
    back = back_from(path)
    assert back.numbers.ppo == {"clip_range": 0.1, "loss.clip_range_high": 0.2}
    (line,) = back.unheld
    cell = untouched(kinds / "live.xlsx").file.address("loss.clip_range_high.yours", ())
    assert line == f"{cell} (loss.clip_range_high.yours): blank, and 0.2 in a workbook built from the numbers"


def test_what_numbers_do_not_hold_is_listed_cell_by_cell(folder: Path, kinds: Path, tmp_path: Path) -> None:
    edits: dict[str, object] = {"check.returns.tolerance": 0.5, "walk.decision": 6, "gamma.high": 2}
    path = all_typed_into(folder / "default.xlsx", tmp_path / "edited.xlsx", edits)
    places = untouched(folder / "default.xlsx").file
    ends = "in a workbook built from the numbers"
    assert sorted(back_from(path).unheld) == sorted([
        f"{places.address('check.returns.tolerance', ())} (check.returns.tolerance): 0.5, and 1e-09 {ends}",
        f"{places.address('walk.decision', ())} (walk.decision): 6, and 4 {ends}",
        f"{places.address('gamma.high', ())} (gamma.high): 2, and 1 {ends}",
    ])  # fmt: skip
    path = typed_into(kinds / "logits.xlsx", tmp_path / "table.xlsx", "presets.gamma", (5,), 0.25)
    assert [line.partition(" (")[2] for line in back_from(path).unheld] == [f"presets.gamma): 0.25, and 1 {ends}"]


def test_draws_that_write_no_word_come_back_too(folder: Path, tmp_path: Path) -> None:
    back = back_from(typed_into(folder / "default.xlsx", tmp_path / "idle.xlsx", "rollout.draw", (0, 0), 0.5))
    assert back.unheld == []
    again = load(source_of(toml_of(back.numbers), Path("idle.toml")))
    assert isinstance(again, WeightNumbers)
    assert again.draws[0, 0] == 0.5
    assert isinstance(back.numbers, WeightNumbers)
    assert back.numbers.draws[0, 0] == 0.5


def test_fewer_words_leave_columns_and_a_longer_prompt_needs_more(folder: Path, tmp_path: Path) -> None:
    fewer = back_from(typed_into(folder / "default.xlsx", tmp_path / "fewer.xlsx", "max_new_tokens", (), 2))
    assert isinstance(fewer.numbers, WeightNumbers)
    assert (fewer.numbers.max_new_tokens, fewer.numbers.draws.shape) == (2, (2, 6))
    np.testing.assert_array_equal(fewer.numbers.draws[:, 3:5], numbers_in_default().draws[:, 3:5])
    assert sum("no such cell" in line for line in fewer.unheld) == 4
    longer = back_from(typed_into(folder / "default.xlsx", tmp_path / "longer.xlsx", "given", (0, 4), "very"))
    assert isinstance(longer.numbers, WeightNumbers)
    assert longer.numbers.draws.shape == (2, 9)
    np.testing.assert_array_equal(longer.numbers.draws[:, :8], numbers_in_default().draws)


def numbers_in_default() -> WeightNumbers:
    """Loads the default numbers."""
    numbers = load()
    assert isinstance(numbers, WeightNumbers)
    return numbers


def test_a_mask_with_a_hole_has_no_place_among_ragged_rows(folder: Path, tmp_path: Path) -> None:
    back = back_from(typed_into(folder / "sleepy.xlsx", tmp_path / "hole.xlsx", "mask", (0, 1), 0))
    assert ["(mask): 0, and 1 in" in line for line in back.unheld] == [True]
    shorter = back_from(typed_into(folder / "sleepy.xlsx", tmp_path / "short.xlsx", "mask", (0, 2), 0))
    assert [len(row) for row in shorter.numbers["per_token.words"]] == [2]
    assert {line.partition("(")[2].partition(")")[0] for line in shorter.unheld} >= {"word_written", "old.logprobs"}


@pytest.mark.parametrize(
    ("kind", "name", "value", "said"),
    [
        ("default", "max_new_tokens", 2.5, "found 2.5, expected a whole number"),
        ("classic", "actions", 0.5, "found 0.5, expected a whole number"),
        ("controller", "responses.length", 4.5, "found 4.5, expected a whole number"),
    ],
)
def test_what_must_be_whole_is_refused_by_cell(
    folder: Path, kinds: Path, tmp_path: Path, kind: str, name: str, value: float, said: str
) -> None:
    source = folder / "default.xlsx" if kind == "default" else kinds / f"{kind}.xlsx"
    with pytest.raises(ReadError) as refused:
        numbers_in(all_typed_into(source, tmp_path / "edited.xlsx", {name: value}))
    assert f"({name}): {said}" in str(refused.value)


def test_an_empty_prompt_is_refused_by_cell(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"\(given\): blank, but a prompt has one token at least: type it$"):
        numbers_in(typed_into(folder / "default.xlsx", tmp_path / "none.xlsx", "given", (1, 0), None))
