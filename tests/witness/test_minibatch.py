"""The witness against workbooks of a minibatch: presets, dumps that lack tensors, numbers and conventions typed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.page.read import read
from blueprint.witness import WitnessError
from blueprint.workbooks.minibatch.witness.logged import kind_of
from blueprint.workbooks.registry import witness_of as witness
from tests.replayed import window_book, with_everything_logged
from tests.witness.live import live, parting
from tests.witness.stage import Array, arrays, built_in, differing
from tests.witness.windows import PRESETS, VARIANTS, computed_in, retyped, typed_in, variant

FLOAT32 = 2e-5


@pytest.mark.parametrize("columns", [16, 24])
def test_every_preset_agrees(columns: int) -> None:
    files = [arrays(window_book(preset, columns)) for preset in PRESETS]
    for preset, file, found in zip(PRESETS, files, witness(files, device="cpu"), strict=True):
        assert parting(found, file) == [], preset


@pytest.mark.parametrize("name", VARIANTS)
def test_every_formula_is_recomputed_from_typed_blocks_and_nothing_else(name: str) -> None:
    book = variant(name)
    found = witness([typed_in(book)], device="cpu")[0]
    assert set(found) == computed_in(book)
    assert parting(found, arrays(book)) == []
    whole = witness([arrays(book)], device="cpu")[0]
    assert list(whole) == list(found)
    assert differing(whole, arrays(book) | found, 0) == []


@pytest.mark.parametrize("name", VARIANTS)
def test_numbers_and_conventions_that_are_typed_are_followed(name: str) -> None:
    files = [arrays(retyped(name, seed)) for seed in range(5)]
    for seed, file, found in zip(range(5), files, witness(files, device="cpu"), strict=True):
        assert parting(found, file) == [], seed


def test_words_match_whatever_their_capitals_and_a_preset_typed_is_followed() -> None:
    typed = {"preset": "TrlX", "kl_estimator.yours": "K3", "loss.aggregation.yours": "SEQ-mean-token-mean"}
    file = arrays(Book(variant("whole").blueprint.with_typed(typed | {"gae_lambda.yours": 1.5})))
    found = witness([file], device="cpu")[0]
    assert [found[name].item() for name in ("preset.number", "kl_estimator", "kl_estimator.number")] == [
        PRESETS.index("trlx"),
        "K3",
        2,
    ]
    assert [found[f"check.{name}"].item() for name in ("settings.verdict", "master")] == ["LOOK", "LOOK"]
    assert parting(found, file) == []


def test_a_saved_file_agrees(tmp_path: Path) -> None:
    window_book("trl_1.12", 16, with_everything_logged("trl_1.12")).save(tmp_path / "a.xlsx")
    file = read(tmp_path / "a.xlsx")
    assert parting(witness([file], device="cpu")[0], file) == []


def test_files_of_every_kind_in_one_call_are_what_each_gives_alone() -> None:
    files = [arrays(variant(name)) for name in VARIANTS]
    files += [arrays(window_book("openai", 24)), arrays(retyped("whole", 3)), arrays(retyped("whole", 4))]
    files += [dict(live("ten-libraries", "preset=verl")), dict(built_in("default")), dict(built_in("very-very-sleepy"))]
    for found, file in zip(witness(files, device="cpu"), files, strict=True):
        alone = witness([file], device="cpu")[0]
        assert list(found) == list(alone)
        assert differing(found, file | alone, 1e-14) == []


def test_float32_agrees_coarsely() -> None:
    file = arrays(window_book("verl"))
    found = witness([file], device="cpu", dtype="float32")[0]
    assert found["advantages"].dtype == np.float32
    # The sheet's checks allow 1e-9, which float32 cannot keep: their distances are compared, their verdicts are not.
    verdicts = (".verdict", ".failed", "check.master")
    assert differing({name: row for name, row in found.items() if not name.endswith(verdicts)}, file, FLOAT32) == []


FLAGS = ("slots", "mask", "after.words", "response.ended", "response.padded")
SCORE = {"score.given", "response.padded"}
REWARD = {"reward.mean", "reward.variance"}
ADVANTAGE = {"advantage.mean", "advantage.variance", "after.ahead", "after.advantages"}


@pytest.mark.parametrize(
    ("name", "idle"),
    [
        ("whole", set()),
        ("scores of tokens", SCORE - {"score.given"}),
        ("rewards", SCORE - {"score.given"} | REWARD),
        ("advantages and returns", SCORE - {"score.given"} | REWARD | ADVANTAGE),
    ],
)
def test_every_number_that_is_typed_matters(name: str, idle: set[str]) -> None:
    """A witness that forgot what enters behind a window, or the rest of the batch, would not see that it was changed."""
    files = [typed_in(retyped(name, seed)) for seed in range(6)]
    before = witness(files, device="cpu")
    typed = {*kind_of(files[0]).typed, "slots", "mask"}
    assert {each for each in typed if not _matters(each, files, before)} == idle


def _matters(name: str, files: list[dict[str, Array]], before: list[dict[str, Array]]) -> bool:
    """Returns whether another number of that name changes a quantity of a file; flags are turned over."""
    changed = [file | {name: 1 - file[name] if name in FLAGS else file[name] * 1.5 + 11} for file in files]
    after = witness(changed, device="cpu")
    return any(differing(*pair, 1e-9) != [] for pair in zip(after, map(dict.__or__, files, before), strict=True))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"preset": "verl2"}, "the preset is 'verl2': write one of default, openai, "),
        ({"kl_estimator.yours": "full"}, "kl_estimator is 'full': write one of k1, k2, k3, abs"),
        ({"mask": 0.5}, "the mask is neither 0 nor 1"),
    ],
)
def test_files_that_cannot_be_computed_are_refused(cells: dict[str, object], message: str) -> None:
    file = arrays(variant("whole"))
    file |= {name: np.full_like(file[name], value) for name, value in cells.items()}
    with pytest.raises(WitnessError, match=message):
        witness([file], device="cpu")


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (("rest.kl",), "the file has no block rest.kl, which the computation starts from"),
        (("batch.clip_fraction.used",), "the file has no block batch.clip_fraction.used"),
        (("score.given",), "the file has none of score.given, score.placed, rewards, advantages_used"),
    ],
)
def test_files_that_lack_a_block_are_refused(gone: tuple[str, ...], message: str) -> None:
    file = {name: each for name, each in typed_in(variant("whole")).items() if name not in gone}
    with pytest.raises(WitnessError, match=message):
        witness([file], device="cpu")
