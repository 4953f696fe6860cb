"""The witness against workbooks whose conventions are live: logits and weights, presets, mixes of options, holes.

No row is left out for ties: flags such as "1 where the clip changed the surrogate" compare numbers that may part by
rounding, but in none of these files two sides are so near to each other that a flag parts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.page.contents import kind_of
from blueprint.page.read import read
from blueprint.witness import WitnessError
from blueprint.workbooks.registry import witness_of as witness
from tests.witness.live import PRESETS, book, live, mixed, parting
from tests.witness.stage import Array, arrays, built_in, differing

LOGITS = tuple(("ten-libraries", f"preset={preset}") for preset in PRESETS)
WEIGHTS = (
    ("default", "conventions=live"),
    *(("default", f"preset={preset}") for preset in PRESETS if preset != "default"),
    ("default", "preset=trl_1.12", "reward.score_slot=end", "batch.temperature=0.7"),
    ("default", "preset=verl", "compare=trlx,verl,default"),
)
EACH_LEVEL = (LOGITS[5], WEIGHTS[0], WEIGHTS[-1])
HOLES = "text.mask=[[0,1,1,0,1,0],[1,1,1,1,1,1],[0,0,0,0,0,0],[1,0,0,1,0,0]]"


def changed(case: tuple[str, ...], **typed: object) -> dict[str, Array]:
    """Returns a workbook computed again with other cells typed, their names written with __ for the dot."""
    cells = {name.replace("__", "."): value for name, value in typed.items()}
    return arrays(Book(book(*case).blueprint.with_typed(cells)))


@pytest.mark.parametrize("case", EACH_LEVEL, ids=" ".join)
def test_every_formula_is_recomputed_from_typed_blocks_and_nothing_else(case: tuple[str, ...]) -> None:
    blocks = book(*case).values.arrays
    typed = {block.name: array for block, array in blocks.items() if kind_of(block) == "typed"}
    found = witness([typed], device="cpu")[0]
    assert set(found) == {block.name for block in blocks if kind_of(block) == "formula"}
    assert parting(found, live(*case)) == []


@pytest.mark.parametrize("cases", [LOGITS, WEIGHTS], ids=["logits", "weights"])
def test_every_preset_agrees(cases: tuple[tuple[str, ...], ...]) -> None:
    files = [live(*case) for case in cases]
    for case, file, found in zip(cases, files, witness(files, device="cpu"), strict=True):
        assert parting(found, file) == [], case


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_mixes_of_options_agree(first: int) -> None:
    seeds = range(first, first + 20)
    files = [mixed(seed) for seed in seeds]
    for seed, file, found in zip(seeds, files, witness(files, device="cpu"), strict=True):
        assert parting(found, file) == [], seed


@pytest.mark.parametrize("holes", ["zero", "carry"])
@pytest.mark.parametrize("tail", [0, 2])
def test_masks_with_holes_agree(holes: str, tail: int) -> None:
    options = (f"advantage.gae_holes={holes}", f"advantage.tail_slots={tail}", "ppo.gamma=0.9", "ppo.gae_lambda=0.8")
    file = dict(live("ten-libraries", "preset=trl_0.11.4", HOLES, *options))
    found = witness([file], device="cpu")[0]
    assert (found["gae.over"].sum() > 0) == (holes == "carry")
    assert parting(found, file) == []


def test_a_response_that_goes_on_behind_an_end_word_has_ended_once() -> None:
    """As in a conversation of several turns, whose mask takes in two end words."""
    words = '["the", "<eos>", "dog", "<eos>", "is", "old"]'
    responses = f"text.responses=[{words}, {words}, {words}, {words}]"
    mask = "text.mask=[[1,1,0,1,0,0],[1,1,1,1,1,1],[1,0,0,0,0,0],[1,1,1,0,0,0]]"
    for preset in ("nemo_aligner", "torchtune"):
        file = live("ten-libraries", f"preset={preset}", responses, mask, "reward.missing_eos=set")
        found = witness([file], device="cpu")[0]
        assert found["response.ended"].tolist() == [1, 1, 0, 1]
        assert parting(found, file) == []


def test_a_score_that_lands_where_nothing_is_kept_is_noticed() -> None:
    files = [live("ten-libraries", "preset=verl", f"reward.score_slot={slot}") for slot in ("last", "one_past")]
    assert [file["check.score.verdict"].item() for file in files] == ["OK", "LOOK"]
    for file, found in zip(files, witness(files, device="cpu"), strict=True):
        assert parting(found, file) == []


def test_a_hole_is_no_padding() -> None:
    file = live(
        "ten-libraries", "preset=torchtune", "text.mask=[[1,1,0,1,1,1],[1,1,1,1,0,0],[1,1,0,0,0,0],[1,1,1,1,1,1]]"
    )
    found = witness([file], device="cpu")[0]
    assert found["response.padded"].tolist() == [0, 1, 1, 0]
    assert parting(found, file) == []


@pytest.mark.parametrize("case", EACH_LEVEL, ids=" ".join)
def test_a_saved_file_agrees(case: tuple[str, ...], tmp_path: Path) -> None:
    book(*case).save(tmp_path / "a.xlsx")
    file = read(tmp_path / "a.xlsx")
    assert parting(witness([file], device="cpu")[0], file) == []


@pytest.mark.parametrize("case", [LOGITS[0], WEIGHTS[4]], ids=" ".join)
def test_another_preset_and_settings_typed_are_followed(case: tuple[str, ...]) -> None:
    libraries = ["TRLX", "default", *live(*case)["library.names"][2:]]
    files = [
        changed(case, preset="torchtune"),
        changed(case, preset="TrlX", gamma__yours=0.5, kl_estimator__yours="FULL", reward__kl_in__yours="loss"),
        changed(case, library__names=libraries, batch__temperature__yours=0.5, gae_lambda__yours=1.5),
    ]
    found = witness(files, device="cpu")
    assert [parting(*pair) for pair in zip(found, files, strict=True)] == [[], [], []]
    assert [each["preset.number"] for each in found[:2]] == [PRESETS.index(name) for name in ("torchtune", "trlx")]
    assert [found[1][name].item() for name in ("gamma", "kl_estimator", "kl_estimator.number")] == [0.5, "FULL", 4]
    assert found[2]["library.number"][:2].tolist() == [PRESETS.index("trlx"), 0]
    assert [each["check.settings.verdict"] for each in found] == ["OK", "OK", "LOOK"]


def test_texts_of_any_form_agree() -> None:
    given = built_in("default")["given"].copy()
    given[0, 2], given[1, 0] = "", ""
    files = [
        changed(WEIGHTS[0], max_new_tokens=2.0),
        changed(WEIGHTS[2], given=given.tolist()),
        changed(WEIGHTS[1], update_step__yours=0.0, clip_range__yours=0.0),
        changed(LOGITS[1], end_word="dog"),
        changed(LOGITS[1], mask=[[0] * 6] * 4),
        changed(LOGITS[4], explained_variance__floor=100.0),
    ]
    found = witness(files, device="cpu")
    assert [parting(*pair) for pair in zip(found, files, strict=True)] == [[]] * len(files)


def test_files_of_every_kind_in_one_call_are_what_each_gives_alone() -> None:
    cases = [LOGITS[2], WEIGHTS[2], ("default", "preset=trlx", "sizes.max_new_tokens=3"), WEIGHTS[-1]]
    files = [*(live(*case) for case in cases), dict(built_in("default")), dict(built_in("very-very-sleepy"))]
    for found, file in zip(witness(files, device="cpu"), files, strict=True):
        alone = witness([file], device="cpu")[0]
        assert list(found) == list(alone)
        assert differing(found, dict(file) | alone, 1e-14) == []


def test_parts_have_six_bars_and_sum_to_the_total() -> None:
    found = witness([live("ten-libraries", "preset=nemo_rl", "reward.kl_in=loss")], device="cpu")[0]
    assert found["parts"].shape == (6,)
    assert found["parts"][:5].sum() == pytest.approx(float(found["parts"][5]), abs=1e-12)
    assert found["adds.kl_loss"] != 0


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"preset": "verl2"}, "the preset is 'verl2': write one of default, openai, "),
        ({"reward.score_slot.yours": "middle"}, "reward.score_slot is 'middle': write one of last, end, "),
        ({"end_word": "cat"}, "a position has the token 'cat', which is not in the vocabulary: add it there"),
        ({"mask": 0.5}, "the mask is neither 0 nor 1"),
    ],
)
def test_files_that_cannot_be_computed_are_refused(cells: dict[str, object], message: str) -> None:
    file = dict(live(*LOGITS[0]))
    file |= {name: np.full_like(file[name], value) for name, value in cells.items()}
    with pytest.raises(WitnessError, match=message):
        witness([file], device="cpu")


def test_an_unknown_library_is_refused() -> None:
    file = dict(live(*LOGITS[0]))
    file["library.names"] = np.array(["other"] * 10, dtype=object)
    with pytest.raises(WitnessError, match="the preset is 'other'"):
        witness([file], device="cpu")
